"""Trees of expressions: nested tuples, lists and dicts, as users give carries and unknowns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symdiff.calculus.nested_results import Matrix
from symdiff.graph.arguments import DEEPEST
from symdiff.graph.axes import shape_text
from symdiff.graph.expr import Expr

if TYPE_CHECKING:
    from collections.abc import Iterator


def leaves_of(tree: Any, depth: int = 0) -> list[Any]:
    """The leaves of tuples, lists and dicts, in their order; None is an empty tree."""
    if depth > DEEPEST:  # also for a list that contains itself
        raise ValueError(f"tuples, lists and dicts are nested more than {DEEPEST} deep")
    if tree is None:
        return []
    if isinstance(tree, dict):
        tree = list(tree.values())
    if isinstance(tree, tuple | list):
        return [leaf for branch in tree for leaf in leaves_of(branch, depth + 1)]
    return [tree]


def like(tree: Any, leaves: Iterator[Any]) -> Any:
    """A tree of the same structure with other leaves."""
    if tree is None:
        return None
    if isinstance(tree, dict):
        return type(tree)((key, like(branch, leaves)) for key, branch in tree.items())
    if isinstance(tree, tuple | list):
        # A named tuple takes its fields one by one, other sequences take all at once.
        branches = [like(branch, leaves) for branch in tree]
        kind = _kind(tree)
        return kind(*branches) if hasattr(tree, "_fields") else kind(branches)
    return next(leaves)


def leaves_like(tree: Any, of: Any) -> list[Any] | None:
    """The leaves of a tree in the order of the tree ``of``; None if the structures differ."""
    if of is None or tree is None:
        return [] if of is tree else None
    if isinstance(of, dict):
        if not isinstance(tree, dict) or tree.keys() != of.keys():
            return None
        pairs = [(tree[key], of[key]) for key in of]
    elif isinstance(of, tuple | list):
        if _kind(tree) is not _kind(of) or len(tree) != len(of):
            return None
        pairs = list(zip(tree, of, strict=True))
    else:
        return None if isinstance(tree, dict | tuple | list) else [tree]
    result: list[Any] = []
    for branch, there in pairs:
        leaves = leaves_like(branch, there)
        if leaves is None:
            return None
        result += leaves
    return result


def _kind(tree: Any) -> type[Any]:
    """The class of a branch; a matrix of derivatives is the tuple of its entries."""
    return tuple if isinstance(tree, Matrix) else type(tree)


def shown(tree: Any) -> str:
    """Describe the structure of a tree, with the shapes of its leaves."""
    if isinstance(tree, dict):
        return f"{{{', '.join(f'{key!r}: {shown(branch)}' for key, branch in tree.items())}}}"
    if isinstance(tree, tuple | list):
        left, right = "()" if isinstance(tree, tuple) else "[]"
        comma = "," if isinstance(tree, tuple) and len(tree) == 1 else ""
        return f"{left}{', '.join(map(shown, tree))}{comma}{right}"
    return f"shape {shape_text(tree.shape)}" if isinstance(tree, Expr) else repr(tree)
