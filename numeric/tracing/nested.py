"""Flatten nested structures of Tensors, in tuples, lists and dicts, and rebuild them."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from numeric.eager.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Leaf(NamedTuple):
    """The place of a tensor in a structure."""

    place: int


def flat(tree: object) -> tuple[object, list[Tensor]]:
    """Return a nested structure with places instead of its tensors, and the tensors."""
    tensors: list[Tensor] = []
    try:
        return _collected(tree, tensors), tensors
    except RecursionError:
        raise ValueError("a structure of Tensors contains itself, or is nested too deep") from None


def contents(tree: object) -> Iterator[object]:
    """Yield the parts of a nested structure.  Raises ValueError if it contains itself."""
    try:
        yield from _contents(tree)
    except RecursionError:
        raise ValueError("a structure of Tensors contains itself, or is nested too deep") from None


def _contents(tree: object) -> Iterator[object]:
    if isinstance(tree, dict):
        tree = list(tree.values())
    if isinstance(tree, list | tuple):
        for part in tree:
            yield from _contents(part)
    else:
        yield tree


def _collected(tree: object, tensors: list[Tensor]) -> object:
    """Return the structure with places instead of tensors, and add the tensors to the list."""
    if isinstance(tree, Tensor):
        tensors.append(tree)
        return Leaf(len(tensors) - 1)
    if isinstance(tree, dict):
        return _dict_like(tree, {key: _collected(x, tensors) for key, x in tree.items()})
    if isinstance(tree, list | tuple):
        return _like(tree, [_collected(x, tensors) for x in tree])
    return tree


def filled(tree: object, tensors: Sequence[object]) -> Any:
    """Return the structure with tensors in their places."""
    # A Leaf is a tuple itself: test for it first.
    if isinstance(tree, Leaf):
        return tensors[tree.place]
    if isinstance(tree, dict):
        return _dict_like(tree, {key: filled(x, tensors) for key, x in tree.items()})
    if isinstance(tree, list | tuple):
        return _like(tree, [filled(x, tensors) for x in tree])
    return tree


def _dict_like(tree: Any, items: dict[object, object]) -> object:
    kind = type(tree)
    if kind is dict:
        return items
    # The constructor of a defaultdict takes the factory first.
    if issubclass(kind, defaultdict):
        return kind(tree.default_factory, items)
    return kind(items)


def _like(tree: Any, items: list[object]) -> object:
    kind = type(tree)
    # A named tuple takes its fields one by one.
    return kind(*items) if hasattr(tree, "_fields") else kind(items)
