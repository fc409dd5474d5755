"""The functions of formulas in machine code, each beside mpmath, and beside NumPy where it ends."""

import math
import random

import mpmath as mp
import numpy as np
import pytest

import numeric as nm
import symdiff as sd
from numeric.lowering.native.functions import _BODIES
from symdiff.graph.algebra import primitive

COUNT = 2500  # points
ULPS = 4
PRECISION = 160  # bits; what cancels here takes fewer than 60 of them


def inside(function, low, high=mp.inf):
    """A function of real numbers between two bounds; elsewhere what NumPy has counts."""
    return lambda x: function(x) if low <= x <= high else None


def exp(x):
    """Without the millions of digits that no float has."""
    return mp.exp(max(min(x, mp.mpf(10**5)), -mp.mpf(10**5)))


def softplus(x):
    return mp.log1p(exp(x)) if x < 0 else x + mp.log1p(exp(-x))


def sigmoid(x):
    return 1 / (1 + exp(-x)) if x > 0 else exp(x) / (1 + exp(x))


def sech(x):
    return 2 * exp(-abs(x)) / (1 + exp(-2 * abs(x)))


def erfc(x):
    return mp.erfc(x) if abs(x) < 1000 else mp.mpf(2) if x < 0 else exp(-x * x)


def log1mexp(x):
    return mp.log(-mp.expm1(-x)) if x < 1 else mp.log1p(-exp(-x))


def cbrt(x):
    return mp.sign(x) * mp.cbrt(abs(x))


def logaddexp(x, y):
    return max(x, y) + mp.log1p(exp(-abs(x - y)))


def length(x, y):
    return mp.sqrt(x * x + y * y)


ANY, POSITIVE, UNIT = -mp.inf, 5e-324, -1
OF_ONE = {
    **{name: getattr(mp, name) for name in ("sin", "cos", "tan", "atan", "asinh", "tanh", "erf")},
    "exp": exp,
    "expm1": lambda x: mp.expm1(x) if x < 1000 else exp(x),
    "exp2": lambda x: exp(x * mp.log(2)),
    "sinh": lambda x: mp.sinh(x) if abs(x) < 1 else mp.sign(x) * (exp(abs(x)) - exp(-abs(x))) / 2,
    "cosh": lambda x: (exp(x) + exp(-x)) / 2,
    "erfc": erfc,
    "log": inside(mp.log, POSITIVE),
    "log2": inside(lambda x: mp.log(x) / mp.log(2), POSITIVE),
    "log10": inside(mp.log10, POSITIVE),
    "log1p": inside(mp.log1p, math.nextafter(-1, 0)),
    "cbrt": cbrt,
    "asin": inside(mp.asin, -1, 1),
    "acos": inside(mp.acos, -1, 1),
    "acosh": inside(mp.acosh, 1),
    "atanh": inside(mp.atanh, math.nextafter(-1, 0), math.nextafter(1, 0)),
    "sqrt": inside(mp.sqrt, 0),
    "norm_sqrt": inside(mp.sqrt, 0),
    "hypot1": lambda x: mp.sqrt(1 + x * x),
    "sigmoid": sigmoid,
    "softplus": softplus,
    "log_sigmoid": lambda x: -softplus(-x),
    "sech": sech,
    "log1mexp": inside(log1mexp, POSITIVE),
    "entr": inside(lambda x: -x * mp.log(x), POSITIVE),
    "asin_slope": inside(
        lambda x: 1 / mp.sqrt((1 - x) * (1 + x)), math.nextafter(-1, 0), math.nextafter(1, 0)
    ),
    "atanh_slope": inside(
        lambda x: 1 / ((1 - x) * (1 + x)), math.nextafter(-1, 0), math.nextafter(1, 0)
    ),
    "acosh_slope": inside(
        lambda x: 1 / mp.sqrt((x - 1) * (x + 1)), math.nextafter(1, 2)
    ),
    "sinc": lambda x: mp.sinpi(x) / (mp.pi * x) if x else mp.mpf(1),
    "sech2": lambda x: sech(x) ** 2,
}  # fmt: skip
OF_TWO = {
    "power": lambda x, y: exp(y * mp.log(x)) if x > 0 else None,
    "atan2": lambda y, x: mp.atan2(y, x) if y and x else None,
    "hypot": length,
    "difference": lambda x, y: x - y,
    "relative_difference": lambda x, y: (x - y) / y if y else None,
    "xlogy": lambda x, y: x * mp.log(y) if y > 0 else None,
    "xlog1py": lambda x, y: x * mp.log1p(y) if y > -1 else None,
    "cosine": lambda x, y: x / length(x, y) if x or y else None,
    "exp_share": lambda x, y: sigmoid(x - y),
    "logaddexp": logaddexp,
}
COMPOSITE = {"exp_share", "logaddexp"}
"""Made of others that are rounded: as exact as NumPy's, but for so many ulp."""
OF_EXPONENTIALS = {"sech2": 3}
"""Whose relative error is that of an exponential, and so many more roundings."""
AS_NUMPY = {
    1: ("abs", "floor", "ceil", "trunc", "round", "sign", "step", "logical_not"),
    2: (
        *("equal", "not_equal", "less", "less_equal", "logical_and", "logical_or", "logical_xor"),
        *("maximum", "minimum", "mod", "floor_divide"),
    ),
    3: ("where", "clip"),
}
"""What is not rounded."""
EXACT = {1: OF_ONE, 2: OF_TWO, 3: {}}

PLACES = (
    *(0.0, 0.25, 0.3, 1 / 3, 0.46875, 0.5, 0.7, math.log(2), 0.84375, 1.0, 1.25, 1.5, 2.0),
    *(math.e, 2.857, 3.0, math.pi / 2, math.pi, 1.5 * math.pi, 2 * math.pi, 3.92, 5.9, 6.0, 8.3),
    *(9.0, 10.0, 10.05, 16.6, 17.0, 20.0, 26.5, 27.0, 28.0, 36.7, 37.4, 40.0, 87.3, 88.72, 103.9),
    *(708.4, 709.78, 745.1, 1e5, 2.0**20, 2.0**24, 2.0**31, 2.0**53),
)
ENDS = (0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 1e30)


@np.errstate(all="ignore")
def points(dtype, seed):
    """Numbers of every size, neighbours of places that matter, and multiples of them."""
    draw = random.Random(seed)
    kind = np.finfo(dtype)
    low, high = (-149, 127) if dtype == np.float32 else (-1074, 1023)
    places = [*PLACES, kind.tiny, kind.smallest_subnormal, kind.max, kind.eps, kind.eps / 2]
    found = [k * math.pi / 2 for k in range(-40, 41)] + [float(k) for k in range(-30, 31)]
    for place in [sign * float(x) for x in places for sign in (1, -1)]:
        near = dtype(place)
        found += [near, np.nextafter(near, dtype(0)), np.nextafter(near, dtype(2) * near)]
        found += [place * (1 + 2.0**-20), place * (1 - 2.0**-20)]
    while len(found) < COUNT:
        sign = draw.choice((1, -1))
        found.append(
            draw.choice(
                (
                    sign * math.ldexp(1 + draw.random(), draw.randint(low, high - 1)),
                    sign * 2 ** draw.uniform(-12, 7),
                    sign * 2 ** draw.uniform(-30, 11),
                    sign * (1 + draw.choice((1, -1)) * 2 ** -draw.uniform(1, 50)),
                    draw.uniform(-105, 105) if dtype == np.float32 else draw.uniform(-750, 750),
                )
            )
        )
    made = np.array(found, dtype)
    return made[np.isfinite(made)]


@np.errstate(all="ignore")
def columns(dtype, arity):
    """Points for so many operands: far apart, nearly equal, and equal."""
    first = points(dtype, 1)
    if arity == 1:
        return [first]
    rng = np.random.default_rng(2)
    made = [first, *[rng.permutation(points(dtype, k)) for k in range(2, arity + 1)]]
    count = min(map(len, made))
    made = [x[:count].copy() for x in made]
    quarter = count // 4
    near = 1 + rng.normal(size=quarter) * 2.0 ** -rng.integers(1, 40, quarter)
    made[1][:quarter] = made[0][:quarter] * near
    made[1][quarter : 2 * quarter] = rng.uniform(-10, 10, quarter)
    made[0][quarter : quarter + quarter // 2] = rng.uniform(0, 50, quarter // 2)
    made[1][-50:] = made[0][-50:]
    real = np.isfinite(made).all(axis=0)
    return [x[real] for x in made]


def ends(dtype, arity):
    """Zeros, infinities and nan, each with each."""
    return [x.ravel() for x in np.meshgrid(*[np.array(ENDS, dtype)] * arity)]


def ulps(result, exact, kind, size):
    """The error in units of the last place of a number of this size."""
    if math.isnan(result):
        return math.inf
    if math.isinf(result):
        beyond = abs(exact) >= float(kind.max) and (exact > 0) == (result > 0)
        return 0.0 if beyond else math.inf
    place = mp.mag(size) - 1 if size else kind.minexp
    unit = mp.mpf(2) ** (max(place, kind.minexp) - kind.nmant)
    return float(abs(mp.mpf(float(result)) - exact) / unit)


def alike(ours, numpys):
    """Whether special values are the same: nan, infinities, and the sign of zero."""
    if np.isnan(ours) or np.isnan(numpys):
        return bool(np.isnan(ours) and np.isnan(numpys))
    if np.isinf(ours) or np.isinf(numpys) or numpys == 0 or ours == 0:
        return bool(ours == numpys and np.signbit(ours) == np.signbit(numpys))
    return True


def made(names, arity):
    """The functions, in machine code and by NumPy."""
    operands = sd.symbols("x y z")[:arity]
    outputs = [
        sd.sqrt(*operands) if name == "sqrt" else primitive(name, *operands) for name in names
    ]
    compiled = nm.lower(outputs, operands, backend="native")
    assert compiled._programs.value.points is not None
    return compiled, nm.lower(outputs, operands)


def test_every_function_is_judged():
    judged = {*OF_ONE, *OF_TWO, *AS_NUMPY[1], *AS_NUMPY[2], *AS_NUMPY[3]}
    assert judged == set(_BODIES)
    assert all(len(points(dtype, 1)) >= 2000 for dtype in (np.float64, np.float32))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("arity", [1, 2])
def test_functions_are_exact_to_a_few_ulp(arity, dtype):
    """At every point where mpmath has a value; elsewhere it is NumPy's."""
    kind, given = np.finfo(dtype), columns(dtype, arity)
    compiled, numpys = made(EXACT[arity], arity)
    wrong = []
    with np.errstate(all="ignore"):
        ours, theirs = compiled(*given), numpys(*given)
    with mp.workprec(PRECISION):
        rows = [[mp.mpf(float(x)) for x in row] for row in zip(*given, strict=True)]
        for name, found, other in zip(EXACT[arity], ours, theirs, strict=True):
            assert found.dtype == dtype
            for row, result, numpy in zip(rows, found.tolist(), other.tolist(), strict=True):
                exact = EXACT[arity][name](*row)
                if exact is None:
                    right = alike(result, numpy)
                else:
                    # What two terms leave of each other is as exact as the larger of them.
                    size = max(map(abs, row)) + 1 if name == "logaddexp" else exact
                    allowed = ULPS + OF_EXPONENTIALS.get(name, 0)
                    if name in COMPOSITE:
                        allowed += ulps(numpy, exact, kind, size)
                    right = ulps(result, exact, kind, size) <= allowed
                if not right:
                    wrong.append((name, [*map(float, row)], result, numpy))
    assert not wrong, f"{len(wrong)}: {wrong[:5]}"


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("arity", [1, 2])
def test_functions_end_as_numpys_do(arity, dtype):
    """Zeros and their signs, infinities, nan; each with each."""
    given = ends(dtype, arity)
    given = [np.concatenate([x] * 5) for x in given]  # as many as a block has, and a part of one
    compiled, numpys = made(EXACT[arity], arity)
    with np.errstate(all="ignore"):
        ours, theirs = compiled(*given), numpys(*given)
    wrong = [
        (name, [float(x[k]) for x in given], a[k], b[k])
        for name, a, b in zip(EXACT[arity], ours, theirs, strict=True)
        for k in range(len(a))
        if not alike(a[k], b[k])
    ]
    assert not wrong, f"{len(wrong)}: {wrong[:5]}"


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("arity", AS_NUMPY)
def test_what_is_not_rounded_is_numpys(arity, dtype):
    """To the bit, but for which of two equal zeros is the larger one."""
    names = AS_NUMPY[arity]
    given = [
        np.concatenate(pair) for pair in zip(columns(dtype, arity), ends(dtype, arity), strict=True)
    ]
    compiled, numpys = made(names, arity)
    with np.errstate(all="ignore"):
        ours, theirs = compiled(*given), numpys(*given)
    for name, found, wanted in zip(names, ours, theirs, strict=True):
        np.testing.assert_array_equal(found, wanted, err_msg=name)
        if name not in {"maximum", "minimum", "clip"}:
            np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted), err_msg=name)
