#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The loop of rods.hpp in PyTorch.   usage: torch_peers.py METHOD --bytes N --steps N [--cpu] [--seconds N]

The step is a function of autograd that saves its argument, compiled where torch.compile works, so that what is compared
is how states are kept.
"""
import collections

import torch
from torch.autograd.graph import save_on_cpu, saved_tensors_hooks
from torch.utils.checkpoint import checkpoint

import heat

given = heat.arguments(["save_on_cpu", "checkpoint", "streams"])
device = torch.device("cpu" if given.cpu else "cuda")
n = given.steps
numbers = heat.start(given.bytes)
first = torch.from_numpy(numbers).to(device)
flows = [torch.tensor(heat.flow(i), device=device, dtype=torch.float32) for i in range(7)]
forces = [torch.tensor(heat.force(i), device=device, dtype=torch.float32) for i in range(7)]


def forward(x, flow, force):
    return x + flow * (torch.roll(x, 1, -1) - 2 * x + torch.roll(x, -1, -1)) - 0.01 * x * x * x + force


def backward(x, bar, flow):
    return bar * (1 - 0.03 * x * x) + flow * (torch.roll(bar, 1, -1) - 2 * bar + torch.roll(bar, -1, -1))


compiled = False
if not given.cpu:
    try:
        fused = torch.compile(forward), torch.compile(backward)
        fused[0](first, flows[0], forces[0])
        fused[1](first, first, flows[0])
        (forward, backward), compiled = fused, True
    except Exception:  # noqa: BLE001  no Triton, no compiler: then as it is
        pass


class Step(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, i):
        ctx.save_for_backward(x)
        ctx.i = i
        return forward(x, flows[i % 7], forces[i % 7])

    @staticmethod
    def backward(ctx, bar):
        return backward(ctx.saved_tensors[0], bar, flows[ctx.i % 7]), None


def run(x, begin, end):
    for i in range(begin, end):
        x = Step.apply(x, i)
    return x


class Streams:
    """Every saved state goes to pinned memory on a stream of its own, and comes back two steps before it is asked for.
    Needs memory for all of them."""

    def __init__(self, count):
        self.slots = [torch.empty_like(first, device="cpu", pin_memory=not given.cpu) for _ in range(count)]
        self.down, self.up = (None, None) if given.cpu else (torch.cuda.Stream(), torch.cuda.Stream())

    def begin(self):
        self.saved, self.leaving, self.arriving = 0, collections.deque(), {}

    def pack(self, x):
        k, self.saved = self.saved, self.saved + 1
        if given.cpu:
            self.slots[k].copy_(x)
            return k
        self.down.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.down):
            self.slots[k].copy_(x, non_blocking=True)
            gone = torch.cuda.Event()
            gone.record()
        self.leaving.append((gone, x))  # kept until it has been read
        if len(self.leaving) > 2:
            # Steps that come next may get its memory: they wait for the copy, and the host does not.
            torch.cuda.current_stream().wait_event(self.leaving[0][0])
            self.leaving.popleft()
        return k

    def fetch(self, k):
        if k < 0 or k in self.arriving:
            return
        x = torch.empty_like(first)
        self.up.wait_stream(torch.cuda.current_stream())  # who had this memory is done with it
        self.up.wait_stream(self.down)
        with torch.cuda.stream(self.up):
            x.copy_(self.slots[k], non_blocking=True)
            there = torch.cuda.Event()
            there.record()
        self.arriving[k] = there, x

    def unpack(self, k):
        if given.cpu:
            return self.slots[k].clone()
        for ahead in range(3):
            self.fetch(k - ahead)
        there, x = self.arriving.pop(k)
        torch.cuda.current_stream().wait_event(there)
        return x


streams = Streams(n) if given.method == "streams" else None


def last_state(x):
    if given.method == "save_on_cpu":
        with save_on_cpu(pin_memory=not given.cpu):
            return run(x, 0, n)
    if given.method == "checkpoint":
        width = max(1, int(n ** 0.5))
        for begin in range(0, n, width):
            x = checkpoint(run, x, begin, min(n, begin + width), use_reentrant=False, preserve_rng_state=False)
        return x
    streams.begin()
    with saved_tensors_hooks(streams.pack, streams.unpack):
        return run(x, 0, n)


def gradient(of):
    x = first.detach().requires_grad_()
    last = of(x)
    last.backward(last.detach())
    if not given.cpu:
        torch.cuda.synchronize()
    return x.grad


pure_steps = min(n, 100)
pure = heat.sampled(lambda: gradient(lambda x: run(x, 0, pure_steps)), given.seconds / 4)
if not given.cpu:
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
held = 0 if given.cpu else torch.cuda.memory_allocated()
found = gradient(last_state)
peak = 0 if given.cpu else torch.cuda.max_memory_allocated() - held + given.bytes
right = heat.is_right(found[[0, -1]].cpu().numpy(), numbers, n)
del found
heat.answer(samples=heat.sampled(lambda: gradient(last_state), given.seconds / 2),
            pure=sorted(pure)[len(pure) // 2] / pure_steps * n, right=right,
            device_bytes=peak, host_bytes=0 if given.method == "checkpoint" else n * given.bytes,
            version=f"torch {torch.__version__}, {'compiled' if compiled else 'eager'} step")
