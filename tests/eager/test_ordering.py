"""Orders along an axis beyond ``op_examples``: errors, named results, what is saved."""

import numpy as np
import pytest

from tests.eager.chosen import check, leaf, ours, torch

A = np.array([[0.5, -1.2, 2.2], [1.7, 0.3, -0.4]])


ERRORS = {
    "sort dim": (lambda: leaf(A).sort(2), IndexError, r"range of \[-2, 1\], but got 2"),
    "topk": (lambda: leaf(A).topk(4), RuntimeError, "selected index k out of range"),
    "kthvalue": (lambda: leaf(A).kthvalue(0), RuntimeError, "out of range for dimension 1"),
    "kthvalue of nothing": (lambda: torch.zeros(0, 3).kthvalue(1, 0), IndexError, "non-zero size"),
    "median of nothing": (lambda: torch.zeros(0, 3).median(0), IndexError, "non-zero size"),
    "quantile": (lambda: leaf(A).quantile(1.5), RuntimeError, r"range \[0, 1\] but got 1.5"),
    "quantile list": (lambda: leaf(A).quantile([0.5]), TypeError, "quantile"),
    "quantile dtype": (lambda: leaf(A).quantile(torch.tensor(0.5)), RuntimeError, "same dtype"),
    "quantile of nothing": (lambda: torch.zeros(0).quantile(0.5), RuntimeError, "non-empty"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    """Builtin errors with PyTorch's phrases."""
    program, error, phrase = ERRORS[name]
    with pytest.raises(error, match=phrase):
        program()


def test_named_results():
    """A named tuple; the indices are constants, and no operands of the node."""
    x = leaf([3.0, 1.0, 2.0])
    for name, r in (("sort", x.sort()), ("topk", x.topk(2)), ("median", x.median(0))):
        assert repr(r).startswith(f"torch.return_types.{name}(\nvalues=tensor(")
        assert (r.indices.dtype, r.indices.requires_grad) == (torch.int64, False)
        assert len(r.values.grad_fn.next_functions) == 1
    assert x.argsort(descending=True).tolist() == [0, 2, 1]
    assert torch.argsort(torch.tensor([[2, 1]]), dim=1, stable=True).tolist() == [[1, 0]]


def test_indices_are_saved():
    """Changing the returned indices is noticed; changing the operand is not of interest."""
    x = leaf([3.0, 1.0, 2.0])
    values, indices = x.sort()
    indices.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        values.sum().backward()
    h = x * 1
    y = h.sort()[0].sum()
    h.detach().zero_()
    y.backward()
    check(x.grad, [1, 1, 1])


@ours
def test_long_ties_keep_their_order():
    """Beyond a few thousand elements the first of equal ones are found."""
    x = torch.zeros(5000)
    assert x.topk(100).indices.tolist() == list(range(100))
    assert x.kthvalue(3).indices.item() == 2
