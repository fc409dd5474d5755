"""Rules 20-24: ``autograd.grad``."""

import numpy as np
import pytest

from tests.eager.chosen import check, leaf, torch
from tests.support.refusals import refused
from tests.support.tensor_checks import (
    check_all,
    check_backward,
    check_constant,
    check_derivatives,
    check_leaf,
    check_tree,
    leaf_and_copy,
)

grad = torch.autograd.grad

# Rule 20 ------------------------------------------------------------------------------------------

TEN = torch.tensor(10.0).double()

# Derivatives at x = 2 and w = 3.
VALUES = {
    "Rule 20: of one input": (lambda x, w: grad(x * x * w, x), (12.0,)),
    "Rule 20: of two": (lambda x, w: grad(x * x * w, [x, w]), (12.0, 4.0)),
    "Rule 20: of two results": (lambda x, w: grad([x * x, x * w], x), (7.0,)),
    "Rule 20: weighed": (lambda x, w: grad(x * x, x, TEN), (40.0,)),
    "Rule 20: one of two weighed": (lambda x, w: grad([x * x, x * w], x, [TEN, None]), (43.0,)),
    "Rule 20: in tuples": (lambda x, w: grad((x * x,), (x,), (TEN,)), (40.0,)),
    "Rule 20: None for a weight": (lambda x, w: grad(x * x, x, None), (4.0,)),
    "Rule 20: None in a list": (lambda x, w: grad(x * x, x, [None]), (4.0,)),
    "Rule 20: by keywords": (
        lambda x, w: grad(outputs=x * x, inputs=x, grad_outputs=TEN),
        (40.0,),
    ),
    "Rule 21: unused": (lambda x, w: grad(x * x, [x, w], allow_unused=True), (4.0, None)),
    "Rule 21: zeros": (lambda x, w: grad(x * x, [x, w], materialize_grads=True), (4.0, 0.0)),
    "Rule 21: zeros, allowed": (
        lambda x, w: grad(x * x, [x, w], allow_unused=True, materialize_grads=True),
        (4.0, 0.0),
    ),
    "Rule 22: one input twice": (lambda x, w: grad(x * x, [x, x]), (4.0, 4.0)),
    "Rule 22: the result itself": (lambda x, w: grad(x, x), (1.0,)),
}


@pytest.mark.parametrize("name", VALUES)
def test_values_of_grad(name):
    """Rules 20-22: a tuple always, an entry for each input, and ``.grad`` stays None."""
    call, expected = VALUES[name]
    x, w = leaf(2.0), leaf(3.0)
    check_tree(call(x, w), expected)
    assert x.grad is None
    assert w.grad is None


def test_what_grad_refuses():
    """Rules 10, 20-22: shapes, inputs that are unused, absent or require nothing."""
    x, w, c, v = leaf(2.0), leaf(3.0), torch.ones(()), leaf([1.0, 2.0])
    unused, constant = "allow_unused=True", "does not require grad"
    edge = torch.autograd.graph.get_gradient_edge(w)
    refused(
        (RuntimeError, "grad can be implicitly created only for scalar", lambda: grad(v * 2, v)),
        (RuntimeError, "Mismatch in shape", lambda: grad(v * 2, v, torch.ones(3))),
        (RuntimeError, "element 0 of tensors does not require grad", lambda: grad(c, x)),
        (RuntimeError, unused, lambda: grad(x * x, [x, w])),
        (RuntimeError, unused, lambda: grad(x * x, w, allow_unused=False)),
        (
            ValueError,
            "allow_unused",
            lambda: grad(x * x, x, allow_unused=False, materialize_grads=True),
        ),
        (RuntimeError, "GradientEdge", lambda: grad(x * x, edge, materialize_grads=True)),
        (RuntimeError, constant, lambda: grad(x * c, c)),
        (RuntimeError, constant, lambda: grad(x * c, [x, c], allow_unused=True)),
        (RuntimeError, "empty", lambda: grad(x * x, [])),
    )


def test_grad_does_not_touch_grad():
    """Rule 20: ``.grad`` stays None, or what it was; other leaves get none."""
    x, w = leaf(2.0), leaf(3.0)
    w.grad = torch.ones((), dtype=torch.float64)
    check_all(grad(x * w, x), 3.0)
    assert x.grad is None
    check(w.grad, 1.0)


def test_grad_requires_grad_only_with_create_graph():
    """Rule 20: and only if it depends on something."""
    x = leaf(2.0)
    assert not grad(x**3, x)[0].requires_grad
    g = grad(x**3, x, create_graph=True)[0]
    assert g.requires_grad
    check(grad(g, x)[0], 12.0)
    linear = grad(x * 3, x, create_graph=True)[0]
    check(linear, 3.0)
    assert not linear.requires_grad


def test_grad_frees_the_graph():
    """Rule 20: as backward does."""
    x = leaf(2.0)
    y = x * x
    grad(y, x, retain_graph=True)
    grad(y, x)
    with pytest.raises(RuntimeError, match="second time"):
        grad(y, x)


def test_grad_of_non_leaves():
    """Rule 20: inputs may be anything in the record."""
    x = leaf(2.0)
    y = x * x
    z = y.sin()
    check_all(grad(z, (y, x)), np.cos(4.0), 4 * np.cos(4.0))


def test_grad_to_any_order():
    """Rule 20: derivatives of a power, one after the other."""
    x = leaf(2.0)
    check_derivatives(x**5, x, 80.0, 160.0, 240.0, 240.0, 120.0)


# Rule 21 ------------------------------------------------------------------------------------------


def test_materialize_grads():
    """Rule 21: zeros of the shape and dtype of the input."""
    w = torch.ones(2, 3, requires_grad=True)
    (b,) = grad(leaf(2.0) ** 2, w, materialize_grads=True)
    check(b, np.zeros((2, 3)))
    assert b.dtype == torch.float32


# Rule 22 ------------------------------------------------------------------------------------------


def test_output_is_input():
    """Rule 22: allowed for results, too."""
    x = leaf(2.0)
    y = x * x
    check_all(grad(y, [y, x]), 1.0, 4.0)


def test_outputs_of_one_node_as_inputs():
    """Rule 22: outputs of one node are told apart."""
    x = leaf([1.0, 2.0, 3.0])
    a, b, c = x.unbind()
    check_all(grad(a * a * b * c, [a, c, x]), 12.0, 2.0, [12.0, 3.0, 2.0])


# Rule 23 ------------------------------------------------------------------------------------------


def test_only_paths_to_the_inputs_run():
    """Rule 23: hooks on other branches are not called, tensor hooks nor node hooks."""
    x, w, seen = leaf(2.0), leaf(3.0), []
    a, b = x.sin(), w.exp()
    b.register_hook(lambda g: seen.append("b"))
    b.grad_fn.register_hook(lambda *_: seen.append("node"))
    w.register_hook(lambda g: seen.append("w"))
    check_all(grad(a * b, x), np.cos(2.0) * np.exp(3.0))
    assert seen == []


def test_what_did_not_run_is_not_freed():
    """Rule 23: so the other branch can go backward later."""
    x, w = leaf(2.0), leaf(3.0)
    b = w.exp()
    grad(x * b, x)
    check_backward(b, (w, np.exp(3.0)))


def test_what_lies_below_an_input_does_not_run():
    """Rule 23: nor does what lies between a requested non-leaf and the leaves."""
    x, seen = leaf(2.0), []
    y = x.exp()
    y.grad_fn.register_hook(lambda *_: seen.append("exp"))
    grad(y * y, y)
    assert seen == []
    check_backward(y, (x, np.exp(2.0)))


def test_tensor_hooks_of_inputs_run():
    """Rule 23: and what they return counts."""
    x = leaf(2.0)
    x.register_hook(lambda g: g * 10)
    check(grad(x * x, x)[0], 40.0)
    y = x * x
    y.register_hook(lambda g: g + 1)
    check(grad(y * 3, y)[0], 4.0)


def test_post_accumulate_hooks_do_not_run():
    """Rule 23: since nothing is accumulated."""
    x, seen = leaf(2.0), []
    x.register_post_accumulate_grad_hook(lambda t: seen.append(t))
    grad(x * x, x)
    assert seen == []


def test_retained_grads_are_not_touched():
    """Rule 23: a branch that does not run leaves retained grads alone."""
    x, w = leaf(2.0), leaf(3.0)
    a = w * 2
    a.retain_grad()
    grad(x * a, x)
    assert a.grad is None


# Rule 24 ------------------------------------------------------------------------------------------


def test_batched_grads():
    """Rule 24: the leading axis of grad_outputs is the batch: all rows of a Jacobian at once."""
    x = leaf([1.0, 2.0, 3.0])
    y = x**2
    check_all(
        grad(y, x, torch.eye(3, dtype=torch.float64), is_grads_batched=True),
        np.diag([2.0, 4.0, 6.0]),
    )


def test_batched_grads_of_several_inputs():
    """Rule 24: every result has the batch axis in front."""
    x, w = leaf([1.0, 2.0]), leaf([[1.0, 2.0], [3.0, 4.0]])
    y = w @ x
    batch = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]).double()
    gx, gw = grad(y, (x, w), (batch,), is_grads_batched=True)
    check(gx, [[1.0, 2.0], [3.0, 4.0], [4.0, 6.0]])
    check(gw[0], [[1.0, 2.0], [0.0, 0.0]])
    assert tuple(gw.shape) == (3, 2, 2)


def test_batched_grads_through_nonlinear_steps():
    """Rule 24: as the rows one by one."""
    x = leaf([0.5, 1.0, 2.0])
    y = (x.sin() * x.sum()).tanh()
    rows = [grad(y, x, e, retain_graph=True)[0].tolist() for e in torch.eye(3).double()]
    check_all(grad(y, x, torch.eye(3).double(), is_grads_batched=True), rows)


@pytest.mark.parametrize("shape", [(3, 2), (2, 3, 3), (3,)])
def test_batched_grads_must_match(shape):
    """Rule 24: apart from the leading axis the shapes must be equal."""
    x = leaf([1.0, 2.0, 3.0])
    with pytest.raises(RuntimeError):
        grad(x**2, x, torch.ones(shape, dtype=torch.float64), is_grads_batched=True)


# More of rules 20-24 ------------------------------------------------------------------------------


def test_many_outputs_of_one_node():
    """Rule 20: gradients of some outputs of a node, of a non-leaf."""
    x = leaf([[4.0, 2.0]])
    y = x * x + 1
    a, b = y.split(1, dim=1)
    hooks = []
    a.register_hook(lambda g: hooks.append("a"))
    b.register_hook(lambda g: hooks.append("b"))
    check_all(grad(a + 2 * b, [a, b]), [[1.0]], [[2.0]])
    assert sorted(hooks) == ["a", "b"]


def test_grad_under_no_grad():
    """Rule 20: works as backward does."""
    x = leaf(2.0)
    y = x**3
    with torch.no_grad():
        (g,) = grad(y, x, create_graph=True)
    assert g.requires_grad
    check(grad(g, x)[0], 12.0)


def test_result_does_not_alias():
    """Rule 20: two results, or a result and its cotangent, are changed apart."""
    x, w = leaf([1.0]), leaf([2.0])
    gx, gw = grad((x + w).sum(), [x, w])
    check(gx + 0 * gw, [1.0])


def test_materialized_zeros_with_create_graph():
    """Rule 21: zeros are leaves, which require grad with create_graph, as PyTorch's do."""
    x, w = leaf(2.0), leaf(3.0)
    _, b = grad(x * x, [x, w], create_graph=True, materialize_grads=True)
    check_leaf(b)
    _, b = grad(x * x, [x, w], materialize_grads=True)
    assert not b.requires_grad


def test_inputs_that_depend_on_each_other():
    """Rule 22: gradients by both ends of a chain."""
    x = leaf(2.0)
    y = x * x
    z = y * y
    check_all(grad(z, [x, y, z]), 32.0, 8.0, 1.0)


def test_hook_of_a_requested_result_and_below():
    """Rule 23: of a requested tensor that is on the way to another, the hook's answer flows on."""
    x = leaf(2.0)
    y = x * x
    y.register_hook(lambda g: g * 10)
    check_all(grad(y * 3, [y, x]), 3.0, 120.0)


def test_retained_grad_and_grad():
    """Rule 23: autograd.grad fills no retained gradients of what it was asked for."""
    x = leaf(2.0)
    y = x * x
    z = y * 3
    check_all(grad(z, x, retain_graph=True), 12.0)
    assert x.grad is None


def test_grad_of_an_old_version():
    """Rule 22: a tensor changed in place later stands for its new state."""
    _, h = leaf_and_copy(2.0)
    y = h * 5
    h.mul_(3)
    with pytest.raises(RuntimeError, match="allow_unused=True"):
        grad(y, h)


def test_batched_grads_create_graph():
    """Rule 24: differentiable rows."""
    x = leaf([1.0, 2.0])
    (J,) = grad(x**3, x, torch.eye(2).double(), is_grads_batched=True, create_graph=True)
    check(J, [[3.0, 0.0], [0.0, 12.0]])
    check(grad(J.sum(), x)[0], [6.0, 12.0])


def test_batched_grads_of_an_unused_input():
    """Rule 24: None with allow_unused."""
    x, w = leaf([1.0, 2.0]), leaf([1.0])
    found = grad(x**2, [x, w], torch.eye(2).double(), is_grads_batched=True, allow_unused=True)
    check_tree(found, ([[2.0, 0.0], [0.0, 4.0]], None))


INDEPENDENT = {
    "add": lambda x, w: x + w,
    "times a number": lambda x, w: x * 2,
    "times a constant": lambda x, w: x * w,
    "sum": lambda x, w: x.sum(),
    "mean": lambda x, w: x.mean(1),
    "matmul with a constant": lambda x, w: x @ w,
    "index": lambda x, w: x[0],
    "cumsum": lambda x, w: x.cumsum(0),
    "where": lambda x, w: torch.where(x > 2, x, w),
    "floor": lambda x, w: x.floor(),
    "clamp": lambda x, w: x.clamp(0, 2),
    "clamp_min": lambda x, w: x.clamp_min(2),
    "max()": lambda x, w: x.max(),
    "min()": lambda x, w: x.min(),
    "amax": lambda x, w: x.amax(1),
    "max(dim)": lambda x, w: x.max(1).values,
    "median": lambda x, w: x.median(),
    "sort": lambda x, w: x.sort().values,
    "maximum": lambda x, w: torch.maximum(x, w),
    "fmin": lambda x, w: torch.fmin(x, w),
    "nan_to_num": lambda x, w: torch.nan_to_num(x),
    "masked_fill": lambda x, w: x.masked_fill(x > 2, 0.0),
}


@pytest.mark.parametrize("name", INDEPENDENT)
def test_gradients_that_depend_on_nothing(name):
    """Rule 20: a gradient made with create_graph that is locally constant does not require grad."""
    x, w = leaf([[1.0, 2.0], [3.0, 4.5]]), torch.full((2, 2), 2.0).double()
    (g,) = grad(INDEPENDENT[name](x, w).sum(), x, create_graph=True)
    check_constant(g)


DEPENDENT = {
    "square": lambda x: x * x,
    "exp": lambda x: x.exp(),
    "relu": lambda x: x.relu(),
    "leaky_relu": lambda x: torch.nn.functional.leaky_relu(x),
    "abs": lambda x: x.abs(),
    "prod": lambda x: x.prod(),
    "softmax": lambda x: x.softmax(0)[0],
    "var": lambda x: x.var(),
    "norm": lambda x: x.norm(),
    "cumprod": lambda x: x.cumprod(0),
}


@pytest.mark.parametrize("name", DEPENDENT)
def test_gradients_that_depend_on_something(name):
    """Rule 20: the others do, kinked functions among them."""
    x = leaf([[1.0, 2.0], [3.0, 4.5]])
    (g,) = grad(DEPENDENT[name](x).sum(), x, create_graph=True)
    assert g.requires_grad
    (h,) = grad(g.sum(), x, allow_unused=True)
    assert h is None or tuple(h.shape) == (2, 2)
