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
from tests.support.refusals import refused

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


@pytest.mark.parametrize("given", [1j, np.complex128(1j), "2", None])
def test_what_is_no_number(given):
    with pytest.raises(TypeError):
        number.exact(given)


@pytest.mark.parametrize("exponent", [math.inf, math.nan])
def test_an_exponent_is_finite(exponent):
    with pytest.raises(ValueError, match="is not finite"):
        number.exact_exponent(exponent)


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
    ],
)
def test_powers_of_numbers(base, exponent, expected):
    assert number.raised(base, exponent) == expected


def test_an_even_root_of_a_negative_number_is_nan():
    assert math.isnan(number.raised(-4, Fraction(1, 2)))


# What an expression is not ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("act", "error", "says"),
    [
        (lambda: iter(x), TypeError, r"iteration over x, a 0-d .* sd\.stack\(\[x, y\]\)"),
        (lambda: iter(n), sd.Unsupported, "symbolic length n"),
        (lambda: len(x), TypeError, "0-d"),
        (lambda: len(n), sd.Unsupported, "symbolic length n"),
        (lambda: bool(x > 0), TypeError, "truth value"),
        (lambda: np.asarray(v), TypeError, "not an array of numbers"),
        (lambda: float(x), TypeError, "not a number"),
        (lambda: math.sin(x), TypeError, "functions of"),
        (lambda: checked_dtype(complex), TypeError, "not real, integer or boolean"),
    ],
)
def test_a_refusal_says_what_is_wrong(act, error, says):
    with pytest.raises(error, match=says):
        act()


def test_an_expression_of_known_length_is_a_sequence():
    assert len(v) == 3
    assert [part is v[i] for i, part in enumerate(v)] == [True] * 3


def test_a_constant_scalar_is_a_float():
    assert float(sd.constant(2) ** -1) == 0.5


@pytest.mark.parametrize(
    "operator",
    ["+", "-", "*", "/", "**"],
)
def test_arithmetic_with_a_stranger_is_a_type_error(operator):
    act = {
        "+": lambda: x + "2",
        "-": lambda: x - "2",
        "*": lambda: x * "2",
        "/": lambda: x / "2",
        "**": lambda: x ** "2",
    }[operator]
    with pytest.raises(TypeError):
        act()


def test_reflected_operators():
    """A NumPy scalar or a bool on the left reaches the same nodes as the function."""
    p, q = x > 0, x < 1
    assert (7.5 % x) is sd.mod(7.5, x)
    assert (7.5 // x) is sd.floor_divide(7.5, x)
    assert (True & p) is sd.logical_and(True, p)
    assert (False | p) is sd.logical_or(False, p)
    assert (True ^ p) is sd.logical_xor(True, p)
    assert (p ^ q) is sd.logical_xor(p, q)
    assert (x != 1) is sd.not_equal(x, 1)
    assert +x is x


# Derivatives of what is no symbol -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("act", "error", "says"),
    [
        (lambda: sd.grad([], x), ValueError, "empty"),
        (lambda: sd.grad(x, 2.0), TypeError, "not an expression"),
        (lambda: sd.vjp(v, v, x), sd.ShapeError, "shape"),
        (lambda: sd.vjp([v, v], v, [v]), ValueError, "2 cotangents expected, got 1"),
        (lambda: sd.jvp(v, v, x), sd.ShapeError, "shape"),
    ],
)
def test_a_derivative_is_refused(act, error, says):
    with pytest.raises(error, match=says):
        act()


# Contractions -------------------------------------------------------------------------------------


def test_a_contraction_names_the_operand_that_does_not_fit():
    refused(
        (sd.ShapeError, "has 1 axes, not 2", lambda: contract([(v, (0, 1))], (0,))),
        (
            sd.ShapeError,
            "would be both 3 and 2",
            lambda: contract([(v, (0,)), (sd.symbol("w", (2,)), (0,))], ()),
        ),
    )


# Formulas -----------------------------------------------------------------------------------------


def test_a_formula_lifts_all_kinds_of_parts():
    a, b = kernel_symbol(0), kernel_symbol(1)
    y = sd.symbol("y")
    env = {a: x, b: y}
    assert run(steps(sp.exp(a)), env) is sd.exp(x)
    assert run(steps(a**b), env) is x**y
    assert run(steps(sp.pi * a + sp.E), env) is sd.pi * x + sd.e
    assert run(steps(sp.Float(0.1) * a), env) is 0.1 * x
    assert run(steps(a ** sp.Rational(1, 2)), env) is sd.sqrt(x)


def test_a_formula_with_what_nobody_knows_is_refused():
    refused(
        (sd.Unsupported, "dirichlet_eta", lambda: steps(sp.dirichlet_eta(kernel_symbol(0)))),
        (
            sd.Unsupported,
            "is not bound",
            lambda: run(steps(kernel_symbol(1)), {kernel_symbol(0): x}),
        ),
    )


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
