"""Loops: recurrent networks, an integrator, a scalar recurrence.

Formulas call ``np.scan(f, init, xs)`` with the meaning of ``jax.lax.scan``; libraries without such
a function loop in Python.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.declarations import Task, Workload

PEERS = ("jax", "torch", "autograd")


def rnn(np: Any, W: Any, U: Any, b: Any, h: Any, x: Any) -> Any:
    """Elman's network: the squared length of its last state."""
    last, _ = np.scan(lambda h, x: (np.tanh(W @ h + U @ x + b), None), h, x)
    return np.sum(last**2)


def rnn_by_hand(
    W: np.ndarray, U: np.ndarray, b: np.ndarray, h: np.ndarray, x: np.ndarray
) -> tuple[Any, list[np.ndarray]]:
    """Project all inputs at once, and sum derivatives by parameters with matrix products."""
    n = len(x)
    states = np.empty((n + 1, *h.shape))
    states[0] = h
    projected = x @ U.T
    projected += b
    for t in range(n):
        row = W @ states[t]
        row += projected[t]
        np.tanh(row, out=states[t + 1])
    slopes = states[1:] ** 2
    np.subtract(1, slopes, out=slopes)
    g = 2 * states[-1]
    gates = np.empty((n, *h.shape))
    for t in reversed(range(n)):
        np.multiply(g, slopes[t], out=gates[t])
        g = gates[t] @ W
    value = states[-1] @ states[-1]
    return value, [gates.T @ states[:-1], gates.T @ x, gates.sum(axis=0), g, gates @ U]


def lstm(np: Any, W: Any, U: Any, b: Any, h: Any, c: Any, x: Any) -> Any:
    """Input, forget, cell and output gates in this order, one after the other in each matrix."""
    k = W.shape[1]

    def step(carry: Any, x: Any) -> Any:
        h, c = carry
        z = W @ h + U @ x + b
        inwards, kept, new, outwards = (z[i * k : (i + 1) * k] for i in range(4))
        c = np.sigmoid(kept) * c + np.sigmoid(inwards) * np.tanh(new)
        return (np.sigmoid(outwards) * np.tanh(c), c), None

    (last, _), _ = np.scan(step, (h, c), x)
    return np.sum(last**2)


def _sigmoid(x: np.ndarray) -> np.ndarray:
    """Compute the sigmoid from tanh, in place."""
    result = x * 0.5
    np.tanh(result, out=result)
    result += 1
    result *= 0.5
    return result


def lstm_by_hand(
    W: np.ndarray, U: np.ndarray, b: np.ndarray, h: np.ndarray, c: np.ndarray, x: np.ndarray
) -> tuple[Any, list[np.ndarray]]:
    """Compute all gates of a step by one product and one sigmoid, and their slopes at once."""
    n, k = len(x), len(h)
    states, cells = np.empty((n + 1, k)), np.empty((n + 1, k))
    states[0], cells[0] = h, c
    gates, ends = x @ U.T, np.empty((n, k))
    gates += b
    for t in range(n):
        z = gates[t]
        z += W @ states[t]
        new = np.tanh(z[2 * k : 3 * k])
        z[:] = _sigmoid(z)
        z[2 * k : 3 * k] = new
        np.multiply(z[k : 2 * k], cells[t], out=cells[t + 1])
        cells[t + 1] += z[:k] * new
        np.tanh(cells[t + 1], out=ends[t])
        np.multiply(z[3 * k :], ends[t], out=states[t + 1])
    i, f, new, o = (gates[:, j * k : (j + 1) * k] for j in range(4))
    by_cell = np.empty((n, 4 * k))
    by_cell[:, :k] = new * i * (1 - i)
    by_cell[:, k : 2 * k] = cells[:-1] * f * (1 - f)
    by_cell[:, 2 * k : 3 * k] = i * (1 - new**2)
    through, outer = o * (1 - ends**2), ends * o * (1 - o)
    g, d = 2 * states[-1], np.zeros(k)
    for t in reversed(range(n)):
        row = by_cell[t]
        row[3 * k :] = g * outer[t]
        d += g * through[t]
        row[: 3 * k].reshape(3, k)[:] *= d
        d *= f[t]
        g = row @ W
    value = states[-1] @ states[-1]
    gradients = [by_cell.T @ states[:-1], by_cell.T @ x, by_cell.sum(axis=0), g, d, by_cell @ U]
    return value, gradients


# Lotka-Volterra ----------------------------------------------------------------------------------


def _rate(np: Any, p: Any, y: Any) -> Any:
    return np.stack([p[0] * y[0] - p[1] * y[0] * y[1], p[2] * y[0] * y[1] - p[3] * y[1]])


def _runge_kutta(np: Any, p: Any, y: Any, h: Any) -> Any:
    """Return a step of the classical Runge-Kutta method."""
    first = _rate(np, p, y)
    second = _rate(np, p, y + h / 2 * first)
    third = _rate(np, p, y + h / 2 * second)
    fourth = _rate(np, p, y + h * third)
    return y + h / 6 * (first + 2 * second + 2 * third + fourth)


def lotka_volterra(np: Any, p: Any, y: Any, h: Any) -> Any:
    """Predators and prey, in steps of lengths h; the squared length of the last state."""
    last, _ = np.scan(lambda y, h: (_runge_kutta(np, p, y, h), None), y, h)
    return np.sum(last**2)


def lotka_volterra_of_casadi(np: Any, p: Any, y: Any, h: Any) -> Any:
    """Accumulate one step, written as a function."""
    return np.sum(np.accumulated(lambda y, h, p: _runge_kutta(np, p, y, h), y, h, p) ** 2)


def lotka_volterra_by_hand(
    p: np.ndarray, y: np.ndarray, h: np.ndarray
) -> tuple[float, list[np.ndarray]]:
    """Use Python's own numbers, forward and backward; compute stages again on the way back."""
    a, b, c, d = p.tolist()
    u, v = y.tolist()
    steps, path = h.tolist(), []

    def rates(u: float, v: float) -> tuple[float, float]:
        uv = u * v
        return a * u - b * uv, c * uv - d * v

    for dt in steps:
        path.append((u, v))
        half = dt / 2
        k1, l1 = rates(u, v)
        k2, l2 = rates(u + half * k1, v + half * l1)
        k3, l3 = rates(u + half * k2, v + half * l2)
        k4, l4 = rates(u + dt * k3, v + dt * l3)
        u += dt / 6 * (k1 + 2 * (k2 + k3) + k4)
        v += dt / 6 * (l1 + 2 * (l2 + l3) + l4)
    value, gu, gv = u * u + v * v, 2 * u, 2 * v
    by_a = by_b = by_c = by_d = 0.0
    by_h = np.empty_like(h)
    for t in range(len(steps) - 1, -1, -1):
        dt, (u, v) = steps[t], path[t]
        half = dt / 2
        k1, l1 = rates(u, v)
        u2, v2 = u + half * k1, v + half * l1
        k2, l2 = rates(u2, v2)
        u3, v3 = u + half * k2, v + half * l2
        k3, l3 = rates(u3, v3)
        u4, v4 = u + dt * k3, v + dt * l3
        k4, l4 = rates(u4, v4)
        total = (k1 + 2 * (k2 + k3) + k4) * gu + (l1 + 2 * (l2 + l3) + l4) * gv
        su, sv, by_step = gu, gv, total / 6
        gk = gl = 0.0
        for portion, weight, x, z, k, m in (
            (1.0, dt, u4, v4, k3, l3),
            (2.0, half, u3, v3, k2, l2),
            (2.0, half, u2, v2, k1, l1),
            (1.0, 0.0, u, v, 0.0, 0.0),
        ):
            gk += portion * dt / 6 * gu
            gl += portion * dt / 6 * gv
            xz, turned = x * z, c * gl - b * gk
            by_a += gk * x
            by_b -= gk * xz
            by_c += gl * xz
            by_d -= gl * z
            gx, gz = a * gk + turned * z, turned * x - d * gl
            su += gx
            sv += gz
            by_step += (gx * k + gz * m) * (weight / dt)
            gk, gl = weight * gx, weight * gz
        by_h[t] = by_step
        gu, gv = su, sv
    return value, [np.array([by_a, by_b, by_c, by_d]), np.array([gu, gv]), by_h]


# A scalar recurrence -----------------------------------------------------------------------------


def logistic_map(np: Any, r: Any, s: Any, x: Any) -> Any:
    """Return the last value of a disturbed logistic map, which contracts."""
    return np.scan(lambda c, x: (r * c * (1 - c) + x, None), s, x)[0]


def logistic_map_of_casadi(np: Any, r: Any, s: Any, x: Any) -> Any:
    """Accumulate one step, written as a function."""
    return np.accumulated(lambda c, x, r: r * c * (1 - c) + x, s, x, r)


def logistic_map_by_hand(r: float, s: float, x: np.ndarray) -> tuple[float, list[Any]]:
    """Use Python's own numbers."""
    c, path = s, []
    for row in x.tolist():
        path.append(c)
        c = r * c * (1 - c) + row
    by_r, g, by_x = 0.0, 1.0, []
    for before in reversed(path):
        by_x.append(g)
        by_r += g * before * (1 - before)
        g *= r * (1 - 2 * before)
    return c, [by_r, g, np.array(by_x[::-1])]


def _network(rng: np.random.Generator, n: int, h: int, gates: int, carries: str) -> dict[str, Any]:
    return {
        "W": rng.normal(size=(gates * h, h)) / np.sqrt(h),
        "U": rng.normal(size=(gates * h, h)) / np.sqrt(h),
        "b": rng.normal(size=gates * h),
        **{name: rng.normal(size=h) for name in carries},
        "x": rng.normal(size=(n, h)),
    }


WORKLOADS = [
    Workload(
        number=13,
        name="recurrent network",
        task=Task.GRADIENT,
        formula=rnn,
        hand=rnn_by_hand,
        data=lambda rng, n, h: _network(rng, n, h, 1, "h"),
        sizes={"h=32, n=1000": {"h": 32, "n": 1000}},
        tiny={"h": 3, "n": 4},
        peers=PEERS,
    ),
    Workload(
        number=13,
        name="LSTM",
        task=Task.GRADIENT,
        formula=lstm,
        hand=lstm_by_hand,
        data=lambda rng, n, h: _network(rng, n, h, 4, "hc"),
        sizes={"h=32, n=500": {"h": 32, "n": 500}},
        tiny={"h": 3, "n": 4},
        peers=PEERS,
    ),
    Workload(
        number=13,
        name="Lotka-Volterra by Runge-Kutta",
        task=Task.GRADIENT,
        formula=lotka_volterra,
        hand=lotka_volterra_by_hand,
        data=lambda rng, n: {
            "p": np.array([1.5, 1.0, 1.0, 3.0]),
            "y": np.array([1.0, 1.0]),
            "h": rng.uniform(0.005, 0.015, n),
        },
        sizes={"n=1000": {"n": 1000}},
        tiny={"n": 5},
        peers=("casadi", *PEERS),
        formulas={"casadi": lotka_volterra_of_casadi},
    ),
    Workload(
        number=13,
        name="logistic map",
        task=Task.GRADIENT,
        formula=logistic_map,
        hand=logistic_map_by_hand,
        data=lambda rng, n: {"r": 2.5, "s": 0.4, "x": rng.uniform(-0.01, 0.01, n)},
        sizes={"n=100000": {"n": 100_000}},
        tiny={"n": 5},
        peers=("casadi", "jax"),
        formulas={"casadi": logistic_map_of_casadi},
    ),
]
