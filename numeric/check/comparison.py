"""What a comparison of two formulas found, for the eye."""

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
    """Whether two formulas are one; see ``why``.

    Attributes:
        equal: True if they are proven to be, wherever both have a value, and no point was found at
            which only one has; False if they differ at ``point``; None if neither.
        proof: of ``equal``.  "normal form": the difference is 0 identically, where both have
            values.  Of a difference at ``point``: "exact" in rational arithmetic, "balls" by
            enclosures that have no number in common; None where 50 digits say so.
        kind: of the difference, those of an audit and "domain"; None if there is none.
        why: the particulars, in words.
        point: the simplest disagreeing input that was found, by name.
        component: the element of the values that differs there.
        values: both there, mpmath numbers of 50 digits; of a function's floats, the float.
        names: of the two.
        points: how many were looked at.
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
        return "\n".join(line.replace("\n", "\n" + " " * 10) for line in lines)

    def __repr__(self) -> str:
        return f"<Comparison: {self._headline()}>"

    def _repr_html_(self) -> str:
        return page(headline(self._headline()), table(self._particulars(), named=True, words=True))

    def _headline(self) -> str:
        found = {True: "equal", False: "not equal", None: "not decided"}[self.equal]
        kind = f" ({self.kind})" if self.kind else ""
        how = {
            None: "",
            "normal form": ", proven by normal form",
            "exact": ", proven by exact arithmetic",
            "balls": ", proven by ball arithmetic",
        }[self.proof]
        return f"{found}{kind}{how}"

    def _particulars(self) -> list[tuple[str, str]]:
        said = [(name, shortened(text)) for name, text in zip("fg", self.names, strict=True)]
        said.append(("why", shortened(self.why)))
        said += [("at", assignment(name, x)) for name, x in (self.point or {}).items()]
        if self.values is not None:
            shown: list[str] = []
            for digits in (EXPECTED_DIGITS, 35, 50):  # as many as tell them apart
                shown = [decimal(value, digits) for value in self.values]
                if len(set(shown)) > 1:
                    break
            names = [element(name, self.component) for name in "fg"]
            said += [(name, f"= {value}") for name, value in zip(names, shown, strict=True)]
        return said
