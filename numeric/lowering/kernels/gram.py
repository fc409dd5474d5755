"""Weighted Gram matrices, by BLAS's product of a matrix with its own transpose."""

from __future__ import annotations

import numpy as np


def gram(a: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """``a.T @ diag(weights) @ a``, as symmetric as it is where all weights have one sign.

    Then half of it is computed, with the roots of the weights on both sides, and the other half is
    a copy.  Weights of both signs, or nan among them, have no such roots.

    >>> gram(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([4.0, 1.0])).tolist()
    [[13.0, 20.0], [20.0, 32.0]]
    """
    if weights.min(initial=0) >= 0:
        rooted = a * np.sqrt(weights)[:, None]
        return rooted.T.dot(rooted)  # type: ignore[no-any-return]
    if weights.max(initial=0) <= 0:
        found = gram(a, -weights)
        found *= -1
        return found
    return a.T.dot(a * weights[:, None])  # type: ignore[no-any-return]
