# ruff: noqa: N801  -- the classes are functions, under the names by which SymPy prints them
"""The scalar vocabulary: real functions, each with its meaning, its derivative and its value.

SymPy's own derivatives are exact, but not safe to evaluate: sigmoid' is nan at -800, d(x**y)/dx at
0, Abs'' is a ``DiracDelta``, floor' stays unevaluated.  Each class here states its ``partials`` in
a form that holds wherever the function does, and that shares work with the value (cbrt' is
1/(3 cbrt²)).  Partials are formulas of this vocabulary again, so they hold at every order.

Conventions at kinks and jumps, those of PyTorch where it has one:

- |x|, sign and step have derivative 0 at 0; floor, ceil, trunc, round and comparisons have
  derivative 0 everywhere;
- maximum and minimum share the derivative evenly between equal arguments;
- clip passes it on at both bounds; hypot, atan2 and norm_sqrt have derivative 0 at their
  singular point;
- a *selection* ``where(c, a, b)`` differentiates into a selection: a branch that is not taken
  contributes exactly nothing, also where its derivative is infinite.  Partials that vanish on a
  region are therefore selections with a zero branch, never 0/1 factors.

A truth value is the number 1 or 0.
"""

from __future__ import annotations

import builtins
import math
import operator
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import mpmath as mp
import sympy as sp

from symdiff.errors import NotDifferentiable, Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable

ZERO, ONE, HALF, TWO = sp.Integer(0), sp.Integer(1), sp.Rational(1, 2), sp.Integer(2)

# The parts of a class below are formulas, given as lambdas of the function's arguments.
_: Any = staticmethod


class Facts:
    """What is known of a function besides its derivative; a class states what differs from this.

    Whoever needs a fact derives a table from ``FACTS``, and lists no names.

    - ``value``: the function of mpmath numbers, at the working precision in force; nan outside
      the real domain;
    - ``result``: the kind of its values: float, bool, or None for that of its operands;
    - ``rounds``: whether it makes integers of numbers, and leaves integers as they are;
    - ``overflows``: whether its value of integers may be none of their type, as |-128| is;
    - ``cheap``: whether a value costs about as much to compute again as to read;
    - ``rational``: the function of Fractions where Python has one; where it is ``value`` itself,
      that is right for every kind of number;
    - ``large``: whether mpmath computes it of numbers of any size;
    - ``sympy``: the class of SymPy that is the same function of the same arguments; of any number
      of them, where that takes more than two;
    - ``aliases``: what else a text may call it;
    - ``infix``: the sign between its two operands in a text;
    - ``drawn``: whether its definition reads better in LaTeX than its name;
    - ``kinks``: the formula, a truth value, of where its derivative is a convention; else None;
    - ``decides``: whether it is the derivative of such a function, and there the convention itself;
    - ``called``: what users call it, where they do not know its name;
    - ``finite_partials``: whether its partials are finite floats for all operands that are (orders
      being small);
    - ``numpy``, ``math``: what these modules call it, where they have it under another name; what
      they do not have is written in ``numeric.special``.
    """

    value: Any
    result: type[bool] | type[float] | None = float
    rounds = False
    overflows = False
    cheap = False
    rational: Any = None
    large = False
    sympy: Any = None
    aliases = ""
    infix: str | None = None
    drawn = False
    kinks: Any = None
    decides = False
    called: str | None = None
    finite_partials = False
    numpy: str | None = None
    math: str | None = None


class ScalarFunction(Facts, sp.Function):  # type: ignore[misc]  # SymPy carries no types
    """A function of the vocabulary, of which a subclass states three things, and its facts.

    - ``definition``: the same function in SymPy's own classes; that of ``sympy``, unless stated;
    - ``partials``: the derivative by each argument, in the vocabulary (None: it has none, and
      asking for it raises NotDifferentiable);
    - ``value``: see ``Facts``.
    """

    partials: Any

    is_extended_real = True  # every argument is real, so every value is, or is nan

    @classmethod
    def definition(cls, *args: sp.Expr) -> sp.Expr:
        """The function in SymPy's own classes."""
        return cls.sympy(*args)

    @classmethod
    def eval(cls, *args: sp.Expr) -> sp.Expr | None:
        """The value of exact rational arguments where it is rational; nothing else."""
        if not all(argument.is_Rational for argument in args):
            return None
        try:
            return _rational(cls.definition(*args))
        except ZeroDivisionError:  # mod(1, 0)
            return None

    def fdiff(self, argindex: int = 1) -> sp.Expr:
        """The derivative by argument number ``argindex``, counted from 1 as SymPy does."""
        derivative = self.partials(*self.args)[argindex - 1]
        if derivative is None:
            parameter = self.partials.__code__.co_varnames[argindex - 1]
            raise NotDifferentiable(
                f"{self.func.__name__} has no derivative by its argument number {argindex} "
                f"({parameter}), which must be a constant"
            )
        return derivative

    def _eval_evalf(self, prec: int) -> sp.Expr | None:
        # SymPy would take mpmath's function of this name, whose convention may differ (sinc).
        try:
            args = [argument._to_mpmath(prec + 10) for argument in self.args]
        except (AttributeError, ValueError):  # not all arguments are numbers
            return None
        with mp.workprec(prec + 10):
            return sp.Expr._from_mpmath(mp.mpf(self.value(*args)), prec)

    def _call_code(self, printer: Any) -> str:
        return f"{self.func.__name__}({', '.join(map(printer._print, self.args))})"

    # SymPy's code printers know some of these names under another convention (numpy.sinc(x/pi)).
    _numpycode = _pythoncode = _mpmathcode = _call_code


class Ordered(ScalarFunction):
    """A derivative of which the first operands, ``orders`` of them, are constant orders."""

    orders = 1

    @classmethod
    def eval(cls, *args: sp.Expr) -> sp.Expr | None:
        """Nothing; raises Unsupported for a number that is no order."""
        for n in args[: cls.orders]:
            if n.is_number:
                integer_order(cls.__name__, n)
        return None


class Stepwise(ScalarFunction):
    """A function that is constant between its jumps; at a jump too its derivative counts as 0."""

    finite_partials = True

    def fdiff(self, argindex: int = 1) -> sp.Expr:
        """Zero by every argument."""
        return ZERO


def _rational(value: sp.Expr) -> sp.Expr | None:
    return value if value.is_Rational else None


def _real(function: Callable[..., Any]) -> Callable[..., Any]:
    """The mpmath ``function``, nan where it would be complex, and at poles of no definite sign."""

    def real_value(*args: Any) -> Any:
        try:
            result = function(*args)
        except (ValueError, ZeroDivisionError):
            return mp.nan
        return result if isinstance(result, mp.mpf) else mp.nan

    return real_value


_log: Any = _real(lambda x: mp.log(x) if x else mp.ninf)


# Truth values -----------------------------------------------------------------------------------


def _number(condition: Any) -> sp.Expr:
    return sp.Piecewise((ONE, condition), (ZERO, True))


def _condition(truth: sp.Expr) -> Any:
    """The condition whose truth is written as the number ``truth``; else ``truth != 0``."""
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

    @classmethod
    def definition(cls, *args: sp.Expr) -> sp.Expr:
        """1 where the relation of SymPy holds, else 0."""
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


class logical_or(Truth):
    """Whether one or both are true."""

    nargs = 2
    sympy = sp.Or
    infix = "or"
    definition = _(lambda a, b: _number(sp.Or(_condition(a), _condition(b))))
    value = rational = _(lambda a, b: bool(a) or bool(b))


class logical_xor(Truth):
    """Whether one is true and the other is not."""

    nargs = 2
    sympy = sp.Xor
    definition = _(lambda a, b: _number(sp.Xor(_condition(a), _condition(b))))
    value = rational = _(lambda a, b: bool(a) != bool(b))


class logical_not(Truth):
    """Whether it is not true."""

    nargs = 1
    sympy = sp.Not
    definition = _(lambda a: _number(sp.Not(_condition(a))))
    value = rational = _(operator.not_)


def _at_zero(x: sp.Expr) -> sp.Expr:
    return equal(x, ZERO)


def _at_origin(a: sp.Expr, b: sp.Expr) -> sp.Expr:
    return logical_and(_at_zero(a), _at_zero(b))


# Selections -------------------------------------------------------------------------------------


class where(ScalarFunction):
    """``a`` where ``c`` is true, else ``b``."""

    nargs = 3
    sympy = sp.ITE
    result = None
    cheap = True
    finite_partials = True
    definition = _(lambda c, a, b: sp.Piecewise((a, _condition(c)), (b, True)))
    partials = _(lambda c, a, b: (ZERO, where(c, ONE, ZERO), where(c, ZERO, ONE)))
    value = rational = _(lambda c, a, b: a if c else b)

    @classmethod
    def eval(cls, *args: sp.Expr) -> sp.Expr | None:
        """Decided where the condition is known, or does not matter."""
        c, a, b = args
        if c.is_Rational:
            return a if c else b
        return a if a == b else None

    def _eval_derivative(self, s: sp.Symbol) -> sp.Expr:
        # Not a'·where(c, 1, 0): that is nan where a is not taken and a' is infinite.
        c, a, b = self.args
        return where(c, a.diff(s), b.diff(s))


def _larger(a: Any, b: Any) -> Any:
    return a if a >= b or a != a else b


def _smaller(a: Any, b: Any) -> Any:
    return a if a <= b or a != a else b


def _share(a: sp.Expr, b: sp.Expr) -> sp.Expr:
    return where(equal(a, b), HALF, ONE)


class maximum(ScalarFunction):
    """The larger of two numbers; nan if one is.  Equal ones have half of the derivative each.

    Where one is nan, both have all of it.
    """

    nargs = 2
    aliases = "max Max"
    sympy = sp.Max
    result = None
    cheap = True
    drawn = True
    kinks = _(lambda a, b: equal(a, b))
    finite_partials = True
    partials = _(
        lambda a, b: (
            where(less(a, b), ZERO, _share(a, b)),
            where(less(b, a), ZERO, _share(a, b)),
        )
    )
    value = rational = _(_larger)


class minimum(ScalarFunction):
    """The smaller of two numbers; nan if one is.  Equal ones have half of the derivative each.

    Where one is nan, both have all of it.
    """

    nargs = 2
    aliases = "min Min"
    sympy = sp.Min
    result = None
    cheap = True
    drawn = True
    kinks = _(lambda a, b: equal(a, b))
    finite_partials = True
    partials = _(
        lambda a, b: (
            where(less(b, a), ZERO, _share(a, b)),
            where(less(a, b), ZERO, _share(a, b)),
        )
    )
    value = rational = _(_smaller)


class clip(ScalarFunction):
    """``minimum(hi, maximum(lo, x))``, which is ``hi`` where lo > hi.

    The derivative goes to x where lo <= x <= hi, both bounds included; else to the bound that is
    the value.
    """

    nargs = 3
    result = None
    cheap = True
    kinks = _(
        lambda x, lo, hi: logical_or(
            logical_and(equal(x, lo), less_equal(lo, hi)), equal(maximum(lo, x), hi)
        )
    )
    finite_partials = True
    definition = _(lambda x, lo, hi: sp.Min(hi, sp.Max(lo, x)))
    partials = _(
        lambda x, lo, hi: (
            where(logical_and(less_equal(lo, x), less_equal(x, hi)), ONE, ZERO),
            where(logical_and(less(x, lo), less_equal(lo, hi)), ONE, ZERO),
            where(logical_or(less(hi, x), less(hi, lo)), ONE, ZERO),
        )
    )
    value = rational = _(lambda x, lo, hi: _smaller(hi, _larger(lo, x)))


# Jumps and kinks --------------------------------------------------------------------------------


class abs(ScalarFunction):
    """|x|."""

    nargs = 1
    aliases = "absolute fabs Abs"
    sympy = sp.Abs
    result = None
    overflows = True
    cheap = True
    drawn = True
    kinks = _(_at_zero)
    finite_partials = True
    partials = _(lambda x: (sign(x),))
    value = rational = _(operator.abs)


class sign(Stepwise):
    """The sign of x: 1, 0 or -1."""

    nargs = 1
    aliases = "sgn"
    sympy = sp.sign
    result = None
    cheap = True
    decides = True
    value = _(mp.sign)
    rational = _(lambda x: (x > 0) - (x < 0))


class step(Stepwise):
    """1 where x > 0, else 0: at 0 it is 0."""

    nargs = 1
    result = None
    cheap = True
    definition = _(lambda x: sp.Heaviside(x, 0))
    value = _(lambda x: x if mp.isnan(x) else mp.mpf(x > 0))
    rational = _(lambda x: x > 0)


class floor(Stepwise):
    """The largest integer <= x."""

    nargs = 1
    sympy = sp.floor
    result = None
    rounds = True
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
    cheap = True
    definition = _(lambda x: sp.sign(x) * sp.floor(sp.Abs(x)))
    value = _(lambda x: mp.ceil(x) if x < 0 else mp.floor(x))


class round(Stepwise):
    """The nearest integer; of two equally near, the even one (IEEE 754, NumPy).

    floor(x + 1/2) is the odd one of the two at 1/2, 5/2, 9/2 ..., where x mod 2 is 1/2.
    """

    nargs = 1
    aliases = "rint"
    result = None
    rounds = True
    cheap = True
    definition = _(lambda x: sp.floor(x + HALF) - _number(sp.Eq(sp.Mod(x, 2), HALF)))
    value = _(mp.nint)


class floor_divide(Stepwise):
    """floor(a/b) of the exact quotient, so that a = b·floor_divide(a, b) + mod(a, b)."""

    nargs = 2
    result = None
    definition = _(lambda a, b: sp.floor(a / b))
    value = _(lambda a, b: _floor_of_quotient(a, b))


def _floor_of_quotient(a: Any, b: Any) -> Any:
    if not b or not mp.isfinite(a) or not mp.isfinite(b):
        return mp.nan
    (p, q), (r, s) = mp.libmp.to_rational(a._mpf_), mp.libmp.to_rational(b._mpf_)
    return mp.mpf((p * s) // (q * r))


class mod(ScalarFunction):
    """a - b·floor(a/b), which has the sign of b: Python's and NumPy's remainder."""

    nargs = 2
    aliases = "remainder"
    sympy = sp.Mod
    result = None
    partials = _(lambda a, b: (ONE, -floor_divide(a, b)))
    value = _(lambda a, b: a % b if b and mp.isfinite(a) else mp.nan)


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
    definition = _(lambda x: sp.exp(x) - 1)
    partials = _(lambda x: (sp.exp(x),))
    value = _(mp.expm1)


class bose(Ordered):
    """The n-th derivative of 1/(e^x - 1), for a constant integer n >= 0.

    It is one function because e^x and its square overflow where the quotient does not, and because
    of its pole: with factors that vanish there, and with factors that bring its tail back, products
    are computed without ever forming it (``numeric.lowering.monomials``).
    """

    nargs = 2
    definition = _(lambda n, x: _differentiated("bose", lambda t: 1 / (sp.exp(t) - 1), n, x))
    partials = _(lambda n, x: (None, bose(n + 1, x)))
    value = _(lambda n, x: _bose_value(integer_order("bose", n), x))


def _differentiated(
    name: str, formula: Callable[[sp.Expr], sp.Expr], n: sp.Expr, x: sp.Expr
) -> sp.Expr:
    if not n.is_Integer:
        raise Unsupported(f"{name}: the order {n} is not a number")
    t = sp.Dummy(real=True)
    return formula(t).diff(t, int(n)).subs(t, x)


def _bose_value(n: int, x: Any) -> Any:
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
    """The coefficients c_k >= 0 of (-1)^n Σ c_k b^k, the n-th derivative of b = 1/(e^x - 1).

    From b' = -(b + b²): the derivative of b^k is -k (b^k + b^(k+1)).

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
    large = True
    definition = _(lambda x: sp.log(1 + x))
    partials = _(lambda x: (1 / (1 + x),))
    value = _(lambda x: mp.log1p(x) if x > -1 else _log(1 + x))


class log1mexp(ScalarFunction):
    """log(1 - e^-x) for x > 0 (Mächler 2012).  Its derivative is 1/(e^x - 1), which is ``bose``."""

    nargs = 1
    definition = _(lambda x: sp.log(1 - sp.exp(-x)))
    partials = _(lambda x: (bose(ZERO, x),))
    value = _(lambda x: _log(-mp.expm1(-x)))


class exp2(ScalarFunction):
    """2^x."""

    nargs = 1
    definition = _(lambda x: TWO**x)
    # log(2)·2^x is finite up to 1024.5, where 2^x is not.
    partials = _(lambda x: (2 * sp.log(2) * exp2(x - 1),))
    value = _(lambda x: mp.power(2, x))

    @classmethod
    def eval(cls, *args: sp.Expr) -> sp.Expr | None:
        """Powers of two of moderate size; 2^(10^9) is not worth its exact digits."""
        (x,) = args
        return TWO**x if x.is_Integer and builtins.abs(x) <= _MODERATE else None


_MODERATE = 1024


class log2(ScalarFunction):
    """The logarithm to base 2."""

    nargs = 1
    large = True
    definition = _(lambda x: sp.log(x, 2))
    partials = _(lambda x: (log2(sp.E) / x,))
    value = _(lambda x: _log(x) / mp.ln2)


class log10(ScalarFunction):
    """The logarithm to base 10."""

    nargs = 1
    large = True
    definition = _(lambda x: sp.log(x, 10))
    partials = _(lambda x: (log10(sp.E) / x,))  # x·log(10) may overflow
    value = _(lambda x: _log(x) / mp.ln10)


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

    The partial by x is log(y), -∞ at (0, 0) as well, where it is a limit of difference quotients.
    That by y is masked only where x = 0 meets a y at which x/y does not exist: a mask on all of
    x = 0 would make the mixed derivative, 1/y, wrong there.
    """

    nargs = 2
    definition = _(lambda x, y: sp.Piecewise((ZERO, sp.Eq(x, 0)), (x * sp.log(y), True)))
    partials = _(
        lambda x, y: (
            where(logical_and(equal(x, ZERO), less(y, ZERO)), ZERO, sp.log(y)),
            where(logical_and(equal(x, ZERO), less_equal(y, ZERO)), ZERO, x / y),
        )
    )
    value = _(lambda x, y: mp.mpf(0) if x == 0 and not mp.isnan(y) else x * _log(y))


# Powers, lengths and angles ---------------------------------------------------------------------


class power(ScalarFunction):
    """x^y of real numbers: nan for a negative base unless y is an integer; x^0 = 1.

    Powers whose exponent is a rational number are SymPy's ``Pow``; this is for all others.

    The derivative is 0 at x = y = 0, and 0 by the exponent at x = 0 <= y; a negative base gives
    nan to the exponent only.  PyTorch masks the first at every y = 0, which makes the mixed
    derivative there, 1/x, zero.
    """

    nargs = 2
    aliases = "pow"
    kinks = _(_at_origin)
    math = "pow"
    definition = _(lambda x, y: x**y)
    partials = _(
        lambda x, y: (
            where(_at_origin(x, y), ZERO, y * power(x, y - 1)),
            where(logical_and(equal(x, ZERO), less_equal(ZERO, y)), ZERO, power(x, y) * sp.log(x)),
        )
    )
    value = _(lambda x, y: mp.inf if x == 0 and y < 0 else _real(mp.power)(x, y))

    @classmethod
    def eval(cls, *args: sp.Expr) -> sp.Expr | None:
        """``Pow`` for a rational exponent, unless the base is a number that it does not suit."""
        x, y = args
        if not y.is_Rational:
            return None
        if not x.is_number:
            return x**y
        real = x.is_Rational and (x > 0 or (y.is_Integer and (x or y >= 0)))
        return _rational(x**y) if real and builtins.abs(y) <= _MODERATE else None


class cbrt(ScalarFunction):
    """The real cube root, negative for negative x."""

    nargs = 1
    definition = _(lambda x: sp.sign(x) * sp.Abs(x) ** sp.Rational(1, 3))
    partials = _(lambda x: (1 / (3 * cbrt(x) ** 2),))
    value = _(lambda x: -mp.cbrt(-x) if x < 0 else mp.cbrt(x))


class norm_sqrt(ScalarFunction):
    """√x with derivative 0 at 0: the square root in norms and standard deviations."""

    nargs = 1
    drawn = True
    kinks = _(_at_zero)
    called = "the square root in norm, std"
    numpy = math = "sqrt"
    definition = _(lambda x: sp.sqrt(x))
    partials = _(lambda x: (where(equal(norm_sqrt(x), ZERO), ZERO, 1 / (2 * norm_sqrt(x))),))
    value = _(lambda x: mp.nan if x < 0 else mp.sqrt(x))


class hypot(ScalarFunction):
    """√(a² + b²) without overflow, with derivative 0 at the origin."""

    nargs = 2
    large = True
    kinks = _(_at_origin)
    finite_partials = True
    definition = _(lambda a, b: sp.sqrt(a**2 + b**2))
    partials = _(lambda a, b: (cosine(a, b), cosine(b, a)))
    value = _(mp.hypot)


class cosine(ScalarFunction):
    """a/hypot(a, b), the cosine of the angle between (a, b) and the first axis; 0 at the origin."""

    nargs = 2
    kinks = _(_at_origin)
    decides = True
    called = "hypot or atan2"
    definition = _(
        lambda a, b: sp.Piecewise(
            (ZERO, sp.And(sp.Eq(a, 0), sp.Eq(b, 0))), (a / sp.sqrt(a**2 + b**2), True)
        )
    )
    partials = _(lambda a, b: (hypot_derivative(TWO, ZERO, a, b), hypot_derivative(ONE, ONE, a, b)))
    value = _(lambda a, b: a / mp.hypot(a, b) if a or b else mp.mpf(0))


class hypot1(ScalarFunction):
    """√(1 + x²) without overflow."""

    nargs = 1
    finite_partials = True
    definition = _(lambda x: sp.sqrt(1 + x**2))
    partials = _(lambda x: (cosine(x, ONE),))
    value = _(lambda x: mp.hypot(1, x))


class tanh(ScalarFunction):
    """The hyperbolic tangent; 1 - tanh² would lose the digits of its derivative."""

    nargs = 1
    sympy = sp.tanh
    large = True
    finite_partials = True
    partials = _(lambda x: (sech2(x),))
    value = _(mp.tanh)


class sech(ScalarFunction):
    """1/cosh(x); it does not overflow where cosh(x) does."""

    nargs = 1
    sympy = sp.sech
    finite_partials = True
    partials = _(lambda x: (-sech(x) * tanh(x),))
    value = _(mp.sech)


class sech2(ScalarFunction):
    """1/cosh(x)², the derivative of tanh; one function, so that its derivatives are products."""

    nargs = 1
    finite_partials = True
    definition = _(lambda x: sp.sech(x) ** 2)
    partials = _(lambda x: (-2 * sech2(x) * tanh(x),))
    value = _(lambda x: mp.sech(x) ** 2)


class asinh(ScalarFunction):
    """The inverse of sinh; with hypot1 its derivative holds beyond 1e154, where x² overflows."""

    nargs = 1
    aliases = "arcsinh"
    sympy = sp.asinh
    finite_partials = True
    partials = _(lambda x: (1 / hypot1(x),))
    value = _(mp.asinh)


class acosh(ScalarFunction):
    """The inverse of cosh on [1, ∞)."""

    nargs = 1
    aliases = "arccosh"
    sympy = sp.acosh
    partials = _(lambda x: (acosh_slope(x),))
    value = _(_real(mp.acosh))


class acosh_slope(ScalarFunction):
    """1/√(x² - 1) without overflow, the derivative of acosh.

    Its own is -x times its cube, where x times the slope s is √(1 + s²).
    """

    nargs = 1
    definition = _(lambda x: 1 / (sp.sqrt(x - 1) * sp.sqrt(x + 1)))
    partials = _(lambda x: (-(acosh_slope(x) ** 2) * hypot1(acosh_slope(x)),))
    value = _(_real(lambda x: 1 / (mp.sqrt(x - 1) * mp.sqrt(x + 1)) if x != 1 else mp.inf))


class atan2(ScalarFunction):
    """The angle of the point (x, y) to the first axis, in (-π, π]; derivative 0 at the origin.

    ∂/∂y = x/r² = cos/r and ∂/∂x = -y/r² = -sin/r.
    """

    nargs = 2
    aliases = "arctan2"
    sympy = sp.atan2
    kinks = _(_at_origin)
    partials = _(
        lambda y, x: (atan2_derivative(ONE, ZERO, y, x), atan2_derivative(ZERO, ONE, y, x))
    )
    value = _(mp.atan2)


class Planar(Ordered):
    """A mixed derivative of order n by the first and m by the second coordinate, 0 at the origin.

    With the cosine c and the sine s of the direction and the length r it is P(c, s)/r^q, where P is
    a homogeneous polynomial (``planar``).  As one function it is inf where it is infinite: a sum
    of its terms, all with powers of r, would be nan there, and lose digits elsewhere.
    """

    nargs = 4
    orders = 2
    kinks = _(lambda n, m, a, b: _at_origin(a, b))
    decides = True


def _of_plane(n: sp.Expr, m: sp.Expr, a: sp.Expr, b: sp.Expr, function: Any) -> sp.Expr:
    if not (n.is_Integer and m.is_Integer):
        raise Unsupported(f"{function.__name__}: the orders {n} and {m} are not numbers")
    at = sp.symbols("a b", real=True, cls=sp.Dummy)
    derivative = function(*at).diff(*((x, int(k)) for x, k in zip(at, (n, m), strict=True)))
    origin = sp.And(sp.Eq(a, 0), sp.Eq(b, 0))
    return sp.Piecewise((ZERO, origin), (derivative.subs(dict(zip(at, (a, b), strict=True))), True))


def _planar_value(name: str, n: Any, m: Any, a: Any, b: Any) -> Any:
    if not a and not b:
        return mp.mpf(0)
    q, terms = planar(name, integer_order(name, n), integer_order(name, m))
    with mp.extraprec(20):
        r = mp.hypot(a, b)
        total = mp.fsum(k * (a / r) ** i * (b / r) ** j for i, j, k in terms) / r**q
    return +total


@cache
def planar(name: str, n: int, m: int) -> tuple[int, tuple[tuple[int, int, int], ...]]:
    """The power q of 1/r, and the terms (i, j, k) of k c^i s^j, of a derivative of positive order.

    From ∂/∂a P(a/r, b/r)/r^q = (∂P/∂c (c² + s²) - (d + q) c P)/r^(q+1) for P of degree d.

    >>> planar("hypot_derivative", 2, 0), planar("atan2_derivative", 1, 1)
    ((1, ((0, 2, 1),)), (2, ((0, 2, -1), (2, 0, 1))))
    """
    q, first, second = {
        "hypot_derivative": (0, (1, 0, 1), (0, 1, 1)),
        "atan2_derivative": (1, (0, 1, 1), (1, 0, -1)),
    }[name]
    i, j, k = first if n else second
    terms: dict[tuple[int, int], int] = {(i, j): k}
    degree = 1
    for by_first in (*[True] * builtins.max(n - 1, 0), *[False] * (m if n else m - 1)):
        found: dict[tuple[int, int], int] = {}
        for (i, j), k in terms.items():
            power = i if by_first else j
            one_less = (i - 1, j) if by_first else (i, j - 1)
            for more in ((2, 0), (0, 2)) if power else ():
                key = (one_less[0] + more[0], one_less[1] + more[1])
                found[key] = found.get(key, 0) + power * k
            key = (i + 1, j) if by_first else (i, j + 1)
            found[key] = found.get(key, 0) - (degree + q) * k
        terms = {key: k for key, k in found.items() if k}
        degree, q = degree + 1, q + 1
    return q, tuple((i, j, k) for (i, j), k in sorted(terms.items()))


class hypot_derivative(Planar):
    """The derivative of hypot(a, b) of order n by a and m by b, n + m > 0; 0 at the origin."""

    called = "hypot or atan2"
    definition = _(lambda n, m, a, b: _of_plane(n, m, a, b, lambda x, y: sp.sqrt(x**2 + y**2)))
    partials = _(
        lambda n, m, a, b: (
            None,
            None,
            hypot_derivative(n + 1, m, a, b),
            hypot_derivative(n, m + 1, a, b),
        )
    )
    value = _(lambda n, m, a, b: _planar_value("hypot_derivative", n, m, a, b))


class atan2_derivative(Planar):
    """The derivative of atan2(y, x) of order n by y and m by x, n + m > 0; 0 at the origin."""

    called = "atan2"
    definition = _(lambda n, m, y, x: _of_plane(n, m, y, x, lambda a, b: sp.atan2(a, b)))
    partials = _(
        lambda n, m, y, x: (
            None,
            None,
            atan2_derivative(n + 1, m, y, x),
            atan2_derivative(n, m + 1, y, x),
        )
    )
    value = _(lambda n, m, y, x: _planar_value("atan2_derivative", n, m, y, x))


# The gamma family -------------------------------------------------------------------------------


class Transcendental(ScalarFunction):
    """A function whose exact values are not worth looking for."""

    @classmethod
    def eval(cls, *args: sp.Expr) -> sp.Expr | None:
        """Nothing is evaluated."""
        return None


class gamma(Transcendental):
    """The gamma function Γ(x)."""

    nargs = 1
    sympy = sp.gamma
    drawn = True
    partials = _(lambda x: (gamma(x) * digamma(x),))
    value = _(_real(mp.gamma))

    @classmethod
    def eval(cls, *args: sp.Expr) -> sp.Expr | None:
        """Factorials that a double holds exactly."""
        (x,) = args
        return sp.gamma(x) if x.is_Integer and 0 < x <= 20 else None


class gammaln(Transcendental):
    """log|Γ(x)|; SymPy's loggamma is complex for negative x."""

    nargs = 1
    aliases = "lgamma loggamma"
    sympy = sp.loggamma
    definition = _(lambda x: sp.log(sp.Abs(sp.gamma(x))))
    partials = _(lambda x: (digamma(x),))
    value = _(lambda x: mp.inf if x <= 0 and mp.isint(x) else mp.re(mp.loggamma(x)))


class digamma(Transcendental):
    """ψ(x), the derivative of log|Γ(x)|."""

    nargs = 1
    aliases = "psi"
    sympy = sp.digamma
    definition = _(lambda x: sp.polygamma(0, x))
    partials = _(lambda x: (polygamma(ONE, x),))
    value = _(_real(mp.digamma))


class polygamma(Ordered):
    """ψ⁽ⁿ⁾(x), the n-th derivative of ψ, for a constant integer n >= 0."""

    nargs = 2
    sympy = sp.polygamma
    definition = _(lambda n, x: sp.polygamma(n, x))
    partials = _(lambda n, x: (None, polygamma(n + 1, x)))
    value = _(lambda n, x: _polygamma_value(integer_order("polygamma", n), x))

    @classmethod
    def eval(cls, *args: sp.Expr) -> sp.Expr | None:
        """Digamma for n = 0; raises Unsupported for a number that is no order."""
        super().eval(*args)
        n, x = args
        return digamma(x) if n == 0 else None


def _polygamma_value(n: int, x: Any) -> Any:
    """By mpmath's psi, and where its sum of n terms is long, by ζ(s, x) of s = n + 1.

    ψ⁽ⁿ⁾(x) = (-1)ˢ n! Σ_k (x + k)^-s (DLMF 5.15.1).  With x = f - N, 0 < f < 1, the sum is
    ζ(s, f) + (-1)ˢ (ζ(s, 1 - f) - ζ(s, N + 1 - f)), of which the terms may cancel.
    """
    if n < 100 or not mp.isfinite(x) or (x <= 0 and mp.isint(x)):
        return _real(mp.psi)(n, x)
    s, sign, extra = n + 1, (-1) ** (n + 1), 30
    while True:
        with mp.extraprec(extra + builtins.max(mp.mag(x), 0)):
            below = builtins.max(-mp.floor(x), 0)
            f = x + below
            first = mp.zeta(s, f)
            total = (
                first + sign * (mp.zeta(s, 1 - f) - mp.zeta(s, below + 1 - f)) if below else first
            )
            if total and mp.mag(first) - mp.mag(total) < extra - 10:
                result = sign * mp.factorial(n) * total
                break
        extra *= 2
        if extra > 4000:
            raise mp.libmp.NoConvergence
    return +result


def integer_order(name: str, n: Any, lowest: int | None = 0) -> int:
    """The integer that an order is; Unsupported for any other number, which has no meaning here."""
    if n % 1 != 0 or (lowest is not None and n < lowest):
        needed = "an integer" if lowest is None else f"an integer >= {lowest}"
        raise Unsupported(f"{name}: the order {n} is not {needed}")
    return int(n)


# The beta family, and the incomplete gamma and beta functions ------------------------------------


class betaln(Transcendental):
    """log|B(a, b)| = log|Γ(a)| + log|Γ(b)| - log|Γ(a + b)|."""

    nargs = 2
    definition = _(lambda a, b: _lngamma(a) + _lngamma(b) - _lngamma(a + b))
    partials = _(lambda a, b: (polygamma_difference(ZERO, a, b), polygamma_difference(ZERO, b, a)))
    value = _(lambda a, b: _betaln_value(a, b))


def _lngamma(x: sp.Expr) -> sp.Expr:
    return gammaln.definition(x)


def _betaln_value(a: Any, b: Any) -> Any:
    if not (mp.isfinite(a) and mp.isfinite(b)):
        return mp.nan
    sizes = [mp.mag(x) for x in (a, b) if x]
    with mp.extraprec(20 + 2 * max(map(builtins.abs, sizes), default=0)):  # the terms cancel
        result = gammaln.value(a) + gammaln.value(b) - gammaln.value(a + b)
    return +result


class polygamma_difference(Ordered):
    """ψ⁽ⁿ⁾(a) - ψ⁽ⁿ⁾(a + b), for a constant integer n >= 0; a difference of two would cancel."""

    nargs = 3
    definition = _(lambda n, a, b: sp.polygamma(n, a) - sp.polygamma(n, a + b))
    partials = _(
        lambda n, a, b: (None, polygamma_difference(n + 1, a, b), -polygamma(n + 1, a + b))
    )
    value = _(
        lambda n, a, b: _polygamma_difference_value(integer_order("polygamma_difference", n), a, b)
    )


def _polygamma_difference_value(n: int, a: Any, b: Any) -> Any:
    if not (mp.isfinite(a) and mp.isfinite(b)):
        return mp.nan
    sizes = [builtins.abs(mp.mag(x)) for x in (a, b) if x]
    with mp.extraprec(20 + 2 * (n + 1) * max(sizes, default=0)):  # the terms cancel
        result = _real(mp.psi)(n, a) - _real(mp.psi)(n, a + b)
    return +result


class gammainc(Transcendental):
    """P(a, x) = 1/Γ(a) ∫₀ˣ t^(a-1) e^-t dt, the regularised lower one; a > 0 has no derivative."""

    nargs = 2
    definition = _(lambda a, x: sp.lowergamma(a, x) / sp.gamma(a))
    partials = _(lambda a, x: (None, gamma_density(a, x)))
    value = _(lambda a, x: _gammainc_value(a, x, 0, x))


class gammaincc(Transcendental):
    """Q(a, x) = 1 - P(a, x), accurate in its tail; a > 0 has no derivative."""

    nargs = 2
    definition = _(lambda a, x: sp.uppergamma(a, x) / sp.gamma(a))
    partials = _(lambda a, x: (None, -gamma_density(a, x)))
    value = _(lambda a, x: _gammainc_value(a, x, x, mp.inf))


def _gammainc_value(a: Any, x: Any, low: Any, high: Any) -> Any:
    if not (a > 0 and x >= 0):
        return mp.nan
    return _real(partial(mp.gammainc, regularized=True))(a, low, high)


class gamma_density(Transcendental):
    """x^(a-1) e^-x / Γ(a) for x >= 0, the derivative of P(a, x); it is 0 for a = 0, -1, -2 ...

    The derivative is gamma_density(a - 1, x) - gamma_density(a, x), without a pole at x = 0
    that the function does not have.
    """

    nargs = 2
    definition = _(lambda a, x: x ** (a - 1) * sp.exp(-x) / sp.gamma(a))
    partials = _(lambda a, x: (None, gamma_density(a - 1, x) - gamma_density(a, x)))
    value = _(lambda a, x: _gamma_density_value(a, x))


def _gamma_density_value(a: Any, x: Any) -> Any:
    if not x >= 0:
        return mp.nan
    factor = mp.rgamma(a)
    if not factor or mp.isnan(factor):
        return factor
    if x == 0 and a < 1:
        return factor * mp.inf
    return mp.power(x, a - 1) * mp.exp(-x) * factor


class betainc(Transcendental):
    """I_x(a, b) = 1/B(a, b) ∫₀ˣ t^(a-1) (1-t)^(b-1) dt; a and b > 0 have no derivative."""

    nargs = 3
    definition = _(lambda a, b, x: sp.betainc_regularized(a, b, 0, x))
    partials = _(lambda a, b, x: (None, None, beta_density(a - 1, b - 1, betaln(a, b), x)))
    value = _(
        lambda a, b, x: (
            _real(partial(mp.betainc, regularized=True))(a, b, 0, x)
            if a > 0 and b > 0 and 0 <= x <= 1
            else mp.nan
        )
    )


class beta_density(Transcendental):
    """x^p (1 - x)^q e^-c for 0 <= x <= 1, the derivative of I_x(p + 1, q + 1) with c = log B.

    The powers and their scale are one function, because each of them alone would overflow.
    """

    nargs = 4
    definition = _(lambda p, q, c, x: x**p * (1 - x) ** q * sp.exp(-c))
    partials = _(
        lambda p, q, c, x: (
            None,
            None,
            None,
            # The exponent 0 stays: 0 times an infinite power would be nan.
            p * beta_density(p - abs(sign(p)), q, c, x)
            - q * beta_density(p, q - abs(sign(q)), c, x),
        )
    )
    value = _(
        lambda p, q, c, x: (
            _power_at(x, p) * _power_at(1 - x, q) * mp.exp(-c) if 0 <= x <= 1 else mp.nan
        )
    )


def _power_at(x: Any, p: Any) -> Any:
    return mp.inf if x == 0 and p < 0 else mp.power(x, p)


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

    It is one function because 2x·erfcx(x) - 2/√π cancels for x > 0, the more so the larger x is.
    """

    nargs = 2
    definition = _(
        lambda n, x: _differentiated("erfcx_derivative", lambda t: sp.exp(t**2) * sp.erfc(t), n, x)
    )
    partials = _(lambda n, x: (None, erfcx_derivative(n + 1, x)))
    value = _(lambda n, x: _erfcx_value(integer_order("erfcx_derivative", n), x))

    @classmethod
    def eval(cls, *args: sp.Expr) -> sp.Expr | None:
        """``erfcx`` for n = 0; raises Unsupported for a number that is no order."""
        super().eval(*args)
        n, x = args
        return erfcx(x) if n == 0 else None


def _erfcx_value(n: int, x: Any) -> Any:
    if not mp.isfinite(x):
        return x if mp.isnan(x) else mp.mpf(0) if x > 0 else mp.inf * (-1) ** n
    size = builtins.max(mp.mag(x), 0) if x else 0
    # Each order cancels 2 mag(x) bits, and e^(4x²) at most in all; further out all of it is a tail.
    with mp.extraprec(40 + 2 * (n + 1) * (size + 3)):
        if x > 0 and x * x > mp.mp.prec + 20:  # e^(x²) erfc(x) by its asymptotic series
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
    sympy = sp.erfinv
    partials = _(lambda x: (sp.sqrt(sp.pi) / 2 * sp.exp(erfinv(x) ** 2),))
    value = _(lambda x: x * mp.inf if mp.fabs(x) == 1 else _real(mp.erfinv)(x))

    @classmethod
    def eval(cls, *args: sp.Expr) -> sp.Expr | None:
        """0 at 0."""
        return ZERO if args[0] == 0 else None


class erfcinv(Transcendental):
    """The inverse of erfc on [0, 2], accurate near 0."""

    nargs = 1
    sympy = sp.erfcinv
    definition = _(lambda x: sp.erfinv(1 - x))
    partials = _(lambda x: (erfcinv_slope(x),))
    value = _(lambda x: _erfcinv_value(x))

    @classmethod
    def eval(cls, *args: sp.Expr) -> sp.Expr | None:
        """0 at 1."""
        return ZERO if args[0] == 1 else None


def _erfcinv_value(x: Any) -> Any:
    if not 0 <= x <= 2:
        return mp.nan
    if x in (0, 2):
        return (1 - x) * mp.inf
    with mp.extraprec(10 + builtins.abs(mp.mag(x))):
        result = mp.erfinv(1 - x)
    return +result


class erfcinv_slope(Transcendental):
    """-√π/2·e^(y²) at y = erfcinv(x), the derivative of erfcinv; its own is 2·y times its square.

    It is one function because its relative error does not grow with y² when it is computed as
    -√π/2·erfcx(y)/x, with the scaled erfcx(y) = e^(y²)·erfc(y).
    """

    nargs = 1
    definition = _(lambda x: -sp.sqrt(sp.pi) / 2 * sp.exp(sp.erfinv(1 - x) ** 2))
    partials = _(lambda x: (TWO * erfcinv(x) * erfcinv_slope(x) ** 2,))
    value = _(lambda x: _erfcinv_slope_value(x))


def _erfcinv_slope_value(x: Any) -> Any:
    if not 0 < x < 2:
        return mp.ninf if x in (0, 2) else mp.nan
    with mp.extraprec(20 + builtins.abs(mp.mag(x))):
        result = -mp.sqrt(mp.pi) / 2 * mp.exp(_erfcinv_value(x) ** 2)
    return +result


# Bessel functions -------------------------------------------------------------------------------


class Bessel(Transcendental):
    """A Bessel function of a constant integer order n.

    The derivatives are half of the sum or of the difference of the two neighbouring orders (DLMF
    10.6.1 and 10.29.1), and hold at x = 0 too.  A negative order is the positive one up to sign
    (DLMF 10.4.1, 10.27.1 and 10.27.3): that of ``reflection``.
    """

    nargs = 2
    reflection = 1
    at_zero: Any = None  # the values at x = 0 of order 0 and of the others

    @classmethod
    def eval(cls, *args: sp.Expr) -> sp.Expr | None:
        """An order >= 0 for a negative one; raises Unsupported for a number that is no integer."""
        n, x = args
        if not n.is_number:
            return None
        integer_order(cls.__name__, n, None)
        if n < 0:
            return cls.reflection ** int(-n) * cls(-n, x)
        return cls.at_zero[n != 0] if x == 0 and cls.at_zero else None


def _below(function: type[Bessel], n: sp.Expr, x: sp.Expr) -> sp.Expr:
    """The function of order n - 1, that of order -1 written with order 1: J_0' is -J_1."""
    lowest = ONE - abs(sign(n))  # 1 for n = 0, else 0
    turned = function(n - 1 + 2 * lowest, x)
    return turned if function.reflection == 1 else (1 - 2 * lowest) * turned


class jv(Bessel):
    """J_n(x), the Bessel function of the first kind."""

    sympy = sp.besselj
    aliases = "jn"
    finite_partials = True
    partials = _(lambda n, x: (None, HALF * _below(jv, n, x) - HALF * jv(n + 1, x)))
    value = _(lambda n, x: _real(mp.besselj)(integer_order("jv", n, None), x))
    reflection, at_zero = -1, (ONE, ZERO)


class yv(Bessel):
    """Y_n(x), the Bessel function of the second kind; nan for x < 0."""

    sympy = sp.bessely
    aliases = "yn"
    partials = _(lambda n, x: (None, HALF * _below(yv, n, x) - HALF * yv(n + 1, x)))
    value = _(lambda n, x: _second_kind(mp.bessely, integer_order("yv", n, None), x, -1))
    reflection = -1


class iv(Bessel):
    """I_n(x), the modified Bessel function of the first kind."""

    sympy = sp.besseli
    partials = _(lambda n, x: (None, HALF * _below(iv, n, x) + HALF * iv(n + 1, x)))
    value = _(lambda n, x: _real(mp.besseli)(integer_order("iv", n, None), x))
    at_zero = (ONE, ZERO)


class kv(Bessel):
    """K_n(x), the modified Bessel function of the second kind; nan for x < 0."""

    sympy = sp.besselk
    partials = _(lambda n, x: (None, -HALF * _below(kv, n, x) - HALF * kv(n + 1, x)))
    value = _(lambda n, x: _second_kind(mp.besselk, integer_order("kv", n, None), x, 1))


def _second_kind(function: Any, n: int, x: Any, reflection: int) -> Any:
    """Y_n or K_n, which is infinite at 0 and complex below."""
    if not x > 0:
        sign_at_zero = reflection if n >= 0 else reflection ** (1 - n)
        return sign_at_zero * mp.inf if x == 0 else mp.nan
    return _real(function)(n, x)


# The cardinal sine ------------------------------------------------------------------------------


class sinc(ScalarFunction):
    """sin(πx)/(πx), and 1 at 0: NumPy's convention."""

    nargs = 1
    finite_partials = True
    definition = _(lambda x: sp.sinc(sp.pi * x))
    partials = _(lambda x: (sinc_derivative(ONE, x),))
    value = _(mp.sincpi)


class sinc_derivative(Ordered):
    """The n-th derivative of sinc, for a constant integer n >= 0; accurate for every n and x.

    Its Taylor series, with t = πx, is πⁿ·Σₖ (-1)ᵏ t^(2k-n)/((2k+1)·(2k-n)!) over 2k >= n.
    """

    nargs = 2
    finite_partials = True
    definition = _(
        lambda n, x: _differentiated("sinc_derivative", lambda t: sp.sinc(sp.pi * t), n, x)
    )
    partials = _(lambda n, x: (None, sinc_derivative(n + 1, x)))
    value = _(lambda n, x: _sinc_value(integer_order("sinc_derivative", n), x))

    @classmethod
    def eval(cls, *args: sp.Expr) -> sp.Expr | None:
        """``sinc`` for n = 0; raises Unsupported for a number that is no order."""
        super().eval(*args)
        n, x = args
        return sinc(x) if n == 0 else None


def _sinc_value(n: int, x: Any) -> Any:
    size = mp.fabs(x) * mp.pi
    if not size < n:  # t·f = sin t differentiated n times gives t·fₙ + n·fₙ₋₁ = sin⁽ⁿ⁾ t
        with mp.extraprec(20):
            t, sine, cosine = mp.pi * x, mp.sinpi(x), mp.cospi(x)
            total = sine / t
            for k in range(1, n + 1):
                total = ((sine, cosine, -sine, -cosine)[k % 4] - k * total) / t
            total *= mp.pi**n
        return +total
    with mp.extraprec(20 + 3 * n):  # the terms grow to e^|t| < 2^(3n/2), and cancel down to 1/n
        t, k = mp.pi * x, (n + 1) // 2
        term = (-1) ** k * t ** (2 * k - n) / mp.mpf(1)
        total = mp.mpf(0)
        while term and (2 * k - n <= size or mp.fabs(term) > mp.eps * mp.fabs(total)):
            total += term / (2 * k + 1)
            k += 1
            term *= -t * t / ((2 * k - n) * (2 * k - n - 1))
        total *= mp.pi**n
    return +total


# All of them ------------------------------------------------------------------------------------

_OWN: tuple[type[ScalarFunction], ...] = (
    *(less, less_equal, equal, not_equal, logical_and, logical_or, logical_xor, logical_not),
    *(where, maximum, minimum, clip),
    *(abs, sign, step, floor, ceil, trunc, round, floor_divide, mod),
    *(sigmoid, softplus, log_sigmoid, expm1, bose, log1p, log1mexp, exp2, log2, log10),
    *(logaddexp, exp_share, difference, xlogy),
    *(power, cbrt, norm_sqrt, hypot, cosine, hypot1),
    *(tanh, sech, sech2, asinh, acosh, acosh_slope, atan2),
    *(hypot_derivative, atan2_derivative),
    *(gamma, gammaln, digamma, polygamma, sinc, sinc_derivative),
    *(betaln, polygamma_difference, gammainc, gammaincc, gamma_density, betainc, beta_density),
    *(erfcx, erfcx_derivative, erfinv, erfcinv, erfcinv_slope),
    *(jv, yv, iv, kv),
)


def _taken(value: Callable[..., Any], **facts: Any) -> type[Facts]:
    return type("Taken", (Facts,), {"value": staticmethod(value), **facts})


# SymPy's own classes, whose derivatives hold wherever the function does.
_SYMPY: dict[Any, type[Facts]] = {
    sp.exp: _taken(mp.exp),
    sp.log: _taken(_log, large=True, aliases="ln"),
    sp.sin: _taken(mp.sin, finite_partials=True),
    sp.cos: _taken(mp.cos, finite_partials=True),
    sp.tan: _taken(mp.tan, finite_partials=True),
    sp.asin: _taken(_real(mp.asin), aliases="arcsin"),
    sp.acos: _taken(_real(mp.acos), aliases="arccos"),
    sp.atan: _taken(mp.atan, large=True, finite_partials=True, aliases="arctan"),
    sp.sinh: _taken(mp.sinh),
    sp.cosh: _taken(mp.cosh),
    sp.atanh: _taken(
        _real(lambda x: x * mp.inf if mp.fabs(x) == 1 else mp.atanh(x)), aliases="arctanh"
    ),
    sp.erf: _taken(mp.erf, large=True, finite_partials=True),
    sp.erfc: _taken(mp.erfc, finite_partials=True),
}

VOCABULARY: dict[str, type[sp.Function]] = {
    cls.__name__: cls for group in (_OWN, _SYMPY) for cls in group
}
"""Every function that a formula may contain, besides sums, products and rational powers."""

FACTS: dict[str, type[Facts]] = {
    **{cls.__name__: cls for cls in _OWN},
    **{cls.__name__: facts for cls, facts in _SYMPY.items()},
}
"""What is known of the functions of ``VOCABULARY``."""

MPMATH: dict[str, Callable[..., Any]] = {name: facts.value for name, facts in FACTS.items()}
"""The functions of ``VOCABULARY`` as functions of mpmath numbers, at the precision in force."""


def arity(name: str) -> int:
    """The number of arguments of the function called ``name`` in ``VOCABULARY``.

    >>> arity("hypot"), arity("log")
    (2, 1)
    """
    return int(min(VOCABULARY[name].nargs))
