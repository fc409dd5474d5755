"""Right gradients of functions with kinks: every convention of the subdifferential is one."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.check.entries import right
from tests.check.forwards import RANKS


def one_hot(columns: Any, X: Any) -> Any:
    g = np.zeros_like(X)
    g[np.arange(len(X)), columns] = 1
    return g


def shared(X: Any) -> Any:
    ties = X.max(axis=1, keepdims=True) == X
    return ties / ties.sum(axis=1, keepdims=True)


def placed(x: Any) -> Any:
    g = np.empty_like(x)
    g[np.argsort(x, kind="stable")] = RANKS
    return g


ENTRIES = (
    right("relu", "0 at 0", gradient=lambda x, w: (w * (x > 0), np.maximum(x, 0)), single=True),
    right("relu", "1 at 0", gradient=lambda x, w: (np.where(x >= 0, w, 0), x * (x > 0))),
    right("relu", "1/2 at 0", gradient=lambda x, w: [w * np.heaviside(x, 0.5), np.maximum(x, 0)]),
    right(
        "pairmax",
        "shared at ties",
        single=True,
        gradient=lambda a, b: (np.heaviside(a - b, 0.5), np.heaviside(b - a, 0.5)),
    ),
    right("pairmax", "the first of equals", gradient=lambda a, b: (1.0 * (a >= b), 1.0 * (a < b))),
    right(
        "pairmax",
        "the second of equals",
        gradient=lambda a, b: (np.where(a > b, 1.0, 0.0), np.where(a > b, 0.0, 1.0)),
    ),
    right("huber", "clipped", gradient=lambda r: np.clip(r, -1, 1), single=True),
    right("huber", "divided by what exceeds 1", gradient=lambda r: r / np.maximum(np.abs(r), 1)),
    right("huber", "two branches", gradient=lambda r: np.where(np.abs(r) < 1, r, np.sign(r))),
    right("clip", "bounds inside", gradient=lambda x: 2 * x * ((x >= -1) & (x <= 2))),
    right("clip", "bounds outside", gradient=lambda x: np.where((x > -1) & (x < 2), 2 * x, 0)),
    right(
        "clip",
        "half at the bounds",
        single=True,
        gradient=lambda x: x * (np.sign(x + 1) - np.sign(x - 2)),
    ),
    right("l1", "0 at 0", gradient=lambda x, y: (np.sign(x - y), np.sign(y - x)), single=True),
    right("l1", "1 and -1 at 0", gradient=lambda x, y: ((s := np.where(x >= y, 1.0, -1.0)), -s)),
    right(
        "l1",
        "-1/4 and 1/4 at 0",
        gradient=lambda x, y: ((s := np.where(x == y, -0.25, np.sign(x - y))), -s),
    ),
    right(
        "rowmax",
        "the first of equals",
        gradient=lambda X: one_hot(X.argmax(axis=1), X),
        single=True,
    ),
    right(
        "rowmax",
        "the last of equals",
        gradient=lambda X: one_hot(X.shape[1] - 1 - X[:, ::-1].argmax(axis=1), X),
    ),
    right("rowmax", "shared at ties", gradient=shared),
    right("sorted", "put in their places", gradient=placed, single=True),
    right(
        "sorted",
        "the rank of each",
        gradient=lambda x: RANKS[np.argsort(np.argsort(x, kind="stable"))],
    ),
    right(
        "pieces",
        "the right branch at 2",
        single=True,
        gradient=lambda x: np.where(x < 2, 2 * x, np.cos(x - 2)),
    ),
    right(
        "pieces", "the left branch at 2", gradient=lambda x: np.where(x <= 2, 2 * x, np.cos(x - 2))
    ),
)
