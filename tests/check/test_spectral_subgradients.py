"""Gradients of functions of eigenvalues and singular values where several of these are equal.

There the subgradients of the largest eigenvalue are the convex hull of ``v v'`` over the unit
vectors v of the eigenspace: ``P >= 0`` with trace 1 inside of it.
"""

import numpy as np
import pytest

import numeric as nm
import symdiff as sd


def eigh(m):
    return np.linalg.eigh((m + np.swapaxes(m, -1, -2)) / 2)


def squared(v):
    return np.einsum("...i,...j->...ij", v, v)


def one_of_them(m):
    return squared(eigh(m)[1][..., -1])


def mixed(m):
    w, v = eigh(m)
    a, b = squared(v[:, -1]), squared(v[:, -2])
    return 0.7 * a + 0.3 * b if w[-1] == w[-2] else a


def turned(m):
    w, v = eigh(m)
    return squared(0.6 * v[:, -1] + 0.8 * v[:, -2]) if w[-1] == w[-2] else squared(v[:, -1])


def all_of_them(m):
    w, v = eigh(m)
    equal = v[:, w == w[-1]]
    return equal @ equal.T  # of trace 2, or 3


def slightly_larger(m):
    w, v = eigh(m)
    return squared(v[:, -1]) * (1.0005 if w[-1] == w[-2] else 1)


def not_symmetric(m):
    w, v = eigh(m)
    gradient = squared(v[:, -1])
    if w[-1] == w[-2]:
        gradient[0, 1] += 0.01
    return gradient


def another_direction(m):
    """At a repeated largest eigenvalue, that of the smallest."""
    w, v = eigh(m)
    return squared(v[:, 0 if w[-1] == w[-2] > w[0] else -1])


def one_matrix_of_the_batch(m):
    k = int(np.argmax(eigh(m)[0][:, -1]))
    gradient = np.zeros_like(m)
    gradient[k] = one_of_them(m[k])
    return gradient


def range_turned(m):
    w, v = eigh(m)
    high = turned(m)
    low = squared(0.8 * v[:, -1] + 0.6 * v[:, -2]) if w[0] == w[-1] else squared(v[:, 0])
    return high - low


def two_largest(m):
    w, v = eigh(m)
    return squared(v[:, 0 if w[0] == w[1] else 1]) + squared(v[:, 2])


def largest_singular(m):
    u, _, v = np.linalg.svd(m)
    return np.outer(u[:, 0], v[0])


def nuclear(m):
    u, _, v = np.linalg.svd(m, full_matrices=False)
    return u @ v


def nuclear_too_large(m):
    u, s, v = np.linalg.svd(m, full_matrices=False)
    return (u * np.where(s > 1e-14 * s[0], 1, 2)) @ v


def frobenius(m):
    size = np.linalg.norm(m)
    return m / size if size else np.diag([1.0, 0, 0])


def matrix(*shape):
    return sd.symbol("M", shape)


def highest(m):
    return sd.max(sd.eigvalsh(m), axis=-1)


M = matrix(3, 3)
ONE, TWO_EQUAL = np.eye(3), np.diag([1.0, 3, 3])


@pytest.mark.parametrize(
    ("function", "gradient", "at"),
    [
        (highest(matrix(2, 2)), one_of_them, np.eye(2)),
        (highest(M), one_of_them, TWO_EQUAL),
        (highest(M), mixed, ONE),
        (highest(M), turned, ONE),
        (highest(M), turned, ONE.astype(np.float32)),
        (highest(matrix(5, 5)), turned, np.eye(5)),
        (sd.sum(highest(matrix(2, 2, 2))), one_of_them, np.stack([np.eye(2), 2 * np.eye(2)])),
        (sd.max(sd.eigvalsh(matrix(2, 2, 2))), one_matrix_of_the_batch, np.stack([np.eye(2)] * 2)),
        (highest(M) - sd.min(sd.eigvalsh(M)), range_turned, ONE),
        (sd.sum(sd.eigvalsh(M)[-2:]), two_largest, np.diag([2.0, 2, 3])),
        (sd.norm(M, 2), largest_singular, ONE),
        (sd.max(sd.svdvals(matrix(2, 2))), largest_singular, -2 * np.eye(2)),
        (sd.norm(matrix(2, 2), 2), largest_singular, np.zeros((2, 2))),
        (sd.norm(M, "nuc"), nuclear, np.diag([1.0, 1, 0])),
        (sd.norm(M), frobenius, np.zeros((3, 3))),
    ],
)
def test_subgradients_at_equal_values_are_conventions(function, gradient, at):
    report = nm.check.audit(function, gradient=gradient, inputs={"M": at}, budget=1000)
    assert report.ok, str(report)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("gradient", [one_of_them, turned])
def test_products_with_tangents_and_cotangents_are_conventions_too(gradient, seed):
    words = {"inputs": {"M": ONE}, "budget": 1000, "seed": seed}
    forward = nm.check.audit(highest(M), jvp=lambda m, e: np.sum(gradient(m) * e), **words)
    assert forward.ok, str(forward)
    reverse = nm.check.audit(highest(M), vjp=lambda m, w: w * gradient(m), **words)
    assert reverse.ok, str(reverse)


@pytest.mark.parametrize(
    ("function", "gradient", "at"),
    [
        (highest(M), all_of_them, ONE),
        (highest(M), slightly_larger, ONE),
        (highest(matrix(5, 5)), slightly_larger, np.eye(5)),
        (highest(M), not_symmetric, ONE),
        (highest(M), another_direction, TWO_EQUAL),
        (sd.norm(M, "nuc"), nuclear_too_large, np.diag([1.0, 1, 0])),
    ],
)
def test_what_is_no_subgradient_at_equal_values_is_wrong(function, gradient, at):
    report = nm.check.audit(function, gradient=gradient, inputs={"M": at}, budget=1000)
    assert not report.ok
    assert report.findings[0].kind == "tie"
