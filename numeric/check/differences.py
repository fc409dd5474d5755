"""Derivatives of plain Python functions, found by evaluation alone."""

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
"""Elements that a notebook lists."""

SETTLED = 1e-4
"""A relative error above which the sides are looked at one by one: there may be a kink."""


@dataclass(frozen=True)
class Derivative:
    """A derivative found by evaluation alone: ``value``, and ``error``, a bound of its error.

    Both are numbers for a scalar function of a number, else arrays of the shape of the result
    followed by that of the argument, and so is ``method``: how each was found, one of
    "complex step", "central", "forward" and "backward".  Where there is no derivative that could
    be found, ``error`` is inf and ``value`` nan; but at a kink ``value`` is the mean of the slopes
    at both sides, which are in ``sides`` (nan elsewhere).
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
    """The derivative of a plain Python function at ``x``, and a bound of its error.

    Args:
        fn: a function of a number or an array, as whose values only are used, with a number or an
            array as its result.
        x: where; a float, or an array of floats.
        complex_step: also call ``fn`` with complex arguments.

    The result is the derivative of a function of a number, the gradient of a scalar function of an
    array, the Jacobian of any other: its shape is that of the result followed by that of ``x``.
    (An elementwise function of an array has a diagonal Jacobian.)

    - *Central*: central differences at steps of up to r, extrapolated to step 0, at radii r that
      shrink eightfold; the best of those whose error estimates do not contradict one another.
    - *Complex step*: ``Im f(x + ih) / h`` with tiny h has no difference, and all digits, but for
      analytic functions alone (Squire and Trapp, "Using complex variables to estimate derivatives
      of real functions", 1998).  It is taken where it agrees with the differences within their
      error, which stays the bound: conj, abs, real and the like are not analytic, without a word.
    - *Forward, backward*: where the function is defined at one side only (it gives nan or inf, or
      raises ValueError or ArithmeticError, at the other).

    At a kink, a jump, or where the slope is infinite the error is inf.  Jumps of less than 1e-5 of
    the function's change within some radius count as rounding errors.

    Raises what ``fn`` raises at ``x``, and TypeError for a result that is not real.

    >>> import math
    >>> found = derivative(math.sin, 1.0)
    >>> abs(found.value - math.cos(1.0)) <= found.error < 1e-12, found.method
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
    """A function of real numbers at a point, and beside it in one of them."""

    def __init__(self, fn: Callable[[Any], Any], x: object) -> None:
        point = reals("derivative", "x", x).copy()
        if point.dtype.kind == "b":
            raise unfit("derivative", "x", "an array of real numbers", x)
        if not np.isfinite(point).all():
            raise ValueError(f"derivative: the point is not finite: {described(x)}")
        self.fn, self.point = fn, point if point.dtype.kind == "f" else point.astype(float)
        self.bare = not isinstance(x, np.ndarray | np.generic)  # so is what the function is given
        here = self.point.copy()[()]
        self.result = np.asarray(fn(here.item() if self.bare and not point.ndim else here))
        if self.result.dtype.kind not in "fiub":
            kind = self.result.dtype
            raise TypeError(f"derivative: the function's value has to be real, not {kind}")

    @property
    def rounded(self) -> np.dtype:
        """What values are rounded to."""
        kind = self.result.dtype if self.result.dtype.kind == "f" else np.dtype(np.float64)
        return max(kind, self.point.dtype, key=unit_roundoff)

    def moved(self, place: tuple[int, ...], value: Any) -> Any:
        """What the function gives where one number is another."""
        if not self.point.ndim:
            return self.fn(value.item() if self.bare else value)
        moved = self.point.astype(np.result_type(self.point, np.asarray(value)))
        moved[place] = value
        return self.fn(moved)

    def values(self, place: tuple[int, ...], value: object) -> Array:
        """The numbers that it gives; nan where there are none."""
        try:
            found = np.asarray(self.moved(place, value))
        except OUTSIDE:
            return np.full(self.result.size, np.nan)
        if found.dtype.kind == "c":  # as of a negative number to a fractional power
            return np.full(self.result.size, np.nan)
        return found.astype(float).ravel()


_Row: TypeAlias = "tuple[Array, Array, np.ndarray, Array, Array]"
"""Value, error, method, left and right slope of each result, by one variable."""


def _by_differences(line: Line) -> _Row:
    """Central differences; where they do not settle, those of the sides, if they do."""
    found = line.estimate()
    value, error = found.value, np.where(found.settles, found.error, np.inf)
    method = np.full(value.shape, "central", dtype="<U12")
    with np.errstate(invalid="ignore"):
        unsettled = ~(error <= SETTLED * np.abs(value))
    if not unsettled.any():
        return value, error, method, *np.full((2, *value.shape), np.nan)
    left, right = (line.estimate(side) for side in ("backward", "forward"))
    known = [unsettled & side.settles & np.isfinite(side.error) for side in (left, right)]
    with np.errstate(invalid="ignore"):
        apart = np.abs(right.value - left.value) > left.error + right.error
        kink = known[0] & known[1] & apart & (np.maximum(left.error, right.error) <= error)
    slopes = [np.where(kink, side.value, np.nan) for side in (left, right)]
    value = np.where(kink, (slopes[0] + slopes[1]) / 2, np.where(np.isinf(error), np.nan, value))
    error = np.where(kink, np.inf, error)
    for side, there, beyond in ((left, known[0], 1), (right, known[1], -1)):
        edge = there & ~np.isfinite(line.beside(beyond))
        value, error = np.where(edge, side.value, value), np.where(edge, side.error, error)
        method = np.where(edge, "backward" if beyond > 0 else "forward", method)
    return value, error, method, slopes[0], slopes[1]


def _by_complex_step(row: _Row, x: float, fn: Callable[[object], object]) -> _Row:
    """The complex step's value in place of those that it agrees with."""
    value, error, method, left, right = row
    step = 1e-30 * max(abs(x), 1e-30)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # NumPy only warns where imaginary parts are dropped
            found = np.asarray(fn(np.complex128(complex(x, step))))
    except Exception:  # a function that was not made for complex numbers may raise anything
        return row
    if found.dtype.kind != "c" or found.size != value.size:
        return row
    slope = found.imag.astype(float).ravel() / step
    with np.errstate(invalid="ignore"):
        agrees = np.isfinite(error) & (np.abs(slope - value) <= error)
        error = np.where(agrees, error + np.abs(slope - value), error)
    value, method = np.where(agrees, slope, value), np.where(agrees, "complex step", method)
    return value, error, method, left, right
