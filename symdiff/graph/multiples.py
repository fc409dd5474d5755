"""Multiples of nodes, and booleans as numbers: the part of the algebra that rearrangements need."""

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
        value = number_of(x)  # 0 * f is 0, but for numbers 0 * inf is nan
        finite = not isinstance(value, float) or math.isfinite(value)
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


def sum_node(const: Number, coef_of: Mapping[Expr, Number], shape: Shape) -> Expr:
    """The node of a number and terms with their coefficients: ``const + sum of coef * term``."""
    terms = [arg for arg, coef in coef_of.items() if coef != 0]
    if not terms:
        return full(shape, const)
    if len(terms) == 1 and const == 0 and coef_of[terms[0]] == 1:
        return terms[0]
    terms.sort(key=by_serial)
    coefs = tuple([coef_of[arg] for arg in terms])
    integral = const.__class__ is int and terms[0].dtype is int
    integral = integral and all(coef_of[arg].__class__ is int and arg.dtype is int for arg in terms)
    return make(ops.sum_op(const, coefs), tuple(terms), shape, int if integral else float)
