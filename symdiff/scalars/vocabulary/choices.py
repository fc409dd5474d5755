# ruff: noqa: N801
"""Truth values, selections, and functions with jumps and kinks."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING

import mpmath as mp
import sympy as sp

from symdiff.scalars.vocabulary.facts import HALF, ONE, ZERO, Decision, ScalarFunction, Stepwise, _

if TYPE_CHECKING:
    from mpmath import mpf

# Truth values -----------------------------------------------------------------------------------


def _number(condition: sp.Basic) -> sp.Expr:
    return sp.Piecewise((ONE, condition), (ZERO, True))


def _condition(truth: sp.Expr) -> sp.Basic:
    """The condition behind the number ``truth``; otherwise ``truth != 0``."""
    if isinstance(truth, sp.Piecewise) and [part for part, _ in truth.args] == [ONE, ZERO]:
        return truth.args[0][1]
    return sp.Ne(truth, 0)


class Truth(Stepwise):
    """A truth value."""

    result = bool
    cheap = True


class Relation(Truth):
    """Whether a relation holds between two numbers."""

    nargs = 2
    margins = _(lambda a, b: (a - b,))

    @classmethod
    def definition(cls, *args: sp.Expr) -> sp.Expr:
        """Return 1 where SymPy's relation holds, else 0."""
        assert cls.sympy is not None  # every relation states one
        return _number(cls.sympy(*args))


class less(Relation):
    """Whether a < b."""

    sympy = sp.StrictLessThan
    infix = "<"
    value = rational = _(operator.lt)


class less_equal(Relation):
    """Whether a <= b."""

    sympy = sp.LessThan
    infix = "<="
    value = rational = _(operator.le)


class equal(Relation):
    """Whether a == b."""

    sympy = sp.Equality
    infix = "=="
    value = rational = _(operator.eq)


class not_equal(Relation):
    """Whether a != b."""

    sympy = sp.Unequality
    infix = "!="
    value = rational = _(operator.ne)


class logical_and(Truth):
    """Whether both are true (not 0)."""

    nargs = 2
    sympy = sp.And
    infix = "and"
    definition = _(lambda a, b: _number(sp.And(_condition(a), _condition(b))))
    value = rational = _(lambda a, b: bool(a) and bool(b))

    @classmethod
    def eval(cls, *args: sp.Expr) -> sp.Expr | None:
        """Return false if one argument is false; otherwise as for every function."""
        return ZERO if ZERO in args else super().eval(*args)


class logical_or(Truth):
    """Whether one or both are true."""

    nargs = 2
    sympy = sp.Or
    infix = "or"
    definition = _(lambda a, b: _number(sp.Or(_condition(a), _condition(b))))
    value = rational = _(lambda a, b: bool(a) or bool(b))


class logical_xor(Truth):
    """Whether exactly one is true."""

    nargs = 2
    sympy = sp.Xor
    definition = _(lambda a, b: _number(sp.Xor(_condition(a), _condition(b))))
    value = rational = _(lambda a, b: bool(a) != bool(b))


class logical_not(Truth):
    """Whether the argument is false."""

    nargs = 1
    caption = "not •"
    sympy = sp.Not
    definition = _(lambda a: _number(sp.Not(_condition(a))))
    value = rational = _(operator.not_)


def at_zero(x: sp.Expr) -> sp.Expr:
    """Whether ``x`` is 0."""
    return equal(x, ZERO)


def at_origin(a: sp.Expr, b: sp.Expr) -> sp.Expr:
    """Whether both are 0."""
    return logical_and(at_zero(a), at_zero(b))


# Selections -------------------------------------------------------------------------------------


class where(ScalarFunction):
    """``a`` where ``c`` is true, else ``b``."""

    nargs = 3
    caption = "② if ①, else ③"
    sympy = sp.ITE
    result = None
    cheap = True
    finite_partials = True
    definition = _(lambda c, a, b: sp.Piecewise((a, _condition(c)), (b, True)))
    partials = _(lambda c, a, b: (ZERO, where(c, ONE, ZERO), where(c, ZERO, ONE)))
    value = rational = _(lambda c, a, b: a if c else b)

    @classmethod
    def eval(cls, *args: sp.Expr) -> sp.Expr | None:
        """Decide for a known condition, or for equal branches."""
        c, a, b = args
        if c.is_Rational:
            return a if c else b
        return a if a == b else None

    def _eval_derivative(self, s: sp.Symbol) -> sp.Expr:
        # a'·where(c, 1, 0) would be nan where a is not taken and a' is infinite.
        c, a, b = self.args
        return where(c, a.diff(s), b.diff(s))


def _larger(a: mpf, b: mpf) -> mpf:
    return a if a >= b or a != a else b


def _smaller(a: mpf, b: mpf) -> mpf:
    return a if a <= b or a != a else b


class equal_in_maximum(Decision):
    """Whether the operands of ``maximum`` share its derivative."""

    nargs = 2
    decides = "maximum"
    formula = _(equal)


class equal_in_minimum(Decision):
    """Whether the operands of ``minimum`` share its derivative."""

    nargs = 2
    decides = "minimum"
    formula = _(equal)


def _tie_weight(tie: type[Decision], a: sp.Expr, b: sp.Expr) -> sp.Expr:
    return where(tie(a, b), HALF, ONE)


class maximum(ScalarFunction):
    """The larger of two numbers; nan if one is nan.  Equal ones get half of the derivative each.

    If one is nan, both get the full derivative.
    """

    nargs = 2
    caption = "max"
    aliases = "max Max"
    sympy = sp.Max
    result = None
    cheap = True
    margins = _(lambda a, b: (a - b,))
    drawn = True
    kinks = _(lambda a, b: equal(a, b))
    finite_partials = True
    partials = _(
        lambda a, b: (
            where(less(a, b), ZERO, _tie_weight(equal_in_maximum, a, b)),
            where(less(b, a), ZERO, _tie_weight(equal_in_maximum, a, b)),
        )
    )
    value = rational = _(_larger)


class minimum(ScalarFunction):
    """The smaller of two numbers; nan if one is nan.  Equal ones get half of the derivative each.

    If one is nan, both get the full derivative.
    """

    nargs = 2
    caption = "min"
    aliases = "min Min"
    sympy = sp.Min
    result = None
    cheap = True
    margins = _(lambda a, b: (a - b,))
    drawn = True
    kinks = _(lambda a, b: equal(a, b))
    finite_partials = True
    partials = _(
        lambda a, b: (
            where(less(b, a), ZERO, _tie_weight(equal_in_minimum, a, b)),
            where(less(a, b), ZERO, _tie_weight(equal_in_minimum, a, b)),
        )
    )
    value = rational = _(_smaller)


class inside_clip(Decision):
    """Whether the derivative of ``clip`` goes to x."""

    nargs = 3
    decides = "clip"
    formula = _(lambda x, lo, hi: logical_and(less_equal(lo, x), less_equal(x, hi)))


class below_clip(Decision):
    """Whether the derivative of ``clip`` goes to the lower bound."""

    nargs = 3
    decides = "clip"
    formula = _(lambda x, lo, hi: logical_and(less(x, lo), less_equal(lo, hi)))


class above_clip(Decision):
    """Whether the derivative of ``clip`` goes to the upper bound."""

    nargs = 3
    decides = "clip"
    formula = _(lambda x, lo, hi: logical_or(less(hi, x), less(hi, lo)))


class clip(ScalarFunction):
    """``minimum(hi, maximum(lo, x))``, which is ``hi`` if lo > hi.

    The derivative goes to x for lo <= x <= hi, both bounds included; otherwise to the bound that is
    the value.
    """

    nargs = 3
    result = None
    cheap = True
    margins = _(lambda x, lo, hi: (x - lo, x - hi))
    kinks = _(
        lambda x, lo, hi: logical_or(
            logical_and(equal(x, lo), less_equal(lo, hi)), equal(maximum(lo, x), hi)
        )
    )
    finite_partials = True
    definition = _(lambda x, lo, hi: sp.Min(hi, sp.Max(lo, x)))
    partials = _(
        lambda x, lo, hi: (
            where(inside_clip(x, lo, hi), ONE, ZERO),
            where(below_clip(x, lo, hi), ONE, ZERO),
            where(above_clip(x, lo, hi), ONE, ZERO),
        )
    )
    value = rational = _(lambda x, lo, hi: _smaller(hi, _larger(lo, x)))


# Jumps and kinks --------------------------------------------------------------------------------


class abs(ScalarFunction):
    """|x|."""

    nargs = 1
    margins = _(lambda x: (x,))
    caption = "|•|"
    aliases = "absolute fabs Abs"
    sympy = sp.Abs
    result = None
    overflows = True
    cheap = True
    drawn = True
    kinks = _(at_zero)
    finite_partials = True
    partials = _(lambda x: (sign_in_abs(x),))
    value = rational = _(operator.abs)


class sign(Stepwise):
    """The sign of x: 1, 0 or -1."""

    nargs = 1
    margins = _(lambda x: (x,))
    aliases = "sgn"
    sympy = sp.sign
    result = None
    cheap = True
    value = _(mp.sign)
    rational = _(lambda x: (x > 0) - (x < 0))


class sign_in_abs(Decision):
    """The derivative of ``abs``."""

    nargs = 1
    decides = "abs"
    formula = _(sign)


class step(Stepwise):
    """1 for x > 0, else 0, also at 0."""

    nargs = 1
    margins = _(lambda x: (x,))
    result = None
    cheap = True
    definition = _(lambda x: sp.Heaviside(x, 0))
    value = _(lambda x: x if mp.isnan(x) else mp.mpf(x > 0))
    rational = _(lambda x: x > 0)


def _from_grid(x: mpf) -> tuple[mpf]:
    return (x - mp.nint(x),)


class floor(Stepwise):
    """The largest integer <= x."""

    nargs = 1
    sympy = sp.floor
    result = None
    rounds = True
    margins = _(lambda x: _from_grid(2 * x))
    cheap = True
    drawn = True
    value = _(mp.floor)
    rational = _(math.floor)


class ceil(Stepwise):
    """The smallest integer >= x."""

    nargs = 1
    aliases = "ceiling"
    sympy = sp.ceiling
    result = None
    rounds = True
    margins = _(lambda x: _from_grid(2 * x))
    cheap = True
    drawn = True
    value = _(mp.ceil)
    rational = _(math.ceil)


class trunc(Stepwise):
    """The next integer from x towards 0."""

    nargs = 1
    aliases = "fix"
    result = None
    rounds = True
    margins = _(lambda x: _from_grid(2 * x))
    cheap = True
    definition = _(lambda x: sp.sign(x) * sp.floor(sp.Abs(x)))
    value = _(lambda x: mp.ceil(x) if x < 0 else mp.floor(x))


class round(Stepwise):
    """The nearest integer; ties go to the even one (IEEE 754, NumPy).

    floor(x + 1/2) rounds 1/2, 5/2, 9/2 ... to the odd one; there x mod 2 is 1/2.
    """

    nargs = 1
    aliases = "rint"
    result = None
    rounds = True
    margins = _(lambda x: _from_grid(2 * x))
    cheap = True
    definition = _(lambda x: sp.floor(x + HALF) - _number(sp.Eq(sp.Mod(x, 2), HALF)))
    value = _(mp.nint)


class floor_divide(Stepwise):
    """The floor of the exact quotient a/b, so that a = b·floor_divide(a, b) + mod(a, b)."""

    nargs = 2
    caption = "⌊① / ②⌋"
    domain = _(lambda a, b: not_equal(b, ZERO))
    result = None
    margins = _(lambda a, b: _from_grid(a / b) if b else ())
    definition = _(lambda a, b: sp.floor(a / b))
    value = _(lambda a, b: _floor_of_quotient(a, b))


def _floor_of_quotient(a: mpf, b: mpf) -> mpf:
    if not b or not mp.isfinite(a) or not mp.isfinite(b):
        return mp.nan
    (p, q), (r, s) = mp.libmp.to_rational(a._mpf_), mp.libmp.to_rational(b._mpf_)
    return mp.mpf((p * s) // (q * r))


class mod(ScalarFunction):
    """a - b·floor(a/b), which has the sign of b: Python's and NumPy's remainder."""

    nargs = 2
    caption = "① mod ②"
    domain = _(lambda a, b: not_equal(b, ZERO))
    aliases = "remainder"
    sympy = sp.Mod
    result = None
    margins = _(lambda a, b: _from_grid(a / b) if b else ())
    partials = _(lambda a, b: (ONE, -floor_divide(a, b)))
    value = _(lambda a, b: a % b if b and mp.isfinite(a) else mp.nan)
