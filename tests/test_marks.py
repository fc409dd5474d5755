"""Where zeros are masks and where they are numbers, against derivatives by scalar cells.

Values are 0, 1 or 4, so that roots meet infinite partials, and weights are often 0.  Below reads
and joins that ignore nothing the derivatives are those of IEEE arithmetic, nan included; where
something is ignored, they are finite wherever they can be.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import numeric as nm
import symdiff as sd
from tests.support.budget import sample
from tests.support.cases import all_cases
from tests.support.cells import cells, each, floats, pulled, pushed, sqrt

# A few roots, each rounded twice, and sums of terms of one sign.
ROUNDING = 64 * np.finfo(float).eps


class Step(NamedTuple):
    """An array from earlier ones: by symdiff, and by cells."""

    name: str
    operands: tuple[int, ...]
    ours: Any
    plain: Any


# A step of each kind: from (draw, shapes) to a Step, or None where nothing fits.  Shapes have rank
# 1 and 2 and no length is 0.


def _same(ours, plain=None):
    return ours, ours if plain is None else plain


def _root(draw, i, shapes):
    return Step("sqrt", (i,), sd.sqrt, lambda x: each(sqrt, x))


def _add(draw, i, shapes):
    j = draw(st.sampled_from([j for j, shape in enumerate(shapes) if shape == shapes[i]]))
    return Step("add", (i, j), lambda x, y: x + y, lambda x, y: each(lambda a, b: a + b, x, y))


def _flip(draw, i, shapes):
    axis = draw(st.integers(0, len(shapes[i]) - 1))
    return Step("flip", (i,), lambda x: sd.flip(x, axis), lambda x: np.flip(x, axis))


def _turn(draw, i, shapes):
    return Step("transpose", (i,), lambda x: x.T, lambda x: x.T)


def _ravel(draw, i, shapes):
    return Step("ravel", (i,), lambda x: sd.reshape(x, -1), lambda x: x.reshape(-1))


def _order(draw, i, shapes):
    order = list(draw(st.permutations(range(shapes[i][0]))))
    return Step("permuted", (i,), lambda x: x[order], lambda x: x[order])


def _sorted(draw, i, shapes):
    def plain(x):
        places = np.argsort(floats(x), axis=-1, kind="stable")
        return np.take_along_axis(x, places, -1)

    return Step("sort", (i,), sd.sort, plain)


def _joined(draw, i, shapes):
    axis = draw(st.integers(0, len(shapes[i]) - 1))
    name = draw(st.sampled_from(["concat", "stack"]))
    fits = [j for j, shape in enumerate(shapes) if shape == shapes[i]]
    parts = (i, *draw(st.lists(st.sampled_from(fits), min_size=1, max_size=2)))
    if name == "stack" and len(shapes[i]) == 2:
        return None
    plain = {"concat": np.concatenate, "stack": np.stack}[name]
    ours = {"concat": sd.concat, "stack": sd.stack}[name]
    return Step(name, parts, lambda *xs: ours(xs, axis), lambda *xs: plain(xs, axis))


# Slices that together cover an axis of length n, some of them by one cut in two.
CUTS: dict[str, Any] = {
    "parts": lambda n, at: [slice(0, at), slice(at, n)],
    "overlap": lambda n, at: [slice(0, max(n - 1, 1)), slice(min(1, n - 1), n)],
    "comb": lambda n, at: [slice(0, n, 2), slice(1, n, 2)],
    "turned": lambda n, at: [slice(k, k + 1) for k in reversed(range(n))],
    "elements": lambda n, at: [slice(k, k + 1) for k in range(n)],
}


def _cut(draw, i, shapes):
    """Slices that cover an axis, joined again, up to three times; at last through roots or not."""
    axis = draw(st.integers(0, len(shapes[i]) - 1))
    n = shapes[i][axis]
    whole = (slice(None),) * axis
    levels: list[list[Any]] = []
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(list(CUTS)))
        keys = CUTS[kind](n, draw(st.integers(0, n)))
        levels.append(keys)
        n = sum(len(range(n)[key]) for key in keys)
    rooted = draw(st.lists(st.booleans(), min_size=len(keys), max_size=len(keys)))

    def through(join, root):
        def run(x):
            for keys in levels:
                parts = [x[(*whole, key)] for key in keys]
                if keys is levels[-1]:
                    parts = [root(p) if r else p for p, r in zip(parts, rooted, strict=True)]
                x = join(parts, axis)
            return x

        return run

    return Step(
        "".join(f"[{k.start}:{k.stop}:{k.step or 1}]" for k in levels[-1]) + f" of {len(levels)}",
        (i,),
        through(sd.concat, sd.sqrt),
        through(np.concatenate, lambda x: each(sqrt, x)),
    )


def _summed(draw, i, shapes):
    if len(shapes[i]) == 1:
        return None
    axis = draw(st.integers(0, 1))
    return Step("sum", (i,), lambda x: sd.sum(x, axis=axis), lambda x: np.add.reduce(x, axis=axis))


COVERING = [_root, _root, _add, _flip, _turn, _ravel, _order, _sorted, _joined, _joined, _cut, _cut]
COVERING += [_summed]


def _sliced(draw, i, shapes):
    axis = draw(st.integers(0, len(shapes[i]) - 1))
    step = draw(
        st.sampled_from([slice(0, 1), slice(1, None), slice(None, None, 2), slice(-1, 0, -1)])
    )
    if not len(range(*step.indices(shapes[i][axis]))):
        return None
    key = (*(slice(None),) * axis, step)
    return Step("slice", (i,), lambda x: x[key], lambda x: x[key])


def _taken(draw, i, shapes):
    index = draw(st.lists(st.integers(0, shapes[i][0] - 1), min_size=1, max_size=3))
    return Step("take", (i,), lambda x: x[index], lambda x: x[index])


def _placed(draw, i, shapes):
    """Beside constants, on either side: zeros where roots are infinite."""
    axis = draw(st.integers(0, len(shapes[i]) - 1))
    first = draw(st.booleans())
    constant = np.zeros(shapes[i])

    def ours(x):
        parts = [sd.constant(constant), x]
        return sd.concat(parts if first else parts[::-1], axis)

    def plain(x):
        parts = [cells(constant), x]
        return np.concatenate(parts if first else parts[::-1], axis)

    return Step("beside constants", (i,), ours, plain)


def _where(draw, i, shapes):
    size = int(np.prod(shapes[i]))
    flags = draw(st.lists(st.booleans(), min_size=size, max_size=size))
    mask = np.array(flags).reshape(shapes[i])
    j = draw(st.sampled_from([j for j, shape in enumerate(shapes) if shape == shapes[i]]))
    return Step(
        "where",
        (i, j),
        lambda x, y: sd.where(sd.constant(mask), x, y),
        lambda x, y: np.where(mask, x, y),
    )


def _triangle(draw, i, shapes):
    if len(shapes[i]) == 1:
        return None
    k = draw(st.integers(-1, 1))

    def plain(x):
        kept = np.tri(*x.shape, k) > 0
        return np.where(kept, x, cells(np.zeros(x.shape)))

    return Step("tril", (i,), lambda x: sd.tril(x, k), plain)


def _diagonal(draw, i, shapes):
    if len(shapes[i]) == 2:
        if len(set(shapes[i])) == 2:
            return None
        return Step("diagonal", (i,), lambda x: sd.einsum("ii->i", x), lambda x: np.diagonal(x))

    def plain(x):
        out = cells(np.zeros(x.shape * 2))
        np.fill_diagonal(out, x)
        return out

    return Step("diag", (i,), sd.diag, plain)


SELECTING = [*COVERING, _sliced, _sliced, _taken, _placed, _placed, _where, _triangle, _diagonal]


class Program(NamedTuple):
    """Inputs, steps, and an output weighted by a symbol; with the values of all."""

    points: list[Any]
    steps: list[Step]
    weights: Any
    tangents: list[Any]

    def run(self, inputs, ours):
        """The last value, from expressions or arrays of cells."""
        values = list(inputs)
        for step in self.steps:
            values.append((step.ours if ours else step.plain)(*(values[i] for i in step.operands)))
        return values[-1]

    def __repr__(self):
        steps = "; ".join(f"{s.name}{s.operands}" for s in self.steps)
        return f"{steps} at {self.points}, weights {self.weights}, tangents {self.tangents}"


def _array(draw, shape, values):
    size = int(np.prod(shape))
    return np.array(
        draw(st.lists(st.sampled_from(values), min_size=size, max_size=size)), float
    ).reshape(shape)


@st.composite
def programs(draw, kinds):
    shape = draw(st.sampled_from([(1,), (2,), (3,), (4,), (2, 2), (2, 3)]))
    shapes = [shape] * draw(st.integers(1, 2))
    points = [_array(draw, shape, [0.0, 1.0, 4.0]) for shape in shapes]
    arrays = [cells(point) for point in points]
    steps: list[Step] = []
    wanted = draw(st.integers(2, 6))
    for _ in range(3 * wanted):
        if len(steps) == wanted:
            break
        i = draw(st.sampled_from(range(len(shapes))[::-1]))
        step = draw(st.sampled_from(kinds))(draw, i, shapes)
        if step is None:
            continue
        result = step.plain(*(arrays[j] for j in step.operands))
        if result.size > 24:
            continue
        steps.append(step)
        arrays.append(result)
        shapes.append(result.shape)
    weights = _array(draw, shapes[-1], [0.0, 0.0, 1.0, 2.0])
    tangents = [_array(draw, point.shape, [0.0, 0.0, 1.0, 2.0]) for point in points]
    return Program(points, steps, weights, tangents)


def derivatives(program):
    """By the library: cotangents, a tangent, a second derivative; cotangents of ``lower``.

    Interpreted and lowered derivatives are equal.  What ``lower`` differentiates itself reads few
    rows first, ``sqrt(x[[3]])`` for ``sqrt(x)[[3]]``, so that a zero may meet an infinite partial.
    """
    xs = [sd.symbol(f"x{i}", p.shape) for i, p in enumerate(program.points)]
    ts = [sd.symbol(f"t{i}", p.shape) for i, p in enumerate(program.points)]
    w = sd.symbol("w", program.weights.shape)
    f = program.run(xs, True)
    first = list(sd.vjp(f, xs, w))
    tangent = sd.jvp(f, xs, ts)
    second = list(sd.vjp(first, xs, ts))
    outputs = [*first, tangent, *second]
    values = [*program.points, *program.tangents, program.weights]
    with np.errstate(all="ignore"):
        found = nm.interpret(outputs, dict(zip([*xs, *ts, w], values, strict=True)))
        lowered = nm.lower(outputs, [*xs, *ts, w])(*values)
        backward = nm.lower(f, xs)
        again = backward.backward(backward.forward(*program.points)[1], program.weights)
    n = len(xs)
    for a, b in zip(found, lowered, strict=True):
        assert np.array_equal(a, b, equal_nan=True), program
    return found[:n], found[n], found[n + 1 :], again


def expected(program):
    """The same by cells."""
    xs = [cells(point) for point in program.points]
    f = program.run(xs, False)
    first = pulled(f, xs, cells(program.weights))
    tangent = pushed(f, list(zip(xs, program.tangents, strict=True)))
    joint = np.concatenate([g.ravel() for g in first])
    seeds = cells(np.concatenate([t.ravel() for t in program.tangents]))
    second = pulled(joint, xs, seeds)
    return [floats(g) for g in first], tangent, [floats(h) for h in second]


def finite(x):
    """Numbers, or nan.

    Two flows, 0 and 1, that meet below an infinite partial are inf there; if they meet behind it,
    nan.  Where they meet depends on which nodes are equal (``sqrt(x)`` twice is one) and on what
    merges (``sqrt(sqrt(x))`` is a power of x), of which cells know nothing.  Both are never finite.
    """
    return np.where(np.isfinite(x), x, np.nan)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@sample(150)
@given(programs(COVERING))
def test_what_ignores_nothing_is_ieee_arithmetic(program):
    first, tangent, _, again = derivatives(program)
    wanted, moved, _ = expected(program)
    for a, b in zip(first, again, strict=True):
        assert np.array_equal(a, b, equal_nan=True), program
    for found, exact in zip([*first, tangent], [*wanted, moved], strict=True):
        np.testing.assert_allclose(
            finite(found), finite(exact), rtol=ROUNDING, err_msg=repr(program)
        )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@sample(300)
@given(programs(SELECTING))
def test_what_is_ignored_is_not_there(program):
    first, tangent, second, again = derivatives(program)
    wanted, moved, curved = expected(program)
    exacts = [*wanted, moved, *curved, *wanted]
    for found, exact in zip([*first, tangent, *second, *again], exacts, strict=True):
        found, sure = np.asarray(found), np.isfinite(exact)
        np.testing.assert_allclose(found[sure], exact[sure], rtol=ROUNDING, err_msg=repr(program))


@pytest.mark.parametrize("n", [1, 4])
@all_cases("kinds", list(itertools.product(list(CUTS)[:4], repeat=3)), least=64)
def test_what_covers_in_several_steps_leaves_no_mark(kinds, n):
    def cut(x):
        for kind in kinds:
            x = sd.concat([x[key] for key in CUTS[kind](x.shape[0], 1)])
        return x

    x, t, c = sd.symbol("x", n), sd.symbol("t", n), sd.symbol("c", n + 2)
    before, after, inside = cut(sd.sqrt(x)), sd.sqrt(cut(x)), cut(sd.sqrt(c)[:n])
    w = sd.symbol("w", before.shape)
    outputs = [sd.vjp(before, x, w), sd.jvp(after, x, t), sd.vjp(inside, c, w)]
    zeros = {s: np.zeros(s.shape) for s in (x, t, c, w)}
    with np.errstate(all="ignore"):
        *whole, part = nm.interpret(outputs, zeros)
    assert np.isnan(whole[0]).all()
    assert np.isnan(whole[1]).all()
    assert not part[n:].any()  # these are ignored


@pytest.mark.parametrize("running", [sd.cumsum, sd.cumprod, sd.logcumsumexp])
def test_what_a_part_of_a_running_result_leaves_out_is_not_there(running):
    x = sd.symbol("x", 4)
    of_part = sd.grad(sd.sum(running(sd.sqrt(x))[:2]), x)
    of_first = sd.grad(sd.sum(running(sd.sqrt(x[:2]))), x)
    at = {x: np.array([1.0, 2.0, 3.0, 0.0])}
    np.testing.assert_array_equal(nm.interpret(of_part, at), nm.interpret(of_first, at))
