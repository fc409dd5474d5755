"""Classify the behaviour of a function of one number at a place, by its values at both sides."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from numeric.show.marks import Mark
from numeric.show.pictures import number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from numeric.show.marks import Kind
    from numeric.show.subjects import Slice

    Array = NDArray[np.float64]

FALLS, DISTANCES = 20, 10
"""The factor between the distances of values next to a candidate, and their number."""

FALLS_IN_FLOATS, DISTANCES_IN_FLOATS = 10, 5
"""The same for values in floats, which lose digits at smaller distances."""

_FALLS = 0.8  # values settle if each change is at most this part of the one before
_APART = 4.0  # two limits are distinct if they differ by more than this many last changes


def judged(rows: Slice, x: float, gap: float, exact: bool) -> Mark | None:
    """Return the mark of the lowest discontinuous derivative at x; None if all are continuous."""
    # Floats are cheap but may only show rounding errors: confirm a mark with many digits.
    mark = _seen(rows, x, gap, False)
    return _seen(rows, x, gap, True) if exact and mark is not None else mark


def _seen(rows: Slice, x: float, gap: float, exact: bool) -> Mark | None:
    left, right = _beside(rows, x, gap, exact)
    at = rows([x])
    starts = np.cumsum([0, *(len(y) for y in at)])
    for order, (y, start) in enumerate(zip(at, starts, strict=False)):
        for k in range(len(y)):
            i = start + k
            kind = _kind([v[i] for v in left], [v[i] for v in right], float(y[k, 0]))
            if kind == "jump" and order:
                return Mark("kink", order - 1, x)
            if kind is not None:
                return Mark(kind, order, x)
    return None


def _beside(rows: Slice, x: float, gap: float, exact: bool) -> tuple[list[Array], list[Array]]:
    """Return the rows at the left and at the right, at distances that fall from ``gap``."""
    sides: tuple[list[Array], list[Array]] = ([], [])
    least = 64 * float(np.spacing(max(abs(x), gap)))
    exact = exact and rows.exact(Fraction(x) + Fraction(gap)) is not None
    factor, count = (FALLS, DISTANCES) if exact else (FALLS_IN_FLOATS, DISTANCES_IN_FLOATS)
    for side, sign in zip(sides, (-1, 1), strict=True):
        for k in range(count):
            if k > 3 and gap < least * factor**k:
                break
            point = Fraction(x) + sign * Fraction(gap) / factor**k
            values = rows.exact(point) if exact else None
            if values is None:
                values = [y[:, 0] for y in rows([float(point)])]
            side.append(np.concatenate(values))
    return sides


def _kind(left: Sequence[float], right: Sequence[float], at: float) -> Kind | None:
    """Classify a function by its values next to a place; None where it is continuous."""
    a, b = _end(left), _end(right)
    if a is None or b is None:
        return None if a is b else "edge"
    for end in (a, b):
        if end.kind is not None:
            return end.kind
    unsure = _APART * (a.change + b.change) + 1e-9 * max(map(abs, (*left, *right)))
    # An undefined value between equal limits is not a feature.
    alone = bool(np.isfinite(at)) and abs(at - (a.limit + b.limit) / 2) > unsure
    return "jump" if alone or abs(a.limit - b.limit) > unsure else None


class _End(NamedTuple):
    """The limit of values from one side, and their last change; the kind where there is none."""

    limit: float
    change: float
    kind: Literal["pole", "no limit"] | None = None


def _end(side: Sequence[float]) -> _End | None:
    """Return the limit of values from one side; None where there are no values."""
    values = np.array(side)
    if not np.isfinite(values[-3:]).all():
        return _End(np.inf, np.inf, "pole") if np.isinf(values[-1]) else None
    values = values[np.isfinite(values)]
    last = np.abs(np.diff(values))[-4:]
    still = 1e-12 * abs(values[-1])
    if (last[1:] <= np.maximum(_FALLS * last[:-1], still)).all():
        return _End(float(values[-1]), float(last[-1]))
    grows = (np.diff(np.abs(values[-6:])) > 0).all()
    return _End(np.nan, np.inf, "pole" if grows else "no limit")


def described(marks: Sequence[Mark], x: str, f: str = "f") -> Iterator[tuple[tuple[str, int], str]]:
    """Yield the kinds of marks, and their places in words: a few places, then their number.

    >>> list(described([Mark("kink", 0, 1.0), Mark("pole", 1, 2.0)], "x"))
    [(('kink', 0), 'kink of f at x = 1'), (('pole', 1), 'pole of f′ at x = 2')]
    """
    for kind, order in dict.fromkeys((m.kind, m.order) for m in marks):
        own = [m.x for m in marks if (m.kind, m.order) == (kind, order)]
        words = {"edge": "edge of the domain", "no limit": "no limit"}.get(kind, kind)
        some = ", ".join(map(number, own[:4]))
        more = f" … ({len(own)} places)" if len(own) > 4 else ""
        yield (kind, order), f"{words} of {f}{primes(order)} at {x} = {some}{more}"


def primes(order: int) -> str:
    """Return the sign of a derivative after the function's name.

    >>> [primes(k) for k in range(5)]
    ['', '′', '″', '‴', '⁽⁴⁾']
    """
    if order <= 3:
        return ("", "′", "″", "‴")[order]
    return f"⁽{''.join('⁰¹²³⁴⁵⁶⁷⁸⁹'[int(c)] for c in str(order))}⁾"


def primes_tex(order: int) -> str:
    """Return the sign of a derivative in LaTeX.

    >>> [primes_tex(k) for k in (0, 2, 4)]
    ['', "''", '^{(4)}']
    """
    return "'" * order if order <= 3 else f"^{{({order})}}"


def subscript(number: int) -> str:
    """Write a number as an index.

    >>> subscript(12)
    '₁₂'
    """
    return "".join("₀₁₂₃₄₅₆₇₈₉"[int(c)] for c in str(number))
