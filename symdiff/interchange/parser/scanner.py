"""Split text into words, refuse all that no formula has, and cut long chains into parts."""

from __future__ import annotations

import keyword
import math
import re
import unicodedata
from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from symdiff.errors import ParseError, ShapeError
from symdiff.locks import cached_property

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_DIGITS = 1000
MOST_BITS = math.ceil(MOST_DIGITS * math.log2(10))
TOO_LONG = f"a number of more than {MOST_DIGITS} digits"
_CHAIN = 64  # the longest chain for Python's parser, which nests operators
# Names in a text cannot begin with two underscores, so these are free.
PART = "__part"
EXACT = "__"


# Errors -------------------------------------------------------------------------------------------


class _Misfit(ParseError, ShapeError):
    """The error for arrays in a text whose shapes do not fit."""


def fail(text: str, position: int, reason: str, misfit: bool = False) -> NoReturn:
    """Raise ParseError: the reason, the text around the position, and a caret under it.

    A misfit of shapes is a ShapeError as well.
    """
    position = max(0, min(position, len(text)))
    start, stop = max(0, position - 50), position + 30
    before, after = "..." if start else "", "..." if stop < len(text) else ""
    # A character without a printed form would move the caret.
    line = "".join(c if c.isprintable() else " " for c in text[start:stop])
    caret = " " * (len(before) + position - start) + "^"
    error = (_Misfit if misfit else ParseError)(f"{reason}\n  {before}{line}{after}\n  {caret}")
    error.text, error.position = text, position
    raise error


# Words --------------------------------------------------------------------------------------------

_WORD = re.compile(
    r"""(?P<space> \s+ )
      | (?P<number> (?: [0-9]+ (?:_[0-9]+)* (?:\.[0-9]*)? | \.[0-9]+ ) (?: [eE] [+-]? [0-9]+ )? )
      | sd\.(?P<exact> pi | e ) (?!\w)
      | (?P<name> (?: \w | [^\x00-\x7f\s−–×·÷√] )+ )
      | (?P<sign> \*\* | // | <= | >= | == | != | \.\.\. | [-+*/%<>(),@:=\[\]] )
      | (?P<transposed> \. m? T (?!\w) )
      | (?P<string> '[\w ,.>-]*' | "[\w ,.>-]*" )
      | (?P<other> . )""",
    re.VERBOSE | re.DOTALL,
)
_LOGICAL = frozenset({"and", "or", "not"})
_KEYWORDS = _LOGICAL | {"None", "True", "False"}
_CHAINED = frozenset({"+", "-", "*", "/", "//", "%", "@"})
# These bind less tightly than + and -.
_SEPARATORS = _LOGICAL | {",", ":", "=", "<", "<=", ">", ">=", "==", "!="}
_OPERANDS = frozenset({"name", "number", "exact", "transposed", "string"})
_REMEDIES = {
    "^": "a power is written **, not ^",
    ".": "a formula has no attributes but .T and .mT",
    "{": "a formula has no sets",
    "=": "a formula is not an equation; == compares",
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
LAMBDA = (
    "lambda is a keyword of Python: write lambda_ for a symbol; texts of loops and solutions are "
    "not read back: build the expression again, or pickle it"
)
UNKNOWN = (
    " is an unknown function, and this is a derivative of it: a text is not read back as one; "
    "build it again with sd.function, or pickle it"
)
# What follows the name of an unknown function in the text of a derivative: theta', u^(1,2).
_DERIVATIVE = re.compile(r"'+(?![\w'])|\^\([0-9]+(,[0-9]+)*\)")
INDEX_NOTATION = "index notation is not read back: write sum(...), @ or einsum('ij,j->i', A, b)"


class Stretch:
    """The words of a part of the text, with their positions; names stand for earlier parts."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.origins: list[int] = []

    def put(self, word: str, origin: int) -> None:
        """Append a word with its position in the text."""
        # One space after each word and none before: Python sees one line that is not indented.
        self.words.append(word + " ")
        self.origins.append(origin)

    def cut(self, start: int) -> Stretch:
        """Remove the words from number ``start`` on, and return them as a new part."""
        part = Stretch()
        part.words, part.origins = self.words[start:], self.origins[start:]
        del self.words[start:], self.origins[start:]
        return part

    def origin(self, column: int) -> int:
        """The position in the text of byte number ``column`` of this part."""
        return self.origins[self._word_number(column)]

    def word(self, column: int) -> str:
        """The word at a column of the part."""
        return self.words[self._word_number(column)].rstrip()

    def _word_number(self, column: int) -> int:
        return bisect_right(self.starts, column) - 1

    @cached_property
    def starts(self) -> list[int]:
        """The columns at which the words begin; valid once the part is complete."""
        return [0, *accumulate(len(word.encode()) for word in self.words[:-1])]


class _Level:
    """A level of brackets: the start and length of its current sum and product."""

    def __init__(self, start: int, bracket: str = "", called: bool = False) -> None:
        self.sum = self.product = start
        self.plus = self.times = 0
        self.bracket, self.called = bracket, called

    def begin(self, start: int) -> None:
        """Start another sum on the same level."""
        self.sum = self.product = start
        self.plus = self.times = 0


class Line(NamedTuple):
    """A formula in the text, with the name that it defines (if any) and its position."""

    name: str
    position: int
    start: int
    stop: int


# The equations after a formula: "where x**2 - a = 0, x near 1"; where(c, a, b) is a function.
_EQUATIONS = re.compile(r"(?<=\s)where\s+(?![\s(])(?P<rest>.*)", re.DOTALL)
_SOLVED = (
    re.compile(r"(\w+) (?:near|minimizes|has|is the first)\b"),
    re.compile(r"(\w+)(?:\[[^\]]*\]|'(?:\(\w+\))?)? = "),
)
SOLVED = (
    " is a solution or a loop, which the equations after `where` define: such a text is not read "
    "back; build the expression again, or pickle it"
)


def refuse_equations(text: str) -> None:
    """Refuse the text of a formula with a solution or a loop, by the name of the first one."""
    match = _EQUATIONS.search(text)
    if match is not None:
        line = match["rest"].split("\n")[0]
        found = next((x for x in (named.search(line) for named in _SOLVED) if x), None)
        name = found[1] if found else "a name"
        fail(text, match.start(), f"{name[:40]}{SOLVED}")


_DEFINITION = re.compile(r"\s*(?P<name>\w+)[^\S\n]*=(?!=)(?P<body>[^\n]*)\n")


def lines(text: str) -> Iterator[Line]:
    """The definitions ``t1 = x*y``, one in each line, and then the formula that uses them."""
    start = 0
    while match := _DEFINITION.match(text, start):
        position = match.start("name")
        name = _check_name(text, match["name"], position, frozenset())
        yield Line(name, position, *match.span("body"))
        start = match.end()
    yield Line("", start, start, len(text))


def scan(text: str, start: int, stop: int) -> list[Stretch]:
    """Split a formula into parts; each may name earlier ones (``__part0``, ...).

    The last part is the complete formula.
    """
    parts: list[Stretch] = []
    part = Stretch()
    levels = [_Level(0)]
    after_operand = False  # only then + and - are binary
    after_name = False
    for kind, word, position in _words(text, start, stop):
        if kind in _OPERANDS and word not in _LOGICAL:
            part.put(word, position)
            after_operand, after_name = True, kind == "name"
            continue
        level = levels[-1]
        chained = after_operand and word in _CHAINED
        additive = chained and word in "+-"
        if chained and (level.plus if additive else level.times) == _CHAIN:
            # The left operand of this sign begins after the last bracket, comma or comparison.
            parts.append(part.cut(level.sum if additive else level.product))
            part.put(f"{PART}{len(parts) - 1}", parts[-1].origins[0])
            level.plus, level.times = (0 if additive else level.plus), 0
        if word == "=" or word == ":":
            _check_sign(text, word, position, level, part, after_name)
        part.put(word, position)
        operand_start = len(part.words)
        if additive:
            level.plus, level.times, level.product = level.plus + 1, 0, operand_start
        elif chained:
            level.times += 1
        elif word in ("(", "["):
            levels.append(_Level(operand_start, word, word == "(" and after_name))
        elif word in (")", "]"):
            if len(levels) > 1:
                levels.pop()
        elif word in _SEPARATORS:
            level.begin(operand_start)
        after_operand, after_name = word in (")", "]"), False
    if not part.words:
        fail(text, start, "an empty text is not a formula")
    return [*parts, part]


def _check_sign(
    text: str, sign: str, position: int, level: _Level, part: Stretch, after_name: bool
) -> None:
    """Refuse a colon outside of subscripts, and an equals sign without a keyword argument."""
    if sign == ":":
        if level.bracket != "[":
            fail(text, position, ": has no place in a formula, but in a subscript")
    elif not (level.called and after_name and len(part.words) - 1 == level.sum):
        indexed = len(part.words) > 0 and part.words[-1] == "] "
        fail(text, position, INDEX_NOTATION if indexed else _REMEDIES["="])


def _words(text: str, start: int, stop: int) -> Iterator[tuple[str, str, int]]:
    """The kind, text and position of each word; raises ParseError for words of no formula."""
    number_end = -1
    called, name_end = "", -1
    for match in _WORD.finditer(text, start, stop):
        kind, word, position = str(match.lastgroup), match.group(), match.start()
        if kind == "space":
            continue
        if position == name_end and _DERIVATIVE.match(text, position, stop):
            fail(text, position - len(called), f"{called[:40]}{UNKNOWN}")
        if kind == "other":
            shown = word if word.isprintable() else f"character U+{ord(word):04X}"
            fail(text, position, _REMEDIES.get(word, f"{shown} has no place in a formula"))
        if position == number_end and kind in ("name", "number", "exact"):
            fail(text, position, f"a number runs into {word[:20]!r}: write * between factors")
        if kind == "name":
            called, name_end = word, match.end()
            word = _check_name(text, word, position, _KEYWORDS)
        elif kind == "number":
            number_end = match.end()
            if len(word) > MOST_DIGITS:
                fail(text, position, TOO_LONG)
        elif kind == "exact":
            word = EXACT + match["exact"]
        yield kind, word, position


def normal(name: str) -> str:
    """Normalise a name as Python does: the micro sign and the Greek letter mu are one name."""
    return unicodedata.normalize("NFKC", name)


def _check_name(text: str, word: str, position: int, keywords: frozenset[str]) -> str:
    if not word.isidentifier():
        fail(text, position, f"{word[:20]!r} is not a name; powers are written x**2")
    name = normal(word)
    if name.startswith("__"):
        fail(text, position, "names that begin with two underscores are refused")
    if name == "lambda":
        fail(text, position, LAMBDA)
    if keyword.iskeyword(name) and name not in keywords:
        fail(text, position, f"{name} is a keyword of Python, not a name; write {name}_")
    return name
