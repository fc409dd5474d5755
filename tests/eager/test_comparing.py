"""Comparisons, logic and bits beyond ``op_examples``."""

import operator as op

import pytest

from tests.eager.chosen import torch
from tests.support.refusals import refusing

ONE, OTHERS = torch.ones(2), ("a", None, [1.0, 1.0])


@pytest.mark.parametrize("other", OTHERS)
def test_different_things_are_not_equal(other):
    assert (other == ONE) is False
    assert (other != ONE) is True


test_errors = refusing([
    *((lambda f=f, y=y: f(ONE, y), TypeError, "not supported between")
      for y in OTHERS for f in (op.lt, op.le, op.gt, op.ge)),
    *((lambda y=y: torch.eq(ONE, y), TypeError, None) for y in OTHERS),
    (lambda: torch.eq(1, ONE), TypeError, None),
    (lambda: torch.isclose(ONE, ONE.double()), RuntimeError, "Float did not match Double"),
    (lambda: torch.allclose(ONE, torch.tensor([1])), RuntimeError, "did not match"),
])  # fmt: skip


def test_hashes_are_identities():
    """So that Tensors are keys."""
    x, y = torch.ones(1), torch.ones(1)
    assert len({x: 1, y: 2}) == 2
    assert hash(x) == id(x)


def test_isclose_of_integers():
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
