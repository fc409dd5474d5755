"""Elementwise functions beyond ``op_examples``: refusals, selections, departures."""

import numpy as np
import pytest

from tests.eager.chosen import check, derivatives, leaf, ours, torch
from tests.support.refusals import refused


def second(gs, x):
    """The gradient of the sum of a gradient; zeros where it depends on nothing."""
    if gs is None or not gs.requires_grad:
        return torch.zeros_like(x)
    (h,) = torch.autograd.grad(gs.sum(), x, retain_graph=True, allow_unused=True)
    return torch.zeros_like(x) if h is None else h


# Functions of one operand -------------------------------------------------------------------------


def test_functions_want_tensors():
    """Python numbers and text are refused."""
    for x in (2.0, "a", np.ones(2)):
        with pytest.raises(TypeError, match=r"argument 'input' \(position 1\) must be Tensor"):
            torch.sin(x)
    with pytest.raises(TypeError):
        torch.abs(torch.ones(1), 1)


def test_truth_values():
    """Rounding and absolute values are for numbers."""
    x = torch.tensor([True])
    for f in (torch.abs, torch.floor, torch.round, torch.trunc):
        with pytest.raises(NotImplementedError, match="not implemented for 'Bool'"):
            f(x)
    with pytest.raises(RuntimeError, match="Boolean inputs"):
        torch.relu(x)
    assert torch.sign(x).tolist() == [True]
    assert torch.sigmoid(x).dtype == torch.float32


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
    """xlogy and where take numbers; the others want Tensors."""
    x = leaf([0.5, 2.0])
    check(torch.xlogy(x, 2), [0.5 * np.log(2), 2 * np.log(2)])
    check(torch.xlogy(2, x), [2 * np.log(0.5), 2 * np.log(2)])
    assert torch.xlogy(torch.ones(1), 2.0).dtype == torch.float32
    for f in (torch.maximum, torch.atan2, torch.logaddexp, torch.hypot, torch.fmin):
        with pytest.raises(TypeError, match=r"argument 'other' \(position 2\) must be Tensor"):
            f(x, 1.0)


def test_clamp_errors():
    """No bound, or a number and a tensor."""
    x = torch.ones(2)
    refused(
        (RuntimeError, "At least one", lambda: torch.clamp(x)),
        (TypeError, None, lambda: torch.clamp(x, x, 1.0)),
        (TypeError, None, lambda: torch.clamp(x, "a")),
    )


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


def test_where_wants_a_condition():
    """Numbers are no truth values; shapes must broadcast."""
    x = torch.ones(2)
    refused(
        (
            RuntimeError,
            "boolean tensor, but got a tensor with dtype Float",
            lambda: torch.where(x, x, x),
        ),
        (RuntimeError, "must match", lambda: torch.where(x > 0, x, torch.ones(3))),
    )


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


# What is saved ------------------------------------------------------------------------------------
