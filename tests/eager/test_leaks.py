"""Memory: what is dropped is freed at once, without the garbage collector; depth; threads.

PyTorch keeps some of these promises; those it does not keep are marked.
"""

import gc
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tests.eager.chosen import check, leaf, no_collector, ours, torch


class Hook:
    """What a node holds, so that its end can be seen."""

    def __call__(self, *_):
        return None


def node_ref(node):
    """A weak reference to a node, or, where nodes have none, to what only the node holds."""
    try:
        return weakref.ref(node)
    except TypeError:
        hook = Hook()
        node.register_hook(hook)
        return weakref.ref(hook)


# Leaves -------------------------------------------------------------------------------------------


def test_leaf_is_freed():
    """A leaf that nobody holds is freed, before and after backward."""
    with no_collector():
        x = leaf([1.0])
        ref = weakref.ref(x)
        del x
        assert ref() is None
        x = leaf([1.0])
        (x * x).sum().backward()
        ref, grad = weakref.ref(x), weakref.ref(x.grad)
        del x
        assert ref() is None
        assert grad() is None


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


def test_assigned_grad_is_freed():
    """``.grad = None`` frees the gradient."""
    with no_collector():
        x = leaf([1.0])
        (x * x).sum().backward()
        ref = weakref.ref(x.grad)
        x.grad = None
        assert ref() is None


# Records ------------------------------------------------------------------------------------------


def test_record_is_freed_with_its_result():
    """Dropping the result frees what lies between it and the leaves."""
    with no_collector():
        x = leaf([1.0, 2.0])
        h = x.exp()
        y = h.sin().sum()
        ref = weakref.ref(h)
        del h
        del y
        assert ref() is None


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


def test_node_is_freed_with_its_result():
    """The node itself too."""
    with no_collector():
        x = leaf([1.0, 2.0])
        y = x.exp()
        ref = node_ref(y.grad_fn)
        del y
        assert ref() is None


@pytest.mark.parametrize("how", ["backward", "grad"])
def test_record_of_several_uses(how):
    """After backward, with results dropped, only leaves and gradients remain."""
    with no_collector():
        x = leaf([1.0, 2.0])
        h = x * 2
        y = (h * h + h.exp()).sum()
        refs = [weakref.ref(t) for t in (h, y)] + [node_ref(h.grad_fn), node_ref(y.grad_fn)]
        if how == "backward":
            y.backward()
        else:
            torch.autograd.grad(y, x)
        del h, y
        assert [r() for r in refs] == [None] * 4


def test_views_are_freed():
    """A base and its views, changed in place or not."""
    with no_collector():
        x = leaf([1.0, 2.0, 3.0])
        h = x * 1
        v = h[1:]
        v.mul_(2)
        w = h[:2]
        w.sum().backward()
        refs = [weakref.ref(t) for t in (h, v, w)]
        del h, v, w
        assert [r() for r in refs] == [None] * 3


def test_in_place_is_freed():
    """Rewritten history makes no cycle."""
    with no_collector():
        x = leaf([1.0, 2.0])
        h = x * 1
        h.mul_(3)
        h += x
        h.sum().backward()
        ref = weakref.ref(h)
        del h
        assert ref() is None


def test_hooks_are_freed():
    """With the tensor that has them."""

    class Double(Hook):
        def __call__(self, g):
            return g * 2

    with no_collector():
        x, hook = leaf([1.0]), Double()
        y = x * 3
        handle = y.register_hook(hook)
        x.register_hook(hook)
        y.sum().backward()
        check(x.grad, [12.0])
        ref = weakref.ref(hook)
        del hook, handle, y, x
        assert ref() is None


def test_retained_grad_is_freed():
    """retain_grad makes no cycle."""
    with no_collector():
        x = leaf([1.0])
        y = x * 3
        y.retain_grad()
        (y * y).sum().backward()
        ref = weakref.ref(y)
        del y
        assert ref() is None


# create_graph -------------------------------------------------------------------------------------


def test_grad_with_create_graph_leaks_nothing():
    """autograd.grad with create_graph: everything goes with the results."""
    with no_collector():
        x = leaf([1.0, 2.0])
        y = (x**3).sum()
        (g,) = torch.autograd.grad(y, x, create_graph=True)
        (h,) = torch.autograd.grad(g.sum(), x, create_graph=True)
        refs = [weakref.ref(t) for t in (x, y, g, h)]
        del x, y, g, h
        assert [r() for r in refs] == [None] * 4


@ours
def test_backward_with_create_graph_leaks_nothing():
    """backward with create_graph: a leaf whose ``.grad`` depends on it is freed."""
    with no_collector():
        x = leaf([1.0, 2.0])
        (x**3).sum().backward(create_graph=True)
        assert x.grad.requires_grad
        refs = [weakref.ref(x), weakref.ref(x.grad), node_ref(x.grad.grad_fn)]
        del x
        assert [r() for r in refs] == [None] * 3


@ours
def test_a_training_loop_with_create_graph_leaks_nothing():
    """Tensors do not pile up over many steps."""

    def alive():
        return sum(1 for o in gc.get_objects() if type(o) is torch.Tensor)

    def step(w, x):
        loss = ((x @ w).tanh() ** 2).sum()
        (g,) = torch.autograd.grad(loss, w, create_graph=True)
        ((g * g).sum() + loss).backward(create_graph=True)
        w.grad = None

    w, x = leaf([[1.0], [2.0]]), torch.ones(3, 2).double()
    step(w, x)
    with no_collector():
        before = alive()
        for _ in range(20):
            step(w, x)
        assert alive() == before


def test_no_cycles_for_the_collector():
    """The collector finds no tensors after ordinary work."""
    with no_collector():
        x = leaf([1.0, 2.0])
        refs = []
        for _ in range(10):
            h = x * 2
            h[0] = 3.0
            y = (h.view(2, 1) @ x.view(1, 2)).exp().sum()
            y.backward()
            refs += [weakref.ref(h), weakref.ref(y)]
            del h, y
        assert all(r() is None for r in refs)


def _through_views(w):
    h = w * 1
    h.t()[0].mul_(2)
    h.view(4)[1:].exp_()
    (h * h).sum().backward()


def _with_hooks(w):
    h = w * 1
    h.register_hook(lambda g: g * 2)
    h.grad_fn.register_prehook(lambda g: None)
    h.retain_grad()
    h.sum().backward()


def _to_third_order(w):
    y = (w**3).sum()
    for _ in range(3):
        (y,) = torch.autograd.grad(y, w, create_graph=True)
        y = y.sum()


def _into_a_buffer(w):
    buffer = torch.zeros(2, 2).double()
    buffer[0] = w[0]
    buffer[1] += buffer[0].clone() * w[1]
    buffer.sum().backward()


def _refused(w):
    y = w.exp().sum()
    y.backward()
    with pytest.raises(RuntimeError):
        y.backward()


PROGRAMS = {
    "mlp": lambda w: ((w @ w).tanh() @ w).softmax(1).log().sum().backward(),
    "views and writes": _through_views,
    "hooks": _with_hooks,
    "third order": _to_third_order,
    "backward with create_graph": lambda w: (w**3).sum().backward(create_graph=True),
    "several outputs": lambda w: (w.unbind()[0] * w.sort().values[1]).sum().backward(),
    "detach and data": lambda w: (w * w.detach() * w.data).sum().backward(),
    "buffer": _into_a_buffer,
    "dropped": lambda w: (w * 2).exp().view(4)[1:],
    "batched": lambda w: torch.autograd.grad(w * w, w, torch.ones(3, 2, 2).double(),
                                             is_grads_batched=True),
    "retained": lambda w: (w * w).sum().backward(retain_graph=True),
    "loss": lambda w: torch.nn.functional.cross_entropy(w, torch.tensor([0, 1])).backward(),
    "printed": lambda w: repr((w * 2).view(4)),
    "second time": _refused,
}  # fmt: skip


@ours
@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_left_for_the_collector(name):
    """No program leaves a reference cycle: the collector finds nothing at all."""
    w = leaf([[1.0, 2.0], [3.0, 4.0]])
    program = PROGRAMS[name]
    program(w)  # fills the caches
    w.grad = None
    with no_collector():
        for _ in range(3):
            program(w)
            w.grad = None
        if name != "second time":  # whose exception holds its own frames
            assert gc.collect() == 0
        ref = weakref.ref(w)
        del w
        assert ref() is None


# Nothing kept alive -------------------------------------------------------------------------------


def test_no_grad_keeps_nothing_alive():
    """Under no_grad operands go as soon as they are dropped."""
    with no_collector(), torch.no_grad():
        x = leaf([1.0, 2.0])
        h = x.exp()
        y = h.sin()
        ref = weakref.ref(h)
        del h
        assert ref() is None
        ref = weakref.ref(x)
        del x
        assert ref() is None
        assert y.grad_fn is None


@pytest.mark.parametrize("mode", ["no_grad", "inference_mode", "constants"])
def test_memory_is_not_kept(mode):
    """The arrays themselves go as well."""
    with no_collector():
        array = np.ones(1000)
        ref = weakref.ref(array)
        x = torch.from_numpy(array)
        if mode == "constants":
            y = (x * x).sum()
        else:
            w = leaf(2.0)
            with getattr(torch, mode)():
                y = (x * w).sum()
        del x, array
        assert ref() is None
        assert y.item() > 0


def test_backward_frees_saved_values():
    """After backward the saved arrays are gone although the result is held."""
    with no_collector():
        array = np.ones(1000)
        ref = weakref.ref(array)
        w = leaf(2.0)
        y = (torch.from_numpy(array) * w).sum()
        del array
        assert ref() is not None
        y.backward()
        assert ref() is None
        assert y.item() == 2000.0


def test_retain_graph_keeps_saved_values():
    """With retain_graph they stay until the result goes."""
    with no_collector():
        array = np.ones(1000)
        ref = weakref.ref(array)
        w = leaf(2.0)
        y = (torch.from_numpy(array) * w).sum()
        del array
        y.backward(retain_graph=True)
        assert ref() is not None
        del y
        assert ref() is None


def test_additions_save_nothing():
    """What needs no values keeps none."""
    with no_collector():
        array = np.ones(1000)
        ref = weakref.ref(array)
        w = leaf(2.0)
        y = (torch.from_numpy(array) + w).sum()
        del array
        assert ref() is None
        y.backward()
        check(w.grad, 1000.0)


def test_detach_keeps_no_record():
    """A detached result does not keep the record."""
    with no_collector():
        x = leaf([1.0])
        y = x.exp()
        ref, d = node_ref(y.grad_fn), y.detach()
        del y
        assert ref() is None
        check(d, [np.e])


# Depth --------------------------------------------------------------------------------------------


def _chain(n):
    x = leaf(1.0)
    y = x
    for _ in range(n):
        y = y + x
    return x, y


def test_deep_chain_backward_and_free():
    """Rule 19: 10⁵ operations."""
    x, y = _chain(100_000)
    y.backward()
    check(x.grad, 100_001.0)
    ref = weakref.ref(y)
    del y
    assert ref() is None


def test_deep_chain_of_products():
    """Rule 19: where each operation saves values, dropped without backward."""
    x = leaf(1.0)
    y = x
    for _ in range(100_000):
        y = y * 1.00001
    node = node_ref(y.grad_fn)
    del y
    assert node() is None


def test_deep_chain_of_in_place_operations():
    """Rule 19: a history of rewrites."""
    x = leaf(1.0)
    y = x * 1
    for _ in range(20_000):
        y += x
    y.backward()
    check(x.grad, 20_001.0)


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


@pytest.mark.slow
def test_very_deep_chain():
    """Rule 19: 10⁶ operations, in linear time."""
    x, y = _chain(1_000_000)
    y.backward()
    check(x.grad, 1_000_001.0)
    del y


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


def test_modes_do_not_leak_into_other_threads():
    """Rule 25: work under no_grad in one thread, recording in another."""
    w = leaf([1.0])
    barrier = threading.Barrier(2, timeout=30)

    def recorded():
        barrier.wait()
        return all((w * 2).requires_grad for _ in range(200))

    def unrecorded():
        barrier.wait()
        flags = []
        for _ in range(200):
            with torch.no_grad():
                flags.append((w * 2).requires_grad)
        return not any(flags)

    with ThreadPoolExecutor(2) as pool:
        a, b = pool.submit(recorded), pool.submit(unrecorded)
        assert a.result()
        assert b.result()


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
