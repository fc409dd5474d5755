"""Orders and running results beyond ``op_examples``: errors, named results, what is saved."""

import numpy as np
import pytest

from tests.eager.chosen import check, leaf, ours, torch
from tests.support.refusals import refusing

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
    "cumsum dim": (lambda: leaf(A).cumsum(5), IndexError, r"range of \[-2, 1\], but got 5"),
    "cumprod without dim": (lambda: leaf(A).cumprod(), TypeError, "dim"),
    "logcumsumexp of ints": (
        lambda: torch.tensor([1]).logcumsumexp(0),
        NotImplementedError,
        "'Long'",
    ),
    "diff without axes": (lambda: leaf(2.0).diff(), RuntimeError, "at least one-dimensional"),
    "diff order": (lambda: leaf(A[1]).diff(-1), RuntimeError, "non-negative but got -1"),
    "diff prepend": (lambda: leaf(A[1]).diff(prepend=leaf(1.0)), RuntimeError, "same dimension"),
    "quantile of nothing": (lambda: torch.zeros(0).quantile(0.5), RuntimeError, "non-empty"),
}


test_errors = refusing(ERRORS)


# Named tuples: the function, and the names of what it gives.
NAMED = {
    "max": (lambda x: x.max(1), "values indices"),
    "min": (lambda x: x.min(1), "values indices"),
    "sort": (lambda x: x.sort(), "values indices"),
    "topk": (lambda x: x.topk(2), "values indices"),
    "median": (lambda x: x.median(0), "values indices"),
    "kthvalue": (lambda x: x.kthvalue(2), "values indices"),
    "cummax": (lambda x: x.cummax(0), "values indices"),
    "aminmax": (torch.aminmax, "min max"),
    "slogdet": (torch.slogdet, "sign logabsdet"),
    "linalg_svd": (torch.linalg.svd, "U S Vh"),
    "linalg_eigh": (torch.linalg.eigh, "eigenvalues eigenvectors"),
    "linalg_qr": (torch.linalg.qr, "Q R"),
    "linalg_slogdet": (torch.linalg.slogdet, "sign logabsdet"),
    "linalg_lstsq": (
        lambda x: torch.linalg.lstsq(x, x), "solution residuals rank singular_values"),
}  # fmt: skip


@pytest.mark.parametrize("name", NAMED)
def test_named_results(name):
    """Their fields in order; indices are constants, and no operands of the node."""
    program, names = NAMED[name]
    found = program(leaf([[2.0, 0.5], [0.25, 1.0]]))
    assert repr(found).startswith(f"torch.return_types.{name}(\n{names.split()[0]}=tensor(")
    assert [getattr(found, field) is x for field, x in zip(names.split(), found, strict=True)] == [
        True
    ] * len(found)
    if "indices" in names:
        assert (found.indices.dtype, found.indices.requires_grad) == (torch.int64, False)
        assert len(found.values.grad_fn.next_functions) == 1


def test_argsort():
    x = leaf([3.0, 1.0, 2.0])
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
