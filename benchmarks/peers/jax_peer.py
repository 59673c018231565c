#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cases in JAX, Equinox and diffrax.   usage: jax_peer.py CASE METHOD[:CHECKPOINTS] FILE"""
import math
import os
import sys

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["JAX_PLATFORMS"] = "cpu"
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

import peer  # noqa: E402

case, method, file = sys.argv[1:]
method, checkpoints = peer.method_and_checkpoints(method)
n = peer.steps[case]
if case in peer.sides:
    jax.config.update("jax_enable_x64", True)
data = tuple(jnp.asarray(array) for array in peer.given(case))
version = f"jax {jax.__version__}"
width = round(n ** 0.5)
if checkpoints:
    factors = peer.levels(n, checkpoints)
else:  # for n that is no product of the widths the last would be short; here it is
    inner = next(w for w in range(width, 0, -1) if n % w == 0)
    factors = [n // inner, inner]


def change(u, spread):
    """What Euler's method adds."""
    if case == "diffusion":
        return spread * (jnp.roll(u, 1) - 2 * u + jnp.roll(u, -1))
    around = jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1)
    return peer.spread * (around - 4 * u) + peer.growth * (u - u * u)


if case == "diffusion":
    def start(p): return data[1]
    def step(p, u, i): return u + change(u, p)
    def loss(u): return (u ** 2).sum()
elif case in peer.sides:
    def start(p): return p
    def step(p, u, i): return u + change(u, None)
    def loss(u): return (u ** 2).sum()
elif case == "wave":
    def start(p): return data[1], data[1]
    def step(p, s, i):
        u, before = s
        return 2 * u - before + p * (jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1)
                                     + jnp.roll(u, -1, 1) - 4 * u), u
    def loss(s): return (s[0] ** 2).sum()
elif case == "lstm":
    def start(p): return jnp.zeros((peer.batch, peer.units)), jnp.zeros((peer.batch, peer.units))
    def step(p, s, i):
        h, c = s
        a, f, z, o = jnp.split(data[3][i] @ p[0] + h @ p[1] + p[2], 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(a) * jnp.tanh(z)
        return jax.nn.sigmoid(o) * jnp.tanh(c), c
    def loss(s): return (s[0] ** 2).sum()
else:
    def start(p): return p
    def step(p, x, i): return jnp.sin(x)
    def loss(x): return x.sum()


def plain(p):
    return jax.lax.scan(lambda s, i: (step(p, s, i), None), start(p), jnp.arange(n))[0]


def nested(p):
    """Scans in scans: all but the outermost are run again in the backward pass."""
    def run(s, first, factors):
        length = math.prod(factors[1:])
        def block(s, j):
            i = first + j * length
            return (run(s, i, factors[1:]) if factors[1:] else step(p, s, i)), None
        return jax.lax.scan(jax.checkpoint(block) if factors[1:] else block, s, jnp.arange(factors[0]))[0]
    return run(start(p), 0, factors)


def equinox_while(p):
    import equinox.internal
    def body(carry): return step(p, *carry), carry[1] + 1
    return equinox.internal.while_loop(lambda carry: carry[1] < n, body, (start(p), jnp.asarray(0)), max_steps=None,
                                       kind="checkpointed", checkpoints=checkpoints or width)[0]


def diffrax_loop(p):
    import diffrax
    term = diffrax.ODETerm(lambda t, u, c: change(u, c))
    return diffrax.diffeqsolve(term, diffrax.Euler(), 0.0, float(n), 1.0, start(p), args=p,
                               adjoint=diffrax.RecursiveCheckpointAdjoint(checkpoints=checkpoints or width),
                               max_steps=n + 8, saveat=diffrax.SaveAt(t1=True)).ys[0]


if method == "equinox_while":
    import equinox
    version += f", equinox {equinox.__version__}"
elif method == "diffrax":
    import diffrax
    version += f", diffrax {diffrax.__version__}"

ways = {"plain": plain, "nested": nested, "equinox_while": equinox_while, "diffrax": diffrax_loop}
p = data[:3] if case == "lstm" else data[0]
compiled = jax.jit(jax.grad(lambda p: loss(ways[method](p)))).lower(p).compile()
peer.serve(case, lambda: jax.block_until_ready(compiled(p)), jax.tree_util.tree_leaves, file,
           lambda: {"bytes": compiled.memory_analysis().temp_size_in_bytes, "bytes_are": "XLA's temporaries",
                    "version": version, "subnormals": "flushed"})  # by XLA, always
