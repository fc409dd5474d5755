"""Whether two formulas are one, and where they differ if they are not."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np

from numeric.check.comparison import Comparison
from numeric.check.counterexamples import shrunk
from numeric.check.disagreements import (
    DIGITS,
    Difference,
    proof,
)
from numeric.check.evidence import Evidence, Explanation, badness, worst_rows
from numeric.check.exact import Forward, Quantity, as_floats
from numeric.check.identities import identical
from numeric.check.judging import Run, judge, overflowing, typical
from numeric.check.kinds import explain
from numeric.check.pairs import Ground, Pair, worded
from numeric.check.probes import Budget, Exhausted, Misshapen, Probe
from numeric.check.sides import Side, Sides
from symdiff.graph.arguments import door, natural, whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from symdiff.graph.expr import Expr

    Point = dict[str, np.ndarray]

POINTS = 2000
_FEWEST = 10
"""That are looked at, of which every tenth one in digits."""


@door
def why(
    f: object,
    g: object,
    *,
    inputs: Mapping[str, object] | None = None,
    domain: Mapping[str, tuple[float, float]] | None = None,
    budget: int | None = None,
    seed: int = 0,
) -> Comparison:
    """Whether two formulas that should be one are, or where they differ and how.

    Both are evaluated at points of all kinds (those of an audit, and beside their borders and
    poles), and those that seem to differ in 50 digits.  A difference is proven in rational
    arithmetic or, with the extra ``certify``, by disjoint balls.  Where none is found, a normal
    form proves equality, wherever both have a value, or ``equal`` is None: no finite number of
    points proves anything.  ``proof`` says which of these it was.

    ``kind`` is that of an audit's findings, g being measured by f: sign, factor, missing-term,
    transposed, branch, tie (they differ at borders alone), dead-tail, ...; or "domain": at
    ``point`` only one has a value, and they agree where both do.  Expressions are what the library
    makes of them: ``x/x`` is 1 when it is built.

    A NumPy function is traced, so that it is a formula; what it computes in floats is compared,
    too.  If it only loses digits, ``kind`` is "cancellation", and ``equal`` is what is proven of
    the formulas.  A function that cannot be traced is evaluated alone: ``equal`` is False or None.

    Args:
        f: an expression, text, a SymPy expression, a lowered Function, a number, or a NumPy
            function.
        g: another one, of which one at least can be made a formula.
        inputs: names and shapes or examples, as those of ``audit``; by default the symbols of the
            formulas.  A function is called with them in this order, unless its parameters have
            their names.
        domain: bounds ``(lo, hi)`` of inputs by name.
        budget: the number of points, 2000 by default.
        seed: of the random points.

    Raises TypeError for what is no formula and for two functions that cannot be traced, ValueError
    where the inputs are not known, ParseError and Unsupported for texts and SymPy expressions that
    cannot be read.

    >>> import symdiff as sd
    >>> found = why("log(1 + exp(x))", "x + log1p(exp(-x))")
    >>> found.equal, found.proof
    (True, 'normal form')
    >>> x = sd.symbol("x")
    >>> print(why(sd.diff(x * sd.sin(x), x), "sin(x) - x*cos(x)"))
    not equal (sign), proven by ball arithmetic
       f      sin(x) + x*cos(x)
       g      sin(x) - x*cos(x)
       why    g beside f: the sign of the term x*cos(x) is wrong
       at     x = 1.0
       f      = 1.3817732906760362241
       g      = 0.30116867893975678925
    """
    with np.errstate(all="ignore"):  # points are meant to be extreme
        sides = Sides.of(f, g, inputs, domain)
        most = POINTS if budget is None else whole("why", "budget", budget)
        if most < _FEWEST:
            raise ValueError(f"why: a budget of {most} points says nothing; give {_FEWEST}")
        rng = np.random.default_rng([natural("why", "seed", seed), 2])
        return _Search(Ground(sides, domain or {}, most, rng)).result()


class _Search:
    """One comparison."""

    def __init__(self, ground: Ground) -> None:
        self.ground, self.sides = ground, ground.sides

    def result(self) -> Comparison:
        """What was found, with the floats of functions looked at last."""
        f, g = self.sides.f, self.sides.g
        found = self._told(None, None, "")
        if f.formula is not None and g.formula is not None:
            found = self._formulas(f.formula, g.formula)
        for measure, side in ((f, g), (g, f)):
            formula = measure.formula if measure.formula is not None else side.formula
            if side.function is None or formula is None or found.kind in ("domain", "broadcast"):
                continue
            of_floats = self._function(formula, side, found)
            if found.equal is not False:
                found = of_floats or found
            elif of_floats is None or of_floats.equal is not False:
                words = f"beyond rounding they do not differ; as formulas: {found.why}"
                return replace(
                    of_floats or found, equal=None, proof=None, kind="cancellation", why=words
                )
            if found.kind is not None:
                return found
        if found.why:
            return found
        name = f.name if f.formula is None else g.name
        words = (
            f"no difference beyond rounding at {self.ground.looked} points; {name} cannot be "
            "traced, so that nothing is proven"
        )
        return replace(found, why=words, points=self.ground.looked)

    def _told(self, equal: bool | None, kind: str | None, why: str, **more: Any) -> Comparison:
        sides = self.sides
        shapes = {x.name: tuple(map(int, x.shape)) for x in sides.symbols}
        names = sides.f.name, sides.g.name
        told = {
            "proof": None,
            "names": names,
            "points": self.ground.looked,
            "inputs": shapes,
        } | more
        return Comparison(equal=equal, kind=kind, why=why, **told)

    # Two formulas ---------------------------------------------------------------------------------

    def _formulas(self, f: Expr, g: Expr) -> Comparison:
        if f.shape != g.shape:
            return self._told(
                False, "broadcast", f"f has shape {_shape(f)}, and g has shape {_shape(g)}"
            )
        if f is g:
            return self._told(True, None, "they are the same expression", proof="normal form")
        searched = Pair(self.ground, f, g)
        found = searched.difference()
        if found is not None and not found.domain:
            explained = searched.explained(found)
            point = searched.simplest(found)
            return self._different(f, g, point, explained.kind, explained.why)
        proven = identical(f, g, self.ground.bounds)
        if found is not None:
            agree = "are proven to agree" if proven else "agree at all points looked at"
            which = "f" if not mpmath.isfinite(found.values[0]) else "g"
            words = f"{which} has no value there; where both have one they {agree}"
            return self._different(f, g, searched.simplest(found), "domain", words)
        if proven:
            words = "f - g is 0 identically, where both have values"
            return self._told(True, None, words, proof="normal form")
        words = (
            f"no difference found at {self.ground.looked} points, {searched.precise} of them to "
            f"{DIGITS} digits"
        )
        return self._told(None, None, words)

    def _different(self, f: Expr, g: Expr, at: Difference, kind: str, words: str) -> Comparison:
        return self._told(
            False,
            kind,
            words,
            proof=None if at.domain else proof(f, g, self.ground.env(at.point), at.component),
            point=at.point,
            component=at.component,
            values=at.values,
        )

    # A function -----------------------------------------------------------------------------------

    def _function(self, formula: Expr, side: Side, found: Comparison) -> Comparison | None:
        """How the floats of a function compare with a formula; None if rounding explains all."""
        assert side.function is not None
        name = "f" if side is self.sides.f else "g"
        quantity = Quantity("value", (formula,), ("the value",), self.sides.symbols)
        forward = Forward(formula, self.sides.symbols)
        probe = Probe(side.function, quantity, f"{name}=", Budget(self.ground.budget + 200))
        drawn, groups = self._drawn(forward, found)
        if not len(groups):
            return None
        try:
            run = self._run(probe, drawn, groups)
        except Misshapen as error:
            return self._told(False, "broadcast", f"{name} gives another shape: {error}")
        judge(run, self.ground.rng)
        rows = np.flatnonzero(_by_point(run.wrong[0]).any(axis=1))
        if len(rows):
            run.wrong[0][rows[overflowing(run, forward, rows)]] = False
        shown = _shown(probe, run, formula, name)
        return None if shown is None else self._at(*shown, quantity, name, found)

    def _drawn(
        self, forward: Forward, found: Comparison
    ) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """The points at which the formula has values, with that of what was found."""
        drawn, groups = self.ground.drawn
        if found.point is not None:
            drawn = {k: np.concatenate([x, found.point[k][None]]) for k, x in drawn.items()}
            groups = np.append(groups, "given")
        values = forward.values(drawn).reshape(len(groups), -1)
        kept = np.isfinite(values).all(axis=1)
        return {name: x[kept] for name, x in drawn.items()}, groups[kept]

    def _run(self, probe: Probe, drawn: dict[str, np.ndarray], groups: np.ndarray) -> Run:
        """What the function gives at the points, as far as the budget goes."""
        unit = typical(probe.quantity, drawn)
        got = probe.at_all(drawn)
        done = len(got[0])
        self.ground.looked = max(self.ground.looked, done)
        return Run(
            probe.quantity,
            np.dtype("float64"),
            {k: x[:done] for k, x in drawn.items()},
            groups[:done],
            got,
            self.ground.borders,
            tuple(self.sides.kept),
            unit,
        )

    def _at(
        self,
        explained: Explanation,
        point: Point,
        value: np.ndarray,
        mask: np.ndarray,
        quantity: Quantity,
        name: str,
        found: Comparison,
    ) -> Comparison:
        """What is told of a point where ``value`` is off, in the elements of ``mask``."""
        exact = quantity.precise(point, 0)
        off = np.nan_to_num(np.where(mask, np.abs(value - as_floats(exact)), -1.0), nan=np.inf)
        place = tuple(map(int, np.unravel_index(np.argmax(off), off.shape)))
        true, given = exact[place], float(value[place])
        return replace(
            self._told(found.equal if explained.rounding else False, explained.kind, explained.why),
            proof=found.proof if explained.rounding else None,
            point=point,
            component=place,
            values=(true, given) if name == "g" else (given, true),
        )


def _shown(
    probe: Probe, run: Run, formula: Expr, name: str
) -> tuple[Explanation, Point, np.ndarray, np.ndarray] | None:
    """The worst that is off, why, and where it shows best: the point, the value, its elements."""
    if run.wrong[0].any():
        evidence = Evidence(run, 0, formula, lambda p: _called(probe, p), frozenset(probe.dtypes))
        row = int(worst_rows(run, 0)[0])
        explained = worded(explain(evidence), name)
        return explained, *shrunk(probe, run, 0, row, badness(run, 0, row))
    if run.conventions[0].any():
        mask = run.conventions[0]
        explained = Explanation("tie", "they differ where a border is met exactly")
        row = int(np.flatnonzero(_by_point(mask).any(axis=1))[0])
    elif run.loose[0].any():
        mask = run.loose[0]
        explained = Explanation("cancellation", f"{name} loses digits", True)
        off = _by_point(np.where(mask, np.abs(run.got[0] - run.exact[0]), 0))
        row = int(np.argmax(off.max(axis=1)))
    else:
        return None
    return explained, run.at(row), run.got[0][row], mask[row]


def _by_point(elements: np.ndarray) -> np.ndarray:
    """A row for each point, of the elements there."""
    return elements.reshape(len(elements), -1)


def _shape(f: Expr) -> str:
    return str(tuple(f.shape))


def _called(probe: Probe, point: Point) -> list[np.ndarray] | None:
    try:
        return probe(point)
    except (TypeError, LookupError, Misshapen, Exhausted):
        return None
