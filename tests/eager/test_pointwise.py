"""Elementwise functions against mpmath: values, two derivatives, kinks and edges."""

import mpmath as mp
import numpy as np
import pytest

from tests.eager.chosen import ORACLE, check, leaf, ours, torch

inf, nan = float("inf"), float("nan")


def derivatives(y, xs):
    """The gradients of the sum of ``y``, recorded."""
    return torch.autograd.grad(y.sum(), xs, create_graph=True, allow_unused=True)


def second(gs, x):
    """The gradient of the sum of a gradient; zeros where it depends on nothing."""
    if gs is None or not gs.requires_grad:
        return torch.zeros_like(x)
    (h,) = torch.autograd.grad(gs.sum(), x, retain_graph=True, allow_unused=True)
    return torch.zeros_like(x) if h is None else h


# Functions of one operand -------------------------------------------------------------------------

INSIDE = [-0.9, -0.31, 0.02, 0.55, 0.97]
POSITIVE = [1e-3, 0.4, 1.0, 2.7, 35.0]
REAL = [-3.3, -0.7, -1e-4, 0.3, 1.4, 6.1]

# name: the function of mpmath numbers, and points.
SMOOTH = {
    "abs": (mp.fabs, REAL),
    "acos": (mp.acos, INSIDE),
    "acosh": (mp.acosh, [1.001, 1.5, 30.0]),
    "asin": (mp.asin, INSIDE),
    "asinh": (mp.asinh, [*REAL, 1e5]),
    "atan": (mp.atan, [*REAL, 1e5]),
    "atanh": (mp.atanh, INSIDE),
    "ceil": (mp.ceil, REAL),
    "cos": (mp.cos, REAL),
    "cosh": (mp.cosh, REAL),
    "deg2rad": (mp.radians, REAL),
    "erf": (mp.erf, REAL),
    "erfc": (mp.erfc, [*REAL, 20.0]),
    "erfinv": (mp.erfinv, INSIDE),
    "exp": (mp.exp, [*REAL, -700.0, 700.0]),
    "exp2": (lambda x: mp.power(2, x), REAL),
    "expm1": (mp.expm1, [*REAL, 1e-12, -50.0]),
    "floor": (mp.floor, REAL),
    "frac": (lambda x: x - mp.sign(x) * mp.floor(mp.fabs(x)), REAL),
    "lgamma": (lambda x: mp.re(mp.loggamma(x)), [-1.3, 0.2, 1.5, 30.0]),
    "log": (mp.log, POSITIVE),
    "log10": (mp.log10, POSITIVE),
    "log1p": (mp.log1p, [-0.9, 1e-12, 2.0]),
    "log2": (lambda x: mp.log(x, 2), POSITIVE),
    "logit": (lambda x: mp.log(x / (1 - x)), [0.01, 0.3, 0.5, 0.98]),
    "neg": (lambda x: -x, REAL),
    "rad2deg": (mp.degrees, REAL),
    "reciprocal": (lambda x: 1 / x, REAL),
    "relu": (lambda x: x if x > 0 else mp.mpf(0), REAL),
    "round": (mp.nint, REAL),
    "rsqrt": (lambda x: 1 / mp.sqrt(x), POSITIVE),
    "sgn": (mp.sign, REAL),
    "sigmoid": (lambda x: 1 / (1 + mp.exp(-x)), [*REAL, -700.0]),
    "sign": (mp.sign, REAL),
    "sin": (mp.sin, REAL),
    "sinc": (mp.sincpi, [-3.3, -0.7, 0.3, 1.4, 6.1]),
    "sinh": (mp.sinh, REAL),
    "sqrt": (mp.sqrt, POSITIVE),
    "square": (lambda x: x * x, REAL),
    "tan": (mp.tan, REAL),
    "tanh": (mp.tanh, REAL),
    "trunc": (lambda x: mp.sign(x) * mp.floor(mp.fabs(x)), REAL),
    "digamma": (mp.digamma, [-1.3, 0.2, 1.5, 30.0]),
}
# To so many digits: erfinv of SciPy's has 14; PyTorch's polygamma has 7.
LOOSE = {"erfinv": 1e-10, "sinc": 1e-6 if ORACLE == "torch" else 1e-11}
if ORACLE == "torch":
    LOOSE |= {"lgamma": 1e-5, "digamma": 1e-5, "erfc": 1e-9}

NAMES = {"square": "PowBackward0", "log1p": "Log1PBackward0", "deg2rad": "Deg2RadBackward0"}
NAMES |= {"rad2deg": "Rad2DegBackward0"}


def exact(f, x, order=0):
    """A derivative by central differences of 60 digits."""
    with mp.workdps(60):
        h = mp.mpf(10) ** -15
        x = mp.mpf(x)
        points = {0: [(0, 1)], 1: [(1, 0.5), (-1, -0.5)], 2: [(1, 1), (0, -2), (-1, 1)]}[order]
        return float(sum(c * mp.re(f(x + k * h)) for k, c in points) / h**order)


@pytest.mark.parametrize("name", SMOOTH)
def test_function_of_one_operand(name):
    """Function, method and in-place form; two derivatives; the name of the record."""
    f, at = SMOOTH[name]
    rtol = LOOSE.get(name, 1e-11)
    x = leaf(at)
    y = getattr(torch, name)(x)
    assert type(y.grad_fn).__name__ == NAMES.get(name, f"{name.capitalize()}Backward0")
    (g,) = derivatives(y, [x])
    for order, found in enumerate((y, g, second(g, x))):
        check(found + 0, [exact(f, v, order) for v in at], rtol=rtol, atol=1e-11)
    check(getattr(x.detach(), name)(), y.detach().numpy())
    z = x.detach().clone()
    assert getattr(z, f"{name}_")() is z
    check(z, y.detach().numpy())


@pytest.mark.parametrize("name", SMOOTH)
def test_functions_keep_single_precision(name):
    """float32 in, float32 out, to a few units in the last place; also for gradients."""
    f, at = SMOOTH[name]
    at = [float(np.float32(v)) for v in at if abs(v) < 80]
    x = leaf(at, torch.float32)
    y = getattr(torch, name)(x)
    (g,) = derivatives(y, [x])
    assert y.dtype == g.dtype == torch.float32
    check(y, [exact(f, v) for v in at], rtol=4e-6, atol=1e-6)
    check(g + 0, [exact(f, v, 1) for v in at], rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", SMOOTH)
def test_functions_of_integers(name):
    """Functions with real values make integers float32; the others leave them integers."""
    kept = {"abs", "ceil", "floor", "neg", "relu", "round", "sgn", "sign", "square", "trunc"}
    x = torch.tensor([1, 2])
    if name == "frac":
        with pytest.raises(NotImplementedError):
            torch.frac(x)
        return
    y = getattr(torch, name)(x)
    assert y.dtype == (torch.int64 if name in kept else torch.float32)
    assert not y.requires_grad


def test_functions_want_tensors():
    """Python numbers and text are refused."""
    for x in (2.0, "a", np.ones(2)):
        with pytest.raises(TypeError, match=r"argument 'input' \(position 1\) must be Tensor"):
            torch.sin(x)
    with pytest.raises(TypeError):
        torch.abs(torch.ones(1), 1)


def test_truth_values():
    """Rounding and absolute values are for numbers."""
    x = torch.tensor([True])
    for f in (torch.abs, torch.floor, torch.round, torch.trunc):
        with pytest.raises(NotImplementedError, match="not implemented for 'Bool'"):
            f(x)
    with pytest.raises(RuntimeError, match="Boolean inputs"):
        torch.relu(x)
    assert torch.sign(x).tolist() == [True]
    assert torch.sigmoid(x).dtype == torch.float32


# Kinks, edges and tails ---------------------------------------------------------------------------

EDGES = {
    "abs": (torch.abs, [0.0, -0.0, inf, -inf], [0.0, 0.0, inf, inf], [0.0, 0.0, 1.0, -1.0]),
    "relu": (torch.relu, [0.0, -0.0, nan], [0.0, 0.0, nan], [0.0, 0.0, 1.0]),
    "round": (torch.round, [0.5, 1.5, 2.5, -0.5], [0.0, 2.0, 2.0, 0.0], [0.0] * 4),
    "sign": (torch.sign, [0.0, nan, -inf], [0.0, 0.0, -1.0], [0.0] * 3),
    "floor": (torch.floor, [-0.5, 2.0, inf], [-1.0, 2.0, inf], [0.0] * 3),
    "frac": (torch.frac, [-1.25, 2.0], [-0.25, 0.0], [1.0, 1.0]),
    "sqrt": (torch.sqrt, [0.0, -1.0, inf], [0.0, nan, inf], [inf, nan, 0.0]),
    "rsqrt": (torch.rsqrt, [0.0, inf], [inf, 0.0], [-inf, 0.0]),
    "reciprocal": (torch.reciprocal, [0.0, -inf], [inf, 0.0], [-inf, 0.0]),
    "log": (torch.log, [0.0, -1.0, inf], [-inf, nan, inf], [inf, -1.0, 0.0]),
    "log1p": (torch.log1p, [-1.0, inf], [-inf, inf], [inf, 0.0]),
    "exp": (torch.exp, [-inf, 0.0, 1e4], [0.0, 1.0, inf], [0.0, 1.0, inf]),
    "sigmoid": (torch.sigmoid, [-inf, 800.0, -740.0], [0.0, 1.0, 4.2e-322], [0.0, 0.0, 4.2e-322]),
    "tanh": (torch.tanh, [-inf, 30.0], [-1.0, 1.0], [0.0, 0.0]),
    "asin": (torch.asin, [1.0, 2.0], [np.pi / 2, nan], [inf, nan]),
    "acos": (torch.acos, [-1.0, 2.0], [np.pi, nan], [-inf, nan]),
    "atanh": (torch.atanh, [1.0, -1.0], [inf, -inf], [inf, inf]),
    "atan": (torch.atan, [inf, -inf], [np.pi / 2, -np.pi / 2], [0.0, 0.0]),
    "erf": (torch.erf, [inf, 0.0], [1.0, 0.0], [0.0, 2 / np.sqrt(np.pi)]),
    "erfinv": (torch.erfinv, [1.0, -1.0], [inf, -inf], [inf, inf]),
    "erfc": (torch.erfc, [25.0], [8.300172571196522e-274], [-2 / np.sqrt(np.pi) * np.exp(-625.0)]),
    "sinc": (torch.sinc, [0.0], [1.0], [0.0]),
    "logit": (torch.logit, [0.0, 1.0], [-inf, inf], [inf, inf]),
    "logit eps": (
        lambda x: torch.logit(x, eps=0.25),
        [0.0, 0.25, 0.5, 0.9],
        [-np.log(3), -np.log(3), 0.0, np.log(3)],
        [0.0, 16 / 3, 4.0, 0.0],
    ),
    "round decimals": (lambda x: torch.round(x, decimals=1), [0.25, -1.26], [0.2, -1.3], [0, 0]),
    "nan_to_num": (
        torch.nan_to_num,
        [nan, inf, -inf, 2.0],
        [0.0, np.finfo(float).max, -np.finfo(float).max, 2.0],
        [0.0, 0.0, 0.0, 1.0],
    ),
    "nan_to_num numbers": (
        lambda x: torch.nan_to_num(x, nan=1.0, posinf=2.0, neginf=3.0),
        [nan, inf, -inf],
        [1.0, 2.0, 3.0],
        [0.0, 0.0, 0.0],
    ),
    "clamp": (
        lambda x: torch.clamp(x, -1, 1),
        [-2.0, -1.0, 0.5, 1.0, 2.0, nan],
        [-1.0, -1.0, 0.5, 1.0, 1.0, nan],
        [0.0, 1.0, 1.0, 1.0, 0.0, 0.0],
    ),
    "clamp crossed": (lambda x: x.clip(1, 0), [-1.0, 0.5, 2.0], [0.0] * 3, [0.0] * 3),
    "clamp_min": (lambda x: x.clamp_min(1), [0.0, 1.0, 2.0], [1.0, 1.0, 2.0], [0.0, 1.0, 1.0]),
    "clamp_max": (lambda x: x.clamp_max(1), [0.0, 1.0, 2.0], [0.0, 1.0, 1.0], [1.0, 1.0, 0.0]),
}


@pytest.mark.parametrize("name", EDGES)
def test_edge(name):
    """Values and gradients at kinks, poles and infinities."""
    f, at, values, gradients = EDGES[name]
    x = leaf(at)
    y = f(x)
    check(y, values, rtol=1e-12, atol=1e-320)
    check(derivatives(y, [x])[0], gradients, rtol=1e-12, atol=1e-320)


@ours
def test_sinc_near_zero():
    """PyTorch divides by x² there; the series keeps every derivative."""
    x = leaf([0.0, 1e-9])
    (g,) = derivatives(torch.sinc(x), [x])
    check(second(g, x), [-(np.pi**2) / 3] * 2)


# Functions of two operands ------------------------------------------------------------------------

A, B = [0.3, 1.6, 2.45, 0.9], [0.7, 1.2, 3.1, 0.2]

BINARY = {
    "atan2": mp.atan2,
    "hypot": mp.hypot,
    "logaddexp": lambda a, b: mp.log(mp.exp(a) + mp.exp(b)),
    "xlogy": lambda a, b: a * mp.log(b),
    "maximum": lambda a, b: max(a, b),
    "minimum": lambda a, b: min(a, b),
    "fmax": lambda a, b: max(a, b),
    "fmin": lambda a, b: min(a, b),
}


@pytest.mark.parametrize("name", BINARY)
def test_function_of_two_operands(name):
    """Values, gradients, and the gradient of the sum of both."""
    f = BINARY[name]
    a, b = leaf(A), leaf(B)
    y = getattr(torch, name)(a, b)
    assert type(y.grad_fn).__name__ == f"{name.capitalize()}Backward0"
    ga, gb = derivatives(y, [a, b])
    pairs = list(zip(A, B, strict=True))
    check(y, [exact(f_of(f, q), p) for p, q in pairs], rtol=1e-11)
    check(ga, [exact(f_of(f, q), p, 1) for p, q in pairs], rtol=1e-11)
    check(gb, [exact(f_of(f, p, first=True), q, 1) for p, q in pairs], rtol=1e-11)
    check(second(ga, a), [exact(f_of(f, q), p, 2) for p, q in pairs], rtol=1e-11, atol=1e-11)
    check(second(gb, b), [exact(f_of(f, p, first=True), q, 2) for p, q in pairs], 1e-11, 1e-11)
    check(second(ga, b), second(gb, a).detach().numpy(), rtol=1e-11, atol=1e-11)
    check(getattr(a.detach(), name)(b), y.detach().numpy())


def f_of(f, fixed, first=False):
    """``f`` with one argument fixed."""
    fixed = mp.mpf(fixed)
    return (lambda v: f(fixed, v)) if first else (lambda v: f(v, fixed))


TIES = {
    "maximum": (torch.maximum, 2.0, 2.0, 2.0, 0.5, 0.5),
    "minimum": (torch.minimum, 2.0, 2.0, 2.0, 0.5, 0.5),
    "fmax": (torch.fmax, 2.0, 2.0, 2.0, 1.0, 0.0),
    "fmin": (torch.fmin, 2.0, 2.0, 2.0, 1.0, 0.0),
    "fmax of nan": (torch.fmax, nan, 2.0, 2.0, 0.0, 1.0),
    "fmin with nan": (torch.fmin, 2.0, nan, 2.0, 1.0, 0.0),
    "atan2": (torch.atan2, 0.0, 0.0, 0.0, 0.0, 0.0),
    "logaddexp": (torch.logaddexp, 1000.0, 1000.0, 1000.0 + np.log(2), 0.5, 0.5),
    "xlogy": (torch.xlogy, 0.0, 2.0, 0.0, np.log(2), 0.0),
    "clamp min": (lambda a, b: torch.clamp(a, min=b), 1.0, 1.0, 1.0, 1.0, 0.0),
    "clamp max": (lambda a, b: torch.clamp(a, max=b), 2.0, 1.0, 1.0, 0.0, 1.0),
    "clamp both": (lambda a, b: torch.clamp(a, b, b + 1), 0.0, 1.0, 1.0, 0.0, 1.0),
    "clamp_min": (torch.clamp_min, 0.0, 1.0, 1.0, 0.0, 1.0),
    "clamp_max": (torch.clamp_max, 1.0, 1.0, 1.0, 1.0, 0.0),
}


@pytest.mark.parametrize("name", TIES)
def test_tie(name):
    """Where two functions meet, and at singular points."""
    f, p, q, value, *gradients = TIES[name]
    a, b = leaf([p]), leaf([q])
    y = f(a, b)
    check(y, [value], rtol=1e-12)
    for g, expected in zip(derivatives(y, [a, b]), gradients, strict=True):
        check(g, [expected], rtol=1e-12)


def test_hypot_does_not_overflow():
    """Neither do its gradients."""
    a, b = leaf([3e200, 0.0]), leaf([4e200, -3e-200])
    y = torch.hypot(a, b)
    check(y, [5e200, 3e-200], rtol=1e-12, atol=0)
    for g, expected in zip(derivatives(y, [a, b]), ([0.6, 0.0], [0.8, -1.0]), strict=True):
        check(g, expected, rtol=1e-12)


def test_numbers_as_operands():
    """xlogy and where take numbers; the others want Tensors."""
    x = leaf([0.5, 2.0])
    check(torch.xlogy(x, 2), [0.5 * np.log(2), 2 * np.log(2)])
    check(torch.xlogy(2, x), [2 * np.log(0.5), 2 * np.log(2)])
    assert torch.xlogy(torch.ones(1), 2.0).dtype == torch.float32
    for f in (torch.maximum, torch.atan2, torch.logaddexp, torch.hypot, torch.fmin):
        with pytest.raises(TypeError, match=r"argument 'other' \(position 2\) must be Tensor"):
            f(x, 1.0)


def test_clamp_errors():
    """No bound, or a number and a tensor."""
    x = torch.ones(2)
    with pytest.raises(RuntimeError, match="At least one"):
        torch.clamp(x)
    with pytest.raises(TypeError):
        torch.clamp(x, x, 1.0)
    with pytest.raises(TypeError):
        torch.clamp(x, "a")


# Selections ---------------------------------------------------------------------------------------


def test_where():
    """Each side gets the gradient where it is chosen; broadcast sides the sum."""
    a, b = leaf([[1.0, 2.0], [3.0, 4.0]]), leaf([5.0, 6.0])
    condition = torch.tensor([[True, False], [False, False]])
    y = torch.where(condition, a, b)
    assert type(y.grad_fn).__name__ == "WhereBackward0"
    check(y, [[1.0, 6.0], [5.0, 6.0]])
    ga, gb = derivatives(y * y, [a, b])
    check(ga, [[2.0, 0.0], [0.0, 0.0]])
    check(gb, [10.0, 24.0])
    check(a.where(condition, 0), [[1.0, 0.0], [0.0, 0.0]])
    assert [i.tolist() for i in torch.where(condition)] == [[0], [0]]


@pytest.mark.parametrize(
    ("a", "b", "dtype"),
    [
        (1, 2, "int64"),
        (1.0, 2, "float32"),
        (torch.ones(2), 2, "float32"),
        (torch.ones(2, dtype=torch.float64), 2.0, "float64"),
        (torch.ones(2), torch.ones(2, dtype=torch.float64), "float64"),
        (torch.ones(2), torch.tensor(1.0, dtype=torch.float64), "float32"),
        (torch.tensor([1, 2]), 1.5, "float32"),
        (torch.tensor([1, 2], dtype=torch.int32), 5, "int32"),
        (torch.tensor([True, False]), torch.tensor([1, 2]), "int64"),
    ],
)
def test_where_promotes(a, b, dtype):
    """As sums do."""
    y = torch.where(torch.tensor([True, False]), a, b)
    assert y.dtype == getattr(torch, dtype)
    first, other = (t.tolist() if isinstance(t, torch.Tensor) else t for t in (a, b))
    first = first[0] if isinstance(first, list) else first
    other = other[1] if isinstance(other, list) else other
    assert y.tolist() == [first, other]


def test_where_wants_a_condition():
    """Numbers are no truth values; shapes must broadcast."""
    x = torch.ones(2)
    with pytest.raises(RuntimeError, match="boolean tensor, but got a tensor with dtype Float"):
        torch.where(x, x, x)
    with pytest.raises(RuntimeError, match="must match"):
        torch.where(x > 0, x, torch.ones(3))


@ours
@pytest.mark.parametrize(
    "f",
    [
        lambda y: y.clamp(min=1),
        lambda y: torch.clamp(y, torch.ones(2).double()),
        lambda y: torch.maximum(y, torch.ones(2).double()),
        lambda y: torch.fmax(y, torch.ones(2).double()),
        lambda y: y.relu() + 1,
        torch.nan_to_num,
        lambda y: torch.where(y > 0, y, 0.0),
    ],
)
def test_zeros_below_selections(f):
    """What is not selected has derivative 0 of every order, though log(0) has an infinite one."""
    x = leaf([0.0, 4.0])
    y = f(x.log())
    for expected in (0.25, -0.0625, 0.03125):
        (y,) = derivatives(y, [x])
        check(y, [0.0, expected])


# In place -----------------------------------------------------------------------------------------


def test_fill():
    """A number leaves no gradient; a tensor gets the sum."""
    x, v = leaf([1.0, 2.0, 3.0]), leaf(4.0)
    y = x * 1
    assert y.fill_(v) is y
    check(y, [4.0] * 3)
    gx, gv = derivatives(y * y, [x, v])
    check(gx, [0.0] * 3)
    check(gv, 24.0)
    z = (x * 1).fill_(7)
    check(z, [7.0] * 3)
    check(derivatives(z, [x])[0], [0.0] * 3)
    assert torch.tensor([1, 2]).fill_(1.7).tolist() == [1, 1]
    assert type((x * 1).zero_().grad_fn).__name__ == "ZeroBackward0"
    with pytest.raises(RuntimeError, match="0-dimension"):
        torch.ones(2).fill_(torch.ones(2))


AT = np.array([0.3, 1.6, 2.5])
INPLACE = {
    "clamp_": (lambda y: y.clamp_(0.4, 2), [0.0, 1.0, 0.0]),
    "clamp_min_": (lambda y: y.clamp_min_(0.4), [0.0, 1.0, 1.0]),
    "exp_": (lambda y: y.exp_(), np.exp(AT)),
    "round_": (lambda y: y.round_(), [0.0] * 3),
    "nan_to_num_": (lambda y: y.nan_to_num_(), [1.0] * 3),
    "atan2_": (lambda y: y.atan2_(torch.ones(3).double()), 1 / (1 + AT**2)),
    "logit_": (lambda y: (y / 4).logit_(), 1 / AT + 1 / (4 - AT)),
}


@pytest.mark.parametrize("name", INPLACE)
def test_gradient_of_inplace_forms(name):
    """The history of an in-place form is that of the function."""
    f, expected = INPLACE[name]
    x = leaf(AT.tolist())
    check(derivatives(f(x * 1), [x])[0], expected)


# What is saved ------------------------------------------------------------------------------------

SAVED = {
    "operand": [
        *(torch.sin, torch.cos, torch.log, torch.abs, torch.square, torch.erf, torch.atan),
        lambda x: x.clamp(0, 1),
    ],
    "result": [
        *(torch.exp, torch.expm1, torch.exp2, torch.sigmoid, torch.tanh, torch.tan, torch.sqrt),
        *(torch.rsqrt, torch.reciprocal, torch.relu),
    ],
    "nothing": [
        *(torch.neg, torch.floor, torch.ceil, torch.round, torch.trunc, torch.sign, torch.frac),
    ],
}


@pytest.mark.parametrize("kind", SAVED)
def test_what_is_saved(kind):
    """A change of what was saved is found; nothing saved, nothing freed."""
    for f in SAVED[kind]:
        for changed in ("operand", "result"):
            x = leaf([0.3, 0.6])
            h = x * 1
            y = f(h)
            (h if changed == "operand" else y).detach().mul_(1)
            if changed == kind:
                with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                    torch.autograd.grad(y.sum(), h)
            else:
                torch.autograd.grad(y.sum(), h)
        y = f(h)
        torch.autograd.grad(y, h, torch.ones(2).double())
        if kind == "nothing":
            torch.autograd.grad(y, h, torch.ones(2).double())
        else:
            with pytest.raises(RuntimeError, match="second time"):
                torch.autograd.grad(y, h, torch.ones(2).double())
