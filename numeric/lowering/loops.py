"""How scans run: the program of the body, called once for each step.

Bodies of few numbers are Python floats, all steps in one generated loop; what ``math`` raises on is
done again by NumPy, that step alone.  Other bodies are called with the arrays of their step.
"""

from __future__ import annotations

import itertools
import math
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from numeric.lowering import structure
from numeric.lowering.names import Emitter, Options
from numeric.lowering.passes.parts import merge_sliced_functions
from numeric.lowering.passes.unrolling import unroll_into_scalars
from numeric.lowering.printers.entries import in_rows
from numeric.lowering.printers.math import MathPrinter
from numeric.lowering.printers.numpy import NumPyPrinter
from numeric.lowering.printers.python import parameters
from numeric.lowering.programs import DOUBLE, NOT_IN_MATH, of_arrays, precision
from numeric.lowering.schedule import schedule
from symdiff.errors import Unsupported
from symdiff.graph.axis_lengths import lengths
from symdiff.graph.node import topological
from symdiff.locks import cached_property
from symdiff.transforms.checkpoints import Checkpoints, Fold
from symdiff.transforms.scans import Looped, Scan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numeric.lowering.native.scans import NativeScan
    from numeric.lowering.steps import Schedule
    from numeric.lowering.texts import Draft, Piece
    from symdiff.graph.expr import Expr
    from symdiff.graph.node import Dim

# So many steps are Python floats at a time, which take ten times the memory of arrays.
_AT_ONCE = 4096


class Of(NamedTuple):
    """What is known of a scan.  Not the op itself, which a Loop lives as long as."""

    body: Expr
    symbols: tuple[Expr, ...]  # carry, xs, params
    columns: int  # how many of them are xs
    length: Dim
    reverse: bool
    folds: bool = False  # the body is the next carry, and behind it what the step gives


class Loop:
    """All that the carry of a scan goes through, for values of init, xs and params.

    ``options`` are those of the Function that runs it.
    """

    def __init__(self, of: Of, options: Options) -> None:
        self.of = of
        self.body, self.symbols, self.columns, self.length, self.reverse, self.folds = of
        self.emitter = Emitter(options=options)
        self._others = {options: self}

    def having(self, options: Options) -> Loop:
        """The same, as it runs in Functions of these options."""
        found = self._others.get(options)
        if found is None:
            found = self._others[options] = self.__class__(self.of, options)
        return found

    @cached_property
    def step(self) -> Callable[..., Sequence[Any]]:
        """The body, of arrays: carry, xs, params and the lengths of axes."""
        return of_arrays(self.emitter, "step", self.symbols, [self.body])

    @cached_property
    def arrays(self) -> Callable[..., Any]:
        """All steps, of arrays: a carry, rows of xs, params, and where values go."""
        printer, carry, row, params = self._printed()
        (result,) = in_rows(printer.results, printer.joined)
        source = [
            "def loop(_carry, _rows, _params, _path, sizes):",
            f"    {carry} = _carry",
            *[f"    {', '.join(params)}, = _params"] * bool(params),
            f"    for _t, {row} in enumerate(_rows, 1):",
            *[f"        {line}" for line in printer.lines],
            f"        _path[_t] = {carry} = {result}",
            "",
        ]
        return self.emitter.compiled("loop", "\n".join(source))

    def _printed(self) -> tuple[NumPyPrinter, str, str, Sequence[str]]:
        """The body in lines of NumPy, and how carry, a row of xs, and params are written there."""
        steps = merge_sliced_functions(schedule([self.body], self.symbols, self.emitter.spellings))
        (carry,), columns, params = self._parted(parameters(len(self.symbols))[:-1])
        row = f"({', '.join(columns)},)" if columns else "_"
        return NumPyPrinter(self.emitter, steps), carry, row, params

    @cached_property
    def scalars(self) -> Schedule | None:
        """The body of few numbers, each of them by itself."""
        return unroll_into_scalars(schedule([self.body], self.symbols))

    @cached_property
    def native(self) -> NativeScan | None:
        """All steps in machine code, where that is asked for and C has all of the body."""
        if not self.emitter.options.native:
            return None
        from numeric.lowering.native import scan_arrays  # loaded where it is needed
        from numeric.lowering.native.scans import NativeScan, has_all

        steps, arrays = self.scalars, False
        if steps is None or not has_all(steps):
            steps, arrays = schedule([self.body], self.symbols), True
            if not scan_arrays.has_all(steps):
                return None
        shapes = [lengths(x.shape, {}) for x in self.symbols]
        sizes = [math.prod(lengths(x.shape, {})) for x in (self.body, self.symbols[0])]
        given = sizes[0] - sizes[1] if self.folds else None
        return NativeScan(self.emitter, steps, shapes, self.columns, arrays, given)

    @cached_property
    def floats(self) -> Callable[..., None] | None:
        """All steps of a body of few numbers: a carry, rows of xs, params, and who takes values."""
        steps = self.scalars
        if steps is None:
            return None
        try:
            printer = MathPrinter(Emitter(), steps)
        except Unsupported:  # a function that has no body for floats
            return None
        counts = [sum(x.size for x in xs) for xs in self._parted(self.symbols)]
        first, last = counts[0], counts[0] + counts[1]
        v = [f"v{k + 1}" for k in range(sum(counts))]
        carry, row, params = (", ".join(names) for names in (v[:first], v[first:last], v[last:]))
        results = in_rows(printer.results, printer.joined)
        made = ", ".join([carry, *[f"g{k}" for k in range(len(results) - first)]])
        source = [
            "def loop(carry, rows, params, add):",
            f"    {carry}, = carry",
            *([f"    {params}, = params"] if params else []),
            f"    for {row or '_'}{',' if row else ''} in rows:",
            *[f"        {line}" for line in printer.lines],
            f"        {made} = {', '.join(results)}",
            f"        add(({made},))",
            "",
        ]
        return printer.emitter.compiled("loop", "\n".join(source))

    @property
    def told(self) -> str:
        """How the steps run, in words."""
        if self.native is not None:
            return "all steps in one loop of C"
        if self.floats is not None:
            return "all steps in one loop of Python floats"
        return "step by step, in NumPy"

    def _parted(self, xs: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any], Sequence[Any]]:
        last = 1 + self.columns
        return xs[:1], xs[1:last], xs[last:]

    def __call__(self, *operands: Any, sizes: Mapping[str, int]) -> np.ndarray:
        """The value of the op, an array of its own."""
        (n,) = lengths((self.length,), sizes)
        if self.native is not None:
            found = self.native(n, operands, self.reverse)
            if found is not None:
                return found
        return self._in_python(n, operands, sizes)

    def _in_python(self, n: int, operands: Sequence[Any], sizes: Mapping[str, int]) -> np.ndarray:
        """The trajectory."""
        (init,), xs, params = self._parted(operands)
        if self.reverse:
            xs = [x[::-1] for x in xs]
        if self.floats and _in_doubles(operands):
            path = np.empty((n + 1, *init.shape))
            path[0] = init
            flat = path.reshape(n + 1, -1)
            for t, rows in self._by_floats(n, init, xs, params, sizes):
                flat[t + 1 : t + 1 + len(rows)] = rows
        else:
            path = np.empty((n + 1, *init.shape), precision(operands))
            path[0] = init
            self._steps(path, init, _each(xs, n), params, sizes)
        return path[::-1] if self.reverse else path

    def _steps(
        self, path: np.ndarray, init: Any, rows: Iterable[Any], params: Sequence[Any], sizes: Any
    ) -> None:
        """The rows behind the first one."""
        self.arrays(init, rows, params, path, sizes)

    def _by_floats(
        self, n: int, init: Any, xs: Sequence[Any], params: Sequence[Any], sizes: Mapping[str, int]
    ) -> Iterator[tuple[int, Sequence[Any]]]:
        """What some of the steps make, each as a row of numbers, and which is the first of them."""
        assert self.floats is not None
        carry, size, done = np.ravel(init), init.size, 0
        given = [value for p in params for value in np.ravel(p).tolist()]
        while done < n:
            stop = min(done + _AT_ONCE, n)
            found: list[Any] = []
            rows = _rows([x[done:stop] for x in xs], stop - done)
            with suppress(*NOT_IN_MATH):
                self.floats(carry.tolist(), rows, given, found.append)
            if found:
                yield done, found
                carry = np.array(found[-1][:size])
                done += len(found)
            if done < stop:
                before = carry.reshape(init.shape)[()]
                (row,) = self.step(before, *[x[done] for x in xs], *params, sizes)
                yield done, [np.ravel(row)]
                carry = np.ravel(row)[:size]
                done += 1


def _in_doubles(operands: Sequence[Any]) -> bool:
    return all(x.dtype is DOUBLE or x.dtype.kind in "iub" for x in operands)


def _each(xs: Sequence[Any], count: int) -> Iterable[Any]:
    """What stands in xs at each step, as tuples."""
    return zip(*xs, strict=True) if xs else itertools.repeat((), count)


def _rows(xs: Sequence[np.ndarray], count: int) -> Any:
    """What stands in xs at each step, as tuples of Python's numbers.

    >>> list(_rows([np.array([1, 2]), np.array([[0.5, 1.5], [2.5, 3.5]])], 2))
    [(1, 0.5, 1.5), (2, 2.5, 3.5)]
    """
    columns = [column.tolist() for x in xs for column in x.reshape(count, -1).T]
    return zip(*columns, strict=True) if columns else range(count)


class KeptLoop(Loop):
    """The same of segments: of what one has made nothing stays when the next one begins."""

    def _steps(
        self, path: np.ndarray, init: Any, rows: Iterable[Any], params: Sequence[Any], sizes: Any
    ) -> None:
        for t, row in enumerate(rows):
            (path[t + 1],) = self.step(path[t], *row, *params, sizes)


class Folded(Loop):
    """The last carry, and what the steps give, one behind the other."""

    @cached_property
    def arrays(self) -> Callable[..., Any]:
        """The last carry, of a carry, rows of xs, params, and where what steps give goes."""
        printer, carry, row, params = self._printed()
        (result,) = in_rows(printer.results, printer.joined)
        source = [
            "def loop(_carry, _rows, _params, _given, sizes):",
            f"    {carry}, _size = _carry, len(_carry)",
            *[f"    {', '.join(params)}, = _params"] * bool(params),
            f"    for _to, {row} in zip(_given, _rows):",
            *[f"        {line}" for line in printer.lines],
            f"        _made = {result}",
            f"        {carry}, _to[:] = _made[:_size], _made[_size:]",
            f"    return {carry}",
            "",
        ]
        return self.emitter.compiled("loop", "\n".join(source))

    def _in_python(self, n: int, operands: Sequence[Any], sizes: Mapping[str, int]) -> np.ndarray:
        (init,), xs, params = self._parted(operands)
        size, (whole,) = len(init), lengths(self.body.shape, sizes)
        found = np.empty(size + n * (whole - size), precision(operands))
        carry, given = found[:size], found[size:].reshape(n, -1)
        carry[:] = init
        if self.reverse:
            xs, given = [x[::-1] for x in xs], given[::-1]
        if self.floats and _in_doubles(operands):
            for t, rows in self._by_floats(n, init, xs, params, sizes):
                block = np.array(rows)
                given[t : t + len(rows)] = block[:, size:]
                carry[:] = block[-1, :size]
            return found
        if not self.has_loops:
            carry[:] = self.arrays(init, _each(xs, n), params, given, sizes)
            return found
        for t, row in enumerate(_each(xs, n)):  # nothing stays of what the one before has made
            (made,) = self.step(carry, *row, *params, sizes)
            carry[:], given[t] = made[:size], made[size:]
        return found

    @cached_property
    def has_loops(self) -> bool:
        """Whether a step runs others: it makes large arrays."""
        return any(isinstance(x.op, Looped) for x in topological([self.body]))


@structure.register(Fold)
def _fold(op: Fold, node: Expr, d: Draft, *xs: Piece) -> Piece:
    return structure.call(d, "fold", loop(op), *xs, sizes="sizes")


@structure.register(Scan)
def _scan(op: Scan, node: Expr, d: Draft, *xs: Piece) -> Piece:
    return structure.call(d, "scan", loop(op), *xs, sizes="sizes")


def loop(op: Looped) -> Loop:
    """The loop of an op, one for all Functions without options."""
    kind = Folded if isinstance(op, Fold) else KeptLoop if isinstance(op, Checkpoints) else Loop
    of = Of(op.body, op.symbols, len(op.xs), op.length, op.reverse, kind is Folded)
    found = structure.once_for(op, lambda: kind(of, Options()))
    assert isinstance(found, Loop)
    return found
