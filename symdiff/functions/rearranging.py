"""Rearranging, joining, padding and repeating arrays under NumPy's names; changes at an index.

All of these are compositions of the linear maps and contractions of ``shaping`` and ``indexing``.
``index_update`` and ``index_add`` are the functional forms of NumPy's assignments.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from symdiff.calculus.flows import NONE, Flow
from symdiff.calculus.rules import pullback
from symdiff.contexts import listed
from symdiff.errors import ShapeError, Unsupported
from symdiff.functions.indexing import getitem, split, take
from symdiff.functions.shaping import (
    Axis,
    assembled,
    axes_of,
    axis_of,
    broadcast_to,
    concat,
    cut,
    expand_dims,
    flip,
    permute_dims,
    rearrangement,
    reshape,
)
from symdiff.functions.shaping import full as filled
from symdiff.graph import ops
from symdiff.graph.algebra import as_numeric, linear, primitive
from symdiff.graph.algebra import select as where
from symdiff.graph.arguments import described, parts_or_places, unfit, wholes
from symdiff.graph.axes import broadcast_shapes, shape_text
from symdiff.graph.contraction import contract
from symdiff.graph.expr import Expr
from symdiff.graph.leaves import as_expr, dummy, full, number_node, number_of
from symdiff.graph.lengths import Length, LengthLetter, is_natural, like
from symdiff.graph.lengths import product as elements
from symdiff.graph.number import shortened
from symdiff.graph.ranges import between

if TYPE_CHECKING:
    from symdiff.graph.expr import Operand
    from symdiff.graph.node import Dim
    from symdiff.graph.ranges import Step

__all__ = [
    "append",
    "array_split",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_arrays",
    "column_stack",
    "dsplit",
    "dstack",
    "fliplr",
    "flipud",
    "hsplit",
    "hstack",
    "index_add",
    "index_update",
    "kron",
    "meshgrid",
    "moveaxis",
    "pack_tril",
    "pad",
    "ravel",
    "repeat",
    "roll",
    "rollaxis",
    "rot90",
    "select",
    "sliding_window_view",
    "swapaxes",
    "tile",
    "unpack_tril",
    "vsplit",
    "vstack",
]


# Axes -------------------------------------------------------------------------------------------


@rearrangement
def swapaxes(x: Expr, axis1: int, axis2: int) -> Expr:
    """Exchange two axes.

    >>> import symdiff as sd
    >>> sd.swapaxes(sd.symbol("X", (2, 3, 4)), 0, -1).shape
    (4, 3, 2)
    """
    i, j = axis_of("swapaxes", axis1, x.ndim), axis_of("swapaxes", axis2, x.ndim)
    order = list(range(x.ndim))
    order[i], order[j] = j, i
    return permute_dims(x, tuple(order))


@rearrangement
def moveaxis(x: Expr, source: int | Sequence[int], destination: int | Sequence[int]) -> Expr:
    """Move the axes ``source`` to the positions ``destination``; the others keep their order.

    Raises ValueError for different numbers of axes and positions.

    >>> import symdiff as sd
    >>> sd.moveaxis(sd.symbol("X", (2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    old, new = (
        axes_of("moveaxis", axis if isinstance(axis, int) else tuple(axis), x.ndim)
        for axis in (source, destination)
    )
    if len(old) != len(new):
        raise ValueError(f"moveaxis: {len(old)} axes for {len(new)} places")
    order = [k for k in range(x.ndim) if k not in old]
    for place, axis in sorted(zip(new, old, strict=True)):
        order.insert(place, axis)
    return permute_dims(x, tuple(order))


@rearrangement
def rollaxis(x: Expr, axis: int, start: int = 0) -> Expr:
    """Move an axis before the axis with number ``start``.

    >>> import symdiff as sd
    >>> sd.rollaxis(sd.symbol("X", (2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    place = axis_of("rollaxis", axis, x.ndim)
    before = axis_of("rollaxis", start, x.ndim + 1)
    return moveaxis(x, place, before - (before > place))


@rearrangement
def ravel(x: Expr) -> Expr:
    """Return the elements in C order as a vector.

    Raises Unsupported if their number is neither an int nor a name.

    >>> import symdiff as sd
    >>> sd.ravel(sd.symbol("X", (2, 3))).shape
    (6,)
    """
    return reshape(x, -1)


def _at_least(name: str, arrays: tuple[Operand, ...], rank: int) -> Expr | tuple[Expr, ...]:
    results = [_raise_rank(assembled(x), rank) for x in arrays]
    if not results:
        raise ValueError(f"{name}: needs at least one array")
    return results[0] if len(results) == 1 else tuple(results)


def _raise_rank(x: Expr, rank: int) -> Expr:
    if x.ndim >= rank:
        return x
    if rank == 3 and x.ndim == 2:
        return expand_dims(x, 2)
    if rank == 3 and x.ndim == 1:
        return expand_dims(x, (0, 2))
    return expand_dims(x, tuple(range(rank - x.ndim)))


def atleast_1d(*arrays: Operand) -> Expr | tuple[Expr, ...]:
    """Convert scalars to vectors of length 1; one array gives an expression, several a tuple.

    >>> import symdiff as sd
    >>> sd.atleast_1d(sd.symbol("x")).shape
    (1,)
    """
    return _at_least("atleast_1d", arrays, 1)


def atleast_2d(*arrays: Operand) -> Expr | tuple[Expr, ...]:
    """Convert scalars and vectors to matrices of one row; several arrays give a tuple.

    >>> import symdiff as sd
    >>> sd.atleast_2d(sd.symbol("x", 3)).shape
    (1, 3)
    """
    return _at_least("atleast_2d", arrays, 2)


def atleast_3d(*arrays: Operand) -> Expr | tuple[Expr, ...]:
    """Add axes of length 1 up to three axes: a vector as (1, n, 1), a matrix as (m, n, 1).

    >>> import symdiff as sd
    >>> sd.atleast_3d(sd.symbol("x", 3)).shape
    (1, 3, 1)
    """
    return _at_least("atleast_3d", arrays, 3)


def broadcast_arrays(*arrays: Operand) -> tuple[Expr, ...]:
    """Stretch the arrays to one shape; raises ShapeError if they do not broadcast.

    >>> import symdiff as sd
    >>> a, b = sd.broadcast_arrays(sd.symbol("a", (2, 1)), sd.symbol("b", 3))
    >>> a.shape, b.shape
    ((2, 3), (2, 3))
    """
    operands = [assembled(x) for x in arrays]
    shape = broadcast_shapes("broadcast_arrays", *(x.shape for x in operands))
    return tuple(broadcast_to(x, shape) for x in operands)


def meshgrid(*arrays: Operand, indexing: str = "xy") -> tuple[Expr, ...]:
    """Return the coordinates of a grid: array k has the elements of vector k along its own axis.

    With ``indexing`` "ij" that is axis k; with "xy" the first two axes are exchanged.  Raises
    ShapeError for other than vectors and scalars, ValueError for another indexing.

    >>> import symdiff as sd
    >>> x, y = sd.meshgrid(sd.symbol("x", 3), sd.symbol("y", 2))
    >>> x.shape, y.shape
    ((2, 3), (2, 3))
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing {shortened(indexing)} is neither 'xy' nor 'ij'")
    vectors = [_raise_rank(assembled(x), 1) for x in arrays]
    for x in vectors:
        if x.ndim > 1:
            raise ShapeError(f"meshgrid: {shape_text(x.shape)} is not a vector")
    order = list(range(len(vectors)))
    if indexing == "xy" and len(order) > 1:
        order[:2] = [1, 0]
    lengths = {k: x.shape[0] for k, x in enumerate(vectors)}
    return tuple(
        contract([(as_numeric(x), (k,))], tuple(order), lengths) for k, x in enumerate(vectors)
    )


# Joining and splitting --------------------------------------------------------------------------


def _join_ranked(arrays: Sequence[Operand], rank: int, axis: int) -> Expr:
    return concat([_raise_rank(assembled(x), rank) for x in arrays], axis=axis)


def hstack(arrays: Sequence[Operand], /) -> Expr:
    """Join arrays along the second axis; vectors and scalars along the first.

    >>> import symdiff as sd
    >>> sd.hstack([sd.symbol("a", (2, 3)), sd.symbol("b", (2, 1))]).shape
    (2, 4)
    """
    parts = [_raise_rank(assembled(x), 1) for x in arrays]
    return concat(parts, axis=0 if parts and parts[0].ndim == 1 else 1)


def vstack(arrays: Sequence[Operand], /) -> Expr:
    """Join arrays along the first axis; vectors are rows.

    >>> import symdiff as sd
    >>> sd.vstack([sd.symbol("a", 3), sd.symbol("b", (2, 3))]).shape
    (3, 3)
    """
    return _join_ranked(arrays, 2, 0)


def dstack(arrays: Sequence[Operand], /) -> Expr:
    """Join arrays along the third axis.

    >>> import symdiff as sd
    >>> sd.dstack([sd.symbol("a", (2, 3)), sd.symbol("b", (2, 3))]).shape
    (2, 3, 2)
    """
    return _join_ranked(arrays, 3, 2)


def column_stack(arrays: Sequence[Operand], /) -> Expr:
    """Join vectors as the columns of a matrix, together with the columns of matrices.

    >>> import symdiff as sd
    >>> sd.column_stack([sd.symbol("a", 3), sd.symbol("b", (3, 2))]).shape
    (3, 3)
    """
    parts = [_raise_rank(assembled(x), 1) for x in arrays]
    return concat([expand_dims(x, 1) if x.ndim == 1 else x for x in parts], axis=1)


def append(x: Operand, values: Operand, /, axis: int | None = None) -> Expr:
    """Join ``values`` to x along ``axis``; with None, the elements of both in C order.

    >>> import symdiff as sd
    >>> sd.append(sd.symbol("X", (2, 3)), 1).shape
    (7,)
    """
    return concat([x, values], axis=axis)


def array_split(x: Operand, parts: int | Sequence[int], /, axis: int = 0) -> list[Expr]:
    """Return parts of x along ``axis``: this many, or those between the indices ``parts``.

    If the length is not a multiple, the first parts are longer by one.  Raises the errors of
    ``split``, but not for unequal parts.

    >>> import symdiff as sd
    >>> [part.shape for part in sd.array_split(sd.symbol("x", 5), 3)]
    [(2,), (2,), (1,)]
    >>> [part.shape for part in sd.array_split(sd.symbol("v", "n"), 2)]
    [('(n + 1)//2',), ('n//2',)]
    """
    operand = as_expr(x)
    length = operand.shape[axis_of("array_split", axis, operand.ndim)]
    if not isinstance(parts, Length):  # split refuses a length
        parts = parts_or_places("array_split", "parts", parts)
    if isinstance(parts, int) and isinstance(length, int | Length):
        if parts < 1:
            raise ShapeError(f"array_split: no split into {parts} parts")
        listed("array_split", expressions=parts)
        sizes = [(length + parts - 1 - k) // parts for k in range(parts)]
        ends = accumulate(sizes, initial=0)
        before = (slice(None),) * axis_of("array_split", axis, operand.ndim)
        return [operand[*before, slice(*bounds)] for bounds in pairwise(ends)]
    return split(operand, parts, axis=axis)


def hsplit(x: Operand, parts: int | Sequence[int], /) -> list[Expr]:
    """Apply ``split`` along the second axis; along the only axis of a vector.

    >>> import symdiff as sd
    >>> [part.shape for part in sd.hsplit(sd.symbol("X", (2, 4)), 2)]
    [(2, 2), (2, 2)]
    """
    operand = as_expr(x)
    return split(operand, parts, axis=0 if operand.ndim == 1 else 1)


def vsplit(x: Operand, parts: int | Sequence[int], /) -> list[Expr]:
    """Apply ``split`` along the first axis of at least two; raises ShapeError for a vector.

    >>> import symdiff as sd
    >>> [part.shape for part in sd.vsplit(sd.symbol("X", (2, 4)), 2)]
    [(1, 4), (1, 4)]
    """
    operand = as_expr(x)
    if operand.ndim < 2:
        raise ShapeError(f"vsplit: shape {shape_text(operand.shape)} has no rows")
    return split(operand, parts, axis=0)


def dsplit(x: Operand, parts: int | Sequence[int], /) -> list[Expr]:
    """Apply ``split`` along the third axis.

    >>> import symdiff as sd
    >>> [part.shape for part in sd.dsplit(sd.symbol("X", (2, 1, 4)), 2)]
    [(2, 1, 2), (2, 1, 2)]
    """
    return split(x, parts, axis=2)


# Turning, rolling, repeating --------------------------------------------------------------------


def fliplr(x: Operand, /) -> Expr:
    """Reverse the order of the columns.

    >>> import symdiff as sd
    >>> X = sd.symbol("X", (2, 3))
    >>> sd.fliplr(X) is X[:, ::-1]
    True
    """
    return flip(x, 1)


def flipud(x: Operand, /) -> Expr:
    """Reverse the order of the rows.

    >>> import symdiff as sd
    >>> X = sd.symbol("X", (2, 3))
    >>> sd.flipud(X) is X[::-1]
    True
    """
    return flip(x, 0)


@rearrangement
def rot90(x: Expr, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Expr:
    """Rotate the plane of two axes k times by 90 degrees, from the first towards the second.

    >>> import symdiff as sd
    >>> X = sd.symbol("X", (2, 3))
    >>> sd.rot90(X) is sd.flipud(X.T)
    True
    """
    i, j = axes_of("rot90", tuple(axes), x.ndim)
    turns = k % 4
    if turns == 2:
        return flip(x, (i, j))
    if turns == 1:
        return flip(swapaxes(x, i, j), i)
    return swapaxes(flip(x, i), i, j) if turns else x


@rearrangement
def roll(x: Expr, shift: Dim | Sequence[Dim], axis: Axis = None) -> Expr:
    """Shift the elements by ``shift`` positions along ``axis``; the last ones move to the front.

    With None, shift them in C order.  Several axes have one shift each, or all the same.  For an
    axis or shift known by name, a call raises for a shift larger than the axis.  Raises ValueError
    for different numbers of shifts and axes.

    >>> import symdiff as sd
    >>> sd.roll(sd.symbol("x", 5), 2).shape
    (5,)
    """
    if axis is None:
        return reshape(roll(reshape(x, -1), shift, 0), x.shape)
    places = (axis,) if isinstance(axis, int) else tuple(axis)
    one = isinstance(shift, int | np.integer | str)  # a str is a length, or is refused
    shifts: tuple[Any, ...] = (shift,) * len(places) if one else tuple(shift)  # type: ignore[arg-type]  # not an int here
    if len(places) == 1:
        places *= len(shifts)
    if len(shifts) != len(places):
        raise ValueError(f"roll: {len(shifts)} shifts for {len(places)} axes")
    for place, moved in zip(places, shifts, strict=True):
        k = axis_of("roll", place, x.ndim)
        length = x.shape[k]
        if not isinstance(moved, int | np.integer | Length):
            raise TypeError(
                f"roll: shift {shortened(moved)} of type {type(moved).__name__} is not an integer"
            )
        if isinstance(moved, Length):
            up = not is_natural(-moved)
            first = length - moved if up else -moved
        else:
            first = -moved % length if isinstance(length, int) and length else -moved
        if first and length:
            parts = between(first, length, length), between(0, first, length)
            x = concat([cut(x, {k: part}) for part in parts], axis=k)
    return x


@rearrangement
def sliding_window_view(x: Expr, window_shape: Dim | Sequence[Dim], axis: Axis = None) -> Expr:
    """Return all windows of x: ``value[i, j] = x[i + j]`` for a vector.

    ``window_shape`` is the length of the windows along ``axis``, or one for each of several axes;
    along all axes with None.  An axis of n elements has n - length + 1 windows.  Their elements are
    along new axes, the last ones.  Every mth window is ``[::m]``; the gradient adds the
    contributions of overlapping windows.  It is NumPy's function in ``numpy.lib.stride_tricks``.

    Raises ValueError for a length without windows, or for different numbers of lengths and axes,
    TypeError for a length that is not an integer.

    >>> import symdiff as sd
    >>> x, w = sd.symbol("x", 8), sd.symbol("w", 3)
    >>> sd.sliding_window_view(x, 3).shape, (sd.sliding_window_view(x, 3) @ w).shape
    ((6, 3), (6,))
    """
    name = "sliding_window_view"
    axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    places = [axis_of(name, k, x.ndim) for k in axes]
    widths = wholes(name, "window_shape", window_shape, Length)
    lengths = [n if isinstance(n, Length) else int(n) for n in widths]
    if len(lengths) != len(places):
        raise ValueError(f"{name}: {len(lengths)} lengths of windows for {len(places)} axes")
    for place, length in zip(places, lengths, strict=True):
        n = x.shape[place]
        if isinstance(n, LengthLetter):
            raise Unsupported(f"{name}: axis {place} of symbolic length {n}")
        if isinstance(length, int) and (length < 1 or (isinstance(n, int) and length > n)):
            raise ValueError(f"{name}: no window of {length} in axis {place} of {n} elements")
        x = moveaxis(linear(ops.windows_op(length), moveaxis(x, place, -1)), -2, place)
    return x


@rearrangement
def repeat(x: Expr, repeats: Dim | Sequence[int], axis: int | None = None) -> Expr:
    """Repeat each element along ``axis``; for None, of the elements in C order.

    ``repeats`` is a number, or one for each element.  Raises ValueError for a negative number,
    ShapeError for a wrong number of repeats, Unsupported if the length is not expressible.

    >>> import symdiff as sd
    >>> sd.repeat(sd.symbol("x", 2), 3).shape, sd.repeat(sd.symbol("x", 2), [1, 4]).shape
    ((6,), (5,))
    """
    if axis is None:
        x, axis = reshape(x, -1), 0
    place = axis_of("repeat", axis, x.ndim)
    times = wholes("repeat", "repeats", repeats, Length)
    if any(isinstance(n, bool) or (isinstance(n, int) and n < 0) for n in times):
        raise ValueError(f"repeat: {shortened(repeats)} are not numbers of repetitions")
    length = x.shape[place]
    if len(times) == 1:
        count = times[0]
        before, after = x.shape[:place], x.shape[place + 1 :]
        wide = broadcast_to(expand_dims(x, place + 1), (*before, length, count, *after))
        return reshape(wide, (*before, _multiple_of_length("repeat", length, count), *after))
    if len(times) != length:
        raise ShapeError(
            f"repeat: {len(times)} numbers of repetitions for axis {place} of length {length}"
        )
    listed("repeat", sum(times))
    return take(x, np.repeat(np.arange(length), times), axis=place)


def _multiple_of_length(name: str, length: Dim, count: Dim) -> Dim:
    return like([length, count], elements((length, count)), name)


@rearrangement
def tile(x: Expr, reps: Dim | Sequence[Dim]) -> Expr:
    """Return copies of x side by side, ``reps`` along each axis; missing axes are added in front.

    Raises ValueError for a negative number, TypeError for one that is not an integer, Unsupported
    if a length is not expressible.

    >>> import symdiff as sd
    >>> sd.tile(sd.symbol("x", 3), (2, 2)).shape
    (2, 6)
    """
    copies = wholes("tile", "reps", reps, Length)
    if any(isinstance(count, int) and count < 0 for count in copies):
        raise ValueError(f"tile: {shortened(reps)} are not numbers of copies")
    copies = (1,) * (x.ndim - len(copies)) + copies
    x = _add_leading_axes(x, len(copies))
    shape = tuple(
        _multiple_of_length("tile", dim, count) for dim, count in zip(x.shape, copies, strict=True)
    )
    for k, (dim, count) in enumerate(zip(x.shape, copies, strict=True)):
        if count != 1:
            wide = broadcast_to(expand_dims(x, k), (*x.shape[:k], count, dim, *x.shape[k + 1 :]))
            x = reshape(wide, (*x.shape[:k], shape[k], *x.shape[k + 1 :]))
    return x


def _add_leading_axes(x: Expr, rank: int) -> Expr:
    return expand_dims(x, tuple(range(rank - x.ndim))) if x.ndim < rank else x


def kron(a: Operand, b: Operand, /) -> Expr:
    """Return the Kronecker product ``value[i*q + k, j*r + l] = a[i, j] b[k, l]``; b is (q, r).

    Missing axes are added in front.  Raises Unsupported if a length is not expressible.

    >>> import symdiff as sd
    >>> sd.kron(sd.symbol("A", (2, 3)), sd.symbol("B", (4, 5))).shape
    (8, 15)
    """
    x, y = as_expr(a), as_expr(b)
    rank = max(x.ndim, y.ndim)
    x, y = _add_leading_axes(x, rank), _add_leading_axes(y, rank)
    first, second = tuple(range(rank)), tuple(range(rank, 2 * rank))
    pairs = tuple(k for pair in zip(first, second, strict=True) for k in pair)
    product = contract([(x, first), (y, second)], pairs, None, "kron")
    shape: list[Dim] = []
    for m, n in zip(x.shape, y.shape, strict=True):
        shape.append(_multiple_of_length("kron", m, n))
    return reshape(product, tuple(shape))


# Padding ----------------------------------------------------------------------------------------

_MODES = ("edge", "reflect", "symmetric", "wrap")


@rearrangement
def pad(
    x: Expr,
    pad_width: int | Sequence[Any],
    mode: str = "constant",
    *,
    constant_values: object = 0,
) -> Expr:
    """Return ``x`` with elements added at both ends of its axes, as NumPy pads.

    ``pad_width``: a number, a pair (before, after), or a pair for each axis.  ``mode``:
    "constant", with ``constant_values`` (one, a pair, or a pair for each axis); "edge",
    "reflect", "symmetric" or "wrap", which repeat elements of x.

    Raises ValueError for negative widths or if a mode has no elements to repeat; Unsupported for
    another mode and for a padded axis of symbolic length.

    >>> import symdiff as sd
    >>> sd.pad(sd.symbol("X", (2, 3)), ((1, 0), (2, 2)), mode="edge").shape
    (3, 7)
    """
    if mode != "constant" and mode not in _MODES:
        raise Unsupported(
            f"pad: mode {shortened(mode)}; use 'constant', {', '.join(map(repr, _MODES))}"
        )
    widths = _widths(x, pad_width)
    if mode != "constant":
        for k, (before, after) in enumerate(widths):
            length = x.shape[k]
            named = isinstance(before, Length) or isinstance(after, Length)
            if named and mode != "edge":
                raise Unsupported(
                    f"pad: {(before, after)} elements in mode {shortened(mode)}; ints, or 'edge'"
                )
            if named or isinstance(length, str):
                x = _extend_axis(x, k, before, after, mode)
            elif before or after:
                listed("pad", before + length + after)  # type: ignore[operator]  # of ints
                places = np.pad(np.arange(length), (before, after), mode)  # type: ignore[call-overload]
                x = take(x, places, axis=k)
        return x
    values = _pairs(x, constant_values)
    if all(_is_number_zero(v) for pair in values for v in pair):
        return _pad_with_zeros(x, widths)
    for k, ((before, after), pair) in enumerate(zip(widths, values, strict=True)):
        rest = x.shape
        ends = [
            filled((*rest[:k], n, *rest[k + 1 :]), v)
            for n, v in zip((before, after), pair, strict=True)
        ]
        parts = [part for part in (ends[0], x, ends[1]) if part is x or part.shape[k]]
        x = concat(parts, axis=k)
    return x


def _extend_axis(x: Expr, k: int, before: Any, after: Any, mode: str) -> Expr:
    """Extend an axis of symbolic length by at most its length at both ends."""
    ahead = (slice(None),) * k
    start, stop = {
        "edge": (slice(0, 1), slice(-1, None)),
        "reflect": (slice(1, before + 1), slice(-1 - after, -1)),
        "symmetric": (slice(0, before), slice(-after, None)),
        "wrap": (slice(-before, None), slice(0, after)),
    }[mode]
    parts = []
    for width, taken in ((before, start), (after, stop)):
        part = x[*ahead, taken] if width else None
        if mode == "edge" and part is not None:
            part = broadcast_to(part, (*x.shape[:k], width, *x.shape[k + 1 :]))
        elif mode != "wrap" and part is not None:
            part = flip(part, k)
        parts.append(part)
    return concat([part for part in (parts[0], x, parts[1]) if part is not None], axis=k)


def _widths(x: Expr, pad_width: object) -> list[tuple[Dim, Dim]]:
    try:
        widths = np.asarray(pad_width)
        if widths.dtype.kind == "U":  # a width is a length by name
            widths = np.asarray(pad_width, object)
    except (TypeError, ValueError, RecursionError):
        raise unfit(
            "pad", "pad_width", "an int, a pair, or a pair for each axis", pad_width
        ) from None
    one_by_one = widths.ravel().tolist()
    if not all(isinstance(n, int | Length) and not isinstance(n, bool) for n in one_by_one):
        raise TypeError(f"pad: widths {shortened(pad_width)} are not integers")
    if any(isinstance(n, int) and n < 0 for n in one_by_one):
        raise ValueError(f"pad: widths {shortened(pad_width)} are negative")
    try:
        table = np.broadcast_to(widths, (x.ndim, 2)).tolist()
    except ValueError:
        raise ValueError(
            f"pad: widths {shortened(pad_width)} do not fit the {x.ndim} axes of "
            f"{shape_text(x.shape)}"
        ) from None
    return [(before, after) for before, after in table]


def _is_row(values: Any) -> bool:
    return isinstance(values, list | tuple) or (isinstance(values, np.ndarray) and values.ndim > 0)


def _pairs(x: Expr, values: object) -> list[tuple[Expr, Expr]]:
    """A pair of values for each axis."""
    rows = [list(v) if _is_row(v) else [v] for v in values] if _is_row(values) else [[values]]  # type: ignore[attr-defined]  # a row
    if len(set(map(len, rows))) > 1:
        raise ValueError(f"pad: constant_values {described(values)} are not rows of one length")
    table: NDArrayOfObjects = np.empty((len(rows), len(rows[0]) if rows else 1), dtype=object)
    for i, j in np.ndindex(table.shape):
        table[i, j] = as_expr(rows[i][j], "pad", "constant_values")
    if _is_row(values) and not any(_is_row(v) for v in values):  # type: ignore[attr-defined]  # a row
        table = table[:, 0]
    try:
        wide = np.broadcast_to(table, (x.ndim, 2))
    except ValueError:
        raise ValueError(
            f"pad: constant_values of shape {shape_text(table.shape)} do not fit the {x.ndim} axes "
            f"of {shape_text(x.shape)}"
        ) from None
    return [(before, after) for before, after in wide]


NDArrayOfObjects = np.ndarray[Any, np.dtype[np.object_]]


def _is_number_zero(value: Expr) -> bool:
    return number_of(value) == 0


def _pad_with_zeros(x: Expr, widths: list[tuple[Dim, Dim]]) -> Expr:
    padded = [k for k, pair in enumerate(widths) if any(pair)]
    if not padded:
        return x
    before: list[Dim] = list(x.shape)
    steps: list[Step] = [(0, None, 1)] * x.ndim
    for k in padded:
        low, high = widths[k]
        before[k] = total = low + x.shape[k] + high  # type: ignore[operator]  # of lengths
        steps[k] = between(low, total - high, total)  # type: ignore[operator]  # of lengths
    first = padded[0]
    cutting = ops.slice_op(tuple(before[first:]), tuple(steps[first:]), x.shape[first:])
    return linear(cutting.transposed(0, x.shape), x)


# Triangles as vectors ---------------------------------------------------------------------------


def _triangle(n: int) -> np.ndarray[Any, np.dtype[np.intp]]:
    """The flat indices of the lower triangle of an n by n matrix, row by row."""
    listed("tril", n * n)
    rows, columns = np.tril_indices(n)
    return rows * n + columns


@rearrangement
def pack_tril(x: Expr) -> Expr:
    """Return the lower triangles of the square matrices in the last two axes as vectors, by rows.

    Raises ShapeError unless they are square, Unsupported for a symbolic length.

    >>> import symdiff as sd
    >>> sd.pack_tril(sd.symbol("A", (2, 3, 3))).shape
    (2, 6)
    """
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ShapeError(
            f"pack_tril: shape {shape_text(x.shape)} has no square matrices at its end"
        )
    n = x.shape[-1]
    if isinstance(n, str):
        raise Unsupported(f"pack_tril: the number of elements of a triangle of {n} rows")
    value = number_of(x)
    op = ops.gather_op((n, n), _triangle(n))
    return linear(op, x) if value is None else full(op.result(x.shape), value)


def unpack_tril(x: Operand, /, *, symmetric: bool = False) -> Expr:
    """Return lower triangular matrices with the ``n (n + 1) / 2`` elements of vectors, row by row.

    With ``symmetric``, mirrored elements replace the zeros above the diagonal.  Raises ShapeError
    for another length, Unsupported for a symbolic one.

    >>> import symdiff as sd
    >>> v = sd.symbol("v", 6)
    >>> sd.unpack_tril(v).shape, sd.pack_tril(sd.unpack_tril(v)).shape
    ((3, 3), (6,))
    """
    operand = as_expr(x)
    if not operand.ndim:
        raise ShapeError("unpack_tril: a scalar has no axis")
    length = operand.shape[-1]
    if isinstance(length, str):
        raise Unsupported(f"unpack_tril: vectors of symbolic length {length}")
    n = (math.isqrt(8 * length + 1) - 1) // 2
    if n * (n + 1) // 2 != length:
        raise ShapeError(f"unpack_tril: {length} is not the number of elements of a triangle")
    places = _triangle(n)
    if symmetric:
        rows, columns = np.indices((n, n))
        high, low = np.maximum(rows, columns), np.minimum(rows, columns)
        return take(operand, high * (high + 1) // 2 + low, axis=-1)
    return linear(ops.gather_op((n, n), places).transposed(0, operand.shape), operand)


# Selecting and changing elements ----------------------------------------------------------------


def select(
    condlist: Sequence[Operand], choicelist: Sequence[Operand], default: Operand = 0
) -> Expr:
    """Return the element of the first choice whose condition holds; ``default`` if none does.

    Elements that are not selected have no effect, even nan.  Raises ValueError for different
    numbers of conditions and choices.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.select([x < 0, x < 1], [-x, x]) is sd.where(x < 0, -x, sd.where(x < 1, x, 0))
    True
    """
    if len(condlist) != len(choicelist):
        raise ValueError(f"select: {len(condlist)} conditions for {len(choicelist)} choices")
    result = as_expr(default)
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        result = where(as_expr(condition), as_expr(choice), result)
    return result


def _scatter(x: Expr, key: object, value: Expr) -> Expr:
    """Zeros of the shape of x with the value added at ``x[key]``: the transpose of indexing."""
    t = dummy(x)
    (flow,) = pullback([getitem(t, key)], [t], [Flow(value, NONE)])
    return full(x.shape, 0) if flow is None else flow.expr


def index_add(x: Operand, key: object, value: Operand, /) -> Expr:
    """Return ``x`` with ``value`` added at ``x[key]``; at repeated indices it is added repeatedly.

    ``numpy.add.at(x, key, value)`` does this in place.  Keys and errors are the same as for
    ``x[key]``; ShapeError if the value does not broadcast.

    >>> import symdiff as sd
    >>> x = sd.symbol("x", 3)
    >>> sd.index_add(x, 0, 1).shape
    (3,)
    """
    operand = as_expr(x)
    place = getitem(dummy(operand), key)
    return operand + _scatter(operand, key, broadcast_to(as_numeric(as_expr(value)), place.shape))


def index_update(x: Operand, key: object, value: Operand, /) -> Expr:
    """Return ``x`` with ``value`` at ``x[key]``; at repeated indices the last one.

    ``x[key] = value`` does this in place.  Keys and errors are the same as for ``x[key]``;
    ShapeError if the value does not broadcast, Unsupported for an array of indices that is an
    expression: its indices might repeat.

    >>> import symdiff as sd
    >>> x = sd.symbol("x", 3)
    >>> sd.index_update(x, slice(1, None), 0).shape
    (3,)
    """
    operand = as_expr(x)
    parts = key if isinstance(key, tuple) else (key,)
    for part in parts:
        if _is_expression(part) and part.shape:
            raise Unsupported(
                "index_update: an array of indices that is an expression, whose places might "
                "repeat; use index_add"
            )
    place = getitem(dummy(operand), key)
    new = broadcast_to(as_expr(value), place.shape)
    if any(
        np.ndim(_as_numpy_data(part))
        for part in parts
        if isinstance(part, list | np.ndarray | Expr)
    ):
        changed = _update_by_last_repeats(operand, key, new)
        if changed is not None:
            return changed
    return _replace_where_counted(
        operand,
        _scatter(operand, key, as_numeric(new)),
        _scatter(operand, key, full(new.shape, 1)),
    )


def _is_expression(part: object) -> bool:
    return isinstance(part, Expr) and not isinstance(part.op, ops.Constant)


def _as_numpy_data(part: object) -> Any:
    """Convert an entry of a key that is data to NumPy data."""
    if not isinstance(part, Expr):
        return part
    return part.op.value if isinstance(part.op, ops.Constant) else number_of(part)


def _replace_where_counted(x: Expr, scattered: Expr, counts: Expr) -> Expr:
    zero = number_node(0)
    return where(primitive("not_equal", counts, zero), scattered, x)


def _update_by_last_repeats(x: Expr, key: object, new: Expr) -> Expr | None:
    """The update by arrays of indices with repetitions; None if there is none."""
    lengths = tuple(1 if isinstance(dim, str) else dim for dim in x.shape)
    parts = tuple(map(_as_numpy_data, key if isinstance(key, tuple) else (key,)))
    listed("index_update", math.prod(lengths))
    places = np.arange(math.prod(lengths)).reshape(lengths)[parts].ravel()
    _, last = np.unique(places[::-1], return_index=True)
    if len(last) == len(places):
        return None
    if lengths != x.shape:
        raise Unsupported("index_update: repeated indices with an axis of symbolic length")
    last_writes = np.sort(len(places) - 1 - last)
    op = ops.gather_op(lengths, places[last_writes]).transposed(0, (len(last_writes),))
    chosen = take(reshape(new, -1), last_writes)
    return _replace_where_counted(
        x, linear(op, as_numeric(chosen)), linear(op, full((len(last_writes),), 1))
    )
