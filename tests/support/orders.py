"""Which operands of a function of the vocabulary are constant orders."""

from __future__ import annotations

from symdiff.scalars.formula import VOCABULARY


def order_count(name: str) -> int:
    """Return how many of the first operands are orders; SymPy's own functions have none."""
    return getattr(VOCABULARY[name], "orders", 0)
