"""The public derivatives.  One scalar input runs forward, many inputs run in reverse."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, overload

from symdiff.calculus.flows import NONE, Flow
from symdiff.calculus.jacobians import by_columns, by_rows, direction
from symdiff.calculus.nested_results import Columns, Rows
from symdiff.calculus.rules import pullback
from symdiff.calculus.variables import (
    between,
    check,
    check_apart,
    check_paths,
    pulled,
    pushed,
)
from symdiff.errors import NotDifferentiable, ShapeError
from symdiff.graph import ops
from symdiff.graph.algebra import barrier, total
from symdiff.graph.axes import shape_text
from symdiff.graph.bound_lengths import in_terms_of, with_values
from symdiff.graph.contraction import contract
from symdiff.graph.expr import Expr, free_symbols
from symdiff.graph.leaves import as_expr, full, named_dummy, number_node
from symdiff.graph.node import topological
from symdiff.graph.number import shortened
from symdiff.guesses import written

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from symdiff.graph.expr import Operand


def detach(e: Expr) -> Expr:
    """The value of ``e`` with derivative zero.

    >>> from symdiff import symbol
    >>> x = symbol("x")
    >>> grad(x * detach(x), x) is detach(x)
    True
    """
    return barrier(ops.DETACH, as_expr(e))


def _sequence(value: object, name: str, what: str) -> tuple[list[Expr], bool]:
    """``value`` as a list of expressions, and whether it was a sequence."""
    many = isinstance(value, tuple | list)
    values = list(value) if many else [value]  # type: ignore[call-overload]
    if not values:
        raise ValueError(f"{name}: {what} is empty")
    return [as_expr(v) for v in values], many


def _inputs(value: object, name: str, outputs: Sequence[Expr] | None) -> tuple[list[Expr], bool]:
    """The variables as a list, each checked to have a derivative, and whether they were a sequence.

    Without outputs the caller checks later that the variables are or replace their symbols.
    """
    many = isinstance(value, tuple | list)
    for x in value if many else [value]:  # type: ignore[attr-defined]
        if not isinstance(x, Expr):
            raise TypeError(
                f"{name}: input {x!r} is not an expression; differentiate with respect to a symbol"
                + ("; weights are given by name, grad_outputs=..." if name == "grad" else "")
            )
        if x.dtype is not float:
            raise NotDifferentiable(
                f"{name}: input {x!r} is {'boolean' if x.dtype is bool else 'integer'}; "
                "only real inputs have derivatives"
            )
    xs, many = _sequence(value, name, "inputs")
    if outputs is not None:
        xs = in_terms_of(outputs, name, xs)
        check(name, outputs, xs)
    return xs, many


def _flatten_inputs(first: object, more: tuple[Expr, ...]) -> object:
    """The inputs of ``grad``: one input, a sequence, or several arguments."""
    if not more:
        return first
    if isinstance(first, tuple | list):
        raise TypeError(
            f"grad: {more[0]!r} follows a sequence of inputs; pass weights by name, "
            "grad_outputs=..."
        )
    return [first, *more]


def _seeds(outputs: list[Expr], values: object, many: bool, name: str, what: str) -> list[Expr]:
    """Cotangents or tangents, checked against the shapes that they must have."""
    entries = list(values) if isinstance(values, tuple | list) and many else [values]
    if len(entries) != len(outputs):
        raise ValueError(f"{name}: {len(outputs)} {what} expected, got {len(entries)}")
    seeds = []
    for y, g in zip(outputs, entries, strict=True):
        seed = as_expr(g)
        if seed.shape != y.shape:
            raise ShapeError(
                f"{name}: {what[:-1]} of shape {shape_text(seed.shape)} for an expression of "
                f"shape {shape_text(y.shape)}"
            )
        seeds.append(seed)
    return seeds


def _ones(outputs: list[Expr], name: str, what: str) -> list[Expr]:
    """The seeds 1 of scalar outputs; raise ShapeError with the remedy for other outputs."""
    for y in outputs:
        if y.shape:
            raise ShapeError(
                f"{name}: output of shape {shape_text(y.shape)} is not a scalar; pass "
                f"{what}=... of that shape, or use jacobian"
            )
    return [number_node(1) for _ in outputs]


def _value(expr: Expr | None, shape: tuple[Any, ...]) -> Expr:
    return full(shape, 0) if expr is None else expr


def _by_scalar(ys: list[Expr], x: Expr) -> list[Flow | None]:
    """The derivatives of the outputs by one scalar, in one forward walk."""
    return pushed(ys, [x], [number_node(1)])


@overload
def grad(
    outputs: Any,
    inputs: Expr,
    *,
    grad_outputs: Any = None,
    create_graph: bool = True,
    allow_unused: bool = True,
) -> Expr: ...
@overload
def grad(
    outputs: Any,
    inputs: Expr | Sequence[Expr],
    *more: Expr,
    grad_outputs: Any = None,
    create_graph: bool = True,
    allow_unused: bool = True,
) -> tuple[Expr, ...]: ...
def grad(
    outputs: object,
    inputs: Expr | Sequence[Expr],
    *more: Expr,
    grad_outputs: object = None,
    create_graph: bool = True,
    allow_unused: bool = True,
) -> Expr | tuple[Expr, ...]:
    """The gradient of ``outputs``, summed with weights ``grad_outputs``, by ``inputs``.

    ``xbar_j = sum_i g_i dy_i / dx_j``; it has the shape of the input.

    Args:
        outputs: an expression or a sequence of them. inputs: one input gives an expression; a tuple
        or list, also of length one, gives a tuple, and so do several inputs in a row. grad_outputs:
        weights of the shapes of the outputs; 1 by default, which needs scalar outputs.
        create_graph: whether the result may be differentiated again. allow_unused: whether an
        input that no output depends on gets the exact zero of its shape.

    Derivatives by several scalars are shown as a column.

    An input is a symbol, or a component of one: an element or a basic slice (``q[0]``, ``A.T[0]``).
    The derivative by a component is the symbol's derivative at its elements.  Any other expression
    acts as a symbol if the outputs depend on its symbols only through it.

    Raises ShapeError for a non-scalar output without weights, and ValueError for an input that is
    none of these.  Raises ValueError for an unused input unless ``allow_unused``.  Raises
    NotDifferentiable for an integer or boolean input, or through a result of
    ``create_graph=False``.

    >>> from symdiff import symbol, symbols
    >>> x, y = symbols("x y")
    >>> grad(x * y**2, (x, y)) == grad(x * y**2, x, y) == (y**2, 2 * x * y)
    True
    >>> q = symbol("q", 3)
    >>> grad(q @ q, q[:2]) is 2 * q[:2]
    True
    """
    arguments = _flatten_inputs(inputs, more)
    ys, many_outputs = _sequence(outputs, "grad", "outputs")
    xs, many = _inputs(arguments, "grad", ys)
    if grad_outputs is None:
        seeds = _ones(ys, "grad", "grad_outputs")
    else:
        seeds = _seeds(ys, grad_outputs, many_outputs, "grad", "grad_outputs")
    if len(xs) == 1 and not xs[0].shape:
        flows = [_forward(ys, xs[0], seeds)]
    else:
        flows = pulled(ys, xs, [Flow(g, NONE) for g in seeds])
    results = []
    for x, flow in zip(xs, flows, strict=True):
        if flow is None and not allow_unused:
            raise ValueError(
                f"grad: no output depends on {x!r}; pass allow_unused=True to get its zero"
            )
        result = _value(flow, x.shape)
        results.append(result if create_graph else barrier(ops.NO_GRAPH, result))
    if not many:
        return results[0]
    return Rows(results) if _are_scalars(xs) else tuple(results)


def _are_scalars(exprs: Iterable[Expr]) -> bool:
    return not any(expr.shape for expr in exprs)


def _forward(ys: list[Expr], x: Expr, seeds: list[Expr]) -> Expr | None:
    """``sum_i seed_i . dy_i/dx`` for a scalar x: one tangent serves every output."""
    terms = []
    for flow, seed in zip(_by_scalar(ys, x), seeds, strict=True):
        if flow is not None:
            word = tuple(range(seed.ndim))
            terms.append(contract([(seed, word), (flow.expr, word, flow.mark > NONE)], ()))
    return total(terms) if terms else None


def diff(f: Expr, *variables: Expr | int) -> Expr:
    """The derivative in SymPy's calling convention: ``diff(f, x, 3, y)`` is d4 f / dx3 dy.

    ``f`` may have any shape; the variables are scalars: symbols, elements of symbols, or any other
    scalar input of ``grad``.  Derivatives run forward, so that all orders share nodes.

    Raises TypeError for a variable that is not an expression or a count without a variable.  Raises
    ValueError for a negative count and for a variable that does not act as a symbol.  Raises
    ValueError for an order whose formulas grow too large (those of polynomials and of sin(x) stay
    small).  Raises ShapeError for a variable of array shape.

    >>> from symdiff import cos, sin, symbol, symbols
    >>> x, y = symbols("x y")
    >>> diff(x**3 * y, x, 2, y) is 6 * x
    True
    >>> q = symbol("q", 2)
    >>> diff(sin(q[0]) * q[1], q[0]) is cos(q[0]) * q[1]
    True
    """
    result = as_expr(f)
    orders = _orders(variables)
    xs = in_terms_of([result], "diff", [x for x, _ in orders])
    check("diff", [result], xs)
    for x, (_, order) in zip(xs, orders, strict=True):
        result = _repeat_derivative(result, x, order)
    return result


# Check at orders that are powers of two, from this one on: each estimate takes a walk.
_FIRST_ESTIMATE = 16
# The limit of node visits by all derivatives together; this many take minutes.
_MOST_VISITS = 20_000_000


def _repeat_derivative(f: Expr, x: Expr, order: int) -> Expr:
    """The derivative of this order by x.  Where derivatives repeat periodically, reuse them."""
    history = [f]
    place = {f: 0}
    size = 0
    for k in range(1, order + 1):
        check_paths("diff", [f], [x])
        flow = _by_scalar([f], x)[0]
        f = full(f.shape, 0) if flow is None else flow.expr
        first = place.setdefault(f, k)
        if first < k:
            return history[first + (order - first) % (k - first)]
        history.append(f)
        if k >= _FIRST_ESTIMATE and not k & (k - 1):
            size = _check_growth(f, x, k, order, size)
    return f


def _check_growth(f: Expr, x: Expr, k: int, order: int, before: int) -> int:
    """The estimated size of the derivative of order k, if reaching ``order`` is feasible.

    The estimate extrapolates the growth since ``before``, the size at half the order.  Raises
    ValueError where the work exceeds the limit.
    """
    nodes = topological([f])
    bits = sum(
        c.bit_length()
        for node in nodes
        if isinstance(node.op, ops.Sum)
        for c in node.op.coefs
        if isinstance(c, int)
    )
    size = len(nodes) + bits // 1000  # long numbers take time, too
    visits = size * (order - k)
    if size > before:
        visits = visits * (order // k + 1) // 2
    if visits > _MOST_VISITS:
        raise ValueError(
            f"diff: order {order} by {x!r} is out of reach: the derivative of order {k} has "
            f"{len(nodes)} nodes, and each order visits all of them"
        )
    return size


def _orders(variables: Sequence[Expr | int]) -> list[tuple[Expr, int]]:
    orders: list[tuple[Expr, int]] = []
    counted = True
    for v in variables:
        if isinstance(v, Expr):
            if v.shape:
                raise ShapeError(
                    f"diff: variable {v!r} has shape {shape_text(v.shape)}; diff takes "
                    "scalars, use grad or jacobian"
                )
            _inputs(v, "diff", None)
            orders.append((v, 1))
            counted = False
        elif isinstance(v, bool) or not isinstance(v, int) or counted:
            raise TypeError(
                f"diff: {v!r} is neither a symbol nor the count of the symbol before it; write "
                "diff(f, x, 2, y)"
            )
        elif v < 0:
            raise ValueError(f"diff: order {v} is negative")
        else:
            orders[-1] = (orders[-1][0], v)
            counted = True
    if not orders:
        raise TypeError(
            "diff: name at least one variable, diff(f, x); the differences of an array's elements "
            "are np.diff(a)"
        )
    return orders


@written("jacobian(f, x), or jacobian(f, [x, y])")
def jacobian(f: Expr | Sequence[Expr], x: Expr | Sequence[Expr], *, mode: str = "auto") -> Any:
    """The Jacobian ``J[i.., j..] = d f[i..] / d x[j..]``, of shape ``f.shape + x.shape``.

    A tuple or list of inputs gives a tuple; a tuple or list of outputs gives a tuple of these.  The
    derivative of output i by input j is ``jacobian([p, q], [x, y])[i][j]``.  One array of both is
    one output, whose axes come after the input: ``jacobian(stack([p, q]), [x, y])[j][i]``.
    ``grad`` describes the inputs.  Derivatives of scalars or of one vector by several scalars are
    shown as a matrix, with a row for each output.

    ``mode`` is the direction of the walk. "reverse" pulls back a symbolic identity, one row for
    each element of an output. "forward" pushes one forward, one column for each element of the
    inputs. "auto" chooses for each output.  It is forward for a single input element, or where the
    inputs together have fewer elements than the output, else reverse.  A symbolic length counts as
    more than any number.  Both directions give the same values up to rounding; the formulas may
    differ.

    Raises ValueError for another mode.

    >>> from symdiff import stack, symbol
    >>> x = symbol("x", (3,))
    >>> jacobian(x * x, x).shape
    (3, 3)
    >>> [[block.shape for block in row] for row in jacobian([x @ x, 2 * x], [x, x[:2]])]
    [[(3,), (2,)], [(3, 3), (3, 2)]]
    >>> p, q = symbol("p"), symbol("q")
    >>> J = jacobian([p * q, q], [p, q])
    >>> J[0][1], jacobian(stack([p * q, q]), [p, q])[1][0]
    (p, p)
    """
    ys, many_outputs = _sequence(f, "jacobian", "outputs")
    xs, many = _inputs(x, "jacobian", ys)
    rows = [_jacobians(y, xs, mode) for y in ys]
    separate = _are_scalars(xs)
    if not many_outputs:
        if not many:
            return rows[0][0]
        return Columns(rows[0]) if separate and ys[0].ndim < 2 else tuple(rows[0])
    jacobians = [tuple(row) if many else row[0] for row in rows]
    return Rows(jacobians) if separate and _are_scalars(ys) else tuple(jacobians)


def _jacobians(f: Expr, xs: list[Expr], mode: str = "auto") -> list[Expr]:
    if direction("jacobian", mode, [f.shape], [x.shape for x in xs]) == "forward":
        return [by_columns(f, x) for x in xs]
    return by_rows(f, xs)


@written("hessian(f, x), or hessian(f, [x, y])")
def hessian(f: Expr | Sequence[Expr], x: Expr | Sequence[Expr]) -> Any:
    """The second derivative ``H[i.., j.., k..] = d2 f[i..] / d x[j..] d x[k..]``.

    Its shape is f.shape + x.shape + x.shape.  A tuple or list of inputs gives the blocks as a tuple
    of tuples, ``H[a][b] = d2 f / d x_a d x_b``; by scalars they are shown as a matrix.  A tuple or
    list of outputs gives a tuple of these.  ``grad`` describes the inputs.

    >>> from symdiff import symbol
    >>> A, x, y = symbol("A", (3, 3)), symbol("x", (3,)), symbol("y", (3,))
    >>> hessian(x @ A @ x, x) is A + A.T
    True
    >>> hessian(x @ A @ y, [x, y])[0][1] is A
    True
    """
    ys, many_outputs = _sequence(f, "hessian", "outputs")
    xs, many = _inputs(x, "hessian", ys)
    hessians = []
    for y in ys:
        first = _jacobians(y, xs)
        check_paths("hessian", first, xs)
        blocks = [tuple(_jacobians(g, xs)) for g in first]
        separate = many and not y.shape and _are_scalars(xs)
        hessians.append((Rows if separate else tuple)(blocks) if many else blocks[0][0])
    return tuple(hessians) if many_outputs else hessians[0]


@written("vjp(f, x, u), or vjp([f, g], [x, y], [u, v])")
def vjp(outputs: object, inputs: Expr | Sequence[Expr], cotangents: object) -> Any:
    """Cotangents of ``inputs`` for ``cotangents`` of ``outputs``: ``xbar_j = sum_i g_i dy_i/dx_j``.

    Cotangents have the shapes of the outputs, results the shapes of the inputs; a sequence of
    inputs gives a tuple.  ``grad`` describes the inputs.

    >>> from symdiff import symbol
    >>> x, g = symbol("x", (3,)), symbol("g", (3,))
    >>> vjp(x**2, x, g) is 2 * x * g
    True
    """
    ys, many_outputs = _sequence(outputs, "vjp", "outputs")
    xs, many = _inputs(inputs, "vjp", ys)
    seeds = _seeds(ys, cotangents, many_outputs, "vjp", "cotangents")
    flows = pulled(ys, xs, [Flow(g, NONE) for g in seeds])
    results = [_value(flow, x.shape) for flow, x in zip(flows, xs, strict=True)]
    return tuple(results) if many else results[0]


def cotangents(
    outputs: Expr | Sequence[Expr],
    seed: object = None,
    inputs: Expr | Sequence[Expr] | None = None,
    name: str = "cotangents",
) -> dict[Expr, Expr]:
    """The cotangent of every real node between ``inputs`` and ``outputs``, from one walk.

    The cotangent of a node v is ``vbar = sum_i seed_i dy_i / dv``, with v as an input of its own.
    Reverse mode has this value at v before it continues to v's operands.  The cotangent of a symbol
    is its gradient.  Keys are in the order of computation, operands first.  A node without
    influence, such as one that is only detached, has the zeros of its shape.  Integers, conditions,
    numbers and data have no cotangent.

    Args:
        outputs: an expression or a sequence of them. seed: the cotangent of the output, or one of
        each, of their shapes; 1 by default, which needs scalar outputs. inputs: inputs of
        ``grad``, where a component counts as its symbol; all real symbols by default. name: the
        function that messages name.

    Raises what ``grad`` raises.

    >>> from symdiff import sin, symbol
    >>> x = symbol("x")
    >>> cotangents(sin(x**2))
    {x: 2*x*cos(x**2), x**2: cos(x**2), sin(x**2): 1}
    """
    ys, many = _sequence(outputs, name, "outputs")
    if inputs is None:
        xs = [x for x in free_symbols(ys) if x.dtype is float]
    else:
        xs, _ = _inputs(inputs, name, ys)
    seeds = _ones(ys, name, "seed") if seed is None else _seeds(ys, seed, many, name, "seeds")
    path = [node for node in between(topological(ys), xs) if node.dtype is float]
    flows = pullback(ys, path, [Flow(g, NONE) for g in seeds])
    return {
        node: _value(None if flow is None else flow.expr, node.shape)
        for node, flow in zip(path, flows, strict=True)
    }


@written("jvp(f, x, v), or jvp(f, [x, y], [v, w])")
def jvp(outputs: object, inputs: Expr | Sequence[Expr], tangents: object) -> Any:
    """Tangents of ``outputs`` for ``tangents`` of ``inputs``: ``ydot_i = sum_j dy_i/dx_j t_j``.

    Tangents have the shapes of the inputs, results the shapes of the outputs; a sequence of outputs
    gives a tuple.  ``grad`` describes the inputs; no two may share an element.

    >>> from symdiff import symbol
    >>> x, t = symbol("x", (3,)), symbol("t", (3,))
    >>> jvp(x**2, x, t) is 2 * x * t
    True
    """
    ys, many = _sequence(outputs, "jvp", "outputs")
    xs, many_inputs = _inputs(inputs, "jvp", ys)
    check_apart("jvp", xs)
    seeds = _seeds(xs, tangents, many_inputs, "jvp", "tangents")
    return _pushed(ys, xs, seeds, many)


def _pushed(ys: list[Expr], xs: list[Expr], tangents: list[Expr], many: bool) -> Any:
    flows = pushed(ys, xs, tangents)
    results = [
        _value(None if t is None else t.expr, y.shape) for t, y in zip(flows, ys, strict=True)
    ]
    return tuple(results) if many else results[0]


@written("total_derivative(f, t, {q: v, v: a})")
def total_derivative(
    f: Expr | Sequence[Expr], t: Expr, rates: Mapping[Expr, Operand] | None = None
) -> Any:
    """The derivative by ``t`` along a motion: ``df/dt = f_t + sum_k f_(x_k) . rates[x_k]``.

    ``rates`` has the derivative by t of each input x_k of f that moves with t; all other inputs
    stay fixed.  Inputs are symbols or components, as for ``grad``, and a rate has the shape of its
    input.  A tuple or list of outputs gives a tuple.

    Formulas in unknown functions of t need no rates: ``diff(f, t)`` is their total derivative.

    Raises TypeError for t or an input that is not an expression, ShapeError for t of array shape or
    a rate of another shape.  Raises ValueError for an input that is t, contains t, shares
    elements with another one, or is an unknown function of t.

    >>> from symdiff import symbols
    >>> t, q, v = symbols("t q v")
    >>> print(total_derivative(t * q**2, t, {q: v}))
    2*q*t*v + q**2
    """
    name = "total_derivative"
    ys, many = _sequence(f, name, "outputs")
    if not isinstance(t, Expr):
        raise TypeError(f"{name}: argument 't' expects a symbol, got {shortened(t)}")
    if t.shape:
        raise ShapeError(f"{name}: t has shape {shape_text(t.shape)}, expected a scalar")
    moving: Mapping[Expr, Operand] = {} if rates is None else rates
    if not isinstance(moving, Mapping):
        raise TypeError(f"{name}: argument 'rates' expects {{q: v}}, got {shortened(moving)}")
    xs, _ = _inputs([t, *moving], name, ys)
    seeds = [number_node(1)]
    for x, rate in zip(xs[1:], moving.values(), strict=True):
        seed = as_expr(rate, name, "rates")
        if seed.shape != x.shape:
            raise ShapeError(
                f"{name}: the rate of {x} has shape {shape_text(seed.shape)}, expected "
                f"{shape_text(x.shape)}"
            )
        seeds.append(seed)
        if isinstance(x.op, ops.Unknown) and t in topological([x]):
            raise ValueError(
                f"{name}: argument 'rates' has {x!r}, a function of {t!r}, whose rate is its own "
                "derivative; leave it out"
            )
    check_apart(name, xs)
    return _pushed(ys, xs, seeds, many)


@written("hvp(f, x, v), or hvp(f, [x, y], [v, w])")
def hvp(f: Expr, inputs: Expr | Sequence[Expr], tangents: object) -> Any:
    """The Hessian of a scalar ``f`` times ``tangents``, forward over reverse: no Hessian is built.

    ``r_j = sum_k d2f/dx_j dx_k t_k``; results have the shapes of the inputs, a sequence gives a
    tuple.  ``grad`` describes the inputs; no two may share an element.

    >>> from symdiff import symbol
    >>> A, x, t = symbol("A", (3, 3)), symbol("x", (3,)), symbol("t", (3,))
    >>> hvp(x @ A @ x, x, t) is t @ A + A @ t
    True
    """
    xs, many = _inputs(inputs, "hvp", [as_expr(f)])
    check_apart("hvp", xs)
    seeds = _seeds(xs, tangents, many, "hvp", "tangents")
    gradients = grad(f, xs)
    check_paths("hvp", gradients, xs)
    return _pushed(list(gradients), xs, seeds, many)


@written("gauss_newton_product(loss, predictions, w, v)")
def gauss_newton_product(f: Expr, of: Expr, inputs: Expr | Sequence[Expr], tangents: object) -> Any:
    """The generalised Gauss-Newton matrix of a scalar ``f`` times ``tangents``; no matrix is built.

    It is the Hessian of f with the part ``of``, z, replaced by its linearisation:
    ``G t = J^T (f_zz J t + f_zx t) + f_xz J t + f_xx t`` with ``J = dz/dx``, where f_x is the
    derivative with z held fixed.  For a loss that is convex in z and x, G is positive semidefinite,
    even where the Hessian is not.  ``hvp`` describes the shapes.

    Source: N. N. Schraudolph, Fast curvature matrix-vector products for second-order gradient
    descent, Neural Computation 14 (2002), equation 3.

    >>> from symdiff import sum, symbol, tanh
    >>> X, w, t = symbol("X", (5, 3)), symbol("w", 3), symbol("t", 3)
    >>> z = tanh(X @ w)
    >>> J = jacobian(z, w)
    >>> gauss_newton_product(sum(z**2) / 2, z, w, t).shape
    (3,)
    """
    f = as_expr(f, "gauss_newton_product", "f")
    of = as_expr(of, "gauss_newton_product", "of")
    xs, many = _inputs(inputs, "gauss_newton_product", [f])
    seeds = _seeds(xs, tangents, many, "gauss_newton_product", "tangents")
    z = named_dummy("z", of.shape)
    apart = with_values("gauss_newton_product", [f], {of: z})[0]
    if z not in set(topological([apart])):
        raise ValueError(f"gauss_newton_product: argument 'of' expects a part of f, got {of}")
    moved = _pushed([of], xs, seeds, False)
    by_z, *direct = hvp(apart, [z, *xs], [moved, *seeds])
    back = vjp(of, xs, by_z)
    products = [
        with_values("gauss_newton_product", [a + b], {z: of})[0]
        for a, b in zip(back, direct, strict=True)
    ]
    return tuple(products) if many else products[0]


__all__ = [
    "detach",
    "diff",
    "gauss_newton_product",
    "grad",
    "hessian",
    "hvp",
    "jacobian",
    "jvp",
    "total_derivative",
    "vjp",
]
