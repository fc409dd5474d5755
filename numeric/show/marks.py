"""Places at which a curve is marked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["kink", "jump", "pole", "edge", "no limit"]


@dataclass(frozen=True)
class Mark:
    """A place at which a curve is marked.

    ``kind`` is the behaviour of the derivative number ``order`` at ``x``.  It has a "jump", a
    "pole" (it grows without bound), the "edge" of its domain, or "no limit".  A "kink" of it is a
    jump of the next derivative.  All lower derivatives are continuous there.
    """

    kind: Kind
    order: int
    x: float

    @property
    def broken(self) -> int:
        """The lowest derivative without a value there."""
        return self.order + (self.kind == "kink")
