"""Rolled programs: scalar steps of a few shapes as steps over arrays, and the same values."""

from __future__ import annotations

import gc
import itertools
import math
import pickle
import random
import sys
from functools import reduce
from itertools import pairwise
from operator import add

import numpy as np
import pytest

import numeric as nm
import symdiff as sd
from numeric.lowering import costs, kinds
from numeric.lowering.names import MATH, NUMPY
from numeric.lowering.passes import rolling, unrolling
from numeric.lowering.passes.rolling import roll_scalars
from numeric.lowering.schedule import schedule

EPS = np.finfo(float).eps


@pytest.fixture
def always(monkeypatch):
    """Groups of two are rolled, whatever it costs, and no array is unrolled."""

    class Eager(costs.Costs):
        least = 2

        def of_groups(self, *_):
            return 0

    monkeypatch.setattr(unrolling, "ELEMENTS", 0)
    monkeypatch.setattr(rolling, "LEAST", 1)
    monkeypatch.setattr(rolling, "LONG", 5)
    monkeypatch.setattr(rolling, "_GAIN", 10**6)
    monkeypatch.setattr(costs, "FLOATS", Eager(1, 1))
    monkeypatch.setattr(costs, "ARRAYS", Eager(1, 1))


def rosenbrock(xs):
    total = 0
    for a, b in pairwise(xs):
        total = total + 100 * (b - a**2) ** 2 + (1 - a) ** 2
    return total


def scalars(n):
    return [sd.symbol(f"x{i}") for i in range(n)]


def elements(x):
    return [x[i] for i in range(x.shape[0])]


def programs(F):
    """The programs of a Function as they were written first."""
    return [next(iter(p.found.values())) for p in F._programs._found.values()]


def steps(F):
    return max(len(p.schedule.steps) - len(p.schedule.params) for p in programs(F))


# Which programs are rolled ------------------------------------------------------------------------


def test_a_program_of_any_length_has_the_same_few_steps():
    counts = []
    for n in (400, 800):
        x = sd.symbol("x", n)
        of_elements = nm.lower(rosenbrock(elements(x)), x)
        of_scalars = nm.lower(rosenbrock(xs := scalars(n)), xs)
        at = np.linspace(0.5, 1.5, n)
        value, (gradient,) = of_elements.value_and_grad(at)
        same, row = of_scalars.value_and_grad(*at.tolist())
        assert abs(same - value) <= 4 * n * EPS * value
        np.testing.assert_allclose(row, gradient, rtol=1e-12, atol=1e-12)
        counts.append((steps(of_elements), len(programs(of_scalars)[1].lines)))
    assert counts[0] == counts[1]
    assert max(counts[0]) < 40


def test_backward_of_many_terms_has_few_steps_too():
    """What it is given is the vector, not the elements: these are not work to read again."""
    n = 400
    x = sd.symbol("x", n)
    F = nm.lower(rosenbrock(elements(x)), x)
    at = np.linspace(0.5, 1.5, n)
    value, residuals = F.forward(at)
    expected, (gradient,) = F.value_and_grad(at)
    assert value == expected
    (found,) = F.backward(residuals, 1.0)
    np.testing.assert_allclose(found, gradient, rtol=1e-13)
    assert steps(F) < 40
    assert "kept for backward: x (400,); 3,200 bytes" in F.explain()


def test_many_scalars_go_forward_and_backward():
    xs = scalars(400)
    F = nm.lower(rosenbrock(xs), xs)
    at = np.linspace(0.5, 1.5, 400).tolist()
    value, residuals = F.forward(*at)
    expected, gradient = F.value_and_grad(*at)
    assert value == expected
    np.testing.assert_allclose(F.backward(residuals, 1.0), gradient, rtol=1e-13)
    moved, tangent = F.jvp(at, gradient)
    assert moved == value
    np.testing.assert_allclose(tangent, np.dot(gradient, gradient), rtol=1e-12)
    assert max(map(len, F.explain().splitlines())) < 120


def test_a_chain_is_left_as_it_is():
    x = sd.symbol("x")
    y = x
    for k in range(400):
        y = sd.sin(y) * y + k
    made = schedule([y], [x])
    assert roll_scalars(made, floats=True) is made
    assert roll_scalars(made, floats=False) is made


def test_chains_side_by_side_are_one_chain_of_arrays():
    xs = scalars(100)
    ys = list(xs)
    for _ in range(30):
        ys = [sd.sin(y) + x for x, y in zip(xs, ys, strict=True)]
    F = nm.lower(ys, xs)
    assert len(programs(F)[0].lines) < 70
    at = [0.01 * k for k in range(100)]
    expected = at
    for _ in range(30):
        expected = np.sin(expected) + np.array(at)
    np.testing.assert_allclose(F(*at), expected, rtol=1e-12)


def test_coefficients_that_differ_are_arrays():
    a, b = sd.symbols("a b")
    rng = np.random.default_rng(1)
    data = rng.normal(size=(500, 2)).tolist()
    F = nm.lower(sum((a * t + b * 3 - y) ** 2 for t, y in data), [a, b])
    value, gradient = F.value_and_grad(0.3, -0.4)
    t, y = np.array(data).T
    r = 0.3 * t - 1.2 - y
    assert abs(value - r @ r) <= 1000 * EPS * (r @ r)
    bound = 2000 * EPS * np.abs(r).sum() * 3
    np.testing.assert_allclose(gradient, [2 * r @ t, 6 * r.sum()], rtol=0, atol=bound)
    assert max(len(p.lines) for p in programs(F)) < 20


def test_a_matrix_of_elements_is_gathered_and_put_together():
    n = 24
    A = sd.symbol("A", (n, n))
    f = sum(sd.sin(A[i, j]) * A[j, i] for i in range(n) for j in range(n) if i != j)
    F = nm.lower(f, A)
    at = np.random.default_rng(0).normal(size=(n, n))
    off = 1 - np.eye(n)
    expected = (np.cos(at) * at.T + np.sin(at).T) * off
    np.testing.assert_allclose(F.grad(at), expected, rtol=1e-13, atol=1e-13)
    assert steps(F) < 60


# What they give -----------------------------------------------------------------------------------


def test_numbers_beyond_the_floats_are_numpys():
    xs = scalars(300)
    F = nm.lower([sd.exp(x) / x for x in xs], xs)
    assert len(programs(F)[0].lines) < 10
    with np.errstate(all="ignore"):
        found = F(*[800.0] * 299, 0.0)
    assert found == (np.inf,) * 300
    with np.errstate(all="ignore"):
        assert np.isnan(F(*[-np.inf] * 299, np.nan)[-1])


def test_other_precisions_and_points_go_the_long_way():
    n = 300
    x, xs = sd.symbol("x", n), scalars(n)
    F, G = nm.lower(rosenbrock(elements(x)), x), nm.lower(rosenbrock(xs), xs)
    at = np.linspace(0.5, 1.5, n)
    narrow = F.grad(at.astype(np.float32))
    assert narrow.dtype == np.float32
    np.testing.assert_allclose(narrow, F.grad(at), rtol=1e-3, atol=1e-2)
    points = G(*[np.array([v, 2 * v]) for v in at])
    assert points.shape == (2,)
    np.testing.assert_allclose(points, [G(*at.tolist()), G(*(2 * at).tolist())], rtol=1e-12)
    assert isinstance(G(*[np.float32(v) for v in at]), np.float32)


def test_integers_and_names_are_taken_as_ever():
    xs = scalars(300)
    F = nm.lower(rosenbrock(xs), xs)
    whole = [k % 3 for k in range(300)]
    assert (
        F(*whole)
        == F(*map(float, whole))
        == F(**{x.name: v for x, v in zip(xs, whole, strict=True)})
    )
    with pytest.raises(TypeError, match="301"):
        F(*whole, 1)
    with pytest.raises(TypeError, match="no argument for x299"):
        F(*whole[:-1])
    again = pickle.loads(pickle.dumps(F))
    assert again(*whole) == F(*whole)


UNARY = [sd.sin, sd.exp, sd.tanh, lambda x: x**2, lambda x: 1 / (1 + x**2), lambda x: 3 - x]
BINARY = [
    *(lambda x, y: x + y, lambda x, y: x * y, lambda x, y: x - y / 3, lambda x, y: 2 * x - 0.5 * y),
    *(sd.maximum, lambda x, y: sd.where(x < y, x * y, 1), lambda x, y: x / (2 + y**2)),
]


def random_scalars(rng, leaves, count):
    """Scalars over ``leaves``: rows of one shape, of other operands, and some on their own."""
    values = list(leaves)
    while len(values) < count:
        unary, binary = rng.choice(UNARY), rng.choice(BINARY)
        width = rng.choice([1, 2, 3, 12])
        start, stride = rng.randrange(len(values)), rng.choice([0, 1, 1, 3])
        row = []
        for k in range(width):
            a = values[(start + k * stride) % len(values)]
            b = values[(start + k + 1) % len(values)] if rng.random() < 0.7 else rng.choice(values)
            row.append(sd.tanh(binary(unary(a), rng.choice([1, 2, 0.3]) * b)))
        values += row
    return values


@pytest.mark.parametrize("seed", range(12))
def test_random_graphs_of_elements_are_computed_bit_by_bit(always, monkeypatch, seed):
    monkeypatch.setattr(rolling, "LONG", 10**6)
    rng = random.Random(seed)
    x, A, s = sd.symbol("x", 9), sd.symbol("A", (3, 4)), sd.symbol("s")
    leaves = [*elements(x), *(A[i, j] for i in range(3) for j in range(4)), s, x[0] * 0]
    values = random_scalars(rng, leaves, 120)
    outputs = [*values[-20:], sd.stack(values[-30:]), sd.stack(values[10:14]) * x[:4]]
    gradients = sd.grad(sum(values[-9:]), [x, A, s])
    at = {x: np.linspace(-1, 1, 9), A: np.linspace(0.1, 2, 12).reshape(3, 4), s: np.float64(0.7)}
    found = nm.lower([*outputs, *gradients], [x, A, s])(*at.values())
    expected = nm.interpret([*outputs, *gradients], at)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b, strict=True)


@pytest.mark.parametrize("seed", range(12))
def test_random_graphs_of_scalars_agree_with_interpret(always, seed):
    rng = random.Random(seed)
    xs = scalars(20)
    values = random_scalars(rng, xs, 90)
    f = sum(values[-12:]) + 3 * sum(values[20:60:2]) - sum(values[20:40:3])
    outputs = [*values[-9:], f, *sd.grad(f, xs)]
    F = nm.lower(outputs, xs)
    at = np.linspace(-1, 1, 20)
    expected = nm.interpret(outputs, dict(zip(xs, at, strict=True)))
    np.testing.assert_allclose(F(*at.tolist()), expected, rtol=1e-12, atol=1e-13)
    # Machine code computes scalars as they are.
    assert F._options.native or any(
        isinstance(x.kind, kinds.Element) for x in programs(F)[0].schedule.steps
    )


@pytest.mark.parametrize("flavour", [MATH, NUMPY])
def test_rolled_schedules_have_their_operands_before_their_steps(always, flavour):
    x, xs = sd.symbol("x", 9), scalars(9)
    leaves = xs if flavour == MATH else elements(x)
    values = random_scalars(random.Random(3), leaves, 60)
    made = roll_scalars(
        schedule(values[-20:], xs if flavour == MATH else [x]), floats=flavour == MATH
    )
    known = set()
    for step in made.steps:
        assert known.issuperset(step.operands)
        assert known.isdisjoint(step.results)
        known.update(step.results)
    assert known.issuperset(made.results)


# Sums ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("width", "terms"), [(2, 5), (3, 40), (50, 9)])
def test_sums_side_by_side_keep_the_order_of_their_terms(always, monkeypatch, width, terms):
    monkeypatch.setattr(rolling, "LONG", 10**6)
    rng = np.random.default_rng(terms)
    x = sd.symbol("x", 60)
    xs, factors = elements(x), rng.choice([1, -1, 3, 0.1, 1e9], size=(width, terms)).tolist()
    rows = [rng.choice(60, terms, replace=False) for _ in range(width)]
    outputs = [
        k + 1 + sum(c * sd.exp(xs[j]) for c, j in zip(cs, row, strict=True))
        for k, (cs, row) in enumerate(zip(factors, rows, strict=True))
    ]
    at = rng.normal(size=60)
    F = nm.lower(sd.stack(outputs), x)
    assert F(at).tolist() == nm.interpret(sd.stack(outputs), {x: at}).tolist()
    assert "sum(axis=0)" in F.source


def test_exact_order_adds_up_terms_as_the_formula_has_them():
    n = 300
    x = sd.symbol("x", n)
    f = rosenbrock(elements(x))
    at = np.random.default_rng(0).normal(size=n)
    F = nm.lower(f, x, exact_order=True)
    expected = nm.interpret([f, sd.grad(f, x)], {x: at})
    for G in (F, pickle.loads(pickle.dumps(F))):
        value, (gradient,) = G.value_and_grad(at)
        assert value == expected[0]
        assert gradient.tolist() == expected[1].tolist()
        assert ".sum()" not in G.source
    assert ".sum()" in nm.lower(f, x).source


@pytest.mark.parametrize("n", [300, 1000])
def test_long_sums_are_within_the_bound_of_any_order(n):
    rng = np.random.default_rng(n)
    x = sd.symbol("x", n)
    coefs = rng.choice([1, -1, 2.5, 0.3, 7, -1e3], size=n).tolist()
    F = nm.lower(sum(c * sd.sin(v) for c, v in zip(coefs, elements(x), strict=True)), x)
    at = rng.normal(size=n)
    terms = np.array(coefs) * np.sin(at)
    assert abs(F(at) - math.fsum(terms)) <= n * EPS * np.abs(terms).sum()
    assert steps(F) < 20


def test_selections_of_arrays_are_silent():
    xs = scalars(300)
    with np.errstate(all="raise"):
        F = nm.lower([sd.where(x > 1, sd.log(x - 1), -x) for x in xs], xs)
        found = F(*[0.5] * 299, 2.0)
    assert found == (-0.5,) * 299 + (0.0,)
    assert len(programs(F)[0].lines) < 10


@pytest.mark.numpy_only("its bits")
def test_an_element_of_one_element_is_that(always):
    x, w = sd.symbols("x w", 1)
    y = w / sd.sqrt(x)
    outputs = [sd.concat([y[0:1], x[0:0]]), sd.sin(x) / sd.sqrt(w), y[0]]
    at = {x: np.array([2.0]), w: np.array([3.0])}
    for a, b in zip(
        nm.lower(outputs, [x, w])(*at.values()), nm.interpret(outputs, at), strict=True
    ):
        np.testing.assert_array_equal(a, b, strict=True)


@pytest.mark.numpy_only("its bits")
def test_elements_of_computed_arrays_come_after_these(always):
    A, c = sd.symbol("A", (3, 3)), sd.symbol("c", 3)
    y = sd.solve(A, c)
    outputs = [sd.stack([y[0:1] * y[1:2], sd.sin(y[2:3]) * y[0:1]]), sd.exp(y[1])[None]]
    at = {A: np.eye(3) * 2 + 0.1, c: np.arange(3.0)}
    for a, b in zip(
        nm.lower(outputs, [A, c])(*at.values()), nm.interpret(outputs, at), strict=True
    ):
        np.testing.assert_array_equal(a, b, strict=True)


# Growth -------------------------------------------------------------------------------------------


_words = itertools.count()


def chained(count):
    """A sum of terms over symbols of its own: what is known of another one's saves no work."""
    word = next(_words)
    x = [sd.symbol(f"x{word}_{k}") for k in range(count)]
    terms = [100 * (b - a**2) ** 2 + (1 - a) ** 2 for a, b in pairwise(x)]
    return reduce(add, terms), x


def functions_that_run(work):
    """How many calls of functions written in Python and in C a piece of work takes."""
    count = 0

    def saw(frame, event, arg):
        nonlocal count
        count += event in ("call", "c_call")

    gc.disable()  # what others left is not counted
    sys.setprofile(saw)
    try:
        work()
    finally:
        sys.setprofile(None)
        gc.enable()
    return count


@pytest.mark.slow
@pytest.mark.parametrize(
    "work",
    [
        lambda f, x: nm.lower(f, x),
        lambda f, x: nm.lower(f, x).value_and_grad(*[0.5] * len(x)),
        lambda f, x: sd.grad(f, x),
    ],
    ids=["lower", "value and gradient", "differentiate"],
)
def test_work_grows_with_the_number_of_terms(work):
    """A graph of twice the terms takes twice the calls, and no more."""
    work(*chained(20))  # what is seen for the first time
    small, middle, large = [
        min(functions_that_run(lambda n=n: work(*chained(n))) for _ in range(2))
        for n in (200, 400, 800)
    ]
    assert large - middle <= 2.1 * (middle - small)


def test_operations_grow_with_the_number_of_terms():
    counts = [sd.count_operations(sd.grad(*chained(n))) for n in (300, 600, 1200)]
    assert counts[2] - counts[1] == 2 * (counts[1] - counts[0])
