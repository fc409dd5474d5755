"""Divergences of positive numbers, without cancellation between numbers that are nearly equal.

All functions take and return float64 arrays of one shape, and do not need SciPy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symdiff.contexts import contained

if TYPE_CHECKING:
    from numeric.types import Doubles


@contained
def log_ratio(x: Doubles, y: Doubles) -> Doubles:
    """log(x/y); ∞ for y = 0."""
    near = (x > y / 2) & (x / 2 < y)
    inside = (x > 0) & (y > 0)
    a, b = np.where(inside, x, 1), np.where(inside, y, 1)
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        quotient = a / b
        apart = (quotient < _SMALLEST) | (quotient > _LARGEST)
        far = np.where(
            apart, np.log(a) - np.log(b), np.log(np.where(apart | np.isnan(quotient), 1, quotient))
        )
        close = np.log1p(np.where(near, a - b, 0) / b)
    value = np.where(near, close, far)
    outside = np.where((x >= 0) & (y >= 0), np.where(y == 0, np.inf, -np.inf), np.nan)
    undefined = np.isinf(x) & np.isinf(y)
    return np.where(undefined, np.nan, np.where(inside, value, outside))


_SMALLEST, _LARGEST = 2.0**-1000, 2.0**1000


def rel_entr(x: Doubles, y: Doubles) -> Doubles:
    """Return the relative entropy x log(x/y)."""
    inside = (x > 0) & (y > 0)
    value = np.where(inside, x, 1) * log_ratio(np.where(inside, x, 1), np.where(inside, y, 1))
    return np.where(inside, value, _outside(x, y, np.zeros_like(y)))


@contained
def kl_div(x: Doubles, y: Doubles) -> Doubles:
    """Return the divergence x log(x/y) - x + y (Loader 2000).

    With w = (x - y)/(x + y) it is (x - y) w + 2x (w³/3 + w⁵/5 + ...).
    """
    inside = (x > 0) & (y > 0)
    a, b = np.where(inside, x, 1), np.where(inside, y, 1)
    larger = np.maximum(a, b)
    with np.errstate(invalid="ignore"):  # differences of infinities
        difference = a - b
        w = difference / larger / (1 + np.minimum(a, b) / larger)
    near = np.abs(w) < _NEAR
    w = np.where(near, w, 0)
    square, tail = w * w, np.zeros_like(w)
    for k in range(_TERMS, 0, -1):
        tail = (tail + 1 / (2 * k + 1)) * square
    close = np.where(near, difference, 0) * w + np.where(near, a, 0) * (2 * w * tail)
    with np.errstate(over="ignore", invalid="ignore"):
        far = a * (log_ratio(a, b) - 1) + b
    far = np.where(np.isinf(a) != np.isinf(b), np.inf, far)
    return np.where(inside, np.where(near, close, far), _outside(x, y, y))


_NEAR = 0.3
_TERMS = 15  # 0.3^31/31 is below 2^-53


def _outside(x: Doubles, y: Doubles, at_zero: Doubles) -> Doubles:
    """Return the value for pairs that are not both positive."""
    value = np.where((x == 0) & (y >= 0), at_zero, np.inf)
    return np.where(np.isnan(x) | np.isnan(y), np.nan, value)
