"""Sums: what several begin with is computed once, and long ones in parts that a line has room for.

Sums are computed from left to right, here as everywhere, so every value is the same to the last
bit: (a + b) + c is one whether a + b has a name or not.  Terms that sums share at other places stay
where they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numeric.lowering.steps import Step
from symdiff.graph import ops
from symdiff.graph.axes import broadcast_shapes
from symdiff.locks import cached_property

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numeric.lowering.steps import Schedule
    from symdiff.graph.number import Number

# A line of this many terms is long enough to be fast and short enough for any compiler: thousands
# in one line overflow CPython's.
TERMS = 64


def share_leading_terms(schedule: Schedule) -> Schedule:
    """Terms with which several sums begin, two or more, as a value of their own."""
    sums = [x for x in schedule.steps if len(x.operands) > 1 and not x.weak and x.sum]
    found = _Beginnings(schedule, sums)
    if not found.common:
        return schedule
    for step in schedule.steps:
        if step.results[0] in found.ends:
            found.place(step)
        else:
            found.steps.append(step)
    return schedule._replace(steps=tuple(found.steps), length=found.length)


class _Beginnings:
    """The sums of a schedule as paths from the root of a tree, one term after the other.

    ``visits`` says how many sums go through a node.  Where fewer go on than have come, the terms so
    far are the longest beginning that some of them share.
    """

    def __init__(self, schedule: Schedule, sums: Sequence[Step]) -> None:
        self.steps: list[Step] = []
        self.length = schedule.length
        self.ends: dict[int, int] = {}  # where the path of a sum ends, by its value
        self.values: dict[int, int] = {}  # of beginnings that stand in ``steps`` by now
        self.parents, self.depths, self.visits = [0], [0], [0]
        self._sums: dict[int, Step] = {}  # those that are a beginning of others, without constant
        self._schedule = schedule
        tree: dict[tuple[object, ...], int] = {}
        for step in sums:
            op, node = step.as_op(ops.Sum), 0
            for coef, v in zip(op.coefs, step.operands, strict=True):
                # 1 and 1.0 are equal, but the latter makes floats of integers.
                key = (node or step.dtypes, coef.__class__, coef, v)
                found = tree.get(key)
                if found is None:
                    found = tree[key] = len(self.parents)
                    self.parents.append(node)
                    self.depths.append(self.depths[node] + 1)
                    self.visits.append(0)
                node = found
                self.visits[node] += 1
            self.ends[step.results[0]] = node
            if op.const == 0:
                self._sums.setdefault(node, step)
        self.common = any(
            count > 1 and depth > 1 for count, depth in zip(self.visits, self.depths, strict=True)
        )

    @cached_property
    def _steps(self) -> Sequence[Step]:
        return self._schedule.definitions()

    def _before(self, node: int, visits: int) -> int:
        """The longest beginning, up to ``node``, of more than ``visits`` sums; 0 for none."""
        while self.depths[node] > 1:
            if self.visits[node] > visits:
                return node
            node = self.parents[node]
        return 0

    def place(self, step: Step) -> None:
        """Put a sum, over the longest beginning that it shares, behind what that needs."""
        end = self.ends[step.results[0]]
        shares = self._sums.get(end) is step  # the sum is a beginning itself
        last = end if shares else self._before(end, 1)
        missing, node = [], last
        while node and node not in self.values:
            missing.append(node)
            node = self._before(self.parents[node], self.visits[node])
        for node in reversed(missing):
            self._begin(step, node)
        if not shares:
            self.steps.append(
                self._over(last, step, step, len(step.operands), step.as_op(ops.Sum).const)
            )

    def _begin(self, step: Step, node: int) -> None:
        """Put the beginning of a sum that a node is: as the sum that it is, or a new one."""
        depth, own = self.depths[node], self._sums.get(node)
        if own is None:
            shapes = [self._steps[v].layout(v)[0] for v in step.operands[:depth]]
            shape = broadcast_shapes("add", *shapes)
            own = step._replace(results=(self.length,), shapes=(shape,))
            self.length += 1
        before = self._before(self.parents[node], self.visits[node])
        self.steps.append(self._over(before, own, step, depth, 0))
        self.values[node] = own.results[0]

    def _over(self, before: int, step: Step, terms: Step, count: int, const: Number) -> Step:
        """``step`` as the sum of the first of some ``terms``, over the beginning ``before``."""
        coefs, operands = terms.as_op(ops.Sum).coefs[:count], terms.operands[:count]
        skip = self.depths[before]
        if before:
            coefs, operands = (1, *coefs[skip:]), (self.values[before], *operands[skip:])
        return step._replace(ops=(ops.sum_op(const, coefs),), operands=operands)


def split_long_sums(schedule: Schedule) -> Schedule:
    """Sums of more than ``TERMS`` terms as sums of partial sums; equal ones are one value.

    The association stays left to right, so every value is the same to the last bit.
    """
    if all(len(step.operands) <= TERMS or step.sum is None for step in schedule.steps):
        return schedule
    steps: list[Step] = []
    count = schedule.length
    known: dict[tuple[object, ...], int] = {}
    for step in schedule.steps:
        op, operands = step.sum, step.operands
        if op is None or len(operands) <= TERMS:
            steps.append(step)
            continue
        coefs = op.coefs
        while len(operands) > TERMS:
            first = ops.sum_op(0, coefs[:TERMS])
            key = (first, operands[:TERMS], step.shapes, step.dtypes)
            partial = known.get(key)
            if partial is None:
                partial = known[key] = count
                count += 1
                steps.append(step._replace(ops=(first,), operands=key[1], results=(partial,)))
            operands, coefs = (partial, *operands[TERMS:]), (1, *coefs[TERMS:])
        steps.append(step._replace(ops=(ops.sum_op(op.const, coefs),), operands=operands))
    return schedule._replace(steps=tuple(steps), length=count)
