"""The demo: its oracles tell the truth, and a derivative wrong by 0.1 % does not get past them."""

from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import sympy

import symdiff as sd
from numeric.check.derivatives import scale_of_terms
from numeric.check.oracles import (
    EPS,
    Differences,
    extrapolate,
    multiprecision,
    precise_derivative,
)
from numeric.demo import check as checking
from numeric.demo import command
from numeric.demo.check import check, name
from numeric.demo.equations import LATTICE, Equation, load
from numeric.lowering.reference import interpret
from symdiff.calculus import rules

BY_NUMBER = {equation.number: equation for equation in load()}


def made_up(formula, **ranges):
    low, high = zip(*ranges.values(), strict=True)
    return Equation("made up", "y", formula, tuple(ranges), low, high)


def run(tmp_path, numbers, points=100):
    output = tmp_path / "table.md"
    arguments = ["--points", str(points), "--equations", numbers, "--output", str(output)]
    return command.main(arguments), output


# Points -------------------------------------------------------------------------------------------


def test_points_are_reproducible_and_lie_on_the_lattice_in_the_ranges():
    equation = BY_NUMBER["II.11.27"]
    points = equation.sample(1000)
    assert np.array_equal(points, equation.sample(1000))
    assert not np.array_equal(points, BY_NUMBER["II.11.28"].sample(1000)[:1])
    for x, low, high in zip(points, equation.low, equation.high, strict=True):
        assert low <= x.min() < low + 0.01 * (high - low)
        assert high - 0.01 * (high - low) < x.max() <= high
    assert np.array_equal(points / LATTICE, np.round(points / LATTICE))


# The scale of terms -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x - y", 5.0),
        ("2*x - 3*y + 1", 13.0),
        ("(x - y)**2", 25.0),
        ("(x - y)**3 * x", 375.0),
        ("1/(x - y)", 1.0),
        ("(x - y)/(x - y)**3", 1.0),
        ("sqrt(x - y)", 5**0.5),
        ("cos(x - y)", np.cos(1.0)),
        ("exp(x - y) - 1", np.exp(1.0) + 1),
        ("-x", 3.0),
        ("pi - x", np.pi + 3),
    ],
)
def test_scale_of_terms(text, expected):
    env = {sd.symbol("x"): np.array(3.0), sd.symbol("y"): np.array(2.0)}
    assert scale_of_terms([sd.parse(text)], env)[0] == pytest.approx(expected, rel=4 * EPS)


def test_scale_bounds_the_value():
    derivatives = BY_NUMBER["III.9.52"].differentiate()
    points = BY_NUMBER["III.9.52"].sample(50)
    env = dict(zip(derivatives.symbols, points, strict=True))
    outputs = list(derivatives.by_order.values())
    for output, scale in zip(outputs, scale_of_terms(outputs, env), strict=True):
        scales = np.broadcast_to(scale, 50)
        for k in range(50):
            value = interpret(output, {x: float(v[k]) for x, v in env.items()})
            assert abs(value) <= scales[k] * (1 + 100 * EPS)


# Many digits --------------------------------------------------------------------------------------


def test_multiprecision_computes_at_the_precision_of_the_call():
    x, y = sd.symbols("x y")
    f = multiprecision(x / 3 + sd.pi * sd.sqrt(y) + sd.sin(x) ** Fraction(2, 3) / y, [x, y])
    for digits in (15, 60):
        with mpmath.workdps(digits):
            a, b = mpmath.mpf(1) / 7, mpmath.mpf(2)
            expected = a / 3 + mpmath.pi * mpmath.sqrt(b) + mpmath.cbrt(mpmath.sin(a) ** 2) / b
            assert mpmath.almosteq(f(a, b), expected, 10 * mpmath.eps)


def test_multiprecision_is_nan_outside_the_domain():
    x = sd.symbol("x")
    assert mpmath.isnan(multiprecision(sd.sqrt(x), [x])(mpmath.mpf(-1)))


def test_multiprecision_refuses_arrays():
    x = sd.symbol("x", (3,))
    with pytest.raises(sd.ShapeError, match="scalars"):
        multiprecision(x.sum(), [x])
    y, total = sd.symbol("y"), sd.sum(sd.stack([sd.sin(sd.symbol("y")), sd.symbol("y")]))
    assert mpmath.almosteq(multiprecision(total, [y])(mpmath.mpf(1)), mpmath.sin(1) + 1)


def test_precise_derivative_has_every_digit_of_a_float():
    point = np.array([0.7, 1.3])

    def f(x, y):
        return mpmath.exp(x * y)

    e = np.exp(0.7 * 1.3)
    for order, expected in {
        (): e,
        (0,): 1.3 * e,
        (1, 1): 0.49 * e,
        (0, 1): (1 + 0.7 * 1.3) * e,
    }.items():
        assert precise_derivative(f, point, order) == pytest.approx(expected, rel=8 * EPS)


# Differences --------------------------------------------------------------------------------------

ORDERS = [(0,), (1,), (0, 0), (0, 1), (1, 1)]


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("exp(x*y)", 1, 3),
        ("sin(20*x*y)", 1, 3),  # arguments that are rounded, values that cancel
        ("1/(x - y)", 1, 3),  # a pole among the points
        ("sqrt(x**2 + y**2 - 2*x*y*cos(x - y))", 1, 3),  # nearly a kink
        ("arcsin(x*y)", 0, 1),  # differences at the edge of the domain
        ("x**3*y + 2", 1, 5),
        ("(x + 1000000) - y - 1000000", 1, 3),  # nothing but noise in the second derivatives
    ],
)
def test_differences_know_their_error(text, low, high):
    equation = made_up(text, x=(low, high), y=(low, high))
    points = equation.sample(400)
    value = sd.parse(text)
    derivatives = equation.differentiate()
    function = plain(value, derivatives.symbols)
    differences = Differences(lambda x: function(*x), points, equation.width)
    exact = multiprecision(value, derivatives.symbols)
    for order in ORDERS:
        found = differences.derivative(order)
        for k in range(0, 400, 40):
            reference = precise_derivative(exact, points[:, k], order)
            if np.isfinite(found.error[k]):
                assert abs(found.value[k] - reference) <= 2 * found.error[k]


def plain(value, symbols):
    """The value through SymPy and NumPy: nothing of the engine's own lowering."""
    function = sympy.lambdify([s.name for s in symbols], sd.to_sympy(value), "numpy")

    def silent(*x):
        with np.errstate(all="ignore"):
            return np.asarray(function(*x), dtype=float) + 0 * x[0]

    return silent


def test_differences_outside_the_domain_say_nothing():
    points = np.array([[-1.0, 2.0]])

    def log(x):
        with np.errstate(all="ignore"):
            return np.log(x[0])

    found = Differences(log, points, np.array([1.0])).derivative((0,))
    assert np.isinf(found.error[0])
    assert found.value[1] == pytest.approx(0.5, rel=1e-11)


def test_noise_of_the_values_is_measured():
    rough = np.random.default_rng(1)
    points = np.linspace(1, 2, 200)[None]

    def f(x):
        return x[0] ** 2 + 1e-9 * rough.standard_normal(x.shape[1])

    noise = Differences(f, points, np.array([1.0])).noise
    assert 0.5e-9 < np.median(noise) < 2e-9


def test_extrapolation_removes_even_powers():
    h = 2.0 ** -np.arange(6)[:, None]
    found = extrapolate(3 + h**2 - 5 * h**4 + 2 * h**6, np.zeros((6, 1)))
    assert found.value[0] == pytest.approx(3, rel=1e-12)


# Right derivatives pass ---------------------------------------------------------------------------


@pytest.mark.slow
def test_every_equation_passes_at_a_few_points(monkeypatch):
    monkeypatch.setattr(checking, "PRECISE_POINTS", 1)
    monkeypatch.setattr(checking, "DIFFERENCE_POINTS", 100)
    results = [check(equation, 100) for equation in BY_NUMBER.values()]
    assert [(r.number, r.failures) for r in results if r.failures] == []
    assert sum(r.derivatives for r in results) == sum(
        n + n * (n + 1) // 2 for n in (len(e.names) for e in BY_NUMBER.values())
    )


def test_the_command_reports(tmp_path, capsys):
    status, output = run(tmp_path, "I.6.2,III.10.19")
    lines = capsys.readouterr().out.splitlines()
    assert status == 0
    assert [line[:10].strip() for line in lines[2:4]] == ["1 / 2  |", "2 / 2  |"]
    assert lines[-1].startswith("all 2 equations agree: 19 derivatives, worst error ")
    text = output.read_text(encoding="utf-8")
    assert "| I.6.2 " in text
    assert "| III.10.19 " in text
    assert text.endswith(lines[-1] + "\n")


@pytest.mark.parametrize("arguments", [["--equations", "I.6.2,IV.1"], ["--points", "0"]])
def test_wrong_options_are_refused(arguments, capsys):
    with pytest.raises(SystemExit) as refused:
        command.main(arguments)
    assert refused.value.code == 2
    assert "IV.1" in capsys.readouterr().err or arguments[0] == "--points"


def test_names_of_derivatives():
    equation = BY_NUMBER["I.12.1"]
    assert name((0, 0), equation) == "d2/dmu dmu"


# Wrong ones do not --------------------------------------------------------------------------------


def wrong_product(monkeypatch):
    right = rules.ProductRule.partial
    monkeypatch.setattr(
        rules.ProductRule, "partial", lambda self: right(self) * Fraction(1001, 1000)
    )


def wrong_sum(monkeypatch):
    right = rules.SumRule.pull

    def wrong(self, g):
        return right(self, rules.Flow(g.expr * Fraction(1001, 1000), g.mark))

    monkeypatch.setattr(rules.SumRule, "pull", wrong)
    monkeypatch.setattr(rules.SumRule, "push", wrong)


def wrong_function(function):
    def plant(monkeypatch):
        right = rules.PointwiseRule.partial

        def wrong(self):
            p = right(self)
            return p * Fraction(1001, 1000) if self.node.op.name == function else p

        monkeypatch.setattr(rules.PointwiseRule, "partial", wrong)

    return plant


PLANTED = [
    (wrong_product, "I.12.1"),
    (wrong_product, "I.6.2"),
    (wrong_sum, "I.18.4"),
    (wrong_sum, "II.38.14"),
    (wrong_function("sin"), "I.18.12"),
    (wrong_function("cos"), "I.37.4"),
    (wrong_function("exp"), "I.40.1"),
    (wrong_function("log"), "I.44.4"),
    (wrong_function("asin"), "I.30.5"),
    (wrong_function("tanh"), "II.35.21"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("plant", "number"), PLANTED)
def test_a_rule_wrong_by_a_thousandth_fails_the_command(
    plant, number, monkeypatch, tmp_path, capsys
):
    plant(monkeypatch)
    status, output = run(tmp_path, number, points=40)
    assert status == 1
    assert (
        capsys.readouterr().out.splitlines()[-1].startswith(f"FAILED: 1 of 1 equations ({number})")
    )
    assert f"- {number}: d" in output.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(("plant", "number"), PLANTED)
def test_each_oracle_sees_it_alone(plant, number, monkeypatch):
    plant(monkeypatch)
    failures = check(BY_NUMBER[number], 40).failures
    assert any("80-digit" in failure for failure in failures)
    assert any("differences" in failure for failure in failures)


def test_a_wrong_value_fails():
    equation = BY_NUMBER["I.12.1"]
    values = {(): np.ones(3), (0,): np.ones(3), (1,): np.ones(3)}
    errors = checking._precise_errors(
        equation.differentiate(), equation, equation.sample(3), values
    )
    assert errors[()] > 0.01


# Points without a value ---------------------------------------------------------------------------


def test_too_many_points_outside_the_domain_fail(monkeypatch, tmp_path, capsys):
    equation = made_up("ln(x)", x=(-0.05, 1.0))
    monkeypatch.setattr(command, "load", lambda: [equation])
    status, _ = run(tmp_path, "made up", points=500)
    assert status == 1
    assert "points outside the real domain, more than 1%" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("formula", "ends", "points", "dropped", "failure"),
    [
        ("ln(x)", (-0.005, 1.0), 1000, range(1, 10), None),
        ("ln(x)", (-2.0, -1.0), 10, [10], "100.0% points outside the real domain"),
        # At the finest steps the function has turned over: differences see noise.
        ("cos(x*10**4)", (1.0, 2.0), 40, [0], "cannot judge"),
    ],
)
def test_points_outside_the_domain_are_dropped_and_counted(formula, ends, points, dropped, failure):
    result = check(made_up(formula, x=ends), points)
    assert result.dropped in dropped
    assert bool(result.failures) == (failure is not None)
    assert failure is None or any(failure in said for said in result.failures)


def test_a_derivative_that_is_nan_where_the_value_is_not_fails():
    equation = BY_NUMBER["I.12.1"]
    known = {(): np.ones(3), (0,): np.array([1.0, np.nan, np.inf])}
    assert checking._not_finite(equation, known) == [
        "d/dmu is not finite at 2 points where the value is"
    ]


def test_ranges_do_not_matter_to_the_points_of_others():
    equation = replace(BY_NUMBER["I.12.1"], low=(0.0, 0.0))
    assert equation.sample(4).shape == (2, 4)
