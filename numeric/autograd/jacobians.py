"""Numerical Jacobians that bound their own error, compared with analytical ones."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.autograd.standards import as_tuple, jacobians, moved
from numeric.check.lines import (
    NOTHING,
    OUTSIDE,
    ROUNDINGS,
    SUFFICIENT,
    TELLS,
    Estimate,
    Line,
    unit_roundoff,
)
from numeric.eager.refusals import user_level
from numeric.eager.tensor import Tensor
from numeric.warnings_off import SILENCE, noise, set_noise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

NEIGHBOURS = 4
"""The number of points, a few units in the last place away, that show the effect of rounding."""

SCATTERS = 4.0
"""The error that passes, as a multiple of the scatter among those points."""


@dataclass(frozen=True)
class Numerical:
    """The Jacobian of one result by one input: arrays (elements of the input, of the result).

    At a kink, ``low`` and ``high`` are the slopes at its sides; elsewhere both are the derivative.
    ``error`` bounds their error and ``unit`` is the unit roundoff.  ``natural`` is the size of the
    result relative to the input.  ``shapes`` are those of the input and of the result.
    """

    low: Array
    high: Array
    error: Array
    unit: float
    natural: Array
    shapes: tuple[tuple[int, ...], tuple[int, ...]]

    def size(self) -> Array:
        """Return the larger absolute slope."""
        return np.asarray(np.fmax(np.abs(self.low), np.abs(self.high)))


class Derived:
    """The standard by which numerical Jacobians bound their own error."""

    double = False

    def __init__(
        self,
        func: Callable[..., object],
        args: Sequence[object],
        eps: float | None,
        atol: float | None,
        rtol: float | None,
    ) -> None:
        self.func, self.args = func, args
        self.eps, self.atol, self.rtol = eps, atol, rtol
        self._near: list[list[list[np.ndarray]]] | None = None

    def numerical(
        self,
        func: Callable[..., object],
        args: Sequence[object],
        x: Tensor,
        results: Sequence[Tensor],
        real: Sequence[int],
    ) -> dict[int, Numerical]:
        """Return extrapolated differences, or plain ones at the given step."""
        kinds = [results[k]._array.dtype for k in real]
        rounded = [kinds[i] for i, k in enumerate(real) for _ in range(results[k].numel())]
        sizes = np.cumsum([0, *(results[k].numel() for k in real)])
        rows = np.zeros((3, x.numel(), sizes[-1]))
        before = noise()
        try:
            # Dropout and the like must not depend on how often the function is called.
            set_noise(SILENCE)
            for row, place in enumerate(np.ndindex(x._array.shape)):

                def at(value: Any, place: tuple[int, ...] = place) -> Array:
                    by = float(value) - float(x._array[place])
                    try:
                        results_there = moved(func, args, results, real, x, place, value, by)
                    except (*OUTSIDE, RuntimeError, AssertionError):
                        return np.full(sizes[-1], np.nan)
                    return np.concatenate(
                        [np.zeros(0), *(y.astype(float).ravel() for y in results_there)]
                    )

                line = Line(at, float(x._array[place]), x._array.dtype, rounded)
                rows[:, row] = _stepped(line, self.eps) if self.eps else _sided(line)
        finally:
            set_noise(before)
        largest = np.abs(x._array).max(initial=0.0) or 1.0
        parts = [slice(a, b) for a, b in pairwise(sizes)]
        low, high, error = rows
        return {
            k: Numerical(
                low[:, part],
                high[:, part],
                error[:, part],
                max(unit_roundoff(kinds[i]), unit_roundoff(x._array.dtype)),
                np.abs(results[k]._array.astype(float)).ravel() / float(largest),
                (x._array.shape, results[k]._array.shape),
            )
            for i, (k, part) in enumerate(zip(real, parts, strict=True))
        }

    def vanishes(self, n: Numerical) -> bool:
        """Whether the Jacobian cannot be distinguished from 0."""
        return bool(np.all((n.low <= n.error) & (-n.high <= n.error)))

    def mismatch(self, i: int, j: int, n: Numerical, a: np.ndarray) -> str | None:
        """Describe the worst component if one is wrong or undecidable; None if all are right."""
        a = a.astype(float)
        with np.errstate(invalid="ignore", over="ignore"):
            size = np.fmax(np.abs(a), n.size())
            off = np.maximum(np.maximum(n.low - a, a - n.high), 0.0)
            relative = ROUNDINGS * n.unit * size if self.rtol is None else self.rtol * n.size()
            allowed = relative + (n.error if self.atol is None else self.atol)
            wrong = ~(off <= allowed) & ~np.isnan(n.low)
            doubtful = ~(allowed <= TELLS * size) & ~wrong
            # Tolerances that the user gave decide alone.
            if self.atol is not None or self.rtol is not None:
                doubtful[:] = False
            if self.atol is None and (wrong | doubtful).any():
                largest = np.max(size, initial=0.0, where=np.isfinite(size))
                scale = np.fmax(largest, n.natural)
                cap = ROUNDINGS * n.unit * scale
                # Rounding errors of the analytical Jacobian itself scatter between neighbouring
                # points.
                scatter = self._scatter(i, j, a)
                wrong &= ~(off <= allowed + np.fmin(SCATTERS * scatter, cap))
                residue = (a == 0) | (scatter >= TELLS * np.abs(a))
                none = np.fmax(SUFFICIENT * scale, cap) + NOTHING
                doubtful &= ~(residue & (allowed <= none))
        if wrong.any():
            return mismatch_text(i, j, n, a, wrong, off, allowed)
        unknown = (doubtful & ~np.isfinite(n.error)) | np.isnan(n.low)
        if unknown.any():
            where = _where(unknown, n.shapes)
            return (
                f"No verdict is possible on output {i} with respect to input {j}, {where}: the "
                "differences of the values do not converge there, as at a jump or where the "
                "slope or the value is infinite.  Move the point."
            )
        if doubtful.any():
            ratio = np.where(doubtful, allowed / np.fmax(size, 1e-300), 0.0)
            worst = np.unravel_index(np.argmax(ratio), ratio.shape)
            warnings.warn(
                f"gradcheck: for output {i} with respect to input {j}, "
                f"{_where(doubtful, n.shapes, ratio)}, the derivative {a[worst]:.6g} is only known "
                f"to be within {allowed[worst]:.1g} of right, by differences of the values; "
                "an error of 0.05 % could not be told",
                UserWarning,
                stacklevel=user_level(),
            )
        return None

    def _scatter(self, i: int, j: int, a: Array) -> Array:
        """Return the change of the analytical Jacobian with the last bits of the inputs."""
        if self._near is None:
            self._near = list(neighbours(self.func, self.args))
        jacobians_near = np.stack([near[i][j].astype(float) for near in self._near])
        return np.asarray(np.abs(jacobians_near - a).max(axis=0))


def _sided(line: Line) -> tuple[Array, Array, Array]:
    """Return the low and high slope and their error: central differences, or one-sided ones."""
    central = line.estimate(lazy=True)
    floor = ROUNDINGS * (line.unit * np.abs(line.centre) + line.tiny) / max(abs(line.x), 1.0)

    def unsettled_in(e: Estimate) -> NDArray[np.bool_]:
        return np.asarray(~((e.error <= TELLS * np.abs(e.value)) | (e.error <= floor)))

    # The lazy estimate stops early; spend all radii only where it is not good enough.
    if unsettled_in(central).any():
        central = line.estimate()
    left, right, error = central.value, central.value, central.error
    unsettled = unsettled_in(central)
    if unsettled.any():
        a, b = line.estimate("backward"), line.estimate("forward")
        a, b = _instead(a, b), _instead(b, a)
        sides = np.maximum(a.error, b.error)
        taken = unsettled & (sides < central.error)
        left, right = np.where(taken, a.value, left), np.where(taken, b.value, right)
        error = np.where(taken, sides, error)
    return np.minimum(left, right), np.maximum(left, right), error


def _instead(side: Estimate, other: Estimate) -> Estimate:
    """Return one side, or the other where the function is undefined at this one."""
    absent = np.isnan(side.value)
    pairs = zip(
        (other.value, other.error, other.settles),
        (side.value, side.error, side.settles),
        strict=True,
    )
    return Estimate(*(np.where(absent, b, a) for b, a in pairs))


def _stepped(line: Line, eps: float) -> tuple[Array, Array, Array]:
    """Return the two-sided difference at a step; halving the step divides its error by four."""
    whole, half = line.difference(eps), line.difference(eps / 2)
    rounding = 2 * line.unit * np.abs(line.centre) / eps
    return whole, whole, 4 / 3 * np.abs(whole - half) + rounding


def neighbours(
    func: Callable[..., object], args: Sequence[object]
) -> Iterator[list[list[np.ndarray]]]:
    """Yield analytical Jacobians of all outputs at points a few units in the last place away."""
    rng = np.random.default_rng(0)
    real_inputs = [x for x in args if isinstance(x, Tensor) and x.requires_grad]
    saved = [x._array.copy() for x in real_inputs]
    for _ in range(NEIGHBOURS):
        try:
            for x, k in zip(real_inputs, saved, strict=True):
                x._array[...] = k + np.spacing(np.abs(k)) * rng.integers(-4, 5, k.shape)
            outputs = [y for y in as_tuple(func(*args)) if y.requires_grad]
            yield [jacobians(y, real_inputs) for y in outputs]
        finally:
            # The points were written into the user's tensors: restore them.
            for x, k in zip(real_inputs, saved, strict=True):
                x._array[...] = k


def mismatch_text(
    i: int, j: int, n: Numerical, a: Array, wrong: NDArray[np.bool_], off: Array, allowed: Array
) -> str:
    """Describe the wrong component that is farthest off."""
    with np.errstate(invalid="ignore"):
        far = off / allowed
    far = np.where(np.isnan(far), np.inf, far)
    at = np.unravel_index(np.argmax(np.where(wrong, far, -1.0)), wrong.shape)
    low, high = float(n.low[at]), float(n.high[at])
    value = f"{low:.10g}" if low == high or np.isnan(low) else f"between {low:.10g} and {high:.10g}"
    return (
        f"Jacobian mismatch for output {i} with respect to input {j},\n"
        f"{_where(wrong, n.shapes, far)}:\n"
        f"numerical: {value}, with an error of {float(n.error[at]):.2g}\n"
        f"analytical: {float(a[at]):.10g}\n"
    )


def _where(
    chosen: NDArray[np.bool_],
    shapes: tuple[tuple[int, ...], tuple[int, ...]],
    size: Array | None = None,
) -> str:
    """Name the component of the Jacobian where ``size`` is largest among the chosen ones."""
    weight = chosen if size is None else np.where(chosen, size, -1.0)
    at = np.unravel_index(np.argmax(weight), chosen.shape)
    x, y = (
        tuple(int(k) for k in np.unravel_index(int(p), shape)) if shape else ()
        for p, shape in zip(at, shapes, strict=True)
    )
    more = int(chosen.sum()) - 1
    return f"component {x} of the input and {y} of the output" + (
        f" (and {more} more)" * bool(more)
    )
