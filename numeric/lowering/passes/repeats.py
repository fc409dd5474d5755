"""What has been computed already: products that begin with others, and sums of opposite signs.

Products are computed from left to right, so x/y/y is (x/y)/y to the last bit.  A sum of which every
sign is turned has the value of the other one with its sign turned, since rounding knows no sign;
zeros alone may have another sign, which is why such a sum has to be a result that nobody reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numeric.lowering import kinds
from numeric.lowering.steps import Step
from symdiff.graph import ops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numeric.lowering.steps import Schedule


def share_leading_factors(schedule: Schedule) -> Schedule:
    """Products over the longest other product that they begin with.

    >>> import symdiff as sd
    >>> from numeric.lowering.schedule import schedule
    >>> x, y, z = sd.symbols("x y z")
    >>> print(share_leading_factors(schedule([x / y, x / y**2], [x, y])))
    %0: () float = input x
    %1: () float = input y
    %2: () float = product (1, -1) %0, %1
    %3: () float = product (1, -1) %2, %1
    return %2, %3
    """
    found = [x for x in schedule.steps if _is_product(x)]
    if all(len(x.operands) == 2 for x in found):
        return schedule
    products = {_factors(x, len(x.operands)): x for x in found}
    waiting = {v for x in found for v in x.results}
    steps: list[Step] = []

    def place(step: Step) -> None:
        if step.results[0] not in waiting:
            return
        waiting.difference_update(step.results)
        for count in range(len(step.operands) - 1, 1, -1):
            before = products.get(_factors(step, count))
            if before is not None and before.results != step.results:
                place(before)  # what it needs is there: it is among the operands
                operands = (*before.results, *step.operands[count:])
                signs = (1, *step.as_kind(kinds.Product).signs[count:])
                op: Any = ops.product_op(signs)
                step = step._replace(kind=kinds.Product(signs), operands=operands, ops=(op,))
                break
        steps.append(step)

    for step in schedule.steps:
        if _is_product(step):
            place(step)
        else:
            steps.append(step)
    return schedule._replace(steps=tuple(steps))


def _is_product(step: Step) -> bool:
    return (
        isinstance(step.kind, kinds.Product)
        and not step.weak
        and len(step.operands) > 1
        and step.kind.signs[0] > 0
        and step.dtypes[0] is float
    )


def _factors(step: Step, count: int) -> tuple[tuple[int, int], ...]:
    """The first factors and their signs; x*y begins as y*x does."""
    found = list(zip(step.as_kind(kinds.Product).signs[:count], step.operands, strict=False))
    return (*sorted(found[:2]), *found[2:])


def share_negated_sums(schedule: Schedule) -> Schedule:
    """Sums that nobody reads but who asked for them, from those of opposite signs."""
    sums = {_terms(x, 1): x for x in schedule.steps if _is_sum(x)}
    if len(sums) < 2:
        return schedule
    read = {v for step in schedule.steps for v in step.operands}
    others: dict[int, Step] = {}  # by the value of a sum, the one of opposite signs
    for step in sums.values():
        other = sums.get(_terms(step, -1))
        (v,) = step.results
        if other is not None and v not in read and other.results[0] not in others:
            others[v] = other
    if not others:
        return schedule
    zero = schedule.length
    number: Any = (None,)
    steps = [Step(kinds.Number(0.0), (), (zero,), number, ((),), (float,), True)]
    placed: set[int] = set()
    waiting: dict[int, list[Step]] = {}
    for step in schedule.steps:
        other = others.get(step.results[0])
        if other is None:
            steps.append(step)
            placed.update(step.results)
            steps += waiting.pop(step.results[0], [])
            continue
        turned = step._replace(ops=(_MINUS,), operands=(zero, *other.results))
        if other.results[0] in placed:
            steps.append(turned)
        else:
            waiting.setdefault(other.results[0], []).append(turned)
    return schedule._replace(steps=tuple(steps), length=zero + 1)


_MINUS = ops.sum_op(0, (1, -1))


def _is_sum(step: Step) -> bool:
    """Whether it is a sum of more than one operation."""
    op = step.sum if len(step.operands) > 1 else None
    if op is None or step.weak or step.dtypes[0] is not float:
        return False
    work = len(op.coefs) - (op.const == 0) + sum(c not in (1, -1) for c in op.coefs)
    return work > 1


def _terms(step: Step, sign: int) -> tuple[object, ...]:
    """All that a sum is, its signs turned by ``sign``."""
    op = step.as_op(ops.Sum)
    coefs: Sequence[object] = [(c.__class__, sign * c) for c in op.coefs]
    return (step.operands, step.shapes, sign * op.const, *coefs)
