"""Enclosures contain the values: of every function, of random formulas, at points and over boxes.

The truth is that of ``tests.support.scalar_functions``; derivatives of formulas are numerical ones
of mpmath: nothing is shared with balls, or with the rules of differentiation.
"""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction

import mpmath as mp
import pytest
from hypothesis import given
from hypothesis import strategies as st

import symdiff as sd
from numeric import check
from symdiff.graph.algebra import primitive
from symdiff.scalars.formula import VOCABULARY, arity
from tests.support.budget import sample
from tests.support.scalar_functions import SMOOTH, STEPS, exact

pytest.importorskip("flint")

DIGITS = 30
TRUTH = 130  # digits of the oracle
ERROR = mp.mpf(10) ** -70  # that its numerical derivatives may have, relative to the terms
LARGEST = 50
AT_EDGES = {"lambertwm1", "lambertwm1_derivative", "lambertw", "lambertw_derivative"}
x, y = sd.symbols("x y")

# One case -----------------------------------------------------------------------------------------


class Case:
    """A formula as an expression and as a function of mpmath numbers, and a point."""

    def __init__(self, expression, function, point):
        self.expression, self.function, self.point = expression, function, point

    def derivative(self, order):
        by = [s for s, n in zip((x, y), order, strict=False) for _ in range(n)]
        found = sd.diff(self.expression, *by) if by else self.expression
        return found if isinstance(found, sd.Expr) else sd.constant(found)

    def truth(self, order, point, digits=TRUTH):
        """The derivative of the function, and how far it may be off."""
        with mp.workdps(digits):
            at = tuple(map(mp.mpf, point))
            value = real(self.function(*at))
            size = mp.fabs(value)
            if not any(order):
                return value, ERROR * size
            if mp.isnan(value):
                raise ValueError("the formula has no value, though its derivative may be written")
            value = real(mp.diff(self.function, at, tuple(order)))
            return value, ERROR * (1 + size + mp.fabs(value))

    def violation(self, found, order, point, counts):
        """What is wrong, if the oracle still says so with ten times the digits."""
        wrong = None
        for digits in (TRUTH, 10 * TRUTH):
            try:
                wrong = violation(found, *self.truth(order, point, digits), counts)
            except (ValueError, TypeError, ZeroDivisionError):  # a pole, an order of complex ones
                counts["unknown"] += 1
                continue
            if not wrong:
                return None
        return wrong


def real(value):
    """A real number, though it may be written as a complex one; nan for what is none."""
    if isinstance(value, mp.mpc):
        return mp.nan if value.imag else value.real
    return mp.mpf(value)


def violation(found, value, error, narrow=None):
    """What is wrong with an enclosure, if something is."""
    with mp.workdps(10 * TRUTH):
        if not found.lower - error <= value <= found.upper + error:
            return f"{found} does not contain {mp.nstr(value, 25)}"
        if narrow is not None:
            narrow[
                bool(found.width <= 4 * error + mp.fabs(value) * mp.mpf(10) ** (1 - DIGITS))
            ] += 1
    return None


def refused(error, counts):
    """Count a refusal, which has to be one of ours."""
    assert str(error).startswith("enclose: "), error
    counts["refused"] += 1


def of_vocabulary(rng, counts):
    """A function near one of the hand-picked points of its row, and its derivative."""
    name = rng.choice(sorted(SMOOTH))
    row = SMOOTH[name]
    point = [t for t in row.examples() if max(map(abs, t)) <= LARGEST]
    point = list(rng.choice(point))
    for k in range(len(point)):
        if k >= row.parameters and rng.random() < 0.75:
            moved = [*point[:k], point[k] * (1 + rng.randrange(-64, 64) / 1024), *point[k + 1 :]]
            point = moved if row.smooth(*moved) and name not in AT_EDGES else point
    order = rng.choice(row.of_orders(3))
    symbols = [sd.symbol(f"x{k}") for k in range(len(point))]
    operands = [sd.constant(point[k]) if k < row.parameters else s for k, s in enumerate(symbols)]
    derivative = primitive(name, *operands)
    for symbol, n in zip(symbols, order, strict=True):
        derivative = sd.diff(derivative, *[symbol] * n) if n else derivative
    env = dict(zip(symbols, point, strict=True))
    if not isinstance(derivative, sd.Expr):
        derivative = sd.constant(derivative)
    found = check.enclose(derivative, env, digits=DIGITS)
    values = exact(name, tuple(point), sum(order))
    value, size = values[order], mp.fabs(values[(0,) * len(point)])
    wrong = violation(found, value, ERROR * (size + mp.fabs(value) + mp.mpf(10) ** -10), counts)
    return wrong and f"{name}, order {order} at {point}: {wrong}"


def of_function_ranges(rng, counts):
    """A function, or a first derivative, over a range about a point, against points in it."""
    name = rng.choice(sorted(SMOOTH))
    row = SMOOTH[name]
    point = rng.choice([t for t in row.examples() if max(map(abs, t)) <= LARGEST])
    varied = list(range(row.parameters, len(point)))
    low, high = list(point), list(point)
    width = 2.0 ** -rng.randrange(1, 12)
    for k in varied:
        low[k] -= abs(point[k]) * width * rng.random()
        high[k] += abs(point[k]) * width * rng.random()
    inside = [[rng.uniform(a, b) for a, b in zip(low, high, strict=True)], low, high]
    if not all(row.smooth(*p) for p in inside) or name in AT_EDGES:
        return None
    symbols = [sd.symbol(f"x{k}") for k in range(len(point))]
    operands = [s if k in varied else sd.constant(point[k]) for k, s in enumerate(symbols)]
    order = [0] * len(point)
    if varied:
        order[rng.choice(varied)] = rng.randrange(2)
    derivative = sd.constant(0) + primitive(name, *operands)
    for symbol, n in zip(symbols, order, strict=True):
        derivative = sd.diff(derivative, symbol) if n else derivative
    box = {symbols[k]: (low[k], high[k]) for k in varied}
    try:
        found = check.enclose(sd.constant(0) + derivative, box, pieces=rng.choice((1, 8)))
    except ValueError as error:
        return refused(error, counts)
    counts["enclosed"] += 1
    for p in inside:
        value = exact(name, tuple(p), sum(order))[tuple(order)]
        wrong = violation(found, value, ERROR * (1 + mp.fabs(value)))
        if wrong:
            return f"{name}, order {order} over {box} at {p}: {wrong}"
    return None


UNARY = [
    name
    for name in SMOOTH
    if arity(name) == 1 and name not in ("gamma", "gammaln", "zeta", "erfc", "log_ndtr")
    if not SMOOTH[name].points
]
BINARY = ("maximum", "minimum", "hypot", "atan2", "logaddexp", "mod", "cosine", "exp_share")
CONDITIONS = ("less", "less_equal")


def formula(rng, point, size):
    """A random formula, with its value at ``point`` of moderate size: as an expression, and as a
    function.
    """
    if size <= 1:
        choice = rng.randrange(5)
        if choice < 4:
            return (x, lambda a, b: a) if choice % 2 else (y, lambda a, b: b)
        number = Fraction(rng.randrange(-9, 10), rng.choice((1, 2, 3, 7)))
        return sd.constant(number), lambda a, b: mp.mpf(number.numerator) / number.denominator
    kind = rng.choice(("sum", "product", "quotient", "power", *["unary"] * 4, "binary", "where"))
    part = rng.randrange(1, size)
    e, f = formula(rng, point, part)
    if kind in ("sum", "product", "quotient", "binary", "where"):
        d, g = formula(rng, point, max(size - part, 1))
    value = f(*point)
    if kind == "sum":
        c = rng.choice((1, -1, Fraction(2, 3)))
        made = (e + c * d, lambda a, b: f(a, b) + g(a, b) * c.numerator / c.denominator)
    elif kind == "product":
        made = (e * d, lambda a, b: f(a, b) * g(a, b))
    elif kind == "quotient" and g(*point):
        made = (e / d, lambda a, b: f(a, b) / g(a, b))
    elif kind == "power" and value:
        p = rng.choice((2, 3, -1, -2, Fraction(1, 2), Fraction(-1, 3), Fraction(3, 2)))
        if value < 0 and not isinstance(p, int):
            p = 2
        made = (e**p, lambda a, b: f(a, b) ** (mp.mpf(p.numerator) / p.denominator))
    elif kind == "binary":
        name = rng.choice(BINARY)
        row = SMOOTH[name]
        if not row.smooth(value, g(*point)):
            return e, f
        made = (primitive(name, e, d), lambda a, b: row.f(f(a, b), g(a, b)))
    elif kind == "where":
        name = rng.choice(CONDITIONS)
        h, u = formula(rng, point, max(size - part, 1))
        holds = STEPS[name]
        made = (
            sd.where(primitive(name, d, e), e, h),
            lambda a, b: f(a, b) if holds(g(a, b), f(a, b)) else u(a, b),
        )
    else:
        name = rng.choice((*UNARY, "floor", "sign", "step", "round"))
        row = SMOOTH.get(name)
        if row and not (row.smooth(value) and abs(value) <= LARGEST):
            return e, f
        of = row.f if row else lambda t: mp.mpf(STEPS[name](t))
        made = (primitive(name, e), lambda a, b: of(f(a, b)))
    try:
        fits = mp.fabs(made[1](*point)) <= LARGEST
    except (ValueError, ZeroDivisionError):
        return e, f
    return made if fits else (primitive("atan", made[0]), lambda a, b: mp.atan(made[1](a, b)))


def drawn(rng):
    point = tuple(rng.uniform(-4, 4) for _ in range(2))
    with mp.workdps(30):
        expression, function = formula(rng, tuple(map(mp.mpf, point)), rng.randrange(2, 9))
    return Case(expression, function, point)


def of_formulas(rng, counts):
    """A random formula and derivative at a random point."""
    case = drawn(rng)
    n = rng.randrange(4)
    k = rng.randrange(n + 1)
    order = (k, n - k)
    try:
        found = check.enclose(
            case.derivative(order), {x: case.point[0], y: case.point[1]}, digits=DIGITS
        )
    except ValueError as error:
        return refused(error, counts)
    wrong = case.violation(found, order, case.point, counts)
    return wrong and f"{case.expression}, order {order} at {case.point}: {wrong}"


def of_boxes(rng, counts):
    """A random formula and derivative over a random box, against points in it."""
    case = drawn(rng)
    order = rng.choice(((0, 0), (0, 0), (1, 0), (0, 1), (1, 1), (2, 0)))
    widths = [2.0 ** -rng.randrange(0, 8) for _ in range(2)]
    low = [p - w * rng.random() for p, w in zip(case.point, widths, strict=True)]
    high = [p + w * rng.random() for p, w in zip(case.point, widths, strict=True)]
    box = {s: (a, b) for s, a, b in zip((x, y), low, high, strict=True)}
    try:
        found = check.enclose(case.derivative(order), box, pieces=rng.choice((1, 4, 8)))
    except ValueError as error:
        return refused(error, counts)
    counts["enclosed"] += 1
    points = [[rng.uniform(a, b) for a, b in zip(low, high, strict=True)] for _ in range(2)]
    if not any(order):
        points += [low, high, [low[0], high[1]]]
    for point in points:
        wrong = case.violation(found, order, point, Counter())
        if wrong:
            return f"{case.expression}, order {order} over {box} at {point}: {wrong}"
    return None


# The properties -----------------------------------------------------------------------------------


def test_every_function_of_the_vocabulary_has_an_enclosure():
    from numeric.check.ball_special import FUNCTIONS

    assert {*FUNCTIONS, "where"} == set(VOCABULARY)


# What is drawn, how often, and the share of cases that may not count, of which kinds.
PROPERTIES = {
    "functions at points": (of_vocabulary, 240, 0.02, (False,)),
    "formulas at points": (of_formulas, 430, 0.02, ("refused", False, "unknown")),
    "functions over ranges": (of_function_ranges, 80, 0.1, ("refused",)),
    "formulas over boxes": (of_boxes, 250, 0.15, ("refused",)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PROPERTIES)
def test_enclosures_contain_the_values(name):
    property_, count, share, kinds = PROPERTIES[name]
    counts = Counter()

    @sample(count)
    @given(seed=st.integers(0, 2**64))
    def contained(seed):
        assert not (wrong := property_(random.Random(seed), counts)), wrong

    contained()
    assert sum(counts[kind] for kind in kinds) <= share * counts.total()


# The tester is tested -----------------------------------------------------------------------------


def caught(property_, count):
    """Whether so many cases show something wrong."""
    counts = Counter()
    for seed in range(count):
        try:
            if property_(random.Random(seed), counts):
                return True
        except ValueError:
            continue
    return False


@pytest.mark.parametrize(
    ("name", "other"),
    [("sin", "cos"), ("sinh", "cosh"), ("log1p", "expm1"), ("hypot", "logaddexp"), ("tanh", "erf")],
)
def test_a_function_taken_for_another_is_noticed(monkeypatch, name, other):
    from numeric.check.ball_special import FUNCTIONS

    monkeypatch.setitem(FUNCTIONS, name, FUNCTIONS[other])
    assert caught(of_formulas, 300)


def test_a_missing_factorial_of_a_derivative_is_noticed(monkeypatch):
    from numeric.check import ball_special

    right = ball_special.coefficient
    monkeypatch.setattr(
        ball_special, "coefficient", lambda s, n, x: right(s, n, x) / (2 if n > 1 else 1)
    )
    assert caught(of_vocabulary, 600)


@pytest.mark.parametrize("end", ["lower", "upper"])
def test_ends_rounded_inward_are_noticed(monkeypatch, end):
    from numeric.check import ball_arithmetic

    right = ball_arithmetic.of_balls

    def inward(*balls):
        found = right(*balls)
        if found is None or found.is_point:
            return found
        step = (found.upper - found.lower) * 0.75
        moved = (found.lower + step).lower() if end == "lower" else (found.upper - step).upper()
        setattr(found, end, moved)
        return found

    monkeypatch.setattr(ball_arithmetic, "of_balls", inward)
    assert caught(of_formulas, 300)


def test_a_hull_that_is_one_branch_is_noticed(monkeypatch):
    from numeric.check import ball_arithmetic

    monkeypatch.setattr(ball_arithmetic, "hull", lambda a, b: a)
    assert caught(of_boxes, 300)


def test_a_part_of_the_box_that_is_left_out_is_noticed(monkeypatch):
    from numeric.check.ball_arithmetic import Problem

    right = Problem.joined
    monkeypatch.setattr(Problem, "joined", lambda self, values: right(self, values[:-1] or values))
    assert caught(of_boxes, 300)


def test_a_slope_at_a_kink_that_takes_one_side_is_noticed(monkeypatch):
    from numeric.check.ball_special import FUNCTIONS

    monkeypatch.setitem(FUNCTIONS, "sign", FUNCTIONS["step"])
    assert caught(of_boxes, 300)
