"""Expressions as text, in index notation.

``text`` is complete and linear in the nodes: a subexpression that is used again, or that is long,
gets a name and a line of its own.  ``short`` is one bounded line and looks at a bounded number of
nodes.

Two steps: ``_plan`` lays out the tree that one line shows and hands the letters down from each node
to its operands; then the line is put together from the leaves up.  All that depends on the notation
is in ``Notation``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import count, islice
from typing import TYPE_CHECKING

from symdiff import ops
from symdiff.algebra import PRIMITIVES
from symdiff.display.notation import AND, COMPARE, OR, PLAIN, PRODUCT, Notation, Piece
from symdiff.leaves import as_expr, number_of
from symdiff.letters import letter_name, shape_text
from symdiff.lifting import is_decision, over_formula
from symdiff.node import topological
from symdiff.vocabulary import FACTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from symdiff.expr import Expr
    from symdiff.letters import Word
    from symdiff.number import Number

_LONG = 500  # characters from which on a subexpression has a line of its own
_SHARED = 10  # the same, if it is used more than once
_SHORT_LINE = 160
_SHORT_PART = 120
_SHORT_NODES = 60
_SHORT_OPERANDS = 8

_INFIX = {name: sign for name, facts in FACTS.items() if (sign := facts.infix)}
_LEVELS = {"and": AND, "or": OR}

_MIRRORED = {"<": ">", "<=": ">="}

_BOSE = PRIMITIVES["bose"]


def text(expr: Expr, notation: Notation = PLAIN) -> str:
    """``expr`` in index notation, ``sum[j](A[i,j]*x[j])``; repeated and long parts have own lines.

    The axes of every array are named in their order: the element of a value is ``[i,j,k]``, summed
    letters come after.  ``delta[i,j]`` is an identity.  The text is linear in the number of nodes.
    A single line of real scalar symbols and functions of the vocabulary is read back by ``parse``
    to the same expression; only products of derivatives may merge then, as those that are typed,
    and what decides in a derivative at a kink is what it reads as (the sign in that of ``|x|``).

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> print(text(sd.diff(sd.exp(-x**2 / 2) / 3, x)))
    -x*exp(-x**2/2)/3
    >>> print(text(sd.symbol("A", (2, 3)) @ sd.symbol("b", 3)))
    [i] = sum[j](A[i,j]*b[j])
    """
    return "\n".join(complete(as_expr(expr), notation))


def complete(expr: Expr, notation: Notation) -> list[str]:
    """The lines of ``text``."""
    nodes = topological([expr])
    return _lines(_Graph(nodes), expr, nodes, notation)


def excerpt(expr: Expr, notation: Notation, most: int, width: int) -> tuple[list[str], int]:
    """The lines of ``text`` for the ``most`` nodes next to the result, and how many those are.

    Of every node, ``width`` operands are written; what is left out is ``...``.
    """
    nodes, graph = _nearest(expr, most, width)
    return _lines(graph, expr, nodes, notation), len(nodes)


def _lines(graph: _Graph, expr: Expr, nodes: Sequence[Expr], notation: Notation) -> list[str]:
    """A line for every part of ``nodes`` that needs a name, and one for the result."""
    names = _names("t", graph.taken)
    uses = dict.fromkeys(nodes, 0)
    lettered: set[Expr] = set()  # arrays that are arguments, and cannot be written without letters
    for node in nodes:
        for arg in graph.shown(node):
            uses[arg] = uses.get(arg, 0) + 1
            if isinstance(node.op, ops.Linear | ops.Opaque) and not graph.is_plain(arg):
                lettered.add(arg)
    lines = []
    for node in nodes:
        size = graph.measure(node)
        if isinstance(node.op, ops.Constant):
            named = node.op.value.size > ops.LISTED
        else:
            named = bool(node.args) and not _spread(node)
            named &= size > _LONG or (uses[node] > 1 and size >= _SHARED) or node in lettered
        if named and node is not expr:
            lines.append((node, next(names)))
            graph.called[node] = lines[-1][1]
    lines.append((expr, ""))
    return [_line(graph, node, name, notation) for node, name in lines]


def short(expr: Expr, notation: Notation = PLAIN) -> str:
    """One line of bounded length for ``repr``; deep and wide parts are ``...``.

    Arrays show their shape.  The axes are i, j, k, ... in their order.

    >>> import symdiff as sd
    >>> x, A = sd.symbol("x"), sd.symbol("A", (2, 3))
    >>> print(short(x * sd.sin(x)), short(A), short(A.T))
    x*sin(x) <A: (2, 3)> <A[j,i]: (3, 2)>
    """
    expr = as_expr(expr)
    nodes, graph = _nearest(expr, _SHORT_NODES, _SHORT_OPERANDS)
    for node in nodes:
        if graph.measure(node) > _SHORT_PART and node is not expr:
            graph.called[node] = "..."
    _, piece = _body(graph, expr, notation)
    line = piece.text if len(piece.text) <= _SHORT_LINE else piece.text[:_SHORT_LINE] + "..."
    return f"<{line}: {shape_text(expr.shape)}>" if expr.shape else line


def _nearest(expr: Expr, most: int, width: int) -> tuple[list[Expr], _Graph]:
    """The nodes next to the result, in topological order; operands beyond them are ``...``."""
    near = {expr: None}
    for node in _breadth_first(near):
        for arg in islice(node.args, width):
            if len(near) < most:
                near.setdefault(arg)
    nodes = sorted(near, key=lambda node: node.serial)
    graph = _Graph(nodes, width)
    for node in nodes:
        graph.called.update({arg: "..." for arg in graph.shown(node) if arg not in near})
    return nodes, graph


def _breadth_first(near: dict[Expr, None]) -> Iterator[Expr]:
    # The dict grows behind the reader; its order is that of discovery.
    done = 0
    while done < len(near):
        batch = list(islice(near, done, None))
        done = len(near)
        yield from batch


def _names(prefix: str, taken: set[str]) -> Iterator[str]:
    return (name for k in count(1) if (name := f"{prefix}{k}") not in taken)


# What is written where ----------------------------------------------------------------------------


class _Graph:
    """The nodes that are looked at, what they are called, and how long their texts will be."""

    def __init__(self, nodes: Sequence[Expr], width: int | None = None) -> None:
        self.width = width
        self.taken = {node.op.name for node in nodes if isinstance(node.op, ops.Symbol | ops.Size)}
        self.letters: list[str] = []
        self._fresh = (name for k in count() if (name := letter_name(k)) not in self.taken)
        self.size: dict[Expr, int] = {}
        self.called: dict[Expr, str] = {}
        self.plain: dict[Expr, bool] = {}
        for node in nodes:
            self.plain[node] = self._plain(node)

    def letter(self, k: int) -> str:
        """The name of letter ``k``, which no symbol has."""
        while len(self.letters) <= k:
            self.letters.append(next(self._fresh))
        return self.letters[k]

    def shown(self, node: Expr) -> tuple[Expr, ...]:
        """The operands that are written."""
        return node.args if self.width is None else node.args[: self.width]

    def is_plain(self, node: Expr) -> bool:
        """Whether the whole array can be written without letters."""
        return self.plain.get(node, True)

    def _plain(self, node: Expr) -> bool:
        if not node.shape or _spread(node):
            return True
        if isinstance(node.op, ops.Contract):
            return False
        if isinstance(node.op, ops.Linear | ops.Opaque) or not node.args:
            return True
        args = self.shown(node)
        return all(map(self.is_plain, args)) and not all(map(_spread, args))

    def measure(self, node: Expr) -> int:
        """An estimate of the length of the text of ``node``, whose operands have been measured."""
        size = 2 * len(node.shape) + _own_size(node)
        for arg in self.shown(node):
            size += 1 + (4 + 2 * len(arg.shape) if arg in self.called else self.size[arg])
        self.size[node] = size
        return size


def _spread(node: Expr) -> bool:
    """Whether the node has one value at every place; between elements, that value is written."""
    op = node.op
    return isinstance(op, ops.Contract) and op.letters == ((),) and len(set(op.out)) == len(op.out)


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
        return 8
    return len(op.name) + 1 + 6 * isinstance(op, ops.Linear)


def _digits_of(c: Number) -> str:
    return PLAIN.number(c).text


@dataclass(slots=True)
class _Place:
    """A node in the tree of one line; ``letters`` of its axes, or None for the whole array."""

    node: Expr
    letters: Word | None
    fresh: int  # the first letter that nothing around it uses
    elementwise: bool = False  # an operand of an elementwise op, where a number suits any shape
    own: Word = ()  # letters that a whole array brings itself
    operands: list[int] = field(default_factory=list)
    summed: dict[int, int] = field(default_factory=dict)
    deltas: list[tuple[int, int]] = field(default_factory=list)


def _line(graph: _Graph, node: Expr, name: str, notation: Notation) -> str:
    letters, piece = _body(graph, node, notation)
    return notation.line(name, letters, piece)


def _body(graph: _Graph, node: Expr, notation: Notation) -> tuple[list[str], Piece]:
    """The letters of the left side, if any are needed, and the text of the node itself."""
    word = tuple(range(node.ndim))
    letters = None if graph.is_plain(node) else word
    places = _plan(graph, node, letters)
    pieces: list[Piece] = [Piece("")] * len(places)
    for k in range(len(places) - 1, -1, -1):
        place = places[k]
        operands = [pieces[j] for j in place.operands]
        pieces[k] = _written(graph, place, operands, notation, root=k == 0)
    return [graph.letter(k) for k in letters or ()], pieces[0]


def _plan(graph: _Graph, root: Expr, letters: Word | None) -> list[_Place]:
    """The tree of one line, operands after users."""
    places = [_Place(root, letters, len(letters or ()))]
    for place in places:  # grows as it is read
        node = place.node
        if node in graph.called and len(places) > 1 and place is not places[0]:
            continue
        if not node.shape:
            place.letters = ()
        elif place.letters is None and not graph.is_plain(node):
            place.own = place.letters = tuple(range(place.fresh, place.fresh + node.ndim))
            place.fresh += node.ndim
        words: Iterable[Word | None]
        elementwise = False
        if _spread(node):
            words = [()]
        elif isinstance(node.op, ops.Contract):
            words = _contracted(node.op, place)
        elif isinstance(node.op, ops.Linear | ops.Opaque):
            words = [None] * len(node.args)
        else:
            words, elementwise = [place.letters] * len(node.args), True
        for arg, word in zip(graph.shown(node), words, strict=False):
            place.operands.append(len(places))
            places.append(_Place(arg, word, place.fresh, elementwise))
    return places


def _contracted(op: ops.Contract, place: _Place) -> list[Word | None]:
    """The letters of each operand; notes on ``place`` which are summed and which must be equal."""
    assert place.letters is not None
    names: dict[int, int] = {}
    for inner, outer in zip(op.out, place.letters, strict=True):
        if inner in names:
            place.deltas.append((names[inner], outer))
        else:
            names[inner] = outer
    for word in op.letters:
        for letter in word:
            if letter not in names:
                names[letter] = place.summed[letter] = place.fresh
                place.fresh += 1
    return [tuple(names[letter] for letter in word) for word in op.letters]


# Writing a node -----------------------------------------------------------------------------------


def _written(
    graph: _Graph, place: _Place, operands: list[Piece], notation: Notation, root: bool
) -> Piece:
    """The text of a place, given those of its operands."""
    node = place.node
    letters = [graph.letter(k) for k in place.letters or ()]
    name = None if root else graph.called.get(node)
    if name is not None:
        piece = notation.indexed(notation.name(name), [] if name == "..." else letters)
        # The name of a sum stands for a sum in brackets.
        return replace(piece, bracket_first=isinstance(node.op, ops.Sum))
    op = node.op
    if _spread(node):
        if place.elementwise or place.letters is not None:
            return operands[0]
        shape = notation.literal(shape_text(node.shape))
        return notation.call("full", [shape, operands[0].text])
    if isinstance(op, ops.Contract):
        piece = _contraction(graph, op, place, operands, notation)
        return _array_of(graph, place, piece, notation)
    if not node.args and not isinstance(op, ops.Sum):
        return notation.indexed(_leaf(graph, node, notation), letters)
    if isinstance(op, ops.Linear | ops.Opaque):
        piece = _array_call(node, operands, notation)
        return notation.indexed(piece.text, letters)
    piece = _elementwise(node, operands, notation, cut=len(operands) < len(node.args))
    return _array_of(graph, place, piece, notation)


def _array_of(graph: _Graph, place: _Place, element: Piece, notation: Notation) -> Piece:
    letters = [graph.letter(k) for k in place.own]
    return notation.anonymous(letters, element) if letters else element


def _leaf(graph: _Graph, node: Expr, notation: Notation) -> str:
    op = node.op
    if isinstance(op, ops.Exact):
        return notation.exact(op.name, op.name in graph.taken)
    if not isinstance(op, ops.Constant):
        return notation.name(op.name)
    if op.value.size <= ops.LISTED:
        return notation.literal(str(op.value.tolist()))
    text = f"array(shape={shape_text(node.shape)}, dtype={op.value.dtype})"
    return notation.literal(text)


def _elementwise(node: Expr, operands: list[Piece], notation: Notation, cut: bool) -> Piece:
    op = node.op
    match op:
        case ops.Sum():
            terms: list[tuple[Number, Piece | None]] = list(zip(op.coefs, operands, strict=False))
            if not node.args:
                return notation.number(op.const)
            if op.const != 0:
                terms.append((op.const, None))
            return notation.sum(terms, cut)
        case ops.Product():
            return _product(node, operands, notation)
        case ops.Pointwise() if is_decision(op):
            return over_formula(
                node, operands, lambda x, pieces: _elementwise(x, pieces, notation, cut=False)
            )
        case ops.Pointwise() if _is_reciprocal(node):
            return notation.quotient(1, (), [notation.function(PRIMITIVES["expm1"], operands[1:])])
        case ops.Pointwise(primitive=True, name="power"):
            return notation.general_power(*operands)
        case ops.Pointwise(primitive=True, name="logical_not"):
            return notation.negation(*operands)
        case ops.Pointwise(primitive=True, name=name) if name in _INFIX:
            sign, level = _INFIX[name], _LEVELS.get(_INFIX[name], COMPARE)
            if sign in _MIRRORED and number_of(node.args[0]) is not None:  # 0 < x reads x > 0
                sign, operands = _MIRRORED[sign], operands[::-1]
            return notation.infix(sign, level, *operands)
        case ops.Strong():
            return notation.call("strong_both" if all(op.kills) else "strong", _texts(operands))
        case ops.Barrier():
            if op is ops.REAL:
                return operands[0]
            return notation.call("detach" if op is ops.DETACH else "no_graph", _texts(operands))
    assert isinstance(op, ops.Pointwise)
    return notation.function(op, operands)


def _texts(pieces: Iterable[Piece]) -> list[str]:
    return [piece.text for piece in pieces]


def _is_reciprocal(node: Expr) -> bool:
    """Whether the node is bose(0, x), which is written as it is typed: 1/expm1(x)."""
    return node.op is _BOSE and number_of(node.args[0]) == 0


def _product(node: Expr, operands: Sequence[Piece], notation: Notation) -> Piece:
    op = node.op
    assert isinstance(op, ops.Product)
    factors: list[Piece] = []
    divisors: list[Piece] = []
    for p, arg, piece in zip(op.exponents, node.args, operands, strict=True):
        if p > 0 and piece.divisors and _is_reciprocal(arg):
            divisors.append(notation.power(piece.divisors[0], p))
            continue
        side, size = (factors, p) if p > 0 else (divisors, -p)
        side.append(notation.power(piece, size))
    swapped = len(factors) == 2 and factors[0].level != PRODUCT == factors[1].level
    if swapped and not factors[1].divisors:  # x*(y*z) needs no brackets as y*z*x
        factors.reverse()
    return notation.quotient(1, factors, divisors)


def _contraction(
    graph: _Graph, op: ops.Contract, place: _Place, operands: list[Piece], notation: Notation
) -> Piece:
    equal: dict[str, tuple[Piece, int]] = {}
    for piece, kills in zip(operands, op.kills, strict=False):
        factor = notation.call("strong", [piece.text]) if kills else piece
        equal[factor.text] = factor, equal.get(factor.text, (factor, 0))[1] + 1
    factors = [notation.power(factor, times) for factor, times in equal.values()]
    factors += [notation.delta(graph.letter(i), graph.letter(j)) for i, j in place.deltas]
    if len(operands) < len(op.letters):
        factors.append(Piece(notation.name("...")))
    body = notation.quotient(1, factors, ()) if len(factors) != 1 else factors[0]
    summed = [graph.letter(k) for k in place.summed.values()]
    return notation.sum_over(summed, body) if summed else body


def _array_call(node: Expr, operands: list[Piece], notation: Notation) -> Piece:
    """Linear and Opaque ops: functions of whole arrays and of their parameters."""
    op, x = node.op, operands[0]
    texts = _texts(operands)
    if len(operands) < len(node.args):
        texts.append(notation.name("..."))
    if isinstance(op, ops.Slice):
        batch = ["..."] * (len(op.before) < len(node.args[0].shape))
        return notation.sliced(x, [*batch, *ops.steps_text(op.steps)])
    name, parameters = op.called(node.shape)
    return notation.call(name, texts, *parameters)
