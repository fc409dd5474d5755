"""Derivatives by scalar cells, in which an unselected value does not exist.

An array is a NumPy object array of cells.  So indexing, joining and selecting are NumPy's and
Python's own, and pass the same cells on.  A cell that no path reaches has no cotangent, and a
constant has no tangent.  Nothing else is left out, and all arithmetic is that of IEEE floats.
Cotangents are cells again, so every order follows from the same four functions.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

_serial = itertools.count()


class Cell:
    """A float with its parent cells, and the partial derivative by each (None: 1)."""

    def __init__(self, value: float, *parents: tuple[Cell, Callable[[], Cell] | None]) -> None:
        self.value, self.parents, self.serial = value, parents, next(_serial)

    def __add__(self, other: Cell) -> Cell:
        return Cell(self.value + other.value, (self, None), (other, None))

    def __mul__(self, other: Cell) -> Cell:
        return Cell(self.value * other.value, (self, lambda: other), (other, lambda: self))


def reciprocal(x: Cell) -> Cell:
    """Return 1/x."""
    value = math.copysign(math.inf, x.value) if x.value == 0 else 1 / x.value
    result = Cell(value, (x, lambda: Cell(-1.0) * (result * result)))
    return result


def sqrt(x: Cell) -> Cell:
    """Return the square root; nan below 0."""
    value = math.sqrt(x.value) if x.value >= 0 else math.nan
    result = Cell(value, (x, lambda: Cell(0.5) * reciprocal(result)))
    return result


def cells(values: Any) -> NDArray[Any]:
    """Return an array of constants, or of inputs."""
    values = np.asarray(values, float)
    out = np.empty(values.shape, object)
    for place in np.ndindex(values.shape):
        out[place] = Cell(float(values[place]))
    return out


def each(function: Callable[..., Cell], *arrays: Any) -> NDArray[Any]:
    """Apply a function of cells at every position."""
    arrays = tuple(np.broadcast_arrays(*arrays))
    out = np.empty(arrays[0].shape, object)
    for place in np.ndindex(out.shape):
        out[place] = function(*(x[place] for x in arrays))
    return out


def _below(outputs: Iterable[Cell]) -> list[Cell]:
    reached: dict[Cell, None] = {}
    stack = list(outputs)
    while stack:
        cell = stack.pop()
        if cell not in reached:
            reached[cell] = None
            stack.extend(parent for parent, _ in cell.parents)
    return sorted(reached, key=lambda cell: cell.serial)


def pulled(outputs: NDArray[Any], inputs: Sequence[NDArray[Any]], seeds: Any) -> list[NDArray[Any]]:
    """Return the cotangents of arrays of cells, as cells; a constant 0 without a path."""
    arrived: dict[Cell, Cell] = {}

    def give(cell: Cell, g: Cell) -> None:
        arrived[cell] = arrived[cell] + g if cell in arrived else g

    for cell, seed in zip(outputs.ravel(), seeds.ravel(), strict=True):
        give(cell, seed)
    for cell in reversed(_below(outputs.ravel())):
        g = arrived.get(cell)
        for parent, partial in cell.parents if g is not None else ():
            give(parent, g if partial is None else g * partial())
    return [each(lambda cell: arrived.get(cell) or Cell(0.0), x) for x in inputs]


def pushed(outputs: NDArray[Any], tangents: Sequence[tuple[NDArray[Any], Any]]) -> NDArray[Any]:
    """Return the tangents of ``outputs``, as floats; 0 for constants."""
    by_cell: dict[Cell, float] = {}
    for x, t in tangents:
        by_cell.update(zip(x.ravel(), np.asarray(t, float).ravel().tolist(), strict=True))
    for cell in _below(outputs.ravel()):
        if cell not in by_cell:
            contributions = [
                by_cell[parent] if partial is None else by_cell[parent] * partial().value
                for parent, partial in cell.parents
                if parent in by_cell
            ]
            if contributions:
                by_cell[cell] = sum(contributions[1:], contributions[0])
    out = np.zeros(outputs.shape)
    for place in np.ndindex(outputs.shape):
        out[place] = by_cell.get(outputs[place], 0.0)
    return out


def floats(x: NDArray[Any]) -> NDArray[np.float64]:
    """Return the values of an array of cells."""
    out = np.empty(x.shape)
    for place in np.ndindex(x.shape):
        out[place] = x[place].value
    return out
