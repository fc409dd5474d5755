"""Lowered Functions on Tensors: one recorded operation each."""

from __future__ import annotations

import numpy as np
import pytest

import numeric as torch
import symdiff as sd
from tests.support.refusals import refused

X, Y = sd.symbols("x y")
F = torch.lower(sd.sin(X) * Y + sd.exp(Y), (X, Y))
A, W = sd.symbol("A", ("n", 2)), sd.symbol("w", 2)
G = torch.lower((sd.tanh(A @ W), sd.sum(A * A)), (A, W))


def eager(x, y):
    return torch.sin(x) * y + torch.exp(y)


def leaf(value, **words):
    return torch.tensor(value, requires_grad=True, **words)


def test_a_call_is_one_recorded_operation_that_accumulates_into_leaves():
    x, y = leaf(0.5), leaf(2.0)
    z = F(x, y)
    assert type(z.grad_fn).__name__ == z.grad_fn.name() == "FunctionBackward0"
    assert [fn.variable for fn, _ in z.grad_fn.next_functions] == [x, y]
    assert z.item() == pytest.approx(eager(x, y).item())
    z.backward()
    F(x=x, y=y).backward()
    assert x.grad.item() == pytest.approx(2 * 2 * np.cos(0.5), rel=1e-6)
    assert y.grad.dtype == torch.float32


def test_nothing_is_recorded_or_kept_under_no_grad_or_without_need():
    x = leaf([0.5, 1.0])
    with torch.no_grad():
        z = F(x, 2.0)
    assert (z.requires_grad, z.grad_fn) == (False, None)
    assert F(torch.tensor(1.0), 2.0).grad_fn is None


def test_numbers_and_arrays_are_constants_and_points_broadcast():
    x = leaf([0.5, 1.0, 1.5], dtype=torch.float64)
    z = F(x, np.array([[1.0], [2.0]]))
    assert z.shape == (2, 3)
    assert z.dtype == torch.float64
    z.sum().backward()
    assert np.allclose(x.grad.numpy(), 3 * np.cos(x.detach().numpy()))
    assert F(leaf(1.0), 2).dtype == torch.float32
    assert F(leaf(1.0), leaf(2.0, dtype=torch.float64)).dtype == torch.float64
    refused(
        (TypeError, None, lambda: F(x)),
        (sd.ShapeError, None, lambda: G(torch.ones(3, 3), torch.ones(2))),
    )


def test_several_results_share_one_node():
    a, w = leaf([[1.0, 2.0], [0.5, 0.1], [0.2, 0.3]]), leaf([0.3, -0.2])
    p, q = G(a, w)
    assert p.grad_fn is q.grad_fn
    assert (p.output_nr, q.output_nr) == (0, 1)
    (p.sum() * q).backward()
    ga, gw, a.grad, w.grad = a.grad, w.grad, None, None
    (torch.tanh(a @ w).sum() * (a * a).sum()).backward()
    assert torch.allclose(ga, a.grad)
    assert torch.allclose(gw, w.grad)
    a.grad = None
    G(a, w)[1].backward()  # the other result contributes zeros
    assert torch.allclose(a.grad, 2 * a)


def test_freed_values_and_changed_arguments_are_noticed():
    x, y = leaf(0.5), leaf(2.0)
    z = F(x, y)
    z.backward(retain_graph=True)
    z.backward()
    with pytest.raises(RuntimeError, match=r"second time.*retain_graph=True"):
        z.backward()
    h = x * 1
    z = F(h, y)
    h.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()
    linear = torch.lower(X + Y, (X, Y))
    h = x * 1
    z = linear(h, y)
    h.add_(1)
    z.backward(retain_graph=True)
    z.backward()  # nothing was kept


def test_derivatives_of_every_order():
    for call in (F, eager):
        x, y = leaf(0.5, dtype=torch.float64), leaf(2.0, dtype=torch.float64)
        values = []
        z = call(x, y)
        for _ in range(3):
            (z,) = torch.autograd.grad(z, x, create_graph=True)
            values.append(z.item())
        (mixed,) = torch.autograd.grad(z, y)
        values.append(mixed.item())
        assert values == pytest.approx(
            [2 * np.cos(0.5), -2 * np.sin(0.5), -2 * np.cos(0.5), -np.cos(0.5)]
        )
    a, w = leaf([[1.0, 2.0], [0.5, 0.1]]), leaf([0.3, -0.2])
    found = []
    for call in (lambda a, w: G(a, w)[0], lambda a, w: torch.tanh(a @ w)):
        (g,) = torch.autograd.grad(call(a, w).sum(), a, create_graph=True)
        found.append(torch.autograd.grad((g * g).sum(), (a, w)))
    for p, q in zip(*found, strict=True):
        assert torch.allclose(p, q)


def test_the_formula_is_that_of_the_function():
    x, y = leaf(0.5, name="x"), leaf(2.0, name="y")
    z = F(x * y, y)
    assert z.expr is sd.sin(X * Y) * Y + sd.exp(Y)
    z.backward(create_graph=True)
    assert x.grad.expr is sd.grad(z.expr, X)
    v = leaf([1.0, 2.0], name="v")
    assert F(v, y).expr is sd.sin(sd.symbol("v", 2)) * Y + sd.exp(Y) or F(v, y).expr.shape == (2,)
    a = leaf([[1.0, 2.0]], name="A")
    assert G(a, torch.tensor([1.0, 2.0], name="w"))[1].expr is sd.sum(sd.symbol("A", (1, 2)) ** 2)


def test_zeros_behind_a_selection_stay_zeros():
    root = torch.lower(sd.sqrt(X), X)
    x = leaf([0.0, 4.0])
    torch.where(x > 1, root(x), 0.0).sum().backward()
    assert x.grad.tolist() == [0.0, 0.25]
    relu = torch.lower(sd.maximum(X, 0), X)
    x = leaf([0.0, 4.0])
    relu(torch.sqrt(x) - 1).sum().backward()
    assert x.grad.tolist() == [0.0, 0.25]


def test_results_without_a_cotangent_have_no_say_in_the_gradient():
    # 0 times an infinite partial is nan: the root of 0 is not what is differentiated.
    v = sd.symbol("v", "n")
    f = torch.lower((sd.sqrt(v).sum(), 2 * v, sd.norm(v)), v)
    for create_graph in (False, True):
        x = leaf([0.0, 1.0])
        (g,) = torch.autograd.grad(f(x)[1].sum(), x, create_graph=create_graph)
        assert g.tolist() == [2.0, 2.0]
        (g,) = torch.autograd.grad(f(x)[2], x, create_graph=create_graph)
        assert g.tolist() == [0.0, 1.0]
        (g,) = torch.autograd.grad(f(x)[0], x, create_graph=create_graph)
        assert g.tolist() == [np.inf, 0.5]
