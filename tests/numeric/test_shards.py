"""Shards: what they compute is what the whole computes, and what they cannot is refused.

Random programs are of small integers and steps that are exact: values are bitwise NumPy's of all
rows, which know nothing of shards.
"""

from __future__ import annotations

import pickle
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import numeric as nm
import symdiff as sd
from numeric.shards import ShardError
from numeric.shards.subtotals import ShardProgram, Subtotal, groups
from symdiff import NotAdditive, ShapeError
from symdiff.transforms.row_sums import row_sums
from tests.support.budget import sample
from tests.support.refusals import refused

X, y, w, lam = (
    sd.symbol("X", ("n", 3)),
    sd.symbol("y", "n"),
    sd.symbol("w", 3),
    sd.symbol("lam"),
)
k, table = sd.symbol("k", "n", dtype=int), sd.symbol("table", 4)
z = X @ w
RNG = np.random.default_rng(3)
ROWS = 23
DATA = {
    "X": RNG.normal(size=(ROWS, 3)),
    "y": RNG.normal(size=ROWS),
    "k": RNG.integers(0, 4, ROWS),
    "w": RNG.normal(size=3),
    "lam": 0.75,
    "table": RNG.normal(size=4),
}
CUTS = (0, 5, 5, 9, 10, 16, 16, 23)  # uneven ones, empty ones, one of a row


def cut(x, cuts=CUTS):
    return [x[i:j] for i, j in pairwise(cuts)]


def in_shards(inputs, cuts=CUTS):
    return {x.name: cut(DATA[x.name], cuts) if "n" in x.shape else DATA[x.name] for x in inputs}


# Random programs ----------------------------------------------------------------------------------


# Steps of rows, which make rows; each is run with NumPy and with symdiff.
BY_ROW = {
    "add": lambda np, a, b: a + b,
    "multiply": lambda np, a, b: a * b,
    "square": lambda np, a, b: a * a - b,
    "largest": lambda np, a, b: np.maximum(a, b),
    "absolute": lambda np, a, b: np.abs(a) - 1,
    "where": lambda np, a, b: np.where(a > b, a, 2),
    "stacked": lambda np, a, b: np.max(np.stack([a, b, a - b], axis=1), axis=1),
    "column": lambda np, a, b: np.stack([a, b], axis=1)[:, 1] + b,
    "turned": lambda np, a, b: np.flip(np.stack([a, b], axis=0), axis=0)[0],
    "running": lambda np, a, b: np.cumsum(np.stack([a, b], axis=1), axis=1)[:, 1],
}
# Sums over rows of all kinds.
OF_ROWS = {
    "sum": lambda np, a, b: np.sum(a),
    "dot": lambda np, a, b: a @ b,
    "max": lambda np, a, b: np.max(a),
    "min": lambda np, a, b: np.min(a),
    "count": lambda np, a, b: np.sum(np.where(a > b, 1, 0)),
    "gram": lambda np, a, b: np.sum(np.stack([a, b], axis=1).T @ np.stack([a, b], axis=1)),
}
# Steps along the rows, which shards cannot take.
ALONG = {
    "before": lambda np, a, b: np.concatenate([a[1:], b[:1]]),
    "sorted": lambda np, a, b: np.sort(a),
    "summed up": lambda np, a, b: np.cumsum(a),
    "back": lambda np, a, b: np.flip(a),
    "pairs": lambda np, a, b: np.sum(np.maximum(a[:, None], b[None, :]), axis=1),
    "first": lambda np, a, b: a * b[0],
    "stacked": lambda np, a, b: np.reshape(np.stack([a, b]), (-1, 2))[:, 0],
}


@st.composite
def programs(draw):
    """Steps: names, places of operands counted back; a constant; what is taken of which rows."""
    count = draw(st.integers(1, 7))
    names = [draw(st.sampled_from(["row"] * 5 + ["centred"] * 3 + ["along"])) for _ in range(count)]
    kinds = {"row": sorted(BY_ROW), "centred": sorted(OF_ROWS), "along": sorted(ALONG)}
    steps = [
        (kind, draw(st.sampled_from(kinds[kind])), draw(st.integers(1, 3)), draw(st.integers(1, 3)))
        for kind in names
    ]
    return steps, draw(st.sampled_from(sorted(OF_ROWS)))


def run(np, program, a, b, c):
    """The value, a number; a centred step takes a number of all rows away from each."""
    steps, last = program
    rows = [a, b, a - b]
    for kind, name, i, j in steps:
        p, q = rows[-i], rows[-j]
        if kind == "row":
            rows.append(BY_ROW[name](np, p, q))
        elif kind == "centred":
            rows.append(p - OF_ROWS[name](np, p, q) * c)
        else:
            rows.append(ALONG[name](np, p, q))
    return OF_ROWS[last](np, rows[-1], rows[-2]) * c


def small(array):
    return np.all(np.abs(array) < 2.0**40)


@pytest.mark.slow
@sample(120)
@given(
    programs(),
    st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=1, max_size=12),
    st.lists(st.integers(0, 12), max_size=4),
    st.integers(-2, 2),
)
def test_shards_compute_what_the_whole_does(program, rows, cuts, c):
    a, b = sd.symbols("shard_a shard_b", "n")
    s = sd.symbol("shard_c")
    f = run(sd, program, a, b, s)
    if isinstance(f, int | float) or any(kind == "along" for kind, *_ in program[0]):
        # Whether a step along the rows is in the result is not known here: it may be unused.
        try:
            S = nm.sharded(f, [a, b, s], over="n")
        except (NotAdditive, TypeError):
            return
    else:
        S = nm.sharded(f, [a, b, s], over="n")  # nothing else is refused
    given_a, given_b = np.array(rows, float).T
    expected = run(np, program, given_a, given_b, float(c))
    if not small(expected):
        return
    cuts = [0, *sorted(min(at, len(rows)) for at in cuts), len(rows)]
    found, slope = S.value_and_grad(cut(given_a, cuts), cut(given_b, cuts), float(c), wrt=s)
    assert found == expected
    whole = nm.lower(f, [a, b, s]).value_and_grad(given_a, given_b, float(c), wrt=s)
    np.testing.assert_allclose(slope, whole[1], rtol=1e-13, atol=1e-9)


@pytest.mark.parametrize("name", sorted(ALONG))
def test_a_step_along_the_rows_is_refused(name):
    f = sd.sum(ALONG[name](sd, y, X[:, 0]) * y)
    with pytest.raises(NotAdditive) as refusal:
        nm.sharded(f, [X, y], over="n")
    assert refusal.value.node in set(sd.nodes(f))
    assert pickle.loads(pickle.dumps(refusal.value)).node is refusal.value.node


def test_what_nobody_knows_is_refused():
    square, pair = sd.symbol("square", ("n", "n")), sd.symbol("pair", ("n", 2))
    met = sd.sum(sd.tanh(sd.einsum("ij,kj->i", X, X)))
    even = sd.sum(pair.reshape((2, -1))[0] ** 2)
    refused(
        (NotAdditive, "pair of rows", lambda: nm.sharded(sd.sum(X @ X.T), [X], over="n")),
        (NotAdditive, "pair of rows", lambda: nm.sharded(sd.trace(square), [square], over="n")),
        (NotAdditive, "brings pairs of rows together", lambda: nm.sharded(met, [X], over="n")),
        (NotAdditive, "reshape|axis", lambda: nm.sharded(even, [pair], over="n")),
        (NotAdditive, "cumprod goes", lambda: nm.sharded(sd.sum(sd.cumprod(y)), [y], over="n")),
        (NotAdditive, "an axis of length n - 1", lambda: nm.sharded(sd.sum(y[1:]), [y], over="n")),
        (
            NotAdditive,
            "prod_others goes",
            lambda: nm.sharded(sd.prod(y * lam), [y, lam], over="n").value_and_grad([DATA["y"]], 2),
        ),
    )


# Models -------------------------------------------------------------------------------------------

# A loss, and how often its value reads the data.
MODELS = {
    "logistic with a ridge": (sd.sum(sd.softplus(z) - y * z) + lam * sd.sum(w**2), 1),
    "mean of squares": (sd.mean((z - y) ** 2) + lam * sd.sum(w**2), 1),
    "weighted": (sd.sum(y * sd.tanh(z)) * lam, 1),
    "standard deviation": (sd.std(z) * lam, 2),
    "logsumexp over rows": (sd.logsumexp(z) * lam, 1),
    "softmax of each row": (sd.sum(sd.logsumexp(X * w, axis=-1)) * lam, 1),
    "largest": (sd.max(z) * lam + sd.min(z * y), 1),
    "standardised": (sd.sum(sd.tanh((z - sd.mean(z)) / sd.std(z) * y)) * lam, 3),
    "Gram matrix": (sd.trace(sd.inv(X.T @ X + lam * sd.eye(3))) * sd.sum(w), 1),
    "whitened": (sd.sum(sd.tanh(X @ sd.inv(X.T @ X + lam * sd.eye(3)) @ w)), 2),
    "columns": (sd.sum(sd.tanh(X[:, 1:] @ w[1:] * X[:, 0])) * lam, 1),
    "joined": (sd.sum(sd.concat([X, sd.stack([y, y], axis=1)], axis=1) ** 2) * lam * w[0], 1),
    "a mean inside a sum": (sd.sum(sd.tanh(z / sd.sum(y**0))) * lam, 1),
    "look-up": (sd.sum(table[k] * z) + lam * sd.sum(table**2), 1),
    "counts": (sd.sum(sd.where(z > 0, z, 0)) / (1 + sd.sum(sd.where(z > 0, 1, 0))) * lam, 1),
}


@pytest.mark.parametrize("name", MODELS)
def test_shards_have_the_derivatives_of_the_whole(name):
    f, passes = MODELS[name]
    inputs = sd.free_symbols(f)
    by = [x for x in inputs if "n" not in x.shape]
    S, F = nm.sharded(f, inputs, over="n"), nm.lower(f, inputs)
    data, all_rows = in_shards(inputs), {x.name: DATA[x.name] for x in inputs}
    assert S.passes == passes
    close = {"rtol": 1e-11, "atol": 1e-11}
    np.testing.assert_allclose(S(**data), F(**all_rows), **close)
    value, gradient = S.value_and_grad(**data)
    expected = F.value_and_grad(**all_rows, wrt=by)
    np.testing.assert_allclose(value, expected[0], **close)
    for g, e in zip(gradient, expected[1], strict=True):
        np.testing.assert_allclose(g, e, **close)
    if w in set(inputs):
        hessian = F.hessian(**all_rows, wrt=w)
        np.testing.assert_allclose(S.hessian(**data, wrt=w), hessian, **close)
        product = S.hvp(np.array([1.0, -2.0, 0.5]), **data, wrt="w")
        np.testing.assert_allclose(product, hessian @ [1.0, -2.0, 0.5], **close)


def test_blocks_of_a_hessian_and_products_with_several():
    f = sd.sum(sd.tanh(z * lam) * y)
    S, F = nm.sharded(f, [X, y, w, lam], over="n"), nm.lower(f, [X, y, w, lam])
    data, whole = in_shards([X, y, w, lam]), [DATA[name] for name in ("X", "y", "w", "lam")]
    blocks, expected = S.hessian(**data, wrt=[w, lam]), F.hessian(*whole, wrt=[w, lam])
    tangents = (np.array([1.0, 0.0, -1.0]), 2.0)
    products = S.hvp(tangents, **data, wrt=[w, lam])
    for i in range(2):
        for j in range(2):
            np.testing.assert_allclose(blocks[i][j], expected[i][j], rtol=1e-11, atol=1e-12)
        wanted = np.dot(expected[i][0], tangents[0]) + np.dot(expected[i][1], tangents[1])
        np.testing.assert_allclose(products[i], wanted, rtol=1e-11, atol=1e-12)


def test_gauss_newton_products():
    prediction = sd.tanh(z)
    f = sd.sum((prediction - y) ** 2) / 2 + lam * sd.sum(w**2)
    S = nm.sharded(f, [X, y, w, lam], over="n")
    v = np.array([1.0, -2.0, 0.5])
    found = S.gauss_newton_product(v, **in_shards([X, y, w, lam]), of=prediction, wrt=w)
    slope = 1 - np.tanh(DATA["X"] @ DATA["w"]) ** 2
    J = slope[:, None] * DATA["X"]
    np.testing.assert_allclose(found, J.T @ (J @ v) + 2 * DATA["lam"] * v, rtol=1e-12)


def test_several_outputs_and_arguments_by_place():
    S = nm.sharded([sd.sum(y), X.T @ X, lam * 2], [X, y, lam], over="n")
    total, gram, twice = S(cut(DATA["X"]), y=cut(DATA["y"]), lam=2.0)
    np.testing.assert_allclose(total, DATA["y"].sum(), rtol=1e-14)
    np.testing.assert_allclose(gram, DATA["X"].T @ DATA["X"], rtol=1e-13)
    assert twice == 4.0
    assert repr(S) == "<Sharded over n: X, y in shards; lam>"


def test_lengths_that_only_shards_know():
    Z, q = sd.symbol("Z", ("n", "d")), sd.symbol("q")
    S = nm.sharded(sd.mean(Z**2) * q + sd.std(Z), [Z, q], over="n")
    whole = RNG.normal(size=(ROWS, 4))
    value, (slope,) = S.value_and_grad(cut(whole), 2.0)
    np.testing.assert_allclose(value, np.mean(whole**2) * 2 + np.std(whole), rtol=1e-13)
    np.testing.assert_allclose(slope, np.mean(whole**2), rtol=1e-13)
    with pytest.raises(
        TypeError, match=r"Z is float64 \(n, 4\) in shard 0 and float64 \(n, 1\) in"
    ):
        S([whole, whole[:, :1]], 2.0)


def test_symbols_may_have_the_names_of_sums():
    a, b, n = sd.symbol("sum0", "n"), sd.symbol("given0"), sd.symbol("n")
    S = nm.sharded(sd.sum((a - sd.mean(a)) ** 2) * b, [a, b], over="n")
    assert S([np.array([1.0, 2.0]), np.array([6.0])], 2.0) == 14 * 2
    with pytest.raises(ShapeError, match="n"):
        nm.sharded(sd.sum(a) * n, [a, n], over="n")


def test_rows_of_a_shard_are_counted():
    """Whoever computes it: what Dask has is not known before."""
    program = nm.sharded(sd.sum(y) + sd.sum(X), [X, y], over="n")._value.walks[0].program
    with pytest.raises(ShardError, match=r"shard 4: .*the axis n, differ: X has 3, y has 2"):
        program.subtotal(4, (), np.ones((3, 3)), np.ones(2))
    with pytest.raises(ShardError, match=r"shard 4: .*X has shape \(\); its axis 0"):
        program.subtotal(4, (), 1.0, np.ones(2))


# Bits and dtypes ----------------------------------------------------------------------------------


def test_bits_depend_on_the_cuts_alone():
    f = sd.std(sd.tanh(y)) + sd.logsumexp(y) + lam * sd.sum(sd.exp(y))
    cuts = [*range(0, ROWS + 1, 2), ROWS]
    data = cut(DATA["y"], cuts)

    class Late:
        """An executor that computes nothing before it is asked for, and then in reverse."""

        def __init__(self):
            self.waiting = []

        def submit(self, call, *args):
            future = Future()
            future.result = lambda timeout=None: self.all() or Future.result(future)
            self.waiting.append((future, call, args))
            return future

        def all(self):
            while self.waiting:
                future, call, args = self.waiting.pop()
                future.set_result(call(*args))

    found = []
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(3) as three:
        for executor in (None, one, three, Late()):
            S = nm.sharded(f, [y, lam], over="n", executor=executor)
            found.append(S.value_and_grad(data, 0.5))
    assert all(repr(other) == repr(found[0]) for other in found)


def test_bits_do_not_depend_on_where_rows_lie_in_memory():
    """What comes over a wire may begin at any byte, and what was a view is none there."""
    rows, deep = RNG.normal(size=(30_000, 3)), sd.symbol("deep", ("n", 4, 3))

    def moved(x):
        there = np.zeros(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
        there[...] = x
        return there

    wide = np.zeros((30_000, 6))
    wide[:, ::2] = rows
    S = nm.sharded(sd.sum(sd.tanh(z)) + sd.sum(X), [X, w], over="n")
    here, *others = [
        repr(S.value_and_grad([part], at))
        for part, at in [
            (rows, DATA["w"]),
            (moved(rows), moved(DATA["w"])),
            (wide[:, ::2], DATA["w"]),
        ]
    ]
    assert here == others[0] == others[1]
    turned = RNG.normal(size=(4, 3_000, 3)).transpose(1, 0, 2)
    total = nm.sharded(sd.sum(deep), [deep], over="n")
    assert total([turned]) == total([np.ascontiguousarray(turned)])


@pytest.mark.parametrize("count", range(1, 40))
def test_neighbours_are_joined_alike_in_groups_and_one_by_one(count):
    program = ShardProgram(None, (), ("add",), "n")
    subtotals = [Subtotal(i, 1, (), (1 / (i + 1),)) for i in range(count)]
    levels = subtotals
    while len(levels) > 1:
        levels = [program.joined(group) for group in groups(levels)]
    one_by_one = program.joined_in_order(iter(subtotals))
    assert levels[0] == one_by_one == program.joined(subtotals)
    assert one_by_one.rows == count
    np.testing.assert_allclose(one_by_one.values[0], sum(1 / (i + 1) for i in range(count)))


def test_single_precision_stays():
    S = nm.sharded(sd.sum(sd.tanh(z)), [X, w], over="n")
    value, (gw,) = S.value_and_grad(
        [x.astype(np.float32) for x in cut(DATA["X"])], DATA["w"].astype(np.float32)
    )
    assert value.dtype == gw.dtype == np.float32


def test_no_rows_at_all():
    nothing = [np.zeros(0), np.zeros(0)]
    assert nm.sharded(sd.sum(y), [y], over="n")(nothing) == 0
    with pytest.raises(ShardError, match="no element"):
        nm.sharded(sd.max(y), [y], over="n")(nothing)


# Executors ----------------------------------------------------------------------------------------


def test_processes_get_the_program_and_the_rows():
    f = sd.mean((z - y) ** 2) + lam * sd.sum(w**2) + MODELS["standardised"][0]
    data = in_shards([X, y, w, lam])
    here = nm.sharded(f, [X, y, w, lam], over="n").value_and_grad(**data, wrt=w)
    with ProcessPoolExecutor(2) as processes:
        S = nm.sharded(f, [X, y, w, lam], over="n", executor=processes)
        there = S.value_and_grad(**data, wrt=w)
    np.testing.assert_allclose(there[1][0], here[1][0], rtol=1e-13)


def test_a_program_is_unpickled_once():
    program = nm.sharded(sd.sum(y), [y], over="n")._value.walks[0].program
    text = pickle.dumps(program)
    assert pickle.loads(text) is pickle.loads(text)
    assert pickle.loads(text).subtotal(0, (np.zeros((3, 0)),), np.ones(3)).values == (3.0,)


def test_progress_is_told_of_every_shard_in_every_pass():
    told = []
    S = nm.sharded(
        sd.std(y), [y], over="n", progress=lambda done, total: told.append((done, total))
    )
    S(cut(DATA["y"], (0, 9, ROWS)))
    assert told == [(1, 2), (2, 2)] * 2


def test_a_failing_shard_is_named_and_the_others_are_cancelled():
    data = cut(DATA["X"], (0, 9, 12, ROWS))
    data[1] = data[1][:, :2]
    S = nm.sharded(sd.sum(z), [X, w], over="n")
    with pytest.raises(ShardError, match=r"shard 1: ShapeError: .*X") as failure:
        S(data, DATA["w"])
    assert failure.value.shard == 1
    assert isinstance(failure.value.__cause__, ShapeError)
    assert pickle.loads(pickle.dumps(failure.value)).shard == 1
    assert S(cut(DATA["X"]), DATA["w"]) == pytest.approx(np.sum(DATA["X"] @ DATA["w"]))


# Bad input ----------------------------------------------------------------------------------------


def test_bad_input():
    S = nm.sharded(sd.sum(z * y) + lam, [X, y, w, lam], over="n")
    rows, ys, ws = cut(DATA["X"]), cut(DATA["y"]), DATA["w"]
    single = [part.astype(np.float32) if i == 3 else part for i, part in enumerate(ys)]
    square = sd.symbol("square", ("n", "n"))
    half = sd.symbol("half", sd.symbol("h", "n").shape[0] // 2)
    refused(
        (ShapeError, r"inputs with an axis m: none", lambda: nm.sharded(z @ z, [X, w], over="m")),
        (
            ShapeError,
            r"axis n: y \('n',\), half",
            lambda: nm.sharded(sd.sum(y), [y, half], over="n"),
        ),
        (NotAdditive, "pair of rows", lambda: nm.sharded(sd.sum(square), [square], over="n")),
        (NotAdditive, "a result has the axis n", lambda: nm.sharded(z, [X, w], over="n")),
        (TypeError, "is not a symbol", lambda: nm.sharded(sd.sum(z), [X, z], over="n")),
        (ValueError, "X has 7, y has 6", lambda: S(rows, ys[1:], ws, 1.0)),
        (ValueError, "shard 0: X has 5 rows, y has 0", lambda: S(rows, ys[1:] + ys[:1], ws, 1.0)),
        (ValueError, "there are no shards", lambda: S([], [], ws, 1.0)),
        (
            TypeError,
            r"y is float64 \(n\) in shard 2 and float32 \(n\) in shard 3",
            lambda: S(rows, single, ws, 1.0),
        ),
        (TypeError, r"give a list of its shards.*\[X\] is one", lambda: S(DATA["X"], ys, ws, 1.0)),
        (TypeError, "no argument for w, lam", lambda: S(rows, ys)),
        (TypeError, "'v' is not an input; those are", lambda: S(rows, ys, ws, v=1.0)),
        (TypeError, "X is given twice", lambda: S(rows, ys, ws, 1.0, X=rows)),
        (TypeError, "4 arguments expected, 5 given", lambda: S(rows, ys, ws, 1.0, 2.0)),
        (ValueError, "X is in shards", lambda: S.value_and_grad(rows, ys, ws, 1.0, wrt=X)),
        (ValueError, "'q' is not an input", lambda: S.value_and_grad(rows, ys, ws, 1.0, wrt="q")),
        (TypeError, "1 tangents expected", lambda: S.hvp((ws, ws), rows, ys, ws, 1.0, wrt=[w])),
        (
            ShapeError,
            "the output must be one scalar",
            lambda: nm.sharded([sd.sum(y)], [y], over="n").value_and_grad([DATA["y"]]),
        ),
        (
            ValueError,
            "expects a part of",
            lambda: S.gauss_newton_product(ws, rows, ys, ws, 1.0, of=sd.sin(z), wrt=w),
        ),
    )


def test_what_a_length_is_computed_from_is_refused():
    Z = sd.symbol("Z", ("n", "d"))
    S = nm.sharded(sd.sum(Z) * sd.symbol("q", Z.shape[0] * Z.shape[1]).size, [Z], over="n")
    assert S([np.ones((2, 3)), np.ones((1, 3))]) == 81
    with pytest.raises(NotAdditive, match="computed from the length n"):
        row_sums([sd.sum(y) * sd.symbol("q", y.shape[0] // 2).size], "n")


def test_one_input_needs_no_list():
    alone = nm.sharded(sd.sum(y**2), y, over="n")
    assert alone(cut(DATA["y"])) == nm.sharded(sd.sum(y**2), [y], over="n")(cut(DATA["y"]))
