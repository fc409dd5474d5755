"""Derivatives of ``min`` and ``max`` by place: of each row the one element that is read.

The derivative of the extremes of rows is a matrix with a number in each row, at the row's extreme
element, and zeros; tied elements share it.  What it is contracted with is read or added up where
the extremes are.  Ties are looked for once, in the call, and handled as they are written.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from numeric.lowering import costs, kinds
from symdiff import opaque_ops
from symdiff.graph import number, ops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numeric.lowering.steps import Schedule, Step
    from symdiff.graph.number import Number


class Reading(NamedTuple):
    """A contraction of ``scale`` times such a matrix.

    ``axis`` is summed over.  ``first``: whether the operand has it as its first one; None if there
    is not an operand.  ``turned``: whether the result is transposed.  ``strong``: whether zeros of
    the matrix win over what is not finite.
    """

    scale: Number
    axis: int
    first: bool | None
    turned: bool
    strong: bool


class _Matrix(NamedTuple):
    """A selection that is ``scale`` times such a matrix, or its transpose, if ``turned``."""

    name: str
    operands: tuple[int, int, int]  # the rows, their extremes, and what is at their places
    scale: Number
    turned: bool


def read_extremes_by_place(schedule: Schedule, numbers: Sequence[bool]) -> Schedule:
    """Derivatives of ``min`` and ``max`` along rows as steps ``extremes``, which are contracted.

    Args:
        schedule: the steps.
        numbers: which values may be Python numbers, which have no axes.

    >>> import symdiff as sd
    >>> from numeric.lowering.schedule import schedule
    >>> x, v = sd.symbol("x", ("n", 9)), sd.symbol("v", 9)
    >>> made = schedule([sd.grad(sd.sum(sd.min(x + v, axis=1)), v)], [x, v])
    >>> [step.kind.name for step in read_extremes_by_place(made, [False] * made.length).steps[2:]]
    ['sum', 'kernel', 'number', 'extremes', 'placed']
    """
    if schedule.op_classes().isdisjoint((opaque_ops.Max, opaque_ops.Min)):
        return schedule
    found = _Extremes(schedule, numbers)
    changed: dict[int, Step] = {}
    made: dict[tuple[object, ...], int] = {}
    for step in schedule.steps:
        v = step.results[0]
        matrix = found.matrix(step)
        readings = None if matrix is None else found.readings(v, matrix)
        if matrix is None or not readings:
            continue
        shape = step.shapes[0][:: -1 if matrix.turned else 1]
        first = made.setdefault((matrix.name, *matrix.operands), v)
        if first == v:
            changed[v] = step._replace(
                kind=kinds.Extremes(matrix.name), operands=matrix.operands, shapes=(shape,)
            )
        for reader in readings:
            changed[reader.results[0]] = reader._replace(operands=(first, *reader.operands[1:]))
    if not changed:
        return schedule
    return schedule.having([changed.get(step.results[0], step) for step in schedule.steps])


class _Extremes:
    """What the steps of a schedule have to do with extremes."""

    def __init__(self, schedule: Schedule, numbers: Sequence[bool]) -> None:
        self._results, self._numbers = set(schedule.results), numbers
        self._steps = schedule.definitions()
        self._readers: dict[int, list[Step]] = {}
        for step in schedule.steps:
            for v in dict.fromkeys(step.operands):
                self._readers.setdefault(v, []).append(step)

    def matrix(self, step: Step) -> _Matrix | None:
        """What a selection ``where(ties, g/m, 0)`` is, where m counts the ties of a row."""
        if not self._is(step, "where") or len(step.shapes[0]) != 2 or step.dtypes != (float,):
            return None
        if costs.elements(step.shapes[0]) < costs.CALLS or not self._is_number(step.operands[2], 0):
            return None
        ties = step.operands[0]
        scale = Fraction(1)
        turned = self._is_turned(self._steps[ties])
        if turned:
            ties = self._steps[ties].operands[0]
        found = self._ties(ties)
        if found is None:
            return None
        name, operands = found
        value = step.operands[1]
        while (inner := self._scaled(value)) is not None:
            coef, value = inner
            scale *= coef
        share = self._by_row(value, turned)
        while share is not None and (inner := self._scaled(share)) is not None:
            coef, share = inner
            scale *= coef
        g = None if share is None else self._share(share, ties)
        return None if g is None else _Matrix(name, (*operands, g), number.norm(scale), turned)

    def readings(self, v: int, matrix: _Matrix) -> list[Step] | None:
        """What reads a matrix, if all are contractions of it, as steps of kind ``Placed``."""
        if v in self._results:
            return None
        found = [self._reading(reader, v, matrix) for reader in self._readers.get(v, ())]
        return None if None in found else [step for step in found if step is not None]

    def _reading(self, step: Step, v: int, matrix: _Matrix) -> Step | None:
        op = step.kernel(ops.Contract)
        if op is None or len(step.operands) > 2 or step.operands.count(v) != 1:
            return None
        if len(set(op.out)) < len(op.out) or op.created:
            return None
        k = step.operands.index(v)
        word = op.letters[k][:: -1 if matrix.turned else 1]
        others = [x for x in step.operands if x != v]
        summed = [axis for axis in (0, 1) if word[axis] not in op.out]
        if len(set(word)) != 2 or len(summed) != 1:
            return None
        (axis,) = summed
        if not others:
            reading = Reading(matrix.scale, axis, None, False, False)
            return step._replace(kind=kinds.Placed(reading))
        (u,), other = others, op.letters[1 - k]
        if op.kills[1 - k] or self.matrix(self._steps[u]) is not None:
            return None
        shape, dtype = self._steps[u].layout(u)
        if dtype is not float or self._numbers[u] or word[axis] not in other or len(shape) > 2:
            return None
        if len(set(other)) != len(other) or word[1 - axis] in other:
            return None
        if set(other).difference(op.out) != {word[axis]}:
            return None
        first = other[0] == word[axis]
        turned = op.out[0] != word[1 - axis]
        reading = Reading(matrix.scale, axis, first, turned, op.kills[k])
        return step._replace(kind=kinds.Placed(reading), operands=(v, u))

    def _is_turned(self, step: Step) -> bool:
        """Whether a step is the transpose of a matrix."""
        op = step.kernel(ops.Contract)
        return op is not None and op.letters == ((0, 1),) and op.out == (1, 0)

    def _scaled(self, v: int) -> tuple[int | Fraction, int] | None:
        """What a value is a multiple of, and which."""
        step = self._steps[v]
        op = step.sum
        if op is None or step.weak or op.const != 0 or len(op.coefs) != 1:
            return None
        coef = op.coefs[0]
        return None if isinstance(coef, float) else (coef, step.operands[0])

    def _ties(self, v: int) -> tuple[str, tuple[int, int]] | None:
        """Of ``x == min(x) or x != x``: the name of the extreme, x, and the extremes."""
        both = self._steps[v]
        if not self._is(both, "logical_or"):
            return None
        equal, unequal = (self._steps[u] for u in both.operands)
        if not self._is(unequal, "not_equal") or len(set(unequal.operands)) > 1:
            return None
        x = unequal.operands[0]
        if not self._is(equal, "equal") or equal.operands[0] != x or self._numbers[x]:
            return None
        if self._steps[x].layout(x) != (both.shapes[0], float):
            return None
        found = self._by_row(equal.operands[1], False)
        if found is None:
            return None
        step = self._steps[found]
        op = step.kernel(opaque_ops.Max, opaque_ops.Min)
        return None if op is None or step.operands != (x,) else (op.name, (x, found))

    def _share(self, v: int, ties: int) -> int | None:
        """Of ``g / m``, for each row, where m counts the ties: g."""
        quotient = self._steps[v]
        if quotient.kind != kinds.Product((1, -1)):
            return None
        g, m = quotient.operands
        cast = self._steps[m]
        if cast.sum is not None and cast.sum.const == 0 and cast.sum.coefs == (1,):
            m = cast.operands[0]
        count = self._steps[m]
        op = count.kernel(ops.Contract)
        if op is None or op.letters != ((0, 1),) or op.out != (0,):
            return None
        ones = self._steps[count.operands[0]]
        if not self._is(ones, "where") or ones.operands[0] != ties:
            return None
        one, zero = ones.operands[1:]
        return g if self._is_number(one, 1) and self._is_number(zero, 0) else None

    def _by_row(self, v: int, turned: bool) -> int | None:
        """What a matrix, or its transpose, has one number of for each row."""
        step = self._steps[v]
        if turned and len(step.layout(v)[0]) == 1:
            return v  # broadcast as it is
        op, out = step.kernel(ops.Contract), (1, 0) if turned else (0, 1)
        if op is None or op.letters != ((0,),) or op.out != out:
            return None
        return step.operands[0]

    def _is(self, step: Step, name: str) -> bool:
        op = step.op
        return (
            isinstance(step.kind, kinds.Pointwise)
            and isinstance(op, ops.Pointwise)
            and op.primitive
            and op.name == name
        )

    def _is_number(self, v: int, value: int) -> bool:
        return self._steps[v].kind == kinds.Number(value)
