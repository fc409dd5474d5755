"""Functions of several slices of one short array as slices of the function of all of it.

The gates of a recurrent network are one product, parted; a call of NumPy for each gate costs as
much as one for all.  Functions are taken that neither overflow nor leave their domain anywhere, so
that what no slice reads does no harm.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from numeric.lowering import costs, kinds
from numeric.lowering.steps import Writing
from symdiff.graph import ops
from symdiff.scalars.vocabulary import FACTS

if TYPE_CHECKING:
    from numeric.lowering.steps import Schedule, Step
    from symdiff.graph.node import Dtype, Shape

# Functions whose partials are finite for all numbers are finite, too.
_TOTAL = frozenset(
    name for name, facts in FACTS.items() if facts.finite_partials and facts.domain is None
)


def merge_sliced_functions(schedule: Schedule) -> Schedule:
    """The schedule, with functions of slices that read half of a short array as those of all of it.

    >>> import symdiff as sd
    >>> from numeric.lowering.schedule import schedule
    >>> z = sd.symbol("z", 6)
    >>> print(merge_sliced_functions(schedule([sd.tanh(z[:2]) * sd.tanh(z[4:])], [z])))
    %0: (6,) float = input z
    %6: (6,) float = pointwise tanh %0
    %2: (2,) float = kernel slice %6
    %4: (2,) float = kernel slice %6
    %5: (2,) float = product (1, 1) %2, %4
    return %5
    """
    known = schedule.definitions()
    groups: dict[tuple[object, int], list[Step]] = {}
    for step in schedule.steps:
        if isinstance(step.kind, kinds.Pointwise) and step.op.name in _TOTAL and not step.weak:
            sliced = known[step.operands[0]]
            if sliced.kernel(ops.Slice) is not None:
                groups.setdefault((step.op, sliced.operands[0]), []).append(step)
    joined = {
        step.results[0]: (whole, steps[0].results[0])
        for (_, whole), steps in groups.items()
        if _is_worth(known[whole].layout(whole), steps)
        for step in steps
    }
    if not joined:
        return schedule
    writing = Writing(schedule)
    made: dict[int, int] = {}
    for step in schedule.steps:
        if step.results[0] not in joined:
            writing.place(step)
            continue
        whole, first = joined[step.results[0]]
        if first not in made:
            made[first] = writing.new(step.kind, step.op, (whole,), *known[whole].layout(whole))
        sliced = known[step.operands[0]]
        writing.place(sliced._replace(operands=(made[first],), results=step.results))
    return schedule.having(writing.steps, writing.length - schedule.length)


def _is_worth(layout: tuple[Shape, Dtype], steps: list[Step]) -> bool:
    shape, dtype = layout
    read, every = sum(_size(step.shapes[0]) for step in steps), _size(shape)
    return len(steps) > 1 and dtype is float and every <= costs.CALL and 2 * read >= every


def _size(shape: Shape) -> float:
    return math.prod([dim if isinstance(dim, int) else math.inf for dim in shape])
