"""Expressions as text: Python's and NumPy's notation, with index notation for all other operations.

``text`` writes as a person would (``reading``), in one line if that fits.  Otherwise repeated
subexpressions have names and lines of their own.  The length is bounded: for a large expression it
writes the part next to the result, and states the size.  ``short`` is one bounded line.

There are two steps.  From the result down, each node states the form that it needs of its operands:
whole arrays, or their elements at certain indices (``forms``).  Then the line is built from the
leaves up.  ``Notation`` holds everything that depends on the notation.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import chain, count
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from symdiff import opaque_ops
from symdiff.calculus.nested_results import Matrix
from symdiff.display.elements import indices
from symdiff.display.forms import Need, element_of, is_stack, over
from symdiff.display.grids import rows_of
from symdiff.display.normal_form import regrouped
from symdiff.display.notation import EXACT, PLAIN, Notation, Piece
from symdiff.display.order import Order
from symdiff.display.programs import (
    Equation,
    Formula,
    Name,
    Partial,
    Sign,
    System,
    Words,
    Zero,
    has_programs,
    is_program,
)
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
    from symdiff.display.programs import Token
    from symdiff.graph.expr import Expr
    from symdiff.graph.number import Number

# For up to this many nodes, this many names are chosen one by one; all others at once.
_FEW, _ONE_BY_ONE = 120, 20
# The largest width of components, relative to a line, before another form is tried.
_STRETCH = 1.5
_TRIED = 4  # the largest estimate, relative to a line, for which a text is tried
_SHARED = 10  # the same for a part that is used more than once
_REGROUPED = 600  # the most nodes of an expression that is regrouped
_SHORT_LINE = 240
_TUPLE = 80  # characters of a tuple's entries in one line
_NAMED_PARTS = 3  # of a matrix; if these do not make it fit, its long entries get names
_NAME = 3  # the width of a name
_MATRIX = 2  # the most nodes of a matrix, relative to a formula

# The most nodes of an expression whose loops and solutions get names.
_TRANSLATED = 20_000

# The excerpt of a large expression.
_NEAR = 300
_OPERANDS = 30
_CHARACTERS = 20_000
_COUNTED = 100_000  # the most nodes that are counted


Result = TypeVar("Result")


def text(expr: Expr | tuple[Any, ...], full: bool = False, exact: bool = False) -> str:
    """Return ``expr`` in the notation of Python and NumPy: ``2*X.T @ (X @ w - y)``.

    Arrays of at most 16 elements that are not a matrix formula show their elements, ``[a, b]``.
    Other arrays are in index notation.  ``[i,j] = sum[k](A[i,j,k]*x[k])`` names the axes of the
    value in their order; ``[i < j]`` is 1 if it holds, else 0.  If one line is too short, repeated
    parts have lines of their own, with names that no symbol has.  Loops and solutions have names
    whose equations follow ``where``.

    A scalar formula is regrouped for reading by exact algebra: like terms are merged, common
    factors stand in front, a sum has one bar where that is shorter.  Conditions that select a side
    at kinks or single points are left out (the derivative of ``|x|`` is a sign).  ``parse`` reads
    the text back, given the array symbols.  The result has the same value wherever there is one,
    and the same text.  With ``exact``, a formula as typed gives the same expression, unless a
    factor that is not a symbol is repeated with others between.  ``parse`` refuses
    index notation, loops and solutions (they contain functions), and cut texts.

    Args:
        expr: an expression; derivatives by separate symbols, written as a column or a matrix; or
            any other tuple of these, in parentheses.
        full: whether to write everything; by default a large expression is cut to the part next
            to the result, with its size.
        exact: whether to write the formula as it is built, without regrouping.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> print(text(sd.diff(sd.exp(-x**2 / 2) / 3, x)))
    -x*exp(-x**2/2)/3
    >>> print(text(sd.symbol("A", (2, 3)) @ sd.symbol("b", 3)))
    A @ b
    >>> print(text(sd.hessian(x**2 * sd.symbol("y"), [x, sd.symbol("y")])))
    [ 2*y   2*x ]
    [ 2*x   0   ]
    >>> print(text((x, x**2)))
    (x, x**2)
    """
    if isinstance(expr, tuple):
        notation = EXACT if exact else PLAIN
        if isinstance(expr, Matrix) and (matrix := matrix_lines(expr, notation, full)) is not None:
            return "\n".join(matrix)
        return _join_tuple([text(part, full, exact) for part in expr])
    return "\n".join(lines(expr, EXACT if exact else PLAIN, full))


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
    if (full or is_within(expr, _TRANSLATED)) and has_programs([expr]):
        system = System([expr], notation.stars)
        shown = _lines_of_formula(system.results[0], notation, full)
        return [*shown, *clause_lines(system, notation, full)]
    return _lines_of_formula(expr, notation, full)


def _lines_of_formula(expr: Expr, notation: Notation, full: bool) -> list[str]:
    """The lines of an expression without loops and solutions."""
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
        texts = _short_lines(expr)
        if len(texts) == 1 and len(texts[0]) <= _SHORT_LINE:
            return f"<{texts[0]}: {shape_text(expr.shape)}>" if expr.shape else texts[0]
    shape = f" of shape {shape_text(expr.shape)}" if expr.shape else ""
    return f"<expression{shape}: {extent(expr)}>"


def _short_lines(expr: Expr) -> list[str]:
    """The lines of the text; one line for a formula and the definitions of what it solves."""
    if not has_programs([expr]):
        return _complete_lines(expr, PLAIN, _SHORT_LINE)
    system = System([expr], PLAIN.stars)
    texts = _complete_lines(system.results[0], PLAIN, _SHORT_LINE)
    if len(texts) > 1 or not is_within(system.results[0], _SHORT_LINE):
        return [*texts, ""]
    return [" ".join([*texts, *clause_lines(system, PLAIN)])]


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
    return _complete_form(expr, notation, fits)[0]


def _complete_form(
    expr: Expr, notation: Notation, fits: int | None = None, left: str = ""
) -> tuple[list[str], list[Expr]]:
    """The lines of ``_complete_lines``, and the formulas that they write.

    ``left`` is the name of the result, if it has one.
    """
    read = _normal(reading(expr, notation.regroups), notation)
    fits = fits or notation.fits
    graph = Graph(topological([read]), notation)
    unlettered = graph.is_plain(read) and not graph.lettered
    alike = ops.is_spread(read.op) or repeated(read) is not None
    if not unlettered or alike or is_stack(read) or any(map(_shows_in_components, graph.nodes)):
        parts = components(read)
        if parts is not None:
            roots = parts.ravel().tolist() if expr.shape else [parts]
            roots = [_normal(root, notation, len(roots)) for root in roots]
            inner = Graph(topological(roots), notation)
            lines_of_expr = _lines_with_names(inner, roots, np.shape(parts), fits, left)
            widest = max(map(notation.width, lines_of_expr))
            if widest <= _STRETCH * fits:
                return lines_of_expr, roots
            other = _lines_with_names(graph, [read], (), fits, left)
            if widest <= max(map(notation.width, other)):
                return lines_of_expr, roots
            return other, [read]
    return _lines_with_names(graph, [read], (), fits, left), [read]


def _normal(read: Expr, notation: Notation, entries: int = 1) -> Expr:
    """The normal form for reading, in notations that regroup."""
    small = notation.regroups and is_within(read, _REGROUPED)
    return regrouped(read, entries) if small else read


def _shows_in_components(node: Expr) -> bool:
    """Whether the node moves elements in a way that a few components can show."""
    return isinstance(node.op, ops.Linear) and not (
        isinstance(node.op, ops.Slice | ops.Cast) or is_stack(node)
    )


def _excerpt(expr: Expr, notation: Notation, most: int) -> tuple[list[str], int]:
    """The lines for the nodes next to the result, and their number."""
    nodes = _nodes_near(expr, most, _OPERANDS)
    visible = {node for node in nodes if not is_program(node)}  # whose internals say nothing
    graph = Graph(nodes, notation, _OPERANDS, {x for node in nodes for x in node.args} - visible)
    return _lines_with_names(graph, [expr], (), notation.fits), len(nodes)


def _lines_with_names(
    graph: Graph, roots: Sequence[Expr], shape: tuple[int, ...], fits: int, left: str = ""
) -> list[str]:
    """One line for each part with a name, and one for the result, or for all its elements.

    Parts get names, those that save most first, until the rest fits.
    """
    prefix = _prefix(graph.taken)
    named = set(graph.lettered)
    for _ in range(_ONE_BY_ONE if len(graph.nodes) <= _FEW else 0):
        size, best = graph.weighed(roots, named)
        if size <= _TRIED * fits or best is None:
            candidate = _definition_lines(graph, roots, shape, named, prefix, left)
            if all(graph.notation.width(line) <= fits for line in candidate):
                return candidate
        if best is None:
            break
        named.add(best)
    every = named | graph.shared(roots, named)
    return _definition_lines(graph, roots, shape, every, prefix, left)


def _definition_lines(
    graph: Graph,
    roots: Sequence[Expr],
    shape: tuple[int, ...],
    named: set[Expr],
    prefix: str,
    left: str,
) -> list[str]:
    """The lines, with those of ``named`` first."""
    definitions, result = _write_with_names(
        graph, named, (), prefix, lambda: _result_line(graph, roots, shape, left)
    )
    return [*definitions.values(), result]


def _write_with_names(
    graph: Graph,
    named: set[Expr],
    first: Sequence[Expr],
    prefix: str,
    write_result: Callable[[], Result],
) -> tuple[dict[Expr, str], Result]:
    """The lines of ``named``, operands first, and the result that is written with their names.

    ``first`` get the first names.  Names that the text does not use are dropped.
    """
    while True:
        called = dict(graph.called)
        try:
            definitions, result, unused = _write_named(graph, named, first, prefix, write_result)
        except WithoutForm as missing:  # a node that was made while the others were written
            named = named | {missing.node}
            continue
        finally:
            graph.called = called
        if not unused:
            return definitions, result
        named = named - unused
        first = [node for node in first if node not in unused]


def _write_named(
    graph: Graph,
    named: set[Expr],
    first: Sequence[Expr],
    prefix: str,
    write_result: Callable[[], Result],
) -> tuple[dict[Expr, str], Result, set[Expr]]:
    """The lines of ``named``, the result, and those of ``named`` that no line uses."""
    beside = in_order(named.difference(graph.nodes))
    order = [*beside, *(node for node in graph.nodes if node in named)]
    names = (name for k in count(1) if (name := f"{prefix}{k}") not in graph.taken)
    name_of = dict(zip(dict.fromkeys([*first, *order]), names, strict=False))
    used: list[set[Expr]] = []
    definitions: dict[Expr, str] = {}
    for node in order:
        graph.used = set()
        definitions[node] = _line(graph, node, name_of[node])
        used.append(graph.used)
        graph.called[node] = name_of[node]
    graph.used = set()
    result = write_result()
    wanted = set(graph.used)
    for node, inside in zip(reversed(order), reversed(used), strict=True):
        if node in wanted:
            wanted |= inside
    return definitions, result, set(order) - wanted


def _result_line(graph: Graph, roots: Sequence[Expr], shape: tuple[int, ...], left: str) -> str:
    if not shape:
        return _line(graph, roots[0], left)
    pieces = [_piece(graph, root, None) for root in roots]
    return graph.notation.line(left, [], graph.notation.nested(pieces, shape))


def _prefix(taken: set[str]) -> str:
    """The first letter for names of parts such that no symbol has the name with a number."""
    free = (
        letter
        for letter in "tuvwsr"
        if not any(name[:1] == letter and name[1:].isdigit() for name in taken)
    )
    return next(free, "t")


# Loops and solutions ------------------------------------------------------------------------------


def clause_lines(system: System, notation: Notation, full: bool = False) -> list[str]:
    """The lines that define the names of loops and solutions; the first begins with "where"."""
    written: list[str] = []
    size = 0
    for k, clause in enumerate(system.clauses):
        parts: list[str] = []
        for tokens in clause.parts:
            pieces = [_token_text(token, notation, full) for token in tokens]
            parts.append(notation.relation(pieces))
        over = clause.over
        values = None
        if over is not None:
            ends = notation.index(over.first).text, notation.index(over.last).text
            values = notation.values(over.letter, *ends)
        line = notation.clause("and" if written else "where", parts, values)
        size += len(line)
        if size > _CHARACTERS and not full:
            written.append(notation.remark(f"and {len(system.clauses) - k:,} more definitions"))
            break
        written.append(line)
    return written


def _token_text(token: Token, notation: Notation, full: bool) -> Piece:
    """The text of a token; formulas are written in one line, with names for repeated parts."""
    match token:
        case Equation(left, right):
            return Piece(_formula_line(right, left, notation, full))
        case Formula(value):
            return Piece(_formula_line(value, "", notation, full))
        case Zero(ndim):
            return notation.zero_side(ndim)
        case Words(words):
            return Piece(notation.words(words))
        case Name(name):
            return Piece(notation.name(name))
        case Sign(sign):
            return Piece(notation.relation_sign(sign))
        case Partial(function, by):
            return Piece(notation.partial(function, by))


def _formula_line(expr: Expr, left: str, notation: Notation, full: bool) -> str:
    """A formula of a clause, after the name that it defines, in one line."""
    instead = notation.line(left, [], Piece(notation.remark(extent(expr))))
    if not (full or is_within(expr, notation.nodes)):
        return instead
    if ops.is_spread(expr.op) and not left:  # a side of equal elements: ones(3)
        graph = Graph(topological([expr]), notation)
        *parts, line = _lines_with_names(graph, [expr], (), notation.fits, left)
    else:
        *parts, line = _complete_form(expr, notation, None, left)[0]
    whole = notation.one_line([line, *parts])
    return whole if full or len(whole) <= _CHARACTERS else instead


# Matrices of derivatives --------------------------------------------------------------------------


def matrix_lines(matrix: Matrix, notation: Notation, full: bool = False) -> list[str] | None:
    """The lines of a matrix of derivatives, and below them one for each part with a name.

    If a row is too wide, up to three repeated parts get names, where the rows fit then.  Otherwise
    long entries get names, equal ones the same, and then parts of these.  None for entries that are
    not scalars, and for a large matrix unless ``full``.
    """
    rows = rows_of(matrix)
    if rows is None or not (full or _is_matrix_within(rows, notation)):
        return None
    clauses: list[str] = []
    entries = [entry for row in rows for entry in row]
    if has_programs(entries):
        system = System(entries, notation.stars)
        values = iter(system.results)
        rows = [[next(values) for _ in row] for row in rows]
        clauses = clause_lines(system, notation, full)
    cells, definitions = _matrix_with_names(rows, notation)
    written = [*notation.matrix(cells), *definitions, *clauses]
    return written if full or sum(map(len, written)) <= _CHARACTERS else None


def _is_matrix_within(rows: Sequence[Sequence[Expr]], notation: Notation) -> bool:
    """Whether a row of digits fits, and entries and matrix have few enough nodes."""
    if len(rows[0]) * (1 + notation.gap) > notation.across:
        return False
    entries = [entry for row in rows for entry in row]
    each_is_within = all(is_within(entry, notation.nodes) for entry in entries)
    return each_is_within and len(topological(entries)) <= _MATRIX * notation.nodes


def _row_limit(cells: Sequence[Sequence[str]], notation: Notation) -> int:
    """The width of a row before entries get names; an entry alone in its row has a line."""
    return notation.across if len(cells[0]) > 1 else notation.fits


def _row_width(cells: Sequence[Sequence[str]], notation: Notation) -> int:
    columns = zip(*cells, strict=True)
    widths = [max(map(notation.width, column)) for column in columns]
    return sum(widths) + notation.gap * (len(widths) - 1)


def _matrix_with_names(
    rows: Sequence[Sequence[Expr]], notation: Notation
) -> tuple[list[list[str]], list[str]]:
    """The texts of the entries, and the lines of the names in them."""
    entries = {entry: None for row in rows for entry in row}
    read = {entry: _entry_form(entry, notation, len(entries)) for entry in entries}
    shown = [[read[entry] for entry in row] for row in rows]
    layout = _MatrixLayout(shown, notation)
    named = layout.short_enough()
    cells, definitions = layout.write(named)
    if layout.fits(cells, definitions):
        return cells, definitions
    layout.unite_equal(cells)
    parts = set(named)
    for _ in range(_NAMED_PARTS):
        _, best = layout.graph.weighed(layout.roots, parts)
        if best is None:
            break
        parts.add(best)
        with_parts, definitions = layout.write(parts)
        if layout.fits(with_parts, definitions):
            return with_parts, definitions
    named |= layout.entries_to_name(cells)
    for _ in range(_ONE_BY_ONE if len(layout.graph.nodes) <= _FEW else 0):
        cells, definitions = layout.write(named)
        _, best = layout.graph.weighed(layout.roots, named)
        if best is None or all(notation.width(line) <= notation.fits for line in definitions):
            return cells, definitions
        named.add(best)
    return layout.write(named | layout.graph.shared(layout.roots, named))


def _entry_form(entry: Expr, notation: Notation, entries: int) -> Expr:
    """The formula that a line of the entry alone would write: with whole arrays or components."""
    read = reading(entry)
    if any(node.shape for node in topological([read])):
        return _complete_form(entry, notation)[1][0]
    return _normal(read, notation, entries)


class _MatrixLayout:
    """The entries of a matrix and ways to write them with names."""

    def __init__(self, rows: list[list[Expr]], notation: Notation) -> None:
        self.rows, self.notation = rows, notation
        self.roots = list(dict.fromkeys(entry for row in rows for entry in row))
        self.graph = Graph(topological(self.roots), notation)
        self.prefix = _prefix(self.graph.taken)

    def short_enough(self) -> set[Expr]:
        """The names without which the texts could be too long to try."""
        named = set(self.graph.lettered)
        limit = _TRIED * self.notation.fits * len(self.roots)
        for _ in range(_ONE_BY_ONE if len(self.graph.nodes) <= _FEW else 1):
            size, best = self.graph.weighed(self.roots, named)
            if size <= limit or best is None:
                return named
            named.add(best)
        return named | self.graph.shared(self.roots, named)

    def write(self, named: set[Expr]) -> tuple[list[list[str]], list[str]]:
        """The texts of the entries, and the lines of ``named``, first those of entries."""
        first = [root for root in self.roots if root in named]
        definitions, cells = _write_with_names(
            self.graph, named, first, self.prefix, self._write_entries
        )
        order = dict.fromkeys([*first, *definitions])
        return cells, [definitions[node] for node in order if node in definitions]

    def _write_entries(self) -> list[list[str]]:
        texts = {root: self._write_entry(root) for root in self.roots}
        return [[texts[entry] for entry in row] for row in self.rows]

    def _write_entry(self, root: Expr) -> str:
        if root in self.graph.called:
            return _name_piece(self.graph, Need(root, None)).text
        return _piece(self.graph, root, None).text

    def fits(self, cells: Sequence[Sequence[str]], definitions: Sequence[str]) -> bool:
        """Whether rows and definitions are short enough."""
        lines_fit = all(self.notation.width(x) <= self.notation.fits for x in definitions)
        return lines_fit and _row_width(cells, self.notation) <= _row_limit(cells, self.notation)

    def unite_equal(self, cells: Sequence[Sequence[str]]) -> None:
        """Let entries with the same text be one, so that they get the same name."""
        first: dict[str, Expr] = {}
        for row, texts in zip(self.rows, cells, strict=True):
            row[:] = [first.setdefault(text, x) for x, text in zip(row, texts, strict=True)]
        self.roots = list(first.values())

    def entries_to_name(self, cells: Sequence[Sequence[str]]) -> set[Expr]:
        """The entries that are wider than an equal part of a row."""
        columns = len(cells[0])
        part = max(_row_limit(cells, self.notation) // columns - self.notation.gap, _NAME)
        pairs = zip(chain.from_iterable(self.rows), chain.from_iterable(cells), strict=True)
        return {entry for entry, text in pairs if self.notation.width(text) > part}


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
        # b[k] takes b and k: no label and no part has these names.
        self.taken.update(word for name in [*self.taken] for word in re.findall(r"\w+", name))
        lengths = {dim for node in nodes for dim in node.shape if isinstance(dim, Length)}
        self.taken.update(name for dim in lengths for name in dim.names)
        self.letters: list[str] = []
        self._fresh = (name for k in count() if (name := letter_name(k)) not in self.taken)
        self.called = dict.fromkeys(cut, "...")
        self.used: set[Expr] = set()  # the names that a line uses
        self.plain: dict[Expr, bool] = {}
        named = lambda node: node in self.called  # noqa: E731
        books = notation.regroups and order is not None and len(nodes) <= _REGROUPED
        self.writer = Writer(
            notation, self.letter, self.is_plain, self.taken, width, order, named, books
        )
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
