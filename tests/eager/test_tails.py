"""Values and slopes where functions saturate or vanish, beside the formulas in many digits.

The formulas are written a second time, in mpmath, with their derivatives by its differences: they
share nothing with what they judge.  Eager tensors, compiled functions and transforms are judged in
both precisions.  An answer may be off by some roundings of itself and of the operand (times the
condition number).  ``LIKE_PYTORCH`` says which are computed as PyTorch computes them, and are exact
beside the largest number inside, as 1, alone.
"""

import os

import mpmath as mp
import numpy as np
import pytest

import numeric as torch

F = torch.nn.functional
ROUNDINGS = 32
UNIT = {"float64": 2.0**-53, "float32": 2.0**-24}

POINTS = [0.25, 0.5, 2.0, 5.0, 8.5, 30.0, 60.0, 1e-3, 1e-30]
DIGITS = 150
if os.environ.get("HYPOTHESIS_PROFILE") == "fuzz":  # which takes hundreds of digits
    POINTS += [1.0, 3.5, 19.75, 45.0, 87.0, 110.0, 1e-8, 1e-60, 1 - 2.0**-20, 1 + 2.0**-20]
    DIGITS = 400


def softplus(x):
    return mp.log1p(mp.exp(x))


def sigmoid(x):
    return 1 / (1 + mp.exp(-x))


def normal(x):
    return mp.erfc(-x / mp.sqrt(2)) / 2


def pair(f):
    """``f`` along the first axis of the operand above zeros."""
    return lambda x: f(torch.stack([x, torch.zeros_like(x)]))


def of_classes(order):
    """The cross entropy of class 0, of logits in this order."""

    def loss(x):
        logits = torch.stack([x, torch.zeros_like(x)][::order], 1)
        return F.cross_entropy(logits, torch.zeros(len(x)).long(), reduction="none")

    return loss


def of_logits(target):
    """The binary cross entropy of logits with one target."""
    return lambda x: F.binary_cross_entropy_with_logits(
        x, torch.full_like(x, target), reduction="none"
    )


# The function, and what it means.
FUNCTIONS = {
    "exp": (torch.exp, mp.exp),
    "expm1": (torch.expm1, mp.expm1),
    "log1p": (torch.log1p, mp.log1p),
    "log": (torch.log, mp.log),
    "sqrt": (torch.sqrt, mp.sqrt),
    "rsqrt": (torch.rsqrt, lambda x: 1 / mp.sqrt(x)),
    "reciprocal": (torch.reciprocal, lambda x: 1 / x),
    "tanh": (torch.tanh, mp.tanh),
    "sinh": (torch.sinh, mp.sinh),
    "cosh": (torch.cosh, mp.cosh),
    "asinh": (torch.asinh, mp.asinh),
    "atanh": (torch.atanh, mp.atanh),
    "atan": (torch.atan, mp.atan),
    "asin": (torch.asin, mp.asin),
    "erf": (torch.erf, mp.erf),
    "erfc": (torch.erfc, mp.erfc),
    "sigmoid": (torch.sigmoid, sigmoid),
    "logit": (torch.logit, lambda x: mp.log(x / (1 - x))),
    "softplus": (lambda x: F.softplus(x, threshold=1e3), softplus),
    "logsigmoid": (F.logsigmoid, lambda x: -softplus(-x)),
    "silu": (F.silu, lambda x: x * sigmoid(x)),
    "mish": (F.mish, lambda x: x * mp.tanh(softplus(x))),
    "gelu": (F.gelu, lambda x: x * normal(x)),
    "elu": (F.elu, lambda x: x if x > 0 else mp.expm1(x)),
    "softsign": (F.softsign, lambda x: x / (1 + abs(x))),
    "tanhshrink": (F.tanhshrink, lambda x: x - mp.tanh(x)),
    "logaddexp": (lambda x: torch.logaddexp(x, torch.zeros_like(x)), softplus),
    "logsumexp": (pair(lambda x: x.logsumexp(0)), softplus),
    "logcumsumexp": (pair(lambda x: x.logcumsumexp(0)[1]), softplus),
    "softmax": (pair(lambda x: x.softmax(0)[0]), sigmoid),
    "softmin": (pair(lambda x: F.softmin(x, 0)[0]), lambda x: sigmoid(-x)),
    "log_softmax": (pair(lambda x: x.log_softmax(0)[0]), lambda x: -softplus(-x)),
    "hypot": (lambda x: torch.hypot(x, torch.ones_like(x)), lambda x: mp.sqrt(x * x + 1)),
    "norm": (
        pair(lambda x: (x + torch.tensor([[0.0], [1.0]])).norm(dim=0)),
        lambda x: mp.sqrt(x * x + 1),
    ),
    "cross_entropy of class 0": (of_classes(1), lambda x: softplus(-x)),
    "cross_entropy of class 1": (of_classes(-1), softplus),
    "logits of 1": (of_logits(1.0), lambda x: softplus(-x)),
    "logits of 0": (of_logits(0.0), softplus),
    "logits of 0.25": (of_logits(0.25), lambda x: softplus(x) - x / 4),
}  # fmt: skip

_SAVED = "a slope by the saved result, as the operand may have been overwritten"
_SHIFTED = "what is added up includes the largest exponential, 1"
LIKE_PYTORCH = {
    "tanh": _SAVED, "sigmoid": _SAVED, "expm1": _SAVED, "softmax": _SAVED, "softmin": _SAVED,
    "log_softmax": _SHIFTED, "cross_entropy of class 0": _SHIFTED,
    "cross_entropy of class 1": _SHIFTED, "tanhshrink": "x - tanh(x)",
    "softsign": "1/(1 + |x|) less |x|/(1 + |x|)**2",
}  # fmt: skip
# Those that are exact in transforms, for which the operand is there.
EXACT_TRACED = ("tanh", "sigmoid", "expm1")


def exact(f, x):
    """Value, slope and second derivative as numbers of mpmath; None where they are not real."""
    step = mp.mpf(10) ** (-DIGITS // 4) * (abs(x) if abs(x) < 1 else 1)
    try:
        below, at, above = f(x - step), f(x), f(x + step)
    except (ValueError, ZeroDivisionError):
        return None
    if not all(isinstance(y, mp.mpf) for y in (below, at, above)):
        return None
    return at, (above - below) / (2 * step), (above - 2 * at + below) / step**2


def computed(f, x):
    """Values and slopes in each form."""
    with np.errstate(all="ignore"):
        y = f(x)
        (slopes,) = torch.autograd.grad(y.sum(), x)
        traced = torch.func.grad(lambda z: f(z).sum())(x.detach())
        yield "eager", y, slopes
        yield "traced", torch.compile(f)(x.detach()), traced


@pytest.mark.parametrize("kind", UNIT)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_tails(name, kind):
    function, meaning = FUNCTIONS[name]
    limits = np.finfo(kind)
    rows = []
    with mp.workdps(DIGITS):
        for point in np.array([s * p for p in POINTS for s in (1, -1)]).astype(kind).tolist():
            found = exact(meaning, mp.mpf(point)) if abs(point) > limits.tiny else None
            if found is not None and all(abs(y) < limits.max for y in found[:2]):
                f, g, h = found
                bounds = [abs(f) + abs(g * point), abs(g) + abs(h * point)]
                rows.append([point, f, g, *bounds])
        table = np.array([[float(y) for y in row] for row in rows]).T
    points, *expected = table[:3]
    x = torch.tensor(points, dtype=getattr(torch, kind), requires_grad=True)
    assert len(points) > 3
    for form, *ys in computed(function, x):
        granted = name in LIKE_PYTORCH and not (form == "traced" and name in EXACT_TRACED)
        for what, y, e, bound in zip(("value", "slope"), ys, expected, table[3:], strict=True):
            allowed = ROUNDINGS * UNIT[kind] * (bound + granted) + limits.tiny
            off = np.abs(y.detach().numpy().astype(float) - e)
            k = int(np.argmax(off / allowed))
            assert off[k] <= allowed[k], f"{form} {what} at {points[k]}: {y[k]}, not {e[k]}"


def test_what_is_granted_is_needed():
    """A row of ``LIKE_PYTORCH`` that is exact is none any more."""
    at = {"tanh": 8.5, "sigmoid": 30.0, "expm1": -30.0, "softmax": 30.0, "softmin": -30.0,
          "log_softmax": 60.0, "cross_entropy of class 0": 60.0, "cross_entropy of class 1": -60.0,
          "tanhshrink": 1e-3, "softsign": 2.0**20}  # fmt: skip
    assert set(at) == set(LIKE_PYTORCH)
    for name, point in at.items():
        function, meaning = FUNCTIONS[name]
        x = torch.tensor([point], dtype=torch.float64, requires_grad=True)
        _, y, slope = next(computed(function, x))
        with mp.workdps(DIGITS):
            expected = [float(v) for v in exact(meaning, mp.mpf(point))[:2]]
        pairs = zip((y.item(), slope.item()), expected, strict=True)
        assert any(abs(v - e) > ROUNDINGS * UNIT["float64"] * abs(e) for v, e in pairs), name
