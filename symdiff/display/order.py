"""The order in which commuting operands are written.

Operands of a node are in the order of their creation, and equal nodes are created only once.  So
nodes that other code still holds would influence the text.  This order depends only on the formula,
and on the order in which its symbols were created.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symdiff.display.forms import element_of
from symdiff.graph import ops
from symdiff.graph.node import topological
from symdiff.interchange.pickling import described
from symdiff.locks import cached_property
from symdiff.scalars.vocabulary import FACTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symdiff.graph.axes import Word
    from symdiff.graph.expr import Expr

# The most symbols that are noted for a node: large sums have thousands.
_LEAVES = 8
# The order of kinds among nodes with the same symbols and depth.
_KINDS: tuple[type[Any], ...] = (ops.Product, ops.Sum, ops.Contract, ops.Linear, ops.Pointwise)
_FUNCTIONS = {name: k for k, name in enumerate(FACTS)}

Leaf = tuple[int, tuple[Any, ...]]


class Order:
    """The order of operands among the nodes of a graph, operands before users.

    Operands with earlier symbols come first, ``W @ x + b``.  With the same symbols, less deep ones
    come first, ``x + x**2``, then the kind of node, the function and the operands decide.

    >>> import symdiff as sd
    >>> x, y = sd.symbols("x y")
    >>> held = sd.cos(x)
    >>> Order(sd.nodes(sd.sin(x) * held + y)).of([y, held, sd.sin(x), x])
    [3, 2, 1, 0]
    """

    def __init__(self, nodes: Sequence[Expr]) -> None:
        self._nodes = nodes
        self._leaves: dict[Expr, tuple[Leaf, ...]] = {}

    @cached_property
    def ranks(self) -> dict[Expr, int]:
        """Ranks by depth, and by the formula for equal depth; operands come before users."""
        levels: list[list[Expr]] = []
        depths: dict[Expr, int] = {}
        for node in self._nodes:
            depth = 1 + max([depths.get(x, -1) for x in node.args], default=-1)
            depths[node] = depth
            if depth == len(levels):
                levels.append([])
            levels[depth].append(node)
            self._leaves[node] = self._leaves_of(node)
        ranks: dict[Expr, int] = {}
        for level in levels:
            keys = {node: (self._leaves[node], _key(node, ranks)) for node in level}
            for node in sorted(level, key=keys.__getitem__):
                ranks[node] = len(ranks)
        return ranks

    def of(self, operands: Sequence[Expr], constants_last: bool = False) -> list[int]:
        """Return the indices of operands in the written order: ``pi*x``, ``x + pi``."""
        ranks = self.ranks
        if any(x not in ranks for x in operands):  # a node built during writing
            return Order(topological(operands)).of(operands, constants_last)
        keys = [
            ((not self._leaves[x]) is constants_last, self._leaves[x], ranks[x]) for x in operands
        ]
        return sorted(range(len(operands)), key=keys.__getitem__)

    def _leaves_of(self, node: Expr) -> tuple[Leaf, ...]:
        """The first symbols, and elements of symbols, that a node contains.

        Factors come before inner symbols, ``omega + alpha*r**2 + beta*(omega + v)``.
        """
        leaf = _leaf(node)
        if leaf is not None:
            return (leaf,)
        inside = {leaf for x in node.args for leaf in self._leaves.get(x, ())}
        operands = node.args if isinstance(node.op, ops.Product) else ()
        factors = {leaf for x in operands if (leaf := _leaf(x)) is not None}
        return tuple([*sorted(factors), *sorted(inside - factors)][:_LEAVES])


def _leaf(node: Expr) -> Leaf | None:
    """A symbol, or an element of one; None for other nodes."""
    if isinstance(node.op, ops.Symbol):
        return node.serial, ()
    element = element_of(node)
    if element is None or node.shape or not isinstance(element[0].op, ops.Symbol):
        return None
    # Lengths come after numbers, by their texts: their values are unknown.
    places = [(0, k) if isinstance(k, int) else (1, str(k)) for k in element[1]]
    return element[0].serial, tuple(places)


def _key(node: Expr, ranks: dict[Expr, int]) -> tuple[Any, ...]:
    """The sort key of nodes of equal depth; ranks stand for operands."""
    op = node.op
    kind = next((k for k, family in enumerate(_KINDS) if isinstance(op, family)), len(_KINDS))
    below = [ranks.get(x, -1) for x in node.args]
    function = _FUNCTIONS.get(op.name, -1)
    if isinstance(op, ops.Symbol):
        return -1, function, (), node.serial, ""
    if isinstance(op, ops.Sum):
        return kind, function, tuple(sorted(zip(below, op.coefs, strict=True))), op.const, ""
    if isinstance(op, ops.Product):
        return kind, function, tuple(sorted(zip(below, op.exponents, strict=True))), 0, ""
    if isinstance(op, ops.Contract):
        pairs = sorted(zip(below, op.letters, strict=True))
        words = _renumbered([op.out, *(word for _, word in pairs)])
        return kind, function, tuple([(k, 0) for k, _ in pairs]), 0, str(words)
    return kind, function, tuple([(k, 0) for k in below]), 0, str(described(op)[1])


def _renumbered(words: Sequence[Word]) -> list[Word]:
    """Renumber the labels of words in the order of occurrence."""
    letters: dict[int, int] = {}
    return [tuple([letters.setdefault(k, len(letters)) for k in word]) for word in words]
