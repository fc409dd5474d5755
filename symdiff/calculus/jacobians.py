"""Jacobians: by rows, pulled back from the outputs, or by columns, pushed from the inputs.

Both walks carry a symbolic identity in leading axes.  There is one row for each element of the
outputs and one column for each element of the inputs.  The walk with the smaller number computes
less.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from symdiff.calculus.flows import NONE, Flow, identity
from symdiff.calculus.variables import pulled, pushed
from symdiff.graph import ops
from symdiff.graph.algebra import blocks, linear, part
from symdiff.graph.contraction import contract
from symdiff.graph.expr import built
from symdiff.graph.leaves import full
from symdiff.graph.lengths import Length

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from symdiff.graph.axes import Word
    from symdiff.graph.expr import Expr
    from symdiff.graph.node import Dim, Shape

# The value of a symbolic length in comparisons: more than any number that users write.
_MANY = 10**9


def direction(name: str, mode: str, rows: Iterable[Shape], columns: Iterable[Shape]) -> str:
    """The direction that ``mode`` selects: "auto" takes fewer elements, reverse where equal.

    A single column is one tangent, whose nodes derivatives of higher order share: "auto" goes
    forward.  A symbolic length counts as more than any number.  Raises ValueError for another mode.

    >>> from symdiff.graph.lengths import Length
    >>> n = Length("n")
    >>> direction("", "auto", [(n,)], [(3,)]), direction("", "auto", [(n,)], [(n, 2)])
    ('forward', 'reverse')
    """
    if mode in ("forward", "reverse"):
        return mode
    if mode != "auto":
        raise ValueError(
            f"{name}: argument 'mode' expects 'forward', 'reverse' or 'auto', got {mode!r}"
        )
    count = _elements(columns)
    return "forward" if count == 1 or count < _elements(rows) else "reverse"


def _elements(shapes: Iterable[Shape]) -> int:
    return sum(math.prod(map(_number, shape)) for shape in shapes)


def _number(length: Dim) -> int:
    if isinstance(length, int):
        return length
    if not isinstance(length, Length):
        return _MANY
    length_value = length.replaced(dict.fromkeys(length.names, _MANY))
    assert isinstance(length_value, int)
    return length_value


def by_rows(f: Expr, xs: Sequence[Expr]) -> list[Expr]:
    """The Jacobians of ``f`` by each of ``xs``: one row for each element of f, in one walk."""
    flows = pulled([f], xs, [Flow(identity(f.shape), NONE)])
    return [
        full(f.shape + x.shape, 0) if flow is None else flow
        for flow, x in zip(flows, xs, strict=True)
    ]


def by_columns(f: Expr, x: Expr) -> Expr:
    """The Jacobian of ``f`` by x: one column for each element of x."""
    flow = pushed([f], [x], [identity(x.shape)])[0]
    if flow is None:
        return full(f.shape + x.shape, 0)
    return _turned(flow.expr, (*range(x.ndim, x.ndim + f.ndim), *range(x.ndim)))


# The depth to which axes are reordered: below it, transposing the whole costs no more.
_DEPTH = 4


def _turned(x: Expr, order: Word, depth: int = _DEPTH) -> Expr:
    """``x`` with its axes in this order, pushed into joins, parts, sums and products."""
    if order == tuple(range(x.ndim)):
        return x
    op = x.op
    if depth and isinstance(op, ops.Concat):
        axis = order.index(x.ndim + op.axis) - x.ndim
        parts = [_turned(y, order, depth - 1) for y in x.args]
        return linear(ops.concat_op(axis, op.lengths), *parts)
    if depth and isinstance(op, ops.Unslice):
        places, inner = blocks(op, x.shape), _turned(x.args[0], order, depth - 1)
        return part(inner, [places[k] for k in order], tuple([x.shape[k] for k in order]))
    if depth and isinstance(op, ops.Sum | ops.Product | ops.Pointwise | ops.Strong):
        return built(op, tuple([_turned(y, order, depth - 1) for y in x.args]))
    return contract([(x, tuple(range(x.ndim)))], order)
