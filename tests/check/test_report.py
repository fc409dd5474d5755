"""What a report says: as text, in Jupyter, as JSON, as a plot; and that it can be pasted back."""

import copy
import io
import json
import pickle
import subprocess
import sys
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from numeric.check import Finding, GradientError, Report
from numeric.check.presentation import LITERAL, SHOWN, assignment, number
from numeric.check.progress import INTERVAL, PATIENCE, progress
from numeric.check.report import VERDICTS, Sample
from symdiff.exact.digits import Digits
from tests.support.pages import Checked

with mpmath.workdps(50):
    THIRD = mpmath.mpf(1) / 3

TAIL = Finding(
    kind="dead-tail",
    verdict="wrong",
    ok=False,
    derivative="gradient",
    input="x",
    component=(1, 0),
    point={"x": np.array([[0.1, 0.0], [-4.5, 0.0]]), "s": np.array(np.float32(0.1))},
    expected=THIRD,
    got=0.0,
    ulps=1.5e12,
    why="0 for |x| > 4",
    count=112,
)
TIE = Finding(
    kind="tie",
    verdict="convention",
    ok=True,
    derivative="vjp",
    input="a",
    component=(),
    point={"a": np.array(2.0), "cotangent": np.array([1.0, np.nan])},
    expected=mpmath.mpf("0.5"),
    got=np.float32(1),
    ulps=float("inf"),
    why="a <script> & more",
    dtype="float32",
    valid=(mpmath.mpf(0), mpmath.inf),
)
WRONG = Report(
    verdict="wrong",
    ok=False,
    findings=(TAIL, TIE),
    forward="sum(tanh(x))*s",
    inputs={"x": (2, 2), "s": ()},
    evaluations=4990,
    budget=5000,
    seed=3,
    judged={"ordinary": 300, "extreme": 12},
    left_out={"the forward is not finite": 2},
    notes=("no hessian was given",),
    samples=(
        Sample("gradient", 0.0, 0.0, "ordinary"),
        Sample("gradient", 4.5, 1.5e12, "extreme"),
        Sample("vjp", float("inf"), float("nan"), "extreme"),
    ),
)
RIGHT = replace(WRONG, verdict="right", ok=True, findings=(), left_out={}, notes=(), samples=())


# Text ---------------------------------------------------------------------------------------------


def test_the_text_of_a_wrong_gradient():
    assert (
        str(WRONG)
        == """\
wrong (not ok): the derivatives under test are not those of the forward
forward: sum(tanh(x))*s, of x (2, 2), s
4990 of at most 5000 evaluations, seed 3

1. wrong: dead-tail, in the gradient by x[1, 0], float64, at 112 points
   why       0 for |x| > 4
   at        x = np.array([[0.1, 0.0], [-4.5, 0.0]])
   at        s = np.float32(0.1)
   expected  0.33333333333333333333
   got       0.0
   error     1.5e+12 ulps

2. convention: tie, in the vjp by a, float32, at 1 point (accepted)
   why       a <script> & more
   at        a = 2.0
   at        cotangent = np.array([1.0, np.nan])
   expected  0.5
   got       1.0
   error     inf ulps
   valid     every value from 0.0 to inf: the point is at a kink

judged: 312 points (300 ordinary, 12 extreme)
left out: 2 points (2 the forward is not finite)
note: no hessian was given"""
    )


def test_a_result_without_an_input_has_its_own_index():
    pushed = replace(WRONG, findings=(replace(TAIL, derivative="jvp", input=""),))
    assert "1. wrong: dead-tail, in the jvp[1, 0], float64" in str(pushed)
    assert ">jvp[1, 0]</td>" in pushed._repr_html_()


def test_what_has_no_number_says_none():
    shapeless = replace(TAIL, kind="broadcast", expected=None, got=None, ulps=float("inf"))
    report = replace(WRONG, findings=(shapeless,))
    for words in ("expected", "got", "error"):
        assert f"   {words} " not in str(report)
    assert Report.from_json(report.json()) == report
    assert Checked(report._repr_html_()).tags.count("td") == 7


def test_the_verdict_comes_first_and_alone_in_the_repr():
    assert (
        repr(RIGHT) == "<Report: right (ok): the derivatives under test are exact, up to rounding>"
    )
    for verdict in VERDICTS:
        assert str(replace(WRONG, verdict=verdict)).startswith(f"{verdict} (not ok): ")


def test_long_texts_and_many_findings_are_cut_and_counted():
    many = replace(WRONG, findings=(TAIL,) * (SHOWN + 7), forward="x + " * 5000)
    assert "and 7 more in .findings" in str(many)
    assert str(many).count("dead-tail") == SHOWN
    assert len(str(many)) < 600 * SHOWN


FLOATS = st.sampled_from([np.float64, np.float32, np.float16])
SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=12)


def pasted(line):
    """The array that a line of a report makes."""
    found = {"np": np}
    exec(line, found)  # it is what a user does with it
    return np.asarray(found["x"])


@given(FLOATS.flatmap(lambda dtype: hnp.arrays(dtype, SHAPES)))
def test_points_can_be_pasted_back(array):
    line = assignment("x", array)
    if "too large for a text" in line:
        assert array.size > LITERAL
        return
    back = pasted(line)
    assert (back.dtype, back.shape) == (array.dtype, array.shape)
    finite = ~np.isnan(array)
    np.testing.assert_array_equal(back, array)
    np.testing.assert_array_equal(np.signbit(back)[finite], np.signbit(array)[finite])


@pytest.mark.parametrize("kind", [np.int64, np.int8, np.bool])
@pytest.mark.parametrize("shape", [(), (3,), (0, 2), (30, 5)])
def test_integers_can_be_pasted_back(kind, shape):
    array = np.ones(shape, kind)
    back = pasted(assignment("x", array))
    np.testing.assert_array_equal(back, array)
    assert back.dtype == array.dtype


def test_large_arrays_are_code_while_few_elements_differ():
    x = np.zeros((40, 30), np.float32)
    x[3, 4], x[39, 0] = 0.1, -0.0
    line = assignment("x", x)
    assert line == ("x = np.zeros((40, 30), dtype=np.float32); x[3, 4] = 0.1; x[39, 0] = -0.0")
    assert assignment("x", np.full(99, 2.5)) == "x = np.full((99,), 2.5)"
    assert pasted(assignment("x", np.full(99, -0.0))).tolist() == [-0.0] * 99
    assert np.signbit(pasted(assignment("x", np.full(99, -0.0)))).all()
    described = assignment("x", np.arange(100.0))
    assert described.startswith("x of shape (100,), float64, from 0.0 to 99.0: ")


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_float32_is_written_with_few_digits_that_are_enough(value):
    text = number(np.float32(value), "float32")
    assert np.float32(float(text)) == np.float32(value)
    digits = text.partition("e")[0].replace(".", "").strip("-0")
    assert len(digits) <= 9 or float(text) == value


def test_a_value_that_the_dtype_lacks_keeps_its_digits():
    assert number(0.1, "float32") == "0.1"  # the double, which is not a float32
    assert float(number(0.1 + 2**-54, "float32")) == 0.1 + 2**-54


# Jupyter ------------------------------------------------------------------------------------------


def test_the_table_has_a_row_for_each_finding_and_all_is_escaped():
    page = Checked(WRONG._repr_html_())
    assert page.tags.count("tr") == 3
    assert "script" not in page.tags
    for words in (
        "a <script> & more",
        "0.33333333333333333333",
        "x = np.array([[0.1, 0.0]",
        "wrong",
    ):
        assert words in page.text
    assert "table" not in Checked(RIGHT._repr_html_()).tags
    hostile = "<img src=x onerror=alert(1)>"
    everywhere = replace(
        WRONG,
        forward=hostile,
        notes=(hostile,),
        inputs={hostile: (2,)},
        judged={hostile: 1},
        left_out={hostile: 1},
        findings=(
            replace(
                TAIL,
                kind=hostile,
                derivative=hostile,
                input=hostile,
                why=hostile,
                point={hostile: np.ones(2)},
            ),
        ),
    )
    page = Checked(everywhere._repr_html_())
    assert page.text.count(hostile) == 10


def test_a_notebook_gets_as_many_findings_as_a_terminal():
    page = Checked(replace(WRONG, findings=(TAIL,) * (SHOWN + 3))._repr_html_())
    assert page.tags.count("tr") == SHOWN + 1
    assert "and 3 more in .findings" in page.text


def test_nothing_in_a_page_is_read_as_a_formula():
    """By its class, and where a page does not know that, since each sign is alone in a tag."""
    hostile = r"$x$ \(y\) \[z\] $$w$$ \begin{cases}"
    assert WRONG._repr_html_().startswith('<div class="tex2jax_ignore mathjax_ignore">')
    found = replace(TAIL, why=hostile, point={hostile: np.ones(2)})
    page = Checked(replace(WRONG, forward=hostile, findings=(found,))._repr_html_())
    assert page.text.count(hostile) == 3
    assert all(part in {"$", "\\"} or not {"$", "\\"} & {*part} for part in page.parts)


# JSON and pickles ---------------------------------------------------------------------------------


def strict(text):
    def refused(name):
        raise AssertionError(f"{name} is not JSON")

    return json.loads(text, parse_constant=refused)


@pytest.mark.parametrize("report", [WRONG, RIGHT], ids=["wrong", "right"])
def test_json_goes_round(report):
    found = strict(report.json())
    assert found["verdict"] == report.verdict
    back = Report.from_json(report.json())
    assert back == report
    assert hash(back) == hash(report)
    assert back.json() == report.json()
    assert str(back) == str(report)
    assert back._repr_html_() == report._repr_html_()


def test_json_is_strict_and_plain():
    tail, tie = strict(WRONG.json())["findings"]
    assert tail["point"]["x"] == {
        "dtype": "float64",
        "shape": [2, 2],
        "data": [[0.1, 0.0], [-4.5, 0.0]],
    }
    assert tail["expected"].startswith("0." + "3" * 40)
    assert (tie["ulps"], tie["valid"]) == ("inf", ["0.0", "inf"])
    assert tie["point"]["cotangent"]["data"] == [1.0, "nan"]


@given(FLOATS.flatmap(lambda dtype: hnp.arrays(dtype, SHAPES)))
def test_points_go_round_in_json(array):
    report = replace(WRONG, findings=(replace(TAIL, point={"x": array}),))
    strict(report.json())
    back = Report.from_json(report.json()).findings[0].point["x"]
    assert (back.dtype, back.shape) == (array.dtype, array.shape)
    np.testing.assert_array_equal(back, array)


def test_exact_values_of_any_kind_are_decimals():
    for value, text in [
        (mpmath.mpf("-inf"), "-inf"),
        (float("nan"), "nan"),
        (np.float64(0.1), "0.1000000000000000055511151231257827021182"),
        (np.float32(0.5), "0.5"),
        (3, "3.0"),
        (Digits.of(THIRD, 20), "0." + "3" * 20),
        (Digits.of(mpmath.mpf(0), 20), "0.0"),
    ]:
        report = replace(WRONG, findings=(replace(TAIL, expected=value),))
        assert strict(report.json())["findings"][0]["expected"] == text
        assert Report.from_json(report.json()) == report


@pytest.mark.parametrize("text", ["", "[]", "{}", "null", WRONG.json()[:-3], '{"findings": 3}'])
def test_other_texts_are_refused(text):
    with pytest.raises(ValueError, match="not the JSON of a report"):
        Report.from_json(text)


@pytest.mark.parametrize("value", [object(), 1j, np.complex64(1), np.longdouble(1)])
def test_what_json_has_no_words_for_is_refused(value):
    with pytest.raises(TypeError, match="a report cannot hold"):
        replace(WRONG, notes=(value,)).json()


def test_reports_are_pickled_and_copied():
    assert pickle.loads(pickle.dumps(WRONG)) == WRONG
    assert copy.deepcopy(WRONG) == WRONG
    assert WRONG != RIGHT
    assert WRONG != "wrong"
    assert len({WRONG, pickle.loads(pickle.dumps(WRONG)), RIGHT}) == 2
    assert replace(TAIL, got=-0.0) != TAIL


# Raising ------------------------------------------------------------------------------------------


def test_raise_if_wrong():
    RIGHT.raise_if_wrong()
    replace(WRONG, ok=True).raise_if_wrong()
    with pytest.raises(AssertionError) as caught:
        WRONG.raise_if_wrong()
    assert isinstance(caught.value, GradientError)
    assert str(caught.value) == str(WRONG)
    assert caught.value.report is WRONG
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(WRONG)


# Plot ---------------------------------------------------------------------------------------------


@pytest.fixture
def ax():
    figure = pytest.importorskip("matplotlib.figure")
    return figure.Figure().subplots()


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_the_plot_has_a_colour_for_each_group(ax):
    assert WRONG.plot(ax).axes == (ax,)
    assert legend(ax)[:2] == ["ordinary", "extreme"]
    colours = {tuple(c.get_facecolor()[0]) for c in ax.collections}
    assert len(colours) == len(ax.collections) == 2
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("largest |input|", "error [ulp]")
    shown = np.vstack([c.get_offsets() for c in ax.collections])
    assert len(shown) == len(WRONG.samples)
    assert (np.isfinite(shown) & (shown > 0)).all()
    ax.figure.canvas.draw()


def test_a_plot_of_nothing_and_of_the_smallest_and_largest(ax):
    assert not RIGHT.plot(ax).axes[0].collections
    extremes = (
        Sample("gradient", 5e-324, 0.0, "a"),
        Sample("gradient", 0.0, 1e308, "a"),
        Sample("gradient", 1.7e308, float("inf"), "$a_b"),
    )
    picture = replace(RIGHT, samples=extremes).plot(ax)
    shown = np.asarray(ax.collections[0].get_offsets())
    assert (np.isfinite(shown) & (shown > 0)).all()
    words = ["1e17 ulp or more, or nan", "0.001 ulp or less", "at the edges: 1 point beyond"]
    assert legend(ax) == ["a", "$a_b", *words]
    assert picture._repr_png_()


def test_a_figure_is_made_where_none_is_given():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    picture = WRONG.plot()
    assert picture.title == f"wrong: errors of the derivatives of {WRONG.forward}"
    assert picture.figure.get_suptitle() == picture.title
    assert pyplot.get_fignums() == []


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"symdiff-numeric\[viz\]"):
        WRONG.plot()


@pytest.mark.slow
def test_reports_load_no_extra():
    # SymPy itself loads python-flint where it is installed.
    extras = ("matplotlib", "scipy", "torch", "jax")
    code = f"import sys, numeric.check; print([m for m in {extras} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


# Progress -----------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_line_in_the_terminal_once_it_takes_long_and_not_at_every_step():
    times = iter([0.0, PATIENCE / 2, PATIENCE, PATIENCE + INTERVAL / 2, PATIENCE + INTERVAL])
    out = Terminal()
    with progress(5000, stream=out, clock=lambda: next(times)) as step:
        step(100)
        assert out.getvalue() == ""
        step(2000)
        assert out.getvalue() == "\raudit: 2000 of 5000 evaluations"
        step(2100)
        step(9)
        assert out.getvalue().endswith("\raudit: 9 of 5000 evaluations   ")
    assert out.getvalue().endswith("\r" + " " * len("audit: 2000 of 5000 evaluations") + "\r")


def test_the_line_is_wiped_when_the_audit_fails():
    out = Terminal()
    times = iter([0.0, 10.0])

    def failing():
        with progress(2, stream=out, clock=lambda: next(times)) as step:
            step(1)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing()
    assert out.getvalue().endswith(" \r")


def test_nothing_is_written_to_what_is_no_terminal():
    out = io.StringIO()
    with progress(5000, stream=out, clock=lambda: 1e9) as step:
        step(1)
    assert out.getvalue() == ""


def test_the_users_callable_hears_every_step():
    heard = []
    with progress(3, lambda *both: heard.append(both)) as step:
        step(1)
        step(3)
    assert heard == [(1, 3), (3, 3)]
