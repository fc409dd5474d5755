"""Index letters: the one place where axes are aligned, named and renamed.

A letter is an integer that names an axis inside one contraction; a word is the tuple of letters of
an operand. NumPy's alignment and size-1 stretching live in ``broadcast_shapes`` and nowhere else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from symdiff.errors import ShapeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from symdiff.node import Dim, Shape

Word = tuple[int, ...]


def broadcast_shapes(name: str, *shapes: Shape) -> Shape:
    """NumPy's broadcast of ``shapes``: aligned at the right, axes of length 1 stretched.

    A symbolic length stretches 1 and equals only itself.  Raises ShapeError naming the op and the
    shapes.

    >>> broadcast_shapes("add", (3, 1), (4,))
    (3, 4)
    """
    rank = max(map(len, shapes), default=0)
    out: list[Dim] = [1] * rank
    for shape in shapes:
        for i, dim in enumerate(shape, start=rank - len(shape)):
            if out[i] == 1:
                out[i] = dim
            elif dim not in (1, out[i]):
                raise ShapeError(
                    f"{name}: shapes {' and '.join(map(shape_text, shapes))} do not "
                    f"broadcast: axis {i - rank} "
                    f"would be both {out[i]} and {dim}; reshape or expand_dims one of them"
                )
    return tuple(out)


def shape_text(shape: Shape) -> str:
    """A shape as it is written in messages: ``(3, n)``.

    >>> shape_text((3, "n")), shape_text((4,))
    ('(3, n)', '(4,)')
    """
    inner = ", ".join(map(str, shape))
    return f"({inner},)" if len(shape) == 1 else f"({inner})"


def letter_name(letter: int) -> str:
    """How a letter is printed: i, j, k, ... z, then i1, j1, ...

    >>> letter_name(0), letter_name(17), letter_name(18)
    ('i', 'z', 'i1')
    """
    alphabet = "ijklmnopqrstuvwxyz"
    turn, place = divmod(letter, len(alphabet))
    return alphabet[place] + (str(turn) if turn else "")


class Sizes:
    """The lengths of letters, which of them are equal, and fresh ones, in one construction."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.parent: dict[int, int] = {}
        self.length: dict[int, Dim] = {}

    def find(self, letter: int) -> int:
        """The representative of the letters that equal ``letter``."""
        while letter in self.parent:
            letter = self.parent[letter]
        return letter

    def word(self, word: Iterable[int]) -> Word:
        """``word`` in representatives."""
        return tuple([self.find(k) for k in word] if self.parent else word)

    def put(self, letter: int, dim: Dim, operand: Shape | None = None) -> None:
        """Record that ``letter`` has length ``dim``; raises ShapeError if it has another one.

        ``operand`` is the shape of the operand that has it, for the message.
        """
        letter = self.find(letter)
        known = self.length.setdefault(letter, dim)
        if known != dim:
            context = "" if operand is None else f"operand of shape {shape_text(operand)}: "
            raise ShapeError(
                f"{self.name}: {context}letter {letter_name(letter)} would be both {known} "
                f"and {dim}"
            )

    def fresh(self, dim: Dim) -> int:
        """A new letter of length ``dim``."""
        letter = max(self.length, default=-1) + 1
        self.length[letter] = dim
        return letter

    def unify(self, a: int, b: int) -> None:
        """Make two letters equal (the diagonal of an identity)."""
        a, b = self.find(a), self.find(b)
        if a != b:
            self.put(a, self.length[b])
            self.parent[max(a, b)] = min(a, b)


def canonical(words: Sequence[Word], out: Word) -> tuple[tuple[Word, ...], Word]:
    """``words`` and ``out`` with letters renumbered 0, 1, ... by first use.

    >>> canonical([(5, 2), (2, 7)], (5, 7))
    (((0, 1), (1, 2)), (0, 2))
    """
    names: dict[int, int] = {}
    for word in (*words, out):
        for letter in word:
            names.setdefault(letter, len(names))
    return (
        tuple([tuple([names[letter] for letter in word]) for word in words]),
        tuple([names[letter] for letter in out]),
    )
