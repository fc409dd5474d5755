"""Judge every component at every point: right up to rounding, inaccurate, a convention, or wrong.

The error of a correct computation has two parts.  First, the addends of the derivative are rounded:
``u S``, where S is the derivative with every addend replaced by its absolute value.  Where S leaves
the floats, no verdict is possible.  Second, inputs and first intermediate results are rounded.  So
derivatives at points a few units in the last place away are as good as the one at the point.

At a kink these derivatives are the limits from all sides, and their convex hull is Clarke's
subdifferential (Clarke, "Optimization and Nonsmooth Analysis", 1983, theorem 2.5.1).  Any element
of it, jointly for all inputs, is a convention.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from numeric.check.exact import as_floats
from numeric.check.hulls import Hull, neighbours

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numeric.check.exact import Borders, Forward, Quantity

    Points = Mapping[str, np.ndarray]

ROUNDINGS = 32
"""The error of a right derivative, in units of rounding of S."""

MOST_ROUNDINGS = 1000
"""The error of an inaccurate derivative that passes, in units of rounding of S + G."""

_COARSE = 1e-6  # the tolerance of a convention, relative to S
_EXTREME = 1e6  # beyond, the formula's own intermediate results may overflow
_MOVES = 8  # neighbours to evaluate
_APART = 1e3  # derivatives that differ by more tolerances belong to two sides
_WIDER = 4  # the full range of rounding, relative to the range of the neighbours
_MOST_SEARCHED = 8  # points at kinks where a search goes beyond the neighbours
_MOST_CONFIRMED = 3  # suspicious points of one output in one group to evaluate in digits


@dataclass
class Run:
    """Points of one dtype with the results there, the exact values, and the verdicts.

    Arrays have the points as first axis; lists follow the outputs of the quantity.  ``wrong`` masks
    components beyond ``MOST_ROUNDINGS``.  ``loose`` masks inaccurate ones within that bound.
    ``conventions`` masks those that another convention at a kink explains.
    """

    quantity: Quantity
    dtype: np.dtype
    points: Points
    groups: np.ndarray  # the name of each point's group
    got: list[np.ndarray]
    borders: Borders
    held: Sequence[str] = ()  # the inputs that are data, which have no neighbours
    unit: float = 0.0  # G, the usual size of a component
    exact: list[np.ndarray] = field(default_factory=list)
    scale: list[np.ndarray] = field(default_factory=list)
    wrong: list[np.ndarray] = field(default_factory=list)
    loose: list[np.ndarray] = field(default_factory=list)
    conventions: list[np.ndarray] = field(default_factory=list)
    kinked: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))
    precise: dict[tuple[int, int], np.ndarray] = field(default_factory=dict)  # by point and output
    sides: dict[int, list[np.ndarray]] = field(default_factory=dict)  # derivatives around a kink

    @property
    def u(self) -> float:
        """The unit roundoff of the dtype."""
        return float(np.finfo(self.dtype).eps) / 2

    def at(self, row: int) -> dict[str, np.ndarray]:
        """Return one of the points."""
        return {name: np.asarray(x[row]) for name, x in self.points.items()}

    def expected(self, row: int, i: int) -> np.ndarray:
        """Return an output at a point, as mpmath numbers."""
        if (row, i) not in self.precise:
            self.precise[row, i] = self.quantity.precise(self.at(row), i)
        return self.precise[row, i]


def typical(quantity: Quantity, points: Points) -> float:
    """Return G: the median of the non-zero components at ordinary points."""
    parts = [np.abs(y).ravel() for y in quantity.values(points)]
    sizes = np.concatenate(parts) if parts else np.zeros(0)
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
    return float(np.median(sizes)) if sizes.size else 0.0


def judge(run: Run, rng: np.random.Generator, confirm: bool = True) -> None:
    """Compare the results with exact values and fill in the masks; ``confirm`` uses digits."""
    quantity = run.quantity
    run.exact = quantity.values(run.points)
    run.scale = quantity.scales(run.points)
    count = len(run.groups)
    run.kinked = np.zeros(count, bool)
    run.wrong = [np.zeros(e.shape, bool) for e in run.exact]
    run.loose = [np.zeros(e.shape, bool) for e in run.exact]
    run.conventions = [np.zeros(e.shape, bool) for e in run.exact]
    suspicious = _suspicious(run)
    rows = np.flatnonzero(_any(suspicious, count))
    if len(rows):
        _weigh(run, rows, suspicious, rng)
        if confirm:
            _confirm(run)


def overflowing(run: Run, forward: Forward, rows: np.ndarray) -> np.ndarray:
    """Mask the points at which every plain computation meets undefined or infinite values.

    At very large or small numbers, intermediate results of the formula overflow, or products in
    the quantity do.
    """
    points = {name: x[rows] for name, x in run.points.items()}
    far = np.zeros(len(rows), bool)
    for x in points.values():
        size = np.abs(x.reshape(len(rows), -1).astype(float))
        far |= ((size > _EXTREME) | ((size < 1 / _EXTREME) & (size > 0))).any(axis=1)
    beyond = run.quantity.strained(points, run.dtype) | forward.overflows(points, run.dtype)
    return np.asarray(beyond & far)


def _any(masks: Sequence[np.ndarray], count: int) -> np.ndarray:
    result = np.zeros(count, bool)
    for mask in masks:
        result |= mask.reshape(count, -1).any(axis=1)
    return result


def _allowed(run: Run, i: int) -> np.ndarray:
    """Return the rounding error of addends that output ``i`` may show."""
    tiny = float(np.finfo(run.dtype).smallest_normal)
    return np.asarray(ROUNDINGS * run.u * run.scale[i] + tiny)


def _passing(run: Run, i: int) -> np.ndarray:
    """Return the largest error with which an inaccurate output ``i`` passes."""
    return np.asarray(MOST_ROUNDINGS * run.u * (run.scale[i] + run.unit) + _allowed(run, i))


def _suspicious(run: Run) -> list[np.ndarray]:
    largest = float(np.finfo(run.dtype).max)
    return [
        ~((np.abs(g - e) <= _allowed(run, i)) | (g == e))
        & np.isfinite(run.scale[i])
        & ~(np.isfinite(e) & (np.abs(e) > largest))
        for i, (g, e) in enumerate(zip(run.got, run.exact, strict=True))
    ]


def _weigh(
    run: Run, rows: np.ndarray, suspicious: Sequence[np.ndarray], rng: np.random.Generator
) -> None:
    """Compare suspicious points with their neighbours."""
    quantity = run.quantity
    points = {name: x[rows] for name, x in run.points.items()}
    around = neighbours(points, run.held, run.dtype, _MOVES, rng)
    values = quantity.values(around)
    here = [d.reshape(len(rows), -1) for d in run.borders.values(points)]
    around_values = [d.reshape(len(rows), _MOVES, -1) for d in run.borders.values(around)]
    kinked = np.zeros(len(rows), bool)
    tied = run.borders.met(points)
    for a, b in zip(here, around_values, strict=True):
        kinked |= (np.sign(b) != np.sign(a)[:, None]).any(axis=(1, 2))
    kinked |= tied
    run.kinked[rows] = tied
    apart, off_by = np.zeros(len(rows), bool), np.zeros(len(rows), bool)
    for i, (got, exact) in enumerate(zip(run.got, run.exact, strict=True)):
        g, e = got[rows], exact[rows]
        near = values[i].reshape(len(rows), _MOVES, *e.shape[1:])
        low = np.fmin(np.fmin.reduce(near, axis=1), e)
        high = np.fmax(np.fmax.reduce(near, axis=1), e)
        # Eight neighbours show a part of the effect of rounding in another order.  Beyond the sides
        # of a kink there is nothing to allow for.
        smooth = (~kinked).reshape(-1, *(1,) * (e.ndim - 1))
        margin = np.where(smooth, _WIDER * (high - low), 0.0)
        off = np.maximum(np.maximum(low - margin - g, g - high - margin), 0.0)
        fine = (off <= _allowed(run, i)[rows]) | (g == e)
        passing = off <= _passing(run, i)[rows]
        known = suspicious[i][rows]
        run.loose[i][rows] = ~fine & passing & known
        run.wrong[i][rows] = ~fine & ~passing & known
        # A tie, as in a sort, has neighbours on two sides that no comparison reveals.
        wide = high - low > _passing(run, i)[rows] * _APART
        apart |= wide.reshape(len(rows), -1).any(axis=1)
        off_by |= run.wrong[i][rows].reshape(len(rows), -1).any(axis=1)
    kinked |= apart & off_by
    searched = 0
    for k in np.flatnonzero(kinked):
        searched += _weigh_kink(run, int(rows[k]), bool(tied[k]), searched < _MOST_SEARCHED, rng)


def _weigh_kink(run: Run, row: int, tied: bool, search: bool, rng: np.random.Generator) -> bool:
    """Judge a result at a kink by the hull of the derivatives around, jointly for all inputs.

    Return whether sides had to be searched for.  Without permission to search, a result outside
    of the neighbours' hull is not judged.
    """
    n = len(run.got)
    got = np.concatenate([g[row].ravel() for g in run.got])
    if not np.isfinite(got).all():
        return False
    point = {name: x[row : row + 1] for name, x in run.points.items()}
    hull = Hull(run.quantity, point, run.held, run.dtype, rng)
    exact = np.concatenate([e[row].ravel() for e in run.exact])
    passing = [np.maximum(_passing(run, i)[row], _COARSE * run.scale[i][row]) for i in range(n)]
    unit = np.concatenate([p.ravel() for p in passing])
    inside, searched = hull.contains(got, exact, unit, search)
    if not inside and searched and not search:
        for wrong in run.wrong:
            wrong[row] = False
        return True
    sides = run.sides[row] = hull.sides()
    differs = [~(np.abs(run.got[i][row] - run.exact[i][row]) <= passing[i]) for i in range(n)]
    spread = [np.ptp(np.concatenate([s, e[row : row + 1]]), axis=0) > 0
              for s, e in zip(sides, run.exact, strict=True)]  # fmt: skip
    # A component without spread among the sides is blamed only if no other explains the failure.
    alone = not any((d & s).any() for d, s in zip(differs, spread, strict=True))
    for i in range(n):
        run.wrong[i][row] = False if inside else differs[i] & (spread[i] | alone)
        run.conventions[i][row] = differs[i] & (inside and tied)
    return searched


def _confirm(run: Run) -> None:
    """Evaluate the worst points in digits; the others count as wrong only if all these are."""
    for i, wrong in enumerate(run.wrong):
        flat = wrong.reshape(len(run.groups), -1)
        for group in dict.fromkeys(run.groups[flat.any(axis=1)].tolist()):
            rows = np.flatnonzero(flat.any(axis=1) & (run.groups == group))
            chosen = rows[:: max(1, len(rows) // _MOST_CONFIRMED)][:_MOST_CONFIRMED]
            held = True
            for row in chosen:
                confirmed = _still_wrong(run, i, int(row))
                held &= bool(confirmed.any())
                wrong[row] = confirmed
            if not held:
                wrong[np.setdiff1d(rows, chosen)] = False


def _still_wrong(run: Run, i: int, row: int) -> np.ndarray:
    """Mask the components that the exact value confirms as wrong."""
    precise = as_floats(run.expected(row, i))
    got, wrong = run.got[i][row], run.wrong[i][row]
    largest = float(np.finfo(run.dtype).max)
    beyond = np.abs(precise) > largest
    near = np.abs(got - precise) <= _passing(run, i)[row]
    unknown = np.isnan(precise) | (np.isinf(precise) & ~np.isnan(got))
    run.exact[i][row] = np.where(np.isnan(precise), run.exact[i][row], precise)
    return np.asarray(wrong & ~(beyond | near | unknown))
