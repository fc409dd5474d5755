"""One equation, from text to verdict: differentiate, lower, evaluate, compare with oracles."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import numeric as nm
import symdiff as sd
from numeric.check.derivatives import scale_of_terms
from numeric.check.oracles import EPS, Differences, multiprecision, precise_derivative

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from numeric.check.derivatives import Derivatives, Order
    from numeric.demo.equations import Equation

    Array = NDArray[np.float64]
    Values = Mapping[Order, Array]

PRECISE_POINTS, DIFFERENCE_POINTS = 20, 1000

PRECISE_TOLERANCE = 1e-10
"""The largest error of a right derivative against 80 digits, relative to the scale of terms."""

NEGLIGIBLE = 1e-60
"""The size, in a derivative's unit, below which 80 digits cannot distinguish it from zero."""

MOST_ESTIMATES = 10.0
"""The largest distance of a right derivative from the differences, in error estimates."""

SHARP = 1e-4
"""An estimate above this part of a derivative's unit or scale could miss errors of 0.1 %."""

MOST_DROPPED = MOST_BLUNT = 0.01
"""The part of the points that may be outside the domain, or where differences may be blunt."""

RUNS = 3


@dataclass(frozen=True)
class Result:
    """The results for one equation; ``failures`` describes each fault."""

    number: str
    derivatives: int
    nodes: int
    gradient_error: float  # worst error, relative to the scale of terms
    hessian_error: float
    estimates: float  # worst distance from the differences, in their error estimates
    microseconds: float  # per point, for value, gradient and Hessian together
    points: int
    dropped: int
    failures: tuple[str, ...]


def check(equation: Equation, points: int) -> Result:
    """Differentiate the equation twice by every variable, and cross-check every derivative.

    >>> from numeric.demo.equations import load
    >>> result = check(load()[7], 50)
    >>> result.derivatives, result.failures
    (5, ())
    """
    derivatives = equation.differentiate()
    outputs = list(derivatives.by_order.values())
    function = nm.lower(outputs, derivatives.symbols)
    sample = equation.sample(points)
    values, seconds = _timed(function, sample)
    inside = np.isfinite(values[0])
    usable, known = (
        sample[:, inside],
        dict(zip(derivatives.by_order, values[:, inside], strict=True)),
    )
    precise = _precise_errors(derivatives, equation, *_first(PRECISE_POINTS, usable, known))
    distant, blunt = _differences(derivatives, equation, *_first(DIFFERENCE_POINTS, usable, known))
    dropped = points - int(inside.sum())
    failures = [
        *_too_many("points outside the real domain", dropped / points, MOST_DROPPED),
        *_not_finite(equation, known),
        *_wrong(equation, precise, PRECISE_TOLERANCE, "S from the 80-digit derivative"),
        *_wrong(equation, distant, MOST_ESTIMATES, "error estimates from the differences"),
        *(
            failure
            for order, part in blunt.items()
            for failure in _too_many(
                f"points at which differences cannot judge {name(order, equation)}",
                part,
                MOST_BLUNT,
            )
        ),
    ]
    return Result(
        number=equation.number,
        derivatives=len(outputs) - 1,
        nodes=sd.count_nodes(outputs),
        gradient_error=_worst(precise, 1),
        hessian_error=_worst(precise, 2),
        estimates=max(distant.values()),
        microseconds=1e6 * seconds / points,
        points=points,
        dropped=dropped,
        failures=tuple(failures),
    )


def name(order: Order, equation: Equation) -> str:
    """Name a derivative in words.

    >>> from numeric.demo.equations import load
    >>> [name(order, load()[7]) for order in ((), (1,), (0, 1))]
    ['the value', 'd/dNn', 'd2/dmu dNn']
    """
    if not order:
        return "the value"
    variables = " ".join(f"d{equation.names[k]}" for k in order)
    return f"d{len(order) if len(order) > 1 else ''}/{variables}"


# Evaluation ---------------------------------------------------------------------------------------


def _timed(function: Any, sample: Array) -> tuple[Array, float]:
    """Return all outputs at all points, shape (outputs, points), and the fastest run's seconds."""
    best = np.inf
    for _ in range(RUNS):
        with np.errstate(all="ignore"):  # points outside the domain are counted, without a warning
            start = time.perf_counter()
            values = function(*sample)
            best = min(best, time.perf_counter() - start)
    return np.stack(values), best


def _first(count: int, points: Array, values: Values) -> tuple[Array, Values]:
    return points[:, :count], {order: v[:count] for order, v in values.items()}


def _scales(derivatives: Derivatives, points: Array) -> Values:
    env = dict(zip(derivatives.symbols, points, strict=True))
    with np.errstate(all="ignore"):
        scales = scale_of_terms(list(derivatives.by_order.values()), env)
    count = points.shape[1]
    return {
        order: np.broadcast_to(scale, count)
        for order, scale in zip(derivatives.by_order, scales, strict=True)
    }


def _unit(order: Order, equation: Equation, values: Values) -> float:
    """Return a derivative's natural size: the largest value, divided by the variables' ranges."""
    largest = np.abs(values[()]).max(initial=0)
    return float(largest / np.prod(equation.width[list(order)]))


# The oracles --------------------------------------------------------------------------------------


def _precise_errors(
    derivatives: Derivatives, equation: Equation, points: Array, values: Values
) -> dict[Order, float]:
    """Return the worst distance of each from its 80-digit value, relative to the scale of terms."""
    value = multiprecision(derivatives.value, derivatives.symbols)
    scales = _scales(derivatives, points)
    errors = {}
    for order, ours in values.items():
        reference = np.array([precise_derivative(value, point, order) for point in points.T])
        floor = NEGLIGIBLE * _unit(order, equation, values)
        distance = np.abs(ours - reference)
        with np.errstate(divide="ignore", invalid="ignore"):
            relative = np.where(distance <= floor, 0.0, distance / scales[order])
        # nan must not pass as a small error.
        errors[order] = float(np.nan_to_num(relative, nan=np.inf).max(initial=0))
    return errors


def _differences(
    derivatives: Derivatives, equation: Equation, points: Array, values: Values
) -> tuple[dict[Order, float], dict[Order, float]]:
    """Return, by derivative, the worst distance from the differences, and the blunt part of points.

    Distances are in error estimates.  These include the rounding error of the derivative under
    test, ``EPS S``.  A point is blunt if its estimate is not ``SHARP``.
    """
    function = nm.lower(derivatives.value, derivatives.symbols)

    def value(x: Array) -> Array:
        with np.errstate(all="ignore"):  # a step may leave the domain
            return np.asarray(function(*x))

    differences = Differences(value, points, equation.width)
    scales = _scales(derivatives, points)
    distant, blunt = {}, {}
    for order, ours in values.items():
        if not order:
            continue
        estimated = differences.derivative(order)
        error = estimated.error + EPS * scales[order]
        judged = np.isfinite(error)
        distance = np.abs(ours - estimated.value)[judged] / error[judged]
        distant[order] = float(np.nan_to_num(distance, nan=np.inf).max(initial=0))
        size = np.maximum(scales[order], _unit(order, equation, values))
        blunt[order] = float(np.mean(~(error <= SHARP * size))) if size.size else 1.0
    return distant, blunt


# The verdict --------------------------------------------------------------------------------------


def _worst(errors: Mapping[Order, float], order: int) -> float:
    return max(error for key, error in errors.items() if len(key) == order)


def _too_many(what: str, part: float, most: float) -> list[str]:
    return [f"{part:.1%} {what}, more than {most:.0%}"] if part > most else []


def _not_finite(equation: Equation, values: Values) -> list[str]:
    counts = {order: int(np.sum(~np.isfinite(v))) for order, v in values.items()}
    return [
        f"{name(order, equation)} is not finite at {count} points where the value is"
        for order, count in counts.items()
        if count
    ]


def _wrong(
    equation: Equation, errors: Mapping[Order, float], most: float, unit: str
) -> Sequence[str]:
    return [
        f"{name(order, equation)} is {error:.2g} {unit}, more than {most:.2g}"
        for order, error in errors.items()
        if error > most
    ]
