"""The arithmetic of numbers and powers in programs: what rounds least and stays in range.

A coefficient is a divisor where that rounds once instead of twice, a power is a product of smaller
ones where these stay in the floats.  Nothing here computes: these functions say how it is written.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from symdiff.graph.number import is_normal

if TYPE_CHECKING:
    from symdiff.graph.expr import Expr
    from symdiff.graph.number import Number


def weak(value: Number, whole: bool = False) -> int | float:
    """A number as a weak Python one; integers beyond 64 bits become floats, beyond the floats inf.

    In formulas of integers (``whole``) they stay as they are: NumPy refuses those that a dtype
    lacks, Python's integers lack none.

    >>> weak(Fraction(1, 4)), weak(3), weak(2**64, whole=True)
    (0.25, 3, 18446744073709551616)
    """
    if value.__class__ is int and (whole or -(2**63) <= value < 2**63):
        return int(value)
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def integral(node: Expr) -> bool:
    """Whether a node computes with integers and truth values alone.

    >>> import symdiff as sd
    >>> k = sd.symbol("k", dtype=int)
    >>> integral(k < 3), integral(k / 2)
    (True, False)
    """
    return node.dtype is not float and all(x.dtype is not float for x in node.args)


# Coefficients -------------------------------------------------------------------------------------


def divisor(coef: Number) -> int | float | None:
    """The d of a coefficient 1/d: dividing by 3 rounds once, multiplying by 1/3 twice.

    >>> divisor(Fraction(1, 3)), divisor(Fraction(1, 4))
    (3, None)
    """
    if isinstance(coef, Fraction) and coef.numerator == 1 and coef.denominator.bit_count() > 1:
        found = weak(coef.denominator)
        return found if math.isfinite(found) else None
    return None


def factors(coef: Number) -> tuple[int | float, ...]:
    """What multiplies x one after the other to ``coef * x``, for coef > 0.

    One number, unless an exact coefficient is beyond the normal floats, where x may be as far on
    the other side: then powers of two, which round nothing as long as x grows, and a number from
    1/2 to 2, which comes where x is largest in size.

    >>> factors(3), factors(2**1300) == (2.0**1000, 2.0**300, 1.0)
    ((3,), True)
    """
    if isinstance(coef, float) or is_normal(coef):
        return (weak(coef),)
    exact = Fraction(coef)
    exponent = exact.numerator.bit_length() - exact.denominator.bit_length()
    rest = float(exact / Fraction(2) ** exponent)
    if exponent > 0 and rest < 1:
        rest, exponent = rest * 2, exponent - 1
    elif exponent < 0 and rest > 1:
        rest, exponent = rest / 2, exponent + 1
    left = min(abs(exponent), _FURTHEST)
    whole, part = divmod(left, _STEP)
    powers = [math.ldexp(1.0, int(math.copysign(k, exponent))) for k in [_STEP] * whole + [part]]
    return (*powers, rest) if exponent > 0 else (rest, *powers)


_STEP = 1000
_FURTHEST = 3000  # takes the largest number below the smallest, and back


# Powers -------------------------------------------------------------------------------------------


def pieces(p: int | Fraction) -> tuple[int | Fraction, ...]:
    """Powers that multiply to ``x ** p``, p > 1, none of them beyond its square root, or x.

    A number times them, or over them, one after the other, goes one way from the number to the
    result: no value in between leaves the floats where the result does not.  A fraction below 1 is
    left for the last: as a float it is more exact than p is.

    >>> pieces(2), pieces(3), pieces(7), pieces(Fraction(5, 2)), pieces(Fraction(13, 10))
    ((1, 1), (1, 2), (3, 3, 1), (1, 1, Fraction(1, 2)), (1, Fraction(3, 10)))
    """
    if isinstance(p, int):
        if p <= 3:
            return (1, p - 1) if p > 1 else (p,)
        return (p // 2, p // 2, 1) if p % 2 else (p // 2, p // 2)
    return (*pieces(int(p)), p - int(p)) if p > 1 else (p,)


def together(exponents: tuple[int | Fraction, ...]) -> bool:
    """Whether two powers are one of the product or the quotient: ``x**3 / y**3`` is so.

    >>> together((2, -2)), together((2, 1))
    (True, False)
    """
    p, q = exponents
    return isinstance(p, int) and p in (q, -q) and p not in (1, -1)


def stepwise(exponents: tuple[int | Fraction, ...]) -> tuple[tuple[int, int], ...] | None:
    """Low powers beside a first power, factor by factor: places and signs.

    They are ``x**p * y``, ``x**p / y`` and ``y / x**p`` for p from 2 to 5.

    Every value on the way lies between one that is given and the result, so that none leaves the
    range alone; and 0 stays 0.

    >>> stepwise((2, 1)), stepwise((-1, 2)), stepwise((1, -2))
    (((1, 1), (0, 1), (0, 1)), ((1, 1), (0, -1), (1, 1)), ((0, 1), (1, -1), (1, -1)))
    """
    for this, other in ((0, 1), (1, 0)):
        p, q = exponents[this], exponents[other]
        if p in _LOW and q == 1:
            return ((other, 1), *[(this, 1)] * int(p))
        if p in _LOW and q == -1:
            return ((this, 1), (other, -1), *[(this, 1)] * (int(p) - 1))
        if -p in _LOW and q == 1:
            return ((other, 1), *[(this, -1)] * -int(p))
    return None


_LOW = range(2, 6)


def halves(exponents: tuple[int | Fraction, ...]) -> tuple[tuple[int, int], ...] | None:
    """Two powers, at least squares, as a product of two products about as large as its root.

    >>> halves((2, -3)), halves((3, 2))
    (((1, -1), (1, -2)), ((2, 1), (1, 1)))
    """
    p, q = exponents
    if not (isinstance(p, int) and isinstance(q, int)) or (p < 0 and q < 0):
        return None
    if min(p, -p) > -2 or min(q, -q) > -2 or together(exponents):
        return None
    a = (p + 1) // 2 if p > 0 else -((1 - p) // 2)
    b = q // 2 if q > 0 else -(-q // 2)
    return (a, b), (p - a, q - b)
