"""The worst error over a box: found where a formula loses digits, small where it does not."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest

import numeric as nm
import symdiff as sd
from numeric import check
from numeric.check import certificates
from numeric.check.certificates import distance
from tests.support.refusals import refused

x, y = sd.symbols("x y")

BAD = {
    "(exp(x) - 1)/x": ((sd.exp(x) - 1) / x, (-1, 1), 0, 1e-6),
    "log(1 + x)": (sd.log(1 + x), (-0.5, 1), 0, 1e-6),
    "1 - cos(x)": (1 - sd.cos(x), (-1, 1), 0, 1e-4),
    "exp(x) - e": (sd.exp(x) - sd.e, (0, 3), 1, 1e-6),
    "sqrt(x**2 + 1) - x": (sd.sqrt(x * x + 1) - x, (0, 1e9), 1e9, 1e9),
    "x - 2.5, sines": (sd.sin(x) - sd.sin(2.5 + 0 * x), (-10, 10), 2.5, 1e-3),
}
GOOD = {
    "sin": (sd.sin(x), (-10, 10)),
    "exp": (sd.exp(x), (-700, 700)),
    "expm1": (sd.expm1(x), (-5, 5)),
    "log1p": (sd.log1p(x), (-0.5, 1)),
    "sqrt": (sd.sqrt(x), (1e-3, 4)),
    "abs": (abs(x), (-1, 1)),
    "3*x": (3 * x, (-1e300, 1e300)),
}


def found(expression, box, **options):
    return check.certify(nm.lower(expression, x), {x: box}, **{"budget": 300, **options})


@pytest.mark.parametrize("case", BAD.values(), ids=BAD)
def test_a_formula_that_loses_digits_is_found_and_where(case):
    expression, box, at, within = case
    result = found(expression, box)
    assert result.ulps["value"] > 1000
    assert abs(result.point["value"]["x"] - at) <= within
    assert result.worst >= result.ulps["value"]


@pytest.mark.parametrize("case", GOOD.values(), ids=GOOD)
def test_a_good_formula_is_within_two_ulps(case):
    assert found(*case).worst <= 2


def test_what_is_lost_beside_the_box_does_not_count():
    result = found(x * x - 1, (0.25, 0.5))  # near 1, all digits
    assert result.worst <= 2
    assert all(0.25 <= at["x"] <= 0.5 for at in result.point.values())


def test_the_gradient_is_certified_by_each_input():
    box = {x: (1, 2), "y": (-3, 3)}
    result = check.certify(nm.lower(x * sd.sin(y), [x, y]), box, budget=200)
    assert check.certify(x * sd.sin(y), box, budget=200) == result
    assert list(result.ulps) == ["value", "d/dx", "d/dy"]
    assert result.worst <= 2
    assert set(result.point["d/dy"]) == {"x", "y"}


def test_only_the_gradient_may_be_bad():
    result = found(sd.log(sd.cosh(x)) - x * x / 2, (0.5, 1.5))
    slope = found(sd.sin(x) ** 2 + sd.cos(x) ** 2 - x, (0.5, 1.5))
    assert result.ulps["d/dx"] > 4
    assert slope.ulps["d/dx"] <= 4


def test_what_is_reported_is_what_the_function_gives():
    F = nm.lower(1 - sd.cos(x), x)
    result = check.certify(F, {x: (-1, 1)}, budget=200)
    for name, got in result.got.items():
        value, (slope,) = F.value_and_grad(result.point[name]["x"])
        assert got == {"value": value, "d/dx": slope}[name]
        assert result.ulps[name] == distance(got, result.expected[name])
        assert -1 <= result.point[name]["x"] <= 1


def test_float32_is_measured_in_its_own_ulps():
    result = found(sd.sin(x), (-10, 10), dtype="float32")
    assert 0.3 < result.ulps["value"] <= 2
    assert np.float32(result.point["value"]["x"]) == result.point["value"]["x"]
    assert found(1 - sd.cos(x), (-1, 1), dtype="float32").ulps["value"] > 1000


def test_a_seed_fixes_the_result():
    first, again = (found(sd.tanh(x) ** 3, (-3, 3), seed=5) for _ in range(2))
    assert first == again
    other = found(sd.tanh(x) ** 3, (-3, 3), seed=6)
    assert other != first


def test_an_error_in_a_sliver_of_the_box_is_found(monkeypatch):
    F = nm.lower(sd.where(x > 1, sd.log(x), sd.sin(x)), x)
    F.value_and_grad(1.0)  # which writes the program
    right = F.value_and_grad
    monkeypatch.setattr(
        F,
        "value_and_grad",
        lambda t: (right(t)[0] * (1 + 1e-9 * (1 < t < 1 + 1e-4)), right(t)[1]),
    )
    assert check.certify(F, {x: (-100, 100)}, budget=300).ulps["value"] > 1e5


@pytest.mark.parametrize(
    ("got", "expected", "ulps"),
    [
        (1.0, 1, 0),
        (1 + 2**-52, 1, 1),
        (1 - 2**-53, 1, 0.5),
        (5e-324, 0, 1),
        (0.0, mp.mpf(2) ** -1075, 0.5),
        (math.inf, mp.mpf(10) ** 400, 0),
        (-math.inf, mp.mpf(10) ** 400, math.inf),
        (math.inf, mp.mpf(10) ** 300, math.inf),
        (1.7976931348623157e308, mp.inf, math.inf),
        (math.nan, 1, math.inf),
        (math.nan, mp.nan, 0),
        (1.0, mp.nan, math.inf),
    ],
)
def test_distances_in_ulps(got, expected, ulps):
    assert distance(got, mp.mpf(expected)) == ulps


def test_a_truth_that_is_wrong_would_be_noticed(monkeypatch):
    monkeypatch.setattr(
        certificates, "evalf", lambda e, n, env: sd.evalf(e, n, env) * (1 + mp.mpf(2) ** -50)
    )
    assert found(sd.sin(x), (-10, 10)).ulps["value"] > 2


def test_other_functions_and_ranges_are_refused():
    v, k, F = sd.symbol("v", 3), sd.symbol("k", dtype=int), nm.lower(sd.sin(x), x)
    whole = nm.lower(k * x, [k, x])
    refused(
        (
            sd.ShapeError,
            "one scalar output",
            lambda: check.certify(nm.lower(sd.sin(v), v), {v: (0, 1)}),
        ),
        (sd.ShapeError, "input v", lambda: check.certify(nm.lower(v @ v, v), {v: (0, 1)})),
        (sd.ShapeError, "input k", lambda: check.certify(whole, {k: (0, 1), x: (0, 1)})),
        (ValueError, "no range for x", lambda: check.certify(F, {})),
        (ValueError, "range of x", lambda: check.certify(F, {x: (1, 0)})),
        (ValueError, "range of x", lambda: check.certify(F, {x: (0, math.inf)})),
        (ValueError, "range of x", lambda: check.certify(F, {x: (math.nan, 1)})),
        (ValueError, "method", lambda: check.certify(F, {x: (0, 1)}, method="guess")),
        (ValueError, "dtype", lambda: check.certify(F, {x: (0, 1)}, dtype="float16")),
        (
            TypeError,
            r"is not a Function; numeric\.lower\(f, \[x, y\]\) makes one",
            lambda: check.certify("x*sin(y)", {x: (1, 2), "y": (-3, 3)}),
        ),
    )
