"""Taylor polynomials and limits from SymPy, checked against the expression.

A polynomial or limit has other values than the expression.  So the check is of convergence: how
fast the remainder falls towards the point, and whether values approach the limit.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

import sympy as sp
from mpmath import mp

from symdiff.errors import ShapeError, Unsupported
from symdiff.exact.components import primitives
from symdiff.exact.evaluation import one_mpmath, plain_number
from symdiff.exact.witnesses import moved, noisy_values, points, values
from symdiff.graph.axes import shape_text
from symdiff.graph.bound_lengths import in_terms_of
from symdiff.graph.expr import free_symbols
from symdiff.graph.leaves import as_expr, number_of
from symdiff.rewriting.through_sympy import Carried

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from symdiff.exact.witnesses import Point
    from symdiff.graph.expr import Expr, Operand

__all__ = ["limit", "series"]

_MOST_TERMS = 30
_PARAMETERS = 40  # the number of random points for the other symbols
_CONCLUSIVE = 3  # the number of conclusive points that end the check
_DOUBT = 1000  # factor of random rounding errors beyond which a difference is real
_NEAR, _NEARER = 40, 80  # bits of the distances at which a remainder is measured
_FRACTION = 0.125  # the tolerance of an exponent: logarithms change a measured one by less
_LADDER = tuple(8 << k for k in range(8))  # bits of the distances at which limits are approached
_FALL = 0.95  # the ratio of errors, and of their changes, per step: reached by 1/log(log(x))
_RISE = 0.6  # the least ratio of growth per step: reached by log(log(x))


def series(f: Operand, x: Expr, x0: Operand = 0, n: int = 6) -> Expr:
    """Return the Taylor polynomial of ``f`` at ``x = x0``, all terms below ``(x - x0)**n``.

    SymPy finds it.  The result has no order term: it is an expression, and differs from ``f`` by
    O((x - x0)**n).  If ``f`` has instead a series with negative or fractional powers, or with
    logarithms, the result has its terms; at infinity they are powers of 1/x.  An array is expanded
    by components.

    The result is checked near ``x0``, on both sides if ``f`` is defined there: the remainder falls
    fast enough, no term is of order n, and the value at ``x0`` agrees if ``f`` has one.  So abs(x)
    has no series at 0, although SymPy returns the series of one side.

    Args:
        f: an expression.
        x: a symbol, or an element ``q[0]`` of one.
        x0: a number, an expression of other symbols, or ``float("inf")``.
        n: the order of the omitted terms, 1 to 30.

    Raises Unsupported as ``simplify`` does, and if SymPy finds no series or a wrong one.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.series(sd.sin(x), x) is x - x**3 / 6 + x**5 / 120
    True
    >>> sd.series(sd.log(x), x, 1, n=3) is (x - 1) - (x - 1) ** 2 / 2
    True
    """
    if isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= _MOST_TERMS:
        raise ValueError(f"series: n = {n!r} is not an order from 1 to {_MOST_TERMS}")
    approach = _Approach("series", as_expr(f), x, x0)
    way, variable, point = approach.way, approach.variable, approach.point

    def of(part: Any) -> Any:
        quotient = part.replace(sp.sinc, lambda t: sp.sin(t) / t)  # SymPy leaves sinc unexpanded
        terms = quotient.series(variable, point, n).removeO()
        if not _has_terms_below(terms, variable, point, n):
            raise Unsupported(
                f"series: SymPy returned {terms}, and not all of its terms are below {n}"
            )
        return terms

    terms = way.each(approach.parts, of)
    result = way.back(terms, approach.f.shape, float)
    approach.check(result, (1, -1), lambda side, k: _remainder_falls(side, k, n))
    return way.rounded(result)


def limit(f: Operand, x: Expr, x0: Operand, dir: Literal["+", "-", "+-"] = "+") -> Expr:
    """Return the limit of ``f`` as ``x`` approaches ``x0``, by SymPy; an array by components.

    An infinite limit is the number ``inf`` or ``-inf``.  The result is checked: as x approaches in
    steps, the difference to the limit falls, or the values grow without bound.

    Args:
        f: an expression.
        x: a symbol, or an element ``q[0]`` of one.
        x0: a number, an expression of other symbols, or ``float("inf")``, ``-float("inf")``.
        dir: the side, ``"+"`` from above as in SymPy, ``"-"`` from below, or ``"+-"`` for both,
            where the limits must be equal.

    Raises Unsupported as ``simplify`` does, if SymPy finds no limit, or if values do not approach
    the limit that it finds.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.limit(sd.sin(x) / x, x, 0), sd.limit((1 + 1 / x) ** x, x, float("inf"))
    (1, e)
    >>> sd.limit(abs(x) / x, x, 0, dir="-"), sd.limit(1 / x, x, 0)
    (-1, inf)
    """
    if dir not in ("+", "-", "+-"):
        raise ValueError(f'limit: dir = {dir!r} is none of "+", "-" and "+-"')
    approach = _Approach("limit", as_expr(f), x, x0)

    def of(part: object) -> Any:
        answer = sp.limit(part, approach.variable, approach.point, dir)
        none = answer in (sp.zoo, sp.nan) or approach.variable in answer.free_symbols
        if none or answer.has(sp.AccumBounds, sp.Limit):
            raise Unsupported(f"limit: SymPy finds no limit; its answer is {answer}")
        return answer

    answer = approach.way.each(approach.parts, of)
    result = approach.way.back(answer, approach.f.shape, float)
    signs = [1 if value == sp.oo else -1 if value == -sp.oo else 0 for value in answer]
    sides = {"+": (1,), "-": (-1,), "+-": (1, -1)}[dir]
    approach.check(result, sides, lambda side, k: _values_approach(side, k, signs[k]))
    return approach.way.rounded(result)


# The approach to a point --------------------------------------------------------------------------


class _Approach:
    """An expression whose variable approaches a point."""

    def __init__(self, name: str, f: Expr, x: Operand, x0: object) -> None:
        if isinstance(x0, sp.Basic) and x0.is_infinite:
            x0 = float(x0)
        self.name, self.f = name, f
        self.x, self.x0 = in_terms_of([f], name, [as_expr(x), as_expr(x0)])
        self.way = Carried(name, [f, self.x, self.x0])
        self.variable = self.way.scalar(self.x)
        if self.variable not in self.way.places:
            raise ValueError(
                f"{name}: {self.x!r} is neither a scalar symbol nor an element of a symbol"
            )
        value = number_of(self.x0) if not self.x0.shape else None
        self.infinite = int(math.copysign(1, value)) if value in (math.inf, -math.inf) else 0
        self.point = self.infinite * sp.oo if self.infinite else self.way.scalar(self.x0)
        if self.variable in self.point.free_symbols:
            raise ValueError(f"{name}: the point {self.x0!r} contains the variable {self.x!r}")
        self.parts = self.way.formulas(f)
        if not self.parts:
            raise ShapeError(
                f"{name}: an expression of shape {shape_text(f.shape)} has no elements"
            )

    def check(self, result: Expr, sides: Sequence[int], holds: Callable[[_Side, int], Any]) -> None:
        """Raise Unsupported unless ``holds`` is true of every element at conclusive points.

        ``holds`` gets a side and the index of an element; None means an inconclusive point.
        """
        settled = [0] * len(self.parts)
        for point in islice(points(list(self.way.env)), _PARAMETERS):
            for side in (self.infinite,) if self.infinite else sides:
                way = _Side(self, primitives([self.f, result]), point, side)
                answers = [holds(way, k) for k in range(len(settled))]
                if False in answers:
                    whence = "" if self.infinite else f" from {'above' if side > 0 else 'below'}"
                    raise Unsupported(
                        f"{self.name}: SymPy returned {result!r}, but {self.f!r} does not approach "
                        f"it as {self.x!r} goes to {self.x0!r}{whence}"
                    )
                settled = [n + bool(answer) for n, answer in zip(settled, answers, strict=True)]
            if min(settled) >= _CONCLUSIVE:
                return
        if not min(settled):
            raise Unsupported(
                f"{self.name}: no conclusive points near {self.x0!r} were found, where the "
                "expression has a value, so that SymPy's result cannot be checked"
            )


class _Side:
    """Values of an expression and of SymPy's result on one side of a point."""

    def __init__(
        self, approach: _Approach, outputs: Sequence[Expr], point: Point, side: int
    ) -> None:
        self.approach, self.outputs, self.point, self.side = approach, outputs, point, side
        self.known: dict[tuple[int | None, int, bool], list[tuple[Any, ...]]] = {}

    def at(self, bits: int | None, digits: int, k: int) -> tuple[Any, Any, Any]:
        """Both values of element k at distance 2**-bits, and a bound for their rounding errors.

        None is the distance 0.
        """
        plain, noisy = (self.values(bits, digits, noise) for noise in (False, True))
        (a, b), (c, d) = plain[k], noisy[k]
        with one_mpmath(), mp.workdps(digits):
            size = mp.mpf(10) ** (10 - digits) * (abs(a) + abs(b))
            return a, b, _DOUBT * (abs(a - c) + abs(b - d)) + size

    def values(self, bits: int | None, digits: int, noise: bool) -> list[tuple[Any, ...]]:
        """Both values of every element."""
        key = bits, digits, noise
        if key not in self.known:
            place = self.approach.way.places[self.approach.variable]
            point = moved(self.point, [(place, self.where(bits, digits))])
            columns = (noisy_values if noise else values)(self.outputs, point, digits)
            self.known[key] = list(zip(*columns, strict=True))
        return self.known[key]

    def where(self, bits: int | None, digits: int) -> Any:
        """The variable's value at a distance from the point."""
        approach = self.approach
        if approach.infinite:
            return approach.infinite * Fraction(2) ** (bits or 0)
        away = 0 if bits is None else self.side * Fraction(1, 2) ** bits
        constant = number_of(approach.x0)
        if constant is not None:
            return Fraction(constant) + away
        symbols = free_symbols([approach.x0])
        value = values(primitives([approach.x0]), {x: self.point[x] for x in symbols}, digits)
        with one_mpmath(), mp.workdps(digits):
            return value[0][0] + plain_number(away)


def _remainder_falls(way: _Side, k: int, n: int) -> bool | None:
    """Whether the difference falls as distance**n, and is 0 at the point itself."""
    digits = math.ceil((n + 6) * _NEARER * math.log10(2)) + 60
    a, b, error = way.at(_NEAR, digits, k)
    c, d, known_nearer = way.at(_NEARER, digits, k)
    if mp.isnan(a) or mp.isnan(c):
        return None
    if mp.isnan(b) or mp.isnan(d):
        return False
    with one_mpmath(), mp.workdps(digits):
        wide, narrow = abs(a - b), abs(c - d)
        # A remainder below its rounding errors is conclusive only if these are small enough.
        if narrow > known_nearer:
            if wide <= error or mp.log(wide / narrow, 2) < (n - _FRACTION) * (_NEARER - _NEAR):
                return False
        elif known_nearer > mp.mpf(2) ** (-_NEARER * n):
            return None
    if not way.approach.infinite:
        a, b, error = way.at(None, digits, k)
        if not mp.isnan(a) and not abs(a - b) <= error:
            return False
    return True


def _has_terms_below(formula: Any, variable: Any, point: object, n: int) -> bool:
    """Whether a formula is a sum of terms in powers below n of the distance and its logarithm."""
    t = sp.Dummy("t", positive=True)
    where = 1 / t if point is sp.oo else -1 / t if point is -sp.oo else point + t
    for term in sp.Add.make_args(sp.expand(formula.xreplace({variable: where}))):
        order = 0
        for factor in sp.Mul.make_args(term.as_independent(t, as_Add=False)[1]):
            base, exponent = factor.as_base_exp()
            if base == t and exponent.is_Rational:
                order += exponent
            elif factor != 1 and base != sp.log(t):
                return False
        if order >= n:
            return False
    return True


def _values_approach(way: _Side, k: int, infinite: int) -> bool | None:
    """Whether values approach the limit, or grow without bound for an ``infinite`` sign."""
    digits = 2 * math.ceil(_LADDER[-1] * math.log10(2))
    errors: list[Any] = []  # for an infinite limit, the values
    for bits in _LADDER:
        if infinite:
            value = way.values(bits, digits, False)[k][0]
            errors += [] if mp.isnan(value) else [infinite * value]
            continue
        a, b, error = way.at(bits, digits, k)
        if mp.isnan(a):
            continue
        if mp.isnan(b):
            return False
        with one_mpmath(), mp.workdps(digits):
            if abs(a - b) > error:
                errors.append(a - b)
            elif error <= mp.mpf(2) ** -_LADDER[3] * abs(b) or not error:
                errors.append(mp.mpf(0))
    if len(errors) < 3:
        return None
    a, b, c = errors[-3:]
    with one_mpmath(), mp.workdps(digits):
        if infinite:
            return bool(0 < a < b < c and c - b >= _RISE * (b - a))
        # Convergence to a number slows down from step to step.
        return bool(abs(c) <= _FALL * abs(b) and abs(c - b) <= _FALL * abs(b - a))
