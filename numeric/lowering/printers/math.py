"""Steps as expressions of Python floats, with ``math``, at a tenth of NumPy's cost.

What ``math`` raises where IEEE arithmetic has an answer, the caller computes again with NumPy.
"""

from __future__ import annotations

import math
from fractions import Fraction
from struct import Struct
from typing import TYPE_CHECKING

from numeric.lowering import kinds
from numeric.lowering.arithmetic import weak
from numeric.lowering.formulas import MathFormulas, of_arrays
from numeric.lowering.kernels.monomials import FAR, NEAR
from numeric.lowering.passes.lanes import PACKED
from numeric.lowering.printers.numpy import NumPyPrinter
from numeric.lowering.printers.python import SQUARE, PythonPrinter
from numeric.lowering.texts import ATOM, LOOSE, POWER, SUM, Template, number_text
from symdiff.graph import ops
from symdiff.graph.algebra import PRIMITIVES
from symdiff.scalars.vocabulary import FACTS, Relation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numeric.lowering.names import Emitter
    from numeric.lowering.steps import Schedule, Step
    from numeric.lowering.texts import Text
    from symdiff.graph.node import Op


class MathPrinter(PythonPrinter):
    """Python floats; conditions are Python's, so that an unselected branch is not computed."""

    formulas = MathFormulas
    plain = True

    def _begin(self, emitter: Emitter, schedule: Schedule) -> None:
        super()._begin(emitter, schedule)
        # Where all arguments are one array, they stay together: ``args``.
        self.packed = len(schedule.params) >= PACKED and any(
            isinstance(x.kind, kinds.Stack) and x.operands == schedule.params
            for x in schedule.steps
        )
        # What is computed of arrays or as such is NumPy's.
        rolled = self.packed or any(x.shapes[0] for x in schedule.steps)
        self._arrays = NumPyPrinter.beside(self) if rolled else None

    def template(self, step: Step) -> Template:
        arrays = self._arrays
        if arrays is None or isinstance(step.kind, kinds.Element | kinds.Elements | kinds.Stack):
            return super().template(step)
        if step.shapes[0]:
            return arrays.template(step)
        if any(self.steps[v].layout(v)[0] for v in step.operands):
            found = arrays.template(step)
            return Template(f"float({found.text})", ATOM, found.needs, found.repeated)
        return super().template(step)

    def named(self, step: Step, count: int) -> str:
        if self.packed and isinstance(step.kind, kinds.Input):
            return f"args[{count}]"
        return super().named(step, count)

    def element(self, step: Step) -> Template:
        return Template(f"{{0}}.item({step.as_kind(kinds.Element).place})", ATOM, (ATOM,))

    def elements(self, step: Step) -> Template:
        return Template("{0}.ravel().tolist()", ATOM, (ATOM,))

    def stack(self, step: Step) -> Template:
        count = len(step.operands)
        if not self.packed or step.operands != self.schedule.params:
            return super().stack(step)
        pack = self.emitter.bind(("pack", count), "pack", lambda: Struct(f"{count}d").pack)
        return Template(f"np.frombuffer({pack}(*args))", ATOM, (LOOSE,) * count)

    def spans(self, texts: Sequence[Text]) -> list[tuple[int, int, str]]:
        found: list[tuple[int, int, str]] = []
        steps = [self.steps[v] for v in self.schedule.results]
        first = 1
        for k in range(2, len(steps) + 1):
            before, this = steps[k - 1], steps[k] if k < len(steps) else None
            end = before.kind.place + 1 if isinstance(before.kind, kinds.Element) else None
            if (
                this is None
                or end is None
                or this.kind != kinds.Element(end)
                or this.operands != before.operands
            ):
                if k - first > 1:
                    (v,), start = before.operands, steps[first].as_kind(kinds.Element).place
                    length = self.steps[v].shapes[0][0]
                    key = "" if k - first == length else f"[{start}:{end}]"
                    found.append((first, k, f"*{texts[v].text}{key}.tolist()"))
                first = k
        return found

    def power(self, step: Step) -> Template:
        p = step.as_kind(kinds.Power).exponent
        if p == 2:
            return SQUARE
        if p == Fraction(1, 2):
            return Template(f"{self.emitter.function('sqrt', math.sqrt)}({{0}})", ATOM, (LOOSE,))
        if step.dtypes[0] is int:
            return Template(f"{{0}}**{p}", POWER, (ATOM,))
        power = self.emitter.function("pow", math.pow)
        return Template(f"{power}({{0}}, {weak(p)!r})", ATOM, (LOOSE,))

    def pointwise(self, step: Step) -> Template:
        op = step.as_op(ops.Pointwise)
        of_arrays(op.formula, op.arity)  # arrays must be possible too: it raises if not
        return _OPERATORS.get(op) or self.formula(op)

    def shifted(self, step: Step) -> Template:
        power = self.emitter.function("pow", math.pow)
        near = f"{{2}}*{{2}} >= {NEAR**2!r} or {FAR**-2!r} <= {{0}}*{{0}} <= {FAR**2!r}"
        text = f"{power}({{0}}, {{1}}) if {near} else float({self.exact_power(step, power)})"
        return Template(text, LOOSE, (POWER,) * 3, frozenset(range(3)))

    def monomial(self, step: Step) -> Template:
        of, count = step.as_kind(kinds.Monomial), len(step.operands)
        low, high = of.bound() ** -2, of.bound() ** 2
        over = [f"{{{k}}}" for k, p in enumerate(of.exponents) for _ in range(p)]
        under = [f"{{{k}}}" for k, p in enumerate(of.exponents) for _ in range(-p)]
        over = over if of.coef == 1 and over else [number_text(of.coef).within(POWER), *over]
        text = "*".join(over) + (f"/({'*'.join(under)})" if under else "")
        factors = [self.steps[v].kind for v in step.operands[: len(of.exponents)]]
        moderate = [
            f"{low!r} < {{{k}}}*{{{k}}} < {high!r}"
            for k, x in enumerate(factors)
            if not isinstance(x, kinds.Number) or not low < x.value * x.value < high
        ]
        exact = f"float({self.exact_monomial(step)})"
        text = f"{text} if {' and '.join(moderate)} else {exact}"
        return Template(text, LOOSE, (POWER,) * count, frozenset(range(count)))

    def quotient(self, step: Step) -> Template:
        plain, beyond, count = *self.quotients(step), len(step.operands)
        text = f"{plain} if {{{step.as_kind(kinds.Quotient).places[0]}}} < inf else {beyond}"
        return Template(text, LOOSE, (POWER,) * count, frozenset(range(count)))

    def strong(self, step: Step) -> Template:
        kills = step.as_op(ops.Strong).kills  # a number minus itself is 0, but for inf and nan
        plain = [f"({{{k}}} or {{{1 - k}}} - {{{1 - k}}} == 0)" for k in (0, 1) if kills[k]]
        text = f"{{0}}*{{1}} if {' and '.join(plain)} else 0.0"
        return Template(text, LOOSE, (POWER, POWER), frozenset({0, 1}))


_OPERATORS: dict[Op, Template] = {
    PRIMITIVES[name]: Template(f"{{0}} {facts.infix} {{1}}", LOOSE, (SUM, SUM))
    for name, facts in FACTS.items()
    if issubclass(facts, Relation)
}
_OPERATORS[PRIMITIVES["where"]] = Template("{1} if {0} else {2}", LOOSE, (SUM, SUM, SUM))
