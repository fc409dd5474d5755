"""The formulas of books are what they should be, and so are SymPy's texts of their derivatives."""

import random
import re
from functools import reduce

import numpy as np
import pytest
import sympy as sp

import symdiff as sd
from tests.display.book_formulas import FORMULAS
from tests.display.book_lengths import derivatives, figures, saved, shorter, summary
from tests.display.points import evaluated, point

_NAME = re.compile(r"[A-Za-z_]\w*")
ROUNDING = 1e-9  # SymPy's texts cancel in places
# More than 1.35 of SymPy's length: it multiplies out (1 - x)*(x + 1), which keeps digits.
LONGER = ["log_of_quotient: first"]
ALL = {name: formula for formula in FORMULAS for name in derivatives(formula)}


def entries(name):
    """The entries of a derivative by symdiff."""
    formula = ALL[name]
    expr = sd.parse(formula.text)
    for variables in derivatives(formula)[name]:
        yield reduce(sd.diff, map(sd.symbol, variables), expr)


def renamed(text):
    """The text with names in the order of occurrence, functions and numbers excepted."""
    names = {}

    def place(match):
        word, follows = match[0], text[match.end() :][:1]
        return word if follows == "(" or word == "pi" else names.setdefault(word, f"x{len(names)}")

    return _NAME.sub(place, text)


def test_there_are_a_hundred_and_no_two_are_alike():
    assert len(FORMULAS) == 100
    assert len({formula.name for formula in FORMULAS}) == 100
    assert len({formula.source for formula in FORMULAS}) > 80
    assert len({sd.parse(formula.text) for formula in FORMULAS}) == 100
    assert len({renamed(formula.text) for formula in FORMULAS}) == 100
    fields = {formula.source.partition(":")[0] for formula in FORMULAS}
    assert len(fields) == 11
    assert 20 <= sum(len(formula.variables) > 1 for formula in FORMULAS) <= 40


@pytest.mark.parametrize("formula", [pytest.param(f, id=f.name) for f in FORMULAS])
def test_sympys_texts_are_the_derivatives(formula):
    """Every derivative exists, and has the value of the checked in text at a point."""
    names = derivatives(formula)
    ours = [entry for name in names for entry in entries(name)]
    theirs = [sd.parse(text) for name in names for text in saved()["texts"][name]]
    assert len(ours) == len(theirs)
    both = sd.stack([*ours, *theirs])
    values = (evaluated(both, point(both, seed, signed=False)) for seed in range(20))
    finite = next(value for value in values if np.all(np.isfinite(value)))
    assert np.allclose(*np.split(finite, 2), rtol=ROUNDING, atol=ROUNDING)


def test_all_derivatives_are_measured():
    assert saved()["texts"].keys() == ALL.keys()
    assert not saved()["unfinished"]
    rows = figures()
    assert [row.name for row in rows] == [*ALL]
    assert all(min(row.length, row.sympys) > 0 for row in rows)
    total = summary(rows)
    assert total["median"] <= 1.0
    assert total["within"] >= 0.9
    assert {row.name for row in rows if row.ratio > 1.35} <= {*LONGER}


@pytest.mark.slow
def test_sympys_texts_are_what_sympy_writes():
    """Three of them, chosen anew each time; other versions of SymPy write others."""
    if sp.__version__ != saved()["sympy"]:
        pytest.skip(f"the texts are those of SymPy {saved()['sympy']}")
    for name in random.sample([*ALL], 3):
        formula = ALL[name]
        again = [shorter(formula, variables) for variables in derivatives(formula)[name]]
        assert again == [(text, True) for text in saved()["texts"][name]], name
