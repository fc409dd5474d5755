"""Sums of exponentials: their logarithm, and the share of each of them, by one exponential each.

All are over the last axis, less the largest element, so that no exponential overflows.
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
    top = _top(x)

    def part(here: slice) -> Any:
        e = x[..., here] - top
        return _sum(np.exp(e, out=e))

    before = noise()
    try:
        set_noise(SILENCE)  # exp underflows beside the largest; log(0) is right for none
        return _logarithm(added(over(part)), top)
    finally:
        set_noise(before)


def softmax(x: np.ndarray, over: Over = _whole) -> tuple[Any, np.ndarray]:
    """``logsumexp(x)``, and ``exp(x - logsumexp(x))`` as the exponentials over their sum.

    >>> value, shares = softmax(np.array([1000.0, 1000.0]))
    >>> float(value) == 1000.0 + float(np.log(2.0)), shares.tolist()
    (True, [0.5, 0.5])
    """
    top, shares = _top(x), np.empty_like(x)

    def part(here: slice) -> Any:
        e = np.subtract(x[..., here], top, out=shares[..., here])
        return _sum(np.exp(e, out=e))

    def divide(here: slice) -> None:
        e = shares[..., here]
        np.divide(e, total, out=e)

    before = noise()
    try:
        set_noise(SILENCE)
        total = added(over(part))
        value = _logarithm(total, top)
        if np.isfinite(total).all():
            over(divide)  # 0/0 is right for none
            return value, shares
    finally:
        set_noise(before)
    # Beside an infinity all others have no share.
    return value, np.exp(x - np.expand_dims(value, -1))


def _top(x: np.ndarray) -> Any:
    """What is subtracted: the largest element where it is finite, else 0."""
    top = _largest(x)[..., None]
    return np.where(np.isfinite(top), top, 0)


_largest = by_place(
    lambda x: np.maximum.reduce(x, axis=-1, initial=-np.inf), lambda x: x.argmax(axis=-1)
)
_SHORT = 128  # elements that NumPy adds in a row, in pairs only beyond


def _sum(x: np.ndarray) -> Any:
    """The sums along the last axis, of which NumPy's cost most to begin."""
    if x.shape[-1] > _SHORT:
        return np.add.reduce(x, axis=-1, keepdims=True)
    return np.einsum("...i->...", x)[..., None]


def _logarithm(total: Any, top: Any) -> Any:
    return np.log(total[..., 0]) + top[..., 0]
