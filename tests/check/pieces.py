"""What gradients of the bench are made of."""

from __future__ import annotations

from typing import Any

import numpy as np


def sech2(x: Any) -> Any:
    return 1 - np.tanh(x) ** 2


def sigmoid(x: Any) -> Any:
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1, e) / (1 + e)


def softmax(z: Any) -> Any:
    e = np.exp(z - np.max(z))
    return e / np.sum(e)


def norm(x: Any) -> Any:
    return np.sqrt(np.sum(x**2))


def scattered(w: Any, at: Any, n: int) -> Any:
    g = np.zeros(n, w.dtype)
    np.add.at(g, at, w)
    return g


def rosenbrock(x: Any) -> Any:
    r = x[1:] - x[:-1] ** 2
    g = np.zeros_like(x)
    g[1:] += 200 * r
    g[:-1] += -400 * x[:-1] * r - 2 * (1 - x[:-1])
    return g


def normalised_backwards(x: Any, g: Any, eps: float, variance: float = 1, axis: int = -1) -> Any:
    """The pullback of ``layernorm``, with the share of the path through the variance."""
    centred = x - x.mean(axis, keepdims=True)
    s = np.sqrt((centred**2).mean(axis, keepdims=True) + eps)
    y = centred / s
    return (g - g.mean(axis, keepdims=True) - variance * y * (g * y).mean(axis, keepdims=True)) / s


def shifted_inverse(A: Any, by: float) -> Any:
    return np.linalg.inv(A + by * np.eye(len(A)))


def solved(A: Any, b: Any, back: Any = np.transpose, turn: Any = np.asarray) -> Any:
    """The gradient of ``solve``; ``back`` and ``turn`` are where a transpose may go wrong."""
    M = A + 3 * np.eye(len(A))
    x = np.linalg.solve(M, b)
    gb = np.linalg.solve(back(M), 2 * x)
    return turn(-np.outer(gb, x)), gb


# Points.
TWOS = [2.0, -1.5, 0.5, 3.0]
POINT = [1.0, -2.0, 0.5]
M23 = [[1.0, 2.0, -1.0], [0.5, 3.0, 1.5]]
M32 = [[1.0, -2.0], [0.5, 3.0], [2.0, 1.0]]
M22 = [[2.0, 1.0], [0.5, 3.0]]
N22 = [[1.0, -1.0], [2.0, 0.5]]
M33 = [[2.0, 1.0, 0.0], [0.5, 3.0, 1.0], [1.0, 0.0, 1.5]]
M34 = [[1.0, 2.0, 3.0, 4.0], [0.5, -1.0, 2.0, 0.0], [3.0, 1.0, -2.0, 1.0]]
BIAS = [np.arange(12.0).reshape(4, 3) / 8, [[0.5, -0.25], [0.25, 0.5], [-0.5, 1.0]], [0.1, -0.2]]
D33 = [[0.5, 1.0, 0.0], [-0.5, 1.0, 0.25], [0.75, 0.0, -1.0]]
D22 = [[0.5, 1.0], [-0.25, -1.0]]
