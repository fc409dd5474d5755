"""Batching: one formula, evaluated along a new leading axis of some of its symbols."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from symdiff.calculus import rules
from symdiff.errors import ShapeError, Unsupported
from symdiff.graph import ops
from symdiff.graph.algebra import linear
from symdiff.graph.axes import shape_text
from symdiff.graph.contraction import broadcast_to, contract
from symdiff.graph.expr import Expr, built, free_symbols
from symdiff.graph.leaves import as_expr
from symdiff.graph.node import topological
from symdiff.transforms.substitution import named

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from symdiff.graph.expr import Operand
    from symdiff.graph.node import Dim, Op

__all__ = ["batch"]

# Arguments: a node, its operands with whether they have the new axis, and the length of that axis.
Batching: TypeAlias = "Callable[[Expr, list[tuple[Expr, bool]], Dim], Expr]"

_RULES: dict[type[Op], Batching] = {}


def register(op: type[Op], rule: Batching) -> None:
    """Register the batching rule of an op class that a module above this one defines."""
    _RULES[op] = rule


# Ops that treat leading axes as a batch, provided that all operands have them.
_TRAILING = (ops.Sum, ops.Product, ops.Pointwise, ops.Strong, ops.Barrier)


@overload
def batch(outputs: Expr, replacements: Mapping[Any, Operand]) -> Expr: ...
@overload
def batch(outputs: Sequence[Expr], replacements: Mapping[Any, Operand]) -> tuple[Expr, ...]: ...
def batch(
    outputs: Expr | Sequence[Expr], replacements: Mapping[Any, Operand]
) -> Expr | tuple[Expr, ...]:
    """Evaluate ``outputs`` for many values of some symbols: ``value[b] = output(x -> X[b])``.

    The result has no loop: sums, contractions and decompositions get a leading axis.  Parts that
    depend on no replaced symbol are computed once.

    Args:
        outputs: an expression, or a list or tuple of them, which gives a tuple.
        replacements: by symbol, or by the name of a free symbol: expressions or arrays of the
            symbol's shape with one more leading axis, of one length for all.

    Raises ShapeError for other shapes, Unsupported for custom functions, TypeError and ValueError
    for keys that are not free symbols, ValueError without replacements.

    >>> import symdiff as sd
    >>> A, x = sd.symbol("A", (3, 3)), sd.symbol("x", 3)
    >>> X = sd.symbol("X", ("n", 3))
    >>> sd.batch(x @ A @ x, {x: X}).shape
    ('n',)
    """
    many = not isinstance(outputs, Expr)
    ys = [outputs] if isinstance(outputs, Expr) else list(outputs)
    by_symbol = named("batch", free_symbols(ys), replacements, strict=True)
    values = {x: as_expr(value) for x, value in by_symbol.items()}
    results = batched(ys, values, _new_length(values))
    return tuple(results) if many else results[0]


def batched(outputs: Sequence[Expr], values: Mapping[Expr, Expr], length: Dim) -> list[Expr]:
    """``outputs`` with values for some nodes along a new leading axis of this length.

    >>> import symdiff as sd
    >>> x = sd.symbol("x", 3)
    >>> batched([sd.sin(x)], {x: sd.symbol("X", (5, 3))}, 5)[0] is sd.sin(sd.symbol("X", (5, 3)))
    True
    """
    # For each node its expression, and whether that has the new axis.
    done: dict[Expr, tuple[Expr, bool]] = {}
    for node in topological(outputs):
        if node in values:
            done[node] = values[node], True
        elif any(done[x][1] for x in node.args):
            done[node] = _batch_node(node, [done[x] for x in node.args], length), True
        else:
            done[node] = node, False
    return [led(*done[y], length) for y in outputs]


def _new_length(values: Mapping[Expr, Expr]) -> Dim:
    """The length of the new axis; raises ShapeError if values disagree."""
    length: Dim | None = None
    for x, value in values.items():
        if value.shape[1:] != x.shape or value.ndim == x.ndim:
            raise ShapeError(
                f"batch: symbol {x.name} has shape {shape_text(x.shape)}, its values have shape "
                f"{shape_text(value.shape)}; expected one more leading axis, before "
                f"{shape_text(x.shape)}"
            )
        if length is not None and value.shape[0] != length:
            raise ShapeError(
                f"batch: the values of {x.name} are {value.shape[0]}, others are {length}"
            )
        length = value.shape[0]
    if length is None:
        raise ValueError("batch: there is nothing to replace")
    return length


def led(x: Expr, has: bool, length: Dim) -> Expr:
    """``x`` with the new leading axis: x itself if it has one, else x repeated along it."""
    return x if has else broadcast_to(x, (length, *x.shape))


def _batch_node(node: Expr, args: list[tuple[Expr, bool]], length: Dim) -> Expr:
    """Apply ``node`` to operands of which some have the new axis."""
    op = node.op
    rule = _RULES.get(op.__class__)
    if rule is not None:
        return rule(node, args, length)
    if isinstance(op, ops.Contract):
        # ``new`` is an unused axis label; operands without the axis simply lack it.
        new = 1 + max([*op.out, *(k for word in op.letters for k in word)], default=0)
        created = dict.fromkeys(k for k in op.out if all(k not in word for word in op.letters))
        terms = [
            (x, (new, *word) if has else word, kills)
            for (x, has), word, kills in zip(args, op.letters, op.kills, strict=True)
        ]
        return contract(terms, (new, *op.out), dict(zip(created, op.created, strict=True)))
    if isinstance(op, ops.Unknown):
        raise op.refused("batch")
    if isinstance(op, ops.Opaque) and op.signature is not None:
        return rules.batched(node, [x for x, _ in args], (length,))
    # All other ops need the new axis in every operand.
    wide = tuple([led(x, has, length) for x, has in args])
    if isinstance(op, _TRAILING):
        return built(op, wide)
    if isinstance(op, ops.Linear):
        return linear(op, *wide)
    raise Unsupported(f"batch: {op.name} has no batching rule")
