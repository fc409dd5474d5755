"""Solutions of differential equations as functions of time, for texts.

A program computes a differential equation in steps, and derivatives are those of the steps.  A
reader wants the equation itself.  So each expression of such steps may carry a ``Stated``: the same
value as an expression in ``ContinuousSolution`` nodes.  The derivative of the steps carries the
derivative of its statement.  Both values agree up to the errors of the steps.  No program computes
a ``ContinuousSolution``; only texts contain its equation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from symdiff.calculus.flows import NONE, Flow
from symdiff.calculus.rules import JointStatement, pullback, pushforward, register
from symdiff.errors import Unsupported
from symdiff.graph.algebra import opaque
from symdiff.graph.bound_lengths import with_lengths
from symdiff.graph.contraction import contract
from symdiff.graph.leaves import full
from symdiff.graph.node import topological
from symdiff.transforms.packing import packed
from symdiff.transforms.roots import Equations, equations

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symdiff.graph.expr import Expr
    from symdiff.graph.node import Dim, Shape


class ContinuousSolution(Equations):
    """The solution of ``dy/dt = slope(y, t, p..)``, or a derivative of it, at requested times.

    The outputs are the slope and ``start(p..)``, the value at the first time.  The operands are the
    times and the params; the first bound param is the time.  ``orders`` has the indices of the
    operands by which it is differentiated.  The axes of the value are that of the times, those of
    y, and those of these operands.
    """

    __slots__ = ("orders",)
    options = fields = ("orders",)
    orders: tuple[int, ...]

    def result(self, *shapes: Shape) -> Shape:
        return (*shapes[0], *self.x.shape, *(dim for k in self.orders for dim in shapes[k]))


def continuous_solution(
    slope: Expr, start: Expr, y: Expr, time: Expr, times: Expr, params: Sequence[Expr]
) -> Expr:
    """The solution of ``dy/dt = slope`` at the times; slope is over y, time and the params.

    The start is over the params.
    """
    op = equations(ContinuousSolution, "ode", [slope, start], y, [time, *params], ())
    return opaque(op, times, *params)


class _ContinuousRule(JointStatement):
    """Name the derivative by an operand, and contract its axes with the flow."""

    __slots__ = ()

    @staticmethod
    def pushed(node: Expr, tangents: Mapping[int, Flow]) -> list[Flow]:
        """The derivative by each operand, applied to its tangent."""
        flows = []
        for k, t in tangents.items():
            partial, own, inside = _partial(node, k)
            batch = tuple(range(-1, -1 - (t.expr.ndim - len(inside)), -1))
            terms = [(t.expr, (*batch, *inside)), (partial, (*own, *inside))]
            flows.append(Flow(contract(terms, (*batch, *own)), NONE))
        return flows

    @staticmethod
    def pulled(node: Expr, g: Flow, places: Sequence[int]) -> Mapping[int, Flow]:
        """The derivative by each operand, applied to the cotangent."""
        flows = {}
        for k in places:
            partial, own, inside = _partial(node, k)
            batch = tuple(range(-1, -1 - (g.expr.ndim - node.ndim), -1))
            terms = [(g.expr, (*batch, *own)), (partial, (*own, *inside))]
            flows[k] = Flow(contract(terms, (*batch, *inside)), NONE)
        return flows


def _partial(node: Expr, k: int) -> tuple[Expr, tuple[int, ...], tuple[int, ...]]:
    """The derivative by operand k, and labels of its axes: of the node, and of the operand."""
    op = node.op
    assert isinstance(op, ContinuousSolution)
    if k == 0:
        raise Unsupported("a statement about derivatives by the times of a solution")
    further = (*op.orders, k)
    named = equations(ContinuousSolution, op.name, op.outputs, op.x, op.params, further)
    axes = tuple(range(node.ndim + node.args[k].ndim))
    return opaque(named, *node.args), axes[: node.ndim], axes[node.ndim :]


register(ContinuousSolution, _ContinuousRule)


class Stated(NamedTuple):
    """The value of an expression in terms of solutions as functions of time.

    ``value`` is over the symbols of the expression.  ``operands`` has further symbols in it, each
    with the index of the operand of the equation that it stands for.  A derivative needs them where
    the steps no longer do: the tangent of a linear equation does not need the start.
    """

    value: Expr
    operands: dict[Expr, int]

    def replaced(self, values: Mapping[Expr, Expr], sizes: Mapping[str, Dim]) -> Stated:
        """Substitute symbols and lengths."""
        (value,) = with_lengths("odeint", [self.value], values, sizes)
        return Stated(value, {values.get(x, x): k for x, k in self.operands.items()})

    def pushed(self, seeds: Mapping[Expr, Flow], shape: Shape) -> Stated | None:
        """The statement of the tangent, of this shape; None without one."""
        try:
            flow = pushforward(topological([self.value]), [self.value], seeds)[0]
        except Unsupported:
            return None
        return self._replace(value=full(shape, 0) if flow is None else flow.expr)

    def pulled(
        self, symbols: Sequence[Expr], shapes: Sequence[Shape], seeds: Sequence[Flow]
    ) -> Stated | None:
        """The statement of the cotangents of symbols, in one array; None without one."""
        try:
            flows = pullback([self.value], symbols, seeds)
        except Unsupported:
            return None
        pairs = zip(flows, shapes, strict=True)
        return self._replace(
            value=packed([full(shape, 0) if x is None else x.expr for x, shape in pairs])
        )
