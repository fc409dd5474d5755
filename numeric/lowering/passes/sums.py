"""Long sums: in parts that a line has room for, each of which is computed once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symdiff import ops

if TYPE_CHECKING:
    from numeric.lowering.steps import Schedule, Step

# A line of this many terms is long enough to be fast and short enough for any compiler: thousands
# in one line overflow CPython's.
TERMS = 64


def divided(schedule: Schedule) -> Schedule:
    """Sums of more than ``TERMS`` terms as sums of partial sums; equal ones are one value.

    The association stays left to right, so every value is the same to the last bit.
    """
    if all(step.form != "sum" or len(step.operands) <= TERMS for step in schedule.steps):
        return schedule
    steps: list[Step] = []
    count = schedule.length
    known: dict[tuple[object, ...], int] = {}
    for step in schedule.steps:
        op, operands = step.op, step.operands
        if step.form != "sum" or len(operands) <= TERMS:
            steps.append(step)
            continue
        assert isinstance(op, ops.Sum)
        coefs = op.coefs
        while len(operands) > TERMS:
            first = ops.sum_op(0, coefs[:TERMS])
            key = (first, operands[:TERMS], step.shapes, step.dtypes)
            partial = known.get(key)
            if partial is None:
                partial = known[key] = count
                count += 1
                steps.append(step._replace(ops=(first,), operands=key[1], results=(partial,)))
            operands, coefs = (partial, *operands[TERMS:]), (1, *coefs[TERMS:])
        steps.append(step._replace(ops=(ops.sum_op(op.const, coefs),), operands=operands))
    return schedule._replace(steps=tuple(steps), length=count)
