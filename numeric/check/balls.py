"""Guaranteed enclosures: evaluate an expression in ball arithmetic, at a point or over a box.

This module needs python-flint, which the extra ``certify`` installs.
"""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from mpmath import libmp, mp

from numeric.extras import extra
from symdiff.exact.evaluation import prepared
from symdiff.graph.arguments import door, whole
from symdiff.graph.expr import free_symbols
from symdiff.graph.number import shortened
from symdiff.locks import fork_safe_lock
from symdiff.transforms.substitution import named

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

    from mpmath import mpf

    from symdiff.exact.digits import Raw
    from symdiff.graph.expr import Expr
    from symdiff.graph.number import Number

_MODERATE = 10_000  # the largest exponent of two for which numbers are written in decimals
ONE_FLINT = fork_safe_lock()  # FLINT has one precision for all threads


class Enclosure:
    """All numbers from ``lower`` to ``upper``, two exact mpf numbers that enclose a value.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> square = enclose(x * x, {x: (-1, 2)})
    >>> square, 0.5 in square, -1 in square
    ([0.0, 4.0], True, False)
    >>> enclose(x / 3, {x: 1}, digits=20)
    [0.33333333333333333333, 0.33333333333333333334]
    """

    __slots__ = ("digits", "lower", "upper")

    def __init__(self, lower: mpf, upper: mpf, digits: int = 15) -> None:
        self.lower, self.upper, self.digits = lower, upper, digits

    @property
    def width(self) -> mpf:
        """``upper - lower``, rounded up."""
        return _mpf(libmp.mpf_sub(self.upper._mpf_, self.lower._mpf_, 53, "c"))

    @property
    def floats(self) -> tuple[float, float]:
        """The ends as floats, rounded outward."""
        # float() rounds to nearest, so an end may have to move outward by one float.
        low, high = float(self.lower), float(self.upper)
        return (
            low if low <= self.lower else float(np.nextafter(low, -np.inf)),
            high if high >= self.upper else float(np.nextafter(high, np.inf)),
        )

    def contains(self, value: object) -> bool:
        """Whether this contains a number, or all of another enclosure; nothing is rounded."""
        if isinstance(value, Enclosure):
            return self.contains(value.lower) and self.contains(value.upper)
        if isinstance(value, Fraction):
            # Scale the ends by the denominator: the fraction itself may have no binary form.
            scale, value = libmp.from_int(value.denominator), libmp.from_int(value.numerator)
            low, high = (libmp.mpf_mul(end._mpf_, scale) for end in (self.lower, self.upper))
            return bool(libmp.mpf_le(low, value) and libmp.mpf_le(value, high))
        return bool(self.lower <= value <= self.upper)

    __contains__ = contains

    def __repr__(self) -> str:
        low, high = (
            _decimal(self.lower, self.digits, False),
            _decimal(self.upper, self.digits, True),
        )
        return f"[{low}, {high}]"


def _decimal(end: mpf, digits: int, upward: bool) -> str:
    """Write ``digits`` digits of ``end``, rounded outward, or a power of 2 for extreme numbers."""
    sign, _, exponent, bits = end._mpf_
    if abs(exponent) > _MODERATE:
        return f"{'-' if sign else ''}2**{exponent + bits - (upward == bool(sign))}"
    # to_str rounds to nearest, perhaps inward; the next decimal outward then replaces the text.
    text = str(libmp.to_str(end._mpf_, digits))
    beyond = Fraction(text) - fraction(end)
    if beyond >= 0 if upward else beyond <= 0:
        return text
    rounded = Decimal(text), Context(prec=digits)
    return str(Decimal.next_plus(*rounded) if upward else Decimal.next_minus(*rounded)).lower()


def _mpf(raw: Raw) -> mpf:
    return mp.make_mpf(raw)


def fraction(value: Number | str | mpf) -> Fraction:
    """Return a finite number as an exact Fraction."""
    if not isinstance(value, mp.mpf):
        return Fraction(value)
    sign, mantissa, exponent, _ = value._mpf_
    return Fraction(-int(mantissa) if sign else int(mantissa)) * Fraction(2) ** int(exponent)


_MOST_PIECES = 1_000_000


@door
def enclose(
    f: Expr, subs: Mapping[Any, object] | None = None, *, digits: int = 15, pieces: int = 64
) -> Any:
    """Return guaranteed bounds of an expression's value, at a point or over a box.

    A symbol's value in ``subs`` is a number, an array of numbers, or a pair ``(lower, upper)`` of
    such.  A pair stands for all values between its ends.  A float is the exact binary number; a
    text is the decimal.

    At a point the precision grows until each element is enclosed to ``digits`` significant digits.
    No precision is enough where the value is 0, or where an intermediate result is at a jump.
    There the narrowest enclosure stands.  A box is cut into up to ``pieces`` parts.  The result is
    the hull of the enclosures over the parts: it contains all values, but may be wider than their
    range.

    Derivatives of any order are expressions, so they are enclosed in the same way:
    ``enclose(sd.diff(f, x), ...)``.  At kinks and jumps a point takes the conventions of the
    library, and a box takes the values of both sides as well.  Zeros have no sign.

    The result is an ``Enclosure``, or for an array expression a NumPy object array of Enclosures.

    Args:
        f: an expression of any shape.
        subs: the values of the free symbols, by symbol or name.
        digits: the wanted number of significant digits, at a point.
        pieces: the largest number of parts of a box.

    Raises ImportError without python-flint, which the extra ``certify`` installs.  Raises
    Unsupported for an op without an enclosure, by its name.  Raises ValueError where a value may be
    infinite or undefined, with the function and its operands.  Raises ValueError also for a symbol
    without value, and for a pair whose ends are in the wrong order or not finite.  Raises
    ShapeError for a value whose shape differs from its symbol's.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> enclose(sd.diff(abs(x), x), {x: (-1, 1)})
    [-1.0, 1.0]
    >>> enclose(sd.log(x), {x: (-1, 1)})
    Traceback (most recent call last):
        ...
    ValueError: enclose: log of ... has no bounded real value
    """
    if isinstance(digits, bool) or not isinstance(digits, int) or not 1 <= digits <= 10_000:
        raise ValueError(f"enclose: {shortened(digits)} is not a number of digits from 1 to 10000")
    if not 1 <= whole("enclose", "pieces", pieces) <= _MOST_PIECES:
        raise ValueError(
            f"enclose: pieces={shortened(pieces)} is not a number from 1 to {_MOST_PIECES:,}"
        )
    flint = imported("enclose")
    lower, upper = _box(f, subs or {})
    outputs, low, sizes = prepared("enclose", [f], lower)
    # One mapping for both ends marks a point, whose precision can grow without cutting a box.
    high = low if upper is lower else prepared("enclose", [f], upper)[1]
    _refuse_bad_ends(low, high)
    with ONE_FLINT, flint.ctx.workprec(64):
        # This module imports the optional flint, so it is not imported at the top.
        from numeric.check.ball_arithmetic import Problem

        problem = Problem(outputs, sizes, digits)
        result = problem.at_point(low) if high is low else problem.over_box(low, high, pieces)
    return result


def imported(name: str) -> ModuleType:
    """Return the module ``flint``; raise an ImportError that names the extra without it."""
    module: ModuleType = extra("certify", name)
    return module


# The box ------------------------------------------------------------------------------------------


def _box(f: Expr, subs: Mapping[Any, object]) -> tuple[dict[object, object], dict[object, object]]:
    """Return the lower and the upper values; one mapping for both if all values are numbers."""
    symbols = {x.name: x for x in free_symbols([f])}
    named("enclose", symbols.values(), subs, strict=True)
    lower: dict[object, object] = {}
    upper: dict[object, object] = {}
    for key, value in subs.items():
        ends = (value.lower, value.upper) if isinstance(value, Enclosure) else value
        if not isinstance(ends, tuple):
            ends = (value, value)
        if len(ends) != 2:
            raise ValueError(
                f"enclose: the value of {key} is a tuple of {len(ends)}; a pair (lower, upper) is "
                f"a range, and an array is given as an array or a list"
            )
        x = symbols.get(key if isinstance(key, str) else getattr(key, "name", ""))
        lower[key], upper[key] = (_spread(end, x) for end in ends)
    ranges = any(isinstance(value, tuple | Enclosure) for value in subs.values())
    return lower, upper if ranges else lower


def _spread(value: Any, x: Expr | None) -> Any:
    """Repeat a number for every element of an array symbol of known shape."""
    if x is None or not x.shape or np.ndim(value) or isinstance(value, str):
        return value
    known = all(isinstance(dim, int) for dim in x.shape)
    return np.full(x.shape, value, dtype=object) if known else value


def _refuse_bad_ends(low: Mapping[Expr, object], high: Mapping[Expr, object]) -> None:
    for x in low:
        # Lower and upper ends may come from one mapping; compare them element by element.
        a, b = (np.asarray(ends[x], dtype=object) for ends in (low, high))
        if a.shape != b.shape:
            raise ValueError(f"enclose: the ends of {x.name} have shapes {a.shape} and {b.shape}")
        for low_end, high_end in zip(a.ravel(), b.ravel(), strict=True):
            if not (mp.isfinite(low_end) and mp.isfinite(high_end)):
                raise ValueError(
                    f"enclose: the range of {x.name}, from {low_end} to {high_end}, is not finite"
                )
            if low_end > high_end:
                raise ValueError(
                    f"enclose: the range of {x.name} goes from {low_end} down to {high_end}"
                )
