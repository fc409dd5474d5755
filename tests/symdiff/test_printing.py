"""str and repr: the notation, the round trip through parse, and the size of texts."""

import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import strategies as st

import symdiff as sd
from symdiff.display.printing import short, text

# Operands are written in the order of their creation, so these belong to this module alone; the
# tables below call them x, y, z, A, b, S and X.
x, y, z = sd.symbols("x_ y_ z_")
A, b, S = sd.symbol("A_", (2, 3)), sd.symbol("b_", 3), sd.symbol("S_", (3, 3))
B = sd.symbol("B_", (4, 5))
X = sd.symbol("X_", ("n", 3))
HALF = Fraction(1, 2)


def named(text):
    """``text`` with the names of the symbols of this module."""
    return re.sub(r"\b[xyzAbSBX]\b", r"\g<0>_", text)


def restored(expr):
    """The expression that the lines of its text say."""
    *definitions, result = sd.text(expr, full=True, exact=True).split("\n")
    names = {}
    for line in definitions:
        name, body = line.split(" = ", maxsplit=1)
        names[name] = sd.parse(body, names)
    return sd.parse(result, names)


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (x * sd.sin(y) ** 2 + Fraction(1, 3), "x*sin(y)**2 + 1/3"),
        (sd.constant(-2), "-2"),
        (sd.constant(0.1), "0.1"),
        (sd.pi / 2, "pi/2"),
        (sd.e * x, "e*x"),
        (2 * x, "2*x"),
        (-x, "-x"),
        (-x / 2, "-x/2"),
        (3 * x / 2, "3*x/2"),
        (0.1 * x, "0.1*x"),
        (x - y, "x - y"),
        (y - x, "y - x"),
        (1 - x**2, "1 - x**2"),
        (x**2 - 1, "x**2 - 1"),
        (-x - 1, "-x - 1"),
        (3 - x, "3 - x"),
        (x / y, "x/y"),
        (y / x, "y/x"),
        (1 / x, "1/x"),
        (1 / x / y, "1/(x*y)"),
        (1 / (x * y), "1/(x*y)"),
        (3 / (2 * x), "3/(2*x)"),
        (x / (2 * y), "x/(2*y)"),
        (x / (y + z), "x/(y + z)"),
        (x / y**2, "x/y**2"),
        (x / sd.sqrt(y), "x/sqrt(y)"),
        ((x * y) * z, "x*y*z"),
        (x * (y * z), "x*y*z"),
        (x * (y / z), "x*y/z"),
        (x / y / z, "x/(y*z)"),
        (x / (y / z), "x*z/y"),
        ((x + y) * z / 2, "z*(x + y)/2"),
        (-((x + y) / z), "-((x + y)/z)"),
        ((x + y) / -2, "-(x + y)/2"),
        ((x + y) / 2, "(x + y)/2"),
        (-((x + y) ** 2), "-(x + y)**2"),
        (sd.exp(-(x**2) / 2), "exp(-x**2/2)"),
        (x**HALF, "sqrt(x)"),
        (x**-HALF, "1/sqrt(x)"),
        (x ** Fraction(3, 2), "x**(3/2)"),
        (x**1.3, "x**1.3"),
        ((x**2) ** HALF, "sqrt(x**2)"),
        (x**y, "x**y"),
        (x ** (y**z), "x**y**z"),
        ((x**y) ** z, "(x**y)**z"),
        ((-x) ** y, "(-x)**y"),
        (2**x, "2**x"),
        (x ** (-y), "x**(-y)"),
        (x % y, "mod(x, y)"),
        (x // y, "floor_divide(x, y)"),
        (abs(x), "abs(x)"),
        (x > 0, "x > 0"),
        (x < y, "x < y"),
        (x >= 1, "x >= 1"),
        ((x > 0) & (y <= 2) | (z == 1), "x > 0 and y <= 2 or z == 1"),
        ((x > 0) & ((y <= 2) | (z != 1)), "x > 0 and (y <= 2 or z != 1)"),
        (~(x > 0), "not x > 0"),
        ((x < y) == (y < z), "(x < y) == (y < z)"),
        (sd.where(x > 0, sd.log(x), 0), "where(x > 0, log(x), 0)"),
    ],
    ids=str,
)
def test_scalar_notation(expr, expected):
    assert str(expr) == named(expected)
    assert sd.parse(sd.text(expr, exact=True)) is expr


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (A, "A"),
        (A + 1, "A + 1"),
        (sd.tanh(b) * x, "x*tanh(b)"),
        (A @ b, "A @ b"),
        (sd.tanh(A @ b), "tanh(A @ b)"),
        (sd.sum(b * b), "b @ b"),
        (b @ S @ b, "b @ S @ b"),
        (sd.exp(sd.sum(b)), "exp(sum(b))"),
        (sd.mean(X), "sum(X)/(3*n)"),
        (A.T, "A.T"),
        (sd.trace(S), "trace(S)"),
        (S + S.T, "S + S.T"),
        (sd.broadcast_to(x, (3,)), "[x, x, x]"),
        (sd.broadcast_to(b, (2, 3)), "[[b[0], b[1], b[2]], [b[0], b[1], b[2]]]"),
        (sd.broadcast_to(b, ("n", 3)), "broadcast_to(b, (n, 3))"),
        (sd.hessian(sd.sum(sd.exp(b)), b), "diag(exp(b))"),
        (sd.jacobian(b, b), "eye(3)"),
        (sd.reshape(A, (3, 2)), "[[A[0, 0], A[0, 1]], [A[0, 2], A[1, 0]], [A[1, 1], A[1, 2]]]"),
        (sd.reshape(B, (10, 2)), "reshape(B, (10, 2))"),
        (S[1:, ::2], "S[1:3, :3:2]"),
        (sd.concat([b, 2 * b]), "[b[0], b[1], b[2], 2*b[0], 2*b[1], 2*b[2]]"),
        (sd.cumsum(b), "[b[0], b[0] + b[1], b[0] + b[1] + b[2]]"),
        (sd.cumsum(B, axis=0), "cumsum(B, axis=0)"),
        (sd.flip(b), "[b[2], b[1], b[0]]"),
        (sd.tril(B), "tril(B)"),
        (sd.triu(S, 1), "[[0, S[0, 1], S[0, 2]], [0, 0, S[1, 2]], [0, 0, 0]]"),
        (sd.inv(S), "inv(S)"),
        (sd.grad(sd.det(S), S), "det(S)*inv(S).T"),
        (sd.inv(S) @ b, "inv(S) @ b"),
        (b[[0, 2]], "[b[0], b[2]]"),
        (sd.grad(sd.sum(b[[0, 2]]), b), "[1, 0, 1]"),
        (sd.grad(sd.sum(b[1:]), b), "[0, 1, 1]"),
        (sd.inv(S.T), "inv(S.T)"),
        (b * np.ones(3), "b*[1.0, 1.0, 1.0]"),
        (sd.constant(np.ones((9, 3))) @ b, "array(shape=(9, 3), dtype=float64) @ b"),
        (sd.where(b > 0, b, 0), "where(b > 0, b, 0)"),
        (sd.detach(x) * 2, "2*detach(x)"),
        (sd.expm(S), "expm(S)"),
        (sd.jvp(sd.expm(S), S, S.T), "expm(S, S.T)"),
        (sd.jvp(sd.logm(S), S, S.T), "logm(S, S.T)"),
        (sd.sqrtm(S), "sqrtm(S)"),
        (sd.cholesky(S), "cholesky(S)"),
        (sd.eigh(S)[1], "eigh(S)[1]"),
        (sd.svdvals(S), "svdvals(S)"),
        (sd.qr(A)[0], "qr(A)[0]"),
        (sd.qr(A)[1], "qr(A)[1]"),
        (sd.slogdet(S)[0], "slogdet(S)[0]"),
        (sd.slogdet(S)[1], "log(abs(det(S)))"),
        (sd.solve_banded((2, 1), B, sd.symbol("right", (5, 2))), "solve_banded(B, right, upper=1)"),
        (sd.sort(b), "sort(b)"),
        (sd.cumprod(b), "cumprod(b)"),
        (b[sd.symbol("places", 2, int)], "b[places]"),
    ],
)
def test_array_notation(expr, expected):
    assert str(expr) == named(expected)


def test_letters_and_names_avoid_the_symbols():
    i, t1 = sd.symbols("i t1")
    assert str(sd.sum(i * b)) == named("i*sum(b)")
    shared = sd.exp(-t1 * x)
    assert str(shared * sd.sin(shared)) == named("exp(-t1*x)*sin(exp(-t1*x))")
    for _ in range(4):
        shared = shared * sd.sin(shared) + sd.cos(shared)
    assert "u1 = exp(-t1*x_)*sin(exp(-t1*x_)) + cos(exp(-t1*x_))" in str(shared).split("\n")


def test_nested_sums_have_their_own_letters():
    T = sd.symbol("T_", (2, 3, 4))
    expr = sd.sum(sd.tanh(sd.einsum("ijk,j->ik", T, b)) ** 3 * T[:, 0])
    assert str(expr) == "sum[i,j](tanh(sum[k](b_[k]*T_[i,k,j]))**3*T_[i,0,j])"


# Round trip ---------------------------------------------------------------------------------------

numbers = st.sampled_from(
    [0, 1, -1, 2, -3, HALF, -HALF, Fraction(2, 3), Fraction(-5, 3), 0.1, -0.3, 1e-7]
)
exponents = st.sampled_from([-2, -1, 2, 3, HALF, -HALF, Fraction(1, 3), Fraction(-3, 2), 1.3, -0.7])
leaves = st.sampled_from([x, y, z, sd.pi, sd.e]) | numbers.map(sd.constant)


def _extended(inner):
    pair = st.tuples(inner, inner)
    truth = pair.map(lambda p: p[0] < p[1]) | pair.map(lambda p: (p[0] == p[1]) | (p[1] <= 1))
    return st.one_of(
        pair.map(lambda p: p[0] + p[1]),
        pair.map(lambda p: p[0] - p[1]),
        pair.map(lambda p: p[0] * p[1]),
        pair.map(lambda p: p[0] / p[1]),
        st.tuples(inner, exponents).map(lambda p: p[0] ** p[1]),
        st.tuples(numbers, inner).map(lambda p: p[0] * p[1]),
        inner.map(lambda a: -a),
        inner.map(sd.sin),
        pair.map(lambda p: sd.maximum(*p)),
        pair.map(lambda p: p[0] % p[1]),
        st.tuples(truth, inner, inner).map(lambda p: sd.where(*p)),
    )


scalars = st.recursive(leaves, _extended, max_leaves=12)


@pytest.mark.parametrize(
    "written",
    [
        "1/expm1(x)",
        "x**3/expm1(x)",
        "-2/expm1(x)",
        "y/(x*expm1(x))",
        "x/expm1(x)**2",
        "x/(1/expm1(x))",
        "sin(x)*cos(y)/expm1(x)",
        "1/sqrt(expm1(x))",
        "(1/expm1(x))**y",
    ],
)
def test_a_reciprocal_that_is_a_function_is_written_as_it_is_typed(written):
    assert sd.text(sd.parse(written), exact=True) == written


def test_a_wide_sum_is_one_node_again():
    wide = sd.parse(" + ".join(f"v{k}" for k in range(300)))
    assert len(wide.args) == 300
    for expr in (wide, x + wide, x - wide, -wide, -y - 3 * wide, wide * wide, x + 2 * wide):
        assert restored(expr) is expr


# Size ---------------------------------------------------------------------------------------------


def test_shared_subexpressions_are_written_once():
    expr = x
    for _ in range(100):
        expr = expr * sd.sin(expr)
    assert len(str(expr)) < 3000
    assert restored(expr) is expr
    assert len(repr(expr)) < 200
    assert len(str(expr)) < 3000


@pytest.mark.slow
@pytest.mark.parametrize(
    "step",
    [
        lambda e: sd.sin(e) + 1,
        lambda e: e * sd.symbol("x1"),
        lambda e: 1 / (1 + e),
        lambda e: x - sd.exp(e),
    ],
)
def test_lines_of_deep_expressions_are_bounded(step):
    expr = x
    for _ in range(5000):
        expr = step(expr)
    assert len(str(expr)) < 20_100
    cut = r"\(300 of [\d,]+ nodes in x_.*; sd.text\(f, full=True\) writes all\)"
    if sd.count_nodes(expr) > 2000:
        assert re.fullmatch(cut, str(expr).split("\n")[-1])
    lines = sd.text(expr, full=True).split("\n")
    assert max(map(len, lines)) < 1200
    assert sum(map(len, lines)) < 40 * sd.count_nodes(expr)
    assert restored(expr) is expr
    assert len(repr(expr)) < 200


def test_repr_looks_at_a_bounded_part():
    expr = sd.parse(" + ".join(f"v{k}" for k in range(10_000)))
    assert repr(expr) == (
        "<expression: 10,001 nodes in v0, v1, v2, v3, v4, v5, v6, v7 and 9,992 more>"
    )
    assert repr(sd.concat([b] * 1000)) == "<expression of shape (3000,): 2 nodes in b_>"


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (x, "x"),
        (A, "<A: (2, 3)>"),
        (X, "<X: (n, 3)>"),
        (A @ b, "<A @ b: (2,)>"),
        (sd.inv(S.T), "<inv(S.T): (3, 3)>"),
        (sd.svd(S).U, "<svd(S)[0]: (3, 3)>"),
    ],
)
def test_repr(expr, expected):
    assert repr(expr) == named(expected) == short(expr)


def test_huge_integers_are_printed():
    huge = sd.constant(10**2000) * sd.constant(10**2000) * sd.constant(10**2000) * x
    assert len(text(huge)) > 4000
    assert len(repr(huge)) < 200


def test_a_symbol_called_as_a_number_is_told_from_it():
    pi, e = sd.symbols("pi e")
    assert str(pi + sd.pi) == "pi + sd.pi" or str(pi + sd.pi) == "sd.pi + pi"
    assert repr(sd.pi * e) == "pi*e"
    assert str(sd.sin(sd.e) * e).count("sd.e") == 1
    assert "sd" not in str(pi + sd.e)
