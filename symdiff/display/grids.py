"""The entries of matrices of derivatives, as rows of scalars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from symdiff.calculus.nested_results import Columns, Rows
from symdiff.display.reading import components, reading
from symdiff.graph.expr import Expr

if TYPE_CHECKING:
    from symdiff.calculus.nested_results import Matrix


def rows_of(matrix: Matrix) -> list[list[Expr]] | None:
    """The entries of a matrix row by row; None unless they are scalars in rows of one length.

    A column may be a vector; its elements are then written as formulas.  That needs a fixed length
    of at most 16.

    >>> import symdiff as sd
    >>> x, y, v = sd.symbol("x"), sd.symbol("y"), sd.symbol("v", 20)
    >>> rows_of(sd.grad(x * y, [x, y])), rows_of(sd.jacobian(sd.stack([x * y, x]), [x, y]))
    ([[y], [x]], [[y, x], [1, 0]])
    >>> rows_of(sd.jacobian(x * y * v, [x, y])) is None
    True
    """
    if isinstance(matrix, Columns):
        read = [_column(entry) for entry in matrix]
    elif isinstance(matrix, Rows):
        read = [_row(entry) for entry in matrix]
    else:
        return None
    lines = [line for line in read if line]
    if len({len(line) for line in lines}) != 1 or len(lines) < len(read):
        return None
    return list(map(list, zip(*lines, strict=True))) if isinstance(matrix, Columns) else lines


def _row(entry: Any) -> list[Expr] | None:
    row = list(entry) if isinstance(entry, tuple) else [entry]
    return row if all(isinstance(x, Expr) and not x.shape for x in row) else None


def _column(entry: Any) -> list[Expr] | None:
    if not isinstance(entry, Expr) or entry.ndim != 1:
        return _row(entry)
    parts = components(reading(entry))
    return None if parts is None else np.asarray(parts).tolist()
