"""A row of the table of functions, and its check: six readings of one function at one point.

The value is compared with NumPy's (or SciPy's).  The Jacobian is compared with central differences
of NumPy's function, and so are the gradient of a weighted sum and the Jacobian-vector product.  The
Hessian-vector product is compared with central differences of the gradient, already verified by
then.  Every difference comes with an estimate of its error (``oracles.richardson``), and a large
estimate fails the check: no comparison passes because the differences are too rough.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import numeric as nm
import symdiff as sd
from symdiff.graph.leaves import as_expr
from tests.support.oracles import richardson

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.support.fields import Array, Shape

# The largest relative error of an estimate, and the allowance for rounding beside ten estimates.
JUDGED = 1e-6
ROUNDING = 1e-9
SINGLE = 2e-4
FIRST_STEP = 0.01


@dataclass(frozen=True)
class Row:
    """One way to call one function.

    ``title`` begins with the name of the function.  Each of ``cases`` holds the shapes of the
    operands.  The elements of the operands are distinct and lie between ``low`` and ``high``.
    ``second`` is False where second derivatives are refused.
    """

    title: str
    ours: Callable[..., Any]
    plain: Callable[..., Any]
    cases: tuple[tuple[Shape, ...], ...]
    low: float = -2.0
    high: float = 2.0
    second: bool = True
    single: bool = True

    @property
    def function(self) -> str:
        """Return the name of the public function."""
        return self.title.split()[0]


def point(shapes: Sequence[Shape], low: float, high: float) -> list[Array]:
    """Return distinct numbers between ``low`` and ``high``, unordered, none of them an integer."""
    size = sum(math.prod(shape) for shape in shapes)
    places = np.random.default_rng(11).permutation(size)
    numbers = low + (high - low) * (places + 0.37 + 0.01 * np.sqrt(places)) / max(size, 1)
    numbers += np.where(abs(numbers - np.round(numbers)) < 0.03, 0.05, 0.0)
    ends = np.cumsum([math.prod(shape) for shape in shapes])[:-1]
    parts = np.split(numbers.astype(np.float32).astype(float), ends) if shapes else []
    return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]


def listed(outputs: Any) -> list[Any]:
    return list(outputs) if isinstance(outputs, tuple | list) else [outputs]


def _called(row: Row, at: Sequence[Array]) -> list[Array]:
    with np.errstate(all="ignore"):
        return [np.asarray(y) for y in listed(row.plain(*at))]


def _close(values: Any, expected: Array, error: Array | float, what: str) -> int:
    values = np.asarray(values)
    assert values.shape == expected.shape, f"{what}: shape {values.shape}, not {expected.shape}"
    if expected.dtype.kind != "f":
        assert np.array_equal(values, expected), f"{what}: {values}, expected {expected}"
        return 1
    scale = float(np.max(abs(expected), initial=1.0, where=np.isfinite(expected)))
    same = (values == expected) | (np.isnan(values) & np.isnan(expected))
    fine = same | (abs(values - expected) <= error + ROUNDING * scale)
    assert np.all(fine), f"{what}:\n{values}\nexpected\n{expected}\n+- {error}"
    return 1


def _judged(best: Array, error: Array, what: str) -> tuple[Array, Array]:
    scale = float(np.max(abs(best), initial=1.0))
    worst = float(np.max(error, initial=0.0))
    assert worst <= JUDGED * scale, f"{what}: the differences are too rough, {worst} of {scale}"
    return best, 10 * error


def _noise(y: Array) -> Array:
    return 8 * np.finfo(float).eps * (1 + abs(y))


def _jacobian(row: Row, at: Sequence[Array], output: int, k: int) -> tuple[Array, Array]:
    """Return the Jacobian of an output by operand k, and a bound of its differences' error."""
    value = _called(row, at)[output].astype(float)
    best, error = (np.zeros((*value.shape, *at[k].shape)) for _ in range(2))
    for place in np.ndindex(at[k].shape):

        def moved(h: float, place: tuple[int, ...] = place) -> Array:
            operands = [x.copy() for x in at]
            operands[k][place] += h
            return _called(row, operands)[output].astype(float)

        derivative = richardson(moved, _noise(value), first=FIRST_STEP)
        best[(..., *place)], error[(..., *place)] = derivative
    return _judged(best, error, f"{row.title}, by operand {k}")


def _weights(shape: Shape, start: int) -> Array:
    size = math.prod(shape)
    return (((-1.0) ** np.arange(size)) * (start + np.arange(size)) / 5).reshape(shape)


def check(row: Row, shapes: tuple[Shape, ...]) -> int:
    """Check the six readings of ``row`` for operands of ``shapes``; return how many comparisons."""
    at = point(shapes, row.low, row.high)
    xs = [sd.symbol(f"x{k}", shape) for k, shape in enumerate(shapes)]
    env: dict[Any, Any] = {x: value[()] for x, value in zip(xs, at, strict=True)}
    outputs = listed(row.ours(*xs))
    expected = _called(row, at)
    assert len(outputs) == len(expected), row.title
    done = 0
    lowered = nm.lower(outputs, xs)(*env.values())
    for y, value, again, wanted in zip(
        outputs, nm.interpret(outputs, env), lowered, expected, strict=True
    ):
        assert (wanted.dtype.kind == "b") == (y.dtype is bool), f"{row.title}: {y.dtype}"
        assert y.shape == wanted.shape, f"{row.title}: shape {y.shape}, not {wanted.shape}"
        done += _close(value, wanted, 0.0, f"{row.title}, value")
        done += _close(again, wanted, 0.0, f"{row.title}, value of the lowered program")
    real = [i for i, y in enumerate(outputs) if y.dtype is float]
    if not xs or not real:
        return done
    fs = [outputs[i] for i in real]
    ws = [_weights(y.shape, 3) for y in fs]
    ts = [_weights(x.shape, 2) for x in xs]
    jacobians = [[_jacobian(row, at, i, k) for k in range(len(xs))] for i in real]

    # Jacobians, whole: the pullback of an identity in batch axes.
    for y, wanted_row in zip(fs, jacobians, strict=True):
        computed = nm.interpret(list(sd.jacobian(y, xs, mode="reverse")), env)
        for k, (best, error) in enumerate(wanted_row):
            done += _close(computed[k], best, error, f"{row.title}, Jacobian by operand {k}")

        # The same by columns: the tangents of a unit basis, in batch axes.
        columns = [k for k, x in enumerate(xs) if x.ndim]
        forward = nm.interpret([y, *(sd.jacobian(y, xs[k], mode="forward") for k in columns)], env)[
            1:
        ]
        for k, j in zip(columns, forward, strict=True):
            done += _close(j, *wanted_row[k], f"{row.title}, Jacobian by columns of operand {k}")

    # The gradient of a weighted sum: by the lowered program of the backward pass.
    function = nm.lower(fs, xs)
    _, residuals = function.forward(*env.values())
    gradient = function.backward(residuals, *(w[()] for w in ws))
    for k in range(len(xs)):
        wanted = sum(
            np.tensordot(w, part[k][0], w.ndim) for w, part in zip(ws, jacobians, strict=True)
        )
        error = sum(
            np.tensordot(abs(w), part[k][1], w.ndim) for w, part in zip(ws, jacobians, strict=True)
        )
        done += _close(gradient[k], np.asarray(wanted), error, f"{row.title}, gradient {k}")

    # Jacobian-vector products: forward mode.
    tangents = [sd.constant(t) if t.ndim else as_expr(float(t)) for t in ts]
    pushed = nm.interpret(list(sd.jvp(fs, xs, tangents)), env)
    for computed, part in zip(pushed, jacobians, strict=True):
        wanted = sum(np.tensordot(j, t, t.ndim) for (j, _), t in zip(part, ts, strict=True))
        error = sum(np.tensordot(e, abs(t), t.ndim) for (_, e), t in zip(part, ts, strict=True))
        done += _close(computed, np.asarray(wanted), error, f"{row.title}, Jacobian-vector product")

    if row.second:
        done += _second(row, xs, fs, ws, ts, at)
    return done + (_in_single_precision(row, xs, fs, ws, at) if row.single else 0)


def _second(
    row: Row,
    xs: list[Any],
    fs: list[Any],
    ws: list[Array],
    ts: list[Array],
    at: list[Array],
) -> int:
    """Compare the Hessian-vector product of a weighted sum with differences of its gradient."""
    total = as_expr(0)
    for y, w in zip(fs, ws, strict=True):
        total = total + sd.sum(y * w)
    gradients = list(sd.grad(total, xs))
    tangents = [sd.constant(t) if t.ndim else as_expr(float(t)) for t in ts]
    products = list(sd.hvp(total, xs, tangents))
    lowered = nm.lower(gradients, xs)

    def moved(h: float) -> Array:
        with np.errstate(all="ignore"):
            moved_gradients = lowered(*((x + h * t)[()] for x, t in zip(at, ts, strict=True)))
        return np.concatenate([np.ravel(g) for g in moved_gradients])

    best, error = richardson(moved, _noise(moved(0.0)), first=FIRST_STEP / 4)
    best, error = _judged(best, error, f"{row.title}, Hessian-vector product")
    computed = nm.interpret(products, {x: value[()] for x, value in zip(xs, at, strict=True)})
    flat = np.concatenate([np.ravel(g) for g in computed])
    return _close(flat, best, error, f"{row.title}, Hessian-vector product")


def _in_single_precision(
    row: Row, xs: list[Any], fs: list[Any], ws: list[Array], at: list[Array]
) -> int:
    """Check that values and gradients in float32 have that dtype and are near those in float64."""
    function = nm.lower(fs, xs)
    results = []
    for dtype in (np.float64, np.float32):
        values, residuals = function.forward(*(np.asarray(x, dtype)[()] for x in at))
        gradients = function.backward(residuals, *(np.asarray(w, dtype)[()] for w in ws))
        results.append([*values, *gradients])
    for wide, narrow in zip(*results, strict=True):
        assert np.asarray(narrow).dtype == np.float32, f"{row.title}: {np.asarray(narrow).dtype}"
        scale = float(np.max(abs(wide), initial=1.0, where=np.isfinite(wide)))
        _close(narrow, np.asarray(wide), SINGLE * scale, f"{row.title}, float32")
    return len(results[0])
