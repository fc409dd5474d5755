# ruff: noqa: N801
"""The gamma and beta families, complete and incomplete."""

from __future__ import annotations

import builtins
from functools import partial
from typing import TYPE_CHECKING

import mpmath as mp
import sympy as sp

from symdiff.errors import Unsupported
from symdiff.scalars.vocabulary.choices import (
    abs,
    at_zero,
    equal,
    floor,
    less,
    less_equal,
    logical_and,
    logical_or,
    sign,
    where,
)
from symdiff.scalars.vocabulary.facts import (
    ONE,
    ZERO,
    Ordered,
    Stepwise,
    Transcendental,
    _,
    by_slopes,
    differentiated,
    integer_order,
    real,
)
from symdiff.scalars.vocabulary.regions import between, no_pole, positive, smooth_power

if TYPE_CHECKING:
    from mpmath import mpf

# The gamma family -------------------------------------------------------------------------------


class gamma(Transcendental):
    """The gamma function Γ(x)."""

    nargs = 1
    domain = _(no_pole)
    sympy = sp.gamma
    drawn = True
    partials = _(lambda x: (gamma(x) * digamma(x),))
    value = _(real(mp.gamma))

    @classmethod
    def eval(cls, *args: sp.Expr) -> sp.Expr | None:
        """Return factorials that a double represents exactly."""
        (x,) = args
        return sp.gamma(x) if x.is_Integer and 0 < x <= 20 else None


class rgamma(Transcendental):
    """1/Γ(x), which is finite everywhere, and 0 at 0, -1, -2 ..."""

    nargs = 1
    definition = _(lambda x: 1 / sp.gamma(x))
    partials = _(lambda x: (rgamma_derivative(ONE, x),))
    value = _(lambda x: _rgamma_value(0, x))

    @classmethod
    def eval(cls, *args: sp.Expr) -> sp.Expr | None:
        """Return 0 at 0, -1, -2 ..., and reciprocals of factorials that a double can hold."""
        (x,) = args
        if not x.is_Integer or x > 20:
            return None
        return 1 / sp.gamma(x) if x > 0 else ZERO


class rgamma_derivative(Ordered):
    """The n-th derivative of 1/Γ(x), for a constant integer n >= 0.

    It is one function because ψ(x)/Γ(x), finite everywhere, is undefined at poles of Γ.
    """

    nargs = 2
    of = rgamma
    definition = _(
        lambda n, x: differentiated("rgamma_derivative", lambda t: 1 / sp.gamma(t), n, x)
    )
    written = _(lambda n, x: _rgamma_formula(n, x))
    partials = _(lambda n, x: (None, rgamma_derivative(n + 1, x)))
    value = _(lambda n, x: _rgamma_value(integer_order("rgamma_derivative", n), x))


def _rgamma_formula(n: sp.Expr, x: sp.Expr) -> sp.Expr:
    """The derivative of order 1 or 2; at poles of Γ that of sin(πx)Γ(1 - x)/π."""
    if n > 2:
        raise Unsupported(f"the derivative of 1/Γ of order {n}, written out")
    at_pole = sp.cos(sp.pi * x) * gamma(1 - x) * (1 if n == 1 else -2 * digamma(1 - x))
    slopes = {rgamma: lambda t: -digamma(t) * rgamma(t)}
    return where(_is_pole(x), at_pole, by_slopes(slopes, n, x))


def _rgamma_value(n: int, x: mpf) -> mpf:
    """Polynomials of ψ and its derivatives; for x < 1/2 at 1 - x, by reflection (DLMF 5.5.3)."""
    if not mp.isfinite(x):
        return mp.mpf(0) if x > 0 else mp.nan
    if n == 0:
        return mp.rgamma(x)
    with mp.extraprec(20 + 10 * n + builtins.max(mp.mag(x), 0)):
        if 2 * x >= 1:
            result = _gamma_power_derivatives(n, -1, x)[n] * mp.rgamma(x)
        else:
            turned = (mp.sinpi(x), mp.cospi(x), -mp.sinpi(x), -mp.cospi(x))
            mirrored = _gamma_power_derivatives(n, 1, 1 - x)
            terms = (
                mp.binomial(n, k) * (-1) ** (n - k) * mirrored[n - k] * mp.pi ** (k - 1) * c
                for k in range(n + 1)
                if (c := turned[k % 4])
            )
            result = mp.fsum(terms) * mp.gamma(1 - x)
    return +result


def _gamma_power_derivatives(n: int, sign: int, x: mpf) -> list[mpf]:
    """The derivatives of Γ^sign, divided by Γ^sign, up to order n, for x > 0."""
    coefficients, slopes = [mp.mpf(1)], [sign * mp.psi(i, x) for i in range(n)]
    for k in range(n):
        terms = (mp.binomial(k, i) * coefficients[k - i] * slopes[i] for i in range(k + 1))
        coefficients.append(mp.fsum(terms))
    return coefficients


class gammasgn(Stepwise):
    """The sign of Γ(x): 1 and -1 in turn between its poles; nan at poles, but 1 at 0."""

    nargs = 1
    domain = _(lambda x: logical_or(at_zero(x), no_pole(x)))
    definition = _(
        lambda x: sp.Piecewise(
            (ONE, x >= 0), (sp.nan, sp.Eq(sp.floor(x), x)), (1 - 2 * sp.Mod(sp.floor(x), 2), True)
        )
    )
    value = _(lambda x: _gammasgn_value(x))


def _gammasgn_value(x: mpf) -> mpf:
    if x >= 0:
        return mp.mpf(1)
    return mp.nan if not mp.isfinite(x) or mp.isint(x) else mp.mpf(1 - 2 * (mp.floor(x) % 2))


class gammaln(Transcendental):
    """log|Γ(x)|; SymPy's loggamma is complex for negative x."""

    nargs = 1
    domain = _(no_pole)
    aliases = "lgamma loggamma"
    sympy = sp.loggamma
    definition = _(lambda x: sp.log(sp.Abs(sp.gamma(x))))
    partials = _(lambda x: (digamma(x),))
    value = _(
        lambda x: mp.inf if x == -mp.inf or (x <= 0 and mp.isint(x)) else mp.re(mp.loggamma(x))
    )


class digamma(Transcendental):
    """ψ(x), the derivative of log|Γ(x)|."""

    nargs = 1
    domain = _(no_pole)
    aliases = "psi"
    sympy = sp.digamma
    definition = _(lambda x: sp.polygamma(0, x))
    partials = _(lambda x: (polygamma(ONE, x),))
    value = _(real(mp.digamma))


class polygamma(Ordered):
    """ψ⁽ⁿ⁾(x), the n-th derivative of ψ, for a constant integer n >= 0."""

    nargs = 2
    domain = _(lambda n, x: no_pole(x))
    of = digamma
    sympy = sp.polygamma
    definition = _(lambda n, x: sp.polygamma(n, x))
    partials = _(lambda n, x: (None, polygamma(n + 1, x)))
    value = _(lambda n, x: _polygamma_value(integer_order("polygamma", n), x))


def _polygamma_value(n: int, x: mpf) -> mpf:
    """Return mpmath's psi, or ζ(s, x) with s = n + 1 where the sum of n terms would be long.

    ψ⁽ⁿ⁾(x) = (-1)ˢ n! Σ_k (x + k)^-s (DLMF 5.15.1).  With x = f - N, 0 < f < 1, the sum is
    ζ(s, f) + (-1)ˢ (ζ(s, 1 - f) - ζ(s, N + 1 - f)), whose terms may cancel.
    """
    if n < 100 or not mp.isfinite(x) or (x <= 0 and mp.isint(x)):
        return real(mp.psi)(n, x)
    s, sign, extra = n + 1, (-1) ** (n + 1), 30
    while True:
        with mp.extraprec(extra + builtins.max(mp.mag(x), 0)):
            below = builtins.max(-mp.floor(x), 0)
            f = x + below
            first = mp.zeta(s, f)
            total = (
                first + sign * (mp.zeta(s, 1 - f) - mp.zeta(s, below + 1 - f)) if below else first
            )
            if total and mp.mag(first) - mp.mag(total) < extra - 10:
                result = sign * mp.factorial(n) * total
                break
        extra *= 2
        if extra > 4000:
            raise mp.libmp.NoConvergence
    return +result


# The beta family, and the incomplete gamma and beta functions ------------------------------------


class beta(Transcendental):
    """B(a, b) = Γ(a)Γ(b)/Γ(a + b); nan at poles, but infinite at 0 with a positive number.

    If one argument is a positive integer, the function of the other one has fewer poles.
    """

    nargs = 2
    domain = _(lambda a, b: logical_and(no_pole(a), no_pole(b)))
    sympy = sp.beta
    partials = _(lambda a, b: _beta_slopes(a, b))
    value = _(lambda a, b: _beta_value(a, b))


def _beta_slopes(a: sp.Expr, b: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    positive = logical_and(less(ZERO, a), less(ZERO, b))
    return (
        where(positive, beta_derivative(ONE, ZERO, a, b), _reflected_beta_slope(a, b)),
        where(positive, beta_derivative(ZERO, ONE, a, b), _reflected_beta_slope(b, a)),
    )


def _reflected_beta_slope(a: sp.Expr, b: sp.Expr) -> sp.Expr:
    """B(a, b)(ψ(a) - ψ(a + b)); by the derivative of 1/Γ where ψ(a + b) is infinite."""
    at_root = gamma(a) * gamma(b) * (digamma(a) * rgamma(a + b) + rgamma_derivative(ONE, a + b))
    return where(_is_pole(a + b), at_root, beta(a, b) * (digamma(a) - digamma(a + b)))


def _is_pole(x: sp.Expr) -> sp.Expr:
    return logical_and(less_equal(x, ZERO), equal(x, floor(x)))


def _beta_value(a: mpf, b: mpf) -> mpf:
    if (a == 0 or b == 0) and a + b > 0:
        return mp.inf
    return _quotient([a, b], [a + b])


def _quotient(above: list[mpf], below: list[mpf]) -> mpf:
    """The quotient of two products of Γ; the limit for equal numbers of poles, else nan."""
    if not all(map(mp.isfinite, (*above, *below))):
        return mp.nan
    result = mp.gammaprod(above, below)
    return result if mp.isfinite(result) else mp.nan


class beta_derivative(Ordered):
    """The derivative of B(a, b) of order m by a and n by b, for a, b > 0; else nan.

    It is one function because the terms of a mixed derivative cancel where B is nearly 1/a + 1/b.
    The integral of t^(a-1) (1-t)^(b-1) log(t)^m log(1-t)^n over 0 < t < 1 has no cancellation.
    """

    nargs = 4
    domain = _(lambda m, n, a, b: logical_and(positive(a), positive(b)))
    orders = 2
    of = beta
    definition = _(lambda m, n, a, b: _beta_definition(m, n, a, b))
    written = definition
    partials = _(
        lambda m, n, a, b: (
            None,
            None,
            beta_derivative(m + 1, n, a, b),
            beta_derivative(m, n + 1, a, b),
        )
    )
    value = _(
        lambda m, n, a, b: _beta_derivative_value(
            integer_order("beta_derivative", m), integer_order("beta_derivative", n), a, b
        )
    )


def _beta_definition(m: sp.Expr, n: sp.Expr, a: sp.Expr, b: sp.Expr) -> sp.Expr:
    def by_second(t: sp.Expr) -> sp.Expr:
        return differentiated("beta_derivative", lambda u: sp.beta(t, u), n, b)

    return differentiated("beta_derivative", by_second, m, a)


def _beta_derivative_value(m: int, n: int, a: mpf, b: mpf) -> mpf:
    """Leibniz's rule for Γ(a) Γ(b) times 1/Γ(a + b)."""
    if not (0 < a < mp.inf and 0 < b < mp.inf):
        return mp.nan
    size = builtins.max(builtins.abs(mp.mag(x)) for x in (a, b))
    with mp.extraprec(20 + 10 * (m + n) + 2 * (m + n + 2) * size):  # the terms cancel
        first, second = _gamma_power_derivatives(m, 1, a), _gamma_power_derivatives(n, 1, b)
        below = _gamma_power_derivatives(m + n, -1, a + b)
        terms = (
            mp.binomial(m, i) * first[i] * mp.binomial(n, k) * second[k] * below[m + n - i - k]
            for i in range(m + 1)
            for k in range(n + 1)
        )
        result = mp.fsum(terms) * mp.beta(a, b)
    return +result


class poch(Transcendental):
    """Γ(z + m)/Γ(z), z (z + 1) ... (z + m - 1) for an integer m; nan at poles.

    If z and z + m are both among 0, -1, -2 ..., it is the limit for fixed m; derivatives are
    infinite or nan there.
    """

    nargs = 2
    domain = _(lambda a, b: no_pole(a + b))
    sympy = sp.RisingFactorial
    partials = _(lambda z, m: (_poch_slope(z, m), poch(z, m) * digamma(z + m)))
    value = _(lambda z, m: _quotient([z + m], [z]))


def _poch_slope(z: sp.Expr, m: sp.Expr) -> sp.Expr:
    """(z)_m (ψ(z + m) - ψ(z)); by the derivative of 1/Γ where ψ(z) is infinite."""
    up = z + m
    positive = logical_and(less(ZERO, z), less(ZERO, up))
    at_root = gamma(up) * (digamma(up) * rgamma(z) + rgamma_derivative(ONE, z))
    other = where(_is_pole(z), at_root, poch(z, m) * (digamma(up) - digamma(z)))
    return where(positive, -poch(z, m) * polygamma_difference(ZERO, z, m), other)


class binom(Transcendental):
    """Γ(n + 1)/(Γ(k + 1)Γ(n - k + 1)), the binomial coefficient.

    For n = -1, -2 ... it is the limit for an integer k, else nan; derivatives there are nan.
    """

    nargs = 2
    domain = _(lambda n, k: no_pole(n + 1))
    sympy = sp.binomial
    partials = _(lambda n, k: _binom_slopes(n, k))
    value = _(lambda n, k: _quotient([n + 1], [k + 1, n - k + 1]))


def _binom_slopes(n: sp.Expr, k: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    """Partial derivatives with ψ if all arguments of Γ are positive, else with those of 1/Γ."""
    rest = n - k + 1
    positive = logical_and(less(-1, n), logical_and(less(-1, k), less(ZERO, rest)))
    lower, slope = rgamma(rest), rgamma_derivative(ONE, rest)
    by_n = gamma(n + 1) * rgamma(k + 1) * (digamma(n + 1) * lower + slope)
    by_k = gamma(n + 1) * (lower * rgamma_derivative(ONE, k + 1) - slope * rgamma(k + 1))
    beyond = n - 2 * k  # if small, ψ(rest) - ψ(k + 1) comes from it
    difference = where(
        less(beyond, ZERO),
        polygamma_difference(ZERO, rest, -beyond),
        -polygamma_difference(ZERO, k + 1, beyond),
    )
    return (
        where(positive, -binom(n, k) * polygamma_difference(ZERO, rest, k), by_n),
        where(positive, binom(n, k) * difference, by_k),
    )


class betaln(Transcendental):
    """log|B(a, b)| = log|Γ(a)| + log|Γ(b)| - log|Γ(a + b)|."""

    nargs = 2
    domain = _(lambda a, b: logical_and(logical_and(no_pole(a), no_pole(b)), no_pole(a + b)))
    definition = _(lambda a, b: _lngamma(a) + _lngamma(b) - _lngamma(a + b))
    partials = _(lambda a, b: (polygamma_difference(ZERO, a, b), polygamma_difference(ZERO, b, a)))
    value = _(lambda a, b: _betaln_value(a, b))


def _lngamma(x: sp.Expr) -> sp.Expr:
    return gammaln.definition(x)


def _betaln_value(a: mpf, b: mpf) -> mpf:
    if not (mp.isfinite(a) and mp.isfinite(b)):
        return mp.nan
    sizes = [mp.mag(x) for x in (a, b) if x]
    with mp.extraprec(20 + 2 * max(map(builtins.abs, sizes), default=0)):  # the terms cancel
        result = gammaln.value(a) + gammaln.value(b) - gammaln.value(a + b)
    return +result


class polygamma_difference(Ordered):
    """ψ⁽ⁿ⁾(a) - ψ⁽ⁿ⁾(a + b), for a constant integer n >= 0; subtracting the two would cancel."""

    nargs = 3
    domain = _(lambda n, a, b: logical_and(no_pole(a), no_pole(a + b)))
    definition = _(lambda n, a, b: sp.polygamma(n, a) - sp.polygamma(n, a + b))
    written = definition
    partials = _(
        lambda n, a, b: (None, polygamma_difference(n + 1, a, b), -polygamma(n + 1, a + b))
    )
    value = _(
        lambda n, a, b: _polygamma_difference_value(integer_order("polygamma_difference", n), a, b)
    )


def _polygamma_difference_value(n: int, a: mpf, b: mpf) -> mpf:
    if not (mp.isfinite(a) and mp.isfinite(b)):
        return mp.nan
    sizes = [builtins.abs(mp.mag(x)) for x in (a, b) if x]
    with mp.extraprec(20 + 2 * (n + 1) * max(sizes, default=0)):  # the terms cancel
        result = real(mp.psi)(n, a) - real(mp.psi)(n, a + b)
    return +result


class gammainc(Transcendental):
    """P(a, x) = 1/Γ(a) ∫₀ˣ t^(a-1) e^-t dt, regularised; no derivative by a > 0."""

    nargs = 2
    domain = _(lambda a, x: logical_or(positive(x), logical_and(at_zero(x), less_equal(ONE, a))))
    definition = _(lambda a, x: sp.lowergamma(a, x) / sp.gamma(a))
    partials = _(lambda a, x: (None, gamma_density(a, x)))
    value = _(lambda a, x: _gammainc_value(a, x, 0, x))


class gammaincc(Transcendental):
    """Q(a, x) = 1 - P(a, x), accurate in its tail; no derivative by a > 0."""

    nargs = 2
    domain = _(lambda a, x: logical_or(positive(x), logical_and(at_zero(x), less_equal(ONE, a))))
    definition = _(lambda a, x: sp.uppergamma(a, x) / sp.gamma(a))
    partials = _(lambda a, x: (None, -gamma_density(a, x)))
    value = _(lambda a, x: _gammainc_value(a, x, x, mp.inf))


def _gammainc_value(a: mpf, x: mpf, low: mpf, high: mpf) -> mpf:
    if not (a > 0 and x >= 0):
        return mp.nan
    return real(partial(mp.gammainc, regularized=True))(a, low, high)


class gamma_density(Transcendental):
    """x^(a-1) e^-x / Γ(a) for x >= 0, the derivative of P(a, x); it is 0 for a = 0, -1, -2 ...

    The derivative is gamma_density(a - 1, x) - gamma_density(a, x), which adds no pole at x = 0.
    """

    nargs = 2
    domain = _(lambda a, x: logical_or(positive(x), logical_and(at_zero(x), smooth_power(a - 1))))
    definition = _(lambda a, x: x ** (a - 1) * sp.exp(-x) / sp.gamma(a))
    written = _(lambda a, x: x ** (a - 1) * sp.exp(-x) * rgamma(a))
    partials = _(lambda a, x: (None, gamma_density(a - 1, x) - gamma_density(a, x)))
    value = _(lambda a, x: _gamma_density_value(a, x))


def _gamma_density_value(a: mpf, x: mpf) -> mpf:
    if not x >= 0:
        return mp.nan
    factor = mp.rgamma(a)
    if not factor or mp.isnan(factor):
        return factor
    if x == 0 and a < 1:
        return factor * mp.inf
    return mp.power(x, a - 1) * mp.exp(-x) * factor


class betainc(Transcendental):
    """I_x(a, b) = 1/B(a, b) ∫₀ˣ t^(a-1) (1-t)^(b-1) dt; no derivative by a, b > 0."""

    nargs = 3
    domain = _(
        lambda a, b, x: logical_or(
            between(ZERO, x, ONE),
            logical_or(
                logical_and(at_zero(x), less_equal(ONE, a)),
                logical_and(equal(x, ONE), less_equal(ONE, b)),
            ),
        )
    )
    definition = _(lambda a, b, x: sp.betainc_regularized(a, b, 0, x))
    partials = _(lambda a, b, x: (None, None, beta_density(a - 1, b - 1, betaln(a, b), x)))
    value = _(
        lambda a, b, x: (
            real(partial(mp.betainc, regularized=True))(a, b, 0, x)
            if a > 0 and b > 0 and 0 <= x <= 1
            else mp.nan
        )
    )


class beta_density(Transcendental):
    """x^p (1 - x)^q e^-c for 0 <= x <= 1, the derivative of I_x(p + 1, q + 1) with c = log B.

    The powers and their scale are one function, because each of them alone could overflow.
    """

    nargs = 4
    domain = _(
        lambda a, b, c, x: logical_or(
            between(ZERO, x, ONE),
            logical_or(
                logical_and(at_zero(x), smooth_power(a)),
                logical_and(equal(x, ONE), smooth_power(b)),
            ),
        )
    )
    definition = _(lambda p, q, c, x: x**p * (1 - x) ** q * sp.exp(-c))
    written = definition
    partials = _(
        lambda p, q, c, x: (
            None,
            None,
            None,
            # Keep the exponent at 0: 0 times an infinite power would be nan.
            p * beta_density(p - abs(sign(p)), q, c, x)
            - q * beta_density(p, q - abs(sign(q)), c, x),
        )
    )
    value = _(
        lambda p, q, c, x: (
            _power_at(x, p) * _power_at(1 - x, q) * mp.exp(-c) if 0 <= x <= 1 else mp.nan
        )
    )


def _power_at(x: mpf, p: mpf) -> mpf:
    return mp.inf if x == 0 and p < 0 else mp.power(x, p)
