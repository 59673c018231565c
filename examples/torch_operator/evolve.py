#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Calls a C++ loop in bounded memory as an operation of PyTorch, and compares with the plain loop.

    evolve.py LIBRARY
"""
import sys

import torch
from torch.utils.checkpoint import checkpoint

steps, units = 300, 16


def seeded():
    torch.manual_seed(1)
    x = torch.randn(4, units, dtype=torch.float64, requires_grad=True)
    return x, (torch.randn(units, units, dtype=torch.float64) * 0.1).requires_grad_()


def same(first, second):
    return all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


def gradients(operation, *arguments, create_graph=False):
    """The result and the gradients by x and w of one operation."""
    x, w = seeded()
    y = operation(x, w, *arguments)
    loss = y.square().sum()
    if create_graph:
        by_x, by_w = torch.autograd.grad(loss, (x, w), create_graph=True)
        (by_x.square().sum() + by_w.sum()).backward()
    else:
        loss.backward()
    return y.detach(), x.grad, w.grad


def functional(operation, *arguments):
    """The gradients by x and w, by torch.func.grad."""
    x, w = (t.detach() for t in seeded())
    return torch.func.grad(lambda x, w: operation(x, w, *arguments).square().sum(), argnums=(0, 1))(x, w)


def cast(operation, *arguments):
    """The result and the gradients by x and w, in 32 bits with automatic casts to 16."""
    x, w = (t.detach().float().requires_grad_() for t in seeded())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = operation(x, w, *arguments)
    y.square().sum().backward()
    return y.detach(), x.grad, w.grad


def losses(operation, *arguments):
    """Twenty steps of Adam."""
    x, w = seeded()
    weight = torch.nn.Parameter(w.detach())
    optimiser, seen = torch.optim.Adam([weight], lr=1e-2), []
    for _ in range(20):
        optimiser.zero_grad()
        loss = operation(x.detach(), weight, *arguments).square().mean()
        loss.backward()
        optimiser.step()
        seen.append(loss.detach())
    return seen


def main():
    torch.ops.load_library(sys.argv[1])
    ours = torch.ops.cairn_example
    ok = True

    def check(what, holds):
        nonlocal ok
        ok = ok and holds
        print(f"{what}: {'yes' if holds else 'NO'}")

    plain = gradients(ours.plain, steps)
    for checkpoints, block_size in ((1, 1), (5, 1), (12, 8), (300, 1)):
        check(f"bits of the plain loop with {checkpoints} checkpoints and blocks of {block_size}",
              same(plain, gradients(ours.evolve, steps, checkpoints, block_size)))
    check("bits of the plain loop within 200 kB", same(plain, gradients(ours.evolve_within, steps, "200kB")))
    check("twenty steps of Adam have the losses of the plain loop", same(losses(ours.plain, steps), losses(ours.evolve, steps, 12, 8)))

    check("bits of the plain loop by torch.func.grad", same(plain[1:], functional(ours.evolve, steps, 12, 8)))
    check("bits of the plain loop under automatic casts", same(cast(ours.plain, steps), cast(ours.evolve, steps, 12, 8)))

    second = gradients(ours.plain, 20, create_graph=True), gradients(ours.evolve, 20, 5, 2, create_graph=True)
    check("second derivatives are those of the plain loop to rounding", all(torch.allclose(a, b, rtol=1e-12) for a, b in zip(*second)))
    check("bits of the plain loop inside torch.utils.checkpoint",
          same(gradients(lambda x, w: ours.plain(x.sin(), w, steps)), gradients(
              lambda x, w: checkpoint(lambda x: ours.evolve(x.sin(), w, steps, 12, 8), x, use_reentrant=False))))
    outside = torch.compiler.disable(ours.evolve)  # a compiler that traced its steps would draw other random numbers in backward
    compiled = torch.compile(lambda x, w: outside(x.sin(), w, steps, 12, 8), backend="aot_eager")
    check("bits of the plain loop between compiled parts", same(gradients(lambda x, w: ours.plain(x.sin(), w, steps)), gradients(compiled)))

    x, w = seeded()
    heard = []
    w.register_hook(lambda gradient: heard.append(gradient.clone()))
    y = ours.evolve(x, w, steps, 12, 8).square().sum()
    y.backward(retain_graph=True)
    first = w.grad.clone()
    y.backward()
    check("a Python hook hears the whole gradient once a backward", len(heard) == 2 and same(heard, [first, first]))
    with torch.no_grad():
        check("without gradients it is the plain loop", not ours.evolve(x, w, steps, 12, 8).requires_grad)
    check("a part that runs again, as a loop of one step", same(gradients(ours.plain, 2), gradients(ours.once)))
    try:
        ours.region(x, w)
        check("a region is refused", False)
    except RuntimeError as error:
        check("a region is refused with a sentence",
              "an engine other than LibTorch's own, such as Python's" in str(error))
    try:
        ours.evolve(x, w, steps, -1, 1)
        check("wrong options are refused", False)
    except RuntimeError as error:
        check("wrong options are a RuntimeError that names them", "checkpoints = -1" in str(error))
    sys.exit(not ok)


if __name__ == "__main__":
    main()
