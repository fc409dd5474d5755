"""Choose the nodes of a graph to draw, and fold the others into vertices.

A graph is its results and a function that returns the operands of a node: of expressions, or of the
record of eager operations.  There is no recursion, and no dependence on the time of creation: nodes
come in the order in which a reader meets them who follows operands from the left.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Generic, TypeVar

from symdiff.display.diagrams import MOST_CHARACTERS, Diagram, Edge, Vertex

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

K = TypeVar("K", bound="Hashable")

LIMIT = 60
"""The default number of vertices."""

_MOST_FOLDED = 5  # the most folded vertices of one group
_SHORTEST = 25  # the fewest characters of a vertex


class Graph(Generic[K]):
    """A graph to draw; ``group`` returns the index of a node's title in ``titles``.

    ``order`` has all nodes, operands before users, in the order of meeting.
    """

    def __init__(
        self,
        results: Sequence[K],
        operands: Callable[[K], Sequence[K]],
        titles: tuple[str, ...] = (),
        group: Callable[[K], int | None] = lambda _: None,
    ) -> None:
        self.titles = titles
        entries: dict[K, Sequence[K]] = {}
        entered: dict[K, Sequence[K]] = {}
        stack = [(node, False) for node in reversed(results)]
        while stack:
            node, finished = stack.pop()
            if finished:
                entries[node] = entered[node]
            elif node not in entered:
                entered[node] = inputs = operands(node)
                stack.append((node, True))
                stack += [(x, False) for x in reversed(inputs) if x not in entered]
        self.order = list(entries)
        place = {node: k for k, node in enumerate(self.order)}
        self.links = [[place[x] for x in inputs] for inputs in entries.values()]
        self.groups = [group(node) for node in self.order]
        self.heights = self._heights()

    def diagram(
        self,
        vertices: Callable[[Sequence[K]], Mapping[K, Vertex]],
        labels: Callable[[K], Sequence[str]],
        folded: Callable[[Sequence[K], Sequence[K]], tuple[str, ...]],
        limit: int = LIMIT,
        down: bool = True,
    ) -> Diagram:
        """Lay the graph out in about ``limit`` vertices, and in no more than Mermaid can draw.

        ``vertices`` returns the vertices of the shown nodes, ``labels`` the labels of the edges
        from the operands.  ``folded`` returns the lines of a vertex for folded nodes and the leaves
        that they need.
        """
        limit = min(limit, MOST_CHARACTERS // _SHORTEST)
        while True:
            drawn = self._draw(limit, vertices, labels, folded, down)
            if limit == 1 or drawn.fits():
                return drawn
            limit = max(limit // 2, 1)

    def _heights(self) -> list[int]:
        """The length of the longest path from each node to a result."""
        heights = [0] * len(self.order)
        for k in range(len(self.order) - 1, -1, -1):
            above = heights[k] + 1
            for x in self.links[k]:
                if heights[x] < above:
                    heights[x] = above
        return heights

    def _choose_shown(self, limit: int) -> set[int]:
        """The first leaves, and the nodes next to the results; each node with all its users."""
        places = range(len(self.order))
        if len(places) <= limit:
            return set(places)
        leaves = [k for k in places if not self.links[k]]
        inner = sorted((k for k in places if self.links[k]), key=self.heights.__getitem__)
        quarter = limit // 4
        folded = _most_folded(limit) * max(len(self.titles), 1)
        budget = max(limit - min(len(leaves), quarter) - folded, 1)
        widest = max(limit // 8, 3)  # the most of one height: notebooks shrink wide pictures
        shown = set(leaves[:quarter])
        hidden: set[int] = set()
        level: Counter[int] = Counter()
        for k in inner:
            if budget and k not in hidden and level[self.heights[k]] < widest:
                budget -= 1
                level[self.heights[k]] += 1
                shown.add(k)
            else:
                hidden.update(self.links[k])
        return shown

    def _hidden_parts(self, shown: set[int], most: int) -> list[list[int]]:
        """The hidden nodes as connected parts of one group, with the smallest ones merged.

        Each group has at most ``most`` parts.
        """
        hidden = [k for k in range(len(self.order)) if k not in shown]
        joined = list(range(len(self.order)))

        def root(k: int) -> int:
            while joined[k] != k:
                joined[k] = k = joined[joined[k]]
            return k

        for k in hidden:
            for x in self.links[k]:
                if x not in shown and self.groups[x] == self.groups[k]:
                    joined[root(x)] = root(k)
        parts: dict[int, list[int]] = {}
        for k in hidden:
            parts.setdefault(root(k), []).append(k)
        grouped: dict[int | None, list[list[int]]] = {}
        for part in sorted(parts.values(), key=len, reverse=True):
            members = grouped.setdefault(self.groups[part[0]], [])
            if len(members) < most:
                members.append(part)
            else:
                members[-1] += part
        return [part for members in grouped.values() for part in members]

    def _draw(
        self,
        limit: int,
        vertices: Callable[[Sequence[K]], Mapping[K, Vertex]],
        labels: Callable[[K], Sequence[str]],
        folded: Callable[[Sequence[K], Sequence[K]], tuple[str, ...]],
        down: bool,
    ) -> Diagram:
        shown = self._choose_shown(limit)
        parts = self._hidden_parts(shown, _most_folded(limit))
        shown.update(part[0] for part in parts if len(part) == 1)
        parts = [part for part in parts if len(part) > 1]
        visible = sorted(shown)
        names = {k: f"n{place}" for place, k in enumerate(visible)}
        for place, part in enumerate(parts):
            names.update(dict.fromkeys(part, f"f{place}"))
        drawn = vertices([self.order[k] for k in visible])
        vertices_drawn, edges = [], []
        for k in visible:
            vertices_drawn.append(
                drawn[self.order[k]]._replace(name=names[k], group=self.groups[k])
            )
            merged: Counter[str] = Counter()
            for x, label in zip(self.links[k], labels(self.order[k]), strict=True):
                if x in shown:
                    edges.append(Edge(names[x], names[k], label))
                else:
                    merged[names[x]] += 1
            edges += _merge_edges(merged, names[k])
        for place, part in enumerate(parts):
            folded_name = f"f{place}"
            merged = Counter(
                names[x] for k in part for x in self.links[k] if names[x] != folded_name
            )
            edges += _merge_edges(merged, folded_name)
            needed = dict.fromkeys(
                x for k in part for x in (k, *self.links[k]) if not self.links[x]
            )
            lines = folded([self.order[k] for k in part], [self.order[k] for k in needed])
            vertices_drawn.append(Vertex(folded_name, lines, "folded", self.groups[part[0]]))
        return Diagram(tuple(vertices_drawn), tuple(edges), self.titles, down)


def _most_folded(limit: int) -> int:
    """The most vertices of a group that stand for several nodes."""
    return max(min(_MOST_FOLDED, limit // 4), 1)


def _merge_edges(sources: Counter[str], target: str) -> list[Edge]:
    """The edges from vertices that stand for several nodes, one edge for each vertex."""
    return [
        Edge(source, target, f"{count} edges" if count > 1 else "")
        for source, count in sources.items()
    ]
