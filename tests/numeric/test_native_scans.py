"""Scans in machine code: each step is what interpret makes of the carry before it."""

import functools
import gc
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import numeric as nm
import symdiff as sd
from numeric.lowering.loops import Loop
from numeric.lowering.native.scans import NativeScan
from symdiff.transforms.scans import Scan
from tests.support.budget import sample
from tests.support.recurrences import ALL

DTYPES = pytest.mark.parametrize("dtype", [np.float64, np.float32])
SOME = [of for of in ALL if of.name in {"lotka_volterra", "garch", "masked", "fibonacci", "gru"}]
a, s = sd.symbol("a"), sd.symbol("s")


@pytest.fixture(autouse=True)
def ran(monkeypatch):
    """Of each scan that a test calls, in a Function that is native, whether it was machine code."""
    found, call = [], NativeScan.__call__

    def counted(self, *args):
        path = call(self, *args)
        found.append(path is not None)
        return path

    monkeypatch.setattr(NativeScan, "__call__", counted)
    return found


def near(found, expected, dtype, times=1000):
    """Assert that arrays are equal but for roundings, nan and inf included."""
    assert (found.dtype, found.shape) == (dtype, expected.shape)
    scale = np.max(np.abs(expected[np.isfinite(expected)]), initial=1.0)
    np.testing.assert_allclose(found, expected, rtol=0, atol=times * np.finfo(dtype).eps * scale)


def is_stepwise(node, env, F, dtype, times=1000):
    """Assert that the trajectory of a scan goes from each carry where ``interpret`` does.

    A loop's roundings grow from step to step; those of a step do not.
    """
    op = node.op
    path = F(*env.values())
    init, *rest = nm.interpret(list(node.args), env)
    xs, params = rest[: len(op.xs)], rest[len(op.xs) :]
    steps = list(range(len(path) - 1))
    before, after = (1, 0) if op.reverse else (0, 1)
    near(path[-1 if op.reverse else 0], np.asarray(init), dtype, 0)
    for t in steps:
        values = dict(zip(op.xs, [x[t] for x in xs], strict=True))
        values.update(zip(op.params, params, strict=True))
        wanted = nm.interpret(op.body, {op.carry: path[t + before], **values})
        near(path[t + after], np.asarray(wanted), dtype, times)


def scan_of(*outputs):
    (node,) = [y for y in sd.nodes(outputs) if isinstance(y.op, Scan)]
    return node


ONE = (sd.sin, sd.tanh, abs, lambda c: sd.exp(-abs(c)), lambda c: 1 / (1 + c**2), lambda c: -c / 3)
TWO = (
    *(lambda c, d: c + d, lambda c, d: c * d, lambda c, d: c / (1 + d**2), sd.maximum),
    *(lambda c, d: sd.where(c > d, c, sd.sin(d)), lambda c, d: sd.sqrt(abs(c - d))),
)


@st.composite
def bodies(draw):
    """A body over a carry of three numbers, some of which take each other's places."""
    places = st.integers(0, 20)
    plan = draw(st.lists(st.tuples(st.integers(0, 11), places, places), min_size=1, max_size=9))
    taken = draw(st.tuples(places, places, places))

    def body(c, x):
        made = [c[2], c[0], c[1], x[0], x[1], a]
        for kind, i, j in plan:
            one, other = made[i % len(made)], made[j % len(made)]
            made.append(ONE[kind](one) if kind < 6 else TWO[kind - 6](one, other))
        c = sd.stack([made[k % len(made)] for k in taken])
        return c, c

    return body


ORDERS = {
    "in C order": lambda x: x,
    "in Fortran order": np.asfortranarray,
    "backwards": lambda x: x[::-1, ::-1].copy()[::-1, ::-1],
    "with gaps": lambda x: np.repeat(np.repeat(x, 2, axis=0), 3, axis=1)[::2, ::3],
    "one row for all": lambda x: np.broadcast_to(x[:1], x.shape) if len(x) else x,
}


@DTYPES
def test_random_bodies_step_as_interpreted_ones_do(dtype, ran):
    @sample(25)
    @given(bodies(), st.booleans(), st.sampled_from([0, 1, 2, 7]), st.sampled_from([*ORDERS]))
    def run(body, reverse, n, order):
        x, c = sd.symbol("x", ("n", 2)), sd.symbol("c", 3)
        last, ys = sd.scan(body, c, x, reverse=reverse)
        found = [y for y in sd.nodes([last, ys]) if isinstance(y.op, Scan)]
        if not found:  # nothing in the body depends on the carry
            return
        rng = np.random.default_rng(n)
        at = [0.75, rng.uniform(-1, 2, 3), ORDERS[order](rng.uniform(-1, 2, (n, 2)).astype(dtype))]
        env = dict(zip([a, c, x], [np.asarray(v, dtype)[()] for v in at[:2]] + at[2:], strict=True))
        F = nm.lower(found[0], [a, c, x], backend="native")
        is_stepwise(found[0], env, F, dtype)

    run()
    assert set(ran) == {True}


@pytest.mark.slow
@DTYPES
@pytest.mark.parametrize("of", SOME, ids=lambda of: of.name)
def test_cotangents_are_loops_too(of, dtype, ran):
    xs, at = of.symbols(), [np.asarray(v, dtype)[()] for v in of.point()]
    loss = of.loss(sd.scan, *xs)
    F = nm.lower(loss, xs, backend="native")
    value, gradient = F.value_and_grad(*at)
    env = dict(zip(xs, of.point(), strict=True))
    wanted = nm.interpret([loss, *sd.grad(loss, xs)], env)
    for one, other in zip((value, *gradient), wanted, strict=True):
        near(np.asarray(one, dtype), np.asarray(other), dtype, 1e4)
    assert ran == [True, True]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("n", [0, 1, 2, 4097])
def test_each_row_is_taken_once_and_written_to_its_place(n, reverse, ran):
    """Whole numbers are exact: a step too few or one too far shows in the last bit."""
    x = sd.symbol("x", "n")
    (last, _), ys = sd.scan(
        lambda c, x: ((c[0] + x * c[1], c[1] + 1), c[0]), (s, 1.0), x, reverse=reverse
    )
    F = nm.lower([last, ys], [s, x], backend="native")
    rows = np.arange(n, dtype=float) % 7
    c, wanted = 3.0, []
    for k, row in enumerate(rows[::-1] if reverse else rows):
        wanted.append(c)
        c += row * (k + 1)
    value, found = F(3.0, rows)
    assert value == c
    np.testing.assert_array_equal(found, wanted[::-1] if reverse else wanted)
    assert ran == [True]


def test_parts_of_the_carry_that_change_places(ran):
    """No part is overwritten before all are computed."""
    (x, y, z), _ = sd.scan(lambda c, _: ((c[1], c[2], c[0] + c[1]), None), (s, a, 1.0), length=5)
    F = nm.lower([x, y, z], [s, a], backend="native")
    c = (5.0, 7.0, 1.0)
    for _ in range(5):
        c = c[1], c[2], c[0] + c[1]
    assert F(5.0, 7.0) == c
    assert ran == [True]


@DTYPES
def test_nan_and_infinities_go_on(dtype, ran):
    """1/0, the root of -1, and what a selection leaves out of them."""
    x = sd.symbol("x", 6)
    path = sd.scan(lambda c, x: (sd.where(x < 9, sd.sqrt(c) / x, 4),) * 2, s, x)[1]
    F = nm.lower(path, [s, x], backend="native")
    found = F(dtype(4), np.array([2, 0, 10, -0.5, -1, 10], dtype))
    np.testing.assert_array_equal(found, [1, np.inf, 4, -4, np.nan, 4])
    assert ran == [True]


def test_masked_steps_have_finite_derivatives(ran):
    z = sd.symbol("z", "n")
    last = sd.scan(lambda c, z: (sd.where(z > 0, a * c + sd.sqrt(z), c), None), s, z)[0]
    F = nm.lower(last, [a, s, z], backend="native")
    value, gradient = F.value_and_grad(2.0, 3.0, np.array([4.0, -1, 0, 1]))
    assert value == (2 * 3 + 2) * 2 + 1
    np.testing.assert_array_equal(gradient[2], [0.5, 0, 0, 0.5])
    assert ran == [True, True]


@pytest.mark.slow
def test_batches_and_loops_inside_of_loops(ran):
    x, m, t = sd.symbol("x", ("n", 3)), sd.symbol("m", (4, "n")), sd.symbol("t", 4)
    loss = sd.scan(lambda c, x: (sd.sin(a * c) + x, None), s, m[0])[0]

    def outer(c, row):
        return sd.scan(lambda d, v: (sd.sin(d * v + c), None), c, row)[0] * a, c

    for f, xs in (
        (sd.batch(loss, {s: t}), [a, t, m]),
        (sd.scan(outer, s, x)[0], [a, s, x]),
    ):
        rng = np.random.default_rng(0)
        shapes = [tuple(5 if d == "n" else d for d in y.shape) for y in xs]
        env = {y: rng.uniform(-1, 1, shape) for y, shape in zip(xs, shapes, strict=True)}
        F = nm.lower(f, xs, backend="native")
        value, wanted = F(*env.values()), nm.interpret(f, env)
        near(np.asarray(value), np.asarray(wanted), float)
        g = sd.grad(sd.sum(f), xs)
        G = nm.lower(g, xs, backend="native")
        for one, other in zip(G(*env.values()), nm.interpret(g, env), strict=True):
            near(np.asarray(one), np.asarray(other), float)
    assert len(ran) > 5
    assert all(ran)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("order", ORDERS)
def test_rows_lie_in_any_order(order, reverse, ran):
    x, c = sd.symbol("x", ("n", 3)), sd.symbol("c", 3)
    path = sd.scan(lambda c, x: (sd.sin(c) * x + x[::-1],) * 2, c, x, reverse=reverse)[1]
    F = nm.lower(path, [c, x], backend="native")
    given = [np.array([0.5, -1, 2]), ORDERS[order](np.arange(15.0).reshape(5, 3) / 7)]
    near(F(*given), nm.interpret(path, dict(zip([c, x], given, strict=True))), float)
    assert ran == [True]


def test_places_are_numbers(ran):
    k, body = sd.symbol("k", "n", dtype=int), lambda c, i: (c * a + i, None)
    last = sd.scan(body, s, k)[0]
    F, G = (nm.lower(last, [a, s, k], backend=b) for b in ("native", "numpy"))
    assert F(2.0, 1.0, np.array([3, 5])) == (1 * 2 + 3) * 2 + 5
    assert ran == [True]
    power = sd.fori_loop(0, 5, lambda i, c: c * a + i, s)
    assert nm.lower(power, [a, s], backend="native")(2.0, 1.0) == 58
    # A float and an integer are a double, in each step.
    given = np.float32(0.1), np.float32(0.3), np.array([3, 5])
    found, wanted = F(*given), G(*given)
    assert (found, found.dtype) == (wanted, wanted.dtype)


def test_masks_are_asked_whether_they_are_zero(ran):
    """An integer that meets the carry makes a double of a float."""
    k, x = sd.symbol("k", "n", dtype=int), sd.symbol("x", "n")

    def body(c, v):
        c = sd.where(sd.not_equal(v[0], c), c / 3, v[1])
        return c, c

    path = sd.scan(body, s, (k, x))[1]
    F, G = (nm.lower(path, [s, k, x], backend=b) for b in ("native", "numpy"))
    given = np.float32(1), np.array([3, 0, 1, 2**30]), np.full(4, 0.1, np.float32)
    found, wanted = F(*given), G(*given)
    np.testing.assert_array_equal(found, wanted)
    assert found.dtype == wanted.dtype
    assert ran == [False]


def test_two_precisions_are_numpys(ran):
    x = sd.symbol("x", 3)
    path = sd.scan(lambda c, x: (c * a + x,) * 2, s, x)[1]
    F, G = (nm.lower(path, [a, s, x], backend=b) for b in ("native", "numpy"))
    given = np.float32(0.1), np.float64(1), np.ones(3, np.float32)
    found, wanted = F(*given), G(*given)
    np.testing.assert_array_equal(found, wanted)
    assert found.dtype == wanted.dtype
    assert ran == [False]


def test_what_c_lacks_is_numpys_and_explain_says_so():
    def told(body, init=s, **options):
        F = nm.lower(sd.scan(lambda c, _: (body(c), None), init, length=3)[0], [s], **options)
        value = F(1.5)
        line = next(x for x in F.explain().split("\n") if x.startswith("  scan"))
        return value, line

    for body in (
        sd.sin,
        sd.gamma,
        lambda c: sd.tanh(c) + sd.sum(sd.solve(sd.eye(2) + c, sd.ones(2))),
    ):
        one, native = told(body, backend="native")
        other, plain = told(body, backend="numpy")
        np.testing.assert_allclose(one, other, rtol=1e-14)
        assert ("one loop of C" in native) == (body is sd.sin)
        assert "C" not in plain


@pytest.mark.parametrize("name", ["n", "t", "k", "m", "in", "length"])
@pytest.mark.parametrize("size", [(), (2,)], ids=["scalars", "arrays"])
def test_lengths_of_axes_are_no_names_in_c(name, size):
    """A length that the body computes with, called like a variable of the loop, or like nothing."""
    s, v = sd.symbol("s", size), sd.symbol("v", name)

    def body(a, _):
        return a + 0.1 * sd.sum(sd.zeros(name) + sd.sum(a)), None

    def twice(c, _):
        return sd.scan(body, c, length=2)[0], None

    start, values = np.ones(size), np.ones(4)
    for last in (sd.scan(body, s, length=3)[0], sd.scan(twice, s, length=3)[0]):
        f = sd.sum(last) + sd.sum(v)
        F = nm.lower(f, [s, v], backend="native")
        expected = nm.interpret(f, {s: start, v: values})
        assert F(start, values) == pytest.approx(expected, rel=1e-13)
        expected = nm.interpret(sd.grad(f, s), {s: start, v: values})
        assert F.grad(start, values, wrt=s) == pytest.approx(expected, rel=1e-13)


def test_a_program_of_scalars_computes_with_a_length():
    s, v = sd.symbol("s"), sd.symbol("v", "n")
    f = s
    for _ in range(60):
        f = sd.sin(f + 0.1 * sd.sum(sd.zeros("n") + s))
    F = nm.lower(f, [s, v], backend="native")
    assert F(1.0, np.ones(4)) == pytest.approx(nm.interpret(f, {s: 1.0, v: np.ones(4)}), rel=1e-13)


def test_the_text_has_no_name_of_users():
    name = sd.symbol("größe")
    last = sd.scan(lambda c, _: (c * name, None), s, length=3)[0]
    F = nm.lower(last, [s, name], backend="native")
    assert F(2.0, 3.0) == 54
    (loop,) = [x for x in F._programs.emitter.namespace.values() if isinstance(x, Loop)]
    assert loop.native.text().isascii()


@pytest.mark.slow
def test_pickles_compile_again_and_equal_bodies_are_one_library(ran):
    path = sd.scan(lambda c, _: (sd.tanh(c * a), None), s, length=9)[0]
    F = nm.lower(path, [a, s], backend="native")
    G = pickle.loads(pickle.dumps(F))
    gc.collect()
    assert F(0.5, 0.25) == G(0.5, 0.25)
    assert ran == [True, True]


def test_backends_of_one_loop_do_not_mix(ran):
    path = sd.scan(lambda c, _: (sd.sin(c) * a, None), s, length=9)[0]
    plain, fast = (nm.lower(path, [a, s], backend=b) for b in ("numpy", "native"))
    wanted = plain(0.5, 0.25)
    assert not ran
    np.testing.assert_allclose(fast(0.5, 0.25), wanted, rtol=1e-14)
    assert ran


@DTYPES
@pytest.mark.parametrize("name", ["lotka_volterra", "garch", "masked", "fibonacci", "rnn"])
@pytest.mark.parametrize("checkpoint", [1, 2, 50])
def test_folds_are_loops_too(name, checkpoint, dtype, ran):
    (of,) = [of for of in ALL if of.name == name]
    xs, at = of.symbols(), [np.asarray(v, dtype)[()] for v in of.point()]
    loss = of.loss(functools.partial(sd.scan, checkpoint=checkpoint), *xs)
    F = nm.lower(loss, xs, backend="native")
    value, gradient = F.value_and_grad(*at)
    plain = of.loss(sd.scan, *xs)
    env = dict(zip(xs, of.point(), strict=True))
    wanted = nm.interpret([plain, *sd.grad(plain, xs)], env)
    for one, other in zip((value, *gradient), wanted, strict=True):
        near(np.asarray(one, dtype), np.asarray(other), dtype, 1e4)
    assert len(ran) > 1
    assert all(ran)


@DTYPES
@pytest.mark.parametrize("reverse", [False, True])
def test_folds_of_arrays_write_each_row_to_its_place(reverse, dtype, ran):
    """Whole numbers, and a carry whose places are turned around in each step."""
    c, w, x = sd.symbol("c", 80), sd.symbol("w", 80), sd.symbol("x", 7)
    at = [np.arange(80) % 3, np.arange(80) % 2, np.array([1, 2, 0, 1, 1, 3, 1])]
    at = [np.asarray(v, dtype) for v in at]
    found = []
    for checkpoint in (3, False):
        last = sd.scan(
            lambda c, x: (c[::-1] * x + w, None), c, x, reverse=reverse, checkpoint=checkpoint
        )[0]
        F = nm.lower(sd.sum(last[::3] ** 2), [c, w, x], backend="native")
        found.append(F.grad(*at))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
    assert all(ran)


# Arrays -------------------------------------------------------------------------------------------


@st.composite
def array_bodies(draw):
    """A body over a matrix of 7 rows and 11 columns, what it captures, and a row of x."""
    places = st.integers(0, 30)
    plan = draw(st.lists(st.tuples(st.integers(0, 15), places, places), min_size=1, max_size=7))

    def body(c, x, w, v):
        made = [c, sd.sin(c) * x, c + v[:, None]]
        for kind, i, j in plan:
            one, other = made[i % len(made)], made[j % len(made)]
            made.append(MOVES[kind](one, other, w, v, x))
        return sd.tanh(made[-1]) + c / 4

    return body


MOVES = (
    lambda c, d, w, v, x: c[::-1] * d,
    lambda c, d, w, v, x: sd.concat([c[2:], d[:2]]),
    lambda c, d, w, v, x: sd.concat([d[:, 3:], c[:, :3]], axis=1),
    lambda c, d, w, v, x: sd.reshape(sd.reshape(c, (11, 7)).T, (7, 11)) - d,
    lambda c, d, w, v, x: c @ w.T / 3 + d,
    lambda c, d, w, v, x: (w @ c.T).T / 3,
    lambda c, d, w, v, x: c * sd.tanh(sd.sum(d, axis=1))[:, None],
    lambda c, d, w, v, x: c + sd.tanh(sd.sum(d)) * x,
    lambda c, d, w, v, x: sd.outer(v, c[0]) + d,
    lambda c, d, w, v, x: c @ d.T @ c / 9,
    lambda c, d, w, v, x: sd.einsum("ij,ij,i->ij", c, d, v),
    lambda c, d, w, v, x: sd.where(c > d, sd.exp(-abs(c)), d * x[0]),
    lambda c, d, w, v, x: sd.maximum(c, d[:, ::-1]) + 0.5,
    lambda c, d, w, v, x: sd.broadcast_to(d[3], (7, 11)) * c[0, 0],
    lambda c, d, w, v, x: c / (2 + d**2),
    lambda c, d, w, v, x: sd.sqrt(abs(c)) - v[2] * d,
)


@DTYPES
def test_random_bodies_of_arrays_step_as_interpreted_ones_do(dtype, ran):
    @sample(30)
    @given(array_bodies(), st.booleans(), st.sampled_from([0, 1, 3]))
    def run(body, reverse, n):
        x, c = sd.symbol("x", ("n", 11)), sd.symbol("c", (7, 11))
        w, v = sd.symbol("w", (11, 11)), sd.symbol("v", 7)
        last, _ = sd.scan(lambda c, x: (body(c, x, w, v), None), c, x, reverse=reverse)
        node, xs = scan_of(last), (c, x, w, v)
        rng = np.random.default_rng(n)
        shapes = (7, 11), (n, 11), (11, 11), (7,)
        env = {y: rng.uniform(-1, 1, s).astype(dtype) for y, s in zip(xs, shapes, strict=True)}
        is_stepwise(node, env, nm.lower(node, xs, backend="native"), dtype)

    run()
    assert ran.count(True) > 0.8 * len(ran)


@DTYPES
@pytest.mark.parametrize("h", [3, 16, 21])
def test_networks_and_their_cotangents_are_loops(h, dtype, ran):
    """A network with gates: slices of a product with a captured matrix, and of the carry."""
    w, x, b = sd.symbol("w", (4 * h, h)), sd.symbol("x", ("n", 4 * h)), sd.symbol("b", 4 * h)

    def f(carry, x):
        y, c = carry
        z = w @ y + x + b
        c = sd.sigmoid(z[:h]) * c + sd.sigmoid(z[h : 2 * h]) * sd.tanh(z[2 * h : 3 * h])
        return (sd.sigmoid(z[3 * h :]) * sd.tanh(c), c), None

    (last, _), _ = sd.scan(f, (sd.zeros(h), sd.zeros(h)), x)
    loss = sd.sum(last**2)
    F = nm.lower(loss, [w, x, b], backend="native")
    rng = np.random.default_rng(h)
    at = [rng.uniform(-1, 1, s).astype(dtype) for s in ((4 * h, h), (9, 4 * h), (4 * h,))]
    value, gradient = F.value_and_grad(*at)
    env = dict(zip([w, x, b], [v.astype(float) for v in at], strict=True))
    wanted = nm.interpret([loss, *sd.grad(loss, [w, x, b])], env)
    for one, other in zip((value, *gradient), wanted, strict=True):
        near(np.asarray(one, dtype), np.asarray(other), dtype, 1e4)
    assert ran == [True, True]


def test_an_element_has_the_same_bits_wherever_it_stands():
    """All elements of the carry are equal, in lanes and in the overlapping last ones."""
    for count in (65, 71, 72, 90):
        c, x = sd.symbol("c", count), sd.symbol("x", "n")
        path = sd.scan(lambda c, x: (sd.exp(sd.sin(c) * x) - sd.tanh(c),) * 2, c, x)[1]
        found = nm.lower(path, [c, x], backend="native")(np.full(count, 0.3), np.ones(20))
        assert (found == found[:, :1]).all()


def test_columns_are_copied_once_and_params_stay_as_they_are(ran):
    """A matrix that is read along its rows and along its columns, in any order of memory."""
    c, w = sd.symbol("c", 80), sd.symbol("w", (80, 80))
    path = sd.scan(lambda c, _: (sd.tanh(w @ c + c @ w),) * 2, c, length=4)[1]
    F = nm.lower(path, [c, w], backend="native")
    rng = np.random.default_rng(0)
    at = rng.uniform(-1, 1, 80), rng.uniform(-0.1, 0.1, (80, 80))
    for change in (np.asarray, np.asfortranarray, lambda m: np.repeat(m, 2, axis=1)[:, ::2]):
        given = change(at[1])
        before = given.copy()
        near(F(at[0], given), nm.interpret(path, dict(zip([c, w], at, strict=True))), float)
        np.testing.assert_array_equal(given, before)
    assert ran == [True] * 3


def test_large_products_stay_with_blas(ran):
    c, w = sd.symbol("c", 300), sd.symbol("w", (300, 300))
    last = sd.scan(lambda c, _: (sd.tanh(w @ c), None), c, length=2)[0]
    F = nm.lower(last, [c, w], backend="native")
    F(np.zeros(300), np.eye(300))
    assert not ran
    assert "step by step, in NumPy" in F.explain()


@pytest.mark.parametrize("n", [0, 1, 6])
def test_masked_cotangents_of_products(n, ran):
    """Of a number of steps by name zeros are told from numbers, in products of matrices, too."""
    w, c, x = sd.symbol("w", (9, 9)), sd.symbol("c", 9), sd.symbol("x", ("n", 9))
    last = sd.scan(lambda c, x: (w @ sd.sqrt(c) + x, None), c, x)[0]
    F = nm.lower(last[0], [w, c, x], backend="native")
    rng = np.random.default_rng(0)
    at = [rng.uniform(0, 1, s) for s in ((9, 9), (9,), (n, 9))]
    at[1][3] = 0  # where the slope of the root is infinite
    at[0][:, 3] = 0  # and nothing depends on it
    with np.errstate(divide="ignore", invalid="ignore"):
        wanted = nm.interpret(sd.grad(last[0], [w, c, x]), dict(zip([w, c, x], at, strict=True)))
    _, gradient = F.value_and_grad(*at)
    for one, other in zip(gradient, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
    assert ran == [True, True]


def test_zeros_of_masked_cotangents_win_over_infinities(ran):
    """What is infinite in the matrix is of an element that the loss does not read."""
    c, w, x = sd.symbol("c", 9), sd.symbol("w", (9, 9)), sd.symbol("x", ("n", 9))
    last = sd.scan(lambda c, x: (w @ c + x, None), c, x)[0]
    F = nm.lower(last[0], [c, w, x], backend="native")
    at = np.full(9, 0.5), np.full((9, 9), 2.0), np.ones((1, 9))
    at[1][4, 3] = np.inf
    value, gradient = F.value_and_grad(*at)
    assert value == 10
    np.testing.assert_array_equal(gradient[0], 2)
    assert ran == [True, True]
