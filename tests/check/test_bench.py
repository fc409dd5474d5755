"""The bench itself: what is called right is right, and what is called wrong shows its mistake.

Derivatives are compared with those of ``truth``, by differences in hundreds of digits.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.optimize import nnls

from numeric.check.report import KINDS
from tests.check import truth
from tests.check.bench import DEFAULT_GRADCHECK_PASSES, FORWARDS, RIGHT, WRONG, named
from tests.check.entries import every

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tests.check.entries import Entry
    from tests.check.forwards import Forward

BOUND = 1000
"""Units of rounding error, of the scale of the derivative, that a right derivative may be off."""

FINITE = 1e-9  # of a convex hull: far below every planted mistake, far above 60 draws' rounding


def ids(entry: Entry) -> str:
    return entry.name


@cache
def typical(forward: Forward) -> float:
    """The median of the gradient's components other than 0 at ordinary points: G of the issue."""
    rng = np.random.default_rng(7)
    seen: list[float] = []
    for _ in range(5):
        point = [
            rng.uniform(*forward.domain[name], shape)
            if name in forward.domain
            else rng.choice([-1.0, 1.0], shape) * 10 ** rng.uniform(-1, 1, shape)
            for name, shape in forward.inputs.items()
        ]
        seen += [abs(v) for v in truth.flat(truth.gradient(forward.definition, point)) if v]
    return float(np.median(seen))


def _conditioned(f: Any, point: Any, w: Any) -> NDArray[np.float64]:
    """How much each component moves with the inputs' and the cotangents' last digits, over u."""
    inputs = np.array([abs(float(x)) for x in truth.joined(point)])
    second = np.abs(truth.hessian(f, point, w).astype(object))
    scale = np.array(
        [sum(abs(float(v.v)) * x for v, x in zip(row, inputs, strict=True)) for row in second.T]
    )
    if w is not None:
        for k in np.ndindex(np.shape(w)):
            single = np.zeros(np.shape(w))
            single[k] = w[k]
            scale = scale + np.abs(truth.flat(truth.gradient(f, point, single)))
    return scale


def _misses(got: Any, exact: Any, shapes: list[Any], u: float, scale: Any) -> float:
    """The largest error over what is allowed; inf for a wrong shape or a nan."""
    parts = every(got)
    if [np.shape(p) for p in parts] != shapes:
        return np.inf
    values = np.array([float(v) for p in parts for v in np.ravel(p)])
    limit = float(np.finfo(np.float64 if u < 1e-10 else np.float32).max)
    exact = np.where(np.abs(exact) > limit, np.sign(exact) * np.inf, exact)
    if not values.size:
        return 0.0
    same = values == exact
    errors = np.where(same, 0, np.abs(values - np.where(same, values, exact)))
    ratios = errors / (BOUND * u * (np.abs(np.where(np.isfinite(exact), exact, 0)) + scale))
    return float(np.max(np.where(np.isnan(ratios), np.inf, ratios)))


def misses(entry: Entry, point: list[NDArray[Any]], seed: int = 0) -> float:
    """The worst ratio of error and allowance among all derivatives that the entry offers."""
    f, of = entry.forward.definition, entry.offered()
    u = float(np.finfo(point[0].dtype).eps) / 2
    rng = np.random.default_rng(seed)
    shapes, worst, G = [x.shape for x in point], 0.0, typical(entry.forward)

    def judged(got: Any, exact: Any, shapes: Any, more: Any) -> None:
        nonlocal worst
        ratio = _misses(got, exact, shapes, u, G)
        if 1 < ratio < np.inf:
            ratio = _misses(got, exact, shapes, u, G + more())
        worst = max(worst, ratio)

    given = [x.copy() for x in point]
    with np.errstate(all="ignore"):
        if "gradient" in of:
            exact = truth.flat(truth.gradient(f, point))
            judged(of["gradient"](*given), exact, shapes, lambda: _conditioned(f, point, None))
        if "vjp" in of:
            w = np.asarray(rng.normal(size=entry.forward.fn(*point).shape), point[0].dtype)
            exact = truth.flat(truth.gradient(f, point, w))
            judged(of["vjp"](*given, w), exact, shapes, lambda: _conditioned(f, point, w))
        if "jvp" in of:
            ts = [np.asarray(rng.normal(size=s), point[0].dtype) for s in shapes]
            pushed = truth.jvp(f, point, ts)
            by_one = [
                truth.flat(
                    [truth.jvp(f, point, [t if i == j else 0 * t for j, t in enumerate(ts)])]
                )
                for i in range(len(ts))
            ]
            judged(
                of["jvp"](*given, *ts),
                truth.flat([pushed]),
                [pushed.shape],
                lambda: np.max(np.abs(by_one)),
            )
        if "hessian" in of:
            second = truth.flat([truth.hessian(f, point)])
            judged(of["hessian"](*given), second, [shapes[0] * 2], lambda: np.max(np.abs(second)))
    return worst


def outside(entry: Entry, point: list[NDArray[Any]]) -> float:
    """How far the gradient is from the convex hull of those at neighbours of the point."""
    got = [np.ravel(p) for p in every(entry.offered()["gradient"](*[x.copy() for x in point]))]
    rows = truth.limits(entry.forward.definition, point, count=150)
    hull = np.vstack([rows.T, np.ones(len(rows))])
    return float(nnls(hull, np.append(np.concatenate(got).astype(float), 1))[1])


def as_arrays(point: Any, dtype: Any = float) -> list[NDArray[Any]]:
    return [np.array(x, dtype) for x in point]


@pytest.mark.parametrize("entry", WRONG, ids=ids)
def test_planted_mistakes_show(entry):
    if callable(entry.witness):
        assert entry.witness(entry)
        return
    point = as_arrays(entry.witness, entry.dtypes()[0])
    if "tie" in entry.kinds:
        assert outside(entry, point) > FINITE
    else:
        assert misses(entry, point) > 1


def test_the_bench_is_as_large_as_it_should_be():
    assert len(FORWARDS) >= 22
    assert len({entry.forward.name for entry in WRONG}) >= 20
    assert len(WRONG) >= 66
    assert len({entry.name for entry in [*WRONG, *RIGHT]}) == len(WRONG) + len(RIGHT)
    counts = Counter(kind for entry in WRONG for kind in entry.kinds)
    assert set(counts) == set(KINDS)
    assert min(counts.values()) >= 2
    assert all(named(name).kinds for name in DEFAULT_GRADCHECK_PASSES)
