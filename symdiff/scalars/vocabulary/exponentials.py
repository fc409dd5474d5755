# ruff: noqa: N801
"""Exponentials and logarithms, and sigmoids."""

from __future__ import annotations

import builtins
from functools import cache
from typing import TYPE_CHECKING

import mpmath as mp
import sympy as sp
from sympy.codegen import cfunctions

from symdiff.scalars.vocabulary.choices import (
    at_zero,
    equal,
    less,
    less_equal,
    logical_and,
    logical_or,
    where,
)
from symdiff.scalars.vocabulary.facts import (
    MODERATE,
    ONE,
    TWO,
    ZERO,
    Ordered,
    ScalarFunction,
    _,
    differentiated,
    integer_order,
    real_log,
)
from symdiff.scalars.vocabulary.lengths import sech2
from symdiff.scalars.vocabulary.regions import nonzero, positive

if TYPE_CHECKING:
    from mpmath import mpf

# Exponentials and logarithms --------------------------------------------------------------------


class sigmoid(ScalarFunction):
    """1/(1 + e^-x).  Its derivative σ·(1 - σ) is sech²(x/2)/4, which keeps the digits of both."""

    nargs = 1
    aliases = "expit"
    finite_partials = True
    definition = _(lambda x: 1 / (1 + sp.exp(-x)))
    partials = _(lambda x: (sech2(x / 2) / 4,))
    value = _(lambda x: 1 / (1 + mp.exp(-x)))


class softplus(ScalarFunction):
    """log(1 + e^x), a smooth maximum(x, 0)."""

    nargs = 1
    finite_partials = True
    definition = _(lambda x: sp.log(1 + sp.exp(x)))
    partials = _(lambda x: (sigmoid(x),))
    value = _(lambda x: mp.log1p(mp.exp(x)) if x < 0 else x + mp.log1p(mp.exp(-x)))


class log_sigmoid(ScalarFunction):
    """log(sigmoid(x)) = -softplus(-x)."""

    nargs = 1
    finite_partials = True
    definition = _(lambda x: -sp.log(1 + sp.exp(-x)))
    partials = _(lambda x: (sigmoid(-x),))
    value = _(lambda x: -softplus.value(-x))


class expm1(ScalarFunction):
    """e^x - 1, accurate near 0."""

    nargs = 1
    drawn = True
    sympy = cfunctions.expm1
    definition = _(lambda x: sp.exp(x) - 1)
    partials = _(lambda x: (sp.exp(x),))
    value = _(mp.expm1)


class bose(Ordered):
    """The n-th derivative of 1/(e^x - 1), for a constant integer n >= 0.

    It is one function because e^x and its square overflow where the quotient does not, and because
    of its pole.  Products with factors that vanish at the pole, or that grow where the quotient
    underflows, are computed without it as an intermediate (``numeric.lowering.kernels.monomials``).
    """

    nargs = 2
    domain = _(lambda n, x: nonzero(x))
    definition = _(lambda n, x: differentiated("bose", lambda t: 1 / (sp.exp(t) - 1), n, x))
    written = _(lambda n, x: _bose_formula(int(n), sp.exp(x), expm1(x)))
    partials = _(lambda n, x: (None, bose(n + 1, x)))
    value = _(lambda n, x: _bose_value(integer_order("bose", n), x))


def _bose_formula(n: int, exponential: sp.Expr, difference: sp.Expr) -> sp.Expr:
    """The derivative as a polynomial in e^x over a power of e^x - 1."""
    u = sp.Dummy()
    terms = sum(c * (u - 1) ** (n + 1 - k) for k, c in enumerate(bose_polynomial(n)) if c)
    numerator = sp.factor(terms).subs(u, exponential)
    return (-1) ** n * numerator / difference ** (n + 1)


def _bose_value(n: int, x: mpf) -> mpf:
    if not x:
        return mp.inf if n % 2 == 0 else mp.ninf
    if x < 0 and n:  # b(-x) = -1 - b(x)
        return (-1) ** (n + 1) * _bose_value(n, -x)
    with mp.extraprec(20):
        b = 1 / mp.expm1(x)
        total = (-1) ** n * mp.fsum(c * b**k for k, c in enumerate(bose_polynomial(n)) if c)
    return +total


@cache
def bose_polynomial(n: int) -> tuple[int, ...]:
    """Return the coefficients c_k >= 0 of (-1)^n Σ c_k b^k, the n-th derivative of b = 1/(e^x - 1).

    b' = -(b + b²), so the derivative of b^k is -k (b^k + b^(k+1)).

    >>> bose_polynomial(1), bose_polynomial(2)
    ((0, 1, 1), (0, 1, 3, 2))
    """
    c = [0, 1]
    for _step in range(n):
        c = [k * (c[k] if k < len(c) else 0) + (k - 1) * c[k - 1] for k in range(1, len(c) + 1)]
        c.insert(0, 0)
    return tuple(c)


class log1p(ScalarFunction):
    """log(1 + x), accurate near 0."""

    nargs = 1
    domain = _(lambda x: less(-ONE, x))
    drawn = True
    sympy = cfunctions.log1p
    large = True
    definition = _(lambda x: sp.log(1 + x))
    partials = _(lambda x: (1 / (1 + x),))
    value = _(lambda x: mp.log1p(x) if x > -1 else real_log(1 + x))


class log1mexp(ScalarFunction):
    """log(1 - e^-x) for x > 0 (Mächler 2012).  Its derivative is 1/(e^x - 1), ``bose``."""

    nargs = 1
    domain = _(positive)
    definition = _(lambda x: sp.log(1 - sp.exp(-x)))
    partials = _(lambda x: (bose(ZERO, x),))
    value = _(lambda x: real_log(-mp.expm1(-x)))


class exp2(ScalarFunction):
    """2^x."""

    nargs = 1
    sympy = cfunctions.exp2
    definition = _(lambda x: TWO**x)
    # log(2)·2^x is finite up to 1024.5, where 2^x is not.
    partials = _(lambda x: (2 * sp.log(2) * exp2(x - 1),))
    value = _(lambda x: mp.power(2, x))

    @classmethod
    def eval(cls, *args: sp.Expr) -> sp.Expr | None:
        """Return powers of two with a moderate exponent: exact digits of 2^(10^9) are useless."""
        (x,) = args
        return TWO**x if x.is_Integer and builtins.abs(x) <= MODERATE else None


class log2(ScalarFunction):
    """The logarithm to base 2."""

    nargs = 1
    domain = _(positive)
    sympy = cfunctions.log2
    large = True
    definition = _(lambda x: sp.log(x, 2))
    partials = _(lambda x: (log2(sp.E) / x,))
    value = _(lambda x: real_log(x) / mp.ln2)


class log10(ScalarFunction):
    """The logarithm to base 10."""

    nargs = 1
    domain = _(positive)
    sympy = cfunctions.log10
    large = True
    definition = _(lambda x: sp.log(x, 10))
    partials = _(lambda x: (log10(sp.E) / x,))  # x·log(10) may overflow
    value = _(lambda x: real_log(x) / mp.ln10)


class logaddexp(ScalarFunction):
    """log(e^a + e^b), for a and b of any size."""

    nargs = 2
    finite_partials = True
    definition = _(lambda a, b: sp.log(sp.exp(a) + sp.exp(b)))
    partials = _(lambda a, b: (exp_share(a, b), exp_share(b, a)))
    value = _(lambda a, b: a + mp.ln2 if a == b else max(a, b) + mp.log1p(mp.exp(-mp.fabs(a - b))))


class exp_share(ScalarFunction):
    """e^a/(e^a + e^b) = sigmoid(a - b), and 1/2 also for equal infinities."""

    nargs = 2
    finite_partials = True
    definition = _(lambda a, b: 1 / (1 + sp.exp(b - a)))
    partials = _(lambda a, b: (sech2(difference(a, b) / 2) / 4, -sech2(difference(a, b) / 2) / 4))
    value = _(lambda a, b: mp.mpf(0.5) if a == b else 1 / (1 + mp.exp(b - a)))


class difference(ScalarFunction):
    """a - b, and 0 also for equal infinities."""

    nargs = 2
    finite_partials = True
    definition = _(lambda a, b: a - b)
    partials = _(lambda a, b: (ONE, -ONE))
    value = _(lambda a, b: mp.mpf(0) if a == b else a - b)


class xlogy(ScalarFunction):
    """x·log(y), and 0 at x = 0 for every y that is not nan.

    The partial derivative by x is log(y), -∞ at (0, 0) as well, where it is a limit of difference
    quotients.  The one by y is masked only if x = 0 and x/y does not exist: a mask on all of x = 0
    would make the mixed derivative, 1/y, wrong there.
    """

    nargs = 2
    domain = _(lambda x, y: logical_or(positive(y), logical_and(at_zero(x), nonzero(y))))
    definition = _(lambda x, y: sp.Piecewise((ZERO, sp.Eq(x, 0)), (x * sp.log(y), True)))
    partials = _(
        lambda x, y: (
            where(logical_and(equal(x, ZERO), less(y, ZERO)), ZERO, sp.log(y)),
            where(logical_and(equal(x, ZERO), less_equal(y, ZERO)), ZERO, x / y),
        )
    )
    value = _(lambda x, y: mp.mpf(0) if x == 0 and not mp.isnan(y) else x * real_log(y))


class xlog1py(ScalarFunction):
    """x·log(1 + y), and 0 at x = 0 for every y that is not nan; masked as in ``xlogy``."""

    nargs = 2
    domain = _(lambda x, y: logical_or(less(-ONE, y), logical_and(at_zero(x), nonzero(y + 1))))
    definition = _(lambda x, y: sp.Piecewise((ZERO, sp.Eq(x, 0)), (x * sp.log(1 + y), True)))
    partials = _(
        lambda x, y: (
            where(logical_and(equal(x, ZERO), less(y, -ONE)), ZERO, log1p(y)),
            where(logical_and(equal(x, ZERO), less_equal(y, -ONE)), ZERO, x / (1 + y)),
        )
    )
    value = _(lambda x, y: mp.mpf(0) if x == 0 and not mp.isnan(y) else x * log1p.value(y))
