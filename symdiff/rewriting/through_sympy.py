"""Expressions through SymPy and back: as exact formulas of their components, bounded, and checked.

Numbers go as the fractions that they are, elements of array symbols as symbols of their own.
"""

from __future__ import annotations

import inspect
import math
import sys
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

from symdiff.errors import ShapeError, Unsupported
from symdiff.exact.components import evaluated, filled
from symdiff.exact.witnesses import FEWEST, disagreement, fixed
from symdiff.functions.elementwise import not_equal
from symdiff.graph import ops
from symdiff.graph.algebra import combine
from symdiff.graph.axes import shape_text
from symdiff.graph.bound_lengths import in_terms_of
from symdiff.graph.expr import Expr, free_symbols, rebuild
from symdiff.graph.leaves import as_expr, number_node
from symdiff.graph.node import topological
from symdiff.interchange.sympy_bridge import Formulas, declared, lifted, stacked
from symdiff.scalars.formula import operands_first

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FrameType

    from symdiff.exact.witnesses import Place
    from symdiff.graph.number import Number

__all__ = ["Carried", "changed", "check"]

COMPONENTS = 16  # of an array
OPERATIONS = 300  # of a component, each counted wherever it stands
CALLS = 5_000_000  # of Python functions in SymPy, some seconds: the same on every machine
_EXPONENT = 1000  # larger ones, and fractions of larger numbers, are names to SymPy
_ROUNDED = 1 << 20  # denominators beyond are those of floats


class Carried:
    """The way of expressions to SymPy and back, for the function ``name``.

    ``outputs`` are all that go.  Raises Unsupported where they cannot.
    """

    def __init__(self, name: str, outputs: Sequence[Expr]) -> None:
        self.name = name
        self.exact = True  # until a float is met
        self.known: dict[sp.Symbol, Expr] = {}
        self.places: dict[sp.Symbol, Place] = {}
        self.arithmetic = _Exact(self)
        env: dict[Expr, Any] = {}
        for x in free_symbols(outputs):
            self.require_lengths(f"{x.name} has", x.shape)
            env[x] = self.elements(x) if x.shape else self.symbol(x.name, x, (x, 0))
        self.env = env

    def elements(self, x: Expr) -> Any:
        """SymPy's symbols for the elements of an array symbol."""
        indices = list(np.ndindex(fixed(x)))
        # A name with brackets is no other symbol's.
        names = [f"{x.name}[{', '.join(map(str, index))}]" for index in indices]
        several = enumerate(zip(names, indices, strict=True))
        return filled(
            fixed(x), (self.symbol(name, x[index], (x, k)) for k, (name, index) in several)
        )

    def symbol(self, name: str, x: Expr, place: Place) -> sp.Symbol:
        """SymPy's symbol for one that is scalar, or an element."""
        stand_in = declared(name, x.dtype)
        self.known[stand_in], self.places[stand_in] = x, place
        return stand_in

    def scalar(self, x: Expr) -> Any:
        """The formula of a scalar expression."""
        if x.shape:
            shape = shape_text(x.shape)
            raise ShapeError(f"{self.name}: {x!r} of shape {shape} stands where a scalar is needed")
        return self.formulas(x)[0]

    def each(self, parts: Sequence[object], function: Callable[[Any], Any]) -> list[Any]:
        """``function``, of SymPy, of every component; of equal ones once."""
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
        """A formula of SymPy as SymPy would have made it, in exact numbers."""
        size = operations(formula)
        if size > OPERATIONS:
            raise Unsupported(
                f"{self.name}: a formula of {size} operations; SymPy is asked about at most "
                f"{OPERATIONS}, shared ones counted wherever they stand: take parts"
            )
        floats = {x: sp.Rational(x) for x in formula.atoms(sp.Float)}
        self.exact = self.exact and not floats
        return bounded(self.name, lambda: formula.doit().xreplace(floats))

    def back(self, formulas: list[Any], shape: tuple[Any, ...], dtype: type) -> Expr:
        """The expression of these components, exactly; raises Unsupported where there is none."""
        try:
            parts = [_of_kind(self.name, part, dtype) for part in lifted(formulas, self.known)]
        except Unsupported as error:
            raise Unsupported(
                f"{self.name}: SymPy's result cannot be carried back: {error}"
            ) from None
        return stacked(parts, shape)

    def rounded(self, f: Expr) -> Expr:
        """``f``; the numbers that floats have been made into are floats again."""
        return f if self.exact else _rounded(f)


class _Exact(Formulas):
    """Formulas in exact numbers; numbers that SymPy may not have as exponents are symbols."""

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
    """How many operations a formula of SymPy has, shared ones counted wherever they stand."""
    counts: dict[int, int] = {}
    for part in operands_first([formula]):
        here = max(len(part.args) - 1, 1) if part.args else 0
        counts[id(part)] = here + sum(counts[id(x)] for x in part.args)
    return counts[id(formula)]


class _Exhausted(BaseException):
    """What is raised inside of SymPy, which handles exceptions."""


def bounded(name: str, function: Callable[[], Any]) -> Any:
    """What ``function``, of SymPy, returns; Unsupported if it raises, or takes too many calls."""
    remaining = CALLS

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal remaining
        if event == "call":
            remaining -= 1
            # A generator may be resumed to be closed, by its destructor, which ignores exceptions.
            if remaining < 0 and not frame.f_code.co_flags & inspect.CO_GENERATOR:
                raise _Exhausted

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        return function()
    except _Exhausted:
        sys.setprofile(before)
        raise Unsupported(
            f"{name}: SymPy was stopped after {CALLS} calls; it takes too long for this formula: "
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


def _of_kind(name: str, part: Expr, dtype: type) -> Expr:
    if dtype is bool and part.dtype is not bool:
        return not_equal(part, 0)
    if dtype is int and part.dtype is not int:
        raise Unsupported(f"{part} is not an integer by its form, as the original is")
    return part


def _rounded(f: Expr) -> Expr:
    done: dict[Expr, Expr] = {}
    for node in topological([f]):
        args = tuple([done[arg] for arg in node.args])
        op = node.op
        if isinstance(op, ops.Sum):
            terms = [(_float(c), a) for c, a in zip(op.coefs, args, strict=True)]
            const = [(1, number_node(_float(op.const)))] if op.const else []
            done[node] = combine("add", [*terms, *const]) if args or const else node
        else:
            done[node] = rebuild(node, args)
    return done[f]


def _float(c: Number) -> Number:
    return float(c) if isinstance(c, Fraction) and c.denominator > _ROUNDED else c


def changed(name: str, f: Any, function: Callable[..., Any], *others: Any) -> Expr:
    """``function``, of SymPy, of every component of ``f`` and of ``others``, which are scalars.

    Raises Unsupported unless the result has the value of ``f`` wherever that has one.
    """
    f = as_expr(f)
    exprs = in_terms_of([f], name, [as_expr(x) for x in others])
    way = Carried(name, [f, *exprs])
    arguments = [way.scalar(x) for x in exprs]
    parts = way.each(way.formulas(f), lambda part: function(part, *arguments))
    result = way.back(parts, f.shape, f.dtype)
    check(name, f, result)
    return way.rounded(result)


def check(name: str, f: Expr, result: Expr) -> None:
    """Raise Unsupported where ``result`` has not the value of ``f``, or where nobody can tell."""
    witness = disagreement(f, result)
    if isinstance(witness, int):
        raise Unsupported(
            f"{name}: of {FEWEST} points where the expression has a value, {witness} were found, "
            "so that SymPy's result cannot be checked"
        )
    if witness is not None:
        raise Unsupported(f"{name}: SymPy's result has another value: {witness}")
