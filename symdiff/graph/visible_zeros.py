"""Flows that are visibly zeros with a part in them: products and contractions stay inside it.

The tangent of an array of which only some elements vary is such a flow, ``unslice(t)``.  Partials
meet t alone, cut to its place, so that nothing is multiplied by zeros and nothing is left of them
once an element is taken or its axis is summed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from symdiff.graph import number, ops
from symdiff.graph.algebra import block, blocks, linear, part, scale, total
from symdiff.graph.contraction import contract
from symdiff.graph.leaves import split_coefficient
from symdiff.graph.ranges import WHOLE, chosen, count, meeting, places_of, reversed_places

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symdiff.graph.axes import Word
    from symdiff.graph.expr import Expr
    from symdiff.graph.node import Dim, Shape
    from symdiff.graph.number import Number
    from symdiff.graph.ranges import Places

# A sum of more parts than this is an array like any other.
_MOST = 8


class Placed(NamedTuple):
    """``coefficient * unslice(inner)``."""

    coefficient: Number
    op: ops.Unslice
    inner: Expr

    def with_inner(self, inner: Expr) -> Expr:
        """The same zeros around another part."""
        return linear(self.op, scale(self.coefficient, inner))


def parts(x: Expr) -> list[Placed]:
    """The few parts of which x is visibly the sum; none if it is anything else."""
    c, base = split_coefficient(x)
    if base is None:
        return []
    op = base.op
    if isinstance(op, ops.Unslice):
        return [Placed(c, op, base.args[0])]
    if not isinstance(op, ops.Sum) or op.const or len(base.args) > _MOST:
        return []
    found = []
    for d, y in zip(op.coefs, base.args, strict=True):
        if not isinstance(y.op, ops.Unslice):
            return []
        found.append(Placed(number.times(c, d), y.op, y.args[0]))
    return found


def together(xs: Sequence[Expr]) -> Expr | None:
    """The sum of visible parts, those at one place as one; None where one is anything else."""
    at: dict[ops.Unslice, list[Expr]] = {}
    for x in xs:
        found = parts(x)
        if not found:
            return None
        for p in found:
            at.setdefault(p.op, []).append(scale(p.coefficient, p.inner))
    if len(at) > _MOST:
        return None
    return total([linear(op, total(inner)) for op, inner in at.items()])


def moved(op: ops.Linear, k: int, x: Expr, shape: Shape) -> Expr | None:
    """``op``, with zeros for its other operands, of visible parts x: parts where it moves these.

    ``shape`` is that of the value.  None where it does more than move them, or where it depends on
    a symbolic length.
    """
    found = parts(x)
    if isinstance(op, ops.Slice):
        taken = linear(op, x) if found else None
        return None if taken is None or any(map(_is_open, _terms(taken))) else taken
    shares = []
    for c, cut, inner in found:
        places = _moved(op, k, blocks(cut, x.shape), x.shape, shape)
        if places is None:
            return None
        word = tuple(range(inner.ndim))
        if isinstance(op, ops.Reshape):  # one element: all axes have length 1
            word = word[: inner.ndim - len(op.before)]
            new = tuple(range(inner.ndim, inner.ndim + len(op.after)))
            inner = contract([(inner, tuple(range(inner.ndim)))], word + new, dict.fromkeys(new, 1))
        shares.append(scale(c, part(inner, places, shape)))
    return together(shares) if shares else None


def _moved(
    op: ops.Linear, k: int, places: list[Places], before: Shape, after: Shape
) -> list[Places] | None:
    """Where the op puts the elements of operand k, of shape ``before``, at these places."""
    match op:
        case ops.Flip():
            axes = {len(before) + axis for axis in op.axes}
            try:
                return [
                    reversed_places(r, n) if i in axes else r
                    for i, (r, n) in enumerate(zip(places, before, strict=True))
                ]
            except LookupError:
                return None
        case ops.Concat():
            axis, start = len(before) + op.axis, 0
            for length in op.lengths[:k]:
                if not isinstance(length, int):
                    return None
                start += length
            r = places[axis]
            if not isinstance(r, range):
                return None
            places[axis] = range(r.start + start, r.stop + start, r.step)
            return places
        case ops.Reshape():
            lead = len(before) - len(op.before)
            flat = 0
            for r, n in zip(places[lead:], op.before, strict=True):
                if not isinstance(r, range) or len(r) != 1 or not isinstance(n, int):
                    return None
                flat = flat * n + r[0]
            found: list[Places] = []
            for n in reversed(op.after):
                if not isinstance(n, int):
                    return None
                flat, i = divmod(flat, n)
                found.append(range(i, i + 1))
            return [*places[:lead], *reversed(found)]
    return None


def _terms(x: Expr) -> tuple[Expr, ...]:
    return x.args if isinstance(x.op, ops.Sum) else (x,)


def _is_open(x: Expr) -> bool:
    """Whether a slice of a part was left as it is."""
    return isinstance(x.op, ops.Slice) and isinstance(x.args[0].op, ops.Unslice)


def contracted(
    terms: Sequence[tuple[Expr, Word, bool]], k: int, out: Word, sizes: Mapping[int, Dim]
) -> Expr | None:
    """The contraction of terms of which operand k is a visible part (or several): the parts alone.

    The letters of a part run over its place only; where they are letters of the result, that is a
    part again.  None where there is no such part.
    """
    x, word, _ = terms[k]
    length = dict(zip(word, x.shape, strict=True))
    shares = []
    for c, op, inner in parts(x):
        places: dict[int, Places] = {}
        taken = [places_of(WHOLE, n) for n in inner.shape]
        for axis, (letter, r) in enumerate(zip(word, blocks(op, x.shape), strict=True)):
            held = places.setdefault(letter, r)
            if held == r:
                continue
            if word.count(letter) > 2 or not isinstance(held, range) or not isinstance(r, range):
                return None
            # a diagonal: both axes run over the places that they share
            i, j = meeting(held, r, length[letter]) or (range(0), range(0))
            assert isinstance(i, range)
            taken[word.index(letter)], taken[axis] = i, j
            places[letter] = chosen(held, i)
        shares.append(scale(c, _placed(terms, k, block(inner, taken), places, length, out, sizes)))
    if not shares:
        return None
    whole = together(shares)
    return total(shares) if whole is None else whole


def weighted(w: Expr, t: Expr, axes: int) -> Expr:
    """``sum over the last axes of w * t``, over the visible parts of t alone."""
    word = tuple(range(t.ndim))
    out = word[: t.ndim - axes]
    result = contracted([(w, word, False), (t, word, False)], 1, out, {})
    return contract([(w, word), (t, word)], out) if result is None else result


def _placed(
    terms: Sequence[tuple[Expr, Word, bool]],
    k: int,
    inner: Expr,
    places: Mapping[int, Places],
    length: Mapping[int, Dim],
    out: Word,
    sizes: Mapping[int, Dim],
) -> Expr:
    """The contraction with ``inner`` for operand k, the letters running over ``places``."""

    def along(word: Word, shape: Shape) -> list[Places]:
        return [places.get(a, places_of(WHOLE, n)) for a, n in zip(word, shape, strict=True)]

    cut = [
        (inner, word, False) if i == k else (block(y, along(word, y.shape)), word, kill)
        for i, (y, word, kill) in enumerate(terms)
    ]
    result = contract(cut, out, {**sizes, **{a: count(r, length[a]) for a, r in places.items()}})
    shape = tuple([length.get(a, n) for a, n in zip(out, result.shape, strict=True)])
    return part(result, along(out, shape), shape)
