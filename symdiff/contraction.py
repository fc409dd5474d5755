"""Contractions: sums of products over letters, each value in one spelling.

Only ``contract`` builds Contract nodes.  It absorbs operands that sum nothing (transposes,
broadcasts, diagonals, identities), and gives the rest its canonical form: a product in which
nothing is summed is a Product; a contraction that sums has operands in creation order and its
letters in order of first use; permuting, repeating and broadcasting are 1-operand contractions
around it.  A contraction that sums never absorbs another that sums, which would destroy the
association of reverse mode.
"""

from __future__ import annotations

from functools import reduce
from itertools import permutations
from typing import TYPE_CHECKING, TypeAlias

from symdiff import number, ops
from symdiff.errors import ShapeError
from symdiff.leaves import full, number_of, promoted, size, split_coefficient
from symdiff.letters import Sizes, broadcast_shapes, canonical, shape_text
from symdiff.node import Dim, Shape, make

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symdiff.expr import Expr
    from symdiff.letters import Word
    from symdiff.number import Number

Term: TypeAlias = "tuple[Expr, Word] | tuple[Expr, Word, bool]"


def contract(
    terms: Sequence[Term],
    out: Word,
    sizes: Mapping[int, Dim] | None = None,
    name: str = "contract",
) -> Expr:
    """``value[out] = sum over the other letters of prod_k operand_k[word_k]``.

    Args:
        terms: (operand, word) or (operand, word, kills); ``kills`` marks a masked cotangent. out:
        the letters of the result; repeated letters make a diagonal, letters of no operand are
        broadcast. sizes: the lengths of letters that no operand has. name: the function that the
        user called, for messages.

    Raises ShapeError where a letter would have two lengths.

    >>> import symdiff as sd
    >>> A = sd.symbol("A", (2, 3))
    >>> contract([(A, (0, 1))], (1, 0)) is A.T
    True
    """
    letters = Sizes(name)
    for letter, dim in (sizes or {}).items():
        letters.put(letter, dim)
    whole: list[tuple[Expr, Word, bool]] = []
    masks = False
    for x, word, *kill in terms:
        masks = masks or x.dtype is bool
        if len(word) != len(x.shape):
            raise ShapeError(
                f"{name}: operand of shape {shape_text(x.shape)} has {x.ndim} axes, not {len(word)}"
            )
        for letter, dim in zip(word, x.shape, strict=True):
            letters.put(letter, dim, x.shape)
        whole.append((x, word, bool(kill and kill[0])))
    if masks and (len(whole) > 1 or any(k not in out and letters.length[k] != 1 for k in word)):
        whole = [
            (1 * x, word, kill) for x, word, kill in whole
        ]  # masks are numbers in a product or sum
    return _Contraction(letters, whole, out).build()


class _Contraction:
    """One construction: absorb what needs no sum, then give the rest its canonical spelling."""

    def __init__(self, letters: Sizes, terms: list[tuple[Expr, Word, bool]], out: Word) -> None:
        self.letters, self.out = letters, out
        self.coef: Number = 1
        self.terms: list[tuple[Expr, Word, bool]] = []
        self.seen: dict[int, None] = {letter: None for _, word, _ in terms for letter in word}
        for term in terms:
            self.absorb(*term)

    def absorb(self, x: Expr, word: Word, kill: bool) -> None:
        """Take over the operand of a contraction that sums nothing; collect coefficients."""
        while True:
            c, base = split_coefficient(x)
            if c != 1:
                self.coef = number.times(self.coef, c)
            if base is None:
                return
            x, op = base, base.op
            if not isinstance(op, ops.Contract) or len(op.letters) > 1 or self.really_sums(x):
                self.terms.append((x, word, kill))
                return
            names: dict[int, int] = {}
            for inner, outer in zip(op.out, word, strict=True):
                if inner in names:
                    self.letters.unify(names[inner], outer)
                else:
                    names[inner] = outer
            if not op.letters:
                return
            x = x.args[0]
            for inner, dim in zip(op.letters[0], x.shape, strict=True):
                if inner not in names:
                    names[inner] = self.letters.fresh(dim)
                    self.seen[names[inner]] = None
            word = tuple(names[inner] for inner in op.letters[0])

    @staticmethod
    def really_sums(x: Expr) -> bool:
        """Whether the contraction sums over a letter of length other than 1."""
        op = x.op
        assert isinstance(op, ops.Contract)
        return op.sums and any(
            letter not in op.out and dim != 1
            for word, arg in zip(op.letters, x.args, strict=True)
            for letter, dim in zip(word, arg.shape, strict=True)
        )

    def build(self) -> Expr:
        """The node of the whole contraction."""
        out = self.letters.word(self.out)
        if self.coef == 0:
            return full(tuple(self.letters.length[letter] for letter in out), 0)
        terms = [(x, self.letters.word(word), kill) for x, word, kill in self.terms]
        carried = {letter for _, word, _ in terms for letter in word}
        loose = dict.fromkeys(self.letters.word(self.seen))
        factors = [size(self.letters.length[k]) for k in loose if k not in carried and k not in out]
        result = self.of_terms(terms, out)
        for factor in factors:
            result = factor * result
        return result if self.coef == 1 else self.coef * result

    def of_terms(self, terms: list[tuple[Expr, Word, bool]], out: Word) -> Expr:
        if not terms:
            return self.identity(out)
        if len(terms) == 1:
            return self.one(terms[0][0], terms[0][1], out)
        scalars = [(x, kill) for x, word, kill in terms if not word]
        if scalars:
            rest = [term for term in terms if term[1]]
            result = self.of_terms(rest, out)
            killing = any(kill for _, _, kill in rest)
            for x, kill in scalars:
                wide = broadcast_to(x, result.shape)
                result = strong(wide, result, (kill, killing)) if kill or killing else x * result
                killing = killing or kill
            return result
        terms.sort(key=lambda term: term[0].serial)
        carried = list(dict.fromkeys(letter for _, word, _ in terms for letter in word))
        inner = tuple(letter for letter in carried if letter in out)
        if all(letter in out or self.letters.length[letter] == 1 for letter in carried):
            return self.one(self.unsummed(terms, inner), inner, out)
        node, inner = self.summed(terms, inner)
        return self.one(node, inner, out)

    def identity(self, out: Word) -> Expr:
        """No operand is left: ones where the letters differ, an identity where they repeat."""
        shape = tuple(self.letters.length[letter] for letter in out)
        if len(set(out)) == len(out):
            return full(shape, 1)
        _, word = canonical((), out)
        created = tuple(self.letters.length[letter] for letter in dict.fromkeys(out))
        return make(ops.contract_op((), word, created, ()), (), shape, int)

    def unsummed(self, terms: list[tuple[Expr, Word, bool]], out: Word) -> Expr:
        """Nothing is summed: a Product of the operands, brought to the same letters."""
        plain = [self.one(x, word, out) for x, word, kill in terms if not kill]
        killing = [self.one(x, word, out) for x, word, kill in terms if kill]
        product = reduce(lambda a, b: a * b, plain) if plain else None
        if not killing:
            assert product is not None
            return product
        mask = reduce(lambda a, b: strong(a, b, (True, True)), killing)
        return mask if product is None else strong(mask, product)

    def summed(self, terms: list[tuple[Expr, Word, bool]], inner: Word) -> tuple[Expr, Word]:
        """A contraction that sums: operands in creation order, ``out`` in order of first use."""
        args = tuple(x for x, _, _ in terms)
        kills = tuple(kill for _, _, kill in terms)
        words = [word for _, word, _ in terms]
        for place, x in enumerate(args):
            if len(x.shape) > 1 and symmetric(x, x.ndim - 2, x.ndim - 1):
                word = words[place]
                turned = [*words[:place], (*word[:-2], word[-1], word[-2]), *words[place + 1 :]]
                words = min(words, turned, key=lambda trial: canonical(trial, ())[0])
        words = _least_words(args, words, kills)
        inner = tuple(
            k for k in dict.fromkeys(letter for word in words for letter in word) if k in inner
        )
        named, out = canonical(words, inner)
        shape = tuple(self.letters.length[letter] for letter in inner)
        op = ops.contract_op(named, tuple(sorted(out)), (), kills)
        order = sorted(range(len(out)), key=lambda i: out[i])
        shape = tuple(shape[i] for i in order)
        return make(op, args, shape, promoted(args)), tuple(inner[i] for i in order)

    def one(self, x: Expr, word: Word, out: Word) -> Expr:
        """One operand: sum what ``out`` lacks, then permute, repeat and broadcast."""
        if [k for k in word if k not in out and self.letters.length[k] != 1]:
            inner = tuple([k for k in dict.fromkeys(word) if k in out])
            x = self.reduced(x, word, inner)
            word = inner
        if word == out and len(set(out)) == len(out):  # x_ii on a diagonal is not x
            return x
        if len(word) == len(out) > 1:
            moved = [place for place, letter in enumerate(word) if letter != out[place]]
            if len(moved) == 2 and set(word) == set(out) and symmetric(x, *moved):
                return x
        if number_of(x) is not None:
            return contract([(x, word)], out, {k: self.letters.length[k] for k in out})
        if isinstance(x.op, ops.Contract) and len(x.op.letters) == 1 and not self.really_sums(x):
            return contract([(x, word)], out, {k: self.letters.length[k] for k in out})
        (word,), named = canonical([word], out)
        extra = dict.fromkeys(k for k, n in zip(out, named, strict=True) if n not in word)
        created = tuple([self.letters.length[k] for k in extra])
        shape = tuple([self.letters.length[k] for k in out])
        return make(ops.contract_op((word,), named, created, (False,)), (x,), shape, x.dtype)

    def reduced(self, x: Expr, word: Word, inner: Word) -> Expr:
        """The sum of one operand; a product is summed as factors, a sum through its operand."""
        op = x.op
        if isinstance(op, ops.Contract) and len(op.letters) == 1:
            outer = dict(zip(op.out, word, strict=True))
            fresh = {
                k: self.letters.fresh(d)
                for k, d in zip(op.letters[0], x.args[0].shape, strict=True)
                if k not in outer
            }
            return contract([(x.args[0], tuple((outer | fresh)[k] for k in op.letters[0]))], inner)
        if isinstance(op, ops.Product) and (len(x.args) == 2 or op.exponents == (2,)):
            pair = x.args if len(x.args) == 2 else x.args * 2
            powers = op.exponents if len(x.args) == 2 else (1, 1)
            return contract([(y**p, word) for y, p in zip(pair, powers, strict=True)], inner)
        lengths = {k: self.letters.length[k] for k in word}
        traced = isinstance(op, ops.Opaque) and op.adds_up_to_trace
        if traced and x.args[0].dtype is float and word[-1] not in inner:
            return contract([(x.args[0], (*word, word[-1]))], inner, lengths)
        if isinstance(op, ops.Sum) and _is_centred(x, word, inner):
            terms = [
                k * contract([(y, word)], inner, lengths)
                for k, y in zip(op.coefs, x.args, strict=True)
            ]
            total = reduce(
                lambda a, b: a + b,
                terms,
                contract([(full(x.shape, op.const), word)], inner, lengths),
            )
            if number_of(total) == 0:
                return total
        (word,), named = canonical([word], inner)
        shape = tuple(self.letters.length[k] for k in inner)
        return make(ops.contract_op((word,), named, (), (False,)), (x,), shape, x.dtype)


# A formula is looked through for a symmetry down to so many nodes.
_LOOKED = 32


def symmetric(x: Expr, i: int, j: int) -> bool:
    """Whether the formula of x shows that exchanging its axes i and j changes nothing.

    So are identities, ``A @ A.T``, what is made of symmetric matrices element by element, and
    inverses, cofactors and exponentials of such.

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
            if any(k in turn for place, k in enumerate(op.out) if place not in (i, j)) and a != b:
                return False  # on a diagonal with another axis
            words = [tuple(turn.get(k, k) for k in word) for word in op.letters]
            if len(words) == 1 and words[0].count(a) == words[0].count(b) == 1 and a != b:
                stack.append((x.args[0], words[0].index(a), words[0].index(b)))
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
    """What x is a permutation or a broadcast of, and which of its axes stand where; -1: none."""
    op = x.op
    if isinstance(op, ops.Contract) and len(op.letters) == 1 and not op.sums:
        (word,) = op.letters
        if len(set(word)) == len(word) and len(set(op.out)) == len(op.out):
            return x.args[0], [word.index(k) if k in word else -1 for k in op.out]
    return x, list(range(x.ndim))


# A longer sum is not looked through.
_CENTRED_TERMS = 8


def _is_centred(x: Expr, word: Word, inner: Word) -> bool:
    """Whether a sum may add up to 0: it has a mean, or 1s on the diagonal and a number."""
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


def _least_words(args: Sequence[Expr], words: list[Word], kills: Sequence[bool]) -> list[Word]:
    """``words`` with those of equal operands in the order that reads least: x_i x_j is x_j x_i."""
    groups: dict[Expr, list[int]] = {}
    for place, x in enumerate(args):
        groups.setdefault(x, []).append(place)
    for places in groups.values():
        if 1 < len(places) <= 4 and len({kills[p] for p in places}) == 1:
            candidates = []
            for order in permutations(places):
                trial = list(words)
                for place, source in zip(places, order, strict=True):
                    trial[place] = words[source]
                candidates.append(trial)
            words = min(candidates, key=lambda trial: canonical(trial, ())[0])
    return words


def broadcast_to(x: Expr, shape: Shape) -> Expr:
    """``x`` stretched to ``shape`` as NumPy does; raises ShapeError where it does not fit."""
    if x.shape == shape:
        return x
    if broadcast_shapes("broadcast_to", x.shape, shape) != shape:
        raise ShapeError(
            f"broadcast_to: shape {shape_text(x.shape)} does not fit into {shape_text(shape)}"
        )
    lead = len(shape) - x.ndim
    sizes: dict[int, Dim] = dict(enumerate(shape))
    word = []
    for i, dim in enumerate(x.shape, start=lead):
        if dim == shape[i]:
            word.append(i)
        else:  # a stretched axis of length 1 is squeezed, so that letters never lie
            sizes[len(sizes)] = 1
            word.append(len(sizes) - 1)
    return contract([(x, tuple(word))], tuple(range(len(shape))), sizes, "broadcast_to")


def strong(a: Expr, b: Expr, kills: tuple[bool, bool] = (True, False)) -> Expr:
    """``a * b`` that is 0 where a killing operand is exactly 0."""
    if not any(kills):
        return a * b
    (c, x), (d, y) = split_coefficient(a), split_coefficient(b)
    if x is None or y is None:
        return a * b
    if kills == (False, True) or (kills == (True, True) and x.serial > y.serial):
        x, y, kills = y, x, (kills[1], kills[0])
    node = make(ops.strong_op(kills), (x, y), x.shape, promoted((x, y)))
    c = number.times(c, d)
    return node if c == 1 else c * node
