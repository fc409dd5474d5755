"""Truncated power series of mpmath numbers, and functions over numbers and series.

A function is known by its value and its first derivative; a series of it multiplies series for
the rest.  So derivatives of any order are neither differences nor formulas of this library.
"""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING, Any

import mpmath as mp

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Series:
    """A truncated power series; its coefficients are mpmath numbers or, for two variables, series.

    >>> (Series([2, 1, 0]) * Series([2, 1, 0])).c
    [4, 4, 1]
    """

    __slots__ = ("c",)

    def __init__(self, c: list[Any]) -> None:
        self.c = c

    def __add__(self, other: Any) -> Series:
        if not isinstance(other, Series):
            return Series([self.c[0] + other, *self.c[1:]])
        return Series([a + b for a, b in zip(self.c, other.c, strict=False)])

    def __mul__(self, other: Any) -> Series:
        if not isinstance(other, Series):
            return Series([a * other for a in self.c])
        n = min(len(self.c), len(other.c))
        return Series([sum(self.c[j] * other.c[k - j] for j in range(k + 1)) for k in range(n)])

    def __truediv__(self, other: Any) -> Series:
        if not isinstance(other, Series):
            return Series([a / other for a in self.c])
        result: list[Any] = []
        for k in range(min(len(self.c), len(other.c))):
            rest = sum(result[j] * other.c[k - j] for j in range(k))
            result.append((self.c[k] - rest) / other.c[0])
        return Series(result)

    def __neg__(self) -> Series:
        return Series([-a for a in self.c])

    def __sub__(self, other: Any) -> Series:
        return self + -other

    def __rsub__(self, other: Any) -> Series:
        return -self + other

    def __rtruediv__(self, other: Any) -> Series:
        return Series([self.c[0] * 0 + other, *(a * 0 for a in self.c[1:])]) / self

    __radd__, __rmul__ = __add__, __mul__


def number(x: Any) -> Any:
    """Return the number that a series starts with."""
    while isinstance(x, Series):
        x = x.c[0]
    return x


def known(value: Any, slope: Any) -> Any:
    """Return the function with ``value`` at numbers and the first derivative ``slope``.

    From f' = slope(z) z': the k-th coefficient is the sum of j z_j slope_(k-j), over k.
    """

    def function(z: Any) -> Any:
        if not isinstance(z, Series):
            return value(z)
        c = [function(z.c[0])]
        if len(z.c) > 1:
            g = slope(Series(z.c[:-1]))
            g = g.c if isinstance(g, Series) else [g] + [z.c[0] * 0] * (len(z.c) - 2)
            c += [
                sum(z.c[j] * g[k - j] * j for j in range(1, k + 1)) / k for k in range(1, len(z.c))
            ]
        return Series(c)

    return function


def exp(z: Any) -> Any:
    """Return the exponential, by f' = f z'."""
    if not isinstance(z, Series):
        return mp.exp(z)
    c = [exp(z.c[0])]
    for k in range(1, len(z.c)):
        c.append(sum(z.c[j] * c[k - j] * j for j in range(1, k + 1)) / k)
    return Series(c)


def sqrt(z: Any) -> Any:
    """Return the root: each coefficient is what the square of the others leaves."""
    if not isinstance(z, Series):
        return mp.sqrt(z)
    c = [sqrt(z.c[0])]
    for k in range(1, len(z.c)):
        c.append((z.c[k] - sum(c[j] * c[k - j] for j in range(1, k))) / (c[0] * 2))
    return Series(c)


log = known(mp.log, lambda z: 1 / z)
log1p = known(mp.log1p, lambda z: 1 / (1 + z))
sin = known(lambda x: mp.expj(x).imag, lambda z: cos(z))
cos = known(lambda x: mp.expj(x).real, lambda z: -sin(z))
sinpi = known(mp.sinpi, lambda z: cospi(z) * mp.pi)
cospi = known(mp.cospi, lambda z: -sinpi(z) * mp.pi)
atan = known(mp.atan, lambda z: 1 / (1 + z * z))


def power(z: Any, p: Any) -> Any:
    """Return a constant power: a product for an integer, of negative numbers too."""
    if p != int(p):
        return exp(log(z) * p)
    result = 1
    for _ in range(abs(int(p))):
        result = result * z
    return 1 / result if p < 0 else result


def _negligible(term: Any, total: Any) -> bool:
    if isinstance(term, Series):
        return all(map(_negligible, term.c, total.c))
    return bool(abs(term) <= mp.eps**2 * abs(total))


def summed(first: Any, following: Callable[[Any, int], Any]) -> Any:
    """Return ``first`` and more terms, ``following(term, k)`` the k-th, until they do not count."""
    term = total = first
    k = 0
    while not (k and _negligible(term, total)):
        k += 1
        term = following(term, k)
        total = total + term
    return total


def newton(start: Any, step: Callable[[Any, Any], Any]) -> Any:
    """Return the inverse function w(z) from a nearby number and the steps to subtract from w."""

    def function(z: Any) -> Any:
        with mp.workprec(120):
            w = start(number(z))
        for _ in range(mp.mp.prec.bit_length() - 5 + _length(z).bit_length()):
            w = w - step(w, z)
        return w

    return function


def _length(z: Any) -> int:
    return len(z.c) + _length(z.c[0]) if isinstance(z, Series) else 0


def variables(point: Sequence[Any], order: int) -> list[Any]:
    """Return the operands as variables of series, up to a total ``order``: the first outside."""
    count = len(point)

    def constant(x: Any, levels: int, order: int) -> Any:
        if not levels:
            return mp.mpf(x)
        inner = [constant(x if k == 0 else 0, levels - 1, order - k) for k in range(order + 1)]
        return Series(inner)

    def variable(x: Any, outside: int, levels: int, order: int) -> Any:
        if outside:
            parts = [variable(x, outside - 1, levels - 1, order)]
            parts += [constant(0, levels - 1, order - k) for k in range(1, order + 1)]
        else:
            starts = (x, 1)
            parts = [
                constant(starts[k] if k < 2 else 0, levels - 1, order - k) for k in range(order + 1)
            ]
        return Series(parts)

    return [variable(x, k, count, order) for k, x in enumerate(point)]


def orders(count: int, highest: int) -> list[tuple[int, ...]]:
    """Return all mixed orders of ``count`` operands up to a sum of ``highest``."""
    every = product(range(highest + 1), repeat=count)
    return sorted((n for n in every if sum(n) <= highest), key=lambda n: (sum(n), n))


def derivatives(
    function: Any, point: Sequence[Any], wanted: Sequence[tuple[int, ...]]
) -> dict[tuple[int, ...], Any]:
    """Return the derivatives of the mixed orders that are ``wanted``."""
    series = function(*variables(point, max(map(sum, wanted))))
    result = {}
    for order in wanted:
        c = series
        for n in order:
            c = c.c[n] if isinstance(c, Series) else c if n == 0 else mp.mpf(0)
        result[order] = c * math.prod(map(math.factorial, order))
    return result


def settled(
    function: Any,
    point: Sequence[Any],
    wanted: Sequence[tuple[int, ...]],
    digits: int,
    agreement: int = 20,
) -> dict[tuple[int, ...], Any]:
    """Return the same, by two precisions, which agree in so many digits; raise the precisions."""
    while digits < 12000:
        with mp.workdps(digits):
            rough = derivatives(function, point, wanted)
        with mp.workdps(digits * 3 // 2):
            fine = derivatives(function, point, wanted)
        result = {}
        for order, b in fine.items():
            a = rough[order]
            if abs(b) < abs(a) * mp.mpf(10) ** (-digits // 4):  # all of it is rounding
                b = a = mp.mpf(0)
            if abs(a - b) <= abs(b) * mp.mpf(10) ** -agreement or max(abs(a), abs(b)) < 1e-640:
                result[order] = b
        if len(result) == len(wanted):
            return result
        digits *= 2
    raise ArithmeticError(f"the oracle does not settle at {point}")
