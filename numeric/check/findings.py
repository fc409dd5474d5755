"""From judged points to findings: choose what to report of an output, and at which point."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from numeric.check.counterexamples import shrunk
from numeric.check.evidence import Evidence, Explanation, badness, worst_rows
from numeric.check.exact import as_floats
from numeric.check.kinds import explain
from numeric.check.probes import Exhausted, Misshapen
from numeric.check.report import Finding, Sample
from symdiff.exact.digits import Digits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numeric.check.judging import Run
    from numeric.check.probes import Fault, Probe
    from numeric.check.report import Verdict
    from symdiff.graph.expr import Expr

DIGITS = 20
"""The number of digits of an expected value."""

_PLOTTED = 1000  # points of a run in the plot


def of_fault(probe: Probe, fault: Fault) -> Finding:
    """Return the finding for a fault that a call showed by its behaviour."""
    expected = probe.quantity.precise(fault.point, fault.output)
    floats = as_floats(expected)
    # A wrong shape is often a known mistake: name a transposed result or a missing sum.
    turned = np.transpose(fault.got) if fault.got is not None else np.zeros(())
    if turned.ndim > 1 and turned.shape == floats.shape and np.allclose(turned, floats, 1e-3):
        fault = replace(fault, kind="transposed", why=f"{fault.why}: it is transposed", got=None)
    elif fault.kind == "broadcast" and fault.got is not None:
        axes = _unsummed(np.asarray(fault.got, float), floats)
        if axes:
            fault = replace(fault, why=f"{fault.why}: the sum over its axes {axes} is missing")
    got, place = None, (0,) * expected.ndim
    if fault.got is not None and np.shape(fault.got) == floats.shape and floats.size:
        place = _argmax(np.abs(np.asarray(fault.got, float) - floats))
        got = float(np.asarray(fault.got)[place])
    return Finding(
        kind=fault.kind,
        verdict="wrong",
        ok=False,
        derivative=probe.quantity.name,
        input=_by(probe, fault.output),
        component=place if expected.size else (),
        point=fault.point,
        expected=Digits.of(expected[place], DIGITS) if expected.size else None,
        got=got,
        ulps=float("inf"),
        why=fault.why,
    )


def _unsummed(got: np.ndarray, expected: np.ndarray) -> list[int]:
    """Return the axes over which a sum would make ``got`` right; an empty list if none would."""
    lead = got.ndim - expected.ndim
    if lead < 0:
        return []
    # Broadcasting adds leading axes, and stretches axes of another length.
    axes = list(range(lead))
    for a, n in enumerate(expected.shape, lead):
        if got.shape[a] != n:
            axes.append(a)
    summed = got.sum(axis=tuple(axes), keepdims=True)
    fits = summed.size == expected.size and np.allclose(summed.ravel(), expected.ravel(), 1e-3)
    return axes if fits else []


def of_runs(
    probe: Probe, runs: Sequence[Run], i: int, forward: Expr, shrink: bool
) -> list[Finding]:
    """Return the findings of one output: its worst mistake, or its conventions and inaccuracies."""
    for run in runs:
        if run.wrong[i].any():
            evidence = Evidence(
                run, i, forward, lambda point: _called(probe, point), frozenset(probe.dtypes)
            )
            explanation = explain(evidence)
            # The first run is float64: a mistake that only appears later depends on the dtype.
            if run is not runs[0] and explanation.kind == "other":
                explanation = Explanation("dtype", f"only for {run.dtype.name} inputs it is wrong")
            rows = worst_rows(run, i)
            # Show a point with nan only where nan is the mistake.
            row = int(rows[-1] if explanation.kind == "nonfinite" else rows[0])
            # A simpler point would leave the tie.
            if shrink and explanation.kind != "tie":
                point, got, mask = shrunk(probe, run, i, row, badness(run, i, row))
            else:
                point, got, mask = run.at(row), run.got[i][row], run.wrong[i][row]
            verdict: Verdict = "inaccurate" if explanation.rounding else "wrong"
            one = _finding(probe, run, i, row, (point, got, mask), explanation, verdict)
            return [replace(one, count=len(rows))]
    passing: list[Finding] = []
    for kind, verdict, why in (
        ("tie", "convention", "another choice at a kink, a valid subgradient"),
        ("cancellation", "inaccurate", "some digits are lost"),
    ):
        for run in runs:
            # The first run with such points is enough: later runs repeat them in other dtypes.
            shown = (run.conventions if verdict == "convention" else run.loose)[i]
            if shown.any():
                # The error is relative to the size of the terms, because the sum may be exactly 0.
                off = np.abs(run.got[i] - run.exact[i]) / (run.scale[i] + run.unit)
                row = int(_argmax(np.where(shown, off, -1.0))[0])
                at = run.at(row), run.got[i][row], shown[row]
                one = _finding(probe, run, i, row, at, Explanation(kind, why), verdict)
                count = int(shown.reshape(len(shown), -1).any(axis=1).sum())
                passing.append(replace(one, ok=True, count=count))
                break
    return passing


def samples(run: Run) -> list[Sample]:
    """Return some of the points, for a plot."""
    count = len(run.groups)
    worst, sizes = np.zeros(count), np.zeros(count)
    for g, e, wrong in zip(run.got, run.exact, run.wrong, strict=True):
        ulps = np.abs(g - e) / np.spacing(np.abs(e).astype(run.dtype)).astype(float)
        # An infinite or nan result is an error only where it is judged wrong.
        ulps = np.where(np.isfinite(ulps), ulps, np.where(wrong, np.inf, 0.0))
        worst = np.maximum(worst, ulps.reshape(count, -1).max(axis=1, initial=0))
    for x in run.points.values():
        sizes = np.maximum(sizes, np.abs(x.reshape(count, -1)).max(axis=1, initial=0))
    return [
        Sample(run.quantity.name, float(sizes[k]), float(worst[k]), str(run.groups[k]))
        for k in range(0, count, max(1, count // _PLOTTED))
    ]


def _finding(
    probe: Probe,
    run: Run,
    i: int,
    row: int,
    at: tuple[dict[str, np.ndarray], np.ndarray, np.ndarray],
    explanation: Explanation,
    verdict: Verdict,
) -> Finding:
    """Return the finding for a point, the result there, and the mask of wrong components."""
    point, got, mask = at
    expected = probe.quantity.precise(point, i)
    floats = as_floats(expected)
    off = np.nan_to_num(np.abs(got - floats), nan=np.inf)
    place = _argmax(np.where(mask, off, -1.0))
    valid = None
    if row in run.sides:
        # At a kink every value between the derivatives of both sides is valid.
        sides = np.array([side[place] for side in run.sides[row][i]])
        valid = (float(sides.min()), float(sides.max()))
    return Finding(
        kind=explanation.kind,
        verdict=verdict,
        ok=False,
        derivative=probe.quantity.name,
        input=_by(probe, i),
        component=place,
        point=point,
        expected=Digits.of(expected[place], DIGITS),
        got=float(got[place]),
        ulps=_ulps(float(got[place]), float(floats[place]), run.dtype),
        why=explanation.why,
        dtype=run.dtype.name,
        valid=valid,
    )


def _by(probe: Probe, i: int) -> str:
    return "" if probe.quantity.name == "jvp" else probe.quantity.by[i]


def _argmax(x: np.ndarray) -> tuple[int, ...]:
    return tuple(map(int, np.unravel_index(int(np.argmax(x)), x.shape)))


def _called(probe: Probe, point: dict[str, np.ndarray]) -> list[np.ndarray] | None:
    """Call the probe at a point of another dtype; None if it refuses or changes the dtype."""
    try:
        results = probe(point)
    except (TypeError, LookupError, Misshapen, Exhausted):
        return None
    # A function that computes in float64 regardless says nothing about longer arithmetic.
    longer = any(np.asarray(x).dtype == np.longdouble for x in point.values())
    return None if longer and any(y.dtype != np.longdouble for y in results) else results


def _ulps(got: float, expected: float, dtype: np.dtype) -> float:
    if not np.isfinite(got):
        return float("inf")
    unit = float(np.spacing(np.abs(np.asarray(expected, dtype))))
    return abs(got - expected) / unit
