"""Scans as loops of C: all steps in one function.

Bodies of few numbers are scalar steps, one for each element of their arrays: carry and params are
variables of the function.  Others are steps over short arrays (``scan_arrays``), which read the
carry from the trajectory.  Rows of xs are read where they lie.
"""

from __future__ import annotations

import ctypes
import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.lowering import kinds
from numeric.lowering.native.compiler import FAST, compiler
from numeric.lowering.native.functions import definitions
from numeric.lowering.native.libraries import library
from numeric.lowering.native.loops import able
from numeric.lowering.native.printer import CPrinter, has_lengths, statement, weak_text
from numeric.lowering.native.scan_arrays import (
    WIDE,
    ArraySteps,
    Cells,
    as_real,
    nested,
    places,
)
from numeric.lowering.native.source import head
from symdiff.locks import fork_safe_lock, once

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numeric.lowering.names import Emitter
    from numeric.lowering.steps import Schedule

_DOUBLE = np.dtype(np.float64)
_REAL = {_DOUBLE, np.dtype(np.float32)}
OPTIMISED = ["-O2", "-ftree-vectorize", "-fvect-cost-model=dynamic"]
_LARGE = 2000  # statements from which on the compiler is asked for less


def has_all(steps: Schedule) -> bool:
    """Whether C computes all of a body of scalars; its integers are parameters, if any."""
    steps = as_real(steps)
    known = steps.definitions()
    own = [x for x in steps.steps if not x.leaf and not x.weak]
    kernels = any(isinstance(x.kind, kinds.ByKernel) for x in own)
    return not kernels and not has_lengths(steps.steps) and all(able(x, known) for x in own)


def _flags(steps: Schedule) -> set[int]:
    """The params of which all that is asked is whether they are 0."""
    known, found = steps.definitions(), set(steps.params) - set(steps.results)
    for step in steps.steps:
        zeros = [v for v in step.operands if known[v].kind == kinds.Number(0)]
        if not (zeros and isinstance(step.kind, kinds.Pointwise) and step.op.name == "not_equal"):
            found -= set(step.operands)
    return found


class NativeScan:
    """The steps of a scan, compiled for each precision when it is first called.

    ``steps`` is the body over elements of init, xs and params, whose ``shapes`` are those of one
    step; the first is the carry's, then come so many ``columns``.  With ``given`` it is a fold: the
    body has so many numbers behind the carry, and the value is the last carry, and these of all
    steps.
    """

    def __init__(
        self,
        emitter: Emitter,
        steps: Schedule,
        shapes: Sequence[tuple[int, ...]],
        columns: int,
        arrays: bool = False,
        given: int | None = None,
    ) -> None:
        self._given = given
        self._options, self._shapes, self._columns = emitter.options, shapes, columns
        flags, left = _flags(steps), iter(steps.params)
        counts = [1 if arrays else math.prod(shape) for shape in shapes]
        of_each = [[next(left) for _ in range(count)] for count in counts]
        self._only_flags = [flags.issuperset(elements) for elements in of_each]
        self._vectors = arrays
        write = written_arrays if arrays else written
        self._text = partial(write, emitter, as_real(steps), shapes, columns, given is not None)
        self._made: dict[np.dtype, Any] = {}
        self._lock = fork_safe_lock()

    def __call__(self, n: int, operands: Sequence[Any], reverse: bool) -> np.ndarray | None:
        """The trajectory; None where NumPy computes it.

        That is for operands that have no common precision, and where there is no machine code after
        all.
        """
        kinds = {x.dtype for x in operands if x.dtype.kind == "f"}
        if len(kinds) > 1 or not kinds <= _REAL:
            return None
        dtype = kinds.pop() if kinds else _DOUBLE
        given = []
        for k, (x, shape) in enumerate(zip(operands, self._shapes, strict=True)):
            along = 0 < k <= self._columns
            if x.dtype.kind in "iu" and dtype != _DOUBLE and not self._only_flags[k]:
                return None  # a float and an integer are a double
            x = np.require(x, dtype, ["ALIGNED"] if along else ["ALIGNED", "C"])
            if x.shape != ((n, *shape) if along else shape):
                return None
            given.append(x[::-1] if along and reverse else x)
        rows = [
            x if x[:1].flags.c_contiguous else np.ascontiguousarray(x)
            for x in given[1 : 1 + self._columns]
        ]
        given[1 : 1 + self._columns] = rows
        made = self._compiled(dtype)
        if not made:
            return None
        run, needed = made
        count = math.prod(self._shapes[0])
        if self._given is None:
            found = path = np.empty((n + 1, *self._shapes[0]), dtype)
            last = path[:1]
        else:
            found = np.empty(count + n * self._given, dtype)
            last, path = found[:count], found[count:].reshape(n, self._given)
        to = path[::-1] if reverse else path
        reads = (ctypes.c_void_p * len(given))(*map(_address, given))
        strides = (ctypes.c_long * (len(rows) + 1))(to.strides[0], *[x.strides[0] for x in rows])
        scratch = np.empty(needed, dtype)
        run(n, reads, strides, _address(to), _address(scratch), _address(last))
        return found

    def text(self) -> str:
        """The loop, for doubles, without what stands around it."""
        found, _ = self._text()
        return found[found.index("void scan(") :]

    def _compiled(self, dtype: np.dtype) -> Any:
        return once(self._made, dtype, self._lock, partial(self._compile, dtype))

    def _compile(self, dtype: np.dtype) -> Any:
        single = dtype != _DOUBLE
        text, scratch = self._text(single)
        flags = OPTIMISED if self._vectors else ["-O1" if text.count(";") > _LARGE else "-O2"]
        flags = [*flags, *["-fsingle-precision-constant"] * single, *FAST * self._options.fastmath]
        loaded = library(text, tuple(flags), self._options.backend)
        if loaded is None:
            return False
        run = loaded.scan
        run.argtypes, run.restype = [ctypes.c_long, *[ctypes.c_void_p] * 5], None
        return run, scratch


def _address(x: np.ndarray) -> int:
    found: int = x.__array_interface__["data"][0]
    return found


def written(
    emitter: Emitter,
    steps: Schedule,
    shapes: Sequence[tuple[int, ...]],
    columns: int,
    folds: bool = False,
    single: bool = False,
) -> tuple[str, int]:
    """The steps of a scan as a function of C, ``scan``, of init, xs and params, and where to write.

    ``strides`` are the bytes from a row to the next, of the trajectory first.  A fold writes what
    its steps give there, and the carry to ``last``.  Returns the text, and of how many numbers it
    needs memory.
    """
    printer, known = CPrinter(emitter, steps), steps.definitions()
    place: dict[int, str] = {}
    begun, read = [], []
    left = iter(steps.params)
    for k, shape in enumerate(shapes):
        elements = [next(left) for _ in range(math.prod(shape))]
        if 0 < k <= columns:
            read.append(_row(k))
            begun.append(f"const char *const in{k} = in[{k}];")
            place.update({v: f"x{k}[{j}]" for j, v in enumerate(elements)})
            continue
        kind = "real" if k == 0 else "const real"
        for j, v in enumerate(elements):
            begun.append(f"{kind} a{v} = ((const real *)in[{k}])[{j}];")
            place[v] = f"a{v}"

    def text(v: int) -> str:
        return weak_text(printer, known, v) if known[v].weak else place.get(v, f"v{v}")

    carry = list(enumerate(steps.params[: math.prod(shapes[0])]))
    start = [f"((real *)row)[{j}] = a{v};" for j, v in carry]
    after, ends = ["row += strides[0];", *start], []
    if folds:
        given = range(len(carry), len(steps.results))
        after = [f"((real *)row)[{k}] = b{j};" for k, j in enumerate(given)]
        after.append("row += strides[0];")
        start, ends = [], [f"last[{j}] = a{v};" for j, v in carry]
    lines = [
        _HEAD,
        *[f"    {line}" for line in (*begun, *start)],
        _STEPS,
        *[f"        {line}" for line in read],
        *[
            f"        {statement(printer, x, text)}"
            for x in steps.steps
            if not x.leaf and not x.weak
        ],
        # All of the new carry is there before any of the old one is gone.
        *[f"        const real b{j} = {text(v)};" for j, v in enumerate(steps.results)],
        *[f"        a{v} = b{j};" for j, v in carry],
        *[f"        {line}" for line in after],
        "    }",
        *[f"    {line}" for line in ends],
        "}",
        "",
    ]
    # No vectors: an element's bits would depend on those that are computed beside it.
    return _whole(lines, single, frozenset()), 0


_HEAD = (
    "void scan(long n, const void *const *in, const long *strides, char *row, real *kept, "
    "real *last) {"
)
_STEPS = "    for (long t = 0; t < n; t++) {"


def _row(k: int) -> str:
    """Where the row of a step is."""
    return f"const real *const x{k} = (const real *)(in{k} + t*strides[{k}]);"


def _whole(lines: Sequence[str], single: bool, vector: frozenset[str]) -> str:
    body = "\n".join(lines)
    return "\n".join([head(single, lanes=1), *definitions(body, single, vector), body])


def written_arrays(
    emitter: Emitter,
    steps: Schedule,
    shapes: Sequence[tuple[int, ...]],
    columns: int,
    folds: bool = False,
    single: bool = False,
) -> tuple[str, int]:
    """The same of steps over arrays."""
    given = dict(zip(steps.params, map(places, _names(shapes, columns), shapes), strict=True))
    body = ArraySteps(emitter, steps, given, steps.params[1 + columns :])
    count = math.prod(shapes[0])
    begun, start = [], 0
    for name, size in body.arrays.items():
        begun.append(f"real *restrict {name} = kept + {start};")
        start += -(-size // WIDE) * WIDE
    for k in range(1, len(shapes)):
        kind = "char" if k <= columns else "real"
        begun.append(f"const {kind} *const {'in' if k <= columns else 'p'}{k} = in[{k}];")
    made = body.result
    if folds:  # two carries take turns, since what is written may be read behind its place
        carry, gives = (Cells(made.array, cells) for cells in np.split(made.cells, [count]))
        begun.append(f"real *now = last, *next = kept + {start};")
        start += count
        before = "const real *const c0 = now;"
        behind = [
            *_written("next", carry),
            *_written("((real *)row)", gives),
            "row += strides[0];",
            "real *const made = next;",
            "next = now;",
            "now = made;",
        ]
        ends = [f"for (long k = 0; k < {count}; k++)", "    last[k] = now[k];"]
    else:
        begun.append("real *now = (real *)row;")
        before = "const real *const c0 = (const real *)row;"
        behind = [
            "row += strides[0];",
            "real *const next = (real *)row;",
            *_written("next", made),
        ]
        ends = []
    lines = [
        _HEAD,
        *[f"    {line}" for line in (*begun, *body.before)],
        f"    for (long k = 0; k < {count}; k++)",
        "        now[k] = ((const real *)in[0])[k];",
        _STEPS,
        f"        {before}",
        *[f"        {_row(k)}" for k in range(1, columns + 1)],
        *[f"        {line}" for line in (*body.lines, *behind)],
        "    }",
        *[f"    {line}" for line in ends],
        "}",
        "",
    ]
    return _whole(lines, single, compiler().vector), start


def _written(to: str, made: Cells) -> list[str]:
    """Statements that put a value into an array."""
    shape = made.cells.shape
    if not made.cells.size:
        return []
    letters = [f"i{k}" for k in range(len(shape))]
    line = f"{places(to, shape).at(letters)} = {made.at(letters)};"
    return nested(letters, shape, [line])


def _names(shapes: Sequence[tuple[int, ...]], columns: int) -> list[str]:
    """What the arrays of one step are called: the carry, rows of xs, params."""
    return ["c0", *[f"{'x' if k <= columns else 'p'}{k}" for k in range(1, len(shapes))]]
