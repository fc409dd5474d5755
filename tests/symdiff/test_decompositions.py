"""Matrix decompositions: values against NumPy, SciPy and mpmath, derivatives, and refusals."""

import mpmath as mp
import numpy as np
import pytest
import scipy.linalg

import numeric as nm
import symdiff as sd
from numeric.lowering.kernels import matrices
from symdiff import opaque_ops
from symdiff.graph.algebra import opaque
from tests.support import oracles
from tests.support.decomposition_cases import CASES
from tests.test_batched import point

EPS = np.finfo(float).eps
LinAlgError = np.linalg.LinAlgError
LEADING = [(), (3,), (2, 3), (0,)]


@pytest.fixture
def rng():
    return np.random.default_rng(11)


def positive(rng, *shape):
    x = rng.normal(size=shape)
    return x @ x.swapaxes(-1, -2) + np.eye(shape[-1])


def value(f, *arrays):
    xs = [sd.symbol(f"x{k}", np.shape(a)) for k, a in enumerate(arrays)]
    return nm.interpret(f(*xs), dict(zip(xs, arrays, strict=True)))


def close(found, expected, scale=1.0):
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12 * scale)


def differences(f, a, direction):
    """The derivative of the array ``f(a)`` along a direction, and its error."""
    return oracles.richardson(
        lambda h: f(a + h * direction), abs(f(a)) * 64 * EPS + 64 * EPS, first=0.01
    )


# Values -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lead", [(), (2, 3), (0,)])
@pytest.mark.parametrize(("m", "n"), [(1, 1), (3, 3), (4, 2), (2, 4), (3, 0)])
def test_parts_of_any_matrices(lead, m, n, rng):
    """Products of the parts are the matrix; those that are to be orthogonal are."""
    a, k = rng.normal(size=(*lead, m, n)), min(m, n)
    u, s, vh, q, r = (value(lambda x, k=k: [*sd.svd(x), *sd.qr(x)][k], a) for k in range(5))
    close(u * s[..., None, :] @ vh, a)
    close(q @ r, a)
    for each in (u, vh.swapaxes(-1, -2), q):
        close(each.swapaxes(-1, -2) @ each, np.eye(k) + np.zeros((*lead, k, k)))
    assert (np.diff(s) <= 0).all()
    np.testing.assert_array_equal(r, np.triu(r))


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("unit", [False, True])
def test_triangular_systems_read_one_triangle(lower, unit, rng):
    a, b = rng.normal(size=(4, 4)) + 3 * np.eye(4), rng.normal(size=(4, 2))

    def f(x, y):
        return sd.solve_triangular(x, y, lower=lower, unit_diagonal=unit)

    expected = scipy.linalg.solve_triangular(a, b, lower=lower, unit_diagonal=unit)
    close(value(f, a, b), expected)
    gradient = value(lambda x, y: sd.grad(sd.sum(f(x, y) ** 2), x), a, b)
    read = (np.tril if lower else np.triu)(np.ones((4, 4)), 0)
    if unit:
        read -= np.eye(4)
    np.testing.assert_array_equal(gradient != 0, read != 0)
    # What is not read may be anything.
    close(value(f, np.where(read != 0, a, np.nan), b), expected)


def test_only_the_symmetric_part_counts(rng):
    a = positive(rng, 3, 3)
    skew = np.triu(rng.normal(size=(3, 3)), 1)
    skew = (skew - skew.T) / 8
    for f in (sd.cholesky, sd.eigvalsh):
        close(value(f, a + skew), value(f, a))
        gradient = value(lambda x, f=f: sd.grad(sd.sum(f(x) ** 3), x), a + skew)
        close(gradient, gradient.T, 100)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [0.0, 1e-9, 1e-3, 0.3, 1.0, 5.0, 30.0, 200.0])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_the_exponential_against_mpmath(scale, n, rng):
    a = rng.normal(size=(n, n)) * scale
    e = rng.normal(size=(n, n))
    with mp.workdps(250):
        block = mp.matrix(np.block([[a, e], [0 * a, a]]).tolist())
        exact = np.array(mp.expm(block).tolist(), dtype=float)
    # The condition number is at least the norm of A (Higham, Functions of Matrices, 10.2).
    bound = 16 * n * EPS * (1 + np.linalg.norm(a, 1)) ** 1
    for found, expected in (
        (value(sd.expm, a), exact[:n, :n]),
        (matrices.expm(a, e), exact[:n, n:]),
    ):
        assert np.linalg.norm(found - expected) <= bound * np.linalg.norm(exact)


def test_exponentials_of_a_stack_are_scaled_one_by_one(rng):
    a = rng.normal(size=(4, 3, 3)) * np.array([0, 1e-8, 1, 100])[:, None, None]
    found = value(sd.expm, a)
    close(
        found / np.linalg.norm(found, axis=(1, 2), keepdims=True),
        [x / np.linalg.norm(x) for x in scipy.linalg.expm(a)],
    )
    np.testing.assert_array_equal(found[0], np.eye(3))
    small = np.eye(3) + a[1] + a[1] @ a[1] / 2
    np.testing.assert_allclose(found[1], small, rtol=4 * EPS, atol=EPS**2)
    a[2, 0, 0] = np.nan
    again = value(sd.expm, a)
    assert np.isnan(again[2]).all()
    np.testing.assert_array_equal(again[[0, 1, 3]], found[[0, 1, 3]])


def test_special_exponentials():
    close(value(sd.expm, np.diag([0.0, 1.0, -2.0])), np.diag(np.exp([0.0, 1.0, -2.0])))
    t = 1.25
    turn = np.array([[0.0, -t], [t, 0.0]])
    close(value(sd.expm, turn), [[np.cos(t), -np.sin(t)], [np.sin(t), np.cos(t)]])
    x, a = sd.symbol("x"), sd.constant(np.array([[1.0, 2.0], [0.5, -1.0]]))
    third = nm.interpret(sd.diff(sd.expm(x * a), x, 3), {x: 0.5})
    exact = np.linalg.matrix_power(a.op.value, 3) @ scipy.linalg.expm(0.5 * a.op.value)
    close(third, exact)


@pytest.mark.parametrize(
    "f",
    [
        sd.cholesky,
        sd.eigvalsh,
        lambda x: sd.eigh(x)[1],
        sd.svdvals,
        lambda x: sd.svd(x)[2],
        sd.pinv,
        lambda x: sd.qr(x)[0],
        sd.expm,
        lambda x: sd.matrix_power(x, -2),
        lambda x: sd.grad(sd.sum(sd.expm(x)), x),
        lambda x: sd.hessian(sd.det(x), x),
        lambda x: sd.jacobian(sd.eigh(x)[1], x),
        lambda x: sd.jacobian(sd.cholesky(x), x),
    ],
)
def test_float32_stays(f, rng):
    a = positive(rng, 4, 4)
    x = sd.symbol("x", (4, 4))
    narrow = nm.interpret(f(x), {x: a.astype(np.float32)})
    assert narrow.dtype == np.float32
    wide = nm.interpret(f(x), {x: a})
    assert wide.dtype == np.float64
    np.testing.assert_allclose(abs(narrow), abs(wide), rtol=2e-2, atol=2e-3 * abs(wide).max())


def test_integers_are_made_real():
    a = np.array([[2, 1], [1, 2]])
    x = sd.symbol("x", (2, 2), int)
    for f in (sd.cholesky, sd.eigvalsh, sd.svdvals, sd.pinv, sd.expm):
        assert nm.interpret(f(x), {x: a}).dtype == np.float64


def test_symbolic_lengths(rng):
    A, B = sd.symbol("A", ("n", "n")), sd.symbol("B", ("m", "n"))
    a, b = positive(rng, 3, 3), rng.normal(size=(5, 3))
    cases = [(f, A, a) for f in (sd.cholesky, sd.eigvalsh, sd.expm, lambda x: sd.eigh(x)[1] ** 2)]
    for f, x, at in [*cases, *((sd.pinv, B, c) for c in (b, b.T, b[:3]))]:
        found = nm.interpret(sd.grad(sd.sum(f(x) ** 2), x), {x: at})
        close(found, value(lambda y, f=f: sd.grad(sd.sum(f(y) ** 2), y), at), 1e3)
    assert sd.pinv(B).shape == ("n", "m")


# Derivatives --------------------------------------------------------------------------------------

RANDOM = {
    "cholesky": (sd.cholesky, (4, 4)),
    "eigvalsh": (sd.eigvalsh, (4, 4)),
    "eigenvectors": (lambda x: sd.eigh(x)[1] ** 2, (4, 4)),
    "svdvals": (sd.svdvals, (5, 3)),
    "left": (lambda x: sd.svd(x)[0] ** 2, (5, 3)),
    "right": (lambda x: sd.svd(x)[2] ** 2, (3, 5)),
    "both": (lambda x: sd.svd(x)[0] @ sd.svd(x)[2], (3, 3)),
    "pinv": (sd.pinv, (3, 4)),
    "Q": (lambda x: sd.qr(x)[0], (4, 3)),
    "R": (lambda x: sd.qr(x)[1], (4, 3)),
    "wide Q": (lambda x: sd.qr(x)[0], (3, 4)),
    "wide R": (lambda x: sd.qr(x)[1], (3, 4)),
    "full rank": (lambda x: sd.pinv(x, constant_rank=True), (4, 3)),
    "constant rank": (
        lambda x: sd.pinv(x[..., :2] @ (x[..., :2, :] + 1), constant_rank=True),
        (4, 3),
    ),
    "expm": (sd.expm, (3, 3)),
    "power": (lambda x: sd.matrix_power(x, 5), (3, 3)),
    "negative power": (lambda x: sd.matrix_power(x, -2), (3, 3)),
    "triangular": (lambda x: sd.solve_triangular(x, np.ones(3), lower=True), (3, 3)),
    "cofactors": (lambda x: sd.grad(sd.sum(sd.det(x)), x), (5, 5)),
}


def start(name, shape, rng):
    return positive(rng, *shape) if shape[0] == shape[1] else rng.normal(size=shape)


@pytest.mark.slow
@pytest.mark.parametrize("lead", [(), (2,)])
@pytest.mark.parametrize("name", RANDOM)
def test_three_orders_along_a_direction(name, lead, rng):
    f, shape = RANDOM[name]
    shape = lead + shape
    a, d = start(name, shape[-2:], rng) + np.zeros(shape), rng.normal(size=shape)
    if lead:
        a = a + 0.1 * rng.normal(size=shape)
    x = sd.symbol("x", shape)
    y = f(x)
    orders = [y]
    for _ in range(3):
        orders.append(sd.jvp(orders[-1], x, sd.constant(d)))
    run = nm.lower(orders, [x])
    for k in range(3):
        expected, error = differences(lambda v, k=k: run(v)[k], a, d)
        found = run(a)[k + 1]
        assert (abs(found - expected) <= 8 * error + 1e-9 * (1 + abs(expected).max())).all()
    # Reverse mode is the transpose.
    g = sd.constant(rng.normal(size=y.shape))
    pulled = nm.interpret(sd.sum(sd.vjp(y, x, g) * d), {x: a})
    close(pulled, nm.interpret(sd.sum(orders[1] * g), {x: a}), 1e2)
    again = nm.interpret(sd.sum(sd.hvp(sd.sum(y * g), x, sd.constant(d)) * d), {x: a})
    np.testing.assert_allclose(
        again, nm.interpret(sd.sum(orders[2] * g), {x: a}), rtol=1e-8, atol=1e-7
    )


def test_spectral_functions_have_their_closed_gradients(rng):
    a = positive(rng, 4, 4)
    x = sd.symbol("x", (4, 4))
    for f, expected in (
        (sd.sum(sd.eigvalsh(x)), np.eye(4)),
        (sd.prod(sd.eigvalsh(x)), np.linalg.det(a) * np.linalg.inv(a)),
        (sd.sum(sd.svdvals(x) ** 2), 2 * a),
        (sd.trace(sd.expm(x)), scipy.linalg.expm(a).T),
        (sd.sum(sd.log(sd.diagonal(sd.cholesky(x)))), np.linalg.inv(a) / 2),
    ):
        found = nm.interpret(sd.grad(f, x), {x: a})
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10 * abs(expected).max())


# Refusals -----------------------------------------------------------------------------------------


def turned(rng, values):
    q = np.linalg.qr(rng.normal(size=(len(values), len(values)))).Q
    return q * np.array(values) @ q.T


@pytest.mark.parametrize("values", [(1.0, 1.0, 2.0), (0.0, 0.0, 0.0), (1.0, 2.0, 2.0, 2.0)])
def test_equal_eigenvalues_are_refused_where_vectors_are_differentiated(values, rng):
    n = len(values)
    x = sd.symbol("x", (n, n))
    for a in (np.diag(values), turned(rng, values)):
        weights = np.arange(float(n))
        for f in (
            sd.jacobian(sd.eigh(x)[1], x),
            sd.hessian(sd.sum(sd.eigvalsh(x) * weights), x),
            sd.jvp(sd.eigh(x)[1], x, sd.constant(np.ones((n, n)))),
        ):
            with pytest.raises(LinAlgError, match="equal to rounding"):
                nm.interpret(f, {x: a})
            with pytest.raises(LinAlgError, match="equal to rounding"):
                nm.lower(f, [x])(a)
        # Symmetric functions of them have a first derivative.
        found = nm.interpret(sd.grad(sd.sum(sd.eigvalsh(x) ** 3), x), {x: a})
        np.testing.assert_allclose(found, 3 * a @ a, atol=1e-13)


def test_a_simple_eigenvalue_beside_equal_ones_keeps_its_gradient(rng):
    a = turned(rng, (1.0, 1.0, 3.0))
    x = sd.symbol("x", (3, 3))
    found = nm.interpret(sd.grad(sd.eigvalsh(x)[2], x), {x: a})
    v = np.linalg.eigh(a)[1][:, 2]
    close(found, np.outer(v, v))


Q_OF = np.linalg.qr(np.random.default_rng(11).normal(size=(4, 3))).Q
OF_RANK_2 = Q_OF[:, :2] @ np.array([[1.0, 2.0, 0.5], [0.25, -1.0, 3.0]])


def weighed(y):
    """A sum of squares whose slopes are not a rotation."""
    return sd.sum(y**2 * np.arange(1.0, y.shape[-1] + 1))


LOST = {
    "one of a stack": (
        lambda x: sd.jacobian(sd.eigh(x)[1], x),
        np.stack([np.diag([1.0, 2.0]), np.eye(2)]),
        "equal to rounding",
    ),
    "equal singular values": (lambda x: sd.jacobian(sd.svd(x)[2], x), Q_OF, "equal to rounding"),
    "a singular value of 0": (
        lambda x: sd.jacobian(sd.svd(x)[0], x),
        Q_OF * [2.0, 1.0, 0.0],
        "0 to rounding",
    ),
    "rank, pinv": (lambda x: sd.grad(weighed(sd.pinv(x)), x), OF_RANK_2, "full rank"),
    "rank, Q": (lambda x: sd.grad(weighed(sd.qr(x)[0]), x), OF_RANK_2, "full rank"),
    "rank, R": (lambda x: sd.grad(weighed(sd.qr(x)[1]), x), OF_RANK_2, "full rank"),
    "not positive": (sd.cholesky, np.diag([1.0, -1.0]), "positive definite"),
    **{
        f"not finite, {f.__name__}": (f, np.array([[1.0, np.nan], [0.0, 1.0]]), "not finite")
        for f in (sd.eigvalsh, sd.svdvals, sd.pinv)
    },
    "an equation without a single solution": (
        lambda x: sd.solve_sylvester(x, -x, x),
        np.eye(2),
        "Singular",
    ),
    "the third derivative of a determinant": (
        lambda x: sd.jvp(sd.hvp(sd.det(x), x, np.eye(4)), x, np.eye(4)),
        np.zeros((4, 4)),
        None,
    ),
}


@pytest.mark.parametrize("name", LOST)
def test_what_is_lost_is_refused(name):
    make, at, says = LOST[name]
    with pytest.raises(LinAlgError, match=says):
        value(make, at)


def test_a_square_matrix_may_have_one_singular_value_of_0(rng):
    y, a = sd.symbol("y", (3, 3)), turned(rng, (3.0, 1.0, 0.0))
    f = sd.jvp(sd.svd(y)[0] ** 2, y, sd.constant(np.ones((3, 3))))
    assert np.isfinite(nm.interpret(f, {y: a})).all()


def test_lost_rank_may_be_constant(rng):
    a = np.ones((2, 2))
    x = sd.symbol("x", (2, 2))
    f = sd.pinv(x, constant_rank=True)
    close(nm.interpret(sd.grad(sd.sum(f), x), {x: a}), np.full((2, 2), -0.25))
    close(nm.interpret(sd.grad(sd.sum(f), x), {x: 0 * a}), 0 * a)


def sylvester(*shapes):
    a, b, c = (sd.symbol(name, s) for name, s in zip("ABC", shapes, strict=True))
    return sd.solve_sylvester(a, b, c)


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: sd.cholesky(sd.symbol("B", (2, 3))), sd.ShapeError, "cholesky: .* not square"),
        (lambda: sd.eigh(sd.symbol("b", 3)), sd.ShapeError, "eigh: .* no matrices"),
        (lambda: sd.eigvalsh(sd.symbol("B", (2, 3))), sd.ShapeError, "eigvalsh"),
        (lambda: sd.expm(sd.symbol("B", (2, 3))), sd.ShapeError, "expm"),
        (lambda: sd.matrix_power(sd.symbol("B", (2, 3)), 2), sd.ShapeError, "matrix_power"),
        (lambda: sd.matrix_power(sd.symbol("A", (2, 2)), 0.5), TypeError, "not an integer"),
        (lambda: sd.matrix_power(sd.symbol("A", (2, 2)), True), TypeError, "not an integer"),
        (lambda: sd.qr(sd.symbol("B", ("m", 3))), sd.Unsupported, "as tall as wide"),
        (lambda: sd.qr(sd.symbol("B", (3, 2)), "complete"), sd.Unsupported, "complete"),
        (lambda: sd.svd(sd.symbol("B", (3, 2)), full_matrices=True), sd.Unsupported, "full_mat"),
        (lambda: sd.svdvals(sd.symbol("B", ("m", "n"))), sd.Unsupported, "lengths m and n"),
        (lambda: sd.solve_triangular(sd.symbol("B", (3, 2)), 1), sd.ShapeError, "solve_triang"),
        (lambda: sylvester((2, 2), (3, 2), (2, 2)), sd.ShapeError, "solve_sylvester: .* square"),
        (
            lambda: sylvester((2, 2), (3, 3), (3, 2)),
            sd.ShapeError,
            r"needs .* \(2, 3\), .* \(3, 2\)",
        ),
        (lambda: sylvester((4, 2, 2), (3, 3), (5, 2, 3)), sd.ShapeError, "solve_sylv.* broadcast"),
    ],
)
def test_wrong_arguments(build, error, message):
    with pytest.raises(error, match=message):
        build()


# The second derivative of the determinant -------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("lost", [0, 1, 2, 5])
def test_second_derivatives_of_det_at_any_rank(n, lost, rng):
    a = rng.integers(-3, 4, size=(n, n)).astype(float) + 4 * np.eye(n)
    for k in range(min(lost, n)):
        a[k] = a[-1] * k if n > lost else 0
    x = sd.symbol("x", (n, n))
    d = rng.normal(size=(n, n))
    hessian = nm.interpret(sd.hessian(sd.det(x), x), {x: a})
    exact = np.zeros((n, n, n, n))
    for i, j, k, m in np.ndindex(n, n, n, n):
        if i != k and j != m:
            minor = np.delete(np.delete(a, (i, k), 0), (j, m), 1)
            sign = (-1) ** (i + j + k + m) * (1 if (i < k) == (j < m) else -1)
            exact[i, j, k, m] = sign * np.linalg.det(minor)
    np.testing.assert_allclose(hessian, exact, atol=1e-12 * max(1, abs(a).max() ** n))
    batch = sd.symbol("x", (3, n, n))
    stacked = nm.interpret(sd.hvp(sd.sum(sd.det(batch)), batch, d + 0 * batch), {batch: [a] * 3})
    close(stacked, [np.tensordot(exact, d, 2)] * 3, 1e3)


@pytest.mark.parametrize("n", [2, 3])
def test_small_determinants_have_every_derivative_where_they_are_singular(n, rng):
    x, t = sd.symbol("x", (n, n)), sd.constant(rng.normal(size=(n, n)))
    f = sd.det(x)
    for _ in range(n):
        f = sd.jvp(f, x, t)
    close(nm.interpret(f, {x: np.zeros((n, n))}), np.linalg.det(t.op.value) * {2: 2, 3: 6}[n])


def test_third_derivatives_of_larger_determinants(rng):
    x, t = sd.symbol("x", (4, 4)), sd.constant(rng.normal(size=(4, 4)))
    second, a = sd.hvp(sd.det(x), x, t), rng.normal(size=(4, 4))
    expected, error = differences(lambda v: nm.interpret(second, {x: v}), a, t.op.value)
    found = nm.interpret(sd.jvp(second, x, t), {x: a})
    assert (abs(found - expected) <= 8 * error + 1e-9).all()


def test_the_zeros_of_a_triangle_stay_zeros(rng):
    """Below the diagonal of R nothing is read: no infinite slope there comes back."""
    x, t = sd.symbol("x", (3, 3)), rng.normal(size=(3, 3))
    f = sd.sqrt(abs(sd.qr(x).R))
    at = {x: rng.normal(size=(3, 3))}
    gradient = nm.interpret(sd.grad(sd.sum(f), x), at)
    tangent = nm.interpret(sd.jvp(f, x, t), at)
    assert np.isfinite(gradient).all()
    assert (np.tril(tangent, -1) == 0).all()
    close(tangent.sum(), (gradient * t).sum(), 100)


# Planted faults -----------------------------------------------------------------------------------


def faulty(cls):
    """A case of the op that depends on its rule: of two rows or more."""
    return next(c for c in CASES[cls] if min(c.shapes[0][-2:]) >= 2 or cls is opaque_ops.Gaps)


@pytest.mark.slow
@pytest.mark.parametrize("cls", CASES, ids=lambda cls: cls.__name__)
def test_a_planted_differential_is_caught(cls, monkeypatch):
    case = faulty(cls)
    right = cls.differential
    monkeypatch.setattr(cls, "differential", lambda op, *given: right(op, *given) * 1.001)
    if cls is opaque_ops.CofactorTangent:
        case = next(c for c in CASES[cls] if c.shapes[0] == (3, 3))
    with pytest.raises(AssertionError):
        oracles.check_high(case, point(case.shapes))


@pytest.mark.parametrize(
    "cls", [opaque_ops.Expm, opaque_ops.CofactorTangent], ids=lambda cls: cls.__name__
)
def test_a_planted_transpose_is_caught(cls, monkeypatch):
    case = next(c for c in CASES[cls] if c.shapes == ((2, 2), (2, 2)))
    right = cls.transposed

    def wrong(op, node, k, g):
        return opaque(op, *(sd.matrix_transpose(x) for x in right(op, node, k, g).args))

    monkeypatch.setattr(cls, "transposed", wrong)
    with pytest.raises(AssertionError):
        oracles.check_high(case, point(case.shapes), second=False)


# Kernels ------------------------------------------------------------------------------------------


def test_a_matrix_that_was_changed_in_place_is_factorised_again(rng):
    a = positive(rng, 3, 3)
    x = sd.symbol("x", (3, 3))
    run = nm.lower(sd.eigvalsh(x), [x])
    first = run(a)
    a *= 2
    close(run(a), 2 * first)
    result = run(a)
    result[:] = 0
    close(run(a), 2 * first)


def test_gaps_are_judged_by_the_precision():
    near = np.array([1.0, 1.0 + 1e-6])
    assert np.isfinite(matrices.gaps(-1, False, near)).all()
    with pytest.raises(LinAlgError):
        matrices.gaps(-1, False, near.astype(np.float32) * 0 + 1)
    assert matrices.gaps(1, True, np.array([2.0])).tolist() == [[0.25]]
    assert matrices.gaps(-1, False, np.zeros((2, 0))).shape == (2, 0, 0)


# Other readings -----------------------------------------------------------------------------------


def test_components_of_rational_and_algebraic_ops():
    x = sd.constant(np.array([[4, 2], [2, 5]]))
    assert str(sd.cholesky(x)[1, 0].evalf(30)).startswith("1.0")
    close(float(sd.sum(sd.cholesky(x)).evalf(20)), 5)
    tall = sd.constant(np.array([[1, 2], [3, 4], [5, 7]]))
    expected = np.linalg.pinv(tall.op.value)
    close(float(sd.pinv(tall)[1, 0].evalf(20)), expected[1, 0])
    close(float(sd.pinv(tall.T)[0, 1].evalf(20)), expected.T[0, 1])
    A = sd.symbol("A", (3, 3))
    second = sd.hessian(sd.det(A), A)[0, 0, 1, 1]
    singular = sd.substitute(second, {A: np.array([[1, 2, 3], [2, 4, 6], [0, 1, 5]])})
    assert float(singular.evalf(20)) == 5


@pytest.mark.parametrize(
    "f",
    [sd.eigvalsh, lambda x: sd.eigh(x)[1], sd.svdvals, lambda x: sd.svd(x)[0], sd.expm,
     lambda x: sd.qr(x)[0]],
)  # fmt: skip
def test_components_that_do_not_exist_are_refused(f):
    y = sd.sum(f(sd.constant(np.array([[4.0, 2.0], [2.0, 5.0]]))) ** 2)
    with pytest.raises(sd.Unsupported, match="component-wise"):
        y.evalf(20)
