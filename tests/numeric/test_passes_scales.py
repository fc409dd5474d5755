"""Coefficients that all terms of a sum have, written once."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import numeric as nm
import symdiff as sd
from numeric.lowering.passes.exponentials import shares
from numeric.lowering.passes.scales import scaled_once
from numeric.lowering.schedule import schedule
from tests.support.budget import sample

x, y, z = sd.symbols("x y z", "n")
A = sd.symbol("A", ("m", "n"))
i, j = sd.symbols("i j", "n", dtype=int)
LARGE = np.finfo(float).max


def scalings(f, inputs):
    """How many values the sums of a formula scale, without the pass and with it."""
    before = shares(schedule([f], inputs), [False] * 99)
    after = scaled_once(before, [False] * before.length)
    return [
        sum(abs(coef) != 1 for step in steps.steps if step.form == "sum" for coef in step.op.coefs)
        for steps in (before, after)
    ]


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (2 * x - 2 * y, [2, 1]),
        (-3 * x - 3 * y + 3 * z, [3, 1]),
        (sd.sin(x) / 7 - sd.tanh(y) / 7, [2, 1]),
        (sd.sigmoid(x) / 7 - z / 7, [2, 1]),
        (sd.softmax(A, axis=1) / 7 - A / 7, [2, 1]),
        (x / 7 - y / 7, [2, 2]),  # their difference may overflow
        (sd.softmax(A, axis=1) / 7 - A / 7 + sd.exp(A) / 7, [3, 3]),
        (2 * x - 3 * y, [2, 2]),
        (2 * x - 2 * y + 1, [2, 2]),
        (2 * A + 2 * x, [2, 2]),  # a row is scaled for nothing
        (2 * i - 2 * j, [2, 2]),  # of integers
        (x - y, [0, 0]),
    ],
)
def test_terms_of_one_coefficient_are_scaled_once(f, expected):
    assert scalings(f, sorted(f.free_symbols, key=lambda s: s.name)) == expected


COEFFICIENTS = st.sampled_from([Fraction(1, 7), Fraction(1, 10_000), Fraction(1, 1024), 2, 3, 1.3])


@sample(60)
@given(
    COEFFICIENTS,
    st.lists(st.sampled_from([-1, 1]), min_size=2, max_size=4),
    st.sampled_from([np.float32, np.float64]),
    st.integers(0, 10**6),
)
def test_values_are_within_the_bound_of_the_program_without_it(c, signs, dtype, seed):
    """Each term is rounded when it is scaled and when it is added, in either order."""
    rng = np.random.default_rng(seed)
    xs = [sd.symbol(f"x{k}", "n") for k in range(len(signs))]
    data = [(10.0 ** rng.integers(-6, 6, 20) * rng.normal(size=20)).astype(dtype) for _ in xs]
    terms = [s * c * (sd.sin(v) if c < 1 else v) for s, v in zip(signs, xs, strict=True)]
    f = sum(terms[1:], terms[0])
    found, exact = nm.lower(f, xs)(*data), nm.lower(f, xs, exact_order=True)(*data)
    scale = sum(float(c) * np.abs(np.sin(a) if c < 1 else a) for a in data)
    assert found.dtype == exact.dtype == dtype
    assert np.all(np.abs(found - exact) <= (len(xs) + 2) * 2 * np.finfo(dtype).eps * scale)


def test_what_is_finite_stays_finite():
    a = np.array([LARGE, -LARGE])
    found = nm.lower(x / 4 - y / 4, [x, y])(a, -a)
    assert np.array_equal(found, a / 2)
    found = nm.lower(sd.sin(x) / 4 - y / 4, [x, y])(np.ones(2), -a)
    assert np.array_equal(found, a / 4)


def test_exact_order_scales_each_term():
    a, b = np.random.default_rng(0).normal(size=(2, 100))
    f = sd.sin(x) / 7 - y / 7
    exact = nm.lower(f, [x, y], exact_order=True)
    assert np.array_equal(exact(a, b), nm.interpret(f, {x: a, y: b}))
    assert exact.source.count("/7") == 2
    assert nm.lower(f, [x, y]).source.count("/7") == 1
