"""Enclosures of known ranges, at kinks and jumps, of arrays; what is refused, and how."""

from __future__ import annotations

import sys
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

import symdiff as sd
from numeric import check
from symdiff.graph.algebra import primitive
from symdiff.scalars.formula import arity
from tests.support.refusals import refused
from tests.support.scalar_functions import STEP_PAIRS, STEP_POINTS, STEPS

pytest.importorskip("flint")

x, y = sd.symbols("x y")


@pytest.mark.parametrize("name", STEPS)
def test_jumps_take_the_conventions_at_points_and_both_sides_over_boxes(name):
    points = STEP_POINTS if arity(name) == 1 else STEP_PAIRS
    for point in points:
        point = point if isinstance(point, tuple) else (point,)
        if name == "floor_divide" and abs(point[1]) < 2.0**-19:
            continue
        want = STEPS[name](*point)
        if want != want or max(map(abs, point)) > 100:
            continue
        symbols = [sd.symbol(f"x{k}") for k in range(len(point))]
        e = primitive(name, *symbols)
        found = check.enclose(e, dict(zip(symbols, point, strict=True)))
        assert found.lower == found.upper == want
        around = {s: (p - 2.0**-20, p + 2.0**-20) for s, p in zip(symbols, point, strict=True)}
        if name != "gammasgn":  # it is nan at its jumps
            assert found in check.enclose(e, around, pieces=1)


def ends(enclosure):
    return float(enclosure.lower), float(enclosure.upper)


@pytest.mark.parametrize(
    ("expression", "box", "expected"),
    [
        (x * x, (-1, 2), (0, 4)),
        (x**3, (-1, 2), (-1, 8)),
        (x**-2, (0.5, 2), (0.25, 4)),
        (sd.sqrt(x), (0, 4), (0, 2)),
        (sd.diff(abs(x), x), (-1, 1), (-1, 1)),
        (sd.diff(abs(x), x), (0, 1), (0, 1)),
        (sd.diff(abs(x), x), 0, (0, 0)),
        (sd.diff(sd.maximum(x, 1), x), 1, (0.5, 0.5)),
        (sd.diff(sd.maximum(x, 1), x), (0, 2), (0, 1)),
        (sd.diff(sd.clip(x, 0, 1), x), 1, (1, 1)),
        (sd.where(x > 0, 2, 3), (-1, 1), (2, 3)),
        (sd.where(x > 0, 1 / x, 3), 0, (3, 3)),
        (sd.floor(x), (0.5, 2.5), (0, 2)),
        (sd.round(x), (0.5, 2.5), (0, 2)),
        (sd.round(x), 2.5, (2, 2)),
        (x % 3, (1, 2), (1, 2)),
        (x % 3, (2, 4), (0, 3)),
        (primitive("step", x), 0, (0, 0)),
        (primitive("step", x), (-1, 1), (0, 1)),
        (sd.atan2(x, -1), (0, 1), (3 * np.pi / 4, np.pi)),
        (sd.atan2(x, 1), (-1, 1), (-np.pi / 4, np.pi / 4)),
        (sd.atan2(-0.0 * x, -1 + 0 * x), 1, (np.pi, np.pi)),
        (sd.sin(x), (0, 3), (0, 1)),
        (sd.cos(x), (-1, 20), (-1, 1)),
        (sd.sinc(x), (-0.25, 0), (2 * np.sqrt(2) / np.pi, 1)),
        (sd.sinc(x), 0, (1, 1)),
        (sd.hypot(x, 0), (-2, 1), (0, 2)),
        (x**0, (-1, 1), (1, 1)),
        (sd.power(x, x), (1, 2), (1, 4)),
        (sd.norm(sd.stack([x, x])), (0, 1), (0, np.sqrt(2))),
        (sd.diff(sd.norm(sd.stack([x, x])), x), 0, (0, 0)),
    ],
)
def test_known_ranges(expression, box, expected):
    found = check.enclose(expression, {x: box}, pieces=400)
    assert found.contains(Fraction(0)) or expected[0] > 0 or expected[1] < 0
    assert ends(found) == pytest.approx(expected, rel=2e-2, abs=2e-2)
    assert found.lower <= expected[0] + 1e-15
    assert found.upper >= expected[1] - 1e-15


@pytest.mark.parametrize(
    ("expression", "box", "named"),
    [
        (sd.log(x), (-1, 1), "log of"),
        (sd.log(x), 0, "log of 0"),
        (sd.sqrt(x), (-1, 1), "1/2"),
        (1 / x, (-1, 1), r"\*\*\(-1\)"),
        (sd.tan(x), (1, 2), "tan of"),
        (sd.diff(sd.sqrt(x), x), (0, 1), r"\*\*\(-1/2\)"),
        (sd.gamma(x), (-1.5, -0.5), "gamma of"),
        (sd.asin(x), (0, 1.5), "asin of"),
        (x ** (x / 3), (-1, 1), "power of"),
        (x % (x - 1), (0, 2), "mod of"),
    ],
)
def test_what_may_be_infinite_or_not_real_is_refused_by_name(expression, box, named):
    with pytest.raises(ValueError, match=named):
        check.enclose(expression, {x: box})


def test_ends_are_exact_numbers():
    tenth = check.enclose(x, {x: 0.1})
    assert tenth.lower == tenth.upper == 0.1
    decimal = check.enclose(x, {x: "0.1"}, digits=30)
    assert Fraction(1, 10) in decimal
    assert Fraction(0.1) not in decimal
    low, high = check.enclose(x / 3, {x: 1}).floats
    assert Fraction(low) < Fraction(1, 3) < Fraction(high)
    assert high == np.nextafter(low, 1)
    text = str(check.enclose(-x / 3, {x: 1}, digits=3)).strip("[]").split(", ")
    assert Fraction(text[0]) < Fraction(-1, 3) < Fraction(text[1])
    box = check.enclose(x, {x: (0, 0.1)})
    assert (box.lower, box.upper) == (0, 0.1)
    with mp.workprec(10):  # neither is what is made of it
        assert check.enclose(x, {x: (0, 0.1)}).upper == 0.1
        assert check.enclose(x, {x: 0.1}).contains(0.1)


def test_arrays_are_enclosed_by_components():
    A = sd.symbol("A", (2, 2))
    at = np.array([[1.0, 2.0], [3.0, 4.0]])
    inverse = check.enclose(sd.inv(A), {A: at}, digits=20)
    assert inverse.shape == (2, 2)
    want = [[-2, 1], [Fraction(3, 2), Fraction(-1, 2)]]
    assert all(inverse[i, j].contains(want[i][j]) for i in range(2) for j in range(2))
    jacobian = check.enclose(sd.jacobian(sd.inv(A), A), {A: at}, digits=20)
    assert jacobian.shape == (2, 2, 2, 2)
    assert Fraction(-4) in jacobian[0, 0, 0, 0]
    over = check.enclose(sd.det(A), {A: (at, at + 0.125)}, pieces=200)
    assert over.lower <= -2 - 5 * 0.125 <= -2 + 5 * 0.125 <= over.upper
    assert ends(over) == pytest.approx((-2 - 0.625, -2 + 0.640625), abs=0.05)
    largest = check.enclose(sd.max(A), {A: (0, 1)})
    assert ends(largest) == (0, 1)
    v = sd.symbol("v", "n")
    total = check.enclose(sd.sum(sd.exp(v)), {v: np.zeros(5)})
    assert ends(total) == (5, 5)


def test_an_order_that_is_not_decided_is_refused_and_one_that_is_not():
    v = sd.symbol("v", 3)
    inside = check.enclose(sd.sort(v), {v: ([2.0, 0.0, 5.0], [3.0, 1.0, 6.0])})
    assert [ends(e) for e in inside] == [(0, 1), (2, 3), (5, 6)]
    refused((ValueError, "order", lambda: check.enclose(sd.argmax(v), {v: (0, 1)}, pieces=4)))


def test_refusals():
    A, b, one = sd.symbol("A", (2, 2)), np.array([1.0, 2.0]), np.ones((2, 2))
    slope = sd.diff(primitive("log_ndtr", x), x)
    refused(
        (ValueError, "down to", lambda: check.enclose(x, {x: (2, 1)})),
        (ValueError, "not finite", lambda: check.enclose(x, {x: (0, np.inf)})),
        (ValueError, "not finite", lambda: check.enclose(x, {x: np.nan})),
        (ValueError, "tuple of 3", lambda: check.enclose(x, {x: (0, 1, 2)})),
        # a matrix that may be singular
        (ValueError, "singular", lambda: check.enclose(sd.solve(A, b), {A: (-1, 1)}, pieces=4)),
        (ValueError, "element", lambda: check.enclose(sd.solve(A, b), {A: one})),
        (sd.Unsupported, "eigvalsh", lambda: check.enclose(sd.eigvalsh(A), {A: np.eye(2)})),
        # what would take too long
        (sd.Unsupported, "beyond", lambda: check.enclose(sd.zeta(x), {x: 1e300})),
        (sd.Unsupported, "beyond", lambda: check.enclose(sd.zeta(x, 3), {x: 1e300})),
        # a power series divided by what may be 0
        (
            ValueError,
            "enclose: log_ndtr_derivative of",
            lambda: check.enclose(slope, {x: (-20.4, -19.9)}, pieces=1),
        ),
    )


def test_a_value_of_zero_or_at_a_jump_is_enclosed_as_narrowly_as_it_can():
    zero = check.enclose(sd.sin(sd.pi) * x, {x: 1})
    assert 0 in zero
    assert zero.width < mp.mpf(10) ** -1000
    assert ends(check.enclose(sd.sign(sd.sin(sd.pi)) * x, {x: 1})) == (-1, 1)


def test_more_pieces_are_never_wider():
    f = sd.exp(x * y) - x * sd.sin(y)
    widths = [
        check.enclose(f, {x: (-1, 2), y: ("0.1", 2)}, pieces=n).width for n in (1, 4, 16, 64, 256)
    ]
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < widths[0]


def test_an_enclosure_is_a_range_again():
    first = check.enclose(sd.exp(x), {x: (0, 1)})
    assert check.enclose(sd.log(x), {x: first}).contains(0.5)


def test_the_extra_is_named_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "flint", None)
    with pytest.raises(ImportError, match=r"symdiff-numeric\[certify\]"):
        check.enclose(x, {x: 1})


def test_precision_is_left_as_it_was():
    import flint

    before = flint.ctx.prec, mp.mp.prec
    check.enclose(sd.sin(sd.pi * x), {x: 1})
    with pytest.raises(ValueError, match="log"):
        check.enclose(sd.log(x), {x: (-1, 1)})
    assert (flint.ctx.prec, mp.mp.prec) == before


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (sd.exp(sd.exp(x)), 60),
        (sd.gamma(x), 1e300),
        (sd.sin(x), 1e300),
        (sd.diff(sd.digamma(x), x), -1e9),
        (sd.erfcx(x), -1e6),
        (sd.iv(1, x), 1e15),
    ],
)
def test_extreme_numbers_have_enclosures_that_print(expression, value):
    found = check.enclose(expression, {x: value + 0.25})
    assert found.lower <= found.upper
    assert str(found).startswith("[")
    assert found.floats[0] <= found.floats[1]


def test_a_range_that_the_formula_does_not_need_is_fine():
    assert check.enclose(sd.constant(Fraction(1, 3)), {x: (0, 1)}).contains(Fraction(1, 3))
    third = check.enclose(sd.constant(Fraction(1, 3)) + y, {x: (0, 1), y: 0})
    assert third.contains(Fraction(1, 3))
