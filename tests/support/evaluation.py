"""A small interpreter of expressions over exact fractions, or over mpmath numbers.

It exists for tests alone: it defines every op a second time, on object arrays.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import mpmath as mp
import numpy as np
import sympy as sp

from symdiff import opaque_ops
from symdiff.graph import ops
from symdiff.graph.node import topological
from symdiff.scalars.formula import MPMATH
from tests.support import decomposed
from tests.support.fields import EXACT, Array, Field, is_singular

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from symdiff import Expr


def boxed(value: Any) -> Array:
    if isinstance(value, np.ndarray):
        return value
    out = np.empty((), object)
    out[()] = value
    return out


def each(function: Callable[..., Any], *operands: Array) -> Array:
    out = np.empty(operands[0].shape, object)
    for place in np.ndindex(out.shape):
        out[place] = function(*(x[place] for x in operands))
    return out


def _number(field: Field, value: Any) -> Any:
    """Return a coefficient, a constant's element, pi or e in the field."""
    if isinstance(value, sp.Basic):
        return mp.pi * 1 if value is sp.pi else mp.e * 1
    if field is EXACT:
        return Fraction(value)
    if isinstance(value, float):
        return mp.mpf(value)
    value = Fraction(int(value) if isinstance(value, np.generic) else value)
    return mp.mpf(value.numerator) / value.denominator


def _raise(x: Any, p: int | Fraction) -> Any:
    if isinstance(x, Fraction | int) or (p.__class__ is int and p >= 0):
        if p.__class__ is not int:
            raise TypeError("a root is not rational")
        return Fraction(x) ** p if p < 0 else x**p
    if x == 0 and p < 0:
        return mp.inf
    if p.__class__ is not int:
        return mp.nan if x < 0 else mp.power(x, mp.mpf(p.numerator) / p.denominator)
    return mp.power(x, p)


_RATIONAL: dict[str, Callable[..., Any]] = {
    "where": lambda c, a, b: a if c else b,
    "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b,
    "equal": lambda a, b: a == b,
    "not_equal": lambda a, b: a != b,
    "logical_and": lambda a, b: bool(a) and bool(b),
    "logical_or": lambda a, b: bool(a) or bool(b),
    "logical_xor": lambda a, b: bool(a) != bool(b),
    "logical_not": lambda a: not a,
    "maximum": max,
    "minimum": min,
    "clip": lambda x, lo, hi: min(hi, max(lo, x)),
    "abs": abs,
    "sign": lambda x: (x > 0) - (x < 0),
    "step": lambda x: int(x > 0),
    "floor": math.floor,
    "ceil": math.ceil,
    "trunc": math.trunc,
    "round": round,
}


def _pointwise(field: Field, op: ops.Pointwise, args: list[Array]) -> Array:
    if not op.primitive:
        exact = op.decides is not None and field is EXACT
        formula = sp.lambdify(
            sp.symbols(f"_0:{op.arity}", real=True),
            op.formula,
            [_RATIONAL] if exact else ["mpmath", MPMATH],
        )
        return each(formula, *args)
    table: Mapping[str, Callable[..., Any]] = _RATIONAL if field is EXACT else MPMATH
    function = table[op.name]
    return each(function, *args)


def _grid(letters: Sequence[int], sizes: Mapping[int, int]) -> dict[int, Array]:
    """Return the indices of each letter, along its own axis."""
    rank = len(letters)
    return {
        letter: np.arange(sizes[letter]).reshape([-1 if i == k else 1 for i in range(rank)])
        for k, letter in enumerate(letters)
    }


def _contract(field: Field, node: Expr, args: list[Array]) -> Array:
    """Compute the sum of products as the op defines it; killed terms are 0."""
    op = node.op
    assert isinstance(op, ops.Contract)
    sizes: dict[int, int] = {}
    for word, x in zip((*op.letters, op.out), (*args, np.empty(node.shape)), strict=True):
        sizes.update(zip(word, x.shape, strict=True))
    grid = _grid(list(sizes), sizes)
    whole = tuple(sizes.values())
    term = np.broadcast_to(boxed(1), whole)
    killed = np.zeros(whole, bool)
    for x, word, kill in zip(args, op.letters, op.kills, strict=True):
        factor = np.broadcast_to(boxed(x[tuple(grid[letter] for letter in word)]), whole)
        term = boxed(term * factor)
        if kill:
            killed = killed | (boxed(factor == 0)).astype(bool)
    term = np.where(killed, 0, term).astype(object)
    kept = [letter for letter in sizes if letter in op.out]
    summed = tuple(k for k, letter in enumerate(sizes) if letter not in op.out)
    value = boxed(term.sum(axis=summed)) if summed else term
    if not kept:
        return value
    out = np.empty(node.shape, object)
    out[...] = 0
    places = _grid(kept, sizes)
    out[tuple(places[letter] for letter in op.out)] = value
    return out


def _sliced(steps: Sequence[Any]) -> tuple[Any, ...]:
    return (..., *(slice(*step) for step in steps))


def _linear(node: Expr, args: list[Array]) -> Array:
    op, x = node.op, args[0]
    out = np.empty(node.shape, object)
    out[...] = 0
    match op:
        case ops.Reshape():
            return x.reshape(node.shape)
        case ops.Slice():
            return x[_sliced(op.steps)]
        case ops.Unslice():
            out[_sliced(op.steps)] = x
        case ops.Gather():
            flat = x.reshape((*x.shape[: x.ndim - len(op.before)], math.prod(op.before)))
            return flat[..., op.index]
        case ops.Scatter():
            batch = node.shape[: len(node.shape) - len(op.before)]
            flat = out.reshape((*batch, math.prod(op.before)))
            for place in np.ndindex(op.index.shape):
                flat[..., op.index[place]] += x[(..., *place)]
            return flat.reshape(node.shape)
        case ops.Concat():
            return np.concatenate(args, axis=op.axis)
        case ops.Flip():
            return np.flip(x, op.axes)
        case ops.Shift():
            n, k = x.shape[-1], op.offset
            for i in range(n):
                if 0 <= i - k < n:
                    out[..., i] = x[..., i - k]
        case ops.Windows():
            return np.stack([x[..., j : j + node.shape[-2]] for j in range(op.length)], axis=-1)
        case ops.Overlaps():
            for i, j in np.ndindex(x.shape[-2:]):
                out[..., i + j] = out[..., i + j] + x[..., i, j]
        case ops.Fourier():
            n = x.shape[-1]
            function = mp.cospi if op.part == "cos" else mp.sinpi
            for i, j in np.ndindex(n, n):
                out[..., i] = out[..., i] + x[..., j] * function(mp.mpf(2 * i * j % (2 * n)) / n)
        case ops.Cumsum():
            order = slice(None, None, -1 if op.reverse else 1)
            moved = np.moveaxis(x, op.axis, 0)[order]
            return np.moveaxis(np.cumsum(moved, axis=0)[order], 0, op.axis)
        case ops.Triangle():
            rows, columns = np.indices(node.shape[-2:])
            keep = (columns - rows <= op.diagonal) if op.lower else (columns - rows >= op.diagonal)
            return np.where(keep, x, 0)
        case _:
            raise AssertionError(f"no evaluation of {op}")
    return out


def _eliminated(a: Array, b: Array) -> tuple[Array, Any]:
    """Solve a x = b by elimination with pivots; return x and det a (if that is 0, no solution)."""
    a, b, n, det = a.copy(), b.copy(), len(a), 1
    for k in range(n):
        pivot = max(range(k, n), key=lambda i: abs(a[i, k]))
        if a[pivot, k] == 0:
            return b, a[pivot, k]
        if pivot != k:
            a[[k, pivot]], b[[k, pivot]], det = a[[pivot, k]], b[[pivot, k]], -det
        det = det * a[k, k]
        b[k], a[k] = b[k] / a[k, k], a[k] / a[k, k]
        for i in range(n):
            if i != k:
                b[i], a[i] = b[i] - a[i, k] * b[k], a[i] - a[i, k] * a[k]
    return b, det


def _solved(a: Array, b: Array) -> Array:
    x, det = _eliminated(a, b)
    if is_singular(a, det):
        raise ZeroDivisionError("the matrix is singular")
    return x


def _cofactors(a: Array) -> Array:
    out = np.empty(a.shape, object)
    for i, j in np.ndindex(a.shape):
        minor = np.delete(np.delete(a, i, axis=0), j, axis=1)
        out[i, j] = (-1) ** (i + j) * _eliminated(minor, minor)[1]
    return out


def _product(values: Sequence[Any]) -> Any:
    result: Any = 1
    for value in values:
        result = result * value
    return result


def _eye(n: int) -> Array:
    out = np.empty((n, n), object)
    for i, j in np.ndindex(out.shape):
        out[i, j] = int(i == j)
    return out


_MATRIX: dict[type, Callable[[Array], Any]] = {
    opaque_ops.Inv: lambda a: _solved(a, _eye(len(a))),
    opaque_ops.Det: lambda a: _eliminated(a, a)[1],
    opaque_ops.Cofactor: _cofactors,
    opaque_ops.LogAbsDet: lambda a: mp.log(abs(_eliminated(a, a)[1])),
    opaque_ops.DetSign: lambda a: _RATIONAL["sign"](_eliminated(a, a)[1]),
}
_VECTOR: dict[type, Callable[[Array], Any]] = {
    opaque_ops.Prod: _product,
    opaque_ops.ProdOthers: lambda x: np.array(
        [_product([*x[:i], *x[i + 1 :]]) for i in range(len(x))], object
    ),
    opaque_ops.Max: max,
    opaque_ops.Min: min,
    opaque_ops.ArgMax: lambda x: max(range(len(x)), key=lambda i: x[i]),
    opaque_ops.ArgMin: lambda x: min(range(len(x)), key=lambda i: x[i]),
    opaque_ops.LogSumExp: lambda x: mp.log(sum((mp.exp(value) for value in x), mp.mpf(0))),
}


def _put(node: Expr, x: Array, index: Array) -> list[Any]:
    out: list[Any] = [0] * node.shape[-1]
    for value, place in zip(x, index, strict=True):
        out[int(place)] += value
    return out


def _recurrence(node: Expr, a: Array, b: Array) -> list[Any]:
    out: list[Any] = []
    for p, q in (
        zip(a, b, strict=True) if not node.op.reverse else zip(a[::-1], b[::-1], strict=True)
    ):
        out.append(q + p * out[-1] if out else q)
    return out[::-1] if node.op.reverse else out


_SEQUENCES: dict[type, Callable[..., list[Any]]] = {
    opaque_ops.Take: lambda node, x, index: [x[int(i)] for i in index],
    opaque_ops.Put: _put,
    opaque_ops.ArgSort: lambda node, x: sorted(range(len(x)), key=lambda i: x[i]),
    opaque_ops.Cumprod: lambda node, x: [_product(x[: i + 1]) for i in range(len(x))],
    opaque_ops.LogCumSumExp: lambda node, x: [
        mp.log(sum((mp.exp(v) for v in x[: i + 1]), mp.mpf(0))) for i in range(len(x))
    ],
    opaque_ops.Recurrence: _recurrence,
}


def _opaque(node: Expr, args: list[Array]) -> Array:
    kind = type(node.op)
    if kind in decomposed.VALUES:
        return decomposed.evaluated(node.op, node.shape, args)
    out = np.empty(node.shape, object)
    if kind is opaque_ops.Solve:
        a = np.broadcast_to(args[0], (*node.shape[:-2], *args[0].shape[-2:]))
        for place in np.ndindex(node.shape[:-2]):
            out[place] = _solved(a[place], args[1][place])
        return out
    if kind in _SEQUENCES:
        wide = [
            np.broadcast_to(v, (*np.broadcast_shapes(*(u.shape[:-1] for u in args)), v.shape[-1]))
            for v in args
        ]
        for place in np.ndindex(wide[0].shape[:-1]):
            out[place] = np.array(_SEQUENCES[kind](node, *(v[place] for v in wide)), object)
        return out
    if kind is opaque_ops.SearchSorted:
        edges = np.broadcast_to(args[0], args[1].shape + args[0].shape[-1:])
        for place in np.ndindex(args[1].shape):
            v = args[1][place]
            out[place] = sum(e <= v if node.op.right else e < v for e in edges[place])
        return out
    function, core = (_MATRIX[kind], 2) if kind in _MATRIX else (_VECTOR[kind], 1)
    for place in np.ndindex(args[0].shape[: args[0].ndim - core]):
        out[place] = function(args[0][place])
    return out


def _value(field: Field, node: Expr, args: list[Array]) -> Array:
    op = node.op
    match op:
        case ops.Sum():
            total = np.empty(node.shape, object)
            total[...] = _number(field, op.const)
            for coef, x in zip(op.coefs, args, strict=True):
                total = boxed(total + boxed(_number(field, coef) * x))
            return total
        case ops.Product():
            powers = [
                each(lambda v, p=p: _raise(v, p), x)
                for x, p in zip(args, op.exponents, strict=True)
            ]
            return boxed(powers[0] * powers[1]) if len(powers) == 2 else powers[0]
        case ops.Pointwise():
            return _pointwise(field, op, args)
        case ops.Strong():
            a, b = op.kills
            return each(lambda x, y: 0 if (a and x == 0) or (b and y == 0) else x * y, *args)
        case ops.Barrier():
            return args[0]
        case ops.Contract():
            return _contract(field, node, args)
        case ops.Linear():
            return _linear(node, args)
        case ops.Opaque():
            return _opaque(node, args)
        case ops.Constant():
            return _constant(field, op.value)
        case ops.Exact():
            return boxed(_number(field, op.value))
        case _:
            raise AssertionError(f"no evaluation of {op}")


def _constant(field: Field, data: Array) -> Array:
    out = np.empty(data.shape, object)
    for place in np.ndindex(data.shape):
        out[place] = _number(field, data[place].item())
    return out


def evaluate(outputs: Sequence[Expr], env: Mapping[Expr, Array], field: Field) -> list[Array]:
    """Return the values of expressions: fractions (EXACT), or mpmath numbers at ``mp.dps``."""
    values: dict[Expr, Array] = dict(env)
    for node in topological(outputs):
        if node not in values:
            value = boxed(_value(field, node, [values[x] for x in node.args]))
            value = each(lambda v: field.number(Fraction(v)) if v.__class__ is int else v, value)
            assert value.shape == node.shape, (
                f"{node!r} has shape {node.shape}, its value {value.shape}"
            )
            values[node] = value
    return [values[x] for x in outputs]
