"""Orders and running results along an axis: sorting, indices, quantiles, interpolation, products.

Sorting takes elements at the indices of their order, so a derivative goes to the element taken.
Indices are integers and have no derivative.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from symdiff import opaque_ops
from symdiff.errors import ShapeError, Unsupported
from symdiff.functions.indexing import getitem, take
from symdiff.functions.reductions import mean, reduction
from symdiff.functions.shaping import (
    Axis,
    axes_of,
    axis_of,
    boolean_as,
    broadcast_to,
    converted,
    expand_dims,
    merged,
    permute_dims,
    rearrangement,
    reshape,
    reshaped,
    stack,
)
from symdiff.graph import ops
from symdiff.graph.algebra import as_numeric, divide, floating, opaque, primitive, select, size
from symdiff.graph.arguments import real, wholes
from symdiff.graph.axes import broadcast_shapes, shape_text
from symdiff.graph.leaves import as_expr, constant, number_node
from symdiff.graph.lengths import Length, LengthLetter
from symdiff.graph.number import shortened

if TYPE_CHECKING:
    from symdiff.graph.expr import Expr, Operand
    from symdiff.graph.node import Shape

__all__ = [
    "argmax",
    "argmin",
    "argsort",
    "cumprod",
    "interp",
    "logcumsumexp",
    "median",
    "partition",
    "percentile",
    "quantile",
    "searchsorted",
    "sort",
    "take_along_axis",
]


def _axis_last(name: str, x: Expr, axis: int | None) -> tuple[Expr, tuple[int, ...]]:
    """``x`` with the axis last (flat for None), and the permutation that moves it back."""
    if axis is None:
        x, axis = reshape(x, -1), 0
    place = axis_of(name, axis, x.ndim)
    order = (*(k for k in range(x.ndim) if k != place), place)
    back = tuple(order.index(k) for k in range(x.ndim))
    return permute_dims(x, order), back


# Sorting ----------------------------------------------------------------------------------------


@rearrangement
def sort(x: Expr, axis: int | None = -1) -> Expr:
    """Return the elements along ``axis`` in ascending order, nan last; for None all of them, flat.

    Each derivative goes to the element taken; equal elements keep their order.

    >>> import symdiff as sd
    >>> sd.sort(sd.symbol("X", (2, 3)), axis=0).shape
    (2, 3)
    """
    lines, back = _axis_last("sort", as_numeric(x), axis)
    if lines.shape[-1] in (0, 1):
        return permute_dims(lines, back)
    order = opaque(ops.opaque_op(opaque_ops.ArgSort), lines)
    return permute_dims(opaque(ops.opaque_op(opaque_ops.Take), lines, order), back)


def argsort(x: Operand, /, axis: int | None = -1) -> Expr:
    """Return the indices that sort the elements along ``axis``; for None, of all elements, flat.

    Equal elements keep their order, nan comes last.

    >>> import symdiff as sd
    >>> x = sd.symbol("x", 3)
    >>> sd.take_along_axis(x, sd.argsort(x)) is sd.sort(x)
    True
    """
    lines, back = _axis_last("argsort", as_expr(x), axis)
    return permute_dims(opaque(ops.opaque_op(opaque_ops.ArgSort), lines), back)


def partition(x: Operand, kth: int | Sequence[int], /, axis: int | None = -1) -> Expr:
    """Return the elements along ``axis`` with the ``kth`` in sorted position, smaller ones first.

    The other elements are sorted as well, which is one of the possible orders.  Raises ValueError
    for an index outside of the axis.

    >>> import symdiff as sd
    >>> x = sd.symbol("x", 3)
    >>> sd.partition(x, 1) is sd.sort(x)
    True
    """
    operand = as_expr(x)
    length = (
        merged("partition", operand.shape)
        if axis is None
        else operand.shape[axis_of("partition", axis, operand.ndim)]
    )
    for k in wholes("partition", "kth", kth):
        if isinstance(length, int) and not -length <= k < length:
            raise ValueError(f"partition: place {k} of an axis of length {length}")
    return sort(operand, axis)


def _index_of_extreme(
    name: str, op: ops.Opaque, x: Operand, axis: int | None, keepdims: bool
) -> Expr:
    operand = as_expr(x)
    axes = axes_of(name, axis, operand.ndim)
    if any(operand.shape[k] == 0 for k in axes):
        raise ValueError(
            f"{name}: over no elements (shape {shape_text(operand.shape)}, axes {axes})"
        )
    return reduction(name, op, operand, axes, keepdims)


def argmax(x: Operand, /, axis: int | None = None, *, keepdims: bool = False) -> Expr:
    """Return the index of the first largest element along ``axis``; for None, of all in C order.

    Raises ValueError without elements.

    >>> import symdiff as sd
    >>> place = sd.argmax(sd.symbol("X", (2, 3)), axis=1)
    >>> place.shape, place.dtype
    ((2,), <class 'int'>)
    """
    return _index_of_extreme("argmax", ops.opaque_op(opaque_ops.ArgMax), x, axis, keepdims)


def argmin(x: Operand, /, axis: int | None = None, *, keepdims: bool = False) -> Expr:
    """Return the index of the first smallest element along ``axis``; for None, of all in C order.

    Raises ValueError without elements.

    >>> import symdiff as sd
    >>> sd.argmin(sd.symbol("X", (2, 3)), axis=0, keepdims=True).shape
    (1, 3)
    """
    return _index_of_extreme("argmin", ops.opaque_op(opaque_ops.ArgMin), x, axis, keepdims)


def take_along_axis(x: Operand, indices: Operand, /, axis: int | None = -1) -> Expr:
    """Return ``value[.., j, ..] = x[.., indices[.., j, ..], ..]``: each line of x has own indices.

    ``indices`` are integers with as many axes as x; the other axes broadcast.  With None, x is
    flattened.  Raises ShapeError if the axes do not fit, IndexError for indices that are not
    integers.

    >>> import symdiff as sd
    >>> X = sd.symbol("X", (2, 3))
    >>> sd.take_along_axis(X, sd.argmax(X, axis=1, keepdims=True), axis=1).shape
    (2, 1)
    """
    operand, index = as_expr(x), constant(indices)
    if index.dtype is not int:
        raise IndexError("take_along_axis: the indices are not integers")
    if axis is None:
        operand, axis = reshape(operand, -1), 0
    if operand.ndim != index.ndim:
        raise ShapeError(
            f"take_along_axis: indices of shape {shape_text(index.shape)} for an operand of shape "
            f"{shape_text(operand.shape)}; they need as many axes"
        )
    lines, back = _axis_last("take_along_axis", operand, axis)
    places, _ = _axis_last("take_along_axis", index, axis)
    batch = broadcast_shapes("take_along_axis", lines.shape[:-1], places.shape[:-1])
    lines = broadcast_to(lines, (*batch, lines.shape[-1]))
    places = broadcast_to(places, (*batch, places.shape[-1]))
    taken = opaque(ops.opaque_op(opaque_ops.Take), lines, places)
    return boolean_as(operand, permute_dims(taken, back))


# Quantiles --------------------------------------------------------------------------------------


def _sorted_lines(name: str, x: Operand, axis: Axis) -> tuple[Expr, Any, tuple[int, ...]]:
    """The operand sorted along the last axis, the reduced axes merged; its length; the axes."""
    operand = as_numeric(as_expr(x))
    axes = axes_of(name, axis, operand.ndim)
    rest = tuple(k for k in range(operand.ndim) if k not in axes)
    length = merged(name, [operand.shape[k] for k in axes])
    if isinstance(length, LengthLetter):
        raise Unsupported(f"{name}: over an axis of symbolic length {length}")
    if not length:
        raise ValueError(f"{name}: over no elements (shape {shape_text(operand.shape)})")
    shape: Shape = (*(operand.shape[k] for k in rest), length)
    return sort(reshaped(permute_dims(operand, rest + axes), shape)), length, axes


def _nan_if_any(value: Expr, lines: Expr) -> Expr:
    """``value``, or nan for a line that contains one: sorting puts nan last."""
    last = getitem(lines, (..., -1))
    return select(primitive("not_equal", last, last), last, value)


def median(x: Operand, /, axis: Axis = None, *, keepdims: bool = False) -> Expr:
    """Return the middle element over ``axis``, all axes by default; the mean of two middle ones.

    The derivative goes to the middle elements.  Raises ValueError without elements, Unsupported for
    an axis of symbolic length.

    >>> import symdiff as sd
    >>> sd.median(sd.symbol("X", (2, 4)), axis=1).shape
    (2,)
    """
    lines, n, axes = _sorted_lines("median", x, axis)
    if isinstance(n, Length):
        middle = (lines[..., size((n - 1) // 2)] + lines[..., size(n // 2)]) / 2
    else:
        middle = mean(getitem(lines, (..., slice((n - 1) // 2, n // 2 + 1))), -1)
    result = _nan_if_any(middle, lines)
    return expand_dims(result, axes) if keepdims else result


def quantile(
    x: Operand,
    q: float | Sequence[float],
    /,
    axis: Axis = None,
    *,
    keepdims: bool = False,
) -> Expr:
    """Return the quantiles ``q`` (numbers in [0, 1]) over ``axis``, linear between elements.

    With ``s`` sorted and ``h = (n - 1) q`` it is ``s[⌊h⌋] + (h - ⌊h⌋) (s[⌊h⌋ + 1] - s[⌊h⌋])``.  A
    sequence q gives a leading axis.  Raises ValueError for a q outside [0, 1] or without elements.

    >>> import symdiff as sd
    >>> x = sd.symbol("x", 5)
    >>> sd.quantile(x, 0.5).shape, sd.quantile(x, [0.1, 0.9]).shape
    ((), (2,))
    """
    if isinstance(q, list | tuple | range) or (isinstance(q, np.ndarray) and q.ndim):
        return stack([quantile(x, v, axis, keepdims=keepdims) for v in q])
    q = real("quantile", "q", q)
    if not 0 <= q <= 1:
        raise ValueError(f"quantile: {shortened(q)} is not in [0, 1]")
    lines, n, axes = _sorted_lines("quantile", x, axis)
    if isinstance(n, Length):
        place = size(n - 1) * float(q)
        lower = primitive("floor", place)
        below, above = _elements_at_and_after(lines, lower, n)
        share = place - lower
        between = below + share * (above - below)
        result = select(primitive("equal", share, number_node(0)), below, between)
    else:
        h = (n - 1) * float(q)
        low = math.floor(h)
        below, above = (floating(getitem(lines, (..., k))) for k in (low, min(low + 1, n - 1)))
        result = below + (h - low) * (above - below)
    result = _nan_if_any(result, lines)
    return expand_dims(result, axes) if keepdims else result


def _elements_at_and_after(lines: Expr, place: Expr, n: Length) -> tuple[Expr, Expr]:
    """The elements at an integer index in lines of n elements, and the next (or last) ones."""
    low = converted(place, np.dtype(float), np.dtype(np.int64))
    high = primitive("minimum", low + 1, size(n - 1))
    below, above = (floating(getitem(lines, (..., k))) for k in (low, high))
    return below, above


def percentile(
    x: Operand,
    q: float | Sequence[float],
    /,
    axis: Axis = None,
    *,
    keepdims: bool = False,
) -> Expr:
    """Return the quantiles ``q / 100``.

    >>> import symdiff as sd
    >>> x = sd.symbol("x", 5)
    >>> sd.percentile(x, 25) is sd.quantile(x, 0.25)
    True
    """
    shares = np.asarray(q, dtype=float) / 100
    return quantile(x, shares.tolist(), axis, keepdims=keepdims)


# Positions in a table ---------------------------------------------------------------------------


def searchsorted(table: Operand | Sequence[float], x: Operand, /, side: str = "left") -> Expr:
    """Return the number of elements of an ascending vector below x; with side "right", not above x.

    Raises ShapeError for a table that is not a vector, ValueError for another side.

    >>> import symdiff as sd
    >>> sd.searchsorted([0.0, 1.0, 2.0], sd.symbol("x", 4)).shape
    (4,)
    """
    edges, values = constant(table), as_expr(x)
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side {shortened(side)} is neither 'left' nor 'right'")
    if edges.ndim != 1:
        raise ShapeError(
            f"searchsorted: a table of shape {shape_text(edges.shape)} is not a vector"
        )
    return opaque(opaque_ops.searchsorted_op(side == "right"), edges, values)


def interp(
    x: Operand,
    xp: Operand | Sequence[float],
    fp: Operand | Sequence[float],
    /,
    left: Operand | None = None,
    right: Operand | None = None,
) -> Expr:
    """Return the piecewise linear function through the points (xp, fp) at x; xp must ascend.

    Below the first point it is ``left``, by default the first fp; above the last one ``right``, by
    default the last fp.  It has derivatives by x, xp and fp.  At a point the derivative is the one
    of the piece on its right; at the last point, on its left.

    Raises ShapeError unless xp and fp are vectors of one length, ValueError without a point or if
    constant xp do not ascend.

    >>> import symdiff as sd
    >>> sd.interp(sd.symbol("x", 5), [0.0, 1.0, 3.0], sd.symbol("f", 3)).shape
    (5,)
    """
    at, edges, heights = as_expr(x), constant(xp), constant(fp)
    if edges.ndim != 1 or edges.shape != heights.shape:
        raise ShapeError(
            f"interp: points of shapes {shape_text(edges.shape)} and {shape_text(heights.shape)}; "
            "they are vectors of one length"
        )
    n: Any = edges.shape[0]
    if isinstance(n, str) and not isinstance(n, Length):
        raise Unsupported(f"interp: a symbolic number {n} of points")
    if not n:
        raise ValueError("interp: needs at least one point")
    if isinstance(edges.op, ops.Constant):
        places = edges.op.value.tolist()
        if not all(a < b for a, b in pairwise(places)):
            raise ValueError("interp: xp does not ascend")
    first, last = getitem(edges, 0), getitem(edges, n - 1)
    before = getitem(heights, 0) if left is None else as_expr(left)
    behind = getitem(heights, n - 1) if right is None else as_expr(right)
    if n == 1:
        inside = broadcast_to(getitem(heights, 0), at.shape)
    else:
        interval = searchsorted(edges, at, "right") - 1
        i, j, alone = _pieces(interval, n)
        x0, x1, f0, f1 = (take(v, k) for v in (edges, heights) for k in (i, j))
        inside = f0 + (at - x0) * divide(f1 - f0, select(alone, number_node(1), x1 - x0))
    inside = select(primitive("less", last, at), behind, inside)
    return select(primitive("less", at, first), before, inside)


def _pieces(interval: Expr, n: int | Length) -> tuple[Expr, Expr, Expr]:
    """The ends of the pieces between n points, and whether there is only one point and no piece."""
    zero = number_node(0)
    if isinstance(n, int):
        i = primitive("clip", interval, zero, number_node(n - 2))
        return i, i + 1, primitive("equal", number_node(n), number_node(1))
    i = primitive("clip", interval, zero, primitive("maximum", size(n) - 2, zero))
    j = primitive("minimum", i + 1, size(n) - 1)
    return i, j, primitive("equal", size(n), number_node(1))


# Running results --------------------------------------------------------------------------------


def cumprod(x: Operand, /, axis: int | None = None) -> Expr:
    """Return the running products along ``axis``; with None, of the elements in C order.

    Derivatives do not divide, so they are correct at zeros, too, at every order.

    >>> import symdiff as sd
    >>> sd.cumprod(sd.symbol("X", (2, 3)), axis=1).shape
    (2, 3)
    """
    lines, back = _axis_last("cumprod", as_numeric(as_expr(x)), axis)
    if lines.shape[-1] in (0, 1):
        return permute_dims(lines, back)
    return permute_dims(opaque(ops.opaque_op(opaque_ops.Cumprod), lines), back)


def logcumsumexp(x: Operand, /, axis: int | None = None) -> Expr:
    """Return ``log(cumsum(exp(x)))`` along ``axis`` without overflow; for None, of all in C order.

    >>> import symdiff as sd
    >>> sd.logcumsumexp(sd.symbol("x", 3)).shape
    (3,)
    """
    lines, back = _axis_last("logcumsumexp", as_expr(x), axis)
    return permute_dims(opaque(ops.opaque_op(opaque_ops.LogCumSumExp), lines), back)
