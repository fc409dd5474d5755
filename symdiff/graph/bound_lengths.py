"""Substitute lengths of axes in formulas, and replace the symbols that have them.

Data that makes a length a number turns each symbol with that length into another symbol of the same
name.  A user goes on to write with the first symbol and means the second.  ``in_terms_of``
translates such expressions into the symbols of a formula.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from symdiff.errors import ShapeError
from symdiff.graph import ops
from symdiff.graph.algebra import counted, size
from symdiff.graph.axis_lengths import become, bound, bound_sizes, definitions_first
from symdiff.graph.contraction import contract
from symdiff.graph.expr import Expr, built, rebuild
from symdiff.graph.leaves import full, named_dummy, symbol
from symdiff.graph.lengths import Length
from symdiff.graph.node import topological

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from symdiff.graph.node import Dim


def with_values(
    what: str,
    outputs: Sequence[Expr],
    values: Mapping[Expr, Expr],
    instead: Callable[[Expr, Sequence[Expr]], Expr | None] | None = None,
) -> list[Expr]:
    """``outputs`` with expressions for symbols, and the values' lengths for the symbols' lengths.

    ``instead(node, operands)`` may return another expression for a node on its new operands.

    Raises ShapeError with ``what`` in front for a value of another shape, or a length with two
    values.

    >>> import symdiff as sd
    >>> x, y = sd.symbol("x", "n"), sd.symbol("y", "n")
    >>> with_values("here", [x + y, y[1:]], {x: sd.symbol("z", 3)})[1].shape
    (2,)
    """
    bound_to = bound_sizes(f"{what}: symbol", list(values), [v.shape for v in values.values()])
    sizes = {dim: length for dim, length in bound_to.items() if dim != length}
    return with_lengths(what, outputs, values, sizes, instead)


def with_lengths(
    what: str,
    outputs: Sequence[Expr],
    values: Mapping[Expr, Expr],
    sizes: Mapping[str, Dim],
    instead: Callable[[Expr, Sequence[Expr]], Expr | None] | None = None,
) -> list[Expr]:
    """``outputs`` with nodes replaced and named lengths known; ``instead`` as in ``with_values``.

    >>> import symdiff as sd
    >>> x, y = sd.symbol("x", "n"), sd.symbol("y", "n")
    >>> with_lengths("here", [sd.sin(x) + y], {sd.sin(x): sd.symbol("z", 3)}, {"n": 3})[0].shape
    (3,)
    """
    done: dict[Expr, Expr] = {}
    for node in definitions_first(topological(outputs)):
        value = values.get(node)
        if value is None and instead is not None:
            value = instead(node, [done[arg] for arg in node.args])
        done[node] = _rebuilt(what, node, done, sizes) if value is None else value
        if isinstance(node.op, ops.Opaque) and node.op.defines:
            (before,), (after,) = node.shape, done[node].shape
            if before != after:
                sizes = {**sizes, str(before): after}
    return [done[node] for node in outputs]


def in_terms_of(outputs: Sequence[Expr], what: str, exprs: Sequence[Expr]) -> list[Expr]:
    """Translate expressions into the symbols of ``outputs``, whose lengths may differ.

    Raises ShapeError with ``what`` in front for an element that those lengths do not have.

    >>> import symdiff as sd
    >>> x, y = sd.symbol("x", "n"), sd.symbol("x", 3)
    >>> in_terms_of([sd.sum(y)], "here", [x[-1]]) == [y[-1]]
    True
    """
    named = [[y for y in _symbols([x]) if any(map(_is_named, y.shape))] for x in exprs]
    asked = {y for symbols in named for y in symbols}
    remaining = [y for y in _symbols(outputs) if y not in asked] if asked else []
    if not remaining:
        return list(exprs)
    results = []
    for x, symbols in zip(exprs, named, strict=True):
        values = {y: there for y in symbols if (there := become(y, remaining)) is not y}
        results.append(with_values(what, [x], values)[0] if values else x)
    return results


def _symbols(xs: Sequence[Expr]) -> Sequence[Expr]:
    if len(xs) == 1 and isinstance(xs[0].op, ops.Symbol):
        return xs
    return [node for node in topological(xs) if isinstance(node.op, ops.Symbol)]


def _is_named(dim: Dim) -> bool:
    return isinstance(dim, Length)


def _rebuilt(what: str, node: Expr, done: Mapping[Expr, Expr], sizes: Mapping[str, Dim]) -> Expr:
    """``node`` on its new operands, with the known lengths in its own parameters."""
    op = node.op
    args = tuple([done[arg] for arg in node.args])
    if not sizes:
        return rebuild(node, args)
    for need, why in op.needs(*node.args):
        (needed,) = bound((need,), sizes)
        if isinstance(needed, int) and needed < 0:
            raise ShapeError(f"{what}: {why} is impossible, {need} would be {needed}")
    for dim, length in zip(node.shape, bound(node.shape, sizes), strict=True):
        if isinstance(length, int) and length < 0:
            whose = f" of {op.name}" if isinstance(op, ops.Symbol) else ""
            why = f"an axis of length {dim}{whose}"
            raise ShapeError(f"{what}: {why} is impossible, {dim} would be {length}")
    if isinstance(op, ops.Symbol):
        shape = bound(node.shape, sizes)
        if shape == node.shape:
            return node
        if op.dummy:  # a constant stays the same node
            return named_dummy(op.name, shape, node.dtype)
        return symbol(op.name, shape, node.dtype)
    if isinstance(op, ops.Size):
        (length,) = bound((Length(op.name),), sizes)
        return counted(length) if isinstance(op, ops.Count) else size(length)
    if isinstance(op, ops.Fill):
        return full(bound(op.created, sizes), node.args[0].op.const)  # type: ignore[attr-defined]
    if isinstance(op, ops.Contract) and bound(op.created, sizes) != op.created:
        created = dict.fromkeys(k for k in op.out if all(k not in word for word in op.letters))
        lengths = dict(zip(created, bound(op.created, sizes), strict=True))
        return contract(list(zip(args, op.letters, op.kills, strict=True)), op.out, lengths)
    bound_op = op.bound(lambda shape: bound(shape, sizes))
    return rebuild(node, args) if bound_op is op else built(bound_op, args)
