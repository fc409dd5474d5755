"""Extrapolated differences that know how far they are off, for functions of one number.

Differences at steps ``r t_j``, with Chebyshev points t_j, are extrapolated to step 0 by the
polynomial through all of them, as Richardson's extrapolation does (the extrapolated central
differences are the derivative of the interpolating polynomial).  The Chebyshev points make the
coefficients of that polynomial readable: for an analytic function they fall geometrically until
they reach the rounding errors, where they stay; for anything else they fall slowly (Aurentz and
Trefethen, "Chopping a Chebyshev series", 2017).  So the last coefficients say, without another
evaluation, how far the derivative may be off, by truncation and by rounding together.  This is
done at radii r that shrink eightfold each time, and the best estimate is taken of those that no
smaller radius contradicts.
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
"""Of the interpolating polynomials: ``DEGREE + 1`` values at each radius."""

TAIL = 6
"""The last coefficients, of which the largest is the size of what the polynomial leaves out."""

RATIO = 8.0
"""Of each radius to the next."""

FIRST = 0.7324
"""The largest radius but two, over max(1, |x|): no binary fraction, lest steps be periods."""

FINEST = 2.0**-40
"""The smallest radius, over |x| or over 1."""

RESOLVED = 2.0**8
"""The least radius, in units in the last place of x, which has to tell the points apart."""

SAFETY = 2.0
"""Error estimates are enlarged by it: the size of a few coefficients is small by accident, too."""

PLATEAU = 8.0
"""Coefficients within such a factor at three radii, of a ratio of 64, are rounding errors ..."""

SMOOTH = 1e-5
"""... if they are so small beside the change of the values; else they may be jumps."""

FALLS = 0.5
"""An error that shrinks by less while the radius shrinks 64-fold never will: there is a kink."""

ROUNDINGS = 1000
"""How many unit roundoffs a derivative under test may be off by, relative to its terms."""

TELLS = 4e-4
"""An error of a twentieth of a per cent is told if what is allowed is less than this."""

NOTHING = 1e-300
"""A derivative of this size is 0."""

SUFFICIENT = 1e-6
"""A relative error that needs no further radius; a twentieth of a per cent is 500 times more."""

OUTSIDE = (ArithmeticError, ValueError)
"""What a function raises outside of its domain (``numpy.linalg.LinAlgError`` is a ValueError)."""

_CENTRAL = np.cos(np.pi * np.arange(DEGREE, -1, -1) / DEGREE)
_CENTRAL[DEGREE // 2] = 0.0
POINTS = {"central": _CENTRAL, "forward": (1 + _CENTRAL) / 2, "backward": (_CENTRAL - 1) / 2}
"""The steps of each method, over the radius."""


def unit_roundoff(dtype: Any) -> float:
    """Half the distance from 1 to the next number of a dtype."""
    return float(np.finfo(dtype).eps) / 2


@dataclass(frozen=True)
class Estimate:
    """A derivative and a bound of its error, for each component; inf where nothing can be said."""

    value: Array
    error: Array
    settles: NDArray[np.bool_]  # whether the error goes down with the radius, to rounding


@dataclass(frozen=True)
class Fit:
    """What the values at one radius say: arrays of one length, and ``gain``.

    ``rounding`` bounds what rounding of the values does to the derivative ``value``; ``tail`` is
    the size of the last coefficients, ``gain`` what a coefficient is multiplied by at most, added
    up; ``others`` is the tail without what the value at the point itself has put into it; ``span``
    is how far the values lie apart.
    """

    value: Array
    rounding: Array
    tail: Array
    others: Array
    span: Array
    gain: float

    def error(self, noise: Array | float = 0.0) -> Array:
        """The bound, if coefficients are known to be uncertain by ``noise``."""
        return SAFETY * (self.rounding + np.maximum(self.tail, noise) * self.gain)

    @property
    def rounded(self) -> NDArray[np.bool_]:
        """Where rounding dominates, so that smaller steps could only harm."""
        return np.asarray(self.tail * self.gain <= 4 * self.rounding)


def fitted(values: Array, steps: Array, unit: object, tiny: Any, order: int = 1) -> Fit:
    """The derivative at step 0 of functions given by ``values`` (points, functions) at ``steps``.

    The values are rounded by ``unit``, and those below ``tiny`` may be anything as small.  Where
    one of them is not finite, nothing is known.
    """
    usable = np.isfinite(values).all(axis=0)
    values = np.where(usable, values, 0.0)
    low, half = steps.min(), (steps.max() - steps.min()) / 2
    basis = chebyshev.chebvander((steps - low) / half - 1, DEGREE)
    slopes = chebyshev.chebval(-low / half - 1, chebyshev.chebder(np.eye(DEGREE + 1), order))
    slopes /= half**order
    largest = np.maximum(np.abs(values).max(axis=0), tiny)
    values = values / largest  # weights may be so large that their products overflow
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
    """The radii about x, falling: around 1 and around |x|, down to what the dtype of x resolves."""
    size = abs(x) or 1.0
    largest = max(size, 1.0)
    found, radius = [], FIRST * largest * RATIO**2
    while radius > FINEST * min(size, 1.0) and radius >= RESOLVED * spacing:
        if radius > FINEST * largest or radius <= FIRST * size * RATIO**2:
            found.append(radius)
        radius /= RATIO
    return found


def noises(fits: Sequence[Fit]) -> list[Array]:
    """The rounding errors within functions, by what the larger radii know, at radii that fall.

    Rounding errors within a function, such as those of its argument, show at large radii, as
    coefficients that no longer fall with the radius.  At very small ones they may not: the function
    is a staircase, and all points are on one stair.  A feature about the point that is too narrow
    for the radius looks likewise, but for its being seen at the point alone.
    """
    noise = np.zeros_like(fits[0].tail)
    found = []
    for i, fit in enumerate(fits):
        if i > 1:
            lately = [wider.others for wider in fits[i - 2 : i + 1]]
            least, most = np.min(lately, axis=0), np.max(lately, axis=0)
            stays = (most < SMOOTH * fits[i - 2].span) & (most <= PLATEAU * least)
            noise = np.where(stays, np.maximum(noise, fit.others), noise)
        found.append(noise)
    return found


def best(fits: Sequence[Fit]) -> Estimate:
    """The value of least error among those that are consistent with all of smaller radii.

    ``fits`` are at radii that fall.  A larger radius may step over what smaller ones see.
    """
    shape = fits[0].value.shape
    low, high = np.full(shape, -np.inf), np.full(shape, np.inf)
    value, least = np.full(shape, np.nan), np.full(shape, np.inf)
    going = np.ones(shape, bool)
    noise = noises(fits)
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
    """Functions of one number, about a point.

    ``function`` maps a number to a one-dimensional array of values, with nan where they are not
    defined.  The number is of ``dtype``, the values are rounded to ``rounded``, a dtype or one for
    each of them.
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
        """The two-sided difference at a step."""
        below, above = (self.kind.type(self.x + h) for h in (-step, step))
        change = np.asarray(self.function(above)) - self.function(below)
        return np.asarray(change / (float(above) - float(below)))

    def beside(self, sign: int) -> Array:
        """The values as near at one side as the dtype allows."""
        return np.asarray(self.function(self.kind.type(self.x + sign * self.radii[-1])))

    def fit(self, radius: float, method: str, order: int = 1) -> Fit:
        """The derivative by values within one radius."""
        places = (self.x + radius * POINTS[method]).astype(self.kind)
        steps = places.astype(float) - self.x
        values = np.empty((len(places), *self.centre.shape))
        for row, (place, step) in enumerate(zip(places, steps, strict=True)):
            values[row] = self.function(place) if step else self.centre
        return fitted(values, steps, self.unit, self.tiny, order)

    def estimate(self, method: str = "central", order: int = 1, lazy: bool = False) -> Estimate:
        """The best estimate; ``lazy`` stops at the first radius that suffices and is confirmed."""
        if not np.isfinite(self.centre).any():
            nothing = np.full_like(self.centre, np.nan)
            return Estimate(nothing, np.full_like(nothing, np.inf), np.zeros(nothing.shape, bool))
        fits: dict[float, Fit] = {}
        enough = False
        for radius in [*self.radii[2:], *self.radii[1::-1]]:
            fit = fits[radius] = self.fit(radius, method, order)
            if lazy and enough:
                found = best([fits[r] for r in sorted(fits, reverse=True)])
                if np.all((found.error <= SUFFICIENT * np.abs(found.value)) | fit.rounded):
                    return found
            enough = bool(np.all((fit.error() <= SUFFICIENT * np.abs(fit.value)) | fit.rounded))
        return best([fits[r] for r in sorted(fits, reverse=True)])
