# ruff: noqa: N801
"""Bessel functions, plain and scaled by exponentials, and the cardinal sine."""

from __future__ import annotations

import builtins
import math
from typing import TYPE_CHECKING, Any

import mpmath as mp
import sympy as sp

from symdiff.errors import Unsupported
from symdiff.scalars.vocabulary.choices import (
    abs,
    equal,
    less,
    logical_and,
    logical_or,
    sign,
    where,
)
from symdiff.scalars.vocabulary.facts import (
    HALF,
    ONE,
    ZERO,
    Ordered,
    ScalarFunction,
    Transcendental,
    _,
    by_slopes,
    differentiated,
    integer_order,
    real,
    real_order,
)
from symdiff.scalars.vocabulary.regions import positive, whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from mpmath import mpf

# Bessel functions -------------------------------------------------------------------------------


class Bessel(Transcendental):
    """A Bessel function with a constant real order n; nan for x < 0 unless n is an integer.

    The derivatives are half the sum or difference of the two neighbouring orders (DLMF 10.6.1 and
    10.29.1).  They are valid at x = 0, too, where orders that are not integers may have infinite
    ones.  A negative integer order equals the positive one up to the sign ``reflection`` (DLMF
    10.4.1, 10.27.1 and 10.27.3).
    """

    nargs = 2
    orders = 1
    drawn = True
    reflection = 1
    at_zero: Any = None  # the values at x = 0 of order 0 and of positive orders

    @classmethod
    def eval(cls, *args: sp.Expr) -> sp.Expr | None:
        """Make negative integer orders positive; raises Unsupported for a number that is none."""
        n, x = args
        if not n.is_number:
            return None
        real_order(cls.__name__, n)
        if n < 0:
            return cls.reflection ** int(-n) * cls(-n, x) if n % 1 == 0 else None
        return cls.at_zero[n != 0] if x == 0 and cls.at_zero else None


def _order_below(function: type[Bessel], n: sp.Expr, x: sp.Expr) -> sp.Expr:
    """The function of order n - 1, with order 1 in place of -1: J_0' is -J_1."""
    lowest = ONE - abs(sign(n))  # 1 for n = 0, else 0
    turned = function(n - 1 + 2 * lowest, x)
    return turned if function.reflection == 1 else (1 - 2 * lowest) * turned


class jv(Bessel):
    """J_n(x), the Bessel function of the first kind."""

    domain = _(lambda n, x: logical_or(whole(n), positive(x)))
    sympy = sp.besselj
    aliases = "jn jve"
    partials = _(lambda n, x: (None, HALF * _order_below(jv, n, x) - HALF * jv(n + 1, x)))
    value = _(lambda n, x: _first_kind(mp.besselj, real_order("jv", n), x, mp.mpf(0)))
    reflection, at_zero = -1, (ONE, ZERO)


class yv(Bessel):
    """Y_n(x), the Bessel function of the second kind; nan for x < 0."""

    domain = _(lambda n, x: positive(x))
    sympy = sp.bessely
    aliases = "yn yve"
    partials = _(lambda n, x: (None, HALF * _order_below(yv, n, x) - HALF * yv(n + 1, x)))
    value = _(lambda n, x: _second_kind(mp.bessely, real_order("yv", n), x))
    reflection = -1


class iv(Bessel):
    """I_n(x), the modified Bessel function of the first kind."""

    domain = _(lambda n, x: logical_or(whole(n), positive(x)))
    sympy = sp.besseli
    partials = _(lambda n, x: (None, HALF * _order_below(iv, n, x) + HALF * iv(n + 1, x)))
    value = _(lambda n, x: _first_kind(mp.besseli, real_order("iv", n), x, mp.inf))
    at_zero = (ONE, ZERO)


class kv(Bessel):
    """K_n(x) = K_-n(x), the modified Bessel function of the second kind; nan for x < 0."""

    domain = _(lambda n, x: positive(x))
    sympy = sp.besselk
    partials = _(lambda n, x: (None, -HALF * kv(abs(n - 1), x) - HALF * kv(n + 1, x)))
    value = _(lambda n, x: _second_kind(mp.besselk, real_order("kv", n), x))


def _first_kind(function: Callable[..., mpf], n: mpf, x: mpf, infinity: mpf) -> mpf:
    """J_n or I_n, infinite at 0 for a negative n that is not an integer."""
    if mp.isinf(x):
        if isinstance(n, int):
            return infinity if x > 0 or n % 2 == 0 else -infinity
        return infinity if x > 0 else mp.nan
    if x == 0 and n < 0 and not isinstance(n, int):
        return mp.sign(mp.rgamma(n + 1)) * mp.inf
    return real(function)(n, x)


def _second_kind(function: Callable[..., mpf], n: mpf, x: mpf) -> mpf:
    """Y_n or K_n, infinite at 0 except Y of orders -1/2, -3/2 ..., and complex below 0."""
    if mp.isinf(x) and x > 0:
        return mp.mpf(0)
    if x > 0:
        return real(function)(n, x)
    if x != 0:
        return mp.nan
    if function is mp.besselk:
        return mp.inf
    turn = mp.cospi(n) if n < 0 else mp.mpf(1)
    return -mp.sign(turn) * mp.inf if turn else mp.mpf(0)


class ive(Bessel):
    """e^-|x| I_n(x), which does not overflow.

    For an integer n it is even or odd.  At x = 0, a derivative whose two sides differ counts as 0.
    """

    domain = _(lambda n, x: logical_or(whole(n), positive(x)))
    definition = _(lambda n, x: sp.exp(-sp.Abs(x)) * sp.besseli(n, x))
    partials = _(lambda n, x: (None, ive_derivative(ONE, n, x)))
    value = _(lambda n, x: _scaled_first(0, real_order("ive", n), x))
    kinks = _(lambda n, x: logical_and(equal(n, ZERO), equal(x, ZERO)))
    at_zero = (ONE, ZERO)


class kve(Bessel):
    """e^x K_n(x) = e^x K_-n(x), which does not underflow; nan for x < 0."""

    domain = _(lambda n, x: positive(x))
    definition = _(lambda n, x: sp.exp(x) * sp.besselk(n, x))
    partials = _(lambda n, x: (None, kve_derivative(ONE, n, x)))
    value = _(lambda n, x: _scaled_second(0, real_order("kve", n), x))


class Scaled(Ordered):
    """The m-th derivative, m >= 0, of a scaled Bessel function with real order n; both constant.

    It is one function because the terms of the chain rule cancel for large x.  The derivative of
    e^-x I_0 by its scale is as large as the function, and the sum is smaller by the factor 1/x.
    """

    nargs = 3
    orders = 2

    @classmethod
    def eval(cls, *args: sp.Expr) -> sp.Expr | None:
        """Return ``of`` for m = 0; raises Unsupported for a number that is not an order."""
        m, n, x = args
        for order, kind in ((m, integer_order), (n, real_order)):
            if order.is_number:
                kind(cls.__name__, order)
        return cls.of(n, x) if cls.of and m == 0 else None


class ive_derivative(Scaled):
    """The m-th derivative of ive(n, x); at 0, for integers, both sides' value, or 0."""

    domain = _(lambda m, n, x: logical_or(whole(n), positive(x)))
    of = ive
    definition = _(
        lambda m, n, x: sp.exp(-sp.Abs(x)) * _leibniz(m, n, x, sp.besseli, HALF, -sp.sign(x))
    )
    written = _(lambda m, n, x: _leibniz(m, n, x, ive, HALF, -sign(x)))
    partials = _(lambda m, n, x: (None, None, ive_derivative(m + 1, n, x)))
    value = _(
        lambda m, n, x: _scaled_first(
            integer_order("ive_derivative", m), real_order("ive_derivative", n), x
        )
    )
    # Up to order |n| both sides agree at 0.
    decides = "ive"
    decides_at = _(lambda m, n, x: logical_and(equal(x, ZERO), less(abs(n), m)))


class kve_derivative(Scaled):
    """The m-th derivative of kve(n, x)."""

    domain = _(lambda m, n, x: positive(x))
    of = kve
    definition = _(lambda m, n, x: sp.exp(x) * _leibniz(m, n, x, sp.besselk, -HALF, ONE))
    written = _(lambda m, n, x: _leibniz(m, n, x, lambda k, t: kve(abs(k), t), -HALF, ONE))
    partials = _(lambda m, n, x: (None, None, kve_derivative(m + 1, n, x)))
    value = _(
        lambda m, n, x: _scaled_second(
            integer_order("kve_derivative", m), real_order("kve_derivative", n), x
        )
    )


def _leibniz(
    m: sp.Expr,
    n: sp.Expr,
    x: sp.Expr,
    function: Callable[..., sp.Expr],
    half: sp.Expr,
    scale: sp.Expr,
) -> sp.Expr:
    """Σ_j C(m, j) s^(m-j) f⁽ʲ⁾ with s² = 1, where f⁽ʲ⁾ is h^j Σ_i C(j, i) f_(n-j+2i).

    DLMF 10.29.5; the number h is 1/2 for I and -1/2 for K.
    """
    if m % 1 != 0:
        raise Unsupported(f"a derivative of {function.__name__}: the order {m} is not a number")
    m, total = int(m), 0
    for j in range(m + 1):
        slope = sum(math.comb(j, i) * function(n - j + 2 * i, x) for i in range(j + 1))
        total += math.comb(m, j) * (scale if (m - j) % 2 else 1) * half**j * slope
    return total


def _scaled_first(m: int, n: mpf, x: mpf) -> mpf:
    if isinstance(n, int):
        n = builtins.abs(n)
        odd = (m + n) % 2
        if x < 0:
            return (-1) ** odd * _scaled_first(m, n, -x)
        if x == 0:
            return mp.mpf(0) if odd or m < n else _at_origin(m, n)
    elif x == 0:
        sign = mp.rgamma(n + 1) * mp.rf(n - m + 1, m)
        return mp.sign(sign) * mp.inf if n < m else mp.mpf(0)
    if not 0 < x < mp.inf:
        return mp.nan if x < 0 or mp.isnan(x) else mp.mpf(0)
    return _scaled(m, n, x, mp.besseli, mp.mpf(1) / 2, -1)


def _at_origin(m: int, n: int) -> mpf:
    """The coefficient of x^m in e^-x I_n(x), times m!."""
    i = m - n
    terms = (
        mp.mpf(-1) ** i / (4**k * mp.factorial(k) * mp.factorial(n + k) * mp.factorial(i - 2 * k))
        for k in range(i // 2 + 1)
    )
    return mp.factorial(m) / 2**n * mp.fsum(terms)


def _scaled_second(m: int, n: mpf, x: mpf) -> mpf:
    if not 0 < x < mp.inf:
        return mp.mpf(0) if x > 0 else (-1) ** m * mp.inf if x == 0 else mp.nan
    return _scaled(m, n, x, mp.besselk, -mp.mpf(1) / 2, 1)


def _scaled(m: int, n: mpf, x: mpf, function: Callable[..., mpf], half: mpf, scale: int) -> mpf:
    # Each derivative cancels mag(x) bits, and another mag(x) where n is near √x.
    with mp.extraprec(40 + 2 * (m + 1) * builtins.max(mp.mag(x), 0) + 4 * m):
        result = _leibniz(m, n, x, function, half, scale) * mp.exp(scale * x)
    return +result


# The cardinal sine ------------------------------------------------------------------------------


class sinc(ScalarFunction):
    """sin(πx)/(πx), and 1 at 0: NumPy's convention."""

    nargs = 1
    finite_partials = True
    definition = _(lambda x: sp.sinc(sp.pi * x))
    partials = _(lambda x: (sinc_derivative(ONE, x),))
    value = _(mp.sincpi)


class sinc_derivative(Ordered):
    """The n-th derivative of sinc, for a constant integer n >= 0; accurate for every n and x.

    Its Taylor series, with t = πx, is πⁿ·Σₖ (-1)ᵏ t^(2k-n)/((2k+1)·(2k-n)!) over 2k >= n.
    """

    nargs = 2
    of = sinc
    finite_partials = True
    definition = _(
        lambda n, x: differentiated("sinc_derivative", lambda t: sp.sinc(sp.pi * t), n, x)
    )
    written = _(
        lambda n, x: where(equal(x, ZERO), _sinc_at_zero(n), by_slopes({sinc: _sinc_slope}, n, x))
    )
    partials = _(lambda n, x: (None, sinc_derivative(n + 1, x)))
    value = _(lambda n, x: _sinc_value(integer_order("sinc_derivative", n), x))


def _sinc_slope(x: sp.Expr) -> sp.Expr:
    return (sp.cos(sp.pi * x) - sinc(x)) / x


def _sinc_at_zero(n: sp.Expr) -> sp.Expr:
    return ZERO if n % 2 else (-1) ** (n / 2) * sp.pi**n / (n + 1)


def _sinc_value(n: int, x: mpf) -> mpf:
    size = mp.fabs(x) * mp.pi
    if not size < n:  # t·f = sin t differentiated n times gives t·fₙ + n·fₙ₋₁ = sin⁽ⁿ⁾ t
        with mp.extraprec(20):
            t, sine, cosine = mp.pi * x, mp.sinpi(x), mp.cospi(x)
            total = sine / t
            for k in range(1, n + 1):
                total = ((sine, cosine, -sine, -cosine)[k % 4] - k * total) / t
            total *= mp.pi**n
        return +total
    with mp.extraprec(20 + 3 * n):  # the terms grow to e^|t| < 2^(3n/2), and cancel down to 1/n
        t, k = mp.pi * x, (n + 1) // 2
        term = (-1) ** k * t ** (2 * k - n) / mp.mpf(1)
        total = mp.mpf(0)
        while term and (2 * k - n <= size or mp.fabs(term) > mp.eps * mp.fabs(total)):
            total += term / (2 * k + 1)
            k += 1
            term *= -t * t / ((2 * k - n) * (2 * k - n - 1))
        total *= mp.pi**n
    return +total
