"""Restore shared memory between the arguments and results of a transformed function.

A transform runs a function once, on stand-ins for its arguments, and computes the results by a
lowered program.  Results that were views in the run become views again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from numeric.eager.recording import alias
from numeric.eager.tensor import Tensor, counter
from numeric.eager.traced_arrays import Place, Shadow, memory_of
from numeric.modes import current

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__: list[str] = []


def placed(given: Sequence[Tensor], outs: Sequence[Tensor]) -> list[tuple[int, int, Place]]:
    """Return triples (result, base, place) for the results of a run that are views.

    Both numbers count; the base is one of ``[*given, *outs]``.
    """
    views = []
    known = list(enumerate(given))
    for i, y in enumerate(outs):
        for j, x in known:
            place = _place(y, x)
            if place is not None:
                views.append((i, j, place))
                break
        else:
            if _is_base(y):
                known.append((len(given) + i, y))
    return views


def _is_base(y: Tensor) -> bool:
    """Whether a result is not a view of other memory."""
    array = y._array
    return (array.parent if isinstance(array, Shadow) else y._base) is None


def _place(y: Tensor, x: Tensor) -> Place | None:
    """Return the place of ``y`` in the memory of ``x``, or None if they share none."""
    a, b = y._array, x._array
    if isinstance(a, Shadow) and isinstance(b, Shadow):
        if a.root() is not b.root():
            return None
        return Place(a.strides, a.offset, bool(a.cuts()), b.strides)
    if isinstance(a, Shadow) or isinstance(b, Shadow) or not np.may_share_memory(a, b):
        return None
    start = a.__array_interface__["data"][0] - b.__array_interface__["data"][0]
    return Place(a.strides, start, not y._rg, b.strides)


def share(
    results: Sequence[Tensor],
    inputs: Sequence[Tensor],
    places: Sequence[tuple[int, int, Place]],
    lead: int = 0,
) -> None:
    """Make results views according to the triples of ``placed``.

    ``lead`` is the number of leading axes that inputs and results have in addition to the run.
    """
    trace = current().tracing
    for i, j, place in places:
        y, base = results[i], inputs[j] if j < len(inputs) else results[j - len(inputs)]
        if not base._array.size:
            continue
        if j >= len(inputs):
            _set_layout(base, place.of, lead)
        array, required = base._array, base._rg
        if trace is not None:
            trace.view(y, base, place, lead)
            if place.detached:
                y._array, y._rg = y._array.detached(required), False  # type: ignore[attr-defined]
            continue
        strides = (*array.strides[:lead], *place.strides)
        y._array = memory_of(array, y._array.shape, strides, place.offset)
        if place.detached:
            y._rg, y._edge, y._v = False, None, counter(base)
            continue
        special = y._special
        alias(y, base, current().grad)
        y._special = y._special or special


def _set_layout(x: Tensor, strides: tuple[int, ...], lead: int) -> None:
    """Give a new tensor the strides that it had in the run, on all axes but the leading ones."""
    array = x._array
    if array.strides[lead:] == strides:
        return
    like = array.layout if isinstance(array, Shadow) else array
    steps = [(n - 1) * s for n, s in zip(like.shape[lead:], strides, strict=True)]
    step, outer = sum(steps) + like.itemsize, []
    for n in reversed(like.shape[:lead]):
        outer.append(step)
        step *= n
    memory = np.empty(step, np.uint8)
    moved = np.ndarray(like.shape, like.dtype, memory, 0, (*reversed(outer), *strides))
    if isinstance(array, Shadow):
        array.layout = moved
    else:
        moved[...] = array
        x._array = moved
