"""Definite integrals: a checked closed form by SymPy, else a node for quadrature."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import sympy as sp
from mpmath import mp

from symdiff.errors import NotDifferentiable, ShapeError, Unsupported
from symdiff.exact.evaluation import one_mpmath
from symdiff.exact.witnesses import DIGITS, FEWEST, quadrature, values
from symdiff.graph import ops
from symdiff.graph.algebra import as_real
from symdiff.graph.arguments import boolean
from symdiff.graph.axes import shape_text
from symdiff.graph.bound_lengths import with_values
from symdiff.graph.expr import Expr, free_symbols
from symdiff.graph.leaves import as_expr, named_dummy, number_of, symbol
from symdiff.graph.node import topological
from symdiff.guesses import written
from symdiff.rewriting.through_sympy import Carried, bounded, operations
from symdiff.transforms.integrals import Integral, integral
from symdiff.transforms.unknown_functions import unknown_within

if TYPE_CHECKING:
    from symdiff.graph.expr import Operand

__all__ = ["integrate"]

_CALLS = 1_000_000  # of Python functions in SymPy: about two seconds
_LONGEST = 200  # the most operations of a closed form
_AGREE = 50  # the digits in which a closed form has the value of the integral
# Parameters are drawn from these ranges; positive ones are those of most formulas.
_RANGES = ((0, 2), (-2, 2))
_DRAWS = 4  # from each range


@written("integrate(f, x, a, b)")
def integrate(f: Operand, x: Expr, a: Operand, b: Operand, *, closed: bool = True) -> Expr:
    """The definite integral of ``f`` by ``x`` from ``a`` to ``b``.

    If SymPy finds a closed form in a bound of time, and the form is right, it is the result.  Else
    the result is a node, whose value comes from SciPy's quadrature.  Its derivatives by limits and
    parameters are Leibniz' rule, of every order and in both modes:
    ``dI = f(b) db - f(a) da + (integral of f_p) dp``.

    A closed form has no cases.  It is right if it has the integral's value in 50 digits at drawn
    parameters, from (0, 2) and from (-2, 2), wherever the integrand has values.  A form that has a
    value where the integral diverges is rejected, as 1/k for the integral of exp(-k x) to infinity.

    Limits may be infinite, ``float("inf")``, and reversed: then the sign changes.  A Function
    raises ConvergenceError, with limits and error, where quadrature is not certain to 9 digits of
    the integral of ``|f|``: the integral diverges, has a pole inside, or oscillates.  Quadrature
    evaluates f at some points alone: split the integral at a peak that is narrow.

    Args:
        f: an expression of any shape; only scalars get closed forms.
        x: a real scalar symbol, bound in f.  The limits may contain another x of this name.
        a, b: the limits, scalar expressions or numbers.
        closed: whether to look for a closed form.

    Derivatives raise NotDifferentiable where a jump of the integrand moves with a parameter, as in
    ``where(x < p, 1, 0)`` or the second derivative of ``abs(x - p)``.  They assume that the
    integral of f_p converges uniformly, as it does for smooth f and finite limits.  ``evalf``,
    ``to_sympy`` and enclosures raise Unsupported for an integral without closed form; ``batch``
    raises it for limits.

    Raises TypeError for x that is not a real symbol, ShapeError for x or limits of array shape.

    >>> import symdiff as sd
    >>> x, k = sd.symbols("x k")
    >>> sd.integrate(sd.erf(x) * sd.exp(-(x**2)), x, 0, k)
    sqrt(pi)*erf(k)**2/4
    >>> F = sd.integrate(sd.exp(-k * sd.cosh(x)), x, 0, 1, closed=False)
    >>> print(sd.diff(F, k))
    -integrate(exp(-k*cosh(x))*cosh(x), x, 0, 1)
    """
    f = as_real(as_expr(f, "integrate", "f"))
    if not isinstance(x, Expr) or not isinstance(x.op, ops.Symbol) or x.dtype is not float:
        raise TypeError(f"integrate: argument 'x' expects a real symbol, got {x!r}")
    lower, upper = (as_real(as_expr(end, "integrate", name)) for name, end in (("a", a), ("b", b)))
    for name, value in (("x", x), ("a", lower), ("b", upper)):
        if value.shape:
            raise ShapeError(
                f"integrate: {name} has shape {shape_text(value.shape)}, expected a scalar"
            )
    variable = named_dummy(x.name)
    (body,) = with_values("integrate", [f], {x: variable})
    node = integral(body, variable, lower, upper, x.name)
    is_node = any(isinstance(part.op, Integral) for part in topological([node]))
    if not boolean("integrate", "closed", closed) or f.shape or not is_node:
        return node
    try:
        form = _closed_form(body, variable, lower, upper)
    except (Unsupported, NotDifferentiable):
        return node
    return node if form is None else form


def _closed_form(body: Expr, variable: Expr, a: Expr, b: Expr) -> Expr | None:
    """SymPy's closed form, if it is right; raises Unsupported where SymPy has none."""
    exprs = [body, a, b]
    nodes = topological(exprs)
    has_arrays = any(y.shape for y in nodes if isinstance(y.op, ops.Symbol))
    if has_arrays or next(unknown_within(nodes), None) is not None:
        return None
    taken = {y.name for y in free_symbols(exprs)}
    name = variable.name
    while name in taken:
        name += "_"
    x = symbol(name)
    (f,) = with_values("integrate", [body], {variable: x})
    ends = [end for end in (a, b) if _infinite(end) is None]
    way = Carried("integrate", [f, x, *ends])
    limits = [_infinite(end) or way.scalar(end) for end in (a, b)]
    by, formula = way.scalar(x), way.scalar(f)
    found = bounded("integrate", lambda: sp.integrate(formula, (by, *limits)), _CALLS)
    # A case for a single parameter, such as 0 for k = 0, has no derivative by it.  Rounding at the
    # jumps of floor, which continue an arctangent, would move the value by a period.
    refused = (sp.Integral, sp.Piecewise, sp.floor, sp.ceiling, sp.nan, sp.zoo, sp.oo, by)
    if found.has(*refused) or operations(found) > _LONGEST:
        return None
    result = way.rounded(way.back([found], (), float))
    return result if _is_right(result, f, x, a, b) else None


def _infinite(end: Expr) -> Any:
    """SymPy's infinity for an infinite number, else None."""
    number = number_of(end)
    if not isinstance(number, float) or not math.isinf(number):
        return None
    return sp.oo if number > 0 else -sp.oo


def _is_right(result: Expr, f: Expr, x: Expr, a: Expr, b: Expr) -> bool:
    """Whether a closed form has the value of the integral, wherever that has one."""
    symbols = [y for y in free_symbols([f, a, b, result]) if y is not x]
    chance, agreeing = random.Random(0), 0
    draws = [_draw(symbols, chance, k) for k in range(_DRAWS * len(_RANGES))] if symbols else [{}]
    for point in draws:
        ((ours,),) = values([result], point)
        expected, error = quadrature(f, x, [a, b], point)
        with one_mpmath(), mp.workdps(DIGITS):
            size = abs(expected) * mp.mpf(10) ** -_AGREE + mp.mpf(10) ** (5 - DIGITS)
            has_value, differs = error <= size, not abs(ours - expected) <= size
        if mp.isnan(expected) or (mp.isnan(ours) and not has_value):
            continue
        if differs or not has_value:
            return False
        agreeing += 1
    return agreeing >= min(FEWEST, len(draws))


def _draw(symbols: list[Expr], chance: random.Random, k: int) -> dict[Expr, Any]:
    """A point of short fractions, none of which is 0."""
    low, high = _RANGES[k // _DRAWS]
    point = {}
    for y in symbols:
        number = Fraction(chance.randint(64 * low, 64 * high) or 1, 64)
        point[y] = int(number) if y.dtype is int else number > 0 if y.dtype is bool else number
    return point
