"""Reductions beyond ``op_examples``: results that share a node, errors, departures."""

import math

import numpy as np
import pytest

from tests.eager.chosen import check, leaf, ours, torch
from tests.support.refusals import refusing

A = np.array([[0.5, -1.2, 2.2], [1.7, 0.3, -0.4]])
INF, NAN = math.inf, math.nan


EMPTY = np.zeros((0, 3))
ERRORS = {
    "dim": (lambda: leaf(A).sum(5), IndexError, r"expected to be in range of \[-2, 1\], but got 5"),
    "dim of none": (lambda: leaf(2.0).mean(1), IndexError, r"range of \[-1, 0\], but got 1"),
    "dim twice": (lambda: leaf(A).sum((0, -2)), RuntimeError, "dim 0 appears multiple times"),
    "mean of ints": (lambda: torch.tensor([1, 2]).mean(), RuntimeError, "dtype.*Got: Long"),
    "std of ints": (lambda: torch.tensor([1, 2]).std(), RuntimeError, "floating point"),
    "norm of ints": (lambda: torch.tensor([1, 2]).norm(), RuntimeError, "floating point"),
    "softmax of ints": (
        lambda: torch.tensor([1]).softmax(0),
        NotImplementedError,
        "not implemented",
    ),
    "softmax dim": (lambda: leaf(A).softmax(2), IndexError, "out of range"),
    "max of nothing": (lambda: leaf(EMPTY).max(), RuntimeError, "Specify the reduction dim"),
    "amin of nothing": (lambda: leaf(EMPTY).amin(), RuntimeError, "Specify the reduction dim"),
    "max dim of nothing": (lambda: leaf(EMPTY).max(0), IndexError, "dim 0 to have non-zero size"),
    "argmax of nothing": (lambda: leaf(EMPTY).argmax(), IndexError, "Expected reduction dim"),
    "norm(inf) of nothing": (lambda: leaf(EMPTY).norm(INF), RuntimeError, "identity"),
    "unknown name": (lambda: leaf(A).sum(dims=0), TypeError, "sum"),
    "logsumexp of nowhere": (lambda: leaf(A).logsumexp(), TypeError, "dim"),
}


test_errors = refusing(ERRORS)


def test_sums_of_half_precision_are_made_of_single():
    """By columns too: in half precision 2048 + 1 is 2048."""
    y = torch.ones(5000, 2, dtype=torch.float16).sum(0)
    assert y.dtype == torch.float16
    assert y.tolist() == [5000, 5000]


def test_several_results_share_a_node():
    """Rule 3: one ``grad_fn``, numbered outputs; unused ones contribute nothing."""
    x = leaf([1.0, 2.0, 6.0])
    var, mean = torch.var_mean(x)
    assert var.grad_fn is mean.grad_fn
    assert (var.output_nr, mean.output_nr) == (0, 1)
    mean.backward(retain_graph=True)
    check(x.grad, [1 / 3] * 3)
    (var + mean).backward()
    check(x.grad, [2 / 3 - 2, 2 / 3 - 1, 2 / 3 + 3], rtol=1e-12)


def test_too_few_degrees_of_freedom():
    """A warning, and nan."""
    with pytest.warns(UserWarning, match="degrees of freedom"):
        assert math.isnan(leaf([3.0]).std().item())


@ours
def test_second_derivative_of_a_norm_at_zero():
    """It is 0, where PyTorch has nan."""
    x = leaf([0.0, 0.0])
    (g,) = torch.autograd.grad(x.norm(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    check(h, [0, 0])
