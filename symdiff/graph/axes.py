"""Index letters: the one module that aligns, names and renames axes.

A letter is an integer that labels an axis inside one contraction; a word is the tuple of an
operand's letters.  Only ``broadcast_shapes`` implements NumPy's alignment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from symdiff.errors import ShapeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symdiff.graph.node import Dim, Shape

Word: TypeAlias = tuple[int, ...]
# The length of each letter; a plain shape where the letters number its axes.
Lengths: TypeAlias = "dict[int, Dim] | Shape"

# The number of letter patterns that stay cached, the last used ones.  A pattern records how to
# rearrange or sum an operand of *any* lengths: words in, words and an op out.
PATTERNS = 4096
_MOST_AXES = 64  # the most axes of a NumPy array


def broadcast_shapes(name: str, *shapes: Shape) -> Shape:
    """NumPy's broadcast of ``shapes``: aligned at the right, axes of length 1 stretched.

    A symbolic length stretches 1 and equals only itself.  Raises ShapeError naming the op and the
    shapes.

    >>> broadcast_shapes("add", (3, 1), (4,))
    (3, 4)
    """
    widest = max(shapes, key=len, default=())
    rank = len(widest)
    out = widest
    for shape in shapes:
        if shape == out[rank - len(shape) :]:
            continue
        dims = list(out)
        for i, dim in enumerate(shape, rank - len(shape)):
            if dim != 1 and dim != dims[i]:
                if dims[i] != 1:
                    raise _misfit(name, shapes, i - rank)
                dims[i] = dim
        out = tuple(dims)
    return out


OF_CONDITION = "true_"
"""How the names of lengths begin that count where a condition holds."""


def _misfit(name: str, shapes: Sequence[Shape], axis: int) -> ShapeError:
    lengths = [shape[axis] for shape in shapes if len(shape) >= -axis and shape[axis] != 1]
    first, second, *_ = dict.fromkeys(lengths)
    remedy = "reshape or expand_dims one of them"
    if any(isinstance(dim, str) and dim.startswith(OF_CONDITION) for dim in (first, second)):
        remedy = (
            f"a length {OF_CONDITION}.. is that of what one condition takes, and of nothing else: "
            "index all operands by one condition, or use where"
        )
    return ShapeError(
        f"{name}: shapes {' and '.join(map(shape_text, shapes))} do not broadcast: axis {axis} "
        f"would be both {first} and {second}; {remedy}"
    )


def shape_text(shape: Shape) -> str:
    """A shape as messages show it: ``(3, n)``; a shape longer than any array's shows its ends only.

    >>> shape_text((3, "n")), shape_text((4,)), shape_text((2,) * 100)
    ('(3, n)', '(4,)', '(2, 2, 2, 2, ..., 2, 2, 2, 2)')
    """
    if len(shape) > _MOST_AXES:
        return shape_text((*shape[:4], "...", *shape[-4:]))
    inner = ", ".join(map(str, shape))
    return f"({inner},)" if len(shape) == 1 else f"({inner})"


def letter_name(letter: int) -> str:
    """The printed name of a letter: i, j, k, ... z, then i1, j1, ...

    >>> letter_name(0), letter_name(17), letter_name(18)
    ('i', 'z', 'i1')
    """
    alphabet = "ijklmnopqrstuvwxyz"
    turn, place = divmod(letter, len(alphabet))
    return alphabet[place] + (str(turn) if turn else "")


class Letters:
    """The letters of one construction: their lengths, their equalities, and fresh ones."""

    def __init__(self, length: Lengths) -> None:
        self.length = dict(length.items() if isinstance(length, dict) else enumerate(length))
        self.made: list[int] = []
        self._parent: dict[int, int] = {}

    def find(self, letter: int) -> int:
        """The representative of the letters that equal ``letter``."""
        while letter in self._parent:
            letter = self._parent[letter]
        return letter

    def word(self, word: Word) -> Word:
        """``word`` with each letter replaced by its representative."""
        return tuple([self.find(k) for k in word]) if self._parent else word

    def fresh(self, dim: Dim) -> int:
        """A new letter of length ``dim``."""
        letter = max(self.length, default=-1) + 1
        self.length[letter] = dim
        self.made.append(letter)
        return letter

    def unify(self, a: int, b: int) -> None:
        """Make two letters of one length equal (the diagonal of an identity)."""
        a, b = self.find(a), self.find(b)
        if a != b:
            self._parent[max(a, b)] = min(a, b)


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
