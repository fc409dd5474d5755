"""Activations beyond ``op_examples``: branches not taken, dropout, in place, errors."""

import numpy as np
import pytest

from tests.eager.chosen import check, leaf, torch
from tests.support.refusals import refused, refusing

F = torch.nn.functional


def test_an_infinite_branch_that_is_not_taken_leaves_no_trace():
    x = leaf([1000.0, 1e4])
    (F.elu(x) + F.celu(x) + F.selu(x) + F.softplus(x) + F.mish(x)).sum().backward()
    assert np.isfinite(x.grad.numpy()).all()
    (g,) = torch.autograd.grad(F.softplus(x).sum(), x, create_graph=True)
    check(g, [1, 1])


def test_relu_in_place():
    x = leaf([-1.0, 2.0])
    h = x * 1
    y = F.relu(h, inplace=True)
    assert y is h
    check(h, [0, 2])
    h.sum().backward()
    check(x.grad, [0, 1])
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        F.relu(x, inplace=True)


def test_dropout():
    x = leaf(np.ones(1000))
    assert F.dropout(x, 0.5, training=False) is x
    y = F.dropout(x, 0.75)
    y.sum().backward()
    assert set(np.unique(y.detach().numpy())) == {0.0, 4.0}
    check(x.grad, y.detach().numpy())


ERRORS = [
    (lambda x: F.gelu(x, approximate="x"), RuntimeError, "approximate argument must be"),
    (lambda x: F.hardtanh(x, 1, -1), ValueError, "min_val cannot be greater"),
    (lambda x: F.celu(x, 0.0), RuntimeError, "alpha cannot be 0"),
    (lambda x: F.elu(x.long()), NotImplementedError, "not implemented for 'Long'"),
    (lambda x: F.linear(x, torch.ones(4, 3)), RuntimeError, "cannot be multiplied"),
    (lambda x: F.linear(x, x.double(), x.double()[0]), RuntimeError, "same dtype"),
    (lambda x: F.dropout(x, 2.0), ValueError, "has to be between 0 and 1"),
]


test_errors = refusing(ERRORS, lambda: torch.ones(2, 2))


def test_bounds_of_what_has_none_below_0():
    refused(
        (RuntimeError, "unsigned type", lambda: F.hardtanh(torch.ones(1, dtype=torch.uint8))),
        (RuntimeError, "Bool inputs", lambda: F.hardtanh(torch.tensor([True]))),
    )
    assert F.relu6(torch.tensor([9], dtype=torch.uint8)).tolist() == [6]


def test_prelu_of_one_number():
    for weight in ([0.5], 0.5):
        check(F.prelu(leaf(-2.0), leaf(weight)), -1.0)
    refused(
        (RuntimeError, "zero-dim", lambda: F.prelu(leaf(-2.0), leaf([0.5, 1.0]))),
        (RuntimeError, "promoting", lambda: F.prelu(leaf([1.0]), torch.ones(1))),
        (NotImplementedError, "prelu_cpu", lambda: F.prelu(*[torch.ones(1).long()] * 2)),
    )
