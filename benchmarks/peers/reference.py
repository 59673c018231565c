# SPDX-License-Identifier: Apache-2.0
"""The gradients of all cases in float64, or float32: every state stored, the adjoint by hand in numpy, nothing of cairn
and of the peers."""
import numpy as np

import peer


def _laplace(u):
    return sum(np.roll(u, shift, axis) for shift in (1, -1) for axis in range(u.ndim)) - 2 * u.ndim * u


def diffusion(c, u):
    states = [u]
    for _ in range(peer.steps["diffusion"]):
        states.append(states[-1] + c * _laplace(states[-1]))
    bar, total = 2 * states.pop(), np.zeros_like(c)
    while states:
        total += bar * _laplace(states.pop())
        bar = bar + _laplace(c * bar)
    return total


def wave(c, u):
    states = [u, u]  # before step 0, and its state
    for _ in range(peer.steps["wave"]):
        states.append(2 * states[-1] - states[-2] + c * _laplace(states[-1]))
    bar, before_bar, total = 2 * states.pop(), np.zeros_like(u), np.zeros_like(c)
    while len(states) > 1:
        total += bar * _laplace(states.pop())
        bar, before_bar = 2 * bar + _laplace(c * bar) + before_bar, -bar
    return total


def lstm(wx, wh, b, x):
    def sigmoid(v): return 1 / (1 + np.exp(-v))
    h = c = np.zeros((peer.batch, peer.units), wx.dtype)
    kept = []
    for x_i in x:
        i, f, z, o = np.split(x_i @ wx + h @ wh + b, 4, -1)
        i, f, z, o = sigmoid(i), sigmoid(f), np.tanh(z), sigmoid(o)
        kept.append((x_i, h, c, i, f, z, o))
        c = f * c + i * z
        kept[-1] += (np.tanh(c),)
        h = o * kept[-1][-1]
    h_bar, c_bar = 2 * h, np.zeros_like(c)
    total = [np.zeros_like(wx), np.zeros_like(wh), np.zeros_like(b)]
    for x_i, h, c, i, f, z, o, squashed in reversed(kept):
        c_bar = c_bar + h_bar * o * (1 - squashed ** 2)
        g = np.concatenate([c_bar * z * i * (1 - i), c_bar * c * f * (1 - f), c_bar * i * (1 - z ** 2),
                            h_bar * squashed * o * (1 - o)], -1)
        total[0] += x_i.T @ g
        total[1] += h.T @ g
        total[2] += g.sum(0)
        h_bar, c_bar = g @ wh.T, c_bar * f
    return np.concatenate([np.ravel(t) for t in total])


def scalar(x):
    total = np.ones_like(x)
    for _ in range(peer.steps["scalar"]):
        total, x = total * np.cos(x), np.sin(x)
    return total


def fisher(u):
    states = [u]
    for _ in range(peer.steps["fisher" if u.shape[0] == peer.sides["fisher"] else "fisher_small"]):
        u = states[-1]
        states.append(u + peer.spread * _laplace(u) + peer.growth * (u - u * u))
    bar = 2 * states.pop()
    while states:
        bar = bar + peer.spread * _laplace(bar) + peer.growth * (1 - 2 * states.pop()) * bar
    return bar


fisher_small = fisher


def gradient(case, precision):
    return np.ravel(globals()[case](*(array.astype(precision) for array in peer.given(case))))
