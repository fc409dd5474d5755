"""The evidence about a wrong output, and its explanation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numeric.check.judging import Run
    from symdiff.graph.expr import Expr

ORDINARY = ("ordinary", "given", "recorded", "single")
"""The groups of points at which mistakes of algebra show."""


@dataclass(frozen=True)
class Explanation:
    """A kind of mistake, and its particulars in words."""

    kind: str
    why: str
    rounding: bool = False


@dataclass(frozen=True)
class Evidence:
    """One wrong output of a run, and the facts about it."""

    run: Run
    output: int
    forward: Expr
    # Evaluates the function under test at a point; None if it refuses.
    call: Callable[[dict[str, np.ndarray]], list[np.ndarray] | None]
    dtypes: frozenset[str]  # the dtypes of the arrays that it returned

    @property
    def by(self) -> str:
        """The name of the variable that the output is a derivative by."""
        return self.run.quantity.by[self.output]


def worst_rows(run: Run, i: int) -> np.ndarray:
    """Return the points at which an output is wrong, worst first; nan and extreme numbers last."""
    rows = np.flatnonzero(run.wrong[i].reshape(len(run.groups), -1).any(axis=1))
    far = np.isin(run.groups[rows], ("wide", "extreme"))
    sizes = np.array([-badness(run, i, int(row)) for row in rows])
    return rows[np.lexsort((sizes, far, np.isinf(sizes)))]


def badness(run: Run, i: int, row: int) -> float:
    """Return the largest error of an output at a point, in units of S + G; inf if not finite."""
    off = np.abs(run.got[i][row] - run.exact[i][row]) / (run.scale[i][row] + run.unit)
    worst = np.where(run.wrong[i][row], np.nan_to_num(off, nan=np.inf, posinf=np.inf), 0.0)
    return float(worst.max(initial=0.0))


def number_text(c: float) -> str:
    """Write a factor as text; write a factor close to 1 by its distance from 1."""
    return f"1{c - 1:+.3g}" if abs(c - 1) < 0.01 else f"{c:.6g}"
