"""Scalar formulas, and elementwise formulas of vectors."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.declarations import Task, Workload

ORDER = 10
SCALAR_PEERS = ("lambdify", "symengine", "casadi", "heyoka", "jax", "torch", "autograd")
ARRAY_PEERS = ("jax", "torch", "autograd")

# Rosenbrock's function ---------------------------------------------------------------------------


def rosenbrock(np: Any, x: Any, y: Any) -> Any:
    """Rosenbrock's function of two variables."""
    return 100 * (y - x**2) ** 2 + (1 - x) ** 2


def rosenbrock_by_hand(x: float, y: float) -> tuple[float, float, float]:
    """Use Python's own numbers, because NumPy's are slower."""
    u, v = y - x * x, 1 - x
    return 100 * u * u + v * v, -400 * x * u - 2 * v, 200 * u


def chained(np: Any, x: Any) -> Any:
    """Return the sum of Rosenbrock's functions along a vector."""
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def chained_by_hand(x: np.ndarray) -> tuple[float, np.ndarray]:
    """Compute two differences, and everything else from them, in place."""
    head = x[:-1]
    u = x[1:] - head * head
    v = 1 - head
    g = np.empty_like(x)
    value = 100 * (u @ u) + v @ v
    u *= 200
    v *= 2
    g[-1] = 0
    g[1:] = u
    g[0] = 0
    u *= head
    u *= 2
    u += v
    g[:-1] -= u
    return value, g


def chained_naively(x: np.ndarray) -> tuple[float, np.ndarray]:
    """Write value and derivative as in SciPy's ``rosen`` and ``rosen_der``."""
    value = np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
    g = np.zeros_like(x)
    g[1:] += 200 * (x[1:] - x[:-1] ** 2)
    g[:-1] += -400 * x[:-1] * (x[1:] - x[:-1] ** 2) - 2 * (1 - x[:-1])
    return value, g


def term_by_term(np: Any, *xs: Any) -> Any:
    """The chain in scalars; CasADi, SymEngine and heyoka run the same loop."""
    f = 0
    for a, b in pairwise(xs):
        f = f + 100 * (b - a**2) ** 2 + (1 - a) ** 2
    return f


def term_by_term_by_hand(*xs: float) -> list[Any]:
    """Use the vector's formula."""
    value, g = chained_by_hand(np.array(xs))
    return [value, *g.tolist()]


# Sums and points ---------------------------------------------------------------------------------


def mixed(np: Any, x: Any, w: Any) -> Any:
    """Return a sum of functions of two variables at every element."""
    return np.sum(np.tanh(x * w) * np.exp(-(x**2) / 2) + np.log1p(w**2))


def mixed_by_hand(x: np.ndarray, w: np.ndarray) -> tuple[Any, ...]:
    """Compute shared parts once, in place where an array is not needed any more."""
    t = x * w
    np.tanh(t, out=t)
    e = x * x
    e *= -0.5
    np.exp(e, out=e)
    q = w * w
    te = t * e
    value = te.sum() + np.log1p(q).sum()
    t *= t
    np.subtract(1, t, out=t)
    t *= e  # the derivative by x*w
    q += 1
    gw = 2 * w
    gw /= q
    np.multiply(t, x, out=q)
    gw += q
    t *= w
    te *= x
    t -= te
    return value, t, gw


def mixed_naively(x: np.ndarray, w: np.ndarray) -> tuple[Any, ...]:
    """Write value and derivatives as in a textbook."""
    value = np.sum(np.tanh(x * w) * np.exp(-(x**2) / 2) + np.log1p(w**2))
    slope = (1 - np.tanh(x * w) ** 2) * np.exp(-(x**2) / 2)
    gx = slope * w - np.tanh(x * w) * np.exp(-(x**2) / 2) * x
    gw = slope * x + 2 * w / (1 + w**2)
    return value, gx, gw


def pointwise(np: Any, x: Any, y: Any, z: Any) -> Any:
    """Compute a function of three variables at every element, without a sum."""
    return np.exp(-x * y) * np.sin(z) + np.log(1 + x**2)


def pointwise_on_floats(x: float, y: float, z: float) -> tuple[float, ...]:
    """Use Python's own numbers."""
    e, s = math.exp(-x * y), math.sin(z)
    p, q = e * s, 1 + x * x
    return p + math.log(q), 2 * x / q - y * p, -x * p, e * math.cos(z)


def pointwise_by_hand(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, ...]:
    """Compute shared parts once, in place where an array is not needed any more."""
    p = x * y
    np.negative(p, out=p)
    np.exp(p, out=p)
    gz = np.cos(z)
    gz *= p
    p *= np.sin(z)
    gy = x * p
    np.negative(gy, out=gy)
    q = x * x
    q += 1
    gx = 2 * x
    gx /= q
    np.log(q, out=q)
    q += p
    p *= y
    gx -= p
    return q, gx, gy, gz


def pointwise_naively(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, ...]:
    """Write value and derivatives as in a textbook."""
    return (
        np.exp(-x * y) * np.sin(z) + np.log(1 + x**2),
        -y * np.exp(-x * y) * np.sin(z) + 2 * x / (1 + x**2),
        -x * np.exp(-x * y) * np.sin(z),
        np.exp(-x * y) * np.cos(z),
    )


# A high order ------------------------------------------------------------------------------------


def oscillating(np: Any, x: Any) -> Any:
    """Return the sine of a sum, whose derivatives grow to large expressions."""
    return np.sin(np.exp(x) + x**2)


def oscillating_by_hand(x: float) -> list[float]:
    """Use Taylor coefficients, with u' = inner', s' = c u', c' = -s u'."""
    u = [math.exp(x) / math.factorial(k) for k in range(ORDER + 1)]
    u[0] += x * x
    u[1] += 2 * x
    u[2] += 1
    s, c = [math.sin(u[0])], [math.cos(u[0])]
    for k in range(1, ORDER + 1):
        slopes = [j * u[j] for j in range(1, k + 1)]
        s_k = sum(d * c[k - j] for j, d in enumerate(slopes, 1)) / k
        c_k = -sum(d * s[k - j] for j, d in enumerate(slopes, 1)) / k
        s.append(s_k)
        c.append(c_k)
    return [math.factorial(ORDER) * s[ORDER]]


def _vector(rng: np.random.Generator, n: int) -> dict[str, Any]:
    return {"x": rng.normal(size=n)}


def _points(rng: np.random.Generator, n: int) -> dict[str, Any]:
    return {name: rng.normal(size=n) for name in "xyz"}


_SIZES = {f"n={n}": {"n": n} for n in (1_000, 100_000, 1_000_000)}

WORKLOADS = [
    Workload(
        number=1,
        name="Rosenbrock of 2 floats",
        task=Task.GRADIENT,
        formula=rosenbrock,
        hand=rosenbrock_by_hand,
        data=lambda rng: {"x": -1.2, "y": 0.7},
        sizes={"": {}},
        tiny={},
        peers=SCALAR_PEERS,
    ),
    Workload(
        number=1,
        name="exp(-xy) sin z + log(1+x²) of floats",
        task=Task.GRADIENT,
        formula=pointwise,
        hand=pointwise_on_floats,
        data=lambda rng: {"x": 0.7, "y": 1.3, "z": 0.4},
        sizes={"": {}},
        tiny={},
        peers=SCALAR_PEERS,
    ),
    Workload(
        number=2,
        name="chained Rosenbrock",
        task=Task.GRADIENT,
        formula=chained,
        hand=chained_by_hand,
        naive=chained_naively,
        data=_vector,
        sizes={f"n={n}": {"n": n} for n in (10, 1_000, 1_000_000)},
        tiny={"n": 5},
        peers=("casadi", *ARRAY_PEERS),
    ),
    Workload(
        number=3,
        name="sum of elementwise functions",
        task=Task.GRADIENT,
        formula=mixed,
        hand=mixed_by_hand,
        naive=mixed_naively,
        data=lambda rng, n: {"x": rng.normal(size=n), "w": rng.normal(size=n)},
        sizes=_SIZES,
        tiny={"n": 5},
        peers=("casadi", *ARRAY_PEERS),
    ),
    Workload(
        number=3,
        name="exp(-xy) sin z + log(1+x²) at points",
        task=Task.GRADIENT,
        formula=pointwise,
        hand=pointwise_by_hand,
        naive=pointwise_naively,
        points=True,
        data=_points,
        sizes=_SIZES,
        tiny={"n": 5},
        peers=SCALAR_PEERS,
    ),
    Workload(
        number=4,
        name="Rosenbrock term by term",
        task=Task.GRADIENT,
        formula=term_by_term,
        hand=term_by_term_by_hand,
        data=lambda rng, n: {f"x{i}": value for i, value in enumerate(rng.normal(size=n).tolist())},
        sizes={"n=1000": {"n": 1_000}},
        tiny={"n": 5},
        peers=("casadi", "symengine", "heyoka", "jax"),
    ),
    Workload(
        number=6,
        name="10th derivative of sin(exp(x)+x²)",
        task=Task.DERIVATIVE,
        formula=oscillating,
        hand=oscillating_by_hand,
        data=lambda rng: {"x": 0.4},
        sizes={"": {}},
        tiny={},
        peers=SCALAR_PEERS,
    ),
]
