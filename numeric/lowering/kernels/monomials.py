"""Products with a function that leaves the floats before the product does: y·x^(y-1) at tiny x, y.

The functions of ``GRADED`` have values far beyond the floats, and come with factors that bring them
back.  A product with one of them is computed as it is written where all of its factors are so
moderate that nothing on the way can leave the floats.  Elsewhere each factor is split into a number
near 1 and a power of two, the function's by a formula that never forms its value.  The numbers are
multiplied, the exponents added, and the result is rounded once more, at the end.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from symdiff.contexts import contained

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numeric.lowering.kinds import Monomial
    from numeric.types import Values


def monomial(of: Monomial) -> Callable[..., Values]:
    """The function of arrays and numbers that computes a monomial."""
    count = len(of.exponents)
    over = [k for k, p in enumerate(of.exponents) for _ in range(p)]
    under = [k for k, p in enumerate(of.exponents) for _ in range(-p)]
    signs = (1, *[1] * len(over), *[-1] * len(under))
    coef = float(of.coef)

    def written(values: Sequence[Any], dtype: np.dtype) -> Any:
        factors = [dtype.type(coef), *(values[k] for k in over), *(values[k] for k in under)]
        return in_turn(factors, signs)

    def split(values: Sequence[Any], like: np.dtype) -> tuple[np.ndarray, np.ndarray]:
        number: Any = coef
        exponent: Any = 0
        graded = {g.place: g for g in of.graded}
        for k, p in enumerate(of.exponents):
            if k in graded:
                g = graded[k]
                m, e = GRADED[g.name](values[k], *(values[i] for i in g.operands), g.shift)
            else:
                m, e = np.frexp(values[k])
            for _ in range(abs(p)):
                number, more = np.frexp(number * m if p > 0 else number / m)
                exponent = exponent + more + (e if p > 0 else -e)
        exponent = np.clip(exponent, -_FURTHEST, _FURTHEST)
        return number.astype(like), exponent

    @contained
    def run(*values: Any) -> Any:
        factors = values[:count]
        kinds = [v.dtype for v in factors if isinstance(v, np.ndarray | np.generic)]
        real = [kind for kind in kinds if kind.kind == "f"]
        dtype = np.result_type(*real) if real else np.dtype(np.float64)
        bound = of.bound(np.finfo(dtype).maxexp)
        outside: Any = False
        for v in factors:
            size = np.abs(v)
            outside = outside | (size > bound) | (size < 1 / bound)
        if not np.any(outside):
            return written(values, dtype)
        alone = np.ndim(outside) == 0
        with np.errstate(all="ignore"):
            if not alone:
                outside, *wide = np.broadcast_arrays(outside, *values)
                result = np.broadcast_to(written(values, dtype), outside.shape).copy()
                values = tuple([v[outside] for v in wide])
            number, exponent = split(values, dtype)
        scaled = np.ldexp(number, exponent)
        if alone:
            return scaled
        result[outside] = scaled
        return result

    return run


_FURTHEST = 10_000


def over_sum(signs: tuple[int, ...], places: tuple[int, ...]) -> Callable[..., Values]:
    """The function that divides by a sum, at ``places``; by the last values where it overflows.

    >>> bool(over_sum((1, -1), (1,))(1e200, np.inf, 1e200, 1e200) == 1e-200)
    True
    """
    count = len(signs)

    @contained
    def run(*values: Any) -> Any:
        z, divisors = values[places[0]], values[count:]
        plain = values[:count]
        if np.maximum.reduce(z, axis=None, initial=0) < np.inf:
            return in_turn(plain, signs)
        with np.errstate(all="ignore"):
            beyond = [
                (d, -1) if k in places else (v, sign)
                for k, (v, sign) in enumerate(zip(plain, signs, strict=True))
                for d in (divisors if k in places else (v,))
            ]
            return np.where(
                np.isinf(z), in_turn(*zip(*beyond, strict=True)), in_turn(plain, signs)
            )[()]

    return run


def in_turn(values: Sequence[Any], signs: Sequence[int]) -> Any:
    """The first value times the others, or over those of sign -1, one after the other.

    >>> in_turn((6, 4, 3), (1, -1, 1))
    4.5
    """
    result = values[0]
    for v, sign in zip(values[1:], signs[1:], strict=True):
        result = result * v if sign > 0 else result / v
    return result


# The functions, split -----------------------------------------------------------------------------


def _power(value: Any, x: Any, y: Any, shift: int) -> tuple[Any, Any]:
    """x^(y + shift), from the square of x^(y/2) and the whole power, which rounds no exponent."""
    size = np.abs(x)
    m, e = np.frexp(np.power(size, y * 0.5))
    base, exponent = np.frexp(size)
    m, e = m * m * base ** float(shift), 2 * e + shift * exponent
    own, of_own = np.frexp(value)
    limit = (size == 0) | ~np.isfinite(size) | ~np.isfinite(y) | np.isnan(value)
    return np.where(limit, own, np.copysign(m, value)), np.where(limit, of_own, e)


def _exp2(value: Any, x: Any, _: int) -> tuple[np.ndarray, np.ndarray]:
    whole = np.clip(np.rint(x), -_FURTHEST, _FURTHEST)
    limit = ~np.isfinite(x)
    return np.where(limit, value, np.exp2(x - whole)), np.where(limit, 0, whole).astype(int)


def _bose(value: Any, order: Any, x: Any, _: int) -> tuple[np.ndarray, np.ndarray]:
    """±n!/x^(n+1) near the pole, e^-x in the tail; between them the value is a float."""
    n = int(np.ravel(order)[0])
    size, tail = np.abs(x), np.abs(x) > _TAIL
    m, e = np.frexp(value)
    base, exponent = np.frexp(np.where(size > 0, size, 1))
    pole, of_pole = np.frexp(math.factorial(n) / base ** float(n + 1))
    root, of_root = np.frexp(np.exp(-size / 2))
    near = (size < _POLE) & (size > 0)
    m = np.where(near, np.copysign(pole, value), np.where(tail, np.copysign(root**2, value), m))
    e = np.where(near, of_pole - (n + 1) * exponent, np.where(tail, 2 * of_root, e))
    if n == 0:
        known = (x < 0) & tail  # this is -1
        return np.where(known, -1.0, m), np.where(known, 0, e)
    return m, e


# Beyond these the value is, to the last bit, the leading term.
_POLE, _TAIL = 1e-18, 40.0

GRADED: dict[str, Callable[..., tuple[np.ndarray, np.ndarray]]] = {
    "power": _power,
    "exp2": _exp2,
    "bose": _bose,
}
"""Of a function's value, its operands and a shift: the value as a number and an exponent of two."""


def shifted_power(shift: int) -> Callable[..., Values]:
    """The function of x, y and their x^(y + shift) that makes it exact where y + shift is rounded.

    That rounding counts for y below 1/2, as many times as log(x); elsewhere it is one of y.
    """

    @contained
    def run(x: Any, y: Any, value: Any) -> Any:
        size = np.abs(x)
        rounded = (np.abs(y) < NEAR) & ((size < 1 / FAR) | (size > FAR))
        if not np.any(rounded):
            return value
        with np.errstate(all="ignore"):
            m, e = _power(value, x, y, shift)
        exact = np.ldexp(m, np.clip(e, -_FURTHEST, _FURTHEST))
        return np.where(rounded, exact, value).astype(np.result_type(value))[()]

    return run


NEAR, FAR = 0.5, 1e3
