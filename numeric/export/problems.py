"""Formulas for ``scipy.optimize``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.export.layouts import check_parts, flattened, joined
from numeric.lowering.function import lower
from symdiff.errors import ShapeError
from symdiff.graph.arguments import door, reals
from symdiff.graph.axes import shape_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from numeric.export.layouts import Layout
    from numeric.lowering.function import Function
    from symdiff.graph.expr import Expr


@door
def scipy(expr: Any, x: Any, /, **data: Any) -> Problem:
    """Export the formula with its derivatives for ``scipy.optimize``.

    Args:
        expr: an expression: a scalar, to be minimised; one of any other shape, or a list or tuple
            of expressions, for ``root`` and ``least_squares``.
        x: the unknowns: a symbol of any shape, or a list or tuple of symbols.
        data: the values of all other symbols, by name.

    SciPy's vectors hold the unknowns one after the other, each by rows.  ``pack`` and ``unpack``
    convert between both forms.  An array of values is a vector, too.  Making the problem does not
    need SciPy.

    Raises TypeError for unknowns that are not symbols and for data that the formula lacks.  Raises
    ValueError for symbols without a value and for unknown lengths, and ShapeError for data whose
    shapes differ from their symbols'.

    >>> import symdiff as sd
    >>> w, t, seen = sd.symbol("w", 2), sd.symbol("t", "n"), sd.symbol("seen", "n")
    >>> times = np.array([0.0, 1.0, 2.0])
    >>> problem = scipy(w[0] * sd.exp(-w[1] * t) - seen, w, t=times, seen=np.ones(3))
    >>> problem.fun(np.array([1.0, 0.0])).tolist()
    [0.0, 0.0, 0.0]
    >>> problem.jac(np.array([1.0, 0.0])).tolist()
    [[1.0, 0.0], [1.0, -1.0], [1.0, -2.0]]
    """
    several = isinstance(expr, list | tuple)
    if several and not expr:
        raise ValueError("export.scipy: there is no formula")
    outputs, vector, layout = flattened("export.scipy", expr if several else [expr], x, data)
    return Problem(lower(joined(outputs) if several else outputs[0], vector), layout)


class Problem:
    """Functions of one vector for ``scipy.optimize``; made by ``scipy``.

    ==================  =======================================================================
    ``minimize``        ``fun``, ``jac`` (the gradient), ``hess``, ``hessp`` of a scalar formula
    ``root``            ``fun``, ``jac`` (the Jacobian) of as many formulas as unknowns
    ``least_squares``   ``fun`` (the residuals), ``jac`` of formulas
    ==================  =======================================================================

    ``function`` is the lowered Function that computes them.  Derivatives are compiled on first use.
    """

    def __init__(self, function: Function, layout: Layout) -> None:
        check_parts("Problem", "scipy", function, layout)
        self.function, self.layout = function, layout
        self._vector = bool(function.outputs[0].shape)

    def fun(self, x: object) -> Any:
        """Return the value, or the vector of values."""
        return self.function(reals("fun", "x", x))

    def jac(self, x: object) -> NDArray[np.float64]:
        """Return the gradient of a scalar formula, else the Jacobian ``J[i, j] = dy_i/dx_j``."""
        derivative: NDArray[np.float64]
        if self._vector:
            derivative = self.function.jacobian(reals("jac", "x", x))
        else:
            derivative = self.function.grad(reals("jac", "x", x))
        return derivative

    @property
    def hess(self) -> Callable[[object], NDArray[np.float64]]:
        """The function that returns the Hessian: ``hess(x)[j, k]``.

        Raises ShapeError where the formula is not a scalar.
        """
        self._scalar("hess")
        return self._hess

    @property
    def hessp(self) -> Callable[[object, object], NDArray[np.float64]]:
        """The function for the Hessian times a vector, without the Hessian: ``hessp(x, p)``.

        Raises ShapeError where the formula is not a scalar.
        """
        self._scalar("hessp")
        return self._hessp

    def _hess(self, x: object) -> NDArray[np.float64]:
        matrix: NDArray[np.float64] = self.function.hessian(reals("hess", "x", x))
        return matrix

    def _hessp(self, x: object, p: object) -> NDArray[np.float64]:
        product: NDArray[np.float64] = self.function.hvp(
            reals("hessp", "x", x), reals("hessp", "p", p)
        )
        return product

    def _scalar(self, method: str) -> None:
        if self._vector:
            y: Expr = self.function.outputs[0]
            raise ShapeError(
                f"{method}: the formula has the shape {shape_text(y.shape)}, and a Hessian is that "
                "of a scalar: minimise sd.sum(f**2), or use least_squares or root, which take fun "
                "and jac"
            )

    def pack(self, /, *values: object, **named: object) -> NDArray[np.float64]:
        """Return the vector of values of the unknowns, in their order or by name; see ``scipy``.

        >>> import symdiff as sd
        >>> W, b = sd.symbol("W", (2, 2)), sd.symbol("b")
        >>> problem = scipy(sd.sum(W * W) + b, [W, b])
        >>> problem.pack([[1, 2], [3, 4]], b=5).tolist()
        [1.0, 2.0, 3.0, 4.0, 5.0]
        """
        return self.layout.pack(*values, **named)

    def unpack(self, vector: object, /) -> Any:
        """Return the unknowns in their shapes, from a vector: an array, or a tuple of arrays.

        >>> import symdiff as sd
        >>> W, b = sd.symbol("W", (2, 2)), sd.symbol("b")
        >>> scipy(sd.sum(W * W) + b, [W, b]).unpack(np.arange(5.0))[0].tolist()
        [[0.0, 1.0], [2.0, 3.0]]
        """
        return self.layout.unpack(vector)

    def __repr__(self) -> str:
        shape = shape_text(self.function.outputs[0].shape)
        return f"<Problem: {shape if self._vector else 'a scalar'} of {self.layout}>"
