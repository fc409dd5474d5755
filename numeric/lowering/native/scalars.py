"""Programs of very many scalars as straight lines of C.

The text is parted into functions of a few hundred statements, since compilers take more than linear
time for longer ones; what one of them needs of another is kept in an array.
"""

from __future__ import annotations

import ctypes
from functools import partial
from struct import Struct
from typing import TYPE_CHECKING, Any

from numeric.lowering import kinds
from numeric.lowering.names import Emitter
from numeric.lowering.native.compiler import FAST
from numeric.lowering.native.functions import definitions
from numeric.lowering.native.libraries import library
from numeric.lowering.native.loops import STATEMENTS, able
from numeric.lowering.native.printer import CPrinter, has_lengths, statement, weak_text
from numeric.lowering.native.source import head
from numeric.lowering.passes.lanes import PACKED
from numeric.lowering.printers.entries import in_rows
from numeric.lowering.printers.math import MathPrinter
from numeric.lowering.printers.python import defined, parameters

if TYPE_CHECKING:
    from collections.abc import Callable

    from numeric.lowering.steps import Schedule

LEAST = 100
"""Steps from which on a call of C costs less than lines of Python."""


def has_all(schedule: Schedule) -> bool:
    """Whether a program is one of many scalars, all of which C computes."""
    steps = [x for x in schedule.steps if not x.leaf and not x.weak]
    if len(steps) < LEAST or any(isinstance(x.kind, kinds.Array) for x in schedule.steps):
        return False
    if has_lengths(schedule.steps):
        return False
    known = schedule.definitions()
    if any(known[v].layout(v) != ((), float) for v in (*schedule.params, *schedule.results)):
        return False
    kernels = any(isinstance(x.kind, kinds.ByKernel) for x in steps)
    return not kernels and all(not x.shapes[0] and able(x, known) for x in steps)


class NativeScalarsPrinter(MathPrinter):
    """A program of Python floats that C computes, as a call of it."""

    def __init__(self, emitter: Emitter, schedule: Schedule) -> None:
        self._begin(emitter, self.passed(schedule, emitter))
        count = len(schedule.results)
        made = NativeScalars(emitter, self.schedule, partial(_in_python, schedule))
        name = emitter.bind(made, "scalars", lambda: made, numbered=True)
        params = len(schedule.params)
        self.packed = params >= PACKED
        given = ["*args"] if self.packed else parameters(params)[:-1]
        self.lines = [f"found = {name}({', '.join(given)})"]
        self.results = [f"found[{k}]" for k in range(count)]
        self.joined = [(1, count, "*found[1:]")] if count > 2 else []


class NativeScalars:
    """Compiled when it is first called: Python floats to a tuple of them.

    ``in_python`` makes the same function in Python, for where there is no machine code after all.
    """

    def __init__(
        self,
        emitter: Emitter,
        schedule: Schedule,
        in_python: Callable[[], Callable[..., tuple[float, ...]]],
    ) -> None:
        self._emitter, self._schedule, self._in_python = emitter, schedule, in_python
        self._pack = Struct(f"{len(schedule.params)}d").pack
        self._unpack = Struct(f"{len(schedule.results)}d").unpack_from
        self._run: Callable[..., tuple[float, ...]] | None = None

    def __call__(self, *args: float) -> tuple[float, ...]:
        """The results."""
        run = self._run
        if run is None:
            run = self._run = self._compiled() or self._in_python()
        return run(*args)

    def _compiled(self) -> Callable[..., tuple[float, ...]] | None:
        options, (text, count) = self._emitter.options, written(self._emitter, self._schedule)
        loaded = library(text, ("-O1", *FAST * options.fastmath), options.backend)
        if loaded is None:
            return None
        function = loaded.scalars
        function.argtypes, function.restype = [ctypes.c_void_p, ctypes.c_void_p], None
        return partial(_call, function, ctypes.c_double * count, self._pack, self._unpack)


def _call(
    function: Callable[[bytes, int], None],
    memory: Callable[[], Any],
    pack: Callable[..., bytes],
    unpack: Callable[[Any], tuple[float, ...]],
    *args: float,
) -> tuple[float, ...]:
    found = memory()
    function(pack(*args), ctypes.addressof(found))
    return unpack(found)


def _in_python(schedule: Schedule) -> Callable[..., tuple[float, ...]]:
    printer = MathPrinter(Emitter(), schedule)
    arguments = ["*args"] if printer.packed else parameters(len(schedule.params))[:-1]
    results = in_rows(printer.results, printer.joined)
    source = defined("scalars", arguments, "", printer.lines, results)
    run = printer.emitter.compiled("scalars", source)
    return lambda *args: tuple(map(float, run(*args)))


def written(emitter: Emitter, schedule: Schedule) -> tuple[str, int]:
    """A program of scalars as a function of C, ``scalars``, from one array to another.

    Returns the text, and the numbers of the latter: the results come first, then what parts keep
    for each other.
    """
    printer = CPrinter(emitter, schedule)
    steps = schedule.definitions()
    place = {v: f"in[{k}]" for k, v in enumerate(schedule.params)}
    own = [x for x in schedule.steps if not x.leaf and not x.weak]
    parts = [own[k : k + STATEMENTS] for k in range(0, len(own), STATEMENTS)]
    part = {x.results[0]: k for k, steps_ in enumerate(parts) for x in steps_}
    shared: dict[int, int] = {}  # what another part reads, or the caller
    for x in own:
        for v in x.operands:
            if part.get(v, part[x.results[0]]) != part[x.results[0]]:
                shared.setdefault(v, len(shared))
    for v in schedule.results:
        if v in part:
            shared.setdefault(v, len(shared))

    def text(v: int, at: int) -> str:
        if steps[v].weak:
            return weak_text(printer, steps, v)
        if v in place:
            return place[v]
        return f"v{v}" if part[v] == at else f"kept[{shared[v]}]"

    lines = []
    for k, some in enumerate(parts):
        lines.append(f"static void part_{k}(const real *in, real *kept) {{")
        for x in some:
            (v,) = x.results
            lines.append(f"    {statement(printer, x, partial(text, at=k))}")
            if v in shared:
                lines.append(f"    kept[{shared[v]}] = v{v};")
        lines.append("}")
    lines += [
        "void scalars(const real *in, real *out) {",
        f"    real *const kept = out + {len(schedule.results)};",  # a stack may be small
        *[f"    part_{k}(in, kept);" for k in range(len(parts))],
        *[f"    out[{k}] = {text(v, -1)};" for k, v in enumerate(schedule.results)],
        "}",
        "",
    ]
    body = "\n".join(lines)
    text_ = "\n".join([head(single=False, lanes=1), *definitions(body, False, frozenset()), body])
    return text_, len(schedule.results) + len(shared)
