"""The place of errors: one side of a border, near it, a tail, zeros or ties."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import symdiff as sd
from numeric.check.evidence import ORDINARY, Evidence, Explanation, number_text
from symdiff.graph import ops
from symdiff.graph.node import topological

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numeric.check.judging import Run


_NEAR = 1e-6  # the error of a value that counts as right, relative to S + G

_UNNAMED = "an intermediate result"


def place(evidence: Evidence) -> Explanation | None:
    """Explain where an output is wrong: beside a border, near it, in a tail, at zeros or ties."""
    run, i = evidence.run, evidence.output
    wrong = run.wrong[i]
    clear = np.abs(run.exact[i]) > 1e3 * run.u * (run.scale[i] + run.unit)
    # A value may pass because its exact value is unknown, such as sin(1e300); it is not right.
    near = np.abs(run.got[i] - run.exact[i]) <= _NEAR * (run.scale[i] + run.unit)
    right = ~wrong & clear & near
    rows = wrong.reshape(len(wrong), -1).any(axis=1)
    # Cheap and specific explanations first; the vague one about all wrong values last.
    if run.kinked[rows].all():
        return Explanation("tie", "at a kink it lies outside the set of subgradients")
    return (
        _cells(evidence, wrong, right)
        or _sliver(evidence, wrong, right)
        or _equal(run, wrong, right)
        or _magnitude(evidence, wrong, right)
        or _zero(run, wrong, right)
        or _somehow(evidence)
    )


def _somehow(evidence: Evidence) -> Explanation | None:
    """Explain the errors by a common property, wherever they are."""
    how = _inner(evidence, evidence.output)
    if not np.isfinite(
        evidence.run.got[evidence.output][evidence.run.wrong[evidence.output]]
    ).all():
        return Explanation("nonfinite", "nan or inf where the exact value is finite")
    kinds = {"it is 0": "missing-term", "its sign is wrong": "sign", "it is wrong": ""}
    kind = kinds.get(how, "factor")
    return Explanation(kind, f"{how} at some points") if kind else None


def _inner(evidence: Evidence, i: int) -> str:
    """Describe the wrong values: zero, or a constant multiple of the right ones."""
    run = evidence.run
    wrong = run.wrong[i]
    got, exact = run.got[i][wrong], run.exact[i][wrong]
    ratio = got / exact
    if (got == 0).all():
        return "it is 0"
    ratio = ratio[np.isfinite(ratio)]
    c = float(np.median(ratio)) if ratio.size else 0.0
    # A constant ratio at nine of ten values is not an accident; the others may be rounding.
    if abs(c - 1) > 1e-8 and ratio.size and np.mean(np.abs(ratio - c) <= 1e-6 * abs(c)) > 0.9:
        return "its sign is wrong" if abs(c + 1) < 1e-6 else f"it has a factor {number_text(c)}"
    return "it is wrong"


def _aligned(values: np.ndarray, shape: tuple[int, ...]) -> Iterator[np.ndarray]:
    """Yield the values aligned with the elements of an output: by element, by row, or by point."""
    count = len(values)
    # Elements of leading axes match by position.
    if values.shape == shape[: values.ndim]:
        ones = (1,) * (len(shape) - values.ndim)
        yield np.broadcast_to(values.reshape(*values.shape, *ones), shape)
    flat = values.reshape(count, -1)
    ones = (1,) * (len(shape) - 1)
    if flat.shape[1] == 1:
        if values.shape != shape[: values.ndim]:
            yield np.broadcast_to(flat.reshape(count, *ones), shape)
    # An array per point: try the element that decides a maximum, a minimum, or a border.
    elif flat.shape[1]:
        nearest = np.take_along_axis(flat, np.argmin(np.abs(flat), axis=1)[:, None], axis=1)[:, 0]
        for reduced in (flat.max(axis=1), flat.min(axis=1), nearest):
            yield np.broadcast_to(reduced.reshape(count, *ones), shape)


def _share(inside: np.ndarray, wrong: np.ndarray, right: np.ndarray) -> float:
    """Return the fraction of wrong values inside; 0 if some wrong values are outside.

    Only values that are clearly right or wrong count.
    """
    if not inside[wrong].all():
        return 0.0
    return float(wrong.sum() / max(1, (wrong | (right & inside)).sum()))


def _cells(evidence: Evidence, wrong: np.ndarray, right: np.ndarray) -> Explanation | None:
    """Test for errors on some sides of the formula's borders, and right values on the others."""
    run = evidence.run
    pairs = list(zip(run.borders.differences, run.borders.values(run.points), strict=True))
    signs = [(sd.text(d), next(iter(_aligned(v, wrong.shape)), None)) for d, v in pairs]
    own = [(evidence.by, run.points[evidence.by])] if evidence.by in run.points else []
    own = [(name, x) for name, x in own if x.shape == wrong.shape]
    # Try the formula's own borders first, then also the sign of the input.
    for chosen in ([*signs], [*signs, *own]) if signs else ([],):
        known = [(name, np.sign(v)) for name, v in chosen if v is not None]
        if not known:
            continue
        # Number the cells in base 3: one digit for each sign.
        cell = sum((3**k * (v + 1) for k, (_, v) in enumerate(known)), np.zeros(wrong.shape))
        bad = []
        for c in np.unique(cell[wrong | right]).tolist():
            inside = cell == c
            share = (wrong & inside).sum() / (wrong & inside | right & inside).sum()
            # A mixed cell refutes the hypothesis, so that the ``else`` branch does not run.
            if 0.2 < share < 0.8:
                break
            if share >= 0.8:
                bad.append(c)
        else:
            if bad and _mostly_right(evidence, wrong, right & ~np.isin(cell, bad)):
                where = [_side(known, int(c)) for c in bad[:3]]
                how = _inner(evidence, evidence.output)
                kind = "tie" if all("==" in w for w in where) else "branch"
                return Explanation(kind, f"{how} where {', or '.join(where)}")
    return None


def _mostly_right(evidence: Evidence, wrong: np.ndarray, outside: np.ndarray) -> bool:
    """Whether enough of the right values at ordinary points lie outside of the wrong region."""
    ordinary = np.isin(evidence.run.groups, ORDINARY)
    return bool(outside[ordinary].sum() > 0.1 * wrong[ordinary].sum())


def _side(known: Sequence[tuple[str, np.ndarray]], cell: int) -> str:
    words = []
    for name, _ in known:
        cell, sign = divmod(cell, 3)
        words.append(f"{name if len(name) < 60 else 'a difference'} {('<', '==', '>')[sign]} 0")
    return " and ".join(words)


def _sliver(evidence: Evidence, wrong: np.ndarray, right: np.ndarray) -> Explanation | None:
    """Test for errors in a sliver next to one of the formula's borders."""
    run = evidence.run
    ordinary = np.isin(run.groups, ORDINARY)
    if not right[ordinary].any() or wrong[ordinary].mean() > right[ordinary].mean():
        return None
    for difference, values in zip(
        run.borders.differences, run.borders.values(run.points), strict=True
    ):
        for d in _aligned(values, wrong.shape):
            reach = float(np.abs(d[wrong]).max())
            # Then the errors reach far beyond a border, and are not a sliver.
            if reach > 0.2 * np.median(np.abs(d[right])):
                continue
            for where, side in ((" ", d == d), (" on one side ", d > 0), (" on one side ", d < 0)):
                if _share(side & (np.abs(d) <= reach), wrong, right) > 0.2:
                    how = _inner(evidence, evidence.output)
                    what = sd.text(difference) if sd.count_nodes(difference) < 30 else "border"
                    return Explanation("branch", f"{how}{where}where |{what}| <= {reach:.3g}")
    return None


def _magnitude(evidence: Evidence, wrong: np.ndarray, right: np.ndarray) -> Explanation | None:
    """Test for errors above or below a size of an input, or of an intermediate result."""
    how = _inner(evidence, evidence.output)
    small = None
    for name, opposite, values in _features(evidence):
        for d in _aligned(values, wrong.shape):
            for text, v in ((f"|{name}|", np.abs(d)), (name, d), (opposite, -d)):
                v = np.nan_to_num(v, nan=0.0)
                least = _rounded(float(v[wrong].min()), 4, np.floor)
                most = _rounded(float(v[wrong].max()), 3, np.ceil)
                beyond = v >= least  # use the rounded bound, because the message states it
                inside = right & ~beyond
                if (
                    least >= 1
                    and _share(beyond, wrong, right) > 0.85
                    and _mostly_right(evidence, wrong, inside)
                ):
                    kind = "dead-tail" if how == "it is 0" else "branch"
                    return Explanation(kind, f"{how} where {text} >= {least:.4g}")
                below = v <= most
                near = text[0] == "|" and most < 1 and (right & ~below).any()
                if small is None and near and _share(below, wrong, right) > 0.5:
                    # Keep looking: a tail in another feature is the better explanation.
                    small = Explanation("branch", f"{how} where {text} <= {most:.3g}")
    return small


def _rounded(value: float, digits: int, towards: Callable[[float], float]) -> float:
    """Round a number to the digits of the message, in a direction.

    >>> _rounded(1.00001, 4, np.floor), _rounded(0.99999, 3, np.ceil)
    (1.0, 1.0)
    """
    if not value or not np.isfinite(value):
        return value
    unit = 10.0 ** (np.floor(np.log10(abs(value))) - digits + 1)
    return float(f"{towards(value / unit) * unit:.{digits}g}")


def _features(evidence: Evidence) -> Iterator[tuple[str, str, np.ndarray]]:
    """Yield the inputs, with that of the output first, then intermediate results of the formula.

    Each comes with its text, the text of its negative, and its values.
    """
    run = evidence.run
    names = [x.name for x in run.quantity.symbols]
    for name in sorted(names, key=lambda n: n != evidence.by):
        yield name, f"-{name}", np.asarray(run.points[name], float)
    nodes = [
        x
        for x in topological([evidence.forward])
        if x.args and x.dtype is float and not isinstance(x.op, ops.Fill)
    ][:30]
    quantity = type(run.quantity)("inner", tuple(nodes), (), run.quantity.symbols)
    if nodes:
        for x, values in zip(nodes, quantity.values(run.points), strict=True):
            short = sd.count_nodes(x) < 30
            name, opposite = (sd.text(x), sd.text(-x)) if short else (_UNNAMED, f"-({_UNNAMED})")
            yield name, opposite, values


def _equal(run: Run, wrong: np.ndarray, right: np.ndarray) -> Explanation | None:
    """Test for errors where elements of an input are equal, as at the ties of a sort."""
    for name, x in run.points.items():
        flat = np.sort(np.asarray(x, float).reshape(len(x), -1), axis=1)
        alike = (flat[:, 1:] == flat[:, :-1]).any(axis=1)
        inside = np.broadcast_to(alike.reshape(-1, *(1,) * (wrong.ndim - 1)), wrong.shape)
        if (right & ~inside).any() and _share(inside, wrong, right) > 0.05:
            return Explanation("tie", f"it is wrong where elements of {name} are equal")
    return None


def _zero(run: Run, wrong: np.ndarray, right: np.ndarray) -> Explanation | None:
    for name, x in run.points.items():
        for d in _aligned(np.asarray(x == 0, float), wrong.shape):
            if _share(d > 0, wrong, right) > 0.5:
                return Explanation("branch", f"it is wrong where {name} is exactly 0")
    return None
