"""Sort along an axis; k-th elements, medians, quantiles, and searches in sorted vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, SupportsIndex

import numpy as np

from numeric.eager.dtypes import INT64, constant
from numeric.eager.fast_paths import binary
from numeric.eager.operations import RESULT, Op
from numeric.eager.recording import apply
from numeric.eager.tensor import Tensor, method, values_of, wrap
from numeric.ops import selection_order
from numeric.ops.arithmetic import MUL, SUB
from numeric.ops.choices import Choice, along, result_type
from numeric.ops.dim_arguments import axis_of
from numeric.ops.reduction_arguments import nonzero_axis, renamed
from symdiff import functions as sd

if TYPE_CHECKING:
    from collections.abc import Callable

    from numeric.eager.types import Operand
    from numeric.types import Params
    from symdiff.graph.expr import Expr


__all__ = [
    "argsort",
    "bucketize",
    "kthvalue",
    "median",
    "msort",
    "nanmedian",
    "nanquantile",
    "quantile",
    "searchsorted",
    "sort",
    "topk",
    "unique",
]

_sort = result_type("sort")
SORT, SORT_STABLE = Choice(_sort, "SortBackward0"), Choice(_sort, "SortBackward1")
TOPK = Choice(result_type("topk"), "TopkBackward0")
KTHVALUE = Choice(result_type("kthvalue"), "KthvalueBackward0")
MEDIAN_DIM = Choice(result_type("median"), "MedianBackward1")
NANMEDIAN_DIM = Choice(result_type("nanmedian"), "NanmedianBackward1")


# Sorting -----------------------------------------------------------------------------------------


def _order(a: np.ndarray, axis: int, descending: bool) -> np.ndarray:
    """Return the places of the elements in stable order; nan is the largest."""
    if not a.ndim:
        return np.zeros((), np.int64)
    if not descending:
        return np.argsort(a, axis, kind="stable")
    backwards = np.flip(np.argsort(np.flip(a, axis), axis, kind="stable"), axis)
    places: np.ndarray = np.subtract(a.shape[axis] - 1, backwards)
    return places


@method()
def sort(
    input: Tensor,
    dim: int = -1,
    descending: bool = False,
    stable: bool | None = None,
    **names: object,
) -> Any:
    """Sort the elements along ``dim``, and return them with their places: (values, indices).

    The order of ties is stable, and nan counts as the largest.  Derivatives follow the indices.

    >>> import numeric as torch
    >>> torch.sort(torch.tensor([3.0, 1.0, 2.0]), descending=True).indices.tolist()
    [0, 2, 1]
    """
    dim, _ = renamed("sort", names, dim)
    axis = axis_of(dim, input._array.ndim)
    choice = SORT if stable is None else SORT_STABLE
    return choice(input, _order(values_of(input), axis, descending), axis)


@method()
def msort(input: Tensor) -> Tensor:
    """Return the elements along the first axis in ascending order.

    >>> import numeric as torch
    >>> torch.msort(torch.tensor([3.0, 1.0, 2.0])).tolist()
    [1.0, 2.0, 3.0]
    """
    out: Tensor = sort(input, 0).values
    return out


@method()
def argsort(
    input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False, **names: object
) -> Tensor:
    """Return the places of the elements along ``dim`` in order, as int64.

    >>> import numeric as torch
    >>> torch.argsort(torch.tensor([3.0, 1.0, 2.0])).tolist()
    [1, 2, 0]
    """
    dim, _ = renamed("argsort", names, dim)
    return wrap(_order(values_of(input), axis_of(dim, input._array.ndim), descending))


@method()
def topk(
    input: Tensor,
    k: int,
    dim: int = -1,
    largest: bool = True,
    sorted: bool = True,
    **names: object,
) -> Any:
    """Return the ``k`` largest or smallest elements along ``dim`` in order: (values, indices).

    Raises RuntimeError for fewer than k elements.

    >>> import numeric as torch
    >>> torch.topk(torch.tensor([3.0, 1.0, 2.0]), 2).values.tolist()
    [3.0, 2.0]
    """
    dim, _ = renamed("topk", names, dim)
    a = values_of(input)
    axis = axis_of(dim, a.ndim)
    if not 0 <= k <= (a.shape[axis] if a.ndim else 1):
        raise RuntimeError("selected index k out of range")
    order = _order(a, axis, largest)
    if not a.ndim:
        return TOPK(input, order, axis)
    places = None
    if selection_order.tied(np.take_along_axis(a, order, axis), axis):
        places = selection_order.first_places(a, k, axis, largest)
    if places is None:
        places = np.take(order, np.arange(k), axis)
    return TOPK(input, places, axis)


@method()
def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False, **names: object) -> Any:
    """Return the ``k``-th smallest elements along ``dim``, counted from 1: (values, indices).

    Raises RuntimeError for fewer than k elements.

    >>> import numeric as torch
    >>> torch.kthvalue(torch.tensor([3.0, 1.0, 2.0]), 2).values.item()
    2.0
    """
    dim, keepdim = renamed("kthvalue", names, dim, keepdim)
    a = values_of(input)
    axis = nonzero_axis("kthvalue", a.shape, dim)
    if not 1 <= k <= (a.shape[axis] if a.ndim else 1):
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {axis}")

    def place(a: np.ndarray, axis: int) -> np.ndarray:
        order = _order(a, axis, False)
        if selection_order.tied(np.take_along_axis(a, order, axis), axis):
            return selection_order.kth_place(a, k - 1, axis)
        kth: np.ndarray = np.take(order, k - 1, axis)
        return kth

    return KTHVALUE(input, *along(input, axis, keepdim, place))


# Medians -----------------------------------------------------------------------------------------


def _median_place(a: np.ndarray, axis: int, skip: bool) -> np.ndarray:
    """Return the place of each line's lower median, or of its first nan unless nan are skipped.

    For a line of nan only, it is the place of the first.
    """
    order = _order(a, axis, False)
    n = a.shape[axis]
    present: np.ndarray = np.count_nonzero(np.equal(a, a), axis=axis, keepdims=True)
    if skip:
        middle = np.maximum(np.floor_divide(np.subtract(present, 1), 2), 0)
    else:
        middle = np.where(np.less(present, n), present, (n - 1) // 2)
    return np.squeeze(np.take_along_axis(order, middle, axis), axis)


def _middle(a: np.ndarray, skip: bool) -> np.ndarray:
    flat = a.reshape(-1)
    if not flat.size:
        return np.full((), np.nan if a.dtype.kind == "f" else np.iinfo(a.dtype).min, a.dtype)
    median: np.ndarray = flat[_median_place(flat, 0, skip)]
    return median


def _shared(x: Expr, y: Expr) -> Expr:
    """Return the mean of the elements of x equal to y, which is y."""
    both = sd.logical_and(sd.isnan(x), sd.isnan(y))
    same = sd.logical_or(sd.equal(x, y), both)
    return sd.sum(sd.where(same, x, 0 * x)) / sd.sum(same)


def _lower_median(x: Any) -> Expr:
    """Return the lower median, nan if an element is nan, as an expression."""
    n = int(np.prod(x.shape))
    ordered = sd.sort(sd.reshape(x, (n,)))
    return sd.where(sd.isnan(ordered[n - 1]), ordered[n - 1], ordered[(n - 1) // 2])


def _lower_nanmedian(x: Any) -> Expr:
    ordered = sd.sort(sd.reshape(x, (int(np.prod(x.shape)),)))
    count = sd.sum(sd.equal(ordered, ordered))
    return sd.take(ordered, sd.maximum(sd.floor_divide(count - 1, 2), 0))


def _whole_median(name: str, middle: Callable[[Expr], Expr], skip: bool) -> Op:
    """Return the median of all elements; ties divide its derivative."""

    def build(x: Expr) -> Expr:
        return _shared(x, middle(x)) if 0 not in x.shape else sd.sum(x)

    return Op(
        name,
        build,
        lambda a: _middle(a, skip),
        saves=RESULT,
        promotion=None,
        concrete=True,
        reuse=lambda x, y: {middle(x): y} if 0 not in x.shape else {},
    )


MEDIAN = _whole_median("median", _lower_median, False)
NANMEDIAN = _whole_median("nanmedian", _lower_nanmedian, True)


def _medians(
    op: Op,
    choice: Choice,
    skip: bool,
    input: Tensor,
    dim: SupportsIndex | None,
    keepdim: bool,
    names: dict[str, object],
) -> Any:
    dim, keepdim = renamed(op.name, names, dim, keepdim)
    if dim is None:
        return apply(op, (input,))
    axis = nonzero_axis(op.name, input._array.shape, dim)
    return choice(input, *along(input, axis, keepdim, lambda a, k: _median_place(a, k, skip)))


@method()
def median(
    input: Tensor, dim: SupportsIndex | None = None, keepdim: bool = False, **names: object
) -> Any:
    """Return the lower median; with ``dim`` along it, with its place: (values, indices).

    Ties of all elements divide the derivative; along an axis the returned index gets it.  A nan
    makes the result nan.

    >>> import numeric as torch
    >>> torch.median(torch.tensor([3.0, 1.0, 2.0, 4.0])).item()
    2.0
    """
    return _medians(MEDIAN, MEDIAN_DIM, False, input, dim, keepdim, names)


@method()
def nanmedian(
    input: Tensor, dim: SupportsIndex | None = None, keepdim: bool = False, **names: object
) -> Any:
    """Return the ``median`` of the elements that are not nan.

    >>> import numeric as torch
    >>> torch.nanmedian(torch.tensor([3.0, float("nan"), 2.0])).item()
    2.0
    """
    return _medians(NANMEDIAN, NANMEDIAN_DIM, True, input, dim, keepdim, names)


# Quantiles ---------------------------------------------------------------------------------------


def _between(lib: Any, reshape: Callable[..., Any]) -> Callable[..., Any]:
    """Return elements between two places of each line, in the layout of the results."""

    def between(
        x: Any, low: Any, high: Any, share: Any, axis: int | None, keepdim: bool, one: bool
    ) -> Any:
        ndim = x.ndim
        lines = reshape(x, (-1,)) if axis is None else lib.moveaxis(x, axis, -1)
        below, above = (lib.take_along_axis(lines, k, -1) for k in (low, high))
        value = lib.moveaxis(below + share * (above - below), -1, 0)
        if keepdim:
            gone = range(1, ndim + 1) if axis is None else [axis + 1]
            value = lib.expand_dims(value, tuple(gone))
        return lib.squeeze(value, 0) if one else value

    return between


QUANTILE = Op(
    "quantile",
    _between(sd, sd.reshape),
    _between(np, np.reshape),
    promotion=None,
    label="SqueezeBackward4",
    concrete=True,
)

# How much of the way from the place below to the one above.
_SHARES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "lower": np.zeros_like,
    "higher": np.ceil,
    "nearest": np.round,
    "midpoint": lambda f: np.where(f > 0, 0.5, 0.0),
}


def _quantiles(
    name: str,
    skip: bool,
    input: Tensor,
    q: Tensor | float,
    dim: SupportsIndex | None,
    keepdim: bool,
    how: str,
) -> Tensor:
    a = values_of(input)
    if not a.size:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    if a.dtype.kind != "f":
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
    if how != "linear" and how not in _SHARES:
        raise RuntimeError(
            f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, "
            f"but got {how}"
        )
    if not isinstance(q, Tensor):
        if isinstance(q, list | tuple):
            raise TypeError(f"{name}(): q is a number or a Tensor, not {type(q).__name__}")
        if not 0 <= q <= 1:
            raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q}")
        q = wrap(np.asarray(constant(q), a.dtype))
    elif q._array.dtype != a.dtype:
        raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
    elif q._array.ndim > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
    elif not np.all((values_of(q) >= 0) & (values_of(q) <= 1)):
        raise RuntimeError(f"{name}() q values must be in the range [0, 1]")
    axis = None if dim is None or not a.ndim else axis_of(dim, a.ndim)
    lines = np.reshape(a, (-1,)) if axis is None else np.moveaxis(a, axis, -1)
    return _interpolated(skip, input, lines, q, (axis, keepdim, not q._array.ndim), how)


def _interpolated(
    skip: bool, input: Tensor, lines: np.ndarray, q: Tensor, params: Params, how: str
) -> Tensor:
    """Return the quantiles, from the order of the lines."""
    order = _order(lines, -1, False)
    n = lines.shape[-1]
    present: np.ndarray = np.count_nonzero(np.equal(lines, lines), axis=-1, keepdims=True)
    # How many count; where a nan does, only that one, which is the last.
    tops = np.maximum(present - 1, 0) if skip else np.asarray([n - 1])
    ranks = tops * np.atleast_1d(values_of(q))
    low, high = np.floor(ranks), np.ceil(ranks)
    ends = [k.astype(np.int64) for k in (low, high)]
    if not skip:
        ends = [np.where(np.less(present, n), n - 1, k) for k in ends]
    share: Tensor
    if how != "linear":
        share = wrap(_SHARES[how](ranks - low).astype(lines.dtype))
    elif q._rg:
        below = low.astype(lines.dtype)  # ranks are float64: a count times single precision
        share = binary(SUB, binary(MUL, q, wrap(tops.astype(lines.dtype))), wrap(below))
    else:
        share = wrap((ranks - low).astype(lines.dtype))
    places = [wrap(np.take_along_axis(order, k, -1)) for k in ends]
    return apply(QUANTILE, (input, *places, share), params)


@method()
def quantile(
    input: Tensor,
    q: float | Tensor,
    dim: SupportsIndex | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
    **names: object,
) -> Tensor:
    """Return the quantiles ``q`` in [0, 1] along ``dim``, by default of all elements.

    They are interpolated linearly; ``interpolation`` may be "lower", "higher", "nearest" or
    "midpoint".  A vector q gives a leading axis.  Raises RuntimeError for another q and without
    elements.

    >>> import numeric as torch
    >>> torch.quantile(torch.tensor([1.0, 2.0, 4.0]), 0.75).item()
    3.0
    """
    dim, keepdim = renamed("quantile", names, dim, keepdim)
    return _quantiles("quantile", False, input, q, dim, keepdim, interpolation)


@method()
def nanquantile(
    input: Tensor,
    q: float | Tensor,
    dim: SupportsIndex | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
    **names: object,
) -> Tensor:
    """Return the ``quantile`` of the elements that are not nan.

    >>> import numeric as torch
    >>> torch.nanquantile(torch.tensor([1.0, float("nan"), 4.0]), 0.5).item()
    2.5
    """
    dim, keepdim = renamed("nanquantile", names, dim, keepdim)
    return _quantiles("nanquantile", True, input, q, dim, keepdim, interpolation)


# Places and kinds --------------------------------------------------------------------------------


@method()
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """Return the distinct elements, or slices along ``dim``, in ascending order.

    ``return_inverse`` adds the place of each element among them, ``return_counts`` the number of
    occurrences of each.  The results are constants.

    >>> import numeric as torch
    >>> torch.unique(torch.tensor([3, 1, 3])).tolist()
    [1, 3]
    """
    axis = None if dim is None else axis_of(dim, input._array.ndim)
    values, inverse, counts = np.unique(
        values_of(input), return_inverse=True, return_counts=True, axis=axis
    )
    results = [wrap(values)]
    if return_inverse:
        shape = input._array.shape if axis is None else (-1,)
        results.append(wrap(np.asarray(inverse, INT64).reshape(shape)))
    if return_counts:
        results.append(wrap(np.asarray(counts, INT64)))
    return tuple(results) if len(results) > 1 else results[0]


def searchsorted(
    sorted_sequence: Tensor,
    input: Operand,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
) -> Tensor:
    """Return the number of elements of an ascending vector below each of ``input``.

    With ``right`` it counts elements that are not above.  Several vectors, along the last axis, are
    searched for the lines of ``input``.

    >>> import numeric as torch
    >>> torch.searchsorted(torch.tensor([1, 3, 5]), torch.tensor([3, 4])).tolist()
    [1, 2]
    """
    table, wanted = values_of(sorted_sequence), input
    wanted = values_of(wanted) if isinstance(wanted, Tensor) else np.asarray(constant(wanted))
    where: Literal["left", "right"] = "right" if right or side == "right" else "left"
    if table.ndim == 1:
        counts = np.searchsorted(table, wanted, where)
    else:
        if table.shape[:-1] != wanted.shape[:-1]:
            raise RuntimeError(
                "boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
                f"tensor and input value tensor must match, but we got boundaries tensor "
                f"{list(table.shape)} and input value tensor {list(wanted.shape)}"
            )
        counts = np.empty(wanted.shape, np.int64)
        for k in np.ndindex(*table.shape[:-1]):
            counts[k] = np.searchsorted(table[k], wanted[k], where)
    return wrap(np.asarray(counts, np.int32 if out_int32 else np.int64))


def bucketize(
    input: Operand, boundaries: Tensor, *, out_int32: bool = False, right: bool = False
) -> Tensor:
    """Call ``searchsorted`` with its arguments in the other order.

    >>> import numeric as torch
    >>> torch.bucketize(torch.tensor([3, 4]), torch.tensor([1, 3, 5])).tolist()
    [1, 2]
    """
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)
