"""Solutions, loops and their derivatives: rows of a book, and the internals that no text shows."""

import json
import subprocess
import sys

import pytest

from tests.display.gallery_solutions import SOLUTIONS
from tests.display.latex_checker import check
from tests.display.normal_form import normalised
from tests.display.words import internal_words

ROWS = [pytest.param(row, id=row.name) for row in SOLUTIONS]

# What the printer does not write yet.  A row that it meets must leave the list.
NOT_YET = [row.name for row in SOLUTIONS]


@pytest.fixture(scope="module")
def printed():
    """What is printed, by name, in a process that has no older symbols."""
    command = [sys.executable, "-m", "tests.display.present", "--solutions", "--json"]
    return json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)


def met(row, printed):
    """Whether text and LaTeX are those of the row."""
    text, latex = printed[row.name]["text"], printed[row.name]["latex"]
    return row.text == text and normalised(latex) == normalised(row.latex)


def test_there_are_34_rows_and_each_has_a_form_of_its_own():
    assert len(SOLUTIONS) == len({row.name for row in SOLUTIONS}) == 34
    assert {*NOT_YET} <= {row.name for row in SOLUTIONS}


@pytest.mark.parametrize("row", ROWS)
def test_what_is_expected_is_latex_without_internals(row):
    check(row.latex)
    assert not internal_words(row.text)
    assert not internal_words(row.latex)


@pytest.mark.parametrize("row", ROWS)
def test_rows_are_met_or_listed(row, printed):
    if row.name in NOT_YET:
        assert not met(row, printed), "the printer meets this row: take it off NOT_YET"
    else:
        assert met(row, printed), printed[row.name]
