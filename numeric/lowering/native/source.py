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

import re
from itertools import product, repeat
from typing import TYPE_CHECKING, NamedTuple

from numeric.lowering.native.functions import calls_library, definitions
from numeric.lowering.native.loops import LANES, NEAR, Loops
from numeric.lowering.native.printer import weak_text
from numeric.lowering.native.tiles import of_tiles, over_rows, with_matrix
from numeric.lowering.passes.rows import ROWS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numeric.lowering.native.loops import Array, Line, Loop
    from numeric.lowering.passes.rows import Word
    from symdiff.graph.node import Dim, Dtype, Shape

LINE = 64
"""The bytes of a line of the cache.  The memory of a block begins with one: where a vector lies in
two lines, both are read."""


def pitch(size: int) -> int:
    """The memory of a row of lanes, in numbers of so many bytes: whole lines, and one more.

    Rows of a power of two share few places of the nearest cache.
    """
    return LANES + LINE // size


_LONG = 400  # values from which on a block is computed by several functions, see STATEMENTS
_ON_STACK = 1024  # numbers on the way; threads may have little, as 128 KB by default with musl
_PART = 200  # statements of one of these, if its first loop has no more


def in_parts(of: Loops) -> bool:
    """Whether a block is computed by several functions."""
    return len(of.lines) + len(of.operands) > _LONG


class Written(NamedTuple):
    """A function of C, ``kernel``, and what it is called with."""

    text: str
    operands: tuple[Array, ...]
    results: tuple[Array, ...]
    dims: tuple[Dim, ...]  # the lengths that are asked for when it is called
    scratch: tuple[Shape, ...]  # the arrays on the way, without their lanes
    some: tuple[Dim, ...]  # the lengths of which 0 is refused
    order: tuple[int, ...]  # the places of what is asked for among the results


class Source:
    """Writes one kernel."""

    step = "LANES"  # the rows of a block
    defined: tuple[str, ...] = ()

    def __init__(self, of: Loops, single: bool, vector: frozenset[str]) -> None:
        self.of, self.single, self.vector = of, single, vector
        self.dims: dict[Dim, str] = {}
        # Of a block that is computed for what is behind it, no row is a result.
        self.own = "n" if of.back else "m"
        self.is_long = in_parts(of)
        self.direct = {  # what a whole block may read and write where it is
            x.value
            for x in (*of.operands, *of.results)
            if x.axis is not None and x.dtype is float and not self.is_long
        }

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
        if x < len(self.of.steps) and self.of.steps[x].weak:
            return weak_text(self.of.printer, self.of.steps, x, self._length)
        if self.of.place.get(x) == loop:
            return f"v{x}"
        if not rows:
            return f"w{x}[{self._index(word, self.of.inner[x], names)}]"
        return self._own_cell(x, word, names, f"r - {back}") if back else self._cell(x, word, names)

    def _cell(self, v: int, word: Word, names: dict[object, str]) -> str:
        """An element of a value in lane r: of ``x``, which may be the caller's, or of ``s``."""
        if v not in self.direct:
            return self._own_cell(v, word, names)
        terms = [f"{names[k]}*e{v}_{j}" for j, k in enumerate(word) if k is not None]
        return f"x{v}[{' + '.join([*terms, 'r'])}]"

    def _own_cell(self, v: int, word: Word, names: dict[object, str], row: str = "r") -> str:
        at = self._index(word, self.of.inner[v], names)
        block = "2*LANES" if v in self.of.back else "PITCH"
        return f"s{v}[{row}]" if at == "0" else f"s{v}[{at}*{block} + {row}]"

    def _statements(self, place: int, loop: Loop) -> list[str]:
        """The body of a loop."""
        lines = []
        for line in loop.lines:
            v, names = line.value, self._names(line)
            texts = []
            for at in product(*[range(n) for _, n in line.terms]):
                names.update(zip([k for k, _ in line.terms], map(str, at), strict=True))
                texts.append(line.text.format(*self._cells(place, line, names)))
            lines.append(f"const real v{v} = {in_pairs(texts)};")
            if line.fold:
                lines += added(line, *self._sum(line, names), self._term(line))
            elif v in self.of.stored:
                lines.append(f"{self._cell(v, line.out, names)} = v{v};")
        return lines

    def _names(self, line: Line) -> dict[object, str]:
        """The places along the axes of a line's loop."""
        return {letter: f"i{k}" for k, letter in enumerate(line.letters)}

    def _sum(self, line: Line, names: dict[object, str]) -> tuple[str, str]:
        """What a line adds to, and what a long sum has more than it should."""
        return self._kept_at(line.value, line.out, names)

    def _kept_at(self, v: int, word: Word, names: dict[object, str]) -> tuple[str, str]:
        return self._cell(v, word, names), "d" + self._own_cell(v, word, names)[1:]

    def _lanes(self, v: int) -> str:
        """How many rows of a block there is memory for."""
        return "LANES"

    def _term(self, line: Line) -> str:
        """What a line adds."""
        return f"v{line.value}" if line.rows[-1] else f"(r < {self.own} ? v{line.value} : 0)"

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
        at = self._index(line.out, self.of.inner[line.value], names)
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

    def _tiles(self, place: int, line: Line) -> list[str]:
        """Sums of products that share what they read."""
        v = line.value

        def cells(names: dict[object, str]) -> list[str]:
            return self._cells(place, line, names)

        def cell(names: dict[object, str]) -> str:
            if line.is_matrix:
                return self._cell(v, line.out, names)
            return f"s{v}[{self._index(line.out, self.of.inner[v], names)}]"

        if line.is_matrix:
            return with_matrix(line, cells, cell, self._length)
        return over_rows(line, cells, cell, self._length, self.own)

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
        pieces = [*self._begun(), *self._computed(), *self._ended()]
        sums = [
            (k, x)
            for k, x in enumerate(self.of.results)
            if x.axis is None and x.value not in self.of.products
        ]
        found = [
            *self._found(),  # it asks for lengths that nothing else does
            *[
                f"    real *restrict s{v} = o{k}; fill(s{v}, {self._count(self.of.inner[v])});"
                for v, k in self.of.products.items()
            ],
        ]
        lengths = [
            f"    const long {name} = dims[{k}];" for k, name in enumerate(self.dims.values())
        ]
        parts: list[str] = []
        if self.is_long:
            more, parts, pieces = _parted([*lengths, *found], pieces, self.own)
            found += more
        body = [
            *found,
            *[f"    fill(s{x.value}, PITCH*{self._count(self._kept(x.value))});" for _, x in sums],
            *[
                f"    fill(s{v} - LANES, 2*LANES*{self._count(self.of.inner[v])});"
                for v in self.of.back
            ],
            f"    long i = {'before ? -LANES : 0' if self.of.back else '0'};",
            f"    for (; i < rows; i += {self.step}) {{",
            f"        const int m = rows - i < {self.step} ? rows - i : {self.step};",
            *["        const int n = i < 0 ? 0 : m;"] * (self.own == "n"),
            *[f"        {line}" for piece in pieces for line in piece],
            "    }",
            *[f"    {line}" for line in self._around()],
            *[f"    {line}" for k, x in sums for line in self._totals(k, x)],
        ]
        text = "\n".join(
            [
                head(self.single),
                ARRAYS.format(head=object.__basicsize__),
                *self.defined,
                *[of_tiles(self.single)]
                * any(line.shared for line in self.of.lines if line.is_alone),
                *definitions("\n".join([*parts, *body]), self.single, self.vector),
                *parts,
                "void kernel(long part, long before, long rows, long behind, const void **in,",
                "            void **out, const long *strides, const long *dims, real *scratch) {",
                *lengths,
                *body,
                "}",
                *self._entry(),
                "",
            ]
        )
        kept = tuple([shape for _, shape in self._arrays()])
        arrays = tuple(self.of.operands), self.of.results, tuple(self.dims), kept
        return Written(text, *arrays, tuple(self.of.some), self.of.order)

    def _totals(self, k: int, x: Array) -> list[str]:
        """What puts the sums over rows together."""
        return [
            f"for (long k = 0; k < {self._count(x.shape)}; k++)"
            f" o{k}[k] = total(s{x.value} + k*PITCH);"
        ]

    def _entry(self) -> list[str]:
        """The function ``call``: the same for arrays as Python has them, if they are as expected.

        ``plan`` is the rows, how many numbers a block takes on its way, the addresses of the class
        of arrays and of two dtypes, and the lengths.
        """
        each = [*self.of.operands, *self.of.results]
        checks, strides = [], []
        for k, x in enumerate(each):
            result = k >= len(self.of.operands)
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
        count = len(self.of.operands)
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
            f"    const int near = plan->lanes <= {_ON_STACK};",
            f"    const long bytes = (plan->lanes*(long)sizeof(real)/{LINE} + 1)*{LINE};",
            f"    real here[near ? bytes/(long)sizeof(real) : 1] __attribute__((aligned({LINE})));",
            f"    real *scratch = near ? here : aligned_alloc({LINE}, bytes);",
            "    if (!scratch) return 0;",
            "    kernel(0, 0, plan->rows, 0, in, out, strides, plan->dims, scratch);",
            "    if (!near) free(scratch);",
            "    return 1;",
            "}",
        ]

    def _arrays(self) -> list[tuple[int, Shape]]:
        """The values that have memory of a block, and their axes but the rows."""
        rows = [(x.value, x.shape) for x in self.of.operands if x.axis is not None]
        stored = [v for v in self.of.stored if v not in self.of.products]
        return rows + [(v, self._kept(v)) for v in stored]

    def _kept(self, v: int) -> Shape:
        """The axes of a value's memory but the rows: of two blocks, or with what sums carry."""
        blocks = [2] * (v in self.of.back)
        carries = [2] * (v in self.of.folds and self.of.folds[v].is_long)
        return (*carries, *blocks, *self.of.inner[v])

    def _found(self) -> list[str]:
        """Where operands, results and values on the way are: p, w; q, o; s.

        t and u are strides.  Operands and results begin at the first row of all, sums over rows
        with that of the first part.
        """
        lines = [
            f"    real *restrict s{v} = scratch; scratch += PITCH*{self._count(shape)};"
            for v, shape in self._arrays()
        ]
        lines += [
            f"    real *restrict d{v} = s{v} + PITCH*{self._count(self._kept(v)[1:])};"
            for v, line in self.of.folds.items()
            if line.is_long
        ]
        lines += [f"    s{v} += LANES;" for v in self.of.back]
        at = 0
        for k, x in enumerate(self.of.operands):
            v = x.value
            if x.axis is None:
                lines.append(f"    const real *restrict w{v} = in[{k}];")
            else:
                lines += [
                    f"    const long *t{v} = strides + {at};",
                    f"    const char *p{v} = (const char *)in[{k}] + before*t{v}[0];",
                ]
                at += 1 + len(x.shape)
        for k, x in enumerate(self.of.results):
            if x.axis is None:
                lines.append(f"    real *o{k} = (real *)out[{k}] + part*{self._count(x.shape)};")
                continue
            first = f"(before + {x.around[0]})" if x.around[0] else "before"
            lines += [
                f"    const long *u{k} = strides + {at};",
                f"    char *q{k} = (char *)out[{k}] + {first}*u{k}[0];",
            ]
            at += 1 + len(x.shape)
        return lines

    def _begun(self) -> list[list[str]]:
        """What is read before a block is computed."""
        pieces = []
        for v, rows in self.of.back.items():
            own = self._letters(self.of.inner[v])
            moved = " = ".join([self._own_cell(v, *own, row) for row in ("r - LANES", "r")])
            each = [f"for (int r = LANES - {rows}; r < LANES; r++) {moved};"]
            pieces.append(self._nested(self.of.inner[v], each))
        pieces += [self._read(x) for x in self.of.operands if x.axis is not None]
        for k, x in enumerate(self.of.results):
            if x.value in self.direct:
                pieces.append(self._where(x, self.own, "", f"q{k}", f"u{k}"))
        for v, line in self.of.folds.items():
            if line.rows[-1] and not line.is_matrix:
                cell, carry = self._kept_at(v, *self._letters(self.of.inner[v]))
                if line.is_long:
                    cell += f" = {carry}"
                start = [
                    f"for (int r = 0; r < {self._lanes(v)}; r++)",
                    f"    {cell} = {EMPTY[line.fold]};",
                ]
                pieces.append(self._nested(self.of.inner[v], start))
        return pieces

    def _computed(self) -> list[list[str]]:
        """The loops of a block."""
        return [self._where_near(loop, place) for place, loop in enumerate(self.of.loops)]

    def _where_near(self, loop: Loop, place: int) -> list[str]:
        """A loop, in blocks in which something reads what it computes."""
        lines, v = self._loop(place, loop), loop.lines[0].near
        if v is None:
            return lines
        cell = self._cell(v, *self._letters(self.of.inner[v]))
        each = [f"for (int r = 0; r < m; r++) near |= {cell} < {NEAR};"]
        asked = ["int near = 0;", *self._nested(self.of.inner[v], each), "if (near) {"]
        return ["{", *[f"    {x}" for x in asked], *[f"        {x}" for x in lines], "    }", "}"]

    def _loop(self, place: int, loop: Loop) -> list[str]:
        """One of them."""
        before, texts = read_before(self._statements(place, loop))
        inner = [
            "{",
            *[f"    {line}" for line in self._ahead(loop)],
            *[f"    {line}" for line in before],
            "    #pragma GCC ivdep",
            "    for (int r = 0; r < LANES; r++) {",
            *[f"        {line}" for line in texts],
            "    }",
            "}",
        ]
        if loop.lines[0].is_alone:
            (line,) = loop.lines
            if line.shared is not None:
                return self._tiles(place, line)
            inner = self._product(place, line)
        return self._nested(loop.dims, inner)

    def _ahead(self, loop: Loop) -> list[str]:
        """What the next block turns around is fetched while functions of this one are computed."""
        if not any(calls_library(line.text) for line in loop.lines):
            return []
        letters = tuple(range(len(loop.dims)))
        at = self._index(letters, loop.dims, {k: f"i{k}" for k in letters})
        return [
            f"if (x{v} == s{v}) AHEAD(p{v} + i*t{v}[0], t{v}[0], {at});"
            for v, shape in [(x.value, x.shape) for x in self.of.operands if x.axis is not None]
            if v in self.direct and shape == loop.dims != ()
        ]

    def _ended(self) -> list[list[str]]:
        """What is written once a block is computed."""
        return [self._write(k, x) for k, x in enumerate(self.of.results) if x.axis is not None]

    def _around(self) -> list[str]:
        """What is written before the first row and behind the last one, by whom these belong to."""
        lines = []
        for k, x in enumerate(self.of.results):
            low, high = x.around
            letters, names = self._letters(x.shape)
            offset = element(f"u{k}", x.shape)
            there = f"*(real *)(q{k} + j*u{k}[0]{offset})"
            if low:
                each = [f"for (long j = -{low}; j < 0; j++) {there} = 0;"]
                lines += ["if (!before)", *self._nested(x.shape, each, 1)]
            if high:
                text = "0"
                for v, back in self.of.sums[x.value]:
                    row = f"j - {back} - i + LANES"
                    cell = self._own_cell(v, letters, names, row)
                    text += f" + (j - {back} < rows ? {cell} : 0)" * (back > 0)
                each = [f"for (long j = rows; j < rows + {high}; j++) {there} = {text};"]
                lines += ["if (!behind)", *self._nested(x.shape, each, 1)]
        return lines

    def _read(self, x: Array) -> list[str]:
        """Turn a block of an operand around, if it has to be."""
        v, own = x.value, self._letters(x.shape)
        offset = element(f"t{v}", x.shape)
        there = f"*(const {KINDS[x.dtype]} *)(p{v} + (i + (r < m ? r : 0))*t{v}[0]{offset})"
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
        offset = element(f"u{k}", x.shape)
        there = f"*({KINDS[x.dtype]} *)(q{k} + (i + r)*u{k}[0]{offset})"
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


def element(strides: str, shape: Shape) -> str:
    """What an element of the axes but the rows adds to the address of a row.

    >>> element("t3", (4, 5))
    ' + i0*t3[1] + i1*t3[2]'
    """
    return "".join(f" + i{k}*{strides}[{k + 1}]" for k in range(len(shape)))


def in_pairs(texts: Sequence[str], join: str = "({} + {})") -> str:
    """A sum, of halves: its terms wait for few of each other, and are rounded as often.

    >>> in_pairs(["a", "b", "c"])
    '(a + (b + c))'
    """
    half = len(texts) // 2
    if not half:
        return texts[0]
    return join.format(in_pairs(texts[:half], join), in_pairs(texts[half:], join))


_DECLARED = re.compile(r"((?:const )?(?:real|char|long) (?:\*(?:restrict )?)?)(\w+) = ")


_NAME = re.compile(r"\b[a-z]\d+\b")


def _parted(
    declared: Sequence[str], pieces: Sequence[list[str]], own: str
) -> tuple[list[str], list[str], list[list[str]]]:
    """A block's work in functions of a few hundred statements each.

    ``declared`` is what all share, as the lines that say it; ``own`` names how many rows are
    results.  Returns lines that gather what is shared, the functions, and the calls of these in
    place of the pieces.
    """
    known = {name: kind for line in declared for kind, name in _DECLARED.findall(line)}
    groups: list[list[str]] = [[]]
    for piece in pieces:
        if groups[-1] and sum(map(_statements, (*groups[-1], *piece))) > _PART:
            groups.append([])
        groups[-1] += piece
    parts = ["struct shared {", *[f"    {kind}{name};" for name, kind in known.items()], "};"]
    for k, lines in enumerate(groups):
        names = [x for x in dict.fromkeys(_NAME.findall("\n".join(lines))) if x in known]
        parts += [
            f"static OUTLINED void part_{k}(const struct shared *at, long i, int m, int n) {{",
            *[f"    {known[name]}{name} = at->{name};" for name in names],
            *[f"    {line}" for line in lines],
            "}",
        ]
    gathered = [f"    const struct shared all = {{{', '.join(known)}}};"]
    return gathered, parts, [[f"part_{k}(&all, i, m, {own});"] for k in range(len(groups))]


def added(line: Line, kept: str, carry: str, term: str) -> list[str]:
    """A line's element goes to what is kept of those before."""
    v = line.value
    if line.fold != "+":
        return [f"{kept} = {JOINED[line.fold].format(kept, term)};"]
    if not line.is_long:
        return [f"{kept} += {term};"]
    return [
        f"const real y{v} = {term} - {carry}, z{v} = {kept} + y{v};",
        f"{carry} = f_carry(z{v}, {kept}, y{v}); {kept} = z{v};",
    ]


def _statements(line: str) -> int:
    return line.count(";")


_WHOLE = re.compile(r"\bw\d+\[[^\]]*(?<! \+ k)\]")  # k is a column


def read_before(lines: Sequence[str]) -> tuple[list[str], list[str]]:
    """Lines that read what is not of a row, and the others, in which it has names."""
    read = dict.fromkeys([text for line in lines for text in _WHOLE.findall(line)])
    names = {text: f"c{k}" for k, text in enumerate(read)}
    before = [f"const real {name} = {text};" for text, name in names.items()]
    return before, [_WHOLE.sub(lambda x: names[x[0]], line) for line in lines]


EMPTY = {"+": "0", "max": "-inf", "min": "inf", "largest": "-inf"}
JOINED = {
    "+": "({} + {})",
    "max": "f_maximum({}, {})",
    "min": "f_minimum({}, {})",
    "largest": "f_larger({}, {})",
}
"""What is put together: of nothing, and of two."""


KINDS: dict[Dtype, str] = {float: "real", bool: "unsigned char"}

_HEAD = """\
#include <math.h>
#include <stdlib.h>
typedef {real} real;
#define LANES {lanes}
#define PITCH (LANES + {line}/(long)sizeof(real))
#define SIMD __attribute__((const, simd("notinbranch")))
#define OUTLINED __attribute__((noinline))
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


def head(single: bool, lanes: int = LANES) -> str:
    """What every text begins with: numbers of one precision, and blocks of so many rows."""
    return _HEAD.format(real="float" if single else "double", lanes=lanes, line=LINE)


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
#define SOON(p) __builtin_prefetch(p) /* a function of nothing else would be left out */
#else
static inline void tile(const char *p, long step, char *q, long other) {{
    for (int k = 0; k < 4; k++)
        for (int j = 0; j < 4; j++)
            *(real *)(q + j*other + k*sizeof(real)) = *(const real *)(p + k*step + j*sizeof(real));
}}
#define SOON(p)
#endif
#if defined(MIX) && defined(__AVX512F__)
#define IN(k) const eight a##k = *(const eight *)(p + k*step)
#define PAIR(to, x, y, from) \\
    const eight to##x = MIX(from##x, from##y, 0, 8, 2, 10, 4, 12, 6, 14), \\
    to##y = MIX(from##x, from##y, 1, 9, 3, 11, 5, 13, 7, 15)
#define FOUR(to, x, y, from) \\
    const eight to##x = MIX(from##x, from##y, 0, 1, 8, 9, 4, 5, 12, 13), \\
    to##y = MIX(from##x, from##y, 2, 3, 10, 11, 6, 7, 14, 15)
#define OUT(x, y, from) \\
    *(eight *)(q + x*other) = MIX(from##x, from##y, 0, 1, 2, 3, 8, 9, 10, 11); \\
    *(eight *)(q + y*other) = MIX(from##x, from##y, 4, 5, 6, 7, 12, 13, 14, 15)
static inline void square(const char *p, long step, char *q, long other) {{
    IN(0); IN(1); IN(2); IN(3); IN(4); IN(5); IN(6); IN(7);
    PAIR(b, 0, 1, a); PAIR(b, 2, 3, a); PAIR(b, 4, 5, a); PAIR(b, 6, 7, a);
    FOUR(c, 0, 2, b); FOUR(c, 1, 3, b); FOUR(c, 4, 6, b); FOUR(c, 5, 7, b);
    OUT(0, 4, c); OUT(1, 5, c); OUT(2, 6, c); OUT(3, 7, c);
}}
#else
static inline void square(const char *p, long step, char *q, long other) {{
    const long half = 4*sizeof(real);
    for (int k = 0; k < 2; k++, p += 4*step, q += half)
        tile(p, step, q, other), tile(p + half, step, q + 4*other, other);
}}
#endif
#define EIGHT(p, step) SOON(p); SOON(p + step); SOON(p + 2*step); SOON(p + 3*step); \\
    SOON(p + 4*step); SOON(p + 5*step); SOON(p + 6*step); SOON(p + 7*step);
static inline void turn(char *far, long step, char *near, long count, int back) {{
    const long size = sizeof(real), other = PITCH*size;
    for (int r = 0; r < LANES; r += 8) {{
        long k = 0;
        for (; k + 8 <= count; k += 8) {{
            char *x = far + r*step + k*size, *y = near + k*other + r*size;
            EIGHT(x + 8*step, step)
            if (back) square(y, other, x, step);
            else square(x, step, y, other);
        }}
        for (; k + 4 <= count; k += 4)
            for (int j = r; j < r + 8; j += 4) {{
                char *x = far + j*step + k*size, *y = near + k*other + j*size;
                if (back) tile(y, other, x, step);
                else tile(x, step, y, other);
            }}
        for (; k < count; k++)
            for (int j = r; j < r + 8; j++) {{
                real *x = (real *)(far + j*step + k*size), *y = (real *)near + k*PITCH + j;
                if (back) *x = *y;
                else *y = *x;
            }}
    }}
}}
#define AHEAD(p, step, k) do {{ \\
    const long line = 64/sizeof(real), own = (k) % line; \\
    const char *x = (p) + (LANES + own)*(step) + ((k) - own)*sizeof(real); \\
    for (long r = own; r < LANES; r += line, x += line*(step)) SOON(x); \\
}} while (0)
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
