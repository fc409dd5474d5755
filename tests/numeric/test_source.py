"""What source says: formulas, and the NumPy that a person would write for them."""

import re

import numpy as np
import pytest

import numeric as nm
import symdiff as sd

# Symbols of this module alone: products have their operands in order of creation.
X, Y, W = (
    sd.symbol("rows", ("m", "n")),
    sd.symbol("more", ("m", "n")),
    sd.symbol("weights", ("n", "k")),
)
w, y = sd.symbol("weight", "n"), sd.symbol("target", "m")
A, B, C = sd.symbol("A", (3, 4)), sd.symbol("B", (4, 5)), sd.symbol("C", (3, 4))
S = sd.symbol("S", (3, 3))
u, v = sd.symbol("u", 4), sd.symbol("v", 4)
Q, K = sd.symbol("Q", ("b", "t", "d")), sd.symbol("K", ("b", "t", "d"))
T, U = sd.symbol("T", (2, 3, 4)), sd.symbol("U", (3, 4, 5))
b = sd.symbol("bias", "k")
j = sd.symbol("j", 4, dtype=int)

q, M = sd.symbol("q", "d"), sd.symbol("M", (4, 4))
young = sd.symbol("young", (5, 4))
SYMBOLS = [X, Y, W, w, y, A, B, C, S, u, v, Q, K, T, U, b, j, q, M, young]

GALLERY = {
    # products
    "matrix times vector": (X @ w, "v1 @ v2"),
    "matrix times an older vector": (young @ u, "v2 @ v1"),
    "vector times matrix": (y @ X, "v1.T @ v2"),
    "matrix times matrix": (A @ B, "v1.dot(v2)"),
    "Gram matrix": (A.T @ A, "v1.T.dot(v1)"),
    "product with a transpose": (A @ C.T, "v1.dot(v2.T)"),
    "chain": (A @ B @ B.T, "v2.dot(v1.dot(v2).T).T"),
    "dot product": (u @ v, "v1.dot(v2)"),
    "inner product of matrices": (sd.sum(A * C), "v1.ravel().dot(v2.ravel())"),
    "stack of products": (Q @ sd.swapaxes(K, -1, -2), "v1 @ v2.mT"),
    "stack of vectors": (
        Q @ q,
        "(v1.reshape(sizes['b']*sizes['t'], sizes['d']) @ v2[:, None])"
        ".reshape(sizes['b'], sizes['t'])",
    ),
    "dot products side by side": (sd.sum(X * Y, axis=1), "np.einsum('ij,ij->i', v1, v2)"),
    "tensordot": (
        sd.tensordot(T, U, 2),
        "v1.reshape(2, 12) @ v2.reshape(12, 5)",
    ),
    "quadratic form": (v @ M @ v, "v1.dot(v1 @ v2)"),
    "integers": (u @ j, "v1.dot(v2.astype(np.result_type(v1, v2)))"),
    # sums
    "sum": (sd.sum(A), "v1.sum()"),
    "sum over an axis": (sd.sum(T, axis=1), "v1.sum(axis=1)"),
    "sum over two axes": (sd.sum(T, axis=(0, 2)), "v1.sum(axis=(0, 2))"),
    "trace": (sd.trace(S), "v1.diagonal().sum()"),
    "running sums": (sd.cumsum(v), "v1.cumsum()"),
    "running sums of rows": (sd.cumsum(A, axis=1), "v1.cumsum(axis=1)"),
    # views
    "transpose": (A.T, "v1.T"),
    "permuted axes": (sd.transpose(T, (1, 0, 2)), "v1.transpose(1, 0, 2)"),
    "diagonal": (sd.diag(S), "v1.diagonal()"),
    "reshape": (sd.reshape(A, (2, 6)), "v1.reshape(2, 6)"),
    "reversed": (v[::-1], "v1[::-1]"),
    "reversed columns": (A[:, ::-1], "v1[:, ::-1]"),
    "differences": (v[1:] - v[:-1], "v1[1:] - v1[:3]"),
    "every other column": (A[:, ::2], "v1[:, ::2]"),
    "chosen elements": (v[np.array([2, 0, 0])], "v1[index]"),
    "elements": (v[0] * v[2], "v1[0]*v1[2]"),
    "a column": (A[1:, 2], "v1[1:, 2]"),
    "a new axis": (sd.expand_dims(v, 1), "v1[:, None]"),
    # put together
    "a stack of elements": (sd.stack([v[1], v[0]]), "np.concatenate((v1[1][None], v1[0][None]))"),
    "zeros behind": (sd.concat([v, sd.zeros(2)]), "np.concatenate((v1, full((2,), 0, v1)))"),
    "concatenation": (sd.concat([u, v]), "np.concatenate((v1, v2))"),
    "columns beside columns": (sd.concat([A, C], axis=1), "np.concatenate((v1, v2), axis=1)"),
    "lower triangle": (sd.tril(S), "np.tril(v1)"),
    "diagonal matrix": (sd.diag(v), "diagonals('i->ii', v1)"),
    "outer product": (u[:, None] * v, "v1[:, None]*v2"),
    "rows less their means": (
        A - sd.mean(A, axis=1, keepdims=True),
        "v1 - 0.25*v1.sum(axis=1)[:, None]",
    ),
    "distances": (sd.abs(u[:, None] - v[None, :]), "abs(v1[:, None] - v2)"),
    "softmax of rows": (sd.softmax(A, axis=1), "softmax(v1)"),
    # functions
    "linear equations": (sd.solve(S, A), "solve(v2, v1)"),
    "log-sum-exp of rows": (sd.logsumexp(A, axis=1), "logsumexp(v1)"),
    # lines that belong to more than one module
    "a layer": (sd.tanh(X @ W + b), "tanh(v1.dot(v2) + v3)"),
    "squared error": (sd.sum((X @ w - y) ** 2), ["v4 = v1 @ v2 - v3", "v4.dot(v4)"]),
    "norm of rows": (sd.sqrt(sd.sum(A**2, axis=1)), "sqrt(np.einsum('ij,ij->i', v1, v1))"),
}


def written(f):
    """The lines of a program, without comments; inputs are in the order of their symbols."""
    inputs = [x for x in SYMBOLS if x in f.free_symbols]
    lines = [line.strip() for line in nm.lower(f, inputs).source.splitlines()[1:]]
    return [line for line in lines if line and not line.startswith("#")]


@pytest.mark.parametrize("name", GALLERY)
def test_source_reads_as_a_person_would_write_it(name):
    formula, expected = GALLERY[name]
    lines = [expected] if isinstance(expected, str) else expected
    found = [line for line in written(formula) if line[:4] not in ("del ", "retu")]
    found[-1] = found[-1].partition(" = ")[2]
    assert found == lines


@pytest.mark.numpy_only("its text")
@pytest.mark.parametrize("shape", [(), 3])
def test_numbers_beside_real_values_are_real(shape):
    """An integer would be made a float at each call; bits are the same."""
    a, b = sd.symbols("a b", shape)
    f = 3 * a - 7 * b + 2 + b / 3 - 4 * (1 / a) - 2**70 * a
    F = nm.lower(f, [a, b])
    body = F.source.partition(" = ")[2]
    assert re.findall(r"(?<![\w.])(?<!e\+)\d+(?![\w.])", body) == []
    k = sd.symbol("k", shape, dtype=int)
    G = nm.lower(3 * k - 2, k)
    assert "3*v1 - 2" in G.source
    for kind in (np.float64, np.float32):
        at = [np.full(shape, value, kind)[()] for value in (0.7, -1.3)]
        found, expected = F(*at), nm.interpret(f, dict(zip((a, b), at, strict=True)))
        assert np.result_type(found) == np.result_type(expected)
        np.testing.assert_array_equal(found, expected)
    assert np.result_type(G(np.full(shape, 5)[()])).kind == "i"
