"""The sliders move the point and the parameters, and all that is shown follows them."""

from __future__ import annotations

import math
import re
import sys
from dataclasses import replace

import numpy as np
import pytest

import numeric as nm
import symdiff as sd
from numeric.show import exploring
from tests.support.pages import Checked

pytest.importorskip("matplotlib")
widgets = pytest.importorskip("ipywidgets")

x, y, a = sd.symbols("x y a")
q = sd.symbol("q", 2)


def told(explorer):
    """The numbers of the table, by derivative."""
    cells = explorer.html.split("<tbody>")[1].split("</tbody>")[0]
    rows = [re.findall(r"<td[^>]*>([^<]*)</td>", row) for row in cells.split("<tr>")[1:]]
    return [row[2].replace("−", "-") for row in rows]


def test_the_slider_moves_the_point():
    explorer = nm.explore(sd.sin(x) * y, x, at={x: 0.5, y: 2}, range=(0, 3))
    slider = explorer.sliders["x"]
    assert (slider.min, slider.max, slider.value) == (0, 3, 0.5)
    before = explorer.picture.encoded()
    for t in (0.5, 1.5, 2.25):
        slider.value = t
        expected = [2 * math.sin(t), 2 * math.cos(t), -2 * math.sin(t)]
        np.testing.assert_allclose([float(v) for v in told(explorer)], expected, rtol=1e-3)
    assert explorer.picture.encoded() != before


def test_every_parameter_has_a_slider_that_picture_and_formulas_follow():
    k = sd.symbol("k", dtype=int)
    f = a * sd.sin(k * x) + q @ q
    explorer = nm.explore(f, x, at={x: 1, a: 2}, range={"x": (0, 3), a: (0, 10), "q[1]": (-1, 1)})
    assert sorted(explorer.sliders) == ["a", "k", "q[0]", "q[1]", "x"]
    sliders = explorer.sliders
    assert (sliders["a"].min, sliders["a"].max, sliders["a"].value) == (0, 10, 2)
    assert (sliders["q[1]"].min, sliders["q[1]"].max, sliders["q[1]"].value) == (-1, 1, 1)
    assert isinstance(sliders["k"], widgets.IntSlider)
    sliders["a"].value, sliders["k"].value, sliders["q[0]"].value = 3, 2, 0.5
    t, values = explorer.picture.axes[0].lines[0].get_data()
    np.testing.assert_allclose(values, 3 * np.sin(2 * t) + 1.25, atol=1e-9)
    expected = [3 * math.sin(2) + 1.25, 6 * math.cos(2), -12 * math.sin(2)]
    np.testing.assert_allclose([float(v) for v in told(explorer)], expected, rtol=1e-3)
    assert sd.latex(f.subs({a: 3.0, k: 2})) in explorer.html
    assert "a = 3" in explorer.picture.title


def test_the_range_of_x_stays_where_a_parameter_moves():
    explorer = nm.explore(sd.sqrt(a - x), x)
    before = explorer.picture.axes[0].get_xlim()
    explorer.sliders["a"].value = 2.5
    assert explorer.picture.axes[0].get_xlim() == before


def test_where_a_parameter_leaves_no_values_nothing_is_raised():
    explorer = nm.explore(sd.log(a) * x, x, range={x: (0, 1), a: (-2, 2)})
    explorer.sliders["a"].value = -1
    assert told(explorer) == ["nan"] * 3
    assert explorer.picture.encoded()


def test_several_formulas_have_curves_and_rows_of_their_own():
    explorer = nm.explore([sd.sin(x), a * x], x, 1, at={x: 0, a: 0.5}, range=(-2, 2))
    assert told(explorer) == ["0", "1", "0", "0.5"]
    assert r"f_{2}'\left(x\right)" in explorer.html
    assert r"f_{1}\left(x\right) \approx x" in explorer.html
    explorer.sliders["a"].value = 1
    _, values = explorer.picture.axes[1].lines[1].get_data()
    assert set(values.tolist()) == {1.0}


def test_curves_are_computed_once_for_a_point(monkeypatch):
    explorer = nm.explore(sd.exp(x), x, range=(0, 1))
    monkeypatch.setattr(exploring, "drawing", None)
    explorer.sliders["x"].value = 1.0
    assert told(explorer) == ["2.718"] * 3


def test_the_polynomial_is_that_of_the_point():
    explorer = nm.explore(x**2, x, range=(-3, 3), at=-1)
    polynomial = r"\approx 1 - 2 \left(x + 1\right) + \left(x + 1\right)^{2}$"
    assert polynomial in explorer.html


def test_at_a_kink_it_is_said():
    explorer = nm.explore(abs(x - 1), x, range=(0, 2), at=1)
    assert "x = 1 is at a kink of f" in explorer.html
    assert "approx" not in explorer.html


def test_elements_and_several_values():
    explorer = nm.explore(sd.stack([q @ q, q[0]]), q[0], 1, at={q: [1, 2]}, range=(0, 4))
    assert list(explorer.sliders) == ["q[0]", "q[1]"]
    explorer.sliders["q[0]"].value = 3.0
    assert told(explorer) == ["13, 3", "6, 1"]
    explorer.sliders["q[1]"].value = 0.0
    assert told(explorer) == ["9, 3", "6, 1"]


def test_what_is_told_is_escaped():
    whole = nm.explore(x**2, x, 1, at=1.0, range=(0, 2))._whole

    class Named(type(whole.subject)):
        name = "<b>&"

    subject = Named("explore", x**2, x, 1, 1.0)
    page = Checked(exploring.explanation(replace(whole, subject=subject)))
    assert "b" not in page.tags
    assert "at <b>& = 1" in page.text
    kinked = nm.explore(sd.where(x < a, x, 1), x, 0).html
    assert "<" not in re.sub(r"</?(div|table|thead|tbody|tr|th|td|p|span)( [^<>]*)?>", "", kinked)


# What notebooks get -------------------------------------------------------------------------------


class Shell:
    """What IPython shows, as far as a kernel goes."""

    kernel = object()


def test_outputs_are_usual_pictures_and_pages_that_are_updated(monkeypatch):
    """So a saved notebook shows the last ones without a kernel."""
    from IPython import display

    sent: list[tuple[dict, str | None, bool]] = []
    monkeypatch.setattr(exploring, "_shell", Shell)
    monkeypatch.setattr(
        display,
        "display",
        lambda data, display_id=None, **_: sent.append((data, display_id, False)),
    )
    monkeypatch.setattr(
        display,
        "update_display",
        lambda data, *, display_id, **_: sent.append((data, display_id, True)),
    )
    explorer = nm.explore(a * x**2, x, range=(0, 1))
    explorer._ipython_display_()
    kinds = [set(data) - {"text/plain"} for data, _, _ in sent]
    assert kinds == [
        {"application/vnd.jupyter.widget-view+json"},
        {"image/png"},
        {"text/html"},
    ]
    assert "need a running kernel" in sent[0][0]["text/plain"]
    ids = [shown for _, shown, _ in sent[1:]]
    del sent[:]
    explorer.sliders["a"].value = 2
    assert [(shown, update) for _, shown, update in sent] == [(ids[0], True), (ids[1], True)]
    assert sent[0][0]["image/png"] == explorer.picture.encoded()
    assert sent[1][0]["text/html"] == explorer.html


def test_without_a_kernel_it_is_a_picture():
    explorer = nm.explore(x**2, x)
    with pytest.raises(NotImplementedError):
        explorer._ipython_display_()
    data, size = explorer._repr_png_()
    assert data.startswith(b"\x89PNG")
    assert size["width"] == 825


# Refusals -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: nm.explore(x * y), ValueError, "explore: by which variable.* x, y"),
        (lambda: nm.explore(sd.sum(sd.symbol("w", 9)) * x, x), ValueError, "no value for w; give"),
        (lambda: nm.explore(sd.sum(sd.symbol("w", "n")) * x, x), ValueError, "no value for w"),
        (lambda: nm.explore(x, x, range={y: (0, 1)}), ValueError, "entry for y, which has no slid"),
        (
            lambda: nm.explore(x, x, range={3: (0, 1)}),
            TypeError,
            "the key 3, which is neither a sy",
        ),
        (lambda: nm.explore(x, x, range={x: 3}), TypeError, "range=3 is not a pair"),
        (
            lambda: nm.explore(x, x, range=(0, 1), at=3),
            ValueError,
            "x = 3.0 is outside of the range",
        ),
        (
            lambda: nm.explore(a * x, x, range={a: (0, 1)}, at={a: 3}),
            ValueError,
            "a = 3.0 is outside of the range 0.0 to 1.0",
        ),
    ],
)
def test_it_refuses_what_it_cannot_show(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_without_widgets_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    with pytest.raises(ImportError, match=r"explore needs ipywidgets: .*symdiff-numeric\[viz\]"):
        nm.explore(x, x)
