"""Function's vjp, jvp, jacobian and hessian against the symbolic derivatives and differences."""

import numpy as np
import pytest

import symdiff as sd
from numeric import interpret, lower, no_grad
from tests.support.refusals import refused

x, y = sd.symbols("x y")
k = sd.symbol("k", dtype=int)
v = sd.symbol("p", 3)
A = sd.symbol("A", ("m", 3))
AT, VT = np.arange(6.0).reshape(2, 3) / 3, np.array([0.3, -0.5, 0.7])
F = lower([sd.tanh(A @ v), sd.sum(v**3)], (A, v))
G = lower(x**2 * sd.sin(y) * k, (x, y, k))


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def test_vjp_is_forward_and_backward():
    values, pullback = F.vjp(AT, VT)
    g = (np.array([1.0, -2.0]), 0.5)
    expected = F.backward(F.forward(AT, VT)[1], *g)
    for a, b in zip(values, F(AT, VT), strict=True):
        close(a, b)
    for _ in range(2):
        for a, b in zip(pullback(*g), expected, strict=True):
            close(a, b)
    target = np.ones((2, 3))
    pullback(*g, accumulate=[target, None])
    close(target, 1 + expected[0])
    with no_grad():
        close(F.vjp(AT, VT)[1](*g)[1], expected[1])
    assert G.vjp(2.0, 3.0, 1)[1](1.0)[2] is None


def test_jvp():
    s, t = np.ones((2, 3)), np.array([1.0, 2.0, 3.0])
    values, moved = F.jvp((AT, VT), [s, t])
    close(values[0], F(AT, VT)[0])
    h = 1e-6
    ahead, behind = F(AT + h * s, VT + h * t), F(AT - h * s, VT - h * t)
    for got, a, b in zip(moved, ahead, behind, strict=True):
        np.testing.assert_allclose(got, (a - b) / (2 * h), rtol=1e-7)
    close(F.jvp((AT, VT), (None, t))[1][1], 3 * VT**2 @ t)
    assert F.jvp((AT, VT), (None, None))[1][1] == 0.0
    assert G.jvp((2.0, 0.5, 3), (1.0, 0.0, None))[1] == pytest.approx(12 * np.sin(0.5))
    none_real = lower(k + 1, k)
    assert none_real.jvp((2,), (None,)) == (3, 0.0)


def test_jvp_at_points():
    at = np.array([1.0, 2.0])
    value, moved = G.jvp((at, 0.5, 3), (np.ones(2), 2.0, None))
    close(value, 3 * at**2 * np.sin(0.5))
    close(moved, 6 * at * np.sin(0.5) + 6 * at**2 * np.cos(0.5))
    S = lower(sd.stack([x, x * y]), (x, y))
    assert S.jvp((at, 3.0), (np.ones(2), 1.0))[1].tolist() == [[1.0, 4.0], [1.0, 5.0]]


@pytest.mark.parametrize(
    ("args", "tangents", "error", "message"),
    [
        (AT, (None, None), TypeError, "args must be a list or tuple"),
        ((AT, VT), (None,), TypeError, "tangents must be a list or tuple"),
        ((AT, VT), (None, np.ones(2)), sd.ShapeError, r"tangent of p: expected shape \(3,\)"),
        ((AT, VT), (None, 1j * VT), TypeError, "tangent of p: expected real numbers"),
    ],
)
def test_jvp_checks_tangents(args, tangents, error, message):
    with pytest.raises(error, match=message):
        F.jvp(args, tangents)


def test_tangents_of_integers_are_refused():
    with pytest.raises(TypeError, match="input k is not real and has no tangent; pass None"):
        G.jvp((1.0, 2.0, 3), (1.0, 1.0, 1.0))


def test_jacobian_has_the_structure_of_outputs_and_inputs():
    J = F.jacobian(AT, VT)
    for row, f in zip(J, F.outputs, strict=True):
        for got, z in zip(row, (A, v), strict=True):
            close(got, interpret([sd.jacobian(f, z), A + v], {A: AT, v: VT})[0])
    assert [j.shape for row in J for j in row] == [(2, 2, 3), (2, 3), (2, 3), (3,)]
    close(F.jacobian(AT, VT, wrt=v)[0], J[0][1])
    close(F.jacobian(AT, p=VT, wrt=["p"])[0][0], J[0][1])
    close(F.jacobian(AT, VT, wrt=("p", A))[0][1], J[0][0])
    one = lower(sd.sin(v), v)
    close(one.jacobian(VT), np.diag(np.cos(VT)))
    assert isinstance(one.jacobian(VT, wrt=(v,)), tuple)


def test_hessian_has_the_structure_twice():
    H = F.hessian(AT, VT)
    for rows, f in zip(H, F.outputs, strict=True):
        for row, z in zip(rows, (A, v), strict=True):
            for got, u in zip(row, (A, v), strict=True):
                e = sd.jacobian(sd.jacobian(f, z), u)
                close(got, interpret([e, A + v], {A: AT, v: VT})[0])
    close(H[0][1][0], np.moveaxis(H[0][0][1], 3, 1))
    one = lower(sd.sum(v**4), v)
    close(one.hessian(VT), np.diag(12 * VT**2))
    close(F.hessian(AT, VT, wrt="p")[1], np.diag(6 * VT))
    close(F.hessian(AT, VT, wrt=["p"])[1][0][0], np.diag(6 * VT))


def test_integer_inputs_have_no_derivatives():
    assert G.jacobian(2.0, 0.0, 3) == (0.0, 12.0, None)
    assert G.hessian(2.0, 0.0, 3) == ((0.0, 12.0, None), (12.0, 0.0, None), None)
    refused(
        (
            sd.NotDifferentiable,
            "jacobian: input k is not real",
            lambda: G.jacobian(2.0, 0.0, 3, wrt=k),
        ),
        (
            ValueError,
            "hessian: 'z' is not an input; those are x, y, k",
            lambda: G.hessian(2.0, 0.0, 3, wrt="z"),
        ),
        (
            sd.NotDifferentiable,
            "jacobian: input k is not real",
            lambda: lower(k + 1, k).jacobian(2),
        ),
    )


def test_derivatives_at_each_point():
    at = np.array([[1.0], [2.0]])
    J = G.jacobian(at, np.zeros(3), 1, wrt=("x", "y"))
    assert J[0].tolist() == [[0.0] * 3] * 2
    assert J[1].tolist() == [[1.0] * 3, [4.0] * 3]
    assert G.hessian(at, np.zeros(3), 1, wrt=x).shape == (2, 3)
    S = lower(sd.stack([x, x * y]), (x, y))
    assert S.jacobian(np.array([1.0, 2.0]), 3.0, wrt=y).tolist() == [[0.0, 1.0], [0.0, 2.0]]


def test_a_constant_jacobian_is_made_anew():
    linear = lower(sd.constant(np.eye(3)) @ v, v)
    linear.jacobian(VT)[0, 0] = 7
    assert linear.jacobian(VT).tolist() == np.eye(3).tolist()
