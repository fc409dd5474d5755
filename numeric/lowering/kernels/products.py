"""Matrix products with more than a product in them."""

from __future__ import annotations

from typing import Any

import numpy as np

from symdiff.contexts import contained

_BLOCK = 2**17  # elements that stay in the cache


def affine(
    a: np.ndarray, b: np.ndarray, scale: float, row: Any, column: Any, out: Any = None
) -> Any:
    """``scale * a @ b + row + column`` as a product, ``[a, row, 1] @ [scale*b; 1; column]``.

    ``row`` is one number for each row, ``column`` one for each column; None stands for zeros.

    >>> affine(np.eye(2), np.array([[1.0, 2.0], [3.0, 4.0]]), -2, np.array([[10.0], [20.0]]), None)
    array([[ 8.,  6.],
           [14., 12.]])
    """
    factors = _factors(a, b, scale, row, column)
    if factors is not None:
        return factors[0].dot(factors[1], out=out)
    found = _by_terms(a, b, scale, row, column)
    if out is None:
        return found
    out[...] = found
    return out


def affine_min(a: np.ndarray, b: np.ndarray, scale: float, row: Any, column: Any) -> np.ndarray:
    """The smallest element of each row of ``affine``, which is never whole.

    >>> affine_min(np.eye(2), np.array([[1.0, 2.0], [3.0, 4.0]]), -2, None, np.array([1.0, 1.0]))
    array([-3., -7.])
    """
    return _extreme(np.minimum, a, b, scale, row, column)


def affine_max(a: np.ndarray, b: np.ndarray, scale: float, row: Any, column: Any) -> np.ndarray:
    """The largest element of each row of ``affine``, which is never whole."""
    return _extreme(np.maximum, a, b, scale, row, column)


def _extreme(
    extreme: np.ufunc, a: np.ndarray, b: np.ndarray, scale: float, row: Any, column: Any
) -> np.ndarray:
    if not b.shape[1]:
        raise ValueError(
            f"{extreme.__name__[:3]}: the last axis of shape {(len(a), 0)} has no element"
        )
    factors = _factors(a, b, scale, row, column)
    if factors is None:
        return np.asarray(extreme.reduce(_by_terms(a, b, scale, row, column), axis=1))
    left, right = factors
    found = np.empty(len(left), left.dtype)
    count = max(1, _BLOCK // right.shape[1])
    for start in range(0, len(found), count):
        here = slice(start, start + count)
        # Transposed, whole rows are compared at once.
        extreme.reduce(right.T.dot(left[here].T), axis=0, out=found[here])
    return found


@contained
def _factors(
    a: np.ndarray, b: np.ndarray, scale: float, row: Any, column: Any
) -> tuple[np.ndarray, np.ndarray] | None:
    """The matrices whose product is all of it; None where b times ``scale`` leaves the floats."""
    with np.errstate(over="ignore"):
        scaled = scale * b
    if not np.isfinite(scaled).all():
        return None
    (n, inner), k = a.shape, b.shape[1]
    terms = [x for x in (row, column) if x is not None]
    dtype = np.result_type(a, scaled, *terms)
    left, right = np.empty((inner + len(terms), n), dtype), np.empty((inner + len(terms), k), dtype)
    left[:inner], right[:inner] = a.T, scaled
    if row is not None:
        left[inner], right[inner] = row[:, 0], 1
    if column is not None:
        left[-1], right[-1] = 1, column
    return left.T, right


def _by_terms(a: np.ndarray, b: np.ndarray, scale: float, row: Any, column: Any) -> Any:
    found = scale * a.dot(b)
    for term in (row, column):
        found = found if term is None else found + term
    return found
