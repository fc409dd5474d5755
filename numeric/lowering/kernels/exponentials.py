"""Sums of exponentials: their logarithm, and the share of each of them, by one exponential each.

All are over the last axis, less the largest element where exponentials may leave the floats or lose
digits.
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
        return _logarithm(x, total, top)
    finally:
        set_noise(before)


def softmax(x: np.ndarray, over: Over = _whole) -> tuple[Any, np.ndarray]:
    """``logsumexp(x)``, and ``exp(x - logsumexp(x))`` as the exponentials over their sum.

    They are multiplied by its reciprocal, in half the time of quotients.

    >>> value, shares = softmax(np.array([1000.0, 1000.0]))
    >>> float(value) == 1000.0 + float(np.log(2.0)), shares.tolist()
    (True, [0.5, 0.5])
    """
    shares = np.empty_like(x)

    def scale(here: slice) -> None:
        e = shares[..., here]
        np.multiply(e, share, out=e)

    before = noise()
    try:
        set_noise(SILENCE)
        total, top = _totals(x, over, shares)
        value = _logarithm(x, total, top)
        share = 1 / total
        over(scale)
        finite = None if top is None else np.isfinite(total)
    finally:
        set_noise(before)
    if finite is None or finite.all():  # 0/0 is right for none
        return value, shares
    # Beside an infinity all others have no share.
    return value, np.where(finite, shares, np.exp(x - np.expand_dims(value, -1)))


def _totals(x: np.ndarray, over: Over, out: np.ndarray | None = None) -> tuple[Any, Any]:
    """The sums of the exponentials of x less what is subtracted, and that; ``out`` has them.

    Nothing is subtracted in rows whose exponentials are good for their sum.  Where that is all of
    them, the largest is not looked for.
    """

    def total(top: Any) -> Any:
        def part(here: slice) -> Any:
            return _sum(_exponentials(x[..., here], top, None if out is None else out[..., here]))

        return added(over(part))

    plain = None
    if x.size and x.dtype in _FAR:
        plain = total(None)
        least, most = _range(plain)
        if most < np.inf:
            if least >= 1:
                return plain, None
            low = over(lambda here: x[..., here].min())
            if min(low) >= -_FAR[x.dtype]:
                return plain, None
    top = _top(x, plain)
    return total(top), top


def _range(x: np.ndarray) -> tuple[Any, Any]:
    """The least and the largest element; of one, no reduction takes a microsecond to find it."""
    return (x.item(), x.item()) if x.size == 1 else (x.min(), x.max())


def _exponentials(x: np.ndarray, top: Any, out: np.ndarray | None) -> Any:
    """``exp(x - top)``, of x itself where top is None."""
    if top is None:
        return np.exp(x, out=out)
    e = np.subtract(x, top, out=out)
    return np.exp(e, out=e)


_FAR = {np.dtype(t): float(np.log(np.finfo(t).max)) - 23 for t in (np.float32, np.float64)}
"""How far below 0 elements may be such that their exponentials have all digits."""


def _top(x: np.ndarray, plain: Any) -> Any:
    """What is subtracted in each row: the largest element where it is finite, else 0.

    And 0 where the sum ``plain`` of the exponentials themselves is a float, and those that matter
    have all digits: all of the row, or those that count beside 1.  This does not depend on other
    rows.
    """
    top = _largest(x)[..., None]
    needed = np.isfinite(top)
    if plain is not None:
        whole = _smallest(x)[..., None] >= -_FAR[x.dtype]
        needed &= ~((plain < np.inf) & ((plain >= 1) | whole))
    return np.where(needed, top, 0)


_largest = by_place(
    lambda x: np.maximum.reduce(x, axis=-1, initial=-np.inf), lambda x: x.argmax(axis=-1)
)
_smallest = by_place(
    lambda x: np.minimum.reduce(x, axis=-1, initial=np.inf), lambda x: x.argmin(axis=-1)
)
_NEAR = 2.0**-6  # beyond, digits are lost that the operands do not have either
_SHORT = 128  # elements that NumPy adds in a row, in pairs only beyond


def _sum(x: np.ndarray) -> Any:
    """The sums along the last axis, of which NumPy's cost most to begin where they are many."""
    if x.shape[-1] > _SHORT or x.ndim < 2 or x.strides[-1] != x.itemsize:
        return np.add.reduce(x, axis=-1, keepdims=True)
    return np.einsum("...i->...", x)[..., None]


def _logarithm(x: np.ndarray, total: Any, top: Any) -> Any:
    """The logarithms of the sums.

    Near 0 that of a sum near 1 has few digits right.  There it is that of 1 and the rest, when the
    largest element is taken out.
    """
    value = np.log(total[..., 0])
    near = np.abs(value) < _NEAR
    if top is not None:
        near &= top[..., 0] == 0
        value = value + top[..., 0]
    if near.any() if near.ndim else near:
        rows = x[near]
        largest = np.arange(len(rows)), rows.argmax(axis=-1)
        most = rows[largest]
        e = np.exp(rows - most[:, None])
        e[largest] = 0
        value = np.asarray(value)
        value[near] = most + np.log1p(_sum(e)[:, 0])
    return value[()]
