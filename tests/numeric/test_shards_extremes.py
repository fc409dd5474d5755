"""Comparisons over shards: each is decided once, whichever programs need it.

Passes are programs of their own, which may round the same rows differently.  The oracle of extremes
is NumPy's row at their place, in double precision; it knows no derivative rule and no shard.
"""

from __future__ import annotations

import pickle
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import numeric as nm
import symdiff as sd
from numeric.shards.subtotals import Mask
from symdiff.graph import ops
from symdiff.graph.node import topological
from symdiff.transforms.row_sums import row_sums
from tests.support.budget import sample
from tests.support.extremes import EXTREMES, ROWS, X, clear_extreme, is_clear, tables, w

lam, b, y = sd.symbol("lam"), sd.symbol("b"), sd.symbol("y", "n")


@cache
def squared_extreme(rows, name, backend):
    """Half the square of an extreme: its Hessian by w is the gradient of the extreme, squared."""
    z = ROWS[rows][0] @ w
    f = EXTREMES[name](z) ** 2 / 2
    return nm.sharded(f, [X, w], over="n", backend=backend), z


def check_extreme(rows, name, backend, dtype, table):
    data, at, cuts = table
    data, at = data.astype(dtype), at.astype(dtype)
    value, slope, tolerance = clear_extreme(rows, name, data, at)
    S, predictions = squared_extreme(rows, name, backend)
    shards = [data[i:j] for i, j in pairwise(cuts)]
    tangent = np.ones(len(at), dtype)
    found, gradient = S.value_and_grad(shards, at, wrt="w")
    curvature = np.outer(slope, slope)
    for one, other in [
        (found, value**2 / 2),
        (gradient, value * slope),
        (S.hessian(shards, at, wrt="w"), curvature),
        (S.hvp(tangent, shards, at, wrt="w"), curvature @ tangent),
        (
            S.gauss_newton_product(tangent, shards, at, of=predictions, wrt="w"),
            curvature @ tangent,
        ),
    ]:
        assert one.dtype == dtype
        np.testing.assert_allclose(np.asarray(one, float), other, rtol=0, atol=tolerance)


@pytest.mark.slow
@sample(120)
@given(
    st.sampled_from(sorted(ROWS)),
    st.sampled_from(sorted(EXTREMES)),
    st.sampled_from([np.float64, np.float32]),
    tables(),
)
def test_extremes_have_the_derivatives_of_the_row_at_their_place(rows, name, dtype, table):
    check_extreme(rows, name, "numpy", dtype, table)


@pytest.mark.slow
@sample(5)
@given(
    st.sampled_from(["plain", "standardised"]),
    st.sampled_from(["max", "norm"]),
    st.sampled_from([np.float64, np.float32]),
    tables(),
)
def test_extremes_in_machine_code(rows, name, dtype, table):
    check_extreme(rows, name, "native", dtype, table)


# By name ------------------------------------------------------------------------------------------


def test_extremes_of_standardised_rows():
    """The product is (X - m) @ (s*w) in one pass and ((X - m)*s) @ w in another."""
    data = np.array([[-0.2, 1.5], [0.2, 1.4], [-0.4, -0.3]])
    at = np.array([-3.9, 0.5])
    f = sd.max(ROWS["standardised"][0] @ w)
    R = ROWS["standardised"][1](data)
    row = R[np.argmax(R @ at)]
    for cuts in ((0, 3), (0, 1, 1, 2, 3)):
        shards = [data[i:j] for i, j in pairwise(cuts)]
        _, gradient = nm.sharded(f, [X, w], over="n").value_and_grad(shards, at, wrt="w")
        np.testing.assert_allclose(gradient, row, rtol=1e-12)


def test_extremes_of_single_precision_rows():
    data, one = np.array([1, 2, 4], np.float32), np.float32(1)
    S = nm.sharded(sd.max((y - sd.mean(y)) * lam + b * 0), [y, b, lam], over="n")
    for shards in ([data], [data[:1], data[1:]]):
        _, (gb, gl) = S.value_and_grad(shards, one, one, wrt=["b", "lam"])
        assert gb == 0
        assert gb.dtype == gl.dtype == np.float32
        np.testing.assert_allclose(gl, 5 / 3, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_extremes_of_a_product_in_machine_code(dtype):
    """A loop of C finds the extreme, and BLAS has the same product in a later pass."""
    data = np.array([[0.7, -0.3, 0], [0.5, 1.7, -0.8]], dtype)
    at = np.array([-1.8, -0.5, 0.1], dtype)
    S = nm.sharded(sd.max(X @ w), [X, w], over="n", backend="native")
    _, gradient = S.value_and_grad([data], at, wrt="w")
    np.testing.assert_array_equal(gradient, data[0])


def test_ties_share_the_derivative_across_shards_as_in_one():
    data = np.array([[3.0, 1.0], [1.0, 3.0], [-4.0, 0.0], [2.0, 2.0], [3.0, 1.0]])
    at = np.array([1.0, 1.0])
    for name, of in EXTREMES.items():
        f = of(X @ w)
        whole = nm.lower(f, [X, w]).grad(data, at, wrt="w")
        for cuts in ((0, 5), (0, 1, 1, 3, 5), (0, 2, 4, 5)):
            shards = [data[i:j] for i, j in pairwise(cuts)]
            _, gradient = nm.sharded(f, [X, w], over="n").value_and_grad(shards, at, wrt="w")
            np.testing.assert_array_equal(gradient, whole, err_msg=name)


def test_rows_that_are_nan_are_the_extreme():
    data = np.array([[1.0, 2.0], [3.0, 5.0], [0.0, 0.5], [-2.0, 7.0]])
    noise = np.array([0.0, np.nan, 9.0, np.nan])
    shards = [[x[:1], x[1:3], x[3:]] for x in (data, noise)]
    for of in (sd.max, sd.min):
        S = nm.sharded(of(X @ w + y), [X, y, w], over="n")
        value, gradient = S.value_and_grad(*shards, np.ones(2), wrt="w")
        assert np.isnan(value)
        np.testing.assert_array_equal(gradient, [0.5, 6.0])


@pytest.mark.parametrize("row", [[np.nan, 1.0], [np.inf, 1.0], [-np.inf, 1.0], [-0.0, 0.0]])
def test_rows_that_are_no_numbers_count_as_in_one_program(row):
    data = np.array([[1.0, 2.0], row, [0.0, 0.0], row])
    at = np.array([0.5, 0.25])
    for of in (sd.max, sd.min, sd.ptp):
        f = of(sd.tanh(X @ w)) * lam
        whole = nm.lower(f, [X, w, lam]).value_and_grad(data, at, 2.0, wrt=[w, lam])
        S = nm.sharded(f, [X, w, lam], over="n")
        value, gradient = S.value_and_grad([data[:1], data[1:3], data[3:]], at, 2.0, wrt=[w, lam])
        np.testing.assert_allclose(value, whole[0])
        for one, other in zip(gradient, whole[1], strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-14)


def test_extremes_of_columns_and_of_empty_shards():
    z = ROWS["standardised"][0] * w
    f = sd.sum(sd.max(z, axis=0) ** 2) + sd.sum(sd.min(z, axis=0) * w)
    data = np.random.default_rng(5).normal(size=(40, 3)).astype(np.float32)
    at = np.array([0.5, -1.0, 2.0], np.float32)
    whole = nm.lower(f, [X, w])
    S = nm.sharded(f, [X, w], over="n")
    shards = [data[:0], data[:17], data[17:18], data[18:], data[:0]]
    np.testing.assert_allclose(
        S.value_and_grad(shards, at, wrt="w")[1], whole.grad(data, at, wrt="w"), rtol=1e-4
    )
    np.testing.assert_allclose(
        S.hessian(shards, at, wrt="w"), whole.hessian(data, at, wrt="w"), rtol=1e-4, atol=1e-4
    )


def test_processes_hand_on_what_the_first_pass_decided():
    data = np.array([[-0.2, 1.5], [0.2, 1.4], [-0.4, -0.3]])
    at = np.array([-3.9, 0.5])
    f = sd.max(ROWS["standardised"][0] @ w)
    shards = [data[:1], data[1:]]
    here = nm.sharded(f, [X, w], over="n").value_and_grad(shards, at, wrt="w")
    with ProcessPoolExecutor(2) as processes:
        S = nm.sharded(f, [X, w], over="n", executor=processes)
        there = S.value_and_grad(shards, at, wrt="w")
    np.testing.assert_array_equal(here[1][0], there[1][0])
    assert np.abs(here[1][0]).max() > 1


@pytest.mark.parametrize("true", [0, 1, 3, 150, 300])
def test_masks_are_what_they_were(true):
    values = np.zeros((3, 100), bool)
    values.reshape(-1)[np.random.default_rng(true).permutation(300)[:true]] = True
    mask = pickle.loads(pickle.dumps(Mask.of(values)))
    np.testing.assert_array_equal(mask.array(), values)
    assert mask.content.nbytes <= 38


# Comparisons in the formula -----------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["numpy", "native"])
def test_a_formula_may_compare_rows_with_their_extreme(backend):
    z = ROWS["standardised"][0] @ w
    top = sd.max(z)
    formulas = [
        sd.sum(sd.where(z == top, z, 0)),
        sd.sum(sd.where(z >= top, sd.exp(z), 0)),
        sd.sum(sd.where(z < top, 1, 0)),
        sd.sum(sd.sqrt(top - z)),
    ]
    functions = [nm.sharded(f, [X, w], over="n", backend=backend) for f in formulas]
    rng = np.random.default_rng(0)
    for _ in range(40):
        rows, d = rng.integers(3, 7), rng.integers(1, 4)
        data, at = np.round(rng.normal(size=(rows, d)), 1), np.round(rng.normal(size=d), 1)
        R = ROWS["standardised"][1](data)
        exact = R @ at
        if not is_clear("max", exact, data, 1e-12 * np.abs(exact).max()):
            continue
        best = np.argmax(exact)
        m, row = exact[best], R[best]
        count = np.sum(np.all(data == data[best], axis=1))
        shards = [data[:1], data[1:]]
        same, ahead, below, roots = (S.value_and_grad(shards, at) for S in functions)
        close = {"rtol": 1e-9, "atol": 1e-9}
        np.testing.assert_allclose(same[0], count * m, **close)
        np.testing.assert_allclose(same[1][0], count * row, **close)
        np.testing.assert_allclose(ahead[0], count * np.exp(m), **close)
        np.testing.assert_allclose(ahead[1][0], count * np.exp(m) * row, **close)
        assert below[0] == len(data) - count
        np.testing.assert_allclose(roots[0], np.sum(np.sqrt(m - exact)), atol=1e-6)


def test_no_row_is_beyond_the_extreme():
    """All rows have one sum, but for its rounding, which is not the same in all passes."""
    z = ROWS["standardised"][0] @ w
    top, bottom = sd.max(z), sd.min(z)
    inside = sd.sum(sd.sqrt(top - z) + sd.sqrt(z - bottom))
    beyond = sd.sum(sd.where((z > top) | (z < bottom), z + 10, 0))
    functions = [nm.sharded(f, [X, w], over="n") for f in (inside, beyond)]
    rng = np.random.default_rng(0)
    for _ in range(30):
        data = np.array(list(permutations(rng.normal(size=3).round(1) + np.arange(3))))
        at = np.full(3, rng.normal())
        (distances, _), (rest, (slope,)) = [
            S.value_and_grad([data[:4], data[4:]], at) for S in functions
        ]
        assert 0 <= distances < 1e-6
        assert rest == 0
        assert not slope.any()


def test_a_count_and_a_selection_agree():
    """The mean of the rows above the mean: either row may be above, where both are the mean."""
    z = ROWS["standardised"][0] @ w
    above = z >= sd.mean(z)
    f = sd.sum(sd.where(above, sd.exp(z), 0)) / sd.sum(sd.where(above, 1, 0))
    data = np.array([[-0.1, -0.7, 0.1], [-1.0, 0.0, -0.1]], np.float32)
    at = np.array([0.0, 0.3, 0.3], np.float32)
    value, (gradient,) = nm.sharded(f, [X, w], over="n").value_and_grad([data[:0], data], at)
    R = np.sign(data - data.mean(0)).astype(float)
    np.testing.assert_allclose(value, 1, atol=1e-6)
    subsets = [R[0], R[1], R.mean(axis=0)]
    assert any(np.allclose(gradient, row, atol=1e-5) for row in subsets)


def comparing(plan):
    """The numbers of comparisons in what is computed before each pass, in it, and at last."""
    programs = [plan.results]
    for new, sums, later in plan.passes:
        programs += [[e for _, e in new], [*[s.part for s in sums], *[e for _, e in later]]]
    return [
        sum(isinstance(x.op, ops.Pointwise) and x.op.name == "less" for x in topological(p))
        for p in programs
        if p
    ]


def test_a_comparison_is_made_by_one_program():
    low, near = (sd.where(sd.mean(y) < bound, 1, 2) for bound in (lam * b, lam))
    cases = [
        # of numbers that are the same for all rows, in two passes and the result
        lambda switch: sd.std(sd.tanh(y * switch)) * switch,
        # of sums, in a pass and in the result
        lambda switch: sd.sum(sd.tanh(y * low)) * sd.where(sd.mean(y) < lam * b, 3, 4),
        # of a sum that rows are given, too
        lambda switch: sd.sum(sd.tanh((y - sd.mean(y)) * near)) * sd.where(sd.mean(y) < lam, 3, 4),
        # of rows, in two passes
        lambda switch: sd.std(sd.where(y * lam < y * b, y, 0)),
    ]
    for case in cases:
        f = case(sd.where(lam * b < b**2, 1.0, 2.0))
        assert sum(comparing(row_sums([f], "n"))) == 1
        inputs = sd.free_symbols(f)
        rng = np.random.default_rng(2)
        data = {x.name: rng.normal(size=[{"n": 6, "d": 2}[k] for k in x.shape]) for x in inputs}
        shards = {x.name: [data[x.name][:4], data[x.name][4:]] for x in inputs if "n" in x.shape}
        by = [x for x in (lam, b) if x in set(inputs)]
        value, gradient = nm.sharded(f, inputs, over="n").value_and_grad(**data | shards, wrt=by)
        whole = nm.lower(f, inputs).value_and_grad(**data, wrt=by)
        np.testing.assert_allclose(value, whole[0], rtol=1e-12)
        np.testing.assert_allclose(gradient, whole[1], rtol=1e-12, atol=1e-12)


# Precision ----------------------------------------------------------------------------------------

k = sd.symbol("k", "n", dtype=int)
LOSSES = {
    "max": sd.max(b * y) * lam,
    "centred": sd.max((y - sd.mean(y)) * lam + b),
    "logsumexp": sd.logsumexp(b * y**2) * lam,
    "std": sd.std(b * y) * lam,
    "norm": sd.norm(y * b) * lam,
    "mean": sd.mean(y * b) + lam,
    "counts": sd.sum(b * y * k) * lam + sd.sum(k),
}
SINGLE, DOUBLE = np.float32, np.float64
ARGUMENTS = {
    "single": (SINGLE, SINGLE(0.5), SINGLE(2)),
    "half": (np.float16, np.float16(0.5), np.float16(2)),
    "numbers": (SINGLE, 0.5, 2.0),
    "one number": (SINGLE, SINGLE(0.5), 2.0),
    "one double": (SINGLE, SINGLE(0.5), DOUBLE(2)),
    "double rows": (DOUBLE, SINGLE(0.5), SINGLE(2)),
    "whole rows": (np.int64, SINGLE(0.5), SINGLE(2)),
    "other bytes": (">f4", SINGLE(0.5), SINGLE(2)),
}


@pytest.mark.parametrize("arguments", ARGUMENTS)
def test_results_have_the_dtypes_of_lower(arguments):
    dtype, *others = ARGUMENTS[arguments]
    rows, numbers = np.array([1, 2, 4, 3]).astype(dtype), np.array([1, 2, 3, 0])
    for f in LOSSES.values():
        for inputs in ([y, b, lam], [y, k, b, lam]):
            if k in set(sd.free_symbols(f)) and len(inputs) < 4:
                continue
            columns = [rows, numbers][: len(inputs) - 2]
            F, S = nm.lower(f, inputs), nm.sharded(f, inputs, over="n")
            shards = [[x[:3], x[3:]] for x in columns]
            for wrt in (["b"], ["lam"], ["b", "lam"]):
                value, gradient = F.value_and_grad(*columns, *others, wrt=wrt)
                expected = [value, *gradient, F.hessian(*columns, *others, wrt="b")]
                value, gradient = S.value_and_grad(*shards, *others, wrt=wrt)
                found = [value, *gradient, S.hessian(*shards, *others, wrt="b")]
                assert [x.dtype for x in found] == [x.dtype for x in expected]
                if arguments != "half":  # whose second derivatives cancel
                    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)


def test_integers_beside_single_precision_make_sums_double():
    """In single precision the terms of the second derivative, a variance, would cancel."""
    rows, numbers = np.array([100, 50.5, 33], np.float32), np.array([1, 2, 3])
    f = sd.logsumexp(b * (y * k) ** 2)
    arguments = (rows, numbers, np.float32(1e-4))
    whole = nm.lower(f, [y, k, b]).hessian(*arguments, wrt="b")
    S = nm.sharded(f, [y, k, b], over="n")
    found = S.hessian([rows[:1], rows[1:]], [numbers[:1], numbers[1:]], arguments[2], wrt="b")
    np.testing.assert_allclose(found, whole, rtol=1e-9)


def test_the_hessian_of_a_norm():
    S = nm.sharded(sd.norm(X @ w), [X, w], over="n")
    found = S.hessian([np.eye(3)[:1], np.eye(3)[1:]], np.ones(3), wrt="w")
    np.testing.assert_allclose(found, (np.eye(3) - 1 / 3) / np.sqrt(3), rtol=1e-14)


def test_tensors_among_the_arguments_make_tensors():
    data, at = np.array([[1.0, 2.0], [3.0, 5.0], [-1.0, 0.5]], np.float32), [0.5, 0.25]
    for f in (sd.max(X @ w), sd.std(X @ w), sd.sum(X) * sd.sum(w)):
        S = nm.sharded(f, [X, w], over="n")
        expected = S.value_and_grad([data[:1], data[1:]], np.float32(at))
        value, (gradient,) = S.value_and_grad([data[:1], data[1:]], nm.tensor(at))
        assert value.dtype is gradient.dtype is nm.float32
        np.testing.assert_array_equal(value.numpy(), expected[0])
        np.testing.assert_array_equal(gradient.numpy(), expected[1][0])
        with pytest.raises(RuntimeError, match="on Tensor that requires grad"):
            S([data], nm.tensor(at, requires_grad=True))
