"""Solutions of ordinary differential equations at given times.

SciPy chooses the mesh, the times at which its steps end, by the tolerances.  The solution is then a
scan of Runge-Kutta steps of the same method over that mesh.  Derivatives are exact derivatives of
this discrete solution, with the mesh as data.  One more step leads from the last node before each
requested time to that time.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

from symdiff.calculus.derivative import detach, jacobian
from symdiff.calculus.variables import component
from symdiff.errors import ShapeError, Unsupported
from symdiff.functions.indexing import take
from symdiff.functions.shaping import (
    arange,
    assembled,
    concat,
    expand_dims,
    reshape,
    squeeze,
    stack,
)
from symdiff.graph import ops
from symdiff.graph.algebra import as_real, opaque, total
from symdiff.graph.arguments import tolerance
from symdiff.graph.axes import shape_text
from symdiff.graph.axis_lengths import names
from symdiff.graph.contraction import broadcast_to
from symdiff.graph.expr import Expr, check_names, free_symbols
from symdiff.graph.leaves import as_expr, named_dummy
from symdiff.graph.lengths import product
from symdiff.graph.node import topological
from symdiff.graph.number import shortened
from symdiff.guesses import written
from symdiff.opaque_ops.matrices import matrix_product, matrix_transpose
from symdiff.transforms import batching
from symdiff.transforms.batching import batched
from symdiff.transforms.bodies import replaced
from symdiff.transforms.closing import closed
from symdiff.transforms.continuous import Stated, continuous_solution
from symdiff.transforms.roots import Equations, equations, jacobian_matrix
from symdiff.transforms.scans import captured, part, trajectory
from symdiff.transforms.sized import free_length, sized
from symdiff.transforms.solutions import solution, unknown
from symdiff.transforms.tableaus import TABLEAUS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from symdiff.graph.expr import Operand
    from symdiff.graph.node import Dim, Shape
    from symdiff.transforms.tableaus import Tableau

__all__ = ["odeint"]

# The largest state, in elements, whose implicit stages are stored as starts for the roots, and the
# largest array in an expression that steps take apart.
_SMALL = 64


@written("odeint(rhs, y0, t), rhs(y, t) -> dy/dt")
def odeint(
    rhs: Callable[[Any, Expr], Any],
    y0: Any,
    t: Operand,
    *,
    rtol: float = 1e-8,
    atol: float = 1e-8,
    method: str = "RK45",
    max_steps: int = 10_000,
    sensitivities: bool = False,
    events: None = None,
    dense_output: bool = False,
) -> Any:
    """Return the solution of ``dy/dt = rhs(y, t)`` at the times t, from ``y(t[0]) = y0``.

    Its shape is the shape of t followed by the shape of y0, and ``ys[0]`` is y0.  SciPy chooses the
    steps, with an error of at most ``atol + rtol |y|`` in each.  Derivatives by y0, t and all other
    symbols in ``rhs``, of every order and in both modes, are exact for these steps: the end times
    of the steps count as data.  Steps that are short enough for y may be too long for its
    derivatives, for example in a stiff equation; ``sensitivities=True`` chooses steps for both.
    ``rhs`` is called once, with symbols.

    Args:
        rhs: ``rhs(y, t)``, an expression of y's shape; t is one number.
        y0: the solution at the first time: an expression, number or array (a list is the rows of an
            array), or nested tuples and dicts of them.  y, the result of ``rhs``, and the solution
            have the same structure.
        t: times in one axis, in order, upwards or downwards.
        rtol, atol: the relative and absolute error bound of a step.
        method: "RK45", "DOP853" for small tolerances, or "Radau" for stiff equations.
        max_steps: the maximum number of steps.
        sensitivities: whether to bound the errors of the first derivatives of y by y0 and by all
            symbols of ``rhs`` as well, by ``atol + rtol |dy|`` in each step.  SciPy then integrates
            n (1 + n + m) numbers in place of n, where y has n elements and these symbols m.  Second
            derivatives follow from the same steps.
        events, dense_output: arguments of SciPy's ``solve_ivp`` that are not supported.

    A Function needs SciPy, and raises ConvergenceError if the steps do not reach the last time.

    Raises ShapeError if ``rhs`` has another shape, or t is not a vector; TypeError for another
    structure; ValueError for another method; Unsupported for events and dense output.

    >>> import symdiff as sd
    >>> k, t = sd.symbol("k"), sd.symbol("t", 5)
    >>> ys = sd.odeint(lambda y, t: -k * y, 1.0, t)
    >>> ys.shape, sd.diff(ys, k).shape
    ((5,), (5,))
    """
    for name, value in (("events", events), ("dense_output", dense_output or None)):
        if value is not None:
            raise Unsupported(
                f"odeint: {name}={shortened(value)} is not supported; t has all times"
            )
    if not isinstance(method, str) or method not in TABLEAUS:
        raise ValueError(f"odeint: method={shortened(method)}; use {', '.join(TABLEAUS)}")
    if isinstance(max_steps, bool) or not isinstance(max_steps, int) or max_steps < 1:
        raise ValueError(f"odeint: max_steps={shortened(max_steps)} is not a number of steps")
    of, times = unknown("odeint", y0, "y", "rhs"), as_real(assembled(t))
    if times.ndim != 1 or times.shape[0] == 0:
        raise ShapeError(
            f"odeint: t has shape {shape_text(times.shape)}, expected times in one axis, the "
            "first of them for y0"
        )
    start, y, time = of.start, of.x, named_dummy("t", ())
    slope = of.returned(rhs(of.given, time))
    check_names(free_symbols([start, times, slope]))
    (slope,) = closed([slope], [y, time])
    slope, params = _capture_params(slope, y, time)
    # SciPy chooses the steps for z: for y, or for y and its tangents.
    slopes, z, begin = slope, y, start
    if sensitivities:
        slopes, z, begin = _add_tangents(slope, y, start, list(params.values()))
    stated = [slopes, jacobian_matrix(slopes, z)] if method == "Radau" else [slopes]
    tableau, size = TABLEAUS[method], product(z.shape)
    small = not tableau.is_explicit and isinstance(size, int) and size <= _SMALL
    guess = named_dummy("guess", (len(tableau.b), *y.shape))
    saved = len(tableau.b) * size if small else 0
    tolerances = tolerance("odeint", "rtol", rtol), tolerance("odeint", "atol", atol)
    further = method, *tolerances, max_steps, saved, bool(sensitivities)
    data = _over_symbols([start, *params])
    # Texts find the operands of a solution here: at places that equal equations share.
    order = dict.fromkeys([*(x for x in data.operands.values() if x is not start), *params])
    fresh = {x: named_dummy("p", x.shape, x.dtype) for x in order if x not in params}
    symbols = [{**fresh, **params}[x] for x in order]
    op = equations(Mesh, "mesh", stated, z, [time, *symbols], *further)
    assert isinstance(op, Mesh)
    state = _State(y, time, named_dummy("h", ()), guess)
    # Without known stages, start all of them from the slope at the beginning of the step.
    last = _take_step(slope, state, tableau, stack([slope] * len(tableau.b)))
    step = _take_step(slope, state, tableau, guess) if op.kept else last
    solved = opaque(op, begin, times, *order)
    return of.tree_of(_solve_on_mesh(step, last, state, solved, data, [*params.values()], slope))


class _Data(NamedTuple):
    """Values over bound symbols, and the expression that each bound symbol stands for."""

    values: list[Expr]
    operands: dict[Expr, Expr]


def _over_symbols(values: Sequence[Expr]) -> _Data:
    """The values over bound symbols for the user's symbols in them, and for elements of these.

    So a derivative by a user's symbol is a derivative by one operand of the solution, and has its
    own differential equation.  A value that is expensive or large is an operand as a whole.
    """
    parts = dict.fromkeys(part for x in values for part in _symbols_of_small(x) or [x])
    fresh = {
        x: named_dummy("p", x.shape, x.dtype) for x in parts if _symbol_of_element(x) not in parts
    }
    return _Data(replaced(values, fresh), {symbol: x for x, symbol in fresh.items()})


def _symbols_of_small(x: Expr) -> list[Expr]:
    """The symbols and elements of symbols in an expression; none if that is large or expensive."""
    parts: dict[Expr, None] = {}
    waiting, seen = [x], {x}
    while waiting:
        node = waiting.pop()
        size = product(node.shape)
        if (node is not x or node.args) and not (isinstance(size, int) and size <= _SMALL):
            return []
        if isinstance(node.op, ops.Opaque) or len(seen) > _SMALL:
            return []
        if isinstance(node.op, ops.Symbol) or _symbol_of_element(node) is not None:
            parts[node] = None
            continue
        for arg in reversed(node.args):
            if arg not in seen:
                seen.add(arg)
                waiting.append(arg)
    return [*parts]


def _symbol_of_element(x: Expr) -> Expr | None:
    """The symbol of which a scalar is an element, or None."""
    found = component(x) if x.args and not x.shape else None
    return None if found is None else found.root


class _State(NamedTuple):
    """The start of a step: y, the time, the length of the step, and a start for its stages."""

    y: Expr
    time: Expr
    h: Expr
    guess: Expr


def _capture_params(rhs: Expr, y: Expr, time: Expr) -> tuple[Expr, dict[Expr, Expr]]:
    """The right side over y, time and params, and the params by the parts they replace."""
    # One symbol for y and time, because ``captured`` takes one.
    size = product(y.shape)
    both = named_dummy("both", (size + 1,))
    apart = {y: reshape(part(both, 0, size), y.shape), time: both[-1]}
    (body,), params = captured(replaced([rhs], apart), both)
    joined = concat([reshape(y, (size,)), expand_dims(time, 0)])
    return replaced([body], {both: joined})[0], params


def _add_tangents(
    slope: Expr, y: Expr, start: Expr, params: Sequence[Expr]
) -> tuple[Expr, Expr, Expr]:
    """Slopes, state and start of y together with its tangents: the variational equations.

    The rows of the state are y and its derivatives by each element of y0 and of the params.
    """
    n, free = product(y.shape), [p for p in params if p.dtype is float]
    inner = jacobian_matrix(slope, y)
    outer = [reshape(jacobian(slope, p), (n, product(p.shape))) for p in free]
    unit = jacobian_matrix(y, y)
    columns = concat([unit, *(broadcast_to(as_expr(0), p.shape) for p in outer)], axis=1)
    count: Any = columns.shape[1]
    z = named_dummy("z", (count + 1, n))
    tangents = part(z, 1, z.shape[0])
    forced = concat([broadcast_to(as_expr(0), (n, n)), *outer], axis=1)
    turned = matrix_product(tangents, matrix_transpose(inner)) + matrix_transpose(forced)
    slopes = replaced([concat([reshape(slope, (1, n)), turned])], {y: reshape(z[0], y.shape)})
    return slopes[0], z, concat([reshape(start, (1, n)), matrix_transpose(columns)])


class Mesh(Equations):
    """The end times of SciPy's steps; the operands are y0, t and params.

    The equations are the right side over y, with t as the first of the params.  Radau also has its
    derivative by y as a matrix.  The value is a vector of these parts:

    - the number of steps;
    - the ``max_steps + 1`` times at which steps begin and end; the last time repeats;
    - for each requested time, the index of the last node before it;
    - ``kept`` numbers for each step, if it is not 0: the stages of an implicit method from SciPy.
      They are close to the roots of our stage equations.

    With ``sensitivities``, the rows of the state are y and then its tangents.  The op has no
    derivative.
    """

    __slots__ = ("atol", "kept", "max_steps", "method", "rtol", "sensitivities")
    fields = options = ("method", "rtol", "atol", "max_steps", "kept", "sensitivities")
    constant = True
    method: str
    rtol: float
    atol: float
    max_steps: int
    kept: int
    sensitivities: bool

    def result(self, *shapes: Shape) -> Shape:
        batch = shapes[0][: len(shapes[0]) - self.x.ndim]
        times: Any = shapes[1][-1]
        return (*batch, self.max_steps + 2 + times + self.max_steps * self.kept)


def _take_step(slope: Expr, state: _State, method: Tableau, start: Expr) -> Expr:
    """The state after a step of length h; the search for implicit stages starts at ``start``."""
    y, time, h = state[:3]

    def at(f: Expr, point: Expr, c: Any) -> Expr:
        return replaced([f], {y: point, time: time + c * h})[0]

    def moved(coefficients: Sequence[Any], stages: Sequence[Expr]) -> Expr:
        terms = [a * k for a, k in zip(coefficients, stages, strict=True) if a]
        return y + h * total(terms) if terms else y

    stages: list[Expr] = []
    if method.is_explicit:
        for row, c in zip(method.a, method.c, strict=True):
            stages.append(at(slope, moved(row, stages), c))
        return moved(method.b, stages)

    of = unknown("root", start)
    ks = of.x
    parts = [ks[i] for i in range(len(method.b))]
    places = list(zip([moved(row, parts) for row in method.a], method.c, strict=True))
    residual = ks - stack([at(slope, *place) for place in places])
    # One derivative of the slope serves all stages: each block is a multiple of it.
    matrix, unit = jacobian_matrix(slope, y), jacobian_matrix(y, y)
    columns: list[list[Expr]] = [[] for _ in parts]
    for i, (row, place) in enumerate(zip(method.a, places, strict=True)):
        inner = h * at(matrix, *place)
        for j, a in enumerate(row):
            columns[j].append(unit - a * inner if i == j else -a * inner)
    slopes = concat([concat(column) for column in columns], axis=1)
    stage_slopes = solution(of, [residual], slopes=slopes)
    return moved(method.b, [stage_slopes[i] for i in range(len(method.b))])


def _solve_on_mesh(
    step: Expr,
    last_step: Expr,
    state: _State,
    solved: Expr,
    data: _Data,
    params: Sequence[Expr],
    slope: Expr,
) -> Expr:
    """The solution by steps along the mesh ``solved``, from the start and params in ``data``.

    The last step leads to a requested time.  Texts state the equation with ``slope`` instead.
    """
    y, time, h, guess = state
    op = solved.op
    assert isinstance(op, Mesh)
    times, most = solved.args[1], op.max_steps
    # The parts of the mesh vector, in the order that ``Mesh`` describes.
    stages: Any = most + 2 + times.shape[0]  # type: ignore[operator]
    count, intervals = (
        opaque(ops.converted_op("int64"), x)
        for x in (part(solved, 0, 1), part(solved, most + 2, stages))
    )
    values = {
        named_dummy("times", times.shape): times,
        named_dummy("mesh", (most + 1,)): part(solved, 1, most + 2),
        named_dummy("places", times.shape, int): intervals,
    }
    if op.kept:
        stages_flat = part(solved, stages, stages + most * op.kept)
        shape = (most, *guess.shape)
        if op.sensitivities:  # the first rows belong to y
            stages_flat = take(reshape(stages_flat, (most, guess.shape[0], *op.x.shape)), 0, axis=2)
        values[named_dummy("stages", shape)] = reshape(stages_flat, shape)
    times, mesh, places, *saved = values
    start, *inner = data.values
    fixed = dict(zip(params, inner, strict=True))
    n = free_length(names(topological([step, *values, *data.values])))
    # The first node is the first time, which has derivatives; the others are data.
    nodes = concat([part(times, 0, 1), take(detach(mesh), arange(1, n + 1))])
    begins, ends = part(nodes, 0, n), part(nodes, 1, n + 1)
    along = {time: begins, h: ends - begins}
    if saved:
        along[guess] = take(saved[0], arange(n), axis=0)
    # The last step, from the mesh to each requested time, runs for all times at once.
    path = trajectory(step, y, start, along, fixed, n)
    last = take(nodes, places, axis=0)
    rows = {y: take(path, places, axis=0), time: last, h: times - last}
    stand_ins = {x: named_dummy(x.name, value.shape) for x, value in rows.items()}
    each = batched([last_step], stand_ins, times.shape[0])
    (body,) = replaced(each, {**fixed, **{symbol: rows[x] for x, symbol in stand_ins.items()}})

    def stated() -> Stated:
        over = replaced([slope], fixed)[0], start
        later = itertools.count(2)
        operands = {x: 0 if x is start else next(later) for x in data.operands}
        value = continuous_solution(*over, y, time, times, [*operands])
        return Stated(value, {times: 1, **operands})

    return sized(body, n, {**values, **data.operands}, squeeze(count, 0), state=stated)


def _batch_mesh(node: Expr, args: list[tuple[Expr, bool]], length: Dim) -> Expr:
    """A mesh for each element of the batch: y0 has all batch axes, another operand all or none."""
    op = node.op
    assert isinstance(op, Mesh)
    cores = [op.x.ndim, 1, *(p.ndim for p in op.params[1:])]
    batch = node.shape[:-1]
    operands = []
    for k, (x, has) in enumerate(args):
        core = x.shape[x.ndim - cores[k] :]
        if has and x.ndim == 1 + cores[k]:  # without the earlier batch axes
            x = reshape(x, (length, *(1 for _ in batch), *core))
        if has or not k or x.ndim > cores[k]:
            x = broadcast_to(x, (length, *batch, *core))
        operands.append(x)
    return opaque(op, *operands)


batching.register(Mesh, _batch_mesh)
