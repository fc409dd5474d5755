"""Counts of nodes, edges and operations, against counts by hand."""

import numpy as np
import pytest
import sympy as sp

import symdiff as sd
from symdiff import opaque_ops
from symdiff.graph import ops
from symdiff.graph.algebra import opaque

x, y, z = sd.symbols("x y z")
A, B, b, S = (
    sd.symbol("A", (2, 3)),
    sd.symbol("B", (3, 5)),
    sd.symbol("b", 3),
    sd.symbol("S", (3, 3)),
)
BANDED = sd.symbol("ab", (4, 10)), sd.symbol("rows", (2, 10, 3))
v, L, K, E = (
    sd.symbol("v", 8),
    sd.symbol("L", (6, 6)),
    sd.symbol("K", (2, 6, 3)),
    sd.symbol("E", (6, 6)),
)
X = sd.symbol("X", ("n", 3))
softsign = sd.pointwise("softsign", lambda t: t / (1 + sp.Abs(t)))


def test_nodes_and_edges():
    s = sd.sin(x)
    assert sd.count_nodes(x) == 1
    assert sd.count_edges(x) == 0
    assert sd.count_nodes(s * x + s) == 4
    assert sd.count_edges(s * x + s) == 5
    assert sd.count_nodes([s, x * s]) == 3  # what several outputs share counts once
    assert sd.count_edges((s, x * s)) == 3
    assert sd.count_nodes([]) == 0


@pytest.mark.parametrize(
    ("expr", "operations"),
    [
        (x, 0),
        (sd.constant(3), 0),
        (x + y, 1),
        (x - y, 1),
        (-x, 0),
        (2 * x, 1),
        (x + y + z, 2),
        (2 * x + 3 * y + 1, 4),
        (x * y, 1),
        (x / y, 1),
        (1 / x, 1),
        (1 / x / y, 2),
        (x**2, 1),
        (x**2 * y**3, 3),
        (sd.sqrt(x), 1),
        (x**y, 1),
        (sd.sin(x), 1),
        (sd.sin(x) + sd.sin(x) ** 2, 3),
        (sd.where(x > 0, x, y), 2),
        (softsign(x), 3),
        (sd.detach(x), 0),
        (sd.sin(b), 3),
        (2 * b + 1, 6),
        (A @ b, 6),
        (A @ B, 30),
        (sd.sum(A), 6),
        (sd.trace(S), 3),
        (A.T, 0),
        (sd.reshape(A, (6,)), 0),
        (b[1:], 0),
        (sd.cumsum(b), 3),
        (sd.prod(b), 3),
        (sd.max(b), 3),
        (sd.det(S), 9),
        (sd.inv(S), 27),
        (sd.solve(S, b), 9 + 9),
        (sd.sin(sd.symbol("empty", 0)), 0),
        (sd.cumprod(v), 8),
        (sd.argsort(v), 24),
        (sd.logcumsumexp(v), 24),
        (sd.searchsorted(np.arange(7.0), v), 24),
        (sd.argmax(v), 8),
        (sd.take_along_axis(v, np.array([1, 2])), 0),
        (sd.fft(v)[0], 5 * 8 * 3),
        (sd.grad(v[sd.symbol("i", 3, int)].sum(), v), 3),
        (sd.cholesky(L), 36),
        (sd.eigvalsh(L), 144),
        (sd.eigh(L)[1], 972),
        (sd.svdvals(K), 2 * (54 + 27)),
        (sd.svd(K)[0], 2 * (7 * 54 + 4 * 27)),
        (sd.pinv(K), 2 * (8 * 54 + 4 * 27)),
        (sd.qr(K)[0], 2 * (108 - 18)),
        (opaque(ops.opaque_op(opaque_ops.Gaps, -1, False), sd.symbol("x", 3)), 18),
        (opaque(ops.opaque_op(opaque_ops.CofactorTangent), L, L), 36 * 24),
        (sd.expm(L), 8 * 216),
        (sd.jvp(sd.expm(L), L, E), 4 * 8 * 216),
        (sd.sqrtm(L), 14 * 216),
        (sd.jvp(sd.logm(L), L, E), 4 * 40 * 216),
        (sd.solve_banded((2, 1), *BANDED), 2 * 10 * (2 * 4 + 3 * 6)),
    ],
    ids=str,
)
def test_operations(expr, operations):
    assert sd.count_operations(expr) == operations


def test_several_outputs_share():
    assert sd.count_operations([sd.sin(x), sd.sin(x) * y]) == 2
    assert sd.count_operations(sd.eigh(L)) == 972  # both results at the cost of the dearer


def test_symbolic_lengths_must_be_given():
    assert sd.count_operations(X @ b, sizes={"n": 10}) == 30
    assert sd.count_nodes(X @ b) == 3
    with pytest.raises(sd.Unsupported, match="length n is symbolic"):
        sd.count_operations(X @ b)


def test_the_tenth_derivative_does_not_swell():
    derivative = sd.diff(sd.sin(sd.exp(x) + x**2), x, 10)
    assert sd.count_nodes(derivative) < 400
    assert sd.count_operations(derivative) < 1000
