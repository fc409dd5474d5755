"""Rolling: scalar steps that are copies of a few shapes become few steps over arrays.

A formula that was written term by term is thousands of scalar steps, most of which do the same to
other operands.  Steps of one kind whose operands are there are a *group*; a group of many is one
step over arrays, whose elements are the scalars in its place (``lanes``).  Which groups there are
is decided here, by numbers alone; the steps over arrays are those of any array formula.

Every element is computed as the scalar was, so nothing changes, except for sums of very many terms:
these are sums of arrays, which NumPy adds up in another order, within a smaller bound.
"""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from numeric.lowering.arithmetic import divisor
from numeric.lowering.passes.lanes import Writer
from numeric.lowering.steps import Step
from symdiff.graph import ops
from symdiff.graph.number import is_normal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numeric.lowering.steps import Schedule
    from symdiff.graph.node import Shape
    from symdiff.graph.number import Number

# Below so many scalar steps nothing is gained that a caller would notice.
LEAST = 256
# A sum of so many terms is a sum of arrays.
LONG = 64

_ELEMENTWISE = frozenset(
    {"sum", "product", "quotient", "power", "monomial", "pointwise", "shifted", "strong"}
)
_REAL = (float, bool)


class Costs(NamedTuple):
    """Microseconds, for a choice: of a scalar step, and of a call of NumPy, apart from elements."""

    scalar: float
    call: float = 0.8
    element: float = 0.001

    def group(self, columns: int, length: int) -> float:
        """A step over arrays, whose operands are gathered."""
        return (1 + columns) * (self.call + self.element * length)

    @property
    def least(self) -> int:
        """How many scalar steps are worth one over arrays."""
        return math.ceil(3 * self.call / self.scalar)


FLOATS, ARRAYS = Costs(0.04), Costs(0.09)


def rolled(schedule: Schedule, floats: bool, exact_order: bool = False) -> Schedule:
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
    costs = FLOATS if floats else ARRAYS
    plan = _grouped(read, costs.least)
    if _cost(read, plan, costs) > 0.8 * costs.scalar * len(read.scalars):
        return schedule
    return Writer(schedule, read, floats).written(plan)


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
        v = step.results[0]
        if step.form == "number":
            self.numbers[v] = step
            return
        if len(step.results) > 1 or step.weak or step.leaf or not _is_unit(step.shapes[0]):
            self._fix(step)
            return
        place = _place(step, self.definitions)
        if place is not None:
            self.elements[v] = place
        elif step.form in _ELEMENTWISE:
            known = [self._known(x) for x in step.operands]
            if step.dtypes[0] in _REAL and all(known):
                operands = tuple([self.same[x] for x in step.operands])
                self.scalars[v] = step._replace(operands=operands, shapes=((),))
            else:
                self._fix(step)
        elif _is_unchanged(step, self.definitions):
            self.same[v] = self.same[step.operands[0]]
        else:
            self._fix(step)

    def _fix(self, step: Step) -> None:
        """A step that stays; an array of one element has that."""
        self.fixed[step.results[0]] = step
        for v, shape, dtype in zip(step.results, step.shapes, step.dtypes, strict=True):
            if shape and _is_unit(shape) and dtype in _REAL and not step.weak:
                self.elements[v] = v, 0

    def _known(self, v: int) -> bool:
        """Whether a value may be an operand of a scalar step: a real scalar, or a weak number."""
        step = self.definitions[v]
        if step.weak:
            return True
        shape, dtype = step.layout(v)
        return _is_unit(shape) and dtype in _REAL

    def _counted(self) -> list[int]:
        reads = [0] * self.length
        for step in self.schedule.steps:
            scalar = self.scalars.get(step.results[0])
            for v in (scalar or step).operands:
                reads[v if scalar else self.same[v]] += 1
        for v in self.schedule.results:
            reads[self.same[v]] += 1
        return reads

    # Long sums ------------------------------------------------------------------------------------

    def _join_sums(self) -> None:
        """Sums of sums that nobody else reads as one, where that has many terms."""
        counts: dict[int, int] = {}
        inner: set[int] = set()
        sums = {v: s for v, s in self.scalars.items() if s.form == "sum" and s.dtypes[0] is float}
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
                    op = self.scalars.pop(x).op
                    assert isinstance(op, ops.Sum)
                    stack += reversed(list(zip(op.coefs, sums[x].operands, strict=True)))
                else:
                    coefs.append(c)
                    operands.append(x)
            assert isinstance(step.op, ops.Sum)
            op = ops.sum_op(step.op.const, tuple(coefs))
            self.totals[v] = step._replace(ops=(op,), operands=tuple(operands))

    def _inner(self, step: Step) -> Iterable[int]:
        """The operands of a sum that are read here alone, as they are, and may be sums."""
        assert isinstance(step.op, ops.Sum)
        for c, x in zip(step.op.coefs, step.operands, strict=True):
            found = self.scalars.get(x)
            if c == 1 and c.__class__ is int and self.reads[x] == 1 and found is not None:
                op = found.op
                if found.form == "sum" and isinstance(op, ops.Sum) and op.const == 0:
                    yield x

    # Arrays of scalars ----------------------------------------------------------------------------

    def _assemble(self) -> None:
        for v, step in list(self.fixed.items()):
            if step.dtypes[0] is not float or len(step.results) > 1 or step.weak:
                continue
            found = None
            if step.form == "kernel" and isinstance(step.op, ops.Concat):
                found = self._joined(step)
            elif step.form == "sum":
                found = self._put(step)
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

    def _put(self, step: Step) -> Assembly | None:
        """A sum of many arrays that have one element each, at different places, and one other."""
        assert isinstance(step.op, ops.Sum)
        if step.op.const != 0 or not _is_static(step.shapes[0]):
            return None
        parts: dict[int, int] = {}
        rest: list[int] = []
        gone: list[int] = []
        stack = list(zip(step.op.coefs, step.operands, strict=True))
        while stack:
            c, x = stack.pop()
            inner = self.fixed.get(x)
            single = inner is not None and self.reads[x] == 1 and inner.shapes == step.shapes
            if c != 1 or c.__class__ is not int or inner is None or not single:
                rest.append(x)
            elif inner.form == "kernel" and isinstance(inner.op, ops.Unslice):
                (y,) = inner.operands
                place = _offset(inner.op.before, inner.op.steps, inner.shapes[0])
                if not self._is_scalar(y) or place is None or place in parts:
                    return None
                parts[place] = self.same[y]
                gone.append(x)
            elif inner.form == "sum" and isinstance(inner.op, ops.Sum) and inner.op.const == 0:
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
    return all(dim == 1 for dim in shape)


def _is_static(shape: Shape) -> bool:
    return all(isinstance(dim, int) for dim in shape)


def _is_unchanged(step: Step, steps: Sequence[Step]) -> bool:
    """Whether a step gives one element another shape, and nothing else."""
    if step.form != "kernel" or len(step.operands) != 1:
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
    if step.form == "component":
        op = step.detail[0]
    elif step.form == "kernel" and isinstance(step.op, ops.Slice):
        op = step.op
    else:
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


def _kinds(read: _Reading) -> dict[int, int]:
    """A number for what each scalar step does, down to the operands of its operands."""
    numbers: dict[tuple[object, ...], int] = {}

    def number(*key: object) -> int:
        return numbers.setdefault(key, len(numbers))

    ways: dict[tuple[object, ...], int] = {}
    own: dict[int, int] = {}
    for v, step in read.scalars.items():
        key = (step.ops, step.form, step.detail, step.dtypes)
        way = ways.get(key)
        if way is None:
            way = ways[key] = number(*_way(step))
        own[v] = way
    leaf = number("value")
    for v, (x, _) in read.elements.items():
        own[v] = number("element", x)
    for v in read.numbers:
        own[v] = number("number", read.numbers[v].dtypes)
    for v in read.totals:
        own[v] = number("total")
    shallow = {
        v: number(own[v], *[own.get(x, leaf) for x in step.operands])
        for v, step in read.scalars.items()
    }
    return {
        v: number(own[v], *[shallow.get(x, own.get(x, leaf)) for x in step.operands])
        for v, step in read.scalars.items()
    }


def _way(step: Step) -> tuple[object, ...]:
    """What steps of one group have in common; numbers that may differ are left out."""
    op = step.op
    if step.form != "sum" or not isinstance(op, ops.Sum):
        return (
            step.ops if step.form in ("pointwise", "strong") else step.form,
            step.detail,
            step.dtypes,
        )
    kinds = [c if c in (1, -1) or not is_free(c) else "coefficient" for c in op.coefs]
    const = op.const if op.const == 0 or not is_free(op.const) else "constant"
    return ("sum", *kinds, const, step.dtypes)


def is_free(c: Number) -> bool:
    """Whether a number may be an element of an array: it is written as one factor."""
    return divisor(-c if c < 0 else c) is None and (isinstance(c, float) or is_normal(c))


class Group(NamedTuple):
    """Scalars that are computed at once; ``together`` or one by one."""

    values: list[int]
    together: bool


def _grouped(read: _Reading, least: int) -> list[Group]:
    """An order of everything to compute, in which scalars of one kind stand together.

    Of the kinds that have steps to run now, the one goes first whose steps to come are nearest to
    the inputs, on average: kinds that come earlier in the formula are complete before later ones
    start.
    """
    kinds = _kinds(read)
    users: defaultdict[int, list[int]] = defaultdict(list)
    waiting: dict[int, int] = {}
    heights: dict[int, int] = {}
    now: list[int] = []
    total: defaultdict[int, int] = defaultdict(int)
    count: defaultdict[int, int] = defaultdict(int)
    first = {v: step.results[0] for step in read.fixed.values() for v in step.results}
    for v, needs in _needs(read):
        inside = [first.get(x, x) for x in needs]
        inside = [x for x in dict.fromkeys(inside) if x in heights]
        heights[v] = 1 + max([heights[x] for x in inside], default=0)
        waiting[v] = len(inside)
        for x in inside:
            users[x].append(v)
        if not inside:
            now.append(v)
        if v in kinds:
            total[kinds[v]] += heights[v]
            count[kinds[v]] += 1
    ready: defaultdict[int, list[int]] = defaultdict(list)
    queue: list[tuple[float, int]] = []
    plan: list[Group] = []
    while now or queue:
        for v in now:
            kind = kinds.get(v)
            if kind is None:
                continue
            if not ready[kind]:
                heapq.heappush(queue, (total[kind] / count[kind], kind))
            ready[kind].append(v)
        others = [v for v in now if v not in kinds]
        if others:
            found = Group(others, False)
        elif queue:
            _, kind = heapq.heappop(queue)
            values = ready.pop(kind)
            total[kind] -= sum([heights[v] for v in values])
            count[kind] -= len(values)
            found = Group(values, len(values) >= least)
        else:
            break
        plan.append(found)
        now = []
        for v in found.values:
            for user in users[v]:
                waiting[user] -= 1
                if not waiting[user]:
                    now.append(user)
    return plan


def _needs(read: _Reading) -> Iterable[tuple[int, Sequence[int]]]:
    """Everything that is computed, operands first, with the values it is computed of."""

    def base(v: int) -> int:
        v = read.same[v]
        return read.elements[v][0] if v in read.elements else v

    for step in read.schedule.steps:
        v = step.results[0]
        if v in read.assemblies:
            made = read.assemblies[v]
            rest = () if made.rest is None else (made.rest,)
            yield v, [base(x) for x in (*made.parts, *rest)]
            continue
        found = read.scalars.get(v) or read.totals.get(v) or read.fixed.get(v)
        if found is not None:
            yield v, [base(x) for x in found.operands]


def _cost(read: _Reading, plan: Sequence[Group], costs: Costs) -> float:
    """What a plan takes, of scalars and of what is made of them, in microseconds."""
    found = 0.0
    for group in plan:
        if group.together:
            columns = len(read.scalars[group.values[0]].operands)
            found += costs.group(columns, len(group.values))
        else:
            found += costs.scalar * sum(v in read.scalars for v in group.values)
    found += sum(4 * costs.call + costs.element * len(x.operands) for x in read.totals.values())
    return found
