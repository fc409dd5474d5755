"""Arrays that are visibly zero outside some parts: products and contractions stay inside the parts.

The tangent of an array of which only some elements vary is such an array, ``unslice(t)``.  Several
adjacent parts are one join, with zeros between them.  Partial derivatives multiply only t, cut to
its position.  So nothing is multiplied by zeros, and the zeros disappear once an element is taken
or the axis is summed.
"""

from __future__ import annotations

from functools import cmp_to_key
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from symdiff.graph import number, ops
from symdiff.graph.algebra import block, blocks, linear, part, scale, total
from symdiff.graph.contraction import contract
from symdiff.graph.leaves import full, is_zero, split_coefficient
from symdiff.graph.lengths import Length, is_natural
from symdiff.graph.ranges import (
    WHOLE,
    Line,
    between,
    chosen,
    composed,
    count,
    meeting,
    places_of,
    reversed_places,
    step_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symdiff.graph.axes import Word
    from symdiff.graph.expr import Expr
    from symdiff.graph.node import Dim, Shape
    from symdiff.graph.number import Number
    from symdiff.graph.ranges import Places

# A sum of more parts than this counts as an ordinary array.
_MOST = 8


# The first position along an axis, and the one after the last.
_Bounds: TypeAlias = "tuple[Any, ...]"


class Placed(NamedTuple):
    """``coefficient * unslice(inner)``."""

    coefficient: Number
    op: ops.Unslice
    inner: Expr

    def with_inner(self, inner: Expr) -> Expr:
        """The same zeros around another part."""
        return linear(self.op, scale(self.coefficient, inner))


def parts(x: Expr, depth: int = _MOST) -> list[Placed]:
    """The few parts of which x is visibly the sum; an empty list for any other x.

    It searches joins down to ``depth`` levels.
    """
    c, base = split_coefficient(x)
    if base is None:
        return []
    op = base.op
    if isinstance(op, ops.Unslice):
        return [Placed(c, op, base.args[0])]
    if isinstance(op, ops.Concat):
        return _among_zeros(c, op, base, depth)
    if not isinstance(op, ops.Sum) or op.const or len(base.args) > _MOST:
        return []
    blocks_of = []
    for d, y in zip(op.coefs, base.args, strict=True):
        if not isinstance(y.op, ops.Unslice):
            return []
        blocks_of.append(Placed(number.times(c, d), y.op, y.args[0]))
    return blocks_of


def _among_zeros(c: Number, op: ops.Concat, x: Expr, depth: int) -> list[Placed]:
    """The parts of a join that has zeros between or inside its operands."""
    pieces: list[Placed] = []
    zeros = False
    axis = x.ndim + op.axis
    for k, y in enumerate(x.args):
        if is_zero(y):
            zeros = zeros or 0 not in y.shape
            continue
        if len(pieces) == _MOST or not depth:
            return []
        cut = op.transposed(k, x.shape)
        assert isinstance(cut, ops.Slice)
        (there,) = blocks(cut, x.shape)[axis : axis + 1]
        inner = parts(y, depth - 1)
        zeros = zeros or bool(inner)
        try:
            for d, place, z in inner:
                places = blocks(place, y.shape)
                step = step_of(places[axis], y.shape[axis])
                places[axis] = composed(step, there, x.shape[axis])
                pieces.append(Placed(number.times(c, d), _unslice(places, x.shape), z))
        except LookupError:
            return []
        if not inner:
            pieces.append(Placed(c, _unslice(blocks(cut, x.shape), x.shape), y))
    return pieces if zeros and len(pieces) <= _MOST else []


def _unslice(places: Sequence[Places], shape: Shape) -> ops.Unslice:
    """The op that writes its operand at these positions of each axis."""
    steps = [step_of(r, n) for r, n in zip(places, shape, strict=True)]
    first = next((k for k, step in enumerate(steps) if step != WHOLE), len(steps) - 1)
    after = [count(r, n) for r, n in zip(places, shape, strict=True)]
    op = ops.unslice_op(shape[first:], tuple(steps[first:]), tuple(after[first:]))
    assert isinstance(op, ops.Unslice)
    return op


class _Share(NamedTuple):
    """An array and its bounds along each axis of the full array; None for the full axis."""

    bounds: tuple[_Bounds | None, ...]
    expr: Expr


def joined(shares: Mapping[ops.Unslice, Expr], shape: Shape) -> tuple[Expr, bool] | None:
    """The sum of adjacent parts as one join, and whether it has no zeros.

    Zeros fill the gaps.  Parts may be adjacent along several axes: then the result joins joins.
    None for parts that overlap or may overlap, and for parts with steps.
    """
    bounded = []
    for op, x in shares.items():
        bounds: list[_Bounds | None] = []
        for axis, (r, n) in enumerate(zip(blocks(op, shape), shape, strict=True)):
            there = _bounds(r, n)
            if there == ():
                return None
            if isinstance(r, range | Line) and r.step < 0 and count(r, n) != 1:
                x = linear(ops.flip_op((axis - len(shape),)), x)
            bounds.append(there)
        bounded.append(_Share(tuple(bounds), x))
    return _joined(bounded, shape)


def _bounds(places: Places, length: Dim) -> _Bounds | None:
    """The first position and the one after the last; None for all, () for none or with gaps."""
    if isinstance(places, int):
        # a letter stands for a length, so no position can be counted from it
        if not isinstance(length, Length):
            return ()
        first = places if places >= 0 else length + places
        return (first, first + 1)
    if isinstance(places, range):
        low, high = (places[0], places[-1]) if places else (0, -1)
        if len(places) != abs(high - low) + 1 or not places:
            return ()
        return None if len(places) == length else (min(low, high), max(low, high) + 1)
    if places is None:
        return None
    if places.step == 1:
        return (places.first, places.stop)
    return (places.stop + 1, places.first + 1) if places.step == -1 else ()


def _joined(shares: list[_Share], shape: Shape) -> tuple[Expr, bool] | None:
    if len(shares) == 1:
        bounds, x = shares[0]
        steps = [
            WHOLE if b is None else between(b[0], b[1], n)
            for b, n in zip(bounds, shape, strict=True)
        ]
        places = [places_of(step, n) for step, n in zip(steps, shape, strict=True)]
        return part(x, places, shape), all(b is None for b in bounds)
    for axis, length in enumerate(shape):
        groups: dict[_Bounds | None, list[_Share]] = {}
        for share in shares:
            groups.setdefault(share.bounds[axis], []).append(share)
        if None in groups:  # a part along the full axis, with others or alone
            continue
        order = _sort_intervals(list(groups), length)  # type: ignore[arg-type]
        if order is None:
            continue
        lengths, operands, covered = [], [], True
        for there in order:
            size = there[1] - there[0]
            inner = (*shape[:axis], size, *shape[axis + 1 :])
            if there in groups:
                inner_pieces = [
                    _Share((*b[:axis], None, *b[axis + 1 :]), x) for b, x in groups[there]
                ]
                below = _joined(inner_pieces, inner)
                if below is None:
                    return None
                operands.append(below[0])
                covered = covered and below[1]
            else:
                operands.append(full(inner, 0))
                covered = False
            lengths.append(size)
        return linear(ops.concat_op(axis - len(shape), tuple(lengths)), *operands), covered
    return None


def _sort_intervals(bounds: list[_Bounds], length: Dim) -> list[_Bounds] | None:
    """The intervals in order, and the gaps between them; None where they overlap or may overlap."""
    if all(isinstance(first, int) for first, _ in bounds):
        bounds.sort(key=itemgetter(0))  # two intervals with the same start overlap
    else:
        try:
            bounds.sort(key=cmp_to_key(_compare_positions))
        except LookupError:
            return None
    intervals: list[_Bounds] = []
    end: Any = 0
    for first, stop in [*bounds, (length, length)]:
        if not is_natural(first - end):
            return None
        if first != end:
            intervals.append((end, first))
        if first != length:
            intervals.append((first, stop))
        end = stop
    return intervals


def _compare_positions(a: _Bounds, b: _Bounds) -> int:
    """1 where a is after b, -1 where it is before; LookupError where lengths decide it."""
    if is_natural(a[0] - b[1]):
        return 1
    if is_natural(b[0] - a[1]):
        return -1
    raise LookupError


def together(xs: Sequence[Expr]) -> Expr | None:
    """The sum of arrays with visible parts, merged by position; None if one array has none."""
    at: dict[ops.Unslice, list[Expr]] = {}
    for x in xs:
        pieces = parts(x)
        if not pieces:
            return None
        for p in pieces:
            at.setdefault(p.op, []).append(scale(p.coefficient, p.inner))
    if len(at) > _MOST:
        return None
    merged = {op: total(inner) for op, inner in at.items()}
    joint = joined(merged, xs[0].shape) if len(merged) > 1 else None
    return total([linear(op, x) for op, x in merged.items()]) if joint is None else joint[0]


def moved(op: ops.Linear, k: int, x: Expr, shape: Shape) -> Expr | None:
    """Apply ``op`` to the visible parts of x, with zeros for its other operands.

    ``shape`` is the shape of the value.  None where the op does more than move elements, or where
    the result depends on a symbolic length.
    """
    pieces = parts(x)
    if isinstance(op, ops.Slice):
        taken = [linear(op, share.with_inner(share.inner)) for share in pieces]
        if not taken or any(_is_open(y) for x in taken for y in _terms(x)):
            return None
        nonzero = [x for x in taken if not is_zero(x)]
        if not nonzero:
            return taken[0]
        result = together(nonzero) if len(nonzero) > 1 else None
        return total(nonzero) if result is None else result
    shares = []
    for c, cut, inner in pieces:
        places = _moved_positions(op, k, blocks(cut, x.shape), x.shape, shape)
        if places is None:
            return None
        word = tuple(range(inner.ndim))
        if isinstance(op, ops.Reshape):  # one element: all axes have length 1
            word = word[: inner.ndim - len(op.before)]
            new = tuple(range(inner.ndim, inner.ndim + len(op.after)))
            inner = contract([(inner, tuple(range(inner.ndim)))], word + new, dict.fromkeys(new, 1))
        shares.append(scale(c, part(inner, places, shape)))
    return together(shares) if shares else None


def _moved_positions(
    op: ops.Linear, k: int, places: list[Places], before: Shape, after: Shape
) -> list[Places] | None:
    """Positions where the op puts the elements at ``places`` of operand k (shape ``before``)."""
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
            trailing: list[Places] = []
            for n in reversed(op.after):
                if not isinstance(n, int):
                    return None
                flat, i = divmod(flat, n)
                trailing.append(range(i, i + 1))
            return [*places[:lead], *reversed(trailing)]
    return None


def _terms(x: Expr) -> tuple[Expr, ...]:
    return x.args if isinstance(x.op, ops.Sum) else (x,)


def _is_open(x: Expr) -> bool:
    """Whether a slice of a part stayed a slice."""
    return isinstance(x.op, ops.Slice) and isinstance(x.args[0].op, ops.Unslice)


def contracted(
    terms: Sequence[tuple[Expr, Word, bool]], k: int, out: Word, sizes: Mapping[int, Dim]
) -> Expr | None:
    """The contraction of terms whose operand k has visible parts, computed on the parts alone.

    The letters of a part run over its positions only; where the result has these letters, it is
    such a part, too.  None where operand k has no visible parts.
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
            # on a diagonal both axes run over the shared positions
            i, j = meeting(held, r, length[letter]) or (range(0), range(0))
            assert isinstance(i, range)
            taken[word.index(letter)], taken[axis] = i, j
            places[letter] = chosen(held, i)
        shares.append(scale(c, _placed(terms, k, block(inner, taken), places, length, out, sizes)))
    if not shares:
        return None
    result = together(shares)
    return total(shares) if result is None else result


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
    """The contraction with ``inner`` for operand k, whose letters run over ``places``."""

    def along(word: Word, shape: Shape) -> list[Places]:
        return [places.get(a, places_of(WHOLE, n)) for a, n in zip(word, shape, strict=True)]

    cut = [
        (inner, word, False) if i == k else (block(y, along(word, y.shape)), word, kill)
        for i, (y, word, kill) in enumerate(terms)
    ]
    result = contract(cut, out, {**sizes, **{a: count(r, length[a]) for a, r in places.items()}})
    shape = tuple([length.get(a, n) for a, n in zip(out, result.shape, strict=True)])
    return part(result, along(out, shape), shape)
