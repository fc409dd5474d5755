"""Taylor polynomials of second order in fractions: an oracle for the derivatives of programs.

A program that runs on them gives its value, gradient and Hessian at a point exactly.  It takes a
few times as many operations as the program itself, where the formulas of nested inverses have
millions.  Choices are those at the point.  Every coefficient has a bound: the sum of its terms'
absolute values.  Floating point errs by roundings of that bound.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.support.fields import Field, choose

if TYPE_CHECKING:
    from tests.support.fields import Array

# The coefficient of each product of variables: of (), (i,) or (i, j) with i <= j.
Terms = dict[tuple[int, ...], Fraction]


@dataclass(frozen=True)
class Jet:
    """A polynomial, and bounds of the sums that form its coefficients."""

    terms: Terms
    bound: Terms

    def __add__(self, other: Any) -> Jet:
        if isinstance(other, np.ndarray):
            return NotImplemented
        other = jet(other)
        return Jet(_plus(self.terms, other.terms), _plus(self.bound, other.bound))

    def __mul__(self, other: Any) -> Jet:
        if isinstance(other, np.ndarray):
            return NotImplemented
        other = jet(other)
        return Jet(_times(self.terms, other.terms), _times(self.bound, other.bound))

    def __truediv__(self, other: Any) -> Jet:
        if isinstance(other, np.ndarray):
            return NotImplemented
        return self * jet(other).inverse()

    def __sub__(self, other: Any) -> Jet:
        return self + -other

    def __neg__(self) -> Jet:
        return Jet({at: -c for at, c in self.terms.items()}, self.bound)

    def __rsub__(self, other: Any) -> Jet:
        return jet(other) + -self

    def __rtruediv__(self, other: Any) -> Jet:
        return jet(other) * self.inverse()

    __radd__, __rmul__ = __add__, __mul__

    def __pow__(self, p: int) -> Jet:
        result = jet(1)
        for _ in range(abs(p)):
            result = result * self
        return result if p > 0 else result.inverse()

    def inverse(self) -> Jet:
        """Return 1/c by its series; a bound b of c gives the bound b/c² of 1/c."""
        r = 1 / self.terms[()]
        return Jet(_series(r, self.terms, -1), _series(self.bound[()] * r * r, self.bound, 1))


def _plus(a: Terms, b: Terms) -> Terms:
    return a | {at: a.get(at, 0) + c for at, c in b.items()}


def _times(a: Terms, b: Terms) -> Terms:
    out: Terms = defaultdict(Fraction)
    for p, v in a.items():
        for q, w in b.items():
            if len(p) + len(q) <= 2:
                out[tuple(sorted(p + q))] += v * w
    return dict(out)


def _series(r: Fraction, c: Terms, sign: int) -> Terms:
    """Return r + sign·r²·d + r³·d², where d is c without its value."""
    d = {at: v for at, v in c.items() if at}
    first = {at: sign * r * r * v for at, v in d.items()}
    return _plus(_plus({(): r}, first), _times({(): r * r * r}, _times(d, d)))


def jet(value: Any) -> Jet:
    """Return a constant."""
    if isinstance(value, Jet):
        return value
    c = Fraction(value.item() if isinstance(value, np.generic) else value)
    return Jet({(): c}, {(): abs(c)})


JETS = Field("jets", object, jet, {}, lambda a, b: jet(a).terms[()] < jet(b).terms[()], choose)


def variables(values: Array, first: int) -> Array:
    """Return each element of ``values`` as a variable, numbered from ``first``."""
    out = JETS.numbers(values)
    for k, place in enumerate(np.ndindex(out.shape), first):
        slope = {(k,): Fraction(1)}
        out[place] = out[place] + Jet(slope, slope)
    return out


def partials(jets: Array, *by: Array, bounds: bool = False) -> Array:
    """Return the partial derivatives of each jet by the variables numbered in ``by``, or bounds.

    Without ``by`` these are the values, by one array Jacobians, by two Hessians.
    """
    out = np.empty((*jets.shape, *(n for numbers in by for n in numbers.shape)), object)
    for at, value in np.ndenumerate(jets):
        terms = value.bound if bounds else value.terms
        for entries in itertools.product(*(np.ndenumerate(numbers) for numbers in by)):
            where = tuple(i for place, _ in entries for i in place)
            numbers = tuple(sorted(int(number) for _, number in entries))
            twice = len(numbers) == 2 and numbers[0] == numbers[1]
            out[at + where] = terms.get(numbers, Fraction(0)) * (2 if twice else 1)
    return out


def weighted_sum(jets: Array, weights: Array) -> Array:
    """Return the sum of jets times whole numbers, as an array of rank 0."""
    pairs = zip(weights.flat, jets.flat, strict=True)
    return JETS.array(sum((int(w) * value for w, value in pairs), jet(0)))
