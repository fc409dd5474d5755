"""Find kinks, jumps, poles and edges of the domain of a function of one number.

There are two sources of candidates.  A formula may compare, divide by, or take roots of an
expression that is 0.  Or values change between points of a grid as those of no smooth function do.
Each candidate is narrowed down to neighbouring floats.  Values next to it, at falling distances,
then classify it: they settle at both sides, or do not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from numeric.show.limits import judged
from numeric.show.marks import Mark
from numeric.show.subjects import Slice
from symdiff.calculus.derivative import jvp
from symdiff.calculus.kinks import differences, kinks_in
from symdiff.graph import ops
from symdiff.graph.expr import free_symbols
from symdiff.graph.node import topological

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from symdiff.graph.expr import Expr

    Array = NDArray[np.float64]

GRID = 1001
"""Points of the grid; features closer to each other than its cells may be taken for one."""

CELLS = 400
"""The most cells to narrow down: those in which values change most."""

LOOKED = 64
"""The most candidates whose surroundings are evaluated to many digits."""

NOISE = 1e-4
"""Rounding errors to expect before computing many digits, relative to the height of a curve."""


def events(outputs: Sequence[Expr], x: Expr | None = None) -> list[Expr]:
    """Return expressions at whose zeros the outputs may not be smooth.

    For divisors, derivatives by ``x`` are included, because 1 - cos(x) does not change its sign.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> events([sd.where(x < 1, x, 1 / (1 - sd.cos(x)))], x)
    [x - 1, 1 - cos(x), sin(x)]
    """
    candidates = dict.fromkeys(differences([*outputs, *(kink.hit for kink in kinks_in(outputs))]))
    divisors: dict[Expr, None] = {}
    for node in topological(outputs):
        if isinstance(node.op, ops.Product):
            for base, power in zip(node.args, node.op.exponents, strict=True):
                if power < 0 or Fraction(power).denominator != 1:
                    candidates.setdefault(base)
                if power < 0:
                    divisors.setdefault(base)
    if x is not None and divisors:
        candidates |= dict.fromkeys(jvp(list(divisors), x, 1))
    return [y for y in candidates if y.dtype is float and free_symbols([y])]


def grid(low: float, high: float, count: int = GRID) -> Array:
    """Return points from low to high: a fifth at equal distances, the others irregular."""
    even, others = np.linspace(low, high, count // 10 * 2 + 1), np.arange(count - count // 5)
    # Irregular points catch a periodic function that a regular grid would see as constant.
    odd = (others + 0.5 + 0.4 * np.sin(others)) / len(others)
    return np.unique(np.concatenate([even, low + (high - low) * odd]))


@dataclass(frozen=True)
class Line:
    """A function and its derivatives, the ``rows``, from ``low`` to ``high``.

    ``marks`` are its features; at each place the lowest discontinuous derivative counts.  ``plain``
    are places without a visible feature, though the function may have no value there.
    """

    rows: Slice
    low: float
    high: float
    marks: tuple[Mark, ...]
    plain: tuple[float, ...]


@np.errstate(all="ignore")  # drawing must not raise under the caller's settings
def explored(rows: Slice, low: float, high: float) -> Line:
    """Find the features of a function and its derivatives from low to high.

    >>> import symdiff as sd
    >>> from numeric.show.subjects import Slice
    >>> x = sd.symbol("x")
    >>> [(m.kind, m.order, m.x) for m in explored(Slice((abs(x), 1 / x), (x,), {}), -1, 1).marks]
    [('pole', 1, 0.0)]
    """
    (x,) = rows.variables
    zeros = Slice(tuple(events(rows.outputs, x)), rows.variables, rows.fixed)
    least = 1e-7 * (high - low)  # two features closer than this look like one
    places = _apart(_zeros(zeros, low, high), least)
    verdicts = _verdicts(rows, places, low, high)
    wild = [c for c, mark in verdicts.items() if mark is not None and mark.kind == "no limit"]
    calm = [c for c in places if c not in wild]  # without a limit, more digits do not help
    rows = replace(rows, zones=_zones(rows, calm, low, high))
    more = [c for c in _breaks(rows, places, low, high) if not _close(c, wild, (high - low) / 50)]
    verdicts = _verdicts(rows, _apart([*places, *more], least), low, high)
    marks = [mark for mark in verdicts.values() if mark is not None]
    return Line(rows, low, high, tuple(marks), tuple(c for c, mark in verdicts.items() if not mark))


def _verdicts(
    rows: Slice, places: Sequence[float], low: float, high: float
) -> dict[float, Mark | None]:
    exact = len(places) <= LOOKED
    gaps = _gaps(places, low, high)
    return {c: judged(rows, c, gap, exact) for c, gap in zip(places, gaps, strict=True)}


def _close(x: float, places: Sequence[float], reach: float) -> bool:
    return any(abs(x - c) < reach for c in places)


def _zones(
    rows: Slice, places: Sequence[float], low: float, high: float
) -> tuple[tuple[float, float], ...]:
    """Return intervals around some places where floats lose visibly many digits."""
    zones = []
    tall = [np.ptp(_inner(y)) for y in rows(grid(low, high))]
    for c, gap in zip(places, _gaps(places, low, high), strict=True):
        for sign in (-1, 1) if len(places) <= LOOKED else ():
            reach = 0.0
            for k in range(6):
                t = c + sign * gap / 4.0**k
                exact, plain = rows.exact(Fraction(t)), rows([t])
                if exact is None:
                    break
                with np.errstate(all="ignore"):
                    off = [
                        np.abs(u - v[:, 0]).max() > NOISE * h
                        for u, v, h in zip(exact, plain, tall, strict=True)
                    ]
                if any(off):
                    reach = max(reach, 4 * gap / 4.0**k)
            if reach:
                zones.append((min(c, c + sign * reach), max(c, c + sign * reach)))
    return tuple(zones)


def _inner(values: Array) -> Array:
    """Return quantiles of the values that leave out the extreme ones."""
    known = values[np.isfinite(values)]
    return np.quantile(known, [0.1, 0.9]) if len(known) else np.zeros(1)


# Candidates ---------------------------------------------------------------------------------------


def _zeros(zeros: Slice, low: float, high: float) -> list[float]:
    """Return the places where an expression is 0."""
    t = grid(low, high)
    values = _table(zeros, t)
    exact_zeros = [float(x) for row in values for x in t[row == 0]]
    crossed = _narrowed(zeros, t, values, _signs(values), _side)
    return [x for x in [*exact_zeros, *(_plainest(a, b) for a, b in crossed)] if low < x < high]


def _breaks(rows: Slice, places: Sequence[float], low: float, high: float) -> list[float]:
    """Return places where values end or leap as no smooth function's, outside of known cells."""
    t = grid(low, high)
    values = _table(rows, t)
    fresh = np.ones(len(t) - 1, bool)
    for c in places:
        fresh &= (t[1:] < c) | (t[:-1] > c)
    brackets = [
        *_narrowed(rows, t, values, _ends(values) & fresh, _finite),
        *_narrowed(rows, t, values, _leaps(t, values) & fresh, _change),
    ]
    breaks = [*(_plainest(a, b) for a, b in brackets), *_peaks(rows, t, values, fresh)]
    return [x for x in breaks if low < x < high]


def _table(functions: Slice, t: Array) -> Array:
    """Return all elements of all outputs at some points, as rows of one array."""
    if not functions.outputs:
        return np.zeros((0, len(t)))
    return np.concatenate(functions(t))


def _signs(values: Array) -> NDArray[np.bool_]:
    return np.asarray(np.sign(values[:, :-1]) * np.sign(values[:, 1:]) < 0)


def _ends(values: Array) -> NDArray[np.bool_]:
    known = np.isfinite(values)
    return np.asarray(known[:, :-1] != known[:, 1:])


def _leaps(t: Array, values: Array) -> NDArray[np.bool_]:
    """Mask the cells in which values change far more than in their neighbours, or through inf."""
    tall = [np.ptp(_inner(y)) + 1e-5 * np.abs(_inner(y)).max() for y in values]
    visible = NOISE / 10 * np.array(tall).reshape(-1, 1)
    far = np.zeros((len(values), len(t) - 1), bool)
    with np.errstate(all="ignore"):
        slope = np.pad(np.abs(np.diff(values) / np.diff(t)), ((0, 0), (2, 2)))
        slope = np.nan_to_num(slope, posinf=0.0)
        # A point of the grid may be the place itself, with a value between those of its neighbours.
        for cells in (1, 2):
            change = np.abs(values[:, cells:] - values[:, :-cells])
            here = change / (t[cells:] - t[:-cells])
            before, after = slope[:, 1 : -cells - 2], slope[:, cells + 2 : -1]
            leaps = (here > 3 * np.maximum(before, after)) & (change > visible)
            for k in range(cells):
                far[:, k : k + leaps.shape[1]] |= leaps
        size = np.pad(np.abs(values), ((0, 0), (1, 1)), mode="edge")
        through = (values[:, :-1] * np.sign(values[:, 1:]) < 0) & (size[:, 1:-2] > size[:, :-3])
        return np.asarray(far | (through & (size[:, 2:-1] > size[:, 3:])))


# Each function masks the brackets to continue on the left, given values at ends and middle.
def _side(a: Array, m: Array, b: Array) -> NDArray[np.bool_]:
    return np.asarray((np.sign(m) == np.sign(b)) & (m != 0))


def _finite(a: Array, m: Array, b: Array) -> NDArray[np.bool_]:
    return np.asarray(np.isfinite(m) == np.isfinite(b))


def _change(a: Array, m: Array, b: Array) -> NDArray[np.bool_]:
    with np.errstate(all="ignore"):
        return np.asarray(~(np.abs(b - m) > np.abs(m - a)))


def _narrowed(
    functions: Slice,
    t: Array,
    values: Array,
    chosen: NDArray[np.bool_],
    left: Callable[[Array, Array, Array], NDArray[np.bool_]],
) -> Iterator[tuple[float, float]]:
    """Halve the chosen cells until their ends are neighbouring floats."""
    row, cell = np.nonzero(chosen)
    if len(row) > CELLS:
        with np.errstate(all="ignore"):
            change = np.nan_to_num(np.abs(values[row, cell + 1] - values[row, cell]), nan=np.inf)
        steepest = np.sort(np.argsort(-change, kind="stable")[:CELLS])
        row, cell = row[steepest], cell[steepest]
    low, high = t[cell], t[cell + 1]
    a, b = values[row, cell], values[row, cell + 1]
    index = np.arange(len(row))
    width = 4 * np.spacing(np.abs(t).max())
    while len(row) and ((high - low) > width).any():
        middle = low + (high - low) / 2
        m = _table(functions, middle)[row, index]
        first = left(a, m, b)
        low, high = np.where(first, low, middle), np.where(first, middle, high)
        a, b = np.where(first, a, m), np.where(first, m, b)
    yield from zip(low.tolist(), high.tolist(), strict=True)


def _peaks(rows: Slice, t: Array, values: Array, fresh: NDArray[np.bool_]) -> list[float]:
    """Return places where a row grows on both sides alike, beyond twice its value on the grid."""
    most = float(np.finfo(float).max)
    with np.errstate(all="ignore"):
        size = np.nan_to_num(np.abs(values), posinf=most)
        top = (size[:, 2:-2] > size[:, 1:-3]) & (size[:, 2:-2] >= size[:, 3:-1])
        # A smooth function is flattest at its top; a pole is steepest there.
        slope = np.nan_to_num(np.abs(np.diff(size) / np.diff(t)), nan=most, posinf=most)
        beside = np.maximum(slope[:, 1:-2], slope[:, 2:-1])
        top &= fresh[1:-2] & fresh[2:-1]
        row, k = np.nonzero(top & (beside > np.maximum(slope[:, :-3], slope[:, 3:])))
    row, k = row[:CELLS], k[:CELLS] + 2
    low, high, index = t[k - 1], t[k + 1], np.arange(len(row))
    for _ in range(90 if len(row) else 0):  # each round drops a third of the length
        third = (high - low) / 3
        size_low, size_high = (
            np.nan_to_num(np.abs(_table(rows, x)[row, index]), nan=np.inf)
            for x in (low + third, high - third)
        )
        up = size_high > size_low
        low, high = np.where(up, low + third, low), np.where(up, high, high - third)
    peaks = np.nan_to_num(np.abs(_table(rows, low)[row, index]), nan=np.inf) if len(row) else low
    chosen = peaks / 2 > size[row, k]
    width = 8 * np.spacing(np.abs(t).max())
    return [_plainest(a - width, b + width) for a, b in zip(low[chosen], high[chosen], strict=True)]


def _plainest(low: float, high: float) -> float:
    """Return the number with the fewest digits from low to high: a feature is at 1, not near it.

    >>> _plainest(0.9999999999999999, 1.0), _plainest(-1e-17, 1e-16)
    (1.0, 0.0)
    """
    if low <= 0 <= high:
        return 0.0
    for digits in range(1, 17):
        candidate = float(f"{low + (high - low) / 2:.{digits}g}")
        if low <= candidate <= high:
            return candidate
    return float(high)


def _apart(places: Iterable[float], least: float) -> list[float]:
    """Return the places in order; merge close ones into that with the fewest digits."""
    distinct: list[float] = []
    for x in sorted(places):
        if distinct and x - distinct[-1] <= least:
            distinct[-1] = min(distinct[-1], x, key=lambda v: len(repr(v)))
        else:
            distinct.append(x + 0.0)
    return distinct


def _gaps(places: Sequence[float], low: float, high: float) -> list[float]:
    """Return the distance to which the surroundings of each place are its own."""
    ends = [low, *places, high]
    distances = [b - a for a, b in pairwise(ends)]
    return [min(a, b, (high - low) / 4) / 3 for a, b in pairwise(distances)]
