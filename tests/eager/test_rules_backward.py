"""Rules 9-19: the backward pass."""

import warnings

import numpy as np
import pytest

from tests.eager.chosen import check, leaf, torch
from tests.support.refusals import refused
from tests.support.tensor_checks import check_all, check_backward

# Rule 9 -------------------------------------------------------------------------------------------


def test_grad_is_none_until_backward():
    """Rule 9: ``.grad`` of a leaf is None until ``backward``, which returns None."""
    x = leaf(3.0)
    assert x.grad is None
    y = x * x
    assert x.grad is None
    assert y.backward() is None
    check(x.grad, 6.0)
    assert not x.grad.requires_grad


def test_grad_of_a_non_leaf_warns():
    """Rule 9: ``.grad`` of a non-leaf is None, and reading it warns, each time; so of a view."""
    x = leaf([3.0])
    y, v = x * 2, x[0]
    (y * y + v).sum().backward()
    for t in (y, y, v):
        with pytest.warns(UserWarning, match="leaf"):
            assert t.grad is None


def test_no_warning_for_leaves_and_retained():
    """Rule 9: no warning for leaves, nor after ``retain_grad``."""
    x = leaf(3.0)
    y = x * 2
    y.retain_grad()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert x.grad is None
        assert y.grad is None
        check_backward(y * y, (y, 12.0))
        assert torch.ones(1).grad is None


# Rule 10 ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (1, 1, 1)])
def test_implicit_gradient_of_one_element(shape):
    """Rule 10: one element, of any rank, needs no gradient argument."""
    x = torch.ones(shape, requires_grad=True)
    check_backward(x * 3, (x, np.full(shape, 3.0)))


IMPLICIT = "grad can be implicitly created only for scalar outputs"
MISMATCH = "Mismatch in shape"
NOTHING = "element 0 of tensors does not require grad and does not have a grad_fn"

# Passes that are refused, from what a leaf of two elements is tripled to, and why.
REFUSED = {
    "Rule 10: two elements": (lambda y: y.backward(), RuntimeError, IMPLICIT),
    "Rule 10: two rows": (lambda y: y.reshape(2, 1).backward(), RuntimeError, IMPLICIT),
    "Rule 10: no element": (lambda y: y[:0].backward(), RuntimeError, IMPLICIT),
    "Rule 10: a weight": (lambda y: y.backward(torch.ones(())), RuntimeError, MISMATCH),
    "Rule 10: one weight": (lambda y: y.backward(torch.ones(1)), RuntimeError, MISMATCH),
    "Rule 10: three weights": (lambda y: y.backward(torch.ones(3)), RuntimeError, MISMATCH),
    "Rule 10: a row": (lambda y: y.backward(torch.ones(1, 2)), RuntimeError, MISMATCH),
    "Rule 10: a column": (lambda y: y.backward(torch.ones(2, 1)), RuntimeError, MISMATCH),
    "Rule 10: one for none": (lambda y: y[0].backward(torch.ones(1)), RuntimeError, MISMATCH),
    "Rule 10: a number": (lambda y: y.backward(1.0), TypeError, None),
    "Rule 10: an array": (lambda y: y.backward(np.ones(2)), TypeError, None),
    "Rule 10: a text": (lambda y: y.backward("a"), TypeError, None),
    "Rule 10: a constant": (lambda y: torch.ones(1).backward(), RuntimeError, NOTHING),
    "Rule 10: of a constant": (lambda y: (torch.ones(1) * 2).backward(), RuntimeError, NOTHING),
    "Rule 14: no inputs": (lambda y: y[0].backward(inputs=[]), RuntimeError, "cannot be empty"),
    "Rule 14: nor of a function": (lambda y: torch.autograd.backward(y[0], inputs=[]), RuntimeError,
                                   "cannot be empty"),
    "Rule 14: an input without gradient": (lambda y: y[0].backward(inputs=[torch.ones(1)]),
                                           RuntimeError, "requires_grad=False"),
    "Rule 15: a root without gradient": (
        lambda y: torch.autograd.backward([y[0], torch.ones(())]),
        RuntimeError, "element 1 of tensors does not require grad"),
    "Rule 15: too few weights": (
        lambda y: torch.autograd.backward([y[0], y[1]], [torch.ones(())]),
        RuntimeError, "got 2 tensors and 1 gradients"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_pass_refuses(name):
    """Rules 10, 14, 15: before anything is collected."""
    call, error, says = REFUSED[name]
    x = leaf([1.0, 2.0])
    with pytest.raises(error, match=says):
        call(x * 3)
    assert x.grad is None


def test_explicit_gradient_weighs():
    """Rule 10: the gradient argument is the cotangent."""
    x = leaf([1.0, 2.0])
    check_backward(x * x, (x, [2.0, 40.0]), gradient=torch.tensor([1.0, 10.0], dtype=torch.float64))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_explicit_gradient_is_cast(dtype):
    """Rule 10: its dtype may differ."""
    x = torch.ones(2, requires_grad=True)
    (x * 3).backward(torch.ones(2, dtype=getattr(torch, dtype)))
    assert x.grad.dtype == torch.float32
    check(x.grad, [3.0, 3.0])


def test_backward_of_a_leaf():
    """Rule 10: a leaf that requires grad is its own root."""
    x = leaf(2.0)
    check_backward(x, (x, 1.0))
    x.backward(torch.tensor(5.0, dtype=torch.float64))
    check(x.grad, 6.0)


# Rule 11 ------------------------------------------------------------------------------------------


def test_accumulation_is_in_place():
    """Rule 11: ``.grad`` stays the same object, its version rises, old references see it."""
    x = leaf([1.0, 2.0])
    (x * 3).sum().backward()
    g = x.grad
    assert g._version == 0
    (x * 4).sum().backward()
    assert x.grad is g
    assert g._version == 1
    check(g, [7.0, 7.0])


def test_accumulation_into_an_assigned_grad():
    """Rule 11: a tensor that the user assigned is added to in place as well."""
    x, mine = leaf([1.0]), torch.tensor([10.0], dtype=torch.float64)
    x.grad = mine
    (x * 3).sum().backward()
    assert x.grad is mine
    check(mine, [13.0])


def test_accumulation_into_a_grad_with_a_graph():
    """Rule 11: in place even when that ``.grad`` itself carries a graph."""
    x = leaf([2.0])
    (x**3).sum().backward(create_graph=True)
    g, version = x.grad, x.grad._version
    assert g.requires_grad
    (x * 5).sum().backward()
    assert x.grad is g
    assert g._version == version + 1
    check(g, [17.0])


def test_create_graph_replaces_grad():
    """Rule 11: with create_graph a new tensor takes the place of the old."""
    x = leaf([2.0])
    (x**2).sum().backward()
    old = x.grad
    (x**3).sum().backward(create_graph=True)
    assert x.grad is not old
    assert old._version == 0
    check(old, [4.0])
    check(x.grad, [16.0])
    assert x.grad.requires_grad
    check(torch.autograd.grad(x.grad.sum(), x)[0], [12.0])


def test_grad_does_not_alias_the_gradient_argument():
    """Rule 11: the gradient argument is cloned."""
    x = leaf([1.0, 2.0])
    g = torch.ones(2, dtype=torch.float64)
    x.clone().backward(g)
    g.fill_(9.0)
    check(x.grad, [1.0, 1.0])
    y = leaf([1.0, 2.0])
    y.backward(g)
    g.fill_(3.0)
    check(y.grad, [9.0, 9.0])


def test_grads_do_not_alias_each_other():
    """Rule 11: two leaves that get the same gradient do not share it."""
    x, w = leaf([1.0]), leaf([2.0])
    g = torch.ones(1, dtype=torch.float64)
    (x + w).backward(g)
    x.grad.add_(5)
    check(w.grad, [1.0])
    check(g, [1.0])


def test_grad_does_not_alias_a_retained_grad():
    """Rule 11: nor a retained grad."""
    x = leaf([1.0])
    y = x.view(1) + 0
    y.retain_grad()
    y.clone().sum().backward()
    x.grad.add_(5)
    check(y.grad, [1.0])


def test_grad_does_not_alias_with_create_graph():
    """Rule 11: with create_graph too."""
    x, w = leaf([1.0]), leaf([2.0])
    g = torch.ones(1, dtype=torch.float64)
    (x + w).backward(g, create_graph=True)
    assert x.grad is not w.grad
    with torch.no_grad():
        x.grad.add_(5)
    check(w.grad, [1.0])
    check(g, [1.0])


def test_grad_of_what_a_hook_keeps():
    """Rule 11: a gradient that a hook holds is not changed by later accumulation."""
    x, seen = leaf([1.0]), []
    x.register_hook(lambda g: seen.append(g))
    (x * 2).sum().backward()
    (x * 3).sum().backward()
    check(seen[0], [2.0])
    check(seen[1], [3.0])
    check(x.grad, [5.0])


# Rule 12 ------------------------------------------------------------------------------------------


def test_grad_has_the_dtype_of_the_leaf():
    """Rule 12: incoming gradients are cast."""
    x = torch.ones(2, requires_grad=True)
    (x.double() * leaf([1.0, 2.0])).sum().backward()
    assert x.grad.dtype == torch.float32
    check(x.grad, [1.0, 2.0])


def test_grad_has_the_strides_of_a_dense_leaf():
    """Rule 12: a transposed leaf has a transposed gradient."""
    x = torch.ones(3, 2).t().requires_grad_()
    assert x.stride() == (1, 2)
    (x * torch.arange(6.0).reshape(2, 3)).sum().backward()
    assert x.grad.stride() == (1, 2)
    check(x.grad, [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])


def test_grad_of_an_expanded_leaf_is_contiguous():
    """Rule 12: a leaf whose elements share memory gets a contiguous gradient."""
    x = torch.ones(1, 2).expand(3, 2).requires_grad_()
    (x * 2).sum().backward()
    assert x.grad.is_contiguous()
    check(x.grad, np.full((3, 2), 2.0))


def test_zero_gradients_are_materialised():
    """Rule 12: a gradient that is zero is a tensor of zeros."""
    x = leaf([1.0, 2.0])
    check_backward((x * 0).sum(), (x, [0.0, 0.0]))
    w = leaf([1.0, 2.0])
    check_backward(w.floor().sum(), (w, [0.0, 0.0]))


# Rule 13 ------------------------------------------------------------------------------------------


def test_second_backward_is_refused():
    """Rule 13: saved values are freed; the error names retain_graph=True."""
    x = leaf(2.0)
    y = x * x
    y.backward()
    with pytest.raises(RuntimeError, match=r"second time.*retain_graph=True"):
        y.backward()
    check(x.grad, 4.0)


def test_retain_graph():
    """Rule 13: with retain_graph as often as one likes."""
    x = leaf(2.0)
    y = x * x
    for _ in range(3):
        y.backward(retain_graph=True)
    check_backward(y, (x, 16.0))
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


def test_retain_graph_defaults_to_create_graph():
    """Rule 13: create_graph retains, unless told not to."""
    x = leaf(2.0)
    y = x * x
    y.backward(create_graph=True)
    check_backward(y, (x, 8.0))
    x = leaf(2.0)
    y = x.exp().sin()
    y.backward(create_graph=True, retain_graph=False)
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


def test_only_executed_nodes_are_freed():
    """Rule 13: a branch that did not run is still usable."""
    x = leaf(2.0)
    a = x * x
    b, c = a.sin(), x.exp()
    y, z = b + c, c * c
    y.backward()
    refused(
        (RuntimeError, "second time", b.backward),
        (RuntimeError, "second time", z.backward),
    )
    other = leaf(3.0)
    d = other.exp()
    torch.autograd.grad(d * x.sin(), x)
    check_backward(d, (other, np.exp(3.0)))


SAVES_NOTHING = {
    "add": lambda x: x + x,
    "add number": lambda x: x + 1,
    "sub": lambda x: x - x,
    "rsub": lambda x: 1 - x,
    "neg": lambda x: -x,
    "sum": lambda x: x.sum(),
    "sum(dim)": lambda x: x.sum(0),
    "mean": lambda x: x.mean(),
    "mean(dim)": lambda x: x.mean(1),
    "view": lambda x: x.view(6),
    "reshape": lambda x: x.reshape(3, 2),
    "t": lambda x: x.t(),
    "permute": lambda x: x.permute(1, 0),
    "expand": lambda x: x.expand(2, 2, 3),
    "select": lambda x: x[0],
    "slice": lambda x: x[:, 1:],
    "cat": lambda x: torch.cat([x, x]),
    "stack": lambda x: torch.stack([x, x]),
    "clone": lambda x: x.clone(),
    "cumsum": lambda x: x.cumsum(0),
    "flip": lambda x: x.flip(0),
    "repeat": lambda x: x.repeat(2, 1),
    "tril": lambda x: x.tril(),
    "floor": lambda x: x.floor(),
    "cast": lambda x: x.to(torch.float32),
}


@pytest.mark.parametrize("name", SAVES_NOTHING)
def test_nodes_that_save_nothing_run_twice(name):
    """Rule 13: nodes without saved values may run again."""
    x = torch.ones(2, 3, dtype=torch.float64, requires_grad=True)
    y = SAVES_NOTHING[name](x)
    y.backward(torch.ones_like(y))
    once = x.grad.tolist()
    y.backward(torch.ones_like(y))
    check(x.grad, 2 * np.asarray(once))


SAVES = {
    "mul": lambda x: x * x,
    "mul number": lambda x: x * 2,
    "div number": lambda x: x / 2,
    "div": lambda x: 1 / x,
    "sin": lambda x: x.sin(),
    "exp": lambda x: x.exp(),
    "pow": lambda x: x**2,
    "matmul": lambda x: x @ torch.ones(3, 2, dtype=torch.float64),
    "prod": lambda x: x.prod(),
    "relu": lambda x: x.relu(),
    "max": lambda x: x.max(),
    "where": lambda x: torch.where(x > 0, x, x),
    "softmax": lambda x: x.softmax(0),
    "gather": lambda x: x.gather(0, torch.zeros(1, 3, dtype=torch.int64)),
    "index": lambda x: x[torch.tensor([0, 1])],
}


@pytest.mark.parametrize("name", SAVES)
def test_nodes_that_save_run_once(name):
    """Rule 13: the others may not, multiplication by a number among them."""
    x = torch.ones(2, 3, dtype=torch.float64, requires_grad=True)
    y = SAVES[name](x)
    y.backward(torch.ones_like(y))
    with pytest.raises(RuntimeError, match="second time"):
        y.backward(torch.ones_like(y))


# Rule 14 ------------------------------------------------------------------------------------------


# Passes over x = 2 and w = 3, and what they leave in ``x.grad`` and ``w.grad``.
PASSES = {
    "Rule 9: constants": (lambda x, w: (x * w.detach()).backward(), 3.0, None),
    "Rule 10: no weight": (lambda x, w: (x * x).backward(None), 4.0, None),
    "Rule 10: a weight": (lambda x, w: (x * x).backward(torch.tensor(3.0)), 12.0, None),
    "Rule 12: what is not reached": (lambda x, w: (w * 2).backward(), None, 2.0),
    "Rule 14: one of the leaves": (lambda x, w: (x * w).backward(inputs=[x]), 3.0, None),
    "Rule 14: a tensor for a list": (lambda x, w: (x * w).backward(inputs=w), None, 2.0),
    "Rule 14: one that is not reached": (lambda x, w: (x * x).backward(inputs=[x, w]), 4.0, None),
    "Rule 14: one named twice": (lambda x, w: (x * x).backward(inputs=[x, x]), 4.0, None),
    "Rule 15: two roots": (lambda x, w: torch.autograd.backward([x * x, x * w]), 7.0, 2.0),
    "Rule 15: a leaf as root": (lambda x, w: torch.autograd.backward([x, x * x]), 5.0, None),
}


@pytest.mark.parametrize("name", PASSES)
def test_where_a_pass_starts_and_ends(name):
    """Rules 9-15: roots add up; what is not asked for, or not reached, keeps None."""
    run, *expected = PASSES[name]
    leaves = leaf(2.0), leaf(3.0)
    assert run(*leaves) is None
    assert [None if x.grad is None else x.grad.item() for x in leaves] == expected


def test_inputs_may_be_non_leaves():
    """Rule 14: their ``.grad`` is set, and accumulates."""
    x = leaf(2.0)
    y = x * x
    z = y * y
    z.backward(inputs=[y], retain_graph=True)
    assert x.grad is None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(y.grad, 8.0)
        z.backward(inputs=[y, x])
        check(y.grad, 16.0)
    check(x.grad, 32.0)


def test_inputs_run_only_what_leads_there():
    """Rule 14: hooks of other branches do not run."""
    x, w, seen = leaf(2.0), leaf(3.0), []
    a, b = x * x, w * w
    b.register_hook(lambda g: seen.append(g))
    (a * b).backward(inputs=[x])
    assert seen == []


# Rule 15 ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [(0, 1), (1, 0), (0, 0, 1)])
def test_roots_that_depend_on_each_other(order):
    """Rule 15: a root may be inside the record of another, and stand twice."""
    x = leaf(2.0)
    y = x * x
    roots = y, y * 5
    torch.autograd.backward([roots[k] for k in order])
    check(x.grad, 4.0 * sum((1, 5)[k] for k in order))


def test_roots_with_gradients():
    """Rule 15: one gradient per root; None where the root has one element."""
    x = leaf([1.0, 2.0])
    y, z = x * x, x.sum()
    torch.autograd.backward([y, z], [torch.tensor([1.0, 2.0], dtype=torch.float64), None])
    check(x.grad, [3.0, 9.0])
    x.grad = None
    torch.autograd.backward(tensors=x * 2, grad_tensors=torch.ones(2, dtype=torch.float64))
    check(x.grad, [2.0, 2.0])


# Rule 16 ------------------------------------------------------------------------------------------


def test_backward_under_no_grad():
    """Rule 16: works, and with create_graph the result carries a graph."""
    x = leaf(2.0)
    y, z = x**3, x**3
    with torch.no_grad():
        y.backward()
    check(x.grad, 12.0)
    x.grad = None
    with torch.no_grad():
        z.backward(create_graph=True)
    assert x.grad.requires_grad
    check(torch.autograd.grad(x.grad, x)[0], 12.0)


@pytest.mark.parametrize("create", [False, True])
def test_grad_mode_in_hooks(create):
    """Rule 16: inside hooks grad mode is create_graph."""
    x, modes = leaf(2.0), []

    def hook(g):
        modes.append((torch.is_grad_enabled(), g.requires_grad))

    y = x * x
    x.register_hook(hook)
    y.register_hook(hook)
    (y * y).backward(create_graph=create)
    assert modes == [(create, create), (create, create)]
    assert torch.is_grad_enabled()
    x.grad = None


# Rule 17 ------------------------------------------------------------------------------------------


def test_most_recent_first():
    """Rule 17: among ready nodes the most recently created runs first."""
    x, order = leaf(2.0), []
    a = x.sin()
    b = x.cos()
    c = x.exp()
    y = b + c + a
    for name, t in {"a": a, "b": b, "c": c}.items():
        t.register_hook(lambda g, name=name: order.append(name))
    y.backward()
    assert order == ["c", "b", "a"]


def test_a_node_waits_for_its_consumers():
    """Rule 17: it runs once, when all consumers have."""
    x, order = leaf(2.0), []
    a = x * 1
    b = a.sin()
    c = b.exp()
    d = a * c * b
    for name, t in {"a": a, "b": b, "c": c}.items():
        t.register_hook(lambda g, name=name: order.append(name))
    d.backward()
    assert order == ["c", "b", "a"]


def test_accumulation_comes_before_anything_else():
    """Rule 17: a leaf that is ready comes before nodes that are."""
    x, w, order = leaf(2.0), leaf(3.0), []
    a = x.sin()
    b = a * w
    w.register_hook(lambda g: order.append("w"))
    a.register_hook(lambda g: order.append("a"))
    a.grad_fn.register_hook(lambda *_: order.append("sin"))
    b.backward()
    assert order.index("w") < order.index("sin")


# Rule 18 ------------------------------------------------------------------------------------------


def test_setting_grad():
    """Rule 18: None, or a tensor of the same shape and dtype, of constants as well."""
    for x in (leaf([1.0, 2.0]), leaf([1.0, 2.0], requires_grad=False)):
        x.grad = g = torch.ones(2, dtype=torch.float64)
        assert x.grad is g
        x.grad = None
        assert x.grad is None
        x.grad = g
        del x.grad
        assert x.grad is None


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (lambda x: torch.ones(3, dtype=torch.float64), RuntimeError),
        (lambda x: torch.ones(2, dtype=torch.float32), RuntimeError),
        (lambda x: x, RuntimeError),
        (lambda x: 1.0, TypeError),
        (lambda x: np.ones(2), TypeError),
    ],
)
def test_setting_a_wrong_grad(wrong, error):
    """Rule 18: RuntimeError for shape, dtype and itself, TypeError for what is not a tensor."""
    x = leaf([1.0, 2.0])
    with pytest.raises(error):
        x.grad = wrong(x)
    assert x.grad is None


# Rule 19 ------------------------------------------------------------------------------------------


def test_deep_chain_that_saves_nothing():
    """Rule 19: also where each operation uses a result twice."""
    x = leaf(1.0)
    y = x
    for _ in range(6000):
        y = (y + y) - y
    check_backward(y, (x, 1.0))


def test_deep_chain_freed_without_backward():
    """Rule 19: dropping a deep record does not recurse."""
    x = leaf(1.0)
    y = x
    for _ in range(20_000):
        y = y + 1
    del y
    assert x.grad is None


def test_deep_double_backward():
    """Rule 19: nor does the record of a gradient."""
    x = leaf(1.0)
    y = x
    for _ in range(2000):
        y = y * x
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    check_all(torch.autograd.grad(g, x), 2001.0 * 2000.0)


# More of rules 9-18 -------------------------------------------------------------------------------


def test_errors_change_nothing():
    """Rules 13, 15: what is refused has not accumulated anything, and the next pass works."""
    x, w = leaf(2.0), leaf(3.0)
    y = x * x
    y.backward()
    for roots in ([w * w * y, y], [y]):
        with pytest.raises(RuntimeError, match="second time"):
            torch.autograd.backward(roots)
    check_backward(x * 3, (x, 7.0))


def test_diamond():
    """Rule 17: a shared part runs once."""
    x, calls = leaf(2.0), []
    h = x * x
    h.grad_fn.register_hook(lambda *_: calls.append(1))
    (h.sin() + h.cos() + h * h).backward()
    assert calls == [1]
    check(x.grad, (np.cos(4.0) - np.sin(4.0) + 8.0) * 4)


def test_zero_sized_gradients():
    """Rule 12: accumulate as well."""
    x = torch.ones(0, 3, requires_grad=True)
    for _ in range(2):
        x.sum().backward()
    assert tuple(x.grad.shape) == (0, 3)


def test_gradient_argument_that_requires_grad():
    """Rule 10: without create_graph the result does not depend on it; with it, it does."""
    x, v = leaf([1.0, 2.0]), leaf([1.0, 1.0])
    (x * x).backward(v)
    assert not x.grad.requires_grad
    (g,) = torch.autograd.grad(x * x, x, v, create_graph=True)
    check_all(torch.autograd.grad(g.sum(), v), [2.0, 4.0])


def test_grad_of_a_grad():
    """Rule 11: ``.grad`` made with create_graph can itself be a root."""
    x = leaf(2.0)
    (x**3).backward(create_graph=True)
    g = x.grad
    x.grad = None
    check_backward(g, (x, 12.0))


def test_accumulation_onto_a_transposed_grad():
    """Rule 11: an assigned gradient keeps its strides and is added to in place."""
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    mine = torch.zeros(2, 2).double().t()
    x.grad = mine
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch remarks on the strides
        (x * x).sum().backward()
    assert x.grad is mine
    check(mine, [[2.0, 4.0], [6.0, 8.0]])


def test_accumulation_into_a_view():
    """Rule 11: gradients may live in one flat buffer."""
    flat = torch.zeros(3).double()
    x, w = leaf([1.0, 2.0]), leaf([3.0])
    x.grad, w.grad = flat[:2], flat[2:]
    (x * x * w).sum().backward()
    check(flat, [6.0, 12.0, 5.0])
    assert flat._version == 2


def test_inputs_with_create_graph():
    """Rule 14: accumulates differentiable gradients."""
    x, w = leaf(2.0), leaf(3.0)
    (x**3 * w).backward(inputs=[x], create_graph=True)
    check(x.grad, 36.0)
    assert w.grad is None
    check(torch.autograd.grad(x.grad, w)[0], 12.0)


def test_input_between_and_below():
    """Rule 14: a non-leaf and the leaf below it at once."""
    x = leaf(2.0)
    y = x * x
    y.retain_grad()
    (y * 3).backward(inputs=[y, x])
    check(y.grad, 3.0)
    check(x.grad, 12.0)


def test_a_leaf_that_stops_requiring_grad():
    """Rule 9: requires_grad off after recording: nothing is accumulated there."""
    x, w = leaf(2.0), leaf(3.0)
    y = x * w
    x.requires_grad_(False)
    y.backward()
    assert x.grad is None
    check(w.grad, 2.0)
    assert y.requires_grad
