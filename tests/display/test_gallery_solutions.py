"""Solutions, loops and their derivatives: rows of a book, true equations, and no internals."""

import pickle
import re
import subprocess
import sys

import numpy as np
import pytest

import symdiff as sd
from tests.display import written_programs
from tests.display.gallery_solutions import SOLUTIONS
from tests.display.latex_checker import check
from tests.display.points import evaluated, point
from tests.display.rows import met, present
from tests.display.solved_programs import PROGRAMS, UNSTATED
from tests.display.words import bound_words, internal_words

ROWS = [pytest.param(row, id=row.name) for row in SOLUTIONS]
# SciPy integrates and minimises the equations of a text by its own methods.
CLOSE = 2e-6

# What the printer does not write yet.  A row that it meets must leave the list.
NOT_YET = [
    # The normal form multiplies out r*a*(1 - 2*b), or writes one fraction.
    "solutions.logistic_map_by_rate",
    "solutions.babylon_by_parameter",
    "solutions.growth_by_rate",
    # Spaces in s[0, 0].
    "solutions.oscillator_by_start",
]


@pytest.fixture(scope="module")
def printed():
    """What is printed, by name, in a process that has no older symbols."""
    return present("--solutions")


def agrees(text, expr, seed=1):
    """Whether the equations of a text have the value of the expression."""
    values = point(expr, seed, signed=False)
    if "t" in values:
        values["t"] = np.sort(values["t"])
    ours = evaluated(expr, values)
    theirs = written_programs.value(text, values, np.shape(ours))
    np.testing.assert_allclose(theirs, ours, CLOSE, CLOSE, err_msg=text)


def test_there_are_40_rows_and_each_has_a_form_of_its_own():
    assert len(SOLUTIONS) == len({row.name for row in SOLUTIONS}) == 40
    assert {*NOT_YET} <= {row.name for row in SOLUTIONS}


@pytest.mark.parametrize("row", ROWS)
def test_what_is_expected_is_true_and_without_internals(row):
    check(row.latex)
    for written in (row.text, row.latex):
        assert not internal_words(written) + bound_words(written)
    agrees(row.text, row.build(), seed=2)


@pytest.mark.parametrize("row", ROWS)
def test_rows_are_met_or_listed(row, printed):
    if row.name in NOT_YET:
        assert not met(row, printed), "the printer meets this row: take it off NOT_YET"
    else:
        assert met(row, printed), printed[row.name]


@pytest.mark.parametrize("row", ROWS)
def test_printed_equations_are_true(row):
    expr = row.build()
    agrees(sd.text(expr), expr)


@pytest.mark.parametrize("name", PROGRAMS)
def test_equations_of_other_programs_are_true(name):
    """Carries of several arrays, checkpoints, loops in loops, Hessians, solutions in loops."""
    expr = PROGRAMS[name]()
    text, latex = sd.text(expr), sd.latex(expr)
    assert not internal_words(text) + bound_words(text) + bound_words(latex)
    check(latex)
    if isinstance(expr, sd.Expr) and name not in UNSTATED:
        agrees(text, expr)


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("exact", [False, True])
def test_parse_refuses_them_by_name_and_position(row, exact):
    expr = row.build()
    text = sd.text(expr, exact=exact)
    with pytest.raises(sd.ParseError, match=r"^. is a solution or a loop") as caught:
        sd.parse(text, sd.free_symbols(expr))
    assert str(caught.value)[0] in re.findall(r"\b[a-z]\b", text.split("\n")[0])
    assert text[caught.value.position :].startswith("where ")


def test_where_as_a_function_is_read():
    x = sd.symbol("x")
    assert sd.parse("where(x > 0, x, 1)", [x]) is sd.where(x > 0, x, 1)
    assert sd.parse("2 * where (x > 0, x, 1)", [x]) is 2 * sd.where(x > 0, x, 1)


def test_names_avoid_those_of_the_formula():
    """The user's x, a, k and n stay theirs."""
    x, a, k, n = sd.symbols("x a k n")
    assert sd.text(sd.root(lambda y: y - x, 0)) == "y\nwhere y - x = 0, y near 0"
    loop = sd.while_loop(lambda s: s < k, lambda s: a * s + n, 1)
    assert sd.text(loop) == (
        "b[m]\nwhere b[0] = 1, b[l + 1] = a*b[l] + n for l = 0, ..., m - 1\n"
        "and m is the first l where b[l] < k fails"
    )


def test_a_matrix_of_derivatives_has_its_equations_below():
    a, b = sd.symbols("a b")
    hessian = sd.hessian(sd.root(lambda x: x**3 + a * x - b, 1.0), [a, b])
    assert sd.text(hessian) == (
        "[ 2*a*x/(3*x**2 + a)**3          (3*x**2 - a)/(3*x**2 + a)**3 ]\n"
        "[ (3*x**2 - a)/(3*x**2 + a)**3   -6*x/(3*x**2 + a)**3         ]\n"
        "where x**3 + a*x - b = 0, x near 1"
    )


def test_the_same_equation_is_stated_once():
    """The derivative of a root of a differential equation's end value knows one solution u."""
    a = sd.symbol("a")
    x = sd.root(lambda z: sd.odeint(lambda u, t: -z * u, 1, [0, 1])[-1] - a, 0.5)
    assert sd.text(sd.diff(x, a)) == (
        "1/s(1)\nwhere u(1) - a = 0, x near 1/2\n"
        "and s = du/dx, s' = -s*x - u, s(0) = 0\nand u' = -u*x, u(0) = 1"
    )


def test_pickles_keep_the_equations():
    """In another process, in which no node of the solution exists."""
    alpha, y0 = sd.symbols("alpha y0")
    end = sd.odeint(lambda u, t: -alpha * u, y0, [0, 2])[-1]
    for f in (end, sd.diff(end, alpha)):
        code = "import pickle, sys; print(pickle.load(sys.stdin.buffer))"
        command = [sys.executable, "-c", code]
        read = subprocess.run(command, input=pickle.dumps(f), capture_output=True, check=True)
        assert read.stdout.decode().rstrip("\n") == sd.text(f)


def test_texts_of_large_loops_are_bounded():
    a, state = sd.symbol("a"), sd.symbol("state", 40)

    def step(s, _):
        for _ in range(60):
            s = sd.sin(a * s) + sd.cos(s) * sd.roll(s, 1)
        return s, None

    loss = sd.sum(sd.scan(step, state, None, length=5)[0])
    for f in (loss, sd.diff(loss, a)):
        assert len(sd.text(f)) < 60_000
        assert len(sd.latex(f)) < 120_000
        assert len(repr(f)) < 300


def test_drawings_name_loops_by_words():
    a = sd.symbol("a")
    drawing = sd.mermaid(sd.scan(lambda s, _: (a * s, None), 1, None, length=4)[0])
    assert "recurrence of 4 steps" in drawing
    assert "lambda" not in drawing
