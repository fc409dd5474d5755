"""What results of ``evalf`` print after arithmetic is right up to one unit of the last digit."""

import copy
import operator
import pickle
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import numeric as nm
import symdiff as sd
from symdiff.exact.digits import Digits
from tests.support.budget import sample

x, y = sd.symbols("x y")
OPERATIONS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow]


def is_right(found, exact):
    """Whether the printed digits of ``found`` are those of ``exact``, up to one unit."""
    text = repr(found)
    if text.startswith("±"):
        return abs(exact) <= mpmath.mpf(text[1:])
    value = Decimal(text)
    unit = mpmath.mpf(10) ** (value.adjusted() - found.digits + 1)
    assert len(value.normalize().as_tuple().digits) <= found.digits
    return abs(mpmath.mpf(text) - exact) <= unit


leaves = st.one_of(
    st.tuples(st.integers(1, 30), st.fractions("1/999", 999, max_denominator=999)),
    st.sampled_from([2, -3, 0.1, Fraction(1, 3), Fraction(-7, 2), np.float64(0.3), np.int64(5)]),
)
programs = st.lists(st.tuples(st.sampled_from(OPERATIONS), leaves, st.booleans()), max_size=6)


@pytest.mark.slow
@sample(200)
@given(leaves.filter(lambda leaf: isinstance(leaf, tuple)), programs)
def test_arithmetic_prints_what_is_right(first, steps):
    with mpmath.workdps(120):
        value, truth = made(first)
        for operation, leaf, reflected in steps:
            other = made(leaf)
            pair = [other, (value, truth)] if reflected else [(value, truth), other]
            (a, x), (b, y) = pair
            if operation is operator.pow and (
                x <= 0 or a == 0 or abs(y) > 50 or isinstance(a, Fraction)
            ):
                continue  # a Fraction makes itself a float first
            if (b == 0 or y == 0) and operation is operator.truediv:
                continue
            value, truth = operation(a, b), operation(x, y)
            assert isinstance(value, Digits)
            assert is_right(value, truth), (value, truth)


def made(leaf):
    """An exact number, or one with some right digits of a square root; and the truth."""
    if isinstance(leaf, tuple):
        digits, square = leaf
        truth = mpmath.sqrt(mpmath.mpf(square.numerator) / square.denominator)
        return Digits.of(truth, digits), truth
    exact = Fraction(leaf.item() if isinstance(leaf, np.generic) else leaf)
    return leaf, mpmath.mpf(exact.numerator) / exact.denominator


def test_a_power_of_what_may_be_negative_is_not_known():
    """No digit is right of a root of what is only known to be small."""
    small = Digits.of(mpmath.mpf("0.31"), 1) - mpmath.mpf("0.3144")
    assert small < 0
    assert repr(small).startswith("±")
    for exponent in (0.5, Fraction(1, 3), sd.evalf(sd.pi, 10)):
        power = small**exponent
        assert isinstance(power, Digits)
        assert repr(power) == repr(2 * power) == repr(power + 1) == "±inf"
    assert isinstance(sd.evalf(2 - sd.pi, 10) ** 0.5, mpmath.mpc)  # certainly negative


def test_the_test_sees_a_false_digit():
    wrong = sd.evalf(sd.pi, 10)
    assert is_right(wrong, mpmath.mpf("3.141592654"))
    assert not is_right(Digits.of(mpmath.mpf("3.141592659"), 10), mpmath.mpf("3.141592654"))


PI = sd.evalf(sd.pi, 10)
SEEN = [
    *((repr(each), "6.283185307") for each in (PI * 2, 2 * PI, (2 * np.array([PI], object))[0])),
    (repr(-PI), "-3.141592654"),
    *((repr(each), "3.141592654") for each in (PI, +PI, abs(-PI))),
    (repr(PI - PI), "±1e-9"),
    (repr(mpmath.mpf("inf") * PI), "+inf"),
    (repr(1 / (PI - 314159265 / 10**8) ** 20), "±inf"),
    (repr(PI - 3), "0.141592654"),
    (f"{PI:.3f}", "3.142"),
    (f"{PI:>14}|{PI}", "   3.141592654|3.141592654"),
    (f"{PI:.12f}", "3.141592654000"),
    (f"{sd.evalf(sd.exp(x), 12, {x: 100}):.3e}", "2.688e+43"),
    (f"{PI - PI:>7}", "  ±1e-9"),
    (repr(copy.deepcopy(2 * PI) - 6), "0.283185307"),
    (repr(pickle.loads(pickle.dumps(2 * PI)) - 6), "0.283185307"),
    (repr(sd.evalf(sd.constant(3), 5) + 1), "4.0"),
    (type((-PI) ** 0.5), mpmath.mpc),
]


@pytest.mark.parametrize(("found", "wanted"), SEEN)
def test_what_users_see(found, wanted):
    assert found == wanted


def test_what_may_be_zero_does_not_divide():
    with pytest.raises(ZeroDivisionError):
        PI / (PI - PI)


# Values of symbols --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("f", "at", "wanted"),
    [
        (x * y, {"x": y + 1, "y": 2}, 6),
        (x + 1, {"x": y, "y": 2}, 3),
        (sd.diff(x * y, x), {x: 1, y: 2}, 2),  # symbols may be of the formula before
    ],
    ids=str,
)
def test_values_may_be_of_other_symbols(f, at, wanted):
    assert f.evalf(5, at) == wanted


@pytest.mark.parametrize(
    ("f", "at", "says"),
    [
        (
            x * y,
            {"x": 1, "y": 2, "z": 3},
            "no symbol is named 'z'; the free symbols are x, y",
        ),
        (sd.parse("e*x"), {"e": 1, "x": 1}, r"named 'e'; .* e is a number, sd\.e"),
    ],
    ids=str,
)
def test_evalf_refuses_names_that_it_does_not_know(f, at, says):
    with pytest.raises(ValueError, match=says):
        f.evalf(5, at)


def test_evalf_takes_tensors():
    t = nm.tensor([0.5, 2.0], requires_grad=True, dtype=nm.float64, name="t")
    z = (t * t).sum() * 3
    assert repr(z.expr.evalf(20, z.leaves())) == "12.75"
    with pytest.raises(sd.ShapeError, match=r"evalf: symbol x: expected shape \(\)"):
        x.evalf(5, {x: t})


# Symbols ------------------------------------------------------------------------------------------


def test_free_symbols_are_found_by_identity():
    f = y * sd.sin(x)
    found = f.free_symbols
    assert sd.free_symbols([x, x]) == (x,)
    assert sd.free_symbols(x) == (x,)
    assert x in found
    assert sd.symbol("z") not in found
    assert 3 not in found
    assert found.index(found[1]) == 1
    assert found.count(y) == 1
    assert found == tuple(found)
    assert found != (x,)
    assert (found == 3) is False
    assert {found: 1}[tuple(found)] == 1
    with pytest.raises(ValueError, match="is not among"):
        found.index(sd.symbol("z"))
    assert pickle.loads(pickle.dumps(found)) == found


@pytest.mark.parametrize(("sign", "plus_one"), [(-1, "1.0"), (1, "±inf")])
def test_exponents_that_are_no_floats(sign, plus_one):
    found = sd.evalf(sd.exp(sign * x**2), 10, {x: 10**155})
    with mpmath.workdps(400):
        exact = mpmath.exp(sign * mpmath.mpf(10) ** 310)
        assert abs(mpmath.mpf(found._mpf_) / exact - 1) < 1e-9
    assert repr(found)[:11] == str(exact)[:10] + repr(found)[10]
    assert repr(found + 1) == plus_one  # no more is claimed than is known
