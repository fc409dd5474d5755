"""Exact numbers: the coefficients and exponents of the graph.

A number is an ``int``, else a ``Fraction``, else a ``float``.  Floats that *are* short fractions
(0.5, 3.0, 0.375) become exact on entry, so that ``x + 1`` and ``x + 1.0`` are one node.  All others
(0.1, inf, nan) stay floats.
"""

from __future__ import annotations

import inspect
import math
import operator
import re
import sys
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import sympy as sp

from symdiff.contexts import contained

if TYPE_CHECKING:
    from collections.abc import Callable

Number: TypeAlias = int | Fraction | float

# Denominators up to 2**10 are what people type (0.5, 0.375); longer binary fractions are
# measurements.
_SHORT = 1 << 10
_LARGEST_INTEGRAL = 2.0**53
_LONGEST_REPR = 60


def exact(value: object) -> Number:
    """The number of ``value``, exact where possible.

    Raises TypeError for complex numbers and for anything that is not a number.

    >>> exact(0.5), exact(3.0), exact(0.1)
    (Fraction(1, 2), 3, 0.1)
    """
    if value.__class__ is int:
        return value
    if isinstance(value, float | np.floating):
        return _exact_float(float(value))
    if isinstance(value, bool | np.bool_ | int | np.integer):
        return int(value)
    if isinstance(value, Fraction):
        return value.numerator if value.denominator == 1 else value
    if isinstance(value, sp.Rational):
        return exact(Fraction(int(value.p), int(value.q)))
    if isinstance(value, sp.Float):
        return _exact_float(float(value))
    if isinstance(value, Decimal):
        return exact(Fraction(value)) if value.is_finite() else float(value)
    if isinstance(value, complex | np.complexfloating):
        raise TypeError(
            f"complex number {shortened(value)}: symdiff is real; pass real and imaginary parts"
        )
    remedy = ""
    if isinstance(value, tuple) and _is_one_expression(value):
        remedy = f": take {value[0]!r} itself, the tuple's only element, by [0]"
    elif isinstance(value, list | tuple):
        remedy = ": sd.stack makes one array of expressions in a list, sd.constant one of numbers"
    elif isinstance(value, str):
        remedy = ": sd.parse reads a formula"
    elif hasattr(value, "outputs"):
        remedy = ": the formulas of a Function F are F.outputs"
    elif hasattr(value, "requires_grad"):
        remedy = ": of an eager tensor t, t.expr is the formula and t.detach().numpy() the value"
    elif inspect.isroutine(value):
        remedy = ": sd.from_function(fn, x) is what a NumPy function makes of symbols"
    raise TypeError(
        f"{shortened(value)} of type {type(value).__name__} is not a real number{remedy}"
    )


def _is_one_expression(values: tuple[object, ...]) -> bool:
    """Whether a tuple holds one expression alone, or repeats it, as ``2 * (x,)`` does."""
    return bool(values) and hasattr(values[0], "op") and all(v is values[0] for v in values)


def shortened(value: object) -> str:
    """``repr(value)``, or the beginning of a long one.

    >>> shortened([1, 2]), len(shortened([1] * 10**6)), len(shortened("x" * 10**6))
    ('[1, 2]', 63, 63)
    """
    if value.__class__ in (list, tuple, str, bytes):  # builds no more of the text than it shows
        value = value[:_LONGEST_REPR]
    text = repr(value)
    return text if len(text) <= _LONGEST_REPR else f"{text[:_LONGEST_REPR]}..."


def _exact_float(value: float) -> Number:
    if not math.isfinite(value):
        return value
    if value.is_integer():
        return int(value) if abs(value) <= _LARGEST_INTEGRAL else value
    numerator, denominator = value.as_integer_ratio()
    return Fraction(numerator, denominator) if denominator <= _SHORT else value


def is_short(value: Number) -> bool:
    """Whether ``value`` is an exact number that no float of ``exact`` equals.

    >>> is_short(Fraction(1, 3)), is_short(0.1)
    (True, False)
    """
    return value.__class__ is int or (isinstance(value, Fraction) and value.denominator <= _SHORT)


def decimal(text: str) -> Fraction:
    """The exact value of a decimal or a fraction in text: "0.1" is 1/10.

    Raises ValueError for other text, and for exponents of more than five digits.

    >>> decimal("0.1"), decimal("-2/3"), decimal("1e3")
    (Fraction(1, 10), Fraction(-2, 3), Fraction(1000, 1))
    """
    exponent = _EXPONENT.search(text)
    if exponent and not len(exponent[1]) <= _EXPONENT_DIGITS:
        raise ValueError(
            f"{shortened(text)} has an exponent of more than {_EXPONENT_DIGITS} digits"
        )
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"{text[:100]!r} is neither a decimal nor a fraction") from None


# Guard: with two more digits the number itself would fill the memory.
_EXPONENT = re.compile(r"[eE][+-]?[0_]*([0-9_]+)\s*$")
_EXPONENT_DIGITS = 5


def exact_exponent(value: object) -> int | Fraction:
    """An exponent, always exact: a float exponent becomes its exact binary fraction.

    Every differentiation lowers exponents by one; exactness keeps 12 derivatives of ``x**1.3``
    clean.

    >>> exact_exponent(2.0), exact_exponent(0.5)
    (2, Fraction(1, 2))
    """
    number = exact(value)
    if isinstance(number, float):
        if not math.isfinite(number):
            raise ValueError(f"power: exponent {number} is not finite")
        number = Fraction(number)
    return number


def norm(value: Fraction) -> int | Fraction:
    """``value`` with denominator 1 written as an int."""
    return value.numerator if value.denominator == 1 else value


def _normal(value: Number) -> Number:
    # A float result that is integral or a short fraction becomes exact too: no float equals an
    # exact number.
    return _exact_float(value) if isinstance(value, float) else norm(Fraction(value))


def times(a: Number, b: Number) -> Number:
    """``a * b`` as a number (Fractions that become integral are ints again).

    A product that leaves the float range stays exact until it returns: 1e200 * 1e200 is not an
    infinity.

    >>> times(times(1e200, 1e200), 1e-300)
    1e+100
    """
    try:
        c = a * b
    except OverflowError:
        return _compute_exactly(operator.mul, a, b)
    if c.__class__ is int:
        return c
    return _compute_exactly(operator.mul, a, b) if _may_have_lost_digits(c) else _normal(c)


def plus(a: Number, b: Number) -> Number:
    """``a + b`` as a number; exact, as in ``times``, where it exceeds the floats."""
    try:
        c = a + b
    except OverflowError:
        return _compute_exactly(operator.add, a, b)
    if c.__class__ is int:
        return c
    return _compute_exactly(operator.add, a, b) if _may_have_lost_digits(c) else _normal(c)


def reciprocal(d: Number) -> Number:
    """``1 / d`` for d != 0."""
    if not isinstance(d, float):
        return norm(Fraction(1) / d)
    c = 1 / d
    return (
        nearest(1 / Fraction(d))
        if _may_have_lost_digits(c) and math.isfinite(d)
        else _exact_float(c)
    )


def is_normal(value: Number) -> bool:
    """Whether a float holds ``value`` to all digits: it is not 0, subnormal or infinite.

    >>> is_normal(Fraction(1, 3)), is_normal(10**400), is_normal(0)
    (True, False, False)
    """
    return _SMALLEST_NORMAL <= (-value if value < 0 else value) <= sys.float_info.max


def _may_have_lost_digits(c: Number) -> bool:
    """Whether ``c`` is a float that may have lost its digits."""
    return isinstance(c, float) and not is_normal(c)


def _compute_exactly(operation: Callable[[Any, Any], Any], a: Number, b: Number) -> Number:
    """The operation in exact numbers: a float where a float holds the result to all digits."""
    infinite = [x for x in (a, b) if isinstance(x, float) and not math.isfinite(x)]
    if infinite:  # against an infinity only the sign of a finite number matters
        plain = [x if isinstance(x, float) and not math.isfinite(x) else _sign(x) for x in (a, b)]
        return float(operation(*plain))
    return nearest(operation(Fraction(a), Fraction(b)))


def _sign(x: Number) -> float:
    return float((x > 0) - (x < 0))


def nearest(value: Fraction) -> Number:
    """The float nearest to ``value``, but ``value`` itself where floats lose its digits.

    Numbers of hundreds of thousands of digits become infinite or 0.

    >>> nearest(Fraction(1, 3)), nearest(Fraction(10) ** 400) == 10**400
    (0.3333333333333333, True)
    """
    if abs(value) <= sys.float_info.max:
        rounded = float(value)
        if abs(rounded) >= _SMALLEST_NORMAL or Fraction(rounded) == value:
            return _exact_float(rounded)
    if max(value.numerator.bit_length(), value.denominator.bit_length()) <= _MOST_BITS:
        return norm(value)
    return 0 if abs(value) < 1 else math.inf if value > 0 else -math.inf


_SMALLEST_NORMAL = sys.float_info.min
_MOST_BITS = 1 << 18


def raised(base: Number, exponent: int | Fraction) -> Number | None:
    """``base ** exponent`` where that is a number exactly (or a float), else None.

    >>> raised(4, Fraction(1, 2)), raised(2, Fraction(1, 2)), raised(2, -2)
    (2, None, Fraction(1, 4))
    >>> times(raised(1e200, 2), 1e-300)
    1e+100
    """
    if isinstance(base, float):
        value = _raised_float(base, exponent)
        if (
            not _may_have_lost_digits(value)
            or not math.isfinite(base)
            or not isinstance(exponent, int)
        ):
            return _exact_float(value)
        digits = abs(exponent) * sys.float_info.max_exp
        return _exact_float(value) if digits > _MOST_BITS else nearest(Fraction(base) ** exponent)
    if isinstance(exponent, int):
        if base == 0 and exponent < 0:
            return math.inf
        if abs(exponent) > 4096 and base not in (0, 1, -1):
            return None  # numbers of thousands of digits are not worth folding
        return norm(Fraction(base) ** exponent)
    if base == 0:
        return math.inf if exponent < 0 else 0
    if base == 1:
        return 1
    if base < 0:
        return math.nan
    root = exponent.denominator
    fraction = Fraction(base)
    if root > 64:
        return None
    p, q = _root(fraction.numerator, root), _root(fraction.denominator, root)
    return None if p is None or q is None else raised(norm(Fraction(p, q)), exponent.numerator)


def _root(n: int, k: int) -> int | None:
    """The k-th root of a positive integer if it is an integer, by Newton's steps from above."""
    root = 1 << -(-n.bit_length() // k)
    while (less := ((k - 1) * root + n // root ** (k - 1)) // k) < root:
        root = less
    return root if root**k == n else None


@contained
def _raised_float(base: float, exponent: int | Fraction) -> float:
    with np.errstate(all="ignore"):
        return float(np.power(np.float64(base), float(exponent)))


def is_number(value: object) -> bool:
    """Whether ``value`` is a Python, NumPy or SymPy real number.

    >>> is_number(2), is_number("2")
    (True, False)
    """
    kinds = int | float | Fraction | np.number | np.bool_ | Decimal
    return isinstance(value, kinds) or isinstance(value, sp.Rational | sp.Float)  # noqa: SIM101  # untyped
