"""Comparisons, logic and bits beyond ``op_examples``."""

import operator as op

import pytest

from tests.eager.chosen import torch
from tests.support.refusals import refused


def test_comparison_with_other_things():
    """Equality of different things is false; order has no meaning."""
    x = torch.ones(2)
    for other in ("a", None, [1.0, 1.0]):
        assert (x == other) is False
        assert (x != other) is True
        for f in (op.lt, op.le, op.gt, op.ge):
            with pytest.raises(TypeError, match="not supported between"):
                f(x, other)
        with pytest.raises(TypeError):
            torch.eq(x, other)
    with pytest.raises(TypeError):
        torch.eq(1, x)


def test_hashes_are_identities():
    """So that Tensors are keys."""
    x, y = torch.ones(1), torch.ones(1)
    assert len({x: 1, y: 2}) == 2
    assert hash(x) == id(x)


def test_isclose_wants_one_dtype():
    """Unlike the comparisons."""
    x = torch.ones(1)
    refused(
        (RuntimeError, "Float did not match Double", lambda: torch.isclose(x, x.double())),
        (RuntimeError, "did not match", lambda: torch.allclose(x, torch.tensor([1]))),
    )
    assert torch.isclose(torch.tensor([1]), torch.tensor([1])).tolist() == [True]


def test_augmented():
    """In place."""
    m = torch.tensor([True, False])
    same = m
    m &= torch.tensor([True, True])
    m |= torch.tensor([False, True])
    m ^= torch.tensor([True, False])
    assert m is same
    assert m.tolist() == [False, True]
