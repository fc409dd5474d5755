"""Counts of nodes, edges and operations, against counts by hand."""

import pytest
import sympy as sp

import symdiff as sd

x, y, z = sd.symbols("x y z")
A, B, b, S = (
    sd.symbol("A", (2, 3)),
    sd.symbol("B", (3, 5)),
    sd.symbol("b", 3),
    sd.symbol("S", (3, 3)),
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
    ],
    ids=str,
)
def test_operations(expr, operations):
    assert sd.count_operations(expr) == operations


def test_several_outputs_share():
    assert sd.count_operations([sd.sin(x), sd.sin(x) * y]) == 2


def test_symbolic_lengths_must_be_given():
    assert sd.count_operations(X @ b, sizes={"n": 10}) == 30
    assert sd.count_nodes(X @ b) == 3
    with pytest.raises(sd.Unsupported, match="length n is symbolic"):
        sd.count_operations(X @ b)


def test_the_tenth_derivative_does_not_swell():
    derivative = sd.diff(sd.sin(sd.exp(x) + x**2), x, 10)
    assert sd.count_nodes(derivative) < 400
    assert sd.count_operations(derivative) < 1000
