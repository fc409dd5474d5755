"""The Taylor test: measure how fast remainders fall along random directions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from numeric.check import plots
from numeric.check.lines import (
    NOTHING,
    OUTSIDE,
    ROUNDINGS,
    SUFFICIENT,
    TELLS,
    Estimate,
    Line,
    best,
    noises,
    unit_roundoff,
)
from numeric.html_tables import headline, page, table
from symdiff.graph.arguments import door, natural, reals

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from numeric.show.pictures import Picture

    Array = NDArray[np.float64]

STEPS = 48
"""The number of steps 1/4, 1/8 ...; the finest is below any rounding error."""

ABOVE = 32.0
"""A remainder counts if it exceeds the rounding error of the values by this factor ..."""

FITTED = 6
"""... and this many of the finest ones determine the slope; fewer than half give none."""

RIGHT: Final = "right"
WRONG: Final = "wrong"
UNKNOWN: Final = "cannot tell"


@dataclass(frozen=True)
class Taylor:
    """The verdict of a Taylor test on a gradient, and on a Hessian if there is one.

    ``verdict`` is "right", "wrong" or "cannot tell".  The last one means that the rounding of the
    values hides an error of 0.05 %, or that there is no derivative.  ``ok`` is True only for
    "right".  (A derivative of 0 is right if it is 0 to a millionth of the function's size and
    change.)

    ``slopes`` has shape (directions, 2), or 3 with a Hessian: the slopes of log remainder by log
    step.  They are near 1, 2 and 3 for right derivatives, and inf for remainders that consist of
    rounding errors.  ``table`` has shape (directions, steps, 3 or 4): the step and the remainders.
    ``left`` holds, for each direction and derivative, the change of the function that it does not
    explain.  ``bound`` limits ``left`` for a right derivative.  ``size`` is the size of its terms.
    """

    verdict: Literal["right", "wrong", "cannot tell"]
    slopes: Array
    table: Array
    left: Array
    bound: Array
    size: Array

    @property
    def ok(self) -> bool:
        """Whether the derivatives are right."""
        return self.verdict == RIGHT

    def plot(self, ax: Axes | None = None) -> Picture:
        """Draw the remainders against the step, on logarithmic axes, next to lines of their slopes.

        Each direction has a line.  With a right gradient it falls along the line of slope 2 (with a
        Hessian, of slope 3) until only rounding is left.

        Args:
            ax: Matplotlib's axes to draw into; the axes of a new figure by default.

        The result is the picture, which Jupyter shows.  Raises ImportError without Matplotlib, the
        extra ``viz``.
        """
        return plots.taylor(self, ax)

    def __str__(self) -> str:
        names = ["gradient", "Hessian"][: self.left.shape[1]]
        head = "direction " + "".join(f"{f'slope {k}':>9}" for k in range(len(names) + 1))
        lines = [f"Taylor test: {self.verdict}", head]
        for d, slopes in enumerate(self.slopes):
            line = f"{d:>9} " + "".join(f"{s:9.3f}" for s in slopes)
            for k, name in enumerate(names):
                left, bound, size = self.left[d, k], self.bound[d, k], self.size[d, k]
                line += f"  {name}: {left:.2e} of {size:.2e} is left, {bound:.0e} may be"
            lines.append(line)
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        names = ["gradient", "Hessian"][: self.left.shape[1]]
        slopes = [f"slope {k}" for k in range(len(names) + 1)]
        rows = [
            [
                d,
                *(f"{slope:.3f}" for slope in self.slopes[d]),
                *(f"{self.left[d, k]:.2e} of {self.size[d, k]:.2e}" for k in range(len(names))),
                *(f"{self.bound[d, k]:.0e}" for k in range(len(names))),
            ]
            for d in range(len(self.slopes))
        ]
        left = [f"{name}: left" for name in names] + [f"{name}: may be" for name in names]
        cells = table(rows, ["direction", *slopes, *left], named=True)
        return page(headline(f"Taylor test: {self.verdict}"), cells)


@door
def taylor(
    fn: Callable[..., Any],
    grad: object,
    x: Any,
    hess: object = None,
    *,
    directions: int = 5,
    seed: int = 0,
) -> Taylor:
    """Test whether ``grad`` (and ``hess``) are the derivatives of the scalar ``fn`` at ``x``.

    Along random directions v the remainders

    - ``|f(x + hv) - f(x)|`` fall as h,
    - ``|f(x + hv) - f(x) - h g.v|`` as h², if the gradient g is right, and
    - ``|f(x + hv) - f(x) - h g.v - h²/2 v.H.v|`` as h³, if the Hessian H is right, too

    (Farrell, Ham, Funke and Rognes, "Automated derivation of the adjoint of high-level transient
    finite element programs", 2013, section 6.3).  With a wrong gradient the second one finally
    falls as h, perhaps only at steps where rounding errors are larger.

    So the verdict does not come from the slopes.  Extrapolation gives the linear (quadratic) part
    of the remainder, with a bound of its error (``numeric.check.lines``).  The derivative is wrong
    if that part exceeds the bound.  It is right only if an error of 0.05 % would exceed the bound.
    That error is relative to the root of the sum of squares of all terms of g.v (of v.H.v).  There
    is not a tolerance to choose.  ``gradcheck`` and ``derivative`` check each component by itself.

    Args:
        fn: a scalar function of an array or a number; of several, if ``x`` is a tuple.
        grad: its gradient at ``x``, or a function of the arguments of ``fn`` that returns it; of
            the shape of ``x``, a tuple for several inputs.
        x: the point: a number or an array, or a tuple of these.
        hess: the Hessian or a function of it, of shape ``x.shape + x.shape``; for one input only.
        directions: the number of directions.
        seed: the seed of the directions, which are normally distributed.

    Raises ValueError for shapes that do not fit, and for a function that is not finite at ``x``.

    >>> taylor(np.sin, np.cos, 0.7).ok
    True
    >>> test = taylor(lambda v: np.exp(v).sum(), lambda v: 1.0005 * np.exp(v), np.zeros(3))
    >>> test.verdict, test.slopes[0].round(2).tolist()
    ('wrong', [1.0, 1.0])
    """
    several = isinstance(x, tuple)
    if hess is not None and several:
        raise ValueError("taylor: a Hessian is for one input; pass x as one array")
    count, seed = natural("taylor", "directions", directions), natural("taylor", "seed", seed)
    if not count:
        raise ValueError("taylor: directions is 0; give a number of them")
    scalar = _Scalar(fn, x if several else (x,))
    gradient = scalar.derivative(grad)
    parts = _gradient(scalar.point, gradient if several else (gradient,))
    slope = np.concatenate([g.astype(float).ravel() for g in parts])
    matrix = None if hess is None else _hessian(scalar.point[0], scalar.derivative(hess))
    # The function computes in the coarsest dtype that takes part.
    rounded = _coarsest([scalar.value, *parts, *scalar.point])
    with np.errstate(all="ignore"):
        runs = [
            _along(partial(scalar.moved, v), v, scalar.vector, slope, matrix, rounded)
            for v in scalar.directions(count, seed)
        ]
    slopes, table, left, bound, size = map(np.stack, zip(*runs, strict=True))
    verdict = _verdict(abs(float(scalar.value)), table, left, bound, size)
    return Taylor(verdict, slopes, table, left, bound, size)


class _Scalar:
    """A scalar function around a point; all numbers of its arguments form one vector."""

    def __init__(self, fn: Callable[..., Any], x: Sequence[object]) -> None:
        self.fn = fn
        point = [reals("taylor", "x", v) for v in x]
        self.point = [v if v.dtype.kind == "f" else v.astype(float) for v in point]
        self.arguments = [v.copy()[()] for v in self.point]
        self.value = reals("taylor", "fn", fn(*self.arguments))
        if self.value.ndim:
            raise ValueError(
                f"taylor: the function must be scalar, its value has shape {self.value.shape}"
            )
        if not np.isfinite(self.value):
            raise ValueError(f"taylor: the function is {self.value} at x")
        self.vector: Array = np.concatenate([v.astype(float).ravel() for v in self.point])

    def directions(self, count: int, seed: int) -> Array:
        """Draw random directions of about the length of the point in each number, at least 1."""
        usual = float(np.median(np.abs(self.vector))) if self.vector.size else 1.0
        # A power of two adds no rounding to the directions.
        scale = 2.0 ** np.round(np.log2(max(1.0, usual)))
        drawn = np.random.default_rng(seed).standard_normal((count, self.vector.size))
        return np.asarray(scale * drawn)

    def derivative(self, derivative: object) -> Any:
        """Return a derivative at the point, from a value or a function."""
        return derivative(*self.arguments) if callable(derivative) else derivative

    def moved(self, v: Array, h: float | np.floating) -> Array:
        """Return the value at a moved point; nan outside of the domain."""
        rest, arguments = self.vector + h * v, []
        for part in self.point:
            here, rest = rest[: part.size], rest[part.size :]
            # [()] makes a NumPy number of an array without axes, as users pass it.
            arguments.append(here.reshape(part.shape).astype(part.dtype)[()])
        try:
            return np.array([float(self.fn(*arguments))])
        except OUTSIDE:
            return np.array([np.nan])


def _coarsest(arrays: Sequence[np.ndarray]) -> np.dtype:
    """Return the real dtype that rounds most."""
    return max((a.dtype for a in arrays if a.dtype.kind == "f"), key=unit_roundoff)


def _gradient(point: Sequence[np.ndarray], gradient: Sequence[object]) -> list[np.ndarray]:
    """Return the gradient by each argument; refuse other shapes than those of the point."""
    parts = [reals("taylor", "grad", g) for g in gradient]
    if [g.shape for g in parts] != [v.shape for v in point]:
        raise ValueError(
            f"taylor: the gradient is of shape {[g.shape for g in parts]}, "
            f"x of {[v.shape for v in point]}"
        )
    return parts


def _hessian(point: np.ndarray, hessian: object) -> Array:
    """Return the Hessian as a matrix; refuse another shape."""
    matrix = reals("taylor", "hess", hessian)
    if matrix.shape != 2 * point.shape:
        raise ValueError(f"taylor: the Hessian is of shape {matrix.shape}, x of {point.shape}")
    return matrix.reshape(2 * (point.size,)).astype(float)


def _verdict(
    value: float, table: Array, left: Array, bound: Array, size: Array
) -> Literal["right", "wrong", "cannot tell"]:
    """Return the verdict: wrong above a bound; right if bounds are tight, or all is 0."""
    with np.errstate(invalid="ignore"):
        # The change of the function gives its size where its value is 0 by accident.
        change = np.nanmax(np.where(np.isfinite(table[..., 1]), table[..., 1], 0.0))
        vanishes = (size <= bound) & (bound <= SUFFICIENT * (value + change) + NOTHING)
        decided = (bound <= TELLS * size) | vanishes
    return WRONG if (left > bound).any() else RIGHT if decided.all() else UNKNOWN


def _along(
    function: Callable[[float | np.floating], Array],
    v: Array,
    x: Array,
    gradient: Array,
    hessian: Array | None,
    rounded: object,
) -> tuple[Array, Array, Array, Array, Array]:
    """Return slopes, table, and the rest of each order with bound and size, for a direction."""
    line = Line(function, 0.0, rounded=rounded)
    terms = [gradient * v]
    if hessian is not None:
        terms.append(v[:, None] * hessian * v)
    left, bound, size = [], [], []
    unit = float(line.unit[0])
    # The values round, and so does the argument: its error moves the value by the gradient.
    noise = unit * (abs(line.centre[0]) + np.abs(gradient * x).sum())
    for order, term in enumerate(terms, start=1):
        fits = [line.fit(radius, "central", order) for radius in line.radii]
        estimate: Estimate = best(fits)
        # The noise also shows in the fits: in large coefficients that do not fall.
        noise = max(noise, float(noises(fits)[-1][0]), min(float(fit.tail[0]) for fit in fits))
        size.append(float(np.sqrt((term**2).sum())))
        total = float(term.sum())
        # A gradient of inf or nan explains nothing of the change.
        left.append(abs(float(estimate.value[0]) - total) if np.isfinite(total) else np.inf)
        rounding = ROUNDINGS * unit * np.nan_to_num(np.abs(term).sum(), posinf=0.0)
        # An estimate that does not settle, as at a kink, bounds nothing.
        bound.append(float(estimate.error[0] + rounding) if estimate.settles[0] else np.inf)
    # Powers of two make h v exact.
    steps: Array = np.ldexp(0.25, -np.arange(STEPS))
    change = np.array([function(h)[0] for h in steps]) - line.centre[0]
    remainders = [change]
    for order, term in enumerate(terms, start=1):
        remainders.append(remainders[-1] - steps**order / order * term.sum())
    table: Array = np.abs(np.stack([steps, *remainders], axis=-1))
    slopes = [_slope(steps, column, noise) for column in table.T[1:]]
    return np.array(slopes), table, np.array(left), np.array(bound), np.array(size)


def _slope(steps: Array, remainders: Array, noise: float) -> float:
    """Fit the slope to the finest remainders that exceed the rounding errors."""
    clear = np.isfinite(remainders) & (remainders > ABOVE * noise)
    chosen = np.flatnonzero(clear)[-FITTED:]
    # Too few clear remainders: they consist of rounding errors.
    if len(chosen) < FITTED // 2:
        return np.inf
    return float(np.polyfit(np.log(steps[chosen]), np.log(remainders[chosen]), 1)[0])
