"""What a node's text is made of: the forms in which it needs its operands, and indices."""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from symdiff.graph import ops
from symdiff.graph.lengths import Length, monomial_text
from symdiff.graph.ranges import WHOLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from symdiff.display.notation import Notation, Piece
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
        terms = dict(self.terms)
        for name, coef in other.terms:
            terms[name] = terms.get(name, 0) + coef
        kept = tuple([term for term in terms.items() if term[1]])
        return Index(kept, self.const + other.const)

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


def simplified(c: Condition) -> Condition | bool:
    """The condition without what both sides have; whether it holds, where that is always so.

    >>> i, n = Index((("i", 1),)), length_of(Length("n"))
    >>> simplified(Condition(i + 2, "<", n + 2, Index((), 2))) == Condition(i, "<", n)
    True
    >>> simplified(Condition(i + n, "<", n)), simplified(Condition(i, "==", i))
    (False, True)
    """
    if c.sign == "==" and not c.left.terms:
        c = Condition(c.right, c.sign, c.left)
    shared = {*dict(c.left.terms)} & {*dict(c.right.terms)} if c.below is None else set()
    away = Index(tuple([term for term in c.left.terms if term[0] in shared]), c.left.const)
    left, right = c.left - away, c.right - away
    below = None if c.below is None else c.below - away
    if not left.terms and not right.terms and below is None:
        return _HOLDS[c.sign](left.const, right.const)
    if len(left.terms) == 1 and left.terms[0][1] == 1:  # a letter, which is no less than 0
        below = None if below == Index(()) else below
        if not right.terms and right.const <= 0 and c.sign in ("<", ">=") and below is None:
            return c.sign == ">="
    return Condition(left, c.sign, right, below)


def needed(conditions: Iterable[Condition]) -> list[Condition]:
    """The conditions that are to be written."""
    made = [(c, simplified(c)) for c in conditions]
    return [c if found is False else found for c, found in made if found is not True]


_HOLDS: dict[str, Callable[[int, int], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


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


_LOOKED_AT = 100


def over(k: Index, dim: Dim, needs: Iterable[Need], notation: Notation) -> Piece:
    """What stands below a sum: its letter, and how far that runs where no element shows it."""
    if any(_shows(need, k) for need in needs):
        return notation.index(k)
    return notation.comparison(Condition(k, "<", length_of(dim)))


def _shows(need: Need, k: Index) -> bool:
    """Whether an element is written in elements of something named, one index of which is k."""
    stack = [(need.node, need.index)]
    for _ in range(_LOOKED_AT):
        if not stack:
            return False
        node, index = stack.pop()
        if index is None or k not in index or not node.shape:
            continue
        if isinstance(node.op, ops.Symbol | ops.Constant):
            return True
        if isinstance(node.op, ops.Contract):
            # Of a diagonal, the elements are written with the first of its indices.
            names = dict(zip(node.op.out[::-1], index[::-1], strict=True))
            for x, word in zip(node.args, node.op.letters, strict=True):
                stack.append((x, tuple([names.get(letter, Index(())) for letter in word])))
        elif isinstance(node.op, ops.Slice):
            cut = [False] * (node.ndim - len(node.op.steps)) + [s != WHOLE for s in node.op.steps]
            kept = [Index(()) if c else i for c, i in zip(cut, index, strict=True)]
            stack.append((node.args[0], tuple(kept)))
        elif isinstance(node.op, ops.Sum | ops.Product | ops.Pointwise | ops.Strong | ops.Barrier):
            stack += [(x, index) for x in node.args]
    return False


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
