# ruff: noqa: N801
"""The two real branches of Lambert's function, the inverse of w·e^w.

Source: Corless, Gonnet, Hare, Jeffrey and Knuth, "On the Lambert W function", 1996.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import mpmath as mp
import sympy as sp

from symdiff.errors import Unsupported
from symdiff.scalars.vocabulary.choices import less
from symdiff.scalars.vocabulary.facts import (
    ONE,
    ZERO,
    Ordered,
    Transcendental,
    _,
    integer_order,
    settled,
)
from symdiff.scalars.vocabulary.regions import between

if TYPE_CHECKING:
    from mpmath import mpf


class lambertw(Transcendental):
    """W(x) >= -1 with W·e^W = x, the principal branch, for x >= -1/e."""

    nargs = 1
    domain = _(lambda x: less(-sp.exp(-1), x))
    sympy = sp.LambertW
    drawn = True
    partials = _(lambda x: (lambertw_derivative(ONE, x),))
    value = _(lambda x: _value(0, 0, x))

    @classmethod
    def eval(cls, *args: sp.Expr) -> sp.Expr | None:
        """0 at 0."""
        return ZERO if args[0] == 0 else None


class lambertwm1(Transcendental):
    """W(x) <= -1 with W·e^W = x, the branch -1, for -1/e <= x < 0."""

    nargs = 1
    domain = _(lambda x: between(-sp.exp(-1), x, ZERO))
    drawn = True
    definition = _(lambda x: sp.LambertW(x, -1))
    partials = _(lambda x: (lambertwm1_derivative(ONE, x),))
    value = _(lambda x: _value(-1, 0, x))


class LambertDerivative(Ordered):
    """The n-th derivative of a branch, for a constant integer n >= 0.

    It is (-1)^(n-1) e^(-nW) a_n(1 + W)/(1 + W)^(2n-1) (Corless et al., equation 3.5), where the
    polynomial a_n has positive coefficients (``lambert_polynomial``).  It is one function because
    x may be 0 in W/(x (1 + W)), and because derivatives of e^-W/(1 + W) would be sums that cancel.
    """

    nargs = 2


class lambertw_derivative(LambertDerivative):
    """The n-th derivative of the principal branch."""

    domain = _(lambda n, x: less(-sp.exp(-1), x))
    definition = _(lambda n, x: _closed_form(n, sp.LambertW(x)))
    written = definition
    partials = _(lambda n, x: (None, lambertw_derivative(n + 1, x)))
    value = _(lambda n, x: _value(0, integer_order("lambertw_derivative", n), x))


class lambertwm1_derivative(LambertDerivative):
    """The n-th derivative of the branch -1."""

    domain = _(lambda n, x: between(-sp.exp(-1), x, ZERO))
    definition = _(lambda n, x: _closed_form(n, sp.LambertW(x, -1)))
    written = definition
    partials = _(lambda n, x: (None, lambertwm1_derivative(n + 1, x)))
    value = _(lambda n, x: _value(-1, integer_order("lambertwm1_derivative", n), x))


@cache
def lambert_polynomial(n: int) -> tuple[int, ...]:
    """Return the coefficients of a_n(v), of v^0 first, for n >= 1.

    d/dx = e^-W/(1 + W) d/dW gives a_(n+1) = (n v + 2n - 1) a_n - v a_n'.

    >>> [lambert_polynomial(n) for n in (1, 2, 3)]
    [(1,), (1, 1), (3, 4, 2)]
    """
    terms = [1]
    for k in range(1, n):
        above = [*terms, 0]
        terms = [(2 * k - 1 - j) * above[j] + (k * above[j - 1] if j else 0) for j in range(k + 1)]
    return tuple(terms)


def _closed_form(n: sp.Expr, w: sp.Expr) -> sp.Expr:
    if not n.is_Integer:
        raise Unsupported(f"lambertw: the order {n} of a derivative is not a number")
    if n == 0:
        return w
    polynomial = sum(c * (1 + w) ** j for j, c in enumerate(lambert_polynomial(int(n))))
    return (-1) ** (n - 1) * sp.exp(-n * w) * polynomial / (1 + w) ** (2 * n - 1)


def _value(branch: int, n: int, x: mpf) -> mpf:
    """The n-th derivative of a branch; for branch -1 at 0 the limit from the left."""
    if x == 0:
        if branch:
            return mp.ninf
        return mp.mpf((-n) ** (n - 1)) if n else mp.mpf(0)  # the series of W (3.1)
    if x == mp.inf and not branch:
        return mp.mpf(0) if n else mp.inf
    if not (mp.isfinite(x) and settled(lambda: 1 + mp.e * x) > 0 and (not branch or x < 0)):
        return mp.nan

    def by_formula() -> mpf:
        w = mp.lambertw(x, branch).real
        if n == 0:
            return w
        polynomial = mp.polyval(lambert_polynomial(n)[::-1], 1 + w)
        return (-1) ** (n - 1) * mp.exp(-n * w) * polynomial / (1 + w) ** (2 * n - 1)

    return settled(by_formula)
