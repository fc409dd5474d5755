"""Indices where conditions hold; their number, a length, is known only at run time."""

from __future__ import annotations

import itertools
import weakref
import zlib
from typing import TYPE_CHECKING, Any, ClassVar

from symdiff.graph.algebra import opaque
from symdiff.graph.axes import OF_CONDITION
from symdiff.graph.lengths import Length
from symdiff.graph.node import intern_op, topological
from symdiff.graph.ops import Opaque
from symdiff.locks import fork_safe_lock

if TYPE_CHECKING:
    from collections.abc import Callable

    from symdiff.graph.expr import Expr
    from symdiff.graph.node import Shape

__all__ = ["Nonzero", "PlacesOf", "condition_of", "nonzero_places", "places_of_op"]


class PlacesOf(Opaque):
    """The indices of nonzero elements of a vector, in order; there are ``length`` of them."""

    __slots__ = ("length",)
    fields = ("length",)
    name = "nonzero"
    kind = int
    constant = True

    def __init__(self, length: Length) -> None:
        self.length = length

    def result(self, *shapes: Shape) -> Shape:
        return (self.length,)

    def bound(self, lengths: Callable[[Shape], Shape]) -> Opaque:
        (length,) = lengths((self.length,))
        return self if length == self.length else places_of_op(length)


class Nonzero(PlacesOf):
    """``PlacesOf`` with a length of its own name, which identifies the vector.

    The name belongs to this vector alone while it is alive, because lengths with one name are
    equal.  A node on another vector has another length.
    """

    __slots__ = ()
    defines: ClassVar[bool] = True

    def identity(self, *operands: Expr) -> Expr | None:
        (x,) = operands
        with _LOCK:
            name = _own_name(x, str(self.length))
        return None if name == self.length else nonzero_places(x)

    def bound(self, lengths: Callable[[Shape], Shape]) -> Opaque:
        return self  # the length follows the operand

    def called(self, shape: Shape) -> tuple[str, list[str]]:
        return self.name, []


_LOCK = fork_safe_lock()
# Vectors by the names of their lengths.
_VECTORS: weakref.WeakValueDictionary[str, Expr] = weakref.WeakValueDictionary()


def condition_of(name: str) -> Expr | None:
    """Return the vector whose nonzero elements a length of this name counts, or None.

    >>> import symdiff as sd
    >>> v = sd.symbol("vector", 3)
    >>> places = nonzero_places(v)
    >>> condition_of(str(places.shape[0])) is v, condition_of("n")
    (True, None)
    """
    return _VECTORS.get(name)


def nonzero_places(x: Expr) -> Expr:
    """The indices of nonzero elements in a vector of numbers."""
    with _LOCK:
        length = Length(_own_name(x))
    return opaque(intern_op((Nonzero, length), lambda: Nonzero(length)), x)


def places_of_op(length: Any) -> PlacesOf:
    """The op for a given length, which is known by the time that it runs."""
    return intern_op((PlacesOf, length), lambda: PlacesOf(length))


def _own_name(x: Expr, wanted: str | None = None) -> str:
    """The name of a vector, or a free one: ``wanted``, if it is free."""
    for name, other in _VECTORS.items():
        if other is x:
            return name
    description = _stable_name(x)
    first = [description] if wanted is None else [wanted, description]
    tried = itertools.chain(first, (f"{description}_{k}" for k in itertools.count(1)))
    name = next(name for name in tried if _VECTORS.get(name) is None)
    _VECTORS[name] = x
    return name


def _stable_name(x: Expr) -> str:
    """A name that hardly any other formula has, and that is the same in every session."""
    facts = {(y.op.name, str(y.shape), repr(getattr(y.op, "coefs", ""))) for y in topological([x])}
    return f"{OF_CONDITION}{zlib.crc32(repr(sorted(facts)).encode()):08x}"
