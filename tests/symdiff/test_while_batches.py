"""Batches of while loops are one loop, in which those that have ended stay as they are.

Each loop by itself is the oracle: counted and run in Python, and its derivatives those of as many
steps written out.
"""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import numeric as nm
import symdiff as sd
from symdiff.graph.node import intern_op
from symdiff.interchange import pickling
from symdiff.transforms.sized import Sized
from tests.support.budget import sample

a, b = sd.symbols("a b")

# Elementwise steps whose bits do not depend on what computes them, nor do those of any of them
# after another: a root of a root alone would be a power, of which libm and NumPy differ by a bit.
STEPS = (
    *(lambda c, p: c / 2, lambda c, p: c - p * c / 4, lambda c, p: c * c / (1 + c) - p / 8),
    *(lambda c, p: sd.sqrt(c + 2) - 1.5, lambda c, p: sd.where(c > p, c / 3, c - 0.25)),
)


def written_out(step, c, count):
    for _ in range(count):
        c = step(c)
    return c


def path_of(holds, step, c):
    path = [c]
    while holds(c) and len(path) <= 200:
        c = step(c)
        path.append(c)
    return path


def alone(f, xs, *rows):
    """What a formula of xs is for each element of rows, one after the other."""
    function = nm.lower(f, xs)
    return [function(*row) for row in zip(*rows, strict=True)]


@given(
    st.lists(st.sampled_from(STEPS), min_size=1, max_size=3),
    st.lists(st.tuples(st.integers(0, 24), st.integers(0, 6)), max_size=5),
    st.booleans(),
)
@settings(sample(30), deadline=None)
def test_random_batches_are_their_loops(parts, places, named):
    """Up to rounding: with other symbols, a product of three factors may have another order."""

    def body(c, p):
        for part in parts:
            c = part(c, p)
        return c

    starts = np.array([place / 8 for place, _ in places])
    params = np.array([place / 4 for _, place in places])
    x, p = sd.symbols("x p")
    step, holds = nm.lower(body(x, p), [x, p]), 0.25
    paths = [
        path_of(lambda c: c > holds, lambda c, p=p: step(c, p), c)
        for c, p in zip(starts.tolist(), params.tolist(), strict=True)
    ]
    counts = [len(path) - 1 for path in paths]
    if 200 in counts:
        return
    # No loop ends or goes on by rounding alone.
    assume(all(abs(c - holds) > 1e-9 for path in paths for c in path))
    length = "many" if named else len(places)
    starting, given = sd.symbol("starting", length), sd.symbol("given", length)
    last, steps = sd.while_loop(
        lambda c: c > holds, lambda c: body(c, b), a, max_steps=200, return_steps=True
    )
    slopes = sd.grad(last, [a, b])
    both = {a: starting, b: given}
    # The derivative of the batch, and the batch of the derivative.
    lasts, numbers, *batches = sd.batch([last, steps, *slopes], both)
    outputs = [lasts, numbers, *sd.grad(sd.sum(lasts), [starting, given]), *batches]
    values = nm.lower(outputs, [starting, given])(starts, params)
    np.testing.assert_allclose(values[0], [path[-1] for path in paths], rtol=1e-13, atol=1e-15)
    assert values[1].tolist() == counts
    for k in range(2):
        wanted = []
        for (c, q), count in zip(zip(starts, params, strict=True), counts, strict=True):
            path = written_out(lambda c: body(c, b), a, count)
            wanted.append(nm.interpret(sd.grad(path, [a, b])[k], {a: c, b: q}))
        np.testing.assert_allclose(values[2 + k], wanted, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(values[4 + k], wanted, rtol=1e-12, atol=1e-13)


def spiral(c, w):
    return sd.stack([sd.sin(w @ c)[0] * c[1], c[1] / 2 + c[0] ** 2 / 8])


COUNTS = [0, 4, 1, 7]


def cases(length):
    """A loop over vectors, its batch by starts and by a matrix that all or each have."""
    x, w = sd.symbol("x", 2), sd.symbol("w", (2, 2))
    last = sd.while_loop(lambda c: c[1] > 0.1, lambda c: spiral(c, w), x)
    return x, w, last, sd.symbol("starts", (length, 2)), sd.symbol("ws", (length, 2, 2))


AT = (
    np.array([[0.5, 0.05], [1.0, 0.6], [0.2, 0.18], [-0.4, 4.0]]),
    np.random.default_rng(3).uniform(-1, 1, (4, 2, 2)),
)


def test_the_loops_of_the_cases_end_after_different_numbers_of_steps():
    x, w, _, _, _ = cases(4)
    step = nm.lower(spiral(x, w), [x, w])
    paths = [
        path_of(lambda c: c[1] > 0.1, lambda c, m=m: step(c, m), c)
        for c, m in zip(*AT, strict=True)
    ]
    found = [len(path) - 1 for path in paths]
    assert found == COUNTS


@pytest.mark.parametrize("length", [4, "n"])
@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_derivatives_of_each_order_and_mode(length, order, mode):
    x, w, last, starts, ws = cases(length)
    rng = np.random.default_rng(5)
    vs = rng.uniform(-1, 1, (4, 2)), rng.uniform(-1, 1, (4, 2, 2))
    v, u = sd.symbol("v", 2), sd.symbol("u", (2, 2))
    many = {x: starts, w: ws, v: sd.symbol("vs", starts.shape), u: sd.symbol("us", ws.shape)}

    def along(f, xs, directions):
        if mode == "forward":
            return sd.jvp(f, xs, directions)
        slopes = sd.grad(sd.sum(f), xs)
        return sd.stack([sd.sum(g * d) for g, d in zip(slopes, directions, strict=True)])

    outside = sd.batch(last, {x: starts, w: ws})
    inside, wanted = last, [written_out(lambda c: spiral(c, w), x, n) for n in COUNTS]
    for _ in range(order):
        outside = along(outside, [starts, ws], [many[v], many[u]])
        inside = along(inside, [x, w], [v, u])
        wanted = [along(f, [x, w], [v, u]) for f in wanted]
    rows = [
        nm.lower(f, [x, w, v, u])(*row)
        for f, row in zip(wanted, zip(*AT, *vs, strict=True), strict=True)
    ]
    symbols = [starts, ws, many[v], many[u]]
    batch = nm.lower(sd.batch(inside, many), symbols)(*AT, *vs)
    np.testing.assert_allclose(batch, rows, rtol=1e-10, atol=1e-12)
    found = nm.lower(outside, symbols)(*AT, *vs)
    total = rows if mode == "forward" else sum(rows)
    np.testing.assert_allclose(found, total, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_jacobians_of_batches_are_those_of_their_loops(mode):
    x, w, last, starts, _ = cases("n")
    batch = sd.batch(last, {x: starts})
    found = nm.lower([sd.jacobian(batch, w, mode=mode)], [starts, w])(AT[0], AT[1][0])[0]
    wanted = alone(sd.jacobian(last, w), [x, w], AT[0], [AT[1][0]] * 4)
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-13)
    hessian = nm.lower(sd.hessian(sd.sum(batch), w), [starts, w])(AT[0], AT[1][0])
    wanted = sum(alone(sd.hessian(sd.sum(last), w), [x, w], AT[0], [AT[1][0]] * 4))
    np.testing.assert_allclose(hessian, wanted, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("length", [0, "n"])
def test_batches_of_no_loops(length):
    x, w, last, starts, ws = cases(length)
    batch = sd.batch([last, *[sd.grad(sd.sum(last), y) for y in (x, w)]], {x: starts, w: ws})
    empty = np.zeros((0, 2)), np.zeros((0, 2, 2))
    found = nm.lower([*batch, sd.grad(sd.sum(batch[0]), ws)], [starts, ws])(*empty)
    assert [x.shape for x in found] == [(0, 2), (0, 2), (0, 2, 2), (0, 2, 2)]


@pytest.mark.parametrize("counts", [(0, 0, 0), (2, 0, 0), (0, 3, 1)])
def test_loops_that_have_ended_compute_nothing_that_fails(counts):
    """Neither singular matrices where a loop ends, nor where it has no step; without warnings."""
    m, s = sd.symbol("m", (2, 2)), sd.symbol("s", (2, 2))
    less = sd.constant(np.diag([1.0, 0.0]))
    last = sd.while_loop(lambda c: c[0, 0] > 0, lambda c: sd.inv(sd.inv(c @ s)) - less, m)
    at = np.stack([np.diag([count, 2.0]) for count in counts])
    scales = np.stack([np.eye(2) * (count > 0) for count in counts])
    many, each = sd.symbol("many", (3, 2, 2)), sd.symbol("each", (3, 2, 2))
    slopes = sd.grad(sd.sum(last), [m, s])
    batch = sd.batch([last, *slopes], {m: many, s: each})
    f = nm.lower([*batch, *sd.grad(sd.sum(batch[0]), [many, each])], [many, each])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = f(at, scales)
        wanted = alone([last, *slopes], [m, s], at, scales)
    assert [x[0, 0] for x in found[0]] == [0, 0, 0]
    for k, value in enumerate(found):
        rows = [row[k if k < 3 else k - 2] for row in wanted]
        np.testing.assert_allclose(value, rows, rtol=1e-12)


def test_what_is_infinite_behind_the_end_goes_nowhere():
    """The slope of the root of the carry at which a loop ends, and the root of a negative one."""
    step = lambda c: sd.sqrt(c) - b  # noqa: E731
    last = sd.while_loop(lambda c: c > 0, step, a)
    many, each = sd.symbol("many", 5), sd.symbol("each", 5)
    at = np.array([0.0, -2.0, 1.0, 4.0, 81.0]), np.array([0.5, 0.5, 1.0, 3.0, 2.75])
    outputs = [last, *sd.grad(last, [a, b]), sd.diff(last, a, 2), sd.diff(last, a, b)]
    batch = sd.batch(last, {a: many, b: each})
    outside = [*sd.grad(sd.sum(batch), [many, each]), sd.jvp(batch, many, sd.ones(5))]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wanted = np.array(alone(outputs, [a, b], *at)).T
        found = nm.lower([*sd.batch(outputs, {a: many, b: each}), *outside], [many, each])(*at)
    assert np.isfinite(wanted).all()
    np.testing.assert_allclose(found[:5], wanted, rtol=1e-14)
    np.testing.assert_allclose(found[5:], [wanted[1], wanted[2], wanted[1]], rtol=1e-14)


def test_a_batch_of_batches():
    last, steps = sd.while_loop(lambda c: c > 0.25, lambda c: c / 2 - b / 64, a, return_steps=True)
    starts, params = np.array([0.1, 3.0, 0.2, 9.0, 0.5]), np.array([0.5, 1.0])
    many, others = sd.symbol("many", "n"), sd.symbol("others", "m")
    outputs = [last, steps, *sd.grad(last, [a, b]), sd.diff(last**2, b, 2)]
    # Of some rows no loop has a step.
    for first, second in (({a: many}, {b: others}), ({b: others}, {a: many})):
        twice = sd.batch(sd.batch(outputs, first), second)
        for some in (starts, starts[:1], starts[[0, 2]], starts[:0]):
            found = nm.lower(list(twice), [many, others])(some, params)
            for k, f in enumerate(outputs):
                alone_at = nm.lower(f, [a, b])
                wanted = np.array([[alone_at(c, q) for c in some.tolist()] for q in params])
                value = found[k] if first == {a: many} else found[k].T
                np.testing.assert_allclose(value, wanted.reshape(2, len(some)), rtol=1e-13)


def test_loops_inside_of_loops():
    """The inner ones, too, take other numbers of steps; from where the outer ends, no end of it."""

    def body(c):
        holds = lambda d: (d * d < 16 * c) | (c >= 8)  # noqa: E731
        return sd.while_loop(holds, lambda d: d + c * b, c, max_steps=30) - c / 4

    last, steps = sd.while_loop(
        lambda c: (c < 8) & (c > 0), body, a, max_steps=30, return_steps=True
    )
    many, starts = sd.symbol("many", "n"), np.array([1.0, 9.0, 0.5, 4.0, -1.0, 0.0])
    outputs = [last, steps, *sd.grad(last, [a, b]), sd.diff(last, b, 2)]
    wanted = [np.array(x) for x in zip(*alone(outputs, [a, b], starts, [0.25] * 6), strict=True)]
    assert len({*wanted[1].tolist()}) > 2
    batch = sd.batch(outputs, {a: many})
    found = nm.lower(list(batch), [many, b])(starts, 0.25)
    for value, expected in zip(found, wanted, strict=True):
        np.testing.assert_allclose(value, expected, rtol=1e-12)
    slope = nm.lower(sd.grad(sd.sum(batch[0]), b), [many, b])(starts, 0.25)
    np.testing.assert_allclose(slope, wanted[3].sum(), rtol=1e-12)


def test_a_limit_holds_for_each_loop():
    last = sd.while_loop(lambda c: c > 1, lambda c: c - 1, a, max_steps=3)
    f = nm.lower(sd.batch(last, {a: sd.symbol("many", "n")}), sd.symbol("many", "n"))
    assert f(np.array([4.0, 0.5, 2.0])).tolist() == [1, 0.5, 1]
    with pytest.raises(RuntimeError, match="still holds after max_steps=3 steps"):
        f(np.array([0.5, 5.0, 2.0]))


def loops_in(f):
    return [x for x in sd.nodes(f) if isinstance(x.op, Sized)]


def test_one_loop_serves_the_batch():
    """It is of as many steps as the longest has, and so are its derivatives."""
    many, at = sd.symbol("many", 3), np.array([0.5, 2.0, 2.5])
    last, steps = sd.while_loop(lambda c: c > 1, lambda c: c * c * b / 3, a, return_steps=True)
    longest = max(alone(steps, [a, b], at, [0.7] * 3))
    assert longest == 2
    for f in (last, sd.diff(last, b, 2), sd.grad(last * b, [b])[0], sd.vjp(sd.diff(last, b), a, 1)):
        batch = sd.batch(f, {a: many})
        assert loops_in(batch)
        for x in loops_in(batch):
            assert nm.interpret(x.args[0], {many: at, b: 0.7}) == longest
        assert pickle.loads(pickle.dumps(batch)) is batch
        again = sd.batch(batch, {b: sd.symbol("bs", 2)})
        assert all(x.args[0].shape == () for x in loops_in(again))


def test_a_pickle_from_elsewhere_knows_its_batches(monkeypatch):
    """What an op is batched by goes with it, where no other op of the same loop is alive."""

    def apart(inner, symbols, own, hold=None, state=None):
        return intern_op((Sized, object()), lambda: Sized(inner, tuple(symbols), own, hold, state))

    last = sd.while_loop(lambda c: c > 1, lambda c: sd.cos(c) * b, a)
    many, at = sd.symbol("many", 2), np.array([3.0, 0.5])
    for f in (last, sd.diff(last, b), sd.batch(last, {b: sd.symbol("bs", 1)})):
        text = pickle.dumps(f)
        with monkeypatch.context() as patch:
            patch.setattr(pickling, "sized_op", apart)
            found = pickle.loads(text)
        assert found is not f
        batch = sd.batch(found, {a: many})
        assert all(x.args[0].shape == () for x in loops_in(batch))
        xs = [x for x in sd.free_symbols(f) if x is not a] if f is not last else [b]
        values = [np.full(x.shape, 0.7) for x in xs]
        wanted = [nm.lower(f, [a, *xs])(x, *values) for x in at.tolist()]
        np.testing.assert_allclose(nm.lower(batch, [many, *xs])(at, *values), wanted, rtol=1e-15)


def test_functions_of_the_users_take_one_loop_after_the_other():
    sine = sd.custom(np.sin, lambda g, out, c: g * sd.cos(c), name="sine")
    last, steps = sd.while_loop(lambda c: c > 0.5, lambda c: sine(c) * b, a, return_steps=True)
    many, at = sd.symbol("many", 4), np.array([0.7, 0.2, 2.5, 1.5])
    outputs = [last, steps]
    found = nm.lower(list(sd.batch(outputs, {a: many})), [many, b])(at, 0.9)
    wanted = alone(outputs, [a, b], at, [0.9] * 4)
    assert len({row[1] for row in wanted}) > 2
    np.testing.assert_allclose(np.array(found).T, wanted, rtol=1e-14)


def test_jax_says_the_same():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    import jax.numpy as jnp

    _, w, last, starts, ws = cases(4)
    x = sd.symbol("x", 2)
    batch = sd.batch(last, {x: starts, w: ws})

    def loop(c, m):
        def step(c):
            return jnp.stack([jnp.sin(m @ c)[0] * c[1], c[1] / 2 + c[0] ** 2 / 8])

        return jax.lax.while_loop(lambda c: c[1] > 0.1, step, c)

    vs = [np.cos(np.arange(v.size)).reshape(v.shape) for v in AT]
    f = jax.vmap(loop)
    value, slope = jax.jvp(f, AT, tuple(vs))
    _, second = jax.jvp(lambda *at: jax.jvp(f, at, tuple(vs))[1], AT, tuple(vs))
    tangent = sd.jvp(batch, [starts, ws], list(map(sd.constant, vs)))
    twice = sd.jvp(tangent, [starts, ws], list(map(sd.constant, vs)))
    found = nm.lower([batch, tangent, twice], [starts, ws])(*AT)
    for mine, theirs in zip(found, (value, slope, second), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-11, atol=1e-13)
