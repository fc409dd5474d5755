"""Ops with several results: LAPACK is called once for all that a program uses, and for those alone.

What is counted are calls of ``numpy.linalg``, by name; those that leave out the vectors, or Q, have
names of their own.
"""

from __future__ import annotations

import itertools
import pickle
import re
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest

import numeric as nm
import symdiff as sd
from numeric.lowering import derivatives, reference, schedule, structure
from numeric.lowering.kernels.opaque import PARTS, of_parts
from numeric.lowering.passes.residuals import residuals

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from symdiff.graph.expr import Expr

WITHOUT = {"svd": ("compute_uv", True, "svdvals"), "qr": ("mode", "reduced", "qr_r")}
COUNTED = ("cholesky", "det", "eigh", "eigvalsh", "inv", "qr", "slogdet", "solve", "svd")


@pytest.fixture
def calls(monkeypatch):
    """The names of the calls, in their order."""
    found: list[str] = []

    def counting(name: str) -> Callable[..., Any]:
        run = getattr(np.linalg, name)
        keyword, whole, alone = WITHOUT.get(name, ("", None, ""))

        def call(*args: Any, **options: Any) -> Any:
            found.append(name if options.get(keyword, whole) == whole else alone)
            return run(*args, **options)

        return call

    for name in COUNTED:
        monkeypatch.setattr(np.linalg, name, counting(name))
    return found


class Whole(NamedTuple):
    """A decomposition: all its results, by LAPACK's ``name``; ``alone``: single ones by others.

    ``beside`` is what its derivatives call besides.
    """

    results: Callable[[Expr], tuple[Expr, ...]]
    name: str
    shape: tuple[int, int]
    alone: dict[int, str]
    beside: tuple[str, ...] = ()


WHOLES = {
    "eigh": Whole(sd.eigh, "eigh", (3, 3), {0: "eigvalsh"}),
    "svd": Whole(sd.svd, "svd", (4, 3), {1: "svdvals"}),
    "wide svd": Whole(sd.svd, "svd", (3, 4), {1: "svdvals"}),
    "qr": Whole(sd.qr, "qr", (4, 3), {1: "qr_r"}, ("svd",)),
    "wide qr": Whole(sd.qr, "qr", (3, 4), {1: "qr_r"}, ("svd",)),
    "slogdet": Whole(sd.slogdet, "slogdet", (3, 3), {}, ("inv",)),
}
each_whole = pytest.mark.parametrize("whole", WHOLES.values(), ids=list(WHOLES))

WAYS = {
    "interpret": lambda ys, at: nm.interpret(ys, at),
    "lower": lambda ys, at: nm.lower(ys, list(at))(*at.values()),
}
each_way = pytest.mark.parametrize("run", WAYS.values(), ids=list(WAYS))


def counted(calls: list[str], run: Callable[..., Any], *given: Any) -> Counter[str]:
    """What one run calls."""
    calls.clear()
    run(*given)
    return Counter(calls)


def point(*shapes: tuple[int, int]) -> list[np.ndarray]:
    """Matrices with singular values far from one another; square ones are symmetric."""
    rng = np.random.default_rng(0)
    found = [rng.uniform(-0.1, 0.1, s) + np.eye(*s) * np.arange(1.0, s[1] + 1) for s in shapes]
    return [a + a.T if a.shape[0] == a.shape[1] else a for a in found]


def objective(results: Sequence[Expr]) -> Expr:
    """A function of all elements of all results."""
    rng = np.random.default_rng(1)
    weighed = [sd.sum(r**2 * rng.uniform(1, 2, r.shape)) for r in results]
    product = weighed[0]
    for factor in weighed[1:]:
        product = product * factor
    return product


@each_whole
@each_way
def test_interleaved_results_of_two_matrices_cost_two_calls(whole, run, calls):
    A, B = sd.symbol("A", whole.shape), sd.symbol("B", whole.shape)
    a, b = point(whole.shape, whole.shape)
    pairs = zip(whole.results(A), whole.results(B), strict=True)
    found = run([y for pair in pairs for y in pair], {A: a, B: b})
    assert calls == [whole.name] * 2
    for x, values in ((a, found[::2]), (b, found[1::2])):
        options = {"full_matrices": False} if whole.name == "svd" else {}
        expected = getattr(np.linalg, whole.name)(x, **options)
        for value, other in zip(values, expected, strict=True):
            np.testing.assert_allclose(value, other, rtol=0, atol=1e-12)


@pytest.mark.slow
@each_whole
@each_way
def test_derivatives_of_every_order_use_the_results_that_are_there(whole, run, calls):
    A = sd.symbol("A", whole.shape)
    f = objective(whole.results(A))
    gradient, direction = sd.grad(f, A), np.ones(whole.shape)
    orders = [f, gradient, sd.hessian(f, A), sd.hvp(sd.vdot(gradient, direction), A, direction)]
    for k in range(2, 5):
        found = counted(calls, run, orders[:k], {A: point(whole.shape)[0]})
        assert found == Counter([whole.name, *whole.beside])


@each_whole
def test_the_backward_pass_is_given_what_the_forward_pass_had_at_hand(whole, calls):
    """Also results that the value alone does not need."""
    A = sd.symbol("A", whole.shape)
    (a,) = point(whole.shape)
    for f in (objective(whole.results(A)), *map(objective, zip(whole.results(A), strict=False))):
        F = nm.lower(f, A)
        for walk in (F.value_and_grad, lambda x, F=F: F.backward(F.forward(x)[1], 1.0)):
            assert counted(calls, walk, a) <= Counter([whole.name, *whole.beside])


@each_whole
@each_way
def test_a_program_of_some_results_computes_those_alone(whole, run, calls):
    A = sd.symbol("A", whole.shape)
    at = {A: point(whole.shape)[0]}
    results = whole.results(A)
    everything = run(list(results), at)
    for k, y in enumerate(results):
        calls.clear()
        value = run([sd.sum(y**2), y], at)[1]
        assert calls == [whole.alone.get(k, whole.name)]
        np.testing.assert_allclose(value, everything[k], rtol=0, atol=1e-12)


@each_whole
@each_way
def test_a_detached_result_is_of_the_same_computation(whole, run, calls):
    A = sd.symbol("A", whole.shape)
    f = objective([*whole.results(A), *whole.results(sd.detach(A))])
    found = counted(calls, run, [f, sd.grad(f, A)], {A: point(whole.shape)[0]})
    assert found == Counter([whole.name, *whole.beside])


@each_whole
@each_way
def test_results_have_memory_of_their_own(whole, run):
    """Also where one value has two nodes."""
    A = sd.symbol("A", whole.shape)
    both = [*whole.results(A), *whole.results(sd.detach(A))]
    found = [np.asarray(y) for y in run(both, {A: point(whole.shape)[0]})]
    for one, other in itertools.combinations(found, 2):
        assert not np.shares_memory(one, other)


@each_whole
def test_a_batch_and_a_pickle_call_once_too(whole, calls):
    A, many = sd.symbol("A", whole.shape), sd.symbol("many", (5, *whole.shape))
    f = objective(whole.results(A))
    F = nm.lower(sd.batch([f, sd.grad(f, A)], {A: many}), many)
    stack = np.stack(point(*[whole.shape] * 5))
    for run in (F, pickle.loads(pickle.dumps(F))):
        assert counted(calls, run, stack) == Counter([whole.name, *whole.beside])
        assert run(stack)[1].shape == stack.shape


@each_whole
def test_one_statement_names_all_results(whole):
    """The function's name stands once, arrays are dropped after their last use."""
    A = sd.symbol("A", whole.shape)
    results = whole.results(A)
    f = objective(results)
    source = nm.lower([f, sd.grad(f, A)], A).source
    names = r", ".join([r"v\d+"] * len(results))
    (statement,) = re.findall(rf"^ +({names}) = {whole.name}\(", source, re.MULTILINE)
    dropped = re.findall(r"^ +del (.*)$", source, re.MULTILINE)
    inlined = {"slogdet": 1}.get(whole.name, 0)  # the logarithm has no use but its square
    assert inlined or set(statement.split(", ")) <= set(", ".join(dropped).split(", "))


@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (3, 3)])
def test_a_pseudoinverse_serves_its_derivatives(shape, calls):
    """Which refuse where the rank is not full; the value, and the forward pass, do not."""
    A = sd.symbol("A", shape)
    f = objective([sd.pinv(A)])
    (a,) = point(shape)
    F = nm.lower(f, A)
    for run in (
        F.value_and_grad,
        lambda x: F.backward(F.forward(x)[1], 1.0),
        nm.lower([f, sd.grad(f, A), sd.hessian(f, A)], A),
    ):
        assert counted(calls, run, a) == Counter(["svd"])
    a[0] = a[1]
    if shape[0] <= shape[1]:
        _, kept = F.forward(a)
        with pytest.raises(np.linalg.LinAlgError, match="full rank"):
            F.backward(kept, 1.0)


def test_threads_share_nothing(calls):
    """Each calls LAPACK for its own matrix as often as if it were alone."""
    A, B = sd.symbol("A", (4, 3)), sd.symbol("B", (4, 3))
    f = objective([*sd.svd(A), *sd.svd(B)])
    F = nm.lower([f, *sd.grad(f, [A, B])], [A, B])
    a, b = point((4, 3), (4, 3))
    given = [(a, b), (b, 2 * a), (2 * b, a), (3 * a, b)]
    expected = [F(*one) for one in given]
    calls.clear()
    found: list[Any] = [None] * len(given)
    ready = threading.Barrier(len(given))

    def work(k: int) -> None:
        ready.wait()
        for _ in range(20):
            found[k] = F(*given[k])

    threads = [threading.Thread(target=work, args=(k,)) for k in range(len(given))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert calls == ["svd"] * (2 * 20 * len(given))
    for one, other in zip(found, expected, strict=True):
        for x, y in zip(one, other, strict=True):
            np.testing.assert_array_equal(x, y)


def test_tensors_that_are_traced_call_once(calls):
    (a,) = point((3, 3))

    def f(x: Any) -> Any:
        values, vectors = nm.linalg.eigh(x)
        return (values * vectors**2).sum()

    compiled, stack = nm.compile(f), nm.tensor(np.stack([a, 2 * a]))
    x = nm.tensor(a, requires_grad=True)
    for run in (
        lambda: nm.vmap(f)(stack),
        lambda: compiled(nm.tensor(a)),
        lambda: compiled(x).backward(),
    ):
        run()  # once to compile it
        assert counted(calls, run) == Counter(["eigh"])


# Planted faults -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["eigh", "svd", "qr", "slogdet"])
@each_way
def test_a_kernel_for_each_result_is_noticed(name, run, calls, monkeypatch):
    for module in (reference, schedule):
        monkeypatch.setattr(module, "computations", lambda nodes: {})
    with pytest.raises(AssertionError):
        test_interleaved_results_of_two_matrices_cost_two_calls(WHOLES[name], run, calls)
    calls.clear()
    with pytest.raises(AssertionError):
        test_derivatives_of_every_order_use_the_results_that_are_there(WHOLES[name], run, calls)


@pytest.mark.parametrize("name", ["eigh", "svd", "qr"])
@each_way
def test_results_that_nobody_uses_are_noticed(name, run, calls, monkeypatch):
    whole = WHOLES[name].results(sd.symbol("A", (3, 3)))[0].op.whole
    everything = list(PARTS[whole].items())[-1:]
    monkeypatch.setitem(PARTS, whole, dict(everything))
    monkeypatch.setattr(structure, "of_parts", of_parts.__wrapped__)
    with pytest.raises(AssertionError):
        test_a_program_of_some_results_computes_those_alone(WHOLES[name], run, calls)


@pytest.mark.parametrize("name", ["eigh", "svd"])
def test_a_backward_pass_that_begins_again_is_noticed(name, calls, monkeypatch):
    """Residuals that leave out what only the gradient needs."""
    right = residuals

    def wrong(*given: Any) -> tuple[Expr, ...]:
        with monkeypatch.context() as only:
            only.setattr(schedule, "computations", lambda nodes: {})
            return right(*given)

    monkeypatch.setattr(derivatives, "residuals", wrong)
    with pytest.raises(AssertionError):
        test_the_backward_pass_is_given_what_the_forward_pass_had_at_hand(WHOLES[name], calls)
