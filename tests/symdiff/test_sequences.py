"""Orders, signals, layouts and statistics: derivatives at ties, zeros and nan, and refusals."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.special

import symdiff as sd
from numeric import interpret, lower
from symdiff.exact.evaluation import evaluate_mp
from tests.support.cases import all_cases
from tests.symdiff.test_functions import CUBE, INDICES, OF_INDICES

NAN = float("nan")
INF = float("inf")


# Name, ours, NumPy's, operands' shapes.


# Places -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted_by_its_definition(side):
    """The sides differ at ties alone."""
    table = np.array([0.0, 1.0, 1.0, 2.0])
    for at in (-1, 0, 0.5, 1, 2, 3):
        (place,) = evaluate_mp([sd.searchsorted(table, sd.symbol("v"), side)], {"v": at}, 20)
        assert place == np.searchsorted(table, at, side)


def test_places_have_no_derivative():
    x = sd.symbol("x", 3)
    y = sd.sum(x * sd.argsort(x))
    value = np.array([3.0, 1.0, 2.0])
    np.testing.assert_array_equal(interpret(sd.grad(y, x), {x: value}), [1, 2, 0])
    with pytest.raises(sd.NotDifferentiable, match="integer"):
        sd.grad(y, sd.symbol("k", 3, int))


# Ties, zeros and nan ------------------------------------------------------------------------------


def products(values):
    n = len(values)
    jacobian, hessian = np.zeros((n, n)), np.zeros((n, n, n))
    for i in range(n):
        for j in range(i + 1):
            jacobian[i, j] = math.prod(v for k, v in enumerate(values[: i + 1]) if k != j)
            for m in range(i + 1):
                if m != j:
                    rest = [v for k, v in enumerate(values[: i + 1]) if k not in (j, m)]
                    hessian[i, j, m] = math.prod(rest)
    return jacobian, hessian


@all_cases("values", list(itertools.product((0.0, 2.0, -3.0), repeat=4)), ids=str, least=81)
def test_cumprod_with_zeros(values):
    x = sd.symbol("x", 4)
    y = sd.cumprod(x)
    first, second = sd.jacobian(y, x), sd.hessian(y, x)
    found = interpret([first, second], {x: np.array(values)})
    for a, b in zip(found, products(values), strict=True):
        np.testing.assert_array_equal(a, b)


def test_cumprod_third_order_at_zeros():
    x = sd.symbol("x", 3)
    third = sd.jacobian(sd.hessian(sd.cumprod(x), x), x)
    found = interpret(third, {x: np.zeros(3)})
    expected = np.zeros((3, 3, 3, 3))
    for order in itertools.permutations(range(3)):
        expected[(2, *order)] = 1
    np.testing.assert_array_equal(found, expected)


def test_cumprod_of_symbolic_length():
    x = sd.symbol("x", "n")
    y = sd.cumprod(x)
    value = np.array([2.0, 0.0, 3.0])
    np.testing.assert_array_equal(interpret(sd.jacobian(y, x), {x: value}), products(value)[0])


def test_derivatives_of_logcumsumexp_are_stable():
    value, x = np.array([1000.0, 999.0, -1000.0, 1001.0]), sd.symbol("x", 4)
    y = sd.logcumsumexp(x)
    jacobian, hessian = interpret([sd.jacobian(y, x), sd.hessian(y, x)], {x: value})
    for k in range(4):
        expected = scipy.special.softmax(value[: k + 1])
        np.testing.assert_allclose(jacobian[k, : k + 1], expected, rtol=1e-12)
    assert np.all(np.isfinite(hessian))


XP, FP = np.array([0.0, 1.0, 3.0]), np.array([0.0, 2.0, 3.0])
WITH_NAN = [1.0, NAN, 3.0, -2.0]
CENTRED = np.array([1.0, 2 / 3, 3.0, -2.0]) - 2 / 3
GRADIENTS = {
    "the least of ties": (lambda x: sd.sort(x)[0], [2.0, 1.0, 1.0], [0, 1, 0]),
    "the next of ties": (lambda x: sd.sort(x)[1], [2.0, 1.0, 1.0], [0, 0, 1]),
    "the median of ties": (sd.median, [1.0, 1.0, 1.0, 1.0], [0, 0.5, 0.5, 0]),
    "nansum": (sd.nansum, WITH_NAN, [1, 0, 1, 1]),
    "nanmean": (sd.nanmean, WITH_NAN, [1 / 3, 0, 1 / 3, 1 / 3]),
    "nanprod": (sd.nanprod, WITH_NAN, [-6, 0, -2, 3]),
    "nanmax": (sd.nanmax, WITH_NAN, [0, 0, 1, 0]),
    "nanmin": (sd.nanmin, WITH_NAN, [0, 0, 0, 1]),
    "nanvar": (sd.nanvar, WITH_NAN, 2 / 3 * CENTRED),
    "nan_to_num": (lambda x: sd.sum(sd.nan_to_num(x) ** 2), [NAN, INF, -INF, 1.5], [0, 0, 0, 3]),
    # A point belongs to the piece on its right, the last one to the piece on its left.
    "interp": (
        lambda x: sd.sum(sd.interp(x, XP, FP)),
        [-1.0, 0.0, 1.0, 3.0, 4.0],
        [0, 2, 0.5, 0.5, 0],
    ),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_at_ties_and_beside_nan(name):
    f, at, expected = GRADIENTS[name]
    x = sd.symbol("x", len(at))
    found = interpret(sd.grad(f(x), x), {x: np.array(at)})
    np.testing.assert_allclose(found, expected, rtol=1e-15, atol=1e-15)


# Indices that are expressions, and changes at an index --------------------------------------------


@pytest.mark.parametrize("title", OF_INDICES)
def test_gradients_at_indices_that_are_expressions(title):
    read = OF_INDICES[title]
    i, j = INDICES
    x, *names = sd.symbol("x", (3, 3, 3)), sd.symbol("i", (), int), sd.symbol("j", (2, 2), int)
    places = read(np.arange(27).reshape(3, 3, 3), i, j)
    expected = np.zeros_like(CUBE)
    np.add.at(expected.ravel(), places, 2 * CUBE.ravel()[places])
    slope = sd.grad(sd.sum(read(x, *names) ** 2), x)
    np.testing.assert_allclose(
        interpret(slope, dict(zip((x, *names), (CUBE, i, j), strict=True))), expected
    )


def test_an_index_of_symbolic_lengths():
    x, i = sd.symbol("x", ("n", 2)), sd.symbol("i", "m", int)
    y = sd.sum(x[i] ** 2)
    env = {x: np.arange(6.0).reshape(3, 2), i: np.array([0, 2, 2, -1])}
    np.testing.assert_array_equal(interpret(sd.grad(y, x), env), [[0, 2], [0, 0], [24, 30]])
    wide = sd.substitute(sd.grad(y, x), {x: sd.symbol("z", (3, 2))})
    np.testing.assert_array_equal(
        interpret(wide, {"z": env[x], "i": env[i]}), [[0, 2], [0, 0], [24, 30]]
    )


def test_an_index_out_of_bounds_is_found_when_it_has_a_value():
    x, i = sd.symbol("x", 3), sd.symbol("i", (), int)
    for expr in (x[i], sd.grad(x[i] ** 2, x)):
        with pytest.raises(IndexError):
            interpret(expr, {x: np.ones(3), i: np.int64(3)})


@all_cases(
    ("refused", "error"),
    [
        (lambda x, i, j: x[j, [0, 1]], sd.Unsupported),
        (lambda x, i, j: x[j, :, 0], sd.Unsupported),
        (lambda x, i, j: x[j, j], sd.Unsupported),
        (lambda x, i, j: x[x[0, 0, 0] > 0], sd.Unsupported),
        (lambda x, i, j: x[x[0, 0]], IndexError),
        (lambda x, i, j: x[i, i, i, i], IndexError),
        (lambda x, i, j: sd.index_update(x, j, 1), sd.Unsupported),
        (lambda x, i, j: sd.take_along_axis(x, x), IndexError),
        (lambda x, i, j: sd.take_along_axis(x, j), sd.ShapeError),
        (lambda x, i, j: sd.sort(x, axis=3), np.exceptions.AxisError),
        (lambda x, i, j: sd.partition(x, 5), ValueError),
        (lambda x, i, j: sd.quantile(x, 2), ValueError),
        (lambda x, i, j: sd.argmax(x[:0]), ValueError),
        (lambda x, i, j: sd.median(x[:0]), ValueError),
        (lambda x, i, j: sd.searchsorted(x, 1), sd.ShapeError),
        (lambda x, i, j: sd.searchsorted([1.0], 1, "middle"), ValueError),
        (lambda x, i, j: sd.interp(x, [1.0, 0.0], [0.0, 0.0]), ValueError),
        (lambda x, i, j: sd.interp(x, [0.0, 1.0], [0.0]), sd.ShapeError),
        (lambda x, i, j: sd.interp(x, np.zeros(0), np.zeros(0)), ValueError),
        (lambda x, i, j: sd.interp(x, sd.symbol("s", "n"), sd.symbol("t", "m")), sd.ShapeError),
        (lambda x, i, j: sd.convolve(x, [1.0]), sd.ShapeError),
        (lambda x, i, j: sd.convolve([1.0], np.zeros(0)), ValueError),
        (lambda x, i, j: sd.convolve([1.0], [1.0], "some"), ValueError),
        (lambda x, i, j: sd.finite_diff(x, -1), ValueError),
        (lambda x, i, j: sd.fft(x[..., :0]), ValueError),
        (lambda x, i, j: sd.irfft(x[..., :1]), ValueError),
        (lambda x, i, j: sd.rfft(sd.symbol("s", "n"), 4), sd.Unsupported),
        (lambda x, i, j: sd.moveaxis(x, (0, 1), 0), ValueError),
        (lambda x, i, j: sd.atleast_1d(), ValueError),
        (lambda x, i, j: sd.meshgrid(x), sd.ShapeError),
        (lambda x, i, j: sd.meshgrid(1, indexing="ji"), ValueError),
        (lambda x, i, j: sd.array_split(x, 0), sd.ShapeError),
        (lambda x, i, j: sd.vsplit(x[0, 0], 1), sd.ShapeError),
        (lambda x, i, j: sd.roll(x, (1, 2, 3), (0, 1)), ValueError),
        (lambda x, i, j: sd.sliding_window_view(x, 4, 0), ValueError),
        (lambda x, i, j: sd.sliding_window_view(x, 0, 0), ValueError),
        (lambda x, i, j: sd.sliding_window_view(x, 2), ValueError),
        (lambda x, i, j: sd.sliding_window_view(x, 1.5, 0), TypeError),
        (lambda x, i, j: sd.sliding_window_view(x, 1, 3), np.exceptions.AxisError),
        (lambda x, i, j: sd.repeat(x, -1), ValueError),
        (lambda x, i, j: sd.repeat(x, [1, 2], 0), sd.ShapeError),
        (lambda x, i, j: sd.tile(x, -1), ValueError),
        (lambda x, i, j: sd.pad(x, 1, "linear_ramp"), sd.Unsupported),
        (lambda x, i, j: sd.pad(x, -1), ValueError),
        (lambda x, i, j: sd.pad(x, 1.5), TypeError),
        (lambda x, i, j: sd.pad(x, ((1, 1), (2, 2))), ValueError),
        (lambda x, i, j: sd.pack_tril(x[:, :2]), sd.ShapeError),
        (lambda x, i, j: sd.pack_tril(sd.symbol("s", ("n", "n"))), sd.Unsupported),
        (lambda x, i, j: sd.unpack_tril(sd.symbol("s", 5)), sd.ShapeError),
        (lambda x, i, j: sd.unpack_tril(sd.symbol("s")), sd.ShapeError),
        (lambda x, i, j: sd.unpack_tril(sd.symbol("s", "n")), sd.Unsupported),
        (lambda x, i, j: sd.select([x > 0], []), ValueError),
        (lambda x, i, j: sd.average(x, 0, np.ones(2)), sd.ShapeError),
        (lambda x, i, j: sd.cov(x), sd.ShapeError),
        (lambda x, i, j: sd.multi_dot([x]), ValueError),
        (lambda x, i, j: sd.multi_dot([x, x]), sd.ShapeError),
        (lambda x, i, j: sd.cross(x[..., :2], x[..., :2]), sd.ShapeError),
        (lambda x, i, j: sd.vander(x), sd.ShapeError),
        (lambda x, i, j: sd.index_add(x, 5, 1), IndexError),
        (lambda x, i, j: sd.index_add(x, 0, np.ones(2)), sd.ShapeError),
        (lambda x, i, j: sd.index_update(sd.symbol("s", ("n", 2)), (0, [0, 0]), 1), sd.Unsupported),
    ],
    least=61,
)
def test_what_is_refused(refused, error):
    x = sd.symbol("x", (3, 3, 3))
    i, j = sd.symbol("i", (), int), sd.symbol("j", (2, 2), int)
    with pytest.raises(error):
        refused(x, i, j)


def test_what_is_replaced_does_not_count():
    x = sd.symbol("x", 3)
    y = sd.sum(sd.index_update(sd.log(x), 0, x[1]) ** 2)
    value = np.array([-1.0, 1.0, math.e])
    np.testing.assert_allclose(interpret(sd.grad(y, x), {x: value}), [0, 2, 2 / math.e])


def test_changes_at_an_expression():
    x, i = sd.symbol("x", "n"), sd.symbol("i", (), int)
    value = np.array([1.0, 2.0, 3.0])
    env = {x: value, i: np.int64(1)}
    np.testing.assert_array_equal(interpret(sd.index_update(x, i, 9), env), [1, 9, 3])
    j = sd.symbol("j", 2, int)
    found = interpret(sd.index_add(x, j, 5), {x: value, j: np.array([2, 2])})
    np.testing.assert_array_equal(found, [1, 2, 13])
    matrix = sd.symbol("A", ("n", 2))
    found = interpret(
        sd.index_update(matrix, (slice(None), 0), x), {matrix: np.ones((3, 2)), x: value}
    )
    np.testing.assert_array_equal(found, [[1, 1], [2, 1], [3, 1]])


# The same meaning everywhere ----------------------------------------------------------------------


def test_values_to_many_digits():
    x = sd.symbol("x", 4)
    value = np.array([0.5, -1.0, 2.0, 0.25])
    for y in (
        sd.sort(x),
        sd.cumprod(x),
        sd.logcumsumexp(x),
        sd.fft(x)[1],
        sd.median(x),
        sd.interp(x, [-2.0, 0.0, 3.0], [0.0, 1.0, 2.0]),
        sd.take_along_axis(x, sd.argmax(x, keepdims=True)),
        sd.grad(sd.sum(sd.sort(x) * np.arange(4.0)), x),
        sd.grad(sd.cumprod(x)[2], x),
    ):
        expected = interpret(y, {x: value})
        for place in np.ndindex(y.shape):
            found = sd.evalf(y[place] if place else y, 20, {x: value})
            assert abs(float(found) - expected[place]) < 1e-14


def test_sympy_formulas():
    x = sd.symbol("x", 3)
    a, b, c = sd.to_sympy(x)
    assert list(sd.to_sympy(sd.cumprod(x))) == [a, a * b, a * b * c]
    slope = sd.to_sympy(sd.grad(sd.sum(sd.cumprod(x)), x))[0]
    assert slope.subs({a: 7, b: 2, c: 3}) == 1 + 2 + 2 * 3
    for name, y in (("argsort", sd.sort(x)), ("take", x[sd.symbol("i", (), int)])):
        with pytest.raises(sd.Unsupported, match=name):
            sd.to_sympy(y)


def test_corners():
    x, s = sd.symbol("x", 6), sd.symbol("s", "n")
    for same in (x, s):
        assert sd.repeat(same, 1) is same
    assert sd.finite_diff(x, 0) is x
    assert sd.pack_tril(sd.ones((2, 3, 3))).shape == (2, 6)
    assert sd.kron(s, np.array([[2.0]])).shape == (1, "n")
    assert sd.multi_dot([s, sd.symbol("A", ("n", 2))]).shape == (2,)


def test_changes_by_data_given_as_an_expression():
    x, at = sd.symbol("x", 4), np.arange(4.0)
    first = sd.index_update(x, sd.constant(np.array([1, 1, 3])), np.array([5.0, 6.0, 7.0]))
    second = sd.index_update(first, sd.constant(2), 8)
    for found in (interpret(second, {x: at}), lower(second, x)(at)):
        np.testing.assert_array_equal(found, [0, 6, 8, 7])
