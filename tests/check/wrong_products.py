"""Wrong gradients of products of arrays, of matrices and of arrays of results."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.check.entries import mutates, wrong
from tests.check.forwards import HOLD, KERNEL
from tests.check.pieces import (
    BIAS,
    D22,
    D33,
    M22,
    M23,
    M32,
    M33,
    M34,
    N22,
    POINT,
    TWOS,
    normalised_backwards,
    scattered,
    sech2,
    shifted_inverse,
    softmax,
    solved,
)


def shifted(d: Any) -> Any:
    """One place to the right, and what falls off the end is lost."""
    return np.concatenate([[0], d[:-1], [0]], dtype=d.dtype)


def scaled_in_place(X: Any, s: Any) -> Any:
    X *= s
    return 2 * X * s, 2 * np.sum(X * X / s, axis=1, keepdims=True)


# Products of arrays -------------------------------------------------------------------------------

ENTRIES = (
    wrong(
        "triple",
        "a factor left out",
        "missing-term factor other",
        [POINT, [2.0, 3, 4], [5.0, 6, 7]],
        gradient=lambda a, b, c: (b * c, a * c, a),
    ),
    wrong(
        "triple",
        "the inputs rotated",
        "transposed other",
        [POINT, [2.0, 3, 4], [5.0, 6, 7]],
        gradient=lambda a, b, c: (a * b, b * c, c * a),
    ),
    wrong(
        "quadratic",
        "2 A x for a matrix that is not symmetric",
        "transposed missing-term",
        [POINT, M33],
        gradient=lambda x, A: (2 * A @ x, np.outer(x, x)),
    ),
    wrong(
        "quadratic",
        "A' x missing",
        "missing-term",
        [POINT, M33],
        gradient=lambda x, A: (A @ x, np.outer(x, x)),
    ),
    wrong(
        "matmul",
        "accumulated in float32",
        "dtype accumulation",
        [np.divide(M23, 7), np.divide(M34, 7)],
        gradient=lambda A, B: (
            2 * np.matmul(A, B, dtype=np.float32, casting="same_kind") @ B.T,
            2 * A.T @ (A @ B),
        ),
        inputs={"A": np.arange(6.0).reshape(2, 3) / 7, "B": np.arange(12.0).reshape(3, 4) / 7},
    ),
    wrong(
        "matmul",
        "half for the second input",
        "factor",
        [M23, M34],
        gradient=lambda A, B: (2 * A @ B @ B.T, A.T @ (A @ B)),
    ),
    wrong(
        "bias",
        "the bias not summed over the batch",
        "broadcast",
        BIAS,
        gradient=lambda X, W, b: ((s := sech2(X @ W + b)) @ W.T, X.T @ s, s),
    ),
    wrong(
        "bias",
        "the bias averaged over the batch",
        "broadcast factor",
        BIAS,
        gradient=lambda X, W, b: (
            (s := sech2(X @ W + b)) @ W.T,
            X.T @ s,
            s.sum(axis=0) / max(len(s), 1),
        ),
    ),
    wrong(
        "bias",
        "the bias of the first row",
        "broadcast missing-term",
        BIAS,
        gradient=lambda X, W, b: ((s := sech2(X @ W + b)) @ W.T, X.T @ s, s[:1].sum(axis=0)),
    ),
    wrong(
        "bias",
        "nan for an empty batch",
        "nonfinite broadcast",
        [np.zeros((0, 3)), *BIAS[1:]],
        gradient=lambda X, W, b: (
            (s := sech2(X @ W + b)) @ W.T,
            X.T @ s,
            s.sum(axis=0) / np.float64(len(s)) * len(s),
        ),
        inputs={"X": (0, 3)},
    ),
    wrong(
        "column",
        "an axis of length 1 dropped",
        "broadcast",
        [M34, [[1.0], [2], [3]]],
        gradient=lambda X, s: (2 * X * s**2, 2 * np.sum(X**2 * s, axis=1)),
    ),
    wrong(
        "column",
        "summed over all axes",
        "broadcast",
        [M34, [[1.0], [2], [3]]],
        gradient=lambda X, s: (2 * X * s**2, np.full_like(s, 2 * np.sum(X**2 * s))),
    ),
    wrong("column", "the input scaled in place", "mutation", mutates, gradient=scaled_in_place),
    wrong(
        "thin",
        "squeezed",
        "broadcast",
        [[[1.0, 2, 3, 4]], TWOS],
        gradient=lambda x, s: (np.squeeze(2 * x * s**2), np.sum(2 * x**2 * s, axis=0)),
    ),
    wrong(
        "outer",
        "the matrix transposed",
        "transposed",
        [[1.0, 2], POINT, M23],
        gradient=lambda x, y, M: (M @ y, x @ M, np.outer(y, x)),
    ),
    wrong(
        "trace",
        "the factors not transposed",
        "transposed",
        [M23, M32],
        gradient=lambda A, B: (B, A),
    ),
    wrong(
        "trace",
        "reshaped for transposed",
        "transposed",
        [M23, M32],
        gradient=lambda A, B: (B.reshape(A.shape), A.reshape(B.shape)),
    ),
    wrong(
        "commutator",
        "sign of a product",
        "sign",
        [M22, N22, [[1.0, 2], [3, 5]]],
        gradient=lambda A, B, C: (C @ B.T + B.T @ C, A.T @ C - C @ A.T, A @ B - B @ A),
    ),
    wrong(
        "commutator",
        "a product missing",
        "missing-term",
        [M22, N22, [[1.0, 2], [3, 5]]],
        gradient=lambda A, B, C: (C @ B.T - B.T @ C, A.T @ C, A @ B - B @ A),
    ),
    wrong(
        "gather",
        "elements that are read twice",
        "missing-term accumulation other",
        [POINT, TWOS],
        gradient=lambda x, w: (
            scattered((np.cos(x[HOLD]) * w)[[0, 2, 3]], HOLD[[0, 2, 3]], len(x)),
            np.sin(x[HOLD]),
        ),
    ),
    wrong(
        "gather",
        "off by one",
        "other transposed",
        [POINT, TWOS],
        gradient=lambda x, w: (scattered(np.cos(x[HOLD]) * w, HOLD - 1, len(x)), np.sin(x[HOLD])),
    ),
    wrong(
        "convolve",
        "the kernel not turned",
        "transposed other",
        [TWOS],
        gradient=lambda x: 2 * np.convolve(np.convolve(x, KERNEL), KERNEL, "valid"),
    ),
    # Matrices.
    wrong(
        "logdet",
        "the inverse not transposed",
        "transposed",
        [D33],
        gradient=lambda A: shifted_inverse(A, 4),
    ),
    wrong("logdet", "sign", "sign", [D33], gradient=lambda A: -shifted_inverse(A, 4).T),
    wrong(
        "solve",
        "solved with A for A'",
        "transposed",
        [D22, [1.0, 2]],
        gradient=lambda A, b: solved(A, b, back=np.asarray),
    ),
    wrong(
        "solve",
        "the outer product transposed",
        "transposed",
        [D22, [1.0, 2]],
        gradient=lambda A, b: solved(A, b, turn=np.transpose),
    ),
    wrong(
        "solve",
        "sign for the matrix",
        "sign",
        [D22, [1.0, 2]],
        gradient=lambda A, b: solved(A, b, turn=np.negative),
    ),
    wrong(
        "trace_inv",
        "not transposed",
        "transposed",
        [D22],
        gradient=lambda A: -np.linalg.matrix_power(shifted_inverse(A, 3), 2),
    ),
    wrong(
        "trace_inv",
        "squared by element",
        "other",
        [D22],
        gradient=lambda A: -(shifted_inverse(A, 3).T ** 2),
    ),
    # Arrays of results.
    wrong(
        "layer",
        "the weights transposed",
        "transposed",
        [M23, POINT],
        vjp=lambda W, x, g: (np.outer(x, g * sech2(W @ x)), W.T @ (g * sech2(W @ x))),
    ),
    wrong(
        "layer",
        "the slope of tanh missing for x",
        "missing-term factor other",
        [M23, POINT],
        vjp=lambda W, x, g: (np.outer(g * sech2(W @ x), x), W.T @ g),
    ),
    wrong(
        "layer",
        "the jvp without the weights' tangent",
        "missing-term",
        [M23, POINT],
        vjp=lambda W, x, g: (np.outer(g * sech2(W @ x), x), W.T @ (g * sech2(W @ x))),
        jvp=lambda W, x, tW, tx: sech2(W @ x) * (W @ tx),
    ),
    wrong(
        "softmax",
        "the outer product missing",
        "missing-term",
        [TWOS],
        vjp=lambda z, g: softmax(z) * g,
    ),
    wrong(
        "softmax",
        "sign of a term of the jvp",
        "sign",
        [TWOS],
        vjp=lambda z, g: (p := softmax(z)) * (g - p @ g),
        jvp=lambda z, t: (p := softmax(z)) * (t + p @ t),
    ),
    wrong(
        "layernorm",
        "no path through the variance",
        "missing-term",
        [M34[:2]],
        vjp=lambda x, g: normalised_backwards(x, g, 1e-5, variance=0),
    ),
    wrong(
        "layernorm",
        "epsilon of 1e-6",
        "other factor",
        [M34[:2]],
        vjp=lambda x, g: normalised_backwards(x, g, 1e-6),
    ),
    wrong(
        "layernorm",
        "along the other axis",
        "other broadcast transposed",
        [M34[:2]],
        vjp=lambda x, g: normalised_backwards(x, g, 1e-5, axis=0),
    ),
    wrong(
        "squares",
        "the cotangent summed",
        "transposed broadcast other",
        [TWOS],
        vjp=lambda x, g: 2 * x * np.sum(g),
    ),
    wrong(
        "squares",
        "the cotangent ignored",
        "other factor missing-term",
        [TWOS],
        vjp=lambda x, g: 2 * x,
    ),
    wrong(
        "differences",
        "off by one",
        "other missing-term",
        [np.arange(5.0) ** 2],
        vjp=lambda x, g: shifted(2 * np.diff(x) * g) - np.append(2 * np.diff(x) * g, 0),
    ),
    wrong(
        "polar",
        "r missing",
        "missing-term factor other",
        [[1.5, 2, 3], POINT],
        vjp=lambda r, t, g: (
            g[0] * np.cos(t) + g[1] * np.sin(t),
            g[1] * np.cos(t) - g[0] * np.sin(t),
        ),
    ),
    wrong(
        "polar",
        "sign of a component",
        "sign",
        [[1.5, 2, 3], POINT],
        vjp=lambda r, t, g: (
            g[0] * np.cos(t) + g[1] * np.sin(t),
            r * (g[1] * np.cos(t) + g[0] * np.sin(t)),
        ),
    ),
)
