"""Activation functions: values, gradients and names as PyTorch has them, and both derivatives."""

import numpy as np
import pytest

from tests.eager.chosen import check, leaf, torch
from tests.eager.differences import agree

F = torch.nn.functional

POINTS = [-1000.0, -3.0, -0.5, 0.0, 0.25, 6.0, 21.0, 1000.0]
SMOOTH = [[-2.3, -0.8, -0.3], [0.4, 1.7, 4.4]]  # away from kinks

# Function, arguments, name of the node; at the points, the values and the gradients: measured.
ROWS = [
    ("relu", {}, "ReluBackward0", [0, 0, 0, 0, 0.25, 6, 21, 1000], [0, 0, 0, 0, 1, 1, 1, 1]),
    ("relu6", {}, "HardtanhBackward0", [0, 0, 0, 0, 0.25, 6, 6, 6], [0, 0, 0, 0, 1, 0, 0, 0]),
    (
        "hardtanh",
        {},
        "HardtanhBackward0",
        [-1, -1, -0.5, 0, 0.25, 1, 1, 1],
        [0, 0, 1, 1, 1, 0, 0, 0],
    ),
    (
        "hardtanh",
        {"min_val": -2, "max_val": 0.25},
        "HardtanhBackward0",
        [-2, -2, -0.5, 0, 0.25, 0.25, 0.25, 0.25],
        [0, 0, 1, 1, 0, 0, 0, 0],
    ),
    (
        "leaky_relu",
        {},
        "LeakyReluBackward0",
        [-10, -0.03, -0.005, 0, 0.25, 6, 21, 1000],
        [0.01, 0.01, 0.01, 0.01, 1, 1, 1, 1],
    ),
    (
        "leaky_relu",
        {"negative_slope": 0.25},
        "LeakyReluBackward0",
        [-250, -0.75, -0.125, 0, 0.25, 6, 21, 1000],
        [0.25, 0.25, 0.25, 0.25, 1, 1, 1, 1],
    ),
    (
        "elu",
        {},
        "EluBackward0",
        [-1, -0.9502129, -0.3934693, 0, 0.25, 6, 21, 1000],
        [0, 0.04978707, 0.6065307, 1, 1, 1, 1, 1],
    ),
    (
        "elu",
        {"alpha": 0.5},
        "EluBackward0",
        [-0.5, -0.4751065, -0.1967347, 0, 0.25, 6, 21, 1000],
        [0, 0.02489353, 0.3032653, 0.5, 1, 1, 1, 1],
    ),
    (
        "celu",
        {"alpha": 0.5},
        "CeluBackward0",
        [-0.5, -0.4987606, -0.3160603, 0, 0.25, 6, 21, 1000],
        [0, 0.002478752, 0.3678794, 1, 1, 1, 1, 1],
    ),
    (
        "selu",
        {},
        "EluBackward0",
        [-1.758099, -1.670569, -0.6917582, 0, 0.2626752, 6.304206, 22.06472, 1050.701],
        [0, 0.08753061, 1.066341, 1.758099, 1.050701, 1.050701, 1.050701, 1.050701],
    ),
    (
        "gelu",
        {},
        "GeluBackward0",
        [-0, -0.004049694, -0.1542688, 0, 0.1496766, 6, 21, 1000],
        [0, -0.01194565, 0.1325049, 0.5, 0.6953734, 1, 1, 1],
    ),
    (
        "gelu",
        {"approximate": "tanh"},
        "GeluBackward0",
        [-0, -0.003637392, -0.154286, 0, 0.1496754, 6, 21, 1000],
        [0, -0.01158417, 0.1326301, 0.5, 0.6953541, 1, 1, 1],
    ),
    (
        "silu",
        {},
        "SiluBackward0",
        [-0, -0.1422776, -0.1887703, 0, 0.1405441, 5.985164, 21, 1000],
        [-0, -0.08810411, 0.2600388, 0.5, 0.62371, 1.012326, 1, 1],
    ),
    (
        "mish",
        {},
        "MishBackward0",
        [-0, -0.1456475, -0.2207438, 0, 0.1695724, 5.999927, 21, 1000],
        [0, -0.09339311, 0.2895107, 0.6, 0.7541727, 1.000134, 1, 1],
    ),
    (
        "softplus",
        {},
        "SoftplusBackward0",
        [0, 0.04858735, 0.474077, 0.6931472, 0.8259394, 6.002476, 21, 1000],
        [0, 0.04742587, 0.3775407, 0.5, 0.5621765, 0.9975274, 1, 1],
    ),
    (
        "softplus",
        {"beta": 2, "threshold": 5},
        "SoftplusBackward0",
        [0, 0.001237843, 0.1566308, 0.3465736, 0.4870385, 6, 21, 1000],
        [0, 0.002472623, 0.2689414, 0.5, 0.6224593, 1, 1, 1],
    ),
    (
        "softsign",
        {},
        "DivBackward0",
        [-0.999001, -0.75, -0.3333333, 0, 0.2, 0.8571429, 0.9545455, 0.999001],
        [9.98003e-07, 0.0625, 0.4444444, 1, 0.64, 0.02040816, 0.002066116, 9.98003e-07],
    ),
    (
        "logsigmoid",
        {},
        "LogSigmoidBackward0",
        [-1000, -3.048587, -0.974077, -0.6931472, -0.5759394, -0.002475685, -7.58256e-10, 0],
        [1, 0.9525741, 0.6224593, 0.5, 0.4378235, 0.002472623, 7.58256e-10, 0],
    ),
    (
        "sigmoid",
        {},
        "SigmoidBackward0",
        [0, 0.04742587, 0.3775407, 0.5, 0.5621765, 0.9975274, 1, 1],
        [0, 0.04517666, 0.2350037, 0.25, 0.2461341, 0.002466509, 7.582561e-10, 0],
    ),
    (
        "tanh",
        {},
        "TanhBackward0",
        [-1, -0.9950548, -0.4621172, 0, 0.2449187, 0.9999877, 1, 1],
        [0, 0.009866037, 0.7864477, 1, 0.9400148, 2.457655e-05, 0, 0],
    ),
    (
        "tanhshrink",
        {},
        "SubBackward0",
        [-999, -2.004945, -0.03788284, 0, 0.005081338, 5.000012, 20, 999],
        [1, 0.990134, 0.2135523, 0, 0.05998515, 0.9999754, 1, 1],
    ),
    (
        "hardshrink",
        {},
        "HardshrinkBackward0",
        [-1000, -3, 0, 0, 0, 6, 21, 1000],
        [1, 1, 0, 0, 0, 1, 1, 1],
    ),
    (
        "softshrink",
        {},
        "SoftshrinkBackward0",
        [-999.5, -2.5, 0, 0, 0, 5.5, 20.5, 999.5],
        [1, 1, 0, 0, 0, 1, 1, 1],
    ),
    (
        "hardswish",
        {},
        "HardswishBackward0",
        [-0, -0, -0.2083333, 0, 0.1354167, 6, 21, 1000],
        [0, 0, 0.3333333, 0.5, 0.5833333, 1, 1, 1],
    ),
    (
        "threshold",
        {"threshold": 0.25, "value": 7},
        "ThresholdBackward0",
        [7, 7, 7, 7, 7, 6, 21, 1000],
        [0, 0, 0, 0, 0, 1, 1, 1],
    ),
]
IDS = [f"{name}{list(words.values()) or ''}" for name, words, *_ in ROWS]


@pytest.mark.parametrize(("name", "words", "node", "values", "slopes"), ROWS, ids=IDS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_values_and_gradients_at_kinks_and_in_the_tails(name, words, node, values, slopes, dtype):
    x = leaf(POINTS, dtype)
    y = getattr(F, name)(x, **words)
    y.sum().backward()
    assert type(y.grad_fn).__name__ == node
    assert y.dtype == x.grad.dtype == dtype
    rtol, atol = (1e-6, 1e-12) if dtype == torch.float64 else (2e-4, 2e-7)
    check(y, values, rtol, atol)
    check(x.grad, slopes, rtol, atol)


@pytest.mark.parametrize(("name", "words"), [row[:2] for row in ROWS], ids=IDS)
def test_derivatives_are_those_of_differences(name, words):
    agree(lambda x: getattr(F, name)(x, **words), SMOOTH)


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmin"])
@pytest.mark.parametrize("dim", [0, -1])
def test_normalised_exponentials(name, dim):
    agree(lambda x: getattr(F, name)(x, dim=dim), SMOOTH)
    x = leaf([1000.0, -1000.0, 999.0])
    y = F.softmax(x, dim=0)
    check(y, [0.731058579, 0, 0.268941421])
    F.log_softmax(x, dim=0)[1].backward()
    check(x.grad, [-0.731058579, 1, -0.268941421])


def test_nan_passes():
    for name in ("relu", "relu6", "leaky_relu", "elu", "gelu", "silu", "softplus", "hardtanh"):
        assert np.isnan(getattr(F, name)(leaf([np.nan])).item()), name


def test_an_infinite_branch_that_is_not_taken_leaves_no_trace():
    x = leaf([1000.0, 1e4])
    (F.elu(x) + F.celu(x) + F.selu(x) + F.softplus(x) + F.mish(x)).sum().backward()
    assert np.isfinite(x.grad.numpy()).all()
    (g,) = torch.autograd.grad(F.softplus(x).sum(), x, create_graph=True)
    check(g, [1, 1])


def test_relu_in_place():
    x = leaf([-1.0, 2.0])
    h = x * 1
    y = F.relu(h, inplace=True)
    assert y is h
    check(h, [0, 2])
    h.sum().backward()
    check(x.grad, [0, 1])
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        F.relu(x, inplace=True)


def test_relu_saves_its_result():
    x = leaf([-1.0, 2.0])
    h = x * 1
    y = F.relu(h)
    h.add_(1)
    y.sum().backward()
    z = F.relu(x * 1)
    z.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


LINEAR = [
    ((4, 3), (2, 3), (2,), "AddmmBackward0"),
    ((4, 3), (2, 3), None, "MmBackward0"),
    ((3,), (2, 3), (2,), "ViewBackward0"),
    ((5, 4, 3), (2, 3), (2,), "ViewBackward0"),
    ((5, 4, 3), (2, 3), None, "UnsafeViewBackward0"),
    ((4, 3), (3,), None, "MvBackward0"),
]


@pytest.mark.parametrize(("x", "w", "b", "node"), LINEAR)
def test_linear(x, w, b, node):
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape) for shape in (x, w, b) if shape is not None]
    y = F.linear(*[leaf(a) for a in arrays])
    assert type(y.grad_fn).__name__ == node
    check(y, arrays[0] @ arrays[1].T + (arrays[2] if b else 0))
    agree(F.linear, *arrays)


def test_prelu_and_dropout():
    rng = np.random.default_rng(0)
    agree(F.prelu, rng.standard_normal((4, 3)), rng.standard_normal(3))
    agree(F.prelu, rng.standard_normal((4, 3)), [0.3])
    x = leaf(np.ones(1000))
    assert F.dropout(x, 0.5, training=False) is x
    y = F.dropout(x, 0.75)
    y.sum().backward()
    assert set(np.unique(y.detach().numpy())) == {0.0, 4.0}
    check(x.grad, y.detach().numpy())


ERRORS = [
    (lambda x: F.gelu(x, approximate="x"), RuntimeError, "approximate argument must be"),
    (lambda x: F.hardtanh(x, 1, -1), ValueError, "min_val cannot be greater"),
    (lambda x: F.celu(x, 0.0), RuntimeError, "alpha cannot be 0"),
    (lambda x: F.elu(x.long()), NotImplementedError, "not implemented for 'Long'"),
    (lambda x: F.linear(x, torch.ones(4, 3)), RuntimeError, "cannot be multiplied"),
    (lambda x: F.linear(x, x.double(), x.double()[0]), RuntimeError, "same dtype"),
    (lambda x: F.dropout(x, 2.0), ValueError, "has to be between 0 and 1"),
]


@pytest.mark.parametrize(("f", "error", "says"), ERRORS)
def test_errors(f, error, says):
    with pytest.raises(error, match=says):
        f(torch.ones(2, 2))


def test_integers():
    x = torch.tensor([-3, 9])
    assert F.relu6(x).tolist() == [0, 6]
    assert F.hardtanh(x).tolist() == [-1, 1]
    assert F.softsign(x).dtype == torch.float32
