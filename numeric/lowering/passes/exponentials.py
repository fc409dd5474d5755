"""Exponentials that are taken once: those that a logarithm of their sum is made of are its shares.

The derivative of ``y = logsumexp(x)`` is ``exp(x - y)``, which is ``exp(x - max)`` over the sum of
these: y is made of them already.  The quotient is nearer to the share than the exponential of a
rounded difference is, but has other last digits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numeric.lowering import kinds
from numeric.lowering.steps import Step
from symdiff import opaque_ops
from symdiff.graph import ops
from symdiff.graph.algebra import PRIMITIVES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numeric.lowering.steps import Schedule


def share_exponentials(schedule: Schedule, numbers: Sequence[bool]) -> Schedule:
    """Each ``logsumexp`` whose shares are read, too, as one step of kind ``Softmax``.

    Args:
        schedule: the steps.
        numbers: which values may be Python numbers, which have no axis to add along.

    >>> import symdiff as sd
    >>> from numeric.lowering.schedule import schedule
    >>> x = sd.symbol("x", "n")
    >>> print(share_exponentials(schedule([sd.logsumexp(x), sd.softmax(x)], [x]), [False] * 4))
    %0: (n,) float = input x
    %1: () float, %3: (n,) float = softmax %0
    return %1, %3
    """
    if opaque_ops.LogSumExp not in schedule.op_classes():
        return schedule
    values = {
        step.results[0]: step
        for step in schedule.steps
        if step.kernel(opaque_ops.LogSumExp) is not None
    }
    steps = schedule.definitions()
    found: dict[int, Step] = {}
    for step in schedule.steps:
        y = _logarithm(step, steps)
        if y is not None and y in values and not numbers[values[y].operands[0]]:
            found[y] = step
    if not found:
        return schedule
    replaced = {step.results[0] for step in found.values()}
    made = [
        _together(step, found[step.results[0]]) if step.results[0] in found else step
        for step in schedule.steps
        if step.results[0] not in replaced
    ]
    return schedule.having(made)


def _together(value: Step, share: Step) -> Step:
    return Step(
        kinds.Softmax(),
        value.operands,
        value.results + share.results,
        value.ops + share.ops,
        value.shapes + share.shapes,
        value.dtypes + share.dtypes,
    )


def _logarithm(step: Step, steps: Sequence[Step]) -> int | None:
    """The y of ``exp(x - y)``, if that is the logarithm of the sum of the exponentials of x."""
    if not isinstance(step.kind, kinds.Pointwise) or step.op is not PRIMITIVES["exp"]:
        return None
    difference = steps[step.operands[0]]
    op = difference.sum
    if op is None:
        return None
    for k, (coef, t) in enumerate(zip(op.coefs, difference.operands, strict=True)):
        y = _beside_elements(steps[t])
        if coef != -1 or y is None:
            continue
        whole = steps[y]
        if whole.kernel(opaque_ops.LogSumExp) is None:
            continue
        (x,) = whole.operands
        if steps[x].shapes[0] != step.shapes[0]:
            continue
        rest = (
            op.coefs[:k] + op.coefs[k + 1 :],
            difference.operands[:k] + difference.operands[k + 1 :],
            op.const,
        )
        if rest == ((1,), (x,), 0) or rest == _terms(steps[x]):
            return y
    return None


def _terms(step: Step) -> tuple[object, ...] | None:
    """Coefficients, operands and constant of a sum."""
    op = step.sum
    return None if op is None else (op.coefs, step.operands, op.const)


def _beside_elements(step: Step) -> int | None:
    """The value that stands beside all elements of the last axis: a scalar, or what is stretched.

    NumPy would align any other with that axis.
    """
    op = step.kernel(ops.Contract)
    if not step.shapes[0]:
        return step.results[0]
    if op is not None and len(op.letters) == 1:
        (word,) = op.letters
        if op.out[:-1] == word and step.shapes[0][-1:] == (1,):
            return step.operands[0]
    return None
