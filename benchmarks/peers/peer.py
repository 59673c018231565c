# SPDX-License-Identifier: Apache-2.0
"""What the Python programs have in common: the cases' inputs, as peer.hpp has them, and the same questions and answers
as its `serve`."""
import json
import pathlib
import resource
import sys
import time

import numpy as np

import fisher
from fisher import growth, sides, spread  # noqa: F401, the other cases are of floats

steps = {"diffusion": 10_000, "wave": 10_000, "lstm": 1_000, "scalar": 10_000, **fisher.steps}
batch, inputs, units = 16, 64, 256


def number_type(case):
    return np.float64 if case in sides else np.float32


def levels(n, most):
    """The fewest factors of n whose sum is at most `most`, of these the least sum, large ones first: a loop of loops of
    such lengths keeps one state of each turn of a loop. None where there are none."""
    def parts(rest, count, largest):
        if count == 1:
            return [[rest]] if rest <= largest else []
        return [[f, *more] for f in range(2, min(rest, largest) + 1) if rest % f == 0
                for more in parts(rest // f, count - 1, f)]
    for count in range(1, n.bit_length() + 1):
        fitting = [factors for factors in parts(n, count, n) if sum(factors) <= most]
        if fitting:
            return min(fitting, key=sum)
    return None


def method_and_checkpoints(text):
    """Of METHOD or METHOD:CHECKPOINTS."""
    method, _, checkpoints = text.partition(":")
    return method, int(checkpoints) if checkpoints else None


def noise(first, count):
    """Between -0.5 and 0.5, exactly the same in float32 and float64 and in every program."""
    mixed = np.arange(first, first + count, dtype=np.uint32) * np.uint32(2654435761) + np.uint32(1013904223)
    mixed = (mixed ^ (mixed >> np.uint32(16))) * np.uint32(2246822519)
    mixed ^= mixed >> np.uint32(13)
    return ((mixed >> np.uint32(8)).astype(np.float32) / np.float32(16777216)) - np.float32(0.5)


def given(case):
    """The arrays of a case: what is differentiated first, then the rest."""
    if case == "diffusion":
        return np.full(4096, 0.1, np.float32), 2 * noise(0, 4096)
    if case == "wave":
        u = np.zeros((64, 64), np.float32)
        u[32, 32] = 1
        return np.full((64, 64), 0.1, np.float32), u
    if case == "lstm":
        gates = 4 * units
        flat = noise(0, gates * (inputs + units + 1)) / 8
        weights = np.split(flat, [gates * inputs, gates * (inputs + units)])
        x = 4 * noise(1_000_000, steps[case] * batch * inputs)
        return (weights[0].reshape(inputs, gates), weights[1].reshape(units, gates), weights[2],
                x.reshape(-1, batch, inputs))
    if case in sides:  # 8 x 8 blocks of one number each, between 0 and 1
        return (np.kron(noise(0, 64).reshape(8, 8) + 0.5, np.ones((sides[case] // 8,) * 2)).astype(np.float64),)
    return (np.array([0.5, 0.75, 1.0, 1.25], np.float32),)


def _status(key):
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith(key)), 0)


def _forget_greatest_size():
    pathlib.Path("/proc/self/clear_refs").write_text("5")


def serve(case, gradient, arrays, file, about):
    """Measures the memory of a first gradient, then answers questions on standard input by seconds of user CPU and by
    the clock.

    gradient() makes one; arrays(it) is it as numpy arrays; about() returns the bytes counted at the peak,
    what they are, and the versions.
    """
    resident = _status("VmRSS:")
    _forget_greatest_size()
    made = gradient()
    peak = _status("VmHWM:")
    np.concatenate([np.ravel(a) for a in arrays(made)]).astype(number_type(case)).tofile(file)
    print(json.dumps({"rss_bytes": max(0, peak - resident), "peak_rss_bytes": peak, **about()}), flush=True)
    for line in sys.stdin:
        before, began = resource.getrusage(resource.RUSAGE_SELF).ru_utime, time.perf_counter()
        for _ in range(int(line)):
            gradient()
        passed = time.perf_counter() - began
        print(f"{resource.getrusage(resource.RUSAGE_SELF).ru_utime - before:.9f} {passed:.9f}", flush=True)
