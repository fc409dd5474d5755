"""Which values a program may compute into memory that it keeps: nobody sees them when it is done.

Fresh memory costs a fault for each of its pages, more than it takes to fill them.  A value is
computed into memory of an earlier call if it is made here, if it is not a result and no result
views it, and if no function of the user's gets it, which could hold it for longer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from numeric.lowering.formulas import is_known
from numeric.lowering.passes.sharing import is_made, viewed
from symdiff.calculus.custom_ops import Custom, CustomPullback
from symdiff.graph import ops

if TYPE_CHECKING:
    from collections.abc import Collection

    from numeric.lowering.steps import Schedule, Step


class Span(NamedTuple):
    """From the place of the step that computes a value to that of the last one that reads it.

    ``elementwise``: it may be written over one of its operands.
    """

    first: int
    last: int
    elementwise: bool


def unseen(schedule: Schedule) -> set[int]:
    """The values whose memory nobody has but the program."""
    steps = schedule.definitions()
    given = [v for step in schedule.steps if _is_foreign(step) for v in step.operands]
    seen = viewed(steps, [*schedule.results, *given])
    return {v for v in schedule.computed() if v not in seen}


def spans(schedule: Schedule, values: Collection[int]) -> dict[int, Span]:
    """When the memory of some values is in use, through all that views it.

    >>> import symdiff as sd
    >>> from numeric.lowering.passes.lifetimes import mark_last_reads
    >>> from numeric.lowering.schedule import schedule
    >>> x, y = sd.symbol("x", (3, 3)), sd.symbol("y", 3)
    >>> steps = mark_last_reads(schedule([sd.sum(sd.exp(x)[1:] @ y)], [x, y]))
    >>> spans(steps, unseen(steps) & {2})
    {2: Span(first=2, last=4, elementwise=True)}
    """
    last = [0] * schedule.length
    found: dict[int, Span] = {}
    steps = schedule.definitions()
    for place in range(len(schedule.steps) - 1, -1, -1):
        step = schedule.steps[place]
        for v, at in zip(step.results, step.dies, strict=True):
            last[v] = max(last[v], place if at is None else at)
            if v in values:
                found[v] = Span(place, last[v], step.kind.elementwise)
        if not is_made(step, steps):
            until = max(last[v] for v in step.results)
            for x in step.operands:
                last[x] = max(last[x], until)
    return dict(sorted(found.items(), key=lambda item: item[1]))


def _is_foreign(step: Step) -> bool:
    """Whether a function of the user's gets the operands."""
    if any(isinstance(op, Custom | CustomPullback) for op in step.ops):
        return True
    op = step.op
    return isinstance(op, ops.Pointwise) and not op.primitive and not is_known(op.formula)
