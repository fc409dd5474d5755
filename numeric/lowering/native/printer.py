"""Steps as expressions of C."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from numeric.lowering.arithmetic import weak
from numeric.lowering.native.functions import formula
from numeric.lowering.printers.printer import Printer
from numeric.lowering.texts import ATOM, POWER, Template, number_text
from symdiff.graph import ops

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numeric.lowering.names import Emitter
    from numeric.lowering.steps import Schedule, Step
    from symdiff.graph.node import Dim


class CPrinter(Printer):
    """Steps as expressions of C over ``real`` values."""

    formulas = None  # type: ignore[assignment]  # formulas of C are not Python, see ``pointwise``

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


def _of_lengths(signs: tuple[int, ...]) -> Template:
    """A product of weak numbers, as ``schedule.quotient`` has it; C divides by 0, too."""
    order = (
        range(len(signs)) if signs[0] > 0 else sorted(range(len(signs)), key=lambda k: -signs[k])
    )
    parts = [f"{'*' if signs[k] > 0 else '/'}{{{k}}}" for k in order]
    return Template(f"(1{''.join(parts)})", ATOM, (ATOM,) * len(signs))


_NUMBER = re.compile(r"(?<![\w.{])\d+(\.\d*)?([eE][+-]?\d+)?(?![\w.}])")


def real(text: str) -> str:
    """A text in which whole numbers are real ones: 1/2 is a half in C, too."""
    return _NUMBER.sub(lambda x: x[0] if x[1] or x[2] else f"{x[0]}.0", text)


def statement(printer: CPrinter, step: Step, text: Callable[[int], str]) -> str:
    """A scalar step as a statement that names its value; ``text`` says how operands are written."""
    inner = real(printer.template(step).text).format(*map(text, step.operands))
    return f"const real v{step.results[0]} = {inner};"


def has_lengths(steps: Iterable[Step]) -> bool:
    """Whether steps compute with the length of an axis, which not every function of C is given."""
    return any(step.form == "size" for step in steps)


def _no_length(dim: Dim) -> str:
    raise AssertionError(f"a function of C that is not given the length {dim}")


def weak_text(
    printer: Printer, steps: Sequence[Step], v: int, length: Callable[[Dim], str] = _no_length
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
