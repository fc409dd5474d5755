"""``sd.batch``: the batch of a formula is the formula of each slice, stacked."""

from contextlib import suppress

import hypothesis.strategies as st
import mpmath as mp
import numpy as np
import pytest
from hypothesis import given

import numeric as nm
import symdiff as sd
from symdiff.graph import ops
from symdiff.graph.axes import shape_text
from symdiff.graph.node import topological
from tests.support import oracles, strategies
from tests.support.budget import sample
from tests.support.evaluation import evaluate
from tests.support.fields import EXACT, HIGH
from tests.support.refusals import refused

RATIONAL = sample(300)
ANY = sample(150)
COUNT = 3


@st.composite
def batches(draw, **words):
    """A program, several points for it, and which of its inputs differ between these."""
    program = draw(strategies.programs(**words))
    places = [draw(strategies.points(program)) for _ in range(COUNT)]
    mapped = draw(
        st.lists(st.booleans(), min_size=len(program.shapes), max_size=len(program.shapes))
    )
    if not any(mapped):
        mapped[0] = True
    for k, differs in enumerate(mapped):
        if not differs:
            for place in places[1:]:
                place[k] = places[0][k]
    return program, places, mapped


def batched(xs, outputs, mapped, length=COUNT):
    """The batch of the outputs, and what takes the place of the inputs."""
    new = [
        sd.symbol(f"{x.name}s", (length, *x.shape)) if differs else x
        for x, differs in zip(xs, mapped, strict=True)
    ]
    known = {x: z for x, z, differs in zip(xs, new, mapped, strict=True) if differs}
    free = {s for y in outputs for s in y.free_symbols}
    known = {x: z for x, z in known.items() if x in free}
    return (sd.batch(outputs, known) if known else None), new


def stacked(places, mapped):
    return [
        np.stack([place[k] for place in places]) if differs else places[0][k]
        for k, differs in enumerate(mapped)
    ]


def check(program, xs, outputs, places, mapped, field, tolerance=0):
    """The batch of the outputs has the values of the loop."""
    found, new = batched(xs, outputs, mapped)
    if found is None:  # none of the mapped inputs is left in the formula
        return
    values = evaluate(found, oracles.bound(new, stacked(places, mapped), field), field)
    loop = [evaluate(outputs, oracles.bound(xs, place, field), field) for place in places]
    for value, expected in zip(values, zip(*loop, strict=True), strict=True):
        oracles.agree(value, np.stack(expected), "batch", program, tolerance)


@pytest.mark.slow
@RATIONAL
@given(batches(rational=True))
def test_a_batch_is_the_stacked_loop_exactly(drawn):
    program, places, mapped = drawn
    xs = oracles.inputs_of(program)
    with suppress(oracles.Tie, ZeroDivisionError):
        for place in places:
            oracles.evaluate_strictly(program, place, EXACT)
        check(program, xs, [program.ours(xs)], places, mapped, EXACT)


@pytest.mark.slow
@ANY
@given(batches(rational=True, steps=4, largest=6))
def test_differentiating_and_batching_commute(drawn):
    """The gradient of the sum of all slices, by all slices, is the batch of the gradient."""
    program, places, _ = drawn
    xs = oracles.inputs_of(program)
    y = program.ours(xs)
    y = sd.sum(y) if y.shape else y
    gradients = sd.grad(y, xs)
    mapped = [True] * len(xs)
    found, new = batched(xs, [y], mapped)
    if found is None:
        return
    (of_each,) = found
    together = sd.grad(sd.sum(of_each), new)
    try:
        env = oracles.bound(new, stacked(places, mapped), EXACT)
        values = evaluate(together, env, EXACT)
        loop = [evaluate(gradients, oracles.bound(xs, p, EXACT), EXACT) for p in places]
    except ZeroDivisionError:
        return
    for value, expected in zip(values, zip(*loop, strict=True), strict=True):
        oracles.agree(value, np.stack(expected), "gradient of a batch", program)


@pytest.mark.slow
@ANY
@given(batches(rational=True, steps=4, largest=4))
def test_jacobians_are_batched_like_any_formula(drawn):
    program, places, mapped = drawn
    xs = oracles.inputs_of(program)
    with suppress(ZeroDivisionError):
        jacobians = [sd.jacobian(program.ours(xs), x) for x in xs]
        check(program, xs, jacobians, places, mapped, EXACT)


@pytest.mark.slow
@ANY
@given(batches(steps=4))
def test_a_batch_is_the_stacked_loop_at_high_precision(drawn):
    """Programs with any function, where their values are numbers."""
    program, places, mapped = drawn
    xs = oracles.inputs_of(program)
    tolerance = mp.mpf(10) ** (oracles.LOST_DIGITS - oracles.DIGITS)  # added up in another order
    with suppress(oracles.Tie, ArithmeticError, ValueError), mp.workdps(oracles.DIGITS):
        for place in places:
            oracles.evaluate_strictly(program, place, HIGH)
        check(program, xs, [program.ours(xs)], places, mapped, HIGH, tolerance)


# Decompositions -----------------------------------------------------------------------------------


def symmetric(a):
    n = a.shape[-1]
    return a @ sd.transpose(a) + n * sd.eye(n)


DECOMPOSITIONS = {
    "inv": lambda a: sd.inv(a),
    "det": lambda a: sd.det(a),
    "slogdet": lambda a: sd.slogdet(a)[1],
    "solve": lambda a: sd.solve(symmetric(a), a),
    "cholesky": lambda a: sd.cholesky(symmetric(a)),
    "eigvalsh": lambda a: sd.eigvalsh(symmetric(a)),
    "eigh": lambda a: sd.eigh(symmetric(a))[1] ** 2,
    "svd": lambda a: sd.svd(a)[1],
    "qr": lambda a: sd.qr(a)[1],
    "pinv": lambda a: sd.pinv(a),
    "expm": lambda a: sd.expm(a),
}


@pytest.mark.parametrize("name", [n for n in DECOMPOSITIONS if hasattr(sd, n)])
@pytest.mark.parametrize("order", [0, 1])
def test_decompositions_of_a_batch(name, order):
    """And their derivatives: one call of the decomposition of all slices."""
    a = sd.symbol("a", (3, 3))
    y = DECOMPOSITIONS[name](a)
    if order:
        y = sd.grad(sd.sum(y * y) if y.shape else y, a)
    whole = sd.symbol("A", (4, 3, 3))
    together = nm.lower(sd.batch(y, {a: whole}), [whole])
    alone = nm.lower(y, [a])
    at = np.random.default_rng(3).normal(size=(4, 3, 3)) + 2 * np.eye(3)
    np.testing.assert_allclose(together(at), np.stack([alone(m) for m in at]), rtol=1e-9, atol=1e-9)


def test_the_new_axis_comes_before_all_that_share_a_matrix():
    """Two axes of the right side share the matrix, so it is two places that the new one moves."""
    a, b, whole = sd.symbol("a", (3, 3)), sd.symbol("b", (2, 5, 3, 1)), sd.symbol("A", (4, 3, 3))
    y = sd.solve(a, b)
    together, alone = nm.lower(sd.batch(y, {a: whole}), [whole, b]), nm.lower(y, [a, b])
    rng = np.random.default_rng(5)
    at, right = rng.normal(size=(4, 3, 3)) + 2 * np.eye(3), rng.normal(size=(2, 5, 3, 1))
    expected = np.stack([alone(m, right) for m in at])
    np.testing.assert_allclose(together(at, right), expected, rtol=1e-9, atol=1e-9)


# What the contract says ---------------------------------------------------------------------------


def test_no_loop_is_written():
    """Graphs do not grow with the batch, whose length may be a letter."""
    A, x = sd.symbol("no_loop_A", (3, 3)), sd.symbol("no_loop_x", 3)
    y = sd.sum(sd.tanh(A @ x)) * 2
    # Fresh names: the order of operands is that in which they were made.
    rows = {n: sd.symbol(f"no_loop_{n}", (n, 3)) for n in (2, 100, "n")}
    sizes = {n: len(topological([sd.batch(y, {x: X})])) for n, X in rows.items()}
    assert len(set(sizes.values())) == 1
    named = sd.batch(y, {x: sd.symbol("X", ("n", 3))})
    assert shape_text(named.shape) == shape_text(("n",))
    rng = np.random.default_rng(0)
    a, xs = rng.normal(size=(3, 3)), rng.normal(size=(5, 3))
    found = nm.lower(named, [A, sd.symbol("X", ("n", 3))])(a, xs)
    np.testing.assert_allclose(found, 2 * np.tanh(xs @ a.T).sum(1))


def test_what_does_not_depend_on_the_batch_is_computed_once():
    A, x = sd.symbol("A", (3, 3)), sd.symbol("x", 3)
    y = sd.batch(sd.inv(A) @ x, {x: sd.symbol("X", (7, 3))})
    assert [n.shape for n in topological([y]) if isinstance(n.op, ops.Opaque)] == [(3, 3)]


def test_symbols_by_name_and_several_outputs():
    x, w = sd.symbols("x w")
    xs = sd.symbol("xs", 4)
    one, two = sd.batch((x * w, w + 1), {"x": xs})
    assert one is xs * w
    assert two.shape == (4,)  # the same for every slice
    assert sd.batch(x * w, {x: np.array([1.0, 2.0])}).shape == (2,)


def test_batches_of_batches():
    x, y = sd.symbols("x y")
    xs, ys = sd.symbol("xs", 2), sd.symbol("ys", 3)
    table = sd.batch(sd.batch(sd.sin(x * y), {y: ys}), {x: xs})
    at = np.array([1.0, 2.0]), np.array([3.0, 4.0, 5.0])
    np.testing.assert_allclose(nm.lower(table, [xs, ys])(*at), np.sin(np.outer(*at)))


def test_what_is_refused():
    x, y, n = sd.symbol("x", 3), sd.symbol("y"), sd.symbol("n", (2, 3))
    refused(
        (sd.ShapeError, "leading axis", lambda: sd.batch(x * 2, {x: y})),
        (sd.ShapeError, "leading axis", lambda: sd.batch(x * 2, {x: sd.symbol("z", (3, 2))})),
        (sd.ShapeError, "others are", lambda: sd.batch(x * y, {x: n, y: sd.symbol("z", 4)})),
        (ValueError, "nothing to replace", lambda: sd.batch(x * 2, {})),
        (ValueError, "no symbol is named", lambda: sd.batch(x * 2, {"q": n})),
        (TypeError, "not a symbol", lambda: sd.batch(x * 2, {3: n})),
    )
