"""The backward pass, recorded: pullbacks are operations on what was saved and on cotangents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.graph import Formula, Node, Record
from numeric.modes import current
from numeric.recording import apply, cast, follow, marked, record
from numeric.tensors import Tensor, blank, wrap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numeric.plans import Bound, Pullback


def restored(node: Node, i: int, value: Any, place: int) -> Any:
    """The Tensor that was saved: its array, with the history it had; numbers as they are."""
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
        out._special = out._edge.__class__ is Formula
    return out


def _numbered(x: Tensor, nr: int) -> None:
    if x._edge.outputs > 1:
        x._nr, x._special = nr, True


def pull_recorded(node: Node, gs: Sequence[Tensor], marked: bool) -> tuple[list[Any], Any]:
    """As ``node.pull``, on Tensors, and recorded."""
    p = node.pullback.marked() if marked else node.pullback
    if node.partial:
        p = p.without(gs)
        zeros = node.filled(gs)
        gs = [follow(wrap(z), 0) if g is None else g for g, z in zip(gs, zeros, strict=True)]
    values = node.values()
    kept = [
        restored(node, i, value, place)
        for i, (value, place) in enumerate(zip(values, p.keeps, strict=True))
    ]
    return differentiated(p, kept, gs)


def pull_asked(
    node: Node, gs: Sequence[Any], marked: bool, asked: Sequence[bool], recorded: bool
) -> tuple[list[Any], Any] | None:
    """As ``pull`` and ``pull_recorded``, for some of the edges; None is a cotangent of the others.

    No tuple if the node has its own way of pulling back, or has not saved what this takes.
    """
    p = node.pullback
    if p is None or node.partial or type(node).pull is not Node.pull:
        return None
    edges = iter(asked)
    q = p.bound.pullback(tuple([m and next(edges) for m in p.mask]))
    if marked:
        q = q.marked()
    if not set(q.keeps) <= set(p.keeps):
        return None
    values, place = node.values(), p.keeps.index
    if recorded:
        kept = [restored(node, place(i), values[place(i)], i) for i in q.keeps]
        found, marks = differentiated(q, kept, gs)
    else:
        found = q.function(*[values[place(i)] for i in q.keeps], *gs, q.sizes)
        found, marks = found if q.clean else q.fixed(found, gs[0]), q.marks
    each = iter(found)
    out = [next(each) if a else None for a in asked]
    if marks is not None:
        flags = iter(marks)
        marks = [a and next(flags) for a in asked]
    return out, marks


def _held(x: Any) -> Any:
    """``x`` where a formula has no derivative by it: so that the result does not depend on it."""
    if not isinstance(x, Tensor) or not x._rg or x._nr:
        return x
    out = blank(x._array)
    out._v, out._special = x._v, True
    out._edge = Formula(out, None, (x._edge,))
    return out


def computed(bound: Bound, operands: Sequence[Any]) -> Tensor:
    """As ``apply``, of what is bound already, within the engine."""
    arrays = []
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
        record(bound, operands, arrays, (out,))
    elif special:
        pattern = bound.pattern
        marked(pattern.op, operands, pattern.params, [out], False)
    return out


def differentiated(p: Pullback, kept: Sequence[Any], gs: Sequence[Tensor]) -> tuple[list[Any], Any]:
    """A pullback of what was kept and of cotangents, as recorded operations."""
    out = []
    wanted = [i for i, m in enumerate(p.mask) if m]
    converts = p.bound.pattern.op.kinds is not None and p.bound.kinds is not None
    for k, i in enumerate(wanted):
        if p.pulled.exprs[k] is None:
            shape = gs[0]._array.shape if p.bound.shapes is None else p.bound.shapes[i]
            kind = gs[0]._array.dtype if p.bound.kinds is None else p.bound.kinds[i]
            out.append(follow(wrap(np.zeros(shape, kind)), 0))
        elif k in p.pulled.through:
            out.append(_in_kind(gs[p.pulled.through[k]], p, i))
        else:
            kind = p.bound.kinds[i] if converts else None  # type: ignore[index]
            op, taken, smooth = p.pulled.derived(k, kind)
            operands = [*kept, *gs]
            shapes = None if p.bound.shapes is None else tuple(p.bound.shapes)
            given = [
                operands[i] if s else _held(operands[i]) for i, s in zip(taken, smooth, strict=True)
            ]
            bound = p.steps.get(k)
            if bound is not None:
                g = computed(bound, given)
            else:
                g = apply(op, given, (shapes,))
                if shapes is not None or op.pointwise:
                    arrays = [x._array if isinstance(x, Tensor) else x for x in given]
                    p.steps[k] = op.bound(arrays, (shapes,))
            out.append(_in_kind(g, p, i))
    return out, p.marks


def _in_kind(g: Tensor, p: Pullback, i: int) -> Tensor:
    """A cotangent of operand i in its dtype."""
    kind = None if p.bound.kinds is None else p.bound.kinds[i]
    return g if kind is None or g._array.dtype == kind else cast(g, kind)


Node.pull_recorded = pull_recorded  # type: ignore[method-assign, assignment]
