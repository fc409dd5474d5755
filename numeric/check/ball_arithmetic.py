"""Enclose prepared expressions in intervals, component by component.

This module imports python-flint, an optional extra: import it inside functions only.
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

from numeric.check.ball_functions import ANY_TRUTH, TRUTHS
from numeric.check.ball_special import FUNCTIONS
from numeric.check.balls import Enclosure, fraction
from numeric.check.intervals import (
    Interval,
    Undefined,
    add,
    constant,
    finite,
    hull,
    multiply,
    of_balls,
    of_number,
    raised,
)
from symdiff.errors import Unsupported
from symdiff.exact.components import evaluated, filled
from symdiff.graph.arithmetic import Arithmetic
from symdiff.graph.axis_lengths import bound

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mpmath import mpf
    from numpy.typing import NDArray

    from symdiff.graph import ops
    from symdiff.graph.expr import Expr
    from symdiff.graph.node import Node
    from symdiff.graph.number import Number

_BITS = 3.3219280948873626  # bits in a decimal digit
# Additional digits to compute with, tried in turn until the wanted digits are enclosed.  After
# the last one the narrowest enclosure stands.
_GUARDS = (10, 40, 160, 640, 2560)


Element: TypeAlias = "Interval | Undefined"
Ends: TypeAlias = "Mapping[Expr, NDArray[np.object_]]"


class Undecided(Exception):
    """The order of two elements, or an index, varies over a box."""


def combined(
    function: Callable[[Interval, Interval], Interval], args: Sequence[Element]
) -> Element:
    """Fold ``function`` over the arguments from the left; stop at the first Undefined."""
    result = args[0]
    for arg in args[1:]:
        if isinstance(result, Undefined):
            return result
        if isinstance(arg, Undefined):
            return arg
        result = function(result, arg)
    return result


class Intervals(Arithmetic):
    """Arithmetic with Intervals at the current precision; an Undefined gives its reason."""

    def __init__(self) -> None:
        self.numbers: dict[Number | mpf, Element] = {}

    def number(self, value: Number | mpf) -> Element:
        known = self.numbers.get(value)
        if known is None:
            known = self.numbers[value] = of_number(value)
        return known

    def exact(self, op: ops.Exact) -> Interval:
        return constant({"pi": arb.pi, "e": arb.const_e}[op.name]())

    def total(self, const: Number, coefs: Sequence[Number], args: Sequence[Element]) -> Element:
        terms = [
            a if c == 1 else self.product([self.number(c), a])
            for c, a in zip(coefs, args, strict=True)
        ]
        if const or not terms:
            terms.append(self.number(const))
        return combined(add, terms)

    def product(self, factors: Sequence[Element]) -> Element:
        return combined(multiply, factors) if factors else self.number(1)

    def power(self, a: Element, p: int | Fraction) -> Element:
        if p == 1 or isinstance(a, Undefined):
            return a
        value = raised(a, p)
        return Undefined(f"({a})**({p})") if value is None else value

    def function(self, node: Node, args: Sequence[Element]) -> Element:
        return self.named(node.op.name, *args)

    def named(self, name: str, *args: Element) -> Element:
        function = FUNCTIONS.get(name)
        if function is None:
            raise Unsupported(f"enclose: {name} has no enclosure")
        for a in args:
            if isinstance(a, Undefined):
                return ANY_TRUTH if name in TRUTHS else a
        try:
            value = function(*args)
        except (ValueError, ZeroDivisionError):  # a power series divided by a ball that contains 0
            value = None
        if isinstance(value, arb):
            value = of_balls(value)
        return Undefined(f"{name} of {', '.join(map(str, args))}") if value is None else value

    def select(self, node: Node, condition: Element, a: Element, b: Element) -> Element:
        if isinstance(condition, Undefined):
            return condition
        chosen = condition.truth()
        # An undecided condition may take either branch, so the hull of both contains the value.
        return combined(hull, (a, b)) if chosen is None else a if chosen else b

    def strong(self, factors: Sequence[Element], kills: Sequence[bool]) -> Element:
        # A factor that is exactly 0 wins even over an undefined one, as it does in floats.
        for factor, kill in zip(factors, kills, strict=True):
            if kill and isinstance(factor, Interval) and factor.is_point and factor.has(0):
                return factor
        return self.product(factors)

    def eliminated(
        self, a: list[list[Element]], b: list[list[Element]]
    ) -> tuple[Element, list[list[Element]]]:
        for x in itertools.chain(*a, *b):
            if isinstance(x, Undefined):
                return x, [[x] * len(row) for row in b]
        matrix = _matrix(a)
        determinant = of_balls(matrix.det()) or Undefined("the determinant of a matrix")
        if not b[0]:
            return determinant, b
        try:
            solved = matrix.solve(_matrix(b)).tolist()
        except ZeroDivisionError:
            bad = Undefined("the solution with a matrix that may be singular")
            return determinant, [[bad] * len(row) for row in b]
        bad = Undefined("the solution with a matrix")
        return determinant, [[of_balls(x) or bad for x in row] for row in solved]

    def less(self, name: str, a: Element, b: Element) -> bool:
        value = self.named("less", a, b)
        decided = None if isinstance(value, Undefined) else value.truth()
        if decided is None:
            raise Undecided(f"{name} of elements whose order is not decided")
        return decided

    def places(self, name: str, index: Sequence[Element]) -> list[int]:
        numbers = [i.integer() if isinstance(i, Interval) else None for i in index]
        if None in numbers:
            raise Undecided(f"{name} with an index that is not decided")
        return [i for i in numbers if i is not None]


class Problem:
    """Prepared outputs, enclosed at a point or over a box."""

    def __init__(self, outputs: list[Expr], sizes: Mapping[str, int], digits: int) -> None:
        self.outputs, self.sizes, self.digits = outputs, sizes, digits
        self.shape = tuple(map(int, bound(outputs[0].shape, sizes)))

    def at_point(self, env: Mapping[Expr, object]) -> Enclosure | NDArray[np.object_]:
        """Return the enclosure at the numbers of ``env``."""
        best: list[Element] = []
        for guard in _GUARDS:
            ctx.prec = int((self.digits + guard) * _BITS)
            values = self.values(env, env)
            # Every enclosure is valid, so their intersection is too, and it is never wider.
            best = list(map(_narrower, best or values, values))
            if all(map(self.is_narrow, best)):
                break
        return self.result(best)

    def is_narrow(self, value: Element) -> bool:
        """Whether the enclosure fixes the wanted digits."""
        if isinstance(value, Undefined):
            return False
        if value.is_point:
            return True
        size = min(map(abs, value.ends))
        return not value.has(0) and bool(value.upper - value.lower < size * arb(10) ** -self.digits)

    def over_box(
        self, low: Mapping[Expr, object], high: Mapping[Expr, object], pieces: int
    ) -> Enclosure | NDArray[np.object_]:
        """Return the hull of the enclosures over parts of the box; halve the widest part first."""
        ctx.prec = int((self.digits + _GUARDS[0]) * _BITS)
        count = itertools.count()

        def part(a: Ends, b: Ends) -> tuple[float, int, Ends, Ends, list[Element]]:
            values = self.values(a, b)
            # The count breaks ties: the heap must not compare the mappings after it.
            return -max(map(_width, values), default=0.0), next(count), a, b, values

        low, high = ({x: _fractions(ends[x]) for x in ends} for ends in (low, high))
        parts = [part(low, high)]
        while len(parts) < pieces and parts[0][0] < 0:
            _, _, a, b, _ = parts[0]
            if all(np.all(a[x] == b[x]) for x in a):  # a single point cannot be halved
                break
            halves = halved(a, b, low, high)
            heapq.heapreplace(parts, part(*halves[0]))
            heapq.heappush(parts, part(*halves[1]))
        columns = zip(*(values for *_, values in parts), strict=True)
        return self.result([self.joined(column) for column in columns])

    def joined(self, values: Sequence[Element]) -> Element:
        """Return the hull of the enclosures over the parts."""
        return combined(hull, values)

    def values(self, low: Mapping[Expr, object], high: Mapping[Expr, object]) -> list[Element]:
        """Return the elements of the result."""
        env = {x: _range(low[x], high[x]) for x in low}
        try:
            (result,) = evaluated(self.outputs, env, Intervals(), self.sizes)
        except Undecided as error:
            return [Undefined(str(error))] * math.prod(self.shape)
        return list(result.ravel()) if isinstance(result, np.ndarray) else [result]

    def result(self, values: list[Element]) -> Enclosure | NDArray[np.object_]:
        """Return the Enclosures; raise ValueError for one that does not exist."""
        enclosures = []
        for k, value in enumerate(values):
            if isinstance(value, Undefined):
                index = list(map(int, np.unravel_index(k, self.shape)))
                place = f", met for element {index}," if index else ""
                raise ValueError(f"enclose: {value.reason}{place} has no bounded real value")
            enclosures.append(Enclosure(_exact(value.lower), _exact(value.upper), self.digits))
        return filled(self.shape, enclosures) if self.shape else enclosures[0]


def _matrix(rows: list[list[Element]]) -> arb_mat:
    return arb_mat([[x.ball for x in row if isinstance(x, Interval)] for row in rows])


def _narrower(a: Element, b: Element) -> Element:
    """Return the intersection of two enclosures of one number."""
    if isinstance(a, Undefined):
        return b
    if isinstance(b, Undefined):
        return a
    return Interval(max(a.lower, b.lower), min(a.upper, b.upper))


def _width(value: Element) -> float:
    return math.inf if isinstance(value, Undefined) else float((value.upper - value.lower).upper())


def _range(low: Any, high: Any) -> Interval | NDArray[np.object_]:
    """Return the interval, or array of intervals, from one number to another."""
    if isinstance(low, np.ndarray):
        pairs = zip(low.ravel(), high.ravel(), strict=True)
        intervals = filled(low.shape, (_range(a, b) for a, b in pairs))
        return intervals if low.ndim else intervals.item()
    first = finite(low)
    return first if low == high else hull(first, finite(high))


def halved(low: Ends, high: Ends, first: Ends, last: Ends) -> list[tuple[Ends, Ends]]:
    """Halve a box where it is widest relative to the first box; cut at 0 if 0 is inside."""
    sides = {
        (x, place): (high[x][place] - low[x][place]) / (last[x][place] - first[x][place])
        for x in low
        for place in np.ndindex(np.shape(low[x]))
        if low[x][place] < high[x][place]
    }
    x, place = max(sides, key=lambda side: sides[side])
    a, b = low[x][place], high[x][place]
    # Many functions have their kinks and poles at 0: a cut there separates them.
    middle = Fraction(0) if a < 0 < b else (a + b) / 2
    return [
        ({**low}, {**high, x: _put(high[x], place, middle)}),
        ({**low, x: _put(low[x], place, middle)}, {**high}),
    ]


def _fractions(value: object) -> NDArray[np.object_]:
    array = np.asarray(value, dtype=object)
    return filled(array.shape, map(fraction, array.ravel()))


def _put(
    values: NDArray[np.object_], place: tuple[int, ...], value: Fraction
) -> NDArray[np.object_]:
    changed = values.copy()
    changed[place] = value
    return changed


def _exact(ball: arb) -> mpf:
    mantissa, exponent = ball.man_exp()
    return mp.make_mpf(libmp.from_man_exp(int(mantissa), int(exponent)))
