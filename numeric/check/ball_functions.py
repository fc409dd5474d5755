"""The elementary functions of the vocabulary on intervals, by the ball arithmetic of FLINT.

``ELEMENTARY`` maps each name to a function of ``Interval``s.  Its result is an ``Interval`` or a
ball that contains the values at all points of the operands.  The result is None, or a ball that is
not finite, where a value may be infinite or not real.

This module imports python-flint, an optional extra: import it inside functions only.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import TYPE_CHECKING

from flint import acb, arb, fmpq

from numeric.check.intervals import (
    Found,
    Interval,
    OnIntervals,
    above,
    absolute,
    add,
    between,
    constant,
    divide,
    even,
    hull,
    monotone,
    multiply,
    negative,
    of_balls,
    order,
    point,
    positive,
    power,
    raised,
    rounded,
    whole,
)
from symdiff.scalars.vocabulary.lengths import planar

if TYPE_CHECKING:
    from collections.abc import Callable

HALF = fmpq(1, 2)
ZERO, ONE = point(0), point(1)
ANY_TRUTH = Interval(arb(0), arb(1))


# Truth values, selections, jumps ------------------------------------------------------------------


def _truth(value: bool | None) -> Interval:
    return ANY_TRUTH if value is None else ONE if value else ZERO


def _less(a: Interval, b: Interval) -> bool | None:
    return True if a.upper < b.lower else False if a.lower >= b.upper else None


def _equal(a: Interval, b: Interval) -> bool | None:
    if a.upper < b.lower or b.upper < a.lower:
        return False
    return True if a.is_point and b.is_point else None


def _not(value: bool | None) -> bool | None:
    return None if value is None else not value


def _and(a: bool | None, b: bool | None) -> bool | None:
    return False if a is False or b is False else None if a is None or b is None else True


def _maximum(a: Interval, b: Interval) -> Interval:
    return Interval(max(a.lower, b.lower), max(a.upper, b.upper))


def _minimum(a: Interval, b: Interval) -> Interval:
    return Interval(min(a.lower, b.lower), min(a.upper, b.upper))


def _sign(x: Interval) -> Interval:
    at = [(t > 0) - (t < 0) for t in (x.lower, x.upper)]
    return Interval(*map(arb, map(int, at)))


def _step(x: Interval) -> Interval:
    return Interval(arb(int(x.lower > 0)), arb(int(x.upper > 0)))


floor = rounded(math.floor)


def _floor_divide(a: Interval, b: Interval) -> Interval | None:
    quotient = divide(a, b)
    return None if quotient is None else floor(quotient)


def _mod(a: Interval, b: Interval) -> Interval | None:
    quotient = _floor_divide(a, b)
    if quotient is None:
        return None
    possible = Interval(min(arb(0), b.lower), max(arb(0), b.upper))  # the result has the sign of b
    # The quotient takes several values, so the result may jump anywhere in the range.
    if not quotient.is_point:
        return possible
    remainder = add(a, negative(multiply(b, quotient)))
    if remainder.lower > possible.upper or remainder.upper < possible.lower:
        return remainder
    return Interval(max(remainder.lower, possible.lower), min(remainder.upper, possible.upper))


TRUTHS: dict[str, Callable[..., Interval]] = {
    "less": lambda a, b: _truth(_less(a, b)),
    "less_equal": lambda a, b: _truth(_not(_less(b, a))),
    "equal": lambda a, b: _truth(_equal(a, b)),
    "not_equal": lambda a, b: _truth(_not(_equal(a, b))),
    "logical_and": lambda a, b: _truth(_and(a.truth(), b.truth())),
    "logical_or": lambda a, b: _truth(_not(_and(_not(a.truth()), _not(b.truth())))),
    "logical_xor": lambda a, b: _truth(
        None if a.truth() is None or b.truth() is None else a.truth() != b.truth()
    ),
    "logical_not": lambda a: _truth(_not(a.truth())),
}

CHOICES: dict[str, OnIntervals] = {
    "maximum": _maximum,
    "minimum": _minimum,
    "clip": lambda x, low, high: _minimum(high, _maximum(low, x)),
    "abs": absolute,
    "sign": _sign,
    "step": _step,
    "floor": floor,
    "ceil": rounded(math.ceil),
    "trunc": rounded(math.trunc),
    "round": rounded(round),
    "floor_divide": _floor_divide,
    "mod": _mod,
}

# Powers, lengths, angles --------------------------------------------------------------------------


def _wave(function: Callable[[arb], arb], shift: Fraction) -> OnIntervals:
    """Return the sine or cosine, whose extremes are (-1)^k at (k + shift) π."""

    def value(x: Interval) -> Found:
        if x.is_point:
            return function(x.lower)
        low, high = (
            (t / arb.pi() - fmpq(shift.numerator, shift.denominator)).floor() for t in x.ends
        )
        if not (low.is_finite() and high.is_finite()):
            return None
        first, last = (whole(t) for t in (low.lower().floor(), high.upper().floor()))
        # A full half period or more contains both extremes.
        if last - first > 1:
            return Interval(arb(-1), arb(1))
        ends = of_balls(*map(function, x.ends))
        assert ends is not None
        return ends if first == last else hull(ends, point((-1) ** last))

    return value


def _tan(x: Interval) -> Found:
    if x.is_point:
        return x.lower.tan()
    # Both ends must lie between the same two poles, with certainty; elsewhere tan has no bound.
    cells = [(t / arb.pi() - HALF).floor() for t in x.ends]
    alone = all(c.is_exact() for c in cells) and bool(cells[0] == cells[1])
    return of_balls(*(t.tan() for t in x.ends)) if alone else None


def _raised(x: Interval, p: int) -> Interval:
    result = raised(x, p)
    assert result is not None  # p >= 0, so there is no division by 0
    return result


def _hypot(a: Interval, b: Interval) -> Interval:
    result = raised(add(_raised(a, 2), _raised(b, 2)), Fraction(1, 2))
    assert result is not None  # no sum of squares is negative
    return result


def _cosine(a: Interval, b: Interval) -> Interval | None:
    if a.has(0) and b.has(0):
        return ZERO if a.is_point and b.is_point else Interval(arb(-1), arb(1))
    corners = itertools.product(a.ends, absolute(b).ends)  # rises with a, and as |b| falls to 0
    return of_balls(*(x / (x * x + y * y).sqrt() for x, y in corners))


def _atan2(y: Interval, x: Interval) -> Interval | None:
    if y.has(0) and y.lower < 0 and x.lower <= 0:  # crosses the cut; zeros have no sign
        pi = constant(arb.pi())
        return Interval(pi.upper.neg(exact=True), pi.upper)
    corners = itertools.product(y.ends, x.ends)
    return of_balls(*(arb.atan2(b, a) if a != 0 or b != 0 else arb(0) for b, a in corners))


def _hypot_derivative(n: Interval, m: Interval, a: Interval, b: Interval) -> Interval | None:
    q, terms = planar("hypot_derivative", order("hypot", n), order("hypot", m))
    # A ratio of homogeneous polynomials of degree -q: at the origin bounded only for q = 0.
    if a.has(0) and b.has(0):
        if a.is_point and b.is_point:
            return ZERO
        return Interval(arb(-1), arb(1)) if q == 0 else None
    c, s = _cosine(a, b), _cosine(b, a)
    if c is None or s is None:
        return None
    total = ZERO
    for i, j, k in terms:
        total = add(total, multiply(point(k), multiply(_raised(c, i), _raised(s, j))))
    return divide(total, _raised(_hypot(a, b), q)) if q else total


def _atan2_derivative(n: Interval, m: Interval, y: Interval, x: Interval) -> Found:
    """Return the imaginary part of the k-th derivative of log(x + iy), k = n + m.

    By y it gains a factor i each time: ``i^n (-1)^(k-1) (k-1)!/z^k``.
    """
    if x.has(0) and y.has(0):
        return ZERO if x.is_point and y.is_point else None
    by_y = order("atan2_derivative", n)
    k = by_y + order("atan2_derivative", m)
    turn = (acb(1), acb(0, 1), acb(-1), acb(0, -1))[by_y % 4]
    scale = turn * ((-1) ** (k - 1) * math.factorial(k - 1))
    derivative: acb = scale * acb(x.ball, y.ball) ** -k
    return derivative.imag


def _cbrt(t: arb) -> arb:
    return t.root(3) if t >= 0 else -(t.neg(exact=True).root(3))


def _sigmoid(t: arb) -> arb:
    return 1 / (1 + (-t).exp())


def _softplus(t: arb) -> arb:
    # Each form takes exp of a negative number, so it cannot overflow.
    return t + (-t).exp().log1p() if t > 0 else t.exp().log1p()


def _logaddexp(a: arb, b: arb) -> arb:
    return max(a, b) + (-abs(a - b)).exp().log1p()


LENGTHS: dict[str, OnIntervals] = {
    "power": power,
    "cbrt": monotone(_cbrt),
    "norm_sqrt": monotone(arb.sqrt, above(0, closed=True)),
    "hypot": _hypot,
    "cosine": _cosine,
    "hypot1": even(lambda t: (1 + t * t).sqrt()),
    "tanh": monotone(arb.tanh),
    "sech": even(arb.sech),
    "sech2": even(lambda t: t.sech() ** 2),
    "asinh": monotone(arb.asinh),
    "acosh": monotone(arb.acosh, above(1, closed=True)),
    "asin_slope": even(lambda t: 1 / ((1 - t) * (1 + t)).sqrt(), between(-1, 1)),
    "atanh_slope": even(lambda t: 1 / ((1 - t) * (1 + t)), between(-1, 1)),
    "acosh_slope": monotone(lambda t: 1 / ((t - 1) * (t + 1)).sqrt(), above(1)),
    "atan2": _atan2,
    "hypot_derivative": _hypot_derivative,
    "atan2_derivative": _atan2_derivative,
    "sin": _wave(arb.sin, Fraction(1, 2)),
    "cos": _wave(arb.cos, Fraction(0)),
    "tan": _tan,
    "asin": monotone(arb.asin, between(-1, 1, closed=True)),
    "acos": monotone(arb.acos, between(-1, 1, closed=True)),
    "atan": monotone(arb.atan),
    "sinh": monotone(arb.sinh),
    "cosh": even(arb.cosh),
    "atanh": monotone(arb.atanh, between(-1, 1)),
}

# Exponentials, logarithms, entropies --------------------------------------------------------------

exp = monotone(arb.exp)
_log = monotone(arb.log, positive)


def _x_log(x: Interval, y: Interval, shift: int) -> Interval | None:
    """``x log(y)``, 0 at x = 0."""
    if x.is_point and x.has(0):
        return ZERO
    logarithm = monotone(arb.log1p, above(-1))(y) if shift else _log(y)
    return None if logarithm is None else multiply(x, logarithm)


def _entr(x: Interval) -> Interval | None:
    """``-x log(x)``, concave, with its maximum 1/e at 1/e."""
    if x.lower < 0:
        return None
    ends = of_balls(*(arb(0) if t == 0 else -t * t.log() for t in x.ends))
    top = (-arb(1)).exp()
    if ends is None or x.is_point or x.upper < top or x.lower > top:
        return ends
    return hull(ends, constant(top))


def _rel_entr(x: Interval, y: Interval) -> Interval | None:
    if x.is_point and x.has(0):
        return ZERO if y.lower >= 0 else None
    if not (x.lower >= 0 and y.lower > 0):
        return None
    entropy, cross = _entr(x), _x_log(x, y, 0)
    if entropy is None or cross is None:
        return None
    return negative(add(entropy, cross))


def _kl_div(x: Interval, y: Interval) -> Interval | None:
    divergence = _rel_entr(x, y)
    return None if divergence is None else add(divergence, add(y, negative(x)))


EXPONENTIALS: dict[str, OnIntervals] = {
    "exp": exp,
    "log": _log,
    "sigmoid": monotone(_sigmoid),
    "softplus": monotone(_softplus),
    "log_sigmoid": monotone(lambda t: -_softplus(-t)),
    "expm1": monotone(arb.expm1),
    "log1p": monotone(arb.log1p, above(-1)),
    "log1mexp": monotone(lambda t: (-((-t).expm1())).log(), positive),
    "exp2": monotone(lambda t: arb(2) ** t),
    "log2": monotone(lambda t: t.log() / arb.const_log2(), positive),
    "log10": monotone(lambda t: t.log() / arb.const_log10(), positive),
    "logaddexp": monotone(_logaddexp),
    "exp_share": monotone(lambda a, b: _sigmoid(a - b)),
    "difference": lambda a, b: add(a, negative(b)),
    "xlogy": lambda x, y: _x_log(x, y, 0),
    "xlog1py": lambda x, y: _x_log(x, y, 1),
    "entr": _entr,
    "rel_entr": _rel_entr,
    "kl_div": _kl_div,
    "log_ratio": monotone(lambda x, y: x.log() - y.log(), positive),
    "relative_difference": lambda x, y: divide(add(x, negative(y)), y),
}

ELEMENTARY: dict[str, OnIntervals] = {**TRUTHS, **CHOICES, **LENGTHS, **EXPONENTIALS}
