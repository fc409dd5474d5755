"""Pieces of source: texts with how tightly they bind, and templates into which they are put."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from numeric.lowering.arithmetic import weak

if TYPE_CHECKING:
    from symdiff.number import Number

# How tightly a text binds: what may stand beside it without parentheses.
LOOSE, SUM, PRODUCT, POWER, ATOM = range(5)


class Text(NamedTuple):
    """A piece of a line: ``level`` says how tightly it binds, ``names`` which values it reads."""

    text: str
    level: int
    names: tuple[str, ...] = ()
    depth: int = 0

    def within(self, level: int) -> str:
        """The text as an operand that has to bind at least as tightly as ``level``."""
        return self.text if self.level >= level else f"({self.text})"


class Template(NamedTuple):
    """A line's right-hand side over operands ``{0}, {1}, ...``, which bind at least ``needs``."""

    text: str
    level: int
    needs: tuple[int, ...]
    repeated: frozenset[int] = frozenset()  # the operands that occur more than once


def number_text(value: Number, whole: bool = False) -> Text:
    """A number as it is written in source; ``whole``: among integers.

    >>> from fractions import Fraction
    >>> number_text(Fraction(1, 4)).text, number_text(-3)
    ('0.25', Text(text='-3', level=1, names=(), depth=0))
    """
    value = value if value.__class__ is bool else weak(value, whole)
    text = repr(value)  # inf and nan are names of every program
    return Text(text, SUM if text.startswith("-") else ATOM)
