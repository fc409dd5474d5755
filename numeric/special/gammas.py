"""The gamma function and its logarithmic derivatives where SciPy loses digits.

Negative arguments are reflected.  The sine and the cosine of πx use x minus the nearest integer,
which is exact.  Numbers in brackets are those of the Digital Library of Mathematical Functions.
All functions take and return float64 arrays; only ``gammaln_of_two_and`` does not need SciPy.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from symdiff.contexts import contained

if TYPE_CHECKING:
    from numeric.types import Doubles, Mask, Reals

# (-1)^k (ζ(k) - 1)/k for k = 2, 3 ...; the next is below 2^-53 times the sum at |x| = 1/2
_ZETA_TERMS = (
    *(0.3224670334241132, -0.0673523010531981, 0.020580808427784546, -0.007385551028673986),
    *(0.0028905103307415234, -0.001192753911703261, 0.0005096695247430425),
    *(-0.00022315475845357939, 9.945751278180853e-05, -4.492623673813314e-05),
    *(2.050721277567069e-05, -9.439488275268397e-06, 4.374866789907488e-06),
    *(-2.039215753801366e-06, 9.55141213040742e-07, -4.492469198764566e-07),
    *(2.1207184805554665e-07, -1.0043224823968099e-07, 4.7698101693639804e-08),
    *(-2.2711094608943164e-08, 1.0838659214896955e-08, -5.183475041970047e-09),
    *(2.4836745438024785e-09, -1.1921401405860912e-09, 5.731367241678862e-10),
    *(-2.7595228851242334e-10,),
)
_ONE_LESS_EULER = 0.42278433509846713  # 1 - γ
_SHIFTED_BELOW, _SHIFT = -170.0, 20
_ZERO_BELOW = -190.0  # beyond, the gamma function is below the smallest number
_LOGARITHM_BELOW = 1e-17
_LARGE = 1e4  # times n: the next term of the expansion is below 2^-53
_NEGLIGIBLE = 2.0**-60
_HIGHEST_FACTORIAL = 170
_HIGHEST_REFLECTED = 50  # SciPy's zeta function does not underflow up to this order


def gammaln_of_two_and(e: Reals) -> Reals:
    """Return the logarithm of Γ(2 + e) = (1 + e) Γ(1 + e) for |e| <= 1/2, by its series (5.7.3)."""
    total: Reals = 0.0
    for term in reversed(_ZETA_TERMS):
        total = total * e + term
    return e * (_ONE_LESS_EULER + e * total)


def gamma(x: Doubles) -> Doubles:
    """Γ(x); below -170, where SciPy has 0 for subnormal numbers, by Γ(x + 1) = xΓ(x) (5.5.1)."""
    from scipy import special

    low = (x < _SHIFTED_BELOW) & (x > _ZERO_BELOW)
    value: Doubles = special.gamma(x)
    if not np.any(low):
        return value
    near = np.where(low, x, 0.5)
    product = np.ones_like(near)
    for k in range(_SHIFT):
        product = product * (near + k)
    return np.where(low, special.gamma(near + _SHIFT) / product, value)


def gammaln(x: Doubles) -> Doubles:
    """log|Γ(x)|; near 0 it is -log|x|, near its roots 1 and 2 a series of (5.7.3).

    At -inf it is inf, as C's lgamma: between poles |Γ| grows without bound.  SciPy has -inf.
    """
    from scipy import special

    size = np.abs(x)
    small = (size < _LOGARITHM_BELOW) & (x != 0)
    value = np.where(small, -np.log(np.where(x == 0, 1, size)), size)
    value = np.where(small | np.isinf(x), value, special.gammaln(x))
    near = (x >= 0.5) & (x <= 2.5)
    if not np.any(near):
        return value
    upper = x >= 1.5
    e = np.where(near, x - np.where(upper, 2, 1), 0)
    series = gammaln_of_two_and(e) - np.where(upper, 0, np.log1p(e))
    return np.where(near, series, value)


def digamma(x: Doubles) -> Doubles:
    """ψ(x), by reflection for x < 0 (5.5.4) where SciPy has no series around the root -0.504."""
    from scipy import special

    value: Doubles = special.psi(x)
    reflected = _is_reflected(x) & ((x < -0.75) | (x > -0.25))
    if not np.any(reflected):
        return value
    inside = np.where(reflected, x, -0.5)
    return np.where(reflected, special.psi(1 - inside) - np.pi * _cotangent(inside), value)


def polygamma(n: int, x: Doubles) -> Doubles:
    """ψ⁽ⁿ⁾(x) for n >= 1, by reflection for x < 0 (5.15.6), far out by its expansion (5.15.8).

    For high n a few terms of the series are enough, on both sides of a pole.
    """
    if n > _HIGHEST_REFLECTED:
        return _of_high_order(int(n), x)
    reflected = _is_reflected(x)
    value = _of_positive(n, np.where(reflected, 1 - x, x))
    if not np.any(reflected):
        return value
    cotangent = _cotangent(np.where(reflected, x, -0.5))
    highest, *others = reversed(_derivative_of_cotangent(n))
    slope = np.full_like(x, highest)
    for coefficient in others:
        slope = slope * cotangent + coefficient
    return np.where(reflected, (-1) ** n * value - math.pi ** (n + 1) * slope, value)


@contained
def polygamma_difference(n: int, a: Doubles, b: Doubles) -> Doubles:
    """ψ⁽ⁿ⁾(a) - ψ⁽ⁿ⁾(a + b), for a, b > 0 without the cancellation of two nearly equal numbers.

    Both go up by the recurrence (5.15.5) until their expansions hold (5.11.2, 5.15.8).  There each
    power of 1/a minus the same power of 1/(a + b) is one term, and all terms have one sign.
    """
    positive = (a > 0) & (b > 0)
    f = digamma if n == 0 else lambda x: polygamma(n, x)
    with np.errstate(invalid="ignore"):
        plain = f(a) - f(a + b)
    if not np.any(positive) or n > _HIGHEST_EXPANDED:
        return plain
    a, b = np.where(positive, a, 1), np.where(positive, b, 1)
    factorial = float(math.factorial(n))
    with np.errstate(over="ignore", divide="ignore"):
        total = np.zeros_like(a)
        for k in range(_STEPS_UP):
            total = total + factorial * _falling(n + 1, a + k, b)
        a = a + _STEPS_UP
        total = total + (np.log1p(b / a) if n == 0 else factorial / n * _falling(n, a, b))
        total = total + factorial / 2 * _falling(n + 1, a, b)
        for k, bernoulli in enumerate(_BERNOULLI, 1):
            size = bernoulli * math.factorial(2 * k + n - 1) / math.factorial(2 * k)
            total = total + size * _falling(2 * k + n, a, b)
    return np.where(positive, -total if n % 2 == 0 else total, plain)


def betaln(a: Doubles, b: Doubles) -> Doubles:
    """log|B(a, b)|; for a, b > 0 by the expansion of log Γ(b) - log Γ(a + b), b >= a (5.11.1).

    A sum of three logarithms of Γ would lose the digits of their size, b log b.  Where a is large,
    too, its logarithm is expanded as well.
    """
    from scipy import special

    positive = (a > 0) & (b > 0) & np.isfinite(a) & np.isfinite(b)
    plain: Doubles = special.betaln(a, b)
    if not np.any(positive):
        return plain
    small = np.where(positive, np.minimum(a, b), 1)
    large = np.where(positive, np.maximum(a, b), 1)
    both_large = betaln_of_large(small, large)
    total = gammaln(small) + log_quotient(small, large)
    return np.where(positive, np.where(small < STIRLING_FROM, total, both_large), plain)


def log_quotient(a: Doubles, b: Doubles) -> Reals:
    """Return the logarithm of Γ(b)/Γ(a + b), log Γ(b) - log Γ(a + b) for a, b > 0 (5.11.1)."""
    above = b + _STEPS_UP
    total: Reals = sum(np.log1p(a / (b + k)) for k in reversed(range(_STEPS_UP)))
    total = total - (a * (np.log(above) - 1) + (above + (a - 0.5)) * np.log1p(a / above))
    for k, bernoulli in enumerate(_BERNOULLI, 1):
        total = total + bernoulli / (2 * k * (2 * k - 1)) * _falling(2 * k - 1, above, a)
    return total


def betaln_of_large(small: Doubles, large: Doubles) -> Doubles:
    """Return log B(small, large) for two large numbers, with both logarithms expanded."""
    small, large = np.maximum(small, STIRLING_FROM), np.maximum(large, STIRLING_FROM)
    total = _HALF_LOG_TWO_PI - np.log(large) / 2
    for k, bernoulli in enumerate(_BERNOULLI, 1):
        power = small ** float(1 - 2 * k) + _falling(2 * k - 1, large, small)
        total = total + bernoulli / (2 * k * (2 * k - 1)) * power
    share = np.log(small / (small + large))
    return total + (small - 0.5) * share - large * np.log1p(small / large)


_STEPS_UP = 20
_HIGHEST_EXPANDED = 60
STIRLING_FROM = 12.0
_HALF_LOG_TWO_PI = 0.9189385332046727
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)


def _falling(m: int, x: Doubles, step: Doubles) -> Doubles:
    """x^-m - (x + step)^-m; the power is split in halves, because it may overflow on its own."""
    half = x ** (-m / 2)
    difference: Doubles = half * -np.expm1(-m * np.log1p(step / x)) * half
    return difference


def _of_positive(n: int, x: Doubles) -> Doubles:
    from scipy import special

    far = x > _LARGE * n
    value: Doubles = special.polygamma(n, np.where(far, 1, x))
    if not np.any(far):
        return value
    # Put the factorial between the halves of the power, because the full power may be subnormal.
    u = 1 / np.where(far, x, np.inf)
    power = u ** (n // 2) * float(special.gamma(n)) * u ** (n - n // 2)
    return np.where(far, (-1) ** (n + 1) * power * (1 + n * u / 2 * (1 + (n + 1) * u / 6)), value)


@contained
def _of_high_order(n: int, x: Doubles) -> Doubles:
    """ψ⁽ⁿ⁾(x) = (-1)^(n+1) n! times the sum of (x + k)^-(n+1) over k >= 0 (5.15.1)."""
    sign = 1 if n % 2 else -1
    left = _is_reflected(x)
    with np.errstate(all="ignore"):
        # Left of 0 the nearest poles dominate.  The terms from the upper pole on depend on the
        # distance to it, those from the lower pole on, with their own signs, on the distance to
        # that one.
        turned = x - np.rint(x)
        upper = np.where(left, np.where(turned > 0, turned, 1 + turned), x)
        value = sign * _terms(n, upper)
        if not np.any(left):
            return value
        lower = np.where(left, np.where(turned > 0, 1 - turned, -turned), 1)
        other = _terms(n, lower)
        both = np.where(left, value + other, value)
        nearer = np.where(upper < lower, value, np.where(upper > lower, other, 0))
        return np.where(left & np.isnan(both), nearer, both)


def _terms(n: int, x: Doubles) -> Doubles:
    """Return the sum of n! (x + k)^-(n+1) over k >= 0; infinite for x <= 0.

    It adds terms until they are negligible, or until x + k is 2n, where Euler's and Maclaurin's
    expansion (2.10.1) gives the rest.  All terms are multiples of the first one.  Its two factors
    may overflow or underflow although the product does not.
    """
    start = np.where((x > 0) & (x < np.inf), x, 1)
    total, term, k = np.ones_like(start), np.ones_like(start), 0
    while np.any((start + k < 2 * n) & (term > _NEGLIGIBLE)):
        k += 1
        term = np.exp(-(n + 1) * np.log1p(k / start))
        total += term
    end = np.maximum(start + k, 2 * n)
    rest, factor = end / n - 0.5, (n + 1) / end
    for j, bernoulli in enumerate(_BERNOULLI, 1):
        rest = rest + bernoulli / math.factorial(2 * j) * factor
        factor = factor * ((n + 2 * j) / end) * ((n + 2 * j + 1) / end)
    total += np.where(start + k < 2 * n, 0, term * rest)
    if n <= _HIGHEST_FACTORIAL:
        scale, base = float(math.factorial(n)), 1 / start
    else:  # Stirling's formula (5.11.3); its next term is below the rounding of the power
        scale = math.sqrt(2 * math.pi * n) * math.exp(1 / (12 * n) - 1 / (360 * n**3))
        base = n / (math.e * start)
    value = base ** (n // 2) * (scale / start * total) * base ** (n - n // 2)
    return np.where(start == x, value, np.where(x > 0, 0, np.where(np.isnan(x), x, np.inf)))


def _is_reflected(x: Doubles) -> Mask:
    return (x < 0) & np.not_equal(x, np.floor(x))


def _cotangent(x: Doubles) -> Doubles:
    """cot(πx) for x that is not an integer, exactly 0 halfway between integers."""
    turned = x - np.rint(x)
    steep = np.abs(turned) < 0.25
    tangent = np.tan(np.pi * np.where(steep, turned, np.copysign(0.5, turned) - turned))
    return np.where(steep, 1 / np.where(steep, tangent, 1), tangent)


@cache
def _derivative_of_cotangent(n: int) -> tuple[float, ...]:
    """Return the coefficients, lowest first, of cot⁽ⁿ⁾ as a polynomial in cot."""
    coefficients = [0, 1]
    for _ in range(n):  # cot' = -1 - cot²
        slope = [k * c for k, c in enumerate(coefficients)][1:]
        coefficients = [-a - b for a, b in zip([*slope, 0, 0], [0, 0, *slope], strict=True)]
    return tuple(map(float, coefficients))
