# ruff: noqa: N801
"""Entropies and divergences, and the quotients in them."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

import mpmath as mp
import sympy as sp

from symdiff.scalars.vocabulary.choices import at_origin, logical_and, where
from symdiff.scalars.vocabulary.facts import ONE, ZERO, ScalarFunction, Transcendental, _
from symdiff.scalars.vocabulary.regions import nonzero, positive

if TYPE_CHECKING:
    from mpmath import mpf


def _of_weights(
    x: sp.Expr, y: sp.Expr, at_zero: sp.Expr, inside: sp.Expr, outside: sp.Expr = sp.oo
) -> sp.Expr:
    """A function of x >= 0 and y: its value at x = 0, inside its domain, and outside of it."""
    return sp.Piecewise(
        (at_zero, sp.And(sp.Eq(x, 0), y >= 0)),
        (inside, sp.And(x > 0, y > 0)),
        (outside, True),
    )


class entr(ScalarFunction):
    """-x·log(x), 0 at 0, and -∞ for x < 0 (a concave function, as SciPy's)."""

    nargs = 1
    domain = _(positive)
    definition = _(lambda x: _of_weights(x, ONE, ZERO, -x * sp.log(x), -sp.oo))
    partials = _(lambda x: (-1 - sp.log(x),))
    value = _(lambda x: -x * mp.log(x) if x > 0 else x if mp.isnan(x) or not x else mp.ninf)


class rel_entr(ScalarFunction):
    """x·log(x/y), 0 at x = 0 <= y, and ∞ outside of x, y > 0 (a convex function, as SciPy's).

    At (0, 0) its derivative by x is ∞, the limit of difference quotients.  Its derivative by y is 0
    there, by a mask for this point only, because x/y does not exist there.
    """

    nargs = 2
    domain = _(lambda a, b: logical_and(positive(a), positive(b)))
    definition = _(lambda x, y: _of_weights(x, y, ZERO, x * sp.log(x / y)))
    partials = _(lambda x, y: (1 + log_ratio(x, y), where(at_origin(x, y), ZERO, -x / y)))
    value = _(lambda x, y: x * _log_ratio_value(x, y) if _inside(x, y) else _outside(x, y, 0))


class kl_div(ScalarFunction):
    """x·log(x/y) - x + y, y at x = 0 <= y, and ∞ outside of x, y > 0 (convex, as SciPy's).

    It is 0 at x = y, and keeps its digits near there.  Its derivatives at (0, 0) are ∞ and 1.
    """

    nargs = 2
    domain = _(lambda a, b: logical_and(positive(a), positive(b)))
    definition = _(lambda x, y: _of_weights(x, y, y, x * sp.log(x / y) - x + y))
    partials = _(
        lambda x, y: (log_ratio(x, y), where(at_origin(x, y), ONE, -relative_difference(x, y)))
    )
    value = _(lambda x, y: _kl_div_value(x, y) if _inside(x, y) else _outside(x, y, y))


def _inside(x: mpf, y: mpf) -> bool:
    return bool(x > 0 and y > 0)


def _outside(x: mpf, y: mpf, at_zero: mpf) -> mpf:
    if mp.isnan(x) or mp.isnan(y):
        return mp.nan
    return mp.mpf(at_zero) if x == 0 and y >= 0 else mp.inf


def _kl_div_value(x: mpf, y: mpf) -> mpf:
    if not (mp.isfinite(x) and mp.isfinite(y)):
        return mp.nan if mp.isinf(x) and mp.isinf(y) else mp.inf
    difference = x - y
    if not difference:
        return mp.mpf(0)
    with mp.extraprec(20 + 2 * builtins.abs(mp.mag(difference) - mp.mag(y))):  # it cancels twice
        result = x * _log_ratio_value(x, y) - difference
    return +result


class log_ratio(Transcendental):
    """log(x/y) of x, y >= 0, accurate for x near y and where x/y is not a float; ∞ for y = 0."""

    nargs = 2
    domain = _(lambda a, b: logical_and(positive(a), positive(b)))
    definition = _(lambda x, y: sp.log(x) - sp.log(y))
    partials = _(lambda x, y: (1 / x, -1 / y))
    value = _(lambda x, y: _log_ratio_value(x, y))


def _log_ratio_value(x: mpf, y: mpf) -> mpf:
    if not (x >= 0 and y >= 0) or (mp.isinf(x) and mp.isinf(y)):
        return mp.nan
    if not (x and y) or mp.isinf(x) or mp.isinf(y):
        return mp.inf if not y or mp.isinf(x) else mp.ninf
    return mp.log1p((x - y) / y) if y < 2 * x < 4 * y else mp.log(x / y)


class relative_difference(Transcendental):
    """(x - y)/y, accurate for x near y; its derivative by y, -x/y², is not a difference."""

    nargs = 2
    domain = _(lambda a, b: nonzero(b))
    definition = _(lambda x, y: (x - y) / y)
    partials = _(lambda x, y: (1 / y, -x / y**2))
    value = _(lambda x, y: (x - y) / y if y else mp.nan if not x else mp.sign(x) * mp.inf)
