"""Base classes of the vocabulary's functions, and helpers of their formulas."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import mpmath as mp
import sympy as sp

from symdiff.errors import NotDifferentiable, Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from mpmath import MPContext, mpf
    from sympy.printing.codeprinter import CodePrinter

ZERO, ONE, HALF, TWO = sp.Integer(0), sp.Integer(1), sp.Rational(1, 2), sp.Integer(2)

TURN = sp.Dummy("turn", positive=True)  # 2π, whose roots stay whole in formulas for readers

MODERATE = 1024  # the largest exponent of integers for exact powers

# The attributes of a class are formulas, as lambdas of the function's arguments.
_: Any = staticmethod


class Facts:
    """The facts about a function besides its derivative; a class states what differs from these.

    Code that needs a fact derives a table from ``FACTS``, and never lists names.

    - ``value``: the function of mpmath numbers, at the current working precision; nan outside the
      real domain;
    - ``result``: the type of its values: float, bool, or None for the type of its operands;
    - ``rounds``: whether it rounds numbers to integers, and leaves integers unchanged;
    - ``overflows``: whether its value for integers may exceed their type, as |-128| does;
    - ``cheap``: whether computing a value again costs about as much as reading it;
    - ``rational``: the function of Fractions, if Python has one; if it is ``value`` itself, it is
      right for every kind of number;
    - ``large``: whether mpmath computes it for numbers of any size;
    - ``sympy``: SymPy's class for the same function of the same arguments; of any number of
      arguments, if it takes more than two;
    - ``aliases``: other names in texts;
    - ``infix``: the sign between its two operands in a text;
    - ``caption``: its form in a graph, with • for the operand, or ①, ② ... for several;
    - ``drawn``: whether its definition reads better in LaTeX than its name;
    - ``written``: the formula that readers see in place of its name, in functions that users know;
      it has the function's value, except for a convention at a kink;
    - ``domain``: the formula, a truth value, of the region where its value is real and its partial
      derivatives are finite, apart from kinks; None for all real operands;
    - ``margins``: numbers that are 0 where it jumps or has a kink, and change their sign there;
      None for a function without such places;
    - ``kinks``: the formula, a truth value, of the points where its derivative is a convention (the
      partial derivatives then have a ``Decision``); else None;
    - ``decides``: the name of the function at whose kinks this value is the convention for the
      derivative; the last arguments are those of that function;
    - ``decides_at``: the formula of these points; by default all arguments are those of that
      function, and the points are its kinks;
    - ``called``: the name for users who do not know its own;
    - ``finite_partials``: whether its partial derivatives are finite floats for all finite operands
      (for small orders);
    - ``numpy``, ``math``: the names in these modules, if they differ; ``numeric.special`` has the
      functions that these modules lack.
    """

    value: Callable[..., mpf]
    result: type[bool] | type[float] | None = float
    rounds = False
    overflows = False
    cheap = False
    rational: Callable[..., Fraction] | None = None
    large = False
    sympy: type[sp.Function] | None = None
    aliases = ""
    infix: str | None = None
    caption: str | None = None
    drawn = False
    written: Callable[..., sp.Expr] | None = None
    domain: Callable[..., sp.Basic] | None = None
    margins: Callable[..., tuple[mpf, ...]] | None = None
    kinks: Callable[..., sp.Basic] | None = None
    decides: str | None = None
    decides_at: Callable[..., sp.Basic] | None = None
    called: str | None = None
    finite_partials = False
    numpy: str | None = None
    math: str | None = None


class ScalarFunction(Facts, sp.Function):  # type: ignore[misc]  # SymPy carries no types
    """A function of the vocabulary; a subclass states these attributes and its facts.

    - ``definition``: the same function in SymPy's own classes; by default that of ``sympy``;
    - ``partials``: the derivative by each argument, in the vocabulary (None: it has none, and its
      use raises NotDifferentiable);
    - ``value``: see ``Facts``;
    - ``orders``: how many of its first arguments are constant orders.
    """

    partials: Callable[..., tuple[sp.Expr | None, ...]]
    orders = 0

    is_extended_real = True  # arguments are real, so a value is real or nan

    def __init_subclass__(cls) -> None:
        # SymPy derives the assumptions of each class anew, 0.1 ms for the same ones.  What it wrote
        # on a base, its subclasses inherit as attributes.
        if any(name.startswith(("is_", "_eval_is_")) for name in vars(cls)):
            super().__init_subclass__()

    @classmethod
    def definition(cls, *args: sp.Expr) -> sp.Expr:
        """The function in SymPy's own classes."""
        assert cls.sympy is not None  # else the class states its own definition
        return cls.sympy(*args)

    @classmethod
    def eval(cls, *args: sp.Expr) -> sp.Expr | None:
        """Evaluate exact rational arguments with a rational value; otherwise return None."""
        if not all(argument.is_Rational for argument in args):
            return None
        try:
            return rational_or_none(cls.definition(*args))
        except ZeroDivisionError:  # mod(1, 0)
            return None

    def fdiff(self, argindex: int = 1) -> sp.Expr:
        """Return the derivative by argument number ``argindex``, counted from 1 as in SymPy."""
        derivative = self.partials(*self.args)[argindex - 1]
        if derivative is None:
            parameter = self.partials.__code__.co_varnames[argindex - 1]
            raise NotDifferentiable(
                f"{self.func.__name__} has no derivative by its argument number {argindex} "
                f"({parameter}), which must be a constant"
            )
        return derivative

    def _eval_evalf(self, prec: int) -> sp.Expr | None:
        # SymPy would call mpmath's function of this name, whose convention may differ (sinc).
        try:
            args = [argument._to_mpmath(prec + 10) for argument in self.args]
        except (AttributeError, ValueError):  # not all arguments are numbers
            return None
        with mp.workprec(prec + 10):
            return sp.Expr._from_mpmath(mp.mpf(self.value(*args)), prec)

    def _call_code(self, printer: CodePrinter) -> str:
        return f"{self.func.__name__}({', '.join(map(printer._print, self.args))})"

    # SymPy's code printers use some of these names with another convention (numpy.sinc(x/pi)).
    _numpycode = _pythoncode = _mpmathcode = _call_code


class Ordered(ScalarFunction):
    """A derivative whose first ``orders`` operands are constant orders.

    ``of`` is the function of order 0, if there is one.
    """

    orders = 1
    of: type[ScalarFunction] | None = None

    @classmethod
    def eval(cls, *args: sp.Expr) -> sp.Expr | None:
        """Return ``of`` for orders 0; raises Unsupported for a number that is not an order."""
        orders, operands = args[: cls.orders], args[cls.orders :]
        for n in orders:
            if n.is_number:
                integer_order(cls.__name__, n)
        return cls.of(*operands) if cls.of and all(n == 0 for n in orders) else None


class Stepwise(ScalarFunction):
    """A function that is constant between jumps; its derivative counts as 0, also at a jump."""

    finite_partials = True

    def fdiff(self, argindex: int = 1) -> sp.Expr:
        """Return zero for every argument."""
        return ZERO


class Decision(Stepwise):
    """The derivative of another function near a kink, with a convention at the kink.

    It has the value of a formula, and prints as this formula, but is a class of its own: it marks
    the place where a derivative was taken.  A subclass states ``decides``, and

    - ``formula``: the value, in functions of the vocabulary.
    """

    formula: Callable[..., sp.Expr]

    @classmethod
    def eval(cls, *args: sp.Expr) -> sp.Expr | None:
        """Evaluate the formula for rational arguments, as for every function."""
        rational = all(argument.is_Rational for argument in args)
        return rational_or_none(cls.formula(*args)) if rational else None

    def _eval_evalf(self, prec: int) -> sp.Expr | None:
        return self.formula(*self.args)._eval_evalf(prec)

    def _call_code(self, printer: CodePrinter) -> str:
        return str(printer._print(self.formula(*self.args)))

    _numpycode = _pythoncode = _mpmathcode = _call_code


def rational_or_none(value: sp.Expr) -> sp.Expr | None:
    """Return ``value`` if it is a rational number, else None."""
    return value if value.is_Rational else None


def real(function: Callable[..., mpf]) -> Callable[..., mpf]:
    """Wrap an mpmath function: nan for complex results, and at poles without a definite sign."""

    def real_value(*args: mpf) -> mpf:
        try:
            result = function(*args)
        except (ValueError, ZeroDivisionError):
            return mp.nan
        return result if isinstance(result, mp.mpf) else mp.nan

    return real_value


def context(x: mpf) -> MPContext:
    """Return the mpmath context of x, which has a precision of its own.

    The context of mpmath's module-level functions is common to all threads.
    """
    return getattr(x, "context", mp.mp)


real_log: Callable[..., mpf] = real(lambda x: mp.log(x) if x else mp.ninf)


class Transcendental(ScalarFunction):
    """A function without an attempt to find exact values."""

    @classmethod
    def eval(cls, *args: sp.Expr) -> sp.Expr | None:
        """Return None: nothing is evaluated."""
        return None


def differentiated(
    name: str, formula: Callable[[sp.Expr], sp.Expr], n: sp.Expr, x: sp.Expr
) -> sp.Expr:
    """Return the ``n``-th derivative of ``formula`` at x, in SymPy's classes."""
    if not n.is_Integer:
        raise Unsupported(f"{name}: the order {n} is not a number")
    t = sp.Dummy(real=True)
    return formula(t).diff(t, int(n)).subs(t, x)


def by_slopes(slopes: dict[Any, Callable[[sp.Expr], sp.Expr]], n: sp.Expr, x: sp.Expr) -> sp.Expr:
    """Return the ``n``-th derivative at x of the first function, from first derivatives."""
    t = sp.Dummy(real=True)
    known = {function(t).diff(t): slope(t) for function, slope in slopes.items()}
    derivative = next(iter(slopes))(t)
    for _order in range(int(n)):
        derivative = derivative.diff(t).xreplace(known)
    return derivative.subs(t, x)


def real_order(name: str, n: mpf) -> mpf:
    """Return a finite order, as an int if it is one; raises Unsupported for others."""
    if not math.isfinite(n):
        raise Unsupported(f"{name}: the order {n} is not a finite number")
    return int(n) if n % 1 == 0 else n


def integer_order(name: str, n: mpf, lowest: int | None = 0) -> int:
    """Return an integer order; raises Unsupported for a number without meaning as order."""
    if n % 1 != 0 or (lowest is not None and n < lowest):
        needed = "an integer" if lowest is None else f"an integer >= {lowest}"
        raise Unsupported(f"{name}: the order {n} is not {needed}")
    return int(n)


def settled(value: Callable[[], mpf]) -> mpf:
    """Compute ``value()`` at the current precision, with more digits to make up for cancellation.

    The number of digits grows until two results agree.  Raises mpmath's NoConvergence if they do
    not agree with thousands of digits.
    """
    extra, last = 30, None
    while extra < 10_000:
        with mp.extraprec(extra):
            current = value()
        if mp.isnan(current):
            return current
        if last is not None and (
            current == last or mp.fabs(current - last) <= mp.eps * mp.fabs(current) / 4
        ):
            return +current
        extra, last = 2 * extra, current
    raise mp.libmp.NoConvergence
