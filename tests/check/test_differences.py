"""``nm.check.derivative``: its error is a bound, held against 60 digits; and what has none."""

import math
import random

import mpmath as mp
import numpy as np
import pytest

import numeric as nm
from numeric.check import lines
from tests.support.budget import scaled
from tests.support.refusals import refused

# Our function, the same by mpmath, and where it is defined.
FUNCTIONS = {
    "sin": (np.sin, mp.sin, "real"),
    "cos": (np.cos, mp.cos, "real"),
    "sin of 50 x": (lambda x: np.sin(50 * x), lambda x: mp.sin(50 * x), "real"),
    "exp": (np.exp, mp.exp, "small"),
    "exp minus 1": (lambda x: np.exp(x) - 1, lambda x: mp.exp(x) - 1, "small"),
    "log": (np.log, mp.log, "positive"),
    "log1p": (np.log1p, mp.log1p, "positive"),
    "sqrt": (np.sqrt, mp.sqrt, "positive"),
    "reciprocal": (lambda x: 1 / x, lambda x: 1 / x, "real"),
    "tanh": (np.tanh, mp.tanh, "real"),
    "atan": (np.arctan, mp.atan, "real"),
    "cubic": (lambda x: x**3 - 2 * x, lambda x: x**3 - 2 * x, "real"),
    "bell": (lambda x: np.exp(-x * x), lambda x: mp.exp(-x * x), "real"),
    "narrow": (lambda x: 1 / (1 + 1e4 * x * x), lambda x: 1 / (1 + 10**4 * x * x), "real"),
    "sinc": (lambda x: np.sin(x) / x, lambda x: mp.sin(x) / x, "real"),
    "steep": (lambda x: 1e6 * x, lambda x: 10**6 * x, "real"),
    "flat": (lambda x: 1e-6 * x + 1, lambda x: mp.mpf(1e-6) * x + 1, "real"),
    "rounded": (lambda x: (x + 1e8) - 1e8 + x * x, lambda x: x + x * x, "real"),
    "power": (lambda x: np.abs(x) ** 1.5, lambda x: abs(x) ** 1.5, "real"),
}


def a_point(rng, domain):
    x = 10 ** rng.uniform(-8, 3) if rng.random() < 0.4 else rng.uniform(0.01, 5)
    if domain != "positive":
        x *= rng.choice([-1, 1])
    return math.copysign(min(abs(x), 20.0), x) if domain == "small" else x


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_error_is_a_bound(name):
    ours, theirs, domain = FUNCTIONS[name]
    rng = random.Random(f"differences of {name}")
    ratios = []
    with mp.workdps(60), np.errstate(all="ignore"):
        for _ in range(scaled(30)):
            x = a_point(rng, domain)
            truth = mp.diff(theirs, mp.mpf(x))
            found = nm.check.derivative(lambda t: ours(float(t)), x, complex_step=False)
            line = lines.Line(lambda t: np.array([ours(t)]), x).estimate(lazy=True)
            for value, error in ((found.value, found.error), (line.value[0], line.error[0])):
                assert math.isfinite(error), (x, value)
                assert abs(mp.mpf(float(value)) - truth) <= error, (x, value, error, truth)
                ratios.append(error / max(float(abs(truth)), 1e-300))
    # It is not one that says nothing.
    assert np.median(ratios) < 1e-6


def test_the_bound_is_a_test():
    """Planted: without the last coefficients, or without consistency, the error is not a bound."""

    def bounded():
        x, right = 0.1, 0
        for k in range(20):
            found = nm.check.derivative(lambda t: 1 / (1 + 1e4 * t * t), x + k / 50)
            t = x + k / 50
            truth = -2e4 * t / (1 + 1e4 * t * t) ** 2
            right += abs(found.value - truth) <= found.error
        return right

    assert bounded() == 20
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines.Fit, "error", lambda self, noise=0.0: self.rounding)
        assert bounded() < 20


# Methods ------------------------------------------------------------------------------------------


NOT_ANALYTIC = (
    lambda x: (x * np.conj(x)).real,
    lambda x: np.abs(x) ** 2,
    lambda x: np.real(x) ** 2 + 0 * x,
    lambda x: x * np.conj(x) + 0j * x if np.iscomplexobj(x) else x * x,
    lambda x: float(x) ** 2,
    lambda x: math.pow(x, 2),
    lambda x: np.array([x]).astype(float)[0] ** 2,
    lambda x: 1 / 0 if isinstance(x, complex) else x * x,
)
# The function and where, its derivative, by which method, and how large the error may be.
METHODS = [
    (np.sin, 1.0, math.cos(1), "complex step", 1e-12),
    *((function, 2.0, 4.0, "central", 1e-11) for function in NOT_ANALYTIC),
    # at the edge of the domain
    (lambda x: x * math.sqrt(x), 0.0, 0.0, "forward", 1e-4),
    (lambda x: (1 - x) * math.sqrt(1 - x) - x, 1.0, -1.0, "backward", 1e-4),
    (lambda x: x + math.pow(x, 2.5), 0.0, 1.0, "forward", 1e-4),
    (lambda x: math.exp(x) if x >= 0 else math.nan, 0.0, 1.0, "forward", 1e-4),
    (lambda x: math.exp(x) if x <= 2 else math.inf, 2.0, math.exp(2), "backward", 1e-4),
    # near it
    *((math.log, x, 1 / x, "central", 1e-9 / x) for x in (1e-12, 1e-6, 1e-3)),
    # with a period that is a multiple of the steps
    *(
        (lambda x, k=k: math.sin(2**k * math.pi * x), 0.0, 2**k * math.pi, "central", 1e-6)
        for k in range(12)
    ),
    # of large and small values
    *(
        (lambda x, s=s: s * math.exp(x), 1.0, s * math.e, "central", 1e-9 * s)
        for s in (1e-200, 1e-30, 1e30, 1e290)
    ),
    (math.exp, 700.0, math.exp(700), "central", 1e-9 * math.exp(700)),
    # beside a kink and a jump
    *(
        (lambda x: max(x, 1.0) + math.floor(x), 1.0 + distance, 1.0, "central", 1e-3)
        for distance in (1e-9, 1e-5, 0.1)
    ),
]


@pytest.mark.parametrize(("function", "x", "truth", "method", "most"), METHODS)
def test_methods(function, x, truth, method, most):
    """The complex step is taken where it agrees; one side where there is no other."""
    found = nm.check.derivative(function, x)
    assert found.method == method
    assert abs(found.value - truth) <= found.error < most
    if method == "complex step":
        assert abs(found.value - truth) <= 2**-52
        assert nm.check.derivative(function, x, complex_step=False).method == "central"


@pytest.mark.parametrize(
    ("function", "x", "sides"),
    [
        (abs, 0.0, (-1, 1)),
        (lambda x: max(x, 0.0), 0.0, (0, 1)),
        (lambda x: abs(x - 3), 3.0, (-1, 1)),
        (lambda x: max(math.exp(x), 1 + 2 * x), 0.0, (1, 2)),
        (lambda x: 1e-3 * abs(x) + math.sin(x), 0.0, (0.999, 1.001)),
    ],
)
def test_at_a_kink_there_is_no_derivative(function, x, sides):
    found = nm.check.derivative(function, x)
    assert found.error == math.inf
    assert found.sides == pytest.approx(sides, abs=1e-9)
    assert found.value == pytest.approx(sum(sides) / 2, abs=1e-9)
    assert "a kink, with slopes" in str(found)


@pytest.mark.parametrize(
    ("function", "x"),
    [
        (np.sign, 0.0),
        (lambda x: float(x >= 0), 0.0),
        (math.floor, 3.0),
        (math.sqrt, 0.0),
        (math.acos, 1.0),
        (np.cbrt, 0.0),
        (lambda x: math.asin(x) ** 2, 1.0),
        (lambda x: x * math.log(x) if x else 0.0, 0.0),
        (lambda x: math.sin(1 / x) if x else 0.0, 0.0),
        (math.sin, 1e18),
        (lambda x: math.nan, 1.0),
    ],
)
def test_without_a_derivative_nothing_is_claimed(function, x):
    found = nm.check.derivative(function, x, complex_step=False)
    assert found.error == math.inf
    assert not math.isfinite(found.value)


def test_between_jumps_nothing_changes():
    assert nm.check.derivative(math.floor, 3.3).value == pytest.approx(0, abs=1e-9)


# Arrays -------------------------------------------------------------------------------------------


def test_shapes():
    v = np.array([1.0, 2.0, -0.5])
    a = np.arange(6.0).reshape(2, 3)
    gradient = nm.check.derivative(lambda u: u @ u, v)
    assert gradient.value.shape == gradient.error.shape == gradient.method.shape == (3,)
    assert np.all(np.abs(gradient.value - 2 * v) <= gradient.error)
    jacobian = nm.check.derivative(lambda u: a @ u, v)
    assert np.all(np.abs(jacobian.value - a) <= jacobian.error)
    matrix = nm.check.derivative(lambda m: (m**2).sum(axis=0), a)
    assert matrix.value.shape == (3, 2, 3)
    assert nm.check.derivative(lambda t: np.array([t, t * t]), 3.0).value.tolist() == [1.0, 6.0]
    assert nm.check.derivative(lambda u: u.sum(), np.zeros((0, 2))).value.shape == (0, 2)
    assert v.tolist() == [1.0, 2.0, -0.5]
    assert "complex step" in str(gradient)


def test_single_precision():
    """The noise of the values is that of their dtype, whether it shows in it or not."""
    for function in (lambda x: np.sin(np.float32(x)), lambda x: float(np.sin(np.float32(x)))):
        found = nm.check.derivative(function, 1.0, complex_step=False)
        assert abs(found.value - math.cos(1)) <= found.error < 1e-4
    found = nm.check.derivative(np.sin, np.float32(1.0), complex_step=False)
    assert abs(found.value - np.cos(float(np.float32(1)))) <= found.error < 1e-4


def test_refusals():
    refused(
        (
            TypeError,
            "argument 'x' expects an array of real numbers, got 1j",
            lambda: nm.check.derivative(np.sin, 1j),
        ),
        (
            TypeError,
            "value must be real, not complex128",
            lambda: nm.check.derivative(lambda x: 1j * x, 1.0),
        ),
        (ValueError, "math domain error", lambda: nm.check.derivative(math.log, 0.0)),
        (KeyError, None, lambda: nm.check.derivative(lambda x: {1.0: 2.0}[x], 1.0)),
    )
