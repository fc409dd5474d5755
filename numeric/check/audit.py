"""The audit: compare derivatives under test with the exact ones wherever they could be wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np

from numeric.check import exact, points
from numeric.check.exact import Borders, Forward
from numeric.check.findings import of_fault, of_runs, samples
from numeric.check.habits import look, other_shapes
from numeric.check.judging import Run, judge, overflowing, typical
from numeric.check.points import Input
from numeric.check.presentation import OVERFLOWS
from numeric.check.probes import Budget, Exhausted, Misshapen, Probe
from numeric.check.progress import progress
from numeric.check.report import VERDICTS, Finding, Report, Sample
from numeric.check.settings import Setting
from symdiff.exact.digits import Digits
from symdiff.graph.arguments import door, natural
from symdiff.guesses import written

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numeric.check.candidates import Candidate
    from numeric.check.report import Verdict

EVALUATIONS = 5000
FEWEST = 100  # the smallest budget that reaches every kind of point

_HABITS = ("broadcast", "mutation", "accumulation")
_FLOAT32 = 0.2  # the part of the evaluations that runs in float32
_FIRST = 0.65  # the part for the gradient where other derivatives are under test, too


@door
@written(
    "audit(forward, gradient=..., inputs={...}), or vjp=, jvp=, hessian=; a Jacobian J is "
    "vjp=lambda x, g: g @ J(x)"
)
def audit(
    forward: object,
    *,
    gradient: object = None,
    vjp: object = None,
    jvp: object = None,
    hessian: object = None,
    inputs: Mapping[str, object],
    wrt: object = None,
    domain: Mapping[str, tuple[float, float]] | None = None,
    budget: int | None = None,
    seed: int = 0,
    shown: Callable[[int, int], object] | None = None,
) -> Report:
    """Check whether derivatives are right, and report where they are wrong and which mistake it is.

    ``audit`` computes the exact derivative from the formula.  It draws points all over the domain,
    where mistakes hide: tails, zeros, ties, and both sides of the formula's own comparisons at
    distances of all magnitudes.  It varies memory layouts, lengths of axes, and both dtypes.

    A value passes within 32 units of rounding of the exact value at the point, or at a point a few
    units in the last place away.  The error is relative to S, the exact derivative with every
    addend replaced by its absolute value.  At a kink a value passes in the convex hull of the
    derivatives around it (Clarke's subdifferential), for all inputs together.  ``.ok`` accepts
    these conventions, and inaccuracies of at most ``1000 u (S + G)``.  Here u is the unit roundoff
    of the inputs' dtype, and G the median of the non-zero components at ordinary points.  nan is
    wrong.  inf is wrong where the exact value is finite, even if the forward as written overflows
    there, too.  Points at which the formula itself is not finite are left out; ``.left_out`` counts
    them.

    Args:
        forward: the function: an expression, a text, a SymPy expression, a lowered Function, or a
            function of NumPy arrays that ``sd.from_function`` can trace.
        gradient: ``gradient(*inputs)`` of a scalar forward: an array, or a tuple of them.
        vjp: ``vjp(*inputs, cotangent)``, of any forward.
        jvp: ``jvp(*inputs, *tangents)``.
        hessian: ``hessian(*inputs)``, of a scalar forward; of several inputs a tuple of rows of
            blocks.
        inputs: the names of the inputs, in the order of the arguments, with their shapes (5 is a
            vector) or example arrays, which fix the dtype; integer arrays are data.
        wrt: the inputs that the derivatives are by, in their order: a name or symbol, or a list or
            tuple of these; all real inputs by default.  The other inputs are drawn as well.
        domain: bounds ``(lo, hi)`` of inputs by name.
        budget: the number of evaluations, 5000 by default.
        seed: the seed of the random points.  Budget and seed fix the report.
        shown: called as ``shown(done, budget)``; by default a terminal shows the progress of long
            audits.

    ``gradient`` and ``vjp`` also take functions that bring their own derivatives: see
    ``from_torch``, ``from_jax``, ``from_tensors``, ``Recorded``; lowered Functions, too.

    Raises TypeError and ValueError for arguments that no audit can use, and Unsupported for a
    function that cannot be traced.  Errors of the functions under test at ordinary points pass
    through.

    >>> report = audit("tanh(x)", gradient=lambda x: 1.0005 / np.cosh(x) ** 2, inputs={"x": ()})
    >>> report.ok, report.verdict, report.findings[0].kind, report.findings[0].why
    (False, 'wrong', 'factor', 'a factor 1+0.0005')
    """
    if budget is not None and budget < FEWEST:
        raise ValueError(f"audit: a budget of {budget} evaluations says nothing; give {FEWEST}")
    with np.errstate(all="ignore"):  # for the entire audit: many points are extreme on purpose
        setting = Setting.of(forward, inputs, wrt, domain, natural("audit", "seed", seed))
        under_test = setting.candidate(gradient, vjp, jvp, hessian)
        most = EVALUATIONS if budget is None else budget
        with progress(most, shown) as step:
            return _Audit(setting, under_test, Budget(most, step=step), seed).report()


class _Audit:
    """One audit, from points to findings."""

    def __init__(self, setting: Setting, candidate: Candidate, budget: Budget, seed: int) -> None:
        self.setting, self.candidate, self.budget, self.seed = setting, candidate, budget, seed
        self.rng = np.random.default_rng([seed, 1])
        self.values = Forward(setting.forward, setting.symbols)
        self.findings: list[Finding] = []
        self.judged: dict[str, int] = {}
        self.left_out: dict[str, int] = {}
        self.notes: list[str] = list(candidate.notes)
        self.samples: list[Sample] = []
        for x in setting.inputs:
            if x.mode != "real":
                self.notes.append(f"{x.name} is drawn {_MODE[x.mode]}: elsewhere there is no value")

    def report(self) -> Report:
        parts = list(self._parts())
        most = self.budget.most
        self._compare_values()
        for k, (call, quantity) in enumerate(parts):
            last = k == len(parts) - 1
            share = 1.0 if last else _FIRST if k == 0 else 0.5
            left = most - self.budget.used
            part = Budget(max(0, int(left * share)), step=lambda used: self.budget.spend())
            self._examine(Probe(call, quantity, f"{quantity.name}=", part))
        if not self.findings and not sum(self.judged.values()):
            raise ValueError(
                f"audit: {self.setting.text} has a finite value at none of the points that were "
                "drawn; say by domain={'x': (lo, hi)} where it has, or give example arrays"
            )
        order = {name: k for k, name in enumerate(VERDICTS)}
        # Findings about habits come first: values do not explain them, and their points only show
        # where the audit met them first.
        findings = sorted(
            self.findings,
            key=lambda f: (f.ok, order[f.verdict], f.kind not in _HABITS, -f.count, -f.ulps),
        )
        verdict: Verdict = "right"
        if findings:
            verdict = min((f.verdict for f in findings), key=order.__getitem__)
        return Report(
            verdict=verdict,
            ok=all(f.ok for f in findings),
            findings=tuple(findings),
            forward=self.setting.text,
            inputs={x.name: tuple(map(int, x.shape)) for x in self.setting.symbols},
            evaluations=self.budget.used,
            budget=most,
            seed=self.seed,
            judged=self.judged,
            left_out=self.left_out,
            notes=tuple(self.notes),
            samples=tuple(self.samples),
        )

    def _parts(self) -> Any:
        """Yield the calls under test and the quantities that they should compute."""
        s, c = self.setting, self.candidate
        for name in ("gradient", "vjp", "jvp", "hessian"):
            call = getattr(c, name)
            if call is not None:
                yield call, exact.quantity(name, s.forward, s.by, s.symbols)

    def _compare_values(self) -> None:
        """Check at ordinary points that the candidate computes the formula at all."""
        value = self.candidate.value
        if value is None:
            return
        dtype = self._dtypes()[0]
        drawn = points.ordinary(self.setting.inputs, 16, self.rng)
        drawn = self._finite(self.candidate.points or drawn, dtype)
        expected = self.values.values(drawn)
        for k in range(min(5, len(expected))):
            point = {name: x[k] for name, x in drawn.items()}
            result = np.asarray(
                value(*[np.array(point[x.name]) for x in self.setting.symbols]), float
            )
            size = float(np.abs(expected[k]).max(initial=0) + np.median(np.abs(expected)))
            unit = float(np.sqrt(np.finfo(dtype).eps))
            if result.shape == expected[k].shape and np.allclose(
                result, expected[k], unit, unit * size
            ):
                continue
            worst = (
                np.argmax(np.abs(result - expected[k])) if result.shape == expected[k].shape else 0
            )
            place = tuple(map(int, np.unravel_index(worst, expected[k].shape)))
            self.findings.append(
                Finding(
                    kind="other",
                    verdict="wrong",
                    ok=False,
                    derivative="value",
                    input="the result",
                    component=place,
                    point=point,
                    expected=Digits.of(mpmath.mpf(float(expected[k][place])), 15),
                    got=float(result[place]) if result.shape == expected[k].shape else None,
                    ulps=float("inf"),
                    why=f"{self.candidate.name} computes another function",
                    dtype=dtype,
                )
            )
            return

    # One of the calls -----------------------------------------------------------------------------

    def _examine(self, probe: Probe) -> None:
        """Judge one call at all kinds of points, and record its side effects."""
        setting, quantity = self.setting, probe.quantity
        seeds = [x for x in quantity.symbols if x not in frozenset(setting.symbols)]
        inputs = [
            *setting.inputs,
            *[Input(x.name, tuple(map(int, x.shape)), seed=True) for x in seeds],
        ]
        borders = Borders([setting.forward], quantity.outputs, quantity.symbols)
        unit = typical(quantity, self._finite(points.ordinary(inputs, 64, self.rng), "float64"))
        runs: list[Run] = []
        try:
            if self.candidate.points is None:
                drawn = self._finite(points.ordinary(inputs, 16, self.rng), self._dtypes()[0])
                look(probe, drawn, unit)
            dtypes = self._dtypes()
            total = probe.budget.most - probe.budget.used
            for k, dtype in enumerate(dtypes):
                share = 1.0 if len(dtypes) == 1 else (1 - _FLOAT32, _FLOAT32)[k]
                run = self._run(probe, inputs, borders, dtype, int(0.88 * total * share), unit)
                if run is not None:
                    runs.append(run)
        except Misshapen as error:
            self.findings.append(of_fault(probe, error.fault))
            return
        except Exhausted:
            self.notes.append(f"the budget ended before all of {quantity.name} was looked at")
        for fault in probe.faults.values():
            self.findings.append(of_fault(probe, fault))
        # A result that accumulates over calls makes every later value wrong: judge no values.
        if any(f.kind == "accumulation" for f in probe.faults.values()):
            return
        before = len(self.findings)
        for i in range(len(quantity.outputs)):
            shrink = self.candidate.points is None
            self.findings += of_runs(probe, runs, i, setting.forward, shrink)
        first = [f for f in self.findings if f.derivative in ("gradient", "vjp") and not f.ok]
        # A wrong first derivative makes the Hessian wrong, too: blame the second order alone only
        # where the first is right.
        if quantity.name == "hessian" and not first:
            self.findings[before:] = [
                f if f.ok else replace(f, kind="order", why=f"at second order: {f.why}")
                for f in self.findings[before:]
            ]
        if setting.traced and all(f.ok for f in self.findings[before:]):
            for other in other_shapes(probe, setting, self.notes, self.rng):
                for fault in other.faults.values():
                    self.findings.append(of_fault(other, fault))

    def _dtypes(self) -> list[str]:
        """Return the dtypes of the inputs under audit, the one with the most points first."""
        dtypes = [d for d in self.setting.dtypes if d in self.candidate.dtypes]
        if not dtypes:
            raise TypeError(
                f"audit: {self.candidate.name} takes {' and '.join(self.candidate.dtypes)}, and "
                f"the inputs are {' and '.join(self.setting.dtypes)}"
            )
        return dtypes

    def _run(
        self,
        probe: Probe,
        inputs: Sequence[Input],
        borders: Borders,
        dtype: str,
        count: int,
        unit: float,
    ) -> Run | None:
        drawn, groups = self._drawn(inputs, borders, dtype, count)
        if not len(groups):
            return None
        got = probe.at_all(drawn)
        # Exhausted budgets end early: judge the points that have values.
        done = len(got[0])
        run = Run(
            probe.quantity,
            np.dtype(dtype),
            {name: x[:done] for name, x in drawn.items()},
            groups[:done],
            got,
            borders,
            tuple(self.setting.kept),
            unit,
        )
        judge(run, self.rng)
        self._excuse(run)
        for group in dict.fromkeys(groups[:done].tolist()):
            self.judged[group] = self.judged.get(group, 0) + int((groups[:done] == group).sum())
        self.samples += samples(run)
        return run

    def _drawn(
        self, inputs: Sequence[Input], borders: Borders, dtype: str, count: int
    ) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """About ``count`` points at which the formula has a value, and their groups."""
        if self.candidate.points is not None:  # a recording has values at its own points alone
            kept = self._finite(self.candidate.points, dtype, "recorded")
            kept = {name: x[:count] for name, x in kept.items()}
            return kept, np.full(len(next(iter(kept.values()))), "recorded")
        parts, names = [], []
        drawers = points.groups(borders, inputs, self.rng, dtype)
        for group, (share, draw) in drawers.items():
            wanted = int(share * count)
            if not wanted:
                continue
            # Draw twice the number: the formula has no value at some of the points.
            usable = self._finite(draw(2 * wanted), dtype, group)
            size = min(wanted, len(next(iter(usable.values()))))
            parts.append({name: x[:size] for name, x in usable.items()})
            names += [group] * size
        examples = self._examples(inputs, max(2, count // 20), dtype)
        if examples:
            parts.insert(0, examples)
            names = ["given"] * len(next(iter(examples.values()))) + names
        if not parts:
            return {}, np.array([])
        joined = {name: np.concatenate([p[name] for p in parts]) for name in parts[0]}
        return joined, np.array(names)

    def _examples(
        self, inputs: Sequence[Input], count: int, dtype: str
    ) -> dict[str, np.ndarray] | None:
        """Return the user's example, and points near it."""
        if all(x.example is None for x in inputs):
            return None
        drawn = points.ordinary(inputs, count, self.rng)
        for x in inputs:
            if x.example is not None:
                near = 1 + 0.1 * self.rng.uniform(-1, 1, drawn[x.name].shape)
                near[0] = 1  # the example itself comes first
                drawn[x.name] = np.asarray(x.example, np.float64) * near
        return self._finite(drawn, dtype, "given")

    def _finite(
        self, drawn: Mapping[str, np.ndarray], dtype: str, group: str | None = None
    ) -> dict[str, np.ndarray]:
        """Round the points to the dtype and drop those at which the formula has no value."""
        rounded = points.rounded(dict(drawn), dtype, self.setting.kept)
        count = len(next(iter(rounded.values())))
        if not count:
            return rounded
        values = self.values.values(rounded).reshape(count, -1)
        finite = (np.abs(values) <= float(np.finfo(dtype).max)).all(axis=1)
        # Subnormal inputs are left out where the candidate's library flushes them to zero.
        least = 0.0 if self.candidate.subnormals else float(np.finfo(dtype).smallest_normal)
        for x in rounded.values():
            size = np.abs(np.asarray(x, float).reshape(count, -1))
            finite &= (np.isfinite(size) & ((size == 0) | (size >= least))).all(axis=1)
        if group and not finite.all():
            reason = "the formula has no finite value"
            self.left_out[reason] = self.left_out.get(reason, 0) + int((~finite).sum())
        return {name: x[finite] for name, x in rounded.items()}

    def _excuse(self, run: Run) -> None:
        """Leave out points at which every plain computation meets undefined or infinite values.

        The user's function may be undefined there, as 0/0 is.  Or, at very large or small numbers,
        intermediate results of the formula or products in its derivative overflow.  A function that
        overflows at moderate numbers excuses nothing: its formula has a value there, and the
        verdict must not depend on how the formula is written.
        """
        flagged = np.zeros(len(run.groups), bool)
        unknown = np.zeros(len(run.groups), bool)
        for got, wrong in zip(run.got, run.wrong, strict=True):
            flat = wrong.reshape(len(wrong), -1)
            flagged |= flat.any(axis=1)
            unknown |= (flat & ~np.isfinite(got.reshape(len(wrong), -1))).any(axis=1)
        rows = np.flatnonzero(flagged)
        if not len(rows):
            return
        overflows = overflowing(run, self.values, rows)
        undefined = np.zeros(len(rows), bool)
        # The user's function runs at few points only, because each call may be slow.
        for k in np.flatnonzero(~overflows & unknown[rows]):
            undefined[k] = self._undefined(run.at(int(rows[k])))
        for wrong in run.wrong:
            wrong[rows[overflows | undefined]] = False
        for reason, excused in ((OVERFLOWS, overflows), ("the function is undefined", undefined)):
            if excused.any():
                self.left_out[reason] = self.left_out.get(reason, 0) + int(excused.sum())

    def _undefined(self, point: Mapping[str, np.ndarray]) -> bool:
        """Whether the user's function has no value at a point, although no float overflows."""
        if self.setting.function is None:
            return False
        args = [point[x.name].copy() for x in self.setting.symbols]
        try:
            with np.errstate(over="raise", under="raise"):
                return not np.isfinite(np.asarray(self.setting.function(*args), float)).all()
        except (FloatingPointError, OverflowError):
            self._note_overflow(point)
            return False

    def _note_overflow(self, point: Mapping[str, np.ndarray]) -> None:
        """Note once that the function as written overflows where its formula has a value."""
        if any(" overflows where " in note for note in self.notes):
            return
        name, x = max(point.items(), key=lambda item: float(np.abs(item[1]).max(initial=0)))
        largest = float(np.abs(x).max(initial=0))
        self.notes.append(
            f"{self.setting.text} overflows where its formula has a value, too (max |{name}| = "
            f"{largest:.6g}); if inputs are never so large, say domain={{{name!r}: (lo, hi)}}"
        )


_MODE = {
    "positive": "positive",
    "between": "from (-1, 1)",
    "unit": "from (0, 1)",
    "greater": "above 1",
    "definite": "as positive definite matrices",
}
