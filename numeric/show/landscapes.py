"""Derivatives of a function of two numbers: its flat points, and its kinks and jumps."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

import symdiff as sd
from numeric.show import pictures
from numeric.show.subjects import Slice, spelled
from symdiff.calculus.kinks import differences, kinks_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from symdiff.graph.expr import Expr

    Ends = tuple[tuple[float, float], tuple[float, float]]

POINTS = 201
"""Cells of the grid of contours, along each axis."""

STARTS, STEPS = 24, 40
"""Starts of Newton's method along each axis, and its number of steps."""

BESIDE = 1e-3
"""The distance from a line at which values are compared, relative to the range.

It exceeds the error of the line.
"""

SETTLED = 1e-9
"""The last step of Newton's method at a critical point, relative to the range."""

FLAT = 1e-7
"""An eigenvalue that counts as 0, relative to the larger one, or to their usual size."""


@dataclass(frozen=True)
class Field:
    """A function of two numbers, with its derivatives."""

    f: Expr
    variables: tuple[Expr, Expr]
    values: Mapping[Expr, np.ndarray]
    ends: Ends
    point: tuple[float, float] | None

    def slice(self, *outputs: Expr) -> Slice:
        """Return expressions as functions of the two numbers."""
        return Slice(outputs, self.variables, self.values)

    @property
    def gradient(self) -> tuple[Expr, Expr]:
        """The derivatives by the two variables."""
        x, y = self.variables
        return sd.diff(self.f, x), sd.diff(self.f, y)

    def inside(self, x: np.ndarray, y: np.ndarray) -> NDArray[np.bool_]:
        """Mask the points at which the function has a value; elsewhere no derivative has one."""
        return np.asarray(np.isfinite(self.slice(self.f)(x, y)[0][0]))

    @property
    def curvature(self) -> Slice:
        """The gradient, and the second derivatives by x twice, x and y, y twice."""
        (x, y), (by_x, by_y) = self.variables, self.gradient
        return self.slice(by_x, by_y, sd.diff(by_x, x), sd.diff(by_x, y), sd.diff(by_y, y))

    def borders(self, x: np.ndarray, y: np.ndarray) -> list[np.ndarray]:
        """Return the differences of all comparisons in the formula and its gradient, at points."""
        outputs = [self.f, *self.gradient]
        compared = differences([*outputs, *(kink.hit for kink in kinks_in(outputs))])
        return [row for rows in self.slice(*compared)(x, y) for row in rows] if compared else []

    @property
    def names(self) -> tuple[str, str]:
        """The variables, as they are written."""
        a, b = (pictures.fitted(spelled(x, self.values), 1, 24) for x in self.variables)
        return a, b

    def grid(self, count: int, *, inside: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Return the corners or centres of ``count`` cells along each axis, as square arrays."""
        axes = [np.linspace(low, high, 2 * count + 1) for low, high in self.ends]
        a, b = np.meshgrid(*(x[int(inside) :: 2] for x in axes))
        return a, b


# Critical points ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Critical:
    """A point at which the gradient is 0, and its kind."""

    kind: str  # minimum, maximum, saddle or degenerate point
    x: float
    y: float


def critical(field: Field) -> list[Critical]:
    """Return the critical points that Newton's method finds from the points of a grid."""
    curvature = field.curvature
    x, y = (v.ravel() for v in field.grid(STARTS, inside=True))
    size = [high - low for low, high in field.ends]
    with np.errstate(all="ignore"):
        usual = _larger(curvature, x, y)
        step = np.full(len(x), np.inf)
        for _ in np.arange(STEPS):
            gx, gy, a, b, c = (v[0] for v in curvature(x, y))
            det = a * c - b * b
            dx, dy = (c * gx - b * gy) / det, (a * gy - b * gx) / det
            step = np.maximum(np.abs(dx) / size[0], np.abs(dy) / size[1])
            # Limit each step to a fifth of the range, so that few starts leave it.
            shorter = np.minimum(1, 0.2 / np.maximum(step, 1e-300))
            x, y = x - shorter * dx, y - shorter * dy
        inside = (step <= SETTLED) & field.inside(x, y)
        for t, (low, high) in ((x, field.ends[0]), (y, field.ends[1])):
            inside &= (t >= low) & (t <= high)
        # The gradient at a kink is a convention, so a 0 there does not make a critical point.
        for difference in field.borders(x, y):
            inside &= ~(np.abs(difference) <= SETTLED * largest(difference))
    points: list[Critical] = []
    for p, q in sorted(zip(x[inside].tolist(), y[inside].tolist(), strict=True)):
        a, b = _rounded(p, size[0]), _rounded(q, size[1])
        distances = (max(abs(c.x - a) / size[0], abs(c.y - b) / size[1]) for c in points)
        if all(d > 1e-6 for d in distances):
            points.append(Critical(_classified(curvature, a, b, usual), a, b))
    return points


def _rounded(t: float, size: float) -> float:
    """Round a number to the digits that Newton's method gives; make -0.0 to 0.0."""
    digits = 11 - math.floor(math.log10(size))
    return round(t, digits) + 0.0


def _larger(curvature: Slice, x: np.ndarray, y: np.ndarray) -> float:
    """Return the usual size of the larger eigenvalue."""
    _, _, a, b, c = (v[0] for v in curvature(x, y))
    size = np.abs(a + c) / 2 + np.hypot((a - c) / 2, b)
    known = size[np.isfinite(size)]
    return float(np.median(known)) if len(known) else 0.0


def _classified(curvature: Slice, x: float, y: float, usual: float) -> str:
    _, _, a, b, c = (float(v[0, 0]) for v in curvature([x], [y]))
    low, high = np.linalg.eigvalsh([[a, b], [b, c]]).tolist()
    if min(abs(low), abs(high)) <= FLAT * max(abs(low), abs(high), usual):
        return "degenerate point"
    return "minimum" if low > 0 else "maximum" if high < 0 else "saddle"


# Kinks and jumps ----------------------------------------------------------------------------------


def broken(field: Field) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield lines along which the function or its gradient jumps; nan where it does not."""
    from contourpy import contour_generator

    x, y = field.grid(POINTS)
    size = np.array([high - low for low, high in field.ends])
    both = field.slice(field.f, *field.gradient)
    for difference in field.borders(x.ravel(), y.ravel()):
        lines = contour_generator(x, y, np.ma.masked_invalid(difference.reshape(x.shape)))
        for line in map(np.asarray, lines.lines(0.0)):
            along = np.gradient(line / size, axis=0)
            with np.errstate(all="ignore"):
                across = np.stack([-along[:, 1], along[:, 0]], axis=1)
                across *= BESIDE * size / np.linalg.norm(along, axis=1, keepdims=True)
                jumps = np.zeros(len(line), bool)
                sides = [both(*(line + k * across).T) for k in (1, -1, 2, -2)]
                for a, b, c, d in zip(*sides, strict=True):
                    one, two = np.abs(a - b)[0], np.abs(c - d)[0]
                    # A continuous function changes twice as much at twice the distance.
                    scale = largest(a)
                    jumps |= (two < 1.5 * one) & (one > BESIDE * BESIDE * scale)
            if jumps.any():
                yield np.where(jumps, line[:, 0], np.nan), np.where(jumps, line[:, 1], np.nan)


def largest(values: np.ndarray) -> float:
    """Return the largest absolute value of finite values."""
    return float(np.abs(values[np.isfinite(values)]).max(initial=0.0))
