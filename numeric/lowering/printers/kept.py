"""Steps as NumPy's expressions, with large values in memory that the program keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numeric.lowering.memory import may_be_large
from numeric.lowering.passes.reuse import Span, spans, unseen
from numeric.lowering.pipelines import KEPT, KEPT_ROWS
from numeric.lowering.printers.into import IntoPrinter
from numeric.lowering.printers.rows import RowsPrinter

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numeric.lowering.texts import Template


class KeptPrinter(IntoPrinter):
    """Arrays, each large one written into memory of its own, where there is a way to say so.

    ``in_use`` says of each slot of that memory when it is in use.
    """

    pipeline = KEPT
    in_use: tuple[Span, ...] = ()

    def kept(self, templates: Sequence[Template]) -> set[int]:
        private = unseen(self.schedule)
        return {
            step.results[0]
            for step, template in zip(self.schedule.steps, templates, strict=True)
            if template.into
            and step.results[0] in private
            and not self.numbers[step.results[0]]
            and may_be_large(step.shapes[0])
        }

    def placed(self, values: Collection[int]) -> dict[int, int]:
        found = spans(self.schedule, values)
        self.in_use = tuple(found.values())
        return {v: slot for slot, v in enumerate(found)}

    def stored(self, into: str, parts: Sequence[str], slot: int) -> str:
        place = f"kept[{slot}]"
        return f"{place} = {into.format(*parts, out=place)}"


class KeptRowsPrinter(KeptPrinter, RowsPrinter):
    """The same of what is not computed in blocks of rows."""

    pipeline = KEPT_ROWS
