"""Audits of derivatives by some of the inputs: ``wrt=``."""

import numpy as np
import pytest

import numeric as nm
import symdiff as sd

INPUTS = {"x": 3, "A": (3, 3), "k": np.array([1, 2, 3])}


def loss(x, A, k):
    return np.sum(np.tanh(A @ x) ** 2 * k)


def slope(x, A, k):
    z = np.tanh(A @ x)
    return 2 * z * (1 - z**2) * k


def by_x(x, A, k):
    return A.T @ slope(x, A, k)


def by_A(x, A, k):
    return np.outer(slope(x, A, k), x)


def audit(wrt, gradient, **options):
    return nm.check.audit(
        loss,
        gradient=gradient,
        inputs=INPUTS,
        wrt=wrt,
        budget=400,
        domain={"x": (-1, 1)},
        **options,
    )


@pytest.mark.parametrize(
    ("wrt", "gradient"),
    [
        ("x", by_x),
        (["x"], lambda *xs: (by_x(*xs),)),
        (sd.symbol("A", (3, 3)), by_A),
        (("A", "x"), lambda *xs: (by_A(*xs), by_x(*xs))),
        (["x", "A"], lambda *xs: (by_x(*xs), by_A(*xs))),
        (None, lambda *xs: (by_x(*xs), by_A(*xs))),
    ],
)
def test_gradients_by_some_inputs(wrt, gradient):
    assert audit(wrt, gradient).ok


@pytest.mark.parametrize(
    ("wrt", "gradient", "name"),
    [
        ("x", lambda x, A, k: A @ slope(x, A, k), "x"),
        (["A", "x"], lambda *xs: (by_A(*xs).T, by_x(*xs)), "A"),
    ],
)
def test_a_wrong_gradient_by_some_inputs(wrt, gradient, name):
    report = audit(wrt, gradient)
    assert not report.ok
    assert {finding.input for finding in report.findings} == {name}


def test_other_derivatives_by_some_inputs():
    """Tangents are those of the inputs chosen, in their order; Hessians have their blocks."""
    f = "sum(x**2 * y) + sum(y**3)"
    inputs = {"x": 2, "y": 2}

    def check(wrt, **derivatives):
        return nm.check.audit(f, inputs=inputs, wrt=wrt, budget=600, **derivatives).ok

    assert check("y", vjp=lambda x, y, w: w * (x**2 + 3 * y**2))
    assert check("y", jvp=lambda x, y, t: np.sum((x**2 + 3 * y**2) * t))
    assert check("y", hessian=lambda x, y: np.diag(6 * y))
    blocks = lambda x, y: ((np.diag(6 * y), np.diag(2 * x)), (np.diag(2 * x), np.diag(2 * y)))  # noqa: E731
    assert check(["y", "x"], hessian=blocks)
    assert not check("x", hessian=lambda x, y: np.diag(2 * x))


@pytest.mark.parametrize(
    ("wrt", "error", "message"),
    [
        (
            "q",
            ValueError,
            "audit: wrt: 'q' is not one of the real inputs x, A; give a name or a list",
        ),
        ("k", ValueError, "audit: wrt: 'k' is not one of the real inputs x, A"),
        ([], ValueError, r"audit: wrt: \[\] is empty"),
        (["x", "x"], ValueError, "names an input twice"),
        (3, ValueError, "audit: wrt: 3 is not one"),
    ],
)
def test_what_is_refused(wrt, error, message):
    with pytest.raises(error, match=message):
        audit(wrt, by_x)


def test_one_array_for_two_inputs_says_how_to_choose():
    with pytest.raises(TypeError, match=r"a tuple of 2 arrays, by x, A; if .* say wrt='x'"):
        audit(None, by_x)


def test_a_function_with_derivatives_by_all_inputs_takes_no_wrt():
    x, y = sd.symbols("x y")
    with pytest.raises(TypeError, match=r"wrt: gradient=.* leave wrt out"):
        nm.check.audit("x*y", gradient=nm.lower(x * y, [x, y]), inputs={"x": (), "y": ()}, wrt="x")
