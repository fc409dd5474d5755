"""Curves without artefacts: sampled until straight between points, never drawn across a gap."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from numeric.show.features import grid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from numeric.show.features import Line
    from numeric.show.marks import Mark
    from numeric.show.subjects import Slice

    Array = NDArray[np.float64]
    Index = NDArray[np.intp]

ERROR = 1 / 2000
"""The largest distance of a curve from the line between two points, in heights of the axes.

Segments that are farther from their line when all points are spent are not drawn.
"""

MOST = 12_000
"""The most points of a curve."""

BEYOND = 50.0
"""The distance from the axes, in heights, beyond which no more points are needed."""

_NEAR = 13  # points near each end of a piece, each at a third of the last distance
_ROUNDS = 14
_MIDDLE = 0.4807  # not 1/2, to miss places such as 0 where the formula alone has no value


@dataclass(frozen=True)
class Curves:
    """Functions of one number as broken lines.

    ``x`` holds the points of all curves.  ``y[k]`` holds the values of output k there, of shape
    (elements, points), with nan where a line is broken.  ``heights`` are the ends of the axes of
    each output.  ``coarse`` lists the intervals in which some curve turns too often to be drawn.
    """

    x: Array
    y: list[Array]
    heights: list[tuple[float, float]]
    coarse: list[tuple[float, float]]


@np.errstate(all="ignore")
def curves(line: Line) -> Curves:
    """Sample the rows of a line, broken at its marks."""
    rows, marks, low, high = line.rows, line.marks, line.low, line.high
    t = grid(low, high)
    t = t[~np.isin(t, line.plain)]
    values = _defined(rows(t))
    edges = [
        at_end or near_end
        for at_end, near_end in zip(
            _poles_at_ends(rows, low, high), _poles_near_ends(t, values), strict=True
        )
    ]
    heights = [
        height(y, edges[k] or any(m.broken <= k and m.kind != "jump" for m in marks))
        for k, y in enumerate(values)
    ]
    pieces: list[tuple[Array, list[Array]]] = []
    coarse: list[tuple[float, float]] = []
    for a, b in pairwise([low, *(m.x for m in marks), high]):
        x, y, rough = _piece(rows, t[(t > a) & (t < b)], a, b, heights)
        for lines, bad in zip(y, rough, strict=True):
            coarse += [(float(x[i]), float(x[i + 1])) for i in np.flatnonzero(bad)]
            lines[:, np.append(bad, False)] = np.nan
        pieces.append((x, y))
    return _joined(rows, pieces, marks, heights, coarse)


def _poles_at_ends(rows: Slice, low: float, high: float) -> list[bool]:
    """Tell for each row whether it grows without bound towards an end of the range.

    Features are searched only inside the range.  At a pole of order 1/2 or more, values grow 500
    times from one distance to the next.
    """
    away = (high - low) * 2.0 ** np.array([-12, -30])
    values = rows(np.concatenate([low + away, high - away]))
    sizes = [np.abs(y) for y in values]
    return [bool((y[:, [1, 3]] > 100 * y[:, [0, 2]]).any()) for y in sizes]


def _poles_near_ends(t: Array, rows: Sequence[Array]) -> list[bool]:
    """Tell for each row whether it grows towards an end as it does towards a pole just beyond it.

    The largest values in windows whose distances from the end fall by 4 grow from window to window.
    At a pole they keep on growing; those of an exponential function settle near the end.
    """
    wide = t[-1] - t[0]
    near = []
    for y in rows:
        size = np.where(np.isfinite(y), np.abs(y), 0.0).max(axis=0)
        grows = False
        for away in (t - t[0], t[-1] - t):
            far, middle, close = (
                float(size[(away >= wide * a) & (away <= wide * b)].max(initial=0.0))
                for a, b in ((1 / 16, 1 / 4), (1 / 64, 1 / 16), (0, 1 / 64))
            )
            # Divide before comparing: products of large values overflow.
            first, second = middle / (far or 1.0), close / (middle or 1.0)
            grows |= first >= 2 and second >= 2 and second >= first / 2
        near.append(grows)
    return near


def _defined(rows: list[Array]) -> list[Array]:
    """Remove values where the function has none: outside its domain there are no derivatives."""
    return [np.where(np.isnan(rows[0]), np.nan, y) for y in rows]


def height(values: Array, diverges: bool = False) -> tuple[float, float]:
    """Return the ends of the axes for some values: all of them, or most of them if they diverge.

    >>> height(np.array([0.0, 1.0, np.nan, 2.0]))
    (-0.12, 2.12)
    """
    known = np.sort(values[np.isfinite(values) & (np.abs(values) < 1e300)])
    if not len(known):
        return -1.0, 1.0
    low, high = float(known[0]), float(known[-1])
    if diverges:
        inner = [float(v) for v in np.quantile(known, [0.1, 0.9])]
        room = 0.8 * (inner[1] - inner[0])
        if high - low > 5 * room:
            low, high = max(low, inner[0] - room), min(high, inner[1] + room)
    # A constant function still needs some height.
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        room = 0.5 * max(abs(low), abs(high)) or 1.0
        return low - room, high + room
    room = 0.06 * (high - low)
    return low - room, high + room


def _piece(
    rows: Slice, inner: Array, a: float, b: float, heights: Sequence[tuple[float, float]]
) -> tuple[Array, list[Array], list[NDArray[np.bool_]]]:
    """Sample the rows between two breaks; return the points, values and too coarse segments."""
    near = (b - a) / 3.0 ** np.arange(2, 2 + _NEAR)
    x = np.unique(np.concatenate([a + near, inner, b - near, [(a + b) / 2]]))
    x = x[(x > a) & (x < b)]
    y = rows(x)
    tall = [high - low for low, high in heights]
    fresh = np.ones(max(len(x) - 1, 0), bool)  # segments whose middle was not evaluated yet
    rough = [np.zeros(len(fresh), bool) for _ in y]
    once = np.zeros(len(fresh), bool)  # halves of segments that were straight
    for _ in range(_ROUNDS):
        which = np.flatnonzero(fresh)
        if not len(which) or len(x) + len(which) > MOST:
            break
        middle = x[which] + (x[which + 1] - x[which]) * _MIDDLE
        m = rows(middle)
        fine = np.ones(len(which), bool)
        for k, (lines, between, h) in enumerate(zip(y, m, tall, strict=True)):
            error = _error(lines[:, which], between, lines[:, which + 1], heights[k], h)
            fine &= error <= ERROR
            rough[k][which] = error > ERROR
        # A segment may be straight by chance, so its halves must be straight, too.
        parts = np.zeros(len(x), int)
        parts[which] = 1
        places = np.arange(len(x)) + np.concatenate([[0], np.cumsum(parts)[:-1]])
        total = len(x) + len(which)
        slots = places[which] + 1
        x = _merged(x, middle, places, slots, total)
        y = [
            np.stack([_merged(u, v, places, slots, total) for u, v in zip(p, q, strict=True)])
            for p, q in zip(y, m, strict=True)
        ]
        again = np.zeros(total - 1, bool)
        rough = [_spread(r, places, slots, total) for r in rough]
        again[slots - 1] = again[slots] = ~(fine & once[which])
        once = np.zeros(total - 1, bool)
        once[slots - 1] = once[slots] = fine
        fresh = _widened(again) & (np.diff(x) > 4 * np.spacing(np.abs(x[1:])))
    return x, y, [_widened(r) for r in rough]


def _widened(chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the chosen segments and their neighbours."""
    widened = chosen.copy()
    widened[1:] |= chosen[:-1]
    widened[:-1] |= chosen[1:]
    return widened


def _merged(old: Array, new: Array, places: Index, slots: Index, total: int) -> Array:
    merged = np.empty(total)
    merged[places], merged[slots] = old, new
    return merged


def _spread(rough: NDArray[np.bool_], places: Index, slots: Index, total: int) -> NDArray[np.bool_]:
    """Repeat a mask of segments for their halves."""
    spread = np.zeros(total, bool)
    spread[places[:-1]] = rough
    spread[slots] = spread[slots - 1]
    return spread[:-1]


def _error(
    left: Array, middle: Array, right: Array, ends: tuple[float, float], tall: float
) -> Array:
    """Return the distance of the middle from the line, in heights; 0 where nothing is visible."""
    with np.errstate(all="ignore"):
        low, high = ends[0] - tall / 10, ends[1] + tall / 10
        straight = left / tall * (1 - _MIDDLE) + right / tall * _MIDDLE
        error = np.abs(middle / tall - straight)
        seen = np.stack([(v >= low) & (v <= high) for v in (left, middle, right)]).any(axis=0)
        seen |= (np.minimum(left, right) < low) & (np.maximum(left, right) > high)
        # A line ends where there is no value.
        shown: Array = np.where(seen & np.isfinite(error), error, 0.0).max(axis=0)
    return shown


def _joined(
    rows: Slice,
    pieces: Sequence[tuple[Array, list[Array]]],
    marks: Sequence[Mark],
    heights: list[tuple[float, float]],
    coarse: list[tuple[float, float]],
) -> Curves:
    """Join the pieces: at a mark a curve has its value, or is broken."""
    xs: list[Array] = [pieces[0][0]]
    ys: list[list[Array]] = [[y] for y in pieces[0][1]]
    for mark, (x, y) in zip(marks, pieces[1:], strict=True):
        xs += [np.array([mark.x]), x]
        at = rows([mark.x])
        for k, (parts, value) in enumerate(zip(ys, at, strict=True)):
            broken = mark.broken <= k and mark.kind != "edge"
            # A value far from the curve does not belong to it.
            for side in (parts[-1][:, -1:], y[k][:, :1]):
                separate = np.abs(value - side) > 4 * ERROR * (heights[k][1] - heights[k][0])
                value = np.where(separate, np.nan, value)
            parts += [np.full_like(value, np.nan) if broken else value, y[k]]
    joined = _defined([np.concatenate(parts, axis=1) for parts in ys])
    for values, (low, high) in zip(joined, heights, strict=True):
        room = BEYOND * (high - low)
        with np.errstate(invalid="ignore"):
            values[~((values > low - room) & (values < high + room))] = np.nan
    x = np.concatenate(xs)
    return Curves(x, joined, heights, _spans(coarse, float(x[-1] - x[0])))


def _spans(parts: Sequence[tuple[float, float]], width: float) -> list[tuple[float, float]]:
    """Merge adjacent segments, and drop those too narrow to see."""
    spans: list[tuple[float, float]] = []
    for a, b in sorted(set(parts)):
        if spans and a <= spans[-1][1] + width / 500:
            spans[-1] = spans[-1][0], max(b, spans[-1][1])
        else:
            spans.append((a, b))
    return [(a, b) for a, b in spans if b - a > width / 1000]


def precise(rows: Slice, x: float) -> list[Array]:
    """Return the rows at one point, right to the last digit where their definition allows it."""
    values = replace(rows, spent=[0]).exact(Fraction(x))
    return [y[:, 0] for y in rows([x])] if values is None else values
