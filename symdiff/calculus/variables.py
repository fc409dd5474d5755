"""The inputs of derivatives: symbols, their components, and nodes that act as a symbol.

The value of an unknown function, and each of its derivatives, always acts as a symbol.

A component is an element or a basic slice of a symbol, in any form that rearranges without
repeating (``q[1:][0]``, ``A.T[0, 1]``).  The derivative by a component is the symbol's derivative
at its position.  Cotangents are cut to the position as they arrive.  Tangents start as zeros with
the given tangent inside.  So no symbol is substituted, and varying elements meet no others.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from symdiff.calculus.flows import DEEP, HOISTED, NONE, Flow, gathered
from symdiff.calculus.real_values import derived
from symdiff.calculus.rules import arrivals, batch_letters, dependents, pushforward
from symdiff.graph import ops
from symdiff.graph.algebra import blocks, linear, scale, total
from symdiff.graph.contraction import contract
from symdiff.graph.leaves import is_zero
from symdiff.graph.node import topological
from symdiff.graph.ranges import disjoint
from symdiff.graph.visible_zeros import parts, together

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from symdiff.graph.expr import Expr
    from symdiff.graph.node import Shape


class Component(NamedTuple):
    """The symbol ``root`` and the nodes of ``chain``, each an op on the one before."""

    root: Expr
    chain: tuple[Expr, ...]

    def view(self, x: Expr, start: int = 0) -> Expr:
        """The component's part of x, which has the symbol's shape after any batch axes.

        The first ``start`` nodes of the chain are already applied.
        """
        for node in self.chain[start:]:
            op = node.op
            if isinstance(op, ops.Contract):
                batch = batch_letters(op, x.ndim - node.args[0].ndim)
                created = [k for k in op.out if k not in op.letters[0]]
                sizes = dict(zip(created, op.created, strict=True))
                x = contract([(x, batch + op.letters[0])], batch + op.out, sizes)
            else:
                assert isinstance(op, ops.Linear)
                x = linear(op, x)
        return x

    def scatter(self, t: Expr, stop: int = 0) -> Expr:
        """Zeros of the symbol's shape with t at the component's position: the transpose of view.

        Leave out the first ``stop`` nodes of the chain.
        """
        for node in reversed(self.chain[stop:]):
            op = node.op
            if isinstance(op, ops.Contract):
                batch = batch_letters(op, t.ndim - node.ndim)
                sizes = dict(zip(op.letters[0], node.args[0].shape, strict=True))
                t = contract([(t, batch + op.out)], batch + op.letters[0], sizes)
            else:
                assert isinstance(op, ops.Linear)
                t = linear(op.transposed(0, node.shape), t)
        return t


def component(x: Expr) -> Component | None:
    """The symbol, and the path from it to x; None if x is not a component of a symbol."""
    way: list[Expr] = []
    while not isinstance(x.op, ops.Symbol):
        op = x.op
        if not isinstance(op, ops.Slice | ops.Flip) and not (
            isinstance(op, ops.Contract) and _rearranges(x)
        ):
            return None
        way.append(x)
        (x,) = x.args
    return Component(x, tuple(reversed(way)))


def _rearranges(x: Expr) -> bool:
    """Whether a contraction only permutes axes, and adds or drops axes of length 1 (or adds 0)."""
    op = x.op
    assert isinstance(op, ops.Contract)
    if len(op.letters) != 1 or op.kills[0]:
        return False
    (word,) = op.letters
    return (
        len(set(word)) == len(word)
        and len(set(op.out)) == len(op.out)
        and all(n == 1 for k, n in zip(word, x.args[0].shape, strict=True) if k not in op.out)
        and all(n in (0, 1) for n in op.created)
    )


# Nodes that act as a symbol -------------------------------------------------------------------


def check(name: str, outputs: Sequence[Expr], inputs: Iterable[Expr]) -> None:
    """Raise ValueError for a node that cannot act as a symbol of the graph.

    The node must contain a symbol.  It must lie on every path from each of its symbols to an
    output, as far as the path passes derivatives on.  Values of unknown functions always act as
    symbols.
    """
    inside: set[Expr] | None = None
    for x in inputs:
        if _is_independent(x):
            continue
        if not symbols_of(x):
            raise _not_a_variable(name, x, "contains no symbol")
        if inside is None:
            inside = set(topological(outputs))
        if x not in inside:
            raise _not_a_variable(name, x, "is not a part of the differentiated expression")
    check_paths(name, outputs, inputs)


def _is_independent(x: Expr) -> bool:
    """Whether x is an input by itself: a symbol, a component, or a value of an unknown function.

    The equations of Euler and Lagrange differentiate by theta(t) and by theta'(t): each is a
    coordinate of its own, although both depend on t.
    """
    return isinstance(x.op, ops.Symbol | ops.Unknown) or component(x) is not None


def check_paths(name: str, outputs: Sequence[Expr], inputs: Iterable[Expr]) -> None:
    """Raise ValueError for a node if a path from one of its symbols avoids it."""
    for x in inputs:
        if _is_independent(x):
            continue
        # A detached node inside passes no derivative on, but outputs may depend on its symbols
        # elsewhere.
        stops = symbols_of(x) | {n for n in topological([x]) if n.op is ops.DETACH and n is not x}
        stack = [y for y in outputs if y is not x]
        seen = set(stack)
        while stack:
            node = stack.pop()
            if node in stops:
                raise _not_a_variable(name, x, f"is not all that depends on {node!r}")
            if node.op is ops.DETACH or node.dtype is not float:
                continue
            for arg in node.args:
                if arg is not x and arg not in seen:
                    seen.add(arg)
                    stack.append(arg)


def symbols_of(x: Expr) -> set[Expr]:
    """The symbols that x contains."""
    return {node for node in topological([x]) if isinstance(node.op, ops.Symbol)}


def _not_a_variable(name: str, x: Expr, why: str) -> ValueError:
    return ValueError(
        f"{name}: cannot differentiate by {x!r}, which {why}; put a symbol in its place, "
        "then substitute"
    )


# Derivatives --------------------------------------------------------------------------------------


def pulled(
    outputs: Sequence[Expr], inputs: Sequence[Expr], seeds: Sequence[Flow]
) -> list[Expr | None]:
    """The cotangents of ``inputs``, like ``rules.pullback`` for nodes."""
    components_of = [component(x) for x in inputs]
    roots = [x if c is None else c.root for c, x in zip(components_of, inputs, strict=True)]
    components = [c for c in components_of if c is not None]
    order = topological(outputs)
    arrived = arrivals(order, outputs, roots, seeds, closed_to(order, components))
    splits: dict[Expr, _Arrived] = {}
    results: list[Expr | None] = []
    for c, root in zip(components_of, roots, strict=True):
        flows = arrived.get(root)
        if flows is None:
            results.append(None)
        elif c is None or not c.chain:
            results.append(gathered(flows).expr)
        else:
            if root not in splits:
                splits[root] = _Arrived(root, flows)
            results.append(splits[root].share(c))
    return derived(order, [seed.expr for seed in seeds], results)


class _Slices:
    """Slices of one symbol, with a search for those that may share elements."""

    def __init__(self, root: Expr, slices: Iterable[ops.Slice]) -> None:
        self.shape = root.shape
        self.all = dict.fromkeys(slices)
        self.wide: list[ops.Slice] = []
        # slices in one of these lists share no elements
        self.single: dict[Shape, list[ops.Slice]] = {}
        for op in self.all:
            (self.single.setdefault(op.before, []) if _is_single(op) else self.wide).append(op)

    def near(self, op: ops.Slice) -> Iterator[ops.Slice]:
        """The other slices that may share an element with this one."""
        before_single = op.before if _is_single(op) else None
        rest = [cuts for before, cuts in self.single.items() if before != before_single]
        for other in chain(self.wide, *rest):
            if other is not op and not self._are_disjoint(op, other):
                yield other

    def _are_disjoint(self, a: ops.Slice, b: ops.Slice) -> bool:
        return bool(disjoint(blocks(a, self.shape), blocks(b, self.shape), self.shape))


def _is_single(op: ops.Slice) -> bool:
    """Whether it takes one position on each axis that it cuts, and all lengths are numbers."""
    return all(n == 1 for n in op.after) and all(isinstance(n, int) for n in op.before)


class _Arrived:
    """The flows that arrived at a symbol: the parts by their position, and the other flows."""

    def __init__(self, root: Expr, flows: Sequence[Flow]) -> None:
        self.parts: dict[ops.Slice, list[Expr]] = {}
        self.others: list[Expr] = []
        for flow in flows:
            pieces = parts(flow.expr)
            if any(len(p.op.before) > root.ndim for p in pieces):
                pieces = []  # the parts also cut the batch
            for p in pieces:
                cut = p.op.transposed(0, p.op.before)
                assert isinstance(cut, ops.Slice)
                self.parts.setdefault(cut, []).append(scale(p.coefficient, p.inner))
            if not pieces:
                self.others.append(flow.expr)
        self.slices = _Slices(root, self.parts)

    def share(self, c: Component) -> Expr | None:
        """The sum of the flows at the component's position."""
        terms = [c.view(x) for x in self.others]
        first = c.chain[0].op
        if isinstance(first, ops.Slice):
            terms += [c.view(x, 1) for x in self.parts.get(first, ())]
            candidates: Iterable[ops.Slice] = self.slices.near(first)
        else:
            candidates = self.parts
        for op in candidates:
            terms += [c.view(linear(op.transposed(0, op.after), x)) for x in self.parts[op]]
        terms = [x for x in terms if not is_zero(x)]
        return total(terms) if terms else None


def _slices_by_symbol(components: Iterable[Component]) -> dict[Expr, _Slices | None]:
    """The requested slices of each symbol; None if the full symbol is requested."""
    slices_of: dict[Expr, list[ops.Slice] | None] = {}
    for c in components:
        op = c.chain[0].op if c.chain else None
        asked = slices_of.setdefault(c.root, [])
        if not isinstance(op, ops.Slice):
            slices_of[c.root] = None
        elif asked is not None:
            asked.append(op)
    return {root: None if cuts is None else _Slices(root, cuts) for root, cuts in slices_of.items()}


def closed_to(order: Iterable[Expr], components: Iterable[Component]) -> set[Expr]:
    """The slices of symbols in ``order`` that share no element with any component."""
    asked = {root: cuts for root, cuts in _slices_by_symbol(components).items() if cuts is not None}
    if not asked:
        return set()
    return {
        node
        for node in order
        if isinstance(node.op, ops.Slice)
        and node.args[0] in asked
        and node.op not in asked[node.args[0]].all
        and not any(True for _ in asked[node.args[0]].near(node.op))
    }


def between(order: Sequence[Expr], inputs: Iterable[Expr]) -> list[Expr]:
    """The nodes in ``order`` on paths from the inputs; a component's paths begin at its symbol."""
    pairs = [(x, component(x)) for x in inputs]
    return dependents(order, [x if c is None else c.root for x, c in pairs])


def pushed(
    outputs: Sequence[Expr], inputs: Sequence[Expr], tangents: Sequence[Expr]
) -> list[Flow | None]:
    """The tangents of ``outputs``, like ``rules.pushforward`` for nodes."""
    seeds: dict[Expr, Flow] = {}
    spread: dict[Expr, list[Expr]] = {}
    components = []
    for x, t in zip(inputs, tangents, strict=True):
        c = component(x)
        if c is None or not c.chain:
            seeds[x] = Flow(t, NONE)
            continue
        components.append(c)
        spread.setdefault(c.root, []).append(c.scatter(t))
        if isinstance(c.chain[0].op, ops.Slice):
            seeds[c.chain[0]] = Flow(c.scatter(t, 1), NONE)
    for root, ts in spread.items():
        joined = together(ts)
        if joined is not None:
            seeds[root] = Flow(joined, HOISTED if parts(joined) else DEEP)
        else:
            seeds[root] = Flow(total(ts), DEEP if len(ts) > 1 else NONE)
    order = topological(outputs)
    flows = pushforward(order, outputs, seeds, closed_to(order, components))
    real = derived(order, tangents, [None if f is None else f.expr for f in flows])
    return [
        f if f is None or y is None else Flow(y, f.mark) for f, y in zip(flows, real, strict=True)
    ]


def check_apart(name: str, inputs: Sequence[Expr]) -> None:
    """Raise ValueError where two inputs may share an element: their tangents could disagree."""
    if all(isinstance(x.op, ops.Symbol) for x in inputs) and len(set(inputs)) == len(inputs):
        return
    pairs = [(x, component(x)) for x in inputs]
    asked = _slices_by_symbol(c for _, c in pairs if c is not None)
    used: dict[object, Expr] = {}  # the key: a symbol, a slice of a symbol, or the node itself
    for x, c in pairs:
        cuts = None if c is None else asked[c.root]
        key: object = x
        if c is not None:
            key = c.root if cuts is None else (c.root, c.chain[0].op)
        if key in used:
            raise _overlap(name, x, used[key])
        used[key] = x
        if cuts is not None and c is not None:
            overlapping = next(cuts.near(c.chain[0].op), None)  # type: ignore[arg-type]
            if overlapping is not None:
                raise _overlap(
                    name,
                    x,
                    next(
                        y
                        for y, d in pairs
                        if d is not None and d.root is c.root and d.chain[0].op is overlapping
                    ),
                )
    for x, c in pairs:
        if c is None:
            inner = set(topological([x])) - {x}
            for y, d in pairs:
                if (y if d is None else d.root) in inner:
                    raise _overlap(name, x, y)


def _overlap(name: str, x: Expr, other: Expr) -> ValueError:
    return ValueError(
        f"{name}: {x!r} and {other!r} may share an element, of which their tangents would say two "
        "things; name each element once"
    )
