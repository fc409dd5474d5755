"""Which operands of a function of the vocabulary are constant orders."""

from __future__ import annotations

from symdiff.scalar import VOCABULARY
from symdiff.vocabulary import Ordered
from symdiff.vocabulary.bessel import Bessel


def order_count(name: str) -> int:
    """How many of the first operands are orders."""
    cls = VOCABULARY[name]
    return cls.orders if issubclass(cls, Ordered) else int(issubclass(cls, Bessel))
