"""The adjoint of a node by displacing its value: central differences without derivative rules.

They run in the tests' own interpreter, at many digits.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import mpmath as mp
import numpy as np

import symdiff as sd
from tests.support.fields import HIGH
from tests.support.oracles import bound, values_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from symdiff import Expr
    from tests.support.fields import Array

DIGITS = 80
STEP = 25  # decimal places: the error of the differences is h^2, rounding leaves 80 - 25 digits
CLOSE = 1e-20


def weights(f: Expr) -> Any:
    """Return the seed of f: 1 for a scalar, else 1, 2, 3 ..."""
    shape = tuple(map(int, f.shape))
    return np.arange(1.0, 1 + np.prod(shape)).reshape(shape) if shape else 1


def displaced(f: Expr, v: Expr, env: Mapping[Expr, Array], seed: Any) -> Array:
    """Return ``sum_i seed_i df_i / dv`` by central differences in the value of the node v alone."""
    (at,) = values_of([v], env, HIGH)
    h = mp.mpf(10) ** -STEP
    out = np.empty(at.shape, object)
    for place in np.ndindex(at.shape):
        ends = []
        for sign in (1, -1):
            moved = at.copy()
            moved[place] = at[place] + sign * h
            ends.append(np.sum(seed * values_of([f], {**env, v: moved}, HIGH)[0]))
        out[place] = (ends[0] - ends[1]) / (2 * h)
    return out


def robot() -> tuple[Expr, list[Expr], dict[Expr, Array]]:
    """Return a formula of many families, some of its nodes, and a point."""
    q, A, x = sd.symbol("q", 3), sd.symbol("A", (3, 3)), sd.symbol("x")
    inner = sd.sin(q[0]) * q[1] + x**2
    f = sd.norm(A @ sd.exp(q) * inner) * sd.where(inner > 0, inner, x) + sd.sum(q[1:] / x)
    f = f * sd.det(A) + sd.atan2(x, x * q[2]) + sd.sum(sd.inv(A) @ q) + sd.max(q)
    point = [
        [0.5, 1.5, -0.25],
        [[1.0, 2.0, 3.0], [0.5, -1.0, 2.0], [1.0, 0.0, 1.0]],
        1.25,
    ]
    exact = [np.vectorize(Fraction, otypes=[object])(v) for v in point]
    return f, [q, A, x, q[0], q[1:], A[0]], bound((q, A, x), exact, HIGH)
