"""Right derivatives of reductions, products of arrays, matrices and arrays of results."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.check.entries import right
from tests.check.forwards import HOLD, KERNEL
from tests.check.pieces import (
    normalised_backwards,
    rosenbrock,
    scattered,
    shifted_inverse,
    sigmoid,
    softmax,
    solved,
)


def sech2(x: Any) -> Any:
    """The slope of tanh, with all digits where it is small and its factors may be large."""
    e = np.exp(-2 * np.abs(x))
    return 4 * e / (1 + e) ** 2


def direction(x: Any) -> Any:
    """x / |x|, of an x scaled to 1, and 0 for 0."""
    m = np.max(np.abs(x), initial=0)
    if m == 0:
        return np.zeros_like(x)
    return x / m / np.sqrt(np.sum((x / m) ** 2))


def by_hypot(x: Any) -> Any:
    if not x.any():
        return np.append(0.5, np.zeros(len(x) - 1))[: len(x)]
    scaled = x / np.max(np.abs(x))
    return scaled / np.hypot.reduce(scaled)


def others(x: Any) -> Any:
    """The products of all elements but one, from the left and from the right."""
    left = np.append(1, np.cumprod(x[:-1]))
    right = np.append(np.cumprod(x[:0:-1])[::-1], 1)
    return (left * right)[: len(x)]


def cumprod_slope(x: Any) -> Any:
    """From the back: what follows an element, times what stands before it."""
    after, g = 0.0, np.zeros_like(x)
    before = np.append(1, np.cumprod(x))[: len(x)]
    for k in range(len(x) - 1, -1, -1):
        g[k] = before[k] * (1 + after)
        after = x[k] * (1 + after)
    return g


def rosenbrock_hessian(x: Any) -> Any:
    H = np.diag(np.append(1200 * x[:-1] ** 2 - 400 * x[1:] + 2, 0) + np.append(0, 200 + 0 * x[1:]))
    return H - np.diag(400 * x[:-1], 1) - np.diag(400 * x[:-1], -1)


def lse(z: Any) -> Any:
    m = np.max(z)
    return m + np.log(np.sum(np.exp(z - m)))


def jacobian_of_softmax(z: Any) -> Any:
    p = softmax(z)
    return np.diag(p) - np.outer(p, p)


def affine_slopes(X: Any, W: Any, b: Any) -> Any:
    s = sech2(X @ W + b)
    return s @ W.T, X.T @ s, s.sum(axis=0)


def layer_backwards(W: Any, x: Any, g: Any) -> Any:
    s = g * sech2(W @ x)
    return np.outer(s, x), W.T @ s


ENTRIES = (
    # Reductions of several elements.
    right("logsumexp", "softmax", gradient=softmax, single=True),
    right("logsumexp", "softmax, with the hessian", gradient=softmax, hessian=jacobian_of_softmax),
    right("norm", "scaled, 0 at 0", gradient=direction, single=True),
    right("norm", "by hypot, 1/2 in one direction at 0", gradient=by_hypot),
    right("prod", "from both sides", gradient=others, single=True),
    right(
        "prod",
        "each left out",
        gradient=lambda x: np.array([np.prod(np.delete(x, k)) for k in range(len(x))]),
    ),
    right("cumprod", "from the back", gradient=cumprod_slope, single=True),
    right(
        "cumsum",
        "summed back",
        single=True,
        gradient=lambda x: 2 * np.cumsum(np.cumsum(x)[::-1])[::-1],
    ),
    right(
        "cumsum",
        "by a triangle",
        gradient=lambda x: 2 * np.tri(len(x)).T @ np.tri(len(x)) @ x,
        hessian=lambda x: 2 * np.tri(len(x)).T @ np.tri(len(x)),
    ),
    right(
        "mse",
        "a list",
        gradient=lambda p, t: [2 * (p - t) / p.size, 2 * (t - p) / p.size],
        single=True,
    ),
    right(
        "variance", "about the mean", gradient=lambda x: 2 * (x - x.mean()) / x.size, single=True
    ),
    right(
        "variance",
        "by a projection",
        gradient=lambda x: 2 / len(x) * (np.eye(len(x)) - 1 / len(x)) @ x,
    ),
    right("mean_tanh", "divided by the size", gradient=lambda x: sech2(x) / x.size, single=True),
    right("rosenbrock", "with the hessian", gradient=rosenbrock, hessian=rosenbrock_hessian),
    right(
        "rosenbrock",
        "with jvp",
        gradient=rosenbrock,
        jvp=lambda x, t: rosenbrock(x) @ t,
        single=True,
    ),
    right(
        "xent",
        "any targets",
        single=True,
        gradient=lambda z, t: (np.sum(t) * softmax(z) - t, lse(z) - z),
    ),
    right(
        "sigmoid_xent",
        "sigmoid less targets",
        gradient=lambda z, y: (sigmoid(z) - y, -z),
        single=True,
    ),
    right("sigmoid_xent", "by tanh", gradient=lambda z, y: [(1 + np.tanh(z / 2)) / 2 - y, -z]),
    # Products of arrays.
    right("triple", "products of two", gradient=lambda a, b, c: (b * c, a * c, a * b), single=True),
    right(
        "quadratic",
        "the sum of A and A'",
        single=True,
        gradient=lambda x, A: ((A + A.T) @ x, np.outer(x, x)),
    ),
    right("quadratic", "two products", gradient=lambda x, A: (A @ x + x @ A, x[:, None] * x)),
    right(
        "matmul",
        "with transposes",
        single=True,
        gradient=lambda A, B: (2 * (A @ B) @ B.T, 2 * A.T @ (A @ B)),
    ),
    right(
        "matmul",
        "einsum",
        gradient=lambda A, B: [
            2 * np.einsum("ij,kj->ik", A @ B, B),
            2 * np.einsum("ij,ik->jk", A, A @ B),
        ],
    ),
    right("bias", "summed over the batch", gradient=affine_slopes, single=True),
    right("bias", "an empty batch", gradient=affine_slopes, inputs={"X": (0, 3)}),
    right(
        "column",
        "summed over columns",
        single=True,
        gradient=lambda X, s: (2 * X * s**2, 2 * np.sum(X**2 * s, axis=1, keepdims=True)),
    ),
    right(
        "thin", "summed over one row", gradient=lambda x, s: (2 * x * s**2, np.sum(2 * x**2 * s, 0))
    ),
    right(
        "outer",
        "matrix and vector",
        gradient=lambda x, y, M: (M @ y, x @ M, np.outer(x, y)),
        single=True,
    ),
    right("trace", "views", gradient=lambda A, B: (B.T, A.T), single=True),
    right(
        "commutator",
        "four products",
        gradient=lambda A, B, C: (C @ B.T - B.T @ C, A.T @ C - C @ A.T, A @ B - B @ A),
    ),
    right(
        "gather",
        "np.add.at",
        single=True,
        gradient=lambda x, w: (scattered(np.cos(x[HOLD]) * w, HOLD, len(x)), np.sin(x[HOLD])),
    ),
    right(
        "gather",
        "by counting, in float64",
        gradient=lambda x, w: (np.cos(x) * np.bincount(HOLD, w, len(x)), np.sin(x)[HOLD]),
    ),
    right(
        "convolve",
        "correlated",
        gradient=lambda x: 2 * np.correlate(np.convolve(x, KERNEL), KERNEL, "valid"),
    ),
    # Matrices.
    right("logdet", "the inverse transposed", gradient=lambda A: shifted_inverse(A, 4).T),
    right("logdet", "solved", gradient=lambda A: np.linalg.solve((A + 4 * np.eye(3)).T, np.eye(3))),
    right("solve", "solved with A'", gradient=solved),
    right(
        "trace_inv",
        "the square of the inverse, transposed",
        gradient=lambda A: -np.linalg.matrix_power(shifted_inverse(A, 3), 2).T,
    ),
    # Arrays of results.
    right("layer", "vjp", vjp=layer_backwards, single=True),
    right(
        "layer",
        "vjp and jvp",
        vjp=layer_backwards,
        jvp=lambda W, x, tW, tx: sech2(W @ x) * (W @ tx + tW @ x),
    ),
    right(
        "softmax",
        "vjp and jvp",
        vjp=lambda z, g: (p := softmax(z)) * (g - p @ g),
        single=True,
        jvp=lambda z, t: (p := softmax(z)) * (t - p @ t),
    ),
    right("softmax", "by its Jacobian", vjp=lambda z, g: jacobian_of_softmax(z) @ g),
    right("layernorm", "vjp", vjp=lambda x, g: normalised_backwards(x, g, 1e-5), single=True),
    right(
        "squares",
        "vjp and jvp",
        vjp=lambda x, g: 2 * x * g,
        jvp=lambda x, t: 2 * x * t,
        single=True,
    ),
    right(
        "differences",
        "vjp",
        single=True,
        vjp=lambda x, g: (np.append(0, d := 2 * np.diff(x) * g) - np.append(d, 0)).astype(x.dtype),
    ),
    right(
        "polar",
        "vjp",
        vjp=lambda r, t, g: (
            g[0] * np.cos(t) + g[1] * np.sin(t),
            r * (g[1] * np.cos(t) - g[0] * np.sin(t)),
        ),
        single=True,
    ),
)
