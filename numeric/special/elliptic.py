"""The complete elliptic integrals K and E, and their derivatives, without differences that cancel.

With Δ = √(1 - m sin²θ), all follow from two positive integrals over 0 <= θ <= π/2: B of cos²θ/Δ and
D of sin²θ/Δ.  K = B + D, E = B + (1 - m) D, K' = B/(2 (1 - m)) and E' = -D/2 (Bulirsch 1965).  The
arithmetic-geometric mean gives K and D/K as sums of positive terms.  Numbers in brackets are those
of the Digital Library of Mathematical Functions.

All functions take and return float64 arrays.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from symdiff.contexts import contained

if TYPE_CHECKING:
    from numeric.types import Doubles


def ellipk(n: int, m: Doubles) -> Doubles:
    """Return the n-th derivative of K(m)."""
    return _derivative(Fraction(1, 2), n, m, 1 - m)


def ellipkm1(n: int, p: Doubles) -> Doubles:
    """Return the n-th derivative of K(1 - p)."""
    value = _derivative(Fraction(1, 2), n, 1 - p, p)
    return -value if n % 2 else value


def ellipe(n: int, m: Doubles) -> Doubles:
    """Return the n-th derivative of E(m)."""
    return _derivative(Fraction(-1, 2), n, m, 1 - m)


def _derivative(a: Fraction, n: int, m: Doubles, rest: Doubles) -> Doubles:
    """Return the n-th derivative of π/2 F(a, 1/2; 1; m); ``rest`` is 1 - m, not rounded again."""
    of_k = a > 0
    value = np.full(m.shape, np.nan)
    value[rest == 0] = np.inf if of_k else 1.0 if n == 0 else -np.inf
    value[rest == np.inf] = 0.0 if of_k or n else np.inf
    inside = (rest > 0) & (rest < np.inf)
    # Where the recurrence adds positive terms, or loses little because all solutions are alike.
    forward = inside & ((m >= (0.5 if of_k else 0.7)) | (m <= -4 * n) | (n < 2))
    value[forward] = _by_recurrence(a, n, m[forward], rest[forward])
    inner = inside & ~forward
    if not np.any(inner):
        return value
    scale = math.pi / 2 * float(_rising(a, n) * _rising(Fraction(1, 2), n) / math.factorial(n))
    right, left = inner & (m >= 0), inner & (m < 0)
    # Euler's and Pfaff's transformations [15.8.1] make all terms positive.
    total = _series(float(1 - a), n + 1, m[right])
    value[right] = scale * _power(m[right], rest[right], Fraction(1, 2) - a - n) * total
    total = _series(float(a + n), n + 1, -m[left] / rest[left])
    value[left] = scale * _power(m[left], rest[left], -a - n) * total
    return value


def _power(m: Doubles, rest: Doubles, p: Fraction) -> Doubles:
    """(1 - m)^p; near 0 not from 1 - m, which is rounded there."""
    small = np.abs(m) < 0.5
    power: Doubles = np.exp(float(p) * np.log1p(np.where(small, -m, 0)))
    power = np.where(small, power, rest ** float(p))
    return power


def _rising(x: Fraction, n: int) -> Fraction:
    return math.prod((x + k for k in range(n)), start=Fraction(1))


def _series(a: float, c: int, z: Doubles) -> Doubles:
    """F(a, 1/2; c; z) for 0 <= z < 1: positive terms, added with the rounding error of each sum."""
    total, left_out = np.ones_like(z), np.zeros_like(z)
    term, k = np.ones_like(z), 0
    while np.any(term > 2.0**-55 * total):
        term = term * ((a + k) * (k + 0.5) / ((c + k) * (k + 1.0))) * z
        more = total + term
        left_out += term - (more - total)
        total = more
        k += 1
    value: Doubles = total + left_out
    return value


@contained
def _by_recurrence(a: Fraction, n: int, m: Doubles, rest: Doubles) -> Doubles:
    """Start from two orders; use the hypergeometric equation, differentiated k times [15.10.1]."""
    b, d = _integrals(m, rest)
    below: Doubles
    last: Doubles
    with np.errstate(over="ignore", under="ignore"):
        below, last = (b + d, b / rest / 2) if a > 0 else (b + rest * d, -d / 2)
        if n == 0:
            return below
        for k in range(n - 1):
            slope = (k + 1) / m - float(2 * k + a + Fraction(3, 2))
            above = (float((k + a) * (k + Fraction(1, 2))) * below / m - slope * last) / rest
            below, last = last, above
    return last


@contained
def _integrals(m: Doubles, rest: Doubles) -> tuple[Doubles, Doubles]:
    """B and D for 1 - m = rest > 0; m < 0 uses -m/(1 - m), with θ replaced by π/2 - θ [19.7.2].

    Near m = 1, B is a small difference in the mean.  There it follows from Legendre's relation
    [19.7.1], K(m) rest B(rest) + m B(m) K(rest) = π/2.
    """
    negative = m < 0
    with np.errstate(over="ignore"):  # in elements that are not selected
        z, q = np.where(negative, -m / rest, m), np.where(negative, 1 / rest, rest)
    k, share = _means(z, q)
    d = k * (0.5 + share)
    b = k * (0.5 - share)
    near = z > _NEAR
    if np.any(near):
        other, part = _means(q[near], z[near])
        b[near] = (math.pi / 2 - q[near] * k[near] * other * (0.5 - part)) / (other * z[near])
    root = np.where(negative, np.sqrt(rest), 1.0)
    return np.where(negative, d, b) / root, np.where(negative, b, d) / root


_NEAR = 0.99


def _means(m: Doubles, rest: Doubles) -> tuple[Doubles, Doubles]:
    """K and D/K - 1/2 for 0 <= m < 1, by the arithmetic-geometric mean [19.8.5, 19.8.6].

    With c_j² = m r_j the sum of 2^(j-1) c_j² is m times the sum of 2^(j-1) r_j.
    """
    x, y = np.ones_like(m), np.sqrt(rest)
    r = m / (4 * (1 + y) ** 2)
    total, weight = r, 1.0
    x, y = (x + y) / 2, np.sqrt(y)
    while np.any(weight * r > 2.0**-60):  # at most twelve times, even for the smallest number
        x, y = (x + y) / 2, np.sqrt(x * y)
        r = m * r * r / (16 * x * x)
        weight *= 2
        total = total + weight * r
    return math.pi / 2 / x, total
