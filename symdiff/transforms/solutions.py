"""Solutions of equations for users: roots, fixed points, linear equations, minimisers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from symdiff.calculus.derivative import grad
from symdiff.calculus.flows import NONE, Flow
from symdiff.calculus.rules import pushforward
from symdiff.errors import ShapeError
from symdiff.functions.shaping import assembled
from symdiff.graph.algebra import as_real, opaque
from symdiff.graph.arguments import tolerance
from symdiff.graph.axes import shape_text
from symdiff.graph.expr import Expr, check_names, free_symbols
from symdiff.graph.leaves import as_expr, full, is_zero, named_dummy
from symdiff.graph.node import topological
from symdiff.graph.number import shortened
from symdiff.guesses import written
from symdiff.transforms.bodies import replaced
from symdiff.transforms.closing import closed
from symdiff.transforms.packing import packed, unpacked
from symdiff.transforms.roots import LinearSolution, Root, equations, jacobian_matrix
from symdiff.transforms.scans import captured
from symdiff.transforms.trees import leaves_like, leaves_of, like, shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from symdiff.graph.node import Shape

__all__ = ["fixed_point", "linear_solve", "minimize", "root"]

_STEPS = 100
_METHODS = ("cg", "gmres")


@written("root(f, x0), f(x) -> what x makes 0")
def root(
    f: Callable[[Any], Any],
    x0: Any,
    *,
    solver: Callable[..., Any] | None = None,
    max_steps: int = _STEPS,
) -> Any:
    """Return the x near ``x0`` with ``f(x) = 0``; f(x) has the shape of x.

    The solution is one node.  So are its derivatives by all other symbols in f, of every order and
    in both modes: ``dx = -(df/dx)^-1 df``, at x itself.  The start selects the root, and has no
    derivative.  ``f`` is called once, with a symbol.

    Newton's method with the exact derivative runs until rounding ends it, with shorter steps where
    they are needed.  The result is verified: a Function raises ConvergenceError rather than return
    a value that is not a root.  If df/dx is singular at the root, the value exists and derivatives
    raise LinAlgError.

    Args:
        f: ``f(x)``, an expression of x's shape.
        x0: the start: an expression, number or array (a list is the rows of an array), or nested
            tuples and dicts of them.  The argument and result of f, and the root, have the same
            structure.
        solver: ``solver(F, x0, slope)`` for roots that are hard to approach.  It gets f and df/dx
            as functions of NumPy arrays, df/dx with the shape of x twice: ``lambda F, x0, slope:
            scipy.optimize.brentq(F, 0, 9)``.  Newton's method starts from its result.
        max_steps: the maximum number of Newton steps.

    Raises ShapeError if f(x) has another shape than x0, TypeError if it is not an expression or has
    another structure, ValueError if it does not contain x, or for a solver with a tuple or dict.

    >>> import symdiff as sd
    >>> a = sd.symbol("a")
    >>> x = sd.root(lambda x: x**3 + a * x - 1, 1.0)
    >>> print(sd.evalf(sd.diff(x, a), 20, {a: 2}))
    -0.17327023155040818075
    """
    of = unknown("root", x0)
    return solution(of, [of.equations(f(of.given))], solver, max_steps)


@written("fixed_point(g, x0), g(x) -> x")
def fixed_point(
    g: Callable[[Any], Any],
    x0: Any,
    *,
    solver: Callable[..., Any] | None = None,
    max_steps: int = _STEPS,
) -> Any:
    """Return the x near ``x0`` with ``x = g(x)``: the root of ``x - g(x)``.

    ``root`` finds it, whether or not x, g(x), g(g(x)).. converge, and gives its derivatives.
    Arguments and errors are the same as in ``root``.

    >>> import symdiff as sd
    >>> W, b = sd.symbol("W", (3, 3)), sd.symbol("b", 3)
    >>> z = sd.fixed_point(lambda z: sd.tanh(W @ z + b), sd.zeros(3))
    >>> sd.jacobian(z, b).shape
    (3, 3)
    """
    of = unknown("fixed_point", x0)
    return solution(of, [of.x - of.equations(g(of.given))], solver, max_steps)


@written("minimize(f, x0), f(x) -> one number")
def minimize(
    f: Callable[[Any], Any],
    x0: Any,
    *,
    solver: Callable[..., Any] | None = None,
    max_steps: int = _STEPS,
) -> Any:
    """Return the minimiser near ``x0`` of a function ``f`` with one number as value.

    There the gradient of f is 0 and the Hessian is positive definite.  This is verified: a Function
    raises ConvergenceError if the search ends at a saddle, at a maximum, or where the Hessian is
    singular.  The minimiser is a root of the gradient, and has its derivatives of every order and
    in both modes.  Formulas that contain it can be outer problems.

    Args:
        f: ``f(x)``, one number.
        x0: the start, as in ``root``; the minimiser has the same structure.
        solver: ``solver(f, x0, gradient)`` for minima that are hard to approach.  It gets functions
            of NumPy arrays:
            ``lambda f, x0, gradient: scipy.optimize.minimize(f, x0, jac=gradient).x``
        max_steps: the maximum number of Newton steps.

    Raises ShapeError if f(x) has another shape than (), TypeError if it is not an expression,
    ValueError if it does not contain x, or for a solver with a tuple or dict.

    >>> import symdiff as sd
    >>> X, y, penalty = sd.symbol("X", ("n", 2)), sd.symbol("y", "n"), sd.symbol("penalty")
    >>> w = sd.minimize(lambda w: sd.sum((X @ w - y) ** 2) + penalty * w @ w, sd.zeros(2))
    >>> data = {X: [[1, 0], [1, 1], [1, 2]], y: [0, 1, 3], penalty: 1}
    >>> print(sd.evalf(sd.diff(w[1], penalty), 6, data))
    -0.244444
    """
    of = unknown("minimize", x0)
    # The objective stays among the bodies: a minimiser differs from other roots of its gradient.
    objective = _check_shape("minimize", of.what, f(of.given), of.x, ())
    _check_contains("minimize", objective, of.x)
    return solution(of, [grad(objective, of.x), objective], solver, max_steps)


@written('linear_solve(matvec, b, method="cg"), matvec(x) -> A x')
def linear_solve(
    matvec: Callable[[Any], Any],
    b: Any,
    *,
    method: str = "cg",
    rtol: float = 1e-13,
    max_steps: int | None = None,
) -> Any:
    """Return the x with ``matvec(x) = b`` for a linear map given only by its products.

    The program builds no matrix.  Derivatives are solutions for the same map or its transpose, of
    every order and in both modes.

    Args:
        matvec: a linear map of x to the same shape.  It is called once, with a symbol.
        b: an expression, number or array, or tuples and dicts of them, as in ``root``.
        method: "cg", for symmetric positive definite maps, or "gmres", for all others.
        rtol: the bound of the norm of ``b - matvec(x)``, relative to the norm of b; rounding of the
            products may raise it.
        max_steps: the maximum number of products; by default ten times the number of elements of b.

    Raises ValueError for another method and for a matvec that is not visibly linear, ShapeError if
    matvec(x) has another shape than b, TypeError if it is not an expression.  A Function raises
    ConvergenceError rather than return a value that is not a solution.

    >>> import symdiff as sd
    >>> k, b = sd.symbol("k"), sd.symbol("b", 50)
    >>> u = sd.linear_solve(lambda u: (2 + k) * u - sd.roll(u, 1) - sd.roll(u, -1), b)
    >>> sd.grad(sd.sum(u**2), b).shape
    (50,)
    """
    if method not in _METHODS:
        raise ValueError(f"linear_solve: method={shortened(method)}; use {', '.join(_METHODS)}")
    of = unknown("linear_solve", b)
    # A linear map needs no start: the structure of b serves as that of the unknown.
    right, x = of.start, of.x
    body = of.equations(matvec(of.given))
    _check_linear(body, x)
    check_names(free_symbols([right, body]))
    bodies, params = captured([body], x)
    further = method, tolerance("linear_solve", "rtol", rtol), max_steps, 0
    op = equations(LinearSolution, "linear_solve", bodies, x, [*params.values()], *further)
    return of.tree_of(opaque(op, right, *params))


class Unknown(NamedTuple):
    """The unknown of an equation: one symbol for an array, or for several in tuples and dicts.

    ``tree`` holds the starts; ``what`` names the user's function in messages.
    """

    name: str
    what: str
    tree: Any
    start: Expr
    x: Expr

    @property
    def shapes(self) -> list[Shape]:
        """The shapes of the arrays."""
        return [leaf.shape for leaf in leaves_of(self.tree)]

    @property
    def given(self) -> Any:
        """The argument of the user's function: the structure of the start, over the symbol."""
        return self.tree_of(self.x)

    def tree_of(self, packed: Expr) -> Any:
        """Unpack one array into the structure of the start; leading axes stay."""
        return like(self.tree, iter(unpacked(packed, self.shapes)))

    def returned(self, output: Any) -> Expr:
        """Pack the result of the user's function into one array, after a check of its structure.

        Raises TypeError for another structure, ShapeError for other shapes.
        """
        if not isinstance(self.tree, tuple | dict):
            return _check_shape(self.name, self.what, output, self.x, self.x.shape)
        leaves = leaves_like(output, self.tree)
        if leaves is None:
            raise TypeError(
                f"{self.name}: {self.x.name} is {shown(self.tree)}, {self.what} returned "
                f"{shown(output)}: another structure"
            )
        values = []
        for k, (leaf, shape) in enumerate(zip(leaves, self.shapes, strict=True)):
            value = _real_expression(self.name, self.what, leaf, shape)
            if value.shape != shape:
                raise ShapeError(
                    f"{self.name}: {self.x.name}, part {k}, has shape {shape_text(shape)}, "
                    f"{self.what} returned {shape_text(value.shape)}"
                )
            values.append(value)
        return packed(values)

    def equations(self, output: Any) -> Expr:
        """``returned``; raises ValueError if the result does not contain the symbol."""
        body = self.returned(output)
        _check_contains(self.name, body, self.x)
        return body


def unknown(name: str, start: Any, symbol: str = "x", what: str = "the function") -> Unknown:
    """The unknown for a start; ``name`` is the public function that messages name."""
    tree = _expression_tree(start)
    values = leaves_of(tree)
    joined = packed(values)
    return Unknown(name, what, tree, joined, named_dummy(symbol, joined.shape))


def _expression_tree(tree: Any) -> Any:
    """A tree of expressions; lists are the rows of arrays."""
    if isinstance(tree, dict):
        return type(tree)((key, _expression_tree(branch)) for key, branch in tree.items())
    if isinstance(tree, tuple):
        branches = [_expression_tree(branch) for branch in tree]
        return type(tree)(*branches) if hasattr(tree, "_fields") else type(tree)(branches)
    # An integer start would make the unknown an integer, which has no derivative.
    return as_real(assembled(tree))


def solution(
    of: Unknown,
    outputs: list[Expr],
    solver: Callable[..., Any] | None = None,
    max_steps: int = _STEPS,
    slopes: Expr | None = None,
) -> Any:
    """The root of the first output, in the structure of its start.

    ``slopes``: the derivative of this output by the unknown, a matrix, if it has its own formula.
    """
    name, x = of.name, of.x
    if solver is not None and not callable(solver):
        raise TypeError(f"{name}: solver={shortened(solver)} is not a function")
    if solver is not None and isinstance(of.tree, tuple | dict):
        raise ValueError(
            f"{name}: a solver finds one array, but x0 is {shown(of.tree)}: pack it into one "
            "array, or leave the solver out"
        )
    if isinstance(max_steps, bool) or not isinstance(max_steps, int) or max_steps < 1:
        raise ValueError(f"{name}: max_steps={shortened(max_steps)} is not a number of steps")
    check_names(free_symbols([of.start, *outputs]))
    # The Jacobian is a body, too: Newton's steps and the derivatives of the root need it.
    if slopes is None:
        slopes = jacobian_matrix(outputs[0], x)
    # Free symbols of the function become operands of the node, so that derivatives reach them.
    bodies, params = captured([outputs[0], slopes, *outputs[1:]], x)
    op = equations(Root, name, bodies, x, [*params.values()], solver, max_steps)
    return of.tree_of(opaque(op, of.start, *params))


def _real_expression(name: str, what: str, output: Any, shape: Shape) -> Expr:
    """The result of a user's function as a real expression; raises TypeError if it is none."""
    try:
        return as_real(as_expr(output))
    except TypeError:
        raise TypeError(
            f"{name}: {what} returned {shortened(output)}; expected an expression, of shape "
            f"{shape_text(shape)}"
        ) from None


def _check_shape(name: str, what: str, output: Any, x: Expr, shape: Shape) -> Expr:
    """The result of a user's function for x as a real expression of this shape."""
    body = _real_expression(name, what, output, shape)
    if body.shape != shape:
        whose = f"that of {x.name}" if shape == x.shape else "one number"
        raise ShapeError(
            f"{name}: {what} returned shape {shape_text(body.shape)}, expected {whose}, "
            f"{shape_text(shape)}, for {x.name} of shape {shape_text(x.shape)}"
        )
    return closed([body], [x])[0]


def _check_contains(name: str, body: Expr, x: Expr) -> None:
    # An unknown without elements occurs nowhere, and has its one solution.
    if not _contains(body, x) and 0 not in x.shape:
        raise ValueError(f"{name}: the result of the function does not contain x")


def _contains(f: Expr, x: Expr) -> bool:
    return any(node is x for node in topological([f]))


def _check_linear(body: Expr, x: Expr) -> None:
    t = named_dummy("t", x.shape)
    # The derivative of a linear map does not contain x: exactly the maps that a solver serves.
    flow = pushforward(topological([body]), [body], {x: Flow(t, NONE)})[0]
    if flow is None or _contains(flow.expr, x):
        raise ValueError("linear_solve: the map is not linear: its derivative contains x")
    # Structure decides, not values: a hidden offset would be solved for a wrong right-hand side.
    if not is_zero(replaced([body], {x: full(x.shape, 0)})[0]):
        raise ValueError("linear_solve: the map is not visibly 0 at 0; move its offset to b")
