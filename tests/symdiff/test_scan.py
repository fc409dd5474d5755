"""Scans are the loops written out: values and derivatives of all orders, in both modes."""

from __future__ import annotations

import numpy as np
import pytest

import numeric as nm
import symdiff as sd
from tests.support.recurrences import ALL, unrolled

EACH = pytest.mark.parametrize("of", ALL, ids=lambda of: of.name)


def both(of):
    """A loss by ``scan`` and written out, its symbols, and a point."""
    xs = of.symbols()
    return of.loss(sd.scan, *xs), of.loss(unrolled, *xs), xs, of.point()


def agree(one, other, xs, at, rtol=1e-12):
    """Whether expressions have the same values, in units of the largest of these."""
    env = dict(zip(xs, at, strict=True))
    found, wanted = nm.interpret(list(one), env), nm.interpret(list(other), env)
    for a, b in zip(found, wanted, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * np.max(np.abs(b), initial=1e-3))


@EACH
def test_values(of):
    one, other, xs, at = both(of)
    agree([one], [other], xs, at)


@EACH
def test_gradients(of):
    one, other, xs, at = both(of)
    agree(sd.grad(one, xs), sd.grad(other, xs), xs, at)


def directions(xs):
    rng = np.random.default_rng(1)
    return [sd.constant(rng.uniform(-1, 1, x.shape)) for x in xs]


@EACH
def test_derivatives_of_the_second_order_in_each_way(of):
    """Reverse over reverse, forward over reverse, and forward over forward."""
    one, other, xs, at = both(of)
    vs = directions(xs)

    def ways(f):
        gradient = sd.grad(f, xs)
        along = sum(sd.sum(g * v) for g, v in zip(gradient, vs, strict=True))
        pushed = f
        for _ in range(2):
            pushed = sd.jvp(pushed, xs, vs)
        return [*sd.grad(along, xs), *sd.hvp(f, xs, vs), pushed]

    agree(ways(one), ways(other), xs, at)


@EACH
def test_derivatives_of_the_fourth_order_in_each_way(of):
    one, other, xs, at = both(of)
    vs = directions(xs)

    def pushed(f, times):
        for _ in range(times):
            f = sd.jvp(f, xs, vs)
        return f

    def pulled(f, times):
        for _ in range(times):
            f = sum(sd.sum(g * v) for g, v in zip(sd.grad(f, xs), vs, strict=True))
        return f

    agree(
        [pushed(one, 3), pushed(one, 4), pulled(one, 3)],
        [pushed(other, 3), pushed(other, 4), pulled(other, 3)],
        xs,
        at,
        1e-11,
    )


@EACH
def test_jacobians_are_those_of_all_elements(of):
    """Batches of cotangents go through the loop at once."""
    one, other, xs, at = both(of)
    (g, *_), (h, *_) = sd.grad(one, xs), sd.grad(other, xs)
    agree([sd.jacobian(g, xs[-1])], [sd.jacobian(h, xs[-1])], xs, at, 1e-11)


@EACH
def test_a_lowered_function_is_the_interpreted_one(of):
    one, other, xs, at = both(of)
    lowered, plain = nm.lower(one, xs), nm.lower(other, xs)
    value, gradient = lowered.value_and_grad(*at)
    expected, wanted = plain.value_and_grad(*at)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    for g, h in zip(gradient, wanted, strict=True):
        np.testing.assert_allclose(g, h, rtol=1e-11, atol=1e-12)
