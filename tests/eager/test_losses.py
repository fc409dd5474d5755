"""Rule 64: losses have PyTorch's values, gradients and names; both derivatives, tails, errors."""

import numpy as np
import pytest

from tests.eager.chosen import check, leaf, ours, torch
from tests.eager.differences import agree

F = torch.nn.functional

X = [[0.5, -1.0, 2.0], [1.5, 0.0, -0.5]]
T = [[0.25, 1.0, 0.0], [0.75, 0.5, 0.125]]
W = [1.0, 2.0, 0.5]
C = [2, 0]


def arguments(words, dtype):
    """The words of a row, lists as tensors."""
    return {k: torch.tensor(v, dtype=dtype) if isinstance(v, list) else v for k, v in words.items()}


# Function, target, arguments, name of the node, value, gradient by the input: measured.
# The input is X; its sigmoid where probabilities are asked for.
ROWS = [
    (
        "mse_loss",
        T,
        {},
        "MseLossBackward0",
        1.544271,
        [0.08333333, -0.6666667, 0.6666667, 0.25, -0.1666667, -0.2083333],
    ),
    (
        "mse_loss",
        T,
        {"reduction": "sum"},
        "MseLossBackward0",
        9.265625,
        [0.5, -4, 4, 1.5, -1, -1.25],
    ),
    (
        "mse_loss",
        T,
        {"reduction": "none"},
        "MseLossBackward0",
        [0.0625, 4, 4, 0.5625, 0.25, 0.390625],
        [0.5, -4, 4, 1.5, -1, -1.25],
    ),
    (
        "l1_loss",
        T,
        {},
        "MeanBackward0",
        1.020833,
        [0.1666667, -0.1666667, 0.1666667, 0.1666667, -0.1666667, -0.1666667],
    ),
    (
        "l1_loss",
        T,
        {"reduction": "none"},
        "AbsBackward0",
        [0.25, 2, 2, 0.75, 0.5, 0.625],
        [1, -1, 1, 1, -1, -1],
    ),
    (
        "smooth_l1_loss",
        T,
        {},
        "SmoothL1LossBackward0",
        0.6054688,
        [0.04166667, -0.1666667, 0.1666667, 0.125, -0.08333333, -0.1041667],
    ),
    (
        "smooth_l1_loss",
        T,
        {"beta": 0.5, "reduction": "sum"},
        "SmoothL1LossBackward0",
        4.6875,
        [0.5, -1, 1, 1, -1, -1],
    ),
    (
        "smooth_l1_loss",
        T,
        {"beta": 0.0},
        "MeanBackward0",
        1.020833,
        [0.1666667, -0.1666667, 0.1666667, 0.1666667, -0.1666667, -0.1666667],
    ),
    (
        "huber_loss",
        T,
        {},
        "HuberLossBackward0",
        0.6054688,
        [0.04166667, -0.1666667, 0.1666667, 0.125, -0.08333333, -0.1041667],
    ),
    (
        "huber_loss",
        T,
        {"delta": 0.5, "reduction": "none"},
        "HuberLossBackward0",
        [0.03125, 0.875, 0.875, 0.25, 0.125, 0.1875],
        [0.25, -0.5, 0.5, 0.5, -0.5, -0.5],
    ),
    (
        "binary_cross_entropy",
        T,
        {},
        "BinaryCrossEntropyBackward0",
        1.015901,
        [0.2641514, -0.6197136, 1.398176, 0.07551244, 0, 0.179104],
    ),
    (
        "binary_cross_entropy",
        T,
        {"weight": W, "reduction": "sum"},
        "BinaryCrossEntropyBackward0",
        6.77006,
        [1.584908, -7.436564, 4.194528, 0.4530746, 0, 0.5373121],
    ),
    (
        "binary_cross_entropy",
        T,
        {"reduction": "none"},
        "BinaryCrossEntropyBackward0",
        [0.849077, 1.313262, 2.126928, 0.5764133, 0.6931472, 0.536577],
        [1.584908, -3.718282, 8.389056, 0.4530746, 0, 1.074624],
    ),
    (
        "binary_cross_entropy_with_logits",
        T,
        {},
        "BinaryCrossEntropyWithLogitsBackward0",
        1.015901,
        [0.06207656, -0.1218431, 0.1467995, 0.01126241, 0, 0.04209011],
    ),
    (
        "binary_cross_entropy_with_logits",
        T,
        {"reduction": "none"},
        "BinaryCrossEntropyWithLogitsBackward0",
        [0.849077, 1.313262, 2.126928, 0.5764133, 0.6931472, 0.536577],
        [0.3724593, -0.7310586, 0.8807971, 0.06757448, 0, 0.2525407],
    ),
    (
        "binary_cross_entropy_with_logits",
        T,
        {"weight": W},
        "BinaryCrossEntropyWithLogitsBackward0",
        1.128343,
        [0.06207656, -0.2436862, 0.07339976, 0.01126241, 0, 0.02104506],
    ),
    (
        "binary_cross_entropy_with_logits",
        T,
        {"pos_weight": W, "reduction": "sum"},
        "BinaryCrossEntropyWithLogitsBackward0",
        7.69436,
        [0.3724593, -1.462117, 0.8807971, 0.06757448, -0.25, 0.2914444],
    ),
    (
        "binary_cross_entropy_with_logits",
        T,
        {"weight": W, "pos_weight": W},
        "BinaryCrossEntropyWithLogitsBackward0",
        1.676549,
        [0.06207656, -0.4873724, 0.07339976, 0.01126241, -0.08333333, 0.02428703],
    ),
    (
        "cross_entropy",
        C,
        {},
        "NllLossBackward0",
        0.2738335,
        [0.0876452, 0.01955629, -0.1072015, -0.1319376, 0.08212581, 0.04981182],
    ),
    (
        "cross_entropy",
        C,
        {"reduction": "none"},
        "NllLossBackward0",
        [0.2413113, 0.3063557],
        [0.1752904, 0.03911257, -0.214403, -0.2638753, 0.1642516, 0.09962365],
    ),
    (
        "cross_entropy",
        C,
        {"weight": W},
        "NllLossBackward0",
        0.2846742,
        [0.05843013, 0.01303752, -0.07146766, -0.1759169, 0.1095011, 0.06641577],
    ),
    (
        "cross_entropy",
        C,
        {"weight": W, "reduction": "sum"},
        "NllLossBackward0",
        0.4270114,
        [0.0876452, 0.01955629, -0.1072015, -0.2638753, 0.1642516, 0.09962365],
    ),
    (
        "cross_entropy",
        C,
        {"ignore_index": 0},
        "NllLossBackward0",
        0.2413113,
        [0.1752904, 0.03911257, -0.214403, 0, 0, 0],
    ),
    (
        "cross_entropy",
        C,
        {"label_smoothing": 0.3},
        "AddBackward0",
        0.6738335,
        [0.0376452, -0.03044371, -0.007201483, -0.03193764, 0.03212581, -0.000188176],
    ),
    (
        "cross_entropy",
        C,
        {"label_smoothing": 0.3, "weight": W},
        "AddBackward0",
        1.093728,
        [0.01513552, -0.1150808, 0.09994528, -0.01804603, -0.01835719, 0.03640322],
    ),
    (
        "cross_entropy",
        C,
        {"label_smoothing": 0.3, "ignore_index": 2, "reduction": "none"},
        "AddBackward0",
        [0, 0.6563557],
        [0, 0, 0, -0.06387528, 0.06425163, -0.0003763519],
    ),
    (
        "cross_entropy",
        T,
        {},
        "DivBackward1",
        2.548939,
        [-0.0154435, -0.4755546, 0.4909981, 0.1310857, -0.137077, 0.005991258],
    ),
    (
        "cross_entropy",
        T,
        {"weight": W, "reduction": "sum"},
        "NegBackward0",
        9.09822,
        [0.1444034, -1.911997, 1.767593, 0.5842261, -0.7022939, 0.1180679],
    ),
    (
        "cross_entropy",
        T,
        {"label_smoothing": 0.3, "reduction": "none"},
        "NegBackward0",
        [3.096041, 1.436774],
        [-0.06903379, -0.7540427, 0.8230765, 0.3043575, -0.2426323, -0.06172514],
    ),
    ("nll_loss", C, {}, "NllLossBackward0", -1.75, [0, 0, -0.5, -0.5, 0, 0]),
    (
        "nll_loss",
        C,
        {"weight": W},
        "NllLossBackward0",
        -1.666667,
        [0, 0, -0.3333333, -0.6666667, 0, 0],
    ),
    (
        "nll_loss",
        C,
        {"ignore_index": 2, "reduction": "none"},
        "NllLossBackward0",
        [0, -1.5],
        [0, 0, 0, -1, 0, 0],
    ),
    (
        "kl_div",
        T,
        {"reduction": "batchmean"},
        "DivBackward0",
        -0.6781695,
        [-0.125, -0.5, -0, -0.375, -0.25, -0.0625],
    ),
    (
        "kl_div",
        T,
        {"reduction": "none"},
        "SubBackward0",
        [-0.4715736, 1, 0, -1.340762, -0.3465736, -0.1974302],
        [-0.25, -1, -0, -0.75, -0.5, -0.125],
    ),
    (
        "kl_div",
        T,
        {"log_target": True, "reduction": "sum"},
        "SumBackward0",
        3.060386,
        [-1.284025, -2.718282, -1, -2.117, -1.648721, -1.133148],
    ),
]
IDS = [f"{name}{list(words) or ''}{i}" for i, (name, _, words, *_) in enumerate(ROWS)]


def inputs(name, dtype=torch.float64):
    x = torch.tensor(X, dtype=dtype)
    return (x.sigmoid() if name == "binary_cross_entropy" else x).detach().requires_grad_()


@pytest.mark.parametrize(("name", "target", "words", "node", "value", "slopes"), ROWS, ids=IDS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_values_gradients_and_names(name, target, words, node, value, slopes, dtype):
    x = inputs(name, dtype)
    t = torch.tensor(target, dtype=None if target is C else dtype)
    y = getattr(F, name)(x, t, **arguments(words, dtype))
    y.sum().backward()
    assert type(y.grad_fn).__name__ == node
    assert y.dtype == x.grad.dtype == dtype
    rtol = 1e-6 if dtype == torch.float64 else 1e-5
    check(y, np.reshape(value, y.shape), rtol, 1e-6)
    check(x.grad, np.reshape(slopes, (2, 3)), rtol, 1e-6)


@pytest.mark.parametrize(("name", "target", "words"), [row[:3] for row in ROWS], ids=IDS)
def test_derivatives_are_those_of_differences(name, target, words):
    words = arguments(words, torch.float64)
    x = inputs(name).detach().numpy()
    function = getattr(F, name)
    if target is C:
        agree(lambda x: function(x, torch.tensor(C), **words), x)
    else:  # targets have derivatives too; away from kinks and from 0
        agree(lambda x, t: function(x, t, **words), x, 0.8 * np.array(T) + 0.07)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_classes_of_more_axes(weighted, reduction):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 3, 2, 2))
    t = rng.integers(0, 3, (2, 2, 2))
    w = np.array([1.0, 2.0, 0.5]) if weighted else np.ones(3)
    t[0, 0, 1] = -100
    used = np.where(t < 0, 0, w[np.maximum(t, 0)])
    logs = x - np.log(np.exp(x).sum(1, keepdims=True))
    loss = -np.take_along_axis(logs, np.maximum(t, 0)[:, None], 1)[:, 0] * used
    expected = {"mean": loss.sum() / used.sum(), "sum": loss.sum(), "none": loss}[reduction]

    def f(x):
        weight = torch.tensor(w) if weighted else None
        return F.cross_entropy(x, torch.tensor(t), weight, reduction=reduction)

    check(f(leaf(x)), expected)
    agree(f, x)


def test_one_example():
    x = leaf([1.0, 2.0, 3.0])
    y = F.cross_entropy(x, torch.tensor(1))
    y.backward()
    check(y, 1.407605964)
    check(x.grad, [0.090030573, -0.755271529, 0.665240956])


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


def test_kinks():
    for name in ("l1_loss", "smooth_l1_loss", "huber_loss", "mse_loss"):
        x, t = leaf([1.0, 2.0]), leaf([1.0, 2.0])
        getattr(F, name)(x, t).backward()
        check(x.grad, [0, 0])
        check(t.grad, [0, 0])


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


def test_weighted_means():
    x, t, w = leaf([1.0, 2.0]), leaf([0.0, 0.0]), torch.tensor([1.0, 3.0], dtype=torch.float64)
    check(F.mse_loss(x, t, weight=w), 13 / 4)
    check(F.l1_loss(x, t, weight=w, reduction="sum"), 7)
    check(F.huber_loss(x, t, weight=w, reduction="none"), [0.5, 4.5])


def test_broadcasting_warns():
    with pytest.warns(UserWarning, match="different to the input size"):
        y = F.mse_loss(leaf(np.ones((2, 3))), torch.zeros(3, dtype=torch.float64))
    check(y, 1)


def test_a_loss_cannot_be_pulled_back_twice():
    x = leaf(X)
    y = F.mse_loss(x, torch.zeros(2, 3, dtype=torch.float64))
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


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
]


@pytest.mark.parametrize(("f", "error", "says"), ERRORS)
def test_errors(f, error, says):
    with pytest.raises(error, match=says):
        f()


def test_one_hot():
    assert F.one_hot(index(1, 0), 3).tolist() == [[0, 1, 0], [1, 0, 0]]
    assert F.one_hot(torch.tensor([[0, 2]])).tolist() == [[[1, 0, 0], [0, 0, 1]]]
    for t, n, says in (
        (index(0, 3), 3, "smaller than num_classes"),
        (index(0, -3), -1, "must be non-negative"),
        (torch.ones(2), -1, "index tensor"),
    ):
        with pytest.raises(RuntimeError, match=says):
            F.one_hot(t, n)


PADS = [
    ((1, 2), {}, [[0, 1, 2, 0, 0], [0, 3, 4, 0, 0]]),
    ((1, 0, 0, 1), {"value": 7.0}, [[7, 1, 2], [7, 3, 4], [7, 7, 7]]),
    ((-1, 1), {}, [[2, 0], [4, 0]]),
    ((2, 1), {"mode": "replicate"}, [[1, 1, 1, 2, 2], [3, 3, 3, 4, 4]]),
    ((1, 1), {"mode": "reflect"}, [[2, 1, 2, 1], [4, 3, 4, 3]]),
    ((1, 1), {"mode": "circular"}, [[2, 1, 2, 1], [4, 3, 4, 3]]),
]


@pytest.mark.parametrize(("widths", "words", "expected"), PADS)
def test_pad(widths, words, expected):
    x = [[1.0, 2.0], [3.0, 4.0]]
    check(F.pad(leaf(x), widths, **words), expected)
    agree(lambda x: F.pad(x, widths, **words), x)


def test_pad_errors():
    x = torch.ones(2, 3)
    for widths, words, error, says in (
        ((1,), {}, RuntimeError, "divisible by 2"),
        ((1,) * 6, {}, RuntimeError, "two times the input dimension"),
        ((-2, -2), {}, RuntimeError, "length must be non-negative"),
        ((3, 1), {"mode": "reflect"}, RuntimeError, "Padding size should be less"),
        ((1, 1), {"mode": "mirror"}, NotImplementedError, "Unrecognised padding mode"),
        ((1, 1), {"mode": "reflect", "value": 3}, RuntimeError, "doesn't take in value"),
    ):
        with pytest.raises(error, match=says):
            F.pad(x, widths, **words)
