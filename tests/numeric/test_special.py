"""NumPy and math bodies of the vocabulary: kinds of numbers, what is far out, ends of the line.

Values and derivatives of all of them, in ulps, are the rows of ``tests.accuracy``.
"""

import importlib.util
import math
import subprocess
import sys
import warnings
from contextlib import suppress
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
import scipy.special

import symdiff as sd
from numeric import lower, special
from numeric.special import MATH, NUMPY, integrals, needs_scipy, tails, zetas
from symdiff.errors import Unsupported
from symdiff.scalars import vocabulary as v
from symdiff.scalars.formula import MPMATH, VOCABULARY, arity
from tests.support.cases import all_cases
from tests.support.orders import order_count
from tests.support.refusals import refused
from tests.support.scalar_functions import SMOOTH, STEP_PAIRS, STEP_POINTS, STEPS

LARGEST = mp.mpf(2) ** 1024


def arrays(function):
    """``function`` of one-element arrays: array loops may differ from scalar ones."""

    def of_numbers(*args):
        return np.asarray(function(*(np.array([x]) for x in args))).item()

    return of_numbers


def test_every_function_has_bodies():
    assert set(NUMPY) == set(MATH) == set(VOCABULARY)


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("table", [NUMPY, MATH], ids=["numpy", "math"])
def test_steps(name, table):
    function = arrays(table[name]) if table is NUMPY else table[name]
    for point in [(x,) for x in STEP_POINTS] if arity(name) == 1 else STEP_PAIRS:
        if name != "floor_divide" or point[1]:
            found, wanted = function(*point), STEPS[name](*point)
            assert found == wanted or (found != found and wanted != wanted)


OF_INTEGERS = {
    *("where", "maximum", "minimum", "clip", "abs", "sign", "step", "mod", "floor_divide"),
    *("floor", "ceil", "trunc", "round", "difference"),
}


@all_cases("name", sorted(name for name in VOCABULARY if not order_count(name)), least=107)
def test_dtypes(name):
    count, inside = arity(name), 2 if name.startswith("acosh") else 0.5
    single = NUMPY[name](*[np.full(2, inside, np.float32)] * count)
    at = {"atanh": 0, "atanh_slope": 0, "asin_slope": 0, "acosh_slope": 2}.get(name, 1)
    whole = NUMPY[name](*[np.full(2, at)] * count)
    if single.dtype == bool:
        assert name in STEPS
        assert whole.dtype == bool
    else:
        assert single.dtype == np.float32
        assert whole.dtype == (np.int64 if name in OF_INTEGERS else np.float64)


@pytest.mark.parametrize("name", sorted(filter(order_count, VOCABULARY)))
def test_orders_broadcast(name):
    function, more = NUMPY[name], [1] * (order_count(name) - 1)
    rest = [np.float32(2)] * (arity(name) - order_count(name) - 1)
    x = np.array([0.25, 0.5, 3.0], np.float32)
    both = function(np.array([[1], [2]]), *more, x, *rest)
    assert both.dtype == np.float32
    assert both.shape == (2, 3)
    for n in (1, 2):
        np.testing.assert_array_equal(both[n - 1], function(n, *more, x, *rest))
    assert function(1, *more, np.empty((2, 0)), *rest).shape == (2, 0)


@all_cases("name", sorted(VOCABULARY), least=147)
def test_nan_is_passed_on(name):
    count = arity(name)
    if issubclass(VOCABULARY[name], v.Stepwise) and name not in ("sign", "step", "floor", "ceil"):
        return  # comparisons give a truth value; math.trunc and round raise
    for k in range(count):
        args = [1.0] * count
        if k < order_count(name) or (name == "where" and k == 0):
            continue
        args[k] = math.nan
        if name == "where":
            args[0] = float(k == 1)
        if name == "power" and (args[0] == 1 or args[1] == 0):
            continue  # 1 ** nan is 1, IEEE 754
        with np.errstate(all="ignore"):
            assert np.isnan(arrays(NUMPY[name])(*args)), k
        assert mp.isnan(MPMATH[name](*map(mp.mpf, args))), k
        with suppress(ValueError, OverflowError):
            assert math.isnan(MATH[name](*args)), k


@all_cases(
    ("name", "point", "wanted"),
    [
        ("sigmoid", (math.inf,), 1.0),
        ("sigmoid", (-math.inf,), 0.0),
        ("softplus", (-math.inf,), 0.0),
        ("softplus", (math.inf,), math.inf),
        ("log_sigmoid", (-math.inf,), -math.inf),
        ("log1mexp", (math.inf,), 0.0),
        ("ndtr", (math.inf,), 1.0),
        ("ndtr", (-math.inf,), 0.0),
        ("ndtr", (-1.7e308,), 0.0),
        ("ndtri", (1.0,), math.inf),
        ("log_ndtr", (1.7e308,), 0.0),
        ("log_ndtr", (math.inf,), 0.0),
        ("log_ndtr", (-math.inf,), -math.inf),
        ("log_ndtr_derivative", (1, -math.inf), math.inf),
        ("log_ndtr_derivative", (2, -math.inf), -1.0),
        ("log_ndtr_derivative", (3, math.inf), 0.0),
        ("expn", (1, 0.0), math.inf),
        ("expn", (3, 0.0), 0.5),
        ("expn", (-1, 0.0), math.inf),
        ("expn", (2, math.inf), 0.0),
        ("expi", (0.0,), -math.inf),
        ("expi", (-math.inf,), 0.0),
        ("expi", (math.inf,), math.inf),
        ("expi_derivative", (2, 0.0), -math.inf),
        ("expi_derivative", (3, -math.inf), 0.0),
        ("sine_integral", (-math.inf,), -math.pi / 2),
        ("cosine_integral", (0.0,), -math.inf),
        ("cosine_integral", (math.inf,), 0.0),
        ("cosine_integral_derivative", (1, 0.0), math.inf),
        ("cosine_integral_derivative", (3, math.inf), 0.0),
        ("sinh_integral", (-math.inf,), -math.inf),
        ("sinh_integral_derivative", (2, 0.0), 0.0),
        ("sinh_integral_derivative", (3, 0.0), 1 / 3),
        ("cosh_integral", (0.0,), -math.inf),
        ("cosh_integral_derivative", (2, 0.0), -math.inf),
        ("cosh_integral_derivative", (1, math.inf), math.inf),
        ("fresnel_sine", (1e300,), 0.5),
        ("fresnel_cosine", (-math.inf,), -0.5),
        ("chirp_sine", (1e15 + 1,), 1.0),
        ("chirp_cosine", (-1.0,), 0.0),
        ("chirp_cosine", (2.0**40 + 0.5,), math.cos(math.pi / 8)),
        ("dawsn", (-math.inf,), 0.0),
        ("dawsn_derivative", (1, 1e200), 0.0),
        ("logaddexp", (-math.inf, -math.inf), -math.inf),
        ("logaddexp", (math.inf, math.inf), math.inf),
        ("exp_share", (-math.inf, -math.inf), 0.5),
        ("exp_share", (math.inf, -math.inf), 1.0),
        ("xlogy", (0.0, 0.0), 0.0),
        ("xlogy", (0.0, -1.0), 0.0),
        ("cosine", (0.0, 0.0), 0.0),
        ("cosine", (1e-200, 1e-200), math.sqrt(0.5)),
        ("cosine", (3e200, -4e200), 0.6),
        ("hypot", (3e200, 4e200), 5e200),
        ("hypot1", (1e200,), 1e200),
        ("asinh", (1e200,), math.log(2) + 200 * math.log(10)),
        ("sinc", (0.0,), 1.0),
        ("sinc", (1e15,), 0.0),
        ("power", (0.0, 0.0), 1.0),
        ("power", (-2.0, 3.0), -8.0),
        ("norm_sqrt", (0.0,), 0.0),
        ("mod", (-7.5, 2.0), 0.5),
        ("clip", (5.0, 2.0, 1.0), 1.0),
    ],
    least=62,
)
def test_far_and_singular_points_are_silent(name, point, wanted):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = arrays(NUMPY[name])(*point)
    assert got == pytest.approx(wanted, rel=8 * 2**-52, abs=0)
    assert MATH[name](*point) == pytest.approx(wanted, rel=8 * 2**-52, abs=0)


X, Y = sd.symbols("x y")


@pytest.mark.parametrize(
    ("slope", "a", "b", "wanted"),
    [
        *(
            case
            for size in (1e-200, 1e200)
            for case in (
                (sd.diff(sd.hypot(X, Y), X), 3 * size, 4 * size, 0.6),
                (sd.diff(sd.hypot(X, Y), Y), 3 * size, 4 * size, 0.8),
                (sd.diff(sd.atan2(X, Y), X), 3 * size, 4 * size, 0.16 / size),
                (sd.diff(sd.atan2(X, Y), Y), 3 * size, 4 * size, -0.12 / size),
            )
        ),
        (sd.diff(sd.asinh(X) + Y, X), 1e200, 0.0, 1e-200),
        (sd.diff(sd.asinh(X) + Y, X), -1e300, 0.0, 1e-300),
        (sd.diff(sd.sigmoid(X) + Y, X), -800.0, 0.0, 0.0),
        (sd.diff(sd.sigmoid(X) + Y, X), -700.0, 0.0, math.exp(-700)),
    ],
)
def test_slopes_at_every_size(slope, a, b, wanted):
    F = lower(slope, [X, Y])
    for found in (F(a, b), F(np.array([a]), np.array([b])).item()):
        assert found == pytest.approx(wanted, rel=16 * 2**-52, abs=0)


def test_math_leaves_to_numpy_what_it_cannot_answer():
    for name, args in [
        ("exp", (800.0,)),
        ("log", (0.0,)),
        ("power", (-8.0, 1 / 3)),
        ("asin", (2.0,)),
    ]:
        with pytest.raises((ValueError, OverflowError)):
            MATH[name](*args)
        with np.errstate(all="ignore"):
            assert not math.isfinite(NUMPY[name](*args))


def test_series_leave_the_precision_of_mpmath_alone(monkeypatch):
    """It is one for all threads, of which another may be evaluating."""

    def refused(*_):
        raise AssertionError("the precision of all threads is changed")

    caches = (tails._log_ndtr_about, integrals._dawsn_about, zetas._about)
    points = np.array([-30.0, -1.5, 0.25, 7.0])
    for name in ("log_ndtr_derivative", "dawsn_derivative", "zeta_derivative"):
        wanted = NUMPY[name](2, points)
        for about in caches:
            about.cache_clear()
        with monkeypatch.context() as patched:
            for change in ("workprec", "workdps", "extraprec"):
                patched.setattr(mp.mp, change, refused)
                patched.setattr(mp, change, refused)
            np.testing.assert_array_equal(NUMPY[name](2, points), wanted)


def test_the_start_of_the_downward_recurrence():
    for n in range(200):
        start = special._start(n)
        left = Fraction(n or 1) ** (start - n) * math.factorial(n) / math.factorial(start)
        assert left / (start + 1) * (n + 1) < Fraction(1, 2**53)


# The ends of the line ---------------------------------------------------------------------------

LINE = [5e-324, 2.3e-308, 1e-307, 1e-160, 1e-10, 0.25, 1 + 1e-8, 2 - 1e-8, 5.0]
NEAR_POLES = [-k + d for k in (1, 2, 171, 178) for d in (-0.3, 1e-8, 1e-3)]
ENDS = {
    ("erfc",): [*LINE, 26.5, 27.0],
    ("gamma",): [*LINE, 171.5, *NEAR_POLES],
    ("gammaln",): [*LINE, *(-x for x in LINE[:5]), 1e300],
    ("digamma",): [*LINE, *NEAR_POLES, -1e4 - 0.25, 1e20],
    **{
        ("polygamma", n): [*LINE, *NEAR_POLES, 40.0, 500.0, 5e4, 1e20]
        for n in (1, 2, 5, 45, 60, 171)
    },
    **{
        (name, n): [*LINE, *more]
        for name, more in (
            ("jv", (1e6, -5.0)),
            ("iv", (713.0, -5.0)),
            ("yv", (1e6,)),
            ("kv", (700.0, 740.0)),
        )
        for n in (0, 1, 2, 5)
    },
    **{("gammainc", a): LINE for a in (0.5, 2.5, 0.001)},
    ("ndtr",): [*LINE, -9.3, -37.7, -38.4],
    **{
        ("log_ndtr_derivative", n): [*LINE, -0.7, -39.9, -60.1, -1e3, 9.9, 16.2, 38.3]
        for n in (1, 2, 8)
    },
    **{("expn", n): [*LINE, 0.99, 1.01, 70.0] for n in (1, 30, -12)},
    **{
        (f"{name}_integral_derivative" if name != "expi" else "expi_derivative", n): points
        for n in (1, 2, 6, 20)
        for name, points in (
            ("expi", [*LINE, -0.7, -60.0, 14.9, 15.1, 60.0, 715.0]),
            ("cosine", [*LINE, 4.9, 18.9, 19.1, 1e5]),
            ("sinh", [*LINE[5:], 4.9, 18.9, 57.1, 700.0]),
            ("cosh", [*LINE[5:], 4.9, 18.9, 57.1, 700.0]),
        )
    },
    **{
        ("sinc_derivative", n): [*LINE, -0.3, -2.7, 100.3, 1000.4]
        for n in (1, 2, 40, 333, 620, 621, 640, 701)
    },
    **{("dawsn_derivative", n): [*LINE, -0.3, 11.9, 14.1, 28.1, 52.1, 1e3] for n in (1, 2, 8, 20)},
    ("gammaincc", 0.5): [*LINE, 0.5, 720.0],
    ("gamma_density", 2.5): LINE,
    ("betainc", 2.0, 3.0): [1e-160, *LINE[4:6]],
    **{("betaln", a): [0.25, 5.0, 710.0, 1e5] for a in (1.1e-16, 0.5, 1.5, 700.0)},
    ("erfcinv",): [5e-324, 1e-10, 0.25],
    ("erfcinv_slope",): [1e-160, 1e-10, 0.25],
}


def transform_of_box(n, x):
    """Return a derivative of sinc: ∫ (πs)ⁿ cos(πxs + nπ/2) ds over 0 < s < 1; DLMF 16.5.2.

    Series of its row would have 701 terms.
    """
    t = mp.pi * x
    if n % 2:
        total = -t / (n + 2) * mp.hyp1f2(mp.mpf(n + 2) / 2, 1.5, mp.mpf(n + 4) / 2, -t * t / 4)
    else:
        total = mp.hyp1f2(mp.mpf(n + 1) / 2, 0.5, mp.mpf(n + 3) / 2, -t * t / 4) / (n + 1)
    return (-1) ** (n // 2) * mp.pi**n * total


def exact(name, *operands):
    """The value by the row of the function."""
    of_box = name == "sinc_derivative"
    return transform_of_box(*operands) if of_box else SMOOTH[name].value(*operands)


def missed(key, table):
    """The points of ``key`` with an error beyond 8 roundings of the value and of its argument."""
    (name, *parameters), found = key, []
    for point in ENDS[key]:
        with mp.workdps(100), np.errstate(all="ignore"):
            x, step = mp.mpf(point), mp.mpf(10) ** -40
            wanted = exact(name, *parameters, x)
            turned = mp.fabs(exact(name, *parameters, x * (1 + step)) - wanted) / step  # |x f'(x)|
            try:
                got = float(table[name](*parameters, point))
            except (OverflowError, ValueError):
                assert table is MATH
                continue
            if mp.fabs(wanted) >= LARGEST:
                right = got == mp.sign(wanted) * math.inf
            else:
                bound = 8 * mp.mpf(2) ** -53 * (mp.fabs(wanted) + turned) + mp.mpf(2) ** -1073
                right = mp.isfinite(got) and mp.fabs(got - wanted) <= bound
            if not right:
                found.append((point, got, mp.nstr(wanted, 17)))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("key", ENDS, ids=str)
def test_special_functions_at_the_ends_of_the_line(key):
    assert missed(key, {key[0]: arrays(NUMPY[key[0]])}) == []
    assert missed(key, MATH) == []


def test_polygamma_of_large_negative_numbers_is_quick():
    """A sum from there up to 0 would take minutes; ψ' is π²/sin²(πx) less 1/|x| and smaller."""
    got = NUMPY["polygamma"](1, np.array([-1e10 - 0.125, -1e15 - 0.25]))
    wanted = [(np.pi / np.sin(np.pi / 8)) ** 2 - 1e-10, 2 * np.pi**2 - 1e-15]
    np.testing.assert_allclose(got, wanted, rtol=1e-15)


def test_what_scipy_has_there_is_caught():
    """The functions in whose place ours stand."""
    replaced = [("gamma",), ("gammaln",), ("erfc",), ("jv", 1), ("iv", 1), ("kv", 0), ("yv", 0)]
    for key in [*replaced, ("gammainc", 0.5), ("gammaincc", 0.5), ("erfcinv",)]:
        assert missed(key, {key[0]: getattr(scipy.special, key[0])}), key


# SciPy ------------------------------------------------------------------------------------------


def test_needs_scipy():
    assert [name for name in VOCABULARY if needs_scipy(name)] == sorted(
        [
            *("erf", "erfc", "gamma", "gammaln", "digamma", "polygamma"),
            *("polygamma_difference", "rgamma", "rgamma_derivative", "beta", "beta_derivative"),
            *("poch", "binom"),
            *("betaln", "gammainc", "gammaincc", "gamma_density", "betainc"),
            *("erfcx", "erfinv", "erfcinv", "erfcinv_slope"),
            *("ndtr", "log_ndtr", "ndtri", "sine_integral", "cosine_integral"),
            *("cosine_integral_derivative", "fresnel_sine", "fresnel_cosine"),
            *("sinh_integral", "sinh_integral_derivative"),
            *("cosh_integral", "cosh_integral_derivative"),
            *("jv", "yv", "iv", "kv", "ive", "kve", "ive_derivative", "kve_derivative"),
        ],
        key=list(VOCABULARY).index,
    )


def test_without_scipy_the_extra_is_named(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    special._scipy.cache_clear()
    refused(
        (
            Unsupported,
            r'erf needs SciPy: pip install "symdiff-numeric\[scipy\]"',
            lambda: NUMPY["erf"](np.zeros(2)),
        ),
        (Unsupported, "digamma", lambda: MATH["digamma"](1.0)),
    )
    assert MATH["erf"](0.0) == 0
    special.require_scipy("sinc")


@pytest.mark.slow
def test_scipy_is_imported_when_called_and_not_before():
    code = (
        "import sys; from numeric import special; assert 'scipy' not in sys.modules; "
        "special.require_scipy('erf'); assert 'scipy' not in sys.modules; "
        "special.NUMPY['erf'](0.5); assert 'scipy.special' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
