"""interpret: values, precision, what it refuses, what it keeps."""

import gc
import math
import warnings
import weakref

import numpy as np
import pytest

import numeric as nm
import symdiff as sd
from numeric.lowering import node_kernels
from numeric.lowering.reference import interpret
from tests.support.refusals import refused

RNG = np.random.default_rng(3)
X = sd.symbol("X", ("n", "k"))
W = sd.symbol("w", "k")
S = sd.symbol("s")
N = sd.symbol("N", 2, int)
FLAGS = sd.symbol("flags", 2, bool)


def test_one_expression_gives_a_value_and_several_a_tuple():
    x = sd.symbol("x", 3)
    assert interpret(x + 1, {x: [1, 2, 3]}).tolist() == [2, 3, 4]
    one = interpret([x + 1], {"x": [1, 2, 3]})
    assert isinstance(one, tuple)
    assert one[0].tolist() == [2, 3, 4]
    assert interpret((), {}) == ()


def test_scalars_come_out_as_floats():
    value = interpret(S**2 / 3, {S: 2.0})
    assert isinstance(value, float)
    assert value == 4 / 3
    assert interpret(sd.constant(3), {}) == 3
    assert interpret(sd.pi / 2, {}) == math.pi / 2
    assert isinstance(interpret(X.sum(), {X: np.ones((2, 2))}), float)
    assert interpret(S > 1, {S: 2}) == np.True_


def test_constants_of_a_shape_are_filled():
    assert interpret(sd.zeros((2, "n")), {"n": 3}).tolist() == [[0] * 3] * 2
    assert interpret(X * 0 + 0.5, {X: np.ones((1, 2)), "n": 1, "k": 2}).tolist() == [[0.5, 0.5]]
    x = sd.symbol("x", 2)
    assert (
        interpret(sd.pi + 0 * x + sd.where(x > 0, 1, 1), {x: [1, 2]}).tolist() == [1 + math.pi] * 2
    )


# Precision ----------------------------------------------------------------------------------------

OF_X = [
    X * 0.1 + sd.pi,
    sd.exp(X) / sd.sqrt(2),
    sd.where(X > 0, X, 0.1),
    (X > 0) * X,
    X.mean(0),
    X @ W,
    X @ X.T + sd.eye("n"),
    sd.logsumexp(X * S, axis=1),
    sd.grad((X / 3).sum(), X),
    W * sd.cumsum(W),
]


@pytest.mark.parametrize("y", OF_X)
def test_float32_in_gives_float32_out(y):
    assert (
        interpret(y, {X: np.ones((2, 3), np.float32), W: np.ones(3, np.float32), S: 0.5}).dtype
        == np.float32
    )


def test_float64_wins_over_float32_and_integers_are_promoted():
    env = {X: np.ones((2, 3), np.float32), W: np.ones(3)}
    assert interpret(X @ W, env).dtype == np.float64
    assert interpret(X @ W, {X: np.ones((2, 3), int), W: [1, 2, 3]}).dtype == np.float64
    wrapped = interpret(N * 2, {N: np.array([1, 200], np.uint8)})  # as NumPy's
    assert wrapped.dtype == np.uint8
    assert wrapped.tolist() == [2, 144]
    assert interpret(N / 2, {N: [1, 2]}).tolist() == [0.5, 1]


# What is refused, before anything runs ------------------------------------------------------------


@pytest.mark.parametrize(
    ("env", "error", "message"),
    [
        ({}, ValueError, r"symbol X of shape \(n, k\) and dtype float has no value; given: none"),
        ({"X": np.ones((2, 3))}, ValueError, "symbol w .* given: X"),
        ({"X": np.ones((2, 3)), "w": np.ones(3), "v": 1}, ValueError, "unknown symbol v; .* X, w"),
        (
            {"X": np.ones(3), "w": np.ones(3)},
            sd.ShapeError,
            r"X: expected shape \(n, k\), got \(3,\)",
        ),
        (
            {"X": np.ones((2, 3)), "w": np.ones(2)},
            sd.ShapeError,
            r"w: .* \(k,\), got \(2,\); k is 3 in X",
        ),
        (
            {"X": np.ones((2, 3)), "w": np.ones(3), "k": 2},
            sd.ShapeError,
            "k is 2 in the lengths given",
        ),
        (
            {"X": 1j * np.ones((2, 3)), "w": np.ones(3)},
            TypeError,
            "X: .* float, got dtype complex128; pass real",
        ),
        (
            {"X": np.full((2, 3), "a"), "w": np.ones(3)},
            TypeError,
            "X: expected dtype float, got dtype <U1",
        ),
        (
            {"X": np.ones((2, 3)), "w": [None] * 3},
            TypeError,
            "w: expected dtype float, got dtype object",
        ),
        (
            {"X": np.ma.masked_array(np.ones((2, 3)), True), "w": np.ones(3)},
            TypeError,
            "X: expected dtype float, got a masked array",
        ),
        ({"X": [[1.0], [2.0, 3.0]], "w": np.ones(3)}, sd.ShapeError, "X: the argument is ragged"),
        ({"X": X, "w": np.ones(3)}, TypeError, "X: expected numbers, got the expression"),
        (
            {X: np.ones((2, 3)), "X": np.ones((2, 3)), "w": np.ones(3)},
            ValueError,
            "X is given twice",
        ),
        ({3: 1}, TypeError, "3 of type int is neither a symbol nor a name"),
        ({X + 1: 1}, TypeError, "is not a symbol"),
        ({"X": np.ones((2, 3)), "w": np.ones(3), "n": 2.5}, TypeError, "axis length n: 2.5"),
        ({"X": np.ones((2, 3)), "w": np.ones(3), "n": -1}, TypeError, "axis length n: -1"),
    ],
)
def test_a_wrong_environment_is_refused_before_anything_runs(env, error, message, monkeypatch):
    monkeypatch.setattr(node_kernels, "_kernel", None)
    with pytest.raises(error, match=message):
        interpret(X @ W, env)


def test_symbols_lengths_and_outputs_are_checked():
    refused(
        (
            TypeError,
            "N: expected dtype int, got dtype float64",
            lambda: interpret(N + 1, {N: [1.0, 2.0]}),
        ),
        (
            TypeError,
            "flags: expected dtype bool, got dtype int64",
            lambda: interpret(~FLAGS, {FLAGS: [1, 0]}),
        ),
        (
            sd.ShapeError,
            r"N: expected shape \(2,\), got \(3,\)",
            lambda: interpret(N + 1, {N: [1, 2, 3]}),
        ),
        (
            ValueError,
            "two symbols are named w",
            lambda: interpret([W.sum(), sd.symbol("w")], {"w": 1.0}),
        ),
        (ValueError, "axis length m is not known", lambda: interpret(sd.ones("m"), {})),
        (TypeError, "3 of type int is not an expression", lambda: interpret([S, 3], {S: 1})),
    )
    assert interpret(~FLAGS, {FLAGS: [True, False]}).tolist() == [False, True]


def test_symbols_that_are_not_needed_still_tell_lengths():
    assert interpret(S + 1, {S: 1, W: [1, 2]}) == 2
    assert interpret(sd.grad(3 * W.sum(), W), {W: [1.0, 2.0]}).tolist() == [3, 3]
    with pytest.raises(sd.ShapeError, match="k is 2 in w"):
        interpret(S + 1, {S: 1, W: [1, 2], X: np.ones((2, 3))})


# Memory, warnings, size ---------------------------------------------------------------------------


def test_results_share_no_memory():
    x = np.ones((3, 3))
    data = sd.constant(np.ones(2))
    outputs = [X, X.T, X[0], X[:, ::-1], sd.detach(X), X, data]
    results = interpret(outputs, {X: x})
    for i, a in enumerate(results):
        assert a.flags.writeable
        assert not np.shares_memory(a, x)
        assert not any(np.shares_memory(a, b) for b in results[:i])
    assert interpret(data, {}) is not interpret(data, {})


def test_selections_do_not_warn_about_what_they_discard():
    y = sd.where(S > 0, sd.log(S), S)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert interpret([y, sd.diff(y, S)], {S: -1.0}) == (-1, 1)


def test_without_selections_warnings_are_those_of_numpy():
    with pytest.warns(RuntimeWarning, match="invalid value"):
        assert math.isnan(interpret(sd.log(S), {S: -1.0}))
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        assert interpret(1 / S, {S: 0.0}) == math.inf


def test_values_are_dropped_after_their_last_use(monkeypatch):
    x = sd.symbol("x", 1000)
    alive = []
    real = node_kernels.kernel

    class Watched(np.ndarray):
        pass

    def watching(node):
        call = real(node)

        def run(args, sizes):
            value = np.asarray(call(args, sizes)).view(Watched)
            alive.append(weakref.ref(value))
            return value

        return run

    monkeypatch.setattr("numeric.lowering.reference.kernel", watching)
    y = x
    for _ in range(20):
        y = sd.sin(y)
    peak = []
    monkeypatch.setitem(
        node_kernels.special.NUMPY, "cos", lambda v: peak.append(gc.collect()) or np.cos(v)
    )
    interpret(sd.cos(y), {x: np.ones(1000)})
    assert len(peak) == 1
    assert sum(ref() is not None for ref in alive) == 0


def test_deep_graphs_need_no_recursion():
    y = S
    for _ in range(20_000):
        y = y * S + 1
    assert interpret(y, {S: 0.5}) == 2.0


@pytest.mark.parametrize("shape", [(), ("n",)])
def test_powers_that_leave_the_floats_come_back_in_products(shape):
    """y x^(y-1) and its like at the least numbers, where x^(y-1) alone is inf or rounded."""
    x, y = sd.symbol("x", shape), sd.symbol("y", shape)
    f = x**y
    tiny = 5e-324
    rows = [
        (sd.grad(sd.sum(f), x), tiny, 0.0, 0.0),
        (sd.grad(sd.sum(f), x), -tiny, 0.0, 0.0),
        (sd.grad(sd.sum(f), x), tiny, 1e-310, 1e-310 / tiny),
        (sd.grad(sd.sum(sd.grad(sd.sum(f), x)), x), tiny, 1.0, 0.0),
        (sd.grad(sd.sum(sd.grad(sd.sum(f), x)), y), tiny, 0.0, np.inf),
        (x * sd.exp2(y), 1e-200, 1100.0, 2.0**1000 * 1e-200 * 2.0**100),
    ]
    for g, a, b, expected in rows:
        given = (a, b) if not shape else (np.full(2, a), np.full(2, b))
        with np.errstate(all="ignore"):
            found = nm.interpret(g, dict(zip((x, y), given, strict=True)))
            np.testing.assert_allclose(found, np.full(found.shape, expected), rtol=1e-14)
            np.testing.assert_array_equal(found, nm.lower(g, [x, y])(*given))


def test_the_sign_of_gamma_at_numbers_that_float32_does_not_have():
    x = sd.symbol("x")
    F = nm.lower(sd.gammasgn(x), x)
    assert [F(v) for v in (-1e-300, -5e-324, -1e-46, -1.5, 1e-300)] == [-1, -1, -1, 1, 1]


def test_a_power_that_a_selection_discards_does_not_warn():
    """Of Python floats and of arrays, which are other programs."""
    x, y = sd.symbols("x y")
    for f in (sd.where(x > 0, x ** (y - 1), 0.0), sd.diff(x**y, x)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert nm.lower(f, [x, y])(0.0, 0.0) == 0
            assert nm.interpret(f, {x: 0.0, y: 0.0}) == 0
    with pytest.warns(RuntimeWarning, match="power"):
        assert nm.lower(x ** (y - 1), [x, y])(0.0, 0.0) == np.inf
