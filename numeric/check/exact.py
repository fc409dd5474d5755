"""Exact derivatives, the reference of every check: at many points in floats, at one in digits.

A ``Quantity`` is the claim of a candidate, such as the gradient of a formula by its inputs, as
expressions of the inputs and seeds.  It is evaluated at a batch of points at once, which is fast
and right up to rounding.  Where rounding matters, it is evaluated at single points with mpmath.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np

import symdiff as sd
from numeric.check.derivatives import scale_of_terms
from numeric.lowering.function import lower
from symdiff.calculus.kinks import differences, kinks_in
from symdiff.errors import Unsupported
from symdiff.exact.evaluation import evaluate_mp
from symdiff.graph import ops
from symdiff.graph.node import topological
from symdiff.locks import cached_property
from symdiff.opaque_ops.decompositions import Eigh, Svd

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numeric.lowering.function import Function
    from symdiff.graph.expr import Expr

    Points = Mapping[str, np.ndarray]  # by name, an array with the points as its first axis

DIGITS = 25
"""The number of digits of exact values at single points."""

_MOST_DIGITS = 400  # the precision for values that may be exactly 0 or at a jump

_CHUNK = 1 << 20  # elements of the largest array that a batch may need


@dataclass(frozen=True)
class Quantity:
    """Derivatives of one kind: ``outputs[i]``, in ``symbols``, is the derivative by ``by[i]``."""

    name: str  # gradient, vjp, jvp or hessian
    outputs: tuple[Expr, ...]
    by: tuple[str, ...]
    symbols: tuple[Expr, ...]  # the inputs, then the seeds

    @cached_property
    def is_spectral(self) -> bool:
        """Whether it contains eigenvectors or singular vectors, which turn where values repeat."""
        return any(isinstance(x.op, Eigh | Svd) for x in topological(self.outputs))

    @cached_property
    def _batched(self) -> _Batched:
        return _Batched(self.outputs, self.symbols)

    def values(self, points: Points) -> list[np.ndarray]:
        """Return the outputs at every point: float64 arrays, the points along the first axis."""
        return self._batched.values(points)

    def scales(self, points: Points) -> list[np.ndarray]:
        """Return S of every output at every point: addends replaced by their absolute values."""
        return self._batched.scales(points)

    def strained(self, points: Points, dtype: np.dtype) -> np.ndarray:
        """Mask the points at which partial products, or results, leave the range of the dtype."""
        return self._batched.strained(points, dtype)

    def precise(self, point: Points, i: int) -> np.ndarray:
        """Return output ``i`` at one point, as an object array of mpmath numbers.

        A value that rounding hides is computed with enough digits to show that it is 0.  A value
        without a definition by components, such as singular values, is computed in floats.
        """
        y = self.outputs[i]
        used = frozenset(sd.free_symbols([y]))
        env = {x: number_array(x, point[x.name]) for x in self.symbols if x in used}
        try:
            return np.asarray(sd.evalf(y, DIGITS, env), object)
        except ArithmeticError:
            return np.asarray(evaluate_mp([y], env, _MOST_DIGITS)[0], object)
        except Unsupported:  # singular values, for example: only floats are available
            floats = self.values({name: np.asarray(x)[None] for name, x in point.items()})[i][0]
            return np.asarray(np.vectorize(mpmath.mpf, otypes=[object])(floats))


class _Batched:
    """Expressions at many points at once."""

    def __init__(self, outputs: Sequence[Expr], symbols: Sequence[Expr]) -> None:
        self.symbols, self.outputs = tuple(symbols), tuple(outputs)
        self.stacked = {x: sd.symbol(x.name, ("points", *x.shape)) for x in symbols}
        size = max(math.prod(map(int, x.shape)) for x in topological([*outputs, *symbols]))
        self.chunk = max(1, _CHUNK // max(size, 1))

    @cached_property
    def expressions(self) -> tuple[Expr, ...] | None:
        """The outputs with a leading axis of points; None if constant or without a batch rule."""
        if not sd.free_symbols(self.outputs):
            return None
        try:
            return tuple(sd.batch(self.outputs, self.stacked))
        except Unsupported:
            return None

    @cached_property
    def function(self) -> Function:
        if self.expressions is None:
            return lower(list(self.outputs), list(self.symbols))
        return lower(list(self.expressions), list(self.stacked.values()))

    @cached_property
    def _nodes(self) -> _Batched:
        """The intermediate results that are real."""
        return _Batched([x for x in topological(self.outputs) if x.dtype is float], self.symbols)

    def _chunks(self, points: Points) -> Iterator[list[np.ndarray]]:
        count = len(next(iter(points.values())))
        step = self.chunk if self.expressions is not None else 1
        arrays = [number_array(x, points[x.name]) for x in self.symbols]
        for start in range(0, count, step):
            yield [a[start : start + step] for a in arrays]

    def values(self, points: Points) -> list[np.ndarray]:
        with sd.kinks("subgradient"):
            parts = [self._at(args) for args in self._chunks(points)]
        return [np.concatenate(column) for column in zip(*parts, strict=True)]

    def _at(self, args: list[np.ndarray]) -> list[np.ndarray]:
        batched = self.expressions is not None
        try:
            results = self.function(*args) if batched else self.function(*[a[0] for a in args])
        except (ArithmeticError, ValueError, np.linalg.LinAlgError):
            count = len(args[0])
            if count > 1:  # a singular matrix stops the batch, so halve it: other points are fine
                halves = [[a[: count // 2] for a in args], [a[count // 2 :] for a in args]]
                pairs = zip(*map(self._at, halves), strict=True)
                return [np.concatenate(pair) for pair in pairs]
            return [np.full((1, *map(int, y.shape)), np.nan) for y in self.outputs]
        return [np.asarray(y, np.float64)[() if batched else None] for y in results]

    def scales(self, points: Points) -> list[np.ndarray]:
        if self.expressions is None:
            return [np.abs(value) for value in self.values(points)]
        parts, counts = [], []  # the counts: a constant output has no axis of points
        for args in self._chunks(points):
            counts.append(len(args[0]))
            env = dict(zip(self.stacked.values(), args, strict=True))
            try:
                parts.append(scale_of_terms(self.expressions, env, {"points": len(args[0])}))
            except (ArithmeticError, ValueError, np.linalg.LinAlgError):
                parts.append([np.abs(value) for value in self._at(args)])
        shapes = [tuple(map(int, y.shape)) for y in self.outputs]
        return [
            np.concatenate(
                [np.broadcast_to(p, (n, *s)) for p, n in zip(column, counts, strict=True)]
            )
            for column, s in zip(zip(*parts, strict=True), shapes, strict=True)
        ]

    def strained(self, points: Points, dtype: np.dtype) -> np.ndarray:
        """Mask the points with a subnormal result or a partial product that leaves the dtype."""
        logs: dict[Expr, tuple[np.ndarray, np.ndarray]] = {}
        count = len(next(iter(points.values())))
        info = np.finfo(dtype)
        largest, least = (float(np.log(float(x))) for x in (info.max, info.smallest_normal))
        mask = np.zeros(count, bool)
        nodes = self._nodes
        for x, value in zip(nodes.outputs, nodes.values(points), strict=True):
            size = np.log(np.abs(value.reshape(count, -1)))
            if x.args:
                mask |= (size < least).any(axis=1, where=np.isfinite(size))
            up = np.nanmax(np.where(np.isfinite(size), size, 0.0), axis=1, initial=0.0)
            down = np.nanmin(np.where(np.isfinite(size), size, 0.0), axis=1, initial=0.0)
            powers = x.op.exponents if isinstance(x.op, ops.Product) else (1,) * len(x.args)
            if isinstance(x.op, ops.Product | ops.Contract | ops.Strong) and x.args:
                # The order of a product is free, so bound it: all large factors first, or all small
                # ones.
                up, down = np.zeros(count), np.zeros(count)
                for a, e in zip(x.args, powers, strict=True):
                    ups, downs = logs.get(a, (up * 0, down * 0))
                    up = up + float(e) * (ups if e > 0 else downs)
                    down = down + float(e) * (downs if e > 0 else ups)
                    if e < 0:  # a divisor
                        mask |= (-float(e) * ups > largest) | (-float(e) * downs < least)
                mask |= (up > largest) | (down < least)
            logs[x] = up, down
        return mask


class Forward:
    """The formula itself: where its values are finite, and its borders."""

    def __init__(self, value: Expr, symbols: Sequence[Expr]) -> None:
        self.value, self.symbols = value, tuple(symbols)
        nodes = [x for x in topological([value]) if not isinstance(x.op, ops.Symbol)]
        inner = [x for x in nodes if x.dtype is float]
        self._value = _Batched([value], symbols)
        self._inner = _Batched(inner or [value], symbols)

    def values(self, points: Points) -> np.ndarray:
        """Return the values at every point, in float64."""
        return self._value.values(points)[0]

    def overflows(self, points: Points, dtype: np.dtype) -> np.ndarray:
        """Mask the points at which an intermediate result leaves the range of the dtype."""
        largest = np.finfo(dtype).max
        results = self._inner.values(points)
        count = len(next(iter(points.values())))
        beyond = np.zeros(count, bool)
        for y in results:
            beyond |= ~(np.abs(y.reshape(count, -1)) <= largest).all(axis=1)
        return beyond


class Borders:
    """The borders of formulas and derivatives: differences at whose zeros they change their branch.

    ``also`` holds additional differences at whose zeros the formulas themselves change.
    """

    def __init__(
        self,
        forwards: Sequence[Expr],
        outputs: Sequence[Expr],
        symbols: Sequence[Expr],
        also: Sequence[Expr] = (),
    ) -> None:
        self.hits = [kink.hit for kink in kinks_in(outputs)]
        own = list(dict.fromkeys([*differences(forwards), *also]))
        borders = dict.fromkeys([*own, *differences([*outputs, *self.hits])])
        self.differences = list(borders)
        self._own = len(own)
        self._values = _Batched(self.differences, symbols) if borders else None
        self._hits = _Batched(self.hits, symbols) if self.hits else None

    def __bool__(self) -> bool:
        return self._values is not None

    def values(self, points: Points) -> list[np.ndarray]:
        """Return the differences at every point."""
        return self._values.values(points) if self._values else []

    def met(self, points: Points) -> np.ndarray:
        """Mask the points exactly at a kink, or at a border of the formula itself."""
        count = len(next(iter(points.values())))
        zeros = [d == 0 for d in self.values(points)[: self._own]]
        zeros += [h != 0 for h in self._hits.values(points)] if self._hits else []
        met = np.zeros(count, bool)
        for where in zeros:
            met |= where.reshape(count, -1).any(axis=1)
        return met


def quantity(name: str, forward: Expr, inputs: Sequence[Expr], symbols: Sequence[Expr]) -> Quantity:
    """Return the derivatives of a formula by some of its symbols.

    ==========  ==================================================================================
    gradient    the gradient of a scalar
    vjp         the gradient of ``sum(w * y)``, where w is the seed ``cotangent``
    jvp         the derivative along the seeds ``x_tangent``
    hessian     the Hessian of a scalar, all blocks row by row
    ==========  ==================================================================================

    Raises TypeError for a gradient or Hessian of a forward that is not scalar.

    >>> x = sd.symbol("x", 3)
    >>> quantity("vjp", sd.sin(x), [x], [x]).outputs
    (<cotangent*cos(x): (3,)>,)
    """
    if name in ("gradient", "hessian") and forward.shape:
        raise TypeError(
            f"audit: {name}= is for a scalar, and the forward has shape {forward.shape}; give "
            "vjp=, a function of the inputs and the cotangent"
        )
    by = tuple(x.name for x in inputs)
    if name == "gradient":
        return Quantity(name, tuple(sd.grad(forward, list(inputs))), by, tuple(symbols))
    if name == "vjp":
        w = sd.symbol("cotangent", forward.shape)
        gradient = sd.grad(sd.sum(w * forward), list(inputs))
        return Quantity(name, tuple(gradient), by, (*symbols, w))
    if name == "jvp":
        seeds = [sd.symbol(f"{x.name}_tangent", x.shape) for x in inputs]
        along = sd.jvp(forward, list(inputs), seeds)
        return Quantity(name, (along,), ("the tangents",), (*symbols, *seeds))
    blocks = {
        f"{a.name}, {b.name}": sd.jacobian(g, b)
        for a, g in zip(inputs, sd.grad(forward, list(inputs)), strict=True)
        for b in inputs
    }
    return Quantity(name, tuple(blocks.values()), tuple(blocks), tuple(symbols))


def number_array(x: Expr, value: object) -> np.ndarray:
    """Convert a symbol's value to float64; keep the dtype of integer and boolean data."""
    return np.asarray(value, np.float64 if x.dtype is float else None)


def as_float(value: Any) -> float:
    """Convert an mpmath number to the nearest float."""
    # float() of an mpmath infinity or nan fails in some versions; their text is portable.
    return float(value) if mpmath.isfinite(value) else float(str(value))


def as_floats(values: np.ndarray) -> np.ndarray:
    """Convert an object array of mpmath numbers to floats."""
    return np.asarray(np.vectorize(as_float, otypes=[float])(values))
