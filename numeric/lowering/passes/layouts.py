"""Layouts in memory: a short last axis stands outside of the long ones where NumPy stretches.

NumPy computes ``x[:, None] - x`` of n points of the plane in inner loops of two elements, each of
which it takes as long to begin as to compute ten.  Where the coordinates of all points lie together
its inner loops are of n.  All that is computed of the differences has their layout.

So what is stretched is copied into that layout: it is small beside the result.  Values are the
same, bit by bit; sums over all axes may add them in another order.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from numeric.lowering import costs, kinds
from numeric.lowering.steps import Step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numeric.lowering.steps import Schedule
    from symdiff.graph.node import Shape

_SHORT = 7  # lengths that make bad inner loops; of eight and more NumPy sums by another rule
_THIN = 4  # how many times as large the result is


def move_short_axes_out(schedule: Schedule, numbers: Sequence[bool]) -> Schedule:
    """The schedule with stretched operands whose last axis lies outside of the others.

    ``numbers`` says which values may be Python numbers, which have no layout.

    >>> import symdiff as sd
    >>> from numeric.lowering.schedule import schedule
    >>> x, y = sd.symbol("x", (500, 2)), sd.symbol("y", (20, 2))
    >>> steps = schedule([sd.sum(sd.exp(x[:, None] - y))], [x, y])
    >>> [step.kind.name for step in move_short_axes_out(steps, [False] * steps.length).steps[2:]]
    ['kernel', 'apart', 'apart', 'sum', 'pointwise', 'kernel']
    """
    steps = schedule.definitions()
    made: dict[int, int] = {}
    found: list[Step] = []
    length = schedule.length
    for step in schedule.steps:
        operands = _stretched(step, steps, numbers) if _is_bad(step, schedule) else []
        for v in operands:
            if v not in made:
                made[v], length = length, length + 1
                given = steps[v]
                (shape, dtype), op = given.layout(v), given.ops[given.results.index(v)]
                found.append(Step(kinds.Apart(), (v,), (made[v],), (op,), (shape,), (dtype,)))
        if operands:
            read = tuple([made[v] if v in operands else v for v in step.operands])
            step = step._replace(operands=read)
        found.append(step)
    return schedule._replace(steps=tuple(found), length=length) if made else schedule


def _is_bad(step: Step, schedule: Schedule) -> bool:
    """Whether a step computes many elements, along a short axis; results have NumPy's layout."""
    shape = step.shapes[0]
    if len(shape) < 2 or not isinstance(step.kind, kinds.Sum | kinds.Product) or step.weak:
        return False
    if not isinstance(shape[-1], int) or not 1 < shape[-1] <= _SHORT:
        return False
    size = _size(shape)
    return size is not None and size >= costs.CALLS and step.results[0] not in schedule.results


def _stretched(step: Step, steps: Sequence[Step], numbers: Sequence[bool]) -> list[int]:
    """The operands that have the short axis, if all of them are small beside the result."""
    last, size = step.shapes[0][-1], _size(step.shapes[0])
    assert size is not None
    found: list[int] = []
    for v in step.operands:
        shape = steps[v].layout(v)[0]
        if steps[v].weak or numbers[v] or shape[-1:] != (last,) or v in found:
            continue
        own = _size(shape)
        if own is None or own * _THIN > size:
            return []
        if len(shape) > 1:
            found.append(v)
    return found


def _size(shape: Shape) -> int | None:
    """How many elements there are, where that is known."""
    known = [dim for dim in shape if isinstance(dim, int)]
    return math.prod(known) if len(known) == len(shape) else None
