"""Linear equations by products with the matrix alone: conjugate gradients and GMRES.

Arrays have a batch of equations first, flattened: (b, n).

Sources: Saad, Iterative Methods for Sparse Linear Systems (2003), 6.5 and 6.7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from symdiff.contexts import contained
from symdiff.errors import ConvergenceError

if TYPE_CHECKING:
    from collections.abc import Callable

    Product: TypeAlias = "Callable[[np.ndarray], np.ndarray]"

# GMRES keeps so many directions, and begins anew behind them.
_KEPT = 60
# What a product may be off by, in units of rounding of its largest.
_ROUNDINGS = 8


@contained
def solved(
    method: str, product: Product, b: np.ndarray, rtol: float, most: int, shape: tuple[int, ...]
) -> np.ndarray:
    """``x`` with ``product(x) = b``, until what is left is ``rtol`` times b, by norms.

    Where products of such sizes are rounded by more than that, what rounding leaves is enough.
    Whatever the method says, what is left is computed anew in the end, and is what it goes on from.

    Raises ConvergenceError, in which elements have places of ``shape``.

    >>> A = np.array([[2.0, 1.0], [1.0, 3.0]])
    >>> solved("cg", lambda x: x @ A, np.array([[3.0, 4.0]]), 1e-13, 20, (2,)).round(9).tolist()
    [[1.0, 1.0]]
    """
    x, left = np.zeros_like(b), b
    growth = np.zeros(len(b))  # the most that a product was longer than its factor

    def measured(p: np.ndarray) -> np.ndarray:
        q = product(p)
        np.maximum(growth, _quotient(_norms(q), _norms(p))[:, 0], out=growth)
        return q

    def is_enough() -> np.ndarray:
        rounding = _ROUNDINGS * np.finfo(b.dtype).eps * growth * _norms(x)
        return np.asarray(_norms(left) <= np.maximum(goal, rounding))

    goal = np.maximum(rtol, np.finfo(b.dtype).eps) * _norms(b)
    step = {"cg": _conjugate_gradients, "gmres": _gmres}[method]
    done = 0
    with np.errstate(all="ignore"):
        while done < most and not is_enough().all():
            more, steps = step(measured, left, goal, most - done)
            after = b - product(x + more)
            lower = _norms(after) < _norms(left)
            done += steps + 1
            if not lower.any():
                break
            x, left = np.where(lower[:, None], x + more, x), np.where(lower[:, None], after, left)
        failed = ~is_enough()
        if not failed.any():
            return x
    sizes = np.abs(np.where(np.isnan(left), np.inf, left))
    sizes[~failed] = -1.0
    place = int(np.argmax(sizes))
    row = place // left.shape[1]
    worst = tuple(int(k) for k in np.unravel_index(place, shape))
    where = f", for the equations of element {list(worst)}" if len(left) > 1 else ""
    error = ConvergenceError(
        f"linear_solve: {method} does not come to the solution: after {done} products the norm of "
        f"what is left is {_norms(left)[row]:.3g}, and that of b {_norms(b)[row]:.3g}{where}"
        + ("; cg is for symmetric positive definite maps" if method == "cg" else "")
    )
    error.residual, error.steps = float(np.abs(left).ravel()[place]), done
    error.worst = worst
    raise error


def _conjugate_gradients(
    product: Product, b: np.ndarray, goal: np.ndarray, most: int
) -> tuple[np.ndarray, int]:
    """What is found from 0 in at most so many products, and how many they were."""
    x, r = np.zeros_like(b), b
    p, rr = r, np.sum(r * r, 1)
    for step in range(most):
        if (np.sqrt(rr) <= goal).all():
            return x, step
        q = product(p)
        a = _quotient(rr, np.sum(p * q, 1))
        x, r = x + a * p, r - a * q
        rr, before = np.sum(r * r, 1), rr
        p = r + _quotient(rr, before) * p
    return x, most


def _norms(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.norm(x, axis=1))


def _quotient(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A number for each equation; 0 for those that are solved."""
    return np.asarray(np.divide(a, b, out=np.zeros_like(a), where=b != 0)[:, None])


def _gmres(product: Product, b: np.ndarray, goal: np.ndarray, most: int) -> tuple[np.ndarray, int]:
    """As above; the equations of a batch are one system."""
    size = float(np.linalg.norm(b))
    basis, columns = [b / size], list[np.ndarray]()
    target = float(np.linalg.norm(goal))
    y: np.ndarray = np.zeros(0)
    for k in range(min(most, _KEPT)):
        v = product(basis[-1])
        column = np.zeros(k + 2)
        for _ in range(2):  # once more, for what rounding has left
            for i, q in enumerate(basis):
                part = float(np.vdot(q, v))
                column[i] += part
                v = v - part * q
        column[-1] = rest = float(np.linalg.norm(v))
        columns.append(column)
        h = np.zeros((k + 2, k + 1))
        for j, each in enumerate(columns):
            h[: len(each), j] = each
        right = np.zeros(k + 2)
        right[0] = size
        y = np.linalg.lstsq(h, right, rcond=None)[0]
        left = float(np.linalg.norm(right - h @ y))
        if left <= target or rest <= np.finfo(b.dtype).eps * float(np.linalg.norm(column)):
            break
        basis.append(v / rest)
    return sum(c * q for c, q in zip(y.tolist(), basis, strict=False)), len(columns)
