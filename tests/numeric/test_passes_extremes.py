"""Derivatives of extremes by place."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import numeric as nm
import symdiff as sd
from numeric.lowering.kernels.extremes import AtExtremes
from numeric.lowering.passes.extremes import read_extremes_by_place
from numeric.lowering.schedule import schedule
from tests.support.budget import sample

p, c = sd.symbol("p", (400, 2)), sd.symbol("c", (20, 2))
w = sd.symbol("w", 400)
INPUTS = [p, c, w]
SQUARES = sd.sum(p**2, axis=1)[:, None] - 2 * (p @ c.T) + sd.sum(c**2, axis=1)


def forms(fs, inputs=INPUTS):
    steps = schedule(fs, inputs)
    return [
        s.kind.name
        for s in read_extremes_by_place(steps, [False] * steps.length).steps
        if not s.leaf
    ]


def curvature(f, x):
    gradient = sd.grad(f, x)
    return [gradient, sd.jvp(gradient, x, sd.ones(x.shape))]


FORMULAS = {
    "min": sd.sum(sd.min(SQUARES, axis=1)),
    "max": sd.sum(sd.max(SQUARES, axis=1)),
    "weighted": w @ sd.min(SQUARES, axis=1),
    "squared": sd.sum(sd.min(SQUARES, axis=1) ** 2),
    "of products": sd.sum(sd.max(p @ c.T, axis=1) ** 2),
    "transposed": sd.sum(3 * sd.max(c @ p.T, axis=0)),
}


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("x", [p, c], ids=["points", "centres"])
def test_no_matrix_is_made(name, x):
    found = forms([sd.grad(FORMULAS[name], x)])
    assert found.count("extremes") == 1
    assert "placed" in found


def test_places_are_looked_for_once():
    found = forms(curvature(FORMULAS["min"], c))
    assert (found.count("extremes"), found.count("placed")) == (1, 2)


def whole_numbers(seed, ties):
    """Data with few different whole numbers have ties; with many they have none, mostly."""
    rng = np.random.default_rng(seed)
    size = 3 if ties else 10**4
    return [rng.integers(-size, size, x.shape).astype(float) for x in INPUTS]


@sample(60)
@given(
    st.integers(0, 10**6),
    st.sampled_from(sorted(FORMULAS)),
    st.booleans(),
    st.sampled_from([p, c]),
)
def test_derivatives_are_those_of_the_whole(seed, name, ties, x):
    """Sums of 400 terms in any order are right within as many roundings of their sizes."""
    data = whole_numbers(seed, ties)
    wanted = curvature(FORMULAS[name], x)
    found = nm.lower(wanted, INPUTS)
    exact = nm.lower(wanted, INPUTS, exact_order=True)
    assert "AtExtremes" in found.source
    assert "AtExtremes" not in exact.source
    most = max(abs(v).max() for v in data) + 1
    for a, b in zip(found(*data), exact(*data), strict=True):
        assert a.shape == b.shape
        assert (abs(a - b) <= 410 * np.finfo(float).eps * 400 * 6 * most**3).all()


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", FORMULAS)
def test_what_is_not_finite_spreads_as_it_does_in_the_whole(name, odd):
    for place in (0, 1, 2):
        data = whole_numbers(5, False)
        data[place][3] = odd
        wanted = curvature(FORMULAS[name], c)
        with np.errstate(all="ignore"):
            found = nm.lower(wanted, INPUTS)(*data)
            expected = nm.lower(wanted, INPUTS, exact_order=True)(*data)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=0)


def test_float32_stays():
    data = [v.astype(np.float32) for v in whole_numbers(1, False)]
    found = nm.lower(curvature(FORMULAS["min"], c), INPUTS)(*data)
    assert {a.dtype for a in found} == {np.dtype(np.float32)}


X = sd.symbol("X", (400, 20))


MATRIX = sd.grad(sd.sum(sd.min(X, axis=1)), X)


@pytest.mark.parametrize(
    "fs",
    [
        [MATRIX],
        [MATRIX, sd.sum(MATRIX, axis=0)],  # the matrix is a result
        [sd.sum(MATRIX, axis=0), sd.sin(MATRIX)],  # what reads it works by element
        [sd.einsum("ij,ij->j", MATRIX, X)],
        [MATRIX.T @ MATRIX],
        [sd.grad(sd.sum(sd.min(c @ sd.symbol("q", (2, 9)), axis=1)), c)],  # small
        [sd.grad(sd.sum(sd.min(X[None] + X[:5, None], axis=2)), X)],  # more axes
    ],
)
def test_other_derivatives_stay(fs):
    inputs = sorted({x for f in fs for x in f.free_symbols}, key=lambda s: s.name)
    assert "extremes" not in forms(fs, inputs)


def test_a_nan_does_not_make_up_for_a_tie():
    x = np.random.default_rng(0).normal(size=(50, 12))
    x[3, 4] = np.nan
    x[7, :2] = 9.0
    shares = [np.isnan(row) if np.isnan(row).any() else row == row.max() for row in x]
    expected = np.sum([share / share.sum() for share in shares], axis=0)
    assert np.array_equal(AtExtremes("max", x, x.max(axis=1), 1).sum(0), expected)


@pytest.mark.parametrize("name", ["min", "max"])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("columns", [3, 30])
def test_the_matrix_is_read_as_an_array(name, ties, columns):
    """Whole numbers, and shares that are halves of them, are exact."""
    rng = np.random.default_rng(columns)
    rows = 5000  # several blocks
    x = np.array([rng.permutation(columns) for _ in range(rows)], float)
    if ties:
        x[4321, :2] = columns if name == "max" else -1
    g = 2.0 * rng.integers(-5, 6, rows)
    extremes = getattr(np, name)(x, axis=1)
    whole = np.where(x == extremes[:, None], g[:, None], 0)
    whole /= (x == extremes[:, None]).sum(axis=1)[:, None]
    matrix = AtExtremes(name, x, extremes, g)
    assert (matrix.places is None) == ties
    for axis, other in ((0, rows), (1, columns)):
        assert np.array_equal(matrix.sum(axis), whole.sum(axis=axis))
        for b in (rng.integers(-9, 9, other), rng.integers(-9, 9, (other, 4))):
            expected = (whole.T if axis == 0 else whole) @ b
            assert np.array_equal(matrix.dot(axis, b.astype(float)), expected)


@pytest.mark.parametrize("ties", [False, True])
def test_zeros_win_where_they_are_strong(ties):
    x = np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0], [3.0, 4.0, 4.0 if ties else 1.0]])
    matrix = AtExtremes("max", x, x.max(axis=1), np.array([1.0, 0.0, 1.0]))
    b = np.array([1.0, np.inf, 2.0])
    with np.errstate(invalid="ignore"):
        assert np.isnan(matrix.dot(0, b)).all()
    assert matrix.dot(0, b, strong=True).tolist() == [0, 1 if ties else 2, 2 if ties else 1]
    assert matrix.dot(0, np.stack([b, b], axis=1), strong=True).shape == (3, 2)


def test_explain_tells_what_is_read_by_place():
    told = nm.lower(curvature(FORMULAS["min"], c), INPUTS).explain({})
    assert "read at the extremes of rows: (400, 20) to (20,)" in told
