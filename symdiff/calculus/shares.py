"""The origin of a derivative: the contribution of every node to each operand, and its rule.

``shares`` records the reverse walk that makes gradients; it derives nothing a second time.  The
local derivative of a single node is its rule's statement over stand-ins for its operands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from symdiff.calculus.derivative import grad
from symdiff.calculus.flows import NONE, Flow, gathered
from symdiff.calculus.kinks import Kink, kinks_in
from symdiff.calculus.real_values import derived
from symdiff.calculus.rules import arrivals, dependents, statement
from symdiff.calculus.variables import Component, closed_to, component
from symdiff.graph import ops
from symdiff.graph.algebra import primitive
from symdiff.graph.formula_nodes import is_decision, run, steps, written_out
from symdiff.graph.leaves import as_expr, full, number_node
from symdiff.graph.node import make, topological
from symdiff.scalars.formula import kernel_symbol
from symdiff.scalars.vocabulary import FACTS

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from symdiff.graph.expr import Expr

__all__ = ["Condition", "Share", "Shares", "conditions", "local", "shares"]


class Share(NamedTuple):
    """The contribution that the reverse walk passes from a node to its operand ``k``.

    A component, such as ``q[0]``, passes its cotangent to its symbol ``operand``; then k is None.
    """

    node: Expr
    k: int | None
    operand: Expr
    passed: Expr


class Shares(NamedTuple):
    """One reverse walk: see ``shares``."""

    path: tuple[Expr, ...]
    cotangents: dict[Expr, Expr]
    edges: tuple[Share, ...]
    final: tuple[Share, ...]
    gradient: Expr


def shares(f: object, x: Expr, seed: object = None) -> Shares:
    """The reverse walk from ``f`` to ``x``, recorded.

    ``path`` has the real nodes between x and f, operands first.  ``cotangents`` has the cotangent
    of each, ``vbar = seed . df/dv``.  ``edges`` has the contributions of nodes to their operands,
    in the order of the walk.  The cotangent of each node but f is the sum of its incoming
    contributions.  ``final`` has the edges into x; their contributions add up to ``gradient``, the
    result of ``sd.grad``.

    A component of a symbol (``q[0]``) counts as one step from its symbol.  If x is a component,
    ``final`` has only x's part of the contributions to its symbol.

    Args:
        f: an expression. x: one input, as ``grad`` takes it. seed: the cotangent of f, of its
        shape; 1 by default, which needs a scalar.

    Raises what ``grad`` raises.

    >>> from symdiff import sin, symbol
    >>> x = symbol("x")
    >>> [(share.node, share.passed) for share in shares(x * sin(x), x).final]
    [(x*sin(x), sin(x)), (sin(x), x*cos(x))]
    """
    f = as_expr(f)
    gradient = grad(f, x, grad_outputs=seed)
    start = number_node(1) if seed is None else as_expr(seed)
    way = component(x)
    root = x if way is None else way.root
    order = topological([f])
    closed = closed_to(order, [] if way is None else [way])
    path = [v for v in dependents(order, [root], closed) if v.dtype is float]
    record: list[tuple[Expr, int, Expr]] = []
    arrived = arrivals(order, [f], path, [Flow(start, NONE)], closed, record)
    cotangents = {v: gathered(arrived[v]).expr if v in arrived else full(v.shape, 0) for v in path}
    edges = [Share(v, k, v.args[k], passed) for v, k, passed in record]
    path, edges = _read_at_once(path, edges, cotangents, f, x)
    into = [edge for edge in edges if edge.operand is root]
    if way is not None and way.chain:
        if x in cotangents and all(
            edge.node is x for edge in into
        ):  # no other path has its elements
            path = [v for v in path if v is not root]
            edges = [edge for edge in edges if edge.operand is not root]
            into = [edge for edge in edges if edge.operand is x]
        else:
            into = [edge._replace(passed=way.view(edge.passed)) for edge in into]
    return _in_reals(order, start, path, cotangents, edges, into, gradient)


def _read_at_once(
    path: list[Expr], edges: list[Share], cotangents: dict[Expr, Expr], f: Expr, x: Expr
) -> tuple[list[Expr], list[Share]]:
    """Remove the nodes between a symbol and its components, which then pass on to it directly."""
    ways: dict[Expr, Component] = {}
    for v in path:
        way = component(v)
        if way is not None and way.chain:
            ways[v] = way
    if not ways:
        return path, edges
    outer = {f, x, *(u for v in path if v not in ways for u in v.args)}
    direct: list[Share] = []
    for edge in edges:
        if edge.node not in ways:
            direct.append(edge)
        elif edge.node in outer:
            way = ways[edge.node]
            passed = way.scatter(cotangents[edge.node])
            direct.append(Share(edge.node, None, way.root, passed))
    return [v for v in path if v not in ways or v in outer], direct


def _in_reals(
    order: Sequence[Expr],
    start: Expr,
    path: Sequence[Expr],
    cotangents: dict[Expr, Expr],
    edges: Sequence[Share],
    into: Sequence[Share],
    gradient: Expr,
) -> Shares:
    """The record with all derivatives in floating point, as in ``grad``."""
    exprs: list[Expr | None] = [cotangents[v] for v in path]
    exprs += [edge.passed for edge in (*edges, *into)]
    real = iter(derived(order, [start], exprs))
    values: list[Any] = list(real)
    n = len(path)
    again = [
        edge._replace(passed=value) for edge, value in zip((*edges, *into), values[n:], strict=True)
    ]
    return Shares(
        tuple(path),
        dict(zip(path, values[:n], strict=True)),
        tuple(again[: len(edges)]),
        tuple(again[len(edges) :]),
        gradient,
    )


# One node -----------------------------------------------------------------------------------------


class Local(NamedTuple):
    """The derivative of one node by one operand: see ``local``."""

    derivative: Expr | None
    pulled: Expr


def local(node: Expr, k: int | None, operands: Sequence[Expr], cotangent: Expr) -> Local:
    """The derivative of ``node`` by operand k, over the stand-ins ``operands``.

    ``pulled`` is the operand's cotangent for a cotangent of the node.  For a scalar or elementwise
    node it is a product with one array, ``derivative``; for other nodes ``derivative`` is None.

    >>> from symdiff import sin, symbols
    >>> x, t, g = symbols("x t g")
    >>> local(sin(x**2), 0, [t], g)
    Local(derivative=cos(t), pulled=g*cos(t))
    """
    if k is None:
        way = component(node)
        assert way is not None
        return Local(None, way.scatter(cotangent))
    stand_in = make(node.op, tuple(operands), node.shape, node.dtype)
    rule = statement(stand_in, k)
    assert rule is not None, node

    def pulled(g: Expr) -> Expr:
        flow = rule.pull(Flow(g, NONE))
        return full(operands[k].shape, 0) if flow is None else flow.expr

    alone = not node.shape or isinstance(node.op, _ELEMENTWISE)
    return Local(pulled(full(node.shape, 1)) if alone else None, pulled(cotangent))


_ELEMENTWISE = (ops.Sum, ops.Product, ops.Pointwise, ops.Strong)


class Condition(NamedTuple):
    """A condition on the operands of a node for its derivative.

    ``kind`` is "domain" (the derivative exists, as a real number, where ``holds`` is true) or
    "kink" (the derivative is a convention where it is true).  ``holds`` has a boolean for each
    element.
    """

    kind: str
    name: str
    holds: Expr


def conditions(
    node: Expr, operands: Sequence[Expr], by: Container[int] | None = None
) -> list[Condition]:
    """The conditions for the derivative of ``node``, over the stand-ins ``operands``.

    ``by`` lists the operands that vary, by default all.

    >>> from symdiff import log, symbols
    >>> x, t = symbols("x t")
    >>> [(c.kind, c.name, c.holds) for f in (log(x), abs(x), 1 / x) for c in conditions(f, [t])]
    [('domain', 'log', t > 0), ('kink', 'abs', t == 0), ('domain', 'power', t != 0)]
    """
    op = node.op
    stand_in = make(op, tuple(operands), node.shape, node.dtype) if operands else node
    varying = [k for k in range(len(operands)) if by is None or k in by]
    result: list[Condition] = []
    if isinstance(op, ops.Product):
        for k in varying:
            base, p = operands[k], op.exponents[k]
            if p.__class__ is not int:
                result.append(Condition("domain", "power", _compared("less", base, flip=True)))
            elif p < 0:
                result.append(Condition("domain", "power", _compared("not_equal", base)))
    elif isinstance(op, ops.Pointwise) and op.primitive:
        facts = FACTS[op.name]
        symbols = [kernel_symbol(k) for k in range(op.arity)]
        env = dict(zip(symbols, operands, strict=True))
        for kind, formula in (("domain", facts.domain), ("kink", facts.kinks)):
            if formula is not None:
                holds = run(steps(formula(*symbols)), env)
                result.append(Condition(kind, facts.called or op.name, holds))
    elif isinstance(op, ops.Pointwise) and not is_decision(op):  # a formula of primitives
        below = set(topological(operands))
        for part in topological([written_out(stand_in)]):
            if part not in below and not is_decision(part.op):
                result += conditions(part, part.args)
    elif isinstance(op, ops.Opaque):
        result += [Condition("kink", kink.called, kink.hit) for kink in _ties(stand_in, varying)]
    return result


def _ties(node: Expr, varying: Sequence[int]) -> list[Kink]:
    """Where the derivative of an opaque node by one of its operands is a convention."""
    rules = [statement(node, k) for k in varying if node.args[k].dtype is float]
    flows = [rule and rule.pull(Flow(full(node.shape, 1), NONE)) for rule in rules]
    return kinks_in([flow.expr for flow in flows if flow])


def _compared(name: str, x: Expr, flip: bool = False) -> Expr:
    zero = full(x.shape, 0)
    return primitive(name, zero, x) if flip else primitive(name, x, zero)
