"""Which steps share a line: a value that is read once is written where it is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numeric.lowering import kinds
from numeric.lowering.steps import Step

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numeric.lowering.steps import Schedule
    from numeric.lowering.texts import Template

# Up to so many characters and so many steps within each other: readable, and far from what a
# compiler nests.
_WIDTH = 90
_DEPTH = 8


def inline_values(
    schedule: Schedule, templates: Sequence[Template], named: Collection[int] = ()
) -> Schedule:
    """The steps that are ``inline``, where ``templates`` say how each step will be written.

    Results have lines of their own, and so have operands that a template writes more than once,
    and parts of one computation, and values that are to be ``named``.
    """
    reads = [0] * schedule.length
    for v in (*schedule.results, *named):
        reads[v] = 2
    for step, template in zip(schedule.steps, templates, strict=True):
        repeated = template.repeated
        for k, v in enumerate(step.operands):
            reads[v] += 2 if k in repeated else 1
    steps: list[Step] = []
    names = 0
    widths, levels, depths = ([0] * schedule.length for _ in range(3))
    for step, template in zip(schedule.steps, templates, strict=True):
        kind = step.kind
        if kind.constant:
            (v,) = step.results
            widths[v], levels[v] = len(template.text), template.level
            steps.append(step)
            continue
        inline = False
        count = reads[step.results[0]]
        # An element of an array that is only returned needs no name.
        once = count == 1 or (count == 2 and isinstance(kind, kinds.Element))
        if len(step.results) == 1 and not kind.leaf and once:
            (v,) = step.results
            depth = 1 + max([depths[x] for x in step.operands], default=0)
            width = _width(step, template, widths, levels)
            inline = width <= _WIDTH and depth < _DEPTH
        if inline:
            widths[v], levels[v], depths[v] = width, template.level, depth
            step = Step(*step[:7], True)  # in a third of the time of _replace
        else:
            for v in step.results:
                names += 1
                widths[v], levels[v] = 1 + len(str(names)), _NAME
        steps.append(step)
    return schedule._replace(steps=tuple(steps))


_NAME = 100  # a name binds more tightly than any text


def _width(step: Step, template: Template, widths: Sequence[int], levels: Sequence[int]) -> int:
    """How many characters the step's text has, with what is written inside of it."""
    stands = [
        "." * (widths[v] + 2 * (levels[v] < need))
        for v, need in zip(step.operands, template.needs, strict=True)
    ]
    return len(template.text.format(*stands))
