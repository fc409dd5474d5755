"""Unknowns as one flat vector, and formulas of it, as solvers need them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from numeric.lowering.arguments import bindable
from numeric.lowering.function import Function
from symdiff.errors import NotDifferentiable, ShapeError
from symdiff.functions.shaping import concat
from symdiff.graph import ops
from symdiff.graph.arguments import reals, unfit
from symdiff.graph.axes import shape_text
from symdiff.graph.bound_lengths import in_terms_of
from symdiff.graph.expr import Expr, free_symbols, in_order
from symdiff.graph.leaves import as_expr, symbol
from symdiff.graph.number import shortened
from symdiff.transforms.substitution import substitute

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Layout:
    """The positions of symbols in one flat vector: in their order, each in C order (by rows)."""

    def __init__(self, symbols: Sequence[Expr], single: bool) -> None:
        self.names = tuple([x.name for x in symbols])
        self.shapes = tuple([x.shape for x in symbols])
        self._single = single
        self._open = any(isinstance(dim, str) for shape in self.shapes for dim in shape)

    def pack(self, /, *values: object, **named: object) -> np.ndarray:
        """Return the flat vector of values, given in the order of the unknowns or by name.

        Raises TypeError for missing, unknown and repeated values, and ShapeError for a value whose
        shape differs from its unknown's.
        """
        if len(values) > len(self.names):
            raise TypeError(f"pack: {len(self.names)} unknowns ({self}), {len(values)} values")
        by_name = dict(zip(self.names, values, strict=False))
        for name, value in named.items():
            if name in by_name or name not in self.names:
                what = "is given twice" if name in by_name else "is not an unknown"
                raise TypeError(f"pack: {name} {what}; the unknowns are {self}")
            by_name[name] = value
        missing = [name for name in self.names if name not in by_name]
        if missing:
            raise TypeError(f"pack: no value for {', '.join(missing)}; the unknowns are {self}")
        parts = []
        for name, shape in zip(self.names, self.shapes, strict=True):
            array = reals("pack", name, by_name[name]).astype(float)
            # An unknown of open length takes any vector.
            if array.shape != shape and not (self._open and array.ndim == 1):
                raise ShapeError(
                    f"pack: {name}: expected shape {shape_text(shape)}, "
                    f"got {shape_text(array.shape)}"
                )
            parts.append(array.ravel())
        return np.concatenate(parts)

    def unpack(self, vector: Any, /) -> Any:
        """Return the unknowns in their shapes: one array if there is one, else a tuple of arrays.

        Axes after the first stay last, such as the times in a solution of ``solve_ivp``.  Raises
        ShapeError for a vector of another length.
        """
        array = reals("unpack", "vector", vector)
        if self._open:
            return array
        shapes: Any = self.shapes
        sizes = [math.prod(shape) for shape in shapes]
        if array.shape[:1] != (sum(sizes),):
            raise ShapeError(
                f"unpack: expected {sum(sizes)} numbers, those of {self}, "
                f"got shape {shape_text(array.shape)}"
            )
        ends = np.cumsum(sizes)
        parts = [
            array[end - size : end].reshape((*shape, *array.shape[1:]))
            for end, size, shape in zip(ends, sizes, shapes, strict=True)
        ]
        return parts[0] if self._single else tuple(parts)

    def __str__(self) -> str:
        return ", ".join(self.names)


class Flat(NamedTuple):
    """Formulas of one vector; each has at most one axis."""

    outputs: tuple[Expr, ...]
    vector: Expr
    layout: Layout


def flattened(
    what: str,
    outputs: Sequence[object],
    unknowns: object,
    data: Mapping[str, object],
    others: Sequence[Expr] = (),
) -> Flat:
    """Insert values for the data of ``outputs``, and replace their unknowns by one vector.

    Args:
        what: the caller, for messages.
        outputs: expressions.
        unknowns: a symbol, or a list or tuple of symbols.
        data: values by name.
        others: symbols to keep.

    Raises TypeError for unknowns that are not symbols, for names of data that do not occur in the
    outputs, and for wrong dtypes.  Raises ValueError for symbols without a value and for unknown
    lengths, and ShapeError for values whose shapes differ from their symbols'.
    """
    xs, single = unknown_symbols(what, unknowns, others)
    exprs = [as_expr(y) for y in outputs]
    xs = in_terms_of(exprs, what, xs)
    values = _data(what, exprs, [*xs, *others], data)
    # Substitute in the unknowns, too: their symbolic lengths may be known from the data.
    substituted = substitute([*exprs, *xs], values)
    exprs, xs = list(substituted[: len(exprs)]), list(substituted[len(exprs) :])
    layout = Layout(xs, single)
    if single and len(xs[0].shape) == 1:
        return Flat(tuple([_row(y) for y in exprs]), xs[0], layout)
    vector, places = _vector(what, xs, [x.name for x in others])
    return Flat(tuple([_row(y) for y in substitute(exprs, places)]), vector, layout)


def unknown_symbols(
    what: str, unknowns: Any, others: Sequence[Expr] = ()
) -> tuple[list[Expr], bool]:
    """Return the symbols, and whether a bare symbol was given; all real, and none of ``others``."""
    single = not isinstance(unknowns, list | tuple)
    xs = [unknowns] if single else list(unknowns)
    if not xs:
        raise ValueError(f"{what}: there is no unknown")
    for x in [*xs, *others]:
        if not isinstance(x, Expr) or not isinstance(x.op, ops.Symbol):
            raise TypeError(f'{what}: {shortened(x)} is not a symbol; sd.symbol("x", 3) makes one')
        if x.dtype is not float:
            raise NotDifferentiable(f"{what}: {x.name} is not real: it does not vary continuously")
    if len({*xs, *others}) < len(xs) + len(others):
        raise ValueError(f"{what}: given twice: {', '.join(x.name for x in [*xs, *others])}")
    return xs, single


def _data(
    what: str, outputs: Sequence[Expr], xs: Sequence[Expr], data: Mapping[str, object]
) -> dict[Expr, object]:
    """Return the values by symbol; refuse symbols without one, except those in ``xs``."""
    rest = {x.name: x for x in in_order(free_symbols([*outputs, *xs])) if x not in set(xs)}
    known = ", ".join(rest) or "nothing"
    for name in data:
        if name in {x.name for x in xs}:
            raise TypeError(f"{what}: {name} is an unknown and can have no value")
        if name not in rest:
            raise TypeError(f"{what}: the formula has no data {shortened(name)}; it has {known}")
    missing = [name for name in rest if name not in data]
    if missing:
        names = ", ".join(f"{name}=..." for name in missing)
        raise ValueError(f"{what}: no value for {', '.join(missing)}; pass them by name: {names}")
    return {rest[name]: bindable(rest[name], value) for name, value in data.items()}


def _vector(what: str, xs: Sequence[Expr], taken: Sequence[str]) -> tuple[Expr, dict[Expr, Expr]]:
    """Return a vector, and the part of it that replaces each symbol."""
    lengths: list[int] = []
    for x in xs:
        dims = [dim for dim in x.shape if isinstance(dim, str)]
        if dims:
            raise ValueError(
                f"{what}: {x.name} has the shape {shape_text(x.shape)}: the length of "
                f"{', '.join(dims)} is not known; declare it as a number, or pass data that have it"
            )
        lengths.append(math.prod(int(dim) for dim in x.shape))
    name = "_".join(x.name for x in xs[:3])
    while name in taken:
        name += "_"
    vector = symbol(name, sum(lengths))
    places, start = {}, 0
    for x, length in zip(xs, lengths, strict=True):
        part = vector[start : start + length]
        places[x] = part.reshape(x.shape) if x.shape else part[0]
        start += length
    return vector, places


def _row(y: Expr) -> Expr:
    """Flatten an expression to at most one axis."""
    return y.ravel() if len(y.shape) > 1 else y


def joined(outputs: Sequence[Expr]) -> Expr:
    """Join several expressions of at most one axis to one vector."""
    return concat([y if y.shape else y.reshape(1) for y in outputs])


def check_parts(name: str, maker: str, function: object, layout: object) -> None:
    """Raise TypeError unless ``function`` and ``layout`` come from this package's makers."""
    if not isinstance(function, Function):
        raise unfit(name, "function", f"a Function, from export.{maker}", function)
    if not isinstance(layout, Layout):
        raise unfit(name, "layout", f"a Layout, from export.{maker}", layout)
