"""How scans run: the program of the body, called once for each step.

Bodies of few numbers are Python floats, all steps in one generated loop; what ``math`` raises on is
done again by NumPy, that step alone.  Other bodies are called with the arrays of their step.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.lowering import structure
from numeric.lowering.names import NUMPY, Emitter
from numeric.lowering.passes.unrolling import scalars
from numeric.lowering.printers.entries import in_rows
from numeric.lowering.printers.math import MathPrinter
from numeric.lowering.programs import DOUBLE, NOT_IN_MATH, Lowered
from numeric.lowering.schedule import schedule
from symdiff.errors import Unsupported
from symdiff.graph.axis_lengths import lengths
from symdiff.transforms.scans import Scan

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numeric.lowering.texts import Draft, Piece
    from symdiff.graph.expr import Expr

# So many steps are Python floats at a time, which take ten times the memory of arrays.
_AT_ONCE = 4096


class Loop:
    """All that the carry of a scan goes through, for values of init, xs and params."""

    def __init__(self, op: Scan) -> None:
        # Not the op itself, which this lives as long as.
        self.length, self.reverse, self.columns = op.length, op.reverse, len(op.xs)
        self.symbols, self.body = (op.carry, *op.xs, *op.params), op.body
        self.emitter = Emitter()

    @cached_property
    def step(self) -> Callable[..., Sequence[Any]]:
        """The body, of arrays: carry, xs, params and the lengths of axes."""
        made = ("step", self.symbols, (self.body,), [True], "")
        return Lowered(self.emitter, *made).program(NUMPY, roll=False).function

    @cached_property
    def floats(self) -> Callable[..., None] | None:
        """All steps of a body of few numbers: a carry, rows of xs, params, and where values go."""
        steps = scalars(schedule([self.body], self.symbols))
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
        results = ", ".join(in_rows(printer.results, printer.joined))
        source = [
            "def loop(carry, rows, params, add):",
            f"    {carry}, = carry",
            *([f"    {params}, = params"] if params else []),
            f"    for {row or '_'}{',' if row else ''} in rows:",
            *[f"        {line}" for line in printer.lines],
            f"        {carry} = {results}",
            f"        add(({carry},))",
            "",
        ]
        return printer.emitter.compiled("loop", "\n".join(source))

    def _parted(self, xs: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any], Sequence[Any]]:
        last = 1 + self.columns
        return xs[:1], xs[1:last], xs[last:]

    def __call__(self, *operands: Any, sizes: Mapping[str, int]) -> np.ndarray:
        """The trajectory, an array of its own."""
        (n,) = lengths((self.length,), sizes)
        (init,), xs, params = self._parted(operands)
        if self.reverse:
            xs = [x[::-1] for x in xs]
        if all(x.dtype is DOUBLE or x.dtype.kind in "iub" for x in operands) and self.floats:
            path = self._of_floats(n, init, xs, params, sizes)
        else:
            path = self._of_arrays(n, init, xs, params, sizes)
        return path[::-1] if self.reverse else path

    def _of_arrays(
        self, n: int, init: Any, xs: Sequence[Any], params: Sequence[Any], sizes: Mapping[str, int]
    ) -> np.ndarray:
        step = self.step
        real = [x.dtype for x in (init, *xs, *params) if x.dtype.kind == "f"]
        path = np.empty((n + 1, *init.shape), np.result_type(*real) if real else DOUBLE)
        path[0] = carry = init
        for t in range(n):
            (carry,) = step(carry, *[x[t] for x in xs], *params, sizes)
            path[t + 1] = carry
        return path

    def _of_floats(
        self, n: int, init: Any, xs: Sequence[Any], params: Sequence[Any], sizes: Mapping[str, int]
    ) -> np.ndarray:
        assert self.floats is not None
        path = np.empty((n + 1, *np.shape(init)))
        path[0] = init
        flat = path.reshape(n + 1, -1)
        given = [value for p in params for value in np.ravel(p).tolist()]
        done = 0
        while done < n:
            stop = min(done + _AT_ONCE, n)
            found: list[Any] = []
            rows = _rows([x[done:stop] for x in xs], stop - done)
            with suppress(*NOT_IN_MATH):
                self.floats(flat[done].tolist(), rows, given, found.append)
            if found:
                flat[done + 1 : done + 1 + len(found)] = found
                done += len(found)
            if done < stop:
                (path[done + 1],) = self.step(path[done], *[x[done] for x in xs], *params, sizes)
                done += 1
        return path


def _rows(xs: Sequence[np.ndarray], count: int) -> Any:
    """What stands in xs at each step, as tuples of Python's numbers.

    >>> list(_rows([np.array([1, 2]), np.array([[0.5, 1.5], [2.5, 3.5]])], 2))
    [(1, 0.5, 1.5), (2, 2.5, 3.5)]
    """
    columns = [column.tolist() for x in xs for column in x.reshape(count, -1).T]
    return zip(*columns, strict=True) if columns else range(count)


@structure.register(Scan)
def _scan(op: Scan, node: Expr, d: Draft, *xs: Piece) -> Piece:
    run = structure.once_for(op, lambda: Loop(op))
    return structure.call(d, "scan", run, *xs, sizes="sizes")
