"""Gathers of few rows are computed of few rows: the same values, of fewer elements."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import numeric as nm
import symdiff as sd
from numeric.lowering.gathers import gathered
from numeric.lowering.schedule import schedule
from symdiff.graph import ops
from symdiff.graph.node import topological
from tests.support.budget import sample

N = 24
X, W = sd.symbol("X", (N, 3)), sd.symbol("W", (3, 3))
T, v = sd.symbol("T", (N, 3, 3)), sd.symbol("v", N)
INPUTS = [X, W, T, v]
FEW = st.lists(st.integers(-N, N - 1), min_size=1, max_size=N // 4)

# Each works row by row on an array of shape (rows, 3); all are exact on small whole numbers.
STEPS = [
    lambda f: f * f - 2 * f,
    lambda f: f + W[0],
    lambda f: f @ W,
    lambda f: W @ f.T,
    lambda f: sd.where(f > 1, f, 3 - f),
    lambda f: f[:, ::2],
    lambda f: f[2:],
    lambda f: f[1:-1:2],
    lambda f: sd.sum(f, axis=1),
    lambda f: sd.maximum(f, sd.abs(f) - 2),
]
PAIRS = [
    lambda f: f * X[: f.shape[0]],
    lambda f: sd.einsum("vij,vj->vi", T[: f.shape[0]], f),
    lambda f: f + v[: f.shape[0], None],
    lambda f: f - sd.sum(f),  # all rows are needed
    lambda f: sd.cumsum(f, axis=0),  # the rows before are needed
]


def data(seed):
    rng = np.random.default_rng(seed)
    return {x: rng.integers(-3, 4, x.shape).astype(float) for x in INPUTS}


@st.composite
def formulas(draw):
    f = X
    for _ in range(draw(st.integers(1, 4))):
        if f.ndim != 2 or f.shape[1] != 3:
            break
        step = draw(st.sampled_from(STEPS + PAIRS))
        f = step(f)
    axis = int(f.ndim == 2 and f.shape[0] == 3)  # behind a transpose
    length = f.shape[axis]
    few = [i % length for i in draw(FEW)] if length else []  # of four slices nothing is left
    return f[:, few] if axis else f[few]


def assume_exact(*arrays):
    """Leave out programs whose whole numbers are beyond those that floats add exactly."""
    assume(all(np.all(np.abs(a) < 2.0**53) for a in arrays))


@sample(150)
@given(formulas(), st.integers(0, 10**6))
def test_rows_are_those_of_the_whole(f, seed):
    """Whole numbers are exact, however they are added: no bit differs."""
    given = data(seed)
    found = nm.lower(f, INPUTS)(*given.values())
    expected = nm.interpret(f, given)
    assume_exact(expected)
    assert found.shape == expected.shape
    assert np.array_equal(found, expected)


@sample(40)
@given(formulas(), st.integers(0, 10**6))
def test_derivatives_are_those_of_the_whole(f, seed):
    given = list(data(seed).values())
    g = sd.sum(f * f)
    moved, whole = (nm.lower(g, INPUTS, exact_order=exact) for exact in (False, True))
    value, expected = whole.value_and_grad(*given)
    assume_exact(value, *expected)
    for a, b in zip(moved.grad(*given), expected, strict=True):
        assert np.array_equal(a, b)


def lengths(fs, inputs):
    """The lengths of the first axes of what is computed, gathers apart."""
    steps = schedule(gathered(fs), inputs).steps
    return {
        step.shapes[0][0]
        for step in steps
        if not step.leaf and step.shapes[0] and not isinstance(step.op, ops.Gather)
    }


def test_what_is_not_read_is_not_computed():
    weights, bones = sd.symbol("weights", (1000, 6)), sd.symbol("bones", (6, 4, 4))
    points, rows = sd.symbol("points", (1000, 4)), list(range(0, 1000, 50))
    blended = sd.einsum("vb,bij->vij", weights, bones)
    moved = sd.einsum("vij,vj->vi", blended, points)[:, :3]
    f = sd.exp(moved)[rows]
    assert lengths([f], [weights, bones, points]) == {20}
    (found,) = gathered([f])
    gathers = [x for x in topological([found]) if isinstance(x.op, ops.Gather)]
    assert sorted(x.args[0].name for x in gathers) == ["points", "weights"]


@pytest.mark.parametrize(
    "fs",
    [
        [sd.sin(X)[[1, 2]], sd.sum(sd.sin(X))],  # all rows are read anyway
        [sd.sin(X)[[1, 2]], sd.sin(X)[[1, 3]]],  # each wants others
        [sd.sin(X)[list(range(N // 4 + 1))]],  # not few
        [sd.sin(v)[sd.argsort(v)][[1, 2]]],  # in places that data say
        [X[[1, 2]]],
        [sd.sin(T)[[1, 2], [0, 1]]],  # elements, not rows
        [sd.sin(sd.symbol("Z", (N, "n")))[[1, 2]]],  # rows of a length that calls tell
    ],
)
def test_other_gathers_stay(fs):
    assert all(a is b for a, b in zip(gathered(fs), fs, strict=True))


def test_gathers_of_equal_rows_are_one_demand():
    s = sd.sin(X)
    f = s[[1, 2]] * sd.exp(s * s)[[1, 2]]
    assert lengths([f], [X]) == {2}


def test_exact_order_leaves_gathers_where_they_are():
    f = sd.tanh(X @ W)[[1, 2]]
    assert "v1.reshape(72)[index]" in nm.lower(f, [X, W]).source
    exact = nm.lower(f, [X, W], exact_order=True).source
    assert "v1.reshape(72)" not in exact
    assert ".reshape(72)[index]" in exact


def test_kinks_are_asked_of_all_rows():
    with sd.kinks("raise"):
        F = nm.lower(sd.sum(sd.abs(X)[[1, 2]]), X)
    with pytest.raises(sd.NotDifferentiable):
        F.grad(np.zeros((N, 3)))
    above = np.ones((N, 3))
    above[0] = 0
    with pytest.raises(sd.NotDifferentiable):
        F.grad(above)
