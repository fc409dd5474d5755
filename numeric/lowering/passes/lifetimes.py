"""When values die: what a program may drop, or use the memory of, behind which step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numeric.lowering.steps import Step

if TYPE_CHECKING:
    from numeric.lowering.steps import Schedule


def mark_last_reads(schedule: Schedule) -> Schedule:
    """The place of the last step that reads each value (``dies``).

    A step that is written inside of another one reads when that one runs.  Results of the program
    never die in it, and neither do values that nobody reads; parameters do, though their memory is
    the caller's.
    """
    last = [-1] * schedule.length
    for v in schedule.results:  # written where the program returns it, if it is inline
        last[v] = len(schedule.steps)
    for place in range(len(schedule.steps) - 1, -1, -1):
        step = schedule.steps[place]
        # An inline step runs where its only reader does, which may be behind other readers.
        at = last[step.results[0]] if step.inline else place
        for v in step.operands:
            last[v] = max(last[v], at)
    dies = [at if 0 <= at < len(schedule.steps) else None for at in last]
    steps = [Step(*step[:8], tuple([dies[v] for v in step.results])) for step in schedule.steps]
    return schedule._replace(steps=tuple(steps))
