"""From a DAG to a list of steps: what is computed, and in which order."""

from __future__ import annotations

import math
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.lowering import kinds
from numeric.lowering.kernels.monomials import in_turn
from numeric.lowering.kernels.pseudoinverse import spelled
from numeric.lowering.node_kernels import kernel
from numeric.lowering.spellings import Spelling, behind, computed, numbers, spelling
from numeric.lowering.steps import Schedule, Step
from symdiff import opaque_ops
from symdiff.contexts import contained
from symdiff.graph import ops
from symdiff.graph.node import make, topological

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from symdiff.graph.expr import Expr
    from symdiff.graph.node import Dtype, Op, Shape


def schedule(
    outputs: Iterable[Expr],
    params: Iterable[Expr],
    spellings: dict[Expr, Spelling] | None = None,
) -> Schedule:
    """The steps that ``outputs`` need, operands before users, from the values of ``params``.

    Barriers are gone, decisions are their formulas, powers are spelled (see ``spellings``), values
    over numbers alone are evaluated here, once, and parts of one computation are one step.
    ``spellings`` are those of other programs of symbols, which are read and added to.
    """
    found = _Walk(outputs, params, spellings)
    together = computations(found.order)
    number: dict[Expr, int] = {}
    origins: list[Expr] = []
    shared: dict[tuple[object, ...], Any] = {}
    one = shared.setdefault
    steps: list[Step] = []

    def add(how: Spelling, nodes: Sequence[Expr], weak: bool = False) -> None:
        operands = tuple([number[x] for x in how.operands])
        first = len(origins)
        results: tuple[int, ...]
        ops: tuple[Op, ...]
        shapes: tuple[Shape, ...]
        dtypes: tuple[Dtype, ...]
        if len(nodes) == 1:  # as nearly all
            (x,) = nodes
            results, ops, shapes, dtypes = (first,), (x.op,), (x.shape,), (x.dtype,)
            number[x] = first
            origins.append(x)
        else:
            results = tuple(range(first, first + len(nodes)))
            number.update(zip(nodes, results, strict=True))
            origins.extend(nodes)
            ops = tuple([x.op for x in nodes])
            shapes = tuple([x.shape for x in nodes])
            dtypes = tuple([x.dtype for x in nodes])
        # Equal tuples are one: a collector of garbage that has less to look at comes less often.
        ops, shapes, dtypes = one(ops, ops), one(shapes, shapes), one(dtypes, dtypes)
        steps.append(Step(how.kind, operands, results, ops, shapes, dtypes, weak))

    def leaf(x: Expr) -> None:
        if x in found.literals:
            add(Spelling(kinds.Number(found.literals[x])), (x,), True)
        elif isinstance(x.op, ops.Size):
            add(Spelling(kinds.Size(x.op.name)), (x,), True)
        else:
            add(Spelling(kinds.Array()), (x,))

    for x in found.params:
        add(_INPUT, (x,))
    for node in found.order:
        if node not in number:  # else with another result of its computation
            how = found.spellings[node]
            for x in how.operands:
                if x not in number:
                    leaf(x)
            add(how, together.get(node, (node,)), node in found.static)
    for y in found.outputs:
        if y not in number:
            leaf(y)
    results = tuple([number[y] for y in found.outputs])
    places = tuple(range(len(found.params)))
    return Schedule(places, tuple(steps), results, tuple(origins), len(origins))


_INPUT = Spelling(kinds.Input())


def computations(nodes: Iterable[Expr]) -> dict[Expr, tuple[Expr, ...]]:
    """Each node that is one of several results, and with which of ``nodes`` it is computed.

    Those are results of one op on the same operands, itself included, in the order of the results.

    >>> import symdiff as sd
    >>> values, vectors = sd.eigh(sd.symbol("A", (2, 2)))
    >>> computations([vectors, sd.sum(values), values])[values] == (values, vectors)
    True
    """
    found: dict[tuple[object, ...], list[tuple[int, Expr]]] = {}
    for node in nodes:
        if isinstance(node.op, ops.Part):
            key = (node.op.whole, *[behind(x) for x in node.args])
            found.setdefault(key, []).append((node.op.part, node))
    groups = [tuple([x for _, x in sorted(g, key=itemgetter(0))]) for g in found.values()]
    return {node: group for group in groups for node in group}


class _Walk:
    """The nodes that ``outputs`` need, spelled; from values that are known, ``params``.

    ``order`` has the nodes to compute, operands before users; ``literals`` are the values over
    numbers alone; ``static`` are the values over numbers and axis lengths.  Both are weak numbers,
    which stand for an array of their node's shape (see ``node_kernels``).  ``outputs`` are the
    nodes asked for, as they are spelled.
    """

    def __init__(
        self,
        outputs: Iterable[Expr],
        params: Iterable[Expr],
        spellings: dict[Expr, Spelling] | None = None,
    ) -> None:
        self.params = tuple(params)
        self.known = frozenset(self.params)
        self.order: list[Expr] = []
        self.spellings: dict[Expr, Spelling] = {}
        self.literals: dict[Expr, float] = {}
        self.static: set[Expr] = set()
        self._spelled: dict[Expr, Expr] = {}
        # What is weak depends on what is known, unless that is symbols.
        of_symbols = all(isinstance(x.op, ops.Symbol) for x in self.params)
        self._shared = spellings if spellings is not None and of_symbols else {}
        outputs = list(outputs)
        nodes = topological(outputs)
        self._weak = numbers(nodes, self.known)
        self._spells = any(x.op.__class__ is opaque_ops.Pinv for x in nodes)
        self.outputs = tuple(self._visible(behind(y)) for y in outputs)
        self._walk()

    def _visible(self, x: Expr) -> Expr:
        """A pseudoinverse as it is computed; any other node is itself."""
        if not isinstance(x.op, opaque_ops.Pinv) or x in self.known:
            return x
        found = self._spelled.get(x)
        if found is None:
            found = self._spelled[x] = spelled(x)
            if found is not x:
                self._weak |= numbers(topological([found]), self.known)
        return found

    def _walk(self) -> None:
        # The stack gives the last one first: reversed, steps stand in the order of the formula.
        stack = [*reversed(self.outputs)]
        placed: set[Expr] = set()
        spellings, shared, weak = self.spellings, self._shared, self._weak
        while stack:
            node = stack[-1]
            if node not in spellings:
                how = _INPUT if node in self.known else shared.get(node)
                if how is None:
                    how = shared[node] = spelling(node, weak)
                if self._spells:
                    how = how._replace(operands=tuple([self._visible(x) for x in how.operands]))
                    weak = self._weak
                spellings[node] = how
                stack += [x for x in reversed(how.operands) if x not in placed]
            else:
                stack.pop()
                if node not in placed:
                    placed.add(node)
                    self._place(node, spellings[node])

    def _place(self, node: Expr, how: Spelling) -> None:
        kind = how.kind
        if kind.leaf:
            if isinstance(kind, kinds.Number):
                self.literals[node] = kind.value
            elif isinstance(kind, kinds.Size):
                self.static.add(node)
        else:
            # Of numbers a kernel makes an array, which is not a weak number, unless it spreads its
            # operand.
            if kind.elementwise or ops.is_spread(node.op):
                literals, static = self.literals, self.static
                others = [x for x in how.operands if x not in literals]
                if not others:
                    literals[node] = _folded(node, how, literals)
                    return
                if static and static.issuperset(others):
                    static.add(node)
            self.order.append(node)


@contained
def _folded(node: Expr, how: Spelling, literals: dict[Expr, int | float]) -> int | float:
    values = [literals[x] for x in how.operands]
    # It spreads its operand, and a weak number stands for an array of any shape.
    if isinstance(how.kind, kinds.ByKernel):
        return values[0]
    if isinstance(how.kind, kinds.Product):
        return quotient(values, how.kind.signs)
    if isinstance(how.kind, kinds.Quotient):
        return quotient(values[: len(how.kind.signs)], how.kind.signs)
    assert not isinstance(
        how.kind, kinds.Monomial | kinds.Shifted
    )  # these are never of numbers alone
    with np.errstate(all="ignore"):
        # Weak operands make a weak value.
        op = computed(how.kind, node.op)
        if op is not node.op:
            node = make(op, how.operands, node.shape, node.dtype)
        return kernel(node)(values, {})  # type: ignore[return-value]


@contained
def quotient(values: Sequence[float], signs: Sequence[int]) -> int | float:
    """The product of weak numbers to the powers ``signs``, +1 or -1; IEEE where they are zero."""
    over = math.prod(v for v, sign in zip(values, signs, strict=True) if sign > 0)
    under = math.prod(v for v, sign in zip(values, signs, strict=True) if sign < 0)
    if min(signs) > 0:
        return over
    # One after the other, as programs do it: this overflows where they would.
    if under and signs[0] > 0:
        return in_turn(values, signs)  # type: ignore[no-any-return]
    if under:
        return over / under
    # Division by 0, for which Python raises and arrays have inf and nan.
    with np.errstate(all="ignore"):
        return (np.float64(over) / np.float64(under)).item()
