"""Mistakes of the algebra: fit hypotheses about the wrong computation to its results.

A result may be the exact derivative with one part multiplied by a constant (-1 is a wrong sign, 0 a
missing term), with its elements in other places, or with its conditions decided otherwise.  The
parts are the terms of the derivative, and the contributions of single paths through the formula.
Stopping the derivative at one operand removes the paths through it.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

import symdiff as sd
from numeric.check.evidence import ORDINARY, Evidence, Explanation, number_text
from numeric.check.exact import number_array
from numeric.lowering.reference import interpret
from symdiff.graph import ops
from symdiff.graph.expr import rebuild
from symdiff.graph.multiples import WHERE
from symdiff.graph.node import topological

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numeric.check.judging import Run
    from symdiff.graph.expr import Expr

_FITTED = 12  # ordinary points for fitting hypotheses
_HUGE = 1e100  # least squares overflow beyond
_MOST_PARTS = 24  # terms and paths to try
_EXACT_FIT = 1e-4  # a part explains an error if it leaves less than this fraction


def mistake(evidence: Evidence) -> Explanation | None:
    """Explain the results by one part of the derivative times a constant, or by moved elements."""
    run, i = evidence.run, evidence.output
    rows = np.flatnonzero(np.isin(run.groups, ORDINARY) & _finite(run.got[i]))
    if not len(rows):
        return None
    bad = run.wrong[i][rows].reshape(len(rows), -1).any(axis=1)
    # Rare errors at ordinary points are not a mistake of the algebra; see ``places``.
    if bad.mean() < 0.25:
        return None
    # Right points belong to the fit: the hypothesis must explain them, too.
    rows = np.concatenate([rows[bad][: _FITTED // 2], rows[~bad][: _FITTED // 2]])
    got, exact = run.got[i][rows], run.exact[i][rows]
    scale = run.scale[i][rows] + run.unit + 1e-300
    fit = _Fit(got, exact, scale, run.u)
    # The first hypothesis that fits is reported, so simple ones come first.
    return (
        fit.part(exact, "", evidence.by)
        or _moved(evidence, fit, rows)
        or _decided(evidence, fit, rows)
        or _parts(evidence, fit, rows)
        or _component(evidence, fit)
        or _summed(evidence, fit, rows)
    )


def _finite(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.isfinite(x).all(axis=tuple(range(1, x.ndim))))


class _Fit:
    """The results at some points, and tests of hypotheses against them."""

    def __init__(self, got: np.ndarray, exact: np.ndarray, scale: np.ndarray, u: float) -> None:
        self.got, self.exact, self.scale, self.u = got, exact, scale, u
        self.off = got - exact

    def equal(self, other: np.ndarray) -> bool:
        """Whether the results equal ``other``, up to one component in fifty."""
        if other.shape != self.got.shape:
            return False
        allowed = 1e3 * self.u * (self.scale + np.abs(other)) + _EXACT_FIT * np.abs(self.off)
        # A few components may also suffer from rounding, which no hypothesis predicts.
        return bool((np.abs(self.got - other) <= allowed).mean() > 0.98)

    def part(self, part: np.ndarray, what: str, by: str) -> Explanation | None:
        """Test whether the results are the exact values with one part times a constant."""
        weight = np.where(np.isfinite(part), part / self.scale**2, 0.0)
        norm = float(np.sum(weight * np.nan_to_num(part)))
        if not norm > 0:
            return None
        # The constant is the least squares fit, relative to the scale of each component.
        c = 1 + float(np.sum(weight * self.off)) / norm
        if not self.equal(self.exact + (c - 1) * part):
            return None
        of = f" of the term {what}" if what else ""
        if abs(c + 1) < 1e-6:
            return Explanation("sign", f"the sign{of} is wrong")
        if abs(c) < 1e-6:
            missing = f"the term {what} is missing" if what else "all of it is missing"
            return Explanation("missing-term", missing)
        return Explanation("factor", f"a factor {number_text(c)}{of}")


def _component(evidence: Evidence, fit: _Fit) -> Explanation | None:
    """Test the components that are always wrong, if the others are always right."""
    shape = fit.got.shape[1:]
    wrong = np.abs(fit.off) > 1e3 * fit.u * fit.scale
    always = wrong.mean(axis=0) > 0.5
    if not shape or always.all() or not always.any() or wrong[:, ~always].any():
        return None
    part = np.where(always, fit.exact, 0.0)
    places = [list(map(int, p)) for p in np.argwhere(always)]
    word = f"component {places[0]}" if len(places) == 1 else f"components {places[:4]}"
    explanation = fit.part(part, "", evidence.by)
    return explanation and Explanation(explanation.kind, f"{explanation.why}, in {word} only")


def _moved(evidence: Evidence, fit: _Fit, rows: np.ndarray) -> Explanation | None:
    """Test for moved elements: transposed, shifted, reversed, or another input's."""
    exact, run = fit.exact, evidence.run
    for a in range(1, exact.ndim):
        for b in range(a + 1, exact.ndim):
            swapped = np.swapaxes(exact, a, b)
            if fit.equal(swapped) or fit.equal(swapped.reshape(exact.shape)):
                return Explanation("transposed", f"axes {a - 1} and {b - 1} are swapped")
    name = run.quantity.name
    if name == "vjp" and fit.equal(_untransposed(evidence, rows)):
        return Explanation("transposed", "the Jacobian is not transposed: J w instead of J' w")
    if name == "jvp" and fit.equal(_untransposed(evidence, rows)):
        return Explanation("transposed", "the Jacobian is transposed: J' t instead of J t")
    # A transposed factor inside a product looks like no permutation of the result.
    for operand, turned in _turned(run.quantity.outputs[evidence.output]):
        if fit.equal(_evaluated(run, [turned], rows)[0]):
            return Explanation("transposed", f"{operand} is transposed in it")
    for a in range(1, exact.ndim):
        # Larger shifts are rare mistakes, and each costs a comparison.
        for shift in range(1, min(exact.shape[a], 4)):
            for step in (shift, -shift):
                if fit.equal(np.roll(exact, step, a)):
                    return Explanation("other", f"an index is off by {step} along axis {a - 1}")
        if fit.equal(np.flip(exact, a)):
            return Explanation("other", f"axis {a - 1} is reversed")
    for j, other in enumerate(run.exact):
        if j != evidence.output and fit.equal(other[rows]):
            return Explanation("other", f"it is the derivative by {run.quantity.by[j]}")
    return None


def _decided(evidence: Evidence, fit: _Fit, rows: np.ndarray) -> Explanation | None:
    """Test the derivative with one condition negated, or taken as true or false everywhere."""
    f = evidence.run.quantity.outputs[evidence.output]
    order = topological([f])
    conditions = dict.fromkeys(x.args[0] for x in order if x.op is WHERE)
    # Each condition costs three evaluations, so long formulas are cut off.
    for condition in list(conditions)[:8]:
        what = sd.text(condition) if sd.count_nodes(condition) < 30 else "a comparison"
        for why, other in (
            (f"the branches of {what} are swapped", sd.logical_not(condition)),
            (f"{what} is taken to hold everywhere", sd.full(condition.shape, True)),
            (f"{what} is taken to hold nowhere", sd.full(condition.shape, False)),
        ):
            if fit.equal(
                _evaluated(evidence.run, [_replaced(order, f, condition, other)], rows)[0]
            ):
                return Explanation("branch", why)
    return None


def _replaced(order: Sequence[Expr], f: Expr, node: Expr, other: Expr) -> Expr:
    """Replace one node of an expression by another expression."""
    rebuilt = {node: other}
    for n in order:
        if n not in rebuilt:
            rebuilt[n] = rebuild(n, tuple([rebuilt[x] for x in n.args]))
    return rebuilt[f]


def _turned(f: Expr) -> Iterator[tuple[str, Expr]]:
    """Yield the derivative with one square operand of its products transposed, one at a time."""
    order = topological([f])
    for node in order:
        if not isinstance(node.op, ops.Opaque) and not getattr(node.op, "sums", False):
            continue
        for k, a in enumerate(node.args):
            if a.ndim >= 2 and a.shape[-1] == a.shape[-2]:
                args = [sd.swapaxes(x, -1, -2) if j == k else x for j, x in enumerate(node.args)]
                turned = _replaced(order, f, node, rebuild(node, tuple(args)))
                yield (sd.text(a) if sd.count_nodes(a) < 20 else "a factor"), turned


def _untransposed(evidence: Evidence, rows: np.ndarray) -> np.ndarray:
    """Return J w in place of a vjp J' w, or the reverse; shape (0,) if neither makes sense."""
    quantity, forward = evidence.run.quantity, evidence.forward
    known = frozenset(sd.free_symbols([forward]))
    seeds = [x for x in quantity.symbols if x not in known]
    inputs = [x for x in quantity.symbols if x in known]
    x = next((x for x in inputs if x.name == evidence.by), inputs[0] if inputs else None)
    # J w and J' w only both exist if value and input have one shape.
    if x is None or len(seeds) != 1 or forward.shape != x.shape:
        return np.zeros(0)
    turned = (
        sd.jvp(forward, x, seeds[0]) if quantity.name == "vjp" else sd.vjp(forward, x, seeds[0])
    )
    return _evaluated(evidence.run, [turned], rows)[0]


def _evaluated(run: Run, outputs: Sequence[Expr], rows: np.ndarray) -> list[np.ndarray]:
    """Evaluate expressions of the quantity's symbols at some points."""
    rows_of_values = []
    used = frozenset(sd.free_symbols(outputs))
    for row in rows:
        point = run.at(int(row))
        env = {x: number_array(x, point[x.name]) for x in run.quantity.symbols if x in used}
        rows_of_values.append(interpret(list(outputs), env))
    return [
        np.stack([np.asarray(y, float) for y in column])
        for column in zip(*rows_of_values, strict=True)
    ]


def _parts(evidence: Evidence, fit: _Fit, rows: np.ndarray) -> Explanation | None:
    """Test one term of the derivative, or the contribution of one path, times a constant."""
    run, i = evidence.run, evidence.output
    exact = run.quantity.outputs[i]
    terms = _terms(exact)
    if len(terms) > 1:
        for term, value in zip(terms, _evaluated(run, terms, rows), strict=True):
            explanation = fit.part(
                value, sd.text(term) if sd.count_nodes(term) < 40 else "", evidence.by
            )
            if explanation:
                return explanation
        explanation = _jointly(fit, terms, _evaluated(run, terms, rows))
        if explanation:
            return explanation
    for what, stopped in _stopped(evidence):
        (value,) = _evaluated(run, [stopped], rows)
        explanation = fit.part(fit.exact - value, f"through {what}", evidence.by)
        if explanation:
            return explanation
    return None


def _jointly(fit: _Fit, terms: Sequence[Expr], values: Sequence[np.ndarray]) -> Explanation | None:
    """Test all terms at once, each with its own constant."""
    # With many free constants, least squares fits almost any result.
    if len(terms) > 6:
        return None
    # Extreme components would overflow least squares and drown the others.
    columns = np.stack([(v / fit.scale).ravel() for v in values], axis=1)
    seen = (fit.got / fit.scale).ravel()
    moderate = (np.abs(columns) < _HUGE).all(axis=1) & (np.abs(seen) < _HUGE)
    c = np.linalg.lstsq(columns[moderate], seen[moderate], rcond=1e-9)[0]
    if not fit.equal(np.tensordot(c, np.stack(values), 1)):
        return None
    k = int(np.argmin(np.abs(c)))
    if abs(c[k]) < 1e-6:
        return Explanation("missing-term", f"the term {sd.text(terms[k])} is missing")
    factors = ", ".join(number_text(float(x)) for x in c)
    return Explanation("factor", f"its terms have the factors {factors}")


def _terms(f: Expr) -> list[Expr]:
    """Return the addends of an expression; distribute products and contractions over sums."""
    todo: list[Expr] = [f]
    terms: list[Expr] = []
    while todo and len(todo) + len(terms) < _MOST_PARTS:
        x = todo.pop(0)
        parts = _addends(x)
        if len(parts) > 1:
            todo += parts
        else:
            terms.append(x)
    return terms + todo


def _addends(x: Expr) -> list[Expr]:
    op = x.op
    if isinstance(op, ops.Sum):
        terms = [c * a for c, a in zip(op.coefs, x.args, strict=True)]
        constant = [sd.full(x.shape, float(op.const))] if op.const else []
        single = len(terms) + len(constant) == 1
        if single and op.coefs and op.coefs[0] != 1:
            return [op.coefs[0] * a for a in _addends(x.args[0])]
        return terms + constant
    if isinstance(op, ops.Product | ops.Contract | ops.Strong | ops.Linear):
        for k, a in enumerate(x.args):
            power = op.exponents[k] if isinstance(op, ops.Product) else 1
            # These ops are linear in each operand of exponent 1, so they distribute over its sum.
            parts = _addends(a) if power == 1 and isinstance(a.op, ops.Sum) else []
            if len(parts) > 1:
                return [rebuild(x, (*x.args[:k], part, *x.args[k + 1 :])) for part in parts]
    return [x]


def _stopped(evidence: Evidence) -> Iterator[tuple[str, Expr]]:
    """Yield the derivative without the paths through one operand of one node, one at a time."""
    quantity, forward = evidence.run.quantity, evidence.forward
    named = {x.name: x for x in quantity.symbols}
    seeds = {x: named[f"{name}_tangent"] for name, x in named.items() if f"{name}_tangent" in named}
    if quantity.name == "hessian" or (quantity.name != "jvp" and evidence.by not in named):
        return
    by = list(seeds) or [named[evidence.by]]
    total = forward
    if quantity.name == "vjp":
        # A vjp is the gradient of the weighted sum, and the weights are the last symbol.
        total = sd.sum(quantity.symbols[-1] * forward)
    order = topological([total])
    depends = set(by)
    for node in order:
        if any(a in depends for a in node.args):
            depends.add(node)
    edges = [(n, k) for n in order if n in depends for k, a in enumerate(n.args) if a in depends]
    for node, k in edges[:_MOST_PARTS]:
        stopped = _with_detached(order, total, node, k)
        if stopped is not None:
            what = sd.text(node) if sd.count_nodes(node) < 20 else node.op.name
            where = f"operand {k + 1} of {what}"
            yield (
                where,
                sd.jvp(stopped, by, list(seeds.values())) if seeds else sd.grad(stopped, by[0]),
            )


def _with_detached(order: Sequence[Expr], total: Expr, node: Expr, k: int) -> Expr | None:
    args = [sd.detach(a) if j == k else a for j, a in enumerate(node.args)]
    try:
        return _replaced(order, total, node, rebuild(node, tuple(args)))
    except (TypeError, ValueError):
        return None


def _summed(evidence: Evidence, fit: _Fit, rows: np.ndarray) -> Explanation | None:
    """Test for a sum, mean or single slice where a sum over an axis is due, or the reverse."""
    run, i = evidence.run, evidence.output
    axes = range(1, fit.exact.ndim)
    for r in range(1, fit.exact.ndim):
        for reduced_axes in combinations(axes, r):
            for how, reduced in (("sum", np.sum), ("mean", np.mean)):
                one = reduced(fit.exact, axis=reduced_axes, keepdims=True)
                if fit.equal(np.broadcast_to(one, fit.exact.shape)):
                    named = [a - 1 for a in reduced_axes]
                    return Explanation("broadcast", f"it is its {how} over axes {named}")
    x = run.quantity.outputs[i]
    while isinstance(x.op, ops.Reshape | ops.Barrier) or (
        isinstance(x.op, ops.Sum) and len(x.args) == 1 and not x.op.const
    ):
        x = x.args[0]
    if not isinstance(x.op, ops.Contract) or not x.op.sums:
        return None
    labels = dict.fromkeys(label for word in x.op.letters for label in word)
    summed = [label for label in labels if label not in x.op.out]
    output_labels = (*summed, *x.op.out)
    if len(set(x.op.out)) < len(x.op.out) or any(x.op.created):
        return None
    # Keep the summed axes as leading axes, to compare single slices with the result.
    words = ["".join(chr(97 + c) for c in word) for word in (*x.op.letters, output_labels)]
    unsummed = sd.einsum(f"{','.join(words[:-1])}->{words[-1]}", *x.args)
    try:
        (value,) = _evaluated(run, [unsummed], rows)
    except (TypeError, ValueError):
        return None
    lead = len(summed)
    total = value.sum(axis=tuple(range(1, 1 + lead)))
    # A constant factor before the sum is allowed; the median ignores components of 0.
    c = np.nanmedian(fit.exact / total.reshape(fit.exact.shape)) if total.size else np.nan
    for place in np.ndindex(*value.shape[1 : 1 + lead]):
        one = value[(slice(None), *place)]
        if one.size == fit.got[:, ...].size and fit.equal(c * one.reshape(fit.got.shape)):
            return Explanation(
                "broadcast", f"element {list(place)} instead of the sum over an axis"
            )
    return None
