"""Dimensions and sizes as arguments."""

from __future__ import annotations

import functools
from operator import index
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numeric.types import Dims

F = TypeVar("F", bound="Callable[..., Any]")


def axis_of(dim: SupportsIndex, ndim: int) -> int:
    """Return a dimension counted from the front; 0 and -1 are allowed without any dimension.

    Raises IndexError for a dimension out of range.

    >>> axis_of(-1, 3)
    2
    """
    k = index(dim)
    n = ndim or 1
    if not -n <= k < n:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {k})"
        )
    return k % n


def axes_of(dims: Dims, ndim: int) -> tuple[int, ...]:
    """Return distinct dimensions, counted from the front.

    >>> axes_of((0, -1), 3), axes_of(1, 3)
    ((0, 2), (1,))
    """
    given = dims if isinstance(dims, tuple | list) else (dims,)
    axes = tuple([axis_of(dim, ndim) for dim in given])
    for k in axes:
        if axes.count(k) > 1:
            raise RuntimeError(f"dim {k} appears multiple times in the list of dims")
    return axes


def is_index(x: object) -> bool:
    """Whether an object is an integer that may be a place or a length.

    >>> is_index(True), is_index(1.0)
    (True, False)
    """
    try:
        index(x)  # type: ignore[arg-type]  # this is the question
    except TypeError:
        return False
    return True


def sizes_of(given: Sequence[Any], name: str = "", argument: str = "size") -> tuple[int, ...]:
    """Return lengths that are separate arguments, or one sequence.

    Raises TypeError for an object that is not an integer, naming a function and its argument.

    >>> sizes_of((2, 3)), sizes_of(([2, 3],))
    ((2, 3), (2, 3))
    """
    if len(given) == 1 and isinstance(given[0], tuple | list):
        given = given[0]
    try:
        return tuple([n if n.__class__ is int else index(n) for n in given])
    except TypeError:
        if not name:
            raise
        place, n = next((k, n) for k, n in enumerate(given) if not is_index(n))
        raise TypeError(
            f"{name}(): argument '{argument}' must be tuple of ints, but found element of type "
            f"{type(n).__name__} at pos {place}"
        ) from None


def by_axis(function: F) -> F:
    """Decorate a function whose argument ``dim`` may be called ``axis``, too."""

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        if "axis" in kwargs:
            if "dim" in kwargs:
                raise TypeError(f"{function.__name__}() got both dim and axis")
            kwargs["dim"] = kwargs.pop("axis")
        return function(*args, **kwargs)

    return cast("F", called)
