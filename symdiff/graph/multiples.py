"""Numbers times nodes, and booleans as numbers: what rearranging axes needs of the algebra."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import sympy as sp

from symdiff.graph import number, ops
from symdiff.graph.leaves import full, number_of, split_coefficient
from symdiff.graph.node import by_serial, make
from symdiff.scalars.formula import VOCABULARY, kernel_symbol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from symdiff.graph.expr import Expr
    from symdiff.graph.node import Shape
    from symdiff.graph.number import Number

with sp.evaluate(False):
    _CHOICE = VOCABULARY["where"](*(kernel_symbol(k) for k in range(3)))
WHERE = ops.pointwise_op("where", _CHOICE, 3, None)


def as_numeric(x: Expr) -> Expr:
    """A boolean as 0 or 1, for arithmetic."""
    if x.dtype is not bool:
        return x
    return make(WHERE, (x, full(x.shape, 1), full(x.shape, 0)), x.shape, int)


def scale(c: Number, x: Expr) -> Expr:
    """``c * x`` for a number c; 0 * x is the exact zero."""
    if x.op.simple_factor and x.dtype is float and c not in (0, 1, -1):
        return make(ops.sum_op(0, (c,)), (x,), x.shape, float)
    if c == 1:
        return as_numeric(x)
    if c == 0:
        known = number_of(x)  # 0 * f is 0, but of numbers 0 * inf is nan
        finite = not isinstance(known, float) or math.isfinite(known)
        return full(x.shape, 0 if finite else math.nan)
    x = as_numeric(x)
    coef, base = split_coefficient(x)
    if base is None:
        return full(x.shape, number.times(c, coef))
    if coef != 1:
        c = number.times(c, coef)
        if c == 1:
            return base
    elif c == -1 and x.op.__class__ is ops.Sum:
        negated = {arg: number.times(-1, k) for arg, k in zip(x.args, x.op.coefs, strict=True)}
        return sum_node(number.times(-1, x.op.const), negated, x.shape)
    dtype = int if c.__class__ is int and base.dtype is int else float
    return make(ops.sum_op(0, (c,)), (base,), x.shape, dtype)


def sum_node(const: Number, found: Mapping[Expr, Number], shape: Shape) -> Expr:
    """The node of a number and terms with their coefficients: ``const + sum of coef * term``."""
    kept = [arg for arg, coef in found.items() if coef != 0]
    if not kept:
        return full(shape, const)
    if len(kept) == 1 and const == 0 and found[kept[0]] == 1:
        return kept[0]
    kept.sort(key=by_serial)
    coefs = tuple([found[arg] for arg in kept])
    whole = const.__class__ is int and kept[0].dtype is int
    whole = whole and all(found[arg].__class__ is int and arg.dtype is int for arg in kept)
    return make(ops.sum_op(const, coefs), tuple(kept), shape, int if whole else float)
