"""Plain scalars and arrays of them: the operands of a program that is run without expressions.

A ``Field`` defines the scalars: floats, fractions, mpmath numbers or jets.
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from typing import TYPE_CHECKING, Any

import mpmath as mp
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

Shape = tuple[int, ...]
Array = np.ndarray[Any, Any]

# Digits that a computation may lose to cancellation and to the scale of intermediate values.
LOST_DIGITS = 15


@dataclass(frozen=True)
class Field:
    """The scalars of a plain run: the conversion of rationals, their functions and choices."""

    name: str
    dtype: Any
    number: Callable[[Fraction], Any]
    functions: dict[str, Callable[[Any], Any]]
    less: Callable[[Any, Any], Any]
    choose: Callable[[Any, Any, Any], Any]

    def array(self, values: Any) -> Array:
        """Return ``values`` (scalars of the field, or integers) as an array of the field's scalars.

        NumPy's units and its sums and products of no elements are integers of Python, whose
        quotients are floats.
        """
        out = np.empty(np.shape(values), self.dtype)
        out[...] = values
        for place, value in np.ndenumerate(out):
            if isinstance(value, int):
                out[place] = self.number(Fraction(value))
        return out

    def numbers(self, values: Any) -> Array:
        """Convert an array of rationals to the field."""
        values = np.asarray(values, dtype=object)
        out = np.empty(values.shape, self.dtype)
        for place in np.ndindex(values.shape):
            out[place] = self.number(values[place])
        return out

    def each(self, function: Callable[..., Any], *operands: Any) -> Array:
        """Apply ``function`` to each element of operands that broadcast."""
        whole = np.broadcast_arrays(*operands)
        out = np.empty(whole[0].shape, self.dtype)
        for place in np.ndindex(out.shape):
            out[place] = function(*(x[place] for x in whole))
        return out

    def call(self, name: str, x: Array) -> Array:
        return self.each(self.functions[name], x)

    def where_less(self, p: Array, q: Array, a: Array, b: Array) -> Array:
        """Return ``a`` where p < q, else ``b``."""
        return self.each(lambda p, q, a, b: self.choose(self.less(p, q), a, b), p, q, a, b)

    def absolute(self, x: Array) -> Array:
        zero = self.number(Fraction(0))
        return self.each(lambda x: self.choose(self.less(x, zero), -x, x), x)


def choose(condition: Any, a: Any, b: Any) -> Any:
    return a if condition else b


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + mp.exp(-x))


def _nth_root(x: Any, n: int) -> Any:
    return mp.exp(mp.log(x) / n)


# Analytic functions, so that the complex step uses the same definitions.
MPMATH_FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "exp": mp.exp,
    "expm1": mp.expm1,
    "log": mp.log,
    "log1p": lambda x: mp.log(1 + x),
    "log2": lambda x: mp.log(x) / mp.log(2),
    "sin": mp.sin,
    "cos": mp.cos,
    "tan": mp.tan,
    "asin": mp.asin,
    "acos": mp.acos,
    "atan": mp.atan,
    "sinh": mp.sinh,
    "cosh": mp.cosh,
    "tanh": mp.tanh,
    "asinh": mp.asinh,
    "acosh": mp.acosh,
    "atanh": mp.atanh,
    "sqrt": mp.sqrt,
    "cbrt": lambda x: _nth_root(x, 3),
    "sigmoid": _sigmoid,
    "softplus": lambda x: mp.log(1 + mp.exp(x)),
    "erf": mp.erf,
    "gammaln": mp.loggamma,
    "sinc": lambda x: mp.sin(mp.pi * x) / (mp.pi * x),
}
_MATH: dict[str, Callable[[float], float]] = {
    name: getattr(math, name) for name in MPMATH_FUNCTIONS if hasattr(math, name)
} | {
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "softplus": lambda x: math.log1p(math.exp(x)),
    "gammaln": math.lgamma,
    "sinc": lambda x: math.sin(math.pi * x) / (math.pi * x),
}


def _mpf(value: Fraction) -> Any:
    return mp.mpf(value.numerator) / value.denominator


FLOAT = Field("float", float, float, _MATH, operator.lt, choose)
EXACT = Field("exact", object, Fraction, {}, operator.lt, choose)
HIGH = Field("high precision", object, _mpf, MPMATH_FUNCTIONS, operator.lt, choose)
COMPLEX = Field(
    "complex",
    object,
    lambda v: mp.mpc(_mpf(v)),
    MPMATH_FUNCTIONS,
    lambda a, b: mp.re(a) < mp.re(b),
    choose,
)


# Linear algebra ----------------------------------------------------------------------------------


def determinant(f: Field, a: Array) -> Array:
    """Return the determinant over the last two axes, by Leibniz' sum over permutations."""
    n = a.shape[-1]
    result: Any = f.number(Fraction(0))
    for order in permutations(range(n)):
        inversions = sum(order[i] > order[j] for i in range(n) for j in range(i + 1, n))
        term = f.number(Fraction((-1) ** inversions))
        for i in range(n):
            term = term * a[..., i, order[i]]
        result = result + term
    return np.broadcast_to(f.array(result), a.shape[:-2])


def minors(f: Field, a: Array) -> Array:
    """Return the matrix of cofactors over the last two axes."""
    n = a.shape[-1]
    out = np.empty(a.shape, f.dtype)
    for i in range(n):
        for j in range(n):
            minor = np.delete(np.delete(a, i, axis=-2), j, axis=-1)
            out[..., i, j] = (-1) ** (i + j) * determinant(f, minor)
    return out


def is_singular(a: Array, det: Any) -> bool:
    """Whether a matrix is singular: its determinant is 0, or of the size of rounding."""
    if not isinstance(det, mp.mpf):
        return bool(det == 0)
    largest = max(map(abs, a.ravel()), default=mp.mpf(1))
    return bool(abs(det) <= largest ** len(a) * mp.mpf(10) ** -LOST_DIGITS)


def regular_determinant(f: Field, a: Array) -> Array:
    """Return the determinant; at ``HIGH`` precision, reject a singular matrix."""
    det = determinant(f, a)
    if f.name == HIGH.name and any(is_singular(a[i], det[i]) for i in np.ndindex(det.shape)):
        raise ZeroDivisionError("the matrix is singular")
    return det


def inverse(f: Field, a: Array) -> Array:
    """Return the adjugate over the determinant; at ``HIGH`` precision, reject a singular matrix."""
    det = regular_determinant(f, a)
    return np.swapaxes(minors(f, a), -1, -2) / det[..., None, None]
