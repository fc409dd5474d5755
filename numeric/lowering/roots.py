"""How solutions of equations run: the programs of the equations, called by methods of kernels."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.lowering import structure
from numeric.lowering.kernels import krylov, newton
from numeric.lowering.names import Emitter
from numeric.lowering.programs import of_arrays, precision
from symdiff.errors import ShapeError
from symdiff.graph.axes import shape_text
from symdiff.graph.axis_lengths import lengths
from symdiff.locks import once
from symdiff.transforms.roots import LinearSolution, Root

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numeric.lowering.texts import Draft, Piece
    from symdiff.graph.expr import Expr
    from symdiff.graph.node import Shape
    from symdiff.transforms.roots import Equations


class Programs:
    """The programs of the equations of an op, for values of x and of the params."""

    def __init__(self, op: Equations) -> None:
        # Not the op itself, which this lives as long as.
        self.name, self.outputs = op.name, op.outputs
        self.symbols = (op.x, *op.params)
        self.emitter = Emitter()
        self.found: dict[tuple[Expr, ...], Callable[..., Sequence[Any]]] = {}

    def program(self, *outputs: Expr) -> Callable[..., Sequence[Any]]:
        """Some outputs, all of them without arguments."""
        outputs = outputs or self.outputs
        write = partial(of_arrays, self.emitter, self.name, self.symbols, outputs)
        return once(self.found, outputs, self.emitter.lock, write)

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


class RootOf(Programs):
    """The roots of equations, for values of the start and the params."""

    def __init__(self, op: Root) -> None:
        super().__init__(op)
        self.solver, self.max_steps, self.lead = op.solver, op.max_steps, op.lead

    def __call__(self, start: Any, *params: Any, sizes: Mapping[str, int]) -> Any:
        """The root, an array of its own."""
        x = np.array(start, solvable([start, *params]))
        if self.solver is not None:
            x = self._looked_for(x, params, sizes)
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

        found = newton.solved(self.name, evaluate, x.reshape(batch, n), self.max_steps, shape)
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
