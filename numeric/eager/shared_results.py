"""Results of a function that was run in another form: views of its arguments, or of one another.

A transform runs a function once, on something else than its arguments, and computes the results by
a program of its own.  What shared memory in the run shares it in the results.
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
    """Which results of a run, by number, are views of which of ``[*given, *outs]``, and where."""
    found = []
    known = list(enumerate(given))
    for i, y in enumerate(outs):
        for j, x in known:
            place = _place(y, x)
            if place is not None:
                found.append((i, j, place))
                break
        else:
            if _is_whole(y):
                known.append((len(given) + i, y))
    return found


def _is_whole(y: Tensor) -> bool:
    """Whether a result has all of its memory."""
    array = y._array
    return (array.parent if isinstance(array, Shadow) else y._base) is None


def _place(y: Tensor, x: Tensor) -> Place | None:
    """Where ``y`` lies in the memory of ``x``; None if not there."""
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
    """Let results be views as ``placed`` says.

    ``lead``: how many leading axes the inputs and results have that the run did not know of.
    """
    trace = current().tracing
    for i, j, place in places:
        y, whole = results[i], inputs[j] if j < len(inputs) else results[j - len(inputs)]
        if not whole._array.size:
            continue
        if j >= len(inputs):
            _lay(whole, place.of, lead)
        array, required = whole._array, whole._rg
        if trace is not None:
            trace.view(y, whole, place, lead)
            if place.detached:
                y._array, y._rg = y._array.detached(required), False  # type: ignore[attr-defined]
            continue
        strides = (*array.strides[:lead], *place.strides)
        y._array = memory_of(array, y._array.shape, strides, place.offset)
        if place.detached:
            y._rg, y._edge, y._v = False, None, counter(whole)
            continue
        special = y._special
        alias(y, whole, current().grad)
        y._special = y._special or special


def _lay(x: Tensor, strides: tuple[int, ...], lead: int) -> None:
    """Let a new tensor lie in memory as in the run, on all axes but the leading ones."""
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
    laid = np.ndarray(like.shape, like.dtype, memory, 0, (*reversed(outer), *strides))
    if isinstance(array, Shadow):
        array.layout = laid
    else:
        laid[...] = array
        x._array = laid
