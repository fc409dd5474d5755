"""Batching: one formula, evaluated along a new leading axis of some of its symbols."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from symdiff.calculus.derivative import jvp
from symdiff.errors import ShapeError, Unsupported
from symdiff.functions.rearranging import moveaxis
from symdiff.graph import ops
from symdiff.graph.algebra import linear, opaque
from symdiff.graph.axes import shape_text
from symdiff.graph.contraction import broadcast_to, contract
from symdiff.graph.expr import Expr, built, free_symbols
from symdiff.graph.leaves import as_expr, full, symbol
from symdiff.graph.node import topological
from symdiff.transforms.substitution import named

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from symdiff.graph.expr import Operand
    from symdiff.graph.node import Dim, Op
    from symdiff.graph.signatures import Signature

__all__ = ["batch"]

# A node, its operands with whether they have the new axis, and the length of that.
Batching: TypeAlias = "Callable[[Expr, list[tuple[Expr, bool]], Dim], Expr]"

_RULES: dict[type[Op], Batching] = {}


def register(op: type[Op], rule: Batching) -> None:
    """Say what a class of ops that a module above this one defines does to a new leading axis."""
    _RULES[op] = rule


# What treats the leading axes of its operands as a batch, provided that all have them.
_TRAILING = (ops.Sum, ops.Product, ops.Pointwise, ops.Strong, ops.Barrier)


@overload
def batch(outputs: Expr, replacements: Mapping[Any, Operand]) -> Expr: ...
@overload
def batch(outputs: Sequence[Expr], replacements: Mapping[Any, Operand]) -> tuple[Expr, ...]: ...
def batch(
    outputs: Expr | Sequence[Expr], replacements: Mapping[Any, Operand]
) -> Expr | tuple[Expr, ...]:
    """``outputs`` for each of many values of some symbols: ``value[b] = output(x -> X[b])``.

    No loop is written: sums, contractions and decompositions get a leading axis.  Symbols without a
    replacement, and whatever depends on them alone, are computed once.

    Args:
        outputs: an expression, or a list or tuple of them, which gives a tuple.
        replacements: by symbol, or by the name of a free symbol: expressions or arrays of the
            symbol's shape with one more leading axis, of one length for all.

    Raises ShapeError for other shapes, Unsupported for functions of the user's, TypeError and
    ValueError for keys that are no free symbols, ValueError without replacements.

    >>> import symdiff as sd
    >>> A, x = sd.symbol("A", (3, 3)), sd.symbol("x", 3)
    >>> X = sd.symbol("X", ("n", 3))
    >>> sd.batch(x @ A @ x, {x: X}).shape
    ('n',)
    """
    many = not isinstance(outputs, Expr)
    ys = [outputs] if isinstance(outputs, Expr) else list(outputs)
    given = named("batch", free_symbols(ys), replacements, strict=True)
    values = {x: as_expr(value) for x, value in given.items()}
    results = batched(ys, values, _length(values))
    return tuple(results) if many else results[0]


def batched(outputs: Sequence[Expr], values: Mapping[Expr, Expr], length: Dim) -> list[Expr]:
    """``outputs`` where nodes have values along a new leading axis of this length.

    >>> import symdiff as sd
    >>> x = sd.symbol("x", 3)
    >>> batched([sd.sin(x)], {x: sd.symbol("X", (5, 3))}, 5)[0] is sd.sin(sd.symbol("X", (5, 3)))
    True
    """
    # A node's expression, and whether it has the new axis.
    done: dict[Expr, tuple[Expr, bool]] = {}
    for node in topological(outputs):
        if node in values:
            done[node] = values[node], True
        elif any(done[x][1] for x in node.args):
            done[node] = _batched(node, [done[x] for x in node.args], length), True
        else:
            done[node] = node, False
    return [led(*done[y], length) for y in outputs]


def pushed_jacobian(f: Expr, x: Expr) -> tuple[Expr, Expr]:
    """The Jacobian ``J[i.., j..] = d f[i..] / d x[j..]`` by columns, and the column of a tangent.

    Column j is the tangent of ``f`` for the tangent of x that is 1 at j and 0 elsewhere; all are
    computed as a batch.  It costs as many passes as x has elements, the pullback of ``jacobian``
    as many as f has.

    >>> import symdiff as sd
    >>> x = sd.symbol("x", 2)
    >>> pushed_jacobian(sd.stack([x @ x, x[0], x[1]]), x)[0].shape
    (3, 2)
    """
    names = {s.name for s in free_symbols([f])}
    new = (name for k in itertools.count() if (name := f"t{k}") not in names)
    t = symbol(next(new), x.shape) if x.ndim else as_expr(1)
    column = result = jvp(f, x, t)
    word = tuple(range(x.ndim))
    for axis in reversed(word):
        many = contract([], word + word, dict(enumerate(x.shape)))
        if axis:
            many = symbol(next(new), (x.shape[axis], *t.shape))
        if t not in free_symbols([result]):
            return full(f.shape + x.shape, 0), column
        result, t = batch(result, {t: many}), many
    lead = tuple(range(result.ndim))
    return contract([(result, lead)], lead[x.ndim :] + lead[: x.ndim]), column


def _length(values: Mapping[Expr, Expr]) -> Dim:
    """The length of the new axis."""
    found: Dim | None = None
    for x, value in values.items():
        if value.shape[1:] != x.shape or value.ndim == x.ndim:
            raise ShapeError(
                f"batch: symbol {x.name} has shape {shape_text(x.shape)}, its values have shape "
                f"{shape_text(value.shape)}; expected one more leading axis, before "
                f"{shape_text(x.shape)}"
            )
        if found is not None and value.shape[0] != found:
            raise ShapeError(
                f"batch: the values of {x.name} are {value.shape[0]}, others are {found}"
            )
        found = value.shape[0]
    if found is None:
        raise ValueError("batch: there is nothing to replace")
    return found


def led(x: Expr, has: bool, length: Dim) -> Expr:
    """``x`` with the new axis."""
    return x if has else broadcast_to(x, (length, *x.shape))


def _batched(node: Expr, args: list[tuple[Expr, bool]], length: Dim) -> Expr:
    """``node`` on operands of which some have the new axis."""
    op = node.op
    rule = _RULES.get(op.__class__)
    if rule is not None:
        return rule(node, args, length)
    if isinstance(op, ops.Contract):
        new = 1 + max([*op.out, *(k for word in op.letters for k in word)], default=0)
        created = dict.fromkeys(k for k in op.out if all(k not in word for word in op.letters))
        terms = [
            (x, (new, *word) if has else word, kills)
            for (x, has), word, kills in zip(args, op.letters, op.kills, strict=True)
        ]
        return contract(terms, (new, *op.out), dict(zip(created, op.created, strict=True)))
    if isinstance(op, ops.Opaque) and op.signature is not None:
        return _opaque(op, op.signature, node, args, length)
    wide = tuple([led(x, has, length) for x, has in args])
    if isinstance(op, _TRAILING):
        return built(op, wide)
    if isinstance(op, ops.Linear):
        return linear(op, *wide)
    raise Unsupported(f"batch: {op.name} does not say what it does to a leading axis")


def _opaque(
    op: ops.Opaque,
    signature: Signature,
    node: Expr,
    args: list[tuple[Expr, bool]],
    length: Dim,
) -> Expr:
    """``node``, of operands of which some may be shared by the leading axes of the others.

    Where those lack the new axis, it is one more of the others', and what is done with the shared
    operands is done once.  Otherwise theirs goes where those of the shared operands are.
    """
    shared = signature.shared
    alone = not any(args[k][1] for k in shared)
    wide = [x if alone and k in shared else led(x, has, length) for k, (x, has) in enumerate(args)]
    if alone or len(args) == len(shared):
        return opaque(op, *wide)
    leads = [x.ndim - len(signature.core(k)) for k, x in enumerate(node.args)]
    more = max(leads) - leads[shared[0]]
    moved = [x if k in shared else moveaxis(x, 0, more) for k, x in enumerate(wide)]
    return moveaxis(opaque(op, *moved), more, 0)
