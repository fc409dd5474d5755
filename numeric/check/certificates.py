"""How many units in the last place a lowered Function and its gradient lose at worst over a box."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from mpmath import mp

import symdiff as sd
from numeric.check import plots
from numeric.check.balls import imported
from numeric.html_tables import headline, page, paragraph, table
from numeric.lowering.function import Function, lower
from symdiff.errors import ShapeError, Unsupported
from symdiff.exact.evaluation import evalf
from symdiff.graph import ops
from symdiff.graph.arguments import door, whole
from symdiff.graph.expr import Expr, in_order
from symdiff.graph.node import topological
from symdiff.graph.number import shortened
from symdiff.transforms.substitution import named

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from matplotlib.axes import Axes

    from numeric.show.pictures import Picture

    Point = tuple[float, ...]

DIGITS = 30  # of the exact values
_KEPT = 4  # points of each output from which the search goes on
_SAMPLED = 0.6  # the part of the budget that is sampled before


@dataclass(frozen=True)
class Certificate:
    """The worst errors over a box, by output: ``"value"``, and ``"d/dx"`` for each input x.

    ``ulps`` are in units in the last place of the exact value, rounded to the dtype.  Of a search
    they are the largest ones met: ``point``, ``expected`` and ``got`` say where, which value is
    right to 30 digits, and what came instead.  Of a proof they are upper bounds for the whole box,
    under ``assumptions``, and there is no such point.  ``judged`` counts evaluated points (or parts
    of the box), ``unjudged`` those at which the exact value is not known, such as a 0 that is a
    difference.
    """

    method: str
    box: Mapping[str, tuple[Any, Any]]
    dtype: str
    ulps: Mapping[str, float]
    point: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    expected: Mapping[str, Any] = field(default_factory=dict)
    got: Mapping[str, float] = field(default_factory=dict)
    judged: int = 0
    unjudged: int = 0
    assumptions: tuple[str, ...] = ()

    @property
    def worst(self) -> float:
        """The largest error of all outputs, in ulps."""
        return max(self.ulps.values())

    def plot(self, ax: Axes | None = None) -> Picture:
        """The worst error of each output in ulps; of one or two inputs also where it is.

        Args:
            ax: Matplotlib's axes to draw the errors into; without, a new figure has both.

        The result is the picture, which Jupyter shows.  Raises ImportError without Matplotlib, the
        extra ``viz``.
        """
        return plots.certificate(self, ax)

    def __str__(self) -> str:
        lines = [self._headline()]
        for name, ulps in self.ulps.items():
            line = f"  {name}: {ulps:.4g} ulp"
            if name in self.point:
                line += f" at {self._at(name)}: expected {self.expected[name]}, "
                line += f"got {self.got[name]!r}"
            lines.append(line)
        return "\n".join([*lines, *(f"  assumed: {text}" for text in self.assumptions)])

    def _repr_html_(self) -> str:
        found = [
            [f"{ulps:.4g}", self._at(name), self.expected[name], repr(self.got[name])]
            if name in self.point
            else [f"{ulps:.4g}"]
            for name, ulps in self.ulps.items()
        ]
        rows = [[name, *row] for name, row in zip(self.ulps, found, strict=True)]
        head = ("", "ulps", "at", "expected", "got") if self.point else ("", "ulps")
        assumed = [paragraph(*(f"assumed: {text}" for text in self.assumptions))]
        parts = assumed if self.assumptions else []
        return page(headline(self._headline()), table(rows, head, named=True), *parts)

    def _headline(self) -> str:
        over = ", ".join(f"{a} <= {name} <= {b}" for name, (a, b) in self.box.items())
        kind = "at most, proven" if self.method == "proven" else "at worst, as far as was found"
        return f"{self.dtype}, {over}: {kind}"

    def _at(self, name: str) -> str:
        return ", ".join(f"{x}={value!r}" for x, value in self.point[name].items())


@door
def certify(
    F: Function | Expr,
    box: Mapping[Any, tuple[object, object]],
    *,
    method: Literal["search", "proven"] = "search",
    budget: int = 1000,
    seed: int = 0,
    dtype: str = "float64",
) -> Certificate:
    """How many ulps a lowered Function, and its gradient, lose at worst over a box.

    ``method="search"`` looks for the worst point: it samples magnitudes, the ends of the box, 0, 1,
    powers of two, the numbers in the formula and what is near all these, then goes on from the
    worst points by small and large steps.  Every verdict is by the exact value, ``sd.evalf`` to 30
    digits of the formula and of its derivatives, at the very floats that the Function was given.
    The result is a lower bound, with its point.

    ``method="proven"`` bounds the rounding errors of the program that runs, statement by statement,
    over parts of the box, with balls (the extra ``certify``); see ``numeric.check.proofs``.  The
    result is an upper bound for the whole box, or what cannot be bounded is refused.

    Args:
        F: a lowered Function of real scalars with one scalar output, or a formula, which is
            lowered with its symbols as inputs.
        box: the range of every input, by symbol or name.
        method: "search" or "proven".
        budget: the number of points (or parts of the box) that are looked at.
        seed: of the search; the result depends on nothing else.
        dtype: of the inputs, "float64" or "float32"; "float64" for "proven".

    Raises ShapeError for another kind of Function, TypeError for anything else, ValueError for an
    input without range or a range that is empty or not finite, Unsupported for what "proven" cannot
    bound, ImportError where that needs python-flint.

    >>> import symdiff as sd, numeric as nm
    >>> x = sd.symbol("x")
    >>> versine = certify(nm.lower(1 - sd.cos(x), x), {x: (-1, 1)}, budget=200)
    >>> versine.ulps["value"] > 1e6, versine.ulps["d/dx"] <= 1
    (True, True)
    """
    if isinstance(F, Expr):
        F = lower(F, in_order(F.free_symbols))
    if not isinstance(F, Function):
        raise TypeError(
            f"certify: {shortened(F)} is no Function; numeric.lower(f, [x, y]) makes one"
        )
    expression = _scalar(F)
    if method not in ("search", "proven"):
        raise ValueError(f"certify: method {shortened(method)}; it is 'search' or 'proven'")
    if dtype not in ("float64", "float32"):
        raise ValueError(f"certify: dtype {shortened(dtype)}; it is 'float64' or 'float32'")
    ranges = _ranges(F, box)
    if method == "proven":
        imported("certify(method='proven')")
        from numeric.check.proofs import proven

        if dtype != "float64":
            raise Unsupported("certify: proofs are of float64 programs")
        return proven(F, ranges, budget)
    return _Search(F, expression, ranges, dtype, random.Random(whole("certify", "seed", seed))).run(
        budget
    )


def _scalar(F: Function) -> Expr:
    outputs = F.outputs
    if len(outputs) != 1 or outputs[0].shape:
        raise ShapeError("certify: a Function with one scalar output is wanted")
    for x in F.inputs:
        if x.shape or x.dtype is not float:
            raise ShapeError(f"certify: input {x.name} is not a real scalar")
    return outputs[0]


def _ranges(F: Function, box: Mapping[Any, object]) -> dict[Expr, tuple[float, float]]:
    given = named("certify", F.inputs, box, strict=True)
    found = {}
    for x in F.inputs:
        if x not in given:
            raise ValueError(f"certify: no range for {x.name}; give {{{x.name}: (lower, upper)}}")
        low, high = map(float, given[x])
        if not (math.isfinite(low) and math.isfinite(high) and low <= high):
            raise ValueError(f"certify: the range of {x.name}, {low} to {high}, is no finite one")
        found[x] = low, high
    return found


class _Search:
    """The worst points found so far, by output."""

    def __init__(
        self,
        F: Function,
        expression: Expr,
        ranges: Mapping[Expr, tuple[float, float]],
        dtype: str,
        rng: random.Random,
    ) -> None:
        self.F, self.ranges, self.rng, self.dtype = F, ranges, rng, dtype
        self.type = np.dtype(dtype).type
        self.symbols = list(F.inputs)
        self.names = ["value", *(f"d/d{x.name}" for x in self.symbols)]
        self.exact = sd.stack([expression, *sd.grad(expression, self.symbols)])
        self.centres = [c for c in dict.fromkeys(_numbers(expression)) if math.isfinite(c)]
        # By output, the worst first: (-ulps, point, expected, got).
        self.best: list[list[tuple[float, Point, Any, float]]] = [[] for _ in self.names]
        self.seen: set[Point] = set()
        self.unjudged = 0

    def run(self, budget: int) -> Certificate:
        for point in self.ends():
            self.judge(point)
        sampled = int(budget * _SAMPLED)
        for _ in range(sampled):
            self.judge(self.sampled())
        for step in range(budget - sampled):
            known = self.best[step % len(self.best)]
            self.judge(self.near(self.rng.choice(known)[1]) if known else self.sampled())
        worst = {name: kept[0] for name, kept in zip(self.names, self.best, strict=True) if kept}
        if not worst:
            raise ValueError("certify: no exact value is known at any point of the box")
        by_name = [x.name for x in self.symbols]
        return Certificate(
            "search",
            {x.name: ends for x, ends in self.ranges.items()},
            self.dtype,
            {name: -w[0] for name, w in worst.items()},
            {name: dict(zip(by_name, w[1], strict=True)) for name, w in worst.items()},
            {name: w[2] for name, w in worst.items()},
            {name: w[3] for name, w in worst.items()},
            len(self.seen),
            self.unjudged,
        )

    # Points ---------------------------------------------------------------------------------------

    def ends(self) -> Iterator[Point]:
        """The corners along the diagonals, and the middle."""
        low, high = zip(*self.ranges.values(), strict=True)
        yield low
        yield high
        yield tuple(a / 2 + b / 2 for a, b in zip(low, high, strict=True))

    def sampled(self) -> Point:
        """A random point: its coordinates by rules of their own, or near to one another."""
        point: list[float] = []
        for low, high in self.ranges.values():
            if point and self.rng.random() < 0.2:
                point.append(self.beside(self.rng.choice(point)))
            else:
                point.append(self.coordinate(low, high))
        return tuple(point)

    def coordinate(self, low: float, high: float) -> float:
        rule = self.rng.randrange(4)
        if rule == 0:
            return self.rng.uniform(low, high)
        if rule == 1:  # a magnitude
            ends = sorted((abs(low), abs(high)))
            least = 0.0 if low <= 0 <= high else ends[0]
            bottom = max(math.frexp(least)[1] if least else -1074, -1074)
            size = float(2.0 ** self.rng.uniform(bottom, math.frexp(ends[1])[1]))
            return size if low >= 0 or (high > 0 and self.rng.random() < 0.5) else -size
        special = [low, high, 0.0, 1.0, -1.0, *self.centres]
        power = math.ldexp(1, self.rng.randrange(-60, 61))
        return self.beside(self.rng.choice([*special, power, -power]))

    def beside(self, c: float) -> float:
        """A number near c: by a few ulps, or by a relative or absolute power of two."""
        rule = self.rng.randrange(4)
        if rule == 0:
            return c
        if rule == 1:
            return c + self.rng.randrange(-4, 5) * math.ulp(c)
        apart = float(2.0 ** -self.rng.uniform(0, 60)) * self.rng.choice((-1, 1))
        return c * (1 + apart) if rule == 2 else c + apart

    def near(self, point: Point) -> Point:
        """One step from a point, in one coordinate or in all."""
        k = self.rng.randrange(len(point) + 1)
        return tuple(
            self.stepped(value) if k in (i, len(point)) else value for i, value in enumerate(point)
        )

    def stepped(self, value: float) -> float:
        rule = self.rng.randrange(4)
        if rule == 0:
            return value * float(2.0 ** self.rng.uniform(-2, 2))
        if rule == 1:
            return value + self.rng.randrange(-64, 65) * math.ulp(value)
        if rule == 2 and self.centres:  # nearer to, or further from, a number of the formula
            c = self.rng.choice(self.centres)
            return c + (value - c) * float(2.0 ** self.rng.uniform(-3, 2))
        apart = float(2.0 ** -self.rng.uniform(0, 52)) * self.rng.choice((-1, 1))
        return value * (1 + apart)

    # Verdicts -------------------------------------------------------------------------------------

    def judge(self, point: Point) -> None:
        """Compare at the point of the box and of the dtype that is nearest, if it is new."""
        inside = tuple(map(self.fitted, point, self.ranges.values()))
        if inside in self.seen:
            return
        self.seen.add(inside)
        with np.errstate(all="ignore"):
            value, gradient = self.F.value_and_grad(*map(self.type, inside))
        results = [value[0] if isinstance(value, tuple) else value, *gradient]
        for k, (got, expected) in enumerate(zip(results, self.truth(inside), strict=True)):
            if expected is None:
                self.unjudged += 1
                continue
            entry = (-distance(float(got), expected, self.dtype), inside, expected, float(got))
            kept = self.best[k]
            kept.append(entry)
            kept.sort(key=lambda e: e[0])
            del kept[_KEPT:]

    def fitted(self, value: float, ends: tuple[float, float]) -> float:
        low, high = ends
        found = float(self.type(min(max(value, low), high)))
        if low <= found <= high:
            return found
        return float(np.nextafter(self.type(found), self.type(low if found > high else high)))

    def truth(self, point: Point) -> Sequence[object]:
        """The exact values; None for one of which the digits are not known."""
        env = dict(zip(self.symbols, point, strict=True))
        try:
            return list(evalf(self.exact, DIGITS, env))
        except ArithmeticError:
            found = []
            for k in range(len(self.names)):
                try:
                    found.append(evalf(self.exact[k], DIGITS, env))
                except ArithmeticError:
                    found.append(None)
            return found


def distance(got: float, expected: Any, dtype: str = "float64") -> float:
    """The error of a float in units in the last place of the exact value.

    Infinite for nan, and for an infinity where the exact value is in the range of the dtype or
    has the other sign; 0 for nan where there is no value.

    >>> distance(1 + 2**-52, mp.mpf(1)), distance(math.inf, mp.mpf(10) ** 400)
    (1.0, 0.0)
    """
    info = np.finfo(dtype)
    if mp.isnan(expected) or math.isnan(got):
        return 0.0 if mp.isnan(expected) and math.isnan(got) else math.inf
    with mp.workprec(200):
        # From half an ulp beyond the largest float on, numbers round to infinity.
        beyond = mp.fabs(expected) >= mp.mpf(float(info.max)) * (1 + mp.mpf(float(info.eps)) / 4)
        if math.isinf(got) or mp.isinf(expected):
            same = beyond and math.isinf(got) and (got > 0) == (expected > 0)
            return 0.0 if same else math.inf
        exponent = mp.mag(expected) - 1 if expected else int(info.minexp)
        unit = mp.ldexp(1, max(int(exponent), int(info.minexp)) - int(info.nmant))
        return float(mp.fabs(mp.mpf(got) - expected) / unit)


def _numbers(expression: Expr) -> Iterator[float]:
    """The numbers in a formula, and where its linear terms vanish."""
    for node in topological([expression]):
        if isinstance(node.op, ops.Sum):
            const = Fraction(node.op.const)
            exact = [const, *(-const / Fraction(c) for c in node.op.coefs)]
            yield from (float(c) for c in exact if abs(c) < 1e300)
        elif isinstance(node.op, ops.Exact):
            yield {"pi": math.pi, "e": math.e}[node.op.name]
