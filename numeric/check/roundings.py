"""Bounds of rounding errors, from intervals of the values: the standard model, in balls.

For a value x on a part of a box, three things are known: an interval that contains x, and r and s
with

    |x' - x| <= r |x| + s,

where x' is the float that represents x.  Let u = 2^-53, and e = 2^-1075 for the loss by underflow.
Then fl(a op b) = (a op b)(1 + d) + t with |d| <= u and |t| <= e, for + - * / and sqrt (IEEE 754;
Higham, "Accuracy and Stability of Numerical Algorithms", 2002, chapter 2).  Sums and roots have no
t.  A function of ``math`` has no guaranteed bound: it is assumed to be within ``ASSUMED``.  Errors
of operands propagate by products and quotients of 1 + r, or by the mean value theorem with an
enclosure of the derivative.

This module imports python-flint, an optional extra: import it inside functions only.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from flint import arb

import symdiff as sd
from numeric.check.ball_arithmetic import Intervals
from numeric.check.intervals import (
    Interval,
    Undefined,
    add,
    divide,
    multiply,
    negative,
    of_number,
)
from symdiff.errors import Unsupported
from symdiff.exact.components import evaluated
from symdiff.graph.algebra import primitive

if TYPE_CHECKING:
    from collections.abc import Callable

    from symdiff.graph.expr import Expr

ASSUMED = {
    **dict.fromkeys(("exp", "log", "sin", "cos", "tan", "asin", "acos", "atan", "expm1"), 1),
    **dict.fromkeys(("log1p", "log2"), 1),
    **dict.fromkeys(("erf", "log10", "sinh", "cosh", "asinh", "atanh"), 2),
    **dict.fromkeys(("tanh", "acosh"), 3),
}
"""The assumed largest errors of functions of ``math``, in ulps.

No larger errors of the GNU C library are known (Zimmermann, "Accuracy of Mathematical Functions in
Single, Double, Extended Double and Quadruple Precision", 2021, which searches for them).
"""

# f(0) = 0 and f' > 0, so |f(x)| >= |x| min f': relative errors stay relative at 0.
_THROUGH_ZERO = {"sin", "tan", "sinh", "tanh", "asin", "atan", "asinh", "atanh", "expm1", "log1p"}

U, UNDERFLOW = arb((1, -53)), arb((1, -1075))
LARGEST = arb(float(np.finfo(float).max))
ZERO = arb(0)


class Unbounded(Exception):
    """A value cannot be bounded in a part of the box; the message gives the reason."""


@dataclass(frozen=True)
class Rounded:
    """An interval of the exact value, with r and s of the float's error."""

    exact: Interval
    r: arb = ZERO
    s: arb = ZERO

    @property
    def error(self) -> arb:
        """The largest absolute error."""
        return (self.r * largest(self.exact) + self.s).upper()

    @property
    def computed(self) -> Interval:
        """The interval of all possible floats."""
        error = self.error
        return Interval((self.exact.lower - error).lower(), (self.exact.upper + error).upper())

    @property
    def is_exact(self) -> bool:
        """Whether the float equals the value."""
        return bool(self.r == 0) and bool(self.s == 0)


def largest(x: Interval) -> arb:
    """Return the largest absolute value."""
    return max(abs(t) for t in x.ends).upper()


def least(x: Interval) -> arb:
    """Return the smallest absolute value."""
    return ZERO if x.has(0) else min(abs(t) for t in x.ends).lower()


def stored(exact: Interval, r: arb, s: arb, unit: arb, lost: arb) -> Rounded:
    """Round a result with error (r, s) within ``unit``, and add ``lost`` for underflow."""
    result = Rounded(exact, (r + unit * (1 + r)).upper(), (s * (1 + unit) + lost).upper())
    if not largest(result.computed) < LARGEST:
        raise Unbounded("a value may overflow")
    return result


# Operations ---------------------------------------------------------------------------------------


def total(x: Rounded, y: Rounded) -> Rounded:
    """``x + y``."""
    exact = add(x.exact, y.exact)
    r, s = ZERO, x.s + y.s
    ends = (x.exact.lower, y.exact.lower), (x.exact.upper, y.exact.upper)
    # Without cancellation, relative errors do not grow.
    if min(ends[0]) >= 0 or max(ends[1]) <= 0:  # |x|, |y| <= |x + y|
        r = max(x.r, y.r)
    elif not exact.has(0):
        r = (x.r * largest(x.exact) + y.r * largest(y.exact)) / least(exact)
    else:
        s = s + x.r * largest(x.exact) + y.r * largest(y.exact)
    return stored(exact, r, s, ZERO if _is_near(x, y) else U, ZERO)


def _is_near(x: Rounded, y: Rounded) -> bool:
    """Whether the sum is a float: of exact operands of opposite signs, neither twice the other.

    This is Sterbenz's lemma (Higham 2002, theorem 2.5).
    """
    if not (x.is_exact and y.is_exact) or x.exact.has(0) or y.exact.has(0):
        return False
    opposite = (x.exact.lower > 0) != (y.exact.lower > 0)
    sizes = largest(x.exact) <= 2 * least(y.exact), largest(y.exact) <= 2 * least(x.exact)
    return bool(opposite) and all(map(bool, sizes))


def opposite_of(x: Rounded) -> Rounded:
    """``-x``."""
    # A change of the sign is exact.
    return Rounded(negative(x.exact), x.r, x.s)


def product(x: Rounded, y: Rounded) -> Rounded:
    """``x * y``."""
    # A product with ±1 is exact.
    if any(abs(v.exact.lower) == 1 and v.exact.is_point and v.is_exact for v in (x, y)):
        return Rounded(multiply(x.exact, y.exact), max(x.r, y.r), max(x.s, y.s))
    s = x.s * (largest(y.exact) * (1 + y.r) + y.s) + y.s * largest(x.exact) * (1 + x.r)
    return stored(multiply(x.exact, y.exact), x.r + y.r + x.r * y.r, s, U, UNDERFLOW)


def quotient(x: Rounded, y: Rounded) -> Rounded:
    """``x / y``."""
    exact = divide(x.exact, y.exact)
    if exact is None:
        raise Unbounded("a divisor may be 0")
    # The smallest computed divisor, relative to the exact one.
    rest = 1 - y.r - y.s / least(y.exact)
    if not rest > 0:
        raise Unbounded("a divisor may be 0 but for rounding")
    r = (y.r + x.r + y.s / least(y.exact)) / rest
    return stored(exact, r, x.s / (least(y.exact) * rest), U, UNDERFLOW)


def bounded(name: str, *args: Interval) -> Interval:
    """Apply a function to exact values; raise Unbounded if a value is infinite or undefined."""
    result = Intervals().named(name, *args)
    if isinstance(result, Undefined):
        raise Unbounded(f"{result.reason} has no bounded real value")
    return result


@cache
def _slope(name: str) -> tuple[Expr, Expr]:
    t = sd.symbol("t")
    return sd.diff(primitive(name, t), t), t


def function_of(name: str, x: Rounded, unit: arb, lost: arb) -> Rounded:
    """Apply a function whose own relative error is within ``unit``, and absolute ``lost``."""
    exact = bounded(name, x.exact)
    if x.is_exact:
        # Without an error of the operand, no derivative is needed.
        return stored(exact, ZERO, ZERO, unit, lost)
    derivative, t = _slope(name)
    (slope,) = evaluated([derivative], {t: x.computed}, Intervals())
    if isinstance(slope, Undefined):
        raise Unbounded(f"the derivative of {name}: {slope.reason} has no bounded real value")
    # The mean value theorem on the interval of all possible floats.
    steepest = largest(slope)
    r, s = ZERO, steepest * x.s
    if not exact.has(0):
        r = steepest * largest(x.exact) / least(exact) * x.r
    elif name in _THROUGH_ZERO and x.exact.has(0) and not slope.has(0):
        r = steepest / least(slope) * x.r
    else:
        s = steepest * x.error
    return stored(exact, r, s, unit, lost)


def _absolute(x: Rounded) -> Rounded:
    return Rounded(bounded("abs", x.exact), x.r, x.s)


def _choice(name: str) -> Callable[..., Rounded]:
    def value(x: Rounded, y: Rounded) -> Rounded:
        # Rounding may change which operand is taken, but not by more than the larger error.
        return Rounded(bounded(name, x.exact, y.exact), ZERO, max(x.error, y.error))

    return value


def _sign(x: Rounded) -> Rounded:
    if x.computed.has(0) and not x.is_exact:
        raise Unbounded("the sign of a value that may be 0 but for rounding")
    return Rounded(bounded("sign", x.exact))


def _of_math(name: str, ulps: int) -> Callable[[Rounded], Rounded]:
    return lambda x: function_of(name, x, 2 * ulps * U, 2 * ulps * UNDERFLOW)


CALLS: dict[str, Callable[..., Rounded]] = {
    "sqrt": lambda x: function_of("norm_sqrt", x, U, ZERO),
    "abs": _absolute,
    "sign": _sign,
    "maximum": _choice("maximum"),
    "minimum": _choice("minimum"),
    **{name: _of_math(name, ulps) for name, ulps in ASSUMED.items()},
}


def literal(value: float) -> Rounded:
    """Return a number of the program; one with many digits may be a rounded exact number."""
    number = of_number(value)
    if isinstance(number, Undefined):
        raise Unsupported(f"certify: the number {value}")
    # Short binary numbers are written as they are; others may stand for a fraction such as 1/3.
    if Fraction(value).denominator <= 2**20 and abs(value) <= 2**53:
        return Rounded(number)
    wide = multiply(number, Interval((1 - U).lower(), (1 + U).upper()))
    return Rounded(wide, (2 * U).upper())
