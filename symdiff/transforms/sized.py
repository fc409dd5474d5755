"""Expressions with a length that is known only at run time.

``Sized`` is an expression over bound symbols with a named length of its own.  Its first operand is
the value of this length: the number of steps of a loop with a condition, or the number of positions
where a condition holds.

The length is not visible outside: the value has a shape without it.  The derivatives of ``Sized``
are the derivatives of the inner expression.  They are ``Sized`` again, of the same count, which
passes from the forward to the backward program like any other value.
"""

from __future__ import annotations

import itertools
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from symdiff.calculus import kinks
from symdiff.calculus.derivative import detach
from symdiff.calculus.flows import DEEP, NONE, Flow
from symdiff.calculus.kinks import Kink, kinks_in
from symdiff.calculus.rules import JointStatement, exchanged, pullback, pushforward, register
from symdiff.errors import Unsupported
from symdiff.functions.elementwise import where
from symdiff.functions.indexing import take
from symdiff.functions.rearranging import moveaxis
from symdiff.functions.reductions import cumsum
from symdiff.functions.reductions import max as greatest
from symdiff.functions.reductions import sum as summed
from symdiff.functions.shaping import concat, reshape
from symdiff.functions.sorting import argmax
from symdiff.graph import ops
from symdiff.graph.algebra import as_numeric, opaque, primitive
from symdiff.graph.axis_lengths import bound, names
from symdiff.graph.bound_lengths import with_lengths
from symdiff.graph.contraction import contract
from symdiff.graph.expr import Expr
from symdiff.graph.leaves import full, is_zero, named_dummy, number_node
from symdiff.graph.lengths import Length, product
from symdiff.graph.node import intern_op, topological
from symdiff.locks import cached_property
from symdiff.transforms import batching
from symdiff.transforms.batching import batched, led
from symdiff.transforms.bodies import (
    WithBodies,
    bind_lengths,
    bound_symbol,
    replaced,
)
from symdiff.transforms.continuous import Stated
from symdiff.transforms.packing import packed, unpacked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from symdiff.graph.node import Dim, Shape

# The name of a length that only a ``Sized`` knows.
_OWN = "steps"


class Held(NamedTuple):
    """The expression of a ``Sized`` for a larger length, which gives the same values.

    Batches need it: all loops of a batch run for the largest count, and ``steps`` stops each one
    at its own.  ``inner`` is over the symbols of the original expression, over ``steps``, if it
    needs that, and over the keys of ``others``.  For a loop with steps such a key has the value of
    its symbol in ``others``.  For a loop without steps it has any value at which the body can run;
    it has no derivative there.
    """

    inner: Expr
    steps: Expr | None
    others: dict[Expr, Expr]

    def of(self, inner: Expr) -> Held:
        """Apply the same length and symbols to a derivative of this expression."""
        return self._replace(inner=inner)

    @property
    def free(self) -> list[Expr]:
        """The symbols of ``inner`` that the original expression lacks."""
        return [*self.others, *([] if self.steps is None else [self.steps])]

    def replaced(self, values: Mapping[Expr, Expr], sizes: Mapping[str, Dim]) -> Held:
        """Substitute symbols and lengths."""
        (inner,) = with_lengths("while_loop", [self.inner], values, sizes)
        renamed = {values.get(x, x): values.get(of, of) for x, of in self.others.items()}
        count = self.steps if self.steps is None else values.get(self.steps, self.steps)
        return Held(inner, count, renamed)


class Sized(WithBodies):
    """``inner`` with the value of the first operand as its length ``own``.

    The other operands are the values of the bound symbols.  If the first operand has axes, it
    holds one count for each element.  Then an operand with the same leading axes has a value for
    each count; an operand without them is common to all counts.

    ``hold`` builds the form for batches, if there is one.  Without it each element of a batch runs
    by itself.  ``state`` builds the same value as a formula for texts, if there is one.
    """

    __slots__ = ("hold", "inner", "own", "state", "symbols")
    name = "sized"
    symbols: tuple[Expr, ...]

    def __init__(
        self,
        inner: Expr,
        symbols: tuple[Expr, ...],
        own: Length,
        hold: Callable[[], Held | None] | None,
        state: Callable[[], Stated | None] | None = None,
    ) -> None:
        self.inner, self.symbols, self.own, self.hold = inner, symbols, own, hold
        self.state = state

    @cached_property
    def stated(self) -> Stated | None:
        """The value as a formula for texts, or None without one."""
        return self.state() if self.state is not None else None

    @cached_property
    def held(self) -> Held | None:
        """The form for batches, or None without one."""
        held = self.hold() if self.hold is not None else None
        if held is None:
            return None
        there = {x for x in topological([held.inner]) if isinstance(x.op, ops.Symbol)}
        used = {x: of for x, of in held.others.items() if x in there}
        allowed = {*self.symbols, *used, held.steps}
        if there <= allowed and {*used.values()} <= allowed:
            return held._replace(others=used)
        return None  # it needs a symbol that the expression lost

    @property
    def inside(self) -> tuple[Expr, ...]:
        return (self.inner,)

    @property
    def bound_lengths(self) -> tuple[Length, ...]:
        return (self.own,)

    def result(self, *shapes: Shape) -> Shape:
        return shapes[0] + self.inner.shape

    def called(self, shape: Shape) -> tuple[str, list[str]]:
        symbols = ", ".join([str(self.own), *(x.name for x in self.symbols)])
        return self.name, [f"lambda {symbols}: {self.inner}"]

    def bound(self, lengths: Callable[[Shape], Shape]) -> ops.Opaque:
        sizes = self.known_lengths(lengths)
        if not sizes:
            return self
        inner, renamed = self.beside(tuple(sizes.values()))
        (inner,), symbols = bind_lengths("while_loop", [inner], self.symbols, sizes)

        def held() -> Held | None:
            path = self.held
            if path is None:
                return None
            fresh = {x: named_dummy(x.name, bound(x.shape, sizes), x.dtype) for x in path.free}
            place = {**fresh, **dict(zip(self.symbols, symbols, strict=True))}
            return path.replaced(place, {**sizes, str(self.own): renamed})

        def stated() -> Stated | None:
            of = self.stated
            if of is None:
                return None
            place = {x: named_dummy(x.name, bound(x.shape, sizes), x.dtype) for x in of.operands}
            return of.replaced({**place, **dict(zip(self.symbols, symbols, strict=True))}, sizes)

        return sized_op(inner, symbols, renamed, held, stated)

    def beside(self, shape: Shape) -> tuple[Expr, Length]:
        """The inner expression, and its length under a name that the shape does not contain."""
        taken = [name for dim in shape for name in _names_in(dim)]
        if self.own not in taken:
            return self.inner, self.own
        fresh = free_length([*taken, *self.inner_lengths])
        (inner,) = with_lengths("while_loop", self.inside, {}, {str(self.own): fresh})
        return inner, fresh

    def held_with_length(self, own: Length) -> Held | None:
        """``held`` with the name of the length that ``beside`` returned."""
        if self.held is None or own == self.own:
            return self.held
        return self.held.replaced({}, {str(self.own): own})


def _names_in(length: Dim) -> tuple[str, ...]:
    return tuple(length.names) if isinstance(length, Length) else ()


def free_length(taken: Iterable[str]) -> Length:
    """The first free name for a length."""
    used = set(map(str, taken))
    tried = itertools.chain([_OWN], (f"{_OWN}{k}" for k in itertools.count(1)))
    return Length(next(name for name in tried if name not in used))


def sized_op(
    inner: Expr,
    symbols: Sequence[Expr],
    own: Length,
    hold: Callable[[], Held | None] | None = None,
    state: Callable[[], Stated | None] | None = None,
) -> Sized:
    """The op of an expression over any symbols, with a length of any name.

    Symbols and length get common names, so that equal expressions are one op.
    """
    place = {x: bound_symbol("s", k, x) for k, x in enumerate(symbols)}
    name = free_length(x for x in names(topological([inner, *symbols])) if x != own)
    sizes = {} if name == own else {str(own): name}
    (inner,) = with_lengths("while_loop", [inner], place, sizes)
    own_symbols = tuple([place[x] for x in symbols])
    key = (Sized, inner, own_symbols, str(name))

    def held() -> Held | None:
        path = hold() if hold is not None else None
        return None if path is None else path.replaced(place, sizes)

    def stated() -> Stated | None:
        of = state() if state is not None else None
        if of is None:
            return None
        # A symbol that the expression lost must not meet a common symbol of the same name.
        fresh = {x: named_dummy(x.name, x.shape, x.dtype) for x in of.operands if x not in place}
        return of.replaced({**fresh, **place}, {})

    def made() -> Sized:
        return Sized(
            inner, own_symbols, name, held if hold else None, stated if state is not None else None
        )

    return intern_op(key, made)


def sized(
    inner: Expr,
    own: Length,
    operands: Mapping[Expr, Expr],
    count: Expr,
    hold: Callable[[], Held | None] | None = None,
    state: Callable[[], Stated | None] | None = None,
) -> Expr:
    """``inner`` with operands by symbol, and with the value of ``count`` for the length ``own``.

    ``hold`` returns the same expression for larger lengths, over the same symbols.  ``state``
    returns a formula for texts.
    """
    if is_zero(inner):
        return full(count.shape + inner.shape, 0)
    # A simplification may have removed symbols: their operands are not needed.
    there = set(topological([inner]))
    used = [x for x in operands if x in there]
    return opaque(sized_op(inner, used, own, hold, state), count, *[operands[x] for x in used])


class SizedRule(JointStatement):
    """Differentiate the inner expression; the derivative has the same count."""

    __slots__ = ()

    @staticmethod
    def pushed(node: Expr, tangents: Mapping[int, Flow]) -> list[Flow]:
        """One node for the tangents of all operands, so that the loop runs once."""
        rule = SizedRule(node, 0)
        op, (count, *xs) = rule._op(), node.args
        axes = next(t.expr.shape[: t.expr.ndim - node.args[k].ndim] for k, t in tangents.items())
        lead, (inner, fresh) = len(axes), op.beside(axes)
        seeds, operands = {}, dict(zip(op.symbols, xs, strict=True))
        for k, t in tangents.items():
            x = op.symbols[k - 1]
            symbol = named_dummy("t", axes + x.shape)
            seeds[x] = Flow(symbol, DEEP if t.mark else NONE)
            operands[symbol] = exchanged(t.expr, lead, rule._count_axes(k))
        flow = pushforward(topological([inner]), [inner], seeds)[0]
        if flow is None:
            return []

        # The derivative of the form for batches is the form for batches of the derivative.
        def held() -> Held | None:
            of = op.held_with_length(fresh)
            if of is None:
                return None
            tangent = pushforward(topological([of.inner]), [of.inner], seeds)[0]
            return of.of(full(axes + inner.shape, 0) if tangent is None else tangent.expr)

        def stated() -> Stated | None:
            return None if op.stated is None else op.stated.pushed(seeds, axes + inner.shape)

        derivative = sized(flow.expr, fresh, operands, count, held, op.state and stated)
        marked = flow.mark or any(t.mark for t in tangents.values())
        return [Flow(exchanged(derivative, count.ndim, lead), DEEP if marked else NONE)]

    @staticmethod
    def pulled(node: Expr, g: Flow, places: Sequence[int]) -> Mapping[int, Flow]:
        """One node for the cotangents of all operands, so that the loop runs once."""
        rule = SizedRule(node, 0)
        op, (count, *xs) = rule._op(), node.args
        lead, symbols = g.expr.ndim - node.ndim, {k: op.symbols[k - 1] for k in places if k}
        inner, fresh = op.beside(g.expr.shape[:lead])
        seed = named_dummy("g", g.expr.shape[:lead] + inner.shape)
        seeds = [Flow(seed, DEEP if g.mark else NONE)]
        flows = pullback([inner], [*symbols.values()], seeds)
        pairs = zip(symbols, flows, strict=True)
        met = {k: flow for k, flow in pairs if flow is not None and not is_zero(flow.expr)}
        if not met:
            return {}
        shapes = [flow.expr.shape for flow in met.values()]
        mark = DEEP if g.mark or any(flow.mark for flow in met.values()) else NONE
        operands = dict(zip(op.symbols, xs, strict=True))
        operands[seed] = exchanged(g.expr, lead, count.ndim)

        def held() -> Held | None:
            of = op.held_with_length(fresh)
            if of is None:
                return None
            # One array for all operands, with zeros where the larger form has no cotangent.
            flows = pullback([of.inner], [symbols[k] for k in met], seeds)
            pairs = zip(flows, shapes, strict=True)
            return of.of(packed([full(shape, 0) if x is None else x.expr for x, shape in pairs]))

        def stated() -> Stated | None:
            of = [symbols[k] for k in met]
            return None if op.stated is None else op.stated.pulled(of, shapes, seeds)

        cotangents = packed([flow.expr for flow in met.values()])
        path = sized(cotangents, fresh, operands, count, held, op.state and stated)
        parts = zip(met, unpacked(path, shapes), strict=True)
        return {k: Flow(rule._sum_to_operand(k, part, lead), mark) for k, part in parts}

    def _sum_to_operand(self, k: int, path: Expr, lead: int) -> Expr:
        """The cotangent of an operand, after ``lead`` axes, from one cotangent for each count."""
        ndim = self.node.args[0].ndim
        if ndim and not self._count_axes(k):  # common to all counts: sum over them
            word = tuple(range(path.ndim))
            return contract([(path, word)], word[ndim:])
        return exchanged(path, ndim, lead)

    def _op(self) -> Sized:
        op = self.node.op
        assert isinstance(op, Sized)
        return op

    def _count_axes(self, k: int) -> int:
        """The number of the count's axes that an operand has."""
        return self.node.args[k].ndim - self._op().symbols[k - 1].ndim


# Batches and kinks --------------------------------------------------------------------------------


def _batch_sized(node: Expr, args: list[tuple[Expr, bool]], length: Dim) -> Expr:
    """Run the expression once for each element of a batch, each with its own length."""
    op, axes = node.op, node.args[0].ndim
    assert isinstance(op, Sized)
    # Together if possible: one vectorised loop is faster than many loops.
    if not axes:
        with suppress(Unsupported):  # custom functions run singly
            joint = _batch_jointly(op, args, length)
            if joint is not None:
                return joint
    count = led(*args[0], length)
    return opaque(op, count, *add_batch_axes(node, op.symbols, args[1:], length, axes, 1))


def _batch_jointly(op: Sized, args: list[tuple[Expr, bool]], length: Dim) -> Expr | None:
    """One value for a whole batch at its largest count; None without a form for batches."""
    (count, many), (inner, new_length) = args[0], op.beside((length,))
    of = op.held_with_length(new_length)
    wide: dict[Expr, Expr] = {}
    operands: dict[Expr, Expr] = {}
    for x, (value, has) in zip(op.symbols, args[1:], strict=True):
        symbol = named_dummy(x.name, value.shape, x.dtype) if has else x
        operands[symbol] = value
        wide.update({x: symbol} if has else {})
    # One count for all: only operands get the axis, and so does the form for batches.
    if not many:

        def held() -> Held | None:
            if of is None:
                return None
            fresh = {
                x: named_dummy(x.name, (length, *x.shape), x.dtype)
                for x, source in of.others.items()
                if source in wide and source is not x
            }
            symbols = {**wide, **fresh}
            (inner,) = batched([of.inner], symbols, length)
            stand_ins = {symbols.get(x, x): symbols.get(y, y) for x, y in of.others.items()}
            return Held(inner, of.steps, stand_ins)

        return sized(batched([inner], wide, length)[0], new_length, operands, count, held)
    if of is None:
        return None
    # The additional 0 gives an empty batch a largest count.
    none = full((1,), 0)
    counts = concat([count, none])
    longest = argmax(counts)
    same: dict[Expr, Expr] = {}
    stand_ins: dict[Expr, Expr] = {}
    for x, source in of.others.items():
        if x is not source and source not in wide:  # common to all loops
            same[x] = source
            continue
        stand_ins[x] = x
        if source not in wide:
            continue
        # Loops without steps run the body at the operands of the longest loop, which are valid.
        value = operands.pop(wide.pop(x)) if x is source else operands[wide[source]]
        rows = concat([value, full((1, *value.shape[1:]), 0)])
        operands[x] = detach(take(rows, longest, axis=0))
    if of.steps is not None:
        wide[of.steps] = named_dummy("counts", (length,), int)
        operands[wide[of.steps]] = count
    (inner,) = batched(replaced([of.inner], same), wide, length)
    return sized(
        inner, new_length, operands, greatest(counts), lambda: Held(inner, None, stand_ins)
    )


def add_batch_axes(
    node: Expr,
    symbols: Sequence[Expr],
    args: Sequence[tuple[Expr, bool]],
    length: Dim,
    axes: int,
    first: int,
) -> list[Expr]:
    """Operands with the new axis in front of the batch axes.

    An operand without any of these axes stays as it is, unless it is the carry (``first`` == 0).
    """
    batch = node.args[0].shape[:axes]
    wide = []
    for k, (symbol, (x, has)) in enumerate(zip(symbols, args, strict=True)):
        leading = node.args[k + first].ndim - symbol.ndim
        if has and axes > leading:  # repeat it along the batch axes
            word = tuple(range(1 + axes, x.ndim + axes))
            lengths = dict(enumerate((length, *batch)))
            x = contract([(x, (0, *word))], (*range(1 + axes), *word), lengths)
        elif not has and (leading or (first == 0 and k == 0)):
            x = led(x, False, length)
        wide.append(x)
    return wide


def _kinks(node: Expr) -> list[Kink]:
    """The kinks that derivatives inside meet: whether a step hits one, and the operand there."""
    op = node.op
    assert isinstance(op, Sized)
    count, *xs = node.args
    operands = dict(zip(op.symbols, xs, strict=True))
    result = []
    for kink in kinks_in([op.inner]):
        shape = kink.hit.shape
        sized_axes = [k for k, dim in enumerate(shape) if op.own in _names_in(dim)]
        rest = [dim for k, dim in enumerate(shape) if k not in sized_axes]
        size = product([shape[k] for k in sized_axes])
        hit, operand = (
            reshape(moveaxis(x, sized_axes, range(len(sized_axes))), (size, *rest))
            for x in (as_numeric(kink.hit), kink.operand)
        )
        # The first hit along the sized axes selects the operand; sums hide the length.
        first = primitive("logical_and", hit > 0, cumsum(hit, axis=0) == 1)
        value = summed(where(first, operand, 0), axis=0)
        hits = sized(summed(hit, axis=0), op.own, operands, count)
        met = primitive("not_equal", hits, number_node(0))
        result.append(Kink(kink.name, sized(value, op.own, operands, count), met))
    return result


register(Sized, SizedRule)
batching.register(Sized, _batch_sized)
kinks.register(Sized, _kinks)
