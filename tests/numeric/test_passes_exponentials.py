"""Exponentials that are taken once: a logarithm of their sum and the shares in it."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import numeric as nm
import symdiff as sd
from numeric.lowering import blocks, costs
from numeric.lowering.kernels import exponentials
from numeric.lowering.kernels.exponentials import logsumexp, softmax
from numeric.lowering.passes.exponentials import share_exponentials
from numeric.lowering.schedule import schedule
from tests.support.budget import sample

EPS = np.finfo(float).eps
SPECIAL = [0.0, -0.0, 1.0, -745.5, 800.0, -1e308, 1e308, np.inf, -np.inf, np.nan]
x, A, B = sd.symbol("x", "n"), sd.symbol("A", ("n", "k")), sd.symbol("B", ("k",))
T = sd.symbol("T", (2, "n", 3))


def forms(outputs, inputs):
    """How the steps of a program are computed that are not leaves."""
    made = schedule(outputs, inputs)
    return [
        step.kind.name
        for step in share_exponentials(made, [False] * made.length).steps
        if not step.leaf
    ]


MODELS = {
    "a vector": sd.logsumexp(x),
    "rows": sd.logsumexp(A, axis=1),
    "columns": sd.logsumexp(A, axis=0),
    "all": sd.logsumexp(A),
    "in between": sd.logsumexp(T, axis=1),
    "of two axes": sd.logsumexp(T, axis=(0, 2)),
    "of a sum": sd.logsumexp(2 * A + B + 1, axis=1),
}


@pytest.mark.numpy_only("its text")
@pytest.mark.parametrize("name", MODELS)
def test_value_and_gradient_take_one_exponential(name):
    f = MODELS[name]
    inputs = sorted(f.free_symbols, key=lambda s: s.name)
    F = nm.lower(sd.sum(f), inputs)
    F.value_and_grad(*[np.ones([{"n": 4, "k": 3}.get(n, n) for n in s.shape]) for s in inputs])
    last = F.source[F.source.index("def value_and_grad") :]
    assert last.count("softmax(") == 1
    assert "exp(" not in last.replace("softmax(", "")


def test_what_only_looks_like_a_share_stays():
    y = sd.logsumexp(A, axis=1)[:, None]
    for f in (
        sd.exp(A - 2 * y),
        sd.exp(A + y),
        sd.exp(2 * A - y),
        sd.exp(A + 1 - y),
        sd.exp(B - y),
        sd.cos(A - y),
        sd.exp(A - sd.logsumexp(2 * A, axis=1)[:, None]),
    ):
        assert "softmax" not in forms([f], sorted(f.free_symbols, key=lambda s: s.name))
    S = sd.symbol("S", (3, 3))  # rows are not columns, though there are as many
    assert "softmax" not in forms([sd.exp(S - sd.logsumexp(S, axis=1))], [S])


def test_a_difference_that_others_read_is_still_computed():
    f = sd.log_softmax(A, axis=1)
    a = np.random.default_rng(0).normal(size=(4, 3))
    found = nm.lower([f, sd.exp(f)], A)(a)
    np.testing.assert_allclose(found[0], nm.interpret(f, {A: a}), rtol=1e-15)
    np.testing.assert_allclose(found[1], nm.interpret(sd.exp(f), {A: a}), rtol=1e-14)


def bounded(found, expected, a, y):
    """Both are the exponential of a - y, one through max(a): roundings of what is exponentiated.

    And those of the sum, which are the same in both where its blocks are.
    """
    finite = np.isfinite(y)[..., None] & np.isfinite(a)
    assert np.array_equal(found[~finite], expected[~finite], equal_nan=True)
    with np.errstate(all="ignore"):
        top = np.max(a, axis=-1, keepdims=True, initial=-np.inf)
        size = np.abs(a - y[..., None]) + np.abs(a - top) + np.abs(y)[..., None] + a.shape[-1] + 8
        allowed = np.expm1(EPS * np.minimum(size, 1e18)) * expected
        allowed += 2 * np.finfo(float).smallest_subnormal
    assert np.all(np.abs(found - expected)[finite] <= allowed[finite])


@pytest.mark.numpy_only("its bits")
@pytest.mark.parametrize("threads", [1, 2])
def test_shares_are_those_of_interpret_within_rounding(threads, monkeypatch):
    s, y = sd.softmax(A, axis=1), sd.logsumexp(A, axis=1)
    F, exact = nm.lower([y, s], A, threads=threads), nm.lower([y, s], A, exact_order=True)
    element = st.one_of(st.floats(-800, 800), st.floats(-3, 3), st.sampled_from(SPECIAL))

    @sample(150)
    @given(st.lists(st.lists(element, min_size=5, max_size=5), min_size=1, max_size=4), st.data())
    def run(rows, data):
        a = np.array(rows)[:, : data.draw(st.integers(1, 5))]
        monkeypatch.setattr(costs, "BLOCK", data.draw(st.integers(1, 7)))
        monkeypatch.setattr(costs, "LARGE", data.draw(st.sampled_from([1, 100])))
        with np.errstate(all="ignore"):
            value, share = F(a)
            expected = nm.interpret(y, {A: a}), nm.interpret(s, {A: a})
            for found, same in zip(exact(a), expected, strict=True):
                assert np.array_equal(found, same, equal_nan=True)
        np.testing.assert_allclose(value, expected[0], rtol=8 * EPS, atol=8 * EPS)
        bounded(share, expected[1], a, expected[0])

    run()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("count", [1, 7, 127, 128, 129, 1000])
def test_each_row_has_the_bits_that_it_has_alone(count, dtype):
    """Blocks of rows are cut anywhere; short rows and long ones are added in two ways."""
    a = np.random.default_rng(3).normal(size=(6, count)).astype(dtype) * 3
    value, share = softmax(a)
    assert np.array_equal(value, logsumexp(a))
    for i in range(len(a)):
        one, part = softmax(a[i : i + 1])
        assert np.array_equal(one, value[i : i + 1])
        assert np.array_equal(part, share[i : i + 1])
    exact = np.exp(a.astype(np.longdouble))
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(value, np.log(exact.sum(axis=1)), rtol=8 * eps, atol=8 * eps)
    bound = (count + 16 + np.abs(a).max()) * eps
    assert np.all(np.abs(share * exact.sum(axis=1)[:, None] - exact) <= bound * exact)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("count", [3, 200])
def test_rows_beside_others_far_out_have_the_bits_that_they_have_alone(count, dtype):
    """Nothing is subtracted where exponentials are floats, in each row by itself."""
    limit = np.log(np.finfo(dtype).max)
    near = np.random.default_rng(4).normal(size=(4, count)).astype(dtype)
    offsets = np.array([0, limit - 30, 30 - limit, limit / 2], dtype)
    far = np.array([5 * limit, -5 * limit, np.inf, np.nan], dtype)
    rows = [near + offsets[:, None], np.where(np.arange(count) % 2, near, far[:, None])]
    with np.errstate(all="ignore"):
        value, share = softmax(np.concatenate(rows))
        assert np.array_equal(value, logsumexp(np.concatenate(rows)), equal_nan=True)
        for a, y, s in zip(np.concatenate(rows), value, share, strict=True):
            one, part = softmax(a[None])
            assert np.array_equal(one[0], y, equal_nan=True)
            if np.isfinite(y):
                assert np.array_equal(part[0], s)
    exact = np.exp(rows[0].astype(np.longdouble))
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(value[:4], np.log(exact.sum(axis=1)), rtol=8 * eps, atol=8 * eps)


def test_no_largest_element_is_looked_for_where_none_is_far_out(monkeypatch):
    monkeypatch.delattr(exponentials, "_top")
    a = np.random.default_rng(5).normal(size=(50, 7)) * 200
    for b in (a, a.T, a[0], a.astype(np.float32) / 10):
        softmax(b), logsumexp(b)
    with pytest.raises(NameError):
        softmax(a * 10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("more", [[], [0.0, 0.5], [900.0, 899.0]], ids=["alone", "near", "beyond"])
def test_shares_that_are_far_below_0_together_have_all_their_digits(dtype, more):
    """Exponentials lose digits long before shares do; those of rows beside them do not matter."""
    limit, eps = np.log(np.finfo(dtype).max), np.finfo(dtype).eps
    rows = [[-0.97, -1.03], [-0.9, -1.1], [-0.5, -1.04], [-3, -3.01], [0.4, 0.41], [1.1, 1.0]]
    rows += [[0.9999, 0.99]]  # reciprocals of their sums are not normal numbers
    for row in limit * np.array(rows):
        x = np.array([row, *([more] if more else [])], dtype)
        value, share = softmax(x)
        with mp.workdps(40):
            exact = mp.log(sum(mp.exp(mp.mpf(float(v))) for v in x[0]))
            wanted = [float(mp.exp(mp.mpf(float(v)) - exact)) for v in x[0]]
        np.testing.assert_allclose(value[0], float(exact), rtol=4 * eps)
        bound = 4 * eps * (1 + np.abs(x[0] - x[0].max()))
        for found, right, allowed in zip(share[0], wanted, bound, strict=True):
            assert abs(found - right) <= allowed * right + np.finfo(dtype).smallest_subnormal


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_logarithms_near_0_have_all_their_digits(dtype):
    """Those of a sum near 1: the exponential of 1e-20 is 1."""
    rows = [[1e-20, -400.0], [1e-10, -30.0], [-1e-3, -6.9], [1e-5, -60.0], [-0.5, -0.6], [1.0, 2.0]]
    x = np.array(rows, dtype)
    with mp.workdps(40):
        exact = [float(mp.log(sum(mp.exp(mp.mpf(float(v))) for v in row))) for row in x]
    scale = np.abs(exact) + np.abs(x.max(axis=1)) * (np.abs(x.max(axis=1)) > 1e-4)
    for found in (logsumexp(x), softmax(x)[0], [logsumexp(row) for row in x]):
        assert (np.abs(found - np.array(exact)) <= 4 * np.finfo(dtype).eps * scale).all()
    assert logsumexp(np.array([1e-20], dtype)) == dtype(1e-20)


def test_shares_beside_infinities_are_those_of_interpret():
    s = sd.softmax(A, axis=1)
    F = nm.lower(s, A)
    rows = np.array([[a, b, c] for a in SPECIAL for b in SPECIAL for c in (0.0, 800.0, -np.inf)])
    with np.errstate(all="ignore"):
        for a in rows[:, None]:
            y = nm.interpret(sd.logsumexp(A, axis=1), {A: a})
            bounded(F(a), nm.interpret(s, {A: a}), a, y)


def test_a_long_axis_is_computed_in_blocks_with_equal_bits_for_any_threads(monkeypatch):
    n = 5_000
    a = np.random.default_rng(1).normal(size=n) * 5
    whole = nm.lower(sd.logsumexp(x), x).value_and_grad(a)
    monkeypatch.setattr(costs, "BLOCK", 700)
    monkeypatch.setattr(costs, "LARGE", 1_000)
    runs = []
    monkeypatch.setattr(blocks, "spread", spied(blocks.spread, runs))
    F = [nm.lower(sd.logsumexp(x), x, threads=k) for k in (1, 2, 3)]
    found = [(value, g) for f in F for value, (g,) in [f.value_and_grad(a)]]
    assert runs == [8, 8] * 3  # two passes over blocks: exponentials, then shares
    for value, share in found[1:]:
        assert value == found[0][0]
        assert np.array_equal(share, found[0][1])
    bounded(found[0][1], whole[1][0], a, np.asarray(whole[0]))
    assert found[0][0] == pytest.approx(whole[0], rel=4 * EPS)
    runs.clear()
    values = {float(f(a)) for f in F}
    assert values == {float(found[0][0])}
    assert runs == [8] * 3
    runs.clear()
    nm.lower(sd.logsumexp(x), x, exact_order=True).value_and_grad(a)
    assert not [count for count in runs if count > 8]


def spied(spread, counts):
    """``spread``, which notes how many parts it was given."""

    def run(part, count, threads):
        counts.append(count)
        spread(part, count, threads)

    return run


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.int64, bool])
def test_the_precision_is_that_of_interpret(kind):
    a = np.array([[1, 0, 3], [0, 0, 1]], kind)
    found = nm.lower(sd.softmax(A, axis=1), A)(a)
    expected = nm.lower(sd.softmax(A, axis=1), A, exact_order=True)(a)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=16 * np.finfo(found.dtype).eps)


def test_results_are_new_arrays():
    a = np.zeros((2, 3))
    F = nm.lower(sd.softmax(A, axis=1), A)
    first, second = F(a), F(a)
    assert not np.shares_memory(first, second)
    assert first.flags.owndata


@pytest.mark.numpy_only("its text")
def test_rows_of_shares_are_computed_in_one_kernel_with_what_reads_them(monkeypatch):
    monkeypatch.setattr(costs, "LARGE", 1)
    monkeypatch.setattr(costs, "BLOCK", 8)
    f = sd.sum(sd.logsumexp(A, axis=1) * sd.cos(B @ B))
    a, b = np.random.default_rng(2).normal(size=(200, 3)), np.ones(3)
    F = nm.lower(f, [A, B])
    F.value_and_grad(a, b)
    kernel = F.source[F.source.index("def rows_") :].partition("\n\n")[0]
    assert kernel.count("softmax(") == 1
    expected = nm.lower(f, [A, B], exact_order=True).value_and_grad(a, b)
    np.testing.assert_allclose(F.value_and_grad(a, b)[1][0], expected[1][0], rtol=1e-14)
