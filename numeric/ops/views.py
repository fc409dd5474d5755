"""Views with other shapes of the same memory."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from numeric.eager.inplace import turn
from numeric.eager.operations import Op
from numeric.eager.recording import apply
from numeric.eager.tensor import Tensor, attach, method
from numeric.eager.traced_arrays import Shadow
from numeric.ops.dim_arguments import axes_of, axis_of, by_axis, sizes_of
from symdiff import functions as sd

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numeric.types import Dims, SizeLike
    from symdiff.graph.expr import Expr

    pass

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_tensors",
    "broadcast_to",
    "flatten",
    "meshgrid",
    "moveaxis",
    "movedim",
    "numel",
    "permute",
    "ravel",
    "reshape",
    "squeeze",
    "swapaxes",
    "swapdims",
    "t",
    "transpose",
    "unflatten",
    "unsqueeze",
]


# What views compute -----------------------------------------------------------------------------


def viewing(
    name: str,
    build: Callable[..., Expr | Sequence[Expr]],
    kernel: Callable[..., np.ndarray | Sequence[np.ndarray]],
    label: str | None = None,
    **options: Any,
) -> Op:
    """Return an op whose kernel returns views, for any dtype."""
    return Op(name, build, kernel, promotion=None, view=True, label=label, **options)


def _expanded(a: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    new = len(shape) - a.ndim
    steps = [
        0 if n == 1 and m != 1 else step
        for n, m, step in zip(a.shape, shape[new:], a.strides, strict=True)
    ]
    return as_strided(a, shape, (*[0] * new, *steps))


ALIAS = viewing("alias", lambda x: x, lambda a: a.view())
VIEW = viewing("view", sd.reshape, np.reshape, concrete=True)
CLONE = Op("clone", lambda x: x, lambda a: np.array(a, order="C"), promotion=None)
RESHAPE_ALIAS = viewing("reshape_alias", sd.reshape, np.reshape, concrete=True)
UNSAFE_VIEW = Op("unsafe_view", sd.reshape, np.reshape, promotion=None, concrete=True)
EXPAND = viewing("expand", sd.broadcast_to, _expanded, concrete=True)
UNSQUEEZE = viewing("unsqueeze", sd.expand_dims, np.expand_dims)
SQUEEZES = [
    viewing(f"squeeze_{k}", sd.squeeze, np.squeeze, f"SqueezeBackward{k}") for k in range(3)
]
T = viewing("t", lambda x: x if x.ndim < 2 else sd.matrix_transpose(x), np.transpose)
TRANSPOSE = viewing("transpose", sd.swapaxes, np.swapaxes)
PERMUTE = viewing("permute", sd.permute_dims, np.transpose)


# Shapes -----------------------------------------------------------------------------------------


def _completed(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    """Return ``shape`` with the length for -1, for a number of elements."""
    rest = prod([n for n in shape if n != -1])
    for k, n in enumerate(shape):
        if n < -1:
            raise RuntimeError(f"invalid shape dimension {n} at index {k} of shape {list(shape)}")
    if -1 in shape:
        if shape.count(-1) > 1:
            raise RuntimeError("only one dimension can be inferred")
        if size == 0 == rest:
            raise RuntimeError(
                f"cannot reshape tensor of 0 elements into shape {list(shape)} because the "
                "unspecified dimension size -1 can be any value and is ambiguous"
            )
        if rest and size % rest == 0:
            return tuple([size // rest if n == -1 else n for n in shape])
    elif rest == size:
        return shape
    raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {size}")


def _is_viewable(a: np.ndarray | Shadow, shape: tuple[int, ...]) -> bool:
    if isinstance(a, Shadow):
        a = a.layout
    return not a.size or np.may_share_memory(a.reshape(shape), a)


@method()
def view(self: Tensor, *shape: SizeLike, size: SizeLike | None = None) -> Tensor:
    """Return the same memory with another shape; one length may be -1.

    Raises RuntimeError if the numbers of elements differ, or a copy would be necessary.

    >>> import numeric as torch
    >>> torch.zeros(2, 3).view(3, -1).shape
    torch.Size([3, 2])
    """
    shape = shape if size is None else (size,)
    if not shape:
        raise TypeError("view() received an invalid combination of arguments - got ()")
    target = _completed(sizes_of(shape, "view"), self._array.size)
    if not _is_viewable(self._array, target):
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one "
            "dimension spans across two contiguous subspaces). Use .reshape(...) instead."
        )
    return apply(VIEW, (self,), (target,))


@method()
def view_as(self: Tensor, other: Tensor) -> Tensor:
    """Return the same memory with the shape of ``other``.

    >>> import numeric as torch
    >>> torch.zeros(2, 3).view_as(torch.zeros(6)).shape
    torch.Size([6])
    """
    return view(self, other._array.shape)


def _reshaped(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    target = _completed(shape, x._array.size)
    if x._array.flags.c_contiguous:
        op = VIEW
    elif _is_viewable(x._array, target):
        op = RESHAPE_ALIAS
    else:
        x, op = apply(CLONE, (x,)), UNSAFE_VIEW
    return apply(op, (x,), (target,))


def reshape(input: Tensor, shape: SizeLike) -> Tensor:
    """Return the elements in another shape: a view if possible.

    Raises RuntimeError if the numbers of elements differ.

    >>> import numeric as torch
    >>> torch.reshape(torch.zeros(2, 3), (-1,)).shape
    torch.Size([6])
    """
    return _reshaped(input, sizes_of((shape,)))


@method("reshape")
def _reshape(self: Tensor, *lengths: SizeLike, shape: SizeLike | None = None) -> Tensor:
    """Return the elements in another shape, given as lengths or one sequence."""
    lengths = lengths if shape is None else (shape,)
    if not lengths:
        raise TypeError('reshape() missing 1 required positional arguments: "shape"')
    return _reshaped(self, sizes_of(lengths, "reshape", "shape"))


@method()
def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """Return the elements in the shape of ``other``.

    >>> import numeric as torch
    >>> torch.zeros(2, 3).reshape_as(torch.zeros(6)).shape
    torch.Size([6])
    """
    return _reshaped(self, other._array.shape)


@method()
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Merge some dimensions into one; return the tensor itself if it is only one.

    >>> import numeric as torch
    >>> torch.flatten(torch.zeros(2, 3, 4), 1).shape
    torch.Size([2, 12])
    """
    shape = input._array.shape
    first, last = axis_of(start_dim, len(shape)), axis_of(end_dim, len(shape))
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if shape and first == last:
        return input
    middle = prod(shape[first : last + 1])
    return _reshaped(input, (*shape[:first], middle, *shape[last + 1 :]))


@method()
@by_axis
def unflatten(input: Tensor, dim: int, sizes: SizeLike) -> Tensor:
    """Split one dimension into several; one of the lengths may be -1.

    >>> import numeric as torch
    >>> torch.unflatten(torch.zeros(2, 6), 1, (3, -1)).shape
    torch.Size([2, 3, 2])
    """
    shape = input._array.shape
    k, parts = axis_of(dim, len(shape)), sizes_of((sizes,))
    try:
        parts = _completed(parts, shape[k])
    except RuntimeError:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(parts)} don't multiply up to the size of dim {k} "
            f"({shape[k]}) in the input tensor"
        ) from None
    return view(input, (*shape[:k], *parts, *shape[k + 1 :]))


@method()
def ravel(input: Tensor) -> Tensor:
    """Return all elements in one dimension.

    >>> import numeric as torch
    >>> torch.ravel(torch.zeros(2, 3)).shape
    torch.Size([6])
    """
    x, size = input, (input._array.size,)
    if not _is_viewable(x._array, size):
        x = apply(CLONE, (x,))
    return apply(VIEW, (x,), (size,))


@method()
@by_axis
def squeeze(input: Tensor, dim: Dims | None = None) -> Tensor:
    """Remove dimensions of length 1: all of them, or those among ``dim``.

    >>> import numeric as torch
    >>> torch.squeeze(torch.zeros(1, 3, 1)).shape, torch.squeeze(torch.zeros(1, 3, 1), 0).shape
    (torch.Size([3]), torch.Size([3, 1]))
    """
    kind, ones = _ones(input, dim)
    return apply(SQUEEZES[kind], (input,), (ones,))


def _ones(x: Tensor, dim: Dims | None) -> tuple[int, tuple[int, ...]]:
    """Return the form of the dimensions to squeeze, and those of them of length 1."""
    shape = x._array.shape
    axes = range(len(shape)) if dim is None else axes_of(dim, len(shape))
    kind = 0 if dim is None else 2 if isinstance(dim, tuple | list) else 1
    return kind, tuple([k for k in axes if k < len(shape) and shape[k] == 1])


@method()
@by_axis
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """Add a dimension of length 1 at place ``dim``.

    >>> import numeric as torch
    >>> torch.unsqueeze(torch.zeros(3), -1).shape
    torch.Size([3, 1])
    """
    return apply(UNSQUEEZE, (input,), (axis_of(dim, input._array.ndim + 1),))


@method()
def numel(input: Tensor) -> int:
    """Return the number of elements.

    >>> import numeric as torch
    >>> torch.numel(torch.zeros(2, 3))
    6
    """
    return input._array.size


# Repeated dimensions ----------------------------------------------------------------------------


def _stretched(x: Tensor, sizes: tuple[int, ...]) -> Tensor:
    shape = x._array.shape
    new = len(sizes) - len(shape)
    if new < 0:
        raise RuntimeError(
            f"expand(tensor of shape {list(shape)}, size={list(sizes)}): the number of sizes "
            f"provided ({len(sizes)}) must be greater or equal to the number of dimensions in the "
            f"tensor ({len(shape)})"
        )
    target = []
    for k, m in enumerate(sizes):
        n = shape[k - new] if k >= new else 1
        if m == -1 and k < new:
            raise RuntimeError(
                f"The expanded size of the tensor (-1) isn't allowed in a leading, non-existing "
                f"dimension {k}"
            )
        if m not in (-1, n) and n != 1:
            raise RuntimeError(
                f"The expanded size of the tensor ({m}) must match the existing size ({n}) at "
                f"non-singleton dimension {k}.  Target sizes: {list(sizes)}.  Tensor sizes: "
                f"{list(shape)}"
            )
        target.append(n if m == -1 else m)
    return apply(EXPAND, (x,), (tuple(target),))


@method()
def expand(self: Tensor, *sizes: SizeLike, size: SizeLike | None = None) -> Tensor:
    """Broadcast to lengths without new memory; -1 leaves a length, new dimensions come first.

    >>> import numeric as torch
    >>> torch.zeros(3, 1).expand(2, -1, 4).shape
    torch.Size([2, 3, 4])
    """
    return _stretched(self, sizes_of(sizes if size is None else (size,), "expand"))


@method()
def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """Broadcast to the shape of ``other``.

    >>> import numeric as torch
    >>> torch.zeros(3).expand_as(torch.zeros(2, 3)).shape
    torch.Size([2, 3])
    """
    return _stretched(self, other._array.shape)


@method()
def broadcast_to(input: Tensor, size: SizeLike) -> Tensor:
    """Broadcast to the shape ``size``.

    >>> import numeric as torch
    >>> torch.broadcast_to(torch.zeros(3), (2, 3)).shape
    torch.Size([2, 3])
    """
    return _stretched(input, sizes_of((size,)))


def common_shape(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the common shape of broadcasting.

    >>> common_shape((3,), (2, 1))
    (2, 3)
    """
    known: tuple[int, ...] = ()
    for shape in shapes:
        try:
            known = np.broadcast_shapes(known, shape)
        except ValueError:
            for i in range(1, min(len(known), len(shape)) + 1):
                if known[-i] != shape[-i] and 1 not in (known[-i], shape[-i]):
                    raise RuntimeError(
                        f"The size of tensor a ({known[-i]}) must match the size of tensor b "
                        f"({shape[-i]}) at non-singleton dimension "
                        f"{max(len(known), len(shape)) - i}"
                    ) from None
    return known


def broadcast_tensors(*tensors: Tensor | Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Broadcast all tensors to their common shape.

    >>> import numeric as torch
    >>> [x.shape for x in torch.broadcast_tensors(torch.zeros(3), torch.zeros(2, 1))]
    [torch.Size([2, 3]), torch.Size([2, 3])]
    """
    given = _listed("broadcast_tensors", tensors)
    shape = common_shape(*[x._array.shape for x in given])
    return tuple([x if x._array.shape == shape else _stretched(x, shape) for x in given])


def _listed(name: str, tensors: Sequence[Tensor | Sequence[Tensor]]) -> Sequence[Any]:
    """Return tensors that are separate arguments, or one sequence, as a list."""
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], tuple | list) else tensors
    for place, x in enumerate(given):
        if not isinstance(x, Tensor):
            raise TypeError(
                f"{name}(): argument 'tensors' must be tuple of Tensors, but found element of type "
                f"{type(x).__name__} at pos {place}"
            )
    return given


def meshgrid(*tensors: Tensor | Sequence[Tensor], indexing: str = "ij") -> tuple[Tensor, ...]:
    """Expand vectors along one dimension each of a grid; "xy" swaps the first two dimensions.

    >>> import numeric as torch
    >>> [x.shape for x in torch.meshgrid(torch.zeros(2), torch.zeros(3), indexing="xy")]
    [torch.Size([3, 2]), torch.Size([3, 2])]
    """
    given = list(_listed("meshgrid", tensors))
    if indexing not in ("ij", "xy"):
        raise RuntimeError(
            f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}'
        )
    for x in given:
        if x._array.ndim > 1:
            raise RuntimeError(
                f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {x!r}"
            )
    swapped = indexing == "xy" and len(given) > 1
    if swapped:
        given[:2] = given[1::-1]
    shape = [x._array.size for x in given]
    out = [
        _stretched(view(x, [-1 if i == k else 1 for i in range(len(given))]), tuple(shape))
        for k, x in enumerate(given)
    ]
    if swapped:
        out[:2] = out[1::-1]
    return tuple(out)


def _ranked(rank: int) -> Callable[[Sequence[Tensor | Sequence[Tensor]]], Any]:
    def ranked(tensors: Sequence[Tensor | Sequence[Tensor]]) -> Any:
        if len(tensors) == 1 and isinstance(tensors[0], Tensor):
            x = tensors[0]
            if not x._array.ndim:
                return view(x, [1] * rank)
            while x._array.ndim < rank:
                x = unsqueeze(x, -1 if x._array.ndim == 2 else 0)
            return x
        return tuple([ranked((x,)) for x in _listed(f"atleast_{rank}d", tensors)])

    return ranked


_ranked_1, _ranked_2, _ranked_3 = map(_ranked, (1, 2, 3))


def atleast_1d(*tensors: Tensor | Sequence[Tensor]) -> Any:
    """Return numbers as vectors of one element, other tensors as they are.

    >>> import numeric as torch
    >>> torch.atleast_1d(torch.zeros(())).shape
    torch.Size([1])
    """
    return _ranked_1(tensors)


def atleast_2d(*tensors: Tensor | Sequence[Tensor]) -> Any:
    """Return vectors as matrices of one row, other tensors of two or more dimensions as they are.

    >>> import numeric as torch
    >>> torch.atleast_2d(torch.zeros(3)).shape
    torch.Size([1, 3])
    """
    return _ranked_2(tensors)


def atleast_3d(*tensors: Tensor | Sequence[Tensor]) -> Any:
    """Return vectors and matrices with three dimensions, other tensors as they are.

    >>> import numeric as torch
    >>> torch.atleast_3d(torch.zeros(3)).shape
    torch.Size([1, 3, 1])
    """
    return _ranked_3(tensors)


# The order of dimensions ------------------------------------------------------------------------


@method()
def t(input: Tensor) -> Tensor:
    """Return the transpose of a matrix; a vector as it is.

    >>> import numeric as torch
    >>> torch.t(torch.zeros(2, 3)).shape
    torch.Size([3, 2])
    """
    if input._array.ndim > 2:
        raise RuntimeError(
            f"t() expects a tensor with <= 2 dimensions, but self is {input._array.ndim}D"
        )
    return apply(T, (input,))


@method("transpose", "swapaxes", "swapdims")
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Exchange two dimensions.

    >>> import numeric as torch
    >>> torch.transpose(torch.zeros(2, 3, 4), 0, 2).shape
    torch.Size([4, 3, 2])
    """
    n = input._array.ndim
    pair = axis_of(dim0, n), axis_of(dim1, n)
    if not n:
        return apply(ALIAS, (input,))
    return apply(TRANSPOSE, (input,), pair)


def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """Exchange two dimensions.

    >>> import numeric as torch
    >>> torch.swapaxes(torch.zeros(2, 3, 4), 0, 2).shape
    torch.Size([4, 3, 2])
    """
    return transpose(input, axis0, axis1)


def swapdims(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Exchange two dimensions.

    >>> import numeric as torch
    >>> torch.swapdims(torch.zeros(2, 3, 4), 0, 2).shape
    torch.Size([4, 3, 2])
    """
    return transpose(input, dim0, dim1)


def permute(input: Tensor, dims: Dims) -> Tensor:
    """Return the dimensions in another order.

    Raises RuntimeError unless each dimension is named once.

    >>> import numeric as torch
    >>> torch.permute(torch.zeros(2, 3, 4), (2, 0, 1)).shape
    torch.Size([4, 2, 3])
    """
    given, n = sizes_of((dims,)), input._array.ndim
    if len(given) != n:
        raise RuntimeError(
            "permute(): number of dimensions in the tensor input does not match the length of the "
            f"desired ordering of dimensions i.e. input.dim() = {n} is not equal to len(dims) = "
            f"{len(given)}"
        )
    axes = tuple([axis_of(dim, n) for dim in given])
    if len(set(axes)) < n:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return apply(PERMUTE, (input,), (axes,))


@method("permute")
def _permute(self: Tensor, *order: Dims, dims: Dims | None = None) -> Tensor:
    """Return the dimensions in another order, as arguments or one sequence."""
    order = order if dims is None else (dims,)
    if not order:
        raise TypeError('permute() missing 1 required positional arguments: "dims"')
    return permute(self, sizes_of(order, "permute", "dims"))


@method("movedim", "moveaxis")
def movedim(input: Tensor, source: Dims, destination: Dims) -> Tensor:
    """Move dimensions to other places; the rest stay in order.

    >>> import numeric as torch
    >>> torch.movedim(torch.zeros(2, 3, 4), 0, -1).shape
    torch.Size([3, 4, 2])
    """
    n = input._array.ndim
    places = []
    for name, dims in (("source", source), ("destination", destination)):
        axes = [
            axis_of(dim, n)
            for dim in sizes_of((dims if isinstance(dims, tuple | list) else (dims,),))
        ]
        if len(set(axes)) < len(axes):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({axes})")
        places.append(axes)
    before, after = places
    if len(before) != len(after):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({before} dims) should contain "
            f"the same number of dims as destination ({after} dims)"
        )
    if not n:
        return apply(ALIAS, (input,))
    rest = iter([k for k in range(n) if k not in before])
    moved = dict(zip(after, before, strict=True))
    return permute(input, [moved[k] if k in moved else next(rest) for k in range(n)])


def moveaxis(input: Tensor, source: Dims, destination: Dims) -> Tensor:
    """Move dimensions to other places; the rest stay in order.

    >>> import numeric as torch
    >>> torch.moveaxis(torch.zeros(2, 3, 4), 0, -1).shape
    torch.Size([3, 4, 2])
    """
    return movedim(input, source, destination)


def _reversed(self: Tensor) -> Tensor:
    """The dimensions in reverse order."""
    return apply(PERMUTE, (self,), (tuple(range(self._array.ndim))[::-1],))


def _matrices_transposed(self: Tensor) -> Tensor:
    """The tensor with the last two dimensions exchanged."""
    if self._array.ndim < 2:
        raise RuntimeError(
            "tensor.mT is only supported on matrices or batches of matrices. Got "
            f"{self._array.ndim}-D tensor."
        )
    return transpose(self, -2, -1)


for _name, _getter in {
    "T": _reversed,
    "mT": _matrices_transposed,
    "mH": _matrices_transposed,
}.items():
    attach(_name, property(_getter))


# In place ---------------------------------------------------------------------------------------


def _turned(like: Op, label: str) -> Op:
    return Op(like.name, like.build, like.kernel, promotion=None, view=True, label=label)


_T = _turned(T, "TBackward1")
_TRANSPOSE = _turned(TRANSPOSE, "TransposeBackward1")
_UNSQUEEZE = _turned(UNSQUEEZE, "UnsqueezeBackward1")
_SQUEEZES = [_turned(op, f"SqueezeBackward{k + 3}") for k, op in enumerate(SQUEEZES)]


@method()
def t_(self: Tensor) -> Tensor:
    """Transpose the tensor itself, in place.

    >>> import numeric as torch
    >>> torch.zeros(2, 3).t_().shape
    torch.Size([3, 2])
    """
    if self._array.ndim > 2:
        raise RuntimeError(
            f"t_() expects a tensor with <= 2 dimensions, but self is {self._array.ndim}D"
        )
    return turn(self, lambda x: apply(_T, (x,)))


@method("transpose_", "swapaxes_", "swapdims_")
def transpose_(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """Exchange two dimensions of the tensor itself, in place.

    >>> import numeric as torch
    >>> torch.zeros(2, 3).transpose_(0, 1).shape
    torch.Size([3, 2])
    """
    n = self._array.ndim
    pair = axis_of(dim0, n), axis_of(dim1, n)
    return turn(self, lambda x: apply(_TRANSPOSE, (x,), pair)) if n else self


@method()
@by_axis
def unsqueeze_(self: Tensor, dim: int) -> Tensor:
    """Add a dimension of length 1 to the tensor itself, in place.

    >>> import numeric as torch
    >>> torch.zeros(3).unsqueeze_(0).shape
    torch.Size([1, 3])
    """
    place = axis_of(dim, self._array.ndim + 1)
    return turn(self, lambda x: apply(_UNSQUEEZE, (x,), (place,)))


@method()
@by_axis
def squeeze_(self: Tensor, dim: Dims | None = None) -> Tensor:
    """Remove dimensions of length 1 of the tensor itself, in place.

    >>> import numeric as torch
    >>> torch.zeros(1, 3).squeeze_().shape
    torch.Size([3])
    """
    kind, ones = _ones(self, dim)
    return turn(self, lambda x: apply(_SQUEEZES[kind], (x,), (ones,)))
