"""Programs as they run: on arrays, on Python floats, and at one point after the other."""

from __future__ import annotations

import math
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.lowering.names import MATH, NUMPY
from numeric.lowering.node_kernels import discards
from numeric.lowering.passes.rolling import rolled
from numeric.lowering.printers.entries import in_rows
from numeric.lowering.printers.math import MathPrinter
from numeric.lowering.printers.numpy import NumPyPrinter
from numeric.lowering.schedule import schedule
from numeric.lowering.values import WEAK
from numeric.warnings_off import SILENCE, noise, set_noise
from symdiff.errors import Unsupported
from symdiff.graph.axis_lengths import lengths
from symdiff.locks import once

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numeric.lowering.arguments import Call
    from numeric.lowering.names import Emitter
    from numeric.lowering.printers.printer import Printer
    from numeric.types import Values
    from symdiff.graph.expr import Expr


# What ``math`` raises where IEEE arithmetic has an answer.
NOT_IN_MATH = (ValueError, OverflowError, ZeroDivisionError)


DOUBLE = np.dtype(np.float64)
_PRINTERS: dict[str, type[Printer]] = {NUMPY: NumPyPrinter, MATH: MathPrinter}


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
    ) -> None:
        self.name, self._emitter = name, emitter
        steps = schedule(outputs, params)
        found = rolled(steps, flavour == MATH) if roll else steps
        self.rolled = found is not steps
        printer = _PRINTERS[flavour](emitter, found)
        self.schedule, self.lines, self.results = printer.schedule, printer.lines, printer.results
        self.joined = printer.joined
        self.packed = isinstance(printer, MathPrinter) and printer.packed
        arguments = [*(f"v{i + 1}" for i in range(len(params))), "sizes"]
        arguments = ["*args"] if self.packed else arguments
        returned = in_rows(self.results, self.joined)
        comma = "," if len(self.results) == 1 else ""
        body = [
            *(f"# {line}" for line in comment.splitlines()),
            *self.lines,
            f"return ({', '.join(returned)}{comma})",
        ]
        head = f"def {name}({', '.join(arguments)}):"
        self.source = "\n".join([head, *(f"    {line}" for line in body), ""])
        self.masked = any(map(discards, {op for x in self.schedule.steps for op in x.ops}))

    @cached_property
    def function(self) -> Callable[..., Any]:
        """The compiled program: values, and the lengths of axes, to the results."""
        return self._emitter.compiled(self.name, self.source)


class Lowered:
    """One program, in the flavours that are asked for; ``real`` says which results are floats."""

    def __init__(
        self,
        emitter: Emitter,
        name: str,
        params: Sequence[Expr],
        outputs: Sequence[Expr],
        real: Sequence[bool],
        comment: str,
    ) -> None:
        self.emitter, self.name, self.comment = emitter, name, comment
        self.params, self.outputs, self.real = tuple(params), tuple(outputs), tuple(real)
        self.found: dict[tuple[str, bool], Program] = {}
        self.has_math = True
        # Arguments that are all scalars may be arrays of points.
        self._points = not any(x.shape for x in self.params)

    def program(self, flavour: str, roll: bool = True) -> Program:
        """The program for arrays (NUMPY) or Python floats (MATH), with steps rolled if ``roll``.

        That one takes doubles alone, and is none for points.
        """
        key = flavour, roll and not (flavour == NUMPY and self._points)
        found = self.found.get(key)
        if found is None:
            made = (self.name, self.params, self.outputs, flavour, self.comment, key[1])
            write = partial(Program, self.emitter, *made)
            found = once(self.found, key, self.emitter.lock, write)
        return found

    def arrays(self, values: Sequence[Values], sizes: Mapping[str, int]) -> tuple[Values, ...]:
        """The results for arrays and NumPy scalars."""
        program = self.program(NUMPY)
        if program.rolled and not all(map(_is_double, values)):
            program = self.program(NUMPY, False)
        run: Callable[..., tuple[Values, ...]] = program.function
        if not program.masked:
            return run(*values, sizes)
        before = noise()
        try:
            set_noise(SILENCE)
            return run(*values, sizes)
        finally:
            set_noise(before)

    def floats(self, values: Sequence[Values]) -> tuple[Values, ...]:
        """The results for Python floats, redone in NumPy where ``math`` raises."""
        if self.has_math:
            try:
                program = self.program(MATH)
                sizes: tuple[Mapping[str, int], ...] = () if program.packed else ({},)
                results: tuple[Values, ...] = program.function(*values, *sizes)
            except NOT_IN_MATH:
                pass
            except Unsupported:  # a function of the user's that has no body for floats
                self.has_math = False
            else:
                return results
        return self.arrays([np.asarray(v)[()] for v in values], {})


def _is_double(value: Values) -> bool:
    return isinstance(value, np.ndarray | np.generic) and value.dtype is DOUBLE


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
    rows = [lowered.arrays([v[i] for v in wide], call.sizes) for i in range(count)]
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
