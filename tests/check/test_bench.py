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
from tests.support.budget import scaled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tests.check.entries import Entry
    from tests.check.forwards import Forward

BOUND = 1000
"""Units of rounding error, of the scale of the derivative, that a right derivative may be off."""

EXTREMES = 3  # points of a right gradient, for each dtype

MAGNITUDES = [
    *(1e-200, 1e-100, 1e-30, 1e-18, 1e-12, 1e-8, 1e-4, 0.03, 1.0, 3.0, 10.0, 30.0, 100.0, 700.0),
    *(1e4, 1e6, 1e8, 1e12, 1e16, 1e30, 1e70, 1e100, 1e150, 1e200, 1e300),
]


def ids(entry: Entry) -> str:
    return entry.name


@cache
def typical(forward: Forward) -> float:
    """The median of the gradient's components other than 0 at ordinary points."""
    rng = np.random.default_rng(7)
    seen: list[float] = []
    for _ in range(2):
        point = [
            rng.uniform(*forward.domain[name], shape)
            if name in forward.domain
            else rng.choice([-1.0, 1.0], shape) * 10 ** rng.uniform(-1, 1, shape)
            for name, shape in forward.inputs.items()
        ]
        w = rng.normal(size=shape) if (shape := np.shape(forward.fn(*point))) else None
        seen += [abs(v) for v in truth.flat(truth.gradient(forward.definition, point, w)) if v]
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
    parts = every(got) if len(shapes) > 1 else [np.asarray(got)]
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


def misses(entry: Entry, point: list[NDArray[Any]], seed: int = 0, second: bool = True) -> float:
    """The worst ratio of error and allowance among all derivatives that the entry offers."""
    f, of = entry.forward.definition, entry.offered()
    u = rounding(point)
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
        if second and "hessian" in of:
            second = truth.flat([truth.hessian(f, point)])
            judged(of["hessian"](*given), second, [shapes[0] * 2], lambda: np.max(np.abs(second)))
    return worst


def outside(entry: Entry, point: list[NDArray[Any]]) -> float:
    """How far the gradient is from the convex hull of those at neighbours of the point."""
    got = entry.offered()["gradient"](*[x.copy() for x in point])
    parts = every(got) if len(point) > 1 else [np.asarray(got)]
    rows = truth.limits(entry.forward.definition, point, parts, count=150)
    hull = np.vstack([rows.T, np.ones(len(rows))])
    g = np.concatenate([np.ravel(part) for part in parts]).astype(float)
    return float(nnls(hull, np.append(g, 1))[1]) / (1 + np.linalg.norm(g))


def rounding(point: list[NDArray[Any]]) -> float:
    """The unit roundoff of the inputs."""
    return float(np.finfo(point[0].dtype).eps) / 2


def as_arrays(point: Any, dtype: Any = float) -> list[NDArray[Any]]:
    return [np.array(x, dtype) for x in point]


@pytest.mark.slow
@pytest.mark.parametrize("entry", WRONG, ids=ids)
def test_planted_mistakes_show(entry):
    if callable(entry.witness):
        assert entry.witness(entry)
        return
    point = as_arrays(entry.witness, entry.dtypes()[0])
    if "tie" in entry.kinds:
        assert outside(entry, point) > BOUND * rounding(point)
    else:
        assert misses(entry, point) > 1


def extreme_points(entry: Entry, dtype: Any, count: int) -> Iterator[list[NDArray[Any]]]:
    """Inputs of a magnitude, or of which a single element has it, within the domain."""
    info, rng = np.finfo(dtype), np.random.default_rng(11)
    magnitudes = [m for m in MAGNITUDES if m < float(info.max)]
    found = 0
    for m in rng.permutation([0.0, float(info.smallest_subnormal), float(info.tiny), *magnitudes]):
        for single in (False, True):
            point = entry.points(found, dtype)
            for name, x in zip(entry.examples(), point, strict=True):
                extreme = m * rng.choice([-1.0, 1.0], x.shape) * rng.uniform(0.5, 1, x.shape)
                chosen = rng.random(x.shape) < 0.3 if single else np.ones(x.shape, bool)
                x[...] = np.where(
                    chosen, np.clip(extreme, *entry.forward.domain.get(name, (-np.inf, np.inf))), x
                )
            if found == count:
                return
            if ordinary(entry.forward, point):
                found += 1
                yield point


def ordinary(forward: Forward, point: list[NDArray[Any]]) -> bool:
    """Whether the function and its exact gradient are in the floats, all the way."""
    try:
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            value = forward.fn(*point)
    except FloatingPointError:
        return False
    limit = float(np.finfo(point[0].dtype).max)
    slope = truth.flat(truth.gradient(forward.definition, point, np.ones(np.shape(value))))
    return bool(np.all(np.isfinite(value)) and np.all(np.abs(slope) < limit))


@pytest.mark.slow
@pytest.mark.parametrize("entry", [e for e in RIGHT if np.float64 in e.dtypes()], ids=ids)
def test_right_derivatives_are_right(entry):
    """In both dtypes: what is offered for float32 alone is the same again."""
    for dtype in entry.dtypes():
        for seed in range(2):
            assert misses(entry, entry.points(seed, dtype), seed) <= 1
        for point in extreme_points(entry, dtype, scaled(EXTREMES)):
            assert misses(entry, point, second=False) <= 1 or at_a_kink(entry, point), point


def at_a_kink(entry: Entry, point: list[NDArray[Any]]) -> bool:
    """Whether the gradient at the point is one of several, and that of the entry one of them."""
    if "gradient" not in entry.callables:
        return False
    rows = truth.limits(entry.forward.definition, point, point)
    return bool(np.ptp(rows, axis=0).any()) and outside(entry, point) < BOUND * rounding(point)


@pytest.mark.slow
@pytest.mark.parametrize("entry", [e for e in RIGHT if e.forward.kinks], ids=ids)
def test_right_gradients_are_in_the_subdifferential(entry):
    for kink in entry.forward.kinks:
        point = as_arrays(kink, entry.dtypes()[0])
        assert outside(entry, point) < BOUND * rounding(point)


def test_the_bench_is_as_large_as_it_should_be():
    assert len(FORWARDS) >= 22
    assert len({entry.forward.name for entry in WRONG}) >= 20
    assert len(WRONG) >= 66
    assert len(RIGHT) >= 66
    assert sum(np.float64 not in entry.dtypes() for entry in RIGHT) >= len(RIGHT) / 3 - 1
    assert len({entry.name for entry in [*WRONG, *RIGHT]}) == len(WRONG) + len(RIGHT)
    counts = Counter(kind for entry in WRONG for kind in entry.kinds)
    assert set(counts) == set(KINDS)
    assert min(counts.values()) >= 2
    both = {tuple(e.callables.values()) for e in RIGHT if np.float64 in e.dtypes()}
    assert both == {tuple(entry.callables.values()) for entry in RIGHT}
    assert all(named(name).kinds for name in DEFAULT_GRADCHECK_PASSES)
