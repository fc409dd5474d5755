"""Leaves: Symbol, Constant, Places (indices), Exact (pi, e), Size (a symbolic axis length)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

from symdiff.graph.lengths import Length
from symdiff.graph.node import Dtype, Op, Shape, intern_op

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symdiff.graph.node import Dim

__all__ = [
    "Constant",
    "Count",
    "Exact",
    "Places",
    "Size",
    "Symbol",
    "count_op",
    "dummy_op",
    "exact_op",
    "places_op",
    "size_op",
    "symbol_op",
]


class Symbol(Op):
    """A named input, unique for name, shape and dtype; ``dummy`` symbols are always unique."""

    __slots__ = ("dtype", "dummy", "name", "shape", "size")
    fields = ("name", "shape", "dtype")
    name: str

    def __init__(self, name: str, shape: Shape, dtype: Dtype, dummy: bool) -> None:
        self.name, self.shape, self.dtype, self.dummy = name, shape, dtype, dummy
        self.size = int(dtype is float)


def symbol_op(name: str, shape: Shape, dtype: Dtype) -> Symbol:
    """The op of the symbol of this name, shape and dtype."""
    make = lambda: Symbol(name, shape, dtype, dummy=False)  # noqa: E731
    return intern_op((Symbol, name, shape, dtype), make)


def dummy_op(name: str, shape: Shape, dtype: Dtype) -> Symbol:
    """The op of a fresh symbol that is never equal to another of the same name."""
    op = Symbol(name, shape, dtype, dummy=True)
    op.table = {}
    return op


class Constant(Op):
    """An array of data: copied, read-only, equal only to itself."""

    __slots__ = ("size", "value")

    def __init__(self, value: NDArray[Any]) -> None:
        self.value = value
        self.size = int(value.dtype.kind == "f")
        self.table = {}

    def __repr__(self) -> str:
        return f"Constant(shape={self.value.shape}, dtype={self.value.dtype})"


class Places(Constant):
    """An array of indices; equal arrays share one op, so that equal formulas are one node."""

    __slots__ = ()


def places_op(value: NDArray[np.intp]) -> Places:
    """The op of these indices."""
    copy = np.array(value, dtype=np.intp)
    copy.setflags(write=False)
    return intern_op((Places, copy.shape, copy.tobytes()), lambda: Places(copy))


class Exact(Op):
    """A real number with a name: pi, e.  ``value`` is SymPy's exact number."""

    __slots__ = ("name", "value")
    fields = ("name",)
    size = 1
    name: str

    def __init__(self, name: str, value: sp.Expr) -> None:
        self.name, self.value = name, value


def exact_op(name: str, value: sp.Expr) -> Exact:
    """The op of the named exact number."""
    return intern_op((Exact, name), lambda: Exact(name, value))


class Size(Op):
    """The length of the symbolic axis ``name``, an integer scalar."""

    __slots__ = ("name",)
    fields = ("name",)
    size = 1
    name: str

    def __init__(self, name: str) -> None:
        self.name = name


def size_op(name: str) -> Size:
    """The op of a symbolic axis length."""
    return intern_op((Size, name), lambda: Size(name))


class Count(Size):
    """The number of elements of an axis of computed length, clipped at 0.

    The number ``n - 5`` alone may be negative; the count of elements may not.
    """

    __slots__ = ()

    def needs(self, *operands: Any) -> list[tuple[Dim, str]]:
        return [(Length(self.name), f"an axis of length {self.name}")]


def count_op(length: str) -> Count:
    """The op of the number of elements along an axis of this length."""
    return intern_op((Count, length), lambda: Count(length))
