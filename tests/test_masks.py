"""Masked branches: the finite derivative of the selected branch, at every order, without a warning.

Expected values are derivatives of the selected branch, worked out by hand.
"""

import itertools
import os

import numpy as np
import pytest

import numeric as nm
import symdiff as sd
from symdiff.graph import ops
from symdiff.graph.contraction import strong

x, y, z = sd.symbols("x y z")
v = sd.symbol("v", (3,))


def evaluations(expr, env):
    """The value by the reference interpreter and by a lowered function."""
    symbols = list(expr.free_symbols)
    values = [env[s] for s in symbols]
    return [
        np.asarray(nm.interpret(expr, dict(zip(symbols, values, strict=True)))),
        np.asarray(nm.lower(expr, symbols)(*values)),
    ]


def derivatives(f, s, order):
    """The derivative of a scalar by every route: forward, reverse, batched, and mixtures."""
    if order == 0:
        return [f]
    found = []
    for lower_order in derivatives(f, s, order - 1):
        found.append(sd.diff(lower_order, s))
        # a vector input runs in reverse; the scalar is its only element
        w = sd.symbol("w", (1,))
        g = lower_order.subs({s: w[0]})
        reverse = sd.grad(g, w)[0]
        found.append(reverse.subs({w: sd.reshape(s, (1,))}))
    return found


CASES = [
    ("where(x > 0, sqrt(x), x)", lambda x: sd.where(x > 0, sd.sqrt(x), x), 0.0, [1, 0, 0]),
    ("where(x > 0, log(x), 0)", lambda x: sd.where(x > 0, sd.log(x), 0), 0.0, [0, 0, 0]),
    ("where(x > 0, x*log(x), 0)", lambda x: sd.where(x > 0, x * sd.log(x), 0), 0.0, [0, 0, 0]),
    ("where(x != 0, sin(x)/x, 1)", lambda x: sd.where(x != 0, sd.sin(x) / x, 1), 0.0, [0, 0, 0]),
    (
        "where(x <= 0, exp(x), 1 + x)",
        lambda x: sd.where(x <= 0, sd.exp(x), 1 + x),
        1000.0,
        [1, 0, 0],
    ),
    (
        "two masks on one root",
        lambda x: sd.where(x > 0, sd.sqrt(x), 0) + sd.where(x > 1, sd.sqrt(x), 0),
        0.0,
        [0, 0, 0],
    ),
    ("root of a mask", lambda x: sd.sqrt(sd.where(x > 0, x, 0)), -1.0, [0, 0, 0]),
    ("power of a mask", lambda x: sd.where(x > 0, x, 0) ** 0.5 * x, -1.0, [0, 0, 0]),
    (
        "mask of a mask",
        lambda x: sd.where(x > 0, sd.where(x > 1, sd.log(x - 1), sd.sqrt(x)), 2 * x),
        0.0,
        [2, 0, 0],
    ),
    (
        "inner guard",
        lambda x: sd.where(x > 0, sd.log(sd.where(x > 0, x, 1)), 0),
        0.0,
        [0, 0, 0],
    ),
]


@pytest.mark.parametrize(("f", "at", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_derivative_of_the_selected_branch(f, at, expected, order):
    for d in derivatives(f(x), x, order):
        for value in evaluations(d, {x: at}) if d.free_symbols else [np.asarray(float(d))]:
            assert value == expected[order - 1]


@pytest.mark.parametrize("order", [1, 2])
def test_root_of_a_maximum(order):
    f = sd.sqrt(sd.maximum(0, x * x - z * z))
    for route in itertools.product([x, z], repeat=order):
        forward = f
        reverse = f
        for s in route:
            forward = sd.diff(forward, s)
            reverse = sd.grad(reverse, (x, z))[0 if s is x else 1]
        for d in (forward, reverse):
            for value in evaluations(d, {x: 1.0, z: 2.0}):
                assert value == 0


def elements(shape, values):
    """An array that is 0 but for some elements."""
    result = np.zeros(shape)
    for place, value in values.items():
        result[place] = value
    return result


M, w = sd.symbol("M", (2, 3)), sd.symbol("w", (2,))
ONES, COUNTED = np.ones((2, 3)), np.array([[1.0, 2.0, 3.0], [0.0, 5.0, 6.0]])
POWERS, AT = np.array([1.0, 2.0, 4.0]), np.array([0.0, 4.0, -1.0])
ROOTS = sd.sum(sd.where(v > 0, sd.sqrt(v), v))
# d/dM of where(c, M @ log(v), 0) is an outer product of the mask with log(v)
LOGS = sd.sum(sd.where(sd.constant(np.array([True, False])), M @ sd.log(v), 0))
# rows that the mask drops do not see log(0), whatever stands in them
KEPT = sd.where((v > 0)[:2], (M @ sd.where(v > 0, v, 1))[:2], 0)
SAFE = sd.sum(sd.where(v > 0, sd.sqrt(v), 0)) + sd.sum(KEPT)
# row 1 is dropped; its cotangent is exactly 0 and meets inf entries of the other operand
DROPPED = sd.sum(sd.where(w > 0, M @ (1 / v), 0) * w)
BELOW = np.array([-1.0, -2.0])
SPREAD, PRODUCT = sd.where(v > 0, sd.sqrt(v), 0) * M, M @ sd.where(v > 0, sd.sqrt(v), 0)
BEHIND_MASKS = {
    "gradient of an array with a root at 0": (sd.grad(ROOTS, v), {v: AT}, [1, 0.25, 1]),
    "its Hessian": (sd.hessian(ROOTS, v), {v: AT}, np.diag([0, -1 / 32, 0])),
    "its third derivative": (
        sd.jacobian(sd.hessian(ROOTS, v), v),
        {v: AT},
        elements((3, 3, 3), {(1, 1, 1): 3 / 8 * 4.0**-2.5}),
    ),
    "a matrix product by its vector": (
        sd.grad(LOGS, v),
        {M: COUNTED, v: POWERS},
        COUNTED[0] / POWERS,
    ),
    "a matrix product by its matrix": (
        sd.grad(LOGS, M),
        {M: COUNTED, v: POWERS},
        [np.log(POWERS), [0, 0, 0]],
    ),
    "rows that are dropped": (
        sd.grad(SAFE, v),
        {M: COUNTED, v: np.array([1.0, 0.0, 4.0])},
        [0.5 + 1, 0, 0.25 + 3],
    ),
    **{
        f"rows beside an operand that is infinite at {first}, by {s}": (
            sd.grad(DROPPED, s),
            {M: ONES, v: np.array([first, 2.0, 4.0]), w: BELOW},
            np.zeros(s.shape),
        )
        for first in (1.0, 0.0)
        for s in (v, M)
    },
    "a batched Jacobian": (
        sd.jacobian(SPREAD, v),
        {M: ONES, v: AT},
        elements((2, 3, 3), {(0, 1, 1): 0.25, (1, 1, 1): 0.25}),
    ),
    "the Jacobian of a product": (
        sd.jacobian(PRODUCT, v),
        {M: ONES, v: AT},
        [[0, 0.25, 0], [0, 0.25, 0]],
    ),
    "its Jacobian": (
        sd.jacobian(sd.jacobian(PRODUCT, v), v),
        {M: ONES, v: AT},
        elements((2, 3, 3), {(0, 1, 1): -1 / 32, (1, 1, 1): -1 / 32}),
    ),
    "a mixed one": (
        sd.jacobian(sd.jacobian(PRODUCT, M), v),
        {M: ONES, v: AT},
        elements((2, 2, 3, 3), {(0, 0, 1, 1): 0.25, (1, 1, 1, 1): 0.25}),
    ),
    "a slice": (
        sd.grad(sd.sum(sd.sqrt(v)[1:]), v),
        {v: np.array([0.0, 4.0, 1.0])},
        [0, 0.25, 0.5],
    ),
    "elements that are taken": (
        sd.grad(sd.sum(sd.take(sd.sqrt(v), np.array([2, 1]))), v),
        {v: np.array([0.0, 4.0, 1.0])},
        [0, 0.25, 0.5],
    ),
}


@pytest.mark.parametrize("name", BEHIND_MASKS)
def test_derivatives_behind_masks(name):
    expr, at, expected = BEHIND_MASKS[name]
    for value in evaluations(expr, at):
        np.testing.assert_allclose(value, expected, rtol=1e-15)


def test_without_a_selection_arithmetic_is_ieee():
    f = y * sd.log(x)
    d = sd.grad(f, (x, y))
    with np.errstate(all="ignore"):
        dx = np.asarray(nm.interpret(d[0], {x: 0.0, y: 0.0}))
    assert np.isnan(dx)
    lowered = nm.lower(f, [x, y])
    with np.errstate(all="ignore"):
        value, (gx, gy) = lowered.value_and_grad(0.0, 0.0)
    assert np.isnan(gx)
    assert gy == -np.inf
    assert np.isnan(value)


def strong_products(expr):
    """How many products and contractions ask for zeros when they run."""
    return sum(
        isinstance(node.op, ops.Strong)
        or (isinstance(node.op, ops.Contract) and any(node.op.kills))
        for node in sd.nodes(expr)
    )


LONG = sd.symbol("w", (6,))
SMOOTH = sd.sum(sd.tanh(M @ sd.exp(v)) ** 2) + sd.logsumexp(v) + v @ v
SLICED = sd.sum(sd.sqrt(v)[1:]) + sd.sum(sd.exp(M)[:, 1])
HOISTED = sd.where(x > 0, sd.log(x) * sd.sqrt(x), x)
JOINED = sd.tanh(sd.concat([v, v**2]) @ LONG)
COVERED = sd.exp(v)[:1] @ LONG[:1] + sd.exp(v)[1:] @ LONG[4:]
STACKED = sd.stack([sd.sin(x), sd.exp(x), x]) @ v
WITHOUT_MASKS = {
    "no selections": [sd.grad(SMOOTH, v), sd.hessian(SMOOTH, v)],
    "hoisted": [sd.diff(HOISTED, x), sd.grad(HOISTED, (x, y))[0]],
    "slices": [
        *sd.grad(SLICED, (v, M)),
        sd.jacobian(sd.sqrt(v)[:2], v),
        sd.hessian(SLICED, v),
    ],
    "joins and slices that cover": [
        sd.grad(JOINED, v),
        sd.grad(COVERED, v),
        sd.diff(STACKED, x),
        sd.jvp(JOINED, v, v),
    ],
}


@pytest.mark.parametrize("name", WITHOUT_MASKS)
def test_nothing_is_masked_that_the_graph_shows(name):
    for d in WITHOUT_MASKS[name]:
        assert strong_products(d) == 0
        assert name[:5] != "joins" or not any(
            isinstance(node.op, ops.Unslice) for node in sd.nodes(d)
        )


def test_nothing_is_strong_where_the_other_factor_is_always_finite():
    for entry, expected in ((5.0, 0), (np.inf, 1), (np.nan, 1)):
        table = sd.constant(np.array([[entry, 1.0], [2.0, 3.0], [0.0, 4.0]]))
        rows = sd.take(M @ table, [0, 0], axis=0)
        assert strong_products(sd.grad(sd.sum(rows), M)) == expected
        columns = sd.take(v * table.T, [0, 2], axis=1)
        assert strong_products(sd.grad(sd.sum(columns), v)) == expected
    # sin is nan at inf, sign at nan
    for h in (sd.sin(v), abs(v)):
        assert strong_products(sd.grad(sd.sum(sd.take(h, [0, 2])), v)) == 1


def test_a_strong_product_is_the_plain_one_but_for_what_is_not_finite():
    a = np.array([0.0, -0.0, 0.0, 0.0, 2.0, np.nan, 0.0])
    b = np.array([3.0, 3.0, -3.0, np.inf, np.inf, 0.0, np.nan])
    p, q = sd.symbol("p", (7,)), sd.symbol("q", (7,))
    expected = np.array([0.0, -0.0, -0.0, 0.0, np.inf, np.nan, 0.0])
    product = strong(p, q)
    for value in evaluations(product, {p: a, q: b}):
        np.testing.assert_array_equal(value, expected)
        np.testing.assert_array_equal(np.signbit(value), np.signbit(expected))
    s, t = sd.symbols("s t")
    scalar = nm.lower(strong(s, t), [s, t])
    for k in range(7):
        value = scalar(float(a[k]), float(b[k]))
        np.testing.assert_array_equal(value, expected[k])
        assert np.signbit(value) == np.signbit(expected[k])


@pytest.mark.slow
def test_nests_of_masks_of_any_depth():
    positive = [x > 0, y > 0]
    f = sd.exp(x)
    depth = 5_000 * (20 if os.environ.get("HYPOTHESIS_PROFILE") == "fuzz" else 1)
    for k in range(depth):
        f = sd.where(positive[k % 2], f, 0)
    f = sd.where(x > 0, f * sd.sqrt(x), 0)
    for d in (sd.diff(f, x), sd.grad(f, (x, y))[0]):
        assert sum(1 for _ in sd.nodes(d)) < 5 * depth
        for at, expected in ((1.0, 1.5 * np.e), (-1.0, 0.0)):
            found = nm.interpret(d, {x: at, y: 2.0})
            np.testing.assert_allclose(found, expected, rtol=1e-14)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_slices_of_slices_that_cover_ignore_nothing(depth):
    """Zeros that a join cuts off again are gone: 0 times infinity is nan at every element."""
    v, c = sd.symbol("v", 3), sd.symbol("c", 3)
    f = sd.sqrt(v)
    for _ in range(depth):
        f = sd.concat([f[0::2], f[1::2]])
    gradient = nm.lower(sd.grad(sd.sum(f * c), v), [v, c])
    with np.errstate(all="ignore"):
        assert np.isnan(gradient(np.zeros(3), np.zeros(3))).all()


@pytest.mark.slow
def test_a_gradient_through_nested_masks_has_nodes_in_proportion():
    def gradient(n):
        v = f = sd.symbol("v", 3)
        for i in range(n):
            f = sd.where(sd.symbol(f"c{i}") > 0, sd.sin(f), 0) * v
        return sd.grad(sd.sum(f), v)

    assert sd.count_nodes(gradient(300)) <= 2.1 * sd.count_nodes(gradient(150))
    assert sd.count_nodes(gradient(3000)) < 40_000
