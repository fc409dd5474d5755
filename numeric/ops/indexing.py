"""Indexing: read and write elements by keys in brackets.

Integers, slices and None make views, one after the other; arrays of indices then copy.  The axes
that the arrays index are merged into one, and so are the arrays.  So one formula, with the indices
as an operand, serves all arrays.
"""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.eager.dtypes import constant, word
from numeric.eager.inplace import write
from numeric.eager.recording import alias, apply, overflow
from numeric.eager.tensor import Tensor, method, values_of, wrap
from numeric.eager.traced_arrays import Shadow
from numeric.modes import current
from numeric.ops.gather_scatter import put_at
from numeric.ops.index_formulas import (
    COPY,
    flat_index,
    in_bounds,
    indexed_op,
    noted,
    read_kernel,
    watched,
)
from numeric.ops.views import ALIAS, UNSQUEEZE, view
from numeric.ops.views_of_parts import SELECT, SLICE

if TYPE_CHECKING:
    from numeric.eager.types import Operand

INDEX = indexed_op("index", read_kernel)

_WHOLE = slice(None)
_NESTED = (Tensor, np.ndarray, slice, list, tuple, range)
_NO_PLACES = "tensors used as indices must be long, int, byte or bool tensors"
_ZERO_DIM = (
    "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ "
    "to convert a 0-dim tensor to a number"
)


# Keys -------------------------------------------------------------------------------------------


def _parts(key: object) -> tuple[object, ...]:
    """Return the entries of a key; a list of other objects than numbers counts as a tuple."""
    if isinstance(key, tuple):
        return key
    if (
        isinstance(key, list)
        and len(key) < 32
        and any(x is None or x is Ellipsis or isinstance(x, _NESTED) for x in key)
    ):
        return tuple(key)
    return (key,)


def _part(x: object) -> Any:
    """Return an entry as None, Ellipsis, a slice, an int, or an array of integers or bools."""
    if x is None or x is Ellipsis or x.__class__ is slice or x.__class__ is int:
        return x
    if isinstance(x, bool):
        return np.array(x)
    if isinstance(x, int | np.integer):
        return int(x)
    if isinstance(x, Tensor):
        array = values_of(x)
        if array.ndim and array.dtype.name not in ("int64", "int32", "uint8", "bool"):
            raise IndexError(_NO_PLACES)
    elif isinstance(x, np.ndarray | list | tuple | range):
        try:
            array = np.asarray([] if isinstance(x, list) and not x else _plain(x))
        except (ValueError, RecursionError):  # no rectangle
            raise IndexError(_NO_PLACES) from None
        if array.dtype.kind == "f" or not array.size:
            array = array.astype(np.int64)
    elif isinstance(x, str):
        raise TypeError("new(): invalid data type 'str'")
    else:
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are "
            f"valid indices (got {type(x).__name__})"
        )
    if array.dtype.kind not in "biu":
        raise IndexError(_NO_PLACES)
    if array.dtype == np.uint8:
        return array != 0
    if array.ndim or array.dtype.kind == "b" or isinstance(array, Shadow):
        return array
    return int(array)


def _plain(x: object) -> Any:
    """Return a sequence with Tensors of one integer as numbers."""
    if isinstance(x, list | tuple):
        return [_plain(y) for y in x]
    return values_of(x) if isinstance(x, Tensor) else x


def _axes_used(part: object) -> int:
    if part is None or part is Ellipsis:
        return 0
    return part.ndim if isinstance(part, np.ndarray) and part.dtype.kind == "b" else 1


def _bounds(part: slice, length: int) -> tuple[int, int, int]:
    try:
        step = 1 if part.step is None else index(part.step)
        start, stop, _ = part.indices(length)
    except TypeError:
        raise TypeError(
            "slice indices must be integers or None or have an __index__ method"
        ) from None
    except ValueError:  # a step of 0
        step = 0
    if step == 0:
        raise ValueError("slice step cannot be zero")
    if step < 0:
        raise ValueError("step must be greater than zero")
    return start, max(start, stop), step


# Views ------------------------------------------------------------------------------------------


def _viewed(x: Tensor, key: object, alone: bool) -> tuple[Tensor, dict[int, np.ndarray]]:
    """Return the view by the key's integers, slices and None, and index arrays by dimension.

    A slice of a full dimension makes a view only if it is ``alone`` the key.
    """
    parts = [_part(p) for p in _parts(key)]
    used = sum(_axes_used(p) for p in parts)
    rank = x._array.ndim
    if used > rank:
        number = len(parts) == 1 and parts[0].__class__ is int
        raise IndexError(
            _ZERO_DIM if number else f"too many indices for tensor of dimension {rank}"
        )
    arrays: dict[int, np.ndarray] = {}
    dim = 0
    y = x
    for part in parts:
        if part is Ellipsis:
            dim += rank - used
        elif part is None:
            y = apply(UNSQUEEZE, (y,), (dim,))
            dim += 1
        elif part.__class__ is int:
            n = y._array.shape[dim]
            if not -n <= part < n:
                raise IndexError(f"index {part} is out of bounds for dimension {dim} with size {n}")
            y = apply(SELECT, (y,), (dim, part % n))
        elif part.__class__ is slice:
            n = y._array.shape[dim]
            start, stop, step = _bounds(part, n)
            ends = part.stop is None or index(part.stop) >= n
            whole = step == 1 and not index(part.start or 0) and ends
            if alone or not whole:
                y = apply(SLICE, (y,), (dim, start, stop, step))
            dim += 1
        elif part.ndim or part.dtype.kind != "b":
            dim = noted(arrays, dim, part, y._array.shape)
        else:
            y = apply(UNSQUEEZE, (y,), (dim,))
            arrays[dim] = part[None].nonzero()[0]
            dim += 1
    return y, arrays


# Reading ----------------------------------------------------------------------------------------

_BASIC = (int, slice, type(None), type(Ellipsis))


def _quick(x: Tensor, key: Any) -> Tensor | None:
    """Return a view without a record, or None for a key that may need more."""
    parts = key if key.__class__ is tuple else (key,)
    for part in parts:
        if part.__class__ not in _BASIC:
            return None
        if part.__class__ is slice and part.step is not None and part.step <= 0:
            return None
    if parts.count(Ellipsis) > 1:
        return None
    try:
        out = wrap(x._array[parts if Ellipsis in parts else (*parts, ...)])
    except (IndexError, OverflowError):
        return None
    alias(out, x, current().grad)
    return out


@method("__getitem__")
def _getitem(self: Tensor, key: object) -> Tensor:
    """Return the part of the tensor at a key: a view, or a copy for arrays of indices."""
    mode = current()
    recorded = (self._rg and mode.grad) or mode.tracing is not None
    if not recorded:
        quick = _quick(self, key)
        if quick is not None:
            return quick
    y, arrays = _viewed(self, key, key.__class__ is slice)
    if not arrays:
        return apply(ALIAS, (self,)) if y is self else y
    arrays = in_bounds(arrays, y._array.shape)
    dims = tuple(arrays)
    if not recorded:
        key = tuple([arrays.get(k, _WHOLE) for k in range(max(dims) + 1)])
        return wrap(y._array[key])
    flat = flat_index(arrays, y._array.shape)
    return watched(apply(INDEX, (y, flat), (dims,)), _parts(key))


# Writing ----------------------------------------------------------------------------------------


@method("__setitem__")
def _setitem(self: Tensor, key: object, value: Operand) -> None:
    """Write a value, broadcast, to ``self[key]``."""
    if not isinstance(value, Tensor):
        if not isinstance(value, int | float | np.number | np.bool_):
            raise TypeError(
                f"can't assign a {type(value).__name__} to a torch.{word(self._array.dtype)}Tensor"
            )
        try:
            value = wrap(np.array(constant(value)).astype(self._array.dtype))
        except OverflowError:
            raise RuntimeError(overflow("__setitem__", self._array.dtype)) from None
    if key is False:
        return
    y, arrays = _viewed(self, key, False)
    if arrays:
        value = _without_ones(value, value._array.ndim)
        put_at(y, in_bounds(arrays, y._array.shape), value, _parts(key))
        return
    shape = y._array.shape
    value = _without_ones(value, value._array.ndim - len(shape))
    _check_fit(value._array.shape, shape)
    write(y, lambda old: apply(COPY, (old, value)), "copy_")


def _without_ones(value: Tensor, more: int) -> Tensor:
    """Return the value without excess leading dimensions of length 1."""
    shape = value._array.shape
    k = 0
    while k < more and shape[k] == 1:
        k += 1
    return view(value, shape[k:]) if k else value


def _check_fit(given: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    if len(given) > len(wanted):
        raise RuntimeError(
            f"expand(tensor of shape {list(given)}, size={list(wanted)}): the number of sizes "
            f"provided ({len(wanted)}) must be greater or equal to the number of dimensions in the "
            f"tensor ({len(given)})"
        )
    for i in range(1, len(given) + 1):
        if given[-i] not in (1, wanted[-i]):
            raise RuntimeError(
                f"The expanded size of the tensor ({wanted[-i]}) must match the existing size "
                f"({given[-i]}) at non-singleton dimension {len(wanted) - i}.  Target sizes: "
                f"{list(wanted)}.  Tensor sizes: {list(given)}"
            )
