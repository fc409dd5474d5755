"""Stretched operands with a short last axis, copied so that this is the outermost one in memory."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import numeric as nm
import symdiff as sd
from numeric.lowering import costs, kinds
from numeric.lowering.kernels.sequences import apart
from numeric.lowering.passes import layouts
from numeric.lowering.schedule import schedule
from tests.support.budget import sample

EPS = np.finfo(float).eps
x, y = sd.symbol("x", (500, 2)), sd.symbol("y", (20, 2))
z, named = sd.symbol("z", (20, 500, 2)), sd.symbol("named", ("n", 2))
wide, few = sd.symbol("wide", (500, 8)), sd.symbol("few", (9, 2))


def copies(*outputs):
    """How many operands are copied, by the steps that read them."""
    symbols = sorted({s for f in outputs for s in f.free_symbols}, key=lambda s: s.name)
    steps = schedule(outputs, symbols)
    found = layouts.move_short_axes_out(steps, [False] * steps.length)
    made = {step.results[0] for step in found.steps if isinstance(step.kind, kinds.Apart)}
    return len(made), sum(len(made.intersection(step.operands)) for step in found.steps)


def test_what_is_stretched_is_copied_once():
    differences = x[:, None] - y
    assert copies(sd.sum(sd.exp(differences))) == (2, 2)
    assert copies(sd.sum(sd.exp(differences)), sd.sum(sd.sin(x[:, None] + 2 * y))) == (2, 4)
    assert copies(sd.sum(sd.exp(x[:, None] * y))) == (2, 2)


@pytest.mark.parametrize(
    "f",
    [
        x[:, None] - y,  # a result, in the layout that NumPy gives it
        sd.sum(sd.exp(few[:, None] - few)),  # small
        sd.sum(sd.exp(x - few[0])),  # x would be copied whole
        sd.sum(sd.exp(z - x)),
        sd.sum(sd.exp(wide[:, None] - wide)),  # loops of eight are long enough
        sd.sum(sd.exp(named[:, None] - named)),  # may be small
        sd.sum(sd.exp(x.T - y[:, :, None])),  # the long axis is the last one
    ],
)
def test_others_stay(f):
    assert copies(f) == (0, 0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("shape", [(3,), (5, 3), (5, 1, 3), (0, 3), (2, 5, 4, 3)])
def test_apart_is_the_same_array(shape, dtype):
    a = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    for given_ in (a, np.asfortranarray(a), a[::-1]):
        found = apart(given_)
        assert found.dtype == dtype
        assert np.array_equal(found, given_)
        assert found.transpose(found.ndim - 1, *range(found.ndim - 1)).flags.c_contiguous


@sample(40)
@given(
    st.lists(st.integers(1, 5), min_size=2, max_size=3),
    st.integers(2, 7),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_elements_have_the_bits_of_exact_order(lengths, last, product, seed):
    """Of every shape; sums of them are within the bound of a sum in whichever order."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(costs, "CALLS", 0)
        patched.setattr(layouts, "_THIN", 1)
        rng = np.random.default_rng(seed)
        first = (*lengths, last)
        a = sd.symbol("a", (*first[:-2], 1, last))
        b = sd.symbol("b", first[1:])
        c = a * b if product else 3 * a - b
        each, total = sd.tanh(c) + 1, sd.sum(sd.exp(c))
        at = [rng.normal(size=s.shape) for s in (a, b)]
        F = nm.lower([each, total], [a, b])
        exact = nm.lower([each, total], [a, b], exact_order=True)
        assert "apart(" not in exact.source
        found, expected = F(*at), exact(*at)
        assert np.array_equal(found[0], expected[0])
        count = np.prod(first)
        assert abs(found[1] - expected[1]) <= 2 * count * EPS * expected[1]


def test_gradients_of_distances_are_those_in_exact_order():
    f = sd.sum(sd.exp(-sd.sum((x[:, None] - y) ** 2, axis=2)))
    at = [np.random.default_rng(1).normal(size=s.shape) for s in (x, y)]
    F, exact = nm.lower(f, [x, y]), nm.lower(f, [x, y], exact_order=True)
    before = [v.copy() for v in at]
    _, found = F.value_and_grad(*at)
    again = F.value_and_grad(*at)[1]
    _, expected = exact.value_and_grad(*at)
    assert "apart(" in F.source
    for a, b, c in zip(found, expected, again, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11)
        assert np.array_equal(a, c)
    for a, b in zip(at, before, strict=True):
        assert np.array_equal(a, b)
