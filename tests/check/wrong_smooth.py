"""Wrong gradients of smooth functions of each element."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.check.entries import mutates, remembers, singles, wrong
from tests.check.pieces import TWOS, sech2, sigmoid


def at(x: Any, k: int, factor: float) -> Any:
    """The array with one element multiplied."""
    scaled = np.array(x)
    scaled[k : k + 1] *= factor
    return scaled


class Accumulating:
    """A gradient that adds to what it gave before, as a ``.grad`` does that nobody zeroes."""

    def __init__(self) -> None:
        self.total: Any = np.zeros(0)

    def __call__(self, x: Any) -> Any:
        g = np.cos(x)
        self.total = g + self.total if self.total.shape == g.shape else g
        return self.total


class OneBuffer:
    """A gradient whose every result is the same array, written over by the next call."""

    def __init__(self) -> None:
        self.out: Any = np.zeros(0)

    def __call__(self, x: Any) -> Any:
        if self.out.shape != np.shape(x):
            self.out = np.empty_like(x)
        self.out[...] = np.cos(x)
        return self.out


class Stale:
    """A gradient that keeps the sigmoid of its first call, as a forward that saved its result."""

    def __init__(self) -> None:
        self.saved: Any = np.zeros(0)

    def __call__(self, x: Any) -> Any:
        if self.saved.shape != np.shape(x):
            self.saved = sigmoid(x)
        return self.saved.copy()


ENTRIES = (
    wrong(
        "tanh",
        "0.05 % too large",
        "factor",
        [[0.5, -1, 2, 0, 1]],
        gradient=lambda x: 1.0005 * sech2(x),
    ),
    wrong(
        "tanh",
        "zero for |x| > 4",
        "dead-tail",
        [[5.0, -5, 0, 1, 2]],
        gradient=lambda x: np.where(np.abs(x) > 4, 0, sech2(x)),
    ),
    wrong("tanh", "sign", "sign", [[0.5, -1, 2, 0, 1]], gradient=lambda x: np.tanh(x) ** 2 - 1),
    wrong(
        "tanh",
        "one beyond 30",
        "branch other",
        [[31.0, -40, 0, 1, 2]],
        gradient=lambda x: np.where(np.abs(x) > 30, 1, sech2(x)),
    ),
    wrong(
        "tanh",
        "computed in float32",
        "dtype",
        [[0.5, -1, 2, 0, 1]],
        gradient=lambda x: sech2(x.astype(np.float32)).astype(x.dtype),
        inputs={"x": np.linspace(-1, 1, 5)},
    ),
    wrong(
        "tanh",
        "exponentials that overflow",
        "nonfinite",
        [[400.0, 0, 1, 2, 3]],
        gradient=lambda x: 4 * np.exp(2 * x) / (np.exp(2 * x) + 1) ** 2,
    ),
    wrong(
        "tanh",
        "zero at exactly 0",
        "branch other tie",
        [[0.0, 1, 2, 3, 4]],
        gradient=lambda x: np.where(x == 0, 0, sech2(x)),
    ),
    wrong(
        "tanh",
        "float32 inputs, computed in float16",
        "dtype",
        [[0.5, -1, 2, 0, 1]],
        gradient=lambda x: sech2(x.astype(np.float16)).astype(x.dtype),
        inputs=singles("tanh"),
    ),
    wrong("sin", "0.05 % too small", "factor", [TWOS], gradient=lambda x: np.cos(x) * (1 - 5e-4)),
    wrong(
        "sin",
        "float32 inputs, 0.05 % too large",
        "factor",
        [TWOS],
        gradient=lambda x: np.cos(x) * np.float32(1.0005),
        inputs=singles("sin"),
    ),
    wrong("sin", "sign of component 2", "sign", [TWOS], gradient=lambda x: at(np.cos(x), 2, -1)),
    wrong(
        "sin",
        "written over the input",
        "mutation",
        mutates,
        gradient=lambda x: np.cos(x, out=x).copy(),
    ),
    wrong("sin", "accumulates over calls", "accumulation", remembers, gradient=Accumulating()),
    wrong(
        "sin",
        "one buffer for all results",
        "accumulation mutation",
        remembers,
        gradient=OneBuffer(),
    ),
    wrong(
        "sin",
        "pi of six digits beyond 30",
        "branch cancellation other",
        [[100.0, -50, 1, 2]],
        gradient=lambda x: np.cos(np.where(np.abs(x) > 30, np.fmod(x, 6.28318), x)),
    ),
    wrong(
        "sin",
        "flushes subnormal inputs",
        "branch other dead-tail",
        [[1e-310, 1, 2, 3]],
        gradient=lambda x: np.where((np.abs(x) < np.finfo(x.dtype).tiny) & (x != 0), 0, np.cos(x)),
    ),
    wrong(
        "softplus",
        "naive exponentials",
        "nonfinite",
        [[800.0, 1, 2, 3]],
        gradient=lambda x: np.exp(x) / (1 + np.exp(x)),
    ),
    wrong(
        "softplus",
        "float32 inputs, naive exponentials",
        "nonfinite",
        [[100.0, 1, 2, 3]],
        gradient=lambda x: np.exp(x) / (1 + np.exp(x)),
        inputs=singles("softplus"),
    ),
    wrong(
        "softplus",
        "zero below -10",
        "dead-tail",
        [[-11.0, 1, 2, 3]],
        gradient=lambda x: np.where(x < -10, 0, sigmoid(x)),
    ),
    wrong(
        "softplus",
        "a constant of 1e-6 too much",
        "other missing-term",
        [TWOS],
        gradient=lambda x: sigmoid(x) + 1e-6,
    ),
    wrong(
        "softplus",
        "sign of the negative branch",
        "sign branch",
        [TWOS],
        gradient=lambda x: np.where(x >= 0, sigmoid(x), -sigmoid(x)),
    ),
    wrong(
        "softplus",
        "keeps what its first call saved",
        "accumulation other",
        remembers,
        gradient=Stale(),
    ),
    wrong("cubic", "a power too low", "other factor", [TWOS], gradient=lambda x: 3 * x),
    wrong("cubic", "the exponent forgotten", "factor", [TWOS], gradient=lambda x: x**2),
    wrong(
        "cubic",
        "0.05 % too large in component 0",
        "factor",
        [TWOS],
        gradient=lambda x: at(3 * x**2, 0, 1.0005),
    ),
    wrong(
        "cubic",
        "the hessian half",
        "order factor",
        [TWOS],
        gradient=lambda x: 3 * x**2,
        hessian=lambda x: np.diag(3 * x),
    ),
    wrong("xsinx", "x cos(x) missing", "missing-term", [TWOS], gradient=lambda x: np.sin(x)),
    wrong("xsinx", "sin(x) missing", "missing-term", [TWOS], gradient=lambda x: x * np.cos(x)),
    wrong("xsinx", "sign of a term", "sign", [TWOS], gradient=lambda x: np.sin(x) - x * np.cos(x)),
    wrong(
        "xsinx",
        "a term 0.05 % too large",
        "factor",
        [TWOS],
        gradient=lambda x: np.sin(x) + 1.0005 * x * np.cos(x),
    ),
    wrong(
        "xsinx",
        "the hessian lacks a term",
        "order missing-term",
        [TWOS],
        gradient=lambda x: np.sin(x) + x * np.cos(x),
        hessian=lambda x: np.diag(2 * np.cos(x)),
    ),
    wrong(
        "xsinx",
        "differences of a step of 1e-6",
        "cancellation other",
        [TWOS],
        gradient=lambda x: ((x + 1e-6) * np.sin(x + 1e-6) - (x - 1e-6) * np.sin(x - 1e-6)) / 2e-6,
        inputs={"x": np.array(TWOS)},
    ),
    wrong("gauss", "sign", "sign", [TWOS], gradient=lambda x: x * np.exp(-(x**2) / 2)),
    wrong(
        "gauss",
        "inner derivative missing",
        "missing-term other",
        [TWOS],
        gradient=lambda x: -np.exp(-(x**2) / 2),
    ),
    wrong(
        "gauss",
        "zero for |x| > 4",
        "dead-tail",
        [[5.0, 1, 2, 3]],
        gradient=lambda x: np.where(np.abs(x) > 4, 0, -x * np.exp(-(x**2) / 2)),
    ),
    wrong(
        "logcosh",
        "a quotient of exponentials",
        "nonfinite",
        [[800.0, 1, 2, 3]],
        gradient=lambda x: (np.exp(x) - np.exp(-x)) / (np.exp(x) + np.exp(-x)),
    ),
    wrong(
        "logcosh",
        "the hessian with tanh for its square",
        "order",
        [TWOS],
        gradient=np.tanh,
        hessian=lambda x: np.diag(1 - np.tanh(x)),
    ),
    wrong(
        "logcosh",
        "zero for |x| < 1e-3",
        "branch dead-tail other",
        [[5e-4, 1, 2, 3]],
        gradient=lambda x: np.where(np.abs(x) < 1e-3, 0, np.tanh(x)),
    ),
    wrong(
        "sinc",
        "the textbook's difference of quotients",
        "cancellation nonfinite",
        [[1e-8, 1, 2, 3]],
        gradient=lambda x: np.where(
            x == 0,
            0,
            np.cos(np.pi * x) / np.where(x == 0, 1, x)
            - np.sin(np.pi * x) / (np.pi * np.where(x == 0, 1, x) ** 2),
        ),
    ),
    wrong(
        "log1p_square",
        "1e-6 in the denominator",
        "other factor",
        [TWOS],
        gradient=lambda x: 2 * x / (1 + x**2 + 1e-6),
    ),
    wrong(
        "log1p_square",
        "clipped to 0.9",
        "other branch dead-tail",
        [[1.0, 2, 3, -1]],
        gradient=lambda x: np.clip(2 * x / (1 + x**2), -0.9, 0.9),
    ),
    wrong(
        "polynomial",
        "the constant term missing",
        "missing-term",
        [[2.0, 1, 0.5]],
        gradient=lambda x: 6 * x**2 - 6 * x,
    ),
    wrong(
        "polynomial",
        "sign of a term",
        "sign",
        [[2.0, 1, 0.5]],
        gradient=lambda x: 6 * x**2 + 6 * x + 1,
    ),
    wrong(
        "sqrtlog",
        "1/sqrt(x) missing",
        "missing-term",
        [[1.0, 2, 3, 4]],
        gradient=lambda x: np.log(x) / (2 * np.sqrt(x)),
    ),
    wrong(
        "sqrtlog",
        "1e-6 below the root",
        "other factor",
        [[1.0, 2, 3, 4]],
        gradient=lambda x: (np.log(x) / 2 + 1) / np.sqrt(x + 1e-6),
    ),
    wrong(
        "powers",
        "0 log(0)",
        "nonfinite",
        [[0.0, 1, 2], [2.0, 2, 2]],
        gradient=lambda x, y: (y * x ** (y - 1), x**y * np.log(x)),
    ),
    wrong(
        "powers",
        "the power of x too high",
        "other",
        [[1.5, 2, 3], [2.0, 2, 2]],
        gradient=lambda x, y: (y * x**y, np.where(x > 0, x**y * np.log(np.where(x > 0, x, 1)), 0)),
    ),
    wrong(
        "hypot",
        "squares that leave the floats",
        "nonfinite dead-tail",
        [[1e200, 1, 2, 3], [1e200, 1, 2, 3]],
        gradient=lambda x, y: (x / np.sqrt(x**2 + y**2), y / np.sqrt(x**2 + y**2)),
    ),
    wrong(
        "angle",
        "sign of the second input",
        "sign",
        [[1.0, 2, -1], [1.0, 2, 3]],
        gradient=lambda y, x: (x / (x**2 + y**2), y / (x**2 + y**2)),
    ),
    wrong(
        "angle",
        "the inputs swapped",
        "transposed other",
        [[1.0, 2, -1], [1.0, 2, 3]],
        gradient=lambda y, x: (-y / (x**2 + y**2), x / (x**2 + y**2)),
    ),
)
