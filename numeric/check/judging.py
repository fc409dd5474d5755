"""Right up to rounding, inaccurate, a convention, or wrong: every component at every point.

What a correct computation may be off by has two parts.  The addends of the derivative are rounded:
``u S``, S being the derivative with every addend replaced by its absolute value; where S leaves the
floats, nothing can be said.  And inputs, or
what is computed from them first, are rounded: so the derivatives at points a few units in the last
place away are as good as that at the point.  At a kink these are the limits from all sides, and
their convex hull is Clarke's subdifferential (Clarke, "Optimization and Nonsmooth Analysis", 1983,
theorem 2.5.1): whatever lies in it, jointly for all inputs, is a convention.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.check.exact import as_float

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from numeric.check.exact import Borders, Quantity

    Array = NDArray[Any]
    Points = Mapping[str, Array]

ROUNDINGS = 32
"""Units of rounding of S that a derivative may be off by and count as right."""

MOST_ROUNDINGS = 1000
"""Units of rounding of S + G that an inaccurate derivative may be off by and pass."""

_COARSE = 1e-6  # of S: what matters of a convention
_MOVES = 8  # neighbours that are looked at
_SIDES = 32  # and at a kink
_MOST_SIDES = 20  # how often one more is looked for there
_WIDER = 4  # how much more than theirs the range of rounding may be
_MOST_ULPS = 4  # how far away they are
_NEARLY_ZERO = 1e-290
_SMALL = 1e-100  # what a zero moves by; its square is a number, too
_MOST_SEARCHED = 8  # points at kinks for which more than the neighbours are asked
_MOST_CONFIRMED = 3  # suspicious points of one output in one group that are evaluated in digits


@dataclass
class Run:
    """Points of one dtype, what came for them, what is exact, and how the two compare.

    Arrays have the points as first axis; lists go by the outputs of the quantity.  ``wrong`` holds
    the components that are no derivative, not even up to ``MOST_ROUNDINGS``, ``loose`` those that
    are within these; ``conventions`` those that another convention at a kink explains.
    """

    quantity: Quantity
    dtype: np.dtype[Any]
    points: Points
    groups: Array  # the name of each point's group
    got: list[Array]
    borders: Borders
    held: Sequence[str] = ()  # the inputs that are data, which have no neighbours
    unit: float = 0.0  # G
    exact: list[Array] = field(default_factory=list)
    scale: list[Array] = field(default_factory=list)
    wrong: list[Array] = field(default_factory=list)
    loose: list[Array] = field(default_factory=list)
    conventions: list[Array] = field(default_factory=list)
    kinked: Array = field(default_factory=lambda: np.zeros(0, bool))
    precise: dict[tuple[int, int], Array] = field(default_factory=dict)  # by point and output
    sides: dict[int, list[Array]] = field(default_factory=dict)  # derivatives around a kink

    @property
    def u(self) -> float:
        """The unit roundoff of the dtype."""
        return float(np.finfo(self.dtype).eps) / 2

    def at(self, row: int) -> dict[str, Array]:
        """One of the points."""
        return {name: np.asarray(x[row]) for name, x in self.points.items()}

    def expected(self, row: int, i: int) -> Array:
        """An output at a point, as mpmath numbers."""
        if (row, i) not in self.precise:
            self.precise[row, i] = self.quantity.precise(self.at(row), i)
        return self.precise[row, i]


def typical(quantity: Quantity, points: Points) -> float:
    """G: the median of the non-zero components at ordinary points."""
    parts = [np.abs(y).ravel() for y in quantity.values(points)]
    sizes = np.concatenate(parts) if parts else np.zeros(0)
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
    return float(np.median(sizes)) if sizes.size else 0.0


def judge(run: Run, rng: np.random.Generator, confirm: bool = True) -> None:
    """Fill in how what came compares with what is exact; ``confirm`` what is wrong in digits."""
    quantity = run.quantity
    run.exact = quantity.values(run.points)
    run.scale = quantity.scales(run.points)
    count = len(run.groups)
    run.kinked = np.zeros(count, bool)
    run.wrong = [np.zeros(e.shape, bool) for e in run.exact]
    run.loose = [np.zeros(e.shape, bool) for e in run.exact]
    run.conventions = [np.zeros(e.shape, bool) for e in run.exact]
    rows = np.flatnonzero(_any(_suspicious(run), count))
    if len(rows):
        _weigh(run, rows, rng)
        if confirm:
            _confirm(run)


def _any(masks: Sequence[Array], count: int) -> Array:
    found = np.zeros(count, bool)
    for mask in masks:
        found |= mask.reshape(count, -1).any(axis=1)
    return found


def _allowed(run: Run, i: int) -> Array:
    """The rounding of addends that output ``i`` may show."""
    tiny = float(np.finfo(run.dtype).smallest_normal)
    return np.asarray(ROUNDINGS * run.u * run.scale[i] + tiny)


def _passing(run: Run, i: int) -> Array:
    """What an inaccurate output ``i`` may be off by and pass."""
    return np.asarray(MOST_ROUNDINGS * run.u * (run.scale[i] + run.unit)) + _allowed(run, i)


def _suspicious(run: Run) -> list[Array]:
    return [
        ~((np.abs(g - e) <= _allowed(run, i)) | (g == e)) & np.isfinite(run.scale[i])
        for i, (g, e) in enumerate(zip(run.got, run.exact, strict=True))
    ]


def _weigh(run: Run, rows: Array, rng: np.random.Generator) -> None:
    """Compare suspicious points with their neighbours."""
    quantity = run.quantity
    points = {name: x[rows] for name, x in run.points.items()}
    around = _neighbours(points, run.held, run.dtype, _MOVES, rng)
    values = quantity.values(around)
    here = [d.reshape(len(rows), -1) for d in run.borders.values(points)]
    there = [d.reshape(len(rows), _MOVES, -1) for d in run.borders.values(around)]
    kinked = np.zeros(len(rows), bool)
    tied = run.borders.met(points)
    for a, b in zip(here, there, strict=True):
        kinked |= (np.sign(b) != np.sign(a)[:, None]).any(axis=(1, 2))
    kinked |= tied
    run.kinked[rows] = tied
    for i, (got, exact) in enumerate(zip(run.got, run.exact, strict=True)):
        g, e = got[rows], exact[rows]
        near = values[i].reshape(len(rows), _MOVES, *e.shape[1:])
        low = np.fmin(np.fmin.reduce(near, axis=1), e)
        high = np.fmax(np.fmax.reduce(near, axis=1), e)
        # Eight neighbours show a part of what rounding in another order makes; beyond the sides of
        # a kink there is no more.
        smooth = (~kinked).reshape(-1, *(1,) * (e.ndim - 1))
        margin = np.where(smooth, _WIDER * (high - low), 0.0)
        off = np.maximum(np.maximum(low - margin - g, g - high - margin), 0.0)
        fine = (off <= _allowed(run, i)[rows]) | (g == e)
        passing = off <= _passing(run, i)[rows]
        known = np.isfinite(run.scale[i][rows])
        run.loose[i][rows] = ~fine & passing & known
        run.wrong[i][rows] = ~fine & ~passing & known
    searched = 0
    for k in np.flatnonzero(kinked):
        searched += _weigh_kink(run, int(rows[k]), bool(tied[k]), searched < _MOST_SEARCHED, rng)


def _weigh_kink(run: Run, row: int, tied: bool, search: bool, rng: np.random.Generator) -> bool:
    """Whether what came at a kink lies in the hull of the derivatives around, for all inputs.

    The result: whether sides had to be searched for.  Where that is not allowed any more, what is
    not in the hull of the neighbours is not judged.
    """
    n = len(run.got)
    got = np.concatenate([g[row].ravel() for g in run.got])
    if not np.isfinite(got).all():
        return False
    hull = _Hull(run, row, rng)
    passing = [np.maximum(_passing(run, i)[row], _COARSE * run.scale[i][row]) for i in range(n)]
    inside, searched = hull.contains(got, np.concatenate([p.ravel() for p in passing]), search)
    if not inside and searched and not search:
        for wrong in run.wrong:
            wrong[row] = False
        return True
    sides = run.sides[row] = hull.sides()
    differs = [~(np.abs(run.got[i][row] - run.exact[i][row]) <= passing[i]) for i in range(n)]
    spread = [np.ptp(np.concatenate([s, e[row : row + 1]]), axis=0) > 0
              for s, e in zip(sides, run.exact, strict=True)]  # fmt: skip
    alone = not any((d & s).any() for d, s in zip(differs, spread, strict=True))
    for i in range(n):
        run.wrong[i][row] = False if inside else differs[i] & (spread[i] | alone)
        run.conventions[i][row] = differs[i] & (inside and tied)
    return searched


class _Hull:
    """The hull of the derivatives around a point, for all outputs at once."""

    def __init__(self, run: Run, row: int, rng: np.random.Generator) -> None:
        self.run, self.rng = run, rng
        self.point = {name: x[row : row + 1] for name, x in run.points.items()}
        around = _neighbours(self.point, run.held, run.dtype, _SIDES, rng)
        self.around = _joined([around, *self._together()])
        self.limits = self._limits(self.around)
        exact = [e[row : row + 1] for e in run.exact]
        self.shapes = [e.shape[1:] for e in exact]
        self.exact = np.concatenate([e.reshape(1, -1) for e in exact], axis=1)

    def _limits(self, points: Points) -> Array:
        found = self.run.quantity.values(points)
        return np.concatenate([v.reshape(len(v), -1) for v in found], axis=1)

    def _together(self) -> Iterator[Points]:
        """Some of the inputs moved up, some down, the others not at all."""
        free = [name for name in self.point if name not in self.run.held][:3]
        for signs in product((1.0, -1.0, 0.0), repeat=len(free)):
            moved = dict(self.point)
            for name, sign in zip(free, signs, strict=True):
                x = np.array(moved[name], np.float64)
                for place in np.ndindex(x.shape[1:]) if sign else ():
                    x[(0, *place)] = self._moved(name, place, sign)
                moved[name] = x
            yield moved

    def sides(self) -> list[Array]:
        """The derivatives around the point, by output."""
        ends = np.cumsum([math.prod(shape) for shape in self.shapes])[:-1]
        parts = np.split(self.limits, ends, axis=1)
        return [p.reshape(len(p), *s) for p, s in zip(parts, self.shapes, strict=True)]

    def contains(self, got: Array, unit: Array, search: bool) -> tuple[bool, bool]:
        """Whether ``got`` is in the hull up to ``unit``, and whether that took a search.

        Where many elements are at kinks, few of the sides are among the neighbours; then the one
        farthest in the direction of what came is looked for, until none leads nearer.
        """
        most = np.sqrt(got.size)
        for k in range(_MOST_SIDES):
            vertices = np.concatenate([self.limits, self.exact])
            vertices = vertices[np.isfinite(vertices).all(axis=1)]
            if not len(vertices):
                return True, k > 0
            distance, nearest = nearest_in_hull(vertices / unit, got / unit)
            if distance <= most:
                return True, k > 0
            away = got / unit - nearest
            if not search or not self._extended(away / unit, float(away @ nearest)):
                return False, True
        return False, True

    def _extended(self, away: Array, reached: float) -> bool:
        """Whether a side was found that lies farther in a direction, by turning single elements."""
        free = [name for name in self.run.quantity.by if name in self.point]
        best = {name: x[:1] for name, x in self.around.items()}
        start = height = self._height(best, away)[0]
        along = self._along(away, free)
        for _ in range(2 * sum(self.point[name].size for name in free)):
            trials: list[Points] = [along]
            moves: list[Points] = [{}]
            for name in free:
                for place in np.ndindex(best[name].shape[1:]):
                    for far in (1.0, -1.0, 0.0):
                        x = best[name].copy()
                        x[(0, *place)] = self._moved(name, place, far)
                        trials.append(best | {name: x})
                        moves.append({name: x})
            heights = self._height(_joined(trials), away)
            k = int(np.argmax(heights))
            if heights[k] <= height + 1e-9 * abs(height):
                break
            together = {name: np.array(x) for name, x in best.items()}
            for gain, move in zip(heights - height, moves, strict=True):
                for name, x in move.items() if gain > 0 else ():
                    together[name] = np.where(x != best[name], x, together[name])
            all_at_once = self._height(together, away)[0]
            best = together if all_at_once > heights[k] else dict(trials[k])
            height = max(float(all_at_once), float(heights[k]))
        if height <= max(start, reached) + 1e-9 * abs(reached):
            return False
        self.limits = np.concatenate([self.limits, self._limits(best)])
        return True

    def _height(self, points: Points, away: Array) -> Array:
        return np.asarray(np.nan_to_num(self._limits(points) @ away, nan=-np.inf))

    def _moved(self, name: str, place: tuple[int, ...], far: float) -> float:
        """An element moved as far as neighbours go, by a length of its own so as not to tie."""
        at = float(self.point[name][(0, *place)])
        far *= _MOST_ULPS * (1 + 0.01 * self.rng.random())
        u = float(np.finfo(self.run.dtype).eps)
        return far * _SMALL if abs(at) < _NEARLY_ZERO else at * (1 + u * far)

    def _along(self, away: Array, free: Sequence[str]) -> dict[str, Array]:
        """The point, moved in the direction itself: where the derivative of a norm points."""
        ends = np.cumsum([math.prod(shape) for shape in self.shapes])[:-1]
        parts = dict(zip(self.run.quantity.by, np.split(away, ends), strict=True))
        longest = float(np.abs(away).max(initial=0)) or 1.0
        found = {name: x.astype(np.float64) for name, x in self.point.items()}
        for name in free:
            x = found[name]
            for k, place in enumerate(np.ndindex(x.shape[1:])):
                if parts[name].size == x.size:
                    at = abs(x[(0, *place)])
                    step = _SMALL if at < _NEARLY_ZERO else at * float(np.finfo(self.run.dtype).eps)
                    x[(0, *place)] += _MOST_ULPS * step * parts[name][k] / longest
        return found


def _joined(points: Sequence[Points]) -> dict[str, Array]:
    return {name: np.concatenate([p[name] for p in points]) for name in points[0]}


def _neighbours(
    points: Points, held: Sequence[str], dtype: np.dtype[Any], count: int, rng: np.random.Generator
) -> dict[str, Array]:
    """``count`` points within a few units in the last place of each, in float64.

    What is nearly zero moves to numbers too small to matter.  Seeds have neighbours, too.
    """
    u = float(np.finfo(dtype).eps)
    found = {}
    for name, x in points.items():
        rows = np.repeat(np.asarray(x), count, axis=0)
        if name in held:
            found[name] = rows
            continue
        rows = rows.astype(np.float64)
        moves = rng.choice([-1.0, 1.0], rows.shape) * rng.uniform(0.3, _MOST_ULPS, rows.shape)
        found[name] = np.where(np.abs(rows) < _NEARLY_ZERO, _SMALL * moves, rows * (1 + u * moves))
    return found


def _confirm(run: Run) -> None:
    """Evaluate the worst points in digits; what was not evaluated counts if all that was does."""
    for i, wrong in enumerate(run.wrong):
        flat = wrong.reshape(len(run.groups), -1)
        for group in dict.fromkeys(run.groups[flat.any(axis=1)].tolist()):
            rows = np.flatnonzero(flat.any(axis=1) & (run.groups == group))
            chosen = rows[:: max(1, len(rows) // _MOST_CONFIRMED)][:_MOST_CONFIRMED]
            held = True
            for row in chosen:
                kept = _still_wrong(run, i, int(row))
                held &= bool(kept.any())
                wrong[row] = kept
            if not held:
                wrong[np.setdiff1d(rows, chosen)] = False


def _still_wrong(run: Run, i: int, row: int) -> Array:
    """Which components that were called wrong are so by the exact value."""
    precise = np.vectorize(as_float, otypes=[float])(run.expected(row, i))
    got, wrong = run.got[i][row], run.wrong[i][row]
    largest = float(np.finfo(run.dtype).max)
    beyond = np.abs(precise) > largest
    near = np.abs(got - precise) <= _passing(run, i)[row]
    unknown = np.isnan(precise) | (np.isinf(precise) & ~np.isnan(got))
    run.exact[i][row] = np.where(np.isnan(precise), run.exact[i][row], precise)
    return np.asarray(wrong & ~(beyond | near | unknown))


# The hull -----------------------------------------------------------------------------------------


def nearest_in_hull(vertices: Array, point: Array) -> tuple[float, Array]:
    """The distance of a point from the convex hull of the rows of ``vertices``, and where it is.

    Least squares with weights that are not negative (Lawson and Hanson, "Solving Least Squares
    Problems", 1974, algorithm 23.10); that they add up to 1 is one more equation, of great weight.

    >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> round(nearest_in_hull(square, np.array([0.3, 0.9]))[0], 6)
    0.0
    >>> distance, nearest = nearest_in_hull(square, np.array([0.5, 3.0]))
    >>> round(distance, 6), nearest.round(6).tolist()
    (2.0, [0.5, 1.0])
    """
    moved = vertices - point
    weight = 10 * (float(np.abs(moved).max(initial=0.0)) or 1.0)
    a = np.concatenate([moved.T, np.full((1, len(vertices)), weight)])
    b = np.zeros(len(a))
    b[-1] = weight
    used = np.zeros(len(vertices), bool)
    x = np.zeros(len(vertices))
    for _ in range(3 * len(vertices)):
        slope = a.T @ (b - a @ x)
        slope[used] = -np.inf
        best = int(np.argmax(slope))
        if slope[best] <= 1e-15 * weight * weight:
            break
        used[best] = True
        while True:
            z = np.zeros_like(x)
            z[used] = np.linalg.lstsq(a[:, used], b, rcond=None)[0]
            if (z[used] > 0).all():
                break
            blocking = np.flatnonzero(used & (z <= 0))
            step = np.min(x[blocking] / np.maximum(x[blocking] - z[blocking], 1e-300))
            x = x + step * (z - x)
            used &= x > 1e-15
        x = z
    total = x.sum()
    if not total:
        return float("inf"), vertices[0]
    return float(np.linalg.norm(x @ moved / total)), np.asarray(x @ vertices / total)
