"""Lanes: groups of scalar steps written as steps over arrays.

Each scalar of a group is an element of the group's array, so it has an *address*: the arrays that
have been met stand one behind the other in one row of places.  The operands of a group are a column
of addresses, which is gathered as cheaply as it can be: a slice of one array, a few slices joined,
or elements taken one by one.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.lowering import costs, kinds
from numeric.lowering.arithmetic import divisor, weak
from numeric.lowering.steps import Schedule, Step, Writing
from symdiff.graph import ops
from symdiff.graph.number import is_normal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from numeric.lowering.passes.rolling import Assembly, Group, _Reading
    from symdiff.graph.node import Dtype, Op, Shape
    from symdiff.graph.number import Number

# Sums of so many terms are sums of the rows of a matrix.
ROWS = 5
# A column of so many slices is joined; one of more is taken element by element.
_SLICES = 4
_SUM = ops.contract_op(((0,),), (), (), (False,))
_SUM_ROWS = ops.contract_op(((0, 1),), (1,), (), (False,))
_DOT = ops.contract_op(((0,), (0,)), (), (), (False, False))
# As many scalar parameters as this are one array of their own.
PACKED = 17


def is_free(c: Number) -> bool:
    """Whether a number may be an element of an array: it is written as one factor."""
    return divisor(-c if c < 0 else c) is None and (isinstance(c, float) or is_normal(c))


def _has_rows(step: Step) -> bool:
    """Whether sums like this one are sums of rows: of reals, times numbers that are one factor."""
    op = step.sum
    if op is None or step.dtypes[0] is not float:
        return False
    numbers = (*op.coefs, op.const) if op.const else op.coefs
    return len(op.coefs) >= ROWS and all(map(is_free, numbers))


class Writer(Writing):
    """Writes a plan as a schedule.  Of values that were elements or units, the scalar is known."""

    def __init__(self, schedule: Schedule, read: _Reading, floats: bool) -> None:
        super().__init__(schedule)
        self.read = read
        self.layouts: dict[int, tuple[Shape, Dtype]] = {}
        self.addresses: dict[int, int] = {}
        self.starts: list[int] = []  # where each array begins, and
        self.arrays: list[int | None] = []  # its value, None for one that nobody has asked for
        self.lengths: list[int] = []
        self.owners: dict[int, int] = {}  # the place of an array among ``arrays``
        self._flat: dict[int, int] = {}
        self._units: dict[tuple[int, Shape], int] = {}
        self._gathered: dict[tuple[object, ...], int] = {}
        self._packed = -1
        params = schedule.params
        if floats and len(params) >= PACKED:
            self._packed = self._owned(None, len(params))
            for k, v in enumerate(params):
                self.addresses[v] = k
        for v, (array, place) in read.elements.items():
            if array not in self.owners:
                shape, _ = read.definitions[array].layout(array)
                self.owners[array] = self._owned(None, costs.elements(shape))
                self._flat[self.owners[array]] = array
            self.addresses[v] = self.starts[self.owners[array]] + place

    def written(self, plan: Sequence[Group]) -> Schedule:
        """The schedule of a plan."""
        read = self.read
        for step in read.schedule.steps:
            if step.leaf and isinstance(step.kind, kinds.Input | kinds.Number):
                self.place(step)
        for group in plan:
            if group.together:
                self._together(group.values)
                continue
            for v in group.values:
                if v in read.scalars:
                    step = read.scalars[v]
                    self.place(step._replace(operands=tuple(map(self._scalar, step.operands))))
                elif v in read.totals:
                    self._total(read.totals[v])
                elif v in read.assemblies:
                    self._assembled(v, read.assemblies[v])
                elif not isinstance(read.fixed[v].kind, kinds.Input):
                    step = read.fixed[v]
                    self.place(step._replace(operands=tuple(map(self._shaped, step.operands))))
        results = tuple([self._shaped(v) for v in self.schedule.results])
        return self.schedule._replace(steps=tuple(self.steps), results=results, length=self.length)

    # Steps ----------------------------------------------------------------------------------------

    def place(self, step: Step) -> None:
        """Write a step, and note the layouts of its results."""
        for k, v in enumerate(step.results):
            self.layouts[v] = step.shapes[k], step.dtypes[k]
        super().place(step)

    def _number(self, value: float) -> int:
        return self.new(kinds.Number(value), None, (), (), float, True)

    def _constant(self, value: NDArray[Any]) -> int:
        value.setflags(write=False)
        dtype = bool if value.dtype.kind == "b" else float
        return self.new(kinds.Array(), ops.Constant(value), (), value.shape, dtype)

    # Scalars --------------------------------------------------------------------------------------

    def _scalar(self, v: int) -> int:
        """A value as a scalar: itself, or an element of the array that it is in."""
        return self._shaped(v, ()) if v in self.addresses else v

    def _shaped(self, v: int, shape: Shape | None = None) -> int:
        """A value in the shape that it had; units are scalars, or elements of arrays, by now."""
        if shape is None:
            shape, _ = self.read.definitions[v].layout(v)
            v = self.read.same[v]
        if v in self.layouts and (self.layouts[v][0] == shape or v in self.read.numbers):
            return v
        if v not in self.addresses and self.read.definitions[v].weak:
            return v
        found = self._units.get((v, shape))
        if found is not None:
            return found
        if shape:
            inner = self._shaped(v, ())
            axes = tuple(range(len(shape)))
            op = ops.contract_op(((),), axes, shape, (False,))
            found = self.new(kinds.ByKernel(), op, (inner,), shape, self.layouts[inner][1])
        else:
            k = bisect_right(self.starts, self.addresses[v]) - 1
            array, place = self._array(k), self.addresses[v] - self.starts[k]
            found = self.new(kinds.Element(place), None, (array,), (), self.layouts[array][1])
        self._units[v, shape] = found
        return found

    # Arrays ---------------------------------------------------------------------------------------

    def _owned(self, array: int | None, length: int) -> int:
        self.starts.append(self.starts[-1] + self.lengths[-1] if self.starts else 0)
        self.lengths.append(length)
        self.arrays.append(array)
        return len(self.arrays) - 1

    def _array(self, k: int) -> int:
        """The value of an array of places, flat."""
        found = self.arrays[k]
        if found is None:
            if k == self._packed:
                params = self.schedule.params
                found = self.new(kinds.Stack(), None, params, (len(params),))
            else:
                found = self._flat[k]
                shape, dtype = self.layouts[found]
                if len(shape) != 1:
                    flat = (self.lengths[k],)
                    op = ops.reshape_op(shape, flat)
                    found = self.new(kinds.ByKernel(), op, (found,), flat, dtype)
            self.arrays[k] = found
        return found

    def _located(self, values: Sequence[int]) -> NDArray[np.intp]:
        """The addresses of values; those that have none yet are put into an array of their own."""
        loose = [v for v in dict.fromkeys(values) if v not in self.addresses]
        numbers = [v for v in loose if v in self.read.numbers]
        others = [v for v in loose if v not in self.read.numbers]
        local = self.addresses
        if numbers:
            kept = [self.read.numbers[v] for v in numbers]
            kind = bool if kept[0].dtypes[0] is bool else float
            found = np.array([step.as_kind(kinds.Number).value for step in kept], kind)
            k = self._owned(self._constant(found), len(numbers))
            # Numbers stay numbers where they are read one by one.
            local = {**{v: self.addresses[v] for v in values if v in self.addresses}}
            local.update({v: self.starts[k] + i for i, v in enumerate(numbers)})
        if others:
            dtype = self.layouts[others[0]][1]
            units = [self._shaped(v, ()) for v in others]
            array = self.new(kinds.Stack(), None, units, (len(others),), dtype)
            k = self._owned(array, len(others))
            for i, v in enumerate(others):
                local[v] = self.addresses[v] = self.starts[k] + i
                self._units[v, ()] = units[i]
        return np.array([local[v] for v in values], np.intp)

    def _gather(self, at: NDArray[np.intp]) -> int:
        """The elements at these addresses as an array."""
        key = ("gather", at.tobytes())
        found = self._gathered.get(key)
        if found is None:
            found = self._gathered[key] = self._found(at)
        return found

    def _found(self, at: NDArray[np.intp]) -> int:
        owners = np.searchsorted(self.starts, at, side="right") - 1
        breaks = np.flatnonzero((np.diff(at) != 1) | (np.diff(owners) != 0)) + 1
        if len(breaks) < _SLICES:
            firsts = [0, *breaks.tolist(), len(at)]
            parts = [self._slice(int(owners[i]), int(at[i]), j - i) for i, j in pairwise(firsts)]
            return self._concatenated(parts)
        row, places = self._row(at)
        (length,), dtype = self.layouts[row]
        assert isinstance(length, int)
        return self.new(
            kinds.ByKernel(), ops.gather_op((length,), places), (row,), (len(at),), dtype
        )

    def _row(self, at: NDArray[np.intp]) -> tuple[int, NDArray[np.intp]]:
        """One array that has the elements at these addresses, and their places in it."""
        owners = np.searchsorted(self.starts, at, side="right") - 1
        arrays = np.unique(owners)
        row = self._concatenated([self._array(int(k)) for k in arrays])
        ends = np.cumsum([0, *[self.lengths[k] for k in arrays]])
        shift = np.array([self.starts[k] for k in arrays]) - ends[:-1]
        return row, at - shift[np.searchsorted(arrays, owners)]

    def _slice(self, k: int, at: int, length: int) -> int:
        array, start = self._array(k), at - self.starts[k]
        whole = self.lengths[k]
        if length == whole:
            return array
        key = ("slice", array, start, length)
        found = self._gathered.get(key)
        if found is None:
            op = ops.slice_op((whole,), ((start, start + length, 1),), (length,))
            dtype = self.layouts[array][1]
            found = self._gathered[key] = self.new(kinds.ByKernel(), op, (array,), (length,), dtype)
        return found

    def _concatenated(self, arrays: Sequence[int]) -> int:
        if len(arrays) == 1:
            return arrays[0]
        key = ("concat", *arrays)
        found = self._gathered.get(key)
        if found is None:
            lengths = tuple([self.layouts[v][0][0] for v in arrays])
            total, dtype = sum(map(int, lengths)), self.layouts[arrays[0]][1]
            op = ops.concat_op(-1, lengths)
            found = self._gathered[key] = self.new(kinds.ByKernel(), op, arrays, (total,), dtype)
        return found

    # Groups ---------------------------------------------------------------------------------------

    def _together(self, values: list[int]) -> None:
        """Scalars of one kind as one array, in the order of what they are computed of."""
        scalars, addresses = self.read.scalars, self.addresses
        order = {v: [addresses.get(x, -1) for x in scalars[v].operands] for v in values}
        values = sorted(values, key=order.__getitem__)
        steps = [scalars[v] for v in values]
        first, length = steps[0], len(steps)
        if _has_rows(first):
            self._kept(values, self._rows(steps))
            return
        columns = [
            self._column(column) for column in zip(*[x.operands for x in steps], strict=True)
        ]
        op = first.op
        if first.sum is not None and any(x.ops != first.ops for x in steps):
            op, columns = self._sum(steps, columns)
        if all(not self.layouts[v][0] for v in columns):  # one value, so many times
            columns[0] = self._gather(self._located([first.operands[0]] * length))
        array = self.new(first.kind, op, columns, (length,), first.dtypes[0])
        self._kept(values, array)

    def _kept(self, values: Sequence[int], array: int) -> None:
        """The values are the elements of an array from now on."""
        k = self._owned(array, len(values))
        for i, v in enumerate(values):
            self.addresses[v] = self.starts[k] + i

    def _rows(self, steps: Sequence[Step]) -> int:
        """Sums of several terms as the sum of the rows of a matrix, which has a term in each.

        NumPy adds up rows one after the other, as the sums do.
        """
        made: list[ops.Sum] = [x.op for x in steps if isinstance(x.op, ops.Sum)]
        count, length = len(steps[0].operands), len(steps)
        at = self._located(
            [v for column in zip(*[x.operands for x in steps], strict=True) for v in column]
        )
        shape = (count, length)
        key = ("rows", at.tobytes())
        matrix = self._gathered.get(key)
        if matrix is None:
            row, at = self._row(at)
            (total,) = self.layouts[row][0]
            assert isinstance(total, int)
            op = ops.gather_op((total,), at.reshape(shape))
            matrix = self._gathered[key] = self.new(kinds.ByKernel(), op, (row,), shape)
        coefs = np.array([[weak(c) for c in op.coefs] for op in made], float).T
        if (coefs != 1).any():
            factors = coefs if (coefs != coefs[:, :1]).any() else coefs[:, :1]
            many = self._constant(np.ascontiguousarray(factors))
            product = ops.product_op((1, 1))
            matrix = self.new(kinds.Product((1, 1)), product, (many, matrix), shape)
        found = self.new(kinds.ByKernel(), _SUM_ROWS, (matrix,), (length,))
        constants = [weak(op.const) for op in made]
        if not any(constants):
            return found
        if len(set(constants)) == 1:
            return self.new(kinds.Sum(), ops.sum_op(made[0].const, (1,)), (found,), (length,))
        others = self._constant(np.array(constants, float))
        return self.new(kinds.Sum(), ops.sum_op(0, (1, 1)), (found, others), (length,))

    def _column(self, values: Sequence[int]) -> int:
        if len(set(values)) == 1:
            return self._scalar(values[0])
        return self._gather(self._located(values))

    def _sum(self, steps: Sequence[Step], columns: Sequence[int]) -> tuple[Op, list[int]]:
        """The sum over operands that are multiplied by the coefficients that differ."""
        made: list[ops.Sum] = [x.op for x in steps if isinstance(x.op, ops.Sum)]
        coefs: list[Number] = []
        operands: list[int] = []
        for x, factors in zip(columns, zip(*[op.coefs for op in made], strict=True), strict=True):
            if len(set(factors)) == 1:
                coefs.append(factors[0])
                operands.append(x)
            else:
                many = self._constant(np.array([weak(c) for c in factors], float))
                product = ops.product_op((1, 1))
                found = self.new(kinds.Product((1, 1)), product, (many, x), (len(steps),))
                coefs.append(1)
                operands.append(found)
        const, constants = made[0].const, [op.const for op in made]
        if len(set(constants)) > 1:
            operands.append(self._constant(np.array([weak(c) for c in constants], float)))
            coefs.append(1)
            const = 0
        return ops.sum_op(const, tuple(coefs)), operands

    # Sums and arrays of scalars -------------------------------------------------------------------

    def _total(self, step: Step) -> None:
        """A long sum: sums of arrays, one for each coefficient, times that."""
        total = step.as_op(ops.Sum)
        terms: dict[tuple[type, Number], list[int]] = {}
        operands: list[int] = []
        coefs: list[Number] = []
        for c, v in zip(total.coefs, step.operands, strict=True):
            if v in self.addresses:
                terms.setdefault((c.__class__, c), []).append(v)
            else:
                operands.append(self._scalar(v))
                coefs.append(c)
        if len(terms) <= _SLICES:
            for (_, c), values in terms.items():
                array = self._gather(np.sort(self._located(values)))
                operands.append(self.new(kinds.ByKernel(), _SUM, (array,), ()))
                coefs.append(c)
        else:
            factors = [weak(c) for (_, c), values in terms.items() for _ in values]
            at = self._located([v for values in terms.values() for v in values])
            order = np.argsort(at, kind="stable")
            many = self._constant(np.array(factors, float)[order])
            operands.append(self.new(kinds.ByKernel(), _DOT, (many, self._gather(at[order])), ()))
            coefs.append(1)
        op = ops.sum_op(total.const, tuple(coefs))
        self.place(step._replace(ops=(op,), operands=tuple(operands)))

    def _assembled(self, v: int, made: Assembly) -> None:
        """An array of scalars, gathered; zeros are added as the formula adds them."""
        (shape,), before = self.read.definitions[v].shapes, self.length
        if made.places is None:
            found = self._gather(np.concatenate([self._all(x) for x in made.parts]))
        else:
            length = costs.elements(shape)
            at = self._located(made.parts)
            if length > len(at):
                zero = self._owned(self._constant(np.zeros(1)), 1)
                where = np.full(length, self.starts[zero])
                where[list(made.places)] = at
                at = where
            found = self._gather(at)
            if len(shape) != 1:
                op = ops.reshape_op((length,), shape)
                found = self.new(kinds.ByKernel(), op, (found,), shape)
            terms = [found, self._number(0.0), *([] if made.rest is None else [made.rest])]
            found = self.new(kinds.Sum(), ops.sum_op(0, (1,) * len(terms)), terms, shape)
        if found >= before and self.steps[-1].results == (found,):
            step = self.steps.pop()
            self.place(step._replace(results=(v,)))
            self._gathered = {key: x for key, x in self._gathered.items() if x != found}
            self.arrays = [v if x == found else x for x in self.arrays]
        else:  # it is another array's name, too
            same = ops.sum_op(0, (1,))
            self.place(Step(kinds.Sum(), (found,), (v,), (same,), (shape,), (float,)))

    def _all(self, v: int) -> NDArray[np.intp]:
        """The addresses of a scalar, or of all elements of an array."""
        read = self.read
        if v in read.numbers:  # it stands for an array
            return np.repeat(self._located([v]), costs.elements(read.numbers[v].shapes[0]))
        if v in read.scalars or v in read.elements or v in read.totals:
            return self._located([v])
        if v not in self.owners:
            shape, _ = self.layouts[v]
            self.owners[v] = self._owned(None, costs.elements(shape))
            self._flat[self.owners[v]] = v
        k = self.owners[v]
        return np.arange(self.starts[k], self.starts[k] + self.lengths[k])
