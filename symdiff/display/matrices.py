"""Recognise contractions that are products of matrices and vectors, by their axis labels.

Regard labels as the vertices of a graph.  An operand with two labels is an edge, an operand with
one label is a weight of a vertex.  If the edges form one path whose inner labels are summed, the
contraction is a matrix product along it.  A weight on the way is a diagonal matrix, and weights at
a summed end are a vector there.  If the edges form one cycle, it is the trace of such a product.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from symdiff.graph.axes import Word


@dataclass(frozen=True, slots=True)
class Factor:
    """An operand in a product: a matrix, possibly transposed, or weights on the diagonal."""

    operands: tuple[int, ...]
    transposed: bool = False
    diagonal: bool = False


@dataclass(frozen=True, slots=True)
class Chain:
    """A matrix product, from left to right.

    ``left`` and ``right`` are the weights at a summed end, () for a plain sum; None if the end is
    an axis of the value.  ``trace``: the product is closed.
    """

    factors: tuple[Factor, ...]
    left: tuple[int, ...] | None = None
    right: tuple[int, ...] | None = None
    trace: bool = False


@lru_cache(maxsize=4096)
def chain(words: tuple[Word, ...], out: Word) -> Chain | None:
    """Return the matrix product that a contraction is, or None.

    >>> chain(((0, 1), (1, 2)), (0, 2)).factors
    (Factor(operands=(0,), transposed=False, diagonal=False), \
Factor(operands=(1,), transposed=False, diagonal=False))
    >>> chain(((0, 1), (0, 1), (0, 1)), ()) is None
    True
    """
    if any(len(word) not in (1, 2) for word in words) or len({*out}) != len(out):
        return None
    weights: dict[int, list[int]] = {}
    edges: dict[int, list[int]] = {}
    for k, word in enumerate(words):
        table = weights if len({*word}) == 1 else edges
        for letter in {*word}:
            table.setdefault(letter, []).append(k)
    letters = dict.fromkeys(letter for word in words for letter in word)
    if any(len(word) == 2 and word[0] == word[1] for word in words):
        alone = len(words) == 1 and not out
        return Chain((Factor((0,)),), trace=True) if alone else None
    if not edges:
        (*_, only) = letters
        if len(letters) > 1 or out:
            return None
        ends = weights[only]
        return Chain((), tuple(ends[:1]), tuple(ends[1:])) if len(ends) <= 2 else None
    if any(len(met) > 2 for met in edges.values()) or any(k not in edges for k in letters):
        return None
    ends = [k for k in letters if len(edges.get(k, ())) == 1]
    start = out[0] if out and out[0] in ends else ends[0] if ends and not out else None
    if not ends and not out:
        start = next(iter(letters))
    if start is None:
        return None
    return _follow_path(words, out, edges, weights, start, closed=not ends)


def _follow_path(
    words: tuple[Word, ...],
    out: Word,
    edges: dict[int, list[int]],
    weights: dict[int, list[int]],
    start: int,
    closed: bool,
) -> Chain | None:
    """The factors along the path from a label; None if it misses some."""
    factors: list[Factor] = []
    used: set[int] = set()
    letter = start
    while True:
        inner = bool(used) or closed or letter in out
        if letter in weights and inner and not (used and letter == start):
            last = not closed and len(used) == sum(len({*word}) == 2 for word in words)
            if not last or letter in out:
                factors.append(Factor(tuple(weights[letter]), diagonal=True))
        following = next((k for k in edges[letter] if k not in used), None)
        if following is None:
            break
        used.add(following)
        a, b = words[following]
        factors.append(Factor((following,), transposed=letter != a))
        letter = b if letter == a else a
        if used and letter in out and len(edges[letter]) == 2:
            return None  # an inner letter that is not summed
    if len(used) != sum(len({*word}) == 2 for word in words):
        return None  # several paths
    if closed:
        return Chain(tuple(factors), trace=True)
    if tuple(k for k in (start, letter) if k in out) != out:
        return None
    left = None if start in out else tuple(weights.get(start, ()))
    right = None if letter in out else tuple(weights.get(letter, ()))
    return Chain(tuple(factors), left, right)
