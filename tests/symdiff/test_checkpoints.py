"""Scans that keep some of the carries are scans: values and derivatives, in less memory."""

from __future__ import annotations

import functools
import math
import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import numeric as nm
import symdiff as sd
from symdiff.errors import NotDifferentiable
from symdiff.transforms.checkpoints import Checkpoints, Fold
from tests.support.budget import sample
from tests.support.directional import pulled
from tests.support.recurrences import ALL, agree, unrolled
from tests.symdiff.test_scan import directions

EACH = pytest.mark.parametrize("of", ALL, ids=lambda of: of.name)


def kept(checkpoint):
    return functools.partial(sd.scan, checkpoint=checkpoint)


@EACH
@pytest.mark.parametrize("checkpoint", [True, 1, 3, 50])
def test_values_and_gradients(of, checkpoint):
    """Segments that come out even, and that do not; one step each, and all in one."""
    xs, at = of.symbols(), of.point()
    one, other = of.loss(kept(checkpoint), *xs), of.loss(unrolled, *xs)
    agree([one, *sd.grad(one, xs)], [other, *sd.grad(other, xs)], xs, at)


@pytest.mark.slow
@EACH
@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_jacobians_and_hessians(of, mode):
    """Batches of cotangents, and of tangents; and derivatives of both."""
    xs, at = of.symbols(), of.point()
    one, other = of.loss(kept(2), *xs), of.loss(unrolled, *xs)
    (g, *_), (h, *_) = sd.grad(one, xs), sd.grad(other, xs)
    agree(
        [sd.jacobian(g, xs[-1], mode=mode), sd.hvp(one, xs, directions(xs))[0]],
        [sd.jacobian(h, xs[-1], mode="reverse"), sd.hvp(other, xs, directions(xs))[0]],
        xs,
        at,
        1e-11,
    )


@pytest.mark.slow
@EACH
def test_derivatives_of_the_third_order(of):
    xs, at = of.symbols(), of.point()
    vs = directions(xs)

    def ways(f):
        forward = reverse = f
        for _ in range(3):
            forward = sd.jvp(forward, xs, vs)
            reverse = pulled(reverse, xs, vs)
        return [forward, reverse]

    agree(ways(of.loss(kept(2), *xs)), ways(of.loss(unrolled, *xs)), xs, at, 1e-11)


a, s = sd.symbols("a s")


@given(st.integers(0, 12), st.integers(1, 5), st.booleans())
@settings(sample(30), deadline=None)
def test_segments_of_all_lengths(n, steps, reverse):
    """ys stand in their order, and belong to their xs."""
    x = sd.symbol("x", (n, 2))

    def f(c, x):
        c = sd.sin(a * c + x[0]) + x[1]
        return c, {"c": c * x[0], "x": (x, None)}

    at = [0.7, 0.3, np.random.default_rng(n).uniform(-1, 1, (n, 2))]
    one = sd.scan(f, s, x, reverse=reverse, checkpoint=steps)
    other = sd.scan(f, s, x, reverse=reverse)
    env = dict(zip([a, s, x], at, strict=True))
    for found, wanted in (
        (one[0], other[0]),
        (one[1]["c"], other[1]["c"]),
        (one[1]["x"][0], other[1]["x"][0]),
    ):
        np.testing.assert_array_equal(nm.interpret(found, env), nm.interpret(wanted, env))
    loss = [last**2 + sd.sum(ys["c"]) for last, ys in (one, other)]
    agree(sd.grad(loss[0], [a, s, x]), sd.grad(loss[1], [a, s, x]), [a, s, x], at)


def test_no_steps_and_the_defaults():
    assert sd.scan(lambda c, _: (c, None), s, length=0, checkpoint=True)[0] is s
    last = sd.scan(lambda c, _: (c * a, None), s, length=100, checkpoint=True)[0]
    (outer,) = [x for x in sd.nodes(last) if isinstance(x.op, Checkpoints)]
    assert outer.op.length == 10


def peak(run):
    """The most bytes that are there at a time beyond those before, of a second call."""
    run()
    tracemalloc.start()
    run()
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    run()
    most = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    return most


@pytest.mark.parametrize("n", [400, 1600])
def test_a_gradient_takes_the_memory_of_some_carries(n):
    """Three times the root of the length of them, and what the inputs take."""
    size = 2000
    w, start, x = sd.symbol("w", size), sd.symbol("start", size), sd.symbol("x", n)

    def f(c, x):
        return c + w * c * x, None

    last = sd.scan(f, start, x, checkpoint=True)[0]
    run = nm.lower(sd.sum(last**2), [w, start, x])
    at = [np.full(size, 1e-3), np.ones(size), np.ones(n)]
    carry, inputs = size * 8, sum(v.nbytes for v in at)
    assert peak(lambda: run.value_and_grad(*at)) <= 3 * math.sqrt(n) * carry + inputs
    plain = nm.lower(sd.sum(sd.scan(f, start, x)[0] ** 2), [w, start, x])
    assert peak(lambda: plain.value_and_grad(*at)) >= n * carry


def test_arrays_that_are_no_floats_of_python():
    """Segments of them are called one after the other."""
    w, x = sd.symbol("w", (9, 9)), sd.symbol("x", (10, 9))
    rng = np.random.default_rng(0)
    at = [rng.uniform(-0.5, 0.5, (9, 9)), rng.uniform(-1, 1, (10, 9))]
    results = []
    for checkpoint in (3, False):
        last, ys = sd.scan(
            lambda c, x: (sd.tanh(w @ c + x),) * 2, sd.zeros(9), x, checkpoint=checkpoint
        )
        loss = sd.sum(last**2) + sd.sum(ys**3)
        results.append(nm.lower([loss, *sd.grad(loss, [w, x])], [w, x])(*at))
    for found, wanted in zip(*results, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("n", [1, 7, 5000])
def test_folds_of_numbers_are_exact(n, reverse):
    """Whole numbers: a step too few, or a row in another's place, is one more or less."""
    x, y = sd.symbol("x", n), sd.symbol("y", (n, 2))

    def f(c, v):
        x, y = v
        return (c[0] + x * c[1], c[1] + y[1] - y[0], c[2] + a), c[1] * x

    at = [3.0, 2.0, np.arange(n) % 7 - 3.0, np.arange(2.0 * n).reshape(n, 2) % 5]
    found = []
    for checkpoint in (False, n, max(n // 3, 1)):
        last, ys = sd.scan(f, (s, 1.0, a), (x, y), reverse=reverse, checkpoint=checkpoint)
        loss = last[0] * 2 - last[2] + sd.sum(ys)
        found.append(nm.lower([loss, *sd.grad(loss, [a, s, x, y])], [a, s, x, y])(*at))
    for others in found[1:]:
        for one, other in zip(found[0], others, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("checkpoint", [2, 6])
def test_steps_of_folds_that_math_refuses_are_numpys(checkpoint):
    """1/0 in the middle of a loop of Python floats, which goes on behind it."""
    x = sd.symbol("x", 6)
    last = sd.scan(lambda c, x: (c * a + 1 / x, None), s, x, checkpoint=checkpoint)[0]
    loss = nm.lower(sd.grad(last, [a, x]), [a, s, x])
    with np.errstate(all="ignore"):
        _, slope = loss(0.5, 1.0, np.array([1.0, 2, 0, 4, -2, 1]))
    np.testing.assert_array_equal(slope, [-1 / 32, -1 / 64, -np.inf, -1 / 64, -1 / 8, -1])


@pytest.mark.parametrize("size", [3, 80])
def test_folds_over_a_length_by_name(size):
    c, x = sd.symbol("c", "m"), sd.symbol("x", 5)
    at = [0.5, np.linspace(-1, 1, size), np.arange(5.0)]
    found = []
    for checkpoint in (2, False):
        last = sd.scan(lambda c, x: (sd.tanh(c * x + a), None), c, x, checkpoint=checkpoint)[0]
        found.append(nm.lower(sd.grad(sd.sum(last), [a, c, x]), [a, c, x])(*at))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-14)


def test_steps_that_are_not_read_do_no_harm_to_segments():
    """Behind the last state that a loss reads the roots of 0 have no part in the derivative."""
    x = sd.symbol("x", 4)
    states = sd.scan(lambda c, x: (sd.sqrt(c) * x + a, c), s, x, checkpoint=2)[1]
    env = {a: 0.0, s: 4.0, x: np.array([1.0, 0, 1, 1])}
    by_a, by_x = nm.interpret(sd.grad(states[1], [a, x]), env)
    assert by_a == 1
    np.testing.assert_array_equal(by_x, [2, 0, 0, 0])


def test_a_last_state_leaves_no_checks_in_its_folds():
    """All steps are reached from it: there are no zeros to keep apart from numbers."""
    x = sd.symbol("x", 9)
    last = sd.scan(lambda c, x: (sd.sqrt(c) + a * x, None), s, x, checkpoint=True)[0]
    steps = list(sd.nodes(list(sd.grad(last, [a, s, x]))))
    folds = []
    for node in steps:  # which grows by what is inside
        if isinstance(node.op, Fold):
            folds.append(node)
            steps += sd.nodes(node.op.body)
    assert len(folds) == 2
    assert not [node for node in steps if "strong" in repr(node.op).lower()]


def test_explain_tells_of_both_loops():
    x = sd.symbol("x", 100)
    last = sd.scan(lambda c, x: (sd.sin(a * c) + x, None), s, x, checkpoint=25)[0]
    F = nm.lower(last, [a, s, x])
    F.value_and_grad(0.5, 0.25, np.ones(100))
    _, backward = F.explain().split("\nbackward: ")
    assert "scan over 4, ()" in backward
    assert "fold over 4, reversed, (2,): step by step, in NumPy" in backward


def test_what_a_mask_discards_stays_discarded():
    z = sd.symbol("z", 5)

    def body(c, z):
        return sd.where(z > 0, a * c + sd.sqrt(z), c), None

    last = sd.scan(body, s, z, checkpoint=2)[0]
    found = nm.interpret(
        [*sd.grad(last, [a, s, z]), sd.jacobian(last, z, mode="forward"), sd.hessian(last, z)],
        {a: 2.0, s: 3.0, z: np.array([4.0, -1, 0, 1, -2])},
    )
    assert all(np.isfinite(value).all() for value in found)
    np.testing.assert_array_equal(found[2][[1, 2, 4]], 0)


def test_zeros_of_a_mask_meet_no_infinite_slope_outside():
    """Where the loop ignores its start, the infinite slope of that start is ignored."""
    x = sd.symbol("x", 3)
    last = sd.scan(lambda c, x: (sd.where(x > 0, c * a, x), None), sd.sqrt(a), x, checkpoint=2)[0]
    for slope in (sd.vjp(last, a, 1), sd.jvp(last, a, 1), sd.vjp(sd.vjp(last, a, 1), a, 1)):
        assert nm.interpret(slope, {a: 0.0, x: np.array([-1.0, 1.0, -1.0])}) == 0


def test_batches_pickles_texts_and_counts():
    x, many = sd.symbol("x", 4), sd.symbol("many", (3, 4))
    last = sd.scan(lambda c, x: (sd.sin(a * c) + x, None), s, x, checkpoint=2)[0]
    wide = sd.symbol("wide", 2)
    loop = sd.scan(lambda c, _: (wide @ c * c, None), wide, length=100, checkpoint=True)[0]
    assert str(loop).startswith("a[10]\nwhere ")  # segments of ten steps
    gradient = sd.vjp(last, x, 1)
    assert [y for y in sd.nodes(gradient) if isinstance(y.op, Fold)]
    rng = np.random.default_rng(0)
    env = {a: 0.7, s: 0.2, many: rng.uniform(-1, 1, (3, 4))}
    for f in (last, gradient):
        assert pickle.loads(pickle.dumps(f)) is f
        found = nm.interpret(sd.batch(f, {x: many}), env)
        for row, at in zip(found, env[many], strict=True):
            np.testing.assert_allclose(row, nm.interpret(f, {a: 0.7, s: 0.2, x: at}), rtol=1e-14)
    assert sd.count_operations(last) == 12
    assert sd.count_operations(gradient) > 12
    exact = sd.evalf(gradient[0], 30, {a: 0.5, s: 0.25, x: np.array([0.5, 0.25, 1.0, -1.0])})
    near = nm.interpret(gradient[0], {a: 0.5, s: 0.25, x: np.array([0.5, 0.25, 1.0, -1.0])})
    np.testing.assert_allclose(float(exact), near, rtol=1e-14)


def test_kinks_raise_inside():
    x = sd.symbol("x", 4)
    with sd.kinks("raise"):
        last = sd.scan(lambda c, x: (abs(c) * x, None), 1, x, checkpoint=2)[0]
        gradient = nm.lower(sd.vjp(last, x, 1), x)
        np.testing.assert_array_equal(gradient(np.ones(4)), 1)
        with pytest.raises(NotDifferentiable, match="abs"):
            gradient(np.array([1.0, 0, 1, 1]))


def test_what_does_not_fit_is_refused():
    x = sd.symbol("x", "n")
    with pytest.raises(ValueError, match="checkpoint=True needs a length that is a number, not n"):
        sd.scan(lambda c, x: (c, None), s, x, checkpoint=True)
    for wrong in (0, -1, 1.5, "2"):
        with pytest.raises(ValueError, match="neither a bool nor a number of steps"):
            sd.scan(lambda c, x: (c, None), s, sd.symbol("x", 3), checkpoint=wrong)
