"""Matrix products with rows and columns added, and the extremes of their rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import numeric as nm
import symdiff as sd
from numeric.lowering.kernels.products import affine, affine_max, affine_min
from numeric.lowering.passes.affine import join_affine_sums
from numeric.lowering.schedule import schedule
from tests.support.budget import sample

A, B = sd.symbol("A", (400, 3)), sd.symbol("B", (3, 60))
r, c = sd.symbol("r", 400), sd.symbol("c", 60)
INPUTS = [A, B, r, c]
EPS = {np.float64: np.finfo(np.float64).eps, np.float32: np.finfo(np.float32).eps}


def forms(f):
    steps = schedule([f], INPUTS)
    return [
        s.kind.name for s in join_affine_sums(steps, [False] * steps.length).steps if not s.leaf
    ]


COMBINED = {
    "all": r[:, None] - 2 * (A @ B) + c,
    "scaled and a row": 3 * (A @ B) - 2 * r[:, None],
    "rows and columns": A @ B + r[:, None] / 3 + c,
    "transposed": (2 * (B.T @ A.T) - r + c[:, None]).T,
    "of transposes": (c[:, None] - 2 * (A @ B).T + r).T,
}


@pytest.mark.parametrize("name", COMBINED)
def test_it_is_one_product(name):
    found = forms(COMBINED[name])
    assert found.count("affine") == 1
    assert "sum" not in found[found.index("affine") :]


@pytest.mark.parametrize(
    "f",
    [
        A @ B + c,  # one pass
        A @ B / 2 + r[:, None] + c,  # scaled down: what is small may leave the floats
        2 * (A @ B) + A @ sd.exp(B) + c + r[:, None],
        2 * (A @ B) + r[:, None] + c + 1,
        (A @ B) * (2 * (A @ B) + r[:, None] + c),  # the product is needed, too
        2 * (A[:10] @ B) + r[:10, None] + c,  # small
        2 * (A @ A.T) + r[:, None] + r + sd.diag(r),
    ],
)
def test_other_sums_are_not_joined(f):
    assert "affine" not in forms(f)


@sample(40)
@given(
    st.integers(0, 10**6),
    st.sampled_from([np.float64, np.float32]),
    st.sampled_from(sorted(COMBINED)),
)
def test_values_are_within_the_bound_of_any_order(seed, dtype, name):
    """Six terms in any order are right within six roundings of the sum of their sizes."""
    rng = np.random.default_rng(seed)
    data = [(10.0 ** rng.integers(-4, 4) * rng.normal(size=x.shape)).astype(dtype) for x in INPUTS]
    found = nm.lower(COMBINED[name], INPUTS)(*data)
    exact = [x.astype(np.longdouble) for x in data]
    sizes = [abs(x) for x in exact]
    coefs = {"all": (-2, 1, 1), "scaled and a row": (3, -2, 0), "rows and columns": (1, 1 / 3, 1)}
    a, b, row, column = exact
    k = {"transposed": (2, -1, 1), "of transposes": (-2, 1, 1), **coefs}[name]
    expected = k[0] * (a @ b) + k[1] * row[:, None] + k[2] * column
    a, b, row, column = sizes
    bound = abs(k[0]) * (a @ b) + abs(k[1]) * row[:, None] + abs(k[2]) * column
    assert found.dtype == dtype
    assert (abs(found - expected) <= 9 * EPS[dtype] * bound).all()


def test_exact_order_adds_term_by_term():
    rng = np.random.default_rng(0)
    data = [rng.normal(size=x.shape) for x in INPUTS]
    exact = nm.lower(COMBINED["all"], INPUTS, exact_order=True)
    given = dict(zip(INPUTS, data, strict=True))
    assert np.array_equal(exact(*data), nm.interpret(COMBINED["all"], given))
    assert "affine" not in exact.source
    assert "affine(" in nm.lower(COMBINED["all"], INPUTS).source


@pytest.mark.parametrize(
    ("extreme", "of_affine"), [(np.min, affine_min), (np.max, affine_max)], ids=["min", "max"]
)
@pytest.mark.parametrize("n", [0, 1, 7, 5000])
def test_extremes_are_those_of_the_whole(extreme, of_affine, n):
    """Whole numbers are exact; 5,000 rows are several blocks."""
    rng = np.random.default_rng(n)
    a, b = (rng.integers(-3, 4, shape).astype(float) for shape in ((n, 3), (3, 60)))
    row, column = rng.integers(-3, 4, (n, 1)).astype(float), rng.integers(-3, 4, 60).astype(float)
    if n > 5:
        a[2], row[4] = np.inf, np.nan
    with np.errstate(invalid="ignore"):
        whole = affine(a, b, -2, row, column)
        by_terms = -2 * (a @ b) + row + column
        found = of_affine(a, b, -2, row, column)
    assert np.array_equal(whole, by_terms, equal_nan=True)
    assert np.array_equal(found, extreme(by_terms, axis=1), equal_nan=True)


def test_what_would_leave_the_floats_is_scaled_last():
    a, b, ones = np.full((2, 1), 1e-300), np.full((1, 3), 1e308), np.ones(3)
    expected = 1 - 2 * (1e-300 * 1e308)
    assert affine(a, b, -2, None, ones).tolist() == [[expected] * 3] * 2
    assert affine_min(a, b, -2, None, ones).tolist() == [expected] * 2


def test_extremes_of_an_affine_value_make_no_matrix():
    assert forms(sd.sum(sd.min(COMBINED["all"], axis=1)))[-2:] == ["affine", "kernel"]
    assert "affine_min(" in nm.lower(sd.min(COMBINED["all"], axis=1), INPUTS).source
    both = sd.max(COMBINED["all"], axis=1) * sd.sum(COMBINED["all"], axis=1)  # it is read twice
    assert forms(both).count("kernel") >= 2


def test_extremes_of_no_columns_are_refused():
    with pytest.raises(ValueError, match="has no element"):
        affine_min(np.ones((2, 3)), np.ones((3, 0)), 1, None, None)


@pytest.mark.numpy_only("its text")
def test_explain_tells_what_is_one_product():
    shapes = "(400, 3) and (3, 60) to"
    told = nm.lower(COMBINED["all"], INPUTS).explain({})
    assert f"matmul with rows and columns added: {shapes} (400, 60), BLAS: gemm" in told
    told = nm.lower(sd.max(COMBINED["all"], axis=1), INPUTS).explain({})
    assert f"rows and columns added, max of each row: {shapes} (400,), BLAS: gemm" in told
