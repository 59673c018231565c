"""What the Python programs have in common: the cases' inputs, as peer.hpp has them, and the same questions and answers
as its `serve`."""
import json
import pathlib
import resource
import sys

import numpy as np

steps = {"diffusion": 10_000, "wave": 10_000, "lstm": 1_000, "scalar": 10_000}
batch, inputs, units = 16, 64, 256


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
    return (np.array([0.5, 0.75, 1.0, 1.25], np.float32),)


def _status(key):
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith(key)), 0)


def _forget_greatest_size():
    pathlib.Path("/proc/self/clear_refs").write_text("5")


def serve(gradient, arrays, file, about):
    """Measures the memory of a first gradient, then answers questions on standard input.

    gradient() makes one; arrays(it) is it as numpy arrays; about() tells the bytes counted at the peak, what they are,
    and the versions.
    """
    resident = _status("VmRSS:")
    _forget_greatest_size()
    made = gradient()
    rise = _status("VmHWM:") - resident
    np.concatenate([np.ravel(a) for a in arrays(made)]).astype(np.float32).tofile(file)
    print(json.dumps({"rss_bytes": max(0, rise), **about()}), flush=True)
    for line in sys.stdin:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
        for _ in range(int(line)):
            gradient()
        print(f"{resource.getrusage(resource.RUSAGE_SELF).ru_utime - before:.9f}", flush=True)
