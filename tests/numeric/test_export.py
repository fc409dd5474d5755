"""Formulas for SciPy: real fits, roots and stiff equations, beside SciPy's own differences."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

import numeric as nm
import symdiff as sd

optimize = pytest.importorskip("scipy.optimize")
integrate = pytest.importorskip("scipy.integrate")

x, a, b, s = sd.symbol("x", 5), sd.symbol("a"), sd.symbol("b"), sd.symbol("s")
W, v = sd.symbol("W", (2, 3)), sd.symbol("v", 3)
t, seen, w = sd.symbol("t", "n"), sd.symbol("seen", "n"), sd.symbol("w", 3)


def close(found, expected, rtol=1e-12, atol=0.0):
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol)


# minimize -----------------------------------------------------------------------------------------

VALLEY = a * sd.sum((x[1:] - x[:-1] ** 2) ** 2) + sd.sum((1 - x[:-1]) ** 2)
START = np.array([1.3, 0.7, 0.8, 1.9, 1.2])
LEAST = np.ones(5)


@pytest.mark.parametrize(
    ("method", "takes"),
    [
        ("Newton-CG", "hessp"),
        ("Newton-CG", "hess"),
        ("trust-exact", "hess"),
        ("trust-krylov", "hessp"),
        ("trust-ncg", "hess"),
        ("trust-constr", "hess"),
        ("dogleg", "hess"),
        ("BFGS", None),
        ("CG", None),
        ("L-BFGS-B", None),
        ("SLSQP", None),
    ],
)
def test_rosenbrocks_valley(method, takes):
    problem = nm.export.scipy(VALLEY, x, a=100)
    more = {} if takes is None else {takes: getattr(problem, takes)}
    start = LEAST * 1.1 if method == "dogleg" else START  # it needs a convex neighbourhood
    found = optimize.minimize(problem.fun, start, jac=problem.jac, method=method, tol=1e-10, **more)
    # Near the minimum |x - 1| <= |gradient| / (the least eigenvalue), but for second order; and
    # |gradient|^2 <= 2 (the largest) (what can still be gained), which tol is to some methods.
    low, *_, high = np.linalg.eigvalsh(problem.hess(LEAST))
    slope = np.linalg.norm(problem.jac(found.x))
    assert np.linalg.norm(found.x - LEAST) <= 2 * slope / low
    assert slope**2 <= 2 * high * 1e-10


def test_all_four_are_scipys_own_of_the_valley():
    problem = nm.export.scipy(sd.substitute(VALLEY, {a: 100}), x)
    p = np.cos(np.arange(5.0))
    close(problem.fun(START), optimize.rosen(START))
    close(problem.jac(START), optimize.rosen_der(START))
    close(problem.hess(START), optimize.rosen_hess(START))
    close(problem.hessp(START, p), optimize.rosen_hess_prod(START, p))


def test_exact_hessians_need_no_more_iterations_than_gradients_alone():
    problem = nm.export.scipy(VALLEY, x, a=100)
    exact = optimize.minimize(
        problem.fun, START, jac=problem.jac, hess=problem.hess, method="trust-exact"
    )
    alone = optimize.minimize(problem.fun, START, method="BFGS")
    assert exact.success
    assert exact.nfev < alone.nfev


def test_the_hessian_is_made_when_it_is_asked_for():
    problem = nm.export.scipy(VALLEY, x, a=100)
    optimize.minimize(problem.fun, START, jac=problem.jac, method="BFGS")
    written = problem.function.source
    assert "def hessian" not in written
    assert "def hvp" not in written
    problem.hess(START)
    assert "def hessian" in problem.function.source


# Fits ---------------------------------------------------------------------------------------------

TIMES = np.linspace(0, 4, 25)
TRUE = np.array([3.0, 1.3, 0.4])
NOISE = 0.01 * np.sin(17 * TIMES + np.arange(25) ** 2)
MODEL = w[0] * sd.exp(-w[1] * t) + w[2]


def decay(times, height, rate, base):
    return height * np.exp(-rate * times) + base


@pytest.mark.parametrize("method", ["lm", "trf", "dogbox"])
@pytest.mark.parametrize("noise", [0, 1])
def test_an_exponential_decay(method, noise):
    values = decay(TIMES, *TRUE) + noise * NOISE
    fit = nm.export.scipy(MODEL - seen, w, t=TIMES, seen=values)
    tight = {"xtol": 1e-15, "ftol": 1e-15, "gtol": 1e-15}
    found = optimize.least_squares(fit.fun, np.ones(3), jac=fit.jac, method=method, **tight)
    differences = "2-point" if method == "lm" else "3-point"  # SciPy has no others for lm
    own = optimize.least_squares(fit.fun, np.ones(3), jac=differences, method=method, **tight)
    close(found.x, own.x, rtol=1e-7)
    if not noise:
        close(found.x, TRUE, rtol=1e-9)
    if method != "lm":  # SciPy counts the evaluations of differences for it alone
        assert found.njev > 0
    scaled = optimize.least_squares(fit.fun, np.ones(3), jac=fit.jac, x_scale="jac", loss="soft_l1")
    assert scaled.success


def test_standard_errors_from_the_exact_hessian():
    """``curve_fit`` has (J'J)^-1; of a perfect fit that is 2 H^-1, with H of the sum of squares."""
    values = decay(TIMES, *TRUE)
    cost = nm.export.scipy(sd.sum((MODEL - seen) ** 2), w, t=TIMES, seen=values)
    found = optimize.minimize(
        cost.fun, np.ones(3), jac=cost.jac, hess=cost.hess, method="trust-exact", tol=1e-12
    )
    close(found.x, TRUE, rtol=1e-9)
    ours = np.sqrt(np.diag(2 * np.linalg.inv(cost.hess(found.x))))
    _, covariance = optimize.curve_fit(
        decay, TIMES, values, np.ones(3), np.ones(25), absolute_sigma=True, xtol=1e-15, ftol=1e-15
    )
    # curve_fit's Jacobian is one of forward differences, right to sqrt(eps).
    close(ours, np.sqrt(np.diag(covariance)), rtol=1e-5)
    # With residuals left, the exact Hessian has their curvature too: J'J has not.
    noisy = nm.export.scipy(sd.sum((MODEL - seen) ** 2), w, t=TIMES, seen=values + NOISE)
    parts = nm.export.scipy(MODEL - seen, w, t=TIMES, seen=values + NOISE)
    step = 1e-5
    sides = [noisy.jac(TRUE + step * d) - noisy.jac(TRUE - step * d) for d in np.eye(3)]
    close(noisy.hess(TRUE), np.stack(sides) / (2 * step), rtol=1e-6, atol=1e-6)
    gauss = 2 * parts.jac(TRUE).T @ parts.jac(TRUE)
    assert np.abs(noisy.hess(TRUE) - gauss).max() > 1e-2


# Roots --------------------------------------------------------------------------------------------

SYSTEM = [a * a + b * b - 4, sd.exp(a) + b - s]


@pytest.mark.parametrize("method", ["hybr", "lm"])
def test_the_root_of_a_system(method):
    system = nm.export.scipy(SYSTEM, [a, b], s=1)
    start = system.pack(1.0, b=-1.7)
    found = optimize.root(system.fun, start, jac=system.jac, method=method, tol=1e-14)
    own = optimize.root(system.fun, start, method=method, tol=1e-14)
    assert found.success
    close(found.x, own.x)
    first, second = system.unpack(found.x)
    assert abs(first**2 + second**2 - 4) < 1e-12
    assert abs(np.exp(first) + second - 1) < 1e-12


def test_a_root_in_a_matrix():
    """The square root of a matrix: X X = M, a system of nine equations."""
    X, M = sd.symbol("X", ("n", "n")), sd.symbol("M", ("n", "n"))
    given = np.array([[4.0, 1.0, 0.0], [1.0, 5.0, 0.5], [0.0, 0.5, 6.0]])
    system = nm.export.scipy(X @ X - M, X, M=given)
    found = optimize.root(system.fun, system.pack(2 * np.eye(3)), jac=system.jac, tol=1e-14)
    root = system.unpack(found.x)
    assert root.shape == (3, 3)
    close(root @ root, given, atol=1e-13)
    assert system.jac(found.x).shape == (9, 9)


# Differential equations ---------------------------------------------------------------------------

y = sd.symbol("y", 2)
RELAXING = sd.stack([y[1], s * (1 - y[0] ** 2) * y[1] - y[0]])
c = sd.symbol("c")
REACTIONS = [
    -a / 25 + 10_000 * b * c,
    a / 25 - 10_000 * b * c - 30_000_000 * b**2,
    30_000_000 * b**2,
]


def solved(stiff, end, start, **options):
    """SciPy's solutions with our Jacobian and with its own, and how often each calls ``fun``.

    SciPy itself does not count the calls of its differences.
    """
    found = []
    for more in ({"jac": stiff.jac}, {}):
        calls = []

        def fun(time, point, calls=calls):
            calls.append(time)
            return stiff.fun(time, point)

        solution = integrate.solve_ivp(fun, (0, end), start, **more, **options)
        assert solution.success
        found.append((solution, len(calls)))
    return found


@pytest.mark.parametrize("method", ["Radau", "BDF", "LSODA"])
def test_van_der_pols_oscillator(method):
    stiff = nm.export.solve_ivp(RELAXING, y, s=1000)
    options = {"method": method, "rtol": 1e-6, "atol": 1e-8}
    (exact, calls), (own, more) = solved(stiff, 1500, [2.0, 0.0], **options)
    assert calls < more
    close(exact.y[0, -1], own.y[0, -1], rtol=1e-3)


@pytest.mark.parametrize("method", ["Radau", "BDF", "LSODA"])
def test_robertsons_reactions(method):
    stiff = nm.export.solve_ivp(REACTIONS, [a, b, c])
    options = {"method": method, "rtol": 1e-8, "atol": [1e-12, 1e-14, 1e-12]}
    (exact, calls), (_, more) = solved(stiff, 40, stiff.pack(1, 0, 0), **options)
    assert calls < more
    # Hairer and Wanner's, Solving Ordinary Differential Equations II, of t = 40.
    parts = stiff.unpack(exact.y)
    assert parts[0].shape == exact.t.shape
    close([part[-1] for part in parts], [0.7158271, 9.185535e-6, 0.2841637], rtol=1e-6)


def test_time_and_data_take_part():
    forced = nm.export.solve_ivp(-a * x + sd.cos(s), x, t=s, a=2.0)
    point = np.arange(5.0)
    close(forced.fun(0.3, point), -2 * point + np.cos(0.3))
    close(forced.jac(0.3, point), -2 * np.eye(5))
    time = sd.symbol("W_v")
    pair = nm.export.solve_ivp([W * time, W @ v * 0 @ W], [W, v], t=time)
    assert pair.fun(2.0, np.arange(9.0)).tolist() == [0, 2, 4, 6, 8, 10, 0, 0, 0]
    assert pair.jac(2.0, np.ones(9)).shape == (9, 9)


# Unknowns -----------------------------------------------------------------------------------------


def test_unknowns_of_any_shape_are_one_vector():
    expr = sd.sum(sd.sin(W) * v) + s**2 * sd.sum(v)
    problem = nm.export.scipy(expr, (W, v, s))
    whole = nm.lower(expr, [W, v, s])
    values = np.linspace(-1, 1, 6).reshape(2, 3), np.array([0.3, -2.0, 1.0]), 0.7
    flat = problem.pack(*values)
    assert flat.shape == (10,)
    for part, value in zip(problem.unpack(flat), values, strict=True):
        assert part.shape == np.shape(value)
        np.testing.assert_array_equal(part, value)
    close(problem.fun(flat), whole(*values))
    close(problem.jac(flat), np.concatenate([np.ravel(g) for g in whole.grad(*values)]))
    blocks = whole.hessian(*values)
    sizes = [6, 3, 1]
    rows = [
        np.hstack([np.reshape(block, (n, m)) for block, m in zip(row, sizes, strict=True)])
        for row, n in zip(blocks, sizes, strict=True)
    ]
    close(problem.hess(flat), np.vstack(rows))
    close(problem.hessp(flat, np.ones(10)), np.vstack(rows).sum(axis=1), atol=1e-15)
    np.testing.assert_array_equal(problem.pack(s=0.7, v=values[1], W=values[0]), flat)


def test_values_of_any_shape_are_one_vector():
    expr = sd.sin(W) * v
    problem, whole = nm.export.scipy([expr, s], [W, v, s]), nm.lower(expr, [W, v])
    values = np.linspace(-1, 1, 6).reshape(2, 3), np.array([0.3, -2.0, 1.0])
    flat = problem.pack(*values, 0.7)
    close(problem.fun(flat), [*whole(*values).ravel(), 0.7])
    assert problem.jac(flat).shape == (7, 10)
    first, second = whole.jacobian(*values)
    close(problem.jac(flat)[:6, :6], first.reshape(6, 6))
    close(problem.jac(flat)[:6, 6:9], second.reshape(6, 3))


@pytest.mark.parametrize("unknown", [s, [s], x, W])
def test_one_unknown(unknown):
    symbol = unknown[0] if isinstance(unknown, list) else unknown
    problem = nm.export.scipy(sd.sum(sd.cosh(symbol - 1)), unknown)
    found = optimize.minimize(
        problem.fun, problem.pack(np.zeros(symbol.shape)), jac=problem.jac, method="BFGS"
    )
    parts = problem.unpack(found.x)
    part = parts[0] if isinstance(unknown, list) else parts
    assert part.shape == symbol.shape
    close(part, np.ones(symbol.shape), rtol=1e-4)


def test_a_vector_of_unknown_length_has_the_length_of_the_argument():
    free = sd.symbol("free", "k")
    problem = nm.export.scipy(sd.sum((free - 1) ** 4), free)
    assert problem.hess(np.zeros(2)).tolist() == [[12.0, 0.0], [0.0, 12.0]]
    assert problem.unpack(problem.pack(np.zeros(7))).shape == (7,)


def test_lengths_come_from_the_data():
    X = sd.symbol("X", ("m", "n"))
    u, o = sd.symbol("u", "n"), sd.symbol("o", "m")
    problem = nm.export.scipy(sd.sum((X @ u + o) ** 2), [u, o], X=np.ones((4, 2)))
    assert problem.jac(np.zeros(6)).shape == (6,)
    assert [part.shape for part in problem.unpack(np.zeros(6))] == [(2,), (4,)]


def test_data_are_copied():
    values = np.ones(5)
    problem = nm.export.scipy(sd.sum((x - b) ** 2 * a), x, a=1, b=np.float64(0.0))
    shifted = nm.export.scipy(sd.sum((x - sd.symbol("o", 5)) ** 2), x, o=values)
    values[:] = 7
    assert shifted.fun(np.ones(5)) == 0
    assert problem.fun(np.ones(5)) == 5


def test_names_of_the_arguments_are_free_for_data():
    expr = sd.symbol("expr")
    found = nm.export.scipy(expr * sd.sum(v) + sd.symbol("x"), v, expr=2, x=3)
    assert found.fun(np.ones(3)) == 9


def test_problems_are_pickled():
    problem = pickle.loads(pickle.dumps(nm.export.scipy(VALLEY, x, a=100)))
    close(problem.jac(START), optimize.rosen_der(START))
    stiff = pickle.loads(pickle.dumps(nm.export.solve_ivp(RELAXING, y, s=5)))
    assert stiff.jac(0.0, np.ones(2)).shape == (2, 2)
    assert repr(problem) == "<Problem: a scalar of x>"
    assert repr(stiff) == "<Equations: the derivative of y by time>"


def test_kinks_that_are_to_raise():
    with sd.kinks("raise"):
        problem = nm.export.scipy(sd.sum(abs(x)) * a, x, a=2)
    with pytest.raises(sd.NotDifferentiable, match="abs"):
        problem.jac(np.zeros(5))


# Errors -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: nm.export.scipy(VALLEY, x), ValueError, "no value for a; pass them by name: a="),
        (lambda: nm.export.scipy(VALLEY, x, a=1, z=2), TypeError, "has no data 'z'; it has a"),
        (lambda: nm.export.scipy(VALLEY, x, a=1, x=2), TypeError, "x is an unknown"),
        (
            lambda: nm.export.scipy(VALLEY, x, a=np.ones(2)),
            sd.ShapeError,
            r"a: expected shape \(\)",
        ),
        (lambda: nm.export.scipy(VALLEY, x, a="1"), TypeError, "input a: expected dtype float"),
        (lambda: nm.export.scipy(VALLEY, "x", a=1), TypeError, "'x' is not a symbol"),
        (lambda: nm.export.scipy(VALLEY, x + 1, a=1), TypeError, "is not a symbol"),
        (lambda: nm.export.scipy(VALLEY, [], a=1), ValueError, "there is no unknown"),
        (lambda: nm.export.scipy([], x), ValueError, "there is no formula"),
        (lambda: nm.export.scipy(VALLEY, [x, x], a=1), ValueError, "given twice: x, x"),
        (
            lambda: nm.export.scipy(sd.symbol("k", dtype=int) * a, sd.symbol("k", dtype=int), a=1),
            sd.NotDifferentiable,
            "k is not real",
        ),
        (
            lambda: nm.export.scipy(sd.sum(sd.symbol("B", ("p", 2))), sd.symbol("B", ("p", 2))),
            ValueError,
            r"B has the shape \(p, 2\): the length of p is not known; declare it as a number",
        ),
        (
            lambda: nm.export.scipy(MODEL - seen, w, t=np.ones(3), seen=np.ones(4)),
            sd.ShapeError,
            "n",
        ),
        (lambda: nm.export.scipy(x * 2, x).hess, sd.ShapeError, r"minimise sd.sum\(f\*\*2\)"),
        (
            lambda: nm.export.scipy(x * 2, x).hessp,
            sd.ShapeError,
            "hessp: the formula has the shape",
        ),
        (lambda: nm.export.scipy(a * b, [a, b]).pack(1), TypeError, "no value for b"),
        (lambda: nm.export.scipy(a * b, [a, b]).pack(1, 2, 3), TypeError, "2 unknowns"),
        (lambda: nm.export.scipy(a * b, [a, b]).pack(1, a=2), TypeError, "a is given twice"),
        (lambda: nm.export.scipy(a * b, [a, b]).pack(1, z=2), TypeError, "z is not an unknown"),
        (lambda: nm.export.scipy(a * b, [a, b]).pack(1, [2]), sd.ShapeError, "pack: b: expected"),
        (lambda: nm.export.scipy(a * b, [a, b]).unpack([1]), sd.ShapeError, "expected 2 numbers"),
        (lambda: nm.export.scipy(a * b, [a, b]).fun([1, 2, 3]), sd.ShapeError, "input a_b"),
        (
            lambda: nm.export.solve_ivp(-x, y),
            sd.ShapeError,
            "derivative of y by time has the shape",
        ),
        (lambda: nm.export.solve_ivp([a, b], [a]), sd.ShapeError, "2 right-hand sides for 1"),
        (lambda: nm.export.solve_ivp(-a * s, a), ValueError, "no value for s"),
        (lambda: nm.export.solve_ivp(-a * s, a, t=s, s=1), TypeError, "s is an unknown"),
        (lambda: nm.export.solve_ivp(-a, a, t=a), ValueError, "given twice"),
        (lambda: nm.export.solve_ivp(-a, "a"), TypeError, "'a' is not a symbol"),
        (lambda: nm.export.solve_ivp(-a, a, t=1.0), TypeError, "1.0 is not a symbol"),
        (lambda: nm.export.minimize, AttributeError, "export.scipy"),
    ],
)
def test_errors_say_what_to_do(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.slow
def test_scipy_is_not_needed_to_make_them():
    code = (
        "import sys; sys.modules['scipy'] = None; import numeric as nm, symdiff as sd; "
        "x = sd.symbol('x', 2); p = nm.export.scipy(sd.sum(x**4), x); "
        "print(p.hess([1, 2]).sum(), nm.export.solve_ivp(-x, x).jac(0, [1, 1]).sum())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "60.0 -2.0\n"
