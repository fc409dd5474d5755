"""Solutions of equations: a root, with its derivative, and a differential equation.

The code by hand uses SciPy, with Jacobians by hand, and a gradient from one more linear solve.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.declarations import Task, Workload

ODES = ("diffrax", "torchdiffeq")


def root(np: Any, A: Any, B: Any, b: Any) -> Any:
    """Return the squared length of the solution of a slightly nonlinear system."""
    x = np.root(lambda x: A @ x + np.tanh(B @ x) - b, 0 * b)
    return np.sum(x**2)


def root_by_hand(A: np.ndarray, B: np.ndarray, b: np.ndarray) -> tuple[Any, list[np.ndarray]]:
    """Use SciPy's root with the exact Jacobian, and the adjoint equation."""
    from scipy import optimize

    def slope(x: np.ndarray) -> np.ndarray:
        th = np.tanh(B @ x)
        return A + (1 - th * th)[:, None] * B

    def residual(x: np.ndarray) -> np.ndarray:
        return A @ x + np.tanh(B @ x) - b

    x = optimize.root(residual, np.zeros_like(b), jac=slope, options={"xtol": 1e-13}).x
    w = np.linalg.solve(slope(x).T, 2 * x)
    th = np.tanh(B @ x)
    return x @ x, [-np.outer(w, x), -np.outer((1 - th * th) * w, x), w]


def root_of_casadi(np: Any, A: Any, B: Any, b: Any) -> Any:
    """Write one function of the unknown and its parameters."""
    f = lambda x, A, B, b: A @ x + np.tanh(B @ x) - b  # noqa: E731
    return np.sum(np.rootfinder(f, 0 * b, A, B, b) ** 2)


def lotka_volterra(np: Any, p: Any, y: Any, t: Any) -> Any:
    """Predators and prey at given times."""

    def rate(y: Any, t: Any) -> Any:
        return np.stack([p[0] * y[0] - p[1] * y[0] * y[1], p[2] * y[0] * y[1] - p[3] * y[1]])

    return np.odeint(rate, y, t, rtol=1e-10, atol=1e-10)


def lotka_volterra_by_hand(p: np.ndarray, y: np.ndarray, t: np.ndarray) -> list[np.ndarray]:
    """Use SciPy's solve_ivp."""
    from scipy.integrate import solve_ivp

    def rate(t: float, y: np.ndarray) -> np.ndarray:
        return np.array([p[0] * y[0] - p[1] * y[0] * y[1], p[2] * y[0] * y[1] - p[3] * y[1]])

    run = solve_ivp(rate, (t[0], t[-1]), y, t_eval=t, rtol=1e-10, atol=1e-10)
    return [run.y.T]


def last_length(np: Any, p: Any, y: Any, t: Any) -> Any:
    """Return the squared length of the last state."""
    return np.sum(lotka_volterra(np, p, y, t)[-1] ** 2)


def last_length_by_hand(p: np.ndarray, y: np.ndarray, t: np.ndarray) -> tuple[Any, list[Any]]:
    """Use SciPy's solve_ivp for the state and its derivatives by p and y."""
    from scipy.integrate import solve_ivp

    a, b, c, d = p.tolist()

    def rate(t: float, z: np.ndarray) -> np.ndarray:
        (u, v), slopes = z[:2], z[2:].reshape(2, 6)
        slopes_rate = np.array([[a - b * v, -b * u], [c * v, c * u - d]]) @ slopes
        slopes_rate[0, :2] += u, -u * v
        slopes_rate[1, 2:4] += u * v, -v
        return np.concatenate([[a * u - b * u * v, c * u * v - d * v], slopes_rate.ravel()])

    start = np.concatenate([y, np.eye(2, 6, k=4).ravel()])
    run = solve_ivp(rate, (t[0], t[-1]), start, t_eval=t[-1:], rtol=1e-10, atol=1e-10)
    last, slopes = run.y[:2, -1], run.y[2:, -1].reshape(2, 6)
    gradient = 2 * last @ slopes
    return last @ last, [gradient[:4], gradient[4:]]


def _times(rng: np.random.Generator, n: int) -> dict[str, Any]:
    return {
        "p": np.array([1.5, 1.0, 1.0, 3.0]),
        "y": np.array([1.0, 1.0]),
        "t": np.linspace(0, 10, n),
    }


def _system(rng: np.random.Generator, n: int) -> dict[str, Any]:
    return {
        "A": rng.normal(size=(n, n)) + 3 * n * np.eye(n),
        "B": rng.normal(size=(n, n)),
        "b": n * rng.normal(size=n),
    }


WORKLOADS = [
    Workload(
        number=14,
        name="root",
        task=Task.GRADIENT,
        formula=root,
        hand=root_by_hand,
        data=_system,
        sizes={"n=5": {"n": 5}, "n=100": {"n": 100}},
        tiny={"n": 3},
        peers=("casadi",),
        formulas={"casadi": root_of_casadi},
    ),
    Workload(
        number=14,
        name="Lotka-Volterra by odeint",
        task=Task.VALUE,
        formula=lotka_volterra,
        hand=lotka_volterra_by_hand,
        data=_times,
        sizes={"n=20": {"n": 20}},
        tiny={"n": 3},
        peers=ODES,
    ),
    Workload(
        number=14,
        name="odeint's last state",
        task=Task.GRADIENT,
        formula=last_length,
        hand=last_length_by_hand,
        data=_times,
        wrt=("p", "y"),
        sizes={"n=20": {"n": 20}},
        tiny={"n": 3},
        peers=ODES,
    ),
]
