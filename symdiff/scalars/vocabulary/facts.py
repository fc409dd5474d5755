"""What a function of the vocabulary states on its class, and what its formulas are written with."""

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

MODERATE = 1024  # the size up to which powers of integers are worth their exact digits

# The parts of a class are are formulas, given as lambdas of the function's arguments.
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
    - ``caption``: how a graph writes it, • being the operand, ①, ② ... several of them;
    - ``drawn``: whether its definition reads better in LaTeX than its name;
    - ``domain``: the formula, a truth value, of where it is a real number and has finite partials,
      kinks apart; None where it does for all real operands;
    - ``kinks``: the formula, a truth value, of where its derivative is a convention (its partials
      then have a ``Decision``); else None;
    - ``decides``: the name of the function at whose kinks the value is the convention for its
      derivative; the last arguments are those of that function;
    - ``decides_at``: the formula of where it is; unless stated, all arguments are those of that
      function, and it is at its kinks;
    - ``called``: what users call it, where they do not know its name;
    - ``finite_partials``: whether its partials are finite floats for all operands that are (orders
      being small);
    - ``numpy``, ``math``: what these modules call it, where they have it under another name; what
      they do not have is written in ``numeric.special``.
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
    domain: Callable[..., sp.Basic] | None = None
    kinks: Callable[..., sp.Basic] | None = None
    decides: str | None = None
    decides_at: Callable[..., sp.Basic] | None = None
    called: str | None = None
    finite_partials = False
    numpy: str | None = None
    math: str | None = None


class ScalarFunction(Facts, sp.Function):  # type: ignore[misc]  # SymPy carries no types
    """A function of the vocabulary, of which a subclass states three things, and its facts.

    - ``definition``: the same function in SymPy's own classes; that of ``sympy``, unless stated;
    - ``partials``: the derivative by each argument, in the vocabulary (None: it has none, and
      asking for it raises NotDifferentiable);
    - ``value``: see ``Facts``;
    - ``orders``: how many of its first arguments are constant orders.
    """

    partials: Callable[..., tuple[sp.Expr | None, ...]]
    orders = 0

    is_extended_real = True  # every argument is real, so every value is, or is nan

    @classmethod
    def definition(cls, *args: sp.Expr) -> sp.Expr:
        """The function in SymPy's own classes."""
        assert cls.sympy is not None  # else the class states its own definition
        return cls.sympy(*args)

    @classmethod
    def eval(cls, *args: sp.Expr) -> sp.Expr | None:
        """The value of exact rational arguments where it is rational; nothing else."""
        if not all(argument.is_Rational for argument in args):
            return None
        try:
            return rational_or_none(cls.definition(*args))
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

    def _call_code(self, printer: CodePrinter) -> str:
        return f"{self.func.__name__}({', '.join(map(printer._print, self.args))})"

    # SymPy's code printers know some of these names under another convention (numpy.sinc(x/pi)).
    _numpycode = _pythoncode = _mpmathcode = _call_code


class Ordered(ScalarFunction):
    """A derivative of which the first operands, ``orders`` of them, are constant orders.

    Where one function has it for every order, that is ``of``.
    """

    orders = 1
    of: type[ScalarFunction] | None = None

    @classmethod
    def eval(cls, *args: sp.Expr) -> sp.Expr | None:
        """``of`` for orders that are 0; raises Unsupported for a number that is no order."""
        orders, operands = args[: cls.orders], args[cls.orders :]
        for n in orders:
            if n.is_number:
                integer_order(cls.__name__, n)
        return cls.of(*operands) if cls.of and all(n == 0 for n in orders) else None


class Stepwise(ScalarFunction):
    """A function that is constant between its jumps; at a jump too its derivative counts as 0."""

    finite_partials = True

    def fdiff(self, argindex: int = 1) -> sp.Expr:
        """Zero by every argument."""
        return ZERO


class Decision(Stepwise):
    """What the derivative of another function does on each side of a kink, and at it by convention.

    It has the value of a formula, and is written as that, but is none: where it stands, somebody
    took a derivative.  A subclass states ``decides``, and

    - ``formula``: the value, in functions of the vocabulary.
    """

    formula: Callable[..., sp.Expr]

    @classmethod
    def eval(cls, *args: sp.Expr) -> sp.Expr | None:
        """As of every function; by the formula."""
        rational = all(argument.is_Rational for argument in args)
        return rational_or_none(cls.formula(*args)) if rational else None

    def _eval_evalf(self, prec: int) -> sp.Expr | None:
        return self.formula(*self.args)._eval_evalf(prec)

    def _call_code(self, printer: CodePrinter) -> str:
        return str(printer._print(self.formula(*self.args)))

    _numpycode = _pythoncode = _mpmathcode = _call_code


def rational_or_none(value: sp.Expr) -> sp.Expr | None:
    """``value``, where it is a rational number."""
    return value if value.is_Rational else None


def real(function: Callable[..., mpf]) -> Callable[..., mpf]:
    """The mpmath ``function``, nan where it would be complex, and at poles of no definite sign."""

    def real_value(*args: mpf) -> mpf:
        try:
            result = function(*args)
        except (ValueError, ZeroDivisionError):
            return mp.nan
        return result if isinstance(result, mp.mpf) else mp.nan

    return real_value


def context(x: mpf) -> MPContext:
    """The context of mpmath that x belongs to, with a precision of its own.

    That of mpmath's functions is one for all threads.
    """
    return getattr(x, "context", mp.mp)


real_log: Callable[..., mpf] = real(lambda x: mp.log(x) if x else mp.ninf)


class Transcendental(ScalarFunction):
    """A function whose exact values are not worth looking for."""

    @classmethod
    def eval(cls, *args: sp.Expr) -> sp.Expr | None:
        """Nothing is evaluated."""
        return None


def differentiated(
    name: str, formula: Callable[[sp.Expr], sp.Expr], n: sp.Expr, x: sp.Expr
) -> sp.Expr:
    """The ``n``-th derivative of ``formula`` at x, in SymPy's classes."""
    if not n.is_Integer:
        raise Unsupported(f"{name}: the order {n} is not a number")
    t = sp.Dummy(real=True)
    return formula(t).diff(t, int(n)).subs(t, x)


def real_order(name: str, n: mpf) -> mpf:
    """The finite number that an order is, an int where it is one; Unsupported for any other."""
    if not math.isfinite(n):
        raise Unsupported(f"{name}: the order {n} is not a finite number")
    return int(n) if n % 1 == 0 else n


def integer_order(name: str, n: mpf, lowest: int | None = 0) -> int:
    """The integer that an order is; Unsupported for any other number, which has no meaning here."""
    if n % 1 != 0 or (lowest is not None and n < lowest):
        needed = "an integer" if lowest is None else f"an integer >= {lowest}"
        raise Unsupported(f"{name}: the order {n} is not {needed}")
    return int(n)


def settled(value: Callable[[], mpf]) -> mpf:
    """``value()`` at the precision in force: what cancels in it is made up for by more digits.

    It is computed with more and more digits until two results agree.  Raises mpmath's NoConvergence
    if they do not with thousands.
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
