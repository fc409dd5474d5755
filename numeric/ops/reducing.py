"""Reductions over axes: sums, products, extremes, counts and places."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeVar

import numpy as np

from numeric.eager.dtypes import BOOL, F32, F64, word
from numeric.eager.fast_paths import binary
from numeric.eager.operations import RESULT, Op
from numeric.eager.recording import apply, apply_several, cast
from numeric.eager.tensor import Tensor, method, values_of, wrap
from numeric.ops.arithmetic import DIV, MUL
from numeric.ops.choices import Choice, along, result_type
from numeric.ops.pointwise import maximum, minimum
from numeric.ops.reduction_arguments import as_result, axes_or_all, in_dtype, nonzero_axis, renamed
from symdiff import functions as sd

if TYPE_CHECKING:
    from collections.abc import Callable

    from numeric.eager import dtypes
    from numeric.types import Dims
    from symdiff.graph.expr import Expr

__all__ = [
    "all",
    "amax",
    "amin",
    "aminmax",
    "any",
    "argmax",
    "argmin",
    "count_nonzero",
    "max",
    "mean",
    "min",
    "nanmean",
    "nansum",
    "prod",
    "sum",
]

Axes = tuple[int, ...]
Result = TypeVar("Result")


def _all_axes(function: Callable[..., Result]) -> Callable[..., Result]:
    """Return the reduction over all axes, from one over given axes."""
    return lambda x: function(x, tuple(range(x.ndim)), False)


def of_axes(function: Callable[..., Expr]) -> Callable[..., Expr]:
    """Return the formula of a reduction, from symdiff's function."""
    return lambda x, axes, keepdim, *rest: function(x, axes, *rest, keepdims=keepdim)


def without_axes(function: Callable[..., Expr]) -> Callable[..., dict[Expr, Expr]]:
    """Return the identity of a result with axes of length 1 and the one without."""
    return lambda x, y, axes, keepdim: {function(x, axes): sd.squeeze(y, axes) if keepdim else y}


def _two(
    name: str,
    build: Callable[..., Expr],
    kernel: Callable[..., np.ndarray] | None = None,
    **options: Any,
) -> tuple[Op, Op]:
    """Create the reductions over all axes and over given ones: their nodes end in 0 and 1."""
    label = "".join(map(str.capitalize, name.split("_"))) + "Backward1"
    options["promotion"] = None
    return (
        Op(name, _all_axes(build), kernel and _all_axes(kernel), **options),
        Op(name, build, kernel, label=label, **options),
    )


def _reduced(ops: tuple[Op, Op], input: Tensor, dim: Dims | None, keepdim: bool) -> Tensor:
    """Apply one of ``_two``."""
    out: Tensor
    if dim is None and not keepdim:
        out = apply(ops[0], (input,))
    else:
        out = apply(ops[1], (input,), (axes_or_all(dim, input._array.ndim), keepdim))
    return out


# Sums, means and products ------------------------------------------------------------------------


# Reductions of any arrays, for which NumPy's stubs have no type.
add: Callable[..., np.ndarray] = np.add.reduce
_multiply: Callable[..., np.ndarray] = np.multiply.reduce


def total(a: np.ndarray, axes: Axes, keepdim: bool) -> np.ndarray:
    kind = a.dtype
    if kind is F32 or kind is F64:
        return add(a, axes, keepdims=keepdim)
    if kind.kind == "f" and kind.itemsize == 2:  # a long sum needs more than half precision
        return add(a, axes, F32, keepdims=keepdim).astype(kind)
    return add(a, axes, kind, keepdims=keepdim)  # narrow integers stay narrow


def average(a: np.ndarray, axes: Axes, keepdim: bool) -> np.ndarray:
    mean: np.ndarray = np.true_divide(total(a, axes, keepdim), count(a.shape, axes), dtype=a.dtype)
    return mean


def count(shape: tuple[int, ...], axes: Axes) -> int:
    return math.prod([shape[k] for k in axes])


def _prod(a: np.ndarray, axes: Axes, keepdim: bool) -> np.ndarray:
    return _multiply(a, axes, a.dtype, keepdims=keepdim)


SUM = _two("sum", of_axes(sd.sum))
MEAN = _two("mean", of_axes(sd.mean), average)
PROD = _two("prod", of_axes(sd.prod), _prod, saves=RESULT)
NANSUM = Op(
    "nansum",
    of_axes(sd.nansum),
    promotion=None,
)


@method()
def sum(
    input: Tensor,
    dim: Dims | None = None,
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,
    **names: object,
) -> Tensor:
    """Return the sum over the axes ``dim``, by default all; 0 without elements.

    Integers and bools are summed as int64.  Raises IndexError for an axis that does not exist,
    RuntimeError for one that is named twice.

    >>> import numeric as torch
    >>> torch.sum(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=1).tolist()
    [3.0, 7.0]
    """
    if names:
        dim, keepdim = renamed("sum", names, dim, keepdim)
    return _reduced(SUM, in_dtype(input, dtype), dim, keepdim)


@method()
def mean(
    input: Tensor,
    dim: Dims | None = None,
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,
    **names: object,
) -> Tensor:
    """Return the arithmetic mean over the axes ``dim``, by default all; nan without elements.

    Raises RuntimeError for integers unless ``dtype`` is real, IndexError for an axis that does not
    exist.

    >>> import numeric as torch
    >>> torch.mean(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=0).tolist()
    [2.0, 3.0]
    """
    if names:
        dim, keepdim = renamed("mean", names, dim, keepdim)
    if dtype is not None and input._array.dtype is not dtype.numpy:
        input = cast(input, dtype.numpy)
    if input._array.dtype.kind != "f":
        what = "Input dtype" if dtype is None else "Optional dtype"
        raise RuntimeError(
            f"mean(): could not infer output dtype. {what} must be either a floating point or "
            f"complex dtype. Got: {word(input._array.dtype)}"
        )
    return _reduced(MEAN, input, dim, keepdim)


@method()
def prod(
    input: Tensor,
    dim: Dims | None = None,
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,
    **names: object,
) -> Tensor:
    """Return the product over the axis ``dim``, by default over all; 1 without elements.

    Its derivative holds at zeros, too.  Raises IndexError for an axis that does not exist.

    >>> import numeric as torch
    >>> torch.prod(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=0).tolist()
    [3.0, 8.0]
    """
    if names:
        dim, keepdim = renamed("prod", names, dim, keepdim)
    return _reduced(PROD, in_dtype(input, dtype), dim, keepdim)


@method()
def nansum(
    input: Tensor,
    dim: Dims | None = None,
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,
    **names: object,
) -> Tensor:
    """Return the sum over the axes ``dim``, by default all, of the elements that are not nan.

    >>> import numeric as torch
    >>> torch.nansum(torch.tensor([1.0, float("nan"), 3.0])).item()
    4.0
    """
    dim, keepdim = renamed("nansum", names, dim, keepdim)
    input = in_dtype(input, dtype)
    if input._array.dtype.kind != "f":
        return _reduced(SUM, input, dim, keepdim)
    return apply(NANSUM, (input,), (axes_or_all(dim, input._array.ndim), keepdim))


@method()
def nanmean(
    input: Tensor,
    dim: Dims | None = None,
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,
    **names: object,
) -> Tensor:
    """Return the mean over the axes ``dim``, by default all, of the elements that are not nan.

    It is nan without such elements.  Raises RuntimeError for integers.

    >>> import numeric as torch
    >>> torch.nanmean(torch.tensor([1.0, float("nan"), 3.0])).item()
    2.0
    """
    dim, keepdim = renamed("nanmean", names, dim, keepdim)
    if input._array.dtype.kind != "f":
        raise RuntimeError(
            "nanmean(): expected input to have floating point or complex dtype but got "
            f"{word(input._array.dtype)}"
        )
    whole = nansum(input, dim, keepdim, dtype=dtype)
    axes = axes_or_all(dim, input._array.ndim)
    if not count(input._array.shape, axes):  # a sum of nothing is 0, whatever it is divided by
        return binary(MUL, whole, math.nan)
    a = values_of(input)
    present = add(np.equal(a, a), axes, keepdims=keepdim)
    return binary(DIV, whole, wrap(present))


# Extremes ----------------------------------------------------------------------------------------


def _extreme(ufunc: np.ufunc) -> Callable[..., np.ndarray]:
    return lambda a, axes, keepdim: ufunc.reduce(a, axes, keepdims=keepdim)


largest, smallest = _extreme(np.maximum), _extreme(np.minimum)
AMAX = Op(
    "amax",
    of_axes(sd.max),
    largest,
    saves=RESULT,
    promotion=None,
    reuse=without_axes(sd.max),
)
AMIN = Op(
    "amin",
    of_axes(sd.min),
    smallest,
    saves=RESULT,
    promotion=None,
    reuse=without_axes(sd.min),
)
MAX = Op(
    "max",
    _all_axes(of_axes(sd.max)),
    _all_axes(largest),
    saves=RESULT,
    promotion=None,
    label="MaxBackward1",
)
MIN = Op(
    "min",
    _all_axes(of_axes(sd.min)),
    _all_axes(smallest),
    saves=RESULT,
    promotion=None,
    label="MinBackward1",
)
AMINMAX = Op(
    "aminmax",
    lambda x, axes, keepdim: (
        sd.min(x, axes, keepdims=keepdim),
        sd.max(x, axes, keepdims=keepdim),
    ),
    lambda *args: (smallest(*args), largest(*args)),
    outputs=2,
    promotion=None,
)
MAX_DIM = Choice(result_type("max"), "MaxBackward0")
MIN_DIM = Choice(result_type("min"), "MinBackward0")
_aminmax = result_type("aminmax", "min max")


def _nonempty(name: str, input: Tensor, axes: Axes | None) -> None:
    """Raise IndexError or RuntimeError for an extreme over no elements."""
    a = input._array
    if a.size:
        return
    if axes is None or len(axes) == a.ndim:
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
            "reduction dim with the 'dim' argument."
        )
    for k in axes:
        nonzero_axis(name, a.shape, k)


def _of_extreme(
    name: str, input: Tensor, dim: Dims | None, keepdim: bool, names: dict[str, Any]
) -> tuple[Axes, bool]:
    """Return the axes of an extreme, exactly one, and ``keepdim``."""
    dim, keepdim = renamed(name, names, () if dim is None else dim, keepdim)
    axes = axes_or_all(dim, input._array.ndim)
    _nonempty(name, input, None if dim is None or dim == () else axes)
    return axes, keepdim


@method()
def amax(input: Tensor, dim: Dims | None = (), keepdim: bool = False, **names: object) -> Tensor:
    """Return the largest elements over the axes ``dim``, by default all.

    Ties divide the derivative equally.  Raises IndexError or RuntimeError without elements.

    >>> import numeric as torch
    >>> torch.amax(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=0).tolist()
    [3.0, 4.0]
    """
    return apply(AMAX, (input,), _of_extreme("amax", input, dim, keepdim, names))


@method()
def amin(input: Tensor, dim: Dims | None = (), keepdim: bool = False, **names: object) -> Tensor:
    """Return the smallest elements over the axes ``dim``, by default all.

    Ties divide the derivative equally.  Raises IndexError or RuntimeError without elements.

    >>> import numeric as torch
    >>> torch.amin(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=0).tolist()
    [1.0, 2.0]
    """
    return apply(AMIN, (input,), _of_extreme("amin", input, dim, keepdim, names))


@method()
def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False) -> Any:
    """Return the smallest and the largest elements over the axis ``dim``, by default over all.

    Ties divide the derivative equally.

    >>> import numeric as torch
    >>> torch.aminmax(torch.tensor([1.0, 3.0, 2.0])).max.item()
    3.0
    """
    return _aminmax(
        *apply_several(AMINMAX, (input,), _of_extreme("aminmax", input, dim, keepdim, {}))
    )


def _extremes(
    op: Op,
    choice: Choice,
    places: Callable[..., object],
    input: Tensor,
    dim: Tensor | SupportsIndex | None,
    keepdim: bool,
    names: dict[str, Any],
) -> Any:
    """Serve the three forms of ``max`` and ``min``: of all, along an axis, of two tensors."""
    name = op.name
    other = names.pop("other", dim if isinstance(dim, Tensor) else None)
    if other is not None:
        if names or keepdim or dim not in (None, other):
            raise TypeError(f"{name}() received an invalid combination of arguments")
        return (maximum if op is MAX else minimum)(input, other)
    dim, keepdim = renamed(name, names, dim, keepdim)
    if dim is None and not keepdim:
        _nonempty(name, input, None)
        return apply(op, (input,))
    if dim is None or isinstance(dim, tuple | list | float | str):
        raise TypeError(f"{name}() received an invalid combination of arguments: dim={dim!r}")
    axis = nonzero_axis(name, input._array.shape, dim)
    return choice(input, *along(input, axis, keepdim, places))


@method()
def max(
    input: Tensor, dim: Tensor | SupportsIndex | None = None, keepdim: bool = False, **names: object
) -> Any:
    """Return the largest element, (values, indices) along ``dim``, or with ``other`` the larger.

    Ties of all elements divide the derivative equally; along an axis the returned index gets it.
    Raises RuntimeError or IndexError without elements.

    >>> import numeric as torch
    >>> x = torch.tensor([[1.0, 2.0], [4.0, 3.0]])
    >>> torch.max(x).item(), torch.max(x, dim=1).indices.tolist()
    (4.0, [1, 0])
    """
    return _extremes(MAX, MAX_DIM, np.argmax, input, dim, keepdim, names)


@method()
def min(
    input: Tensor, dim: Tensor | SupportsIndex | None = None, keepdim: bool = False, **names: object
) -> Any:
    """Return the smallest element, (values, indices) along ``dim``, or with ``other`` the smaller.

    Ties of all elements divide the derivative equally; along an axis the returned index gets it.
    Raises RuntimeError or IndexError without elements.

    >>> import numeric as torch
    >>> x = torch.tensor([[1.0, 2.0], [4.0, 3.0]])
    >>> torch.min(x).item(), torch.min(x, dim=1).indices.tolist()
    (1.0, [0, 1])
    """
    return _extremes(MIN, MIN_DIM, np.argmin, input, dim, keepdim, names)


def _place(
    name: str,
    places: Callable[..., object],
    input: Tensor,
    dim: Tensor | SupportsIndex | None,
    keepdim: bool,
    names: dict[str, object],
) -> Tensor:
    dim, keepdim = renamed(name, names, dim, keepdim)
    a = values_of(input)
    if dim is None:
        if not a.size:
            raise IndexError(
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0."
            )
        index = as_result(places(a))
        return wrap(np.reshape(index, (1,) * a.ndim) if keepdim else index)
    axis = nonzero_axis(name, a.shape, dim)
    return wrap(along(input, axis, keepdim, places)[0])


@method()
def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False, **names: object) -> Tensor:
    """Return the place of the first largest element along ``dim``, by default of all, as int64.

    >>> import numeric as torch
    >>> torch.argmax(torch.tensor([[1.0, 2.0], [4.0, 3.0]]), dim=1).tolist()
    [1, 0]
    """
    return _place("argmax", np.argmax, input, dim, keepdim, names)


@method()
def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False, **names: object) -> Tensor:
    """Return the place of the first smallest element along ``dim``, by default of all, as int64.

    >>> import numeric as torch
    >>> torch.argmin(torch.tensor([[1.0, 2.0], [4.0, 3.0]]), dim=1).tolist()
    [0, 1]
    """
    return _place("argmin", np.argmin, input, dim, keepdim, names)


# What is counted ---------------------------------------------------------------------------------


def _truth(
    name: str,
    kernel: Callable[..., object],
    input: Tensor,
    dim: Dims | None,
    keepdim: bool,
    names: dict[str, object],
) -> Tensor:
    dim, keepdim = renamed(name, names, dim, keepdim)
    a = values_of(input)
    kind = a.dtype if a.dtype == np.uint8 else BOOL
    return wrap(as_result(kernel(a, axis=axes_or_all(dim, a.ndim), keepdims=keepdim), kind))


@method()
def all(input: Tensor, dim: Dims | None = None, keepdim: bool = False, **names: object) -> Tensor:
    """Return whether all elements over the axes ``dim``, by default all axes, are true (not 0).

    >>> import numeric as torch
    >>> torch.all(torch.tensor([[True, False], [True, True]]), dim=1).tolist()
    [False, True]
    """
    return _truth("all", np.all, input, dim, keepdim, names)


@method()
def any(input: Tensor, dim: Dims | None = None, keepdim: bool = False, **names: object) -> Tensor:
    """Return whether some element over the axes ``dim``, by default all axes, is true (not 0).

    >>> import numeric as torch
    >>> torch.any(torch.tensor([[True, False], [False, False]]), dim=1).tolist()
    [True, False]
    """
    return _truth("any", np.any, input, dim, keepdim, names)


@method()
def count_nonzero(input: Tensor, dim: Dims | None = None, **names: object) -> Tensor:
    """Return the number of elements other than 0 over the axes ``dim``, by default all.

    >>> import numeric as torch
    >>> torch.count_nonzero(torch.tensor([[1, 0], [2, 3]]), dim=0).tolist()
    [2, 1]
    """
    dim, _ = renamed("count_nonzero", names, dim)
    a = values_of(input)
    return wrap(as_result(np.count_nonzero(a, axis=axes_or_all(dim, a.ndim), keepdims=False)))
