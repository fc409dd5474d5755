"""Sums of squares as dot products: what is squared is read once, and no square is stored.

``sum(a**2 + 3*b**2)`` is ``a.dot(a) + 3*b.dot(b)``.  All terms are positive, so that nothing
cancels: adding them in another order changes the sum by a few units in the last place for each
element at most, relative to itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numeric.lowering import kinds
from numeric.lowering.steps import Step
from symdiff.graph import ops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numeric.lowering.steps import Schedule


def dot_squares(schedule: Schedule, numbers: Sequence[bool]) -> Schedule:
    """The schedule with sums over all elements of sums of squares as sums of dot products.

    ``numbers`` says which values may be Python numbers, which have no elements.

    >>> import symdiff as sd
    >>> from numeric.lowering.schedule import schedule
    >>> x, y = sd.symbols("x y", "n")
    >>> steps = schedule([sd.sum(x**2 + 3 * y**2)], [x, y])
    >>> [step.kind.name for step in dot_squares(steps, [False] * steps.length).steps[2:]]
    ['kernel', 'kernel', 'sum']
    """
    if ops.Contract not in schedule.op_classes():
        return schedule
    steps = schedule.definitions()
    reads = schedule.reads()
    made: dict[int, list[Step]] = {}
    length = schedule.length
    for step in schedule.steps:
        if not _adds_all(step) or reads[step.operands[0]] > 1:
            continue
        total = steps[step.operands[0]]
        if not _is_of_squares(total, steps, reads, numbers):
            continue
        word = tuple(range(len(total.shapes[0])))
        dot = ops.contract_op((word, word), (), (), (False, False))
        squared = [steps[v].operands[0] for v in total.operands]
        places = tuple(range(length, length + len(squared)))
        length += len(squared)
        made[step.results[0]] = [
            *[
                Step(kinds.ByKernel(), (x, x), (v,), (dot,), step.shapes, step.dtypes)
                for x, v in zip(squared, places, strict=True)
            ],
            Step(kinds.Sum(), places, step.results, total.ops, step.shapes, step.dtypes),
        ]
    if not made:
        return schedule
    kept = [x for step in schedule.steps for x in made.get(step.results[0], [step])]
    return schedule.having(kept, length - schedule.length)


def _adds_all(step: Step) -> bool:
    """Whether a step is the sum of all elements of its only operand."""
    op = step.kernel(ops.Contract)
    if op is None or step.weak or op.out:
        return False
    if len(op.letters) != 1 or any(op.kills) or step.dtypes != (float,):
        return False
    (word,) = op.letters
    return bool(word) and len(set(word)) == len(word)


def _is_of_squares(
    total: Step, steps: Sequence[Step], reads: Sequence[int], numbers: Sequence[bool]
) -> bool:
    """Whether a step is a sum of positive multiples of squares of its shape that it alone reads."""
    op = total.sum
    if op is None or total.weak or total.dtypes != (float,):
        return False
    if op.const != 0 or any(coef < 0 for coef in op.coefs):
        return False
    for v in total.operands:
        term = steps[v]
        if term.kind != kinds.Power(2) or term.weak or reads[v] > 1:
            return False
        x = term.operands[0]
        if term.shapes != total.shapes or numbers[x] or steps[x].layout(x)[1] is not float:
            return False
        if steps[x].layout(x)[0] != total.shapes[0]:
            return False
    return True
