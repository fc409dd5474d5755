"""Kernels whose lanes are columns: loops along memory where rows lie one behind the other.

A row of an array of rows and columns is in one piece.  With rows as lanes it is turned around when
it is read and when it is written, which takes as long as a dozen sums.  Here every loop that has
the columns goes along them, ``WIDE`` at a time; what has one number for each row goes along the
rows of the block as ever.

Always so many columns are computed: full vectors, so that an element's bits depend on its operands
alone.  The last ones of a row overlap with those before, are computed again, and count once in
sums.  A sum along rows is kept for each of these lanes, and put together in pairs; sums over rows
are those of each block, which are added one after the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from numeric.lowering import costs
from numeric.lowering.native.loops import LANES
from numeric.lowering.native.source import (
    EMPTY,
    JOINED,
    KINDS,
    Source,
    Written,
    added,
    element,
    in_pairs,
    in_parts,
    read_before,
)

if TYPE_CHECKING:
    from numeric.lowering.native.loops import Array, Line, Loop, Loops
    from numeric.lowering.passes.rows import Word
    from symdiff.graph.node import Dim, Shape

WIDE = 8
"""The columns that are computed at once."""

_WASTE = 0.25  # how many of them may be computed twice
_BLOCK = 2048  # elements that are computed in one block, where 8 to 64 rows have so many


class Columns(NamedTuple):
    """Where the columns are: their number, and which axis but the rows they are of each value.

    ``letters`` are those of the loops, by lines; ``folds`` says whether something is put together
    along each row.
    """

    length: Dim
    axes: dict[int, int]
    letters: tuple[object, ...]
    folds: bool

    def fit(self, count: int, rows: int = 1) -> bool:
        """Whether so many columns of so many rows are worth it.

        What is put together along a row waits for itself: many rows are faster side by side.
        """
        few = not self.folds or rows <= LANES // 4
        return few and count >= WIDE and -count % WIDE <= _WASTE * count


def columns(of: Loops) -> Columns | None:
    """The axis along which most of what comes and goes lies in one piece; None where that is rows.

    And None where a kernel has something that goes along rows alone: a sum of products over rows,
    or of shifted results.
    """
    if of.back or in_parts(of):
        return None
    if any(line.back or line.is_alone for line in of.lines):
        return None
    parent: dict[object, object] = {}

    def root(x: object) -> object:
        while (y := parent.get(x, x)) != x:
            x = y
        return x

    for n, line in enumerate(of.lines):
        each = zip((*line.operands, line.value), (*line.words, line.out), strict=True)
        for v, word in each:
            for k, letter in enumerate(word):
                if letter is not None:
                    parent[root((v, k))] = root((n, "letter", letter))
    saved: dict[object, float] = {}
    length: dict[object, Dim] = {}
    for x in (*of.operands, *of.results):
        if x.axis is None or not x.shape:
            continue
        last = len(x.shape) - (x.axis < len(x.shape))
        size = 1.0
        for dim in x.shape:
            size *= costs.length(dim)
        for k, dim in enumerate(x.shape):
            if dim != 1:
                length[root((x.value, k))] = dim
                here = size if k == last else -size
                saved[root((x.value, k))] = saved.get(root((x.value, k)), 0) + here
    best = max(saved, key=lambda key: saved[key], default=None)
    if best is None or saved[best] <= 0:
        return None
    axes: dict[int, int] = {}
    for v, inner in of.inner.items():
        own = [k for k in range(len(inner)) if root((v, k)) == best]
        if len(own) > 1 or any(inner[k] != length[best] for k in own):
            return None
        axes.update((v, k) for k in own)
    letters: list[object] = []
    for n, line in enumerate(of.lines):
        found = [x for x in line.letters if root((n, "letter", x)) == best]
        if len(found) > 1 or any(root((n, "letter", x)) == best for x, _ in line.terms):
            return None
        letters.append(found[0] if found else None)
    places = {
        line.value: None if letter is None else line.letters.index(letter)
        for line, letter in zip(of.lines, letters, strict=True)
    }
    if any(len({places[line.value] for line in loop.lines}) > 1 for loop in of.loops):
        return None
    folds = any(
        line.fold and line.rows[-1] and letter is not None and letter not in line.out
        for line, letter in zip(of.lines, letters, strict=True)
    )
    made = Columns(length[best], axes, tuple(letters), folds)
    return None if isinstance(made.length, int) and not made.fit(made.length) else made


class ColumnsSource(Source):
    """Writes one kernel along its columns."""

    step = "step"
    defined = (f"#define WIDE {WIDE}",)

    def __init__(self, of: Loops, single: bool, vector: frozenset[str], found: Columns) -> None:
        super().__init__(of, single, vector)
        self.axes = found.axes
        self.letter = {
            line.value: letter for line, letter in zip(of.lines, found.letters, strict=True)
        }
        self.count = self._length(found.length)
        self.turned = {  # what each block has whole, and has its columns elsewhere
            x.value: x.shape
            for x in of.operands
            if x.axis is None and x.value in self.axes and self.axes[x.value] != len(x.shape) - 1
        }

    # Elements -------------------------------------------------------------------------------------

    def _operand(
        self, x: int, word: Word, rows: bool, loop: int, names: dict[object, str], back: int
    ) -> str:
        if rows or x not in self.axes or self.of.place.get(x) == loop:
            return super()._operand(x, word, rows, loop, names, back)
        return f"{'s' if x in self.turned else 'w'}{x}[{self._place(x, word, names)}]"

    def _place(self, v: int, word: Word, names: dict[object, str], row: str = "") -> str:
        """The place of an element among those of an array with the columns last."""
        axis, inner = self.axes[v], self.of.inner[v]
        shape = (*inner[:axis], *inner[axis + 1 :])
        at = self._index((*word[:axis], *word[axis + 1 :]), shape, names)
        at = f"({at}*LANES + {row})" if row else at
        return f"{at}*{self.count} + {names[word[axis]]}"

    def _own_cell(self, v: int, word: Word, names: dict[object, str], row: str = "r") -> str:
        if v not in self.axes:
            return super()._own_cell(v, word, names, row)
        return f"s{v}[{self._place(v, word, names, '' if self._is_sum(v) else row)}]"

    def _is_sum(self, v: int) -> bool:
        """Whether a value is a sum over rows."""
        return v in self.of.folds and not self.of.folds[v].rows[-1]

    def _cell(self, v: int, word: Word, names: dict[object, str]) -> str:
        if v not in self.axes:
            return super()._cell(v, word, names)
        if v not in self.direct:
            return self._own_cell(v, word, names)
        axis = self.axes[v]
        each = [f"{names[k]}*e{v}_{j}" for j, k in enumerate(word) if j != axis and k is not None]
        return f"x{v}[{' + '.join([*each, f'r*f{v}', names[word[axis]]])}]"

    def _lanes(self, v: int) -> str:
        return "m" if v in self.axes else super()._lanes(v)

    # Loops ----------------------------------------------------------------------------------------

    def _names(self, line: Line) -> dict[object, str]:
        letter = self.letter[line.value]
        own = {} if letter is None else {letter: "at + k"}
        return {**super()._names(line), **own}

    def _is_along(self, line: Line) -> bool:
        """Whether a line is put together along the columns."""
        letter = self.letter[line.value]
        return bool(line.fold) and letter is not None and letter not in line.out

    def _sum(self, line: Line, names: dict[object, str]) -> tuple[str, str]:
        v = line.value
        return (
            (f"a{v}[r*WIDE + k]", f"b{v}[r*WIDE + k]")
            if self._is_along(line)
            else super()._sum(line, names)
        )

    def _term(self, line: Line) -> str:
        if self.letter[line.value] is None:
            return super()._term(line)
        return f"(k >= from ? v{line.value} : 0)" if line.fold == "+" else f"v{line.value}"

    def _loop(self, place: int, loop: Loop) -> list[str]:
        letter = self.letter[loop.lines[0].value]
        if letter is None:
            return super()._loop(place, loop)
        at = loop.lines[0].letters.index(letter)
        before, texts = read_before(self._statements(place, loop))
        outer = [
            f"for (long i{k} = 0; i{k} < {self._length(dim)}; i{k}++)"
            for k, dim in enumerate(loop.dims)
            if k != at
        ]
        along = [line for line in loop.lines if self._is_along(line)]
        rows, chunks = (
            "for (int r = 0; r < m; r++) {",
            f"for (long j = 0; j < {self.count}; j += WIDE) {{",
        )
        # A sum along a row waits for what it has: there the rows take turns.
        first, second = (chunks, rows) if along else (rows, chunks)
        return [
            *outer,
            "{",
            *[f"    {text}" for line in along for text in self._begins(line)],
            f"    {first}",
            f"        {second}",
            f"            const long at = j + WIDE <= {self.count} ? j : {self.count} - WIDE;",
            "            const long from = j - at;",
            *[f"            {text}" for text in before],
            "            #pragma GCC ivdep",
            "            for (long k = 0; k < WIDE; k++) {",
            *[f"                {text}" for text in texts],
            "            }",
            "        }",
            "    }",
            *[f"    {text}" for line in along for text in self._ends(line)],
            "}",
        ]

    def _begins(self, line: Line) -> list[str]:
        """The lanes of what is put together along rows."""
        v, empty = line.value, EMPTY[line.fold]
        names = f"a{v}[LANES*WIDE], b{v}[LANES*WIDE]" if line.is_long else f"a{v}[LANES*WIDE]"
        each = f"a{v}[k] = b{v}[k] = {empty}" if line.is_long else f"a{v}[k] = {empty}"
        return [f"real {names};", f"for (int k = 0; k < m*WIDE; k++) {each};"]

    def _ends(self, line: Line) -> list[str]:
        """The lanes, in pairs, go to what a row has, or all rows."""
        v = line.value
        whole = in_pairs([f"a{v}[r*WIDE + {k}]" for k in range(WIDE)], JOINED[line.fold])
        kept = self._kept_at(v, line.out, super()._names(line))
        return [
            "for (int r = 0; r < m; r++) {",
            *[f"    {text}" for text in added(line, *kept, whole)],
            "}",
        ]

    # Arrays ---------------------------------------------------------------------------------------

    def _arrays(self) -> list[tuple[int, Shape]]:
        return super()._arrays() + list(self.turned.items())

    def _found(self) -> list[str]:
        lines = super()._found()
        lines.append(
            f"    const int step = {self.count} > {_BLOCK}/8 ? 8"
            f" : {self.count} > {_BLOCK}/LANES ? {_BLOCK}/{self.count} : LANES;"
        )
        for v, shape in self.turned.items():
            letters, names = self._letters(shape)
            here, there = self._place(v, letters, names), self._index(letters, shape, names)
            lines += self._nested(shape, [f"s{v}[{here}] = w{v}[{there}];"], 1)
        lines += [
            f"    fill(o{k}, {self._count(x.shape)});"
            for k, x in enumerate(self.of.results)
            if x.axis is None and x.value in self.axes
        ]
        return lines

    def _ended(self) -> list[list[str]]:
        pieces = super()._ended()
        for k, x in enumerate(self.of.results):
            if x.axis is None and x.value in self.axes:
                count, v = self._count(x.shape), x.value
                each = f"o{k}[k] += s{v}[k];"
                pieces.append([f"for (long k = 0; k < {count}; k++) {each}"])
                pieces.append([f"fill(s{v}, {self._count(self._kept(v))});"])
        return pieces

    def _totals(self, k: int, x: Array) -> list[str]:
        return [] if x.value in self.axes else super()._totals(k, x)

    def _read(self, x: Array) -> list[str]:
        v = x.value
        if v not in self.axes:
            return super()._read(x)
        own, offset = self._letters(x.shape), element(f"t{v}", x.shape)
        there = f"*(const {KINDS[x.dtype]} *)(p{v} + (i + r)*t{v}[0]{offset})"
        lines = self._copied(x, f"{self._own_cell(v, *own)} = {there};")
        if v not in self.direct:
            return lines
        return [
            *self._where(x, "m", "const ", f"p{v}", f"t{v}"),
            f"if (x{v} == s{v}) {{",
            *[f"    {line}" for line in lines],
            "}",
        ]

    def _write(self, k: int, x: Array) -> list[str]:
        v = x.value
        if v not in self.axes:
            return super()._write(k, x)
        own, offset = self._letters(x.shape), element(f"u{k}", x.shape)
        there = f"*({KINDS[x.dtype]} *)(q{k} + (i + r)*u{k}[0]{offset})"
        lines = self._copied(x, f"{there} = {self._own_cell(v, *own)};")
        if v not in self.direct:
            return lines
        return [f"if (x{v} == s{v}) {{", *[f"    {line}" for line in lines], "}"]

    def _copied(self, x: Array, line: str) -> list[str]:
        return ["for (int r = 0; r < m; r++)", *self._nested(x.shape, [line], 1)]

    def _where(self, x: Array, rows: str, const: str, pointer: str, strides: str) -> list[str]:
        v = x.value
        if v not in self.axes:
            return super()._where(x, rows, const, pointer, strides)
        axis, size = self.axes[v], "(long)sizeof(real)"
        there = f"({const}real *)({pointer} + i*{strides}[0])"
        lines = [
            f"{const}real *restrict x{v} = {strides}[{axis + 1}] == sizeof(real) ? {there} : s{v};",
            f"const long f{v} = x{v} == s{v} ? {self.count} : {strides}[0]/{size};",
        ]
        for k in range(len(x.shape)):
            if k != axis:
                later = [dim for j, dim in enumerate(x.shape) if j > k and j != axis]
                own = f"LANES*{self.count}*{self._count(tuple(later))}"
                lines.append(
                    f"const long e{v}_{k} = x{v} == s{v} ? {own} : {strides}[{k + 1}]/{size};"
                )
        return lines


def written(of: Loops, single: bool, vector: frozenset[str], along: Columns | None) -> Written:
    """Loops as a function of C; ``vector`` are the vector functions that there are."""
    if along is None:
        return Source(of, single, vector).written()
    return ColumnsSource(of, single, vector, along).written()
