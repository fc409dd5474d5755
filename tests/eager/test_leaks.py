"""Memory: what is dropped is freed at once, without the garbage collector; depth; threads.

PyTorch keeps some of these promises; those it does not keep are marked.
"""

import functools
import gc
import operator
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import symdiff as sd
from tests.eager.chosen import ORACLE, check, leaf, no_collector, ours, torch


class Hook:
    """What a node holds, so that its end can be seen."""

    def __call__(self, *_):
        return None


class Double(Hook):
    def __call__(self, g):
        return g * 2


def watched(thing):
    """A weak reference; of nodes, where they have none, to what only the node holds."""
    try:
        return weakref.ref(thing)
    except TypeError:
        hook = Hook()
        thing.register_hook(hook)
        return weakref.ref(hook)


# What is dropped is freed ------------------------------------------------------------------------
#
# Programs of a matrix that requires gradients.  What they return, and the matrix, is held by
# nothing else: it goes with the last reference, and leaves nothing for the collector.


def _leaf(w):
    (w * w).sum().backward()
    return [w.grad]


def _record(w):
    h = w.exp()
    y = h.sin().sum()
    return h, y, h.grad_fn, y.grad_fn


def _several_uses(w):
    h = w * 2
    y = (h * h + h.exp()).sum()
    return h, y, h.grad_fn, y.grad_fn


def _backward(w):
    made = _several_uses(w)
    made[1].backward()
    return made


def _grad(w):
    made = _several_uses(w)
    torch.autograd.grad(made[1], w)
    return made


def _views(w):
    h = w * 1
    v, u = h[1:], h[:1]
    v.mul_(2)
    u.sum().backward()
    return h, v, u


def _through_views(w):
    h = w * 1
    h.t()[0].mul_(2)
    h.view(4)[1:].exp_()
    (h * h).sum().backward()
    return [h]


def _in_place(w):
    h = w * 1
    h.mul_(3)
    h += w
    h[0] = 3.0
    (h.view(4, 1) @ w.view(1, 4)).exp().sum().backward()
    return [h]


def _with_hooks(w):
    hook, y = Double(), w * 3
    y.register_hook(hook)
    w.register_hook(hook)
    y.grad_fn.register_prehook(lambda g: None)
    y.retain_grad()
    (y * y).sum().backward()
    return hook, y


def _to_third_order(w):
    made = [(w**3).sum()]
    for _ in range(3):
        (g,) = torch.autograd.grad(made[-1], w, create_graph=True)
        made += [g, g.sum()]
    return made


def _into_a_buffer(w):
    buffer = torch.zeros(2, 2).double()
    buffer[0] = w[0]
    buffer[1] += buffer[0].clone() * w[1]
    buffer.sum().backward()
    return [buffer]


def _refused(w):
    y = w.exp().sum()
    y.backward()
    with pytest.raises(RuntimeError):
        y.backward()


def _printed(w):
    repr((w * 2).view(4))


def _training(w):
    loss = ((torch.ones(3, 2).double() @ w).tanh() ** 2).sum()
    (g,) = torch.autograd.grad(loss, w, create_graph=True)
    ((g * g).sum() + loss).backward(create_graph=True)
    return loss, g, w.grad


@functools.cache
def _lowered():
    x, y = sd.symbols("x y")
    return torch.lower(sd.sin(x) * y, (x, y))


def _function(w):
    z = _lowered()(w, 2.0)
    (g,) = torch.autograd.grad(z.sum(), w, create_graph=True)
    return z, g, z.grad_fn


def _formulas(w):
    y = torch.exp(w * w).sum()
    y.backward(create_graph=True)
    assert w.grad.expr.shape == w.shape
    return y, w.grad, y.expr, w.grad.expr


def _texts(w):
    y, g, *formulas = _formulas(w)
    assert all("exp" in str(f) for f in formulas)
    return y, g


PROGRAMS = {
    "nothing": lambda w: [],
    "leaf and gradient": _leaf,
    "record": _record,
    "record without its result": lambda w: [w.exp().grad_fn],
    "backward": _backward,
    "grad": _grad,
    "views": _views,
    "views and writes": _through_views,
    "in place": _in_place,
    "hooks": _with_hooks,
    "third order": _to_third_order,
    "mlp": lambda w: ((w @ w).tanh() @ w).softmax(1).log().sum().backward(),
    "several outputs": lambda w: (w.unbind()[0] * w.sort().values[1]).sum().backward(),
    "detach and data": lambda w: (w * w.detach() * w.data).sum().backward(),
    "buffer": _into_a_buffer,
    "dropped": lambda w: [(w * 2).exp().view(4)[1:]],
    "batched": lambda w: torch.autograd.grad(w * w, w, torch.ones(3, 2, 2).double(),
                                             is_grads_batched=True),
    "retained": lambda w: (w * w).sum().backward(retain_graph=True),
    "loss": lambda w: torch.nn.functional.cross_entropy(w, torch.tensor([0, 1])).backward(),
    "printed": _printed,
    "second time": _refused,
}  # fmt: skip
# In PyTorch a gradient that depends on its leaf is a cycle, and there are no formulas.
OURS = {
    "backward with create_graph": lambda w: (w**3).sum().backward(create_graph=True),
    "training with create_graph": _training,
    "function": _function,
    "formulas": _formulas,
    "texts": _texts,
}
# What leaves cycles of its own: an exception its frames, and printers of formulas.
CYCLIC = ("second time", "texts")


@pytest.mark.slow
@pytest.mark.parametrize("name", [*PROGRAMS, *(pytest.param(name, marks=ours) for name in OURS)])
def test_what_is_dropped_is_freed(name):
    """At once, by counts of references alone, and the collector finds nothing."""
    program = (PROGRAMS | OURS)[name]
    program(leaf([[1.0, 2.0], [3.0, 4.0]]))  # fills the caches
    with no_collector():
        for _ in range(3):
            w = leaf([[1.0, 2.0], [3.0, 4.0]])
            made = program(w) or []
            refs = [watched(thing) for thing in (w, *made) if thing is not None]
            del w, made
            assert [r() is None for r in refs] == [True] * len(refs)
        if ORACLE == "numeric" and name not in CYCLIC:
            assert gc.collect() == 0


def test_assigned_grad_is_freed():
    """``.grad = None`` frees the gradient."""
    with no_collector():
        x = leaf([1.0])
        (x * x).sum().backward()
        ref = weakref.ref(x.grad)
        x.grad = None
        assert ref() is None


# Nothing kept alive -------------------------------------------------------------------------------


@ours
def test_record_holds_its_leaf_weakly():
    """AccumulateGrad does not keep the leaf: the record lives, the leaf goes."""
    with no_collector():
        x, w = leaf([1.0]), leaf([2.0])
        ref = weakref.ref(x)
        y = x * w
        end = y.grad_fn.next_functions[0][0]
        assert end.variable is x
        del x
        assert ref() is None
        assert end.variable is None
        y.sum().backward()
        check(w.grad, [1.0])


@ours
def test_record_keeps_no_tensors():
    """Nodes keep arrays: an intermediate tensor goes although its record is needed."""
    with no_collector():
        x = leaf([1.0, 2.0])
        h = x.exp()
        y = h.sin().sum()
        tensor = weakref.ref(h)
        del h
        assert tensor() is None
        y.backward()
        check(x.grad, np.cos(np.exp([1.0, 2.0])) * np.exp([1.0, 2.0]))


def test_no_grad_keeps_nothing_alive():
    """Under no_grad operands go as soon as they are dropped."""
    with no_collector(), torch.no_grad():
        x = leaf([1.0, 2.0])
        h = x.exp()
        y = h.sin()
        refs = [weakref.ref(h), weakref.ref(x)]
        del h, x
        assert [r() for r in refs] == [None, None]
        assert y.grad_fn is None


def test_detach_keeps_no_record():
    """A detached result does not keep the record."""
    with no_collector():
        y = leaf([1.0]).exp()
        ref, d = watched(y.grad_fn), y.detach()
        del y
        assert ref() is None
        check(d, [np.e])


def _under(mode):
    def program(x, w):
        with getattr(torch, mode)():
            return (x * w).sum()

    return program


def _backward_of_product(x, w, **options):
    y = (x * w).sum()
    y.backward(**options)
    return y


# What is computed of an array and a leaf, and whether the result holds the array's memory.
KEPT = {
    "no_grad": (_under("no_grad"), False),
    "inference_mode": (_under("inference_mode"), False),
    "constants": (lambda x, w: (x * x).sum(), False),
    "additions, which need no values": (lambda x, w: (x + w).sum(), False),
    "recorded": (lambda x, w: (x * w).sum(), True),
    "after backward": (_backward_of_product, False),
    "retained": (lambda x, w: _backward_of_product(x, w, retain_graph=True), True),
}


@pytest.mark.parametrize("name", KEPT)
def test_memory_is_kept_while_it_is_needed(name):
    """Saved values go with the backward pass, or with the result."""
    program, kept = KEPT[name]
    with no_collector():
        array, w = np.ones(1000), leaf(2.0)
        ref = weakref.ref(array)
        y = program(torch.from_numpy(array), w)
        del array
        assert (ref() is not None) == kept
        if y.requires_grad and not name.startswith(("after", "retained")):
            y.backward()
            check(w.grad, 1000.0)
            assert ref() is None
        del y
        assert ref() is None


# Depth --------------------------------------------------------------------------------------------


# Rule 19: how many operations, each, and the slope of the last result; None: without backward.
CHAINS = {
    "sums": (100_000, operator.add, 100_001.0),
    "products, dropped without backward": (100_000, lambda y, x: y * 1.00001, None),
    "a history of writes in place": (20_000, operator.iadd, 20_001.0),
    "very deep": (1_000_000, operator.add, 1_000_001.0),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [*list(CHAINS)[:-1], pytest.param("very deep", marks=pytest.mark.slow)]
)
def test_deep_chains_run_and_are_freed(name):
    """Rule 19: in linear time, without recursion."""
    length, step, slope = CHAINS[name]
    x = leaf(1.0)
    y = x * 1
    for _ in range(length):
        y = step(y, x)
    refs = weakref.ref(y), watched(y.grad_fn)
    if slope is not None:
        y.backward()
        check(x.grad, slope)
    del y
    assert [r() is None for r in refs] == [True, True]


def test_deep_chain_dropped_in_the_middle_of_a_run():
    """Rule 19: a run that fails leaves a deep record, which is freed as well."""
    x = leaf(1.0)
    y = x
    for i in range(20_000):
        y = y * 1.0
        if i == 10_000:

            def fail(g):
                raise KeyError("stop")

            y.register_hook(fail)
    with pytest.raises(KeyError):
        y.backward()
    del y
    assert x.grad is None


# Threads ------------------------------------------------------------------------------------------


def test_concurrent_backward_on_shared_leaves():
    """Separate records over shared leaves, backward at once: nothing is lost."""
    w = leaf(np.ones(50).tolist())
    threads, rounds = 4, 25
    barrier = threading.Barrier(threads, timeout=30)

    def work(k):
        barrier.wait()
        for _ in range(rounds):
            ((w * (k + 1)).sin() * 0 + w * (k + 1)).sum().backward()

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, range(threads)))
    check(w.grad, np.full(50, rounds * 10.0))


def test_concurrent_grad():
    """autograd.grad in many threads over shared leaves and separate records."""
    w = leaf([0.5, 1.0])

    def work(k):
        results = []
        for _ in range(20):
            (g,) = torch.autograd.grad((w**k).sum(), w, create_graph=True)
            (h,) = torch.autograd.grad(g.sum(), w)
            results.append(h.tolist())
        return results

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(work, range(2, 6)))
    for k, results in zip(range(2, 6), found, strict=True):
        for h in results:
            np.testing.assert_allclose(h, k * (k - 1) * np.array([0.5, 1.0]) ** (k - 2))
    assert w.grad is None


def test_backward_in_another_thread():
    """A record made in one thread, backward in another, and a mode of its own there."""
    w = leaf([2.0])
    y = (w**3).sum()
    with torch.no_grad(), ThreadPoolExecutor(1) as pool:
        pool.submit(y.backward).result()
        assert pool.submit(torch.is_grad_enabled).result()
    check(w.grad, [12.0])


def test_hooks_run_in_concurrent_passes():
    """A hook of a shared leaf runs once per pass."""
    w, seen = leaf([1.0]), []
    w.register_hook(lambda g: seen.append(g.item()))

    def work(k):
        for _ in range(10):
            (w * k).sum().backward()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, [1.0, 2.0, 3.0, 4.0]))
    assert sorted(seen) == sorted([1.0, 2.0, 3.0, 4.0] * 10)
    check(w.grad, [100.0])
