"""Indexing as in NumPy: slices, integers, new axes, integer and boolean arrays, and mixtures."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from symdiff import opaque_ops
from symdiff.contexts import listed
from symdiff.errors import ShapeError, Unsupported
from symdiff.functions.shaping import (
    apply,
    assembled,
    axis_of,
    broadcast_to,
    cut,
    flip,
    permute_dims,
    rearrangement,
    reshape,
)
from symdiff.graph import ops
from symdiff.graph.algebra import as_numeric, opaque, primitive, size
from symdiff.graph.arguments import DEEPEST, parts_or_places
from symdiff.graph.axes import shape_text
from symdiff.graph.contraction import contract
from symdiff.graph.expr import Expr, Operand
from symdiff.graph.leaves import as_expr, fixed_places, number_node, number_of
from symdiff.graph.lengths import Length, is_natural
from symdiff.graph.number import shortened
from symdiff.graph.ranges import WHOLE, Line, Step, between, line, step_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symdiff.graph.axes import Word
    from symdiff.graph.node import Dim

Index: TypeAlias = NDArray[np.intp]
# An entry of a complete key: None for a new axis, else the treatment of the next axis.
Item: TypeAlias = slice | int | Length | Index | None

_WHOLE = slice(None)
_REVERSED = slice(None, None, -1)

__all__ = ["getitem", "nonzero", "split", "take"]


@rearrangement
def getitem(x: Expr, key: object) -> Expr:
    """Return ``x[key]`` for ints, slices, None, Ellipsis, integer and boolean arrays, as in NumPy.

    An expression of integers is an index, too: scalars, or one array of them, together with slices.
    Its bounds are checked at run time.  A condition is an index as well, ``x[x > 0]``, with the
    shape of the first axes of x.  The number of elements, or rows, that it selects is known at run
    time only.  So the length of the result has a name of its own, the same for all arrays that one
    condition selects.

    Raises IndexError for an index out of bounds, with the axis and its length, and for too many
    indices; Unsupported for a condition with other indices, or an expression with arrays.  Calls
    check ints, slices and arrays of ints, and indices that are lengths, for axes known by name.

    >>> import symdiff as sd
    >>> X = sd.symbol("X", ("n", 4, 5))
    >>> X[0, 1:3].shape, X[:, [0, 2, 2], None].shape
    ((2, 5), ('n', 3, 1, 5))
    """
    parts = key if isinstance(key, tuple) else (key,)
    if any(_has_length(part) for part in parts):
        parts = _replace_lengths(x, parts)
    if any(_is_index_expression(part) and part.dtype is bool for part in parts):
        return _select_true(x, parts)
    if any(_is_index_expression(part) for part in parts):
        return _index_by_expressions(x, parts)
    items, dots = _complete_key(x, parts)
    of_axes = [item for item in items if item is not None]
    turned = tuple(axis for axis, item in enumerate(of_axes) if _is_slice(item, _REVERSED))
    x = flip(x, turned)
    items = [_WHOLE if _is_slice(item, _REVERSED) else item for item in items]
    if not any(isinstance(item, np.ndarray) for item in items):
        return _apply_slices(x, items)
    if any(isinstance(dim, Length) for dim in x.shape):
        x, items = _cut_first(x, items)
    return _gather(x, items, dots)


# The key ----------------------------------------------------------------------------------------


def _has_length(part: object, depth: int = 0) -> bool:
    """Whether a part is an index known by name, or a list that contains one."""
    if isinstance(part, list):
        if depth > DEEPEST:
            raise IndexError(f"getitem: lists of places are nested more than {DEEPEST} deep")
        return any(_has_length(item, depth + 1) for item in part)
    return isinstance(part, Length)


def _replace_lengths(x: Expr, parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """Replace lengths in lists by expressions, and indices by name if the axis has a number."""
    replaced = [
        assembled(part) if isinstance(part, list) and _has_length(part) else part for part in parts
    ]
    used = [
        1 if _is_index_expression(part) else _axes_used(_convert_entry(part)) for part in replaced
    ]
    axis = 0
    for k, part in enumerate(replaced):
        if isinstance(part, Length) and axis < x.ndim and isinstance(x.shape[axis], int):
            replaced[k] = size(part)
        axis += x.ndim - sum(used) if part is Ellipsis else used[k]
    return tuple(replaced)


def _complete_key(x: Expr, key: tuple[object, ...]) -> tuple[list[Item], int]:
    """The key with one entry for each axis, and None: indices in bounds and >= 0, masks as indices.

    Also the number of the entry before which an Ellipsis was, or 0.
    """
    parts = [_convert_entry(part) for part in key]
    used = sum(_axes_used(part) for part in parts)
    dots = [k for k, part in enumerate(parts) if part is Ellipsis]
    if len(dots) > 1:
        raise IndexError("getitem: an index has at most one Ellipsis")
    if used > x.ndim:
        raise IndexError(f"getitem: {used} indices for shape {shape_text(x.shape)}")
    place = dots[0] if dots else len(parts)
    parts[place : place + 1] = [_WHOLE] * (x.ndim - used)
    items: list[Item] = []
    axis = start = 0
    for k, part in enumerate(parts):
        if dots and k == place:
            start = len(items)
        items.extend(_check_entry(part, axis, x))
        axis += _axes_used(part)
    return items, start


def _convert_entry(part: object) -> Any:
    """Convert to None, Ellipsis, a slice, an int, an integer array or a boolean array."""
    if part is None or part is Ellipsis or isinstance(part, slice | Length):
        return part
    if isinstance(part, Expr):
        part = part.op.value if isinstance(part.op, ops.Constant) else number_of(part)
        if part is None:
            raise Unsupported("getitem: an index that is an expression")
    try:
        array = np.asarray(part)
    except ValueError:
        raise IndexError(
            f"getitem: {shortened(part)} is not an array: its rows differ in length"
        ) from None
    if array.size == 0 and isinstance(part, list):
        array = array.astype(np.intp)
    if array.dtype.kind in "iu":
        return array.astype(np.intp) if array.ndim else int(array)
    if array.dtype.kind == "b":
        if array.ndim:
            return array
        raise Unsupported("getitem: a single boolean as index; use where")
    raise IndexError(
        f"getitem: {shortened(part)} is neither an integer, a slice, None, Ellipsis "
        f"nor an array of integers or booleans"
    )


def _axes_used(part: object) -> int:
    if part is None or part is Ellipsis:
        return 0
    return part.ndim if isinstance(part, np.ndarray) and part.dtype.kind == "b" else 1


def _check_entry(part: Any, axis: int, x: Expr) -> Sequence[Item]:
    if part is None:
        return (None,)
    if isinstance(part, slice):
        return (_normal_slice(part, axis, x.shape[axis]),)
    if isinstance(part, np.ndarray) and part.dtype.kind == "b":
        for k, length in enumerate(part.shape, start=axis):
            if length != x.shape[k]:
                raise IndexError(
                    f"getitem: a mask of length {length} for axis {k} of length {x.shape[k]}"
                )
        return part.nonzero()
    length = x.shape[axis]
    if isinstance(part, Length):
        if not isinstance(length, Length):
            raise Unsupported(f"getitem: the place {part} of axis {axis} of length {length}")
        part = _from_front(part, length)
        behind = part - length
        if isinstance(behind, int) and behind >= 0:
            raise IndexError(
                f"getitem: index {part} is out of bounds for axis {axis} of length {length}"
            )
        return (behind if isinstance(behind, int) else part,)
    if isinstance(length, str):
        if isinstance(part, int) or isinstance(length, Length):
            return (part,)  # the call checks the bounds
        raise Unsupported(
            f"getitem: an array of indices for axis {axis} of symbolic length {length}"
        )
    outside = np.atleast_1d((part < -length) | (part >= length))
    if outside.any():
        wrong = np.atleast_1d(part)[outside].flat[0]
        raise IndexError(
            f"getitem: index {wrong} is out of bounds for axis {axis} of length {length}"
        )
    return (
        (part + length if part < 0 else part,)
        if isinstance(part, int)
        else (part % max(length, 1),)
    )


def _normal_slice(part: slice, axis: int, length: int | str) -> slice:
    """The normal form of a slice for this length: whole, reversed, or with bounds in range."""
    for end in (part.start, part.stop, part.step):
        if not (end is None or isinstance(end, Length) or hasattr(end, "__index__")):
            raise TypeError(
                f"getitem: a slice takes integers, lengths as x.shape[0] and None, got "
                f"{shortened(end)}"
            )
    if isinstance(length, str):
        if part in (_WHOLE, slice(None, None, 1), slice(0, None), slice(0, None, 1)):
            return _WHOLE
        if part == _REVERSED:
            return _REVERSED
        if not isinstance(length, Length):
            raise Unsupported(
                f"getitem: the length of {part} of axis {axis} of symbolic length {length}"
            )
        return _normal_named_slice(part, length)
    for end in (part.start, part.stop, part.step):
        if isinstance(end, Length):
            raise Unsupported(
                f"getitem: {end}, which is known by name, in a slice of axis {axis} of length "
                f"{length}, which is a number: give the axis a name, or {end.names[0]} a number"
            )
    places = range(*part.indices(length))
    if len(places) <= 1:
        return (
            _WHOLE
            if length == len(places)
            else slice(*(places[0], places[0] + 1, 1) if places else (0, 0, 1))
        )
    if len(places) == length:
        return _WHOLE if places.step == 1 else _REVERSED
    stop = places[-1] + (1 if places.step > 0 else -1)
    return slice(places[0], None if stop < 0 else stop, places.step)


def _normal_named_slice(part: slice, length: Length) -> slice:
    """The normal form of a slice of an axis of symbolic length."""
    step = 1 if part.step is None else operator.index(part.step)
    if not step:
        raise ValueError("getitem: a slice of step 0")
    start, stop = [
        end
        if end is None
        else _from_front(end, length)
        if isinstance(end, Length)
        else operator.index(end)
        for end in (part.start, part.stop)
    ]
    places = line(start, stop, step, length)
    if isinstance(places, Line) and any(
        isinstance(need, int) and need < 0 for need in places.needs(length)
    ):
        raise ShapeError(
            f"getitem: [{start}:{stop}:{step}] is beyond every axis of length {length}"
        )
    triple = step_of(places, length)
    return {WHOLE: _WHOLE, (-1, None, -1): _REVERSED}.get(triple) or slice(*triple)


def _from_front(place: Length, length: Length) -> Any:
    """An index known by name, counted from the front; from the end if it is below 0."""
    if not is_natural(-place):
        return place
    front = length + place
    if isinstance(front, int) and front < 0:
        raise IndexError(f"getitem: place {place} is beyond every axis of length {length}")
    if front == 0 or is_natural(-1 - place):
        return front
    raise Unsupported(f"getitem: place {place} is from the end, but not if it is 0; write {front}")


def _is_slice(item: Item, wanted: slice) -> bool:
    return isinstance(item, slice) and item == wanted


# Basic indexing ---------------------------------------------------------------------------------


def _apply_slices(x: Expr, items: list[Item]) -> Expr:
    """Apply slices and integers: a cut, then labels; an int cuts its axis to 1 and drops it."""
    letters = _letters(items, x.ndim)
    steps = _steps(x, items, letters)
    out = tuple(
        letter
        for item, letter in zip(items, letters, strict=True)
        if not isinstance(item, int | Length)
    )
    return contract([(cut(x, steps), tuple(range(x.ndim)))], out, _ones(letters, x.ndim))


def _steps(x: Expr, items: list[Item], letters: Word) -> dict[int, Step]:
    """The slices of the axes whose slice is not the complete axis."""
    steps: dict[int, Step] = {}
    for item, letter in zip(items, letters, strict=True):
        if isinstance(item, int):
            steps[letter] = (item, item + 1, 1) if item != -1 else (-1, None, 1)
        elif isinstance(item, Length):
            steps[letter] = between(item, item + 1, x.shape[letter])
        elif isinstance(item, slice) and item != _WHOLE:
            steps[letter] = (item.start, item.stop, item.step)
    return steps


def _cut_first(x: Expr, items: list[Item]) -> tuple[Expr, list[Item]]:
    """Apply slices first, because arrays of indices need complete axes beside them."""
    slices: list[Item] = [
        item if isinstance(item, slice) else _WHOLE for item in items if item is not None
    ]
    remaining = [_WHOLE if isinstance(item, slice) else item for item in items]
    return cut(x, _steps(x, slices, tuple(range(x.ndim)))), remaining


def _letters(items: list[Item], ndim: int) -> Word:
    """The axis label of each entry: axes have 0, 1, ..., new axes have labels from ``ndim`` on."""
    old, new = iter(range(ndim)), iter(range(ndim, ndim + len(items)))
    return tuple(next(new) if item is None else next(old) for item in items)


def _ones(letters: Word, ndim: int) -> dict[int, Dim]:
    return {letter: 1 for letter in letters if letter >= ndim}


# Arrays of indices ------------------------------------------------------------------------------


def _gather(x: Expr, items: list[Item], dots: int) -> Expr:
    """One gather along the indexed axes with complete axes as batch; then NumPy's order of axes.

    A complete axis between gathered ones costs index entries, but saves a transpose.  So only
    leading axes, which need none, and symbolic ones, which cannot have entries, are batch axes.
    """
    letters = _letters(items, x.ndim)
    named = [
        (item, letter) for item, letter in zip(items, letters, strict=True) if item is not None
    ]
    leading = next(letter for item, letter in named if not _is_slice(item, _WHOLE))
    batch = [
        k for i, k in named if _is_slice(i, _WHOLE) and (k < leading or isinstance(x.shape[k], str))
    ]
    inner = [(item, letter) for item, letter in named if letter not in batch]
    shapes = [np.shape(item) for item, _ in inner if isinstance(item, np.ndarray)]
    try:
        lengths = np.broadcast_shapes(*shapes)
    except ValueError:
        raise IndexError(
            f"getitem: arrays of indices of shapes {shapes} do not broadcast"
        ) from None
    first = x.ndim + len(items)
    word = tuple(range(first, first + len(lengths)))
    out = _layout(list(zip(items, letters, strict=True)), word, dots)
    at = [(item, letter) for item, letter in named if not isinstance(item, slice)]
    if any(isinstance(x.shape[letter], Length) for _, letter in at):
        rest = [letter for item, letter in named if isinstance(item, slice)]
        gathered = reshape(
            _gather_each_axis(x, rest, at, lengths),
            (*(x.shape[letter] for letter in rest), *lengths),
        )
        return contract([(gathered, (*rest, *word))], out, _ones(letters, x.ndim))
    before = tuple(_known_length(x.shape[letter], letter) for _, letter in inner)
    spans = [
        len(range(*item.indices(length)))
        for (item, _), length in zip(inner, before, strict=True)
        if isinstance(item, slice)
    ]
    listed("getitem", math.prod(before) + math.prod(lengths) * math.prod(spans))
    positions = np.arange(math.prod(before)).reshape(before)
    op = ops.gather_op(before, positions[tuple(item for item, _ in inner)])
    gathered = apply(op, permute_dims(x, (*batch, *(letter for _, letter in inner))))
    return contract([(gathered, (*batch, *_layout(inner, word)))], out, _ones(letters, x.ndim))


def _gather_each_axis(
    x: Expr, rest: Sequence[int], at: Sequence[tuple[Any, int]], places: tuple[int, ...]
) -> Expr:
    """The axes ``rest``, then one of all indices: one gather for each indexed axis."""
    listed("getitem", math.prod(places) * len(at))
    y = permute_dims(x, (*rest, *(letter for _, letter in reversed(at))))
    take = ops.opaque_op(opaque_ops.Take)
    for k, (item, _) in enumerate(at):
        shape = (math.prod(places), 1) if k else (math.prod(places),)
        if isinstance(item, Length):
            index = broadcast_to(size(item), shape)
        else:
            index = fixed_places(np.broadcast_to(item, places).reshape(shape))
        if not k:
            y = opaque(take, y, index)
            continue
        y = permute_dims(y, (*range(y.ndim - 2), y.ndim - 1, y.ndim - 2))
        y = getitem(opaque(take, y, index), (..., 0))
    return y


def _known_length(length: Dim, axis: int) -> int:
    if isinstance(length, str):
        raise Unsupported(
            f"getitem: an int for axis {axis} of symbolic length {length} with arrays of indices"
        )
    return length


def _layout(named: Sequence[tuple[Item, int]], block: Word, dots: int = 0) -> Word:
    """The labels of the result: those of the arrays stay in place, or go first if separated.

    An entry between them separates them, also an Ellipsis (before entry ``dots``) for no axes.
    """
    places = [k for k, (item, _) in enumerate(named) if isinstance(item, int | Length | np.ndarray)]
    rest = [(k, letter) for k, (_, letter) in enumerate(named) if k not in places]
    apart = places[-1] - places[0] >= len(places) or places[0] < dots <= places[-1]
    place = 0 if apart else places[0]
    before = tuple(letter for k, letter in rest if k < place)
    return (*before, *block, *(letter for k, letter in rest if k >= place))


# Expressions as indices -------------------------------------------------------------------------


def _is_index_expression(part: object) -> bool:
    """Whether an index is an expression other than data or one number."""
    if not isinstance(part, Expr) or isinstance(part.op, ops.Constant):
        return False
    return bool(part.shape) or number_of(part) is None


def _index_by_expressions(x: Expr, parts: tuple[Any, ...]) -> Expr:
    """Apply slices and numbers first, then the expressions, one axis after the other."""
    arrays = [k for k, part in enumerate(parts) if _is_index_expression(part) and part.shape]
    numbers = []
    for k, part in enumerate(parts):
        if (
            _is_index_expression(part)
            or part is None
            or part is Ellipsis
            or isinstance(part, slice)
        ):
            continue
        if np.ndim(_convert_entry(part)):
            raise Unsupported("getitem: an array of indices with an index that is an expression")
        numbers.append(k)
    advanced = sorted(
        [*numbers, *(k for k, part in enumerate(parts) if _is_index_expression(part))]
    )
    if len(arrays) > 1:
        raise Unsupported("getitem: two arrays of indices that are expressions")
    if arrays and advanced[-1] - advanced[0] >= len(advanced):
        raise Unsupported("getitem: an array of indices apart from a number that is an index")
    used = sum(part is not None and part is not Ellipsis for part in parts)
    if used > x.ndim:
        raise IndexError(f"getitem: {used} indices for shape {shape_text(x.shape)}")
    dots = next((k for k, part in enumerate(parts) if part is Ellipsis), len(parts))
    padded = [*parts[:dots], *[_WHOLE] * (x.ndim - used), *parts[dots + 1 :]]
    places, axis = [], 0
    for part in padded:
        if _is_index_expression(part):
            places.append((axis, part))
        axis += _is_index_expression(part) or part is None or isinstance(part, slice)
    result = getitem(x, tuple(_WHOLE if _is_index_expression(part) else part for part in padded))
    for place, index in reversed(places):
        result = taken(result, index, place)
    return result


def _select_true(x: Expr, parts: tuple[Any, ...]) -> Expr:
    """The elements, or rows, of leading axes where a condition is true."""
    further = [part for part in parts[1:] if part is not Ellipsis and not _is_whole(part)]
    mask = parts[0]
    if further or not isinstance(mask, Expr):
        raise Unsupported(
            "getitem: a condition with other indices, or after the first axis; index by the "
            "condition alone, x[condition], and then again, or use where"
        )
    if not mask.shape:
        raise Unsupported("getitem: a single boolean as index; use where")
    if mask.ndim > x.ndim:
        raise IndexError(
            f"getitem: a condition of shape {shape_text(mask.shape)} for {shape_text(x.shape)}"
        )
    for k, (length, there) in enumerate(zip(mask.shape, x.shape, strict=False)):
        if length != there:
            raise IndexError(
                f"getitem: a condition of length {length} for axis {k} of length {there}"
            )
    rows = reshape(x, (-1, *x.shape[mask.ndim :])) if mask.ndim > 1 else x
    return taken(rows, opaque_ops.nonzero_places(as_numeric(reshape(mask, -1))), 0)


def _is_whole(part: object) -> bool:
    return isinstance(part, slice) and part == _WHOLE


def taken(x: Expr, index: Expr, axis: int) -> Expr:
    """``x`` at the indices ``index``, an expression of integers, whose axes replace the axis.

    Raises IndexError for an index of real numbers or booleans.
    """
    if index.dtype is bool:
        raise IndexError("getitem: a condition where places are integers; x[condition] has it")
    if index.dtype is float:
        raise IndexError("getitem: an index of real numbers; indices are integers")
    rest = tuple(k for k in range(x.ndim) if k != axis)
    flat = reshape(index, (1,)) if not index.shape else reshape(index, -1)
    result = opaque(ops.opaque_op(opaque_ops.Take), permute_dims(x, (*rest, axis)), flat)
    shape = tuple(x.shape[k] for k in rest)
    result = reshape(result, shape + index.shape)
    block = range(len(rest), len(rest) + index.ndim)
    return permute_dims(result, (*range(axis), *block, *range(axis, len(rest))))


# Functions --------------------------------------------------------------------------------------


def take(
    x: Operand, indices: int | Sequence[int] | Index | Expr, /, axis: int | None = None
) -> Expr:
    """Return the elements at integer ``indices`` of ``axis``; for None, of the elements in C order.

    The axes of ``indices``, which may be an expression of integers, replace the axis.  Raises
    IndexError for an index out of bounds, AxisError, TypeError for a boolean mask.

    >>> import symdiff as sd
    >>> X = sd.symbol("X", (3, 4))
    >>> sd.take(X, [0, 2], axis=0) is X[[0, 2]], sd.take(X, 5).shape
    (True, ())
    """
    operand = as_expr(x)
    if isinstance(indices, np.ndarray | Expr) and indices.dtype in (bool, np.dtype(bool)):
        raise TypeError("take: indices are integers, not a mask; index with it")
    if axis is None:
        operand, axis = reshape(operand, -1), 0
    return getitem(operand, (*[_WHOLE] * axis_of("take", axis, operand.ndim), indices))


def nonzero(x: Operand, /) -> tuple[Expr, ...]:
    """Return the indices of the nonzero elements in C order: an array of indices for each axis.

    The number of elements is known at run time only, so the length of the arrays has a name of its
    own.  Indices have no derivative.

    Raises ShapeError for a scalar, which has no axis.

    >>> import symdiff as sd
    >>> v = sd.symbol("vector", 5)
    >>> (places,) = sd.nonzero(v > 1)
    >>> v[places] is v[v > 1]
    True
    """
    operand = as_expr(x)
    if not operand.shape:
        raise ShapeError("nonzero: a number has no places; expected an array")
    holds = operand if operand.dtype is bool else primitive("not_equal", operand, number_node(0))
    flat = opaque_ops.nonzero_places(as_numeric(reshape(holds, -1)))
    columns = []
    for k in range(operand.ndim)[::-1]:
        if not k:
            columns.append(flat)
            continue
        length = broadcast_to(size(operand.shape[k]), flat.shape)
        columns.append(flat % length)
        flat = flat // length
    return tuple(columns[::-1])


def split(x: Operand, parts: int | Sequence[int], /, axis: int = 0) -> list[Expr]:
    """Split x along ``axis`` into this many equal parts, or at the indices ``parts``.

    Raises ShapeError if equal parts do not fit, for an axis known by name at the call; AxisError,
    Unsupported for a number of parts that is not an int.

    >>> import symdiff as sd
    >>> [part.shape for part in sd.split(sd.symbol("x", 6), [1, 3])]
    [(1,), (2,), (3,)]
    """
    operand = as_expr(x)
    place = axis_of("split", axis, operand.ndim)
    length = operand.shape[place]
    if isinstance(parts, Length):
        raise Unsupported(f"split: into {parts} parts; each is an expression: give an int")
    parts = parts_or_places("split", "parts", parts)
    listed("split", expressions=parts if isinstance(parts, int) else len(parts))
    cuts: list[Any]
    if isinstance(length, str) and not isinstance(length, Length):
        raise Unsupported(f"split: axis {place} of symbolic length {length}")
    if isinstance(length, Length) and isinstance(parts, int):
        if parts < 1:
            raise ShapeError(f"split: axis {place} of length {length} has no {parts} equal parts")
        each: Any = length // parts
        if each * parts != length:  # a reshape checks at the call
            shape = (*operand.shape[:place], parts, each, *operand.shape[place + 1 :])
            stacked = reshape(operand, shape)
            return [getitem(stacked, (*(_WHOLE,) * place, k)) for k in range(parts)]
        cuts = [each * k for k in range(1, parts)]
    elif isinstance(length, int) and isinstance(parts, int):
        if parts < 1 or length % parts:
            raise ShapeError(f"split: axis {place} of length {length} has no {parts} equal parts")
        cuts = (
            list(range(length // parts, length, length // parts)) if length else [0] * (parts - 1)
        )
    else:
        cuts = list(parts)  # type: ignore[arg-type]  # indices
    before = (_WHOLE,) * place
    bounds = zip([0, *cuts], [*cuts, None], strict=True)
    return [getitem(operand, (*before, slice(start, stop))) for start, stop in bounds]
