"""A text in NumPy's or in index notation has the value of its expression; NumPy says so."""

import numpy as np
import pytest
from hypothesis import given

import symdiff as sd
from tests.display.points import evaluated, point
from tests.display.written import Unknown, value
from tests.numeric.test_named_lengths import FORMULAS, A, V
from tests.support.budget import sample
from tests.support.oracles import inputs_of
from tests.support.strategies import FAMILIES, programs

# Values in two orders of evaluation, of programs that may cancel some digits.
ROUNDING = 1e-8


def means(expr):
    """NumPy finds the value of ``expr`` in its text, where both are finite."""
    values = point(expr, 1, signed=True)
    ours = np.asarray(evaluated(expr, values), float)
    # NumPy refuses the maximum of nothing.
    if not (all(np.size(x) for x in values.values()) and np.all(np.isfinite(ours))):
        return
    text = sd.text(expr)
    if "array(shape=" in text or "!= " in text:  # data that are not written out; no such loop here
        return
    try:
        with np.errstate(all="ignore"):
            theirs = np.broadcast_to(np.asarray(value(text, values, ours.shape), float), ours.shape)
    except Unknown:
        return
    scale = max(1.0, float(np.max(np.abs(ours), initial=0)))
    assert np.allclose(theirs, ours, rtol=ROUNDING, atol=ROUNDING * scale), text


@pytest.mark.parametrize("family", FAMILIES)
def test_texts_of_random_arrays_and_their_gradients(family):
    @sample(20)
    @given(programs(("pointwise", family), steps=4))
    def run(program):
        xs = inputs_of(program)
        f = sd.constant(0) + program.ours(xs)
        means(f)
        for expr in sd.vjp(f, xs, sd.symbol("u", f.shape)):
            means(expr)

    run()


X = sd.symbol("X_axis", (2, 3))
ALONG = {
    "max": sd.max,
    "min": sd.min,
    "prod": sd.prod,
    "sum": sd.sum,
    "mean": sd.mean,
    "logsumexp": sd.logsumexp,
    "softmax": sd.softmax,
    "cumsum": sd.cumsum,
    "cumprod": sd.cumprod,
    "logcumsumexp": sd.logcumsumexp,
    "sort": sd.sort,
    "flip": sd.flip,
}


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("name", ALONG)
def test_the_axis_is_said(name, axis):
    """NumPy takes all axes where none is named, so a text names it; of a product with it, too."""
    means(ALONG[name](X, axis=axis))
    means(sd.sin(X) * sd.exp(ALONG[name](X * X, axis=axis)).sum())


@pytest.mark.parametrize("name", FORMULAS)
def test_texts_over_axes_of_any_length(name):
    """In index notation too, of values, gradients and Jacobians, at two lengths."""
    least, f = FORMULAS[name]
    y = f(V, A)
    for expr in (y, *sd.grad(sd.sum(sd.sin(y)), [V, A]), sd.jacobian(y, V)):
        text = sd.text(expr, full=True)
        for lengths in ({"n": max(least, 2) + 1, "m": 2}, {"n": 6, "m": 3}):
            values = point(expr, 1, True, lengths)
            ours = np.asarray(evaluated(expr, values, lengths), float)
            theirs = np.broadcast_to(np.asarray(value(text, values, ours.shape), float), ours.shape)
            np.testing.assert_allclose(theirs, ours, ROUNDING, ROUNDING, err_msg=text)
