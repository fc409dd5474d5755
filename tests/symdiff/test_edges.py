"""The rarely taken turns: what is refused and how it says so, and numbers at the door."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

import symdiff as sd
from symdiff.graph import number
from symdiff.graph.contraction import contract
from symdiff.graph.formula_nodes import run, steps
from symdiff.graph.leaves import checked_dtype
from symdiff.scalars.formula import kernel_symbol

x = sd.symbol("x")
v = sd.symbol("v", (3,))
n = sd.symbol("n", ("n",))


# Numbers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (sp.Rational(6, 4), Fraction(3, 2)),
        (sp.Integer(7), 7),
        (sp.Float(0.1), 0.1),
        (Decimal("0.25"), Fraction(1, 4)),
        (Decimal("Infinity"), math.inf),
        (np.bool_(True), 1),
        (Fraction(4, 2), 2),
    ],
)
def test_what_a_number_is(given, expected):
    found = number.exact(given)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("base", "exponent", "expected"),
    [
        (0, -1, math.inf),
        (0, Fraction(-1, 2), math.inf),
        (0, Fraction(1, 2), 0),
        (1, Fraction(1, 3), 1),
        (2, 5000, None),
        (1, 5000, 1),
        (2, Fraction(1, 65), None),
        (Fraction(4, 9), Fraction(3, 2), Fraction(8, 27)),
        (0.1, 2, 0.1**2),
        (-4, Fraction(1, 2), math.nan),
    ],
)
def test_powers_of_numbers(base, exponent, expected):
    found = number.raised(base, exponent)
    assert found == expected or (math.isnan(found) and math.isnan(expected))


# What an expression is not ------------------------------------------------------------------------


REFUSED = [
    *((TypeError, None, lambda s=s: number.exact(s)) for s in (1j, np.complex128(1j), "2", None)),
    *(
        (ValueError, "not finite", lambda p=p: number.exact_exponent(p))
        for p in (math.inf, math.nan)
    ),
    # What an expression is not.
    (TypeError, r"iteration over x, a 0-d .* sd\.stack\(\[x, y\]\)", lambda: iter(x)),
    (sd.Unsupported, "symbolic length n", lambda: iter(n)),
    (TypeError, "0-d", lambda: len(x)),
    (sd.Unsupported, "symbolic length n", lambda: len(n)),
    (TypeError, "truth value", lambda: bool(x > 0)),
    (TypeError, "not an array of numbers", lambda: np.asarray(v)),
    (TypeError, "not a number", lambda: float(x)),
    (TypeError, "functions of", lambda: math.sin(x)),
    (TypeError, "not real, integer or boolean", lambda: checked_dtype(complex)),
    *(
        (TypeError, None, act)
        for act in (
            lambda: x + "2",
            lambda: x - "2",
            lambda: x * "2",
            lambda: x / "2",
            lambda: x ** "2",
        )
    ),
    # Derivatives of what is not a symbol.
    (ValueError, "empty", lambda: sd.grad([], x)),
    (TypeError, "not an expression", lambda: sd.grad(x, 2.0)),
    (sd.ShapeError, "shape", lambda: sd.vjp(v, v, x)),
    (ValueError, "2 cotangents expected, got 1", lambda: sd.vjp([v, v], v, [v])),
    # Contractions and formulas.
    (sd.ShapeError, "has 1 axes, not 2", lambda: contract([(v, (0, 1))], (0,))),
    (
        sd.ShapeError,
        "would be both 3 and 2",
        lambda: contract([(v, (0,)), (sd.symbol("w", (2,)), (0,))], ()),
    ),
    (sd.Unsupported, "dirichlet_eta", lambda: steps(sp.dirichlet_eta(kernel_symbol(0)))),
    (sd.Unsupported, "is not bound", lambda: run(steps(kernel_symbol(1)), {kernel_symbol(0): x})),
]


@pytest.mark.parametrize(("error", "says", "act"), REFUSED)
def test_a_refusal_says_what_is_wrong(error, says, act):
    with pytest.raises(error, match=says):
        act()


def test_an_expression_of_known_length_is_a_sequence():
    assert len(v) == 3
    assert [part is v[i] for i, part in enumerate(v)] == [True] * 3


def test_a_constant_scalar_is_a_float():
    assert float(sd.constant(2) ** -1) == 0.5


P, Q, y = x > 0, x < 1, sd.symbol("y")
a, b = kernel_symbol(0), kernel_symbol(1)
SPELLINGS = [
    # A NumPy scalar or a bool on the left reaches the same nodes as the function.
    (lambda: 7.5 % x, sd.mod(7.5, x)),
    (lambda: 7.5 // x, sd.floor_divide(7.5, x)),
    (lambda: True & P, sd.logical_and(True, P)),
    (lambda: False | P, sd.logical_or(False, P)),
    (lambda: True ^ P, sd.logical_xor(True, P)),
    (lambda: P ^ Q, sd.logical_xor(P, Q)),
    (lambda: x != 1, sd.not_equal(x, 1)),
    (lambda: +x, x),
    # A formula lifts all kinds of parts.
    *(
        (lambda formula=formula: run(steps(formula), {a: x, b: y}), wanted)
        for formula, wanted in (
            (sp.exp(a), sd.exp(x)),
            (a**b, x**y),
            (sp.pi * a + sp.E, sd.pi * x + sd.e),
            (sp.Float(0.1) * a, 0.1 * x),
            (a ** sp.Rational(1, 2), sd.sqrt(x)),
        )
    ),
]


@pytest.mark.parametrize(("make", "wanted"), SPELLINGS, ids=lambda v: "" if callable(v) else str(v))
def test_one_value_has_one_spelling(make, wanted):
    assert make() is wanted


# Derivatives of what is not a symbol
# -----------------------------------------------------------------


# Contractions -------------------------------------------------------------------------------------


# Formulas -----------------------------------------------------------------------------------------


# Extremes of nan ----------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [sd.max, sd.min])
def test_the_derivative_of_an_extreme_goes_to_what_is_nan(function):
    slope = sd.grad(function(v), v)
    for point, expected in (
        ([1.0, math.nan, 3.0], [0, 1, 0]),
        ([math.nan, 1.0, math.nan], [0.5, 0, 0.5]),
        ([2.0, 2.0, 2.0], [1 / 3, 1 / 3, 1 / 3]),
    ):
        found = sd.evalf(slope, 15, {v: np.array(point)})
        assert np.allclose(np.array(found, float), expected)
