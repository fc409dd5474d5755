"""The exact expression of what was computed, and of its gradients."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import numeric as torch
import symdiff as sd
from tests.eager.test_rules_recording import NAMES
from tests.support.cases import all_cases


def leaf(value, name=None, **words):
    return torch.tensor(value, requires_grad=True, name=name, **words)


def test_the_expression_is_in_terms_of_named_leaves():
    w, x, b = leaf([1.0, 2.0], "w"), torch.tensor([0.5, 0.25], name="x"), leaf(0.5, "b")
    y = torch.tanh(w * x + b).sum()
    W, X, B = sd.symbol("w", 2), sd.symbol("x", 2), sd.symbol("b")
    assert y.expr is sd.sum(sd.tanh(W * X + B))
    assert list(y.leaves()) == ["w", "x", "b"]
    assert y.leaves()["w"] is w
    value = torch.lower(y.expr, (W, X, B))(*(np.asarray(t.tolist()) for t in y.leaves().values()))
    assert value == pytest.approx(y.item(), rel=1e-6)


def test_leaves_without_a_name_are_numbered_from_zero_and_numbers_are_free_again():
    gc.collect()
    a, b = leaf(2.0), torch.tensor(3.0)
    first = a.expr.name
    y = a * b
    names = [first, b.expr.name]
    assert [sorted(str(y.expr).split("*")) == sorted(names), first.startswith("x")] == [True, True]
    start = int(first[1:])
    del a, b, y
    c = leaf(5.0)
    assert c.expr.name == f"x{start}"
    assert leaf(1.0).expr.dtype is float
    assert torch.tensor([1, 2]).expr.dtype is int
    assert torch.tensor([True]).expr.dtype is bool


def test_python_numbers_are_exact_and_leaves_may_be_gone():
    w = leaf(3.0, "w")
    y = w * 0.5 + 2
    v = y * torch.tensor(1.0)
    del w
    assert y.expr is sd.symbol("w") / 2 + 2
    assert list(v.leaves()) == []
    assert "w" in str(v.expr)


def test_no_saved_value_is_needed_and_views_and_writing_in_place_are_part_of_it():
    w = leaf([1.0, 2.0, 3.0], "w")
    h = w * 2
    h[0] = w[1] * 5
    h.mul_(w)
    y = (h[:2] ** 2).sum()
    y.backward()
    found = sd.substitute(y.expr, {"w": np.array([1.0, 2.0, 3.0])})
    assert float(sd.evalf(found)) == pytest.approx(y.item())


def test_the_gradient_has_a_closed_formula_under_create_graph():
    w, c = leaf(3.0, "w"), torch.tensor(0.5, name="c")
    y = torch.sin(w * w) + c * w
    y.backward(create_graph=True)
    g = w.grad.expr
    assert g is sd.grad(y.expr, w.expr)
    assert "cos" in sd.latex(g)
    assert "cos" in g._repr_latex_()
    digits = str(g.evalf(50, {"w": 3, "c": "0.5"}))
    assert digits.replace(".", "").lstrip("-").isdigit()
    assert len(digits.replace(".", "").lstrip("-0")) >= 50
    (second,) = torch.autograd.grad(w.grad, w, create_graph=True)
    leaves, slope = w.grad.leaves(), sd.diff(g, w.expr)
    value = slope.evalf(15, {x: leaves[x.name] for x in slope.free_symbols})
    assert float(value) == pytest.approx(second.item(), rel=1e-5)
    assert {x.name for x in sd.free_symbols([second.expr])} == {"w"}


def test_gradients_that_are_linear_or_weighted_have_formulas_too():
    w, c = leaf([1.0, 2.0], "w"), torch.tensor([3.0, 4.0], name="c")
    v = torch.tensor([5.0, 6.0], name="v")
    (g,) = torch.autograd.grad(w * c, w, v, create_graph=True)
    assert g.expr is c.expr * v.expr
    (w * c).sum().backward(create_graph=True)
    assert w.grad.expr is c.expr
    assert not w.grad.requires_grad
    assert (w.grad * 2).expr.name.startswith("x")  # not recorded, so a leaf
    w.grad.zero_()
    assert w.grad.expr.name.startswith("x")


def test_the_gradient_of_a_network_agrees_with_symdiff():
    x = torch.tensor([[0.5, -1.0], [2.0, 0.25], [1.0, 1.0]], name="x")
    w, u = leaf([[0.5, 1.0], [-1.0, 0.25]], "w"), leaf([[1.0], [2.0]], "u")
    loss = torch.mean((torch.tanh(x @ w) @ u) ** 2)
    loss.backward(create_graph=True)
    values = {t.expr: t.detach().numpy().astype(float) for t in (x, w, u)}
    for t in (w, u):
        ours, theirs = t.grad.expr, sd.grad(loss.expr, t.expr)
        a, b = (np.array(torch.interpret(e, values)) for e in (ours, theirs))
        assert np.allclose(a, b, atol=1e-14)
        assert np.allclose(a, t.grad.detach().numpy(), rtol=1e-5)


def test_a_gradient_made_without_create_graph_says_so():
    w = leaf(3.0, "w")
    (w * w).backward()
    with pytest.raises(RuntimeError, match="create_graph=True"):
        _ = w.grad.expr
    (g,) = torch.autograd.grad(w * w, w)
    with pytest.raises(RuntimeError, match="create_graph=True"):
        _ = g.expr
    assert (g * 2).expr.name.startswith("x")


def test_two_leaves_of_one_name_are_refused_by_name():
    for shape in ((), (2,)):
        z = leaf(1.0, "w") * torch.tensor(np.ones(shape), name="w")
        with pytest.raises(ValueError, match="'w'"):
            _ = z.expr
    c, w = torch.tensor(2.0, name="c"), leaf(1.0, "w")
    y = w * c
    c.add_(1)
    with pytest.raises(ValueError, match="'c' was changed in place"):
        _ = (y + w * c).expr


def test_shared_parts_are_visited_once_and_long_chains_need_no_recursion():
    w = leaf(0.5, "w")
    y = w
    for _ in range(60):
        y = torch.tanh(y) * torch.sin(y)
    assert sd.count_nodes(y.expr) < 400
    for _ in range(100_000):
        y = torch.tanh(y)
    assert y.expr.op.name == "tanh"


def _value(t):
    """The value of a tensor's expression; None if a leaf of it is gone."""
    free, leaves = {x.name for x in sd.free_symbols([t.expr])}, t.leaves()
    if not free <= set(leaves):
        return None
    given = {n: np.asarray(leaves[n].tolist()) for n in free}
    return np.broadcast_to(np.asarray(torch.interpret(t.expr, given), float), t.shape)


@all_cases("name", NAMES, least=108)
def test_expressions_of_every_operation_and_of_its_gradient_have_its_values(name):
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    y = NAMES[name](x)
    (g,) = torch.autograd.grad((y * y).sum(), x, create_graph=True)
    for t in (y, g):
        value = _value(t)
        if value is not None:
            assert np.allclose(value, np.asarray(t.tolist()), rtol=1e-4, atol=1e-5)
