"""How SciPy chooses the mesh on which a differential equation is solved."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.lowering import structure
from numeric.lowering.programs import NOT_IN_MATH
from numeric.lowering.roots import Programs, elements_of, solvable, whole
from symdiff.contexts import contained
from symdiff.errors import ConvergenceError, Unsupported
from symdiff.graph.axis_lengths import lengths
from symdiff.transforms.odes import Mesh
from symdiff.transforms.tableaus import TABLEAUS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numeric.lowering.texts import Draft, Piece
    from symdiff.graph.expr import Expr


class MeshOf(Programs):
    """The nodes of a mesh, for values of y0, the times, and the params."""

    def __init__(self, op: Mesh) -> None:
        super().__init__(op)
        self.method, self.rtol, self.atol, self.max_steps, self.kept, self.rows = op.further()

    def __call__(self, *operands: Any, sizes: Mapping[str, int]) -> Any:
        """The value of the op; of a batch, one after the other."""
        shapes = [lengths(x.shape, sizes) for x in self.symbols]
        cores = [len(shapes[0]), 1, *map(len, shapes[2:])]
        leads = [np.ndim(x) - core for x, core in zip(operands, cores, strict=True)]
        batch = operands[0].shape[: leads[0]]
        length = self.max_steps + 2 + operands[1].shape[-1] + self.max_steps * self.kept
        # Memory that stays untouched behind the last step takes no time.
        found = np.zeros((*batch, length), solvable(operands))
        for place in np.ndindex(batch):
            y, times, *params = [
                x[place] if lead else x for x, lead in zip(operands, leads, strict=True)
            ]
            try:
                self._one(found[place], y, times, params, sizes)
            except ConvergenceError as error:
                if place:
                    error.worst = place
                    error.args = (f"{error}, for element {list(place)} of the batch",)
                raise
        return found

    def _one(
        self,
        found: np.ndarray,
        y: Any,
        times: np.ndarray,
        params: list[Any],
        sizes: Mapping[str, int],
    ) -> None:
        """Fill in what is found."""
        direction = 1.0 if times[-1] >= times[0] else -1.0
        if not (np.diff(times) * direction >= 0).all():
            raise ValueError("odeint: the times t are in no order; they go up or down")
        nodes, stages = self._nodes(y, times, params, sizes)
        nodes, last = nodes.astype(found.dtype), self.max_steps + 2
        found[0] = len(nodes) - 1
        found[1 : len(nodes) + 1] = nodes
        found[len(nodes) + 1 : last] = nodes[-1]
        before = np.searchsorted(direction * nodes, direction * times, side="right") - 1
        found[last : last + len(times)] = before
        found[last + len(times) :][: stages.size] = stages.ravel()

    @contained
    def _nodes(
        self, y: Any, times: np.ndarray, params: list[Any], sizes: Mapping[str, int]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Where SciPy's steps begin and end; the stages of each, if they are kept."""
        solver = _solver(self.method)
        shape, run = np.shape(y), self.program(self.outputs[0])
        start = np.array(y, float).ravel()
        fast = self._of_floats(y, params)

        def function(t: float, flat: np.ndarray) -> np.ndarray:
            if fast is not None:
                try:
                    slopes = fast(*flat.tolist(), float(t))
                except NOT_IN_MATH:
                    pass
                else:
                    return np.array(slopes)
            (found,) = run(flat.reshape(shape)[()], np.float64(t), *params, sizes)
            return whole(found, shape).ravel()

        # SciPy's norm is the root of the mean square over all rows: one row alone may be off by
        # the root of their number times as much.
        narrower = math.sqrt(shape[0]) if self.rows else 1.0
        rtol, atol = self.rtol / narrower, self.atol / narrower
        options: dict[str, Any] = {"rtol": max(rtol, 100 * np.finfo(float).eps)}
        if len(self.outputs) > 1:
            slope = self.program(self.outputs[1])

            def matrix(t: float, flat: np.ndarray) -> np.ndarray:
                (found,) = slope(flat.reshape(shape)[()], np.float64(t), *params, sizes)
                return np.array(whole(found, (start.size,) * 2))

            options["jac"] = matrix
        nodes, moves = [float(times[0])], list[np.ndarray]()
        if times[-1] == times[0] or not start.size:
            return np.array([*dict.fromkeys([*nodes, float(times[-1])])]), np.zeros(0)
        with np.errstate(all="ignore"):
            steps = solver(function, nodes[0], start, float(times[-1]), atol=atol, **options)
            while steps.status == "running":
                if len(nodes) > self.max_steps:
                    raise _error(f"no end after max_steps={self.max_steps} steps", steps, nodes)
                why = steps.step()
                if steps.status == "failed":
                    raise _error(why or "a step failed", steps, nodes)
                nodes.append(float(steps.t))
                if self.kept:
                    moves.append(steps.Z)
        made = np.array(nodes)
        return made, _stages(self.method, np.diff(made), moves) if moves else np.zeros(0)

    def _of_floats(self, y: Any, params: list[Any]) -> Callable[..., Sequence[Any]] | None:
        """The right side as a function of the elements of y and of the time, where that is fast."""
        of = self.elements(self.outputs[0], moving=2)
        given = None if of is None else elements_of([y, *params])
        return None if of is None or given is None else of(given[y.size :])


def _solver(method: str) -> Any:
    try:
        from scipy import integrate
    except ImportError:
        raise Unsupported('odeint needs SciPy: pip install "symdiff-numeric[scipy]"') from None
    return getattr(integrate, method)


def _stages(method: str, h: np.ndarray, moves: list[np.ndarray]) -> np.ndarray:
    """The slopes at the stages, by how far y is moved there: ``h A K``, of each step."""
    inverse = np.linalg.inv(np.array(TABLEAUS[method].a, float))
    found: np.ndarray = inverse @ np.array(moves) / h[:, None, None]
    return found


def _error(why: str, steps: Any, nodes: list[float]) -> ConvergenceError:
    error = ConvergenceError(f"odeint: {why}; it came to t={nodes[-1]:.6g} of {steps.t_bound:.6g}")
    error.residual, error.steps = math.nan, len(nodes) - 1
    return error


@structure.register(Mesh)
def _mesh(op: Mesh, node: Expr, d: Draft, *xs: Piece) -> Piece:
    run = structure.once_for(op, lambda: MeshOf(op))
    return structure.call(d, op.name, run, *xs, sizes="sizes")
