"""What is known of an output that is wrong somewhere, and what explains it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numeric.check.judging import Run
    from symdiff.graph.expr import Expr

ORDINARY = ("ordinary", "given", "recorded", "single")
"""The groups of points that mistakes of the algebra show at."""


@dataclass(frozen=True)
class Explanation:
    """A kind, and its particulars in words."""

    kind: str
    why: str
    rounding: bool = False


@dataclass(frozen=True)
class Evidence:
    """One output of a run that is wrong somewhere, and what else is known."""

    run: Run
    output: int
    forward: Expr
    # At a point; None if it refuses.
    call: Callable[[dict[str, np.ndarray]], list[np.ndarray] | None]
    dtypes: frozenset[str]  # of the arrays that came

    @property
    def by(self) -> str:
        """By what the output is a derivative."""
        return self.run.quantity.by[self.output]


def worst_rows(run: Run, i: int) -> np.ndarray:
    """The points at which an output is wrong, worst first; nan and extreme numbers last."""
    rows = np.flatnonzero(run.wrong[i].reshape(len(run.groups), -1).any(axis=1))
    far = np.isin(run.groups[rows], ("wide", "extreme"))
    sizes = np.array([-badness(run, i, int(row)) for row in rows])
    return rows[np.lexsort((sizes, far, np.isinf(sizes)))]


def badness(run: Run, i: int, row: int) -> float:
    """The largest error of an output at a point, in units of S + G; inf for what is not finite."""
    off = np.abs(run.got[i][row] - run.exact[i][row]) / (run.scale[i][row] + run.unit)
    worst = np.where(run.wrong[i][row], np.nan_to_num(off, nan=np.inf, posinf=np.inf), 0.0)
    return float(worst.max(initial=0.0))


def number_text(c: float) -> str:
    """A factor as text, by how much it is off where that is little."""
    return f"1{c - 1:+.3g}" if abs(c - 1) < 0.01 else f"{c:.6g}"
