"""Rules 29-31: detach, data, clone, retain_grad."""

import warnings

import numpy as np
import pytest

from tests.eager.chosen import check, leaf, torch
from tests.support.refusals import refused
from tests.support.tensor_checks import check_backward, check_constant, check_leaf, leaf_and_copy

# Rule 29 ------------------------------------------------------------------------------------------


def test_detach_cuts_the_record():
    """Rule 29: the result does not require grad and is a leaf; the rest is unharmed."""
    x = leaf([2.0])
    y = x * x
    d = y.detach()
    check_constant(d)
    assert y.requires_grad
    check_backward((y * d).sum(), (x, [16.0]))


def test_detach_shares_memory_and_version():
    """Rule 29: writes are seen on both sides, and counted on both."""
    x = leaf([1.0, 2.0], requires_grad=False)
    d = x.detach()
    d[0] = 9.0
    check(x, [9.0, 2.0])
    assert x._version == d._version == 1
    x.add_(1)
    check(d, [10.0, 3.0])
    assert x._version == d._version == 2


def test_detach_invalidates_saved_tensors():
    """Rule 29: in-place on the detached tensor is noticed by backward."""
    x = leaf([1.0, 2.0])
    y = x.sigmoid()
    y.detach().zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_data_has_its_own_version():
    """Rule 29: ``.data`` shares memory with a fresh counter."""
    x = leaf([1.0, 2.0])
    with torch.no_grad():
        x.add_(0)
    d = x.data
    assert d._version == 0
    assert not d.requires_grad
    d.mul_(10)
    assert d._version == 1
    assert x._version == 1
    check(x, [10.0, 20.0])


@pytest.mark.parametrize(
    ("f", "changed", "expected"),
    [(lambda x: x * x, "the operand", [10.0, 10.0]), (torch.sigmoid, "the result", [-20.0, -20.0])],
)
def test_data_changes_gradients_silently(f, changed, expected):
    """Rule 29: backward uses the new values without notice, of operands and of saved results."""
    x = leaf([1.0, 2.0])
    y = f(x)
    (x if changed == "the operand" else y).data.fill_(5.0)
    check_backward(y.sum(), (x, expected))


def test_setting_data():
    """Rule 29: swaps storage and shape, keeps version, leaf-ness and flag."""
    x = leaf([1.0, 2.0])
    with torch.no_grad():
        x.add_(0)
    t = torch.tensor([[5.0, 6.0, 7.0]]).double()
    x.data = t
    assert tuple(x.shape) == (1, 3)
    check(x, [[5.0, 6.0, 7.0]])
    assert x._version == 1
    check_leaf(x)
    t[0, 0] = 9.0
    check(x, [[9.0, 6.0, 7.0]])
    check_backward((x * 2).sum(), (x, [[2.0, 2.0, 2.0]]))


# Rule 30 ------------------------------------------------------------------------------------------


def test_detach_in_place():
    """Rule 30: ``detach_`` makes the tensor a leaf."""
    x = leaf([2.0])
    y = x * x
    assert y.detach_() is y
    check_constant(y)
    y.requires_grad_()
    check_backward((y * 3).sum(), (y, [3.0]))
    assert x.grad is None


def test_detach_in_place_on_a_leaf():
    """Rule 30: a leaf stops requiring grad."""
    x = leaf([2.0])
    x.detach_()
    assert not x.requires_grad


def test_detach_in_place_keeps_other_results():
    """Rule 30: what was computed from the tensor before keeps its record."""
    x = leaf([2.0])
    y = x * x
    z = y * 3
    y.detach_()
    check_backward(z.sum(), (x, [12.0]))


def test_detach_in_place_on_a_view():
    """Rule 30: refused."""
    x = leaf([1.0, 2.0])
    y = x * 2
    refused(
        (RuntimeError, "view", lambda: y[0].detach_()),
        (RuntimeError, "view", lambda: y.view(2, 1).detach_()),
    )


def test_clone_is_differentiable():
    """Rule 30: its gradient flows back; memory and version are its own."""
    x = leaf([1.0, 2.0])
    y = x.clone()
    assert y.requires_grad
    y.mul_(3)
    check(x, [1.0, 2.0])
    assert x._version == 0
    check_backward(y.sum(), (x, [3.0, 3.0]))
    assert not torch.ones(1).clone().requires_grad


def test_numpy_needs_no_gradient():
    """Rule 30: ``numpy()`` of a tensor that requires grad is refused."""
    x = leaf([1.0, 2.0])
    refused(
        (RuntimeError, "requires grad", x.numpy),
        (RuntimeError, "requires grad", lambda: (x * 2).numpy()),
        (RuntimeError, "requires grad", lambda: np.asarray(x)),
    )
    assert x.detach().numpy().tolist() == [1.0, 2.0]


def test_numpy_under_no_grad():
    """Rule 30: results of no_grad convert; so does a leaf there."""
    x = leaf([1.0, 2.0])
    with torch.no_grad():
        assert (x * 2).numpy().tolist() == [2.0, 4.0]
    assert x.tolist() == [1.0, 2.0]
    assert x[0].item() == 1.0


# Rule 31 ------------------------------------------------------------------------------------------


def test_retain_grad():
    """Rule 31: a non-leaf gets ``.grad``; calling it twice is calling it once."""
    x = leaf([1.0, 2.0])
    y = x * 2
    assert not y.retains_grad
    y.retain_grad()
    y.retain_grad()
    assert y.retains_grad
    assert y.grad is None
    check_backward((y * y).sum(), (y, [4.0, 8.0]), (x, [8.0, 16.0]))


def test_retain_grad_accumulates():
    """Rule 31: over several runs."""
    x = leaf([1.0])
    y = x * 2
    y.retain_grad()
    z = (y * y).sum()
    z.backward(retain_graph=True)
    check_backward(z, (y, [8.0]))


def test_retain_grad_on_leaves():
    """Rule 31: a no-op there."""
    x = leaf([1.0])
    x.retain_grad()
    assert not x.retains_grad
    check_backward((x * 2).sum(), (x, [2.0]))


def test_retain_grad_needs_requires_grad():
    """Rule 31: refused otherwise."""
    refused(
        (RuntimeError, "requires_grad=False", lambda: torch.ones(1).retain_grad()),
        (RuntimeError, "requires_grad=False", lambda: (torch.ones(1) * 2).retain_grad()),
    )


def test_retain_grad_tracks_the_latest_version():
    """Rule 31: after an in-place operation it is the gradient of the new state."""
    x = leaf([1.0, 2.0])
    y = x * 2
    y.retain_grad()
    y.mul_(3)
    check_backward((y * 5).sum(), (y, [5.0, 5.0]), (x, [30.0, 30.0]))


def test_retain_grad_with_create_graph():
    """Rule 31: the retained gradient is differentiable then."""
    x = leaf(2.0)
    y = x * x
    y.retain_grad()
    check_backward(y**3, (y, 48.0), create_graph=True)
    assert y.grad.requires_grad
    check(torch.autograd.grad(y.grad, x)[0], 96.0)


def test_retain_grad_of_one_of_several_outputs():
    """Rule 31: outputs of one node are told apart."""
    x = leaf([1.0, 2.0])
    a, b = x.unbind()
    b.retain_grad()
    check_backward(a * a * b, (b, 1.0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert a.grad is None


# More of rules 29-31 ------------------------------------------------------------------------------


def test_detached_tensor_as_a_new_leaf():
    """Rule 29: ``detach().requires_grad_()`` cuts a program in two."""
    x = leaf([2.0])
    y = x * x
    cut = y.detach().requires_grad_()
    check_backward((cut * 3).sum(), (cut, [3.0]))
    y.backward(cut.grad)
    check(x.grad, [12.0])


def test_detach_of_a_view_and_its_base():
    """Rule 29: memory and version are those of the base."""
    t = torch.zeros(4)
    d = t[1:3].detach()
    d.add_(1)
    check(t, [0.0, 1.0, 1.0, 0.0])
    assert t._version == 1


def test_data_of_a_non_leaf():
    """Rule 29: can be written; the record does not know."""
    x = leaf([1.0, 2.0])
    y = x * 3
    y.data.mul_(10)
    check(y, [30.0, 60.0])
    assert y._version == 0
    check_backward(y.sum(), (x, [3.0, 3.0]))


def test_data_of_a_view():
    """Rule 29: writes to the base's memory."""
    x = leaf([1.0, 2.0])
    x[0].data.fill_(9.0)
    check(x, [9.0, 2.0])
    assert x._version == 0


def test_setting_data_of_another_dtype():
    """Rule 29: a float type may take the place of another."""
    x = leaf([1.0])
    x.data = torch.ones(3)
    assert x.dtype == torch.float32
    assert x.requires_grad
    (x * 2).sum().backward()
    assert x.grad.dtype == torch.float32
    with pytest.raises(RuntimeError):
        x.data = torch.ones(3, dtype=torch.int64)
    with pytest.raises(TypeError):
        x.data = 1.0


def test_setting_data_keeps_the_grad():
    """Rule 29: ``.grad`` stays."""
    x = leaf([1.0])
    (x * 2).sum().backward()
    g = x.grad
    x.data = torch.zeros(1).double()
    assert x.grad is g


def test_clone_of_a_leaf_and_its_grad():
    """Rule 30: a clone is not a leaf and has no ``.grad``; its strides are those of the source."""
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    y = x.clone()
    assert not y.is_leaf
    assert x.t().clone().stride() == (1, 2)
    check_backward((y * y).sum(), (x, [[2.0, 4.0], [6.0, 8.0]]))


def test_clone_of_an_expanded_tensor():
    """Rule 30: has memory of its own."""
    t = torch.ones(1, 2).expand(3, 2).clone()
    t.add_(1)
    check(t, np.full((3, 2), 2.0))


def test_retain_grad_in_autograd_grad():
    """Rule 31: filled when its node runs."""
    x = leaf([1.0])
    y = x * 2
    y.retain_grad()
    torch.autograd.grad((y * 3).sum(), x)
    check(y.grad, [3.0])


def test_retain_grad_several_times_in_a_chain():
    """Rule 31: every link of a chain."""
    x = leaf(2.0)
    chain = [x]
    for _ in range(4):
        y = chain[-1] * 2
        y.retain_grad()
        chain.append(y)
    chain[-1].backward()
    assert [t.grad.item() for t in chain] == [16.0, 8.0, 4.0, 2.0, 1.0]


def test_retained_grad_is_its_own():
    """Rule 31: changing it changes nothing else."""
    x, y = leaf_and_copy([1.0])
    z = y + 0
    y.retain_grad()
    z.retain_grad()
    z.sum().backward()
    y.grad.add_(5)
    check(z.grad, [1.0])
    check(x.grad, [1.0])
