"""Unrolling: steps over tiny arrays as scalar steps, which Python floats compute in less time.

A call of NumPy costs as much as twenty lines of floats.  Each element of an array is a scalar of
its own here: arithmetic is done element by element, what moves elements moves their names, and
contractions are sums of products, in the order of their places.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.lowering import costs, kinds
from numeric.lowering.steps import Schedule, Step, Writing
from symdiff.graph import ops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from symdiff.graph.node import Dtype, Op, Shape

# Elements of all arguments, of any value, and microseconds that are worth the look.
ELEMENTS = 64
WORTH = 15.0
_GAIN = 0.5
_MOVES = (
    *(ops.Slice, ops.Unslice, ops.Reshape, ops.Gather, ops.Scatter),
    *(ops.Concat, ops.Flip, ops.Shift),
)
_REAL = (float, bool)


def unroll_arrays(schedule: Schedule, instead: Schedule) -> Schedule | None:
    """A schedule of arrays as one of Python floats, where that is faster than ``instead``.

    Its parameters are arrays of doubles all the same, and its results arrays or NumPy's scalars.
    None for arrays that are not tiny, and for steps that are neither arithmetic, moves nor sums of
    products.
    """
    known = schedule.definitions()
    shapes = [known[v].shapes[0] for v in schedule.params]
    if not all(map(_is_tiny, shapes)) or sum(map(costs.elements, shapes)) > ELEMENTS:
        return None
    price = costs.ARRAYS.of_program(instead)
    if price < WORTH:
        return None
    writer = _Writer(schedule)
    for step in schedule.steps:
        if not writer.write(step) or len(writer.steps) > price / costs.FLOATS.scalar:
            return None
    found = writer.written()
    return found if costs.FLOATS.of_program(found) < _GAIN * price else None


def unroll_into_scalars(schedule: Schedule, most: int = ELEMENTS) -> Schedule | None:
    """A schedule of arrays as one of Python floats, where that is faster; else None.

    Its parameters and its results are the elements, in C order, of those of the other one;
    integers may be parameters, too.  Parameters together, and each value, have at most so many.
    """
    known = schedule.definitions()
    shapes = [known[v].shapes[0] for v in schedule.params]
    if not all(_is_tiny(x, most) for x in shapes) or sum(map(costs.elements, shapes)) > most:
        return None
    price = costs.ARRAYS.of_program(schedule)
    writer = _Writer(schedule, whole=True, most=most)
    for step in schedule.steps:
        if not writer.write(step) or len(writer.steps) > price / costs.FLOATS.scalar:
            return None
    return writer.of_elements()


def _is_tiny(shape: Shape, most: int = ELEMENTS) -> bool:
    return all(isinstance(dim, int) for dim in shape) and 0 < costs.elements(shape) <= most


class _Writer(Writing):
    """Writes steps over arrays as scalar ones; ``names`` are arrays of the values of elements.

    ``whole``: whether parameters may be integers; ``most``: of how many elements values may be.
    """

    def __init__(self, schedule: Schedule, whole: bool = False, most: int = ELEMENTS) -> None:
        super().__init__(schedule)
        self.whole, self.most = whole, most
        self.names: dict[int, NDArray[Any]] = {}
        self.weak: set[int] = set()
        self._known: dict[tuple[object, ...], int] = {}

    def write(self, step: Step) -> bool:
        """Whether there are scalar steps for a step; then these are written."""
        (v, *others), shape, dtype = step.results, step.shapes[0], step.dtypes[0]
        if others or not _is_tiny(shape, self.most):
            return False
        lengths = [dim for dim in shape if isinstance(dim, int)]
        if step.weak:
            self.steps.append(step)
            self.weak.add(v)
            self.names[v] = np.full(lengths, v, object)
            return isinstance(step.kind, kinds.Number)
        given = self.whole and isinstance(step.kind, kinds.Input)
        if dtype not in _REAL and not given and not self._is_unit(step):
            return False
        if isinstance(step.kind, kinds.Input):
            found: Any = self._elements(v, shape, dtype)
        elif isinstance(step.kind, kinds.Array):
            values = step.as_op(ops.Constant).value.ravel().tolist()
            numbers = [self._number(value) for value in values]
            found = _named(numbers, shape)
        elif step.kind.elementwise:
            columns = [np.broadcast_to(self.names[x], lengths).ravel() for x in step.operands]
            found = _named(
                [self._again(step, operands) for operands in zip(*columns, strict=True)], shape
            )
        elif isinstance(step.kind, kinds.PartOfSlice):
            sliced, line = step.kind.sliced, step.kind.shape
            inner = sliced.components(self, line, self.names[step.operands[0]])  # type: ignore[arg-type]
            found = self._contracted(step.op, [inner], shape)
        elif isinstance(step.op, ops.Contract):
            found = self._contracted(step.op, [self.names[x] for x in step.operands], shape)
        elif isinstance(step.op, _MOVES):
            found = step.op.components(self, shape, *[self.names[x] for x in step.operands])  # type: ignore[arg-type]
        else:
            return False
        if found is None:
            return False
        self.names[v] = found
        return True

    def _is_unit(self, step: Step) -> bool:
        """Whether a step makes an array of integers of numbers, as a unit matrix, for others."""
        numbers = self.weak.issuperset(step.operands)
        needed = self.schedule.results.count(step.results[0])
        return numbers and not needed and isinstance(step.op, ops.Contract)

    def written(self) -> Schedule:
        """The schedule, with results as they were and without what nobody needs."""
        results = []
        for v in self.schedule.results:
            if v in self.weak:
                results.append(v)
                continue
            shape, dtype = self.names[v].shape, self._dtypes[v]
            results.append(self.new(kinds.Stack(), None, list(self.names[v].flat), shape, dtype))
        inputs = [step for step in self.schedule.steps if isinstance(step.kind, kinds.Input)]
        steps = [*inputs, *[step for step in self.steps if not isinstance(step.kind, kinds.Input)]]
        given = self.schedule._replace(results=tuple(results))
        return given.having(steps, self.length - given.length)

    def of_elements(self) -> Schedule:
        """The schedule of which the elements are parameters and results."""
        steps = []
        for step in self.steps:
            if isinstance(step.kind, kinds.Element | kinds.Elements):
                for v, dtype in zip(step.results, step.dtypes, strict=True):
                    steps.append(Step(kinds.Input(), (), (v,), (step.ops[0],), ((),), (dtype,)))
            elif not isinstance(step.kind, kinds.Input):
                steps.append(step)
        given, found = (
            tuple([v for x in values for v in self.names[x].ravel().tolist()])
            for values in (self.schedule.params, self.schedule.results)
        )
        made = self.schedule._replace(params=given, results=found)
        return made.having(steps, self.length - made.length)

    @property
    def _dtypes(self) -> dict[int, Dtype]:
        return {v: d for x in self.schedule.steps for v, d in zip(x.results, x.dtypes, strict=True)}

    # Scalars --------------------------------------------------------------------------------------

    def _again(self, step: Step, operands: Sequence[int]) -> int:
        """The scalar that a step makes of some operands."""
        key = (step.kind, step.ops, *operands)
        found = self._known.get(key)
        if found is None:
            (op,), (dtype,) = step.ops, step.dtypes
            found = self.new(step.kind, op, operands, (), dtype)
            self._known[key] = found
        return found

    def _number(self, value: float) -> int:
        key = ("number", value.__class__, repr(value))
        found = self._known.get(key)
        if found is None:
            dtype = bool if isinstance(value, bool) else float
            found = self._known[key] = self.new(kinds.Number(value), None, (), (), dtype, True)
        return found

    def number(self, value: float) -> int:
        """The name of a number, which moves put beside elements."""
        return self._number(float(value))

    def sum(self, terms: Sequence[int]) -> int:
        """The name of a sum, which moves put where elements meet."""
        return self._summed(terms) if terms else self.number(0)

    def _elements(self, v: int, shape: Shape, dtype: Dtype) -> NDArray[Any]:
        first, count = self.length, costs.elements(shape)
        if count == 1:
            return _named([self.new(kinds.Element(0), None, (v,), (), dtype)], shape)
        self.length += count
        names: Any = tuple(range(first, first + count))
        none: Any = (None,) * count
        self.place(Step(kinds.Elements(), (v,), names, none, ((),) * count, (dtype,) * count))
        return _named(names, shape)

    # Contractions ---------------------------------------------------------------------------------

    def _contracted(self, op: Op, operands: Sequence[NDArray[Any]], shape: Shape) -> Any:
        """The names of sums of products; off diagonals they are that of 0."""
        assert isinstance(op, ops.Contract)
        kills = op.kills if any(op.kills) else None
        if kills and len(kills) > 2:
            return None
        lengths: dict[int, int] = {}
        for word, names in zip(op.letters, operands, strict=True):
            lengths.update(zip(word, names.shape, strict=True))
        for k, dim in zip(op.out, shape, strict=True):
            assert isinstance(dim, int)
            lengths[k] = dim
        summed = [k for k in lengths if k not in op.out]
        if math.prod(lengths.values()) > ELEMENTS * ELEMENTS:
            return None
        out = [*dict.fromkeys(op.out)]
        letters = [*out, *summed]
        rows = []
        for place in itertools.product(*[range(lengths[k]) for k in letters]):
            at = dict(zip(letters, place, strict=True))
            factors = [
                names[tuple([at[k] for k in word])]
                for word, names in zip(op.letters, operands, strict=True)
            ]
            rows.append(self._multiplied(factors, kills))
        inner = math.prod([lengths[k] for k in summed])
        if not inner:
            return None
        terms = [rows[k : k + inner] for k in range(0, len(rows), inner)]
        sums = [self._summed(row) for row in terms]
        if len(out) == len(op.out):
            return _named(sums, shape)
        found = _named([self.number(0)] * costs.elements(shape), shape)
        places = itertools.product(*[range(lengths[k]) for k in out])
        for place, v in zip(places, sums, strict=True):
            at = dict(zip(out, place, strict=True))
            found[tuple([at[k] for k in op.out])] = v
        return found

    def _multiplied(self, factors: Sequence[int], kills: tuple[bool, ...] | None) -> int:
        found = factors[0] if factors else self.number(1)
        if kills and len(kills) == 2:
            key: tuple[object, ...] = ("strong", kills, *factors)
            if key not in self._known:
                strong = ops.strong_op((kills[0], kills[1]))
                self._known[key] = self.new(kinds.Strong(), strong, factors)
            return self._known[key]
        for x in factors[1:]:
            key = ("product", found, x)
            if key not in self._known:
                op = ops.product_op((1, 1))
                self._known[key] = self.new(kinds.Product((1, 1)), op, (found, x))
            found = self._known[key]
        return found

    def _summed(self, terms: Sequence[int]) -> int:
        if len(terms) == 1:
            return terms[0]
        return self.new(kinds.Sum(), ops.sum_op(0, (1,) * len(terms)), terms)


def _named(values: Sequence[int], shape: Shape) -> NDArray[Any]:
    found = np.empty(len(values), object)
    found[:] = values
    return found.reshape([dim for dim in shape if isinstance(dim, int)])
