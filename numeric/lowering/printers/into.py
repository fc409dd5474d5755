"""Steps as NumPy's expressions, of which values are written where they are needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from numeric.lowering import kinds
from numeric.lowering.printers.numpy import NumPyPrinter
from symdiff.graph import ops

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numeric.lowering.steps import Step
    from numeric.lowering.texts import Template


class IntoPrinter(NumPyPrinter):
    """Arrays; what is computed by one operation last has a text that writes it into an array."""

    def template(self, step: Step) -> Template:
        template = super().template(step)
        if template.into or step.weak or len(step.results) > 1:
            return template
        return template._replace(into=self._into(step, template))

    def _into(self, step: Step, template: Template) -> str:
        """The last operation of a step, as a call that writes into an array."""
        text = template.text
        if isinstance(step.kind, kinds.Power):
            square = "np.multiply({0}, {0}, out={out})"
            return square if step.kind.exponent == 2 else f"{text[:-1]}, out={{out}})"
        if isinstance(step.kind, kinds.Product):
            return _product(step.kind.signs)
        if isinstance(step.kind, kinds.Pointwise) and isinstance(step.op, ops.Pointwise):
            name = text.partition("(")[0]
            operands = ", ".join([f"{{{k}}}" for k in range(len(step.operands))])
            function = self.emitter.namespace.get(name)
            if isinstance(function, np.ufunc) and text == f"{name}({operands})":
                return f"{name}({operands}, out={{out}})"
        return ""


class ResultsPrinter(IntoPrinter):
    """Arrays, of which results are written into those that the program is given, ``outs``.

    There is one for each result, or None where it is to be a new array.  What adds along an axis
    makes new ones: the memory of its result may change the order in which it adds.
    """

    def kept(self, templates: Sequence[Template]) -> set[int]:
        wanted = frozenset(self.schedule.results)
        return {
            step.results[0]
            for step, template in zip(self.schedule.steps, templates, strict=True)
            if template.into
            and step.kind.elementwise
            and step.results[0] in wanted
            and not step.weak
        }

    def placed(self, values: Collection[int]) -> dict[int, int]:
        places = reversed([*enumerate(self.schedule.results)])
        return {v: place for place, v in places if v in values}

    def stored(self, into: str, parts: Sequence[str], slot: int) -> str:
        return into.format(*parts, out=f"outs[{slot}]")


def _product(signs: Sequence[int]) -> str:
    """Factors from left to right, the last one written into an array; "" for other forms."""
    first = "".join([f"{'*' if sign > 0 else '/'}{{{k}}}" for k, sign in enumerate(signs[:-1])])
    last = f"{{{len(signs) - 1}}}, out={{out}})"
    if len(signs) > 1 and signs[0] > 0:
        return f"np.{'multiply' if signs[-1] > 0 else 'divide'}({first[1:]}, {last}"
    return {(-1, 1): "np.divide({1}, {0}, out={out})", (-1,): "np.divide(1, {0}, out={out})"}.get(
        tuple(signs), ""
    )
