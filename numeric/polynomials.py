"""Polynomials of numbers and of arrays of float64."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence


def horner(coefficients: Sequence[Any], b: Any) -> Any:
    """The polynomial with these coefficients, of b^0 first: each product and sum keeps its rest.

    Of positive numbers it is as if rounded once; what cancels is as if computed with twice the
    digits (Graillat, Langlois and Louvet 2009, the compensated rule of Horner).
    """
    *lower, highest = map(float, coefficients)
    split = 134217729.0 * b  # 2^27 + 1: Dekker's halves of b
    b_high = split - (split - b)
    b_low = b - b_high
    total: Any = highest
    rest: Any = 0.0
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
