# ruff: noqa: N801
"""Riemann's and Hurwitz's zeta functions.

Numbers in brackets are those of the Digital Library of Mathematical Functions.
"""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

import mpmath as mp
import sympy as sp

from symdiff.errors import Unsupported
from symdiff.scalars.vocabulary.choices import less, logical_and, maximum
from symdiff.scalars.vocabulary.facts import (
    ONE,
    ZERO,
    Ordered,
    Transcendental,
    _,
    context,
    integer_order,
    settled,
)
from symdiff.scalars.vocabulary.regions import nonzero, positive

if TYPE_CHECKING:
    from mpmath import mpf


class zeta(Transcendental):
    """Riemann's ζ(s) = Σ k^-s over k = 1, 2 ..., continued to all s but 1, where it is infinite."""

    nargs = 1
    domain = _(lambda s: nonzero(s - 1))
    sympy = sp.zeta
    drawn = True
    partials = _(lambda s: (zeta_derivative(ONE, s),))
    value = _(lambda s: _riemann(0, s))


class hurwitz_zeta(Transcendental):
    """Hurwitz's ζ(s, q) = Σ (q + k)^-s over k = 0, 1 ... for s > 1 and q > 0; else nan.

    It is infinite at s = 1, and at q = 0, -1, -2 ...
    """

    nargs = 2
    domain = _(lambda s, a: logical_and(less(ONE, s), positive(a)))
    drawn = True
    definition = _(lambda s, q: sp.zeta(s, q))
    partials = _(lambda s, q: (hurwitz_zeta_derivative(ONE, s, q), -s * hurwitz_zeta(s + 1, q)))
    value = _(lambda s, q: _hurwitz(0, s, q))


class zeta_derivative(Ordered):
    """The m-th derivative of Riemann's ζ, for a constant integer m >= 0.  SymPy has none."""

    nargs = 2
    domain = _(lambda m, s: nonzero(s - 1))
    partials = _(lambda m, s: (None, zeta_derivative(m + 1, s)))
    value = _(lambda m, s: _riemann(integer_order("zeta_derivative", m), s))

    @classmethod
    def definition(cls, *args: sp.Expr) -> sp.Expr:
        """Return ζ for m = 0; raises Unsupported for others."""
        return _in_sympy(*args)

    @classmethod
    def eval(cls, *args: sp.Expr) -> sp.Expr | None:
        """Return ζ for m = 0; raises Unsupported for a number that is not an order."""
        super().eval(*args)
        m, s = args
        return zeta(s) if m == 0 else None


class hurwitz_zeta_derivative(Ordered):
    """The m-th derivative of Hurwitz's ζ by s, for a constant integer m >= 0.  SymPy has none."""

    nargs = 3
    domain = _(lambda m, s, a: logical_and(less(ONE, s), positive(a)))
    partials = _(lambda m, s, q: (None, hurwitz_zeta_derivative(m + 1, s, q), _slope_by_q(m, s, q)))
    value = _(lambda m, s, q: _hurwitz(integer_order("hurwitz_zeta_derivative", m), s, q))

    @classmethod
    def definition(cls, *args: sp.Expr) -> sp.Expr:
        """Return ζ for m = 0; raises Unsupported for others."""
        return _in_sympy(*args)

    @classmethod
    def eval(cls, *args: sp.Expr) -> sp.Expr | None:
        """Return ζ for m = 0; raises Unsupported for a number that is not an order."""
        super().eval(*args)
        m, s, q = args
        return hurwitz_zeta(s, q) if m == 0 else None


def _in_sympy(m: sp.Expr, *args: sp.Expr) -> sp.Expr:
    if m != 0:
        raise Unsupported("SymPy's zeta has no derivative by its first argument")
    return sp.zeta(*args)


def _slope_by_q(m: sp.Expr, s: sp.Expr, q: sp.Expr) -> sp.Expr:
    """The m-th derivative by s of -s ζ(s + 1, q); for m = 0 the second term vanishes."""
    lower = maximum(m - 1, ZERO)
    return -s * hurwitz_zeta_derivative(m, s + 1, q) - m * hurwitz_zeta_derivative(lower, s + 1, q)


def _riemann(m: int, s: mpf) -> mpf:
    if s == 1:
        return (-1) ** m * mp.inf
    if not mp.isfinite(s):
        return mp.mpf(0 if m else 1) if s > 0 else mp.nan
    if m == 0 and s < 0 and mp.isint(s / 2):
        return mp.mpf(0)
    return settled(lambda: zeta_series(m + 1, s)[m] * mp.factorial(m))


def _hurwitz(m: int, s: mpf, q: mpf) -> mpf:
    if mp.isnan(s) or mp.isnan(q) or s < 1 or (q < 0 and not mp.isint(q)):
        return mp.nan
    if q <= 0:
        return mp.inf
    if s == 1:
        return (-1) ** m * mp.inf
    if s == mp.inf:
        return mp.inf if q < 1 else mp.mpf(1 if q == 1 and m == 0 else 0)
    if q == mp.inf:
        return mp.mpf(0)
    return settled(lambda: hurwitz_series(m + 1, s, q)[m] * mp.factorial(m))


def zeta_series(n: int, s: mpf) -> list[mpf]:
    """Return the first n coefficients of ζ(s + t) in powers of t, at the precision of s."""
    ctx = context(s)
    if s >= -1:
        return hurwitz_series(n, s, ctx.mpf(1))
    with ctx.extraprec(20 + builtins.max(ctx.mag(s), 0)):
        y = 1 - s  # ζ(s) = 2 (2π)^(s-1) sin(πs/2) Γ(1-s) ζ(1-s) [25.4.1]
        mirrored = [(-1) ** k * c for k, c in enumerate(hurwitz_series(n, y, ctx.mpf(1)))]
        slopes = [-((-1) ** k) * ctx.psi(k, y) / ctx.factorial(k) for k in range(n)]
        gamma = [ctx.gamma(y)]
        for k in range(1, n):
            gamma.append(ctx.fsum(gamma[k - 1 - i] * slopes[i] for i in range(k)) / k)
        sine, cosine = ctx.sinpi(s / 2), ctx.cospi(s / 2)
        cycle = (sine, cosine, -sine, -cosine)
        turned = [cycle[k % 4] * (ctx.pi / 2) ** k / ctx.factorial(k) for k in range(n)]
        power = _exponential(n, ctx.log(2 * ctx.pi), 2 * ctx.power(2 * ctx.pi, s - 1))
        return _product(_product(mirrored, gamma), _product(turned, power))


def hurwitz_series(n: int, s: mpf, q: mpf, regular: bool = False) -> list[mpf]:
    """Return the first n coefficients of ζ(s + t, q) in powers of t for q > 0.

    They have the precision of s, by Euler and Maclaurin's summation [25.11.5].  ``regular`` leaves
    out the pole, 1/(s + t - 1).
    """
    ctx = context(s)
    with ctx.extraprec(30 + 2 * n + builtins.max(ctx.mag(s), 0)):
        bound = ctx.mpf(2) ** -ctx.prec
        count = ctx.prec // 4 + n + 5
        total = [ctx.mpf(0)] * n
        for k in range(count):
            term = _exponential(n, -ctx.log(q + k), ctx.power(q + k, -s))
            total = [a + b for a, b in zip(total, term, strict=True)]
            # Once s exceeds q + k, all further terms together are below twice this one.
            small = (ctx.fabs(b) <= bound * ctx.fabs(a) for a, b in zip(total, term, strict=True))
            if s > q + k + 2 and not regular and all(small):
                return total
        end, log = q + count, ctx.log(q + count)
        power = _exponential(n + 1, -log, ctx.power(end, -s))
        tail = [end * c for c in power]
        if regular:
            tail[0] -= 1
        if s == 1:
            total = [a + b for a, b in zip(total, tail[1:], strict=True)]
        else:
            last = ctx.mpf(0)
            for k in range(n):
                last = (tail[k] - last) / (s - 1)
                total[k] += last
        total = [a + b / 2 for a, b in zip(total, power[:n], strict=False)]
        sizes = [ctx.fabs(c) for c in total]
        factor = [s / end, 1 / end, *[ctx.mpf(0)] * n][:n]  # (s + t)...(s + t + 2j - 2)/end^(2j-1)
        for j in range(1, 4 * ctx.prec):
            scale = ctx.bernoulli(2 * j) / ctx.factorial(2 * j)
            term = [scale * c for c in _product(power[:n], factor)]
            total = [a + b for a, b in zip(total, term, strict=True)]
            sizes = [ctx.fabs(b) + a for a, b in zip(sizes, term, strict=True)]
            if all(ctx.fabs(b) <= bound * a for a, b in zip(sizes, term, strict=True)):
                return total
            for i in (2 * j - 1, 2 * j):
                shifted = [ctx.mpf(0), *factor]
                factor = [((s + i) * c + b) / end for c, b in zip(factor, shifted, strict=False)]
    raise ctx.NoConvergence


def _exponential(n: int, rate: mpf, start: mpf) -> list[mpf]:
    """``start`` times e^(rate t)."""
    terms = [start]
    for k in range(1, n):
        terms.append(terms[-1] * rate / k)
    return terms


def _product(a: list[mpf], b: list[mpf]) -> list[mpf]:
    return [sum(a[i] * b[k - i] for i in range(k + 1)) for k in range(len(a))]
