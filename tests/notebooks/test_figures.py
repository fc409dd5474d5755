"""Figures without a title, labels or a legend are noticed; the pictures of the package are not."""

from matplotlib.figure import Figure

import numeric as nm
import symdiff as sd
from tests.notebooks.figures import lacking


def figure(**left_out):
    """Two curves with everything that they need, but for what is left out."""
    made = Figure()
    ax = made.subplots()
    for name in ("one", "two"):
        ax.plot([1, 2], [3, 4], label=name)
    ax.set(**({"title": "Curves", "xlabel": "t [s]", "ylabel": "x [m]"} | left_out))
    return made, ax


def test_a_figure_that_has_everything():
    made, ax = figure()
    ax.legend()
    assert list(lacking(made)) == []
    made, ax = figure(title="")
    made.suptitle("Curves")
    made.legend()
    made.colorbar(ax.scatter([1, 2], [1, 2], c=[1, 2]), label="z [kg]")
    assert list(lacking(made)) == []


def test_what_is_lacking():
    made, ax = figure(title="", xlabel="", ylabel="")
    assert list(lacking(made)) == [
        "a figure without a title",
        "numbers along x without a label",
        "numbers along y without a label",
        "no legend of one, two",
    ]
    ax.legend()
    ax.set_axis_off()
    ax.set_title("Without axes")
    assert list(lacking(made)) == []


def test_axes_that_share_numbers_or_have_words():
    made = Figure()
    upper, lower = made.subplots(2, sharex=True)
    upper.set(title="Shared", ylabel="a")
    lower.set(xlabel="t [s]", yticks=[0, 1], yticklabels=["one", "two"])
    assert list(lacking(made)) == []


def test_pictures_of_the_package():
    x, y = sd.symbols("x y")
    check = nm.check.taylor(lambda v: (v**2).sum(), lambda v: 2 * v, [1.0, 2.0])
    for picture in (nm.plot(sd.sin(x), x, at=1), nm.plot_field(x * y, (x, y)), check.plot()):
        assert list(lacking(picture.figure)) == []
