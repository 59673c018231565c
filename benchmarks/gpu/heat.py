# SPDX-License-Identifier: Apache-2.0
"""The loop of rods.hpp for the peers in Python: its numbers, the gradient of some rods by storing all states, and the
answer that a peer gives."""
import argparse
import json
import time

import numpy as np

rod = 512


def arguments(methods):
    parser = argparse.ArgumentParser()
    parser.add_argument("method", choices=methods)
    parser.add_argument("--bytes", type=int, required=True, help="of a state")
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--seconds", type=float, default=120)
    return parser.parse_args()


def flow(i):
    return 0.2 + 0.01 * (i % 7)


def force(i):
    return 0.01 * (i % 7 - 3)


def start(size):
    """Numbers between -0.5 and 0.5, a rod a line."""
    mixed = np.arange(size // 4, dtype=np.uint32) * np.uint32(2654435761) + np.uint32(1013904223)
    mixed = (mixed ^ (mixed >> np.uint32(16))) * np.uint32(2246822519)
    mixed ^= mixed >> np.uint32(13)
    return ((mixed >> np.uint32(8)).astype(np.float32) / np.float32(16777216) - np.float32(0.5)).reshape(-1, rod)


def gradient_of_rods(x, steps):
    """Of half the sum of the squares of the last state, where x is the first one."""
    def second_difference(a):
        return np.roll(a, 1, -1) - 2 * a + np.roll(a, -1, -1)
    states = [x.astype(np.float64)]
    for i in range(steps):
        x = states[-1]
        states.append(x + flow(i) * second_difference(x) - 0.01 * x ** 3 + force(i))
    bar = states[-1]
    for i in reversed(range(steps)):
        bar = bar * (1 - 0.03 * states[i] ** 2) + flow(i) * second_difference(bar)
    return bar


def is_right(gradient, first, steps):
    """Whether the rods at both ends of a gradient, numpy arrays (rods, 512), are as they must be, but for rounding in
    single precision."""
    ends = [0, len(first) - 1]
    right = gradient_of_rods(first[ends], steps)
    return bool(np.max(np.abs(gradient - right)) <= 1e-3 * np.max(np.abs(right)))


def sampled(run, seconds):
    """Seconds of run(), which waits until all is done: five after two runs to warm up, or three after one where these
    take too long."""
    begin = time.perf_counter()
    run()
    once = time.perf_counter() - begin
    warm_ups, samples = (1, 5) if 6 * once < seconds else (0, 3)
    times = []
    for k in range(-warm_ups, samples):
        begin = time.perf_counter()
        run()
        if k >= 0:
            times.append(time.perf_counter() - begin)
    return times


def answer(**found):
    print(json.dumps(found), flush=True)
