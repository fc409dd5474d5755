"""What users of NumPy, SciPy and JAX try."""

import math
import pickle
from functools import partial

import mpmath
import numpy as np
from scipy import integrate, optimize

import numeric as nm
import symdiff as sd
from tests.newcomers import task

numpy_user = partial(task, "NumPy, SciPy and JAX")

X = np.array([[1.0, 2.0, 0.5], [0.3, -1.0, 2.0]])
W = np.array([0.2, -0.4, 1.0])
SPD = np.array([[2.0, 0.3], [0.3, 1.0]])


def differences(f, at):
    """The gradient of a function of floats by differences of many digits."""

    def along(i):
        return mpmath.diff(lambda h: f(*[a + h * (i == j) for j, a in enumerate(at)]), 0)

    with mpmath.workdps(30):
        at = [mpmath.mpf(a) for a in at]
        return [float(along(i)) for i in range(len(at))]


def rosenbrock(x, y):
    return (1 - x) ** 2 + 100 * (y - x**2) ** 2


def tanh_slopes():
    return X.T @ (1 - np.tanh(X @ W) ** 2)


@numpy_user("the gradient of a NumPy function, by all that it takes", tanh_slopes)
def from_function():
    def loss(X, w):
        return np.sum(np.tanh(X @ w))

    A, w = sd.symbol("X", (2, 3)), sd.symbol("w", 3)
    F = nm.lower(sd.from_function(loss, A, w), [A, w])
    return F.value_and_grad(X, W)[1][1]


@numpy_user("the gradient alone", lambda: differences(rosenbrock, [0.3, 0.7]))
def gradient():
    x, y = sd.symbols("x y")
    return nm.lower(rosenbrock(x, y), [x, y]).grad(0.3, 0.7)


@numpy_user(
    "the Hessian at a point", lambda: [[2 + 1200 * 0.09 - 400 * 0.7, -400 * 0.3], [-400 * 0.3, 200]]
)
def hessian():
    x, y = sd.symbols("x y")
    return nm.lower(rosenbrock(x, y), [x, y]).hessian(0.3, 0.7)


@numpy_user("a product of the Hessian with a vector", lambda: [6.0, 0.0])
def hessian_vector():
    w = sd.symbol("w", 2)
    F = nm.lower(sd.sum(w**3), w)
    return F.hvp(np.array([1.0, 2.0]), np.array([1.0, 0.0]))


@numpy_user("the Jacobian of a vector", lambda: [[0.7, 0.3], [math.cos(0.3), 0.0]])
def jacobian():
    q = sd.symbol("q", 2)
    return nm.lower(sd.stack([q[0] * q[1], sd.sin(q[0])]), q).jacobian([0.3, 0.7])


@numpy_user("derivatives at many points at once", lambda: np.cos(np.linspace(0, 3, 7)))
def many_points():
    x = sd.symbol("x")
    return nm.lower(sd.sin(x), [x]).value_and_grad(np.linspace(0, 3, 7))[1][0]


@numpy_user("scipy.optimize.minimize with exact derivatives", lambda: [1.0, 1.0], rtol=1e-6)
def minimize():
    x, y = sd.symbols("x y")
    problem = nm.export.scipy(rosenbrock(x, y), [x, y])
    return optimize.minimize(
        problem.fun, [-1, 2], jac=problem.jac, hess=problem.hess, method="trust-exact", tol=1e-10
    ).x


@numpy_user("least squares of a curve, the data bound by name", lambda: [3.0, 1.5], rtol=1e-6)
def least_squares():
    t, seen, w = sd.symbol("t", "n"), sd.symbol("seen", "n"), sd.symbol("w", 2)
    times = np.linspace(0, 2, 9)
    fit = nm.export.scipy(
        [w[0] * sd.exp(-w[1] * t) - seen], w, t=times, seen=3 * np.exp(-1.5 * times)
    )
    return optimize.least_squares(fit.fun, [1, 1], jac=fit.jac).x


@numpy_user("a stiff differential equation with its Jacobian", lambda: [math.exp(-1)], rtol=1e-5)
def stiff():
    y = sd.symbol("y", 1)
    ode = nm.export.solve_ivp(-y, y)
    return integrate.solve_ivp(
        ode.fun, (0, 1), [1.0], jac=ode.jac, method="BDF", rtol=1e-8, atol=1e-10
    ).y[:, -1]


@numpy_user("whether a gradient written by hand is right", lambda: [False, True])
def audit():
    def loss(x):
        return np.sum(np.sin(x) ** 2)

    def wrong(x):
        return np.sin(x) * np.cos(x)

    def right(x):
        return 2 * np.sin(x) * np.cos(x)

    return [nm.check.audit(loss, gradient=g, inputs={"x": 3}).ok for g in (wrong, right)]


@numpy_user("data bound once, the gradient for many weights", tanh_slopes)
def bind():
    A, w = sd.symbol("X", ("m", "n")), sd.symbol("w", "n")
    F = nm.lower(sd.sum(sd.tanh(A @ w)), [A, w]).bind(X=X)
    return F.grad(W)


@numpy_user("a mean over an axis of any length, by its length", lambda: np.full(3, 1 / 3))
def length():
    v = sd.symbol("v", "n")
    f = sd.from_function(lambda v: np.sum(v) / v.shape[0], v)
    return nm.lower(f, [v]).grad(np.ones(3))


@length.then
def length_by_size():
    v = sd.symbol("v", "n")
    f = sd.from_function(lambda v: np.sum(v) / v.size, v)
    return nm.lower(f, [v]).grad(np.ones(3))


@numpy_user("data put into a formula by subs", tanh_slopes)
def data_by_subs():
    A, w = sd.symbol("X", ("m", "n")), sd.symbol("w", "n")
    f = sd.sum(sd.tanh(A @ w)).subs({A: X})
    return nm.lower(f, w).grad(W)


@data_by_subs.then
def data_in_all_that_has_its_lengths():
    A, w = sd.symbol("X", ("m", "n")), sd.symbol("w", "n")
    f, w = sd.substitute([sd.sum(sd.tanh(A @ w)), w], {A: X})
    return nm.lower(f, w).grad(W)


@numpy_user(
    "the evidence of a Gaussian process: log det and solve",
    lambda: differences(
        lambda s: (
            mpmath.log((2 + s) * (1 + s) - mpmath.mpf("0.09"))
            + ((1 + s) - mpmath.mpf("0.6") + (2 + s)) / ((2 + s) * (1 + s) - mpmath.mpf("0.09"))
        ),
        [0.5],
    ),
)
def evidence():
    def evidence(K, y, s):
        K = K + s * np.eye(2)
        return np.linalg.slogdet(K)[1] + y @ np.linalg.solve(K, y)

    K, y, s = sd.symbol("K", (2, 2)), sd.symbol("y", 2), sd.symbol("s")
    F = nm.lower(sd.from_function(evidence, K, y, s), [K, y, s])
    return [F.grad(SPD, np.ones(2), 0.5)[2]]


@numpy_user("the Jacobians at many points", lambda: [np.diag(np.cos(row)) for row in X])
def many_jacobians():
    q, points = sd.symbol("q", 3), sd.symbol("points", ("n", 3))
    J = sd.jacobian(sd.sin(q), q)
    return nm.lower(sd.batch(J, {q: points}), points)(X)


@numpy_user("a Function kept in a file", lambda: math.cos(0.3))
def pickled():
    x = sd.symbol("x")
    return pickle.loads(pickle.dumps(nm.lower(sd.sin(x), x))).grad(0.3)


@numpy_user(
    "error propagation: J Σ J'",
    lambda: [[0.49 * 0.01 + 0.09 * 0.04]],
)
def propagation():
    q, S = sd.symbol("q", 2), sd.symbol("S", (2, 2))
    J = sd.jacobian(sd.stack([q[0] * q[1]]), q)
    return nm.lower(J @ S @ J.T, [q, S])(np.array([0.3, 0.7]), np.diag([0.01, 0.04]))
