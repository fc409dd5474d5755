"""A bound of the distance of floats from the exact result: running error analysis.

A program that runs on these numbers gives the exact value, at mpmath's precision, and an error
bound.  The bound holds for any float program of the same formula, however its terms are collected.
A number is a polynomial of others, its atoms: variables and values of functions.  Suppose that no
monomial meets more than k roundings, in any order of sums and products.  Then the error is at most
``g(k) S`` plus the propagated errors of the atoms.  Here S is the sum of the monomials' absolute
values and ``g(k) = k u / (1 - k u)`` (Higham, Accuracy and Stability of Numerical Algorithms, 2nd
ed., lemma 3.1).  A function propagates the error of its argument, by its steepest slope over the
possible arguments, and adds its own.

There is no bound outside the range of relative rounding, or if a function's argument may be outside
its domain.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from mpmath import mp

UNIT = 2.0**-53
# The error of functions of NumPy and the C library, in units of the result.
_FUNCTION = 8 * UNIT
_RANGE = 1e-120, 1e120


class Rounded:
    """A number: its value, the sum of its monomials, its inherited error and its roundings."""

    __slots__ = ("inherited", "roundings", "size", "value")

    def __init__(
        self, value: Any, size: Any = None, inherited: Any = 0, roundings: int = 0
    ) -> None:
        self.value, self.inherited, self.roundings = mp.mpf(value), inherited, roundings
        self.size = abs(self.value) + inherited if size is None else size

    @property
    def error(self) -> Any:
        """Return a bound of the distance of a float from the value; infinite if unknown."""
        low, high = _RANGE
        if not (self.size == 0 or low < self.size < high):
            return mp.inf
        k = self.roundings * UNIT
        return self.inherited + k / (1 - k) * self.size

    def __add__(self, other: Any) -> Rounded:
        if isinstance(other, np.ndarray):
            return NotImplemented
        other = rounded(other)
        return Rounded(
            self.value + other.value,
            self.size + other.size,
            self.inherited + other.inherited,
            self.roundings + other.roundings + 1,
        )

    def __mul__(self, other: Any) -> Rounded:
        if isinstance(other, np.ndarray):
            return NotImplemented
        other = rounded(other)
        return Rounded(
            self.value * other.value,
            self.size * other.size,
            self.size * other.inherited + self.inherited * other.size,
            self.roundings + other.roundings + 1,
        )

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Rounded:
        return Rounded(-self.value, self.size, self.inherited, self.roundings)

    def __sub__(self, other: Any) -> Any:
        return self + -other

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        return self * _inverse(rounded(other))

    def __rtruediv__(self, other: Any) -> Rounded:
        return rounded(other) * _inverse(self)

    def __pow__(self, p: int) -> Rounded:
        power = self
        for _ in range(p - 1):
            power = power * self
        return power


def rounded(value: Any) -> Rounded:
    """Return a number of a program, which a float represents exactly."""
    return value if isinstance(value, Rounded) else Rounded(float(value))


def _atom(value: Any, error: Any) -> Rounded:
    """Return the value of a function."""
    return Rounded(value, None, error) if mp.isfinite(error) else NOTHING


def _called(function: Any, steepest: Any) -> Any:
    """Wrap a function for numbers; ``steepest`` is its slope between two numbers, or infinite."""

    def of(x: Any) -> Rounded:
        # The argument may be another sum of the same terms.
        x = rounded(x)
        error = x.error
        slope = steepest(x.value - error, x.value + error) if mp.isfinite(error) else mp.inf
        if not mp.isfinite(slope):
            return NOTHING
        value = function(x.value)
        moved = slope * error if error else 0
        return _atom(value, moved + _FUNCTION * (abs(value) + moved))

    return np.frompyfunc(of, 1, 1)


def _inverse(x: Rounded) -> Rounded:
    """Return 1/x; a quotient is rounded once, a product with 1/x once more."""
    error = x.error
    least = abs(x.value) - error
    if not (mp.isfinite(error) and least > 0):
        return NOTHING
    moved = error / (abs(x.value) * least)
    return _atom(1 / x.value, moved + 2 * UNIT * (1 / abs(x.value) + moved))


class _Order:
    """Whether one number is greater than another, and whether all roundings agree."""

    def __init__(self, x: Any, y: Any) -> None:
        x, y = map(rounded, (x, y))
        errors = x.error + y.error
        self.greater = x.value > y.value
        self.known = errors == 0 or abs(x.value - y.value) > errors


def _where(order: _Order, a: Any, b: Any) -> Rounded:
    """Return one of two numbers; where rounding decides, the error covers the other one."""
    one, other = map(rounded, (a, b) if order.greater else (b, a))
    error = one.error
    if not order.known:
        error = max(error, abs(other.value - one.value) + other.error)
    return _atom(one.value, error)


def _maximum(a: Any, b: Any) -> Rounded:
    a, b = map(rounded, (a, b))
    return _atom(max(a.value, b.value), max(a.error, b.error))


def _absolute(x: Any) -> Rounded:
    x = rounded(x)
    return _atom(abs(x.value), x.error)


NOTHING = Rounded(0, mp.inf)

FUNCTIONS = SimpleNamespace(
    sin=_called(mp.sin, lambda a, b: 1),
    tanh=_called(mp.tanh, lambda a, b: 1),
    exp=_called(mp.exp, lambda a, b: mp.exp(b) if b < 250 else mp.inf),
    # The root of an exact 0 is 0.
    sqrt=_called(
        mp.sqrt, lambda a, b: 1 / (2 * mp.sqrt(a)) if a > 0 else 0 if a == b == 0 else mp.inf
    ),
    maximum=np.frompyfunc(_maximum, 2, 1),
    abs=np.frompyfunc(_absolute, 1, 1),
    greater=np.frompyfunc(_Order, 2, 1),
    where=np.frompyfunc(_where, 3, 1),
)
"""Functions of arrays of such numbers, by their names in expressions."""


def variables(values: Any) -> np.ndarray:
    """Convert an array of floats to such numbers."""
    return np.frompyfunc(Rounded, 1, 1)(np.asarray(values, object))
