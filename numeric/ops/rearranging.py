"""Join, reverse, roll and repeat tensors, and copy triangles and diagonals."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.eager import dtypes
from numeric.eager.operations import Op
from numeric.eager.recording import apply
from numeric.eager.tensor import Tensor, method, values_of, wrap
from numeric.ops.creation import kind_of
from numeric.ops.dim_arguments import axes_of, axis_of, by_axis, sizes_of
from numeric.ops.views import (
    CLONE,
    atleast_1d,
    atleast_2d,
    atleast_3d,
    expand,
    flatten,
    unsqueeze,
    view,
)
from symdiff import functions as sd

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence
    from types import EllipsisType

    from numeric.eager.types import DeviceLike, DtypeLike
    from numeric.types import Dims, Params, SizeLike
    from symdiff.graph.expr import Expr

__all__ = [
    "cat",
    "column_stack",
    "concat",
    "concatenate",
    "diag",
    "diag_embed",
    "diagonal_scatter",
    "dstack",
    "flip",
    "fliplr",
    "flipud",
    "hstack",
    "repeat_interleave",
    "roll",
    "rot90",
    "row_stack",
    "select_scatter",
    "slice_scatter",
    "stack",
    "tile",
    "tril",
    "tril_indices",
    "triu",
    "triu_indices",
    "vstack",
]

_WHOLE = slice(None)


# Joining ----------------------------------------------------------------------------------------

CAT = Op(
    "cat",
    lambda *args: sd.concat(args[:-1], axis=args[-1]),
)
STACK = Op(
    "stack",
    lambda *args: sd.stack(args[:-1], axis=args[-1]),
    lambda *args: np.stack(args[:-1], axis=args[-1]),
)


def _tensors(name: str, tensors: object) -> list[Tensor]:
    if not isinstance(tensors, tuple | list):
        raise TypeError(
            f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not "
            f"{type(tensors).__name__}"
        )
    for k, x in enumerate(tensors):
        if not isinstance(x, Tensor):
            raise TypeError(
                f"expected Tensor as element {k} in argument 0, but got {type(x).__name__}"
            )
    return list(tensors)


@by_axis
def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Join tensors along a dimension.

    Raises RuntimeError if their other lengths differ.

    >>> import numeric as torch
    >>> torch.cat([torch.zeros(2, 3), torch.zeros(1, 3)]).shape
    torch.Size([3, 3])
    """
    parts = _tensors("cat", tensors)
    if not parts:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    # Vectors without elements are ignored whatever the others are.
    mixed = any(x._array.ndim != 1 for x in parts)
    full = [x for x in parts if not mixed or x._array.shape != (0,)]
    first = full[0]._array.shape
    for k, x in enumerate(full):
        if not x._array.ndim:
            raise RuntimeError(f"zero-dimensional tensor (at position {k}) cannot be concatenated")
    place = axis_of(dim, len(first))
    for k, x in enumerate(full):
        shape = x._array.shape
        if len(shape) != len(first):
            raise RuntimeError(
                f"Tensors must have same number of dimensions: got {len(first)} and {len(shape)}"
            )
        for axis, (n, m) in enumerate(zip(first, shape, strict=True)):
            if n != m and axis != place:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {place}. Expected size {n} "
                    f"but got size {m} for tensor number {k} in the list."
                )
    if len(full) < len(parts) and any(x._array.dtype != full[0]._array.dtype for x in parts):
        kind = dtypes.promoted([x._array for x in parts])
        full = [x if x._array.dtype == kind else x.to(dtypes.OF_NUMPY[kind]) for x in full]
    return apply(CAT, full, (place,))


@by_axis
def concat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Join tensors, as ``cat``.

    >>> import numeric as torch
    >>> torch.concat([torch.zeros(2), torch.zeros(1)]).shape
    torch.Size([3])
    """
    return cat(tensors, dim)


@by_axis
def concatenate(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Join tensors, as ``cat``.

    >>> import numeric as torch
    >>> torch.concatenate([torch.zeros(2), torch.zeros(1)]).shape
    torch.Size([3])
    """
    return cat(tensors, dim)


@by_axis
def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Join tensors of one shape along a new dimension.

    >>> import numeric as torch
    >>> torch.stack([torch.zeros(3), torch.zeros(3)], 1).shape
    torch.Size([3, 2])
    """
    parts = _tensors("stack", tensors)
    if not parts:
        raise RuntimeError("stack expects a non-empty TensorList")
    first = parts[0]._array.shape
    place = axis_of(dim, len(first) + 1)
    for k, x in enumerate(parts):
        if x._array.shape != first:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 "
                f"and {list(x._array.shape)} at entry {k}"
            )
    return apply(STACK, parts, (place,))


def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Join vectors end to end, other tensors along the second dimension.

    >>> import numeric as torch
    >>> torch.hstack([torch.zeros(2, 3), torch.zeros(2, 1)]).shape
    torch.Size([2, 4])
    """
    parts = [atleast_1d(x) for x in _tensors("hstack", tensors)]
    return cat(parts, 0 if parts and parts[0]._array.ndim == 1 else 1)


def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """Join vectors as rows, other tensors along the first dimension.

    >>> import numeric as torch
    >>> torch.vstack([torch.zeros(3), torch.zeros(2, 3)]).shape
    torch.Size([3, 3])
    """
    return cat([atleast_2d(x) for x in _tensors("vstack", tensors)], 0)


def row_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Join tensors, as ``vstack``.

    >>> import numeric as torch
    >>> torch.row_stack([torch.zeros(3), torch.zeros(3)]).shape
    torch.Size([2, 3])
    """
    return vstack(tensors)


def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """Join tensors along their third dimension.

    >>> import numeric as torch
    >>> torch.dstack([torch.zeros(3), torch.zeros(3)]).shape
    torch.Size([1, 3, 2])
    """
    return cat([atleast_3d(x) for x in _tensors("dstack", tensors)], 2)


def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Join vectors as columns, other tensors along the second dimension.

    >>> import numeric as torch
    >>> torch.column_stack([torch.zeros(3), torch.zeros(3, 2)]).shape
    torch.Size([3, 3])
    """
    parts = _tensors("column_stack", tensors)
    return cat([view(x, x._array.size, 1) if x._array.ndim < 2 else x for x in parts], 1)


# Reversed, rolled, repeated ---------------------------------------------------------------------

FLIP = Op("flip", sd.flip, promotion=None)
ROLL = Op("roll", sd.roll, promotion=None)
ROT90 = Op("rot90", sd.rot90, promotion=None)
REPEAT = Op("repeat", sd.tile, promotion=None)


def _flipped(x: Tensor, dims: Dims) -> Tensor:
    if not x._array.ndim and axes_of(dims, 0):
        dims = ()
    return apply(FLIP, (x,), (axes_of(dims, x._array.ndim),))


def flip(input: Tensor, dims: Dims) -> Tensor:
    """Return the elements in reverse order along some dimensions.

    >>> import numeric as torch
    >>> torch.flip(torch.tensor([1, 2, 3]), (0,)).tolist()
    [3, 2, 1]
    """
    return _flipped(input, dims)


@method("flip")
def _flip(self: Tensor, *axes: Dims, dims: Dims | None = None) -> Tensor:
    """Return the elements in reverse order along dimensions, as arguments or one sequence."""
    return _flipped(self, sizes_of(axes if dims is None else (dims,), "flip", "dims"))


@method()
def fliplr(input: Tensor) -> Tensor:
    """Return the columns in reverse order.

    >>> import numeric as torch
    >>> torch.fliplr(torch.tensor([[1, 2]])).tolist()
    [[2, 1]]
    """
    if input._array.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return _flipped(input, (1,))


@method()
def flipud(input: Tensor) -> Tensor:
    """Return the rows in reverse order.

    >>> import numeric as torch
    >>> torch.flipud(torch.tensor([1, 2])).tolist()
    [2, 1]
    """
    if input._array.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return _flipped(input, (0,))


@method()
def roll(input: Tensor, shifts: SizeLike, dims: Dims | None = None) -> Tensor:
    """Shift the elements cyclically along dimensions; without ``dims``, in the flat order.

    >>> import numeric as torch
    >>> torch.roll(torch.tensor([1, 2, 3]), 1).tolist()
    [3, 1, 2]
    """
    by = sizes_of((shifts if isinstance(shifts, tuple | list) else (shifts,),))
    if dims is None or (isinstance(dims, tuple | list) and not dims):
        if len(by) != 1:
            raise RuntimeError(f"shifts and dimensions must align. shifts: {len(by)}, dims:0")
        return apply(ROLL, (input,), (by[0], None))
    along = dims if isinstance(dims, tuple | list) else (dims,)
    if len(by) != len(along):
        raise RuntimeError(
            f"shifts and dimensions must align. shifts: {len(by)}, dims:{len(along)}"
        )
    if not input._array.ndim:
        raise IndexError(f"Dimension specified as {along[0]} but tensor has no dimensions")
    axes = tuple([axis_of(dim, input._array.ndim) for dim in along])
    out = apply(ROLL, (input,), (by, axes))
    return out


@method()
def rot90(input: Tensor, k: int = 1, dims: Dims = (0, 1)) -> Tensor:
    """Rotate by 90 degrees ``k`` times, from the first of two dimensions to the second.

    >>> import numeric as torch
    >>> torch.rot90(torch.tensor([[1, 2]])).tolist()
    [[2], [1]]
    """
    n, pair = input._array.ndim, sizes_of((dims,))
    if len(pair) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(pair)}")
    if n < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {n}")
    if pair[0] == pair[1] or abs(pair[0] - pair[1]) == n:
        raise RuntimeError(
            f"expected rotation dims to be different, but got dim0 = {pair[0]} and dim1 = {pair[1]}"
        )
    for dim in pair:
        if not -n <= dim < n:
            raise RuntimeError(f"Rotation dim out of range, dim = {dim}")
    return apply(ROT90, (input,), (index(k) % 4, pair))


def _tiled(x: Tensor, counts: tuple[int, ...]) -> Tensor:
    if any(n < 0 for n in counts):
        raise RuntimeError(f"Trying to create tensor with negative dimension: {list(counts)}")
    return apply(REPEAT, (x,), (counts,))


@method()
def repeat(self: Tensor, *counts: SizeLike, repeats: SizeLike | None = None) -> Tensor:
    """Repeat the tensor a number of times along each dimension; new dimensions come first.

    >>> import numeric as torch
    >>> torch.tensor([1, 2]).repeat(2, 2).tolist()
    [[1, 2, 1, 2], [1, 2, 1, 2]]
    """
    counts = sizes_of(counts if repeats is None else (repeats,), "repeat", "repeats")
    if len(counts) < self._array.ndim:
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
            "tensor"
        )
    return _tiled(self, counts)


def tile(input: Tensor, dims: Dims) -> Tensor:
    """Repeat the tensor a number of times along each of the last dimensions.

    >>> import numeric as torch
    >>> torch.tile(torch.tensor([[1, 2]]), (2,)).tolist()
    [[1, 2, 1, 2]]
    """
    counts = sizes_of((dims if isinstance(dims, tuple | list) else (dims,),))
    return _tiled(input, (*[1] * (input._array.ndim - len(counts)), *counts))


@method("tile")
def _tile(self: Tensor, *counts: SizeLike, dims: Dims | None = None) -> Tensor:
    """Repeat the tensor; the numbers are separate arguments or one sequence."""
    return tile(self, sizes_of(counts if dims is None else (dims,), "tile", "dims"))


def _repeated(n: int, counts: np.ndarray) -> Tensor:
    """Return the places before ``n``, each repeated a number of times."""
    try:
        return wrap(np.repeat(np.arange(n), counts))
    except ValueError:
        raise RuntimeError("repeats can not be negative") from None


@method()
@by_axis
def repeat_interleave(
    input: Tensor,
    repeats: Tensor | SizeLike | None = None,
    dim: int | None = None,
    *,
    output_size: int | None = None,
) -> Tensor:
    """Repeat each element a number of times along a dimension; None is the flat order.

    For one tensor of numbers alone, repeat its places.

    >>> import numeric as torch
    >>> torch.repeat_interleave(torch.tensor([1, 2]), 2).tolist()
    [1, 1, 2, 2]
    """
    if repeats is None:
        return _repeated(input._array.size, values_of(input))
    if dim is None:
        input, dim = flatten(input), 0
    k = axis_of(dim, input._array.ndim)
    shape = input._array.shape
    counts = values_of(repeats) if isinstance(repeats, Tensor) else np.asarray(repeats)
    if counts.size == 1:
        n = int(counts.item())
        if n < 0:
            raise RuntimeError("repeats can not be negative")
        wide = unsqueeze(input, k + 1)
        wide = expand(wide, *shape[: k + 1], n, *shape[k + 1 :])
        return view(apply(CLONE, (wide,)), (*shape[:k], shape[k] * n, *shape[k + 1 :]))
    if counts.shape != (shape[k],):
        raise RuntimeError(
            "repeats must have the same size as input along dim, but got repeats.size(0) = "
            f"{counts.size} and input.size({k}) = {shape[k]}"
        )
    out: Tensor = input.index_select(k, _repeated(shape[k], counts))
    return out


# Triangles and diagonals ------------------------------------------------------------------------

TRIL = Op("tril", sd.tril, promotion=None)
TRIU = Op("triu", sd.triu, promotion=None)


def _triangle(op: Op, x: Tensor, diagonal: int) -> Tensor:
    if x._array.ndim < 2:
        raise RuntimeError(f"{op.name}: input tensor must have at least 2 dimensions")
    return apply(op, (x,), (index(diagonal),))


@method()
def tril(input: Tensor, diagonal: int = 0) -> Tensor:
    """Return the lower triangle up to a diagonal, with zeros above.

    >>> import numeric as torch
    >>> torch.tril(torch.tensor([[1, 2], [3, 4]])).tolist()
    [[1, 0], [3, 4]]
    """
    return _triangle(TRIL, input, diagonal)


@method()
def triu(input: Tensor, diagonal: int = 0) -> Tensor:
    """Return the upper triangle from a diagonal on, with zeros below.

    >>> import numeric as torch
    >>> torch.triu(torch.tensor([[1, 2], [3, 4]])).tolist()
    [[1, 2], [0, 4]]
    """
    return _triangle(TRIU, input, diagonal)


def _places(name: str, pair: tuple[np.ndarray, ...], dtype: DtypeLike) -> Tensor:
    kind = kind_of(name, dtype) or dtypes.int64.numpy
    if kind.kind != "i":
        raise TypeError(f"{name}(): places are integers, and dtype {dtypes.word(kind)} is none")
    return wrap(np.stack(pair).astype(kind))


def tril_indices(
    row: int,
    col: int,
    offset: int = 0,
    *,
    dtype: DtypeLike = None,
    device: DeviceLike = None,
) -> Tensor:
    """Return the places of the lower triangle of a matrix: rows, then columns.

    >>> import numeric as torch
    >>> torch.tril_indices(2, 2).tolist()
    [[0, 1, 1], [0, 0, 1]]
    """
    return _places("tril_indices", np.tril_indices(row, offset, col), dtype)


def triu_indices(
    row: int,
    col: int,
    offset: int = 0,
    *,
    dtype: DtypeLike = None,
    device: DeviceLike = None,
) -> Tensor:
    """Return the places of the upper triangle of a matrix: rows, then columns.

    >>> import numeric as torch
    >>> torch.triu_indices(2, 2).tolist()
    [[0, 0, 1], [0, 1, 1]]
    """
    return _places("triu_indices", np.triu_indices(row, offset, col), dtype)


def _diagonal_key(n: int, offset: int) -> tuple[EllipsisType | np.ndarray, ...]:
    places = np.arange(n)
    return ..., places + max(0, -offset), places + max(0, offset)


def _embedded(x: Any, offset: int, dim1: int, dim2: int) -> Expr:
    n, size = x.shape[-1], x.shape[-1] + abs(offset)
    square = sd.index_add(sd.zeros((*x.shape[:-1], size, size)), _diagonal_key(n, offset), x)
    return sd.moveaxis(square, (-2, -1), (dim1, dim2))


DIAG_EMBED = Op("diag_embed", _embedded, promotion=None, concrete=True)
DIAGONAL_COPY = Op(
    "diagonal_copy",
    sd.diagonal,
    lambda a, *where: np.diagonal(a, *where).copy(),
    promotion=None,
    label="DiagonalBackward0_copy",
)


@method()
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Return matrices with the last dimension on a diagonal and zeros elsewhere.

    >>> import numeric as torch
    >>> torch.diag_embed(torch.tensor([1, 2])).tolist()
    [[1, 0], [0, 2]]
    """
    if not input._array.ndim:
        raise RuntimeError("diag_embed: input tensor must have at least 1 dimension")
    n = input._array.ndim + 1
    i, j = axis_of(dim1, n), axis_of(dim2, n)
    if i == j:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return apply(DIAG_EMBED, (input,), (index(offset), i, j))


@method()
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """Return a copy of a matrix's diagonal, or the matrix with a vector on a diagonal.

    >>> import numeric as torch
    >>> torch.diag(torch.tensor([[1, 2], [3, 4]])).tolist()
    [1, 4]
    """
    n = input._array.ndim
    if n not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {n}D")
    if n == 1:
        return diag_embed(input, diagonal)
    return apply(DIAGONAL_COPY, (input,), (index(diagonal), 0, 1))


# Parts written over -----------------------------------------------------------------------------


def _written(name: str, viewed: Callable[..., np.ndarray]) -> Op:
    """Return an op on (x, src): ``src`` in the part ``viewed`` of x, and x elsewhere."""

    def build(x: Any, src: Expr, *params: Hashable) -> Expr:
        places = viewed(np.arange(int(np.prod(x.shape))).reshape(x.shape), *params)
        flat = sd.index_update(sd.reshape(x, -1), places.ravel(), sd.reshape(src, -1))
        return sd.reshape(flat, x.shape)

    def kernel(a: np.ndarray, src: np.ndarray, *params: Hashable) -> np.ndarray:
        out = np.array(a, order="C")
        viewed(out, *params)[...] = src
        return out

    return Op(name, build, kernel, promotion=None, concrete=True)


def _at_diagonal(a: np.ndarray, offset: int, dim1: int, dim2: int) -> np.ndarray:
    out = np.diagonal(a, offset, dim1, dim2)
    out.flags.writeable = True
    return out


SELECT_SCATTER = _written("select_scatter", lambda a, k, i: a[(*[_WHOLE] * k, i, ...)])
SLICE_SCATTER = _written("slice_scatter", lambda a, k, *s: a[(*[_WHOLE] * k, slice(*s))])
DIAGONAL_SCATTER = _written("diagonal_scatter", _at_diagonal)


def _replace(op: Op, x: Tensor, src: Tensor, part: Sequence[int], params: Params) -> Tensor:
    if tuple(part) != src._array.shape:
        raise RuntimeError(
            "expected src to have a size equal to the slice of self. src size = "
            f"{list(src._array.shape)}, slice size = {list(part)}"
        )
    return apply(op, (x, src), params)


@method()
@by_axis
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """Return ``input`` with ``src`` at a place of a dimension.

    >>> import numeric as torch
    >>> torch.select_scatter(torch.zeros(2, 2), torch.ones(2), 0, 1).tolist()
    [[0.0, 0.0], [1.0, 1.0]]
    """
    shape = input._array.shape
    k = axis_of(dim, len(shape))
    if not -shape[k] <= index < shape[k]:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(shape)} at dimension "
            f"{k}"
        )
    part = (*shape[:k], *shape[k + 1 :])
    return _replace(SELECT_SCATTER, input, src, part, (k, index % shape[k]))


@method()
@by_axis
def slice_scatter(
    input: Tensor,
    src: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Tensor:
    """Return ``input`` with ``src`` at every ``step``-th place from start to end.

    >>> import numeric as torch
    >>> torch.slice_scatter(torch.zeros(3), torch.ones(1), 0, 1, 2).tolist()
    [0.0, 1.0, 0.0]
    """
    shape = input._array.shape
    k = axis_of(dim, len(shape))
    if index(step) <= 0:
        raise RuntimeError("slice step must be positive")
    bounds = slice(start, end, step).indices(shape[k])
    part = (*shape[:k], len(range(*bounds)), *shape[k + 1 :])
    return _replace(SLICE_SCATTER, input, src, part, (k, *bounds))


@method()
def diagonal_scatter(
    input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Tensor:
    """Return ``input`` with ``src`` on a diagonal of two dimensions.

    >>> import numeric as torch
    >>> torch.diagonal_scatter(torch.zeros(2, 2), torch.ones(2)).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    n = input._array.ndim
    where = index(offset), axis_of(dim1, n), axis_of(dim2, n)
    if where[1] == where[2]:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    part = np.diagonal(input._array, *where).shape
    return _replace(DIAGONAL_SCATTER, input, src, part, where)
