#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cases of regions in PyTorch, as regions.hpp has them.   usage: regions.py tiny|gpt plain|checkpoint FILE
[LIBRARY]; LIBRARY as of torch_peer.py."""
import ctypes
import pathlib
import sys

import torch
from torch.utils.checkpoint import checkpoint

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "peers"))
import peer  # noqa: E402

case, method, file, *library = sys.argv[1:]
torch.set_num_threads(1)


def noise(first, *sizes):
    count = int(torch.tensor(sizes).prod())
    return torch.from_numpy(peer.noise(first, count)).reshape(sizes)


if case == "tiny":
    w, b = noise(0, 8, 8).requires_grad_(), noise(64, 8).requires_grad_()
    start, parameters = noise(1000, 8, 8), [w, b]
    steps = [lambda x: torch.tanh(torch.addmm(b, x, w))] * 1000
else:
    batch, length, width, heads, blocks = 4, 256, 256, 4, 12

    def block(mix, join, widen, narrow):
        def step(x):
            normal = torch.layer_norm(x, (width,))
            part = normal.matmul(mix).view(batch, length, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
            later = torch.ones(length, length, dtype=torch.bool).triu(1)
            scores = part[0].matmul(part[1].transpose(-2, -1)) / (width // heads) ** 0.5
            weights = torch.softmax(scores.masked_fill(later, -1e9), -1)
            y = x + weights.matmul(part[2]).transpose(1, 2).reshape(batch, length, width).matmul(join)
            return y + torch.nn.functional.gelu(torch.layer_norm(y, (width,)).matmul(widen)).matmul(narrow)
        return step

    start, parameters, steps = noise(1_000_000, batch, length, width), [], []
    sizes = ((width, 3 * width), (width, width), (width, 4 * width), (4 * width, width))
    for _ in range(blocks):
        weights = []
        for size in sizes:
            weights.append((noise(sum(p.numel() for p in parameters + weights), *size) / 8).requires_grad_())
        parameters += weights
        steps.append(block(*weights))


def run():
    x = start
    for step in steps:
        x = checkpoint(step, x, use_reentrant=False) if method == "checkpoint" else step(x)
    return x


def gradient():
    for p in parameters:
        p.grad = None
    run().pow(2).sum().backward()
    return parameters


# LibTorch's matrix products ask allocators for what the counting one refuses.
library = library if case == "tiny" else []
counter = ctypes.CDLL(library[0]) if library and pathlib.Path(library[0]).exists() else None
gradient()  # what torch makes once is not the loop's
if counter:
    counter.bytes_peak.restype = ctypes.c_int64
    counter.bytes_begin()
asked = False


def answer():
    """The gradient at first, for the file; the forward run is what tiny times."""
    global asked
    if case == "tiny" and asked:
        run()
        return None
    asked = True
    return gradient()


peer.serve(case, answer, lambda made: [p.grad.numpy() for p in made], file,
           lambda: {"bytes": counter.bytes_peak() if counter else None, "bytes_are": "tensors",
                    "version": f"torch {torch.__version__}"})
