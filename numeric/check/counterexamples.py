"""From a point at which a derivative is wrong, find the simplest one that shows it as well."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.check.evidence import badness
from numeric.check.judging import Run, judge
from numeric.check.probes import Exhausted, Misshapen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numeric.check.probes import Probe

    Point = dict[str, np.ndarray]

_MOST_TRIALS = 40
_KEPT = 0.1  # the part of the error, or of S + G, that a simpler point must still show


def shrunk(
    probe: Probe, run: Run, i: int, row: int, size: float
) -> tuple[Point, np.ndarray, np.ndarray]:
    """Return the simplest point, the values there, and a mask of the wrong components.

    Elements become 0, 1, or numbers of one or two digits: first one input after the other, then one
    element after the other.  A change stands if the output stays wrong by a tenth of ``size``, or
    by a tenth of its usual size, S + G, if that is less.
    """

    def shown(trial: Point) -> tuple[np.ndarray, np.ndarray] | None:
        single = _judged(probe, run, trial)
        now = badness(single, i, 0)
        if (
            single.wrong[i].any()
            and now >= _KEPT * min(size, 1)
            and np.isinf(now) == np.isinf(size)
        ):
            return single.got[i][0], single.wrong[i][0]
        return None

    return simplest(run.at(row), (run.got[i][row], run.wrong[i][row]), shown)


def simplest(
    best: Point,
    results: tuple[object, object],
    shown: Callable[[Point], tuple[object, object] | None],
    most: int = _MOST_TRIALS,
) -> tuple[Point, Any, Any]:
    """Return the simplest point that ``shown`` accepts, followed by the results of ``shown`` there.

    ``results`` are those of ``shown`` at ``best``.  ``shown`` returns None to reject a point.  At
    most ``most`` points are tried.
    """
    trials = 0
    for simpler in _simpler(best):
        if trials >= most:
            break
        trial = {name: np.where(take, y, best[name]) for name, (take, y) in simpler.items()}
        trial = {name: np.asarray(x, best[name].dtype) for name, x in trial.items()}
        # Only a shorter text makes a point simpler; equal ones would go around in circles.
        if _length(trial) >= _length(best):
            continue
        trials += 1
        try:
            still = shown(trial)
        # Out of evaluations: the simplest point so far is good enough.
        except (Exhausted, Misshapen):
            break
        if still is not None:
            best, results = trial, still
    return best, *results


def _judged(probe: Probe, run: Run, point: Point) -> Run:
    got = [y[None] for y in probe(point)]
    points = {name: x[None] for name, x in point.items()}
    shown = np.array(["shrunk"])
    one = Run(run.quantity, run.dtype, points, shown, got, run.borders, run.held, run.unit)
    judge(one, np.random.default_rng(0), confirm=False)
    return one


def _simpler(point: Point) -> Iterator[dict[str, tuple[np.ndarray, np.ndarray]]]:
    """Yield changes to try, coarse ones first: for each input a mask and the new values."""
    real = {name: x for name, x in point.items() if x.dtype.kind == "f"}
    unchanged = {name: (np.zeros(x.shape, bool), x) for name, x in point.items()}
    for simple in (np.zeros_like, np.ones_like, _one_digit, _two_digits):
        for name, x in real.items():
            yield unchanged | {name: (np.ones(x.shape, bool), simple(x))}
    for name, x in real.items():
        for place in np.ndindex(x.shape):
            where = np.zeros(x.shape, bool)
            where[place] = True
            for simple in (np.zeros_like, np.ones_like, _one_digit):
                yield unchanged | {name: (where, simple(x))}


def _length(point: Point) -> int:
    """Return the length of a point's numbers as text; 0 has no length."""
    numbers = (v for x in point.values() for v in x.ravel().tolist())
    return sum(len(repr(v)) for v in numbers if v)


def _one_digit(x: np.ndarray) -> np.ndarray:
    return np.array([float(f"{v:.0e}") for v in x.ravel().tolist()]).reshape(x.shape)


def _two_digits(x: np.ndarray) -> np.ndarray:
    return np.array([float(f"{v:.1e}") for v in x.ravel().tolist()]).reshape(x.shape)
