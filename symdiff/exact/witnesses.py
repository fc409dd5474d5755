"""Points at which two expressions are compared, and at which they differ.

What goes through another system comes back as a claim.  It is held against the original at points:
random ones, corners such as 0 and 1 and equal coordinates, and the borders of conditions and kinks.
Values are many digits of mpmath over the reals: an expression that is infinite or undefined on the
way has no value there, and says nothing.
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
from symdiff.graph.node import topological
from symdiff.scalars.formula import VOCABULARY
from symdiff.scalars.vocabulary import FACTS, Relation
from symdiff.scalars.vocabulary.facts import Stepwise

if TYPE_CHECKING:
    from symdiff.graph.expr import Expr
    from symdiff.graph.node import Node

__all__ = ["Point", "Witness", "disagreement", "moved", "noisy_values", "points", "values"]

Point: TypeAlias = "Mapping[Expr, Any]"
# An element of a symbol, by its number in C order.
Place: TypeAlias = "tuple[Expr, int]"

DIGITS = 60  # to which values are computed
SPARE = 15  # digits by which equal values may differ: of 60, rounding takes fewer
_DOUBT = 1000  # how often larger than random rounding errors a difference is before it is one
FEWEST = 3  # points that have to say something
_RANDOM = 16  # random points that shall say something
_TRIES = 200  # and how many are tried for that
_CORNERS = (0, 1, -1, 2, Fraction(1, 2))
_MOST_CORNERS = 60
_MOST_BORDERS = 40
# Where random points lie: everything, and the domains of logarithms, roots and arcs.
_RANGES = ((-8, 8), (0, 1), (-1, 1), (0, 8), (1, 4), (-64, 64), (-8, 0))
_STEPS = 64  # to the unit, so that coordinates are short binary fractions


@dataclass(frozen=True)
class Witness:
    """A point, and what the two expressions are there."""

    point: Point
    values: tuple[Any, Any]

    def __str__(self) -> str:
        place = ", ".join(f"{x.name} = {_shown(value)}" for x, value in self.point.items())
        a, b = (mp.nstr(value, 8) for value in self.values)
        return f"{b} instead of {a}" + (f" at {place}" if place else "")


def _shown(value: object) -> str:
    return str(np.vectorize(str)(value).tolist()) if isinstance(value, np.ndarray) else str(value)


def disagreement(f: Expr, g: Expr) -> Witness | int | None:
    """Where ``g`` has not the value of ``f``; else None; the number of points if they are too few.

    The two have one shape.  Elements of which ``f`` is undefined at a point are not judged there;
    elsewhere ``g`` has to be defined, too, and as many digits to agree as rounding leaves.
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
            if not _near(a, b) and _differ(outputs, point, k):
                return Witness(point, (a, b))
    enough = FEWEST if symbols else 1
    least = min(decided, default=enough)
    return None if least >= enough else least


def _near(a: Any, b: Any) -> bool:
    with one_mpmath(), mp.workdps(DIGITS):
        return bool(abs(a - b) <= max(abs(a), abs(b)) * mp.mpf(10) ** (SPARE - DIGITS))


def _differ(outputs: Sequence[Expr], point: Point, k: int) -> bool:
    """Whether element k is another value, beyond what rounding does; asked twice."""
    for digits in (DIGITS, 2 * DIGITS):
        (a, b), (c, d) = (
            [part[k] for part in values(outputs, point, digits, of)] for of in (_Reals, _NoisyReals)
        )
        with one_mpmath(), mp.workdps(digits):
            if mp.isnan(b):
                continue  # and a is none
            doubt = _DOUBT * (abs(a - c) + abs(b - d))
            if mp.isnan(doubt) or abs(a - b) <= doubt:
                return False
    return True


# Values -------------------------------------------------------------------------------------------


class _Reals(Mp):
    """mpmath numbers; what is infinite or undefined is nan, and stays so in a condition."""

    def kept(self, node: Node, value: object, uses: int) -> Any:
        if isinstance(value, np.ndarray):
            return filled(value.shape, map(_finite, value.ravel().tolist()))
        return _finite(value)

    def function(self, node: Node, args: Sequence[object]) -> Any:
        return mp.nan if any(a != a for a in args) else super().function(node, args)

    def select(self, node: Node, condition: object, a: object, b: object) -> Any:
        return mp.nan if condition != condition else super().select(node, condition, a, b)


class _NoisyReals(_Reals, NoisyMp):
    """The same, with random errors."""


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
            [mp.mpf(int(v) if isinstance(v, bool) else v) for v in np.ravel(_boxed(value)).tolist()]
            for value in results
        ]


def fixed(x: Expr) -> tuple[int, ...]:
    """The shape of what has no named lengths."""
    return x.shape  # type: ignore[return-value]


def _count(x: Expr) -> int:
    return math.prod(fixed(x))


def noisy_values(outputs: Sequence[Expr], point: Point, digits: int) -> list[list[Any]]:
    """The same, computed with a random error wherever an operation rounds."""
    return values(outputs, point, digits, _NoisyReals)


def _boxed(value: object) -> Any:
    return value if isinstance(value, np.ndarray) else filled((1,), [value])


# Points -------------------------------------------------------------------------------------------


def points(symbols: Sequence[Expr], seed: int = 0) -> Iterator[Point]:
    """Random points without end, of short binary fractions; the same ones every time."""
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
    """Corners, borders and random points; the last ones, which have no end, are marked."""
    if not symbols:
        yield {}, False
        return
    yield from ((point, False) for point in islice(_corners(symbols), _MOST_CORNERS))
    yield from ((point, False) for point in islice(_borders(symbols, outputs), _MOST_BORDERS))
    yield from ((point, True) for point in points(symbols))


def _places(symbols: Sequence[Expr]) -> list[Place]:
    return [(x, k) for x in symbols for k in range(_count(x))]


def moved(point: Point, changes: Sequence[tuple[Place, Any]]) -> Point:
    """The point with other values at some places; kinds of numbers that do not fit are left out."""
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
    """All of one value; one coordinate of a value; two equal or opposite ones."""
    places, random_points = _places(symbols), points(symbols, seed=1)
    for value in _CORNERS:
        yield moved(next(random_points), [(place, value) for place in places])
    for place in places[:8]:
        for value in _CORNERS:
            yield moved(next(random_points), [(place, value)])
    for a, b in combinations(places[:4], 2):
        point = next(random_points)
        value = _at(point, a)
        yield moved(point, [(b, value)])
        yield moved(point, [(b, -value)])


def _at(point: Point, place: Place) -> Any:
    x, k = place
    return point[x].flat[k] if x.shape else point[x]


def _borders(symbols: Sequence[Expr], outputs: Sequence[Expr]) -> Iterator[Point]:
    """Where operands of a comparison, or of what else chooses, are equal; and both sides of it.

    Only borders that are linear in a coordinate are met exactly, and the others not looked for.
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


# Functions that are one thing here and another there: comparisons, what has kinks, and steps.
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
