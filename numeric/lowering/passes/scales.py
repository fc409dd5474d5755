"""Coefficients that all terms of a sum have: their sum is scaled, not each of them.

``x/n - y/n`` is three operations at each element, ``(x - y)/n`` two.  The rounding errors of both
are a few units in the last place of the scale of the terms.  A sum of terms that are scaled down
may not overflow, though what is scaled does: these are left alone, unless all operands but one
are shares of a softmax, which no float near the largest one is moved by.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numeric.lowering import kinds
from symdiff.graph import ops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numeric.lowering.steps import Schedule, Step
    from symdiff.graph.number import Number


def scale_sums_once(schedule: Schedule, numbers: Sequence[bool]) -> Schedule:
    """The schedule with sums of terms of one coefficient, but for signs, scaled when added.

    ``numbers`` says which values may be Python numbers, which cost nothing to scale.

    >>> import symdiff as sd
    >>> from numeric.lowering.schedule import schedule
    >>> x, y = sd.symbols("x y", 3)
    >>> print(scale_sums_once(schedule([2 * x - 2 * y], [x, y]), [False] * 3))
    %0: (3,) float = input x
    %1: (3,) float = input y
    %3: (3,) float = sum %0, %1
    %2: (3,) float = sum %3
    return %2
    """
    if ops.Sum not in schedule.op_classes():
        return schedule
    steps = schedule.definitions()
    found: list[Step] = []
    length = schedule.length
    for step in schedule.steps:
        size = _size(step, steps, numbers)
        if size is not None and step.sum is not None:
            signs = tuple([1 if coef > 0 else -1 for coef in step.sum.coefs])
            found.append(step._replace(ops=(ops.sum_op(0, signs),), results=(length,)))
            step = step._replace(ops=(ops.sum_op(0, (size,)),), operands=(length,))
            length += 1
        found.append(step)
    return schedule._replace(steps=tuple(found), length=length)


def _size(step: Step, steps: Sequence[Step], numbers: Sequence[bool]) -> Number | None:
    """The size of all coefficients of a sum, if that is worth scaling the sum by."""
    op = step.sum
    if op is None or step.weak or op.const != 0:
        return None
    size = -op.coefs[0] if op.coefs[0] < 0 else op.coefs[0]
    if size == 1 or any(coef not in (size, -size) for coef in op.coefs):
        return None
    whole = [v for v in step.operands if not numbers[v] and steps[v].layout(v)[0] == step.shapes[0]]
    if len(whole) < 2 or any(steps[v].layout(v)[1] is not float for v in step.operands):
        return None
    large = [v for v in step.operands if not _is_share(steps[v], v)]
    return size if size > 1 or len(large) < 2 else None


def _is_share(step: Step, v: int) -> bool:
    """Whether all elements of a value lie between 0 and 1."""
    return isinstance(step.kind, kinds.Softmax) and v == step.results[1]
