"""Arrays of consecutive powers, as ``vander`` makes them, by one product for each.

A power by NumPy takes fifty times as long as a product, and has to be copied into its column, where
a row is written in place.  The power k has k - 1 roundings then, instead of one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numeric.lowering import kinds
from symdiff.graph import ops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numeric.lowering.steps import Schedule, Step

_LEAST = 4  # fewer powers than that are products anyway


def multiply_powers(schedule: Schedule, numbers: Sequence[bool]) -> Schedule:
    """Powers of one base to consecutive exponents that are joined, as one step ``powers``.

    Args:
        schedule: the steps.
        numbers: which values may be Python numbers, which have no axes.

    >>> import symdiff as sd
    >>> from numeric.lowering.schedule import schedule
    >>> x = sd.symbol("x", "n")
    >>> made = schedule([sd.vander(x, 5, increasing=True)], [x])
    >>> print(multiply_powers(made, [False] * made.length))
    %0: (n,) float = input x
    %9: (n, 5) float = powers (range(0, 5), 1) %0
    return %9
    """
    if ops.Concat not in schedule.op_classes():
        return schedule
    found = _Powers(schedule, numbers)
    steps = [found.step(step) or step for step in schedule.steps]
    changed = any(a is not b for a, b in zip(steps, schedule.steps, strict=True))
    return schedule.having(steps) if changed else schedule


class _Powers:
    """What the values of a schedule are powers of."""

    def __init__(self, schedule: Schedule, numbers: Sequence[bool]) -> None:
        self._steps, self._numbers = schedule.definitions(), numbers

    def step(self, step: Step) -> Step | None:
        """A step that joins consecutive powers as the step that makes them; None for others."""
        op = step.kernel(ops.Concat)
        if op is None or len(step.operands) < _LEAST or set(op.lengths) != {1}:
            return None
        axis = len(step.shapes[0]) + op.axis
        parts = [self._part(v, axis) for v in step.operands]
        base = self._base(parts)
        if base is None or self._numbers[base]:
            return None
        layout = self._steps[base].layout(base)
        if layout != (step.shapes[0][:axis] + step.shapes[0][axis + 1 :], float):
            return None
        exponents = [0 if v is None else self._exponent(v, base) for v in parts]
        first, second = exponents[:2]
        if first is None or second is None or abs(second - first) != 1:
            return None
        run = range(first, first + len(parts) * (second - first), second - first)
        if exponents != list(run):
            return None
        return step._replace(kind=kinds.Powers(run, axis), operands=(base,))

    def _part(self, v: int, axis: int) -> int | None:
        """What an operand has along all other axes than ``axis``; None for ones, -1 if unknown."""
        step = self._steps[v]
        if isinstance(step.kind, kinds.Number):
            return None if step.kind.value == 1 else -1
        op = step.kernel(ops.Contract)
        if op is None or len(op.letters) != 1:
            return -1
        (word,) = op.letters
        stretched = len(set(op.out)) == len(op.out) == len(word) + 1
        if not stretched or op.out[:axis] + op.out[axis + 1 :] != word:
            return -1
        return step.operands[0]

    def _base(self, parts: Sequence[int | None]) -> int | None:
        """What the first power by NumPy is of, if all parts are known."""
        if -1 in parts:
            return None
        steps = [self._steps[v] for v in parts if v is not None]
        return next((x.operands[0] for x in steps if isinstance(x.kind, kinds.Power)), None)

    def _exponent(self, v: int, base: int) -> int | None:
        """To which exponent the base is a value; None for what is not a power of it."""
        if v == base:
            return 1
        step = self._steps[v]
        if isinstance(step.kind, kinds.Power) and step.operands == (base,):
            p = step.kind.exponent
            return int(p) if p == int(p) else None
        if isinstance(step.kind, kinds.Product) and min(step.kind.signs) > 0:
            each = [self._exponent(x, base) for x in step.operands]
            return None if None in each else sum(k for k in each if k is not None)
        return None
