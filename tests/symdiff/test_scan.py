"""Scans are the loops written out: values and derivatives of all orders, in both modes."""

from __future__ import annotations

import functools
import math
import pickle
import subprocess
import sys
import types

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp

import numeric as nm
import symdiff as sd
from symdiff.errors import NotDifferentiable, ShapeError, Unsupported
from symdiff.graph.algebra import opaque
from symdiff.transforms.scans import Scan
from tests.support import running_errors, taylor
from tests.support.budget import sample
from tests.support.directional import pulled
from tests.support.recurrences import ALL, agree, tree, unrolled

EACH = pytest.mark.parametrize("of", ALL, ids=lambda of: of.name)


def both(of):
    """A loss by ``scan`` and written out, its symbols, and a point."""
    xs = of.symbols()
    return of.loss(sd.scan, *xs), of.loss(unrolled, *xs), xs, of.point()


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


@pytest.mark.slow
@EACH
def test_derivatives_of_the_second_order_in_each_way(of):
    """Reverse over reverse, forward over reverse, and forward over forward."""
    one, other, xs, at = both(of)
    vs = directions(xs)

    def ways(f):
        pushed = f
        for _ in range(2):
            pushed = sd.jvp(pushed, xs, vs)
        return [*sd.grad(pulled(f, xs, vs), xs), *sd.hvp(f, xs, vs), pushed]

    agree(ways(one), ways(other), xs, at)


def along_a_line(f, xs, vs):
    """A loss and its derivatives along vs: four orders forward, three in reverse."""
    forward, reverse = [sd.constant(0) + f], []
    for _ in range(4):
        forward.append(sd.jvp(forward[-1], xs, vs))
    for _ in range(3):
        f = pulled(f, xs, vs)
        reverse.append(sd.constant(0) + f)
    return [*forward, *reverse]


def over(functions, f):
    """A function of expressions, over other functions than theirs."""
    return types.FunctionType(f.__code__, {**f.__globals__, "sd": functions}, None, f.__defaults__)


# Losses whose bodies have no derivatives and no batches of ours.
PLAIN = [of for of in ALL if of.name not in {"gradient_descent", "batched"}]


@pytest.mark.slow
@EACH
def test_derivatives_of_the_fourth_order_in_each_way(of):
    """Against the loop written out, and both against 50 digits without any rule of ours."""
    one, other, xs, at = both(of)
    vs = directions(xs)
    env = dict(zip(xs, at, strict=True))
    found, wanted = (nm.interpret(along_a_line(f, xs, vs), env) for f in (one, other))
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=0)
    if of not in PLAIN:
        return
    with mp.workdps(50):
        line = [taylor.along(x, nm.interpret(v, {}), 4) for x, v in zip(at, vs, strict=True)]
        series = over(taylor.FUNCTIONS, of.loss)(over(taylor.FUNCTIONS, unrolled), *line)
        exact = [float(c * math.factorial(k)) for k, c in enumerate(series.terms)]
    for values in found, wanted:
        np.testing.assert_allclose(values, [*exact, *exact[1:4]], rtol=1e-12, atol=0)


@pytest.mark.slow
@EACH
@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_jacobians_are_those_of_all_elements(of, mode):
    """Batches of cotangents, and of tangents, go through the loop at once."""
    one, other, xs, at = both(of)
    (g, *_), (h, *_) = sd.grad(one, xs), sd.grad(other, xs)
    ours = [sd.jacobian(g, x, mode=mode) for x in xs]
    agree(ours, [sd.jacobian(h, x, mode="reverse") for x in xs], xs, at, 1e-11)


@pytest.mark.slow
@EACH
def test_hessians_are_jacobians_of_gradients(of):
    one, other, xs, at = both(of)
    agree([sd.hessian(one, x) for x in xs], [sd.hessian(other, x) for x in xs], xs, at, 1e-11)


@EACH
def test_a_lowered_function_is_the_interpreted_one(of):
    one, other, xs, at = both(of)
    lowered, plain = nm.lower(one, xs), nm.lower(other, xs)
    value, gradient = lowered.value_and_grad(*at)
    expected, wanted = plain.value_and_grad(*at)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    for g, h in zip(gradient, wanted, strict=True):
        np.testing.assert_allclose(g, h, rtol=1e-11, atol=1e-12)


# Lengths ------------------------------------------------------------------------------------------

a, s = sd.symbols("a s")
along = sd.symbol("x", "n")


def geometric(c, x):
    c = sd.sin(a * c) + x
    return c, c * x


def derivatives(f, xs):
    """The value and derivatives of three orders, forward and reverse."""
    gradient = sd.grad(f, xs)
    twice = sd.grad(sum(map(sd.sum, gradient)), xs)
    pushed = [sd.jacobian(f, x, mode="forward") for x in xs]
    return [f, *gradient, *twice, *pushed, sd.diff(f, a), sd.diff(f, a, 3)]


@pytest.mark.parametrize("n", [0, 1, 5])
@pytest.mark.parametrize("reverse", [False, True])
def test_lengths_that_are_known_when_the_program_runs(n, reverse):
    last, ys = sd.scan(geometric, s, along, reverse=reverse)
    loss = last**2 + sd.sum(ys)
    x = sd.symbol("x", n)
    last, ys = unrolled(geometric, s, x, reverse=reverse)
    written_out = last**2 + (0 if ys is None else sd.sum(ys))
    at = [0.7, 0.3, np.linspace(-1, 1, n)]
    xs, known = [a, s, along], [a, s, x]
    wanted = nm.interpret(derivatives(written_out, known), dict(zip(known, at, strict=True)))
    for f in derivatives(loss, xs), derivatives(sd.substitute(loss, {along: x}), known):
        symbols = xs if f[0] is loss else known
        for found in (
            nm.interpret(f, dict(zip(symbols, at, strict=True))),
            nm.lower(f, symbols)(*at),
        ):
            for value, expected in zip(found, wanted, strict=True):
                np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-12)


def test_no_steps_give_init():
    x = sd.symbol("x", (0, 3))
    last, ys = sd.scan(lambda c, x: (c * sd.sum(x), (x, None)), s, x)
    assert last is s
    assert ys[0].shape == (0, 3)
    assert sd.scan(lambda c, _: (c, None), (s, {"b": a}), length=0)[0] == (s, {"b": a})
    assert sd.fori_loop(3, 2, lambda i, c: c * i, s) is s


def test_a_million_steps():
    last = sd.scan(lambda c, _: (c + a * (1 - c), None), s, length=10**6)[0]
    value, gradient = nm.lower(last, [a, s]).value_and_grad(1e-6, 3.0)
    np.testing.assert_allclose(value, 1 + 2 * (1 - 1e-6) ** 1e6, rtol=1e-9)
    np.testing.assert_allclose(gradient[1], (1 - 1e-6) ** 1e6, rtol=1e-9)


def test_nodes_do_not_grow_with_the_length():
    counts = []
    for n in (4, 4000, "n"):
        x = sd.symbol("x", n)
        loss = sd.sum(sd.scan(geometric, s, x)[1])
        counts.append([sd.count_nodes(y) for y in (loss, sd.grad(loss, x), sd.hessian(loss, x))])
    assert counts[0] == counts[1]
    assert counts[0][2] < 200


# Masks --------------------------------------------------------------------------------------------


def finite(last, xs, at):
    """Derivatives of all kinds, which nothing that is not used may make infinite."""
    found = nm.interpret(derivatives(last, xs), dict(zip(xs, at, strict=True)))
    assert all(np.isfinite(value).all() for value in found)
    return found


@pytest.mark.parametrize("n", [4, "n"])
def test_what_a_mask_discards_stays_discarded(n):
    """The root of a negative number is not a derivative, wherever the loop computes it."""
    z = sd.symbol("z", n)

    def body(c, z):
        return sd.where(z > 0, a * c + sd.sqrt(z), c), None

    with np.errstate(invalid="raise", divide="raise"):
        found = finite(sd.scan(body, s, z)[0], [a, s, z], [2.0, 3.0, np.array([4.0, -1, 0, 1])])
    assert found[0] == (2 * 3 + 2) * 2 + 1
    np.testing.assert_array_equal(found[3][1:3], 0)


@pytest.mark.parametrize("n", [3, "n"])
def test_steps_that_are_not_read_do_no_harm(n):
    """Behind the last state that a loss reads the roots of 0 have no part in the derivative."""
    x = sd.symbol("x", n)
    states = sd.scan(lambda c, x: (sd.sqrt(c) * x + a, c), s, x)[1]
    finite(states[1], [a, s, x], [0.0, 4.0, np.array([1.0, 0, 1])])


@pytest.mark.parametrize("reverse", [False, True])
def test_a_start_that_has_no_tangent_meets_no_infinite_slope(reverse):
    """The slope of the root is infinite at 0, where the loop starts, whatever a is."""
    x = sd.symbol("x", 3)
    last, ys = sd.scan(lambda c, x: (sd.sqrt(c) + a * x, sd.sqrt(c)), 0, x, reverse=reverse)
    env = {a: 0.5, x: np.array([1.0, 2, 3])}
    other, zs = unrolled(lambda c, x: (sd.sqrt(c) + a * x, sd.sqrt(c)), 0, x, reverse=reverse)
    for order in (1, 2, 3):
        with np.errstate(divide="ignore"):  # the slope is computed with those of the other steps
            one = nm.interpret(sd.diff(last + sd.sum(ys), a, order), env)
        two = nm.interpret(sd.diff(other + sd.sum(zs), a, order), env)
        np.testing.assert_allclose(one, two, rtol=1e-12)


def test_a_start_without_a_tangent_at_a_length_by_name():
    """No step is taken by itself where nobody knows whether there is one."""
    x = sd.symbol("x", "n")
    last = sd.scan(lambda c, x: (sd.sqrt(c) + a * x, None), 0, x)[0]
    found = nm.interpret(sd.diff(last, a), {a: 0.5, x: np.array([2.0, 8])})
    np.testing.assert_allclose(found, 1 / (2 * np.sqrt(1.0)) * 2 + 8, rtol=1e-15)
    assert nm.interpret(sd.diff(last, a), {a: 0.5, x: np.zeros(0)}) == 0


def test_a_last_state_leaves_no_checks_in_the_loop():
    """All steps are reached from it: there are no zeros to keep apart from numbers."""
    for n in (4, "n"):
        x = sd.symbol("x", n)
        last = sd.scan(lambda c, x: (sd.sqrt(c) + a * x, None), s, x)[0]
        inside = [
            node
            for y in sd.nodes(list(sd.grad(last, [a, s, x])))
            if isinstance(y.op, Scan)
            for node in sd.nodes(y.op.body)
        ]
        assert inside
        assert not [node for node in inside if "strong" in repr(node.op).lower()]


# Names --------------------------------------------------------------------------------------------


def test_bound_symbols_are_not_those_of_a_loop_outside():
    """Both loops have the same body, and their symbols the same names: 4 c^3 twice."""
    w = sd.symbol("w", 2)

    def inner(c, x):
        return sd.sin(c * x), None

    def outer(c, x):
        return sd.scan(inner, c * x, w)[0] * c, None

    loss = sd.scan(outer, s, w)[0]
    c = s
    for i in range(2):
        d = c * w[i]
        for j in range(2):
            d = sd.sin(d * w[j])
        c = d * c
    agree(derivatives2(loss, [s, w]), derivatives2(c, [s, w]), [s, w], [0.7, np.array([0.4, 0.9])])


def derivatives2(f, xs):
    g = sd.grad(f, xs)
    return [f, *g, *sd.grad(sum(map(sd.sum, g)), xs)]


def test_equal_bodies_are_one_op():
    x, y = sd.symbol("x", 5), sd.symbol("y", 5)
    b = sd.symbol("b")
    one = sd.scan(lambda c, v: (c * a + v, None), 0, x)[0]
    other = sd.scan(lambda c, v: (c * b + v, None), 1, y)[0]
    assert scans(one)[0].op is scans(other)[0].op
    assert sd.scan(lambda c, v: (c * a + v, None), 0, x)[0] is one


def scans(*outputs):
    return [y for y in sd.nodes(outputs) if isinstance(y.op, Scan)]


def test_what_no_step_changes_is_computed_once():
    """Captured formulas, projections of x and slopes are computed outside, the products inside."""
    w, x = sd.symbol("w", (3, 3)), sd.symbol("x", (6, 3))
    last = sd.scan(lambda h, x: (sd.tanh(w @ w @ h + w @ x), None), sd.zeros(3), x)[0]
    forward, backward = scans(*sd.grad(sd.sum(last), [w]))
    for loop in (forward, backward):
        products = [y for y in sd.nodes(loop.op.body) if "contract" in repr(y.op).lower()]
        assert len(products) == 1
        assert not any(p.shape == (6, 3, 3) for p in loop.args)


def test_what_is_wide_stays_in_the_loop():
    """A matrix for each number would take more memory than the loop."""
    x = sd.symbol("x", 1000)
    w = sd.symbol("w", (20, 20))
    last = sd.scan(lambda c, x: (c * sd.sum(sd.sin(x * w)), None), s, x)[0]
    assert all(len(y.shape) < 3 for y in sd.nodes(sd.grad(last, s)))


# Batches, texts, pickles --------------------------------------------------------------------------


def test_a_batch_of_loops_is_one_loop():
    x, m = sd.symbol("x", 3), sd.symbol("m", (4, 3))
    loss = sd.scan(geometric, s, x)[0]
    for replaced in ({x: m}, {s: sd.symbol("many", 4)}, {a: sd.symbol("as", 4), x: m}):
        rng = np.random.default_rng(0)
        env = {v: rng.uniform(0, 1, v.shape) for v in (a, s, x, *replaced.values())}
        for f in (loss, sd.grad(loss, a), sd.grad(sd.grad(loss, a), a)):
            batch = sd.batch(f, replaced)
            found = nm.interpret(batch, {v: env[v] for v in sd.free_symbols(batch)})
            for k in range(4):
                one = {**env, **{v: env[many][k] for v, many in replaced.items()}}
                wanted = nm.interpret(f, {v: one[v] for v in (a, s, x)})
                np.testing.assert_allclose(found[k], wanted, rtol=1e-12)


def test_texts_have_the_recurrence():
    last = sd.scan(lambda c, x: (a * c + x, None), 1, sd.symbol("x", 3), reverse=True)[0]
    assert str(last) == "b[0]\nwhere b[3] = 1, b[k] = a*b[k + 1] + x[k] for k = 2, ..., 0"
    power = sd.scan(lambda c, _: (c**2 + 1, None), a, length=4)[0]
    assert str(power) == "b[4]\nwhere b[0] = a, b[k + 1] = b[k]**2 + 1 for k = 0, ..., 3"
    assert repr(power) == "b[4] where b[0] = a, b[k + 1] = b[k]**2 + 1 for k = 0, ..., 3"
    assert r"b_{k+1} = b_k^{2} + 1" in sd.latex(power)


def test_pickles_find_the_loop_again():
    loss = sd.scan(geometric, s, along)[0]
    for f in (loss, sd.grad(loss, along)):
        assert pickle.loads(pickle.dumps(f)) is f
    lowered = pickle.loads(pickle.dumps(nm.lower(loss, [a, s, along])))
    assert lowered(0.5, 0.2, np.ones(3)) == nm.lower(loss, [a, s, along])(0.5, 0.2, np.ones(3))


@EACH
def test_pickles_keep_loops_inside_of_loops(of):
    xs = of.symbols()
    gradient = sd.grad(of.loss(sd.scan, *xs), xs)
    env = dict(zip(xs, of.point(), strict=True))
    found = nm.interpret(pickle.loads(pickle.dumps(gradient)), env)
    for one, other in zip(found, nm.interpret(gradient, env), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.slow
def test_pickles_are_read_where_the_loop_was_never_made(tmp_path):
    """Bound symbols come back as those of all loops there."""
    (nested,) = [of for of in ALL if of.name == "nested"]
    f = sd.grad(nested.loss(sd.scan, *nested.symbols()), nested.symbols()[0])
    (tmp_path / "loop").write_bytes(pickle.dumps([f, nested.point()]))
    code = f"""
import pickle, pathlib, numeric as nm
f, at = pickle.loads(pathlib.Path({str(tmp_path / "loop")!r}).read_bytes())
again = pickle.loads(pickle.dumps(f))
assert again is f
print(float(nm.interpret(f, {{f"s{{k}}": v for k, v in enumerate(at)}})))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    env = dict(zip(nested.symbols(), nested.point(), strict=True))
    assert float(run.stdout) == nm.interpret(f, env)


def test_digits_to_any_number():
    x = sd.symbol("x", 3)
    last = sd.scan(lambda c, x: (sd.sqrt(c + x), None), 2, x)[0]
    found = sd.evalf(sd.diff(last, x[0]), 40, {x: np.array([1.0, 2.0, 3.0])})
    with mp.workdps(50):
        one = mp.sqrt(3)
        two = mp.sqrt(one + 2)
        three = mp.sqrt(two + 3)
        assert abs(mp.mpf(str(found)) - 1 / (8 * one * two * three)) < mp.mpf(10) ** -39
    assert str(sd.to_sympy(last)) == "sqrt(x_2 + sqrt(x_1 + sqrt(x_0 + 2)))"


def test_operations_are_those_of_all_steps():
    last = sd.scan(lambda c, x: (a * c + x, None), 1, along)[0]
    assert sd.count_operations(last, {"n": 10}) == 20


def test_sparsity_is_that_of_the_loop():
    x = sd.symbol("x", 3)
    pattern = sd.sparsity(sd.scan(lambda c, x: (c + x, c), 0, x)[1], x)
    np.testing.assert_array_equal(pattern, np.tri(3, k=-1, dtype=bool))


def test_kinks_raise_inside():
    """At the step that meets one; also where the body itself has the derivative."""
    x, z = sd.symbol("x", 3), sd.symbol("z")
    slope = sd.diff(abs(z), z)
    with sd.kinks("raise"):
        last = sd.scan(lambda c, x: (abs(c) * x, None), 1, x)[0]
        gradient = nm.lower(sd.grad(last, x), x)
        np.testing.assert_array_equal(gradient(np.ones(3)), 1)
        with pytest.raises(NotDifferentiable, match="abs"):
            gradient(np.array([1.0, 0, 1]))
        descent = nm.lower(
            sd.scan(lambda c, x: (c - x * sd.substitute(slope, {z: c}), None), 1, x)[0], x
        )
        assert descent(np.array([0.5, 0.25, 0.125])) == 0.125
        with pytest.raises(NotDifferentiable, match="abs"):
            descent(np.array([0.5, 0.5, 1]))


# What is refused ----------------------------------------------------------------------------------

v3 = sd.symbol("v3", 3)
REFUSED = {
    "another shape": (
        lambda: sd.scan(lambda c, x: (sd.concat([c, c[:1]]), None), v3, v3),
        ShapeError,
        r"carry has shape \(3,\), f returned \(4,\)",
    ),
    "another shape of a part": (
        lambda: sd.scan(lambda c, x: ((c[0], c[1][:1]), None), (s, v3), v3),
        ShapeError,
        r"carry, part 1, has shape \(3,\), f returned \(1,\)",
    ),
    "another structure": (
        lambda: sd.scan(lambda c, x: ([c[0], c[1]], None), (s, v3), v3),
        TypeError,
        r"carry is \(shape \(\), shape \(3,\)\), f returned \[shape \(\), shape \(3,\)\]",
    ),
    "other keys": (
        lambda: sd.scan(lambda c, x: ({"b": c["a"]}, None), {"a": s}, v3),
        TypeError,
        "another structure",
    ),
    "a condition for a carry": (
        lambda: sd.scan(lambda c, x: (c > x, None), s, v3),
        TypeError,
        "f returned a condition",
    ),
    "an integer for a carry": (
        lambda: sd.scan(lambda c, x: (c + 1, None), sd.symbol("k", dtype=int), v3),
        TypeError,
        "the carry is int; a carry is real",
    ),
    "no pair": (
        lambda: sd.scan(lambda c, x: c * x, s, v3),
        TypeError,
        r"f returned shape \(\); expected a pair",
    ),
    "no expression": (
        lambda: sd.scan(lambda c, x: ("carry", None), s, v3),
        TypeError,
        "carry",
    ),
    "xs of different lengths": (
        lambda: sd.scan(lambda c, x: (c, None), s, (v3, sd.symbol("w", 4))),
        ShapeError,
        "xs, part 0, have 3 steps, but xs, part 1, have 4",
    ),
    "xs of another length than was said": (
        lambda: sd.scan(lambda c, x: (c, None), s, v3, length=4),
        ShapeError,
        "length=4, but xs have 3",
    ),
    "xs without an axis": (
        lambda: sd.scan(lambda c, x: (c, None), s, a),
        ShapeError,
        "xs is one number",
    ),
    "no length": (
        lambda: sd.scan(lambda c, x: (c, None), s),
        ValueError,
        "the number of steps is unknown",
    ),
    "a number of steps that is computed": (
        lambda: sd.fori_loop(0, a, lambda i, c: c, s),
        TypeError,
        "fori_loop",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_refused(name):
    call, error, text = REFUSED[name]
    with pytest.raises(error, match=text):
        call()


def test_names_that_clash_are_refused():
    """Where the body is used; names of the loop's own symbols are free."""
    one, other = sd.symbol("v", 2), sd.symbol("v", 3)
    last = sd.scan(lambda c, x: (c * one[0] + sd.sum(other) * x, None), s, v3)[0]
    for use in (lambda: sd.grad(last, s), lambda: nm.lower(last, [s, v3, one, other])):
        with pytest.raises(ShapeError, match="two symbols are named 'v'"):
            use()
    c0, x0, p0 = sd.symbols("c0 x0 p0")
    last = sd.scan(lambda c, x: (c * c0 + x * x0 + p0, None), s, v3)[0]
    env = {s: 0.5, c0: 0.25, x0: 2.0, p0: 0.125, v3: np.ones(3)}
    assert nm.interpret(last, env) == (((0.5 / 4 + 2.125) / 4) + 2.125) / 4 + 2.125


def test_derivatives_of_black_boxes_are_refused_by_name():
    sine = sd.custom(np.sin, lambda g, out, x: g * sd.cos(x), name="sine")
    last = sd.scan(lambda c, x: (sine(c) * a + x, None), s, v3)[0]
    env = {s: 0.3, a: 0.5, v3: np.ones(3)}
    c = 0.3
    for _ in range(3):
        c = np.sin(c) * 0.5 + 1
    assert nm.interpret(last, env) == c
    with pytest.raises(Unsupported, match="sine has no batching rule"):
        sd.grad(last, v3)


def test_black_boxes_of_xs_are_called_in_each_step():
    """Nobody knows what they make of all steps at once; what is behind them is taken out."""
    sine = sd.custom(np.sin, lambda g, out, x: g * sd.cos(x), name="sine")
    last, ys = sd.scan(lambda c, x: (c * a + sine(2 * x) * 3 + x, c), s, v3)
    env = {s: 0.3, a: 0.5, v3: np.array([0.1, 0.7, 2.0])}
    c, found = 0.3, []
    for x in env[v3]:
        found.append(c)
        c = c * 0.5 + np.sin(2 * x) * 3 + x
    np.testing.assert_allclose(nm.interpret(last, env), c, rtol=1e-15)
    np.testing.assert_allclose(nm.interpret(ys, env), found, rtol=1e-15)
    with pytest.raises(Unsupported, match="sine has no batching rule"):
        sd.grad(last, v3)


def test_a_reset_discards_what_was_before():
    """The second step forgets the carry, whose root had an infinite slope in the first one."""
    x = sd.symbol("x", 3)
    last = sd.scan(lambda c, x: (sd.where(x > 0, sd.sqrt(c) + a, x + 2), None), s, x)[0]
    found = finite(last, [a, s, x], [0.5, 0.0, np.array([1.0, -1, 1])])
    assert found[0] == 1.5
    assert found[2] == 0


# Steps --------------------------------------------------------------------------------------------


def step_by_step(op, init, *rest):
    """The trajectory by the body of the op, lowered by itself and called for each step."""
    xs, params = rest[: len(op.xs)], rest[len(op.xs) :]
    step = nm.lower(op.body, [op.carry, *op.xs, *op.params])
    scalar = not any(y.shape for y in (op.carry, *op.xs, *op.params))

    def plain(value):
        return value.item() if scalar else value

    found = [plain(init)]
    for t in range(op.length)[:: -1 if op.reverse else 1]:
        found.append(step(found[-1], *[plain(x[t]) for x in xs], *map(plain, params)))
    return np.array(found[:: -1 if op.reverse else 1])


# Over the functions of a module: of expressions, or of numbers that know their errors.
FUNCTIONS = (
    *(lambda m, c: m.sin(c), lambda m, c: m.tanh(c), lambda m, c: m.exp(c), lambda m, c: m.abs(c)),
    *(lambda m, c: m.sqrt(c), lambda m, c: 1 / c, lambda m, c: c**2, lambda m, c: -c / 3),
)
PAIRS = (
    *(lambda m, c, d: c + d, lambda m, c, d: c * d, lambda m, c, d: c / (1 + d**2)),
    *(lambda m, c, d: m.maximum(c, d), lambda m, c, d: m.where(m.greater(c, d), c, m.sin(d))),
)


@st.composite
def bodies(draw, shape):
    """A body of a carry and an x of this shape, and a captured number, as a function of them."""
    places = st.integers(0, 10)
    plan = draw(st.lists(st.tuples(st.integers(0, 12), places, places), min_size=2, max_size=8))

    def body(m, c, x, p):
        made = [c, x, p * c]
        for kind, i, j in plan:
            one, other = made[i % len(made)], made[j % len(made)]
            if kind < len(FUNCTIONS):
                made.append(FUNCTIONS[kind](m, one))
            else:
                made.append(PAIRS[(kind - len(FUNCTIONS)) % len(PAIRS)](m, one, other))
        return m.tanh(made[-1] + made[-2] / 2) + c / 4

    return body


@pytest.mark.slow
@pytest.mark.numpy_only("its bits")
def test_random_loops_are_their_bodies_called_step_by_step():
    """Bit by bit, nan and inf included; as near to the exact values as any order of terms is."""
    judged = []

    @given(st.data())
    @settings(sample(60), deadline=None)
    def run(data):
        judged.extend(random_loop(data))

    run()
    assert np.mean(judged) > 0.6


def random_loop(data):
    """Check one, and tell of each carry that it gives whether its error has a bound."""
    shape = data.draw(st.sampled_from([(), (2,), (3, 2), (70,)]))
    body = data.draw(bodies(shape))
    reverse = data.draw(st.booleans())
    n = data.draw(st.sampled_from([1, 2, 5]))
    numbers = st.sampled_from([0.0, -1.0, 0.5, 1.5, -0.25, 2.0, 1e-3])
    c, x, p = sd.symbol("c", shape), sd.symbol("x", (n, *shape)), sd.symbol("p")
    draws = [
        np.array(data.draw(st.lists(numbers, min_size=k, max_size=k))).reshape(y.shape)
        for y, k in ((c, math.prod(shape)), (x, n * math.prod(shape)))
        if k < 64
    ]
    rng = np.random.default_rng(0)
    at = draws if len(draws) == 2 else [rng.uniform(-1, 2, shape), rng.uniform(-1, 2, x.shape)]
    env = {c: at[0][()], x: at[1], p: 0.75}

    def f(c, x):
        c = body(sd, c, x, p)
        return c, c

    last, ys = sd.scan(f, c, x, reverse=reverse)
    loops = scans(last)
    with mp.workdps(50):
        start, rows, number = (running_errors.variables(env[y]) for y in (c, x, p))
        exact = [start]
        for t in range(n)[:: -1 if reverse else 1]:
            exact.append(body(running_errors.FUNCTIONS, exact[-1], rows[t], number))
        exact = np.array(exact[:0:-1] if reverse else exact[1:], object)
    with np.errstate(all="ignore"):
        # Small arrays are Python floats there, whose functions round in their own way.
        for node in loops if shape in ((), (70,)) else []:
            operands = nm.interpret(list(node.args), env)
            places = [sd.symbol(f"v{k}", y.shape) for k, y in enumerate(node.args)]
            value = nm.lower(opaque(node.op, *places), places)(*operands)
            np.testing.assert_array_equal(value, step_by_step(node.op, *operands))
        end = 0 if reverse else -1
        _, written_out = unrolled(f, c, x, reverse=reverse)
        for path in nm.interpret([ys, written_out], env):
            for found, number in zip(path.ravel(), exact.ravel(), strict=True):
                far = abs(mp.mpf(float(found)) - number.value)
                assert far <= number.error or not mp.isfinite(number.error)
        np.testing.assert_array_equal(nm.interpret(last, env), nm.interpret(ys[end], env))
    return [mp.isfinite(number.error) for number in exact.ravel()]


def test_steps_that_math_refuses_are_numpys():
    """1/0 and the root of -1 in the middle of a loop of Python floats, which goes on with them."""
    x = sd.symbol("x", 6)
    path = sd.scan(lambda c, x: (sd.where(x < 9, sd.sqrt(c) / x, 4),) * 2, s, x)[1]
    at = [4.0, np.array([2.0, 0, 10, -0.5, 10, 1])]
    with np.errstate(all="ignore"):
        found = nm.lower(path, [s, x])(*at)
    np.testing.assert_array_equal(found, [1, np.inf, 4, -4, 4, 2])


@pytest.mark.parametrize("reverse", [False, True])
def test_long_loops_take_each_row_once(reverse):
    x = np.random.default_rng(0).uniform(-1, 1, (10_001, 2))
    rows, c, found = sd.symbol("rows", ("n", 2)), 0.25, []
    for one, other in x[:: -1 if reverse else 1].tolist():
        c = 0.5 * c + one - other * c
        found.append(c)
    ys = sd.scan(lambda c, x: (c / 2 + x[0] - x[1] * c,) * 2, s, rows, reverse=reverse)[1]
    wanted = np.array(found[:: -1 if reverse else 1])
    np.testing.assert_allclose(nm.lower(ys, [s, rows])(0.25, x), wanted, rtol=1e-12, atol=1e-12)


def test_precision_is_that_of_the_arguments():
    x = sd.symbol("x", (5, 3))
    last, ys = sd.scan(lambda c, x: (sd.tanh(c + x / 3), c), sd.zeros(3), x)
    f = nm.lower([last, ys, sd.grad(sd.sum(last), x)], x)
    assert {value.dtype for value in f(np.ones((5, 3), np.float32))} == {np.dtype(np.float32)}


@pytest.mark.parametrize("of", PLAIN, ids=lambda of: of.name)
def test_jax_says_the_same(of):
    """Gradients, and derivatives along a line to the fourth order, of its own loops."""
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    import jax.numpy as jnp

    elementwise = "sin", "cos", "tanh", "exp", "log", "sqrt", "where", "maximum"
    functions = types.SimpleNamespace(
        **{f: getattr(jnp, f) for f in (*elementwise, "zeros", "sum", "eye", "outer", "trace")},
        **{f: getattr(jax.nn, f) for f in ("sigmoid", "log_softmax", "logsumexp")},
        stack=jnp.stack,
        solve=jnp.linalg.solve,
        detach=jax.lax.stop_gradient,
        scan=None,
    )

    def loop(f, init, xs=None, length=None, reverse=False):
        start = tree(lambda x: jnp.asarray(x, float), init)
        last, ys = jax.lax.scan(f, start, xs, length, reverse=reverse)
        return last, ys if length != 0 else None

    xs, at = of.symbols(), [jnp.asarray(x, float) for x in of.point()]
    vs = directions(xs)
    line = tuple(jnp.asarray(nm.interpret(v, {})) for v in vs)
    theirs = functools.partial(over(functions, of.loss), loop)

    def pushed(f):
        return lambda *xs: jax.jvp(f, xs, line)[1]

    orders = [theirs]
    for _ in range(4):
        orders.append(pushed(orders[-1]))
    gradient = jax.grad(theirs, tuple(range(len(at))))
    wanted = [*jax.jit(gradient)(*at), *jax.jit(lambda *xs: [f(*xs) for f in orders])(*at)]
    ours = of.loss(sd.scan, *xs)
    f = [*sd.grad(ours, xs), *along_a_line(ours, xs, vs)[:5]]
    found = nm.interpret(f, dict(zip(xs, of.point(), strict=True)))
    for one, other in zip(found, wanted, strict=True):
        scale = np.max(np.abs(other), initial=0)
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12 * scale)


def test_a_length_that_only_a_loop_in_a_loop_needs_is_substituted():
    s, v = sd.symbol("s"), sd.symbol("v", "n")

    def twice(c):
        return sd.scan(lambda a, _: (a + 0.1 * sd.sum(sd.zeros("n") + a), None), c, length=2)[0]

    last, _ = sd.scan(lambda c, _: (twice(c), None), s, length=3)
    f = sd.substitute(last + sd.sum(v), {v: np.ones(4)})
    assert float(f.evalf(15, {s: 1})) == pytest.approx(1.4**6 + 4, rel=1e-14)
    assert nm.lower(last + sd.sum(v), [s, v])(1.0, np.ones(4)) == pytest.approx(1.4**6 + 4)
