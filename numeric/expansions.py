"""Functions by their Taylor series about the nearest of many centres.

For derivatives that no formula gives without cancellation.  The coefficients about a centre are
made when a number first comes near it, in as many digits as they need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


def expanded(
    about: Callable[[int], tuple[float, NDArray[Any]]], place: NDArray[Any], x: NDArray[Any]
) -> NDArray[Any]:
    """The function at x, by the series about the centre number ``place`` of each.

    ``about`` gives a centre and the coefficients of the powers of the distance from it.
    """
    numbers, which = np.unique(place, return_inverse=True)
    if not numbers.size:
        return np.empty(x.shape)
    series = [about(int(k)) for k in numbers]
    centres = np.array([centre for centre, _ in series])[which]
    coefficients = np.array([c for _, c in series]).T[:, which]
    distance = x - centres
    total: NDArray[Any] = coefficients[-1]
    for c in coefficients[-2::-1]:
        total = total * distance + c
    return total


def divided(total: NDArray[Any], x: NDArray[Any], n: int) -> NDArray[Any]:
    """The quotient of ``total`` by xⁿ, which may be subnormal where 1/xⁿ has lost its digits."""
    half = n // 2
    quotient: NDArray[Any] = total * x ** -float(half) * x ** -float(n - half)
    return quotient


def of_derivative(n: int, coefficients: list[Any]) -> NDArray[Any]:
    """The coefficients of the n-th derivative of a series, as floats."""
    factor, found = 1, []
    for k in range(1, n + 1):
        factor *= k
    for k, c in enumerate(coefficients[n:]):
        found.append(float(c * factor))
        factor = factor * (k + n + 1) // (k + 1)
    return np.array(found)
