"""Riemann's and Hurwitz's zeta functions, and their derivatives by the first argument.

Numbers in brackets are those of the Digital Library of Mathematical Functions.
All functions take and return float64 arrays of one shape, and do not need SciPy.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np

from numeric.special.expansions import expanded, of_derivative
from symdiff.contexts import contained
from symdiff.scalars.vocabulary import hurwitz_series, zeta_series

if TYPE_CHECKING:
    from numeric.types import Doubles


@contained
def zeta(m: int, s: Doubles) -> Doubles:
    """Return the m-th derivative of Riemann's zeta function.

    For s > 1 it uses Euler's and Maclaurin's summation, else Taylor series about multiples of 1/4.
    Below ``_BOTTOM`` it is infinite except near zeros, so only its sign is computed.
    """
    value = hurwitz_zeta(m, np.where(s > 1, s, np.inf), np.ones_like(s))
    middle, below = (s >= _BOTTOM) & (s < 1), (s < _BOTTOM) & np.isfinite(s)
    if np.any(middle):
        at = s[middle]
        place = np.rint(4 * at).astype(np.int64)
        series = expanded(partial(_about, m), place, at)
        with np.errstate(over="ignore"):
            pole = (-1) ** m * _pole(m, np.where(place < _NEAR, 2.0, at) - 1)
            series = np.where(place < _FAR, np.ldexp(series, _SCALE), series)
            value[middle] = np.where(place < _NEAR, series, series + pole)
    if np.any(below):
        value[below] = _beyond(m, s[below])
    if m == 0:
        value = np.where((s < 0) & (np.rint(s / 2) * 2 == s), 0.0, value)
    value = np.where(s == 1, (-1) ** m * np.inf, value)
    return np.where(np.isnan(s) | (s == -np.inf), np.nan, value)


_BOTTOM = -300.0
_NEAR, _FAR = 2, -800  # quarters: where the pole starts to count, and where scaling starts
_SCALE = 400


@cache
def _about(m: int, k: int) -> tuple[float, Doubles]:
    """Return a centre, and the series of the m-th derivative; from 1/2 on without the pole.

    The pole at 1 is at least 3/4 from the other centres, and a number at most 1/8 from its centre.
    """

    def series(n: int, s: Any) -> list[Any]:
        if k >= _NEAR:
            return hurwitz_series(n, s, s * 0 + 1, regular=True)
        return [s.context.ldexp(c, -_SCALE if k < _FAR else 0) for c in zeta_series(n, s)]

    return k / 4, of_derivative(m, series, k / 4, 24 + m)


def _pole(m: int, u: Doubles) -> Doubles:
    """m!/u^(m+1)."""
    pole: Doubles = 1 / u
    for k in range(1, m + 1):
        pole = pole * k / u
    return pole


def _beyond(m: int, s: Doubles) -> Doubles:
    """Infinity with the sign of the derivative of sin(πs/2) (2π)^s Γ(1 - s) [25.4.1].

    For s < -300 the factor ζ(1 - s) is 1, and ψ has its asymptotic series [5.11.2].
    """
    y = 1 - s
    slopes = [math.log(2 * math.pi) - np.log(y) + 1 / (2 * y) + 1 / y / y / 12]
    for j in range(1, m):
        next_two = math.factorial(j) / 2 / y + math.factorial(j + 1) / 12 / y / y
        slopes.append(math.factorial(j - 1) + next_two)
        for _ in range(j):
            slopes[j] = slopes[j] / y
    growth = [np.ones_like(y)]
    for k in range(m):
        terms = (math.comb(k, i) * growth[k - i] * slopes[i] for i in range(k + 1))
        growth.append(sum(terms, np.zeros_like(y)))
    nearest = np.rint(s / 2)
    parity, turned = 1 - 2 * np.remainder(nearest, 2), np.pi * (s / 2 - nearest)
    sine, cosine = parity * np.sin(turned), parity * np.cos(turned)
    cycle = (sine, cosine, -sine, -cosine)
    total = np.zeros_like(y)
    for k in range(m + 1):
        total = total + math.comb(m, k) * growth[k] * (np.pi / 2) ** (m - k) * cycle[(m - k) % 4]
    return np.where(total == 0, 0.0, np.copysign(np.inf, total))


@contained
def hurwitz_zeta(m: int, s: Doubles, q: Doubles) -> Doubles:
    """Return the m-th derivative by s of Hurwitz's zeta function, for s > 1 and q > 0.

    Euler's and Maclaurin's summation adds Σ (q + k)^-s over k < n and the rest from e = q + n on,
    e^(1-s)/(s - 1) + e^-s/2 + Σ B_2j/(2j)! s (s + 1) ... (s + 2j - 2) e^(1-s-2j) [25.11.5], each
    differentiated.  Powers are products of their roots, with the other factors between them.  A
    subnormal power would lose digits before powers of the logarithm multiply it.
    """
    inside = (s > 1) & (s < np.inf) & (q > 0) & (q < np.inf)
    at, by = np.where(inside, s, 2.0), np.where(inside, q, 1.0)
    count = 12 + m
    with np.errstate(all="ignore"):
        end = by + count
        log = np.log(end)
        root = end ** (-at / 2)
        pole, term = np.zeros_like(at), 1 / (at - 1)
        for j in range(m, -1, -1):  # m!/j! log^j (s - 1)^(j-m-1)
            pole = pole + term * log**j
            term = term * j / (at - 1)
        rest = log**m / 2
        # coefficients of powers of t
        factor = [at / end, 1 / end, *[np.zeros_like(at)] * m][: m + 1]
        for j, bernoulli in enumerate(_BERNOULLI, 1):
            derivative = sum(math.perm(m, i) * c * (-log) ** (m - i) for i, c in enumerate(factor))
            rest = rest + (-1) ** m * bernoulli * derivative
            for i in (2 * j - 1, 2 * j):
                shifted = [np.zeros_like(at), *factor]
                factor = [((at + i) * c + b) / end for c, b in zip(factor, shifted, strict=False)]
        total = np.where(root == 0, 0.0, (root * end * pole + root * rest) * root)
        for k in range(count - 1, -1, -1):
            place = by + k
            if m == 0:
                total = total + place**-at
            else:
                root = place ** (-at / 2)
                total = total + root * np.log(place) ** m * root
        value = (-1) ** m * total
    small = np.where(q < 1, np.inf, np.where((q == 1) & (m == 0), 1.0, 0.0))
    value = np.where(inside, value, np.where(s == np.inf, small, 0.0))
    value = np.where(s == 1, (-1) ** m * np.inf, value)
    value = np.where((q <= 0) & (np.floor(q) == q), np.inf, value)
    outside = np.isnan(s) | np.isnan(q) | (s < 1) | ((q < 0) & (np.floor(q) != q))
    return np.where(outside, np.nan, value)


_BERNOULLI = [
    float(Fraction(*mpmath.bernfrac(2 * j)) / math.factorial(2 * j)) for j in range(1, 13)
]
