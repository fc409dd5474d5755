"""Tangents of joins: a join of tangents, with zeros for what does not vary, and no sum of pads."""

import math

import numpy as np
import pytest

import numeric as nm
import symdiff as sd
from symdiff.graph import ops
from symdiff.graph.node import topological

x, t = sd.symbol("x", 3), sd.symbol("t", 3)
a, b = sd.symbol("a", 3), sd.symbol("b", 2)
s, r = sd.symbols("s r")
M, T, N = sd.symbol("M", (2, 3)), sd.symbol("T", (2, 3)), sd.symbol("N", (2, 3))
n, tn = sd.symbol("n_", "n"), sd.symbol("tn", "n")
rng = np.random.default_rng(0)
AT = {
    u: rng.uniform(0.5, 2, [5 if k == "n" else k for k in u.shape])
    for u in (x, t, a, b, sd.symbol("none", 0), s, r, M, T, N, n, tn)
}
TANGENT = {x: t, s: r, M: T, n: tn}

# A join by its operands and its axis; a stack by its rows.
JOINS = {
    "all vary": ([sd.sin(x), sd.exp(x)], 0, x),
    "one does not": ([sd.sin(x), a, sd.exp(x)], 0, x),
    "first and last do not": ([b, sd.sin(x), x, a], 0, x),
    "one alone varies": ([a, sd.sin(x), b], 0, x),
    "one twice": ([x, a, x], 0, x),
    "numbers": ([x, sd.constant([1.0, 2.0]), x * x], 0, x),
    "more than a few": ([f(x) for f in (sd.sin, sd.cos, sd.exp) for _ in range(4)] + [a], 0, x),
    "nothing between": ([sd.sin(x), sd.symbol("none", 0), x], 0, x),
    "masks": ([sd.where(x > 1, x * x, 0), a, sd.maximum(x, 1), b], 0, x),
    "rows": ([sd.sin(M), N, M], 0, M),
    "columns": ([M * M, N, sd.exp(M)], 1, M),
    "a length that is a name": ([sd.sin(n), sd.exp(n)], 0, n),
    "lengths of two kinds": ([sd.sin(n), a, n, b, sd.exp(n)], 0, n),
}
STACKS = {
    "scalars": ([sd.sin(s), s**2, sd.exp(s), s], 0, s),
    "scalars and numbers": ([sd.sin(s), 1, sd.exp(s), 0, s], 0, s),
    "vectors": ([x, a, x * x], 0, x),
    "vectors as columns": ([x, a, x * x], 1, x),
    "matrices between": ([M, N, sd.sin(M)], 1, M),
}
ALL = {
    **{k: (sd.concat(parts, axis=axis), u) for k, (parts, axis, u) in JOINS.items()},
    **{f"stack: {k}": (sd.stack(parts, axis=axis), u) for k, (parts, axis, u) in STACKS.items()},
}
# What follows a join: elements, products, other joins, sums with one of the same kind.
NESTED = {
    "a rotation": (
        sd.stack([[sd.cos(s), -sd.sin(s), 0], [sd.sin(s), sd.cos(s), 0], [0, 0, 1]]),
        s,
    ),
    "elements of a join": (sd.sqrt(sd.concat([sd.sin(x), a, sd.exp(x)])), x),
    "a sum of two": (sd.concat([x, a, x * x]) + sd.concat([sd.sin(x), a, x]), x),
    "a join of joins": (sd.concat([sd.concat([x, a, x]), b, sd.concat([a, sd.sin(x)])]), x),
    "elements of a join of joins": (
        sd.sqrt(sd.concat([a, sd.concat([b, x]), sd.concat([sd.exp(x), b])])),
        x,
    ),
    "nothing beside": (sd.sqrt(sd.concat([sd.sin(x), sd.symbol("none", 0)])), x),
    "reversed": (sd.flip(sd.concat([x, a, x * x])), x),
    "elements by name": (sd.log(sd.concat([sd.sin(n), a, n, b, n * n])), n),
    "a product of a stack": (sd.stack([x, a, x * x]) * sd.symbol("c", (3, 3)), x),
}
ALL |= NESTED


def pads(*outputs):
    """Sums of parts among zeros."""
    return [
        node
        for node in topological(outputs)
        if isinstance(node.op, ops.Sum)
        and sum(isinstance(y.op, ops.Unslice) for y in node.args) > 1
    ]


def size(*outputs):
    """The number of nodes, numbers aside."""
    return sum(bool(node.args or isinstance(node.op, ops.Symbol)) for node in topological(outputs))


def value(f):
    return nm.interpret(f, {u: AT.get(u, np.ones((3, 3))) for u in f.free_symbols})


def difference(f, u):
    """The derivative along the tangent of u, by a central difference of order 4."""
    h = 1e-3
    values = {
        k: nm.interpret(
            f,
            {
                z: AT.get(z, np.ones((3, 3))) + (k * h * AT[TANGENT[u]] if z is u else 0)
                for z in f.free_symbols
            },
        )
        for k in (-2, -1, 1, 2)
    }
    return (values[-2] - 8 * values[-1] + 8 * values[1] - values[2]) / (12 * h)


@pytest.mark.parametrize("name", ALL)
def test_no_tangent_is_a_sum_of_pads(name):
    f, u = ALL[name]
    first = sd.jvp(f, u, TANGENT[u])
    second = sd.jvp(first, u, TANGENT[u])
    reverse = sd.hvp(sd.sum(f**3), u, TANGENT[u])
    assert not pads(first, second, reverse)


@pytest.mark.parametrize("name", [*JOINS, *(f"stack: {k}" for k in STACKS)])
def test_the_tangent_is_one_join_of_tangents(name):
    """Of as many operands, and what does not vary are zeros; one that varies alone stands so."""
    f, u = ALL[name]
    found, parts = sd.jvp(f, u, TANGENT[u]), f.args
    tangents = [sd.jvp(p, u, TANGENT[u]) for p in parts]
    varying = [p is not sd.zeros(p.shape) for p in tangents]
    if sum(varying) == 1:
        assert isinstance(found.op, ops.Unslice)
        assert found.args == (tangents[varying.index(True)],)
    else:
        assert (found.op, found.args) == (f.op, tuple(tangents))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("vary", [(0,), (0, 2), (1, 2), (0, 1, 2)])
def test_the_tangent_has_no_more_nodes(axis, vary):
    """Of joins of symbols: zeros are in the place of a symbol, tangents in that of theirs."""
    parts = [sd.symbol(f"p{k}", (2, 2)) for k in range(3)]
    moving = [parts[k] for k in vary]
    ts = [sd.symbol(f"q{k}", (2, 2)) for k in vary]
    for f in (sd.concat(parts, axis=axis), sd.stack(parts, axis=axis)):
        assert size(sd.jvp(f, moving, ts)) <= size(f)


@pytest.mark.parametrize("name", [*JOINS, *(f"stack: {k}" for k in STACKS)])
def test_the_tangent_is_the_sum_of_pads(name):
    """To the bit: the tangents of the operands, each among zeros, added by hand."""
    f, u = ALL[name]
    (axis,) = (k for k in range(f.ndim) if k - f.ndim == f.op.axis)
    whole = value(f)
    expected, start = np.zeros_like(whole), 0
    for p in f.args:
        tangent = value(sd.jvp(p, u, TANGENT[u]) + sd.zeros(p.shape))
        length = value(p).shape[axis]
        pad = np.zeros_like(whole)
        pad[(slice(None),) * axis + (slice(start, start + length),)] = tangent
        expected, start = expected + pad, start + length
    found = value(sd.jvp(f, u, TANGENT[u]))
    np.testing.assert_array_equal(found, expected)


# The step is 1e-3, the fifth derivatives are below 300 here, roundings below 1e-12.
@pytest.mark.parametrize("name", NESTED)
def test_what_follows_a_join_has_the_values_of_differences(name):
    f, u = NESTED[name]
    found = sd.jvp(f, u, TANGENT[u])
    np.testing.assert_allclose(value(found), difference(f, u), rtol=0, atol=2e-9)
    second = sd.jvp(found, u, TANGENT[u])
    np.testing.assert_allclose(value(second), difference(found, u), rtol=0, atol=2e-8)


def test_a_peer_gives_the_same_tangents():
    jax = pytest.importorskip("jax")
    jnp = jax.numpy
    jax.config.update("jax_enable_x64", True)
    programs = {
        "one does not": lambda z: jnp.concatenate([jnp.sin(z), AT[a], jnp.exp(z)]),
        "first and last do not": lambda z: jnp.concatenate([AT[b], jnp.sin(z), z, AT[a]]),
        "stack: vectors as columns": lambda z: jnp.stack([z, AT[a], z * z], axis=1),
        "elements of a join": lambda z: jnp.sqrt(jnp.concatenate([jnp.sin(z), AT[a], jnp.exp(z)])),
        "a sum of two": lambda z: (
            jnp.concatenate([z, AT[a], z * z]) + jnp.concatenate([jnp.sin(z), AT[a], z])
        ),
    }
    for name, program in programs.items():
        f, u = ALL[name]
        _, expected = jax.jvp(program, (AT[x],), (AT[t],))
        np.testing.assert_allclose(value(sd.jvp(f, u, t)), expected, rtol=1e-14, atol=1e-15)
        cubes = jax.grad(lambda z, program=program: (program(z) ** 3).sum())
        _, expected = jax.jvp(cubes, (AT[x],), (AT[t],))
        found = value(sd.hvp(sd.sum(f**3), u, t))
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-14)


def test_zeros_between_tangents_meet_no_partial():
    """What does not vary has derivative 0 where the partial is infinite; nothing is strong."""
    f = sd.sqrt(sd.concat([x, a, x * x]))
    found = sd.jvp(f, x, t)
    assert not any(isinstance(node.op, ops.Strong) for node in topological([found]))
    with np.errstate(divide="ignore"):
        at = nm.interpret(found, {x: np.ones(3), a: np.zeros(3), t: np.ones(3)})
    assert at.tolist() == [0.5] * 3 + [0.0] * 3 + [1.0] * 3


def test_a_contraction_runs_over_the_parts_that_vary():
    W = sd.symbol("W", (8, 4))
    found = sd.jvp(sd.concat([sd.sin(x), b, x]) @ W, x, t)
    assert not any(isinstance(node.op, ops.Concat) for node in topological([found]))
    at = rng.normal(size=(8, 4))
    full = np.concatenate([AT[t] * np.cos(AT[x]), np.zeros(2), AT[t]]) @ at
    np.testing.assert_allclose(nm.interpret(found, {**AT_OF(found), W: at}), full, rtol=1e-14)


def AT_OF(f):
    return {u: AT[u] for u in f.free_symbols if u in AT}


def test_slices_across_a_join_read_the_parts_that_vary():
    f = sd.concat([sd.sin(x), a, x, b])
    for cut in (slice(1, 7), slice(2, None, 3), slice(None, None, -1), slice(3, 6), slice(4, 9)):
        found = sd.jvp(f[cut], x, t)
        expected = np.concatenate([AT[t] * np.cos(AT[x]), np.zeros(3), AT[t], np.zeros(2)])[cut]
        np.testing.assert_array_equal(value(found), expected)
        after = sd.jvp(sd.sqrt(f[cut] - a[0]), x, t)
        at = {**AT, a: np.full(3, AT[x][0])}
        with np.errstate(all="ignore"):
            values = nm.interpret(after, {u: at[u] for u in after.free_symbols})
        assert not np.any(values[expected == 0] != 0)


@pytest.mark.parametrize("depth", [1, 4, 8, 9, 60])
def test_joins_of_any_depth(depth):
    f = x
    for _ in range(depth):
        f = sd.concat([f, b, x])
    found = sd.jvp(f, x, t)
    assert not pads(found)
    expected = AT[t]
    for _ in range(depth):
        expected = np.concatenate([expected, np.zeros(2), AT[t]])
    np.testing.assert_array_equal(value(found), expected)
    nodes = len(topological([sd.jvp(sd.exp(f), x, t)]))
    assert nodes <= 12 * depth + 40
    assert math.prod(found.shape) == 3 + 5 * depth


def test_parts_that_begin_at_one_place_are_added():
    """Where they end is a number and a length: which is further nobody knows."""
    n = sd.symbol("v", "n").shape[0]
    x = sd.symbol("x", n + 1)
    gradient = sd.grad(sd.sum(x[:1] ** 2) + sd.sum(x[:-1] ** 3), x)
    for at in ([3.0, 2.0, 5.0], [3.0, 2.0]):
        wanted = 3 * np.array([*at[:-1], 0.0]) ** 2
        wanted[0] += 2 * at[0]
        np.testing.assert_array_equal(nm.interpret(gradient, {x: np.array(at)}), wanted)
