"""Choices of elements along an axis: derivatives go to the returned places."""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.eager.operations import Op
from numeric.eager.recording import apply
from numeric.eager.tensor import Tensor, values_of, wrap
from numeric.ops.reduction_arguments import as_result
from symdiff import functions as sd

if TYPE_CHECKING:
    from collections.abc import Callable


__all__: list[str] = []


def result_type(name: str, fields: str = "values indices") -> type[Any]:
    """Return a named tuple class whose objects print as PyTorch prints them."""

    def text(self: Any) -> str:
        parts = [f"{key}={value!r}" for key, value in zip(self._fields, self, strict=True)]
        return f"torch.return_types.{name}(\n" + ",\n".join(parts) + ")"

    cls = namedtuple(name, fields)  # type: ignore[misc]  # made from data
    cls.__repr__ = text  # type: ignore[method-assign]
    cls.__module__ = __name__
    return cls


def _chosen(
    take: Callable[..., Any], expand: Callable[..., Any], squeeze: Callable[..., Any]
) -> Callable[..., Any]:
    """Return the elements of x at places along an axis, which ``reduced`` removes."""

    def chosen(x: Any, places: np.ndarray, axis: int, reduced: bool) -> Any:
        if not x.ndim:
            return x.copy() if isinstance(x, np.ndarray) else x
        if reduced:
            return squeeze(take(x, expand(places, axis), axis), axis)
        return take(x, places, axis)

    return chosen


_build = _chosen(sd.take_along_axis, sd.expand_dims, sd.squeeze)
_kernel = _chosen(np.take_along_axis, np.expand_dims, np.squeeze)


class Choice:
    """A function whose results are elements of its operand, and their places.

    Args:
        result: the named tuple of both; its name is that of the function.
        label: of its nodes.
        holds: as of ``Op``.
    """

    def __init__(self, result: type[Any], label: str, holds: tuple[int, ...] = ()) -> None:
        self.op = Op(result.__name__, _build, _kernel, promotion=None, label=label, holds=holds)
        self.result = result

    def __call__(self, input: Tensor, places: np.ndarray, axis: int, reduced: bool = False) -> Any:
        """Return the elements at the places, recorded, and the places as a Tensor."""
        indices = wrap(places if places.flags.c_contiguous else np.ascontiguousarray(places))
        return self.result(apply(self.op, (input, indices), (axis, reduced)), indices)


def along(
    input: Tensor, axis: int, keepdim: bool, places: Callable[..., Any]
) -> tuple[np.ndarray, int, bool]:
    """Find one place per line with ``places(array, axis)``; return arguments for a ``Choice``.

    These are the places, the axis, and whether the axis is removed.
    """
    a = values_of(input)
    if not a.ndim:
        return np.zeros((), np.int64), axis, False
    index = as_result(places(a, axis))
    return np.expand_dims(index, axis) if keepdim else index, axis, not keepdim
