"""What a kernel computes in C, as data: lines over elements, and the loops that they are in.

A loop goes along axes, and within these along the rows of a block.  What one line gives and another
one of the same loop reads is never in memory.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from numeric.lowering import kinds
from numeric.lowering.native.functions import formula
from numeric.lowering.native.printer import CPrinter, real
from numeric.lowering.passes.rows import ROWS, Pads, avoids_blas, words
from symdiff import opaque_ops
from symdiff.errors import Unsupported
from symdiff.graph import ops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numeric.lowering.names import Emitter
    from numeric.lowering.passes.rows import Word
    from numeric.lowering.steps import Schedule, Step
    from symdiff.graph.node import Dim, Dtype, Op, Shape

LANES = 64
"""The rows of a block."""

THIN = 16
"""A side of a matrix that is short: products along it are written out."""

SMALL = 64
"""A side of a matrix that is in the nearest cache: products with it are computed in tiles."""

STATEMENTS = 200  # in one loop: compilers take more than linear time for longer ones
IN_A_ROW = 512
"""Terms that are added one after the other without a carry."""
NEAR = 1.5
"""Below this, the logarithm of a sum of exponentials is that of 1 and the rest, see ``log_of``."""

_KINDS = kinds.Sum, kinds.Product, kinds.Quotient, kinds.Power, kinds.Pointwise, kinds.Strong
_WEAK = kinds.Number, kinds.Size, kinds.Sum, kinds.Product


class Array(NamedTuple):
    """An operand or a result: the number of its value, its axes but the rows, and its dtype.

    ``axis`` is that of the rows; None for an operand that each block has whole, and for a result
    that is a sum over rows.  ``around`` says how many more rows a result has before and behind.
    """

    value: int
    axis: int | None
    shape: Shape
    dtype: Dtype
    around: tuple[int, int] = (0, 0)

    @property
    def whole(self) -> Shape:
        """All of its axes, the rows among them."""
        if self.axis is None:
            return self.shape
        return (*self.shape[: self.axis], ROWS, *self.shape[self.axis :])


def able(step: Step, steps: Sequence[Step], exact: bool = False, side: int = THIN) -> bool:
    """Whether C computes a step, whose operands ``steps`` define, as NumPy does.

    ``exact``: also in the order in which NumPy adds.  ``side`` is that of matrices with which it
    computes products faster than BLAS.
    """
    if step.dtypes[0] is int:
        return False
    for v in step.operands:
        x = steps[v]
        if x.weak and not _is_plain(x, steps):
            return False
        if not x.weak and x.layout(v)[1] is int:
            return False
    if _axis_op(step) is not None:
        return True
    if isinstance(step.kind, kinds.ByKernel):
        op = step.kernel(ops.Contract)
        if op is None or any(op.kills) or step.dtypes[0] is not float:
            return False
        if not avoids_blas(step, steps) and not _is_thin(step, steps, side):
            return False
        return not (exact and op.sums)
    if not isinstance(step.kind, _KINDS):
        return False
    if isinstance(step.kind, kinds.Pointwise):
        assert isinstance(step.op, ops.Pointwise)
        try:
            formula(step.op.formula, step.op.arity)
        except Unsupported:
            return False
    return True


def _is_thin(step: Step, steps: Sequence[Step], side: int) -> bool:
    """Whether a product of two arrays is one of matrices with short sides: what is summed, or two.

    BLAS spends its time fetching these, and writing what comes out.  Two sides may be longer where
    the third one is so long that a kernel goes along it.
    """
    op = step.as_op(ops.Contract)
    if len(op.letters) != 2:
        return False
    known: dict[object, Dim] = {}
    for v, word in zip(step.operands, op.letters, strict=True):
        known.update(zip(word, steps[v].layout(v)[0], strict=True))
    sides: dict[tuple[bool, ...], float] = {}
    for letter, dim in known.items():
        key = tuple([letter in word for word in (*op.letters, op.out)])
        sides[key] = sides.get(key, 1) * (dim if isinstance(dim, int) else math.inf)
    batch = sides.pop((True, True, True), 1)
    *short, longest = sorted(sides.values())
    if sides.get((True, True, False), math.inf) <= THIN or all(size <= THIN for size in short):
        return True
    return all(size <= side for size in short) and longest > max(LANES, batch)


def _axis_op(step: Step) -> str | None:
    """What a step does with the last axis of its operand, where that is not a sum."""
    if isinstance(step.kind, kinds.Softmax):
        return "softmax"
    return _AXIS_OPS.get(type(step.op)) if isinstance(step.kind, kinds.ByKernel) else None


_AXIS_OPS: dict[type[Op], str] = {
    opaque_ops.Max: "max",
    opaque_ops.Min: "min",
    opaque_ops.LogSumExp: "logsumexp",
}


def _is_plain(step: Step, steps: Sequence[Step]) -> bool:
    """Whether a weak number is written with operators alone."""
    stack = [step]
    for _ in range(STATEMENTS):
        if not stack:
            return True
        x = stack.pop()
        if not isinstance(x.kind, _WEAK):
            return False
        stack += [steps[v] for v in x.operands]
    return False


class Shared(NamedTuple):
    """An operand that several sums of products read at one place, those along ``letter``."""

    operand: int
    letter: object


class Line(NamedTuple):
    """One value of a kernel, element by element: ``text`` over ``{0}, {1}, ...``, the operands.

    ``letters`` are the axes that its loop goes along, of the lengths ``dims``; ``words`` and
    ``out`` those of the operands and of the value.  Letters of the rows are left out of all;
    ``rows`` says which have them, the value last.  ``fold`` says what becomes of letters that the
    value lacks: it is the sum over them ("+"), or the largest or smallest ("max", "min"), or that
    of those that are numbers ("largest").
    A sum of few products is written out: ``terms`` are its letters, and their lengths.
    One of many terms within a row ``is_long``: what each addition loses is carried to the next.
    ``back`` says how many rows before its own the value reads each operand, where that is not 0.
    ``near`` is a value without which nobody reads this one: it is computed in blocks that have a
    row where that is less than ``NEAR``.
    """

    value: int
    text: str
    operands: tuple[int, ...]
    words: tuple[Word, ...]
    rows: tuple[bool, ...]
    letters: Word
    dims: Shape
    out: Word
    fold: str = ""
    terms: tuple[tuple[object, int], ...] = ()
    back: tuple[int, ...] = ()
    is_long: bool = False
    near: int | None = None

    @property
    def is_product(self) -> bool:
        """Whether it is a sum over rows of products, one for each of its letters."""
        if self.fold != "+" or self.rows[-1] or self.is_long:
            return False
        return len(self.operands) > 1 < len(self.letters)

    @property
    def is_matrix(self) -> bool:
        """Whether it is, for each row, a product with a matrix that all rows have in common."""
        sums = self.fold == "+" and self.rows[-1] and not self.is_long
        return sums and self.shared is not None

    @property
    def is_alone(self) -> bool:
        """Whether it has a loop of its own."""
        return self.is_product or self.is_matrix

    @property
    def shared(self) -> Shared | None:
        """What tiles of it share: of two factors one with rows that lacks an axis of the value.

        The last such axis, along which it lies in memory.  Of the factors and the value, two have
        rows: a sum over rows is one of two that have them.
        """
        if self.text != "{0}*{1}" or sum(self.rows) != 2:
            return None
        found = [
            Shared(k, letter)
            for letter in self.out
            for k, word in enumerate(self.words)
            if self.rows[k] and letter not in word
        ]
        return found[-1] if found else None


def _same(v: int, dims: Shape, line: Line) -> bool:
    """Whether a line may be in the loop over ``dims`` that computes v, which it reads."""
    if line.back or line.is_alone:
        return False
    each = zip(line.operands, line.words, strict=True)
    return dims == line.dims and all(word == line.letters for x, word in each if x == v)


class Loop(NamedTuple):
    """Lines that are computed in one loop over axes of these lengths, and the rows."""

    dims: Shape
    lines: list[Line]
    members: set[int]


def joins(body: Schedule, made: int | Pads) -> bool:
    """Whether C puts a result together: a sum of results of which it remembers enough rows."""
    if isinstance(made, int):
        return True
    known = body.definitions()
    parts = [body.results[k] for k in made.places]
    return max(_back(made)) <= LANES and all(known[v].layout(v)[1] is float for v in parts)


def _back(pads: Pads) -> tuple[int, ...]:
    """How many rows before an element of a sum the rows of its operands are, the nearest at 0."""
    lows = [low for low, _ in pads.widths]
    return tuple([low - min(lows) for low in lows])


class Loops:
    """The lines and loops of a kernel's body; ``made`` are its results, see ``Kernel.pads``.

    ``inner`` are the axes of values but the rows, ``some`` the lengths that have to be positive,
    ``order`` the places of what is asked for among the ``results``, ``back`` how many rows of the
    block before are read of a value, ``sums`` the operands of a sum of results, and how far back
    each of them is, ``place`` the loop that computes a value, ``stored`` the values that are in
    memory, and ``products`` the places of results that are sums of products.  ``many`` says whether
    sums along lengths that are not known, ``open``, have many terms.
    """

    def __init__(
        self,
        emitter: Emitter,
        body: Schedule,
        sliced: Sequence[int | None],
        made: Sequence[int | Pads],
        many: bool = True,
    ) -> None:
        self.body, self.steps, self.many = body, body.definitions(), many
        self.open: dict[Shape, None] = {}  # what sums go along, of lengths that are not known
        self.printer = CPrinter(emitter, body)
        self.inner = {
            v: tuple([n for n in shape if n is not ROWS])
            for step in body.steps
            for v, shape in zip(step.results, step.shapes, strict=True)
        }
        self.count = body.length
        self.some: dict[Dim, None] = {}  # lengths that have to be positive
        self.operands = [self._array(v, axis) for v, axis in zip(body.params, sliced, strict=True)]
        arrays = [x.results[0] for x in body.steps if isinstance(x.kind, kinds.Array)]
        self.operands += [self._array(v, None) for v in arrays]
        self.lines: list[Line] = []
        self.read = {*body.results, *[v for step in body.steps for v in step.operands]}
        for step in body.steps:
            if not step.weak and not step.leaf:
                self._add(step)
        self.back: dict[int, int] = {}  # how many rows of the block before are read of a value
        self.sums: dict[int, list[tuple[int, int]]] = {}  # their operands, and how far back each is
        every = [self._result(x) for x in made]
        self.results = tuple({x.value: x for x in every}.values())
        self.order = tuple([self.results.index(x) for x in every])
        self.folds = {line.value: line for line in self.lines if line.fold}
        self.loops = self._later(self._looped())
        self.place = {v: k for k, loop in enumerate(self.loops) for v in loop.members}
        self.stored = self._stored()
        places = {x.value: k for k, x in enumerate(self.results)}
        self.products = {line.value: places[line.value] for line in self.lines if line.is_product}

    # Lines ----------------------------------------------------------------------------------------

    def _axis(self, v: int) -> int | None:
        shape = self._shape(v)
        return next((k for k, dim in enumerate(shape) if dim is ROWS), None)

    def _result(self, made: int | Pads) -> Array:
        """A result, of which there are lines now."""
        if isinstance(made, int):
            v = self.body.results[made]
            return self._array(v, self._axis(v))
        parts, back = [self.body.results[k] for k in made.places], _back(made)
        part = self._array(parts[0], self._axis(parts[0]))
        letters: Word = tuple(range(len(part.whole)))
        lengths: dict[object, Dim] = dict(zip(letters, part.whole, strict=True))
        v = self._new(letters, lengths)
        text = " + ".join(f"{{{k}}}" for k in range(len(parts)))
        self._line(text, [(x, letters) for x in parts], lengths, (v, letters))
        self.lines[-1] = self.lines[-1]._replace(back=back)
        self.sums[v] = list(zip(parts, back, strict=True))
        for x, rows in self.sums[v]:
            if rows:
                self.back[x] = max(rows, self.back.get(x, 0))
        low = min([before for before, _ in made.widths])
        return part._replace(value=v, around=(low, sum(made.widths[0]) - low))

    def _array(self, v: int, axis: int | None) -> Array:
        shape, dtype = self.steps[v].layout(v)
        inner = shape if axis is None else (*shape[:axis], *shape[axis + 1 :])
        return Array(v, axis, inner, dtype)

    def _shape(self, v: int) -> Shape:
        return self.steps[v].layout(v)[0]

    def _add(self, step: Step) -> None:
        """Write a step as lines."""
        v = step.results[0]
        shapes = [self._shape(x) for x in step.operands]
        if (name := _axis_op(step)) is not None:
            (x,), (shape,) = step.operands, shapes
            letters: Word = tuple(range(len(shape)))
            lengths: dict[object, Dim] = dict(zip(letters, shape, strict=True))
            if name in ("max", "min"):
                self.some[shape[-1]] = None
                self._line("{0}", [(x, letters)], lengths, (v, letters[:-1]), name)
            else:
                self._exponentials(x, letters, lengths, step.results)
            return
        found = words(step, shapes)
        assert found is not None
        operands, (out,) = found
        lengths = dict(zip(out, step.shapes[0], strict=True))
        for word, shape in zip(operands, shapes, strict=True):
            lengths.update({k: n for k, n in zip(word, shape, strict=True) if k is not None})
        text = real(self.printer.template(step).text)
        fold = "+" if isinstance(step.kind, kinds.ByKernel) and set(out) != set(lengths) else ""
        self._line(text, list(zip(step.operands, operands, strict=True)), lengths, (v, out), fold)

    def _exponentials(
        self, x: int, letters: Word, lengths: dict[object, Dim], results: Sequence[int]
    ) -> None:
        """The logarithm of the sum of exponentials over the last axis, and their shares of it.

        Less the largest of them; beside an infinity all others have no share, however large.  What
        is not a number is in the sum.
        """
        batch = letters[:-1]
        top, base, e, total, rest = [self._new(batch, lengths) for _ in range(5)]
        self.inner[e] = self.inner[x]
        self._line("{0}", [(x, letters)], lengths, (top, batch), "largest")
        self._line("f_finite({0})", [(top, batch)], lengths, (base, batch))
        self._line("f_exp({0} - {1})", [(x, letters), (base, batch)], lengths, (e, letters))
        self._line("{0}", [(e, letters)], lengths, (total, batch), "+")
        if results[0] in self.read:
            # A sum near 1 is 1 and the rest: what is largest is alone, and its exponential is 1.
            each = [(e, letters), (x, letters), (base, batch)]
            self._line("({1} == {2} ? 0 : {0})", each, lengths, (rest, batch), "+")
            self.lines[-1] = self.lines[-1]._replace(near=total)
            over = [(total, batch), (rest, batch), (base, batch)]
            self._line("f_log_of({0}, {1}) + {2}", over, lengths, (results[0], batch))
        if len(results) > 1:
            part = self._new(batch, lengths)
            self._line("1/{0}", [(total, batch)], lengths, (part, batch))
            over = [(e, letters), (part, batch)]
            self._line("{0}*{1}", over, lengths, (results[1], letters))

    def _new(self, letters: Word, lengths: dict[object, Dim]) -> int:
        """The number of a value that no step has."""
        self.count += 1
        self.inner[self.count - 1] = tuple([lengths[k] for k in letters if lengths[k] is not ROWS])
        return self.count - 1

    def _line(
        self,
        text: str,
        over: Sequence[tuple[int, Word]],
        lengths: dict[object, Dim],
        value: tuple[int, Word],
        fold: str = "",
    ) -> None:
        v, out = value
        rows = next((k for k, n in lengths.items() if n is ROWS), None)
        letters = [k for k in out if k != rows]
        terms: list[tuple[object, int]] = []
        is_long = False
        if fold:  # first the axes of what is put together
            most = max([word for _, word in over], key=len)
            every = [k for k in dict.fromkeys((*most, *lengths)) if k not in (rows, None)]
            left = [(k, lengths[k]) for k in every if k not in letters]
            few = [(k, n) for k, n in left if isinstance(n, int)]
            count = math.prod([n for _, n in few])
            if len(over) > 1 and rows in out and few == left and 0 < count <= THIN:
                terms, fold = few, ""
            else:
                letters = every
                is_long = fold == "+" and (count > IN_A_ROW or (self.many and few != left))
                if fold == "+" and few != left:
                    self.open[tuple([n for _, n in left])] = None
        self.lines.append(
            Line(
                v,
                text,
                tuple([x for x, _ in over]),
                tuple([tuple([k for k in w if k != rows or k is None]) for _, w in over]),
                tuple([rows in word for word in (*[w for _, w in over], out)]),
                tuple(letters),
                tuple([lengths[k] for k in letters]),
                tuple([k for k in out if k != rows]),
                fold,
                tuple(terms),
                is_long=is_long,
            )
        )

    # Loops ----------------------------------------------------------------------------------------

    def _looped(self) -> list[Loop]:
        """The loops: each line in the first one behind what it reads."""
        loops: list[Loop] = []
        place: dict[int, int] = {}
        for line in self.lines:
            least = 0
            for x in line.operands:
                if x in place:
                    least = max(least, place[x] + (not _same(x, loops[place[x]].dims, line)))
            if line.near is not None:
                least = max(least, place[line.near] + 1)
            for k in range(least, len(loops) + 1):
                if k == len(loops):
                    loops.append(Loop(line.dims, [line], {line.value}))
                    place[line.value] = k
                    break
                loop = loops[k]
                alike = loop.dims == line.dims and loop.lines[0].near == line.near
                alike &= not line.is_alone
                if alike and not loop.lines[0].is_alone and len(loop.lines) < STATEMENTS:
                    loop.lines.append(line)
                    loop.members.add(line.value)
                    place[line.value] = k
                    break
        return loops

    def _later(self, loops: list[Loop]) -> list[Loop]:
        """The loops, with lines in the first one that reads them, where it may be the same."""
        place = {v: k for k, loop in enumerate(loops) for v in loop.members}
        counts = [len(loop.lines) for loop in loops]
        readers: dict[int, list[Line]] = {}
        for line in self.lines:
            for x in line.operands:
                readers.setdefault(x, []).append(line)
        for line in reversed(self.lines):
            first = min([place[x.value] for x in readers.get(line.value, [])], default=0)
            if first > place[line.value] and not line.is_alone:
                here = [x for x in readers[line.value] if place[x.value] == first]
                alike = all(_same(line.value, line.dims, x) for x in here)
                alike &= loops[first].lines[0].near == line.near
                if alike and counts[first] < STATEMENTS:
                    counts[place[line.value]] -= 1
                    counts[first] += 1
                    place[line.value] = first
        parted: list[list[Line]] = [[] for _ in loops]
        for line in self.lines:
            parted[place[line.value]].append(line)
        return [Loop(x[0].dims, x, {line.value for line in x}) for x in parted if x]

    def _stored(self) -> dict[int, None]:
        """The values on the way that are in memory: what another loop reads, or the caller."""
        results = {x.value for x in self.results}
        found = {v: None for v in self.place if v in self.folds or v in results}
        for line in self.lines:
            own = self.place[line.value]
            found.update({x: None for x in line.operands if self.place.get(x, own) != own})
        return found
