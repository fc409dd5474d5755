"""Numbers that know how many of their digits are correct, and print only these."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

import mpmath
import numpy as np
from mpmath import libmp

if TYPE_CHECKING:
    from collections.abc import Callable

# Mpmath's raw form of a number: sign, mantissa, binary exponent, and the mantissa's bits.
Raw: TypeAlias = tuple[int, int, int, int]


_NO_NUMBERS = (libmp.finf, libmp.fninf, libmp.fnan)
_LOG2 = math.log10(2)
_SPARE = 20  # extra bits in results of arithmetic
_FARTHEST = 10**300  # larger exponents are not floats, as in exp(-x**2) at 1e160
_HALF = math.log10(0.625)  # half a unit of the last digit, plus rounding


class Digits(mpmath.mpf):  # type: ignore[misc]  # mpmath carries no types
    """An mpf with the number of digits to which it was computed, and a bound of its error.

    Arithmetic propagates the bound: printed digits are correct up to one unit of the last one.
    Ints, Fractions, floats and other mpf count as exact.  Functions of mpmath return mpf without a
    bound.

    >>> import symdiff as sd
    >>> pi = sd.evalf(sd.pi, 10)
    >>> pi, 2 * pi, pi - 3, pi - pi
    (3.141592654, 6.283185307, 0.141592654, ±1e-9)
    >>> f"{pi:.3f}"
    '3.142'
    """

    __slots__ = ("digits", "error")
    digits: int  # that are correct
    error: float  # the decimal logarithm of the bound

    @classmethod
    def of(cls, value: mpmath.mpf, digits: int) -> Digits:
        """Round ``value`` to its number of correct digits."""
        rounded = libmp.mpf_pos(value._mpf_, libmp.dps_to_prec(digits), "n")
        return digits_again(rounded, digits, _size(rounded) - digits + _HALF)

    def __reduce__(self) -> tuple[object, ...]:
        return digits_again, (self._mpf_, self.digits, self.error)

    def __copy__(self) -> Digits:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Digits:
        return self

    # Text -----------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        if self.digits < 1:  # only the bound is known
            largest = _plus(_size(self._mpf_), self.error)
            return f"±1e{math.ceil(largest)}" if largest < math.inf else "±inf"
        return str(libmp.to_str(self._mpf_, self.digits))

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        """Format like a Decimal of the correct digits; zeros replace any others."""
        text = repr(self)
        return format(text if text.startswith("±") or not spec else Decimal(text), spec)

    # Arithmetic -----------------------------------------------------------------------------------

    def __add__(self, other: object) -> mpmath.mpf:
        return _combine("__add__", libmp.mpf_add, _error_of_sum, self, other)

    def __sub__(self, other: object) -> mpmath.mpf:
        return _combine("__sub__", libmp.mpf_sub, _error_of_sum, self, other)

    def __mul__(self, other: object) -> mpmath.mpf:
        return _combine("__mul__", libmp.mpf_mul, _error_of_product, self, other)

    def __truediv__(self, other: object) -> mpmath.mpf:
        return _combine("__truediv__", libmp.mpf_div, _error_of_quotient, self, other)

    def __pow__(self, other: object) -> mpmath.mpf:
        return _combine("__pow__", libmp.mpf_pow, _error_of_power, self, other)

    def __radd__(self, other: object) -> mpmath.mpf:
        return _combine("__radd__", libmp.mpf_add, _error_of_sum, self, other, reflected=True)

    def __rsub__(self, other: object) -> mpmath.mpf:
        return _combine("__rsub__", libmp.mpf_sub, _error_of_sum, self, other, reflected=True)

    def __rmul__(self, other: object) -> mpmath.mpf:
        return _combine("__rmul__", libmp.mpf_mul, _error_of_product, self, other, reflected=True)

    def __rtruediv__(self, other: object) -> mpmath.mpf:
        return _combine(
            "__rtruediv__", libmp.mpf_div, _error_of_quotient, self, other, reflected=True
        )

    def __rpow__(self, other: object) -> mpmath.mpf:
        return _combine("__rpow__", libmp.mpf_pow, _error_of_power, self, other, reflected=True)

    def __neg__(self) -> Digits:
        return digits_again(libmp.mpf_neg(self._mpf_), self.digits, self.error)

    def __pos__(self) -> Digits:
        return self

    def __abs__(self) -> Digits:
        return digits_again(libmp.mpf_abs(self._mpf_), self.digits, self.error)


def digits_again(value: Raw, digits: int, error: float) -> Digits:
    """A number from its parts."""
    number: Digits = object.__new__(Digits)
    number._mpf_, number.digits, number.error = value, digits, error
    return number


def _combine(
    name: str,
    function: Callable[..., Raw],
    bound: Callable[..., float],
    x: Digits,
    other: object,
    reflected: bool = False,
) -> mpmath.mpf:
    most = max(x.digits, other.digits) if isinstance(other, Digits) else max(x.digits, 15)
    prec = libmp.dps_to_prec(most) + _SPARE
    y = _raw_number(other, prec)
    if y is None:
        return getattr(mpmath.mpf, name)(x, other)
    error = other.error if isinstance(other, Digits) else -math.inf
    a, b = (x._mpf_, x.error), (y, error)
    if reflected:
        a, b = b, a
    try:
        value = function(a[0], b[0], prec, "n")
    except libmp.ComplexResult:
        if a[1] < _size(a[0]):  # certainly negative
            return getattr(mpmath.mpf, name)(x, other)
        return digits_again(libmp.fnan, 0, math.inf)  # possibly complex: nothing is known
    size = _size(value)
    magnitude = math.inf
    if max(a[1], b[1]) < math.inf:
        magnitude = _plus(bound(_size(a[0]), _size(b[0]), a[1], b[1], size), size - prec * _LOG2)
    if magnitude == -math.inf or (value in _NO_NUMBERS and magnitude < math.inf):
        return digits_again(value, most, -math.inf)
    bounded = size > -math.inf and magnitude < math.inf
    # Half a unit of the last digit is for the bound, half for the rounding.
    right = math.floor(size) + 1 - math.ceil(magnitude + _LOG2) if bounded else 0
    return digits_again(value, max(min(right, most), 0), magnitude)


def _raw_number(value: object, prec: int) -> Raw | None:
    """Mpmath's raw form of a real number; None for other objects."""
    raw: Raw | None = None
    if isinstance(value, mpmath.mpf):
        raw = value._mpf_
    elif isinstance(value, int | np.integer | np.bool_):
        raw = libmp.from_int(int(value))
    elif isinstance(value, float | np.floating):
        raw = libmp.from_float(float(value))
    elif isinstance(value, Fraction):
        raw = libmp.from_rational(value.numerator, value.denominator, prec, "n")
    return raw


# Decimal logarithms of absolute values and of errors ----------------------------------------------


def _size(value: Raw) -> float:
    """The logarithm of the absolute value, -inf for 0; never too small, as it bounds errors."""
    _, mantissa, exponent, _ = value
    if exponent > _FARTHEST:
        return math.inf
    return (math.log2(int(mantissa)) + max(exponent, -_FARTHEST)) * _LOG2 if mantissa else -math.inf


def _plus(a: float, b: float) -> float:
    high, low = max(a, b), min(a, b)
    return (
        high if low == -math.inf or high == math.inf else high + math.log10(1 + 10 ** (low - high))
    )


def _error_of_sum(sa: float, sb: float, ea: float, eb: float, size: float) -> float:
    return _plus(ea, eb)


def _error_of_product(sa: float, sb: float, ea: float, eb: float, size: float) -> float:
    return _plus(_plus(sa + eb, sb + ea), ea + eb)


def _error_of_quotient(sa: float, sb: float, ea: float, eb: float, size: float) -> float:
    if eb == -math.inf:
        return ea - sb if sb > -math.inf else -math.inf
    if eb >= sb:  # the divisor may be 0
        return math.inf
    return _plus(ea, sa + eb - sb) - sb - math.log10(1 - 10 ** (eb - sb))


def _error_of_power(sa: float, sb: float, ea: float, eb: float, size: float) -> float:
    if ea == eb == -math.inf:
        return -math.inf
    if ea - sa >= -0.3 or sa == -math.inf:
        return math.inf
    # The error of log(a**b): |b| times the error of log(a), plus |log(a)| times the error of b.
    log_a = ea - sa
    if log_a > -300:
        log_a = math.log10(-math.log1p(-(10**log_a)))
    off = _plus(_plus(sb, eb) + log_a, eb + math.log10(abs(sa) * math.log(10) + 1))
    if off == -math.inf:
        return off
    # Below 1e-300 powers of ten underflow; there 10**off equals expm1(10**off).
    change = off if off < -300 else math.log10(math.expm1(10**off)) if off < 0 else math.inf
    return change + size
