"""Extremes whose rows are computed again: by backward passes, from checkpoints, in batches.

A program that compares rows with an extreme that another one found has to round them alike.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import numeric as nm
import symdiff as sd
from tests.support.budget import sample
from tests.support.extremes import EXTREMES, ROWS, X, clear_extreme, tables, w

LENGTH = 5
start, W = sd.symbol("start"), sd.symbol("W", ("b", "d"))


@cache
def formula(rows, name, form, backend):
    z = ROWS[rows][0] @ w
    of = EXTREMES[name]
    if form == "once":
        return nm.lower(of(z) + start, [X, w, start], backend=backend)
    if form == "batch":
        f = sd.sum(sd.batch(of(z), {w: W})) + start
        return nm.lower(f, [X, W, start], backend=backend)

    def step(c, _):  # c -> (c + extreme)/2, where rows and extremes are those of the step
        return of(z + c) - (c + of(z)) / 2, None

    f, _ = sd.scan(step, start, None, length=LENGTH, checkpoint=form == "checkpoint")
    return nm.lower(f, [X, w, start], backend=backend)


def check(rows, name, form, backend, dtype, table):
    data, at = table[0].astype(dtype), table[1].astype(dtype)
    value, slope, tolerance = clear_extreme(rows, name, data, at)
    shrunk = 0.5**LENGTH  # by so much the steps come nearer to the extreme
    if form == "once":
        value, by_start = value + 1, 1
    elif form == "batch":
        at, slope = np.stack([at, 2 * at]), np.stack([slope, slope])
        value, by_start = 3 * value + 1, 1
    else:
        value, slope, by_start = value * (1 - shrunk) + shrunk, slope * (1 - shrunk), shrunk
    F = formula(rows, name, form, backend)
    arguments = (data, at, dtype(1))
    found, kept = F.forward(*arguments)
    _, by_at, by_c = F.backward(kept, dtype(1))
    _, again, _ = F.grad(*arguments)
    for one, other in [(found, value), (by_at, slope), (again, slope), (by_c, by_start)]:
        assert one.dtype == dtype
        np.testing.assert_allclose(np.asarray(one, float), other, rtol=0, atol=LENGTH * tolerance)


FORMS = ["once", "batch", "steps", "checkpoint"]


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@sample(40)
@given(
    st.sampled_from(sorted(ROWS)),
    st.sampled_from(["max", "min"]),
    st.sampled_from([np.float64, np.float32]),
    tables(),
)
def test_extremes_that_are_computed_again(form, rows, name, dtype, table):
    check(rows, name, form, "numpy", dtype, table)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@sample(2)
@given(
    st.sampled_from(["plain", "standardised"]),
    st.just("max"),
    st.sampled_from([np.float64, np.float32]),
    tables(),
)
def test_extremes_that_machine_code_computes_again(form, rows, name, dtype, table):
    check(rows, name, form, "native", dtype, table)
