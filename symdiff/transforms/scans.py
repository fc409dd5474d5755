"""Loops as one node: a scan, whose value is the sequence of all its carries.

``s_0 = init, s_t = body(s_(t-1), x_t.., p..)``.  The body is an expression over bound symbols; the
node has the operands init, xs, params.  Derivatives are scans of the linearised body, so they have
derivatives of all orders and modes again:

- tangents: ``ds_t = F_s ds_(t-1) + b_t``, where ``b = F_x dx + F_p dp``;
- cotangents: ``l_(t-1) = g_(t-1) + F_s' l_t``, in reverse order, from ``l_n = g_n``; then
  ``xbar_t = F_x' l_t`` and ``pbar = sum_t F_p' l_t``.

Only parts that depend on ds or l stay in these loops.  The trajectory gives the body's values for
all t at once, as ``vectorised``; the rules differentiate that expression.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from symdiff.calculus import kinks
from symdiff.calculus.flows import DEEP, NONE, Flow, gathered, shown
from symdiff.calculus.kinks import Kink, kinks_in
from symdiff.calculus.rules import JointStatement, pullback, pushforward, register, through
from symdiff.errors import Unsupported
from symdiff.functions.rearranging import moveaxis
from symdiff.functions.shaping import concat, expand_dims, squeeze
from symdiff.graph import ops
from symdiff.graph.algebra import as_numeric, as_real, linear, opaque, primitive
from symdiff.graph.expr import Expr
from symdiff.graph.leaves import dummy, full, is_zero, named_dummy, number_node, number_of
from symdiff.graph.node import intern_op, topological
from symdiff.graph.ranges import WHOLE, between
from symdiff.locks import cached_property
from symdiff.transforms import batching
from symdiff.transforms.batching import batched, led
from symdiff.transforms.bodies import (
    WithBodies,
    bind_lengths,
    bound_symbol,
    replaced,
)
from symdiff.transforms.regrouping import regrouped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from symdiff.graph.node import Dim, Shape

# A part that is computed for all steps at once has at most this many times the elements of the
# carry and the xs in each step.  A larger part would need more memory than the loop around it.
_WIDER = 4
# The assumed value of a symbolic length in this estimate.
_SOME = 64


_Looped = TypeVar("_Looped", bound="Looped")


# The op -------------------------------------------------------------------------------------------


class Looped(WithBodies):
    """The base of loops: a body that runs once for each step; operands are init, xs and params."""

    __slots__ = ("body", "carry", "length", "params", "reverse", "xs")
    fields = ("length", "reverse")

    def __init__(
        self,
        body: Expr,
        carry: Expr,
        xs: tuple[Expr, ...],
        params: tuple[Expr, ...],
        length: Dim,
        reverse: bool,
    ) -> None:
        self.body, self.carry, self.xs, self.params = body, carry, xs, params
        self.length, self.reverse = length, reverse

    @property
    def inside(self) -> tuple[Expr, ...]:
        return (self.body,)

    @property
    def symbols(self) -> tuple[Expr, ...]:
        """The bound symbols, in the order of the operands."""
        return (self.carry, *self.xs, *self.params)

    def bound(self, lengths: Callable[[Shape], Shape]) -> ops.Opaque:
        sizes = self.known_lengths(lengths)
        body, symbols = self.body, [*self.symbols]
        if sizes:
            (body,), symbols = bind_lengths("scan", [body], symbols, sizes)
        carry, *rest = symbols
        xs, params, (length,) = rest[: len(self.xs)], rest[len(self.xs) :], lengths((self.length,))
        return looped_op(self.__class__, body, carry, xs, params, length, self.reverse)


class Scan(Looped):
    """``s_0 = init, s_t = body(s_(t-1), x_t.., p..)``; the value is all of s, (length + 1, *carry).

    Operands: init, xs, each (length, *x), and params.  ``reverse``: from the last position to the
    first, ``s_length = init, s_(t-1) = body(s_t, x_t.., p..)``.

    All scans use the same bound symbols, from ``bound_symbol``, so that equal bodies are one op.
    Therefore these symbols must never meet an operand: code that works on the body takes
    ``opened``, whose symbols are fresh.
    """

    __slots__ = ()
    name = "scan"

    def identity(self, *operands: Expr) -> Expr | None:
        return expand_dims(operands[0], 0) if self.length == 0 else None

    def result(self, *shapes: Shape) -> Shape:
        return (self.length + 1, *self.carry.shape)  # type: ignore[operator]  # lengths add up

    def called(self, shape: Shape) -> tuple[str, list[str]]:
        symbols = ", ".join(x.name for x in self.symbols)
        lengths = [] if self.xs else [f"length={self.length}"]
        return self.name, [
            f"lambda {symbols}: {self.body}",
            *lengths,
            *["reverse=True"] * self.reverse,
        ]

    def needs(self, *operands: Any) -> list[tuple[Dim, str]]:
        return [(self.length, f"a scan of length {self.length}"), *super().needs(*operands)]

    @cached_property
    def opened(self) -> _Opened:
        """The body over fresh symbols that no other expression contains.

        A body may contain scans over the same bound symbols.  A rule that mixed these symbols with
        operands would confuse the inner ones with the outer ones.
        """
        fresh = {s: named_dummy(s.name, s.shape, s.dtype) for s in self.symbols}
        (body,) = replaced([self.body], fresh)
        carry, xs = fresh[self.carry], [fresh[s] for s in self.xs]
        before = named_dummy("before", (self.length, *carry.shape))
        columns = [named_dummy(x.name, (self.length, *x.shape), x.dtype) for x in xs]
        along = {carry: before, **dict(zip(xs, columns, strict=True))}
        (vectorised,) = batched([body], along, self.length)
        params = [fresh[s] for s in self.params]
        return _Opened(body, carry, xs, params, before, columns, vectorised)


class _Opened(NamedTuple):
    """The body of a scan, and its values for all steps at once.

    ``vectorised`` is an expression in ``before``, (length, *carry), in ``columns``, the xs, and in
    params.
    """

    body: Expr
    carry: Expr
    xs: list[Expr]
    params: list[Expr]
    before: Expr
    columns: list[Expr]
    vectorised: Expr


def looped_op(
    cls: type[_Looped],
    body: Expr,
    carry: Expr,
    xs: Sequence[Expr],
    params: Sequence[Expr],
    length: Dim,
    reverse: bool,
) -> _Looped:
    """The op of class ``cls`` for a body over any symbols, renamed to the common bound symbols."""
    roles = [("c", 0, carry), *(("x", k, x) for k, x in enumerate(xs))]
    roles += [("p", k, p) for k, p in enumerate(params)]
    place = {symbol: bound_symbol(role, k, symbol) for role, k, symbol in roles}
    (body,) = replaced([body], place)
    inner = tuple([place[x] for x in xs]), tuple([place[p] for p in params])
    key = (cls, body, place[carry], *inner, length, reverse)
    return intern_op(key, lambda: cls(body, place[carry], *inner, length, reverse))


# Nodes --------------------------------------------------------------------------------------------

# Levels of nodes in a body: independent of the step, dependent on xs only, dependent on the carry.
_FREE, _ALONG, _INSIDE = 0, 1, 2


def trajectory(
    body: Expr,
    carry: Expr,
    init: Expr,
    xs: Mapping[Expr, Expr],
    params: Mapping[Expr, Expr],
    length: Dim,
    reverse: bool = False,
    rows: tuple[Any, Any] | None = None,
) -> Expr:
    """All carries: init, and the result of ``body`` after each step, (length + 1, *carry).

    Args:
        body: over carry and the keys of xs and params, none of which is in an operand.  Each part
            that it takes from outside becomes one more operand.
        carry: a symbol of the shape of init.
        xs: by symbol, expressions with one more leading axis, of this length.
        params: by symbol, expressions of the symbol's shape.
        length: the number of steps in xs.
        reverse: whether the steps go from the last position to the first.
        rows: the steps to run, from the first up to but without the second; all by default.

    Parts that do not depend on the carry leave the loop: they are computed once, or for all steps
    at once.
    """
    first, stop = rows or (0, length)
    done = stop - first  # type: ignore[operator]
    if done == 0:
        return expand_dims(init, 0)
    body = as_real(body)
    levels = _levels(body, carry, xs)
    # No step depends on the one before it: no loop at all.
    if levels[body] < _INSIDE:
        (each,) = _compute_for_all_steps([body], xs, params, length)
        ends = [expand_dims(init, 0), part(each, first, stop)]
        return concat(ends[::-1] if reverse else ends)
    # A linear body with a zero start, such as a tangent without contributions, stays zero.
    if is_zero(init) and is_zero(replaced([body], {carry: full(carry.shape, 0)})[0]):
        return full((done + 1, *carry.shape), 0)
    columns: dict[Expr, Expr] = {}  # operands, and the symbols for them
    invariant: dict[Expr, Expr] = {}
    place: dict[Expr, Expr] = {}
    boxes = _unbatchable_nodes(body, levels)
    levels = _levels(body, carry, xs, boxes)
    # Each largest part without the carry becomes an operand.
    for node in _largest_invariant_parts(body, carry, levels):
        along = levels[node] == _ALONG
        (value,) = (_compute_for_all_steps if along else _substitute_params)(
            [node], xs, params, length
        )
        value = as_numeric(part(value, first, stop) if along else value)
        inner = value.shape[1:] if along else value.shape
        symbol = (columns if along else invariant).setdefault(
            value, named_dummy("x" if along else "p", inner, value.dtype)
        )
        place[node] = standing_for(node, symbol)
    (body,) = replaced([body], place)
    each_step = {symbol: value for value, symbol in columns.items()}
    fixed = {symbol: value for value, symbol in invariant.items()}
    # Group what is known before a step, so that each step has fewer operations.  A custom function
    # must not run for all steps at once, so bodies with one stay as they are.
    body, parts = (body, {}) if boxes else regrouped(body, {*each_step, *fixed})
    for symbol, formula in parts.items():
        if not each_step.keys().isdisjoint(topological([formula])):
            (each_step[symbol],) = _compute_for_all_steps([formula], each_step, fixed, done)
        else:
            (fixed[symbol],) = _substitute_params([formula], each_step, fixed, done)
    # Regrouping may leave operands without a use.
    live = set(topological([body]))
    each_step, fixed = ({x: v for x, v in both.items() if x in live} for both in (each_step, fixed))
    op = looped_op(Scan, body, carry, [*each_step], [*fixed], done, reverse)
    return opaque(op, init, *each_step.values(), *fixed.values())


def _unbatchable_nodes(body: Expr, levels: Mapping[Expr, int]) -> dict[Expr, int]:
    """Nodes without a batching rule, such as custom functions: the loop calls them in each step."""
    black_boxes = {}
    for node in topological([body]):
        if levels[node] != _ALONG or not isinstance(node.op, ops.Opaque):
            continue
        wide = {x: named_dummy("x", (1, *x.shape), x.dtype) for x in node.args}
        try:
            batched([node], wide, 1)
        except Unsupported:
            black_boxes[node] = _INSIDE
    return black_boxes


def captured(
    outputs: Sequence[Expr], symbol: Expr, others: Iterable[Expr] = ()
) -> tuple[list[Expr], dict[Expr, Expr]]:
    """Return bodies over symbols and parameters, and the parameters by the parts they replace.

    The largest parts without the symbol and ``others`` become parameters, so that they are
    computed once.
    >>> import symdiff as sd
    >>> a, x = sd.symbol("a"), named_dummy("x", ())
    >>> bodies, params = captured([sd.atan2(x, sd.exp(a))], x)
    >>> print(*bodies, dict(params))
    atan2(x, p) {exp(a): p}
    """
    params: dict[Expr, Expr] = {}
    place: dict[Expr, Expr] = {}
    inside = dict.fromkeys((symbol, *others), _INSIDE)
    for body in outputs:
        for node in _largest_invariant_parts(body, symbol, _levels(body, symbol, (), inside)):
            value = as_numeric(node)
            p = params.setdefault(value, named_dummy("p", value.shape, value.dtype))
            place[node] = standing_for(node, p)
    return replaced(outputs, place), params


def standing_for(node: Expr, number: Expr) -> Expr:
    """The expression for ``node`` in terms of numbers: a condition if the node was one."""
    return primitive("not_equal", number, number_node(0)) if node.dtype is bool else number


def _levels(
    body: Expr, carry: Expr, xs: Iterable[Expr], others: Mapping[Expr, int] | None = None
) -> dict[Expr, int]:
    """For each node, whether it depends on the carry, on xs, or on neither; ``others`` known."""
    levels = {**dict.fromkeys(xs, _ALONG), **(others or {})}
    levels[carry] = _INSIDE
    for node in topological([body]):
        if node not in levels:
            levels[node] = max([levels[x] for x in node.args], default=_FREE)
    return levels


def _largest_invariant_parts(body: Expr, carry: Expr, levels: Mapping[Expr, int]) -> list[Expr]:
    """The largest parts of the body without the carry that become operands, by first use."""
    # For each part its widest intermediate value, against the size of carry and xs.
    widest: dict[Expr, int] = {}
    budget = _element_count(carry.shape)
    for node in topological([body]):
        along = levels[node] == _ALONG
        wide = [_element_count(node.shape)] if along and node.args else [0]
        widest[node] = max(wide + [widest[x] for x in node.args])
        budget += _element_count(node.shape) if along and not node.args else 0
    nodes: list[Expr] = []
    stack, seen = [body], {carry}
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if levels[node] < _INSIDE and _is_worth_operand(node) and widest[node] <= _WIDER * budget:
            nodes.append(node)
        else:
            stack.extend(reversed(node.args))
    return nodes


def _is_worth_operand(node: Expr) -> bool:
    """Whether a part is worth an operand: neither a number nor only a stretched other part."""
    op = node.op
    if isinstance(op, ops.Symbol):
        return True
    if not node.args or number_of(node) is not None:
        return False
    return not (isinstance(op, ops.Contract) and len(node.args) == 1 and op.created)


def _element_count(shape: Shape) -> int:
    return math.prod([dim if isinstance(dim, int) else _SOME for dim in shape])


def _substitute_params(
    outputs: Sequence[Expr], xs: Mapping[Expr, Expr], params: Mapping[Expr, Expr], length: Dim
) -> list[Expr]:
    return replaced(outputs, params)


def _compute_for_all_steps(
    outputs: Sequence[Expr], xs: Mapping[Expr, Expr], params: Mapping[Expr, Expr], length: Dim
) -> list[Expr]:
    """Compute outputs over xs and params for all steps at once."""
    # Over fresh symbols: neither batching nor replacing then walks into the operands.
    columns = {x: named_dummy(x.name, value.shape, value.dtype) for x, value in xs.items()}
    wide = batched(outputs, columns, length)
    values = {column: xs[x] for x, column in columns.items()}
    return replaced(wide, {**values, **params})


def part(x: Expr, start: Any, stop: Any, axis: int = 0) -> Expr:
    """``x[start:stop]`` along an axis, where start and stop count from the front."""
    return linear(_part_op(x.shape[axis:], start, stop), x)


def _part_op(shape: Shape, start: Any, stop: Any) -> ops.Linear:
    length, *rest = shape
    steps = (between(start, stop, length), *(WHOLE for _ in rest))
    return ops.slice_op(shape, steps, (stop - start, *rest))


# The derivative -----------------------------------------------------------------------------------


class ScanRule(JointStatement):
    """Scan tangents in the order of the values, cotangents in the reverse order."""

    __slots__ = ()

    @staticmethod
    def pushed(node: Expr, tangents: Mapping[int, Flow]) -> list[Flow]:
        """One scan for all tangents: one scan for each would double the graph at every order."""
        loop = ScanRule(node, 0)
        op = loop._op()
        o, n = op.opened, op.length
        shape = next(t.expr.shape[: t.expr.ndim - node.args[k].ndim] for k, t in tangents.items())
        lead, shape = len(shape), shape + o.carry.shape
        wanted = (*o.columns, *o.params)
        seeds = {wanted[k - 1]: t for k, t in tangents.items() if k}
        share: Flow | None = None  # of xs and params; first axis: steps
        if seeds:
            share = pushforward(topological([o.vectorised]), [o.vectorised], seeds)[0]
            share = None if share is None else loop._substitute_operands([share])[0]
            share = None if share is None else Flow(moveaxis(share.expr, lead, 0), share.mark)
        start = tangents.get(0, Flow(full(shape, 0), DEEP))
        if share is None and 0 not in tangents:
            return []
        rows, alone = (0, n), 0 not in tangents and share is not None
        # Without a tangent of init, the first step's contribution starts the loop, unmarked.
        if alone and share is not None and not share.mark and isinstance(n, int) and n:
            # After the first step every tangent is reached, so no zero needs a mark.
            first = n - 1 if op.reverse else 0
            start = Flow(squeeze(part(share.expr, first, first + 1), 0), NONE)
            rows = (0, n - 1) if op.reverse else (1, n)
        tangent, order = named_dummy("tangent", shape), topological([o.body])
        mark = DEEP if start.mark else NONE
        # If the body itself writes zeros, push again with a marked tangent: marks must not change
        # from step to step.
        inner = pushforward(order, [o.body], {o.carry: Flow(tangent, mark)})[0]
        if inner is not None and inner.mark and not mark and (share is None or share.mark):
            mark = DEEP
            inner = pushforward(order, [o.body], {o.carry: Flow(tangent, mark)})[0]
        path = loop._scan_linearised(inner, tangent, start.expr, share, op.reverse, rows)
        if not alone:
            return [Flow(moveaxis(path, 0, lead), mark)]
        # The start has no tangent: write its zeros visibly.
        first = 0 if op.reverse else 1
        inside = part(path, first, first + n) if rows == (0, n) else path  # type: ignore[operator]
        inside = moveaxis(inside, 0, lead)
        full_shape = shape[:lead] + node.shape
        steps = [WHOLE] * len(full_shape)
        steps[lead] = between(first, first + n, n + 1)  # type: ignore[operator]
        zeros_shown = linear(ops.unslice_op(full_shape, tuple(steps), inside.shape), inside)
        return [shown(zeros_shown, DEEP if mark and share is not None and share.mark else NONE)]

    @staticmethod
    def pulled(node: Expr, g: Flow, places: Sequence[int]) -> Mapping[int, Flow]:
        """One scan for the cotangents of all operands, and one walk back through the body."""
        # Values at the states come from the trajectory; only the linear recursion is a loop.
        loop = ScanRule(node, 0)
        op, n = loop._op(), loop._op().length
        o, lead = op.opened, g.expr.ndim - node.ndim
        path, mark, first = loop._state_cotangents(g, lead)
        end = (n, n + 1) if op.reverse else (0, 1)  # type: ignore[operator]
        gradients = {0: Flow(squeeze(part(path, *end), 0), first)} if 0 in places else {}
        outer = [k for k in places if k]
        after = (0, n) if op.reverse else (1, n + 1)  # type: ignore[operator]
        each = Flow(moveaxis(part(path, *after), 0, lead), mark)
        wanted = (*o.columns, *o.params)
        flows = pullback([o.vectorised], [wanted[k - 1] for k in outer], [each]) if outer else []
        passed = {k: flow for k, flow in zip(outer, flows, strict=True) if flow is not None}
        gradients.update(zip(passed, loop._substitute_operands([*passed.values()]), strict=True))
        return gradients

    def _op(self) -> Scan:
        op = self.node.op
        assert isinstance(op, Scan)
        return op

    def _state_cotangents(self, g: Flow, lead: int) -> tuple[Expr, int, int]:
        """The cotangents of all states, and the marks of these and of the cotangent of init."""
        op, n = self._op(), self._op().length
        o, shape = op.opened, self.node.shape
        start = self._cotangent_of_state(g, lead, 0 if op.reverse else n)
        before = (1, n + 1) if op.reverse else (0, n)  # type: ignore[operator]
        rest = through(_part_op(shape, *before), g)
        # If g reaches the earlier states unmarked, their zeros are true zeros.
        reached = not rest.mark and not is_zero(rest.expr)
        rows, init, mark = (0, n), start, left_out(start)
        met = (
            self._cotangent_before_last(g, lead, start)
            if mark and isinstance(n, int) and n > 1
            else None
        )
        if met is not None:
            rows, init = ((1, n) if op.reverse else (0, n - 1)), met  # type: ignore[operator]
        cotangent = named_dummy("cotangent", init.expr.shape)
        inside = left_out(init)
        inner = pullback([o.body], [o.carry], [Flow(cotangent, inside)])[0]
        if inner is not None and inner.mark and not inside and not reached:
            # An element that a mask discards in one step stays discarded in all earlier steps.
            inside = DEEP
            inner = pullback([o.body], [o.carry], [Flow(cotangent, inside)])[0]
        each = None if is_zero(rest.expr) else Flow(moveaxis(rest.expr, lead, 0), rest.mark)
        path = self._scan_linearised(inner, cotangent, init.expr, each, not op.reverse, rows)
        if rows != (0, n):
            ends = [path, expand_dims(start.expr, 0)]
            path = concat(ends[::-1] if op.reverse else ends)
        masked = bool(inside) or (inner is not None and bool(inner.mark))
        return path, max(mark, inside), DEEP if masked and not reached else NONE

    def _cotangent_before_last(self, g: Flow, lead: int, start: Flow) -> Flow | None:
        """The cotangent before the last step, or None unless every element of it is reached.

        Starting there, the loop has no marked zeros.  This is the usual case where a loss reads
        only a part of the last carry, or none of it.
        """
        op = self._op()
        o, n = op.opened, int(op.length)  # the caller has checked that it is a number
        t = 0 if op.reverse else n - 1
        flows = [self._cotangent_of_state(g, lead, 1 if op.reverse else n - 1)]
        last = None if is_zero(start.expr) else pullback([o.body], [o.carry], [start])[0]
        flows += [] if last is None else [self._substitute_step(last, t)]
        met = gathered([flow for flow in flows if not is_zero(flow.expr)] or flows[:1])
        return None if left_out(met) else met

    def _cotangent_of_state(self, g: Flow, lead: int, index: Any) -> Flow:
        """The cotangent of one state of the trajectory, after ``lead`` batch axes."""
        states = dummy(g.expr)
        state = squeeze(part(states, index, index + 1, lead), lead)
        flow = pushforward(topological([state]), [state], {states: g})[0]
        return Flow(full(state.shape, 0), NONE) if flow is None else flow

    def _substitute_step(self, flow: Flow, t: int) -> Flow:
        """Substitute the values of one step for the body's symbols in a flow."""
        o = self._op().opened
        before, after, columns, params = self._states_and_operands()
        symbols = (o.body, o.carry, *o.xs)
        row = [squeeze(part(x, t, t + 1), 0) for x in (after, before, *columns)]
        values = dict(zip((*symbols, *o.params), (*row, *params), strict=True))
        return Flow(replaced([flow.expr], values)[0], flow.mark)

    def _scan_linearised(
        self,
        inner: Flow | None,
        carry: Expr,
        init: Expr,
        each: Flow | None,
        reverse: bool,
        rows: tuple[Any, Any],
    ) -> Expr:
        """The scan of the linearised body ``inner``, with ``each`` added in every step.

        ``rows`` are the steps, from the first up to but without the second.
        """
        o = self._op().opened
        before, after, columns, params = self._states_and_operands()
        body = full(carry.shape, 0) if inner is None else inner.expr
        xs = {o.carry: before, **dict(zip(o.xs, columns, strict=True))}
        if o.body is not o.carry:
            value = dummy(o.carry)
            # The body's value in each step is known, so read it instead of computing it again.
            (body,) = replaced([body], {o.body: value})
            xs[value] = after
        if each is not None:
            added = dummy(carry)
            body, xs[added] = body + added, each.expr
        of_params = dict(zip(o.params, params, strict=True))
        if reverse is self._op().reverse:  # tangents: skip steps without any
            xs = {x: part(value, *rows) for x, value in xs.items()}
            return trajectory(body, carry, init, xs, of_params, rows[1] - rows[0], reverse)
        return trajectory(body, carry, init, xs, of_params, self._op().length, reverse, rows)

    def _states_and_operands(self) -> tuple[Expr, Expr, Sequence[Expr], Sequence[Expr]]:
        """The carries before and after each step, the xs, and the params."""
        op, n, node = self._op(), self._op().length, self.node
        first, last = part(node, 0, n), part(node, 1, n + 1)  # type: ignore[operator]
        before, after = (last, first) if op.reverse else (first, last)
        m = 1 + len(op.xs)
        return before, after, node.args[1:m], node.args[m:]

    def _substitute_operands(self, flows: Sequence[Flow]) -> list[Flow]:
        """Substitute the operands for the symbols of the vectorised body in flows."""
        o = self._op().opened
        before, after, columns, params = self._states_and_operands()
        values = dict(zip((*o.columns, *o.params), (*columns, *params), strict=True))
        values.update({o.vectorised: after, o.before: before})
        exprs = replaced([flow.expr for flow in flows], values)
        return [Flow(x, flow.mark) for x, flow in zip(exprs, flows, strict=True)]


def left_out(flow: Flow) -> int:
    """DEEP if elements of a flow may be 0 because no cotangent reaches them, else NONE."""
    return DEEP if flow.mark or is_zero(flow.expr) else NONE


def batched_scan(node: Expr, args: list[tuple[Expr, bool]], length: Dim) -> Expr:
    """One scan of a carry with the new axis first."""
    op = node.op
    assert isinstance(op, Scan)
    o = op.opened
    wide = {o.carry: named_dummy("c", (length, *o.carry.shape))}
    operands = []
    for k, (s, (x, has)) in enumerate(zip((*o.xs, *o.params), args[1:], strict=True)):
        if has:
            wide[s] = named_dummy(s.name, (length, *s.shape), s.dtype)
            x = moveaxis(x, 0, 1) if k < len(o.xs) else x
        operands.append((wide.get(s, s), x))
    (body,) = batched([o.body], wide, length)
    xs, params = dict(operands[: len(o.xs)]), dict(operands[len(o.xs) :])
    init = led(*args[0], length)
    path = trajectory(body, wide[o.carry], init, xs, params, op.length, op.reverse)
    return moveaxis(path, 1, 0)


def kinks_of_scan(node: Expr) -> list[Kink]:
    """The kinks that derivatives of the body meet, in all steps."""
    o = ScanRule(node, 0)._op().opened
    return [
        Kink(kink.name, *[loop_values(node, x) for x in (kink.operand, kink.hit)])
        for kink in kinks_in([o.body])
    ]


def loop_values(node: Expr, x: Expr) -> Expr:
    """The values, in each step, of an expression over the opened symbols of a scan."""
    rule = ScanRule(node, 0)
    o = rule._op().opened
    along = dict(zip((o.carry, *o.xs), (o.before, *o.columns), strict=True))
    (values,) = batched([x], along, rule._op().length)
    return rule._substitute_operands([Flow(values, NONE)])[0].expr


register(Scan, ScanRule)
batching.register(Scan, batched_scan)
kinks.register(Scan, kinks_of_scan)
