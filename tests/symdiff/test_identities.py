"""Derivatives that an identity makes small: what they become, and that they are right."""

import mpmath
import numpy as np
import pytest

import numeric as nm
import symdiff as sd
from symdiff.exact.components import primitives
from symdiff.graph.contraction import contract
from symdiff.graph.rearrangement import symmetric

t = sd.symbol("t")
v, w = sd.symbols("v w", 3)
u = sd.symbol("u", "n")
A, X = sd.symbol("A", (3, 3)), sd.symbol("X", (3, 3))
AT_V = np.array([0.75, -1.5, 2.25])
AT_X = np.array([[1.5, -0.25, 0.5], [0.75, 2.0, -0.5], [0.25, 1.0, -1.25]])
EYE = sd.eye(3)

mp = mpmath.mp.clone()
mp.dps = 60


def norm(m):
    return mp.sqrt(mp.fsum(a * a for a in m))


def variance(m):
    mean = mp.fsum(m) / len(m)
    return mp.fsum((a - mean) ** 2 for a in m) / len(m)


def trace(m):
    return mp.fsum(m[i, i] for i in range(m.rows))


def eigenvalues(m):
    return mp.eigsy((m + m.T) / 2, eigvals_only=True)


# What is differentiated, by what and where; the gradient; the same function of mpmath's.
CASES = [
    (sd.norm(v) ** 2, v, AT_V, 2 * v, lambda m: norm(m) ** 2),
    (sd.norm(v), v, AT_V, sd.where(sd.norm(v) == 0, 0, v * (1 / sd.norm(v))), norm),
    (sd.norm(v) ** 4, v, AT_V, 4 * sd.sum(v * v) * v, lambda m: norm(m) ** 4),
    (sd.norm(X) ** 2, X, AT_X, 2 * X, lambda m: norm(m) ** 2),
    (sd.norm(u) ** 2, u, AT_V, 2 * u, lambda m: norm(m) ** 2),
    (sd.std(v) ** 2, v, AT_V, 2 * (v - sd.mean(v)) / 3, variance),
    (sd.var(v), v, AT_V, 2 * (v - sd.mean(v)) / 3, variance),
    (sd.var(u), u, AT_V, 2 * (u - sd.mean(u)) / sd.sum(u**0), variance),
    (sd.trace(sd.expm(X)), X, AT_X, sd.expm(X).T, lambda m: trace(mp.expm(m))),
    (sd.log(sd.abs(sd.det(X))), X, AT_X, sd.inv(X).T, lambda m: mp.log(abs(mp.det(m)))),
    (sd.sum(sd.eigvalsh(X)), X, AT_X, EYE, lambda m: mp.fsum(eigenvalues(m))),
    (sd.mean(sd.eigvalsh(X) * 6), X, AT_X, 2 * EYE, lambda m: 2 * mp.fsum(eigenvalues(m))),
]


def check_gradient(gradient, by, at, exact):
    """Every element against mpmath's difference quotient of the same function, to 12 digits."""
    got = nm.lower(gradient, [by])(at)
    matrix = mp.matrix(at.tolist())
    for k in range(at.size):
        place = (k // 3, k % 3) if at.ndim == 2 else (k, 0)

        def moved(h, place=place):
            m = matrix.copy()
            m[place] += h
            return exact(m)

        assert got.flat[k] == pytest.approx(float(mp.diff(moved, 0)), rel=1e-12, abs=1e-13)


@pytest.mark.parametrize(
    ("f", "by", "at", "expected", "exact"), CASES, ids=map(str, range(len(CASES)))
)
def test_gradients_are_as_small_as_on_paper(f, by, at, expected, exact):
    gradient = sd.grad(f, by)
    assert primitives([gradient])[0] is expected
    assert sd.count_nodes(gradient) <= sd.count_nodes(expected)
    assert float(nm.lower(f, [by])(at)) == pytest.approx(
        float(exact(mp.matrix(at.tolist()))), rel=1e-13
    )
    check_gradient(gradient, by, at, exact)


def test_singular_points_keep_their_conventions():
    zero = np.zeros(3)
    for f in (sd.norm(v), sd.norm(v) ** 2, sd.std(v), sd.var(v)):
        assert nm.lower(sd.grad(f, v), [v])(zero).tolist() == [0, 0, 0]
    assert nm.lower(sd.hessian(sd.norm(v) ** 2, v), [v])(zero).tolist() == (2 * np.eye(3)).tolist()
    assert nm.lower(sd.log(sd.abs(sd.det(X))), [X])(np.zeros((3, 3))) == -np.inf
    for f in (sd.norm(v), sd.std(v)):  # the convention holds at every order
        for order in (2, 3):
            flat = f
            for _ in range(order - 1):
                flat = sd.sum(sd.grad(flat, v) * np.array([1.0, 2.0, 4.0]))
            assert nm.lower(sd.jacobian(sd.grad(flat, v), v), [v])(zero).tolist() == [[0] * 3] * 3


@pytest.mark.parametrize("f", [sd.norm(v), sd.std(v), sd.norm(A @ v), sd.sum(sd.norm(X, axis=1))])
def test_a_norm_shows_the_zeros_of_its_gradient(f):
    """The mask stands around the whole: nothing is left to be checked when it runs."""
    by = X if X in set(f.free_symbols) else v
    kinds = [node.op.name for node in sd.nodes(sd.grad(f, by))]
    assert kinds.count("where") == 1
    assert "strong product" not in kinds


def test_a_masked_factor_of_a_contraction_wins_over_an_infinite_number():
    mask, x = sd.where(v > 0, v, 0), sd.symbol("x")
    for out, expected in (((0,), [0, np.inf, 0]), ((0, 0), np.diag([0, np.inf, 0]).tolist())):
        product = contract([(mask, (0,), True), (1 / x, ())], out)
        with np.errstate(all="ignore"):
            assert nm.lower(product, [v, x])(np.array([-1.0, 2.0, 0.0]), 0.0).tolist() == expected


SPELLINGS = [
    (lambda: sd.hessian(sd.norm(v) ** 2, v), 2 * EYE),
    (lambda: sd.hessian(sd.var(v), v), 2 * EYE / 3 - sd.constant(2) / 9),
    (lambda: sd.grad(sd.sum(v - sd.mean(v)), v), sd.zeros(3)),
    # Directions that commute come out of the exponential.
    (lambda: sd.diff(sd.expm(t * A), t), A @ sd.expm(t * A)),
    (lambda: sd.diff(sd.expm(t * A), t, 2), A @ (A @ sd.expm(t * A))),
    (lambda: sd.diff(sd.expm(t**2 * A), t), (2 * t * A) @ sd.expm(t**2 * A)),
    (lambda: sd.expm(A.T), sd.expm(A).T),
]


@pytest.mark.parametrize(("make", "wanted"), SPELLINGS, ids=lambda v: "" if callable(v) else str(v))
def test_what_identities_make_of_derivatives(make, wanted):
    assert make() is wanted


def test_second_derivatives_along_directions_that_commute():
    at = nm.lower(sd.diff(sd.expm(t**2 * A), t, 2), [t, A])(0.5, AT_X)
    m = mp.matrix(AT_X.tolist())
    for i, j in np.ndindex(3, 3):
        exact = mp.diff(lambda s, i=i, j=j: mp.expm(s**2 * m)[i, j], 0.5, 2)
        assert at[i, j] == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize("build", [lambda s, a, b: s * a + b, lambda s, a, b: b + s * a.T])
def test_directions_that_do_not_commute_stay(build):
    other = np.diag([0.5, 1.0, -0.75]) + 0.25
    got = nm.lower(sd.diff(sd.expm(build(t, A, X)), t), [t, A, X])(0.5, AT_X, other)
    a, b = mp.matrix(AT_X.tolist()), mp.matrix(other.tolist())
    for i, j in np.ndindex(3, 3):
        exact = mp.diff(lambda s, i=i, j=j: mp.expm(build(s, a, b))[i, j], 0.5)
        assert got[i, j] == pytest.approx(float(exact), rel=1e-12, abs=1e-13)


@pytest.mark.parametrize(
    ("shape", "axis"),
    [((3,), None), ((2, 3), None), ((2, 3), 0), ((2, 3), -1), (("n",), 0), (("n", 3), None)],
)
def test_what_is_centred_adds_up_to_nothing(shape, axis):
    x = sd.symbol("x", shape)
    total = sd.sum(3 * (x - sd.mean(x, axis=axis, keepdims=True)), axis=axis)
    assert total is sd.zeros(total.shape)
    assert sd.sum(x - 2 * sd.mean(x, axis=axis, keepdims=True), axis=axis) is not total


B, S = sd.symbol("B", (3, 2)), X + X.T


@pytest.mark.parametrize(
    "w",
    [
        X @ X.T, X.T @ X, B @ B.T, X @ X.T + EYE, X + X.T, X * X.T, sd.outer(v, v), sd.exp(S),
        sd.inv(X @ X.T), sd.expm(S), sd.inv(sd.inv(S) + B @ B.T), 3 * S - sd.diag(v) * 2,
        sd.where(S > 1, S, sd.inv(X @ X.T)),
    ],
)  # fmt: skip
def test_a_symmetric_matrix_is_its_transpose(w):
    assert w.T is w
    at = {X: AT_X, v: AT_V, B: AT_X[:, :2]}
    got = nm.interpret(w, {x: at[x] for x in set(w.free_symbols)})
    np.testing.assert_allclose(got, got.T, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize(
    "w",
    [
        X, X @ X, X @ A.T, X - X.T, X + 2 * X.T, X * X.T**2, sd.outer(v, w), sd.exp(X), sd.inv(X),
        X @ X.T + A, sd.where(X > 0.6, S, S + 1), sd.expm(X), sd.triu(S), S @ (S + X @ X.T),
    ],
)  # fmt: skip
def test_other_matrices_are_not(w):
    assert w.T is not w
    at = {X: AT_X, A: AT_X * AT_X, v: AT_V, globals()["w"]: AT_V[::-1].copy()}
    got = nm.interpret(w, {x: at[x] for x in set(w.free_symbols)})
    assert not np.allclose(got, got.T)


@pytest.mark.parametrize(
    ("f", "most", "exact"),
    [
        (sd.slogdet(X @ X.T)[1], 6, lambda m: mp.log(mp.det(m * m.T))),
        (sd.trace(sd.inv(X @ X.T)), 7, lambda m: trace((m * m.T) ** -1)),
        (sd.norm(X @ X.T) ** 2, 5, lambda m: norm(m * m.T) ** 2),
    ],
)
def test_functions_of_symmetric_matrices_have_small_gradients(f, most, exact):
    gradient = sd.grad(f, X)
    assert sd.count_nodes(gradient) <= most
    check_gradient(gradient, X, AT_X, exact)


@pytest.mark.parametrize("k", range(12))
def test_symmetries_of_stacks_are_those_of_their_values(k):
    """Every pair of axes: what the formula shows, the numbers show."""
    x, y, both = v, sd.symbol("y", 3), X @ X.T
    stacks = [
        sd.einsum("ij,k->ijk", EYE, x), sd.einsum("ij,k->ikj", EYE, x),
        sd.einsum("i,j,k->ijk", x, x, x), sd.einsum("i,j,k->ijk", x, y, x),
        sd.einsum("ij,k->ikj", both, x), sd.einsum("ij,jk->ijk", both, both),
        sd.einsum("i->iii", x), sd.einsum("ij->iij", both), sd.einsum("i->ii", x)[None] + both,
        sd.einsum("ij,k->ijk", EYE, x) * sd.einsum("i,j,k->ijk", x, x, y),
        sd.jacobian(sd.outer(x, x) * sd.sin(sd.outer(x, x)), x),
        sd.hessian(sd.norm(x) ** 3, x)[None],
    ]  # fmt: skip
    stack = stacks[k]
    at = {x: AT_V, y: AT_V[::-1].copy() + 1, X: AT_X}
    got = nm.interpret(stack, {s: at[s] for s in set(stack.free_symbols)})
    for i, j in ((0, 1), (0, 2), (1, 2)):
        if symmetric(stack, i, j):
            np.testing.assert_allclose(got, got.swapaxes(i, j), rtol=1e-13)


# Reciprocals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "becomes"),
    [
        (1 / sd.cosh(t), "sech(t)"),
        (t / sd.cosh(2 * t) ** 3, "t*sech(2*t)**3"),
        (1 / sd.sqrt(sd.cosh(t)), "sqrt(sech(t))"),
        (1 / (1 + sd.exp(-t)), "sigmoid(t)"),
        (t / (1 + sd.exp(t)), "t*sigmoid(-t)"),
        (1 / (2 + sd.exp(t)), "1/(exp(t) + 2)"),
    ],
)
def test_reciprocals_that_do_not_overflow_are_functions(typed, becomes):
    assert str(typed) == becomes
    naive = sd.diff(typed.subs({t: 2 * t}), t, 2)
    np.testing.assert_allclose(
        nm.lower(naive, t)(0.4), 4 * nm.lower(sd.diff(typed, t, 2), t)(0.8), rtol=1e-14
    )


def test_reciprocals_reach_where_their_base_overflows():
    """Beyond 710 the base is infinite; the reciprocal and its derivatives are e^-|z|."""
    for typed, z, sign in ((1 / sd.cosh(t), 720.0, -1), (1 / (1 + sd.exp(-t)), -720.0, 1)):
        tail = float(mp.exp(-720)) * (2 if sign < 0 else 1)
        for order in range(4):
            d = sd.diff(typed, t, order) if order else typed
            np.testing.assert_allclose(nm.lower(d, t)(z), sign**order * tail, rtol=1e-9)
