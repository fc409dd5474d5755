"""Axes of any length: one Function at several lengths, beside NumPy, and beside known lengths."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import numeric as nm
import symdiff as sd
from numeric.lowering.kernels.sequences import line
from symdiff.errors import ShapeError, Unsupported
from symdiff.graph.lengths import Length, LengthLetter
from symdiff.graph.node import topological
from tests.support.cases import all_cases

V, A = sd.symbol("v", "n"), sd.symbol("A", ("n", "m"))


def diagonal(v):
    return np.eye(v.shape[0], like=v) * v


# Of a vector and a matrix, with the least length n at which the formula has a value.
FORMULAS = {
    "differences": (1, lambda v, a: v[1:] - v[:-1]),
    "both ends": (2, lambda v, a: v[1:-1] * v[2:]),
    "every second": (0, lambda v, a: v[::2] ** 2),
    "every third from the second": (0, lambda v, a: v[1::3]),
    "backwards": (0, lambda v, a: v[::-2]),
    "backwards between": (2, lambda v, a: v[-2:0:-1]),
    "the first two": (2, lambda v, a: v[:2] * v[-2:]),
    "slices of slices": (3, lambda v, a: v[1:][::-1][1:-1]),
    "rows and columns": (1, lambda v, a: a[1:, :-1]),
    "diff": (1, lambda v, a: np.diff(v)),
    "diff of rows, twice": (2, lambda v, a: np.diff(a, n=2, axis=0)),
    "joined": (1, lambda v, a: np.concatenate([v, v[1:], np.ones(2)])),
    "joined rows": (2, lambda v, a: np.concatenate([a[:2], a, a])),
    "hstack": (1, lambda v, a: np.hstack([v, v[:1]])),
    "stack": (0, lambda v, a: np.stack([v, v * v])),
    "roll": (1, lambda v, a: np.roll(v, 1)),
    "roll back": (2, lambda v, a: np.roll(v, -2)),
    "roll of a matrix": (1, lambda v, a: np.roll(a, 1)),
    "pad": (0, lambda v, a: np.pad(v, 2)),
    "pad with numbers": (0, lambda v, a: np.pad(a, ((1, 2), (0, 1)), constant_values=3.0)),
    "pad edge": (1, lambda v, a: np.pad(v, (1, 2), mode="edge")),
    "pad reflect": (2, lambda v, a: np.pad(v, 1, mode="reflect")),
    "pad symmetric": (2, lambda v, a: np.pad(v, 2, mode="symmetric")),
    "pad wrap": (2, lambda v, a: np.pad(v, (1, 2), mode="wrap")),
    "repeat": (0, lambda v, a: np.repeat(v, 3)),
    "tile": (0, lambda v, a: np.tile(a, (2, 3))),
    "ravel": (0, lambda v, a: np.ravel(a)),
    "reshape": (1, lambda v, a: np.reshape(np.repeat(v, 2), (-1, 2))),
    "windows": (2, lambda v, a: sliding_window_view(v, 2)),
    "diag": (0, lambda v, a: np.diag(v, 1)),
    "diagonal": (1, lambda v, a: np.diagonal(np.outer(v, v), 1)),
    "kron": (1, lambda v, a: np.kron(v, a)),
    "outer": (1, lambda v, a: np.outer(v, v[1:])),
    "matrix times a slice": (1, lambda v, a: a[1:].T @ v[:-1]),
    "convolve": (1, lambda v, a: np.convolve(v, np.array([1.0, 2.0, 4.0]))),
    "convolve same": (3, lambda v, a: np.convolve(v, np.array([1.0, 2.0, 4.0]), "same")),
    "convolve valid": (3, lambda v, a: np.convolve(v, np.array([1.0, 2.0, 4.0]), "valid")),
    "correlate": (2, lambda v, a: np.correlate(v, np.array([1.0, -1.0]), "valid")),
    "autocorrelation": (2, lambda v, a: v[2:] @ v[:-2]),
    "median": (1, lambda v, a: np.median(v)),
    "trapezoid": (1, lambda v, a: np.trapezoid(v)),
    "vander": (0, lambda v, a: np.vander(v, 3)),
    "split": (2, lambda v, a: np.split(v, [1, 2])[2]),
    "equal parts": (0, lambda v, a: np.split(np.repeat(v, 3), 3)[1]),
    "the last of all": (1, lambda v, a: v[v.shape[0] - 1] * a[-1]),
    "one in the middle": (1, lambda v, a: v[v.shape[0] // 2] * a[v.shape[0] // 2, 0]),
    "one in the middle of the reverse": (1, lambda v, a: np.flip(a, 0)[a.shape[0] // 2]),
    "running sums": (1, lambda v, a: np.cumsum(v)[:-1]),
    "mean of a slice": (2, lambda v, a: np.mean(v[1:])),
    "a mask": (1, lambda v, a: np.where(v[1:] > 0, v[:-1], 0.0)),
    "sorted": (1, lambda v, a: np.sort(v[1:])),
    "places": (3, lambda v, a: v[[0, 2, -1, -1]]),
    "places from the end": (4, lambda v, a: v[[-1, -4]]),
    "one place": (2, lambda v, a: v[[1]]),
    "no places": (0, lambda v, a: v[[]]),
    "places in a table": (2, lambda v, a: v[np.array([[0, -1], [1, 0], [1, 1]])]),
    "take": (3, lambda v, a: np.take(v, [0, 2, -1])),
    "take of rows": (2, lambda v, a: np.take(a, [1, 0, 1], axis=0)),
    "take of all": (1, lambda v, a: np.take(a, [0, -1])),
    "rows": (1, lambda v, a: a[[0, -1], :]),
    "columns": (0, lambda v, a: a[:, [0, 0, -1]]),
    "rows, slices of columns": (2, lambda v, a: a[[0, -2], 1:]),
    "slices of rows, columns": (1, lambda v, a: a[1:, [0, -1]]),
    "a row, columns": (2, lambda v, a: a[1, [0, -1]]),
    "elements": (2, lambda v, a: a[[0, 1, -1], [0, -1, 0]]),
    "a table of elements": (2, lambda v, a: a[[[0], [1]], [0, -1, 0]]),
    "elements of three axes": (2, lambda v, a: np.multiply.outer(v, a)[[0, 1], :, [0, -1]]),
    "elements beside known ones": (2, lambda v, a: np.stack([v, v * v])[[0, 1, 1], [1, -1, 0]]),
    "places of a slice": (4, lambda v, a: v[1:][[0, 2]]),
    "counted": (0, lambda v, a: np.arange(v.shape[0], like=v) * v),
    "counted by twos": (0, lambda v, a: np.arange(1, v.shape[0], 2, like=v) * v[1::2]),
    "counted in reals": (0, lambda v, a: np.arange(v.shape[0], dtype=float, like=v) / (v * v + 2)),
    "between the ends": (1, lambda v, a: np.linspace(v[0], v[-1], v.shape[0])),
    "up to the end": (1, lambda v, a: np.linspace(v[0], 2.0, v.shape[0] + 1, endpoint=False)),
    "between rows": (1, lambda v, a: np.linspace(a[0], a[-1], 2 * v.shape[0])),
    "ones": (0, lambda v, a: v + np.ones(v.shape[0], like=v)),
    "full": (0, lambda v, a: np.full((2, v.shape[0]), 3.0, like=v) * v),
    "identity": (0, lambda v, a: np.eye(v.shape[0], like=v) * v + np.identity(3, like=v)[0, 1]),
    "a row of a diagonal": (1, lambda v, a: diagonal(v)[v.shape[0] // 2]),
    "the last row of a diagonal": (1, lambda v, a: diagonal(v)[v.shape[0] - 1]),
    "half the rows of a diagonal": (0, lambda v, a: diagonal(v)[v.shape[0] // 2 :]),
    "half the columns of a diagonal": (0, lambda v, a: diagonal(v)[:, : v.shape[0] // 2]),
    "every other row of a diagonal": (0, lambda v, a: diagonal(v)[1::2]),
    "rows upwards of a diagonal": (1, lambda v, a: diagonal(v)[:0:-1]),
    "rows and columns of a diagonal": (2, lambda v, a: diagonal(v)[1:-1, 1:-1]),
    "other rows than columns of a diagonal": (1, lambda v, a: diagonal(v)[1:, :-1]),
    "convolve with itself": (1, lambda v, a: np.convolve(v, v)),
    "convolve with a part": (2, lambda v, a: np.convolve(v[1:], v)),
    "convolve with a part, same": (2, lambda v, a: np.convolve(v[1:], v, "same")),
    "convolve with a part, valid": (3, lambda v, a: np.convolve(v, v[2:], "valid")),
    "convolve of two lengths": (1, lambda v, a: np.convolve(v, a[0])),
    "convolve of more than it may have": (1, lambda v, a: np.convolve(a[0], v)),
    "correlate with itself": (1, lambda v, a: np.correlate(v, v)),
    "correlate with itself, same": (1, lambda v, a: np.correlate(v, v, "same")),
    "correlate with itself, full": (1, lambda v, a: np.correlate(v, v, "full")),
    "correlate with a part": (2, lambda v, a: np.correlate(v[1:], v, "full")),
    "windows of nearly all": (3, lambda v, a: sliding_window_view(v, v.shape[0] - 2)),
    "windows of half": (2, lambda v, a: sliding_window_view(v, v.shape[0] // 2)),
    "windows of rows": (2, lambda v, a: sliding_window_view(a, (v.shape[0] - 1, 1))),
    "quantile": (1, lambda v, a: np.quantile(v, 0.3)),
    "quantiles of columns": (1, lambda v, a: np.quantile(a, [0.7, 1.0], axis=0)),
    "percentile of all": (1, lambda v, a: np.percentile(a, 90.0, keepdims=True)),
    "interp": (1, lambda v, a: np.interp(a, np.cumsum(np.exp(v)), v)),
    "interp with ends": (1, lambda v, a: np.interp(a, np.cumsum(v * v), v, left=2.0, right=v[0])),
    "square vander": (0, lambda v, a: np.vander(v)),
    "vander of a length": (0, lambda v, a: np.vander(a[:, 0], v.shape[0] + 2, increasing=True)),
    "the first of two parts": (0, lambda v, a: np.array_split(v, 2)[0]),
    "the second of two parts": (0, lambda v, a: np.array_split(v, 2)[1]),
    "the second of three parts": (0, lambda v, a: np.array_split(a, 3)[1]),
    "the last of seven parts": (0, lambda v, a: np.array_split(v, 7)[-1]),
    "halves": (0, lambda v, a: np.split(v[: v.shape[0] - v.shape[0] % 2], 2)[1]),
    "roll by half": (0, lambda v, a: np.roll(v, v.shape[0] // 2)),
    "roll back by half": (0, lambda v, a: np.roll(a, -(v.shape[0] // 2), axis=0)),
    "roll by all": (0, lambda v, a: np.roll(v, v.shape[0])),
    "fftshift": (0, lambda v, a: np.fft.fftshift(v)),
    "ifftshift": (0, lambda v, a: np.fft.ifftshift(a)),
    "repeat all": (0, lambda v, a: np.repeat(a, v.shape[0], axis=1)),
    "tile all": (0, lambda v, a: np.tile(v, (2, v.shape[0]))),
    "pad with as many": (0, lambda v, a: np.pad(v, v.shape[0])),
    "pad behind": (1, lambda v, a: np.pad(a, ((0, v.shape[0] - 1), (1, 0)), constant_values=2.0)),
    "pad edge by half": (1, lambda v, a: np.pad(v, (v.shape[0] // 2, 0), mode="edge")),
    "a far diagonal": (0, lambda v, a: np.diag(v, v.shape[0])),
    "a far diagonal below": (0, lambda v, a: np.diag(v, -v.shape[0])),
    "the corner": (1, lambda v, a: np.diagonal(np.outer(v, v), v.shape[0] - 1)),
    "the first from the end": (1, lambda v, a: v[-v.shape[0]] * v[-v.shape[0] :]),
    "a place of three": (0, lambda v, a: np.stack([v, v * v, v + 1])[v.shape[0] % 2 + 1]),
    "rows beside a length": (2, lambda v, a: np.outer(v, v)[[0, 1], v.shape[0] // 2]),
    "a length beside columns": (2, lambda v, a: np.outer(v, v)[v.shape[0] // 2, [0, 1]]),
    "places that are lengths": (1, lambda v, a: v[[0, v.shape[0] - 1, v.shape[0] // 2]]),
    "take of lengths": (1, lambda v, a: np.take(a, [0, v.shape[0] - 1], axis=0)),
    "the length as a number": (1, lambda v, a: np.sum(v) / v.shape[0] + (v.shape[0] - 1)),
}  # fmt: skip


# What NumPy refuses there, or warns of, is a value of the formula.
DEFINED_BELOW = {"reshape", "kron", "the length as a number", "convolve", "mean of a slice"}

# Places that are computed are held against the axis when they have values, as NumPy's are.
COMPUTED_PLACES = {"places that are lengths", "take of lengths"}


def of(name):
    return FORMULAS[name][1]


def data(n, m):
    r = np.random.default_rng(10 * n + m)
    return r.standard_normal(n), r.standard_normal((n, m))


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMULAS)
def test_values_and_derivatives_at_every_length(name):
    least, f = FORMULAS[name]
    y = f(V, A)
    loss = sd.sum(sd.sin(y))
    value = nm.lower([y, *sd.grad(loss, [V, A])], [V, A])
    second = nm.lower(sd.hessian(loss, V), [V, A])
    for n, m in ((least, 1), (least + 1, 3), (6, 2), (9, 1)):
        v, a = data(n, m)
        known = sd.symbol("v", n), sd.symbol("A", (n, m))
        g = f(*known)
        there = sd.sum(sd.sin(g))
        want = nm.lower([g, *sd.grad(there, known)], known)(v, a)
        found = value(v, a)
        np.testing.assert_allclose(found[0], f(v, a), rtol=1e-14, atol=1e-14)
        assert np.shape(found[0]) == np.shape(f(v, a))
        for x, w in zip(found, want, strict=True):
            np.testing.assert_allclose(x, w, rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(nm.interpret(y, {V: v, A: a}), found[0], rtol=1e-14, atol=1e-14)
        hessian = nm.lower(sd.hessian(there, known[0]), known)(v, a)
        np.testing.assert_allclose(second(v, a), hessian, rtol=1e-12, atol=1e-12)
    if least and name not in DEFINED_BELOW:
        error = IndexError if name in COMPUTED_PLACES else ShapeError
        told = "out of bounds" if name in COMPUTED_PLACES else f"n is {least - 1}"
        with pytest.raises(error, match=told):
            nm.lower(y, [V, A])(*data(least - 1, 2))


@all_cases("name", FORMULAS, least=131)
def test_a_formula_bound_to_numbers_is_that_of_numbers(name):
    f = of(name)
    v, a = sd.symbol("v", 6), sd.symbol("A", (6, 2))
    bound = sd.substitute(f(V, A), {V: v, A: a})
    assert bound.shape == f(v, a).shape
    x, b = data(6, 2)
    found, want = (nm.lower(y, [v, a])(x, b) for y in (bound, f(v, a)))
    np.testing.assert_allclose(found, want, rtol=1e-14, atol=1e-14)


def test_equal_slices_are_one_node():
    n = V.shape[0]
    assert V[1:][1:] is V[2:]
    assert V[1:][::-1] is V[:0:-1]
    assert V[n - 3 :] is V[-3:]
    assert V[: n - 1] is V[:-1]
    assert V[n - 1] is V[-1]
    assert V[n // 2] is not V[(n + 1) // 2]
    assert str(V[n // 2]) == "v[n//2]"
    assert V[1:][3] is V[4]
    assert V[:-1][-1] is V[-2]
    assert V[5:2].shape == (0,)


def test_a_slice_within_one_of_what_is_joined_is_of_that():
    n, w = V.shape[0], sd.symbol("w", 3)
    joined = np.concatenate([V[:1], V[1:-1] ** 2, V[-1:], w])
    assert joined[1 : n - 1] is V[1:-1] ** 2
    assert joined[2 : n - 2] is (V[1:-1] ** 2)[1:-1]
    assert joined[0] is V[0]
    assert joined[n - 1 : n] is V[-1:]
    assert joined[-4] is V[-1]
    assert joined[-1] is w[-1]
    assert joined[-3:-1] is w[:2]
    assert joined[2:].args == (joined,)  # of several of them
    assert joined[1::2].args == (joined,)
    slices = (slice(1, n - 1), slice(2, n - 2), slice(2, None), slice(-3, -1))
    f = nm.lower([joined[s] for s in slices], [V, w])
    for length in (4, 5, 9):
        v, _ = data(length, 1)
        whole = np.concatenate([v[:1], v[1:-1] ** 2, v[-1:], np.arange(3.0)])
        want = whole[1 : length - 1], whole[2 : length - 2], whole[2:], whole[-3:-1]
        for x, there in zip(f(v, np.arange(3.0)), want, strict=True):
            np.testing.assert_array_equal(x, there)


def test_lengths_are_solved_and_checked():
    d, grid = sd.symbol("d", "n - 1"), sd.symbol("G", ("k", "n*k"))
    f = nm.lower(sd.sum(d) * d.shape[0] + sd.sum(grid), [d, grid])
    assert f(np.ones(3), np.zeros((2, 8))) == 9
    with pytest.raises(ShapeError, match=r"k\*n is 8, as k is 2 in G, n is 4 in d"):
        f(np.ones(3), np.zeros((2, 6)))
    with pytest.raises(ShapeError, match="no n >= 0 makes 2\\*n 3"):
        nm.lower(sd.sum(sd.symbol("e", "2*n")), [sd.symbol("e", "2*n")])(np.ones(3))
    product = sd.symbol("p", "n*m")
    with pytest.raises(ValueError, match="no input has an axis of length m, n"):
        nm.lower(sd.sum(product), product)
    with pytest.raises(ShapeError, match="would be both n and n - 1"):
        V + d
    with pytest.raises(ShapeError, match=r"n is 3: \[:5\] of an axis of length n"):
        nm.lower(V[:5], V)(np.zeros(3))
    with pytest.raises(ShapeError, match=r"n is 0: \[1:\] .* n - 1 would be -1"):
        nm.lower(V[1:], V)(np.zeros(0))
    with pytest.raises(ShapeError, match="reshape of"):
        nm.lower(sd.reshape(V, (-1, 2)), V)(np.zeros(3))
    n = V.shape[0]
    with pytest.raises(IndexError, match="index n is out of bounds for axis 0 of length n"):
        V[n]
    with pytest.raises(ShapeError, match=r"\[1:n \+ 1:1\] is beyond every axis of length n"):
        V[1 : n + 1]
    x = sd.symbol("x", 4)
    with pytest.raises(IndexError, match="4"):
        nm.lower(x[n] * V, [x, V])(np.ones(4), np.ones(4))
    with pytest.raises(
        Unsupported, match=r"n, which is known by name, in a slice of axis 0 of .* 4"
    ):
        x[:n]
    with pytest.raises(ShapeError, match=r"n is 3: reshape of .* 2\*\(n//2\) - n would be -1"):
        nm.lower(sd.split(V, 2), V)(np.ones(3))
    with pytest.raises(Unsupported, match="split: into n parts"):
        sd.split(V, n)
    with pytest.raises(ShapeError, match="split: axis 0 of length n has no 0 equal parts"):
        sd.split(V, 0)
    with pytest.raises(Unsupported, match=r"place -m is from the end, but .*; write n - m"):
        V[-A.shape[1] :]
    with pytest.raises(IndexError, match="place -n - 1 is beyond every axis of length n"):
        V[-n - 1]
    with pytest.raises(Unsupported, match="triu: diagonal n - 1"):
        np.triu(np.outer(V, V), n - 1)
    with pytest.raises(Unsupported, match=r"pad: \('n', 'n'\) elements in mode 'wrap'"):
        np.pad(V, n, mode="wrap")
    with pytest.raises(ShapeError, match=r"windows of m elements of an axis of length n .* n - m"):
        nm.lower(np.convolve(V, A[0], "valid"), [V, A])(np.ones(2), np.ones((2, 3)))
    with pytest.raises(ShapeError, match=r"n - m would be -1"):
        nm.lower(np.convolve(V, A[0], "same"), [V, A])(np.ones(2), np.ones((2, 3)))
    with pytest.raises(Unsupported, match="n > m is not known"):
        assert V.shape[0] > A.shape[1]


@pytest.mark.parametrize("m", [0, 1, 2, 5])
def test_a_reshape_of_no_elements_asks_nothing_of_the_other_axes(m):
    w, A = sd.symbol("w", "m"), sd.symbol("A", ("n", "m"))
    nothing = sd.repeat(w, 0)
    assert nm.lower(sd.kron(nothing, w), w)(np.ones(m)).shape == (0,)
    rows = nm.lower([sd.reshape(A, ("n", "k")), sd.symbol("u", "k")], [A, sd.symbol("u", "k")])
    assert rows(np.ones((0, m)), np.ones(3))[0].shape == (0, 3)
    if m != 3:
        with pytest.raises(ShapeError, match="reshape of"):
            rows(np.ones((2, m)), np.ones(3))


def test_windows_longer_than_the_axis_are_refused_at_the_call():
    windows = sd.sliding_window_view(V, 3)
    slope = sd.grad(sd.sum(windows), V)
    for f in (windows, slope, sd.convolve(V, [1, 2, 3], "valid")):
        with pytest.raises(ShapeError, match=r"n is 2: windows of 3 .* n - 3 would be -1"):
            nm.lower(f, V)(np.ones(2))
        with pytest.raises(ShapeError, match=r"n is 2: windows of 3 .* n - 3 would be -1"):
            nm.interpret(f, {V: np.ones(2)})


def test_fixed_places_are_checked_at_the_call_and_when_data_is_bound():
    y = V[[0, 2, -4]]
    assert V[[0, 2, -4]] is y
    assert np.take(V, [0, 2, -4]) is y
    slope = sd.grad(sd.sum(y**2), V)
    for f in (y, slope):
        with pytest.raises(ShapeError, match=r"n is 3: index -4 of an axis of .* n - 4 would be"):
            nm.lower(f, V)(np.ones(3))
        with pytest.raises(ShapeError, match=r"n is 2: index 2 of an axis of .* n - 3 would be"):
            nm.interpret(f, {V: np.ones(2)})
        with pytest.raises(ShapeError, match="substitute: index -4 of an axis of length n is"):
            f.subs({V: np.ones(3)})
    with pytest.raises(ShapeError, match="index 1 of an axis of length m"):
        nm.lower(A[[0, 1], [1, 0]], A)(np.ones((3, 1)))
    with pytest.raises(IndexError, match="a mask of length 2 for axis 0 of length n"):
        V[[True, False]]
    with pytest.raises(IndexError, match="do not broadcast"):
        A[[0, 1], [0, 1, 2]]


def test_arrays_of_named_lengths_are_made_where_an_expression_is_asked():
    n = V.shape[0]
    assert np.arange(n, like=V) is sd.arange(n)
    assert np.eye(n, like=V) is sd.eye(n)
    assert np.linspace(V[0], V[-1], n).shape == ("n",)
    with pytest.raises(Unsupported, match=r"known by name.*np\.arange\(n, like=x\)"):
        np.linspace(0, 1, n)
    with pytest.raises(TypeError, match=r"np\.ones\(\.\.\., like=x\) of .*'device'"):
        np.ones(n, device="cpu", like=V)
    with pytest.raises(Unsupported, match=r"np\.eye.*\bk\b"):
        np.eye(n, k=1, like=V)
    with pytest.raises(TypeError, match=r"arange: 0\.5 is neither an int nor a length"):
        np.arange(0.5, n, like=V)
    with pytest.raises(Unsupported, match=r"np\.gradient is made of finite differences"):
        np.gradient(V)


# Operations of Tensors, each with the formula that is made of the same ops.
OF_TENSORS = {
    "full": (lambda x: nm.zeros_like(x) + x, lambda v: sd.sum(sd.zeros(v.shape) + sd.sin(v))),
    "norm": (nm.Tensor.norm, sd.norm),
    "sums": (lambda x: x.sum(), sd.sum),
    "stack": (lambda x: nm.stack([x, x]), lambda v: sd.stack([v, v])),
    "reshape": (lambda x: nm.reshape(x, (1, 1, -1)), lambda v: sd.reshape(v, (1, 1, -1))),
    "ends": (lambda x: x[0] + x[-1], lambda v: v[0] + v[-1]),
    "diagonal": (nm.diag, sd.diag),
}


@pytest.mark.parametrize("name", OF_TENSORS)
def test_an_axis_has_the_users_length_whatever_tensors_were_met(name):
    of_tensors, of_symbols = OF_TENSORS[name]
    v, x = sd.symbol("v", "n0"), nm.ones(5, requires_grad=True)
    kept = of_tensors(x)  # ops live as long as what is made of them
    (g,) = nm.autograd.grad(kept.sum(), x, create_graph=True)
    y = of_symbols(v)
    nodes = [y, sd.grad(sd.sum(sd.sin(y)), v)]
    for node in topological(nodes):
        assert all(isinstance(dim, int | Length) for dim in node.shape), node
    assert nodes[1].shape[0] - 1 == "n0 - 1"
    assert g.shape == (5,)


def test_no_axis_has_a_letter_of_tensors():
    with pytest.raises(ValueError, match="neither an int >= 0 nor a name"):
        sd.symbol("v", str(LengthLetter(0)))
    assert pickle.loads(pickle.dumps(LengthLetter(3))) == "#3"


@pytest.mark.parametrize(
    "of",
    [
        lambda v: v[-4:][1], lambda v: v[:5][::-1][3:], lambda v: v[2:-2][0], lambda v: v[:5][:2],
        lambda v: v[-4:-1][:2], lambda v: v[4::-1][-1], lambda v: v[3:][:0:-1][::2],
        lambda v: v[:-1][0], lambda v: v[:-1][:2], lambda v: v[2:-1][-2:],
    ],
)  # fmt: skip
def test_a_part_of_a_slice_needs_all_of_it(of):
    """A part that is of another slice, too, is not where NumPy cuts the slice off."""
    f, v = nm.lower(of(V), V), np.arange(3.0)
    with pytest.raises(ShapeError, match=r"an axis of length n.* is impossible"):
        f(v[:1])
    for n in range(8):
        v = np.arange(float(n))
        try:
            found = f(v)
        except (ShapeError, IndexError):
            continue
        np.testing.assert_array_equal(found, of(v))


# Slices of slices with steps, and the least length that has all that they are written with.
STRIDED = [
    (1, lambda v: v[::2][1:]), (1, lambda v: v[::2][:-1]), (3, lambda v: v[::2][-2::-1]),
    (5, lambda v: v[::2][-3:]), (1, lambda v: v[::2][-1:]), (0, lambda v: v[::3][::2]),
    (0, lambda v: v[::3][::-2]), (4, lambda v: v[::3][1::-1]), (1, lambda v: v[::-2][1:]),
    (0, lambda v: v[::-2][::-1]), (1, lambda v: v[::-2][:0:-1]),
    (2, lambda v: v[1::3][2::2][::-1]), (2, lambda v: v[:-1:2][1:]),
    (3, lambda v: v[-2:0:-2][1:]), (1, lambda v: v[::2][::-1][1:][::2]),
    (0, lambda v: v[v.shape[0] // 2 :: 2][::-1]), (5, lambda v: v[v.shape[0] // 2 :: 2][1:-1]),
]  # fmt: skip


@pytest.mark.parametrize(("least", "of"), STRIDED)
def test_slices_of_slices_with_steps(least, of):
    y = of(V)
    f = nm.lower([y, sd.grad(sd.sum(y**2), V)], V)
    for n in range(14):
        v = np.arange(1.0, n + 1)
        if n < least:
            with pytest.raises(ShapeError, match="impossible"):
                f(v)
            continue
        value, slope = f(v)
        np.testing.assert_array_equal(value, of(v))
        want = np.zeros(n)
        of(want)[:] = 2 * of(v)
        np.testing.assert_array_equal(slope, want)


def test_no_place_of_a_line_is_counted_from_the_end():
    x = np.arange(5)
    for first, stop, step in itertools.product(range(-1, 5), range(-1, 6), (-3, -2, -1, 1, 2)):
        places = range(first, stop, step)
        if not places or min(places) >= 0:
            np.testing.assert_array_equal(x[line(first, stop, step)], list(places))


def test_slices_of_slices_have_one_spelling():
    assert V[::2][1:] is V[2::2]
    assert V[::3][::2] is V[::6]
    assert V[::-2][1:] is not V[-3::-2]  # which an axis of length 2 has not
    assert V[:-1:2][1:] is V[2:-1:2]
    assert V[1:][:5:2] is V[1:6:2]  # which ends at the last place, not a step behind it
    assert V[:-1][0] is not V[0]  # which an axis of length 1 has, too


# Bounds of slices, some of which are negative numbers at some lengths, and some lengths there.
BOUNDS = [
    lambda n: None, lambda n: 0, lambda n: 2, lambda n: -1, lambda n: -3, lambda n: n,
    lambda n: n - 1, lambda n: n - 4, lambda n: n // 2, lambda n: n // 2 - 4, lambda n: n // 3 - 2,
    lambda n: 5 - n, lambda n: n - 3 * (n // 2), lambda n: -(n // 2),
]  # fmt: skip


def _within(start, stop, step, n):
    """Whether the bounds are places of an axis of n elements, in their order."""

    def place(of, omitted):
        end = of(n)
        if end is None:
            return omitted
        if end >= 0:
            return end
        return end + n if of(0) == of(9) else np.nan  # from the end, as an int is

    if step > 0:
        return 0 <= place(start, 0) <= place(stop, n) <= n
    if stop(n) is None:
        return start(n) is None or 0 <= place(start, None) < n
    return 0 <= place(stop, -1) <= place(start, n - 1) < n


@pytest.mark.parametrize("step", [1, 2, 5, -1, -2, -3])
@pytest.mark.parametrize("start", BOUNDS)
def test_bounds_that_are_lengths_are_not_counted_from_the_end(start, step):
    """A call has NumPy's elements, or raises; it has them where the bounds are in the axis."""
    for stop in BOUNDS:
        try:
            f = nm.lower(V[start(V.shape[0]) : stop(V.shape[0]) : step], V)
        except (ShapeError, Unsupported):  # of no axis, or in no order that is known
            continue
        for n in range(10):
            v = np.arange(float(n))
            if _within(start, stop, step, n):
                found = f(v)
            else:
                try:
                    found = f(v)
                except ShapeError:
                    continue
            np.testing.assert_array_equal(found, v[start(n) : stop(n) : step])


@pytest.mark.parametrize(
    ("least", "of"),
    [
        (1, lambda v: v[:-1][::-1]), (1, lambda v: v[::-1][1:]), (3, lambda v: v[-3:][::-1]),
        (0, lambda v: v[v.shape[0] // 2 :][::-1]), (0, lambda v: v[::-1][: v.shape[0] // 2]),
        (2, lambda v: v[-2:][::-1][:1]), (0, lambda v: v[: v.shape[0] // 2][::-1][::2]),
    ],
)  # fmt: skip
def test_reversed_slices_have_the_lengths_of_the_slices(least, of):
    test_slices_of_slices_with_steps(least, of)


def test_a_name_is_a_length_or_a_symbol():
    x, n = sd.symbol("x", ("n", "m + 1")), sd.symbol("n")
    f = n * sd.sum(x)
    of_both = r"'n' is a symbol of shape \(\) and a length of x, of shape \(n, m \+ 1\); rename one"
    for refused in (
        lambda: f.free_symbols,
        lambda: sd.grad(f, x),
        lambda: sd.evalf(f, subs={x: np.ones((2, 3)), n: 2}),
        lambda: sd.parse(str(f), [x, n]),
        lambda: nm.lower(f, [x, n]),
        lambda: nm.lower(sd.sum(x), [x, n]),
        lambda: nm.interpret(f, {x: np.ones((2, 3)), n: 2.0}),
    ):
        with pytest.raises(ShapeError, match=of_both):
            refused()
    with pytest.raises(ShapeError, match=r"'m' is a symbol of shape \(3,\) and a length of x"):
        nm.lower(sd.sum(x), [x, sd.symbol("m", 3)])
    matrix = sd.symbol("n", ("m", "d"))
    with pytest.raises(ShapeError, match=r"'n' is a symbol of shape \(m, d\) and a length of x"):
        sd.grad(x.shape[0] * sd.sum(matrix) * sd.sum(x), x)
    with pytest.raises(ShapeError, match=r"'k' is a symbol of shape \(k,\) and a length of k"):
        nm.lower(sd.sum(sd.symbol("k", "k")), sd.symbol("k", "k"))
    k = sd.symbol("k")
    assert sd.parse("k*sum(x)*n", {"k": k, "x": x}) is k * sd.sum(x) * x.shape[0]


@pytest.mark.parametrize("of", [lambda v: v[[0, -1]], lambda v: np.take(v, [0]) + v[[0]] ** 2])
def test_places_have_no_part_in_promotion(of):
    """Indices are int64, and what is taken by them has the precision of what it is taken of."""
    loss = sd.sum(sd.sin(of(V)))
    outputs = [of(V), loss, sd.grad(loss, V), sd.hessian(loss, V)]
    v = np.arange(1, 5, dtype=np.float32)
    for found in (nm.lower(outputs, V)(v), nm.interpret(outputs, {V: v})):
        assert [x.dtype for x in found] == [np.float32] * 4
    assert nm.lower(of(V), V)(v.astype(np.float64)).dtype == np.float64


def _pair(z):
    return np.stack([z.real, z.imag])


# Transforms of one part or of two, with what NumPy has for them, and the least length.
TRANSFORMS = {
    "fft": (0, lambda v: sd.fft(v), lambda v: _pair(np.fft.fft(v))),
    "fft of rows": (
        1,
        lambda v: sd.fft(np.outer(v, v)),
        lambda v: _pair(np.fft.fft(np.outer(v, v))),
    ),
    "ifft": (1, lambda v: sd.ifft(v, v * v), lambda v: _pair(np.fft.ifft(v + 1j * v * v))),
    "rfft": (1, lambda v: sd.rfft(v), lambda v: _pair(np.fft.rfft(v))),
    "rfft of a slice": (2, lambda v: sd.rfft(v[1:]), lambda v: _pair(np.fft.rfft(v[1:]))),
    "irfft": (2, lambda v: sd.irfft(v, v * v), lambda v: np.fft.irfft(v + 1j * v * v)),
    "irfft of rfft": (
        2,
        lambda v: sd.irfft(*sd.rfft(np.repeat(v, 2))),
        lambda v: np.repeat(v, 2),
    ),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name):
    least, ours, numpys = TRANSFORMS[name]

    def of(v):
        y = ours(v)
        return np.stack(y) if isinstance(y, tuple) else y

    loss = sd.sum(sd.sin(of(V)))
    f = nm.lower([of(V), sd.grad(loss, V)], V)
    for n in (least, least + 1, 5, 8):
        if not n:
            continue
        v, _ = data(n, 1)
        value, slope = f(v)
        np.testing.assert_allclose(value, numpys(v), rtol=1e-13, atol=1e-13)
        w = sd.symbol("v", n)
        known = nm.lower([of(w), sd.grad(sd.sum(sd.sin(of(w))), w)], w)(v)
        np.testing.assert_allclose(value, known[0], rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(slope, known[1], rtol=1e-12, atol=1e-12)


def test_texts_are_no_shifts_and_no_widths():
    with pytest.raises(TypeError, match="roll: shift 'n' of type str is not an integer"):
        sd.roll(V, "n")
    with pytest.raises(TypeError, match="roll: shift 'one' of type str is not an integer"):
        np.roll(V, "one")
    with pytest.raises(TypeError, match="pad: widths 'n' are not integers"):
        sd.pad(V, "n")
