"""Sums of squares as dot products, and sums that begin with what is positive."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import numeric as nm
import symdiff as sd
from numeric.lowering.passes.squares import dot_squares
from numeric.lowering.schedule import schedule
from tests.support.budget import sample

x, y = sd.symbols("x y", "n")
A = sd.symbol("A", ("n", 3))
EPS = {np.float64: np.finfo(np.float64).eps, np.float32: np.finfo(np.float32).eps}


def counted(f, inputs):
    """How many steps of each form a formula has, without the pass and with it."""
    steps = schedule([f], inputs)
    found = dot_squares(steps, [False] * steps.length)
    return [[step.kind.name for step in s.steps if not step.leaf] for s in (steps, found)]


@sample(60)
@given(
    st.integers(0, 300),
    st.lists(st.integers(1, 9), min_size=2, max_size=3),
    st.sampled_from([np.float64, np.float32]),
    st.integers(0, 10**6),
)
def test_sums_of_squares_are_within_the_bound_of_any_order(n, coefs, dtype, seed):
    """Every order of n positive terms is right within n roundings of the sum itself."""
    rng = np.random.default_rng(seed)
    data = [(10.0 ** rng.integers(-6, 6, n) * rng.normal(size=n)).astype(dtype) for _ in coefs]
    xs = [sd.symbol(f"x{k}", "n") for k in range(len(coefs))]
    f = sd.sum(sum((c * v**2 for c, v in zip(coefs, xs, strict=True)), sd.constant(0.0)))
    found = nm.lower(f, xs)(*data)
    exact = sum(c * float(a) ** 2 for c, v in zip(coefs, data, strict=True) for a in v)
    bound = (len(coefs) * n + 4) * (EPS[dtype] + EPS[np.float64])
    assert abs(float(found) - exact) <= bound * exact


def test_no_square_is_stored():
    before, after = counted(sd.sum(100 * sd.sin(x) ** 2 + y**2), [x, y])
    assert sorted(before) == ["kernel", "pointwise", "power", "power", "sum"]
    assert sorted(after) == ["kernel", "kernel", "pointwise", "sum"]


@pytest.mark.parametrize(
    "f",
    [
        sd.sum(x**2 - y**2),  # terms cancel
        sd.sum(x**2 + y**3),  # no square
        sd.sum(x**2 + y**2 + 1),
        sd.sum(sd.sin(x**2 + y**2)),
        sd.sum(A**2 + A[0] ** 2),  # stretched along the rows
        sd.sum(A**2 + sd.sin(A) ** 2, axis=0),
        sd.sum(x**2 + y**2) + x**2,  # a square that is needed anyway
    ],
)
def test_other_sums_stay(f):
    inputs = sorted(f.free_symbols, key=lambda s: s.name)
    before, after = counted(f, inputs)
    assert before == after


def test_exact_order_adds_the_squares_as_interpret_does():
    a, b = np.random.default_rng(0).normal(size=(2, 1000))
    f = sd.sum(3 * x**2 + y**2)
    exact = nm.lower(f, [x, y], exact_order=True)
    assert float(exact(a, b)) == float(nm.interpret(f, {x: a, y: b}))
    assert ".dot(" not in exact.source
    assert ".dot(" in nm.lower(f, [x, y]).source


@pytest.mark.numpy_only("its bits")
@pytest.mark.parametrize(
    ("f", "text", "by_hand"),
    [
        (1 - sd.sin(x), "1.0 - sin(v1)", lambda a, b: -np.sin(a) + 1),
        (2 - x / 3, "2.0 - v1/3.0", lambda a, b: -a / 3 + 2),
        (y - x, "v2 - v1", lambda a, b: -a + b),
        (y - x - 3, "v2 - v1 - 3.0", lambda a, b: -a + b - 3),
        (-x - y, "-v1 - v2", lambda a, b: -a - b),
        (-x - 3, "-v1 - 3.0", lambda a, b: -a - 3),
        (y - 3 * x, "-3.0*v1 + v2", lambda a, b: -3 * a + b),  # a multiple costs the same
    ],
)
def test_a_sum_begins_with_what_is_positive(f, text, by_hand):
    """Bit for bit: b - a is -a + b, of zeros of either sign, too."""
    a, b = (v.ravel() for v in np.meshgrid([0.0, -0.0, 1.5, np.inf], [0.0, -0.0, 0.1, -np.inf]))
    F = nm.lower(f, [x, y])
    assert f"= {text}\n" in F.source
    with np.errstate(invalid="ignore"):
        found, expected = F(a, b), by_hand(a, b)
    assert np.array_equal(found, expected, equal_nan=True)
    known = ~np.isnan(expected)
    assert np.array_equal(np.signbit(found)[known], np.signbit(expected)[known])
