"""Exponential, cosine and Dawson's integrals, and their derivatives without cancellation.

Numbers in brackets are those of the Digital Library of Mathematical Functions.
All functions take and return float64 arrays of one shape, and do not need SciPy.
"""

from __future__ import annotations

import math
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np

from numeric.special.expansions import divided, expanded, of_derivative
from symdiff.contexts import contained
from symdiff.scalars.vocabulary import dawsn_series

if TYPE_CHECKING:
    from numeric.types import Doubles


@contained
def expn(n: int, x: Doubles) -> Doubles:
    """E_n(x) for x >= 0, else nan."""
    inside = np.where(x > 0, x, 1)
    if n < 1:
        exponential = np.exp(-inside)
        with np.errstate(over="ignore"):
            value = exponential / inside
            for k in range(1, 1 - n):
                value = (exponential + k * value) / inside
    else:
        near = inside <= 1
        value = np.empty_like(inside)
        value[near], value[~near] = _expn_near(n, inside[near]), _expn_far(n, inside[~near])
    at_zero = 1 / (n - 1) if n > 1 else np.inf
    return np.where(x > 0, value, np.where(x == 0, at_zero, np.nan))


def _expn_near(n: int, x: Doubles) -> Doubles:
    """Return E_n for 0 < x <= 1: from E_1 [6.6.2] up, k E_(k+1) = e^-x - x E_k [8.19.12]."""
    series = np.zeros_like(x)
    for k in range(20, 0, -1):
        series = x * ((-1) ** (k + 1) / (k * math.factorial(k)) + series)
    value: Doubles = series - np.euler_gamma - np.log(x)
    exponential = np.exp(-x)
    for k in range(1, n):
        value = (exponential - x * value) / k
    return value


def _expn_far(n: int, x: Doubles) -> Doubles:
    """Return E_n for x > 1 by the fraction x + n/(1 + 1/(x + (n+1)/(1 + 2/(x + ...)))) [8.19.17].

    The relative error after k steps is about e^(-4 √(k x)).
    """
    if not x.size:
        return x
    tail = np.zeros_like(x)
    for k in range(20 + math.ceil(90 / float(x.min())), 0, -1):
        tail = (n + k - 1) / (1 + k / (x + tail))
    value: Doubles = np.exp(-x) / (x + tail)
    return value


def expi(x: Doubles, scale: float = 1.0) -> Doubles:
    """Ei(x) times ``scale``."""
    value = -scale * expn(1, np.where(x < 0, -x, np.nan))
    near, far = (x > 0) & (x <= _EXPI_FAR), x > _EXPI_FAR
    if np.any(near):
        at = np.where(near, x, 1)
        term, total = np.ones_like(at), np.zeros_like(at)
        for k in range(1, 30 + math.ceil(3 * float(at.max()))):  # [6.6.1]
            term = term * at / k
            total = total + term / k
        value = np.where(near, scale * (total + np.log(at) + np.euler_gamma), value)
    if np.any(far):
        at = np.where(far, x, _EXPI_FAR)
        total = np.ones_like(at)
        for k in range(int(_EXPI_FAR), 0, -1):  # [6.12.2]
            total = 1 + k / at * total
        value = np.where(far, _growing(at, scale * total), value)
    return np.where(x == 0, -np.inf, value)


_EXPI_FAR = 40.0


@contained
def _growing(x: Doubles, factor: Doubles) -> Doubles:
    """e^x/x times a factor; e^x alone would overflow earlier."""
    x = np.minimum(x, 2000)  # the result is infinite beyond
    with np.errstate(over="ignore"):
        root = np.exp(x / 2)
        value: Doubles = root / x * factor * root
    return value


def expi_derivative(n: int, x: Doubles, scale: float = 1.0) -> Doubles:
    """Return the n-th derivative of Ei, which is the m-th of e^x/x, m = n - 1, times ``scale``.

    For x < 0 it is -E_(-m)(-x).  For small x > 0 it is (-1)^m m!/x^(m+1) + ∫ t^m e^(xt) dt over
    0 < t < 1, else e^x/x times a polynomial in 1/x, whose terms cancel little where x is large.
    """
    if n == 0:
        return expi(x, scale)
    m = n - 1
    value = -scale * expn(-m, np.where(x < 0, -x, np.nan))
    if np.any(x >= 0):
        end = max(3.0 * m, 1.0)
        near = (x >= 0) & (x <= end)
        small, large = np.where(near, x, end), np.where(x > end, x, end)
        polynomial = np.ones_like(x)
        for k in range(1, m + 1):
            polynomial = 1 - k / large * polynomial
        value = np.where(x > end, _growing(large, scale * polynomial), value)
        if m == 0:
            of_small = np.exp(small) / np.where(small == 0, np.nan, small)
            of_small = np.where(small == 0, np.inf, of_small)
        else:
            term, total = np.ones_like(x), np.full_like(x, 1 / (m + 1))
            for k in range(1, 30 + math.ceil(3 * end)):
                term = term * small / k
                total = total + term / (k + m + 1)
            of_small = total + (-1) ** m * _pole(m, small)
        value = np.where(near, scale * of_small, value)
    return np.where(np.isnan(x), x, value)


def hyperbolic_derivative(sinh: bool, n: int, x: Doubles) -> Doubles:
    """Return the n-th derivative of Shi or Chi: the m-th of sinh(x)/x or cosh(x)/x, m = n - 1.

    For small |x| it is ∫ t^m f(xt) dt over 0 < t < 1, where f is cosh or sinh by the parity of the
    derivative, and for Chi a pole.  Else it is half the sum or difference for e^x/x and e^-x/x.
    """
    if n == 0:
        shi, chi = expi(np.abs(x), 0.5), expn(1, np.abs(x)) / 2
        return np.copysign(shi + chi, x) if sinh else np.where(x < 0, np.nan, shi - chi)
    m = n - 1
    size, end = np.abs(x), max(3.0 * m, 1.0)
    small, far = np.minimum(size, end), size > end
    first = (m % 2) ^ (not sinh)  # the lowest power
    term = small if first else np.ones_like(x)
    total = term / (first + m + 1)
    for j in range(first + 2, 30 + math.ceil(3 * end), 2):
        term = term * small * small / (j * (j - 1))
        total = total + term / (j + m + 1)
    if not sinh:
        total = total + (-1) ** m * _pole(m, small)
    at = np.where(far, size, end)
    below = (-1) ** m * expn(-m, at) / 2
    value = np.where(far, expi_derivative(n, at, 0.5) + (-below if sinh else below), total)
    value = np.where(np.isnan(x), x, value)
    if not sinh:
        return np.where(x < 0, np.nan, value)
    return value if n % 2 else np.copysign(value, x)


@contained
def _pole(m: int, x: Doubles) -> Doubles:
    """m!/x^(m+1)."""
    with np.errstate(over="ignore", divide="ignore"):
        pole = 1 / x
        for k in range(1, m + 1):
            pole = pole * k / x
    return pole


@contained
def cosine_integral_derivative(n: int, x: Doubles) -> Doubles:
    """Return the n-th derivative of Ci for n > 0: the m-th of cos(x)/x, m = n - 1; nan for x < 0.

    It works like ``sinc`` (numeric.special), with the downward recurrence for (cos(x) - 1)/x.
    """
    m = n - 1
    at = np.where(np.isinf(x) | (x < 0), 1, x)
    sine, cosine = np.sin(at), np.cos(at)
    cycle = (cosine, -sine, -cosine, sine)
    far = at >= max(m, 1)
    divisor = np.where(far, at, 1)
    upward = cosine / divisor
    for k in range(1, m + 1):
        upward = (cycle[k % 4] - k * upward) / divisor
    small = np.where(far, 0, at)
    if m == 0:
        with np.errstate(divide="ignore", over="ignore"):
            downward = cosine / np.where(far, 1, at)
    else:
        downward = np.zeros_like(at)
        for k in range(3 * m + 20, m, -1):
            downward = (cycle[k % 4] - small * downward) / k
        downward = downward + (-1) ** m * _pole(m, np.where(far, 1, at))
    value = np.where(np.isinf(x), 0.0, np.where(far, upward, downward))
    return np.where(x < 0, np.nan, value)


def dawsn_derivative(n: int, x: Doubles) -> Doubles:
    """Return the n-th derivative of Dawson's integral.

    Near 0 it uses Taylor series about multiples of 1/4, and far out the asymptotic series
    Σ (2k-1)!!/(2^(k+1) x^(2k+1)) [7.12.1], whose terms have one sign.
    """
    size, end = np.abs(x), 12.0 + 2 * n
    far = size > end
    inside = np.where(far | np.isnan(x), 0, size)
    place = np.rint(4 * inside).astype(np.int64)
    value = expanded(partial(_dawsn_about, n), place, inside)
    if np.any(far):
        at = np.where(far, size, end)
        square = 1 / at / at
        total = np.zeros_like(at)
        for k in range(_DAWSN_TERMS, -1, -1):
            total = total * square + _dawsn_coefficient(n, k)
        value = np.where(far, divided(total, at, n + 1), value)
    value = np.where(np.isnan(x), x, value)
    return value if n % 2 else np.copysign(1, x) * value


_DAWSN_TERMS = 24


@cache
def _dawsn_about(n: int, k: int) -> tuple[float, Doubles]:
    """Return a centre, and the series of the n-th derivative about it."""
    return k / 4, of_derivative(n, dawsn_series, k / 4)


def _dawsn_coefficient(n: int, k: int) -> float:
    odd = math.prod(range(1, 2 * k, 2)) * math.prod(range(2 * k + 1, 2 * k + n + 1))
    return float((-1) ** n * odd / 2 ** (k + 1))
