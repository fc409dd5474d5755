"""Steps as NumPy's expressions of arrays."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from numeric.lowering.arithmetic import weak
from numeric.lowering.formulas import NumPyFormulas
from numeric.lowering.kernels.monomials import over_sum
from numeric.lowering.node_kernels import strong_product
from numeric.lowering.printers.python import SQUARE, PythonPrinter, call, places_of
from numeric.lowering.texts import ATOM, LOOSE, Template
from symdiff.graph import ops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numeric.lowering.steps import Step


class NumPyPrinter(PythonPrinter):
    """Arrays, and weak numbers beside them.  They are dropped after their last use."""

    formulas = NumPyFormulas
    drops = True

    def power(self, step: Step) -> Template:
        if step.detail == 2:
            return SQUARE
        if step.detail == Fraction(1, 2):
            return Template(f"{self.emitter.function('sqrt', np.sqrt)}({{0}})", ATOM, (LOOSE,))
        power = self.emitter.function("power", np.power)
        return Template(f"{power}({{0}}, {weak(step.detail)!r})", ATOM, (LOOSE,))

    def pointwise(self, step: Step) -> Template:
        assert isinstance(step.op, ops.Pointwise)
        return self.formula(step.op)

    def shifted(self, step: Step) -> Template:
        return call(self.exact_power(step), 3, repeated=(0, 2))

    def monomial(self, step: Step) -> Template:
        return call(self.exact_monomial(step), len(step.operands))

    def quotient(self, step: Step) -> Template:
        signs, places = step.detail
        key = ("quotient", signs, places)
        name = self.emitter.bind(key, "quotient_over", lambda: over_sum(signs, places), True)
        count = len(step.operands)
        return call(f"{name}({places_of(count)})", count)

    def strong(self, step: Step) -> Template:
        assert isinstance(step.op, ops.Strong)
        kills = step.op.kills
        name = "_".join(["strong", *(str(k) for k in (0, 1) if kills[k])])
        multiply = self.emitter.function(name, strong_product(kills))
        return call(f"{multiply}({{0}}, {{1}})", 2)

    def element(self, step: Step) -> Template:
        return Template(f"{{0}}[{step.detail}]", ATOM, (ATOM,))

    def dropped(self, names: Sequence[str]) -> str:
        return f"del {', '.join(names)}"
