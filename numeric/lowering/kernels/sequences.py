"""The NumPy bodies of ops along the last axis: taking, ordering, running products, recurrences."""

from __future__ import annotations

import math
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from symdiff.contexts import contained

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray


def take(x: np.ndarray, index: np.ndarray) -> np.ndarray:
    """``x[..., index[..., j]]``; ``index`` may lack leading axes of ``x``.

    Raises IndexError for an index out of bounds.

    >>> take(np.array([[1, 2], [3, 4]]), np.array([-1])).tolist()
    [[2], [4]]
    """
    index = index.astype(np.intp, copy=False)
    if index.ndim == 1:
        return x[..., index]
    wide = np.broadcast_to(index, x.shape[:-1] + index.shape[-1:])
    result: np.ndarray = np.take_along_axis(x, wide, axis=-1)
    return result


def powers(x: np.ndarray, exponents: range, axis: int) -> np.ndarray:
    """``x`` to consecutive exponents along a new axis, each the one before times x.

    >>> powers(np.array([2.0, 3.0]), range(3, -1, -1), 1).tolist()
    [[8.0, 4.0, 2.0, 1.0], [27.0, 9.0, 3.0, 1.0]]
    """
    rows = np.empty((len(exponents), *x.shape), x.dtype)
    growing = rows[:: exponents.step]  # the array itself has no negative strides, which BLAS copies
    least = min(exponents)
    growing[0] = x**least if least else 1
    for k in range(1, len(growing)):
        np.multiply(growing[k - 1], x, out=growing[k, ...])  # of a number, too, an array
    return np.moveaxis(rows, 0, axis)


def apart(x: np.ndarray) -> np.ndarray:
    """The same array, its last axis the outermost one in memory.

    >>> apart(np.zeros((5, 3))).strides
    (8, 40)
    """
    others = range(x.ndim - 1)
    turned = np.ascontiguousarray(x.transpose(x.ndim - 1, *others))
    return turned.transpose(*[k + 1 for k in others], 0)


def put(x: np.ndarray, index: np.ndarray, length: int) -> np.ndarray:
    """Zeros of ``length`` on the last axis, ``x`` added at ``index``, repeated places included.

    Raises IndexError for an index out of bounds.

    >>> put(np.array([1, 2, 3]), np.array([0, 2, 0]), 4).tolist()
    [4, 0, 2, 0]
    """
    index = np.broadcast_to(index, x.shape).astype(np.intp, copy=False)
    outside = (index < -length) | (index >= length)
    if outside.any():
        wrong = index[outside].flat[0]
        raise IndexError(f"index {wrong} is out of bounds for an axis of length {length}")
    result = np.zeros((*x.shape[:-1], length), dtype=x.dtype)
    if x.ndim == 1:
        np.add.at(result, index, x)
    elif x.size:
        rows = result.reshape((-1, length))
        place = np.arange(len(rows))[:, None]
        np.add.at(rows, (place, index.reshape((len(rows), -1))), x.reshape((len(rows), -1)))
    return result


def searchsorted(edges: np.ndarray, x: np.ndarray, side: Literal["left", "right"]) -> np.ndarray:
    """The places of ``x`` in ascending ``edges``, whose leading axes are the last ones of ``x``.

    >>> searchsorted(np.array([[1, 3], [5, 7]]), np.array([[2, 2], [9, 9]]), "left").tolist()
    [[1, 0], [2, 2]]
    """
    if edges.ndim == 1:
        return np.searchsorted(edges, x, side)
    result = np.empty(x.shape, np.intp)
    for place in np.ndindex(edges.shape[:-1]):
        result[(..., *place)] = np.searchsorted(edges[place], x[(..., *place)], side)
    return result


def recurrence(a: np.ndarray, b: np.ndarray, reverse: bool) -> np.ndarray:
    """``s_i = a_i s_(i-1) + b_i`` along the last axis, or over ``s_(i+1)`` from its end.

    >>> recurrence(np.array([5, 2, 3]), np.array([1, 1, 1]), False).tolist()
    [1, 3, 10]
    """
    result = np.array(b, dtype=np.result_type(a, b))
    n = b.shape[-1]
    for i in range(n - 2, -1, -1) if reverse else range(1, n):
        result[..., i] += a[..., i] * result[..., i + 1 if reverse else i - 1]
    return result


def shift(x: np.ndarray, offset: int) -> np.ndarray:
    """``x[..., i - offset]``, zeros from outside.

    >>> shift(np.array([1, 2, 3]), 1).tolist(), shift(np.array([1, 2, 3]), -2).tolist()
    ([0, 1, 2], [3, 0, 0])
    """
    result = np.zeros_like(x)
    if offset >= 0:
        result[..., offset:] = x[..., : max(x.shape[-1] - offset, 0)]
    else:
        result[..., : max(x.shape[-1] + offset, 0)] = x[..., -offset:]
    return result


def overlaps(x: np.ndarray) -> np.ndarray:
    """``value[..., k]``, the sum of ``x[..., i, j]`` over ``i + j = k``, by the shorter axis.

    >>> overlaps(np.array([[1.0, 2.0], [10.0, 20.0]])).tolist()
    [1.0, 12.0, 20.0]
    """
    x = x if x.shape[-1] <= x.shape[-2] else x.swapaxes(-1, -2)
    *batch, count, length = x.shape
    value = np.zeros((*batch, count + length - 1), x.dtype)
    for j in range(length):
        value[..., j : j + count] += x[..., j]
    return value


def fourier(x: np.ndarray, sines: bool) -> np.ndarray:
    """``sum_k x[..., k] cos(2πjk/n)`` for each j, or with sines.

    >>> fourier(np.array([1.0, 2.0]), False).tolist()
    [3.0, -1.0]
    """
    n = x.shape[-1]
    if not x.size:
        return x.astype(np.result_type(x, np.float16), copy=True)
    half = np.fft.rfft(x, axis=-1)  # its entries j and n - j are conjugate
    place = np.arange(n)
    mirrored = np.minimum(place, n - place)
    if not sines:
        return half.real[..., mirrored]
    return half.imag[..., mirrored] * np.where(2 * place > n, 1, -1).astype(half.real.dtype)


def cumprod(x: np.ndarray) -> np.ndarray:
    """The running products of the last axis."""
    result: np.ndarray = np.cumprod(x, axis=-1)
    return result


@contained
def logcumsumexp(x: np.ndarray) -> np.ndarray:
    """``log(cumsum(exp(x)))`` of the last axis: no exponential overflows.

    >>> logcumsumexp(np.array([1000.0, -np.inf])).tolist()
    [1000.0, 1000.0]
    """
    with np.errstate(invalid="ignore"):  # -inf and -inf
        result: np.ndarray = np.logaddexp.accumulate(x, axis=-1)
    return result


def argsort(x: np.ndarray) -> np.ndarray:
    """The places of the elements of the last axis in ascending order, equal ones in their order."""
    result: np.ndarray = np.argsort(x, axis=-1, kind="stable")
    return result


# Linear maps of trailing axes that write into zeros ---------------------------------------------


def line(first: int, stop: int, step: int) -> slice:
    """The slice of the places from ``first`` to, without, ``stop``; none counts from the end.

    >>> line(3, -1, -2), line(-1, -1, -2)
    (slice(3, None, -2), slice(0, 0, None))
    """
    if not range(first, stop, step):
        return slice(0, 0)
    return slice(first, None if stop < 0 else stop, step)


def unslice(x: np.ndarray, shape: tuple[int, ...], key: Any) -> np.ndarray:
    """Zeros of ``shape``, with ``x`` at ``key``.

    >>> unslice(np.array([1, 2]), (3,), np.s_[1:]).tolist()
    [0, 1, 2]
    """
    result = np.zeros(shape, dtype=x.dtype)
    result[key] = x
    return result


def placed(shape: tuple[int, ...], edges: Sequence[Any], *terms: tuple[Any, np.ndarray]) -> Any:
    """The sum of ``terms``, each a key and an array that has values there and is 0 elsewhere.

    ``edges`` are the places that the first one has and another one has not.  There the sum has a 0
    in it, so that it is not -0.

    >>> x, y = np.array([-0.0, 2.0]), np.array([3.0, -0.0])
    >>> placed((3,), (0,), (np.s_[:-1], x), (np.s_[1:], y)).tolist()
    [0.0, 5.0, 0.0]
    """
    key, x = terms[0]
    dtype = x.dtype
    result = np.zeros(shape, dtype)
    result[key] = x
    for key, x in terms[1:]:
        if x.dtype is not dtype:  # partial sums are rounded to the precision of what is in them
            return reduce(add, [unslice(x, shape, key) for key, x in terms])
        there = result[key]
        there += x
    for key in edges:
        result[key] += 0
    return result


class Scatter:
    """Adds the elements of its operand at flat places of trailing axes ``before``, zeros elsewhere.

    Places that get one element take it from where it is; whole runs of others are added.  Which
    element goes where is found once.

    >>> Scatter(np.array([2, 0, 2]), (4,))(np.array([1, 2, 3])).tolist()
    [2, 0, 4, 0]
    """

    def __init__(self, index: NDArray[np.intp], before: tuple[int, ...]) -> None:
        flat = index.ravel()
        self.axes, self.before, self.count = index.ndim, before, math.prod(before)
        order = np.argsort(flat, kind="stable")
        targets, starts, counts = np.unique(flat[order], return_index=True, return_counts=True)
        self.targets, self.sources = targets, order[starts]
        several = counts > 1
        self.repeated, self.runs = targets[several], order[np.repeat(several, counts)]
        self.starts = np.cumsum(counts[several]) - counts[several]
        self.full = 2 * targets.size > self.count  # so that places without elements are the few
        if self.full:
            self.empty = np.setdiff1d(np.arange(self.count), targets)
            self.sources = np.zeros(self.count, np.intp)
            self.sources[targets] = order[starts]

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """The sums of the elements of each place."""
        batch = x.shape[: x.ndim - self.axes]
        x = x.reshape((*batch, math.prod(x.shape[len(batch) :])))
        if self.full:
            result = x.take(self.sources, axis=-1)
            result[..., self.empty] = 0
        else:
            result = np.zeros((*batch, self.count), dtype=x.dtype)
            result[..., self.targets] = x.take(self.sources, axis=-1)
        if self.repeated.size:
            runs = x.take(self.runs, axis=-1)
            result[..., self.repeated] = np.add.reduceat(runs, self.starts, axis=-1)
        return result.reshape(batch + self.before)


def added(parts: Sequence[Any]) -> Any:
    """The sum of parts, in pairs: its rounding grows with the logarithm of their number.

    >>> added([1, 2, 3])
    6
    """
    values = list(parts)
    while len(values) > 1:
        pairs = [a + b for a, b in zip(values[::2], values[1::2], strict=False)]
        values = pairs + values[2 * len(pairs) :]
    return values[0]


def by_place(
    extreme: Callable[[np.ndarray], np.ndarray], place: Callable[[np.ndarray], np.ndarray]
) -> Callable[[np.ndarray], np.ndarray]:
    """The extreme elements, taken from where they are.

    NumPy finds the place of one in a short row of floats in a third of the time of its value.

    >>> largest = by_place(lambda x: x.max(axis=-1), lambda x: x.argmax(axis=-1))
    >>> largest(np.array([[1.0, 3.0], [2.0, 0.0]])).tolist()
    [3.0, 2.0]
    """

    def run(x: np.ndarray) -> np.ndarray:
        if x.dtype.kind != "f" or x.ndim < 2 or not x.flags.c_contiguous or not x.size:
            return extreme(x)
        starts = np.arange(0, x.size, x.shape[-1])
        found: np.ndarray = x.reshape(-1)[place(x).reshape(-1) + starts]
        return found.reshape(x.shape[:-1])

    return run
