"""Derivatives of plain Python functions from their values alone."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from numeric.check.lines import OUTSIDE, Line, unit_roundoff
from numeric.html_tables import page, paragraph, table
from symdiff.graph.arguments import boolean, described, door, reals, unfit

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

SHOWN = 20
"""The largest number of elements that a notebook lists."""

SETTLED = 1e-4
"""The relative error above which ``derivative`` tries each side: there may be a kink."""


@dataclass(frozen=True)
class Derivative:
    """A derivative computed from values alone: ``value``, and ``error``, a bound of its error.

    Both are numbers for a scalar function of a number.  Else they are arrays of the shape of the
    result followed by the shape of the argument.  ``method`` has the same shape and names the
    method of each element: "complex step", "central", "forward" or "backward".  Where no derivative
    exists or can be computed, ``error`` is inf and ``value`` nan.  At a kink ``value`` is the mean
    of the slopes at both sides, which are in ``sides`` (nan elsewhere).
    """

    value: Any
    error: Any
    method: Any
    sides: tuple[Any, Any]

    def __str__(self) -> str:
        if np.ndim(self.value):
            return f"{self.value}\n± {self.error}\nby {self.method}"
        text = f"{self.value!r} ± {self.error:.1e}, {self.method}"
        if np.isfinite(self.error) or not np.isfinite(self.sides).all():
            return text
        return f"{text}: a kink, with slopes {self.sides[0]:.6g} and {self.sides[1]:.6g}"

    def _repr_html_(self) -> str:
        if not np.ndim(self.value):
            return page(paragraph(self))
        flat = [np.ravel(x) for x in (self.value, self.error, self.method)]
        places = list(np.ndindex(np.shape(self.value)))[:SHOWN]
        rows = [
            [f"[{', '.join(map(str, at))}]", repr(float(value)), f"{error:.1e}", method]
            for at, value, error, method in zip(places, *flat, strict=False)
        ]
        parts = [table(rows, ("", "derivative", "±", "by"), named=True)]
        more = len(flat[0]) - len(rows)
        return page(*parts, *([paragraph(f"and {more} more")] if more else []))


@door
def derivative(fn: Callable[[Any], Any], x: object, *, complex_step: bool = True) -> Derivative:
    """Return the derivative of a plain Python function at ``x``, and a bound of its error.

    Args:
        fn: a function of a number or an array whose result is a number or an array; only its
            values are used.
        x: the point; a float, or an array of floats.
        complex_step: also call ``fn`` with complex arguments.

    The result is the derivative of a function of a number, the gradient of a scalar function of an
    array, and the Jacobian of any other function.  Its shape is that of the function's result
    followed by that of ``x``.  (An elementwise function of an array has a diagonal Jacobian.)

    - *Central*: central differences at steps of up to r, extrapolated to step 0, at radii r that
      shrink eightfold.  The best one is chosen whose error estimate contradicts no other.
    - *Complex step*: ``Im f(x + ih) / h`` with tiny h has no difference, so it keeps all digits,
      but
      only for analytic functions (Squire and Trapp, "Using complex variables to estimate
      derivatives of real functions", 1998).  It is used where it agrees with the differences within
      their error, which stays the bound.  conj, abs, real and the like are not analytic, but raise
      no error.
    - *Forward, backward*: where the function is defined at one side only.  At the other it gives
      nan
      or inf, or raises ValueError or ArithmeticError.

    The error is inf at a kink, at a jump, and where the slope is infinite.  Jumps of less than 1e-5
    of the function's change within some radius count as rounding errors.

    Raises any error of ``fn`` at ``x``, and TypeError for a result that is not real.

    >>> import math
    >>> slope = derivative(math.sin, 1.0)
    >>> abs(slope.value - math.cos(1.0)) <= slope.error < 1e-12, slope.method
    (True, 'central')
    >>> derivative(np.sin, 1.0).method, derivative(math.sqrt, 0.5).error < 1e-12
    ('complex step', True)
    >>> derivative(lambda x: max(x, 0.0), 0.0).error, derivative(math.sqrt, 0.0).error
    (inf, inf)
    >>> derivative(lambda v: v @ v, np.array([1.0, 2.0])).value.tolist()
    [2.0, 4.0]
    """
    by_steps = boolean("derivative", "complex_step", complex_step)
    function = _Function(fn, x)
    point = function.point
    rows = []
    # Trial points may overflow or leave the domain: their values become nan without a warning.
    with np.errstate(all="ignore"):
        for place in np.ndindex(point.shape):
            values = partial(function.values, place)
            line = Line(values, float(point[place]), point.dtype, function.rounded)
            row = _by_differences(line)
            if by_steps:
                row = _by_complex_step(row, line.x, partial(function.moved, place))
            rows.append(row)
    shape = function.result.shape + point.shape
    parts = [
        np.stack([row[k] for row in rows], axis=-1).reshape(shape) if rows else np.zeros(shape)
        for k in range(5)
    ]
    value, error, method, left, right = parts if shape else [part.item() for part in parts]
    return Derivative(value, error, method, (left, right))


class _Function:
    """A function of real numbers at a point, with one of the numbers changed on demand."""

    def __init__(self, fn: Callable[[Any], Any], x: object) -> None:
        point = reals("derivative", "x", x).copy()
        if point.dtype.kind == "b":
            raise unfit("derivative", "x", "an array of real numbers", x)
        if not np.isfinite(point).all():
            raise ValueError(f"derivative: the point is not finite: {described(x)}")
        self.fn, self.point = fn, point if point.dtype.kind == "f" else point.astype(float)
        # pass plain numbers, as the user did
        self.bare = not isinstance(x, np.ndarray | np.generic)
        here = self.point.copy()[()]
        self.result = np.asarray(fn(here.item() if self.bare and not point.ndim else here))
        if self.result.dtype.kind not in "fiub":
            kind = self.result.dtype
            raise TypeError(f"derivative: the function's value must be real, not {kind}")

    @property
    def rounded(self) -> np.dtype:
        """The dtype to which values are rounded."""
        kind = self.result.dtype if self.result.dtype.kind == "f" else np.dtype(np.float64)
        return max(kind, self.point.dtype, key=unit_roundoff)

    def moved(self, place: tuple[int, ...], value: Any) -> Any:
        """Call the function with one number replaced."""
        if not self.point.ndim:
            return self.fn(value.item() if self.bare else value)
        moved = self.point.astype(np.result_type(self.point, np.asarray(value)))
        moved[place] = value
        return self.fn(moved)

    def values(self, place: tuple[int, ...], value: object) -> Array:
        """Return the function's values as a flat array; nan outside of its domain."""
        try:
            result = np.asarray(self.moved(place, value))
        except OUTSIDE:
            return np.full(self.result.size, np.nan)
        if result.dtype.kind == "c":  # a negative number to a fractional power is complex in Python
            return np.full(self.result.size, np.nan)
        return result.astype(float).ravel()


_Row: TypeAlias = "tuple[Array, Array, np.ndarray, Array, Array]"
"""Value, error, method, left and right slope of each result, by one variable."""


def _by_differences(line: Line) -> _Row:
    """Return central differences; where they do not settle, the one-sided ones if they do."""
    central = line.estimate()
    value, error = central.value, np.where(central.settles, central.error, np.inf)
    method = np.full(value.shape, "central", dtype="<U12")
    with np.errstate(invalid="ignore"):
        unsettled = ~(error <= SETTLED * np.abs(value))
    if not unsettled.any():
        return value, error, method, *np.full((2, *value.shape), np.nan)
    left, right = (line.estimate(side) for side in ("backward", "forward"))
    settled = [unsettled & side.settles & np.isfinite(side.error) for side in (left, right)]
    with np.errstate(invalid="ignore"):
        differ = np.abs(right.value - left.value) > left.error + right.error
        # The slopes must differ by more than their errors, and fit better than one slope does.
        kink = settled[0] & settled[1] & differ & (np.maximum(left.error, right.error) <= error)
    slopes = [np.where(kink, side.value, np.nan) for side in (left, right)]
    value = np.where(kink, (slopes[0] + slopes[1]) / 2, np.where(np.isinf(error), np.nan, value))
    error = np.where(kink, np.inf, error)
    for side, usable, beyond in ((left, settled[0], 1), (right, settled[1], -1)):
        # Beyond an edge of the domain there are no values, so the other side is the derivative.
        edge = usable & ~np.isfinite(line.beside(beyond))
        value, error = np.where(edge, side.value, value), np.where(edge, side.error, error)
        method = np.where(edge, "backward" if beyond > 0 else "forward", method)
    return value, error, method, slopes[0], slopes[1]


def _by_complex_step(row: _Row, x: float, fn: Callable[[object], object]) -> _Row:
    """Replace values by those of the complex step where both agree."""
    value, error, method, left, right = row
    step = 1e-30 * max(abs(x), 1e-30)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # NumPy only warns where imaginary parts are dropped
            result = np.asarray(fn(np.complex128(complex(x, step))))
    except Exception:  # a function written for real numbers may raise anything
        return row
    if result.dtype.kind != "c" or result.size != value.size:
        return row
    slope = result.imag.astype(float).ravel() / step
    with np.errstate(invalid="ignore"):
        agrees = np.isfinite(error) & (np.abs(slope - value) <= error)
        error = np.where(agrees, error + np.abs(slope - value), error)
    value, method = np.where(agrees, slope, value), np.where(agrees, "complex step", method)
    return value, error, method, left, right
