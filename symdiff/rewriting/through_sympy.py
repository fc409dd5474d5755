"""Expressions to SymPy and back: exact formulas of components, with bounds and a check.

Numbers become exact fractions, elements of array symbols become separate symbols.
"""

from __future__ import annotations

import inspect
import itertools
import math
import sys
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

from symdiff.errors import ShapeError, Unsupported
from symdiff.exact.components import evaluated, filled
from symdiff.exact.counting import count_operations
from symdiff.exact.witnesses import FEWEST, disagreement, fixed
from symdiff.functions.elementwise import not_equal
from symdiff.graph import ops
from symdiff.graph.algebra import combine
from symdiff.graph.axes import shape_text
from symdiff.graph.bound_lengths import in_terms_of, with_values
from symdiff.graph.expr import Expr, free_symbols, rebuild
from symdiff.graph.leaves import as_expr, number_node, symbol
from symdiff.graph.node import topological
from symdiff.interchange.sympy_bridge import Formulas, declared, lifted, stacked
from symdiff.scalars.formula import operands_first
from symdiff.transforms.unknown_functions import unknown_within

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FrameType

    from symdiff.exact.witnesses import Place
    from symdiff.graph.number import Number

__all__ = ["Carried", "changed", "check"]

COMPONENTS = 16  # the most of an array
OPERATIONS = 300  # the most of a component; a shared one counts at each use
CALLS = 5_000_000  # of Python functions in SymPy, some seconds: the same on every machine
_EXPONENT = 1000  # larger exponents, and fractions of larger numbers, become symbols
_ROUNDED = 1 << 20  # a fraction with a larger denominator comes from a float


class Carried:
    """The conversion of expressions to SymPy and back, for the function ``name``.

    ``outputs`` are all expressions to convert.  Raises Unsupported if it cannot convert one.
    """

    def __init__(self, name: str, outputs: Sequence[Expr]) -> None:
        self.name = name
        self.exact = True  # False once a float occurs
        self.known: dict[sp.Symbol, Expr] = {}
        self.places: dict[sp.Symbol, Place] = {}
        self.arithmetic = _Exact(self)
        env: dict[Expr, Any] = {}
        for x in free_symbols(outputs):
            self.require_lengths(f"{x.name} has", x.shape)
            env[x] = self.elements(x) if x.shape else self.symbol(x.name, x, (x, 0))
        self.env = env
        for unknown in unknown_within(topological(outputs)):
            raise unknown.refused(name)  # no check by numbers is possible

    def elements(self, x: Expr) -> Any:
        """SymPy's symbols for the elements of an array symbol."""
        indices = list(np.ndindex(fixed(x)))
        # No other symbol can have a name with brackets.
        names = [f"{x.name}[{', '.join(map(str, index))}]" for index in indices]
        several = enumerate(zip(names, indices, strict=True))
        return filled(
            fixed(x), (self.symbol(name, x[index], (x, k)) for k, (name, index) in several)
        )

    def symbol(self, name: str, x: Expr, place: Place) -> sp.Symbol:
        """SymPy's symbol for a scalar symbol, or for an element."""
        stand_in = declared(name, x.dtype)
        self.known[stand_in], self.places[stand_in] = x, place
        return stand_in

    def scalar(self, x: Expr) -> Any:
        """The formula of a scalar expression."""
        if x.shape:
            shape = shape_text(x.shape)
            raise ShapeError(f"{self.name}: {x!r} has shape {shape}, expected a scalar")
        return self.formulas(x)[0]

    def each(self, parts: Sequence[object], function: Callable[[Any], Any]) -> list[Any]:
        """Apply a SymPy function to every component, once to equal ones."""
        results: dict[Any, Any] = {}
        for part in parts:
            if part not in results:
                results[part] = bounded(self.name, partial(function, part))
        return [results[part] for part in parts]

    def require_lengths(self, whose: str, shape: Sequence[Any]) -> None:
        """Raise Unsupported for a shape with named lengths."""
        if any(isinstance(dim, str) for dim in shape):
            raise Unsupported(
                f"{self.name}: {whose} the shape {shape_text(tuple(shape))}, and an array goes "
                "through SymPy by components: substitute arrays of known lengths first"
            )

    def formulas(self, f: Expr) -> list[Any]:
        """The components of an expression, in C order."""
        self.require_lengths("the expression has", f.shape)
        count = math.prod(fixed(f))
        if count > COMPONENTS:
            raise Unsupported(
                f"{self.name}: {count} components; arrays of at most {COMPONENTS} go through "
                "SymPy, each component by itself: take parts"
            )
        try:
            value = evaluated([f], self.env, self.arithmetic)[0]
        except Unsupported as error:
            raise Unsupported(f"{self.name}: {error}") from None
        parts = value.ravel().tolist() if isinstance(value, np.ndarray) else [value]
        return [self.evaluated(part) for part in parts]

    def evaluated(self, formula: Any) -> Any:
        """Evaluate an unevaluated formula as SymPy would, in exact numbers."""
        size = operations(formula)
        if size > OPERATIONS:
            raise Unsupported(
                f"{self.name}: a formula of {size} operations; SymPy gets at most {OPERATIONS}, "
                "where a shared one counts at each use: take parts"
            )
        floats = {x: sp.Rational(x) for x in formula.atoms(sp.Float)}
        self.exact = self.exact and not floats
        return bounded(self.name, lambda: formula.doit().xreplace(floats))

    def back(self, formulas: list[Any], shape: tuple[Any, ...], dtype: type) -> Expr:
        """The expression of these components; raises Unsupported if one has no counterpart."""
        try:
            parts = [_check_dtype(self.name, part, dtype) for part in lifted(formulas, self.known)]
        except Unsupported as error:
            raise Unsupported(
                f"{self.name}: SymPy's result cannot be carried back: {error}"
            ) from None
        return stacked(parts, shape)

    def rounded(self, f: Expr) -> Expr:
        """``f`` with the fractions that came from floats as floats again."""
        return f if self.exact else _round_fractions(f)


class _Exact(Formulas):
    """Formulas in exact numbers; exponents that SymPy cannot handle become symbols."""

    def __init__(self, way: Carried) -> None:
        super().__init__(None, False)
        self.way = way

    def number(self, value: object) -> Any:
        if not isinstance(value, float):
            return super().number(value)
        if not math.isfinite(value):
            raise Unsupported(f"{value} in a formula")
        self.way.exact = False
        return super().number(Fraction(value))

    def power(self, a: object, p: int | Fraction) -> Any:
        if max(abs(p.numerator), p.denominator) <= _EXPONENT:
            return super().power(a, p)
        # SymPy's polynomials in x**(1/4503599627370496) end in the C library's arithmetic.
        assumptions: dict[str, bool] = {"positive": True} if p > 0 else {"negative": True}
        if isinstance(p, int):
            assumptions |= {"integer": True, "even": p % 2 == 0}
        else:
            self.way.exact = False
        name = sp.Symbol(f"({p})", **assumptions)
        self.way.known[name] = number_node(p)
        return sp.Pow(a, name)


def operations(formula: object) -> int:
    """The number of operations of a SymPy formula; a shared one counts at each use."""
    counts: dict[int, int] = {}
    for part in operands_first([formula]):
        here = max(len(part.args) - 1, 1) if part.args else 0
        counts[id(part)] = here + sum(counts[id(x)] for x in part.args)
    return counts[id(formula)]


class _Exhausted(BaseException):
    """The limit's exception: a BaseException, because SymPy catches Exception."""


def bounded(name: str, function: Callable[[], Any], calls: int | None = None) -> Any:
    """Run a SymPy function; raise Unsupported if it raises or makes too many calls."""
    most = CALLS if calls is None else calls
    remaining = most

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal remaining
        if event == "call":
            remaining -= 1
            # A generator may be resumed to be closed, by its destructor, which ignores exceptions.
            if remaining < 0 and not frame.f_code.co_flags & inspect.CO_GENERATOR:
                raise _Exhausted

    # Count calls rather than time, so that the limit is the same on every machine.
    before = sys.getprofile()
    sys.setprofile(count)
    try:
        return function()
    except _Exhausted:
        sys.setprofile(before)
        raise Unsupported(
            f"{name}: SymPy was stopped after {most} calls; it takes too long for this formula: "
            "take parts, or another of simplify, expand, factor, collect"
        ) from None
    except Unsupported:
        raise
    except Exception as error:
        sys.setprofile(before)
        said = str(error).split("\n")[0][:200]
        raise Unsupported(f"{name}: SymPy raised {type(error).__name__}: {said}") from error
    finally:
        sys.setprofile(before)


def _check_dtype(name: str, part: Expr, dtype: type) -> Expr:
    if dtype is bool and part.dtype is not bool:
        return not_equal(part, 0)
    if dtype is int and part.dtype is not int:
        raise Unsupported(f"{part} is not an integer by its form, as the original is")
    return part


def _round_fractions(f: Expr) -> Expr:
    done: dict[Expr, Expr] = {}
    for node in topological([f]):
        args = tuple([done[arg] for arg in node.args])
        op = node.op
        if isinstance(op, ops.Sum):
            terms = [(_rounded_number(c), a) for c, a in zip(op.coefs, args, strict=True)]
            const = [(1, number_node(_rounded_number(op.const)))] if op.const else []
            done[node] = combine("add", [*terms, *const]) if args or const else node
        else:
            done[node] = rebuild(node, args)
    return done[f]


def _rounded_number(c: Number) -> Number:
    return float(c) if isinstance(c, Fraction) and c.denominator > _ROUNDED else c


def changed(
    name: str, f: Any, function: Callable[..., Any], *others: Any, most: float = math.inf
) -> Expr:
    """Apply a SymPy function to every component of ``f``, with scalar ``others`` as arguments.

    A result of more than ``most`` times the operations is rejected: then f stays.  Raises
    Unsupported unless the result has the value of ``f`` wherever ``f`` has one.
    """
    f = as_expr(f)
    exprs = in_terms_of([f], name, [as_expr(x) for x in others])
    symbols = _symbols_for_unknown([f, *exprs])
    if symbols:
        f, *exprs = with_values(name, [f, *exprs], symbols)
        result = changed(name, f, function, *exprs, most=most)
        return with_values(name, [result], {x: node for node, x in symbols.items()})[0]
    way = Carried(name, [f, *exprs])
    arguments = [way.scalar(x) for x in exprs]
    parts = way.each(way.formulas(f), lambda part: function(part, *arguments))
    result = way.back(parts, f.shape, f.dtype)
    check(name, f, result)
    result = way.rounded(result)
    longer = math.isfinite(most) and count_operations(result) > most * count_operations(f)
    return f if longer else result


def _symbols_for_unknown(exprs: Sequence[Expr]) -> dict[Expr, Expr]:
    """Symbols for the values of unknown functions, which may be any numbers."""
    values = [node for node in topological(exprs) if isinstance(node.op, ops.Unknown)]
    taken = {x.name for x in free_symbols(exprs)} if values else set()
    numbers = itertools.count()
    return {
        node: symbol(next(name for k in numbers if (name := f"{node.op.name}_{k}") not in taken))
        for node in values
    }


def check(name: str, f: Expr, result: Expr) -> None:
    """Raise Unsupported if ``result`` has another value than ``f``, or if no check is possible."""
    witness = disagreement(f, result)
    if isinstance(witness, int):
        raise Unsupported(
            f"{name}: of {FEWEST} points where the expression has a value, {witness} were found, "
            "so that SymPy's result cannot be checked"
        )
    if witness is not None:
        raise Unsupported(f"{name}: SymPy's result has another value: {witness}")
