"""Kernels as they run: over blocks of rows that stay in the cache, on threads.

Blocks have fixed boundaries, which depend on lengths alone, and what is summed over rows is summed
over blocks in pairs, in their order: results are the same for any number of threads.
"""

from __future__ import annotations

import math
import os
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from functools import cache, reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.lowering import costs, processors
from numeric.lowering.kernels.exponentials import logsumexp, softmax
from numeric.lowering.kernels.opaque import real
from numeric.lowering.kernels.sequences import added, placed
from numeric.lowering.passes.padding import edges, keyed
from numeric.lowering.passes.rows import ROWS, Pads
from symdiff.graph.axis_lengths import lengths
from symdiff.locks import cached_property, fork_safe_lock

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numeric.lowering.passes.rows import Kernel

VARIABLE = "SYMDIFF_NUM_THREADS"


@cache
def default_threads() -> int:
    """On how many threads blocks are computed, where nobody says so.

    The environment variable SYMDIFF_NUM_THREADS, else the number of processors that this process
    may use.  Raises ValueError where the variable is not a positive whole number.
    """
    text = os.environ.get(VARIABLE)
    if text is None:
        free = getattr(os, "sched_getaffinity", None)
        return len(free(0)) if free is not None else os.cpu_count() or 1
    if not text.isdigit() or int(text) < 1:
        raise ValueError(f"{VARIABLE} is {text!r}; give a positive whole number of threads")
    return int(text)


class _Pool:
    """Threads that all Functions share.  A forked child has not its parent's, and makes others."""

    def __init__(self) -> None:
        self._lock = fork_safe_lock()
        self._made: tuple[int, int, ThreadPoolExecutor] | None = None

    def helpers(self, count: int) -> ThreadPoolExecutor:
        """At least so many threads beside the caller's."""
        with self._lock:
            if self._made is None or self._made[0] != os.getpid() or self._made[1] < count:
                pool = ThreadPoolExecutor(count, thread_name_prefix="symdiff")
                self._made = os.getpid(), count, pool
            return self._made[2]


_POOL = _Pool()


def spread(run: Callable[[int], object], count: int, threads: int | None) -> None:
    """``run(i)`` for i below ``count``, on so many threads, the caller's among them.

    Each call sees the caller's context: warnings are reported, or not, as there.  What a call
    raises is raised here, once no call is running.  Where no other threads can be had, as when the
    interpreter ends, the caller's does all.
    """
    threads = min(threads or default_threads(), count)
    if threads < 2:
        for i in range(count):
            run(i)
        return
    left = iter(range(count))  # whoever asks first gets the next one
    failed: list[bool] = []
    held = [run]  # a thread that is done may keep its work for a moment, and not its arrays, too
    del run
    here = processors.current()

    def help_out(turn: Future[None]) -> None:
        if turn.set_running_or_notify_cancel():
            try:
                processors.keep_off(here)
                work()
            except BaseException as error:
                turn.set_exception(error)
            else:
                turn.set_result(None)

    def work() -> None:
        try:
            for i in left:
                if failed:
                    return
                held[0](i)
        except BaseException:
            failed.append(True)  # no thread starts another one
            raise

    pool = _POOL.helpers(threads - 1)
    turns: list[Future[None]] = []
    try:
        # The interpreter ends, or the system has no more threads: what no helper does, the caller
        # does.  A turn may be in the queue all the same.
        with suppress(RuntimeError):
            for _ in range(threads - 1):
                turns.append(Future())
                pool.submit(copy_context().run, help_out, turns[-1])
        work()
    finally:
        # Helpers that have not begun are not waited for: another caller may keep them busy.
        running = [turn for turn in turns if not turn.cancel()]
        errors = [turn.exception() for turn in running]
        held.clear()
    for error in errors:
        if error is not None:
            raise error


def _with_rows(sizes: Mapping[str, int], rows: int) -> dict[str, int]:
    """The lengths, which may compute others when they are asked, with that of a block."""
    known: dict[str, int] = sizes.__class__(sizes)  # type: ignore[call-arg, assignment]  # a dict
    known[ROWS] = rows
    return known


def in_a_block(count: int, width: int) -> int:
    """How many of so many rows are in a block, the widest value having ``width`` elements in each.

    >>> in_a_block(100_000, 1), in_a_block(1_000_000, 1), in_a_block(1_000_000, 64)
    (32768, 65536, 1024)
    """
    rows = costs.BLOCK // max(width, 1)
    return 2 * rows if count > costs.MANY * rows else rows


class Rows:
    """A kernel: called with its operands, and the lengths of axes, it gives its results."""

    compiled: Callable[[], Callable[..., Any]]
    writes = False

    def __init__(self, kernel: Kernel, threads: int | None) -> None:
        self.kernel, self.threads = kernel, threads
        self._before = [None if axis is None else (slice(None),) * axis for axis in kernel.sliced]
        self._after = [None if axis is None else (slice(None),) * axis for axis in kernel.joined]
        padded = [made for made in kernel.pads if isinstance(made, Pads)]
        self._shared = max(map(_overlap, padded), default=0)  # rows of a block and the next one

    told = "in blocks of rows"

    def shown(self, source: str) -> str:
        """The body as users see it, ``source`` as NumPy computes it."""
        return source

    @cached_property
    def function(self) -> Callable[..., Any]:
        """The compiled body: operands in one block, and lengths, to results in one block.

        Where it ``writes``, the last argument has an array for each result, or None for a new one.
        """
        return self.compiled()

    def width(self, sizes: Mapping[str, int]) -> int:
        """The elements of the widest value, in one row."""
        one = _with_rows(sizes, 1)
        return max([math.prod(lengths(shape, one)) for shape in self.kernel.shapes], default=1)

    def rows(self, sizes: Mapping[str, int]) -> int:
        """How many rows there are."""
        return lengths((self.kernel.length,), sizes)[0]

    def __call__(self, *args: Any) -> Any:
        """The results of the operands and the lengths: a tuple, or the only one."""
        *values, sizes = args
        count = self.rows(sizes)
        rows = max(1, in_a_block(count, self.width(sizes)), self._shared)
        if count <= rows:
            into = [[None] * len(self.kernel.joined)] if self.writes else []
            found = self.function(*values, _with_rows(sizes, count), *into)
            results = [self._together(made, found, count) for made in self.kernel.pads]
        else:
            results = self._blocks(values, sizes, count, rows)
        return results if len(results) > 1 else results[0]

    def _blocks(
        self, values: Sequence[Any], sizes: dict[str, int], count: int, rows: int
    ) -> list[Any]:
        blocks = -(-count // rows)
        if count - (blocks - 1) * rows < self._shared:
            blocks -= 1  # no block is shorter than what it shares with the next one
        outs = _Joined(count)
        sums: dict[int, _Padded] = {}
        parts: dict[int, list[Any]] = {}
        whole: dict[int, tuple[slice, ...]] = {}
        for place, made in enumerate(self.kernel.pads):
            if isinstance(made, Pads):
                sums[place] = _Padded(made, self._after[made.places[0]] or (), count, blocks)
            elif (before := self._after[made]) is None:
                parts[made] = [None] * blocks
            else:
                whole[made] = before

        def run(i: int) -> None:
            start, stop = i * rows, (i + 1) * rows if i + 1 < blocks else count
            here = slice(start, stop)
            given = [
                v if before is None else v[(*before, here)]
                for v, before in zip(values, self._before, strict=True)
            ]
            into: list[Any] = [None] * len(self.kernel.joined)
            for k, before in whole.items() if self.writes else ():
                into[k] = outs.place(k, before, here)
            last = [into] if self.writes else []
            found = self.function(*given, _with_rows(sizes, stop - start), *last)
            for k in parts:
                parts[k][i] = found[k]
            for k, before in whole.items():
                if found[k] is not into[k]:
                    outs.put(k, found[k], before, here)
            for total in sums.values():
                total.put(i, [found[k] for k in total.pads.places], start, stop)

        spread(run, blocks, self.threads)
        joined = dict(zip(sorted(whole), outs.found(), strict=True))
        found: list[Any] = []
        for place, made in enumerate(self.kernel.pads):
            if isinstance(made, Pads):
                found.append(sums[place].found())
            else:
                found.append(added(parts[made]) if made in parts else joined[made])
        return found

    def _together(self, made: int | Pads, found: Sequence[Any], count: int) -> Any:
        """A result of the results of all rows at once."""
        if isinstance(made, int):
            return found[made]
        values = [found[k] for k in made.places]
        before = self._after[made.places[0]] or ()
        widths = [((0, 0),) * len(before) + (width,) for width in made.widths]
        terms = zip(map(keyed, widths), values, strict=True)
        return placed(_padded_shape(made, len(before), values[0], count), edges(widths), *terms)


def _padded_shape(pads: Pads, axis: int, x: np.ndarray, count: int) -> tuple[int, ...]:
    """The shape of a sum of padded results, of which x is a block, over so many rows."""
    low, high = pads.widths[0]
    return (*x.shape[:axis], low + count + high, *x.shape[axis + 1 :])


def _overlap(pads: Pads) -> int:
    """How many rows of a sum of padded results come of two blocks, at the end of each."""
    lows = [low for low, _ in pads.widths]
    return max(lows) - min(lows)


class _Padded:
    """The sum of results with zeros around, one array: each block writes what is its alone.

    Next to the end of a block some operands come of it and others of the next one.  Those rows of
    all blocks are kept, and added last.  Where there is no next one, rows are 0.
    """

    def __init__(self, pads: Pads, before: tuple[slice, ...], count: int, blocks: int) -> None:
        self.pads, self._before, self._count = pads, before, count
        self._lows = [low for low, _ in pads.widths]
        self._first, self._overlap = min(self._lows), _overlap(pads)
        self._heads: list[Any] = [None] * blocks
        self._tails: list[Any] = [None] * blocks
        self._starts = [0] * blocks
        self._array: Any = None
        self._lock = fork_safe_lock()

    def put(self, i: int, parts: Sequence[np.ndarray], start: int, stop: int) -> None:
        """Write block i of the rows, of each operand."""
        with self._lock:
            if self._array is None:
                self._array = self._made(parts)
        first, shared, rows = self._first, self._overlap, stop - start
        own = [
            x[(*self._before, slice(shared + first - low, rows + first - low))]
            for x, low in zip(parts, self._lows, strict=True)
        ]
        self._put(start + first + shared, own)
        self._starts[i] = start
        self._heads[i] = [x[(*self._before, slice(shared))].copy() for x in parts]
        self._tails[i] = [x[(*self._before, slice(rows - shared, None))].copy() for x in parts]

    def _made(self, parts: Sequence[np.ndarray]) -> np.ndarray:
        shape = _padded_shape(self.pads, len(self._before), parts[0], self._count)
        return np.zeros(shape, np.result_type(*parts))

    def _put(self, start: int, parts: Sequence[np.ndarray]) -> None:
        """Write the sum of some rows, which all operands have."""
        *before, last = parts
        here = self._array[(*self._before, slice(start, start + last.shape[len(self._before)]))]
        np.add(reduce(add, before), last, out=here)

    def found(self) -> np.ndarray:
        """The sum, once all blocks are written."""
        axis, shared = len(self._before), self._overlap
        none = [np.zeros_like(x) for x in self._heads[0]]
        ends = [*self._starts, self._count]
        for start, tails, heads in zip(
            ends, [none, *self._tails], [*self._heads, none], strict=True
        ):
            strips = []
            for tail, head, low in zip(tails, heads, self._lows, strict=True):
                both = np.concatenate((tail, head), axis)
                skipped = shared + self._first - low
                strips.append(both[(*self._before, slice(skipped, skipped + shared))])
            self._put(start + self._first, strips)
        return self._array  # type: ignore[no-any-return]


def in_points(
    program: Callable[..., Any],
    results: int,
    points: tuple[int, ...],
    threads: int | None,
    *given: Any,
) -> list[Any]:
    """The results of a program of scalars at many points, computed in blocks of points.

    ``given`` are its arguments, which broadcast to ``points``, and the lengths of axes.  It gets
    arrays, too, that its ``results`` may be written into, or None.

    >>> program = lambda x, y, sizes, outs: (np.add(x, y, out=outs[0]), 2)
    >>> in_points(program, 2, (2, 2), None, np.array([[1.0], [2.0]]), np.array([5.0, 7.0]), {})
    [array([[6., 8.],
           [7., 9.]]), 2]
    """
    *values, sizes = given
    count = math.prod(points)
    wide = [v if not np.ndim(v) else np.broadcast_to(v, points).reshape(count) for v in values]
    rows = min(costs.BLOCK, costs.POINTS)
    blocks = -(-count // rows)
    outs = _Joined(count)

    def run(i: int) -> None:
        here = slice(i * rows, (i + 1) * rows)
        into = [outs.place(k, (), here) for k in range(results)]
        block = program(*[v[here] if np.ndim(v) else v for v in wide], sizes, into)
        for k, value in enumerate(block):
            if value is not into[k]:
                outs.put(k, value, (), here)

    spread(run, blocks, threads)
    return [v.reshape(points) if np.ndim(v) else v for v in outs.found()]


class Exponentials:
    """``logsumexp`` or ``softmax``, along a long axis in blocks of it."""

    def __init__(self, name: str, threads: int | None) -> None:
        self._threads, self._compute = threads, _EXPONENTIALS[name]

    def __call__(self, x: np.ndarray) -> Any:
        """The value, or the value and the shares."""
        x = real(x)
        count = x.shape[-1]
        if count < costs.LARGE:
            return self._compute(x)
        width = max(1, in_a_block(count, x.size // count))
        places = [slice(i, i + width) for i in range(0, count, width)]

        def over(run: Callable[[slice], Any]) -> Any:
            parts: list[Any] = [None] * len(places)

            def part(i: int) -> None:
                parts[i] = run(places[i])

            spread(part, len(places), self._threads)
            return parts

        return self._compute(x, over)


_EXPONENTIALS: dict[str, Callable[..., Any]] = {"logsumexp": logsumexp, "softmax": softmax}


class _Joined:
    """Arrays that blocks of ``count`` rows are joined in, each made for the first block of it."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._arrays: dict[int, Any] = {}
        self._lock = fork_safe_lock()

    def place(self, k: int, before: tuple[slice, ...], rows: slice) -> np.ndarray | None:
        """Where a block of array ``k`` is to stand, if that is known: the first one makes it."""
        array = self._arrays.get(k)
        return array[(*before, rows)] if array.__class__ is np.ndarray else None

    def put(self, k: int, block: Any, before: tuple[slice, ...], rows: slice) -> None:
        """Write a block of array ``k`` where its rows are, behind the axes ``before``.

        What is the same number in all blocks stays that number.
        """
        array = self._arrays.get(k)
        if array is None:
            with self._lock:
                array = self._arrays.get(k)
                if array is None:
                    array = self._arrays[k] = self._made(block, len(before))
        if array.__class__ is np.ndarray:
            array[(*before, rows)] = block

    def _made(self, block: Any, axis: int) -> Any:
        if not np.ndim(block):
            return block
        return np.empty((*block.shape[:axis], self._count, *block.shape[axis + 1 :]), block.dtype)

    def found(self) -> list[Any]:
        """The arrays, in order."""
        return [self._arrays[k] for k in sorted(self._arrays)]
