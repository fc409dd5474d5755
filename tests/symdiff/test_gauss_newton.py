"""Gauss-Newton products beside the matrices that statistics has for them."""

import numpy as np
import pytest

import numeric as nm
import symdiff as sd

X, y, w, v = sd.symbol("X", (7, 3)), sd.symbol("y", 7), sd.symbol("w", 3), sd.symbol("v", 3)
RNG = np.random.default_rng(11)
AT = {"X": RNG.normal(size=(7, 3)), "y": RNG.normal(size=7), "w": RNG.normal(size=3)}


def matrix(f, of):
    """The matrix, a product for each column."""
    product = nm.lower(sd.gauss_newton_product(f, of, w, v), [X, y, w, v])
    return np.stack([product(**AT, v=e) for e in np.eye(3)], axis=1)


def test_least_squares_have_the_normal_equations():
    z = sd.tanh(X @ w)
    J = (1 - np.tanh(AT["X"] @ AT["w"]) ** 2)[:, None] * AT["X"]
    found = matrix(sd.sum((z - y) ** 2) / 2, z)
    np.testing.assert_allclose(found, J.T @ J, rtol=1e-13, atol=1e-14)


def test_a_generalised_linear_model_has_its_fisher_information():
    z = X @ w
    p = 1 / (1 + np.exp(-AT["X"] @ AT["w"]))
    found = matrix(sd.sum(sd.softplus(z) - y * z), z)
    expected = AT["X"].T @ ((p * (1 - p))[:, None] * AT["X"])
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


def test_what_reaches_the_inputs_beside_the_part_is_differentiated_twice():
    z = sd.exp(X @ w)
    f = sd.sum(z**2) / 2 + sd.sum(w**4) + sd.sum(z) * w[0]
    exp = np.exp(AT["X"] @ AT["w"])
    J, unit = exp[:, None] * AT["X"], np.array([1.0, 0.0, 0.0])
    mixed = np.outer(J.sum(axis=0), unit)
    expected = J.T @ J + np.diag(12 * AT["w"] ** 2) + mixed + mixed.T
    np.testing.assert_allclose(matrix(f, z), expected, rtol=1e-12, atol=1e-12)


def test_it_is_the_hessian_of_what_is_linear():
    z = X @ w - y
    f = sd.sum(z**4) + sd.sum(sd.exp(w))
    hessian = nm.lower(f, [X, y, w]).hessian(**AT, wrt=w)
    np.testing.assert_allclose(matrix(f, z), hessian, rtol=1e-12, atol=1e-12)


def test_several_inputs_and_bad_ones():
    b = sd.symbol("b")
    z = sd.sin(X @ w + b)
    f = sd.sum(z**2) / 2
    by_w, by_b = sd.gauss_newton_product(f, z, [w, b], [v, sd.symbol("c")])
    assert (by_w.shape, by_b.shape) == ((3,), ())
    with pytest.raises(ValueError, match="expects a part of f"):
        sd.gauss_newton_product(f, sd.cos(X @ w), w, v)
    with pytest.raises(ValueError, match="shape"):
        sd.gauss_newton_product(f, z, w, sd.symbol("c"))
