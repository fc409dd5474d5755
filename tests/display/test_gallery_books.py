"""The rows that say what a book prints: they are right, and the printer meets those not listed."""

from itertools import islice

import numpy as np
import pytest

from symdiff import Expr
from tests.display import written, written_latex
from tests.display.gallery_books import BOOKS
from tests.display.latex_checker import check
from tests.display.points import evaluated, point
from tests.display.rows import met, present
from tests.display.words import internal_words

ROUNDING = 1e-12
ROWS = [pytest.param(row, id=row.name) for row in BOOKS]

# What the printer does not write yet.  A row that it meets must leave the list.
NOT_YET = [
    # Its text keeps the digits of 1 - x next to x = 1: 2/((1 - x)*(x + 1)).
    "books.log_of_quotient",
]


@pytest.fixture(scope="module")
def printed():
    """What is printed, by name, in a process that has no older symbols."""
    return present("--books")


def test_there_are_120_rows_and_each_has_a_form_of_its_own():
    assert len(BOOKS) == len({row.name for row in BOOKS}) == 120
    assert [row.name for row in BOOKS if row.text is None and isinstance(row.build(), Expr)] == []
    assert {*NOT_YET} <= {row.name for row in BOOKS}
    assert len(NOT_YET) == len({*NOT_YET})


@pytest.mark.parametrize("row", ROWS)
def test_what_is_expected_has_the_value_of_the_expression(row):
    """Text and LaTeX, at two points where the expression has a value."""
    check(row.latex)
    assert not internal_words(f"{row.text}")
    expr = row.build()
    if not isinstance(expr, Expr):
        return  # the entries of a column or a matrix
    places = (point(expr, seed, signed=seed % 2 > 0) for seed in range(20))
    pairs = ((values, evaluated(expr, values)) for values in places)
    for values, ours in islice((pair for pair in pairs if np.all(np.isfinite(pair[1]))), 2):
        text = written.value(row.text, values, np.shape(ours))
        latex = written_latex.value(row.latex, values, np.shape(ours))
        assert np.allclose(text, ours, rtol=ROUNDING, atol=ROUNDING)
        assert np.allclose(latex, ours, rtol=ROUNDING, atol=ROUNDING)


@pytest.mark.parametrize("row", ROWS)
def test_rows_are_met_or_listed(row, printed):
    if row.name in NOT_YET:
        assert not met(row, printed), "the printer meets this row: take it off NOT_YET"
    else:
        assert met(row, printed), printed[row.name]
