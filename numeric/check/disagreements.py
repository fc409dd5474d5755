"""Two formulas at one point: compare them in digits, and prove a difference."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np

import symdiff as sd
from numeric.check.balls import enclose
from symdiff.calculus.kinks import differences
from symdiff.errors import Unsupported
from symdiff.exact.components import filled
from symdiff.exact.evaluation import evaluate_exact, evaluate_mp
from symdiff.graph import ops
from symdiff.graph.node import topological
from symdiff.scalars.vocabulary import FACTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numeric.check.comparison import Proof
    from symdiff.graph.expr import Expr

    Point = dict[str, np.ndarray]

DIGITS = 50
"""The number of digits in which values are compared."""

_AGREE = mpmath.mpf(10) ** (5 - DIGITS)  # the largest relative difference of equal values
_FIRST = 5  # digits that tell a number from 0
_MORE_DIGITS = (200, 400)  # the digits for numbers that may be exactly 0
_NOTHING = mpmath.mpf(10) ** -150  # smaller results at these digits count as 0
_HIDDEN = mpmath.mpf(0)  # marks a value that is 0 except for terms that rounding hides
_HIDING = mpmath.mpf(10) ** -140  # rounding may hide terms below this size


@dataclass(frozen=True)
class Difference:
    """A point at which the digits of two formulas differ."""

    point: Point
    component: tuple[int, ...]
    values: tuple[Any, Any]
    size: float  # relative; inf where only one has a value

    @property
    def domain(self) -> bool:
        """Whether only one formula has a value."""
        return self.size == float("inf")


def difference_at(
    f: Expr, g: Expr, symbols: Sequence[Expr], point: Point, jumps: Sequence[Expr] = ()
) -> Difference | None:
    """Return the largest difference between elements of two formulas at a point, in digits.

    Return None also where rounding alone may decide whether one of ``jumps`` is 0.
    """
    env = {x: np.asarray(point[x.name]) for x in symbols}
    try:
        a, b = _digits(f, env), _digits(g, env)
    except ArithmeticError:  # too many digits would be needed
        return None
    best: Difference | None = None
    for place in np.ndindex(a.shape):
        size = _relative(a[place], b[place])
        if size and (best is None or size > best.size):
            best = Difference(point, place, (a[place], b[place]), size)
    return None if best and any(not _certain(d, env) for d in jumps) else best


def _certain(f: Expr, env: Mapping[Expr, np.ndarray]) -> bool:
    """Whether the first digits of a value are certain; an exact 0 counts, too."""
    used = frozenset(sd.free_symbols([f]))
    try:
        sd.evalf(f, _FIRST, {x: value for x, value in env.items() if x in used})
    except ArithmeticError:
        return False
    return True


# Digits -------------------------------------------------------------------------------------------


def _digits(f: Expr, env: Mapping[Expr, np.ndarray]) -> np.ndarray:
    """Return the value to 50 digits; None for an element without that many certain digits.

    Some cancellation hides every digit.  Two precisions then separate numbers that are as good as
    0, and the other elements of an array, from unknown ones: the inverse of a singular matrix, a
    jump.
    """
    used = frozenset(sd.free_symbols([f]))
    own = {x: value for x, value in env.items() if x in used}
    try:
        return np.asarray(sd.evalf(f, DIGITS, own), object)
    except ArithmeticError:
        short, long = (
            np.asarray(evaluate_mp([f], own, digits)[0], object) for digits in _MORE_DIGITS
        )
    many = short.size > 1
    settled = [_settled(a, b, many) for a, b in zip(short.ravel(), long.ravel(), strict=True)]
    return np.asarray(filled(short.shape, settled), object)


def _settled(short: Any, long: Any, many: bool) -> Any:
    if max(abs(short), abs(long)) < _NOTHING:
        return _HIDDEN
    return long if many and _relative(short, long) == 0 else None


def _relative(a: Any, b: Any) -> float:
    """Return the relative difference: 0 for none, inf where only one is a number."""
    if a is None or b is None:
        return 0.0
    if not (mpmath.isfinite(a) and mpmath.isfinite(b)):
        return float("inf") if mpmath.isfinite(a) != mpmath.isfinite(b) else 0.0
    with mpmath.workdps(2 * DIGITS):
        off, size = abs(mpmath.mpf(a) - mpmath.mpf(b)), max(abs(a), abs(b))
        hidden = (a is _HIDDEN or b is _HIDDEN) and off <= _HIDING
        return 0.0 if off <= _AGREE * size or hidden else float(off / size)


def proof(f: Expr, g: Expr, env: Mapping[Expr, np.ndarray], place: tuple[int, ...]) -> Proof | None:
    """Return the kind of proof that they differ in an element at a point; None without proof."""
    outputs = [x[place] if place else x for x in (f, g)]
    used = frozenset(sd.free_symbols(outputs))
    own = {x: value for x, value in env.items() if x in used}
    try:
        a, b = evaluate_exact(outputs, own)
        return "exact" if a != b else None
    except ArithmeticError:
        pass
    # Irrational values: disjoint enclosures prove a difference as well.
    try:
        balls = []
        for x in outputs:
            symbols = frozenset(sd.free_symbols([x]))
            balls.append(enclose(x, {k: v for k, v in own.items() if k in symbols}, digits=DIGITS))
    except (ImportError, Unsupported, ValueError):
        return None
    a, b = balls
    return "balls" if a.upper < b.lower or b.upper < a.lower else None


# Simpler points ----------------------------------------------------------------------------------


def shortened(
    best: Difference, shown: Callable[[Point], tuple[Difference, object] | None]
) -> Difference:
    """Simplify the point: halve large elements and drop digits while ``shown`` accepts it."""
    for name, x in best.point.items():
        for place in np.ndindex(x.shape) if x.dtype.kind == "f" else ():
            for value in (*_halves(float(x[place])), *_shorter(float(x[place]))):
                now = float(best.point[name][place])
                # Never trade for a longer number, nor for the same number with another sign.
                if len(repr(value)) > len(repr(now)) or abs(value) == abs(now):
                    continue
                trial = {k: np.array(v) for k, v in best.point.items()}
                trial[name][place] = value
                simpler = shown(trial)
                best = best if simpler is None else simpler[0]
    return best


def length(difference: Difference) -> float:
    """Return how far, in decades, the magnitudes of a point are from 1."""
    sizes = np.concatenate(
        [np.abs(np.asarray(x, float)).ravel() for x in difference.point.values()] or [np.zeros(0)]
    )
    return float(np.abs(np.log10(sizes[sizes > 0])).max(initial=0.0))


def _halves(x: float) -> Iterator[float]:
    """Yield smaller numbers of one digit, down to 1."""
    while abs(x) > 1:
        x = float(f"{x / 2:.0e}")
        yield x


def _shorter(x: float) -> Iterator[float]:
    """Yield numbers of a few digits that are not smaller, the longest one first."""
    for digits in (2, 1, 0):
        unit = 10.0 ** (np.floor(np.log10(abs(x))) - digits) if x else 1.0
        yield float(np.copysign(float(f"{np.ceil(abs(x) / unit) * unit:.{digits}e}"), x))


# Borders ------------------------------------------------------------------------------------------


_STEPS = ("sign", "step")  # functions that jump at 0


def jumps(formulas: Sequence[Expr]) -> list[Expr]:
    """Return differences at whose zeros the formulas jump."""
    candidates = dict.fromkeys([*differences(formulas), *_steps(formulas)])
    return [d for d in candidates if d.args]


def _steps(formulas: Sequence[Expr]) -> Iterator[Expr]:
    for x in topological(formulas):
        name = x.op.name if isinstance(x.op, ops.Pointwise) else ""
        if name in _STEPS or name.startswith("sign_in"):
            yield x.args[0]
        elif name == "round":
            half = x.args[0] + Fraction(1, 2)
            yield half - sd.round(half)
        elif name in FACTS and FACTS[name].rounds:
            yield x.args[0] - sd.round(x.args[0])
        elif name in ("floor_divide", "mod"):
            quotient = x.args[0] / x.args[1]
            yield quotient - sd.round(quotient)


def poles_and_kinks(formulas: Sequence[Expr]) -> list[Expr]:
    """Return differences at whose zeros the formulas have a kink, a pole, or no value."""
    zeros = dict.fromkeys(d for f in formulas for d in _zeros_of(f))
    return [d for d in zeros if sd.free_symbols([d])]


def _zeros_of(f: Expr) -> Iterator[Expr]:
    for x in topological([f]):
        op = x.op
        if isinstance(op, ops.Product):
            for a, e in zip(x.args, op.exponents, strict=True):
                if e < 0 or e != int(e):
                    yield from a.args if isinstance(a.op, ops.Product) else (a,)
        elif isinstance(op, ops.Pointwise) and op.name in (*_STEPS, "abs", "log"):
            yield x.args[0]
        elif isinstance(op, ops.Pointwise) and op.name in ("maximum", "minimum"):
            yield x.args[0] - x.args[1]
