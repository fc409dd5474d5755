"""1/Γ and its derivatives, which are finite everywhere, also at the poles of Γ.

Formulas with ψ are infinite there.  With the numbers of the Digital Library of Mathematical
Functions, the n-th derivative is computed

- for x > 3/2 from a polynomial of ψ(x) and its derivatives over Γ(x), Faà di Bruno's formula;
- between -3/4 and 3/2 from the power series around 0 or 1 (5.7.1);
- left of that by reflection (5.5.3), 1/Γ(x) = Γ(1 - x) sin(πx)/π: Leibniz's rule with the same
  polynomials at 1 - x, none of which is near a pole.

All functions take and return float64 arrays, and need SciPy.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

import mpmath
import numpy as np

from numeric.special import gammas
from symdiff.contexts import contained

if TYPE_CHECKING:
    from numeric.types import Doubles, Reals

_LEFT, _MIDDLE, _RIGHT = -0.75, 0.5, 1.5
_DIGITS = 50
_STEPS = 30  # steps that lower an argument until Γ is far from the largest number
_LARGE = 140.0


@contained
def rgamma_derivative(n: int, x: Doubles) -> Doubles:
    """Return the n-th derivative of 1/Γ(x)."""
    left, right = x < _LEFT, x > _RIGHT
    value = np.full_like(x, np.nan)
    near = (x >= _LEFT) & (x <= _RIGHT)
    if np.any(near):
        value[near] = _by_series(n, x[near])
    with np.errstate(over="ignore", invalid="ignore"):
        if np.any(right):
            at = x[right]
            value[right] = np.where(at == np.inf, 0.0, _over_gamma(_polynomials(n, -1, at)[n], at))
        if np.any(left):
            value[left] = _by_reflection(n, x[left])
    return value


def _by_series(n: int, x: Doubles) -> Doubles:
    upper = x >= _MIDDLE  # 1/Γ(1 + z) is 1/(zΓ(z))
    e, total = np.where(upper, x - 1, x), np.zeros_like(x)
    for c, d in zip(_coefficients(n, 0)[::-1], _coefficients(n, 1)[::-1], strict=True):
        total = total * e + np.where(upper, d, c)
    return total


@cache
def _coefficients(n: int, first: int) -> tuple[float, ...]:
    """Return coefficients of the n-th derivative: k ... (k-n+1) c_(k + first), c_k from (5.7.2)."""
    own = mpmath.MPContext()  # the precision of mpmath's own context is shared by all threads
    own.dps = _DIGITS + 2 * n
    c = [own.zero, own.one, +own.euler]
    for k in range(3, 34 + 4 * n):
        rest = own.fsum((-1) ** j * own.zeta(j) * c[k - j] for j in range(2, k))
        c.append((own.euler * c[k - 1] - rest) / (k - 1))
    return tuple(float(own.ff(k, n) * c[k + first]) for k in range(n, len(c) - 1))


def _polynomials(n: int, sign: int, x: Doubles) -> list[Reals]:
    """Return derivatives of Γ^sign over Γ^sign to order n: f⁽ᵏ⁺¹⁾ = Σ C(k, i) f⁽ᵏ⁻ⁱ⁾ sign ψ⁽ⁱ⁾."""
    ratios: list[Reals] = [np.ones_like(x)]
    slopes = [sign * (gammas.polygamma(i, x) if i else gammas.digamma(x)) for i in range(n)]
    for k in range(n):
        ratios.append(sum(math.comb(k, i) * ratios[k - i] * slopes[i] for i in range(k + 1)))
    return ratios


def _by_reflection(n: int, x: Doubles) -> Doubles:
    nearest = np.rint(x)
    turned = np.pi * (x - nearest)
    parity = 1 - 2 * np.abs(np.remainder(nearest, 2))
    sine, cosine = parity * np.sin(turned), parity * np.cos(turned)
    cycle = (sine, cosine, -sine, -cosine)
    mirrored = _polynomials(n, 1, 1 - x)
    total = sum(
        math.comb(n, k) * (-1) ** (n - k) * mirrored[n - k] * math.pi ** (k - 1) * cycle[k % 4]
        for k in range(n + 1)
    )
    return np.where(np.isfinite(x), _times_gamma(total, 1 - x), np.nan)


def _over_gamma(f: Reals, x: Doubles) -> Doubles:
    """f/Γ(x) for x > 0, where Γ(x) may be infinite although the quotient is not."""
    steps = np.where(x > _LARGE, _STEPS, 0)
    value = f / gammas.gamma(x - steps)
    for k in range(1, _STEPS + 1):
        value = value / np.where(steps > 0, x - k, 1)
    return value


def _times_gamma(f: Reals, x: Doubles) -> Doubles:
    """Return the product f Γ(x) for x > 0; 0 where f is 0."""
    steps = np.where(x > _LARGE, _STEPS, 0)
    value = np.where(f == 0, 0, f * gammas.gamma(np.where(f == 0, 1, x - steps)))
    for k in range(1, _STEPS + 1):
        value = value * np.where(steps > 0, x - k, 1)
    return value
