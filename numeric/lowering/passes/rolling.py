"""Rolling: scalar steps that are copies of a few shapes become few steps over arrays.

A formula that was written term by term is thousands of scalar steps, most of which do the same to
other operands.  Steps of one kind whose operands are there are a *group*; a group of many is one
step over arrays, whose elements are the scalars in its place (``lanes``).  Which groups there are
is decided here, by numbers alone; the steps over arrays are those of any array formula.

Every element is computed as the scalar was, so nothing changes, except for sums of very many terms:
these are sums of arrays, which NumPy adds up in another order, within a smaller bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from numeric.lowering import costs, kinds
from numeric.lowering.passes.lanes import ROWS, Writer, is_free
from numeric.lowering.steps import Step
from symdiff.graph import ops

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numeric.lowering.steps import Schedule
    from symdiff.graph.node import Shape
    from symdiff.graph.number import Number

# Below so many scalar steps nothing is gained that a caller would notice.
LEAST = 256
# What is not faster by so much stays as it was written.
_GAIN = 0.8
# A sum of so many terms is a sum of arrays.
LONG = 64

_REAL = (float, bool)


def roll_scalars(schedule: Schedule, floats: bool, exact_order: bool = False) -> Schedule:
    """The schedule with groups of scalar steps as steps over arrays, if that is faster; else as is.

    Args:
        schedule: of a program whose real arguments are all doubles.
        floats: scalars are Python floats; else NumPy's, which take twice the time.
        exact_order: long sums stay in the order of their terms.
    """
    if len(schedule.steps) < LEAST:
        return schedule
    read = _Reading(schedule, exact_order)
    if len(read.scalars) < LEAST:
        return schedule
    prices = costs.FLOATS if floats else costs.ARRAYS
    plan = _grouped(read, prices.least)
    plain = prices.of_program(schedule)
    groups = [len(group.values) for group in plan if group.together]
    apart = [v for group in plan if not group.together for v in group.values if v in read.scalars]
    if prices.of_groups(len(read.totals), groups, len(apart)) > plain:
        return schedule
    found = Writer(schedule, read, floats).written(plan)
    return found if prices.of_program(found) < _GAIN * plain else schedule


class Assembly(NamedTuple):
    """An array of scalars and arrays, one after the other: parts, or at ``places`` among zeros."""

    parts: tuple[int, ...]
    places: tuple[int, ...] | None = None
    rest: int | None = None  # an array that is added


class _Reading:
    """A schedule as scalars and what is made of them.

    Values of one element, of whatever shape, are *units*: ``same`` says which scalar one is.
    ``elements`` are places in arrays, ``numbers`` are weak numbers, ``scalars`` the steps that may
    be rolled, by their value; ``totals`` are long sums, ``assemblies`` arrays of scalars, ``fixed``
    all other steps, by their first value.
    """

    def __init__(self, schedule: Schedule, exact_order: bool) -> None:
        self.schedule = schedule
        self.definitions = schedule.definitions()
        self.same = list(range(schedule.length))
        # Whether a value may be an operand of a scalar step: a real unit, or a weak number.
        self._known = [False] * schedule.length
        self.length = schedule.length
        self.elements: dict[int, tuple[int, int]] = {}
        self.numbers: dict[int, Step] = {}
        self.scalars: dict[int, Step] = {}
        self.totals: dict[int, Step] = {}
        self.assemblies: dict[int, Assembly] = {}
        self.fixed: dict[int, Step] = {}
        for step in schedule.steps:
            self._sort(step)
        self.reads = self._counted()
        if not exact_order:
            self._join_sums()
        self._assemble()

    def _sort(self, step: Step) -> None:
        v, (shape, *_), known, same = step.results[0], step.shapes, self._known, self.same
        if step.weak:
            known[v] = True
            (self.numbers if isinstance(step.kind, kinds.Number) else self.fixed)[v] = step
            return
        unit = step.dtypes[0] in _REAL and _is_unit(shape) and len(step.results) == 1
        if unit and step.kind.elementwise:
            known[v] = True
            if all(map(known.__getitem__, step.operands)):
                operands = tuple([same[x] for x in step.operands])
                if shape or operands != step.operands:
                    step = step._replace(operands=operands, shapes=((),))
                self.scalars[v] = step
                return
        elif unit and not step.leaf:
            known[v] = True
            place = _place(step, self.definitions)
            if place is not None and not known[place[0]]:
                self.elements[v] = place
                return
            if place is not None or _is_unchanged(step, self.definitions):
                same[v] = same[step.operands[0]]
                return
        self.fixed[v] = step
        for v, shape, dtype in zip(step.results, step.shapes, step.dtypes, strict=True):
            known[v] = dtype in _REAL and _is_unit(shape)
            if shape and known[v]:  # it has that element
                self.elements[v] = v, 0

    def _counted(self) -> list[int]:
        reads, same = [0] * self.length, self.same
        for step in self.schedule.steps:
            for v in step.operands:
                reads[same[v]] += 1
        for v in self.schedule.results:
            reads[self.same[v]] += 1
        return reads

    # Long sums ------------------------------------------------------------------------------------

    def _join_sums(self) -> None:
        """Sums of sums that nobody else reads as one, where that has many terms."""
        counts: dict[int, int] = {}
        inner: set[int] = set()
        found = self.scalars.items()
        sums = {v: s for v, s in found if isinstance(s.kind, kinds.Sum) and s.dtypes[0] is float}
        for v, step in sums.items():
            joined = [x for x in self._inner(step) if x in sums]
            counts[v] = len(step.operands) + sum(counts[x] - 1 for x in joined)
            inner.update(joined)
        for v, step in sums.items():
            if v in inner or counts[v] < LONG:
                continue
            coefs: list[Number] = []
            operands: list[int] = []
            stack: list[tuple[Number, int]] = [(1, v)]
            while stack:
                c, x = stack.pop()
                if c == 1 and (x == v or (x in inner and x in sums)):
                    op = self.scalars.pop(x).as_op(ops.Sum)
                    stack += reversed(list(zip(op.coefs, sums[x].operands, strict=True)))
                else:
                    coefs.append(c)
                    operands.append(x)
            op = ops.sum_op(step.as_op(ops.Sum).const, tuple(coefs))
            self.totals[v] = step._replace(ops=(op,), operands=tuple(operands))

    def _inner(self, step: Step) -> Iterable[int]:
        """The operands of a sum that are read here alone, as they are, and may be sums."""
        for c, x in zip(step.as_op(ops.Sum).coefs, step.operands, strict=True):
            found = self.scalars.get(x)
            if c == 1 and c.__class__ is int and self.reads[x] == 1 and found is not None:
                op = found.sum
                if op is not None and op.const == 0:
                    yield x

    # Arrays of scalars ----------------------------------------------------------------------------

    def _assemble(self) -> None:
        for v, step in list(self.fixed.items()):
            if step.dtypes[0] is not float or len(step.results) > 1 or step.weak:
                continue
            found = None
            if step.kernel(ops.Concat) is not None:
                found = self._joined(step)
            elif step.sum is not None:
                found = self._put(step, step.sum)
            if found is not None:
                del self.fixed[v]
                self.assemblies[v] = found

    def _joined(self, step: Step) -> Assembly | None:
        """A concatenation that has many units among its operands."""
        units = [x for x in step.operands if self._is_scalar(x)]
        if len(units) < 8 or len(step.shapes[0]) != 1 or not _is_static(step.shapes[0]):
            return None
        for x in step.operands:
            known = self.definitions[x]
            if x not in self.numbers and (known.weak or known.layout(x)[1] is not float):
                return None
        return Assembly(tuple([self.same[x] for x in step.operands]))

    def _is_scalar(self, v: int) -> bool:
        same = self.same[v]
        return same in self.scalars or same in self.elements or same in self.totals

    def _put(self, step: Step, op: ops.Sum) -> Assembly | None:
        """A sum of many arrays that have one element each, at different places, and one other."""
        if op.const != 0 or not _is_static(step.shapes[0]):
            return None
        parts: dict[int, int] = {}
        rest: list[int] = []
        gone: list[int] = []
        stack = list(zip(op.coefs, step.operands, strict=True))
        while stack:
            c, x = stack.pop()
            inner = self.fixed.get(x)
            single = inner is not None and self.reads[x] == 1 and inner.shapes == step.shapes
            if c != 1 or c.__class__ is not int or inner is None or not single:
                rest.append(x)
            elif (unslice := inner.kernel(ops.Unslice)) is not None:
                (y,) = inner.operands
                place = _offset(unslice.before, unslice.steps, inner.shapes[0])
                if not self._is_scalar(y) or place is None or place in parts:
                    return None
                parts[place] = self.same[y]
                gone.append(x)
            elif (
                isinstance(inner.kind, kinds.Sum)
                and isinstance(inner.op, ops.Sum)
                and inner.op.const == 0
            ):
                stack += list(zip(inner.op.coefs, inner.operands, strict=True))
                gone.append(x)
            else:
                rest.append(x)
            if len(rest) > 1 or (rest and (c != 1 or c.__class__ is not int)):
                return None
        if len(parts) < 8 or any(
            self.definitions[x].layout(x) != step.layout(step.results[0]) for x in rest
        ):
            return None
        for x in gone:
            del self.fixed[x]
        places = sorted(parts)
        return Assembly(tuple([parts[k] for k in places]), tuple(places), rest[0] if rest else None)


def _is_unit(shape: Shape) -> bool:
    return not shape or all(dim == 1 for dim in shape)


def _is_static(shape: Shape) -> bool:
    return all(isinstance(dim, int) for dim in shape)


def _is_unchanged(step: Step, steps: Sequence[Step]) -> bool:
    """Whether a step gives one element another shape, and nothing else."""
    if not isinstance(step.kind, kinds.ByKernel) or len(step.operands) != 1:
        return False
    (v,) = step.operands
    shape, dtype = steps[v].layout(v)
    if steps[v].weak or not _is_unit(shape) or dtype is not step.dtypes[0] or dtype not in _REAL:
        return False
    if isinstance(step.op, ops.Contract):
        return not step.op.sums and len(set(step.op.out)) == len(step.op.out)
    return isinstance(step.op, ops.Reshape)


def _place(step: Step, steps: Sequence[Step]) -> tuple[int, int] | None:
    """The array that an element is of, and its place among all; None for other steps."""
    op = step.kind.sliced if isinstance(step.kind, kinds.PartOfSlice) else step.kernel(ops.Slice)
    if op is None:
        return None
    (v,) = step.operands
    shape, dtype = steps[v].layout(v)
    if dtype not in _REAL or steps[v].weak:
        return None
    found = _offset(op.before, op.steps, shape)
    return None if found is None else (v, found)


def _offset(
    before: Shape, slices: Sequence[tuple[object, object, int]], shape: Shape
) -> int | None:
    """The place of the one element that slices of the last axes read of an array of ``shape``."""
    lead = shape[: len(shape) - len(before)]
    if not _is_static(shape) or any(dim != 1 for dim in lead):
        return None
    place = 0
    for dim, (start, *_) in zip(before, slices, strict=True):
        if not isinstance(start, int) or not isinstance(dim, int):
            return None
        place = place * dim + (start if start >= 0 else start + dim)
    return place


# Groups -------------------------------------------------------------------------------------------


def _kinds(read: _Reading) -> dict[int, tuple[int, int]]:
    """What each scalar step does, as a number, and the same with its operands and theirs."""
    numbers: dict[tuple[object, ...], int] = {}

    def number(*key: object) -> int:
        return numbers.setdefault(key, len(numbers))

    ways: dict[tuple[object, ...], int] = {}
    own: dict[int, int] = {}
    for v, step in read.scalars.items():
        key = (step.ops, step.kind, step.dtypes, len(step.operands))
        way = ways.get(key)
        if way is None:
            way = ways[key] = number(len(step.operands), *_way(step))
        own[v] = way
    leaf = number("value")
    for v, (x, _) in read.elements.items():
        own[v] = number("element", x)
    for v in read.numbers:
        own[v] = number("number", read.numbers[v].dtypes)
    for v in read.totals:
        own[v] = number("total")
    one, shallow = numbers.setdefault, dict(own)
    for v, step in read.scalars.items():
        below = [own.get(x, leaf) for x in step.operands]
        shallow[v] = one((own[v], *below), len(numbers))
    found = {}
    for v, step in read.scalars.items():
        below = [shallow.get(x, leaf) for x in step.operands]
        found[v] = own[v], one((own[v], *below), len(numbers))
    return found


def _way(step: Step) -> tuple[object, ...]:
    """What steps of one group have in common; numbers that may differ are left out."""
    op = step.sum
    if op is None:
        of_op = isinstance(step.kind, kinds.Pointwise | kinds.Strong)
        return (step.kind, step.ops if of_op else (), step.dtypes)
    # Rows of a matrix have any sign.
    signs = () if len(op.coefs) >= ROWS else (1, -1)
    coefs = [c if c in signs or not is_free(c) else "coefficient" for c in op.coefs]
    const = op.const if op.const == 0 or not is_free(op.const) else "constant"
    return ("sum", *coefs, const, step.dtypes)


class Group(NamedTuple):
    """Scalars that are computed at once; ``together`` or one by one."""

    values: list[int]
    together: bool


def _grouped(read: _Reading, least: int) -> list[Group]:
    """An order of everything to compute, in which scalars of one kind stand together.

    It goes by height: steps are as far from the inputs as the longest way to them.  Those of one
    height that do the same are one group, or several where many have operands of the same kinds,
    too: their operands stand together already.
    """
    found = _kinds(read)
    heights: dict[int, int] = {}
    levels: list[dict[int, list[int]]] = []
    for v, needs in _needs(read):
        height = 0
        for x in needs:
            height = max(height, heights.get(x, -1) + 1)
        heights[v] = height
        if height == len(levels):
            levels.append({})
        kind = found.get(v, _OTHER)[0]
        levels[height].setdefault(kind, []).append(v)
    plan: list[Group] = []
    for level in levels:
        for kind, values in level.items():
            if kind == _OTHER[0] or len(values) < least:
                plan.append(Group(values, False))
                continue
            parts: dict[int, list[int]] = {}
            for v in values:
                parts.setdefault(found[v][1], []).append(v)
            rest = [part for part in parts.values() if len(part) < least]
            large = [part for part in parts.values() if len(part) >= least]
            if rest:  # to the largest, or among themselves
                largest = max(large, key=len) if large else []
                largest += [v for part in rest for v in part]
                large = large or [largest]
            plan += [Group(part, True) for part in large]
    return plan


_OTHER = (-1, -1)


def _needs(read: _Reading) -> Iterable[tuple[int, Sequence[int]]]:
    """Everything that is computed, operands first, with the steps of what it is computed of."""
    # The first result of each step stands for all of them, an array for its elements.
    own = list(range(read.length))
    for step in read.fixed.values():
        for v in step.results:
            own[v] = step.results[0]
    for v, (array, _) in read.elements.items():
        own[v] = own[array]
    base = [own[v] for v in read.same]
    scalars = read.scalars
    for step in read.schedule.steps:
        v = step.results[0]
        found = scalars.get(v) or read.totals.get(v) or read.fixed.get(v)
        if found is not None:
            yield v, [base[x] for x in found.operands]
        elif v in read.assemblies:
            made = read.assemblies[v]
            rest = () if made.rest is None else (made.rest,)
            yield v, [base[x] for x in (*made.parts, *rest)]
