"""Orders along an axis: values beside NumPy's, gradients beside differences, ties as in PyTorch."""

import math

import numpy as np
import pytest

from tests.eager.chosen import check, leaf, ours, torch
from tests.eager.differences import agree

A = np.array([[0.5, -1.2, 2.2], [1.7, 0.3, -0.4]])
C = np.array([[[1.0, -2.0], [0.5, 3.0]], [[2.0, 2.5], [-1.5, 1.25]]])
V = np.array([0.9, -0.3, 0.6, 1.4])
NAN = math.nan
Q = [0.25, 0.6]


def q64(values):
    return torch.tensor(values, dtype=torch.float64)


# The program, what NumPy says, the operands, and the class of the node.
ROWS = {
    "sort": (lambda x: x.sort().values, np.sort, [A], "SortBackward0"),
    "sort dim": (lambda x: torch.sort(x, 0)[0], lambda a: np.sort(a, 0), [C], "SortBackward0"),
    "sort down": (
        lambda x: x.sort(1, descending=True)[0],
        lambda a: -np.sort(-a, 1),
        [A],
        "SortBackward0",
    ),
    "sort stable": (
        lambda x: x.sort(dim=1, stable=True)[0],
        lambda a: np.sort(a, 1),
        [A],
        "SortBackward1",
    ),
    "msort": (lambda x: torch.msort(x), lambda a: np.sort(a, 0), [A], "SortBackward0"),
    "topk": (lambda x: x.topk(2).values, lambda a: -np.sort(-a)[:, :2], [A], "TopkBackward0"),
    "topk dim": (
        lambda x: torch.topk(x, 1, 1, largest=False)[0],
        lambda a: np.sort(a, 1)[:, :1],
        [C],
        "TopkBackward0",
    ),
    "kthvalue": (
        lambda x: x.kthvalue(2).values,
        lambda a: np.sort(a)[:, 1],
        [A],
        "KthvalueBackward0",
    ),
    "kthvalue dim": (
        lambda x: x.kthvalue(1, 0, keepdim=True)[0],
        lambda a: a.min(0, keepdims=True),
        [C],
        "KthvalueBackward0",
    ),
    "median": (lambda x: x.median(), lambda a: np.sort(a, None)[2], [A], "MedianBackward0"),
    "median dim": (
        lambda x: torch.median(x, 1).values,
        lambda a: np.sort(a)[:, 1],
        [A],
        "MedianBackward1",
    ),
    "median keepdim": (
        lambda x: x.median(0, keepdim=True)[0],
        lambda a: a.min(0, keepdims=True),
        [C],
        "MedianBackward1",
    ),
    "nanmedian": (
        lambda x: x.nanmedian(),
        lambda a: np.sort(a, None)[2],
        [A],
        "NanmedianBackward0",
    ),
    "quantile": (lambda x: x.quantile(0.3), lambda a: np.quantile(a, 0.3), [A], "SqueezeBackward4"),
    "quantile dim": (
        lambda x: torch.quantile(x, 0.3, dim=0),
        lambda a: np.quantile(a, 0.3, 0),
        [C],
        "SqueezeBackward4",
    ),
    "quantiles": (
        lambda x: x.quantile(q64(Q), dim=1, keepdim=True),
        lambda a: np.quantile(a, Q, 1, keepdims=True),
        [C],
        "SqueezeBackward4",
    ),
    "quantile in q": (
        lambda x, q: x.quantile(q, dim=1),
        lambda a, q: np.quantile(a, q, 1),
        [A, Q],
        "SqueezeBackward4",
    ),
    "nanquantile": (
        lambda x: x.nanquantile(0.4, dim=1),
        lambda a: np.quantile(a, 0.4, 1),
        [A],
        "SqueezeBackward4",
    ),
    **{
        f"quantile {how}": (
            lambda x, how=how: x.quantile(0.4, interpolation=how),
            lambda a, how=how: np.quantile(a, 0.4, method=how),
            [V],
            "SqueezeBackward4",
        )
        for how in ("lower", "higher", "nearest", "midpoint")
    },
}


@pytest.mark.parametrize("name", ROWS)
def test_values_and_derivatives(name):
    """Values, the node's name, and gradients of first and second order."""
    f, expected, operands, node = ROWS[name]
    y = f(*[leaf(a) for a in operands])
    check(y, expected(*[np.array(a) for a in operands]), rtol=1e-12)
    assert type(y.grad_fn).__name__ == node
    agree(f, *operands)


@pytest.mark.parametrize("name", [name for name in ROWS if "quantile" not in name])
def test_float32(name):
    """The dtype stays, and so does that of the gradient."""
    f, expected, operands, _ = ROWS[name]
    x = leaf(operands[0], torch.float32)
    y = f(x)
    assert y.dtype == torch.float32
    check(y, expected(*operands), rtol=1e-6)
    y.sum().backward()
    assert x.grad.dtype == torch.float32


# Program, operand, value, indices if any, gradient of the sum: as PyTorch 2.13 gives them.
TIES = {
    "sort": (lambda x: x.sort(), [2, 1, 2, 1], [1, 1, 2, 2], [1, 3, 0, 2], [1, 1, 1, 1]),
    "sort down": (
        lambda x: x.sort(descending=True),
        [1, 2, 1, 2],
        [2, 2, 1, 1],
        [1, 3, 0, 2],
        [1] * 4,
    ),
    "sort nan last": (lambda x: x.sort(), [1, NAN, 0], [0, 1, NAN], [2, 0, 1], [1, 1, 1]),
    "sort nan first": (
        lambda x: x.sort(descending=True),
        [1, NAN, 0],
        [NAN, 1, 0],
        [1, 0, 2],
        [1, 1, 1],
    ),
    "topk": (lambda x: x.topk(2), [2, 1, 2, 2], [2, 2], [2, 3], [0, 0, 1, 1]),
    "topk one": (lambda x: x.topk(1), [0, 3, 2, 3, 0, 0, 3], [3], [3], [0, 0, 0, 1, 0, 0, 0]),
    "topk down": (
        lambda x: x.topk(3, largest=False),
        [2, 1, 2, 2, 1],
        [1, 1, 2],
        [1, 4, 2],
        [0, 1, 1, 0, 1],
    ),
    "topk nan": (lambda x: x.topk(2), [1, NAN, 3], [NAN, 3], [1, 2], [0, 1, 1]),
    "kthvalue": (lambda x: x.kthvalue(2), [2, 1, 2, 2, 1, 1, 1], 1, 4, [0, 0, 0, 0, 1, 0, 0]),
    "kthvalue first": (lambda x: x.kthvalue(1), [0, 1, 1, 1, 1, 0], 0, 5, [0, 0, 0, 0, 0, 1]),
    "median(dim)": (lambda x: x.median(0), [2, 1, 2, 2, 1, 1, 1], 1, 6, [0, 0, 0, 0, 0, 0, 1]),
    "median(dim) of nan": (lambda x: x.median(0), [1, NAN, 3], NAN, 1, [0, 1, 0]),
    "nanmedian(dim)": (lambda x: x.nanmedian(0), [4, NAN, 3], 3, 2, [0, 0, 1]),
    "median() shares": (lambda x: (x.median(),), [0, 2, 0], 0, None, [0.5, 0, 0.5]),
    "median() of nan": (lambda x: (x.median(),), [1, NAN, 3], NAN, None, [0, 1, 0]),
    "nanmedian()": (lambda x: (x.nanmedian(),), [1, NAN, 1], 1, None, [0.5, 0, 0.5]),
    "quantile of nan": (lambda x: (x.quantile(0.5),), [1, NAN, 3], NAN, None, [0, 1, 0]),
    "nanquantile": (lambda x: (x.nanquantile(0.5),), [1, NAN, 3], 2, None, [0.5, 0, 0.5]),
    "sort without axes": (lambda x: x.sort(), 2, 2, 0, 1),
    "topk without axes": (lambda x: x.topk(1), 2, 2, 0, 1),
    "kthvalue without axes": (lambda x: x.kthvalue(1), 2, 2, 0, 1),
    "median without axes": (lambda x: x.median(0), 2, 2, 0, 1),
}


@pytest.mark.parametrize("name", TIES)
def test_ties(name):
    """Which of equal elements is found, what is done with nan, tensors without axes."""
    f, operand, value, indices, gradient = TIES[name]
    x = leaf(operand)
    y, *places = f(x)
    check(y, value)
    assert [p.tolist() for p in places] == ([] if indices is None else [indices])
    (g,) = torch.autograd.grad(y.sum(), x)
    check(g, gradient)


def test_of_nothing():
    """A tensor of shape (0, 3)."""
    for f in (
        lambda x: x.sort(0)[0],
        lambda x: x.sort(1)[0],
        lambda x: x.topk(0)[0],
        lambda x: x.kthvalue(1, 1)[0],
        lambda x: x.median(1)[0],
    ):
        x = torch.zeros(0, 3, requires_grad=True)
        y = f(x)
        assert y.numel() == 0
        y.sum().backward()
        assert x.grad.shape == (0, 3)
    assert math.isnan(torch.zeros(0).median().item())


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


def test_integers():
    """Integers are ordered, too."""
    x = torch.tensor([[3, 1, 2]])
    assert x.sort().values.tolist() == [[1, 2, 3]]
    assert x.topk(2).indices.tolist() == [[0, 2]]
    assert x.median(1).indices.tolist() == [2]
    assert torch.tensor([True, False]).sort().values.tolist() == [False, True]


def test_places_in_tables():
    """unique, searchsorted and bucketize."""
    values, inverse, counts = torch.unique(
        torch.tensor([3, 1, 3, 2]), return_inverse=True, return_counts=True
    )
    assert [v.tolist() for v in (values, inverse, counts)] == [[1, 2, 3], [2, 0, 2, 1], [1, 1, 2]]
    assert torch.tensor([[1, 1], [1, 1], [0, 2]]).unique(dim=0).tolist() == [[0, 2], [1, 1]]
    table = torch.tensor([[1.0, 3.0], [2.0, 2.0]])
    wanted = torch.tensor([[1.0, 3.0], [2.0, 5.0]])
    assert torch.searchsorted(table, wanted).tolist() == [[0, 1], [0, 2]]
    assert torch.searchsorted(table[0], wanted, right=True).tolist() == [[1, 2], [1, 2]]
    assert torch.bucketize(torch.tensor([3, 4]), torch.tensor([1, 3, 5])).tolist() == [1, 2]


@ours
def test_long_ties_keep_their_order():
    """Beyond a few thousand elements the first of equal ones are found."""
    x = torch.zeros(5000)
    assert x.topk(100).indices.tolist() == list(range(100))
    assert x.kthvalue(3).indices.item() == 2
