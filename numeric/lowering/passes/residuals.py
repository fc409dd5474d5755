"""The choice of residuals: which values of the forward pass the backward pass is given."""

from __future__ import annotations

import math
from collections import deque
from fractions import Fraction
from typing import TYPE_CHECKING

from numeric.lowering import costs, kinds
from numeric.lowering.passes.rolling import LEAST
from numeric.lowering.schedule import schedule
from symdiff.graph import ops
from symdiff.graph.algebra import PRIMITIVES
from symdiff.scalars.vocabulary import FACTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numeric.lowering.steps import Schedule, Step
    from symdiff.graph.expr import Expr

# Recomputed rather than kept: they cost about as much as reading a kept value.
_CHEAP = frozenset(op for name, op in PRIMITIVES.items() if FACTS[name].cheap)
_PLAIN = kinds.Sum, kinds.Product, kinds.Quotient, kinds.Monomial, kinds.Strong, kinds.PartOfSlice
# So many cheap values in a row are recomputed; after that, one is kept.
_RUN = 3
# Above so many candidates the cut is found greedily, in linear time.
_CANDIDATES = 1500


def cheap(step: Step) -> bool:
    """Whether values may be computed twice: arithmetic, selections and views are."""
    match step.kind:
        case kinds.Power(exponent):
            return exponent in (2, Fraction(1, 2))
        case kinds.Pointwise():
            return step.op in _CHEAP
        case kinds.ByKernel():
            if isinstance(step.op, ops.Contract):
                return len(step.op.letters) <= 1 and not step.op.sums
            return isinstance(step.op, ops.Reshape | ops.Slice | ops.Flip)
    return isinstance(step.kind, _PLAIN)


def residuals(
    outputs: Sequence[Expr],
    gradients: Sequence[Expr],
    inputs: Sequence[Expr],
    seeds: Sequence[Expr],
) -> tuple[Expr, ...]:
    """The forward values that the program of ``gradients`` is given, in the order of computation.

    As expressions, see ``kept``; a program of outputs and gradients together is cut in two.
    """
    joint = schedule([*outputs, *gradients], [*inputs, *seeds])
    return tuple([joint.origins[v] for v in kept(joint, len(outputs), len(inputs))])


def kept(joint: Schedule, outputs: int, inputs: int) -> tuple[int, ...]:
    """The values of a forward pass that the backward pass is given, of the schedule of both.

    The first so many ``outputs`` among the results, and ``inputs`` among the parameters, are those
    of the forward pass.

    Candidates are inputs, what the outputs need anyway, and what is computed together with that:
    all results of a decomposition of which they need one.  The values that gradients use must all
    follow from the kept ones, by cheap steps only and at most a few of them in a row.  Among such
    choices the one of fewest bytes is taken: a minimal cut, the one nearest to the gradients if
    there are several, because it recomputes least.  (tan(x@w) keeps its value, x and w, but not
    x@w, nor 1 + tan².)  An input or an output counts twice, as it has to be copied.
    """
    steps = joint.definitions()
    ys, xbars = joint.results[:outputs], joint.results[outputs:]
    own, seeds = joint.params[:inputs], frozenset(joint.params[inputs:])
    forward = _reach(steps, ys) | set(own)
    forward.update([v for x in list(forward) for v in steps[x].results])
    targets = _frontier(steps, xbars, forward, seeds)
    few = len(targets) < LEAST and all(not steps[v].layout(v)[0] for v in targets)
    found = set(targets) if few else _cut(joint, steps, targets, frozenset((*own, *ys)))
    return tuple([v for v in (*own, *joint.computed()) if v in found])


def _reach(steps: Sequence[Step], wanted: Iterable[int]) -> set[int]:
    """Every value that those ``wanted`` need."""
    stack = list(wanted)
    seen = set(stack)
    while stack:
        for x in steps[stack.pop()].operands:
            if x not in seen:
                seen.add(x)
                stack.append(x)
    return seen


def _frontier(
    steps: Sequence[Step], xbars: Sequence[int], forward: set[int], seeds: frozenset[int]
) -> list[int]:
    """The forward values that values of the gradient program use directly."""
    stack = list(xbars)
    seen = set(stack)
    targets = []
    while stack:
        v = stack.pop()
        if v in forward:
            if not steps[v].free:
                targets.append(v)
            continue
        for x in steps[v].operands:
            if x not in seen and x not in seeds:
                seen.add(x)
                stack.append(x)
    return targets


def _cut(
    joint: Schedule, steps: Sequence[Step], targets: Sequence[int], copied: frozenset[int]
) -> set[int]:
    """The cheapest set of values from which ``targets`` follow by cheap steps."""
    needed = _reach(steps, targets)
    run: dict[int, int] = {}
    network: dict[int, tuple[int, ...]] = {}  # recomputable values and what they need
    for v in joint.computed():
        if v in needed:
            operands = tuple([x for x in steps[v].operands if not steps[x].free])
            run[v] = 1 + max((run.get(x, 0) for x in operands), default=0)
            if cheap(steps[v]) and run[v] <= _RUN:
                network[v] = operands
            else:
                run[v] = 0
    stack = list(targets)
    candidates = dict.fromkeys(stack)
    while stack:
        for x in network.get(stack.pop(), ()):
            if x not in candidates:
                candidates[x] = None
                stack.append(x)
    sizes = {v: costs.size_in_bytes(*steps[v].layout(v)) for v in candidates}
    weights = {v: size * (2 if v in copied else 1) for v, size in sizes.items()}
    if len(candidates) <= _CANDIDATES:
        return _minimal_cut(list(candidates), weights, network, targets)
    sources = {v for v in candidates if v not in network}
    choices = [_greedy(joint, targets, network, first) for first in ({*targets} & sources, sources)]
    return min(choices, key=lambda found: sum([weights[v] for v in found]))


def _greedy(
    joint: Schedule,
    targets: Sequence[int],
    network: dict[int, tuple[int, ...]],
    first: set[int],
) -> set[int]:
    """Beside the ``first`` ones, the targets that do not follow from what is kept anyway."""
    wanted = set(targets)
    kept, follows = set(first), set(first)
    for v in joint.computed():
        if v in network and all(x in follows for x in network[v]):
            follows.add(v)
        elif v in wanted:
            kept.add(v)
            follows.add(v)
    return kept


def _minimal_cut(
    values: Sequence[int],
    weights: dict[int, int],
    network: dict[int, tuple[int, ...]],
    targets: Iterable[int],
) -> set[int]:
    """Ford and Fulkerson's minimal vertex cut, by shortest augmenting paths; nearest to the sink.

    Vertex v is an edge from 2i to 2i+1 of capacity ``weights[v]``; all others are unbounded.
    """
    place = {v: i for i, v in enumerate(values)}
    source, sink = 2 * len(values), 2 * len(values) + 1
    capacity: list[dict[int, float]] = [{} for _ in range(sink + 1)]

    def edge(a: int, b: int, c: float) -> None:
        capacity[a][b] = capacity[a].get(b, 0) + c
        capacity[b].setdefault(a, 0)

    for v, i in place.items():
        edge(2 * i, 2 * i + 1, weights[v])
        if v in network:
            for x in network[v]:
                edge(2 * place[x] + 1, 2 * i, math.inf)
        else:
            edge(source, 2 * i, math.inf)
    for v in targets:
        edge(2 * place[v] + 1, sink, math.inf)
    while path := _augmenting(capacity, source, sink):
        amount = min(capacity[a][b] for a, b in path)
        for a, b in path:
            capacity[a][b] -= amount
            capacity[b][a] += amount
    near = {sink}
    queue = deque(near)
    while queue:
        b = queue.popleft()
        for a in capacity[b]:
            if a not in near and capacity[a][b] > 0:
                near.add(a)
                queue.append(a)
    return {v for v, i in place.items() if 2 * i not in near and 2 * i + 1 in near}


def _augmenting(
    capacity: list[dict[int, float]], source: int, sink: int
) -> list[tuple[int, int]] | None:
    """A shortest path with capacity left, as edges; None if there is none."""
    before = {source: source}
    queue = deque([source])
    while queue:
        a = queue.popleft()
        for b, left in capacity[a].items():
            if left > 0 and b not in before:
                before[b] = a
                if b == sink:
                    path = [(a, b)]
                    while a != source:
                        path.append((before[a], a))
                        a = before[a]
                    return path
                queue.append(b)
    return None
