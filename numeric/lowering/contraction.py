"""How a contraction is computed: classified once, from letters and shapes, into the cheapest calls.

A contraction of many operands is made of contractions of two, along a path planned here; letters
that only one operand has are summed before.  ``PAIRS`` lists how two operands meet: each line a
name, a condition on the letters and the call.  What reaches BLAS is preferred; einsum, up to eight
times slower than the right call, remains for the one case in which it wins: many small dot products
side by side.

A contraction with masked operands (``kills``) is first computed as if it had none.  Only where the
result is not finite can a zero have met an inf or a nan: those entries are summed again, term by
term, without the masked terms.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import combinations
from math import isfinite
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from numeric.quiet import SILENCE, noise, set_noise
from symdiff.letters import canonical, letter_name
from symdiff.node import make
from symdiff.ops import Contract, Fill, contract_op

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from symdiff.expr import Expr
    from symdiff.letters import Word
    from symdiff.node import Shape

Array: TypeAlias = "NDArray[Any]"

# The length that a symbolic axis is planned with: products of axes should outweigh single ones.
_NOMINAL = 256
# Elements of the largest block of terms that a masked contraction writes out.
_BLOCK = 1 << 20


class Plan(NamedTuple):
    """A classified contraction: the class, what is called on which letters, and the call itself."""

    kind: str
    text: str
    call: Callable[[Sequence[Array], Mapping[str, int]], Array]


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
    text = letters_text(words, out)
    if fill:
        return Plan("fill", f"fill {text}", _fill(created))
    if not words:
        return Plan("identity", f"identity {text}", _identity(out, created))
    if all(letter in out for word in words for letter in word):
        kind = "view" if len(set(out)) == len(out) else "diagonal"
        return Plan(kind, f"{kind} {text}", _rearranged(words[0], out, created))
    if len(words) == 1:
        length = dict(zip(words[0], shapes[0], strict=True))
        unit = all(dim == 1 for k, dim in length.items() if k not in out)
        kind = "view" if unit else "sum"
        return Plan(kind, f"{kind} {text}", _summed(words[0], out, created, unit))
    planned = _pairwise(words, out, shapes)
    if not kills:
        return planned
    return Plan(planned.kind, f"{planned.text}, zeros masked", _masked(words, out, kills, planned))


def letters_text(words: Sequence[Word], out: Word) -> str:
    """A contraction in einsum's notation.

    >>> letters_text([(0, 1), (1,)], (0,))
    'ij,j->i'
    """
    named = ["".join(map(letter_name, word)) for word in (*words, out)]
    return f"{','.join(named[:-1])}->{named[-1]}"


def _lengths(dims: Shape, sizes: Mapping[str, int]) -> tuple[int, ...]:
    return tuple([dim if isinstance(dim, int) else sizes[dim] for dim in dims])


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


# Nothing summed: fills, identities, transposes, diagonals, broadcasts -----------------------------


def _fill(shape: Shape) -> Callable[..., Array]:
    return lambda arrays, sizes: stretched(arrays[0], _lengths(shape, sizes))


# Up to so many elements it takes less time to write them than to make a view.
_FEW = 4096


def stretched(x: Array, shape: Sequence[int]) -> Array:
    """``x`` at every place of ``shape``: written out where that is small, else a view.

    >>> stretched(np.float32(2), (2, 2)).tolist()
    [[2.0, 2.0], [2.0, 2.0]]
    """
    if math.prod(shape) > _FEW:
        return np.broadcast_to(x, shape)
    result = np.empty(shape, x.dtype)
    result[...] = x
    return result


def _identity(out: Word, created: Shape) -> Callable[..., Array]:
    letters = list(dict.fromkeys(out))

    def call(_: Sequence[Array], sizes: Mapping[str, int]) -> Array:
        length = dict(zip(letters, _lengths(created, sizes), strict=True))
        result = np.zeros([length[k] for k in out], dtype=np.int64)
        np.einsum(result, out, letters)[...] = 1
        return result

    return call


def _itself(x: Array) -> Array:
    return x


def _only(word: Word, letters: Sequence[int]) -> Callable[[Array], Array]:
    """``x[word]`` as a view of axes ``letters``, those of the word: diagonals and transposes."""
    target = tuple(letters)
    if word == target:
        return _itself
    if len(set(word)) == len(word):
        if word == target[::-1]:
            return attrgetter("T")
        axes = tuple(word.index(k) for k in target)
        return lambda x: x.transpose(axes)
    (named,), view = canonical([word], target)  # einsum has 52 letters
    return lambda x: np.einsum(x, named, view)  # a view, since nothing is summed


def _rearranged(word: Word, out: Word, created: Shape) -> Callable[..., Array]:
    letters = tuple(dict.fromkeys(out))
    carried = _only(word, [k for k in letters if k in word])
    spread = tuple(slice(None) if k in word else None for k in letters)
    new = [k for k in letters if k not in word]
    diagonal = len(letters) < len(out)

    def call(arrays: Sequence[Array], sizes: Mapping[str, int]) -> Array:
        x = carried(arrays[0])
        if new:
            length = dict(zip(new, _lengths(created, sizes), strict=True))
            shape = iter(x.shape)
            full = [length[k] if k in length else next(shape) for k in letters]
            x = stretched(x[spread], full)
        if not diagonal:
            return x
        size = dict(zip(letters, x.shape, strict=True))
        result = np.zeros([size[k] for k in out], dtype=x.dtype)
        np.einsum(result, out, letters)[...] = x
        return result

    return call


# One operand summed -------------------------------------------------------------------------------


def _reduced(word: Word, kept: Word, unit: bool = False) -> Callable[[Array], Array]:
    """The sum of ``x[word]`` over the letters that ``kept``, in the order of the word, lacks.

    ``unit``: those letters have length 1, so that there is nothing to add.
    """
    letters = tuple(dict.fromkeys(word))
    view = _only(word, letters)
    axes = tuple(i for i, k in enumerate(letters) if k not in kept)
    if not axes:
        return view
    if unit:
        return lambda x: view(x).squeeze(axes)[()]
    if len(axes) == len(letters):
        return lambda x: np.add.reduce(view(x), axis=None)
    return lambda x: np.add.reduce(view(x), axis=axes)


def _summed(word: Word, out: Word, created: Shape, unit: bool) -> Callable[..., Array]:
    kept = tuple(k for k in dict.fromkeys(word) if k in out)
    reduced = _reduced(word, kept, unit)
    if kept == out:
        return lambda arrays, sizes: reduced(arrays[0])
    # a letter of length 1 was dropped, and others are permuted or created
    rearranged = _rearranged(kept, out, created)
    return lambda arrays, sizes: rearranged([reduced(arrays[0])], sizes)


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


def _multiply(p: Pair) -> Callable[[Array, Array], Array]:
    views = []
    for word in (p.a, p.b):
        carried = _only(word, [k for k in p.out if k in word])
        spread = tuple(slice(None) if k in word else None for k in p.out)
        views.append((carried, spread))
    (first, of_first), (second, of_second) = views
    return lambda a, b: first(a)[of_first] * second(b)[of_second]


def _dot(p: Pair) -> Callable[[Array, Array], Array]:
    aligned = _only(p.b, p.a)
    return lambda a, b: np.dot(a.ravel(), aligned(b).ravel())


def _einsum(p: Pair) -> Callable[[Array, Array], Array]:
    (first, second), out = canonical([p.a, p.b], p.out)
    return lambda a, b: np.einsum(a, first, b, second, out)


# Two matrices, by whether each stands as it is.  ``dot`` is quicker to start than ``matmul``, and
# goes to BLAS where that has loops of its own: for an outer product of a transposed column.
_FLAT: dict[tuple[bool, bool], Callable[[Array, Array], Array]] = {
    (True, True): np.dot,
    (True, False): lambda a, b: np.dot(a, b.T),
    (False, True): lambda a, b: np.dot(a.T, b),
    (False, False): lambda a, b: np.dot(a.T, b.T),
}


def _matmul(p: Pair) -> Callable[[Array, Array], Array]:
    """Batch + (left, summed) @ batch + (summed, right), each group one axis.

    Transposed views stay views: BLAS reads either order.
    """
    rest = [k for k in p.out if k not in p.batch]
    if p.left and p.right and rest[0] in p.right:  # the result comes in the order asked for
        turned = _matmul(Pair(p.b, p.a, p.out))
        return lambda a, b: turned(b, a)
    first = _only(p.a, p.batch + p.left + p.summed)
    second = _only(p.b, p.batch + p.summed + p.right)
    back = _only(p.batch + p.left + p.right, p.out)
    n, flat = len(p.batch), len(p.left) == len(p.summed) == len(p.right) == 1
    vectors = not p.batch and len(p.summed) == 1 and len(p.left) + len(p.right) == 1
    if flat and not p.batch and p.out == p.left + p.right:
        return _FLAT[p.a == p.left + p.summed, p.b == p.summed + p.right]
    if flat or vectors:
        return lambda a, b: back(np.matmul(first(a), second(b)))
    rows, inner = len(p.left), len(p.summed)

    def call(a: Array, b: Array) -> Array:
        a, b = first(a), second(b)
        batch, left, right = a.shape[:n], a.shape[n : n + rows], b.shape[n + inner :]
        k = math.prod(b.shape[n : n + inner])
        a = a.reshape(*batch, math.prod(left), k)
        b = b.reshape(*batch, k, math.prod(right))
        return back(np.matmul(a, b).reshape(batch + left + right))

    return call


PAIRS: tuple[
    tuple[str, Callable[[Pair], bool], Callable[[Pair], Callable[[Array, Array], Array]]], ...
] = (
    ("multiply", lambda p: not p.summed, _multiply),
    ("dot", lambda p: not (p.batch or p.left or p.right), _dot),
    ("einsum", lambda p: not (p.left or p.right), _einsum),
    ("batched matmul", lambda p: bool(p.batch), _matmul),
    ("tensordot", lambda p: max(len(p.summed), len(p.left), len(p.right)) > 1, _matmul),
    ("matrix-vector", lambda p: not (p.left and p.right), _matmul),
    ("matmul", lambda p: True, _matmul),
)
"""How two operands meet: name, condition, call; the first line that applies."""


# Many operands, two at a time ---------------------------------------------------------------------


class Step(NamedTuple):
    """Operands ``i < j`` of those left are replaced by their contraction, which goes last."""

    i: int
    j: int
    kind: str
    text: str
    call: Callable[[Array, Array], Array]


def _pairwise(words: Sequence[Word], out: Word, shapes: Sequence[Shape]) -> Plan:
    length = {
        k: dim if isinstance(dim, int) else _NOMINAL
        for word, shape in zip(words, shapes, strict=True)
        for k, dim in zip(word, shape, strict=True)
    }
    before, left = [], []
    for i, word in enumerate(words):
        others = {k for j, other in enumerate(words) if j != i for k in other}
        kept = tuple(k for k in dict.fromkeys(word) if k in out or k in others)
        before.append(_reduced(word, kept))
        left.append(kept)
    shrunk = [
        f"sum {letters_text([word], kept)}"
        for word, kept in zip(words, left, strict=True)
        if set(word) != set(kept)
    ]
    steps: list[Step] = []
    while len(left) > 1:
        i, j = _cheapest(left, length)
        rest = [word for k, word in enumerate(left) if k not in (i, j)]
        wanted = {k for word in rest for k in word} | set(out)
        result = tuple(k for k in dict.fromkeys(left[i] + left[j]) if k in wanted) if rest else out
        steps.append(_step(i, j, left[i], left[j], result))
        left = [*rest, result]
    return Plan(
        steps[0].kind if len(steps) == 1 else "path",
        ", ".join([*shrunk, *(step.text for step in steps)]),
        _run(before, steps),
    )


def _cheapest(words: Sequence[Word], length: Mapping[int, int]) -> tuple[int, int]:
    """The pair of fewest multiplications, those without a common letter last."""

    def cost(pair: tuple[int, int]) -> tuple[bool, int, int, int]:
        a, b = words[pair[0]], words[pair[1]]
        work = math.prod(length[k] for k in {*a, *b})
        return (not set(a) & set(b), work, *pair)

    return min(combinations(range(len(words)), 2), key=cost)


def _step(i: int, j: int, a: Word, b: Word, out: Word) -> Step:
    pair = Pair(a, b, out)
    for kind, applies, build in PAIRS:
        if applies(pair):
            return Step(i, j, kind, f"{kind} {letters_text([a, b], out)}", build(pair))
    raise AssertionError("the last line of PAIRS applies to every pair")


def _run(before: Sequence[Callable[[Array], Array]], steps: Sequence[Step]) -> Callable[..., Array]:
    if len(steps) == 1:
        (first, second), call = before, steps[0].call
        if first is _itself and second is _itself:
            return lambda arrays, sizes: call(*arrays)
        return lambda arrays, sizes: call(first(arrays[0]), second(arrays[1]))

    def run(arrays: Sequence[Array], sizes: Mapping[str, int]) -> Array:
        left = [reduced(x) for reduced, x in zip(before, arrays, strict=True)]
        for i, j, _, _, meet in steps:
            b, a = left.pop(j), left.pop(i)
            left.append(meet(a, b))
        return left[0]

    return run


# Masked operands ----------------------------------------------------------------------------------


def _masked(
    words: tuple[Word, ...], out: Word, kills: tuple[bool, ...], planned: Plan
) -> Callable[..., Array]:
    """The plan; where that is not finite, the sum of the terms in which no masked operand is 0."""
    unique = [tuple(dict.fromkeys(word)) for word in words]
    views = [_only(word, letters) for word, letters in zip(words, unique, strict=True)]

    def call(arrays: Sequence[Array], sizes: Mapping[str, int]) -> Array:
        before = noise()
        try:
            set_noise(SILENCE)
            result = planned.call(arrays, sizes)
            # A sum of squares is finite only if all are, and BLAS has it at once.
            flat = result.ravel("K")
            if isfinite(flat.dot(flat)):
                return result
            wrong = ~np.isfinite(result)
            if not wrong.any():
                return result
            operands = [view(x) for view, x in zip(views, arrays, strict=True)]
            result = np.array(result)
            places = np.nonzero(wrong) if out else ()
            result[wrong] = _terms(operands, unique, places, out, kills, result.dtype)
            return result[()]
        finally:
            set_noise(before)

    return call


def _terms(
    operands: Sequence[Array],
    words: Sequence[Word],
    places: Sequence[NDArray[np.intp]],
    out: Word,
    kills: Sequence[bool],
    dtype: np.dtype[Any],
) -> Array:
    """The sums of terms at these places of ``out``, in blocks of bounded size."""
    index = dict(zip(out, places, strict=True))
    length = {
        k: n
        for x, word in zip(operands, words, strict=True)
        for k, n in zip(word, x.shape, strict=True)
    }
    summed = [k for k in length if k not in index]
    count = places[0].size if places else 1
    total = np.zeros(count, dtype=dtype)
    # Leading summed letters are looped over as long as the block of the others exceeds the bound.
    looped = 0
    while looped < len(summed) and math.prod(length[k] for k in summed[looped:]) > _BLOCK:
        looped += 1
    inner = summed[looped:]
    chunk = max(1, _BLOCK // max(1, math.prod(length[k] for k in inner)))
    for start in range(0, count, chunk):
        part = {k: place[start : start + chunk] for k, place in index.items()}
        for at in np.ndindex(*(length[k] for k in summed[:looped])):
            fixed = dict(zip(summed[:looped], at, strict=True))
            total[start : start + chunk] += _block(operands, words, part, fixed, inner, kills)
    return total


def _block(
    operands: Sequence[Array],
    words: Sequence[Word],
    part: Mapping[int, NDArray[np.intp]],
    fixed: Mapping[int, int],
    inner: Sequence[int],
    kills: Sequence[bool],
) -> Array:
    product: Any = 1
    killed: Any = False
    for x, word, kill in zip(operands, words, kills, strict=True):
        order = [k for k in word if k not in inner] + [k for k in inner if k in word]
        key = tuple(part[k] if k in part else fixed[k] for k in word if k not in inner)
        gathered = x.transpose([word.index(k) for k in order])[key]
        lead = (slice(None),) if any(k in part for k in word) else (None,)
        factor = gathered[lead + tuple(slice(None) if k in word else None for k in inner)]
        product = product * factor
        if kill:
            killed = killed | (factor == 0)
    total: Array = np.where(killed, 0, product).sum(axis=tuple(range(1, 1 + len(inner))))
    return total
