"""Elementwise functions beyond ``op_examples``: refusals, selections, departures."""

# ruff: noqa: E501  # rows of a table

import numpy as np
import pytest

from tests.eager.chosen import check, derivatives, leaf, ours, torch
from tests.support.refusals import refusing


def second(gs, x):
    """The gradient of the sum of a gradient; zeros where it depends on nothing."""
    if gs is None or not gs.requires_grad:
        return torch.zeros_like(x)
    (h,) = torch.autograd.grad(gs.sum(), x, retain_graph=True, allow_unused=True)
    return torch.zeros_like(x) if h is None else h


# Functions of one operand -------------------------------------------------------------------------


X, ONES, BOOL = leaf([0.5, 2.0]), torch.ones(2), torch.tensor([True])
FIRST, OTHER = (
    rf"argument '{n}' \(position {k}\) must be Tensor" for k, n in ((1, "input"), (2, "other"))
)
test_errors = refusing([
    *((lambda x=x: torch.sin(x), TypeError, FIRST) for x in (2.0, "a", np.ones(2))),
    (lambda: torch.abs(torch.ones(1), 1), TypeError, None),
    *((lambda f=f: f(BOOL), NotImplementedError, "not implemented for 'Bool'")
      for f in (torch.abs, torch.floor, torch.round, torch.trunc)),
    (lambda: torch.relu(BOOL), RuntimeError, "Boolean inputs"),
    *((lambda f=f: f(X, 1.0), TypeError, OTHER)
      for f in (torch.maximum, torch.atan2, torch.logaddexp, torch.hypot, torch.fmin)),
    (lambda: torch.clamp(ONES), RuntimeError, "At least one"),
    (lambda: torch.clamp(ONES, ONES, 1.0), TypeError, None),
    (lambda: torch.clamp(ONES, "a"), TypeError, None),
    (lambda: torch.where(ONES, ONES, ONES), RuntimeError, "boolean tensor, but got a tensor with dtype Float"),
    (lambda: torch.where(ONES > 0, ONES, torch.ones(3)), RuntimeError, "must match"),
])  # fmt: skip


def test_truth_values():
    assert torch.sign(BOOL).tolist() == [True]
    assert torch.sigmoid(BOOL).dtype == torch.float32


# Kinks, edges and tails ---------------------------------------------------------------------------


@ours
def test_sinc_near_zero():
    """PyTorch divides by x² there; the series keeps every derivative."""
    x = leaf([0.0, 1e-9])
    (g,) = derivatives(torch.sinc(x), [x])
    check(second(g, x), [-(np.pi**2) / 3] * 2)


# Functions of two operands ------------------------------------------------------------------------


def test_hypot_does_not_overflow():
    """Neither do its gradients."""
    a, b = leaf([3e200, 0.0]), leaf([4e200, -3e-200])
    y = torch.hypot(a, b)
    check(y, [5e200, 3e-200], rtol=1e-12, atol=0)
    for g, expected in zip(derivatives(y, [a, b]), ([0.6, 0.0], [0.8, -1.0]), strict=True):
        check(g, expected, rtol=1e-12)


def test_numbers_as_operands():
    """xlogy takes them on both sides."""
    check(torch.xlogy(X, 2), [0.5 * np.log(2), 2 * np.log(2)])
    check(torch.xlogy(2, X), [2 * np.log(0.5), 2 * np.log(2)])
    assert torch.xlogy(torch.ones(1), 2.0).dtype == torch.float32


# Selections ---------------------------------------------------------------------------------------


def test_where():
    """Each side gets the gradient where it is chosen; broadcast sides the sum."""
    a, b = leaf([[1.0, 2.0], [3.0, 4.0]]), leaf([5.0, 6.0])
    condition = torch.tensor([[True, False], [False, False]])
    y = torch.where(condition, a, b)
    assert type(y.grad_fn).__name__ == "WhereBackward0"
    check(y, [[1.0, 6.0], [5.0, 6.0]])
    ga, gb = derivatives(y * y, [a, b])
    check(ga, [[2.0, 0.0], [0.0, 0.0]])
    check(gb, [10.0, 24.0])
    check(a.where(condition, 0), [[1.0, 0.0], [0.0, 0.0]])
    assert [i.tolist() for i in torch.where(condition)] == [[0], [0]]


@ours
@pytest.mark.parametrize(
    "f",
    [
        lambda y: y.clamp(min=1),
        lambda y: torch.clamp(y, torch.ones(2).double()),
        lambda y: torch.maximum(y, torch.ones(2).double()),
        lambda y: torch.fmax(y, torch.ones(2).double()),
        lambda y: y.relu() + 1,
        torch.nan_to_num,
        lambda y: torch.where(y > 0, y, 0.0),
    ],
)
def test_zeros_below_selections(f):
    """What is not selected has derivative 0 of every order, though log(0) has an infinite one."""
    x = leaf([0.0, 4.0])
    y = f(x.log())
    for expected in (0.25, -0.0625, 0.03125):
        (y,) = derivatives(y, [x])
        check(y, [0.0, expected])


@pytest.mark.parametrize("create", [False, True])
@pytest.mark.parametrize("first", [True, False])
def test_zeros_that_come_by_another_way_too_are_not_excused(create, first):
    """0 times infinity is unknown where something besides the selection depends on the element."""
    x = leaf([0.0, 4.0])
    z = x.sqrt()
    ways = [lambda: torch.where(x > 1, z, 0.0), lambda: z * 0.0]
    a, b = [way() for way in (ways if first else ways[::-1])]
    (g,) = torch.autograd.grad((a + b).sum(), x, create_graph=create)
    assert g.isnan().tolist() == [True, False]
    check(g[1], 0.25)


@ours
def test_zeros_of_two_selections_stay_zeros():
    x = leaf([0.0, 4.0])
    z = x.sqrt()
    y = torch.where(x > 1, z, 0.0) + 2 * torch.where(x > 3, z, 0.0)
    check(derivatives(y, [x])[0], [0.0, 0.75])
