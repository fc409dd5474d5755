"""What a lowered Function promises: arguments, results, gradients, accumulation, purity."""

from __future__ import annotations

import math
import re
import threading

import numpy as np
import pytest

import numeric as nm
import symdiff as sd
from numeric import special
from numeric.lowering import formulas
from tests.support.refusals import refused

X, W = sd.symbol("X", ("n", 3)), sd.symbol("W", (3, 2))
U, V = sd.symbols("U V", 3)
A, B = sd.symbols("a b")
N = sd.symbol("k", dtype=int)
RNG = np.random.default_rng(20)
XS, WS, VS = RNG.normal(size=(5, 3)), RNG.normal(size=(3, 2)), RNG.normal(size=3)


def layer():
    return nm.lower(sd.tanh(X @ W), (X, W))


def loss():
    return nm.lower(sd.sum(sd.tanh(X @ W) ** 2), (X, W))


# Calls ------------------------------------------------------------------------------------------


def test_one_expression_gives_a_value_and_a_list_gives_a_tuple():
    assert nm.lower(A * B, (A, B))(2.0, 3.0) == 6.0
    assert nm.lower([A * B], (A, B))(2.0, 3.0) == (6.0,)
    assert nm.lower((A * B, A), (A, B))(2.0, 3.0) == (6.0, 2.0)


def test_arguments_by_name_and_by_place():
    f = layer()
    expected = f(XS, WS)
    np.testing.assert_array_equal(f(W=WS, X=XS), expected)
    np.testing.assert_array_equal(f(XS, W=WS), expected)
    g = nm.lower(A - 2 * B, (A, B))
    assert g(b=1.0, a=5.0) == g(5.0, b=1.0) == g(5.0, 1.0) == 3.0
    assert g.value_and_grad(b=1.0, a=5.0) == (3.0, (1.0, -2.0))


def test_unused_inputs_are_fine():
    f = nm.lower(A * 2, (B, A))
    assert f(9.0, 4.0) == 8.0
    assert f.value_and_grad(9.0, 4.0) == (8.0, (0.0, 2.0))


def test_no_inputs_at_all():
    f = nm.lower(sd.sqrt(sd.pi), ())
    assert f() == math.sqrt(math.pi)
    assert f.value_and_grad() == (f(), ())


def test_many_scalar_inputs_go_through_the_same_checks():
    xs = sd.symbols(" ".join(f"x{i}" for i in range(40)))
    f = nm.lower(sum(x * x for x in xs), xs)
    values = [float(i) for i in range(40)]
    assert f(*values) == sum(v * v for v in values)
    assert f.value_and_grad(*values)[1] == tuple(2 * v for v in values)
    refused(
        (TypeError, "40 arguments expected", lambda: f(*values, 1.0)),
        (TypeError, "no argument for x39", lambda: f(*values[:-1])),
    )


def test_symbolic_lengths_must_agree():
    y = sd.symbol("y", "n")
    f = nm.lower(sd.sum(X, axis=1) + y, (X, y))
    with pytest.raises(sd.ShapeError, match="n is 5 in X"):
        f(XS, np.ones(4))


@pytest.mark.parametrize("value", [1.5, np.float32(2), True, np.ones(2)])
def test_an_integer_input_takes_integers(value):
    f = nm.lower(N * 2, (N,))
    assert f(3) == 6
    with pytest.raises(TypeError, match="k: expected dtype int"):
        f(value)


def test_a_boolean_input_takes_booleans():
    c = sd.symbol("c", dtype=bool)
    f = nm.lower(sd.where(c, A, -A), (c, A))
    assert f(False, 2.0) == -2.0
    with pytest.raises(TypeError, match="c: expected dtype bool"):
        f(1, 2.0)


def test_a_scalar_input_beside_arrays_takes_a_scalar():
    f = nm.lower(V * A, (V, A))
    np.testing.assert_array_equal(f(VS, 2), VS * 2)
    np.testing.assert_array_equal(f(VS, np.array(2.0)), VS * 2)
    message = (
        r"a: expected shape \(\), got \(3,\); sd.batch\(f, {a: ...}\) makes a formula for many"
    )
    refused(
        (sd.ShapeError, message, lambda: f(VS, VS)),
        (sd.ShapeError, r"a: expected shape \(\), got \(2, 3\)$", lambda: f(VS, np.ones((2, 3)))),
    )


# Dtypes -----------------------------------------------------------------------------------------


def test_integers_are_promoted():
    f = nm.lower(V / 2 + 1 / V, (V,))
    y = f(np.array([1, 2, 4]))
    assert y.dtype == np.float64
    np.testing.assert_array_equal(y, [1.5, 1.5, 2.25])
    big = np.array([2**40, 1, 1])
    np.testing.assert_array_equal(nm.lower(V**2, (V,))(big), [2.0**80, 1, 1])


def test_mixed_precision_is_numpys():
    u = sd.symbol("u", 3)
    y = nm.lower(u * V, (u, V))(np.ones(3, np.float32), VS)
    assert y.dtype == np.float64


def test_integer_formulas_give_integers():
    k = sd.symbol("k", 3, dtype=int)
    y = nm.lower(2 * k + 1, (k,))(np.array([1, 2, 3]))
    assert y.dtype == np.int64
    square = nm.lower(N * N, (N,))(7)
    assert (square, type(square)) == (49, int)
    assert type(nm.lower(sd.floor(N / 2), (N,))(7)) is float
    power = nm.lower([N**5, sd.floor(N)], (N,))
    assert power(3) == (243, 3)
    np.testing.assert_array_equal(power(np.array([2, 3]))[0], [32, 243])
    mixed = nm.lower(V + W[:, 0] * 0 + N, (V, W, N))(VS, np.zeros((3, 2)), 2)
    np.testing.assert_array_equal(mixed, VS + 2)


def test_numbers_are_real_results():
    f = nm.lower([sd.where(V > 0, 1.0, 0.0), 3 + 0 * V], (V,))
    assert [y.dtype for y in f(VS)] == [np.float64, np.float64]
    step = nm.lower(sd.where(A > 0, 1, 0), (A,))
    assert (step(2.0), type(step(2.0))) == (1.0, float)
    assert nm.lower(V > 0, (V,))(VS).dtype == np.bool_
    assert nm.lower(A > 0, (A,))(1.0) is True


# Scalars ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [2.0, 2, np.float64(2), np.int32(2), np.array(2.0), True + 1])
def test_scalars_of_every_kind(value):
    y = nm.lower(A**2 / 3, (A,))(value)
    assert float(y) == 4 / 3
    assert np.shape(y) == ()


def test_python_numbers_give_python_floats():
    f = nm.lower([A * 2, sd.constant(3), sd.where(A > 0, 1, 0) * A], (A,))
    assert [type(v) for v in f(1)] == [float, float, float]
    assert [type(v) for v in f(np.float64(1))] == [float, float, float]
    value, grads = nm.lower(3 * A + B, (A, B)).value_and_grad(1.0, 2.0)
    assert [type(v) for v in (value, *grads)] == [float, float, float]


@pytest.mark.parametrize(
    ("formula", "at", "expected"),
    [
        (1 / A, 0.0, math.inf),
        (1 / A**2, 0.0, math.inf),
        (A / A, 0.0, None),
        (sd.log(A), 0.0, -math.inf),
        (sd.log(A), -1.0, math.nan),
        (sd.sqrt(A), -1.0, math.nan),
        (A ** sd.constant(np.float64(1.3)), -1.0, math.nan),
        (sd.exp(A), 1000.0, math.inf),
        (sd.sin(A), math.inf, math.nan),
        (A**5, 1e200, math.inf),
        (sd.acos(A), 2.0, math.nan),
    ],
)
def test_where_math_raises_the_ieee_value_is_given(formula, at, expected):
    expected = 1.0 if expected is None else expected
    f = nm.lower(formula, (A,))
    with np.errstate(all="ignore"):
        y = f(at)
        value, _ = f.value_and_grad(at)
        kept_value, _ = f.forward(at)
    for v in (y, value, kept_value):
        assert type(v) is float
        np.testing.assert_equal(v, expected)


def test_powers_of_negative_numbers_are_never_complex():
    op = sd.pointwise("root", lambda x: x ** (1 / 3))
    f = nm.lower(op(A) + 1, (A,))
    with np.errstate(all="ignore"):
        y = f(-8.0)
    assert type(y) is float
    assert math.isnan(y)


def test_scalar_functions_apply_point_by_point():
    f = nm.lower([A * B, sd.constant(2), A], (A, B))
    a, b = RNG.normal(size=(4, 1)), RNG.normal(size=3)
    product, two, first = f(a, b)
    np.testing.assert_array_equal(product, a * b)
    np.testing.assert_array_equal(two, np.full((4, 3), 2.0))
    np.testing.assert_array_equal(first, np.broadcast_to(a, (4, 3)))
    assert two.dtype == np.float64
    first[...] = 0  # outputs are arrays of their own


def test_gradients_at_each_point_and_cotangents_summed_to_arguments():
    f = nm.lower(sd.sin(A) * B + 3 * B, (A, B))
    a, b = RNG.normal(size=(4, 1)), RNG.normal(size=3)
    value, (ga, gb) = f.value_and_grad(a, b)
    assert value.shape == ga.shape == gb.shape == (4, 3)
    np.testing.assert_allclose(ga, np.cos(a) * b)
    np.testing.assert_allclose(gb, np.broadcast_to(np.sin(a) + 3, (4, 3)))
    out, kept = f.forward(a, b)
    np.testing.assert_array_equal(out, value)
    g = RNG.normal(size=(4, 3))
    xa, xb = f.backward(kept, g)
    np.testing.assert_allclose(xa, (g * ga).sum(1, keepdims=True))
    np.testing.assert_allclose(xb, (g * gb).sum(0))
    xa, xb = f.backward(f.forward(0.5, b)[1], np.ones(3))
    assert np.shape(xa) == ()
    np.testing.assert_allclose(xa, (np.cos(0.5) * b).sum())


def test_points_that_do_not_broadcast_are_refused():
    with pytest.raises(sd.ShapeError, match=r"a \(2,\), b \(3,\)"):
        nm.lower(A * B, (A, B))(np.ones(2), np.ones(3))


def test_scalar_inputs_of_array_formulas_also_take_points():
    f = nm.lower([sd.stack([A, B * A]), sd.sum(sd.stack([A, B]) ** 2)], (A, B))
    stacked, total = f(2.0, 3.0)
    np.testing.assert_array_equal(stacked, [2, 6])
    assert total == 13
    a, b = RNG.normal(size=(2, 1)), RNG.normal(size=3)
    stacked, total = f(a, b)
    np.testing.assert_array_equal(stacked, np.stack([a + 0 * b, a * b], axis=-1))
    np.testing.assert_allclose(total, a**2 + b**2)
    _, kept = f.forward(a, b)
    ga, gb = f.backward(kept, np.ones((2, 3, 2)), np.ones((2, 3)))
    np.testing.assert_allclose(ga, (1 + b + 2 * a).sum(1, keepdims=True))
    np.testing.assert_allclose(gb, (a + 2 * b).sum(0))
    value, (ga, gb) = nm.lower(sd.sum(sd.stack([A, B]) ** 2), (A, B)).value_and_grad(a, b)
    np.testing.assert_allclose(ga, np.broadcast_to(2 * a, (2, 3)))
    assert value.shape == gb.shape == (2, 3)
    assert f(np.ones((0, 3)), b)[0].shape == (0, 3, 2)


# Gradients --------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrt", ["W", W, ["W"], (W,)])
def test_wrt_selects_inputs_by_symbol_or_name(wrt):
    f = loss()
    found = f.value_and_grad(XS, WS, wrt=wrt)[1]
    gw = found[0] if isinstance(wrt, list | tuple) else found
    np.testing.assert_allclose(gw, f.value_and_grad(XS, WS)[1][1], rtol=1e-14)


def test_wrt_keeps_order_and_repetition():
    f = nm.lower(A * B**2, (A, B))
    assert f.value_and_grad(2.0, 3.0, wrt=["b", "a", "b"]) == (18.0, (12.0, 9.0, 12.0))
    assert f.value_and_grad(2.0, 3.0, wrt=[]) == (18.0, ())
    assert f.value_and_grad(2.0, 3.0, wrt=(A, B)) == f.value_and_grad(2.0, 3.0)


@pytest.mark.parametrize("wrt", ["z", V, 3, sd.symbol("a", 2)])
def test_wrt_that_is_no_input_is_refused(wrt):
    with pytest.raises(ValueError, match="is not an input"):
        nm.lower(A * B, (A, B)).value_and_grad(2.0, 3.0, wrt=wrt)


def test_value_and_grad_needs_one_scalar_output():
    refused(
        (sd.ShapeError, "needs one scalar output", lambda: layer().value_and_grad(XS, WS)),
        (
            sd.ShapeError,
            "needs one scalar output",
            lambda: nm.lower([A, B], (A, B)).value_and_grad(1.0, 2.0),
        ),
    )


def test_integer_inputs_have_no_cotangent():
    f = nm.lower(N * A**2, (N, A))
    assert f.value_and_grad(3, 2.0) == (12.0, (None, 12.0))
    _, kept = f.forward(3, 2.0)
    assert f.backward(kept, 1.0) == (None, 12.0)
    refused(
        (sd.NotDifferentiable, "k is not real", lambda: f.value_and_grad(3, 2.0, wrt="k")),
        (
            TypeError,
            "k is not real",
            lambda: f.backward(kept, 1.0, accumulate=[np.zeros(()), None]),
        ),
    )


def test_several_outputs_take_one_cotangent_each():
    f = nm.lower([X @ W, sd.sum(X)], (X, W))
    _, kept = f.forward(XS, WS)
    g = RNG.normal(size=(5, 2))
    gx, gw = f.backward(kept, g, 2.0)
    np.testing.assert_allclose(gx, g @ WS.T + 2)
    np.testing.assert_allclose(gw, XS.T @ g)
    with pytest.raises(TypeError, match="2 cotangents expected"):
        f.backward(kept, g)


def test_cotangents_and_residuals_are_checked():
    f = layer()
    _, kept = f.forward(XS, WS)
    _, others = layer().forward(XS, WS)
    g = np.ones((5, 2))
    refused(
        (sd.ShapeError, r"expected shape \(5, 2\)", lambda: f.backward(kept, np.ones((5, 3)))),
        (sd.ShapeError, r"expected shape \(5, 2\)", lambda: f.backward(kept, 1.0)),
        (TypeError, "complex128", lambda: f.backward(kept, g * 1j)),
        (TypeError, "object", lambda: f.backward(kept, None)),
        (ValueError, "not residuals of this Function", lambda: f.backward(others, g)),
        (ValueError, "not residuals", lambda: f.backward("residuals", g)),
    )
    assert repr(kept) == f"<Residuals: 3 values, {XS.nbytes + WS.nbytes + 80} bytes in arrays>"


def test_integer_cotangents_are_promoted():
    f = nm.lower(V / 2, (V,))
    _, kept = f.forward(VS)
    (found,) = f.backward(kept, np.array([1, 2, 3]))
    np.testing.assert_array_equal(found, [0.5, 1, 1.5])


MASKED = {
    "of an array": (
        sd.sum(sd.where(V > 0, sd.sqrt(V) + sd.log(V), V)),
        V,
        ([-1.0, 0.0, 4.0], 1 + math.log(4), [1, 1, 0.5]),
    ),
    "of a number": (
        sd.where(A > 0, sd.sqrt(A), A),
        A,
        (-4.0, -4.0, 1.0),
        (0.0, 0.0, 1.0),
        ([-4.0, 0.0, 4.0], [-4, 0, 2], [1, 1, 0.25]),
    ),
    "a root shared by two": (
        sd.where(A > 0, sd.sqrt(A), 0) + sd.where(A > 1, sd.sqrt(A), 0),
        A,
        (0.0, 0.0, 0.0),
        (4.0, 4.0, 0.5),
        ([-1.0, 0.0, 0.25, 4.0], [0, 0, 0.5, 4], [0, 0, 1, 0.5]),
    ),
}


@pytest.mark.parametrize("name", MASKED)
def test_masked_branches_do_not_warn_and_do_not_count(name):
    formula, symbol, *points = MASKED[name]
    f = nm.lower(formula, (symbol,))
    for at, value, slope in points:
        at = np.array(at) if isinstance(at, list) else at
        found, (gradient,) = f.value_and_grad(at)  # warnings are errors here
        np.testing.assert_array_equal(found, value)
        np.testing.assert_array_equal(gradient, slope)


@pytest.mark.numpy_only("its warnings")
def test_genuine_domain_errors_warn_as_numpy_does():
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        nm.lower(sd.log(V), (V,))(np.zeros(3))


# Purity -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("f", "args", "g"),
    [
        (layer(), (XS, WS), np.ones((5, 2))),
        (nm.lower(sd.exp(A) * B, (A, B)), (VS, VS), np.ones(3)),
    ],
    ids=["arrays", "points"],
)
def test_residuals_do_not_see_later_changes(f, args, g):
    args = [v.copy() for v in args]
    out, kept = f.forward(*args)
    expected, other = f.backward(kept, g), f.backward(kept, g)
    for changed in (*args, out, *other):
        changed[...] = 7
    for a, b in zip(expected, f.backward(kept, g), strict=True):
        np.testing.assert_array_equal(a, b)


def test_read_only_arguments_are_kept_without_a_copy():
    f = layer()
    x = XS.copy()
    x.flags.writeable = False
    _, kept = f.forward(x, WS)
    assert any(v is x for v in kept.values)
    view = XS.view()
    view.flags.writeable = False  # its base can be written to
    _, kept = f.forward(view, WS)
    assert not any(np.shares_memory(v, XS) for v in kept.values)


def test_twenty_threads_call_one_function():
    f, s = loss(), nm.lower(sd.sin(A) * B, (A, B))
    inputs = [RNG.normal(size=(i + 1, 3)) for i in range(20)]
    expected = [loss().value_and_grad(x, WS) for x in inputs]
    start, wrong = threading.Barrier(20), []

    def work(i):
        start.wait()
        for _ in range(10):
            value, (gx, gw) = f.value_and_grad(inputs[i], WS)
            _, kept = f.forward(inputs[i], WS)
            same = np.array_equal(f.backward(kept, 1.0)[1], gw)
            scalar = s.value_and_grad(float(i), 2.0)[0] == math.sin(i) * 2
            points = s(np.full(3, float(i)), 2.0).shape == (3,)
            good = value == expected[i][0] and np.array_equal(gx, expected[i][1][0])
            if not (same and scalar and points and good):
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


# Accumulation -----------------------------------------------------------------------------------


def test_mini_batches_accumulate_to_the_full_batch():
    f = loss()
    total = [None, np.zeros_like(WS)]
    for part in (XS[:2], XS[2:4], XS[4:]):
        _, kept = f.forward(part, WS)
        gx, gw = f.backward(kept, 1.0, accumulate=total)
        assert gx.shape == part.shape
        assert gw is total[1]
    np.testing.assert_allclose(total[1], f.value_and_grad(XS, WS)[1][1], rtol=1e-13)


def test_accumulation_into_scalars_views_and_float32():
    f = nm.lower(sd.sum(V) * A, (V, A))
    _, kept = f.forward(VS, 2.0)
    matrix, scalar = np.zeros((3, 2), np.float32), np.array(1.0)
    f.backward(kept, 1.0, accumulate=[matrix[:, 1], scalar])
    np.testing.assert_array_equal(matrix, [[0, 2]] * 3)
    np.testing.assert_allclose(scalar, 1 + VS.sum())


def frozen(a):
    a.flags.writeable = False
    return a


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: [np.zeros((5, 3))], ValueError, "2 arrays expected"),
        (lambda: np.zeros((5, 3)), TypeError, "list of arrays"),
        (lambda: [np.zeros((5, 3)), np.zeros((2, 3))], sd.ShapeError, "W: expected shape"),
        (lambda: [np.zeros((5, 3)), np.zeros((3, 2), int)], TypeError, "W: expected a float"),
        (lambda: [np.zeros((5, 3)), [[0.0] * 2] * 3], TypeError, "W: expected a float"),
        (lambda: [np.zeros((5, 3)), frozen(np.zeros((3, 2)))], ValueError, "W is read-only"),
        (
            lambda: [
                np.zeros((5, 3)),
                np.lib.stride_tricks.as_strided(np.zeros(9), (3, 2), (8, 8)),
            ],
            ValueError,
            "W overlaps",
        ),
    ],
)
def test_nothing_is_touched_when_accumulation_fails(make, error, message):
    f = layer()
    _, kept = f.forward(XS, WS)
    targets = make()
    with pytest.raises(error, match=message):
        f.backward(kept, np.ones((5, 2)), accumulate=targets)
    for target in targets:
        assert not np.any(target)


def test_empty_targets_and_targets_too_hard_to_compare(monkeypatch):
    f = nm.lower([sd.sum(X), sd.sum(U)], (X, U))
    _, kept = f.forward(np.zeros((0, 3)), VS)
    targets = [np.zeros((0, 3)), np.zeros(3)]
    f.backward(kept, 1.0, 1.0, accumulate=targets)
    np.testing.assert_array_equal(targets[1], 1)

    def too_hard(*_, **__):
        raise np.exceptions.TooHardError

    monkeypatch.setattr(np, "shares_memory", too_hard)
    with pytest.raises(ValueError, match="U overlaps"):
        f.backward(kept, 1.0, 1.0, accumulate=targets)


def test_overlapping_targets_are_refused_and_interleaved_ones_are_not():
    f = nm.lower(sd.sum(V) * sd.sum(U), (V, U))
    _, kept = f.forward(VS, VS)
    whole = np.zeros(6)
    with pytest.raises(ValueError, match="U overlaps"):
        f.backward(kept, 1.0, accumulate=[whole[:3], whole[2:5]])
    assert not whole.any()
    f.backward(kept, 1.0, accumulate=[whole[::2], whole[1::2]])
    assert whole.all()


def test_a_failing_backward_leaves_targets_untouched():
    f = nm.lower(sd.log(V), (V,))
    with np.errstate(divide="ignore"):
        _, kept = f.forward(np.zeros(3))
    target = np.ones(3)
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        f.backward(kept, np.ones(3), accumulate=[target])
    np.testing.assert_array_equal(target, 1)


def test_an_overflowing_addition_leaves_targets_untouched():
    f = nm.lower(sd.sum(U) + sd.sum(V), (U, V))
    _, kept = f.forward(VS, VS)
    targets = [np.zeros(3), np.full(3, 1.7e308)]
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        f.backward(kept, 1e308, accumulate=targets)
    np.testing.assert_array_equal(targets[0], 0)
    np.testing.assert_array_equal(targets[1], 1.7e308)


# no_grad ----------------------------------------------------------------------------------------


def test_no_grad_keeps_nothing_and_backward_says_so():
    f = layer()
    with nm.no_grad():
        out, kept = f.forward(XS, WS)
    np.testing.assert_array_equal(out, f(XS, WS))
    assert "no_grad" in repr(kept)
    with pytest.raises(RuntimeError, match="no_grad"):
        f.backward(kept, np.ones((5, 2)))


def test_no_grad_decorates_no_asynchronous_generator():
    async def endless():
        yield 1

    for wrong in (endless, 3):
        with pytest.raises(TypeError, match="cannot decorate"):
            nm.no_grad()(wrong)


# Lowering refuses early -------------------------------------------------------------------------


def test_what_cannot_be_lowered_is_refused():
    refused(
        (TypeError, "is not a symbol", lambda: nm.lower(A, (A * 2,))),
        (TypeError, "is not a symbol", lambda: nm.lower(A, ("a",))),
        (TypeError, "real number", lambda: nm.lower("a", (A,))),
        (ValueError, "outputs is empty", lambda: nm.lower([], (A,))),
        (ValueError, "a is named twice", lambda: nm.lower(A, (A, A))),
        (ValueError, "depend on b", lambda: nm.lower(A * B, A)),
        (ValueError, "depend on a, b", lambda: nm.lower([A, B], [])),
        (
            sd.ShapeError,
            "two symbols are named 'a'",
            lambda: nm.lower(A, (A, sd.symbol("a", 3))),
        ),
        (
            ValueError,
            "no input has an axis of length m",
            lambda: nm.lower(sd.broadcast_to(A, ("m",)), (A,)),
        ),
    )


def test_symbols_that_are_no_inputs_are_named_as_the_outputs_use_them():
    second, first = sd.symbol("made_first"), sd.symbol("made_second")
    refused(
        (ValueError, "depend on made_second, made_first", lambda: nm.lower([first, second], [])),
        (ValueError, "depend on made_first, made_second", lambda: nm.lower([second, first], [])),
    )


def test_functions_without_a_body_fail_at_lowering(monkeypatch):
    def absent(name):
        if special.needs_scipy(name):
            raise sd.Unsupported(f'{name} needs SciPy: pip install "symdiff-numeric[scipy]"')

    monkeypatch.setattr(special, "require_scipy", absent)
    # What was printed before needs nothing any more.
    formulas.printed.cache_clear()
    with pytest.raises(sd.Unsupported, match=r"symdiff-numeric\[scipy\]"):
        nm.lower(sd.digamma(A) + sd.polygamma(7, A), (A,))


# Descriptions -----------------------------------------------------------------------------------


def test_repr_names_inputs_and_shapes():
    assert repr(layer()) == "<Function of X, W: (n, 2)>"


def test_explain_says_what_is_kept():
    text = layer().explain()
    assert "inputs: X (n, 3), W (3, 2)" in text
    assert "kept for backward: X (n, 3), W (3, 2), contract (n, 2)" in text
    assert "matmul" in text


def test_explain_of_scalars_names_both_ways():
    text = nm.lower(sd.sin(A * B), (A, B)).explain()
    assert "Python floats run through math" in text
    assert "computed again in backward: 0 steps" in text


EXPLAINED = nm.lower(
    sd.sum(sd.tanh(sd.symbol("X", ("n", 3)) @ sd.symbol("w", 3)) ** 2 * sd.symbol("v", "n"))
    + sd.logsumexp(sd.symbol("v", "n")),
    [sd.symbol("X", ("n", 3)), sd.symbol("w", 3), sd.symbol("v", "n")],
)


@pytest.mark.numpy_only("its text")
def test_explain_counts_operations_and_bytes_where_lengths_are_known():
    value, pulled = EXPLAINED.outputs, EXPLAINED._programs.cut.cotangents
    n = 100
    text = EXPLAINED.explain({"n": n})
    first = sd.count_operations(value, {"n": n})
    both = sd.count_operations([*value, *pulled], {"n": n})
    assert f"operations: {first:,}; with all cotangents {both:,}" in text
    kept = EXPLAINED._programs.cut.kept
    held = sum(8 * math.prod(n if d == "n" else d for d in x.shape) for x in kept)
    assert f"{held:,} bytes" in text.splitlines()[-3]
    # X and w are read, their product is written and read, and so on.
    assert "value: 6 steps, " in text
    assert "operations and bytes: explain(sizes) with those of n" in EXPLAINED.explain()
    with pytest.raises(sd.Unsupported):
        sd.count_operations(sd.custom(lambda x: x)(A))
    opaque = nm.lower(sd.custom(lambda x: x, vjp_numpy=lambda g, y, x: (g,))(A), A)
    assert "operations are not counted" in opaque.explain()


@pytest.mark.numpy_only("its text")
def test_explain_tells_of_what_runs_for_these_lengths():
    small, large = (EXPLAINED.explain({"n": n}) for n in (100, 10**6))
    assert "fused" not in small
    fused = next(line for line in large.splitlines() if "fused in blocks of rows" in line)
    assert "over n, on " in fused
    assert "tanh" in fused
    for text in (small, large):
        assert re.search(r"matrix-vector .* to \(n,\), BLAS: gemv", text)
    EXPLAINED.value_and_grad(np.ones((4, 3)), np.ones(3), np.ones(4))
    assert "exponentials shared by logsumexp and softmax: 1" in EXPLAINED.explain({"n": 4})
    assert "in memory kept between calls" in EXPLAINED.explain({"n": 50_000})


def test_explain_tells_of_lanes_and_of_floats():
    x = sd.symbol("x", 400)
    terms = [(x[i + 1] - x[i] ** 2) ** 2 for i in range(399)]
    text = nm.lower(sum(terms[1:], terms[0]), x).explain()
    assert "steps over scalars are these" in text
    assert len(text[text.index("value:") :].splitlines()) < 10  # what is kept looks alike
    p = sd.symbol("p", 4)
    f = p
    for _ in range(20):
        f = f + sd.sin(f) * p / 10
    assert "Python floats" in nm.lower(sd.sum(f), p).explain()


def test_a_selected_whole_number_comes_out_as_a_float():
    x, y = sd.symbols("x y")
    derivatives = nm.lower(list(sd.grad(sd.xlogy(x, y), (x, y))), [x, y])(0.0, 0.0)
    assert [type(v) for v in derivatives] == [float, float]
    assert type(nm.lower(sd.maximum(x, 0), x)(-1.0)) is float
