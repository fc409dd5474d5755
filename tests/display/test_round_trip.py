"""Exact texts are read back: typed formulas as the node, derivatives as what they say."""

import ast
import contextlib
from fractions import Fraction

import mpmath as mp
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import symdiff as sd
from symdiff.interchange.parser import FUNCTIONS
from tests.display.rows import reading
from tests.display.test_latex_laws import called
from tests.support.budget import FUZZ, sample
from tests.support.cases import all_cases

x, y, z = sd.symbols("x_r y_r z_r")

# Typed formulas -----------------------------------------------------------------------------------

# Functions of real numbers that any formula may be put into; orders and domains are for the table.
UNARY = "sin cos tan exp log sqrt tanh sinh cosh atan abs sign floor sigmoid softplus erf expm1"
UNARY += " log1p square reciprocal cbrt gamma digamma sech cot asinh log_sigmoid j0 rgamma"
BINARY = "maximum minimum hypot atan2 logaddexp mod floor_divide xlogy"

numbers = st.sampled_from([0, 1, -1, 2, -3, Fraction(1, 2), Fraction(-5, 3), 0.1, 1e-7])
exponents = st.sampled_from([-2, -1, 2, 3, Fraction(1, 2), Fraction(-3, 2), Fraction(1, 3), 1.3])
leaves = st.sampled_from([x, y, z]) | numbers.map(sd.constant) | st.sampled_from([sd.pi, sd.e])


def _extended(inner):
    pair = st.tuples(inner, inner)
    truth = pair.map(lambda p: (p[0] < p[1]) | ~(p[1] <= 1)) | pair.map(lambda p: p[0] == p[1])
    truth |= pair.map(lambda p: (p[0] > 0) & (p[0] != p[1]))
    return st.one_of(
        pair.map(lambda p: p[0] + p[1]),
        pair.map(lambda p: p[0] - p[1]),
        pair.map(lambda p: p[0] * p[1]),
        pair.map(lambda p: p[0] / p[1]),
        pair.map(lambda p: p[0] ** p[1]),
        st.tuples(inner, exponents).map(lambda p: p[0] ** p[1]),
        st.tuples(numbers, inner).map(lambda p: p[0] * p[1]),
        inner.map(lambda a: -a),
        st.tuples(st.sampled_from(UNARY.split()), inner).map(lambda p: FUNCTIONS[p[0]].build(p[1])),
        st.tuples(st.sampled_from(BINARY.split()), inner, inner).map(
            lambda p: FUNCTIONS[p[0]].build(*p[1:])
        ),
        st.tuples(truth, inner, inner).map(lambda p: sd.where(*p)),
    )


formulas = st.recursive(leaves, _extended, max_leaves=14)


def exact(expr):
    return sd.text(expr, exact=True)


def readable(expr):
    """A nan is not a number's equal, and numbers of more than a thousand digits are not read."""
    text = exact(expr)
    if "nan" in text or "inf" in text or "0x" in text:
        return False
    try:
        reading(text, expr)
    except sd.ParseError as error:  # such a number may be a coefficient's power
        return "a number of more than 1000 digits" not in str(error)
    return True


@sample(100)
@given(formulas)
@example(-((x + y) * (z - x)) / 3)
@example((x + y) * (x * y) / -2)
@example(1 / (2 * x) / (x + y) ** 2)
@example((2 * x) ** Fraction(1, 2) * y)
@example(sd.constant(2) ** Fraction(1, 2) * x / 3)
@example(sd.sin(x) * (sd.sin(x) * sd.sin(y)))  # the node of sin(x)**2*sin(y) is another one
@example(1 / sd.cosh(sd.constant(-1)))  # a function without a public name, of a number
def test_a_typed_formula_is_read_as_the_same_node(expr):
    assume(readable(expr))
    assert reading(exact(expr), expr) is expr, exact(expr)


WIDE = sd.parse(" + ".join(f"w{k}*w{k + 1}" for k in range(12)))

# Every sign of a text, by name: of one operand or two.
ONE = {
    "negative": lambda a: -a,
    "not": lambda a: ~(a > 0) if a.dtype is not bool else ~a,
    "third": lambda a: a / 3,
    "minus a third": lambda a: -a / 3,
    "twice": lambda a: 2 * a,
    "float": lambda a: -0.1 * a,
    "precise": lambda a: 0.30000000000000004 * a,
    "square": lambda a: a**2,
    "root": lambda a: sd.sqrt(a),
    "reciprocal": lambda a: 1 / a,
    "power": lambda a: a ** Fraction(-3, 2),
    "exponent": lambda a: 2**a,
    "negative base": lambda a: sd.constant(-2) ** a,
    "sine": sd.sin,
    "absolute": abs,
    "planck": lambda a: 1 / sd.expm1(a),
    "plus one": lambda a: a + 1,
    "from one": lambda a: 1 - a,
}
TWO = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "power": lambda a, b: a**b,
    "less": lambda a, b: a < b,
    "greater equal": lambda a, b: a >= b,
    "equal": lambda a, b: a == b,
    "and": lambda a, b: (
        (a > 0 if a.dtype is not bool else a) & (b > 0 if b.dtype is not bool else b)
    ),
    "or": lambda a, b: (
        (a > 0 if a.dtype is not bool else a) | (b > 0 if b.dtype is not bool else b)
    ),
    "mod": lambda a, b: a % b,
    "maximum": sd.maximum,
    "where": lambda a, b: sd.where(a > b, a, b),
    "from a wide sum": lambda a, b: WIDE - a * b,
    "minus a wide sum": lambda a, b: a - b * WIDE,
}


def _applied(signs, operand):
    """Every sign of that operand; of two, on the left and on the right."""
    for name in signs:
        if name in ONE:
            yield name, lambda one=ONE[name]: one(operand)
        if name in TWO:
            yield f"{name}, left", lambda two=TWO[name]: two(operand, z)
            yield f"{name}, right", lambda two=TWO[name]: two(z, operand)


@pytest.mark.parametrize("outer", [*ONE, *TWO])
def test_every_sign_in_every_sign(outer):
    """What binds how: no bracket is missing, on either side; under `make fuzz` a level deeper."""
    for _, inner in _applied([*ONE, *TWO], x - y):
        operands = [inner()]
        if FUZZ:
            operands += [make() for _, make in _applied([*ONE, *TWO], inner())]
        for operand in operands:
            for _, make in _applied([outer], operand):
                expr = make()
                if readable(expr):
                    assert reading(exact(expr), expr) is expr, exact(expr)


# Others are those of derivatives, which are written with these.
TYPED = sorted(name for name in FUNCTIONS if hasattr(sd, name))


@all_cases("name", TYPED, least=147)
def test_every_function_is_read_as_the_same_node(name):
    expr = called(name)
    assert reading(exact(expr), expr) is expr
    inside = 2 * expr**2 / (1 + expr) - x
    assert reading(exact(inside), inside) is inside


# Derivatives --------------------------------------------------------------------------------------


def equal(one, other):
    """Equal values to 18 digits where ``one`` has a value; to 14 with floats, which round."""
    floats = any(isinstance(c, float) for c in numbers_of(one))
    at = {s: Fraction(2 * k + 5, 7) for k, s in enumerate(one.free_symbols)}
    with contextlib.suppress(ArithmeticError, sd.Unsupported):  # it may be exactly 0
        old, new = one.evalf(20, at), other.evalf(20, at)
        return (
            mp.isnan(old) or old == new or mp.almosteq(old, new, rel_eps=1e-14 if floats else 1e-18)
        )
    return True


def numbers_of(expr):
    """The coefficients and constants of an expression."""
    for node in sd.nodes(expr):
        if node.op.name == "sum of terms":
            yield from (node.op.const, *node.op.coefs)


def survives(derivative):
    """What is read has the same text and the same values; reading it again gives the node."""
    if not readable(derivative):
        return
    text = exact(derivative)
    again = reading(text, derivative)
    if again is derivative:
        return
    assert exact(again) == text
    assert reading(text, again) is again
    if sd.count_nodes(derivative) < 100:  # digits of more take seconds
        assert equal(derivative, again), text


@sample(50)
@example(-sd.hypot(x, 0.1 * x))  # sums of products of floats, which round
@example(sd.logaddexp(x, 0.1))  # a formula that is written out, with a float as operand
@example(-x - sd.logaddexp(x**x, x**x))  # -2 times half a sum
@example(sd.hypot(x, x * y))  # a formula that is written out, with a product as operand
@given(formulas)
def test_the_text_of_a_derivative_is_that_of_what_it_reads_as(expr):
    survives(sd.diff(expr, x))


@sample(15)
@example(sd.log(y**x), 3)  # a product with a coefficient
@example(sd.sin(x**x), 2)  # a strong product of factors that are not symbols
@given(st.recursive(leaves, _extended, max_leaves=5), st.integers(2, 4))
def test_so_is_that_of_higher_derivatives(expr, order):
    survives(sd.diff(expr, x, order))


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_so_are_those_of_every_function(name):
    expr = called(name)
    for s in expr.free_symbols:
        with contextlib.suppress(sd.NotDifferentiable):
            survives(sd.diff(expr, s))
            survives(sd.diff(expr, s, 2))


@pytest.mark.parametrize(
    ("formula", "order"),
    [
        ("exp(sin(x_r))", 4),
        ("exp(-x_r**2/2)", 4),
        ("log(cos(x_r))", 4),
        ("sin(x_r**2)", 4),
        ("tanh(x_r)/(1 + x_r**2)", 3),
        ("x_r**y_r", 3),
        ("sin(x_r**x_r)", 2),
    ],
)
def test_no_factor_stands_twice_in_a_product(formula, order):
    """Equal factors are one power: cos(x)**2, never cos(x)*cos(x)."""
    for line in sd.text(sd.diff(sd.parse(formula), x, order), full=True).split("\n"):
        for node in ast.walk(ast.parse(line)):
            bases = [ast.dump(_base(factor)) for factor in _factors(node)]
            assert len(set(bases)) == len(bases), line


def _factors(node):
    """The factors of a product, which Python nests, without numbers."""
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)):
        return [] if isinstance(node, ast.Constant) else [node]
    return _factors(node.left) + _factors(node.right)


def _base(node):
    power = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow)
    return node.left if power else node
