"""While loops are the loops written out, with as many steps as their conditions say."""

from __future__ import annotations

import math
import pickle
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp

import numeric as nm
import symdiff as sd
from symdiff.errors import NotDifferentiable, ShapeError, Unsupported
from symdiff.transforms.sized import Sized
from symdiff.transforms.while_loops import Steps
from tests.support.budget import sample
from tests.support.directional import along
from tests.support.recurrences import agree

if TYPE_CHECKING:
    from collections.abc import Callable


class Loop(NamedTuple):
    """A scalar that a while loop computes: ``loss(m, loop, *values)``, m being sd or NumPy."""

    name: str
    loss: Callable[..., Any]
    at: tuple[Any, ...]
    steps: tuple[int, ...]

    def symbols(self) -> list[sd.Expr]:
        return [sd.symbol(f"s{k}", np.shape(x)) for k, x in enumerate(self.at)]


ALL: list[Loop] = []


def loop(*at, steps):
    """Put a loss into the table, with a point and how many steps its loops take there."""

    def put(loss):
        ALL.append(Loop(loss.__name__, loss, tuple(map(np.asarray, at)), steps))
        return loss

    return put


@loop(50.0, steps=(7,))
def newtons_iteration(m, loop, a):
    return loop(lambda x: abs(x * x - a) > 1e-9 * a, lambda x: (x + a / x) / 2, a)


@loop(0.3, steps=(0,))
def no_step(m, loop, a):
    return loop(lambda x: x > 1, lambda x: x * a, a) * a


@loop([0.5, -0.25], 0.4, steps=(7,))
def descent(m, loop, b, a):
    """The gradient is that of a bowl; the condition reads an array."""

    def slope(w):
        return a * (w - b) + w**3

    return m.sum(loop(lambda w: m.sum(slope(w) ** 2) > 1e-8, lambda w: w - slope(w), b) ** 2)


@loop(0.4, [[0.2, 0.1], [0.3, 0.4]], steps=(5,))
def several_carries(m, loop, a, w):
    def body(carry):
        return {"x": m.tanh(w @ carry["x"]) + carry["s"], "s": carry["s"] * a}

    last = loop(lambda c: c["s"] > 1e-2, body, {"x": w[0], "s": a})
    return m.sum(last["x"] ** 2) + last["s"]


@loop(2.0, 0.3, steps=(4, 1, 2, 2, 2))
def nested(m, loop, a, b):
    """The inner loop starts from the outer carry, and takes another number of steps each time."""

    def body(c):
        return loop(lambda d: d < 3 * c, lambda d: d * a + b, c) + m.sin(b)

    return loop(lambda c: c < 100 / a, body, b)


@loop(0.8, 5.0, steps=(3,))
def masked(m, loop, a, b):
    """The root of a negative number is not a derivative."""

    def body(c):
        return m.where(c > 3, m.sqrt(c + 1), a * c - 1)

    return loop(lambda c: c > 0, body, b)


@loop(1.5, steps=(4,))
def carry_that_counts(m, loop, a):
    x, _ = loop(lambda c: c[1] < 4, lambda c: (m.sin(a * c[0]) + c[1], c[1] + 1), (a, 0 * a))
    return x**2


@loop(0.5, steps=(1,))
def body_without_the_carry(m, loop, a):
    return loop(lambda c: c < 1, lambda c: 1 + a**2, a) * a


EACH = pytest.mark.parametrize("of", ALL, ids=lambda of: of.name)


def python(counts):
    """The loop in Python, over NumPy's numbers; how many steps there were goes to ``counts``."""

    def run(cond, body, carry):
        place = len(counts)
        counts.append(0)
        while cond(carry):
            carry = body(carry)
            counts[place] += 1
        return carry

    return run


def unrolled(counts):
    """The loop written out, with as many steps as were counted."""
    given = iter(counts)

    def run(cond, body, carry):
        for _ in range(next(given)):
            carry = body(carry)
        return carry

    return run


def both(of):
    """A loss by ``while_loop`` and written out, its symbols, and a point."""
    counts = []
    value = of.loss(np, python(counts), *of.at)
    xs = of.symbols()
    ours = of.loss(sd, lambda c, b, i: sd.while_loop(c, b, i, max_steps=50), *xs)
    return ours, of.loss(sd, unrolled(counts), *xs), xs, value, counts


@EACH
def test_values_are_those_of_the_loop_in_python(of):
    ours, other, xs, value, counts = both(of)
    assert tuple(counts) == of.steps
    np.testing.assert_allclose(nm.lower(ours, xs)(*of.at), value, rtol=1e-13)
    agree([ours], [other], xs, of.at)


def ways(f, xs, order):
    """Derivatives of an order along directions: reverse, forward, and forward over reverse."""
    rng = np.random.default_rng(1)
    return along(f, xs, [sd.constant(rng.uniform(-1, 1, x.shape)) for x in xs], order)


@EACH
@pytest.mark.parametrize("order", [1, 2, 3])
def test_derivatives_are_those_of_the_steps_written_out(of, order):
    ours, other, xs, _, _ = both(of)
    agree(ways(ours, xs, order), ways(other, xs, order), xs, of.at, 1e-11)


@pytest.mark.slow
@EACH
@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_jacobians_and_hessians(of, mode):
    """Batches of cotangents, and of tangents, go through the loop at once."""
    ours, other, xs, _, _ = both(of)
    g, h = sd.grad(ours, xs)[0], sd.grad(other, xs)[0]
    found = [sd.jacobian(g, x, mode=mode) for x in xs]
    agree(found, [sd.jacobian(h, x, mode="reverse") for x in xs], xs, of.at, 1e-11)
    agree([sd.hessian(ours, xs[-1])], [sd.hessian(other, xs[-1])], xs, of.at, 1e-11)


@EACH
def test_a_lowered_function_knows_the_number_backward(of):
    """Forward and backward at one point after the other, of other numbers of steps."""
    ours, other, xs, _, _ = both(of)
    f, wanted = nm.lower(ours, xs), nm.lower(other, xs)
    value, gradient = f.value_and_grad(*of.at)
    expected, slopes = wanted.value_and_grad(*of.at)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    for g, h in zip(gradient, slopes, strict=True):
        np.testing.assert_allclose(g, h, rtol=1e-11, atol=1e-12)
    f.value_and_grad(*[x * 1.1 for x in of.at])
    again, _ = f.value_and_grad(*of.at)
    assert again == value


a, b = sd.symbols("a b")


def root_of(a, start=1, **options):
    return sd.while_loop(
        lambda x: abs(x * x - a) > 1e-12 * a, lambda x: (x + a / x) / 2, start, **options
    )


def test_roots_at_points_of_different_numbers_of_steps():
    root, steps = root_of(a, return_steps=True)
    f = nm.lower([root, steps, *[sd.diff(root, a, k) for k in (1, 2, 3)]], a)
    counts = []
    for at in (2.0, 50.0, 1e6):
        value, count, *slopes = f(at)
        counts.append(count)
        assert isinstance(count, int)
        with mp.workdps(40):
            wanted = [mp.diff(mp.sqrt, at, k) for k in range(4)]
        for found, exact in zip([value, *slopes], wanted, strict=True):
            assert abs(found - float(exact)) <= 1e-9 * abs(float(exact))
    assert counts == sorted(set(counts))


def test_a_batch_has_a_number_of_steps_for_each():
    """Loops that have ended stay as they are."""
    many = sd.symbol("many", 4)
    at = np.array([2.0, 1.0, 50.0, 1e6])
    root, steps = root_of(a, return_steps=True)
    for f in (root, steps, sd.diff(root, a), sd.diff(root, a, 2)):
        found = nm.lower(sd.batch(f, {a: many}), many)(at)
        wanted = [nm.lower(f, a)(x) for x in at.tolist()]
        np.testing.assert_array_equal(found, wanted)
    twice = sd.batch(sd.batch(root * b, {a: many}), {b: sd.symbol("bs", 3)})
    found = nm.lower(twice, [many, sd.symbol("bs", 3)])(at, np.array([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(found, np.outer([1, 2, 3], np.sqrt(at)), rtol=1e-11)
    for mode in ("forward", "reverse"):
        jacobian = sd.jacobian(sd.batch(root * b, {a: many}), [many, b], mode=mode)
        found = nm.lower(jacobian, [many, b])(at, 2.0)
        # From 1 the root of 1 takes no step, whose derivative is 0.
        np.testing.assert_allclose(found[0], np.diag([1, 0, 1, 1] / np.sqrt(at)), rtol=1e-9)
        np.testing.assert_allclose(found[1], np.sqrt(at), rtol=1e-11)


def test_a_batch_that_only_a_part_varies_in():
    """What all loops share is one operand, and its cotangent the sum of theirs."""
    w, starts = sd.symbol("w", (2, 2)), sd.symbol("starts", (3, 2))
    x = sd.symbol("x", 2)
    last = sd.while_loop(lambda c: sd.sum(c * c) > 0.01, lambda c: sd.tanh(w @ c), x)
    f = sd.sum(sd.batch(sd.sum(last**3), {x: starts}))
    at = np.array([[0.3, -0.2], [0.1, 0.4]]), np.array([[0.5, 0.1], [0.0, 0.05], [3.0, -2.0]])
    one = nm.lower(sd.sum(last**3), [w, x])
    rows = [one.value_and_grad(at[0], row) for row in at[1]]
    value, (gw, gx) = nm.lower(f, [w, starts]).value_and_grad(*at)
    np.testing.assert_allclose(value, sum(v for v, _ in rows), rtol=1e-14)
    np.testing.assert_allclose(gw, sum(g[0] for _, g in rows), rtol=1e-13)
    np.testing.assert_allclose(gx, np.stack([g[1] for _, g in rows]), rtol=1e-13)
    rows_of = sd.batch(sd.sum(last**3), {x: starts @ w})
    alone = sd.substitute(sd.sum(last**3), {x: x @ w})
    for mode in ("forward", "reverse"):
        jacobian = nm.lower(sd.jacobian(rows_of, w, mode=mode), [w, starts])(*at)
        wanted = [nm.lower(alone, [w, x]).value_and_grad(at[0], row)[1][0] for row in at[1]]
        np.testing.assert_allclose(jacobian, wanted, rtol=1e-13)
    hessian = nm.lower(sd.hessian(f, w), [w, starts])(*at)
    rows = [nm.lower(sd.hessian(sd.sum(last**3), w), [w, x])(at[0], row) for row in at[1]]
    np.testing.assert_allclose(hessian, sum(rows), rtol=1e-12)


def test_a_loop_in_each_step_of_a_scan():
    """Its number of steps is another one in each, forward, backward and for Hessians."""
    x = sd.symbol("x", 4)
    at = np.array([2.0, 1e6, 1.0, 50.0])
    last, roots = sd.scan(lambda c, v: ((c + root_of(v + c)) / 2,) * 2, 0.5, x)
    loss = last + sd.sum(roots**2)
    c, others = sd.constant(0.5), []
    for k in range(4):
        c = (c + sd.sqrt(x[k] + c)) / 2
        others.append(c)
    other = c + sd.sum(sd.stack(others) ** 2)
    for f in (lambda y: y, lambda y: sd.grad(y, x), lambda y: sd.hessian(y, x)):
        found, wanted = nm.lower(f(loss), x)(at), nm.lower(f(other), x)(at)
        np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-12)


def test_a_scan_in_each_step_of_a_loop():
    x = sd.symbol("x", "n")
    body = lambda c: sd.scan(lambda d, v: (d * a + v, None), c, x)[0] / 4  # noqa: E731
    last = sd.while_loop(lambda c: c > 1, body, b)
    at = [1.2, 20.0, np.array([0.5, 0.1, 0.3])]
    c, steps = b, 0
    value = at[1]
    while value > 1:
        d = value
        for v in at[2]:
            d = d * at[0] + v
        value, steps = d / 4, steps + 1
    y = sd.symbol("y", 3)
    for _ in range(steps):
        d = c
        for k in range(3):
            d = d * a + y[k]
        c = d / 4
    assert steps > 1
    for ours, theirs in (
        (last, c),
        (sd.grad(last, x), sd.grad(c, y)),
        (sd.grad(sd.diff(last, a), x), sd.grad(sd.diff(c, a), y)),
    ):
        found, wanted = nm.lower(ours, [a, b, x])(*at), nm.lower(theirs, [a, b, y])(*at)
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("name", ["n", "steps"])
def test_carries_of_a_length_by_name(name):
    """Also of the name that the number of steps has inside, and in Jacobians, which are batches."""
    x = sd.symbol("x", name)
    last = sd.while_loop(lambda c: sd.sum(c) > 1, lambda c: c * a, x)
    f = nm.lower([sd.sum(last * x), sd.grad(sd.sum(last * x), x)], [a, x])
    for at in (np.array([1.0, 2.0, 4.0]), np.array([3.0])):
        steps = math.ceil(math.log(1 / at.sum(), 0.5))
        value, slope = f(0.5, at)
        np.testing.assert_allclose(value, 0.5**steps * at @ at)
        np.testing.assert_allclose(slope, 2 * 0.5**steps * at)
    for mode in ("forward", "reverse"):
        for y in (last, last**2):
            jacobian = nm.lower(sd.jacobian(sd.jacobian(y, x, mode=mode), a, mode=mode), [a, x])
            wanted = nm.lower(sd.jacobian((x * a * a * a) ** (1 if y is last else 2), x), [a, x])
            slope = 3 if y is last else 6
            at = np.array([1.0, 2.0, 3.0])
            expected = slope / 0.5 * wanted(0.5, at)
            np.testing.assert_allclose(jacobian(0.5, at), expected, rtol=1e-14)
    known = sd.substitute(sd.sum(last * x), {x: sd.symbol("y", 2)})
    np.testing.assert_allclose(nm.interpret(known, {a: 0.5, sd.symbol("y", 2): np.ones(2)}), 1.0)
    length = sd.substitute(sd.sum(last * x), {x: sd.symbol("y", "steps1")})
    assert nm.interpret(length, {a: 0.5, sd.symbol("y", "steps1"): np.ones(2)}) == 1.0


def test_two_loops_of_one_body_have_numbers_of_their_own():
    f = root_of(a) - root_of(b)
    difference = f - sd.substitute(f, {a: b, b: a})
    found = nm.interpret(sd.grad(difference, [a, b]), {a: 2.0, b: 1e6})
    np.testing.assert_allclose(found, [1 / math.sqrt(2), -1e-3], rtol=1e-9)
    assert root_of(a) is root_of(a)


def test_a_limit_that_is_reached_raises():
    last = sd.while_loop(lambda c: c > 0, lambda c: c / 2, a, max_steps=10)
    f = nm.lower(last, a)
    assert f(0.0) == 0
    for run in (
        lambda: f(1.0),
        lambda: nm.interpret(last, {a: 1.0}),
        lambda: sd.evalf(last, 20, {a: 1}),
    ):
        with pytest.raises(RuntimeError, match="still holds after max_steps=10 steps"):
            run()
    exact = sd.while_loop(lambda c: c > 1, lambda c: c - 1, a, max_steps=3, return_steps=True)
    assert nm.interpret(list(exact), {a: 4.0})[1] == 3
    with pytest.raises(RuntimeError, match="max_steps=3"):
        nm.interpret(list(exact), {a: 5.0})
    assert sd.while_loop(lambda c: c > 1, lambda c: c, 0.5, max_steps=0).evalf() == 0.5


def test_bodies_are_not_run_where_the_condition_fails():
    """A singular matrix where the loop ends."""
    m = sd.symbol("m", (2, 2))
    last = sd.while_loop(lambda c: c[0, 0] > 1, lambda c: sd.inv(c), m)
    np.testing.assert_array_equal(nm.lower(last, m)(np.zeros((2, 2))), np.zeros((2, 2)))
    np.testing.assert_allclose(nm.lower(last, m)(2 * np.eye(2)), np.eye(2) / 2)


def test_precision_is_that_of_the_arguments():
    x = sd.symbol("x", 3)
    last = sd.while_loop(lambda c: sd.sum(c) > 1, lambda c: c / 3, x)
    f = nm.lower([last, sd.grad(sd.sum(last**2), x)], x)
    assert {v.dtype for v in f(np.ones(3, np.float32))} == {np.dtype(np.float32)}


def test_digits_to_any_number():
    root = sd.while_loop(lambda x: abs(x * x - a) > 1e-48, lambda x: (x + a / x) / 2, a)
    found = sd.evalf(sd.diff(root, a, 2), 50, {a: 3})
    with mp.workdps(60):
        assert abs(mp.mpf(str(found)) - mp.diff(mp.sqrt, 3, 2)) < mp.mpf(10) ** -40
    with pytest.raises(Unsupported, match="while_loop: whether its condition holds"):
        sd.to_sympy(root)
    with pytest.raises(Unsupported, match="while_loop"):
        sd.sparsity(sd.stack([root]), a)


def test_texts_pickles_and_counts():
    root, steps = root_of(a, return_steps=True)
    assert str(steps).startswith("n\nwhere b[0] = ")
    assert str(root).startswith("b[n]\nwhere b[0] = ")
    assert str(root).split("\n")[-1].startswith("and n is the first k where ")
    assert r"\text{ is the first }" in sd.latex(root)
    for f in (root, sd.diff(root, a, 2), sd.batch(sd.diff(root, a), {a: sd.symbol("many", 3)})):
        assert pickle.loads(pickle.dumps(f)) is f


def test_one_of_the_steps_is_counted():
    """The condition and the body, to count the steps, and the body for what the carry becomes."""
    x, many = sd.symbol("x"), sd.symbol("many", 4)
    holds, step = lambda x: abs(x * x - a) > 1e-12, lambda x: (x + a / x) / 2
    each = sd.count_operations([holds(x), step(x)])
    last, steps = sd.while_loop(holds, step, a, return_steps=True)
    assert sd.count_operations(steps) == each
    assert sd.count_operations(last) == each + sd.count_operations(step(x))
    assert sd.count_operations(sd.batch(steps, {a: many})) == 4 * each


def test_zeros_of_a_mask_meet_no_infinite_slope_outside():
    """Where the loop ignores its start, the infinite slope of that start is ignored."""
    last = sd.while_loop(
        lambda c: c[1] < 2, lambda c: (sd.where(b > 0, c[0] * a, b), c[1] + 1), (sd.sqrt(a), 0)
    )[0]
    pulled = sd.vjp(last, a, 1)
    for slope in (pulled, sd.jvp(last, a, 1), sd.diff(last, a, 2), sd.vjp(pulled, a, 1)):
        assert nm.interpret(slope, {a: 0.0, b: -1.0}) == 0
    np.testing.assert_allclose(nm.interpret(sd.grad(last, a), {a: 4.0, b: 1.0}), 2.5 * 4**1.5)


def test_kinks_raise_inside():
    """The operand that is named is that at the first place."""
    with sd.kinks("raise"):
        last = sd.while_loop(lambda c: c > 0.25, lambda c: sd.maximum(c, a) / 4, b)
        gradient = nm.lower(sd.diff(last, b), [a, b])
        assert gradient(0.5, 4.0) == 1 / 16
        with pytest.raises(NotDifferentiable, match=r"where its operand is 1\.0"):
            gradient(1.0, 4.0)  # in the second step, and then no more
        many = sd.symbol("many", 3)
        batch = nm.lower(sd.batch(sd.diff(last, b), {b: many}), [a, many])
        with pytest.raises(NotDifferentiable, match=r"at element \[2\], where its operand is 1\.0"):
            batch(1.0, np.array([0.25, 0.5, 4.0]))


def test_what_no_step_changes_is_computed_once():
    """Captured formulas are operands, of the loop and of its derivatives alike."""
    w = sd.symbol("w", (3, 3))
    last = sd.while_loop(lambda c: sd.sum(c) > 1, lambda c: sd.tanh((w @ w) @ c), sd.ones(3))
    loops = [y for y in sd.nodes(sd.grad(sd.sum(last), w)) if isinstance(y.op, Sized | Steps)]
    assert loops
    for node in loops:
        assert not [x for part in node.op.inside for x in sd.nodes(part) if x is w]
        assert any(x.shape == (3, 3) and x.args for x in node.args)


REFUSED = {
    "another shape": (
        lambda: sd.while_loop(lambda c: c[0] > 0, lambda c: c[:2], sd.symbol("v", 3)),
        ShapeError,
        r"while_loop: the carry has shape \(3,\), body returned \(2,\)",
    ),
    "another structure": (
        lambda: sd.while_loop(lambda c: c[0] > 0, lambda c: c[0], (a, b)),
        TypeError,
        r"while_loop: the carry is \(shape \(\), shape \(\)\), body returned shape \(\)",
    ),
    "a number for a condition": (
        lambda: sd.while_loop(lambda c: c, lambda c: c, a),
        TypeError,
        r"cond returned numbers of shape \(\); expected one condition",
    ),
    "many conditions": (
        lambda: sd.while_loop(lambda c: c > 0, lambda c: c, sd.symbol("v", 3)),
        TypeError,
        r"cond returned conditions of shape \(3,\); expected one condition",
    ),
    "no condition": (
        lambda: sd.while_loop(lambda c: None, lambda c: c, a),
        TypeError,
        "cond returned None",
    ),
    "an integer for a carry": (
        lambda: sd.while_loop(lambda c: c > 0, lambda c: c, sd.symbol("k", dtype=int)),
        TypeError,
        "while_loop: the carry is int; a carry is real",
    ),
    "a limit that is none": (
        lambda: sd.while_loop(lambda c: c > 0, lambda c: c, a, max_steps=1.5),
        ValueError,
        r"max_steps=1\.5 is not a number of steps",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_refused(name):
    call, error, text = REFUSED[name]
    with pytest.raises(error, match=text):
        call()


STEPS = (
    *(lambda c, p: c / 2, lambda c, p: sd.sin(c) - p / 8, lambda c, p: c - p * c / 4),
    *(lambda c, p: c / (1 + c * c) - 0.05, lambda c, p: sd.where(c > p, c / 3, c - 0.25)),
)


@pytest.mark.slow
@given(st.lists(st.sampled_from(STEPS), min_size=1, max_size=3), st.integers(0, 40))
@settings(sample(40), deadline=None)
def test_random_loops_are_their_bodies_called_step_by_step(parts, place):
    """Bit by bit; and their derivatives near those of the loop that is written out."""

    def body(c):
        for part in parts:
            c = part(c, b)
        return c

    start = 0.3 + place / 8
    last, steps = sd.while_loop(lambda c: c > 0.25, body, a, max_steps=500, return_steps=True)
    x = sd.symbol("x")
    step = nm.lower(body(x), [x, b])
    c, count = start, 0
    while c > 0.25 and count < 500:
        c, count = step(c, 0.5), count + 1
    if count == 500:
        return
    value, found = nm.lower([last, steps], [a, b])(start, 0.5)
    assert (value, found) == (c, count)
    y = a
    for _ in range(min(count, 30)):
        y = body(y)
    if count <= 30:
        agree(ways(last, [a, b], 2), ways(y, [a, b], 2), [a, b], [start, 0.5], 1e-9)


def test_jax_says_the_same():
    """Values and forward derivatives, which JAX has: backward it refuses."""
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    import jax.numpy as jnp

    for of in ALL:
        ours, _, xs, _, _ = both(of)
        at = [jnp.asarray(x, float) for x in of.at]
        vs = [jnp.cos(jnp.arange(x.size, dtype=float)).reshape(x.shape) for x in at]

        def loss(*values, of=of):
            return of.loss(jnp, jax.lax.while_loop, *values)

        value, tangent = jax.jvp(loss, at, vs)
        found = nm.interpret(
            [ours, sd.jvp(ours, xs, list(map(sd.constant, map(np.asarray, vs))))],
            dict(zip(xs, of.at, strict=True)),
        )
        np.testing.assert_allclose(found[0], value, rtol=1e-12, err_msg=of.name)
        np.testing.assert_allclose(found[1], tangent, rtol=1e-10, err_msg=of.name)
