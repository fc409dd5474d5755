"""Kernels as functions of C: loops over blocks of rows, all steps of a block in one loop.

A block has ``LANES`` rows, always: the compiler makes vector instructions of a loop of that length,
with nothing left over, so that the bits of an element depend on its operands alone, never on its
place.  Behind the last row the block is filled with copies of its first one, which are not written.

Values are laid out with the rows innermost, so that every loop over rows goes along memory; what
comes with other axes behind the rows is turned around when a block is read, and when it is written.
A value that only its own loop reads is never in memory.  Sums over rows are kept for each lane, and
added in pairs at the end.

In a sum of results with zeros around them, an element has operands of several rows.  The block
before is remembered for it.  Where others compute the rows before, the last block of these is
computed again.
"""

from __future__ import annotations

import math
import re
from itertools import product, repeat
from typing import TYPE_CHECKING, NamedTuple

from numeric.lowering.arithmetic import weak
from numeric.lowering.native.functions import definitions, formula
from numeric.lowering.passes.rows import ROWS, Pads, always, words
from numeric.lowering.printers.printer import Printer
from numeric.lowering.texts import ATOM, POWER, Template, number_text
from symdiff import opaque_ops
from symdiff.errors import Unsupported
from symdiff.graph import ops

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numeric.lowering.names import Emitter
    from numeric.lowering.passes.rows import Word
    from numeric.lowering.steps import Schedule, Step
    from symdiff.graph.node import Dim, Dtype, Op, Shape

LANES = 64
"""The rows of a block."""
PITCH = LANES + LANES // 8
"""The memory of a row of lanes: rows of a power of two share few places of the nearest cache."""

THIN = 16
"""A side of a matrix that is short: products along it are written out."""

STATEMENTS = 200  # in one loop: compilers take more than linear time for longer ones
_FORMS = frozenset({"sum", "product", "quotient", "power", "pointwise", "strong"})
_WEAK = frozenset({"number", "size", "sum", "product"})


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


class Written(NamedTuple):
    """A function of C, ``kernel``, and what it is called with."""

    text: str
    operands: tuple[Array, ...]
    results: tuple[Array, ...]
    dims: tuple[Dim, ...]  # the lengths that are asked for when it is called
    scratch: tuple[Shape, ...]  # the arrays on the way, without their lanes
    some: tuple[Dim, ...]  # the lengths of which 0 is refused
    order: tuple[int, ...]  # the places of what is asked for among the results


def able(step: Step, steps: Sequence[Step], exact: bool = False) -> bool:
    """Whether C computes a step, whose operands ``steps`` define, as NumPy does.

    ``exact``: also in the order in which NumPy adds.
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
    if step.form == "kernel":
        op = step.op
        if not isinstance(op, ops.Contract) or any(op.kills) or step.dtypes[0] is not float:
            return False
        if not always(step, steps) and not _is_thin(step, steps):
            return False
        return not (exact and op.sums)
    if step.form not in _FORMS:
        return False
    if step.form == "pointwise":
        assert isinstance(step.op, ops.Pointwise)
        try:
            formula(step.op.formula, step.op.arity)
        except Unsupported:
            return False
    return True


def _is_thin(step: Step, steps: Sequence[Step]) -> bool:
    """Whether a product of two arrays is one of matrices with short sides: what is summed, or two.

    BLAS spends its time fetching these, and writing what comes out.
    """
    op = step.op
    assert isinstance(op, ops.Contract)
    if len(op.letters) != 2:
        return False
    known: dict[object, Dim] = {}
    for v, word in zip(step.operands, op.letters, strict=True):
        known.update(zip(word, steps[v].layout(v)[0], strict=True))
    sides: dict[tuple[bool, ...], float] = {}
    for letter, dim in known.items():
        side = tuple([letter in word for word in (*op.letters, op.out)])
        if not all(side):
            sides[side] = sides.get(side, 1) * (dim if isinstance(dim, int) else math.inf)
    summed = sides.get((True, True, False), math.inf)
    return summed <= THIN or all(size <= THIN for size in sorted(sides.values())[:-1])


def _axis_op(step: Step) -> str | None:
    """What a step does with the last axis of its operand, where that is no sum."""
    if step.form == "softmax":
        return "softmax"
    return _AXIS_OPS.get(type(step.op)) if step.form == "kernel" else None


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
        if x.form not in _WEAK:
            return False
        stack += [steps[v] for v in x.operands]
    return False


class Line(NamedTuple):
    """One value of a kernel, element by element: ``text`` over ``{0}, {1}, ...``, the operands.

    ``letters`` are the axes that its loop goes along, of the lengths ``dims``; ``words`` and
    ``out`` those of the operands and of the value.  Letters of the rows are left out of all;
    ``rows`` says which have them, the value last.  ``fold`` says what becomes of letters that the
    value lacks: it is the sum over them ("+"), or the largest or smallest ("max", "min").
    A sum of few products is written out: ``terms`` are its letters, and their lengths.
    ``back`` says how many rows before its own the value reads each operand, where that is not 0.
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

    @property
    def is_product(self) -> bool:
        """Whether it is a sum over rows of products, one for each of its letters."""
        return self.fold == "+" and not self.rows[-1] and len(self.operands) > 1 < len(self.letters)


def _same(v: int, dims: Shape, line: Line) -> bool:
    """Whether a line may be in the loop over ``dims`` that computes v, which it reads."""
    if line.back or line.is_product:
        return False
    each = zip(line.operands, line.words, strict=True)
    return dims == line.dims and all(word == line.letters for x, word in each if x == v)


class _Loop(NamedTuple):
    """Lines that are computed in one loop over axes of these lengths, and the rows."""

    dims: Shape
    lines: list[Line]
    members: set[int]


class CPrinter(Printer):
    """Steps as expressions of C over ``real`` values."""

    formulas = None  # type: ignore[assignment]  # formulas of C are no Python, see ``pointwise``

    def __init__(self, emitter: Emitter, schedule: Schedule) -> None:
        self._begin(emitter, schedule)

    def _product(self, step: Step) -> Template:
        return _of_lengths(step.detail) if step.weak else super()._product(step)

    def _quotient(self, step: Step) -> Template:
        return _of_lengths(step.detail.signs) if step.weak else super()._quotient(step)

    def power(self, step: Step) -> Template:
        if step.detail == 2:
            return Template("{0}*{0}", POWER, (ATOM,))
        if step.detail * 2 == 1:
            return Template("m_sqrt({0})", ATOM, (ATOM,))
        return Template(f"f_power({{0}}, {number_text(step.detail).text})", ATOM, (ATOM,))

    def pointwise(self, step: Step) -> Template:
        op = step.op
        assert isinstance(op, ops.Pointwise)
        text = re.sub(r"\b_(\d+)\b", r"{\1}", formula(op.formula, op.arity))
        return Template(f"({text})", ATOM, (ATOM,) * op.arity)

    def quotient(self, step: Step) -> Template:
        plain, beyond, count = *self.quotients(step), len(step.operands)
        text = f"({{{step.detail[1][0]}}} == inf ? {beyond} : {plain})"
        return Template(text, ATOM, (ATOM,) * count)

    def strong(self, step: Step) -> Template:
        assert isinstance(step.op, ops.Strong)
        zero = " || ".join([f"{{{k}}} == 0" for k in (0, 1) if step.op.kills[k]])
        return Template(f"({zero} ? 0 : {{0}}*{{1}})", ATOM, (ATOM, ATOM))

    def kernel(self, step: Step) -> Template:
        count = len(step.operands)
        return Template("*".join(f"{{{k}}}" for k in range(count)), POWER, (ATOM,) * count)

    def shifted(self, step: Step) -> Template:
        raise NotImplementedError

    monomial = of_numbers = shifted

    def size(self, name: str) -> str:
        raise NotImplementedError

    def assigned(self, names: Sequence[str], text: str) -> str:
        (name,) = names
        return f"const real {name} = {text};"


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


def _of_lengths(signs: tuple[int, ...]) -> Template:
    """A product of weak numbers, as ``schedule.quotient`` has it; C divides by 0, too."""
    order = (
        range(len(signs)) if signs[0] > 0 else sorted(range(len(signs)), key=lambda k: -signs[k])
    )
    parts = [f"{'*' if signs[k] > 0 else '/'}{{{k}}}" for k in order]
    return Template(f"(1{''.join(parts)})", ATOM, (ATOM,) * len(signs))


def written(
    emitter: Emitter,
    body: Schedule,
    sliced: Sequence[int | None],
    made: Sequence[int | Pads],
    single: bool,
    vector: frozenset[str],
) -> Written:
    """A kernel's body as a function of C; ``vector`` are the vector functions that there are.

    ``made`` are the results, see ``Kernel.pads``.
    """
    return _Writer(emitter, body, sliced, made, single, vector).written()


class _Writer:
    """Writes one kernel."""

    def __init__(
        self,
        emitter: Emitter,
        body: Schedule,
        sliced: Sequence[int | None],
        made: Sequence[int | Pads],
        single: bool,
        vector: frozenset[str],
    ) -> None:
        self.body, self.single, self.vector = body, single, vector
        self.steps = body.definitions()
        self.printer = CPrinter(emitter, body)
        self.dims: dict[Dim, str] = {}
        self.inner = {
            v: tuple([n for n in shape if n is not ROWS])
            for step in body.steps
            for v, shape in zip(step.results, step.shapes, strict=True)
        }
        self.count = body.length
        self.some: dict[Dim, None] = {}  # lengths that have to be positive
        self.operands = [self._array(v, axis) for v, axis in zip(body.params, sliced, strict=True)]
        self.operands += [
            self._array(step.results[0], None) for step in body.steps if step.form == "array"
        ]
        self.lines: list[Line] = []
        for step in body.steps:
            if not step.weak and not step.leaf:
                self._add(step)
        self.back: dict[int, int] = {}  # how many rows of the block before are read of a value
        self.sums: dict[int, list[tuple[int, int]]] = {}  # their operands, and how far back each is
        every = [self._result(x) for x in made]
        self.results = tuple({x.value: x for x in every}.values())
        self.order = tuple([self.results.index(x) for x in every])
        # Of a block that is computed for what is behind it, no row is a result.
        self.own = "n" if self.back else "m"
        self.folds = {line.value: line for line in self.lines if line.fold}
        self.loops = self._later(self._looped())
        self.place = {v: k for k, loop in enumerate(self.loops) for v in loop.members}
        self.stored = self._stored()
        places = {x.value: k for k, x in enumerate(self.results)}
        self.products = {line.value: places[line.value] for line in self.lines if line.is_product}
        self.direct = {  # what a whole block may read and write where it is
            x.value
            for x in (*self.operands, *self.results)
            if x.axis is not None and x.dtype is float
        }

    # Lines ----------------------------------------------------------------------------------------

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
        fold = "+" if step.form == "kernel" and set(out) != set(lengths) else ""
        self._line(text, list(zip(step.operands, operands, strict=True)), lengths, (v, out), fold)

    def _exponentials(
        self, x: int, letters: Word, lengths: dict[object, Dim], results: Sequence[int]
    ) -> None:
        """The logarithm of the sum of exponentials over the last axis, and their shares of it.

        Less the largest of them; beside an infinity all others have no share, however large.
        """
        batch = letters[:-1]
        top, base, e, total = [self._new(batch, lengths) for _ in range(4)]
        self.inner[e] = self.inner[x]
        self._line("{0}", [(x, letters)], lengths, (top, batch), "max")
        self._line("f_finite({0})", [(top, batch)], lengths, (base, batch))
        self._line("f_exp({0} - {1})", [(x, letters), (base, batch)], lengths, (e, letters))
        self._line("{0}", [(e, letters)], lengths, (total, batch), "+")
        self._line(
            "f_log({0}) + {1}", [(total, batch), (base, batch)], lengths, (results[0], batch)
        )
        if len(results) > 1:
            over = [(e, letters), (total, batch)]
            self._line("{0}/{1}", over, lengths, (results[1], letters))

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
            )
        )

    # Loops ----------------------------------------------------------------------------------------

    def _looped(self) -> list[_Loop]:
        """The loops: each line in the first one behind what it reads."""
        loops: list[_Loop] = []
        place: dict[int, int] = {}
        for line in self.lines:
            least = 0
            for x in line.operands:
                if x in place:
                    least = max(least, place[x] + (not _same(x, loops[place[x]].dims, line)))
            for k in range(least, len(loops) + 1):
                if k == len(loops):
                    loops.append(_Loop(line.dims, [line], {line.value}))
                    place[line.value] = k
                    break
                loop = loops[k]
                alike = loop.dims == line.dims and not line.is_product
                if alike and not loop.lines[0].is_product and len(loop.lines) < STATEMENTS:
                    loop.lines.append(line)
                    loop.members.add(line.value)
                    place[line.value] = k
                    break
        return loops

    def _later(self, loops: list[_Loop]) -> list[_Loop]:
        """The loops, with lines in the first one that reads them, where it may be the same."""
        place = {v: k for k, loop in enumerate(loops) for v in loop.members}
        readers: dict[int, list[Line]] = {}
        for line in self.lines:
            for x in line.operands:
                readers.setdefault(x, []).append(line)
        for line in reversed(self.lines):
            first = min([place[x.value] for x in readers.get(line.value, [])], default=0)
            if first > place[line.value] and not line.is_product:
                here = [x for x in readers[line.value] if place[x.value] == first]
                if all(_same(line.value, line.dims, x) for x in here):
                    room = sum(at == first for at in place.values()) < STATEMENTS
                    place[line.value] = first if room else place[line.value]
        parted: list[list[Line]] = [[] for _ in loops]
        for line in self.lines:
            parted[place[line.value]].append(line)
        return [_Loop(x[0].dims, x, {line.value for line in x}) for x in parted if x]

    def _stored(self) -> dict[int, None]:
        """The values on the way that are in memory: what another loop reads, or the caller."""
        results = {x.value for x in self.results}
        found = {v: None for v in self.place if v in self.folds or v in results}
        for line in self.lines:
            own = self.place[line.value]
            found.update({x: None for x in line.operands if self.place.get(x, own) != own})
        return found

    # Texts ----------------------------------------------------------------------------------------

    def _length(self, dim: Dim) -> str:
        if isinstance(dim, int):
            return str(dim)
        return self.dims.setdefault(dim, f"n{len(self.dims)}")

    def _index(self, word: Word, shape: Shape, names: dict[object, str]) -> str:
        """The place of an element among those of an array of this shape."""
        text = "0"
        for letter, dim in zip(word, shape, strict=True):
            at = "0" if letter is None else names[letter]
            text = at if text == "0" else f"({text}*{self._length(dim)} + {at})"
        return text

    def _operand(
        self, x: int, word: Word, rows: bool, loop: int, names: dict[object, str], back: int
    ) -> str:
        if x < len(self.steps) and self.steps[x].weak:
            return weak_text(self.printer, self.steps, x, self._length)
        if self.place.get(x) == loop:
            return f"v{x}"
        if not rows:
            return f"w{x}[{self._index(word, self.inner[x], names)}]"
        return self._own_cell(x, word, names, f"r - {back}") if back else self._cell(x, word, names)

    def _cell(self, v: int, word: Word, names: dict[object, str]) -> str:
        """An element of a value in lane r: of ``x``, which may be the caller's, or of ``s``."""
        if v not in self.direct:
            return self._own_cell(v, word, names)
        terms = [f"{names[k]}*e{v}_{j}" for j, k in enumerate(word) if k is not None]
        return f"x{v}[{' + '.join([*terms, 'r'])}]"

    def _own_cell(self, v: int, word: Word, names: dict[object, str], row: str = "r") -> str:
        at = self._index(word, self.inner[v], names)
        block = "2*LANES" if v in self.back else "PITCH"
        return f"s{v}[{row}]" if at == "0" else f"s{v}[{at}*{block} + {row}]"

    def _statements(self, place: int, loop: _Loop) -> list[str]:
        """The body of a loop."""
        lines = []
        for line in loop.lines:
            v = line.value
            names: dict[object, str] = {letter: f"i{k}" for k, letter in enumerate(line.letters)}
            texts = []
            for at in product(*[range(n) for _, n in line.terms]):
                names.update(zip([k for k, _ in line.terms], map(str, at), strict=True))
                texts.append(line.text.format(*self._cells(place, line, names)))
            lines.append(f"const real v{v} = {_in_pairs(texts)};")
            kept = self._cell(v, line.out, names)
            if not line.fold:
                lines += [f"{kept} = v{v};"] * (v in self.stored)
            elif not line.rows[-1]:
                lines.append(f"{kept} += r < {self.own} ? v{v} : 0;")
            elif line.fold == "+":
                lines.append(f"{kept} += v{v};")
            else:
                lines.append(f"{kept} = f_{line.fold}imum({kept}, v{v});")
        return lines

    def _cells(self, place: int, line: Line, names: dict[object, str]) -> list[str]:
        """The operands of a line, as expressions of C."""
        back = line.back or repeat(0)
        each = zip(line.operands, line.words, line.rows, back, strict=False)
        return [self._operand(x, word, rows, place, names, k) for x, word, rows, k in each]

    def _product(self, place: int, line: Line) -> list[str]:
        """One element of a sum over rows of products: eight sums, which stay in registers."""
        names: dict[object, str] = {letter: f"i{k}" for k, letter in enumerate(line.letters)}
        cells = self._cells(place, line, names)
        wide = [f"AT({x})" if rows else x for x, rows in zip(cells, line.rows, strict=False)]
        at = self._index(line.out, self.inner[line.value], names)
        return [
            "{",
            "    eight z = {0};",
            "    int r = 0;",
            f"    for (; r + 8 <= {self.own}; r += 8) z += {line.text.format(*wide)};",
            f"    if (r < {self.own}) {{",
            "        real rest[8] = {0};",
            f"        for (; r < {self.own}; r++) rest[r % 8] = {line.text.format(*cells)};",
            "        z += AT(rest[0]);",
            "    }",
            f"    s{line.value}[{at}] += TOTAL(z);",
            "}",
        ]

    def _nested(self, dims: Shape, lines: Sequence[str], depth: int = 0) -> list[str]:
        """Loops over axes around lines."""
        found = []
        for k, dim in enumerate(dims):
            indent = "    " * (depth + k)
            found.append(f"{indent}for (long i{k} = 0; i{k} < {self._length(dim)}; i{k}++)")
        indent = "    " * (depth + len(dims))
        return [*found, *[f"{indent}{line}" for line in lines]]

    def _count(self, shape: Shape) -> str:
        return "*".join(["1", *[self._length(dim) for dim in shape]])

    def written(self) -> Written:
        """The whole function."""
        blocks = [*self._begun(), *self._computed(), *self._ended()]
        sums = [
            (k, x)
            for k, x in enumerate(self.results)
            if x.axis is None and x.value not in self.products
        ]
        body = [
            *self._found(),  # it asks for lengths that nothing else does
            *[f"    fill(s{x.value}, PITCH*{self._count(x.shape)});" for _, x in sums],
            *[
                f"    real *restrict s{v} = out[{k}]; fill(s{v}, {self._count(self.inner[v])});"
                for v, k in self.products.items()
            ],
            *[f"    fill(s{v} - LANES, 2*LANES*{self._count(self.inner[v])});" for v in self.back],
            f"    long i = {'before ? -LANES : 0' if self.back else '0'};",
            "    for (; i < rows; i += LANES) {",
            "        const int m = rows - i < LANES ? rows - i : LANES;",
            *["        const int n = i < 0 ? 0 : m;"] * bool(self.back),
            *[f"        {line}" for line in blocks],
            "    }",
            *[f"    {line}" for line in self._around()],
            *[
                f"    for (long k = 0; k < {self._count(x.shape)}; k++)"
                f" ((real *)out[{k}])[k] = total(s{x.value} + k*PITCH);"
                for k, x in sums
            ],
        ]
        lengths = [
            f"    const long {name} = dims[{k}];" for k, name in enumerate(self.dims.values())
        ]
        text = "\n".join(
            [
                HEAD.format(real="float" if self.single else "double", lanes=LANES),
                ARRAYS.format(head=object.__basicsize__),
                *definitions("\n".join(body), self.single, self.vector),
                "void kernel(long before, long rows, long behind, const void **in, void **out,",
                "            const long *strides, const long *dims, real *scratch) {",
                *lengths,
                *body,
                "}",
                *self._entry(),
                "",
            ]
        )
        kept = tuple([shape for _, shape in self._arrays()])
        found = tuple(self.operands), self.results, tuple(self.dims), kept
        return Written(text, *found, tuple(self.some), self.order)

    def _entry(self) -> list[str]:
        """The function ``call``: the same for arrays as Python has them, if they are as expected.

        ``plan`` is the rows, how many numbers a block takes on its way, the addresses of the class
        of arrays and of two dtypes, and the lengths.
        """
        each = [*self.operands, *self.results]
        checks, strides = [], []
        for k, x in enumerate(each):
            result = k >= len(self.operands)
            shape = x.whole
            real = x.dtype is float or x.axis is None
            checks.append(f"fits(a{k}, {len(shape)}, plan->{'real' if real else 'truth'}, plan)")
            if real:
                checks.append(f"aligned(a{k})")
            for axis, dim in enumerate(shape):
                length = f"plan->rows + {sum(x.around)}" if dim is ROWS else self._length(dim)
                checks.append(f"a{k}->dims[{axis}] == {length}")
            if x.axis is None:
                if not result:
                    checks.append(f"in_a_row(a{k})")
                continue
            order = (x.axis, *[axis for axis in range(len(shape)) if axis != x.axis])
            strides += [f"a{k}->strides[{axis}]" for axis in order]
        count = len(self.operands)
        arguments = ", ".join(f"array *a{k}" for k in range(len(each)))
        return [
            f"int call(const struct plan *plan, {arguments}) {{",
            *[
                f"    const long {name} = plan->dims[{k}];"
                for k, name in enumerate(self.dims.values())
            ],
            f"    if (!({' && '.join(checks)})) return 0;",
            f"    const void *in[] = {{{', '.join(f'a{k}->data' for k in range(count)) or '0'}}};",
            f"    void *out[] = {{{', '.join(f'a{k}->data' for k in range(count, len(each)))}}};",
            f"    const long strides[] = {{{', '.join(strides) or '0'}}};",
            "    real scratch[plan->lanes + 1];",
            "    kernel(0, plan->rows, 0, in, out, strides, plan->dims, scratch);",
            "    return 1;",
            "}",
        ]

    def _arrays(self) -> list[tuple[int, Shape]]:
        """The values that have memory of a block, and their axes but the rows."""
        rows = [(x.value, x.shape) for x in self.operands if x.axis is not None]
        return rows + [
            (v, (2, *self.inner[v]) if v in self.back else self.inner[v])
            for v in self.stored
            if v not in self.products
        ]

    def _found(self) -> list[str]:
        """Where operands, results and values on the way are: p, w; q; s.  t and u are strides."""
        lines = [
            f"    real *restrict s{v} = scratch; scratch += PITCH*{self._count(shape)};"
            for v, shape in self._arrays()
        ]
        lines += [f"    s{v} += LANES;" for v in self.back]
        at = 0
        for k, x in enumerate(self.operands):
            v = x.value
            if x.axis is None:
                lines.append(f"    const real *restrict w{v} = in[{k}];")
            else:
                lines.append(f"    const char *p{v} = in[{k}]; const long *t{v} = strides + {at};")
                at += 1 + len(x.shape)
        for k, x in enumerate(self.results):
            if x.axis is not None:
                there = f"(char *)out[{k}] + {x.around[0]}*u{k}[0]" if x.around[0] else f"out[{k}]"
                lines.append(f"    const long *u{k} = strides + {at}; char *q{k} = {there};")
                at += 1 + len(x.shape)
        return lines

    def _begun(self) -> list[str]:
        """What is read before a block is computed."""
        lines = []
        for v, rows in self.back.items():
            own = self._letters(self.inner[v])
            moved = " = ".join([self._own_cell(v, *own, row) for row in ("r - LANES", "r")])
            each = [f"for (int r = LANES - {rows}; r < LANES; r++) {moved};"]
            lines += self._nested(self.inner[v], each)
        lines += [line for x in self.operands if x.axis is not None for line in self._read(x)]
        for k, x in enumerate(self.results):
            if x.value in self.direct:
                lines += self._where(x, self.own, "", f"q{k}", f"u{k}")
        for v, line in self.folds.items():
            if line.rows[-1]:
                letters = tuple(range(len(self.inner[v])))
                cell = self._cell(v, letters, {k: f"i{k}" for k in letters})
                start = ["for (int r = 0; r < LANES; r++)", f"    {cell} = {_EMPTY[line.fold]};"]
                lines += self._nested(self.inner[v], start)
        return lines

    def _computed(self) -> list[str]:
        """The loops of a block."""
        lines = []
        for place, loop in enumerate(self.loops):
            before, texts = _read_before(self._statements(place, loop))
            inner = [
                "{",
                *[f"    {line}" for line in before],
                "    #pragma GCC ivdep",
                "    for (int r = 0; r < LANES; r++) {",
                *[f"        {line}" for line in texts],
                "    }",
                "}",
            ]
            if loop.lines[0].is_product:
                inner = [text for line in loop.lines for text in self._product(place, line)]
            lines += self._nested(loop.dims, inner)
        return lines

    def _ended(self) -> list[str]:
        """What is written once a block is computed."""
        every = [(k, x) for k, x in enumerate(self.results) if x.axis is not None]
        return [line for k, x in every for line in self._write(k, x)]

    def _around(self) -> list[str]:
        """What is written before the first row and behind the last one, by whom these belong to."""
        lines = []
        for k, x in enumerate(self.results):
            low, high = x.around
            letters, names = self._letters(x.shape)
            offset = "".join(f" + i{j}*u{k}[{j + 1}]" for j in range(len(x.shape)))
            there = f"*(real *)(q{k} + j*u{k}[0]{offset})"
            if low:
                each = [f"for (long j = -{low}; j < 0; j++) {there} = 0;"]
                lines += ["if (!before)", *self._nested(x.shape, each, 1)]
            if high:
                text = "0"
                for v, back in self.sums[x.value]:
                    row = f"j - {back} - i + LANES"
                    cell = self._own_cell(v, letters, names, row)
                    text += f" + (j - {back} < rows ? {cell} : 0)" * (back > 0)
                each = [f"for (long j = rows; j < rows + {high}; j++) {there} = {text};"]
                lines += ["if (!behind)", *self._nested(x.shape, each, 1)]
        return lines

    def _axis(self, v: int) -> int | None:
        shape = self._shape(v)
        return next((k for k, dim in enumerate(shape) if dim is ROWS), None)

    def _read(self, x: Array) -> list[str]:
        """Turn a block of an operand around, if it has to be."""
        v, own = x.value, self._letters(x.shape)
        offset = "".join(f" + i{k}*t{v}[{k + 1}]" for k in range(len(x.shape)))
        there = f"*(const {_KINDS[x.dtype]} *)(p{v} + (i + (r < m ? r : 0))*t{v}[0]{offset})"
        lines = self._turned(x.shape, f"{self._own_cell(v, *own)} = {there};")
        if v not in self.direct:
            return lines
        lines = self._whole(x, "m", f"p{v}", f"t{v}", False, lines)
        return [
            *self._where(x, "m", "const ", f"p{v}", f"t{v}"),
            f"if (x{v} == s{v}) {{",
            *[f"    {line}" for line in lines],
            "}",
        ]

    def _where(self, x: Array, rows: str, const: str, pointer: str, strides: str) -> list[str]:
        """Where a whole block is whose rows lie one after the other; else it is turned around."""
        v = x.value
        plain = f"{rows} == LANES && {strides}[0] == sizeof(real)"
        lines = [f"{const}real *restrict x{v} = {plain} ? ({const}real *){pointer} + i : s{v};"]
        for k in range(len(x.shape)):
            own = f"PITCH*{self._count(x.shape[k + 1 :])}"
            there = f"{strides}[{k + 1}]/(long)sizeof(real)"
            lines.append(f"const long e{v}_{k} = x{v} == s{v} ? {own} : {there};")
        return lines

    def _write(self, k: int, x: Array) -> list[str]:
        """Turn a block of a result back."""
        v, own = x.value, self._letters(x.shape)
        offset = "".join(f" + i{j}*u{k}[{j + 1}]" for j in range(len(x.shape)))
        there = f"*({_KINDS[x.dtype]} *)(q{k} + (i + r)*u{k}[0]{offset})"
        lines = self._turned(x.shape, f"if (r < {self.own}) {there} = {self._own_cell(v, *own)};")
        if v not in self.direct:
            return lines
        lines = self._whole(x, self.own, f"q{k}", f"u{k}", True, lines)
        return [f"if (x{v} == s{v}) {{", *[f"    {line}" for line in lines], "}"]

    def _whole(
        self, x: Array, rows: str, pointer: str, strides: str, back: bool, lines: Sequence[str]
    ) -> list[str]:
        """Turn a whole block whose rows lie each in one piece; what is no such by ``lines``."""
        if not x.shape:
            return list(lines)
        whole = [f"{rows} == LANES"]
        for k, dim in enumerate(x.shape):
            if dim != 1:
                count = self._count(x.shape[k + 1 :])
                whole.append(f"{strides}[{k + 1}] == sizeof(real)*{count}")
        there = f"(char *){pointer} + i*{strides}[0], {strides}[0], (char *)s{x.value}"
        return [
            f"if ({' && '.join(whole)})",
            f"    turn({there}, {self._count(x.shape)}, {int(back)});",
            "else {",
            *[f"    {line}" for line in lines],
            "}",
        ]

    def _letters(self, shape: Shape) -> tuple[Word, dict[object, str]]:
        """The axes of an array as loops over all of them have them."""
        letters = tuple(range(len(shape)))
        return letters, {k: f"i{k}" for k in letters}

    def _turned(self, shape: Shape, line: str) -> list[str]:
        """Loops that go along the rows on one side, and along other axes on the other.

        A few rows at a time, so that neither side jumps about in the cache.
        """
        inner = self._nested(shape, ["for (int r = h; r < h + 8; r++)", f"    {line}"])
        return ["for (int h = 0; h < LANES; h += 8)", *[f"    {text}" for text in inner]]


def _in_pairs(texts: Sequence[str]) -> str:
    """A sum, of halves: its terms wait for few of each other, and are rounded as often.

    >>> _in_pairs(["a", "b", "c"])
    '(a + (b + c))'
    """
    half = len(texts) // 2
    return f"({_in_pairs(texts[:half])} + {_in_pairs(texts[half:])})" if half else texts[0]


_WHOLE = re.compile(r"\bw\d+\[[^\]]*\]")


def _read_before(lines: Sequence[str]) -> tuple[list[str], list[str]]:
    """Lines that read what is not of a row, and the others, in which it has names."""
    read = dict.fromkeys([text for line in lines for text in _WHOLE.findall(line)])
    names = {text: f"c{k}" for k, text in enumerate(read)}
    before = [f"const real {name} = {text};" for text, name in names.items()]
    return before, [_WHOLE.sub(lambda x: names[x[0]], line) for line in lines]


_EMPTY = {"+": "0", "max": "-inf", "min": "inf"}
_KINDS: dict[Dtype, str] = {float: "real", bool: "unsigned char"}
HEAD = """\
#include <math.h>
typedef {real} real;
#define LANES {lanes}
#define PITCH (LANES + LANES/8)
#define SIMD __attribute__((const, simd("notinbranch")))
#define inf INFINITY
#define nan NAN
static inline void fill(real *x, long n) {{ for (long k = 0; k < n; k++) x[k] = 0; }}
static inline real total(real *x) {{
    for (int w = LANES/2; w; w /= 2)
        for (int r = 0; r < w; r++) x[r] += x[r + w];
    return x[0];
}}
typedef real eight __attribute__((vector_size(8*sizeof(real)), aligned(sizeof(real)), may_alias));
#define AT(x) (*(const eight *)&(x))
#define TOTAL(z) (((z[0] + z[4]) + (z[2] + z[6])) + ((z[1] + z[5]) + (z[3] + z[7])))"""
ARRAYS = """\
#ifndef __has_builtin
#define __has_builtin(x) 0
#endif
#if __has_builtin(__builtin_shufflevector) && __has_builtin(__builtin_prefetch)
typedef real four __attribute__((vector_size(4*sizeof(real)), aligned(sizeof(real)), may_alias));
#define MIX __builtin_shufflevector
static inline void tile(const char *p, long step, char *q, long other) {{
    const four a = *(four *)p, b = *(four *)(p + step);
    const four c = *(four *)(p + 2*step), d = *(four *)(p + 3*step);
    const four e = MIX(a, b, 0, 4, 2, 6), f = MIX(a, b, 1, 5, 3, 7);
    const four g = MIX(c, d, 0, 4, 2, 6), h = MIX(c, d, 1, 5, 3, 7);
    *(four *)q = MIX(e, g, 0, 1, 4, 5), *(four *)(q + other) = MIX(f, h, 0, 1, 4, 5);
    *(four *)(q + 2*other) = MIX(e, g, 2, 3, 6, 7), *(four *)(q + 3*other) = MIX(f, h, 2, 3, 6, 7);
}}
static inline void soon(const char *p, long step) {{
    __builtin_prefetch(p), __builtin_prefetch(p + step);
    __builtin_prefetch(p + 2*step), __builtin_prefetch(p + 3*step);
}}
#else
static inline void tile(const char *p, long step, char *q, long other) {{
    for (int k = 0; k < 4; k++)
        for (int j = 0; j < 4; j++)
            *(real *)(q + j*other + k*sizeof(real)) = *(const real *)(p + k*step + j*sizeof(real));
}}
static inline void soon(const char *p, long step) {{}}
#endif
static inline void turn(char *far, long step, char *near, long count, int back) {{
    const long size = sizeof(real), other = PITCH*size;
    for (int r = 0; r < LANES; r += 4) {{
        long k = 0;
        for (; k + 4 <= count; k += 4) {{
            char *x = far + r*step + k*size, *y = near + k*other + r*size;
            soon(x + 8*step, step);
            if (back) tile(y, other, x, step);
            else tile(x, step, y, other);
        }}
        for (; k < count; k++)
            for (int j = r; j < r + 4; j++) {{
                real *x = (real *)(far + j*step + k*size), *y = (real *)near + k*PITCH + j;
                if (back) *x = *y;
                else *y = *x;
            }}
    }}
}}
typedef struct {{
    char head[{head} - sizeof(void *)]; void *class; char *data; int ndim; long *dims, *strides;
    void *base, *dtype;
}} array;
struct plan {{ long rows, lanes; const void *class, *real, *truth; long dims[]; }};
static inline int fits(const array *a, int ndim, const void *dtype, const struct plan *plan) {{
    return a->class == plan->class && a->dtype == dtype && a->ndim == ndim;
}}
static inline int aligned(const array *a) {{
    unsigned long places = (unsigned long)a->data;
    for (int k = 0; k < a->ndim; k++) places |= a->strides[k];
    return places % sizeof(real) == 0;
}}
static inline int in_a_row(const array *a) {{
    long step = sizeof(real);
    for (int k = a->ndim; k--; step *= a->dims[k])
        if (a->dims[k] != 1 && a->strides[k] != step) return 0;
    return 1;
}}"""
_NUMBER = re.compile(r"(?<![\w.{])\d+(\.\d*)?([eE][+-]?\d+)?(?![\w.}])")


def real(text: str) -> str:
    """A text in which whole numbers are real ones: 1/2 is a half in C, too."""
    return _NUMBER.sub(lambda x: x[0] if x[1] or x[2] else f"{x[0]}.0", text)


def weak_text(
    printer: Printer, steps: Sequence[Step], v: int, length: Callable[[Dim], str] = str
) -> str:
    """A number as it is written, ``length`` says how the length of an axis is."""
    texts: dict[int, str] = {}
    stack = [(v, False)]
    while stack:
        x, ready = stack.pop()
        step = steps[x]
        if step.form == "number":
            texts[x] = f"({float(weak(step.detail))!r})"
        elif step.form == "size":
            texts[x] = f"((real){length(step.detail)})"
        elif ready:
            inner = real(printer.template(step).text).format(*[texts[y] for y in step.operands])
            texts[x] = f"({inner})"
        else:
            stack.append((x, True))
            stack += [(y, False) for y in step.operands]
    return texts[v]
