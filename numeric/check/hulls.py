"""The derivatives around a point: values at its neighbours, and their hull at a kink."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numeric.check.exact import Quantity

    Points = Mapping[str, np.ndarray]

_SIDES = 32  # neighbours of a kink to evaluate
_MOST_SIDES = 20  # searches for one more side of a kink
_MOST_STARTS = 8  # neighbours from which a search starts
_COARSE = 1e-6  # the tolerance of a convention, relative to the width of the set of subgradients
_HUGE = 1e100  # least squares overflow beyond
_MOST_ULPS = 4  # the distance of neighbours
_NEARLY_ZERO = 1e-290
_SMALL = 1e-100  # the step of a zero; its square is a normal number, too
_FAR = 2.0**-26  # the step that separates repeated eigenvalues, relative to the largest element
_MOST_PARTS = 16  # eigenvectors that a matrix is split into


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
        values = self.quantity.values(points)
        return np.concatenate([v.reshape(len(v), -1) for v in values], axis=1)

    def _together(self) -> Iterator[Points]:
        """Yield points with some inputs moved up, some down, and the others fixed."""
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
        """Return the derivatives around the point, by output."""
        ends = np.cumsum([math.prod(shape) for shape in self.shapes])[:-1]
        parts = np.split(self.limits, ends, axis=1)
        return [p.reshape(len(p), *s) for p, s in zip(parts, self.shapes, strict=True)]

    def contains(
        self, got: np.ndarray, exact: np.ndarray, unit: np.ndarray, search: bool
    ) -> tuple[bool, bool]:
        """Whether ``got`` is in the hull up to ``unit``, and whether that took a search.

        ``exact`` is the derivative at the point itself, which belongs to the hull.

        Where many elements are at kinks, the neighbours cover few of the sides.  Then each search
        looks for the side farthest in the direction of ``got``, until no side leads nearer.
        """
        most = np.sqrt(got.size)
        free = [name for name in self.quantity.by if name in self.point]
        if free:  # a subgradient of a norm is the norm's derivative in that very direction
            self.limits = np.concatenate([self.limits, self._limits(self._along(got, free))])
        if self.quantity.is_spectral:
            if free:
                self._take_apart(got, free)
            self._add_sides(self._tangents())
        least = unit
        for k in range(_MOST_SIDES):
            # Scale by the width of the set of subgradients: S may be that of one side, where it is
            # 0.
            limits = np.concatenate([self.limits, exact[None]])
            limits = limits[(np.abs(limits) < _HUGE).all(axis=1)]
            wide = np.ptp(limits, axis=0) if len(limits) else 0.0
            unit = np.maximum(least, _COARSE * wide)
            vertices = limits / unit
            vertices = vertices[(np.abs(vertices) < _HUGE).all(axis=1)]
            # Numbers beyond least squares cannot be judged: give the benefit of the doubt.
            if not len(vertices) or not (np.abs(got / unit) < _HUGE).all():
                return True, k > 0
            distance, nearest = nearest_in_hull(vertices, got / unit)
            if distance <= most:
                return True, k > 0
            away = got / unit - nearest
            if self.quantity.is_spectral:
                self._add_sides(self._parts(away / unit, free))
            if not search or not self._extended(away / unit, float(away @ nearest)):
                return False, True
        return False, True

    def _take_apart(self, got: np.ndarray, free: Sequence[str]) -> None:
        """Add the sides whose sum ``got`` may be, each the farthest in the direction of the rest.

        At a repeated eigenvalue the sides fill a curve, as ``v v'`` does for all unit vectors v of
        the eigenspace (Lewis, "Derivatives of Spectral Functions", 1996).  Random sides have no
        corner at ``got``.  The sides that add up to a matrix are its own eigenvectors, largest
        first.
        """
        rest = got.copy()
        for _ in range(min(rest.size, _MOST_PARTS)):
            sides = self._add_sides(self._parts(rest, free))
            if not len(sides):
                return
            side = sides[int(np.argmax(np.nan_to_num(sides @ rest, nan=-np.inf)))]
            size = float(side @ side)
            if not 0 < size < _HUGE:
                return
            rest = rest - float(rest @ side) / size * side
            if np.abs(rest).max() <= _COARSE**2 * np.abs(got).max():
                return

    def _add_sides(self, direction: Points) -> np.ndarray:
        """Add and return the derivatives at the point moved both ways in a direction.

        The step exceeds the rounding of eigenvectors and scales all elements alike.
        """
        moved = []
        longest = max([float(np.abs(d).max(initial=0)) for d in direction.values()], default=0.0)
        for sign in (1, -1) if longest else ():
            point = dict(self.point)
            for name, d in direction.items():
                x = self.point[name].astype(np.float64)
                step = sign * _FAR * (float(np.abs(x).max(initial=0)) or 1.0)
                point[name] = x + step / longest * d.reshape(x.shape)
            moved.append(point)
        sides = self._limits(_joined(moved)) if moved else self.limits[:0]
        self.limits = np.concatenate([self.limits, sides])
        return sides

    def _tangents(self) -> dict[str, np.ndarray]:
        """Return the direction of a jvp, by input: its values differ most along it."""
        pairs = ((name, self.point.get(f"{name}_tangent")) for name in self.point)
        return {name: tangent for name, tangent in pairs if tangent is not None}

    def _parts(self, away: np.ndarray, free: Sequence[str]) -> dict[str, np.ndarray]:
        """Split a direction by input, for the inputs that the derivatives are by."""
        if not free:
            return {}
        ends = np.cumsum([math.prod(shape) for shape in self.shapes])[:-1]
        parts = zip(self.quantity.by, np.split(away, ends), strict=True)
        return {name: d for name, d in parts if name in free and d.size == self.point[name].size}

    def _extended(self, away: np.ndarray, reached: float) -> bool:
        """Add a side farther in a direction, if turning single elements leads to one."""
        heights = self._height(self.around, away)
        for k in np.argsort(-heights, kind="stable")[:_MOST_STARTS]:
            start = {name: x[k : k + 1] for name, x in self.around.items()}
            best, height = self._climbed(start, float(heights[k]), away)
            if height > max(float(heights[k]), reached) + 1e-9 * abs(reached):
                self.limits = np.concatenate([self.limits, self._limits(best)])
                return True
        return False

    def _climbed(self, best: Points, height: float, away: np.ndarray) -> tuple[Points, float]:
        """Climb from a neighbour by single elements; return the farthest side and its height."""
        free = [name for name in self.quantity.by if name in self.point]
        along = self._along(away, free)
        for _ in range(2 * sum(self.point[name].size for name in free)):
            trials: list[Points] = [along]
            moves: list[Points] = [{}]
            for name in free:
                for place in np.ndindex(best[name].shape[1:]):
                    for far in (1.0, -1.0, 0.0):
                        x = best[name].copy()
                        x[(0, *place)] = self._moved(name, place, far)
                        trials.append({**best, name: x})
                        moves.append({name: x})
            heights = self._height(_joined(trials), away)
            k = int(np.argmax(heights))
            if heights[k] <= height + 1e-9 * abs(height):
                break
            # Try all moves that gain at once: kinks of different elements are often independent.
            together = {name: np.array(x) for name, x in best.items()}
            for gain, move in zip(heights - height, moves, strict=True):
                for name, x in move.items() if gain > 0 else ():
                    together[name] = np.where(x != best[name], x, together[name])
            all_at_once = self._height(together, away)[0]
            best = together if all_at_once > heights[k] else dict(trials[k])
            height = max(float(all_at_once), float(heights[k]))
        return best, height

    def _height(self, points: Points, away: np.ndarray) -> np.ndarray:
        return np.asarray(np.nan_to_num(self._limits(points) @ away, nan=-np.inf))

    def _moved(self, name: str, place: tuple[int, ...], far: float) -> float:
        """Return an element moved as far as neighbours are; random lengths avoid new ties."""
        at = float(self.point[name][(0, *place)])
        far *= _MOST_ULPS * (1 + 0.01 * self.rng.random())
        u = float(np.finfo(self.dtype).eps)
        return far * _SMALL if abs(at) < _NEARLY_ZERO else at * (1 + u * far)

    def _along(self, away: np.ndarray, free: Sequence[str]) -> dict[str, np.ndarray]:
        """Return the point moved in the direction itself, where the derivative of a norm points."""
        parts = self._parts(away, free)
        longest = float(np.abs(away).max(initial=0)) or 1.0
        moved = {name: x.astype(np.float64) for name, x in self.point.items()}
        for name in parts:
            x = moved[name]
            for k, place in enumerate(np.ndindex(x.shape[1:])):
                at = abs(x[(0, *place)])
                step = _SMALL if at < _NEARLY_ZERO else at * float(np.finfo(self.dtype).eps)
                x[(0, *place)] += _MOST_ULPS * step * parts[name][k] / longest
        return moved


def _joined(points: Sequence[Points]) -> dict[str, np.ndarray]:
    return {name: np.concatenate([p[name] for p in points]) for name in points[0]}


def neighbours(
    points: Points, held: Sequence[str], dtype: np.dtype, count: int, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Return ``count`` points within a few units in the last place of each point, in float64.

    Numbers near zero move to numbers too small to matter, or by the rounding of the largest
    element.  Seeds have neighbours, too.
    """
    u = float(np.finfo(dtype).eps)
    moved = {}
    for name, x in points.items():
        rows = np.repeat(np.asarray(x), count, axis=0)
        if name in held:
            moved[name] = rows
            continue
        rows = rows.astype(np.float64)
        moves = rng.choice([-1.0, 1.0], rows.shape) * rng.uniform(0.3, _MOST_ULPS, rows.shape)
        moves[1::count] = -moves[::count]  # both sides of a tie between two elements are present
        # Next to larger elements, a computed zero carries their rounding errors.
        largest = np.abs(rows).max(axis=tuple(range(1, rows.ndim)), keepdims=True, initial=0.0)
        coarse = rng.random(len(rows)).reshape(-1, *(1,) * (rows.ndim - 1)) < 0.5
        small = np.where(coarse & (largest > _NEARLY_ZERO), u * largest, _SMALL)
        moved[name] = np.where(np.abs(rows) < _NEARLY_ZERO, small * moves, rows * (1 + u * moves))
    return moved


def nearest_in_hull(vertices: np.ndarray, point: np.ndarray) -> tuple[float, np.ndarray]:
    """Return a point's distance from the convex hull of the rows of ``vertices``, and the foot.

    Solves least squares with non-negative weights (Lawson and Hanson, "Solving Least Squares
    Problems", 1974, algorithm 23.10).  One more equation, with a great weight, sets their sum to 1.

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
            # Some weights would be negative: move only until the first one reaches 0, and drop it.
            blocking = np.flatnonzero(used & (z <= 0))
            step = np.min(x[blocking] / np.maximum(x[blocking] - z[blocking], 1e-300))
            x = x + step * (z - x)
            used &= x > 1e-15
        x = z
    total = x.sum()
    if not total:
        return float("inf"), vertices[0]
    return float(np.linalg.norm(x @ moved / total)), np.asarray(x @ vertices / total)
