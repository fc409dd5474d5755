"""The slider moves the point, and what is told is told of that point."""

from __future__ import annotations

import math
import re
import sys

import numpy as np
import pytest

import numeric as nm
import symdiff as sd
from numeric.show import exploring

pytest.importorskip("matplotlib")
widgets = pytest.importorskip("ipywidgets")

x, y = sd.symbols("x y")
q = sd.symbol("q", 2)


def told(box):
    """The numbers of the table, by derivative."""
    cells = box.children[2].value.split("<tbody>")[1].split("</tbody>")[0]
    rows = [re.findall(r"<td[^>]*>([^<]*)</td>", row) for row in cells.split("<tr>")[1:]]
    return [row[2].replace("−", "-") for row in rows]


def test_the_slider_moves_the_point():
    box = nm.explore(sd.sin(x) * y, x, at={x: 0.5, y: 2}, range=(0, 3))
    slider, image, _ = box.children
    assert (slider.min, slider.max, slider.value) == (0, 3, 0.5)
    before = bytes(image.value)
    assert before.startswith(b"\x89PNG")
    for t in (0.5, 1.5, 2.25):
        slider.value = t
        expected = [2 * math.sin(t), 2 * math.cos(t), -2 * math.sin(t)]
        np.testing.assert_allclose([float(v) for v in told(box)], expected, rtol=1e-3)
    assert bytes(image.value) != before


def test_curves_are_computed_once(monkeypatch):
    box = nm.explore(sd.exp(x), x, range=(0, 1))
    monkeypatch.setattr(exploring, "drawing", None)
    box.children[0].value = 1.0
    assert told(box) == ["2.718"] * 3


def test_the_polynomial_is_that_of_the_point():
    box = nm.explore(x**2, x, range=(-3, 3), at=-1)
    assert "f(x) ≈ 1 − 2·(x + 1) + 1·(x + 1)²" in box.children[2].value


def test_at_a_kink_it_is_said():
    box = nm.explore(abs(x - 1), x, range=(0, 2), at=1)
    assert "x = 1 is at a kink of f" in box.children[2].value


def test_elements_and_several_values():
    box = nm.explore(sd.stack([q @ q, q[0]]), q[0], 1, at={q: [1, 2]}, range=(0, 4))
    assert box.children[0].description == "q[0]"
    box.children[0].value = 3.0
    assert told(box) == ["13, 3", "6, 1"]


def test_what_is_told_is_escaped():
    from dataclasses import replace

    from numeric.show.plots import Subject, drawing

    class Named(Subject):
        name = "<b>&"

    made = drawing(Subject("explore", x**2, x, 1, 1.0), (0, 2))
    subject = Named("explore", x**2, x, 1, 1.0)
    text = exploring.explanation(replace(made, subject=subject))
    assert "<b>" not in text
    assert "&lt;b&gt;&amp;" in text


def test_it_refuses_what_a_plot_refuses():
    with pytest.raises(ValueError, match="explore: no value for y"):
        nm.explore(x * y, x)


def test_without_widgets_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    with pytest.raises(ImportError, match=r"explore needs ipywidgets: .*symdiff-numeric\[viz\]"):
        nm.explore(x, x)
