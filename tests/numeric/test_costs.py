"""What programs cost: bytes, steps and operations are counted, and nothing is timed."""

import gc
import sys
import threading
import tracemalloc
import weakref
from functools import partial
from itertools import pairwise

import numpy as np
import pytest

import numeric as nm
import symdiff as sd
from benchmarks.declarations import Task
from benchmarks.libraries import operations
from benchmarks.workloads import WORKLOADS
from numeric.lowering import costs, memory
from numeric.lowering.passes.affine import join_affine_sums
from numeric.lowering.passes.contractions import merge_contractions
from numeric.lowering.passes.exponentials import share_exponentials
from numeric.lowering.passes.extremes import read_extremes_by_place
from numeric.lowering.passes.padding import join_padded_terms
from numeric.lowering.passes.powers import multiply_powers
from numeric.lowering.passes.squares import dot_squares
from numeric.lowering.pipelines import possible_numbers
from numeric.lowering.schedule import schedule
from numeric.lowering.steps import Schedule

MILLION = 1_000_000
x, w = sd.symbols("x w", "n")


def vector_rosenbrock(x):
    return sd.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


LARGE = {
    "elementwise": (sd.sum(sd.tanh(x * w) * sd.exp(-(x**2) / 2) + sd.log1p(w**2)), [x, w]),
    "Rosenbrock": (vector_rosenbrock(x), [x]),
    "logsumexp": (sd.logsumexp(x), [x]),
    "cross-entropy": (sd.logsumexp(x) - sd.sum(x * w), [x, w]),
}


def peak_of(call):
    """The bytes that are allocated at once while it runs, and what it returns."""
    gc.collect()
    tracemalloc.start()
    try:
        result = call()
        return tracemalloc.get_traced_memory()[1], result
    finally:
        tracemalloc.stop()


# Memory -------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_value_and_gradient_of_a_million_need_their_results_and_fixed_scratch(name):
    """Each of two threads has some arrays of a block; nothing else is as long as the arguments."""
    f, inputs = LARGE[name]
    F = nm.lower(f, inputs, threads=2)
    args = np.random.default_rng(0).normal(size=(len(inputs), MILLION))
    F.value_and_grad(*args)
    F.free_memory()
    peak, (_, gradients) = peak_of(lambda: F.value_and_grad(*args))
    results = sum(g.nbytes for g in gradients)
    scratch = 2 * 12 * 8 * costs.BLOCK
    objects = 2**16  # tasks and results of blocks, a quarter of an array of a block
    assert results == len(inputs) * 8 * MILLION
    assert peak <= results + scratch + objects


def test_scratch_does_not_grow_with_the_arguments():
    f, inputs = LARGE["elementwise"]
    F = nm.lower(f, inputs, threads=1)
    scratch = []
    for n in (MILLION, 2 * MILLION):
        args = np.random.default_rng(0).normal(size=(len(inputs), n))
        F.value_and_grad(*args)
        peak, (_, gradients) = peak_of(lambda args=args: F.value_and_grad(*args))
        scratch.append(peak - sum(g.nbytes for g in gradients))
    # The sums of blocks are numbers, which lists and tasks hold.
    assert abs(scratch[1] - scratch[0]) < 2 * 8 * costs.BLOCK


def test_what_is_kept_is_bounded_whatever_is_called():
    F = nm.lower(sd.sum(sd.exp(sd.sin(x) * w) * sd.cos(x)), [x, w])
    for n in (20_000, 40_000, 60_000, 30_000, 50_000, 25_000):
        F.value_and_grad(*np.ones((2, n)))
        F.grad(*np.ones((2, n)))
    gc.collect()
    held, _ = peak_of(lambda: [F.value_and_grad(*np.ones((2, n))) for n in (21_000, 41_000)])
    assert held < memory._BYTES


# What residuals hold ------------------------------------------------------------------------------


@pytest.mark.slow
def test_under_no_grad_arguments_are_let_go():
    X = sd.symbol("X", ("n", 3))
    F = nm.lower(sd.sum(sd.tanh(X) ** 2 * X), X)
    for n in (5, 20_000):
        given = np.ones((n, 3))
        read_only = given.copy()
        read_only.flags.writeable = False
        references = [weakref.ref(given), weakref.ref(read_only)]
        with nm.no_grad():
            values = [F.forward(a) for a in (given, read_only)]
        del given, read_only
        gc.collect()
        assert [r() for r in references] == [None, None]
        assert [kept.values for _, kept in values] == [None, None]


@pytest.mark.slow
def test_calls_let_their_arguments_go():
    """Neither kept memory nor what is known of a kind of call holds on to arrays."""
    F = nm.lower(sd.sum(sd.exp(x * w) * x), [x, w])
    for n in (5, 20_000, 200_000):
        for method in ("__call__", "value_and_grad", "hessian" if n == 5 else "grad"):
            args = [np.ones(n), np.ones(n)]
            references = [weakref.ref(a) for a in args]
            result = getattr(F, method)(*args)
            del args, result
            gc.collect()
            assert not any(r() is not None for r in references), (n, method)


def test_residuals_hold_what_backward_reads_and_no_more():
    """Not the arguments that it does not read, nor copies of read-only ones."""
    F = nm.lower(sd.sum(sd.tanh(x) + 3 * w), [x, w])
    args = np.ones(20_000), np.ones(20_000)
    references = [weakref.ref(a) for a in args]
    _, kept = F.forward(*args)
    del args
    gc.collect()
    assert not any(r() is not None for r in references)
    assert sum(v.nbytes for v in kept.values if isinstance(v, np.ndarray)) == 20_000 * 8


# Calls that are not alone -------------------------------------------------------------------------


@pytest.mark.slow
def test_a_call_that_fails_in_its_midst_gives_its_memory_back():
    """What it had taken is free for others to use, and no later result is the worse for it."""
    failing = []

    def sometimes(v):
        if failing:
            raise ValueError("not now")
        return v * 1.0

    op = sd.custom(sometimes, vjp_numpy=lambda g, out, v: (g,))
    F = nm.lower(sd.sum(op(sd.sum(sd.exp(x) * w)) * sd.sin(sd.exp(x) + w) * x), [x, w])
    args = np.random.default_rng(0).normal(size=(2, 20_000))
    expected = F(*args)
    gc.collect()
    peak, _ = peak_of(lambda: F(*args))
    failing.append(1)
    for _ in range(20):
        with pytest.raises(ValueError, match="not now"):
            F(*args)
    failing.clear()
    assert F(*args) == expected
    again, _ = peak_of(lambda: F(*args))
    assert again <= peak + 1000


def test_results_of_calls_inside_of_calls_and_in_threads_stay():
    """The same program, from many threads, each of which calls it again in the midst of itself."""
    local = threading.local()

    def again(v):
        depth = getattr(local, "depth", 0)
        if depth < 2:
            local.depth = depth + 1
            inner = F(v * np.ones(20_000), np.full(20_000, 0.5))
            local.held.append((v, inner, inner.copy()))
            local.depth = depth
        return v * 1.0

    op = sd.custom(again, vjp_numpy=lambda g, out, v: (g,))
    F = nm.lower(sd.exp(sd.sin(x) * w) * op(x[0]) + sd.sin(sd.exp(x * w)) * x, [x, w], threads=2)
    wrong = []

    def run(seed):
        local.held = []
        for k in range(4):
            a = np.full(20_000, 0.1 * seed + k)
            result = F(a, np.full(20_000, 0.5))
            # All elements are computed alike, and at the same place of x nothing but v matters.
            local.held.append((a[0], result, result.copy()))
        for v, found, before in local.held:
            alone = np.exp(np.sin(v) * 0.5) * v + np.sin(np.exp(v * 0.5)) * v
            if not np.array_equal(found, before) or abs(found - alone).max() > 1e-13 * abs(alone):
                wrong.append((seed, v))

    users = [threading.Thread(target=run, args=(seed,)) for seed in range(1, 5)]
    for user in users:
        user.start()
    for user in users:
        user.join()
    assert not wrong


# Linear in the size of the graph ------------------------------------------------------------------


def chain(n):
    """A chain of scalars, whose derivative reads each link twice."""
    xs = [sd.symbol(f"x{i}") for i in range(n)]
    f = xs[0]
    for a in xs[1:]:
        f = sd.sin(f) * a + f
    return f, xs


def layers(n):
    """A perceptron of so many layers."""
    v, W = sd.symbol("v", "k"), [sd.symbol(f"W{i}", ("k", "k")) for i in range(n)]
    f = v
    for A in W:
        f = sd.tanh(A @ f) + f
    return sd.sum(f), [v, *W]


def slices(n):
    """Many slices of one array, whose cotangents are added up."""
    v = sd.symbol("v", "n")
    return sum((sd.sum(sd.sin(v[k:])) for k in range(1, n)), sd.sum(v)), [v]


GRAPHS = {"chain": chain, "layers": layers, "slices": slices}
# Of what a chain of scalars has nothing of.
PASSES = (
    merge_contractions,
    share_exponentials,
    multiply_powers,
    dot_squares,
    join_affine_sums,
    read_extremes_by_place,
    join_padded_terms,
)


def calls_of(run):
    """How many Python functions are called while it runs."""
    count = 0

    def profile(frame, event, argument):
        nonlocal count
        count += event == "call"

    sys.setprofile(profile)
    try:
        run()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("name", GRAPHS)
def test_gradients_and_their_programs_are_linear_in_the_graph(name):
    """Twice the graph has twice the operations, steps and lines, up to a constant."""
    counts = []
    for n in (20, 40, 80):
        f, inputs = GRAPHS[name](n)
        gradient = sd.grad(f, inputs)
        sizes = {"k": 3, "n": 100}
        names = {d for v in inputs for d in v.shape if isinstance(d, str)}
        known = {k: sizes[k] for k in sorted(names)}
        F = nm.lower([f, *gradient], inputs)
        counts.append(
            (
                sd.count_operations([f, *gradient], known),
                len(schedule([f, *gradient], inputs).steps),
                len(F.source.splitlines()),
            )
        )
    for small, middle, large in zip(*counts, strict=True):
        assert large - middle <= 2.1 * (middle - small) + 4


@pytest.mark.slow
@pytest.mark.parametrize("name", GRAPHS)
def test_lowering_is_linear_in_the_graph(name):
    """Python's calls are counted, from the second graph on: kernels have been seen then."""
    counts = []
    for n in (80, 80, 160, 320):
        f, inputs = GRAPHS[name](n)
        outputs = [f, *sd.grad(f, inputs)]
        counts.append(calls_of(partial(nm.lower, outputs, inputs)))
    del counts[0]
    first, second = (b - a for a, b in pairwise(counts))
    assert second <= 2.2 * first


@pytest.mark.parametrize("change", PASSES, ids=lambda change: change.__name__)
def test_a_pass_that_has_nothing_to_do_looks_at_no_step(change):
    """Which kinds of ops there are is found once, and is all that such a pass asks."""
    counts = []
    for n in (20, 80):
        f, inputs = chain(n)
        made = schedule([f, *sd.grad(f, inputs)], inputs)
        run = partial(change, made, possible_numbers(made, False))
        assert run() is made
        counts.append(calls_of(run))
    assert counts[0] == counts[1]


def test_what_is_asked_of_a_schedule_is_found_once():
    made = schedule([sd.sum(sd.sin(x) * w)], [x, w])
    for ask in (Schedule.definitions, Schedule.reads, Schedule.op_classes):
        assert ask(made) is ask(made)
    assert possible_numbers(made, False) is possible_numbers(made, False)
    assert possible_numbers(made, False) is not possible_numbers(made, True)
    less = made._replace(steps=made.steps[:1])
    assert (len(made.op_classes()), len(less.op_classes())) == (3, 1)


# Cheap gradients ----------------------------------------------------------------------------------


GRADIENTS = [w for w in WORKLOADS if w.task is Task.GRADIENT]
# A loop runs once for what its carry goes through, and computes each step again for its gradient,
# with the cotangents of all that it shares: two values more.
AGAIN = {13: 2, 14: 2}


@pytest.mark.parametrize("workload", GRADIENTS, ids=lambda w: w.name)
def test_a_gradient_costs_at_most_four_values(workload):
    """The cheap-gradient principle, at small sizes and at those that are timed."""
    for size in (workload.tiny, *workload.sizes.values()):
        if np.prod(list(size.values())) <= 10**5:
            value, both = operations(workload, workload.inputs(size))
            assert value < both <= (4 + AGAIN.get(workload.number, 0)) * value
