"""Elements of linear maps and other array functions without a name that users know."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from symdiff import opaque_ops
from symdiff.display.forms import (
    Condition,
    Form,
    Index,
    Need,
    as_typed,
    from_front,
    length_of,
    needed,
    operand_index,
    over,
    simplified,
    zero,
)
from symdiff.display.notation import Piece
from symdiff.graph import ops
from symdiff.graph.algebra import PRIMITIVES
from symdiff.graph.node import Dim, op_as

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from symdiff.display.notation import Notation
    from symdiff.graph.expr import Expr
    from symdiff.graph.node import Op, Shape

    Indices = tuple[Index, ...]
    Letter = Callable[[int], Index]  # the index of the k-th free axis label


def element(node: Expr, index: Indices, letter: Letter, notation: Notation) -> Form | None:
    """The form of the element of ``node`` at an index; None if the whole array is better named."""
    for family, form in _FORMS.items():
        if isinstance(node.op, family):
            return form(node, index, letter, notation)  # type: ignore[no-any-return]
    return None


def indices(index: Sequence[Index], shape: Shape, notation: Notation) -> list[Piece]:
    """The texts of the indices of an array's axes."""
    return [notation.index(as_typed(i, dim)) for i, dim in zip(index, shape, strict=False)]


def _operand_element(node: Expr, index: Sequence[Index]) -> Form:
    """An element of the operand."""
    return Form((Need(node.args[0], tuple(index)),), lambda pieces: pieces[0])


def _sum_element(
    node: Expr,
    letters: Sequence[tuple[Index, Dim]],
    index: Sequence[Index],
    notation: Notation,
    *given: Condition,
) -> Form:
    """The sum over labels of operand elements where conditions hold, else 0."""
    need = Need(node.args[0], tuple(index))
    written = needed(given)
    if written is None:
        return zero(notation)

    def build(pieces: list[Piece]) -> Piece:
        if pieces[0].is_zero:
            return pieces[0]
        conditions = [notation.condition(c) for c in written]
        factors = [piece for piece in pieces if piece.text != "1"] + conditions
        body = notation.quotient(1, factors, ()) if conditions else pieces[0]
        below = [over(k, dim, [need], notation) for k, dim in letters]
        return notation.sum_over(below, body) if letters else body

    return Form((need,), build, len(letters))


def _split(node: Expr, index: Indices, axes: int) -> tuple[Indices, Indices]:
    return index[: len(index) - axes], index[len(index) - axes :]


def _slice_element(node: Expr, index: Indices, letter: Letter, notation: Notation) -> Form:
    return _operand_element(node, operand_index(op_as(node, ops.Slice), index))


def _unslice_element(node: Expr, index: Indices, letter: Letter, notation: Notation) -> Form:
    op = op_as(node, ops.Unslice)
    batch, index_of_slice = _split(node, index, len(op.steps))
    places: list[Index] = list(batch)
    letters: list[tuple[Index, Dim]] = []
    conditions: list[Condition] = []
    for i, (start, _, step), dim, count in zip(
        index_of_slice, op.steps, op.before, op.after, strict=True
    ):
        first, length = from_front(start, dim), length_of(count)
        if step == 1:
            places.append(i - first)
            conditions += _between(i, first, first + length, dim)
        elif step == -1:
            places.append(first - i)
            conditions += _between(i, first - length + 1, first + 1, dim)
        else:
            k = letter(len(letters))
            letters.append((k, count))
            places.append(k)
            conditions.append(Condition(i, "==", k * step + first))
    return _sum_element(node, letters, places, notation, *conditions)


def _between(i: Index, first: Index, last: Index, dim: Any) -> list[Condition]:
    """The conditions of ``first <= i < last`` that do not always hold."""
    below = first != Index((), 0)
    above = last - length_of(dim) != Index((), 0)
    if (below or above) and last - first == Index((), 1):
        return [Condition(i, "==", first)]
    if above:
        return [Condition(i, "<", last, first if below else None)]
    return [Condition(i, ">=", first)] if below else []


def _entry(table: Any, index: Sequence[Index], notation: Notation, length: Dim = 0) -> Index:
    """An entry of an index table, as an index; negative ones count from the end of an axis."""
    behind = table < 0
    first = int(table.flat[0]) if table.size else 0
    steps = [
        int(np.moveaxis(table, k, 0)[1].flat[0]) - first if n > 1 else 0
        for k, n in enumerate(table.shape)
    ]
    line = first + sum(step * i for step, i in zip(steps, np.indices(table.shape), strict=True))
    if np.array_equal(line, table) and (behind.all() or not behind.any()):
        place = length_of(length if behind.any() else 0) + first
        for step, i in zip(steps, index, strict=True):
            place = place + i * step if step else place
        return place
    text = str(_from_front(table, length).tolist()) if table.size <= ops.LISTED else "places"
    places = [notation.index(i) for i in index]
    return Index(((notation.element(notation.table(text.replace("'", "")), places), 1),))


def _from_front(table: Any, length: Dim) -> Any:
    """Indices as users type them; negative ones become lengths."""
    texts = [i if i >= 0 else str(length + i) for i in table.ravel().tolist()]
    return np.array(texts, object).reshape(table.shape)


def _gather_element(node: Expr, index: Indices, letter: Letter, notation: Notation) -> Form:
    op = op_as(node, ops.Gather)
    batch, index_of_result = _split(node, index, op.index.ndim)
    place = _entry(op.index, index_of_result, notation)
    if len(op.before) == 1:
        return _operand_element(node, [*batch, place])
    return Form(
        (Need(node.args[0]),),
        lambda pieces: notation.element(
            notation.call("ravel", pieces), [notation.index(i) for i in (*batch, place)]
        ),
        call=True,
    )


def _scatter_element(node: Expr, index: Indices, letter: Letter, notation: Notation) -> Form:
    op = op_as(node, ops.Scatter)
    batch, index_of_target = _split(node, index, len(op.before))
    flat, stride = Index(()), 1
    for i, dim in zip(reversed(index_of_target), reversed(op.before), strict=True):
        flat, stride = i * stride + flat, stride * dim
    places = [letter(k) for k in range(op.index.ndim)]
    condition = Condition(flat, "==", _entry(op.index, places, notation))
    letters = list(zip(places, op.index.shape, strict=True))
    return _sum_element(node, letters, [*batch, *places], notation, condition)


def _flip_element(node: Expr, index: Indices, letter: Letter, notation: Notation) -> Form:
    op = op_as(node, ops.Flip)
    places = list(index)
    for axis in op.axes:
        places[axis] = length_of(node.shape[axis]) + -1 - places[axis]
    return _operand_element(node, places)


def _triangle(node: Expr, index: Indices, letter: Letter, notation: Notation) -> Form:
    op = op_as(node, ops.Triangle)
    sign = "<=" if op.lower else ">="
    condition = Condition(index[-1], sign, index[-2] + op.diagonal)
    return _sum_element(node, [], index, notation, condition)


def _shift_element(node: Expr, index: Indices, letter: Letter, notation: Notation) -> Form:
    op = op_as(node, ops.Shift)
    i, n = index[-1], length_of(node.shape[-1])
    places = [*index[:-1], i + -op.offset]
    condition = (
        Condition(i, ">=", Index((), op.offset))
        if op.offset > 0
        else Condition(i, "<", n + op.offset)
    )
    return _sum_element(node, [], places, notation, condition)


def _windows(node: Expr, index: Indices, letter: Letter, notation: Notation) -> Form:
    return _operand_element(node, operand_index(op_as(node, ops.Windows), index))


def _overlaps(node: Expr, index: Indices, letter: Letter, notation: Notation) -> Form:
    (x,) = node.args
    i, k = index[-1], letter(0)
    first = i - k
    condition = Condition(first, "<", length_of(x.shape[-2]), Index((), 0))
    return _sum_element(node, [(k, x.shape[-1])], [*index[:-1], first, k], notation, condition)


def _fourier(node: Expr, index: Indices, letter: Letter, notation: Notation) -> Form:
    op = op_as(node, ops.Fourier)
    k = letter(0)
    n = notation.index(length_of(node.shape[-1]))
    turns = [Piece(notation.exact("pi", False)), notation.index(index[-1]), notation.index(k)]

    need = Need(node.args[0], (*index[:-1], k))

    def build(pieces: list[Piece]) -> Piece:
        wave = notation.function(PRIMITIVES[op.part], [notation.quotient(2, turns, [n])])
        body = notation.quotient(1, [*pieces, wave], ())
        return notation.sum_over([over(k, node.shape[-1], [need], notation)], body)

    return Form((need,), build, 1)


def _join_element(node: Expr, index: Indices, letter: Letter, notation: Notation) -> Form:
    op = op_as(node, ops.Concat)
    starts: list[Any] = [0, *itertools.accumulate(op.lengths)]
    i = index[op.axis]
    borders: list[Condition] = []
    parts = []
    for x, start, length, stop in zip(node.args, starts, op.lengths, starts[1:], strict=False):
        before = simplified(Condition(i, "<", length_of(stop)))
        if before is False:
            continue
        parts.append((x, start, length))
        if before is True:
            break
        borders.append(before)
    borders = borders[: len(parts) - 1]
    needs = []
    for x, start, length in parts:
        places = list(index)
        places[op.axis] = Index((), 0) if length == 1 else i - length_of(start)
        needs.append(Need(x, tuple(places), elementwise=True))

    def build(pieces: list[Piece]) -> Piece:
        if len({piece.text for piece in pieces}) == 1:
            return pieces[0]
        return notation.cases(pieces, [notation.comparison(c) for c in borders])

    return Form(tuple(needs), build)


def _take_element(node: Expr, index: Indices, letter: Letter, notation: Notation) -> Form | None:
    x, places = node.args
    if isinstance(places.op, opaque_ops.ArgSort):
        return None  # the elements are those of the sorted array
    at = index[-places.ndim :]
    if isinstance(places.op, ops.Places):
        return _operand_element(
            node, [*index[:-1], _entry(places.op.value, at, notation, x.shape[-1])]
        )
    return Form(
        (Need(x), Need(places, at, elementwise=True)),
        lambda p: notation.element(p[0], [*indices(index[:-1], x.shape, notation), p[1]]),
        call=True,
    )


def _put_element(node: Expr, index: Indices, letter: Letter, notation: Notation) -> Form:
    x, places = node.args
    dim = x.shape[-1]
    k = Index((), 0) if dim == 1 else letter(0)
    letters = [] if dim == 1 else [(k, dim)]
    if isinstance(places.op, ops.Places):
        at = [*index[:-1], k][-places.ndim :]
        entry = _entry(places.op.value, at, notation, node.shape[-1])
        return _sum_element(
            node, letters, [*index[:-1], k], notation, Condition(index[-1], "==", entry)
        )
    needs = (Need(x, (*index[:-1], k), True), Need(places, (*index[:-1], k)[-places.ndim :]))

    def build(pieces: list[Piece]) -> Piece:
        value, place = pieces
        condition = notation.bracket(notation.index(index[-1]), "==", place)
        body = notation.quotient(1, [value, condition], ())
        return notation.sum_over([over(k, dim, needs, notation)], body) if letters else body

    return Form(needs, build, len(letters))


def _product_of_others(node: Expr, index: Indices, letter: Letter, notation: Notation) -> Form:
    k = letter(0)
    over = notation.comparison(Condition(k, "!=", index[-1]))
    need = Need(node.args[0], (*index[:-1], k))
    return Form((need,), lambda pieces: notation.product_over(over, pieces[0]), 1)


def _gaps(node: Expr, index: Indices, letter: Letter, notation: Notation) -> Form:
    op = op_as(node, opaque_ops.Gaps)
    (x,) = node.args
    i, j = index[-2], index[-1]
    needs = (Need(x, (*index[:-2], i)), Need(x, (*index[:-2], j)))
    apart = needed([] if op.diagonal else [Condition(i, "!=", j)])
    if apart is None:
        return zero(notation)

    def build(pieces: list[Piece]) -> Piece:
        gap = notation.sum([(1, pieces[1]), (op.sign, pieces[0])])
        return notation.quotient(1, [notation.condition(c) for c in apart], [gap])

    return Form(needs, build)


def _recurrence(node: Expr, index: Indices, letter: Letter, notation: Notation) -> Form:
    """The solution of ``y_i = a_i y_(i-1) + b_i``, or of the recurrence from the end."""
    op: Any = node.op
    a, b = node.args
    i, k, j = index[-1], letter(0), letter(1)
    needs = (Need(b, (*index[:-1], k), True), Need(a, (*index[:-1], j)[-a.ndim :], True))
    if op.reverse:
        reached, between = Condition(k, ">=", i), Condition(j, "<", k, i)
    else:
        reached, between = Condition(k, "<=", i), Condition(j, "<=", i, k + 1)

    def build(pieces: list[Piece]) -> Piece:
        value, factor = pieces
        product = notation.product_over(notation.comparison(between), factor)
        body = notation.quotient(1, [value, notation.condition(reached), product], ())
        return notation.sum_over([over(k, node.shape[-1], needs[:1], notation)], body)

    return Form(needs, build, 2)


_FORMS: dict[type[Op], Any] = {
    ops.Slice: _slice_element,
    ops.Unslice: _unslice_element,
    ops.Gather: _gather_element,
    ops.Scatter: _scatter_element,
    ops.Flip: _flip_element,
    ops.Triangle: _triangle,
    ops.Shift: _shift_element,
    ops.Windows: _windows,
    ops.Overlaps: _overlaps,
    ops.Fourier: _fourier,
    ops.Concat: _join_element,
    opaque_ops.Take: _take_element,
    opaque_ops.Put: _put_element,
    opaque_ops.ProdOthers: _product_of_others,
    opaque_ops.Gaps: _gaps,
    opaque_ops.Recurrence: _recurrence,
}
WITHOUT_NAMES = tuple(
    op for op in _FORMS if issubclass(op, ops.Opaque) and op is not opaque_ops.Take
)
