"""Several arrays in one: the carry of a loop, or the cotangents of its operands."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from symdiff.functions.shaping import concat, reshape, squeeze, stack
from symdiff.graph.leaves import full
from symdiff.graph.lengths import product
from symdiff.transforms.scans import part

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symdiff.graph.expr import Expr
    from symdiff.graph.node import Shape


def _can_join(shapes: Sequence[Shape]) -> bool:
    """Whether to join arrays along their first axis, so that parts are plain slices."""
    # Only known lengths: the sum of named ones would be the offset of each following part.
    rest = {shape[1:] for shape in shapes}
    return len(rest) == 1 and all(shape and isinstance(shape[0], int) for shape in shapes)


def _have_one_shape(shapes: Sequence[Shape]) -> bool:
    return all(shape == shapes[0] for shape in shapes)


def packed_shape(shapes: Sequence[Shape]) -> Shape:
    """The shape of ``packed`` for arrays of these shapes."""
    if len(shapes) == 1:
        return shapes[0]
    if not shapes:
        return (0,)
    if _can_join(shapes):
        return (sum(shape[0] for shape in shapes), *shapes[0][1:])  # type: ignore[misc]
    if _have_one_shape(shapes):
        return (len(shapes), *shapes[0])
    return (sum(map(product, shapes)),)


def packed(values: Sequence[Expr]) -> Expr:
    """Pack arrays into one: joined or stacked if shapes allow, else flat in one axis."""
    if len(values) == 1:
        return values[0]
    shapes = [x.shape for x in values]
    if not values:
        return full((0,), 0)
    if _can_join(shapes):
        return concat(values)
    if _have_one_shape(shapes):
        return stack(values)
    return concat([reshape(x, product(x.shape)) for x in values])


def unpacked(x: Expr, shapes: Sequence[Shape]) -> list[Expr]:
    """Split the last axes of a packed array into the arrays; leading axes stay in front."""
    if len(shapes) == 1:
        return [x]
    if not shapes:
        return []
    if _can_join(shapes):
        ends = list(accumulate([shape[0] for shape in shapes], initial=0))
        return [part(x, i, j, x.ndim - len(shapes[0])) for i, j in pairwise(ends)]
    if _have_one_shape(shapes):
        # The axis of the stack lies before those of a part, and after those of a batch.
        axis = x.ndim - len(shapes[0]) - 1
        return [squeeze(part(x, k, k + 1, axis), axis) for k in range(len(shapes))]
    # Cotangents of a batch have leading axes, so offsets count along the last axis.
    lead, parts, start = x.shape[:-1], [], 0
    for shape in shapes:
        stop = start + product(shape)
        parts.append(reshape(part(x, start, stop, x.ndim - 1), (*lead, *shape)))
        start = stop
    return parts
