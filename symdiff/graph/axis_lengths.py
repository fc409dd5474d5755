"""Lengths of axes that have names: what they are, learnt from what symbols are given.

A shape is matched with that of a symbol here and nowhere else, for calls and for formulas alike;
and here alone the lengths that were found are put into a shape.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from symdiff.errors import ShapeError
from symdiff.graph.axes import shape_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symdiff.graph.expr import Expr
    from symdiff.graph.node import Dim, Shape


# Lengths of values: numbers of arrays, or names, too, of expressions.
Length = TypeVar("Length", bound="Dim")


def bound_sizes(
    what: str,
    symbols: Sequence[Expr],
    shapes: Sequence[tuple[Length, ...]],
    known: Mapping[str, Length] | None = None,
) -> dict[str, Length]:
    """The named lengths of ``symbols`` that take values of ``shapes``.

    Args:
        what: what the symbols are, and to whom, in messages.
        symbols: in whose shapes the names stand.
        shapes: those of their values, in which names may stand, too.
        known: lengths that were given by name.

    Raises ShapeError for a shape that a symbol cannot take, or a length that would be two.

    >>> import symdiff as sd
    >>> X, w = sd.symbol("X", ("n", "k")), sd.symbol("w", "k")
    >>> bound_sizes("input", [X, w], [(5, 3), (3,)])
    {'n': 5, 'k': 3}
    """
    sizes = {} if known is None else dict(known)
    for x, shape in zip(symbols, shapes, strict=True):
        if len(shape) != len(x.shape):
            raise _misfit(what, x, shape)
        for dim, length in zip(x.shape, shape, strict=True):
            if dim.__class__ is int:
                if dim != length:
                    raise _misfit(what, x, shape)
            elif sizes.setdefault(dim, length) != length:  # type: ignore[arg-type]  # a name
                first = next(y.name for y in symbols if dim in y.shape)
                told = "the lengths given" if known and dim in known else first
                raise _misfit(what, x, shape, f"; {dim} is {sizes[dim]} in {told}")  # type: ignore[index]
    return sizes


def _misfit(what: str, x: Expr, shape: Shape, reason: str = "") -> ShapeError:
    text = f"{what} {x.name}: expected shape {shape_text(x.shape)}, got {shape_text(shape)}"
    if not reason and len(shape) == len(x.shape) + 1:
        reason = f"; sd.batch(f, {{{x.name}: ...}}) makes a formula for many {x.name} at once"
        if not x.shape:
            reason += ", and a lowered function of scalars takes arrays of points"
    return ShapeError(text + reason)


def bound(shape: Shape, sizes: Mapping[str, Dim]) -> Shape:
    """``shape`` with the lengths that are known in place of their names.

    >>> bound((3, "n", "k"), {"n": 5})
    (3, 5, 'k')
    """
    return tuple([sizes.get(dim, dim) if isinstance(dim, str) else dim for dim in shape])


def lengths(shape: Shape, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """``shape`` in numbers, where all names are known.

    >>> lengths((3, "n"), {"n": 5})
    (3, 5)
    """
    return tuple([dim if isinstance(dim, int) else sizes[dim] for dim in shape])
