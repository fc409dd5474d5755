"""Read and write elements at Tensors of indices and masks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.eager.dtypes import can_cast, constant, word
from numeric.eager.inplace import inplace, write
from numeric.eager.operations import Op
from numeric.eager.recording import apply, cast
from numeric.eager.tensor import Tensor, attach, method, values_of, wrap
from numeric.eager.traced_arrays import Shadow, some
from numeric.ops.arithmetic import remainder
from numeric.ops.dim_arguments import axis_of, by_axis
from numeric.ops.index_formulas import (
    COPY,
    INDEX_FILLS,
    MASKED_FILLS,
    added,
    adding_op,
    filling_op,
    flat_index,
    in_bounds,
    indexed_op,
    is_recorded,
    noted,
    part_shape,
    read_flat,
    read_kernel,
    same_dtype,
    watched,
    writing_op,
    written,
)
from numeric.ops.views import common_shape, expand

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numeric.eager.types import Operand


__all__ = [
    "argwhere",
    "gather",
    "index_add",
    "index_copy",
    "index_fill",
    "index_put",
    "index_select",
    "masked_fill",
    "masked_scatter",
    "masked_select",
    "nonzero",
    "scatter",
    "scatter_add",
    "take",
    "take_along_dim",
]

INDEX_SELECT = indexed_op("index_select", read_kernel)
GATHER, TAKE, MASKED_SELECT = (
    indexed_op(name, holds=(0,)) for name in ("gather", "take", "masked_select")
)
INDEX_PUT, INDEX_COPY, SCATTER, MASKED_SCATTER = map(
    writing_op, ("index_put", "index_copy", "scatter", "masked_scatter")
)
INDEX_PUT_ADD = adding_op("index_put", variant="added")
INDEX_ADD, SCATTER_ADD = map(adding_op, ("index_add", "scatter_add"))
SCATTER_NUMBER = filling_op("scatter_number", "ScatterBackward1")


# Arguments --------------------------------------------------------------------------------------


def _along(places: np.ndarray, dim: int, shape: Sequence[int]) -> np.ndarray:
    """Return flat places: ``places`` along a dimension, and each element's own place otherwise."""
    grid = np.ogrid[tuple([slice(n) for n in places.shape])]
    return flat_index({k: places if k == dim else grid[k] for k in range(len(shape))}, shape)


def _in_range(
    places: np.ndarray, n: int, dim: int, error: type[Exception], start: str = ""
) -> None:
    outside = (places < 0) | (places >= n)
    if some(outside):
        raise error(
            f"{start}index {places[outside].flat[0]} is out of bounds for dimension {dim} with "
            f"size {n}"
        )


def _integers(name: str, x: Tensor, wide: bool = False) -> np.ndarray:
    if x._array.dtype.name not in ("int64", "int32"):
        kinds = "int32 or int64" if wide else "int32/int64"
        raise RuntimeError(f"{name}(): Expected dtype {kinds} for index")
    return values_of(x)


# Copies -----------------------------------------------------------------------------------------


@method()
def copy_(self: Tensor, src: Operand, non_blocking: bool = False) -> Tensor:
    """Write ``src``, broadcast and converted to this dtype, into the tensor.

    >>> import numeric as torch
    >>> torch.zeros(2).copy_(torch.tensor([1, 2])).tolist()
    [1.0, 2.0]
    """
    source = src if isinstance(src, Tensor) else wrap(np.asarray(constant(src)))
    shape = self._array.shape
    if common_shape(shape, source._array.shape) != shape:
        raise RuntimeError(
            f"output with shape {list(shape)} doesn't match the broadcast shape "
            f"{list(common_shape(shape, source._array.shape))}"
        )
    return write(self, lambda old: apply(COPY, (old, source)), "copy_")


# Masks ------------------------------------------------------------------------------------------


def _mask(name: str, mask: Tensor) -> np.ndarray:
    if mask._array.dtype != bool:
        raise RuntimeError(
            f"{name} only supports boolean masks, but got mask with dtype {mask.dtype.name}"
        )
    return values_of(mask)


def _value(name: str, value: Operand | None, kind: np.dtype) -> Operand | None:
    """Return the value that elements of dtype ``kind`` at some places get."""
    array = value._array if isinstance(value, Tensor) else value
    if isinstance(array, np.ndarray | Shadow) and array.ndim:
        raise RuntimeError(
            f"{name} only supports a 0-dimensional value tensor, but got tensor with "
            f"{array.ndim} dimension(s)."
        )
    if isinstance(value, Tensor):
        return value if value._array.dtype is kind else cast(value, kind)
    value = constant(value)
    return value if kind.kind == "f" else np.asarray(value).astype(kind).item()


@method()
def masked_fill(input: Tensor, mask: Tensor, value: Operand) -> Tensor:
    """Return ``input`` with one value where the mask holds.

    >>> import numeric as torch
    >>> torch.masked_fill(torch.tensor([1.0, 2.0]), torch.tensor([True, False]), 0).tolist()
    [0.0, 2.0]
    """
    _mask("masked_fill_", mask)
    op = MASKED_FILLS[isinstance(value, Tensor)]
    common_shape(input._array.shape, mask._array.shape)
    return apply(op, (input, mask, _value("masked_fill_", value, input._array.dtype)))


@method()
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """Return the elements where the mask holds, in C order.

    >>> import numeric as torch
    >>> torch.masked_select(torch.tensor([1.0, 2.0]), torch.tensor([True, False])).tolist()
    [1.0]
    """
    if mask._array.dtype != bool:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    shape = common_shape(input._array.shape, mask._array.shape)
    if input._array.shape != shape:
        input = expand(input, *shape)
    flat = np.broadcast_to(values_of(mask), shape).ravel().nonzero()[0]
    return watched(read_flat(MASKED_SELECT, input, flat), [mask])


@method()
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """Return ``input`` with the first elements of ``source`` where the mask holds.

    >>> import numeric as torch
    >>> mask = torch.tensor([False, True])
    >>> torch.masked_scatter(torch.zeros(2), mask, torch.ones(2)).tolist()
    [0.0, 1.0]
    """
    text = "masked_scatter: expected self and source to have same dtypes but got{} and {}"
    same_dtype(input, source, text)
    chosen = _mask("masked_scatter_", mask)
    shape = common_shape(input._array.shape, chosen.shape)
    if input._array.shape != shape:
        input = expand(input, *shape)
    flat = np.broadcast_to(chosen, shape).ravel().nonzero()[0]
    if flat.size > source._array.size:
        raise RuntimeError("Number of elements of source < number of ones in mask")
    if not shape:
        input = input.reshape(1)
    dims = tuple(range(input._array.ndim))
    out = watched(written(MASKED_SCATTER, input, source, flat, dims, "first"), [mask])
    return out if shape else out.reshape(())


@method()
def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """Return the places of elements other than zero: a row each, or a vector per dimension.

    >>> import numeric as torch
    >>> torch.nonzero(torch.tensor([0, 5, 6])).tolist()
    [[1], [2]]
    """
    if as_tuple:
        indices = np.atleast_1d(values_of(input)).nonzero()
        return tuple([wrap(np.ascontiguousarray(i)) for i in indices])
    if not input._array.ndim:
        return wrap(np.zeros((int(values_of(input).item() != 0), 0), dtype=np.int64))
    return wrap(np.argwhere(values_of(input)).astype(np.int64))


@method()
def argwhere(input: Tensor) -> Tensor:
    """Return the places of elements other than zero, a row each.

    >>> import numeric as torch
    >>> torch.argwhere(torch.tensor([0, 5])).tolist()
    [[1]]
    """
    out: Tensor = nonzero(input)
    return out


# Along a dimension ------------------------------------------------------------------------------


def _vector(name: str, at: Tensor) -> np.ndarray:
    if at._array.ndim > 1:
        raise IndexError(f"{name}(): Index is supposed to be a vector")
    return _integers(name, at, wide=True).reshape(-1)


@method()
@by_axis
def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """Return the slices of a dimension at a vector of indices.

    >>> import numeric as torch
    >>> torch.index_select(torch.tensor([5.0, 6.0]), 0, torch.tensor([1, 1])).tolist()
    [6.0, 6.0]
    """
    shape = input._array.shape
    k, places = axis_of(dim, len(shape)), _vector("index_select", index)
    n = shape[k] if shape else 1
    wrong = (places < 0) | (places >= n)
    if some(wrong):
        raise IndexError(
            f"index out of range in self: {places[wrong][0]} for dimension {k} with size {n}"
        )
    if not shape:
        return input.reshape(1).index_select(0, index).reshape(())
    operand = index if index._array.ndim else places.copy()
    return apply(INDEX_SELECT, (input, operand), ((k,),))


def _check_source(name: str, x: Tensor, k: int, at: np.ndarray, source: Tensor) -> None:
    shape, given = x._array.shape, source._array.shape
    n = given[k] if given else 1
    if n != at.size:
        error, colon = (RuntimeError, ":") if name == "index_add_" else (IndexError, "")
        raise error(
            f"{name}(): Number of indices ({at.size}) should be equal to source.size(dim)"
            f"{colon} ({n})" + (f", for dim: {k}" if colon else "")
        )
    if (*shape[:k], *shape[k + 1 :]) != (*given[:k], *given[k + 1 :]):
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. "
            f"Got self.shape = {list(shape)} source.shape = {list(given)}"
        )


@method()
@by_axis
def index_add(
    input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: float = 1
) -> Tensor:
    """Return ``input`` with ``alpha * source`` added at places of a dimension.

    >>> import numeric as torch
    >>> torch.index_add(torch.zeros(2), 0, torch.tensor([1, 1]), torch.ones(2)).tolist()
    [0.0, 2.0]
    """
    if not input._array.ndim:
        return index_add(input.reshape(1), dim, index, source.reshape(1), alpha=alpha).reshape(())
    k, places = axis_of(dim, input._array.ndim), _vector("index_add", index)
    text = "index_add_(): self ({}) and source ({}) must have the same scalar type"
    same_dtype(input, source, text)
    _check_source("index_add_", input, k, places, source)
    _in_range(places, input._array.shape[k], k, RuntimeError)
    if isinstance(alpha, float) and source._array.dtype.kind != "f":
        alpha = int(alpha)  # as the elements are integers
    if alpha != 1:
        source = source * alpha
    out = apply(INDEX_ADD, (input, source, places.copy()), ((k,), "broadcast"))
    return watched(out, [index])


@method()
@by_axis
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """Return ``input`` with ``source`` written to places of a dimension.

    >>> import numeric as torch
    >>> torch.index_copy(torch.zeros(2), 0, torch.tensor([1]), torch.ones(1)).tolist()
    [0.0, 1.0]
    """
    if not input._array.ndim:
        return index_copy(input.reshape(1), dim, index, source.reshape(1)).reshape(())
    k, places = axis_of(dim, input._array.ndim), _vector("index_copy", index)
    text = (
        "index_copy_(): self and source expected to have the same dtype, but got (self) {} and "
        "(source) {}"
    )
    same_dtype(input, source, text)
    _check_source("index_copy_", input, k, places, source)
    _in_range(places, input._array.shape[k], k, IndexError, "index_copy_(): ")
    return watched(written(INDEX_COPY, input, source, places.copy(), (k,)), [index])


@method()
@by_axis
def index_fill(input: Tensor, dim: int, index: Tensor, value: Operand) -> Tensor:
    """Return ``input`` with one value at places of a dimension.

    >>> import numeric as torch
    >>> torch.index_fill(torch.zeros(2), 0, torch.tensor([1]), 5).tolist()
    [0.0, 5.0]
    """
    if not input._array.ndim:
        return index_fill(input.reshape(1), dim, index, value).reshape(())
    k, places = axis_of(dim, input._array.ndim), _vector("index_fill", index)
    n = input._array.shape[k]
    _in_range(np.where(places < 0, places + n, places), n, k, IndexError)
    inside = np.zeros(input._array.shape, dtype=bool)
    np.moveaxis(inside, k, 0)[places] = True
    op = INDEX_FILLS[isinstance(value, Tensor)]
    return watched(
        apply(op, (input, inside, _value("index_fill_", value, input._array.dtype))), [index]
    )


# Element by element -----------------------------------------------------------------------------


@method()
@by_axis
def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """Return for each index the element there along a dimension, at its own place otherwise.

    >>> import numeric as torch
    >>> x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> torch.gather(x, 1, torch.tensor([[1], [0]])).tolist()
    [[2.0], [3.0]]
    """
    shape = input._array.shape
    k = axis_of(dim, len(shape))
    if not index._array.size:  # nothing is read, whatever its axes and dtype are
        return read_flat(GATHER, input, np.zeros(index._array.shape, np.int64))
    places = _integers("gather", index)
    if max(places.ndim, 1) != max(len(shape), 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    if not (shape and places.ndim):  # a tensor without axes counts as a vector
        out: Tensor = gather(input.reshape(-1), 0, index.reshape(-1)).reshape(places.shape)
        return out
    for i, (m, n) in enumerate(zip(places.shape, shape, strict=True)):
        if m > n and i != k:
            raise RuntimeError(
                f"Size does not match at dimension {i} expected index {list(places.shape)} to be "
                f"no larger than self {list(shape)} apart from dimension {k}"
            )
    _in_range(places, shape[k], k, RuntimeError)
    return watched(read_flat(GATHER, input, _along(places, k, shape)), [index])


def _scattered(
    name: str, op: Op, x: Tensor, dim: int, at: Tensor, src: Tensor
) -> tuple[int, np.ndarray]:
    """Return the dimension and the places, after all checks; a scalar counts as a vector."""
    shape = x._array.shape or (1,)
    k, places = axis_of(dim, x._array.ndim), np.atleast_1d(_integers("scatter", at))
    same_dtype(x, src, "scatter(): Expected self.dtype to be equal to src.dtype")
    for other, what in ((x, "self"), (src, "src")):
        if max(other._array.ndim, 1) != places.ndim:
            raise RuntimeError(
                f"Index tensor must have the same number of dimensions as {what} tensor"
            )
    if any(
        (m > n and i != k) or m > s
        for i, (m, n, s) in enumerate(
            zip(places.shape, shape, src._array.shape or (1,), strict=True)
        )
    ):
        raise RuntimeError(
            f"Expected index {list(places.shape)} to be no larger than self {list(shape)} apart "
            f"from dimension {k} and to be no larger size than src {list(src._array.shape)}"
        )
    _in_range(places, shape[k], k, RuntimeError)
    return k, places


@method()
@by_axis
def scatter(
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Operand | None = None,
    *,
    value: Operand | None = None,
    reduce: str | None = None,
) -> Tensor:
    """Return ``input`` with ``src``, or one value, at the places ``index`` along a dimension.

    ``reduce`` is "add" or "multiply", to combine them with the present values.

    >>> import numeric as torch
    >>> torch.scatter(torch.zeros(3), 0, torch.tensor([2, 0]), torch.tensor([5.0, 6.0])).tolist()
    [6.0, 0.0, 5.0]
    """
    src = value if src is None else src
    if src is None:
        raise TypeError('scatter() missing 1 required positional arguments: "src"')
    if reduce is not None:
        return _reduced(input, dim, index, src, reduce)
    if not isinstance(src, Tensor):
        shape = input._array.shape
        like = wrap(np.broadcast_to(np.zeros((), input._array.dtype), index._array.shape))
        k, places = _scattered("scatter", SCATTER, input, dim, index, like)
        inside = np.zeros(shape, dtype=bool)
        inside.reshape(-1)[_along(places, k, shape) if shape else 0] = True
        return watched(
            apply(SCATTER_NUMBER, (input, inside, _value("scatter", src, input._array.dtype))),
            [index],
        )
    k, places = _scattered("scatter", SCATTER, input, dim, index, src)
    return watched(_elementwise(written, SCATTER, input, src, k, places), [index])


def _elementwise(
    how: Callable[..., Tensor], op: Op, x: Tensor, v: Tensor, k: int, places: np.ndarray
) -> Tensor:
    shape = x._array.shape
    if not shape:
        x = x.reshape(1)
    if not v._array.ndim:
        v = v.reshape(1)
    flat = _along(places, k, x._array.shape)
    out: Tensor = how(op, x, v, flat, tuple(range(x._array.ndim)), "corner")
    return out if shape else out.reshape(())


def _reduced(x: Tensor, dim: int, at: Tensor, src: Operand | None, how: str) -> Tensor:
    """Combine present and scattered values by + or *; not differentiable, as in PyTorch."""
    if how not in ("add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    if not isinstance(src, Tensor):
        src = _value("scatter", src, x._array.dtype)
        src = wrap(np.full(at._array.shape, src, x._array.dtype))
    if is_recorded(x, src):
        if how == "multiply":
            raise RuntimeError("scatter: reduce='multiply' is not differentiable")
        return scatter_add(x, dim, at, src)
    k, places = _scattered("scatter", SCATTER, x, dim, at, src)
    out: np.ndarray = np.array(x._array, order="C")
    corner = np.atleast_1d(src._array)[tuple([slice(n) for n in places.shape])]
    function = np.add if how == "add" else np.multiply
    function.at(out.reshape(-1), _along(places, k, out.shape or (1,)), corner)
    return wrap(out)


@method()
@by_axis
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """Return ``input`` with ``src`` added at the places ``index`` along a dimension.

    >>> import numeric as torch
    >>> torch.scatter_add(torch.zeros(2), 0, torch.tensor([1, 1]), torch.ones(2)).tolist()
    [0.0, 2.0]
    """
    k, places = _scattered("scatter_add", SCATTER_ADD, input, dim, index, src)
    return watched(_elementwise(added, SCATTER_ADD, input, src, k, places), [index])


@method()
def take(input: Tensor, index: Tensor) -> Tensor:
    """Return the elements at places in C order; negative places count from the end.

    >>> import numeric as torch
    >>> torch.take(torch.tensor([[1, 2], [3, 4]]), torch.tensor([0, -1])).tolist()
    [1, 4]
    """
    if index._array.dtype != np.int64:
        raise RuntimeError(
            f"take(): Expected a long tensor for index, but got {word(index._array.dtype)}"
        )
    places, n = values_of(index), input._array.size
    outside = (places < -n) | (places >= n)
    if some(outside):
        raise IndexError(
            f"out of range: tried to access index {places[outside].flat[0]} on a tensor of {n} "
            "elements."
        )
    flat = np.where(places < 0, places + n, places)
    return watched(read_flat(TAKE, input, flat), [index])


@method()
@by_axis
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """Gather with operands broadcast apart from the dimension; without one, from the flat input.

    With a dimension, indices out of range are taken modulo its length.

    >>> import numeric as torch
    >>> x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> torch.take_along_dim(x, torch.tensor([[1]]), 1).tolist()
    [[2.0], [4.0]]
    """
    if dim is None:
        return gather(input.reshape(-1), 0, indices.reshape(-1))
    a, b = input._array.shape, indices._array.shape
    if len(a) != len(b):
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, "
            f"but got {len(a)} dimensions for input, and {len(b)} dimensions for indices"
        )
    k = axis_of(dim, len(a))
    shape = list(common_shape((*a[:k], *a[k + 1 :]), (*b[:k], *b[k + 1 :])))
    wide = expand(input, [*shape[:k], a[k], *shape[k:]])
    places = expand(indices, [*shape[:k], b[k], *shape[k:]])
    if a[k]:
        places = remainder(places, a[k])
    return gather(wide, k, places)


# Arrays of indices ------------------------------------------------------------------------------


def _one_mask(indices: Iterable[object]) -> bool:
    """Whether the only index, besides slices and numbers, is one boolean array."""
    arrays = [i for i in indices if not (i is None or i is ... or isinstance(i, slice | int))]
    if len(arrays) != 1:
        return False
    mask = arrays[0]
    return (mask._array if isinstance(mask, Tensor) else np.asarray(mask)).dtype == np.bool_


def _put(
    x: Tensor,
    arrays: Mapping[int, np.ndarray],
    v: Tensor,
    accumulate: bool,
    indices: Iterable[object],
) -> Tensor:
    """Return ``x`` with values at places of the dimensions that ``arrays`` index."""
    shape, dims = x._array.shape, tuple(arrays)
    kind = x._array.dtype
    if v._array.dtype != kind and v._array.size == 1 and not accumulate and _one_mask(indices):
        v = cast(v, kind) if v._rg else wrap(values_of(v).astype(kind))  # fills, whatever the dtype
    if not v._array.ndim and not v._rg and can_cast(v.dtype, x.dtype):
        v = wrap(values_of(v).astype(x._array.dtype, copy=False))
    same_dtype(
        x,
        v,
        "Index put requires the source and destination dtypes match, got {} for the destination "
        "and {} for the source.",
    )
    flat = flat_index(arrays, shape)
    part = part_shape(x._array, flat, dims)
    try:
        fits = np.broadcast_shapes(v._array.shape, part) == part
    except ValueError:
        fits = False
    if not fits:
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(v._array.shape)} cannot be broadcast to "
            f"indexing result of shape {list(part)}"
        )
    if accumulate:
        return added(INDEX_PUT_ADD, x, v, flat, dims, "broadcast")
    return written(INDEX_PUT, x, v, flat, dims)


def put_at(x: Tensor, arrays: Mapping[int, np.ndarray], v: Tensor, at: Sequence[object]) -> None:
    """Write values in place at arrays of indices, which must be in bounds."""
    write(x, lambda old: watched(_put(old, arrays, v, False, at), at), "index_put_")


@method()
def index_put(
    input: Tensor, indices: Iterable[object], values: Tensor, accumulate: bool = False
) -> Tensor:
    """Return ``input`` with ``values`` at ``input[indices]``; ``accumulate`` adds them.

    >>> import numeric as torch
    >>> places = (torch.tensor([1, 1]),)
    >>> torch.index_put(torch.zeros(2), places, torch.ones(2), accumulate=True).tolist()
    [0.0, 2.0]
    """
    arrays: dict[int, np.ndarray] = {}
    dim, shape = 0, input._array.shape
    for k, x in enumerate(indices):
        if not isinstance(x, Tensor):
            raise TypeError(
                f"expected Tensor as element {k} in argument 0, but got {type(x).__name__}"
            )
        if not x._array.ndim and x._array.dtype == bool:
            raise IndexError(f"too many indices for tensor of dimension {len(shape)} (got {k + 1})")
        if dim + (x._array.ndim if x._array.dtype == bool else 1) > len(shape):
            raise IndexError(f"too many indices for tensor of dimension {len(shape)}")
        dim = noted(arrays, dim, values_of(x), shape)
    if not arrays:
        raise RuntimeError("index_put: needs at least one index")
    out = _put(input, in_bounds(arrays, shape), values, accumulate, indices)
    return watched(out, indices)


for _function in (
    masked_fill,
    masked_scatter,
    index_add,
    index_copy,
    index_fill,
    index_put,
    scatter,
    scatter_add,
):
    _inplace = inplace(_function)
    attach(_inplace.__name__, _inplace)
