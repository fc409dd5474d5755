"""What the pictures of checks show: remainders with their slopes, worst errors where they are."""

from __future__ import annotations

import numpy as np
import pytest

import numeric as nm
import symdiff as sd
from numeric.check import audit, certify, taylor
from tests.numeric.test_plots import clear, labels

pytest.importorskip("matplotlib")

x, y, z = sd.symbols("x y z")


def slopes(ax, colour):
    """Of the lines of a colour the slopes at the largest steps."""
    found = []
    for line in ax.lines:
        if line.get_color() == colour and line.get_linestyle() == "-":
            h, remainder = (np.log(v[3:12]) for v in line.get_data())
            found.append(np.polyfit(h, remainder, 1)[0])
    return np.array(found)


def marked(ax):
    """The colours of lines with points on them."""
    return list(dict.fromkeys(a.get_color() for a in ax.lines if a.get_marker() != "None"))


def test_remainders_fall_as_the_lines_beside_them():
    picture = taylor(lambda v: np.exp(v).sum(), np.exp, np.zeros(3), lambda v: np.diag(np.exp(v)))
    picture = picture.plot()
    (ax,) = picture.axes
    colours = marked(ax)
    assert len(colours) == 3
    for k, colour in enumerate(colours, 1):
        assert len(slopes(ax, colour)) == 5
        np.testing.assert_allclose(slopes(ax, colour), k, atol=0.35)
    references = [line for line in ax.lines if line.get_marker() == "None"]
    for k, line in enumerate(references, 1):
        h, height = line.get_data()
        np.testing.assert_allclose(height[1:] / height[:-1], 0.5**k, rtol=1e-9)
        assert (h[1:] / h[:-1] == 0.5).all()
    assert {"slope 1", "slope 2", "slope 3"} <= set(labels(picture))
    assert picture.title == "Taylor test: right, 5 directions"
    assert clear(picture)


def test_a_wrong_gradient_does_not_fall_as_its_line():
    picture = taylor(lambda v: np.exp(v).sum(), lambda v: 1.5 * np.exp(v), np.zeros(3)).plot()
    (ax,) = picture.axes
    colours = marked(ax)
    np.testing.assert_allclose(slopes(ax, colours[1]), 1, atol=0.35)
    assert "wrong" in picture.figure.get_suptitle()


def test_remainders_that_are_0_and_what_has_no_value():
    assert clear(taylor(lambda v: 2.0 * v, 2.0, 1.0).plot())
    assert clear(taylor(lambda v: 0.0 * v, 0.0, 1.0).plot())
    assert clear(taylor(lambda v: np.sqrt(v), 0.5, 1e-9).plot())


@pytest.mark.parametrize(
    ("F", "box"),
    [
        (nm.lower(1 - sd.cos(x), x), {x: (-1, 1)}),
        (nm.lower(sd.exp(x) - y, [x, y]), {x: (-1, 1), y: (0.5, 2)}),
        (
            nm.lower(sd.exp(x) * y + sd.symbol("z"), [x, y, sd.symbol("z")]),
            {x: (0, 1), y: (0, 1), "z": (1, 1)},
        ),
    ],
)
def test_certificates_show_the_worst_and_where_it_is(F, box):
    found = certify(F, box, budget=60)
    picture = found.plot()
    bars = picture.axes[0].patches
    ends = [bar.get_x() + bar.get_width() for bar in bars]
    sizes = list(found.ulps.values())
    assert [end for end, size in zip(ends, sizes, strict=True) if size] == pytest.approx(
        [size for size in sizes if size]
    )
    ticks = [text.get_text() for text in picture.axes[0].get_yticklabels()]
    assert [text.partition(",")[0] for text in ticks] == list(found.ulps)
    assert all("at x = " in text.replace("\n", " ") for text in ticks)
    assert len(picture.axes) == (2 if len(box) < 3 else 1)
    if len(box) == 2:
        places = [tuple(float(v[0]) for v in line.get_data()) for line in picture.axes[1].lines]
        assert places == [(at["x"], at["y"]) for at in found.point.values()]
    assert clear(picture)


def test_proofs_have_no_place():
    pytest.importorskip("flint")
    picture = certify(nm.lower(x * x + 1, x), {x: (-1, 1)}, budget=30, method="proven").plot()
    assert "proven" in picture.title
    assert len(picture.axes) == 1
    assert clear(picture)


def test_an_audit_is_named_and_nothing_overflows():
    picture = audit(
        lambda x: np.sum(np.log1p(np.exp(x))),
        gradient=lambda x: np.exp(x) / (1 + np.exp(x)),
        inputs={"x": 3},
        budget=400,
    ).plot()
    (ax,) = picture.axes
    assert ax.get_ylabel() == "error [ulp]"
    assert clear(picture)
    low, high = ax.get_xlim()
    assert high / low < 1e26  # though extreme points are among the samples
    assert any("beyond" in label for label in labels(picture))


def test_an_error_that_is_no_number_is_not_drawn_as_none():
    wrong = audit(
        "log(1 + exp(x))",
        gradient=lambda x: np.exp(x) / (1 + np.exp(x)),  # inf/inf
        inputs={"x": ()},
        budget=2000,
    )
    top = [s.magnitude for s in wrong.samples if not np.isfinite(s.ulps)]
    assert top
    assert min(top) > 80
    assert "1e17 ulp or more, or nan" in labels(wrong.plot())


def test_axes_may_be_given():
    from matplotlib.figure import Figure

    certificate = certify(nm.lower(1 - sd.cos(x), x), {x: (-1, 1)}, budget=20)
    for found in (certificate, taylor(np.sin, np.cos, 0.7)):
        ax = Figure().subplots()
        assert found.plot(ax).axes == (ax,)
        assert ax.get_title()
