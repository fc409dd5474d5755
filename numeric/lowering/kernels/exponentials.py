"""Sums of exponentials: their logarithm, and the share of each of them, by one exponential each.

All are over the last axis, less the largest element where exponentials may leave the floats.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from numeric.lowering.kernels.sequences import added, by_place
from numeric.warnings_off import SILENCE, noise, set_noise

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Runs a function on slices that make up the last axis, and lists what it returns, in their order.
Over: TypeAlias = "Callable[[Callable[[slice], Any]], Sequence[Any]]"


def _whole(run: Callable[[slice], Any]) -> list[Any]:
    return [run(slice(None))]


def logsumexp(x: np.ndarray, over: Over = _whole) -> Any:
    """``log(sum(exp(x)))``.

    >>> float(logsumexp(np.array([1000.0, 1000.0]))) == 1000.0 + float(np.log(2.0))
    True
    """
    before = noise()
    try:
        set_noise(SILENCE)  # exp underflows beside the largest; log(0) is right for none
        total, top = _totals(x, over)
        return _logarithm(total, top)
    finally:
        set_noise(before)


def softmax(x: np.ndarray, over: Over = _whole) -> tuple[Any, np.ndarray]:
    """``logsumexp(x)``, and ``exp(x - logsumexp(x))`` as the exponentials over their sum.

    >>> value, shares = softmax(np.array([1000.0, 1000.0]))
    >>> float(value) == 1000.0 + float(np.log(2.0)), shares.tolist()
    (True, [0.5, 0.5])
    """
    shares = np.empty_like(x)

    def divide(here: slice) -> None:
        e = shares[..., here]
        np.divide(e, total, out=e)

    before = noise()
    try:
        set_noise(SILENCE)
        total, top = _totals(x, over, shares)
        value = _logarithm(total, top)
        over(divide)
        finite = None if top is None else np.isfinite(total)
    finally:
        set_noise(before)
    if finite is None or finite.all():  # 0/0 is right for none
        return value, shares
    # Beside an infinity all others have no share.
    return value, np.where(finite, shares, np.exp(x - np.expand_dims(value, -1)))


def _totals(x: np.ndarray, over: Over, out: np.ndarray | None = None) -> tuple[Any, Any]:
    """The sums of the exponentials of x less what is subtracted, and that; ``out`` has them.

    Nothing is subtracted in rows of which no element is far out.  Where that is all of them, it is
    not looked for.
    """

    def total(top: Any) -> Any:
        def part(here: slice) -> Any:
            e = _exponentials(x[..., here], top, None if out is None else out[..., here])
            return None if e is None else _sum(e)

        parts = over(part)
        return None if any(part is None for part in parts) else added(parts)

    if x.dtype in _FAR:
        found = total(None)
        if found is not None:
            return found, None
    top = _top(x)
    return total(top), top


def _exponentials(x: np.ndarray, top: Any, out: np.ndarray | None) -> Any:
    """``exp(x - top)``; where top is None, those of x itself, or None if some are far out."""
    if top is not None:
        e = np.subtract(x, top, out=out)
        return np.exp(e, out=e)
    far = _FAR[x.dtype]
    return np.exp(x, out=out) if x.size and -far <= x.min() and x.max() <= far else None


_FAR = {np.dtype(t): float(np.log(np.finfo(t).max)) - 23 for t in (np.float32, np.float64)}
"""How far out elements may be such that exponentials, and sums of 10⁹ of them, are floats."""


def _top(x: np.ndarray) -> Any:
    """What is subtracted in each row: the largest element where it is finite, else 0.

    And 0 where no element is far out, whatever other rows have.
    """
    top = _largest(x)[..., None]
    needed = np.isfinite(top)
    if x.dtype in _FAR:
        far = _FAR[x.dtype]
        needed &= (top > far) | ~(_smallest(x)[..., None] >= -far)
    return np.where(needed, top, 0)


_largest = by_place(
    lambda x: np.maximum.reduce(x, axis=-1, initial=-np.inf), lambda x: x.argmax(axis=-1)
)
_smallest = by_place(
    lambda x: np.minimum.reduce(x, axis=-1, initial=np.inf), lambda x: x.argmin(axis=-1)
)
_SHORT = 128  # elements that NumPy adds in a row, in pairs only beyond


def _sum(x: np.ndarray) -> Any:
    """The sums along the last axis, of which NumPy's cost most to begin where they are many."""
    if x.shape[-1] > _SHORT or x.ndim < 2 or x.strides[-1] != x.itemsize:
        return np.add.reduce(x, axis=-1, keepdims=True)
    return np.einsum("...i->...", x)[..., None]


def _logarithm(total: Any, top: Any) -> Any:
    value = np.log(total[..., 0])
    return value if top is None else value + top[..., 0]
