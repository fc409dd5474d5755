"""Special functions as users call them: SciPy's values, exact derivatives, refused parameters."""

import itertools
import math
from fractions import Fraction
from functools import cache

import mpmath as mp
import numpy as np
import pytest
import scipy.special
import sympy

import numeric as nm
import symdiff as sd
from numeric.special import MATH, NUMPY
from symdiff.errors import NotDifferentiable, Unsupported
from symdiff.exact.evaluation import evaluate_exact
from symdiff.graph.algebra import primitive
from symdiff.scalars.formula import MPMATH, VOCABULARY, arity
from symdiff.scalars.vocabulary import FACTS
from tests import accuracy
from tests.support.cases import all_cases
from tests.support.orders import order_count
from tests.support.scalar_functions import POLYNOMIALS, SMOOTH, coefficients

x = sd.symbol("x")
X = np.array([0.25, 0.5, 0.75, 0.9])
BESSEL = {
    "jv": (sd.jv, scipy.special.jvp),
    "yv": (sd.yv, scipy.special.yvp),
    "iv": (sd.iv, scipy.special.ivp),
    "kv": (sd.kv, scipy.special.kvp),
}


@pytest.mark.parametrize("name", BESSEL)
@pytest.mark.parametrize("n", [-3, -1, 0, 1, 2, 5])
def test_derivatives_of_bessel_functions_are_scipys(name, n):
    ours, derivative = BESSEL[name]
    for order in range(5):
        expr = sd.diff(ours(n, x), x, order) if order else ours(n, x)
        np.testing.assert_allclose(
            nm.lower(expr, (x,))(X), derivative(n, X, order), rtol=1e-11, atol=1e-13
        )


def test_bessels_equation_at_high_order():
    """x² f'' + x f' + (x² - n²) f = 0, differentiated six times more."""
    f = sd.jv(3, x)
    one = sd.diff(x**2 * sd.diff(f, x, 2) + x * sd.diff(f, x), x, 6)
    other = sd.diff((9 - x**2) * f, x, 6)
    a, b = (sd.evalf(side, 40, {x: 2}) for side in (one, other))
    assert abs(a - b) < abs(a) * 1e-38


BESSELS = (sd.jv, sd.yv, sd.iv, sd.kv, sd.ive, sd.kve)
LOW = {
    **{f"{ours.__name__[0]}{n}": (ours, n) for ours in BESSELS[:4] for n in (0, 1)},
    **{f"{ours.__name__[0]}{n}e": (ours, n) for ours in BESSELS[4:] for n in (0, 1)},
}
SPELLINGS = [
    *((getattr(sd, name)(x), ours(n, x)) for name, (ours, n) in LOW.items()),
    *((ours(-n, x), ours(n, x)) for ours in BESSELS[4:] for n in (0, 1)),
    *((ours(Fraction(1, 2), x), ours(0.5, x)) for ours in BESSELS),
    *((ours(2.0, x), ours(2, x)) for ours in BESSELS),
    (sd.jn(-2, x), sd.jv(2, x)),
    (sd.iv(-3, x), sd.iv(3, x)),
    (sd.kv(-1, x), sd.kv(1, x)),
    (sd.yv(-1, x), -sd.yv(1, x)),
    (sd.jve(0.5, x), sd.jv(0.5, x)),
    (sd.yve(0.5, x), sd.yv(0.5, x)),
    (sd.j0(0), sd.constant(1)),
    (sd.jv(2, 0), sd.constant(0)),
    (sd.lambertw(0), sd.constant(0)),
    (sd.diff(sd.gammasgn(x) * x, x), sd.gammasgn(x)),
    (sd.diff(sd.factorial(x), x), sd.factorial(x) * sd.digamma(x + 1)),
    (sd.from_sympy(sympy.factorial(sympy.Symbol("x", real=True))), sd.factorial(x)),
]


@pytest.mark.parametrize(("found", "wanted"), SPELLINGS, ids=str)
def test_one_value_has_one_spelling(found, wanted):
    assert found is wanted


FAMILIES = {
    **dict.fromkeys(POLYNOMIALS, ()),
    **dict.fromkeys(("eval_gegenbauer", "eval_genlaguerre"), (Fraction(3, 4),)),
}
REFUSED = [
    *(
        (r"order .* is not a finite number", lambda ours=ours, n=n: ours(n, x))
        for ours in BESSELS
        for n in (x, sd.pi, math.nan, -math.inf, sd.symbol("n", dtype=int))
    ),
    *(
        (
            rf"{name}: the order .* is not an integer >= 0",
            lambda name=name, n=n: getattr(sd, name)(n, *FAMILIES[name], x),
        )
        for name in FAMILIES
        for n in (-1, 0.5, x)
    ),
    *(("lambertw: the branch k =", lambda k=k: sd.lambertw(x, k)) for k in (1, -2, 0.5, x)),
    *(
        (r"dimension .* is not an integer >= 1", lambda d=d: sd.multigammaln(x, d))
        for d in (0, 1.5, x, -1)
    ),
]


@all_cases(("says", "call"), REFUSED, least=62)
def test_numbers_that_are_no_orders_are_refused(says, call):
    with pytest.raises(ValueError, match=says):
        call()


def by_order(name, n, t):
    """A Bessel function of order n by mpmath, scaled ones too."""
    scale = {"ive": -mp.fabs(t), "kve": t}.get(name, mp.mpf(0))
    return getattr(mp, f"bessel{name[0]}")(n, t) * mp.exp(scale)


@pytest.mark.slow
@pytest.mark.parametrize("ours", BESSELS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("n", [0.5, 0.3, -2.75, 31.5])
def test_derivatives_of_real_orders_are_mpmaths(ours, n):
    """To the fourth, near 0, in the middle and far out, where those of scaled ones are small."""
    name = ours.__name__
    for order in (1, 2, 4):
        f = sd.diff(ours(n, x), x, order)
        function = nm.lower(f, (x,))
        for at in (0.01, 9.0, 60.0) if order == 4 else (0.75,):
            with mp.workdps(60):
                exact = mp.diff(lambda t: by_order(name, mp.mpf(float(n)), t), at, order)
                size = mp.fabs(exact)
                for k in (1, 2):  # near a root, what the argument's rounding makes of it
                    slope = mp.diff(lambda t: by_order(name, mp.mpf(float(n)), t), at, order + k)
                    size += mp.fabs(slope * mp.mpf(at) ** k)
                assert mp.fabs(function(at) - exact) <= 1e-14 * size, (order, at)
                found = sd.evalf(f, 25, {x: at})
                assert mp.fabs(mp.mpf(str(found)) - exact) <= mp.fabs(exact) * mp.mpf(10) ** -23


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_derivatives_of_scaled_functions_at_zero(n):
    """e^-x I_n(x) by its series; where the two sides differ in sign, 0."""
    series = [
        sum(
            Fraction((-1) ** (k - 2 * j - n), 2 ** (2 * j + n))
            / (math.factorial(j) * math.factorial(j + n) * math.factorial(k - 2 * j - n))
            for j in range((k - n) // 2 + 1)
        )
        for k in range(9)
    ]
    for order in range(9):
        f = sd.diff(sd.ive(n, x), x, order) if order else sd.ive(n, x)
        wanted = 0 if (n + order) % 2 else series[order] * math.factorial(order)
        assert nm.lower(f, (x,))(0.0) == pytest.approx(float(wanted), rel=4e-16)
        assert sd.evalf(f, 20, {x: 0}) == sd.evalf(sd.constant(wanted), 20)


INF, NAN = math.inf, math.nan
ORDERS_AT_ZERO = [  # at 0 from the right, and of the first two derivatives
    (sd.jv(0.5, x), (0, INF, -INF)),
    (sd.jv(1.5, x), (0, 0, INF)),
    (sd.jv(-0.5, x), (INF, -INF)),
    (sd.jv(-1.5, x), (-INF,)),  # then two terms are infinite, with opposite signs
    (sd.iv(-1.5, x), (-INF, INF, -INF)),
    (sd.yv(0.5, x), (-INF, INF)),
    (sd.yv(-0.5, x), (0, INF, -INF)),
    (sd.yv(-0.75, x), (INF,)),
    (sd.kv(0.5, x), (INF, -INF, INF)),
    (sd.ive(0.5, x), (0, INF, -INF)),
    (sd.ive(-1.5, x), (-INF, INF, -INF)),
    (sd.kve(0.5, x), (INF, -INF, INF)),
]
BETA, GAMMA = sd.betainc(2, 3, x), sd.gammainc(2, x)
# At a number, the value and the derivatives.
AT_ENDS = [
    *((f, 0.0, values) for f, values in ORDERS_AT_ZERO),
    *((f, -1.0, (NAN,) * len(values)) for f, values in ORDERS_AT_ZERO),
    (sd.y0(x), 0.0, (-INF,)),
    (sd.k0(x), 0.0, (INF,)),
    (sd.k0(x), -1.0, (NAN,)),
    # J_0 is the sum of (-1)^k (x/2)^2k / k!^2.
    (sd.j0(x), 0.0, (1, 0, -1 / 2, 0, 3 / 8, 0, -5 / 16, 0, 35 / 128)),
    # I_x(2, 3) is the polynomial 6x² - 8x³ + 3x⁴, and P(2, x) is 1 - (1 + x)e^-x.
    (BETA, 0.0, (0, 0, 12, -48, 72, 0, 0)),
    (BETA, 1.0, (1, 0, 0, 24, 72, 0, 0)),
    (BETA, -1.0, (NAN, NAN)),
    (BETA, 2.0, (NAN, NAN)),
    (GAMMA, 0.0, (0, 0, 1, -2, 3, -4, 5)),
    (GAMMA, -1.0, (NAN, NAN)),
    (sd.ellipk(x), 1.0, (INF, INF, INF, INF)),
    (sd.ellipe(x), 1.0, (1, -INF, -INF, -INF)),
    *((f(x), at, (NAN,) * 4) for f in (sd.ellipk, sd.ellipe) for at in (1.5, INF)),
    (sd.ellipk(x), -INF, (0, 0, 0, 0)),
    (sd.ellipe(x), -INF, (INF, 0, 0, 0)),
    (sd.ellipkm1(x), 0.0, (INF,)),
    (sd.ellipkm1(x), INF, (0,)),
    (sd.ellipkm1(x), -1.0, (NAN,)),
    # The series of W at 0 is the sum of (-n)^(n-1) x^n/n!.
    *((sd.lambertw(x), at, (0, 1, -2, 9, -64, 625)) for at in (0.0, -0.0)),
    (sd.lambertw(x), INF, (INF, 0, 0, 0, 0, 0)),
    *((sd.lambertw(x, -1), at, (-INF,) * 6) for at in (0.0, -0.0)),
    (sd.lambertw(x, -1), 1.0, (NAN,) * 6),
    (sd.factorial(x), -2.0, (NAN,)),
    (sd.factorial(x), -1.5, (math.gamma(-0.5),)),
    (sd.multigammaln(x, 4), 1.5, (NAN,)),
    (sd.multigammaln(x, 4), 1.0, (NAN,)),
    *(
        (ours(n, x), INF, (INF if ours is sd.iv else 0,))
        for ours in BESSELS
        for n in (0, 0.5, 40.5)
    ),
]


@all_cases(("expr", "at", "values"), AT_ENDS, ids=str, least=73)
def test_values_and_derivatives_at_the_ends_of_a_domain(expr, at, values):
    """Of a float, of an array and by mpmath."""
    for order, wanted in enumerate(values):
        f = sd.diff(expr, x, order) if order else expr
        function = nm.lower(f, (x,))
        for found in (function(at), function(np.array([at, 0.5]))[0], sd.evalf(f, 20, {x: at})):
            assert float(found) == pytest.approx(wanted, rel=1e-14, abs=1e-14, nan_ok=True), order


HALF = sympy.Rational(1, 2)
REALS, INTEGERS, NATURALS = (-4, -1, 0, HALF, 1, 5, -5 * HALF), (-4, -1, 0, 1, 5), (1, 5)
REFUSED = {REALS: (), INTEGERS: (0.5, 3.0000001), NATURALS: (0.5, 3.0000001, -3.0)}
OF_ORDER = {
    "jv": (sympy.besselj, REALS),
    "yv": (sympy.bessely, REALS),
    "iv": (sympy.besseli, REALS),
    "kv": (sympy.besselk, REALS),
    "expn": (sympy.expint, INTEGERS),
    "polygamma": (sympy.polygamma, NATURALS),
    "eval_legendre": (sympy.legendre, NATURALS),
    "eval_chebyt": (sympy.chebyshevt, NATURALS),
    "eval_chebyu": (sympy.chebyshevu, NATURALS),
    "eval_hermite": (sympy.hermite, NATURALS),
    "eval_hermitenorm": (sympy.hermite_prob, NATURALS),
    "eval_laguerre": (sympy.laguerre, NATURALS),
}


def test_every_function_of_an_order_is_in_the_table():
    """Those that SymPy writes with an order in letters."""
    of_order = {name for name in VOCABULARY if order_count(name) and arity(name) == 2}
    assert {name for name in of_order if FACTS[name].sympy} == set(OF_ORDER)


@all_cases("name", [name for name, f in VOCABULARY.items() if hasattr(f, "orders")], least=137)
def test_orders_are_the_leading_constants_of_that_name(name):
    """They are called n or m, and have no derivative."""
    partials = getattr(VOCABULARY[name], "partials", None)
    names = partials.__code__.co_varnames[: arity(name)] if partials else ()
    slopes = partials(*sympy.symbols(names)) if partials else ()
    pairs = zip(names, slopes, strict=True)
    leading = itertools.takewhile(lambda pair: pair[0] in "nm" and pair[1] is None, pairs)
    assert len(list(leading)) == order_count(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", OF_ORDER)
@pytest.mark.parametrize("derivative", [0, 1, 2])
def test_an_order_that_is_a_symbol_takes_numbers_and_refuses_others(name, derivative):
    theirs, orders = OF_ORDER[name]
    order, t = sympy.symbols("order t")
    n, at = sd.symbol("order"), sd.symbol("t")
    expr = sd.from_sympy(theirs(order, t))
    expr = sd.diff(expr, at, derivative) if derivative else expr
    f = nm.lower(expr, (n, at))
    row = np.array([0.75, 0.75])
    for k in orders:
        wanted = sympy.diff(theirs(k, t), t, derivative).subs(t, sympy.Rational(3, 4)).evalf(25)
        assert abs(sd.evalf(expr, 25, {n: float(k), at: 0.75}) - wanted) <= abs(wanted) * 1e-23
        assert f(float(k), 0.75) == pytest.approx(float(wanted), rel=1e-13)
    refused = (math.nan, math.inf, *REFUSED[orders])
    for k in refused:
        with pytest.raises(Unsupported, match=r"the order .* is not an? (finite|integer)"):
            sd.evalf(expr, 25, {n: k, at: 0.75})
        with pytest.raises(Unsupported, match=r"the order .* is not an? (finite|integer)"):
            f(k, 0.75)
        with pytest.raises(Unsupported, match=r"the order .* is not an? (finite|integer)"):
            NUMPY[name](k, row)


@pytest.mark.parametrize(
    ("expr", "plain"),
    [
        (sd.gammainc(2.5, x), lambda v: scipy.special.gammainc(2.5, v)),
        (sd.gammaincc(2.5, x), lambda v: scipy.special.gammaincc(2.5, v)),
        (sd.betainc(1.5, 2.5, x), lambda v: scipy.special.betainc(1.5, 2.5, v)),
        (sd.betaln(x, 2.5), lambda v: scipy.special.betaln(v, 2.5)),
        (sd.betaln(x, x), lambda v: scipy.special.betaln(v, v)),
        (sd.erfinv(x), scipy.special.erfinv),
        (sd.erfcinv(x), scipy.special.erfcinv),
        (sd.logit(x), scipy.special.logit),
        (sd.expit(x), scipy.special.expit),
        (sd.psi(x), scipy.special.psi),
    ],
)
def test_values_are_scipys_and_slopes_those_of_differences(expr, plain):
    np.testing.assert_allclose(nm.lower(expr, (x,))(X), plain(X), rtol=1e-12, atol=1e-15)
    slope = (plain(X + 1e-5) - plain(X - 1e-5)) / 2e-5
    np.testing.assert_allclose(nm.lower(sd.diff(expr, x), (x,))(X), slope, rtol=1e-7)
    value = sd.evalf(expr, 30, {x: 0.25})
    assert float(value) == pytest.approx(float(plain(0.25)), rel=1e-14)


def test_densities_of_large_parameters_do_not_overflow():
    slope = nm.lower(sd.diff(sd.betainc(2000, 3000, x), x), (x,))(0.4)
    with mp.workdps(30):
        wanted = mp.mpf("0.4") ** 1999 * mp.mpf("0.6") ** 2999 / mp.beta(2000, 3000)
    assert slope == pytest.approx(float(wanted), rel=1e-10)
    slope = nm.lower(sd.diff(sd.gammainc(2000, x), x), (x,))(2000.0)
    with mp.workdps(30):
        wanted = mp.mpf(2000) ** 1999 * mp.exp(-2000) / mp.gamma(2000)
    assert slope == pytest.approx(float(wanted), rel=1e-10)


@pytest.mark.parametrize(
    ("build", "named"),
    [
        (lambda a: sd.gammainc(a, x), r"gammainc .* number 1 \(a\)"),
        (lambda a: sd.gammaincc(a, x), r"gammaincc .* number 1 \(a\)"),
        (lambda a: sd.betainc(a, 2, x), r"betainc .* number 1 \(a\)"),
        (lambda a: sd.betainc(2, a, x), r"betainc .* number 2 \(b\)"),
        (lambda a: sd.eval_gegenbauer(3, a, x), r"eval_gegenbauer .* number 2 \(alpha\)"),
        (lambda a: sd.eval_genlaguerre(3, a, x), r"eval_genlaguerre .* number 2 \(alpha\)"),
        (
            lambda a: sd.from_sympy(sympy.expint(*sympy.symbols("a x"))),
            r"expn .* number 1 \(n\)",
        ),
        (lambda a: sd.diff(sd.gammainc(a, x), x), r"gamma_density .* number 1 \(a\)"),
        (lambda a: sd.diff(sd.betainc(a, 2, x), x), r"beta_density .* number 1 \(p\)"),
    ],
)
def test_derivatives_by_parameters_are_refused_by_name(build, named):
    a = sd.symbol("a")
    with pytest.raises(NotDifferentiable, match=named):
        sd.diff(build(a), a)
    sd.diff(build(a), x, 2)  # by the argument


EDGES = [0.0, -0.0, 1.0, -1.0, 2.5, 1e-100, 1e100, math.inf, -math.inf, math.nan]


@pytest.mark.parametrize("name", ["xlog1py", "rel_entr", "kl_div", "entr"])
def test_entropies_at_the_ends_of_their_domain_are_scipys(name):
    """But that kl_div(x, inf) is inf, where SciPy's sum of -inf and inf is nan."""
    theirs = getattr(scipy.special, name)
    count = 1 if name == "entr" else 2
    symbols = sd.symbols("a b")[:count]
    ours = nm.lower(getattr(sd, name)(*symbols), symbols)
    for point in itertools.product(EDGES, repeat=count):
        with np.errstate(all="ignore"):
            wanted = float(theirs(*point))
            every = [ours(*point), ours(*map(np.array, point))]
        every.append(MPMATH[name](*map(mp.mpf, point)))
        if (
            name == "kl_div"
            and math.inf in point
            and point[0] != point[1]
            and all(v > 0 for v in point)
        ):
            wanted = math.inf
        for found in every:
            np.testing.assert_allclose(float(found), wanted, rtol=1e-15, err_msg=f"{point}")


def test_divergences_of_nearly_equal_numbers_keep_their_digits():
    """Relative to the value, as it vanishes with the square of the distance."""
    y = sd.symbol("y")
    divergence = nm.lower(sd.kl_div(x, y), (x, y))
    slope = nm.lower(sd.grad(sd.kl_div(x, y), (x, y)), (x, y))
    for a in (0.3, 1.0, 7.1e-310, 3e200, 1e308):
        for distance in (2.0**-52, 1e-9, 1e-3, 0.1, 0.3, 0.4, 0.7):
            for first in (a * (1 + distance), a / (1 + distance)):
                with mp.workdps(80):
                    p, q = mp.mpf(first), mp.mpf(a)
                    logarithm = mp.log(p / q)
                    wanted = p * logarithm - p + q, logarithm, (q - p) / q
                    for got in (divergence(first, a), divergence(np.array(first), np.array(a))):
                        assert abs(got - wanted[0]) <= 16 * mp.mpf(2) ** -53 * wanted[0] + 1e-323
                    for got, exact in zip(slope(first, a), wanted[1:], strict=True):
                        assert abs(got - exact) <= 4 * mp.mpf(2) ** -53 * abs(exact)


def test_they_broadcast():
    v = sd.symbol("v", 3)
    f = nm.lower(sd.gammainc(np.array([[1.0], [2.0]]), v), (v,))
    np.testing.assert_allclose(
        f(X[:3]), scipy.special.gammainc(np.array([[1.0], [2.0]]), X[:3]), rtol=1e-13
    )
    f = nm.lower(sd.grad(sd.sum(sd.i0(v)), v), (v,))
    np.testing.assert_allclose(f(X[:3]), scipy.special.i1(X[:3]), rtol=1e-13)


@pytest.mark.parametrize(
    "expr",
    [
        sd.jv(2, x),
        sd.yv(2, x),
        sd.iv(2, x),
        sd.kv(2, x),
        sd.jv(0.25, x),
        sd.ive(2, x),
        sd.diff(sd.ive(0.5, x), x, 2),
        sd.kve(0.5, x),
        sd.diff(sd.kve(2, x), x),
        sd.gammainc(2, x),
        sd.gammaincc(2, x),
        sd.betainc(2, 3, x),
        sd.erfinv(x),
        sd.erfcinv(x),
        sd.betaln(x, 3),
        sd.eval_legendre(3, x),
        sd.diff(sd.eval_chebyt(5, x), x, 2),
        sd.eval_genlaguerre(4, 2.5, x),
        sd.ellipk(x),
        sd.ellipe(x),
        sd.ellipkm1(x),
        sd.diff(sd.ellipe(x), x, 2),
        sd.lambertw(x),
        sd.lambertw(x / -2, -1),
        sd.diff(sd.lambertw(x), x, 2),
        *(sd.zeta(x), sd.zeta(x + 1, 2), sd.zeta(3, x), sd.diff(sd.zeta(3, x), x, 2)),
        *(sd.ndtr(x), sd.log_ndtr(x), sd.ndtri(x), sd.diff(sd.log_ndtr(x), x, 2)),
        *(sd.expi(x), sd.exp1(x), sd.expn(3, x), sd.diff(sd.expi(x), x, 3)),
        *(*sd.sici(x), *sd.shichi(x), sd.diff(sd.sici(x)[1], x, 2)),
        *(*sd.fresnel(x), sd.diff(sd.fresnel(x)[0], x, 2), sd.dawsn(x), sd.diff(sd.dawsn(x), x)),
        *(sd.entr(x), sd.rel_entr(x, 3), sd.kl_div(x, 3), sd.xlog1py(x, 3)),
    ],
    ids=str,
)
def test_to_sympy_and_back(expr):
    formula = sd.to_sympy(expr)
    (symbol,) = formula.free_symbols
    ours = sd.evalf(expr, 30, {x: 0.5})
    assert abs(formula.subs(symbol, 0.5).evalf(30) - ours) < 1e-14
    assert abs(sd.evalf(sd.from_sympy(formula), 30, {x: 0.5}) - ours) < 1e-27


# Orthogonal polynomials --------------------------------------------------------------------------


def of_family(name, n):
    """Ours at x, and the coefficients of the power series that it is."""
    return getattr(sd, name)(n, *FAMILIES[name], x), coefficients(name, n, *FAMILIES[name])


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("n", [0, 1, 2, 7])
def test_polynomials_and_all_their_derivatives_are_exact(name, n):
    ours, c = of_family(name, n)
    for order in range(n + 2):
        expr = sd.diff(ours, x, order) if order else ours
        for at in (Fraction(-7, 3), Fraction(0), Fraction(1, 2), Fraction(5)):
            wanted = sum(
                math.perm(k, order) * c[k] * at ** (k - order) for k in range(order, n + 1)
            )
            assert evaluate_exact(expr, {x: at}) == wanted
            assert nm.lower(expr, (x,))(float(at)) == pytest.approx(float(wanted), rel=1e-14)
        if order > n:
            assert expr is sd.constant(0)
    assert getattr(sd, name)(n, *FAMILIES[name], 2) is sd.constant(sum(q * 2**k for k, q in
                                                                       enumerate(c)))  # fmt: skip


def keeps_digits(expr, points, exact, units):
    """Of floats and of an array: to some units in the last place of the value, or of the argument.

    ``exact`` gives the value and the slope, which stand for what is lost before anything is done.
    """
    f = nm.lower(expr, (x,))
    for at, by_array in zip(points, f(np.array(points)), strict=True):
        wanted, slope = exact(mp.mpf(at))
        if abs(wanted) > 1e308:
            assert by_array == f(at) == mp.sign(wanted) * math.inf
            continue
        allowed = units * 2.0**-53 * (abs(wanted) + abs(at * slope))
        for found in (by_array, f(at)):
            assert abs(found - wanted) <= allowed, at


def derivative_keeps_digits(name, order, points, units):
    """The same of a derivative of a function of the table."""
    orders = [(order,), (order + 1,)]
    exact = lambda at: SMOOTH[name].derivatives((at,), orders, 60).values()  # noqa: E731
    keeps_digits(sd.diff(primitive(name, x), x, order), points, exact, units)


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("n", [50, 200])
def test_polynomials_of_high_order_keep_their_digits(name, n):
    """Between the zeros and beyond."""
    ours, c = of_family(name, n)
    with mp.workdps(400):
        powers = [mp.mpf(q.numerator) / q.denominator for q in c][::-1]
        exact = lambda at: mp.polyval(powers, at, derivative=True)  # noqa: E731
        keeps_digits(ours, [1e-9, -0.3, 0.7, 1 - 2.0**-30, -1.0, 1.25, -3.0, 20.0, 1e3], exact, 2)


@pytest.mark.parametrize("name", FAMILIES)
def test_polynomials_far_beyond_their_zeros_are_their_leading_terms(name):
    for n in (1, 2, 3, 8):
        ours, c = of_family(name, n)
        f = nm.lower(ours, (x,))
        for at in (math.inf, -math.inf, 1e300, -1e300):
            wanted = math.copysign(math.inf, c[n] * (1 if at > 0 else (-1) ** n))
            if n > 1 or math.isinf(at):
                assert f(at) == f(np.array([at]))[0] == wanted
            assert sd.evalf(ours, 5, {x: math.copysign(math.inf, at)}) == wanted
        assert math.isnan(f(math.nan))


@pytest.mark.slow
def test_polynomials_that_overflow_between_their_zeros_have_a_sign():
    for ours, name, n, at in (
        *((sd.eval_hermite, "eval_hermite", n, 0.75) for n in (269, 270, 301)),
        *((sd.eval_laguerre, "eval_laguerre", n, 1500.0) for n in (500,)),
    ):
        f = nm.lower(ours(n, x), (x,))
        wanted = sum(c * Fraction(at) ** k for k, c in enumerate(coefficients(name, n)))
        beyond = math.inf if wanted > 0 else -math.inf
        wanted = float(wanted) if abs(wanted) < 2**1023 else beyond
        assert f(at) == f(np.array([at, 0.5]))[0] == pytest.approx(wanted, rel=1e-13)


# Elliptic integrals ------------------------------------------------------------------------------


def test_derivatives_of_elliptic_integrals_at_0_are_those_of_their_series():
    """K and E are pi/2 times the sums of ((1/2)_k/k!)^2 m^k, over 1 - 2k for E."""
    for order in range(9):
        c = Fraction(math.comb(2 * order, order), 4**order) ** 2 * math.factorial(order)
        for ours, wanted in ((sd.ellipk, c), (sd.ellipe, c / (1 - 2 * order))):
            expr = sd.diff(ours(x), x, order) if order else ours(x)
            f = nm.lower(expr, (x,))
            for at in (0.0, -0.0, 5e-324, -1e-300):
                assert f(at) == pytest.approx(float(wanted) * math.pi / 2, rel=8 * 2.0**-53)
            assert mp.almosteq(sd.evalf(expr, 20, {x: 0}), wanted.numerator * mp.pi / 2
                               / wanted.denominator, 1e-14)  # fmt: skip


def test_the_complementary_elliptic_integral_near_its_pole():
    """Its slope there is -1/(2p), and that of order n -(-1)^n (n - 1)!/(2 p^n)."""
    with mp.workdps(400):
        wanted = float(mp.ellipk(1 - mp.mpf(1e-300)))
    assert nm.lower(sd.ellipkm1(x), (x,))(1e-300) == pytest.approx(wanted, rel=8 * 2.0**-53)
    for order in (1, 2, 3):
        f = nm.lower(sd.diff(sd.ellipkm1(x), x, order), (x,))
        wanted = (-1) ** order * math.factorial(order - 1) / 2 * 1e90**order
        assert f(1e-90) == pytest.approx(wanted, rel=1e-14)


def test_high_derivatives_of_elliptic_integrals_obey_their_equations():
    """m(1-m) K'' + (1-2m) K' = K/4 and m(1-m) E'' + (1-m) E' = -E/4, differentiated four times."""
    for f, slope, share in ((sd.ellipk(x), 1 - 2 * x, 0.25), (sd.ellipe(x), 1 - x, -0.25)):
        one = sd.diff(x * (1 - x) * sd.diff(f, x, 2) + slope * sd.diff(f, x), x, 4)
        other = sd.diff(share * f, x, 4)
        for at in (-30, -0.625, 1e-3, 0.25, 0.75):
            a, b = (sd.evalf(side, 30, {x: at}) for side in (one, other))
            assert abs(a - b) <= abs(a) * 1e-28


@pytest.mark.parametrize("order", [6, 20])
@pytest.mark.parametrize("name", ["ellipk", "ellipe"])
def test_high_derivatives_of_elliptic_integrals_keep_their_digits(name, order):
    """In every region of the kernel."""
    points = [-1e3, -81.0, -7.0, -0.3, 1e-9, 0.3, 0.55, 0.75, 1 - 2.0**-6]
    derivative_keeps_digits(name, order, points, 64)


# Lambert's function ------------------------------------------------------------------------------

BELOW = -math.exp(-1)  # the number nearest to -1/e, which is below it: nothing is real there
FIRST = math.nextafter(BELOW, 0)


def test_the_branches_of_lamberts_function_meet_where_they_end():
    """W is -1 ± sqrt(2(1 + ex)) up to 1 + ex: with all its digits, not those that -1/e leaves."""
    branches = [nm.lower(sd.lambertw(x, k), (x,)) for k in (0, -1)]
    slopes = [nm.lower(sd.diff(sd.lambertw(x, k), x), (x,)) for k in (0, -1)]
    with mp.workdps(60):
        for at in (FIRST, FIRST * (1 - 2**-50), FIRST * (1 - 2**-30), FIRST * (1 - 2**-6), -0.25):
            for k, value, slope in zip((0, -1), branches, slopes, strict=True):
                w = mp.lambertw(mp.mpf(at), k).real
                for found in (value(at), value(np.array([at]))[0]):
                    assert abs(found - w) <= 8 * 2.0**-53
                wanted = mp.exp(-w) / (1 + w)
                assert abs(slope(at) - wanted) <= 32 * 2.0**-53 * abs(wanted)
    for function in (*branches, *slopes):
        assert math.isnan(function(BELOW))
        assert math.isnan(function(-math.inf))


def test_lamberts_function_near_the_ends_of_its_branches():
    upper, lower = sd.lambertw(x), sd.lambertw(x, -1)
    least = float(mp.lambertw(mp.mpf(-5e-324), -1).real)
    assert nm.lower(lower, (x,))(-5e-324) == pytest.approx(least, rel=1e-15)
    with mp.workdps(30):
        w = mp.lambertw(mp.mpf(-1e-306), -1).real
        wanted = float(w / (1 + w) / mp.mpf(-1e-306))
    slope = nm.lower(sd.diff(lower, x), (x,))
    assert slope(-1e-306) == pytest.approx(wanted, rel=1e-15)  # W/x alone would overflow
    far = sd.diff(upper, x, 2)
    assert nm.lower(far, (x,))(1e150) == pytest.approx(float(sd.evalf(far, 20, {x: 1e150})))


@pytest.mark.parametrize("k", [0, -1])
def test_high_derivatives_of_lamberts_function_are_those_of_its_inverse(k):
    """The series of W around a number, put into w e^w, is the variable again."""
    order = 9
    at = mp.mpf(-1) / 4
    with mp.workdps(40):
        w = sd.lambertw(x, k)
        derivatives = [w, *(sd.diff(w, x, n) for n in range(1, order + 1))]
        c = [mp.mpf(sd.evalf(d, 40, {x: at})) / mp.factorial(n) for n, d in enumerate(derivatives)]
        power = [mp.exp(c[0])]  # of e^w: n e_n is the sum of j c_j e_(n-j)
        for n in range(1, order + 1):
            power.append(sum(j * c[j] * power[n - j] for j in range(1, n + 1)) / n)
        product = [sum(c[j] * power[n - j] for j in range(n + 1)) for n in range(order + 1)]
        for found, wanted in zip(product, [at, 1, *[0] * order], strict=False):
            assert abs(found - wanted) < 1e-25


@pytest.mark.parametrize("name", ["lambertw", "lambertwm1"])
@pytest.mark.parametrize("order", [5, 13, 14, 20, 60])
def test_high_derivatives_of_lamberts_function_keep_their_digits(name, order):
    """Terms of their polynomial cancel on the branch -1: a rounded coefficient costs all digits."""
    points = [-0.34, -0.27, -0.2208, -0.19246761130720771, -0.175, -0.05, -1e-3]
    derivative_keeps_digits(name, order, points, 8)


@pytest.mark.parametrize(("n", "at"), [(1, 300), (7, 0.25), (60, 210), (60, 2), (200, 45)])
def test_exponential_integrals_of_high_order_are_integrals(n, at):
    """evalf takes other ways than mpmath's expint, which has no right digit of some of them."""
    with mp.workdps(30):
        ends = [1, 1 + mp.mpf(5) / (at + n), 1 + mp.mpf(20) / (at + n), mp.inf]
        exact = mp.exp(-at) * mp.quad(lambda t: mp.exp(-at * (t - 1)) / t**n, ends)
        assert mp.fabs(sd.evalf(sd.expn(n, x), 20, {x: at}) / exact - 1) < mp.mpf(10) ** -19
    assert nm.lower(sd.expn(n, x), (x,))(at) == pytest.approx(float(exact), rel=1e-14)


@pytest.mark.parametrize("at", [0, -1, -2, -5, -20, 0.5, -3.75, 1.25, 30])
def test_derivatives_of_the_reciprocal_gamma_function(at):
    """At the poles of Γ and elsewhere, by Cauchy's integral over a circle."""
    for order in (1, 2, 3, 5):
        f = sd.diff(sd.rgamma(x), x, order)
        with mp.workdps(40):
            circle = [mp.expjpi(mp.mpf(k) / 50) for k in range(100)]
            terms = [mp.rgamma(at + z) * z**-order for z in circle]
            exact = mp.re(mp.fsum(terms)) / 100 * mp.factorial(order)
            assert abs(nm.lower(f, (x,))(float(at)) - exact) <= 2e-15 * abs(exact)
            assert abs(mp.mpf(str(sd.evalf(f, 20, {x: at}))) - exact) <= 1e-18 * abs(exact)
    first = nm.lower(sd.diff(sd.rgamma(x), x), (x,))
    if at in (-1, -2, -5, -20):  # of 1/Γ it is (-1)^k k! at -k
        assert first(float(at)) == pytest.approx((-1) ** at * math.factorial(-at), rel=1e-15)


def test_the_sign_of_gamma_is_scipys():
    at = np.array([-INF, -1e300, -2.5, -2.0, -1.5, -0.5, -5e-324, 0.0, 0.5, INF, NAN])
    expected = scipy.special.gammasgn(at)
    np.testing.assert_array_equal(nm.lower(sd.gammasgn(x), (x,))(at), expected)
    np.testing.assert_array_equal(list(map(MATH["gammasgn"], at)), expected)


QUOTIENTS = {  # the arguments of Γ above and below
    "beta": lambda a, b: ([a, b], [a + b]),
    "poch": lambda a, b: ([a + b], [a]),
    "binom": lambda a, b: ([a + 1], [b + 1, a - b + 1]),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "point"),
    [
        ("beta", (-1.5, 0.5)),  # roots
        ("beta", (-0.25, -2.75)),
        ("beta", (2.5, 700.0)),
        ("beta", (-3.25, 1.5)),
        ("poch", (-2.0, 3.5)),
        ("poch", (-2.0, 4.0)),
        ("poch", (1e6, 2.5)),
        ("poch", (-7.5, 3.25)),
        ("poch", (3.0, -2.0)),
        ("binom", (2.0, 5.0)),
        ("binom", (5.0, -1.0)),
        ("binom", (0.5, -2.0)),
        ("binom", (2.5, 8.5)),
        ("binom", (-2.5, 3.0)),
        ("binom", (1e6, 3.0)),
        ("binom", (60.0, 30.0)),
    ],
)
def test_derivatives_of_quotients_of_gamma_functions(name, point):
    """Of all orders to the third, at their roots and elsewhere; the oracle takes differences."""
    a, b = sd.symbols("a b")

    def exact(order):
        def one(s, t):
            above, below = QUOTIENTS[name](s, t)
            return mp.fprod(map(mp.gamma, above)) * mp.fprod(map(mp.rgamma, below))

        return mp.diff(one, point, order) if sum(order) else one(*map(mp.mpf, point))

    for order in ((0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2), (2, 1)):
        f = getattr(sd, name)(a, b)
        for symbol, n in zip((a, b), order, strict=True):
            f = sd.diff(f, symbol, n) if n else f
        with mp.workdps(60):
            wanted = exact(order)
            size = mp.fabs(wanted) + mp.fabs(exact((0, 0))) * 1e-2
            size += sum(
                mp.fabs(x * exact((order[0] + 1 - k, order[1] + k))) for k, x in enumerate(point)
            )
        got = nm.lower(f, (a, b))(*point)
        assert abs(got - wanted) <= 1e-14 * size, order
        if abs(wanted) > 1e-40:
            found = sd.evalf(f, 20, {a: point[0], b: point[1]})
            with mp.workdps(60):
                assert abs(mp.mpf(str(found)) - wanted) <= 1e-18 * abs(wanted), order


SMALL_AND_LARGE = [
    *((1e-3, 1e-3), (37.0, 1e-10), (1e-10, 2e-10), (1e-3, 700.0), (0.7, 0.7)),
    *((500.0, 3.0), (300.0, 200.0), (0.25, 1e9)),
]


@pytest.mark.slow
@pytest.mark.parametrize("point", SMALL_AND_LARGE)
def test_derivatives_of_beta_at_small_and_large_numbers(point):
    """All to the third keep the bound of the table of accuracy; the oracle takes differences."""
    a, b = sd.symbols("a b")

    @cache
    def exact(order):
        function = lambda s, t: mp.gamma(s) * mp.gamma(t) * mp.rgamma(s + t)  # noqa: E731
        with mp.workdps(60 + 4 * int(-mp.log10(min(point)))):
            return mp.diff(function, point, order)

    for order in itertools.product(range(4), repeat=2):
        if not 0 < sum(order) <= 3:
            continue
        f = sd.diff(sd.beta(a, b), a, order[0]) if order[0] else sd.beta(a, b)
        f = sd.diff(f, b, order[1]) if order[1] else f
        value, p, q = exact(order), *point
        size = abs(value) + abs(p * exact((order[0] + 1, order[1])))
        size += abs(q * exact((order[0], order[1] + 1)))
        for got in (nm.lower(f, (a, b))(*point), nm.lower(f, (a, b))(*np.array([point]).T)[0]):
            assert accuracy.error(got, accuracy.Exact(value, size), 8) is None, order
        found = sd.evalf(f, 20, {a: point[0], b: point[1]})
        with mp.workdps(60):
            assert abs(mp.mpf(str(found)) - value) <= 1e-18 * abs(value), order


def test_mixed_derivatives_of_beta_near_its_poles():
    """Near 0, B(a, b) is 1/a + 1/b - ζ(2)(a + b) + ζ(3)(a + b)² and so on."""
    a, b = sd.symbols("a b")
    f = nm.lower(sd.diff(sd.beta(a, b), a, b), (a, b))
    for point in itertools.product((5e-324, 1e-300, 1e-17), repeat=2):
        assert f(*point) == pytest.approx(2 * mp.zeta(3), rel=1e-15, abs=0)
    wanted = (math.log(1e300) + mp.euler) * 1e-300
    assert f(1e300, 1e-300) == pytest.approx(wanted, rel=1e-14, abs=0)


def test_derivatives_of_beta_of_other_numbers():
    """Where not both arguments are positive they are those of the closed formula."""
    f = nm.lower(sd.diff(sd.beta(x, -1.5), x, 2), (x,))
    with mp.workdps(40):
        wanted = mp.diff(lambda t: mp.beta(t, -1.5), 0.5, 2)
    assert f(0.5) == pytest.approx(float(wanted), rel=1e-13)
    inside = primitive("beta_derivative", *map(sd.constant, (1, 1)), x, sd.constant(2))
    assert [*map(math.isnan, nm.lower(inside, (x,))(np.array([-0.5, 0.0, 0.5, np.inf])))] == [
        *(True, True, False, True)
    ]
    assert mp.isnan(sd.evalf(inside, 20, {x: -0.5}))


@pytest.mark.parametrize(
    ("expr", "wanted"),
    [
        (sd.poch(-5, 3), -60),
        (sd.poch(-2, 3), 0),
        (sd.binom(-1, 2), 1),
        (sd.binom(-3, -5), 6),
        (sd.binom(5, -1), 0),
        (sd.binom(5, 2), 10),
        (sd.beta(-5, 5), Fraction(-1, 5)),
        (sd.beta(0, 2), math.inf),
        (sd.beta(-1.0, 3), math.nan),
        (sd.beta(-1.0, -1.5), math.nan),
        (sd.binom(-2, 0.5), math.nan),
        (sd.poch(0.5, -2.5), math.nan),
    ],
)
def test_quotients_of_gamma_functions_at_integers(expr, wanted):
    for found in (sd.evalf(expr, 20), nm.lower(expr, ())()):
        np.testing.assert_allclose(float(found), float(wanted), rtol=1e-15)


@pytest.mark.parametrize("n", [99, 100, 101, 250])
@pytest.mark.parametrize("at", ["0.3", "2.5", "1e-5", "40.5", "-0.3", "-0.4999", "-7.25", "-12.75"])
def test_polygamma_of_high_order_is_its_series(n, at):
    """evalf takes another way from order 100 on; the oracle adds up the terms."""
    with mp.workdps(80):
        x = mp.mpf(Fraction(at).numerator) / Fraction(at).denominator
        terms = [(x + k) ** -(n + 1) for k in range(100)]
        exact = (-1) ** (n + 1) * mp.factorial(n) * mp.fsum(terms)
        found = sd.evalf(sd.polygamma(n, sd.symbol("x")), 25, {"x": at})
        assert mp.fabs(mp.mpf(str(found)) / exact - 1) < mp.mpf(10) ** -23


# Zeta functions -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("s", "q", "wanted"),
    [
        *((1.0, None, math.inf), (math.inf, None, 1.0), (-math.inf, None, math.nan)),
        *((-4.0, None, 0.0), (-1e300, None, 0.0), (-301.0, None, -math.inf), (0.0, None, -0.5)),
        *((1.0, 2.0, math.inf), (2.0, 0.0, math.inf), (2.0, -3.0, math.inf), (2.0, -0.5, math.nan)),
        *((0.5, 2.0, math.nan), (math.inf, 0.5, math.inf), (math.inf, 1.0, 1.0)),
        *((math.inf, 2.0, 0.0), (2.0, math.inf, 0.0), (1e30, 0.5, math.inf), (1e30, 1.5, 0.0)),
    ],
)
def test_zeta_at_ends(s, q, wanted):
    """Of floats, of arrays and by mpmath."""
    given = (s,) if q is None else (s, q)
    names = sd.symbols("s q")[: len(given)]
    f = nm.lower(sd.zeta(*names), names)
    exact = MPMATH["zeta" if q is None else "hurwitz_zeta"](*map(mp.mpf, given))
    for found in (f(*given), f(*(np.array(x) for x in given)), float(exact)):
        np.testing.assert_equal(float(found), wanted)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_zeta_far_to_the_right(order):
    """A few terms are all of it, up to s = 1e300."""
    f = sd.diff(sd.zeta(x), x, order) if order else sd.zeta(x)
    for s in (60, mp.mpf("200.25"), 50_000):
        with mp.workdps(40):
            wanted = (0 if order else 1) + sum(
                mp.mpf(k) ** -s * (-mp.log(k)) ** order for k in (2, 3, 4, 5)
            )
            assert abs(mp.mpf(str(sd.evalf(f, 25, {x: s}))) / wanted - 1) < 1e-24
    assert sd.evalf(sd.zeta(x), 20, {x: 1e300}) == 1


@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_zeta_out_of_the_floats_has_its_sign(order):
    """Down from where values are largest; by reflection in mpmath."""
    f = nm.lower(sd.diff(sd.zeta(x), x, order) if order else sd.zeta(x), (x,))
    for s in (-255.5, -270.25, -299.75, -300.25, -1001.5, -12345.75):
        with mp.workdps(20):
            exact = MPMATH["zeta_derivative"](mp.mpf(order), mp.mpf(s))
        assert f(s) == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize("order", [8, 20, 40])
def test_zeta_derivatives_of_high_orders(order):
    for s, q in ((0.1, None), (-3.3, None), (1.5, None), (3.5, 0.25), (2.5, 40.0)):
        with mp.workdps(30):
            exact = mp.zeta(mp.mpf(s), 1 if q is None else mp.mpf(q), order)
        if q is None:
            f = nm.lower(sd.diff(sd.zeta(x), x, order), (x,))
        else:
            f = nm.lower(sd.diff(sd.zeta(x, q), x, order), (x,))
        assert f(s) == pytest.approx(float(exact), rel=2e-14)
