"""Programs as they run: on arrays, on Python floats, and at one point after the other."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from numeric.lowering import costs, kinds
from numeric.lowering.blocks import in_points
from numeric.lowering.memory import LEAST, MOST, Memory
from numeric.lowering.names import KEPT, KEPT_ROWS, MATH, NATIVE, NUMPY, POINTS, ROWS
from numeric.lowering.node_kernels import discards
from numeric.lowering.passes.rolling import roll_scalars
from numeric.lowering.passes.sharing import own
from numeric.lowering.passes.unrolling import unroll_arrays, unroll_into_scalars
from numeric.lowering.pipelines import changes
from numeric.lowering.printers.entries import in_rows
from numeric.lowering.printers.into import ResultsPrinter
from numeric.lowering.printers.kept import KeptPrinter, KeptRowsPrinter
from numeric.lowering.printers.math import MathPrinter
from numeric.lowering.printers.numpy import NumPyPrinter
from numeric.lowering.printers.python import defined, parameters
from numeric.lowering.printers.rows import RowsPrinter
from numeric.lowering.schedule import schedule
from numeric.lowering.values import WEAK
from numeric.warnings_off import SILENCE, noise, set_noise
from symdiff.errors import Unsupported
from symdiff.graph.axis_lengths import lengths
from symdiff.locks import cached_property, once

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numeric.lowering.arguments import Call
    from numeric.lowering.blocks import Rows
    from numeric.lowering.names import Emitter
    from numeric.lowering.native.kernels import NativePoints
    from numeric.lowering.printers.printer import Printer
    from numeric.lowering.steps import Schedule, Step
    from numeric.types import Values
    from symdiff.graph.expr import Expr

    OfElements: TypeAlias = Callable[[Sequence[Any]], Callable[..., tuple[Any, ...]]]


# What ``math`` raises where IEEE arithmetic has an answer.
NOT_IN_MATH = (ValueError, OverflowError, ZeroDivisionError)


DOUBLE = np.dtype(np.float64)
_PRINTERS: dict[str, type[Printer]] = {
    NUMPY: NumPyPrinter,
    MATH: MathPrinter,
    POINTS: ResultsPrinter,
    ROWS: RowsPrinter,
    KEPT: KeptPrinter,
    KEPT_ROWS: KeptRowsPrinter,
}


def _printer(flavour: str, steps: Schedule, native: bool) -> type[Printer]:
    """Return the printer of a program; machine code is loaded with the first that needs it."""
    if flavour == NATIVE:
        from numeric.lowering.native.kernels import NativePrinter

        return NativePrinter
    if flavour == MATH and native:
        from numeric.lowering.native.scalars import NativeScalarsPrinter, has_all

        if has_all(steps):
            return NativeScalarsPrinter
    return _PRINTERS[flavour]


ELEMENTS = 256  # of all that a solution contains, up to which it may be Python floats
NATIVE_LEAST = 256  # points that are worth a kernel
_WAYS = 64  # lengths of axes for which a program is remembered


class Program:
    """A program: its steps, its source, and whether selections discard values in it.

    It is compiled when it is first called.
    """

    def __init__(
        self,
        emitter: Emitter,
        name: str,
        params: Sequence[Expr],
        outputs: Sequence[Expr],
        flavour: str,
        comment: str,
        roll: bool = True,
        steps: Schedule | None = None,
    ) -> None:
        self.name, self._emitter = name, emitter
        self.options = emitter.options
        self.floats = steps is not None  # elements of arrays as Python floats
        if steps is None:
            steps = schedule(outputs, params, emitter.spellings)
        self.steps = steps
        kind = _printer(flavour, steps, emitter.options.native)
        roll = roll and (flavour != MATH or kind is MathPrinter)
        found = roll_scalars(steps, flavour == MATH, emitter.options.exact_order) if roll else steps
        self.rolled = found is not steps
        printer = kind(emitter, found)
        self._printer, self._before = kind, found
        self._native = flavour == NATIVE
        self.schedule, self.lines, self.results = printer.schedule, printer.lines, printer.results
        self.joined = printer.joined
        self.masked = any(map(discards, {op for x in steps.steps for op in x.ops}))
        if self.rolled and self.masked and flavour == MATH:  # arrays compute all branches
            silence = 'with np.errstate(all="ignore"):'
            self.lines = [silence, *(f"    {line}" for line in self.lines)]
        self.packed = isinstance(printer, MathPrinter) and printer.packed
        arguments = ["*args"] if self.packed else parameters(len(params))
        if flavour == POINTS:
            arguments.append("outs")
        self.memory = None
        if isinstance(printer, KeptPrinter) and printer.in_use:
            self.memory = Memory(printer.in_use)
            arguments.append("kept")
        returned = in_rows(self.results, self.joined)
        self._own = defined(name, arguments, comment, self.lines, returned)
        self.kernels: list[Rows] = printer.kernels if isinstance(printer, RowsPrinter) else []
        sources = printer.sources if isinstance(printer, RowsPrinter) else []
        self.source = "\n\n".join([*sources, self._own])

    def rewrites(self) -> Iterator[tuple[str, list[Step], list[Step]]]:
        """Yield each pass that changed the program, with the steps that went and that came."""
        printer = self._printer
        return changes(printer.pipeline, self._before, printer.given(self._emitter))

    @property
    def least(self) -> int:
        """The elements of the widest value from which on blocks are worth it."""
        handed = any(
            isinstance(step.kind, kinds.Rows) and shape and v not in self.schedule.results
            for step in self.schedule.steps
            for v, shape in zip(step.results, step.shapes, strict=True)
        )
        if self._native:
            return 0
        return costs.HANDED if handed else costs.LARGE

    @cached_property
    def function(self) -> Callable[..., Any]:
        """The compiled program: values, and the lengths of axes, to the results."""
        return self._emitter.compiled(self.name, self._own)

    @cached_property
    def silent(self) -> Callable[..., tuple[Values, ...]]:
        """The same; without floating-point warnings, if selections discard values."""
        run: Callable[..., tuple[Values, ...]] = self.function
        if self.memory is not None:
            run = self.memory.keeping(run)
        if not self.masked:
            return run

        def silent(*given: Any) -> tuple[Values, ...]:
            before = noise()
            try:
                set_noise(SILENCE)
                return run(*given)
            finally:
                set_noise(before)

        return silent


class Lowered:
    """One program, in the flavours that are asked for.

    ``real`` says which results are floats; the last ``kept`` of them stay with the program.
    """

    def __init__(
        self,
        emitter: Emitter,
        name: str,
        params: Sequence[Expr],
        outputs: Sequence[Expr],
        real: Sequence[bool],
        comment: str,
        kept: int = 0,
    ) -> None:
        self.emitter, self.name, self.comment, self.kept = emitter, name, comment, kept
        self.params, self.outputs, self.real = tuple(params), tuple(outputs), tuple(real)
        self.found: dict[tuple[str, bool], Program] = {}
        self.has_math = True
        self._ways: dict[tuple[int, ...], Callable[..., Sequence[Values]]] = {}
        self._large: Program | None = None  # the one that ran for large arrays
        # Arguments that are all scalars may be arrays of points.
        self._points = not any(x.shape for x in self.params)

    def program(self, flavour: str, roll: bool = True) -> Program:
        """The program for arrays (NUMPY) or Python floats (MATH), with steps rolled if ``roll``.

        That one takes doubles alone, and is none for points.  POINTS: for many points, in blocks,
        into arrays that are given.  ROWS: for large arrays, in blocks;
        KEPT and KEPT_ROWS: in memory that is kept, without blocks and with them.
        """
        plain = flavour in (NUMPY, MATH)
        key = flavour, roll and plain and not (flavour == NUMPY and self._points)
        found = self.found.get(key)
        if found is None:
            made = (self.name, self.params, self.outputs, flavour, self.comment, key[1])
            write = partial(Program, self.emitter, *made)
            found = once(self.found, key, self.emitter.lock, write)
        return found

    @cached_property
    def arrays(self) -> Callable[..., tuple[Values, ...]]:
        """The function of arrays and NumPy scalars, and of the lengths of axes, to the results."""
        tiny = self.tiny
        if tiny is not None:
            direct = tiny.function

            def of_floats(*given: Any) -> tuple[Values, ...]:
                if all(map(_is_double, given[:-1])):
                    try:
                        found: tuple[Values, ...] = direct(*given)
                    except NOT_IN_MATH:
                        pass
                    else:
                        return found
                # What calls know of the results is as the other program leaves them.
                return tuple(
                    [v[()] if isinstance(v, np.ndarray) else v for v in self._of_arrays(*given)]
                )

            return of_floats
        return self._of_arrays

    @cached_property
    def tiny(self) -> Program | None:
        """The program of Python floats for arrays of doubles of which each element is one, if any.

        There is one where arrays are tiny and steps are many.
        """
        program = self.program(NUMPY)
        if self._points or self.emitter.options.exact_order:
            return None
        steps = unroll_arrays(program.steps, program.schedule)
        if steps is None:
            return None
        made = (self.name, self.params, self.outputs, MATH, self.comment, False, steps)
        try:
            return Program(self.emitter, *made)
        except Unsupported:  # a function of the user's that has no body for floats
            return None

    @cached_property
    def _of_arrays(self) -> Callable[..., tuple[Values, ...]]:
        program = self.program(NUMPY)
        run = program.silent
        if not program.rolled:
            return run

        def chosen(*given: Any) -> tuple[Values, ...]:
            if all(map(_is_double, given[:-1])):
                return run(*given)
            return self.program(NUMPY, False).silent(*given)

        return chosen

    def way(
        self, sizes: Mapping[str, int], points: tuple[int, ...] = ()
    ) -> Callable[..., Sequence[Values]]:
        """``arrays`` for axes of these lengths, or at many points: in blocks where it is large."""
        if points and math.prod(points) >= NATIVE_LEAST and self.points is not None:
            return partial(self.points, points, self.program(NUMPY).silent)
        if points and math.prod(points) >= costs.LARGE:
            run, threads = self.program(POINTS).silent, self.emitter.options.threads
            return partial(in_points, run, len(self.outputs), points, threads)
        key = tuple(sizes.values())
        found = self._ways.get(key)
        if found is None:
            make = partial(self._in_rows, sizes)
            found = once(self._ways, key, self.emitter.lock, make, most=_WAYS)
        return found

    @cached_property
    def points(self) -> NativePoints | None:
        """The program at many points in machine code, where that is asked for and C has it."""
        if not self.emitter.options.native:
            return None
        from numeric.lowering.native.kernels import at_points  # loaded where it is needed

        return at_points(self.emitter, self.program(NUMPY).schedule)

    def _in_rows(self, sizes: Mapping[str, int]) -> Callable[..., Sequence[Values]]:
        program = self.chosen(sizes)
        if program is self.program(NUMPY):
            return self.arrays
        self._large = program
        return program.silent

    def chosen(self, sizes: Mapping[str, int]) -> Program:
        """The program of arrays that runs for axes of these lengths, if it is not one of floats."""
        if self.emitter.options.native and self.program(NATIVE).kernels:
            return self.program(NATIVE)
        plain = self.program(NUMPY)
        if plain.rolled:
            return plain
        steps = [x for x in plain.schedule.steps if not x.weak]
        largest = _largest(steps, sizes)
        in_blocks = largest >= costs.LARGE and any(
            x.rows(sizes) * x.width(sizes) >= costs.LARGE for x in self.program(ROWS).kernels
        )
        widest = _largest([x for x in steps if not x.leaf], sizes) * DOUBLE.itemsize
        if LEAST <= widest <= MOST:
            parted = in_blocks and largest >= self.program(ROWS).least
            program = self.program(KEPT_ROWS if parted else KEPT)
            if program.memory is not None:
                return program
        return self.program(ROWS) if in_blocks else plain

    def written(self) -> Program:
        """The program that was written first; that for large or tiny arrays, where it runs."""
        if "tiny" in self.__dict__ and self.tiny is not None:
            return self.tiny
        return self._large or next(iter(self.found.values()))

    @cached_property
    def own(self) -> tuple[bool, ...]:
        """Which results of ``arrays`` are new (see ``sharing``), where ``is_one``."""
        return own(self.program(NUMPY).schedule, self.kept)

    @cached_property
    def shared(self) -> tuple[tuple[int, int], ...]:
        """Which of what is kept may be others' memory: its place, and that of such an argument."""
        schedule, count = self.program(NUMPY).schedule, len(self.outputs) - self.kept
        if not schedule.params:
            return ()
        places = {v: i for i, v in enumerate(schedule.params)}
        kept = zip(schedule.results[count:], self.own[count:], strict=True)
        return tuple([(i, places.get(v, 0)) for i, (v, new) in enumerate(kept) if not new])

    def is_one(self, given: Sequence[Any]) -> bool:
        """Whether these values run the program that was looked at: rolled ones take doubles."""
        return not self.program(NUMPY).rolled or all(map(_is_double, given))

    def floats(self, values: Sequence[Values]) -> Sequence[Values]:
        """The results for Python floats, redone in NumPy where ``math`` raises."""
        if self.has_math:
            try:
                program = self.program(MATH)
                sizes: tuple[Mapping[str, int], ...] = () if program.packed else ({},)
                results: Sequence[Values] = program.function(*values, *sizes)
            except NOT_IN_MATH:
                pass
            except Unsupported:  # a function of the user's that has no body for floats
                self.has_math = False
            else:
                return results
        return self.arrays(*[np.asarray(v)[()] for v in values], {})


def _is_double(value: Values) -> bool:
    # A tuple: this runs at each call, and a union would be made anew.
    return isinstance(value, (np.ndarray, np.generic)) and value.dtype is DOUBLE


def _largest(steps: Sequence[Step], sizes: Mapping[str, int]) -> int:
    """The elements of the largest value that steps have."""
    shapes = {shape for step in steps for shape in step.shapes}
    return max([math.prod(lengths(shape, sizes)) for shape in shapes], default=0)


# Numbers and points -----------------------------------------------------------------------------


def python_number(value: Any, real: bool) -> Any:
    """A scalar result as a Python number; arrays as they are."""
    if value.__class__ not in WEAK:
        if value.ndim:
            return value
        value = value.item()
    return float(value) if real else value


def plain(value: Values) -> Any:
    """A NumPy scalar as a Python number; anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def at_points(lowered: Lowered, values: Sequence[Values], call: Call) -> list[np.ndarray]:
    """The results at one point after the other, as arrays of shape points + shape of the result."""
    count = math.prod(call.points)
    shapes = [lengths(x.shape, call.sizes) for x in lowered.params]
    wide = [
        np.broadcast_to(v, call.points + shape).reshape(count, *shape)
        for v, shape in zip(values, shapes, strict=True)
    ]
    rows = [lowered.arrays(*[v[i] for v in wide], call.sizes) for i in range(count)]
    results = []
    for i, (y, real) in enumerate(zip(lowered.outputs, lowered.real, strict=True)):
        shape = lengths(y.shape, call.sizes)
        if rows:
            column = [row[i] for row in rows]
            if shape:  # a weak number stands for an array
                column = [np.broadcast_to(v, shape) for v in column]
            found = np.array(column)
        else:
            found = np.zeros((0, *shape), call.precision if real else y.dtype)
        results.append(found.reshape(call.points + shape))
    return results


def of_arrays(
    emitter: Emitter, name: str, symbols: Sequence[Expr], outputs: Sequence[Expr], real: bool = True
) -> Callable[..., Sequence[Any]]:
    """The function of what a body has inside: of arrays for symbols, and of the lengths of axes.

    ``real``: whether the outputs are.
    """
    program = Lowered(emitter, name, tuple(symbols), tuple(outputs), [real] * len(outputs), "")
    return program.program(NUMPY, roll=False).function


def of_elements(
    emitter: Emitter, name: str, symbols: Sequence[Expr], outputs: Sequence[Expr], moving: int = 1
) -> OfElements | None:
    """The same of Python floats, element by element, where that takes less time; else None.

    It is a function of the elements of all symbols but the first, ``moving``, which gives one of
    theirs, each an argument of its own.  Its results are the elements of all outputs, one behind
    the other, and it raises what ``math`` raises (NOT_IN_MATH).
    """
    steps = unroll_into_scalars(schedule(outputs, symbols), ELEMENTS)
    if steps is None:
        return None
    try:
        printer = MathPrinter(emitter, steps)
    except Unsupported:  # a function of the user's that has no body for floats
        return None
    names = parameters(len(steps.params))[:-1]
    count = sum(math.prod(lengths(x.shape, {})) for x in symbols[:moving])
    given = [f"    {', '.join(names[count:])}, = params"] if names[count:] else []
    source = [
        f"def {name}(params):",
        *given,
        f"    def {name}({', '.join(names[:count])}):",
        *[f"        {line}" for line in printer.lines],
        f"        return ({', '.join(in_rows(printer.results, printer.joined))},)",
        f"    return {name}",
        "",
    ]
    return emitter.compiled(name, "\n".join(source))


def precision(arrays: Iterable[Any]) -> np.dtype:
    """That of the real ones among arrays; double where there is none.

    >>> precision([np.ones(2, np.float32), np.arange(2)])
    dtype('float32')
    """
    real = [x.dtype for x in arrays if x.dtype.kind == "f"]
    return np.result_type(*real) if real else DOUBLE
