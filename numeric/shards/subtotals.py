"""The computation of a shard, and the sum of subtotals: code that workers run.

Workers unpickle everything here by name.  It must not depend on the executor.
"""

from __future__ import annotations

import math
import pickle
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from symdiff.contexts import contained

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from numeric.lowering.function import Function
    from symdiff.graph.expr import Expr

# One task joins so many neighbours: three levels of the binary tree, so the grouping is the same.
GROUP = 8


class ShardError(RuntimeError):
    """An error on the shard with this number; the original error is the cause."""

    def __init__(self, message: str, shard: int) -> None:
        super().__init__(message)
        self.shard = shard

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.shard)


class Subtotal(NamedTuple):
    """The contribution of the rows of a shard, or of neighbouring shards.

    ``values`` is None without rows: an empty shard contributes nothing.  ``kept`` holds the values
    that each shard passes on to later passes.
    """

    shard: int  # the first shard
    rows: int
    kinds: tuple[str, ...]  # dtypes and shapes of the arrays, the same in all shards
    values: tuple[Any, ...] | None
    kept: tuple[tuple[Any, ...], ...] = ()


class Mask(NamedTuple):
    """A compact form of booleans: the positions of the true ones if they are few, else bits."""

    shape: tuple[int, ...]
    content: NDArray[Any]

    @classmethod
    def of(cls, values: NDArray[Any]) -> Mask:
        """Return the mask of an array.

        >>> Mask.of(np.arange(200) == 7).content, Mask.of(np.ones((2, 4), bool)).content
        (array([7]), array([255], dtype=uint8))
        """
        places = np.flatnonzero(values)
        sparse = 64 * places.size <= values.size
        return cls(values.shape, places if sparse else np.packbits(values))

    def array(self) -> NDArray[Any]:
        """Return the booleans."""
        if self.content.dtype == np.uint8:
            bits = np.unpackbits(self.content, count=math.prod(self.shape))
            return bits.view(bool).reshape(self.shape)
        values = np.zeros(self.shape, bool)
        values.reshape(-1)[self.content] = True
        return values


class ShardProgram:
    """The computation of a shard: a Function of its rows and of operands common to all shards.

    ``rows`` are the names of the arrays with rows, each with its axis.  They are the first inputs,
    before the values that the shard kept in earlier passes.  The last input has the precision of
    the call.  Without a function only the rows are counted.  ``joins`` are the names of the NumPy
    functions that join the values of two subtotals.  Outputs after these are kept for later passes.
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
        self, shard: int, shared: tuple[Any, ...], *data: Any, empty: bool = False
    ) -> Subtotal:
        """Return the subtotal of one shard; with ``empty`` also of a shard without rows.

        ``data`` holds its rows and the values that it kept.  Any error becomes a ShardError.
        """
        try:
            arrays = [_laid_out(x) for x in data[: len(self.rows)]]
            rows = self._count(arrays)
            kinds = tuple(map(self._kind, self.rows, arrays))
            if self.function is None or not (rows or empty):
                nothing = () if self.function is None else None
                return Subtotal(shard, rows, kinds, nothing, ((),))
            kept = [x.array() if isinstance(x, Mask) else x for x in data[len(self.rows) :]]
            same = [_laid_out(x) if isinstance(x, np.ndarray) else x for x in shared]
            values = self.function(*arrays, *kept, *same)
            values = in_kind(self.function.outputs, values, same[-1].dtype)
            count = len(self.joins)
            later = tuple([Mask.of(x) if x.dtype == bool else x for x in values[count:]])
        except Exception as error:
            raise ShardError(f"shard {shard}: {type(error).__name__}: {error}", shard) from error
        return Subtotal(shard, rows, kinds, values[:count], (later,))

    def _count(self, arrays: Sequence[NDArray[Any]]) -> int:
        counts: dict[str, int] = {}
        for (name, axis), x in zip(self.rows, arrays, strict=True):
            if x.ndim <= axis:
                raise ValueError(f"{name} has shape {x.shape}; its axis {axis} is that of rows")
            counts[name] = x.shape[axis]
        if len(set(counts.values())) > 1:
            listed = ", ".join([f"{name} has {n}" for name, n in counts.items()])
            raise ValueError(f"numbers of rows, the axis {self.over}, differ: {listed}")
        return next(iter(counts.values()))

    def _kind(self, row: tuple[str, int], x: NDArray[Any]) -> str:
        axes = [self.over if k == row[1] else str(n) for k, n in enumerate(x.shape)]
        return f"{x.dtype} ({', '.join(axes)})"

    def joined(self, subtotals: Sequence[Subtotal]) -> Subtotal:
        """Join the subtotals of neighbours: pairs, then pairs of these, with an odd one last.

        So numbers are added in the order of the shards, on any executor.
        """
        level = list(subtotals)
        while len(level) > 1:
            pairs = [self._pair(a, b) for a, b in zip(level[::2], level[1::2], strict=False)]
            level = pairs + level[2 * len(pairs) :]
        return level[0]

    @contained
    def _pair(self, a: Subtotal, b: Subtotal) -> Subtotal:
        for (name, _), one, other in zip(self.rows, a.kinds, b.kinds, strict=True):
            if one != other:
                raise TypeError(
                    f"{name} is {one} in shard {a.shard} and {other} in shard {b.shard}: "
                    "all shards need the same dtypes and shapes"
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
        return Subtotal(a.shard, a.rows + b.rows, a.kinds, values, a.kept + b.kept)

    def joined_in_order(self, subtotals: Iterable[Subtotal]) -> Subtotal:
        """Join subtotals that arrive in order, with few of them in memory at a time."""
        levels: list[Subtotal | None] = []
        for subtotal in subtotals:
            for k, other in enumerate(levels):
                if other is None:
                    levels[k] = subtotal
                    break
                levels[k], subtotal = None, self._pair(other, subtotal)
            else:
                levels.append(subtotal)
        partial = [subtotal for subtotal in levels if subtotal is not None]
        result = partial[0]
        for subtotal in partial[1:]:
            result = self._pair(subtotal, result)
        return result


def in_kind(outputs: Sequence[Expr], values: Sequence[Any], precision: np.dtype) -> tuple[Any, ...]:
    """Convert values to the dtypes of the outputs, for the programs of later passes.

    Integer functions of real operands, such as steps, return real numbers.
    """
    whole = [
        value.astype(np.int64) if y.dtype is int and value.dtype.kind == "f" else value
        for y, value in zip(outputs, values, strict=True)
    ]
    return in_precision([y.dtype is float for y in outputs], whole, precision)


def in_precision(
    real: Sequence[bool], values: Sequence[Any], precision: np.dtype
) -> tuple[Any, ...]:
    """Convert the ``real`` values to the precision of a call, as ``lower`` does.

    A call in narrow precision returns no wide numbers, though counts produce some on the way.  A
    call in wide precision keeps narrow numbers.  Tensors stay as their Function made them.
    """
    narrow = precision.kind == "f" and precision.itemsize < 8
    return tuple(
        [
            value.astype(precision)
            if is_real
            and isinstance(value, np.ndarray | np.generic)
            and value.dtype != precision
            and (narrow or value.dtype.kind != "f")
            else value
            for is_real, value in zip(real, values, strict=True)
        ]
    )


def _laid_out(x: Any) -> NDArray[Any]:
    """Return the array in the layout that it has after a transfer: contiguous and aligned.

    The order of NumPy's and BLAS's additions depends on both.  Received data may begin at any byte,
    and a view is contiguous after a transfer.
    """
    array = np.asarray(x)
    return array if array.flags.aligned and array.flags.forc else array.copy(order="A")


@lru_cache(maxsize=64)
def _unpickled(data: bytes) -> ShardProgram:
    return ShardProgram(*pickle.loads(data))


def groups(items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Yield neighbours, ``GROUP`` at a time.

    >>> [len(group) for group in groups(range(20))]
    [8, 8, 4]
    """
    for start in range(0, len(items), GROUP):
        yield items[start : start + GROUP]
