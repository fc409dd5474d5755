"""Programs in blocks of rows, on threads, in kept memory, as floats or lanes: the same values."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st

import numeric as nm
import symdiff as sd
from symdiff.graph import ops
from symdiff.opaque_ops.reductions import LogSumExp
from tests.support.budget import sample
from tests.support.fields import FLOAT
from tests.support.oracles import inputs_of
from tests.support.rounding import NoBound, check_bounded, is_exact
from tests.support.strategies import FAMILIES, programs_at_points
from tests.support.ways import LAYOUTS, PLAIN, Way, flat, same_bits, ways

SPECIAL = [np.nan, np.inf, -np.inf, -0.0, 0.0, 1e308, -1e-308, 1.0]
DTYPES = st.sampled_from([np.float64, np.float32])


@pytest.fixture(autouse=True)
def silence():
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def with_gradient(program):
    """The program with its pullback as outputs, of its inputs and the cotangent."""
    xs = inputs_of(program)
    f = sd.constant(0) + program.ours(xs)
    u = sd.symbol("u", f.shape)
    return [f, *sd.vjp(f, xs, u)], [*xs, u]


def sums(f):
    """Whether elements are added up somewhere in the graph."""
    return any(
        isinstance(node.op, LogSumExp) or (isinstance(node.op, ops.Contract) and node.op.sums)
        for node in sd.nodes([f])
    )


# Values -------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_elements_have_the_same_bits_in_blocks_and_in_kept_memory(family):
    """Whatever they are, and however arguments lie in memory."""

    @sample(60)
    @given(
        programs_at_points(("pointwise", family), steps=7, largest=24),
        ways(),
        DTYPES,
        st.sampled_from(sorted(LAYOUTS)),
        st.lists(st.sampled_from(SPECIAL), max_size=3),
        st.booleans(),
    )
    def run(drawn, way, dtype, layout, special, exact):
        program, point = drawn
        outputs, inputs = with_gradient(program)
        outputs = [y for y in outputs if not sums(y)]
        assume(outputs)
        args = [FLOAT.numbers(value) for value in point]
        for a in args:
            a.flat[: len(special)] = special[: a.size]
        args.append(np.ones(inputs[-1].shape))
        args = [LAYOUTS[layout](a.astype(dtype)) for a in args]
        F = nm.lower(outputs, inputs, threads=2, exact_order=exact)
        try:
            expected = PLAIN(F, "__call__", *args)
        except np.linalg.LinAlgError:
            reject()
        same_bits(way(F, "__call__", *args, times=2), expected, (program, way))

    run()


def at_fractions(drawn, scale):
    """Outputs, inputs and a point for these: that of the program, and a cotangent of ones."""
    program, point = drawn
    outputs, inputs = with_gradient(program)
    point = [np.asarray(value * scale, object) for value in point]
    point.append(np.full(inputs[-1].shape, Fraction(1), object))
    return outputs, inputs, dict(zip(inputs, point, strict=True))


def polynomials(family):
    return programs_at_points(("pointwise", family, family), rational=True, steps=6, largest=24)


@pytest.mark.slow
@pytest.mark.parametrize("family", ["contraction", "linear", "literal", "selection"])
def test_sums_are_exact_in_any_order_where_numbers_are_whole(family):
    @sample(100)
    @given(
        polynomials(family),
        ways(rounding=True),
        DTYPES,
        st.sampled_from(sorted(LAYOUTS)),
        st.booleans(),
    )
    def run(drawn, way, dtype, layout, exact):
        outputs, inputs, env = at_fractions(drawn, 7)
        try:
            assume(is_exact(outputs, env, dtype))
        except NoBound:
            reject()
        args = [LAYOUTS[layout](value.astype(dtype)) for value in env.values()]
        F = nm.lower(outputs, inputs, threads=2, exact_order=exact)
        expected = flat(nm.interpret(outputs, dict(zip(inputs, args, strict=True))))
        for each in (PLAIN, way):
            found = each(F, "__call__", *args, times=2)
            for a, b in zip(found, expected, strict=True):
                assert (a.dtype, a.shape) == (b.dtype, b.shape), (drawn[0], each)
                assert np.array_equal(a, b), f"{drawn[0]} {each}: {a}, is {b}"

    run()


@pytest.mark.slow
@pytest.mark.parametrize("family", ["contraction", "linear", "selection"])
def test_polynomials_are_within_the_bound_of_any_order(family):
    @sample(100)
    @given(polynomials(family), ways(rounding=True), DTYPES, st.booleans())
    def run(drawn, way, dtype, exact):
        outputs, inputs, env = at_fractions(drawn, Fraction(1))
        args = [value.astype(dtype) for value in env.values()]
        F = nm.lower(outputs, inputs, threads=2, exact_order=exact)
        for each in (PLAIN, way):
            found = each(F, "__call__", *args, times=2)
            try:
                check_bounded(found, outputs, env, dtype, (drawn[0], each))
            except NoBound:
                reject()

    run()


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_the_number_of_threads_changes_no_bit(family):
    """Not even where sums are parted: blocks have fixed boundaries and a fixed order."""

    @sample(40)
    @given(programs_at_points(("pointwise", family), steps=7, largest=24), ways(), DTYPES)
    def run(drawn, way, dtype):
        program, point = drawn
        outputs, inputs = with_gradient(program)
        args = [FLOAT.numbers(value).astype(dtype) for value in point]
        args.append(np.ones(inputs[-1].shape, dtype))
        one, two = (nm.lower(outputs, inputs, threads=k) for k in (1, 2))
        try:
            expected = way(one, "__call__", *args)
        except np.linalg.LinAlgError:
            reject()
        same_bits(way(two, "__call__", *args, times=2), expected, (program, way))

    run()


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_residuals_are_pulled_back_in_any_order(family):
    """Those of one call have the same bits, whatever was computed in between."""

    @sample(40)
    @given(programs_at_points(("pointwise", family), steps=6, largest=24), ways(), DTYPES)
    def run(drawn, way, dtype):
        program, point = drawn
        (f, *_), (*xs, u) = with_gradient(program)
        args = [FLOAT.numbers(value).astype(dtype) for value in point]
        g = np.ones(u.shape, dtype)
        with way.chosen():
            F = nm.lower(f, xs, threads=2)
            try:
                expected = []
                for k in range(3):
                    value, kept = F.forward(*[a + k for a in args])
                    expected.append([value, *F.backward(kept, g * (k + 1))])
                calls = [F.forward(*[a + k for a in args]) for k in range(3)]
                for _ in range(2):
                    for k, (value, kept) in reversed([*enumerate(calls)]):
                        same_bits([value, *F.backward(kept, g * (k + 1))], expected[k], program)
            except np.linalg.LinAlgError:
                reject()

    run()


# Whose memory results are -------------------------------------------------------------------------


VIEWS = {
    "itself": lambda v: v,
    "transposed": lambda v: v.T,
    "sliced": lambda v: v[1:, ::2],
    "backwards": lambda v: sd.flip(v),
    "a row": lambda v: v[1],
    "an element": lambda v: v[1, 2],
    "reshaped": lambda v: v.reshape(-1)[3:],
    "more axes": lambda v: v[:, None],
    "stretched": lambda v: sd.broadcast_to(v[0], (5, 4)),
    "diagonal": lambda v: sd.diagonal(v[:4]),
    "windows": lambda v: sd.sliding_window_view(v.reshape(-1), 3),
    "joined with nothing": lambda v: sd.concat([v]),
    "real part": lambda v: np.real(v),
    "split": lambda v: sd.split(v, 3)[1],
    "sorted, one of one": lambda v: sd.sort(v.reshape(-1)[:1]),
    "lower triangle": lambda v: sd.tril(v),
    "times one": lambda v: 1 * v + 0,
    "selected": lambda v: sd.where(v > -9, v, 0),
}


@pytest.mark.slow
@pytest.mark.parametrize("way", [Way(kept=True), Way(block=5, kept=True), Way(block=5)], ids=str)
@pytest.mark.parametrize("view", VIEWS)
def test_a_result_that_views_an_inner_value_is_the_callers(view, way):
    """It has memory of its own, that no later call writes to, nor any other result."""
    x, y = sd.symbols("x y", (6, 4))
    inner = sd.exp(x * y) - sd.cos(y)
    seen = VIEWS[view](inner)
    outputs = [seen, sd.sum(inner * inner * x), sd.sin(inner) * x, VIEWS[view](inner)]
    rng = np.random.default_rng(0)
    args, others = rng.normal(size=(2, 2, 6, 4))
    with way.chosen():
        F = nm.lower([*outputs, *sd.grad(outputs[1], (x, y))], [x, y])
        results = [flat(F(*given)) for given in (args, others, args)]
        before = [np.array(a) for r in results for a in r]
        again, kept = F.forward(*args)
        results += [flat(again), flat(F.backward(kept, *[np.ones(a.shape) for a in again]))]
        before += [np.array(a) for r in results[3:] for a in r]
        for scale in (2, 3):
            F(*(others * scale))
            F.backward(F.forward(*(others * scale))[1], *[np.ones(a.shape) for a in again])
    every = [a for r in results for a in r]
    same_bits(every, before)
    arrays = [a for a in every if a.ndim]
    for k, a in enumerate(arrays):
        assert a.flags.writeable
        assert not any(np.shares_memory(a, b) for b in arrays[:k])
        a[...] = np.nan  # it is the caller's: nobody reads it again
    with way.chosen():
        same_bits(flat(F(*args)), before[: len(results[0])])
        same_bits(flat(F.backward(kept, *[np.ones(np.shape(v)) for v in again])), before[-2:])


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_every_value_on_the_way_may_be_a_result(family):
    """Earlier results do not change when the program runs again, nor share memory."""

    @sample(60)
    @given(
        programs_at_points(("pointwise", family), steps=7, largest=24),
        ways(rounding=True),
        st.integers(0, 2**30),
    )
    def run(drawn, way, chosen):
        program, point = drawn
        outputs, inputs = with_gradient(program)
        nodes = [
            y for y in sd.nodes(outputs) if y.dtype is float and y.op.__class__ is not ops.Symbol
        ]
        assume(nodes)
        outputs = [y for k, y in enumerate(nodes) if chosen >> k % 30 & 1] or nodes[-1:]
        args = [FLOAT.numbers(value) for value in point] + [np.ones(inputs[-1].shape)]
        with way.chosen():
            F = nm.lower(outputs, inputs, threads=2)
            try:
                results = [flat(F(*[a + k for a in args])) for k in (0, 1, 0)]
            except np.linalg.LinAlgError:
                reject()
            before = [[np.array(a) for a in r] for r in results]
            try:
                F(*[a + 2 for a in args])
            except np.linalg.LinAlgError:
                reject()
        same_bits(results, before, (program, way))
        same_bits(results[2], results[0], (program, way))
        arrays = [a for r in results for a in r if a.size]
        for k, a in enumerate(arrays):
            assert not any(np.shares_memory(a, b) for b in [*arrays[:k], *args]), (program, way)

    run()
