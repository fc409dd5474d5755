"""Extrapolated differences that bound their own error, for functions of one number.

Differences at steps ``r t_j``, with Chebyshev points t_j, are extrapolated to step 0 by the
polynomial through all of them, as in Richardson's extrapolation.  (The extrapolated central
differences are the derivative of the interpolating polynomial.)

With Chebyshev points, the coefficients of that polynomial show its error.  For an analytic function
they fall geometrically to the level of the rounding errors, and stay there.  For other functions
they fall slowly (Aurentz and Trefethen, "Chopping a Chebyshev series", 2017).  So the last
coefficients bound the error of the derivative, by truncation and by rounding together, without
another evaluation.  This is done at radii r that shrink eightfold.  The result is the best estimate
that no smaller radius contradicts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.polynomial import chebyshev

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

DEGREE = 16
"""The degree of the interpolating polynomials: ``DEGREE + 1`` values at each radius."""

TAIL = 6
"""The number of last coefficients; the largest one measures what the polynomial leaves out."""

RATIO = 8.0
"""The ratio of each radius to the next."""

FIRST = 0.7324
"""The third largest radius, relative to max(1, |x|): no binary fraction, lest steps be periods."""

FINEST = 2.0**-40
"""The smallest radius, relative to |x| or to 1."""

RESOLVED = 2.0**8
"""The smallest radius, in units in the last place of x, that keeps the points distinct."""

SAFETY = 2.0
"""A factor on error estimates, because a few coefficients may be small by accident."""

PLATEAU = 8.0
"""Coefficients within this factor at three radii, of a ratio of 64, are rounding errors ..."""

SMOOTH = 1e-5
"""... if they are this small compared with the change of the values; else they may be jumps."""

FALLS = 0.5
"""At a kink the error shrinks by less than this factor while the radius shrinks 64-fold."""

ROUNDINGS = 1000
"""The error that a derivative under test may have, in unit roundoffs relative to its terms."""

TELLS = 4e-4
"""The largest tolerance at which an error of a twentieth of a per cent is still found."""

NOTHING = 1e-300
"""A derivative of this size counts as 0."""

SUFFICIENT = 1e-6
"""A relative error that needs no smaller radius: 500 times less than a twentieth of a per cent."""

OUTSIDE = (ArithmeticError, ValueError)
"""Errors of a function outside of its domain (``numpy.linalg.LinAlgError`` is a ValueError)."""

_CENTRAL = np.cos(np.pi * np.arange(DEGREE, -1, -1) / DEGREE)
_CENTRAL[DEGREE // 2] = 0.0
POINTS = {"central": _CENTRAL, "forward": (1 + _CENTRAL) / 2, "backward": (_CENTRAL - 1) / 2}
"""The steps of each method, relative to the radius."""


def unit_roundoff(dtype: Any) -> float:
    """Return half the distance from 1 to the next number of a dtype."""
    return float(np.finfo(dtype).eps) / 2


@dataclass(frozen=True)
class Estimate:
    """Derivatives and bounds of their errors, by component; inf where nothing is known."""

    value: Array
    error: Array
    settles: NDArray[np.bool_]  # whether the error falls with the radius, down to rounding


@dataclass(frozen=True)
class Fit:
    """Derivatives and error terms from values at one radius: arrays of one length, and ``gain``.

    ``rounding`` bounds the effect of rounded values on the derivative ``value``.  ``tail`` is the
    size of the last coefficients.  ``gain`` adds up the largest factors of the coefficients.
    ``others`` is the tail without the contribution of the value at the point itself.  ``span`` is
    the range of the values.
    """

    value: Array
    rounding: Array
    tail: Array
    others: Array
    span: Array
    gain: float

    def error(self, noise: Array | float = 0.0) -> Array:
        """Return the bound if coefficients are uncertain by ``noise``."""
        return SAFETY * (self.rounding + np.maximum(self.tail, noise) * self.gain)

    @property
    def rounded(self) -> NDArray[np.bool_]:
        """Mask components where rounding dominates, so that smaller steps do only harm."""
        return np.asarray(self.tail * self.gain <= 4 * self.rounding)


def fitted(values: Array, steps: Array, unit: object, tiny: Any, order: int = 1) -> Fit:
    """Differentiate functions at step 0, given ``values`` (points, functions) at ``steps``.

    The values are rounded by ``unit``; values below ``tiny`` are uncertain by ``tiny``.  If one of
    a function's values is not finite, its error is infinite.
    """
    # One value that is not finite would spoil the coefficients of all functions.
    usable = np.isfinite(values).all(axis=0)
    values = np.where(usable, values, 0.0)
    low, half = steps.min(), (steps.max() - steps.min()) / 2
    basis = chebyshev.chebvander((steps - low) / half - 1, DEGREE)
    slopes = chebyshev.chebval(-low / half - 1, chebyshev.chebder(np.eye(DEGREE + 1), order))
    slopes /= half**order
    largest = np.maximum(np.abs(values).max(axis=0), tiny)
    values = values / largest  # large weights times large values may overflow
    # The coefficients of a spike at the point itself: subtracting them leaves ``others``.
    alone = (np.arange(len(steps)) == np.argmin(np.abs(steps))).astype(float)
    last = np.linalg.solve(basis, np.column_stack([values, alone]))[-TAIL:]
    weights, last, centre = np.linalg.solve(basis.T, slopes), last[:, :-1], last[:, -1]
    most = np.argmax(np.abs(centre))
    others = last - np.outer(centre / centre[most], last[most])
    tail, others = (np.abs(c).max(axis=0) for c in (last, others))
    with np.errstate(over="ignore"):
        return Fit(
            (weights @ values) * largest,
            unit * np.abs(weights).sum() * largest + tiny,
            np.where(usable, tail * largest, np.inf),
            np.where(usable, others * largest, np.inf),
            np.ptp(values, axis=0) * largest,
            float(np.abs(slopes).sum()),
        )


def radii(x: float, spacing: float) -> list[float]:
    """Return the radii about x, falling: around 1 and |x|, down to the resolution of x's dtype."""
    size = abs(x) or 1.0
    largest = max(size, 1.0)
    kept_radii, radius = [], FIRST * largest * RATIO**2
    # For tiny |x| skip the radii between the scales of 1 and of |x|, where nothing changes.
    while radius > FINEST * min(size, 1.0) and radius >= RESOLVED * spacing:
        if radius > FINEST * largest or radius <= FIRST * size * RATIO**2:
            kept_radii.append(radius)
        radius /= RATIO
    return kept_radii


def noises(fits: Sequence[Fit]) -> list[Array]:
    """Estimate the rounding errors within functions at falling radii, from the larger radii.

    Rounding errors within a function, such as those of its argument, show at large radii: their
    coefficients no longer fall with the radius.  At very small radii they may not show, because the
    function is a staircase and all points are on one stair.  A feature too narrow for the radius
    looks the same, but only the value at the point shows it.
    """
    noise = np.zeros_like(fits[0].tail)
    levels = []
    for i, fit in enumerate(fits):
        if i > 1:
            lately = [wider.others for wider in fits[i - 2 : i + 1]]
            least, most = np.min(lately, axis=0), np.max(lately, axis=0)
            stays = (most < SMOOTH * fits[i - 2].span) & (most <= PLATEAU * least)
            # Noise at a radius also holds at smaller ones, where a staircase may hide it.
            noise = np.where(stays, np.maximum(noise, fit.others), noise)
        levels.append(noise)
    return levels


def best(fits: Sequence[Fit]) -> Estimate:
    """Return the value of least error among those that all smaller radii confirm.

    ``fits`` are at falling radii.  A larger radius may step over features that smaller ones show.
    """
    shape = fits[0].value.shape
    low, high = np.full(shape, -np.inf), np.full(shape, np.inf)
    value, least = np.full(shape, np.nan), np.full(shape, np.inf)
    going = np.ones(shape, bool)
    noise = noises(fits)
    # Begin with the smallest radius: it steps over no feature that a larger one misses.
    for fit, rounding in zip(fits[::-1], noise[::-1], strict=True):
        error = fit.error(rounding)
        known = np.isfinite(error) & np.isfinite(fit.value)
        with np.errstate(invalid="ignore"):
            going &= ~known | ((fit.value - error <= high) & (fit.value + error >= low))
        taken = going & known
        low = np.where(taken, np.maximum(low, fit.value - error), low)
        high = np.where(taken, np.minimum(high, fit.value + error), high)
        better = taken & (error < least)
        value, least = np.where(better, fit.value, value), np.where(better, error, least)
    last, wider = fits[-1], fits[max(len(fits) - 3, 0)]
    with np.errstate(invalid="ignore"):
        settles = last.rounded | (last.tail <= PLATEAU * noise[-1])
        settles |= last.tail * last.gain < FALLS * wider.tail * wider.gain
    return Estimate(value, least, settles)


class Line:
    """Functions of one number, around a point.

    ``function`` maps a number to a one-dimensional array of values, with nan where they are
    undefined.  The number has the dtype ``dtype``.  The values are rounded to ``rounded``, one
    dtype or a list with one for each value.
    """

    def __init__(
        self,
        function: Callable[[np.floating], Array],
        x: float,
        dtype: Any = np.float64,
        rounded: object = np.float64,
    ) -> None:
        self.function, self.x = function, float(x)
        self.kind = np.dtype(dtype)
        kinds = rounded if isinstance(rounded, list) else [rounded]
        self.unit = np.array([unit_roundoff(kind) for kind in kinds])
        self.tiny = np.array([float(np.finfo(kind).tiny) for kind in kinds])
        self.centre = np.asarray(function(self.kind.type(x)), float)
        self.radii = radii(self.x, float(np.spacing(self.kind.type(abs(x)))))

    def difference(self, step: float) -> Array:
        """Return the two-sided difference at a step."""
        below, above = (self.kind.type(self.x + h) for h in (-step, step))
        # Divide by the step as rounded, not by the step that was asked for.
        change = np.asarray(self.function(above)) - self.function(below)
        return np.asarray(change / (float(above) - float(below)))

    def beside(self, sign: int) -> Array:
        """Return the values as close to the point, on one side, as the dtype allows."""
        return np.asarray(self.function(self.kind.type(self.x + sign * self.radii[-1])))

    def fit(self, radius: float, method: str, order: int = 1) -> Fit:
        """Return the derivative from values within one radius."""
        places = (self.x + radius * POINTS[method]).astype(self.kind)
        steps = places.astype(float) - self.x
        values = np.empty((len(places), *self.centre.shape))
        for row, (place, step) in enumerate(zip(places, steps, strict=True)):
            # The value at the point is known already.
            values[row] = self.function(place) if step else self.centre
        return fitted(values, steps, self.unit, self.tiny, order)

    def estimate(self, method: str = "central", order: int = 1, lazy: bool = False) -> Estimate:
        """Return the best estimate; ``lazy`` stops at the first good radius that is confirmed."""
        if not np.isfinite(self.centre).any():
            nothing = np.full_like(self.centre, np.nan)
            return Estimate(nothing, np.full_like(nothing, np.inf), np.zeros(nothing.shape, bool))
        fits: dict[float, Fit] = {}
        enough = False
        # Start two radii down: the largest ones often leave the domain, so they come last.
        for radius in [*self.radii[2:], *self.radii[1::-1]]:
            fit = fits[radius] = self.fit(radius, method, order)
            if lazy and enough:
                result = best([fits[r] for r in sorted(fits, reverse=True)])
                if np.all((result.error <= SUFFICIENT * np.abs(result.value)) | fit.rounded):
                    return result
            enough = bool(np.all((fit.error() <= SUFFICIENT * np.abs(fit.value)) | fit.rounded))
        return best([fits[r] for r in sorted(fits, reverse=True)])
