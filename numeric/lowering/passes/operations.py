"""Large sums and products as steps of one operation each, so that each can say where it is written.

``a - 2*b + c`` in one line makes an array for ``2*b`` and one for the difference, of memory that
nobody has asked for.  The operations are the same, and in the same order: no bit changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numeric.lowering import kinds
from symdiff.graph import ops
from symdiff.graph.axes import broadcast_shapes

if TYPE_CHECKING:
    from collections.abc import Callable

    from numeric.lowering.steps import Schedule, Step
    from symdiff.graph.node import Op, Shape


def split_operations(schedule: Schedule, large: Callable[[Shape], bool]) -> Schedule:
    """The schedule with sums and products of more than two operands, or scaled ones, taken apart.

    Where a value, or an operand that is scaled, is not ``large``, it stays as it is.

    >>> import symdiff as sd
    >>> from numeric.lowering.schedule import schedule
    >>> x, y = sd.symbol("x", 3), sd.symbol("y", 3)
    >>> print(split_operations(schedule([x - 2 * y + 1], [x, y]), lambda shape: True))
    %0: (3,) float = input x
    %1: (3,) float = input y
    %3: (3,) float = sum %1
    %4: (3,) float = sum %0, %3
    %2: (3,) float = sum %4
    return %2
    """
    return _Apart(schedule, large).found()


class _Apart:
    """The steps so far, with the shapes of all values: those of numbers are ()."""

    def __init__(self, schedule: Schedule, large: Callable[[Shape], bool]) -> None:
        self.schedule, self.large = schedule, large
        self.count = schedule.length
        self.shapes: dict[int, Shape] = {}
        self.steps: list[Step] = []

    def found(self) -> Schedule:
        for step in self.schedule.steps:
            for v, shape in zip(step.results, step.shapes, strict=True):
                self.shapes[v] = () if step.weak else shape
            if step.weak or step.dtypes != (float,) or not self.large(step.shapes[0]):
                self.steps.append(step)
            elif step.sum is not None:
                self._sum(step, step.sum)
            elif isinstance(step.kind, kinds.Product) and len(step.operands) > 2:
                self._product(step, step.kind.signs)
            else:
                self.steps.append(step)
        return self.schedule._replace(steps=tuple(self.steps), length=self.count)

    def _sum(self, step: Step, op: ops.Sum) -> None:
        """Terms from left to right, each scaled before it is added, then the constant."""
        if any(isinstance(coef, float) for coef in op.coefs):  # a cast may be one
            self.steps.append(step)
            return
        terms = list(zip(op.coefs, step.operands, strict=True))
        if len(terms) > 1 and terms[0][0] < 0 < terms[1][0]:
            terms[:2] = terms[1], terms[0]  # b - a for -a + b
        last = len(terms) + (op.const != 0) - 1
        ahead = len(terms) == 1 and op.const > 0  # 1 - a
        coefs, operands = [], []
        for k, (coef, x) in enumerate(terms):
            sign = -1 if (k or ahead) and coef < 0 else 1
            if last and coef != sign and self.large(self.shapes[x]):
                scaled = ops.sum_op(0, (coef * sign,))
                coef, x = sign, self._new(step, scaled, (x,))
            coefs.append(coef)
            operands.append(x)
            if len(coefs) == 2 and k < last:
                partial = self._new(step, ops.sum_op(0, tuple(coefs)), tuple(operands))
                coefs, operands = [1], [partial]
        whole = ops.sum_op(op.const, tuple(coefs))
        self.steps.append(step._replace(ops=(whole,), operands=tuple(operands)))

    def _product(self, step: Step, signs: tuple[int, ...]) -> None:
        """Factors from left to right, unless the first one is divided by."""
        if signs[0] < 0:
            self.steps.append(step)
            return
        value, (sign, *others, last) = step.operands[0], signs
        for x, power in zip(step.operands[1:-1], others, strict=True):
            partial = step._replace(kind=kinds.Product((sign, power)))
            value, sign = self._new(partial, step.op, (value, x)), 1
        kind = kinds.Product((sign, last))
        self.steps.append(step._replace(kind=kind, operands=(value, step.operands[-1])))

    def _new(self, like: Step, op: Op, operands: tuple[int, ...]) -> int:
        """The value of a step like another one, of other operands."""
        v = self.count
        self.count += 1
        self.shapes[v] = shape = broadcast_shapes("add", *[self.shapes[x] for x in operands])
        made = like._replace(ops=(op,), operands=operands, results=(v,), shapes=(shape,))
        self.steps.append(made)
        return v
