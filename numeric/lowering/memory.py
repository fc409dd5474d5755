"""Memory that programs keep: arrays of one call, into which the next one computes.

What a call is given decides the shapes, dtypes and orders in memory of all that it computes, so the
arrays of the first call fit those of every later one that is given alike.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from symdiff.locks import fork_safe_lock

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from numeric.lowering.passes.reuse import Span
    from symdiff.graph.node import Shape

LEAST, MOST = 2**17, 2**24
"""Bytes of arrays that are kept.  The C library hands out smaller ones again by itself, and larger
ones are computed in blocks."""

# Beyond twice the largest block that it was ever given back, 32 MB at most, the GNU C library gives
# memory to the system, and asks for it again for the results of the next call, page by page.  So it
# is given such a block, which nobody has touched: up to 64 MB stay with the process from now on.
np.empty(2**25 - 2**16, np.uint8)

_SETS = 4  # of arrays that one program keeps: calls that run at once, or are given other shapes
_BYTES = 2**26  # of all of them


class Arrays(list[Any]):
    """The arrays of one call, by their slots; None where NumPy is to make a new one."""

    learning = True
    nbytes = 0

    def __setitem__(self, slot: Any, value: Any) -> None:
        """Keep what the first call computed, where it is worth it."""
        new = self.learning and value.__class__ is np.ndarray and value.base is None
        if new and LEAST <= value.nbytes <= MOST:
            super().__setitem__(slot, value)

    def settle(self, spans: Sequence[Span]) -> None:
        """Let values that are not needed at the same time have one array, if it fits both."""
        users: list[tuple[Any, int]] = []  # arrays, and the places of the last steps to read them
        for slot, (value, span) in enumerate(zip(self, spans, strict=True)):
            if value is None:
                continue
            for k, (array, last) in enumerate(users):
                free = last < span.first or (span.elementwise and last == span.first)
                if free and _layout(array) == _layout(value):
                    super().__setitem__(slot, array)
                    users[k] = array, span.last
                    break
            else:
                users.append((value, span.last))
        self.learning = False
        self.nbytes = sum(array.nbytes for array, _ in users)


class Memory:
    """The arrays that one program keeps between calls: a few sets, each in use by one call at most.

    ``spans`` are those of its slots, in the order of their steps.

    >>> import math
    >>> from numeric.lowering.passes.reuse import Span
    >>> memory = Memory([Span(0, 1, True)])
    >>> def program(x, kept):
    ...     y = kept[0] = np.exp(x, out=kept[0])
    ...     return (y.sum(),)
    >>> run = memory.keeping(program)
    >>> x = np.ones(LEAST // 8)
    >>> run(x) == run(x), memory.nbytes == x.nbytes
    (True, True)
    """

    def __init__(self, spans: Sequence[Span]) -> None:
        self._spans = spans
        self._lock = fork_safe_lock()
        self._free: list[tuple[Hashable, Arrays]] = []

    def keeping(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """``run``, given arrays to compute into as well, which nobody else has meanwhile.

        What a call leaves undone, because it raises, is not kept.
        """

        def called(*given: Any) -> Any:
            key = tuple([_layout(v) for v in given])
            kept = self._taken(key)
            results = run(*given, kept)
            if kept.learning:
                kept.settle(self._spans)
            with self._lock:
                self._free.append((key, kept))
                while len(self._free) > _SETS or sum(one.nbytes for _, one in self._free) > _BYTES:
                    del self._free[0]
            return results

        return called

    def _taken(self, key: Hashable) -> Arrays:
        with self._lock:
            for i in range(len(self._free) - 1, -1, -1):
                if self._free[i][0] == key:
                    return self._free.pop(i)[1]
        return Arrays([None] * len(self._spans))

    def __str__(self) -> str:
        return f"{len(self._spans)} of them in memory kept between calls, {self.nbytes} bytes now"

    @property
    def nbytes(self) -> int:
        """The bytes of the arrays that wait for a call."""
        with self._lock:
            return sum(kept.nbytes for _, kept in self._free)

    def free(self) -> None:
        """Give the arrays back; calls that are running keep theirs."""
        with self._lock:
            self._free.clear()


def may_be_large(shape: Shape) -> bool:
    """Whether an array may be worth keeping; one whose axes have names may have any size."""
    known = [dim for dim in shape if isinstance(dim, int)]
    return bool(shape) and (len(known) < len(shape) or math.prod(known) * 8 >= LEAST)


def _layout(value: Any) -> Hashable:
    """All that decides what is computed of a value, but for its numbers."""
    if value.__class__ is np.ndarray:
        return value.shape, value.strides, value.dtype
    return tuple(value.values()) if isinstance(value, dict) else value.__class__
