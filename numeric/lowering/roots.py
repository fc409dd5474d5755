"""How solutions of equations run: the programs of the equations, called by methods of kernels."""

from __future__ import annotations

import math
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

from numeric.lowering import structure
from numeric.lowering.kernels import krylov, newton
from numeric.lowering.names import Emitter
from numeric.lowering.programs import DOUBLE, NOT_IN_MATH, of_arrays, of_elements, precision
from symdiff.errors import ShapeError
from symdiff.graph import ops
from symdiff.graph.axes import shape_text
from symdiff.graph.axis_lengths import lengths
from symdiff.graph.node import topological
from symdiff.locks import once
from symdiff.scalars.vocabulary import FACTS
from symdiff.transforms.roots import LinearSolution, Root

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numeric.lowering.programs import OfElements
    from numeric.lowering.texts import Draft, Piece
    from symdiff.graph.expr import Expr
    from symdiff.graph.node import Op, Shape
    from symdiff.transforms.roots import Equations


class Programs:
    """The programs of the equations of an op, for values of x and of the params."""

    def __init__(self, op: Equations) -> None:
        # Not the op itself, which this lives as long as.
        self.name, self.outputs = op.name, op.outputs
        self.symbols = (op.x, *op.params)
        self.emitter = Emitter()
        self.found: dict[tuple[Expr, ...], Callable[..., Sequence[Any]]] = {}
        self.of_floats: dict[tuple[Expr, ...], tuple[OfElements | None]] = {}

    def program(self, *outputs: Expr) -> Callable[..., Sequence[Any]]:
        """Some outputs, all of them without arguments."""
        outputs = outputs or self.outputs
        found = self.found.get(outputs)
        if found is None:
            write = partial(of_arrays, self.emitter, self.name, self.symbols, outputs)
            found = once(self.found, outputs, self.emitter.lock, write)
        return found

    def elements(self, *outputs: Expr, moving: int = 1) -> OfElements | None:
        """The same by ``of_elements``."""
        outputs = outputs or self.outputs
        found = self.of_floats.get(outputs)
        if found is None:
            write = partial(of_elements, Emitter(), self.name, self.symbols, outputs, moving)
            found = once(self.of_floats, outputs, self.emitter.lock, lambda: (write(),))
        return found[0]

    def shapes(self, sizes: Mapping[str, int]) -> list[tuple[int, ...]]:
        """Those of the outputs."""
        return [lengths(y.shape, sizes) for y in self.outputs]


def solvable(operands: Sequence[Any]) -> np.dtype:
    """The precision of all operands, which LAPACK has."""
    dtype = precision(operands)
    return np.dtype(np.float32) if dtype.itemsize < 8 else dtype


def whole(found: Any, shape: tuple[int, ...]) -> np.ndarray:
    """A result of a program, which may be a number or thin, in its shape."""
    array = np.asarray(found)
    return array if array.shape == shape else np.broadcast_to(array, shape)


def elements_of(values: Sequence[Any]) -> list[Any] | None:
    """All elements as Python numbers, one behind the other; None if some are of other precision.

    >>> elements_of([np.arange(2.0), np.float64(3)]), elements_of([np.ones(2, np.float32)])
    ([0.0, 1.0, 3.0], None)
    """
    if not all(x.dtype is DOUBLE or x.dtype.kind in "iub" for x in values):
        return None
    return [number for x in values for number in x.ravel().tolist()]


class RootOf(Programs):
    """The roots of equations, for values of the start and the params."""

    def __init__(self, op: Root) -> None:
        super().__init__(op)
        self.solver, self.max_steps, self.lead = op.solver, op.max_steps, op.lead
        self.is_smooth = all(_is_smooth(x.op) for x in topological(self.outputs) if x.args)

    def __call__(self, start: Any, *params: Any, sizes: Mapping[str, int]) -> Any:
        """The root, an array of its own."""
        x = np.array(start, solvable([start, *params]))
        if self.solver is not None:
            x = self._looked_for(x, params, sizes)
        way = None
        if not self.lead and x.size:
            system = _System(self, x, params, sizes)
            minimum = len(self.outputs) > 2
            way = newton.direct(system, x.reshape(x.size), self.max_steps, minimum=minimum)
            x = way.x.reshape(x.shape)
            if way.done:
                return x[()]
        shape, shapes = x.shape, self.shapes(sizes)
        batch = math.prod(lengths(self.lead, sizes))
        n = shapes[1][-1]
        run = self.program()

        def evaluate(points: np.ndarray) -> newton.State:
            found = run(points.reshape(shape)[()], *params, sizes)
            f, slope, *merit = [whole(y, s) for y, s in zip(found, shapes, strict=True)]
            residual = f.reshape(batch, n)
            return newton.State(
                merit[0].reshape(batch) if merit else residual[:, :0],
                residual,
                slope.reshape(batch, n, n),
            )

        found = newton.solved(self.name, evaluate, x.reshape(batch, n), self.max_steps, shape, way)
        return found.reshape(shape)[()]

    def _looked_for(self, x: Any, params: Sequence[Any], sizes: Mapping[str, int]) -> Any:
        """What the user's solver returns, in the precision and shape of x."""
        assert self.solver is not None
        body, slope, *objective = self.outputs
        first, second = (objective[0], body) if objective else (body, slope)
        shape = x.shape if objective else x.shape * 2
        found = self.solver(
            self._of_x(first, () if objective else x.shape, x, params, sizes),
            x.copy()[()],
            self._of_x(second, shape, x, params, sizes),
        )
        made = np.array(found, x.dtype)
        if made.shape != x.shape:
            raise ShapeError(
                f"{self.name}: the solver returned shape {shape_text(made.shape)}, expected "
                f"{shape_text(x.shape)}, that of x"
            )
        return made

    def _of_x(
        self,
        output: Expr,
        shape: Shape,
        x: np.ndarray,
        params: Sequence[Any],
        sizes: Mapping[str, int],
    ) -> Callable[[Any], Any]:
        """An output as a function of x alone."""
        run = self.program(output)

        def function(at: Any) -> Any:
            (found,) = run(np.reshape(np.asarray(at, x.dtype), x.shape)[()], *params, sizes)
            wide = whole(found, lengths(output.shape, sizes))
            return np.array(wide.reshape(lengths(shape, sizes)))[()]

        return function


class _System:
    """One system of equations, at values of its params."""

    def __init__(
        self, of: RootOf, x: np.ndarray, params: Sequence[Any], sizes: Mapping[str, int]
    ) -> None:
        self.of, self.params, self.sizes = of, params, sizes
        self.shape, self.n, self.is_smooth = x.shape, x.size, of.is_smooth
        self.square, self.last = (self.n, self.n), self.n + self.n * self.n
        # By floats: all there is, and the residual alone, which is made when it is asked for.
        every = of.elements() if x.dtype is DOUBLE else None
        self.given = None if every is None else elements_of(params)
        self.every = None if every is None or self.given is None else every(self.given)
        self.first: Callable[..., Sequence[Any]] | None = None

    def __call__(self, point: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """What is left at a point, its slope, and the merit of a minimiser."""
        if self.every is not None:
            try:
                found = np.array(self.every(*point.tolist()))
            except NOT_IN_MATH:
                pass
            else:
                n, last = self.n, self.last
                return found[:n], found[n:last].reshape(self.square), found[-1]
        f, slope, *merit = self._run(self.of.program(), point)
        return self._flat(f), whole(slope, self.square), float(merit[0]) if merit else 0.0

    def residual(self, point: np.ndarray) -> np.ndarray:
        """What is left, alone."""
        body = self.of.outputs[0]
        if self.every is not None and self.given is not None:
            if self.first is None:
                made = self.of.elements(body)
                self.first = self.every if made is None else made(self.given)
            with suppress(*NOT_IN_MATH):
                return np.array(self.first(*point.tolist())[: self.n])
        (f,) = self._run(self.of.program(body), point)
        return self._flat(f)

    def _run(self, run: Callable[..., Sequence[Any]], point: np.ndarray) -> Sequence[Any]:
        if len(self.shape) != 1:
            point = point.reshape(self.shape)[()]
        return run(point, *self.params, self.sizes)

    def _flat(self, f: Any) -> np.ndarray:
        return whole(f, self.shape).reshape(self.n)


_SMOOTH = (ops.Sum, ops.Product, ops.Contract, ops.Linear)
_SMOOTH_FUNCTIONS = frozenset(
    name
    for name, facts in FACTS.items()
    if facts.result is float and facts.kinks is None and facts.decides is None and not facts.rounds
) - {"gammasgn"}  # which jumps


def _is_smooth(op: Op) -> bool:
    """Whether an op is known to have neither kinks nor jumps."""
    if not isinstance(op, ops.Pointwise):
        return isinstance(op, _SMOOTH)
    names = [f.func.__name__ for f in op.formula.atoms(sp.Function)]
    return all(name in _SMOOTH_FUNCTIONS for name in names)


class LinearSolutionOf(Programs):
    """The solutions of linear equations, for values of the right side and the params."""

    def __init__(self, op: LinearSolution) -> None:
        super().__init__(op)
        self.method, self.rtol, self.max_steps, self.lead = op.further()

    def __call__(self, b: Any, *params: Any, sizes: Mapping[str, int]) -> Any:
        """The solution, an array of its own."""
        right = np.array(b, solvable([b, *params]))
        shape, run = right.shape, self.program()
        batch = math.prod(shape[: self.lead])
        rows = right.reshape(batch, math.prod(shape[self.lead :]))

        def product(x: np.ndarray) -> np.ndarray:
            (found,) = run(x.reshape(shape)[()], *params, sizes)
            return whole(found, shape).reshape(rows.shape)

        most = self.max_steps or 10 * rows.shape[1] + 10
        found = krylov.solved(self.method, product, rows, self.rtol, most, shape)
        return found.reshape(shape)[()]


@structure.register(Root)
def _root(op: Root, node: Expr, d: Draft, *xs: Piece) -> Piece:
    run = structure.once_for(op, lambda: RootOf(op))
    return structure.call(d, op.name, run, *xs, sizes="sizes")


@structure.register(LinearSolution)
def _linear_solution(op: LinearSolution, node: Expr, d: Draft, *xs: Piece) -> Piece:
    run = structure.once_for(op, lambda: LinearSolutionOf(op))
    return structure.call(d, op.name, run, *xs, sizes="sizes")
