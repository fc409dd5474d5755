"""Contractions: sums of products over letters, each value in one normal form.

``contract`` absorbs operands that sum nothing (transposes, broadcasts, diagonals, identities) and
takes out coefficients.  It brings the rest to a normal form.  A product in which nothing is summed
is a Product.  A contraction that sums has its operands in creation order and its letters in order
of first use.  Rearrangements around it permute, repeat and broadcast axes.  A contraction that sums
never absorbs another that sums: that would destroy the association of reverse mode.
"""

from __future__ import annotations

from functools import lru_cache, reduce
from itertools import permutations
from typing import TYPE_CHECKING, TypeAlias

from symdiff.errors import ShapeError
from symdiff.graph import number, ops
from symdiff.graph.algebra import add, counted, int_power, mul
from symdiff.graph.axes import PATTERNS, Letters, canonical, letter_name, shape_text
from symdiff.graph.leaves import full, number_of, promoted, split_coefficient
from symdiff.graph.multiples import as_numeric, scale
from symdiff.graph.node import make
from symdiff.graph.rearrangement import broadcast_to as broadcast_to
from symdiff.graph.rearrangement import (
    identity,
    moved,
    rearranged,
    stretched,
    stripped,
    sums,
    symmetric,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symdiff.graph.axes import Lengths, Word
    from symdiff.graph.expr import Expr
    from symdiff.graph.node import Dim
    from symdiff.graph.number import Number

Term: TypeAlias = "tuple[Expr, Word] | tuple[Expr, Word, bool]"


def contract(
    terms: Sequence[Term],
    out: Word,
    sizes: Mapping[int, Dim] | None = None,
    name: str = "contract",
) -> Expr:
    """``value[out] = sum over the other letters of prod_k operand_k[word_k]``.

    Args:
        terms: (operand, word) or (operand, word, kills); ``kills`` marks a masked cotangent.
        out: the letters of the result; repeated letters make a diagonal, letters of no operand are
            broadcast.
        sizes: the lengths of letters that no operand has.
        name: the function that the user called, for messages.

    Raises ShapeError where a letter would have two lengths.

    >>> import symdiff as sd
    >>> A = sd.symbol("A", (2, 3))
    >>> contract([(A, (0, 1))], (1, 0)) is A.T
    True
    """
    length: dict[int, Dim] = {} if sizes is None else dict(sizes)
    args: list[Expr] = []
    words: list[Word] = []
    kills: list[bool] = []
    masks, cores = False, True
    for term in terms:
        x, word = term[0], term[1]
        shape = x.shape
        if len(word) != len(shape):
            raise ShapeError(
                f"{name}: operand of shape {shape_text(shape)} has {x.ndim} axes, not {len(word)}"
            )
        for letter, dim in zip(word, shape):  # noqa: B905  # compared above
            if length.setdefault(letter, dim) != dim:
                raise ShapeError(
                    f"{name}: operand of shape {shape_text(shape)}: letter {letter_name(letter)} "
                    f"would be both {length[letter]} and {dim}"
                )
        op = x.op
        if not op.simple_factor or (op.__class__ is ops.Contract and not sums(x)):
            cores = False
        if x.dtype is bool:
            masks = True
        args.append(x)
        words.append(word)
        kills.append(len(term) > 2 and term[2])
    if masks and (len(args) > 1 or any(k not in out and length[k] != 1 for k in words[0])):
        args = [as_numeric(x) for x in args]  # masks count as numbers in a product or sum
    if cores:
        return _contract_cores(args, words, kills, out, length)
    return _contract_any(args, words, kills, out, length)


def _contract_any(
    args: list[Expr], words: list[Word], kills: list[bool], out: Word, length: dict[int, Dim]
) -> Expr:
    """The contraction of operands, some of which have coefficients or are rearrangements."""
    letters = Letters(length)
    coef: Number = 1
    seen = [letter for word in words for letter in word]
    cores: list[tuple[Expr, Word, bool]] = []
    for x, word, kill in zip(args, words, kills, strict=True):
        c, core, word = stripped(x, word, letters)
        coef = coef if c == 1 else number.times(coef, c)
        if core is not None:
            cores.append((core, word, kill))
    out = letters.word(out)
    length = letters.length
    if coef == 0:
        return full(tuple([length[k] for k in out]), 0)
    words = [letters.word(word) for _, word, _ in cores]
    there = {*out, *[letter for word in words for letter in word]}
    # letters that no operand depends on
    loose = dict.fromkeys(map(letters.find, [*seen, *letters.made]))
    factors = [counted(length[k]) for k in loose if k not in there and length[k] != 1]
    result = _contract_cores(
        [x for x, _, _ in cores], words, [kill for _, _, kill in cores], out, length
    )
    for factor in factors:
        result = mul(factor, result, True)
    return result if coef == 1 else scale(coef, result)


def _contract_cores(
    args: list[Expr], words: list[Word], kills: list[bool], out: Word, length: Lengths
) -> Expr:
    """The contraction of operands without coefficients, neither numbers nor rearrangements."""
    if len(args) == 1:
        return _contract_one(args[0], words[0], out, length)
    if not args:
        return identity(out, length)
    if () in words:
        return _extract_scalars(args, words, kills, out, length)
    if len(args) > 2 or args[0].serial > args[1].serial:
        order = sorted(range(len(args)), key=[x.serial for x in args].__getitem__)
        args, words = [args[k] for k in order], [words[k] for k in order]
        kills = [kills[k] for k in order]
    op, summed, inner = _pattern(tuple(words), out, tuple(kills))
    for k in summed:
        if length[k] != 1:
            if _choosable(args):
                words = _least_words(args, words, kills)
                op, _, inner = _pattern(tuple(words), out, tuple(kills))
            operands = tuple(args)
            shape = tuple(map(length.__getitem__, inner))
            node = make(op, operands, shape, promoted(operands))
            return node if inner == out else moved(node, inner, out, length)
    return rearranged(_multiply_aligned(args, words, kills, inner, length), inner, out, length)


def _choosable(args: list[Expr]) -> bool:
    """Whether letters may be exchanged: those of equal adjacent or of symmetric operands."""
    last = None
    for x in args:
        shape = x.shape
        if x is last or (len(shape) > 1 and shape[-1] == shape[-2] and x.args):
            return True
        last = x
    return False


def _contract_one(x: Expr, word: Word, out: Word, length: Lengths) -> Expr:
    """One operand: sum the letters that ``out`` lacks, then permute, repeat and broadcast."""
    op, summed, inner = _pattern((word,), out, (False,))
    for k in summed:
        if length[k] != 1:
            if isinstance(x.op, _SUMMED_INSIDE):
                reduced = _distribute_sum(x, word, inner, length)
                if reduced is not None:
                    return rearranged(reduced, inner, out, length)
            node = make(op, (x,), tuple(map(length.__getitem__, inner)), x.dtype)
            return node if inner == out else moved(node, inner, out, length)
    return moved(x, word, out, length)


@lru_cache(maxsize=PATTERNS)
def _pattern(
    words: tuple[Word, ...], out: Word, kills: tuple[bool, ...]
) -> tuple[ops.Contract, Word, Word]:
    """The op of a contraction that sums, its summed letters, and the letters of its result.

    Both groups of letters are in order of first use.
    """
    carried = tuple(dict.fromkeys([letter for word in words for letter in word]))
    inner = tuple([letter for letter in carried if letter in out])
    named, result = canonical(words, inner)
    summed = tuple([letter for letter in carried if letter not in out])
    return ops.contract_op(named, result, (), kills), summed, inner


def _extract_scalars(
    args: list[Expr], words: list[Word], kills: list[bool], out: Word, length: Lengths
) -> Expr:
    """Take scalar operands out of the contraction and multiply its result by them."""
    rest = [k for k, word in enumerate(words) if word]
    killing = any(kills[k] for k in rest)
    result = _contract_cores(
        [args[k] for k in rest], [words[k] for k in rest], [kills[k] for k in rest], out, length
    )
    for x, word, kill in zip(args, words, kills, strict=True):
        if word:
            continue
        if kill or killing:
            result = strong(stretched(x, result.shape), result, (kill, killing))
        else:
            result = mul(x, result, True)
        killing = killing or kill
    return result


def _multiply_aligned(
    args: list[Expr], words: list[Word], kills: list[bool], out: Word, length: Lengths
) -> Expr:
    """A contraction that sums nothing: a Product of the operands, aligned to the same letters."""
    factors = [moved(x, word, out, length) for x, word in zip(args, words, strict=True)]
    plain = [x for x, kill in zip(factors, kills, strict=True) if not kill]
    killing = [x for x, kill in zip(factors, kills, strict=True) if kill]
    product = reduce(lambda a, b: mul(a, b, True), plain) if plain else None
    if not killing:
        assert product is not None
        return product
    mask = reduce(lambda a, b: strong(a, b, (True, True)), killing)
    return mask if product is None else strong(mask, product)


# Kinds of nodes that are summed as they are.
_SUMMED_INSIDE = (ops.Contract, ops.Product, ops.Opaque, ops.Sum)


def _distribute_sum(x: Expr, word: Word, inner: Word, length: Lengths) -> Expr | None:
    """The sum of one operand as a sum of its parts, or None.

    A product sums as factors; a sum passes the summation on to its operand.
    """
    op = x.op
    if isinstance(op, ops.Contract) and len(op.letters) == 1:
        letters = Letters(length)
        (operand,), (axes,) = x.args, op.letters
        names = dict(zip(op.out, word, strict=True))
        for k, dim in zip(axes, operand.shape, strict=True):
            if k not in names:
                names[k] = letters.fresh(dim)
        return contract([(operand, tuple([names[k] for k in axes]))], inner)
    if isinstance(op, ops.Product) and (len(x.args) == 2 or op.exponents == (2,)):
        pair = x.args if len(x.args) == 2 else x.args * 2
        powers = op.exponents if len(x.args) == 2 else (1, 1)
        factors = [int_power(as_numeric(y), p, True) for y, p in zip(pair, powers, strict=True)]
        return contract([(y, word) for y in factors], inner)
    lengths = {k: length[k] for k in word}
    traced = isinstance(op, ops.Opaque) and op.adds_up_to_trace
    if traced and x.args[0].dtype is float and word[-1] not in inner:
        return contract([(x.args[0], (*word, word[-1]))], inner, lengths)
    if isinstance(op, ops.Sum) and _is_centred(x, word, inner):
        parts = zip(op.coefs, x.args, strict=True)
        terms = [scale(k, contract([(y, word)], inner, lengths)) for k, y in parts]
        const = contract([(full(x.shape, op.const), word)], inner, lengths)
        total = reduce(add, terms, const)
        if number_of(total) == 0:
            return total
    return None


# The walk stops at longer sums.
_CENTRED_TERMS = 8


def _is_centred(x: Expr, word: Word, inner: Word) -> bool:
    """Whether a sum may cancel to 0: it has a mean, or 1s on the diagonal and a number."""
    if len(x.args) > _CENTRED_TERMS or len(set(word)) < len(word):
        return False
    summed = [place for place, letter in enumerate(word) if letter not in inner]
    for y in x.args:
        op = y.op
        if not isinstance(op, ops.Contract) or op.sums or len(op.letters) > 1:
            continue
        if not op.letters:
            return True
        mean = y.args[0]
        if all(op.out[place] not in op.letters[0] for place in summed) and any(
            isinstance(part.op, ops.Contract) and part.op.sums for part in (mean, *mean.args)
        ):
            return True
    return False


def _least_words(args: list[Expr], words: list[Word], kills: list[bool]) -> list[Word]:
    """The least of the equivalent ``words``: x_i x_j equals x_j x_i, and S_ij equals S_ji."""
    for place, x in enumerate(args):
        shape = x.shape
        if len(shape) > 1 and shape[-1] == shape[-2] and x.args:
            n = len(shape)
            if symmetric(x, n - 2, n - 1):
                word = words[place]
                turned = [*words[:place], (*word[:-2], word[-1], word[-2]), *words[place + 1 :]]
                words = min(words, turned, key=_named)
    if len(set(args)) == len(args):
        return words
    groups: dict[Expr, list[int]] = {}
    for place, x in enumerate(args):
        groups.setdefault(x, []).append(place)
    for positions in groups.values():
        if 1 < len(positions) <= 4 and len({kills[p] for p in positions}) == 1:
            candidates = []
            for order in permutations(positions):
                trial = list(words)
                for place, source in zip(positions, order, strict=True):
                    trial[place] = words[source]
                candidates.append(trial)
            words = min(candidates, key=_named)
    return words


def _named(words: list[Word]) -> tuple[Word, ...]:
    return canonical(words, ())[0]


def strong(a: Expr, b: Expr, kills: tuple[bool, bool] = (True, False)) -> Expr:
    """``a * b``, but 0 where a killing operand is exactly 0."""
    if not any(kills):
        return mul(a, b, True)
    (c, x), (d, y) = split_coefficient(a), split_coefficient(b)
    if x is None or y is None:
        return mul(a, b, True)
    if kills == (False, True) or (kills == (True, True) and x.serial > y.serial):
        x, y, kills = y, x, (kills[1], kills[0])
    node = make(ops.strong_op(kills), (x, y), x.shape, promoted((x, y)))
    c = number.times(c, d)
    return node if c == 1 else scale(c, node)
