"""Tensors in notebooks: a table of the elements, cut for large tensors, and a line of properties.

The text of a Tensor stays PyTorch's; the table writes numbers as the text does.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from numeric.eager.dtypes import OF_NUMPY
from numeric.eager.printing import elements
from numeric.eager.tensor import Tensor, method
from numeric.eager.traced_arrays import Shadow
from numeric.html_tables import page, paragraph, table
from symdiff.contexts import contained
from symdiff.graph.axes import shape_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


T = TypeVar("T")

_ROWS, _COLUMNS, _SLICES = 20, 20, 4  # the most that are shown without a cut
_CHARACTERS = 100  # the width of a row
_ROUND = (20, 10, 5, 2)  # the lengths of rows into which a vector is divided
_GAP = 3  # the number of characters between columns
_LEFT_OUT = "…"


@method("_repr_html_")
def _html(self: Tensor) -> str | None:
    """Return a table for notebooks, or None, and so the text, for a tensor without values."""
    if isinstance(self._array, Shadow):
        return None
    return page(*_tables(self._array), paragraph(", ".join(_facts(self))))


def _facts(x: Tensor) -> Iterator[str]:
    name = type(x).__name__ + (f" {x._name}" if getattr(x, "_name", None) else "")
    yield f"{name} of shape {shape_text(tuple(x._array.shape))}"
    yield str(OF_NUMPY[x._array.dtype]).removeprefix("torch.")
    try:
        node = x.grad_fn
    except RuntimeError:  # a view without a valid history
        yield "grad_fn is not to be had"
        return
    if node is not None:
        yield f"grad_fn {type(node).__name__}"
    elif x.requires_grad:
        yield "requires grad"


def _tables(a: np.ndarray) -> Iterator[str]:
    """Yield one table, or a table for each shown slice along the last two axes."""
    if not a.size:
        return
    if a.ndim < 2:
        edges = a if a.size <= _ROWS * _COLUMNS else a[_kept(_places(a.size, _ROWS * _COLUMNS))]
        fitting, write = _layout(edges)
        yield _vector(a, fitting, write) if a.ndim else table([[write(a.item())]])
        return
    *lead, n, m = a.shape
    chosen = [
        None if k is None else tuple(map(int, np.unravel_index(k, lead))) if lead else ()
        for k in _places(math.prod(lead), _SLICES)
    ]
    rows, columns = _places(n, _ROWS), _places(m, _COLUMNS)
    edges = np.stack([a[at][np.ix_(_kept(rows), _kept(columns))] for at in _kept(chosen)])
    fitting, write = _layout(edges, m)
    columns = _places(m, min(fitting, _COLUMNS))
    for at in chosen:
        if at is None:
            yield paragraph(_LEFT_OUT)
            continue
        if at:
            yield paragraph(f"[{', '.join(map(str, at))}, :, :]")
        yield _matrix(a[at], rows, columns, write)


@contained
def _layout(shown: np.ndarray, names: int = 0) -> tuple[int, Callable[[Any], str]]:
    """Return the number of elements that fit in a row, and the function that formats one.

    ``names`` is the number of columns, whose names need space, too.
    """
    with np.errstate(all="ignore"):
        width, write = elements(shown)
    return max(2, _CHARACTERS // (max(width, len(str(names))) + _GAP)), write


def _places(n: int, most: int) -> list[int | None]:
    """Return the indices that are shown, with None for those omitted in the middle."""
    if n <= most:
        return list(range(n))
    return [*range((most + 1) // 2), None, *range(n - most // 2, n)]


def _kept(places: list[T | None]) -> list[T]:
    return [place for place in places if place is not None]


def _vector(a: np.ndarray, fitting: int, write: Callable[[object], str]) -> str:
    """Return a table of a vector in rows, each with the index of its first element."""
    if len(a) <= fitting:
        return table([[write(v) for v in a.tolist()]], list(range(len(a))))
    fitting = next(n for n in _ROUND if n <= fitting)
    rows = -(-len(a) // fitting)
    lines: list[list[object]] = []
    for row in _places(rows, _ROWS):
        start = 0 if row is None else row * fitting
        part = [] if row is None else a[start : start + fitting].tolist()
        lines.append([_LEFT_OUT if row is None else start, *map(write, part)])
        lines[-1] += [""] * (fitting + 1 - len(lines[-1]))
    return table(lines, ["", *(f"+{k}" for k in range(fitting))], named=True)


def _matrix(
    a: np.ndarray,
    rows: list[int | None],
    columns: list[int | None],
    write: Callable[[object], str],
) -> str:
    def shown(i: int | None, j: int | None) -> str:
        return _LEFT_OUT if i is None or j is None else write(a[i, j].item())

    lines = [[_named(i), *(shown(i, j) for j in columns)] for i in rows]
    return table(lines, ["", *map(_named, columns)], named=True)


def _named(place: int | None) -> object:
    return _LEFT_OUT if place is None else place
