"""Memory that programs keep: the same bits, nothing shared, nothing allocated again."""

import os
import platform
import subprocess
import sys
import threading
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

import numeric as nm
import symdiff as sd
from numeric.lowering import costs, kinds, memory, programs
from numeric.lowering.passes.lifetimes import mark_last_reads
from numeric.lowering.passes.operations import split_operations
from numeric.lowering.passes.reuse import spans, unseen
from numeric.lowering.schedule import schedule
from tests.support.budget import sample
from tests.support.oracles import inputs_of
from tests.support.strategies import FAMILIES, programs_at_points

pytestmark = [
    pytest.mark.usefixtures("arrays_stay_arrays"),
    pytest.mark.numpy_only("its memory"),
]

X, W = sd.symbol("X", ("n", "d")), sd.symbol("W", ("d", "k"))
b, v = sd.symbol("b", "k"), sd.symbol("v", "n")
HIDDEN = sd.tanh(X @ W + b)
LOSS = sd.sum((HIDDEN - 2 * HIDDEN * HIDDEN / 3) ** 2 * v[:, None])
INPUTS = [X, W, b, v]


@pytest.fixture(autouse=True)
def all_sizes(monkeypatch):
    """Arrays of any size are kept."""
    for module in (memory, programs):
        monkeypatch.setattr(module, "LEAST", 1)


def arguments(n=40, d=5, k=7, seed=0, dtype=float):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape).astype(dtype) for shape in ((n, d), (d, k), k, n)]


def flat(value):
    """The arrays in nested tuples."""
    return [a for x in value for a in flat(x)] if isinstance(value, tuple) else [np.asarray(value)]


def plain(F, method, *args):
    """The results of the program that keeps nothing."""
    least, programs.LEAST = programs.LEAST, 2**62
    try:
        return flat(getattr(nm.lower(F.outputs, F.inputs), method)(*args))
    finally:
        programs.LEAST = least


def same_bits(found, expected):
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        assert np.array_equal(a, b, equal_nan=True)


def held(F):
    """The memories of the programs of a Function."""
    every = [p.memory for lowered in F._programs._found.values() for p in lowered.found.values()]
    return [m for m in every if m is not None]


# Values -------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_random_programs_share_nothing_between_calls(family):
    """Each call gives the bits of the program without memory, and leaves earlier results alone."""

    @sample(30)
    @given(programs_at_points(("pointwise", family), steps=7, largest=24), st.booleans())
    def run(drawn, single):
        program, points = drawn
        xs = inputs_of(program)
        f = sd.constant(0) + program.ours(xs)
        us = sd.symbol("u", f.shape)
        outputs, inputs = [f, *sd.vjp(f, xs, us)], [*xs, us]
        args = [np.asarray(p, float) for p in points] + [np.ones([int(n) for n in f.shape])]
        if single:
            args = [a.astype(np.float32) for a in args]
        others = [a + 1 for a in args]
        F = nm.lower(outputs, inputs)
        with np.errstate(all="ignore"):
            try:
                expected = plain(F, "__call__", *args)
                beside = plain(F, "__call__", *others)
            except np.linalg.LinAlgError:  # the system that a step solves is singular here
                reject()
            results = [flat(F(*given)) for given in (args, others, args, others)]
        for found in results[::2]:
            same_bits(found, expected)
        for found in results[1::2]:
            same_bits(found, beside)

    run()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_derivatives_have_the_bits_of_the_program_without_memory(dtype):
    F, args = nm.lower(LOSS, INPUTS), arguments(dtype=dtype)
    for method in ("__call__", "value_and_grad", "hessian"):
        expected = plain(F, method, *args)
        for _ in range(3):
            same_bits(flat(getattr(F, method)(*args)), expected)
    assert held(F)


def test_arguments_in_another_order_are_computed_in_another_order():
    """A sum over rows and one over columns are rounded differently."""
    F = nm.lower(sd.sum(sd.exp(X) * sd.sin(X) + X, axis=1), X)
    a = np.random.default_rng(1).normal(size=(300, 50))
    turned = np.asfortranarray(a)
    expected = [plain(F, "__call__", given) for given in (a, turned)]
    assert not np.array_equal(expected[0][0], expected[1][0])
    for _ in range(2):
        for given_, right in zip((a, turned), expected, strict=True):
            same_bits(flat(F(given_)), right)


def test_sums_taken_apart_are_added_in_the_same_order():
    x, y, z = sd.symbols("x y z", 9)
    f = [x - 2 * y + z / 3 - 0.3, -3 * x - y, 5 * x - 7 * y * z * x / y + 1]
    F = nm.lower(f, [x, y, z])
    args = list(np.random.default_rng(0).normal(size=(3, 9)))
    same_bits(flat(F(*args)), plain(F, "__call__", *args))
    steps = split_operations(schedule(f, [x, y, z]), lambda shape: True)
    assert all(
        len(step.operands) + (step.op.const != 0) <= 2
        for step in steps.steps
        if isinstance(step.kind, kinds.Sum)
    )


def test_signs_are_not_changed_in_a_step_of_their_own():
    """Operations are counted: a change of sign would be one more of whole arrays."""
    x, y, z = sd.symbols("x y z", 9)
    for f, operations in ((y - x, 1), (1 - x, 1), (1 - x / 3, 2), (z - x + y, 2), (z - 2 * x, 2)):
        steps = split_operations(schedule([f], [x, y, z]), lambda shape: True)
        assert len(steps.computed()) == operations, f
        F = nm.lower(f, [x, y, z], exact_order=True)
        args = list(np.random.default_rng(0).normal(size=(3, 9)))
        same_bits(flat(F(*args)), plain(F, "__call__", *args))


# Whose memory it is -------------------------------------------------------------------------------


def test_results_are_never_in_kept_memory():
    hidden = sd.exp(X @ W)
    F = nm.lower([hidden, hidden.T, hidden[1:], sd.sum(hidden * 2), hidden * 2], [X, W])
    X_, W_, _, _ = arguments()
    first = F(X_, W_)
    before = [np.array(a) for a in first]
    F(X_ + 1, W_)
    same_bits(flat(first), before)
    for one in held(F):
        for _, arrays in one._free:
            assert not any(np.shares_memory(a, r) for a in arrays if a is not None for r in first)


def test_residuals_are_not_overwritten():
    F, args = nm.lower(LOSS, INPUTS), arguments()
    _, residuals = F.forward(*args)
    expected = flat(F.backward(residuals, 1.0))
    F.forward(*arguments(seed=1))
    F.backward(F.forward(*arguments(seed=2))[1], 1.0)
    same_bits(flat(F.backward(residuals, 1.0)), expected)


def test_a_function_of_the_users_may_hold_on_to_what_it_is_given():
    seen = []
    keep = sd.custom(lambda x: seen.append(x) or x * 1.0, vjp_numpy=lambda g, out, x: (g,))
    F = nm.lower(sd.sum(keep(sd.exp(X @ W)[1:]) * 3), [X, W])
    X_, W_, _, _ = arguments()
    F(X_, W_)
    F(X_, W_)
    first, before = seen[-1], np.array(seen[-1])
    F(X_ + 1, W_)
    assert np.array_equal(first, before)


def test_a_view_keeps_memory_in_use():
    x = sd.symbol("x", (6, 6))
    late = sd.exp(x).T[1:]
    f = sd.sum(sd.sin(sd.cos(x) @ x) @ x) + sd.sum(late @ sd.exp(x + 1))
    F = nm.lower([f, sd.sum(late @ sd.sin(sd.cos(x @ x) @ x) @ x)], x)
    a = np.random.default_rng(0).normal(size=(6, 6))
    for _ in range(3):
        same_bits(flat(F(a)), plain(F, "__call__", a))
    steps = mark_last_reads(schedule([sd.sum(sd.exp(x)[1:] @ x)], [x]))
    (span,) = spans(
        steps,
        {v for v in unseen(steps) if isinstance(steps.definitions()[v].kind, kinds.Pointwise)},
    ).values()
    assert span.last > span.first + 1


def test_calls_inside_of_calls_have_memory_of_their_own():
    depth = []

    def again(x):
        if len(depth) < 3:
            depth.append(None)
            F(*args)
            depth.pop()
        return x * 1.0

    nested = sd.custom(again, vjp_numpy=lambda g, out, x: (g,))
    hidden = sd.exp(X @ W)
    F = nm.lower(sd.sum(hidden * sd.sum(nested(b)) + hidden * hidden), [X, W, b])
    args = arguments()[:3]
    with np.errstate(all="ignore"):
        expected = np.sum(
            np.exp(args[0] @ args[1]) * args[2].sum() + np.exp(args[0] @ args[1]) ** 2
        )
        for _ in range(3):
            assert np.allclose(F(*args), expected, rtol=1e-12)


def test_threads_have_memory_of_their_own():
    F = nm.lower(LOSS, INPUTS)
    given_ = [arguments(seed=s) for s in range(6)]
    expected = [plain(F, "value_and_grad", *args) for args in given_]
    barrier, wrong = threading.Barrier(6), []

    def run(i):
        barrier.wait()
        for _ in range(30):
            found = flat(F.value_and_grad(*given_[i]))
            wrong.extend(
                i for a, e in zip(found, expected[i], strict=True) if not np.array_equal(a, e)
            )

    threads = [threading.Thread(target=run, args=(i,)) for i in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_a_call_that_raises_leaves_nothing_behind():
    fails = []

    def sometimes(x):
        if fails:
            raise ValueError("not now")
        return x * 1.0

    op = sd.custom(sometimes, vjp_numpy=lambda g, out, x: (g,))
    hidden = sd.exp(X @ W)
    F = nm.lower(sd.sum(hidden * sd.sum(op(b)) + hidden), [X, W, b])
    args = arguments()[:3]
    first = F(*args)
    fails.append(None)
    with pytest.raises(ValueError, match="not now"):
        F(*args)
    fails.clear()
    assert F(*args) == first


# How much it is -----------------------------------------------------------------------------------


def test_the_second_call_allocates_results_alone():
    hidden = sd.sin(X @ W + b)
    F = nm.lower(sd.sum((hidden - hidden**3 / 3) ** 2 * v[:, None]), INPUTS)
    args = arguments(n=4000, d=8, k=8)
    F.value_and_grad(*args)
    _, gradients = F.value_and_grad(*args)
    results = sum(a.nbytes for a in gradients)
    widest = 4000 * 8 * 8
    tracemalloc.start()
    F.value_and_grad(*args)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < results + widest / 2


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries do as they like")
def test_memory_of_results_is_not_given_back_to_the_system_and_asked_for_again():
    """Counted in faults of pages: a call has 24 MB of results, which are six thousand pages."""
    code = """
import resource
import numpy as np, numeric as nm, symdiff as sd

xs = sd.symbols("a b c d e f g h i j")
F = nm.lower([xs[k - 1] + sd.exp(x) for k, x in enumerate(xs)], xs, threads=1)
args = [np.ones(300_000)] * 10
F(*args), F(*args)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    F(*args)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("MALLOC_", "GLIBC_"))}
    run = [sys.executable, "-c", code]
    ran = subprocess.run(run, capture_output=True, text=True, check=True, env=environment)
    assert int(ran.stdout) < 1000


def test_values_that_are_not_needed_together_have_one_array():
    x = sd.symbol("x", (50, 50))
    f = x
    for _ in range(9):
        f = sd.sin(f) @ x + 1
    F = nm.lower(sd.sum(f), x)
    F(np.ones((50, 50)))
    (one,) = held(F)
    assert len(one._spans) > 20
    assert 0 < one.nbytes <= 3 * 50 * 50 * 8


def test_memory_is_bounded_and_given_back():
    F = nm.lower(LOSS, INPUTS)
    for n in range(10, 20):
        F.value_and_grad(*arguments(n=n))
    (one,) = held(F)
    assert len(one._free) == memory._SETS
    assert one.nbytes > 0
    F.free_memory()
    assert one.nbytes == 0
    args = arguments(n=10)
    same_bits(flat(F.value_and_grad(*args)), plain(F, "value_and_grad", *args))
    assert one.nbytes > 0


def test_small_and_huge_arrays_are_not_kept(monkeypatch):
    for module in (memory, programs):
        monkeypatch.setattr(module, "LEAST", 2**17)
    monkeypatch.setattr(programs, "MOST", 2**18)
    x = sd.symbol("x", "n")
    F = nm.lower(sd.sum(sd.exp(x).reshape(-1)[1:] @ sd.sin(x)[:-1] * x), x)
    for n, some in ((1000, False), (20_000, True), (100_000, False)):
        F(np.ones(n))
        assert any(one.nbytes for one in held(F)) == some
        F.free_memory()


# Blocks -------------------------------------------------------------------------------------------


def test_blocks_that_hand_arrays_to_matrix_products_are_for_larger_ones(monkeypatch):
    """What is joined of blocks is new memory; arrays that are kept stay in the cache."""
    monkeypatch.setattr(costs, "LARGE", 100)
    monkeypatch.setattr(costs, "HANDED", 400)
    handed = sd.sum(sd.tanh(X @ W + b) @ b)
    alone = sd.sum(sd.tanh(sd.sin(v) * v + 1))
    ways = {}
    for n in (5, 30, 80):
        x, w, c, _ = arguments(n)
        F = nm.lower(handed, [X, W, b])
        F.value_and_grad(x, w, c)
        ways[n] = "# over" in F.source
    assert ways == {5: False, 30: False, 80: True}
    F = nm.lower(alone, v)
    F(np.ones(200))
    assert "# over n" in F.source
