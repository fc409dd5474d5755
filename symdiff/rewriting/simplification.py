"""Equivalent forms of an expression by SymPy: simplified, expanded, factored, collected."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import sympy as sp

from symdiff.calculus.nested_results import of_each
from symdiff.errors import Unsupported
from symdiff.rewriting.through_sympy import changed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symdiff.graph.expr import Expr, Operand

__all__ = ["collect", "expand", "factor", "simplify"]

_TERMS = 1000  # the most terms of an expanded formula
_LONGER = 1.7  # SymPy's own limit: a longer form is not simpler


@of_each
def simplify(f: Operand) -> Expr:
    """Return ``f`` in the form that SymPy's ``simplify`` finds simplest; an array by components.

    A tuple of expressions, such as a gradient by several symbols, and nested tuples give a tuple of
    the results.

    The result is checked at random points, at zeros, at equal coordinates and at the borders of
    conditions.  It must have the value of ``f``, to many digits, wherever ``f`` has one.  (It may
    have a value elsewhere, too: x has one at 0, x**2/x has none.)  Symbols are real: ``sqrt(x**2)``
    is ``abs(x)``.  Integers and truth values keep their dtype.  SymPy gets exact numbers; numbers
    from floats are rounded to floats once, at the end.  A form with more than 1.7 times the
    operations is rejected, so that log1p and similar functions stay.  Within other formulas SymPy
    still writes log(x + 1): where digits count, evaluate the original.

    A value of an unknown function counts as a symbol; its arguments stay as they are.

    Raises Unsupported, with the reason: for named lengths, more than 16 components, or a component
    of more than 300 operations (a shared one counts at each use); for an op without a formula in
    SymPy; if SymPy raises, or makes 5 million calls (seconds); if its result has no counterpart
    here, or another value; and if too few points are found at which ``f`` has a value.

    >>> import symdiff as sd
    >>> x, q = sd.symbol("x"), sd.symbol("q", 2)
    >>> sd.simplify(sd.sin(x) ** 2 + sd.cos(x) ** 2), sd.simplify(sd.sqrt(x**2))
    (1, abs(x))
    >>> sd.simplify((q[0] ** 2 - q[1] ** 2) / (q[0] - q[1])) is q[0] + q[1]
    True
    >>> sd.simplify(sd.grad(sd.log(q[0] * x), [q, x])[1:])
    (1/x,)
    """
    return changed("simplify", f, sp.simplify, most=_LONGER)


@of_each
def expand(f: Operand) -> Expr:
    """Return ``f`` with products and powers of sums multiplied out, by SymPy's ``expand``.

    An array is expanded by components, a tuple by entries.  The result is checked, and may be
    refused, as in ``simplify``; also if it would have more than 1000 terms.

    >>> import symdiff as sd
    >>> x, y = sd.symbols("x y")
    >>> sd.expand((x + y) * (x - 2 * y)) is x**2 - x * y - 2 * y**2
    True
    """
    return changed("expand", f, _expand_bounded)


@of_each
def factor(f: Operand) -> Expr:
    """Return ``f`` as a product of factors with rational coefficients, by SymPy's ``factor``.

    An array is factored by components, a tuple by entries.  The result is checked, and may be
    refused, as in ``simplify``.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.factor(x**3 - 2 * x**2 + x) is x * (x - 1) ** 2
    True
    """
    return changed("factor", f, sp.factor)


@of_each
def collect(f: Operand, x: Operand | Sequence[Operand]) -> Expr:
    """Return ``f`` with the terms of equal powers of ``x`` collected, by SymPy's ``collect``.

    As in SymPy, only existing sums are collected: expand first.  An array is treated by
    components.  The result is checked, and may be refused, as in ``simplify``.

    Args:
        f: an expression.
        x: a symbol, an element ``q[0]`` or another scalar expression such as ``sin(x)``, or a list
            of these in order of priority.

    >>> import symdiff as sd
    >>> x, a, b = sd.symbols("x a b")
    >>> sd.collect(a * x + b * x + a, x) is (a + b) * x + a
    True
    """
    by = list(x) if isinstance(x, list | tuple) else [x]
    return changed("collect", f, lambda part, *given: sp.collect(part, list(given)), *by)


def _expand_bounded(formula: object) -> Any:
    terms = _expanded_terms(formula)
    if terms > _TERMS:
        raise Unsupported(f"expand: a result of up to {terms} terms; at most {_TERMS} are written")
    return sp.expand(formula)


def _expanded_terms(formula: object) -> int:
    """The largest possible number of terms of the expanded formula, or of an argument in it."""
    counts: dict[Any, int] = {}
    most = 1
    for part in sp.postorder_traversal(formula):
        inside = [counts[x] for x in part.args]
        if isinstance(part, sp.Add):
            count = sum(inside)
        elif isinstance(part, sp.Mul):
            count = math.prod(inside)
        elif isinstance(part, sp.Pow) and part.exp.is_Integer:
            count = math.comb(inside[0] + abs(int(part.exp)) - 1, inside[0] - 1)
        else:
            count = 1
        counts[part] = count
        most = max(most, count)
    return most
