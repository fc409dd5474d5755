"""Formulas of reads and writes at places, with the indices as an operand."""

from __future__ import annotations

from itertools import chain
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.eager.dtypes import word
from numeric.eager.operations import Op
from numeric.eager.recording import apply
from numeric.eager.tensor import Tensor, counter
from numeric.eager.traced_arrays import some
from numeric.modes import current
from numeric.ops.views import broadcast_to
from symdiff import functions as sd
from symdiff.calculus.flows import NONE, Flow
from symdiff.calculus.rules import pullback
from symdiff.errors import Unsupported
from symdiff.functions.indexing import taken
from symdiff.graph.leaves import dummy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from symdiff.graph.expr import Expr

_WHOLE = slice(None)


# Formulas ---------------------------------------------------------------------------------------
# ``index`` are places in the axes ``dims``, merged into one; its axes replace these in the result:
# where they are if they stand together, in front otherwise.


def _block(dims: Sequence[int]) -> int:
    """Return the position of the index's axes among the other axes."""
    return dims[0] if dims[-1] - dims[0] < len(dims) else 0


def _count(lengths: Sequence[Any]) -> int:
    if any(isinstance(n, str) for n in lengths):
        raise Unsupported("a product of lengths that are letters")
    return prod(lengths)


def _read(x: Expr, places: Expr, dims: tuple[int, ...]) -> Expr:
    rest = [k for k in range(x.ndim) if k not in dims]
    y = sd.permute_dims(x, (*dims, *rest))
    if len(dims) > 1:
        y = sd.reshape(y, (_count([x.shape[k] for k in dims]), *[x.shape[k] for k in rest]))
    y = taken(y, places, 0)
    n, first = places.ndim, _block(dims)
    others = range(n, y.ndim)
    return sd.permute_dims(y, (*others[:first], *range(n), *others[first:]))


def _spread(x: Expr, v: Expr, places: Expr, dims: tuple[int, ...], fit: str) -> Expr:
    """Return zeros of the shape of x with v added at the places: the transpose of reading."""
    t = dummy(x)
    y = _read(t, places, dims)
    (flow,) = pullback([y], [t], [Flow(1 * _fitted(v, y.shape, fit, sd), NONE)])
    return sd.zeros(x.shape) if flow is None else flow.expr


def _fitted(v: Any, shape: Any, fit: str, namespace: Any) -> Any:
    """Fit a value to places of this shape: broadcast it, or take a corner or its first elements."""
    if fit == "corner":
        return v[tuple([slice(n) for n in shape])] if v.shape != shape else v
    if fit == "first":
        return namespace.reshape(v, -1)[: _count(shape)]
    return namespace.broadcast_to(v, shape)


def merged_key(places: np.ndarray, shape: Sequence[int], dims: tuple[int, ...]) -> tuple[Any, ...]:
    """Return the merged index as a key for NumPy."""
    lengths = [shape[k] for k in dims]
    arrays = (places,) if len(dims) == 1 else np.unravel_index(places, lengths)
    key: list[slice | np.ndarray] = [_WHOLE] * (dims[-1] + 1)
    for k, array in zip(dims, arrays, strict=True):
        key[k] = array
    return tuple(key)


def read_kernel(a: np.ndarray, places: np.ndarray, dims: tuple[int, ...]) -> np.ndarray:
    """Compute the result of ``_read`` by NumPy's indexing.

    NumPy puts the dimension of the index first in memory, PyTorch does not move it.
    """
    return np.asarray(a[merged_key(places, a.shape, dims)], order="C")


def indexed_op(name: str, kernel: Callable[..., np.ndarray] | None = None, **options: Any) -> Op:
    """Return an op that reads: operands x and the index, parameter ``dims``."""
    return Op(name, _read, kernel, promotion=None, **options)


def writing_op(name: str, **options: Any) -> Op:
    """Return an op that writes: operands x, values, index, mask of writes; parameters dims, fit."""

    def build(x: Expr, v: Expr, places: Expr, inside: Expr, *params: Any) -> Expr:
        return sd.where(inside, _spread(x, v, places, *params), x)

    def kernel(
        a: np.ndarray,
        v: np.ndarray,
        places: np.ndarray,
        inside: np.ndarray,
        dims: tuple[int, ...],
        fit: str,
    ) -> np.ndarray:
        out, key = np.array(a), merged_key(places, a.shape, dims)
        out[key] = _fitted(v, part_shape(a, places, dims), fit, np)
        return out

    return Op(name, build, kernel, promotion=None, **options)


def adding_op(name: str, **options: Any) -> Op:
    """Return an op that adds: operands x, values, index; parameters dims, fit."""

    def build(x: Expr, v: Expr, places: Expr, *params: Any) -> Expr:
        return x + _spread(x, v, places, *params)

    def kernel(
        a: np.ndarray, v: np.ndarray, places: np.ndarray, dims: tuple[int, ...], fit: str
    ) -> np.ndarray:
        out = np.array(a)
        value = _fitted(v, part_shape(a, places, dims), fit, np)
        add = np.logical_or if a.dtype == bool else np.add
        add.at(out, merged_key(places, a.shape, dims), value)
        return out

    return Op(name, build, kernel, promotion=None, **options)


def filling_op(name: str, label: str) -> Op:
    """Return an op that fills where a mask holds: operands x, the mask and the value."""

    def build(x: Expr, mask: Expr, value: Expr) -> Expr:
        return sd.where(mask, value, x)

    return Op(name, build, promotion=None, label=label)


def part_shape(a: np.ndarray, places: np.ndarray, dims: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of the elements read at places.

    >>> part_shape(np.zeros((2, 3, 4)), np.zeros((5, 6)), (1,))
    (2, 5, 6, 4)
    """
    rest = [n for k, n in enumerate(a.shape) if k not in dims]
    first = _block(dims)
    return (*rest[:first], *places.shape, *rest[first:])


def _copied(a: np.ndarray, source: np.ndarray) -> np.ndarray:
    """Return the source in the dtype of ``a``, which the expression does not determine."""
    out = np.empty_like(a)
    np.copyto(out, source, casting="unsafe")
    return out


COPY = Op(
    "copy", lambda x, v: sd.broadcast_to(v, x.shape), _copied, promotion=None, label="CopyBackwards"
)
# By a number, and by a tensor of one element.
MASKED_FILLS, INDEX_FILLS = (
    [filling_op(name, f"{label}Backward{k}") for k in range(2)]
    for name, label in (("masked_fill", "MaskedFill"), ("index_fill", "IndexFill"))
)


# Arguments --------------------------------------------------------------------------------------


def flat_index(arrays: Mapping[int, np.ndarray], shape: Sequence[int]) -> np.ndarray:
    """Return indices of some axes as indices of the merged axis; always new memory.

    >>> flat_index({0: np.array([1]), 1: np.array([2])}, (2, 3)).tolist()
    [5]
    """
    first, *more = arrays.items()
    flat = first[1].astype(np.int64)
    for dim, places in more:
        flat = flat * shape[dim] + places
    return flat


def noted(arrays: dict[int, np.ndarray], dim: int, part: np.ndarray, shape: Sequence[int]) -> int:
    """Add an array of indices, or those of a mask, for a dimension; return the next dimension.

    Raises IndexError for a mask of another shape.

    >>> arrays = {}
    >>> noted(arrays, 0, np.array([True, False]), (2, 3)), arrays
    (1, {0: array([0])})
    """
    if part.dtype.kind != "b":
        arrays[dim] = part
        return dim + 1
    for k, n in enumerate(part.shape):
        if n != shape[dim + k]:
            raise IndexError(
                f"The shape of the mask {list(part.shape)} at index {k} does not match the shape "
                f"of the indexed tensor {list(shape)} at index {dim + k}"
            )
    arrays.update(zip(range(dim, dim + part.ndim), part.nonzero(), strict=True))
    return dim + part.ndim


def in_bounds(arrays: dict[int, np.ndarray], shape: Sequence[int]) -> dict[int, np.ndarray]:
    """Return the arrays, broadcast and not negative.

    Raises IndexError for indices out of bounds.

    >>> in_bounds({0: np.array([-1])}, (2, 3))
    {0: array([1])}
    """
    out = {}
    for dim, array in arrays.items():
        n = shape[dim]
        outside = (array < -n) | (array >= n)
        if some(outside):
            raise IndexError(
                f"index {array[outside].flat[0]} is out of bounds for dimension {dim} with size {n}"
            )
        out[dim] = np.where(array < 0, array + n, array).astype(np.int64)
    try:
        wide = np.broadcast_arrays(*out.values()) if len(out) > 1 else tuple(out.values())
    except ValueError:
        shapes = ", ".join(str(list(a.shape)) for a in arrays.values())
        raise IndexError(
            f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}"
        ) from None
    return dict(zip(out, wide, strict=True))


def same_dtype(x: Tensor, v: Tensor, text: str) -> None:
    """Raise RuntimeError with the names of both dtypes in ``text`` if they differ."""
    if x._array.dtype != v._array.dtype:
        raise RuntimeError(text.format(word(x._array.dtype), word(v._array.dtype)))


def is_recorded(*operands: Tensor) -> bool:
    """Whether an operation on the operands is recorded, or its formula is needed."""
    mode = current()
    return mode.tracing is not None or (mode.grad and any(x._rg for x in operands))


def read_flat(op: Op, x: Tensor, flat: np.ndarray) -> Tensor:
    """Return the elements at places in C order."""
    dims = tuple(range(x._array.ndim))
    if not dims:
        x, dims = x.reshape(1), (0,)
    return apply(op, (x, flat), (dims,))


def written(
    op: Op, x: Tensor, v: Tensor, flat: np.ndarray, dims: tuple[int, ...], fit: str = "broadcast"
) -> Tensor:
    """Return ``x`` with ``v`` at places; only the last of repeated places counts."""
    inside = np.zeros(x._array.shape, dtype=bool)
    if is_recorded(x, v):
        inside[merged_key(flat, x._array.shape, dims)] = True
        if v._rg:
            v, fit = _last_ones(x, v, flat, dims, fit)
    return apply(op, (x, v, flat, inside), (dims, fit))


def _last_ones(
    x: Tensor, v: Tensor, flat: np.ndarray, dims: tuple[int, ...], fit: str
) -> tuple[Tensor, str]:
    """Return the values, with zeros where a later value has the same place."""
    places = flat.ravel()
    _, last = np.unique(places[::-1], return_index=True)
    if len(last) == len(places):
        return v, fit
    lost = np.ones(flat.shape, dtype=bool)
    lost.reshape(-1)[len(places) - 1 - last] = False
    shape = part_shape(x._array, flat, dims)
    after = len(shape) - flat.ndim - _block(dims)
    mask = lost.reshape(lost.shape + (1,) * after)
    if fit == "corner":
        v = v.__getitem__(tuple([slice(n) for n in shape]))
    elif fit == "first":
        v = v.reshape(-1)[: prod(shape)]
    else:
        v = broadcast_to(v, shape)
    return apply(MASKED_FILLS[0], (v, mask, 0)), "broadcast"


def added(
    op: Op, x: Tensor, v: Tensor, flat: np.ndarray, dims: tuple[int, ...], fit: str
) -> Tensor:
    """Return ``x`` with ``v`` added at places."""
    return apply(op, (x, v, flat), (dims, fit))


def watched(out: Tensor, at: Iterable[object]) -> Tensor:
    """Return ``out``, whose record checks index Tensors among ``at`` for changes in place."""
    node = out._edge
    if out._rg and getattr(node, "saved", None):
        pairs = [(v, v[0]) for v in (counter(x) for x in at if isinstance(x, Tensor))]
        node.check += tuple(chain.from_iterable(pairs))
    return out
