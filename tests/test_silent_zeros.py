"""Matrix derivatives that SymPy 1.14 answers with 0 (or a TypeError): all of them right here."""

import numpy as np
import pytest

import numeric as nm
import symdiff as sd

A = sd.symbol("A", ("n", "n"))
v = sd.symbol("v", ("n",))

rng = np.random.default_rng(7)
a = rng.normal(size=(3, 3)) + 4 * np.eye(3)
u = rng.uniform(0.5, 1.5, size=3)
inverse, det, trace = np.linalg.inv(a).T, np.linalg.det(a), np.trace(a)
square, total = u @ u, np.exp(u).sum()

MATRIX = {
    "log det A": (lambda: sd.log(sd.det(A)), inverse),
    "logabsdet A": (lambda: sd.slogdet(A).logabsdet, inverse),
    "(tr A)^2 + 1": (lambda: sd.trace(A) ** 2 + 1, 2 * trace * np.eye(3)),
    "log tr A": (lambda: sd.log(sd.trace(A)), np.eye(3) / trace),
    "exp tr A": (lambda: sd.exp(sd.trace(A) / 8), np.exp(trace / 8) / 8 * np.eye(3)),
    "det(A)^2": (lambda: sd.det(A) ** 2, 2 * det**2 * inverse),
}
VECTOR = {
    "v'v": (lambda: v @ v, 2 * u),
    "sin(v'v)": (lambda: sd.sin(v @ v), 2 * np.cos(square) * u),
    "1/(v'v)": (lambda: 1 / (v @ v), -2 * u / square**2),
    "log(1'exp v)": (lambda: sd.log(sd.sum(sd.exp(v))), np.exp(u) / total),
    "sqrt(v'v)": (lambda: sd.sqrt(v @ v), u / np.sqrt(square)),
}


@pytest.mark.parametrize("name", [*MATRIX, *VECTOR])
def test_derivatives_by_matrices_and_vectors(name):
    x, at, condition = (A, a, np.linalg.cond(a)) if name in MATRIX else (v, u, 1)
    f, expected = (MATRIX | VECTOR)[name]
    value = nm.interpret(sd.grad(f(), x), {x: at})
    np.testing.assert_allclose(value, expected, rtol=64 * np.finfo(float).eps * condition)
