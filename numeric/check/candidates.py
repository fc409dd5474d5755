"""Derivatives under test, whatever they are written in, as functions of NumPy arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Candidate:
    """The derivatives under test as NumPy callables; None is what is not offered.

    With k inputs ``x1 .. xk`` and a result y: ``gradient(x1, .., xk)`` gives, for scalar y, an
    array of each input's shape, ``vjp(x1, .., xk, w)`` the same for ``sum(w * y)``;
    ``jvp(x1, .., xk, t1, .., tk)`` is an array of y's shape; ``hessian(x1, .., xk)`` is of shape
    ``x.shape + x.shape`` for one input, for several a tuple of rows of such blocks.  All but jvp
    return one array where there is one input, and a tuple of arrays otherwise.
    """

    gradient: Callable[..., Any] | None = None
    vjp: Callable[..., Any] | None = None
    jvp: Callable[..., Any] | None = None
    hessian: Callable[..., Any] | None = None
    name: str = "the function under test"
    dtypes: tuple[str, ...] = ("float64", "float32")  # of the inputs that it takes
