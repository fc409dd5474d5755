"""Hessians in closed form, least squares, determinants, clusters."""

from __future__ import annotations

from functools import cache
from itertools import combinations
from typing import Any

import numpy as np

from benchmarks.declarations import Task, Workload

PEERS = ("jax", "torch", "autograd")

# Hessians ----------------------------------------------------------------------------------------


def logistic_loss(np: Any, X: Any, y: Any, w: Any) -> Any:
    """Return the mean logistic loss over rows."""
    z = X @ w
    return np.sum(np.softplus(z) - y * z) / X.shape[0]


def logistic_hessian(X: np.ndarray, y: np.ndarray, w: np.ndarray) -> list[np.ndarray]:
    """Form ``A.T @ A``: BLAS knows that it is symmetric and computes half of it."""
    p = 1 / (1 + np.exp(-(X @ w)))
    A = X * np.sqrt(p * (1 - p) / len(y))[:, None]
    return [A.T @ A]


def logistic_hessian_naively(X: np.ndarray, y: np.ndarray, w: np.ndarray) -> list[np.ndarray]:
    """Scale the rows of X in ``X' S X``: the diagonal S as a matrix would need m² numbers."""
    p = 1 / (1 + np.exp(-(X @ w)))
    return [X.T @ ((p * (1 - p))[:, None] * X) / len(y)]


def _rows(rng: np.random.Generator, m: int, n: int) -> dict[str, Any]:
    return {
        "X": rng.normal(size=(m, n)),
        "y": (rng.random(m) > 0.5).astype(float),
        "w": rng.normal(size=n) / 10,
    }


def factorisation(np: Any, U: Any, V: Any, T: Any, S: Any) -> Any:
    """Return the weighted squared distance of ``U V'`` and T."""
    return np.sum(S * (T - U @ V.T) ** 2)


def factorisation_hessian(
    U: np.ndarray, V: np.ndarray, T: np.ndarray, S: np.ndarray
) -> list[np.ndarray]:
    """Fill one block for each row of U; blocks of different rows are zero."""
    (m, k), n = U.shape, len(V)
    H = np.zeros((m, k, m, k))
    pairs = (V[:, :, None] * V[:, None, :]).reshape(n, k * k)
    rows = np.arange(m)
    H[rows, :, rows, :] = ((2 * S) @ pairs).reshape(m, k, k)
    return [H]


def _factors(rng: np.random.Generator, m: int, k: int) -> dict[str, Any]:
    return {
        "U": rng.normal(size=(m, k)),
        "V": rng.normal(size=(m, k)),
        "T": rng.normal(size=(m, m)),
        "S": rng.random((m, m)),
    }


# Clusters ----------------------------------------------------------------------------------------


def clusters(np: Any, p: Any, c: Any) -> Any:
    """k-means: the sum of squared distances of the points to their nearest centres."""
    squares = np.sum(p**2, axis=1)[:, None] - 2 * (p @ c.T) + np.sum(c**2, axis=1)
    return np.sum(np.min(squares, axis=1))


def _shifted(p: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Squared distances without the part that all centres share."""
    squares = p @ (-2 * c.T)
    squares += np.einsum("kd,kd->k", c, c)
    return squares


def clusters_by_hand(p: np.ndarray, c: np.ndarray) -> list[Any]:
    """Keep the part that all centres share out of the minimum."""
    return [np.vdot(p, p) + _shifted(p, c).min(axis=1).sum()]


def clusters_curvature(p: np.ndarray, c: np.ndarray) -> list[np.ndarray]:
    """Count and sum the nearest points of every centre."""
    nearest = _shifted(p, c).argmin(axis=1)
    k = len(c)
    counts = np.bincount(nearest, minlength=k).astype(float)[:, None]
    sums = np.stack([np.bincount(nearest, column, k) for column in p.T], axis=1)
    return [2 * (counts * c - sums), np.broadcast_to(2 * counts, c.shape).copy()]


def _clusters(rng: np.random.Generator, k: int, n: int, d: int) -> dict[str, Any]:
    return {"p": rng.normal(size=(n, d)), "c": rng.normal(size=(k, d))}


_CLUSTERS = {f"k=100, n={n}": {"k": 100, "n": n, "d": 10} for n in (1_000, 10_000)}
_FEW_CLUSTERS = {"k": 3, "n": 20, "d": 2}

# Polynomials and determinants --------------------------------------------------------------------


def least_squares(np: Any, a: Any, t: Any, s: Any) -> Any:
    """Return the squared distance of the polynomial a from samples s at the places t."""
    return np.sum((np.vander(t, a.shape[0], increasing=True) @ a - s) ** 2) / 2


def least_squares_by_hand(a: np.ndarray, t: np.ndarray, s: np.ndarray) -> list[Any]:
    """Multiply each power from the previous one."""
    powers = np.empty((len(a), len(t)))
    powers[0] = 1
    for j in range(1, len(a)):
        np.multiply(powers[j - 1], t, out=powers[j])
    r = a @ powers
    r -= s
    return [r @ r / 2, powers @ r]


def least_squares_naively(a: np.ndarray, t: np.ndarray, s: np.ndarray) -> list[Any]:
    """Use NumPy's ``vander``."""
    V = np.vander(t, len(a), increasing=True)
    r = V @ a - s
    return [np.sum(r**2) / 2, V.T @ r]


def _samples(rng: np.random.Generator, m: int, n: int) -> dict[str, Any]:
    t = np.linspace(-1, 1, n)
    return {"a": rng.normal(size=m), "t": t, "s": np.sign(t)}


@cache
def _minors(n: int) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """For each number of rows: the sets of columns, the smaller minors, and the signs."""
    levels = []
    for r in range(2, n + 1):
        smaller = {s: i for i, s in enumerate(combinations(range(n), r - 1))}
        sets = list(combinations(range(n), r))
        columns = np.array(sets)
        rest = np.array([[smaller[s[:i] + s[i + 1 :]] for i in range(r)] for s in sets])
        signs = np.broadcast_to((-1.0) ** np.arange(r), columns.shape)
        levels.append((columns, rest, signs.copy()))
    return levels


def determinant(np: Any, A: Any) -> Any:
    """Laplace's expansion by rows from the last one up; minors of equal columns are shared."""
    n = A.shape[0]
    minors = A[n - 1]
    for r, (columns, rest, signs) in enumerate(_minors(n), 2):
        minors = np.sum(np.constant(signs) * A[n - r][columns] * minors[rest], axis=1)
    return minors[0]


def determinant_in_scalars(np: Any, A: Any) -> Any:
    """Laplace's expansion for libraries without arrays of indices."""
    n = A.shape[0]
    minors = [A[n - 1, j] for j in range(n)]
    for r, level in enumerate(_minors(n), 2):
        minors = [
            sum(sign * A[n - r, int(j)] * minors[i] for j, i, sign in zip(*row, strict=True))
            for row in zip(*level, strict=True)
        ]
    return minors[0]


def determinant_by_hand(A: np.ndarray) -> list[Any]:
    """Use Jacobi's formula."""
    det = np.linalg.det(A)
    return [det, det * np.linalg.inv(A).T]


def _hessian(**named: Any) -> Workload:
    return Workload(number=5, task=Task.HESSIAN, peers=PEERS, **named)


WORKLOADS = [
    _hessian(
        name="logistic regression",
        formula=logistic_loss,
        hand=logistic_hessian,
        naive=logistic_hessian_naively,
        data=_rows,
        wrt=("w",),
        sizes={f"2000×{n}": {"m": 2_000, "n": n} for n in (100, 500)},
        tiny={"m": 6, "n": 3},
    ),
    _hessian(
        name="x'Ax",
        formula=lambda np, x, A: x @ A @ x,
        hand=lambda x, A: [A + A.T],
        data=lambda rng, n: {"x": rng.normal(size=n), "A": rng.normal(size=(n, n))},
        wrt=("x",),
        sizes={"n=1000": {"n": 1_000}},
        tiny={"n": 3},
    ),
    _hessian(
        name="matrix factorisation",
        formula=factorisation,
        hand=factorisation_hessian,
        data=_factors,
        wrt=("U",),
        sizes={"200×200, k=5": {"m": 200, "k": 5}},
        tiny={"m": 4, "k": 2},
    ),
    Workload(
        number=11,
        name="k-means cost",
        task=Task.VALUE,
        formula=clusters,
        hand=clusters_by_hand,
        data=_clusters,
        sizes=_CLUSTERS,
        tiny=_FEW_CLUSTERS,
        peers=PEERS,
    ),
    Workload(
        number=11,
        name="k-means gradient and Hessian diagonal",
        task=Task.CURVATURE,
        formula=clusters,
        hand=clusters_curvature,
        data=_clusters,
        wrt=("c",),
        sizes=_CLUSTERS,
        tiny=_FEW_CLUSTERS,
        peers=PEERS,
    ),
    Workload(
        number=11,
        name="polynomial least squares",
        task=Task.GRADIENT,
        formula=least_squares,
        hand=least_squares_by_hand,
        naive=least_squares_naively,
        data=_samples,
        wrt=("a",),
        sizes={"4096×128": {"m": 128, "n": 4_096}},
        tiny={"m": 4, "n": 9},
        peers=("jax", "torch"),
    ),
    Workload(
        number=11,
        name="determinant by cofactors",
        task=Task.GRADIENT,
        formula=determinant,
        formulas={"casadi": determinant_in_scalars},
        hand=determinant_by_hand,
        data=lambda rng, n: {"A": rng.normal(size=(n, n))},
        sizes={f"n={n}": {"n": n} for n in (5, 9)},
        tiny={"n": 3},
        peers=("casadi", *PEERS),
    ),
]
