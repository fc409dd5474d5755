"""Bessel functions of integer order, right from the smallest number to the largest.

SciPy's functions of any order lose digits or become nan at the ends of the line: AMOS scales its
arguments, and gives up beyond 1e9.  Its functions of orders 0 and 1 are right nearly everywhere.
What is done here about the rest, with the numbers of the Digital Library of Mathematical Functions:

- J and I for |x| < 1 are their power series (10.2.2, 10.25.2), whose terms decrease at once;
- J and Y far out are Hankel's expansions (10.17.3, 10.17.4), with the sine and the cosine of x
  itself, since a rounded x - π/4 would decide the sign;
- K of higher orders comes upwards from the orders 0 and 1 (10.29.1), all terms being positive;
- I and K are scaled by e^∓x, which is applied as two factors e^(∓x/2): one would overflow, or lose
  the digits of a subnormal number, where the product does not;
- Y and K near 0 are their leading terms, whose rest is below an ulp: Y of higher orders
  -(n-1)!/π (2/x)^n (10.7.4), K_1 1/x (10.30.2), both of order 0 a logarithm (10.7.2, 10.31.2).

All functions take the order as one integer >= 0 and float64 arrays, and need SciPy.  Other orders,
and the scaled functions, are in ``numeric.special.bessel_orders``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from symdiff.contexts import contained

if TYPE_CHECKING:
    from numeric.types import Doubles, Mask

_SERIES_BELOW = 1.0
_TERMS = 10  # terms of the series: the next one is below (1/4)^10 / 10!^2 < 2^-53 of the first
_EXPANSION_FROM = 1e5
_EXPANSION_TERMS = 12  # for x >= 4n² each is at most half of the one before; for n = 0 less
_LEADING_BELOW = 1e-17  # below 2^-53
_LAST_FACTORIAL = 170
_HIGHEST_BY_RECURRENCE = 200
_LOG_2_LESS_EULER = 0.11593151565841245  # log 2 - γ


def jv(n: int, x: Doubles) -> Doubles:
    """J_n(x)."""
    from scipy import special

    size = np.abs(x)
    direct = (special.j0, special.j1)[n](size) if n < 2 else special.jv(n, size)
    value = np.where(size < _SERIES_BELOW, _series(n, size, -1), direct)
    far = size >= _far(n)
    if np.any(far):
        value = np.where(far, _expansion(n, size, far)[0], value)
    return np.where(x < 0, -value, value) if n % 2 else value


def yv(n: int, x: Doubles) -> Doubles:
    """Y_n(x); nan for x < 0."""
    from scipy import special

    value = special.yv(n, x)
    if n < 2:  # SciPy's functions of order 0 and 1 lose 20 ulp at the edge of this interval
        between = (x > 2) & (x < 10)
        value = np.where(between, value, (special.y0, special.y1)[n](x))
    tiny = (x > 0) & (x < _LEADING_BELOW)
    if np.any(tiny):
        value = np.where(tiny, _leading(n, np.where(tiny, x, 1)), value)
    far = x >= _far(n)
    return np.where(far, _expansion(n, x, far)[1], value) if np.any(far) else value


def iv(n: int, x: Doubles) -> Doubles:
    """I_n(x)."""
    from scipy import special

    infinite = np.isinf(x)
    size = np.where(infinite, 1, np.abs(x))
    scaled = (special.i0e, special.i1e)[n](size) if n < 2 else special.ive(n, size)
    root = np.exp(size / 2)
    # Beyond the largest exponent, every order that e^-x has not made 0 is infinite.
    value = np.where(np.isinf(root) & ((scaled > 0) | np.isnan(scaled)), root, scaled * root * root)
    value = np.where(
        np.isnan(x) | infinite,
        np.abs(x),
        np.where(size < _SERIES_BELOW, _series(n, size, 1), value),
    )
    return np.where(x < 0, -value, value) if n % 2 else value


@contained
def kv(n: int, x: Doubles) -> Doubles:
    """K_n(x); nan for x < 0."""
    from scipy import special

    with np.errstate(all="ignore"):  # for 0, and beyond the largest number
        if n > _HIGHEST_BY_RECURRENCE:
            scaled = special.kve(n, x)
        else:
            tiny, inside = x < _LEADING_BELOW, np.where(x < _LEADING_BELOW, 1, x)
            lower = np.where(tiny, _LOG_2_LESS_EULER - np.log(x), special.k0e(inside))
            scaled = np.where(tiny, 1 / x, special.k1e(inside)) if n else lower
            for k in range(1, n):
                lower, scaled = scaled, lower + 2 * k / x * scaled
        root = np.exp(-x / 2)
        return np.where(x < 0, np.nan, scaled * root * root)


def _series(n: int, x: Doubles, sign: int) -> Doubles:
    """(x/2)^n/n! · Σ (sign·x²/4)^k / (k! (n+1)ₖ), for |x| < 1."""
    if n > _LAST_FACTORIAL:
        return np.zeros_like(x)
    half = np.where(x < _SERIES_BELOW, x, 0) / 2
    z, total = sign * half * half, np.ones_like(x)
    for k in range(_TERMS, 0, -1):
        total = 1 + z / (k * (n + k)) * total
    result: Doubles = half**n / float(math.factorial(n)) * total
    return result


@contained
def _leading(n: int, x: Doubles) -> Doubles:
    if n == 0:
        return (np.log(x) - _LOG_2_LESS_EULER) * (2 / math.pi)
    factorial = float(math.factorial(n - 1)) if n <= _LAST_FACTORIAL else math.inf
    with np.errstate(over="ignore"):
        return -((2 / x) ** (n - 1) * (2 / math.pi / x) * factorial)


def _far(n: int) -> float:
    return max(_EXPANSION_FROM, 4.0 * n * n)


def _expansion(n: int, x: Doubles, far: Mask) -> tuple[Doubles, Doubles]:
    """J_n and Y_n at the numbers that are ``far``: √(2/πx) times a rotated sine and cosine."""
    finite = far & np.isfinite(x)
    x = np.where(finite, x, 1e300)  # J and Y vanish at infinity; 1e300 is large enough
    even, odd, term = np.ones_like(x), np.zeros_like(x), np.ones_like(x)
    for k in range(1, _EXPANSION_TERMS + 1):
        term = term * ((2 * n - 2 * k + 1) * (2 * n + 2 * k - 1) / (8.0 * k)) / x
        if k % 2:
            odd = odd + (term if k % 4 == 1 else -term)
        else:
            even = even + (term if k % 4 == 0 else -term)
    sine, cosine = np.sin(x), np.cos(x)
    # Sine and cosine of x - π/4, without the 1/√2; then a quarter turn back for every order.
    turns = ((cosine + sine, sine - cosine), (sine - cosine, -cosine - sine))
    c, s = turns[n % 2]
    if n % 4 > 1:
        c, s = -c, -s
    size = np.where(finite, 1 / math.sqrt(math.pi) / np.sqrt(x), 0)
    return size * (even * c - odd * s), size * (even * s + odd * c)
