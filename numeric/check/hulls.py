"""The derivatives around a point: those of its neighbours, and their hull at a kink."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numeric.check.exact import Quantity

    Points = Mapping[str, np.ndarray]

_SIDES = 32  # neighbours of a kink that are asked
_MOST_SIDES = 20  # how often one more is looked for there
_HUGE = 1e100  # beyond which least squares overflow
_MOST_ULPS = 4  # how far away neighbours are
_NEARLY_ZERO = 1e-290
_SMALL = 1e-100  # what a zero moves by; its square is a number, too


class Hull:
    """The hull of the derivatives around a point, for all outputs at once."""

    def __init__(
        self,
        quantity: Quantity,
        point: Points,
        held: Sequence[str],
        dtype: np.dtype,
        rng: np.random.Generator,
    ) -> None:
        self.quantity, self.point, self.held, self.dtype = quantity, point, held, dtype
        self.rng = rng
        around = neighbours(point, held, dtype, _SIDES, rng)
        self.around = _joined([around, *self._together()])
        self.limits = self._limits(self.around)
        self.shapes = [tuple(map(int, y.shape)) for y in quantity.outputs]

    def _limits(self, points: Points) -> np.ndarray:
        found = self.quantity.values(points)
        return np.concatenate([v.reshape(len(v), -1) for v in found], axis=1)

    def _together(self) -> Iterator[Points]:
        """Some of the inputs moved up, some down, the others not at all."""
        free = [name for name in self.point if name not in self.held][:3]
        for signs in product((1.0, -1.0, 0.0), repeat=len(free)):
            moved = dict(self.point)
            for name, sign in zip(free, signs, strict=True):
                x = np.array(moved[name], np.float64)
                for place in np.ndindex(x.shape[1:]) if sign else ():
                    x[(0, *place)] = self._moved(name, place, sign)
                moved[name] = x
            yield moved

    def sides(self) -> list[np.ndarray]:
        """The derivatives around the point, by output."""
        ends = np.cumsum([math.prod(shape) for shape in self.shapes])[:-1]
        parts = np.split(self.limits, ends, axis=1)
        return [p.reshape(len(p), *s) for p, s in zip(parts, self.shapes, strict=True)]

    def contains(
        self, got: np.ndarray, exact: np.ndarray, unit: np.ndarray, search: bool
    ) -> tuple[bool, bool]:
        """Whether ``got`` is in the hull up to ``unit``, and whether that took a search.

        ``exact`` is the derivative at the point itself, which is in it.

        Where many elements are at kinks, few of the sides are among the neighbours; then the one
        farthest in the direction of what came is looked for, until none leads nearer.
        """
        most = np.sqrt(got.size)
        free = [name for name in self.quantity.by if name in self.point]
        if free:  # of a norm, the derivative in the direction of a subgradient is itself
            self.limits = np.concatenate([self.limits, self._limits(self._along(got, free))])
        for k in range(_MOST_SIDES):
            vertices = np.concatenate([self.limits, exact[None]]) / unit
            vertices = vertices[(np.abs(vertices) < _HUGE).all(axis=1)]
            if not len(vertices) or not (np.abs(got / unit) < _HUGE).all():
                return True, k > 0
            distance, nearest = nearest_in_hull(vertices, got / unit)
            if distance <= most:
                return True, k > 0
            away = got / unit - nearest
            if not search or not self._extended(away / unit, float(away @ nearest)):
                return False, True
        return False, True

    def _extended(self, away: np.ndarray, reached: float) -> bool:
        """Whether a side was found that lies farther in a direction, by turning single elements."""
        free = [name for name in self.quantity.by if name in self.point]
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

    def _height(self, points: Points, away: np.ndarray) -> np.ndarray:
        return np.asarray(np.nan_to_num(self._limits(points) @ away, nan=-np.inf))

    def _moved(self, name: str, place: tuple[int, ...], far: float) -> float:
        """An element moved as far as neighbours go, by a length of its own so as not to tie."""
        at = float(self.point[name][(0, *place)])
        far *= _MOST_ULPS * (1 + 0.01 * self.rng.random())
        u = float(np.finfo(self.dtype).eps)
        return far * _SMALL if abs(at) < _NEARLY_ZERO else at * (1 + u * far)

    def _along(self, away: np.ndarray, free: Sequence[str]) -> dict[str, np.ndarray]:
        """The point, moved in the direction itself: where the derivative of a norm points."""
        ends = np.cumsum([math.prod(shape) for shape in self.shapes])[:-1]
        parts = dict(zip(self.quantity.by, np.split(away, ends), strict=True))
        longest = float(np.abs(away).max(initial=0)) or 1.0
        found = {name: x.astype(np.float64) for name, x in self.point.items()}
        for name in free:
            x = found[name]
            for k, place in enumerate(np.ndindex(x.shape[1:])):
                if parts[name].size == x.size:
                    at = abs(x[(0, *place)])
                    step = _SMALL if at < _NEARLY_ZERO else at * float(np.finfo(self.dtype).eps)
                    x[(0, *place)] += _MOST_ULPS * step * parts[name][k] / longest
        return found


def _joined(points: Sequence[Points]) -> dict[str, np.ndarray]:
    return {name: np.concatenate([p[name] for p in points]) for name in points[0]}


def neighbours(
    points: Points, held: Sequence[str], dtype: np.dtype, count: int, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """``count`` points within a few units in the last place of each, in float64.

    What is nearly zero moves to numbers too small to matter, or as far as the largest element.
    Seeds have neighbours, too.
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
        # Beside larger elements, a zero that is computed is off by what these are.
        largest = np.abs(rows).max(axis=tuple(range(1, rows.ndim)), keepdims=True, initial=0.0)
        coarse = rng.random(len(rows)).reshape(-1, *(1,) * (rows.ndim - 1)) < 0.5
        small = np.where(coarse & (largest > _NEARLY_ZERO), u * largest, _SMALL)
        found[name] = np.where(np.abs(rows) < _NEARLY_ZERO, small * moves, rows * (1 + u * moves))
    return found


def nearest_in_hull(vertices: np.ndarray, point: np.ndarray) -> tuple[float, np.ndarray]:
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
