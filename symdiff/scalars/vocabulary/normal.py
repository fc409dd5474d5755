# ruff: noqa: N801
"""The normal distribution: its distribution function, the logarithm of it, and its quantiles."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

import mpmath as mp
import sympy as sp

from symdiff.scalars.vocabulary.error_functions import erfcinv, erfcinv_slope, erfcx
from symdiff.scalars.vocabulary.facts import (
    HALF,
    ONE,
    TURN,
    ZERO,
    Ordered,
    Transcendental,
    _,
    by_slopes,
    context,
    differentiated,
    integer_order,
)
from symdiff.scalars.vocabulary.regions import between

if TYPE_CHECKING:
    from mpmath import mpf

_ROOT = sp.sqrt(2)


class ndtr(Transcendental):
    """Φ(x) = 1/√(2π) ∫ e^(-t²/2) dt from -∞ to x = erfc(-x/√2)/2, accurate in its tail."""

    nargs = 1
    finite_partials = True
    definition = _(lambda x: sp.erfc(-x / _ROOT) / 2)
    partials = _(lambda x: (normal_density(ZERO, x),))
    value = _(lambda x: _ndtr_value(x))

    @classmethod
    def eval(cls, *args: sp.Expr) -> sp.Expr | None:
        """1/2 at 0."""
        return HALF if args[0] == 0 else None


def _ndtr_value(x: mpf) -> mpf:
    if not mp.isfinite(x):
        return x if mp.isnan(x) else mp.mpf(x > 0)
    with mp.extraprec(20):
        below = _tail(mp.fabs(x))
        result = 1 - below if x > 0 else below
    return +result


def _tail(x: mpf) -> mpf:
    """1 - Φ(x) for x >= 0."""
    mp = context(x)
    with mp.extraprec(2 * builtins.max(mp.mag(x), 0) if x else 0):
        return mp.exp(-x * x / 2) * erfcx.value(x / mp.sqrt(2)) / 2


class normal_density(Ordered):
    """The n-th derivative of φ(x) = e^(-x²/2)/√(2π), for a constant integer n >= 0.

    It is (-1)ⁿ Heₙ(x) φ(x), with a Hermite polynomial (DLMF 18.5.1).  As a separate factor, the
    density would have few digits near the smallest floats.
    """

    nargs = 2
    finite_partials = True
    definition = _(lambda n, x: differentiated("normal_density", _density, n, x))
    written = _(lambda n, x: differentiated("normal_density", _written_density, n, x))
    partials = _(lambda n, x: (None, normal_density(n + 1, x)))
    value = _(lambda n, x: _normal_density_value(integer_order("normal_density", n), x))


def _density(x: sp.Expr, turn: sp.Expr = 2 * sp.pi) -> sp.Expr:
    return sp.exp(-(x**2) / 2) / sp.sqrt(turn)


def _written_density(x: sp.Expr) -> sp.Expr:
    return _density(x, TURN)


def _normal_density_value(n: int, x: mpf) -> mpf:
    if not mp.isfinite(x):
        return x if mp.isnan(x) else mp.mpf(0)
    size = builtins.max(mp.mag(x), 0) if x else 0
    with mp.extraprec(mp.mp.prec + 4 * n + 2 * size + 40):  # for arguments near a zero
        below, last = mp.mpf(0), mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)
        for k in range(1, n + 1):
            below, last = last, -x * last - (k - 1) * below
    return +last


class log_ndtr(Transcendental):
    """log Φ(x), finite where Φ(x) is too small for a float."""

    nargs = 1
    finite_partials = True
    definition = _(lambda x: sp.log(sp.erfc(-x / _ROOT) / 2))
    partials = _(lambda x: (log_ndtr_derivative(ONE, x),))
    value = _(lambda x: _log_ndtr_value(0, x))


class log_ndtr_derivative(Ordered):
    """The n-th derivative of log Φ(x), for a constant integer n >= 0.

    The first is h = φ/Φ, the inverse Mills ratio, and h' = -h (x + h).  Higher ones are functions
    of their own: x + h is about -1/x for x -> -∞, and each order cancels more digits.
    """

    nargs = 2
    of = log_ndtr
    finite_partials = True
    definition = _(
        lambda n, x: differentiated(
            "log_ndtr_derivative", lambda t: sp.log(sp.erfc(-t / _ROOT) / 2), n, x
        )
    )
    written = _(
        lambda n, x: by_slopes(
            {log_ndtr: lambda t: _written_density(t) / ndtr(t), ndtr: _written_density}, n, x
        )
    )
    partials = _(lambda n, x: (None, log_ndtr_derivative(n + 1, x)))
    value = _(lambda n, x: _log_ndtr_value(integer_order("log_ndtr_derivative", n), x))


def _log_ndtr_value(n: int, x: mpf) -> mpf:
    if mp.isnan(x):
        return x
    if mp.isinf(x):
        return mp.mpf(0) if x > 0 or n > 2 else (mp.ninf, mp.inf, mp.mpf(-1))[n]
    return log_ndtr_series(n, x)[n] * mp.factorial(n)


def log_ndtr_series(n: int, x: mpf) -> list[mpf]:
    """Return the first n + 1 Taylor coefficients of log Φ about a finite number x.

    They follow from h' = -h (x + h) for h = φ/Φ.

    >>> [mp.nstr(c, 5) for c in log_ndtr_series(2, mp.mpf(0))]
    ['-0.69315', '0.79788', '-0.31831']
    """
    mp = context(x)
    size = builtins.max(mp.mag(x), 0) if x else 0
    with mp.extraprec(40 + 2 * (n + 1) * (size + 3)):  # each order cancels 2 mag(x) bits
        if x > 0:
            above = _tail(x)
            logarithm = mp.log1p(-above)
            ratio = mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi) / (1 - above)
        else:
            scaled = erfcx.value(-x / mp.sqrt(2))
            logarithm = mp.log(scaled / 2) - x * x / 2
            ratio = mp.sqrt(2 / mp.pi) / scaled
        h = [ratio]
        for k in range(1, n):
            square = mp.fsum(h[j] * h[k - 1 - j] for j in range(k))
            h.append(-(x * h[-1] + (h[-2] if k > 1 else 0) + square) / k)
        coefficients = [logarithm, *(c / k for k, c in enumerate(h, 1))]
    return [+c for c in coefficients]


class ndtri(Transcendental):
    """The inverse of Φ on [0, 1], accurate near 0."""

    nargs = 1
    domain = _(lambda x: between(ZERO, x, ONE))
    definition = _(lambda p: _ROOT * sp.erfinv(2 * p - 1))
    partials = _(lambda p: (-2 * _ROOT * erfcinv_slope(2 * p),))
    value = _(lambda p: -mp.sqrt(2) * erfcinv.value(2 * p))

    @classmethod
    def eval(cls, *args: sp.Expr) -> sp.Expr | None:
        """0 at 1/2."""
        return ZERO if args[0] == HALF else None
