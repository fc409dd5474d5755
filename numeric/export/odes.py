"""Differential equations for ``scipy.integrate.solve_ivp``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.export.layouts import check_parts, flattened, joined, unknown_symbols
from numeric.lowering.function import lower
from symdiff.errors import ShapeError
from symdiff.graph.arguments import door, reals
from symdiff.graph.axes import shape_text
from symdiff.graph.leaves import as_expr, symbol

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from numeric.export.layouts import Layout
    from numeric.lowering.function import Function
    from symdiff.graph.expr import Expr


@door
def solve_ivp(rhs: object, y: object, /, t: Expr | None = None, **data: object) -> Equations:
    """Return the equations ``dy/dt = rhs`` with their Jacobian for ``scipy.integrate.solve_ivp``.

    Args:
        rhs: the expression of dy/dt, of the shape of y; for several unknowns a list or tuple with
            an expression of the same shape for each.
        y: the unknowns: a symbol of any shape, or a list or tuple of symbols.
        t: the symbol of time, if the equations depend on it.
        data: the values of all other symbols, by name.

    Vectors have the layout of ``scipy``.  The implicit methods, Radau, BDF and LSODA, take ``jac``.
    ``vectorized`` stays False.  Raises the errors of ``scipy``, and ShapeError for a right-hand
    side whose shape differs from its unknown's.

    >>> import symdiff as sd
    >>> y, mu = sd.symbol("y", 2), sd.symbol("mu")
    >>> oscillator = solve_ivp(sd.stack([y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]]), y, mu=10)
    >>> oscillator.fun(0.0, np.array([2.0, 1.0])).tolist()
    [1.0, -32.0]
    >>> oscillator.jac(0.0, np.array([2.0, 1.0]))[1].tolist()
    [-41.0, -30.0]
    """
    what = "export.solve_ivp"
    others = [] if t is None else [t]
    unknowns, _ = unknown_symbols(what, y, others)
    sides = [as_expr(side) for side in (rhs if isinstance(rhs, list | tuple) else [rhs])]
    if len(sides) != len(unknowns):
        raise ShapeError(
            f"{what}: {len(sides)} right-hand sides for {len(unknowns)} unknowns; "
            "sd.stack makes one expression of several"
        )
    for x, side in zip(unknowns, sides, strict=True):
        if x.shape != side.shape:
            raise ShapeError(
                f"{what}: the derivative of {x.name} by time has the shape "
                f"{shape_text(side.shape)}, and {x.name} {shape_text(x.shape)}"
            )
    outputs, vector, layout = flattened(what, sides, y, data, others)
    time = symbol(vector.name + "_time") if t is None else t
    return Equations(lower(joined(outputs), [time, vector]), layout)


class Equations:
    """The functions ``fun`` and ``jac`` for ``scipy.integrate.solve_ivp``; made by ``solve_ivp``.

    ``function`` is the lowered Function of time and vector that computes both.
    """

    def __init__(self, function: Function, layout: Layout) -> None:
        check_parts("Equations", "solve_ivp", function, layout)
        self.function, self.layout = function, layout

    def fun(self, t: object, y: object) -> NDArray[np.float64]:
        """Return dy/dt."""
        slope: NDArray[np.float64] = self.function(t, reals("fun", "y", y))
        return slope

    def jac(self, t: object, y: object) -> NDArray[np.float64]:
        """Return the Jacobian of ``fun`` by y: ``J[i, j]``."""
        vector = self.function.inputs[1]
        matrix: NDArray[np.float64] = self.function.jacobian(t, reals("jac", "y", y), wrt=vector)
        return matrix

    def pack(self, /, *values: object, **named: object) -> NDArray[np.float64]:
        """Return the vector of values of the unknowns, given in their order or by name."""
        return self.layout.pack(*values, **named)

    def unpack(self, vector: object, /) -> Any:
        """Return the unknowns in their shapes, from a vector or a solution with time as last axis.

        >>> import symdiff as sd
        >>> a, b = sd.symbols("a b")
        >>> decay = solve_ivp([-a, a - b], [a, b])
        >>> [part.tolist() for part in decay.unpack(np.array([[1.0, 0.5], [0.0, 0.3]]))]
        [[1.0, 0.5], [0.0, 0.3]]
        """
        return self.layout.unpack(vector)

    def __repr__(self) -> str:
        return f"<Equations: the derivative of {self.layout} by time>"
