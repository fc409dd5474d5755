"""The result of ``why``: the comparison of two formulas, and its text for the reader."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from numeric.check.interchange import decimal
from numeric.check.presentation import EXPECTED_DIGITS, assignment, element, shortened
from numeric.html_tables import headline, page, table

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np


Proof = Literal["normal form", "exact", "balls"]


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """The result of comparing two formulas; see ``why``.

    Attributes:
        equal: True if the formulas are proven equal wherever both have a value, and no point is
            known at which only one has a value; False if they differ at ``point``; None if neither.
        proof: the proof of ``equal``.  "normal form": the difference is 0 identically, where both
            have values.  For a difference at ``point``: "exact" by rational arithmetic, "balls" by
            disjoint enclosures; None if only 50 digits show it.
        kind: the kind of difference, those of an audit and "domain"; None if there is none.
        why: the particulars, in words.
        point: the simplest input at which the formulas are known to differ, by name.
        component: the element of the values that differs there.
        values: both values there, mpmath numbers of 50 digits; for a function's floats, the float.
        names: the names of both formulas.
        points: the number of points compared.
    """

    equal: bool | None
    proof: Proof | None
    kind: str | None
    why: str
    names: tuple[str, str]
    points: int = 0
    point: Mapping[str, np.ndarray] | None = None
    component: tuple[int, ...] = ()
    values: tuple[Any, Any] | None = None
    inputs: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def __str__(self) -> str:
        lines = [self._headline()]
        lines += [f"   {name:<6} {words}" for name, words in self._particulars()]
        # A formula's text may have several lines; indent them below its first one.
        return "\n".join(line.replace("\n", "\n" + " " * 10) for line in lines)

    def __repr__(self) -> str:
        return f"<Comparison: {self._headline()}>"

    def _repr_html_(self) -> str:
        return page(headline(self._headline()), table(self._particulars(), named=True, words=True))

    def _headline(self) -> str:
        verdict = {True: "equal", False: "not equal", None: "not decided"}[self.equal]
        kind = f" ({self.kind})" if self.kind else ""
        how = {
            None: "",
            "normal form": ", proven by normal form",
            "exact": ", proven by exact arithmetic",
            "balls": ", proven by ball arithmetic",
        }[self.proof]
        return f"{verdict}{kind}{how}"

    def _particulars(self) -> list[tuple[str, str]]:
        rows = [(name, shortened(text)) for name, text in zip("fg", self.names, strict=True)]
        rows.append(("why", shortened(self.why)))
        rows += [("at", assignment(name, x)) for name, x in (self.point or {}).items()]
        if self.values is not None:
            shown: list[str] = []
            # the first number of digits that tells them apart
            for digits in (EXPECTED_DIGITS, 35, 50):
                shown = [decimal(value, digits) for value in self.values]
                if len(set(shown)) > 1:
                    break
            names = [element(name, self.component) for name in "fg"]
            rows += [(name, f"= {value}") for name, value in zip(names, shown, strict=True)]
        return rows
