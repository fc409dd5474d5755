# ruff: noqa: N801
"""The scaled and the inverse error functions."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

import mpmath as mp
import sympy as sp

from symdiff.scalars.vocabulary.choices import abs, less
from symdiff.scalars.vocabulary.facts import (
    ONE,
    TWO,
    ZERO,
    Ordered,
    Transcendental,
    _,
    by_slopes,
    context,
    differentiated,
    integer_order,
    real,
)
from symdiff.scalars.vocabulary.regions import between

if TYPE_CHECKING:
    from mpmath import mpf


class erfcx(Transcendental):
    """e^(x²)·erfc(x), which neither under- nor overflows for x > -26."""

    nargs = 1
    definition = _(lambda x: sp.exp(x**2) * sp.erfc(x))
    partials = _(lambda x: (erfcx_derivative(ONE, x),))
    value = _(lambda x: _erfcx_value(0, x))

    @classmethod
    def eval(cls, *args: sp.Expr) -> sp.Expr | None:
        """1 at 0."""
        return ONE if args[0] == 0 else None


class erfcx_derivative(Ordered):
    """The n-th derivative of erfcx, for a constant integer n >= 0.

    It is one function because 2x·erfcx(x) - 2/√π cancels for x > 0, more so for larger x.
    """

    nargs = 2
    of = erfcx
    definition = _(
        lambda n, x: differentiated("erfcx_derivative", lambda t: sp.exp(t**2) * sp.erfc(t), n, x)
    )
    written = _(
        lambda n, x: by_slopes({erfcx: lambda t: 2 * t * erfcx(t) - 2 / sp.sqrt(sp.pi)}, n, x)
    )
    partials = _(lambda n, x: (None, erfcx_derivative(n + 1, x)))
    value = _(lambda n, x: _erfcx_value(integer_order("erfcx_derivative", n), x))


def _erfcx_value(n: int, x: mpf) -> mpf:
    mp = context(x)
    if not mp.isfinite(x):
        return x if mp.isnan(x) else mp.mpf(0) if x > 0 else mp.inf * (-1) ** n
    size = builtins.max(mp.mag(x), 0) if x else 0
    # Each order cancels 2 mag(x) bits, and e^(4x²) is the most in all; further out only a tail
    # remains.
    with mp.extraprec(40 + 2 * (n + 1) * (size + 3)):
        if x > 0 and x * x > mp.prec + 20:  # e^(x²) erfc(x) by its asymptotic series
            term, k, total = 1 / (x * mp.sqrt(mp.pi)), 0, mp.mpf(0)
            while mp.fabs(term) > mp.eps * mp.fabs(total):
                total += term
                k += 1
                term *= -(2 * k - 1) / (2 * x * x)
        else:
            total = mp.exp(x * x) * mp.erfc(x)
        below, last = mp.mpf(0), total
        for k in range(1, n + 1):
            rest = -2 / mp.sqrt(mp.pi) if k == 1 else 2 * (k - 1) * below
            below, last = last, 2 * x * last + rest
    return +last


class erfinv(Transcendental):
    """The inverse of erf on [-1, 1]."""

    nargs = 1
    domain = _(lambda x: less(abs(x), ONE))
    sympy = sp.erfinv
    partials = _(lambda x: (sp.sqrt(sp.pi) / 2 * sp.exp(erfinv(x) ** 2),))
    value = _(lambda x: x * mp.inf if mp.fabs(x) == 1 else real(mp.erfinv)(x))

    @classmethod
    def eval(cls, *args: sp.Expr) -> sp.Expr | None:
        """0 at 0."""
        return ZERO if args[0] == 0 else None


class erfcinv(Transcendental):
    """The inverse of erfc on [0, 2], accurate near 0."""

    nargs = 1
    domain = _(lambda x: between(ZERO, x, TWO))
    sympy = sp.erfcinv
    definition = _(lambda x: sp.erfinv(1 - x))
    partials = _(lambda x: (erfcinv_slope(x),))
    value = _(lambda x: _erfcinv_value(x))

    @classmethod
    def eval(cls, *args: sp.Expr) -> sp.Expr | None:
        """0 at 1."""
        return ZERO if args[0] == 1 else None


def _erfcinv_value(x: mpf) -> mpf:
    if not 0 <= x <= 2:
        return mp.nan
    if x in (0, 2):
        return (1 - x) * mp.inf
    with mp.extraprec(10 + builtins.abs(mp.mag(x))):
        result = mp.erfinv(1 - x)
    return +result


class erfcinv_slope(Transcendental):
    """-√π/2·e^(y²) at y = erfcinv(x), the derivative of erfcinv; its own is 2·y times its square.

    It is one function because -√π/2·erfcx(y)/x, with the scaled erfcx(y) = e^(y²)·erfc(y), has a
    relative error that does not grow with y².
    """

    nargs = 1
    domain = _(lambda x: between(ZERO, x, TWO))
    definition = _(lambda x: -sp.sqrt(sp.pi) / 2 * sp.exp(sp.erfinv(1 - x) ** 2))
    written = _(lambda x: -sp.sqrt(sp.pi) / 2 * sp.exp(erfcinv(x) ** 2))
    partials = _(lambda x: (TWO * erfcinv(x) * erfcinv_slope(x) ** 2,))
    value = _(lambda x: _erfcinv_slope_value(x))


def _erfcinv_slope_value(x: mpf) -> mpf:
    if not 0 < x < 2:
        return mp.ninf if x in (0, 2) else mp.nan
    with mp.extraprec(20 + builtins.abs(mp.mag(x))):
        result = -mp.sqrt(mp.pi) / 2 * mp.exp(_erfcinv_value(x) ** 2)
    return +result
