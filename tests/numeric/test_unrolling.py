"""Programs of tiny arrays that run on Python floats, one for each element, and the same values."""

from __future__ import annotations

import random
from itertools import combinations

import numpy as np
import pytest

import numeric as nm
import symdiff as sd
from numeric.lowering.names import Emitter
from numeric.lowering.passes import unrolling
from numeric.lowering.programs import of_elements


@pytest.fixture
def always(monkeypatch):
    """Tiny arrays are unrolled, whatever it costs."""
    monkeypatch.setattr(unrolling, "WORTH", 0)
    monkeypatch.setattr(unrolling, "_GAIN", 10**6)


def tiny(F):
    """The programs of floats that a Function has for arrays."""
    return [p.tiny for p in F._programs._found.values() if p.tiny is not None]


def determinant(rows, columns):
    if not columns:
        return 1
    first, *others = rows
    minors = [determinant(others, columns[:k] + columns[k + 1 :]) for k in range(len(columns))]
    return sum(
        (-1) ** k * first[j] * m for k, (j, m) in enumerate(zip(columns, minors, strict=True))
    )


def test_a_determinant_by_cofactors_is_one_of_floats():
    A = sd.symbol("A", (5, 5))
    F = nm.lower(determinant([[A[i, j] for j in range(5)] for i in range(5)], tuple(range(5))), A)
    at = np.random.default_rng(0).normal(size=(5, 5))
    value, (gradient,) = F.value_and_grad(at)
    assert tiny(F)
    assert value.__class__ is np.float64
    np.testing.assert_allclose(value, np.linalg.det(at), rtol=1e-13)
    np.testing.assert_allclose(gradient, value * np.linalg.inv(at).T, rtol=1e-12)
    assert gradient.shape == (5, 5)
    assert gradient.flags.writeable


def test_a_determinant_of_gathered_minors_is_one_of_floats():
    """The gradient adds up what rows were read twice."""
    A = sd.symbol("A", (4, 4))
    minors = A[3]
    for r, size in ((2, 2), (1, 3), (0, 4)):
        minors = sd.sum(_signs(size) * A[r][_columns(size)] * minors[_rest(size)], axis=1)
    F = nm.lower(minors[0], A)
    at = np.random.default_rng(1).normal(size=(4, 4))
    value, (gradient,) = F.value_and_grad(at)
    assert tiny(F)
    np.testing.assert_allclose(value, np.linalg.det(at), rtol=1e-13)
    np.testing.assert_allclose(gradient, value * np.linalg.inv(at).T, rtol=1e-12)


def _columns(size):
    return np.array(list(combinations(range(4), size)))


def _signs(size):
    return sd.constant(np.tile((-1.0) ** np.arange(size), (len(_columns(size)), 1)))


def _rest(size):
    places = {c: k for k, c in enumerate(combinations(range(4), size - 1))}
    rows = _columns(size).tolist()
    return np.array([[places[tuple(c[:k] + c[k + 1 :])] for k in range(size)] for c in rows])


def steps_of_a_cycle(x, p, count):
    for _ in range(count):
        x = x + 0.01 * (sd.concat([x[1:], x[:1]]) * p - sd.sin(x) / 10)
    return x


def test_an_equation_of_four_states_is_solved_in_floats():
    x, p = sd.symbols("x p", 4)
    F = nm.lower(sd.sum(steps_of_a_cycle(x, p, 20) ** 2), [x, p])
    at = np.arange(4.0), np.array([0.5, 1, 2, 3])
    value, gradients = F.value_and_grad(*at)
    assert tiny(F)
    f = sd.sum(steps_of_a_cycle(x, p, 20) ** 2)
    expected = nm.interpret([f, *sd.grad(f, [x, p])], dict(zip([x, p], at, strict=True)))
    for a, b in zip([value, *gradients], expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)


def test_what_math_raises_on_is_numpys():
    x, p = sd.symbols("x p", 4)
    y = sd.exp(steps_of_a_cycle(x, p, 20) * 100) / x
    F = nm.lower(y, [x, p])
    at = np.array([1e3, 0, -1e3, np.nan]), np.ones(4)
    with np.errstate(all="ignore"):
        expected = nm.interpret(y, dict(zip([x, p], at, strict=True)))
        np.testing.assert_array_equal(F(*at), expected)
    assert tiny(F)


def test_other_precisions_are_computed_as_arrays():
    x, p = sd.symbols("x p", 4)
    F = nm.lower(steps_of_a_cycle(x, p, 20), [x, p])
    narrow = np.ones(4, np.float32)
    assert F(narrow, narrow).dtype == np.float32
    assert F(np.ones(4), np.ones(4)).dtype == np.float64
    assert F([1, 2, 3, 4], np.ones(4)).tolist() == F(np.arange(1.0, 5), np.ones(4)).tolist()


def test_arrays_that_are_not_tiny_or_few_steps_stay_arrays():
    for n, count in ((100, 20), (4, 1)):
        x, p = sd.symbols("x p", n)
        F = nm.lower(steps_of_a_cycle(x, p, count), [x, p])
        F(np.ones(n), np.ones(n))
        assert not tiny(F)


# Random programs ----------------------------------------------------------------------------------


# These round once in both, so that no bit differs.
EXACT = [
    *(lambda x, y: x + y, lambda x, y: x * y - y / 4, lambda x, y: x / (2 + y**2)),
    *(lambda x, y: sd.sqrt(1 + x**2) - 0.3 * y, lambda x, y: sd.where(x < y, x * y, 1)),
    *(sd.maximum, lambda x, y: x - 2 * y[::-1], lambda x, y: sd.concat([y[2:], x[:2]])),
    *(lambda x, y: x[[3, 0, 0, 2]] * y, lambda x, y: (x[:, None] + y)[1], sd.minimum),
    *(lambda x, y: (x.reshape(2, 2).T * y.reshape(2, 2)).ravel(), lambda x, y: x * y[0]),
    *(lambda x, y: sd.stack([x, y])[:, 1:].ravel()[1:5], lambda x, y: sd.where(y[1] > 0, x, y)),
]
# Of integers any order of a sum is exact.
SUMS = [
    *(
        lambda x, y: x * sd.sum(y) - y,
        lambda x, y: sd.outer(x, y) @ (x - y) - x,
        lambda x, y: y - x,
    ),
    *(lambda x, y: x * (x @ y), lambda x, y: sd.where(x < y, x, sd.sum(sd.outer(x, y), axis=0))),
    *(lambda x, y: x[[1, 1, 3, 0]] * y, lambda x, y: sd.sum(x[[[0, 1], [2, 0]]], axis=0)[0] - y),
    *(lambda x, y: sd.cumsum(x) + y, lambda x, y: sd.diag(x) @ y, lambda x, y: sd.max(x) - y),
]


def random_program(rng, ways, values, count):
    for _ in range(count):
        values = [*values, rng.choice(ways)(*rng.sample(values, 2))]
    return values


@pytest.mark.parametrize("seed", range(30))
def test_random_programs_are_computed_bit_by_bit(always, seed):
    rng = random.Random(seed)
    x, y, s = sd.symbol("x", 4), sd.symbol("y", 4), sd.symbol("s")
    values = random_program(rng, EXACT, [x, y, s * x, sd.ones(4) * s], 25)
    outputs = [*values[-4:], values[-1][2], values[-2].reshape(2, 2), values[-3] > 0]
    at = {x: np.linspace(-1, 1, 4), y: np.array([0.5, -0.1, 2, -3]), s: np.float64(0.7)}
    F = nm.lower(outputs, [x, y, s])
    found, expected = F(*at.values()), nm.interpret(outputs, at)
    assert tiny(F)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b, strict=True)


@pytest.mark.parametrize("seed", range(30))
def test_sums_of_products_are_sums_of_products(always, seed):
    rng = random.Random(seed)
    x, y = sd.symbols("x y", 4)
    values = random_program(rng, SUMS, [x, y], 3)
    outputs = [*values[2:], sd.grad(sd.sum(values[-1]), x)]
    at = {x: np.array([1.0, -2, 3, 0]), y: np.array([2.0, 1, -1, -3])}
    found, expected = nm.lower(outputs, [x, y])(*at.values()), nm.interpret(outputs, at)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b, strict=True)


def test_slopes_of_arrays_by_arrays_are_floats():
    """They contain the unit array, which has zeros off its diagonal."""
    x, a = sd.symbol("x", (2, 2)), sd.symbol("a", (2, 2))
    body = x @ x + 3 * x - a
    slope = sd.jacobian(body, x)
    make = of_elements(Emitter(), "slopes", [x, a], [body, slope])
    assert make is not None
    at, beside = np.random.default_rng(2).normal(size=(2, 2, 2))
    found = make(beside.ravel().tolist())(*at.ravel().tolist())
    wanted = nm.interpret([body, slope], {x: at, a: beside})
    np.testing.assert_allclose(found, np.concatenate([y.ravel() for y in wanted]), rtol=1e-15)
    unit = sd.jacobian(x, x)  # alone it is not an array of floats
    assert nm.lower(unit + 0 * x[0, 0], x)(at).tolist() == np.eye(4).reshape(2, 2, 2, 2).tolist()
