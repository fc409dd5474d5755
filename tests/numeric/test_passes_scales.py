"""Coefficients that all terms of a sum have, written once."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import numeric as nm
import symdiff as sd
from numeric.lowering import kinds
from numeric.lowering.passes.exponentials import share_exponentials
from numeric.lowering.passes.scales import scale_sums_once
from numeric.lowering.schedule import schedule
from tests.support.budget import sample

x, y, z = sd.symbols("x y z", "n")
A = sd.symbol("A", ("m", "n"))
i, j = sd.symbols("i j", "n", dtype=int)
LARGE = np.finfo(float).max


def scalings(f, inputs):
    """How many values the sums of a formula scale, without the pass and with it."""
    before = share_exponentials(schedule([f], inputs), [False] * 99)
    after = scale_sums_once(before, [False] * before.length)
    return [
        sum(
            abs(coef) != 1
            for step in steps.steps
            if isinstance(step.kind, kinds.Sum)
            for coef in step.op.coefs
        )
        for steps in (before, after)
    ]


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (2 * x - 2 * y, [2, 1]),
        (-3 * x - 3 * y + 3 * z, [3, 1]),
        (sd.softmax(x) / 7 - sd.softmax(y) / 7, [2, 1]),
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
def test_values_are_within_the_bound_of_sums(c, signs, dtype, seed):
    """Each term is rounded when it is scaled and when it is added, in either order.

    A coefficient may be rounded itself: so of k terms none has more than k + 1 roundings.  The
    shares are the program's own: in exact order, ``exp(x - logsumexp(x))``, they have the absolute
    error of ``logsumexp(x)`` as a relative one, which is not the sum's.
    """
    rng = np.random.default_rng(seed)
    xs = [sd.symbol(f"x{k}", "n") for k in range(len(signs))]
    data = [(10.0 ** rng.integers(-6, 6, 20) * rng.normal(size=20)).astype(dtype) for _ in xs]
    shared = [sd.softmax(v) if c < 1 and v is not xs[0] else v for v in xs]
    terms = [s * c * v for s, v in zip(signs, shared, strict=True)]
    f = sum(terms[1:], terms[0])
    rounding = Fraction(float(np.finfo(dtype).eps)) / 2
    for exact_order in (False, True):
        found, *values = nm.lower([f, *shared], xs, exact_order=exact_order)(*data)
        assert found.dtype == dtype
        for value, *row in zip(found, *values, strict=True):
            scaled = [s * Fraction(c) * Fraction(float(v)) for s, v in zip(signs, row, strict=True)]
            allowed = (len(xs) + 2) * rounding * sum(map(abs, scaled))
            assert abs(Fraction(float(value)) - sum(scaled)) <= allowed


def test_what_is_finite_stays_finite():
    a = np.array([LARGE, -LARGE])
    found = nm.lower(x / 4 - y / 4, [x, y])(a, -a)
    assert np.array_equal(found, a / 2)
    found = nm.lower(sd.softmax(x) / 4 - y / 4, [x, y])(np.ones(2), -a)
    assert np.array_equal(found, a / 4)


@pytest.mark.numpy_only("its bits")
def test_exact_order_scales_each_term():
    a, b = np.random.default_rng(0).normal(size=(2, 100))
    f = sd.softmax(x) / 7 - y / 7
    exact = nm.lower(f, [x, y], exact_order=True)
    assert np.array_equal(exact(a, b), nm.interpret(f, {x: a, y: b}))
    assert exact.source.count("/7") == 2
    assert nm.lower(f, [x, y]).source.count("/7") == 1
