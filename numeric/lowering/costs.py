"""What computing costs: the numbers by which passes decide what is faster.

Lengths that a program does not know, calls and operations of NumPy in elements that it writes in
the same time, sizes of caches, and microseconds of steps.  ``python -m benchmarks.costs`` measures
each of them on another machine.  Limits of effort, of memory and of what a compiler takes stay
where they are used, for they are no costs, and so do thresholds that one pass alone has.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from numeric.lowering import kinds
from symdiff.graph import ops

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numeric.lowering.steps import Schedule, Step
    from symdiff.graph.node import Dim, Dtype, Shape

# Lengths and bytes --------------------------------------------------------------------------------

NOMINAL = 1024
"""What an axis of a named length counts for: it is one of data, longer than axes of numbers."""

NUMBER = 64
"""Bytes that a scalar counts for: it is an object, and is handed over by itself."""


def length(dim: Dim) -> int:
    """Return the length of an axis, NOMINAL for one that is not known.

    >>> length(3)
    3
    """
    return dim if isinstance(dim, int) else NOMINAL


def elements(shape: Iterable[Dim]) -> int:
    """Return how many elements an array has, more or less.

    >>> elements((2, 3)), elements(())
    (6, 1)
    """
    return math.prod(map(length, shape))


def size_in_bytes(shape: Shape, dtype: Dtype) -> int:
    """Return how many bytes keep a value, more or less.

    >>> size_in_bytes((2, 3), float), size_in_bytes((0,), bool), size_in_bytes((), float)
    (48, 1, 64)
    """
    return max(elements(shape), 1) * (1 if dtype is bool else 8) if shape else NUMBER


# Calls and operations, in elements that NumPy writes in the same time -----------------------------

CALL = 1024
"""A call: an array of so many elements costs as much again."""

CALLS = 4 * CALL
"""A few calls: less is nothing, and no reason to write a program in another way."""

FUNCTION = 10
"""A function of one element, as exp."""

BLAS = 8
"""Multiplications of a matrix product by BLAS that take the time of one element."""

CROSSING = 2
"""An element that one kernel writes and another one reads."""

# Caches, in elements ------------------------------------------------------------------------------

BLOCK = 32768
"""Elements of the widest value in a block: a few such arrays stay in the cache of a core."""

MANY = 16
"""Blocks beyond which they are twice as large: each costs microseconds of Python, more than larger
arrays cost in the next cache, and there are enough for all threads."""

POINTS = 8192
"""Points in a block: a program of scalars has dozens of arrays at a time, and such as have more
than 128 KB the C library gives back to the system and asks for again, page by page."""

LARGE = 2 * BLOCK
"""Elements of the widest value from which on rows are computed in blocks."""

HANDED = 8 * LARGE
"""The same of blocks that hand arrays to other steps, as to matrix products: these are new memory,
where values that are kept stay in the cache."""

# Microseconds of steps ----------------------------------------------------------------------------


class Costs(NamedTuple):
    """Microseconds, as far as a choice needs them.

    ``scalar``: of arithmetic of two scalars; ``function``: of a function of one.  ``call``: of a
    call of NumPy, apart from its elements; ``element``: of each of these; ``read``: of an element
    that is taken out of an array.
    """

    scalar: float
    function: float
    call: float = 0.45
    element: float = 0.0008
    read: float = 0.04

    @property
    def least(self) -> int:
        """The scalar steps that take as long as three calls: one over arrays, and its operands."""
        return math.ceil(3 * self.call / self.scalar)

    def of_groups(self, sums: int, groups: Sequence[int], scalars: int) -> float:
        """Return what so many sums, groups of so many values and single scalars take at least."""
        arrays = sum([self.call + self.element * count for count in groups])
        return self.call * sums + arrays + self.scalar * scalars

    def of_program(self, schedule: Schedule) -> float:
        """Return what the steps of a schedule take."""
        returned = frozenset(schedule.results)
        found = 0.0
        for step in schedule.steps:
            if step.kind.elementwise:
                found += self._of(step)
            elif isinstance(step.kind, kinds.Element) and step.results[0] in returned:
                found += self.read / 2  # with others, as a list
            elif isinstance(step.kind, kinds.Stack) and step.operands == schedule.params:
                found += self.call + self.read / 8 * len(step.operands)
            else:
                found += self._of(step)
        return found

    def _of(self, step: Step) -> float:
        shape, kind, count = step.shapes[0], step.kind, len(step.operands)
        if step.weak or kind.leaf:
            return 0
        if not kind.elementwise and isinstance(kind, _READS):
            return self.read
        of_array = not kind.elementwise and isinstance(kind, kinds.ByKernel)
        if not shape and not of_array:
            function = isinstance(kind, kinds.Pointwise)
            return self.function if function else self.scalar * max(count, 2) / 2
        found = self.call + self.element * elements(shape)
        if isinstance(kind, kinds.Stack):
            return found + self.read * count
        if not of_array:
            return found * max(count - 1, 1)
        if isinstance(step.op, ops.Slice) or elements(shape) == 1:
            return self.call / 4
        if isinstance(step.op, ops.Concat | ops.Contract | ops.Unslice):
            return 2 * found + self.call / 4 * count
        return 2 * found


_READS = kinds.Element, kinds.PartOfSlice

FLOATS, ARRAYS = Costs(0.02, 0.05), Costs(0.09, 0.5)
"""Of Python floats, and of NumPy's numbers and arrays."""
