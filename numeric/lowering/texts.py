"""Pieces of source: texts with how tightly they bind, and templates into which they are put."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from numeric.lowering.arithmetic import weak

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from symdiff.graph.node import Dim
    from symdiff.graph.number import Number

# How tightly a text binds: what may stand beside it without parentheses.  Python binds ``@`` as
# tightly as ``*``; it has a level of its own, since nobody reads ``a @ b*c`` as Python does.
LOOSE, SUM, MATRIX_PRODUCT, PRODUCT, POWER, ATOM = range(6)


class Text(NamedTuple):
    """A piece of a line: ``level`` says how tightly it binds.

    ``into`` is the same, written into the array ``{out}``, None for a new one; "" if there is no
    such way.
    """

    text: str
    level: int
    into: str = ""

    def within(self, level: int) -> str:
        """The text as an operand that has to bind at least as tightly as ``level``."""
        return self.text if self.level >= level else f"({self.text})"


class Template(NamedTuple):
    """A line's right-hand side over operands ``{0}, {1}, ...``, which bind at least ``needs``.

    ``into`` is that of a Text.
    """

    text: str
    level: int
    needs: tuple[int, ...]
    repeated: frozenset[int] = frozenset()  # the operands that occur more than once
    into: str = ""


Piece: TypeAlias = "int | Text"
"""A part of a template: the operand of that number, or what is written over operands."""


class Draft:
    """A template in the making: it learns how tightly operands have to bind from where they stand.

    ``bind`` gives a value the name by which the source calls it; it may choose another one than is
    asked for.
    """

    def __init__(self, arity: int, bind: Callable[[str, object], str]) -> None:
        self.bind = bind
        self.needs = [LOOSE] * arity
        self._met = [0] * arity

    def put(self, x: Piece, level: int = LOOSE) -> str:
        """The text of a piece, where it has to bind at least as tightly as ``level``."""
        if isinstance(x, Text):
            return x.within(level)
        self.needs[x] = max(self.needs[x], level)
        self._met[x] += 1
        return f"{{{x}}}"

    def call(self, name: str, *args: Piece | str, **options: str) -> Text:
        """A call of what source calls ``name``; texts are arguments as they are."""
        given = [x if isinstance(x, str) else self.put(x) for x in args]
        given += [f"{key}={text}" for key, text in options.items()]
        return Text(f"{name}({', '.join(given)})", ATOM)

    def call_into(self, name: str, *args: Piece | str) -> Text:
        """The same, of a function that can write into an array, ``out``."""
        text = self.call(name, *args)
        return text._replace(into=f"{text.text[:-1]}, out={{out}})")

    def template(self, x: Piece) -> Template:
        """The template that is the piece."""
        text = self.put(x)
        repeated = frozenset(k for k, count in enumerate(self._met) if count > 1)
        level, into = (x.level, x.into) if isinstance(x, Text) else (LOOSE, "")
        return Template(text, level, tuple(self.needs), repeated, into)


def length_text(dim: Dim) -> str:
    """The length of an axis in a template.  Names of axes are users': they stay inside a literal.

    >>> length_text(3), length_text("n")
    ('3', "sizes['n']")
    """
    if isinstance(dim, int):
        return str(dim)
    return f"sizes[{dim!r}]".replace("{", "{{").replace("}", "}}")


def lengths_text(dims: Iterable[Dim]) -> str:
    """A shape in a template, as a tuple."""
    found = [length_text(dim) for dim in dims]
    return f"({', '.join(found)}{',' if len(found) == 1 else ''})"


def compiled(text: str, arity: int, names: Mapping[str, object]) -> Callable[..., Any]:
    """The function of ``arity`` operands, and the lengths of axes, that a template's text is.

    ``names`` says what the names in the text are.  Equal texts are compiled once.

    >>> compiled("{0}[{1}:k]", 2, {"k": -1})("lowering", 3, {})
    'erin'
    """
    operands = [f"v{k + 1}" for k in range(arity)]
    inner = f"lambda {', '.join([*operands, 'sizes'])}: {text.format(*operands)}"
    function: Callable[..., Any] = _evaluated(f"lambda {', '.join(names)}: {inner}")(
        *names.values()
    )
    return function


@lru_cache(maxsize=4096)
def _evaluated(source: str) -> Callable[..., Any]:
    """What ``source`` is, which was written here: what users named is inside of literals."""
    made: Callable[..., Any] = eval(source, {})
    return made


def number_text(value: Number, whole: bool = False) -> Text:
    """A number as it is written in source; ``whole``: among integers.

    >>> from fractions import Fraction
    >>> number_text(Fraction(1, 4)).text, number_text(-3)
    ('0.25', Text(text='-3', level=1, into=''))
    """
    value = value if value.__class__ is bool else weak(value, whole)
    text = repr(value)  # inf and nan are names of every program
    return Text(text, SUM if text.startswith("-") else ATOM)
