"""What a node's text is made of: the forms in which it needs its operands, and indices."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from symdiff.graph import ops
from symdiff.graph.lengths import Length, monomial_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from symdiff.display.notation import Piece
    from symdiff.graph.expr import Expr
    from symdiff.graph.node import Dim


@dataclass(frozen=True, slots=True)
class Index:
    """``const`` plus multiples of letters, of lengths and of entries of tables."""

    terms: tuple[tuple[str | Piece, int], ...]
    const: int = 0

    def __add__(self, other: Index | int) -> Index:
        if isinstance(other, int):
            return replace(self, const=self.const + other)
        return Index(self.terms + other.terms, self.const + other.const)

    def __mul__(self, factor: int) -> Index:
        terms = tuple([(name, coef * factor) for name, coef in self.terms])
        return Index(terms, self.const * factor)

    def __sub__(self, other: Index) -> Index:
        return self + other * -1


def length_of(dim: Dim) -> Index:
    """The length of an axis as an index."""
    if isinstance(dim, int):
        return Index((), dim)
    if not isinstance(dim, Length):
        return Index(((dim, 1),))
    terms = [(monomial_text(monomial), c) for monomial, c in dim.terms]
    return Index(tuple([term for term in terms if term[0]]), dict(terms).get("", 0))


@dataclass(frozen=True, slots=True)
class Condition:
    """1 where indices are ordered as ``sign`` says, else 0; ``below <= `` stands before it."""

    left: Index
    sign: str
    right: Index
    below: Index | None = None


@dataclass(frozen=True, slots=True)
class Need:
    """An operand, whole or at an index.

    Between elements, ``elementwise``, a number suits any shape.
    """

    node: Expr
    index: tuple[Index, ...] | None = None
    elementwise: bool = False


@dataclass(frozen=True, slots=True)
class Form:
    """The operands that a text is made of, and how.

    ``letters`` is how many letters it brings itself.  A ``call`` is a function of whole arrays:
    operands that have no whole form get names there.
    """

    needs: tuple[Need, ...]
    build: Callable[[list[Piece]], Piece]
    letters: int = 0
    call: bool = False


def is_stack(node: Expr) -> bool:
    """Whether the node joins arrays of length 1 along an axis."""
    op = node.op
    return isinstance(op, ops.Concat) and all(length == 1 for length in op.lengths)


def element_of(node: Expr) -> tuple[Expr, list[int | str]] | None:
    """The array of which the node is an element, a row or a column, and its place there.

    The place says of each axis an int, or a slice as it is typed.  None for other nodes.
    """
    op = node.op
    if not isinstance(op, ops.Contract) or len(op.letters) != 1 or not op.sums:
        return None
    (x,), (word,) = node.args, op.letters
    if tuple(k for k in word if k in op.out) != op.out or len({*word}) < len(word):
        return None
    steps = x.op.steps if isinstance(x.op, ops.Slice) else ()
    before = len(word) - len(steps)
    texts = [":"] * before + ops.steps_text(steps)
    place: list[int | str] = []
    for axis, letter in enumerate(word):
        if letter in op.out:
            place.append(texts[axis])
        elif x.shape[axis] == 1:
            place.append(steps[axis - before][0] if axis >= before else 0)
        else:
            return None
    return x.args[0] if steps else x, place
