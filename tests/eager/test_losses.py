"""Rule 64: losses beyond ``op_examples``: far tails, ignored targets, warnings, errors."""

import mpmath as mp
import numpy as np
import pytest

from tests.eager.chosen import check, leaf, ours, torch
from tests.support.refusals import refused, refusing

F = torch.nn.functional


LOGITS = [-1000.0, -20.0, 0.0, 20.0, 1000.0]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_logits_far_out(dtype):
    x, t = leaf(LOGITS, dtype), leaf([1.0, 0, 1, 1, 0], dtype)
    y = F.binary_cross_entropy_with_logits(x, t, reduction="none")
    y.sum().backward()
    small = {"rtol": 1e-6, "atol": 1e-15 if dtype == torch.float64 else 1e-8}
    check(y, [1000, 2.061153620e-9, 0.693147181, 2.061153620e-9, 1000], **small)
    check(x.grad, [-1, 2.061153618e-9, -0.5, -2.061153618e-9, 1], 1e-6, 1e-7)
    check(t.grad, [1000, 20, 0, -20, -1000])
    x = leaf([[1000.0, -1000.0, 0.0], [-1000.0, 1000.0, 3.0]], dtype)
    for smoothing, value in ((0.0, 1000.0), (0.3, 999.85)):
        x.grad = None
        y = F.cross_entropy(x, torch.tensor([1, 1]), label_smoothing=smoothing)
        y.backward()
        check(y, value, 1e-6)
        assert np.isfinite(x.grad.numpy()).all()


def test_logits_keep_their_tails():
    """Against the formula in 40 digits: what is near 0 has as many digits as what is not."""
    x, t, w = [60.0, 30.0, -60.0, -30.0, 700.0, 0.0], [1.0, 1.0, 0.0, 0.0, 1.0, 0.25], 3.0
    for weight in (None, w):
        a, b = leaf(x), leaf(t, requires_grad=False)
        words = {} if weight is None else {"pos_weight": torch.tensor(weight).double()}
        y = F.binary_cross_entropy_with_logits(a, b, reduction="none", **words)
        y.sum().backward()
        with mp.workdps(400):
            p = weight or 1

            def loss(u, v, p=p):
                return (1 - v) * mp.log1p(mp.exp(u)) + p * v * mp.log1p(mp.exp(-u))

            values = [float(loss(mp.mpf(u), v)) for u, v in zip(x, t, strict=True)]
            slopes = [
                float(((1 - v) * mp.exp(u) - p * v) / (1 + mp.exp(u)))
                for u, v in zip(map(mp.mpf, x), t, strict=True)
            ]
        check(y, values, 1e-15, 0)
        check(a.grad, slopes, 1e-15, 0)
        traced = torch.compile(
            lambda u, v, words=words: F.binary_cross_entropy_with_logits(
                u, v, reduction="none", **words
            )
        )
        check(traced(a.detach(), b), values, 1e-15, 0)


def test_slopes_by_targets_keep_small_logits():
    t = leaf([0.0, 0.5, 1.0])
    F.binary_cross_entropy_with_logits(
        torch.full((3,), 1e-9, dtype=torch.float64), t, reduction="sum"
    ).backward()
    check(t.grad, [-1e-9] * 3, 1e-15, 0)


def test_infinite_logits_that_agree_cost_nothing():
    x = torch.tensor([np.inf, -np.inf])
    y = F.binary_cross_entropy_with_logits(x, torch.tensor([0.0, 1.0]), reduction="none")
    check(y, [np.inf, np.inf])


@pytest.mark.parametrize("name", ["l1_loss", "kl_div", "smooth_l1_loss"])
def test_losses_of_integers_are_no_cut_off_numbers(name):
    """PyTorch subtracts integers, and has no mean of them; a divergence takes logarithms."""
    x, y = torch.tensor([1, 2, 5]), torch.tensor([1, 1, 1])
    loss = getattr(F, name)
    words = {"beta": 0.0} if name == "smooth_l1_loss" else {}
    if name == "kl_div":
        assert loss(x, y, reduction="none").dtype == torch.float32
        check(loss(x, y), np.mean([-1.0, -2.0, -5.0]), 1e-6)
        return
    assert loss(x, y, reduction="none", **words).tolist() == [0, 1, 4]
    assert loss(x, y, reduction="sum", **words).dtype == torch.int64
    refused(
        (RuntimeError, "could not infer output dtype", lambda: loss(x, y, **words)),
        (RuntimeError, "two bool tensors", lambda: loss(x.bool(), y.bool(), **words)),
    )


def test_second_derivative_far_out():
    x = leaf(LOGITS)
    y = F.binary_cross_entropy_with_logits(x, torch.ones(5, dtype=torch.float64))
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    check(h, [0, 4.122307228e-10, 0.05, 4.122307228e-10, 0], 1e-6, 1e-20)


def test_probabilities_0_and_1():
    p = leaf([0.0, 1.0, 0.0, 1.0, 1e-11])
    y = F.binary_cross_entropy(p, leaf([0.0, 1, 1, 0, 1], requires_grad=False), reduction="none")
    y.sum().backward()
    check(y, [0, 0, 100, 100, 25.328436])
    check(p.grad, [0, 0, -1e12, 1e12, -1e11])


def test_ignored_targets_leave_no_trace():
    x = leaf([[np.nan, 0.0], [1.0, 1.0]])
    F.cross_entropy(x, torch.tensor([-100, 0])).backward()
    check(x.grad[1], [-0.5, 0.5])
    x = leaf([[-np.inf, -1.0], [-1.0, -2.0]])
    y = F.nll_loss(x, torch.tensor([0, 1]), ignore_index=0)
    y.backward()
    check(y, 2)
    check(x.grad, [[0, 0], [0, -1]])
    x = leaf(np.zeros((2, 3)))
    y = F.cross_entropy(x, torch.tensor([-100, -100]))
    y.backward()
    check(y, np.nan)
    check(x.grad, np.zeros((2, 3)))


def test_broadcasting_warns():
    with pytest.warns(UserWarning, match="different to the input size"):
        y = F.mse_loss(leaf(np.ones((2, 3))), torch.zeros(3, dtype=torch.float64))
    check(y, 1)


@ours
def test_targets_at_probabilities_0_and_1_have_the_clamped_slope():
    t = leaf([0.5, 0.5])
    F.binary_cross_entropy(leaf([0.0, 1.0]), t, reduction="sum").backward()
    check(t.grad, [100, -100])


ONES = torch.ones(2, 3)


def index(*values):
    return torch.tensor(values)


ERRORS = [
    (lambda: F.binary_cross_entropy(ONES, ONES[0]), ValueError, r"target size \(torch.Size\(\[3"),
    (lambda: F.binary_cross_entropy_with_logits(ONES, ONES[0]), ValueError, "Target size"),
    (lambda: F.binary_cross_entropy(2 * ONES, ONES), RuntimeError, "between 0 and 1"),
    (lambda: F.binary_cross_entropy(ONES, ONES.double()), RuntimeError, "Found dtype Double"),
    (lambda: F.mse_loss(ONES, ONES, reduction="each"), ValueError, "not a valid value for reduct"),
    (lambda: F.mse_loss(ONES.long(), ONES.long()), NotImplementedError, "'Long'"),
    (lambda: F.huber_loss(ONES, ONES, delta=0), RuntimeError, "non-positive"),
    (lambda: F.smooth_l1_loss(ONES, ONES, beta=-1), RuntimeError, "negative values for beta"),
    (lambda: F.cross_entropy(ONES, index(0, 1, 2)), ValueError, r"batch_size \(2\) to match"),
    (lambda: F.cross_entropy(ONES, index(0, 3)), IndexError, "Target 3 is out of bounds"),
    (lambda: F.cross_entropy(ONES, index(0, -1)), IndexError, "Target -1 is out of bounds"),
    (lambda: F.cross_entropy(ONES, index(0, 1), ONES[0, :2]), RuntimeError, "weight tensor should"),
    (lambda: F.cross_entropy(ONES, ONES[:, 0]), RuntimeError, "Long or Byte, but got Float"),
    (lambda: F.cross_entropy(ONES, ONES.long()), RuntimeError, "Expected floating point type"),
    (lambda: F.cross_entropy(ONES, index(0, 1), label_smoothing=2.0), RuntimeError, "between 0.0"),
    (lambda: F.nll_loss(ONES.sum(), index(0)), ValueError, "Expected 1 or more dimensions"),
    (lambda: F.one_hot(index(0, 3), 3), RuntimeError, "smaller than num_classes"),
    (lambda: F.one_hot(index(0, -3), -1), RuntimeError, "must be non-negative"),
    (lambda: F.one_hot(torch.ones(2), -1), RuntimeError, "index tensor"),
    (lambda: F.pad(ONES, (1,)), RuntimeError, "divisible by 2"),
    (lambda: F.pad(ONES, (1,) * 6), RuntimeError, "two times the input dimension"),
    (lambda: F.pad(ONES, (-2, -2)), RuntimeError, "length must be non-negative"),
    (lambda: F.pad(ONES, (3, 1), "reflect"), RuntimeError, "Padding size should be less"),
    (lambda: F.pad(ONES, (1, 1), "mirror"), NotImplementedError, "Unrecognised padding mode"),
    (lambda: F.pad(ONES, (1, 1), "reflect", 3), RuntimeError, "doesn't take in value"),
]


test_errors = refusing(ERRORS)


def test_one_hot():
    assert F.one_hot(index(1, 0), 3).tolist() == [[0, 1, 0], [1, 0, 0]]
    assert F.one_hot(torch.tensor([[0, 2]])).tolist() == [[[1, 0, 0], [0, 0, 1]]]
