"""Scans whose gradients store only some carries and recompute the others.

The loop runs in segments.  A scan with one step per segment stores the carries between segments.
The backward pass goes through the segments in reverse and runs each of them again.  So memory holds
the carries between segments and the carries of one segment.  Cotangents of xs and params are
computed in the same pass.  For all segments at once they would need all intermediate values.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

from symdiff.calculus import kinks
from symdiff.calculus.flows import DEEP, NONE, Flow
from symdiff.calculus.kinks import Kink, kinks_in
from symdiff.calculus.rules import JointStatement, pullback, pushforward, register
from symdiff.functions.rearranging import moveaxis
from symdiff.functions.shaping import concat, reshape, squeeze
from symdiff.graph.algebra import as_numeric, as_real, opaque
from symdiff.graph.expr import Expr
from symdiff.graph.leaves import full, is_zero, named_dummy
from symdiff.graph.lengths import product
from symdiff.graph.node import topological
from symdiff.locks import cached_property
from symdiff.transforms import batching
from symdiff.transforms.batching import batched
from symdiff.transforms.bodies import replaced
from symdiff.transforms.scans import (
    Looped,
    Scan,
    ScanRule,
    batched_scan,
    captured,
    kinks_of_scan,
    left_out,
    looped_op,
    part,
    trajectory,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symdiff.graph.node import Dim, Shape


class Checkpoints(Scan):
    """A scan over segments whose derivatives store only the carries between segments."""

    __slots__ = ()

    def called(self, shape: Shape) -> tuple[str, list[str]]:
        name, arguments = super().called(shape)
        return name, [*arguments, "checkpoint=1"]


def checkpoints(
    body: Expr,
    carry: Expr,
    init: Expr,
    xs: Mapping[Expr, Expr],
    length: int,
    reverse: bool,
) -> Expr:
    """``trajectory``, but without any part that is computed for all steps at once."""
    (body,), params = captured([as_real(body)], carry, xs)
    op = looped_op(Checkpoints, body, carry, [*xs], [*params.values()], length, reverse)
    return opaque(op, init, *map(as_numeric, xs.values()), *params)


class CheckpointsRule(ScanRule):
    """Compute all intermediate values of a step's tangents and cotangents inside the loop."""

    __slots__ = ()

    @staticmethod
    def pushed(node: Expr, tangents: Mapping[int, Flow]) -> list[Flow]:
        """One loop for the tangents of all operands."""
        loop = CheckpointsRule(node, 0)
        o, n, reverse = loop.op.opened, int(loop.op.length), loop.op.reverse
        shape = next(t.expr.shape[: t.expr.ndim - node.args[k].ndim] for k, t in tangents.items())
        lead = len(shape)
        start = tangents.get(0, Flow(full(shape + o.carry.shape, 0), DEEP))
        mark = DEEP if any(t.mark for t in (start, *tangents.values())) else NONE
        symbols = (o.carry, *o.xs, *o.params)
        seeds, xs, params = {}, *loop.values()
        tangent = named_dummy("tangent", shape + o.carry.shape)
        seeds[o.carry] = Flow(tangent, mark)
        for k, t in tangents.items():
            if k:
                x = symbols[k]
                symbol = named_dummy("t", shape + x.shape)
                seeds[x] = Flow(symbol, mark)
                if k <= len(o.xs):
                    xs[symbol] = moveaxis(t.expr, lead, 0)
                else:
                    params[symbol] = t.expr
        flow = pushforward(topological([o.body]), [o.body], seeds)[0]
        body = full(tangent.shape, 0) if flow is None else flow.expr
        (body,) = replaced([body], params)
        path = checkpoints(body, tangent, start.expr, xs, n, reverse)
        marked = mark or (flow is not None and flow.mark)
        return [Flow(moveaxis(path, 0, lead), DEEP if marked else NONE)]

    @staticmethod
    def pulled(node: Expr, g: Flow, places: Sequence[int]) -> Mapping[int, Flow]:
        """The cotangents of all operands, from one loop."""
        loop = CheckpointsRule(node, 0)
        packed, layout = loop._backward(g, places)
        lead, n, m = g.expr.ndim - node.ndim, loop.op.length, len(loop.op.xs)
        flows = {}
        for k, (start, shape) in layout.places.items():
            stop = start + product(shape)
            if 0 < k <= m:
                rows = reshape(part(packed, layout.size, packed.shape[0]), (n, layout.width))
                x = moveaxis(reshape(part(rows, start, stop, 1), (n, *shape)), 0, lead)
            else:
                x = reshape(part(packed, start, stop), shape)
            flows[k] = Flow(x, layout.mark)
        return flows

    @property
    def op(self) -> Scan:
        """The op of the node."""
        return self._op()

    def values(self) -> tuple[dict[Expr, Expr], dict[Expr, Expr]]:
        """The values of the body's symbols: carry and xs in each step, and the params."""
        o = self.op.opened
        before, _, columns, params = self._states_and_operands()
        xs = {o.carry: before, **dict(zip(o.xs, columns, strict=True))}
        return xs, dict(zip(o.params, params, strict=True))

    def _backward(self, g: Flow, wanted: Sequence[int]) -> tuple[Expr, _Layout]:
        """One array with the cotangents of the requested operands, and their positions in it."""
        op, n = self.op, int(self.op.length)
        o, lead = op.opened, g.expr.ndim - self.node.ndim
        start = self._cotangent_of_state(g, lead, 0 if op.reverse else n)
        rest = part(g.expr, *((1, n + 1) if op.reverse else (0, n)), lead)
        mark = left_out(start)  # the last state reaches every step
        symbols = (o.carry, *[(*o.xs, *o.params)[k - 1] for k in wanted if k])
        cotangent = named_dummy("cotangent", start.expr.shape)
        flows = pullback([o.body], symbols, [Flow(cotangent, mark)])
        # A mask in the body leaves elements out: pull again with a marked cotangent.
        if not mark and any(flow and flow.mark for flow in flows):
            mark = DEEP
            flows = pullback([o.body], symbols, [Flow(cotangent, mark)])
        # Carry the cotangent of the carry, and the running sums of the params' cotangents.
        xs, params = self.values()
        first, *others = flows
        zero = full(cotangent.shape, 0)
        after = zero if first is None else first.expr
        if not is_zero(rest):
            row = named_dummy("g", cotangent.shape)
            xs[row] = moveaxis(rest, lead, 0)
            after = after + row
        places = {0: (0, cotangent.shape)} if 0 in wanted else {}
        carried, inits, steps = [cotangent], [start.expr], [after]
        size: Any = product(cotangent.shape)
        # Params add to a total in the carry; xs give a row in each step.
        pairs = zip([k for k in wanted if k], others, strict=True)
        passed = {k: flow for k, flow in pairs if flow is not None and not is_zero(flow.expr)}
        rows: list[Expr] = []
        width: Any = 0
        for k, flow in passed.items():
            if k > len(o.xs):
                total = named_dummy("total", flow.expr.shape)
                carried.append(total)
                inits.append(full(total.shape, 0))
                steps.append(total + flow.expr)
                places[k] = (size, total.shape)
                size += product(total.shape)
            else:
                rows.append(flow.expr)
                places[k] = (width, flow.expr.shape)
                width += product(flow.expr.shape)
        steps, rows = replaced(steps, params), replaced(rows, params)
        result = fold(steps, rows, carried, inits, xs, n, not op.reverse)
        return result, _Layout(places, size, width, mark)


class _Layout(NamedTuple):
    """Offsets and shapes of the cotangents in one array, and their mark."""

    places: dict[int, tuple[Any, Shape]]  # for xs, the offset within the row of a step
    size: Any  # of the part before the rows
    width: Any  # of one row
    mark: int


# Loops that store no carries ----------------------------------------------------------------------


class Fold(Looped):
    """The last carry of a loop and the rows of its steps, in one array without axes.

    ``body`` is the next carry followed by the row of the step.  Operands: init, xs, params.
    """

    __slots__ = ()
    name = "fold"
    length: int

    def result(self, *shapes: Shape) -> Shape:
        (carried,), (size,) = self.carry.shape, self.body.shape
        return (carried + self.length * (size - carried),)  # type: ignore[operator]

    def called(self, shape: Shape) -> tuple[str, list[str]]:
        symbols = ", ".join(x.name for x in self.symbols)
        return self.name, [f"lambda {symbols}: {self.body}", *["reverse=True"] * self.reverse]

    @cached_property
    def plain(self) -> tuple[Expr, list[Expr]]:
        """The same values by a scan that stores every carry, over symbols for the operands."""
        fresh = {x: named_dummy(x.name, x.shape, x.dtype) for x in self.symbols}
        (body,) = replaced([self.body], fresh)
        carry, xs = fresh[self.carry], [fresh[x] for x in self.xs]
        (carried,), n = carry.shape, self.length
        init = named_dummy("init", carry.shape)
        columns = [named_dummy(x.name, (n, *x.shape), x.dtype) for x in xs]
        along = dict(zip(xs, columns, strict=True))
        path = trajectory(part(body, 0, carried), carry, init, along, {}, n, self.reverse)
        firsts = part(path, 1, n + 1) if self.reverse else part(path, 0, n)
        end = (0, 1) if self.reverse else (n, n + 1)
        (rows,) = batched([part(body, carried, body.shape[0])], {carry: firsts, **along}, n)
        flat = concat([squeeze(part(path, *end), 0), reshape(rows, product(rows.shape))])
        return flat, [init, *columns, *[fresh[x] for x in self.params]]


def fold(
    steps: Sequence[Expr],
    rows: Sequence[Expr],
    carried: Sequence[Expr],
    inits: Sequence[Expr],
    xs: Mapping[Expr, Expr],
    length: int,
    reverse: bool,
) -> Expr:
    """The last carries, then the rows of all steps, in one array with one axis.

    ``steps`` and ``rows`` are over the symbols ``carried`` and the keys of xs.
    """
    shapes = [x.shape for x in carried]
    carry = named_dummy("carry", (sum(map(product, shapes)),))
    ends = list(itertools.accumulate([product(shape) for shape in shapes], initial=0))
    parts = [
        reshape(part(carry, i, j), shape)
        for (i, j), shape in zip(itertools.pairwise(ends), shapes, strict=True)
    ]
    # A loop carries one array, so symbols become slices of it.
    (*outputs,) = replaced([*steps, *rows], dict(zip(carried, parts, strict=True)))
    body = _join_flat(outputs)
    (body,), params = captured([as_real(body)], carry, xs)
    op = looped_op(Fold, body, carry, [*xs], [*params.values()], length, reverse)
    return opaque(op, _join_flat(inits), *map(as_numeric, xs.values()), *params)


def _join_flat(xs: Sequence[Expr]) -> Expr:
    return concat([reshape(x, product(x.shape)) for x in xs])


class FoldRule(JointStatement):
    """Differentiate the equivalent scan that stores every carry."""

    __slots__ = ()

    @staticmethod
    def pushed(node: Expr, tangents: Mapping[int, Flow]) -> list[Flow]:
        """All tangents in one expression."""
        flat, symbols = FoldRule(node, 0)._plain()
        seeds = {symbols[k]: t for k, t in tangents.items()}
        flow = pushforward(topological([flat]), [flat], seeds)[0]
        return [] if flow is None else [FoldRule(node, 0)._substitute_operands(flow)]

    @staticmethod
    def pulled(node: Expr, g: Flow, places: Sequence[int]) -> Mapping[int, Flow]:
        """All cotangents from one pullback."""
        flat, symbols = FoldRule(node, 0)._plain()
        flows = pullback([flat], [symbols[k] for k in places], [g])
        gradients = {k: flow for k, flow in zip(places, flows, strict=True) if flow is not None}
        exprs = substitute_operands(node, [flow.expr for flow in gradients.values()])
        return {k: Flow(x, gradients[k].mark) for k, x in zip(gradients, exprs, strict=True)}

    def _plain(self) -> tuple[Expr, list[Expr]]:
        op = self.node.op
        assert isinstance(op, Fold)
        return op.plain

    def _substitute_operands(self, flow: Flow) -> Flow:
        return Flow(substitute_operands(self.node, [flow.expr])[0], flow.mark)


def substitute_operands(node: Expr, outputs: Sequence[Expr]) -> list[Expr]:
    """Substitute a node's operands for the symbols of ``plain``."""
    op = node.op
    assert isinstance(op, Fold)
    flat, symbols = op.plain
    return replaced(outputs, {flat: node, **dict(zip(symbols, node.args, strict=True))})


def _batch_fold(node: Expr, args: list[tuple[Expr, bool]], length: Dim) -> Expr:
    """Batch the equivalent scan that stores every carry."""
    op = node.op
    assert isinstance(op, Fold)
    flat, symbols = op.plain
    wide, operands = {}, {}
    for s, (x, has) in zip(symbols, args, strict=True):
        if has:
            wide[s] = named_dummy(s.name, (length, *s.shape), s.dtype)
        operands[wide.get(s, s)] = x
    return replaced(batched([flat], wide, length), operands)[0]


def _kinks(node: Expr) -> list[Kink]:
    """The kinks that derivatives of the body meet, in all steps."""
    op = node.op
    assert isinstance(op, Fold)
    return [
        Kink(kink.name, *substitute_operands(node, [kink.operand, kink.hit]))
        for kink in kinks_in([op.plain[0]])
    ]


register(Checkpoints, CheckpointsRule)
register(Fold, FoldRule)
batching.register(Checkpoints, batched_scan)
batching.register(Fold, _batch_fold)
kinks.register(Checkpoints, kinks_of_scan)
kinks.register(Fold, _kinks)
