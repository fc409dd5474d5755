"""Two derivatives that use no rule: many digits, and differences with an error estimate."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np

from symdiff.display.printing import short
from symdiff.errors import ShapeError
from symdiff.exact.components import primitives
from symdiff.exact.evaluation import plain_value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from numeric.check.derivatives import Order
    from symdiff.graph.expr import Expr

    Array = NDArray[np.float64]

EPS = 2.0**-52

# Many digits --------------------------------------------------------------------------------------

DIGITS = 80


def multiprecision(value: Expr, inputs: Sequence[Expr]) -> Callable[..., object]:
    """Turn a scalar expression of scalar ``inputs`` into a function of mpmath numbers.

    The function computes by components at the current precision.  It is nan where there is no real
    value.  Raises ShapeError for an expression or input that is not scalar.  A call raises
    Unsupported for an op without a definition by components.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> mpmath.nstr(multiprecision(x**2 / 3, [x])(mpmath.mpf(2)), 5)
    '1.3333'
    """
    for x in (value, *inputs):
        if x.shape:
            raise ShapeError(f"multiprecision: {short(x)} has the shape {x.shape}; scalars only")
    (output,) = primitives([value])

    def evaluate(*point: object) -> Any:
        return plain_value(output, dict(zip(inputs, point, strict=True)), {})

    return evaluate


def precise_derivative(value: Callable[..., object], point: Array, order: Order) -> float:
    """Differentiate ``value`` at ``point`` numerically, with 80 digits."""
    counts = tuple(order.count(k) for k in range(len(point)))
    with mpmath.workdps(DIGITS):
        return float(mpmath.diff(value, tuple(map(mpmath.mpf, point.tolist())), counts))


# Differences --------------------------------------------------------------------------------------

LEVELS = 9
FIRST_STEP = 2.0**-5
"""Steps are 2^-5, 2^-6 .. 2^-13 of the variable's range (of the power of two below it)."""

COLUMNS = 3
"""The number of Richardson extrapolations: they remove errors in h^2, h^4, h^6."""

TINY_STEP = 2.0**-20
"""A step relative to the range: sixth differences at such steps are below any rounding error."""


@dataclass(frozen=True)
class Estimated:
    """A derivative and a bound of its error at each point; inf where nothing is known."""

    value: Array
    error: Array


class Differences:
    """Extrapolated central differences of a function given by its values at many points.

    ``value`` maps an array of shape (variables, points) to (points,).  Each derivative has its own
    error estimate: the disagreement of neighbours in the extrapolation, plus the measured rounding
    noise of the values divided by the steps.
    """

    def __init__(self, value: Callable[[Array], Array], points: Array, width: Array) -> None:
        self.value, self.points = value, points
        self.steps = 2.0 ** np.floor(np.log2(width))
        self.centre = value(points)
        self.noise = self._noise()

    def _at(self, *moves: tuple[int, float]) -> Array:
        moved = self.points.copy()
        for variable, distance in moves:
            moved[variable] += distance
        return self.value(moved)

    def _noise(self) -> Array:
        """Measure the rounding error of the values: rms of sixth differences (Hamming 1962)."""
        weights = np.array([(-1) ** k * comb(6, k) for k in range(7)], dtype=float)
        # With unit weights, independent errors pass through the difference with their own size.
        weights /= np.sqrt(weights @ weights)
        noise = np.zeros_like(self.centre)
        for variable, step in enumerate(self.steps):
            row = [self._at((variable, j * TINY_STEP * step)) for j in range(-6, 7)]
            windows = np.stack([weights @ np.stack(row[s : s + 7]) for s in range(7)])
            # fmax: a variable whose window leaves the domain says nothing about the noise.
            noise = np.fmax(noise, np.sqrt((windows**2).mean(axis=0)))
        return noise

    def _rounded(self, values: list[Array], steps: dict[int, float]) -> Array:
        """Return the size to which rounding errors at a stencil are relative.

        It includes the change of the values with relative changes of the variables: an argument
        such as n*theta is rounded before a function takes it.
        """
        change = np.abs(np.subtract(values, self.centre)).max(axis=0)
        relative = sum(np.abs(self.points[i]) / step for i, step in steps.items())
        return np.asarray(np.abs(values).max(axis=0) + change * relative)

    def derivative(self, order: Order) -> Estimated:
        """Return the derivative by one or two variables at every point."""
        raw, noise = zip(
            *(self._level(order, FIRST_STEP / 2**k) for k in range(LEVELS)), strict=True
        )
        return extrapolate(np.stack(raw), np.stack(noise))

    def _level(self, order: Order, fraction: float) -> tuple[Array, Array]:
        """Return the central difference at one step, and the noise in it."""
        i, j = order[0], order[-1]
        h, k = (fraction * float(self.steps[variable]) for variable in (i, j))
        if len(order) == 1:
            values = [self._at((i, h)), self._at((i, -h))]
            weights, steps = [1, -1], 2 * h
        elif i == j:
            # Second differences in one variable need the centre, which is known.
            values = [self._at((i, h)), self.centre, self._at((i, -h))]
            weights, steps = [1, -2, 1], h * h
        else:
            values = [self._at((i, s * h), (j, t * k)) for s in (1, -1) for t in (1, -1)]
            weights, steps = [1, -1, -1, 1], 4 * h * k
        one = np.maximum(self.noise, EPS * self._rounded(values, {i: h, j: k}))
        # (4^m + 1)/(4^m - 1) for m = 1, 2, 3: the columns together enlarge noise at most twofold.
        return np.tensordot(weights, values, 1) / steps, 2 * one * np.abs(weights).sum() / steps


def extrapolate(raw: Array, noise: Array) -> Estimated:
    """Extrapolate ``raw[k]`` at steps h/2^k by Richardson's method; errors are even in h.

    ``T_m[k] = T_(m-1)[k+1] + (T_(m-1)[k+1] - T_(m-1)[k]) / (4^m - 1)``.  Each point takes the
    T_m[k] with the least estimated error, m >= 2.  The estimate is the noise at the finest step
    plus the largest of four distances: to both parents (whose errors are a power of h larger),
    between these, and to the entry at twice the step.  A single distance may be small by accident.

    >>> estimated = extrapolate(np.array([[1 + 4.0**-k] for k in range(6)]), np.zeros((6, 1)))
    >>> float(estimated.value[0]), float(estimated.error[0]) < 0.01
    (1.0, True)
    """
    best, error = np.full(raw.shape[1:], np.nan), np.full(raw.shape[1:], np.inf)
    column = raw
    for m in range(1, COLUMNS + 1):
        parents = column
        column = parents[1:] + np.diff(parents, axis=0) / (4.0**m - 1)
        for k in range(1, len(column) if m > 1 else 0):
            distances = [
                column[k] - parents[k],
                column[k] - parents[k + 1],
                parents[k + 1] - parents[k],
                column[k] - column[k - 1],
            ]
            estimate = np.abs(distances).max(axis=0) + noise[k + m]
            better = estimate < error  # never where it is nan: the steps left the domain
            best, error = np.where(better, column[k], best), np.where(better, estimate, error)
    return Estimated(best, error)
