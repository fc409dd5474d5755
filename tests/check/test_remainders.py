"""``nm.check.taylor``: slopes of remainders, and a verdict that admits what it cannot tell."""

import numpy as np
import pytest

import numeric as nm
import symdiff as sd
from numeric.check import remainders
from tests.support.refusals import refused

A = np.arange(9.0).reshape(3, 3)
S = A + A.T
V = np.array([0.3, -0.7, 1.2])
BY = 1 + 5e-4
SINGLE = np.float32


def softmax_gradient(v):
    e = np.exp(v - v.max())
    return e / e.sum()


# The function, its gradient, its Hessian, and where.
RIGHT = {
    "sin": (np.sin, np.cos, lambda x: -np.sin(x), 0.7),
    "exponentials": (lambda v: np.exp(v).sum(), np.exp, lambda v: np.diag(np.exp(v)), V),
    "linear": (np.sum, np.ones_like, np.zeros((3, 3)), V),
    "affine": (lambda v: 3 - 2 * v.sum(), lambda v: -2 + 0 * v, np.zeros((3, 3)), V),
    "quadratic": (lambda v: v @ A @ v, lambda v: S @ v, S, V),
    "cubic": (lambda v: (v**3).sum(), lambda v: 3 * v**2, lambda v: np.diag(6 * v), V),
    "constant": (lambda v: 3.0, np.zeros_like, np.zeros((3, 3)), V),
    "nothing": (lambda v: 0.0, np.zeros_like, np.zeros((3, 3)), V),
    "at a minimum": (
        lambda v: -np.cos(v).sum(),
        np.sin,
        lambda v: np.diag(np.cos(v)),
        np.zeros(3),
    ),
    "logsumexp": (
        lambda v: np.log(np.exp(v).sum()),
        softmax_gradient,
        lambda v: np.diag(softmax_gradient(v)) - np.outer(*2 * [softmax_gradient(v)]),
        V,
    ),
    "near the edge": (
        lambda v: np.log(v).sum(),
        lambda v: 1 / v,
        lambda v: np.diag(-1 / v**2),
        np.array([1e-6, 3.0]),
    ),
    "large inputs": (
        lambda v: np.sin(v).sum(),
        np.cos,
        lambda v: np.diag(-np.sin(v)),
        1e6 * V,
    ),
    "a matrix": (lambda m: np.linalg.det(m), lambda m: np.linalg.inv(m).T * np.linalg.det(m), None,
                 np.eye(3) + 0.1 * A),
    "single precision": (lambda v: SINGLE(np.sin(v.astype(SINGLE)).sum()), np.cos, None, V),
    "single inputs": (lambda v: np.sin(v).sum(), np.cos, None, V.astype(SINGLE)),
    "steep": (lambda v: 1e6 * np.sin(v).sum(), lambda v: 1e6 * np.cos(v), None, V),
    "flat": (lambda v: 1e-6 * np.sin(v).sum(), lambda v: 1e-6 * np.cos(v), None, V),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", RIGHT)
def test_right_derivatives(name):
    fn, grad, hess, x = RIGHT[name]
    found = nm.check.taylor(fn, grad, x, hess)
    assert found.ok, str(found)
    assert found.verdict == "right"
    assert found.slopes.shape == (5, 2 if hess is None else 3)
    # A remainder falls as it should, or faster, or there is none.
    least = 1.5 + np.arange(found.slopes.shape[1] - 1)
    assert np.all(found.slopes[:, 1:] > least)
    assert str(found).startswith("Taylor test: right\n")


def test_slopes():
    cubed = nm.check.taylor(lambda x: np.exp(x), np.exp, 0.3, np.exp)
    assert cubed.slopes == pytest.approx(np.tile([1.0, 2.0, 3.0], (5, 1)), abs=0.05)
    linear = nm.check.taylor(*(RIGHT["linear"][k] for k in (0, 1, 3, 2)))
    assert np.all(np.isinf(linear.slopes[:, 1:]))
    quadratic = nm.check.taylor(*(RIGHT["quadratic"][k] for k in (0, 1, 3, 2)))
    assert quadratic.slopes[:, 1] == pytest.approx(np.full(5, 2.0), abs=0.05)
    assert np.all(np.isinf(quadratic.slopes[:, 2]))
    h, change, first, second = np.moveaxis(cubed.table, -1, 0)
    assert h.shape == change.shape == first.shape == second.shape == (5, remainders.STEPS)


WRONG = {
    "0.05 %": (np.sin, lambda x: BY * np.cos(x), 0.7),
    "0.05 % of a sum": (lambda v: np.exp(v).sum(), lambda v: BY * np.exp(v), V),
    "0.05 % of an element": (
        lambda v: np.exp(v).sum(),
        lambda v: np.exp(v) * np.array([1, BY, 1]),
        V,
    ),
    "a millionth": (lambda v: np.exp(v).sum(), lambda v: np.exp(v) * (1 + 1e-6), V),
    "sign": (lambda v: np.cos(v).sum(), np.sin, V),
    "half": (lambda v: v @ A @ v, lambda v: A @ v, V),
    "transposed": (lambda v: v @ A @ np.ones(3), lambda v: A.T @ np.ones(3), V),
    "missing term": (lambda v: np.log(np.exp(v).sum()), np.exp, V),
    "dead tail": (
        lambda v: np.tanh(v).sum(),
        lambda v: np.where(np.abs(v) > 4, 0, 1 - np.tanh(v) ** 2),
        np.array([0.5, 5.0]),
    ),
    "of a linear function": (np.sum, lambda v: BY * np.ones_like(v), V),
    "of a constant": (lambda v: 3.0, lambda v: np.full_like(v, 1e-5), V),
    "at a minimum": (lambda v: -np.cos(v).sum(), lambda v: np.sin(v) + 1e-6, np.zeros(3)),
    "in single precision": (
        lambda v: SINGLE(np.sin(v.astype(SINGLE)).sum()),
        lambda v: BY * np.cos(v),
        V,
    ),
    "large inputs": (lambda v: np.sin(v).sum(), lambda v: BY * np.cos(v), 1e6 * V),
    "nan": (np.sin, lambda x: np.nan, 0.7),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_gradients(name):
    found = nm.check.taylor(*WRONG[name])
    assert found.verdict == "wrong", str(found)
    assert not found.ok
    if name not in ("in single precision", "a millionth", "nan"):  # whose slope 1 is in the noise
        assert found.slopes[0, 1] == pytest.approx(1, abs=0.15)


@pytest.mark.parametrize(
    "hess",
    [BY * S, A, -S, lambda v: S + 1e-5 * np.eye(3), np.zeros((3, 3))],
    ids=["0.05 %", "half", "sign", "added", "none"],
)
def test_wrong_hessians(hess):
    fn, grad, _, x = RIGHT["quadratic"]
    found = nm.check.taylor(fn, grad, x, hess)
    assert found.verdict == "wrong", str(found)
    assert np.all(found.left[:, 0] <= found.bound[:, 0])  # the gradient is right
    assert found.slopes[0, 2] == pytest.approx(2, abs=0.1)


@pytest.mark.parametrize(
    ("fn", "grad", "x"),
    [
        (lambda v: 1e13 + np.sin(v).sum(), np.cos, V),
        (lambda v: SINGLE(1e5) + SINGLE(np.sin(v).sum()), np.cos, V),
        (lambda v: np.abs(v).sum(), np.sign, np.zeros(2)),
        (lambda v: np.sqrt(v).sum(), lambda v: 0.5 / np.sqrt(v + 1e-300), np.zeros(2)),
        (lambda v: np.sign(v).sum(), np.zeros_like, np.zeros(2)),
    ],
    ids=["large constant", "large constant in float32", "kink", "edge", "jump"],
)
@pytest.mark.parametrize("by", [1.0, BY])
def test_where_nothing_can_be_told_it_is_said(fn, grad, x, by):
    with np.errstate(all="ignore"):
        found = nm.check.taylor(fn, lambda v: by * grad(v), x)
    assert not found.ok
    assert found.verdict == "cannot tell", str(found)


def test_the_verdict_is_a_test():
    """Planted: without the bound of differences everything would be wrong."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(remainders, "ROUNDINGS", 0)
        patch.setattr("numeric.check.lines.SAFETY", 0.0)
        assert nm.check.taylor(np.sin, np.cos, 0.7).verdict == "wrong"


def test_several_inputs_and_given_arrays():
    def fn(m, v, s):
        return s * (m @ v).sum()

    m, s = A[:2], 0.5

    def grad(m, v, s):
        return s * np.outer(np.ones(2), v), s * m.sum(axis=0), (m @ v).sum()

    assert nm.check.taylor(fn, grad, (m, V, s)).ok
    assert nm.check.taylor(fn, grad(m, V, s), (m, V, s)).ok
    wrong = (*grad(m, V, s)[:2], 1.0)
    assert nm.check.taylor(fn, wrong, (m, V, s)).verdict == "wrong"
    x = sd.symbol("x", 3)
    function = nm.lower(sd.sum(sd.sin(x) ** 2), x)
    found = nm.check.taylor(function, function.grad, V, function.hessian)
    assert found.ok, str(found)


def test_seeds_and_inputs_are_kept():
    x = V.copy()
    tables = [nm.check.taylor(*WRONG["half"][:2], x, seed=k).table for k in (0, 0, 1)]
    assert np.array_equal(tables[0], tables[1])
    assert not np.array_equal(tables[0], tables[2])
    assert np.array_equal(x, V)
    assert nm.check.taylor(np.sum, np.ones_like, x, directions=2).slopes.shape == (2, 2)


def test_refusals():
    refused(
        (
            ValueError,
            "must be scalar, its value has shape",
            lambda: nm.check.taylor(np.sin, np.cos, V),
        ),
        (
            ValueError,
            r"gradient is of shape \[\(\)\], x of \[\(3,\)\]",
            lambda: nm.check.taylor(np.sum, 1.0, V),
        ),
        (
            ValueError,
            r"Hessian is of shape \(3,\), x of \(3,\)",
            lambda: nm.check.taylor(np.sum, np.ones(3), V, np.ones(3)),
        ),
        (
            ValueError,
            "a Hessian is for one input",
            lambda: nm.check.taylor(lambda a, b: a * b, (1.0, 2.0), (2.0, 1.0), np.eye(2)),
        ),
        (
            ValueError,
            "the function is nan at x",
            lambda: nm.check.taylor(lambda v: np.nan, np.ones(3), V),
        ),
    )
