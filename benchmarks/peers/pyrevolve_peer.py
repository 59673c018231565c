#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fisher's equation in numpy, with an adjoint by hand.   usage: pyrevolve_peer.py CASE METHOD FILE; METHOD is stored,
all states in a list, or revolve:CHECKPOINTS, by pyrevolve."""
import sys

import numpy as np

import peer
import reference

case, method, file = sys.argv[1:]
method, checkpoints = peer.method_and_checkpoints(method)
n = peer.steps[case]
start, = peer.given(case)
framed, change = np.empty((start.shape[0] + 2,) * 2), np.empty_like(start)


def laplace(u, into):
    """Into `into`: with a frame of what lies across each edge no row is an exception."""
    framed[1:-1, 1:-1] = u
    framed[0, 1:-1], framed[-1, 1:-1], framed[1:-1, 0], framed[1:-1, -1] = u[-1], u[0], u[:, -1], u[:, 0]
    np.add(framed[:-2, 1:-1], framed[2:, 1:-1], out=into)
    into += framed[1:-1, :-2]
    into += framed[1:-1, 2:]
    into -= 4 * u


class Forward:
    """Steps of the state in place; the one before stays at hand for the adjoint."""
    def __init__(self):
        self.u, self.before = start.copy(), np.empty_like(start)

    def apply(self, t_start, t_end, **_):
        for _ in range(t_start, t_end):
            np.copyto(self.before, self.u)
            laplace(self.u, change)
            change.__imul__(peer.spread)
            self.u *= 1 + peer.growth - peer.growth * self.u
            self.u += change


class Reverse:
    def __init__(self, forward):
        self.forward, self.bar = forward, None

    def apply(self, t_start, t_end, **_):
        if self.bar is None:
            self.bar = 2 * self.forward.u
        laplace(self.bar, change)
        change.__imul__(peer.spread)
        self.bar *= 1 + peer.growth - 2 * peer.growth * self.forward.before
        self.bar += change


if method == "revolve":
    import importlib.metadata
    import pyrevolve

    class State(pyrevolve.Checkpoint):
        dtype, size = np.float64, start.size

        def __init__(self, forward):
            self.forward = forward

        def get_data(self, timestep):
            return [self.forward.u]

        get_data_location = get_data

    def gradient():
        global made
        forward = Forward()
        backward = Reverse(forward)
        made = pyrevolve.SingleLevelRevolver(State(forward), forward, backward, checkpoints, n)
        made.apply_forward()
        made.apply_reverse()
        return backward.bar

    def counted():
        return sum(storage.maxsize_in_bytes for storage in made.storage_list)
    version = f"pyrevolve {importlib.metadata.version('pyrevolve')}, numpy {np.__version__}"
else:
    def gradient():
        return reference.gradient(case, "float64")

    def counted():
        return (n + 1) * start.nbytes
    version = f"numpy {np.__version__}"

peer.serve(case, gradient, lambda bar: [bar], file,
           lambda: {"bytes": counted(), "bytes_are": "its checkpoints", "version": version})
