"""Gradients alone, Hessian products, bound data, parts of backward passes, Jacobians by columns."""

from functools import partial

import numpy as np
import pytest
from scipy import optimize

import numeric as nm
import symdiff as sd
from numeric.lowering import derivatives
from tests.support.refusals import refused

X, w, b = sd.symbol("X", ("n", 3)), sd.symbol("w", 3), sd.symbol("bias")
k, x, y = sd.symbol("k", dtype=int), sd.symbol("x"), sd.symbol("y")
XT, WT = np.cos(np.arange(12.0)).reshape(4, 3), np.array([0.3, -0.5, 0.7])
LOSS = sd.mean(sd.logsumexp(X * w + b, axis=1)) + w @ w / 2
F = nm.lower(LOSS, (X, w, b))
G = nm.lower(sd.sum((w - 1) ** 4) + sd.sum(w * w[::-1]), w)


def same(a, b):
    np.testing.assert_array_equal(a, b)


# Gradients ----------------------------------------------------------------------------------------


def test_grad_is_the_gradient_of_value_and_grad():
    for wrt in (None, "w", w, ["bias", "w"], (X,), []):
        found, expected = F.grad(XT, WT, 0.1, wrt=wrt), F.value_and_grad(XT, WT, 0.1, wrt=wrt)[1]
        alone = isinstance(wrt, str | sd.Expr)
        assert isinstance(found, tuple) == isinstance(expected, tuple) == (not alone)
        for a, c in zip(*((v,) if alone else v for v in (found, expected)), strict=True):
            np.testing.assert_allclose(a, c, rtol=1e-14)
    same(G.grad(WT), G.value_and_grad(WT)[1][0])
    same(G.grad(w=WT), G.grad(WT))
    H = nm.lower(x**2 * k, (x, k))
    assert H.grad(3.0, 2) == (12.0, None)
    assert isinstance(H.grad(3.0, 2)[0], float)
    assert nm.lower([x**3], [x]).grad(2.0) == 12.0
    assert nm.lower(x**3, x).grad(np.array([1.0, 2.0])).tolist() == [3.0, 12.0]


def test_grad_refuses():
    refused(
        (sd.ShapeError, "grad: needs one scalar output", lambda: nm.lower(w * 2, w).grad(WT)),
        (sd.ShapeError, "hvp: needs one scalar output", lambda: nm.lower(w * 2, w).hvp(WT, WT)),
        (ValueError, "grad: 'z' is not an input", lambda: G.grad(WT, wrt="z")),
        (
            sd.NotDifferentiable,
            "grad: input k",
            lambda: nm.lower(x**2 * k, (x, k)).grad(3.0, 2, wrt="k"),
        ),
    )
    with sd.kinks("raise"):
        kinked = nm.lower(sd.sum(sd.abs(w)), w)
    for call in (
        kinked.grad,
        partial(kinked.hvp, tangents=WT),
        partial(kinked.jacobian, mode="forward"),
    ):
        with pytest.raises(sd.NotDifferentiable, match="abs"):
            call(WT * 0)


@pytest.mark.parametrize("method", ["BFGS", "Newton-CG", "trust-ncg"])
def test_scipy_minimises(method):
    hessian = {} if method == "BFGS" else {"hessp": G.hvp}
    found = optimize.minimize(G, WT, jac=G.grad, method=method, **hessian)
    assert np.abs(G.grad(found.x)).max() < 1e-4
    bound = F.bind(X=XT, bias=0.2)
    both = optimize.minimize(partial(bound.value_and_grad, wrt="w"), WT, jac=True, method="BFGS")
    apart = optimize.minimize(bound, WT, jac=bound.grad, method="BFGS")
    np.testing.assert_allclose(both.x, apart.x, rtol=1e-6)
    fixed = optimize.minimize(lambda v: F(XT, v, 0.2), WT, jac="3-point", method="BFGS")
    np.testing.assert_allclose(both.x, fixed.x, atol=1e-4)


# Hessian products ---------------------------------------------------------------------------------


def test_hvp_is_the_hessian_times_a_tangent():
    t = np.array([1.0, -2.0, 0.5])
    np.testing.assert_allclose(G.hvp(WT, t), G.hessian(WT) @ t, rtol=1e-13)
    assert isinstance(G.hvp([WT], [t]), tuple)
    same(G.hvp([WT], [t])[0], G.hvp(WT, t))
    rows = F.hessian(XT, WT, 0.1)
    ts = (np.sin(XT), t, 0.3)
    for row, found in zip(rows, F.hvp((XT, WT, 0.1), ts), strict=True):
        expected = sum(np.tensordot(h, s, np.ndim(s)) for h, s in zip(row, ts, strict=True))
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)
    only_b = F.hvp((XT, WT, 0.1), (None, None, 1.0))
    np.testing.assert_allclose(only_b[1], rows[1][2], rtol=1e-12, atol=1e-15)
    H = nm.lower(x**3 * k, (x, k))
    assert H.hvp((2.0, 5), (1.0, None)) == (60.0, None)
    same(H.hvp((np.array([1.0, 2.0]), 5), (np.ones(2), None))[0], [30.0, 60.0])
    refused(
        (TypeError, "hvp: input k is not real", lambda: H.hvp((2.0, 5), (1.0, 1.0))),
        (TypeError, "hvp: args must be a list or tuple", lambda: H.hvp(2.0, 1.0)),
        (sd.ShapeError, "hvp: tangent of w", lambda: G.hvp(WT, np.ones(2))),
    )


# Data ---------------------------------------------------------------------------------------------


def test_lengths_of_bound_data_are_numbers_everywhere_and_symbols_keep_their_names():
    A, v = sd.symbol("A", ("n", "k")), sd.symbol("v", "k")
    f = sd.sum((A @ v - b) ** 2) / A.shape[0] + sd.sum(v[1:])
    data, at = np.arange(8.0).reshape(4, 2), np.array([0.5, -1.0])
    want = nm.lower(f, [A, v, b])
    for fixed in (want.bind(A=data), nm.lower(f.subs({A: data}), [v, b])):
        assert fixed.inputs == (v, b)
        assert fixed(at, 0.1) == fixed(v=at, bias=0.1) == want(data, at, 0.1)
        same(fixed.grad(at, 0.1, wrt=v), want.grad(data, at, 0.1, wrt=v))
        assert fixed.bind({v: at})(0.1) == want(data, at, 0.1)
    g = f.subs({A: data})
    gradient, hessian = sd.grad(g, v), sd.hessian(g, v)
    assert (gradient.shape, hessian.shape) == ((2,), (2, 2))
    same(nm.interpret(gradient, {v: at, b: 0.1}), want.grad(data, at, 0.1, wrt=v))
    same(nm.lower(hessian, [v, b])(at, 0.1), want.hessian(data, at, 0.1, wrt=v))
    same(nm.interpret(g.subs({v: at}), {b: 0.1}), want(data, at, 0.1))
    fixed, long = want.bind(A=data), np.ones(3)
    told = r"v: expected shape \(k,\), got \(3,\); k is 2 in A"
    refused(
        (sd.ShapeError, "input " + told, lambda: fixed(long, 0.1)),
        (sd.ShapeError, "input " + told, lambda: fixed.bind(bias=1)(long)),
        (sd.ShapeError, "bind: symbol " + told, lambda: fixed.bind(v=long)),
        (sd.ShapeError, "bind: symbol " + told, lambda: want.bind(A=data, v=long)),
        (sd.ShapeError, "substitute: symbol " + told, lambda: f.subs({A: data, v: long})),
        (sd.ShapeError, "k is 0: .* of an axis", lambda: want(data[:, :0], at[:0], 1.0)),
        (sd.ShapeError, r"substitute: \[1:\] of an axis of length k is", lambda: want.bind(v=[])),
    )


def test_a_bound_function_is_the_function_at_that_value():
    f = F.bind(X=XT)
    assert [s.name for s in f.inputs] == ["w", "bias"]
    np.testing.assert_allclose(f(WT, 0.1), F(XT, WT, 0.1), rtol=1e-15)
    np.testing.assert_allclose(f.grad(WT, 0.1)[0], F.grad(XT, WT, 0.1)[1], rtol=1e-14)
    np.testing.assert_allclose(f.bind({"bias": 0.1})(WT), F(XT, WT, 0.1), rtol=1e-15)
    np.testing.assert_allclose(F.bind({X: XT}, bias=0.1)(WT), F(XT, WT, 0.1), rtol=1e-15)
    many = nm.lower([LOSS, w], (X, w, b)).bind(X=XT, w=WT, bias=1)
    assert many.inputs == ()
    same(many()[1], WT)
    assert nm.lower(k * k + 1, [k]).bind(k=3)() == 10


def test_bound_data_is_copied_and_fixes_lengths():
    v = sd.symbol("v", "n")
    f = nm.lower(sd.sum(v) * sd.sum(X), (X, v))
    data = XT.copy()
    g = f.bind(X=data)
    data[:] = np.nan
    assert g(np.ones(4)) == 4 * XT.sum()
    with pytest.raises(sd.ShapeError, match="input v"):
        g(np.ones(5))


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "?"])
def test_bound_data_keeps_the_dtype_of_a_call(dtype):
    f = nm.lower(sd.sum(X @ w) / 3, (X, w))
    data, weights = (XT > 0).astype(dtype), WT.astype("f4")
    assert f.bind(X=data)(weights).dtype == (np.float32 if dtype == "f4" else np.float64)
    np.testing.assert_allclose(f.bind(X=data)(weights), f(data, weights), rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: F.bind(z=1), ValueError, "bind: 'z' is not an input; those are X, w, bias"),
        (lambda: F.bind({x: 1}), ValueError, "bind: x is not an input"),
        (lambda: F.bind({w: WT}, w=WT), TypeError, "w is given twice"),
        (
            lambda: F.bind(w=np.ones(2)),
            sd.ShapeError,
            r"bind: symbol w: expected shape \(3,\), got \(2,\)",
        ),
        (
            lambda: nm.lower(x * y, (x, y)).bind(x=WT),
            sd.ShapeError,
            r"bind: symbol x: expected shape \(\), got \(3,\); sd.batch.*of points",
        ),
        (lambda: F.bind(w=1j * WT), TypeError, "input w: expected dtype float"),
        (lambda: nm.lower(k, k).bind(k=0.5), TypeError, "input k: expected dtype int"),
    ],
)
def test_bind_refuses(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_bind_keeps_what_is_said_of_kinks():
    with sd.kinks("raise"):
        f = nm.lower(sd.sum(sd.abs(w)) * b, (w, b))
        slope = nm.lower(sd.grad(sd.sum(sd.abs(w)), w) * b, (w, b))
    refused(
        (sd.NotDifferentiable, "abs", lambda: f.bind(bias=2.0).grad(WT * 0)),
        (sd.NotDifferentiable, "abs", lambda: slope.bind(bias=2.0)(WT * 0)),
    )


def test_two_symbols_of_a_name_say_how_data_is_bound():
    v = sd.symbol("v", "n")
    f = sd.sum(X[:, 0] * v)
    with pytest.raises(
        sd.ShapeError, match=r"named 'v'.*sd\.substitute\(\[f, v\].*F\.bind\(X=data"
    ):
        nm.lower(f.subs({X: XT}) + sd.sum(v), v)
    g, u = sd.substitute([f, v], {X: XT})
    assert nm.lower(g, u)(np.ones(4)) == nm.lower(f, (X, v)).bind(X=XT)(np.ones(4))


# Parts of backward --------------------------------------------------------------------------------


def test_backward_of_some_inputs():
    for args, g in (((XT, WT, 0.1), 2.0), ((XT.astype("f4"), WT.astype("f4"), 0.1), 1.0)):
        _, kept = F.forward(*args)
        whole = F.backward(kept, g)
        same(F.backward(kept, g, wrt="w"), whole[1])
        for found, place in zip(F.backward(kept, g, wrt=[b, "X", "bias"]), (2, 0, 2), strict=True):
            same(found, whole[place])
        target = np.ones(3, whole[1].dtype)
        assert F.backward(kept, g, wrt="w", accumulate=target) is target
        np.testing.assert_allclose(target, 1 + whole[1], rtol=1e-6)
        assert F.backward(kept, g, wrt=[]) == ()
    _, pullback = F.vjp(XT, WT, 0.1)
    # In one program the shares of a sum of exponentials are quotients.
    found, expected = pullback(1.0, wrt="X"), F.grad(XT, WT, 0.1, wrt="X")
    np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_backward_of_some_inputs_computes_less():
    F.backward(F.forward(XT, WT, 0.1)[1], 1.0, wrt="bias")
    whole, part = (F._programs.of(derivatives.backward, order) for order in (None, (2,)))
    assert sd.count_nodes(list(part.outputs)) < sd.count_nodes(list(whole.outputs))


def test_backward_of_some_inputs_at_points():
    P = nm.lower(sd.stack([x, x * y, y**2]), (x, y))
    at = np.array([1.0, 2.0])
    _, kept = P.forward(at, 3.0)
    g = np.arange(6.0).reshape(2, 3)
    whole = P.backward(kept, g)
    same(P.backward(kept, g, wrt="y"), whole[1])
    same(P.backward(kept, g, wrt=["y", "x"])[1], whole[0])
    assert nm.lower(x * y, (x, y)).vjp(2.0, 3.0)[1](1.0, wrt="y") == 2.0


def test_backward_refuses_wrt():
    _, kept = F.forward(XT, WT, 0.1)
    refused(
        (ValueError, "backward: 'z' is not an input", lambda: F.backward(kept, 1.0, wrt="z")),
        (
            sd.ShapeError,
            "accumulate: w",
            lambda: F.backward(kept, 1.0, wrt="w", accumulate=np.ones(2)),
        ),
    )
    H = nm.lower(x * k, (x, k))
    with pytest.raises(sd.NotDifferentiable, match="backward: input k"):
        H.backward(H.forward(1.0, 2)[1], 1.0, wrt="k")


# Jacobians by columns -----------------------------------------------------------------------------


@pytest.mark.parametrize("wrt", [None, "w", ["bias", "X"]])
def test_jacobians_by_rows_and_columns_agree(wrt):
    J = nm.lower([sd.tanh(X @ w) + b, sd.sum(X, axis=0) * b, w[0] + 0 * b], (X, w, b))
    found = {m: J.jacobian(XT, WT, 0.1, wrt=wrt, mode=m) for m in ("forward", "reverse", "auto")}
    rows = [[r if isinstance(r, tuple) else (r,) for r in found[m]] for m in found]
    for one, two, three in zip(*rows, strict=True):
        for a, c, d in zip(one, two, three, strict=True):
            assert a.shape == c.shape == d.shape
            np.testing.assert_allclose(a, c, rtol=1e-14, atol=1e-16)
            np.testing.assert_allclose(d, c, rtol=1e-14, atol=1e-16)


def test_auto_counts_elements():
    J = nm.lower(sd.tanh(X @ w), (X, w))
    J.jacobian(XT, WT, wrt="w")
    assert (derivatives.jacobian, (1,), ("forward",)) in J._programs._found
    J.jacobian(XT, WT, mode="auto")
    assert (derivatives.jacobian, (0, 1), ("reverse",)) in J._programs._found
    with pytest.raises(ValueError, match="expects 'forward', 'reverse' or 'auto'"):
        J.jacobian(XT, WT, mode="backward")
