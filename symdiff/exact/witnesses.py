"""Points for comparing two expressions, and witnesses of their differences.

A result from another system is a claim, which is checked against the original at points: random
ones, corners such as 0 and 1 and equal coordinates, and the borders of conditions and kinks.
Values are many digits of mpmath over the reals.  An expression with an infinite or undefined
intermediate result has no value at a point, and the point is inconclusive.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, islice
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from mpmath import mp

from symdiff.exact.components import evaluated, filled, primitives
from symdiff.exact.evaluation import (
    Mp,
    NoisyMp,
    evaluate_exact,
    one_mpmath,
    plain_number,
)
from symdiff.graph import ops
from symdiff.graph.algebra import sub
from symdiff.graph.expr import free_symbols
from symdiff.graph.leaves import number_of
from symdiff.graph.node import topological
from symdiff.scalars.formula import VOCABULARY
from symdiff.scalars.vocabulary import FACTS, Relation
from symdiff.scalars.vocabulary.facts import Stepwise

if TYPE_CHECKING:
    from symdiff.graph.expr import Expr
    from symdiff.graph.node import Node

__all__ = [
    "Point",
    "Witness",
    "disagreement",
    "moved",
    "noisy_values",
    "points",
    "quadrature",
    "values",
]

Point: TypeAlias = "Mapping[Expr, Any]"
# An element of a symbol: the symbol, and the element's number in C order.
Place: TypeAlias = "tuple[Expr, int]"

DIGITS = 60  # the precision of values
SPARE = 15  # the digits by which equal values may differ: of 60, rounding takes fewer
_DOUBT = 1000  # factor of random rounding errors beyond which a difference is real
FEWEST = 3  # the fewest conclusive points
_RANDOM = 16  # the wanted number of conclusive random points
_TRIES = 200  # the most random points
_CORNERS = (0, 1, -1, 2, Fraction(1, 2))
_MOST_CORNERS = 60
_MOST_BORDERS = 40
# The ranges of random points: everything, and the domains of logarithms, roots and arc functions.
_RANGES = ((-8, 8), (0, 1), (-1, 1), (0, 8), (1, 4), (-64, 64), (-8, 0))
_STEPS = 64  # per unit: coordinates are short binary fractions


@dataclass(frozen=True)
class Witness:
    """A point, and the values of both expressions there."""

    point: Point
    values: tuple[Any, Any]

    def __str__(self) -> str:
        place = ", ".join(f"{x.name} = {_shown(value)}" for x, value in self.point.items())
        a, b = (mp.nstr(value, 8) for value in self.values)
        return f"{b} instead of {a}" + (f" at {place}" if place else "")


def _shown(value: object) -> str:
    return str(np.vectorize(str)(value).tolist()) if isinstance(value, np.ndarray) else str(value)


def disagreement(f: Expr, g: Expr) -> Witness | int | None:
    """Find a point where ``g`` differs from ``f``: None, or the number of points if too few.

    Both have one shape.  Elements where ``f`` is undefined are ignored.  Elsewhere ``g`` must be
    defined, and agree in as many digits as rounding leaves.
    """
    decided = [0] * _count(f)
    symbols = free_symbols([f, g])
    outputs = primitives([f, g])
    chance = 0
    for point, is_random in _all_points(symbols, outputs):
        if is_random:
            chance += 1
            if chance > _TRIES or (chance > _RANDOM and min(decided, default=_RANDOM) >= _RANDOM):
                break
        ours, theirs = values(outputs, point)
        for k, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            if mp.isnan(a):
                continue
            decided[k] += 1
            if not _are_close(a, b) and _differ(outputs, point, k):
                return Witness(point, (a, b))
    enough = FEWEST if symbols else 1
    least = min(decided, default=enough)
    return None if least >= enough else least


def _are_close(a: Any, b: Any) -> bool:
    with one_mpmath(), mp.workdps(DIGITS):
        return bool(abs(a - b) <= max(abs(a), abs(b)) * mp.mpf(10) ** (SPARE - DIGITS))


def _differ(outputs: Sequence[Expr], point: Point, k: int) -> bool:
    """Whether element k differs by more than rounding; computed twice."""
    for digits in (DIGITS, 2 * DIGITS):
        (a, b), (c, d) = (
            [part[k] for part in values(outputs, point, digits, of)] for of in (_Reals, _NoisyReals)
        )
        with one_mpmath(), mp.workdps(digits):
            if mp.isnan(b):
                continue  # and a is nan, too
            doubt = _DOUBT * (abs(a - c) + abs(b - d))
            if mp.isnan(doubt) or abs(a - b) <= doubt:
                return False
    return True


# Values -------------------------------------------------------------------------------------------


class _Reals(Mp):
    """mpmath numbers; infinite and undefined values become nan, also in conditions."""

    def kept(self, node: Node, value: object, uses: int) -> Any:
        if isinstance(value, np.ndarray):
            return filled(value.shape, map(_finite, value.ravel().tolist()))
        return _finite(value)

    def function(self, node: Node, args: Sequence[object]) -> Any:
        return mp.nan if any(a != a for a in args) else super().function(node, args)

    def select(self, node: Node, condition: object, a: object, b: object) -> Any:
        return mp.nan if condition != condition else super().select(node, condition, a, b)


class _NoisyReals(_Reals, NoisyMp):
    """``_Reals`` with random errors."""


def _finite(value: object) -> Any:
    return value if isinstance(value, bool) or mp.isfinite(value) else mp.nan


def values(
    outputs: Sequence[Expr], point: Point, digits: int = DIGITS, of: type[Mp] = _Reals
) -> list[list[Any]]:
    """The elements of every output at a point, in C order; nan where they are undefined."""
    with one_mpmath(), mp.workdps(digits):
        arithmetic = of()
        env = {
            x: filled(value.shape, map(plain_number, value.ravel().tolist()))
            if isinstance(value, np.ndarray)
            else plain_number(value)
            for x, value in point.items()
        }
        results = evaluated(outputs, env, arithmetic)
        return [
            [
                mp.mpf(int(v) if isinstance(v, bool) else v)
                for v in np.ravel(_as_array(value)).tolist()
            ]
            for value in results
        ]


def quadrature(f: Expr, x: Expr, limits: Sequence[Expr], point: Point) -> tuple[Any, Any]:
    """The integral of a scalar f by x at a point, and its estimated error; nan where undefined.

    It is mpmath's tanh-sinh quadrature at 60 digits.  Numbers may be infinite limits.
    """
    ends = [
        mp.mpf(number)
        if isinstance(number := number_of(end), float)
        else values([end], point)[0][0]
        for end in limits
    ]
    outputs = primitives([f])
    with one_mpmath(), mp.workdps(DIGITS):
        arithmetic = _Reals()
        env = {y: plain_number(value) for y, value in point.items()}

        def integrand(t: Any) -> Any:
            return mp.mpf(evaluated(outputs, {**env, x: t}, arithmetic)[0])

        if any(map(mp.isnan, ends)):
            return mp.nan, mp.nan
        return mp.quad(integrand, ends, error=True)  # type: ignore[no-any-return]


def fixed(x: Expr) -> tuple[int, ...]:
    """The shape of an expression without named lengths."""
    return x.shape  # type: ignore[return-value]


def _count(x: Expr) -> int:
    return math.prod(fixed(x))


def noisy_values(outputs: Sequence[Expr], point: Point, digits: int) -> list[list[Any]]:
    """``values``, computed with a random error in each operation that rounds."""
    return values(outputs, point, digits, _NoisyReals)


def _as_array(value: object) -> Any:
    return value if isinstance(value, np.ndarray) else filled((1,), [value])


# Points -------------------------------------------------------------------------------------------


def points(symbols: Sequence[Expr], seed: int = 0) -> Iterator[Point]:
    """Generate endless random points of short binary fractions, the same ones every time."""
    chance = random.Random(seed)
    while True:
        mixed = chance.random() < 0.5
        low, high = chance.choice(_RANGES)
        point: dict[Expr, Any] = {}
        for x in symbols:
            elements = []
            for _ in range(_count(x)):
                a, b = chance.choice(_RANGES) if mixed else (low, high)
                elements.append(_coordinate(chance, x, a, b))
            point[x] = filled(fixed(x), elements) if x.shape else elements[0]
        yield point


def _coordinate(chance: random.Random, x: Expr, low: int, high: int) -> Any:
    if x.dtype is bool:
        return chance.randrange(2)
    if x.dtype is int:
        return chance.randint(low, high)
    return Fraction(chance.randint(low * _STEPS, high * _STEPS), _STEPS)


def _all_points(symbols: Sequence[Expr], outputs: Sequence[Expr]) -> Iterator[tuple[Point, bool]]:
    """Corners, borders and random points; the endless random ones are marked."""
    if not symbols:
        yield {}, False
        return
    yield from ((point, False) for point in islice(_corners(symbols), _MOST_CORNERS))
    yield from ((point, False) for point in islice(_borders(symbols, outputs), _MOST_BORDERS))
    yield from ((point, True) for point in points(symbols))


def _places(symbols: Sequence[Expr]) -> list[Place]:
    return [(x, k) for x in symbols for k in range(_count(x))]


def moved(point: Point, changes: Sequence[tuple[Place, Any]]) -> Point:
    """The point with other values at some places; numbers of the wrong kind are skipped."""
    new = dict(point)
    for (x, k), value in changes:
        if x.dtype is bool and value not in (0, 1):
            continue
        if x.dtype is int and Fraction(value).denominator != 1:
            continue
        if x.shape:
            array = new[x].copy()
            array.flat[k] = value
            new[x] = array
        else:
            new[x] = value
    return new


def _corners(symbols: Sequence[Expr]) -> Iterator[Point]:
    """Points with one value in all coordinates, in one, or with two equal or opposite ones."""
    places, random_points = _places(symbols), points(symbols, seed=1)
    for value in _CORNERS:
        yield moved(next(random_points), [(place, value) for place in places])
    for place in places[:8]:
        for value in _CORNERS:
            yield moved(next(random_points), [(place, value)])
    for a, b in combinations(places[:4], 2):
        point = next(random_points)
        value = _coordinate_at(point, a)
        yield moved(point, [(b, value)])
        yield moved(point, [(b, -value)])


def _coordinate_at(point: Point, place: Place) -> Any:
    x, k = place
    return point[x].flat[k] if x.shape else point[x]


def _borders(symbols: Sequence[Expr], outputs: Sequence[Expr]) -> Iterator[Point]:
    """Points where operands of a comparison or another choice are equal, and to both sides of it.

    Only borders that are linear in a coordinate are solved exactly; others are skipped.
    """
    differences = [
        difference
        for node in topological(outputs)
        if isinstance(node.op, ops.Pointwise) and node.op.name in _CHOOSING
        for difference in [sub(node.args[0], x) for x in node.args[1:]] or node.args
    ]
    random_points = points(symbols, seed=2)
    for difference in dict.fromkeys(differences):
        for place in _places(free_symbols([difference]))[:8]:
            point = next(random_points)
            for root in _roots(difference, point, place):
                for shift in (0, Fraction(1, _STEPS), Fraction(-1, _STEPS)):
                    yield moved(point, [(place, root + shift)])


# Functions with different formulas in different regions: comparisons, kinks and steps.
_CHOOSING = frozenset(
    name
    for name, facts in FACTS.items()
    if facts.kinks is not None or issubclass(VOCABULARY[name], Relation | Stepwise)
)


def _roots(difference: Expr, point: Point, place: Place) -> list[Fraction]:
    try:
        lines = [
            np.ravel(evaluate_exact(difference, moved(point, [(place, t)]))).tolist()
            for t in (0, 1, 2)
        ]
    except ArithmeticError:
        return []
    candidates = [
        Fraction(a) / (Fraction(a) - b)
        for a, b, c in zip(*lines, strict=True)
        if a != b and a - 2 * b + c == 0
    ]
    return list(dict.fromkeys(candidates))
