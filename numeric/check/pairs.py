"""Two formulas at many points: find a difference, its place and its kind."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from numeric.check import points
from numeric.check.counterexamples import simplest
from numeric.check.disagreements import (
    Difference,
    difference_at,
    jumps,
    length,
    poles_and_kinks,
    shortened,
)
from numeric.check.evidence import Evidence, Explanation
from numeric.check.exact import Borders, Forward, Quantity
from numeric.check.judging import ROUNDINGS, Run, typical
from numeric.check.kinds import explain
from numeric.check.mistakes import mistake
from symdiff.locks import cached_property

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numeric.check.sides import Sides
    from symdiff.graph.expr import Expr

    Point = dict[str, np.ndarray]

_MOST_CONFIRMED = 8  # points of one group that seem to differ, to evaluate in digits
_MOST_TRIALS = 120  # trials of simpler points
_KEPT = 0.1  # the part of a relative difference that a simpler point must still show


@dataclass
class Ground:
    """The points and borders at which two sides are compared."""

    sides: Sides
    bounds: Mapping[str, tuple[float, float]]
    budget: int
    rng: np.random.Generator
    looked: int = 0

    @cached_property
    def formulas(self) -> list[Expr]:
        """The formulas of both sides."""
        return [s.formula for s in (self.sides.f, self.sides.g) if s.formula is not None]

    @cached_property
    def borders(self) -> Borders:
        """The borders at which the formulas change."""
        return Borders(self.formulas, [], self.sides.symbols, poles_and_kinks(self.formulas))

    @cached_property
    def places(self) -> Borders:
        """The borders that may explain a difference: also the signs of the inputs."""
        signs = [x < 0 for x in self.sides.symbols if x.dtype is float]
        return Borders(self.formulas, signs, self.sides.symbols, poles_and_kinks(self.formulas))

    def env(self, point: Mapping[str, np.ndarray]) -> dict[Expr, np.ndarray]:
        """Return the values of the symbols at a point."""
        return {x: np.asarray(point[x.name]) for x in self.sides.symbols}

    @cached_property
    def drawn(self) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Points of all kinds, mostly where all formulas have values, and their groups."""
        sides = self.sides
        if not sides.inputs:
            data = {name: np.asarray(x)[None] for name, x in sides.kept.items()}
            return data, np.array(["given"])
        forwards = [Forward(f, sides.symbols) for f in self.formulas]

        def finite(drawn: points.Points) -> np.ndarray:
            data_points = points.rounded(drawn, np.float64, sides.kept)
            count = len(next(iter(data_points.values())))
            values = [
                np.isfinite(v.values(data_points)).reshape(count, -1).all(axis=1) for v in forwards
            ]
            return np.asarray(np.logical_and.reduce(values))

        inside = points.discovered(sides.inputs, finite, self.rng)
        parts, names = [], []
        examples = [x for x in sides.inputs if x.example is not None]
        if examples:
            parts.append({x.name: np.asarray(x.example, float)[None] for x in examples})
            rest = points.ordinary([x for x in sides.inputs if x.example is None], 1, self.rng)
            parts[0] |= rest
            names.append("given")
        drawers = points.groups(self.borders, inside, self.rng, "float64")
        for group, (share, draw) in drawers.items():
            # Draw some of them anywhere: one formula may have values where the other has none.
            for inputs in (
                (inside, list(sides.inputs)) if inside != list(sides.inputs) else (inside,)
            ):
                count = int(share * self.budget) // (1 if inputs is inside else 4)
                if inputs is not inside:
                    draw = points.groups(self.borders, inputs, self.rng, "float64")[group][1]
                if count:
                    parts.append(draw(count))
                    names += [group] * len(next(iter(parts[-1].values())))
        joined = {name: np.concatenate([p[name] for p in parts]) for name in parts[0]}
        joined = points.rounded(joined, np.float64, sides.kept)
        return joined, np.array(names)


class Pair:
    """Two formulas at many points."""

    def __init__(self, ground: Ground, f: Expr, g: Expr) -> None:
        self.ground, self.f, self.g = ground, f, g
        symbols = ground.sides.symbols
        self.drawn, self.groups = ground.drawn
        ground.looked = len(self.groups)
        self.quantity = Quantity("value", (f,), ("the value",), symbols)
        self.other = Quantity("value", (g,), ("the value",), symbols)
        if symbols:
            self.exact, self.got = (q.values(self.drawn)[0] for q in (self.quantity, self.other))
            self.scale = self.quantity.scales(self.drawn)[0] + self.other.scales(self.drawn)[0]
        else:
            self.exact = self.got = self.scale = np.full((1, *map(int, f.shape)), np.nan)
        # confirmed in digits, or like such points
        self.differing = np.zeros(self.exact.shape, bool)
        self.precise = 0
        self.jumps = jumps([f, g])

    def difference(self) -> Difference | None:
        """Return the first difference, one where both have values if possible."""
        differences: list[Difference] = []
        u = float(np.finfo(float).eps) / 2
        both = np.isfinite(self.exact) & np.isfinite(self.got)
        off = np.abs(self.exact - self.got) > ROUNDINGS * u * self.scale
        near = np.isfinite(self.scale)
        self._confirm(differences, both & near & off)
        self._confirm(differences, np.isfinite(self.exact) != np.isfinite(self.got), kept=False)
        # Floats show no difference of values: try a sample of all points in digits.
        if not any(not d.domain for d in differences):
            count = len(self.groups)
            for row in range(0, count, max(1, count // max(1, self.ground.budget // 10))):
                self._noted(differences, row)
                if differences and not differences[-1].domain:
                    break
        values = [d for d in differences if not d.domain]
        return min(values or differences, key=length, default=None)

    def _confirm(
        self, differences: list[Difference], suspicious: np.ndarray, kept: bool = True
    ) -> None:
        """Evaluate some suspicious points of each group in digits; append to ``differences``."""
        rows = suspicious.reshape(len(self.groups), -1).any(axis=1)
        enough = 3 * _MOST_CONFIRMED
        for group in dict.fromkeys(self.groups[rows].tolist()):
            own = np.flatnonzero(rows & (self.groups == group))
            chosen = own[:: max(1, len(own) // _MOST_CONFIRMED)][:_MOST_CONFIRMED]
            if len([d for d in differences if not d.domain]) >= enough:
                chosen = chosen[:0]
            confirmed = np.array([self._noted(differences, int(row)) for row in chosen], bool)
            # Points that were not evaluated count like those that were, if these agree.
            own = own if confirmed.all() else chosen[confirmed]
            if kept:
                self.differing[own] = suspicious[own]

    def _noted(self, differences: list[Difference], row: int) -> bool:
        self.precise += 1
        difference = self._at({name: np.asarray(x[row]) for name, x in self.drawn.items()})
        if difference is None:
            return False
        differences.append(difference)
        return True

    def _at(self, point: Point) -> Difference | None:
        return difference_at(self.f, self.g, self.ground.sides.symbols, point, self.jumps)

    def simplest(self, difference: Difference) -> Difference:
        """Return a difference of the same sort at the simplest point nearby."""

        def shown(trial: Point) -> tuple[Difference, None] | None:
            simpler = self._at(trial) if self._inside(trial) else None
            same_sort = simpler is not None and simpler.domain == difference.domain
            if simpler is None or not same_sort or simpler.size < _KEPT * difference.size:
                return None
            return simpler, None

        _, best, _ = simplest(difference.point, (difference, None), shown, _MOST_TRIALS)
        return shortened(best, shown)

    def _inside(self, point: Point) -> bool:
        bounds = self.ground.bounds
        return all(
            bool(((point[name] >= low) & (point[name] <= high)).all())
            for name, (low, high) in bounds.items()
        )

    def explained(self, difference: Difference) -> Explanation:
        """Return the kind of the difference."""
        if not self.differing.any():
            return self._by_digits(difference)
        of_g = self._evidence(self.quantity, self.exact, self.got)
        of_f = self._evidence(self.other, self.got, self.exact)
        # Measure g by f first; a formula's mistake may only be simple when seen from the other.
        for evidence, name in ((of_g, "g"), (of_f, "f")):
            explanation = mistake(evidence)
            if explanation is not None:
                return worded(explanation, name)
        explanation = explain(of_g)
        return (
            worded(explanation, "g") if explanation.kind != "other" else worded(explain(of_f), "f")
        )

    def _evidence(self, quantity: Quantity, exact: np.ndarray, got: np.ndarray) -> Evidence:
        count = len(self.groups)
        known = (np.isfinite(exact) & np.isfinite(got)).reshape(count, -1).all(axis=1)
        drawn = {k: x[known] for k, x in self.drawn.items()}
        run = Run(
            quantity,
            np.dtype("float64"),
            drawn,
            self.groups[known],
            [got[known]],
            self.ground.places,
            tuple(self.ground.sides.kept),
            typical(quantity, drawn),
            [exact[known]],
            [self.scale[known]],
            [self.differing[known]],
        )
        run.kinked = (
            self.ground.borders.met(drawn) if self.ground.borders else np.zeros(known.sum(), bool)
        )
        return Evidence(run, 0, quantity.outputs[0], lambda p: None, frozenset(["float64"]))

    def _by_digits(self, difference: Difference) -> Explanation:
        words = f"they differ by a relative {difference.size:.3g}"
        if self.ground.sides.symbols:
            words += "; floats do not show it"
        return Explanation("other", words)


def worded(explanation: Explanation, name: str) -> Explanation:
    """Word an explanation of the formula ``name``, measured by the other one."""
    if explanation.kind == "tie":
        return replace(
            explanation, why="they differ where a border is met exactly, and nowhere else"
        )
    other = "f" if name == "g" else "g"
    return replace(explanation, why=f"{name} beside {other}: {explanation.why}")
