"""Sums of unslices: what slices read comes back into one array, written in place.

The gradient of a formula of slices, ``x[1:] - x[:-1]**2``, is a sum of arrays that are 0 outside of
a slice each.  Added as they are, each costs an array of zeros and a pass over all of it.  As one
step they are written into one array, and blocks of rows write theirs where they belong (``rows``),
so that no operand is ever whole.

Every element is the sum of the operands that have it, in their order, so that no bit changes: not
having it is adding 0, which tells of a value only if that is -0 (``sequences.placed``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numeric.lowering import kinds
from numeric.lowering.steps import Step
from symdiff.graph import ops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numeric.lowering.steps import Schedule
    from symdiff.graph.node import Dim, Shape

Widths = tuple[tuple[int, int], ...]
"""How many zeros stand before and behind an operand, for each axis, as ``np.pad`` has it."""


def join_padded_terms(schedule: Schedule, numbers: Sequence[bool]) -> Schedule:
    """The schedule with sums that begin with unslices as steps of kind ``Pads``.

    ``numbers`` says which values may be Python numbers, which have no axes.

    >>> import symdiff as sd
    >>> from numeric.lowering.schedule import schedule
    >>> x = sd.symbol("x", "n")
    >>> gradient = sd.grad(sd.sum(sd.sin(x[1:] - x[:-1])), x)
    >>> steps = schedule([gradient], [x])
    >>> [step.kind.name for step in join_padded_terms(steps, [False] * steps.length).steps[-2:]]
    ['sum', 'pads']
    """
    if ops.Unslice not in schedule.op_classes():
        return schedule
    steps = schedule.definitions()
    reads = schedule.reads()
    changed: dict[int, list[Step]] = {}
    length = schedule.length
    for step in schedule.steps:
        op = step.sum
        if op is None or len(step.operands) < 2:
            continue
        found = _beginning(step, steps, reads, numbers)
        count = len(found)
        if count < 2:
            continue
        coefs, const = op.coefs[count:], op.const
        parts = tuple([steps[v].operands[0] for v in step.operands[:count]])
        whole = not coefs and const == 0
        v = step.results[0] if whole else length
        shape = steps[step.operands[0]].shapes
        op = ops.sum_op(0, op.coefs[:count])
        made = [Step(kinds.Pads(tuple(found)), parts, (v,), (op,), shape, step.dtypes)]
        if not whole:
            length += 1
            rest = ops.sum_op(const, (1, *coefs))
            made.append(step._replace(ops=(rest,), operands=(v, *step.operands[count:])))
        changed[step.results[0]] = made
    if not changed:
        return schedule
    kept = [x for step in schedule.steps for x in changed.get(step.results[0], [step])]
    return schedule.having(kept, length - schedule.length)


def _beginning(
    step: Step, steps: Sequence[Step], reads: Sequence[int], numbers: Sequence[bool]
) -> list[Widths]:
    """The widths of the unslices with which a sum begins, of its own shape, that it alone reads."""
    found: list[Widths] = []
    for coef, v in zip(step.as_op(ops.Sum).coefs, step.operands, strict=True):
        term = steps[v]
        if coef != 1 or isinstance(coef, float) or reads[v] > 1 or term.shapes != step.shapes:
            break
        op = term.kernel(ops.Unslice)
        if op is None or term.weak or term.dtypes != step.dtypes:
            break
        widths = _widths(op, term.shapes[0])
        if widths is None or numbers[term.operands[0]]:
            break
        found.append(widths)
    return found


def _widths(op: ops.Unslice, shape: Shape) -> Widths | None:
    """The zeros around the operand of an unslice; None where numbers do not tell or others mix."""
    found = [(0, 0)] * (len(shape) - len(op.before))
    for (start, stop, by), dim in zip(op.steps, op.before, strict=True):
        around = _around(start, stop, dim) if by == 1 else None
        if around is None:
            return None
        found.append(around)
    return tuple(found)


def _around(start: Dim, stop: Dim | None, dim: Dim) -> tuple[int, int] | None:
    if isinstance(dim, int):
        places = range(*slice(start, stop).indices(dim))
        return (places.start, dim - places.stop) if places else None
    if isinstance(start, str) or isinstance(stop, str):
        return None
    if start < 0 or (stop is not None and stop >= 0):
        return None
    return start, -(stop or 0)


def keyed(widths: Widths) -> tuple[slice, ...]:
    """Where an operand stands."""
    return tuple([slice(low, -high or None) for low, high in widths])


def edges(widths: Sequence[Widths]) -> list[tuple[slice | int, ...]]:
    """Where elements of the first operand have not all the others: the sum there has a 0 in it.

    One element is asked for by its place: adding to a number takes a tenth of the time.

    >>> edges([((0, 1),), ((1, 0),)])
    [(0,)]
    """
    first = widths[0]
    whole = keyed(first)
    found: list[tuple[slice | int, ...]] = []
    for axis, (low, high) in enumerate(first):
        inner = max([w[axis][0] for w in widths]), max([w[axis][1] for w in widths])
        sides: list[slice | int] = []
        if inner[0] > low:
            sides.append(low if inner[0] == low + 1 else slice(low, inner[0]))
        if inner[1] > high:
            sides.append(-inner[1] if inner[1] == high + 1 else slice(-inner[1], -high or None))
        found += [(*whole[:axis], side, *whole[axis + 1 :]) for side in sides]
    return found
