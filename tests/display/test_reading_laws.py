"""The laws of reading: a text has the value of its expression, and reads as itself."""

import operator
import re
from fractions import Fraction

import mpmath as mp
from hypothesis import example, given
from hypothesis import strategies as st

import symdiff as sd
from tests.display.book_formulas import FORMULAS
from tests.display.book_lengths import derivatives
from tests.display.rows import reading
from tests.display.test_round_trip import (
    _extended,
    formulas,
    leaves,
    numbers_of,
    readable,
    x,
    y,
    z,
)
from tests.support.budget import sample
from tests.support.cases import all_cases

# Points: inside of domains, and numbers at which functions and their derivatives have borders.
PLACES = st.sampled_from(
    [Fraction(k, 7) for k in (-20, -9, -4, 3, 5, 9, 16)] + [Fraction(k) for k in (-2, -1, 0, 1, 2)]
)


def value(expr, at):
    """The value to 25 digits; None where there is none."""
    try:
        number = expr.evalf(25, {s: at[s.name] for s in expr.free_symbols})
    except ArithmeticError as error:  # digits of an exact 0 are never certain
        about = re.search(r"the value is about (\S+); it may be exactly 0", str(error))
        return mp.mpf(0) if about and abs(float(about.group(1))) < 1e-100 else None
    except (ValueError, sd.Unsupported):
        return None
    return number if mp.isfinite(number) else None


def at_kink(expr, at):
    """Whether a power with a variable exponent has the base 0, or a length is 0.

    The derivative there is a convention, which a text leaves out.
    """
    bases = [bases_of(node) for node in sd.nodes(expr)]
    return any(all(value(x, at) == 0 for x in zeros) for zeros in bases if zeros)


def bases_of(node):
    """The operands of a node that are all 0 where its derivative is a convention."""
    match node.op.name:
        case "power":
            return node.args[:1]
        case "gamma_density":
            return node.args[1:]
        case "beta_density":
            return [node.args[3] * (1 - node.args[3])]
        case "cosine" | "hypot_derivative":
            return node.args[-2:]
    return ()


def assert_reads(expr, *points):
    """Check both laws at points."""
    if not readable(expr):
        return
    text = sd.text(expr, full=True)
    again = reading(text, expr)
    assert sd.text(again, full=True) == text, sd.text(expr, exact=True)
    floats = any(isinstance(c, float) for c in numbers_of(expr))  # which round
    eps = 1e-14 if floats else 1e-18
    for at in points:
        mine = value(expr, at)
        if mine is not None and not at_kink(expr, at):
            other = value(again, at)
            assert other is not None, (text, sd.text(expr, exact=True), at)
            assert mp.almosteq(mine, other, rel_eps=eps, abs_eps=eps), (text, str(at))


AT_ONE = {s.name: 1 for s in (x, y, z)} | {"n": 2}
AT = st.fixed_dictionaries({s.name: PLACES for s in (x, y, z)})


@sample(60)
@example(sd.expm1(x) / sd.expm1(x) / x, AT_ONE)  # 1/expm1(x) is a function
@example(sd.sqrt(sd.expm1(x)) / sd.expm1(x) / x, AT_ONE)
@example(x ** (y / 2) * x**y, {x.name: -2, y.name: 2})
@given(formulas, AT)
def test_formulas(expr, at):
    assert_reads(expr, at)


@sample(60)
@given(formulas, AT)
def test_derivatives(expr, at):
    assert_reads(sd.diff(expr, x), at)


@sample(20)
@given(st.recursive(leaves, _extended, max_leaves=6), AT)
def test_second_derivatives(expr, at):
    assert_reads(sd.diff(expr, x, y), at)
    assert_reads(sd.diff(expr, x, x), at)


n = sd.symbol("n", dtype=int)
LEAVES = [x, y, n, sd.floor(x), sd.sign(y), sd.where(x > 0, 1, 2), sd.where(y > x, 3, -1)]
LEAVES += [sd.where(x > 1, x, 2 * x)]
WITH_INTEGERS = st.recursive(
    st.sampled_from([*LEAVES, 2 * n + 1, x + 1, (x > 0) * y]),
    lambda parts: st.one_of(
        st.builds(operator.add, parts, parts),
        st.builds(operator.sub, parts, parts),
        st.builds(operator.mul, parts, parts),
        st.builds(operator.truediv, parts, parts),
        st.builds(operator.pow, parts, st.just(2)),
    ),
    max_leaves=6,
)


@sample(60)
@example(x / sd.where(x > 1, x, 2 * x), AT_ONE)
@example(sd.where(x > 1, 1, 2) * (n * sd.where(x > 1, x, 2 * x)) ** 2 / x**2 - n * n, AT_ONE)
@given(WITH_INTEGERS, AT.flatmap(lambda at: st.just(at | {"n": 2})))
def test_formulas_with_integers(expr, at):
    assert_reads(expr, at)
    assert_reads(sd.diff(expr, x), at)


# Positive numbers without a common divisor, at which the formulas of books have values.
PRIMES = [Fraction(p, 10) for p in (7, 13, 5, 11, 3, 17, 19, 23, 29, 2)]


@all_cases("formula", FORMULAS, least=100)
def test_the_value_of_each_derivative_of_a_book(formula):
    expr = sd.parse(formula.text)
    at = {s.name: p for s, p in zip(sd.free_symbols(expr), PRIMES, strict=False)}
    for entries in derivatives(formula).values():
        for variables in entries:
            derivative = expr
            for name in variables:
                derivative = sd.diff(derivative, sd.symbol(name))
            assert_reads(derivative, at)


def test_a_function_that_is_written_meets_its_own_powers():
    """exp(-x)*sigmoid(x)**2 is sech(x/2)**2/4, sin(x)/cos(x) is tan(x); both may stand there."""
    for text in (
        "exp(-x_r)*sigmoid(x_r)**2*sqrt(1 + x_r)/cosh(x_r/2)**2",
        "sin(x_r)*tan(x_r)**2/cos(x_r)",
        "sin(x_r/2)*cos(x_r/2)*sin(x_r)",
    ):
        for order in range(3):
            expr = sd.diff(sd.parse(text), x, order) if order else sd.parse(text)
            assert_reads(expr, {"x_r": Fraction(5, 4)})


def test_conditions_that_a_user_typed_stay():
    for text in ("where(x == 0, 1, sin(x)/x)", "where(x == 0 and y == 0, 0, x*y/(x**2 + y**2))"):
        assert sd.text(sd.parse(text)) == text


def test_what_is_regrouped_stays_small():
    """Work is bounded by counts, for formulas that share their parts, too."""
    expr = x
    for _ in range(40):
        expr = expr * sd.sin(expr) + sd.exp(expr) / (1 + expr**2)
    assert len(sd.text(expr)) < 20_100
    assert len(sd.text(sd.diff(expr, x))) < 20_100


def test_an_expanded_polynomial_stays_expanded():
    assert sd.text(sd.expand((x + y) ** 3)) == "x_r**3 + 3*x_r**2*y_r + 3*x_r*y_r**2 + y_r**3"
    assert sd.text(2 * (x + y)) == "2*(x_r + y_r)"
    assert sd.text(sd.expand(2 * (x + y))) == "2*x_r + 2*y_r"
    for expr in (-(x + y) / 4, (x - y) / -2, -2 * (x - y)):
        assert_reads(expr, {"x_r": 1, "y_r": 2})


@all_cases(
    ("f", "x0", "expected"),
    [
        ("exp(x_r)", 0, "1 + x_r + x_r**2/2 + x_r**3/6"),
        ("sin(x_r)", 0, "x_r - x_r**3/6"),
        ("cos(x_r) - 1", 0, "-x_r**2/2"),
        ("log(x_r)", 1, "(x_r - 1) - (x_r - 1)**2/2 + (x_r - 1)**3/3"),
        ("1/x_r", 1, "1 - (x_r - 1) + (x_r - 1)**2 - (x_r - 1)**3"),
        ("log(x_r)", 2, "log(2) + (x_r - 2)/2 - (x_r - 2)**2/8 + (x_r - 2)**3/24"),
        ("exp(x_r)", 1, "e + e*(x_r - 1) + e*(x_r - 1)**2/2 + e*(x_r - 1)**3/6"),
        ("sqrt(y_r*x_r)", 2, None),
        ("y_r*x_r + sin(x_r)", 2, None),
        ("1/(1 - x_r)", 0, "x_r**3 + x_r**2 + x_r + 1"),
    ],
    least=10,
)
def test_series_have_rising_degree_about_their_point(f, x0, expected):
    """Powers of differences stay, and so does the value."""
    series = sd.series(sd.parse(f), x, x0, n=4)
    if expected is not None:
        assert sd.text(series) == expected
    for at in (Fraction(5, 4), Fraction(7, 3)):
        assert_reads(series, {"x_r": at, "y_r": Fraction(3, 2)})


def test_sums_that_are_not_series():
    """One denominator for all, two terms, floats, and powers of a difference with another sum."""
    for text in ("(5*x_r**3 - 3*x_r)/2", "x_r**2/2 + 1", "0.3*x_r**3 + 0.2*x_r**2 + x_r"):
        assert sd.text(sd.parse(text)) == text
    product = sd.diff(sd.parse("(x_r - 1)**3*(x_r + 2)**2"), x)
    assert sd.text(product) == "(x_r - 1)**2*(x_r + 2)*(5*x_r + 4)"


def test_no_product_of_differences_is_multiplied_out():
    assert sd.text((x - y) * (x - z)) == "(x_r - y_r)*(x_r - z_r)"
    assert sd.text(1 / ((1 - x) * (1 + x))) == "1/((1 - x_r)*(x_r + 1))"
