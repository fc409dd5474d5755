"""From a point at which a derivative is wrong to the simplest one nearby that shows it as well."""

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
_KEPT = 0.1  # of the error, or of S + G: a simpler point may show less of it


def shrunk(
    probe: Probe, run: Run, i: int, row: int, size: float
) -> tuple[Point, np.ndarray, np.ndarray]:
    """The point, what comes there, and which components are wrong.

    Elements become 0, 1, or numbers of one or two digits, one input after the other and then one
    element after the other, as long as the output stays wrong by a tenth of ``size``, or by a
    tenth of what is usual of it, S + G, if that is less.
    """

    def shown(trial: Point) -> tuple[np.ndarray, np.ndarray] | None:
        one = _judged(probe, run, trial)
        now = badness(one, i, 0)
        if one.wrong[i].any() and now >= _KEPT * min(size, 1) and np.isinf(now) == np.isinf(size):
            return one.got[i][0], one.wrong[i][0]
        return None

    return simplest(run.at(row), (run.got[i][row], run.wrong[i][row]), shown)


def simplest(
    best: Point,
    found: tuple[object, object],
    shown: Callable[[Point], tuple[object, object] | None],
    most: int = _MOST_TRIALS,
) -> tuple[Point, Any, Any]:
    """The simplest point that still shows something, and what that is; None if it does not.

    ``found`` is what ``best`` shows; at ``most`` so many points are tried.
    """
    trials = 0
    for simpler in _simpler(best):
        if trials >= most:
            break
        trial = {name: np.where(take, y, best[name]) for name, (take, y) in simpler.items()}
        trial = {name: np.asarray(x, best[name].dtype) for name, x in trial.items()}
        if _length(trial) >= _length(best):
            continue
        trials += 1
        try:
            still = shown(trial)
        except (Exhausted, Misshapen):
            break
        if still is not None:
            best, found = trial, still
    return best, *found


def _judged(probe: Probe, run: Run, point: Point) -> Run:
    got = [y[None] for y in probe(point)]
    points = {name: x[None] for name, x in point.items()}
    shown = np.array(["shrunk"])
    one = Run(run.quantity, run.dtype, points, shown, got, run.borders, run.held, run.unit)
    judge(one, np.random.default_rng(0), confirm=False)
    return one


def _simpler(point: Point) -> Iterator[dict[str, tuple[np.ndarray, np.ndarray]]]:
    """Changes to try, coarse ones first: where to change each input, and to what."""
    real = {name: x for name, x in point.items() if x.dtype.kind == "f"}
    none = {name: (np.zeros(x.shape, bool), x) for name, x in point.items()}
    for simple in (np.zeros_like, np.ones_like, _one_digit, _two_digits):
        for name, x in real.items():
            yield none | {name: (np.ones(x.shape, bool), simple(x))}
    for name, x in real.items():
        for place in np.ndindex(x.shape):
            where = np.zeros(x.shape, bool)
            where[place] = True
            for simple in (np.zeros_like, np.ones_like, _one_digit):
                yield none | {name: (where, simple(x))}


def _length(point: Point) -> int:
    """How long a point is to write; 0 has no length."""
    numbers = (v for x in point.values() for v in x.ravel().tolist())
    return sum(len(repr(v)) for v in numbers if v)


def _one_digit(x: np.ndarray) -> np.ndarray:
    return np.array([float(f"{v:.0e}") for v in x.ravel().tolist()]).reshape(x.shape)


def _two_digits(x: np.ndarray) -> np.ndarray:
    return np.array([float(f"{v:.1e}") for v in x.ravel().tolist()]).reshape(x.shape)
