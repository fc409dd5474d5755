"""Gathers move towards the leaves: of 10,000 rows of which 300 are read, 300 are computed.

``(A @ x)[rows]`` is ``A[rows] @ x``, and ``sin(x)[rows]`` is ``sin(x[rows])``: what works row by
row is done for the rows that are read.  Formulas are written anew before they are differentiated,
so that derivatives have as few rows.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from numeric.lowering.formulas import is_known
from symdiff.graph import ops
from symdiff.graph.node import make, topological
from symdiff.graph.ranges import WHOLE, places_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from symdiff.graph.expr import Expr

# A gather copies rows, and what is read where they lie is read at once: few rows are worth it.
SHARE = 4


class Rows(NamedTuple):
    """Places along an axis."""

    axis: int
    places: tuple[int, ...]


def gathered(outputs: Sequence[Expr]) -> tuple[Expr, ...]:
    """The outputs, with gathers of few rows moved towards what the rows are computed of.

    A value is computed at some of its rows if all that read it want these.

    >>> import symdiff as sd
    >>> x = sd.symbol("x", 100)
    >>> print(*gathered([sd.sin(x)[[3, 1]]]))
    sin(x[[3, 1]])
    """
    order = topological(outputs)
    asked: dict[Expr, list[Rows | None]] = {}
    for y in outputs:
        asked.setdefault(y, []).append(None)
    read: dict[Expr, Rows] = {}  # the values of which rows are computed
    for x in reversed(order):
        wanted = set(asked.get(x, ()))
        rows = wanted.pop() if len(wanted) == 1 else None
        below: Sequence[Rows | None] = [None] * len(x.args)
        if rows is None:
            below = [_rows(x)] if x.op.__class__ is ops.Gather else below
        else:
            passed = _passed(x, rows)
            if passed is not None:
                read[x] = rows
                below = passed
        for arg, part in zip(x.args, below, strict=True):
            asked.setdefault(arg, []).append(part)
    if not read:
        return tuple(outputs)
    new: dict[Expr, Expr] = {}
    for x in order:
        new[x] = _remade(x, read, new)
    return tuple([new[y] for y in outputs])


def _rows(x: Expr) -> Rows | None:
    """The few rows of its operand that a gather is; None for one that is something else."""
    op = x.op
    assert isinstance(op, ops.Gather)
    length, *rest = op.before
    width = math.prod(rest)
    if op.index.ndim != len(op.before) or list(op.index.shape[1:]) != rest or not op.index.size:
        return None
    places: NDArray[np.intp] = op.index.reshape(-1, width)[:, 0] // width
    whole = places[:, None] * width + np.arange(width)
    if len(places) * SHARE > length or not np.array_equal(whole, op.index.reshape(-1, width)):
        return None
    return Rows(x.args[0].ndim - len(op.before), tuple(places.tolist()))


def _passed(x: Expr, rows: Rows) -> list[Rows | None] | None:
    """Which rows of its operands some rows of a value are made of; None for those of all of it.

    Rows of an operand are gathered along axes whose lengths are numbers.
    """
    op, axis = x.op, rows.axis
    found: list[Rows | None] | None = None
    if op.__class__ is ops.Contract and isinstance(op, ops.Contract):
        letter = op.out[axis]
        if op.out.count(letter) == 1 and all(word.count(letter) <= 1 for word in op.letters):
            found = [
                Rows(word.index(letter), rows.places) if letter in word else None
                for word in op.letters
            ]
    elif isinstance(op, ops.Slice):
        k = axis - (x.ndim - len(op.before))
        if k < 0:
            found = [rows]
        elif isinstance(line := places_of(op.steps[k], op.before[k]), range):
            found = [Rows(axis, tuple([line[i] for i in rows.places]))]
    elif isinstance(op, ops.Sum | ops.Product) or (
        isinstance(op, ops.Pointwise) and (op.primitive or is_known(op.formula))
    ):
        found = [_aligned(x, arg, rows) for arg in x.args]
    if found is None or not any(found):
        return None
    for arg, part in zip(x.args, found, strict=True):
        if part is not None and not all(isinstance(dim, int) for dim in arg.shape[part.axis :]):
            return None
    return found


def _aligned(x: Expr, arg: Expr, rows: Rows) -> Rows | None:
    """The rows of an operand of an op by element, which may be stretched along them."""
    axis = rows.axis - (x.ndim - arg.ndim)
    if axis < 0 or arg.shape[axis] != x.shape[rows.axis]:
        return None
    return Rows(axis, rows.places)


def _remade(x: Expr, read: dict[Expr, Rows], new: dict[Expr, Expr]) -> Expr:
    rows = read.get(x)
    if rows is None:
        if x.op.__class__ is ops.Gather and x.args[0] in read:
            return new[x.args[0]]
        args = tuple([new[arg] for arg in x.args])
        same = all(a is b for a, b in zip(args, x.args, strict=True))
        return x if same else make(x.op, args, x.shape, x.dtype)
    passed = _passed(x, rows)
    assert passed is not None
    args = tuple(
        [
            new[arg] if part is None or arg in read else _gather(new[arg], part)
            for arg, part in zip(x.args, passed, strict=True)
        ]
    )
    shape = (*x.shape[: rows.axis], len(rows.places), *x.shape[rows.axis + 1 :])
    op = x.op
    if isinstance(op, ops.Slice):
        k = rows.axis - (x.ndim - len(op.before))
        if k >= 0:
            count, behind = len(rows.places), k + 1
            before = (*op.before[:k], count, *op.before[behind:])
            steps = (*op.steps[:k], WHOLE, *op.steps[behind:])
            after = (*op.after[:k], count, *op.after[behind:])
            if all(step == WHOLE for step in steps):
                return args[0]
            op = ops.slice_op(before, steps, after)
    return make(op, args, shape, x.dtype)


def _gather(x: Expr, rows: Rows) -> Expr:
    axis, places = rows
    before = tuple([dim for dim in x.shape[axis:] if isinstance(dim, int)])
    width = math.prod(before[1:])
    inner = np.arange(width).reshape(1, *before[1:])
    index = np.array(places, np.intp).reshape(-1, *[1] * (len(before) - 1)) * width + inner
    shape = (*x.shape[:axis], len(places), *before[1:])
    return make(ops.gather_op(before, index), (x,), shape, x.dtype)
