"""The recorded backward pass: pullbacks as operations on saved values and cotangents.

Each cotangent of a node is the result of an ``Op``.  Its operands are the node's saved values and
the cotangents of the results, and its formula is that of the node's pullback.  The op has a
pullback itself, and so on to any order: no rules for second derivatives exist.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from numeric.eager.operations import Op
from numeric.eager.record import Known, Node, Record
from numeric.eager.recording import apply, cast, follow, hand_on, record
from numeric.eager.specialised import LOCK, cotangents, replaced, symbols
from numeric.eager.tensor import Tensor, blank, wrap
from numeric.modes import current
from symdiff.calculus.flows import NONE, Flow
from symdiff.calculus.rules import pullback
from symdiff.graph import ops
from symdiff.graph.leaves import is_zero, named_dummy
from symdiff.locks import once

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numeric.eager.specialised import Bound, Declaration, Pullback
    from symdiff.graph.expr import Expr

# Ops whose recorded pullbacks depend on the saved values, as PyTorch's do, with derivative 0.
_DEPENDING = frozenset({"abs", "leaky_relu", "relu"})


# Pullbacks as operations ------------------------------------------------------------------------


class Operation(NamedTuple):
    """A pullback to one operand, as an operation.

    ``takes`` has its operands as places among the saved values and, after them, the cotangents of
    the results.  ``smooth`` marks the operands with a derivative that is not 0.
    """

    op: Op
    takes: list[int]
    smooth: list[bool]


def operation(p: Pullback, k: int, kind: np.dtype | None = None) -> Operation:
    """Return the pullback to the k-th operand of its mask, cached.

    ``kind`` is the dtype of that operand for an op whose formula contains the conversions itself.
    """
    todo = p.operations.get((k, kind))
    if todo is None:
        todo = once(p.operations, (k, kind), LOCK, partial(_operation, p, k, kind))
    return todo


def _operation(p: Pullback, k: int, kind: np.dtype | None) -> Operation:
    """Declare the operation.

    Its formula is derived from the formula of the original op again for each set of shapes.  Its
    parameter has the shapes of the original operands, or None if all have the shape of its own.
    """
    of, parent = p.of, p.of.op
    expr = p.exprs[k]
    assert expr is not None
    used = symbols(expr)
    arity = len(p.places)
    # Places of operands, results and cotangents, one after the other.
    taken = [i for i in p.keeps if p.places[i] in used]
    taken += [arity + i for i, g in enumerate(p.gs) if g in used]
    available = [*p.keeps, *range(arity, arity + len(p.gs))]

    def build(*args: Any) -> Expr:
        *exprs, shapes = args
        if shapes is None:
            shapes = [exprs[0].shape] * len(of.xs)
        xs = [
            named_dummy(f"x{i}", shape, x.dtype)
            for i, (shape, x) in enumerate(zip(shapes, of.xs, strict=True))
        ]
        ys = parent.results(xs, of.params)
        stand_ins, gs, flows = cotangents(parent, xs, ys, p.mask, p.marked, of.params, p.absent)
        flow = flows[k]
        assert flow is not None
        places = [*xs, *stand_ins, *gs]
        return replaced(flow.expr, {places[i]: e for i, e in zip(taken, exprs, strict=True)})

    op = Op(
        f"{parent.name}_backward",
        build,
        pointwise=parent.pointwise and p.pointwise,
        promotion=None,
        label=_label(parent, expr),
        concrete=True,
        kinds=None if kind is None else (kind,),
        origin=(_op, (p, k, kind)),
    )
    places = [*p.places, *p.gs]
    seed = Flow(named_dummy("g", expr.shape, float), NONE)
    flows = pullback([expr], [places[i] for i in taken], [seed])
    smooth = [
        parent.name in _DEPENDING or (flow is not None and not is_zero(flow.expr)) for flow in flows
    ]
    return Operation(op, [available.index(i) for i in taken], smooth)


def _op(p: Pullback, k: int, kind: np.dtype | None) -> Op:
    """Return the op alone; pickles refer to it by this function and its arguments."""
    return operation(p, k, kind).op


def _label(parent: Declaration, e: Expr) -> str:
    """Return the name of a recorded pullback: the PyTorch operation that computes the same."""
    if parent.pointwise or isinstance(e.op, ops.Product):
        return "NegBackward0" if parent.name == "neg" else "MulBackward0"
    if isinstance(e.op, ops.Contract):
        return "MmBackward0" if len(e.args) == 2 else "SumBackward1"
    base = parent.label
    return (base[: -len("0")] if base[-1].isdigit() else base) + "Backward0"


# Saved values as Tensors ------------------------------------------------------------------------


def restored(node: Node, i: int, value: object, place: int) -> object:
    """Return a saved Tensor, its array with its history; a number is returned as it is."""
    if value.__class__ is not np.ndarray:
        return value
    mask: tuple[bool, ...] = (node.pullback or node).mask  # type: ignore[union-attr]
    arity = len(mask)
    out = blank(value)
    out._v = node.check[2 * i]
    if place >= arity:  # a result
        out._rg, out._edge = True, node
        _numbered(out, place - arity)
        return out
    if mask[place]:
        k = sum(mask[:place])
        out._rg, out._edge = True, node.edges[k]
        if node.nrs is not None:
            _numbered(out, node.nrs[k])
    elif node.operands is not None:
        if not isinstance(node.operands[place], Record):  # an array of the formula
            return value
        out._edge = node.operands[place]
        out._special = out._edge.__class__ is Known
    return out


def _numbered(x: Tensor, nr: int) -> None:
    if x._edge.outputs > 1:
        x._nr, x._special = nr, True


def _held(x: object) -> object:
    """Return ``x`` without its gradient, for a formula whose derivative by it is 0.

    So the result does not depend on it in the record, but its expression stays known.
    """
    if not isinstance(x, Tensor) or not x._rg or x._nr:
        return x
    out = blank(x._array)
    out._v, out._special = x._v, True
    out._edge = Known(out, None, (x._edge,))
    return out


# Nodes ------------------------------------------------------------------------------------------


def pull_recorded(
    node: Node, gs: Sequence[Any], marked: bool
) -> tuple[list[Tensor], list[bool] | None]:
    """Pull back Tensors as ``node.pull`` does with arrays, and record the operations."""
    p = node.variant(gs, marked)
    if node.partial:
        zeros = node.filled(gs)
        gs = [follow(wrap(z), 0) if g is None else g for g, z in zip(gs, zeros, strict=True)]
    return differentiated(p, node.bound, _saved(node, p), gs)


def _saved(node: Node, p: Pullback) -> list[object]:
    """Return the saved values of a node that a pullback needs."""
    values, place = node.values(), node.kept().index
    return [restored(node, place(i), values[place(i)], i) for i in p.keeps]


def pull_asked(
    node: Node, gs: Sequence[Any], marked: bool, asked: Sequence[bool], recorded: bool
) -> tuple[list[Any], list[bool] | None] | None:
    """Pull back to some of the edges only; the cotangents of the others are None.

    Returns None if the class of the node overrides ``pull``, or if the node lacks a saved value.
    """
    p, bound = node.pullback, node.bound
    if p is None or node.partial or type(node).pull is not Node.pull:
        return None
    edges = iter(asked)
    q = p.of.pullback(tuple([m and next(edges) for m in p.mask])).variant(marked)
    if not set(q.keeps) <= set(p.keeps):
        return None
    results: Sequence[object]
    if recorded:
        results, marks = differentiated(q, bound, _saved(node, q), gs)
    else:
        values, place = node.values(), p.keeps.index
        results = q.function(*[values[place(i)] for i in q.keeps], *gs, bound.sizes)
        results, marks = results if q.clean else bound.fitted(q, results, gs[0]), q.marks
    each = iter(results)
    out = [next(each) if a else None for a in asked]
    if marks is not None:
        flags = iter(marks)
        marks = [a and next(flags) for a in asked]
    return out, marks


def differentiated(
    p: Pullback, bound: Bound, saved: Sequence[object], gs: Sequence[Tensor]
) -> tuple[list[Tensor], list[bool] | None]:
    """Apply a pullback to saved values and cotangents, as recorded operations."""
    out = []
    operands = [*saved, *gs]
    for k, i in enumerate(p.wanted):
        if p.exprs[k] is None:
            shape = gs[0]._array.shape if bound.shapes is None else bound.shapes[i]
            kind = gs[0]._array.dtype if bound.kinds is None else bound.kinds[i]
            out.append(follow(wrap(np.zeros(shape, kind)), 0))
        elif k in p.through:
            out.append(_in_kind(gs[p.through[k]], bound, i))
        else:
            out.append(_in_kind(_cotangent(p, bound, k, operands), bound, i))
    return out, p.marks


def _cotangent(p: Pullback, bound: Bound, k: int, operands: Sequence[Any]) -> Tensor:
    """Return the cotangent of the k-th operand of the mask, recorded."""
    # A uniform call has no dtypes, and short ways share it among them: add the dtype to the key.
    key = p, k, operands[-1]._array.dtype if bound.kinds is None else None
    known = bound.recorded.get(key)
    if known is not None:
        todo, again = known
        return _computed(todo.op, again, _selected(todo, operands))
    converts = p.of.op.kinds is not None and bound.kinds is not None
    todo = operation(p, k, bound.kinds[p.wanted[k]] if converts else None)  # type: ignore[index]
    selected = _selected(todo, operands)
    shapes = None if bound.shapes is None else tuple(bound.shapes)
    g = apply(todo.op, selected, (shapes,))
    # Cache the bound operation if the call determines its shapes: the next pass skips the lookup.
    if shapes is not None or todo.op.pointwise:
        arrays = [x._array if isinstance(x, Tensor) else x for x in selected]
        bound.recorded[key] = todo, todo.op.bound(arrays, (shapes,))
    return g


def _selected(todo: Operation, operands: Sequence[object]) -> list[object]:
    """Return the operands of an operation, without gradients where its derivative is 0."""
    pairs = zip(todo.takes, todo.smooth, strict=True)
    return [operands[i] if smooth else _held(operands[i]) for i, smooth in pairs]


def _computed(op: Op, bound: Bound, operands: Sequence[object]) -> Tensor:
    """Apply an op with a known bound; the engine has checked modes and silenced warnings."""
    arrays: list[object] = []
    recorded = special = False
    for x in operands:
        if isinstance(x, Tensor):
            arrays.append(x._array)
            recorded = recorded or x._rg
            special = special or x._special
        else:
            arrays.append(x)
    value = bound.forward(arrays)
    out = blank(value if value.__class__ is np.ndarray else np.asarray(value))
    if recorded and current().grad:
        record(op, bound, operands, arrays, (out,))
    elif special:
        hand_on(op, operands, bound.of.params, [out], False)
    return out


def _in_kind(g: Tensor, bound: Bound, i: int) -> Tensor:
    """Return a cotangent of operand i in its dtype."""
    kind = None if bound.kinds is None else bound.kinds[i]
    return g if kind is None or g._array.dtype == kind else cast(g, kind)


Node.pull_recorded = pull_recorded  # type: ignore[method-assign, assignment]
