"""Steps as NumPy's expressions, with large values in memory that the program keeps."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from numeric.lowering.memory import LEAST
from numeric.lowering.passes.operations import singly
from numeric.lowering.passes.reuse import Span, spans, unseen
from numeric.lowering.printers.numpy import NumPyPrinter
from numeric.lowering.printers.rows import RowsPrinter
from symdiff.graph import ops

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numeric.lowering.names import Emitter
    from numeric.lowering.steps import Schedule, Step
    from numeric.lowering.texts import Template
    from symdiff.graph.node import Shape


class KeptPrinter(NumPyPrinter):
    """Arrays, each large one written into memory of its own, where there is a way to say so.

    ``in_use`` says of each slot of that memory when it is in use.
    """

    in_use: tuple[Span, ...] = ()

    @classmethod
    def passed(cls, schedule: Schedule, emitter: Emitter) -> Schedule:
        return singly(super().passed(schedule, emitter), _may_be_large)

    def template(self, step: Step) -> Template:
        template = super().template(step)
        if template.into or step.weak or len(step.results) > 1:
            return template
        return template._replace(into=self._into(step, template))

    def kept(self, templates: Sequence[Template]) -> set[int]:
        private = unseen(self.schedule)
        return {
            step.results[0]
            for step, template in zip(self.schedule.steps, templates, strict=True)
            if template.into
            and step.results[0] in private
            and not self.numbers[step.results[0]]
            and _may_be_large(step.shapes[0])
        }

    def placed(self, values: Collection[int]) -> dict[int, int]:
        found = spans(self.schedule, values)
        self.in_use = tuple(found.values())
        return {v: slot for slot, v in enumerate(found)}

    def _into(self, step: Step, template: Template) -> str:
        """The last operation of a step, as a call that writes into an array."""
        text = template.text
        if step.form == "power":
            square = "np.multiply({0}, {0}, out={out})"
            return square if step.detail == 2 else f"{text[:-1]}, out={{out}})"
        if step.form == "product":
            return _PRODUCTS.get(step.detail, "")
        if step.form == "pointwise" and isinstance(step.op, ops.Pointwise):
            name = text.partition("(")[0]
            operands = ", ".join([f"{{{k}}}" for k in range(len(step.operands))])
            function = self.emitter.namespace.get(name)
            if isinstance(function, np.ufunc) and text == f"{name}({operands})":
                return f"{name}({operands}, out={{out}})"
        return ""


class KeptRowsPrinter(KeptPrinter, RowsPrinter):
    """The same of what is not computed in blocks of rows."""


_PRODUCTS = {
    (1, 1): "np.multiply({0}, {1}, out={out})",
    (1, -1): "np.divide({0}, {1}, out={out})",
    (-1, 1): "np.divide({1}, {0}, out={out})",
    (-1,): "np.divide(1, {0}, out={out})",
}


def _may_be_large(shape: Shape) -> bool:
    """Whether an array may be worth keeping; one whose axes have names may have any size."""
    known = [dim for dim in shape if isinstance(dim, int)]
    return bool(shape) and (len(known) < len(shape) or math.prod(known) * 8 >= LEAST)
