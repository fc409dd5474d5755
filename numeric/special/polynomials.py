"""Polynomials of numbers and of arrays of float64."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from symdiff.contexts import contained

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numeric.types import Doubles, Reals
    from symdiff.scalars.vocabulary import Polynomial


def horner(coefficients: Sequence[int | Fraction], b: Reals) -> Reals:
    """Evaluate a polynomial, coefficient of b^0 first, with the rounding error of every operation.

    For positive terms the result is as if rounded once.  For terms that cancel it is as if computed
    with twice the digits (Graillat, Langlois and Louvet 2009, the compensated rule of Horner).
    """
    *lower, highest = map(float, coefficients)
    split = 134217729.0 * b  # 2^27 + 1: Dekker's halves of b
    b_high = split - (split - b)
    b_low = b - b_high
    total: Reals = highest
    rest: Reals = 0.0
    for c in reversed(lower):
        product = total * b
        split = 134217729.0 * total
        high = split - (split - total)
        low = total - high
        error = ((high * b_high - product) + high * b_low + low * b_high) + low * b_low
        total = product + c
        part = total - product
        rest = rest * b + (error + ((product - (total - part)) + (c - part)))
    return total + rest


def exactly(coefficients: Sequence[Fraction], b: Doubles) -> Doubles:
    """Evaluate a polynomial in rational arithmetic, rounded once; nan where b is not finite."""

    def of_one(at: float) -> float:
        if not math.isfinite(at):
            return math.nan
        number, total = Fraction(at), Fraction(0)
        for c in reversed(coefficients):
            total = total * number + c
        return _rounded(total)

    return np.array([of_one(at) for at in b.ravel().tolist()], np.float64).reshape(b.shape)


@contained
def orthogonal(family: type[Polynomial], n: int, *operands: Doubles) -> Doubles:
    """Return the polynomial of order n; by rational arithmetic if terms of both signs overflow."""
    with np.errstate(all="ignore"):
        last, error = recurrence(family, n, *operands)
        value = np.full(operands[-1].shape, np.where(np.isfinite(error), last + error, last))
    lost = np.isnan(value) & ~np.any(np.isnan(operands), axis=0)
    if np.any(lost):
        points = zip(*(x[lost].tolist() for x in operands), strict=True)
        value[lost] = [_rational(family, n, *point) for point in points]
    return value


def _rational(family: type[Polynomial], n: int, *operands: float) -> float:
    *parameters, x = operands
    if not all(map(math.isfinite, parameters)):
        return math.nan
    end = math.copysign(family.beyond(n, *parameters), x)  # beyond, the sign does not change
    far = abs(x) > abs(end)
    total = family.at(n, *map(Fraction, parameters), Fraction(end if far else x))
    return (math.inf if total > 0 else -math.inf) if far else _rounded(total)


def _rounded(x: Fraction) -> float:
    """Return the nearest float, which may be infinite."""
    try:
        return float(x)
    except OverflowError:
        return math.inf if x > 0 else -math.inf


def recurrence(family: type[Polynomial], n: int, *operands: Reals) -> tuple[Reals, Reals]:
    """Return the polynomial of order n by its recurrence, and the sum of its rounding errors.

    The same recurrence carries the errors along, as in Horner's rule above.  Without them it loses
    a digit at order 50, and more near the zeros.  Takes floats, or arrays of one shape.
    """
    *parameters, x = operands
    alpha = parameters[0] if parameters else 0.0
    below: Reals = 0.0
    last: Reals = 1.0
    below_error: Reals = 0.0
    error: Reals = 0.0
    for k in range(n):
        *pairs, divisor = family.terms(k)
        (a, a_rest), (b, b_rest), (c, c_rest) = (
            _sum(float(u), v * alpha) if v else (float(u), 0.0) for u, v in pairs
        )
        slope, slope_rest = product(a, x)
        t, t_rest = _sum(slope, b)
        t_rest = t_rest + slope_rest + (a_rest * x + b_rest)
        above, above_rest = product(t, last)
        lower, lower_rest = product(c, below)
        total, total_rest = _sum(above, -lower)
        value = total / divisor
        back, back_rest = product(value, float(divisor))
        rest = above_rest - lower_rest + total_rest + t_rest * last - c_rest * below
        rest = rest + ((total - back) - back_rest)
        below_error, error = error, (t * error - c * below_error + rest) / divisor
        below, last = last, value
    return last, error


def _sum(a: Reals, b: Reals) -> tuple[Reals, Reals]:
    """Return the sum of two numbers, and its rounding error (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def product(a: Reals, b: Reals) -> tuple[Reals, Reals]:
    """Return the product of two numbers, and its rounding error (Dekker)."""
    product = a * b
    a_high, a_low = _halves(a)
    b_high, b_low = _halves(b)
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def _halves(a: Reals) -> tuple[Reals, Reals]:
    split = 134217729.0 * a  # 2^27 + 1
    high = split - (split - a)
    return high, a - high
