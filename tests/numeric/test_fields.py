"""Pictures of functions of two numbers: contours, arrows, crosses and marks, by what is known."""

from __future__ import annotations

import numpy as np
import pytest

import numeric as nm
import symdiff as sd
from numeric.show import fields, landscapes
from tests.numeric.test_plots import clear, labels

pytest.importorskip("matplotlib")

x, y, k = sd.symbols("x y k")
w = sd.symbol("w", 2)


def quivers(picture):
    from matplotlib.quiver import Quiver

    return [c for c in picture.axes[0].collections if isinstance(c, Quiver)]


def markers(picture):
    return {
        line.get_marker(): np.round(np.transpose(line.get_data()), 9).tolist()
        for line in picture.axes[0].lines
        if line.get_linestyle() == "None"
    }


@pytest.fixture(scope="module")
def himmelblau():
    """Himmelblau's function, of 1972, whose critical points are known."""
    f = (x**2 + y - 11) ** 2 + (x + y**2 - 7) ** 2
    return nm.plot_field(f, (x, y), range=(-5, 5))


def test_arrows_are_the_gradient(himmelblau):
    arrows = quivers(himmelblau)[0]
    a, b = arrows.get_offsets().T
    gx = 4 * a * (a**2 + b - 11) + 2 * (a + b**2 - 7)
    gy = 2 * (a**2 + b - 11) + 4 * b * (a + b**2 - 7)
    size, length = np.hypot(gx, gy), np.hypot(arrows.U, arrows.V)
    np.testing.assert_allclose(arrows.U * size, gx * length, atol=1e-9 * size.max())
    np.testing.assert_allclose(arrows.V * size, gy * length, atol=1e-9 * size.max())
    (words,) = (label for label in labels(himmelblau) if "gradient" in label)
    longest = float(words.partition("≥ ")[2])
    np.testing.assert_allclose(length, np.minimum(size / longest, 1), atol=1e-9)
    assert arrows.angles == "xy"


def test_crosses_are_the_eigenvectors(himmelblau):
    up, down = quivers(himmelblau)[1:]
    for crosses, sign in ((up, 1), (down, -1)):
        assert len(crosses.U)
        for (a, b), u, v in zip(crosses.get_offsets(), crosses.U, crosses.V, strict=True):
            matrix = np.array(
                [[12 * a**2 + 4 * b - 42, 4 * (a + b)], [4 * (a + b), 12 * b**2 + 4 * a - 26]]
            )
            direction = np.array([u, v]) / np.hypot(u, v)
            eigenvalue = direction @ matrix @ direction
            np.testing.assert_allclose(matrix @ direction, eigenvalue * direction, atol=1e-9)
            assert np.sign(eigenvalue) == sign


def test_critical_points_are_found_and_classified(himmelblau):
    found = markers(himmelblau)
    np.testing.assert_allclose(
        found["o"],
        [[-3.77931025, -3.28318599], [-2.80511809, 3.13131252], [3, 2], [3.58442834, -1.84812653]],
        atol=1e-8,
    )
    np.testing.assert_allclose(found["^"], [[-0.27084459, -0.92303856]], atol=1e-8)
    assert len(found["X"]) == 4
    assert len(himmelblau.notes) == 3


def test_the_classes_of_critical_points():
    def kinds(f):
        picture = nm.plot_field(f, (x, y), range=(-1, 1.1))
        return {shape: places for shape, places in markers(picture).items() if places}

    assert kinds(x**2 + 3 * y**2) == {"o": [[0, 0]]}
    assert kinds(-(x**2) - y**2 + x * y) == {"^": [[0, 0]]}
    assert kinds(x * y) == {"X": [[0, 0]]}
    assert kinds(x + y) == {}
    assert kinds(x**2 + y**3 - y**2 * 3 / 4) == {"X": [[0, 0]], "o": [[0, 0.5]]}


def test_a_line_of_critical_points_is_not_marked():
    assert markers(nm.plot_field((x - y) ** 2, (x, y))) == {}


def test_a_gradient_that_is_0_by_convention_is_no_critical_point():
    picture = nm.plot_field(abs(x) + abs(y), (x, y))
    assert markers(picture) == {}
    assert "kink or jump" in labels(picture)


def test_kinks_are_drawn_where_there_are_any():
    """The larger of |x| and |y| has kinks on the diagonals; those of |x| and |y| do not show."""
    field = fields._field(sd.maximum(abs(x), abs(y)) + x * y / 4, (x, y), None, None)
    drawn = [np.transpose(line) for line in landscapes.broken(field)]
    points = np.concatenate([line[np.isfinite(line[:, 0])] for line in drawn])
    assert len(points) > 300
    off = np.abs(np.abs(points[:, 0]) - np.abs(points[:, 1]))
    assert off.max() < 1e-9 or np.abs(points[off > 1e-9]).max() < 4 * 6 * landscapes.BESIDE


def test_where_there_is_no_value_it_is_hatched():
    inside = nm.plot_field(sd.sqrt(4 - x**2 - y**2), (x, y))
    assert inside.axes[0].patch.get_hatch()
    assert "outside of the domain" in labels(inside)
    arrows = quivers(inside)[0]
    assert (np.linalg.norm(arrows.get_offsets(), axis=1) < 2).all()
    whole = nm.plot_field(x * y, (x, y))
    assert not whole.axes[0].patch.get_hatch()
    assert "outside of the domain" not in labels(whole)


def test_a_function_without_values_is_nothing_but_hatched():
    picture = nm.plot_field(sd.log(-1 - x**2) + y, (x, y))
    assert labels(picture) == ["outside of the domain"]


def test_the_point_is_marked_and_has_the_only_cross():
    picture = nm.plot_field(k * x * x * y, (x, y), at={x: 1, y: 2, k: 3})
    _, up, down = quivers(picture)
    assert up.get_offsets().tolist() == down.get_offsets().tolist() == [[1, 2]]
    assert "(1, 2): f = 6, ∇f = (12, 3)" in labels(picture)
    assert picture.title.endswith("k = 3")


def test_a_symbol_of_two_elements():
    picture = nm.plot_field(sd.exp(-w @ w) * w[0], w)
    assert (picture.axes[0].get_xlabel(), picture.axes[0].get_ylabel()) == ("w[0]", "w[1]")
    np.testing.assert_allclose(markers(picture)["^"], [[0.5**0.5, 0]], atol=1e-9)


def test_a_wrong_gradient_is_caught(monkeypatch, himmelblau):
    right = sd.diff
    monkeypatch.setattr(landscapes.sd, "diff", lambda f, v: right(f, v) * (1.001 if v is x else 1))
    f = (x**2 + y - 11) ** 2 + (x + y**2 - 7) ** 2
    with pytest.raises(AssertionError):
        test_arrows_are_the_gradient(nm.plot_field(f, (x, y), range=(-5, 5)))


def test_axes_may_be_given():
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    picture = nm.plot_field(x * y, (x, y), ax=ax)
    assert picture.axes == (ax,)
    assert len(labels(picture)) == 4


def test_a_range_may_be_a_dict_by_symbol_or_name():
    wanted = nm.plot_field(x * y, (x, y), range=((-2, 2), (-1, 3))).axes[0]
    for given in ({x: (-2, 2), y: (-1, 3)}, {"y": (-1, 3), "x": (-2, 2)}):
        axes = nm.plot_field(x * y, (x, y), range=given).axes[0]
        assert (axes.get_xlim(), axes.get_ylim()) == (wanted.get_xlim(), wanted.get_ylim())


@pytest.mark.parametrize(
    ("f", "v", "how", "error", "words"),
    [
        (x * y * k, (x, y), {}, ValueError, "no value for k"),
        (x * y, x, {}, ValueError, "1 variables; give two"),
        (x * y, (x, x), {}, ValueError, "given twice"),
        (x * y, (x, y), {"at": {x: 1}}, ValueError, "values for both"),
        (x * y, (x, y), {"range": (1, 2, 3)}, TypeError, "not a pair of numbers"),
        (x * y, (x, y), {"range": {x: (0, 1)}}, ValueError, "no entry for y"),
        (
            x * y,
            (x, y),
            {"range": {x: (0, 1), y: (0, 1), "k": 3}},
            ValueError,
            "other than for x, y",
        ),
        (x * y, (x, y), {"range": [(0, 1)] * 3}, TypeError, "neither a pair nor two pairs"),
        (x * y, (x, y), {"range": ((1, 2), (2, 1))}, ValueError, "not a finite range"),
        (x * y, (x, y), {"at": {x: 1, y: 9}, "range": (0, 2)}, ValueError, "outside of the range"),
        (x * y * sd.ones(2), (x, y), {}, ValueError, "2 elements"),
        (w @ sd.symbol("v", 3)[:2], (w, x), {}, ValueError, "shape"),
    ],
)
def test_what_cannot_be_drawn_is_refused(f, v, how, error, words):
    with pytest.raises(error, match=words):
        nm.plot_field(f, v, **how)


SPECIMENS = {
    "a jump": (sd.where(x > y, x, x + 3), {}),
    "constant": (0 * x * y + 1, {}),
    "flat": (1e-3 * x * y, {"range": ((0, 1), (0, 100))}),
    "huge": (sd.exp(x * x + y * y), {"range": (-6, 6)}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SPECIMENS)
def test_everything_is_named_and_nothing_overflows(name):
    f, how = SPECIMENS[name]
    picture = nm.plot_field(f, (x, y), **how)
    assert picture.figure.get_suptitle().startswith("$f(x, y) = ")
    main, bar = picture.figure.axes
    assert (main.get_xlabel(), main.get_ylabel(), bar.get_ylabel()) == ("x", "y", "f(x, y)")
    assert clear(picture)
