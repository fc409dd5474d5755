"""Place the vertices of a graph in layers, as Sugiyama, Tagawa and Toda do (1981).

A vertex is in the layer after its operands.  An edge that passes layers has a bend in each of
them.  The order within a layer follows the neighbours, so that few edges cross, and the places
follow them, too, as near as the widths allow.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Point: TypeAlias = tuple[float, float]

_SWEEPS = 12  # the rounds in which order and places follow the neighbours
_BEND = 8.0  # the space of an edge that passes a layer


@dataclass
class _Layers:
    """Nodes by number, vertices first, then bends: layers, sizes, and links to the next layer."""

    layers: list[list[int]]
    sizes: list[Point]
    groups: list[int]
    above: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    below: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))


def placed(
    sizes: Sequence[Point],
    edges: Sequence[tuple[int, int]],
    groups: Sequence[int],
    gaps: Point,
) -> tuple[list[Point], list[list[Point]]]:
    """Return the centres of vertices, and the corners of edges from centre to centre.

    The first and last part of an edge, and every second one between them, pass a layer.  Layers
    follow each other downwards; y grows downwards.

    Args:
        sizes: the width and height of each vertex.
        edges: pairs of vertices, by number.
        groups: the group of each vertex; groups take separate stripes from left to right.
        gaps: the least space between vertices, and between layers.

    >>> placed([(10, 4), (10, 4), (20, 4)], [(0, 2), (1, 2)], [0, 0, 0], (6, 8))[0]
    [(5.0, 2.0), (21.0, 2.0), (13.0, 14.0)]
    """
    ranks = _ranks(len(sizes), edges)
    graph = _Layers([[] for _ in range(max(ranks, default=0) + 1)], list(sizes), list(groups))
    for vertex, rank in enumerate(ranks):
        graph.layers[rank].append(vertex)
    ways = [_way(graph, ranks, a, b) for a, b in edges]
    _order(graph)
    x = _across(graph, gaps[0])
    middles: dict[int, float] = {}
    halves: dict[int, float] = {}
    top = 0.0
    for layer in graph.layers:
        tall = max((graph.sizes[v][1] for v in layer), default=0.0)
        middles |= dict.fromkeys(layer, top + tall / 2)
        halves |= dict.fromkeys(layer, tall / 2)
        top += tall + gaps[1]
    centres = [(x[v], middles[v]) for v in range(len(sizes))]
    corners = []
    for way in ways:
        sign = 1 if middles[way[-1]] >= middles[way[0]] else -1
        # Edges are straight within a layer, so that they do not touch its boxes.
        points = [(x[v], middles[v] + side * halves[v]) for v in way for side in (-sign, sign)]
        corners.append([centres[way[0]], *points[1:-1], centres[way[-1]]])
    return centres, corners


def _ranks(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """Return the layer of each vertex: after all operands, next to the first user."""
    users: dict[int, list[int]] = defaultdict(list)
    for a, b in edges:
        users[a].append(b)
    state = [0] * count  # 1: on the way, 2: finished
    finished: list[int] = []
    turned: set[tuple[int, int]] = set()
    for start in range(count):
        stack = [(start, iter(users[start]))] if not state[start] else []
        state[start] = state[start] or 1
        while stack:
            v, rest = stack[-1]
            for w in rest:
                if state[w] == 1:  # folded vertices may be on a cycle
                    turned.add((v, w))
                elif not state[w]:
                    state[w] = 1
                    stack.append((w, iter(users[w])))
                    break
            else:
                state[v] = 2
                finished.append(v)
                stack.pop()
    ranks = [0] * count
    order = finished[::-1]
    for v in order:
        for w in users[v]:
            if (v, w) not in turned:
                ranks[w] = max(ranks[w], ranks[v] + 1)
    targets = {b for a, b in edges if (a, b) not in turned}
    for v in order[::-1]:  # a leaf stands next to its first user
        later = [ranks[w] for w in users[v] if (v, w) not in turned]
        if later and v not in targets:
            ranks[v] = min(later) - 1
    return ranks


def _way(graph: _Layers, ranks: Sequence[int], a: int, b: int) -> list[int]:
    """Link two vertices through a bend in each layer between them."""
    first, last = (a, b) if ranks[a] <= ranks[b] else (b, a)
    way = [first]
    for rank in range(ranks[first] + 1, ranks[last]):
        way.append(len(graph.sizes))
        graph.sizes.append((_BEND, 0.0))
        graph.groups.append(graph.groups[last])
        graph.layers[rank].append(way[-1])
    way.append(last)
    for v, w in pairwise(way):
        graph.below[v].append(w)
        graph.above[w].append(v)
    return way if first == a else way[::-1]


def _order(graph: _Layers) -> None:
    """Sort each layer by the mean place of the neighbours; keep the order of fewest crossings."""
    layers = graph.layers

    def sweep(order: range, links: Mapping[int, list[int]], other: int) -> None:
        for k in order:
            place = {v: i for i, v in enumerate(layers[k + other])}
            own = {v: i for i, v in enumerate(layers[k])}

            def key(
                v: int, place: Mapping[int, int] = place, own: Mapping[int, int] = own
            ) -> Point:
                near = [place[w] for w in links.get(v, ()) if w in place]
                return graph.groups[v], sum(near) / len(near) if near else own[v]

            layers[k].sort(key=key)

    for layer in layers:
        layer.sort(key=lambda v: graph.groups[v])
    best, kept = _crossings(graph), [list(layer) for layer in layers]
    for _ in range(_SWEEPS):
        sweep(range(1, len(layers)), graph.above, -1)
        sweep(range(len(layers) - 2, -1, -1), graph.below, 1)
        crossings = _crossings(graph)
        if crossings >= best:
            break
        best, kept = crossings, [list(layer) for layer in layers]
    graph.layers = kept


def _crossings(graph: _Layers) -> int:
    total = 0
    for layer, following in pairwise(graph.layers):
        place = {v: i for i, v in enumerate(following)}
        ends = [i for v in layer for i in sorted(place.get(w, 0) for w in graph.below.get(v, ()))]
        seen: list[int] = []
        for end in ends:
            total += sum(other > end for other in seen)
            seen.append(end)
    return total


def _across(graph: _Layers, gap: float) -> dict[int, float]:
    """Return the x of each node: near to the mean of its neighbours, without overlaps."""
    x: dict[int, float] = {}
    for layer in graph.layers:
        right = 0.0
        for v in layer:
            wide = graph.sizes[v][0]
            x[v] = right + wide / 2
            right += wide + gap
    for k in range(_SWEEPS):
        down = k % 2 == 0
        links = graph.above if down else graph.below
        for layer in graph.layers if down else graph.layers[::-1]:
            wanted = []
            for v in layer:
                near = links.get(v) or [v]
                wanted.append(sum(x[w] for w in near) / len(near))
            x |= zip(layer, _spread(wanted, [graph.sizes[v][0] for v in layer], gap), strict=True)
    return _striped(graph, x, gap)


def _spread(wanted: Sequence[float], widths: Sequence[float], gap: float) -> list[float]:
    """Return the places nearest to the wanted ones, in squares, at which nothing overlaps.

    >>> _spread([0.0, 0.0, 50.0], [10, 10, 10], 2)
    [-6.0, 6.0, 50.0]
    """
    offsets = [0.0]
    for a, b in pairwise(widths):
        offsets.append(offsets[-1] + (a + b) / 2 + gap)
    blocks: list[tuple[float, int]] = []  # the mean of neighbours that touch, and their number
    for place, offset in zip(wanted, offsets, strict=True):
        mean, count = place - offset, 1
        while blocks and blocks[-1][0] > mean:
            other, more = blocks.pop()
            mean, count = (mean * count + other * more) / (count + more), count + more
        blocks.append((mean, count))
    means = [mean for mean, count in blocks for _ in range(count)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=True)]


def _striped(graph: _Layers, x: Mapping[int, float], gap: float) -> dict[int, float]:
    """Move the groups apart, and everything to the right of 0."""
    moved: dict[int, float] = {}
    right = -gap
    for group in sorted(set(graph.groups)):
        members = [v for v in x if graph.groups[v] == group]
        left = min(x[v] - graph.sizes[v][0] / 2 for v in members)
        moved |= {v: x[v] - left + right + gap for v in members}
        right = max(moved[v] + graph.sizes[v][0] / 2 for v in members) + gap
    return moved
