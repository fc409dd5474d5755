"""Explain what kind of mistake was made: test hypotheses against all judged points.

First come mistakes of the algebra, which show at ordinary points.  Then rounding: a derivative
that is right in longer arithmetic loses digits in the given one.  Last comes the place: a region
that contains all wrong values and no right ones.
"""

from __future__ import annotations

import numpy as np

from numeric.check.evidence import ORDINARY, Evidence, Explanation, worst_rows
from numeric.check.mistakes import mistake
from numeric.check.places import place
from symdiff.graph.node import topological


def explain(evidence: Evidence) -> Explanation:
    """Return the kind of mistake that explains all errors of an output."""
    run, i = evidence.run, evidence.output
    wrong = run.wrong[i]
    # A few nan may accompany another mistake; if there are many, they are the mistake.
    if np.isfinite(run.got[i][wrong]).mean() < 0.8:
        what = "nan" if np.isnan(run.got[i][wrong]).any() else "inf"
        return Explanation("nonfinite", f"{what} where the exact value is finite")
    # The order matters: a simple mistake of algebra may look like lost digits, but not vice versa.
    explanation = mistake(evidence)
    if explanation:
        return explanation
    if _rounds(evidence):
        return Explanation("cancellation", "right in longer arithmetic: digits cancel", True)
    return _narrow(evidence) or place(evidence) or Explanation("other", "no simple mistake fits")


def _rounds(evidence: Evidence) -> bool:
    """Whether longer arithmetic removes most of the error at the worst points."""
    run, i = evidence.run, evidence.output
    longer = np.longdouble if run.dtype == np.float64 else np.float64
    better = []
    for row in map(int, worst_rows(run, i)[:6]):
        wrong = run.wrong[i][row] & np.isfinite(run.got[i][row])
        if not wrong.any():
            continue
        before = np.abs(run.got[i][row] - run.exact[i][row])[wrong]
        longer_results = evidence.call({k: np.asarray(v, longer) for k, v in run.at(row).items()})
        if longer_results is None:  # rounding makes neighbours jump, unlike the exact derivative
            around = [evidence.call(_next_to(run.at(row), run.dtype, k)) for k in range(1, 5)]
            jumps = [np.asarray(g[i])[wrong] for g in around if g is not None]
            better.append(bool(jumps) and bool((np.ptp(jumps, axis=0) > 0.1 * before).all()))
        else:
            after = np.abs(longer_results[i] - run.exact[i][row])[wrong]
            # Longer arithmetic divides rounding errors by 2^11 or more, other mistakes by 1.
            better.append(bool((after <= before / 30).all()))
    return bool(better) and sum(better) > len(better) / 2


def _next_to(point: dict[str, np.ndarray], dtype: np.dtype, k: int) -> dict[str, np.ndarray]:
    """Move the inputs of a point up by k units in the last place."""
    eps = float(np.finfo(dtype).eps)
    return {name: np.asarray(x * (1 + k * eps), dtype) for name, x in point.items()}


def _narrow(evidence: Evidence) -> Explanation | None:
    """Recognise errors of the size of float32 or float16 everywhere that jump as roundings do."""
    run, i = evidence.run, evidence.output
    rows = np.flatnonzero(np.isin(run.groups, ORDINARY))
    off = np.abs(run.got[i] - run.exact[i])[rows] / (run.scale[i][rows] + run.unit)
    off = off[np.isfinite(off)]
    for name in ("float32", "float16"):
        u = float(np.finfo(name).eps) / 2
        if u <= run.u or not off.size or not u / 100 < np.quantile(off, 0.8) < 60 * u:
            continue
        if not _jumps(evidence, rows, u):
            continue
        nodes = topological([run.quantity.outputs[i]])
        # A short accumulator in a sum leaves the same errors as short arithmetic throughout.
        if name not in evidence.dtypes and any(getattr(x.op, "sums", False) for x in nodes):
            return Explanation("accumulation", f"sums are rounded to {name}", True)
        return Explanation("dtype", f"it is computed in {name}", True)
    return None


def _jumps(evidence: Evidence, rows: np.ndarray, u: float) -> bool:
    """Whether errors change by their own size when inputs change by a few roundings."""
    run, i = evidence.run, evidence.output
    rows = rows[run.wrong[i][rows].reshape(len(rows), -1).any(axis=1)][:6]
    changes = []
    for row in map(int, rows):
        point = {k: np.asarray(x * (1 + 5 * u), x.dtype) for k, x in run.at(row).items()}
        results = evidence.call(point)
        if results is None:
            continue
        (exact,) = run.quantity.values({k: x[None] for k, x in point.items()})[i : i + 1]
        before, after = run.got[i][row] - run.exact[i][row], results[i] - exact[0]
        wrong = run.wrong[i][row]
        changes.append(np.median((np.abs(after - before) / np.abs(before))[wrong]))
    return bool(changes) and float(np.median(changes)) > 0.1
