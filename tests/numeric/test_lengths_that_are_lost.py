"""Where no node of an axis is left: its length still counts, and is still held against 0."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import numeric as nm
import symdiff as sd
from symdiff.errors import ShapeError

v, b = sd.symbol("v", "n"), sd.symbol("b")
SHORT = np.ones(3)

# Sums of numbers that depend on no place of the axis: only how many there are is left of it.
COUNTED = {
    "a scalar, over a slice": lambda v, b: sd.sum(v[5:] * 0 + b),
    "a power 0": lambda v, b: sd.sum(v[5:] ** 0 * b),
    "zeros of computed length": lambda v, b: sd.sum(sd.zeros(v[5:].shape) + b),
    "every second": lambda v, b: sd.sum(v[5::2] * 0 + b),
    "a derivative by what was spread": lambda v, b: sd.diff(sd.sum(v[5:] + b) * b, b, 2),
    "a second derivative": lambda v, b: sd.diff(sd.sum((v[5:] - b) ** 2), b, 2) * b,
    "a mixed derivative": lambda v, b: (
        sd.sum(sd.grad(sd.sum(np.diff(v, n=4) * b), v)[0]) * 0
        + sd.diff(sd.sum(np.diff(v, n=4) + b), b) * b
    ),
}


@pytest.mark.parametrize("name", COUNTED)
def test_a_number_of_elements_is_never_negative(name):
    f = COUNTED[name](v, b)
    F = nm.lower(f, [v, b])
    for n in (5, 8):
        at = np.ones(n)
        known = COUNTED[name](sd.symbol("v", n), b)
        want = nm.lower(known, [sd.symbol("v", n), b])(at, 2.0)
        assert F(at, 2.0) == want == nm.interpret(f, {v: at, b: 2.0})
        assert (f * v[0]).subs({v: at}).evalf(subs={b: 2}) == want
        assert (f * v[0]).evalf(subs={v: at, b: 2}) == want
    for call in (F, F.grad, F.value_and_grad, pickle.loads(pickle.dumps(F))):
        with pytest.raises(ShapeError, match=r"n is 3: .* would be -"):
            call(SHORT, 2.0)
    with pytest.raises(ShapeError, match=r"would be -"):
        nm.interpret(f, {v: SHORT, b: 2.0})
    with pytest.raises(ShapeError, match=r"would be -"):
        (f * v[0]).subs({v: SHORT})
    with pytest.raises(ShapeError, match=r"would have the length -"):
        (f * v[0]).evalf(subs={v: SHORT, b: 2})


def test_a_number_that_is_computed_from_a_length_may_be_negative():
    n = v.shape[0]
    assert nm.lower(b * (n - 5), [v, b])(SHORT, 2.0) == -4
    assert nm.lower(b * ((n - 8) // 2), [v, b])(SHORT, 2.0) == -6


def test_counts_cancel():
    assert sd.diff(sd.mean((v[1:] - b) ** 2), b, 2) is sd.constant(2)
    assert sd.diff(sd.mean(v[5:] + b), b) is sd.constant(1)


def test_quotients_of_lengths_are_bracketed():
    n = v.shape[0]
    for f in (b ** (n // 2), b / (n // 2), sd.sin(b) * (n // 2), sd.sin(b) - n // 2):
        assert sd.parse(str(f), [v]) is f
    assert str(b ** (n // 2)) == "b**(n//2)"
    assert str(sd.diff(sd.sum(v[5:] + b), b) * b) == "b*(n - 5)"


# What raises in the value raises in all that a Function computes beside it.
SHORTER = {
    "a slice": lambda v: sd.sum(v[5:]) * v[0],
    "a constant slope": lambda v: sd.sum(v[5:]) + v[0],
    "no slope": lambda v: sd.sum(sd.floor(v[5:])) + v[0],
    "detached": lambda v: sd.sum(sd.detach(v[5:])) + v[0],
    "roll": lambda v: sd.sum(np.roll(v, 5)),
    "take": lambda v: sd.sum(v[[0, 5]]),
    "reshape": lambda v: sd.sum(sd.reshape(v, (-1, 2))),
    "differences": lambda v: sd.sum(np.diff(v, n=4)),
    "windows": lambda v: sd.sum(np.convolve(v, np.ones(5), "valid")),
    "running sums": lambda v: sd.sum(np.cumsum(v[4:])),
}


@pytest.mark.parametrize("name", SHORTER)
def test_derivatives_raise_where_the_value_does(name):
    F = nm.lower(SHORTER[name](v), v)
    for call in (F, F.value_and_grad, F.grad, F.jacobian, F.hessian, F.forward):
        with pytest.raises(ShapeError, match=r"n is 3: .* impossible"):
            call(SHORT)
    with pytest.raises(ShapeError, match=r"n is 3: .* impossible"):
        F.jvp([SHORT], [SHORT])
    with pytest.raises(ShapeError, match=r"n is 3: .* impossible"):
        F.hvp(SHORT, SHORT)
