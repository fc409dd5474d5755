"""The real branches of Lambert's function, and their derivatives.

The method is that of Corless, Gonnet, Hare, Jeffrey and Knuth, "On the Lambert W function", 1996;
equations are cited by their numbers there.

All functions take and return float64 arrays.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from numeric.special import polynomials
from symdiff.contexts import contained
from symdiff.scalars.vocabulary import lambert_polynomial

if TYPE_CHECKING:
    from numeric.types import Doubles, Reals


def lambertw(branch: int, x: Doubles) -> Doubles:
    """W of branch 0 or -1; nan where it is not real."""
    return _solved(branch, x)[0]


@contained
def derivative(branch: int, n: int, x: Doubles) -> Doubles:
    """Return the n-th derivative of W, (-1)^(n-1) e^-nW a_n(1 + W)/(1 + W)^(2n-1) (equation 3.5).

    Far out e^-W loses digits, so W/x replaces it.  With t = 1/(1 + W) the derivative is (W t/x)ⁿ
    times a polynomial in t with the same coefficients.
    """
    w, v = _solved(branch, x)
    if n == 0:
        return w
    sizes, coefficients, shifted = _polynomial(n)
    near = w > _EXPONENTIAL if branch else np.abs(w) < _INNER
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        t = np.where(near, 1.0, 1 / v)
        at = np.where(x == 0, -0.0, x)  # the side from which branch -1 goes to infinity
        step = np.where(np.isinf(w), 1.0, w / v) / np.where(near, 1.0, at)
        # Terms cancel, so no coefficient may be rounded; at high orders nothing else may, either.
        polynomial = polynomials.exactly if n > _EXACT_FLOATS else polynomials.horner
        far: Reals = polynomial(coefficients[::-1], t)
        for size in sizes:  # one at a time: the scale or the power alone could overflow
            far = far * (-size * step)
        far = far * step
        if not np.any(near):
            return far
        # Where e^-W loses no digit, it is less sensitive to W than a power of W/x is.
        u = np.where(near, w, -2.0 if branch else 0.0)
        value: Reals
        if branch:
            v = np.where(near, v, -1.0)
            exponent, rest = polynomials.product(-float(n), u)
            value = polynomial(coefficients, v) / v ** (2 * n - 1)
            value *= np.exp(exponent) * (1 + rest)
        else:
            value = polynomial(shifted, u)
            value *= np.exp(-n * u - (2 * n - 1) * np.log1p(u))
        value *= (-1) ** (n - 1) * float(np.prod(np.array([1.0, *sizes])))
    return np.where(near, value, far)


_INNER, _EXPONENTIAL = 0.3, -4.0
_EXACT_FLOATS = 14  # the last order with all coefficients below 2^53


@cache
def _polynomial(n: int) -> tuple[list[int], list[Fraction], list[Fraction]]:
    """Return the divisors of the coefficients by factor, and the coefficients of powers of v and W.

    The coefficients grow like (n - 1)!.  The divisors are powers of 2, so that none is rounded.
    """
    sizes = [2 ** (k.bit_length() - 1) for k in range(1, n)]
    scale = math.prod(sizes)
    coefficients = [Fraction(c, scale) for c in lambert_polynomial(n)]
    shifted = [
        sum((c * math.comb(k, j) for k, c in enumerate(coefficients)), Fraction(0))
        for j in range(n)
    ]
    return sizes, coefficients, shifted


_BELOW, _REST = math.exp(-1), -1.2428753672788363e-17  # 1/e as a float, and its error
_NEAR = 0.35


@contained
def _solved(branch: int, x: Doubles) -> tuple[Doubles, Doubles]:
    """W and 1 + W: near the branch point by the series there, else by Fritsch's iteration."""
    with np.errstate(all="ignore"):
        turned = 2 * math.e * ((x + _BELOW) + _REST)  # p² of (4.22), with all digits
        p = np.sqrt(turned)
        near = p < _NEAR
        v = np.zeros_like(x)
        if np.any(near):
            q = -p if branch else p
            for c in _series():
                v = v * q + c
            v = v * q
        w = np.where(near, v - 1, _iterated(branch, np.where(near, -0.25, x)))
        outside = np.isnan(p) | (x > 0) if branch else np.isnan(p)
        w = np.where(outside, np.nan, np.where(x == 0, -np.inf if branch else x, w))
        w = np.where(x == np.inf, np.nan if branch else np.inf, w)
        return w, np.where(near & ~outside, v, 1 + w)


def _iterated(branch: int, x: Doubles) -> Doubles:
    """Iterate from an asymptotic guess: each step gives four times the digits.

    Fritsch, Shafer and Crowley, "Solution of the transcendental equation w e^w = x", 1973.
    """
    w: Doubles
    if branch:
        size = np.log(-x)
        second = np.log(-size)
        w = size - second + second / size
    else:
        size = np.log1p(x)
        w = size * (1 - np.log1p(size) / (2 + size))
    for _ in range(3):
        z = (size - np.log(-w) if branch else np.log(x / w)) - w  # x/w may underflow
        v = 1 + w
        q = 2 * v * (v + 2 / 3 * z)
        w = w + w * (z / v * (q - z) / (q - 2 * z))
    return w


@cache
def _series() -> tuple[float, ...]:
    """Return the coefficients of 1 + W in powers of p, from the highest to p^1 (4.22 to 4.24)."""
    mu, alpha = [Fraction(-1), Fraction(1)], [Fraction(2), Fraction(-1)]
    for k in range(2, 28):
        alpha.append(sum((mu[j] * mu[k + 1 - j] for j in range(2, k)), Fraction(0)))
        known = (mu[k - 2] / 2 + alpha[k - 2] / 4) * Fraction(k - 1, k + 1)
        mu.append(known - alpha[k] / 2 - mu[k - 1] / (k + 1))
    return tuple(map(float, mu[:0:-1]))
