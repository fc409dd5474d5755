"""Curves that are honest: sampled until they are straight between points, never across a gap."""

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
    from numeric.show.limits import Mark
    from numeric.show.subjects import Slice

    Array = NDArray[np.float64]
    Index = NDArray[np.intp]

ERROR = 1 / 2000
"""Of the height of the axes: how far a curve may be from the line between two points.

What is not nearer to its line when all points are spent is not drawn.
"""

MOST = 12_000
"""Points of a curve."""

BEYOND = 50.0
"""Heights above or below the axes, where no more points are needed."""

_NEAR = 13  # distances from the end of a piece at which points lie, each a third of the last
_ROUNDS = 14
_MIDDLE = 0.4807  # of a segment, so that no place is hit where a formula alone has no value


@dataclass(frozen=True)
class Curves:
    """Functions of one number as broken lines.

    ``x`` are the points of all, and ``y[k]`` the values of output k there, of shape (elements,
    points): nan where a line is broken.  ``heights`` are the ends of the axes of each output, and
    ``coarse`` the places between which some curve has more turns than can be drawn.
    """

    x: Array
    y: list[Array]
    heights: list[tuple[float, float]]
    coarse: list[tuple[float, float]]


@np.errstate(all="ignore")
def curves(line: Line) -> Curves:
    """The rows of a line, broken where its marks say that they are."""
    rows, marks, low, high = line.rows, line.marks, line.low, line.high
    t = grid(low, high)
    t = t[~np.isin(t, line.plain)]
    found = _defined(rows(t))
    edges = _poles_at_ends(rows, low, high)
    heights = [
        height(y, edges[k] or any(m.broken <= k and m.kind != "jump" for m in marks))
        for k, y in enumerate(found)
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
    """Of each row, whether it grows without end towards an end of the range.

    Features are looked for inside of the range alone.  At a pole of order 1/2 or more, values
    grow 500 times from one distance to the next.
    """
    away = (high - low) * 2.0 ** np.array([-12, -30])
    there = rows(np.concatenate([low + away, high - away]))
    sizes = [np.abs(y) for y in there]
    return [bool((y[:, [1, 3]] > 100 * y[:, [0, 2]]).any()) for y in sizes]


def _defined(rows: list[Array]) -> list[Array]:
    """The rows where the function has values: beside its domain no derivative has any."""
    return [np.where(np.isnan(rows[0]), np.nan, y) for y in rows]


def height(values: Array, diverges: bool = False) -> tuple[float, float]:
    """The ends of the axes for some values: all of them, or where they diverge, the most of them.

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
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        room = 0.5 * max(abs(low), abs(high)) or 1.0
        return low - room, high + room
    room = 0.06 * (high - low)
    return low - room, high + room


def _piece(
    rows: Slice, inner: Array, a: float, b: float, heights: Sequence[tuple[float, float]]
) -> tuple[Array, list[Array], list[NDArray[np.bool_]]]:
    """The rows between two breaks, and for each the segments that are too coarse."""
    near = (b - a) / 3.0 ** np.arange(2, 2 + _NEAR)
    x = np.unique(np.concatenate([a + near, inner, b - near, [(a + b) / 2]]))
    x = x[(x > a) & (x < b)]
    y = rows(x)
    tall = [high - low for low, high in heights]
    fresh = np.ones(max(len(x) - 1, 0), bool)  # segments whose middle was not looked at
    rough = [np.zeros(len(fresh), bool) for _ in y]
    once = np.zeros(len(fresh), bool)  # segments that are a half of what was straight
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
        # What is straight may be so by chance: its halves have to be, too.
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
    """What is chosen, and the segments beside."""
    found = chosen.copy()
    found[1:] |= chosen[:-1]
    found[:-1] |= chosen[1:]
    return found


def _merged(old: Array, new: Array, places: Index, slots: Index, total: int) -> Array:
    found = np.empty(total)
    found[places], found[slots] = old, new
    return found


def _spread(rough: NDArray[np.bool_], places: Index, slots: Index, total: int) -> NDArray[np.bool_]:
    """What was said of segments, of their halves."""
    found = np.zeros(total, bool)
    found[places[:-1]] = rough
    found[slots] = found[slots - 1]
    return found[:-1]


def _error(
    left: Array, middle: Array, right: Array, ends: tuple[float, float], tall: float
) -> Array:
    """How far the middle is from the line, in heights; 0 where nothing of it is to be seen."""
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
    """One line after the other: at a mark a curve has its value, or is broken."""
    xs: list[Array] = [pieces[0][0]]
    ys: list[list[Array]] = [[y] for y in pieces[0][1]]
    for mark, (x, y) in zip(marks, pieces[1:], strict=True):
        xs += [np.array([mark.x]), x]
        at = rows([mark.x])
        for k, (parts, value) in enumerate(zip(ys, at, strict=True)):
            broken = mark.broken <= k and mark.kind != "edge"
            # A value apart from the curve is not on it.
            for side in (parts[-1][:, -1:], y[k][:, :1]):
                apart = np.abs(value - side) > 4 * ERROR * (heights[k][1] - heights[k][0])
                value = np.where(apart, np.nan, value)
            parts += [np.full_like(value, np.nan) if broken else value, y[k]]
    joined = _defined([np.concatenate(parts, axis=1) for parts in ys])
    for values, (low, high) in zip(joined, heights, strict=True):
        room = BEYOND * (high - low)
        with np.errstate(invalid="ignore"):
            values[~((values > low - room) & (values < high + room))] = np.nan
    x = np.concatenate(xs)
    return Curves(x, joined, heights, _spans(coarse, float(x[-1] - x[0])))


def _spans(parts: Sequence[tuple[float, float]], width: float) -> list[tuple[float, float]]:
    """The segments, those that are next to one another as one; not those that nobody sees."""
    found: list[tuple[float, float]] = []
    for a, b in sorted(set(parts)):
        if found and a <= found[-1][1] + width / 500:
            found[-1] = found[-1][0], max(b, found[-1][1])
        else:
            found.append((a, b))
    return [(a, b) for a, b in found if b - a > width / 1000]


def precise(rows: Slice, x: float) -> list[Array]:
    """The rows at one point, right to the last digit where their definition allows it."""
    found = replace(rows, spent=[0]).exact(Fraction(x))
    return [y[:, 0] for y in rows([x])] if found is None else found
