"""The special functions of the vocabulary on intervals, by the ball arithmetic of FLINT.

``FUNCTIONS`` maps the names of special and elementary functions to functions of ``Interval``s, as
``numeric.check.ball_functions`` describes.  No value comes from the library's own kernels: n-th
derivatives come from arithmetic with power series of balls, or from a cited formula.

Numbers in brackets are those of the Digital Library of Mathematical Functions.
This module imports python-flint, an optional extra: import it inside functions only.
"""

from __future__ import annotations

import math
from functools import reduce
from typing import TYPE_CHECKING, TypeVar

from flint import acb, arb, arb_series, ctx

from numeric.check.ball_functions import ELEMENTARY, ZERO, exp, floor
from numeric.check.intervals import (
    Domain,
    Found,
    Interval,
    OnIntervals,
    add,
    between,
    constant,
    everywhere,
    hull,
    monotone,
    multiply,
    negative,
    of_balls,
    on_balls,
    order,
    point,
    positive,
    power,
    whole,
)
from symdiff.errors import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable

LARGEST = 2**53  # zeta functions of larger numbers take seconds
SQRT2 = arb(2).sqrt  # a function, because the precision may change between calls

Ball = TypeVar("Ball", arb, arb_series)

# n-th derivatives by power series -----------------------------------------------------------------


def coefficient(series: Callable[[arb_series], arb_series], n: int, x: arb) -> arb:
    """Return the n-th derivative at the ball x; ``series`` maps a power series to one."""
    # FLINT's global cap would cut the series before the coefficient n.
    cap, ctx.cap = ctx.cap, max(ctx.cap, n + 2)
    try:
        return series(arb_series([x, 1], n + 1))[n] * math.factorial(n)
    finally:
        ctx.cap = cap


def derivative(
    name: str, series: Callable[[arb_series], arb_series], domain: Domain = everywhere
) -> OnIntervals:
    """Return the derivative of order n as a function of (n, x)."""

    def value(n: Interval, x: Interval) -> arb | None:
        return coefficient(series, order(name, n), x.ball) if domain(x) else None

    return value


def _planck(s: arb_series) -> arb_series:
    """1/(e^s - 1), with the digits of e^s - 1 near 0."""
    below = s.exp() - 1
    # The constant term would cancel near 0, so expm1 replaces it.
    return 1 / (below - below[0] + s[0].expm1())


def _density(s: arb_series) -> arb_series:
    return (-s * s / 2).exp() / (2 * arb.pi()).sqrt()


def _scaled_tail(s: Ball) -> Ball:
    return (s * s).exp() * s.erfc()


def _normal(s: Ball) -> Ball:
    return (-s / SQRT2()).erfc() / 2


def _dawson(s: Ball) -> Ball:
    return (-s * s).exp() * s.erfi() * (arb.pi().sqrt() / 2)


def _log_normal(t: arb) -> arb:
    # log1p keeps the digits of log Φ where Φ is near 1.
    return (-((t / SQRT2()).erfc() / 2)).log1p() if t > 0 else _normal(t).log()


def _log_normal_derivative(n: Interval, x: Interval) -> Found:
    k = order("log_ndtr_derivative", n)
    if k == 0:
        return NORMAL["log_ndtr"](x)
    # The derivative of log Φ is φ/Φ, whose series gives all higher orders.
    return coefficient(lambda s: _density(s) / _normal(s), k - 1, x.ball)


def _cardinal(n: int, t: arb, waves: tuple[arb, arb], sign: int) -> arb:
    """Return the n-th derivative of sin(t)/t (sign -1) or sinh(t)/t (sign 1).

    It is ∫ u^n c⁽ⁿ⁾(u t) du over 0 <= u <= 1, where c is cos or cosh.  For |t| <= 1 the power
    series Σ sign^k t^(2k-n)/((2k+1) (2k-n)!) over 2k >= n is summed.  Each term is at most half of
    the one before, so the remainder is at most twice its first term.  Elsewhere the recurrence t
    f_k + k f_(k-1) = (t f)⁽ᵏ⁾ applies, with the sine and the cosine of t in ``waves``.
    """
    if t.abs_upper() <= 1:
        first, total, k = (n + 1) // 2, arb(0), (n + 1) // 2
        term: arb = (t if n % 2 else arb(1)) * sign**first  # the factorial, of 0 or 1, is 1
        # Ten bits below the precision: then the truncation is smaller than the rounding.
        bound = arb(2) ** (-ctx.prec - 10)
        while k == first or term.abs_upper() > bound * t.abs_upper() ** (n % 2):
            total += term / (2 * k + 1)
            k += 1
            term = term * (t * t) * sign / ((2 * k - n) * (2 * k - n - 1))
        return total + (2 * term).union(-2 * term)
    sine, cosine = waves
    cycle = (sine, cosine, sign * sine, sign * cosine)
    derivative = sine / t
    for k in range(1, n + 1):
        derivative = (cycle[k % 4 if sign < 0 else k % 2] - k * derivative) / t
    return derivative


def _sinc_derivative(n: Interval, x: Interval) -> Interval:
    k = order("sinc_derivative", n)
    bound = constant(arb.pi() ** k / (k + 1)).upper  # |∫ u^n c⁽ⁿ⁾(ut) du| <= 1/(n + 1)
    ball, pi = x.ball, arb.pi()
    value = of_balls(_cardinal(k, pi * ball, (ball.sin_pi(), ball.cos_pi()), -1) * pi**k)
    if value is None:
        # The ball of a wide interval may be infinite; the bound of the integral always holds.
        return Interval(bound.neg(exact=True), bound)
    low, high = max(value.lower, bound.neg(exact=True)), min(value.upper, bound)
    return Interval(low, high)


def _sinh_integral_derivative(n: Interval, x: Interval) -> arb:
    k = order("sinh_integral_derivative", n)
    t = x.ball
    return _cardinal(k - 1, t, (t.sinh(), t.cosh()), 1) if k else t.shi()


NORMAL: dict[str, OnIntervals] = {
    "bose": derivative("bose", _planck, lambda x: not x.has(0)),
    "ndtr": monotone(_normal),
    "normal_density": derivative("normal_density", _density),
    "log_ndtr": monotone(_log_normal),
    "log_ndtr_derivative": _log_normal_derivative,
    "ndtri": monotone(lambda p: -SQRT2() * (2 * p).erfcinv(), between(0, 1)),
    "erf": monotone(arb.erf),
    "erfc": monotone(arb.erfc),
    "erfcx": monotone(_scaled_tail),
    "erfcx_derivative": derivative("erfcx_derivative", _scaled_tail),
    "erfinv": monotone(arb.erfinv, between(-1, 1)),
    "erfcinv": monotone(arb.erfcinv, between(0, 2)),
    "erfcinv_slope": on_balls(
        lambda x: -arb.pi().sqrt() / 2 * (x.erfcinv() ** 2).exp(), between(0, 2)
    ),
    "dawsn": on_balls(_dawson),
    "dawsn_derivative": derivative("dawsn_derivative", _dawson),
    "sinc": lambda x: _sinc_derivative(ZERO, x),
    "sinc_derivative": _sinc_derivative,
}

# The gamma and beta families ----------------------------------------------------------------------


def _gammaln(x: arb) -> arb:
    return x.lgamma() if x > 0 else -abs(x.rgamma()).log()


def _polygamma(n: Interval, x: Interval) -> Found:
    """ψ⁽ⁿ⁾; for x < 0 by the reflection of ψ(x) = ψ(1 - x) - π cot(πx) [5.5.4]."""
    k = order("polygamma", n)
    at = (lambda t: acb(t).polygamma(k).real) if k else arb.digamma
    if x.lower > 0:
        return monotone(at)(x)
    mirrored: arb = (-1) ** k * at(1 - x.ball)
    return mirrored - arb.pi() * coefficient(arb_series.cot_pi, k, x.ball)


def _polygamma_difference(n: Interval, a: Interval, b: Interval) -> Interval | None:
    first, second = (of_balls(ball) for ball in (_ball(_polygamma(n, x)) for x in (a, add(a, b))))
    return None if first is None or second is None else add(first, negative(second))


def _ball(value: Found) -> arb:
    return value.ball if isinstance(value, Interval) else arb.nan() if value is None else value


def _gammasgn(x: Interval) -> Interval | None:
    if x.lower >= 0:
        return point(1)
    # At a pole, or across one, the sign is undefined.
    below = floor(x)
    if not below.is_point or x.lower == below.lower:
        return None
    return point((-1) ** whole(below.lower))


def _positive_order(a: Interval, x: Interval) -> bool:
    return bool(a.lower > 0) and bool(x.lower >= 0)


def _gamma_density(a: Interval, x: Interval) -> Interval | None:
    """``x^(a-1) e^-x / Γ(a)``."""
    if not x.lower >= 0:
        return None
    scale = of_balls(a.ball.rgamma())
    # 1/Γ(a) is exactly 0 where a is 0, -1, ...: the density is 0 there even if x^(a-1) is infinite.
    if scale is not None and scale.is_point and scale.has(0):
        return ZERO
    powers = power(x, add(a, point(-1)))
    return _times(powers, exp(negative(x)), scale)


def _times(*factors: Interval | None) -> Interval | None:
    known = [factor for factor in factors if factor is not None]
    return reduce(multiply, known) if len(known) == len(factors) else None


def _beta_derivative(m: Interval, n: Interval, a: Interval, b: Interval) -> Interval | None:
    """∂ᵐ/∂aᵐ ∂ⁿ/∂bⁿ B(a, b) of a, b > 0, by Leibniz' rule for Γ(a) Γ(b) / Γ(a + b) [5.12.1].

    It is ∫ t^(a-1) (1-t)^(b-1) log(t)^m log(1-t)^n dt over 0 < t < 1, so it is monotone in a and b.
    """
    first, second = order("beta_derivative", m), order("beta_derivative", n)

    def value(a: arb, b: arb) -> arb:
        first_gamma = [coefficient(arb_series.gamma, i, a) for i in range(first + 1)]
        second_gamma = [coefficient(arb_series.gamma, j, b) for j in range(second + 1)]
        reciprocal = [coefficient(arb_series.rgamma, k, a + b) for k in range(first + second + 1)]
        return sum(
            (
                math.comb(first, i)
                * f
                * math.comb(second, j)
                * g
                * reciprocal[first - i + second - j]
                for i, f in enumerate(first_gamma)
                for j, g in enumerate(second_gamma)
            ),
            arb(0),
        )

    return monotone(value, positive)(a, b)


def _beta_density(p: Interval, q: Interval, c: Interval, x: Interval) -> Interval | None:
    if not between(0, 1, closed=True)(x):
        return None
    mirrored = add(point(1), negative(x))
    return _times(power(x, p), power(mirrored, q), exp(negative(c)))


def _zeta_order(s: Interval) -> bool:
    if max(abs(t) for t in s.ends) > LARGEST:
        raise Unsupported(f"enclose: a zeta function of {s}, beyond {LARGEST}")
    return not s.has(1)


def _hurwitz_order(s: Interval, q: Interval) -> bool:
    return _zeta_order(s) and bool(s.lower > 1) and positive(q)


GAMMAS: dict[str, OnIntervals] = {
    "gamma": on_balls(arb.gamma),
    "rgamma": on_balls(arb.rgamma),
    "rgamma_derivative": derivative("rgamma_derivative", arb_series.rgamma),
    "gammasgn": _gammasgn,
    "gammaln": on_balls(_gammaln),
    "digamma": lambda x: _polygamma(ZERO, x),
    "polygamma": _polygamma,
    "polygamma_difference": _polygamma_difference,
    "beta": on_balls(lambda a, b: a.gamma() * b.gamma() * (a + b).rgamma()),
    "beta_derivative": _beta_derivative,
    "poch": on_balls(lambda z, m: (z + m).gamma() * z.rgamma()),
    "binom": on_balls(lambda n, k: (n + 1).gamma() * (k + 1).rgamma() * (n - k + 1).rgamma()),
    "betaln": on_balls(lambda a, b: _gammaln(a) + _gammaln(b) - _gammaln(a + b)),
    "gammainc": monotone(
        lambda a, x: x.gamma_lower(a, regularized=1) if x > 0 else arb(0), _positive_order
    ),
    "gammaincc": monotone(
        lambda a, x: x.gamma_upper(a, regularized=1) if x > 0 else arb(1), _positive_order
    ),
    "gamma_density": _gamma_density,
    "betainc": monotone(
        lambda a, b, x: x.beta_lower(a, b, regularized=1),
        lambda a, b, x: positive(a, b) and between(0, 1, closed=True)(x),
    ),
    "beta_density": _beta_density,
    "zeta": on_balls(arb.zeta, _zeta_order),
    "zeta_derivative": derivative("zeta_derivative", arb_series.zeta, _zeta_order),
    "hurwitz_zeta": on_balls(arb.zeta, _hurwitz_order),
    "hurwitz_zeta_derivative": lambda m, s, q: (
        coefficient(lambda t: t.zeta(q.ball), order("hurwitz_zeta_derivative", m), s.ball)
        if _hurwitz_order(s, q)
        else None
    ),
}

# Integrals ----------------------------------------------------------------------------------------


def _expn(n: Interval, x: Interval) -> Found:
    k = order("expn", n)
    # E_k(0) = 1/(k - 1) [8.19.6]; FLINT's expint excludes 0.
    if k > 1 and x.is_point and x.has(0):
        return 1 / arb(k - 1)
    return monotone(lambda t: t.expint(k), positive)(x)


def _elliptic(upper: int, complement: bool = False) -> OnIntervals:
    """Return derivatives of K (``upper`` 1) or E (-1), π/2 F(±1/2, 1/2; 1; m) [15.5.2, 19.5]."""

    def value(n: int, m: arb) -> arb:
        half = arb(1) / 2
        a = half * upper + n
        scale = arb.pi() / 2 * (half * upper).rising(n) * half.rising(n) / math.factorial(n)
        # F is differentiated by raising its parameters; the factors are in ``scale`` [15.5.2].
        slope = scale * (1 - m if complement else m).hypgeom_2f1(a, half + n, 1 + n)
        # By the chain rule, each derivative by the complement 1 - m changes the sign.
        return -slope if complement and n % 2 else slope

    domain = positive if complement else lambda m: bool(m.upper < 1)
    return lambda n, m: monotone(lambda t: value(order("a derivative", n), t), domain)(m)


INTEGRALS: dict[str, OnIntervals] = {
    "expn": _expn,
    "expi": on_balls(arb.ei, lambda x: not x.has(0)),
    "expi_derivative": derivative("expi_derivative", arb_series.ei, lambda x: not x.has(0)),
    "sine_integral": on_balls(arb.si),
    "cosine_integral": on_balls(arb.ci, positive),
    "cosine_integral_derivative": derivative("cosine_integral_derivative", arb_series.ci, positive),
    "sinh_integral": monotone(arb.shi),
    "sinh_integral_derivative": _sinh_integral_derivative,
    "cosh_integral": monotone(arb.chi, positive),
    "cosh_integral_derivative": derivative("cosh_integral_derivative", arb_series.chi, positive),
    "fresnel_sine": on_balls(arb.fresnel_s),
    "fresnel_cosine": on_balls(arb.fresnel_c),
    "chirp_sine": on_balls(lambda x: (x * x / 2).sin_pi()),
    "chirp_cosine": on_balls(lambda x: (x * x / 2).cos_pi()),
    "ellipk": lambda m: _elliptic(1)(ZERO, m),
    "ellipkm1": lambda p: _elliptic(1, complement=True)(ZERO, p),
    "ellipe": lambda m: _elliptic(-1)(ZERO, m),
    "ellipk_derivative": _elliptic(1),
    "ellipkm1_derivative": _elliptic(1, complement=True),
    "ellipe_derivative": _elliptic(-1),
    "lambertw": monotone(arb.lambertw),
    "lambertwm1": monotone(lambda x: x.lambertw(-1), lambda x: bool(x.upper < 0)),
    "lambertw_derivative": derivative("lambertw_derivative", arb_series.lambertw),
    "lambertwm1_derivative": derivative(
        "lambertwm1_derivative", lambda s: s.lambertw(-1), lambda x: bool(x.upper < 0)
    ),
}

# Bessel functions, polynomials --------------------------------------------------------------------


def _bessel(function: Callable[[arb, arb], arb], second: bool = False) -> OnIntervals:
    """Lift a Bessel function of constant order: real for x > 0, for all x if n is an integer."""

    def value(n: Interval, x: Interval) -> arb | None:
        if not n.is_point or (x.lower < 0 and n.integer() is None):
            return None
        # K_n and Y_n are infinite at 0 and complex below.
        return None if second and not x.lower > 0 else function(x.ball, n.lower)

    return value


def _scaled(
    function: Callable[[arb, arb], arb], half: int, scale: int
) -> Callable[[int, arb, arb], arb]:
    """Return the m-th derivative of e^(scale x) times I_n or K_n, for x >= 0 [10.29.5]."""

    def value(m: int, n: arb, x: arb) -> arb:
        total = arb(0)
        # Leibniz' rule: the j-th derivative of the Bessel function, and m - j of the exponential.
        for j in range(m + 1):
            slope = sum(
                (math.comb(j, i) * function(x, n - j + 2 * i) for i in range(j + 1)), arb(0)
            )
            total += math.comb(m, j) * scale ** (m - j) * (half / arb(2)) ** j * slope
        return total * (scale * x).exp()

    return value


_scaled_k = _scaled(arb.bessel_k, -1, 1)
_scaled_i = _scaled(arb.bessel_i, 1, -1)


def _kve(m: Interval, n: Interval, x: Interval) -> arb | None:
    return _scaled_k(order("kve", m), n.lower, x.ball) if n.is_point and positive(x) else None


def _ive(m: Interval, n: Interval, x: Interval) -> Interval | None:
    """Return e^-|x| I_n(x): even or odd for x < 0; at 0 the value lies between both sides."""
    k, integer = order("ive", m), n.integer()
    if not n.is_point or (integer is None and not positive(x)):
        return None
    sides = []
    if x.upper >= 0:
        right = Interval(max(x.lower, arb(0)), x.upper)
        sides.append(of_balls(_scaled_i(k, n.lower, right.ball)))
    if x.lower <= 0:
        left = negative(Interval(x.lower, min(x.upper, arb(0))))
        mirrored = of_balls(_scaled_i(k, n.lower, left.ball))
        odd = ((integer or 0) + k) % 2
        sides.append(negative(mirrored) if mirrored is not None and odd else mirrored)
    known = [side for side in sides if side is not None]
    if len(known) < len(sides):
        return None
    union = reduce(hull, known)
    # The kink of e^-|x| lets derivatives of order above |n| jump at 0; 0 lies between the sides.
    return hull(union, ZERO) if x.has(0) and k > abs(integer or 0) else union


def _polynomial(function: Callable[..., arb]) -> OnIntervals:
    def value(n: Interval, *rest: Interval) -> arb:
        # python-flint takes the argument of a polynomial first, then its degree and parameters.
        *parameters, x = (y.ball for y in rest)
        return function(x, order("a polynomial", n), *parameters)

    return value


POLYNOMIALS: dict[str, OnIntervals] = {
    "jv": _bessel(arb.bessel_j),
    "yv": _bessel(arb.bessel_y, second=True),
    "iv": _bessel(arb.bessel_i),
    "kv": _bessel(arb.bessel_k, second=True),
    "ive": lambda n, x: _ive(ZERO, n, x),
    "kve": lambda n, x: _kve(ZERO, n, x),
    "ive_derivative": _ive,
    "kve_derivative": _kve,
    "eval_gegenbauer": _polynomial(arb.gegenbauer_c),
    "eval_legendre": _polynomial(arb.legendre_p),
    "eval_chebyu": _polynomial(arb.chebyshev_u),
    "eval_chebyt": _polynomial(arb.chebyshev_t),
    "eval_hermite": _polynomial(arb.hermite_h),
    "eval_hermitenorm": _polynomial(lambda x, n: (x / SQRT2()).hermite_h(n) / SQRT2() ** n),
    "eval_genlaguerre": _polynomial(arb.laguerre_l),
    "eval_laguerre": _polynomial(arb.laguerre_l),
}

FUNCTIONS: dict[str, OnIntervals] = {
    **ELEMENTARY,
    **NORMAL,
    **GAMMAS,
    **INTEGRALS,
    **POLYNOMIALS,
}
"""Functions of the vocabulary on intervals, by name."""
