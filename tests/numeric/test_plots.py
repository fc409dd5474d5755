"""Pictures: what is drawn is the function and its derivatives, and nothing where they are not.

The oracles are written here, in mpmath: a function, its derivatives by ``mpmath.diff`` or by hand,
and where it breaks.  Nothing is compared with pixels; texts are measured as they are drawn.
"""

from __future__ import annotations

import dataclasses
import io
import math
from itertools import combinations

import mpmath
import numpy as np
import pytest
from mpmath import mp

import numeric as nm
import symdiff as sd
from numeric.show import curves as drawing
from numeric.show import plots
from numeric.show.marks import Mark
from numeric.show.typesetting import typeset
from tests.display.book_formulas import FORMULAS
from tests.look.plots import specimens

pytest.importorskip("matplotlib")

x, y = sd.symbols("x y")
q = sd.symbol("q", 3)

SEEN = 1e-6
"""Of the height of the axes: a thousandth of a dot of a picture of a thousand."""


def differentiated(f):
    """The derivatives of a function of mpmath's, by differences of many digits."""

    def value(k, t):
        with mp.workdps(60):
            return float(mpmath.diff(f, mp.mpf(t), k, h=mp.mpf(10) ** -12) if k else f(mp.mpf(t)))

    return value


@dataclasses.dataclass(frozen=True)
class Case:
    f: object
    oracle: object  # (order, number) -> float
    range: tuple = (-4, 4)
    marks: tuple = ()
    order: int = 2
    at: object = None


CASES = {
    "tan": Case(
        sd.tan(x),
        differentiated(mp.tan),
        marks=(("pole", 0, -math.pi / 2), ("pole", 0, math.pi / 2)),
    ),
    "1/x": Case(1 / x, differentiated(lambda t: 1 / t), marks=(("pole", 0, 0),), order=4),
    "1/(x-1)**2": Case(
        1 / (x - 1) ** 2, differentiated(lambda t: (t - 1) ** -2), marks=(("pole", 0, 1),)
    ),
    "a pole without a sign": Case(
        1 / (1 - sd.cos(x)), differentiated(lambda t: 1 / (1 - mp.cos(t))), marks=(("pole", 0, 0),)
    ),
    "a logarithm's pole": Case(
        sd.log(1 - sd.cos(x)),
        differentiated(lambda t: mp.log(1 - mp.cos(t))),
        marks=(("pole", 0, 0),),
    ),
    "gamma": Case(
        sd.gamma(x),
        differentiated(mp.gamma),
        range=(-2.5, 3),
        marks=(("pole", 0, -2), ("pole", 0, -1), ("pole", 0, 0)),
        order=1,
    ),
    "floor": Case(
        sd.floor(x),
        lambda k, t: 0.0 if k else math.floor(t),
        range=(-1.5, 2.5),
        marks=tuple(("jump", 0, n) for n in (-1, 0, 1, 2)),
    ),
    "sign": Case(
        sd.sign(x), lambda k, t: 0.0 if k else math.copysign(1, t), marks=(("jump", 0, 0),)
    ),
    "sqrt": Case(sd.sqrt(x), differentiated(mp.sqrt), marks=(("edge", 0, 0),)),
    "sqrt, two edges": Case(
        sd.sqrt(1 - x**2),
        differentiated(lambda t: mp.sqrt(1 - t * t)),
        range=(-2, 2),
        marks=(("edge", 0, -1), ("edge", 0, 1)),
        order=1,
    ),
    "log": Case(sd.log(x), differentiated(mp.log), marks=(("edge", 0, 0),), order=4),
    "log|x|": Case(
        sd.log(abs(x)), differentiated(lambda t: mp.log(abs(t))), marks=(("pole", 0, 0),)
    ),
    "|x-1|": Case(
        abs(x - 1),
        lambda k, t: (abs(t - 1), math.copysign(1, t - 1), 0.0)[k],
        marks=(("kink", 0, 1),),
    ),
    "max": Case(
        sd.maximum(x, x**2),
        lambda k, t: (t, 1.0, 0.0)[k] if 0 <= t <= 1 else (t * t, 2 * t, 2.0)[k],
        marks=(("kink", 0, 0), ("kink", 0, 1)),
    ),
    "where": Case(
        sd.where(x > 1, x, x**2),
        lambda k, t: (t, 1.0, 0.0)[k] if t > 1 else (t * t, 2 * t, 2.0)[k],
        marks=(("kink", 0, 1),),
    ),
    "where, a jump": Case(
        sd.where(x > 0.3, sd.cos(x), -2),
        lambda k, t: differentiated(mp.cos)(k, t) if t > 0.3 else (0.0 if k else -2.0),
        marks=(("jump", 0, 0.3),),
    ),
    "one other value": Case(
        sd.where(sd.equal(x, 0), 5, x), lambda k, t: (t, 1.0, 0.0)[k], marks=(("jump", 0, 0),)
    ),
    "|x|**3": Case(
        abs(x) ** 3,
        lambda k, t: (abs(t) ** 3, 3 * t * abs(t), 6 * abs(t))[k],
        marks=(("kink", 2, 0),),
    ),
    "cbrt": Case(
        sd.cbrt(x),
        lambda k, t: (
            math.copysign(1, t) ** (k + 1) * differentiated(mp.cbrt)(k, abs(t) or 1) * (t != 0)
        ),
        marks=(("pole", 1, 0),),
        order=1,
    ),
    "|sin|": Case(
        abs(sd.sin(x)),
        lambda k, t: math.copysign(1, math.sin(t)) * differentiated(mp.sin)(k, t),
        marks=tuple(("kink", 0, n * math.pi) for n in (-1, 0, 1)),
    ),
    "digits cancel": Case(
        (1 - sd.cos(x)) / x**2, differentiated(lambda t: (1 - mp.cos(t)) / t**2), order=4
    ),
    "sinc": Case(sd.sin(x) / x, differentiated(lambda t: mp.sin(t) / t)),
    "steep": Case(sd.tanh(1000 * x), differentiated(lambda t: mp.tanh(1000 * t)), order=1),
    "smooth": Case(
        sd.exp(-(x**2)) * sd.sin(3 * x),
        differentiated(lambda t: mp.exp(-t * t) * mp.sin(3 * t)),
        order=4,
    ),
    "huge": Case(sd.exp(sd.exp(x)), differentiated(lambda t: mp.exp(mp.exp(t)))),
    "constant": Case(0 * x + 3, lambda k, t: 0.0 if k else 3.0),
    "other symbols": Case(
        sd.exp(-y * x) * q @ q,
        differentiated(lambda t: 14 * mp.exp(-2 * t)),
        at={y: 2, q: [1, 2, 3]},
        range=(-1, 1),
    ),
    "an element": Case(
        sd.norm(q),
        differentiated(lambda t: mp.sqrt(t * t + mp.mpf(1) / 2)),
        at={q: [0.2, 0.5, 0.5]},
    ),
}


def pictured(case):
    v = q[0] if case.f is CASES["an element"].f else x
    return nm.plot(case.f, v, case.order, at=case.at, range=case.range)


def rows(picture, order):
    """Of each derivative its axes, and the points of its curve: that which is drawn first."""
    assert len(picture.axes) == order + 1
    return [(ax, *ax.lines[0].get_data()) for ax in picture.axes]


def wrong(picture, case, count=25):
    """Drawn points that are not values of the derivatives."""
    found = []
    for k, (ax, t, values) in enumerate(rows(picture, case.order)):
        low, high = ax.get_ylim()
        known = np.flatnonzero(np.isfinite(values))
        assert len(known) > 300
        shown = known[(values[known] > low) & (values[known] < high)]
        for i in np.unique(shown[np.linspace(0, len(shown) - 1, count).astype(int)]):
            if any(abs(t[i] - at) < 1e-9 for _, _, at in case.marks):
                continue
            if not abs(values[i] - case.oracle(k, float(t[i]))) <= SEEN * (high - low):
                found.append((k, float(t[i]), float(values[i])))
    return found


def crossing(picture, case):
    """Segments across a place at which a derivative, or a lower one, is not continuous."""
    found = []
    for k, (_, t, values) in enumerate(rows(picture, case.order)):
        assert (np.diff(t) > 0).all()
        drawn = np.isfinite(values[:-1]) & np.isfinite(values[1:])
        for kind, order, at in case.marks:
            if k < order + (kind == "kink"):
                continue
            near = 1e-12
            across = drawn & (t[:-1] < at - near) & (t[1:] > at + near)
            touching = drawn & ((abs(t[:-1] - at) <= near) | (abs(t[1:] - at) <= near))
            if across.any() or (touching.any() and kind != "edge"):
                found.append((k, kind, at))
    return found


@pytest.fixture(scope="module")
def pictures():
    return {name: pictured(case) for name, case in CASES.items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_curves_are_the_derivatives(pictures, name):
    assert wrong(pictures[name], CASES[name]) == []


@pytest.mark.parametrize("name", CASES)
def test_no_line_goes_across_a_jump_or_a_pole(pictures, name):
    assert crossing(pictures[name], CASES[name]) == []


@pytest.mark.parametrize("name", CASES)
def test_marks_are_where_they_should_be(pictures, name):
    marks, expected = pictures[name].marks, CASES[name].marks
    assert [(m.kind, m.order) for m in marks] == [mark[:2] for mark in expected]
    np.testing.assert_allclose([m.x for m in marks], [at for _, _, at in expected], atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_lines_are_dense_enough(pictures, name):
    """Between two points the curve is near to the line, by the oracle."""
    case = CASES[name]
    for k, (ax, t, values) in enumerate(rows(pictures[name], case.order)):
        low, high = ax.get_ylim()
        inside = (values > low) & (values < high)
        drawn = np.flatnonzero(inside[:-1] & inside[1:])
        for i in np.unique(drawn[np.linspace(0, len(drawn) - 1, 12).astype(int)]):
            middle = float(t[i] + t[i + 1]) / 2
            if any(t[i] <= at <= t[i + 1] for _, _, at in case.marks):
                continue
            straight = (values[i] + values[i + 1]) / 2
            assert abs(case.oracle(k, middle) - straight) < 2 * drawing.ERROR * (high - low)


# The checks themselves ----------------------------------------------------------------------------


def test_a_wrong_derivative_is_caught(monkeypatch):
    right = sd.diff
    monkeypatch.setattr(
        plots.sd, "diff", lambda f, v, k=1: right(f, v, k) * (1.00001 if k == 2 else 1)
    )
    case = CASES["smooth"]
    assert {k for k, *_ in wrong(pictured(case), case)} == {2}


def test_lost_digits_are_caught(monkeypatch):
    explored = plots.explored

    def plain(rows, low, high):
        line = explored(rows, low, high)
        return dataclasses.replace(line, rows=dataclasses.replace(line.rows, zones=()))

    monkeypatch.setattr(plots, "explored", plain)
    case = CASES["digits cancel"]
    assert wrong(pictured(case), case, count=400)


@pytest.mark.parametrize("name", ["tan", "floor", "|x-1|"])
def test_lines_across_are_caught(name):
    from numeric.show.subjects import Slice

    case = CASES[name]
    smooth = Slice(tuple(sd.diff(case.f, x, k) if k else case.f for k in range(3)), (x,), {})
    t = np.linspace(*case.range, 2000)
    picture = pictured(case)
    for ax, values in zip(picture.axes, smooth(t), strict=True):
        ax.lines[0].set_data(t, values[0])
    assert crossing(picture, case)


# What is unresolved -------------------------------------------------------------------------------


def test_what_turns_too_often_is_left_out():
    picture = nm.plot(sd.sin(1 / x), x, order=0, range=(-1, 1))
    assert [(m.kind, m.x) for m in picture.marks] == [("no limit", 0.0)]
    (_, t, values) = rows(picture, 0)[0]
    shown = np.isfinite(values)
    np.testing.assert_allclose(values[shown], np.sin(1 / t[shown]), atol=1e-9)
    drawn = shown[:-1] & shown[1:]
    apart = np.abs(np.diff(values))[drawn]
    middle = np.sin(1 / (t[:-1] + np.diff(t) / 2))[drawn]
    off = np.abs(middle - ((values[:-1] + values[1:]) / 2)[drawn])
    assert apart.max() < 0.2
    assert off.max() < 4 * drawing.ERROR * 2.24
    assert picture.notes[-1] == "turns too often to be drawn"


def test_jumps_that_are_too_many_to_be_found_are_not_crossed():
    (_, _, values) = rows(nm.plot(sd.floor(100 * x), x, order=0, range=(-4, 4)), 0)[0]
    drawn = np.isfinite(values[:-1]) & np.isfinite(values[1:])
    assert np.abs(np.diff(values))[drawn].max() == 0


def test_a_value_apart_from_the_curve_is_not_on_it():
    """At the edge of the domain, too: the sign of 0 is 0."""
    (_, t, values) = rows(nm.plot(sd.sign(sd.sqrt(x)), x, order=0, range=(-1, 1)), 0)[0]
    assert set(values[np.isfinite(values)].tolist()) == {1.0}
    assert t[np.isfinite(values)].min() < 1e-6


# The point ----------------------------------------------------------------------------------------


def test_the_point_has_a_tangent_a_parabola_and_values():
    picture = nm.plot(sd.exp(x) * y, x, at={x: 1, y: 3}, range=(0, 2))
    top = picture.axes[0]
    _, tangent, parabola, point = top.lines
    assert point.get_data()[0][0] == 1
    assert point.get_data()[1][0] == pytest.approx(3 * math.e, rel=1e-15)
    t, values = tangent.get_data()
    np.testing.assert_allclose(values, 3 * math.e * t, rtol=1e-12, atol=1e-12)
    t, values = parabola.get_data()
    np.testing.assert_allclose(values, 3 * math.e * (t + (t - 1) ** 2 / 2), rtol=1e-12)
    told = [ax.get_title(loc="right") for ax in picture.axes]
    assert told == ["f(1) = 8.155", "f′(1) = 8.155", "f″(1) = 8.155"]


def test_at_a_kink_there_is_no_tangent():
    top = nm.plot(abs(x - 1), x, at=1).axes[0]
    assert len(top.lines) == 2  # the curve and the point


def test_elements_have_curves_of_their_own():
    picture = nm.plot(sd.stack([sd.sin(x), x**2, 0 * x]), x, at=0.5, order=1)
    for ax, expected in zip(
        picture.axes, ([np.sin, np.square], [np.cos, lambda t: 2 * t]), strict=True
    ):
        for line, f in zip(ax.lines, expected, strict=False):
            t, values = line.get_data()
            np.testing.assert_allclose(values, f(t), atol=1e-9)
    assert labels(picture)[:3] == ["element [0]", "element [1]", "element [2]"]


def test_a_list_of_formulas_has_a_curve_for_each():
    picture = nm.plot([sd.sin(x), "x - x**3/6", lambda t: y * t], x, order=1, at={x: 0.5, y: 2})
    functions = [np.sin, lambda t: t - t**3 / 6, lambda t: 2 * t]
    for line, f in zip(picture.axes[0].lines, functions, strict=False):
        t, values = line.get_data()
        np.testing.assert_allclose(values, f(t), atol=1e-9)
    assert labels(picture)[:3] == [
        r"$f_{1}(x) = \sin(x )$",
        r"$f_{2}(x) = x - \frac{x^{3}}{6}$",
        rf"$f_{{3}}(x) = {sd.latex(y * x)}$",
    ]
    assert (
        picture.title == "f₁(x) = sin(x), f₂(x) = x - x**3/6, f₃(x) = " + sd.text(y * x) + ", y = 2"
    )
    assert clear(picture)


# What may be asked for ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "f",
    [
        x**2 * sd.sin(x),
        "x**2*sin(x)",
        nm.lower(x**2 * sd.sin(x), x),
        lambda t: t**2 * np.sin(t),
    ],
)
def test_formulas_of_any_kind(f):
    picture = nm.plot(f, x, order=1)
    t, values = picture.axes[1].lines[0].get_data()
    np.testing.assert_allclose(values, 2 * t * np.sin(t) + t**2 * np.cos(t), atol=1e-9)


@pytest.mark.parametrize(
    "f", [sd.cos(3 * x) / (2 + x), 1 / sd.sqrt(2 + x), sd.tan(x + 2 - sd.pi / 2)]
)
def test_a_pole_at_the_end_of_the_range_does_not_flatten_the_curves(f):
    """What is in the middle of the range takes a fair part of the height."""
    picture = nm.plot(f, x, order=1, range={x: (-2, 0.5)})
    middle = np.linspace(-1.5, 0.0, 30)
    for k, axes in enumerate(picture.axes):
        low, high = axes.get_ylim()
        values = nm.lower(sd.diff(f, x, k) if k else f, x)
        assert np.ptp([values(float(v)) for v in middle]) > 0.1 * (high - low)


@pytest.mark.parametrize("beyond", [0.01, 0.003, 1e-6])
@pytest.mark.parametrize("mirrored", [False, True])
def test_a_pole_just_beyond_the_range_does_not_flatten_the_curves(beyond, mirrored):
    f = sd.cos(3 * x) / (2 + x)
    if mirrored:
        f = f.subs({x: -x})
    ends = (-2 + beyond, 0.5) if not mirrored else (-0.5, 2 - beyond)
    picture = nm.plot(f, x, order=2, range=ends)
    middle = np.linspace(-1.5, 0.0, 30) * (-1 if mirrored else 1)
    for k, axes in enumerate(picture.axes):
        values = nm.lower(sd.diff(f, x, k) if k else f, x)
        low, high = axes.get_ylim()
        assert np.ptp([values(float(v)) for v in middle]) > 0.1 * (high - low)


@pytest.mark.parametrize("end", [1, 4, 20, 60, 300])
@pytest.mark.parametrize("f", [sd.exp(x), x**4, x**40, sd.exp(x**2 / 200), sd.exp(-x), sd.cosh(x)])
def test_what_grows_without_a_pole_is_shown_to_its_end(f, end):
    (axes,) = nm.plot(f, x, order=0, range=(0, end)).axes
    low, high = axes.get_ylim()
    value = nm.lower(f, x)
    for t in (0.0, float(end)):
        assert low < value(t) < high


@pytest.mark.parametrize(
    ("f", "how", "error", "words"),
    [
        (x * y, {"x": x}, ValueError, "no value for y; give at="),
        (x * y, {}, ValueError, "by which variable.* x, y; nm.plot_field draws a function of two"),
        (x * y, {"x": [x, y]}, TypeError, r"two variables; nm.plot_field\(f, \[x, y\]\)"),
        (x, {"x": x, "range": {"y": (0, 1)}}, ValueError, "has no entry for x"),
        (x * y, {"x": "z"}, ValueError, "no symbol is named 'z'; the free symbols are x, y"),
        (x, {"x": x, "at": {"z": 1}}, ValueError, "no symbol is named 'z'"),
        (x, {"x": 3}, TypeError, "3 is neither a symbol"),
        (x, {"x": x**2}, TypeError, "neither a symbol"),
        (q @ q, {"x": q}, ValueError, r"shape \(3,\); give one element, q\[0\].*plot_field"),
        (q @ q, {"x": q[0]}, ValueError, "no value for q"),
        (x, {"x": x, "order": 9}, ValueError, "order=9"),
        (x, {"x": x, "order": True}, ValueError, "order=True"),
        (x, {"x": x, "range": (1, 1)}, ValueError, "not a finite range"),
        (x, {"x": x, "range": 5}, TypeError, "not a pair of numbers"),
        (x, {"x": x, "range": (0, 1), "at": 3}, ValueError, r"x = 3.0 is outside"),
        (x, {"x": x, "at": math.nan}, ValueError, "not finite"),
        (x, {"x": x, "at": [1, 2]}, TypeError, "not a mapping"),
        (x * sd.ones(9), {"x": x}, ValueError, "9 elements.*give some of them"),
        (math.sin, {"x": x}, TypeError, "sin has no formula"),
        (object(), {"x": x}, TypeError, "is not a formula"),
        ([x, object()], {"x": x}, TypeError, "object.* is not a formula"),
        ([], {"x": x}, ValueError, "f is an empty list"),
        ([x, q], {"x": x}, sd.ShapeError, r"formula 1 of the list has shape \(3,\)"),
        ([x] * 9, {"x": x}, ValueError, "9 formulas"),
        (math.sin, {}, TypeError, "needs the symbols"),
        (nm.lower([x, x], x), {"x": x}, ValueError, "2 outputs"),
        (sd.symbol("k", dtype=int) * x, {"x": "k", "at": {"x": 1}}, ValueError, "not real"),
        (x, {"x": x, "ax": [None, None]}, ValueError, "2 axes for 3 curves"),
    ],
)
def test_what_cannot_be_drawn_is_refused(f, how, error, words):
    with pytest.raises(error, match=words):
        nm.plot(f, **how)


@pytest.mark.parametrize(
    ("f", "inside"),
    [
        (sd.log(x - 20), 20),
        (abs(x - 30), 30),
        (sd.sqrt(-x - 200), -200),
        (sd.where(x < 7, 0, 1), 7),
    ],
)
def test_the_range_shows_the_features(f, inside):
    assert [m.x for m in nm.plot(f, x).marks] == [inside]


# Formulas in titles -----------------------------------------------------------------------------


def test_titles_are_formulas():
    picture = nm.plot(sd.exp(-(x**2) / 2) * y, x, at={x: 1, y: 1e-9})
    assert picture.figure.get_suptitle() == (
        r"$f(x) = y e^{-\frac{x^{2}}{2}}, \quad y = 1 \cdot 10^{-9}$"
    )
    assert picture.axes[2].get_title(loc="left").startswith("$f'' = ")
    field = nm.plot_field(x * y, (x, y))
    assert field.figure.get_suptitle() == "$f(x, y) = x y$"


def test_where_a_formula_cannot_be_typeset_its_text_is_shown():
    name = sd.symbol("变量")
    assert nm.plot(name**2, name).figure.get_suptitle().startswith("f(")
    long = sd.symbol("a_name_that_is_longer_than_the_width_of_a_picture_" * 3)
    assert nm.plot(long**2, long).figure.get_suptitle().startswith("f(")


@pytest.mark.parametrize("book", FORMULAS[::9], ids=lambda book: book.name)
def test_formulas_of_books_are_typeset(book):
    """All of them, or their first terms; none in the syntax of Python."""
    f = sd.parse(book.text)
    for k in (0, 1):
        g = sd.diff(f, sd.symbol(book.variables[0]), k) if k else f
        assert typeset(sd.latex(g), 500, 11, 2) is not None


# Looks --------------------------------------------------------------------------------------------


def labels(picture):
    found = [*picture.figure.legends, *(ax.get_legend() for ax in picture.axes)]
    return [text.get_text() for legend in found if legend for text in legend.get_texts()]


def texts(picture):
    """All texts that are to be seen, but tick labels beyond the ends of an axis."""
    from matplotlib.text import Text

    renderer = picture.figure.canvas.get_renderer()
    picture.figure.draw(renderer)
    for ax in picture.figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            ends = sorted(axis.get_view_interval())
            for tick in axis.get_major_ticks():
                if not ends[0] <= tick.get_loc() <= ends[1]:
                    tick.label1.set_visible(False)
    seen = [t for t in picture.figure.findobj(Text) if t.get_visible() and t.get_text().strip()]
    boxes = [(text, text.get_window_extent(renderer)) for text in seen]
    return [(text, box) for text, box in boxes if box.width]


def clear(picture):
    """Whether all texts are inside of the figure, and none is on another."""
    found = texts(picture)
    whole = picture.figure.bbox
    for text, box in found:
        assert box.x0 >= whole.x0 - 1, text
        assert box.x1 <= whole.x1 + 1, text
        assert box.y0 >= whole.y0 - 1, text
        assert box.y1 <= whole.y1 + 1, text
    for (a, one), (b, other) in combinations(found, 2):
        assert not one.padded(-1.5).overlaps(other.padded(-1.5)), (a, b)
    return True


@pytest.mark.parametrize("name", ["|x-1|", "an element", "constant", "gamma"])
def test_everything_is_named_and_nothing_overflows(pictures, name):
    picture, case = pictures[name], CASES[name]
    assert picture.figure.get_suptitle().startswith("$f(")
    assert all(ax.get_ylabel() for ax in picture.axes)
    assert picture.axes[-1].get_xlabel() == ("q[0]" if name == "an element" else "x")
    assert bool(labels(picture)) == bool(case.marks or name == "an element")
    for kind in {kind for kind, *_ in case.marks}:
        assert any(kind in label for label in labels(picture))
    assert clear(picture)


@pytest.mark.slow
@pytest.mark.parametrize("name", specimens())
def test_specimens_have_titles_and_labels_and_nothing_overflows(name):
    picture = specimens()[name]()
    if isinstance(picture, nm.show.Explorer):
        picture = picture.picture
    assert picture.figure.get_suptitle()
    assert all(ax.get_ylabel() or ax.get_yticklabels() for ax in picture.axes)
    assert picture.axes[-1].get_xlabel()
    assert clear(picture)


def test_long_formulas_stay_inside():
    long_name = sd.symbol("a_name_of_a_quantity_that_is_as_long_as_a_line_of_text_may_be_" * 3)
    f = sum(sd.sin(k * long_name) * sd.cos(k + long_name) for k in range(1, 40))
    assert clear(nm.plot(f, long_name, at=0.5))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["_", "变量", "ħ"])
def test_names_are_shown_as_they_are(name):
    v = sd.symbol(name)
    picture = nm.plot(abs(v - 1), v, order=1, at=0.5)
    assert picture.axes[-1].get_xlabel().replace("\\u53d8\\u91cf", "变量") in (name, sd.text(v))
    assert clear(picture)
    assert picture._repr_png_()


def test_greek_letters_are_letters_in_labels():
    theta, lam = sd.symbols("theta lambda")
    picture = nm.plot(abs(theta - 1) * lam, theta, order=1, at={theta: 2, lam: 3})
    assert picture.axes[-1].get_xlabel() == "θ"
    assert [ax.get_ylabel() for ax in picture.axes] == ["f(θ)", "f′(θ)"]
    assert {"kink of f at θ = 1", "tangent at θ = 2"} <= set(labels(picture))
    field = nm.plot_field(theta**2 + lam**2, (theta, lam))
    assert (field.axes[0].get_xlabel(), field.axes[0].get_ylabel()) == ("θ", "λ")


@pytest.mark.parametrize("words", ["$", "$x$", "a_b^c", r"\frac{1}{0}", "{", "%", "$\\undefined{$"])
def test_no_text_is_taken_for_mathematics(words):
    from numeric.show.pictures import canvas, legend, literal, titled

    figure, (ax,) = canvas("test", 3)
    titled(figure, words)
    titled(ax, words)
    literal(ax.set_xlabel(words))
    legend(figure, ax.plot([0, 1]), [words])
    figure.savefig(io.BytesIO())
    assert [t.get_text() for t in figure.legends[0].get_texts()] == [words]


def test_pyplot_knows_nothing_of_them():
    from matplotlib import pyplot

    for picture in (nm.plot(x**2, x), nm.plot_field(x * y, (x, y))):
        assert picture._repr_png_()
        assert pyplot.get_fignums() == []


def test_axes_may_be_given():
    from matplotlib.figure import Figure

    one = Figure().subplots()
    assert nm.plot(x**2, x, ax=one).axes == (one,)
    assert len(one.lines) == 3
    assert len(one.get_legend().get_texts()) == 3
    several = Figure().subplots(3)
    picture = nm.plot(abs(x), x, ax=several)
    assert [len(ax.lines) for ax in several] == [1, 1, 1]
    assert picture.figure is several[0].figure


def test_a_picture_shows_itself(tmp_path):
    picture = nm.plot(x**2, x)
    data, size = picture._repr_png_()
    assert data.startswith(b"\x89PNG")
    assert size["width"] == 825
    assert b"<svg" in picture.encoded("svg")
    picture.save(tmp_path / "x.pdf")
    assert (tmp_path / "x.pdf").read_bytes().startswith(b"%PDF")


def test_of_a_mark_the_lowest_derivative_is_broken():
    assert Mark("kink", 0, 1.0).broken == 1
    assert Mark("pole", 1, 1.0).broken == 1


def test_jumps_from_below_the_axes_to_above_are_not_crossed():
    """The slope of |sin| of a steep function has more kinks than can be found, each a leap."""
    (_, t, values) = rows(nm.plot(abs(sd.sin(x**4)), x, order=1, range=(-4, 4)), 1)[1]
    drawn = np.isfinite(values[:-1]) & np.isfinite(values[1:])
    a, b = t[:-1][drawn], t[1:][drawn]
    assert (np.floor(a**4 / np.pi) == np.floor(b**4 / np.pi)).mean() > 0.999
    leaps = np.abs(np.diff(values))[drawn] > 0.3 * np.nanmax(np.abs(values))
    assert not leaps.any()


def test_a_segment_whose_ends_are_on_both_sides_of_the_axes_is_seen():
    low, high = np.array([[-2.0]]), np.array([[2.0]])
    assert drawing._error(low, low, high, (-1, 1), 2) > drawing.ERROR
    assert drawing._error(high, low, high, (-1, 1), 2) == 0
