"""Views of parts: slices, ranges, diagonals and windows along dimensions."""

from __future__ import annotations

from functools import lru_cache
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from numeric.eager.operations import Op
from numeric.eager.recording import apply, apply_several
from numeric.eager.tensor import Tensor, method, values_of
from numeric.ops.dim_arguments import axis_of, by_axis, sizes_of
from numeric.ops.views import view, viewing
from symdiff import functions as sd

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numeric.types import Params, SizeLike
    from symdiff.graph.expr import Expr

__all__ = [
    "chunk",
    "diagonal",
    "narrow",
    "select",
    "split",
    "tensor_split",
    "unbind",
]

_WHOLE = slice(None)


# What views compute -----------------------------------------------------------------------------


def _key(place: int, item: slice | int) -> tuple[slice | int, ...]:
    return (*[_WHOLE] * place, item)


def _writeable(view: np.ndarray, of: np.ndarray) -> np.ndarray:
    """Return a writeable form of a view that NumPy marks read-only without need."""
    if of.flags.writeable:
        view.flags.writeable = True
    return view


def _windows(a: np.ndarray, dim: int, size: int, step: int) -> np.ndarray:
    wide = sliding_window_view(a, size, dim, writeable=a.flags.writeable)
    return wide[(*_key(dim, slice(None, None, step)), ...)]


def _windows_formula(x: Any, dim: int, size: int, step: int) -> Expr:
    starts = np.arange(0, x.shape[dim] - size + 1, step)
    return sd.moveaxis(sd.take(x, starts[:, None] + np.arange(size), axis=dim), dim + 1, -1)


SELECT = viewing(
    "select",
    lambda x, dim, i: x[_key(dim, i)],
    lambda a, dim, i: a[(*_key(dim, i), ...)],
    concrete=True,
)
SLICE = viewing(
    "slice",
    lambda x, dim, *bounds: x[_key(dim, slice(*bounds))],
    lambda a, dim, *bounds: a[_key(dim, slice(*bounds))],
    concrete=True,
)
DIAGONAL = viewing(
    "diagonal",
    sd.diagonal,
    lambda a, offset, dim1, dim2: _writeable(np.diagonal(a, offset, dim1, dim2), a),
)
UNFOLD = viewing("unfold", _windows_formula, _windows, concrete=True)


@lru_cache(maxsize=256)
def _cutting(name: str, outputs: int) -> Op:
    """Return parts along a dimension, from their starts and stops."""

    def parts(x: Any, dim: int, bounds: Sequence[tuple[int, int]]) -> Any:
        out = tuple([x[_key(dim, slice(*pair))] for pair in bounds])
        return out if outputs > 1 else out[0]

    origin = _cutting, (name, outputs)
    return viewing(name, parts, parts, outputs=outputs, concrete=True, origin=origin)


@lru_cache(maxsize=256)
def _unbinding(outputs: int) -> Op:
    def parts(x: Any, dim: int) -> Any:
        out = tuple([x[(*_key(dim, i), ...)] for i in range(outputs)])
        return out if outputs > 1 else out[0]

    origin = _unbinding, (outputs,)
    return viewing("unbind", parts, parts, outputs=outputs, concrete=True, origin=origin)


def _several(op: Op, x: Tensor, params: Params) -> tuple[Tensor, ...]:
    """Return the results of a view with several, which forbid changes in place."""
    one = op.outputs == 1
    outs = (apply(op, (x,), params),) if one else apply_several(op, (x,), params)
    for out in outs:
        out._origin = out._origin or op.node.__name__.removesuffix("Backward0")
    return outs


# Parts ------------------------------------------------------------------------------------------


@method()
@by_axis
def select(input: Tensor, dim: int, index: int) -> Tensor:
    """Return the slice at a place of a dimension, without that dimension.

    Raises IndexError for a place out of range.

    >>> import numeric as torch
    >>> torch.select(torch.zeros(2, 3), 1, -1).shape
    torch.Size([2])
    """
    shape = input._array.shape
    if not shape:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    k, i = axis_of(dim, len(shape)), int(index)
    if not -shape[k] <= i < shape[k]:
        raise IndexError(
            f"select(): index {i} out of range for tensor of size {list(shape)} at dimension {k}"
        )
    return apply(SELECT, (input,), (k, i % shape[k]))


@method()
@by_axis
def narrow(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """Return ``length`` places of a dimension from ``start`` on.

    >>> import numeric as torch
    >>> torch.narrow(torch.zeros(2, 5), 1, 1, 3).shape
    torch.Size([2, 3])
    """
    shape = input._array.shape
    if not shape:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    k, first, count = axis_of(dim, len(shape)), index(start), index(length)
    n = shape[k]
    if count < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if not -n <= first <= n:
        raise IndexError(
            f"start out of range (expected to be in range of [{-n}, {n}], but got {first})"
        )
    first += n if first < 0 else 0
    if first + count > n:
        raise RuntimeError(f"start ({first}) + length ({count}) exceeds dimension size ({n}).")
    return apply(SLICE, (input,), (k, first, first + count, 1))


@method()
@by_axis
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Return the slices at all places of a dimension.

    >>> import numeric as torch
    >>> [x.shape for x in torch.unbind(torch.zeros(2, 3))]
    [torch.Size([3]), torch.Size([3])]
    """
    shape = input._array.shape
    if not shape:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    k = axis_of(dim, len(shape))
    return _several(_unbinding(shape[k]), input, (k,)) if shape[k] else ()


def _cut(name: str, x: Tensor, k: int, lengths: Sequence[int]) -> tuple[Tensor, ...]:
    stops = np.cumsum(lengths, dtype=np.int64).tolist()
    bounds = tuple(zip([0, *stops[:-1]], stops, strict=True))
    return _several(_cutting(name, len(bounds)), x, (k, bounds)) if bounds else ()


_MOST_PARTS = 1_000_000


def _check_parts(name: str, argument: str, n: int) -> None:
    """Raise for an implausible number of parts: each is a Tensor, and most would be empty."""
    if n > _MOST_PARTS:
        raise ValueError(
            f"{name}(): argument '{argument}' (position 2) is {n}; at most {_MOST_PARTS} parts are "
            "made"
        )


def _length(name: str, x: Tensor, dim: int) -> tuple[int, int]:
    if not x._array.ndim:
        raise RuntimeError(f"{name} expects at least a 1-dimensional tensor")
    k = axis_of(dim, x._array.ndim)
    return k, x._array.shape[k]


@method()
@by_axis
def split(
    tensor: Tensor,
    split_size_or_sections: SizeLike | None = None,
    dim: int = 0,
    *,
    split_size: SizeLike | None = None,
) -> tuple[Tensor, ...]:
    """Split a dimension into parts of one length (the last may be shorter) or of given lengths.

    >>> import numeric as torch
    >>> [x.shape for x in torch.split(torch.zeros(5), 2)]
    [torch.Size([2]), torch.Size([2]), torch.Size([1])]
    """
    if split_size is not None:
        split_size_or_sections = split_size
    k, n = _length("split", tensor, dim)
    if isinstance(split_size_or_sections, tuple | list):
        lengths = sizes_of((split_size_or_sections,))
        if any(m < 0 for m in lengths) or sum(lengths) != n:
            raise RuntimeError(
                f"split_with_sizes expects split_sizes to sum exactly to {n} (input tensor's size "
                f"at dimension {k}), but got split_sizes={list(lengths)}"
            )
        return _cut("split_with_sizes", tensor, k, lengths)
    if split_size_or_sections is None:
        raise TypeError('split() missing 1 required positional arguments: "split_size"')
    size = index(split_size_or_sections)  # type: ignore[arg-type]  # else a TypeError
    if size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}")
    if not size and n:
        raise RuntimeError(
            f"split_size can only be 0 if dimension size is 0, but got dimension size of {n}"
        )
    if not n:
        return _cut("split", tensor, k, [0])
    return _cut("split", tensor, k, [min(size, n - i) for i in range(0, n, size)])


@method()
@by_axis
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Split a dimension into at most ``chunks`` parts, equal except for the last.

    >>> import numeric as torch
    >>> [x.shape for x in torch.chunk(torch.zeros(5), 3)]
    [torch.Size([2]), torch.Size([2]), torch.Size([1])]
    """
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    k, n = _length("chunk", input, dim)
    if not n:
        _check_parts("chunk", "chunks", chunks)
        return _cut("split_with_sizes", input, k, [0] * chunks)
    return split(input, -(-n // chunks), k)


@method()
@by_axis
def tensor_split(
    input: Tensor, indices_or_sections: Tensor | SizeLike, dim: int = 0
) -> tuple[Tensor, ...]:
    """Split a dimension into a number of parts, the first ones longer by one, or at places.

    >>> import numeric as torch
    >>> [x.shape for x in torch.tensor_split(torch.zeros(5), 2)]
    [torch.Size([3]), torch.Size([2])]
    """
    k, n = _length("tensor_split", input, dim)
    if isinstance(indices_or_sections, Tensor):
        if indices_or_sections._array.dtype.kind not in "iu":
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to be of integers, got "
                f"{indices_or_sections.dtype}"
            )
        indices_or_sections = values_of(indices_or_sections).tolist()
    if isinstance(indices_or_sections, tuple | list):
        places = [*indices_or_sections]
    else:
        sections = index(indices_or_sections)  # type: ignore[arg-type]  # else a TypeError
        if sections <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {sections}")
        _check_parts("tensor_split", "indices_or_sections", sections)
        each, more = divmod(n, sections)
        places = [i * each + min(i, more) for i in range(1, sections)]
    bounds = zip([0, *places], [*places, n], strict=True)
    cuts = [slice(*pair).indices(n) for pair in bounds]
    return tuple(
        [apply(SLICE, (input,), (k, start, max(start, stop), 1)) for start, stop, _ in cuts]
    )


@method()
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """Return a view of a diagonal of two dimensions, which becomes the last dimension.

    >>> import numeric as torch
    >>> torch.diagonal(torch.zeros(2, 3), 1).shape
    torch.Size([2])
    """
    n = input._array.ndim
    i, j = axis_of(dim1, n), axis_of(dim2, n)
    if i == j:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return apply(DIAGONAL, (input,), (index(offset), i, j))


@method()
def unfold(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Return all windows of ``size`` places, every ``step``-th, in a new last dimension.

    >>> import numeric as torch
    >>> torch.zeros(7).unfold(0, 3, 2).shape
    torch.Size([3, 3])
    """
    shape = self._array.shape or (1,)
    k, size, step = axis_of(dimension, len(shape)), index(size), index(step)
    if size > shape[k]:
        raise RuntimeError(
            f"maximum size for tensor at dimension {k} is {shape[k]} but size is {size}"
        )
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if not self._array.ndim:
        return view(self, 1) if size else view(self, 1)[:0]
    return apply(UNFOLD, (self,), (k, size, step))
