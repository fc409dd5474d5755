"""What reads texts and LaTeX here knows every function that a text may have, by its value."""

import contextlib
import re

import numpy as np
import pytest

import symdiff as sd
from symdiff.interchange.parser import FUNCTIONS
from tests.display import written, written_latex
from tests.display.test_latex_laws import called

AT = {"a": 0.37, "b": 0.61, "c": 0.45, "d": 0.83}
POINTS = [AT, {k: x + 1.2 for k, x in AT.items()}]
POINTS += [{k: c * x for k, x in AT.items()} for c in (-1, -0.5)]
_CALLED = re.compile(r"([A-Za-z_]\w*)\(")


def derivatives_of(expr):
    """The first derivatives that an expression has."""
    derivatives = []
    for x in expr.free_symbols:
        with contextlib.suppress(sd.NotDifferentiable):
            derivatives.append(sd.diff(expr, x))
    return derivatives


def with_derivatives(name):
    """The function of symbols, and its first derivatives."""
    expr = called(name)
    return [expr, *derivatives_of(expr)]


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_function_of_the_language_has_its_value(name):
    """Where mpmath finds one, in double precision; the evaluator's is another one."""
    compared = 0
    for expr in with_derivatives(name):
        text = sd.text(expr)
        assert {*_CALLED.findall(text)} <= {*written.FUNCTIONS}
        for point in POINTS:
            try:
                ours = float(sd.evalf(expr, 20, {x: point[x.name] for x in expr.free_symbols}))
            except (ArithmeticError, ValueError, sd.Unsupported):
                continue
            if np.isfinite(ours):
                with np.errstate(all="ignore"):
                    theirs = written.value(text, point, ())
                np.testing.assert_allclose(float(theirs), ours, 1e-9, 1e-12, err_msg=text)
                compared += 1
    assert compared


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(n for n in FUNCTIONS if n.endswith("zeta_derivative")))
def test_orders_of_derivatives_in_latex_are_no_powers(name):
    """What stands in brackets above a function counts its derivatives: its value is the text's."""
    for expr in with_derivatives(name):
        latex, text = sd.latex(expr), sd.text(expr)
        assert r"^{\left(" in latex
        ours, theirs = written.value(text, AT, ()), written_latex.value(latex, AT, ())
        np.testing.assert_allclose(theirs, ours, 1e-9, 1e-12, err_msg=latex)
