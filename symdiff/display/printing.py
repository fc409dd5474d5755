"""Expressions as text: Python's and NumPy's notation, with index notation for all other operations.

``text`` writes as a person would (``reading``), in one line if that fits.  Otherwise repeated
subexpressions have names and lines of their own.  The length is bounded: for a large expression it
writes the part next to the result, and states the size.  ``short`` is one bounded line.

There are two steps.  From the result down, each node states the form that it needs of its operands:
whole arrays, or their elements at certain indices (``forms``).  Then the line is built from the
leaves up.  ``Notation`` holds everything that depends on the notation.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from symdiff import opaque_ops
from symdiff.display.elements import indices
from symdiff.display.forms import Need, element_of, is_stack, over
from symdiff.display.notation import PLAIN, Notation, Piece
from symdiff.display.order import Order
from symdiff.display.reading import components, reading, repeated
from symdiff.display.writer import WithoutForm, Writer
from symdiff.graph import ops
from symdiff.graph.axes import letter_name, shape_text
from symdiff.graph.expr import in_order, is_within
from symdiff.graph.leaves import as_expr
from symdiff.graph.lengths import Length
from symdiff.graph.node import topological

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from symdiff.display.forms import Form, Index
    from symdiff.graph.expr import Expr
    from symdiff.graph.number import Number

# For up to this many nodes, this many names are chosen one by one; all others at once.
_FEW, _ONE_BY_ONE = 120, 20
# The largest width of components, relative to a line, before another form is tried.
_STRETCH = 1.5
_TRIED = 4  # the largest estimate, relative to a line, for which a text is tried
_SHARED = 10  # the same for a part that is used more than once
_SHORT_LINE = 240
_TUPLE = 80  # characters of a tuple's entries in one line

# The excerpt of a large expression.
_NEAR = 300
_OPERANDS = 30
_CHARACTERS = 20_000
_COUNTED = 100_000  # the most nodes that are counted


def text(expr: Expr | tuple[Any, ...], full: bool = False) -> str:
    """Return ``expr`` in the notation of Python and NumPy: ``2*X.T @ (X @ w - y)``.

    Arrays of at most 16 elements that are not a matrix formula show their elements, ``[a, b]``.
    Other arrays are in index notation.  ``[i,j] = sum[k](A[i,j,k]*x[k])`` names the axes of the
    value in their order; ``[i < j]`` is 1 if it holds, else 0.  If one line is too short, repeated
    parts have lines of their own, with names that no symbol has.

    ``parse`` reads the text back, given the array symbols.  The result has the same value wherever
    there is one.  A scalar formula as typed gives the same expression, unless a factor that is no
    symbol is repeated with others between.  Derivatives are written as a person would type them:
    equal factors as one power, and without the conditions that select a side at kinks (the
    derivative of ``|x|`` is a sign).  The text then reads back as that formula.  ``parse`` refuses
    index notation, loops and solutions (they contain functions), and cut texts.

    Args:
        expr: an expression, or a tuple of them in parentheses, such as a gradient by several
            symbols; tuples may be nested.
        full: whether to write everything; by default a large expression is cut to the part next
            to the result, with its size.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> print(text(sd.diff(sd.exp(-x**2 / 2) / 3, x)))
    -x*exp(-x**2/2)/3
    >>> print(text(sd.symbol("A", (2, 3)) @ sd.symbol("b", 3)))
    A @ b
    >>> print(text(sd.grad(x**2 * sd.symbol("y"), [x, sd.symbol("y")])))
    (2*x*y, x**2)
    """
    if isinstance(expr, tuple):
        return _join_tuple([text(part, full) for part in expr])
    return "\n".join(lines(expr, PLAIN, full))


def _join_tuple(texts: list[str]) -> str:
    r"""Join the texts of a tuple: in one line, or every entry on lines of its own.

    >>> print(_join_tuple(["x"]), _join_tuple(["a = x + 1\na*a", "x"]))
    (x,) (a = x + 1
     a*a,
     x)
    """
    several = any("\n" in text for text in texts) or sum(map(len, texts)) > _TUPLE
    inside = (",\n" if several else ", ").join(texts)
    return f"({inside}{',' if len(texts) == 1 else ''})".replace("\n", "\n ")


def lines(expr: Expr, notation: Notation, full: bool = False) -> list[str]:
    """The lines of ``text``; the last one is the result, or the size of an omitted part."""
    expr = as_expr(expr)
    if full or is_within(expr, notation.nodes):
        lines_of_expr = _complete_lines(expr, notation)
        if full or sum(map(len, lines_of_expr)) <= _CHARACTERS:
            return lines_of_expr
    most = _NEAR
    while True:
        lines_of_expr, shown = _excerpt(expr, notation, most)
        if most == 1 or sum(map(len, lines_of_expr)) <= _CHARACTERS:
            break
        most //= 2
    return [*lines_of_expr, notation.cut(shown, extent(expr))]


def short(expr: Expr) -> str:
    """Return a line of bounded length for ``repr``: the formula if it fits, else its size.

    Arrays show their shape.

    >>> import symdiff as sd
    >>> x, A = sd.symbol("x"), sd.symbol("A", (2, 3))
    >>> print(short(x * sd.sin(x)), short(A), short(A.T))
    x*sin(x) <A: (2, 3)> <A.T: (3, 2)>
    >>> f = sd.exp(sd.sin(x))
    >>> short(sd.diff(f, x, 9))
    '<expression: 41 nodes in x>'
    """
    expr = as_expr(expr)
    if is_within(expr, _SHORT_LINE):
        texts = _complete_lines(expr, PLAIN, _SHORT_LINE)
        if len(texts) == 1 and len(texts[0]) <= _SHORT_LINE:
            return f"<{texts[0]}: {shape_text(expr.shape)}>" if expr.shape else texts[0]
    shape = f" of shape {shape_text(expr.shape)}" if expr.shape else ""
    return f"<expression{shape}: {extent(expr)}>"


def extent(expr: Expr) -> str:
    """The number of nodes and the symbols: ``57 nodes in x, y``."""
    nodes_near = _nodes_near(expr, _COUNTED + 1)
    size = min(len(nodes_near), _COUNTED)
    nodes = f"{size:,} nodes" if len(nodes_near) == size else f"more than {size:,} nodes"
    names = [node.name for node in nodes_near if isinstance(node.op, ops.Symbol)]
    shown = [name if len(name) <= _LONGEST_NAME else name[:_LONGEST_NAME] + "..." for name in names]
    more = f" and {len(names) - _MOST_NAMES:,} more" if len(names) > _MOST_NAMES else ""
    more = more if len(nodes_near) == size else " and others"
    return nodes + (f" in {', '.join(shown[:_MOST_NAMES])}{more}" if names else "")


_MOST_NAMES = 8
_LONGEST_NAME = 40


def _nodes_near(expr: Expr, most: int, width: int | None = None) -> list[Expr]:
    """The nodes next to the result, in order of creation: at most ``most``, by first operands."""
    reached, seen = [expr], {expr}
    for node in reached:  # the list grows inside the loop
        for arg in node.args[:width]:
            if len(reached) == most:
                break
            if arg not in seen:
                seen.add(arg)
                reached.append(arg)
    return in_order(reached)


def _complete_lines(expr: Expr, notation: Notation, fits: int | None = None) -> list[str]:
    """The lines with whole arrays, by components if that says more, or by index."""
    read = reading(expr)
    fits = fits or notation.fits
    graph = Graph(topological([read]), notation)
    unlettered = graph.is_plain(read) and not graph.lettered
    alike = ops.is_spread(read.op) or repeated(read) is not None
    if not unlettered or alike or is_stack(read) or any(map(_shows_in_components, graph.nodes)):
        parts = components(read)
        if parts is not None:
            roots = parts.ravel().tolist() if expr.shape else [parts]
            inner = Graph(topological(roots), notation)
            lines_of_expr = _lines_with_names(inner, roots, np.shape(parts), fits)
            widest = max(map(notation.width, lines_of_expr))
            if widest <= _STRETCH * fits:
                return lines_of_expr
            other = _lines_with_names(graph, [read], (), fits)
            return lines_of_expr if widest <= max(map(notation.width, other)) else other
    return _lines_with_names(graph, [read], (), fits)


def _shows_in_components(node: Expr) -> bool:
    """Whether the node moves elements in a way that a few components can show."""
    return isinstance(node.op, ops.Linear) and not (
        isinstance(node.op, ops.Slice | ops.Cast) or is_stack(node)
    )


def _excerpt(expr: Expr, notation: Notation, most: int) -> tuple[list[str], int]:
    """The lines for the nodes next to the result, and their number."""
    nodes = _nodes_near(expr, most, _OPERANDS)
    visible = set(nodes)
    graph = Graph(nodes, notation, _OPERANDS, {x for node in nodes for x in node.args} - visible)
    return _lines_with_names(graph, [expr], (), notation.fits), len(nodes)


def _lines_with_names(
    graph: Graph, roots: Sequence[Expr], shape: tuple[int, ...], fits: int
) -> list[str]:
    """One line for each part with a name, and one for the result, or for all its elements.

    Parts get names, those that save most first, until the rest fits.
    """
    prefix = _prefix(graph.taken)
    named = set(graph.lettered)
    for _ in range(_ONE_BY_ONE if len(graph.nodes) <= _FEW else 0):
        size, best = graph.weighed(roots, named)
        if size <= _TRIED * fits or best is None:
            candidate = _definition_lines(graph, roots, shape, named, prefix)
            if all(graph.notation.width(line) <= fits for line in candidate):
                return candidate
        if best is None:
            break
        named.add(best)
    return _definition_lines(graph, roots, shape, named | graph.shared(roots, named), prefix)


def _definition_lines(
    graph: Graph, roots: Sequence[Expr], shape: tuple[int, ...], named: set[Expr], prefix: str
) -> list[str]:
    """The lines, with those of ``named`` first."""
    while True:
        called = dict(graph.called)
        try:
            lines_of_expr, unused = _lines_of_named(graph, roots, shape, named, prefix)
        except WithoutForm as missing:  # a node that was made while the others were written
            named = named | {missing.node}
            continue
        finally:
            graph.called = called
        if not unused:
            return lines_of_expr
        named = named - unused


def _lines_of_named(
    graph: Graph, roots: Sequence[Expr], shape: tuple[int, ...], named: set[Expr], prefix: str
) -> tuple[list[str], set[Expr]]:
    """The lines, and those of ``named`` that no line uses."""
    used: list[set[Expr]] = []
    order: list[Expr] = []
    names = (name for k in count(1) if (name := f"{prefix}{k}") not in graph.taken)
    lines_so_far = []
    beside = in_order(named.difference(graph.nodes))
    for node in [*beside, *(node for node in graph.nodes if node in named)]:
        name = next(names)
        graph.used = set()
        lines_so_far.append(_line(graph, node, name))
        used.append(graph.used)
        graph.called[node] = name
        order.append(node)
    graph.used = set()
    lines_so_far.append(_result_line(graph, roots, shape))
    wanted = set(graph.used)
    for node, inside in zip(reversed(order), reversed(used), strict=True):
        if node in wanted:
            wanted |= inside
    return lines_so_far, set(order) - wanted


def _result_line(graph: Graph, roots: Sequence[Expr], shape: tuple[int, ...]) -> str:
    if not shape:
        return _line(graph, roots[0], "")
    pieces = [_piece(graph, root, None) for root in roots]
    return graph.notation.line("", [], graph.notation.nested(pieces, shape))


def _prefix(taken: set[str]) -> str:
    """The first letter for names of parts such that no symbol has the name with a number."""
    free = (
        letter
        for letter in "tuvwsr"
        if not any(name[:1] == letter and name[1:].isdigit() for name in taken)
    )
    return next(free, "t")


# Forms and names of nodes -------------------------------------------------------------------------


class Graph:
    """The nodes to write, their names, and estimates of the lengths of their texts."""

    def __init__(
        self,
        nodes: Sequence[Expr],
        notation: Notation,
        width: int | None = None,
        cut: Iterable[Expr] = (),
    ) -> None:
        order = None if width else Order(nodes)
        self.nodes = nodes if order is None else list(order.ranks)
        self.width, self.notation = width, notation
        self.taken = {node.op.name for node in nodes if isinstance(node.op, ops.Symbol | ops.Size)}
        lengths = {dim for node in nodes for dim in node.shape if isinstance(dim, Length)}
        self.taken.update(name for dim in lengths for name in dim.names)
        self.letters: list[str] = []
        self._fresh = (name for k in count() if (name := letter_name(k)) not in self.taken)
        self.called = dict.fromkeys(cut, "...")
        self.used: set[Expr] = set()  # the names that a line uses
        self.plain: dict[Expr, bool] = {}
        self.writer = Writer(notation, self.letter, self.is_plain, self.taken, width, order)
        self._find_whole_forms(nodes)
        self.lettered = self._arguments_to_name()

    def letter(self, k: int) -> str:
        """The name of axis label ``k``, different from all symbols."""
        while len(self.letters) <= k:
            self.letters.append(next(self._fresh))
        return self.letters[k]

    def _find_whole_forms(self, nodes: Iterable[Expr]) -> None:
        """Determine which nodes have a whole form; operands first."""
        for node in nodes:
            if node not in self.plain:
                self.plain[node] = True  # a cut part has a name
                form = self.writer.whole(node) if node.shape else None
                self.plain[node] = not node.shape or (
                    form is not None and self.writer.is_whole(form)
                )

    def is_plain(self, node: Expr) -> bool:
        """Whether the whole array can be written without axis labels."""
        if node in self.called:
            return True
        if node not in self.plain:
            self._find_whole_forms(topological([node]))
        return self.plain[node]

    def _arguments_to_name(self) -> set[Expr]:
        """Arrays that are arguments and have no whole form: they need names."""
        needed: set[Expr] = set()
        for node in self.nodes:
            form = self.writer.whole(node) if node.shape else self.writer.form(node, None, 0)
            if form is not None and form.call:
                needed |= {n.node for n in form.needs if not self.is_plain(n.node)}
            if form is None and isinstance(node.op, ops.Gather) and len(node.op.before) > 1:
                # Its elements come from its operand after a ravel.
                needed |= {x for x in node.args if node.op.index.size and not self.is_plain(x)}
            if form is None and isinstance(node.op, opaque_ops.Take):
                # Its elements come from its operand, at computed indices.
                x, places = node.args
                computed = isinstance(places.op, ops.Places | opaque_ops.ArgSort)
                needed |= {x} if not computed and not self.is_plain(x) else set()
        return needed

    def weighed(self, roots: Sequence[Expr], named: set[Expr]) -> tuple[int, Expr | None]:
        """The total length of the lines, and the node whose name saves most, or None.

        The estimate of the saving counts how often the line would contain the node.
        """
        size: dict[Expr, int] = {}
        results = set(roots)
        longest = 0
        for node in self.nodes:
            weight = self._own_length(node, size)
            size[node] = 4 if node in named else weight
            longest = max(longest, weight) if node in named else longest
        times: Counter[Expr] = Counter(roots)
        for node in reversed(self.nodes):
            for arg in node.args[: self.width]:
                times[arg] += 1 if node in named else min(times[node], 1 << 40)
        best, most = None, 0
        for node in self.nodes:
            saved = (times[node] - 1) * (size[node] - 4) - 5
            if saved > most and size[node] >= _SHARED and self._is_nameable(node, results):
                best, most = node, saved
        return max(longest, sum(size[root] for root in roots)), best

    def shared(self, roots: Sequence[Expr], named: set[Expr]) -> set[Expr]:
        """All nodes that are repeated or long, in addition to ``named``."""
        uses = Counter(arg for node in self.nodes for arg in node.args[: self.width])
        size: dict[Expr, int] = {}
        results, reused = set(roots), set()
        for node in self.nodes:
            weight = size[node] = self._own_length(node, size)
            long = weight > self.notation.long or (uses[node] > 1 and weight >= _SHARED)
            if node in named:
                size[node] = 4
            elif long and self._is_nameable(node, results):
                reused.add(node)
                size[node] = 4
        return reused

    def _own_length(self, node: Expr, size: dict[Expr, int]) -> int:
        element = element_of(node)
        if element is not None:
            return size.get(element[0], 3) + 3
        return min(
            _own_size(node) + sum(1 + size.get(arg, 3) for arg in node.args[: self.width]), 1 << 60
        )

    def _is_nameable(self, node: Expr, results: set[Expr]) -> bool:
        if isinstance(node.op, ops.Constant):
            return node.op.value.size > ops.LISTED
        inside = ops.is_spread(node.op) or is_stack(node) or element_of(node) is not None
        return bool(node.args) and not (inside or node in self.called or node in results)


def _own_size(node: Expr) -> int:
    op = node.op
    if isinstance(op, ops.Sum):
        return 4 * len(node.args) - 1 if node.args else len(_digits_of(op.const))
    if isinstance(op, ops.Product):
        return 2 * sum(p != 1 for p in op.exponents)
    if isinstance(op, ops.Pointwise):
        return 2 if op.name == "power" else len(op.name) + 1
    if isinstance(op, ops.Constant):
        return min(8 * op.value.size, 40)
    if isinstance(op, ops.Gather | ops.Scatter):
        return 20 + 3 * min(op.index.size, ops.LISTED)
    if isinstance(op, ops.Contract):
        return 6
    if isinstance(op, ops.Concat):
        return 2
    return len(op.name) + 1 + 6 * isinstance(op, ops.Linear)


def _digits_of(c: Number) -> str:
    return PLAIN.number(c).text


# A line -------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Place:
    """A node in the tree of one line, its form, and the positions of its operands."""

    need: Need
    fresh: int  # the first label that is free around it
    build: Callable[[list[Piece]], Piece] | None = None
    operands: list[int] = field(default_factory=list)


def _line(graph: Graph, node: Expr, name: str) -> str:
    """The line of a node; without a whole form its axis labels are on the left."""
    unlettered = graph.is_plain(node)
    index: tuple[Index, ...] | None = None
    if not unlettered:
        index = tuple(graph.writer.index(k) for k in range(node.ndim))
    body = _piece(graph, node, index)
    if name:
        axes = zip(index or (), node.shape, strict=False)
        shown = [over(k, dim, [Need(node, index)], graph.notation) for k, dim in axes]
    else:  # the shape of the result is known
        shown = [graph.notation.index(k) for k in index or ()]
    return graph.notation.line(name, [k.text for k in shown], body)


def _piece(graph: Graph, root: Expr, index: tuple[Index, ...] | None) -> Piece:
    places = [_Place(Need(root, index), len(index or ()))]
    for k, place in enumerate(places):  # grows as it is read: operands after users
        need = place.need
        if k and need.node in graph.called:
            continue
        form: Form = graph.writer.form(need.node, need.index, place.fresh, need.elementwise)
        place.build = form.build
        for operand in form.needs:
            place.operands.append(len(places))
            places.append(_Place(operand, place.fresh + form.letters))
    pieces: list[Piece] = [Piece("")] * len(places)
    for k in range(len(places) - 1, -1, -1):
        place = places[k]
        if place.build is None:
            pieces[k] = _name_piece(graph, place.need)
        else:
            pieces[k] = place.build([pieces[j] for j in place.operands])
    return pieces[0]


def _name_piece(graph: Graph, need: Need) -> Piece:
    """The name of a part, or ``...`` for a cut one."""
    node, name = need.node, graph.called[need.node]
    graph.used.add(node)
    notation = graph.notation
    if name == "...":
        return Piece(notation.name(name))
    if need.index is None:
        piece = Piece(notation.name(name), ndim=node.ndim, leaf=True)
    else:
        places = indices(need.index, node.shape, notation)
        piece = notation.element(Piece(notation.name(name)), places)
    # The name stands for a sum in brackets.
    return replace(piece, bracket_first=isinstance(node.op, ops.Sum))
