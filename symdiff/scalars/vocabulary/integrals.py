# ruff: noqa: N801
"""Exponential, sine and cosine integrals, Fresnel's, and Dawson's."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

import mpmath as mp
import sympy as sp

from symdiff.scalars.vocabulary.bessel import sinc
from symdiff.scalars.vocabulary.choices import at_zero, equal, less, logical_and, logical_or, where
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
)
from symdiff.scalars.vocabulary.regions import nonzero, positive

if TYPE_CHECKING:
    from collections.abc import Callable

    from mpmath import mpf

# Exponential integrals --------------------------------------------------------------------------


class expn(Transcendental):
    """E_n(x) = x^(n-1) ∫ e^-t t^-n dt from x to ∞, for a constant integer n and x >= 0.

    The derivative is -E_(n-1) (DLMF 8.19.13).  For orders below 1 it is e^-x times a polynomial in
    1/x with positive terms, so no order loses digits.
    """

    nargs = 2
    domain = _(lambda n, x: logical_or(positive(x), logical_and(at_zero(x), less(TWO, n))))
    orders = 1
    sympy = sp.expint
    partials = _(lambda n, x: (None, -expn(n - 1, x)))
    value = _(lambda n, x: _expn_value(integer_order("expn", n, None), x))

    @classmethod
    def eval(cls, *args: sp.Expr) -> sp.Expr | None:
        """Return 1/(n - 1) at 0 for n > 1; raises Unsupported unless n is an integer."""
        n, x = args
        if not n.is_number:
            return None
        integer_order("expn", n, None)
        return 1 / (n - 1) if x == 0 and n > 1 else None


def _expn_value(n: int, x: mpf) -> mpf:
    if not x >= 0:
        return mp.nan
    if not x:
        return mp.inf if n < 2 else 1 / mp.mpf(n - 1)
    if mp.isinf(x):
        return mp.mpf(0)
    with mp.extraprec(20):
        if n > 0:
            value = _expn_fraction(n, x) if x > n + mp.mp.prec else _expn_upwards(n, x)
        else:
            exponential = mp.exp(-x)
            value = exponential / x
            for k in range(1, 1 - n):
                value = (exponential + k * value) / x
    return +value


# mpmath's own E_n has no right digit for many n and x (14 times too large at n = 60, x = 210).


def _expn_upwards(n: int, x: mpf) -> mpf:
    """E_n from E_1 by DLMF 8.19.12, k E_(k+1) = e^-x - x E_k; its errors grow by x^k/k! < e^x."""
    with mp.extraprec(20 + 2 * int(x)):
        value, exponential = mp.e1(x), mp.exp(-x)
        for k in range(1, n):
            value = (exponential - x * value) / k
    return value


def _expn_fraction(n: int, x: mpf) -> mpf:
    """E_n by continued fraction DLMF 8.19.17; k steps leave a relative error of e^(-4 √(k x))."""
    tail = mp.mpf(0)
    for k in range(10 + int((mp.mp.prec / 4) ** 2 / x), 0, -1):
        tail = (n + k - 1) / (1 + k / (x + tail))
    return mp.exp(-x) / (x + tail)


class expi(Transcendental):
    """Ei(x), the principal value of ∫ e^t/t dt from -∞ to x; -E_1(-x) for x < 0."""

    nargs = 1
    domain = _(nonzero)
    sympy = sp.Ei
    partials = _(lambda x: (expi_derivative(ONE, x),))
    value = _(lambda x: _expi_value(x))


def _expi_value(x: mpf) -> mpf:
    if not mp.isfinite(x):
        return mp.mpf(0) if x < 0 else x
    return mp.ei(x) if x else mp.ninf


class expi_derivative(Ordered):
    """The n-th derivative of Ei, for a constant integer n >= 0; the first is e^x/x.

    It is one function because e^x overflows where e^x/x does not.  Also the terms of higher
    derivatives, in powers of 1/x with both signs, cancel for x > 0.
    """

    nargs = 2
    domain = _(lambda n, x: nonzero(x))
    of = expi
    definition = _(lambda n, x: differentiated("expi_derivative", sp.Ei, n, x))
    written = definition
    partials = _(lambda n, x: (None, expi_derivative(n + 1, x)))
    value = _(lambda n, x: _expi_derivative_value(integer_order("expi_derivative", n), x))


def _expi_derivative_value(n: int, x: mpf) -> mpf:
    if n == 0:
        return _expi_value(x)
    if not mp.isfinite(x):
        return mp.mpf(0) if x < 0 else x
    if not x:
        return -((-1) ** n) * mp.inf
    with mp.extraprec(mp.mp.prec + 20 + 10 * n):  # for arguments near a zero
        term = total = 1 / x
        for k in range(1, n):
            term *= -(n - k) / x
            total += term
        total *= mp.exp(x)
    return +total


# Sine and cosine integrals ----------------------------------------------------------------------


class sine_integral(Transcendental):
    """Si(x) = ∫ sin(t)/t dt from 0 to x; the derivative is ``sinc``, in NumPy's scale."""

    nargs = 1
    drawn = True
    sympy = sp.Si
    aliases = "Si"
    finite_partials = True
    partials = _(lambda x: (sinc(x / sp.pi),))
    value = _(lambda x: mp.si(x))

    @classmethod
    def eval(cls, *args: sp.Expr) -> sp.Expr | None:
        """0 at 0."""
        return ZERO if args[0] == 0 else None


class cosine_integral(Transcendental):
    """Ci(x) = γ + log(x) + ∫ (cos(t) - 1)/t dt from 0 to x, for x >= 0; else nan."""

    nargs = 1
    drawn = True
    domain = _(positive)
    sympy = sp.Ci
    aliases = "Ci"
    partials = _(lambda x: (cosine_integral_derivative(ONE, x),))
    value = _(lambda x: mp.nan if not x >= 0 else mp.ci(x) if x else mp.ninf)


class cosine_integral_derivative(Ordered):
    """The n-th derivative of Ci, for a constant integer n >= 0; the first is cos(x)/x.

    The terms of higher derivatives, in powers of 1/x, cancel for small x; x >= 0.
    """

    nargs = 2
    domain = _(lambda n, x: positive(x))
    of = cosine_integral
    definition = _(lambda n, x: differentiated("cosine_integral_derivative", sp.Ci, n, x))
    written = definition
    partials = _(lambda n, x: (None, cosine_integral_derivative(n + 1, x)))
    value = _(
        lambda n, x: _cosine_integral_value(integer_order("cosine_integral_derivative", n), x)
    )


def _cosine_integral_value(n: int, x: mpf) -> mpf:
    if n == 0 or not x >= 0:
        return cosine_integral.value(x)
    if not x or mp.isinf(x):
        return mp.mpf(0) if x else -((-1) ** n) * mp.inf
    with mp.extraprec(mp.mp.prec + 20 + 10 * n):
        # g_k, the k-th derivative of cos(x)/x, follows from x g_k + k g_(k-1) = cos⁽ᵏ⁾ x.
        sine, cosine = mp.sin(x), mp.cos(x)
        total = cosine / x
        for k in range(1, n):
            total = ((cosine, -sine, -cosine, sine)[k % 4] - k * total) / x
    return +total


class sinh_integral(Transcendental):
    """Shi(x) = ∫ sinh(t)/t dt from 0 to x."""

    nargs = 1
    drawn = True
    sympy = sp.Shi
    aliases = "Shi"
    partials = _(lambda x: (sinh_integral_derivative(ONE, x),))
    value = _(lambda x: mp.shi(x) if mp.isfinite(x) else x)

    @classmethod
    def eval(cls, *args: sp.Expr) -> sp.Expr | None:
        """0 at 0."""
        return ZERO if args[0] == 0 else None


class sinh_integral_derivative(Ordered):
    """The n-th derivative of Shi, for a constant integer n >= 0; the first is sinh(x)/x.

    The terms of higher derivatives, in powers of 1/x, cancel for small x.
    """

    nargs = 2
    of = sinh_integral
    definition = _(lambda n, x: differentiated("sinh_integral_derivative", sp.Shi, n, x))
    written = _(
        lambda n, x: where(
            equal(x, ZERO), (n % 2) / n, differentiated("sinh_integral_derivative", sp.Shi, n, x)
        )
    )
    partials = _(lambda n, x: (None, sinh_integral_derivative(n + 1, x)))
    value = _(
        lambda n, x: _hyperbolic_value(integer_order("sinh_integral_derivative", n), x, sinh=True)
    )


class cosh_integral(Transcendental):
    """Chi(x) = γ + log(x) + ∫ (cosh(t) - 1)/t dt from 0 to x, for x >= 0; else nan."""

    nargs = 1
    drawn = True
    domain = _(positive)
    sympy = sp.Chi
    aliases = "Chi"
    partials = _(lambda x: (cosh_integral_derivative(ONE, x),))
    value = _(
        lambda x: mp.nan if not x >= 0 else x if mp.isinf(x) else mp.re(mp.chi(x)) if x else mp.ninf
    )


class cosh_integral_derivative(Ordered):
    """The n-th derivative of Chi, for a constant integer n >= 0; the first is cosh(x)/x; x >= 0."""

    nargs = 2
    domain = _(lambda n, x: positive(x))
    of = cosh_integral
    definition = _(lambda n, x: differentiated("cosh_integral_derivative", sp.Chi, n, x))
    written = definition
    partials = _(lambda n, x: (None, cosh_integral_derivative(n + 1, x)))
    value = _(
        lambda n, x: _hyperbolic_value(integer_order("cosh_integral_derivative", n), x, sinh=False)
    )


def _hyperbolic_value(n: int, x: mpf, sinh: bool) -> mpf:
    if n == 0 or not (x >= 0 or sinh):
        return (sinh_integral if sinh else cosh_integral).value(x)
    if mp.isnan(x):
        return x
    if mp.isinf(x):
        return mp.inf if x > 0 or n % 2 else mp.ninf
    if not x:
        return (mp.mpf(n % 2) / n) if sinh else -((-1) ** n) * mp.inf
    # f_k, the k-th derivative of sinh(x)/x, follows from x f_k + k f_(k-1) = sinh⁽ᵏ⁾ x.  For small
    # x the terms are near x^k/k!, so cancellation takes more bits.
    with mp.extraprec(mp.mp.prec + 20 + 10 * n + 2 * (n + 1) * builtins.max(-mp.mag(x), 0)):
        both = mp.sinh(x), mp.cosh(x)
        total = both[not sinh] / x
        for k in range(1, n):
            total = (both[(k % 2) ^ (not sinh)] - k * total) / x
    return +total


# Fresnel integrals ------------------------------------------------------------------------------


class fresnel_sine(Transcendental):
    """S(x) = ∫ sin(πt²/2) dt from 0 to x."""

    nargs = 1
    drawn = True
    sympy = sp.fresnels
    aliases = "fresnels"
    finite_partials = True
    partials = _(lambda x: (chirp_sine(x),))
    value = _(lambda x: _fresnel_value(mp.fresnels, x))

    @classmethod
    def eval(cls, *args: sp.Expr) -> sp.Expr | None:
        """0 at 0."""
        return ZERO if args[0] == 0 else None


class fresnel_cosine(Transcendental):
    """C(x) = ∫ cos(πt²/2) dt from 0 to x."""

    nargs = 1
    drawn = True
    sympy = sp.fresnelc
    aliases = "fresnelc"
    finite_partials = True
    partials = _(lambda x: (chirp_cosine(x),))
    value = _(lambda x: _fresnel_value(mp.fresnelc, x))

    @classmethod
    def eval(cls, *args: sp.Expr) -> sp.Expr | None:
        """0 at 0."""
        return ZERO if args[0] == 0 else None


def _fresnel_value(function: Callable[..., mpf], x: mpf) -> mpf:
    if not mp.isfinite(x):
        return x if mp.isnan(x) else mp.sign(x) / 2
    return function(x)


class chirp_sine(Transcendental):
    """sin(πx²/2) with exact reduction of the phase for every x."""

    nargs = 1
    definition = _(lambda x: sp.sin(sp.pi * x**2 / 2))
    partials = _(lambda x: (sp.pi * x * chirp_cosine(x),))
    value = _(lambda x: _chirp_value(mp.sinpi, x))

    @classmethod
    def eval(cls, *args: sp.Expr) -> sp.Expr | None:
        """0 at 0."""
        return ZERO if args[0] == 0 else None


class chirp_cosine(Transcendental):
    """cos(πx²/2) with exact reduction of the phase for every x."""

    nargs = 1
    definition = _(lambda x: sp.cos(sp.pi * x**2 / 2))
    partials = _(lambda x: (-sp.pi * x * chirp_sine(x),))
    value = _(lambda x: _chirp_value(mp.cospi, x))

    @classmethod
    def eval(cls, *args: sp.Expr) -> sp.Expr | None:
        """1 at 0."""
        return ONE if args[0] == 0 else None


def _chirp_value(function: Callable[..., mpf], x: mpf) -> mpf:
    if not mp.isfinite(x):
        return mp.nan
    with mp.extraprec(mp.mp.prec + 2 * builtins.max(mp.mag(x), 0) if x else 0):  # x² is exact
        result = function(x * x / 2)
    return +result


# Dawson's integral ------------------------------------------------------------------------------


class dawsn(Transcendental):
    """F(x) = e^(-x²) ∫ e^(t²) dt from 0 to x."""

    nargs = 1
    finite_partials = True
    definition = _(lambda x: sp.sqrt(sp.pi) / 2 * sp.exp(-(x**2)) * sp.erfi(x))
    partials = _(lambda x: (dawsn_derivative(ONE, x),))
    value = _(lambda x: _dawsn_value(0, x))

    @classmethod
    def eval(cls, *args: sp.Expr) -> sp.Expr | None:
        """0 at 0."""
        return ZERO if args[0] == 0 else None


class dawsn_derivative(Ordered):
    """The n-th derivative of F, for a constant integer n >= 0.

    It is one function because the first, 1 - 2x F(x), cancels for large x.
    """

    nargs = 2
    of = dawsn
    finite_partials = True
    definition = _(lambda n, x: differentiated("dawsn_derivative", dawsn.definition, n, x))
    written = _(lambda n, x: by_slopes({dawsn: lambda t: 1 - 2 * t * dawsn(t)}, n, x))
    partials = _(lambda n, x: (None, dawsn_derivative(n + 1, x)))
    value = _(lambda n, x: _dawsn_value(integer_order("dawsn_derivative", n), x))


def _dawsn_value(n: int, x: mpf) -> mpf:
    if not mp.isfinite(x):
        return x if mp.isnan(x) else mp.mpf(0)
    return dawsn_series(n, x)[n] * mp.factorial(n)


def dawsn_series(n: int, x: mpf) -> list[mpf]:
    """Return the first n + 1 Taylor coefficients of F about a finite number x.

    They follow from F' = 1 - 2x F.

    >>> [mp.nstr(c, 5) for c in dawsn_series(3, mp.mpf(0))]
    ['0.0', '1.0', '0.0', '-0.66667']
    """
    mp = context(x)
    size = builtins.max(mp.mag(x), 0) if x else 0
    with mp.extraprec(mp.prec + 40 + 2 * (n + 1) * (size + 3)):  # each order cancels 2 mag(x)
        if x * x > mp.prec + 20:  # by the asymptotic series
            term, k, total = 1 / (2 * x), 0, mp.mpf(0)
            while mp.fabs(term) > mp.eps * mp.fabs(total):
                total += term
                k += 1
                term *= (2 * k - 1) / (2 * x * x)
        else:
            total = mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)
        coefficients = [total]
        for k in range(n):
            rest = -2 * coefficients[k - 1] if k else 1
            coefficients.append((rest - 2 * x * coefficients[k]) / (k + 1))
    return [+c for c in coefficients]
