"""Forms of nodes: the forms that they need of their operands, and indices."""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from symdiff.graph import ops
from symdiff.graph.lengths import Length, monomial_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from symdiff.display.notation import Notation, Piece
    from symdiff.graph.expr import Expr
    from symdiff.graph.node import Dim


@dataclass(frozen=True, slots=True)
class Index:
    """``const`` plus multiples of axis labels, of lengths and of table entries."""

    terms: tuple[tuple[str | Piece, int], ...]
    const: int = 0

    def __add__(self, other: Index | int) -> Index:
        if isinstance(other, int):
            return replace(self, const=self.const + other)
        terms = dict(self.terms)
        for name, coef in other.terms:
            terms[name] = terms.get(name, 0) + coef
        nonzero = tuple([term for term in terms.items() if term[1]])
        return Index(nonzero, self.const + other.const)

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


def from_front(place: Dim, dim: Dim) -> Index:
    """A position as an index; negative ones count from the end of an axis of length ``dim``."""
    behind = isinstance(place, int) and place < 0
    return length_of(dim) + length_of(place) if behind else length_of(place)


def as_typed(index: Index, dim: Dim) -> Index:
    """The index as users type it: from the end if only that offset is a number.

    >>> as_typed(from_front(-2, Length("n")), Length("n"))
    Index(terms=(), const=-2)
    """
    behind = index - length_of(dim)
    from_end = isinstance(dim, Length) and not behind.terms and behind.const < 0
    return behind if from_end else index


@dataclass(frozen=True, slots=True)
class Condition:
    """1 if indices compare by ``sign``, else 0; ``below <= `` comes first."""

    left: Index
    sign: str
    right: Index
    below: Index | None = None


def simplified(c: Condition) -> Condition | bool:
    """Cancel common parts of both sides; return the truth value if it is always the same.

    Indices and lengths are at least 0.

    >>> i, n = Index((("i", 1),)), length_of(Length("n"))
    >>> simplified(Condition(i + 2, "<", n + 2, Index((), 2))) == Condition(i, "<", n)
    True
    >>> simplified(Condition(i + n, "<", n)), simplified(Condition(i, "==", i))
    (False, True)
    >>> simplified(Condition(Index((), 0), "<", n + -1)) == Condition(n, ">=", Index((), 2))
    True
    """
    if c.below is not None:
        low = simplified(Condition(c.left, ">=", c.below))
        high = simplified(Condition(c.left, c.sign, c.right))
        if low is False or high is False:
            return False
        if low is True or high is True:
            return high if low is True else low
    shared = {*dict(c.left.terms)} & {*dict(c.right.terms)} if c.below is None else set()
    away = Index(tuple([term for term in c.left.terms if term[0] in shared]), c.left.const)
    left, right = c.left - away, c.right - away
    below = None if c.below is None else c.below - away
    if below is not None:
        return Condition(left, c.sign, right, below)
    sign = c.sign
    if left.terms and all(coef < 0 for _, coef in left.terms) and not right.terms:
        left, right = Index(()), right - left  # -n >= -1 is n <= 1
    if not left.terms:
        if not right.terms:
            return _HOLDS[sign](left.const, right.const)
        sign, more = _MIRRORED[sign]
        left, right = right + -right.const, left + (more - right.const)
    single = len(left.terms) == 1 and left.terms[0][1] == 1 and not right.terms
    if single and (right.const < 0 or (right.const == 0 and sign in ("<", ">="))):
        return sign in (">=", "!=")
    return Condition(left, sign, right)


def needed(conditions: Iterable[Condition]) -> list[Condition] | None:
    """The conditions to write; None if one of them never holds."""
    undecided: list[Condition] = []
    for c in map(simplified, conditions):
        if c is False:
            return None
        if c is not True:
            undecided.append(c)
    return undecided


_HOLDS: dict[str, Callable[[int, int], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
# The sign after exchanging the sides, and the integer to add to the new right side.
_MIRRORED = {"<": (">=", 1), "<=": (">=", 0), ">=": ("<=", 0), "==": ("==", 0), "!=": ("!=", 0)}


@dataclass(frozen=True, slots=True)
class Need:
    """An operand, as a whole array or at an index.

    If ``elementwise``, a number fits every shape.
    """

    node: Expr
    index: tuple[Index, ...] | None = None
    elementwise: bool = False


@dataclass(frozen=True, slots=True)
class Form:
    """The operands that a text needs, and the function that builds it.

    ``letters`` is the number of its own axis labels.  A ``call`` is a function of whole arrays:
    operands without a whole form get names in it.
    """

    needs: tuple[Need, ...]
    build: Callable[[list[Piece]], Piece]
    letters: int = 0
    call: bool = False


def zero(notation: Notation) -> Form:
    """The form of an element that is 0."""
    return Form((), lambda _: notation.number(0))


_LOOKED_AT = 100


def over(k: Index, dim: Dim, needs: Iterable[Need], notation: Notation) -> Piece:
    """The subscript of a sum: its label, with its range unless all elements show it."""
    lengths = {length for need in needs for length in _lengths_along(k, need)}
    if lengths == {dim}:
        return notation.index(k)
    return notation.comparison(Condition(k, "<", length_of(dim)))


def _lengths_along(k: Index, need: Need) -> set[Dim]:
    """The lengths of the axes of named arrays whose element has the index k."""
    lengths: set[Dim] = set()
    stack = [(need.node, need.index)]
    for _ in range(_LOOKED_AT):
        if not stack:
            break
        node, index = stack.pop()
        op = node.op
        if index is None or k not in index or not node.shape:
            continue
        if isinstance(op, ops.Symbol | ops.Constant):
            lengths.update(n for i, n in zip(index, node.shape, strict=True) if i == k)
        elif isinstance(op, ops.Contract):
            # The elements of a diagonal are written with the first of its indices.
            names = dict(zip(op.out[::-1], index[::-1], strict=True))
            for x, word in zip(node.args, op.letters, strict=True):
                stack.append((x, tuple([names.get(letter, Index(())) for letter in word])))
        elif isinstance(op, ops.Slice | ops.Windows):
            stack.append((node.args[0], operand_index(op, index)))
        elif isinstance(op, ops.Concat):
            stack.append((node.args[0], index))
        elif isinstance(op, ops.Sum | ops.Product | ops.Pointwise | ops.Strong | ops.Barrier):
            stack += [(x, index) for x in node.args]
    return lengths


def operand_index(op: ops.Slice | ops.Windows, index: tuple[Index, ...]) -> tuple[Index, ...]:
    """The index of the operand's element that becomes the element at ``index``."""
    if isinstance(op, ops.Windows):
        return (*index[:-2], index[-2] + index[-1])
    batch = len(index) - len(op.steps)
    cut = zip(index[batch:], op.steps, op.before, strict=True)
    places = [i * step + from_front(start, dim) for i, (start, _, step), dim in cut]
    return (*index[:batch], *places)


def is_stack(node: Expr) -> bool:
    """Whether the node joins arrays of length 1 along an axis."""
    op = node.op
    return isinstance(op, ops.Concat) and all(length == 1 for length in op.lengths)


def element_of(node: Expr) -> tuple[Expr, list[int | str]] | None:
    """The array of which the node is an element, row or column, and its position there.

    The position has an int or a slice as typed for each axis.  None for other nodes.
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
