"""Programs over arrays, each of which runs as symdiff's expressions and on plain NumPy arrays.

A program is a list of steps over its inputs, independent of expressions.  Every kind of step has
two forms: ``ours`` calls the public functions of the package, and ``plain`` calls NumPy operations
that work for the scalars of any field.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

import symdiff as sd
from tests.support.fields import Array, Field, Shape, determinant, inverse, regular_determinant

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


# Steps --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kind:
    """A kind of step: its form in our functions, and its form in plain NumPy."""

    ours: Callable[..., Any]
    plain: Callable[..., Any]


@dataclass(frozen=True)
class Step:
    """``name`` applied to earlier values, by number; ``params`` are the constants of the step."""

    name: str
    operands: tuple[int, ...]
    params: tuple[Any, ...] = ()


def _letters_in_plain(f: Field, spec: str, *operands: Array) -> Any:
    return np.einsum(spec, *operands)


def _tri(f: Field, x: Array, k: int, keep: Callable[..., Array]) -> Array:
    rows, columns = x.shape[-2:]
    return np.where(keep(np.ones((rows, columns), bool), k), x, f.number(Fraction(0)))


def _solve(f: Field, a: Array, b: Array) -> Any:
    left = inverse(f, a)
    return np.einsum("...ij,...j->...i" if b.ndim == 1 else "...ij,...jk->...ik", left, b)


def _log_abs(f: Field, x: Array) -> Array:
    return f.call("log", f.absolute(x))


def _fold(f: Field, x: Array, axis: int, least: bool) -> Array:
    parts = list(np.moveaxis(x, axis, 0))
    result = f.array(parts[0])
    for part in parts[1:]:
        part = f.array(part)
        p, q = (part, result) if least else (result, part)
        result = f.where_less(p, q, part, result)
    return result


def _sorted(f: Field, x: Array) -> Array:
    """Sort by exchanging neighbours."""
    result = x.copy()
    for last in range(x.shape[-1] - 1, 0, -1):
        for i in range(last):
            a, b = f.array(result[..., i].copy()), f.array(result[..., i + 1].copy())
            result[..., i] = f.where_less(a, b, a, b)
            result[..., i + 1] = f.where_less(a, b, b, a)
    return result


def _spectrum(f: Field, x: Array) -> Array:
    """Return the real part of the discrete Fourier transform of one or two elements."""
    if x.shape[-1] == 1:
        return x
    return np.stack([x[..., 0] + x[..., 1], x[..., 0] - x[..., 1]], axis=-1)


def _clip(f: Field, x: Array, lo: Fraction, hi: Fraction) -> Array:
    low, high = f.numbers(lo), f.numbers(hi)
    return f.where_less(x, low, low, f.where_less(high, x, high, x))


def _slice(spec: tuple[tuple[int | None, ...], ...]) -> tuple[slice, ...]:
    return tuple(slice(*part) for part in spec)


def _condition(form: str, shape: Shape, true: bool) -> Any:
    """Return a condition that is known when the expression is built, in one of its spellings."""
    if form == "number":
        return true
    if form == "array":
        return np.full(shape, true)
    return (sd.ones if true else sd.zeros)(shape) > 0


def _literal(form: str, shape: Shape, value: int) -> Any:
    """Return an array of one number, in one of its spellings."""
    if form == "full":
        return sd.full(shape, value)
    return np.full(shape, value, int if form == "integers" else float)


def _meeting(a: Any, name: str, b: Any) -> Any:
    return a + b if name == "add" else a * b if name == "mul" else b - a


def _wide(f: Field, x: Array, *shapes: Shape) -> Array:
    return f.array(np.broadcast_to(x, np.broadcast_shapes(x.shape, *shapes)))


def _bounded(x: Any) -> Any:
    return x / (x * x + 2)


KINDS: dict[str, Kind] = {
    # pointwise
    "add": Kind(lambda a, b: a + b, lambda f, a, b: a + b),
    "sub": Kind(lambda a, b: a - b, lambda f, a, b: a - b),
    "mul": Kind(lambda a, b: a * b, lambda f, a, b: a * b),
    "div": Kind(lambda a, b: a / b, lambda f, a, b: a / b),
    "scale": Kind(lambda a, c: c * a, lambda f, a, c: f.number(c) * a),
    "shift": Kind(lambda a, c: c - a, lambda f, a, c: f.number(c) - a),
    "power": Kind(
        lambda a, p: a**p, lambda f, a, p: a ** (f.number(p) if isinstance(p, Fraction) else p)
    ),
    "bounded": Kind(_bounded, lambda f, a: _bounded(a)),
    "positive": Kind(
        lambda a: a * a + Fraction(1, 2), lambda f, a: a * a + f.number(Fraction(1, 2))
    ),
    "above_one": Kind(lambda a: a * a + 2, lambda f, a: a * a + 2),
    "call": Kind(lambda a, name: getattr(sd, name)(a), lambda f, a, name: f.call(name, a)),
    "general_power": Kind(
        lambda a, b: (a * a + 1) ** b,
        lambda f, a, b: f.call("exp", b * f.call("log", a * a + 1)),
    ),
    "logaddexp": Kind(
        sd.logaddexp, lambda f, a, b: f.call("log", f.call("exp", a) + f.call("exp", b))
    ),
    "hypot": Kind(
        lambda a, b: sd.hypot(a, b * b + 1),
        lambda f, a, b: f.call("sqrt", a * a + (b * b + 1) * (b * b + 1)),
    ),
    "atan2": Kind(
        lambda a, b: sd.atan2(a, b * b + 1),
        lambda f, a, b: f.call("atan", a / (b * b + 1)),
    ),
    # contractions
    "einsum": Kind(
        lambda *operands_spec: sd.einsum(operands_spec[-1], *operands_spec[:-1]),
        lambda f, *rest: np.einsum(rest[-1], *rest[:-1]),
    ),
    "sum": Kind(lambda a, axis: sd.sum(a, axis=axis), lambda f, a, axis: a.sum(axis=axis)),
    "mean": Kind(
        lambda a, axis: sd.mean(a, axis=axis),
        lambda f, a, axis: a.sum(axis=axis) / f.number(Fraction(a.shape[axis])),
    ),
    "permute": Kind(sd.permute_dims, lambda f, a, axes: a.transpose(axes)),
    "matmul": Kind(
        lambda a, b: a @ b,
        lambda f, a, b: np.einsum(
            {(1, 1): "i,i->", (2, 1): "ij,j->i", (1, 2): "i,ij->j", (2, 2): "ij,jk->ik"}[
                a.ndim, b.ndim
            ],
            a,
            b,
        ),
    ),
    "outer": Kind(sd.outer, lambda f, a, b: a.reshape(-1, 1) * b.reshape(1, -1)),
    "broadcast": Kind(sd.broadcast_to, lambda f, a, shape: np.broadcast_to(a, shape)),
    "square": Kind(
        lambda a: sd.einsum("i,j->ij", a, a) + 3 * np.eye(a.shape[0], dtype=int),
        lambda f, a: a[:, None] * a[None, :] + 3 * np.eye(len(a), dtype=int),
    ),
    # linear maps
    "reshape": Kind(sd.reshape, lambda f, a, shape: a.reshape(shape)),
    "slice": Kind(lambda a, spec: a[_slice(spec)], lambda f, a, spec: a[_slice(spec)]),
    "item": Kind(lambda a, i: a[i], lambda f, a, i: a[i]),
    "expand": Kind(lambda a: a[..., None], lambda f, a: a[..., None]),
    "take": Kind(
        lambda a, index, axis: sd.take(a, np.array(index, dtype=int), axis=axis),
        lambda f, a, index, axis: np.take(a, np.array(index, dtype=int), axis=axis),
    ),
    "fancy": Kind(
        lambda a, index: a[np.array(index, dtype=int)],
        lambda f, a, index: a[np.array(index, dtype=int)],
    ),
    "concat": Kind(
        lambda a, b, axis: sd.concat([a, b], axis=axis),
        lambda f, a, b, axis: np.concatenate([a, b], axis=axis),
    ),
    "stack": Kind(
        lambda a, b, axis: sd.stack([a, b], axis=axis),
        lambda f, a, b, axis: np.stack([a, b], axis=axis),
    ),
    "flip": Kind(lambda a, axis: sd.flip(a, axis=axis), lambda f, a, axis: np.flip(a, axis=axis)),
    "cumsum": Kind(
        lambda a, axis: sd.cumsum(a, axis=axis), lambda f, a, axis: np.cumsum(a, axis=axis)
    ),
    "tril": Kind(lambda a, k: sd.tril(a, k), lambda f, a, k: _tri(f, a, k, np.tril)),
    "triu": Kind(lambda a, k: sd.triu(a, k), lambda f, a, k: _tri(f, a, k, np.triu)),
    # opaque
    "solve": Kind(sd.solve, _solve),
    "inv": Kind(sd.inv, inverse),
    "det": Kind(sd.det, determinant),
    "logabsdet": Kind(
        lambda a: sd.slogdet(a)[1], lambda f, a: _log_abs(f, regular_determinant(f, a))
    ),
    "prod": Kind(
        lambda a, axis: sd.prod(a, axis=axis), lambda f, a, axis: np.multiply.reduce(a, axis=axis)
    ),
    "logsumexp": Kind(
        lambda a, axis: sd.logsumexp(a, axis=axis),
        lambda f, a, axis: f.call("log", f.array(f.call("exp", a).sum(axis=axis))),
    ),
    # sequences
    "cumprod": Kind(
        lambda a, axis: sd.cumprod(a, axis=axis),
        lambda f, a, axis: np.multiply.accumulate(a, axis=axis),
    ),
    "logcumsumexp": Kind(
        lambda a, axis: sd.logcumsumexp(a, axis=axis),
        lambda f, a, axis: f.call("log", np.cumsum(f.call("exp", a), axis=axis)),
    ),
    "sort": Kind(sd.sort, _sorted),
    "spectrum": Kind(lambda a: sd.fft(a)[0], _spectrum),
    "roll": Kind(
        lambda a, k, axis: sd.roll(a, k, axis=axis), lambda f, a, k, axis: np.roll(a, k, axis=axis)
    ),
    "windows": Kind(
        lambda a, n, axis: sd.sliding_window_view(a, n, axis),
        lambda f, a, n, axis: np.lib.stride_tricks.sliding_window_view(a, n, axis),
    ),
    "convolve": Kind(
        sd.convolve,
        lambda f, a, b: np.stack(
            [
                sum((a[i] * b[k - i] for i in range(len(a)) if 0 <= k - i < len(b)), 0 * a[0])
                for k in range(len(a) + len(b) - 1)
            ]
        ),
    ),
    "kron": Kind(
        sd.kron, lambda f, a, b: (a[:, None] * b[None, :]).reshape(a.shape[0] * b.shape[0])
    ),
    # selections
    "max": Kind(lambda a, axis: sd.max(a, axis=axis), lambda f, a, axis: _fold(f, a, axis, False)),
    "min": Kind(lambda a, axis: sd.min(a, axis=axis), lambda f, a, axis: _fold(f, a, axis, True)),
    "where": Kind(lambda p, q, a, b: sd.where(p < q, a, b), lambda f, *four: f.where_less(*four)),
    "maximum": Kind(sd.maximum, lambda f, a, b: f.where_less(a, b, b, a)),
    "minimum": Kind(sd.minimum, lambda f, a, b: f.where_less(b, a, b, a)),
    "clip": Kind(sd.clip, _clip),
    "abs": Kind(sd.abs, lambda f, a: f.absolute(a)),
    # literals: values known when the expression is built
    "chosen": Kind(
        lambda a, form, shape, true, other: sd.where(_condition(form, shape, true), a, other),
        lambda f, a, form, shape, true, other: _wide(
            f, a if true else f.array(f.number(Fraction(other))), a.shape, shape
        ),
    ),
    "meets": Kind(
        lambda a, name, form, shape, value: _meeting(a, name, _literal(form, shape, value)),
        lambda f, a, name, form, shape, value: _wide(
            f, f.array(_meeting(a, name, f.number(Fraction(value)))), shape
        ),
    ),
    "updated": Kind(
        lambda a, shape: sd.index_update(sd.zeros(shape), slice(None), a),
        lambda f, a, shape: _wide(f, a, shape),
    ),
}


# Programs -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Program:
    """Inputs of these shapes, and steps; the value is that of the last step.

    ``kinks`` is True if a step chooses by value, so that tests must avoid points with ties.
    """

    shapes: tuple[Shape, ...]
    steps: tuple[Step, ...]

    @property
    def kinks(self) -> bool:
        chosen = {"max", "min", "sort", "where", "maximum", "minimum", "clip", "abs", "logabsdet"}
        return any(step.name in chosen for step in self.steps)

    def ours(self, inputs: Sequence[Any]) -> Any:
        """Return the program as an expression of our ``inputs``."""
        values = list(inputs)
        for step in self.steps:
            operands = [values[i] for i in step.operands]
            values.append(KINDS[step.name].ours(*operands, *step.params))
        return values[-1]

    def plain(self, field: Field, inputs: Sequence[Array]) -> Array:
        """Run the program on plain arrays of the field's scalars."""
        values = list(inputs)
        for step in self.steps:
            operands = [values[i] for i in step.operands]
            values.append(field.array(KINDS[step.name].plain(field, *operands, *step.params)))
        return values[-1]
