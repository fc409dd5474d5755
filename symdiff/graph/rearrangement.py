"""Rearrangements: contractions of one operand that sum nothing.

They permute, repeat and broadcast axes, make identities, and drop axes of length 1.  A
rearrangement of a rearrangement is one rearrangement, and coefficients are taken out.  So each
value has one normal form.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from symdiff.errors import ShapeError
from symdiff.graph import number, ops
from symdiff.graph.axes import PATTERNS, Letters, broadcast_shapes, canonical, shape_text
from symdiff.graph.leaves import full, split_coefficient
from symdiff.graph.multiples import scale
from symdiff.graph.node import make

if TYPE_CHECKING:
    from symdiff.graph.axes import Lengths, Word
    from symdiff.graph.expr import Expr
    from symdiff.graph.node import Shape
    from symdiff.graph.number import Number


def broadcast_to(x: Expr, shape: Shape) -> Expr:
    """``x`` stretched to ``shape`` as NumPy does; raises ShapeError where it does not fit."""
    if x.shape != shape and broadcast_shapes("broadcast_to", x.shape, shape) != shape:
        raise ShapeError(
            f"broadcast_to: shape {shape_text(x.shape)} does not fit into {shape_text(shape)}"
        )
    return stretched(x, shape)


def stretched(x: Expr, shape: Shape) -> Expr:
    """``broadcast_to`` a shape known to fit."""
    before = x.shape
    if before == shape:
        return x
    out = tuple(range(len(shape)))
    lead = len(shape) - len(before)
    word, length = out[lead:], shape
    if before != shape[lead:]:
        squeezed = list(word)
        for place, dim in enumerate(before):
            if dim != shape[lead + place]:
                # squeeze stretched axes of length 1, so that each letter has one length
                squeezed[place] = len(length)
                length = (*length, 1)
        word = tuple(squeezed)
    op = x.op
    if not op.simple_factor or (op.__class__ is ops.Contract and not sums(x)):
        return rearranged(x, word, out, length)
    # skips the checks of `moved`: there are new axes, and the shape is known
    pattern = _arrangement(word, out)
    assert pattern is not None
    _, letters, named, new, _ = pattern
    op = ops.contract_op(letters, named, tuple(map(length.__getitem__, new)), (False,))
    return make(op, (x,), shape, x.dtype)


def rearranged(x: Expr, word: Word, out: Word, length: Lengths) -> Expr:
    """``value[out] = x[word]``; letters that ``out`` lacks have length 1.

    Repeated letters of ``out`` make a diagonal; its letters that x lacks are broadcast.  ``length``
    has every letter.

    >>> import symdiff as sd
    >>> A = sd.symbol("A", (2, 3))
    >>> rearranged(A, (0, 1), (1, 0), A.shape) is A.T
    True
    """
    op = x.op
    if op.simple_factor and (op.__class__ is not ops.Contract or sums(x)):
        return moved(x, word, out, length)
    letters = Letters(length)
    c, core, word = stripped(x, word, letters)
    out = letters.word(out)
    node = (
        identity(out, letters.length)
        if core is None or c == 0
        else moved(core, letters.word(word), out, letters.length)
    )
    return node if c == 1 else scale(c, node)


def stripped(x: Expr, word: Word, letters: Letters) -> tuple[Number, Expr | None, Word]:
    """Split ``x[word]`` into a coefficient, the core of its rearrangements, and its letters.

    The core of a number or an identity is None; an identity makes letters equal.
    """
    coef: Number = 1
    while True:
        c, base = split_coefficient(x)
        if c != 1:
            coef = number.times(coef, c)
        if base is None:
            return coef, None, ()
        x, op = base, base.op
        if not isinstance(op, ops.Contract) or sums(x):
            return coef, x, word
        names: dict[int, int] = {}
        for inner, outer in zip(op.out, word, strict=True):
            if inner in names:
                letters.unify(names[inner], outer)
            else:
                names[inner] = outer
        if not op.letters:
            return coef, None, ()
        x = x.args[0]
        for inner, dim in zip(op.letters[0], x.shape, strict=True):
            if inner not in names:
                names[inner] = letters.fresh(dim)
        word = tuple([names[inner] for inner in op.letters[0]])


def sums(x: Expr) -> bool:
    """Whether a contraction has several operands or sums over a letter of length other than 1."""
    op = x.op
    assert isinstance(op, ops.Contract)
    if len(op.letters) > 1:
        return True
    if not op.sums:
        return False
    word, shape = op.letters[0], x.args[0].shape
    return any(k not in op.out and dim != 1 for k, dim in zip(word, shape, strict=True))


def identity(out: Word, length: Lengths) -> Expr:
    """Ones where the letters of ``out`` differ, an identity where they repeat."""
    shape = tuple([length[k] for k in out])
    if len(set(out)) == len(out):
        return full(shape, 1)
    _, named = canonical((), out)
    created = tuple([length[k] for k in dict.fromkeys(out)])
    return make(ops.contract_op((), named, created, ()), (), shape, int)


def moved(x: Expr, word: Word, out: Word, length: Lengths) -> Expr:
    """``rearranged`` for an operand without coefficient that is not a rearrangement."""
    pattern = _arrangement(word, out)
    if pattern is None:
        return x
    op, letters, named, new, exchanged = pattern
    if exchanged is not None and x.args and symmetric(x, *exchanged):
        return x
    if op is None:
        op = ops.contract_op(letters, named, tuple([length[k] for k in new]), (False,))
    return make(op, (x,), tuple(map(length.__getitem__, out)), x.dtype)


@lru_cache(maxsize=PATTERNS)
def _arrangement(
    word: Word, out: Word
) -> tuple[ops.Contract | None, tuple[Word, ...], Word, Word, tuple[int, int] | None] | None:
    """Plan the rearrangements of ``word`` to ``out``: an op, or the data to make it.

    The data are the operand's letters, the result's, and the broadcast ones, whose lengths the op
    has.  Last come the two axes to exchange, if it does no more.  None means that nothing changes.
    """
    distinct = len(set(out)) == len(out)
    if word == out and distinct:  # x_ii on a diagonal differs from x
        return None
    letters, named = canonical((word,), out)
    new = tuple(dict.fromkeys(k for k in out if k not in word))
    exchanged = None
    if distinct and len(word) == len(out) and not new:
        first, *rest = [place for place, letter in enumerate(word) if letter != out[place]]
        if len(rest) == 1:
            exchanged = first, rest[0]
    op = None if new else ops.contract_op(letters, named, (), (False,))
    return op, letters, named, new, exchanged


# The search for a symmetry visits at most this many nodes.
_LOOKED = 32


def symmetric(x: Expr, i: int, j: int) -> bool:
    """Whether the formula of x shows that exchanging its axes i and j changes nothing.

    It recognises identities, ``A @ A.T``, elementwise functions of symmetric matrices, and
    inverses, cofactors and exponentials of them.

    >>> import symdiff as sd
    >>> A = sd.symbol("A", (2, 2))
    >>> symmetric(A @ A.T, 0, 1), symmetric(A, 0, 1), (A @ A.T).T is A @ A.T
    (True, False, True)
    """
    stack, seen = [(x, i, j)], 0
    while stack:
        x, i, j = stack.pop()
        seen += 1
        if x.shape[i] != x.shape[j] or seen > _LOOKED:
            return False
        op = x.op
        if isinstance(op, ops.Contract):
            a, b = op.out[i], op.out[j]
            turn = {a: b, b: a}
            if a != b and (op.out.count(a) > 1 or op.out.count(b) > 1):
                return False  # on a diagonal together with another axis
            words = tuple([tuple([turn.get(k, k) for k in word]) for word in op.letters])
            if len(words) == 1 and words[0].count(a) == words[0].count(b) == 1 and a != b:
                stack.append((x.args[0], words[0].index(a), words[0].index(b)))
                continue
            if len(set(x.args)) == len(x.args):  # no two operands can be exchanged
                if words != op.letters:
                    return False
                continue
            terms = zip(x.args, op.letters, op.kills, strict=True)
            exchanged = zip(x.args, words, op.kills, strict=True)
            key = lambda term: (term[0].serial, term[1], term[2])  # noqa: E731
            if sorted(map(key, terms)) != sorted(map(key, exchanged)):
                return False
        elif not x.args:
            return False
        elif isinstance(op, ops.Sum | ops.Product):
            weights = op.coefs if isinstance(op, ops.Sum) else op.exponents
            placed = [(*_placed(y), weight) for y, weight in zip(x.args, weights, strict=True)]
            for y, (base, places, weight) in zip(x.args, placed, strict=True):
                order = list(places)
                order[i], order[j] = order[j], order[i]
                if not any(b is base and p == order and w == weight for b, p, w in placed):
                    stack.append((y, i, j))
        elif isinstance(op, ops.Pointwise | ops.Strong):
            stack.extend((y, i, j) for y in x.args)
        elif isinstance(op, ops.Opaque) and op.keeps_symmetry and len(x.args) == 1:
            if {i, j} != {x.ndim - 2, x.ndim - 1}:
                return False
            stack.append((x.args[0], i, j))
        else:
            return False
    return True


def _placed(x: Expr) -> tuple[Expr, list[int]]:
    """The operand that x permutes or broadcasts, and its axis for each axis of x (-1: none)."""
    op = x.op
    if isinstance(op, ops.Contract) and len(op.letters) == 1 and not op.sums:
        (word,) = op.letters
        if len(set(word)) == len(word) and len(set(op.out)) == len(op.out):
            return x.args[0], [word.index(k) if k in word else -1 for k in op.out]
    return x, list(range(x.ndim))
