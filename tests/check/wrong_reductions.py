"""Wrong gradients of reductions of several elements."""

from __future__ import annotations

import numpy as np

from tests.check.entries import reads_memory_order, wrong
from tests.check.forwards import RANKS
from tests.check.pieces import M34, POINT, TWOS, norm, rosenbrock, sech2, sigmoid, softmax

ENTRIES = (
    wrong(
        "logsumexp",
        "naive exponentials",
        "nonfinite",
        [[800.0, 1, 2, 3]],
        gradient=lambda z: np.exp(z) / np.sum(np.exp(z)),
    ),
    wrong(
        "logsumexp",
        "the hessian lacks the outer product",
        "order missing-term",
        [TWOS],
        gradient=softmax,
        hessian=lambda z: np.diag(softmax(z)),
    ),
    wrong("norm", "nan at 0", "nonfinite", [[0.0, 0, 0]], gradient=lambda x: x / norm(x)),
    wrong(
        "norm",
        "1e-6 in the denominator",
        "other factor",
        [POINT],
        gradient=lambda x: x / (norm(x) + 1e-6),
    ),
    wrong(
        "norm",
        "divided by the square",
        "other factor",
        [POINT],
        gradient=lambda x: x / np.maximum(np.sum(x**2), np.finfo(x.dtype).tiny),
    ),
    wrong(
        "prod",
        "divided by an element",
        "nonfinite",
        [[0.0, 1, 2, 3]],
        gradient=lambda x: np.prod(x) / x,
    ),
    wrong(
        "prod",
        "off by one",
        "other transposed",
        [TWOS],
        gradient=lambda x: np.array([np.prod(np.delete(x, k - 1)) for k in range(len(x))], x.dtype),
    ),
    wrong(
        "cumprod",
        "divided by an element",
        "nonfinite",
        [[0.0, 1, 2, 3]],
        gradient=lambda x: np.cumsum(np.cumprod(x)[::-1])[::-1] / x,
    ),
    wrong(
        "cumsum",
        "sums from the front",
        "transposed other",
        [TWOS],
        gradient=lambda x: np.cumsum(2 * np.cumsum(x)),
    ),
    wrong(
        "cumsum",
        "off by one",
        "other missing-term",
        [TWOS],
        gradient=lambda x: np.append(np.cumsum(2 * np.cumsum(x)[::-1])[::-1][1:], 0),
    ),
    wrong(
        "mse",
        "not divided by n",
        "factor",
        [np.arange(5.0), np.ones(5)],
        gradient=lambda p, t: (2 * (p - t), 2 * (t - p)),
    ),
    wrong(
        "mse",
        "sign of the targets",
        "sign",
        [np.arange(5.0), np.ones(5)],
        gradient=lambda p, t: (2 * (p - t) / p.size, 2 * (p - t) / p.size),
    ),
    wrong(
        "variance",
        "divided by n - 1",
        "factor",
        [np.arange(5.0)],
        gradient=lambda x: 2 * (x - x.mean()) / max(x.size - 1, 1),
    ),
    wrong(
        "variance",
        "no path through the mean",
        "missing-term",
        [np.arange(5.0)],
        gradient=lambda x: 2 * x / x.size,
    ),
    wrong(
        "variance",
        "a mean accumulated in float32",
        "dtype accumulation",
        [np.arange(5.0) + 0.1],
        gradient=lambda x: 2 * (x - np.mean(x, dtype=np.float32)) / x.size,
        inputs={"x": np.arange(5.0) / 7},
    ),
    wrong(
        "mean_tanh",
        "divided by the rows alone",
        "factor",
        [M34],
        gradient=lambda x: sech2(x) / len(x),
    ),
    wrong(
        "mean_tanh",
        "reads the memory of its input in order",
        "other transposed",
        reads_memory_order,
        gradient=lambda x: (sech2(x.ravel("K")) / x.size).reshape(x.shape),
    ),
    wrong(
        "rosenbrock",
        "the last component left out",
        "missing-term other",
        [POINT],
        gradient=lambda x: np.append(rosenbrock(x)[:-1], 0),
    ),
    wrong(
        "rosenbrock",
        "the hessian without mixed terms",
        "order missing-term",
        [POINT],
        gradient=rosenbrock,
        hessian=lambda x: np.diag(
            np.append(1200 * x[:-1] ** 2 - 400 * x[1:] + 2, 0) + np.append(0, 200 + 0 * x[1:])
        ),
    ),
    wrong(
        "xent",
        "targets that must sum to 1",
        "missing-term factor other",
        [TWOS, [1.0, 2, 0, 1]],
        gradient=lambda z, t: (softmax(z) - t, np.logaddexp.reduce(z) - z),
    ),
    wrong(
        "xent",
        "nothing for the targets",
        "missing-term other",
        [TWOS, [1.0, 2, 0, 1]],
        gradient=lambda z, t: (t.sum() * softmax(z) - t, np.zeros_like(t)),
    ),
    wrong(
        "sigmoid_xent",
        "probabilities clipped to 1e-7",
        "branch dead-tail other",
        [[20.0, 1, 2, 3, 4], np.zeros(5)],
        gradient=lambda z, y: (np.clip(sigmoid(z), 1e-7, 1 - 1e-7) - y, -z),
    ),
    wrong(
        "sigmoid_xent",
        "a quotient that is 0/0",
        "nonfinite",
        [[800.0, 1, 2, 3, 4], np.zeros(5)],
        gradient=lambda z, y: ((sigmoid(z) - y) / (p := sigmoid(z) * (1 - sigmoid(z))) * p, -z),
    ),
    wrong(
        "sorted",
        "the permutation for its inverse",
        "transposed other",
        [[2.0, 3, 1, 0.5]],
        gradient=lambda x: RANKS[np.argsort(x)],
    ),
    wrong(
        "rowmax",
        "along the other axis",
        "other transposed branch",
        [M34],
        gradient=lambda X: 1.0 * (X.max(axis=0, keepdims=True) == X),
    ),
)
