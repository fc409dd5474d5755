"""The points of an audit: ordinary ones, and those at which derivatives go wrong.

A derivative that is wrong everywhere shows at any point.  Mistakes that other checks miss hide in
tails, at zeros and ties, on one side of a border, in a sliver next to it, or at one magnitude in
thousands.  So points come in groups.  There are ordinary points, and points with single elements,
single inputs or all inputs swept over the magnitudes.  There are special numbers.  There are points
at the borders of the formula's own comparisons, approached from both sides at distances of all
magnitudes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numeric.check.exact import Borders

    Points = dict[str, np.ndarray]

SHARES = {
    "ordinary": 0.15,
    "single": 0.22,
    "tails": 0.12,
    "wide": 0.10,
    "extreme": 0.06,
    "special": 0.12,
    "beside": 0.23,
}
"""The fraction of the points in each group."""

SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, 10.0, 0.25])
_SPARE = 5  # decades below the largest number
_STEPS = 48  # cells of a line on which borders are searched
_HALVINGS = 70  # enough to bisect to neighbouring floats


@dataclass(frozen=True)
class Input:
    """An input, and how its numbers may be drawn."""

    name: str
    shape: tuple[int, ...]
    low: float = -np.inf
    high: float = np.inf
    mode: str = "real"
    example: object = None  # the array that the user gave
    seed: bool = False  # a cotangent or tangent: derivatives are linear in it, so few magnitudes do

    def draw(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Draw ordinary numbers: normal, or 0.1 <= |x| <= 10 with all magnitudes equally likely."""
        size = (count, *self.shape)
        if np.isfinite(self.low) and np.isfinite(self.high):
            return rng.uniform(self.low, self.high, size)
        logarithmic = _signed(rng, 10.0 ** rng.uniform(-1, 1, size))
        which = rng.random((count,) + (1,) * len(self.shape)) < 0.5
        return self.inside(np.where(which, logarithmic, rng.normal(size=size)), rng)

    def swept(self, count: int, rng: np.random.Generator, low: float, high: float) -> np.ndarray:
        """Draw numbers of magnitude 10^low .. 10^high, the same up to a factor at each point."""
        axes = (1,) * len(self.shape)
        scale = rng.uniform(low, high, (count, *axes))
        spread = rng.uniform(-0.5, 0.5, (count, *self.shape)) * (rng.random((count, *axes)) < 0.7)
        size = np.minimum(10.0 ** np.clip(scale + spread, -324, 308), np.finfo(float).max)
        signs = rng.choice([-1.0, 1.0], (count, *self.shape))
        alike = rng.choice([-1.0, 1.0], (count, *axes))
        return self.inside(size * np.where(rng.random((count, *axes)) < 0.5, signs, alike), rng)

    def inside(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Transform ``x`` to the form that the input takes, and move it into its domain."""
        if self.mode == "positive":
            x = np.abs(x)
        elif self.mode == "unit":
            x = np.abs(x) / (1 + np.abs(x))
        elif self.mode == "between":
            x = x / (1 + np.abs(x))
        elif self.mode == "greater":
            x = 1 + np.abs(x)
        elif self.mode == "definite":
            n = self.shape[-1]
            # Add a multiple of the identity, to keep the matrix well conditioned.
            x = x @ np.swapaxes(x, -1, -2) + (0.1 + np.abs(x).max(axis=(-1, -2), keepdims=True)) * (
                np.eye(n)
            )
        if np.isfinite(self.low) or np.isfinite(self.high):
            x = self._within(x, rng)
        return x

    def _within(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        outside = ~((x >= self.low) & (x <= self.high))
        # One bound only: reflect to the inside, at the same distance from the bound.
        if not np.isfinite(self.low) or not np.isfinite(self.high):
            end, way = (self.low, 1) if np.isfinite(self.low) else (self.high, -1)
            return np.where(outside, end + way * np.abs(x), x)
        width = self.high - self.low
        # Two bounds: numbers outside go near one of the ends, at distances of all magnitudes.
        near = rng.choice([0.0, 1.0], x.shape)
        distance = np.minimum(1, 10.0 ** rng.uniform(-17, 0, x.shape))
        ends = self.low + width * np.abs(near - distance)
        return np.clip(np.where(outside, ends, x), self.low, self.high)


MODES = ("real", "positive", "between", "unit", "greater", "definite")
"""The forms of an input: real, positive, in (-1, 1), in (0, 1), above 1, positive definite."""


def _signed(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    return np.asarray(x * rng.choice([-1.0, 1.0], x.shape))


def ordinary(inputs: Sequence[Input], count: int, rng: np.random.Generator) -> Points:
    """Draw ordinary points."""
    return {x.name: x.draw(count, rng) for x in inputs}


def tails(inputs: Sequence[Input], count: int, rng: np.random.Generator) -> Points:
    """Draw all inputs, or all but one, at magnitudes from 1 to 1000."""
    return _partly(inputs, count, rng, 0, 3)


def wide(inputs: Sequence[Input], count: int, rng: np.random.Generator) -> Points:
    """Draw all inputs, or some, at magnitudes from 1e-12 to 1e8."""
    return _partly(inputs, count, rng, -12, 8)


def extreme(inputs: Sequence[Input], count: int, rng: np.random.Generator, dtype: Any) -> Points:
    """Draw inputs at any magnitude of the dtype, subnormal ones included.

    The largest ones are left out, because derivatives such as that of sin(x)**2 need a finite 2*x.
    """
    info = np.finfo(dtype)
    low, high = np.log10(float(info.smallest_subnormal)), np.log10(float(info.max)) - _SPARE
    return _partly(inputs, count, rng, low, high)


def _partly(
    inputs: Sequence[Input], count: int, rng: np.random.Generator, low: float, high: float
) -> Points:
    """Sweep each input in most points, and keep it ordinary in the others."""
    points: Points = {}
    for x in inputs:
        swept = x.swept(count, rng, *((-1, 1) if x.seed else (low, high)))
        keep = rng.random((count,) + (1,) * len(x.shape)) < (0.3 if len(inputs) > 1 else 0)
        points[x.name] = np.where(keep, x.draw(count, rng), swept)
    return points


def single(inputs: Sequence[Input], count: int, rng: np.random.Generator) -> Points:
    """Draw ordinary points with one element swept from 1e-18 to 1e4, mostly from 1 to 1e3."""
    points = ordinary(inputs, count, rng)
    own = [x for x in inputs if not x.seed and int(np.prod(x.shape)) > 0]
    for k in range(count) if own else ():
        x = own[rng.integers(len(own))]
        low, high = (0, 3) if rng.random() < 0.5 else (-18, 4)
        magnitude = 10.0 ** rng.uniform(low, high) * rng.choice([-1.0, 1.0])
        row = np.array(points[x.name][k])  # an array even for a scalar input, to write into
        row.reshape(-1)[rng.integers(row.size)] = magnitude
        points[x.name][k] = x.inside(row[None], rng)[0] if x.mode != "definite" else row
    return points


def special(inputs: Sequence[Input], count: int, rng: np.random.Generator) -> Points:
    """Draw zeros, small integers, equal elements, equal inputs, unit vectors, subnormals."""
    points = ordinary(inputs, count, rng)
    for k in range(count):
        pattern = k % 8
        common = SPECIAL[rng.integers(len(SPECIAL))]
        for x in inputs:
            if x.seed or not int(np.prod(x.shape)) or rng.random() < 0.2:
                continue
            row = np.array(points[x.name][k])  # an array even for a scalar input, to write into
            flat = row.reshape(-1)
            some = rng.random(flat.shape) < rng.choice([0.3, 1.0])
            some[rng.integers(flat.size)] = True
            if pattern == 0:
                flat[some] = 0.0
            elif pattern == 1:
                flat[:] = rng.integers(-3, 4, flat.size)
            elif pattern == 2:
                flat[some] = flat[rng.integers(flat.size)]
            elif pattern == 3:
                flat[some] = common
            elif pattern == 4:
                kept = flat[place := rng.integers(flat.size)]
                flat[:] = 0.0
                flat[place] = kept
            elif pattern == 5:
                flat[some] = SPECIAL[rng.integers(len(SPECIAL), size=int(some.sum()))]
            elif pattern == 6:
                flat[some] = rng.choice([1e-310, -1e-310, 2.2250738585072014e-308, -0.0])
            else:
                flat[some] = np.round(flat[some], 1)
            inside = (flat >= x.low) & (flat <= x.high)
            if x.mode == "real" and inside.all():
                points[x.name][k] = row
    return points


def beside(
    borders: Borders, inputs: Sequence[Input], count: int, rng: np.random.Generator
) -> Points:
    """Draw points on the borders and next to them, at relative distances of 1e-17 to 1.

    From ordinary points one element moves (in a third of the points, all of them) until a
    comparison changes; bisection finds the place.  Every border gives several points: itself, both
    neighbours, and others on both sides.
    """
    starts = max(4, count // 6)
    base = ordinary(inputs, starts, rng)
    own = [x for x in inputs if not x.seed and int(np.prod(x.shape)) > 0]
    direction = {x.name: np.zeros((starts, *x.shape)) for x in inputs}
    for k in range(starts):
        if rng.random() < 0.67:
            x = own[rng.integers(len(own))]
            direction[x.name][k].reshape(-1)[rng.integers(int(np.prod(x.shape)))] = 1.0
        else:
            for x in own:
                direction[x.name][k] = rng.normal(size=x.shape)
    crossing = _Crossing(borders, base, direction)
    lines, low, high = crossing.bisected(rng)
    if not len(lines):
        return {x.name: np.zeros((0, *x.shape)) for x in inputs}
    reach = np.maximum(np.abs(low), 0.1)
    steps = [low, high]
    while len(steps) * len(lines) < count:
        distance = 10.0 ** rng.uniform(-17, 0, len(lines)) * reach
        steps.append(low + _signed(rng, distance))
    moved = [crossing.at(lines, step) for step in steps]
    points = {x.name: np.concatenate([m[x.name] for m in moved])[:count] for x in inputs}
    for x in inputs:
        points[x.name] = np.clip(points[x.name], x.low, x.high)
    return points


class _Crossing:
    """Lines through points, and the places on them where a comparison changes."""

    def __init__(self, borders: Borders, base: Points, direction: Points) -> None:
        self.borders, self.base, self.direction = borders, base, direction
        self.count = len(next(iter(base.values())))

    def at(self, which: np.ndarray, step: np.ndarray) -> Points:
        """Return the points ``base + step * direction`` of some lines."""
        return {
            name: x[which] + step.reshape(-1, *(1,) * (x.ndim - 1)) * self.direction[name][which]
            for name, x in self.base.items()
        }

    def _differences(self, which: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Return all differences there, as an array of shape (lines, differences)."""
        differences = self.borders.values(self.at(which, step))
        return np.concatenate([d.reshape(len(which), -1) for d in differences], axis=1)

    def bisected(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the lines that cross a border, and the neighbouring steps on its two sides."""
        half = np.concatenate([np.linspace(0, 4, _STEPS // 4), np.geomspace(5, 100, _STEPS // 4)])
        grid = np.concatenate([-half[:0:-1], half]) + rng.uniform(-0.01, 0.01)
        lines = np.arange(self.count)
        signs = np.stack(
            [np.sign(self._differences(lines, np.full(self.count, t))) for t in grid], axis=1
        )
        changes = (signs[:, 1:] != signs[:, :-1]) & np.isfinite(signs[:, 1:] + signs[:, :-1])
        chosen = []
        for k in lines:
            # One crossing of each line, at random, so that no border takes all points.
            places = np.argwhere(changes[k])
            if len(places):
                chosen.append((k, *places[rng.integers(len(places))]))
        if not chosen:
            return np.zeros(0, int), np.zeros(0), np.zeros(0)
        which, cell, difference = np.array(chosen).T
        low, high = grid[cell], grid[cell + 1]
        rows = np.arange(len(which))
        below = np.sign(self._differences(which, low)[rows, difference])
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            same = np.sign(self._differences(which, middle)[rows, difference]) == below
            low, high = np.where(same, middle, low), np.where(same, high, middle)
        return which, low, high


def groups(
    borders: Borders, inputs: Sequence[Input], rng: np.random.Generator, dtype: object
) -> dict[str, tuple[float, Callable[[int], Points]]]:
    """Return the groups of points by name: the fraction of each, and a function that draws n."""
    draw: dict[str, Callable[[int], Points]] = {
        "ordinary": lambda n: ordinary(inputs, n, rng),
        "single": lambda n: single(inputs, n, rng),
        "tails": lambda n: tails(inputs, n, rng),
        "wide": lambda n: wide(inputs, n, rng),
        "extreme": lambda n: extreme(inputs, n, rng, dtype),
        "special": lambda n: special(inputs, n, rng),
        "beside": lambda n: beside(borders, inputs, n, rng),
    }
    shares = dict(SHARES)
    if not borders:
        shares["single"] += shares.pop("beside")
    return {name: (share, draw[name]) for name, share in shares.items()}


def discovered(
    inputs: Sequence[Input], finite: Callable[[Points], np.ndarray], rng: np.random.Generator
) -> list[Input]:
    """Choose the form of each input so that most ordinary points are in the formula's domain.

    ``finite`` masks the points at which the formula has a value.  An input without example and
    bounds may turn out to be positive, for example.
    """
    chosen = list(inputs)
    count = 64

    def share() -> float:
        return float(finite(ordinary(chosen, count, rng)).mean())

    best = share()
    # Twice, because the form of one input may depend on that of another.
    for _ in range(2):
        for k, x in enumerate(chosen):
            if best >= 0.5 or x.example is not None or np.isfinite([x.low, x.high]).any():
                continue
            for mode in MODES[1:]:
                square = len(x.shape) >= 2 and x.shape[-1] == x.shape[-2]
                if mode == "definite" and not square:
                    continue
                previous = chosen[k]
                chosen[k] = Input(x.name, x.shape, mode=mode)
                now = share()
                if now > best + 0.1:
                    best = now
                else:
                    chosen[k] = previous
    return chosen


def rounded(points: Points, dtype: Any, kept: Mapping[str, Any]) -> Points:
    """Round the points to the dtype, and add the inputs ``kept``, which are data."""
    drawn = {name: x.astype(dtype) for name, x in points.items()}
    count = len(next(iter(points.values())))
    return drawn | {k: np.broadcast_to(v, (count, *np.shape(v))) for k, v in kept.items()}
