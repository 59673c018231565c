#!/usr/bin/env python3
"""The cases in JAX, Equinox and diffrax.   usage: jax_peer.py CASE METHOD FILE"""
import os
import sys

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["JAX_PLATFORMS"] = "cpu"
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

import peer  # noqa: E402

case, method, file = sys.argv[1:]
n = peer.steps[case]
data = tuple(jnp.asarray(array) for array in peer.given(case))
version = f"jax {jax.__version__}"
width = round(n ** 0.5)

if case == "diffusion":
    def start(p): return data[1]
    def step(p, u, i): return u + p * (jnp.roll(u, 1) - 2 * u + jnp.roll(u, -1))
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
    """Two levels: the inner scan is run again on the way back. For n that is no product of the widths the last would be
    short; here it is."""
    inner = next(w for w in range(width, 0, -1) if n % w == 0)
    @jax.checkpoint
    def block(s, j):
        return jax.lax.scan(lambda s, i: (step(p, s, j * inner + i), None), s, jnp.arange(inner))[0], None
    return jax.lax.scan(block, start(p), jnp.arange(n // inner))[0]


def equinox_while(p):
    import equinox.internal
    def body(carry): return step(p, *carry), carry[1] + 1
    return equinox.internal.while_loop(lambda carry: carry[1] < n, body, (start(p), jnp.asarray(0)), max_steps=None,
                                       kind="checkpointed", checkpoints=width)[0]


def diffrax_loop(p):
    import diffrax
    term = diffrax.ODETerm(lambda t, u, c: c * (jnp.roll(u, 1) - 2 * u + jnp.roll(u, -1)))
    return diffrax.diffeqsolve(term, diffrax.Euler(), 0.0, float(n), 1.0, start(p), args=p,
                               adjoint=diffrax.RecursiveCheckpointAdjoint(checkpoints=width),
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
peer.serve(lambda: jax.block_until_ready(compiled(p)), jax.tree_util.tree_leaves, file,
           lambda: {"bytes": compiled.memory_analysis().temp_size_in_bytes, "bytes_are": "XLA's temporaries",
                    "version": version})
