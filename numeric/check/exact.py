"""The exact derivatives that others are held against: at many points in floats, at one in digits.

A ``Quantity`` is what a candidate claims to compute, such as the gradient of a formula by its
inputs, as expressions of the inputs and seeds.  It is evaluated at a batch of points at once, which
is fast and right up to rounding, and where that decides, at single points through mpmath.
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
"""Of exact values at single points."""

_MOST_DIGITS = 400  # where it cannot be told that they are right: the value is 0, or at a jump

_CHUNK = 1 << 20  # elements of the largest array that a batch may make


@dataclass(frozen=True)
class Quantity:
    """The derivatives of one kind: ``outputs[i]`` is that by ``by[i]``, of ``symbols``."""

    name: str  # gradient, vjp, jvp or hessian
    outputs: tuple[Expr, ...]
    by: tuple[str, ...]
    symbols: tuple[Expr, ...]  # the inputs, then the seeds

    @cached_property
    def is_spectral(self) -> bool:
        """Whether eigenvectors or singular vectors are in it, which turn where values are equal."""
        return any(isinstance(x.op, Eigh | Svd) for x in topological(self.outputs))

    @cached_property
    def _batched(self) -> _Batched:
        return _Batched(self.outputs, self.symbols)

    def values(self, points: Points) -> list[np.ndarray]:
        """The outputs at every point, as float64 arrays with the points first."""
        return self._batched.values(points)

    def scales(self, points: Points) -> list[np.ndarray]:
        """S of every output at every point: addends replaced by their absolute values."""
        return self._batched.scales(points)

    def strained(self, points: Points, dtype: np.dtype) -> np.ndarray:
        """Whether products leave the dtype in some order, or results do, for every point."""
        return self._batched.strained(points, dtype)

    def precise(self, point: Points, i: int) -> np.ndarray:
        """Output ``i`` at one point, as an object array of mpmath numbers.

        Of a value whose digits cannot be told from rounding there are enough to say that it is 0;
        what has no definition by components, as singular values, is computed in floats.
        """
        y = self.outputs[i]
        used = frozenset(sd.free_symbols([y]))
        env = {x: number_array(x, point[x.name]) for x in self.symbols if x in used}
        try:
            return np.asarray(sd.evalf(y, DIGITS, env), object)
        except ArithmeticError:
            return np.asarray(evaluate_mp([y], env, _MOST_DIGITS)[0], object)
        except Unsupported:  # as singular values: floats are the best there is
            found = self.values({name: np.asarray(x)[None] for name, x in point.items()})[i][0]
            return np.asarray(np.vectorize(mpmath.mpf, otypes=[object])(found))


class _Batched:
    """Expressions at many points at once."""

    def __init__(self, outputs: Sequence[Expr], symbols: Sequence[Expr]) -> None:
        self.symbols, self.outputs = tuple(symbols), tuple(outputs)
        self.stacked = {x: sd.symbol(x.name, ("points", *x.shape)) for x in symbols}
        size = max(math.prod(map(int, x.shape)) for x in topological([*outputs, *symbols]))
        self.chunk = max(1, _CHUNK // max(size, 1))

    @cached_property
    def expressions(self) -> tuple[Expr, ...] | None:
        """The outputs with a leading axis; None where they are constant or have no batches."""
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
        """The real intermediate results."""
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
            found = self.function(*args) if batched else self.function(*[a[0] for a in args])
        except (ArithmeticError, ValueError, np.linalg.LinAlgError):
            count = len(args[0])
            if count > 1:  # a singular matrix stops the batch: the others are right
                halves = [[a[: count // 2] for a in args], [a[count // 2 :] for a in args]]
                pairs = zip(*map(self._at, halves), strict=True)
                return [np.concatenate(pair) for pair in pairs]
            return [np.full((1, *map(int, y.shape)), np.nan) for y in self.outputs]
        return [np.asarray(y, np.float64)[() if batched else None] for y in found]

    def scales(self, points: Points) -> list[np.ndarray]:
        if self.expressions is None:
            return [np.abs(value) for value in self.values(points)]
        parts, counts = [], []  # a constant has no axis of points
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
        """Whether a result is subnormal, or some of a product's factors alone leave the dtype."""
        logs: dict[Expr, tuple[np.ndarray, np.ndarray]] = {}
        count = len(next(iter(points.values())))
        info = np.finfo(dtype)
        largest, least = (float(np.log(float(x))) for x in (info.max, info.smallest_normal))
        found = np.zeros(count, bool)
        nodes = self._nodes
        for x, value in zip(nodes.outputs, nodes.values(points), strict=True):
            size = np.log(np.abs(value.reshape(count, -1)))
            if x.args:
                found |= (size < least).any(axis=1, where=np.isfinite(size))
            up = np.nanmax(np.where(np.isfinite(size), size, 0.0), axis=1, initial=0.0)
            down = np.nanmin(np.where(np.isfinite(size), size, 0.0), axis=1, initial=0.0)
            powers = x.op.exponents if isinstance(x.op, ops.Product) else (1,) * len(x.args)
            if isinstance(x.op, ops.Product | ops.Contract | ops.Strong) and x.args:
                up, down = np.zeros(count), np.zeros(count)
                for a, e in zip(x.args, powers, strict=True):
                    ups, downs = logs.get(a, (up * 0, down * 0))
                    up = up + float(e) * (ups if e > 0 else downs)
                    down = down + float(e) * (downs if e > 0 else ups)
                    if e < 0:  # which is divided by
                        found |= (-float(e) * ups > largest) | (-float(e) * downs < least)
                found |= (up > largest) | (down < least)
            logs[x] = up, down
        return found


class Forward:
    """The formula itself: where its values are finite, and its borders."""

    def __init__(self, value: Expr, symbols: Sequence[Expr]) -> None:
        self.value, self.symbols = value, tuple(symbols)
        nodes = [x for x in topological([value]) if not isinstance(x.op, ops.Symbol)]
        inner = [x for x in nodes if x.dtype is float]
        self._value = _Batched([value], symbols)
        self._inner = _Batched(inner or [value], symbols)

    def values(self, points: Points) -> np.ndarray:
        """The values at every point, in float64."""
        return self._value.values(points)[0]

    def overflows(self, points: Points, dtype: np.dtype) -> np.ndarray:
        """Whether an intermediate result leaves the numbers of the dtype, for every point."""
        largest = np.finfo(dtype).max
        found = self._inner.values(points)
        count = len(next(iter(points.values())))
        beyond = np.zeros(count, bool)
        for y in found:
            beyond |= ~(np.abs(y.reshape(count, -1)) <= largest).all(axis=1)
        return beyond


class Borders:
    """Where formulas and their derivatives change their branch: a difference is 0 there.

    ``also`` are further differences at whose zeros the formulas themselves change.
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
        found = dict.fromkeys([*own, *differences([*outputs, *self.hits])])
        self.differences = list(found)
        self._own = len(own)
        self._values = _Batched(self.differences, symbols) if found else None
        self._hits = _Batched(self.hits, symbols) if self.hits else None

    def __bool__(self) -> bool:
        return self._values is not None

    def values(self, points: Points) -> list[np.ndarray]:
        """The differences at every point."""
        return self._values.values(points) if self._values else []

    def met(self, points: Points) -> np.ndarray:
        """Whether a kink, or a border of the formula itself, is met exactly, for every point."""
        count = len(next(iter(points.values())))
        found = [d == 0 for d in self.values(points)[: self._own]]
        found += [h != 0 for h in self._hits.values(points)] if self._hits else []
        met = np.zeros(count, bool)
        for where in found:
            met |= where.reshape(count, -1).any(axis=1)
        return met


def quantity(name: str, forward: Expr, inputs: Sequence[Expr], symbols: Sequence[Expr]) -> Quantity:
    """The derivatives of a formula by some of its symbols.

    ==========  ==================================================================================
    gradient    of a scalar
    vjp         of ``sum(w * y)``, w being the seed ``cotangent``
    jvp         along the seeds ``x_tangent``
    hessian     of a scalar, all blocks row by row
    ==========  ==================================================================================

    Raises TypeError for a gradient or Hessian of what is no scalar.

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
        found = sd.grad(sd.sum(w * forward), list(inputs))
        return Quantity(name, tuple(found), by, (*symbols, w))
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
    """A value of a symbol: in float64, but for data that are integers or booleans."""
    return np.asarray(value, np.float64 if x.dtype is float else None)


def as_float(value: Any) -> float:
    """An mpmath number as the nearest float."""
    return float(value) if mpmath.isfinite(value) else float(str(value))


def as_floats(values: np.ndarray) -> np.ndarray:
    """An object array of mpmath numbers as one of floats."""
    return np.asarray(np.vectorize(as_float, otypes=[float])(values))
