"""What a shard computes, and how the subtotals of shards make one: what workers run.

Everything here is found by name when a worker unpickles it, and knows nothing of who runs it.
"""

from __future__ import annotations

import pickle
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from numeric.lowering.function import Function

# So many neighbours are joined by one task: a tree of three levels, as it is for any grouping.
GROUP = 8


class ShardError(RuntimeError):
    """What went wrong on the shard of this number; the error itself is the cause."""

    def __init__(self, message: str, shard: int) -> None:
        super().__init__(message)
        self.shard = shard

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.shard)


class Subtotal(NamedTuple):
    """What the rows of a shard, or of neighbouring ones, contribute.

    ``values`` is None where there are no rows: an empty shard has nothing to say.
    """

    shard: int  # the first one
    rows: int
    kinds: tuple[str, ...]  # of the arrays: dtypes and shapes, which are the same in all shards
    values: tuple[Any, ...] | None


class ShardProgram:
    """What each shard computes: a Function of its rows and of what is the same for all.

    ``rows`` are the names of the arrays that have rows, with their axis; they are the first inputs.
    Without a function the rows are counted.  ``joins`` are the names of NumPy's functions by which
    the values of two subtotals become one's.
    """

    def __init__(
        self,
        function: Function | None,
        rows: tuple[tuple[str, int], ...],
        joins: tuple[str, ...],
        over: str,
    ) -> None:
        self.function, self.rows, self.joins, self.over = function, rows, joins, over
        self._pickled: bytes | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        # A worker unpickles a program once, not for each of its shards.
        if self._pickled is None:
            parts = (self.function, self.rows, self.joins, self.over)
            self._pickled = pickle.dumps(parts)
        return _unpickled, (self._pickled,)

    def subtotal(
        self, shard: int, given: tuple[Any, ...], *data: Any, empty: bool = False
    ) -> Subtotal:
        """The subtotal of one shard; ``empty``: of one without rows, too.

        Raises ShardError from whatever is wrong with it.
        """
        try:
            arrays = [_laid_out(x) for x in data]
            rows = self._count(arrays)
            kinds = tuple(map(self._kind, self.rows, arrays))
            if self.function is None or not (rows or empty):
                return Subtotal(shard, rows, kinds, () if self.function is None else None)
            same = [_laid_out(x) if isinstance(x, np.ndarray) else x for x in given]
            # Whole numbers of real operands, as counts of ties, come as real ones.
            values = tuple(
                [
                    value.astype(np.int64) if y.dtype is int and value.dtype.kind == "f" else value
                    for y, value in zip(
                        self.function.outputs, self.function(*arrays, *same), strict=True
                    )
                ]
            )
        except Exception as error:
            raise ShardError(f"shard {shard}: {type(error).__name__}: {error}", shard) from error
        return Subtotal(shard, rows, kinds, values)

    def _count(self, arrays: Sequence[NDArray[Any]]) -> int:
        counts: dict[str, int] = {}
        for (name, axis), x in zip(self.rows, arrays, strict=True):
            if x.ndim <= axis:
                raise ValueError(f"{name} has shape {x.shape}; its axis {axis} is that of rows")
            counts[name] = x.shape[axis]
        if len(set(counts.values())) > 1:
            found = ", ".join([f"{name} has {n}" for name, n in counts.items()])
            raise ValueError(f"numbers of rows, the axis {self.over}, differ: {found}")
        return next(iter(counts.values()))

    def _kind(self, row: tuple[str, int], x: NDArray[Any]) -> str:
        axes = [self.over if k == row[1] else str(n) for k, n in enumerate(x.shape)]
        return f"{x.dtype} ({', '.join(axes)})"

    def joined(self, subtotals: Sequence[Subtotal]) -> Subtotal:
        """The subtotal of neighbours: pairs are joined, then pairs of these, an odd one at last.

        So the order in which numbers are added is that of the shards, whoever computes them.
        """
        found = list(subtotals)
        while len(found) > 1:
            pairs = [self._pair(a, b) for a, b in zip(found[::2], found[1::2], strict=False)]
            found = pairs + found[2 * len(pairs) :]
        return found[0]

    def _pair(self, a: Subtotal, b: Subtotal) -> Subtotal:
        for (name, _), one, other in zip(self.rows, a.kinds, b.kinds, strict=True):
            if one != other:
                raise TypeError(
                    f"{name} is {one} in shard {a.shard} and {other} in shard {b.shard}: "
                    "shards have to be alike"
                )
        if a.values is None or b.values is None:
            values = b.values if a.values is None else a.values
        else:
            with np.errstate(all="ignore"):  # as in the sums of an array
                values = tuple(
                    [
                        getattr(np, join)(x, y)
                        for join, x, y in zip(self.joins, a.values, b.values, strict=True)
                    ]
                )
        return Subtotal(a.shard, a.rows + b.rows, a.kinds, values)

    def joined_in_order(self, subtotals: Iterable[Subtotal]) -> Subtotal:
        """The same, of subtotals that come one after the other: few of them are kept at a time."""
        levels: list[Subtotal | None] = []
        for subtotal in subtotals:
            for k, other in enumerate(levels):
                if other is None:
                    levels[k] = subtotal
                    break
                levels[k], subtotal = None, self._pair(other, subtotal)
            else:
                levels.append(subtotal)
        left = [subtotal for subtotal in levels if subtotal is not None]
        result = left[0]
        for subtotal in left[1:]:
            result = self._pair(subtotal, result)
        return result


def _laid_out(x: Any) -> NDArray[Any]:
    """The array as the wire leaves it at best: contiguous, and each element at its address.

    The order in which NumPy and BLAS add depends on both.  What was received may begin at any
    byte, and a view that was sent is contiguous there.
    """
    array = np.asarray(x)
    return array if array.flags.aligned and array.flags.forc else array.copy(order="A")


@lru_cache(maxsize=64)
def _unpickled(data: bytes) -> ShardProgram:
    return ShardProgram(*pickle.loads(data))


def groups(items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Neighbours, ``GROUP`` at a time.

    >>> [len(group) for group in groups(range(20))]
    [8, 8, 4]
    """
    for start in range(0, len(items), GROUP):
        yield items[start : start + GROUP]
