"""Whose memory is whose: results, what is kept between passes, and arrays that are added to.

Results are the caller's, residuals see no later change of the arguments, and no target of an
accumulation is touched before all sums are made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.lowering.values import strong
from symdiff.errors import ShapeError
from symdiff.graph.axes import shape_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numeric.types import Values
    from symdiff.graph.expr import Expr


_FLOAT = np.dtype(np.float64)

# Results ----------------------------------------------------------------------------------------


def root(array: np.ndarray) -> np.ndarray:
    """The array that owns the memory of ``array``.

    >>> x = np.arange(3)
    >>> root(np.lib.stride_tricks.as_strided(x[1:], (2, 2), (0, 8))) is x
    True
    """
    while (base := array.base) is not None:
        if not isinstance(base, np.ndarray):
            base = _held(base)
            if base is None:
                break
        array = base
    return array


def _memory(values: Iterable[object]) -> set[int]:
    """Which arrays own the memory of the arrays among ``values``."""
    arrays = [x for x in values if isinstance(x, np.ndarray)]
    return {id(x if x.base is None else root(x)) for x in arrays}


def _held(base: object) -> np.ndarray | None:
    """The array that a strided view of NumPy's is one of: between them is an object."""
    held = getattr(base, "base", None)
    return held if isinstance(held, np.ndarray) else None


def immutable(array: np.ndarray) -> bool:
    """Whether nobody can write to the array: neither it nor an array that it views is writeable."""
    while isinstance(array, np.ndarray):
        if array.flags.writeable:
            return False
        base = array.base
        held = None if base is None or isinstance(base, np.ndarray) else _held(base)
        array = base if held is None else held  # type: ignore[assignment]
    return array is None or isinstance(array, bytes)


def of_number(value: Any, shape: tuple[int, ...], precision: np.dtype | None) -> Any:
    """A weak number as a new array of ``shape``; None for its own dtype; a NumPy scalar for ()."""
    number = strong(value) if precision is None else precision.type(value)
    if not shape:
        return number
    array = np.empty(shape, number.dtype)
    array.fill(number)
    return array


class Owner:
    """Makes results that share memory with nothing else that the caller or a residual holds."""

    def __init__(self, taken: Iterable[object]) -> None:
        self.taken = _memory(taken)

    def result(self, value: Any, shape: tuple[int, ...], real: bool, precision: np.dtype) -> Any:
        """``value``, broadcast to ``shape``, as an array of its own; a NumPy scalar for ()."""
        # The numbers of a formula are doubles, so that a program of narrow arguments may widen on
        # its way; in double precision, what is wider stays so.
        narrow = precision.itemsize < _FLOAT.itemsize
        if real and value.dtype != precision and (narrow or value.dtype.kind != "f"):
            value = value.astype(precision)
        if not shape and not value.ndim:
            return value if isinstance(value, np.generic) else value[()]
        if value.shape != shape:
            value = np.broadcast_to(value, shape)
        base = value if value.base is None else root(value)
        # Memory that no array owns is a buffer of somebody's; a read-only result was broadcast, or
        # is the user's.
        if id(base) in self.taken or base.base is not None or not value.flags.writeable:
            value = base = np.array(value)
        self.taken.add(id(base))
        return value


def snapshots(
    values: Sequence[Values], arguments: Sequence[Values], shared: Iterable[tuple[int, int]]
) -> tuple[Values, ...]:
    """``values`` safe from changes of the arguments: copied where they share their memory.

    Those at the places ``shared`` may; with each stands the place of the argument that it mostly
    is, as a whole.  Read-only arguments are shared, as nobody can change them.
    """
    safe, taken = list(values), None
    for place, source in shared:
        v: Any = values[place]
        if v is not arguments[source]:
            if not isinstance(v, np.ndarray):
                continue
            taken = _memory(arguments) if taken is None else taken
            if id(root(v)) not in taken:
                continue
        if v.flags.writeable or not (v.base is None or immutable(v)):
            safe[place] = np.array(v)
    return tuple(safe)


# Accumulation -----------------------------------------------------------------------------------


def check_targets(
    targets: object, inputs: Sequence[Expr], shapes: Sequence[tuple[int, ...]]
) -> list[np.ndarray | None]:
    """The arrays to accumulate into, one or None for each input, checked before anything is done.

    Raises TypeError or ValueError naming the input: wrong number, no float array, not writeable,
    overlapping; ShapeError for another shape than the argument's.
    """
    if not isinstance(targets, list | tuple):
        raise TypeError("accumulate: expected a list of arrays, one per input or None")
    if len(targets) != len(inputs):
        raise ValueError(f"accumulate: {len(inputs)} arrays expected, got {len(targets)}")
    seen: list[np.ndarray] = []
    for x, target, shape in zip(inputs, targets, shapes, strict=True):
        if target is None:
            continue
        if not isinstance(target, np.ndarray) or target.dtype.kind != "f":
            what = getattr(target, "dtype", type(target).__name__)
            raise TypeError(f"accumulate: {x.name}: expected a float array, got {what}")
        if x.dtype is not float:
            raise TypeError(f"accumulate: {x.name} is not real and has no cotangent; pass None")
        if target.shape != shape:
            raise ShapeError(
                f"accumulate: {x.name}: expected shape {shape_text(shape)}, "
                f"got {shape_text(target.shape)}"
            )
        if not target.flags.writeable:
            raise ValueError(f"accumulate: the array for {x.name} is read-only")
        if _overlaps_itself(target) or any(_overlap(target, other) for other in seen):
            raise ValueError(f"accumulate: the array for {x.name} overlaps itself or another one")
        seen.append(target)
    return list(targets)


# Steps that an exact comparison of two strided arrays may take; harder ones count as overlapping.
_EFFORT = 10_000


def _overlap(a: np.ndarray, b: np.ndarray) -> bool:
    try:
        return np.shares_memory(a, b, max_work=_EFFORT)  # type: ignore[arg-type]  # any int is fine
    except np.exceptions.TooHardError:
        return True


def _overlaps_itself(a: np.ndarray) -> bool:
    """Whether two elements may share memory; exact unless axes interleave."""
    if not a.size:
        return False
    reach = a.itemsize
    for stride, length in sorted(
        (abs(s), n) for s, n in zip(a.strides, a.shape, strict=True) if n > 1
    ):
        if stride < reach:
            return True
        reach += stride * (length - 1)
    return False


def accumulated(
    targets: Sequence[np.ndarray | None], values: Sequence[Values]
) -> tuple[Values, ...]:
    """The targets after adding; all sums are made before the first target is written."""
    # A target may be an argument of the call, or the value of another cotangent.
    sums = [
        None if target is None else np.add(target, value, dtype=target.dtype, casting="same_kind")
        for target, value in zip(targets, values, strict=True)
    ]
    for target, total in zip(targets, sums, strict=True):
        if target is not None:
            target[...] = total
    return tuple(
        value if target is None else target for target, value in zip(targets, values, strict=True)
    )


def summed_to(value: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """A value at each point, summed over the axes along which an argument was stretched."""
    lead = value.ndim - len(shape)
    axes = (*range(lead), *(i + lead for i, n in enumerate(shape) if n != value.shape[i + lead]))
    return value.sum(axis=axes).reshape(shape) if axes else value
