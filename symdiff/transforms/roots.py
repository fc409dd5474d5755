"""Solutions of equations as nodes: roots, minimisers, and solutions of linear equations.

``body(x, p..) = 0`` determines x, whatever algorithm finds it.  Let F_x and F_p be the derivatives
of the body at the node x itself:

- tangents: ``dx = -F_x^-1 F_p dp``;
- cotangents: ``pbar = -F_p' w`` with ``F_x' w = g``.

Both are expressions in the node, so they have derivatives of all orders and modes again.  The start
has no influence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from symdiff.calculus import kinks
from symdiff.calculus.derivative import jacobian
from symdiff.calculus.flows import DEEP, NONE, Flow
from symdiff.calculus.kinks import Kink, kinks_in
from symdiff.calculus.rules import JointStatement, pullback, pushforward, register
from symdiff.errors import Unsupported
from symdiff.functions.shaping import reshape
from symdiff.graph import ops
from symdiff.graph.algebra import opaque, scale
from symdiff.graph.leaves import named_dummy
from symdiff.graph.lengths import product
from symdiff.graph.node import intern_op, topological
from symdiff.locks import cached_property
from symdiff.opaque_ops.matrices import Solve, matrix_transpose
from symdiff.transforms import batching
from symdiff.transforms.batching import batched, led
from symdiff.transforms.bodies import (
    WithBodies,
    bind_lengths,
    bound_symbol,
    replaced,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from symdiff.graph.expr import Expr
    from symdiff.graph.node import Dim, Shape


# The ops ------------------------------------------------------------------------------------------


class Equations(WithBodies):
    """Equations to solve: expressions over the unknown x and over params, all bound symbols.

    All such ops use the same bound symbols, as scans do, so that equal equations are one op.
    Therefore these symbols must never meet an operand: code that works on them takes ``opened``.
    """

    __slots__ = ("name", "outputs", "params", "x")
    name: str
    fields: ClassVar[tuple[str, ...]] = ("name",)
    # The attributes of a subclass, in the order of its further arguments.
    options: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        name: str,
        outputs: tuple[Expr, ...],
        x: Expr,
        params: tuple[Expr, ...],
        *further: Any,
    ) -> None:
        self.name, self.outputs, self.x, self.params = name, outputs, x, params
        for option, value in zip(self.options, further, strict=True):
            setattr(self, option, value)

    @property
    def body(self) -> Expr:
        """The expression that x makes 0; for a linear equation, its left side."""
        return self.outputs[0]

    def further(self) -> tuple[Any, ...]:
        """The values of the options."""
        return tuple([getattr(self, option) for option in self.options])

    @property
    def inside(self) -> tuple[Expr, ...]:
        return self.outputs

    @property
    def symbols(self) -> tuple[Expr, ...]:
        """The unknown and the params."""
        return (self.x, *self.params)

    def result(self, *shapes: Shape) -> Shape:
        return self.x.shape

    def called(self, shape: Shape) -> tuple[str, list[str]]:
        symbols = ", ".join(x.name for x in self.symbols)
        return self.name, [f"lambda {symbols}: {self.shown}"]

    @property
    def shown(self) -> Expr:
        """The expression that a printed text shows."""
        return self.body

    def bound(self, lengths: Callable[[Shape], Shape]) -> ops.Opaque:
        sizes = self.known_lengths(lengths)
        if not sizes:
            return self
        outputs, (x, *params) = bind_lengths(self.name, self.outputs, self.symbols, sizes)
        return equations(type(self), self.name, outputs, x, params, *self.further())

    @cached_property
    def opened(self) -> Opened:
        """The equations over fresh symbols that no other expression contains."""
        fresh = {s: named_dummy(s.name, s.shape, s.dtype) for s in self.symbols}
        outputs = replaced(self.outputs, fresh)
        return Opened(tuple(outputs), fresh[self.x], [fresh[p] for p in self.params])


class Opened(NamedTuple):
    """Equations, their unknown and their params."""

    outputs: tuple[Expr, ...]
    x: Expr
    params: list[Expr]


class Root(Equations):
    """``x`` with ``body(x, p..) = 0``; the operands are a start and params.

    The outputs are the body and its derivative by x, matrices of shape lead + (n, n).  x has the
    shape lead + core: the core has n elements, the axes in front are a batch of roots.  A
    minimiser, whose body is a gradient, has a third output: the objective, of shape lead.

    ``solver``: the user's function that searches for x, or None; ``max_steps``: the maximum number
    of Newton steps.
    """

    __slots__ = ("max_steps", "solver")
    fields = ("name", "max_steps")
    options = ("solver", "max_steps")
    solver: Callable[..., Any] | None
    max_steps: int

    @property
    def lead(self) -> Shape:
        """The axes of a batch of roots."""
        return self.outputs[1].shape[:-2]

    @property
    def shown(self) -> Expr:
        # A reader knows a minimiser by its objective, not by the gradient.
        return self.outputs[-1] if self.is_minimum else self.body

    @property
    def is_minimum(self) -> bool:
        """Whether the root is a minimiser."""
        return len(self.outputs) == 3


class LinearSolution(Equations):
    """``x`` with ``body(x, p..) = b``, the body linear in x; the operands are b and params.

    ``method``: the algorithm; ``rtol``: the bound of the residual relative to b, by norms;
    ``lead``: the number of batch axes.
    """

    __slots__ = ("lead", "max_steps", "method", "rtol")
    fields = options = ("method", "rtol", "max_steps", "lead")
    method: str
    rtol: float
    max_steps: int | None
    lead: int

    def called(self, shape: Shape) -> tuple[str, list[str]]:
        name, (function,) = super().called(shape)
        return name, [function, f'method="{self.method}"']

    @cached_property
    def transposed_body(self) -> tuple[Expr, Expr]:
        """The transposed map over the symbols of ``opened``, and its unknown."""
        o = self.opened
        w = named_dummy("w", o.x.shape)
        # The pullback of a linear map is its transpose: no matrix is written.
        flow = pullback([o.outputs[0]], [o.x], [Flow(w, NONE)])[0]
        assert flow is not None
        return flow.expr, w


def equations(
    cls: type[Equations],
    name: str,
    outputs: Sequence[Expr],
    x: Expr,
    params: Sequence[Expr],
    *further: Any,
) -> Equations:
    """The op of equations over any symbols, which it renames to the bound symbols of all ops."""
    # Bound symbols of one kind for all ops: equal equations over other symbols become one op.
    roles = [("x", 0, x), *(("p", k, p) for k, p in enumerate(params))]
    place = {symbol: bound_symbol(role, k, symbol) for role, k, symbol in roles}
    renamed = tuple(replaced(outputs, place)), place[x], tuple([place[p] for p in params])
    return intern_op((cls, name, *renamed, *further), lambda: cls(name, *renamed, *further))


def jacobian_matrix(body: Expr, x: Expr) -> Expr:
    """The derivative of a body by its unknown, as a square matrix."""
    # One axis for the unknown, whatever its shape: solvers of linear systems take matrices.
    n = product(x.shape)
    return reshape(jacobian(body, x), (n, n))


# The derivative -----------------------------------------------------------------------------------


class _SolutionRule(JointStatement):
    """The common part: differentiate the equations at the node, then solve the linear system."""

    __slots__ = ()

    def solved(self, flow: Flow, transposed: bool) -> Flow:
        """The solution of the linearised equations, or of their transpose, for a right side."""
        raise NotImplementedError

    def excess(self, tangents: Mapping[int, Flow]) -> Flow | None:
        """The tangent of the body for tangents of params; keys are indices of operands."""
        o = self.op().opened
        # Operand 0 is the start or the right side: it is not a parameter of the body.
        seeds = {o.params[k - 1]: t for k, t in tangents.items() if k}
        if not seeds:
            return None
        body = o.outputs[0]
        flow = pushforward(topological([body]), [body], seeds)[0]
        return None if flow is None else self.substitute_operands(flow)

    def of_params(self, w: Flow, places: Sequence[int]) -> dict[int, Flow]:
        """The cotangents of params for a cotangent of the body; keys are indices of operands."""
        o = self.op().opened
        wanted = [k for k in places if k]
        flows = pullback([o.outputs[0]], [o.params[k - 1] for k in wanted], [w]) if wanted else []
        gradients = {k: flow for k, flow in zip(wanted, flows, strict=True) if flow is not None}
        exprs = substitute_solution(self.node, [flow.expr for flow in gradients.values()])
        return {k: Flow(x, gradients[k].mark) for k, x in zip(gradients, exprs, strict=True)}

    def op(self) -> Equations:
        """The equations."""
        op = self.node.op
        assert isinstance(op, Equations)
        return op

    def substitute_operands(self, flow: Flow) -> Flow:
        """Substitute the node for x and the operands for params in a flow of the equations."""
        return Flow(substitute_solution(self.node, [flow.expr])[0], flow.mark)


def substitute_solution(node: Expr, xs: Sequence[Expr]) -> list[Expr]:
    """Substitute the node and its operands for the opened symbols of its equations."""
    op = node.op
    assert isinstance(op, Equations)
    o = op.opened
    return replaced(xs, {o.x: node, **dict(zip(o.params, node.args[1:], strict=True))})


class RootRule(_SolutionRule):
    """``dx = -F_x^-1 F_p dp`` with x the node itself."""

    __slots__ = ()

    @staticmethod
    def pushed(node: Expr, tangents: Mapping[int, Flow]) -> list[Flow]:
        """One solution for the tangents of all operands."""
        rule = RootRule(node, 0)
        excess = rule.excess(tangents)
        return [] if excess is None else [rule.solved(excess, transposed=False)]

    @staticmethod
    def pulled(node: Expr, g: Flow, places: Sequence[int]) -> Mapping[int, Flow]:
        """One solution for the cotangents of all operands."""
        rule = RootRule(node, 0)
        return rule.of_params(rule.solved(g, transposed=True), places) if any(places) else {}

    def solved(self, flow: Flow, transposed: bool) -> Flow:
        """``-F_x^-1 r``, or with F_x transposed; r may have more leading axes."""
        op = self.op()
        assert isinstance(op, Root)
        # The Jacobian matrix is an expression at the node: the solution's derivatives see it, too.
        (matrix,) = substitute_solution(self.node, [op.opened.outputs[1]])
        shape, core = flow.expr.shape, self.node.ndim - len(op.lead)
        batch = shape[: len(shape) - core]
        columns = reshape(flow.expr, (*batch, op.outputs[1].shape[-1], 1))
        solution = opaque(_SOLVE, matrix_transpose(matrix) if transposed else matrix, columns)
        # A solution mixes all elements, so the zeros of a marked flow are no longer visible.
        return Flow(scale(-1, reshape(solution, shape)), DEEP if flow.mark else NONE)


_SOLVE = ops.opaque_op(Solve)


class LinearSolutionRule(_SolutionRule):
    """``dx = L^-1 (db - dL x)`` with x the node itself."""

    __slots__ = ()

    @staticmethod
    def pushed(node: Expr, tangents: Mapping[int, Flow]) -> list[Flow]:
        """One solution for the tangents of all params, one for the tangent of b."""
        rule = LinearSolutionRule(node, 0)
        flows = [rule.solved(tangents[0], transposed=False)] if 0 in tangents else []
        excess = rule.excess(tangents)
        if excess is not None:
            less = Flow(scale(-1, excess.expr), excess.mark)
            flows.append(rule.solved(less, transposed=False))
        return flows

    @staticmethod
    def pulled(node: Expr, g: Flow, places: Sequence[int]) -> Mapping[int, Flow]:
        """One solution for the cotangents of all operands."""
        rule = LinearSolutionRule(node, 0)
        w = rule.solved(g, transposed=True)
        of_params = rule.of_params(Flow(scale(-1, w.expr), w.mark), places)
        return {0: w, **of_params} if 0 in places else of_params

    def solved(self, flow: Flow, transposed: bool) -> Flow:
        """``L^-1 r``, or the solution for the transposed map; r may have more leading axes."""
        op = self.op()
        assert isinstance(op, LinearSolution)
        o = op.opened
        body, x = op.transposed_body if transposed else (o.outputs[0], o.x)
        extra, lead = flow.expr.shape[: flow.expr.ndim - x.ndim], op.lead
        # Each additional axis becomes a batch axis of the map itself.
        for dim in reversed(extra):
            wide = named_dummy("x", (dim, *x.shape))
            (body,), x = batched([body], {x: wide}, dim), wide
        further = (op.method, op.rtol, op.max_steps, lead + len(extra))
        op_of_system = equations(LinearSolution, op.name, [body], x, o.params, *further)
        solution = opaque(op_of_system, flow.expr, *self.node.args[1:])
        return Flow(solution, DEEP if flow.mark else NONE)


# Batches and kinks --------------------------------------------------------------------------------


def _batch_equations(node: Expr, args: list[tuple[Expr, bool]], length: Dim) -> Expr:
    """One solution with the new axis first."""
    op = node.op
    assert isinstance(op, Equations)
    o = op.opened
    wide = {o.x: named_dummy("x", (length, *o.x.shape))}
    for p, (_, has) in zip(o.params, args[1:], strict=True):
        if has:
            wide[p] = named_dummy(p.name, (length, *p.shape), p.dtype)
    outputs = batched(o.outputs, wide, length)
    further = op.further()
    if isinstance(op, LinearSolution):
        # The last parameter of a linear solution counts its batch axes.
        further = (*further[:-1], op.lead + 1)
    elif further[0] is not None:
        raise Unsupported(
            f"batch: {op.name} has a solver, which finds one solution; leave it out, or use scan"
        )
    params = [wide.get(p, p) for p in o.params]
    system = equations(type(op), op.name, outputs, wide[o.x], params, *further)
    return opaque(system, led(*args[0], length), *[x for x, _ in args[1:]])


def _kinks(node: Expr) -> list[Kink]:
    """The kinks that derivatives of the equations meet at the solution."""
    op = node.op
    assert isinstance(op, Equations)
    return [
        Kink(kink.name, *substitute_solution(node, [kink.operand, kink.hit]))
        for kink in kinks_in([op.opened.outputs[0]])
    ]


for _cls, _rule in ((Root, RootRule), (LinearSolution, LinearSolutionRule)):
    register(_cls, _rule)
    batching.register(_cls, _batch_equations)
    kinks.register(_cls, _kinks)
