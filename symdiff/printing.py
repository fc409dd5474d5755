"""Expressions as text, in index notation.

``text`` is complete and linear in the nodes: a subexpression that is used again, or that is long,
gets a name and a line of its own.  ``short`` is one bounded line and looks at a bounded number of
nodes.

Two steps: ``_plan`` lays out the tree that one line shows and hands the letters down from each node
to its operands; then the line is put together from the leaves up.  All that depends on the notation
is in ``Notation``; another one (LaTeX) is a subclass.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import count, islice
from typing import TYPE_CHECKING

from symdiff import ops
from symdiff.leaves import number_of
from symdiff.letters import letter_name, shape_text
from symdiff.node import topological

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from symdiff.expr import Expr
    from symdiff.letters import Word
    from symdiff.number import Number
    from symdiff.ops import Step

_LONG = 500  # characters from which on a subexpression has a line of its own
_SHARED = 10  # the same, if it is used more than once
_SHORT_LINE = 160
_SHORT_PART = 120
_SHORT_NODES = 60
_SHORT_OPERANDS = 8
_LISTED = 6  # elements up to which an array is written out

# How strongly the outermost sign of a text binds, as in Python.
_OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT, _POWER, _ATOM = range(1, 9)

_INFIX = {
    "less": ("<", _COMPARE),
    "less_equal": ("<=", _COMPARE),
    "equal": ("==", _COMPARE),
    "not_equal": ("!=", _COMPARE),
    "logical_and": ("and", _AND),
    "logical_or": ("or", _OR),
}

_MIRRORED = {"<": ">", "<=": ">="}


@dataclass(frozen=True, slots=True)
class Piece:
    """A text and how strongly its outermost sign binds; of a product also its factors and divisors.

    ``bracket_first`` says that it begins with a sum in brackets, into which Python would pull a
    minus sign.
    """

    text: str
    level: int = _ATOM
    factors: tuple[Piece, ...] = ()
    divisors: tuple[Piece, ...] = ()
    bracket_first: bool = False


class Notation:
    """The notation of ``str``: Python's for scalars, as ``parse`` reads it; [i,j] for arrays."""

    def wrapped(self, piece: Piece, level: int) -> str:
        """The text of ``piece`` where something binding as strongly as ``level`` is needed."""
        return piece.text if piece.level >= level else f"({piece.text})"

    def number(self, c: Number) -> Piece:
        """A number: 2, 1/3, 0.1."""
        if isinstance(c, float):
            return Piece(repr(c), _SUM if c < 0 else _ATOM)
        level = _SUM if c < 0 else _PRODUCT if c.denominator != 1 else _ATOM
        text = _digits(c.numerator)
        return Piece(text if c.denominator == 1 else f"{text}/{_digits(c.denominator)}", level)

    def power(self, base: Piece, exponent: int | Fraction) -> Piece:
        """A base to a positive number."""
        if exponent == 1:
            return base
        if exponent == Fraction(1, 2):
            return self.call("sqrt", [base.text])
        number = self.number(_decimal(exponent))
        return Piece(f"{self.wrapped(base, _ATOM)}**{self.wrapped(number, _ATOM)}", _POWER)

    def quotient(self, c: Number, factors: Sequence[Piece], divisors: Sequence[Piece]) -> Piece:
        """``c`` times the factors by the divisors, for c > 0, associated from the left."""
        over, under = (c, 1) if isinstance(c, float) else (c.numerator, c.denominator)
        texts = [] if over == 1 and factors else [self.number(over).text]
        # In the first place, a product needs no brackets.
        texts += [
            self.wrapped(factor, _POWER if k else _PRODUCT) for k, factor in enumerate(factors)
        ]
        if under != 1 and len(divisors) == 1:
            below = [f"({_digits(under)}*{self.wrapped(divisors[0], _PRODUCT)})"]
        else:
            below = [] if under == 1 else [_digits(under)]
            below += [self.wrapped(divisor, _POWER) for divisor in divisors]
        text = "/".join(["*".join(texts), *below])
        if len(texts) == 1 and not below:
            return factors[0] if factors else Piece(text)
        first = not texts[0].startswith("-") and bool(factors) and (over == 1)
        bracket = first and (factors[0].level < _PRODUCT or factors[0].bracket_first)
        return Piece(text, _PRODUCT, tuple(factors), tuple(divisors), bracket)

    def negative(self, c: Number, piece: Piece) -> str:
        """The first term of a sum, ``-c`` times ``piece``; the minus must not enter a bracket."""
        under = 1 if isinstance(c, float) else c.denominator
        if c * under != 1 or not (piece.level < _PRODUCT or piece.bracket_first):
            return "-" + self.scaled(c, piece).text
        if not piece.factors:
            return f"0 - ({piece.text})" if under == 1 else f"-1/{_digits(under)}*({piece.text})"
        return f"-({piece.text})" + (f"/{_digits(under)}" if under != 1 else "")

    def scaled(self, c: Number, piece: Piece) -> Piece:
        """``c`` times ``piece``, for c > 0."""
        if c == 1:
            return piece
        if piece.factors or piece.divisors:
            return self.quotient(c, piece.factors, piece.divisors)
        return self.quotient(c, (piece,), ())

    def sum(self, terms: Sequence[tuple[Number, Piece | None]], cut: bool = False) -> Piece:
        """A sum of coefficients times pieces; a term without a piece is a number."""
        first = next((k for k, (c, piece) in enumerate(terms) if not c < 0 and piece), None)
        if first is None:
            first = next((k for k, (c, _) in enumerate(terms) if not c < 0), 0)
        ordered = [terms[first], *terms[:first], *terms[first + 1 :]]
        texts: list[str] = []
        for c, piece in ordered:
            minus = c < 0
            size = -c if minus else c
            if piece is not None and minus and not texts:
                texts.append(self.negative(size, piece))
                continue
            term = self.number(size) if piece is None else self.scaled(size, piece)
            alone = len(ordered) == 1 and not minus
            if alone and not cut:
                return term
            body = self.wrapped(term, _PRODUCT)
            sign = "-" if minus else "+"
            texts.append(f"{sign} {body}" if texts else body if not minus else f"-{body}")
        if cut:
            texts.append("+ ...")
        return Piece(" ".join(texts), _SUM)

    def infix(self, sign: str, level: int, a: Piece, b: Piece) -> Piece:
        """A comparison, ``and`` or ``or``."""
        left = level if level < _NOT else level + 1
        return Piece(f"{self.wrapped(a, left)} {sign} {self.wrapped(b, level + 1)}", level)

    def negation(self, a: Piece) -> Piece:
        """``not a``."""
        return Piece(f"not {self.wrapped(a, _NOT)}", _NOT)

    def general_power(self, base: Piece, exponent: Piece) -> Piece:
        """``base ** exponent``."""
        return Piece(f"{self.wrapped(base, _ATOM)}**{self.wrapped(exponent, _POWER)}", _POWER)

    def call(self, name: str, arguments: Iterable[str]) -> Piece:
        """A function of arguments."""
        return Piece(f"{name}({', '.join(arguments)})")

    def indexed(self, name: str, letters: Sequence[str]) -> Piece:
        """An element of an array."""
        return Piece(f"{name}[{','.join(letters)}]" if letters else name)

    def delta(self, i: str, j: str) -> Piece:
        """1 where two letters are equal, else 0."""
        return Piece(f"delta[{i},{j}]")

    def sum_over(self, letters: Sequence[str], body: Piece) -> Piece:
        """The sum over letters."""
        return Piece(f"sum[{','.join(letters)}]({body.text})")

    def anonymous(self, letters: Sequence[str], body: Piece) -> Piece:
        """The array of the elements ``body``."""
        return Piece(f"[{','.join(letters)}]({body.text})")

    def line(self, name: str, letters: Sequence[str], body: Piece) -> str:
        """A definition; the result has no name, and a left side only if it has letters."""
        left = f"{name}[{','.join(letters)}]" if letters else name
        return f"{left} = {body.text}" if left else body.text


def _digits(value: int) -> str:
    # str() refuses more than 4300 digits.
    return str(value) if value.bit_length() < 10_000 else hex(value)


def _decimal(exponent: int | Fraction) -> Number:
    """An exponent that was a float as that float."""
    if isinstance(exponent, Fraction) and exponent.denominator > 1024:
        nearest = float(exponent)
        if Fraction(nearest) == exponent:
            return nearest
    return exponent


PLAIN = Notation()


def text(expr: Expr, notation: Notation = PLAIN) -> str:
    """``expr`` in index notation, ``sum[j](A[i,j]*x[j])``; repeated and long parts have own lines.

    The axes of every array are named in their order: the element of a value is ``[i,j,k]``, summed
    letters come after.  ``delta[i,j]`` is an identity.  The text is linear in the number of nodes.
    A single line of real scalar symbols and functions of the vocabulary is read back by ``parse``
    to the same expression.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> print(text(sd.diff(sd.exp(-x**2 / 2) / 3, x)))
    -x*exp(-x**2/2)/3
    >>> print(text(sd.symbol("A", (2, 3)) @ sd.symbol("b", 3)))
    [i] = sum[j](A[i,j]*b[j])
    """
    nodes = topological([expr])
    graph = _Graph(nodes)
    names = _names("t", graph.taken)
    uses = dict.fromkeys(nodes, 0)
    lettered: set[Expr] = set()  # arrays that are arguments, and cannot be written without letters
    for node in nodes:
        for arg in node.args:
            uses[arg] += 1
            if isinstance(node.op, ops.Linear | ops.Opaque) and not graph.is_plain(arg):
                lettered.add(arg)
    lines = []
    for node in nodes:
        size = graph.measure(node)
        if isinstance(node.op, ops.Constant):
            named = node.op.value.size > _LISTED
        else:
            named = bool(node.args) and not _spread(node)
            named &= size > _LONG or (uses[node] > 1 and size >= _SHARED) or node in lettered
        if named and node is not expr:
            lines.append((node, next(names)))
            graph.called[node] = lines[-1][1]
    lines.append((expr, ""))
    return "\n".join(_line(graph, node, name, notation) for node, name in lines)


def short(expr: Expr, notation: Notation = PLAIN) -> str:
    """One line of bounded length for ``repr``; deep and wide parts are ``...``.

    Arrays show their shape.  The axes are i, j, k, ... in their order.

    >>> import symdiff as sd
    >>> x, A = sd.symbol("x"), sd.symbol("A", (2, 3))
    >>> print(short(x * sd.sin(x)), short(A), short(A.T))
    x*sin(x) <A: (2, 3)> <A[j,i]: (3, 2)>
    """
    near = {expr: None}
    for node in _breadth_first(near):
        for arg in islice(node.args, _SHORT_OPERANDS):
            if len(near) < _SHORT_NODES:
                near.setdefault(arg)
    nodes = sorted(near, key=lambda node: node.serial)
    graph = _Graph(nodes, width=_SHORT_OPERANDS)
    for node in nodes:
        graph.called.update({arg: "..." for arg in graph.shown(node) if arg not in near})
        if graph.measure(node) > _SHORT_PART and node is not expr:
            graph.called[node] = "..."
    _, piece = _body(graph, expr, notation)
    line = piece.text if len(piece.text) <= _SHORT_LINE else piece.text[:_SHORT_LINE] + "..."
    return f"<{line}: {shape_text(expr.shape)}>" if expr.shape else line


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
        return 20 + 3 * min(op.index.size, _LISTED)
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
        piece = notation.indexed(name, [] if name == "..." else letters)
        # The name of a sum stands for a sum in brackets.
        return replace(piece, bracket_first=isinstance(node.op, ops.Sum))
    op = node.op
    if _spread(node):
        if place.elementwise or place.letters is not None:
            return operands[0]
        return notation.call("full", [shape_text(node.shape), operands[0].text])
    if isinstance(op, ops.Contract):
        piece = _contraction(graph, op, place, operands, notation)
        return _array_of(graph, place, piece, notation)
    if not node.args and not isinstance(op, ops.Sum):
        return notation.indexed(_leaf(node), letters)
    if isinstance(op, ops.Linear | ops.Opaque):
        piece = _array_call(node, operands, notation)
        return notation.indexed(piece.text, letters)
    piece = _elementwise(node, operands, notation, cut=len(operands) < len(node.args))
    return _array_of(graph, place, piece, notation)


def _array_of(graph: _Graph, place: _Place, element: Piece, notation: Notation) -> Piece:
    letters = [graph.letter(k) for k in place.own]
    return notation.anonymous(letters, element) if letters else element


def _leaf(node: Expr) -> str:
    op = node.op
    if not isinstance(op, ops.Constant):
        return op.name
    if op.value.size <= _LISTED:
        return str(op.value.tolist())
    return f"array(shape={shape_text(node.shape)}, dtype={op.value.dtype})"


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
            return _product(op.exponents, operands, notation)
        case ops.Pointwise(primitive=True, name="power"):
            return notation.general_power(*operands)
        case ops.Pointwise(primitive=True, name="logical_not"):
            return notation.negation(*operands)
        case ops.Pointwise(primitive=True, name=name) if name in _INFIX:
            sign, level = _INFIX[name]
            if sign in _MIRRORED and number_of(node.args[0]) is not None:  # 0 < x reads x > 0
                sign, operands = _MIRRORED[sign], operands[::-1]
            return notation.infix(sign, level, *operands)
        case ops.Strong():
            return notation.call("strong_both" if all(op.kills) else "strong", _texts(operands))
        case ops.Barrier():
            return notation.call("detach" if op is ops.DETACH else "no_graph", _texts(operands))
    return notation.call(op.name, _texts(operands))


def _texts(pieces: Iterable[Piece]) -> list[str]:
    return [piece.text for piece in pieces]


def _product(
    exponents: Sequence[int | Fraction], operands: Sequence[Piece], notation: Notation
) -> Piece:
    factors: list[Piece] = []
    divisors: list[Piece] = []
    for p, piece in zip(exponents, operands, strict=True):
        side, size = (factors, p) if p > 0 else (divisors, -p)
        side.append(notation.power(piece, size))
    swapped = len(factors) == 2 and factors[0].level != _PRODUCT == factors[1].level
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
        factors.append(Piece("..."))
    body = notation.quotient(1, factors, ()) if len(factors) != 1 else factors[0]
    summed = [graph.letter(k) for k in place.summed.values()]
    return notation.sum_over(summed, body) if summed else body


def _array_call(node: Expr, operands: list[Piece], notation: Notation) -> Piece:
    """Linear and Opaque ops: functions of whole arrays and of their parameters."""
    op, x = node.op, operands[0]
    more = ["..."] * (len(operands) < len(node.args))
    match op:
        case ops.Reshape():
            return notation.call("reshape", [x.text, shape_text(node.shape)])
        case ops.Slice():
            batch = ["..."] * (len(op.before) < len(node.args[0].shape))
            return Piece(f"{notation.wrapped(x, _ATOM)}[{', '.join([*batch, *_steps(op.steps)])}]")
        case ops.Unslice():
            steps = f"[{', '.join(_steps(op.steps))}]"
            return notation.call("unslice", [x.text, steps, shape_text(node.shape)])
        case ops.Gather() | ops.Scatter():
            listed = op.index.size <= _LISTED
            index = str(op.index.tolist()) if listed else f"index{shape_text(op.index.shape)}"
            shape = op.before if isinstance(op, ops.Gather) else node.shape
            return notation.call(op.name, [x.text, index, shape_text(shape)])
        case ops.Concat() | ops.Cumsum():
            reverse = ["reverse=True"] * (isinstance(op, ops.Cumsum) and op.reverse)
            return notation.call(op.name, [*_texts(operands), *more, f"axis={op.axis}", *reverse])
        case ops.Flip():
            axis = op.axes[0] if len(op.axes) == 1 else op.axes
            return notation.call("flip", [x.text, f"axis={axis}"])
        case ops.Triangle():
            diagonal = [f"k={op.diagonal}"] * (op.diagonal != 0)
            return notation.call("tril" if op.lower else "triu", [x.text, *diagonal])
    parameters = [f"{name}={getattr(op, name)}" for name in op.fields]
    return notation.call(op.name, [*_texts(operands), *more, *parameters])


def _steps(steps: Iterable[Step]) -> list[str]:
    """Slices as they are typed: ``1:``, ``::2``."""
    written = []
    for start, stop, step in steps:
        text = f"{start or ''}:{'' if stop is None else stop}"
        written.append(text if step == 1 else f"{text}:{step}")
    return written
