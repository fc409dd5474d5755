"""Reductions: values beside NumPy's, gradients beside differences, edges as PyTorch has them."""

import math

import numpy as np
import pytest

from tests.eager.chosen import check, leaf, ours, torch
from tests.eager.differences import agree

A = np.array([[0.5, -1.2, 2.2], [1.7, 0.3, -0.4]])
B = np.array([[1.1, 0.2, -0.7], [-0.4, 2.5, 0.9]])
C = np.array([[[1.0, -2.0], [0.5, 3.0]], [[2.0, 2.5], [-1.5, 1.25]]])
V = np.array([0.9, -0.3, 0.6])
ZERO = np.array([2.0, 0.0, 3.0, 1.0])
ZEROS = np.array([1.0, 0.0, 3.0, 0.0])
GAPS = np.array([[1.0, math.nan, 3.0], [0.5, 2.0, math.nan]])
INF, NAN = math.inf, math.nan


def lse(a, axis=None, keepdims=False):
    return np.log(np.sum(np.exp(a), axis=axis, keepdims=keepdims))


def p_norm(a, p, axis=None):
    return np.sum(np.abs(a) ** p, axis=axis) ** (1 / p)


# The program, what NumPy says, the operands, and the class of the node.
ROWS = {
    "sum": (lambda x: x.sum(), np.sum, [A], "SumBackward0"),
    "sum dims": (
        lambda x: x.sum((0, -1), keepdim=True),
        lambda a: a.sum((0, 2), keepdims=True),
        [C],
        "SumBackward1",
    ),
    "sum axis": (lambda x: torch.sum(x, axis=1), lambda a: a.sum(1), [A], "SumBackward1"),
    "mean": (lambda x: x.mean(), np.mean, [A], "MeanBackward0"),
    "mean dim": (lambda x: x.mean(-1), lambda a: a.mean(-1), [C], "MeanBackward1"),
    "prod": (lambda x: x.prod(), np.prod, [A], "ProdBackward0"),
    "prod a zero": (lambda x: x.prod(), np.prod, [ZERO], "ProdBackward0"),
    "prod zeros": (lambda x: x.prod(), np.prod, [ZEROS], "ProdBackward0"),
    "prod dim": (
        lambda x: x.prod(0, keepdim=True),
        lambda a: a.prod(0, keepdims=True),
        [A],
        "ProdBackward1",
    ),
    "amax": (lambda x: x.amax((0, 2)), lambda a: a.max((0, 2)), [C], "AmaxBackward0"),
    "amin": (
        lambda x: x.amin(1, keepdim=True),
        lambda a: a.min(1, keepdims=True),
        [A],
        "AminBackward0",
    ),
    "aminmax": (lambda x: torch.aminmax(x, dim=0)[0], lambda a: a.min(0), [A], "AminmaxBackward0"),
    "max": (lambda x: x.max(), np.max, [A], "MaxBackward1"),
    "min": (lambda x: torch.min(x), np.min, [A], "MinBackward1"),
    "max dim": (lambda x: x.max(1).values, lambda a: a.max(1), [C], "MaxBackward0"),
    "min dim": (
        lambda x: torch.min(x, 0, keepdim=True)[0],
        lambda a: a.min(0, keepdims=True),
        [A],
        "MinBackward0",
    ),
    "max of two": (lambda x, y: torch.max(x, y), np.maximum, [A, B], "MaximumBackward0"),
    "min of two": (lambda x, y: x.min(y), np.minimum, [A, V], "MinimumBackward0"),
    "nansum": (lambda x: x.nansum(0), lambda a: np.nansum(a, 0), [A], "NansumBackward0"),
    "nanmean": (lambda x: x.nanmean(1), lambda a: np.nanmean(a, 1), [A], "DivBackward0"),
    "var": (lambda x: x.var(), lambda a: a.var(ddof=1), [A], "VarBackward0"),
    "var dims": (
        lambda x: torch.var(x, (0, 2), correction=2),
        lambda a: a.var((0, 2), ddof=2),
        [C],
        "VarBackward0",
    ),
    "var biased": (
        lambda x: x.var(1, False, True),
        lambda a: a.var(1, keepdims=True),
        [A],
        "VarBackward0",
    ),
    "std": (lambda x: x.std(), lambda a: a.std(ddof=1), [A], "StdBackward0"),
    "std biased": (lambda x: torch.std(x, unbiased=False), np.std, [A], "StdBackward0"),
    "var_mean": (
        lambda x: torch.var_mean(x, 1)[0],
        lambda a: a.var(1, ddof=1),
        [A],
        "VarMeanBackward0",
    ),
    "std_mean": (lambda x: torch.std_mean(x, 0)[1], lambda a: a.mean(0), [A], "StdMeanBackward0"),
    "norm": (lambda x: x.norm(), lambda a: p_norm(a, 2), [A], "LinalgVectorNormBackward0"),
    "norm fro": (
        lambda x: torch.norm(x, "fro", dim=(1, 2)),
        lambda a: p_norm(a, 2, (1, 2)),
        [C],
        "LinalgVectorNormBackward0",
    ),
    "norm 1": (
        lambda x: x.norm(1, dim=0),
        lambda a: p_norm(a, 1, 0),
        [A],
        "LinalgVectorNormBackward0",
    ),
    "norm 3": (
        lambda x: x.norm(3, (0, 2)),
        lambda a: p_norm(a, 3, (0, 2)),
        [C],
        "LinalgVectorNormBackward0",
    ),
    "norm 1.5": (
        lambda x: x.norm(p=1.5),
        lambda a: p_norm(a, 1.5),
        [A],
        "LinalgVectorNormBackward0",
    ),
    "norm inf": (
        lambda x: x.norm(INF, 1),
        lambda a: np.abs(a).max(1),
        [A],
        "LinalgVectorNormBackward0",
    ),
    "norm -inf": (
        lambda x: x.norm(-INF),
        lambda a: np.abs(a).min(),
        [A],
        "LinalgVectorNormBackward0",
    ),
    "dist": (lambda x, y: torch.dist(x, y), lambda a, b: p_norm(a - b, 2), [A, B], "DistBackward0"),
    "dist 3": (
        lambda x, y: torch.dist(x, y, 3),
        lambda a, b: p_norm(a - b, 3),
        [A, V],
        "DistBackward0",
    ),
    "logsumexp": (lambda x: x.logsumexp(1), lambda a: lse(a, 1), [A], "LogsumexpBackward0"),
    "logsumexp dims": (
        lambda x: torch.logsumexp(x, (0, 2), keepdim=True),
        lambda a: lse(a, (0, 2), True),
        [C],
        "LogsumexpBackward0",
    ),
    "softmax": (
        lambda x: x.softmax(0),
        lambda a: np.exp(a - lse(a, 0, True)),
        [A],
        "SoftmaxBackward0",
    ),
    "softmax last": (
        lambda x: torch.softmax(x, dim=-1),
        lambda a: np.exp(a - lse(a, -1, True)),
        [C],
        "SoftmaxBackward0",
    ),
    "log_softmax": (
        lambda x: torch.log_softmax(x, 1),
        lambda a: a - lse(a, 1, True),
        [C],
        "LogSoftmaxBackward0",
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_values_and_derivatives(name):
    """Values, the node's name, and gradients of first and second order."""
    f, expected, operands, node = ROWS[name]
    y = f(*[leaf(a) for a in operands])
    check(y, expected(*operands), rtol=1e-12)
    assert type(y.grad_fn).__name__ == y.grad_fn.name() == node
    agree(f, *operands)


@pytest.mark.parametrize("name", ROWS)
def test_float32(name):
    """The dtype stays, and so does that of the gradient."""
    f, expected, operands, _ = ROWS[name]
    xs = [leaf(a, torch.float32) for a in operands]
    y = f(*xs)
    assert y.dtype == torch.float32
    check(y, expected(*operands), rtol=2e-5, atol=1e-6)
    for g, x in zip(torch.autograd.grad(y.sum(), xs), xs, strict=True):
        assert g.dtype == torch.float32
        assert g.shape == x.shape


# Edges: program, operand, value and gradient of the sum as PyTorch 2.13 gives them.
SIX = [[1.0, 3.0, 3.0], [2.0, 0.0, -1.0]]
EDGES = {
    "max() shares ties": (lambda x: x.max(), SIX, 3, [[0, 0.5, 0.5], [0, 0, 0]]),
    "amax shares ties": (lambda x: x.amax(1), SIX, [3, 2], [[0, 0.5, 0.5], [1, 0, 0]]),
    "max(dim) follows the index": (lambda x: x.max(1)[0], SIX, [3, 2], [[0, 1, 0], [1, 0, 0]]),
    "max() of nan": (lambda x: x.max(), [1, NAN, 3], NAN, [0, 1, 0]),
    "max(dim) of nan": (lambda x: x.max(0)[0], [1, NAN, 3], NAN, [0, 1, 0]),
    "norm(inf) shares ties": (lambda x: x.norm(INF), SIX, 3, [[0, 0.5, 0.5], [0, 0, 0]]),
    "max of two shares": (lambda x: torch.max(x, x.detach()), [1, 2], [1, 2], [0.5, 0.5]),
    "norm at 0": (lambda x: x.norm(), [0, 0], 0, [0, 0]),
    "norm 1 at 0": (lambda x: x.norm(1), [0, 0], 0, [0, 0]),
    "norm 3 at 0": (lambda x: x.norm(3), [0, 0], 0, [0, 0]),
    "norm 0.5 at 0": (lambda x: x.norm(0.5), [0, 0], 0, [0, 0]),
    "norm 0.5 with a 0": (lambda x: x.norm(0.5), [0, 4], 4, [0, 1]),
    "norm 1.5 with a 0": (lambda x: x.norm(1.5), [0, 2, 0], 2, [0, 1, 0]),
    "norm inf at 0": (lambda x: x.norm(INF), [0, 0], 0, [0, 0]),
    "dist at 0": (lambda x: torch.dist(x, torch.ones(2)), [1, 1], 0, [0, 0]),
    "std of equal elements": (lambda x: x.std(), [2, 2, 2], 0, [0, 0, 0]),
    "std of one": (lambda x: x.std(unbiased=False), [3], 0, [0]),
    "nansum": (lambda x: x.nansum(), [1, NAN, 3], 4, [1, 0, 1]),
    "nanmean": (lambda x: x.nanmean(), [1, NAN, 3], 2, [0.5, 0, 0.5]),
    "prod of two zeros": (lambda x: x.prod(), [0, 2, 0], 0, [0, 0, 0]),
    "prod of one zero": (lambda x: x.prod(), [0, 2, 3], 0, [6, 0, 0]),
    "logsumexp far up": (lambda x: x.logsumexp(0), [1000, 1000], 1000.6931471805599, [0.5, 0.5]),
    "logsumexp far down": (
        lambda x: x.logsumexp(0),
        [-1000, -1000],
        -999.3068528194401,
        [0.5, 0.5],
    ),
    "softmax at ±1000": (lambda x: x.softmax(0), [1000, -1000], [1, 0], [0, 0]),
    "log_softmax at ±1000": (lambda x: x.log_softmax(0), [1000, -1000], [0, -2000], [-1, 1]),
    "sum() without axes": (lambda x: x.sum(0), 2.0, 2, 1),
    "softmax without axes": (lambda x: x.softmax(0), 2.0, 1, 0),
    "var without axes": (lambda x: x.var(0, correction=0), 2.0, 0, 0),
    "max(0) without axes": (lambda x: x.max(0)[0], 2.0, 2, 1),
    "norm without axes": (lambda x: x.norm(dim=0), -2.0, 2, -1),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", EDGES)
def test_edges(name):
    """Kinks, ties, nan, far tails and tensors without axes."""
    f, operand, value, gradient = EDGES[name]
    x = leaf(operand)
    y = f(x)
    check(y, value, rtol=1e-12)
    (g,) = torch.autograd.grad(y.sum(), x)
    check(g, gradient, rtol=1e-12, atol=1e-12)


NOTHING = {
    "sum": (lambda x: x.sum(), 0),
    "sum dim": (lambda x: x.sum(0), [0, 0, 0]),
    "mean": (lambda x: x.mean(), NAN),
    "prod": (lambda x: x.prod(0), [1, 1, 1]),
    "amax": (lambda x: x.amax(1), np.zeros(0)),
    "max dim": (lambda x: x.max(1).values, np.zeros(0)),
    "norm": (lambda x: x.norm(1, dim=0), [0, 0, 0]),
    "logsumexp": (lambda x: x.logsumexp(0), [-INF] * 3),
    "softmax": (lambda x: x.softmax(0), np.zeros((0, 3))),
    "log_softmax": (lambda x: x.log_softmax(1), np.zeros((0, 3))),
    "nansum": (lambda x: x.nansum(), 0),
}


@pytest.mark.parametrize("name", NOTHING)
def test_of_nothing(name):
    """Reductions of a tensor of shape (0, 3)."""
    f, value = NOTHING[name]
    x = torch.zeros(0, 3, dtype=torch.float64, requires_grad=True)
    y = f(x)
    check(y, value)
    y.sum().backward()
    assert x.grad.shape == (0, 3)


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


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    """Builtin errors with PyTorch's phrases."""
    program, error, phrase = ERRORS[name]
    with pytest.raises(error, match=phrase):
        program()


DTYPES = {
    "sum of ints": (lambda: torch.tensor([1, 2], dtype=torch.int32).sum(), torch.int64, 3),
    "sum of truth": (lambda: torch.tensor([True, True]).sum(0), torch.int64, 2),
    "sum to a dtype": (lambda: torch.tensor([1, 2]).sum(dtype=torch.float64), torch.float64, 3),
    "prod of truth": (lambda: torch.tensor([True, False]).prod(), torch.int64, 0),
    "mean to a dtype": (lambda: torch.tensor([1, 2]).mean(dtype=torch.float32), torch.float32, 1.5),
    "all": (lambda: torch.tensor([1.0, 0.0]).all(), torch.bool, False),
    "any dims": (lambda: torch.tensor([[1, 0], [0, 0]]).any(dim=1), torch.bool, [True, False]),
    "all of uint8": (lambda: torch.tensor([1, 2], dtype=torch.uint8).all(), torch.uint8, 1),
    "argmax": (lambda: torch.tensor([[1.0, 5.0], [7.0, 2.0]]).argmax(1), torch.int64, [1, 0]),
    "argmax of all": (lambda: torch.tensor([[1.0, 5.0], [7.0, 2.0]]).argmax(), torch.int64, 2),
    "argmin keepdim": (
        lambda: torch.tensor([[1.0, 5.0]]).argmin(0, keepdim=True),
        torch.int64,
        [[0, 0]],
    ),
    "count_nonzero": (lambda: torch.tensor([[1, 0], [0, 0]]).count_nonzero(0), torch.int64, [1, 0]),
    "logsumexp of ints": (lambda: torch.tensor([0, 0]).logsumexp(0), torch.float32, math.log(2)),
    "softmax to a dtype": (
        lambda: torch.tensor([1, 1]).softmax(0, dtype=torch.float64),
        torch.float64,
        [0.5, 0.5],
    ),
    "max of ints": (lambda: torch.tensor([1, 4]).max(), torch.int64, 4),
    "half": (lambda: torch.ones(5000, dtype=torch.float16).sum(), torch.float16, 5000),
    "half by columns": (  # of which 2048 and 1 is 2048
        lambda: torch.ones(5000, 2, dtype=torch.float16).sum(0),
        torch.float16,
        [5000, 5000],
    ),
}


@pytest.mark.parametrize("name", DTYPES)
def test_dtypes(name):
    """Integers sum to int64, truth values stay, places are int64; none requires gradients."""
    program, dtype, value = DTYPES[name]
    y = program()
    assert y.dtype == dtype
    assert not y.requires_grad
    check(y, value, rtol=1e-3)


def test_a_dtype_is_a_conversion_with_a_gradient():
    """``sum(dtype=)`` of float32 in float64: the gradient comes back as float32."""
    x = leaf([1.0, 2.0], torch.float32)
    x.sum(dtype=torch.float64).backward()
    assert x.grad.dtype == torch.float32
    check(x.grad, [1, 1])


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


def test_named_results():
    """``max(dim)`` gives a named tuple; its indices are constants, and no operand of the node."""
    x = leaf(SIX)
    r = x.max(1)
    assert repr(r).startswith("torch.return_types.max(\nvalues=tensor([3., 2.]")
    values, indices = r
    assert r.values is values
    assert r.indices is indices
    assert indices.tolist() == [1, 0]
    assert (indices.dtype, indices.requires_grad) == (torch.int64, False)
    assert len(values.grad_fn.next_functions) == 1
    assert values.output_nr == 0
    assert torch.aminmax(x).max.item() == 3


def test_what_saves_nothing_may_run_twice():
    """Rule 13: sum and mean save nothing; prod does."""
    for f in (lambda x: x.sum(), lambda x: x.mean(1).sum(), lambda x: x.sum((0, 1))):
        x = leaf(A)
        y = f(x)
        y.backward()
        y.backward()
    y = leaf(A).prod()
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


SAVED = {
    "softmax": (lambda x: x.softmax(0), False),
    "log_softmax": (lambda x: x.log_softmax(1), False),
    "prod": (lambda x: x.prod(), True),
    "max": (lambda x: x.max(), True),
    "amax": (lambda x: x.amax(0, keepdim=True), True),
    "logsumexp": (lambda x: x.logsumexp(0), True),
    "std": (lambda x: x.std(0), True),
    "norm": (lambda x: x.norm(), True),
}


@pytest.mark.parametrize("name", SAVED)
def test_saved_results_are_watched(name):
    """Rule 34: these save their result, softmax no operand."""
    f, operand_too = SAVED[name]
    y = f(leaf(A))
    z = y.sum()
    y.detach().add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()
    h = leaf(A) * 1
    z = f(h).sum()
    h.detach().add_(1)
    if operand_too:
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            z.backward()
    else:
        z.backward()


def test_var_saves_its_operand_alone():
    """Rule 34: the result of var may be changed, its operand may not."""
    y = leaf(A).var()
    y.detach().add_(1)
    y.backward()
    h = leaf(A) * 1
    y = h.var()
    h.detach().add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


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
