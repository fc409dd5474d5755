"""Ops with bodies: expressions over bound symbols inside the op."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from symdiff.graph import ops
from symdiff.graph.axis_lengths import bound, names
from symdiff.graph.bound_lengths import with_lengths
from symdiff.graph.leaves import named_dummy
from symdiff.graph.lengths import Length
from symdiff.graph.node import topological
from symdiff.locks import cached_property, fork_safe_lock, once

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from symdiff.graph.expr import Expr
    from symdiff.graph.node import Dim, Shape

_BOUND: weakref.WeakValueDictionary[tuple[object, ...], Expr] = weakref.WeakValueDictionary()
_LOCK = fork_safe_lock()


def bound_symbol(role: str, k: int, like: Expr) -> Expr:
    """The bound symbol for a role, shape and dtype, the same in all ops with bodies."""
    key = (role, k, like.shape, like.dtype)
    return once(_BOUND, key, _LOCK, lambda: named_dummy(f"{role}{k}", like.shape, like.dtype))


def replaced(outputs: Sequence[Expr], mapping: Mapping[Expr, Expr]) -> list[Expr]:
    """Replace nodes of ``outputs`` by others of the same shapes, all at once."""
    return with_lengths("scan", outputs, mapping, {})


def bind_lengths(
    what: str, bodies: Sequence[Expr], symbols: Sequence[Expr], known: Mapping[str, Dim]
) -> tuple[list[Expr], list[Expr]]:
    """Bodies with known lengths, and the fresh symbols that they are over.

    Raises ShapeError, which names ``what``, for a length that would be negative.
    """
    dummies = {x: named_dummy(x.name, bound(x.shape, known), x.dtype) for x in symbols}
    return with_lengths(what, bodies, dummies, known), [dummies[x] for x in symbols]


class WithBodies(ops.Opaque):
    """The base of ops with bodies: expressions over bound symbols inside the op."""

    __slots__ = ("__dict__",)

    @property
    def inside(self) -> tuple[Expr, ...]:
        """The bodies."""
        raise NotImplementedError

    @property
    def symbols(self) -> tuple[Expr, ...]:
        """The bound symbols."""
        raise NotImplementedError

    @property
    def bound_lengths(self) -> tuple[Length, ...]:
        """The lengths that the op itself gives its bodies."""
        return ()

    @cached_property
    def inner_lengths(self) -> list[str]:
        """The names of lengths that bodies need from outside."""
        every = names(topological([*self.inside, *self.symbols]))
        return [name for name in every if name not in self.bound_lengths]

    def known_lengths(self, lengths: Callable[[Shape], Shape]) -> dict[str, Dim]:
        """The new lengths by name, for the inner lengths that ``lengths`` changes."""
        return {
            name: length
            for name in self.inner_lengths
            if (length := lengths((Length(name),))[0]) != name
        }

    def needs(self, *operands: Any) -> list[tuple[Dim, str]]:
        """The lengths in bodies that must not be negative, but those of bound lengths."""
        return [
            (need, why)
            for node in topological(self.inside)
            for need, why in node.op.needs(*node.args)
            if not isinstance(need, Length) or not set(self.bound_lengths) & set(need.names)
        ]
