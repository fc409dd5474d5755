"""The scalar functions from the textbook: one row each, which all suites of values read.

A row has a definition over mpmath numbers and truncated power series, so that every derivative is
exact.  It imports nothing from the packages.  Where mpmath has the function itself, it is taken
only far out, where the definition of the textbook takes too many terms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import mpmath as mp

from tests.support.series import (
    atan,
    cos,
    exp,
    known,
    log,
    log1p,
    newton,
    number,
    orders,
    power,
    settled,
    sin,
    sinpi,
    sqrt,
    summed,
)

TINY = 1e-30
LEAST, LARGEST = 5e-324, math.nextafter(math.inf, 0)
POINTS = [sign * x for x in (0.0, TINY, 0.5, 1.0, 40.0, 800.0) for sign in (1, -1)][1:]
PAIRS = [
    *[(1.0, 0.0), (0.0, 1.0), (TINY, 1.0), (-1.0, TINY), (TINY, -3 * TINY), (0.5, 0.5)],
    *[(1.0, -40.0), (40.0, 0.5), (2.0, 3.0), (40.0, 800.0), (-800.0, 40.0), (800.0, 799.0)],
    *[(2.0, 0.0), (0.5, 40.0), (-2.0, 3.0), (7.5, 2.0), (-7.5, 2.0), (7.5, -2.0), (TINY, 0.5)],
]
STEP_POINTS = [*POINTS, 1.5, 2.5, -1.5, -2.5, 3.7, -3.7]
STEP_PAIRS = [(a, b) for a, b in product((0.0, 1.0, -2.0, 7.5, 2.0**-40), repeat=2)]


# A row -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Function:
    """A function of the vocabulary, and where tests compare it.

    Its first ``parameters`` operands are constants.  ``orders`` of them come first and count
    derivatives of ``f`` by the operands that follow the constants; ``f`` has the others.
    """

    name: str
    f: Any
    parameters: int = 0
    orders: int = 0
    kind: str = "elementary"  # or special, stepwise, step: one without a derivative
    inside: Any = field(default=lambda *_: True, repr=False)  # where it is smooth and real
    points: tuple[Any, ...] = ()  # hand-picked, all operands; () for those of every function
    settings: tuple[Any, ...] = ()  # constants for the table of accuracy, see ``at``
    near: tuple[float, ...] = ()  # kinks, poles, roots and ends, for the table of accuracy
    low: float = -LARGEST  # the table of accuracy draws numbers from here ...
    high: float = LARGEST  # ... to here,
    drawn: Any = field(default=lambda *_: True, repr=False)  # if they are of this kind
    digits: int = 0  # to start with in the table of accuracy; 0: by the kind
    compared: int = 0  # at which derivatives of formulas are compared; 0: by the kind
    without: str = ""  # why the table of accuracy does not have it

    @property
    def arity(self) -> int:
        return int(self.f.__code__.co_argcount) - len(self.f.__defaults__ or ()) + self.orders

    def examples(self) -> list[tuple[float, ...]]:
        """Return the hand-picked points."""
        if self.points:
            return list(self.points)
        every: Any = [(x,) for x in POINTS] if self.arity == 1 else PAIRS
        return [point for point in every if self.inside(*point)]

    def working_digits(self, point: tuple[float, ...]) -> int:
        """Return the digits at which 1 - tanh(800)**2 still has 100."""
        return self.compared or (150 if self.kind == "special" else int(110 + max(map(abs, point))))

    def smooth(self, *operands: Any) -> bool:
        """Return whether the function is smooth at all operands."""
        return bool(self.inside(*operands[self.parameters :]))

    def of_orders(self, highest: int) -> list[tuple[int, ...]]:
        """Return the mixed orders by all operands; constants have order 0."""
        free = orders(self.arity - self.parameters, highest)
        return [(0,) * self.parameters + n for n in free]

    def derivatives(
        self, operands: Any, wanted: Any, digits: int, agreement: int = 20
    ) -> dict[tuple[int, ...], Any]:
        """Return the derivatives of mixed orders by all operands."""
        shift = [0] * self.arity
        for k in range(self.orders):
            shift[self.parameters + k] = int(operands[k])
        full = {n: [a + b for a, b in zip(n, shift, strict=True)] for n in wanted}
        varied = [k for k in range(self.arity) if any(n[k] for n in full.values())]

        def function(*xs: Any) -> Any:
            args = [x if k < self.parameters else mp.mpf(x) for k, x in enumerate(operands)]
            for k, x in zip(varied, xs, strict=True):
                args[k] = x
            return self.f(*args[self.orders :])

        moved = {n: tuple(of[k] for k in varied) for n, of in full.items()}
        found = settled(
            function, [operands[k] for k in varied], list(moved.values()), digits, agreement
        )
        return {n: found[of] for n, of in moved.items()}

    def value(self, *operands: Any) -> Any:
        """Return the value at mpmath numbers, to their precision."""
        if not any(operands[: self.orders]):
            return self.f(*operands[self.orders :])
        zero = (0,) * self.arity
        return self.derivatives(operands, [zero], mp.mp.dps, mp.mp.dps // 2)[zero]


class Setting:
    """Constants of a function, and what its row in the table of accuracy has for these."""

    def __init__(self, *constants: float | None, **more: Any) -> None:
        self.constants = constants
        self.more = more


at = Setting
STEP: dict[str, Any] = {"kind": "step", "without": "a truth value or a step"}
SPECIAL: dict[str, Any] = {"kind": "special"}
POSITIVE: dict[str, Any] = {"low": LEAST, "inside": lambda *xs: all(x > 0 for x in xs)}
INSIDE_ONE: dict[str, Any] = {
    **{"near": (1.0, -1.0), "inside": lambda x: -1 < x < 1, "low": -1.0, "high": 1.0}
}
ABOVE_ONE: dict[str, Any] = {"near": (1.0,), "inside": lambda x: x > 1}
LINE: dict[str, Any] = {**SPECIAL, "low": -1e30, "high": 1e30}
WIDE: dict[str, Any] = {**SPECIAL, "inside": lambda x: x != 0, "low": -1e5, "high": 1e5}
UNIT: dict[str, Any] = {**SPECIAL, "inside": lambda x: 0 < x < 1, "low": LEAST, "high": 1.0}
OF_TWO: dict[str, Any] = {**SPECIAL, "low": 1e-200, "high": 1e4, "digits": 260}
DERIVATIVE: dict[str, Any] = {"parameters": 1, "orders": 1}
OF_DERIVATIVE: dict[str, Any] = {**SPECIAL, **DERIVATIVE}
PLANE: dict[str, Any] = {
    **{"parameters": 2, "orders": 2, "settings": (at(1, 0), at(2, 1))},
    "points": tuple(
        (float(n), float(m), a, b)
        for n, m in ((1, 0), (0, 1), (2, 1))
        for a, b in ((0.5, 0.25), (-3.0, 4.0), (40.0, -0.5))
    ),
}
WEIGHTS = ((0.5, 0.5), (2.0, 3.0), (TINY, 0.5), (40.0, TINY), (800.0, 799.0))
GAMMA_POINTS = ((0.5, 0.25), (1.0, 2.0), (2.5, 1.5), (7.0, 12.0), (3.0, 0.125))
INTEGERS = (0.0, -1.0, -2.0, -3.0)
OF_REAL_ORDER = ((0.5, 0.75), (-1.5, 0.125))
BRANCH_POINT = math.nextafter(-math.exp(-1), 0)  # the first number above -1/e


def numbers(*xs: float) -> tuple[tuple[float], ...]:
    return tuple((x,) for x in xs)


def of_orders(ns: tuple[int, ...], *xs: float) -> tuple[tuple[float, float], ...]:
    return tuple((float(n), x) for n in ns for x in xs)


def each(*constants: float) -> tuple[Setting, ...]:
    """Return a setting for each number."""
    return tuple(at(x) for x in constants)


def no_pole(x: Any) -> bool:
    return bool(x > 0 or x != math.floor(x))


def nonzero(a: Any, b: Any = 0) -> bool:
    return bool(a != 0 or b != 0)


# Definitions -------------------------------------------------------------------------------------


def within(bound: float, near: Any, far: Any) -> Any:
    """Return ``near`` of smaller numbers and ``far``, which is mpmath's own function, of others."""
    return lambda x: near(x) if abs(x) < bound else far(x)


def softplus(z: Any) -> Any:
    return log1p(exp(z)) if number(z) < 0 else z + log1p(exp(-z))


def sigmoid(z: Any) -> Any:
    return 1 / (1 + exp(-z))


def tanh(z: Any) -> Any:
    """From the side on which the exponential is small."""
    if number(z) < 0:
        return -tanh(-z)
    e = exp(-2 * z)
    return (1 - e) / (1 + e)


def cbrt(z: Any) -> Any:
    return -cbrt(-z) if number(z) < 0 else exp(log(z) / 3)


def hypot(a: Any, b: Any) -> Any:
    return sqrt(a * a + b * b)


def asin(z: Any) -> Any:
    return atan(z / sqrt((1 - z) * (1 + z)))


def asinh(z: Any) -> Any:
    return -asinh(-z) if number(z) < 0 else log(z + sqrt(1 + z * z))


def atan2(y: Any, x: Any) -> Any:
    """The angle by the quadrant; every one of them differs from an arctangent by a constant."""
    turned = -atan(x / y) if abs(number(y)) > abs(number(x)) else atan(y / x)
    return turned + (mp.log(mp.mpc(number(x), number(y))).imag - number(turned))


def mean_of_waves(z: Any, sign: int) -> Any:
    """sinh(z)/z for sign 1 and sin(z)/z for -1, by the series."""
    return summed(z * 0 + 1, lambda term, k: term * z * z * sign / (2 * k * (2 * k + 1)))


def sinc(z: Any) -> Any:
    t = z * mp.pi
    return sinpi(z) / t if abs(number(t)) > 1 else mean_of_waves(t, -1)


def sinhc(z: Any) -> Any:
    return (exp(z) - exp(-z)) / z / 2 if abs(number(z)) > 1 else mean_of_waves(z, 1)


def coshc(z: Any) -> Any:
    """cosh(z)/z."""
    return (exp(z) + exp(-z)) / z / 2


def chirp(wave: Any) -> Any:
    """A wave whose frequency grows with the argument: the slope of Fresnel's integrals."""
    return lambda z: wave(z * z * (mp.pi / 2))


# The error function


def _erfc(x: Any) -> Any:
    """Far out by the first term of its expansion: mpmath counts the terms in floats there."""
    if abs(x) < 1e20:
        return 1 - mp.erf(x) if x <= 1 else mp.erfc(x)
    return mp.mpf(2) if x < 0 else mp.exp(-x * x) / (x * mp.sqrt(mp.pi))


erf = known(mp.erf, lambda z: exp(-z * z) * 2 / mp.sqrt(mp.pi))
erfc = known(_erfc, lambda z: exp(-z * z) * -2 / mp.sqrt(mp.pi))


def _far(z: Any) -> bool:
    """Whether an asymptotic series with terms until e^(-z²) has twice the digits."""
    return bool(number(z) ** 2 > 5 * mp.mp.dps + 50)


def erfcx(z: Any) -> Any:
    if number(z) < 0 or not _far(z):
        return exp(z * z) * erfc(z)
    first = 1 / (z * mp.sqrt(mp.pi))
    return summed(first, lambda term, k: term / (z * z) * (mp.mpf(1 - 2 * k) / 2))


_dawsn = known(lambda x: x * mp.hyp1f1(1, 1.5, -x * x), lambda z: 1 - z * _dawsn(z) * 2)


def dawsn(z: Any) -> Any:
    if not _far(z):
        return _dawsn(z)
    return summed(1 / (2 * z), lambda term, k: term / (z * z) * (mp.mpf(2 * k - 1) / 2))


def normal_density(z: Any) -> Any:
    return exp(-z * z / 2) / mp.sqrt(2 * mp.pi)


def ndtr(z: Any) -> Any:
    return erfc(-z / mp.sqrt(2)) / 2


def log_ndtr(z: Any) -> Any:
    """From the side on which the tail is small."""
    if number(z) < 0:
        return log(erfcx(-z / mp.sqrt(2)) / 2) - z * z / 2
    return log1p(-erfc(z / mp.sqrt(2)) / 2)


def _start_of_erfcinv(x: Any) -> Any:
    with mp.extraprec(10 + abs(mp.mag(x))):
        return +mp.erfinv(1 - x)


def _slope_of_erf(w: Any) -> Any:
    return exp(-w * w) * 2 / mp.sqrt(mp.pi)


erfinv = newton(mp.erfinv, lambda w, z: (erf(w) - z) / _slope_of_erf(w))
erfcinv = newton(_start_of_erfcinv, lambda w, z: (z - erfc(w)) / _slope_of_erf(w))


def erfcinv_slope(z: Any) -> Any:
    return -1 / _slope_of_erf(erfcinv(z))


# The gamma function


@cache
def psi(n: int) -> Any:
    """The n-th derivative of digamma; n = -1 is log|gamma|."""
    value = (lambda x: mp.re(mp.loggamma(x))) if n < 0 else (lambda x: mp.psi(n, x))
    return known(value, lambda z: psi(n + 1)(z))


def gamma(z: Any) -> Any:
    logarithm = psi(-1)(z)
    return exp(logarithm - number(logarithm)) * mp.gamma(number(z))


def rgamma(z: Any) -> Any:
    """Left of 1/2 by reflection, so that nothing is infinite; DLMF 5.5.3."""
    return 1 / gamma(z) if number(z) > 0.5 else gamma(1 - z) * sinpi(z) / mp.pi


def hurwitz(s: Any, q: Any) -> Any:
    """The sum of (q + k)^-s by Euler and Maclaurin; DLMF 25.11.5.  Of q < 0 for integers s."""

    def term(base: Any) -> Any:
        if number(base) < 0:
            return exp(log(-base) * -s) * (-1) ** int(s)
        return exp(log(base) * -s)

    count = mp.mp.prec // 3 + 10 + max(0, int(-number(q)))
    total = term(q)
    for k in range(1, count):
        total = total + term(q + k)
    end = q + count
    last = term(end)
    rising = last * s / end  # s (s + 1) ... (s + 2j - 2) end^(1 - s - 2j)

    def correction(_: Any, j: int) -> Any:
        nonlocal rising
        if j > 1:
            rising = rising * (s + (2 * j - 3)) * (s + (2 * j - 2)) / (end * end)
        return rising * (mp.bernoulli(2 * j) / mp.factorial(2 * j))

    return summed(total + end * last / (s - 1) + last / 2, correction)


def zeta(z: Any) -> Any:
    """Of negative numbers by reflection, DLMF 25.4.1."""
    if number(z) > -1:
        return hurwitz(z, mp.mpf(1))
    scale = exp(z * mp.log(2 * mp.pi)) / mp.pi
    return scale * sinpi(z / 2) * gamma(1 - z) * hurwitz(1 - z, mp.mpf(1))


def polygamma(n: Any, z: Any) -> Any:
    return hurwitz(int(n) + 1, z) * ((-1) ** int(n + 1) * mp.factorial(int(n)))


def beta(a: Any, b: Any) -> Any:
    return (1 / a + 1 / b) * (gamma(a + 1) * gamma(b + 1) * rgamma(a + b + 1))


def gamma_density(a: Any, z: Any) -> Any:
    return exp(log(z) * (a - 1) - z) * mp.rgamma(a)


def beta_density(p: Any, q: Any, c: Any, z: Any) -> Any:
    return exp(log(z) * p + log(1 - z) * q - c)


def _gamma_series(a: Any, x: Any) -> Any:
    """P(a, x) as a power series of positive terms; DLMF 8.7.1."""
    return summed(gamma_density(a + 1, x), lambda term, k: term * x / (a + k))


def gammainc(a: Any, z: Any) -> Any:
    a = mp.mpf(a)
    far = lambda x: mp.gammainc(a, 0, x, regularized=True)  # noqa: E731
    value = within(100, lambda x: _gamma_series(a, x), far)
    return known(value, lambda t: gamma_density(a, t))(z)


def gammaincc(a: Any, z: Any) -> Any:
    a = mp.mpf(a)

    def near(x: Any) -> Any:
        with mp.extraprec(int(2 * x) + 20):
            return 1 - _gamma_series(a, x)

    far = lambda x: mp.gammainc(a, x, mp.inf, regularized=True)  # noqa: E731
    return known(within(100, near, far), lambda t: -gamma_density(a, t))(z)


def betainc(a: Any, b: Any, z: Any) -> Any:
    """By the hypergeometric series; DLMF 8.17.8."""
    a, b = mp.mpf(a), mp.mpf(b)
    logarithm = mp.log(mp.gamma(a)) + mp.log(mp.gamma(b)) - mp.log(mp.gamma(a + b))

    def series(a: Any, b: Any, x: Any) -> Any:
        first = mp.power(x, a) * mp.power(1 - x, b) * mp.exp(-logarithm) / a
        return summed(first, lambda term, k: term * x * (a + b + k - 1) / (a + k))

    value = lambda x: series(a, b, x) if x < 0.75 else 1 - series(b, a, 1 - x)  # noqa: E731
    return known(value, lambda t: beta_density(a - 1, b - 1, logarithm, t))(z)


# Exponential integrals


def _expn_series(n: int, x: Any) -> Any:
    """DLMF 8.19.8, with digits for what cancels."""
    with mp.extraprec(int(3 * x) + 20):
        total, term, k = mp.mpf(0), mp.mpf(1), 0
        while k < x + n + 2 or mp.fabs(term) > mp.eps**2:
            total -= term / (1 - n + k) if k != n - 1 else term * (mp.log(x) - mp.psi(0, n))
            k += 1
            term *= -x / k
    return +total


def expn(n: Any, z: Any) -> Any:
    """Of orders below 1 by their closed forms; DLMF 8.19.3 and 8.19.12."""
    n = int(n)
    if n == 0:
        return exp(-z) / z
    if n < 0:
        return (exp(-z) + expn(n + 1, z) * -n) / z
    value = within(60, lambda x: _expn_series(n, x), lambda x: mp.re(mp.expint(n, x)))
    return known(value, lambda t: -expn(n - 1, t))(z)


def _integral(hypergeometric: Any, far: Any, slope: Any, bound: float = 50) -> Any:
    return known(within(bound, hypergeometric, far), slope)


expi = _integral(
    lambda x: mp.euler + mp.log(mp.fabs(x)) + x * mp.hyp2f2(1, 1, 2, 2, x),
    mp.ei,
    lambda z: exp(z) / z,
)
sine_integral = _integral(
    lambda x: x * mp.hyp1f2(0.5, 1.5, 1.5, -x * x / 4), mp.si, lambda z: sinc(z / mp.pi)
)
cosine_integral = _integral(
    lambda x: mp.euler + mp.log(x) - x * x / 4 * mp.hyp2f3(1, 1, 2, 2, 1.5, -x * x / 4),
    mp.ci,
    lambda z: cos(z) / z,
)
sinh_integral = _integral(
    lambda x: x * mp.hyp1f2(0.5, 1.5, 1.5, x * x / 4), mp.shi, lambda z: sinhc(z)
)
cosh_integral = _integral(
    lambda x: mp.euler + mp.log(x) + x * x / 4 * mp.hyp2f3(1, 1, 2, 2, 1.5, x * x / 4),
    lambda x: mp.re(mp.chi(x)),
    coshc,
)
fresnel_sine = _integral(
    lambda x: mp.pi / 6 * x**3 * mp.hyp1f2(0.75, 1.5, 1.75, -(mp.pi**2) * x**4 / 16),
    mp.fresnels,
    chirp(sin),
    5,
)
fresnel_cosine = _integral(
    lambda x: x * mp.hyp1f2(0.25, 0.5, 1.25, -(mp.pi**2) * x**4 / 16), mp.fresnelc, chirp(cos), 5
)


# Bessel functions


def _first_kind(n: Any, x: Any, sign: int) -> Any:
    """J_n for sign -1, I_n for sign 1; DLMF 10.2.2 and 10.25.2."""
    half = x / 2
    first = mp.power(half, n) * mp.rgamma(n + 1)
    return summed(first, lambda term, k: term * (sign * half * half) / (k * (n + k)))


def _second_kind(n: int, x: Any, sign: int) -> Any:
    """Return the finite sum and the series of Y_n (sign -1) and K_n (sign 1)."""
    half, z = x / 2, sign * x * x / 4
    terms = (mp.factorial(n - k - 1) / mp.factorial(k) * (-z) ** k for k in range(n))
    total, k, term, harmonic = mp.mpf(0), 0, half**n / mp.factorial(n), mp.harmonic(n)
    while k < mp.fabs(half) + 2 or mp.fabs(term) > mp.eps**2:
        total += (harmonic - 2 * mp.euler) * term
        k += 1
        harmonic += mp.mpf(1) / k + mp.mpf(1) / (n + k)
        term *= z / (k * (n + k))
    return mp.fsum(terms) / half**n, mp.log(half) * _first_kind(n, x, sign), total


def _bessely(n: Any, x: Any) -> Any:
    """DLMF 10.8.1 and 10.2.3."""
    if n != int(n):
        return (_first_kind(n, x, -1) * mp.cospi(n) - _first_kind(-n, x, -1)) / mp.sinpi(n)
    finite, logarithmic, total = _second_kind(int(n), x, -1)
    return (2 * logarithmic - finite - total) / mp.pi


def _besselk(n: Any, x: Any) -> Any:
    """By series (DLMF 10.31.1 and 10.27.4), else by the integral of exp(-x cosh t) cosh(n t).

    The trapezoidal rule has the relative error exp(x - pi²/h): shift the path by i pi/2.
    """
    if x < 1:
        if n != int(n):
            return mp.pi / 2 * (_first_kind(-n, x, 1) - _first_kind(n, x, 1)) / mp.sinpi(n)
        finite, logarithmic, total = _second_kind(int(n), x, 1)
        return finite / 2 - (-1) ** int(n) * (logarithmic - total / 2)
    goal = mp.mp.prec * mp.log(2) + 20
    h = mp.pi**2 / (goal + x)
    total, t = mp.exp(-x) / 2, h
    while x * (mp.cosh(t) - 1) < goal + abs(n) * t:
        total, t = total + mp.exp(-x * mp.cosh(t)) * mp.cosh(n * t), t + h
    return total * h


@cache
def bessel(kind: str, n: float) -> Any:
    """J, Y, I or K of order n; those of negative integers are those of |n|, up to the sign."""
    if n < 0 and n == int(n):
        sign = (-1) ** int(n) if kind in "jy" else 1
        return lambda z: bessel(kind, -n)(z) * sign
    order = mp.mpf(n)
    series = {
        "j": lambda x: _first_kind(order, x, -1),
        "i": lambda x: _first_kind(order, x, 1),
        "y": lambda x: _bessely(order, x),
    }

    def near(x: Any) -> Any:
        with mp.extraprec(int(3 * mp.fabs(x)) + 20):
            return series[kind](x)

    own = getattr(mp, f"bessel{kind}")
    value = within(50, near, lambda x: mp.re(own(order, x)))
    first = {"j": 1, "y": 1, "i": 1, "k": -1}[kind]
    second = {"j": -1, "y": -1, "i": 1, "k": -1}[kind]
    return known(
        (lambda x: _besselk(order, x)) if kind == "k" else value,
        lambda z: (bessel(kind, n - 1)(z) * first + bessel(kind, n + 1)(z) * second) / 2,
    )


def scaled_bessel(kind: str, n: Any, z: Any) -> Any:
    """I and K times the exponential that takes theirs away; far out by 10.40.1 and 10.40.2."""
    sign = -1 if kind == "i" else 1
    if number(z) < 0:
        return scaled_bessel(kind, n, -z) * (-1) ** int(n)
    # The terms fall until k is 2x, by e^-2x in all, which is 0.86 digits for each unit of x.
    if number(z) <= 5 * mp.mp.dps + n * n:
        return bessel(kind, n)(z) * exp(z * sign)
    first = sqrt(mp.pi / (2 * z)) if kind == "k" else 1 / sqrt(z * (2 * mp.pi))
    ratio = lambda k: (4 * mp.mpf(n) ** 2 - (2 * k - 1) ** 2) / (8 * k) * sign  # noqa: E731
    return summed(first, lambda term, k: term / z * ratio(k))


# Polynomials, elliptic integrals, Lambert's function


def coefficients(name: str, n: Any, alpha: Any = 0) -> list[Fraction]:
    """Return the coefficients of a polynomial, x^0 first, by the explicit sums of DLMF 18.5."""
    n, alpha, powers = int(n), Fraction(alpha), [Fraction(0)] * (int(n) + 1)
    if name in ("eval_laguerre", "eval_genlaguerre"):
        for k in range(n + 1):
            rising = math.prod((alpha + k + 1 + j for j in range(n - k)), start=Fraction(1))
            powers[k] = (-1) ** k * rising / math.factorial(n - k) / math.factorial(k)
        return powers
    alpha = {"eval_legendre": Fraction(1, 2), "eval_chebyu": Fraction(1)}.get(name, alpha)
    for k in range(n // 2 + 1):
        m = n - 2 * k
        if name == "eval_hermite":
            c = Fraction(math.factorial(n) * 2**m)
        elif name == "eval_hermitenorm":
            c = Fraction(math.factorial(n), 2**k)
        elif name == "eval_chebyt":
            c = Fraction(n * math.factorial(n - k - 1) * 2**m, 2) if n else Fraction(1)
        else:
            c = math.prod((alpha + j for j in range(n - k)), start=Fraction(2) ** m)
        powers[m] = (-1) ** k * c / math.factorial(k) / math.factorial(m)
    return powers


def polynomial(name: str) -> Any:
    """By Horner's rule, of the order, a parameter if there is one, and the number."""

    def value(n: Any, alpha: Any, z: Any) -> Any:
        *lower, highest = coefficients(name, n, alpha)
        total = z * 0 + mp.mpf(highest.numerator) / highest.denominator
        for c in reversed(lower):
            total = total * z + mp.mpf(c.numerator) / c.denominator
        return total

    if name in ("eval_gegenbauer", "eval_genlaguerre"):
        return value
    return lambda n, z: value(n, 0, z)


POLYNOMIALS = (
    *("eval_legendre", "eval_chebyt", "eval_chebyu"),
    *("eval_hermite", "eval_hermitenorm", "eval_laguerre"),
)


def elliptic(second: bool, p: Any) -> Any:
    """K, or E, of 1 - p by the arithmetic-geometric mean; DLMF 19.8.5 and 19.8.6."""
    a, b, weight = p * 0 + 1, sqrt(p), mp.mpf(1) / 2
    rest = (1 - p) * weight
    for _ in range(mp.mp.prec.bit_length() + int(abs(mp.mag(number(p)))).bit_length() + 5):
        half = (a - b) / 2
        a, b, weight = (a + b) / 2, sqrt(a * b), 2 * weight
        rest = rest + half * half * weight
    complete = mp.pi / 2 / a
    return complete * (1 - rest) if second else complete


lambertw, lambertwm1 = (
    newton(
        lambda x, branch=branch: mp.re(mp.lambertw(x, branch)),
        lambda w, z: (w - z * exp(-w)) / (1 + w),
    )
    for branch in (0, -1)
)


# The table ---------------------------------------------------------------------------------------


CLIPPED = ((0.5, 0.0, 1.0), (-2.0, 0.0, 1.0), (40.0, -1.0, 1.0))
NEAR_ROOT_OF_DAWSN = (0.0, 0.9241388730045918)
BELOW_ONE: dict[str, Any] = {"inside": lambda x: x < 1, "high": 1.0}
ELLIPTIC = (0.5, -0.75, 1e-3)
LAMBERT = {**SPECIAL, "near": (BRANCH_POINT, -0.25), "low": BRANCH_POINT}
BESSEL = {**SPECIAL, "parameters": 1, "high": 1e5}
SCALED = {**SPECIAL, "parameters": 1, "low": LEAST}
HURWITZ = tuple(
    at(*constants, **more)
    for constants, more in (
        *(((None, q), {"low": 1.0, "high": 1e52}) for q in (0.3, 1.0, 50.25)),
        *(((s,), {"low": LEAST}) for s in (1.25, 2.0, 40.5)),
    )
)


def with_derivative(
    name: str,
    f: Any,
    ones: tuple[float, ...],
    points: tuple[Any, ...],
    derivative: dict[str, Any] | None = None,
    **more: Any,
) -> tuple[Function, Function]:
    """Return rows of a function and of its derivatives, and what these have of their own."""
    own = {"settings": each(1, 3), "points": points, **DERIVATIVE, **(derivative or {})}
    return (
        Function(name, f, points=numbers(*ones), **more),
        Function(f"{name}_derivative", f, **(more | own)),
    )


def of_bessel(low: float, near: tuple[float, ...] = (), sign: int = 1) -> dict[str, Any]:
    """Settings of a Bessel function: whole orders from ``low``, others of positive numbers."""
    return {
        "near": near,
        "settings": (
            *(at(n, low=low) for n in (0, 1, 3)),
            *(at(sign * n, low=LEAST) for n in (0.5, -1.25)),
        ),
    }


FUNCTIONS = (
    Function("exp", lambda z: exp(z), near=(709.78,)),
    Function("expm1", lambda z: exp(z) - 1),
    Function("exp2", lambda z: exp(z * mp.log(2)), near=(1024.0, -1074.0)),
    Function("log", log, near=(1.0,), **POSITIVE),
    Function("log1p", lambda z: log(1 + z), near=(-1.0,), inside=lambda x: x > -1),
    Function("log1mexp", lambda z: log(1 - exp(-z)), near=(math.log(2),), **POSITIVE),
    Function("log2", lambda z: log(z) / mp.log(2), near=(1.0,), **POSITIVE),
    Function("log10", lambda z: log(z) / mp.log(10), near=(1.0,), **POSITIVE),
    Function("sigmoid", sigmoid),
    Function("softplus", softplus),
    Function("log_sigmoid", lambda z: -softplus(-z)),
    Function(
        "logaddexp",
        lambda a, b: a + softplus(b - a) if number(a) > number(b) else b + softplus(a - b),
    ),
    Function("exp_share", lambda a, b: sigmoid(a - b)),
    Function("difference", lambda a, b: a - b),
    Function("xlogy", lambda x, y: x * log(y), inside=lambda x, y: y > 0),
    Function("xlog1py", lambda x, y: x * log(1 + y), inside=lambda x, y: y > -1, points=WEIGHTS),
    Function("entr", lambda z: -z * log(z), near=(math.exp(-1),), **POSITIVE),
    Function("log_ratio", lambda x, y: log(x) - log(y), points=WEIGHTS, **POSITIVE),
    Function("relative_difference", lambda x, y: x / y - 1, points=WEIGHTS, **POSITIVE),
    Function("rel_entr", lambda x, y: x * (log(x) - log(y)), points=WEIGHTS, **POSITIVE),
    Function("kl_div", lambda x, y: x * (log(x) - log(y)) - x + y, points=WEIGHTS, **POSITIVE),
    Function("power", lambda x, y: exp(y * log(x)), inside=lambda x, y: x > 0),
    Function("cbrt", cbrt, inside=nonzero),
    Function("norm_sqrt", lambda z: exp(log(z) / 2), **POSITIVE),
    Function("hypot", hypot, inside=nonzero),
    Function("cosine", lambda a, b: a / hypot(a, b), inside=nonzero),
    Function("hypot1", lambda z: sqrt(1 + z * z)),
    Function("sin", sin, near=(math.pi, 2 * math.pi)),
    Function("cos", cos, near=(math.pi / 2, 1.5 * math.pi)),
    Function(
        "tan",
        lambda z: sin(z) / cos(z),
        near=(math.pi / 2, -math.pi / 2, math.pi, 3 * (math.pi / 2)),
    ),
    Function("asin", asin, **INSIDE_ONE),
    Function("acos", lambda z: mp.pi / 2 - asin(z), **INSIDE_ONE),
    Function("atan", atan),
    Function("atan2", atan2, inside=lambda y, x: nonzero(y, x) and not (y == 0 and x < 0)),
    Function("sinh", lambda z: (exp(z) - exp(-z)) / 2),
    Function("cosh", lambda z: (exp(z) + exp(-z)) / 2),
    Function("tanh", tanh),
    Function("sech", lambda z: 2 / (exp(z) + exp(-z))),
    Function("sech2", lambda z: power(2 / (exp(z) + exp(-z)), 2)),
    Function("asinh", asinh),
    Function("acosh", lambda z: log(z + sqrt(z * z - 1)), **ABOVE_ONE),
    Function("asin_slope", lambda z: 1 / sqrt((1 - z) * (1 + z)), **INSIDE_ONE),
    Function("atanh_slope", lambda z: (1 / (1 + z) + 1 / (1 - z)) / 2, **INSIDE_ONE),
    Function("acosh_slope", lambda z: 1 / sqrt(z * z - 1), **ABOVE_ONE),
    Function("atanh", lambda z: (log(1 + z) - log(1 - z)) / 2, **INSIDE_ONE),
    Function(
        "bose",
        lambda z: 1 / (exp(z) - 1),
        inside=lambda x: x != 0,
        points=of_orders((0, 1, 4), 0.5, -3.0, 80.0),
        settings=each(0, 1, 4),
        **DERIVATIVE,
    ),
    Function("hypot_derivative", hypot, **PLANE),
    Function("atan2_derivative", atan2, **PLANE),
    Function("abs", lambda z: -z if number(z) < 0 else z, kind="stepwise", inside=nonzero),
    *(
        Function(
            name,
            lambda a, b, most=most: most(a, b, key=number),
            kind="stepwise",
            inside=lambda a, b: a != b,
        )
        for name, most in (("maximum", max), ("minimum", min))
    ),
    Function(
        "mod",
        lambda a, b: a - b * mp.floor(number(a) / number(b)),
        kind="stepwise",
        inside=lambda a, b: b != 0 and a % b != 0,
        digits=1500,
    ),
    Function(
        "clip",
        lambda x, lo, hi: sorted([x, lo, hi], key=number)[1],
        kind="stepwise",
        points=CLIPPED,
        without="selects an operand",
    ),
    Function(
        "where",
        lambda c, a, b: a if c else b,
        parameters=1,
        kind="stepwise",
        points=((1.0, 2.0, 3.0), (0.0, 2.0, 3.0)),
        without="selects an operand",
    ),
    Function("erf", erf, **SPECIAL),
    Function("erfc", erfc, **SPECIAL),
    *with_derivative(
        "erfcx",
        erfcx,
        (0.5, -1.5, 1e-3, 3.0, 6.0),
        of_orders((1, 2, 5), 0.5, 1.5, 6.0),
        near=(0.0, -26.6),
        **SPECIAL,
    ),
    Function("erfinv", erfinv, points=numbers(0.5, -0.25, 0.875, 1e-3), **INSIDE_ONE, **SPECIAL),
    *(
        Function(
            name,
            f,
            points=numbers(0.5, 1.25, 0.125, 1.75, 1e-3),
            near=(2.0, 1.0),
            inside=lambda x: 0 < x < 2,
            low=0.0,
            high=2.0,
            **SPECIAL,
        )
        for name, f in (("erfcinv", erfcinv), ("erfcinv_slope", erfcinv_slope))
    ),
    Function(
        "ndtr",
        ndtr,
        points=numbers(0.5, -1.5, 1e-3, 3.0, -9.0),
        near=(0.0, 37.5, -37.5, -38.6),
        **SPECIAL,
    ),
    Function(
        "normal_density",
        normal_density,
        points=of_orders((0, 1, 4), 0.5, -1.5, 9.0),
        settings=each(0, 3),
        near=(0.0, 37.5, -38.6),
        **OF_DERIVATIVE,
    ),
    *with_derivative(
        "log_ndtr",
        log_ndtr,
        (0.5, -1.5, 1e-3, 6.0, -20.0),
        of_orders((1, 2, 5), 0.5, -1.5, 6.0, -60.0),
        {"near": (0.0, 38.5, -44.0)},
        near=(0.0, 37.5, -37.5),
        compared=250,
        **SPECIAL,
    ),
    Function(
        "ndtri",
        lambda p: erfcinv(2 * p) * -mp.sqrt(2),
        points=numbers(0.25, 0.625, 0.0625, 0.875, 1e-3),
        near=(1.0, 0.5),
        **(UNIT | {"low": 0.0}),
    ),
    Function(
        "expn",
        expn,
        parameters=1,
        points=of_orders((1, 3, -2), 0.5, 12.0),
        settings=each(1, 2, 5, 0, -2),
        near=(1.0, 716.0),
        low=LEAST,
        high=1e5,
        **SPECIAL,
    ),
    *with_derivative(
        "expi",
        expi,
        (0.5, 3.0, 50.0, -2.0),
        of_orders((1, 2, 4), 0.5, 3.0, 50.0, -2.0),
        {"settings": (at(1, near=(1.0, 715.0)), at(4, near=(9.0, 720.0), digits=400))},
        near=(0.37250741078136663, 40.0, 715.0),
        **WIDE,
    ),
    Function("sine_integral", sine_integral, points=numbers(0.5, -2.0, 12.0), **LINE),
    *with_derivative(
        "cosine_integral",
        cosine_integral,
        (0.5, 2.0, 12.0),
        of_orders((1, 2, 4), 0.5, 2.0, 12.0),
        {"settings": each(1, 4), "near": (3.0,), "digits": 400},
        near=(0.6165054856207162,),
        **(LINE | {"low": LEAST}),
    ),
    *(
        row
        for name, f, x, low in (
            ("sinh_integral", sinh_integral, -2.0, -1e5),
            ("cosh_integral", cosh_integral, 2.0, LEAST),
        )
        for row in with_derivative(
            name,
            f,
            (0.25, 0.5, x, 12.0),
            of_orders((1, 2, 4), 0.5, x, 12.0),
            {"settings": each(1, 4), "near": (1.0, 9.0, 716.0)},
            near=(0.5238225713898644, 716.0),
            digits=400,
            **(WIDE | {"low": low}),
        )
    ),
    *(
        row
        for name, integral, wave in (("sine", fresnel_sine, sin), ("cosine", fresnel_cosine, cos))
        for row in (
            Function(
                f"fresnel_{name}",
                integral,
                points=numbers(0.5, -1.25, 2.75),
                near=(36974.0,),
                **LINE,
            ),
            Function(
                f"chirp_{name}",
                chirp(wave),
                points=numbers(0.5, -1.25, 40.5),
                near=(1.0, 1e3, 1e9),
                **LINE,
            ),
        )
    ),
    *with_derivative(
        "dawsn",
        dawsn,
        (0.5, -1.5, 6.0, 40.0),
        of_orders((1, 2, 5), 0.5, -1.5, 6.0, 40.0),
        {"settings": each(1, 4), "near": NEAR_ROOT_OF_DAWSN},
        near=(*NEAR_ROOT_OF_DAWSN, 12.0),
        **SPECIAL,
    ),
    Function(
        "gamma", gamma, near=(*INTEGERS, 171.6), inside=no_pole, low=-180.0, high=200.0, **SPECIAL
    ),
    *with_derivative(
        "rgamma",
        rgamma,
        (0.0, -2.0, 0.5, 1.0, 7.5, -7.25, 40.0),
        ((1.0, -2.0),),
        {"low": -175.0},
        near=(*INTEGERS, 171.6),
        low=-180.0,
        high=200.0,
        **SPECIAL,
    ),
    Function("gammaln", psi(-1), near=(*INTEGERS, 1.0, 2.0), inside=no_pole, low=-180.0, **SPECIAL),
    Function(
        "digamma",
        psi(0),
        near=(*INTEGERS, 1.4616321449683622),
        inside=no_pole,
        low=-180.0,
        **SPECIAL,
    ),
    Function(
        "polygamma",
        polygamma,
        parameters=1,
        points=of_orders((1, 2, 3, 7), 0.5, 1.0, 40.0, -0.5),
        settings=each(1, 2, 3, 171),
        near=INTEGERS,
        inside=no_pole,
        low=-180.0,
        high=1e8,
        **SPECIAL,
    ),
    Function(
        "polygamma_difference",
        lambda n, a, b: polygamma(n, a) - polygamma(n, a + b),
        parameters=1,
        points=tuple((float(n), *p) for n in (1, 2, 3) for p in ((0.5, 0.25), (3.0, 40.0))),
        without="the derivative of betaln, in whose rows it is",
        **SPECIAL,
    ),
    *(
        Function(
            f.__name__,
            f,
            parameters=1,
            points=GAMMA_POINTS,
            settings=each(0.5, 1, 2.5, 40),
            low=LEAST,
            high=1e4,
            **SPECIAL,
        )
        for f in (gammainc, gammaincc)
    ),
    Function(
        "gamma_density",
        gamma_density,
        parameters=1,
        points=(*GAMMA_POINTS, (-0.5, 0.75), (-2.25, 3.0)),
        settings=each(0.5, 1, 2.5, 40),
        low=LEAST,
        **SPECIAL,
    ),
    Function(
        "betainc",
        betainc,
        parameters=2,
        points=((0.5, 0.5, 0.25), (2.0, 3.0, 0.5), (1.0, 1.0, 0.75), (7.5, 1.5, 0.875)),
        settings=(at(0.5, 0.5), at(2, 3), at(7.5, 1.5)),
        near=(1.0,),
        **UNIT,
    ),
    Function(
        "beta_density",
        beta_density,
        parameters=3,
        points=((-0.5, 1.5, 2.0, 0.25), (2.0, 3.0, -1.0, 0.5), (0.0, 0.0, 0.5, 0.75)),
        settings=(at(-0.5, 1.5, 2),),
        near=(1.0,),
        **UNIT,
    ),
    Function("beta", beta, points=((0.5, 1.5), (-1.5, 0.5)), **(OF_TWO | {"digits": 450})),
    Function(
        "beta_derivative",
        beta,
        parameters=2,
        orders=2,
        points=((1.0, 1.0, 0.5, 1.5), (1.0, 1.0, 40.0, 3.0)),
        without="the derivative of beta, in whose rows it is",
        **SPECIAL,
    ),
    Function(
        "poch",
        lambda z, m: gamma(z + m) * rgamma(z),
        points=((0.5, 1.5), (-2.0, 3.5), (-1.5, 0.0)),
        **OF_TWO,
    ),
    Function(
        "binom",
        lambda n, k: gamma(n + 1) * (rgamma(k + 1) * rgamma(n - k + 1)),
        points=((3.5, 1.5), (2.0, 5.0), (0.5, -2.0)),
        drawn=lambda n, k: k < n,
        **OF_TWO,
    ),
    Function(
        "betaln",
        lambda a, b: psi(-1)(a) + psi(-1)(b) - psi(-1)(a + b),
        points=((0.5, 0.5), (2.0, 3.0), (1.0, 40.0), (7.5, 0.25), (1e-3, 2.0)),
        **(OF_TWO | {"high": 1e8}),
    ),
    Function(
        "jv",
        lambda n, z: bessel("j", n)(z),
        points=(*of_orders((0, 3), 0.5, -3.25, 12.0), *OF_REAL_ORDER),
        **BESSEL,
        **of_bessel(-1e5, (2.404825557695773,)),
    ),
    Function(
        "yv",
        lambda n, z: bessel("y", n)(z),
        points=(*of_orders((0, 3), 0.5, 7.25), *OF_REAL_ORDER),
        **BESSEL,
        **of_bessel(LEAST, (0.8935769662791675,), -1),
    ),
    Function(
        "iv",
        lambda n, z: bessel("i", n)(z),
        points=(*of_orders((0, 3), 0.5, -3.25, 12.0), *OF_REAL_ORDER),
        **BESSEL,
        **of_bessel(-1e5),
    ),
    Function(
        "kv",
        lambda n, z: bessel("k", n)(z),
        points=(*of_orders((0, 3), 0.5, 12.0), *OF_REAL_ORDER),
        **BESSEL,
        **of_bessel(LEAST),
    ),
    *(
        Function(
            name,
            polynomial(name),
            parameters=1,
            points=of_orders((0, 3), 0.625, -0.25, 3.0),
            settings=each(2, 7, 50),
            near=(0.5, 1.0, -1.0),
            **SPECIAL,
        )
        for name in POLYNOMIALS
    ),
    *(
        Function(
            name,
            polynomial(name),
            parameters=2,
            points=tuple((float(n), a, x) for n, x in ((0, 0.5), (4, -0.25)) for a in (1.5, 2.75)),
            settings=(at(7, 2.5), at(6, 0.3), at(50, 0.3)),
            near=(0.5, 1.0, -1.0),
            **SPECIAL,
        )
        for name in ("eval_gegenbauer", "eval_genlaguerre")
    ),
    *(
        row
        for name, f, domain in (
            ("ellipk", lambda z: elliptic(False, 1 - z), BELOW_ONE),
            ("ellipe", lambda z: elliptic(True, 1 - z), BELOW_ONE),
        )
        for row in with_derivative(
            name,
            f,
            ELLIPTIC,
            of_orders((3,), *ELLIPTIC),
            {"near": (1.0,)},
            near=(1.0, 0.5),
            **SPECIAL,
            **domain,
        )
    ),
    *with_derivative(
        "ellipkm1",
        lambda z: elliptic(False, z),
        (0.5, 1.25, 0.25),
        ((1.0, 0.5), (3.0, 1.25)),
        {"near": (1.0,)},
        near=(1.0, 0.5),
        low=LEAST,
        **SPECIAL,
    ),
    *(
        row
        for name, f, ones, high in (
            ("lambertw", lambertw, (0.5, -0.25, 3.0, 1e-3, 40.0, -0.3671875), LARGEST),
            ("lambertwm1", lambertwm1, (-0.25, -0.3671875, -0.0625), -LEAST),
        )
        for row in with_derivative(name, f, ones, of_orders((1, 4), *ones), high=high, **LAMBERT)
    ),
    *with_derivative(
        "zeta",
        zeta,
        (-3.5, 0.97, 3.5),
        ((1.0, -3.5), (1.0, 0.97), (4.0, 1.25)),
        {"near": (1.0, -2.7172628292045743), "compared": 70},
        near=(1.0, 0.0, -2.0, -100.0, -260.0),
        inside=lambda x: x != 1,
        low=-1e52,
        **SPECIAL,
    ),
    Function(
        "hurwitz_zeta",
        hurwitz,
        points=((3.5, 0.25),),
        settings=HURWITZ,
        near=(1.0,),
        inside=lambda s, q: s > 1 and q > 0,
        compared=70,
        **SPECIAL,
    ),
    Function(
        "hurwitz_zeta_derivative",
        hurwitz,
        points=((1.0, 3.5, 0.25),),
        settings=tuple(at(1, *one.constants, **one.more) for one in HURWITZ),
        near=(1.0,),
        inside=lambda s, q: s > 1 and q > 0,
        compared=70,
        **OF_DERIVATIVE,
    ),
    Function(
        "ive",
        lambda n, z: scaled_bessel("i", n, z),
        points=(*of_orders((0, 3), 0.5, -3.25, 40.0), *OF_REAL_ORDER),
        near=(20.0,),
        inside=lambda x: x != 0,
        settings=(*(at(n, low=-LARGEST) for n in (0, 1, 4)), *(at(n) for n in (0.5, -1.25))),
        **SCALED,
    ),
    Function(
        "kve",
        lambda n, z: scaled_bessel("k", n, z),
        points=((2.0, 12.0), *OF_REAL_ORDER),
        settings=each(0, 1, 4, 0.5, -1.25),
        **SCALED,
    ),
    Function(
        "ive_derivative",
        lambda n, z: scaled_bessel("i", n, z),
        points=((1.0, 0.0, 0.5), (2.0, 1.0, -3.25), (1.0, 2.5, 30.0), (3.0, 0.5, 0.0625)),
        settings=tuple(at(m, n, near=(20.0 + 2 * m,)) for m, n in ((1, 0), (3, 2), (2, 0.5))),
        **(SCALED | {"parameters": 2}),
        orders=1,
    ),
    Function(
        "kve_derivative",
        lambda n, z: scaled_bessel("k", n, z),
        points=((1.0, 0.0, 0.5), (2.0, 2.5, 30.0)),
        settings=(at(1, 0), at(3, 2), at(2, 0.5)),
        **(SCALED | {"parameters": 2}),
        orders=1,
    ),
    Function("sinc", sinc, near=(1.0, 2.0), low=-1e16, high=1e16, **SPECIAL),
    Function(
        "sinc_derivative",
        sinc,
        points=of_orders((1, 2, 3, 12), 1e-8, -0.32, 0.5, 1.0, 1.7, -4.1, 40.0, -800.0),
        settings=each(1, 4),
        low=-1e16,
        high=1e16,
        **OF_DERIVATIVE,
    ),
    Function("less", lambda a, b: b - a > 0, **STEP),
    Function("less_equal", lambda a, b: not a - b > 0, **STEP),
    Function("equal", lambda a, b: not (a - b > 0 or b - a > 0), **STEP),
    Function("not_equal", lambda a, b: a - b > 0 or b - a > 0, **STEP),
    Function("logical_and", lambda a, b: a * b != 0, **STEP),
    Function("logical_or", lambda a, b: a * a + b * b != 0, **STEP),
    Function("logical_xor", lambda a, b: (a != 0) + (b != 0) == 1, **STEP),
    Function("logical_not", lambda a: a * a == 0, **STEP),
    Function("sign", lambda x: (x > 0) - (x < 0), **STEP),
    Function("step", lambda x: x > 0, **STEP),
    Function(
        "gammasgn",
        lambda x: 1 if x >= 0 else math.nan if x == int(x) else (-1) ** -math.floor(x),
        **STEP,
    ),
    Function("floor", lambda x: max(k for k in range(-900, 900) if k <= x), **STEP),
    Function("ceil", lambda x: min(k for k in range(-900, 900) if k >= x), **STEP),
    Function("trunc", lambda x: int(x), **STEP),
    Function("round", lambda x: min(range(-900, 900), key=lambda k: (abs(k - x), k % 2)), **STEP),
    Function("floor_divide", lambda a, b: math.floor(Fraction(a) / Fraction(b)), **STEP),
)

TABLE = {row.name: row for row in FUNCTIONS}
SMOOTH = {name: row for name, row in TABLE.items() if row.kind != "step"}
STEPS = {name: row.f for name, row in TABLE.items() if row.kind == "step"}


@cache
def exact(name: str, point: tuple[float, ...], highest: int = 3) -> dict[tuple[int, ...], Any]:
    """Return all derivatives of a smooth function up to an order, to 60 digits."""
    row = SMOOTH[name]
    return row.derivatives(point, row.of_orders(highest), row.working_digits(point), 57)
