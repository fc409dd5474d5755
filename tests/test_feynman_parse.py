"""The parser on real input: the 100 equations have the values that plain Python functions have."""

import math

import mpmath
import numpy as np
import pytest

import symdiff as sd
from numeric.check.derivatives import scale_of_terms
from numeric.check.oracles import EPS, multiprecision
from numeric.demo.equations import load
from numeric.lowering.reference import interpret
from tests.support.feynman_reference import REFERENCE

POINTS = 20
EQUATIONS = load()
BY_EQUATION = pytest.mark.parametrize("equation", EQUATIONS, ids=lambda e: e.number)


def sensitivity(function, point):
    """Sum of |x_i df/dx_i|, from a small relative change of each variable."""
    small = 2.0**-26
    value = function(*point)
    total = 0.0
    for i, x in enumerate(point):
        moved = [*point[:i], x * (1 + small), *point[i + 1 :]]
        total += abs(function(*moved) - value) / small
    return total


def tolerance(value, symbols, function, points):
    """Each operation rounds its operands and its result, relative to the scale of terms."""
    (scale,) = scale_of_terms([value], dict(zip(symbols, points, strict=True)))
    sensitive = [sensitivity(function, point) for point in points.T.tolist()]
    return EPS * sd.count_nodes(value) * (scale + np.array(sensitive))


@BY_EQUATION
def test_parsed_value_is_the_plain_function(equation):
    function, names = REFERENCE[equation.number]
    value, symbols = sd.parse(equation.formula), sd.symbols(" ".join(names))
    points = equation.sample(POINTS)
    expected = np.array([function(*point) for point in points.T.tolist()])
    env = dict(zip(symbols, points, strict=True))
    close = tolerance(value, symbols, function, points)
    assert np.median(close / np.abs(expected)) < 1e-11  # it would not hide a wrong formula
    many_digits = multiprecision(value, symbols)
    with mpmath.workdps(40):
        exact = [float(many_digits(*map(mpmath.mpf, point))) for point in points.T.tolist()]
    assert np.all(np.abs(np.array(exact) - expected) <= close)
    by_point = [
        interpret(value, {x: float(v[k]) for x, v in env.items()}) for k in range(points.shape[1])
    ]
    assert np.all(np.abs(np.array(by_point) - expected) <= close)


@BY_EQUATION
def test_variables_are_the_free_symbols(equation):
    value = sd.parse(equation.formula)
    assert {symbol.name for symbol in value.free_symbols} == set(equation.names)
    assert all(symbol is sd.symbol(symbol.name) for symbol in value.free_symbols)


def test_names_that_are_constants_elsewhere_are_symbols():
    names = {name for equation in EQUATIONS for name in equation.names}
    assert {"I", "E_n", "gamma", "beta", "Y", "chi", "g_"} <= names
    value = sd.parse("1/(gamma-1)*pr*V")
    assert math.isclose(interpret(value, {"gamma": 3.0, "pr": 2.0, "V": 5.0}), 5.0)
