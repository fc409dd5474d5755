"""Kernels over blocks of rows: the same values, whatever the blocks and the threads."""

import math
import os
import pickle
import subprocess
import sys
import threading
import tracemalloc
import warnings
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

import numeric as nm
import symdiff as sd
from numeric.lowering import blocks, costs, kinds, names
from numeric.lowering.names import Emitter
from numeric.lowering.passes import rows
from numeric.lowering.passes.rows import ROWS, form_row_kernels
from numeric.lowering.pipelines import possible_numbers
from numeric.lowering.programs import Lowered
from numeric.lowering.schedule import schedule
from numeric.shards import places
from symdiff.graph import ops
from symdiff.opaque_ops.reductions import LogSumExp, Prod
from tests.support.budget import sample
from tests.support.oracles import inputs_of
from tests.support.strategies import FAMILIES, programs_at_points

pytestmark = pytest.mark.usefixtures("arrays_stay_arrays")

x, w, y = (sd.symbol(name, "n") for name in "xwy")
X, C = sd.symbol("X", ("n", "d")), sd.symbol("C", ("k", "d"))
EPS = np.finfo(float).eps


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Blocks of few elements, wherever there are rows."""
    set_small(monkeypatch)


def set_small(monkeypatch, block=4):
    monkeypatch.setattr(costs, "BLOCK", block)
    monkeypatch.setattr(costs, "LARGE", 1)
    monkeypatch.setattr(rows, "_LEAST", 1)


def whole(F, method, *args, exact=False):
    """The results of the program that knows no blocks."""
    large, costs.LARGE = costs.LARGE, math.inf
    try:
        lowered = nm.lower(F.outputs, F.inputs, exact_order=exact)
        return flat(getattr(lowered, method)(*args))
    finally:
        costs.LARGE = large


def flat(value):
    """The arrays in nested tuples."""
    return [a for v in value for a in flat(v)] if isinstance(value, tuple) else [np.asarray(value)]


def kernels(*outputs, exact=False):
    """The kernels of a program, by what they are computed over."""
    symbols = sorted({s for f in outputs for s in f.free_symbols}, key=lambda s: s.name)
    steps = schedule(outputs, symbols)
    found = form_row_kernels(steps, possible_numbers(steps, False), exact)
    return [step for step in found.steps if isinstance(step.kind, kinds.Rows)]


def sums(f):
    """Whether elements are added up or multiplied somewhere in the graph."""
    return any(
        (isinstance(node.op, ops.Contract) and node.op.sums)
        or isinstance(node.op, LogSumExp | Prod)
        for node in sd.nodes([f])
    )


def same_bits(found, expected):
    """Assert that arrays are equal, shapes and dtypes too."""
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        assert np.array_equal(a, b, equal_nan=True)


# Values -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
def test_blocks_have_the_bits_of_the_whole_where_no_sum_is_parted(family):
    """Sums outside of kernels run in an order that depends on how their operands lie in memory."""

    @sample(30)
    @given(programs_at_points(("pointwise", family), steps=7, largest=24), st.integers(1, 9))
    def run(drawn, block):
        program, points = drawn
        xs = inputs_of(program)
        f = sd.constant(0) + program.ours(xs)
        us = sd.symbol("u", f.shape)
        outputs = [y for y in (f, *sd.vjp(f, xs, us)) if not sums(y)] or [sd.constant(0)]
        args = [np.asarray(p, float) for p in points] + [np.ones([int(n) for n in f.shape])]
        inputs = [*xs, us]
        costs.BLOCK = block
        with np.errstate(all="ignore"):
            try:
                found = nm.lower(outputs, inputs, exact_order=True)(*args)
            except np.linalg.LinAlgError:  # singular matrices
                reject()
            expected = whole(nm.lower(outputs, inputs), "__call__", *args, exact=True)
        same_bits(flat(found), expected)

    before = costs.BLOCK
    run()
    costs.BLOCK = before


MODELS = {
    "polynomial": (sd.sum(x**2 * w - 3 * x * w**2 + w), [x, w]),
    "slices": (sd.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2), [x]),
    "nearest": (np.min(sd.sum((X[:, None] - C[None]) ** 2, axis=2), axis=1) @ x, [X, C, x]),
    "columns": (sd.sum(sd.sum(X * X, axis=0) ** 2) + sd.sum(sd.max(X, axis=1)), [X]),
    "a product of all with all": (sd.sum(sd.abs(x[:, None] - x[None]) * (x + w)), [x, w]),
    "selected": (sd.sum(sd.where(x > w, x * w, x - w)), [x, w]),
    "read again behind a sum": (sd.sum((x * w + 1 - sd.sum(x * w)) * (x * w + 1)), [x, w]),
    "running sums": (sd.sum(sd.cumsum(sd.abs(x * w)) * sd.abs(x)), [x, w]),
    "by the mean": (sd.sum((x - sd.sum(x)) ** 2 * w), [x, w]),
}


def whole_numbers(shape, seed):
    """Few bits, so that every sum is exact, in whichever order it is added."""
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(float)


def arguments(inputs, lengths, seed=0):
    return [
        whole_numbers([lengths[dim] for dim in s.shape], seed + k) for k, s in enumerate(inputs)
    ]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("n", [1, 2, 3, 17])
@pytest.mark.parametrize("threads", [1, 2])
def test_sums_over_blocks_are_exact_where_sums_are(name, n, threads):
    f, inputs = MODELS[name]
    args = arguments(inputs, {"n": n, "d": 3, "k": 4})
    F = nm.lower(f, inputs, threads=threads)
    same_bits(flat(F.value_and_grad(*args)), whole(F, "value_and_grad", *args))
    same_bits(flat(F.jacobian(*args)), whole(F, "jacobian", *args))
    values, pullback = F.vjp(*args)
    same_bits(flat(values), whole(F, "__call__", *args))
    same_bits(flat(pullback(1.0)), whole(F, "grad", *args))


@pytest.mark.parametrize("name", MODELS)
def test_every_model_has_a_kernel(name):
    f, inputs = MODELS[name]
    assert kernels(f, *sd.grad(f, tuple(inputs)))


def test_the_number_of_threads_changes_no_bit():
    rng = np.random.default_rng(0)
    f = sd.sum(sd.tanh(x * w) * sd.exp(-(x**2) / 2) + sd.log1p(w**2))
    args = rng.normal(size=(2, 1003))
    one, two, five = (nm.lower(f, [x, w], threads=k) for k in (1, 2, 5))
    expected = flat(one.value_and_grad(*args))
    for _ in range(5):
        same_bits(flat(two.value_and_grad(*args)), expected)
        same_bits(flat(five.value_and_grad(*args)), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_precision_is_that_of_the_whole(dtype):
    args = [a.astype(dtype) for a in arguments([x, w], {"n": 11})]
    F = nm.lower([sd.sin(x) * w, x > 0, sd.sum(x)], [x, w], exact_order=True)
    same_bits(flat(F(*args)), whole(F, "__call__", *args))


def test_a_long_sum_is_as_accurate_as_one_in_pairs():
    values = np.random.default_rng(1).normal(size=100_001) * np.logspace(0, 9, 100_001)
    F = nm.lower(sd.sum(sd.abs(x) + x), [x])
    terms = np.abs(values) + values
    # A sum in pairs rounds once a level (Higham, Accuracy and Stability, 2nd ed., section 4.2).
    levels = math.ceil(math.log2(len(values))) + costs.BLOCK
    assert abs(F(values) - math.fsum(terms)) <= levels * EPS / 2 * math.fsum(terms)
    exact = nm.lower(sd.sum(sd.abs(x) + x), [x], exact_order=True)
    assert exact(values) == terms.sum()


# Points -------------------------------------------------------------------------------------------

s, t = sd.symbols("s t")


def test_points_are_computed_in_blocks():
    F = nm.lower([sd.exp(-s * t) * sd.sin(s) + sd.log(1 + t**2), s > t, sd.constant(2)], [s, t])
    rng = np.random.default_rng(2)
    for a, b in (rng.random((2, 37)), (rng.random((5, 1)), rng.random(7)), (0.5, rng.random(9))):
        same_bits(flat(F(a, b)), whole(F, "__call__", a, b))
        same_bits(flat(F.jacobian(a, b)), whole(F, "jacobian", a, b))
        values, pullback = F.vjp(a, b)
        seeds = [np.ones(np.shape(v)) for v in values]
        found = pullback(*seeds)
        assert [np.shape(g) for g in found] == [np.shape(a), np.shape(b)]


def test_no_points():
    F = nm.lower(s * t, [s, t])
    assert F(np.zeros((0, 3)), 1.0).shape == (0, 3)
    assert nm.lower(sd.sum(x * w), [x, w])(np.zeros(0), np.zeros(0)) == 0


# What is a row ------------------------------------------------------------------------------------


def test_axes_are_told_apart_by_where_they_go():
    A = sd.symbol("A", ("n", "n"))
    z = sd.exp(x)
    f = sd.sum(z[:, None] * A * z[None] + A * A.T)
    args = arguments([x, A], {"n": 9})
    args[0] /= 8
    F = nm.lower(f, [x, A], exact_order=True)
    same_bits(flat(F.value_and_grad(*args)), whole(F, "value_and_grad", *args))
    (step,) = kernels(sd.sum(sd.abs(z[:, None] * z[None])))[-1:]
    assert (ROWS, "n") in step.kind.kernel.shapes


@pytest.mark.parametrize("turned", [False, True])
def test_of_like_axes_the_longest_one_is_parted(turned):
    M = sd.symbol("M", ("n", 100))
    (kernel,) = kernels(sd.sum(sd.tanh(M.T if turned else M) ** 2))
    assert kernel.kind.kernel.length == M.shape[0]


def test_what_only_a_kernel_reads_is_never_as_long_as_the_axis():
    f = sd.sum(sd.sin(x) * sd.cos(x) + sd.exp(-x * x))
    (step,) = kernels(f, sd.grad(f, x))
    assert step.kind.kernel.joined == (None, 0)
    assert all(ROWS in shape for shape in step.kind.kernel.shapes)


def test_views_alone_and_single_sums_are_no_kernel():
    assert not kernels(X.T)
    assert not kernels(x + w)
    assert kernels(sd.sin(x))


def test_wide_products_that_are_only_written_are_in_no_kernel():
    """Blocks would write them twice; one that is read on is where it is read."""
    Y = sd.symbol("Y", ("n", 16))
    outer = sd.reshape(X, ("n", "d", 1)) * sd.reshape(sd.sin(Y), ("n", 1, 16))
    steps = kernels(outer)
    assert all(len(shape) < 3 for step in steps for shape in step.kind.kernel.shapes)
    (step,) = kernels(sd.sum(sd.exp(outer)))
    assert any(len(shape) == 3 for shape in step.kind.kernel.shapes)


@pytest.mark.numpy_only("its text")
def test_a_wide_result_of_small_arrays_makes_no_blocks_of_these(monkeypatch):
    monkeypatch.setattr(costs, "LARGE", 1000)
    u, v = sd.symbol("u", 50), sd.symbol("v", 50)
    F = nm.lower(sd.reshape(sd.tanh(u) * v, (50, 1)) * sd.exp(v), [u, v])
    found = F(U := np.linspace(0, 1, 50), U + 1)
    np.testing.assert_allclose(found, np.outer(np.tanh(U) * (U + 1), np.exp(U + 1)))
    assert "rows_1(" not in F.source


def test_matrix_products_are_left_to_blas():
    v = sd.symbol("v", "d")
    (step,) = kernels(sd.sum(sd.exp(X @ v)))
    forms = [inner.kind.name for inner in step.kind.kernel.body.steps]
    assert "pointwise" in forms
    assert [
        inner.op.name
        for inner in step.kind.kernel.body.steps
        if isinstance(inner.kind, kinds.ByKernel)
    ] == ["contract"]


def test_exact_order_keeps_sums_whole():
    f = sd.sum(sd.sin(x) * w)
    assert kernels(f)[0].kind.kernel.contracts
    assert not kernels(f, exact=True)[0].kind.kernel.contracts


def test_a_short_axis_of_known_length_has_no_kernel(monkeypatch):
    v = sd.symbol("v", 10)
    assert kernels(sd.sum(sd.sin(v) * v))
    monkeypatch.setattr(rows, "_LEAST", 64)
    assert not kernels(sd.sum(sd.sin(v) * v))


# Users --------------------------------------------------------------------------------------------


@pytest.mark.numpy_only("its text")
def test_source_and_explain_tell_of_kernels():
    F = nm.lower(sd.sum(sd.sin(x) * sd.cos(x)), [x])
    F(np.ones(10))
    assert "rows_1(" in F.source
    assert "blocks of rows, over n" in F.explain()


def test_programs_with_and_without_kept_memory_call_one_kernel():
    lowered = Lowered(Emitter(), "value", [x], [sd.sum(sd.sin(x) * sd.cos(x))], [True], "")
    kernels = [lowered.program(flavour).kernels for flavour in (names.ROWS, names.KEPT_ROWS)]
    assert kernels[0] == kernels[1] != []


def test_explain_counts_what_a_kernel_reads_and_writes():
    """The argument is read, the gradient written, and nothing else is as long as the axis."""
    F = nm.lower(sd.grad(sd.sum(sd.sin(x) * sd.exp(-(x**2))), x), x)
    assert "bytes of arrays read and written" in F.explain({"n": 100})
    (step,) = [s for s in F._programs.value.chosen({"n": 100}).schedule.steps if not s.leaf]
    assert isinstance(step.kind, kinds.Rows)
    value = next(line for line in F.explain({"n": 100}).splitlines() if line.startswith("value"))
    assert f", {2 * 8 * 100:,} bytes" in value


@pytest.mark.numpy_only("its text")
def test_programs_of_small_arrays_know_no_blocks(monkeypatch):
    monkeypatch.setattr(costs, "LARGE", 1000)
    F = nm.lower(sd.sum(sd.sin(x) * sd.cos(x)), [x])
    F(np.ones(10))
    assert "rows_1(" not in F.source
    F(np.ones(2000))
    assert "rows_1(" in F.source


def test_an_error_in_a_block_is_raised_to_the_caller():
    F = nm.lower(sd.sum(1 / x + sd.log(w)), [x, w], threads=2)
    a = np.ones(40)
    a[33] = 0
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        F.value_and_grad(a, np.ones(40))
    assert F(np.ones(40), np.ones(40)) == 40


def test_an_error_of_a_helper_is_raised_to_the_caller():
    caller, met = threading.current_thread(), threading.Event()

    def run(i):
        if threading.current_thread() is caller:
            assert met.wait(60)
        else:
            met.set()
            raise ZeroDivisionError(i)

    with pytest.raises(ZeroDivisionError):
        blocks.spread(run, 4, 2)


def test_an_error_ends_the_blocks_however_many_are_left():
    started = []

    def run(i):
        started.append(i)
        raise MemoryError

    with pytest.raises(MemoryError):
        blocks.spread(run, 2**44, 2)  # the rest of them would take days to count
    assert len(started) <= 2


def test_what_helpers_worked_on_is_let_go_at_once(monkeypatch):
    """A pool may keep a task that is done until it gets the next one; arrays are gone by then."""
    kept = []

    class Keeping(ThreadPoolExecutor):
        def submit(self, *args):
            kept.append(args)
            return super().submit(*args)

    with Keeping(1) as pool:
        monkeypatch.setattr(blocks._POOL, "helpers", lambda count: pool)
        a = np.ones(5)
        gone = weakref.ref(a)

        def run(i, a=a):
            a[i] = 2

        blocks.spread(run, 4, 2)
        del a, run
        assert kept
        assert gone() is None


def test_helpers_see_the_context_of_the_caller():
    caller, met, seen = threading.current_thread(), threading.Event(), []

    def run(i):
        if threading.current_thread() is caller:
            assert met.wait(60)
        else:
            seen.append(np.geterr()["invalid"])
            met.set()

    with np.errstate(invalid="raise"):
        blocks.spread(run, 4, 2)
    assert set(seen) == {"raise"}


@pytest.mark.numpy_only("its warnings")
def test_warnings_are_those_of_the_caller():
    F = nm.lower(sd.sum(sd.log(x) * w), [x, w], threads=2)
    G = nm.lower(sd.sum(sd.where(x > 0, sd.log(x), 0) * w), [x, w], threads=2)
    zeros = np.zeros(40)
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        F(zeros, zeros + 1)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        F(zeros, zeros + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        G(zeros, zeros + 1)


AT_EXIT = """
import atexit, sys, threading, time
import numpy as np
import numeric as nm
import symdiff as sd

v = sd.symbol("v", "n")
kwargs = {"threads": 2, "backend": sys.argv[1]}
F = nm.lower(sd.sum(sd.sin(v) * sd.exp(-v * v)), v, **kwargs)
a = np.linspace(0, 1, 300_000)
want = F(a)
S = nm.sharded(sd.sum(sd.sin(v) * v), [v], over="n")
parts = np.split(a, 4)
total = S(parts)

def work(where):
    G = nm.lower(sd.sum(sd.cos(v) * sd.exp(-v * v)), v, **kwargs)  # the first call
    first = np.isclose(G(a), np.sum(np.cos(a) * np.exp(-a * a)))
    print(where, F(a) == want, S(parts) == total, first)

class Freed:
    def __del__(self):  # when NumPy cannot even write a dtype
        print("freed", F(a) == want)

def late():
    main.join()
    work("thread")

main, freed = threading.main_thread(), Freed()
atexit.register(work, "atexit")
threading.Thread(target=late).start()
"""


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["numpy", "auto"])
def test_large_arrays_are_computed_while_the_interpreter_ends(backend):
    no_compiler = "ignore:backend=:RuntimeWarning"
    command = [sys.executable, "-W", no_compiler, "-c", AT_EXIT, backend]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    right = ["thread True True True", "atexit True True True", "freed True"]
    assert done.stdout.splitlines() == right


def no_thread(*_):
    raise RuntimeError("can't start new thread")


def test_where_no_thread_can_be_started_the_caller_does_all(monkeypatch):
    F = nm.lower(sd.sum(sd.sin(x) * w), [x, w], threads=2)
    S = nm.sharded(sd.sum(sd.sin(x) * x), [x], over="n")
    args = np.random.default_rng(4).normal(size=(2, 500))
    expected, total = F(*args), S([args[0], args[1]])
    monkeypatch.setattr(blocks, "_POOL", blocks._Pool())
    monkeypatch.setattr(threading.Thread, "start", no_thread)
    assert F(*args) == expected
    assert S([args[0], args[1]]) == total


def test_a_shard_is_computed_once_where_further_threads_cannot_be_started(monkeypatch):
    """What a pool could start no thread for stays in its queue: the one that there is takes it."""
    start, started, computed = threading.Thread.start, [], []

    def first_only(thread):
        if started:
            no_thread()
        started.append(start(thread))

    def compute(i):
        computed.append(i)
        return i

    with places._Threads(4) as threads:
        monkeypatch.setattr(threading.Thread, "start", first_only)
        results = [threads.submit(compute, i) for i in range(20)]
        assert [result.result() for result in results] == list(range(20))
    assert sorted(computed) == list(range(20))


def test_a_helper_that_was_refused_and_works_all_the_same_is_waited_for(monkeypatch):
    """What a pool could start no thread for stays in its queue: one that is done takes it."""
    helping, free = threading.Event(), threading.Event()
    caller, done, threads = threading.current_thread(), [], []

    class Pool:
        def submit(self, *call):
            threads.append(threading.Thread(target=call[0], args=call[1:]))
            threads[0].start()
            assert helping.wait(60)
            no_thread()

    def run(i):
        if threading.current_thread() is not caller:
            helping.set()
            assert free.wait(60)
        done.append(i)
        if len(done) == 3:
            threads.append(threading.Timer(0.05, free.set))
            threads[1].start()

    monkeypatch.setattr(blocks._POOL, "helpers", lambda count: Pool())
    blocks.spread(run, 4, 2)
    assert sorted(done) == [0, 1, 2, 3]
    for thread in threads:
        thread.join()


def test_functions_are_called_from_many_threads():
    F = nm.lower(sd.sum(sd.sin(x) * w), [x, w], threads=2)
    args = np.random.default_rng(3).normal(size=(2, 500))
    expected = flat(F.value_and_grad(*args))
    found = [None] * 8

    def run(k):
        found[k] = [flat(F.value_and_grad(*args)) for _ in range(5)]

    users = [threading.Thread(target=run, args=(k,)) for k in range(8)]
    for user in users:
        user.start()
    for user in users:
        user.join()
    for results in found:
        for result in results:
            same_bits(result, expected)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_has_threads_of_its_own():
    F = nm.lower(sd.sum(sd.sin(x) * w), [x, w], threads=2)
    args = np.random.default_rng(4).normal(size=(2, 500))
    expected = F(*args)
    child = os.fork()
    if child == 0:
        os._exit(0 if F(*args) == expected else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_options_are_kept_by_pickles_and_bound_functions():
    F = nm.lower(sd.sum(sd.sin(x) * w), [x, w], threads=2, exact_order=True)
    for G in (pickle.loads(pickle.dumps(F)), F.bind(w=np.ones(3))):
        assert G._options == F._options


@pytest.mark.parametrize("threads", [0, -1, 1.5, "two", True])
def test_a_number_of_threads_is_a_positive_int(threads):
    with pytest.raises(ValueError, match="positive int"):
        nm.lower(x, x, threads=threads)


def test_the_environment_says_how_many_threads(monkeypatch):
    blocks.default_threads.cache_clear()
    monkeypatch.setenv("SYMDIFF_NUM_THREADS", "3")
    assert blocks.default_threads() == 3
    blocks.default_threads.cache_clear()
    monkeypatch.setenv("SYMDIFF_NUM_THREADS", "many")
    with pytest.raises(ValueError, match="SYMDIFF_NUM_THREADS is 'many'"):
        blocks.default_threads()
    blocks.default_threads.cache_clear()
    monkeypatch.delenv("SYMDIFF_NUM_THREADS")
    assert blocks.default_threads() >= 1


@pytest.mark.numpy_only("its blocks")
@pytest.mark.parametrize(("n", "many", "count"), [(48, 12, 12), (49, 12, 7), (49, 13, 13)])
def test_many_blocks_are_twice_as_large(n, many, count, monkeypatch):
    seen = []
    monkeypatch.setattr(costs, "MANY", many)
    monkeypatch.setattr(blocks, "spread", lambda run, k, _: (seen.append(k), [*map(run, range(k))]))
    a = np.linspace(0, 1, n)
    np.testing.assert_allclose(nm.lower(sd.sin(x) * x, x)(a), np.sin(a) * a, rtol=1e-15)
    assert seen == [count]


# Memory -------------------------------------------------------------------------------------------


@pytest.mark.numpy_only("its blocks")
@pytest.mark.parametrize("at_points", [False, True])
def test_blocks_behind_the_first_are_computed_where_they_stand(at_points, monkeypatch):
    """Nothing is copied that the last operation of a result can write there."""
    copied = []

    def put(self, k, block, before, rows, put=blocks._Joined.put):
        copied.append((k, rows.start))
        put(self, k, block, before, rows)

    monkeypatch.setattr(blocks._Joined, "put", put)
    monkeypatch.setattr(costs, "POINTS", 4)
    a, b = np.random.default_rng(6).normal(size=(2, 22))

    def formulas(u, v):
        powers = [u**2, 1 / v, u * v - u / 7, -u]
        return [sd.sin(u) * v, u / v / 3, u * v / (v + 2), sd.exp(u - v), *powers]

    inputs = sd.symbols("u v") if at_points else (x, w)
    found = nm.lower(formulas(*inputs), inputs, threads=1)(a, b)
    for value, f in zip(found, formulas(x, w), strict=True):
        alone = nm.interpret(f, {x: a, w: b})
        np.testing.assert_allclose(value, alone, rtol=4 * np.finfo(float).eps)
    assert {start for _, start in copied} == {0}


@pytest.mark.numpy_only("its text")
def test_what_adds_along_an_axis_is_written_into_new_memory():
    """Where it stands may change the order in which it adds, and the first block is new."""
    Y = sd.symbol("Y", ("n", 5))
    f = [sd.einsum("nj,nj->n", sd.sin(Y), sd.cos(Y)), sd.sum(sd.exp(Y), axis=1), sd.exp(Y)]
    F = nm.lower(f, [Y], threads=1)
    F(np.ones((40, 5)))
    (written,) = [line for line in F.source.splitlines() if "out=" in line]
    assert "exp(" in written


def test_memory_is_that_of_the_results_and_of_blocks(monkeypatch):
    monkeypatch.undo()
    n = 1_000_000
    f = sd.sum(sd.tanh(x * w) * sd.exp(-(x**2) / 2) + sd.log1p(w**2))
    F = nm.lower(f, [x, w], threads=2)
    args = np.random.default_rng(5).normal(size=(2, n))
    F.value_and_grad(*args)
    tracemalloc.start()
    try:
        results = F.value_and_grad(*args)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert results[1][0].nbytes == 8 * n
    # Two threads, each with some ten arrays of a block.
    assert peak <= 2 * 8 * n + 2 * 12 * 8 * blocks.in_a_block(n, 1)
