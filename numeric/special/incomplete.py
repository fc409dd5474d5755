"""The incomplete gamma functions and the densities of the gamma and beta distributions.

A density is a product of powers and exponentials, each of which may overflow alone.  The
exponential of a sum of logarithms would lose the digits of that sum, hundreds of ulp.  So powers
are computed as powers, in two halves with the other factors between them.  Logarithms serve only
large parameters.  SciPy's incomplete gamma functions lose tens of ulp, and hundreds for orders of a
hundred.  Up to order 170 a series and a continued fraction times the density replace them.
Numbers in brackets are those of the Digital Library of Mathematical Functions.

All functions take and return float64 arrays of one shape; only ``beta_density`` does not need
SciPy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symdiff.contexts import contained

if TYPE_CHECKING:
    from numeric.types import Doubles, Mask

_SMALL_ORDER = 170.0  # up to this order 1/Γ is neither 0 nor infinite in double precision
_VANISHES_FROM = 3000.0  # every density of a small order is 0 from here on
_LEADING_BELOW = 1e-17
_SMALL_EXPONENT, _SMALL_SCALE = 100.0, 300.0
_SERIES_BELOW = 2.0
_TERMS = 26  # terms of the series, x < 2: 2^27/27! < 2^-53; below a the k-th is e^(-k²/2a)
_FRACTION_FROM = 0.5
_STEPS = 240  # steps of the fraction: errors fall like e^(-4√(kx)), 2^-53 after 170 at x = 1/2


@contained
def gamma_density(a: Doubles, x: Doubles) -> Doubles:
    """x^(a-1) e^-x / Γ(a) for x >= 0; 0 for a = 0, -1, -2 ..."""
    from scipy import special

    small = np.abs(a) <= _SMALL_ORDER
    order, inside = np.where(small, a, 1), np.where(x < 0, np.nan, x)
    factor = special.rgamma(order)
    direct = _scaled_power(order - 1, factor, inside)
    large = np.where(small, 1, a)
    with np.errstate(divide="ignore", over="ignore"):  # at x = 0 with a < 1
        logarithm = special.xlogy(large - 1, inside) - inside - special.gammaln(large)
        by_logarithms = np.exp(logarithm) * np.where(_is_pole(large), 0, _sign_of_gamma(large))
    vanishes = np.where(small, factor == 0, _is_pole(a)) & (x >= 0)
    return np.where(vanishes, 0, np.where(small, direct, by_logarithms))


@contained
def _scaled_power(exponent: Doubles, factor: Doubles, x: Doubles) -> Doubles:
    """Return the product x^exponent e^-x factor for a small exponent."""
    at = np.minimum(x, _VANISHES_FROM)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):  # at x = 0
        power, root = at ** (exponent / 2), np.exp(-at / 2)
        result: Doubles = power * factor * root * power * root
        return result


@contained
def beta_density(p: Doubles, q: Doubles, c: Doubles, x: Doubles) -> Doubles:
    """x^p (1 - x)^q e^-c for 0 <= x <= 1."""
    x = np.where((x >= 0) & (x <= 1), x, np.nan)
    small = (np.abs(p) <= _SMALL_EXPONENT) & (np.abs(q) <= _SMALL_EXPONENT)
    small &= np.abs(c) <= _SMALL_SCALE
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):  # at an end
        half_p, half_q = np.where(small, p, 0) / 2, np.where(small, q, 0) / 2
        # 1 - x is exact from 1/2 on; below, its logarithm is small.
        near = np.minimum(x, 0.5)
        rest = np.where(x < 0.5, np.exp(half_q * np.log1p(-near)), (1 - x) ** half_q)
        direct = x**half_p * rest * np.exp(-np.where(small, c, 0)) * x**half_p * rest
        logarithms = np.where(p == 0, 0, p * np.log(x)) + np.where(q == 0, 0, q * np.log1p(-x))
        large = np.where(np.isnan(x), x, np.exp(logarithms - c))
    return np.where(small, direct, large)


def gammainc(a: Doubles, x: Doubles) -> Doubles:
    """P(a, x): its series (8.7.1), or 1 - Q where x is larger than a."""
    from scipy import special

    value: Doubles = special.gammainc(a, x)
    low = (x > 0) & (x < np.maximum(a, _SERIES_BELOW)) & (a > 0) & (a < _SMALL_ORDER - 1)
    high = _has_fraction(a, x) & ~low
    value = np.where(low, _series(a, x, low), value) if np.any(low) else value
    return np.where(high, 1 - _fraction(a, x, high), value) if np.any(high) else value


def gammaincc(a: Doubles, x: Doubles) -> Doubles:
    """Q(a, x): its continued fraction (8.9.2), or 1 - P where a is larger than x."""
    from scipy import special

    value: Doubles = special.gammaincc(a, x)
    low = (x > 0) & (x < np.maximum(a, _FRACTION_FROM)) & (a >= 0.5) & (a < _SMALL_ORDER - 1)
    high = _has_fraction(a, x)
    value = np.where(low, 1 - _series(a, x, low), value) if np.any(low) else value
    return np.where(high, _fraction(a, x, high), value) if np.any(high) else value


def betainc(a: Doubles, b: Doubles, x: Doubles) -> Doubles:
    """I_x(a, b); near 0 its leading term x^a / (a B(a, b)) (8.17.7)."""
    from scipy import special

    value: Doubles = special.betainc(a, b, x)
    low = (x > 0) & (x * (1 + b) < _LEADING_BELOW) & (a > 0) & (a <= _SMALL_EXPONENT)
    low &= (b > 0) & (b <= _SMALL_EXPONENT)
    if not np.any(low):
        return value
    a, b = np.where(low, a, 1), np.where(low, b, 1)
    half = np.where(low, x, 1) ** (a / 2)
    return np.where(low, half / (a * special.beta(a, b)) * half, value)


def _series(a: Doubles, x: Doubles, low: Mask) -> Doubles:
    from scipy import special

    a, x = np.where(low, a, 1), np.where(low, x, 0)
    total = np.ones_like(x)
    for k in range(_TERMS + int(10 * np.sqrt(np.max(a))), 0, -1):
        total = 1 + x / (a + k) * total
    result: Doubles = _scaled_power(a, special.rgamma(a + 1), x) * total
    return result


def _has_fraction(a: Doubles, x: Doubles) -> Mask:
    return (
        (x >= np.maximum(a, _FRACTION_FROM)) & (x <= _VANISHES_FROM) & (a > 0) & (a <= _SMALL_ORDER)
    )


def _fraction(a: Doubles, x: Doubles, high: Mask) -> Doubles:
    from scipy import special

    a, x = np.where(high, a, 1), np.where(high, x, _VANISHES_FROM)
    steps = int(_STEPS / (1 + 2 * (np.min(x) - _FRACTION_FROM)) + np.max(a) / 4) + 30
    fraction: Doubles = x + 2 * steps + 1 - a
    for k in range(steps, 0, -1):
        fraction = x + (2 * k - 1) - a - k * (k - a) / fraction
    result: Doubles = _scaled_power(a, special.rgamma(a), x) / fraction
    return result


def _is_pole(a: Doubles) -> Mask:
    return (a <= 0) & np.equal(a, np.floor(a))


def _sign_of_gamma(a: Doubles) -> Doubles:
    return np.where((a > 0) | (np.remainder(np.floor(a), 2) == 0), 1, -1)
