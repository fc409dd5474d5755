"""Texts of derivatives of special functions have names that users know, and their values."""

import itertools
import re
from fractions import Fraction

import pytest

import symdiff as sd
from symdiff.scalars.vocabulary import FACTS
from tests.display.test_latex_laws import called
from tests.display.test_reading_laws import assert_reads
from tests.display.test_vocabulary_is_read import derivatives_of

# Derivatives of zeta have no closed formula; sech is in all books, and sd.parse reads it.
NAMED = {"sech", "hurwitz_zeta", "hurwitz_zeta_derivative", "zeta_derivative"}
_CALLED = re.compile(r"([A-Za-z_]\w*)\(")
x, y = sd.symbols("x y")
# Formulas with borders: cases at poles, and functions of a part of the line.
BOOKS = {
    sd.beta(x, y): (
        "where(x + y <= 0 and x + y == floor(x + y),"
        " cos(pi*(x + y))*gamma(1 - x - y)*gamma(x)*gamma(y),"
        " beta(x, y)*(digamma(x) - digamma(x + y)))"
    ),
    sd.poch(x, y): (
        "where(x <= 0 and x == floor(x), cos(pi*x)*gamma(1 - x)*gamma(x + y),"
        " poch(x, y)*(digamma(x + y) - digamma(x)))"
    ),
    sd.rgamma(x): (
        "where(x <= 0 and x == floor(x), cos(pi*x)*gamma(1 - x), -digamma(x)*rgamma(x))"
    ),
    sd.gammainc(y, x): "exp(-x)*x**(y - 1)*rgamma(y)",
    sd.gammainc(3, x): "x**2*exp(-x)/2",
    sd.lambertw(x): "exp(-lambertw(x))/(lambertw(x) + 1)",
    sd.ellipk(x): "where(x == 0, pi/8, (ellipe(x) - ellipk(x)*(1 - x))/(2*x*(1 - x)))",
    sd.ellipe(x): "where(x == 0, -pi/8, (ellipe(x) - ellipk(x))/(2*x))",
}
PUBLIC = sorted(name for name in FACTS if hasattr(sd, name))
WRITTEN = sorted(name for name, facts in FACTS.items() if facts.written is not None)
# Borders of domains, poles, zeros and points between them.
PLACES = [Fraction(x) for x in ("0", "1", "-1", "2", "1/2", "-1/2", "3/7", "-9/7", "5/2")]


def twice(name):
    """The first and second derivatives of a function of symbols."""
    first = derivatives_of(called(name))
    return [*first, *(d for x in first for d in derivatives_of(x))]


@pytest.mark.parametrize("name", PUBLIC)
def test_texts_of_derivatives_have_known_names(name):
    for expr in twice(name):
        unknown = {x for x in _CALLED.findall(sd.text(expr, full=True)) if not hasattr(sd, x)}
        assert unknown <= NAMED, sd.text(expr)


@pytest.mark.parametrize("name", WRITTEN)
def test_what_is_written_has_the_value(name):
    for expr in (called(name), *derivatives_of(called(name))):
        symbols = sd.free_symbols(expr)
        points = itertools.product(PLACES, repeat=len(symbols))
        chosen = itertools.islice(points, 0, None, 5 ** (len(symbols) - 1))
        names = [x.name for x in symbols]
        assert_reads(expr, *[dict(zip(names, point, strict=True)) for point in chosen])


@pytest.mark.parametrize("name", WRITTEN)
def test_exact_texts_keep_the_name(name):
    expr = called(name)
    assert sd.text(expr, exact=True).startswith(f"{name}(")
    assert sd.parse(sd.text(expr, exact=True), sd.free_symbols(expr)) is expr


@pytest.mark.parametrize(("function", "text"), BOOKS.items(), ids=map(str, BOOKS))
def test_the_derivative_of_a_book(function, text):
    assert sd.text(sd.diff(function, x)) == text


def test_high_orders_keep_the_name():
    assert sd.text(sd.diff(sd.ellipk(x), x, 9)) == "ellipk_derivative(9, x)"
    assert sd.text(sd.diff(sd.rgamma(x), x, 3)) == "rgamma_derivative(3, x)"
