"""Functions for ops with bodies: expressions over bound symbols inside the op."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from symdiff.graph.axis_lengths import bound, names
from symdiff.graph.bound_lengths import with_lengths
from symdiff.graph.leaves import named_dummy
from symdiff.graph.lengths import Length
from symdiff.graph.node import topological
from symdiff.locks import fork_safe_lock, once

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

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


def known_lengths(
    bodies: Iterable[Expr], symbols: Iterable[Expr], lengths: Callable[[Shape], Shape]
) -> dict[str, Dim]:
    """The new lengths by name, for names in bodies and bound symbols that ``lengths`` changes."""
    return {
        name: length
        for name in lengths_inside(bodies, symbols)
        if (length := lengths((Length(name),))[0]) != name
    }


def bind_lengths(
    what: str, bodies: Sequence[Expr], symbols: Sequence[Expr], known: Mapping[str, Dim]
) -> tuple[list[Expr], list[Expr]]:
    """Bodies with known lengths, and the fresh symbols that they are over.

    Raises ShapeError, which names ``what``, for a length that would be negative.
    """
    dummies = {x: named_dummy(x.name, bound(x.shape, known), x.dtype) for x in symbols}
    return with_lengths(what, bodies, dummies, known), [dummies[x] for x in symbols]


def lengths_inside(bodies: Iterable[Expr], symbols: Iterable[Expr]) -> list[str]:
    """The names of lengths that bodies over bound symbols need."""
    return names(topological([*bodies, *symbols]))


def needs_inside(bodies: Iterable[Expr]) -> list[tuple[Any, str]]:
    """The lengths in bodies that must not be negative, each with the reason for messages."""
    return [need for node in topological(bodies) for need in node.op.needs(*node.args)]
