"""Kernels as functions of C: loops over blocks of rows, all steps of a block in one loop.

A block has ``LANES`` rows, always: the compiler makes vector instructions of a loop of that length,
with nothing left over, so that the bits of an element depend on its operands alone, never on its
place.  Behind the last row the block is filled with copies of its first one, which are not written.

Values are laid out with the rows innermost, so that every loop over rows goes along memory; what
comes with other axes behind the rows is turned around when a block is read, and when it is written.
A value that only its own loop reads is never in memory.  Sums over rows are kept for each lane, and
added in pairs at the end.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from numeric.lowering.arithmetic import weak
from numeric.lowering.native.functions import definitions, formula
from numeric.lowering.passes.rows import ROWS, words
from numeric.lowering.printers.printer import Printer
from numeric.lowering.texts import ATOM, POWER, Template, number_text
from symdiff.errors import Unsupported
from symdiff.graph import ops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numeric.lowering.names import Emitter
    from numeric.lowering.passes.rows import Word
    from numeric.lowering.steps import Schedule, Step
    from symdiff.graph.node import Dim, Dtype, Shape

LANES = 64
"""The rows of a block."""

_STATEMENTS = 200  # in one loop: compilers take more than linear time for longer ones
_FORMS = frozenset({"sum", "product", "quotient", "power", "pointwise", "strong"})
_WEAK = frozenset({"number", "size", "sum", "product"})


class Array(NamedTuple):
    """An operand or a result: the number of its value, its axes but the rows, and its dtype.

    ``axis`` is that of the rows; None for an operand that each block has whole, and for a result
    that is a sum over rows.
    """

    value: int
    axis: int | None
    shape: Shape
    dtype: Dtype


class Written(NamedTuple):
    """A function of C, ``kernel``, and what it is called with."""

    text: str
    operands: tuple[Array, ...]
    results: tuple[Array, ...]
    dims: tuple[Dim, ...]  # the lengths that are asked for when it is called
    scratch: tuple[Shape, ...]  # the arrays on the way, without their lanes
    loops: int


def able(step: Step, steps: Sequence[Step], operands: Sequence[Word], exact: bool = False) -> bool:
    """Whether C computes a step, whose operands ``steps`` define, as NumPy does.

    ``exact``: also in the order in which NumPy adds.
    """
    if step.dtypes[0] is int or len(step.results) > 1:
        return False
    for v in step.operands:
        x = steps[v]
        if x.weak and not _is_plain(x, steps):
            return False
        if not x.weak and x.layout(v)[1] is int:
            return False
    if step.form == "kernel":
        op = step.op
        if not isinstance(op, ops.Contract) or any(op.kills) or step.dtypes[0] is not float:
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


def _is_plain(step: Step, steps: Sequence[Step]) -> bool:
    """Whether a weak number is written with operators alone."""
    stack = [step]
    for _ in range(_STATEMENTS):
        if not stack:
            return True
        x = stack.pop()
        if x.form not in _WEAK:
            return False
        stack += [steps[v] for v in x.operands]
    return False


class _Loop(NamedTuple):
    """Steps that are computed in one loop over axes of these lengths, and the rows."""

    dims: Shape
    steps: list[Step]
    members: set[int]


class _Reading(NamedTuple):
    """How a step goes along the axes of a loop: their letters, those of operands and of the value.

    Letters of the rows are left out; ``rows`` says which values, the step's own last, have them.
    """

    letters: Word
    dims: Shape
    operands: tuple[Word, ...]
    out: Word
    rows: tuple[bool, ...]


class CPrinter(Printer):
    """Steps as expressions of C over ``real`` values."""

    formulas = None  # type: ignore[assignment]  # formulas of C are no Python, see ``pointwise``

    def __init__(self, emitter: Emitter, schedule: Schedule) -> None:
        self._begin(emitter, schedule)

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
        (signs, places), count = step.detail, len(step.operands)
        plain, beyond = "", ""
        divisors = "".join([f"/{{{k}}}" for k in range(len(signs), count)])
        for k, sign in enumerate(signs):
            factor = f"{'*' if sign > 0 else '/'}{{{k}}}" if k else "{0}"
            plain += factor
            beyond += divisors if k in places else factor
        return Template(f"({{{places[0]}}} == inf ? {beyond} : {plain})", ATOM, (ATOM,) * count)

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


def written(
    emitter: Emitter,
    body: Schedule,
    sliced: Sequence[int | None],
    single: bool,
    vector: frozenset[str],
) -> Written:
    """A kernel's body as a function of C; ``vector`` are the vector functions that there are."""
    return _Writer(emitter, body, sliced, single, vector).written()


class _Writer:
    """Writes one kernel."""

    def __init__(
        self,
        emitter: Emitter,
        body: Schedule,
        sliced: Sequence[int | None],
        single: bool,
        vector: frozenset[str],
    ) -> None:
        self.body, self.single, self.vector = body, single, vector
        self.steps = body.definitions()
        self.printer = CPrinter(emitter, body)
        self.dims: dict[Dim, str] = {}
        self.readings: dict[int, _Reading] = {}
        self.operands = [self._array(v, axis) for v, axis in zip(body.params, sliced, strict=True)]
        self.operands += [
            self._array(step.results[0], None) for step in body.steps if step.form == "array"
        ]
        for step in body.steps:
            if not step.weak and not step.leaf:
                self.readings[step.results[0]] = self._reading(step)
        self.loops = self._looped()
        self.place = {v: k for k, loop in enumerate(self.loops) for v in loop.members}
        self.stored = self._stored()
        self.results = tuple([self._array(v, self._axis(v)) for v in dict.fromkeys(body.results)])
        self.direct = {  # what a whole block may read and write where it is
            x.value
            for x in (*self.operands, *self.results)
            if x.axis is not None and not x.shape and x.dtype is float
        }

    # What steps read ------------------------------------------------------------------------------

    def _array(self, v: int, axis: int | None) -> Array:
        shape, dtype = self.steps[v].layout(v)
        inner = shape if axis is None else (*shape[:axis], *shape[axis + 1 :])
        return Array(v, axis, inner, dtype)

    def _shape(self, v: int) -> Shape:
        return self.steps[v].layout(v)[0]

    def _reading(self, step: Step) -> _Reading:
        shapes = [self._shape(v) for v in step.operands]
        found = words(step, shapes)
        assert found is not None
        operands, (out,) = found
        lengths = dict(zip(out, step.shapes[0], strict=True))
        for word, shape in zip(operands, shapes, strict=True):
            lengths.update({k: n for k, n in zip(word, shape, strict=True) if k is not None})
        rows = next((k for k, n in lengths.items() if n is ROWS), None)
        letters = [k for k in out if k != rows]
        if step.form == "kernel" and set(out) != set(lengths):  # the axes of what is added up
            most = max(operands, key=len)
            letters = [k for k in dict.fromkeys((*most, *lengths)) if k not in (rows, None)]
        return _Reading(
            tuple(letters),
            tuple([lengths[k] for k in letters]),
            tuple([tuple([k for k in word if k != rows or k is None]) for word in operands]),
            tuple([k for k in out if k != rows]),
            tuple([rows in word for word in (*operands, out)]),
        )

    # Loops ----------------------------------------------------------------------------------------

    def _looped(self) -> list[_Loop]:
        """The loops: each step in the first one behind what it reads."""
        loops: list[_Loop] = []
        place: dict[int, int] = {}
        sums: set[int] = set()
        for step in self.body.steps:
            v = step.results[0]
            if v not in self.readings:
                continue
            reading = self.readings[v]
            least = 0
            for x, word in zip(step.operands, reading.operands, strict=True):
                if x not in place:
                    continue
                same = word == reading.letters and x not in sums
                least = max(least, place[x] + (not same or loops[place[x]].dims != reading.dims))
            for k in range(least, len(loops) + 1):
                if k == len(loops):
                    loops.append(_Loop(reading.dims, [], set()))
                loop = loops[k]
                if loop.dims == reading.dims and len(loop.steps) < _STATEMENTS:
                    loop.steps.append(step)
                    loop.members.add(v)
                    place[v] = k
                    break
            if reading.out != reading.letters or not reading.rows[-1]:
                sums.add(v)
        self.sums = dict.fromkeys(v for v in place if v in sums)
        return loops

    def _stored(self) -> dict[int, None]:
        """The values on the way that are in memory: what another loop reads, or the caller."""
        found = {v: None for v in self.place if v in self.sums or v in self.body.results}
        for step in self.body.steps:
            v = step.results[0]
            if v in self.readings:
                found.update(
                    {
                        x: None
                        for x in step.operands
                        if self.place.get(x, self.place[v]) != self.place[v]
                    }
                )
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

    def _inner(self, v: int) -> Shape:
        return tuple([n for n in self._shape(v) if n is not ROWS])

    def _weak(self, v: int) -> str:
        """A number, as it is written."""
        texts: dict[int, str] = {}
        stack = [(v, False)]
        while stack:
            x, ready = stack.pop()
            step = self.steps[x]
            if step.form == "number":
                texts[x] = f"({float(weak(step.detail))!r})"
            elif step.form == "size":
                texts[x] = f"((real){self._length(step.detail)})"
            elif ready:
                texts[x] = f"({self._over(step, [texts[y] for y in step.operands])})"
            else:
                stack.append((x, True))
                stack += [(y, False) for y in step.operands]
        return texts[v]

    def _over(self, step: Step, operands: Sequence[str]) -> str:
        template = self.printer.template(step)
        return _real(template.text).format(*operands)

    def _operand(self, x: int, word: Word, rows: bool, loop: int, names: dict[object, str]) -> str:
        step = self.steps[x]
        if step.weak:
            return self._weak(x)
        if self.place.get(x) == loop:
            return f"v{x}"
        at = self._index(word, self._inner(x), names)
        if not rows:
            return f"w{x}[{at}]"
        return f"{self._name(x)}[{_lane(at)}]"

    def _name(self, v: int) -> str:
        """The array of a value: ``x`` where it may be the caller's own memory, else ``s``."""
        return f"{'x' if v in self.direct else 's'}{v}"

    def _statements(self, place: int, loop: _Loop) -> list[str]:
        """The body of a loop."""
        lines = []
        for step in loop.steps:
            v = step.results[0]
            reading = self.readings[v]
            names = {letter: f"i{k}" for k, letter in enumerate(reading.letters)}
            operands = [
                self._operand(x, word, rows, place, names)
                for x, word, rows in zip(
                    step.operands, reading.operands, reading.rows, strict=False
                )
            ]
            text = self._over(step, operands)
            at = self._index(reading.out, self._inner(v), names)
            kept = f"{self._name(v)}[{_lane(at)}]"
            if v not in self.sums:
                lines.append(f"const real v{v} = {text};")
                if v in self.stored:
                    lines.append(f"{kept} = v{v};")
            elif reading.rows[-1]:
                lines.append(f"{kept} += {text};")
            else:
                lines += [f"const real v{v} = {text};", f"{kept} += r < m ? v{v} : 0;"]
        return lines

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
        sums = [(k, x) for k, x in enumerate(self.results) if x.axis is None]
        body = [
            *self._found(),  # it asks for lengths that nothing else does
            *[f"    zero(s{x.value}, LANES*{self._count(x.shape)});" for _, x in sums],
            "    for (long i = 0; i < rows; i += LANES) {",
            "        const int m = rows - i < LANES ? rows - i : LANES;",
            *[f"        {line}" for line in blocks],
            "    }",
            *[
                f"    for (long k = 0; k < {self._count(x.shape)}; k++)"
                f" ((real *)out[{k}])[k] = total(s{x.value} + k*LANES);"
                for k, x in sums
            ],
        ]
        lengths = [
            f"    const long {name} = dims[{k}];" for k, name in enumerate(self.dims.values())
        ]
        text = "\n".join(
            [
                _HEAD.format(
                    real="float" if self.single else "double",
                    lanes=LANES,
                    head=object.__basicsize__,
                ),
                *definitions("\n".join(body), self.single, self.vector),
                "void kernel(long rows, const void **in, void **out, const long *strides,",
                "            const long *dims, real *scratch) {",
                *lengths,
                *body,
                "}",
                *self._entry(),
                "",
            ]
        )
        kept = tuple([shape for _, shape in self._arrays()])
        found = tuple(self.operands), self.results, tuple(self.dims), kept
        return Written(text, *found, len(self.loops))

    def _entry(self) -> list[str]:
        """The function ``call``: the same for arrays as Python has them, if they are as expected.

        ``plan`` is the rows, how many numbers a block takes on its way, the addresses of the class
        of arrays and of two dtypes, and the lengths.
        """
        each = [*self.operands, *self.results]
        checks, strides = [], []
        for k, x in enumerate(each):
            result = k >= len(self.operands)
            shape = x.shape if x.axis is None else (*x.shape[: x.axis], ROWS, *x.shape[x.axis :])
            real = x.dtype is float or x.axis is None
            checks.append(f"fits(a{k}, {len(shape)}, plan->{'real' if real else 'truth'}, plan)")
            if real:
                checks.append(f"aligned(a{k})")
            for axis, dim in enumerate(shape):
                length = "plan->rows" if dim is ROWS else self._length(dim)
                checks.append(f"a{k}->dims[{axis}] == {length}")
            if x.axis is None:
                if not result:
                    checks.append(f"in_a_row(a{k})")
                continue
            order = (x.axis, *[axis for axis in range(len(shape)) if axis != x.axis])
            strides += [f"a{k}->strides[{axis}]" for axis in order]
        count = len(self.operands)
        return [
            f"int call(const struct plan *plan, {', '.join(f'array *a{k}' for k in range(len(each)))}) {{",
            *[
                f"    const long {name} = plan->dims[{k}];"
                for k, name in enumerate(self.dims.values())
            ],
            f"    if (!({' && '.join(checks)})) return 0;",
            f"    const void *in[] = {{{', '.join(f'a{k}->data' for k in range(count)) or '0'}}};",
            f"    void *out[] = {{{', '.join(f'a{k}->data' for k in range(count, len(each)))}}};",
            f"    const long strides[] = {{{', '.join(strides) or '0'}}};",
            "    real scratch[plan->lanes + 1];",
            "    kernel(plan->rows, in, out, strides, plan->dims, scratch);",
            "    return 1;",
            "}",
        ]

    def _arrays(self) -> list[tuple[int, Shape]]:
        """The values that have memory of a block, and their axes but the rows."""
        rows = [(x.value, x.shape) for x in self.operands if x.axis is not None]
        return rows + [(v, self._inner(v)) for v in self.stored]

    def _found(self) -> list[str]:
        """Where operands, results and values on the way are: p, w; q; s.  t and u are strides."""
        lines = [
            f"    real *restrict s{v} = scratch; scratch += LANES*{self._count(shape)};"
            for v, shape in self._arrays()
        ]
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
                lines.append(f"    char *q{k} = out[{k}]; const long *u{k} = strides + {at};")
                at += 1 + len(x.shape)
        return lines

    def _begun(self) -> list[str]:
        """What is read before a block is computed."""
        lines = [line for x in self.operands if x.axis is not None for line in self._read(x)]
        for k, x in enumerate(self.results):
            if x.value in self.direct:
                where = f"{_plain(f'u{k}')} ? (real *)q{k} + i : s{x.value}"
                lines.append(f"real *restrict x{x.value} = {where};")
        kept = [v for v in self.sums if self.readings[v].rows[-1]]
        return lines + [
            f"zero({self._name(v)}, LANES*{self._count(self._inner(v))});" for v in kept
        ]

    def _computed(self) -> list[str]:
        """The loops of a block."""
        lines = []
        for place, loop in enumerate(self.loops):
            inner = [
                "{",
                "    #pragma GCC ivdep",
                "    for (int r = 0; r < LANES; r++) {",
                *[f"        {line}" for line in self._statements(place, loop)],
                "    }",
                "}",
            ]
            lines += self._nested(loop.dims, inner)
        return lines

    def _ended(self) -> list[str]:
        """What is written once a block is computed."""
        every = [(k, x) for k, x in enumerate(self.results) if x.axis is not None]
        return [line for k, x in every for line in self._write(k, x)]

    def _axis(self, v: int) -> int | None:
        shape = self._shape(v)
        return next((k for k, dim in enumerate(shape) if dim is ROWS), None)

    def _read(self, x: Array) -> list[str]:
        """Turn a block of an operand around."""
        v, kind = x.value, _KINDS[x.dtype]
        offset = "".join(f" + i{k}*t{v}[{k + 1}]" for k in range(len(x.shape)))
        line = f"s{v}[{self._cell(x)}] = *(const {kind} *)(p{v} + (i + r)*t{v}[0]{offset});"
        fill = f"s{v}[k*LANES + r] = s{v}[k*LANES];"
        lines = [
            "for (int r = 0; r < m; r++)",
            *self._nested(x.shape, [line], 1),
            f"for (long k = 0; m < LANES && k < {self._count(x.shape)}; k++)",
            f"    for (int r = m; r < LANES; r++) {fill}",
        ]
        if v not in self.direct:
            return lines
        where = f"{_plain(f't{v}')} ? (const real *)p{v} + i : s{v}"
        return [
            f"const real *restrict x{v} = {where};",
            f"if (x{v} == s{v}) {{",
            *[f"    {line}" for line in lines],
            "}",
        ]

    def _write(self, k: int, x: Array) -> list[str]:
        """Turn a block of a result back."""
        v, kind = x.value, _KINDS[x.dtype]
        offset = "".join(f" + i{j}*u{k}[{j + 1}]" for j in range(len(x.shape)))
        line = f"*({kind} *)(q{k} + (i + r)*u{k}[0]{offset}) = s{v}[{self._cell(x)}];"
        lines = ["for (int r = 0; r < m; r++)", *self._nested(x.shape, [line], 1)]
        if v in self.direct:
            return [f"if (x{v} == s{v})", *[f"    {line}" for line in lines]]
        return lines

    def _cell(self, x: Array) -> str:
        """Where the element at i0, i1, ... of lane r is among those of a block."""
        letters = tuple(range(len(x.shape)))
        return _lane(self._index(letters, x.shape, {k: f"i{k}" for k in letters}))


def _lane(at: str) -> str:
    return "r" if at == "0" else f"({at})*LANES + r"


def _plain(strides: str) -> str:
    """Whether a whole block lies in a row."""
    return f"m == LANES && {strides}[0] == sizeof(real)"


_KINDS: dict[Dtype, str] = {float: "real", bool: "unsigned char"}
_HEAD = """\
#include <math.h>
typedef {real} real;
#define LANES {lanes}
#define SIMD __attribute__((const, simd("notinbranch")))
#define inf INFINITY
#define nan NAN
static inline void zero(real *x, long n) {{ for (long k = 0; k < n; k++) x[k] = 0; }}
static inline real total(real *x) {{
    for (int w = LANES/2; w; w /= 2)
        for (int r = 0; r < w; r++) x[r] += x[r + w];
    return x[0];
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
_WHOLE = re.compile(r"(?<![\w.{])(\d+)(?![\w.}])")


def _real(text: str) -> str:
    """A text in which whole numbers are real ones: 1/2 is a half in C, too."""
    return _WHOLE.sub(r"\1.0", text)
