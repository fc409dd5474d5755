"""Compare two formulas: prove them equal, or show where and how they differ."""

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
"""The smallest number of points; every tenth one is evaluated in digits."""


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
    """Compare two formulas that should be equal: prove it, or report where and how they differ.

    ``why`` evaluates both at points of all kinds: those of an audit, and points next to their
    borders and poles.  It evaluates points at which they seem to differ to 50 digits.  Rational
    arithmetic or, with the extra ``certify``, disjoint balls then prove a difference.  Without a
    difference, a normal form proves equality wherever both have a value.  Else ``equal`` is None,
    because no finite number of points proves equality.  ``proof`` names the proof.

    ``kind`` is that of an audit's findings, with g measured by f: sign, factor, missing-term,
    transposed, branch, tie (they differ at borders alone), dead-tail, ...  The kind "domain" means
    that only one has a value at ``point``, and that they agree where both have one.  Expressions
    are compared as the library builds them: ``x/x`` is 1 from the start.

    A NumPy function is traced to a formula.  Its floats are compared, too.  If it only loses
    digits, ``kind`` is "cancellation", and ``equal`` is the verdict on the formulas.  For a
    function that cannot be traced, only values are compared: ``equal`` is False or None.

    Args:
        f: an expression, text, a SymPy expression, a lowered Function, a number, or a NumPy
            function.
        g: another one; at least one of both must be a formula or traceable.
        inputs: names and shapes or examples, as in ``audit``; by default the symbols of the
            formulas.  A function is called with them in this order, unless its parameters have
            their names.
        domain: bounds ``(lo, hi)`` of inputs by name.
        budget: the number of points, 2000 by default.
        seed: the seed of the random points.

    Raises TypeError for an object that is not a formula and for two functions that cannot be
    traced. Raises ValueError where the inputs are unknown.  Raises ParseError and Unsupported for
    texts and SymPy expressions that cannot be read.

    >>> import symdiff as sd
    >>> comparison = why("log(1 + exp(x))", "x + log1p(exp(-x))")
    >>> comparison.equal, comparison.proof
    (True, 'normal form')
    >>> x = sd.symbol("x")
    >>> print(why(sd.diff(x * sd.sin(x), x), "sin(x) - x*cos(x)"))
    not equal (sign), proven by ball arithmetic
       f      x*cos(x) + sin(x)
       g      sin(x) - x*cos(x)
       why    g beside f: the sign of the term x*cos(x) is wrong
       at     x = 1.0
       f      = 1.3817732906760362241
       g      = 0.30116867893975678925
    """
    with np.errstate(all="ignore"):  # many points are extreme on purpose
        sides = Sides.of(f, g, inputs, domain)
        most = POINTS if budget is None else whole("why", "budget", budget)
        if most < _FEWEST:
            raise ValueError(f"why: a budget of {most} points says nothing; give {_FEWEST}")
        rng = np.random.default_rng([natural("why", "seed", seed), 2])
        return _Search(Ground(sides, domain or {}, most, rng)).result()


class _Search:
    """One comparison, from points to the result."""

    def __init__(self, ground: Ground) -> None:
        self.ground, self.sides = ground, ground.sides

    def result(self) -> Comparison:
        """Compare the formulas first, then the floats of functions; return the result."""
        f, g = self.sides.f, self.sides.g
        verdict = self._comparison(None, None, "")
        if f.formula is not None and g.formula is not None:
            verdict = self._formulas(f.formula, g.formula)
        for measure, side in ((f, g), (g, f)):
            # A function that could not be traced is measured by the other side's formula.
            formula = measure.formula if measure.formula is not None else side.formula
            if side.function is None or formula is None or verdict.kind in ("domain", "broadcast"):
                continue
            of_floats = self._function(formula, side, verdict)
            if verdict.equal is not False:
                verdict = of_floats or verdict
            # The formulas differ, but the floats do not: the function only loses digits.
            elif of_floats is None or of_floats.equal is not False:
                words = f"beyond rounding they do not differ; as formulas: {verdict.why}"
                return replace(
                    of_floats or verdict, equal=None, proof=None, kind="cancellation", why=words
                )
            if verdict.kind is not None:
                return verdict
        if verdict.why:
            return verdict
        name = f.name if f.formula is None else g.name
        words = (
            f"no difference beyond rounding at {self.ground.looked} points; {name} cannot be "
            "traced, so that nothing is proven"
        )
        return replace(verdict, why=words, points=self.ground.looked)

    def _comparison(
        self, equal: bool | None, kind: str | None, why: str, **more: Any
    ) -> Comparison:
        sides = self.sides
        shapes = {x.name: tuple(map(int, x.shape)) for x in sides.symbols}
        names = sides.f.name, sides.g.name
        fields = {
            "proof": None,
            "names": names,
            "points": self.ground.looked,
            "inputs": shapes,
        } | more
        return Comparison(equal=equal, kind=kind, why=why, **fields)

    # Two formulas ---------------------------------------------------------------------------------

    def _formulas(self, f: Expr, g: Expr) -> Comparison:
        if f.shape != g.shape:
            return self._comparison(
                False, "broadcast", f"f has shape {_shape(f)}, and g has shape {_shape(g)}"
            )
        if f is g:
            return self._comparison(True, None, "they are the same expression", proof="normal form")
        searched = Pair(self.ground, f, g)
        difference = searched.difference()
        # A difference of values outranks one of domains.
        if difference is not None and not difference.domain:
            explained = searched.explained(difference)
            point = searched.simplest(difference)
            return self._different(f, g, point, explained.kind, explained.why)
        # Normal forms ignore domains, so a difference of domains is compatible with a proof.
        proven = identical(f, g, self.ground.bounds)
        if difference is not None:
            agree = "are proven to agree" if proven else "agree at all points looked at"
            which = "f" if not mpmath.isfinite(difference.values[0]) else "g"
            words = f"{which} has no value there; where both have one they {agree}"
            return self._different(f, g, searched.simplest(difference), "domain", words)
        if proven:
            words = "f - g is 0 identically, where both have values"
            return self._comparison(True, None, words, proof="normal form")
        words = (
            f"no difference found at {self.ground.looked} points, {searched.precise} of them to "
            f"{DIGITS} digits"
        )
        return self._comparison(None, None, words)

    def _different(self, f: Expr, g: Expr, at: Difference, kind: str, words: str) -> Comparison:
        return self._comparison(
            False,
            kind,
            words,
            proof=None if at.domain else proof(f, g, self.ground.env(at.point), at.component),
            point=at.point,
            component=at.component,
            values=at.values,
        )

    # A function -----------------------------------------------------------------------------------

    def _function(self, formula: Expr, side: Side, verdict: Comparison) -> Comparison | None:
        """Compare the floats of a function with a formula; None if rounding explains all."""
        assert side.function is not None
        name = "f" if side is self.sides.f else "g"
        quantity = Quantity("value", (formula,), ("the value",), self.sides.symbols)
        forward = Forward(formula, self.sides.symbols)
        # The additional evaluations are for a simpler counterexample.
        probe = Probe(side.function, quantity, f"{name}=", Budget(self.ground.budget + 200))
        drawn, groups = self._drawn(forward, verdict)
        if not len(groups):
            return None
        try:
            run = self._run(probe, drawn, groups)
        except Misshapen as error:
            return self._comparison(False, "broadcast", f"{name} gives another shape: {error}")
        judge(run, self.ground.rng)
        rows = np.flatnonzero(_by_point(run.wrong[0]).any(axis=1))
        if len(rows):
            # Where an intermediate value overflows, floats cannot reach the formula's value.
            run.wrong[0][rows[overflowing(run, forward, rows)]] = False
        shown = _shown(probe, run, formula, name)
        return None if shown is None else self._at(*shown, quantity, name, verdict)

    def _drawn(
        self, forward: Forward, verdict: Comparison
    ) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Return the points at which the formula has values; include the point of ``verdict``."""
        drawn, groups = self.ground.drawn
        if verdict.point is not None:
            # Where the formulas differ, the floats are the most likely to differ, too.
            drawn = {k: np.concatenate([x, verdict.point[k][None]]) for k, x in drawn.items()}
            groups = np.append(groups, "given")
        # Without a value of the formula there is nothing to compare the floats with.
        values = forward.values(drawn).reshape(len(groups), -1)
        defined = np.isfinite(values).all(axis=1)
        return {name: x[defined] for name, x in drawn.items()}, groups[defined]

    def _run(self, probe: Probe, drawn: dict[str, np.ndarray], groups: np.ndarray) -> Run:
        """Evaluate the function at the points until the budget ends."""
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
        verdict: Comparison,
    ) -> Comparison:
        """Return the comparison for a point where ``value`` is off in the elements of ``mask``."""
        exact = quantity.precise(point, 0)
        # -1 excludes the elements that are right; nan counts as the largest error.
        off = np.nan_to_num(np.where(mask, np.abs(value - as_floats(exact)), -1.0), nan=np.inf)
        place = tuple(map(int, np.unravel_index(np.argmax(off), off.shape)))
        true, result = exact[place], float(value[place])
        return replace(
            self._comparison(
                verdict.equal if explained.rounding else False, explained.kind, explained.why
            ),
            proof=verdict.proof if explained.rounding else None,
            point=point,
            component=place,
            values=(true, result) if name == "g" else (result, true),
        )


def _shown(
    probe: Probe, run: Run, formula: Expr, name: str
) -> tuple[Explanation, Point, np.ndarray, np.ndarray] | None:
    """Return the worst fault: its explanation, a clear point, the value there, and a mask."""
    # Wrong values outrank conventions at borders, and these outrank lost digits.
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
    """Return the elements as an array with one row for each point."""
    return elements.reshape(len(elements), -1)


def _shape(f: Expr) -> str:
    return str(tuple(f.shape))


def _called(probe: Probe, point: Point) -> list[np.ndarray] | None:
    # An explanation calls with other dtypes and points, which a function may refuse.
    try:
        return probe(point)
    except (TypeError, LookupError, Misshapen, Exhausted):
        return None
