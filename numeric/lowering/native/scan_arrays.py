"""Bodies of scans over short arrays of known shapes as C: a loop for each value.

A value is in memory of its own, in C order, or it is read where another one has it: slices,
transposes and reshapes are other places, and move nothing.  Loops go along the last axis, so many
elements at once as a vector has, or twice so many: always full vectors, of which the last overlaps
with the one before, so that an element's bits depend on its operands alone.  What is multiplied by
a param that lies the other way round reads a copy, which is made once.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from numeric.lowering import kinds
from numeric.lowering.native.loops import able
from numeric.lowering.native.printer import CPrinter, has_lengths, real, weak_text
from symdiff.graph import ops

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from numeric.lowering.names import Emitter
    from numeric.lowering.steps import Schedule, Step

WIDE = 8
"""The elements that are computed at once."""

MOST = 2**16
"""Products of a step up to which C takes no longer than BLAS, and elements of all of its arrays."""

_SUM = 1024  # terms that are added one after the other
_STEPS = 100
_VIEWS = (ops.Slice, ops.Flip, ops.Reshape)


class Cells(NamedTuple):
    """Where the elements of a value are: in an array of C, at these indices."""

    array: str
    cells: NDArray[np.int64]

    def at(self, names: Sequence[str]) -> str:
        """The element at these places along the axes; raises ValueError where that is not a sum."""
        start, terms, found = self.cells.flat[0], [], np.zeros_like(self.cells)
        for axis, (name, count) in enumerate(zip(names, self.cells.shape, strict=True)):
            if count > 1:
                step = int(np.take(self.cells, 1, axis).flat[0] - start)
                shape = [1] * self.cells.ndim
                shape[axis] = count
                found = found + step * np.arange(count).reshape(shape)
                terms += [f"({name})*{step}"] * (step != 0)
        if not np.array_equal(found + start, self.cells):
            raise ValueError("not a sum of strides")
        return f"{self.array}[{' + '.join([str(start), *terms])}]"


def places(array: str, shape: Sequence[int]) -> Cells:
    """Those of an array in C order."""
    return Cells(array, np.arange(math.prod(shape)).reshape(shape))


class ArraySteps:
    """The steps of a body as statements, ``lines``; ``before`` are those before all steps.

    ``arrays`` are the memory that it needs: numbers by name.  ``result`` is where the value is.
    """

    def __init__(
        self, emitter: Emitter, steps: Schedule, given: Mapping[int, Cells], fixed: Iterable[int]
    ) -> None:
        self.steps, self.known = steps, steps.definitions()
        self.printer = CPrinter(emitter, steps)
        self.place, self.fixed = dict(given), set(fixed)
        self.lines: list[str] = []
        self.before: list[str] = []
        self.arrays: dict[str, int] = {}
        for step in steps.steps:
            if not step.leaf and not step.weak:
                self._write(step)
        self.result = self.place[steps.results[0]]

    def _shape(self, v: int) -> tuple[int, ...]:
        shape = self.known[v].layout(v)[0]
        return tuple([n for n in shape if isinstance(n, int)])

    def _new(self, name: str, shape: Sequence[int]) -> Cells:
        self.arrays[name] = math.prod(shape)
        return places(name, shape)

    def _write(self, step: Step) -> None:
        v, op, shape = step.results[0], step.op, self._shape(step.results[0])
        if step.kind.elementwise:
            words = [_aligned(self._shape(x), shape) for x in step.operands]
            text = real(self.printer.template(step).text)
            self._computed(step, text, words, tuple(range(len(shape))))
        elif isinstance(op, ops.Contract):
            if isinstance(step.kind, kinds.PartOfSlice):
                whole = self.place[step.operands[0]]
                there = step.kind.sliced.components(None, (), whole.cells)  # type: ignore[arg-type]
                self.place[v] = _turned(op, Cells(whole.array, there), shape)
            elif len(op.letters) == 1 and not self._adds(step):
                self.place[v] = _turned(op, self.place[step.operands[0]], shape)
            else:
                self._computed(step, _product(op), op.letters, op.out)
        elif isinstance(op, ops.Concat):
            made = self.place[v] = self._new(f"v{v}", shape)
            axis, start = len(shape) + op.axis, 0
            for x in step.operands:
                length = self._shape(x)[axis]
                part = np.take(made.cells, range(start, start + length), axis)
                self._copied(Cells(made.array, part), self._of(x))
                start += length
        elif isinstance(op, ops.Unslice):  # the zeros around it are those of all steps
            made = self.place[v] = self._new(f"v{v}", shape)
            self.before.append(f"fill(v{v}, {made.cells.size});")
            x = step.operands[0]
            inside: Any = op.transposed(0, self._shape(x)).components(None, (), made.cells)  # type: ignore[arg-type]
            self._copied(Cells(made.array, inside), self._of(x))
        else:
            assert isinstance(op, _VIEWS)
            here = self._of(step.operands[0])
            moved: Any = op.components(None, shape, here.cells)  # type: ignore[arg-type]
            self.place[v] = Cells(here.array, moved)

    def _adds(self, step: Step) -> bool:
        (word,) = step.op.letters  # type: ignore[attr-defined]
        lengths = dict(zip(word, self._shape(step.operands[0]), strict=True))
        return any(n > 1 for k, n in lengths.items() if k not in step.op.out)  # type: ignore[attr-defined]

    def _of(self, v: int) -> Cells:
        """Where a value is, which may be a number."""
        if not self.known[v].weak:
            return self.place[v]
        made = self._new(f"v{v}", self._shape(v))
        text = weak_text(self.printer, self.known, v)
        self.before.append(f"for (long k = 0; k < {made.cells.size}; k++) v{v}[k] = {text};")
        return made

    def _copied(self, there: Cells, here: Cells) -> None:
        shape = here.cells.shape
        names = [f"i{k}" for k in range(len(shape))]
        self.lines += nested(names, shape, [f"{there.at(names)} = {here.at(names)};"])

    def _computed(
        self, step: Step, text: str, words: Sequence[Sequence[object]], out: Sequence[object]
    ) -> None:
        """A value in memory of its own, by loops along letters; those that it lacks are added."""
        v, shape = step.results[0], self._shape(step.results[0])
        lengths: dict[object, int] = dict(zip(out, shape, strict=True))
        for x, word in zip(step.operands, words, strict=True):
            lengths.update(
                {k: n for k, n in zip(word, self._shape(x), strict=True) if k is not None}
            )
        summed = [k for k in lengths if k not in out]
        made = self.place[v] = self._new(f"v{v}", shape)
        # Scalars, and sums of everything, have lanes of one element.
        lane = out[-1] if out else None
        count = lengths[lane] if out else 1
        names = (
            {k: f"i{j}" for j, k in enumerate(lengths)} | {None: "0"} | ({lane: "e"} if out else {})
        )
        cells = [
            self._cell(x, word, names, lane, bool(summed))
            for x, word in zip(step.operands, words, strict=True)
        ]
        value = text.format(*cells)
        few = count < WIDE
        here = f"(k < {count} ? k : {count} - 1)" if few else "at + k"
        each = [f"const long e = {here};", f"{'z[k] +=' if summed else 'z[k] ='} {value};"]
        over = [lengths[k] for k in summed]
        lanes = ["#pragma GCC ivdep", f"for (int k = 0; k < {WIDE}; k++) {{ {' '.join(each)} }}"]
        kept = made.at([names[k] for k in out]).replace("(e)", f"({'k' if few else 'at + k'})")
        inner = [
            f"real z[{WIDE}] = {{0}};",
            *nested([names[k] for k in summed], over, lanes),
            f"for (int k = 0; k < {min(count, WIDE)}; k++) {kept} = z[k];",
        ]
        if not few:
            last = count - WIDE
            inner = [
                f"for (long j = 0; j < {count}; j += {WIDE}) {{",
                f"    const long at = j < {last} ? j : {last};",
                *[f"    {line}" for line in inner],
                "}",
            ]
        outer = [k for k in out if k != lane]
        lines = ["{", *[f"    {line}" for line in inner], "}"]
        self.lines += nested([names[k] for k in outer], [lengths[k] for k in outer], lines)

    def _cell(
        self,
        v: int,
        word: Sequence[object],
        names: Mapping[object, str],
        lane: object,
        summed: bool,
    ) -> str:
        if self.known[v].weak:
            return weak_text(self.printer, self.known, v)
        here = self.place[v]
        along = list(word).index(lane) if lane in word and lane is not None else None
        if summed and v in self.fixed and along is not None and along != len(word) - 1:
            here = self._laid_out(v, along)
        return here.at([names[k] for k in word])

    def _laid_out(self, v: int, axis: int) -> Cells:
        """A param with one of its axes last, a copy that is made before all steps."""
        name, here = f"w{v}_{axis}", self.place[v]
        moved = np.moveaxis(here.cells, axis, -1)
        if name not in self.arrays:
            made = self._new(name, moved.shape)
            letters = [f"i{k}" for k in range(moved.ndim)]
            there, source = made.at(letters), Cells(here.array, moved).at(letters)
            self.before += nested(letters, moved.shape, [f"{there} = {source};"])
        return Cells(name, np.moveaxis(places(name, moved.shape).cells, -1, axis))


def _product(op: ops.Contract) -> str:
    """The terms of a contraction, of which zeros of masked cotangents make zeros."""
    text = "*".join(f"{{{k}}}" for k in range(len(op.letters)))
    zeros = " || ".join(f"{{{k}}} == 0" for k, kills in enumerate(op.kills) if kills)
    return f"({zeros} ? 0 : {text})" if zeros else text


def _aligned(shape: Sequence[int], out: Sequence[int]) -> tuple[object, ...]:
    """Letters of an operand that NumPy broadcasts: axes that are stretched have none."""
    lead = len(out) - len(shape)
    return tuple([lead + k if n == out[lead + k] else None for k, n in enumerate(shape)])


def _turned(op: ops.Contract, x: Cells, shape: Sequence[int]) -> Cells:
    """The places of what is turned and stretched, and has lost axes of length 1."""
    (word,) = op.letters
    kept = [k for k in op.out if k in word]
    index = np.einsum(x.cells, list(word), kept)
    key = tuple([slice(None) if k in word else None for k in op.out])
    return Cells(x.array, np.broadcast_to(index[key], shape))


def nested(names: Sequence[str], lengths: Sequence[int], lines: Sequence[str]) -> list[str]:
    """Loops around lines."""
    if not names:
        return list(lines)
    heads = [
        f"{'    ' * k}for (long {name} = 0; {name} < {n}; {name}++) {{"
        for k, (name, n) in enumerate(zip(names, lengths, strict=True))
    ]
    indent = "    " * len(names)
    return [*heads, *[f"{indent}{line}" for line in lines], "}" * len(names)]


def has_all(steps: Schedule) -> bool:
    """Whether C computes all of a body of arrays: short ones, and what has no more in BLAS."""
    steps = as_real(steps)
    known = steps.definitions()
    shapes = [shape for step in steps.steps for shape in step.shapes]
    known_lengths = [[n for n in shape if isinstance(n, int) and n > 0] for shape in shapes]
    if list(map(len, known_lengths)) != list(map(len, shapes)):
        return False
    if sum(map(math.prod, known_lengths)) > MOST or len(steps.steps) > _STEPS:
        return False
    if has_lengths(steps.steps):
        return False
    return all(x.leaf or x.weak or _is_able(x, known) for x in steps.steps) and all(
        not isinstance(x.kind, kinds.Array) for x in steps.steps
    )


def as_real(steps: Schedule) -> Schedule:
    """The same steps, to which integers are given as real numbers."""
    made = [
        x._replace(dtypes=(float,)) if isinstance(x.kind, kinds.Input) else x for x in steps.steps
    ]
    return steps.having(made, 0)


def _is_able(step: Step, known: Sequence[Step]) -> bool:
    if len(step.results) > 1 or step.dtypes[0] is int:
        return False
    op = step.op
    if step.kind.elementwise:
        return able(step, known)
    if any(known[v].weak for v in step.operands) and not isinstance(op, ops.Concat):
        return False
    if isinstance(op, ops.Contract) and isinstance(step.kind, kinds.ByKernel | kinds.PartOfSlice):
        if len(set(op.out)) < len(op.out):
            return False
        if any(len(set(word)) < len(word) for word in op.letters):
            return False
        lengths: dict[object, int] = dict(zip(op.out, step.shapes[0], strict=True))  # type: ignore[arg-type]
        if isinstance(step.kind, kinds.PartOfSlice):
            return True
        for v, word in zip(step.operands, op.letters, strict=True):
            lengths.update(zip(word, known[v].layout(v)[0], strict=True))  # type: ignore[arg-type]
        summed = math.prod([n for k, n in lengths.items() if k not in op.out])
        return math.prod(lengths.values()) <= MOST and summed <= _SUM
    return step.kernel(*_VIEWS, ops.Concat, ops.Unslice) is not None
