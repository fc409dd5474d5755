"""Search or prove the worst errors, in ulps, of a lowered Function and its gradient over a box."""

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

DIGITS = 30  # digits of the exact values
_KEPT = 4  # points of each output from which the search continues
_SAMPLED = 0.6  # the part of the budget for random points, before the local search


@dataclass(frozen=True)
class Certificate:
    """The worst errors over a box, by output: ``"value"``, and ``"d/dx"`` for each input x.

    ``ulps`` are in units in the last place of the exact value, rounded to the dtype.  After a
    search they are the largest errors met.  ``point``, ``expected`` and ``got`` hold the place, the
    right value to 30 digits, and the result.  After a proof they are upper bounds for the entire
    box under ``assumptions``, without a point.  ``judged`` counts evaluated points (or parts of the
    box).  ``unjudged`` counts points whose exact value is unknown, such as a difference that is
    exactly 0.
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
        """Draw the worst error of each output in ulps; for one or two inputs also its place.

        Args:
            ax: Matplotlib's axes for the errors; without them a new figure shows errors and places.

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
        cells = [
            [f"{ulps:.4g}", self._at(name), self.expected[name], repr(self.got[name])]
            if name in self.point
            else [f"{ulps:.4g}"]
            for name, ulps in self.ulps.items()
        ]
        rows = [[name, *row] for name, row in zip(self.ulps, cells, strict=True)]
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
    """Return the worst errors in ulps of a lowered Function and its gradient over a box.

    ``method="search"`` looks for the worst point.  It samples magnitudes, the ends of the box, 0,
    1, powers of two, the numbers in the formula, and numbers near all these.  It then continues
    from the worst points by small and large steps.  Every verdict compares with the exact value:
    ``sd.evalf`` to 30 digits of the formula and its derivatives, at the very floats that the
    Function received.  The result is a lower bound, with its point.

    ``method="proven"`` bounds the rounding errors of the program that runs, statement by statement,
    over parts of the box, with balls (the extra ``certify``); see ``numeric.check.proofs``.  The
    result is an upper bound for the entire box.  Programs that cannot be bounded are refused.

    Args:
        F: a lowered Function of real scalars with one scalar output, or a formula, which is
            lowered with its symbols as inputs.
        box: the range of every input, by symbol or name.
        method: "search" or "proven".
        budget: the number of points (or parts of the box) to evaluate.
        seed: the seed of the search; the result depends on nothing else.
        dtype: the dtype of the inputs, "float64" or "float32"; "float64" for "proven".

    Raises ShapeError for a Function of another kind and TypeError for any other object.  Raises
    ValueError for an input without range and for a range that is empty or not finite.  Raises
    Unsupported for a program that "proven" cannot bound, and ImportError where that needs
    python-flint.

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
            f"certify: {shortened(F)} is not a Function; numeric.lower(f, [x, y]) makes one"
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
    by_symbol = named("certify", F.inputs, box, strict=True)
    ranges = {}
    for x in F.inputs:
        if x not in by_symbol:
            raise ValueError(f"certify: no range for {x.name}; give {{{x.name}: (lower, upper)}}")
        low, high = map(float, by_symbol[x])
        if not (math.isfinite(low) and math.isfinite(high) and low <= high):
            raise ValueError(
                f"certify: the range of {x.name}, {low} to {high}, is not a finite one"
            )
        ranges[x] = low, high
    return ranges


class _Search:
    """A search that keeps the worst points so far, by output."""

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
        # For each output, entries (-ulps, point, expected, got), the worst first.
        self.best: list[list[tuple[float, Point, Any, float]]] = [[] for _ in self.names]
        self.seen: set[Point] = set()
        self.unjudged = 0

    def run(self, budget: int) -> Certificate:
        for point in self.ends():
            self.judge(point)
        sampled = int(budget * _SAMPLED)
        for _ in range(sampled):
            self.judge(self.sampled())
        # Take the outputs in turn, so that none is left with the random points alone.
        for step in range(budget - sampled):
            known = self.best[step % len(self.best)]
            self.judge(self.near(self.rng.choice(known)[1]) if known else self.sampled())
        worst = {
            name: entries[0] for name, entries in zip(self.names, self.best, strict=True) if entries
        }
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
        """Yield the lower and the upper corner, and the middle."""
        low, high = zip(*self.ranges.values(), strict=True)
        yield low
        yield high
        yield tuple(a / 2 + b / 2 for a, b in zip(low, high, strict=True))

    def sampled(self) -> Point:
        """Return a random point whose coordinates are drawn one by one, or near earlier ones."""
        point: list[float] = []
        for low, high in self.ranges.values():
            if point and self.rng.random() < 0.2:
                point.append(self.nearby(self.rng.choice(point)))
            else:
                point.append(self.coordinate(low, high))
        return tuple(point)

    def coordinate(self, low: float, high: float) -> float:
        rule = self.rng.randrange(4)
        if rule == 0:
            return self.rng.uniform(low, high)
        if rule == 1:  # a magnitude: sizes are uniform in the exponent, so that tiny ones occur
            ends = sorted((abs(low), abs(high)))
            least = 0.0 if low <= 0 <= high else ends[0]
            bottom = max(math.frexp(least)[1] if least else -1074, -1074)
            size = float(2.0 ** self.rng.uniform(bottom, math.frexp(ends[1])[1]))
            return size if low >= 0 or (high > 0 and self.rng.random() < 0.5) else -size
        special = [low, high, 0.0, 1.0, -1.0, *self.centres]
        power = math.ldexp(1, self.rng.randrange(-60, 61))
        return self.nearby(self.rng.choice([*special, power, -power]))

    def nearby(self, c: float) -> float:
        """Return a number near c: by a few ulps, or by a relative or absolute power of two."""
        rule = self.rng.randrange(4)
        if rule == 0:
            return c
        if rule == 1:
            return c + self.rng.randrange(-4, 5) * math.ulp(c)
        offset = float(2.0 ** -self.rng.uniform(0, 60)) * self.rng.choice((-1, 1))
        return c * (1 + offset) if rule == 2 else c + offset

    def near(self, point: Point) -> Point:
        """Move a point by one step, in one coordinate or in all."""
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
        if rule == 2 and self.centres:  # towards, or away from, a number of the formula
            c = self.rng.choice(self.centres)
            return c + (value - c) * float(2.0 ** self.rng.uniform(-3, 2))
        offset = float(2.0 ** -self.rng.uniform(0, 52)) * self.rng.choice((-1, 1))
        return value * (1 + offset)

    # Verdicts -------------------------------------------------------------------------------------

    def judge(self, point: Point) -> None:
        """Compare at the nearest point of the box and of the dtype, unless it was judged before."""
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
            entries = self.best[k]
            entries.append(entry)
            entries.sort(key=lambda e: e[0])
            del entries[_KEPT:]

    def fitted(self, value: float, ends: tuple[float, float]) -> float:
        low, high = ends
        nearest = float(self.type(min(max(value, low), high)))
        # Rounding to the dtype left the box: step back to the nearest number inside.
        if low <= nearest <= high:
            return nearest
        return float(np.nextafter(self.type(nearest), self.type(low if nearest > high else high)))

    def truth(self, point: Point) -> Sequence[object]:
        """Return the exact values; None where the digits of a value are unknown."""
        env = dict(zip(self.symbols, point, strict=True))
        try:
            return list(evalf(self.exact, DIGITS, env))
        except ArithmeticError:
            # One unknown value makes evalf refuse all, so evaluate them one by one.
            values = []
            for k in range(len(self.names)):
                try:
                    values.append(evalf(self.exact[k], DIGITS, env))
                except ArithmeticError:
                    values.append(None)
            return values


def distance(got: float, expected: Any, dtype: str = "float64") -> float:
    """Return the error of a float in units in the last place of the exact value.

    The error is infinite for nan.  It is infinite for an infinity where the exact value is in the
    range of the dtype or has the other sign.  It is 0 for nan where there is no value.

    >>> distance(1 + 2**-52, mp.mpf(1)), distance(math.inf, mp.mpf(10) ** 400)
    (1.0, 0.0)
    """
    info = np.finfo(dtype)
    if mp.isnan(expected) or math.isnan(got):
        return 0.0 if mp.isnan(expected) and math.isnan(got) else math.inf
    with mp.workprec(200):
        # Numbers round to infinity from half an ulp beyond the largest float on.
        beyond = mp.fabs(expected) >= mp.mpf(float(info.max)) * (1 + mp.mpf(float(info.eps)) / 4)
        if math.isinf(got) or mp.isinf(expected):
            same = beyond and math.isinf(got) and (got > 0) == (expected > 0)
            return 0.0 if same else math.inf
        # Below the smallest normal number, all numbers have the same unit in the last place.
        exponent = mp.mag(expected) - 1 if expected else int(info.minexp)
        unit = mp.ldexp(1, max(int(exponent), int(info.minexp)) - int(info.nmant))
        return float(mp.fabs(mp.mpf(got) - expected) / unit)


def _numbers(expression: Expr) -> Iterator[float]:
    """Yield the numbers in a formula and the zeros of its linear terms."""
    for node in topological([expression]):
        if isinstance(node.op, ops.Sum):
            const = Fraction(node.op.const)
            exact = [const, *(-const / Fraction(c) for c in node.op.coefs)]
            yield from (float(c) for c in exact if abs(c) < 1e300)
        elif isinstance(node.op, ops.Exact):
            yield {"pi": math.pi, "e": math.e}[node.op.name]
