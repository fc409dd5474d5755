"""Lengths as polynomials: beside Python's own arithmetic of the ints that they stand for."""

from __future__ import annotations

import itertools
import math
import operator
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symdiff.errors import Unsupported
from symdiff.graph.lengths import Length, as_length, bounds

NAMES = ("a", "b", "n")
POINTS = [dict(zip(NAMES, p, strict=True)) for p in itertools.product((0, 1, 2, 5), repeat=3)]

SIGNS = operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod

leaves = st.sampled_from([*map(Length, NAMES)]) | st.integers(-4, 4)


def value(x, sizes):
    return x.replaced(sizes) if isinstance(x, Length) else x


@st.composite
def lengths(draw, depth=4):
    """A length, and the same as a function of the sizes, which Python's ints compute."""
    if depth == 0 or draw(st.booleans()):
        x = draw(leaves)
        return x, lambda s, x=x: s[x] if isinstance(x, Length) else x
    sign = draw(st.sampled_from(SIGNS))
    (x, f), by = draw(lengths(depth - 1)), draw(st.integers(1, 4))
    if sign in (operator.floordiv, operator.mod):
        return sign(x, by), lambda s: sign(f(s), by)
    y, g = draw(lengths(depth - 1))
    return sign(x, y), lambda s: sign(f(s), g(s))


@given(lengths())
def test_arithmetic_is_that_of_ints(pair):
    x, of = pair
    for sizes in POINTS:
        assert value(x, sizes) == of(sizes), (x, sizes)


def test_nested_quotients_meet_whatever_is_divided_besides():
    a = Length("a")
    assert (2 * a + a // 3) // 2 == a + a // 6 == Length("a + (a//3)//2")
    assert (3 * (a // 2) + 7) // 2 == a // 2 + 3 + (a + 2) // 4 == Length("(3*(a//2) + 7)//2")


@given(lengths())
def test_a_text_is_canonical(pair):
    x, _ = pair
    if isinstance(x, Length):
        read = Length(str(x))
        assert read == x
        assert read.terms == x.terms
        assert hash(read) == hash(str(x))
        assert pickle.loads(pickle.dumps(x)).terms == x.terms


@given(lengths(2), lengths(2))
def test_equal_polynomials_are_equal_lengths(a, b):
    (x, f), (y, g) = a, b
    both = x + y, y + x
    assert both[0] == both[1]
    assert (x - y) + y == x
    assert (x + y) * 2 == 2 * y + x + x
    if any(f(s) != g(s) for s in POINTS):
        assert x != y


@given(lengths(3), lengths(3))
def test_an_order_is_told_where_it_holds_everywhere(a, b):
    (x, f), (y, g) = a, b
    for sign in (operator.lt, operator.le, operator.gt, operator.ge):
        if not (isinstance(x, Length) or isinstance(y, Length)):
            continue
        try:
            told = sign(x, y)
        except Unsupported:
            continue
        assert all(sign(f(s), g(s)) is told for s in POINTS)


@given(lengths())
def test_bounds_hold(pair):
    low, high = bounds(pair[0])
    for sizes in POINTS:
        assert low is None or low <= pair[1](sizes)
        assert high is None or pair[1](sizes) <= high


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("n-1", "n - 1"), ("n*2", "2*n"), ("n*m", "m*n"), ("1 + n", "n + 1"), ("-n + 5", "5 - n"),
        ("n//2//3", "n//6"), ("(-n)//2", "n//2 - n"), ("(2*n + 1)//2", "n"), ("n*n", "n**2"),
        ("(3*n + 5)//2", "(n + 1)//2 + n + 2"),
    ],
)  # fmt: skip
def test_texts(text, canonical):
    assert Length(text) == canonical


def test_the_negative_of_a_quotient_is_read_back():
    """Python reads ``-n//2`` as ``(-n)//2``."""
    n = Length("n")
    for length in (-(n // 2), -n // 2, -(n // 2) - 1, -2 * (n // 2), -(n // 2) * Length("m")):
        assert pickle.loads(pickle.dumps(length)).terms == length.terms


def test_what_is_no_length():
    for text in (
        "n +",
        "n/2",
        "n.real",
        "f(n)",
        "n**m",
        "3",
        "n - n",
        "n if n else 1",
        "n**-1",
        "(" * 500,
    ):
        with pytest.raises(ValueError, match=r"length|polynomial"):
            Length(text)
        assert as_length(text) in (None, 3, 0)
    for length, by in (
        (Length("n"), Length("m")),
        (Length("n + 1"), Length("n")),
        (Length("n"), 0),
    ):
        with pytest.raises(Unsupported, match="length"):
            length // by
    with pytest.raises(Unsupported, match="length n is known by name"):
        range(Length("n"))


def test_lengths_divide_exactly():
    n, m = Length("n"), Length("m")
    assert (n * m + m) // m == n + 1
    assert (n * n - 1) // (n - 1) == n + 1
    assert n // n == 1
    assert f"{n} of" == "n of"
    assert "at " + n == "at n"
    assert n == "n"
    assert {n: 1}["n"] == 1


def test_what_python_does_with_ints_is_done_with_lengths():
    n, m = Length("n"), Length("m")
    assert n - n % 2 == 2 * (n // 2)
    assert divmod(n, 2) == (n // 2, n % 2)
    assert abs(n) is n
    assert abs(-n - 1) == n + 1
    assert abs(n - m).op.name == "abs"
    for of in (round, math.floor, math.ceil, math.trunc):
        assert of(n - 1) == n - 1
    assert round(n, 2) is n
    assert str(n / 2) == "n/2"
    assert str(np.maximum(n, m)) == "maximum(n, m)"
    assert math.prod([n, 2, m]) == 2 * n * m


@pytest.mark.parametrize(
    "of",
    [
        int, float, range, np.zeros, np.ones, np.empty, np.eye, np.identity, math.sqrt,
        lambda n: np.full(n, 2.0), lambda n: np.zeros((2, n)), lambda n: [1, 2, 3][n],
        lambda n: [0] * n, lambda n: n * (0,), lambda n: np.linspace(0, 1, n),
        lambda n: np.random.default_rng(0).normal(size=n), lambda n: np.reshape(np.zeros(4), n),
    ],
)  # fmt: skip
@pytest.mark.parametrize("length", ["n", "n - 1"])
def test_what_needs_an_int_says_what_it_met(of, length):
    with pytest.raises(Unsupported, match=f"the length {length} is known by name, not as an int"):
        of(Length(length))


def test_a_length_is_not_iterated_over_nor_ordered_without_proof():
    n = Length("nm")
    with pytest.raises(TypeError, match="the length nm is one number"):
        list(n)
    with pytest.raises(Unsupported, match=r"whether nm < 5 is not known.*np\.maximum"):
        assert n < 5
    with pytest.raises(Unsupported, match=r"np\.maximum"):
        max(n, Length("m"))
    with pytest.raises(Unsupported, match="round: nm to -1 digits"):
        round(n, -1)
    assert np.asarray(n).dtype.kind == "U"
    assert hash(n) == hash("nm")


def test_a_length_is_solved_for_a_name():
    assert Length("2*n + m - 1").linear_in("n") == ("m - 1", 2)
    assert Length("n*m").linear_in("n") is None
    assert Length("n + n//2").linear_in("n") is None


@pytest.mark.parametrize("name", ["lambda", "is", "\ufb01", "n0"])
def test_any_identifier_is_a_name(name):
    n = Length(name)
    assert n == name
    for length in (n, 2 * n - 1, (n + 1) // 2, n * Length("n1")):
        assert Length(str(length)) == length
        assert pickle.loads(pickle.dumps(length)) == length
        assert Length(str(length)).terms == length.terms
