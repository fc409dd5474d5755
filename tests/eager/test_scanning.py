"""Running results: values beside NumPy's, gradients beside differences, ties and zeros exactly."""

import math

import numpy as np
import pytest

from tests.eager.chosen import check, leaf, torch
from tests.eager.differences import agree

A = np.array([[0.5, -1.2, 2.2], [1.7, 0.3, -0.4]])
C = np.array([[[1.0, -2.0], [0.5, 3.0]], [[2.0, 2.5], [-1.5, 1.25]]])
V = np.array([0.9, -0.3, 0.6])
NAN, INF = math.nan, math.inf

# The program, what NumPy says, the operands, and the class of the node.
ROWS = {
    "cumsum": (lambda x: x.cumsum(0), lambda a: a.cumsum(0), [A], "CumsumBackward0"),
    "cumsum dim": (
        lambda x: torch.cumsum(x, dim=-2),
        lambda a: a.cumsum(1),
        [C],
        "CumsumBackward0",
    ),
    "cumprod": (lambda x: x.cumprod(1), lambda a: a.cumprod(1), [A], "CumprodBackward0"),
    "cumprod dim": (lambda x: x.cumprod(0), lambda a: a.cumprod(0), [C], "CumprodBackward0"),
    "cumprod a zero": (
        lambda x: x.cumprod(0),
        np.cumprod,
        [[2.0, 0.0, 3.0, 1.0]],
        "CumprodBackward0",
    ),
    "cumprod zeros": (
        lambda x: x.cumprod(0),
        np.cumprod,
        [[1.0, 0.0, 3.0, 0.0]],
        "CumprodBackward0",
    ),
    "cummax": (
        lambda x: x.cummax(1).values,
        lambda a: np.maximum.accumulate(a, 1),
        [A],
        "CummaxBackward0",
    ),
    "cummin": (
        lambda x: torch.cummin(x, -2)[0],
        lambda a: np.minimum.accumulate(a, 1),
        [C],
        "CumminBackward0",
    ),
    "logcumsumexp": (
        lambda x: x.logcumsumexp(0),
        lambda a: np.log(np.exp(a).cumsum(0)),
        [A],
        "LogcumsumexpBackward0",
    ),
    "logcumsumexp dim": (
        lambda x: torch.logcumsumexp(x, 1),
        lambda a: np.log(np.exp(a).cumsum(1)),
        [A],
        "LogcumsumexpBackward0",
    ),
    "diff": (lambda x: x.diff(), np.diff, [A], "SubBackward0"),
    "diff twice": (
        lambda x: torch.diff(x, 2, dim=-1),
        lambda a: np.diff(a, 2),
        [A],
        "SubBackward0",
    ),
    "diff dim": (lambda x: x.diff(dim=0), lambda a: np.diff(a, axis=0), [C], "SubBackward0"),
    "diff between": (
        lambda x, y: x.diff(prepend=y, append=y),
        lambda a, b: np.diff(np.concatenate([b, a, b])),
        [V, [2.0]],
        "SubBackward0",
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_values_and_derivatives(name):
    """Values, the node's name, and gradients of first and second order."""
    f, expected, operands, node = ROWS[name]
    y = f(*[leaf(a) for a in operands])
    check(y, expected(*[np.array(a) for a in operands]), rtol=1e-12)
    assert type(y.grad_fn).__name__ == node
    agree(f, *operands)


@pytest.mark.parametrize("name", ROWS)
def test_float32(name):
    """The dtype stays, and so does that of the gradient."""
    f, expected, operands, _ = ROWS[name]
    xs = [leaf(a, torch.float32) for a in operands]
    y = f(*xs)
    assert y.dtype == torch.float32
    check(y, expected(*[np.array(a) for a in operands]), rtol=2e-5, atol=1e-6)
    y.sum().backward()
    assert all(x.grad.dtype == torch.float32 for x in xs)


# Program, operand, value and gradient of the sum, as PyTorch 2.13 gives them.
EDGES = {
    "cumprod of zeros": (lambda x: x.cumprod(0), [0, 2, 0], [0, 0, 0], [3, 0, 0]),
    "cumprod across a zero": (lambda x: x.cumprod(0), [2, 0, 3], [2, 0, 0], [1, 8, 0]),
    "cummax takes the last tie": (
        lambda x: x.cummax(0)[0],
        [1, 3, 3, 2],
        [1, 3, 3, 3],
        [1, 1, 2, 0],
    ),
    "cummin takes the last tie": (lambda x: x.cummin(0)[0], [1, 1, 3], [1, 1, 1], [1, 2, 0]),
    "cummax keeps nan": (lambda x: x.cummax(0)[0], [1, NAN, 3], [1, NAN, NAN], [1, 2, 0]),
    "cummin keeps nan": (lambda x: x.cummin(0)[0], [1, NAN, 3], [1, NAN, NAN], [1, 2, 0]),
    "logcumsumexp far up": (
        lambda x: x.logcumsumexp(0),
        [1000, 1000],
        [1000, 1000.6931471805599],
        [1.5, 0.5],
    ),
    "cumsum without axes": (lambda x: x.cumsum(0), 2.0, 2, 1),
    "cumprod without axes": (lambda x: x.cumprod(-1), 2.0, 2, 1),
    "cummax without axes": (lambda x: x.cummax(0)[0], 2.0, 2, 1),
    "logcumsumexp without axes": (lambda x: x.logcumsumexp(0), 2.0, 2, 1),
    "diff of too few": (lambda x: x.diff(n=3), [1.0, 2], np.zeros(0), [0, 0]),
}


@pytest.mark.parametrize("name", EDGES)
def test_edges(name):
    """Ties, zeros, nan, far tails and tensors without axes."""
    f, operand, value, gradient = EDGES[name]
    x = leaf(operand)
    y = f(x)
    check(y, value, rtol=1e-12)
    (g,) = torch.autograd.grad(y.sum(), x)
    check(g, gradient, rtol=1e-12)


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "logcumsumexp", "cummax"])
def test_of_nothing(name):
    """A tensor of shape (0, 3), along both axes."""
    for dim in (0, 1):
        x = torch.zeros(0, 3, dtype=torch.float64, requires_grad=True)
        y = getattr(x, name)(dim)
        y = y[0] if isinstance(y, tuple) else y
        assert y.shape == (0, 3)
        y.sum().backward()
        assert x.grad.shape == (0, 3)


def test_integers():
    """Sums and products of integers and truth values are int64; differences stay."""
    truth, ints = torch.tensor([True, False, True]), torch.tensor([3, 1, 2], dtype=torch.int32)
    assert truth.cumsum(0).dtype == ints.cumsum(0).dtype == ints.cumprod(0).dtype == torch.int64
    assert truth.cumsum(0).tolist() == [1, 1, 2]
    assert ints.cumsum(0, dtype=torch.float32).dtype == torch.float32
    assert truth.diff().tolist() == [True, True]
    assert ints.diff().dtype == torch.int32
    values, indices = ints.cummax(0)
    assert (values.dtype, indices.dtype) == (torch.int32, torch.int64)
    assert indices.tolist() == [0, 0, 0]


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


def test_what_is_saved():
    """Rules 13 and 34: cumsum saves nothing, cumprod its result."""
    y = leaf(V).cumsum(0).sum()
    y.backward()
    y.backward()
    y = leaf(V).cumprod(0)
    z = y.sum()
    y.detach().add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()


def test_named_results():
    """``cummax`` gives a named tuple, whose indices are constants."""
    r = leaf([1.0, 3.0, 2.0]).cummax(0)
    assert repr(r).startswith("torch.return_types.cummax(\nvalues=tensor([1., 3., 3.]")
    assert r.indices.tolist() == [0, 1, 1]
    assert not r.indices.requires_grad
