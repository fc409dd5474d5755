"""Bessel functions of real order, and e^-|x| I and e^x K of every order with their derivatives.

SciPy's functions lose up to two hundred roundings for orders that are not integers.  Far out, a
derivative of a scaled function by differences of neighbouring orders loses all digits.  This module
uses, with the numbers of the Digital Library of Mathematical Functions,

- for I and J near 0, the power series (10.25.2, 10.2.2) in unevaluated sums of two numbers (Dekker
  1971), because the terms of J and of derivatives cancel;
- for I far out, and for K, integrals over exponentials that fall on both sides of their peak
  (10.32.4, 10.32.9), to which the trapezoidal rule converges exponentially.  The factors
  (cos t - 1)^m and (1 - cosh t)^m of a derivative have one sign: nothing cancels at any order;
- for J and Y far out, the expansions of ``bessel``, rotated by the angle of the order (10.17.3);
- for Y and K of tiny numbers, the leading terms (10.7.4, 10.30.2), two of them for orders below 1;
- for a negative order, the positive one (10.4.6, 10.4.7, 10.27.2).

Orders beyond 32 are SciPy's.  Derivatives of scaled functions are sums of these, which cancel for x
beyond the order and below half of its square.  An order is one number; the other arguments are
float64 arrays of one shape.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from numeric.special import bessel
from symdiff.contexts import contained

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numeric.types import Doubles, Reals

    # A function of an order; a multiple of one: the factor, the function and the order.
    _OfOrder: TypeAlias = Callable[[float, Doubles], Doubles]
    _Term: TypeAlias = tuple[float, _OfOrder, float]


_HIGHEST = 32.0  # the series meets the integral at x = 512, and has terms of e^512
# (2x)^m e^-2x is below 2^-53 from 20 + 2m on; e^25 is far below 2^106.
_SERIES_OF_I, _SERIES_OF_J = 20.0, 25.0
_ORIGIN = 0.125
_TINY, _TINY_OF_HIGH = 1e-17, 1e-9  # from order 2 on, the next term is x² times as large
_SUBNORMAL_HALF = 1e-300
_TWO_TERMS_BELOW = 1e-10
_ENDS = 45.0  # e^-45 is below 2^-53 times any sum of the integrands
_BLOCK = 256  # numbers whose integrands are in memory at once
_DIGITS = 60
_HIGHEST_FACTORIAL = 170


# The functions ------------------------------------------------------------------------------------


def jv(n: float, x: Doubles) -> Doubles:
    """J_n(x); nan for x < 0 unless n is an integer."""
    if n == int(n):
        return _of_integer(bessel.jv, int(n), x, -1)
    return _on_the_right(lambda at: _first_kind(n, at), x, _at_zero(n))


def yv(n: float, x: Doubles) -> Doubles:
    """Y_n(x); nan for x < 0."""
    if n == int(n):
        return _of_integer(bessel.yv, int(n), x, -1)
    size = abs(n)
    turn = _cos_pi(size)
    ends = -math.inf if n > 0 else -math.copysign(math.inf, turn) if turn else 0.0

    def function(at: Doubles) -> Reals:
        if n > 0:
            return _second_kind(n, at)
        return _sum((turn, _second_kind, size), (_sin_pi(size), _first_kind, size), at)

    return _on_the_right(function, x, ends)


@contained
def iv(n: float, x: Doubles) -> Doubles:
    """I_n(x); nan for x < 0 unless n is an integer."""
    if n == int(n):
        return _of_integer(bessel.iv, int(n), x, 1)

    def function(at: Doubles) -> Doubles:
        scaled, root = ive_derivative(0, n, at), np.exp(at / 2)
        # e^(x/2) is inf from 1420 on; the product of its square with the scaled value is inf long
        # before.
        return np.where(np.isinf(root), np.inf, scaled * root * root)

    with np.errstate(over="ignore", invalid="ignore"):
        return _on_the_right(function, x, _at_zero(n), math.inf)


@contained
def kv(n: float, x: Doubles) -> Doubles:
    """K_n(x); nan for x < 0."""
    if n == int(n):
        return _of_integer(bessel.kv, int(n), x, 1)

    def function(at: Doubles) -> Doubles:
        root = np.exp(-at / 2)
        return kve_derivative(0, n, at) * root * root

    with np.errstate(over="ignore"):
        return _on_the_right(function, x, math.inf)


def _of_integer(function: Callable[..., Doubles], n: int, x: Doubles, sign: int) -> Doubles:
    value: Doubles = function(abs(n), x)
    return sign ** (n % 2) * value if n < 0 else value


def _on_the_right(
    function: Callable[[Doubles], Reals], x: Doubles, zero: float, infinity: float = 0.0
) -> Doubles:
    """Apply ``function`` to positive numbers; use the given values at 0 and infinity, else nan."""
    positive = (x > 0) & (x < np.inf)
    value = np.where(x == 0, zero, np.where(x == np.inf, infinity, np.nan))
    if np.any(positive):
        value[positive] = function(x[positive])
    return value


def _at_zero(n: float) -> float:
    """Return the value of J_n and I_n at 0, for n that is not an integer."""
    return 0.0 if n > 0 else math.copysign(math.inf, _over_gamma(n))


@contained
def _sum(first: _Term, second: _Term, x: Doubles) -> Reals:
    """Add two functions of an order, each with a factor that may be 0."""
    with np.errstate(over="ignore"):
        return sum(c * function(n, x) for c, function, n in (first, second) if c)


# J and Y ------------------------------------------------------------------------------------------


@contained
def _first_kind(n: float, x: Doubles) -> Doubles:
    """J_n for x > 0."""
    from scipy import special

    if n > _HIGHEST_FACTORIAL:
        high: Doubles = special.jv(n, x)
        return high
    series = x < _SERIES_OF_J
    far = x >= max(_SERIES_OF_J, n * n / 2) if abs(n) <= _HIGHEST else x >= 4 * n * n
    between = ~series & ~far
    value = np.empty_like(x)
    with np.errstate(over="ignore"):
        if np.any(series):
            at = x[series]
            total = _power_series(n, 0, -1, at)
            root = _half_power(
                at, n / 2
            )  # the power may overflow or underflow although the product does not
            value[series] = (total[0] + total[1]) * (root * _over_gamma(n) * root)
    if n < 0:
        rest = x[~series]
        value[~series] = _sum((_cos_pi(n), _first_kind, -n), (_sin_pi(n), _second_kind, -n), rest)
        return value
    if np.any(far):
        value[far] = _turned(n, x[far])[0]
    if np.any(between):
        value[between] = special.jv(n, x[between])
    return value


def _second_kind(n: float, x: Doubles) -> Doubles:
    """Y_n for n, x > 0."""
    from scipy import special

    far = x >= max(_SERIES_OF_J, 4 * n * n)
    tiny = x < _TWO_TERMS_BELOW
    small = ~tiny & (x < 2) & (0.1 <= n < 0.95)
    value = np.empty_like(x)
    others = ~(tiny | small | far)
    value[others] = special.yv(n, x[others])
    if np.any(small):  # here the two terms hardly cancel (10.2.3)
        at, c, s = x[small], _cos_pi(n), _sin_pi(n)
        value[small] = (c * _first_kind(n, at) - _first_kind(-n, at)) / s
    if np.any(far):
        value[far] = _turned(n, x[far])[1]
    if np.any(tiny):
        at = x[tiny]
        value[tiny] = (
            -2 / math.pi * _leading(n, at, _cos_pi(n), lambda: -math.pi / 2 * special.yv(n, at))
        )
    return value


def _turned(n: float, x: Doubles) -> tuple[Doubles, Doubles]:
    """J_n and Y_n far out: Hankel's expansion, with x - π/4 turned back by nπ/2 (10.17.3)."""
    even, odd, term, k = np.ones_like(x), np.zeros_like(x), np.ones_like(x), 0
    while k < 60 and np.any(np.abs(term) > 2.0**-60):
        k += 1
        step = term * ((2 * n - 2 * k + 1) * (2 * n + 2 * k - 1) / (8.0 * k)) / x
        term = np.where(np.abs(term) > 2.0**-60, step, 0)
        if k % 2:
            odd = odd + (term if k % 4 == 1 else -term)
        else:
            even = even + (term if k % 4 == 0 else -term)
    sine, cosine = np.sin(x), np.cos(x)
    first, second = cosine + sine, sine - cosine
    turn, turned = _cos_pi(n / 2), _sin_pi(n / 2)
    c, s = first * turn + second * turned, second * turn - first * turned
    size = 1 / math.sqrt(math.pi) / np.sqrt(x)
    return size * (even * c - odd * s), size * (even * s + odd * c)


@contained
def _leading(n: float, x: Doubles, turn: float, otherwise: Callable[[], Doubles]) -> Doubles:
    """Γ(n)/2 (2/x)^n + Γ(-n)/2 (x/2)^n turn, unless the two cancel: n log x is small then."""
    if n > _HIGHEST_FACTORIAL:
        return otherwise()
    with np.errstate(over="ignore"):
        root = _half_power(x, -n / 2)
        value = root * (math.gamma(n) / 2) * root
        if n >= 1:
            return value
        value = value + math.gamma(-n) * turn / 2 / root / root
        return np.where(root > 1.5, value, otherwise())


# e^-|x| I_n and its derivatives -------------------------------------------------------------------


def ive_derivative(m: int, n: float, x: Doubles) -> Doubles:
    """Return the m-th derivative of e^-|x| I_n(x); nan for x < 0 unless n is an integer.

    At 0, for an integer n, it is 0 where the sides differ in sign.
    """
    whole = n == int(n)
    n = abs(n) if whole else n
    size = np.abs(x) if whole else x
    odd = whole and (m + int(n)) % 2 == 1
    zero = 0.0 if odd else float(_near_origin(m, n, np.zeros(1))[0])
    value = _on_the_right(lambda at: _scaled_first(m, n, at), size, zero)
    return np.where(x < 0, -value, value) if odd else value


def _scaled_first(m: int, n: float, x: Doubles) -> Doubles:
    """Return the m-th derivative of e^-x I_n(x) for x > 0."""
    from scipy import special

    if m == 0 and n in (0, 1):
        return np.where(
            x < _ORIGIN, _near_origin(0, n, np.minimum(x, 1)), (special.i0e, special.i1e)[int(n)](x)
        )
    near, far = x < _ORIGIN, x >= max(_SERIES_OF_I + 2 * m, n * n / 2)
    between = ~(near | far)
    value = np.empty_like(x)
    value[near], value[far] = _near_origin(m, n, x[near]), _by_angles(m, n, x[far])
    if abs(n) > _HIGHEST:
        value[between] = _by_orders(m, n, x[between], special.ive, 0.5, -1)
    else:
        value[between] = _by_series(m, n, x[between])
    return value


@contained
def _near_origin(m: int, n: float, x: Doubles) -> Doubles:
    """Sum the power series of e^-x I_n(x), differentiated term by term."""
    first, coefficients = _of_origin(m, n)
    total = np.zeros_like(x)
    for c in reversed(coefficients):
        total = total * x + c
    with np.errstate(divide="ignore", over="ignore"):
        power = _half_power(x, n + first - m)
        return total * (2.0 ** (first - m) * _over_gamma(n)) * power


@cache
def _of_origin(m: int, n: float) -> tuple[int, tuple[float, ...]]:
    """Return the first power of x, less n, after m derivatives, and the coefficients from there."""
    with localcontext(prec=_DIGITS):
        order, coefficients = Decimal(n), []
        first = max(m - int(n), 0) if n == int(n) else 0
        even = [c for _, c in zip(range((first + 16) // 2 + 1), _ratios(order, 0), strict=False)]
        for i in range(first, first + 16):
            c = sum(
                a / 4**k * (-1) ** i / math.factorial(i - 2 * k)
                for k, a in enumerate(even)
                if 2 * k <= i
            )
            coefficients.append(float(c * _falling(order + i, m)))
    return first, tuple(coefficients)


def _by_series(m: int, n: float, x: Doubles) -> Doubles:
    """Sum D^m (e^-x x^a) = e^-x Σ_j C(m, j) (-1)^(m-j) a (a-1) ... (a-j+1) x^(a-j)."""
    total = _power_series(n, 0, 1, x)
    for j in range(1, m + 1):
        scaled = _times(total, -x)
        total = _plus(scaled, _times(_power_series(n, j, 1, x), np.float64(math.comb(m, j))))
    value = (total[0] + total[1]) * np.exp(-x) * (_over_gamma(n) * 2.0**-m)
    return value * _half_power(x, n - m)


def _by_angles(m: int, n: float, x: Doubles) -> Doubles:
    """1/π ∫ (cos t - 1)^m e^(x (cos t - 1)) cos nt dt from 0 to π (10.32.3).

    The other integral of (10.32.4), and the end at π, are smaller by e^-2x.
    """
    ends = _ENDS + 3 * m

    def integral(at: Doubles) -> Doubles:
        at = at[:, None]
        last = 2 * np.arcsin(np.sqrt(np.minimum(ends / 2 / at, 1)))
        count = math.ceil(np.max(last / _step(m, at)))
        t = last * (np.arange(count + 1) / count)
        y = 2 * (np.sqrt(at) * np.sin(t / 2)) ** 2
        values = y**m * np.exp(-y) * np.cos(n * t)
        values[:, [0, -1]] /= 2
        total: Doubles = np.sum(values, axis=1) * (last[:, 0] / count)
        return total

    value = _by_blocks(integral, x) / math.pi
    return (-1) ** m * value * x ** (-m / 2) * x ** (-m / 2) if m else value


# e^x K_n and its derivatives ----------------------------------------------------------------------


def kve_derivative(m: int, n: float, x: Doubles) -> Doubles:
    """Return the m-th derivative of e^x K_n(x); nan for x < 0."""
    n = abs(n)
    return _on_the_right(lambda at: _scaled_second(m, n, at), x, (-1.0) ** m * math.inf)


@contained
def _scaled_second(m: int, n: float, x: Doubles) -> Doubles:
    """Return the m-th derivative of e^x K_n(x) for x > 0."""
    from scipy import special

    with np.errstate(over="ignore", invalid="ignore"):
        value = np.empty_like(x)
        if n > _HIGHEST:
            far = x >= n * n / 2
            value[far] = _by_integral(m, n, x[far])
            value[~far] = _by_orders(m, n, x[~far], special.kve, -0.5, 1)
            return value
        tiny = x < (_TINY if n < 2 else _TINY_OF_HIGH)
        value[~tiny] = _by_integral(m, n, x[~tiny])
        if not np.any(tiny):
            return value
        at = x[tiny]
        if m:
            terms, half = np.zeros_like(at), (-0.5) ** m / 2
            for order in (n, -n) if n < 1 else (n,):
                root = _half_power(at, -(m + order) / 2)
                terms += root * (math.gamma(m + order) * half) * root
            value[tiny] = terms * (1 + at * (n - 1) / (n + m - 1 or 1))
        elif n:
            value[tiny] = _leading(n, at, 1.0, lambda: special.kve(n, at)) * (1 + at)
        else:
            value[tiny] = math.log(2) - np.euler_gamma - np.log(at)
    return value


def _by_integral(m: int, n: float, x: Doubles) -> Doubles:
    """(-1)^m ∫ (cosh t - 1)^m e^(-x (cosh t - 1)) cosh nt dt over t > 0 (10.32.9)."""
    size = m + n
    ends = _ENDS + size + math.sqrt(2 * _ENDS * size)

    def integral(at: Doubles) -> Doubles:
        at = at[:, None]
        last = 2 * np.arcsinh(np.sqrt(ends / 2 / at))
        count = math.ceil(np.max(last / _step(size, at)))
        t = last * (np.arange(count + 1) / count)
        y = 2 * (np.sqrt(at) * np.sinh(t / 2)) ** 2
        turned, rest = _product(t, np.float64(n))
        values = y**m * np.exp(-y) * np.cosh(turned) * (1 + rest)
        values[:, 0] /= 2
        total: Doubles = np.sum(values, axis=1) * (last[:, 0] / count)
        return total

    value = _by_blocks(integral, x)
    return (-1) ** m * value * x ** (-m / 2) * x ** (-m / 2) if m else value


def _by_orders(m: int, n: float, x: Doubles, scaled: _OfOrder, half: float, scale: int) -> Doubles:
    """Add neighbouring orders (10.29.5); the sum cancels beyond x = n."""
    total = np.zeros_like(x)
    for j in range(m + 1):
        for i in range(j + 1):
            c = math.comb(m, j) * math.comb(j, i) * float(scale) ** (m - j) * half**j
            total = total + c * scaled(n - j + 2 * i, x)
    return total


def _step(power: float, x: Doubles) -> Doubles:
    """Return a step of the trapezoidal rule with an error below 2^-53 of the integral.

    The error is e^(-2πd/h) for an integrand analytic in a strip of half width d, near π/2 for x <
    1.  For a peak of width w = 1/√x or 1/√power it is e^(-2 (πw/h)²).
    """
    return 0.2 / np.sqrt(1 + power / 16 + x / 8)


def _by_blocks(function: Callable[[Doubles], Doubles], x: Doubles) -> Doubles:
    """Apply ``function`` to blocks of numbers sorted by size, to bound the memory used."""
    order = np.argsort(x)
    value = np.empty_like(x)
    for k in range(0, x.size, _BLOCK):
        part = order[k : k + _BLOCK]
        value[part] = function(x[part])
    return value


# Power series in unevaluated sums of two numbers -------------------------------------------------


def _power_series(n: float, j: int, sign: int, x: Doubles) -> tuple[Doubles, Doubles]:
    """Σ_k (n + 2k) ... (n + 2k - j + 1) (sign x²/4)^k / (k! (n + 1) ... (n + k)).

    It uses Horner's rule, and keeps the rounding error of each product and sum.
    """
    half = x / 2
    exponent = max(math.ceil(math.log2(np.max(half, initial=1.0))), 0)
    half = half * 2.0**-exponent
    z, z_rest = _product(half, half)
    z, z_rest = sign * z, sign * z_rest
    highest, *lower = reversed(_coefficients(n, j, exponent))
    total, rest = np.full_like(x, highest[0]), np.full_like(x, highest[1])
    for c, c_rest in lower:
        product, error = _product(total, z)
        rest = rest * z + (error + total * z_rest) + c_rest
        total, error = _exact_sum(product, np.float64(c))
        rest = rest + error
    return total, rest


@cache
def _coefficients(n: float, j: int, exponent: int) -> list[tuple[float, float]]:
    """Return the coefficients of 4^-exponent z, as sums of two floats, up to negligible ones."""
    pairs: list[tuple[float, float]] = []
    with localcontext(prec=_DIGITS):
        largest = Decimal(0)
        for k, c in enumerate(_ratios(Decimal(n), j)):
            term = c * 4 ** (k * exponent)
            high = float(term)
            pairs.append((high, float(term - Decimal(high))))
            largest = max(largest, abs(term))
            if k > abs(n) + 4 and abs(term) < largest * Decimal(2) ** -116:
                return pairs
    raise AssertionError


def _ratios(n: Decimal, j: int) -> Iterator[Decimal]:
    """Return the coefficients of (x²/4)^k."""
    c, k = Decimal(1), 0
    while True:
        yield c * _falling(n + 2 * k, j)
        k += 1
        c /= k * (n + k)


def _falling(a: Decimal, j: int) -> Decimal:
    return math.prod((a - i for i in range(j)), start=Decimal(1))


def _product(a: Doubles, b: Reals) -> tuple[Doubles, Doubles]:
    """Return a product and its rounding error, from halves of the factors (Dekker 1971)."""
    product = a * b
    a_high, b_high = 134217729.0 * a, 134217729.0 * b
    a_high, b_high = a_high - (a_high - a), b_high - (b_high - b)
    a_low, b_low = a - a_high, b - b_high
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def _exact_sum(a: Doubles, b: Reals) -> tuple[Doubles, Doubles]:
    """Return a sum and its rounding error (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _times(a: tuple[Doubles, Doubles], b: Reals) -> tuple[Doubles, Doubles]:
    product, error = _product(a[0], b)
    return _exact_sum(product, error + a[1] * b)


def _plus(a: tuple[Doubles, Doubles], b: tuple[Doubles, Doubles]) -> tuple[Doubles, Doubles]:
    total, error = _exact_sum(a[0], b[0])
    return _exact_sum(total, error + a[1] + b[1])


# Functions of the order ---------------------------------------------------------------------------


@contained
def _half_power(x: Doubles, a: float) -> Doubles:
    """(x/2)^a, also for subnormal numbers, whose half is rounded."""
    with np.errstate(over="ignore", divide="ignore"):
        small = x < _SUBNORMAL_HALF
        power = np.where(small, 1, x / 2) ** a
        return np.where(small, x**a * 2.0**-a, power) if np.any(small) else power


def _sin_pi(n: float) -> float:
    nearest = round(n)
    sine = math.sin(math.pi * (n - nearest))
    return -sine if nearest % 2 else sine


def _cos_pi(n: float) -> float:
    """cos(nπ), exactly 0 halfway between integers."""
    nearest = round(n)
    cosine = math.sin(math.pi * (0.5 - abs(n - nearest)))
    return -cosine if nearest % 2 else cosine


@cache
def _over_gamma(n: float) -> float:
    """1/Γ(n + 1), rounded once: by Stirling's series (5.11.1) after steps up to 40."""
    with localcontext(prec=_DIGITS):
        z, product = Decimal(n) + 1, Decimal(1)
        while z < 40:
            product *= z
            z += 1
        if not product:
            return 0.0
        logarithm = (z - Decimal("0.5")) * z.ln() - z + _HALF_LOG_TWO_PI
        for k, (above, below) in enumerate(_BERNOULLI, 1):
            logarithm += Decimal(above) / below / (2 * k * (2 * k - 1)) / z ** (2 * k - 1)
        value = product * (-logarithm).exp()
    return float(value)


_HALF_LOG_TWO_PI = Decimal("0.918938533204672741780329736405617639861397473637783412817")
_BERNOULLI = (
    *((1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6), (-3617, 510)),
    *((43867, 798), (-174611, 330), (854513, 138)),
)
