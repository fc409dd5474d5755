"""Intervals with guaranteed ends, and wrappers that lift functions of balls to intervals.

A real number is held as an interval [lower, upper] of two exact binary numbers (``flint.arb``
without radius).  The ends come from ball arithmetic, rounded outward.  So the interval contains
every value for operands in their intervals (Moore, Kearfott and Cloud, "Introduction to Interval
Analysis", 2009; Johansson, "Arb: efficient arbitrary-precision midpoint-radius interval
arithmetic", 2017).  The ends replace a ball because the radius of a ball has only 30 bits: the ball
around [0, 0.1] contains negative numbers.

This module imports python-flint, an optional extra: import it inside functions only.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from flint import arb, fmpq
from mpmath import mp

from symdiff.errors import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable

    from mpmath import mpf

    from symdiff.graph.number import Number

LARGEST_ORDER = 1000  # beyond it, balls take seconds and gigabytes


class Undefined:
    """A value without a bounded interval, with the reason; every operation on it returns it."""

    __slots__ = ("reason",)

    def __init__(self, reason: str) -> None:
        self.reason = reason


class Interval:
    """All real numbers from ``lower`` to ``upper``, which are finite and exact."""

    __slots__ = ("lower", "upper")

    def __init__(self, lower: arb, upper: arb) -> None:
        self.lower, self.upper = lower, upper

    @property
    def is_point(self) -> bool:
        """Whether the interval is a single number."""
        # Most points have one object for both ends, which is cheaper to compare.
        return self.lower is self.upper or bool(self.lower == self.upper)

    @property
    def ball(self) -> arb:
        """A ball that contains the interval."""
        return self.lower if self.is_point else self.lower.union(self.upper)

    @property
    def ends(self) -> tuple[arb, ...]:
        """Both ends, or the one number of a point."""
        return (self.lower,) if self.is_point else (self.lower, self.upper)

    def has(self, value: int) -> bool:
        """Whether ``value`` is in the interval."""
        return bool(self.lower <= value) and bool(value <= self.upper)

    def truth(self) -> bool | None:
        """True if the interval excludes 0, False if it is 0, None if undecided."""
        if not self.has(0):
            return True
        return False if self.is_point else None

    def integer(self) -> int | None:
        """Return the integer that the interval consists of, or None."""
        return whole(self.lower) if self.is_point and self.lower.is_integer() else None

    def __repr__(self) -> str:
        low = self.lower.str(6, radius=False)
        return low if self.is_point else f"[{low}, {self.upper.str(6, radius=False)}]"


def finite(value: Number | mpf) -> Interval:
    """Return the interval of a finite number."""
    interval = of_number(value)
    assert isinstance(interval, Interval)
    return interval


def whole(ball: arb) -> int:
    """Return the one integer in a ball."""
    integer = ball.unique_fmpz()
    assert integer is not None
    return int(integer)


def of_balls(*balls: arb) -> Interval | None:
    """Return the smallest interval around all balls; None if one is not finite."""
    if not all(ball.is_finite() for ball in balls):
        return None
    if len(balls) == 1:
        (ball,) = balls
        return Interval(ball, ball) if ball.is_exact() else Interval(ball.lower(), ball.upper())
    return Interval(min(b.lower() for b in balls), max(b.upper() for b in balls))


def of_number(value: Number | mpf) -> Interval | Undefined:
    """Return the interval of an exact number; a float is its exact binary number."""
    if isinstance(value, mp.mpf):
        if not mp.isfinite(value):
            return Undefined(f"the number {value}")
        sign, mantissa, exponent, _ = value._mpf_
        ball = arb((-int(mantissa) if sign else int(mantissa), int(exponent)))
    elif isinstance(value, Fraction):
        ball = arb(fmpq(value.numerator, value.denominator))
    else:
        ball = arb(value) if isinstance(value, float) else arb(int(value))
    return of_balls(ball) or Undefined(f"the number {value}")


Found: TypeAlias = "Interval | arb | None"
"""An enclosure of a function's values; None, or not finite, if one may be infinite or not real."""
OnIntervals: TypeAlias = "Callable[..., Found]"
Domain: TypeAlias = "Callable[..., bool]"


def hull(a: Interval, b: Interval) -> Interval:
    """Return the interval from the smallest to the largest number of both."""
    return Interval(min(a.lower, b.lower), max(a.upper, b.upper))


def constant(ball: arb) -> Interval:
    """Return the interval of a finite ball."""
    interval = of_balls(ball)
    assert interval is not None
    return interval


def point(value: int) -> Interval:
    """Return the interval of a single number, which ``arb`` accepts."""
    ball = arb(value)
    return Interval(ball, ball)


# Sums, products and powers ------------------------------------------------------------------------


def add(a: Interval, b: Interval) -> Interval:
    """``a + b``."""
    if a.is_point and b.is_point:
        return constant(a.lower + b.lower)
    # Sums of exact ends are rounded to balls, whose outer ends enclose them.
    return Interval((a.lower + b.lower).lower(), (a.upper + b.upper).upper())


def negative(a: Interval) -> Interval:
    """``-a``."""
    # Without ``exact`` the ends would be rounded to the current precision.
    return Interval(a.upper.neg(exact=True), a.lower.neg(exact=True))


def multiply(a: Interval, b: Interval) -> Interval:
    """``a * b``, whose ends are products of ends."""
    product = of_balls(*(x * y for x, y in itertools.product(a.ends, b.ends)))
    assert product is not None
    return product


def divide(a: Interval, b: Interval) -> Interval | None:
    """``a / b``; None if b may be 0."""
    if b.has(0):
        return None
    return of_balls(*(x / y for x, y in itertools.product(a.ends, b.ends)))


def absolute(x: Interval) -> Interval:
    """``|x|``."""
    if x.lower >= 0:
        return x
    return negative(x) if x.upper <= 0 else Interval(arb(0), max(x.lower.neg(exact=True), x.upper))


def raised(x: Interval, p: int | Fraction) -> Interval | None:
    """``x**p`` for an exact number p; None for a root of an interval with negative numbers."""
    if isinstance(p, Fraction):
        if x.lower < 0 or (p < 0 and x.lower <= 0):
            return None
        exponent = arb(fmpq(p.numerator, p.denominator))
        # A square root is exact where it can be; a general power is rounded.
        root = p.denominator == 2
        return of_balls(
            *(t if t == 0 else t.sqrt() ** p.numerator if root else t**exponent for t in x.ends)
        )
    if p < 0 and x.has(0):
        return None
    result = of_balls(*(t**p for t in x.ends))
    # An even power has its minimum at 0, inside the interval.
    if result is not None and p % 2 == 0 and p > 0 and x.has(0):
        return Interval(arb(0), result.upper)
    return result


def power(x: Interval, y: Interval) -> Interval | None:
    """``x**y`` of real numbers, with ``x**0 = 1``; None where it may be infinite or not real."""
    n = y.integer()
    if n is not None:
        return raised(x, n)
    if x.lower > 0:
        # x**y = exp(y log x): with monotone functions, the ends are at ends.
        logarithm = of_balls(*(t.log() for t in x.ends))
        assert logarithm is not None
        exponent = multiply(y, logarithm)
        return of_balls(exponent.lower.exp(), exponent.upper.exp())
    if x.lower < 0 or y.lower < 0 or (y.lower <= 0 and y.is_point):
        return None
    # From here on x and y start at 0 or above; 0**y is 0 for y > 0, and 1 at y = 0.
    top = power(Interval(x.upper, x.upper), y) if x.upper > 0 else Interval(arb(0), arb(0))
    bottom = Interval(arb(0), arb(0 if y.lower > 0 else 1))
    return None if top is None else hull(bottom, top)


# Rounding to integers -----------------------------------------------------------------------------


def rounded(rule: Callable[[Fraction], int]) -> Callable[[Interval], Interval]:
    """Lift a nondecreasing rule that rounds to an integer: apply it to both exact ends."""

    def at(t: arb) -> arb:
        mantissa, exponent = (int(k) for k in t.man_exp())
        if exponent >= 0:
            return t
        if -exponent > mantissa.bit_length() + 8:  # so close to 0 that only the sign matters
            mantissa, exponent = (mantissa > 0) - (mantissa < 0), -8
        return arb(rule(Fraction(mantissa, 1 << -exponent)))

    return lambda x: Interval(at(x.lower), at(x.upper))


# From functions of balls to functions of intervals ------------------------------------------------


def everywhere(*_: object) -> bool:
    """The domain of functions defined for all real numbers."""
    return True


def monotone(
    function: Callable[..., arb], domain: Domain = everywhere
) -> Callable[..., Interval | None]:
    """Lift a function monotone in every operand: its extremes are at corners of the box."""

    def value(*xs: Interval) -> Interval | None:
        if not domain(*xs):
            return None
        return of_balls(*(function(*corner) for corner in itertools.product(*(x.ends for x in xs))))

    return value


def even(
    function: Callable[[arb], arb], domain: Domain = everywhere
) -> Callable[[Interval], Interval | None]:
    """Lift an even function that is monotone for positive numbers; the domain is that of |x|."""
    rising = monotone(function, domain)
    return lambda x: rising(absolute(x))


def on_balls(function: Callable[..., arb], domain: Domain = everywhere) -> OnIntervals:
    """Lift a function of balls of which no monotonicity is known."""

    def value(*xs: Interval) -> arb | None:
        return function(*(x.ball for x in xs)) if domain(*xs) else None

    return value


def positive(*xs: Interval) -> bool:
    """The domain of positive numbers."""
    return all(bool(x.lower > 0) for x in xs)


def above(bound: int, closed: bool = False) -> Domain:
    """Return the domain of numbers larger than ``bound``."""
    return lambda x: bool(x.lower >= bound if closed else x.lower > bound)


def between(low: int, high: int, closed: bool = False) -> Domain:
    """Return the domain of an open or closed interval."""
    if closed:
        return lambda x: bool(x.lower >= low) and bool(x.upper <= high)
    return lambda x: bool(x.lower > low) and bool(x.upper < high)


def order(name: str, n: Interval) -> int:
    """Return an order as an integer; raise Unsupported for other numbers and for large ones."""
    integer = n.integer()
    if integer is None:
        raise Unsupported(f"enclose: {name} of the order {n}, which is not an integer")
    if abs(integer) > LARGEST_ORDER:
        raise Unsupported(f"enclose: {name} of the order {n}, beyond {LARGEST_ORDER}")
    return integer
