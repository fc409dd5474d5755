"""One table of accuracy over the whole scalar vocabulary, and what misses its bound.

``python -m tests.accuracy`` runs every row at every point, with progress, and writes
docs/accuracy.md; with ``--native``, that of machine code alone, and its columns are written;
``python -m tests.accuracy NAME ...`` prints what these rows miss.

A row is a function, lowered with its derivatives, and the same function over truncated power
series of mpmath numbers (``Series``).  The oracle knows a value and a first derivative of each
function from the textbook and multiplies series for the rest: it contains neither this library's
formulas nor differences.  It computes with two precisions, which have to agree.

The bound, for f the derivative in question and u = 2**-53:

    |error| <= 8 u (|f| + sum |x_i d_i f|) + 2 smallest subnormals      (orders 3 and 4: 64 u)

Orders 1 and 2 of functions of the vocabulary also hold it without the sum, which grants the effect
of one rounding of each operand: ``|error| <= 8 u |f| + 2 smallest subnormals``, or are listed.

A result beyond the largest number has to be infinite with the right sign, or as large as the
largest number; no result has the wrong sign, and none is nan.
"""

from __future__ import annotations

import itertools
import math
import random
import sys
import warnings
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import product
from multiprocessing import Pool
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import mpmath as mp
import numpy as np

import numeric as nm
import symdiff as sd
from numeric.lowering.native.libraries import has_native
from symdiff.graph.algebra import primitive
from symdiff.scalars.formula import VOCABULARY
from tests.support.accuracy_misses import MISSES, STRICT, Miss
from tests.support.oracle_digits import key, stored
from tests.support.scalar_oracle import POLYNOMIALS, coefficients

U = mp.mpf(2) ** -53
SUBNORMAL = mp.mpf(2) ** -1074
LARGEST = sys.float_info.max
FACTORS = (8, 8, 8, 64, 64)
COUNT = 120

# Series -------------------------------------------------------------------------------------------


class Series:
    """A truncated power series; its coefficients are mpmath numbers or, for two variables, series.

    >>> (Series([2, 1, 0]) * Series([2, 1, 0])).c
    [4, 4, 1]
    """

    __slots__ = ("c",)

    def __init__(self, c: list[Any]) -> None:
        self.c = c

    def __add__(self, other: Any) -> Series:
        if not isinstance(other, Series):
            return Series([self.c[0] + other, *self.c[1:]])
        return Series([a + b for a, b in zip(self.c, other.c, strict=False)])

    def __mul__(self, other: Any) -> Series:
        if not isinstance(other, Series):
            return Series([a * other for a in self.c])
        n = min(len(self.c), len(other.c))
        return Series([sum(self.c[j] * other.c[k - j] for j in range(k + 1)) for k in range(n)])

    def __truediv__(self, other: Any) -> Series:
        if not isinstance(other, Series):
            return Series([a / other for a in self.c])
        found: list[Any] = []
        for k in range(min(len(self.c), len(other.c))):
            rest = sum(found[j] * other.c[k - j] for j in range(k))
            found.append((self.c[k] - rest) / other.c[0])
        return Series(found)

    def __neg__(self) -> Series:
        return Series([-a for a in self.c])

    def __sub__(self, other: Any) -> Series:
        return self + -other

    def __rsub__(self, other: Any) -> Series:
        return -self + other

    def __rtruediv__(self, other: Any) -> Series:
        return Series([self.c[0] * 0 + other, *(a * 0 for a in self.c[1:])]) / self

    __radd__, __rmul__ = __add__, __mul__


def at(x: Any) -> Any:
    """The number that a series starts with."""
    while isinstance(x, Series):
        x = x.c[0]
    return x


def known(value: Any, slope: Any) -> Any:
    """The function of ``value`` at numbers, whose first derivative is ``slope``, over series too.

    From f' = slope(z) z': the k-th coefficient is sum of j z_j slope_(k-j) over k.
    """

    def function(z: Any) -> Any:
        if not isinstance(z, Series):
            return value(z)
        c = [function(z.c[0])]
        if len(z.c) > 1:
            g = slope(Series(z.c[:-1]))
            g = g.c if isinstance(g, Series) else [g] + [z.c[0] * 0] * (len(z.c) - 2)
            c += [
                sum(z.c[j] * g[k - j] * j for j in range(1, k + 1)) / k for k in range(1, len(z.c))
            ]
        return Series(c)

    return function


def _erfc(x: Any) -> Any:
    """Far out by the first term of its expansion: mpmath counts the terms in floats there."""
    if abs(x) < 1e20:
        return mp.erfc(x)
    return mp.mpf(2) if x < 0 else mp.exp(-x * x) / (x * mp.sqrt(mp.pi))


def summed(first: Any, following: Any, least: int = 0) -> Any:
    """``first`` and more terms, ``following(term, k)`` the k-th, until they no longer count."""
    term = total = first
    k = 1
    while k < least or abs(at(term)) > mp.eps**2 * abs(at(total)):
        term = following(term, k)
        total = total + term
        k += 1
    return total


def erfcx(z: Any) -> Any:
    """Far out by its asymptotic series, whose terms fall there until they are below e^(-z²)."""
    if at(z) < 40:
        return exp(z * z) * erfc(z)
    first = 1 / (z * mp.sqrt(mp.pi))
    return summed(first, lambda term, k: term / (z * z) * (mp.mpf(1 - 2 * k) / 2))


def normal_density(z: Any) -> Any:
    return exp(-z * z / 2) / mp.sqrt(2 * mp.pi)


def log_ndtr(z: Any) -> Any:
    """From the side on which the tail is small."""
    if at(z) < 0:
        return log(erfcx(-z / mp.sqrt(2)) / 2) - z * z / 2
    return log1p_small(-erfc(z / mp.sqrt(2)) / 2)


exp = known(mp.exp, lambda z: exp(z))
log = known(mp.log, lambda z: 1 / z)
sin = known(mp.sin, lambda z: cos(z))
cos = known(mp.cos, lambda z: -sin(z))
sinpi = known(mp.sinpi, lambda z: cospi(z) * mp.pi)
cospi = known(mp.cospi, lambda z: -sinpi(z) * mp.pi)
sqrt = known(mp.sqrt, lambda z: 1 / (2 * sqrt(z)))
atan = known(mp.atan, lambda z: 1 / (1 + z * z))
asinh = known(mp.asinh, lambda z: 1 / sqrt(1 + z * z))
asin = known(mp.asin, lambda z: 1 / sqrt((1 - z) * (1 + z)))
acos = known(mp.acos, lambda z: -1 / sqrt((1 - z) * (1 + z)))
acosh = known(mp.acosh, lambda z: 1 / (sqrt(z - 1) * sqrt(z + 1)))
atanh = known(mp.atanh, lambda z: 1 / ((1 - z) * (1 + z)))
erf = known(mp.erf, lambda z: exp(-z * z) * 2 / mp.sqrt(mp.pi))
erfc = known(_erfc, lambda z: exp(-z * z) * -2 / mp.sqrt(mp.pi))
erfinv = known(mp.erfinv, lambda z: mp.sqrt(mp.pi) / 2 * exp(erfinv(z) * erfinv(z)))


@cache
def psi(n: int) -> Any:
    """The n-th derivative of digamma; n = -1 is log|gamma|."""
    value = (lambda x: mp.re(mp.loggamma(x))) if n < 0 else (lambda x: mp.psi(n, x))
    return known(value, lambda z: psi(n + 1)(z))


def _besselk(n: float, x: Any) -> Any:
    """The integral of exp(-x cosh t) cosh(n t) from 0 by the trapezoidal rule, unless x is small.

    Its relative error is exp(x - pi**2/h) (shift the path by i pi/2); mpmath is slow there.
    """
    if x < 1:
        return mp.besselk(n, x)
    goal = mp.mp.prec * mp.log(2) + 20
    h = mp.pi**2 / (goal + x)
    total, t = mp.exp(-x) / 2, h
    while x * (mp.cosh(t) - 1) < goal + n * t:
        total, t = total + mp.exp(-x * mp.cosh(t)) * mp.cosh(n * t), t + h
    return total * h


@cache
def bessel(kind: str, n: float) -> Any:
    """J, Y, I or K of order n."""
    if n < 0 and n == int(n):  # these are the functions of order |n|, up to the sign
        sign = (-1) ** n if kind in "jy" else 1
        return lambda z: bessel(kind, -n)(z) * sign
    function = _besselk if kind == "k" else getattr(mp, f"bessel{kind}")
    first = {"j": 1, "y": 1, "i": 1, "k": -1}[kind]
    second = {"j": -1, "y": -1, "i": 1, "k": -1}[kind]
    return known(
        lambda x: mp.re(function(n, x)),
        lambda z: (bessel(kind, n - 1)(z) * first + bessel(kind, n + 1)(z) * second) / 2,
    )


def scaled_bessel(kind: str, n: float) -> Any:
    """I and K times the exponential that takes theirs away; far out by 10.40.1 and 10.40.2."""
    sign = -1 if kind == "i" else 1

    def far(z: Any) -> Any:
        first = sqrt(mp.pi / (2 * z)) if kind == "k" else 1 / sqrt(z * (2 * mp.pi))
        ratio = lambda k: (4 * mp.mpf(n) ** 2 - (2 * k - 1) ** 2) / (8 * k) * sign  # noqa: E731
        return summed(first, lambda term, k: term / z * ratio(k))

    def function(z: Any) -> Any:
        if at(z) < 0:
            return function(-z) * (-1) ** int(n)
        # The terms fall until k is 2x, by e^-2x in all, which is 0.86 digits for each unit of x.
        if at(z) > 5 * mp.mp.dps + n * n:
            return far(z)
        return bessel(kind, n)(z) * exp(z * sign)

    return function


gamma = known(mp.gamma, lambda z: gamma(z) * psi(0)(z))


def rgamma(z: Any) -> Any:
    """Left of 1/2 by reflection, so that nothing is infinite."""
    return 1 / gamma(z) if at(z) > 0.5 else gamma(1 - z) * sinpi(z) / mp.pi


def sigmoid(z: Any) -> Any:
    return 1 / (1 + exp(-z))


def tanh(z: Any) -> Any:
    """From the side on which the exponential is small."""
    if at(z) < 0:
        return -tanh(-z)
    e = exp(-2 * z)
    return (1 - e) / (1 + e)


def power(z: Any, y: Any) -> Any:
    """A constant power, of negative numbers too where the exponent says which."""
    p = mp.mpf(y.numerator) / y.denominator if hasattr(y, "numerator") else y
    if p == int(p):
        result = 1
        for _ in range(abs(int(p))):
            result = result * z
        return 1 / result if p < 0 else result
    return exp(log(z) * p)


def cbrt(z: Any) -> Any:
    return -cbrt(-z) if at(z) < 0 else exp(log(z) / 3)


def softplus(z: Any) -> Any:
    return log1p_small(exp(z)) if at(z) < 0 else z + log1p_small(exp(-z))


log1p_small = known(mp.log1p, lambda z: 1 / (1 + z))


def hypot(a: Any, b: Any) -> Any:
    return sqrt(a * a + b * b)


def atan2(y: Any, x: Any) -> Any:
    """The angle by the quadrant; every one of them differs from an arctangent by a constant."""
    turned = -atan(x / y) if abs(at(y)) > abs(at(x)) else atan(y / x)
    return turned + (mp.atan2(at(y), at(x)) - at(turned))


def sinc(z: Any) -> Any:
    """By its series near 0."""
    t = z * mp.pi
    if abs(at(t)) > 1:
        return sinpi(z) / t
    return summed(t * 0 + 1, lambda term, k: term * t * t * mp.mpf(-1) / (2 * k * (2 * k + 1)), 6)


def sinhc(z: Any) -> Any:
    """Of sinh(z)/z the series near 0, as of ``sinc``."""
    if abs(at(z)) > 1:
        return (exp(z) - exp(-z)) / z / 2
    return summed(z * 0 + 1, lambda term, k: term * z * z / (2 * k * (2 * k + 1)), 6)


@cache
def bose_derivative(n: int) -> Any:
    """The n-th derivative of 1/(e^x - 1): of b it is -(b + b^2), by the quotient rule."""
    if n == 0:
        return lambda z: 1 / (exp(z) - 1)
    polynomial = [0, 1]  # coefficients of powers of b
    for _ in range(n):
        slope = [k * c for k, c in enumerate(polynomial)]
        polynomial = [-(a + b) for a, b in zip([*slope, 0], [0, *slope], strict=True)]

    def function(z: Any) -> Any:
        b = 1 / (exp(z) - 1)
        power, total = b, b * polynomial[1]
        for c in polynomial[2:]:
            power = power * b
            total = total + power * c
        return total

    return function


def planar(angle: bool, n: int, m: int) -> Any:
    """Derivatives of the angle and of the length, written out."""
    r2 = lambda a, b: a * a + b * b  # noqa: E731
    if angle:
        if (n, m) == (1, 0):
            return lambda y, x: x / r2(y, x)
        return lambda y, x: (6 * x * x * y - 2 * y * y * y) / (r2(y, x) * r2(y, x) * r2(y, x))
    if (n, m) == (1, 0):
        return hypot_slope
    return lambda a, b: (2 * a * a * b - b * b * b) / (r2(a, b) * r2(a, b) * hypot(a, b))


def hypot_slope(a: Any, b: Any) -> Any:
    return a / hypot(a, b)


def differentiated(function: Any, n: int) -> Any:
    """The n-th derivative, read off a series of the function around the number."""

    def value(x: Any) -> Any:
        return function(Series([x, mp.mpf(1), *[mp.mpf(0)] * (n - 1)])).c[n] * mp.factorial(n)

    return known(value, lambda z: differentiated(function, n + 1)(z))


def gamma_density(a: Any) -> Any:
    return lambda z: exp(log(z) * (a - 1) - z) * mp.rgamma(a)


def beta_density(p: Any, q: Any, c: Any) -> Any:
    return lambda z: exp(log(z) * p + log(1 - z) * q - c)


def gammainc(a: Any) -> Any:
    return known(lambda x: mp.gammainc(a, 0, x, regularized=True), gamma_density(mp.mpf(a)))


def gammaincc(a: Any) -> Any:
    return known(
        lambda x: mp.gammainc(a, x, mp.inf, regularized=True),
        lambda z: -gamma_density(mp.mpf(a))(z),
    )


def betainc(a: Any, b: Any) -> Any:
    slope = beta_density(mp.mpf(a) - 1, mp.mpf(b) - 1, mp.log(mp.beta(a, b)))
    return known(lambda x: mp.betainc(a, b, 0, x, regularized=True), slope)


def _erfcinv(x: Any) -> Any:
    with mp.extraprec(10 + abs(mp.mag(x))):
        return +mp.erfinv(1 - x)


def erfcinv_slope(z: Any) -> Any:
    return -mp.sqrt(mp.pi) / 2 * exp(erfcinv(z) * erfcinv(z))


erfcinv = known(_erfcinv, erfcinv_slope)
ndtr = known(lambda x: _erfc(-x / mp.sqrt(2)) / 2, normal_density)
ndtri = known(lambda p: _erfcinv(2 * p) * -mp.sqrt(2), lambda z: 1 / normal_density(ndtri(z)))


@cache
def _complete(sign: int, x: Any, prec: int) -> Any:
    return mp.ellipk(x) if sign > 0 else mp.ellipe(x)


def elliptic(sign: int) -> Any:
    """K for sign 1, E for sign -1: near 0 the power series, else by E' and K' of the textbook."""

    def near(z: Any) -> Any:
        ratio = lambda k: mp.mpf(2 * k - 1) * (2 * k - 2 + sign) / (2 * k) ** 2  # noqa: E731
        return summed(z * 0 + mp.pi / 2, lambda term, k: term * z * ratio(k), 9)

    def slope(z: Any) -> Any:
        if sign < 0:
            return (elliptic(-1)(z) - elliptic(1)(z)) / (2 * z)
        return (elliptic(-1)(z) - (1 - z) * elliptic(1)(z)) / (2 * z * (1 - z))

    far = known(lambda x: _complete(sign, x, mp.mp.prec), slope)
    return lambda z: near(z) if abs(at(z)) < 0.1 else far(z)


def polynomial(name: str, n: int, alpha: Any = 0) -> Any:
    """By its explicit coefficients and Horner's rule, with digits for what cancels."""

    def value(z: Any) -> Any:
        *lower, highest = coefficients(name, n, alpha)
        total = z * 0 + mp.mpf(highest.numerator) / highest.denominator
        for c in reversed(lower):
            total = total * z + mp.mpf(c.numerator) / c.denominator
        return total

    return value


@cache
def lambertw(branch: int) -> Any:
    """The inverse of w e^w, whose derivative is the reciprocal of (1 + w) e^w."""
    return known(
        lambda x: mp.re(mp.lambertw(x, branch)), lambda z: 1 / (z + exp(lambertw(branch)(z)))
    )


@cache
def _zeta(m: int, q: float) -> Any:
    """The m-th derivative of ζ(s, q) by s, in mpmath's own words."""
    return known(lambda s: mp.zeta(s, q, m), lambda z: _zeta(m + 1, q)(z))


def hurwitz(q: float) -> Any:
    """Far out by its first three terms."""

    def value(z: Any) -> Any:
        if at(z) < 1000 * (1 + q):
            return _zeta(0, q)(z)
        return sum((exp(-(z * mp.log(q + k))) for k in range(1, 3)), exp(-(z * mp.log(q))))

    return value


def riemann(z: Any) -> Any:
    """Of negative numbers by reflection, DLMF 25.4.1."""
    if at(z) > -1:
        return hurwitz(1)(z)
    scale = exp(z * mp.log(2 * mp.pi)) / mp.pi
    return scale * sinpi(z / 2) * gamma(1 - z) * hurwitz(1)(1 - z)


def hurwitz_by_q(s: float, m: int = 0) -> Any:
    """The m-th derivative by s as a function of q, whose slope is that of -s ζ(s + 1, q)."""

    def slope(z: Any) -> Any:
        found = hurwitz_by_q(s + 1, m)(z) * -s
        return found - hurwitz_by_q(s + 1, m - 1)(z) * m if m else found

    return known(lambda q: mp.zeta(s, q, m), slope)


@cache
def expn(n: int) -> Any:
    """Of orders below 1 by their closed forms; DLMF 8.19.3 and 8.19.12."""
    if n == 0:
        return lambda z: exp(-z) / z
    if n < 0:
        return lambda z: (exp(-z) + expn(n + 1)(z) * -n) / z
    return known(lambda x: mp.re(mp.expint(n, x)), lambda z: -expn(n - 1)(z))


def dawsn(z: Any) -> Any:
    """Far out by its asymptotic series, as ``erfcx``."""
    if abs(at(z)) < 40:
        return _dawsn(z)
    return summed(1 / (2 * z), lambda term, k: term / (z * z) * (mp.mpf(2 * k - 1) / 2))


_dawsn = known(
    lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x), lambda z: 1 - z * _dawsn(z) * 2
)


def expi_slope(z: Any) -> Any:
    return exp(z) / z


def coshc(z: Any) -> Any:
    """cosh(z)/z."""
    return (exp(z) + exp(-z)) / z / 2


def chirp(wave: Any) -> Any:
    """A wave whose frequency grows with the argument: the slope of Fresnel's integrals."""
    return lambda z: wave(z * z * (mp.pi / 2))


# Points -------------------------------------------------------------------------------------------

_MAGNITUDES = (
    *(5e-324, 1e-310, 2.2250738585072014e-308, 1e-300, 1e-200, 1e-162, 1e-160, 1.5e-154),
    *(1e-108, 1e-80),
    *(1e-52, 1e-20, 1.1e-16, 1.1e-8, 1e-5, 1e-3, 0.03, 0.2, 0.5, 0.7, 0.9, 1.5, 2.0, 3.0, 5.0, 7.5),
    *(10.0, 15.0, 20.0, 37.0, 40.0, 100.0, 237.0, 300.0, 355.0, 500.0, 700.0, 709.7, 710.0, 745.1),
    *(800.0, 1e5, 1e16, 1e52, 1e77, 1e102, 1.3e154, 1e160, 1e200, 1e300, LARGEST),
)
_OFFSETS = tuple(2.0**-k for k in (52, 50, 46, 40, 33, 26, 20, 14, 10, 7))


def _near(place: float) -> list[float]:
    sides = [place + sign * h * max(abs(place), 1) for h in _OFFSETS for sign in (1, -1)]
    return [math.nextafter(place, math.inf), math.nextafter(place, -math.inf), *sides]


def points(seed: str, inside: Any, near: tuple[float, ...], low: float, high: float) -> list[Any]:
    """120 numbers of the domain: magnitudes of every kind, neighbours of poles, random ones."""
    found = [s * x for x in _MAGNITUDES for s in (1.0, -1.0)]
    found = [x for place in near for x in _near(place)] + found
    kept = dict.fromkeys((x,) for x in found if low <= x <= high and inside(x))
    draw = random.Random(seed)
    while len(kept) < COUNT:
        x = draw.choice((1.0, -1.0)) * 2.0 ** draw.uniform(-12, 11)
        if low < -1e3 or high > 1e3:
            x *= draw.choice((1.0, 1.0, 2.0 ** draw.uniform(-1050, 1000)))
        else:
            x = draw.choice((x, draw.uniform(low, high)))
        if low <= x <= high and inside(x):
            kept[(x,)] = None
    return list(kept)


def pairs(seed: str, inside: Any, low: float, high: float) -> list[Any]:
    """120 pairs: extreme, equal, nearly equal, and far apart ones."""
    kept: dict[tuple[float, float], None] = {}
    draw = random.Random(seed)
    moderate = [x for x in _MAGNITUDES if 1e-3 <= x <= 800]
    while len(kept) < COUNT:
        a = draw.choice((1.0, -1.0)) * draw.choice(draw.choice((_MAGNITUDES, moderate)))
        b = draw.choice((1.0, -1.0)) * draw.choice(draw.choice((_MAGNITUDES, moderate)))
        pair = draw.choice(
            ((a, b), (a, b), (a, b), (a, a * (1 + 2.0 ** -draw.randrange(1, 52))), (a, 2 * a))
        )
        if all(low <= x <= high for x in pair) and inside(*pair):
            kept[pair] = None
    return list(kept)


# Rows ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """A function of one or two symbols, and the same over series."""

    name: str
    ours: Any
    exact: Any
    kind: str = "elementary"  # or special, composite, stepwise
    arity: int = 1
    inside: Any = field(default=lambda *_: True, repr=False)
    near: tuple[float, ...] = ()
    low: float = -LARGEST
    high: float = LARGEST
    digits: int = 700
    limits: Any = field(default_factory=dict, repr=False)  # of the orders, where series end

    def at(self) -> list[tuple[float, ...]]:
        """The points."""
        if self.arity == 1:
            found = points(self.name, self.inside, self.near, self.low, self.high)
        else:
            found = pairs(self.name, self.inside, self.low, self.high)
        return [*self.limits, *found]

    @property
    def highest(self) -> int:
        """The highest order that the whole table judges; special oracles are slow, limits few."""
        return 2 if self.kind == "special" or self.limits else 4

    def orders(self, highest: int) -> list[tuple[int, ...]]:
        """All mixed orders up to ``highest``."""
        every = product(range(highest + 1), repeat=self.arity)
        return sorted((n for n in every if sum(n) <= highest), key=lambda n: (sum(n), n))


def named(name: str, exact: Any, kind: str = "elementary", **more: Any) -> Row:
    """The row of a function of the vocabulary."""
    return Row(name, lambda *xs: primitive(name, *xs), exact, kind, **more)


def special(name: str, parameters: tuple[Any, ...], exact: Any, **more: Any) -> Row:
    """The row of a special function with constant parameters, the last operand varying."""
    title = f"{name}({', '.join(map(str, parameters))})" if parameters else name
    ours = lambda x: primitive(name, *map(sd.constant, parameters), x)  # noqa: E731
    return Row(title, ours, exact, "special", digits=more.pop("digits", 60), **more)


INTEGERS = (0.0, -1.0, -2.0, -3.0)


def no_pole(x: float) -> bool:
    return x > 0 or x != math.floor(x)


HALF_PI = math.pi / 2
POSITIVE: dict[str, Any] = {"low": 5e-324}
NOT_NEGATIVE: dict[str, Any] = {"low": 0.0}

LINE: dict[str, Any] = {"low": -1e30, "high": 1e30}
WIDE: dict[str, Any] = {"inside": lambda x: x != 0, "low": -1e5, "high": 1e5}
INSIDE_UNIT: dict[str, Any] = {"inside": lambda x: 0 < x < 1, "low": 5e-324, "high": 1.0}
OF_TWO: dict[str, Any] = {"arity": 2, "low": 1e-200, "high": 1e4, "digits": 260}
BRANCH_POINT = math.nextafter(-math.exp(-1), 0)  # the first number above -1/e

ELEMENTARY = (
    named("exp", exp, near=(709.78,)),
    named("expm1", lambda z: exp(z) - 1),
    named("exp2", lambda z: exp(z * mp.log(2)), near=(1024.0, -1074.0)),
    named("log", log, near=(1.0,), **POSITIVE),
    named("log1p", lambda z: log(1 + z), near=(-1.0,), inside=lambda x: x > -1),
    named("log1mexp", lambda z: log(1 - exp(-z)), near=(math.log(2),), **POSITIVE),
    named("log2", lambda z: log(z) / mp.log(2), near=(1.0,), **POSITIVE),
    named("log10", lambda z: log(z) / mp.log(10), near=(1.0,), **POSITIVE),
    named("sigmoid", sigmoid),
    named("softplus", softplus),
    named("log_sigmoid", lambda z: -softplus(-z)),
    named(
        "logaddexp",
        lambda a, b: a + softplus(b - a) if at(a) > at(b) else b + softplus(a - b),
        arity=2,
    ),
    named("exp_share", lambda a, b: sigmoid(a - b), arity=2),
    named("difference", lambda a, b: a - b, arity=2),
    named("xlogy", lambda x, y: x * log(y), arity=2, inside=lambda x, y: y > 0),
    named("xlog1py", lambda x, y: x * log(1 + y), arity=2, inside=lambda x, y: y > -1),
    named("entr", lambda z: -z * log(z), near=(math.exp(-1),), **POSITIVE),
    named("log_ratio", lambda x, y: log(x) - log(y), arity=2, **POSITIVE),
    named("relative_difference", lambda x, y: x / y - 1, arity=2, **POSITIVE),
    named("rel_entr", lambda x, y: x * (log(x) - log(y)), arity=2, **POSITIVE),
    named("kl_div", lambda x, y: x * (log(x) - log(y)) - x + y, arity=2, **POSITIVE),
    named("power", lambda x, y: exp(y * log(x)), arity=2, inside=lambda x, y: x > 0),
    named("cbrt", cbrt),
    named("norm_sqrt", sqrt, **POSITIVE),
    named("hypot", hypot, arity=2),
    named("cosine", lambda a, b: a / hypot(a, b), arity=2),
    named("hypot1", lambda z: sqrt(1 + z * z)),
    named("sin", sin, near=(math.pi, 2 * math.pi)),
    named("cos", cos, near=(HALF_PI, 3 * HALF_PI)),
    named("tan", lambda z: sin(z) / cos(z), near=(HALF_PI, -HALF_PI, math.pi, 3 * HALF_PI)),
    named("asin", asin, near=(1.0, -1.0), inside=lambda x: abs(x) < 1, low=-1.0, high=1.0),
    named("acos", acos, near=(1.0, -1.0), inside=lambda x: abs(x) < 1, low=-1.0, high=1.0),
    named("atan", atan),
    named("atan2", atan2, arity=2),
    named("sinh", lambda z: (exp(z) - exp(-z)) / 2),
    named("cosh", lambda z: (exp(z) + exp(-z)) / 2),
    named("tanh", tanh),
    named("sech", lambda z: 2 / (exp(z) + exp(-z))),
    named("sech2", lambda z: 4 / (exp(z) + exp(-z)) / (exp(z) + exp(-z))),
    named("asinh", asinh),
    named("acosh", acosh, near=(1.0,), inside=lambda x: x > 1),
    *(
        named(name, slope, near=(1.0, -1.0), inside=lambda x: abs(x) < 1, low=-1.0, high=1.0)
        for name, slope in (
            ("asin_slope", lambda z: 1 / sqrt((1 - z) * (1 + z))),
            ("atanh_slope", lambda z: 1 / ((1 - z) * (1 + z))),
        )
    ),
    named(
        "acosh_slope",
        lambda z: 1 / (sqrt(z - 1) * sqrt(z + 1)),
        near=(1.0,),
        inside=lambda x: x > 1,
    ),
    named("atanh", atanh, near=(1.0, -1.0), inside=lambda x: abs(x) < 1, low=-1.0, high=1.0),
    *(
        Row(
            f"bose({n})",
            lambda x, n=n: primitive("bose", sd.constant(n), x),
            bose_derivative(n),
            inside=lambda x: x != 0,
        )
        for n in (0, 1, 4)
    ),
    *(
        Row(
            f"{name}({n}, {m})",
            lambda a, b, k=name, n=n, m=m: primitive(k, sd.constant(n), sd.constant(m), a, b),
            planar(angle, n, m),
            arity=2,
        )
        for name, angle in (("hypot_derivative", False), ("atan2_derivative", True))
        for n, m in ((1, 0), (2, 1))
    ),
    Row("x*y", lambda x, y: x * y, lambda x, y: x * y, arity=2),
    Row("x/y", lambda x, y: x / y, lambda x, y: x / y, arity=2),
    *(
        Row(f"x**{p}", lambda x, p=p: x**p, lambda x, p=p: power(x, p))
        for p in (2, 3, 4, 5, 9, -1, -2, -3, -4, -7)
    ),
    *(
        Row(f"x**{p}", lambda x, p=p: x**p, lambda x, p=p: power(x, mp.mpf(p)), **POSITIVE)
        for p in (0.5, -0.5, 1.5, -1.5, 2.5, 1.3, -2.7)
    ),
)

STEPWISE = (
    named("abs", lambda z: -z if at(z) < 0 else z, "stepwise"),
    named(
        "maximum",
        lambda a, b: a if at(a) > at(b) else b,
        "stepwise",
        arity=2,
        inside=lambda a, b: a != b,
    ),
    named(
        "minimum",
        lambda a, b: b if at(a) > at(b) else a,
        "stepwise",
        arity=2,
        inside=lambda a, b: a != b,
    ),
    named(
        "mod",
        lambda a, b: a - b * mp.floor(at(a) / at(b)),
        "stepwise",
        arity=2,
        inside=lambda a, b: a % b != 0,
        digits=1500,
    ),
)


def with_derivatives(
    name: str, exact: Any, orders: tuple[int, ...], near: Any = (), **more: Any
) -> list[Row]:
    """The row of a function, and those of the functions that are its derivatives.

    ``near`` are places for all of them, or by order.
    """
    places = near if isinstance(near, dict) else dict.fromkeys((0, *orders), near)
    return [
        special(name, (), exact, near=places.get(0, ()), **more),
        *(
            special(
                f"{name}_derivative",
                (n,),
                differentiated(exact, n),
                near=places.get(n, ()),
                **more,
            )
            for n in orders
        ),
    ]


SPECIAL = (
    special("erf", (), erf),
    special("erfc", (), erfc),
    *with_derivatives("erfcx", erfcx, (1, 3), near=(0.0, -26.6)),
    special(
        "erfinv", (), erfinv, near=(1.0, -1.0), inside=lambda x: abs(x) < 1, low=-1.0, high=1.0
    ),
    *(
        special(name, (), of, near=(2.0, 1.0), inside=lambda x: 0 < x < 2, low=0.0, high=2.0)
        for name, of in (("erfcinv", erfcinv), ("erfcinv_slope", erfcinv_slope))
    ),
    special("ndtr", (), ndtr, near=(0.0, 37.5, -37.5, -38.6)),
    *(
        special("normal_density", (n,), differentiated(normal_density, n), near=(0.0, 37.5, -38.6))
        for n in (0, 3)
    ),
    *with_derivatives(
        "log_ndtr",
        log_ndtr,
        (1, 3),
        near={0: (0.0, 37.5, -37.5), 1: (0.0, 38.5, -44.0), 3: (0.0, 38.5, -44.0)},
    ),
    special("ndtri", (), ndtri, near=(1.0, 0.5), inside=lambda x: 0 < x < 1, low=0.0, high=1.0),
    *(
        special("expn", (n,), expn(n), near=(1.0, 716.0), low=5e-324, high=1e5)
        for n in (1, 2, 5, 0, -2)
    ),
    special("expi", (), known(mp.ei, expi_slope), near=(0.37250741078136663, 40.0, 715.0), **WIDE),
    special("expi_derivative", (1,), expi_slope, near=(1.0, 715.0), **WIDE),
    special(
        "expi_derivative",
        (4,),
        differentiated(expi_slope, 3),
        near=(9.0, 720.0),
        digits=400,
        **WIDE,
    ),
    special("sine_integral", (), known(mp.si, lambda z: sinc(z / mp.pi)), **LINE),
    special(
        "cosine_integral",
        (),
        known(mp.ci, lambda z: cos(z) / z),
        near=(0.6165054856207162,),
        low=5e-324,
        high=1e30,
    ),
    *(
        special(
            "cosine_integral_derivative",
            (n,),
            differentiated(lambda z: cos(z) / z, n - 1),
            near=(3.0,),
            low=5e-324,
            high=1e30,
            digits=400,
        )
        for n in (1, 4)
    ),
    *(
        row
        for name, value, slope, low in (
            ("sinh_integral", mp.shi, sinhc, -1e5),
            ("cosh_integral", lambda x: mp.re(mp.chi(x)), coshc, 5e-324),
        )
        for row in (
            special(
                name,
                (),
                known(value, slope),
                near=(0.5238225713898644, 716.0),
                digits=400,
                **(WIDE | {"low": low}),
            ),
            *(
                special(
                    f"{name}_derivative",
                    (n,),
                    differentiated(slope, n - 1),
                    near=(1.0, 9.0, 716.0),
                    digits=400,
                    **(WIDE | {"low": low}),
                )
                for n in (1, 4)
            ),
        )
    ),
    special("fresnel_sine", (), known(mp.fresnels, chirp(sin)), near=(36974.0,), **LINE),
    special("chirp_sine", (), chirp(sin), near=(1.0, 1e3, 1e9), **LINE),
    special("fresnel_cosine", (), known(mp.fresnelc, chirp(cos)), near=(36974.0,), **LINE),
    special("chirp_cosine", (), chirp(cos), near=(1.0, 1e3, 1e9), **LINE),
    *with_derivatives(
        "dawsn",
        dawsn,
        (1, 4),
        near={
            0: (0.0, 0.9241388730045918, 12.0),
            1: (0.0, 0.9241388730045918),
            4: (0.0, 0.9241388730045918),
        },
    ),
    special("gamma", (), gamma, near=(*INTEGERS, 171.6), inside=no_pole, low=-180.0, high=200.0),
    special("rgamma", (), rgamma, near=(*INTEGERS, 171.6), low=-180.0, high=200.0),
    *(
        special(
            "rgamma_derivative",
            (n,),
            differentiated(rgamma, n),
            near=(*INTEGERS, 171.6),
            low=-175.0,
            high=200.0,
        )
        for n in (1, 3)
    ),
    special("gammaln", (), psi(-1), near=(*INTEGERS, 1.0, 2.0), inside=no_pole, low=-180.0),
    special(
        "digamma", (), psi(0), near=(*INTEGERS, 1.4616321449683622), inside=no_pole, low=-180.0
    ),
    *(
        special("polygamma", (n,), psi(n), near=INTEGERS, inside=no_pole, low=-180.0, high=1e8)
        for n in (1, 2, 3, 171)
    ),
    *(
        row
        for a in (0.5, 1, 2.5, 40)
        for row in (
            special("gammainc", (a,), gammainc(a), low=5e-324, high=1e4),
            special("gammaincc", (a,), gammaincc(a), low=5e-324, high=1e4),
            special("gamma_density", (a,), gamma_density(a), low=5e-324),
        )
    ),
    *(
        special("betainc", (a, b), betainc(a, b), near=(1.0,), **INSIDE_UNIT)
        for a, b in ((0.5, 0.5), (2, 3), (7.5, 1.5))
    ),
    special(
        "beta_density",
        (-0.5, 1.5, 2),
        beta_density(-0.5, 1.5, 2),
        near=(1.0,),
        **INSIDE_UNIT,
    ),
    named(
        "beta",
        lambda a, b: (1 / a + 1 / b) * (gamma(a + 1) * gamma(b + 1) / gamma(a + b + 1)),
        "special",
        **(OF_TWO | {"digits": 450}),
    ),
    named("poch", lambda z, m: gamma(z + m) / gamma(z), "special", **OF_TWO),
    named(
        "binom",
        lambda n, k: gamma(n + 1) / (gamma(k + 1) * gamma(n - k + 1)),
        "special",
        inside=lambda n, k: k < n,
        **OF_TWO,
    ),
    named(
        "betaln",
        lambda a, b: psi(-1)(a) + psi(-1)(b) - psi(-1)(a + b),
        "special",
        **(OF_TWO | {"high": 1e8}),
    ),
    *(
        row
        for n in (0, 1, 3)
        for row in (
            special("jv", (n,), bessel("j", n), near=(2.404825557695773,), high=1e5, low=-1e5),
            special("yv", (n,), bessel("y", n), near=(0.8935769662791675,), low=5e-324, high=1e5),
            special("iv", (n,), bessel("i", n), high=1e5, low=-1e5),
            special("kv", (n,), bessel("k", n), low=5e-324, high=1e5),
        )
    ),
    *(
        special(name, (n,), polynomial(name, n), near=(0.5, 1.0, -1.0))
        for name in POLYNOMIALS
        for n in (2, 7, 50)
    ),
    *(
        special(name, (n, a), polynomial(name, n, a), near=(0.5, 1.0, -1.0))
        for name in ("eval_gegenbauer", "eval_genlaguerre")
        for n, a in ((7, 2.5), (6, 0.3), (50, 0.3))
    ),
    *(
        row
        for name, of, domain in (
            ("ellipk", elliptic(1), {"inside": lambda x: x < 1, "high": 1.0}),
            ("ellipe", elliptic(-1), {"inside": lambda x: x < 1, "high": 1.0}),
            ("ellipkm1", lambda z: elliptic(1)(1 - z), {"low": 5e-324, "digits": 700}),
        )
        for row in with_derivatives(
            name, of, (1, 3), near={0: (1.0, 0.5), 1: (1.0,), 3: (1.0,)}, **domain
        )
    ),
    *(
        row
        for name, branch, high in (("lambertw", 0, LARGEST), ("lambertwm1", -1, -5e-324))
        for row in with_derivatives(
            name, lambertw(branch), (1, 3), (BRANCH_POINT, -0.25), low=BRANCH_POINT, high=high
        )
    ),
    *with_derivatives(
        "zeta",
        riemann,
        (1, 3),
        near={
            0: (1.0, 0.0, -2.0, -100.0, -260.0),
            1: (1.0, -2.7172628292045743),
            3: (1.0, -2.7172628292045743),
        },
        inside=lambda x: x != 1,
        low=-1e52,
    ),
    *(
        Row(
            title.format(q),
            ours,
            of,
            "special",
            low=1.0,
            high=1e52,
            near=(1.0,),
            inside=lambda s: s > 1,
            digits=60,
        )
        for q in (0.3, 1.0, 50.25)
        for title, ours, of in (
            ("hurwitz_zeta(s, {})", lambda s, q=q: sd.zeta(s, q), hurwitz(q)),
            (
                "hurwitz_zeta_derivative(1, s, {})",
                lambda s, q=q: primitive(
                    "hurwitz_zeta_derivative", sd.constant(1), s, sd.constant(q)
                ),
                differentiated(hurwitz(q), 1),
            ),
        )
    ),
    *(
        row
        for s in (1.25, 2.0, 40.5)
        for row in (
            special("hurwitz_zeta", (s,), hurwitz_by_q(s), near=(1.0,), low=5e-324),
            special("hurwitz_zeta_derivative", (1, s), hurwitz_by_q(s, 1), near=(1.0,), low=5e-324),
        )
    ),
    *(
        row
        for n in (0.5, -1.25)
        for row in (
            special("jv", (n,), bessel("j", n), near=(2.404825557695773,), low=5e-324, high=1e5),
            special("yv", (-n,), bessel("y", -n), near=(0.8935769662791675,), low=5e-324, high=1e5),
            special("iv", (n,), bessel("i", n), low=5e-324, high=1e5),
            special("kv", (n,), bessel("k", n), low=5e-324, high=1e5),
        )
    ),
    *(
        row
        for n in (0, 1, 4, 0.5, -1.25)
        for row in (
            special(
                "ive",
                (n,),
                scaled_bessel("i", n),
                near=(20.0,),
                inside=lambda x: x != 0,
                low=-LARGEST if n == int(n) else 5e-324,
            ),
            special("kve", (n,), scaled_bessel("k", n), low=5e-324),
        )
    ),
    *(
        special(
            f"{name}_derivative",
            (m, n),
            differentiated(scaled_bessel(name[0], n), m),
            low=5e-324,
            near=(20.0 + 2 * m,) if name == "ive" else (),
        )
        for m, n in ((1, 0), (3, 2), (2, 0.5))
        for name in ("ive", "kve")
    ),
    named("sinc", sinc, "special", near=(1.0, 2.0), low=-1e16, high=1e16),
    *(
        special("sinc_derivative", (n,), differentiated(sinc, n), low=-1e16, high=1e16)
        for n in (1, 4)
    ),
)

# Compositions whose parts do not cancel as typed.
COMPOSITE = (
    Row("1/cosh(x)", lambda x: 1 / sd.cosh(x), lambda z: 2 / (exp(z) + exp(-z)), "composite"),
    Row("1/(1 + exp(-x))", lambda x: 1 / (1 + sd.exp(-x)), sigmoid, "composite"),
    Row("x/(1 + x**2)", lambda x: x / (1 + x**2), lambda z: z / (1 + z * z), "composite"),
    Row("1/(1 + x**2)", lambda x: 1 / (1 + x**2), lambda z: 1 / (1 + z * z), "composite"),
    Row(
        "x**3/expm1(x)",
        lambda x: x**3 / sd.expm1(x),
        lambda z: z * z * z / (exp(z) - 1),
        "composite",
        inside=lambda x: x != 0,
    ),
    Row("x*10**400", lambda x: x * 10**400, lambda z: z * mp.mpf(10) ** 400, "composite"),
    Row("x/10**400", lambda x: x / 10**400, lambda z: z / mp.mpf(10) ** 400, "composite"),
    *(
        Row(
            f'parse("{text}")',
            lambda x, t=text: sd.parse(t),
            lambda z, c=factor: z * c,
            "composite",
        )
        for text, factor in (
            ("x*1e400", mp.mpf(10) ** 400),
            ("-1e-400*x", -(mp.mpf(10) ** -400)),
            ("x/1e-400", mp.mpf(10) ** 400),
            ("x*7e-315/3e5", mp.mpf(7e-315) / 300000),
            ("x*1e200*1e200", mp.mpf(1e200) ** 2),
            ("x*1e-200*1e-200", mp.mpf(1e-200) ** 2),
        )
    ),
    *(
        Row(
            f"{text}xlogy(x, x)",
            lambda x, s=sign: s * sd.xlogy(x, x),
            lambda z, s=sign: z * log(z) * s,
            "composite",
            limits={(0.0,): (0, -mp.inf * sign, mp.inf * sign)},
            **POSITIVE,
        )
        for sign, text in ((1, ""), (-1, "-"))
    ),
)

ROWS = {one.name: one for one in (*ELEMENTARY, *STEPWISE, *SPECIAL, *COMPOSITE)}
assert len(ROWS) == len(ELEMENTARY) + len(STEPWISE) + len(SPECIAL) + len(COMPOSITE)

WITHOUT_ROW = {
    **dict.fromkeys(("less", "less_equal", "equal", "not_equal"), "a truth value"),
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor", "logical_not"), "a truth value"),
    **dict.fromkeys(("sign", "step", "floor", "ceil", "trunc", "round", "floor_divide"), "a step"),
    "gammasgn": "a step",
    **dict.fromkeys(("where", "clip"), "selects an operand"),
    "polygamma_difference": "the derivative of betaln, in whose rows it is",
    "beta_derivative": "the derivative of beta, in whose rows it is",
}
"""Functions without a row of their own; exact values are held by tests against exact arithmetic."""


# Judging ------------------------------------------------------------------------------------------


class Exact(NamedTuple):
    """A derivative, and |f| + sum |x_i d_i f| of it."""

    value: Any
    size: Any


def _expanded(row: Row, point: tuple[float, ...], order: int, digits: int) -> list[Any]:
    with mp.workdps(digits):
        xs = [mp.mpf(x) for x in point]
        if row.arity == 1:
            series = row.exact(Series([xs[0], mp.mpf(1), *[mp.mpf(0)] * order]))
            return [c * mp.factorial(k) for k, c in enumerate(series.c)]
        zeros = [mp.mpf(0)] * order
        inner = Series([xs[1], mp.mpf(1), *zeros])
        constant = lambda v: Series([mp.mpf(v), mp.mpf(0), *zeros])  # noqa: E731
        outer = Series([constant(xs[0]), constant(1), *[constant(0)] * order])
        series = row.exact(outer, Series([inner, *[constant(0)] * (order + 1)]))
        return [
            [c * mp.factorial(j) * mp.factorial(k) for k, c in enumerate(part.c)]
            for j, part in enumerate(series.c)
        ]


@cache
def exact(name: str, point: tuple[float, ...], highest: int = 2) -> dict[tuple[int, ...], Exact]:
    """Return every derivative up to order ``highest``: stored ones, or as ``settled`` says."""
    parts = stored(
        key("accuracy", name, point, highest), lambda: settled_parts(name, point, highest)
    )
    pairs = zip(parts[::2], parts[1::2], strict=True)
    return dict(zip(ROWS[name].orders(highest), itertools.starmap(Exact, pairs), strict=False))


def settled_parts(name: str, point: tuple[float, ...], highest: int) -> list[Any]:
    """Return values and sizes of the derivatives one after the other."""
    return [part for one in settled(name, point, highest).values() for part in one]


def settled(name: str, point: tuple[float, ...], highest: int) -> dict[tuple[int, ...], Exact]:
    """Compute every derivative up to order ``highest``, by two precisions that agree."""
    one = ROWS[name]
    if point in one.limits:
        return {(n,): Exact(mp.mpf(f), abs(f)) for n, f in enumerate(one.limits[point])}
    digits = one.digits
    while True:
        rough = _expanded(one, point, highest, digits)
        fine = _expanded(one, point, highest, digits * 3 // 2)
        found = {}
        for n in one.orders(highest + 1):
            a, b = rough, fine
            for k in n:
                a, b = a[k], b[k]
            if abs(b) < abs(a) * mp.mpf(10) ** (-digits // 4):  # all of it is rounding
                b = a = mp.mpf(0)
            agree = abs(a - b) <= abs(b) * mp.mpf(10) ** -20 or max(abs(a), abs(b)) < 1e-640
            found[n] = b if agree else None
        if all(value is not None for value in found.values()):
            break
        digits *= 2
        if digits > 6000:
            raise ArithmeticError(f"{name} at {point}: the oracle does not settle")
    result = {}
    for n in one.orders(highest):
        up = [found[(*n[:k], n[k] + 1, *n[k + 1 :])] for k in range(one.arity)]
        size = abs(found[n]) + sum(abs(mp.mpf(x) * d) for x, d in zip(point, up, strict=True))
        result[n] = Exact(found[n], size)
    return result


def error(result: float, want: Exact, factor: float, strict: bool = False) -> str | None:
    """Describe the error of a result, or give None; ``strict``: operands count as exact."""
    value = want.value
    size = abs(value) if strict else want.size
    allowed = factor * U * size + 2 * SUBNORMAL
    if math.isnan(result):
        return "nan"
    if abs(value) > LARGEST:
        if abs(result) >= LARGEST * (1 - 1e-12) or abs(value) - allowed <= abs(result):
            return None if (result > 0) == (value > 0) else "wrong sign"
        return f"{result!r} beyond the largest number"
    if math.isinf(result):
        beyond = abs(value) + allowed > LARGEST and (result > 0) == (value > 0)
        return None if beyond else "infinite"
    off = abs(mp.mpf(result) - value)
    if off <= allowed:
        return None
    if result and value and (result > 0) != (value > 0):
        return "wrong sign"
    units = off / (U * size + 2 * SUBNORMAL / factor)
    return f"{mp.nstr(units, 3)} u"


X, Y = sd.symbols("x y")


def derivative(name: str, order: tuple[int, ...]) -> tuple[Any, list[Any]]:
    """The derivative, and the symbols of which it is a function."""
    one = ROWS[name]
    symbols = [X, Y][: one.arity]
    f = one.ours(*symbols)
    for s, n in zip(symbols, order, strict=True):
        f = sd.diff(f, s, n) if n else f
    return f, symbols


@cache
def lowered(name: str, order: tuple[int, ...]) -> Any:
    """The derivative as a Function."""
    return nm.lower(*derivative(name, order))


def _columns(chosen: list[tuple[float, ...]]) -> list[np.ndarray]:
    return [np.array(column) for column in zip(*chosen, strict=True)]


def in_machine_code(name: str, chosen: list[tuple[float, ...]]) -> dict[tuple[int, ...], Any]:
    """The derivatives that the native back end computes, by order; all are one Function."""
    if not has_native("auto"):
        return {}
    found = [(n, *derivative(name, n)) for n in ROWS[name].orders(ROWS[name].highest)]
    coded = [
        (n, f)
        for n, f, symbols in found
        if nm.lower(f, symbols, backend="native")._programs.value.points is not None
    ]
    if not coded:
        return {}
    function = nm.lower([f for _, f in coded], found[0][2], backend="native")
    assert function._programs.value.points is not None
    with np.errstate(all="ignore"):
        results = function(*_columns(chosen))
    wide = [np.broadcast_to(y, len(chosen)) for y in results]
    return dict(zip([n for n, _ in coded], wide, strict=True))


def judge(
    name: str,
    order: tuple[int, ...],
    chosen: list[tuple[float, ...]],
    highest: int = 2,
    compiled: np.ndarray | None = None,
    alone: bool = False,
    strict: bool = False,
    tightened: float = 1.0,
) -> list[tuple[tuple[float, ...], str, str]]:
    """The points among ``chosen`` at which a row misses: by Python floats, and by arrays.

    ``compiled``: what machine code has there, which is judged, too, or ``alone``.
    ``tightened``: divide the bound by this.
    ``strict``: the points that miss the bound without conditioning, and hold the one with it.
    """
    function = lowered(name, order)
    missed = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        arrays = np.broadcast_to(function(*_columns(chosen)), len(chosen))
        for k, point in enumerate(chosen):
            want = exact(name, point, highest)[order]
            results = {} if alone else {"float": function(*point), "array": arrays[k]}
            if compiled is not None:
                results["native"] = compiled[k]
            for path, result in results.items():
                wrong = error(float(result), want, FACTORS[sum(order)] / tightened)
                if strict:
                    wrong = None if wrong else error(float(result), want, 8, strict=True)
                if wrong is not None:
                    missed.append((point, path, f"{wrong}: {float(result)!r}"))
    return missed


def sample(name: str, count: int) -> list[tuple[float, ...]]:
    """Some points of a row, always the same ones, and all at which a miss of it is listed."""
    chosen = ROWS[name].at()
    kept = random.Random(f"sample {name}").sample(chosen, min(count, len(chosen)))
    listed = [miss.at for (other, _), miss in MISSES.items() if other == name]
    return list(dict.fromkeys([*ROWS[name].limits, *listed, *kept]))


def strict_orders(name: str) -> list[tuple[int, ...]]:
    """The orders of a row that are judged without conditioning, too."""
    vocabulary = ROWS[name].kind in ("elementary", "special")
    return [n for n in ROWS[name].orders(2) if sum(n)] if vocabulary else []


def vocabulary_without_row() -> set[str]:
    """The functions that no row and no reason covers."""
    titles = {name.split("(")[0] for name in ROWS}
    return set(VOCABULARY) - titles - set(WITHOUT_ROW)


# The whole table ----------------------------------------------------------------------------------


Results: TypeAlias = dict[tuple[str, tuple[int, ...]], list[tuple[tuple[float, ...], str, str]]]


def _judged(
    name: str, alone: bool = False
) -> tuple[str, Results, Results, list[tuple[str, tuple[int, ...]]]]:
    one = ROWS[name]
    chosen = one.at()
    high = one.highest
    coded = in_machine_code(name, chosen)
    orders = list(coded) if alone else one.orders(high)
    found = {(name, n): judge(name, n, chosen, high, coded.get(n), alone) for n in orders}
    strict = {
        (name, n): judge(name, n, chosen, high, coded.get(n), alone, strict=True)
        for n in strict_orders(name)
        if n in orders
    }
    exact.cache_clear()
    return name, found, strict, [(name, n) for n in coded]


def run(
    names: list[str], show: int, alone: bool = False
) -> tuple[Results, Results, list[tuple[str, tuple[int, ...]]]]:
    """Judge rows at every point, two at a time; machine code ``alone``, if that is asked for.

    What each (row, order) misses, with and without conditioning, and of which there is machine
    code.
    """
    found: Results = {}
    strict: Results = {}
    every: list[tuple[str, tuple[int, ...]]] = []
    with Pool(2) as pool:
        for number, (name, missed, strictly, coded) in enumerate(
            pool.imap_unordered(partial(_judged, alone=alone), names), 1
        ):
            found |= missed
            strict |= strictly
            every += coded
            bad = [f"{order}: {len(m)}" for (_, order), m in missed.items() if m]
            note = f"misses {'; '.join(bad)}" if bad else "holds"
            print(f"[{number}/{len(names)}] {name} {note}", flush=True)
            for title, some in (("", missed), ("without conditioning ", strictly)):
                for (_, order), all_missed in some.items():
                    for point, path, wrong in all_missed[:show]:
                        print(f"      {title}{order} {point} {path}: {wrong}")
    ordered = (
        {key: some[key] for name in names for key in some if key[0] == name}
        for some in (found, strict)
    )
    return *ordered, every


def _severity(miss: tuple[tuple[float, ...], str, str]) -> float:
    size = miss[2].split(":")[0]
    return float(size.removesuffix(" u")) if size.endswith(" u") else math.inf


def document(
    results: Results,
    coded: list[tuple[str, tuple[int, ...]]],
    page: str | None = None,
    strict: Results | None = None,
) -> str:
    """docs/accuracy.md; results of machine code alone leave the others as a ``page`` has them."""
    kinds = ("elementary", "composite", "special", "stepwise")
    counts = {(kind, high): [0, 0, 0, 0] for high in ("0 to 2", "3 and 4") for kind in kinds}
    for (name, order), missed in results.items():
        count = counts[ROWS[name].kind, "3 and 4" if sum(order) > 2 else "0 to 2"]
        count[0] += 1
        count[1] += any(path != "native" for _, path, _ in missed)
        count[2] += (name, order) in coded
        count[3] += (name, order) in coded and any(path == "native" for _, path, _ in missed)
    if page is not None:
        cells = [[cell.strip() for cell in line.split("|")] for line in page.splitlines()]
        for row in cells:
            if tuple(row[1:3]) in counts:
                counts[row[1], row[2]][:2] = map(int, row[3:5])
    lines = [
        "# Accuracy",
        "",
        "Written by `python -m tests.accuracy` (`make accuracy`).  A row is a derivative of a",
        "function, of order 0 to 2, lowered, at 120 points or more from the smallest subnormal to",
        "the largest number and near its kinks and poles, by Python floats and by arrays, beside",
        "mpmath; of order 3 and 4, too, but for special functions, where the oracle is slow, and",
        "formulas with limits.  With u = 2**-53 and f the derivative in question it holds if",
        "everywhere",
        "",
        "    |error| <= 8 u (|f| + sum |x_i d_i f|) + 2 smallest subnormals  (orders 3, 4: 64 u),",
        "",
        "no sign is wrong, nothing is nan, and only what exceeds the largest number is infinite.",
        "",
        "The native back end runs the same rows: those of which it has machine code are counted;",
        "the others are NumPy's there, too.  Functions that C has are by themselves within 4 units",
        "in the last place, of both precisions (`tests/numeric/test_native_accuracy.py`).",
        "",
        "| functions | orders | rows | miss the bound | in machine code | miss it there |",
        "|---|---|---|---|---|---|",
        *(
            f"| {kind} | {high} | {' | '.join(map(str, count))} |"
            for (kind, high), count in counts.items()
            if count[0]
        ),
        "",
        f"## {_MISSED}",
        "",
        *_table(results, MISSES, _MISSED, page),
        "",
        f"## {_NEEDED}",
        "",
        "The sum in the bound grants the effect of one rounding of each operand.  Operands are",
        "exact, so orders 1 and 2 of functions of the vocabulary keep their digits without it,",
        "`|error| <= 8 u |f| + 2 smallest subnormals`, but for these:",
        "",
        *_table(strict or {}, STRICT, _NEEDED, page),
    ]
    return "\n".join([*lines, ""])


_MISSED, _NEEDED = "Rows that miss it", "Rows that need the conditioning term"


def _table(
    results: Results, reasons: dict[tuple[str, tuple[int, ...]], Miss], title: str, page: str | None
) -> list[str]:
    """The rows that miss a bound, and those that the ``page`` has below ``title``."""
    section = (page or "").partition(f"## {title}\n")[2].partition("\n## ")[0].splitlines()
    rows = [line for line in section if line[:3] == "| `" and ", native:" not in line]
    for (name, order), missed in results.items():
        start = f"| `{name}` | {', '.join(map(str, order))} | "
        if not missed or any(line.startswith(start) for line in rows):
            continue
        (point, path, wrong), places = max(missed, key=_severity), len({p for p, _, _ in missed})
        listed = reasons.get((name, order))
        cause, text = listed.cause if listed else "not listed", ", ".join(map(repr, point))
        rows.append(f"{start}{places} | at {text}, {path}: {wrong} | {cause} |")
    if not rows:
        return ["None."]
    head = "| function | order | points | the worst | cause, and what was tried |"
    return [head, "|---|---|---|---|---|", *rows]


def main(names: list[str]) -> None:
    """Run the table, or the rows asked for; ``--native``: the columns of machine code alone."""
    alone = "--native" in names
    names = [name for name in names if name != "--native"]
    results, strict, coded = run(names or list(ROWS), 6 if names else 1, alone)
    if not names:
        path = Path(__file__).parent.parent / "docs" / "accuracy.md"
        path.write_text(document(results, coded, path.read_text() if alone else None, strict))
        print(f"written: {path.name}")
    for title, some, listed in (("", results, MISSES), (" without conditioning", strict, STRICT)):
        missing = [key for key, missed in some.items() if missed]
        new = [key for key in missing if key not in listed]
        held = [key for key in listed if key in some and not some[key]]
        print(
            f"{len(missing)} of {len(some)} rows miss{title}; unlisted: {new or 'none'}; "
            f"listed, and hold: {held or 'none'}"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
