"""Matrices with one number in each row, at its extreme element: they are never written out."""

from __future__ import annotations

from typing import Any

import numpy as np

from numeric.lowering import costs
from numeric.warnings_off import SILENCE, noise, set_noise

_FEW = 8  # columns of which products of matrices are faster than sums by place
_PLACES: dict[str, Any] = {"max": np.argmax, "min": np.argmin}


class AtExtremes:
    """The matrix that has ``g`` of each row at the place of the row's extreme element, else 0.

    Elements that are tied share it, and where there is a nan, it has a share.  The places are
    looked for when it is made; where elements are tied or not finite, it is an array inside.

    Args:
        name: of the extreme, "max" or "min".
        x: the rows.
        values: their extremes.
        g: one number for each row, or one for all.

    >>> x = np.array([[1.0, 2.0], [4.0, 3.0], [5.0, 6.0]])
    >>> AtExtremes("max", x, x.max(axis=1), np.array([10.0, 20.0, 30.0])).sum(0).tolist()
    [20.0, 40.0]
    """

    def __init__(self, name: str, x: np.ndarray, values: np.ndarray, g: Any) -> None:
        before = noise()
        try:
            set_noise(SILENCE)  # a program with a selection is silent
            self.columns = x.shape[1]
            self.g = np.broadcast_to(np.asarray(g, np.result_type(g, float)), x.shape[:1])
            self.places = _places(name, x, values) if np.isfinite(self.g).all() else None
            if self.places is None:
                ties = (x == values[:, None]) | (x != x)
                shares = self.g / ties.sum(axis=1)
                self.whole = np.where(ties, shares[:, None], 0)
        finally:
            set_noise(before)

    def sum(self, axis: int) -> np.ndarray:
        """The sum over an axis."""
        if self.places is None:
            return np.asarray(self.whole.sum(axis=axis))
        return np.bincount(self.places, self.g, self.columns) if axis == 0 else self.g.copy()

    def dot(self, axis: int, b: np.ndarray, strong: bool = False) -> np.ndarray:
        """The sum over an axis of products with a vector or a matrix, which has it as its first.

        ``strong``: zeros of this matrix make products 0 with what is not finite, too.
        """
        finite = np.isfinite(b).all(axis=tuple(range(1, b.ndim)))
        if self.places is not None and finite.all():
            if axis == 1:
                return np.asarray((self.g if b.ndim == 1 else self.g[:, None]) * b[self.places])
            if b.ndim == 1:
                return self._added(b)
            if b.shape[1] and self.columns > _FEW:
                return np.stack([self._added(column) for column in b.T], axis=1)
        whole = self._written()
        whole = whole.T if axis == 0 else whole
        if not strong or finite.all():
            return np.asarray(whole.dot(b))
        found = whole[:, finite].dot(b[finite])
        for i in np.flatnonzero(~finite):
            w = whole[:, i]
            found[w != 0] += np.multiply.outer(w[w != 0], b[i])
        return np.asarray(found)

    def _added(self, b: np.ndarray) -> np.ndarray:
        """The sum over the first axis of products with a vector."""
        assert self.places is not None
        return np.bincount(self.places, self.g * b, self.columns)

    def _written(self) -> np.ndarray:
        if self.places is None:
            return self.whole
        whole = np.zeros((len(self.places), self.columns))
        whole[np.arange(len(whole)), self.places] = self.g
        return whole


def _places(name: str, x: np.ndarray, values: np.ndarray) -> np.ndarray | None:
    """The places of the extremes; None where there is a nan or a tie."""
    if not x.size or np.isnan(values).any():
        return None
    found = np.empty(len(x), np.intp)
    count = max(1, costs.BLOCK // x.shape[1])
    for start in range(0, len(x), count):
        rows = slice(start, start + count)
        # Each row has one at least.
        if np.count_nonzero(x[rows] == values[rows, None]) != len(found[rows]):
            return None
        _PLACES[name](x[rows], axis=1, out=found[rows])
    return found
