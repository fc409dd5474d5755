"""``saved_tensors_hooks``: what operations keep for backward passes through the program."""

import pickle
import threading
import weakref

import numpy as np
import pytest

from tests.eager.chosen import check, leaf, no_collector, ours, torch
from tests.support.tensor_checks import check_all, check_backward, check_derivatives, leaf_and_copy

saved_tensors_hooks = torch.autograd.graph.saved_tensors_hooks
disable_saved_tensors_hooks = torch.autograd.graph.disable_saved_tensors_hooks


class Log:
    """Hooks that count, and the mode they are called in."""

    def __init__(self):
        self.packed, self.unpacked, self.modes = [], [], set()

    def pack(self, t):
        self.modes.add(torch.is_grad_enabled())
        self.packed.append(t.numpy().copy() if not t.requires_grad else t.detach().numpy().copy())
        return len(self.packed) - 1

    def unpack(self, i):
        self.unpacked.append(i)
        return torch.tensor(self.packed[i])

    def on(self):
        return saved_tensors_hooks(self.pack, self.unpack)


def test_pack_at_saving_unpack_at_use():
    """Each saved tensor passes through pack once, and through unpack whenever it is needed."""
    log, x = Log(), leaf([2.0, 3.0])
    with log.on():
        y = x * x
        z = y.exp()
    assert len(log.packed) == 3
    assert not log.unpacked
    assert log.modes == {False}
    check(torch.tensor(log.packed[2]), np.exp([4.0, 9.0]))
    z.sum().backward(retain_graph=True)
    assert sorted(log.unpacked) == [0, 1, 2]
    z.sum().backward()
    assert len(log.unpacked) == 6
    check(x.grad, 2 * np.exp([4.0, 9.0]) * 2 * np.array([2.0, 3.0]))


def test_only_inside():
    """What is recorded before or after is kept as ever; the pass itself may run anywhere."""
    log, x = Log(), leaf([2.0])
    before = x * x
    with log.on():
        pass
    after = x * x
    with log.on():
        (before + after).sum().backward()
    assert not log.packed
    assert not log.unpacked
    check(x.grad, [8.0])


def test_nothing_saved_nothing_packed():
    """Sums, views and what is not recorded save no tensors."""
    log, x = Log(), leaf([2.0, 3.0])
    with log.on():
        (x + 1).reshape(2, 1).sum()
        x.detach() * x.detach()
        with torch.no_grad():
            x * x
    assert not log.packed


def test_the_innermost_pair_counts():
    """They are not composed."""
    outer, inner, x = Log(), Log(), leaf([2.0])
    with outer.on():
        y = x.exp()
        with inner.on():
            y = y.sin()
        y = y.exp()
    assert (len(outer.packed), len(inner.packed)) == (2, 1)
    y.sum().backward()
    assert (len(outer.unpacked), len(inner.unpacked)) == (2, 1)
    check(x.grad, np.exp(np.sin(np.exp(2.0)) + 2) * np.cos(np.exp([2.0])), rtol=1e-9)


def test_higher_derivatives():
    """Unpacked tensors have the history of those that were saved."""
    log, x = Log(), leaf([2.0])
    with log.on():
        y = (x * 3) ** 3 + x.exp()
    e = np.exp(2)
    check_derivatives(y, x, [81 * 4 + e], [162 * 2 + e], [162 + e])


def test_operations_of_every_kind():
    """Matrices, reductions, indices, several results: each gets back what it saved."""
    a, b = leaf(np.arange(6.0).reshape(2, 3) + 1), leaf(np.arange(6.0).reshape(3, 2) - 2)

    def run():
        c = (a @ b).softmax(1)
        d = torch.cat([c, a[:, :2]]).prod(0)
        e, _ = a.max(dim=1)
        var, mean = torch.var_mean(b, dim=0)
        return (c * 3).sum() + d.sum() + (e * e).sum() + (var * mean).sum() + a.std() + b.norm()

    plain = torch.autograd.grad(run(), (a, b))
    log = Log()
    with log.on():
        y = run()
    assert log.packed
    for got, expected in zip(torch.autograd.grad(y, (a, b)), plain, strict=True):
        check(got, expected.numpy(), rtol=1e-10)


@pytest.mark.parametrize(
    "unpack", [lambda h: h.double(), lambda h: h], ids=["cast back", "as it was stored"]
)
def test_other_dtypes(unpack):
    """A pair may store less; the gradient has the leaf's dtype."""
    x = leaf([2.0, 3.0])
    with saved_tensors_hooks(lambda t: t.detach().half(), unpack):
        y = (x * x).sum()
    check_backward(y, (x, [4.0, 6.0]))
    assert x.grad.dtype == torch.float64


def test_operands_are_packed_themselves():
    """The hook gets the very tensors, leaves and others."""
    x, seen = leaf([2.0]), []
    with saved_tensors_hooks(lambda t: seen.append(t) or t, lambda t: t):
        w = x * x
        _ = w * w
    assert all(t is x for t in seen[:2])
    assert all(t is w for t in seen[2:])


def test_changes_in_place_are_not_noticed():
    """What pack returned is the program's own business."""
    x, w = leaf_and_copy([2.0])
    with saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
        y = w * w
    w.mul_(10)
    check_backward(y.sum(), (x, [4.0]))


def test_pack_must_not_change_its_argument():
    """RuntimeError."""
    w = leaf([2.0]) * 1
    hooks = saved_tensors_hooks(lambda t: t.mul_(2), lambda t: t)
    with hooks, pytest.raises(RuntimeError, match="pack hook is modifying its input in place"):
        w.exp()


@pytest.mark.parametrize("wrong", [3, None, "a", [1.0], torch.ones(3)])
def test_unpack_must_return_a_tensor_of_the_shape(wrong):
    """TypeError, and RuntimeError for another shape, in backward."""
    x = leaf([2.0, 3.0])
    with saved_tensors_hooks(lambda t: wrong, lambda made: made):
        y = (x * x).sum()
    error, says = TypeError, "unpack_hook expected to be a Tensor but got result of"
    if isinstance(wrong, torch.Tensor):
        error, says = RuntimeError, None
    with pytest.raises(error, match=says):
        y.backward()
    assert x.grad is None


def test_exceptions_propagate():
    """From pack at the operation, from unpack in backward; the context is left in order."""

    def fail(_):
        raise KeyError("mine")

    x = leaf([2.0])
    with pytest.raises(KeyError, match="mine"), saved_tensors_hooks(fail, lambda t: t):
        x * x
    assert torch.is_grad_enabled()
    with saved_tensors_hooks(lambda t: t, fail):
        y = x * x
    with pytest.raises(KeyError, match="mine"):
        y.sum().backward()
    check_backward((x * x).sum(), (x, [4.0]))


def test_hooks_are_functions():
    """TypeError."""
    with pytest.raises(TypeError), saved_tensors_hooks(3, lambda t: t):
        pass


def test_freed_as_ever():
    """The 'second time' rule holds; unpack is not called then."""
    log, x = Log(), leaf([2.0])
    with log.on():
        y = (x * x).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()
    assert len(log.unpacked) == 2


def test_custom_functions():
    """What save_for_backward keeps passes through, None does not."""
    log, x = Log(), leaf([2.0])

    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(x, None, y, x + 1)
            return y

        @staticmethod
        def backward(ctx, g):
            a, nothing, y, b = ctx.saved_tensors
            assert nothing is None
            return g * y * a * b

    with log.on():
        z = F.apply(x)
    assert len(log.packed) == 3
    saved = z.grad_fn.saved_tensors
    assert len(log.unpacked) == 3
    assert saved[0].requires_grad
    assert saved[0].is_leaf
    assert saved[2].grad_fn is z.grad_fn
    assert not saved[3].requires_grad
    check_backward(z.sum(), (x, [6 * np.exp(2.0)]))
    with pytest.raises(RuntimeError, match="second time"):
        _ = z.grad_fn.saved_tensors


def test_unpacked_tensors_of_custom_functions_are_differentiable():
    """They have the history of what was saved."""
    log, x = Log(), leaf([2.0])

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return 2 * ctx.saved_tensors[0] * g

    with log.on():
        y = Square.apply(x * 3)
    check_derivatives(y, x, [36.0], [18.0])


def test_in_place_operations():
    """Those that keep their result have it packed."""
    log, x = Log(), leaf([2.0])
    with log.on():
        y = x * 1
        y.exp_()
    check_backward(y.sum(), (x, [np.exp(2.0)]))
    assert len(log.packed) == 1


def test_disabling():
    """Inside, hooks are errors with the given message; and around them, it is one."""
    x = leaf([2.0])
    with disable_saved_tensors_hooks("no hooks here"):
        (x * x).sum().backward()
        hooks = saved_tensors_hooks(lambda t: t, lambda t: t)
        with pytest.raises(RuntimeError, match="no hooks here"), hooks:
            pass
    with saved_tensors_hooks(lambda t: t, lambda t: t):
        disabled = disable_saved_tensors_hooks("nor here")
        with pytest.raises(RuntimeError, match="nor here"), disabled:
            pass
        y = x * x
    y.sum().backward()

    @disable_saved_tensors_hooks("not in it")
    def function():
        with saved_tensors_hooks(lambda t: t, lambda t: t):
            pass

    with pytest.raises(RuntimeError, match="not in it"):
        function()


def test_save_on_cpu():
    """A pair that there is already."""
    x = leaf([2.0])
    with torch.autograd.graph.save_on_cpu():
        y = (x * x).exp().sum()
    check_backward(y, (x, [4 * np.exp(4.0)]))


def test_subclasses():
    """As programs write them."""

    class Doubling(saved_tensors_hooks):
        def __init__(self, factor):
            super().__init__(lambda t: t.detach() * factor, lambda t: t / (2 * factor))

    x = leaf([3.0])
    with Doubling(4):
        y = x * x
    check_backward(y.sum(), (x, [3.0]))


def test_threads_have_their_own():
    """Hooks hold for the thread that enters them."""
    log, x, done = Log(), leaf([2.0]), []

    def work():
        (x * x).sum().backward()
        done.append(True)

    with log.on():
        t = threading.Thread(target=work)
        t.start()
        t.join()
    assert done
    assert not log.packed


def test_increment_version_and_edges():
    """The other names of the module."""
    x = leaf([2.0])
    y = x * x
    torch.autograd.graph.increment_version(x)
    assert x._version == 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    edge = torch.autograd.graph.get_gradient_edge(y)
    assert edge.node is y.grad_fn
    assert edge.output_nr == 0
    assert torch.autograd.graph.get_gradient_edge(x).node is y.grad_fn.next_functions[0][0]
    assert isinstance(edge.node, torch.autograd.graph.Node)
    with pytest.raises(RuntimeError, match="does not require grad"):
        torch.autograd.graph.get_gradient_edge(torch.ones(1))


def test_memory():
    """A pair that keeps what it gets makes no cycle."""

    class Token:
        pass

    with no_collector():
        x, token = leaf([2.0]), Token()
        ref = weakref.ref(token)
        with saved_tensors_hooks(lambda t, token=token: (t.detach(), token), lambda pair: pair[0]):
            y = x.exp()
        del token
        assert ref() is not None
        del y
        assert ref() is None


@ours
def test_results_are_packed_without_history():
    """Also where pack returns its argument, nothing holds itself."""
    with no_collector():
        with saved_tensors_hooks(lambda t: t, lambda t: t):
            y = leaf([2.0]).exp()
        ref = weakref.ref(y.grad_fn)
        del y
        assert ref() is None


@ours
def test_pickles():
    """A history of packed tensors is pickled with what they are unpacked to."""
    x = leaf([2.0])
    with saved_tensors_hooks(lambda t: t.tolist(), torch.tensor):
        y = (x * x).exp()
    x2, y2 = pickle.loads(pickle.dumps((x, y)))
    check_backward(y2.sum(), (x2, [4 * np.exp(4.0)]))


def test_gradients_at_edges():
    """An edge is asked for in place of its tensor, which need not exist any longer."""
    x = leaf([2.0])
    w = x * 3
    edge = torch.autograd.graph.get_gradient_edge(w)
    y = w * w
    del w
    check_all(torch.autograd.grad(y, [edge, x], retain_graph=True), [12.0], [36.0])
    check_all(torch.autograd.grad(y, edge), [12.0])
