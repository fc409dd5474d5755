"""Proven bounds of rounding errors are above every error that is found, and say what is assumed."""

from __future__ import annotations

import ast
import random
import sys

import pytest

import numeric as nm
import symdiff as sd
from numeric import check
from tests.support.budget import scaled

pytest.importorskip("flint")
from numeric.check import proofs, roundings  # which import it

x, y = sd.symbols("x y")

SCALAR = {
    "sin": (sd.sin(x), (-10, 10), 4),
    "expm1": (sd.expm1(x), (-5, 5), 4),
    "log(1 + x)": (sd.log(1 + x), (0.5, 1), 5),
    "sqrt": (sd.sqrt(x), (1, 4), 4),
    "abs": (abs(x), (-1, 1), 0),
    "exp": (sd.exp(x), (-700, 700), 4),
    "damped": (sd.exp(-x * x / 3) * sd.cos(x), (-1, 1), 20),
    "quotient": ((sd.exp(x) - 1) / x, (0.5, 1), 50),
    "where": (sd.where(x > 0, sd.exp(x), 1 + x), (-0.5, 1), 4),
    "polynomial": (x**3 - 2 * x, (2, 3), 10),
    "pi": (sd.pi * x, (1, 2), 4),
    "maximum": (sd.maximum(x, 1) * 3, (0.25, 3), 4),
    "exact difference": (sd.log(x - 1), (1.125, 1.875), 30),
    "rational": (x / (1 + x * x), (0.125, 0.75), 40),
}


def both(expression, box, budget=150, symbols=(x,)):
    F = nm.lower(expression, list(symbols))
    proven = check.certify(F, box, method="proven", budget=budget)
    return proven, check.certify(F, box, budget=budget)


def exceeded(expression, box, **options):
    """The outputs of which an error was found that is larger than what is proven."""
    proven, found = both(expression, box, **options)
    return [name for name in proven.ulps if found.ulps[name] > proven.ulps[name]]


@pytest.mark.slow
@pytest.mark.parametrize("case", SCALAR.values(), ids=SCALAR)
def test_bounds_hold_and_are_useful(case):
    expression, box, bound = case
    proven, found = both(expression, {x: box})
    for name, ulps in proven.ulps.items():
        assert found.ulps[name] <= ulps <= bound
    assert proven.point == {}


def test_bounds_of_two_inputs_hold():
    f = x * sd.sin(y) + sd.exp(x)
    assert not exceeded(f, {x: (1, 2), y: (0.1, 1)}, symbols=(x, y))


def random_formula(rng, size):
    if size <= 1:
        return rng.choice((x, y, sd.constant(rng.choice((1, 3, sd.constant(0.1), 2)))))
    part = rng.randrange(1, size)
    a, b = random_formula(rng, part), random_formula(rng, max(size - part, 1))
    kind = rng.randrange(7)
    if kind == 0:
        return a + b
    if kind == 1:
        return a * b
    if kind == 2:
        return a / (1 + b * b)
    if kind == 3:
        return sd.sin(a)
    if kind == 4:
        return sd.exp(-a * a)
    return sd.sqrt(1 + a * a) if kind == 5 else a - b / 3


def random_cases(count):
    rng = random.Random(1)
    for _ in range(count):
        low = [rng.uniform(0.1, 2), rng.uniform(0.1, 2)]
        yield (
            random_formula(rng, rng.randrange(3, 8)),
            {x: (low[0], low[0] + 0.01), y: (low[1], low[1] + 0.01)},
        )


@pytest.mark.slow
def test_bounds_of_random_formulas_hold():
    proved = 0
    for expression, box in random_cases(scaled(25)):
        try:
            assert not exceeded(expression, box, budget=40, symbols=(x, y)), (expression, box)
        except sd.Unsupported:
            continue
        proved += 1
    assert proved > 0.6 * scaled(25)


def test_what_is_assumed_is_said():
    proven, _ = both(sd.sin(x) + sd.sqrt(x), {x: (0.5, 1)})
    assert proven.assumptions == (
        "the program is the formula, but for rounding",
        "cos of math is within 1 ulp",
        "sin of math is within 1 ulp",
    )
    assert "assumed: sin of math is within 1 ulp" in str(proven)
    assert "at most, proven" in str(proven)


@pytest.mark.parametrize(
    ("expression", "box", "reason"),
    [
        (1 - sd.cos(x), (-1, 1), "no digit of value is certain"),
        (sd.sin(3 * x), (-1, 1), "no digit of d/dx is certain"),
        (sd.sqrt(x), (0, 4), "a divisor may be 0"),
        (sd.exp(x), (0, 1000), "overflow"),
        (sd.gamma(x), (1, 2), "digamma, gamma"),
        (sd.log(x - 1), (0.5, 1.5), "no bounded real value"),
        (sd.where(sd.sin(x) > 0.5, x, 2 * x), (0, 1), "rounding decides"),
    ],
)
def test_what_cannot_be_bounded_is_refused_with_the_reason(expression, box, reason):
    with pytest.raises(sd.Unsupported, match=reason):
        check.certify(nm.lower(expression, x), {x: box}, method="proven", budget=200)


def test_a_program_that_is_not_the_formula_is_refused(monkeypatch):
    right = ast.parse
    monkeypatch.setattr(
        proofs.ast, "parse", lambda source: right(source.replace("= sin(", "= cos("))
    )
    with pytest.raises(sd.Unsupported, match="as read differs from its formula"):
        check.certify(nm.lower(sd.sin(x), x), {x: (0, 1)}, method="proven", budget=5)


def test_the_extra_is_named_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "flint", None)
    with pytest.raises(ImportError, match=r"symdiff-numeric\[certify\]"):
        check.certify(nm.lower(sd.sin(x), x), {x: (0, 1)}, method="proven")


def test_float32_is_refused():
    with pytest.raises(sd.Unsupported, match="float64"):
        check.certify(nm.lower(x, x), {x: (0, 1)}, method="proven", dtype="float32")


# The tester is tested -----------------------------------------------------------------------------


def noticed():
    """Whether some bound is exceeded, in the cases above."""
    for expression, box, _ in SCALAR.values():
        if exceeded(expression, {x: box}, budget=60):
            return True
    return any(exceeded(f, box, budget=20, symbols=(x, y)) for f, box in random_cases(20))


def test_operations_that_do_not_round_are_noticed(monkeypatch):
    monkeypatch.setattr(roundings, "U", proofs.arb((1, -60)))
    assert noticed()


def test_functions_without_error_are_noticed(monkeypatch):
    exactly = lambda t: roundings.function_of("exp", t, roundings.ZERO, roundings.ZERO)  # noqa: E731
    monkeypatch.setitem(proofs.CALLS, "exp", exactly)
    assert noticed()


def test_errors_that_a_function_does_not_pass_on_are_noticed(monkeypatch):
    right = roundings.function_of
    monkeypatch.setattr(
        roundings, "function_of", lambda name, t, *rest: right(name, proofs.Rounded(t.exact), *rest)
    )
    f = sd.exp(100 * sd.sin(x))
    assert exceeded(f, {x: (1, 1.25)})


def test_errors_that_a_sum_takes_for_relative_are_noticed(monkeypatch):
    def alone(a, b):
        return roundings.stored(
            roundings.add(a.exact, b.exact), max(a.r, b.r), a.s + b.s, roundings.U, 0
        )

    monkeypatch.setitem(proofs._BINARY, ast.Sub, lambda a, b: alone(a, roundings.opposite_of(b)))
    monkeypatch.setitem(proofs._BINARY, ast.Add, alone)
    assert exceeded(sd.exp(x) - 2 * x, {x: (1, 1.25)}) or exceeded(sd.exp(x) - 1, {x: (0.01, 0.1)})
