"""The choice of residuals: which values of the forward pass the backward pass is given."""

from __future__ import annotations

import math
from collections import deque
from fractions import Fraction
from typing import TYPE_CHECKING

from numeric.lowering.schedule import Schedule
from numeric.lowering.spellings import Spelling
from symdiff import ops
from symdiff.algebra import PRIMITIVES
from symdiff.vocabulary import FACTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from symdiff.expr import Expr

# Recomputed rather than kept: they cost about as much as reading a kept value.
_CHEAP = frozenset(op for name, op in PRIMITIVES.items() if FACTS[name].cheap)
# So many cheap values in a row are recomputed; after that, one is kept.
_RUN = 3
# Above so many candidates the cut is found greedily, in linear time.
_CANDIDATES = 1500
_NOMINAL = 64  # the length that a symbolic axis counts for


def cheap(node: Expr, how: Spelling) -> bool:
    """Whether ``node`` may be computed twice: arithmetic, selections and views are."""
    op = node.op
    match how.form:
        case "sum" | "product" | "quotient" | "monomial" | "strong":
            return True
        case "power":
            return isinstance(op, ops.Product) and abs(op.exponents[0]) in (2, Fraction(1, 2))
        case "pointwise":
            return op in _CHEAP
        case "kernel":
            if isinstance(op, ops.Contract):
                return len(op.letters) <= 1 and not op.sums
            return isinstance(op, ops.Reshape | ops.Slice | ops.Flip)
    return False


def _bytes(node: Expr) -> int:
    lengths = (dim if isinstance(dim, int) else _NOMINAL for dim in node.shape)
    return max(math.prod(lengths), 1) * (1 if node.dtype is bool else 8)


def residuals(
    outputs: Sequence[Expr],
    gradients: Sequence[Expr],
    inputs: Sequence[Expr],
    seeds: Sequence[Expr],
) -> tuple[Expr, ...]:
    """The forward values that the program of ``gradients`` is given, in the order of computation.

    Candidates are inputs, what the outputs need anyway, and what is computed together with that:
    all results of a decomposition of which they need one.  The values that gradients use must all
    follow from the kept ones, by cheap steps only and at most a few of them in a row.  Among such
    choices the one of fewest bytes is taken: a minimal cut, the one nearest to the gradients if
    there are several, because it recomputes least.  (tan(x@w) keeps its value, x and w, but not
    x@w, nor 1 + tan².)  An input or an output counts twice, as it has to be copied.
    """
    joint = Schedule([*outputs, *gradients], [*inputs, *seeds])
    ys, xbars = joint.outputs[: len(outputs)], joint.outputs[len(outputs) :]
    forward = joint.reach(ys) | set(inputs)
    forward.update(*[group for x, group in joint.together.items() if x in forward])
    targets = _frontier(joint, xbars, forward, frozenset(seeds))
    scalar = all(not node.shape for node in targets)
    kept = set(targets) if scalar else _cut(joint, targets, frozenset((*inputs, *ys)))
    return tuple(x for x in (*inputs, *joint.order) if x in kept)


def _frontier(
    joint: Schedule, xbars: Sequence[Expr], forward: set[Expr], seeds: frozenset[Expr]
) -> list[Expr]:
    """The forward values that values of the gradient program use directly."""
    stack = list(xbars)
    seen = set(stack)
    targets = []
    while stack:
        node = stack.pop()
        if node in forward:
            if not joint.free(node):
                targets.append(node)
            continue
        for x in joint.spellings[node].operands:
            if x not in seen and x not in seeds:
                seen.add(x)
                stack.append(x)
    return targets


def _cut(joint: Schedule, targets: Sequence[Expr], copied: frozenset[Expr]) -> set[Expr]:
    """The cheapest set of values from which ``targets`` follow by cheap steps."""
    needed = joint.reach(targets)
    run: dict[Expr, int] = {}
    network: dict[Expr, tuple[Expr, ...]] = {}  # recomputable nodes and what they need
    for node in joint.order:
        if node in needed:
            operands = tuple(x for x in joint.spellings[node].operands if not joint.free(x))
            run[node] = 1 + max((run.get(x, 0) for x in operands), default=0)
            if cheap(node, joint.spellings[node]) and run[node] <= _RUN:
                network[node] = operands
            else:
                run[node] = 0
    stack = list(targets)
    candidates = dict.fromkeys(stack)
    while stack:
        for x in network.get(stack.pop(), ()):
            if x not in candidates:
                candidates[x] = None
                stack.append(x)
    if len(candidates) > _CANDIDATES:
        return _greedy(joint, targets, network)
    weights = {x: _bytes(x) * (2 if x in copied else 1) for x in candidates}
    return _minimal_cut(list(candidates), weights, network, targets)


def _greedy(
    joint: Schedule, targets: Sequence[Expr], network: dict[Expr, tuple[Expr, ...]]
) -> set[Expr]:
    """Recompute what follows from values that are kept anyway; keep the rest."""
    wanted = set(targets)
    kept = {x for x in targets if x not in network}
    follows = set(kept)
    for node in joint.order:
        if node in network and all(x in follows for x in network[node]):
            follows.add(node)
        elif node in wanted:
            kept.add(node)
            follows.add(node)
    return kept


def _minimal_cut(
    nodes: Sequence[Expr],
    weights: dict[Expr, int],
    network: dict[Expr, tuple[Expr, ...]],
    targets: Iterable[Expr],
) -> set[Expr]:
    """Ford and Fulkerson's minimal vertex cut, by shortest augmenting paths; nearest to the sink.

    Vertex v is an edge from 2i to 2i+1 of capacity ``weights[v]``; all others are unbounded.
    """
    place = {node: i for i, node in enumerate(nodes)}
    source, sink = 2 * len(nodes), 2 * len(nodes) + 1
    capacity: list[dict[int, float]] = [{} for _ in range(sink + 1)]

    def edge(a: int, b: int, c: float) -> None:
        capacity[a][b] = capacity[a].get(b, 0) + c
        capacity[b].setdefault(a, 0)

    for node, i in place.items():
        edge(2 * i, 2 * i + 1, weights[node])
        if node in network:
            for x in network[node]:
                edge(2 * place[x] + 1, 2 * i, math.inf)
        else:
            edge(source, 2 * i, math.inf)
    for node in targets:
        edge(2 * place[node] + 1, sink, math.inf)
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
    return {node for node, i in place.items() if 2 * i not in near and 2 * i + 1 in near}


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
