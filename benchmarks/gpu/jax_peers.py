#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The loop of rods.hpp in JAX and diffrax.   usage: jax_peers.py METHOD --bytes N --steps N [--cpu] [--seconds N]"""
import os

import heat

given = heat.arguments(["nested", "offload", "diffrax"])
os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
if given.cpu:
    os.environ["JAX_PLATFORMS"] = "cpu"
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

if not given.cpu and jax.default_backend() != "gpu":
    raise SystemExit("this JAX finds no device")
n = given.steps
numbers = heat.start(given.bytes)
first = jnp.asarray(numbers)
width = max(1, round(n ** 0.5))
version = f"jax {jax.__version__}"


def change(x, i):
    k = (i % 7).astype(jnp.float32)
    return (0.2 + 0.01 * k) * (jnp.roll(x, 1, -1) - 2 * x + jnp.roll(x, -1, -1)) - 0.01 * x * x * x + 0.01 * (k - 3)


def step(x, i):
    return x + change(x, i), None


def plain(x, steps=n):
    return jax.lax.scan(step, x, jnp.arange(steps))[0]


def nested(x):
    """Two levels; what is left over at the end is stored."""
    inner = jax.checkpoint(lambda x, j: jax.lax.scan(step, x, j * width + jnp.arange(width)))
    x = jax.lax.scan(lambda x, j: (inner(x, j)[0], None), x, jnp.arange(n // width))[0]
    return jax.lax.scan(step, x, jnp.arange(n // width * width, n))[0]


def offload(x):
    """Every state goes to the host."""
    policy = jax.checkpoint_policies.save_and_offload_only_these_names(names_which_can_be_saved=[],
                                                                       names_which_can_be_offloaded=["state"],
                                                                      offload_src="device", offload_dst="pinned_host")
    from jax.ad_checkpoint import checkpoint_name
    body = jax.checkpoint(lambda x, i: step(checkpoint_name(x, "state"), i), policy=policy)
    return jax.lax.scan(body, x, jnp.arange(n))[0]


def with_diffrax(x):
    import diffrax
    term = diffrax.ODETerm(lambda t, x, _: change(x, jnp.round(t).astype(jnp.int32)))
    return diffrax.diffeqsolve(term, diffrax.Euler(), 0.0, float(n), 1.0, x,
                               adjoint=diffrax.RecursiveCheckpointAdjoint(checkpoints=width),
                               max_steps=n + 8, saveat=diffrax.SaveAt(t1=True)).ys[0]


def gradient_of(loop):
    return jax.jit(jax.grad(lambda x: 0.5 * (loop(x) ** 2).sum())).lower(first).compile()


if given.method == "diffrax":
    import diffrax
    version += f", diffrax {diffrax.__version__}"
pure_steps = min(n, 100)
pure_gradient = gradient_of(lambda x: plain(x, pure_steps))
pure = heat.sampled(lambda: jax.block_until_ready(pure_gradient(first)), given.seconds / 4)
gradient = gradient_of({"nested": nested, "offload": offload, "diffrax": with_diffrax}[given.method])
memory = gradient.memory_analysis()
right = heat.is_right(np.asarray(gradient(first))[[0, -1]], numbers, n)
heat.answer(samples=heat.sampled(lambda: jax.block_until_ready(gradient(first)), given.seconds / 2),
            pure=sorted(pure)[len(pure) // 2] / pure_steps * n, right=right,
            device_bytes=memory.temp_size_in_bytes + memory.argument_size_in_bytes + memory.output_size_in_bytes,
            host_bytes=getattr(memory, "host_temp_size_in_bytes", 0), version=version)
