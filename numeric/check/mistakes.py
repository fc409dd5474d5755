"""Mistakes of the algebra: hypotheses of what was computed instead, fitted to what came.

What came is the exact derivative with one part of it multiplied by a constant (-1 is a sign, 0 a
missing term), or with its elements in other places, or with its conditions decided otherwise.  The
parts are the terms of the derivative, and the contributions of single paths through the formula,
which stopping the derivative at one operand removes.
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

_FITTED = 12  # ordinary points at which hypotheses are fitted
_HUGE = 1e100  # beyond which least squares overflow
_MOST_PARTS = 24  # terms and paths that are tried
_EXACT_FIT = 1e-4  # of what is to be explained: a part that leaves less explains it


def mistake(evidence: Evidence) -> Explanation | None:
    """One part of the derivative times a constant, or elements in other places."""
    run, i = evidence.run, evidence.output
    rows = np.flatnonzero(np.isin(run.groups, ORDINARY) & _finite(run.got[i]))
    if not len(rows):
        return None
    bad = run.wrong[i][rows].reshape(len(rows), -1).any(axis=1)
    if bad.mean() < 0.25:
        return None
    rows = np.concatenate([rows[bad][: _FITTED // 2], rows[~bad][: _FITTED // 2]])
    got, exact = run.got[i][rows], run.exact[i][rows]
    scale = run.scale[i][rows] + run.unit + 1e-300
    fit = _Fit(got, exact, scale, run.u)
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
    """What came at some points, and whether a hypothesis explains it."""

    def __init__(self, got: np.ndarray, exact: np.ndarray, scale: np.ndarray, u: float) -> None:
        self.got, self.exact, self.scale, self.u = got, exact, scale, u
        self.off = got - exact

    def equal(self, other: np.ndarray) -> bool:
        """Whether what came is this, but for one component in fifty."""
        if other.shape != self.got.shape:
            return False
        allowed = 1e3 * self.u * (self.scale + np.abs(other)) + _EXACT_FIT * np.abs(self.off)
        return bool((np.abs(self.got - other) <= allowed).mean() > 0.98)

    def part(self, part: np.ndarray, what: str, by: str) -> Explanation | None:
        """Whether what came is the exact value with one part times a constant."""
        weight = np.where(np.isfinite(part), part / self.scale**2, 0.0)
        norm = float(np.sum(weight * np.nan_to_num(part)))
        if not norm > 0:
            return None
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
    """The same for the components that are wrong, the others being right."""
    shape = fit.got.shape[1:]
    wrong = np.abs(fit.off) > 1e3 * fit.u * fit.scale
    always = wrong.mean(axis=0) > 0.5
    if not shape or always.all() or not always.any() or wrong[:, ~always].any():
        return None
    part = np.where(always, fit.exact, 0.0)
    places = [list(map(int, p)) for p in np.argwhere(always)]
    word = f"component {places[0]}" if len(places) == 1 else f"components {places[:4]}"
    found = fit.part(part, "", evidence.by)
    return found and Explanation(found.kind, f"{found.why}, in {word} only")


def _moved(evidence: Evidence, fit: _Fit, rows: np.ndarray) -> Explanation | None:
    """Elements in other places: transposed, shifted, reversed, or another input's."""
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
    for operand, turned in _turned(run.quantity.outputs[evidence.output]):
        if fit.equal(_evaluated(run, [turned], rows)[0]):
            return Explanation("transposed", f"{operand} is transposed in it")
    for a in range(1, exact.ndim):
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
    """The derivative with a condition turned round, or taken as true or false everywhere."""
    f = evidence.run.quantity.outputs[evidence.output]
    order = topological([f])
    conditions = dict.fromkeys(x.args[0] for x in order if x.op is WHERE)
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
    """An expression with another node in place of one."""
    done = {node: other}
    for n in order:
        if n not in done:
            done[n] = rebuild(n, tuple([done[x] for x in n.args]))
    return done[f]


def _turned(f: Expr) -> Iterator[tuple[str, Expr]]:
    """The derivative with one square operand of its products transposed, in turn."""
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
    """J w where a vjp is to be J' w, or the other way round; of shape (0,) if there is none."""
    quantity, forward = evidence.run.quantity, evidence.forward
    known = frozenset(sd.free_symbols([forward]))
    seeds = [x for x in quantity.symbols if x not in known]
    inputs = [x for x in quantity.symbols if x in known]
    x = next((x for x in inputs if x.name == evidence.by), inputs[0] if inputs else None)
    if x is None or len(seeds) != 1 or forward.shape != x.shape:
        return np.zeros(0)
    turned = (
        sd.jvp(forward, x, seeds[0]) if quantity.name == "vjp" else sd.vjp(forward, x, seeds[0])
    )
    return _evaluated(evidence.run, [turned], rows)[0]


def _evaluated(run: Run, outputs: Sequence[Expr], rows: np.ndarray) -> list[np.ndarray]:
    """Expressions of the quantity's symbols at some points."""
    found = []
    used = frozenset(sd.free_symbols(outputs))
    for row in rows:
        point = run.at(int(row))
        env = {x: number_array(x, point[x.name]) for x in run.quantity.symbols if x in used}
        found.append(interpret(list(outputs), env))
    return [np.stack([np.asarray(y, float) for y in column]) for column in zip(*found, strict=True)]


def _parts(evidence: Evidence, fit: _Fit, rows: np.ndarray) -> Explanation | None:
    """One term of the derivative, or the contribution of one path, times a constant."""
    run, i = evidence.run, evidence.output
    exact = run.quantity.outputs[i]
    terms = _terms(exact)
    if len(terms) > 1:
        for term, value in zip(terms, _evaluated(run, terms, rows), strict=True):
            found = fit.part(value, sd.text(term) if sd.count_nodes(term) < 40 else "", evidence.by)
            if found:
                return found
        found = _jointly(fit, terms, _evaluated(run, terms, rows))
        if found:
            return found
    for what, stopped in _stopped(evidence):
        (value,) = _evaluated(run, [stopped], rows)
        found = fit.part(fit.exact - value, f"through {what}", evidence.by)
        if found:
            return found
    return None


def _jointly(fit: _Fit, terms: Sequence[Expr], values: Sequence[np.ndarray]) -> Explanation | None:
    """All terms, each times a constant of its own."""
    if len(terms) > 6:
        return None
    columns = np.stack([(v / fit.scale).ravel() for v in values], axis=1)
    seen = (fit.got / fit.scale).ravel()
    known = (np.abs(columns) < _HUGE).all(axis=1) & (np.abs(seen) < _HUGE)
    c = np.linalg.lstsq(columns[known], seen[known], rcond=1e-9)[0]
    if not fit.equal(np.tensordot(c, np.stack(values), 1)):
        return None
    k = int(np.argmin(np.abs(c)))
    if abs(c[k]) < 1e-6:
        return Explanation("missing-term", f"the term {sd.text(terms[k])} is missing")
    factors = ", ".join(number_text(float(x)) for x in c)
    return Explanation("factor", f"its terms have the factors {factors}")


def _terms(f: Expr) -> list[Expr]:
    """The addends of an expression, products and contractions of a sum distributed."""
    todo: list[Expr] = [f]
    found: list[Expr] = []
    while todo and len(todo) + len(found) < _MOST_PARTS:
        x = todo.pop(0)
        parts = _addends(x)
        if len(parts) > 1:
            todo += parts
        else:
            found.append(x)
    return found + todo


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
            parts = _addends(a) if power == 1 and isinstance(a.op, ops.Sum) else []
            if len(parts) > 1:
                return [rebuild(x, (*x.args[:k], part, *x.args[k + 1 :])) for part in parts]
    return [x]


def _stopped(evidence: Evidence) -> Iterator[tuple[str, Expr]]:
    """The derivative without the paths through one operand of one node of the formula."""
    quantity, forward = evidence.run.quantity, evidence.forward
    named = {x.name: x for x in quantity.symbols}
    seeds = {x: named[f"{name}_tangent"] for name, x in named.items() if f"{name}_tangent" in named}
    if quantity.name == "hessian" or (quantity.name != "jvp" and evidence.by not in named):
        return
    by = list(seeds) or [named[evidence.by]]
    total = forward
    if quantity.name == "vjp":
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
    """One slice, or the mean, of what should be summed over an axis."""
    run, i = evidence.run, evidence.output
    axes = range(1, fit.exact.ndim)
    for r in range(1, fit.exact.ndim):
        for some in combinations(axes, r):
            for how, reduced in (("sum", np.sum), ("mean", np.mean)):
                one = reduced(fit.exact, axis=some, keepdims=True)
                if fit.equal(np.broadcast_to(one, fit.exact.shape)):
                    named = [a - 1 for a in some]
                    return Explanation("broadcast", f"it is its {how} over axes {named}")
    x = run.quantity.outputs[i]
    while isinstance(x.op, ops.Reshape | ops.Barrier) or (
        isinstance(x.op, ops.Sum) and len(x.args) == 1 and not x.op.const
    ):
        x = x.args[0]
    if not isinstance(x.op, ops.Contract) or not x.op.sums:
        return None
    letters = dict.fromkeys(letter for word in x.op.letters for letter in word)
    kept = [letter for letter in letters if letter not in x.op.out]
    spelled = (*kept, *x.op.out)
    if len(set(x.op.out)) < len(x.op.out) or any(x.op.created):
        return None
    words = ["".join(chr(97 + c) for c in word) for word in (*x.op.letters, spelled)]
    unsummed = sd.einsum(f"{','.join(words[:-1])}->{words[-1]}", *x.args)
    try:
        (value,) = _evaluated(run, [unsummed], rows)
    except (TypeError, ValueError):
        return None
    lead = len(kept)
    total = value.sum(axis=tuple(range(1, 1 + lead)))
    c = np.nanmedian(fit.exact / total.reshape(fit.exact.shape)) if total.size else np.nan
    for place in np.ndindex(*value.shape[1 : 1 + lead]):
        one = value[(slice(None), *place)]
        if one.size == fit.got[:, ...].size and fit.equal(c * one.reshape(fit.got.shape)):
            return Explanation(
                "broadcast", f"element {list(place)} instead of the sum over an axis"
            )
    return None
