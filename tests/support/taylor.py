"""Taylor polynomials of one variable in mpmath's numbers: derivatives of any order along a line.

A program that runs on arrays of them, with the functions of ``FUNCTIONS``, gives its value and its
derivatives along a direction.  They have mpmath's precision and use no rule of symdiff.  The series
of a function follows from Newton's recurrence for the equation that it solves, such as exp' = exp.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from mpmath import mp

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Series:
    """Coefficients, beginning with the value; choices depend on the values alone."""

    __slots__ = ("terms",)

    def __init__(self, terms: Sequence[Any]) -> None:
        self.terms = list(terms)

    def _as(self, other: Any) -> Series:
        if isinstance(other, Series):
            return other
        return Series([mp.mpf(other), *[mp.mpf(0)] * (len(self.terms) - 1)])

    def __add__(self, other: Any) -> Series:
        if isinstance(other, np.ndarray):
            return NotImplemented
        return Series([a + b for a, b in zip(self.terms, self._as(other).terms, strict=True)])

    def __mul__(self, other: Any) -> Series:
        if isinstance(other, np.ndarray):
            return NotImplemented
        a, b = self.terms, self._as(other).terms
        return Series([sum(a[i] * b[k - i] for i in range(k + 1)) for k in range(len(a))])

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Series:
        return Series([-a for a in self.terms])

    def __sub__(self, other: Any) -> Any:
        return self + -other

    def __rsub__(self, other: Any) -> Series:
        return -self + other

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        return self * self._as(other) ** -1

    def __rtruediv__(self, other: Any) -> Series:
        return self**-1 * other

    def __pow__(self, p: Any) -> Series:
        """Return y = x^p, which solves x y' = p x' y."""
        if isinstance(p, int) and p >= 0:
            return math.prod([self] * p, start=self._as(1))
        x, p = self.terms, mp.mpf(p)
        y = [mp.power(x[0], p)]
        for k in range(1, len(x)):
            y.append(sum((p * i - (k - i)) * x[i] * y[k - i] for i in range(1, k + 1)) / (k * x[0]))
        return Series(y)

    def __lt__(self, other: Any) -> bool:
        return bool(self.terms[0] < self._as(other).terms[0])

    def __gt__(self, other: Any) -> bool:
        return bool(self.terms[0] > self._as(other).terms[0])


def _from_slope(x: Series, start: Any, slope: Callable[[Series], Series]) -> Series:
    """Return y with y' = slope(y) x'; ``slope`` is called with the terms known so far."""
    y = Series([start(x.terms[0]), *[mp.mpf(0)] * (len(x.terms) - 1)])
    for k in range(1, len(x.terms)):
        s = slope(y).terms
        y.terms[k] = sum(i * x.terms[i] * s[k - i] for i in range(1, k + 1)) / k
    return y


def _each(function: Callable[..., Any], arity: int = 1) -> Any:
    return np.frompyfunc(function, arity, 1)


def _wave(start: Any, x: Series) -> Series:
    """Return a sine or a cosine, by its derivatives at the value and powers of the rest of x."""
    d = Series([mp.mpf(0), *x.terms[1:]])
    total, power = x._as(0), x._as(1)
    for k in range(len(x.terms)):
        total = total + power * (start(x.terms[0] + k * mp.pi / 2) / math.factorial(k))
        power = power * d
    return total


_exp = _each(lambda x: _from_slope(x, mp.exp, lambda y: y))
_log = _each(lambda x: _from_slope(x, mp.log, lambda y: _exp(y) ** -1))
_tanh = _each(lambda x: _from_slope(x, mp.tanh, lambda y: 1 - y * y))


def _log_sum_exp(x: Any, axis: Any = None) -> Any:
    return _log(np.sum(_exp(x), axis=axis))


def _log_softmax(x: Any, axis: Any = None) -> Any:
    total = _log_sum_exp(x, axis)
    return x - (total if axis is None else np.expand_dims(total, axis))


def _solve(a: Any, b: Any) -> Any:
    """Solve by elimination without pivots."""
    a, b = a.copy(), b.copy()
    for k in range(len(a)):
        b[k], a[k] = b[k] / a[k, k], a[k] / a[k, k]
        for i in range(len(a)):
            if i != k:
                b[i], a[i] = b[i] - a[i, k] * b[k], a[i] - a[i, k] * a[k]
    return b


FUNCTIONS = SimpleNamespace(
    sin=_each(lambda x: _wave(mp.sin, x)),
    cos=_each(lambda x: _wave(mp.cos, x)),
    exp=_exp,
    log=_log,
    tanh=_tanh,
    sigmoid=_each(lambda x: _from_slope(x, lambda v: 1 / (1 + mp.exp(-v)), lambda y: y - y * y)),
    sqrt=_each(lambda x: x ** mp.mpf("0.5")),
    where=_each(lambda condition, a, b: a if condition else b, 3),
    maximum=_each(max, 2),
    detach=_each(lambda x: x._as(x.terms[0])),
    logsumexp=_log_sum_exp,
    log_softmax=_log_softmax,
    solve=_solve,
    **{name: getattr(np, name) for name in ("sum", "outer", "eye", "zeros", "trace")},
    stack=lambda parts: np.stack([np.asarray(part, object) for part in parts]),
    constant=lambda value: value,
    scan=None,  # the only loop is the unrolled one
)
"""Functions of arrays of series, by their names in expressions."""


def along(values: Any, directions: Any, order: int) -> np.ndarray:
    """Return arrays of numbers as series in t, of ``values + t directions``."""
    series = np.frompyfunc(
        lambda x, d: Series([mp.mpf(float(x)), mp.mpf(float(d)), *[mp.mpf(0)] * (order - 1)]), 2, 1
    )
    return series(np.asarray(values, object), np.asarray(directions, object))
