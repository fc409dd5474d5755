"""Systems by their diagonals: as SciPy's, at a cost that grows with their number."""

import sys

import numpy as np
import pytest
import scipy.linalg
from numpy.linalg import LinAlgError

import numeric as nm
import symdiff as sd
from symdiff.graph.node import topological


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def system(rng, sides, n, *lead):
    ab = rng.normal(size=(*lead, sum(sides) + 1, n))
    ab[..., sides[1], :] += 9
    return ab, rng.normal(size=(n,))


@pytest.mark.parametrize("sides", [(0, 0), (1, 1), (2, 1), (0, 3), (3, 0), (4, 4)])
def test_as_scipy_has_it(sides, rng):
    ab, b = system(rng, sides, 6)
    x, y = sd.symbol("ab", ab.shape), sd.symbol("b", 6)
    found = nm.lower(sd.solve_banded(sides, x, y), [x, y])(ab, b)
    np.testing.assert_allclose(found, scipy.linalg.solve_banded(sides, ab, b), rtol=1e-14)


def test_nothing_dense_is_made(rng):
    """No node of a derivative of any order has two axes as long as the system."""
    ab, b = sd.symbol("ab", (3, "n")), sd.symbol("b", "n")
    loss = sd.sum(sd.solve_banded((1, 1), ab, b) ** 2)
    first = sd.grad(loss, [ab, b])
    second = sd.hvp(loss, [ab, b], [ab * ab, b * b])
    third = sd.grad(sd.sum(second[0]), ab)
    nodes = topological([*first, *second, third])
    assert all(node.shape.count("n") <= 1 for node in nodes)
    at, right = system(rng, (1, 1), 20_000)
    found = nm.lower(first, [ab, b])(at, right)
    x = scipy.linalg.solve_banded((1, 1), at, right)
    expected = scipy.linalg.solve_banded((1, 1), transposed(at), 2 * x)
    np.testing.assert_allclose(found[1], expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(found[0][1], -expected * x, rtol=1e-12, atol=1e-14)


def transposed(ab):
    """Of a matrix of three diagonals."""
    up, low = np.zeros_like(ab[0]), np.zeros_like(ab[0])
    up[1:], low[:-1] = ab[2, :-1], ab[0, 1:]
    return np.stack([up, ab[1], low])


def test_places_outside_do_not_count(rng):
    ab, b = system(rng, (2, 1), 5)
    x, y = sd.symbol("ab", ab.shape), sd.symbol("b", 5)
    outside = np.isin(ab, [ab[0, 0], ab[2, 4], ab[3, 3], ab[3, 4]])
    run = nm.lower(sd.grad(sd.sum(sd.solve_banded((2, 1), x, y) ** 2), [x, y]), [x, y])
    for now in (ab, np.where(outside, np.nan, ab)):
        by_ab, by_b = run(now, b)
        np.testing.assert_array_equal(by_ab == 0, outside)
        np.testing.assert_array_equal(by_b, run(ab, b)[1])


def test_a_singular_system_is_refused():
    with pytest.raises(LinAlgError, match="ingular"):
        nm.interpret(sd.solve_banded((1, 1), np.zeros((3, 4)), sd.ones(4)), {})


def test_without_scipy_it_is_refused_by_name(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(sd.Unsupported, match=r"solve_banded needs SciPy: pip .*\[scipy\]"):
        nm.interpret(sd.solve_banded((0, 0), np.ones((1, 4)), sd.ones(4)), {})


@pytest.mark.parametrize(
    ("sides", "shapes", "error", "message"),
    [
        ((-1, 1), ((1, 4), (4,)), ValueError, "not numbers of diagonals"),
        ((1, 1), ((2, 4), (4,)), sd.ShapeError, "needs 3 rows, for 1 .* below .* and 1 above"),
        ((1, 1), ((3, 4), (5,)), sd.ShapeError, "solve_banded: .* equally long"),
        ((1, 1), ((3, 4), ()), sd.ShapeError, "solve_banded: .* equally long"),
        ((1, 1), ((3,), (3,)), sd.ShapeError, "solve_banded"),
        ((1, 1), ((2, 3, 4), (5, 4, 1)), sd.ShapeError, "solve_banded: .* broadcast"),
        ((0.5, 1), ((3, 4), (4,)), TypeError, "expects a tuple of 2 ints"),
    ],
)
def test_wrong_arguments(sides, shapes, error, message):
    ab, b = (sd.symbol(name, shape) for name, shape in zip(("ab", "b"), shapes, strict=True))
    with pytest.raises(error, match=message):
        sd.solve_banded(sides, ab, b)
