# ruff: noqa: N801
"""Bessel functions, and the cardinal sine."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import sympy as sp

from symdiff.vocabulary.choices import abs, sign
from symdiff.vocabulary.facts import (
    HALF,
    ONE,
    ZERO,
    Ordered,
    ScalarFunction,
    Transcendental,
    _,
    differentiated,
    integer_order,
    real,
)

# Bessel functions -------------------------------------------------------------------------------


class Bessel(Transcendental):
    """A Bessel function of a constant integer order n.

    The derivatives are half of the sum or of the difference of the two neighbouring orders (DLMF
    10.6.1 and 10.29.1), and hold at x = 0 too.  A negative order is the positive one up to sign
    (DLMF 10.4.1, 10.27.1 and 10.27.3): that of ``reflection``.
    """

    nargs = 2
    orders = 1
    reflection = 1
    at_zero: Any = None  # the values at x = 0 of order 0 and of the others

    @classmethod
    def eval(cls, *args: sp.Expr) -> sp.Expr | None:
        """An order >= 0 for a negative one; raises Unsupported for a number that is no integer."""
        n, x = args
        if not n.is_number:
            return None
        integer_order(cls.__name__, n, None)
        if n < 0:
            return cls.reflection ** int(-n) * cls(-n, x)
        return cls.at_zero[n != 0] if x == 0 and cls.at_zero else None


def _below(function: type[Bessel], n: sp.Expr, x: sp.Expr) -> sp.Expr:
    """The function of order n - 1, that of order -1 written with order 1: J_0' is -J_1."""
    lowest = ONE - abs(sign(n))  # 1 for n = 0, else 0
    turned = function(n - 1 + 2 * lowest, x)
    return turned if function.reflection == 1 else (1 - 2 * lowest) * turned


class jv(Bessel):
    """J_n(x), the Bessel function of the first kind."""

    sympy = sp.besselj
    aliases = "jn"
    finite_partials = True
    partials = _(lambda n, x: (None, HALF * _below(jv, n, x) - HALF * jv(n + 1, x)))
    value = _(lambda n, x: real(mp.besselj)(integer_order("jv", n, None), x))
    reflection, at_zero = -1, (ONE, ZERO)


class yv(Bessel):
    """Y_n(x), the Bessel function of the second kind; nan for x < 0."""

    sympy = sp.bessely
    aliases = "yn"
    partials = _(lambda n, x: (None, HALF * _below(yv, n, x) - HALF * yv(n + 1, x)))
    value = _(lambda n, x: _second_kind(mp.bessely, integer_order("yv", n, None), x, -1))
    reflection = -1


class iv(Bessel):
    """I_n(x), the modified Bessel function of the first kind."""

    sympy = sp.besseli
    partials = _(lambda n, x: (None, HALF * _below(iv, n, x) + HALF * iv(n + 1, x)))
    value = _(lambda n, x: real(mp.besseli)(integer_order("iv", n, None), x))
    at_zero = (ONE, ZERO)


class kv(Bessel):
    """K_n(x), the modified Bessel function of the second kind; nan for x < 0."""

    sympy = sp.besselk
    partials = _(lambda n, x: (None, -HALF * _below(kv, n, x) - HALF * kv(n + 1, x)))
    value = _(lambda n, x: _second_kind(mp.besselk, integer_order("kv", n, None), x, 1))


def _second_kind(function: Any, n: int, x: Any, reflection: int) -> Any:
    """Y_n or K_n, which is infinite at 0 and complex below."""
    if not x > 0:
        sign_at_zero = reflection if n >= 0 else reflection ** (1 - n)
        return sign_at_zero * mp.inf if x == 0 else mp.nan
    return real(function)(n, x)


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
    finite_partials = True
    definition = _(
        lambda n, x: differentiated("sinc_derivative", lambda t: sp.sinc(sp.pi * t), n, x)
    )
    partials = _(lambda n, x: (None, sinc_derivative(n + 1, x)))
    value = _(lambda n, x: _sinc_value(integer_order("sinc_derivative", n), x))

    @classmethod
    def eval(cls, *args: sp.Expr) -> sp.Expr | None:
        """``sinc`` for n = 0; raises Unsupported for a number that is no order."""
        super().eval(*args)
        n, x = args
        return sinc(x) if n == 0 else None


def _sinc_value(n: int, x: Any) -> Any:
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
