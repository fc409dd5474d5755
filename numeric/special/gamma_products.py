"""Products and quotients of gamma functions: the beta function, Γ(z + m)/Γ(z) and binomials.

For positive arguments of Γ they are exponentials of sums without cancellation (``gammas``)
where the functions themselves overflow or underflow.  Other arguments are reflected (5.5.3).  A
quotient of two sines is a sign where the difference of their arguments is an integer, also at
poles, which then cancel.  At other poles the value is nan.  Numbers in brackets are those of the
Digital Library of Mathematical Functions.

All functions take and return float64 arrays of one shape, and need SciPy.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from numeric.special import gamma_reciprocals, gammas
from symdiff.contexts import contained

if TYPE_CHECKING:
    from collections.abc import Callable

    from numeric.types import Doubles, Mask, Reals


_MODERATE = 140.0  # below, products of two gamma functions are normal floats with all digits


def beta(a: Doubles, b: Doubles) -> Doubles:
    """B(a, b) = Γ(a)Γ(b)/Γ(a + b) (5.12.1)."""
    low, high, total = np.minimum(a, b), np.maximum(a, b), a + b

    def both_left(low: Doubles, high: Doubles, total: Doubles) -> Doubles:
        sines = _sin_pi(low, high) / _pole(_sin_pi(low)) / _pole(_sin_pi(high))
        return math.pi * sines / ((1 - total) * _beta(1 - low, 1 - high))

    return _by_cases(
        (low >= 0, lambda low, high, _: _beta(low, high)),
        (high < 0, both_left),
        (
            (low < 0) & (high > 0) & (total <= 0),
            lambda low, high, total: _beta(high, 1 - total) * _ratio((low, high), (low,), high),
        ),
        (
            (low < 0) & (high > 0) & (total > 0),
            lambda low, high, total: math.pi / (_pole(_sin_pi(low)) * high * _beta(1 - low, total)),
        ),
    )(low, high, total)


@contained
def beta_derivative(m: int, n: int, a: Doubles, b: Doubles) -> Doubles:
    """Return the derivative of B(a, b), m times by a and n times by b, for a, b > 0; else nan."""
    inside = (a > 0) & (b > 0) & np.isfinite(a) & np.isfinite(b)
    a, b = np.where(inside, a, 1), np.where(inside, b, 1)
    with np.errstate(all="ignore"):
        if m and n:
            parts = [
                _moments(m, n, a.ravel()[k : k + _BLOCK], b.ravel()[k : k + _BLOCK])
                for k in range(0, a.size, _BLOCK)
            ]
            size: Reals = np.concatenate([np.empty(0), *parts]).reshape(a.shape)
        else:
            size = _sizes_by_one(m, a, b) if m else _sizes_by_one(n, b, a)
    return np.where(inside, -size if (m + n) % 2 else size, np.nan)


def poch(z: Doubles, m: Doubles) -> Doubles:
    """Γ(z + m)/Γ(z) (5.2.5)."""
    up = z + m

    def across(z: Doubles, _m: Doubles, up: Doubles) -> Doubles:
        quotient = gammas.gamma(up) * gamma_reciprocals.rgamma_derivative(0, z)
        return np.where((up <= 0) & (up == np.floor(up)), np.nan, quotient)

    return _by_cases(
        ((z > 0) & (up > 0), lambda z, m, _: _rising(z, m)),
        ((z <= 0) & (up <= 0), lambda z, m, up: _rising(1 - up, m) * _ratio((z,), (z, m), m)),
        ((z > 0) != (up > 0), across),
    )(z, m, up)


def binom(n: Doubles, k: Doubles) -> Doubles:
    """Γ(n + 1)/(Γ(k + 1)Γ(n - k + 1)) (1.2.6)."""
    rest = n - k
    top, first, second = n > -1, k > -1, rest > -1

    def all_left(n: Doubles, k: Doubles, rest: Doubles) -> Doubles:
        return _beta(-k, -rest) * _ratio((n, -k), (n,), k) * -_sin_pi(k) / math.pi

    return _by_cases(
        (top & first & second, lambda _, k, rest: _choose(k, rest)),
        (top & ~first, lambda n, k, _: _beta(n + 1, -k) * -_sin_pi(k) / math.pi),
        (top & ~second, lambda n, k, rest: _beta(n + 1, -rest) * -_sin_pi(n, -k) / math.pi),
        (~top & first, lambda n, k, _: _choose(k, -n - 1) * _ratio((n, -k), (n,), k)),
        (~top & second, lambda n, k, rest: _choose(rest, -n - 1) * _ratio((k,), (n,), rest)),
        (~top & ~first & ~second, all_left),
    )(n, k, rest)


def _by_cases(*cases: tuple[Mask, Callable[..., Doubles]]) -> Callable[..., Doubles]:
    @contained
    def of_arrays(*xs: Doubles) -> Doubles:
        value = np.full(xs[0].shape, np.nan)
        with np.errstate(all="ignore"):
            for chosen, function in cases:
                if np.any(chosen):
                    value[chosen] = function(*(x[chosen] for x in xs))
        return value

    return of_arrays


def _ratio(above: tuple[Doubles, ...], below: tuple[Doubles, ...], difference: Doubles) -> Doubles:
    """Return the quotient of the sines of π times two sums; a sign if they differ by an integer."""
    sign = 1 - 2 * np.abs(np.remainder(difference, 2))
    whole = difference == np.floor(difference)
    return np.where(whole, sign, _sin_pi(*above) / _pole(_sin_pi(*below)))


def _pole(sine: Doubles) -> Doubles:
    return np.where(sine == 0, np.nan, sine)


# For positive arguments of Γ ----------------------------------------------------------------------


def _beta(a: Doubles, b: Doubles) -> Doubles:
    small, large = np.minimum(a, b), np.maximum(a, b)
    near = small < gammas.STIRLING_FROM
    value = gammas.gamma(np.where(near, small, 1)) * np.exp(gammas.log_quotient(small, large))
    return np.where(near, value, np.exp(gammas.betaln_of_large(small, large)))


def _sizes_by_one(m: int, a: Doubles, b: Doubles) -> Reals:
    """Return the size of the m-th derivative by a: sums of products of one sign, of log B's."""
    slopes = [np.abs(gammas.polygamma_difference(i, a, b)) for i in range(m)]
    sizes: list[Reals] = [_beta(a, b)]
    for k in range(m):
        sizes.append(sum(math.comb(k, i) * sizes[k - i] * slopes[i] for i in range(k + 1)))
    return sizes[m]


def _moments(m: int, n: int, a: Doubles, b: Doubles) -> Doubles:
    """∫₀¹ t^(a-1) (1-t)^(b-1) |log t|^m |log(1-t)|^n dt for m, n > 0 (5.12.1).

    With t = 1/(1 + e^-u) it is the integral over all u of e^(-a s(-u) - b s(u)) s(-u)^m s(u)^n with
    s(u) = log(1 + e^u).  The integrand is positive and falls like e^((a+n)u) and e^(-(b+m)u).  The
    error of the trapezoidal rule is the Fourier transform at 2π/step.  Without logarithms it is
    |Γ(a + n + iω)Γ(b + m - iω)|, below 2^-56 of its value at 0 there.  The nodes are exact
    multiples of the step, because a and b would multiply their errors.
    """
    left, right = a + n, b + m
    low, high = np.minimum(left, right), np.maximum(left, right)
    curvature = np.minimum(low / (1 + low / high), _UNDERFLOWS)
    step = 0.7 / (np.sqrt(curvature) + 2 / (1 + low / high))
    step = step.astype(np.float32).astype(np.float64)
    reach = np.sqrt(90 / curvature)
    before = int(np.max(((45 + 5 * m) / left + reach) / step)) + 1
    after = int(np.max(((45 + 5 * n) / right + reach) / step)) + 1
    centre = np.rint((np.log(left) - np.log(right)) / step)
    u = (centre[:, None] + np.arange(-before, after + 1)) * step[:, None]
    logarithm = np.log1p(np.exp(-np.abs(u)))
    up, down = np.maximum(u, 0) + logarithm, np.maximum(-u, 0) + logarithm
    exponent = -a[:, None] * down - b[:, None] * up
    top = np.maximum(exponent[:, before], -2 * _UNDERFLOWS)
    scaled = np.exp(exponent - top[:, None])
    scaled *= (down / down[:, before, None]) ** m * (up / up[:, before, None]) ** n
    (x, e), (y, f) = np.frexp(down[:, before]), np.frexp(up[:, before])
    root = np.exp(top / 2)
    total = np.sum(scaled, axis=1) * step * x**m * y**n * root
    size: Doubles = np.ldexp(total, m * e + n * f) * root
    return size


_BLOCK = 256  # numbers whose integrands are in memory at once
_UNDERFLOWS = 1e3  # B(a, b) is below 4^-a for a <= b


def _choose(k: Doubles, rest: Doubles) -> Doubles:
    """Return the binomial coefficient of k + rest and k."""
    small, large = np.minimum(k, rest), np.maximum(k, rest)
    near = small < gammas.STIRLING_FROM
    factor = gamma_reciprocals.rgamma_derivative(0, np.where(near, small, 1) + 1)
    value = _rising(large + 1, np.where(near, small, 1)) * factor
    logarithm = gammas.betaln_of_large(small + 1, large + 1)
    return np.where(near, value, np.exp(-logarithm) / (k + rest + 1))


def _rising(z: Doubles, m: Doubles) -> Doubles:
    """Γ(z + m)/Γ(z), which is near 1 for small m."""
    low, size = np.where(m < 0, z + m, z), np.abs(m)
    scale = np.where(low < 1, low / (low + size), 1)  # Γ(z) is Γ(z + 1)/z
    logarithm = gammas.log_quotient(size, np.where(low < 1, low + 1, low))
    value = np.where(m < 0, np.exp(logarithm) / scale, scale * np.exp(-logarithm))
    direct = (size > 1) & (z < _MODERATE) & (z + m < _MODERATE)
    at, to = np.where(direct, z, 1), np.where(direct, z + m, 1)
    quotient = gammas.gamma(to) * gamma_reciprocals.rgamma_derivative(0, at)
    return np.where(direct, quotient, np.where(m == 0, 1, value))


def _sin_pi(*xs: Doubles) -> Doubles:
    """sin(πx) for a sum of numbers, each reduced by its nearest integer."""
    whole = sum(np.remainder(np.rint(x), 2) for x in xs)
    rest = sum(x - np.rint(x) for x in xs)
    whole, rest = whole + np.rint(rest), rest - np.rint(rest)
    return (1 - 2 * np.abs(np.remainder(whole, 2))) * np.sin(np.pi * rest)
