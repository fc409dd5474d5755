"""Functions by their Taylor series about the nearest of many centres.

They serve derivatives without a formula that avoids cancellation.  The coefficients about a centre
are computed when a number first comes near it, with as many digits as they need.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np

from symdiff.locks import fork_safe_lock

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from numeric.types import Doubles


def expanded(
    about: Callable[[int], tuple[float, Doubles]], place: NDArray[np.int64], x: Doubles
) -> Doubles:
    """Evaluate the function at x, by the series about the centre with number ``place``.

    ``about`` returns a centre and the coefficients of the powers of the distance from it.
    """
    numbers, which = np.unique(place.ravel(), return_inverse=True)
    which = which.reshape(x.shape)
    if not numbers.size:
        return np.empty(x.shape)
    series = [about(int(k)) for k in numbers]
    centres = np.array([centre for centre, _ in series])[which]
    coefficients = np.array([c for _, c in series]).T
    distance = x - centres
    total: Doubles = coefficients[-1][which]
    for c in coefficients[-2::-1]:
        total = total * distance + c[which]
    return total


def divided(total: Doubles, x: Doubles, n: int) -> Doubles:
    """Divide ``total`` by xⁿ; 1/xⁿ may lose digits although the quotient is subnormal at worst."""
    half = n // 2
    quotient: Doubles = total * x ** -float(half) * x ** -float(n - half)
    return quotient


def of_derivative(
    n: int, series: Callable[[int, Any], list[Any]], centre: float, count: int | None = None
) -> Doubles:
    """Return the first ``count`` coefficients of the n-th derivative of a function about a centre.

    ``series`` returns at least so many coefficients of the function about an mpmath number.
    """
    count = 24 + n // 2 if count is None else count
    with _ALONE:
        _MP.prec = 60
        coefficients = series(n + count, _MP.mpf(centre))[n:]
        factors = [math.perm(k + n, n) for k in range(len(coefficients))]
        return np.array([float(c * f) for c, f in zip(coefficients, factors, strict=True)])


_MP = mpmath.MPContext()  # the precision of mpmath's own context is shared by all threads
_ALONE = fork_safe_lock()
