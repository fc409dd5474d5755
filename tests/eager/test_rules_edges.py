"""Rules 49-56: kinks, bounds, ties, edge values."""

import warnings

import numpy as np
import pytest

from tests.eager.chosen import check, leaf, ours, torch
from tests.support.cases import all_cases
from tests.support.refusals import refused
from tests.support.tensor_checks import check_all, check_backward, check_derivatives

F = torch.nn.functional
inf, nan = float("inf"), float("nan")


def grad(f, *data, dtype=None):
    """The gradients of the sum of ``f`` at leaves of the data."""
    xs = [leaf(d, dtype) for d in data]
    gs = torch.autograd.grad(f(*xs).sum(), xs, allow_unused=True)
    return gs[0] if len(gs) == 1 else gs


# Rule 49 ------------------------------------------------------------------------------------------

KINKS = {
    "relu": (lambda x: x.relu(), [-1.0, 0.0, 1.0], [0.0, 0.0, 1.0]),
    "F.relu": (lambda x: F.relu(x), [0.0, -0.0], [0.0, 0.0]),
    "abs": (lambda x: x.abs(), [-1.0, 0.0, 1.0], [-1.0, 0.0, 1.0]),
    "sign": (lambda x: x.sign(), [-1.0, 0.0, 1.0], [0.0, 0.0, 0.0]),
    "relu6": (lambda x: F.relu6(x), [-1.0, 0.0, 3.0, 6.0, 7.0], [0.0, 0.0, 1.0, 0.0, 0.0]),
    "hardtanh": (lambda x: F.hardtanh(x), [-2.0, -1.0, 0.0, 1.0, 2.0], [0.0, 0.0, 1.0, 0.0, 0.0]),
    "2-norm": (lambda x: x.norm(), [0.0, 0.0], [0.0, 0.0]),
    "1-norm": (lambda x: x.norm(p=1), [0.0, -3.0, 2.0], [0.0, -1.0, 1.0]),
    "norm(dim)": (lambda x: x.norm(dim=1), [[0.0, 0.0], [3.0, 4.0]], [[0.0, 0.0], [0.6, 0.8]]),
    "std": (lambda x: x.std(), [2.0, 2.0, 2.0], [0.0, 0.0, 0.0]),
    "l1_loss": (lambda x: F.l1_loss(x, torch.zeros(3).double()), [0.0, -1.0, 1.0],
                [0.0, -1 / 3, 1 / 3]),
    "leaky_relu": (lambda x: F.leaky_relu(x, 0.1), [-1.0, 0.0, 1.0], [0.1, 0.1, 1.0]),
    "elu": (lambda x: F.elu(x), [-1.0, 0.0, 1.0], [np.exp(-1.0), 1.0, 1.0]),
}  # fmt: skip


@pytest.mark.parametrize("name", KINKS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gradient_at_kinks(name, dtype):
    """Rule 49: 0 at the kink, except leaky_relu (negative slope) and elu (1)."""
    f, at, expected = KINKS[name]
    if name == "l1_loss" and dtype == torch.float32:
        return
    g = grad(f, at, dtype=dtype)
    assert g.dtype == dtype
    check(g, expected)


@pytest.mark.parametrize(
    ("f", "first", "second"),
    [
        (torch.relu, [0.0, 0.0, 2.0], [0.0, 0.0, 2.0]),
        (torch.abs, [2.0, 0.0, 2.0], [-2.0, 0.0, 2.0]),
    ],
)
def test_second_derivative_at_kinks(f, first, second):
    """Rule 49: kinks have second derivative 0; here of the function times x."""
    x = leaf([-1.0, 0.0, 1.0])
    check_derivatives(f(x) * x, x, first, second)


# Slopes, and values, rule by rule ----------------------------------------------------------------

CONDITION = torch.tensor([True, False, True])
ZERO = torch.zeros(1).double()

# Functions, their operands, and the gradients by these; None is not looked at.
SLOPES = {
    "Rule 50: clamp is inclusive": (
        lambda x: x.clamp(-1, 1),
        [[-2.0, -1.0, 0.0, 1.0, 2.0, nan]],
        [[0.0, 1.0, 1.0, 1.0, 0.0, 0.0]],
    ),
    "Rule 50: below": (lambda x: x.clamp(min=0), [[-1.0, 0.0, 1.0]], [[0.0, 1.0, 1.0]]),
    "Rule 50: above": (lambda x: x.clamp(max=0), [[-1.0, 0.0, 1.0]], [[1.0, 1.0, 0.0]]),
    "Rule 50: clamp_min": (lambda x: x.clamp_min(0), [[-1.0, 0.0, 1.0]], [[0.0, 1.0, 1.0]]),
    "Rule 50: clip": (lambda x: torch.clip(x, -1, 1), [[-1.0, 2.0]], [[1.0, 0.0]]),
    "Rule 50: crossed bounds": (lambda x: x.clamp(2, 1), [[-5.0, 0.0, 1.0, 2.0, 5.0]], [[0.0] * 5]),
    "Rule 50: bounds of one element have it strictly beyond": (
        torch.clamp,
        [[-2.0, -1.0, 0.0, 1.0, 2.0], -1.0, 1.0],
        [[0.0, 1.0, 1.0, 1.0, 0.0], 1.0, 1.0],
    ),
    "Rule 50: bounds for each element": (
        torch.clamp,
        [[0.0, 0.0, 0.0], [1.0, 0.0, -2.0], [2.0, 0.0, -1.0]],
        [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]],
    ),
    "Rule 51: maximum at a tie": (torch.maximum, [[2.0], [2.0]], [[0.5], [0.5]]),
    "Rule 51: minimum at a tie": (torch.minimum, [[2.0], [2.0]], [[0.5], [0.5]]),
    "Rule 51: max of two at a tie": (torch.max, [[2.0], [2.0]], [[0.5], [0.5]]),
    "Rule 51: min of two at a tie": (torch.min, [[2.0], [2.0]], [[0.5], [0.5]]),
    "Rule 51: minimum, the method": (lambda a, b: a.minimum(b), [[2.0], [2.0]], [[0.5], [0.5]]),
    "Rule 51: maximum elsewhere": (
        torch.maximum,
        [[1.0, 3.0], [2.0, 1.0]],
        [[0.0, 1.0], [1.0, 0.0]],
    ),
    "Rule 51: maximum beside nan": (torch.maximum, [[nan, 1, nan], [1, nan, nan]], [[1.0] * 3] * 2),
    "Rule 51: minimum beside nan": (torch.minimum, [[nan, 1, nan], [1, nan, nan]], [[1.0] * 3] * 2),
    "Rule 51: fmax prefers the first": (torch.fmax, [[2.0], [2.0]], [[1.0], [0.0]]),
    "Rule 51: fmin prefers the first": (torch.fmin, [[2.0], [2.0]], [[1.0], [0.0]]),
    "Rule 51: max() finds nan": (torch.max, [[1.0, nan, 2.0]], [[0.0, 1.0, 0.0]]),
    "Rule 51: max(dim) finds nan": (
        lambda x: x.max(dim=0).values,
        [[1.0, nan, 2.0]],
        [[0.0, 1.0, 0.0]],
    ),
    "Rule 52: x**0": (lambda x: x**0, [[0.0, 2.0, -1.0]], [[0.0, 0.0, 0.0]]),
    "Rule 52: x**0.0": (lambda x: x**0.0, [[0.0]], [[0.0]]),
    "Rule 52: 0**0 by the base": (torch.pow, [[0.0], [0.0]], [[0.0], None]),
    "Rule 52: 0**y by y": (torch.pow, [[0.0] * 3, [0.0, 1.0, 2.5]], [None, [0.0] * 3]),
    "Rule 52: the number 0**y": (lambda y: 0**y, [[0.0, 2.0]], [[0.0, 0.0]]),
    "Rule 52: a constant 0**y": (lambda y: ZERO**y, [[0.0, 2.0]], [[0.0, 0.0]]),
    "Rule 52: negative bases": (torch.pow, [[-2.0], [3.0]], [[12.0], [nan]]),
    "Rule 52: sqrt": (torch.sqrt, [[0.0, 4.0]], [[inf, 0.25]]),
    "Rule 52: x**0.5": (lambda x: x**0.5, [[0.0, 4.0]], [[inf, 0.25]]),
    "Rule 52: pow(0.5)": (lambda x: x.pow(0.5), [[0.0]], [[inf]]),
    "Rule 52: root of a product": (lambda x: torch.sqrt(x * x), [[0.0]], [[nan]]),
    "Rule 52: root of a square": (lambda x: (x**2) ** 0.5, [[0.0]], [[nan]]),
    "Rule 52: log": (torch.log, [[0.0, -1.0, -2.0]], [[inf, -1.0, -0.5]]),
    "Rule 52: x**1": (lambda x: x**1, [[0.0]], [[1.0]]),
    "Rule 52: x**2": (lambda x: x**2, [[0.0]], [[0.0]]),
    "Rule 52: x**-1": (lambda x: x**-1, [[0.0]], [[-inf]]),
    "Rule 52: x**3": (lambda x: x**3, [[-2.0]], [[12.0]]),
    "Rule 53: where": (
        lambda a, b: torch.where(CONDITION, a, b),
        [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]],
        [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]],
    ),
    "Rule 53: where, the method": (
        lambda a: a.where(CONDITION, torch.zeros(3).double()),
        [[1.0, 2.0, 3.0]],
        [[1.0, 0.0, 1.0]],
    ),
    "Rule 53: where within where": (
        lambda x: torch.where(x > 0, torch.where(x > 0, x, torch.ones_like(x)).sqrt(), 0.0),
        [[0.0, 4.0]],
        [[0.0, 0.25]],
    ),
    "Rule 53: a root times 0": (lambda x: x.sqrt() * 0, [[0.0]], [[nan]]),
    "Rule 53: a logarithm times 0.0": (lambda x: x.log() * 0.0, [[0.0]], [[nan]]),
    "Rule 53: a logarithm times a constant": (lambda x: x.log() * ZERO, [[0.0]], [[nan]]),
    "Rule 53: a constant 0 by x": (lambda x: ZERO / x, [[0.0]], [[nan]]),
    "Rule 53: atan2": (torch.atan2, [[0.0, 1.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, -1.0]]),
    "Rule 53: hypot": (torch.hypot, [[0.0], [0.0]], [[nan], [nan]]),
    "Rule 53: xlogy": (torch.xlogy, [[0.0, 2.0], [2.0, 4.0]], [None, [0.0, 0.5]]),
    "Rule 53: no zero": (torch.prod, [[2.0, 3.0, 4.0]], [[12.0, 8.0, 6.0]]),
    "Rule 53: one zero": (torch.prod, [[2.0, 0.0, 4.0]], [[0.0, 8.0, 0.0]]),
    "Rule 53: two zeros": (torch.prod, [[0.0, 0.0, 4.0]], [[0.0, 0.0, 0.0]]),
    "Rule 53: zeros in rows": (
        lambda x: x.prod(dim=1),
        [[[2.0, 0.0, 4.0], [1.0, 2.0, 3.0]]],
        [[[0.0, 8.0, 0.0], [6.0, 3.0, 2.0]]],
    ),
    "Rule 53: cumprod, no zero": (lambda x: x.cumprod(0), [[2.0, 3.0, 4.0]], [[16.0, 10.0, 6.0]]),
    "Rule 53: cumprod, one zero": (lambda x: x.cumprod(0), [[2.0, 0.0, 4.0]], [[1.0, 10.0, 0.0]]),
    "Rule 53: cumprod, two zeros": (lambda x: x.cumprod(0), [[0.0, 0.0, 4.0]], [[1.0, 0.0, 0.0]]),
    "Rule 54: sigmoid far out": (torch.sigmoid, [[1000.0, -1000.0]], [[0.0, 0.0]]),
    "Rule 54: tanh far out": (torch.tanh, [[1000.0, -1000.0]], [[0.0, 0.0]]),
    "Rule 56: var of one element": (lambda x: x.var(unbiased=False), [[3.0]], [[0.0]]),
    "Rule 49: var of equal elements": (torch.var, [[2.0, 2.0]], [[0.0, 0.0]]),
    "Rule 49: var": (torch.var, [[1.0, 3.0]], [[-2.0, 2.0]]),
}


@all_cases("name", SLOPES, least=59)
def test_slopes_at_edges(name):
    """Rules 49-56: kinks, bounds, ties and zeros, as each row says."""
    f, at, expected = SLOPES[name]
    xs = [leaf(x) for x in at]
    found = torch.autograd.grad(f(*xs).sum(), xs, allow_unused=True)
    for g, slope in zip(found, expected, strict=True):
        if slope is not None:
            check(g, slope)


# Values: the numbers that they are made of, and what comes out.
VALUES = {
    "Rule 50: clamp of nan": (lambda t: t.clamp(0, 1), [nan], [nan]),
    "Rule 50: clamp with crossed bounds": (lambda t: t.clamp(2, 1), [-5.0, 1.0, 5.0], [1.0] * 3),
    "Rule 51: maximum beside nan": (
        lambda t: torch.maximum(t, t.flip(0)),
        [nan, 1.0, 2.0],
        [nan, 1.0, nan],
    ),
    "Rule 51: fmax beside nan": (lambda t: torch.fmax(t, t.flip(0)), [nan, 1.0], [1.0, 1.0]),
    "Rule 51: fmin beside nan": (lambda t: torch.fmin(t, t.flip(0)), [nan, 1.0], [1.0, 1.0]),
    "Rule 51: max() of nan": (torch.max, [1.0, nan, 2.0], nan),
    "Rule 51: max(dim) of nan": (lambda t: t.max(dim=0).values, [1.0, nan, 2.0], nan),
    "Rule 51: places of nan": (
        lambda t: torch.stack([t.max(dim=0).indices, t.argmax()]),
        [1.0, nan, 2.0],
        [1, 1],
    ),
    "Rule 51: the lower median": (torch.median, [4.0, 1.0, 3.0, 2.0], 2.0),
    "Rule 51: median of nan": (torch.median, [4.0, nan, 3.0], nan),
    "Rule 51: medians": (
        lambda t: t.median(dim=1).values,
        [[4.0, 1.0, 3.0], [1.0, 1.0, 5.0]],
        [3.0, 1.0],
    ),
    "Rule 51: argmax of ties": (torch.argmax, [[1.0, 3.0, 3.0], [2.0, 2.0, 1.0]], 1),
    "Rule 51: argmax(dim) of ties": (
        lambda t: t.argmax(1),
        [[1.0, 3.0, 3.0], [2.0, 2.0, 1.0]],
        [1, 0],
    ),
    "Rule 51: argmin keeps the axis": (
        lambda t: t.argmin(dim=1, keepdim=True),
        [[1.0, 3.0, 3.0], [2.0, 2.0, 1.0]],
        [[0], [2]],
    ),
    "Rule 51: stable sort": (
        lambda t: t.sort(stable=True).indices,
        [2.0, 1.0, 2.0, 1.0],
        [1, 3, 0, 2],
    ),
    "Rule 51: stable sort, descending": (
        lambda t: torch.sort(t, stable=True, descending=True).indices,
        [2.0, 1.0, 2.0, 1.0],
        [0, 2, 1, 3],
    ),
    "Rule 52: log": (torch.log, [0.0, -1.0], [-inf, nan]),
    "Rule 53: xlogy": (lambda t: torch.xlogy(torch.zeros(2), t), [0.0, 2.0], [0.0, 0.0]),
    "Rule 54: logsumexp of nothing but -inf": (lambda t: t.logsumexp(0), [-inf, -inf], -inf),
    "Rule 54: logsumexp beside -inf": (lambda t: t.logsumexp(0), [-inf, 1.0], 1.0),
    "Rule 55: round": (torch.round, [0.5, 1.5, 2.5, -0.5, -1.5], [0.0, 2.0, 2.0, -0.0, -2.0]),
    "Rule 55: floats // 2": (lambda t: t // 2, [7.0, -7.0], [3.0, -4.0]),
    "Rule 55: floats / 0": (lambda t: t / 0, [1.0, -1.0, 0.0], [inf, -inf, nan]),
    "Rule 55: integers / 0": (lambda t: t / 0, [1, 0], [inf, nan]),
    "Rule 55: floats // 0": (lambda t: t // 0, [1.0, -1.0], [inf, -inf]),
    "Rule 55: floats % 0": (lambda t: t % 0, [1.0], [nan]),
    "Rule 56: sum of nothing": (torch.sum, [], 0.0),
    "Rule 56: product of nothing": (torch.prod, [], 1.0),
    "Rule 56: mean of nothing": (torch.mean, [], nan),
    "Rule 56: sums of nothing": (lambda t: t.reshape(0, 2).sum(0), [], [0.0, 0.0]),
    "Rule 56: products of nothing": (lambda t: t.reshape(0, 2).prod(0), [], [1.0, 1.0]),
    "Rule 56: means of nothing": (lambda t: t.reshape(0, 2).mean(0), [], [nan, nan]),
    "Rule 56: no sums": (lambda t: t.reshape(0, 2).sum(1), [], []),
    "Rule 56: no maxima": (lambda t: t.reshape(2, 0, 3).max(2).values, [], [[], []]),
    "Rule 56: std of one element": (lambda t: t.std(unbiased=False), [3.0], 0.0),
    "Rule 56: an empty axis of a product": (
        lambda t: t.reshape(2, 0) @ t.reshape(0, 3),
        [],
        np.zeros((2, 3)),
    ),
    "Rule 56: nothing beside something": (lambda t: torch.cat([t, torch.ones(2)]), [], [1.0, 1.0]),
    "Rule 56: cumsum of nothing": (lambda t: t.reshape(0, 2).cumsum(0), [], np.zeros((0, 2))),
    "Rule 56: softmax of nothing": (lambda t: t.reshape(2, 0).softmax(0), [], np.zeros((2, 0))),
}


@pytest.mark.parametrize("name", VALUES)
def test_values_at_edges(name):
    """Rules 50-56: what comes out of nan, zeros, ties and nothing, as each row says."""
    f, numbers, expected = VALUES[name]
    check(f(torch.tensor(numbers)), expected)


# Rule 51 ------------------------------------------------------------------------------------------

SHARED = {
    "max()": (lambda x: x.max(), [1.0, 3.0, 3.0, 2.0], [0.0, 0.5, 0.5, 0.0]),
    "min()": (lambda x: x.min(), [1.0, 3.0, 1.0, 1.0], [1 / 3, 0.0, 1 / 3, 1 / 3]),
    "amax": (lambda x: x.amax(), [1.0, 3.0, 3.0], [0.0, 0.5, 0.5]),
    "amax(dim)": (lambda x: x.amax(1), [[1.0, 1.0], [2.0, 3.0]], [[0.5, 0.5], [0.0, 1.0]]),
    "amin(dims)": (lambda x: x.amin((0, 1)), [[1.0, 1.0], [2.0, 3.0]], [[0.5, 0.5], [0, 0]]),
    "median()": (lambda x: x.median(), [1.0, 2.0, 2.0, 2.0, 5.0], [0.0, 1 / 3, 1 / 3, 1 / 3, 0.0]),
    "norm(inf)": (lambda x: x.norm(p=inf), [3.0, -3.0, 1.0], [0.5, -0.5, 0.0]),
    "norm(-inf)": (lambda x: x.norm(p=-inf), [3.0, -1.0, 1.0], [0.0, -0.5, 0.5]),
}  # fmt: skip


@pytest.mark.parametrize("name", SHARED)
def test_ties_share(name):
    """Rule 51: reductions of the whole share equally among ties."""
    f, at, expected = SHARED[name]
    check(grad(f, at), expected)


@pytest.mark.parametrize("p", [-0.5, -1, -2, -3])
def test_norms_of_negative_order_are_0_beside_a_zero(p):
    """PyTorch's, with a slope of 0 everywhere, as any norm that is 0; infinite elements add 0."""
    for at in ([0.0, 2.0, 3.0], [-0.0, 0.0, 1.0]):
        check(leaf(at).norm(p), 0.0)
        check(grad(lambda x: x.norm(p), at), [0.0, 0.0, 0.0])
        check(torch.compile(lambda x: x.norm(p))(torch.tensor(at)), 0.0)
    check(torch.dist(leaf([1.0, 2.0]), leaf([1.0, 5.0]), p), 0.0)
    check(leaf([2.0, inf]).norm(p), 2.0)
    check(leaf([inf, -inf]).norm(p), inf)


FOLLOW = {
    "max(dim)": lambda x: x.max(dim=0),
    "max(dim) torch": lambda x: torch.max(x, 0),
    "min(dim)": lambda x: x.min(0),
    "median(dim)": lambda x: x.median(dim=0),
    "topk": lambda x: x.topk(2),
    "sort": lambda x: x.sort(descending=True),
    "kthvalue": lambda x: torch.kthvalue(x, 2),
    "cummax": lambda x: torch.cummax(x, 0),
}


@pytest.mark.parametrize("name", FOLLOW)
def test_selections_follow_their_indices(name):
    """Rule 51: the gradient goes where the returned index points."""
    x = leaf([2.0, 5.0, 5.0, 1.0, 1.0, 2.0])
    values, indices = FOLLOW[name](x)
    assert indices.dtype == torch.int64
    weights = torch.arange(1.0, values.numel() + 1).double().reshape(values.shape)
    (values * weights).sum().backward()
    expected = np.zeros(6)
    np.add.at(expected, indices.numpy().reshape(-1), weights.numpy().reshape(-1))
    check(x.grad, expected)
    check(values, x.detach().numpy()[indices.numpy()])


def test_named_results():
    """Rule 51: values and indices by name."""
    result = torch.tensor([[1.0, 9.0], [4.0, 2.0]]).max(dim=1)
    check(result.values, [9.0, 4.0])
    assert result.indices.tolist() == [1, 0]
    result = torch.tensor([3.0, 1.0, 2.0]).sort()
    check(result.values, [1.0, 2.0, 3.0])
    assert result.indices.tolist() == [1, 2, 0]


# Rule 53 ------------------------------------------------------------------------------------------

MASKED = {
    "where sqrt": (lambda x: torch.where(x > 0, x.sqrt(), 0.0), [0.0, 4.0], [0.0, 0.25]),
    "where log": (lambda x: torch.where(x > 0, x.log(), x), [0.0, 4.0], [1.0, 0.25]),
    "where quotient": (lambda x: torch.where(x == 0, 1.0, x.sin() / x), [0.0], [0.0]),
    "where product": (lambda x: torch.where(x > 0, x * x.log(), 0.0), [0.0, 1.0], [0.0, 1.0]),
    "where exp": (lambda x: torch.where(x < 10, (x * x).exp(), x), [1e3, 0.0], [1.0, 0.0]),
    "clamp": (lambda x: x.sqrt().clamp(min=1.0), [0.0, 4.0], [0.0, 0.25]),
    "relu": (lambda x: (x.log()).relu(), [0.0, 2.0], [0.0, 0.5]),
    "maximum": (lambda x: torch.maximum(x.sqrt(), torch.ones(2).double()), [0.0, 4.0], [0.0, 0.25]),
    "minimum": (lambda x: torch.minimum(1 / x, torch.ones(2).double()), [0.0, 2.0], [0.0, -0.25]),
    "masked_fill": (lambda x: x.sqrt().masked_fill(x == 0, 0.0), [0.0, 4.0], [0.0, 0.25]),
    "indexing": (lambda x: x.sqrt()[1:], [0.0, 4.0], [0.0, 0.25]),
    "indexing by a mask": (lambda x: x.sqrt()[x > 0], [0.0, 4.0], [0.0, 0.25]),
    "through a chain": (lambda x: torch.where(x > 0, (x.sqrt() * 3).exp(), 0.0), [0.0], [0.0]),
}  # fmt: skip


@ours
@pytest.mark.parametrize("name", MASKED)
def test_zero_cotangents_stay_zero_below_selections(name):
    """Rule 53: the departure: below a selection an exact 0 stays 0 through pointwise steps."""
    f, at, expected = MASKED[name]
    check(grad(f, at), expected)


@ours
@pytest.mark.parametrize("name", ["where sqrt", "where log", "where product", "where quotient"])
def test_zero_cotangents_stay_zero_at_every_order(name):
    """Rule 53: derivatives of higher order are finite as well."""
    f, at, _ = MASKED[name]
    x = leaf(at)
    y = f(x).sum()
    for _ in range(3):
        (g,) = torch.autograd.grad(y, x, create_graph=True)
        assert not g.isnan().any()
        if not g.requires_grad:
            break
        y = g.sum()


def test_second_derivative_of_products_with_zeros():
    """Rule 53: also once more."""
    x = leaf([0.0, 0.0, 4.0])
    (g,) = torch.autograd.grad(x.prod(), x, create_graph=True)
    check_all(torch.autograd.grad(g[0], x), [0.0, 4.0, 0.0])


# Rule 54 ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shift", [0.0, 1000.0, -1000.0])
def test_softmax_is_stable(shift):
    """Rule 54: softmax, log_softmax and logsumexp at ±1000."""
    base = np.array([1.0, 2.0, 3.0])
    p = np.exp(base) / np.exp(base).sum()
    x = leaf((base + shift).tolist())
    check(x.softmax(0), p)
    check(x.log_softmax(0), np.log(p))
    check(x.logsumexp(0), np.log(np.exp(base).sum()) + shift)
    check(torch.autograd.grad(x.logsumexp(0), x)[0], p)
    check_all(torch.autograd.grad(x.softmax(0)[0], x), p[0] * (np.array([1.0, 0, 0]) - p))


STABLE = {
    "logsumexp": (lambda x: x.logsumexp(0), [-1000.0, 1000.0], 1000.0, [0.0, 1.0]),
    "binary_cross_entropy_with_logits": (
        lambda x: F.binary_cross_entropy_with_logits(
            x, torch.tensor([1.0, 0.0, 0.0, 1.0]).double(), reduction="none"
        ),
        [1000.0, -1000.0, 1000.0, -1000.0],
        [0.0, 0.0, 1000.0, 1000.0],
        [0.0, 0.0, 1.0, -1.0],
    ),
    "logsigmoid": (
        F.logsigmoid,
        [-1000.0, 0.0, 1000.0],
        [-1000.0, -np.log(2.0), 0.0],
        [1.0, 0.5, 0.0],
    ),
    "softplus": (
        F.softplus,
        [-1000.0, 0.0, 20.0, 20.5, 1000.0],
        [0.0, np.log(2.0), 20.0 + np.log1p(np.exp(-20.0)), 20.5, 1000.0],
        [0.0, 0.5, 1 / (1 + np.exp(-20.0)), 1.0, 1.0],
    ),
}


@pytest.mark.parametrize("name", STABLE)
def test_what_is_stable_far_out(name):
    """Rule 54: value and gradient at ±1000; softplus is linear above its threshold."""
    f, at, value, slope = STABLE[name]
    check(f(leaf(at)), value, rtol=1e-12, atol=0)
    check(grad(f, at), slope, rtol=1e-12, atol=0)


def test_tails_are_accurate():
    """Rule 54: erfc, log1p, expm1 and sigmoid far out, to full precision."""
    check(torch.erfc(leaf([10.0])), [2.088487583762545e-45], rtol=1e-12)
    check(torch.log1p(leaf([1e-20])), [1e-20], rtol=1e-15)
    check(torch.expm1(leaf([1e-20])), [1e-20], rtol=1e-15)
    check(torch.sigmoid(leaf([-700.0])), [np.exp(-700.0)], rtol=1e-12, atol=0)
    check(grad(torch.sigmoid, [-700.0]), [np.exp(-700.0)], rtol=1e-12, atol=0)
    check(grad(torch.expm1, [1e-20]), [1.0], rtol=1e-15)
    check(grad(torch.log1p, [1e-20]), [1.0], rtol=1e-15)
    check(grad(torch.erfc, [10.0]), [-2 / np.sqrt(np.pi) * np.exp(-100.0)], rtol=1e-12, atol=0)


# Rule 55 ------------------------------------------------------------------------------------------

A, B = [7.0, -7.0, 7.0, -7.0], [3.0, 3.0, -3.0, -3.0]


@pytest.mark.parametrize(
    ("f", "quotient"),
    [(torch.remainder, np.floor), (torch.fmod, np.trunc), (lambda a, b: a % b, np.floor)],
)
def test_remainders(f, quotient):
    """Rule 55: the derivative by the divisor is minus the rounded quotient."""
    a, b = np.array(A), np.array(B)
    check(f(leaf(A), leaf(B)), a - b * quotient(a / b))
    check_all(grad(f, A, B), np.ones(4), -quotient(a / b))


@pytest.mark.parametrize("mode", ["floor", "trunc"])
def test_rounded_division(mode):
    """Rule 55: gradient 0."""
    rounded = {"floor": np.floor, "trunc": np.trunc}[mode]
    y = torch.div(leaf(A), leaf(B), rounding_mode=mode)
    check(y, rounded(np.array(A) / np.array(B)))
    assert y.requires_grad
    check_all(
        grad(lambda a, b: torch.div(a, b, rounding_mode=mode), A, B), np.zeros(4), np.zeros(4)
    )


def test_round_to_decimals():
    """Rule 55: half to even, as in NumPy."""
    check(torch.round(torch.tensor([1.25, 1.35]).double(), decimals=1), [1.2, 1.4])


def test_integer_division():
    """Rule 55: ``//`` floors, ``%`` has the divisor's sign."""
    a, b = torch.tensor([7, -7, 7, -7]), torch.tensor([3, 3, -3, -3])
    assert (a // b).tolist() == [2, -3, -3, 2]
    assert (a % b).tolist() == [1, 2, -2, -1]
    assert torch.fmod(a, b).tolist() == [1, -1, 1, -1]
    assert (a // b).dtype == torch.int64
    assert (-7 // torch.tensor(2)).item() == -4


# Rule 56 ------------------------------------------------------------------------------------------


def test_truth_of_nothing():
    """Rule 56: any is False, all is True."""
    e = torch.zeros(0)
    assert (e.any().item(), e.all().item()) == (False, True)


def test_products_with_nothing_have_empty_gradients():
    """Rule 56: through an axis without elements."""
    x = torch.ones(2, 0, requires_grad=True)
    check_backward((x @ torch.ones(0, 3)).sum(), (x, np.zeros((2, 0))))


def test_gradients_of_nothing():
    """Rule 56: empty leaves have empty gradients."""
    x = torch.zeros(0, 3, requires_grad=True)
    check_backward(x.exp().sum() + x.prod(), (x, np.zeros((0, 3))))


@pytest.mark.parametrize("dim", [2, -3, 7])
@pytest.mark.parametrize(
    "name", ["sum", "mean", "max", "cumsum", "softmax", "unsqueeze", "unbind", "argmax", "std"]
)
def test_bad_dimensions(name, dim):
    """Rule 56: IndexError 'out of range'."""
    x = torch.ones(2, 2)
    if name == "unsqueeze":
        dim += 1 if dim > 0 else -1
    with pytest.raises(IndexError, match="out of range"):
        getattr(x, name)(dim)


MATRIX, NOTHING, NUMBER = torch.ones(2, 2), torch.zeros(0), torch.tensor(3.0)

# What is refused: the error, what it says, and the call.
REFUSED = {
    "Rule 50: clamp without bounds": (RuntimeError, "At least one", lambda: MATRIX.clamp()),
    "Rule 55: integers // 0": (
        RuntimeError,
        "ZeroDivisionError",
        lambda: torch.tensor([1]) // 0,
    ),
    "Rule 55: integers % 0": (RuntimeError, "ZeroDivisionError", lambda: torch.tensor([1]) % 0),
    "Rule 56: torch.max of nothing": (RuntimeError, "Expected reduction dim to be specified",
                                      lambda: torch.max(NOTHING)),
    "Rule 56: torch.min of nothing": (RuntimeError, "Expected reduction dim to be specified",
                                      lambda: torch.min(NOTHING)),
    "Rule 56: torch.amax of nothing": (RuntimeError, "Expected reduction dim to be specified",
                                       lambda: torch.amax(NOTHING)),
    "Rule 56: max of nothing": (RuntimeError, "Expected reduction dim to be specified",
                                lambda: NOTHING.max()),
    "Rule 56: argmax of nothing": (IndexError, "Expected reduction dim", lambda: NOTHING.argmax()),
    "Rule 56: an axis of nothing": (IndexError, "non-zero size",
                                    lambda: torch.zeros(0, 2).max(dim=0)),
    "Rule 56: transpose": (IndexError, None, lambda: MATRIX.transpose(0, 2)),
    "Rule 56: three indices": (IndexError, None, lambda: MATRIX[:, :, 0]),
    "Rule 56: cat": (IndexError, None, lambda: torch.cat([MATRIX, MATRIX], 2)),
    "Rule 56: stack": (IndexError, None, lambda: torch.stack([MATRIX, MATRIX], 3)),
    "Rule 56: size": (IndexError, None, lambda: MATRIX.size(2)),
    "Rule 56: flip": (IndexError, None, lambda: MATRIX.flip(2)),
    "Rule 56: select an axis": (IndexError, None, lambda: MATRIX.select(2, 0)),
    "Rule 56: index_select an axis": (IndexError, None,
                                      lambda: MATRIX.index_select(2, torch.tensor([0]))),
    "Rule 56: squeeze": (IndexError, None, lambda: MATRIX.squeeze(2)),
    "Rule 56: several axes": (IndexError, None, lambda: MATRIX.sum((0, 2))),
    "Rule 56: an index": (IndexError, "out of", lambda: MATRIX[2]),
    "Rule 56: a negative index": (IndexError, "out of", lambda: MATRIX[0, -3]),
    "Rule 56: select": (IndexError, "out of", lambda: MATRIX.select(0, 5)),
    "Rule 56: a tensor": (IndexError, "out of", lambda: MATRIX[torch.tensor([5])]),
    "Rule 56: a negative tensor": (IndexError, "out of", lambda: MATRIX[torch.tensor([-3])]),
    "Rule 56: a list": (IndexError, "out of", lambda: MATRIX[[0, 2]]),
    "Rule 56: take": (IndexError, "out of", lambda: torch.take(MATRIX, torch.tensor([9]))),
    "Rule 56: index_select": ((IndexError, RuntimeError), "out of",  # PyTorch has both
                              lambda: MATRIX.index_select(0, torch.tensor([2]))),
    "Rule 56: gather": (RuntimeError, "out of bounds",
                        lambda: MATRIX.gather(0, torch.tensor([[2, 0]]))),
    "Rule 56: a mask": (IndexError, "shape of the mask",
                        lambda: MATRIX[torch.tensor([True, False, True])]),
    "Rule 56: sum over one axis twice": (RuntimeError, "multiple times|repeated",
                                         lambda: MATRIX.sum((0, 0))),
    "Rule 56: permute one axis twice": (RuntimeError, "multiple times|repeated|duplicate",
                                        lambda: MATRIX.permute(0, 0)),
    "unfold of a number, too large": (RuntimeError, "size", lambda: NUMBER.unfold(0, 2, 1)),
    "unfold of a number, negative": (RuntimeError, "size", lambda: NUMBER.unfold(0, -1, 1)),
    "prelu of weights with two axes": (RuntimeError, "scalar or 1D",
                                       lambda: F.prelu(MATRIX, torch.tensor([[0.25]]))),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_at_edges(name):
    """Rules 50-56: what is not there is an error that says so."""
    refused(REFUSED[name])


@pytest.mark.parametrize("dtype", ["int64", "int32", "bool", "uint8"])
def test_mean_of_integers(dtype):
    """Rule 56: refused, 'dtype'."""
    with pytest.raises(RuntimeError, match="dtype"):
        torch.ones(2).to(getattr(torch, dtype)).mean()
    check(torch.ones(2).to(getattr(torch, dtype)).mean(dtype=torch.float32), 1.0)


# More of rules 49-56 ------------------------------------------------------------------------------


@ours
@pytest.mark.parametrize("f", [F.elu, F.celu, F.selu])
def test_second_derivative_of_exponential_units(f):
    """Rule 49: at the kink that of the exponential below it, whose side the first one takes too."""
    x = leaf([-1.0, 0.0, 1.0])
    (g,) = torch.autograd.grad(f(x).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    assert h[2].item() == 0
    assert h[1].item() == g[1].item()
    assert h[1] > h[0] > 0


def test_ties_at_second_order():
    """Rule 51: shares are constants for the next derivative."""
    x = leaf([3.0, 3.0, 1.0])
    check_derivatives(x.max() ** 2, x, [3.0, 3.0, 0.0], [1.0, 1.0, 0.0])


def test_powers_of_tensors_and_numbers_agree():
    """Rule 52: ``x**2.0`` and ``x**tensor(2.0)`` have the same gradients."""
    two = torch.tensor(2.0).double()
    for at in ([0.0], [-3.0], [2.5]):
        check(grad(lambda x: x**two, at), grad(lambda x: x**2.0, at).tolist())


def test_second_derivative_of_powers_at_zero():
    """Rule 52: x² has 2, x has 0, 1 has 0."""
    for n, expected in ((0, 0.0), (1, 0.0), (2, 2.0), (3, 0.0)):
        x = leaf([0.0])
        (g,) = torch.autograd.grad(x**n * 1.0, x, torch.ones(1).double(), create_graph=True)
        if not g.requires_grad:
            assert expected == 0.0
            continue
        (h,) = torch.autograd.grad(g.sum(), x, allow_unused=True)
        assert h is None or h.item() == expected


@ours
def test_xlogy_at_zero():
    """Rule 53: where x is 0, x log y is 0 whatever y, and so is its derivative by y."""
    _, gy = grad(torch.xlogy, [0.0], [0.0])
    check(gy, [0.0])


def test_std_of_one_element():
    """Rule 56: the unbiased estimate of one element is nan."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch warns of the degrees of freedom
        check(torch.tensor([3.0]).std(), nan)
        check(torch.tensor([3.0]).var(), nan)


# Factors ----------------------------------------------------------------------------------------

FACTORS = (True, False, 2, -1, 0.5, 1.5, 2.0)
SQUARE = [[1, 2], [3, 4]]


def factored(name, x, factor):
    """An operation with a factor of its second term, and what it adds to x without one."""
    vector, many, outer = x[0], x[None], torch.outer(x[0], x[0])
    return {
        "add": lambda: (torch.add(x, x, alpha=factor), x, x),
        "rsub": lambda: (torch.rsub(x, x, alpha=factor), x, -x),
        "addmm": lambda: (torch.addmm(x, x, x, alpha=factor), x, x @ x),
        "addmv": lambda: (torch.addmv(vector, x, vector, alpha=factor), vector, x @ vector),
        "addr": lambda: (torch.addr(x, vector, vector, alpha=factor), x, outer),
        "baddbmm": lambda: (torch.baddbmm(many, many, many, alpha=factor), many, many @ many),
        "beta of addmm": lambda: (torch.addmm(x, x, x, beta=factor), x @ x, x),
        "beta of addr": lambda: (torch.addr(x, vector, vector, beta=factor), outer, x),
        "addcmul": lambda: (torch.addcmul(x, x, x, value=factor), x, x * x),
        "index_add": lambda: (torch.index_add(x, 0, torch.tensor([0, 1]), x, alpha=factor), x, x),
    }[name]()  # fmt: skip


STRICT = ("add", "rsub", "addr", "beta of addr")  # the others round factors of integers towards 0


@pytest.mark.parametrize("dtype", ["int64", "uint8", "float32"])
@pytest.mark.parametrize(
    "name",
    ["add", "rsub", "addmm", "addmv", "addr", "baddbmm", "beta of addmm", "beta of addr", "addcmul",
     "index_add"],
)  # fmt: skip
def test_factors_are_of_the_kind_of_the_elements(name, dtype):
    x = torch.tensor(SQUARE, dtype=getattr(torch, dtype))
    whole = not dtype.startswith("float")
    for factor in FACTORS:
        if name in STRICT and isinstance(factor, bool):
            with pytest.raises(
                RuntimeError, match=r"Boolean (alpha|beta) only supported for Boolean"
            ):
                factored(name, x, factor)
        elif name in STRICT and whole and isinstance(factor, float):
            with pytest.raises(RuntimeError, match="must not be a floating point number"):
                factored(name, x, factor)
        elif not (dtype == "uint8" and factor < 0):
            found, rest, scaled = factored(name, x, factor)
            factor = int(factor) if whole else float(factor)
            assert found.dtype == x.dtype
            if name == "rsub" and dtype == "uint8":
                continue
            check(found, (rest.double() + factor * scaled.double()).numpy())


def test_sums_of_truth_values_take_a_factor_as_one():
    a, b = torch.tensor([True, False, False]), torch.tensor([True, True, False])
    for factor in (True, 2, -1):
        found = torch.add(a, b, alpha=factor)
        assert found.dtype == torch.bool
        assert found.tolist() == [True, True, False]
    assert torch.add(a, b, alpha=0).tolist() == a.tolist()


# Nothing to do, and integers --------------------------------------------------------------------


def test_differences_of_order_0_take_nothing_beside():
    x, two = torch.arange(5.0), torch.ones(2)
    check(torch.diff(x, n=0, prepend=two, append=two), np.arange(5.0))
    flags = torch.tensor([True, False])
    assert torch.diff(flags, n=0, prepend=flags).tolist() == [True, False]


def test_windows_of_a_number():
    assert tuple(torch.tensor(3.0).unfold(0, 0, 1).shape) == (0,)
    assert torch.tensor(3.0).unfold(0, 1, 2).tolist() == [3.0]


def test_logspace_of_integers_starts_and_ends_at_integers():
    for dtype in (torch.int64, torch.int32, torch.uint8):
        found = torch.logspace(0.5, 2.2, 4, base=2, dtype=dtype)
        assert found.dtype == dtype
        assert found.tolist() == [1, 1, 2, 4]


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64"])
@pytest.mark.parametrize("equation", ["iji->j", "ij->j", "ij->", "ii->", "ii->i", "ij->ji"])
def test_einsum_of_one_operand_adds_up_as_sum(equation, dtype):
    shape = (2, 2, 2) if len(equation.partition("-")[0]) == 3 else (2, 2)
    x = torch.full(shape, 100, dtype=getattr(torch, dtype))
    found = torch.einsum(equation, x)
    summed = equation not in ("ii->i", "ij->ji")
    assert found.dtype == (torch.int64 if summed else x.dtype)
    check(found, np.einsum(equation, x.numpy().astype(np.int64)))


def test_prelu_takes_a_number():
    check(F.prelu(torch.tensor([[-1.0, 2.0]]), torch.tensor(0.25)), [[-0.25, 2.0]])
