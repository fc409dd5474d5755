"""Steps as expressions of C."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from numeric.lowering import kinds
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
        signs = step.as_kind(kinds.Product).signs
        return _of_lengths(signs) if step.weak else super()._product(step)

    def _quotient(self, step: Step) -> Template:
        signs = step.as_kind(kinds.Quotient).signs
        return _of_lengths(signs) if step.weak else super()._quotient(step)

    def power(self, step: Step) -> Template:
        exponent = step.as_kind(kinds.Power).exponent
        if exponent == 2:
            return Template("{0}*{0}", POWER, (ATOM,))
        if exponent * 2 == 1:
            return Template("m_sqrt({0})", ATOM, (ATOM,))
        return Template(f"f_power({{0}}, {number_text(exponent).text})", ATOM, (ATOM,))

    def pointwise(self, step: Step) -> Template:
        op = step.as_op(ops.Pointwise)
        text = re.sub(r"\b_(\d+)\b", r"{\1}", formula(op.formula, op.arity))
        return Template(f"({text})", ATOM, (ATOM,) * op.arity)

    def quotient(self, step: Step) -> Template:
        plain, beyond, count = *self.quotients(step), len(step.operands)
        text = f"({{{step.as_kind(kinds.Quotient).places[0]}}} == inf ? {beyond} : {plain})"
        return Template(text, ATOM, (ATOM,) * count)

    def strong(self, step: Step) -> Template:
        kills = step.as_op(ops.Strong).kills
        zero = " || ".join([f"{{{k}}} == 0" for k in (0, 1) if kills[k]])
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
    return any(isinstance(step.kind, kinds.Size) for step in steps)


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
        if isinstance(step.kind, kinds.Number):
            texts[x] = f"({float(weak(step.kind.value))!r})"
        elif isinstance(step.kind, kinds.Size):
            texts[x] = f"((real){length(step.kind.axis)})"
        elif ready:
            inner = real(printer.template(step).text).format(*[texts[y] for y in step.operands])
            texts[x] = f"({inner})"
        else:
            stack.append((x, True))
            stack += [(y, False) for y in step.operands]
    return texts[v]
