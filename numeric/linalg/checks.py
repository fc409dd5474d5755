"""Checks of the arguments of functions of ``linalg``."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from numeric.eager.dtypes import word
from numeric.eager.tensor import Tensor, values_of
from numeric.eager.traced_arrays import Shadow

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

F = TypeVar("F", bound="Callable[..., Any]")

__all__: list[str] = []


def operands(*names: str) -> Callable[[F], F]:
    """Return a decorator that checks that the arguments of these names are Tensors.

    Callers may pass the first one as ``input``, PyTorch's older name.
    """

    def checked(function: F) -> F:
        required = [
            name
            for name, parameter in inspect.signature(function).parameters.items()
            if parameter.kind is parameter.KEYWORD_ONLY and parameter.default is parameter.empty
        ]

        def missing(name: str) -> TypeError:
            return TypeError(
                f'linalg_{function.__name__}() missing 1 required positional arguments: "{name}"'
            )

        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            if "input" in kwargs and not args:
                kwargs[names[0]] = kwargs.pop("input")
            for i, name in enumerate(names):
                x = args[i] if i < len(args) else kwargs.get(name)
                if not isinstance(x, Tensor):
                    if i >= len(args) and name not in kwargs:
                        raise missing(name)
                    raise TypeError(
                        f"linalg_{function.__name__}(): argument '{name}' (position {i + 1}) must "
                        f"be Tensor, not {type(x).__name__}"
                    )
            for name in required:
                if name not in kwargs:
                    raise missing(name)
            return function(*args, **kwargs)

        return cast("F", called)

    return checked


def concrete(name: str, x: Tensor, instead: str) -> None:
    """Raise RuntimeError for a tensor of a traced function, which has no values yet."""
    if isinstance(values_of(x), Shadow):
        raise RuntimeError(
            f"{name}: needs the values of its operand, which a traced function does not have; "
            f"use {instead}"
        )


def at_least_2d(name: str, x: Tensor, param: str = "A") -> None:
    """Raise RuntimeError unless there are two axes for matrices."""
    if x._array.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor {param} must have at least 2 dimensions.")


def square(name: str, x: Tensor) -> None:
    """Raise RuntimeError unless the matrices are square."""
    at_least_2d(name, x)
    m, n = x._array.shape[-2:]
    if m != n:
        prefix = f"{name}: " if name else ""
        raise RuntimeError(
            f"{prefix}A must be batches of square matrices, but they are {m} by {n} matrices"
        )


def real(name: str, x: Tensor, *, half: bool = False) -> None:
    """Raise RuntimeError unless LAPACK has the dtype, or it is allowed ``half`` precision."""
    kind = x._array.dtype
    if kind.kind != "f":
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got {word(kind)}"
        )
    if kind.itemsize < 4 and not half:
        raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {word(kind)}")


def alike(name: str, a: Tensor, b: Tensor) -> None:
    """Raise RuntimeError unless both have the same dtype."""
    if a._array.dtype != b._array.dtype:
        raise RuntimeError(
            f"{name}: Expected A and B to have the same dtype, but found A of type "
            f"{word(a._array.dtype)} and B of type "
            f"{word(b._array.dtype)} instead"
        )


def fit_batches(a: Sequence[int], b: Sequence[int]) -> None:
    """Raise RuntimeError unless batch shapes broadcast."""
    for i in range(1, min(len(a), len(b)) + 1):
        if a[-i] != b[-i] and 1 not in (a[-i], b[-i]):
            raise RuntimeError(
                f"The size of tensor a ({a[-i]}) must match the size of tensor b ({b[-i]}) at "
                f"non-singleton dimension {max(len(a), len(b)) - i}"
            )


def equation_fits(name: str, a: Tensor, shape: Sequence[int], left: bool) -> None:
    """Raise RuntimeError unless B of ``shape`` fits A in ``A X = B``, or in ``X A = B``."""
    n = a._array.shape[-1]
    if shape[-2 if left else -1] != n:
        rows, columns = shape[-2:]
        text = "AX" if left else "XA"
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation {text} = B "
            f"({n}x{n} and {rows}x{columns})"
        )
    fit_batches(shape[:-2], a._array.shape[:-2])


def _tolerance(name: str, value: Tensor | float | None) -> float | None:
    if isinstance(value, Tensor):
        if value._array.size != 1:
            raise NotImplementedError(f"{name} differing between matrices is not supported")
        return float(value.item())
    return None if value is None else float(value)


def ranks(values: np.ndarray, absolute: float, relative: float) -> np.ndarray:
    """Return the number of singular values of each matrix that exceed both tolerances."""
    least = np.maximum(absolute, relative * np.max(values, axis=-1, initial=0))
    count: np.ndarray = np.sum(values > least[..., None], axis=-1)
    return count


def tolerances(
    A: Tensor, atol: Tensor | float | None, rtol: Tensor | float | None
) -> tuple[float, float]:
    """Return the absolute and the relative tolerance below which singular values count as 0.

    The limit is the larger of the first, and the second times the largest singular value.
    """
    absolute, relative = _tolerance("atol", atol), _tolerance("rtol", rtol)
    if relative is None:
        a = A._array
        eps = float(np.finfo(a.dtype).eps)
        relative = 0.0 if absolute is not None and absolute > 0 else max(a.shape[-2:]) * eps
    return absolute or 0.0, relative
