"""What values are in programs: arrays, NumPy scalars where the shape is (), or weak Python numbers.

A weak number takes its precision from what it meets, so float32 stays float32 beside 1/3, pi or
sqrt(2), and it stands for an array of its node's shape that is filled with it: broadcasting it
costs nothing.  ``filled`` makes the array where one is wanted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.lowering.arithmetic import weak
from symdiff.graph.axis_lengths import lengths

if TYPE_CHECKING:
    from collections.abc import Mapping

    from symdiff.graph.node import Shape

WEAK = frozenset({float, int, bool})


def filled(
    value: Any, shape: Shape, sizes: Mapping[str, int], dtype: np.dtype | None = None
) -> Any:
    """``value`` as an array of ``shape``; a weak number becomes a read-only view of ``dtype``."""
    if value.__class__ not in WEAK:
        return value
    scalar = strong(value) if dtype is None else dtype.type(value)
    return np.broadcast_to(scalar, lengths(shape, sizes)) if shape else scalar


def full(shape: tuple[int, ...], value: object, *others: Any) -> Any:
    """``filled``, in the precision of the arrays among the ``others``, as programs call it.

    >>> full((2,), 0.5, np.ones(2, np.float32)), full((2,), np.array([1, 2]))
    (array([0.5, 0.5], dtype=float32), array([1, 2]))
    """
    real = [a.dtype for a in others if a.__class__ not in WEAK and a.dtype.kind == "f"]
    return filled(value, shape, {}, np.result_type(*real) if real else None)


def strong(value: Any) -> np.generic:
    """A weak number as a NumPy scalar.

    >>> strong(2**70), strong(True)
    (np.float64(1.1805916207174113e+21), np.True_)
    """
    if isinstance(value, bool):
        return np.bool_(value)
    number = weak(value)
    return np.int64(number) if isinstance(number, int) else np.float64(number)
