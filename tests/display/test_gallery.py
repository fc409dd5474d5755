"""The gallery: that it is right, and that text and LaTeX are what it says."""

import contextlib
import re

import numpy as np
import pytest

from tests.display.gallery import GALLERY
from tests.display.latex_checker import check
from tests.display.normal_form import normalised
from tests.display.points import evaluated, point
from tests.display.rows import present, reading
from tests.display.words import internal_words
from tests.display.written import value

ROWS = [pytest.param(row, id=row.name) for row in GALLERY]
WITH_TEXT = [pytest.param(row, id=row.name) for row in GALLERY if row.text is not None]
WITH_LATEX = [pytest.param(row, id=row.name) for row in GALLERY if row.latex is not None]

# Some dozens of roundings, of numbers about 1, in two orders of evaluation.
ROUNDING = 1e-12
INDEXED = re.compile(r"\w*\[[a-z](,[a-z])*\] = |sum\[[a-z]")


@pytest.fixture(scope="module")
def printed():
    """What is printed, by name, in a process that has no older symbols."""
    return present()


def close(one, other):
    return np.allclose(one, other, rtol=ROUNDING, atol=ROUNDING, equal_nan=True)


def agrees(text, expr):
    """Whether a text, evaluated by Python and NumPy, has the values of ``expr`` at four points."""
    for seed in range(4):
        values = point(expr, seed, signed=seed > 1)
        ours = evaluated(expr, values)
        with np.errstate(all="ignore"):
            if not close(value(text, values, np.shape(ours)), ours):
                return False
        assert np.all(np.isfinite(ours)) or seed > 1
    return True


@pytest.mark.parametrize("row", WITH_TEXT)
def test_what_is_expected_has_the_value_of_the_expression(row):
    """Of the gallery itself, whatever is printed."""
    assert agrees(row.text, row.build())


@pytest.mark.slow
@pytest.mark.parametrize("row", WITH_TEXT)
def test_text(row, printed):
    assert printed[row.name]["text"] == row.text


@pytest.mark.parametrize("row", WITH_LATEX)
def test_latex(row, printed):
    latex = printed[row.name]["latex"]
    assert normalised(latex) == normalised(row.latex), latex


@pytest.mark.parametrize("row", ROWS)
def test_laws(row, printed):
    """LaTeX that is set; no word of the implementation; a text that is read as what it says."""
    text, latex = printed[row.name]["text"], printed[row.name]["latex"]
    check(latex)
    assert not internal_words(text)
    assert not internal_words(latex.replace("\\_", "_"))
    expr = row.build()
    if all(x.shape == () for x in (expr, *expr.free_symbols)):
        assert printed[row.name]["again"] == text
    if INDEXED.search(text):
        return
    read = reading(text, expr)
    values = point(expr, 0, signed=False)
    assert close(evaluated(read, values), evaluated(expr, values))


@pytest.mark.slow
def test_what_is_held_from_elsewhere_does_not_decide_how_a_formula_reads(printed):
    """Of equal nodes only the first is made: here in another order than the formula makes them."""
    later = present("1")
    shown = "text", "latex"
    changed = [
        row.name
        for row in GALLERY
        if any(later[row.name][k] != printed[row.name][k] for k in shown)
    ]
    assert not changed


def test_index_notation_is_where_nothing_else_says_it(printed):
    """Of the rows that leave the form open, too, no more than these need letters."""
    lettered = [row.name for row in GALLERY if INDEXED.search(printed[row.name]["text"])]
    assert len(lettered) <= 14, lettered


def test_typed_formulas_are_read_as_the_same_node(printed):
    typed = [row.name for row in GALLERY if printed[row.name]["same"]]
    assert {"scalars.typed", "scalars.rosenbrock", "scalars.huber", "scalars.garch"} <= {*typed}


MISTAKES = [(" - ", " + "), (r"\.T", ""), (r"\b2\*", "3*"), (r"\[0\]", "[1]"), ("cos", "sin")]


def test_planted_mistakes_in_the_gallery_are_found():
    """A sign, a transposition, a factor or an index that is wrong has another value."""
    found = 0
    for row in GALLERY:
        for right, wrong in MISTAKES:
            places = list(re.finditer(right, row.text or ""))
            if not places:
                continue
            start, stop = places[-1].span()
            changed = row.text[:start] + wrong + row.text[stop:]
            with contextlib.suppress(ValueError, IndexError):  # shapes that misfit
                assert not agrees(changed, row.build()), (row.name, changed)
            found += 1
    assert found > 80
