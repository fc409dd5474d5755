"""Which results of a program are in memory that it makes, and that nobody else has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numeric.lowering import kinds
from numeric.lowering.contraction import plan
from numeric.lowering.formulas import is_known
from symdiff.graph import ops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numeric.lowering.steps import Schedule, Step


def own(schedule: Schedule, kept: int = 0) -> tuple[bool, ...]:
    """Which results have memory that the program makes, and that no result before them has.

    Views of arrays that nobody else gets are among them.  All others may be, or be views of, an
    argument, a constant or another result; or are not arrays but weak numbers.  The last ``kept``
    results stay with the program: the others do not own what one of these may be a view of.

    >>> import symdiff as sd
    >>> from numeric.lowering.schedule import schedule
    >>> x, A = sd.symbol("x", 3), sd.symbol("A", (3, 3))
    >>> own(schedule([sd.sin(x), x[1:], A @ x, A.T, sd.exp(A).T], [x, A]))
    (True, False, True, False, True)
    """
    steps = schedule.definitions()
    count = len(schedule.results) - kept
    held = viewed(steps, schedule.results[count:])
    roots = [_root(v, steps) for v in schedule.results]
    first = {v: i for i, v in reversed(list(enumerate(roots)))}
    return tuple(
        [
            v is not None and first[v] == i and not (i < count and v in held)
            for i, v in enumerate(roots)
        ]
    )


def _root(v: int, steps: Sequence[Step]) -> int | None:
    """The array that ``v`` is, or is a view of, if the program makes it."""
    while not is_made(step := steps[v], steps):
        if step.weak or not isinstance(step.kind, _VIEWS):
            return None
        if len(step.operands) != 1 or len(step.results) > 1:
            return None
        (v,) = step.operands
    return v


def viewed(steps: Sequence[Step], values: Sequence[int]) -> set[int]:
    """The values that these may share memory with: themselves, and what they may be views of."""
    found: set[int] = set()
    left = list(values)
    while left:
        v = left.pop()
        if v not in found:
            found.add(v)
            left += () if is_made(steps[v], steps) else steps[v].operands
    return found


def is_made(step: Step, steps: Sequence[Step]) -> bool:
    """Whether a step gives a new array, whatever its operands are."""
    op, kind = step.op, step.kind
    if isinstance(kind, kinds.Softmax):
        return True
    if step.weak or len(step.results) > 1:
        return False
    if step.sum is not None:
        return bool(step.sum.coefs != (1,) or step.sum.const != 0)
    if isinstance(kind, kinds.Product):
        return kind.signs != (1,)
    if isinstance(kind, kinds.Pointwise):
        # What a function of the user's returns is its own affair, and a formula may be its operand.
        assert isinstance(op, ops.Pointwise)
        return op.primitive or (is_known(op.formula) and bool(op.formula.args))
    if (contract := step.kernel(ops.Contract)) is not None:
        shapes = [steps[v].layout(v)[0] for v in step.operands]
        return plan(contract, shapes).stages[-1].kind not in ("view", "fill")
    return isinstance(kind, _MADE) or isinstance(op, _MADE_BY)


# Kinds that give views, at most, of their only operand.
_VIEWS = kinds.ByKernel, kinds.PartOfSlice
_MADE = (
    *(kinds.Stack, kinds.Power, kinds.Shifted, kinds.Monomial, kinds.Quotient, kinds.Strong),
    *(kinds.Pads, kinds.Powers, kinds.Gram, kinds.Affine, kinds.Placed),
)
_MADE_BY = (ops.Concat, ops.Scatter, ops.Triangle, ops.Shift)
