"""Running results beyond ``op_examples``: errors and named results."""

import numpy as np
import pytest

from tests.eager.chosen import leaf, torch

A = np.array([[0.5, -1.2, 2.2], [1.7, 0.3, -0.4]])
V = np.array([0.9, -0.3, 0.6])


ERRORS = {
    "dim": (lambda: leaf(A).cumsum(5), IndexError, r"range of \[-2, 1\], but got 5"),
    "no dim": (lambda: leaf(A).cumprod(), TypeError, "dim"),
    "ints": (lambda: torch.tensor([1]).logcumsumexp(0), NotImplementedError, "'Long'"),
    "diff without axes": (lambda: leaf(2.0).diff(), RuntimeError, "at least one-dimensional"),
    "diff order": (lambda: leaf(V).diff(-1), RuntimeError, "non-negative but got -1"),
    "diff prepend": (lambda: leaf(V).diff(prepend=leaf(1.0)), RuntimeError, "same dimension"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    """Builtin errors with PyTorch's phrases."""
    program, error, phrase = ERRORS[name]
    with pytest.raises(error, match=phrase):
        program()


def test_named_results():
    """``cummax`` gives a named tuple, whose indices are constants."""
    r = leaf([1.0, 3.0, 2.0]).cummax(0)
    assert repr(r).startswith("torch.return_types.cummax(\nvalues=tensor([1., 3., 3.]")
    assert r.indices.tolist() == [0, 1, 1]
    assert not r.indices.requires_grad
