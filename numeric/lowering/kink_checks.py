"""Kinks that an evaluation hit: what to compute beside a derivative, and what to say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symdiff.errors import NotDifferentiable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numeric.types import Values
    from symdiff.calculus.kinks import Kink
    from symdiff.graph.expr import Expr


def questions(kinks: Sequence[Kink]) -> list[Expr]:
    """The expressions that ``refuse`` wants the values of."""
    return [x for kink in kinks for x in (kink.hit, kink.operand)]


def hit(kinks: Sequence[Kink], values: Sequence[Values]) -> str | None:
    """Which kink was hit first, in words, from the values of the questions; None if none was."""
    for kink, where, value in zip(kinks, values[::2], values[1::2], strict=True):
        if np.any(where):
            place = tuple(map(int, np.argwhere(where)[0]))
            at = np.broadcast_to(value, np.shape(where))[place]
            element = f"at element {list(place)}, " if place else ""
            return (
                f"{kink.called}: not differentiable {element}where its operand is {at}; outside of "
                'sd.kinks("raise") the derivative there is a convention'
            )
    return None


def refuse(kinks: Sequence[Kink], values: Sequence[Values]) -> None:
    """Raise NotDifferentiable if a kink was hit."""
    text = hit(kinks, values)
    if text is not None:
        raise NotDifferentiable(text)
