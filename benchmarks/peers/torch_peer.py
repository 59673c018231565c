#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cases in PyTorch.   usage: torch_peer.py CASE METHOD[:CHECKPOINTS] FILE [LIBRARY]; LIBRARY, made from
torch_bytes.cpp, counts the bytes of tensors."""
import ctypes
import functools
import math
import os
import pathlib
import sys

import torch
from torch.utils.checkpoint import checkpoint

import peer

case, method, file, *library = sys.argv[1:]
method, checkpoints = peer.method_and_checkpoints(method)
n = peer.steps[case]
torch.set_num_threads(1)
flushed = os.environ.get("PEERS_SUBNORMALS") == "flushed" and torch.set_flush_denormal(True)
data = tuple(torch.from_numpy(array) for array in peer.given(case))

if case == "diffusion":
    parameters, first = (data[0].requires_grad_(),), (data[1],)
    def step(s, i): return (s[0] + parameters[0] * (torch.roll(s[0], 1) - 2 * s[0] + torch.roll(s[0], -1)),)
    def loss(s): return s[0].pow(2).sum()
elif case in peer.sides:
    parameters = first = (data[0].requires_grad_(),)
    def step(s, i):
        u, = s
        around = torch.roll(u, 1, 0) + torch.roll(u, -1, 0) + torch.roll(u, 1, 1) + torch.roll(u, -1, 1)
        return (u + peer.spread * (around - 4 * u) + peer.growth * (u - u * u),)
    def loss(s): return s[0].pow(2).sum()
elif case == "wave":
    parameters, first = (data[0].requires_grad_(),), (data[1], data[1].clone())
    def step(s, i):
        u, before = s
        return 2 * u - before + parameters[0] * (torch.roll(u, 1, 0) + torch.roll(u, -1, 0) + torch.roll(u, 1, 1)
                                                 + torch.roll(u, -1, 1) - 4 * u), u
    def loss(s): return s[0].pow(2).sum()
elif case == "lstm":
    cell = torch.nn.LSTMCell(peer.inputs, peer.units)
    with torch.no_grad():
        cell.weight_ih.copy_(data[0].T)
        cell.weight_hh.copy_(data[1].T)
        cell.bias_ih.copy_(data[2])
        cell.bias_hh.zero_()
    parameters = (cell.weight_ih, cell.weight_hh, cell.bias_ih)
    first = (torch.zeros(peer.batch, peer.units), torch.zeros(peer.batch, peer.units))
    def step(s, i): return cell(data[3][i], s)
    def loss(s): return s[0].pow(2).sum()
else:
    parameters = first = (data[0].requires_grad_(),)
    def step(s, i): return (torch.sin(s[0]),)
    def loss(s): return s[0].sum()


def run(begin, end, widths, *s, reentrant=False):
    """Steps begin to end, in checkpointed blocks of widths[0] steps, these in blocks of widths[1] ..."""
    if not widths:
        for i in range(begin, end):
            s = step(s, i)
        return s
    for first in range(begin, end, widths[0]):
        s = checkpoint(functools.partial(run, reentrant=reentrant), first, min(end, first + widths[0]), widths[1:], *s,
                       use_reentrant=reentrant, preserve_rng_state=False)
    return s


def blocks(reentrant):
    factors = peer.levels(n, checkpoints) if checkpoints else [0, int(n ** 0.5)]
    widths = tuple(math.prod(factors[k:]) for k in range(1, len(factors)))
    # A re-entrant checkpoint passes gradients to parameters only if one of its inputs asks for some.
    s = tuple(t if t.requires_grad else t.clone().requires_grad_() for t in first) if reentrant else first
    return run(0, n, widths, *s, reentrant=reentrant)


ways = {"plain": lambda: run(0, n, (), *first), "checkpoint_reentrant": lambda: blocks(True),
        "checkpoint": lambda: blocks(False)}


def gradient():
    for p in parameters:
        p.grad = None
    loss(ways[method]()).backward()
    return parameters


step(step(first, 0), 1)[0].sum().backward()  # what torch makes once is not the loop's
checkpoint(run, 0, 2, (), *first, use_reentrant=False)
counter = ctypes.CDLL(library[0]) if library and pathlib.Path(library[0]).exists() else None
if counter:
    counter.bytes_peak.restype = ctypes.c_int64
    counter.bytes_begin()
peer.serve(case, gradient, lambda made: [p.grad.T.numpy() for p in made] if case == "lstm"
           else [p.grad.numpy() for p in made], file,
           lambda: {"bytes": counter.bytes_peak() if counter else None, "bytes_are": "tensors",
                    "version": f"torch {torch.__version__}", "subnormals": "flushed" if flushed else "kept"})
