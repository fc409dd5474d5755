"""The enclosures of prepared expressions: component by component, in intervals.

Imports python-flint, which is an optional extra: import this module inside functions only.
"""

from __future__ import annotations

import heapq
import itertools
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from flint import arb, arb_mat, ctx
from mpmath import libmp, mp

from numeric.check.ball_functions import TRUTHS
from numeric.check.ball_special import FUNCTIONS
from numeric.check.balls import Enclosure, fraction
from numeric.check.intervals import (
    Interval,
    Undefined,
    add,
    constant,
    hull,
    multiply,
    of_balls,
    of_number,
    raised,
)
from symdiff.errors import Unsupported
from symdiff.exact.components import Arithmetic, evaluated, filled
from symdiff.graph.axis_lengths import bound

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from symdiff.graph import ops
    from symdiff.graph.expr import Expr
    from symdiff.graph.number import Number

_BITS = 3.3219280948873626  # of a decimal digit
# Digits beyond those asked for, until they are enclosed; then the narrowest enclosure stands.
_GUARDS = (10, 40, 160, 640, 2560)


class Undecided(Exception):
    """The order of two elements, or an index, is not the same in all of a box."""


class Intervals(Arithmetic):
    """Intervals, or what says why there is none, at the precision in force."""

    def __init__(self) -> None:
        self.numbers: dict[Any, Any] = {}

    def number(self, value: Any) -> Any:
        known = self.numbers.get(value)
        if known is None:
            known = self.numbers[value] = of_number(value)
        return known

    def exact(self, op: ops.Exact) -> Any:
        return constant({"pi": arb.pi, "e": arb.const_e}[op.name]())

    def total(self, const: Number, coefs: Sequence[Number], args: Sequence[Any]) -> Any:
        terms = [
            a if c == 1 else self.product([self.number(c), a])
            for c, a in zip(coefs, args, strict=True)
        ]
        if const or not terms:
            terms.append(self.number(const))
        return self.combined(add, terms)

    def product(self, factors: Sequence[Any]) -> Any:
        return self.combined(multiply, factors) if factors else self.number(1)

    def combined(self, function: Callable[..., Any], args: Sequence[Any]) -> Any:
        """``function`` of the first two, of that and the third, and so on."""
        result = args[0]
        for arg in args[1:]:
            for x in (result, arg):
                if isinstance(x, Undefined):
                    return x
            result = function(result, arg)
        return result

    def power(self, a: Any, p: int | Fraction) -> Any:
        if p == 1 or isinstance(a, Undefined):
            return a
        found = raised(a, p)
        return Undefined(f"({a})**({p})") if found is None else found

    def function(self, node: Expr, args: Sequence[Any]) -> Any:
        return self.named(node.op.name, *args)

    def named(self, name: str, *args: Any) -> Any:
        function = FUNCTIONS.get(name)
        if function is None:
            raise Unsupported(f"enclose: {name} has no enclosure")
        for a in args:
            if isinstance(a, Undefined):
                return Interval(arb(0), arb(1)) if name in TRUTHS else a
        try:
            found = function(*args)
        except (ValueError, ZeroDivisionError):  # a power series divided by what may be 0
            found = None
        if isinstance(found, arb):
            found = of_balls(found)
        return Undefined(f"{name} of {', '.join(map(str, args))}") if found is None else found

    def select(self, node: Expr, condition: Any, a: Any, b: Any) -> Any:
        chosen = None if isinstance(condition, Undefined) else condition.truth()
        if chosen is not None:
            return a if chosen else b
        for x in (condition, a, b):
            if isinstance(x, Undefined):
                return x
        return hull(a, b)

    def strong(self, factors: Sequence[Any], kills: Sequence[bool]) -> Any:
        for factor, kill in zip(factors, kills, strict=True):
            if kill and isinstance(factor, Interval) and factor.is_point and factor.has(0):
                return factor
        return self.product(factors)

    def eliminated(self, a: list[list[Any]], b: list[list[Any]]) -> tuple[Any, list[list[Any]]]:
        for row in (*a, *b):
            for x in row:
                if isinstance(x, Undefined):
                    return x, [[x] * len(row) for row in b]
        matrix = arb_mat([[x.ball for x in row] for row in a])
        determinant = of_balls(matrix.det()) or Undefined("the determinant of a matrix")
        if not b[0]:
            return determinant, b
        try:
            solved = matrix.solve(arb_mat([[x.ball for x in row] for row in b])).tolist()
        except ZeroDivisionError:
            bad = Undefined("the solution with a matrix that may be singular")
            return determinant, [[bad] * len(row) for row in b]
        bad = Undefined("the solution with a matrix")
        return determinant, [[of_balls(x) or bad for x in row] for row in solved]

    def less(self, name: str, a: Any, b: Any) -> bool:
        value = self.named("less", a, b)
        decided = value.truth()
        if decided is None:
            raise Undecided(f"{name} of elements whose order is not decided")
        return bool(decided)

    def places(self, name: str, index: Sequence[Any]) -> list[int]:
        found = [i.integer() if isinstance(i, Interval) else None for i in index]
        if None in found:
            raise Undecided(f"{name} with an index that is not decided")
        return [i for i in found if i is not None]


class Problem:
    """Prepared outputs, enclosed at a point or over a box."""

    def __init__(self, outputs: list[Expr], sizes: Mapping[str, Any], digits: int) -> None:
        self.outputs, self.sizes, self.digits = outputs, sizes, digits
        self.shape: tuple[Any, ...] = bound(outputs[0].shape, sizes)

    def at_point(self, env: Mapping[Expr, Any]) -> Any:
        """The enclosure at the numbers of ``env``."""
        best: list[Any] = []
        for guard in _GUARDS:
            ctx.prec = int((self.digits + guard) * _BITS)
            found = self.values(env, env)
            best = list(map(_narrower, best or found, found))
            if all(map(self.is_narrow, best)):
                break
        return self.result(best)

    def is_narrow(self, value: Any) -> bool:
        """Whether the digits wanted are enclosed."""
        if isinstance(value, Undefined) or value.is_point:
            return not isinstance(value, Undefined)
        size = min(map(abs, value.ends))
        return not value.has(0) and bool(value.upper - value.lower < size * arb(10) ** -self.digits)

    def over_box(self, low: Mapping[Expr, Any], high: Mapping[Expr, Any], pieces: int) -> Any:
        """The hull of the enclosures over parts of the box: the widest one is halved next."""
        ctx.prec = int((self.digits + _GUARDS[0]) * _BITS)
        count = itertools.count()

        def part(a: Mapping[Expr, Any], b: Mapping[Expr, Any]) -> Any:
            values = self.values(a, b)
            return -max(map(_width, values), default=0.0), next(count), a, b, values

        low, high = ({x: _fractions(ends[x]) for x in ends} for ends in (low, high))
        parts = [part(low, high)]
        while len(parts) < pieces and parts[0][0] < 0:
            _, _, a, b, _ = parts[0]
            if all(np.all(a[x] == b[x]) for x in a):
                break
            halves = halved(a, b, low, high)
            heapq.heapreplace(parts, part(*halves[0]))
            heapq.heappush(parts, part(*halves[1]))
        columns = zip(*(values for *_, values in parts), strict=True)
        return self.result([self.joined(column) for column in columns])

    def joined(self, values: Sequence[Any]) -> Any:
        """The hull of the enclosures over the parts."""
        for value in values:
            if isinstance(value, Undefined):
                return value
        return Interval(min(v.lower for v in values), max(v.upper for v in values))

    def values(self, low: Mapping[Expr, Any], high: Mapping[Expr, Any]) -> list[Any]:
        """The elements of the result."""
        arithmetic = Intervals()
        env = {x: _range(low[x], high[x], arithmetic) for x in low}
        try:
            (found,) = evaluated(self.outputs, env, arithmetic, self.sizes)
        except Undecided as error:
            return [Undefined(str(error))] * math.prod(self.shape)
        return list(found.ravel()) if isinstance(found, np.ndarray) else [found]

    def result(self, values: list[Any]) -> Any:
        """The Enclosures; ValueError for one that does not exist."""
        enclosures = []
        for k, value in enumerate(values):
            if isinstance(value, Undefined):
                index = list(map(int, np.unravel_index(k, self.shape)))
                place = f", met for element {index}," if index else ""
                raise ValueError(f"enclose: {value.reason}{place} has no bounded real value")
            enclosures.append(Enclosure(_exact(value.lower), _exact(value.upper), self.digits))
        return filled(self.shape, enclosures) if self.shape else enclosures[0]


def _narrower(a: Any, b: Any) -> Any:
    """What is in both of two enclosures of one number."""
    if isinstance(a, Undefined):
        return b
    if isinstance(b, Undefined):
        return a
    return Interval(max(a.lower, b.lower), min(a.upper, b.upper))


def _width(value: Any) -> float:
    return math.inf if isinstance(value, Undefined) else float((value.upper - value.lower).upper())


def _range(low: Any, high: Any, arithmetic: Intervals) -> Any:
    """The interval, or array of intervals, from one number to another."""
    if isinstance(low, np.ndarray):
        pairs = zip(low.ravel(), high.ravel(), strict=True)
        found = filled(low.shape, (_range(a, b, arithmetic) for a, b in pairs))
        return found if low.ndim else found.item()
    first, last = arithmetic.number(low), arithmetic.number(high)
    return first if low == high else hull(first, last)


_Ends: TypeAlias = "Mapping[Expr, Any]"


def halved(low: _Ends, high: _Ends, first: _Ends, last: _Ends) -> list[tuple[_Ends, _Ends]]:
    """Two halves of a box, cut where it is widest relative to the whole; at 0 if that is inside."""
    sides = {
        (x, place): (high[x][place] - low[x][place]) / (last[x][place] - first[x][place])
        for x in low
        for place in np.ndindex(np.shape(low[x]))
        if low[x][place] < high[x][place]
    }
    x, place = max(sides, key=lambda side: sides[side])
    a, b = low[x][place], high[x][place]
    middle = Fraction(0) if a < 0 < b else (a + b) / 2
    return [
        ({**low}, {**high, x: _put(high[x], place, middle)}),
        ({**low, x: _put(low[x], place, middle)}, {**high}),
    ]


def _fractions(value: Any) -> NDArray[Any]:
    array = np.asarray(value, dtype=object)
    return filled(array.shape, map(fraction, array.ravel()))


def _put(values: Any, place: tuple[int, ...], value: Fraction) -> Any:
    found = values.copy()
    found[place] = value
    return found


def _exact(ball: Any) -> Any:
    mantissa, exponent = ball.man_exp()
    return mp.make_mpf(libmp.from_man_exp(int(mantissa), int(exponent)))
