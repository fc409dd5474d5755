"""Consecutive powers by products."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import numeric as nm
import symdiff as sd
from numeric.lowering.passes.powers import multiply_powers
from numeric.lowering.schedule import schedule
from tests.support.budget import sample

EPS = np.finfo(float).eps
x, y, A = sd.symbol("x", "n"), sd.symbol("y", "n"), sd.symbol("A", (2, "n"))


def forms(f):
    """How the steps of a program are computed that are not leaves."""
    inputs = sorted(f.free_symbols, key=lambda s: s.name)
    made = schedule([f], inputs)
    return [s.kind.name for s in multiply_powers(made, [False] * made.length).steps if not s.leaf]


RUNS = {
    "growing": sd.vander(x, 6, increasing=True),
    "falling": sd.vander(x, 6),
    "without ones": sd.stack([x**k for k in range(1, 7)], axis=1),
    "from the square on": sd.stack([x**k for k in range(2, 8)], axis=0),
    "of a sum": sd.vander(x + 2 * y, 5),
    "of a matrix": sd.stack([A**k for k in range(5)], axis=1),
    "from the sixth on": sd.stack([x**k for k in range(6, 11)], axis=1),
}


@pytest.mark.parametrize("name", RUNS)
def test_consecutive_powers_are_one_step(name):
    found = forms(RUNS[name])
    assert found.count("powers") == 1
    assert not {"power", "product", "kernel"}.intersection(found)


OTHERS = {
    "with gaps": sd.stack([x, x**2, x**4, x**5], axis=1),
    "of two bases": sd.stack([x, x**2, y**3, x**4], axis=1),
    "few": sd.vander(x, 3),
    "unordered": sd.stack([x**4, x, x**3, x**2], axis=1),
    "of negative exponents": sd.stack([x**-k for k in range(1, 6)], axis=1),
    "with another number": sd.stack([sd.full("n", 2), *[x**k for k in range(1, 6)]], axis=1),
    "joined lengthwise": sd.concat([x**k for k in range(1, 7)], axis=0),
    "halves": sd.stack([x**0.5, x**1.5, x**2.5, x**3.5, x**4.5], axis=1),
}


@pytest.mark.parametrize("name", OTHERS)
def test_others_stay_as_they_are(name):
    assert "powers" not in forms(OTHERS[name])


@pytest.mark.numpy_only("its bits")
def test_powers_that_others_read_are_computed_beside():
    f = [sd.vander(x, 6), sd.sin(x**5)]
    a = np.array([0.5, -2.0])
    found = nm.lower(f, x)(a)
    np.testing.assert_array_equal(found[0], np.vander(a, 6))
    np.testing.assert_array_equal(found[1], nm.interpret(f[1], {x: a}))


@pytest.mark.numpy_only("its bits")
@pytest.mark.parametrize("name", RUNS)
def test_a_power_has_no_more_roundings_than_factors(name):
    f = RUNS[name]
    inputs = sorted(f.free_symbols, key=lambda s: s.name)
    F, exact = nm.lower(f, inputs), nm.lower(f, inputs, exact_order=True)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-80, -1e80, 5e-324]
    element = st.one_of(st.floats(-2, 2), st.floats(-1e3, 1e3), st.sampled_from(special))

    @sample(60)
    @given(st.lists(element, min_size=1, max_size=4))
    def run(values):
        args = {s: np.broadcast_to(values, (2, len(values))[2 - s.ndim :]) for s in inputs}
        with np.errstate(all="ignore"):
            expected = nm.interpret(f, args)
            same = exact(*args.values())
            found = F(*args.values())
            allowed = 11 * EPS * np.abs(expected) + 11 * np.finfo(float).smallest_subnormal
            largest = np.finfo(float).max
            near = np.abs(found - expected) <= allowed
            # At the end of the floats one of them may have been rounded to infinity.
            near |= (
                (np.abs(expected) > (1 - 11 * EPS) * largest)
                & (np.abs(found) > (1 - 11 * EPS) * largest)
                & (np.signbit(found) == np.signbit(expected))
            )
        assert found.shape == expected.shape
        assert np.array_equal(same, expected, equal_nan=True)
        assert np.array_equal(np.isnan(found), np.isnan(expected))
        assert np.all(near | np.isnan(expected))

    run()


def test_the_precision_is_that_of_the_base():
    a = np.array([1.5, 2], np.float32)
    assert nm.lower(sd.vander(x, 6), x)(a).dtype == np.float32


@pytest.mark.parametrize("name", RUNS)
def test_blas_takes_powers_as_they_lie(name):
    f = RUNS[name]
    inputs = sorted(f.free_symbols, key=lambda s: s.name)
    found = nm.lower(f, inputs)(*[np.ones((2, 3)[2 - s.ndim :]) for s in inputs])
    assert min(found.strides) > 0


def test_results_are_the_callers_own():
    a = np.ones(3)
    F = nm.lower(sd.vander(x, 5), x)
    first, second = F(a), F(a)
    first[:] = 7
    np.testing.assert_array_equal(second, np.ones((3, 5)))
    np.testing.assert_array_equal(F(a), np.ones((3, 5)))


def test_the_least_squares_of_a_polynomial_take_no_power():
    a = sd.symbol("a", 20)
    F = nm.lower(sd.sum((sd.vander(x, 20, increasing=True) @ a - y) ** 2), [a, x, y])
    values = np.ones(20), np.linspace(-1, 1, 9), np.zeros(9)
    F.value_and_grad(*values, wrt=a)
    last = F.source[F.source.index("def value_and_grad") :]
    assert last.count("powers(") == 1
    assert "power(" not in last
    V = np.vander(values[1], 20, increasing=True)
    found = F.value_and_grad(*values, wrt=a)[1]
    np.testing.assert_allclose(np.squeeze(found), 2 * V.T @ (V @ values[0]), rtol=1e-13)


def test_powers_of_a_number_are_an_array_of_them():
    z, w = sd.symbol("z"), sd.symbol("w", 5)
    f = sd.stack([z**k for k in range(5)])
    assert forms(f).count("powers") == 1
    found = nm.lower([f, f @ w], [z, w])(3.0, np.ones(5))
    np.testing.assert_array_equal(found[0], [1, 3, 9, 27, 81])
    assert found[1] == 121
