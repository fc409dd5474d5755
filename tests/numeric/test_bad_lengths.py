"""Lengths that cannot be: what is said names who met what, the formula, the numbers, a remedy."""

from __future__ import annotations

import numpy as np
import pytest

import numeric as nm
import symdiff as sd
from symdiff.errors import ShapeError, Unsupported
from tests.support.cases import all_cases

v, w, u = sd.symbol("v", "n"), sd.symbol("w", "n"), sd.symbol("u", "n")
A, S = sd.symbol("A", ("n", "m")), sd.symbol("S", ("n", "n"))
s = sd.symbol("s")
n, m = v.shape[0], A.shape[1]
F = nm.lower(sd.sum(v) * sd.sum(w), [v, w])
ones = np.ones


def of(shape):
    """A Function of one symbol x of that shape, and of v."""
    x = sd.symbol("x", shape)
    return nm.lower(sd.sum(x) + sd.sum(v), [x, v])


def alone(shape):
    x = sd.symbol("x", shape)
    return nm.lower(sd.sum(x), x)


NO_LENGTH = r"neither an int >= 0 nor a name, nor a polynomial in names such as 'n - 1'"
ROWS = {
    **{
        f"the text {text!r}": (ValueError, NO_LENGTH, lambda text=text: sd.symbol("x", text))
        for text in (
            "n+",
            "n/2",
            "1.5*n",
            "",
            "n m",
            "n**-1",
            "n**n",
            "2//n",
            "n//0",
            "n % 2",
            "f(n)",
            "n\n",
            "(n",
            "n,m",
            "n[0]",
            "n²",
            "∞",
            "-1",
            "n==m",
        )
    },
    **{
        f"the shape {shape!r}": (ValueError, NO_LENGTH, lambda shape=shape: sd.symbol("x", shape))
        for shape in (("n", -1), ("n", 1.5), (None, "n"), ("n", True), ("n", b"m"))
    },
    "an expression as length": (ValueError, NO_LENGTH, lambda: sd.zeros((n * 1.5,))),
    "a length that is always negative": (
        ValueError,
        "'-n - 1' in shape .* is always negative",
        lambda: sd.symbol("x", "-n - 1"),
    ),
    "two axes": (
        ShapeError,
        r"input S: .*\(n, n\), got \(2, 3\); n is 2 in S",
        lambda: nm.lower(sd.sum(S), S)(ones((2, 3))),
    ),
    "two arguments": (
        ShapeError,
        r"input w: .*\(n,\), got \(4,\); n is 3 in v",
        lambda: F(ones(3), ones(4)),
    ),
    "two arguments by name": (
        ShapeError,
        r"input w: .*got \(4,\); n is 3 in v",
        lambda: F(w=ones(4), v=ones(3)),
    ),
    "three arguments": (
        ShapeError,
        r"input u: .*got \(4,\); n is 3 in v",
        lambda: nm.lower(sd.sum(v + w + u), [v, w, u])(ones(3), ones(3), ones(4)),
    ),
    "an even length": (
        ShapeError,
        r"\(2\*n,\), got \(5,\); no n >= 0 makes 2\*n 5",
        lambda: alone("2*n")(ones(5)),
    ),
    "a length that is too short": (
        ShapeError,
        r"no n >= 0 makes n \+ 3 2",
        lambda: alone("n + 3")(ones(2)),
    ),
    "a length that is too long": (
        ShapeError,
        "no n >= 0 makes 3 - n 5",
        lambda: alone("3 - n")(ones(5)),
    ),
    "a formula": (
        ShapeError,
        r"2\*n - 1 is 3, as n is 2 in v",
        lambda: of("2*n - 1")(ones(4), ones(2)),
    ),
    "a quotient": (ShapeError, r"n//2 is 1, as n is 2 in v", lambda: of("n//2")(ones(5), ones(2))),
    "a product of which one is 0": (
        ShapeError,
        r"m\*n does not tell what m is; give an axis of length m",
        lambda: of("n*m")(ones(0), ones(0)),
    ),
    "a product alone": (
        ValueError,
        r"length m, n, and m\*n of x does not tell it; add an input",
        lambda: alone("n*m"),
    ),
    "a quotient alone": (
        ValueError,
        "length n, and n//2 of x does not tell it; add an input",
        lambda: alone("n//2"),
    ),
    "a power alone": (
        ValueError,
        r"n\*\*2 of x does not tell it; add an input",
        lambda: alone("n**2"),
    ),
    "a length that no input has": (
        ValueError,
        r"no input has an axis of length n; add an input",
        lambda: nm.lower(n * s, s),
    ),
    "a length as argument": (
        TypeError,
        "'n'.*; n is a length, which is learnt from the shape of v",
        lambda: F(ones(3), ones(3), n=3),
    ),
    "a length as data": (
        ValueError,
        "bind: 'n' is not an input; those are v, w",
        lambda: F.bind(n=3),
    ),
    "a length to substitute": (
        ValueError,
        "'n'.*; n is the length of an axis: give a value for v",
        lambda: sd.sum(v).subs({n: 3}),
    ),
    "a length given and met": (
        ShapeError,
        r"symbol v: .*\(n,\), got \(6,\); n is 4 in the lengths given",
        lambda: nm.interpret(sd.sum(v), {"v": ones(6), "n": 4}),
    ),
    "a length given that does not divide": (
        ShapeError,
        r"no m >= 0 makes m\*n 6",
        lambda: nm.interpret(sd.sum(sd.symbol("x", "n*m")), {"x": ones(6), "n": 4}),
    ),
    "a negative length given": (
        TypeError,
        "axis length n: -4 is not an integer >= 0",
        lambda: nm.interpret(n * s, {"s": 1.0, "n": -4}),
    ),
    "half a length given": (
        TypeError,
        "axis length n: 2.5 is not an integer",
        lambda: nm.interpret(n * s, {"s": 1.0, "n": 2.5}),
    ),
    "a length not given": (
        ValueError,
        "axis length n is not known: no symbol has it; give it by name",
        lambda: nm.interpret(n * s, {"s": 1.0}),
    ),
    "which is longer": (
        Unsupported,
        "whether n > m is not known .* or give the axis a number",
        lambda: n > m,
    ),
    "the greater": (Unsupported, "whether n < 3 is not known", lambda: max(n, 3)),
    "so many turns": (
        Unsupported,
        "the length n is known by name, not as an int",
        lambda: range(n),
    ),
    "elements one by one": (
        Unsupported,
        "axis of symbolic length n, which is not a number of turns",
        lambda: list(v),
    ),
    "a rank": (
        ShapeError,
        r"input v: expected shape \(n,\), got \(3, 1\); sd.batch",
        lambda: F(ones((3, 1)), ones(3)),
    ),
    "a number": (ShapeError, r"input v: expected shape \(n,\), got \(\)", lambda: F(1.0, ones(3))),
    "a ragged list": (
        ShapeError,
        "input v: the argument is ragged",
        lambda: F([1, [2, 3]], ones(3)),
    ),
    "a text": (TypeError, "input v: expected dtype float", lambda: F("abc", ones(3))),
    "Tensors": (
        ShapeError,
        r"input w: .*got \(4,\); n is 3 in v",
        lambda: F(nm.ones(3), nm.ones(4)),
    ),
    "a Tensor of no axis": (
        ShapeError,
        r"input v: expected shape \(n,\), got \(\)",
        lambda: F(nm.tensor(1.0), nm.ones(3)),
    ),
    "a batch of another length": (
        ShapeError,
        r"batch: the values of w are c, others are b",
        lambda: sd.batch(
            sd.sum(v * w), {v: sd.symbol("V", ("b", "n")), w: sd.symbol("W", ("c", "n"))}
        ),
    ),
    "a batch of other vectors": (
        ShapeError,
        r"values have shape \(b, m\); expected one more leading axis, before \(n,\)",
        lambda: sd.batch(sd.sum(v), {v: sd.symbol("V", ("b", "m"))}),
    ),
    "a sum": (ShapeError, "add: .* would be both n and n - 1", lambda: v + sd.symbol("x", "n - 1")),
    "a product": (ShapeError, "matmul: .* would be both m and n", lambda: A @ v),
    "a reshape": (
        ShapeError,
        r"m is 2, n is 3: reshape of \(n,\) to \(m,\) is impossible",
        lambda: nm.lower(sd.reshape(v, (m,)), [v, A])(ones(3), ones((3, 2))),
    ),
    "a slice up to another length": (
        ShapeError,
        r"m is 5, n is 3: \[:m\] of an axis of .* n - m would be -2",
        lambda: nm.lower(v[:m], [v, A])(ones(3), ones((3, 5))),
    ),
    "data of two lengths": (
        ShapeError,
        "bind: symbol w: .*; n is 3 in v",
        lambda: F.bind(v=ones(3), w=ones(4)),
    ),
    "data after data": (
        ShapeError,
        "bind: symbol w: .*; n is 3 in v",
        lambda: F.bind(v=ones(3)).bind(w=ones(4)),
    ),
    "values of two lengths": (
        ShapeError,
        "substitute: symbol w: .*; n is 3 in v",
        lambda: sd.sum(v * w).subs({v: ones(3), w: ones(4)}),
    ),
    "an odd value": (
        ShapeError,
        r"substitute: symbol x: .*no n >= 0 makes 2\*n 3",
        lambda: sd.sum(sd.symbol("x", "2*n")).subs({"x": ones(3)}),
    ),
    "a value that leaves less than nothing": (
        ShapeError,
        "substitute: an axis of length n - 2 of x .* n - 2 would be -1",
        lambda: (sd.sum(sd.symbol("x", "n - 2")) + sd.sum(v)).subs({v: ones(1)}),
    ),
    "a value of a rank": (
        ShapeError,
        r"substitute: symbol v: expected shape \(n,\), got \(3, 3\)",
        lambda: sd.sum(v).subs({v: ones((3, 3))}),
    ),
    "digits": (
        ShapeError,
        "evalf: symbol w: .*; n is 3 in v",
        lambda: sd.sum(v * w).evalf(subs={v: ones(3), w: ones(4)}),
    ),
    "too few to count": (
        ShapeError,
        "n is 3: an axis of length n - 5 is impossible",
        lambda: nm.lower(sd.arange(n - 5), v)(ones(3)),
    ),
}


@all_cases("name", ROWS, least=72)
def test_what_is_said(name):
    error, message, call = ROWS[name]
    with pytest.raises(error, match=message):
        call()


def test_nothing_is_changed_by_a_call_that_is_refused():
    kept = [np.zeros(3), np.zeros(3)]
    _, residuals = F.forward(ones(3), ones(3))
    with pytest.raises(ShapeError):
        F.backward(residuals, 1.0, accumulate=[kept[0], np.zeros(4)])
    assert not kept[0].any()
    with pytest.raises(ShapeError):
        F.bind(v=ones(3), w=ones(4))
    assert F(ones(4), ones(4)) == 16
    assert F.inputs == (v, w)
