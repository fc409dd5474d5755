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


def transposed_solve(A: Any, x: Any) -> Any:
    return np.linalg.solve(A.T, 2 * x)


def solved(A: Any, b: Any, pull: Any = transposed_solve, turned: bool = False) -> Any:
    """The gradient of ``solve``, with what may go wrong in it."""
    x = np.linalg.solve(A, b)
    back = pull(A, x)
    return -(np.outer(x, back) if turned else np.outer(back, x)), back


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
