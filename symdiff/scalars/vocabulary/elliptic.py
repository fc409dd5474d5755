# ruff: noqa: N801
"""The complete elliptic integrals with the parameter m = k².

Numbers in brackets are those of the Digital Library of Mathematical Functions.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import mpmath as mp
import sympy as sp

from symdiff.scalars.vocabulary.choices import equal, less, where
from symdiff.scalars.vocabulary.facts import (
    HALF,
    ONE,
    ZERO,
    Ordered,
    Transcendental,
    _,
    by_slopes,
    differentiated,
    integer_order,
    settled,
)
from symdiff.scalars.vocabulary.regions import positive

if TYPE_CHECKING:
    from collections.abc import Callable

    from mpmath import mpf


class ellipk(Transcendental):
    """K(m), the integral of 1/√(1 - m sin²θ) over 0 <= θ <= π/2, for m <= 1."""

    nargs = 1
    domain = _(lambda m: less(m, ONE))
    sympy = sp.elliptic_k
    drawn = True
    partials = _(lambda m: (ellipk_derivative(ONE, m),))
    value = _(lambda m: _value(HALF, 0, m, 1 - m))


class ellipkm1(Transcendental):
    """K(1 - p) for p >= 0, infinite at 0, with all its digits for small p."""

    nargs = 1
    domain = _(positive)
    drawn = True
    definition = _(lambda p: sp.elliptic_k(1 - p))
    partials = _(lambda p: (ellipkm1_derivative(ONE, p),))
    value = _(lambda p: _complement_value(0, p))


class ellipe(Transcendental):
    """E(m), the integral of √(1 - m sin²θ) over 0 <= θ <= π/2, for m <= 1."""

    nargs = 1
    domain = _(lambda m: less(m, ONE))
    sympy = sp.elliptic_e
    drawn = True
    partials = _(lambda m: (ellipe_derivative(ONE, m),))
    value = _(lambda m: _value(-HALF, 0, m, 1 - m))


class ellipk_derivative(Ordered):
    """The n-th derivative of K, for a constant integer n >= 0.

    It is an integral of a positive function.  But (E - (1 - m) K)/(2m (1 - m)) is a difference that
    cancels for small m [19.4.1], more so for higher orders.
    """

    nargs = 2
    domain = _(lambda n, m: less(m, ONE))
    definition = _(lambda n, m: differentiated("ellipk_derivative", sp.elliptic_k, n, m))
    written = _(
        lambda n, m: where(equal(m, ZERO), _at_zero(HALF, n), by_slopes(_slopes(ellipk), n, m))
    )
    partials = _(lambda n, m: (None, ellipk_derivative(n + 1, m)))
    value = _(lambda n, m: _value(HALF, integer_order("ellipk_derivative", n), m, 1 - m))


class ellipkm1_derivative(Ordered):
    """The n-th derivative of K(1 - p) by p, for a constant integer n >= 0."""

    nargs = 2
    domain = _(lambda n, p: positive(p))
    definition = _(
        lambda n, p: differentiated("ellipkm1_derivative", lambda t: sp.elliptic_k(1 - t), n, p)
    )
    written = _(
        lambda n, p: where(
            equal(p, ONE),
            (-1) ** n * _at_zero(HALF, n),
            (-1) ** n * by_slopes(_slopes(ellipk), n, 1 - p).subs(ellipk(1 - p), ellipkm1(p)),
        )
    )
    partials = _(lambda n, p: (None, ellipkm1_derivative(n + 1, p)))
    value = _(lambda n, p: _complement_value(integer_order("ellipkm1_derivative", n), p))


class ellipe_derivative(Ordered):
    """The n-th derivative of E, for a constant integer n >= 0; (E - K)/(2m) cancels [19.4.2]."""

    nargs = 2
    domain = _(lambda n, m: less(m, ONE))
    definition = _(lambda n, m: differentiated("ellipe_derivative", sp.elliptic_e, n, m))
    written = _(
        lambda n, m: where(equal(m, ZERO), _at_zero(-HALF, n), by_slopes(_slopes(ellipe), n, m))
    )
    partials = _(lambda n, m: (None, ellipe_derivative(n + 1, m)))
    value = _(lambda n, m: _value(-HALF, integer_order("ellipe_derivative", n), m, 1 - m))


def _slopes(first: type[Transcendental]) -> dict[Any, Callable[[sp.Expr], sp.Expr]]:
    """The derivatives of K and E [19.4.1, 19.4.2], that of ``first`` first."""
    slopes = {
        ellipk: lambda m: (ellipe(m) - (1 - m) * ellipk(m)) / (2 * m * (1 - m)),
        ellipe: lambda m: (ellipe(m) - ellipk(m)) / (2 * m),
    }
    return {first: slopes[first], **slopes}


def _at_zero(a: sp.Rational, n: sp.Expr) -> sp.Expr:
    """The n-th derivative of π/2 F(a, 1/2; 1; m) at m = 0."""
    return sp.pi / 2 * sp.rf(a, n) * sp.rf(HALF, n) / sp.factorial(n)


def _complement_value(n: int, p: mpf) -> mpf:
    extra = 10 + (abs(mp.mag(p)) if p and mp.isfinite(p) else 0)
    with mp.extraprec(extra):
        m = 1 - p
    return (-1) ** n * _value(HALF, n, m, p)


def _value(a: sp.Rational, n: int, m: mpf, rest: mpf) -> mpf:
    """The n-th derivative of π/2 F(a, 1/2; 1; m) [19.5.1, 19.5.2], where ``rest`` is 1 - m."""
    of_k = a > 0
    if rest == 0:
        return mp.inf if of_k else mp.mpf(1) if n == 0 else mp.ninf
    if rest == mp.inf:
        return mp.mpf(0) if of_k or n else mp.inf
    if not rest > 0:
        return mp.nan
    low, half = mp.mpf(a.p) / a.q, mp.mpf(1) / 2
    if mp.fabs(m) < half:  # its own series, differentiated [15.5.2]
        scale = mp.pi / 2 * mp.rf(low, n) * mp.rf(half, n) / mp.factorial(n)
        return scale * mp.hyp2f1(low + n, half + n, n + 1, m)
    return settled(partial(_by_recurrence, of_k, n, m, rest))


def _by_recurrence(of_k: bool, n: int, m: mpf, rest: mpf) -> mpf:
    """Continue the first two by derivatives of the hypergeometric equation [15.10.1]."""
    k_value = mp.pi / 2 / mp.agm(1, mp.sqrt(rest))
    e_value = mp.ellipe(m)
    below, last, a = e_value, (e_value - k_value) / (2 * m), -mp.mpf(1) / 2
    if of_k:
        below, last, a = k_value, (e_value - rest * k_value) / (2 * m * rest), mp.mpf(1) / 2
    for k in range(n):
        slope = k + 1 - (2 * k + a + mp.mpf(3) / 2) * m
        above = ((k + a) * (k + mp.mpf(1) / 2) * below - slope * last) / (m * rest)
        below, last = last, above
    return below
