# ruff: noqa: N801
"""Powers, lengths and angles, and the hyperbolic functions."""

from __future__ import annotations

import builtins
from functools import cache
from typing import TYPE_CHECKING

import mpmath as mp
import sympy as sp
from sympy.codegen import cfunctions

from symdiff.errors import Unsupported
from symdiff.scalars.vocabulary.choices import (
    at_origin,
    at_zero,
    equal,
    less,
    less_equal,
    logical_and,
    logical_or,
    not_equal,
    where,
)
from symdiff.scalars.vocabulary.facts import (
    MODERATE,
    ONE,
    TWO,
    ZERO,
    Decision,
    Ordered,
    ScalarFunction,
    _,
    integer_order,
    rational_or_none,
    real,
)
from symdiff.scalars.vocabulary.regions import inside_unit, nonzero, positive, smooth_power

if TYPE_CHECKING:
    from collections.abc import Callable

    from mpmath import mpf

# Powers, lengths and angles ---------------------------------------------------------------------


class zeros_in_power(Decision):
    """Whether the derivative of ``power`` by the base is that of a constant."""

    nargs = 2
    decides = "power"
    formula = _(at_origin)


class zero_in_power(Decision):
    """Whether the derivative of ``power`` by the exponent is that of a constant."""

    nargs = 2
    decides = "power"
    formula = _(lambda x, y: logical_and(equal(x, ZERO), less_equal(ZERO, y)))


class power(ScalarFunction):
    """x^y of real numbers: nan for a negative base unless y is an integer; x^0 = 1.

    Powers with a rational number as exponent are SymPy's ``Pow``; this class is for all others.

    The derivative is 0 at x = y = 0, and 0 by the exponent at x = 0 <= y.  A negative base gives
    nan only to the derivative by the exponent.  PyTorch masks the first at every y = 0, which makes
    the mixed derivative there, 1/x, zero.
    """

    nargs = 2
    caption = "①^②"
    domain = _(lambda x, y: logical_or(positive(x), logical_and(at_zero(x), smooth_power(y))))
    aliases = "pow"
    kinks = _(at_origin)
    math = "pow"
    definition = _(lambda x, y: x**y)
    partials = _(
        lambda x, y: (
            where(zeros_in_power(x, y), ZERO, y * power(x, y - 1)),
            where(zero_in_power(x, y), ZERO, power(x, y) * sp.log(x)),
        )
    )
    value = _(lambda x, y: mp.inf if x == 0 and y < 0 else real(mp.power)(x, y))

    @classmethod
    def eval(cls, *args: sp.Expr) -> sp.Expr | None:
        """Return ``Pow`` for a rational exponent, unless the base is outside its domain."""
        x, y = args
        if not y.is_Rational:
            return None
        if not x.is_number:
            return x**y
        real = x.is_Rational and (x > 0 or (y.is_Integer and (x or y >= 0)))
        return rational_or_none(x**y) if real and builtins.abs(y) <= MODERATE else None


class cbrt(ScalarFunction):
    """The real cube root, negative for negative x."""

    nargs = 1
    domain = _(nonzero)
    sympy = cfunctions.Cbrt
    definition = _(lambda x: sp.sign(x) * sp.Abs(x) ** sp.Rational(1, 3))
    partials = _(lambda x: (1 / (3 * cbrt(x) ** 2),))
    value = _(lambda x: -mp.cbrt(-x) if x < 0 else mp.cbrt(x))


class zero_in_norm(Decision):
    """Whether the operand of a square root is zero."""

    nargs = 1
    decides = "norm_sqrt"
    formula = _(at_zero)


class norm_sqrt(ScalarFunction):
    """√x with derivative 0 at 0: the square root in norms and standard deviations."""

    nargs = 1
    caption = "√•"
    domain = _(lambda x: less_equal(ZERO, x))
    drawn = True
    kinks = _(at_zero)
    called = "the square root in norm, std"
    numpy = math = "sqrt"
    definition = _(lambda x: sp.sqrt(x))
    partials = _(lambda x: (where(zero_in_norm(norm_sqrt(x)), ZERO, 1 / (2 * norm_sqrt(x))),))
    value = _(lambda x: mp.nan if x < 0 else mp.sqrt(x))


class hypot(ScalarFunction):
    """√(a² + b²) without overflow, with derivative 0 at the origin."""

    nargs = 2
    sympy = cfunctions.hypot
    large = True
    kinks = _(at_origin)
    finite_partials = True
    definition = _(lambda a, b: sp.sqrt(a**2 + b**2))
    partials = _(lambda a, b: (cosine(a, b), cosine(b, a)))
    value = _(mp.hypot)


class cosine(ScalarFunction):
    """a/hypot(a, b), the cosine of the angle between (a, b) and the first axis; 0 at the origin."""

    nargs = 2
    decides = "hypot"
    definition = _(
        lambda a, b: sp.Piecewise(
            (ZERO, sp.And(sp.Eq(a, 0), sp.Eq(b, 0))), (a / sp.sqrt(a**2 + b**2), True)
        )
    )
    written = _(lambda a, b: a / sp.sqrt(a**2 + b**2))
    partials = _(lambda a, b: (hypot_derivative(TWO, ZERO, a, b), hypot_derivative(ONE, ONE, a, b)))
    value = _(lambda a, b: a / mp.hypot(a, b) if a or b else mp.mpf(0))


class hypot1(ScalarFunction):
    """√(1 + x²) without overflow."""

    nargs = 1
    finite_partials = True
    definition = _(lambda x: sp.sqrt(1 + x**2))
    partials = _(lambda x: (cosine(x, ONE),))
    value = _(lambda x: mp.hypot(1, x))


class tanh(ScalarFunction):
    """The hyperbolic tangent; its derivative is not 1 - tanh², which would lose digits."""

    nargs = 1
    sympy = sp.tanh
    large = True
    finite_partials = True
    partials = _(lambda x: (sech2(x),))
    value = _(mp.tanh)


class sech(ScalarFunction):
    """1/cosh(x); it does not overflow where cosh(x) does."""

    nargs = 1
    sympy = sp.sech
    finite_partials = True
    partials = _(lambda x: (-sech(x) * tanh(x),))
    value = _(mp.sech)


class sech2(ScalarFunction):
    """1/cosh(x)², the derivative of tanh; one function, so that its derivatives are products."""

    nargs = 1
    finite_partials = True
    definition = _(lambda x: sp.sech(x) ** 2)
    partials = _(lambda x: (-2 * sech2(x) * tanh(x),))
    value = _(lambda x: mp.sech(x) ** 2)


class asinh(ScalarFunction):
    """The inverse of sinh; with hypot1 its derivative is valid beyond 1e154, where x² overflows."""

    nargs = 1
    aliases = "arcsinh"
    sympy = sp.asinh
    finite_partials = True
    partials = _(lambda x: (1 / hypot1(x),))
    value = _(mp.asinh)


class asin(ScalarFunction):
    """The inverse of sin, in [-π/2, π/2]."""

    nargs = 1
    domain = _(inside_unit)
    aliases = "arcsin"
    sympy = sp.asin
    partials = _(lambda x: (asin_slope(x),))
    value = _(real(mp.asin))


class acos(ScalarFunction):
    """The inverse of cos, in [0, π]."""

    nargs = 1
    domain = _(inside_unit)
    aliases = "arccos"
    sympy = sp.acos
    partials = _(lambda x: (-asin_slope(x),))
    value = _(real(mp.acos))


class atanh(ScalarFunction):
    """The inverse of tanh, infinite at -1 and 1."""

    nargs = 1
    domain = _(inside_unit)
    aliases = "arctanh"
    sympy = sp.atanh
    partials = _(lambda x: (atanh_slope(x),))
    value = _(real(lambda x: x * mp.inf if mp.fabs(x) == 1 else mp.atanh(x)))


class asin_slope(ScalarFunction):
    """1/√(1 - x²), the derivative of asin; as 1/√((1 - x)(1 + x)) it keeps its digits near ±1.

    Near ±1 the rounding error of x² is a large part of 1 - x², while 1 - x is exact.
    """

    nargs = 1
    domain = _(inside_unit)
    definition = _(lambda x: 1 / sp.sqrt(1 - x**2))
    partials = _(lambda x: (x * asin_slope(x) ** 3,))
    value = _(real(lambda x: 1 / mp.sqrt((1 - x) * (1 + x)) if mp.fabs(x) != 1 else mp.inf))


class atanh_slope(ScalarFunction):
    """1/(1 - x²), the derivative of atanh; as 1/((1 - x)(1 + x)) it keeps its digits near ±1."""

    nargs = 1
    domain = _(lambda x: logical_and(not_equal(x, ONE), not_equal(x, -ONE)))
    definition = _(lambda x: 1 / (1 - x**2))
    partials = _(lambda x: (2 * x * atanh_slope(x) ** 2,))
    value = _(real(lambda x: 1 / ((1 - x) * (1 + x)) if mp.fabs(x) != 1 else mp.inf))


class acosh(ScalarFunction):
    """The inverse of cosh on [1, ∞)."""

    nargs = 1
    domain = _(lambda x: less(ONE, x))
    aliases = "arccosh"
    sympy = sp.acosh
    partials = _(lambda x: (acosh_slope(x),))
    value = _(real(mp.acosh))


class acosh_slope(ScalarFunction):
    """1/√(x² - 1) without overflow, the derivative of acosh.

    Its own is -x times its cube, where x times the slope s is √(1 + s²).
    """

    nargs = 1
    domain = _(lambda x: less(ONE, x))
    definition = _(lambda x: 1 / (sp.sqrt(x - 1) * sp.sqrt(x + 1)))
    partials = _(lambda x: (-(acosh_slope(x) ** 2) * hypot1(acosh_slope(x)),))
    value = _(real(lambda x: 1 / (mp.sqrt(x - 1) * mp.sqrt(x + 1)) if x != 1 else mp.inf))


class atan2(ScalarFunction):
    """The angle of the point (x, y) to the first axis, in (-π, π]; derivative 0 at the origin.

    ∂/∂y = x/r² = cos/r and ∂/∂x = -y/r² = -sin/r.
    """

    nargs = 2
    aliases = "arctan2"
    sympy = sp.atan2
    kinks = _(at_origin)
    partials = _(
        lambda y, x: (atan2_derivative(ONE, ZERO, y, x), atan2_derivative(ZERO, ONE, y, x))
    )
    value = _(mp.atan2)


class Planar(Ordered):
    """A mixed derivative of order n by the first and m by the second coordinate, 0 at the origin.

    With cosine c and sine s of the direction and length r it is P(c, s)/r^q with a homogeneous
    polynomial P (``planar``).  As one function it is inf where it is infinite.  As a sum of terms
    in powers of r it would be nan there, and lose digits elsewhere.
    """

    nargs = 4
    orders = 2
    decides_at = _(lambda n, m, a, b: at_origin(a, b))


def _planar_definition(
    n: sp.Expr, m: sp.Expr, a: sp.Expr, b: sp.Expr, function: Callable[..., sp.Expr]
) -> sp.Expr:
    if not (n.is_Integer and m.is_Integer):
        raise Unsupported(f"{function.__name__}: the orders {n} and {m} are not numbers")
    at = sp.symbols("a b", real=True, cls=sp.Dummy)
    derivative = function(*at).diff(*((x, int(k)) for x, k in zip(at, (n, m), strict=True)))
    origin = sp.And(sp.Eq(a, 0), sp.Eq(b, 0))
    return sp.Piecewise((ZERO, origin), (derivative.subs(dict(zip(at, (a, b), strict=True))), True))


def _planar_formula(name: str, n: sp.Expr, m: sp.Expr, a: sp.Expr, b: sp.Expr) -> sp.Expr:
    """The same derivative as a polynomial in a and b over a power of a² + b²."""
    q, terms = planar(name, int(n), int(m))
    degree = sum(terms[0][:2])
    return sum(k * a**i * b**j for i, j, k in terms) / (a**2 + b**2) ** sp.Rational(q + degree, 2)


def _planar_value(name: str, n: mpf, m: mpf, a: mpf, b: mpf) -> mpf:
    if not a and not b:
        return mp.mpf(0)
    q, terms = planar(name, integer_order(name, n), integer_order(name, m))
    with mp.extraprec(20):
        r = mp.hypot(a, b)
        total = mp.fsum(k * (a / r) ** i * (b / r) ** j for i, j, k in terms) / r**q
    return +total


@cache
def planar(name: str, n: int, m: int) -> tuple[int, tuple[tuple[int, int, int], ...]]:
    """Return the power q of 1/r, and the terms (i, j, k) of k c^i s^j, for a positive order.

    From ∂/∂a P(a/r, b/r)/r^q = (∂P/∂c (c² + s²) - (d + q) c P)/r^(q+1) for P of degree d.

    >>> planar("hypot_derivative", 2, 0), planar("atan2_derivative", 1, 1)
    ((1, ((0, 2, 1),)), (2, ((0, 2, -1), (2, 0, 1))))
    """
    q, first, second = {
        "hypot_derivative": (0, (1, 0, 1), (0, 1, 1)),
        "atan2_derivative": (1, (0, 1, 1), (1, 0, -1)),
    }[name]
    i, j, k = first if n else second
    terms: dict[tuple[int, int], int] = {(i, j): k}
    degree = 1
    for by_first in (*[True] * builtins.max(n - 1, 0), *[False] * (m if n else m - 1)):
        powers: dict[tuple[int, int], int] = {}
        for (i, j), k in terms.items():
            power = i if by_first else j
            one_less = (i - 1, j) if by_first else (i, j - 1)
            for more in ((2, 0), (0, 2)) if power else ():
                key = (one_less[0] + more[0], one_less[1] + more[1])
                powers[key] = powers.get(key, 0) + power * k
            key = (i + 1, j) if by_first else (i, j + 1)
            powers[key] = powers.get(key, 0) - (degree + q) * k
        terms = {key: k for key, k in powers.items() if k}
        degree, q = degree + 1, q + 1
    return q, tuple((i, j, k) for (i, j), k in sorted(terms.items()))


class hypot_derivative(Planar):
    """The derivative of hypot(a, b) of order n by a and m by b, n + m > 0; 0 at the origin."""

    decides = "hypot"
    definition = _(
        lambda n, m, a, b: _planar_definition(n, m, a, b, lambda x, y: sp.sqrt(x**2 + y**2))
    )
    written = _(lambda n, m, a, b: _planar_formula("hypot_derivative", n, m, a, b))
    partials = _(
        lambda n, m, a, b: (
            None,
            None,
            hypot_derivative(n + 1, m, a, b),
            hypot_derivative(n, m + 1, a, b),
        )
    )
    value = _(lambda n, m, a, b: _planar_value("hypot_derivative", n, m, a, b))


class atan2_derivative(Planar):
    """The derivative of atan2(y, x) of order n by y and m by x, n + m > 0; 0 at the origin."""

    decides = "atan2"
    definition = _(lambda n, m, y, x: _planar_definition(n, m, y, x, lambda a, b: sp.atan2(a, b)))
    written = _(
        lambda n, m, y, x: where(
            at_origin(y, x), ZERO, _planar_formula("atan2_derivative", n, m, y, x)
        )
    )
    partials = _(
        lambda n, m, y, x: (
            None,
            None,
            atan2_derivative(n + 1, m, y, x),
            atan2_derivative(n, m + 1, y, x),
        )
    )
    value = _(lambda n, m, y, x: _planar_value("atan2_derivative", n, m, y, x))
