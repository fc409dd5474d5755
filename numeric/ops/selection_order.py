"""The order of ties in a selection: repeat the steps of PyTorch's partial sorts.

A selection of the k-th element leaves ties in an order that depends on the steps of the algorithm.
This module repeats the steps for short arrays; in long arrays ties stay in their order.
"""

from __future__ import annotations

import numpy as np

__all__: list[str] = []

# Elements up to which the steps are followed.
_SHORT = 4096

# So many times k elements, or more, are searched with a heap.
_HEAP = 64


def tied(ordered: np.ndarray, axis: int) -> bool:
    """Whether a short array to sort along an axis has equal elements in a line."""
    if ordered.__class__ is not np.ndarray or not 0 < ordered.size <= _SHORT:
        return False
    lines = np.moveaxis(ordered, axis, -1)
    return bool((lines[..., 1:] == lines[..., :-1]).any())


def first_places(a: np.ndarray, k: int, axis: int, largest: bool) -> np.ndarray | None:
    """Return the places of the first k elements in order, or None for a long array."""
    n = a.shape[axis]
    if not k or k * _HEAP <= n:
        return None

    def line(values: np.ndarray) -> list[int]:
        ranks = _ranks(values)
        key = (-ranks if largest else ranks).tolist()
        order = list(range(n))
        _partition(order, key, k - 1)
        return [*sorted(order[: k - 1], key=key.__getitem__), order[k - 1]]

    return np.apply_along_axis(line, axis, a).astype(np.int64)


def kth_place(a: np.ndarray, k: int, axis: int) -> np.ndarray:
    """Return the place of the k-th smallest element, k from 0."""
    return np.apply_along_axis(lambda v: _selected(_ranks(v).tolist(), k), axis, a).astype(np.int64)


def _ranks(values: np.ndarray) -> np.ndarray:
    """Return integers in the order of the elements, nan last."""
    return np.unique(values, return_inverse=True)[1].reshape(-1)


def _partition(order: list[int], key: list[int], nth: int) -> None:
    """Move the nth place of ``order`` to its sorted position: C++'s ``nth_element``."""
    first, last = 0, len(order)
    while last - first > 3:
        low, mid, high = first + 1, first + (last - first) // 2, last - 1
        # The median of three becomes the pivot; of equal ones the one that comparisons meet first.
        a, b, c = (key[order[i]] for i in (low, mid, high))
        if a < b:
            chosen = mid if b < c else high if a < c else low
        else:
            chosen = low if a < c else high if b < c else mid
        order[first], order[chosen] = order[chosen], order[first]
        cut = _cut(order, key, low, last, key[order[first]])
        if cut <= nth:
            first = cut
        else:
            last = cut
    order[first:last] = sorted(order[first:last], key=key.__getitem__)


def _cut(order: list[int], key: list[int], i: int, j: int, pivot: int) -> int:
    """Move keys below the pivot before those above; keys equal to it stop both scans."""
    while True:
        while key[order[i]] < pivot:
            i += 1
        j -= 1
        while pivot < key[order[j]]:
            j -= 1
        if i >= j:
            return i
        order[i], order[j] = order[j], order[i]
        i += 1


def _selected(key: list[int], k: int) -> int:
    """Return the place of the k-th smallest key: quickselect, pivot the median of three."""
    order = list(range(len(key)))
    left, right = 0, len(key) - 1

    def ordered(i: int, j: int) -> None:
        if key[order[i]] > key[order[j]]:
            order[i], order[j] = order[j], order[i]

    while right > left + 1:
        middle = (left + right) // 2
        order[middle], order[left + 1] = order[left + 1], order[middle]
        ordered(left + 1, right)
        ordered(left, right)
        ordered(left + 1, left)
        i, j, pivot = left + 1, right, key[order[left]]
        while True:
            i += 1
            while key[order[i]] < pivot:
                i += 1
            j -= 1
            while pivot < key[order[j]]:
                j -= 1
            if j < i:
                break
            order[i], order[j] = order[j], order[i]
        order[left], order[j] = order[j], order[left]
        left, right = i if j <= k else left, j - 1 if j >= k else right
    if right == left + 1:
        ordered(left, right)
    return order[k]
