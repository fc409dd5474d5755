"""Scans as loops of C: all steps in one function, with the carry in its variables.

Bodies are scalar steps, one for each element of their arrays.  Carry and params are variables of
the function, rows of xs are read where they lie, and each carry is written to the trajectory.
"""

from __future__ import annotations

import ctypes
import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.lowering.native.compiler import FAST, library
from numeric.lowering.native.functions import definitions
from numeric.lowering.native.loops import able
from numeric.lowering.native.printer import CPrinter, statement, weak_text
from numeric.lowering.native.source import HEAD
from symdiff.locks import fork_safe_lock, once

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numeric.lowering.names import Emitter
    from numeric.lowering.steps import Schedule

_DOUBLE = np.dtype(np.float64)
_REAL = {_DOUBLE, np.dtype(np.float32)}
_LARGE = 2000  # statements from which on the compiler is asked for less


def has_all(steps: Schedule) -> bool:
    """Whether C computes all of a body of scalars; its integers are parameters, if any."""
    steps = _as_real(steps)
    known = steps.definitions()
    own = [x for x in steps.steps if not x.leaf and not x.weak]
    return all(x.form != "kernel" and able(x, known) for x in own)


def _as_real(steps: Schedule) -> Schedule:
    """The same steps, to which integers are given as real numbers."""
    made = [x._replace(dtypes=(float,)) if x.form == "input" else x for x in steps.steps]
    return steps.having(made, 0)


def _flags(steps: Schedule) -> set[int]:
    """The params of which all that is asked is whether they are 0."""
    known, found = steps.definitions(), set(steps.params) - set(steps.results)
    for step in steps.steps:
        zeros = [v for v in step.operands if known[v].form == "number" and known[v].detail == 0]
        if not (zeros and step.form == "pointwise" and step.op.name == "not_equal"):
            found -= set(step.operands)
    return found


class NativeScan:
    """The steps of a scan, compiled for each precision when it is first called.

    ``steps`` is the body over elements of init, xs and params, whose ``shapes`` are those of one
    step; the first is the carry's, then come so many ``columns``.
    """

    def __init__(
        self, emitter: Emitter, steps: Schedule, shapes: Sequence[tuple[int, ...]], columns: int
    ) -> None:
        self._fast, self._shapes, self._columns = emitter.options.fastmath, shapes, columns
        flags, left = _flags(steps), iter(steps.params)
        of_each = [[next(left) for _ in range(math.prod(shape))] for shape in shapes]
        self._only_flags = [flags.issuperset(elements) for elements in of_each]
        self._text = partial(written, emitter, _as_real(steps), shapes, columns)
        self._made: dict[np.dtype, Any] = {}
        self._lock = fork_safe_lock()

    def __call__(self, n: int, operands: Sequence[Any], reverse: bool) -> np.ndarray | None:
        """The trajectory; None for operands that have no common precision, which are NumPy's."""
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
        path = np.empty((n + 1, *self._shapes[0]), dtype)
        to = path[::-1] if reverse else path
        reads = (ctypes.c_void_p * len(given))(*map(_address, given))
        strides = (ctypes.c_long * (len(rows) + 1))(to.strides[0], *[x.strides[0] for x in rows])
        self._compiled(dtype)(n, reads, strides, _address(to))
        return path

    def text(self) -> str:
        """The loop, for doubles, without what stands around it."""
        found = self._text()
        return found[found.index("void scan(") :]

    def _compiled(self, dtype: np.dtype) -> Any:
        return once(self._made, dtype, self._lock, partial(self._compile, dtype))

    def _compile(self, dtype: np.dtype) -> Any:
        single = dtype != _DOUBLE
        text = self._text(single)
        flags = ["-O1" if text.count(";") > _LARGE else "-O2"]
        flags += ["-fsingle-precision-constant"] * single + [*FAST * self._fast]
        run = library(text, tuple(flags)).scan
        run.argtypes, run.restype = [ctypes.c_long, *[ctypes.c_void_p] * 3], None
        return run


def _address(x: np.ndarray) -> int:
    found: int = x.__array_interface__["data"][0]
    return found


def written(
    emitter: Emitter,
    steps: Schedule,
    shapes: Sequence[tuple[int, ...]],
    columns: int,
    single: bool = False,
) -> str:
    """The steps of a scan as a function of C, ``scan``, of init, xs and params, and where to write.

    ``strides`` are the bytes from a row to the next, of the trajectory first.
    """
    printer, known = CPrinter(emitter, steps), steps.definitions()
    place: dict[int, str] = {}
    begun, read = [], []
    left = iter(steps.params)
    for k, shape in enumerate(shapes):
        elements = [next(left) for _ in range(math.prod(shape))]
        if 0 < k <= columns:
            read.append(f"const real *const x{k} = (const real *)(in{k} + t*strides[{k}]);")
            begun.append(f"const char *const in{k} = in[{k}];")
            place.update({v: f"x{k}[{j}]" for j, v in enumerate(elements)})
            continue
        kind = "real" if k == 0 else "const real"
        for j, v in enumerate(elements):
            begun.append(f"{kind} a{v} = ((const real *)in[{k}])[{j}];")
            place[v] = f"a{v}"

    def text(v: int) -> str:
        return weak_text(printer, known, v) if known[v].weak else place.get(v, f"v{v}")

    carry = list(enumerate(steps.params[: len(steps.results)]))
    kept = [f"((real *)row)[{j}] = a{v};" for j, v in carry]
    lines = [
        "void scan(long n, const void *const *in, const long *strides, char *row) {",
        *[f"    {line}" for line in (*begun, *kept)],
        "    for (long t = 0; t < n; t++) {",
        *[f"        {line}" for line in read],
        *[
            f"        {statement(printer, x, text)}"
            for x in steps.steps
            if not x.leaf and not x.weak
        ],
        # All of the new carry is there before any of the old one is gone.
        *[f"        const real b{j} = {text(v)};" for j, v in enumerate(steps.results)],
        *[f"        a{v} = b{j};" for j, v in carry],
        "        row += strides[0];",
        *[f"        {line}" for line in kept],
        "    }",
        "}",
        "",
    ]
    body = "\n".join(lines)
    head = HEAD.format(real="float" if single else "double", lanes=1)
    # No vectors: an element's bits would depend on those that are computed beside it.
    return "\n".join([head, *definitions(body, single, frozenset()), body])
