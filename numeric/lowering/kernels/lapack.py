"""LAPACK at the price of its call: ``numpy.linalg`` takes five times that of a small system.

What it does besides, it does here where it is needed: the checks of shapes are made, and floating
point warnings are off while anything of this runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.warnings_off import SILENCE, noise, set_noise

if TYPE_CHECKING:
    from collections.abc import Callable

# ``A`` and a vector ``b`` to x with ``A x = b``; A to its lower Cholesky factor.  Both are nan
# where there is none.
solve_vector: Callable[[Any, Any], Any]
cholesky: Callable[[Any], Any]
_solve_matrix: Callable[[Any, Any], Any]

try:
    from numpy.linalg import _umath_linalg

    solve_vector, _solve_matrix = _umath_linalg.solve1, _umath_linalg.solve
    cholesky = _umath_linalg.cholesky_lo
except (ImportError, AttributeError):  # pragma: no cover  # another NumPy
    _solve_matrix = np.linalg.solve

    def solve_vector(a: Any, b: Any) -> Any:
        """``x`` with ``A x = b``."""
        try:
            return np.linalg.solve(a, b[:, None])[:, 0]
        except np.linalg.LinAlgError:
            return np.full_like(b, np.nan)

    def cholesky(a: Any) -> Any:
        """The lower factor."""
        try:
            return np.linalg.cholesky(a)
        except np.linalg.LinAlgError:
            return np.full_like(a, np.nan)


def solve(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """What ``numpy.linalg.solve`` gives, or raises, for real matrices or stacks of them.

    >>> solve(np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([[3.0], [4.0]])).tolist()
    [[1.0], [1.0]]
    """
    if a.ndim == b.ndim == 2 and b.size and len(a) == len(b) == a.shape[1]:
        before = noise()
        try:
            set_noise(SILENCE)
            found: np.ndarray = _solve_matrix(a, b)
        finally:
            set_noise(before)
        if found[0, 0] == found[0, 0]:  # all of it is nan where A is singular
            return found
    return np.linalg.solve(a, b)
