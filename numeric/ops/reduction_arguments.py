"""Arguments of reductions: axes, and dtypes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, SupportsIndex, TypeVar

import numpy as np

from numeric.eager.dtypes import INT64
from numeric.eager.recording import cast
from numeric.ops.dim_arguments import axis_of

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from numeric.eager import dtypes
    from numeric.eager.tensor import Tensor
    from numeric.types import Dims

__all__: list[str] = []

Axis = TypeVar("Axis")


def axes_or_all(dim: Dims | None, ndim: int) -> tuple[int, ...]:
    """Return the axes ``dim``, one or several, in order; all for None and for an empty list.

    Raises IndexError for an axis that does not exist, RuntimeError for one that is named twice.
    """
    if dim is None:
        return tuple(range(ndim))
    if isinstance(dim, tuple | list):
        axes = [axis_of(k, ndim) for k in dim]
        for k in axes:
            if axes.count(k) > 1:
                raise RuntimeError(f"dim {k} appears multiple times in the list of dims")
        axes.sort()
    else:
        axes = [axis_of(dim, ndim)]
    return tuple(axes) if axes and ndim else tuple(range(ndim))


def renamed(
    name: str, names: dict[str, Any], dim: Dims | None, keepdim: bool = False
) -> tuple[Any, bool]:
    """Return ``dim`` and ``keepdim``, which may have come under their NumPy names.

    Raises TypeError for another name.
    """
    for key, value in names.items():
        if key == "axis":
            dim = value
        elif key == "keepdims":
            keepdim = value
        else:
            raise TypeError(f"{name}() got an unexpected keyword argument '{key}'")
    return dim, keepdim


def nonzero_axis(name: str, shape: tuple[int, ...], dim: SupportsIndex) -> int:
    """Return ``axis_of`` a dimension with elements.  Raises IndexError for one of length 0."""
    axis = axis_of(dim, len(shape))
    if shape and shape[axis] == 0:
        raise IndexError(f"{name}(): Expected reduction dim {axis} to have non-zero size.")
    return axis


def required(name: str, dim: Axis | None) -> Axis:
    """Return ``dim``.  Raises TypeError if it was not passed."""
    if dim is None:
        raise TypeError(f'{name}() missing 1 required positional arguments: "dim"')
    return dim


def as_result(value: Any, kind: DTypeLike = np.int64) -> np.ndarray:
    """Convert a result of NumPy, maybe a scalar, to an array of a dtype."""
    if isinstance(value, np.ndarray | np.generic):
        return np.asarray(value, kind)
    array: np.ndarray = value if value.dtype == kind else value.astype(kind)
    return array


def in_dtype(input: Tensor, dtype: dtypes.dtype | None) -> Tensor:
    """Return ``input`` in a dtype; by default integers and bools become int64."""
    kind = input._array.dtype
    if dtype is not None:
        return input if kind is dtype.numpy else cast(input, dtype.numpy)
    return input if kind.kind == "f" or kind is INT64 else cast(input, INT64)
