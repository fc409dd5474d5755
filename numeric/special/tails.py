"""The scaled error function and the normal distribution's tail, with their derivatives.

Derivatives of the first are integrals of positive functions over the half line,
∫₀^∞ sⁿ e^(-s² - 2xs) ds.  A quadrature adds them without cancellation, where recurrences between
the orders lose all digits.  The logarithm of the second has series about many centres, and
asymptotic ones.  Numbers in brackets are those of the Digital Library of Mathematical Functions.

All functions take and return float64 arrays of one shape, and do not need SciPy.
"""

from __future__ import annotations

import math
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np

from numeric.special.expansions import divided, expanded, of_derivative
from symdiff.contexts import contained
from symdiff.scalars.vocabulary import log_ndtr_series

if TYPE_CHECKING:
    from collections.abc import Callable

    from numeric.types import Doubles


_BLOCK = 2048  # numbers whose integrands are in memory at once


@contained
def erfcx_derivative(n: int, x: Doubles) -> Doubles:
    """Return the n-th derivative of e^(x²) erfc(x): (-2)ⁿ 2/√π ∫₀^∞ sⁿ e^(-s² - 2xs) ds [7.7.1].

    For x < 0, e^(x²) erfc(x) = 2 e^(x²) - e^(x²) erfc(-x).  The sizes p of its derivatives follow
    from p_k = 2|x| p_(k-1) + 2(k-1) p_(k-2) [7.18.7], a sum of positive terms.
    """
    size = np.abs(x)
    value = _by_blocks(lambda part: _erfcx_tail(n, part), size)
    left = x < 0
    if np.any(left):
        inside = np.where(left, size, 0.0)
        with np.errstate(over="ignore"):
            below = 2 * np.exp(inside * inside) - _by_blocks(lambda y: _erfcx_tail(0, y), inside)
            last = 2 / math.sqrt(math.pi) + 2 * inside * below
            for k in range(2, n + 1):
                below, last = last, 2 * inside * last + 2 * (k - 1) * below
        value = np.where(left, last if n else below, value)
    return -value if n % 2 else value


def _erfcx_tail(n: int, x: Doubles) -> Doubles:
    """Return the absolute value of the n-th derivative for x >= 0."""
    v, weights = _half_line(n)
    scale = 1 / (1 + x)
    s = scale[:, None] * v
    total = np.exp(-s * s - 2 * (x * scale)[:, None] * v) @ (weights * v**n)
    tail: Doubles = 2 / math.sqrt(math.pi) * scale * (2 * scale) ** n * total
    return tail


def log_ndtr_derivative(n: int, x: Doubles) -> Doubles:
    """Return the n-th derivative, n > 0, of log Φ(x) with Φ the normal distribution function.

    Right of ``top``, Φ is 1 to the last bit, and the derivative is that of the density.  Left of
    ``bottom`` it is the asymptotic series of the Mills ratio, between them a Taylor series.  (It is
    also, for n > 2, a cumulant of moments, integrals of sᵏ e^(-s²/2 + xs) over the half line.  That
    sum would cancel, twice as much with every order.)
    """
    top, bottom = 10 + 2 * math.sqrt(n), -40.0 - 4 * n
    right, left = x > top, x < bottom
    inside = np.where(right | left | np.isnan(x), 0.0, x)
    place = np.rint(np.where(inside > 0, 4 * inside, -8 * np.log1p(np.maximum(-inside, 0) / 3)))
    value = expanded(partial(_log_ndtr_about, n), place.astype(np.int64), inside)
    if np.any(left):
        value = np.where(left, _log_ndtr_far(n, np.where(left, -x, -bottom)), value)
    if np.any(right):
        value = np.where(right, normal_density(n - 1, np.where(right, x, top)), value)
    return np.where(np.isnan(x), x, value)


@cache
def _log_ndtr_about(n: int, k: int) -> tuple[float, Doubles]:
    """Return a centre, and the series of the n-th derivative about it.

    The nearest zero of Φ is 1.92 ± 2.82i.  So the distance to a centre is at most 1/16 of the
    radius of convergence left of 0, and 1/20 right of it, where the density's e^(-cx) adds terms.
    """
    centre = k / 4 if k > 0 else -3 * math.expm1(-k / 8)
    return centre, of_derivative(n, log_ndtr_series, centre)


def _log_ndtr_far(n: int, t: Doubles) -> Doubles:
    """Return the n-th derivative at -t, from the first one, t + Σ cₖ (-1)ᵏ t^(-2k-1).

    That series is the reciprocal of the Mills ratio Σ (-1)ᵏ (2k-1)!! t^(-2k-1) [7.12.1].
    """
    total = np.zeros_like(t)
    inverse = 1 / t
    square = inverse * inverse
    for k in range(_FAR_TERMS - 1, -1, -1):
        rising = math.prod(range(2 * k + 1, 2 * k + n)) // math.factorial(n - 1)
        total = total * -square + float(_mills()[k] * rising)
    value = divided(math.factorial(n - 1) * total, t, n)
    return value + t if n == 1 else value - 1 if n == 2 else value


_FAR_TERMS = 12


@cache
def _mills() -> list[int]:
    """Return the numbers 1, 2, 10, 74 ... of ``_log_ndtr_far``."""
    double = [1]
    for k in range(1, _FAR_TERMS + 2):
        double.append(double[-1] * (2 * k - 1))
    reciprocal = [1]  # the coefficients of the reciprocal, with signs
    for k in range(1, _FAR_TERMS + 1):
        reciprocal.append(-sum(reciprocal[j] * double[k - j] * (-1) ** (k - j) for j in range(k)))
    return [abs(c) for c in reciprocal[1:]]


def normal_density(n: int, x: Doubles) -> Doubles:
    """Return the n-th derivative of φ(x) = e^(-x²/2)/√(2π), (-1)ⁿ Heₙ(x) φ(x) [18.5.1]."""
    inside = np.clip(x, -_DENSITY_ENDS, _DENSITY_ENDS)
    below, last = np.zeros_like(x), np.full_like(x, 1 / math.sqrt(2 * math.pi))
    for k in range(1, n + 1):
        below, last = last, -inside * last - (k - 1) * below
    value = exp_of_half_square(inside, last)
    if n % 2 == 0:
        return value
    # Near the zero at 0 the recurrence would round n times to multiples of the smallest number.
    slope = -((-1) ** (n // 2)) * math.prod(range(n, 0, -2)) / math.sqrt(2 * math.pi)
    return np.where(np.abs(x) < _LINEAR_BELOW, slope * x, value)


def exp_of_half_square(x: Doubles, factor: Doubles) -> Doubles:
    """e^(-x²/2) times a factor, rounded only once where the result is subnormal.

    A multiple of 1/16 near x has an exact square.  The error of x² itself would be multiplied by x²
    (Cody 1969).
    """
    x = np.clip(x, -_DENSITY_ENDS, _DENSITY_ENDS)
    near = np.rint(16 * x) / 16
    root = np.exp(-near * near / 4)
    product: Doubles = np.exp((near - x) * (near + x) / 2) * factor * root * root
    return product


_DENSITY_ENDS = 60.0  # the density is 0 beyond
_LINEAR_BELOW = 1e-10  # the square of x is below 2^-53


def _by_blocks(function: Callable[[Doubles], Doubles], x: Doubles) -> Doubles:
    flat = x.ravel()
    parts = [function(flat[k : k + _BLOCK]) for k in range(0, flat.size, _BLOCK)]
    return np.concatenate([np.empty(0), *parts]).reshape(x.shape)


@cache
def _half_line(n: int) -> tuple[Doubles, Doubles]:
    """Nodes and weights for ∫₀^∞ vⁿ f(v) dv, where f falls at least like e^-v.

    The trapezoidal rule in u, v = e^(u - e^-u) (Takahasi and Mori 1974), has the error e^(-2πd/h)
    for f analytic in a strip of half width d.  h = 1/10 is enough for d = π/4.  A power of v is a
    peak of width 1/√n.  Nodes end where e^-v vⁿ, or e^(-e^-u), is below 2^-53 of the integral.
    """
    h = 0.1 / math.sqrt(1 + n / 16)
    first, last = math.floor(-3.9 / h), math.ceil(math.log(45 + 2 * n) / h)
    u = h * np.arange(first, last + 1)
    v = np.exp(u - np.exp(-u))
    return v, h * v * (1 + np.exp(-u))
