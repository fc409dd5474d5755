"""Wrong gradients of functions with kinks, branches and ties."""

from __future__ import annotations

import numpy as np

from tests.check.entries import wrong
from tests.check.pieces import TWOS

ENTRIES = (
    wrong(
        "relu",
        "2 at 0",
        "tie",
        [[0.0, 1, -1, 2], [1.0, 2, 3, 4]],
        gradient=lambda x, w: (w * np.where(x > 0, 1, 2.0 * (x == 0)), np.maximum(x, 0)),
    ),
    wrong(
        "relu",
        "a slope of 0.01 on the left",
        "branch",
        [[-2.0, 1, -1, 2], [1.0, 2, 3, 4]],
        gradient=lambda x, w: (w * np.where(x > 0, 1, 0.01), np.maximum(x, 0)),
    ),
    wrong(
        "pairmax",
        "1 to both of equal inputs",
        "tie",
        [[1.0, 2, 0], [1.0, 0, 1]],
        gradient=lambda a, b: (1.0 * (a >= b), 1.0 * (b >= a)),
    ),
    wrong(
        "pairmax",
        "0 to both of equal inputs",
        "tie",
        [[1.0, 2, 0], [1.0, 0, 1]],
        gradient=lambda a, b: (1.0 * (a > b), 1.0 * (b > a)),
    ),
    wrong(
        "pairmax",
        "ties up to 1e-4",
        "branch tie",
        [[1.0, 2, 0], [1.00005, 0, 1]],
        gradient=lambda a, b: (1.0 * (a > b - 1e-4), 1.0 * (a <= b - 1e-4)),
    ),
    wrong(
        "huber",
        "the bound at 1.0001",
        "branch",
        [[1.00005, 2, 0.5, -3]],
        gradient=lambda r: np.where(np.abs(r) <= 1.0001, r, np.sign(r)),
    ),
    wrong("huber", "nothing bounded", "branch", [[1.5, 2, 0.5, -3]], gradient=lambda r: +r),
    wrong(
        "huber",
        "the sign of the left tail",
        "sign branch",
        [[1.5, 2, 0.5, -3]],
        gradient=lambda r: np.where(np.abs(r) <= 1, r, 1),
    ),
    wrong(
        "clip",
        "the mask forgotten",
        "branch",
        [[-2.0, 3, 0.5, 1]],
        gradient=lambda x: 2 * np.clip(x, -1, 2),
    ),
    wrong(
        "clip",
        "both sides added at a bound",
        "tie",
        [[2.0, -1, 0.5, 1]],
        gradient=lambda x: 2 * x * ((x >= -1) & (x <= 2)) * np.where((x == -1) | (x == 2), 2, 1),
    ),
    wrong(
        "l1",
        "sign of the second input",
        "sign",
        [TWOS, [1.0, 2, 3, -1]],
        gradient=lambda x, y: (np.sign(x - y), np.sign(x - y)),
    ),
    wrong(
        "l1",
        "1 to both at equality",
        "tie",
        [[1.0, 2, 3, 4], [1.0, 1, 5, 0]],
        gradient=lambda x, y: (np.where(x >= y, 1.0, -1), np.where(y >= x, 1.0, -1)),
    ),
    wrong(
        "l1",
        "smoothed with 1e-6",
        "other factor branch",
        [TWOS, [1.0, 2, 3, -1]],
        gradient=lambda x, y: (
            (x - y) / np.sqrt((x - y) ** 2 + 1e-6),
            (y - x) / np.sqrt((x - y) ** 2 + 1e-6),
        ),
    ),
    wrong(
        "rowmax",
        "1 to all that tie",
        "tie",
        [[[1.0, 1, 0, 0], [1, 2, 3, 4], [0, 0, 0, 1]]],
        gradient=lambda X: 1.0 * (X.max(axis=1, keepdims=True) == X),
    ),
    wrong(
        "pieces",
        "the bound at 2.0002",
        "branch",
        [[2.0001, 1, 0, 3]],
        gradient=lambda x: np.where(x < 2.0002, 2 * x, np.cos(x - 2)),
    ),
    wrong(
        "pieces",
        "the branches swapped",
        "branch",
        [[2.5, 1, 0, 3]],
        gradient=lambda x: np.where(x >= 2, 2 * x, np.cos(x - 2)),
    ),
)
