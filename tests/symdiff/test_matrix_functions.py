"""Square roots and logarithms of matrices, and Sylvester's equation: their kernels."""

import sys

import mpmath as mp
import numpy as np
import pytest
from numpy.linalg import LinAlgError

import numeric as nm
import symdiff as sd
from numeric.lowering.kernels import matrix_functions as kernels
from numeric.lowering.kernels.opaque import _solve_columns

EPS = np.finfo(float).eps


@pytest.fixture
def rng():
    return np.random.default_rng(5)


@pytest.fixture
def without_scipy(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy", None)


def value(f, *arrays):
    xs = [sd.symbol(f"x{k}", np.shape(a)) for k, a in enumerate(arrays)]
    return nm.interpret(f(*xs), dict(zip(xs, arrays, strict=True)))


def matrices():
    """Of four rows, symmetric and not, whose functions rounding changes by about rounding."""
    rng = np.random.default_rng(0)
    g, unit = rng.normal(size=(4, 4)), np.eye(4)
    return {
        "any": 5 * unit + g,
        "symmetric": 9 * unit + g + g.T,
        "rotating": 0.2 * unit + np.kron(np.eye(2), [[0, -2], [2, 0]]),
        "beside 1": unit + 1e-9 * g,
        "symmetric, beside 1": unit + 1e-9 * (g + g.T),
        "tiny": 2.0**-900 * (5 * unit + g),
        "symmetric, huge": 2.0**900 * (9 * unit + g + g.T),
        "one Jordan block": 3 * unit + np.eye(4, k=1),
        "elements of all sizes": np.diag([1.0, 1e-2, 1e-3, 1e-4]),
        "triangular": np.triu(g, 1) + np.diag([1.0, 1e-2, 1e-3, 0.5]),
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", matrices())
def test_against_mpmath(name):
    """Also the first derivative of the logarithm, a corner of that of a block matrix."""
    a = matrices()[name]
    e = np.arange(16.0).reshape(4, 4) - 7
    scale = 2.0 ** np.round(np.log2(abs(a).max()))  # which mpmath's iterations need
    a_, e_ = a / scale, e * min(scale, 1)
    with mp.workdps(40):
        block = mp.matrix(np.block([[a_, e_ / scale], [0 * a, a_]]).tolist())
        root = np.array((mp.sqrtm(block[:4, :4]) * mp.sqrt(scale)).tolist(), complex)
        log = mp.logm(block) + mp.log(scale) * mp.eye(8)
        log, slope = (np.array(log[:4, k : k + 4].tolist(), complex) for k in (0, 4))
    bound = 512 * EPS  # 4 rows, 4³ roundings, and condition numbers of up to 2
    for found, expected in (
        (value(sd.sqrtm, a), root),
        (value(sd.logm, a), log),
        (kernels.logm(a, e_), slope),
    ):
        assert abs(found - expected).max() <= bound * abs(expected).max()


def test_a_stack_is_each_of_its_matrices(rng):
    names = list(matrices())
    a = np.stack([matrices()[names[k]] for k in (0, 1, 2, 3, 4, 7)]).reshape(2, 3, 4, 4)
    e = rng.normal(size=(3, 2, 3, 4, 4))
    for place in np.ndindex(2, 3):
        one = (slice(None), *place)
        for stack, single in (
            (kernels.sqrtm(a)[place], kernels.sqrtm(a[place])),
            (kernels.logm(a)[place], kernels.logm(a[place])),
            (kernels.logm(a, e, e)[one], kernels.logm(a[place], e[one], e[one])),
        ):
            assert abs(stack - single).max() <= 1e-13 * abs(single).max()


def test_roots_of_singular_matrices(rng):
    assert not value(sd.sqrtm, np.zeros((3, 3))).any()
    v = rng.normal(size=(4, 2))
    a = v @ v.T
    root = value(sd.sqrtm, a)
    np.testing.assert_allclose(root @ root, a, atol=1e-15 * np.linalg.norm(a) * 64)
    np.testing.assert_array_equal(value(sd.sqrtm, np.array([[0.0, 1.0], [0.0, 1.0]])), [[0, 1]] * 2)
    with pytest.raises(LinAlgError, match="Singular"):
        value(lambda x: sd.grad(sd.sum(sd.sqrtm(x)), x), np.zeros((2, 2)))


REFUSED = {
    "a negative eigenvalue": [[1.0, 2.0], [2.0, 1.0]],
    "of a matrix that is not symmetric": [[-1.0, 2.0], [0.0, 1.0]],
    "twice": [[-1.0, 0.0], [0.0, -1.0]],
    "a block without a root": [[0.0, 1.0], [0.0, 0.0]],
    "not finite": [[1.0, np.nan], [0.0, 1.0]],
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("f", [sd.sqrtm, sd.logm], ids=["sqrtm", "logm"])
def test_what_has_no_real_value_is_refused(f, name):
    with pytest.raises(LinAlgError, match=f.__name__):
        value(f, np.array(REFUSED[name]))


@pytest.mark.parametrize("f", [sd.sqrtm, sd.logm], ids=["sqrtm", "logm"])
@pytest.mark.parametrize("eigenvalue", [-1.0, 0.0])
def test_equal_eigenvalues_that_rounding_moves_are_refused(f, eigenvalue, rng):
    """Off the negative axis, by the root of rounding."""
    block = np.array([[eigenvalue, 1.0], [0.0, eigenvalue]])
    for _ in range(100):
        q = np.linalg.qr(rng.normal(size=(2, 2))).Q
        with pytest.raises(LinAlgError, match=f.__name__):
            value(f, q @ block @ q.T)


def test_a_large_root_is_not_refused_where_it_is_known():
    a = np.array([[1.0, 1e12], [0.0, 1.0]])
    np.testing.assert_allclose(value(sd.sqrtm, a), [[1, 5e11], [0, 1]], rtol=1e-15)
    np.testing.assert_allclose(value(sd.logm, a), [[0, 1e12], [0, 0]], rtol=1e-14)


@pytest.mark.parametrize("a", [np.zeros((2, 2)), np.ones((2, 2)), [[0.0, 1.0], [0.0, 1.0]]])
def test_a_singular_matrix_has_no_logarithm(a):
    with pytest.raises(LinAlgError, match=r"logm: .* 0 or below"):
        value(sd.logm, np.array(a))


def test_without_scipy(without_scipy, rng):
    """Symmetric matrices need nothing, and so their derivatives; others are refused by name."""
    g = rng.normal(size=(9, 9))
    s = 20 * np.eye(9) + g + g.T
    root, log = value(sd.sqrtm, s), value(sd.logm, s)
    np.testing.assert_allclose(root @ root, s, atol=1e-13)
    np.testing.assert_allclose(value(sd.expm, log), s, rtol=1e-13, atol=1e-12)
    slope = value(lambda x: sd.grad(sd.trace(sd.sqrtm(x)), x), s)
    np.testing.assert_allclose(slope, np.linalg.inv(root) / 2, atol=1e-14)
    slope = value(lambda x: sd.grad(sd.trace(sd.logm(x)), x), s)
    np.testing.assert_allclose(slope, np.linalg.inv(s), atol=1e-14)
    for f in (sd.sqrtm, sd.logm):
        with pytest.raises(sd.Unsupported, match=rf"{f.__name__} of .* SciPy: pip .*\[scipy\]"):
            value(f, s + g / 8)
    x = value(sd.solve_sylvester, s + g, s, g)
    np.testing.assert_allclose((s + g) @ x + x @ s, g, atol=1e-12)


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize(("m", "n"), [(2, 3), (9, 8), (9, 0)])
def test_an_equation_of_sylvester(m, n, symmetric, rng):
    """Few unknowns and many, and the one that a stack of right sides shares."""
    a, b = rng.normal(size=(2, m, m)) + 6 * np.eye(m), rng.normal(size=(2, n, n)) + 6 * np.eye(n)
    if symmetric:
        a, b = a + a.swapaxes(-1, -2), b + b.swapaxes(-1, -2)
    c = rng.normal(size=(3, 2, m, n))
    for dtype, tolerance in ((np.float64, 1e-13), (np.float32, 1e-4)):
        x = kernels.sylvester(_solve_columns, *(y.astype(dtype) for y in (a, b, c)))
        assert x.dtype == dtype
        assert x.shape == c.shape
        np.testing.assert_allclose(a @ x + x @ b, c, atol=tolerance)
    for f in (lambda x: sd.solve_sylvester(x, -x, x), lambda x: sd.solve_sylvester(x, 0 * x, x)):
        with pytest.raises(LinAlgError, match="Singular"):
            value(f, np.diag(np.arange(9.0)) + (not symmetric) * np.eye(9, k=1))


def test_many_unknowns_of_what_is_not_finite_have_none(rng):
    a = rng.normal(size=(2, 9, 9)) + 6 * np.eye(9)
    a[1, 0, 0] = np.nan
    found = value(sd.solve_sylvester, a, a, a)
    assert np.isfinite(found[0]).all()
    assert np.isnan(found[1]).all()


@pytest.mark.parametrize("f", [sd.sqrtm, sd.logm], ids=["sqrtm", "logm"])
def test_precisions(f, rng):
    g = rng.normal(size=(3, 3))
    x, t = sd.symbol("x", (3, 3)), sd.symbol("t", (3, 3))
    for y in (f(x), sd.jvp(f(x), x, t), sd.jacobian(sd.jvp(f(x), x, t), x)):
        at = {x: g + 6 * np.eye(3), t: g}
        wide = nm.interpret(y, at)
        narrow = nm.interpret(y, {k: v.astype(np.float32) for k, v in at.items()})
        assert wide.dtype == np.float64
        assert narrow.dtype == np.float32
        np.testing.assert_allclose(narrow, wide, atol=1e-5 * abs(wide).max())
    assert nm.interpret(f(sd.constant(np.array([[2, 1], [0, 3]]))), {}).dtype == np.float64


def test_they_are_inverse_to_others(rng):
    a = rng.normal(size=(3, 3)) + 4 * np.eye(3)
    for f in (lambda x: sd.sqrtm(x) @ sd.sqrtm(x), lambda x: sd.expm(sd.logm(x))):
        np.testing.assert_allclose(value(f, a), a, atol=1e-13)
        jacobian = value(lambda x, f=f: sd.jacobian(f(x), x), a)
        np.testing.assert_allclose(jacobian.reshape(9, 9), np.eye(9), atol=1e-12)
        hessian = value(lambda x, f=f: sd.hessian(sd.sum(f(x) * a), x), a)
        np.testing.assert_allclose(hessian, np.zeros(hessian.shape), atol=1e-12)


def test_what_has_no_value_by_its_form():
    A = sd.symbol("A", (6, 6))
    assert sd.logm(sd.matrix_transpose(A)) is sd.matrix_transpose(sd.logm(A))
    for f in (sd.sqrtm, sd.logm):
        with pytest.raises(sd.ShapeError, match=f"{f.__name__}: .* square"):
            f(sd.symbol("B", (2, 3)))
        with pytest.raises(sd.Unsupported, match="component-wise"):
            f(sd.constant(np.eye(2))).evalf(20)
