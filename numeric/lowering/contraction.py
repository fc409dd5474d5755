"""How a contraction is computed: classified once, from letters and shapes, into cheapest stages.

A plan is data: stages over numbered values, the operands first, each stage's result behind them.
What ``explain`` says and what programs contain (``contracted``) are both read off the stages.

A contraction of many operands is made of contractions of two, along a path planned here; letters
that only one operand has are summed before.  ``PAIRS`` lists how two operands meet: each line a
name and a condition on the letters.  What reaches BLAS is preferred; einsum, up to eight times
slower than the right call, remains for the one case in which it wins: many small dot products side
by side.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from numeric.lowering import costs
from symdiff.graph.axes import letter_name
from symdiff.graph.node import make
from symdiff.graph.ops import Contract, Fill, contract_op

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from symdiff.graph.axes import Word
    from symdiff.graph.expr import Expr
    from symdiff.graph.node import Dim, Shape


class Stage(NamedTuple):
    """The values at ``places`` become one: ``words`` are their letters, ``out`` is its."""

    kind: str
    places: tuple[int, ...]
    words: tuple[Word, ...]
    out: Word

    @property
    def text(self) -> str:
        """The stage in words."""
        return f"{self.kind} {letters_text(self.words, self.out)}"


class Plan(NamedTuple):
    """A classified contraction: its class, its letters, its stages, and the lengths of letters.

    ``kills`` is empty unless zeros have to win.
    """

    kind: str
    words: tuple[Word, ...]
    out: Word
    stages: tuple[Stage, ...]
    length: Mapping[int, Dim]
    kills: tuple[bool, ...] = ()

    @property
    def text(self) -> str:
        """The plan in words."""
        return ", ".join(
            [*(stage.text for stage in self.stages), *["zeros masked"] * any(self.kills)]
        )


def plan(op: Contract, shapes: Sequence[Shape]) -> Plan:
    """The plan of ``op`` for operands of these shapes (symbolic lengths allowed)."""
    kills = op.kills if op.sums and len(op.letters) > 1 and any(op.kills) else ()
    return _plan(isinstance(op, Fill), op.letters, op.out, op.created, tuple(shapes), kills)


def explain(op: Contract, shapes: Sequence[Shape]) -> str:
    """How ``op`` is computed for operands of these shapes, in one line.

    >>> import symdiff as sd
    >>> y = sd.symbol("left", (3, 4)) @ sd.symbol("right", 4)
    >>> explain(y.op, [operand.shape for operand in y.args])
    'matrix-vector ij,j->i'
    """
    return plan(op, shapes).text


@lru_cache(maxsize=4096)
def _plan(
    fill: bool,
    words: tuple[Word, ...],
    out: Word,
    created: Shape,
    shapes: tuple[Shape, ...],
    kills: tuple[bool, ...],
) -> Plan:
    length = {
        k: dim
        for word, shape in zip(words, shapes, strict=True)
        for k, dim in zip(word, shape, strict=True)
    }
    new = dict.fromkeys(k for k in out if k not in length)
    length |= zip(new, created, strict=True)
    if len(words) > 1:
        stages = _pairwise(words, out, length)
        kind = stages[-1].kind if len(words) == 2 else "path"
        return Plan(kind, words, out, stages, length, kills)
    if fill:
        kind = "fill"
    elif not words:
        kind = "identity"
    elif all(k in out or length[k] == 1 for k in words[0]):
        kind = "view" if len(set(out)) == len(out) else "diagonal"
    else:
        kept = tuple(k for k in dict.fromkeys(words[0]) if k in out)
        stages = (Stage("sum", (0,), words, kept),)
        if kept != out:
            kind = "view" if len(set(out)) == len(out) else "diagonal"
            stages += (Stage(kind, (1,), (kept,), out),)
        return Plan("sum", words, out, stages, length)
    stage = Stage(kind, (0,) if words else (), words, out)
    return Plan(kind, words, out, (stage,), length)


def letters_text(words: Sequence[Word], out: Word) -> str:
    """A contraction in einsum's notation.

    >>> letters_text([(0, 1), (1,)], (0,))
    'ij,j->i'
    """
    named = ["".join(map(letter_name, word)) for word in (*words, out)]
    return f"{','.join(named[:-1])}->{named[-1]}"


def in_order(x: Expr) -> Expr:
    """A permuted contraction of several operands as one that has its letters in that order.

    ``symdiff`` has a canonical order; a result that nothing shares is better made as it is wanted.

    >>> import symdiff as sd
    >>> A, B = sd.symbol("A", (2, 3)), sd.symbol("B", (4, 3))
    >>> explain((B @ A.T).op, [(2, 4)]), explain(in_order(B @ A.T).op, [A.shape, B.shape])
    ('view ij->ji', 'matmul ij,kj->ki')
    """
    op = x.op
    if not isinstance(op, Contract) or len(x.args) != 1 or len(set(op.out)) != len(op.out):
        return x
    inner = x.args[0].op
    if not isinstance(inner, Contract) or len(inner.letters) != 2 or not inner.sums:
        return x
    (word,) = op.letters
    if sorted(word) != sorted(op.out):
        return x
    out = tuple(inner.out[word.index(k)] for k in op.out)
    permuted = contract_op(inner.letters, out, inner.created, inner.kills)
    return make(permuted, x.args[0].args, x.shape, x.dtype)


# Two operands -------------------------------------------------------------------------------------


class Pair:
    """Two operands without repeated letters: every letter is in both, or in one and in ``out``.

    The letters are ``batch`` (in both and out), ``summed`` (in both), ``left`` or ``right`` (in one
    and out).
    """

    def __init__(self, a: Word, b: Word, out: Word) -> None:
        self.a, self.b, self.out = a, b, out
        self.batch = tuple(k for k in a if k in b and k in out)
        self.summed = tuple(k for k in a if k in b and k not in out)
        self.left = tuple(k for k in a if k not in b)
        self.right = tuple(k for k in b if k not in a)


PAIRS: tuple[tuple[str, Callable[[Pair], bool]], ...] = (
    ("multiply", lambda p: not p.summed),
    ("dot", lambda p: not (p.batch or p.left or p.right)),
    ("einsum", lambda p: not (p.left or p.right)),
    ("batched matmul", lambda p: bool(p.batch)),
    ("tensordot", lambda p: max(len(p.summed), len(p.left), len(p.right)) > 1),
    ("matrix-vector", lambda p: not (p.left and p.right)),
    ("matmul", lambda p: True),
)
"""How two operands meet: name and condition; the first line that applies."""


BLAS = frozenset({"batched matmul", "tensordot", "matrix-vector", "matmul"})
"""Those that reach BLAS."""


# Many operands, two at a time ---------------------------------------------------------------------


def _pairwise(words: Sequence[Word], out: Word, length: Mapping[int, Dim]) -> tuple[Stage, ...]:
    sizes = {k: costs.length(dim) for k, dim in length.items()}
    stages: list[Stage] = []
    left: list[tuple[int, Word]] = []
    for i, word in enumerate(words):
        others = {k for j, other in enumerate(words) if j != i for k in other}
        kept = tuple(k for k in dict.fromkeys(word) if k in out or k in others)
        place = i
        if kept != word:
            place = len(words) + len(stages)
            stages.append(Stage("view" if set(kept) == set(word) else "sum", (i,), (word,), kept))
        left.append((place, kept))
    while len(left) > 1:
        i, j = _cheapest([word for _, word in left], sizes)
        (first, a), (second, b) = left[i], left[j]
        left = [left[k] for k in range(len(left)) if k not in (i, j)]
        wanted = {k for _, word in left for k in word} | set(out)
        result = tuple(k for k in dict.fromkeys(a + b) if k in wanted) if left else out
        pair = Pair(a, b, result)
        kind = next(kind for kind, applies in PAIRS if applies(pair))
        left.append((len(words) + len(stages), result))
        stages.append(Stage(kind, (first, second), (a, b), result))
    return tuple(stages)


def _cheapest(words: Sequence[Word], length: Mapping[int, int]) -> tuple[int, int]:
    """The pair of fewest multiplications, those without a common letter last."""

    def cost(pair: tuple[int, int]) -> tuple[bool, int, int, int]:
        a, b = words[pair[0]], words[pair[1]]
        work = math.prod(length[k] for k in {*a, *b})
        return (not set(a) & set(b), work, *pair)

    return min(combinations(range(len(words)), 2), key=cost)
