"""How SciPy chooses the mesh on which a differential equation is solved."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.lowering import structure
from numeric.lowering.roots import Programs, solvable, whole
from symdiff.errors import ConvergenceError, Unsupported
from symdiff.graph.axis_lengths import lengths
from symdiff.transforms.odes import Mesh

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numeric.lowering.texts import Draft, Piece
    from symdiff.graph.expr import Expr


class MeshOf(Programs):
    """The nodes of a mesh, for values of y0, the times, and the params."""

    def __init__(self, op: Mesh) -> None:
        super().__init__(op)
        self.method, self.rtol, self.atol, self.max_steps = op.further()

    def __call__(self, *operands: Any, sizes: Mapping[str, int]) -> Any:
        """The value of the op; of a batch, one after the other."""
        shapes = [lengths(x.shape, sizes) for x in self.symbols]
        cores = [len(shapes[0]), 1, *map(len, shapes[2:])]
        leads = [np.ndim(x) - core for x, core in zip(operands, cores, strict=True)]
        batch = operands[0].shape[: leads[0]]
        length = self.max_steps + 2 + operands[1].shape[-1]
        found = np.empty((*batch, length), solvable(operands))
        for place in np.ndindex(batch):
            y, times, *params = [
                x[place] if lead else x for x, lead in zip(operands, leads, strict=True)
            ]
            found[place] = self._one(y, times, params, sizes, found.dtype)
        return found

    def _one(
        self,
        y: Any,
        times: np.ndarray,
        params: list[Any],
        sizes: Mapping[str, int],
        dtype: np.dtype,
    ) -> np.ndarray:
        direction = 1.0 if times[-1] >= times[0] else -1.0
        if not (np.diff(times) * direction >= 0).all():
            raise ValueError("odeint: the times t are in no order; they go up or down")
        nodes = self._nodes(y, times, params, sizes).astype(dtype)
        before = np.searchsorted(direction * nodes, direction * times, side="right") - 1
        rest = np.full(self.max_steps + 1 - len(nodes), nodes[-1])
        return np.concatenate([[len(nodes) - 1], nodes, rest, before])

    def _nodes(
        self, y: Any, times: np.ndarray, params: list[Any], sizes: Mapping[str, int]
    ) -> np.ndarray:
        """Where SciPy's steps begin and end."""
        solver = _solver(self.method)
        shape, run = np.shape(y), self.program(self.outputs[0])
        start = np.array(y, float).ravel()

        def function(t: float, flat: np.ndarray) -> np.ndarray:
            (found,) = run(flat.reshape(shape)[()], np.float64(t), *params, sizes)
            return whole(found, shape).ravel()

        options: dict[str, Any] = {"rtol": max(self.rtol, 100 * np.finfo(float).eps)}
        if len(self.outputs) > 1:
            slope = self.program(self.outputs[1])

            def matrix(t: float, flat: np.ndarray) -> np.ndarray:
                (found,) = slope(flat.reshape(shape)[()], np.float64(t), *params, sizes)
                return np.array(whole(found, (start.size,) * 2))

            options["jac"] = matrix
        nodes = [float(times[0])]
        if times[-1] == times[0] or not start.size:
            return np.array([*nodes, *([float(times[-1])] if times[-1] != times[0] else [])])
        with np.errstate(all="ignore"):
            steps = solver(function, nodes[0], start, float(times[-1]), atol=self.atol, **options)
            while steps.status == "running":
                if len(nodes) > self.max_steps:
                    raise _error(f"no end after max_steps={self.max_steps} steps", steps, nodes)
                why = steps.step()
                if steps.status == "failed":
                    raise _error(why or "a step failed", steps, nodes)
                nodes.append(float(steps.t))
        return np.array(nodes)


def _solver(method: str) -> Any:
    try:
        from scipy import integrate
    except ImportError:
        raise Unsupported('odeint needs SciPy: pip install "symdiff-numeric[scipy]"') from None
    return getattr(integrate, method)


def _error(why: str, steps: Any, nodes: list[float]) -> ConvergenceError:
    error = ConvergenceError(f"odeint: {why}; it came to t={nodes[-1]:.6g} of {steps.t_bound:.6g}")
    error.residual, error.steps = math.nan, len(nodes) - 1
    return error


@structure.register(Mesh)
def _mesh(op: Mesh, node: Expr, d: Draft, *xs: Piece) -> Piece:
    run = structure.once_for(op, lambda: MeshOf(op))
    return structure.call(d, op.name, run, *xs, sizes="sizes")
