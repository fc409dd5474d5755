"""The places that a slice takes along an axis, as exact arithmetic of ranges; nothing of length n.

Along an axis of known length they are a ``range``.  An axis of symbolic length is taken whole
(``None``) or at one index (an int; a negative one counts from the end).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symdiff.graph.node import Dim

Step: TypeAlias = "tuple[int, int | None, int]"
Places: TypeAlias = "range | int | None"

WHOLE: Step = (0, None, 1)


def places_of(step: Step, length: Dim) -> Places:
    """The places that ``start:stop:step`` takes along an axis of this length."""
    if isinstance(length, int):
        return range(*slice(*step).indices(length))
    return None if step == WHOLE else step[0]


def step_of(places: Places, length: Dim) -> Step:
    """The one way to spell the places as start, stop and step.

    >>> step_of(range(4, -1, -2), 5), step_of(range(1, 2), 5), step_of(range(5), 5)
    ((4, None, -2), (1, 2, 1), (0, None, 1))
    """
    if places is None:
        return WHOLE
    if isinstance(places, int):
        return (places, places + 1, 1) if places != -1 else (-1, None, 1)
    if not places:
        return (0, 0, 1)
    if len(places) == 1:
        return WHOLE if length == 1 else (places[0], places[0] + 1, 1)
    if len(places) == length and places.step == 1:
        return WHOLE
    stop = places[-1] + (1 if places.step > 0 else -1)
    return places[0], None if stop < 0 else stop, places.step


def count(places: Places, length: Dim) -> Dim:
    """How many places there are."""
    if places is None:
        return length
    return 1 if isinstance(places, int) else len(places)


def composed(outer: Step, inner: Places, length: Dim) -> Places:
    """The places that ``[inner][outer]`` takes; ``length`` is that of the axis itself.

    Raises LookupError for what has no spelling: no element of an axis of symbolic length.
    """
    if isinstance(inner, range):
        return inner[slice(*outer)]
    if inner is None:
        return places_of(outer, length)
    if not range(1)[slice(*outer)]:
        raise LookupError
    return inner


def chosen(places: range, index: range) -> range:
    """The places with these indices among the places."""
    return places[slice(*step_of(index, len(places)))]


def reversed_places(places: Places, length: Dim) -> Places:
    """The places, counted from the other end: what ``[::-1][places]`` takes."""
    if isinstance(places, range):
        assert isinstance(length, int)
        return range(length)[::-1][slice(*step_of(places, length))]
    return None if places is None else -1 - places


def common(a: range, b: range) -> range:
    """The members of both, in ascending order (by the Chinese remainder theorem).

    >>> common(range(0, 20, 3), range(19, 0, -2))
    range(3, 16, 6)
    """
    if not a or not b:
        return range(0)
    a, b = (r if r.step > 0 else r[::-1] for r in (a, b))
    shared = math.gcd(a.step, b.step)
    gap, left = divmod(b[0] - a[0], shared)
    if left:
        return range(0)
    modulus = b.step // shared
    first = a[0] + a.step * (gap * pow(a.step // shared, -1, modulus) % modulus)
    step = a.step * modulus
    low, high = max(a[0], b[0]), min(a[-1], b[-1])
    first += max(0, -((first - low) // step)) * step
    found = range(first, high + 1, step)
    return range(0) if not found else range(found[0], found[-1] + 1, step)


def meeting(a: Places, b: Places, length: Dim) -> tuple[Places, Places] | None:
    """Where the shared places stand among the places a, and where among b, in one order.

    The first answer ascends; None if no place is shared.  Raises LookupError where that depends
    on the length of the axis.
    """
    if not isinstance(length, int):
        if a is None:
            return (None, None) if b is None else (b, range(1))
        if b is None:
            return range(1), a
        assert isinstance(a, int)
        assert isinstance(b, int)
        if a == b:
            return range(1), range(1)
        if (a < 0) == (b < 0):
            return None
        raise LookupError
    a = range(length) if a is None else a
    b = range(length) if b is None else b
    assert isinstance(a, range)
    assert isinstance(b, range)
    shared = common(a, b)
    if not shared:
        return None
    i, j = (_indices(shared, r) for r in (a, b))
    return (i, j) if i.step > 0 else (i[::-1], j[::-1])


def _indices(members: range, of: range) -> range:
    """The indices of members of a range."""
    first, step = of.index(members[0]), members.step // of.step
    return range(first, first + step * len(members), step)


def disjoint(a: Sequence[Places], b: Sequence[Places], shape: Sequence[Dim]) -> bool | None:
    """Whether blocks of places share no element; None where that depends on symbolic lengths."""
    unknown = False
    for x, y, length in zip(a, b, shape, strict=True):
        try:
            if meeting(x, y, length) is None:
                return True
        except LookupError:
            unknown = True
    return None if unknown else False
