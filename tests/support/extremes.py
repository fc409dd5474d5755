"""Extremes of products of rows; their derivatives are compared with NumPy's extreme row."""

from __future__ import annotations

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

import symdiff as sd

X, w = sd.symbol("X", ("n", "d")), sd.symbol("w", "d")
centred = X - sd.mean(X, axis=0)
# The rows in symdiff and in NumPy; none depends on w.
ROWS = {
    "plain": (X, lambda X: X),
    "standardised": (centred / sd.std(X, axis=0), lambda X: (X - X.mean(0)) / X.std(0)),
    "whitened": (centred @ sd.inv(X.T @ X), lambda X: (X - X.mean(0)) @ np.linalg.inv(X.T @ X)),
}
EXTREMES = {
    "max": sd.max,
    "min": sd.min,
    "ptp": sd.ptp,
    "norm": lambda z: sd.norm(z, float("inf")),
}


def extreme_row(name, z, rows):
    """Return the extreme of z = rows @ w and its gradient by w, the mean of the rows that tie."""
    if name == "ptp":
        (top, up), (bottom, down) = extreme_row("max", z, rows), extreme_row("min", z, rows)
        return top - bottom, up - down
    if name == "norm":
        return extreme_row("max", np.abs(z), rows * np.sign(z)[:, None])
    value = z.max() if name == "max" else z.min()
    return value, rows[z == value].mean(axis=0)


def is_clear(name, z, data, margin):
    """Whether all nearly extreme rows are copies of one, so that rounding cannot change the row."""
    sides = {"max": [z], "min": [-z], "ptp": [z, -z], "norm": [np.abs(z)]}[name]
    return all(len(np.unique(data[side >= side.max() - margin], axis=0)) == 1 for side in sides)


@st.composite
def tables(draw):
    """Draw numbers with one digit, w, and cuts; some rows are copies of others."""
    tenths = st.integers(-20, 20).map(lambda k: k / 10)
    d = draw(st.integers(1, 3))
    row = st.lists(tenths, min_size=d, max_size=d)
    data = draw(st.lists(row, min_size=max(d, 2), max_size=7))
    copies = draw(st.lists(st.sampled_from(data), max_size=2))
    at = draw(row)
    cuts = draw(st.lists(st.integers(0, len(data)), max_size=3))
    return np.array(data + copies), np.array(at), [0, *sorted(cuts), len(data + copies)]


def clear_extreme(rows, name, data, at):
    """Return the extreme, its gradient, and a bound of the rounding of both and their products.

    Reject examples in which rounding decides which row is extreme.
    """
    exact = data.astype(float)
    assume(np.linalg.svd(exact - exact.mean(0))[1][-1] > 0.1 and np.linalg.cond(exact) < 30)
    margin = 64 * np.finfo(data.dtype).eps * np.linalg.cond(exact) ** 2
    R = ROWS[rows][1](exact)
    z = R @ at.astype(float)
    scale = 1 + np.abs(R).max() * np.abs(at).sum()
    assume(is_clear(name, z, exact, margin * scale))
    return *extreme_row(name, z, R), margin * scale**2 * len(at)
