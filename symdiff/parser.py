"""Text to expressions: Python's grammar, a whitelist over its syntax tree, and nothing evaluated.

A text goes through three steps.  ``_scan`` splits it into words and refuses what no formula has,
with a remedy where there is one; it also cuts long chains of ``+`` and ``*`` into parts, since
Python's parser nests them and gives up on some thousands.  ``ast.parse`` reads each part.
``_Reader`` makes nodes of its tree, without recursion, from a table of the operators and functions
that a formula may use.
"""

from __future__ import annotations

import ast
import difflib
import keyword
import math
import operator
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Mapping
from fractions import Fraction
from functools import partial, reduce
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeGuard

from symdiff import functions, ops
from symdiff.algebra import combine, int_power, primitive
from symdiff.contraction import strong
from symdiff.errors import ParseError, ShapeError, Unsupported
from symdiff.expr import Expr, e, pi
from symdiff.leaves import as_expr, number_node, number_of, symbol
from symdiff.number import decimal
from symdiff.scalar import VOCABULARY, arity
from symdiff.vocabulary import FACTS, Polynomial

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from symdiff.number import Number

_MOST_CHARACTERS = 1_000_000
_MOST_DIGITS = 1000
_MOST_BITS = math.ceil(_MOST_DIGITS * math.log2(10))
_TOO_LONG = f"a number of more than {_MOST_DIGITS} digits"
_CHAIN = 64  # operators of one chain that are left to Python's parser, which nests them
_PART = "__part"  # names of the text do not begin with two underscores, so this is free


# The language -------------------------------------------------------------------------------------


class Function(NamedTuple):
    """A function of the language: what it builds, and how many operands it takes (None: any)."""

    build: Callable[..., Expr]
    least: int
    most: int | None


def _log(x: Expr, base: Expr | None = None) -> Expr:
    return functions.log(x) if base is None else functions.log(x) / functions.log(base)


def _nested(build: Callable[[Expr, Expr], Expr]) -> Function:
    return Function(lambda *operands: reduce(build, operands), 2, None)


def _reciprocal(build: Callable[[Expr], Expr]) -> Function:
    return Function(lambda x: int_power(build(x), -1, True), 1, 1)


def _functions() -> dict[str, Function]:
    table = {}
    for name in VOCABULARY:
        table[name] = Function(partial(primitive, name), arity(name), arity(name))
    unary = "sqrt square reciprocal negative positive round deg2rad rad2deg logit"
    unary += " factorial j0 j1 y0 y1 i0 i1 k0 k1 i0e i1e k0e k1e exp1"
    binary = "add subtract multiply divide power greater greater_equal polygamma expn"
    binary += " jv yv iv kv ive kve multigammaln"
    for n, names in ((1, unary), (2, binary)):
        table |= {name: Function(getattr(functions, name), n, n) for name in names.split()}
    for name in VOCABULARY:
        if issubclass(VOCABULARY[name], Polynomial):  # whose orders are checked
            table[name] = table[name]._replace(build=getattr(functions, name))
    table |= {
        "lambertw": Function(functions.lambertw, 1, 2),
        "zeta": Function(functions.zeta, 1, 2),
        "log": Function(_log, 1, 2),
        "maximum": _nested(functions.maximum),
        "minimum": _nested(functions.minimum),
        "sec": _reciprocal(functions.cos),
        "csc": _reciprocal(functions.sin),
        "cot": _reciprocal(functions.tan),
        "sech": _reciprocal(functions.cosh),
        "csch": _reciprocal(functions.sinh),
        "coth": _reciprocal(functions.tanh),
        # Products in the derivatives of selections: 0 where the first factor, or either one, is
        # exactly 0.
        "strong": Function(partial(strong, kills=(True, False)), 2, 2),
        "strong_both": Function(partial(strong, kills=(True, True)), 2, 2),
    }
    aliases = {name: facts.aliases for name, facts in FACTS.items()}
    aliases |= {"divide": "true_divide", "deg2rad": "radians", "rad2deg": "degrees"}
    for name, others in aliases.items():
        table |= dict.fromkeys(others.split(), table[name])
    return table


FUNCTIONS: dict[str, Function] = _functions()
"""The functions that a text may call."""

CONSTANTS: dict[str, Expr] = {
    "pi": pi,
    "e": e,
    "inf": number_node(math.inf),
    "nan": number_node(math.nan),
}
"""The names that are numbers; every other name is a symbol."""

_BINARY: dict[type[ast.operator], Callable[[Expr, Expr], Expr]] = {
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_UNARY: dict[type[ast.unaryop], Callable[[Expr], Expr]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.invert,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Expr, Expr], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_LOGIC: dict[type[ast.boolop], Callable[[Expr, Expr], Expr]] = {
    ast.And: operator.and_,
    ast.Or: operator.or_,
}


def parse(text: str, symbols: Mapping[str, Expr] | Iterable[Expr] = ()) -> Expr:
    """The expression that ``text`` writes, as Python's operators build it; nothing is evaluated.

    Names are scalar symbols, equal to ``symbol(name)``, except the numbers ``pi``, ``e``, ``inf``
    and ``nan``; Euler's number is the small ``e``, and ``E`` is a symbol, where SymPy has it the
    other way round.  A name in front of a bracket is a function: ``gamma`` is a symbol,
    ``gamma(x)`` the function.  Functions go by their array-API, NumPy and mathematical names
    (``acos``, ``arccos``, ``ln``).  Integers are exact, so that ``x/3`` is a third of x; a decimal
    number is the float that it denotes.  Operators are ``+ - * / // % **``, comparisons (also in
    chains), ``and``, ``or`` and ``not``.

    Args:
        text: one formula of at most a million characters, in which no number has more than 1000
        digits. symbols: other meanings of names: expressions by name, or symbols (``[symbol("e")]``
        makes e one).

    Raises ParseError for anything else, with the position marked in its message and given by
    ``.position``; ShapeError if array-valued ``symbols`` do not broadcast.

    >>> import symdiff as sd
    >>> x, theta = sd.symbols("x theta")
    >>> parse("x*sin(theta/2)**2 + ln(x)") is x * sd.sin(theta / 2) ** 2 + sd.log(x)
    True
    """
    if not isinstance(text, str):
        raise TypeError(f"parse: a text is a str, not {type(text).__name__}")
    named = symbols.items() if isinstance(symbols, Mapping) else ((x.name, x) for x in symbols)
    names = CONSTANTS | {_normal(name): as_expr(value) for name, value in named}
    if len(text) > _MOST_CHARACTERS:
        reason = f"a text of {len(text)} characters; {_MOST_CHARACTERS} are the limit"
        _fail(text, _MOST_CHARACTERS, reason)
    earlier: list[_Terms] = []
    *parts, last = _scan(text)
    for part in parts:
        earlier.append(_Reader(text, part, names, earlier).terms_of_part())
    return _Reader(text, last, names, earlier).whole()


# Errors -------------------------------------------------------------------------------------------


def _fail(text: str, position: int, reason: str) -> NoReturn:
    """Raise ParseError: the reason, the text around the position, and a caret under it."""
    position = max(0, min(position, len(text)))
    start, stop = max(0, position - 50), position + 30
    before, after = "..." if start else "", "..." if stop < len(text) else ""
    # Whatever does not print would move the caret.
    line = "".join(c if c.isprintable() else " " for c in text[start:stop])
    caret = " " * (len(before) + position - start) + "^"
    error = ParseError(f"{reason}\n  {before}{line}{after}\n  {caret}")
    error.text, error.position = text, position
    raise error


# Scanning -----------------------------------------------------------------------------------------

_WORD = re.compile(
    r"""(?P<space> \s+ )
      | (?P<number> (?: [0-9]+ (?:_[0-9]+)* (?:\.[0-9]*)? | \.[0-9]+ ) (?: [eE] [+-]? [0-9]+ )? )
      | (?P<name> (?: \w | [^\x00-\x7f\s−–×·÷√] )+ )
      | (?P<sign> \*\* | // | <= | >= | == | != | [-+*/%<>(),] )
      | (?P<other> . )""",
    re.VERBOSE | re.DOTALL,
)
_LOGICAL = frozenset({"and", "or", "not"})
_SEPARATORS = _LOGICAL | {",", "<", "<=", ">", ">=", "==", "!="}  # they bind less than + and -
_REMEDIES = {
    "^": "a power is written **, not ^",
    ".": "a formula has no attributes",
    "[": "a formula has no subscripts and no lists",
    "{": "a formula has no sets",
    "=": "a formula is no equation; == compares",
    "@": "a formula has no @; parse its operands, and multiply those",
    "&": "write `and`",
    "|": "write `or`, or abs(x) for an absolute value",
    "~": "write `not`",
    "!": "write `not`, or gamma(n + 1) for a factorial",
    "'": "a formula has no strings",
    '"': "a formula has no strings",
    "−": "this minus is another character: write -",
    "–": "this is a dash: write -",
    "×": "write *",
    "·": "write *",
    "÷": "write /",
    "√": "write sqrt(x)",
}


class _Part:
    """The words of a stretch of the text, with their origins; names stand for earlier parts."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.origins: list[int] = []

    def put(self, word: str, origin: int) -> None:
        # One space after each word and none before: Python sees one line that is not indented.
        self.words.append(word + " ")
        self.origins.append(origin)

    def cut(self, start: int) -> _Part:
        """Take the words from number ``start`` on out of this part."""
        part = _Part()
        part.words, part.origins = self.words[start:], self.origins[start:]
        del self.words[start:], self.origins[start:]
        return part

    def origin(self, column: int) -> int:
        """The position in the text of byte number ``column`` of this part."""
        return self.origins[self._number(column)]

    def word(self, column: int) -> str:
        """The word at a column of the part."""
        return self.words[self._number(column)].rstrip()

    def _number(self, column: int) -> int:
        starts = [0, *accumulate(len(word.encode()) for word in self.words[:-1])]
        return bisect_right(starts, column) - 1


class _Level:
    """One level of brackets: where its running sum and product begin, and their lengths."""

    def __init__(self, start: int) -> None:
        self.sum = self.product = start
        self.plus = self.times = 0


def _scan(text: str) -> list[_Part]:
    """The parts of the text; each names earlier ones (``__part0``, ...), the last is the whole."""
    parts: list[_Part] = []
    part = _Part()
    levels = [_Level(0)]
    after_operand = False  # only there are + and - signs between two operands
    for kind, word, position in _words(text):
        level = levels[-1]
        chained = after_operand and word in ("+", "-", "*", "/", "//", "%")
        additive = chained and word in "+-"
        if chained and (level.plus if additive else level.times) == _CHAIN:
            # All that stands before this sign, up to a bracket, comma or comparison, is its left
            # operand.
            start = level.sum if additive else level.product
            parts.append(part.cut(start))
            part.put(f"{_PART}{len(parts) - 1}", parts[-1].origins[0])
            level.plus, level.times = (0 if additive else level.plus), 0
        part.put(word, position)
        here = len(part.words)
        if additive:
            level.plus, level.times, level.product = level.plus + 1, 0, here
        elif chained:
            level.times += 1
        elif word == "(":
            levels.append(_Level(here))
        elif word == ")" and len(levels) > 1:
            levels.pop()
        elif word in _SEPARATORS:
            levels[-1] = _Level(here)
        after_operand = word == ")" or (kind in ("name", "number") and word not in _LOGICAL)
    if not part.words:
        _fail(text, 0, "an empty text is no formula")
    return [*parts, part]


def _words(text: str) -> Iterator[tuple[str, str, int]]:
    """Kind, spelling and position of each word; ParseError for a word that no formula has."""
    number_end = -1
    for match in _WORD.finditer(text):
        kind, word, position = str(match.lastgroup), match.group(), match.start()
        if kind == "space":
            continue
        if kind == "other":
            shown = word if word.isprintable() else f"character U+{ord(word):04X}"
            _fail(text, position, _REMEDIES.get(word, f"{shown} has no place in a formula"))
        if position == number_end and kind in ("name", "number"):
            _fail(text, position, f"a number runs into {word[:20]!r}: write * between factors")
        if kind == "name":
            word = _name(text, word, position)
        elif kind == "number":
            number_end = match.end()
            if len(word) > _MOST_DIGITS:
                _fail(text, position, _TOO_LONG)
        yield kind, word, position


def _normal(name: str) -> str:
    # As Python reads identifiers: the micro sign and the Greek letter mu are one name.
    return unicodedata.normalize("NFKC", name)


def _name(text: str, word: str, position: int) -> str:
    if not word.isidentifier():
        _fail(text, position, f"{word[:20]!r} is no name; powers are written x**2")
    name = _normal(word)
    if name.startswith("__"):
        _fail(text, position, "names that begin with two underscores are refused")
    if keyword.iskeyword(name) and name not in _LOGICAL:
        _fail(text, position, f"{name} is a keyword of Python, not a name; write {name}_")
    return name


# Reading ------------------------------------------------------------------------------------------

_Terms = list[tuple[int, Expr]]  # what a part is worth: the terms of a sum, with their signs


class _Reader:
    """Makes an expression of one part."""

    def __init__(
        self, text: str, part: _Part, names: Mapping[str, Expr], earlier: list[_Terms]
    ) -> None:
        self.text, self.part, self.names, self.earlier = text, part, names, earlier

    def fail(self, node: ast.expr, reason: str) -> NoReturn:
        """Raise ParseError where ``node`` begins; for an operator, at its second operand."""
        place = node.right if isinstance(node, ast.BinOp) else node
        _fail(self.text, self.part.origin(place.col_offset), reason)

    def whole(self) -> Expr:
        """The expression of the part."""
        return self.value(self.tree())

    def terms_of_part(self) -> _Terms:
        """The terms of the part: one, unless it is a sum."""
        chain = self.chain(self.tree())
        return self.terms(chain, [self.value(term) for _, term in self.own(chain)])

    def tree(self) -> ast.expr:
        """Python's syntax tree of the part."""
        source = "".join(self.part.words)
        try:
            return ast.parse(source, mode="eval").body
        except SyntaxError as error:
            before = source[: max(0, (error.offset or 1) - 1)]
            _fail(self.text, self.part.origin(len(before.encode())), f"no formula: {error.msg}")
        except (RecursionError, MemoryError):
            _fail(self.text, self.part.origin(0), "nested too deeply")

    # The terms of a sum are put together at once: a sum of any width is one node, and takes linear
    # time.

    def chain(self, tree: ast.expr) -> list[tuple[int, ast.expr]]:
        """The terms of ``a + b - c``, with their signs, up to a bracket."""
        found: list[tuple[int, ast.expr]] = []
        node = tree
        # Brackets do not show in the tree, but they move the column at which an operand begins.
        while _is_sum(node) and node.col_offset == tree.col_offset:
            found.append((1 if isinstance(node.op, ast.Add) else -1, node.right))
            node = node.left
        return [*found, (1, node)][::-1]

    def own(self, chain: list[tuple[int, ast.expr]]) -> list[tuple[int, ast.expr]]:
        """The chain without the earlier part that it may begin with."""
        return chain[1:] if len(chain) > 1 and self.place(chain[0][1]) is not None else chain

    def terms(self, chain: list[tuple[int, ast.expr]], values: list[Expr]) -> _Terms:
        """The terms of a chain, given the values of its own ones."""
        own = self.own(chain)
        # An earlier part is used once, so its list may grow.
        terms = [] if own is chain else self.earlier[self.place(chain[0][1]) or 0]
        terms += [(sign, value) for (sign, _), value in zip(own, values, strict=True)]
        return terms

    def added(self, terms: _Terms) -> Expr:
        """The sum of the terms."""
        if len(terms) == 1:
            return terms[0][1]
        # The denominators of one coefficient multiply; what comes out is refused, but must not take
        # hours to come.
        fractions = (c for _, x in terms for c in _numbers(x) if isinstance(c, Fraction))
        if sum(c.denominator.bit_length() for c in fractions) > 100 * _MOST_BITS:
            raise ValueError("a sum of too many fractions")
        return combine("add", terms)

    def place(self, node: ast.expr) -> int | None:
        """The number of the earlier part that a name stands for."""
        if isinstance(node, ast.Name) and node.id.startswith(_PART):
            return int(node.id[len(_PART) :])
        return None

    def value(self, root: ast.expr) -> Expr:
        """The expression of a syntax tree."""
        stack: list[tuple[ast.expr, list[ast.expr] | None]] = [(root, None)]
        values: list[Expr] = []
        while stack:
            node, operands = stack.pop()
            if operands is None:
                operands = self.operands(node)
                stack.append((node, operands))
                stack.extend((operand, None) for operand in reversed(operands))
                continue
            first = len(values) - len(operands)
            found, values[first:] = values[first:], []
            values.append(self.built(node, found))
        return values[0]

    def operands(self, node: ast.expr) -> list[ast.expr]:
        """The operands of a node of the tree, if the node is one that a formula may have."""
        match node:
            case ast.Name() | ast.Constant():
                return []
            case ast.BinOp(op=ast.Add() | ast.Sub()):
                return [term for _, term in self.own(self.chain(node))]
            case ast.BinOp(op=op) if type(op) in _BINARY:
                return [node.left, node.right]
            case ast.UnaryOp(op=op) if type(op) in _UNARY:
                return [node.operand]
            case ast.BoolOp():
                return node.values
            case ast.Compare():
                return [node.left, *node.comparators]
            case ast.Call():
                self.check_call(node)
                return node.args
            case ast.Tuple():
                self.fail(node, "a formula is one value; a comma stands only between operands")
            case _:
                self.fail(node, f"{type(node).__name__} has no place in a formula")

    def check_call(self, node: ast.Call) -> None:
        """Refuse a call of anything but a known function with as many operands as it takes."""
        if not isinstance(node.func, ast.Name):
            self.fail(node, "only functions can be called; write * between factors")
        name = node.func.id
        function = FUNCTIONS.get(name)
        if function is None:
            near = difflib.get_close_matches(name[:40], FUNCTIONS, n=1) if len(name) > 2 else []
            hint = f"did you mean {near[0]}?" if near else "write * between factors"
            self.fail(node, f"{name[:40]} is not a function here; {hint}")
        if node.keywords or any(isinstance(arg, ast.Starred) for arg in node.args):
            self.fail(node, f"{name}: operands are given by position")
        count, least, most = len(node.args), function.least, function.most
        if count < least or (most is not None and count > most):
            span = f"{least} to {most}" if most else f"at least {least}"
            takes = f"{least}" if least == most else span
            self.fail(node, f"{name} takes {takes} operand{'s' * (takes != '1')}, not {count}")

    def built(self, node: ast.expr, values: list[Expr]) -> Expr:
        """The expression of a node of the tree, given those of its operands."""
        try:
            result = self.build(node, values)
        except (ShapeError, ParseError):
            raise
        except (ArithmeticError, ValueError, Unsupported) as error:
            self.fail(node, str(error))
        if any(_bits(c) > _MOST_BITS for c in _numbers(result)):
            self.fail(node, _TOO_LONG)
        return result

    def build(self, node: ast.expr, values: list[Expr]) -> Expr:
        match node:
            case ast.Name():
                return self.named(node)
            case ast.Constant():
                return self.number(node)
            case ast.BinOp(op=ast.Add() | ast.Sub()):
                return self.added(self.terms(self.chain(node), values))
            case ast.BinOp(op=op):
                if isinstance(op, ast.Pow):
                    self.check_power(node, *values)
                return _BINARY[type(op)](*values)
            case ast.UnaryOp(op=op):
                return _UNARY[type(op)](*values)
            case ast.BoolOp(op=op):
                return reduce(_LOGIC[type(op)], values)
            case ast.Compare(ops=signs):
                pairs = zip(signs, values, values[1:], strict=False)
                truths: list[Expr] = [_COMPARE[type(sign)](a, b) for sign, a, b in pairs]
                return reduce(_LOGIC[ast.And], truths)
            case ast.Call(func=ast.Name(id=name)):
                if name in ("pow", "power"):
                    self.check_power(node, *values)
                return FUNCTIONS[name].build(*values)
        raise AssertionError(node)

    def named(self, node: ast.Name) -> Expr:
        """The meaning of a name."""
        place = self.place(node)
        if place is not None:
            return self.added(self.earlier[place])
        known = self.names.get(node.id)
        return symbol(node.id) if known is None else known

    def number(self, node: ast.Constant) -> Expr:
        """The number of a literal: exact where the floats have only infinity or 0 for it."""
        value = node.value
        if type(value) not in (int, float):
            self.fail(node, f"{value!r:.20} is not a real number")
        if isinstance(value, float) and (math.isinf(value) or value == 0):
            return as_expr(decimal(self.part.word(node.col_offset)))
        return as_expr(value)

    def check_power(self, node: ast.expr, base: Expr, exponent: Expr) -> None:
        """Refuse a power that would be folded to a number of too many digits, before it is."""
        p = number_of(exponent)
        if p is None or isinstance(p, float):
            return
        times = min(p if p > 0 else -p, _MOST_BITS + 1)
        for c in _numbers(base):
            if c not in (0, 1, -1) and _log2(c) * times > _MOST_BITS:
                self.fail(node, _TOO_LONG)


def _is_sum(node: ast.expr) -> TypeGuard[ast.BinOp]:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub)


def _numbers(x: Expr) -> tuple[Number, ...]:
    """The numbers in the topmost node of ``x``, where all folding happens."""
    op = x.op
    if isinstance(op, ops.Sum):
        return (op.const, *op.coefs)
    if isinstance(op, ops.Product):
        return op.exponents
    value = number_of(x)
    return () if value is None else (value,)


def _bits(c: Number) -> int:
    return 0 if isinstance(c, float) else max(c.numerator.bit_length(), c.denominator.bit_length())


def _log2(c: Number) -> float:
    return 0.0 if isinstance(c, float) else math.log2(max(abs(c.numerator), c.denominator))
