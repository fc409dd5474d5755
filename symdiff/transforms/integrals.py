"""Definite integrals as nodes: the integrand is a body over its variable.

The derivative is Leibniz' rule.  For I(a, b, p) = ∫ f(x, p) dx from a to b:

    dI = f(b, p) db - f(a, p) da + (∫ f_p(x, p) dx) dp

The last term is an integral again, so derivatives have every order and both modes.  The rule needs
an integrand whose jumps do not move with p; ``NotDifferentiable`` names one that does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import sympy as sp

from symdiff.calculus.flows import DEEP, NONE, Flow
from symdiff.calculus.rules import JointStatement, pullback, pushforward, register
from symdiff.errors import NotDifferentiable, Unsupported
from symdiff.graph import ops
from symdiff.graph.algebra import mul, opaque, scale, sub
from symdiff.graph.contraction import broadcast_to, contract
from symdiff.graph.leaves import full, is_zero, named_dummy, number_node, split_coefficient
from symdiff.graph.node import topological
from symdiff.scalars.vocabulary import FACTS
from symdiff.scalars.vocabulary.facts import Stepwise
from symdiff.transforms import batching
from symdiff.transforms.bodies import WithBodies, replaced
from symdiff.transforms.roots import Equations, equations
from symdiff.transforms.scans import captured

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symdiff.graph.expr import Expr
    from symdiff.graph.node import Dim, Shape

# Functions that jump: their integrals must not be differentiated by what moves the jump.
_STEPWISE = frozenset(name for name, facts in FACTS.items() if issubclass(facts, Stepwise))


class Integral(Equations):
    """``∫ body(x, p..) dx``; the operands are the lower limit, the upper limit and params.

    ``variable``: the name of x in texts.
    """

    __slots__ = ("variable",)
    fields = options = ("variable",)
    variable: str

    def result(self, *shapes: Shape) -> Shape:
        """The shape of the integrand."""
        return self.body.shape

    def refused(self) -> Unsupported:
        """The error of what needs a closed form."""
        return Unsupported(
            f"integrate: an integral by {self.variable} without a closed form has its value from "
            "quadrature alone, by numeric.lower or numeric.interpret"
        )


def integral(body: Expr, x: Expr, a: Expr, b: Expr, variable: str) -> Expr:
    """The integral of ``body`` by the symbol x, a node whose other symbols are operands."""
    if is_zero(body):
        return body
    if not any(node is x for node in topological([body])):
        return mul(broadcast_to(sub(b, a), body.shape), body)
    coefficient, rest = split_coefficient(body)
    if rest is not None and coefficient != 1:
        return scale(coefficient, integral(rest, x, a, b, variable))
    bodies, params = captured([body], x)
    op = equations(Integral, "integrate", bodies, x, [*params.values()], variable)
    return opaque(op, a, b, *params)


# The derivative -----------------------------------------------------------------------------------


class IntegralRule(JointStatement):
    """Leibniz' rule."""

    __slots__ = ()

    @staticmethod
    def pushed(node: Expr, tangents: Mapping[int, Flow]) -> list[Flow]:
        """The terms of scalar operands: a derivative times a tangent; of arrays: an integral."""
        word, flows, seeds = tuple(range(node.ndim)), [], {}
        for k, t in tangents.items():
            if node.args[k].ndim:
                seeds[k] = t
                continue
            slope = _slope(node, k)
            batch = tuple(range(node.ndim, node.ndim + t.expr.ndim))
            terms = [(slope, word, False), (t.expr, batch, t.mark > NONE)]
            flows.append(Flow(contract(terms, batch + word), DEEP if t.mark else NONE))
        if seeds:
            o = _op(node).opened
            for k in seeds:
                _check_jumps(node, k)
            moved = {o.params[k - 2]: t for k, t in seeds.items()}
            flow = pushforward(topological(o.outputs), o.outputs, moved)[0]
            if flow is not None:
                flows.append(Flow(_integral_of(node, flow.expr), DEEP if flow.mark else NONE))
        return flows

    @staticmethod
    def pulled(node: Expr, g: Flow, places: Sequence[int]) -> Mapping[int, Flow]:
        """The cotangents of scalar operands: a derivative times g; of arrays: an integral."""
        cotangents = {}
        batch = tuple(range(node.ndim, g.expr.ndim))
        word = tuple(range(node.ndim))
        for k in places:
            if node.args[k].ndim:
                continue
            terms = [(g.expr, batch + word, g.mark > NONE), (_slope(node, k), word, False)]
            cotangents[k] = Flow(contract(terms, batch), DEEP if g.mark else NONE)
        arrays = [k for k in places if node.args[k].ndim]
        if arrays:
            o = _op(node).opened
            for k in arrays:
                _check_jumps(node, k)
            flows = pullback(o.outputs, [o.params[k - 2] for k in arrays], [g])
            for k, flow in zip(arrays, flows, strict=True):
                if flow is not None:
                    mark = DEEP if flow.mark else NONE
                    cotangents[k] = Flow(_integral_of(node, flow.expr), mark)
        return cotangents


def _op(node: Expr) -> Integral:
    op = node.op
    assert isinstance(op, Integral)
    return op


def _slope(node: Expr, k: int) -> Expr:
    """The derivative of the integral by its scalar operand k, of the integral's shape."""
    op = _op(node)
    o = op.opened
    if k < 2:  # a limit
        at = {o.x: node.args[k], **dict(zip(o.params, node.args[2:], strict=True))}
        (value,) = replaced(o.outputs, at)
        return value if k else scale(-1, value)
    _check_jumps(node, k)
    p = {o.params[k - 2]: Flow(number_node(1), NONE)}
    flow = pushforward(topological(o.outputs), o.outputs, p)[0]
    return full(node.shape, 0) if flow is None else _integral_of(node, flow.expr)


def _integral_of(node: Expr, body: Expr) -> Expr:
    """The integral of another body over the opened symbols of the node's op."""
    op, (a, b, *params) = _op(node), node.args
    o = op.opened
    (closed,) = replaced([body], dict(zip(o.params, params, strict=True)))
    return integral(closed, o.x, a, b, op.variable)


def _check_jumps(node: Expr, k: int) -> None:
    """Raise NotDifferentiable where a jump of the integrand may move with operand k."""
    op = _op(node)
    along, moving = {op.x}, {op.params[k - 2]}
    for part in topological(op.outputs):
        if not along.isdisjoint(part.args):
            along.add(part)
        if not moving.isdisjoint(part.args):
            moving.add(part)
        if part in along and part in moving and _jumps(part):
            (shown,), x = written_out(node, [part])
            raise NotDifferentiable(
                f"integrate: the integrand may jump, by {shown!r}, at a place {x} that moves with "
                "a parameter of the derivative; split the integral there: then the place is a limit"
            )


def written_out(node: Expr, parts: Sequence[Expr] | None = None) -> tuple[list[Expr], Expr]:
    """The integrand, or parts of it, over the node's operands, and the variable for a text."""
    op, params = _op(node), node.args[2:]
    taken = {x.name for x in topological(node.args) if isinstance(x.op, ops.Symbol)}
    variable = op.variable
    while variable in taken:
        variable += "_"
    x = named_dummy(variable)
    place = {op.x: x, **dict(zip(op.params, params, strict=True))}
    return replaced(op.outputs if parts is None else parts, place), x


def _jumps(node: Expr) -> bool:
    """Whether the value of an op may jump for continuous operands."""
    op = node.op
    if node.dtype is not float:
        return True
    if isinstance(op, ops.Pointwise):
        names = [f.func.__name__ for f in op.formula.atoms(sp.Function)]
        return op.decides is not None or not _STEPWISE.isdisjoint(names)
    if isinstance(op, WithBodies) and not isinstance(op, Integral):  # an integral has no jumps
        return any(_jumps(part) for part in topological(op.inside))
    return isinstance(op, ops.Opaque) and op.constant


# Batches ------------------------------------------------------------------------------------------


def _batch_integral(node: Expr, args: list[tuple[Expr, bool]], length: Dim) -> Expr:
    """An integrand with the new axis first."""
    op = _op(node)
    if any(has for _, has in args[:2]):
        raise Unsupported(
            "batch: an integral has one pair of limits; use sd.scan for several, or substitute "
            f"{op.variable} = a + (b - a)*s, with limits 0 and 1"
        )
    o = op.opened
    values = dict(zip(o.params, args[2:], strict=True))
    wide = {p: x for p, (x, has) in values.items() if has}
    (body,) = batching.batched(o.outputs, wide, length)
    (body,) = replaced([body], {p: x for p, (x, has) in values.items() if not has})
    return integral(body, o.x, args[0][0], args[1][0], op.variable)


register(Integral, IntegralRule)
batching.register(Integral, _batch_integral)
