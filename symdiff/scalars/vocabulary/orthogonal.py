# ruff: noqa: N801
"""The classical orthogonal polynomials with a constant order n >= 0.

Numbers in brackets are those of the Digital Library of Mathematical Functions.
"""

from __future__ import annotations

import builtins
from functools import partial
from typing import TYPE_CHECKING, Any

import mpmath as mp
import sympy as sp

from symdiff.scalars.vocabulary.choices import abs, sign
from symdiff.scalars.vocabulary.facts import (
    MODERATE,
    ONE,
    TWO,
    ScalarFunction,
    _,
    integer_order,
    settled,
)

if TYPE_CHECKING:
    from mpmath import mpf


class Polynomial(ScalarFunction):
    """An orthogonal polynomial; its operands are the order, the parameter if it has one, and x.

    A class states the recurrence (k + 1 or 1) P_(k+1) = (a x + b) P_k - c P_(k-1) from P_0 = 1 on
    [18.9.1] by its ``terms``.  These map k to the pairs (u, v) with a = u + v α, the same for b and
    c, and to the factor of P_(k+1).  The derivative is a polynomial with one order less, of the
    same family or of a wider one [18.9.15 to 18.9.28], so derivatives of every order are exact.
    """

    drawn = True
    orders = 1
    terms: Any

    def __init_subclass__(cls, **given: object) -> None:
        """Give every family its value, and its exact value, by the recurrence that it states."""
        super().__init_subclass__(**given)
        cls.value = staticmethod(partial(_number, cls))
        cls.rational = staticmethod(cls.at)

    @classmethod
    def at(cls, n: Any, *operands: Any) -> Any:
        """Evaluate the recurrence in any kind of numbers: exactly for Fractions."""
        order = integer_order(cls.__name__, n)
        *parameters, x = operands
        alpha = parameters[0] if parameters else 0
        below: Any = 0
        last: Any = 1
        for k in range(order):
            *pairs, divisor = cls.terms(k)
            a, b, c = (u + v * alpha if v else u for u, v in pairs)
            below, last = last, ((a * x + b) * last - c * below) / divisor
        return last

    @staticmethod
    def beyond(n: mpf, alpha: mpf = 0) -> mpf:
        """Return a bound x such that all zeros are between -x and x [18.16]."""
        return 40 * (n + 1 + builtins.abs(alpha))

    @classmethod
    def eval(cls, *args: sp.Expr) -> sp.Expr | None:
        """Return the rational value of rational numbers; raises Unsupported for another order.

        It is 1 for order 0.
        """
        n, *operands = args
        if not n.is_number:
            return None
        order = integer_order(cls.__name__, n)
        if order == 0:
            return ONE
        rational = order <= MODERATE and all(x.is_Rational for x in operands)
        return sp.sympify(cls.at(order, *operands)) if rational else None


def _number(cls: type[Polynomial], n: mpf, *operands: mpf) -> mpf:
    if integer_order(cls.__name__, n) == 0:
        return mp.mpf(1)
    *parameters, x = operands
    if mp.isinf(x):  # the leading term dominates far beyond the zeros
        x = mp.sign(x) * cls.beyond(n, *parameters)
        return mp.sign(cls.at(n, *parameters, x)) * mp.inf
    return settled(lambda: cls.at(n, *operands))


def _order_below(n: sp.Expr) -> sp.Expr:
    """The order n - 1; 0 for n = 0, where the derivative has the factor 0."""
    return n - abs(sign(n))


class eval_gegenbauer(Polynomial):
    """C_n^(α)(x), Gegenbauer's polynomial, orthogonal for the weight (1 - x²)^(α - 1/2)."""

    nargs = 3
    sympy = sp.gegenbauer
    terms = _(lambda k: ((2 * k, 2), (0, 0), (k - 1, 2), k + 1))
    partials = _(
        lambda n, alpha, x: (
            None,
            None,
            TWO * alpha * sign(n) * eval_gegenbauer(_order_below(n), alpha + 1, x),
        )
    )


class eval_legendre(Polynomial):
    """P_n(x), Legendre's polynomial, orthogonal on [-1, 1]: C_n^(1/2)."""

    nargs = 2
    sympy = sp.legendre
    terms = _(lambda k: ((2 * k + 1, 0), (0, 0), (k, 0), k + 1))
    partials = _(
        lambda n, x: (None, sign(n) * eval_gegenbauer(_order_below(n), sp.Rational(3, 2), x))
    )


class eval_chebyu(Polynomial):
    """U_n(x), Chebyshev's polynomial of the second kind: sin((n + 1) θ)/sin θ of cos θ."""

    nargs = 2
    sympy = sp.chebyshevu
    terms = _(lambda k: ((2, 0), (0, 0), (1, 0), 1))
    partials = _(lambda n, x: (None, TWO * sign(n) * eval_gegenbauer(_order_below(n), TWO, x)))


class eval_chebyt(Polynomial):
    """T_n(x), Chebyshev's polynomial of the first kind: cos(n θ) of cos θ."""

    nargs = 2
    sympy = sp.chebyshevt
    terms = _(lambda k: ((2 if k else 1, 0), (0, 0), (1, 0), 1))
    partials = _(lambda n, x: (None, n * eval_chebyu(_order_below(n), x)))


class eval_hermite(Polynomial):
    """H_n(x), Hermite's polynomial, orthogonal for the weight e^(-x²) (physicists')."""

    nargs = 2
    sympy = sp.hermite
    terms = _(lambda k: ((2, 0), (0, 0), (2 * k, 0), 1))
    partials = _(lambda n, x: (None, TWO * n * eval_hermite(_order_below(n), x)))


class eval_hermitenorm(Polynomial):
    """He_n(x), Hermite's polynomial, orthogonal for the weight e^(-x²/2) (statisticians')."""

    nargs = 2
    sympy = sp.hermite_prob
    drawn = False
    terms = _(lambda k: ((1, 0), (0, 0), (k, 0), 1))
    partials = _(lambda n, x: (None, n * eval_hermitenorm(_order_below(n), x)))


class eval_genlaguerre(Polynomial):
    """L_n^(α)(x), Laguerre's polynomial, orthogonal for the weight x^α e^-x on x >= 0."""

    nargs = 3
    sympy = sp.assoc_laguerre
    terms = _(lambda k: ((-1, 0), (2 * k + 1, 1), (k, 1), k + 1))
    partials = _(
        lambda n, alpha, x: (None, None, -sign(n) * eval_genlaguerre(_order_below(n), alpha + 1, x))
    )


class eval_laguerre(Polynomial):
    """L_n(x), Laguerre's polynomial, orthogonal for the weight e^-x on x >= 0."""

    nargs = 2
    sympy = sp.laguerre
    terms = _(lambda k: ((-1, 0), (2 * k + 1, 0), (k, 0), k + 1))
    partials = _(lambda n, x: (None, -sign(n) * eval_genlaguerre(_order_below(n), ONE, x)))
