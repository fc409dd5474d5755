"""Blocks of rows: steps that go along one axis, each row by itself, become one kernel.

A *kernel* is a schedule over one letter, its rows.  Along that letter its steps are elementwise, or
they sum over it; none reads one row for another.  (Matrix products are left to BLAS, whole.)  So
the rows may be computed in blocks that stay in the cache, on any number of threads, and what is
summed over rows is summed over blocks.  A value that only the kernel reads is never as long as the
axis.

Axes are told apart by where they go, not by their lengths: in ``x @ A @ x`` the rows of ``A`` are
not its columns, though there are as many.  An operand from outside of a kernel is *sliced* where
its axis is the letter, and read *whole* elsewhere; it may be both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from numeric.lowering import costs, kinds
from numeric.lowering.contraction import BLAS, plan
from numeric.lowering.steps import Schedule, Step
from symdiff.graph import ops
from symdiff.graph.lengths import LengthLetter
from symdiff.graph.ops.linear import Linear
from symdiff.graph.ranges import WHOLE
from symdiff.locks import cached_property

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from symdiff.graph.node import Dim, Shape

ROWS = LengthLetter("rows")
"""The length of the axis in a kernel: that of a block."""

_ALONE = kinds.Pointwise, kinds.Monomial, kinds.Softmax  # a kernel may be of one of these
_LEAST = 64  # rows that are worth a loop
_WIDE = 8  # times its operands, a product has elements that are worth no block
_TRIED = 4  # axes that are tried, those along which most is computed
_KERNELS = 4  # passes over one schedule: each finds the kernels of one axis

# The letters of a value's axes in one step; None where an axis is not a row of the step.
Word = tuple[object, ...]


class Pads(NamedTuple):
    """A sum of results with zeros around them along the rows, ``widths`` before and behind."""

    places: tuple[int, ...]
    widths: tuple[tuple[int, int], ...]


class Kernel(NamedTuple):
    """What a step of kind ``Rows`` computes, by blocks of rows.

    ``body`` goes from the operands of the step to its results, in one block.  ``sliced`` and
    ``joined`` are parallel to these: the axis along which an operand is sliced, None where it is
    whole; and the axis along which blocks of a result are joined, None where they are summed.

    A result of the step may be the sum of several of the body with zeros around each: then ``pads``
    has their places and their widths along the axis; else the place of the one that it is.
    """

    length: Dim
    body: Schedule
    sliced: tuple[int | None, ...]
    joined: tuple[int | None, ...]
    shapes: tuple[Shape, ...]  # of all that goes along the rows, in one block
    pads: tuple[int | Pads, ...]

    @property
    def contracts(self) -> bool:
        """Whether the order in which it adds depends on the blocks."""
        return any(map(_sums, self.body.steps))

    def __str__(self) -> str:
        return f"over {self.length}"


def _sums(step: Step) -> bool:
    op = step.kernel(ops.Contract)
    return op is not None and op.sums


Able: TypeAlias = "Callable[[Step, Sequence[Step]], bool]"
"""Whether a target computes a step in kernels; given the steps of all values, and its words."""


def avoids_blas(step: Step, steps: Sequence[Step]) -> bool:
    """What NumPy says: what BLAS computes is left to it, whole."""
    op = step.kernel(ops.Contract)
    if op is None:
        return True
    shapes = [steps[v].layout(v)[0] for v in step.operands]
    return not any(stage.kind in BLAS for stage in plan(op, shapes).stages)


def form_row_kernels(
    schedule: Schedule,
    numbers: Sequence[bool],
    exact: bool = False,
    able: Able = avoids_blas,
    crossing: float = costs.CROSSING,
    worth: float = 0,
) -> Schedule:
    """The schedule with kernels in the place of the steps that they compute.

    Args:
        schedule: the steps.
        numbers: which values may be Python numbers, which have no rows.
        exact: whether sums over rows stay outside of kernels, since blocks change their order.
        able: which steps may be in kernels.
        crossing: what it costs to pass an element in or out of a kernel, in sums of two numbers.
        worth: how many of these a kernel computes at least for each element that it passes.
    """
    for _ in range(_KERNELS):
        axes = _Axes(schedule, numbers, exact, able)
        tried = [_Parting(schedule, axes, rows, crossing, worth) for rows in axes.heaviest()]
        best = max(tried, key=lambda parting: parting.saved, default=None)
        if best is None or best.saved <= 0:
            break
        schedule = best.parted()
    return _together(schedule)


def _together(schedule: Schedule) -> Schedule:
    """The schedule with sums of padded results of one kernel as results of that kernel."""
    steps = schedule.definitions()
    reads = schedule.reads()
    taken: dict[tuple[int, ...], list[Step]] = {}
    gone: set[int] = set()
    for step in schedule.steps:
        if isinstance(step.kind, kinds.Pads) and all(reads[v] == 1 for v in step.operands):
            kernels = {id(steps[v]): steps[v] for v in step.operands}
            (kernel, *others) = kernels.values()
            if (
                not others
                and isinstance(kernel.kind, kinds.Rows)
                and _along(step, kernel) is not None
            ):
                taken.setdefault(kernel.results, []).append(step)
                gone.update(step.results)
    return schedule._replace(
        steps=tuple(
            [
                _with_pads(step, taken[step.results]) if step.results in taken else step
                for step in schedule.steps
                if step.results[0] not in gone
            ]
        )
    )


def _along(step: Step, kernel: Step) -> int | None:
    """The axis along which a sum has its zeros, if the kernel joins its operands along it."""
    each, joined = step.as_kind(kinds.Pads).widths, kernel.as_kind(kinds.Rows).kernel.joined
    axes = {k for widths in each for k, width in enumerate(widths) if width != (0, 0)}
    (axis, *others) = axes | {joined[kernel.results.index(v)] for v in step.operands}
    return None if others else axis


def _with_pads(kernel: Step, sums: Sequence[Step]) -> Step:
    """The kernel with sums of its results in the place of those."""
    taken = {v for step in sums for v in step.operands}
    kept = [k for k, v in enumerate(kernel.results) if v not in taken]
    pads: list[int | Pads] = list(kept)
    for step in sums:
        axis = _along(step, kernel)
        assert axis is not None
        places = tuple([kernel.results.index(v) for v in step.operands])
        each = [widths[axis] for widths in step.as_kind(kinds.Pads).widths]
        pads.append(Pads(places, tuple(each)))
    return Step(
        kinds.Rows(kernel.as_kind(kinds.Rows).kernel._replace(pads=tuple(pads))),
        kernel.operands,
        (*[kernel.results[k] for k in kept], *[step.results[0] for step in sums]),
        (*[kernel.ops[k] for k in kept], *[step.op for step in sums]),
        (*[kernel.shapes[k] for k in kept], *[step.shapes[0] for step in sums]),
        (*[kernel.dtypes[k] for k in kept], *[step.dtypes[0] for step in sums]),
    )


# Where axes go ------------------------------------------------------------------------------------


def words(step: Step, shapes: Sequence[Shape]) -> tuple[list[Word], list[Word]] | None:
    """The letters of operands of these shapes, and of the results; None where a step has no rows.

    >>> from numeric.lowering.schedule import schedule
    >>> import symdiff as sd
    >>> A, v = sd.symbol("A", ("n", 3)), sd.symbol("v", 3)
    >>> words(schedule([A * v], [A, v]).steps[2], [A.shape, v.shape])
    ([(0, 1), (1,)], [(0, 1)])
    """
    out = step.shapes[0]
    if isinstance(step.kind, kinds.Softmax):
        rows: Word = tuple(range(len(out)))
        return [(*rows, None)], [rows, (*rows, None)]
    if len(step.results) > 1:
        return None
    if step.kind.elementwise:
        return [_aligned(shape, out) for shape in shapes], [tuple(range(len(out)))]
    if isinstance(step.kind, kinds.Pads):  # axes without zeros are rows
        each = enumerate(zip(*step.kind.widths, strict=True))
        word = tuple([None if any(map(any, widths)) else k for k, widths in each])
        return [word] * len(shapes), [word]
    op = step.op
    if not isinstance(step.kind, kinds.ByKernel) or ops.is_spread(op):
        return None
    if isinstance(op, ops.Contract):
        if len(set(op.out)) < len(op.out) or any(len(set(w)) < len(w) for w in op.letters):
            return None
        return list(op.letters), [op.out]
    if isinstance(op, Linear):
        return _of_linear(op, shapes, out)
    if isinstance(op, ops.Opaque) and op.signature is not None:
        cores = [len(op.signature.core(k)) for k in range(len(shapes))]
        batch = tuple(range(len(out) - len(op.signature.value)))
        found: list[Word] = []
        for shape, core in zip(shapes, cores, strict=True):
            lead = len(shape) - core  # those of a shared operand are the last ones of the others
            found.append((*batch[len(batch) - lead :], *[None] * core))
        return found, [(*batch, *[None] * len(op.signature.value))]
    return None


def _aligned(shape: Shape, out: Shape) -> Word:
    """Letters of an operand that NumPy broadcasts: axes that are stretched have none."""
    lead = len(out) - len(shape)
    return tuple([lead + k if dim == out[lead + k] else None for k, dim in enumerate(shape)])


def _of_linear(
    op: Linear, shapes: Sequence[Shape], out: Shape
) -> tuple[list[Word], list[Word]] | None:
    lead = len(shapes[0]) - op.core
    batch = tuple(range(lead))
    word: Word = batch + (None,) * op.core
    if isinstance(op, ops.Slice | ops.Unslice):  # whole axes of a slice are rows, too
        whole = [lead + k if step == WHOLE else None for k, step in enumerate(op.steps)]
        word = batch + tuple(whole)
        return [word], [word]
    return [word for _ in shapes], [batch + (None,) * (len(out) - lead)]


class _Axes:
    """The axes of the values that steps compute, in classes: axes along which the same rows go."""

    def __init__(
        self, schedule: Schedule, numbers: Sequence[bool], exact: bool, able: Able
    ) -> None:
        self.steps = schedule.definitions()
        self._exact = exact
        self._class: dict[tuple[int, int], int] = {}
        self._members: dict[int, dict[int, int]] = {}  # the axis of each value of a class
        self._words: dict[int, tuple[list[Word], Word]] = {}
        for step in schedule.steps:
            if step.leaf or step.weak or isinstance(step.kind, kinds.Rows):
                continue
            # Numbers have no rows; what is not arithmetic takes them as arrays, of whole axes.
            weak = [self.steps[v].weak for v in step.operands]
            strong = [v for v, number in zip(step.operands, weak, strict=True) if not number]
            if any(numbers[v] for v in (*strong, *step.results)):
                continue
            if any(weak) and not step.kind.elementwise:
                continue
            found = words(step, [self.shape(v) for v in step.operands])
            if found is not None and able(step, self.steps):
                operands, results = found
                for v, own in zip(step.results, results, strict=True):
                    self._words[v] = operands, own
                self._join(step, operands, results)

    def shape(self, v: int) -> Shape:
        """The shape of a value."""
        return self.steps[v].layout(v)[0]

    def _join(self, step: Step, operands: list[Word], results: list[Word]) -> None:
        """Axes of one letter are axes of one class."""
        met: dict[object, tuple[int, int]] = {}
        for v, out in zip(step.results, results, strict=True):
            for k, letter in enumerate(out):
                self._class[v, k] = len(self._class)
                self._members[self._class[v, k]] = {v: k}
                if letter is not None:
                    self._merge(met.setdefault(letter, (v, k)), (v, k))
        for x, word in zip(step.operands, operands, strict=True):
            for k, letter in enumerate(word):
                if letter is not None and (x, k) in self._class:
                    self._merge(met.setdefault(letter, (x, k)), (x, k))

    def _merge(self, a: tuple[int, int], b: tuple[int, int]) -> None:
        """Make one class of those of two axes, unless a value would have two axes in it."""
        first, second = self._class[a], self._class[b]
        if first == second:
            return
        if len(self._members[first]) < len(self._members[second]):
            first, second = second, first
        large, small = self._members[first], self._members[second]
        if any(v in large for v in small):
            return
        for axis in small.items():
            self._class[axis] = first
        large.update(self._members.pop(second))

    def letter(self, v: int, rows: int) -> object:
        """The letter that the step of a value goes along, None for none or two."""
        found = self._words.get(v)
        if found is None:
            return None
        operands, out = found
        letters = {letter for k, letter in enumerate(out) if self._class[v, k] == rows}
        if not letters and (self._exact or not _sums(self.steps[v])):
            return None
        letters |= {
            letter
            for x, word in zip(self.steps[v].operands, operands, strict=True)
            for k, letter in enumerate(word)
            if self._class.get((x, k)) == rows and letter not in out
        }
        letters.discard(None)
        if len(letters) != 1:
            return None
        (one,) = letters
        # What an op stretches along the rows has them from nowhere.
        return one if any(one in word for word in operands) else None

    def place(self, v: int, k: int, letter: object) -> int | None:
        """The axis of operand k of the step of v that is the letter; None if it has none."""
        word = self._words[v][0][k]
        return word.index(letter) if letter in word else None

    def own(self, v: int, letter: object) -> int | None:
        """The axis of the value that is the letter; None for a sum over it."""
        word = self._words[v][1]
        return word.index(letter) if letter in word else None

    def of(self, v: int, k: int) -> int | None:
        """The class of an axis of a computed value."""
        return self._class.get((v, k))

    def heaviest(self) -> list[int]:
        """The few classes along which most is computed, of like ones the longest first."""
        work: dict[int, float] = {}
        length: dict[int, int] = {}
        for v in self._words:
            kind = self.steps[v].kind
            weight = self.work(v) * (kind.elementwise or kind.heavy)
            for k, dim in enumerate(self.shape(v)):
                if weight and (not isinstance(dim, int) or dim >= _LEAST):
                    rows = self._class[v, k]
                    work[rows] = work.get(rows, 0) + weight
                    length[rows] = costs.length(dim)
        return sorted(work, key=lambda c: (-work[c], -length[c], c))[:_TRIED]

    def size(self, v: int) -> int:
        """How many elements a value has, more or less."""
        return costs.elements(self.shape(v))

    def work(self, v: int) -> int:
        """What it takes to compute a value, in sums of two numbers."""
        return self.size(v) * (costs.FUNCTION if self.steps[v].kind.heavy else 1)


# Kernels ------------------------------------------------------------------------------------------


class _Parting:
    """A schedule parted into kernels over one class of axes, and the steps between them.

    A value is *available* behind so many kernels.  What goes along the rows is in the kernel behind
    which all that it reads from outside is available, and so is what sums over them.
    """

    def __init__(
        self, schedule: Schedule, axes: _Axes, rows: int, crossing: float, worth: float
    ) -> None:
        self.schedule, self.axes, self.rows, self.crossing = schedule, axes, rows, crossing
        self.count = schedule.length
        self.letters: dict[int, object] = {}
        self.stage: dict[int, int] = {}  # of the steps in kernels
        self.behind: dict[int, int] = {}  # the kernels behind which a value is available
        for step in schedule.steps:
            self._place(step)
        self.kernels: dict[int, list[Step]] = {}
        for step in schedule.steps:
            if (v := step.results[0]) in self.stage:
                self.kernels.setdefault(self.stage[v], []).append(step)
        for at, steps in list(self.kernels.items()):
            kept = self._worth(steps)
            if worth and self._work(kept) < worth * self._passed(kept, True):
                kept = []
            for v in _results(steps).difference(_results(kept)):
                del self.stage[v], self.letters[v]
            self.kernels[at] = kept
            if not kept:
                del self.kernels[at]

    def _place(self, step: Step) -> None:
        v, at = step.results[0], 0
        letter = self.axes.letter(v, self.rows)
        for k, x in enumerate(step.operands):
            if letter is None:
                at = max(at, self.behind[x])
            elif self._within(v, k, letter):
                at = max(at, self.stage[x])
            else:
                at = max(at, self.behind[x] + 1)
        for x in step.results:
            if letter is not None:
                self.letters[x], self.stage[x] = letter, at
            self.behind[x] = at

    def _within(self, v: int, k: int, letter: object) -> bool:
        """Whether operand k of the step of v is read block by block, from the same kernel."""
        x = self.axes.steps[v].operands[k]
        axis = self.axes.place(v, k, letter)
        return (
            axis is not None
            and x in self.letters
            and self.axes.of(x, axis) == self.rows
            and self.axes.own(x, self.letters[x]) == axis
            and self.stage[x] == self.stage.get(v, self.stage[x])
        )

    def parted(self) -> Schedule:
        """The schedule with kernels."""
        steps: list[Step] = []
        outside: dict[int, list[Step]] = {}
        for step in self.schedule.steps:
            if (v := step.results[0]) not in self.stage:
                outside.setdefault(self.behind[v], []).append(step)
        for at in range(max([*self.kernels, *outside]) + 1):
            if at in self.kernels:
                steps.append(self._kernel(self.kernels[at]))
            steps += outside.get(at, [])
        return self.schedule._replace(steps=tuple(steps), length=self.count)

    def _worth(self, steps: list[Step]) -> list[Step]:
        """The steps that gain by being in a kernel.

        Not so views and products of small arrays, such as ``x[:, None] * y``, that are read outside
        alone: no block saves their memory.  No step where there is nothing but views, or a single
        sum or product.
        """
        while True:
            read = self._readers(steps)
            kept = [x for x in steps if read[x.results[0]] or not (_is_view(x) or self._is_wide(x))]
            if len(kept) == len(steps):
                break
            steps = kept
        found = [x.kind for x in steps if not _is_view(x)]
        alone = len(found) == 1 and isinstance(found[0], _ALONE)
        return steps if len(found) > 1 or alone else []

    def _is_wide(self, step: Step) -> bool:
        """Whether a step only writes, products of arrays that are all much smaller."""
        size = self.axes.size(step.results[0])
        return isinstance(step.kind, kinds.Sum | kinds.Product) and all(
            _WIDE * self.axes.size(v) <= size for v in step.operands
        )

    def _readers(self, steps: Sequence[Step]) -> dict[int, int]:
        """How many of the steps read each of their values, block by block."""
        found = dict.fromkeys(_results(steps), 0)
        for step in steps:
            v = step.results[0]
            for k, x in enumerate(step.operands):
                if x in found and self._within(v, k, self.letters[v]):
                    found[x] += 1
        return found

    @cached_property
    def saved(self) -> float:
        """The work in kernels, without what passing values in and out of them costs."""
        return sum(
            self._work(steps) - self.crossing * self._passed(steps)
            for steps in self.kernels.values()
        )

    def _work(self, steps: Sequence[Step]) -> int:
        """What it takes to compute a kernel."""
        return sum(self.axes.work(v) for v in _results(steps))

    def _passed(self, steps: Sequence[Step], every: bool = False) -> int:
        """How many elements pass into a kernel and out of it, from and to others than a caller.

        ``every``: all of them.
        """
        own = _results(steps)
        crossing = self._read_outside(steps)
        if not every:
            crossing = crossing.difference(self.schedule.results)
        for step in steps:
            v = step.results[0]
            for k, x in enumerate(step.operands):
                if x in own or (self.axes.steps[x].leaf and not every):
                    continue
                if not self._within(v, k, self.letters[v]):
                    crossing.add(x)
        return sum(self.axes.size(v) for v in crossing)

    def _read_outside(self, steps: Sequence[Step]) -> set[int]:
        """The values of a kernel that others read, or the program returns."""
        own = _results(steps)
        found = {v for v in self.schedule.results if v in own}
        for step in self.schedule.steps:
            v = step.results[0]
            for k, x in enumerate(step.operands):
                if x in own and not (v in own and self._within(v, k, self.letters[v])):
                    found.add(x)
        return found

    def _kernel(self, steps: Sequence[Step]) -> Step:
        """The steps as one.  What is read sliced has another number in the kernel than outside."""
        axes = self.axes
        params: dict[tuple[int, int | None], int] = {}
        body: list[Step] = []
        copied: set[int] = set()
        length: Dim = 0
        for step in steps:
            v = step.results[0]
            letter = self.letters[v]
            operands = []
            for k, x in enumerate(step.operands):
                axis = axes.place(v, k, letter)
                if axis is not None:
                    length = axes.shape(x)[axis]
                if not self._within(v, k, letter):
                    if axes.steps[x].weak or (axis is None and axes.steps[x].free):
                        self._copy(x, copied, body)
                    elif axis is None:
                        params[x, axis] = x
                    else:
                        self.count += (x, axis) not in params
                        x = params.setdefault((x, axis), self.count - 1)
                operands.append(x)
            shapes = [
                _with_rows(shape, axes.own(y, letter))
                for y, shape in zip(step.results, step.shapes, strict=True)
            ]
            body.append(step._replace(operands=tuple(operands), shapes=tuple(shapes)))
        inputs = [
            self._input(number, axes.steps[x], x, axis) for (x, axis), number in params.items()
        ]
        read = self._read_outside(steps)
        names = tuple([v for step in steps for v in step.results if v in read])
        places = [(axes.steps[v], axes.steps[v].results.index(v)) for v in names]
        schedule = Schedule(tuple(params.values()), (*inputs, *body), names, (), self.count)
        kernel = Kernel(
            length,
            schedule,
            tuple([axis for _, axis in params]),
            tuple([axes.own(v, self.letters[v]) for v in names]),
            tuple([shape for x in schedule.steps for shape in x.shapes if ROWS in shape]),
            tuple(range(len(names))),
        )
        return Step(
            kinds.Rows(kernel),
            tuple([x for x, _ in params]),
            names,
            tuple([step.ops[k] for step, k in places]),
            tuple([step.shapes[k] for step, k in places]),
            tuple([step.dtypes[k] for step, k in places]),
        )

    def _input(self, number: int, step: Step, v: int, axis: int | None) -> Step:
        """The parameter of a kernel for one result of a step."""
        shape, dtype = step.layout(v)
        op = step.ops[step.results.index(v)]
        return Step(kinds.Input(), (), (number,), (op,), (_with_rows(shape, axis),), (dtype,))

    def _copy(self, v: int, copied: set[int], body: list[Step]) -> None:
        """Numbers, and what is computed of them alone, are computed where they are read."""
        stack = [(v, False)]
        while stack:
            x, ready = stack.pop()
            step = self.axes.steps[x]
            if ready:
                body.append(step)
            elif x not in copied:
                copied.add(x)
                stack.append((x, True))
                stack += [(y, False) for y in step.operands]


def _results(steps: Iterable[Step]) -> set[int]:
    """The values that steps compute."""
    return {v for step in steps for v in step.results}


def _is_view(step: Step) -> bool:
    """Whether a step only looks at its operand in another way."""
    op = step.kernel(ops.Contract)
    if op is not None:
        return len(op.letters) == 1 and not op.sums
    return step.kernel(ops.Slice, ops.Reshape, ops.Flip) is not None


def _with_rows(shape: Shape, axis: int | None) -> Any:
    return shape if axis is None else (*shape[:axis], ROWS, *shape[axis + 1 :])
