"""Derivatives made of values alone, against closed forms, and against the library's rules."""

from __future__ import annotations

import random

import mpmath as mp
import numpy as np
import pytest

import symdiff as sd
from numeric import check
from numeric.check import references
from symdiff.exact.digits import Digits
from symdiff.graph.algebra import primitive
from tests.check.test_enclosures import drawn
from tests.support.budget import scaled
from tests.support.refusals import refused
from tests.support.scalar_functions import exact

x, y = sd.symbols("x y")


def close(found, expected, digits):
    with mp.workdps(3 * digits + 30):
        return mp.fabs(found - expected) <= mp.fabs(expected) * mp.mpf(10) ** (1 - digits)


@pytest.mark.parametrize(
    ("expression", "at", "order", "exact"),
    [
        (sd.sin(x), 1, 3, lambda t: -mp.cos(t)),
        (sd.exp(-(x**2)), "0.5", 2, lambda t: (4 * t**2 - 2) * mp.exp(-(t**2))),
        (sd.log(x), 1e-300, 4, lambda t: -6 / t**4),
        (sd.sin(1 / x), 1e-5, 1, lambda t: -mp.cos(1 / t) / t**2),
        (x**x, 2, 1, lambda t: t**t * (mp.log(t) + 1)),
        (sd.tanh(x), 400, 1, lambda t: mp.sech(t) ** 2),
        ((sd.exp(x) - 1) / x, 1e-20, 1, lambda t: (mp.exp(t) * (t - 1) + 1) / t**2),
        (1 + x * 1e-200 * 1e-100, 1, 1, lambda t: mp.mpf(1e-200 * 1e-100)),
        (x + 1e150 - (1e150 + 0 * x), 1, 1, lambda t: mp.mpf(1)),
        (x**3, 0, 3, lambda t: mp.mpf(6)),
    ],
)
def test_derivatives_by_closed_forms(expression, at, order, exact):
    found = check.reference(expression, {x: at}, digits=40).derivative(x, order)
    assert isinstance(found, Digits)
    with mp.workdps(700):
        assert close(found, exact(mp.mpf(at)), 40)


@pytest.mark.parametrize(
    ("expression", "at", "by"),
    [
        (sd.cos(x), 0, (x,)),
        (x * abs(x), 0, (x,)),
        (x**2, 0, (x,)),
        (x**2, 0, (x, 3)),
        (sd.floor(x), 0.5, (x,)),
        (sd.sin(x) ** 2 + sd.cos(x) ** 2, 1, (x, 2)),
        (sd.exp(x), 1, (y,)),
        (sd.exp(x), 1, (x, y)),
    ],
)
def test_derivatives_that_are_zero_are_zero(expression, at, by):
    assert check.reference(expression, {x: at, y: 1}, digits=30).derivative(*by) == 0


@pytest.mark.parametrize(
    ("expression", "at", "by", "sides"),
    [
        (abs(x), 0, (x,), "1.0 from above and -1.0 from below"),
        (abs(x) * 1e-300, 0, (x,), "1.0e-300 from above and -1.0e-300 from below"),
        (x * abs(x), 0, (x, 2), "2.0 from above and -2.0 from below"),
        (sd.maximum(x, y), 1, (x,), "1.0 from above and 0.0 from below"),
        (sd.maximum(x, y), 1, (x, y), "from above"),
        (sd.sqrt(x), 0, (x,), "nan from below"),
        (sd.floor(x), 1, (x,), "0.0 from above"),
        (sd.cbrt(x), 0, (x,), "from above"),
        (sd.stack([x, abs(x)]), 0, (x,), r"in element \[1\]"),
        (sd.where(x > 0, x**2, -(x**2)), 0, (x, 2), "from above"),
    ],
)
def test_what_has_no_derivative_is_refused_with_both_sides(expression, at, by, sides):
    with pytest.raises(sd.NotDifferentiable, match=sides):
        check.reference(expression, {x: at, y: 1}, digits=30).derivative(*by)


def test_derivatives_by_arrays_have_the_shape_of_both():
    A, b = sd.symbol("A", (2, 2)), sd.symbol("b", 2)
    at = {A: [[1, 2], [3, "4.5"]], b: [1, -1]}
    solved = check.reference(sd.solve(A, b), at, digits=25)
    jacobian = solved.derivative(A)
    assert jacobian.shape == (2, 2, 2)
    inverse = np.linalg.inv(np.array([[1, 2], [3, 4.5]]))
    want = -np.einsum("ij,k->ijk", inverse, inverse @ [1, -1])
    assert np.allclose(jacobian.astype(float), want, rtol=1e-14)
    assert np.allclose(solved.derivative(b).astype(float), inverse, rtol=1e-14)
    mixed = check.reference(sd.sum(A @ A @ b), at, digits=15).derivative(A, b)
    exact = sd.evalf(sd.jacobian(sd.grad(sd.sum(A @ A @ b), A), b), 15, at)
    assert mixed.shape == (2, 2, 2)
    assert np.allclose(mixed.astype(float), exact.astype(float), rtol=1e-13, atol=1e-13)


def test_functions_of_the_vocabulary_have_the_derivatives_of_their_rows():
    for name in ("gammaln", "erfcx", "sine_integral", "lambertw", "digamma", "expi", "dawsn"):
        found = check.reference(primitive(name, x), {x: 2.5}, digits=20).derivative(x, 2)
        assert close(found, exact(name, (2.5,))[(2,)], 20)


def test_references_agree_with_the_rules_of_differentiation():
    rng = random.Random(0)
    count = 0
    for _ in range(scaled(60)):
        case = drawn(rng)
        env = {x: case.point[0], y: case.point[1]}
        by, order = rng.choice((((x,), (1, 0)), ((y,), (0, 1)), ((x, 2), (2, 0)), ((x, y), (1, 1))))
        try:
            expected = sd.evalf(case.derivative(order), 25, env)
        except ArithmeticError:
            continue
        found = check.reference(case.expression, env, digits=25).derivative(*by)
        assert close(found, expected, 24), (case.expression, env, by)
        count += 1
    assert count > 0.9 * scaled(60)


def test_a_wrong_weight_of_the_differences_is_refused(monkeypatch):
    monkeypatch.setattr(references, "comb", lambda n, k: 1)
    with pytest.raises(sd.NotDifferentiable):
        check.reference(sd.exp(x), {x: 1}).derivative(x, 2)


def test_wrong_questions_are_refused():
    r = check.reference(sd.sin(x), {x: 1})
    refused(
        (TypeError, "is neither a symbol", lambda: r.derivative(sd.sin(x))),
        (TypeError, "at least one symbol", lambda: r.derivative()),
        (ValueError, "not an order", lambda: r.derivative(x, 0)),
        (ValueError, "no value for x", lambda: check.reference(sd.sin(x))),
    )


def test_precision_of_mpmath_is_left_as_it_was():
    before = mp.mp.prec
    check.reference(sd.sin(x), {x: 1}).derivative(x)
    with pytest.raises(sd.NotDifferentiable):
        check.reference(abs(x), {x: 0}).derivative(x)
    assert mp.mp.prec == before
