"""Polynomials of numbers and of arrays of float64."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence


def horner(coefficients: Sequence[int], b: Any) -> Any:
    """Horner's rule for positive numbers, rounded once: each product and sum keeps its rest."""
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
