"""Oracles for derivatives, none of which uses a rule, a printer or a parser of symdiff.

``tests.support.evaluation`` gives the values of expressions, exactly or at 50 digits.  The checks
compare them with the same program run on plain arrays:

exact           value, Jacobian, gradient and Hessian equal those of Taylor polynomials in
                fractions (``tests.support.jets``), without tolerance
adjoint         <u, J v> = <J' u, v>, exactly where the program is rational
orders          partial derivatives up to order 3 against ``mpmath.diff`` at 50 digits
high            Jacobians and Hessians by differences at 100 and 150 digits
complex step    the imaginary part of f(x + ih) / h at 100 digits
differences     the Jacobian in floats against Richardson-extrapolated central differences at 50
                digits, judged by their own estimate of the error

Each raises AssertionError with the program and both values where they disagree.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import mpmath as mp
import numpy as np
from hypothesis import reject

import symdiff as sd
from numeric.lowering.reference import interpret
from tests.support.evaluation import boxed, each, evaluate
from tests.support.fields import COMPLEX, EXACT, FLOAT, HIGH, LOST_DIGITS, Array, Field, Shape
from tests.support.jets import JETS, partials, variables, weighted_sum

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from symdiff import Expr

DIGITS = 50
# The digits that floats may lose: four of sixteen.
FLOAT_ROUNDING = 1e-12


# Comparison ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A function of arrays in two forms; a ``programs.Program`` is a random one."""

    name: str
    shapes: tuple[Shape, ...]
    ours: Callable[[Sequence[Any]], Any]
    plain: Callable[[Field, Sequence[Array]], Array]
    kinks: bool = False


def inputs_of(case: Any) -> list[Expr]:
    """Return one symbol for each input of the case."""
    return [sd.symbol(f"x{k}", shape) for k, shape in enumerate(case.shapes)]


def bound(xs: Sequence[Expr], values: Sequence[Array], field: Field) -> dict[Expr, Array]:
    """Return the environment that gives each symbol its value in the field."""
    return {x: field.numbers(value) for x, value in zip(xs, values, strict=True)}


def values_of(expressions: Sequence[Expr], env: Mapping[Expr, Array], field: Field) -> list[Array]:
    """Return the values of expressions; reject the example at a singular matrix or another pole."""
    try:
        return evaluate(expressions, env, field)
    except ZeroDivisionError:
        reject()


def agree(
    actual: Array, expected: Array, what: str, case: Any, tolerance: Any = 0, scale: Any = None
) -> None:
    """Assert equality up to ``tolerance`` times the scale of the expected values (nan never is).

    Infinite values are equal to themselves, and no scale.
    """
    assert actual.shape == expected.shape, (
        f"{what}: shape {actual.shape}, expected {expected.shape}\n{case}"
    )
    if scale is None:
        scale = max((n for value in expected.ravel() if (n := abs(value)) < math.inf), default=0)
    for place in np.ndindex(actual.shape):
        a, b = actual[place], expected[place]
        fine = a == b or (tolerance and abs(a - b) <= tolerance * (1 + scale))
        assert fine, f"{what}{list(place)}: {a}, expected {b}\n{case}"


def close(values: Any, reference: Any, exact: Array, what: object, scale: float = 1.0) -> None:
    """Assert that floats are as near to the exact value as the reference is, within a digit.

    ``scale`` is the scale of intermediate values; a larger exact value replaces it.
    """
    values, reference, exact = np.asarray(values), np.asarray(reference), exact.astype(float)
    assert values.shape == exact.shape, what
    scale = np.max(np.abs(exact), initial=scale)
    allowed = 10 * np.abs(reference - exact) + FLOAT_ROUNDING * scale
    assert np.all(np.abs(values - exact) <= allowed), f"{what}: {values}, is {exact}"


class Tie(Exception):  # a property of a point, not an error
    """A choice between equal values: its derivative is a convention, unknown to differences."""


def _strictly_less(a: Any, b: Any) -> bool:
    rounding = mp.mpf(10) ** (LOST_DIGITS - DIGITS) * abs(a) if isinstance(a, mp.mpf) else 0
    if abs(a - b) <= rounding:
        raise Tie
    return bool(mp.re(a) < mp.re(b))


def evaluate_strictly(case: Any, point: Sequence[Array], field: Field) -> None:
    """Run the program; raise Tie at equal numbers in a comparison, ZeroDivisionError at a pole."""
    strict = Field(
        field.name, field.dtype, field.number, field.functions, _strictly_less, field.choose
    )
    with mp.workdps(DIGITS):
        case.plain(strict, [field.numbers(value) for value in point])


def no_ties(case: Any, point: Sequence[Array], field: Field) -> None:
    """Reject the example if a step of the program meets a tie or a pole at this point."""
    try:
        evaluate_strictly(case, point, field)
    except (Tie, ZeroDivisionError):
        reject()


# 1: exact -----------------------------------------------------------------------------------------


def check_exact(case: Any, point: Sequence[Array]) -> None:
    """Check value, Jacobian, gradient and Hessian of a rational program, without tolerance."""
    no_ties(case, point, EXACT)
    xs = inputs_of(case)
    env = bound(xs, point, EXACT)
    starts = [0, *itertools.accumulate(np.size(value) for value in point)]
    inputs = [variables(value, k) for value, k in zip(point, starts, strict=False)]
    try:
        jets = JETS.numbers(case.plain(JETS, inputs))
    except ZeroDivisionError:
        reject()  # a pole of the program
    f = sd.constant(0) + case.ours(xs)
    weights = np.arange(1, jets.size + 1).reshape(jets.shape)
    g = sd.sum(f * sd.constant(weights))
    jacobians = sd.jacobian(f, xs)
    gradients = sd.grad(g, xs)
    hessians = [sd.hessian(g, x) for x in xs]
    values = values_of([f, *jacobians, *gradients, *hessians], env, EXACT)
    agree(values[0], partials(jets), "value", case)
    total = weighted_sum(jets, weights)
    n = len(xs)
    for k, (value, start) in enumerate(zip(point, starts, strict=False)):
        places = start + np.arange(np.size(value)).reshape(np.shape(value))
        agree(values[1 + k], partials(jets, places), f"jacobian by input {k} ", case)
        agree(values[1 + n + k], partials(total, places), f"gradient by input {k} ", case)
        hessian = partials(total, places, places)
        agree(values[1 + 2 * n + k], hessian, f"hessian by input {k} ", case)


# 2: adjoint ---------------------------------------------------------------------------------------


def _seed(shape: Shape, start: int) -> Array:
    out = np.empty(shape, object)
    for k, place in enumerate(np.ndindex(shape)):
        out[place] = Fraction((-1) ** k * (start + k), 5)
    return out


def check_adjoint(case: Any, point: Sequence[Array], field: Field) -> None:
    """Check ``<u, J v> = <J' u, v>``: reverse mode is the transpose of forward mode."""
    xs = inputs_of(case)
    f = case.ours(xs)
    ts = [sd.symbol(f"t{k}", shape) for k, shape in enumerate(case.shapes)]
    u = sd.symbol("u", f.shape)
    forward = sd.jvp(f, xs, ts)
    backward = sd.vjp(f, xs, u)
    seeds = {u: _seed(f.shape, 2)} | {t: _seed(t.shape, 3 + k) for k, t in enumerate(ts)}
    env = bound(xs, point, field) | {s: field.numbers(value) for s, value in seeds.items()}
    with mp.workdps(DIGITS):
        pushed, *pulled = values_of([forward, *backward], env, field)
        left = (env[u] * pushed).ravel().tolist() if f.shape else [env[u][()] * pushed[()]]
        right = [
            a * b
            for t, x in zip(ts, pulled, strict=True)
            for a, b in zip(env[t].ravel(), x.ravel(), strict=True)
        ]
        difference = sum(left) - sum(right)
        if field is EXACT:
            assert difference == 0, f"<u, Jv> - <J'u, v> = {difference}\n{case}"
        else:
            scale = sum(map(abs, [*left, *right]), mp.mpf(1))
            assert abs(difference) <= scale * mp.mpf(10) ** (LOST_DIGITS - DIGITS), (
                f"<u, Jv> = {sum(left)}, <J'u, v> = {sum(right)}\n{case}"
            )


# 3: 50 digits -------------------------------------------------------------------------------------


def check_orders(case: Any, point: Sequence[Array], order: int = 3) -> None:
    """Compare all partial derivatives up to ``order`` of scalar functions with ``mpmath.diff``."""
    xs = inputs_of(case)
    f = case.ours(xs)
    with mp.workdps(DIGITS):
        at = [HIGH.number(value[()]) for value in point]

        def plain(*values: Any) -> Any:
            return case.plain(HIGH, [boxed(value) for value in values])[()]

        no_ties(case, point, HIGH)
        for counts in itertools.product(range(order + 1), repeat=len(xs)):
            if not 0 < sum(counts) <= order:
                continue
            variables = [v for x, n in zip(xs, counts, strict=True) for v in (x, n)]
            (derivative,) = values_of([sd.diff(f, *variables)], bound(xs, point, HIGH), HIGH)
            n: Any = counts[0] if len(xs) == 1 else counts
            expected = mp.diff(plain, at[0] if len(xs) == 1 else tuple(at), n)
            tolerance = mp.mpf(10) ** (LOST_DIGITS - DIGITS)
            agree(derivative, boxed(expected), f"derivative {counts}", case, tolerance)


def _moved(point: Sequence[Array], k: int, place: tuple[int, ...], h: Any) -> list[Array]:
    out = [value.copy() for value in point]
    out[k][place] = out[k][place] + h
    return out


def high_jacobian(case: Any, point: Sequence[Array], k: int) -> Array:
    """Return the Jacobian by input k, by central differences at twice ``DIGITS`` digits.

    With h = 10^(-DIGITS/2) truncation is h^2 f'''/6 and rounding 10^(-2 DIGITS)/h, both far below
    10^(-DIGITS) f.
    """
    with mp.workdps(2 * DIGITS):
        at = [HIGH.numbers(value) for value in point]
        h = mp.mpf(10) ** (-DIGITS // 2)
        columns = []
        for place in np.ndindex(at[k].shape):
            high = case.plain(HIGH, _moved(at, k, place, h))
            low = case.plain(HIGH, _moved(at, k, place, -h))
            columns.append(boxed((high - low) / (2 * h)))
        return _columns(columns, case, at, at[k].shape)


def high_hessian(case: Any, point: Sequence[Array], k: int) -> Array:
    """Return the second derivatives by input k, likewise, at three times ``DIGITS`` digits."""
    with mp.workdps(3 * DIGITS):
        at = [HIGH.numbers(value) for value in point]
        h = mp.mpf(10) ** (-DIGITS // 2)
        shape = at[k].shape
        columns = []
        for i, j in itertools.product(np.ndindex(shape), repeat=2):
            corner = 0
            for a, b in itertools.product((1, -1), repeat=2):
                moved = _moved(_moved(at, k, i, a * h), k, j, b * h)
                corner = corner + a * b * case.plain(HIGH, moved)
            columns.append(boxed(corner / (4 * h * h)))
        return _columns(columns, case, at, shape + shape)


def _columns(columns: list[Array], case: Any, at: list[Array], shape: Shape) -> Array:
    rows = columns[0].shape if columns else case.plain(HIGH, at).shape
    out = np.empty(rows + shape, object)
    for place, column in zip(np.ndindex(shape), columns, strict=True):
        for row in np.ndindex(rows):
            out[row + place] = column[row]
    return out


def check_high(case: Any, point: Sequence[Array], *, second: bool = True) -> None:
    """Compare value, Jacobian and (``second``) Hessian of every input with such differences."""
    no_ties(case, point, HIGH)
    xs = inputs_of(case)
    f = case.ours(xs)
    jacobians = sd.jacobian(f, xs)
    hessians = [sd.hessian(f, x) for x in xs] if second else []
    tolerance = mp.mpf(10) ** (LOST_DIGITS - DIGITS)
    with mp.workdps(DIGITS):
        values = values_of([f, *jacobians, *hessians], bound(xs, point, HIGH), HIGH)
        agree(
            values[0], case.plain(HIGH, [HIGH.numbers(v) for v in point]), "value", case, tolerance
        )
        for k in range(len(xs)):
            expected = high_jacobian(case, point, k)
            agree(values[1 + k], expected, f"jacobian by input {k} ", case, tolerance)
            if second:
                expected = high_hessian(case, point, k)
                agree(values[1 + len(xs) + k], expected, f"hessian by input {k} ", case, tolerance)


# 4: complex step and differences ------------------------------------------------------------------


def check_complex_step(case: Any, point: Sequence[Array]) -> None:
    """Check the Jacobian of an analytic program: ``Im f(x + ih) / h``; two h estimate its error."""
    xs = inputs_of(case)
    jacobians = sd.jacobian(case.ours(xs), xs)
    # A complex function may round its imaginary part at the scale of the real part.
    with mp.workdps(2 * DIGITS):
        no_ties(case, point, HIGH)
        jacobian_values = values_of(jacobians, bound(xs, point, HIGH), HIGH)
        at = [COMPLEX.numbers(value) for value in point]
        steps = [mp.mpf(10) ** (-DIGITS // 2), mp.mpf(10) ** (-DIGITS // 2) / 2]
        for k, x in enumerate(at):
            for j in np.ndindex(x.shape):
                coarse, fine = (
                    each(
                        lambda v, h=h: mp.im(v) / h,
                        case.plain(COMPLEX, _moved(at, k, j, mp.mpc(0, h))),
                    )
                    for h in steps
                )
                for i in np.ndindex(fine.shape):
                    estimate = 4 * abs(coarse[i] - fine[i]) + mp.mpf(10) ** (
                        LOST_DIGITS - DIGITS
                    ) * (1 + abs(fine[i]))
                    got = jacobian_values[k][i + j]
                    assert abs(got - fine[i]) <= estimate, (
                        f"jacobian by input {k} {[*i, *j]}: {got}, "
                        f"complex step {fine[i]} +- {estimate}\n{case}"
                    )


def richardson(
    function: Callable[[float], Array], noise: Array, levels: int = 7, first: float = 0.05
) -> tuple[Array, Array]:
    """Return the derivative of ``function`` at 0 and an estimate of its error, by Ridders' method.

    The method extrapolates central differences with steps first/2^k in h^2.  Each entry of the
    tableau is made of two others, and its error is estimated by the largest distance from them
    (Ridders 1982, Adv. Eng. Softw. 4, 75-76).  The least such estimate is returned, or, if larger,
    the effect of the ``noise`` of the values at the smallest step.
    """
    best, error = None, np.inf
    previous: list[Array] = []
    for level in range(levels):
        h = first / 2**level
        row = [np.asarray((function(h) - function(-h)) / (2 * h), float)]
        for m, before in enumerate(previous, 1):
            row.append(row[-1] + (row[-1] - before) / (4**m - 1))
            spread = np.maximum(abs(row[-1] - row[-2]), abs(row[-1] - before))
            better = spread < error
            best = np.where(better, row[-1], np.nan if best is None else best)
            error = np.where(better, spread, error)
        previous = row
    assert best is not None
    return best, np.maximum(error, noise * 2 ** (levels - 1) / first)


def check_differences(case: Any, point: Sequence[Array]) -> None:
    """Compare the float Jacobian of ``interpret`` with differences of the plain program.

    The program is evaluated at ``DIGITS`` digits: in floats, the rounding of each value would have
    to be known, and a value that is exact at ``point`` by chance need not be so beside it.  An
    entry may differ by ten estimates (an estimate is an order of magnitude), among them the effect
    of the rounding that floats show at ``point``, and by the rounding of the terms that form it.
    """
    no_ties(case, point, HIGH)
    xs = inputs_of(case)
    f = case.ours(xs)
    at = [FLOAT.numbers(value) for value in point]
    jacobian_values = interpret(list(sd.jacobian(f, xs)), dict(zip(xs, at, strict=True)))
    high = [HIGH.numbers(value) for value in point]
    with mp.workdps(DIGITS), np.errstate(all="ignore"):
        exact = case.plain(HIGH, high).astype(float)
        noise = abs(case.plain(FLOAT, at) - exact) + np.finfo(float).eps * abs(exact)

    def moved(k: int, j: tuple[int, ...], h: float) -> Array:
        """Return the value at a step; nan at a singular matrix or another pole."""
        try:
            return case.plain(HIGH, _moved(high, k, j, mp.mpf(h)))
        except ZeroDivisionError:
            return np.full(exact.shape, mp.nan, object)

    for k, x in enumerate(at):
        for j in np.ndindex(x.shape):
            with mp.workdps(DIGITS), np.errstate(all="ignore"):
                expected, error = richardson(partial(moved, k, j), noise)
            got = np.asarray(jacobian_values[k])[(..., *j)]
            scale = np.max(np.abs(expected), initial=1.0)
            judged = np.isfinite(error)  # differences that overflow or leave the domain say nothing
            fine = (abs(got - expected) <= 10 * error + FLOAT_ROUNDING * scale) | ~judged
            assert np.all(fine), (
                f"jacobian by input {k} {j}: {got}, differences {expected} +- {error}\n{case}"
            )
