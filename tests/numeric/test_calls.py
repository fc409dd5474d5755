"""What a call of a Function costs, and that what is learnt from one call holds for the next."""

from __future__ import annotations

import itertools
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies

import numeric as nm
import symdiff as sd
from numeric.lowering import derivatives
from numeric.lowering.names import NUMPY as ARRAYS
from numeric.lowering.passes.sharing import own
from numeric.special import NUMPY
from symdiff.graph import ops
from symdiff.graph.node import topological
from symdiff.scalars.formula import arity
from tests.support.budget import sample
from tests.support.cases import all_cases
from tests.support.orders import order_count
from tests.support.strategies import FAMILIES, programs_at_points

pytestmark = pytest.mark.usefixtures("arrays_stay_arrays")

X, W, V = sd.symbol("X", ("n", 3)), sd.symbol("W", (3, 2)), sd.symbol("v", 3)
A, B = sd.symbols("a b")
RNG = np.random.default_rng(16)
XS, WS, VS = RNG.normal(size=(4, 3)), RNG.normal(size=(3, 2)), RNG.normal(size=3)


# Memory -------------------------------------------------------------------------------------------


def shared(results: Any, others: Any) -> bool:
    """Whether a result shares memory with another one, or with one of ``others``."""
    arrays = [v for v in results if isinstance(v, np.ndarray)]
    pairs = [*itertools.combinations(arrays, 2), *itertools.product(arrays, others)]
    return any(np.shares_memory(a, b) for a, b in pairs)


@sample(300)
@given(programs_at_points(FAMILIES, steps=6), strategies.randoms(use_true_random=False))
def test_results_that_are_said_to_be_made_share_no_memory(drawn, random):
    """Values on the way are results, beside views of these, of arguments and of constants."""
    case, point = drawn
    xs = [sd.symbol(f"x{i}", shape) for i, shape in enumerate(case.shapes)]
    nodes = [y for y in topological([case.ours(xs)]) if y.shape]
    if not nodes:
        return
    nodes += [sd.flip(y, 0) for y in nodes] + [
        sd.permute_dims(y, range(y.ndim)[::-1]) for y in nodes
    ]
    nodes = random.choices(nodes, k=random.randint(1, len(nodes)))
    lowered = nm.lower(nodes, xs)._programs.value
    args = [np.array(v, float) for v in point]
    try:
        found = lowered.arrays(*[v if v.ndim else v[()] for v in args], {})
    except np.linalg.LinAlgError:
        return
    data = [x.op.value for x in nodes if isinstance(x.op, ops.Constant)]
    assert not shared([v for v, new in zip(found, lowered.own, strict=True) if new], [*args, *data])
    # Where the last ones stay with the program, nobody else has what they may view.
    count = len(nodes) // 2
    new = own(lowered.program(ARRAYS).schedule, len(nodes) - count)[:count]
    kept = [v for v in found[count:] if isinstance(v, np.ndarray)]
    assert not shared([v for v, is_new in zip(found, new, strict=False) if is_new], kept)


@sample(60)
@given(programs_at_points(FAMILIES, steps=6), strategies.randoms(use_true_random=False))
def test_random_programs_called_again(drawn, random):
    """Arguments in other memory and of another precision, between calls, inside of calls."""
    case, point = drawn
    xs = [sd.symbol(f"x{i}", shape) for i, shape in enumerate(case.shapes)]
    f = case.ours(xs)
    F = nm.lower([f, sd.sum(f * f)], xs)
    arrays = [np.array(v, float) for v in point]
    kept: list[Any] = []
    for _ in range(6):
        kind = random.choice([np.float64, np.float64, np.float32])
        args = [random.choice(list(views(v.astype(kind))) if v.ndim else [v[()]]) for v in arrays]
        method = random.choice(["call", "forward", "jvp", "jacobian", "backward"])
        with np.errstate(all="ignore"):
            try:
                # A Function that sees such arguments first: the same program, so the same bits.
                expected = nm.lower(list(F.outputs), xs)(*args)
                if method == "call":
                    found = F(*args)
                elif method == "jvp":
                    found = F.jvp(args, args)[0]
                elif method == "jacobian":
                    kept += [(v, np.copy(v)) for v in leaves(F.jacobian(*args))]
                    continue
                else:
                    found, residuals = F.forward(*args)
                    if method == "backward":
                        seeds = [np.ones(np.shape(y), np.result_type(y)) for y in found]
                        pulled = F.backward(residuals, *seeds)
                        kept += [(v, np.copy(v)) for v in pulled]
            except np.linalg.LinAlgError:  # derivatives invert matrices where values do not
                return
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)
            assert np.shape(a) == np.shape(b)
        assert not shared(found, [*args, *(v for v, _ in kept if isinstance(v, np.ndarray))])
        kept += [(v, np.copy(v)) for v in found]
    for value, was in kept:
        np.testing.assert_array_equal(value, was)


LINE = np.array([0.0, 1.0, -1.0, 0.5, 3.0, -2.5, 1e-300, 1e300, np.inf, -np.inf, np.nan])


@all_cases("name", sorted(NUMPY), least=147)
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_no_function_returns_its_operand(name, kind):
    """Not where that is the value, either: at zeros, for an order of 0, among infinities."""
    orders = order_count(name)
    with np.errstate(all="ignore"):
        for values in (LINE, LINE[:1], LINE[1:2], LINE[-1:], LINE[:0]):
            for order in (0, 1):
                args = [values.astype(kind) for _ in range(arity(name))]
                args[:orders] = [np.full(values.shape, order, kind)] * orders
                assert not shared([NUMPY[name](*args)], args)


def views(x: np.ndarray) -> Any:
    """The same numbers in memory of all kinds: in all orders, of somebody else, read-only."""
    yield x.copy()
    yield np.asfortranarray(x)
    yield np.repeat(x, 2, axis=-1)[..., ::2]
    yield np.lib.stride_tricks.as_strided(x.copy(), x.shape, x.strides)
    frozen = x.copy()
    frozen.flags.writeable = False
    yield frozen


MOVES = {
    "reshape": [sd.reshape(X.T, -1), sd.reshape(X, -1), sd.tanh(X)],
    "twice": [sd.tanh(X), sd.tanh(X), sd.tanh(X).T, sd.tanh(X)[1:]],
    "argument": [X, X.T, X[1:], sd.detach(X), X + 0],
    "constants": [sd.constant(VS), V * 0 + 1, sd.full((3,), 2.0), sd.sum(V)],
    "whole": [sd.concat([V]), sd.pad(V, (0, 0)), sd.where(V < 9, V, 0), sd.maximum(V, -99)],
    "selected": [sd.abs(V), sd.sign(V), sd.floor(V), 1 * V, V / 1, V**1],
}


@pytest.mark.numpy_only("its bits")
@pytest.mark.parametrize("name", MOVES)
def test_calls_after_the_first_share_no_memory_either(name):
    xs = [X, V]
    F = nm.lower(MOVES[name], xs)
    before: list[Any] = []
    for x, v in itertools.product(list(views(XS)), list(views(VS))):
        for results in (F(x, v), F.forward(x, v)[0], F.jvp([x, v], [x, v])[0]):
            expected = [nm.interpret(y, {X: XS, V: VS}) for y in F.outputs]
            for a, b in zip(results, expected, strict=True):
                np.testing.assert_array_equal(a, b)
            assert not shared(results, [x, v, *before[-8:]])
            assert all(r.flags.writeable for r in results if r.ndim)
            before += [r for r in results if r.ndim]


def test_residuals_of_known_calls_see_no_later_change():
    F = nm.lower([sd.tanh(X * V), X * V, X], (X, V))
    for _ in range(3):
        x, v = XS.copy(), VS.copy()
        values, kept = F.forward(x, v)
        x[...], v[...] = np.nan, np.nan
        for value in values:
            value[...] = np.nan
        seeds = [np.ones((4, 3)), XS, np.ones((4, 3))]
        gx, gv = F.backward(kept, *seeds)
        slope = 1 - np.tanh(XS * VS) ** 2 + XS
        np.testing.assert_allclose(gx, slope * VS + 1)
        np.testing.assert_allclose(gv, np.sum(slope * XS, axis=0))
        assert not shared([gx, gv], seeds)


def test_residuals_of_known_calls_share_what_nobody_can_change_and_no_more():
    """Whatever memory the calls before had: others' and read-only, one array for two inputs."""
    Y = sd.symbol("Y", ("n", 3))
    F = nm.lower([Y * Y, X[1:] * V, V[::-1] * V], (X, Y, V))
    frozen = XS.copy()
    frozen.flags.writeable = False
    seeds = [np.ones((4, 3)), np.ones((3, 3)), np.ones(3)]
    kinds = [*(lambda k=k: list(views(XS))[k] for k in range(5)), lambda: XS.copy().view()]
    looks = [lambda: np.broadcast_to(XS.copy(), XS.shape), lambda: frozen]  # read-only, of others
    makers = [*kinds, *looks]
    for first, second, twice in itertools.product(makers, makers, [False, True]):
        x, v = first(), VS.copy()
        y = x if twice else second()
        _, kept = F.forward(x, y, v)
        expected = F.backward(kept, *seeds)
        for array in (x, y, v):
            base = array if array.flags.writeable else array.base
            if isinstance(base, np.ndarray) and base.flags.writeable:
                base[...] = np.nan
        for a, b in zip(expected, F.backward(kept, *seeds), strict=True):
            np.testing.assert_array_equal(a, b)
            assert not np.isnan(b).any()
        # What nobody can change is kept as it is.
        assert y is not frozen or any(value is frozen for value in kept.values)


# What is learnt -----------------------------------------------------------------------------------


def single(values: Any) -> Any:
    return np.asarray(values, np.float32)


def test_calls_of_all_kinds_follow_one_another():
    """Whatever came before, results are those of a Function that sees the arguments first."""
    inputs = (V, A)
    outputs = [
        sd.sin(V) * A,
        sd.sum(V) / 3,
        V[1:],
        sd.where(V > A, V, 0),
        sd.full((2,), 1) * A,
        V * A**64,
    ]
    firsts = [VS, single(VS), VS.round().astype(int), list(VS), VS[::-1], VS.astype(">f8")]
    seconds = [2.0, 2, np.float64(2), np.float32(2), np.int64(2), np.array(2.0), np.array(2), True]
    F = nm.lower(outputs, inputs)
    pairs = list(itertools.product(firsts, seconds))
    order = RNG.permutation(len(pairs))
    for k in (*order, *reversed(order)):
        v, a = pairs[k]
        G = nm.lower(outputs, inputs)
        tangents = [np.ones(3), 1.0]
        cotangents = [np.ones(y.shape) for y in outputs]
        for found, expected in (
            (F(v, a), G(v, a)),
            (F.jvp([v, a], tangents)[1], G.jvp([v, a], tangents)[1]),
            (F.jacobian(v, a), G.jacobian(v, a)),
            (
                F.backward(F.forward(v, a)[1], *cotangents),
                G.backward(G.forward(v, a)[1], *cotangents),
            ),
        ):
            for x, y in zip(leaves(found), leaves(expected), strict=True):
                assert (type(x), x.dtype, x.shape) == (type(y), y.dtype, y.shape)
                np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize(
    "outputs", [[sd.stack([A, B * A]), A / B], [sd.sin(A) * B, A**64]], ids=["arrays", "scalars"]
)
def test_scalars_of_all_kinds_follow_one_another(outputs):
    """Python floats come of numbers and NumPy's doubles, and NumPy's numbers of all others."""
    kinds = [
        float,
        int,
        np.float64,
        np.float32,
        np.int64,
        np.array,
        single,
        lambda v: np.full(2, v),
    ]
    F = nm.lower(outputs, (A, B))
    pairs = list(itertools.product(kinds, kinds))
    order = RNG.permutation(len(pairs))
    for k in (*order, *reversed(order)):
        a, b = pairs[k][0](2), pairs[k][1](3)
        G = nm.lower(outputs, (A, B))
        for found, expected in (
            (F(a, b), G(a, b)),
            (F.jacobian(a, b), G.jacobian(a, b)),
            (F.forward(a, b)[0], G.forward(a, b)[0]),
            (F.jvp([a, b], [a, b])[1], G.jvp([a, b], [a, b])[1]),
        ):
            for x, y in zip(leaves(found), leaves(expected), strict=True):
                assert type(x) is type(y)
                assert np.asarray(x).dtype == np.asarray(y).dtype
                np.testing.assert_array_equal(x, y)


def test_numbers_too_large_are_refused_as_before():
    F = nm.lower(V * A, (V, A))
    for _ in range(2):
        np.testing.assert_array_equal(F(VS, 2), VS * 2)
        with pytest.raises(ValueError, match="an integer of 1329 bits is beyond the largest float"):
            F(VS, 10**400)


def leaves(result: Any) -> Any:
    if isinstance(result, tuple | list):
        for part in result:
            yield from leaves(part)
    else:
        yield result


def test_cotangents_and_tangents_of_other_precision_are_told_apart():
    F = nm.lower([sd.tanh(V), sd.sum(V * V)], V)
    for kind in (np.float64, np.float32, np.float64):
        _, kept = F.forward(VS.astype(kind))
        plain = [F.backward(kept, np.ones(3, kind), kind(1))[0] for _ in range(2)]
        mixed = [F.backward(kept, np.ones(3, np.float16), 1)[0] for _ in range(2)]
        wide = [F.backward(kept, np.ones(3), np.array(1.0))[0] for _ in range(2)]
        for found in (*plain, *mixed, *wide):
            assert found.dtype == kind
            np.testing.assert_allclose(found, 1 - np.tanh(VS) ** 2 + 2 * VS, rtol=1e-5)
        with pytest.raises(sd.ShapeError, match="cotangent 0: expected shape"):
            F.backward(kept, np.ones(4, kind), kind(1))
        for t in (np.ones(3, kind), np.ones(3, np.float16), [1, 1, 1], None):
            assert F.jvp([VS.astype(kind)], [t])[1][0].dtype == kind
        with pytest.raises(sd.ShapeError, match="tangent of v: expected shape"):
            F.jvp([VS.astype(kind)], [np.ones(4, kind)])


ELEMENTS_MOVED = {
    "itself": lambda x: x,
    "slice": lambda x: x[1:3],
    "element": lambda x: x[2],
    "gather": lambda x: sd.take(x, sd.symbol("k", 3, dtype=int)),
    "constant places": lambda x: x[np.array([2, 0], ">i8")],
    "reshape": lambda x: sd.reshape(x, (2, -1)),
    "flip": lambda x: sd.flip(x),
    "sorted": sd.sort,
    "broadcast": lambda x: sd.broadcast_to(x, (2, "n")),
    "absolute": sd.abs,
    "largest": sd.max,
    "sum": sd.sum,
}


@pytest.mark.parametrize("name", ELEMENTS_MOVED)
@pytest.mark.parametrize("kind", [">f8", ">f4", ">f2", ">i4"])
def test_results_have_the_order_of_bytes_of_the_processor(name, kind):
    x = sd.symbol("x", "n")
    y = ELEMENTS_MOVED[name](x)
    inputs = [s for s in (x, sd.symbol("k", 3, dtype=int)) if s in set(sd.free_symbols(y))]
    here = np.array([3, 1, 4, 2], kind)
    native = here.astype(here.dtype.type)
    k = np.array([2, 0, 1])
    F = nm.lower(y, inputs)

    def results(rows, places, seed):
        value, kept = F.forward(*[rows, places][: len(inputs)])
        seeds = np.ones(np.shape(value), seed)
        tangents = [np.ones(4, seed), None][: len(inputs)]
        args = [rows, places][: len(inputs)]
        jacobian = F.jacobian(*args, wrt="x")
        return [F(*args), value, F.backward(kept, seeds, wrt="x"), *F.jvp(args, tangents), jacobian]

    expected = results(native, k, native.dtype)
    for seed in (native.dtype, here.dtype):
        for one, other in zip(results(here, k.astype(">i8"), seed), expected, strict=True):
            assert one.dtype is other.dtype
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("kind", [">f8", ">f4", ">i4"])
def test_data_of_a_formula_have_the_order_of_bytes_of_the_processor(kind):
    data = sd.constant(np.arange(4).astype(kind))
    found = nm.lower([data, data[1:]], [A])(1.0)
    assert [y.dtype.isnative for y in found] == [True, True]
    np.testing.assert_array_equal(found[0], np.arange(4))


def test_what_fits_is_learnt_and_what_does_not_is_refused_as_before():
    F = nm.lower(sd.sum(sd.tanh(X @ W)), (X, W))
    wrong = [
        ((XS, WS.T), {}, sd.ShapeError, r"W: expected shape \(3, 2\), got \(2, 3\)"),
        ((XS,), {}, TypeError, "no argument for W"),
        ((XS, WS, WS), {}, TypeError, "2 arguments expected"),
        ((XS, WS), {"W": WS}, TypeError, "input W is given twice"),
        ((XS, np.ma.masked_array(WS)), {}, TypeError, "masked array"),
        ((XS, WS * 1j), {}, TypeError, "got dtype complex128"),
        ((XS, np.array(2.0)), {}, sd.ShapeError, r"got \(\)"),
        ((XS, 2.0), {}, sd.ShapeError, r"got \(\)"),
        ((XS, W), {}, TypeError, "got the expression"),
    ]
    for _ in range(2):
        for method in (F, F.forward, F.value_and_grad, F.grad, F.jacobian, F.hessian):
            method(XS, WS)
            for args, named, error, message in wrong:
                with pytest.raises(error, match=message):
                    method(*args, **named)


def test_lengths_are_learnt_for_each_shape_and_few_are_kept():
    y = sd.symbol("y", "n")
    F = nm.lower(sd.mean(X @ V + y), (X, V, y))
    for n in (*range(1, 200), *range(199, 0, -1)):
        x = np.full((n, 3), float(n))
        np.testing.assert_allclose(F(x, np.ones(3), np.zeros(n)), 3 * n)
        with pytest.raises(sd.ShapeError, match=f"n is {n} in X"):
            F(x, np.ones(3), np.zeros(n + 1))
    assert len(F._signature.calls) <= 64


# Costs --------------------------------------------------------------------------------------------


def calls(function: Any, *args: Any) -> int:
    """How many functions written in Python run, ``function`` included."""
    count = 0

    def saw(frame: Any, event: str, arg: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(saw)
    try:
        function(*args)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.numpy_only("how often it calls")
@pytest.mark.parametrize("count", [1, 3, 6])
@pytest.mark.parametrize("length", [3, "n"])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_functions_that_a_small_call_runs(count, length, kind):
    """As many for six arguments as for one; the program itself is one of them."""
    xs = [sd.symbol(f"x{i}", length) for i in range(count)]
    y = sd.sin(xs[0]) * 2
    for x in xs:
        y = y * x
    F, G = nm.lower(sd.sum(y * y), xs), nm.lower(y, xs)
    args = [np.full(3, 1.5, kind) for _ in xs]
    kept, one = G.forward(*args)[1], np.ones(3, kind)
    # A kind is asked of each argument that is not an array of doubles.
    more = count if kind is np.float32 else 0
    for method, arguments, most in (
        (F, args, 8 + more),
        (F.value_and_grad, args, 7 + more),
        (F.grad, args, 7 + more),
        (F.jacobian, args, 11 + more),
        (F.hvp, (args, args), 11 + 2 * more),
        (G.jvp, (args, args), 11 + 2 * more),
        (G.forward, args, 7 + more),
        (G.backward, (kept, one), 6 + bool(more)),
    ):
        method(*arguments)
        method(*arguments)
        assert calls(method, *arguments) <= most, method


THOUSAND = RNG.normal(size=1000)


@pytest.mark.numpy_only("how often it calls")
@pytest.mark.parametrize(
    ("given", "passes"),
    [
        (THOUSAND, []),
        (THOUSAND.astype(np.float32), []),
        (THOUSAND.tolist(), ["asarray"]),
        (np.arange(1000), ["astype"]),
        (list(range(1000)), ["asarray", "astype"]),  # the dtype of a list is known behind a pass
    ],
    ids=["floats", "float32", "list", "ints", "list of ints"],
)
def test_a_vector_is_checked_and_converted_in_one_pass(given, passes):
    """What of NumPy is called on the way from the caller to the program."""
    u = sd.symbol("u", "n")
    F = nm.lower(u * 2, u)
    F(given)
    found = []

    def saw(frame: Any, event: str, called: Any) -> None:
        of_array = isinstance(getattr(called, "__self__", None), np.ndarray)
        if event == "c_call" and (of_array or (called.__module__ or "").startswith("numpy")):
            found.append(called.__name__)

    sys.setprofile(saw)
    try:
        F(given)
    finally:
        sys.setprofile(None)
    assert found == passes


def test_programs_are_looked_at_once():
    """What has to be done with results is found by the first call with arguments of a kind."""
    F = nm.lower(sd.sum(sd.sin(V) * V), V)
    order = (0,)
    for _ in range(3):
        F.value_and_grad(VS)
    ((call, _),) = F._signature.calls.values()
    assert call.settled[F._programs.of(derivatives.value_and_grad, order)][1] == []
