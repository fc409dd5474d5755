"""The scalar vocabulary as functions of NumPy arrays, and of Python floats.

Functions of ``numpy`` and ``math`` come from there, under the names in the class of each function.
This package implements the others.

``NUMPY`` takes arrays or numbers, keeps float32 and promotes integers where the result is real.
``MATH`` takes Python floats at a tenth of the cost.  It raises ValueError, OverflowError or
ZeroDivisionError where ``math`` does.  The caller then repeats the call with ``NUMPY``, which has
the IEEE answer.  Both are accurate to a few ulp wherever the value can be represented.

The error function and the gamma family of arrays are SciPy's, imported on the first call.
"""

from __future__ import annotations

import importlib.util
import math
import operator
import sys
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from mpmath import libmp

from numeric.special import (
    bessel_orders,
    elliptic,
    entropies,
    gamma_products,
    gamma_reciprocals,
    gammas,
    incomplete,
    integrals,
    lambert,
    polynomials,
    tails,
    zetas,
)
from symdiff.contexts import contained
from symdiff.errors import Unsupported
from symdiff.guesses import missing
from symdiff.scalars.vocabulary import (
    FACTS,
    VOCABULARY,
    Polynomial,
    bose_polynomial,
    integer_order,
    planar,
    real_order,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

    from numeric.types import Doubles, Reals, Values
    from symdiff.scalars.vocabulary import Facts


def needs_scipy(name: str) -> bool:
    """Whether the array function called ``name`` comes from SciPy.

    >>> needs_scipy("erf"), needs_scipy("sinc")
    (True, False)
    """
    return name in _OF_SCIPY


def require_scipy(name: str) -> None:
    """Raise Unsupported if ``name`` needs SciPy and it is missing; do not import SciPy."""
    if needs_scipy(name) and importlib.util.find_spec("scipy") is None:
        raise Unsupported(f'{name} needs SciPy: pip install "symdiff-numeric[scipy]"')


@cache
def _scipy(name: str) -> ModuleType:
    """Return SciPy's special functions for ``name``, or raise Unsupported if they are missing."""
    require_scipy(name)
    return importlib.import_module("scipy.special")


# Of arrays --------------------------------------------------------------------------------------


def _sigmoid(x: Values) -> Values:
    # e^-|x| never overflows, and each sign of x has a form without cancellation.  For mixed signs,
    # a selection takes five times as long as a second exponential.
    share: Values = np.exp(np.minimum(x, 0)) / (1 + np.exp(-np.abs(x)))
    return share


def _softplus(x: Values) -> Values:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _log_sigmoid(x: Values) -> Values:
    return np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x)))


def _log1mexp(x: Values) -> Values:
    # 1 - e^-x cancels for small x, and is 1 for large ones (Mächler 2012).
    near = np.less_equal(x, _LOG_2)
    of_small = np.log(-np.expm1(-np.where(near, x, 1)))
    return np.where(near, of_small, np.log1p(-np.exp(-np.where(near, 1, x))))[()]


_LOG_2 = math.log(2)


def _exp_share(a: Values, b: Values) -> Values:
    return _sigmoid(_difference(a, b))


@contained
def _difference(a: Values, b: Values) -> Values:
    with np.errstate(invalid="ignore"):  # inf - inf, which the selection below replaces
        difference = np.subtract(a, b)
    return np.where(np.equal(a, b), 0, difference)[()]


def _sech(x: Values) -> Values:
    e = np.exp(-np.abs(x))
    d = e * e
    d += 1  # in place: new arrays would cost more than the exponential
    e += e
    e /= d
    return e


def _sech2(x: Values) -> Values:
    y = _sech(x)
    y *= y
    return y


def _xlogy(x: Values, y: Values) -> Values:
    vanishes = np.equal(x, 0) & ~np.isnan(y)
    return x * np.log(np.where(vanishes, 1, y))


def _xlog1py(x: Values, y: Values) -> Values:
    vanishes = np.equal(x, 0) & ~np.isnan(y)
    return x * np.log1p(np.where(vanishes, 0, y))


def _entr(x: Doubles) -> Doubles:
    at = np.where(np.less_equal(x, 0), 1, x)
    return np.where(np.less(x, 0), -np.inf, -at * np.log(at))


def _relative_difference(x: Values, y: Values) -> Values:
    return np.subtract(x, y) / y


def _power(x: Values, y: Values) -> Values:
    if np.result_type(x, y).kind != "f":  # NumPy refuses integers with negative exponents
        x = np.asarray(x, dtype=np.float64)
    return np.power(x, y)


def _cosine(a: Values, b: Values) -> Values:
    r = np.hypot(a, b)
    kind = np.finfo(r.dtype)
    short, long = r < 4 * kind.tiny, r > kind.max
    if np.any(short | long):  # a length with few digits, or an infinite one: scale by a power of 2
        scale = np.where(short, 4 / kind.eps, np.where(long, 0.25, 1)).astype(r.dtype)
        a, b = a * scale, b * scale
        r = np.hypot(a, b)
    return a / np.where(np.equal(r, 0), 1, r)


def _planar(name: str) -> Callable[..., Values]:
    """Return a function for a derivative of hypot or atan2 (``symdiff.scalars.vocabulary.planar``).

    Exponents are separated unless all lengths and coordinates are moderate.
    """

    def of_one(n: int, m: int, a: Reals, b: Reals) -> Reals:
        q, terms = planar(name, n, m)
        r = np.hypot(a, b)
        if np.all(r) and _is_moderate(a) and _is_moderate(b):
            return sum(_products(terms, a / r, b / r)) / math.prod((r,) * q)
        low_i, low_j = min(i for i, _, _ in terms), min(j for _, j, _ in terms)
        (x, e), (y, f) = np.frexp(a), np.frexp(b)
        size = np.maximum(np.where(x == 0, _LOWEST, e), np.where(y == 0, _LOWEST, f))
        r = np.hypot(np.ldexp(x, e - size), np.ldexp(y, f - size))
        r = np.where(r == 0, 1, r)
        x, y, e, f = x / r, y / r, e - size, f - size
        c, s = np.ldexp(x, e), np.ldexp(y, f)
        total = sum(k * c ** (i - low_i) * s ** (j - low_j) for i, j, k in terms)
        total = total * x**low_i * y**low_j
        exponent = low_i * e + low_j * f - q * size
        return np.where((a == 0) & (b == 0), 0, np.ldexp(total / r**q, exponent))

    def of_any(n: Values, m: Values, a: Values, b: Values) -> Values:
        dtype = np.result_type(a, b, np.float32)
        if all(isinstance(v, float | int) for v in (a, b)):
            dtype = np.dtype(np.float64)
        if np.ndim(n) == np.ndim(m) == 0:
            first, second = (integer_order(name, float(k)) for k in (n, m))
            return np.asarray(of_one(first, second, np.float64(a), np.float64(b)), dtype)[()]
        n, m, a, b = np.broadcast_arrays(n, m, np.float64(a), np.float64(b))
        result = np.empty(a.shape)
        for order in dict.fromkeys(zip(n.ravel().tolist(), m.ravel().tolist(), strict=True)):
            chosen = (n == order[0]) & (m == order[1])
            first, second = (integer_order(name, k) for k in order)
            result[chosen] = of_one(first, second, a[chosen], b[chosen])
        return result.astype(dtype)[()]

    return of_any


_LOWEST = -2000


def _is_moderate(x: Reals) -> bool:
    size = np.abs(x)
    return bool(np.all((size == 0) | ((size > _NEAR_1) & (size < 1 / _NEAR_1))))


def _products(terms: tuple[tuple[int, int, int], ...], c: Reals, s: Reals) -> list[Reals]:
    """Return the terms k c^i s^j."""
    return [math.prod((c,) * i + (s,) * j, start=k) for i, j, k in terms]


def _math_planar(name: str) -> Callable[..., float]:
    of_arrays = _planar(name)

    def of_floats(n: float, m: float, a: float, b: float) -> float:
        r = math.hypot(a, b)
        near = _NEAR_1**2 < r * r < _NEAR_1**-2
        if not (near and (a == 0 or a * a > _NEAR_1**2) and (b == 0 or b * b > _NEAR_1**2)):
            return float(of_arrays(n, m, a, b))
        q, terms = planar(name, integer_order(name, n), integer_order(name, m))
        c, s = a / r, b / r
        return math.fsum(_products(terms, c, s)) / r**q

    return of_floats


_NEAR_1 = 1e-20  # a product of a few factors of this size is still a normal float


def _bose_order(n: int, x: Doubles) -> Doubles:
    """Sum the polynomial in 1/(e^|x| - 1), whose terms are positive; e^-x is its tail."""
    size = np.abs(x)
    far = size > _FAR
    b = 1 / np.expm1(np.where(far, _FAR, size))
    near = b > _POLE  # the first term dominates all others
    total = np.where(near, math.factorial(n) * b ** (n + 1), 0)
    if not np.all(near):
        value = polynomials.horner(bose_polynomial(n), np.where(near, 1, b))
        total = np.where(near, total, np.where(np.isnan(value) & ~np.isnan(x), np.inf, value))
    total = np.where(far, np.exp(-size), total)
    if n == 0:
        return np.where(x < 0, -1 - total, total)  # as for other orders, errors of b may cancel
    return -total if n % 2 else np.where(x < 0, -total, total)


_FAR = 40.0  # beyond, all derivatives are ±e^-x to the last bit
_POLE = 1e18


def _math_bose(order: float, x: float) -> float:
    n, size = integer_order("bose", order), abs(x)
    if size > _FAR:
        total = math.exp(-size)
    elif size * _POLE > 1 and n <= _LAST_EXACT:
        total = float(polynomials.horner(bose_polynomial(n), 1 / math.expm1(size)))
    else:
        return float(NUMPY["bose"](order, x))
    if n == 0:
        return total if x > 0 else -1.0 - total
    return -total if n % 2 or x < 0 else total


_LAST_EXACT = 12


def _hypot1(x: Values) -> Values:
    return np.hypot(x, 1)


def _acosh_slope(x: Values) -> Values:
    return 1 / (np.sqrt(x - 1) * np.sqrt(x + 1))


def _step(x: Values) -> Values:
    return np.asarray(np.heaviside(x, 0), dtype=np.result_type(x))[()]  # integers stay integers


def _clip(x: Values, lo: Values, hi: Values) -> Values:
    return np.minimum(hi, np.maximum(lo, x))


def _erfc(x: Doubles) -> Doubles:
    value: Doubles = _scipy("erfc").erfc(x)
    tail = (x > _ERFC_TAIL) & (value == 0)  # SciPy returns 0 for subnormal numbers
    if not np.any(tail):
        return value
    inside = np.where(tail, x, _ERFC_TAIL)
    return np.where(tail, np.exp(-inside * inside) * _scipy("erfc").erfcx(inside), value)[()]


_ERFC_TAIL = 26.0


def _erfcinv(x: Doubles) -> Doubles:
    value: Doubles = _scipy("erfcinv").erfcinv(x)
    tiny = (x > 0) & (x < _NORMAL)  # SciPy returns infinity for the smallest numbers
    if not np.any(tiny):
        return value
    # Newton for log erfc(y) = log erfcx(y) - y², whose slope is -2/(√π erfcx(y)).
    logarithm = np.log(np.where(tiny, x, 1))
    y = np.full_like(logarithm, 26.5)
    for _ in range(4):
        scaled = _scipy("erfcinv").erfcx(y)
        y = y + (np.log(scaled) - y * y - logarithm) * math.sqrt(math.pi) / 2 * scaled
    return np.where(tiny, y, value)


def _erfcinv_slope(x: Doubles) -> Doubles:
    # e^(-y²) = erfc(y)/erfcx(y) = x/erfcx(y) at y = erfcinv(x); squaring y would lose digits.
    outside = np.equal(x, 0)
    at = np.where(outside, 1, x)
    y = _erfcinv(at)
    body = np.abs(y) < 0.5  # here the square is small, and the quotient is less exact
    power = np.where(body, np.exp(np.where(body, y, 0) ** 2), _scipy("erfcinv").erfcx(y) / at)
    slope = -math.sqrt(math.pi) / 2 * power
    return np.where(outside, -np.inf, slope)


def _ndtr(x: Doubles) -> Doubles:
    # Far out the error of x/√2 would grow by the factor x².
    far = x < -1
    tail, rest = np.where(far, x, -1), np.where(far, 0, x)
    scaled = _scipy("ndtr").erfcx(tail / -_ROOT_2)
    return np.where(far, tails.exp_of_half_square(tail, scaled) / 2, _erfc(rest / -_ROOT_2) / 2)


def _ndtri(p: Doubles) -> Doubles:
    return -_ROOT_2 * _erfcinv(2 * np.where((p >= 0) & (p <= 1), p, np.nan))


@contained
def _log_ndtr(x: Doubles) -> Doubles:
    far = x < -1  # the exponential may underflow here
    tail, rest = np.where(far, x, -1), np.where(far, 0, x)
    with np.errstate(divide="ignore"):
        logarithm = np.log(_scipy("log_ndtr").erfcx(tail / -_ROOT_2) / 2) - tail * tail / 2
    smaller = _ndtr(-np.abs(rest))
    right = x > 0
    near = np.where(right, np.log1p(-smaller), np.log(np.where(right, 1, smaller)))
    return np.where(far, logarithm, near)


def _log_ndtr_order(n: int, x: Doubles) -> Doubles:
    return tails.log_ndtr_derivative(n, x) if n else _log_ndtr(x)


def _cosine_integral(x: Doubles) -> Doubles:
    return np.where(x < 0, np.nan, _scipy("cosine_integral").sici(x)[1])


def _cosine_integral_order(n: int, x: Doubles) -> Doubles:
    return integrals.cosine_integral_derivative(n, x) if n else _cosine_integral(x)


def _fresnel_sine(x: Doubles) -> Doubles:
    value = _scipy("fresnel_sine").fresnel(np.clip(x, -_FRESNEL_FAR, _FRESNEL_FAR))[0]
    return _with_waves(x, value, _chirp_cosine)


def _fresnel_cosine(x: Doubles) -> Doubles:
    value = _scipy("fresnel_cosine").fresnel(np.clip(x, -_FRESNEL_FAR, _FRESNEL_FAR))[1]
    return _with_waves(x, value, lambda x: -_chirp_sine(x))


def _with_waves(x: Doubles, near: Doubles, wave: Callable[[Doubles], Doubles]) -> Doubles:
    """Far out, subtract a wave of size 1/(πx) from 1/2, because SciPy does not reduce its phase."""
    size = np.abs(x)
    far = size > _FRESNEL_FAR
    at = np.where(far & np.isfinite(x), size, _FRESNEL_FAR)
    waves = np.where(np.isinf(x), 0.0, wave(at) / at / np.pi)
    return np.where(far, np.copysign(0.5 - waves, x), near)


_FRESNEL_FAR = 3e4


def _sinh_integral(x: Doubles) -> Doubles:
    near = np.abs(x) < 2
    value = _scipy("sinh_integral").shichi(np.where(near, x, 0))[0]
    return np.where(near, value, integrals.hyperbolic_derivative(True, 0, np.where(near, 2, x)))


def _cosh_integral(x: Doubles) -> Doubles:
    near = np.abs(x) < 2
    value = _scipy("cosh_integral").shichi(np.where(near, np.abs(x), 1))[1]
    value = np.where(x < 0, np.nan, value)
    return np.where(near, value, integrals.hyperbolic_derivative(False, 0, np.where(near, 2, x)))


def _hyperbolic_order(sinh: bool, n: int, x: Doubles) -> Doubles:
    if n:
        return integrals.hyperbolic_derivative(sinh, n, x)
    return _sinh_integral(x) if sinh else _cosh_integral(x)


def _half_turns(x: Doubles) -> Doubles:
    """Return x²/2 modulo 2, from -1 to 1, rounded only in the square of the fraction."""
    nearest = np.rint(x)
    rest = x - nearest  # has the bits that the integer leaves, so that the product is exact
    phase = np.remainder(nearest, 2) + np.fmod(2 * np.fmod(nearest * rest, 2), 4)
    phase = phase - 4 * np.rint(phase / 4)
    half: Doubles = (phase + rest * rest) / 2
    return half


def _chirp_sine(x: Doubles) -> Doubles:
    return np.sin(np.pi * _half_turns(x))


def _chirp_cosine(x: Doubles) -> Doubles:
    return np.sin(np.pi * (0.5 - np.abs(_half_turns(x))))


_ROOT_2 = math.sqrt(2)
_NORMAL = 2.0**-1022


def _in_double(name: str, function: Callable[..., Values]) -> Callable[..., Values]:
    """Extend ``function`` of float64 arrays of one shape to numbers and to any arrays."""

    def of_any(*args: Values) -> Values:
        if needs_scipy(name):
            _scipy(name)
        dtype = np.result_type(*args, np.float32)
        if all(isinstance(a, float | int) for a in args):
            dtype = np.dtype(np.float64)
        arrays = np.broadcast_arrays(*(np.asarray(a, np.float64) for a in args))
        return np.asarray(function(*arrays), dtype)[()]

    return of_any


def _of_order(
    name: str,
    function: Callable[..., Values],
    *kinds: Callable[[str, float], float],
) -> Callable[..., Values]:
    """Extend ``function`` of orders and float64 arrays to orders that are numbers or arrays.

    There is one order for each of ``kinds``, which checks its values; by default a single integer.
    """
    kinds = kinds or (integer_order,)

    def of_one(orders: Sequence[float], xs: Sequence[Values]) -> Values:
        return function(*(kind(name, n) for kind, n in zip(kinds, orders, strict=True)), *xs)

    def of_any(*args: Any) -> Values:
        if needs_scipy(name):
            _scipy(name)
        xs = [np.asarray(x) for x in args[len(kinds) :]]
        dtype = np.result_type(*xs, np.float32)
        if len(xs) == 1 and all(isinstance(n, float | int) for n in args[: len(kinds)]):
            return np.asarray(of_one(args[: len(kinds)], [xs[0].astype(np.float64)]), dtype)[()]
        distinct = [np.unique(n) for n in args[: len(kinds)]]  # before broadcasting, while few
        arrays = np.broadcast_arrays(*args[: len(kinds)], *(x.astype(np.float64) for x in xs))
        orders, xs = arrays[: len(kinds)], list(arrays[len(kinds) :])
        if all(n.size == 1 for n in distinct):
            return np.asarray(of_one([float(n[0]) for n in distinct], xs), dtype)[()]
        result = np.empty(xs[0].shape, dtype)
        for each in dict.fromkeys(zip(*(n.ravel().tolist() for n in orders), strict=True)):
            chosen = np.logical_and.reduce([n == k for n, k in zip(orders, each, strict=True)])
            result[chosen] = of_one(each, [x[chosen] for x in xs])
        return result

    return of_any


@contained
def _gammasgn(x: Doubles) -> Doubles:
    with np.errstate(invalid="ignore"):
        turns = np.where(np.floor(x) == x, np.nan, 1 - 2 * np.remainder(np.floor(x), 2))
    return np.where(x >= 0, 1, turns)


_polygamma = _of_order("polygamma", lambda n, x: gammas.polygamma(n, x) if n else gammas.digamma(x))


# The sine and cosine of πx, exactly reduced: subtracting the nearest integer does not round.


def _sincos_pi(x: Values) -> tuple[Values, Values]:
    nearest = np.rint(x)
    turned = np.pi * (x - nearest)
    parity = 1 - 2 * np.abs(np.remainder(nearest, 2))
    return parity * np.sin(turned), parity * np.cos(turned)


def _sinc(x: Values) -> Values:
    t = np.pi * np.asarray(x)
    at_zero = np.equal(t, 0)
    return np.where(at_zero, 1, _sincos_pi(x)[0]) / np.where(at_zero, 1, t)


def _sinc_order(n: int, x: Doubles) -> Doubles:
    """Return sinc⁽ⁿ⁾ x = πⁿ·fₙ(t), t = πx, by the recurrence t·fₙ + n·fₙ₋₁ = sin⁽ⁿ⁾ t.

    Upwards a rounding error grows by n/|t| at each step, downwards by |t|/n.  So |t| >= n goes
    upwards, and the others go downwards (Miller), from an arbitrary f far above.
    """
    t = np.pi * x
    sine, cosine = _sincos_pi(x)
    cycle = (sine, cosine, -sine, -cosine)  # the derivatives of the sine
    far = np.abs(t) >= max(n, 1)
    divisor = np.where(far, t, 1)
    upward = sine / divisor
    for k in range(1, n + 1):
        upward = (cycle[k % 4] - k * upward) / divisor
    scale, exponent = _power_of_pi(n)
    if np.all(far):
        return np.ldexp(scale * upward, exponent)
    small = np.where(far, 0, t)
    downward: Values = np.zeros_like(t)
    for k in range(_start(n), n, -1):
        downward = (cycle[k % 4] - small * downward) / k
    tiny = np.abs(x) < _SINC_LEADING_BELOW
    value = np.ldexp(scale * np.where(tiny, 0, np.where(far, upward, downward)), exponent)
    return np.where(tiny, _sinc_leading(n, np.where(tiny, x, 0), np.ldexp), value)


_SINC_LEADING_BELOW = 1e-10  # the square of t is below 2^-53


def _sinc_leading(n: int, x: Reals, ldexp: Callable[[Reals, int], Reals]) -> Reals:
    """Return the first term of the series of the n-th derivative: a number, or a multiple of x.

    Here the recurrence would round n times to multiples of the smallest subnormal number.
    """
    odd = n % 2
    scale, exponent = _power_of_pi(n + odd)
    coefficient = (-1.0) ** ((n + odd) // 2) * scale / (n + odd + 1)
    first = min(exponent, 1000)  # exact, because x is so small
    return ldexp(coefficient * ldexp(x if odd else 1 + 0 * x, first), exponent - first)


@cache
def _power_of_pi(n: int) -> tuple[float, int]:
    """πⁿ as a float and a power of 2; powers of the float π would lose n/2 ulp."""
    _, mantissa, exponent, bits = libmp.mpf_pow_int(libmp.mpf_pi(96), n, 96, "n")
    return int(mantissa) / (1 << bits), exponent + bits


def _start(n: int) -> int:
    """Return the start of the downward recurrence, for |t| < max(n, 1).

    It starts at 0 instead of at an f of at most 1/(start + 1).  That error ends multiplied by
    Π |t|/k over n < k <= start, below 2^-53 of the result's size 1/(n + 1) for every n.
    """
    return 3 * n + 20


def _math_polynomial(family: type[Polynomial]) -> Callable[..., float]:
    def of_floats(order: float, *operands: float) -> float:
        n = integer_order(family.__name__, order)
        last, error = polynomials.recurrence(family, n, *operands)
        value = last + error if math.isfinite(error) else last
        if math.isfinite(value):
            return float(value)
        return float(NUMPY[family.__name__](order, *operands))

    return of_floats


_POLYNOMIALS = {name: f for name, f in VOCABULARY.items() if issubclass(f, Polynomial)}

_OF_ARRAYS: dict[str, Callable[..., Values]] = {
    "clip": _clip,
    "step": _step,
    "sigmoid": _sigmoid,
    "softplus": _softplus,
    "log_sigmoid": _log_sigmoid,
    "log1mexp": _log1mexp,
    "bose": _of_order("bose", _bose_order),
    "exp_share": _exp_share,
    "difference": _difference,
    "xlogy": _xlogy,
    "xlog1py": _xlog1py,
    "entr": _in_double("entr", _entr),
    "log_ratio": _in_double("log_ratio", entropies.log_ratio),
    "relative_difference": _relative_difference,
    "rel_entr": _in_double("rel_entr", entropies.rel_entr),
    "kl_div": _in_double("kl_div", entropies.kl_div),
    "power": _power,
    "cosine": _cosine,
    "hypot_derivative": _planar("hypot_derivative"),
    "atan2_derivative": _planar("atan2_derivative"),
    "hypot1": _hypot1,
    "sech": _sech,
    "sech2": _sech2,
    # Float constants keep narrow integers from overflowing in the sum.
    "asin_slope": lambda x: 1.0 / np.sqrt((1.0 - x) * (1.0 + x)),
    "atanh_slope": lambda x: 1.0 / ((1.0 - x) * (1.0 + x)),
    "acosh_slope": _acosh_slope,
    "beta_density": _in_double("beta_density", incomplete.beta_density),
    "erfcx_derivative": _of_order("erfcx_derivative", tails.erfcx_derivative),
    "expn": _of_order("expn", integrals.expn, partial(integer_order, lowest=None)),
    "expi": _in_double("expi", integrals.expi),
    "expi_derivative": _of_order("expi_derivative", integrals.expi_derivative),
    "chirp_sine": _in_double("chirp_sine", _chirp_sine),
    "chirp_cosine": _in_double("chirp_cosine", _chirp_cosine),
    "dawsn": _in_double("dawsn", partial(integrals.dawsn_derivative, 0)),
    "dawsn_derivative": _of_order("dawsn_derivative", integrals.dawsn_derivative),
    "normal_density": _of_order("normal_density", tails.normal_density),
    "log_ndtr_derivative": _of_order("log_ndtr_derivative", _log_ndtr_order),
    **{
        name: _of_order(name, partial(polynomials.orthogonal, family))
        for name, family in _POLYNOMIALS.items()
    },
    "ellipk": _in_double("ellipk", partial(elliptic.ellipk, 0)),
    "ellipkm1": _in_double("ellipkm1", partial(elliptic.ellipkm1, 0)),
    "ellipe": _in_double("ellipe", partial(elliptic.ellipe, 0)),
    "ellipk_derivative": _of_order("ellipk_derivative", elliptic.ellipk),
    "ellipkm1_derivative": _of_order("ellipkm1_derivative", elliptic.ellipkm1),
    "ellipe_derivative": _of_order("ellipe_derivative", elliptic.ellipe),
    "lambertw": _in_double("lambertw", partial(lambert.lambertw, 0)),
    "lambertwm1": _in_double("lambertwm1", partial(lambert.lambertw, -1)),
    "lambertw_derivative": _of_order("lambertw_derivative", partial(lambert.derivative, 0)),
    "lambertwm1_derivative": _of_order("lambertwm1_derivative", partial(lambert.derivative, -1)),
    "zeta": _in_double("zeta", partial(zetas.zeta, 0)),
    "zeta_derivative": _of_order("zeta_derivative", zetas.zeta),
    "hurwitz_zeta": _in_double("hurwitz_zeta", partial(zetas.hurwitz_zeta, 0)),
    "hurwitz_zeta_derivative": _of_order("hurwitz_zeta_derivative", zetas.hurwitz_zeta),
    "gammasgn": _in_double("gammasgn", _gammasgn),
    "sinc": _sinc,
    "sinc_derivative": _of_order("sinc_derivative", _sinc_order),
}

_OF_SCIPY: dict[str, Callable[..., Values]] = {
    "erf": lambda x: _scipy("erf").erf(x),
    "erfc": _erfc,
    "gamma": _in_double("gamma", gammas.gamma),
    "rgamma": _in_double("rgamma", partial(gamma_reciprocals.rgamma_derivative, 0)),
    "rgamma_derivative": _of_order("rgamma_derivative", gamma_reciprocals.rgamma_derivative),
    "gammaln": _in_double("gammaln", gammas.gammaln),
    "digamma": _in_double("digamma", gammas.digamma),
    "polygamma": _polygamma,
    "beta": _in_double("beta", gamma_products.beta),
    "beta_derivative": _of_order(
        "beta_derivative", gamma_products.beta_derivative, integer_order, integer_order
    ),
    "poch": _in_double("poch", gamma_products.poch),
    "binom": _in_double("binom", gamma_products.binom),
    "betaln": _in_double("betaln", gammas.betaln),
    "polygamma_difference": _of_order("polygamma_difference", gammas.polygamma_difference),
    "gammainc": _in_double("gammainc", incomplete.gammainc),
    "gammaincc": _in_double("gammaincc", incomplete.gammaincc),
    "gamma_density": _in_double("gamma_density", incomplete.gamma_density),
    "betainc": _in_double("betainc", incomplete.betainc),
    "erfcx": lambda x: _scipy("erfcx").erfcx(x),
    "erfinv": lambda x: _scipy("erfinv").erfinv(x),
    "erfcinv": _in_double("erfcinv", _erfcinv),
    "erfcinv_slope": _in_double("erfcinv_slope", _erfcinv_slope),
    "ndtr": _in_double("ndtr", _ndtr),
    "log_ndtr": _in_double("log_ndtr", _log_ndtr),
    "ndtri": _in_double("ndtri", _ndtri),
    "sine_integral": _in_double("sine_integral", lambda x: _scipy("sine_integral").sici(x)[0]),
    "cosine_integral": _in_double("cosine_integral", _cosine_integral),
    "cosine_integral_derivative": _of_order("cosine_integral_derivative", _cosine_integral_order),
    "sinh_integral": _in_double("sinh_integral", _sinh_integral),
    "sinh_integral_derivative": _of_order(
        "sinh_integral_derivative", partial(_hyperbolic_order, True)
    ),
    "cosh_integral": _in_double("cosh_integral", _cosh_integral),
    "cosh_integral_derivative": _of_order(
        "cosh_integral_derivative", partial(_hyperbolic_order, False)
    ),
    "fresnel_sine": _in_double("fresnel_sine", _fresnel_sine),
    "fresnel_cosine": _in_double("fresnel_cosine", _fresnel_cosine),
    "jv": _of_order("jv", bessel_orders.jv, real_order),
    "yv": _of_order("yv", bessel_orders.yv, real_order),
    "iv": _of_order("iv", bessel_orders.iv, real_order),
    "kv": _of_order("kv", bessel_orders.kv, real_order),
    "ive": _of_order("ive", partial(bessel_orders.ive_derivative, 0), real_order),
    "kve": _of_order("kve", partial(bessel_orders.kve_derivative, 0), real_order),
    "ive_derivative": _of_order(
        "ive_derivative", bessel_orders.ive_derivative, integer_order, real_order
    ),
    "kve_derivative": _of_order(
        "kve_derivative", bessel_orders.kve_derivative, integer_order, real_order
    ),
}


def _of_arrays(name: str, facts: type[Facts]) -> Callable[..., Values]:
    body = _OF_ARRAYS.get(name) or _OF_SCIPY.get(name) or getattr(np, facts.numpy or name, None)
    assert body is not None, f"{name} has no body: NumPy has none, nor is one here"
    return body


NUMPY: dict[str, Callable[..., Values]] = {name: _of_arrays(name, f) for name, f in FACTS.items()}
"""The functions of ``symdiff.scalars.formula.VOCABULARY`` for arrays."""


# Of Python floats -------------------------------------------------------------------------------


_larger: Callable[[float, float], float] = FACTS["maximum"].value
_smaller: Callable[[float, float], float] = FACTS["minimum"].value


def _math_sigmoid(x: float) -> float:
    e = math.exp(-abs(x))
    return (1.0 if x >= 0 else e) / (1.0 + e)


def _math_sech(x: float) -> float:
    e = math.exp(-abs(x))
    return 2.0 * e / (1.0 + e * e)


def _math_sech2(x: float) -> float:
    y = _math_sech(x)
    return y * y


def _math_cosine(a: float, b: float) -> float:
    r = math.hypot(a, b)
    if 4 * _NORMAL < r < math.inf:
        return a / r
    return float(_cosine(a, b))


def _math_softplus(x: float) -> float:
    return _larger(x, 0.0) + math.log1p(math.exp(-abs(x)))


def _math_log1mexp(x: float) -> float:
    return math.log(-math.expm1(-x)) if x <= _LOG_2 else math.log1p(-math.exp(-x))


def _math_logaddexp(a: float, b: float) -> float:
    if a == b:
        return a + _LOG_2
    return _larger(a, b) + math.log1p(math.exp(-abs(a - b)))


def _math_sign(x: float) -> float:
    sign = (x > 0) - (x < 0)
    return sign if x.__class__ is int else x if x != x else float(sign)


def _math_step(x: float) -> float:
    return int(x > 0) if x.__class__ is int else x if x != x else float(x > 0)


def _math_sinc(x: float) -> float:
    nearest = round(x)
    sine = math.sin(math.pi * (x - nearest))
    return (-sine if nearest % 2 else sine) / (math.pi * x) if x else 1.0


def _math_sinc_derivative(order: float, x: float) -> float:
    n = integer_order("sinc_derivative", order)
    if abs(x) < _SINC_LEADING_BELOW:
        return float(_sinc_leading(n, x, math.ldexp))
    t, nearest = math.pi * x, round(x)
    turned, parity = math.pi * (x - nearest), -1.0 if nearest % 2 else 1.0
    sine, cosine = parity * math.sin(turned), parity * math.cos(turned)
    cycle: Sequence[float] = (sine, cosine, -sine, -cosine)
    if abs(t) >= max(n, 1):
        f = sine / t
        for k in range(1, n + 1):
            f = (cycle[k % 4] - k * f) / t
    else:
        f = 0.0
        for k in range(_start(n), n, -1):
            f = (cycle[k % 4] - t * f) / k
    scale, exponent = _power_of_pi(n)
    return math.ldexp(scale * f, exponent)


def _math_log_ratio(x: float, y: float) -> float:
    if 0 < y / 2 < x and x / 2 < y < math.inf:
        return math.log1p((x - y) / y)
    return float(NUMPY["log_ratio"](x, y))


def _math_gammaln(x: float) -> float:
    if not 0.5 <= x <= 2.5:
        return math.lgamma(x)
    if x >= 1.5:
        return float(gammas.gammaln_of_two_and(x - 2))
    return float(gammas.gammaln_of_two_and(x - 1)) - math.log1p(x - 1)


_OF_FLOATS: dict[str, Callable[..., float]] = {
    **{name: _math_polynomial(family) for name, family in _POLYNOMIALS.items()},
    "sign": _math_sign,
    "step": _math_step,
    "floor": lambda x: float(math.floor(x)),
    "ceil": lambda x: float(math.ceil(x)),
    "trunc": lambda x: float(math.trunc(x)),
    "round": lambda x: float(round(x)),
    "floor_divide": operator.floordiv,
    "mod": operator.mod,
    "sigmoid": _math_sigmoid,
    "softplus": _math_softplus,
    "log_sigmoid": lambda x: _smaller(x, 0.0) - math.log1p(math.exp(-abs(x))),
    "bose": _math_bose,
    "log1mexp": _math_log1mexp,
    "logaddexp": _math_logaddexp,
    "exp_share": lambda a, b: 0.5 if a == b else _math_sigmoid(a - b),
    "xlogy": lambda x, y: 0.0 if x == 0 and y == y else x * math.log(y),
    "xlog1py": lambda x, y: 0.0 if x == 0 and y == y else x * math.log1p(y),
    "entr": lambda x: -x * math.log(x) if x > 0 else x if x != x else 0.0 if x == 0 else -math.inf,
    "log_ratio": _math_log_ratio,
    "relative_difference": lambda x, y: (x - y) / y,
    "rel_entr": lambda x, y: (
        x * _math_log_ratio(x, y) if x > 0 and y > 0 else float(NUMPY["rel_entr"](x, y))
    ),
    "difference": lambda a, b: 0.0 if a == b else a - b,
    "cosine": _math_cosine,
    "hypot_derivative": _math_planar("hypot_derivative"),
    "atan2_derivative": _math_planar("atan2_derivative"),
    "hypot1": lambda x: math.hypot(x, 1.0),
    "sech": _math_sech,
    "sech2": _math_sech2,
    "asin_slope": lambda x: 1.0 / math.sqrt((1.0 - x) * (1.0 + x)),
    "atanh_slope": lambda x: 1.0 / ((1.0 - x) * (1.0 + x)),
    "acosh_slope": lambda x: 1.0 / (math.sqrt(x - 1.0) * math.sqrt(x + 1.0)),
    "gammaln": _math_gammaln,
    "ndtr": lambda x: math.erfc(x / -_ROOT_2) / 2 if x >= -1 else float(NUMPY["ndtr"](x)),
    "sinc": _math_sinc,
    "sinc_derivative": _math_sinc_derivative,
}


def _of_floats(name: str, facts: type[Facts]) -> Callable[..., float]:
    """Return the function of this module or of ``math``; else any number's value, or an array's."""
    body = _OF_FLOATS.get(name) or getattr(math, facts.math or name, None)
    if body is None and facts.rational is facts.value:
        body = facts.value
    return body or (lambda *args: float(NUMPY[name](*args)))


MATH: dict[str, Callable[..., float]] = {name: _of_floats(name, f) for name, f in FACTS.items()}
"""The functions of ``symdiff.scalars.formula.VOCABULARY`` for Python floats."""


if not TYPE_CHECKING:  # a type checker would accept every name as an attribute of the module

    def __getattr__(name: str) -> object:
        packages = {"numeric": ("numeric", "tensors"), "symdiff": ("sd", "expressions")}
        public = [
            f"of {what} it is {short}.{name}"
            for package, (short, what) in packages.items()
            if name in vars(sys.modules[package]).get("__all__", ())
        ]
        inside = "; ".join(public) or "it is internal: numeric has functions of tensors, sd those "
        inside += "" if public else "of expressions"
        raise missing("module 'numeric.special'", name, {name: inside}, sys.modules[__name__])
