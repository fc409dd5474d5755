"""Rules 49-56: kinks, bounds, ties, edge values."""

import warnings

import numpy as np
import pytest

from tests.eager.chosen import check, leaf, ours, torch
from tests.support.refusals import refused
from tests.support.tensor_checks import check_all, check_backward

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


def test_second_derivative_at_kinks():
    """Rule 49: kinks have second derivative 0."""
    x = leaf([-1.0, 0.0, 1.0])
    for f in (torch.relu, torch.abs):
        (g,) = torch.autograd.grad((f(x) * x).sum(), x, create_graph=True)
        (h,) = torch.autograd.grad(g.sum(), x)
        check(h, {torch.relu: [0.0, 0.0, 2.0], torch.abs: [-2.0, 0.0, 2.0]}[f])


# Rule 50 ------------------------------------------------------------------------------------------


def test_clamp_is_inclusive():
    """Rule 50: gradient 1 at both bounds, 0 outside and for nan."""
    check(
        grad(lambda x: x.clamp(-1, 1), [-2.0, -1.0, 0.0, 1.0, 2.0, nan]),
        [0.0, 1.0, 1.0, 1.0, 0.0, 0.0],
    )
    check(grad(lambda x: x.clamp(min=0), [-1.0, 0.0, 1.0]), [0.0, 1.0, 1.0])
    check(grad(lambda x: x.clamp(max=0), [-1.0, 0.0, 1.0]), [1.0, 1.0, 0.0])
    check(grad(lambda x: x.clamp_min(0), [-1.0, 0.0, 1.0]), [0.0, 1.0, 1.0])
    check(grad(lambda x: torch.clip(x, -1, 1), [-1.0, 2.0]), [1.0, 0.0])


def test_clamp_of_nan():
    """Rule 50: the result is nan."""
    check(torch.tensor([nan]).clamp(0, 1), [nan])


def test_clamp_with_crossed_bounds():
    """Rule 50: min > max gives max everywhere, and gradient 0."""
    x = leaf([-5.0, 0.0, 1.0, 2.0, 5.0])
    y = x.clamp(2, 1)
    check(y, [1.0] * 5)
    check_backward(y.sum(), (x, [0.0] * 5))


def test_clamp_with_tensor_bounds():
    """Rule 50: bounds get the gradient only strictly outside."""
    check_all(
        grad(
            lambda x, low, high: torch.clamp(x, low, high), [-2.0, -1.0, 0.0, 1.0, 2.0], -1.0, 1.0
        ),
        [0.0, 1.0, 1.0, 1.0, 0.0],
        1.0,
        1.0,
    )
    check_all(
        grad(
            lambda x, low, high: x.clamp(low, high),
            [0.0, 0.0, 0.0],
            [1.0, 0.0, -2.0],
            [2.0, 0.0, -1.0],
        ),
        [0.0, 1.0, 0.0],
        [1.0, 0.0, 0.0],
        [0.0, 0.0, 1.0],
    )


def test_clamp_needs_a_bound():
    """Rule 50: one of the bounds must be given."""
    with pytest.raises(RuntimeError, match="At least one"):
        torch.ones(2).clamp()


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


@pytest.mark.parametrize(
    "f",
    [
        torch.maximum,
        torch.minimum,
        lambda a, b: torch.max(a, b),
        lambda a, b: torch.min(a, b),
        lambda a, b: a.minimum(b),
    ],
)
def test_ties_of_two_halve(f):
    """Rule 51: each of two gets one half."""
    check_all(grad(f, [2.0], [2.0]), [0.5], [0.5])


def test_maximum_elsewhere():
    """Rule 51: without ties the larger gets all; nan propagates."""
    check_all(grad(torch.maximum, [1.0, 3.0], [2.0, 1.0]), [0.0, 1.0], [1.0, 0.0])
    check(torch.maximum(torch.tensor([nan, 1.0]), torch.tensor([1.0, nan])), [nan, nan])


@pytest.mark.parametrize("f", [torch.fmax, torch.fmin])
def test_ties_of_fmax_go_to_the_first(f):
    """Rule 51: fmax and fmin."""
    check_all(grad(f, [2.0], [2.0]), [1.0], [0.0])
    check(f(torch.tensor([nan, 1.0]), torch.tensor([1.0, nan])), [1.0, 1.0])


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


# Rule 52 ------------------------------------------------------------------------------------------


def test_power_zero():
    """Rule 52: ``x**0`` has gradient 0, even at 0."""
    check(grad(lambda x: x**0, [0.0, 2.0, -1.0]), [0.0, 0.0, 0.0])
    check(grad(lambda x: x**0.0, [0.0]), [0.0])
    gx, _ = grad(lambda x, y: x**y, [0.0], [0.0])
    check(gx, [0.0])


def test_powers_of_zero():
    """Rule 52: the gradient of ``0**y`` to y is 0 for y >= 0."""
    _, gy = grad(lambda x, y: x**y, [0.0, 0.0, 0.0], [0.0, 1.0, 2.5])
    check(gy, [0.0, 0.0, 0.0])
    check(grad(lambda y: 0**y, [0.0, 2.0]), [0.0, 0.0])
    check(grad(lambda y: torch.tensor(0.0).double() ** y, [0.0, 2.0]), [0.0, 0.0])


def test_powers_of_negative_bases():
    """Rule 52: nan to the exponent, and to it only."""
    check_all(grad(lambda x, y: x**y, [-2.0], [3.0]), [12.0], [nan])


def test_roots_of_zero():
    """Rule 52: infinite slope."""
    check(grad(torch.sqrt, [0.0, 4.0]), [inf, 0.25])
    check(grad(lambda x: x**0.5, [0.0, 4.0]), [inf, 0.25])
    check(grad(lambda x: x.pow(0.5), [0.0]), [inf])


def test_root_of_a_square():
    """Rule 52: nan at 0."""
    check(grad(lambda x: torch.sqrt(x * x), [0.0]), [nan])
    check(grad(lambda x: (x**2) ** 0.5, [0.0]), [nan])


def test_logarithms():
    """Rule 52: log(0) has slope inf; log(-1) is nan with gradient 1/x."""
    check(grad(torch.log, [0.0, -1.0, -2.0]), [inf, -1.0, -0.5])
    check(torch.log(torch.tensor([0.0, -1.0])), [-inf, nan])


def test_small_powers():
    """Rule 52: first and second powers at 0."""
    check(grad(lambda x: x**1, [0.0]), [1.0])
    check(grad(lambda x: x**2, [0.0]), [0.0])
    check(grad(lambda x: x**-1, [0.0]), [-inf])
    check(grad(lambda x: x**3, [-2.0]), [12.0])


# Rule 53 ------------------------------------------------------------------------------------------


def test_where_masks_gradients():
    """Rule 53: each branch gets gradient where it is selected."""
    condition = torch.tensor([True, False, True])
    a, b = grad(lambda a, b: torch.where(condition, a, b), [1.0, 2.0, 3.0], [4.0, 5.0, 6.0])
    check(a, [1.0, 0.0, 1.0])
    check(b, [0.0, 1.0, 0.0])
    check(grad(lambda a: a.where(condition, torch.zeros(3).double()), [1.0, 2.0, 3.0]), [1, 0, 1])


def test_double_where():
    """Rule 53: the way around in PyTorch works in both."""
    x = leaf([0.0, 4.0])
    safe = torch.where(x > 0, x, torch.ones_like(x))
    check_backward(torch.where(x > 0, safe.sqrt(), torch.zeros_like(x)).sum(), (x, [0.0, 0.25]))


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


def test_elsewhere_zero_times_infinity_is_nan():
    """Rule 53: without a selection above."""
    check(grad(lambda x: x.sqrt() * 0, [0.0]), [nan])
    check(grad(lambda x: x.log() * 0.0, [0.0]), [nan])


def test_atan2_at_the_origin():
    """Rule 53: gradient 0 to both."""
    check_all(grad(torch.atan2, [0.0, 1.0], [0.0, 0.0]), [0.0, 0.0], [0.0, -1.0])


def test_xlogy():
    """Rule 53: xlogy(0, 0) = 0, and xlogy(0, y) is 0."""
    check(torch.xlogy(torch.tensor([0.0, 0.0]), torch.tensor([0.0, 2.0])), [0.0, 0.0])
    _, gy = grad(torch.xlogy, [0.0, 2.0], [2.0, 4.0])
    check(gy, [0.0, 0.5])


def test_products_with_zeros():
    """Rule 53: exact with none, one and two zeros, without division."""
    check(grad(lambda x: x.prod(), [2.0, 3.0, 4.0]), [12.0, 8.0, 6.0])
    check(grad(lambda x: x.prod(), [2.0, 0.0, 4.0]), [0.0, 8.0, 0.0])
    check(grad(lambda x: x.prod(), [0.0, 0.0, 4.0]), [0.0, 0.0, 0.0])
    check(
        grad(lambda x: x.prod(dim=1), [[2.0, 0.0, 4.0], [1.0, 2.0, 3.0]]),
        [[0.0, 8.0, 0.0], [6.0, 3.0, 2.0]],
    )


def test_second_derivative_of_products_with_zeros():
    """Rule 53: also once more."""
    x = leaf([0.0, 0.0, 4.0])
    (g,) = torch.autograd.grad(x.prod(), x, create_graph=True)
    check(torch.autograd.grad(g[0], x)[0], [0.0, 4.0, 0.0])


def test_cumulative_products_with_zeros():
    """Rule 53: cumprod as well."""
    check(grad(lambda x: x.cumprod(0), [2.0, 0.0, 4.0]), [1.0, 10.0, 0.0])
    check(grad(lambda x: x.cumprod(0), [0.0, 0.0, 4.0]), [1.0, 0.0, 0.0])
    check(grad(lambda x: x.cumprod(0), [2.0, 3.0, 4.0]), [16.0, 10.0, 6.0])


# Rule 54 ------------------------------------------------------------------------------------------


def test_softplus():
    """Rule 54: linear above the threshold, gradient exactly 1."""
    x = leaf([-1000.0, 0.0, 20.0, 20.5, 1000.0])
    y = F.softplus(x)
    check(y, [0.0, np.log(2.0), 20.0 + np.log1p(np.exp(-20.0)), 20.5, 1000.0], rtol=1e-12)
    y.sum().backward()
    assert x.grad[3:].tolist() == [1.0, 1.0]
    check(x.grad, [0.0, 0.5, 1 / (1 + np.exp(-20.0)), 1.0, 1.0], rtol=1e-12)


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


def test_logsumexp_of_extremes():
    """Rule 54: very different entries, and infinities."""
    x = leaf([-1000.0, 1000.0])
    y = x.logsumexp(0)
    check(y, 1000.0)
    check_backward(y, (x, [0.0, 1.0]))
    check(torch.logsumexp(torch.tensor([-inf, -inf]), 0), -inf)
    check(torch.logsumexp(torch.tensor([-inf, 1.0]), 0), 1.0)


def test_bce_with_logits_is_stable():
    """Rule 54: at ±1000, value and gradient."""
    x = leaf([1000.0, -1000.0, 1000.0, -1000.0])
    t = torch.tensor([1.0, 0.0, 0.0, 1.0]).double()
    y = F.binary_cross_entropy_with_logits(x, t, reduction="none")
    check(y, [0.0, 0.0, 1000.0, 1000.0])
    check_backward(y.sum(), (x, [0.0, 0.0, 1.0, -1.0]))


def test_logsigmoid_is_stable():
    """Rule 54: at ±1000."""
    x = leaf([-1000.0, 0.0, 1000.0])
    y = F.logsigmoid(x)
    check(y, [-1000.0, -np.log(2.0), 0.0])
    check_backward(y.sum(), (x, [1.0, 0.5, 0.0]))


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
    check(grad(torch.sigmoid, [1000.0, -1000.0]), [0.0, 0.0])
    check(grad(torch.tanh, [1000.0, -1000.0]), [0.0, 0.0])


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


def test_round_half_to_even():
    """Rule 55: as in NumPy."""
    check(torch.round(torch.tensor([0.5, 1.5, 2.5, -0.5, -1.5])), [0.0, 2.0, 2.0, -0.0, -2.0])
    check(torch.round(torch.tensor([1.25, 1.35]).double(), decimals=1), [1.2, 1.4])


def test_integer_division():
    """Rule 55: ``//`` floors, ``%`` has the divisor's sign."""
    a, b = torch.tensor([7, -7, 7, -7]), torch.tensor([3, 3, -3, -3])
    assert (a // b).tolist() == [2, -3, -3, 2]
    assert (a % b).tolist() == [1, 2, -2, -1]
    assert torch.fmod(a, b).tolist() == [1, -1, 1, -1]
    assert (a // b).dtype == torch.int64
    assert (-7 // torch.tensor(2)).item() == -4
    check(torch.tensor([7.0, -7.0]) // 2, [3.0, -4.0])


# Rule 56 ------------------------------------------------------------------------------------------


def test_reductions_of_nothing():
    """Rule 56: sum 0, prod 1, mean nan, max refused."""
    e = torch.zeros(0)
    check(e.sum(), 0.0)
    check(e.prod(), 1.0)
    check(e.mean(), nan)
    assert e.any().item() is False
    assert e.all().item() is True
    for f in (torch.max, torch.min, torch.amax, torch.Tensor.max):
        with pytest.raises(RuntimeError, match="Expected reduction dim to be specified"):
            f(e)
    with pytest.raises(IndexError, match="Expected reduction dim"):
        e.argmax()


def test_reductions_of_nothing_along_an_axis():
    """Rule 56: one empty axis."""
    e = torch.zeros(0, 2)
    check(e.sum(0), [0.0, 0.0])
    check(e.prod(0), [1.0, 1.0])
    check(e.mean(0), [nan, nan])
    check(e.sum(1), np.zeros(0))
    with pytest.raises(IndexError, match="non-zero size"):
        e.max(dim=0)
    assert tuple(torch.zeros(2, 0, 3).max(dim=0).values.shape) == (0, 3)


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


def test_other_bad_dimensions():
    """Rule 56: in functions of several dims."""
    x = torch.ones(2, 2)
    for f in (lambda: x.transpose(0, 2), lambda: x[:, :, 0], lambda: torch.cat([x, x], 2),
              lambda: torch.stack([x, x], 3), lambda: x.size(2), lambda: x.flip(2),
              lambda: x.select(2, 0), lambda: x.index_select(2, torch.tensor([0])),
              lambda: x.squeeze(2), lambda: x.sum((0, 2))):  # fmt: skip
        with pytest.raises(IndexError):
            f()


def test_bad_indices():
    """Rule 56: an element out of range."""
    x = torch.ones(2, 2)
    for f in (lambda: x[2], lambda: x[0, -3], lambda: x.select(0, 5)):
        with pytest.raises(IndexError, match="out of"):
            f()


def test_repeated_dimensions():
    """Rule 56: one dim twice is refused."""
    refused(
        (RuntimeError, r"multiple times|repeated", lambda: torch.ones(2, 2).sum((0, 0))),
        (
            RuntimeError,
            r"multiple times|repeated|duplicate",
            lambda: torch.ones(2, 2).permute(0, 0),
        ),
    )


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


def test_maximum_of_nan():
    """Rule 51: next to nan both operands get the whole gradient."""
    for f in (torch.maximum, torch.minimum):
        a, b = grad(f, [nan, 1.0, nan], [1.0, nan, nan])
        check(a, [1.0, 1.0, 1.0])
        check(b, [1.0, 1.0, 1.0])


def test_max_of_nan():
    """Rule 51: nan wins; the gradient goes to it."""
    x = leaf([1.0, nan, 2.0])
    check(x.max(), nan)
    check(x.max(dim=0).values, nan)
    assert x.max(dim=0).indices.item() == 1
    assert x.argmax().item() == 1
    check(torch.autograd.grad(x.max(), x)[0], [0.0, 1.0, 0.0])
    check(torch.autograd.grad(x.max(dim=0).values, x)[0], [0.0, 1.0, 0.0])


def test_argmax_of_ties():
    """Rule 51: the first."""
    t = torch.tensor([[1.0, 3.0, 3.0], [2.0, 2.0, 1.0]])
    assert t.argmax().item() == 1
    assert t.argmax(1).tolist() == [1, 0]
    assert t.argmin(dim=1, keepdim=True).tolist() == [[0], [2]]


def test_stable_sort():
    """Rule 51: equal elements keep their order, descending too."""
    t = torch.tensor([2.0, 1.0, 2.0, 1.0])
    assert t.sort(stable=True).indices.tolist() == [1, 3, 0, 2]
    assert torch.sort(t, stable=True, descending=True).indices.tolist() == [0, 2, 1, 3]


def test_medians():
    """Rule 51: the lower of two middle elements; nan wins."""
    check(torch.tensor([4.0, 1.0, 3.0, 2.0]).median(), 2.0)
    check(torch.tensor([4.0, nan, 3.0]).median(), nan)
    result = torch.tensor([[4.0, 1.0, 3.0], [1.0, 1.0, 5.0]]).median(dim=1)
    check(result.values, [3.0, 1.0])
    assert result.indices[0].item() == 2


def test_ties_at_second_order():
    """Rule 51: shares are constants for the next derivative."""
    x = leaf([3.0, 3.0, 1.0])
    (g,) = torch.autograd.grad(x.max() ** 2, x, create_graph=True)
    check(g, [3.0, 3.0, 0.0])
    check_all(torch.autograd.grad(g.sum(), x), [1.0, 1.0, 0.0])


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


def test_hypot_and_norm_at_the_origin():
    """Rules 49, 53: the norm has gradient 0 there, hypot is 0/0."""
    check(grad(lambda x: x.norm(), [0.0, 0.0]), [0.0, 0.0])
    check_all(grad(torch.hypot, [0.0], [0.0]), [nan], [nan])


@ours
def test_xlogy_at_zero():
    """Rule 53: where x is 0, x log y is 0 whatever y, and so is its derivative by y."""
    _, gy = grad(torch.xlogy, [0.0], [0.0])
    check(gy, [0.0])


def test_zero_times_infinity():
    """Rule 53: products with a constant zero."""
    zero = torch.zeros(1).double()
    check(grad(lambda x: x.log() * zero, [0.0]), [nan])
    check(grad(lambda x: zero / x, [0.0]), [nan])


def test_std_of_one_element():
    """Rule 56: the unbiased estimate of one element is nan, the biased is 0."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch warns of the degrees of freedom
        check(torch.tensor([3.0]).std(), nan)
        check(torch.tensor([3.0]).var(), nan)
    check(torch.tensor([3.0]).std(unbiased=False), 0.0)
    check(grad(lambda x: x.var(unbiased=False), [3.0]), [0.0])


def test_variance_gradients():
    """Rule 49: var has gradient 0 at constants as anywhere."""
    check(grad(lambda x: x.var(), [2.0, 2.0]), [0.0, 0.0])
    check(grad(lambda x: x.var(), [1.0, 3.0]), [-2.0, 2.0])


def test_empty_operands():
    """Rule 56: products with an empty axis are zeros; concatenation with nothing."""
    check(torch.ones(2, 0) @ torch.ones(0, 3), np.zeros((2, 3)))
    check(torch.cat([torch.zeros(0), torch.ones(2)]), [1.0, 1.0])
    x = torch.ones(2, 0, requires_grad=True)
    (x @ torch.ones(0, 3)).sum().backward()
    assert tuple(x.grad.shape) == (2, 0)
    check(torch.zeros(0, 2).cumsum(0), np.zeros((0, 2)))
    check(torch.zeros(2, 0).softmax(0), np.zeros((2, 0)))


def test_index_out_of_range():
    """Rule 56: index tensors are checked."""
    x = torch.ones(2, 2)
    for f in (
        lambda: x[torch.tensor([5])],
        lambda: x[torch.tensor([-3])],
        lambda: x[[0, 2]],
        lambda: torch.take(x, torch.tensor([9])),
    ):
        with pytest.raises(IndexError, match="out of"):
            f()
    with pytest.raises((IndexError, RuntimeError), match="out of"):  # PyTorch has both
        x.index_select(0, torch.tensor([2]))
    refused(
        (RuntimeError, "out of bounds", lambda: x.gather(0, torch.tensor([[2, 0]]))),
        (IndexError, "shape of the mask", lambda: x[torch.tensor([True, False, True])]),
    )


def test_division_by_zero():
    """Rule 55: of floats infinite, of integers an error."""
    check(torch.tensor([1.0, -1.0, 0.0]) / 0, [inf, -inf, nan])
    check(torch.tensor([1, 0]) / 0, [inf, nan])
    refused(
        (RuntimeError, "ZeroDivisionError", lambda: torch.tensor([1]) // 0),
        (RuntimeError, "ZeroDivisionError", lambda: torch.tensor([1]) % 0),
    )
    check(torch.tensor([1.0, -1.0]) // 0, [inf, -inf])
    check(torch.tensor([1.0]) % 0, [nan])


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
    for size in (2, -1):
        with pytest.raises(RuntimeError, match="size"):
            torch.tensor(3.0).unfold(0, size, 1)


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


def test_prelu_takes_weights_of_at_most_one_axis():
    x = torch.tensor([[-1.0, 2.0]])
    check(torch.nn.functional.prelu(x, torch.tensor(0.25)), [[-0.25, 2.0]])
    with pytest.raises(RuntimeError, match="scalar or 1D"):
        torch.nn.functional.prelu(x, torch.tensor([[0.25]]))
