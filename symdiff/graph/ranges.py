"""The positions that a slice takes along an axis, in exact range arithmetic that costs no memory.

Along an axis of known length they are a ``range``.  Along an axis of symbolic length they are
``None`` (all of it), an int (one index, negative from the end) or a ``Line``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from symdiff.graph.lengths import Length, is_natural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symdiff.graph.node import Dim

# Start, stop and step of a slice; negative ints count from the end.
Step: TypeAlias = "tuple[Dim, Dim | None, int]"
Places: TypeAlias = "range | int | Line | None"

WHOLE: Step = (0, None, 1)
EMPTY: Step = (0, 0, 1)


class Line(NamedTuple):
    """Positions along an axis of symbolic length, from ``first`` up to, but excluding, ``stop``.

    Both count from the first element, and every position lies inside the axis.  The notation is
    NumPy's, but an axis that is too short cuts nothing off.
    """

    first: int | Length
    stop: int | Length
    step: int

    @property
    def length(self) -> int | Length:
        """The number of positions; negative where the axis is too short."""
        length: int | Length = _count(*self)
        return length

    def needs(self, length: int | Length) -> list[int | Length]:
        """The lengths that are >= 0 if all positions are inside an axis of this length.

        They include the bounds, because NumPy counts negative ones from the end.  A downward slice
        is the exception: it needs its last position and the one before its first.
        """
        if self.step > 0:
            return [self.length, self.first, length - self.stop, self.stop]
        bounds = [(self.first, length - 1), (self.stop, -1)]
        written = [bound for bound, omitted in bounds if bound != omitted]
        return [self.length, length - 1 - self.first, *written]


def _count(first: Any, stop: Any, step: int) -> Any:
    span, each = (stop - first, step) if step > 0 else (first - stop, -step)
    return (span + each - 1) // each


def line(start: Dim | None, stop: Dim | None, step: int, length: Length) -> Places:
    """The positions of a slice as users type it; negative ints count from the end.

    >>> line(1, -1, 1, Length("n")), line(None, None, -2, Length("n")).length
    (Line(first=1, stop='n - 1', step=1), '(n + 1)//2')
    """
    up = step > 0
    first = (0 if up else length - 1) if start is None else _from_front(start, length)
    last = (length if up else -1) if stop is None else _from_front(stop, length)
    count = _count(first, last, step)
    if isinstance(count, int) and count < 1:
        low = last if up else first  # NumPy counts a negative stop from the end
        return Line(*EMPTY) if is_natural(low) else Line(low, low, 1)  # type: ignore[arg-type]
    if isinstance(count, int) and (up or last == -1 or is_natural(last)):
        one = _spelled(first, length)
        if count == 1 and isinstance(one, int):
            return one
        if count == 1:
            step = 1
        last = first + (count - 1) * step + _sign(step)
    return None if (first, last, step) == (0, length, 1) else Line(first, last, step)


def _from_front(place: Dim, length: Length) -> Any:
    return length + place if isinstance(place, int) and place < 0 else place


def _spelled(place: Any, length: Length) -> int | Length:
    """A position as users type it: an int from the front or from the end where possible."""
    if isinstance(place, int):
        return place
    behind = place - length
    return behind if isinstance(behind, int) and behind < 0 else place


def _slice(step: Step) -> slice:
    return slice(*step)


def places_of(step: Step, length: Dim) -> Places:
    """The positions that ``start:stop:step`` takes along an axis of this length."""
    if isinstance(length, int):
        return range(*slice(*step).indices(length))
    if step == WHOLE:
        return None
    start, stop, by = step
    if isinstance(start, int) and by == 1 and stop == (None if start == -1 else start + 1):
        return start
    if step == EMPTY:
        return Line(*EMPTY)  # type: ignore[arg-type]  # of numbers
    assert isinstance(length, Length), length
    return line(start, stop, by, length)


def step_of(places: Places, length: Dim) -> Step:
    """The normal form of the positions as start, stop and step.

    >>> step_of(range(4, -1, -2), 5), step_of(range(1, 2), 5), step_of(range(5), 5)
    ((4, None, -2), (1, 2, 1), (0, None, 1))
    """
    if places is None:
        return WHOLE
    if isinstance(places, int):
        return (places, places + 1, 1) if places != -1 else (-1, None, 1)
    if isinstance(places, Line):
        assert isinstance(length, Length)
        if places == EMPTY:
            return EMPTY
        end = length if places.step > 0 else -1
        stop = None if places.stop == end else _spelled(places.stop, length)
        return _spelled(places.first, length), stop, places.step
    if not places:
        return (0, 0, 1)
    if len(places) == 1:
        return WHOLE if length == 1 else (places[0], places[0] + 1, 1)
    if len(places) == length and places.step == 1:
        return WHOLE
    stop = places[-1] + (1 if places.step > 0 else -1)
    return places[0], None if stop < 0 else stop, places.step


def between(start: Any, stop: Any, length: Dim) -> Step:
    """The slice from ``start`` up to ``stop``, both counted from the front, in normal form."""
    if length.__class__ is int:
        if start >= stop:
            return EMPTY
        return WHOLE if stop - start == length else (start, stop, 1)
    return step_of(line(start, stop, 1, length), length)  # type: ignore[arg-type]  # of lengths


def count(places: Places, length: Dim) -> Dim:
    """The number of positions."""
    if places is None:
        return length
    if isinstance(places, Line):
        return places.length
    return 1 if isinstance(places, int) else len(places)


def needs(places: Places, length: Length) -> list[int | Length]:
    """The lengths that are >= 0 if an axis of this length contains the positions."""
    if isinstance(places, int):
        return [length - places - 1 if places >= 0 else length + places]
    return places.needs(length) if isinstance(places, Line) and places != EMPTY else []


def composed(outer: Step, inner: Places, length: Dim) -> Places:
    """The positions that ``[inner][outer]`` takes; ``length`` is the length of the axis.

    Raises LookupError for positions without a normal form.  An empty selection from an axis of
    symbolic length has none.  Positions have none if a shorter axis contains them although it lacks
    some of the ``inner`` ones, or these lack some of the ``outer`` ones.
    """
    if isinstance(inner, range):
        return inner[_slice(outer)]
    if inner is None:
        return places_of(outer, length)
    if isinstance(inner, Line):
        assert isinstance(length, Length)
        places = _composed(outer, inner, length)
        wanted = needs(inner, length)
        if isinstance(inner.length, Length):
            wanted += needs(places_of(outer, inner.length), inner.length)
        if not _imply(needs(places, length), wanted):
            raise LookupError
        return _unwritten(places, wanted, length)
    if not range(1)[_slice(outer)]:
        raise LookupError
    return inner


def _imply(bounds: Sequence[int | Length], wanted: Sequence[int | Length]) -> bool:
    """Whether ``bounds`` >= 0 imply ``wanted`` >= 0."""
    return all(
        is_natural(need) or any(is_natural(need - other) for other in bounds) for need in wanted
    )


def _unwritten(places: Places, bounds: Sequence[int | Length], length: Length) -> Places:
    """Return the positions if their slice is unambiguous; else raise LookupError."""
    if isinstance(places, Line) and not _imply(bounds, [*places.needs(length)[2:]]):
        raise LookupError
    return places


def _composed(outer: Step, inner: Line, length: Length) -> Places:
    """``composed`` for a line: positions along it, counted along the axis."""
    along = places_of(outer, inner.length)
    if along is None:
        return inner
    if isinstance(along, int):
        along = along if along >= 0 else inner.length + along
        place = _spelled(inner.first + along * inner.step, length)
        if not isinstance(place, int):
            raise LookupError
        return place
    if isinstance(along, range) and not along:
        return Line(*EMPTY)  # type: ignore[arg-type]  # of numbers
    start = along.start if isinstance(along, range) else along.first
    many: Any = count(along, 0)
    first: Any = inner.first + start * inner.step
    by = along.step * inner.step
    if isinstance(along, Line):
        # The end of the inner line counts as the end of the axis where both coincide.
        end = inner.stop if along.stop == inner.length else inner.first - _sign(inner.step)
        if along.stop in (inner.length, -1) and _count(first, end, by) == many:
            return line(first, _below(end), by, length)
    # A stop right after the last position lies within every axis that has the positions.
    return line(first, _below(first + (many - 1) * by + _sign(by)), by, length)


def _sign(step: int) -> int:
    return 1 if step > 0 else -1


def _below(place: Any) -> Any:
    """A stop before the first element, which must not be read as counted from the end."""
    return None if place.__class__ is int and place < 0 else place


def chosen(places: range, index: range) -> range:
    """The positions with these indices among the positions."""
    return places[_slice(step_of(index, len(places)))]


def reversed_places(places: Places, length: Dim) -> Places:
    """The positions counted from the other end: those that ``[::-1][places]`` takes.

    Raises LookupError for positions without a normal form.
    """
    if isinstance(places, range):
        assert isinstance(length, int)
        return range(length)[::-1][_slice(step_of(places, length))]
    if isinstance(places, Line):
        assert isinstance(length, Length)
        last = length - 1
        places_back = line(last - places.first, _below(last - places.stop), -places.step, length)
        return _unwritten(places_back, needs(places, length), length)
    return None if places is None else -1 - places


def common(a: range, b: range) -> range:
    """The members of both ranges, in ascending order (by the Chinese remainder theorem).

    >>> common(range(0, 20, 3), range(19, 0, -2))
    range(3, 16, 6)
    """
    if not a or not b:
        return range(0)
    a, b = (r if r.step > 0 else r[::-1] for r in (a, b))
    shared = math.gcd(a.step, b.step)
    gap, remainder = divmod(b[0] - a[0], shared)
    if remainder:
        return range(0)
    modulus = b.step // shared
    first = a[0] + a.step * (gap * pow(a.step // shared, -1, modulus) % modulus)
    step = a.step * modulus
    low, high = max(a[0], b[0]), min(a[-1], b[-1])
    first += max(0, -((first - low) // step)) * step
    numbers = range(first, high + 1, step)
    return range(0) if not numbers else range(numbers[0], numbers[-1] + 1, step)


def meeting(a: Places, b: Places, length: Dim) -> tuple[Places, Places] | None:
    """The indices of the shared positions in a, and in b, in the same order.

    The first result ascends; None if no position is shared.  Raises LookupError where the result
    depends on the length of the axis.
    """
    if not isinstance(length, int):
        if isinstance(a, Line) or isinstance(b, Line):
            return _meeting(a, b)
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


def _meeting(a: Places, b: Places) -> tuple[Places, Places]:
    """``meeting`` of lines: only where one line contains the other."""
    if a is None:
        return b, _all(b)
    if b is None or a == b:
        return _all(a), a if b is None else _all(a)
    raise LookupError


def _all(places: Places) -> Places:
    """All positions of an axis with as many elements as ``places``."""
    assert isinstance(places, Line)
    return range(places.length) if isinstance(places.length, int) else None


def _indices(members: range, of: range) -> range:
    """The indices of members of a range."""
    first, step = of.index(members[0]), members.step // of.step
    return range(first, first + step * len(members), step)


def disjoint(a: Sequence[Places], b: Sequence[Places], shape: Sequence[Dim]) -> bool | None:
    """Whether blocks of positions share no element; None where symbolic lengths decide it."""
    unknown = False
    for x, y, length in zip(a, b, shape, strict=True):
        try:
            if meeting(x, y, length) is None:
                return True
        except LookupError:
            unknown = True
    return None if unknown else False
