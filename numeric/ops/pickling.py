"""Pickle Tensors with their records.

A pickle has a record as a list of its nodes, operands before users, so that pickling does not
recurse.  It refers to operations by the names of their declarations; unpickling lowers them again.
Tensors of one pickle that share memory or a version share it again.
"""

from __future__ import annotations

import pickle
import weakref
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from numeric.eager.dtypes import OF_NUMPY
from numeric.eager.expressions import before
from numeric.eager.function_calls import op_of
from numeric.eager.operations import DECLARED, Op
from numeric.eager.record import AccumulateGrad, Constant, Known, Node, Record, serial
from numeric.eager.recording import Views
from numeric.eager.specialised import Bound, Pullback, Specialised
from numeric.eager.tensor import Tensor, counter, edge_of, method
from numeric.halves import load_tensors
from numeric.ops.conversions import own, remade

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numeric.eager.record import Extras
    from numeric.eager.specialised import Declaration
    from numeric.types import Params

Leaf = TypeVar("Leaf", AccumulateGrad, Constant)

# Operations -------------------------------------------------------------------------------------


def _reduced_op(op: Op, _: object) -> object:
    if op.origin is None:
        return _op_at, (op.key,)
    if not isinstance(op.origin, weakref.ref):
        return op.origin
    function = op.origin()
    if function is not None:
        return op_of, (function, op.kinds)
    raise pickle.PicklingError(
        f"a tensor made by {op.node.__name__} cannot be pickled with its history; detach() it"
    )


# Packages that declare ops and are not imported by ``import numeric``, but on first use.
LATER = ("numeric.nn",)


def _op_at(key: str) -> Op:
    if key not in DECLARED:
        for name in LATER:
            import_module(name)
    op = DECLARED.get(key)
    if op is None:
        raise pickle.UnpicklingError(f"operation {key} does not exist here")
    return op


def _reduced_specialised(of: Specialised, _: object) -> tuple[object, ...]:
    shapes, kinds = [x.shape for x in of.xs], tuple([x.dtype for x in of.xs])
    return _specialised, (of.op, of.params, shapes, kinds, of.uniform)


def _specialised(op: Op, *args: Any) -> Specialised:
    return op.specialised(*args)


def _reduced_bound(bound: Bound, _: object) -> tuple[object, ...]:
    types = None
    if bound.shapes is not None and bound.kinds is not None:
        types = list(zip(bound.shapes, bound.kinds, strict=True))
    return _bound, (bound.of.op, bound.of.params, len(bound.of.xs), types, bound.results)


def _bound(
    op: Op, params: Params, count: int, types: Any, results: Sequence[tuple[Any, np.dtype]]
) -> Bound:
    if types is None:
        arrays: list[np.ndarray | float] = [np.ones(1)] * count
    else:
        arrays = [
            1.0 if k is None else np.broadcast_to(np.zeros((), _kind(k)), s) for s, k in types
        ]
    bound = op.bound(arrays, params)
    if not bound.results:
        bound.results = [(shape, _kind(k)) for shape, k in results]
    return bound


def _kind(dtype: np.dtype) -> np.dtype:
    # Unpickled dtypes may be equal but not identical.
    return OF_NUMPY[dtype].numpy


def _reduced_pullback(p: Pullback, _: object) -> tuple[object, ...]:
    return _pullback, (p.of, p.mask, p.marked, p.absent, p.keeps)


def _pullback(
    of: Specialised,
    mask: tuple[bool, ...],
    marked: bool,
    absent: tuple[int, ...],
    keeps: Sequence[int],
) -> Pullback:
    pullback = of.pullback(mask).variant(marked, absent)
    if pullback.keeps != keeps:
        raise pickle.UnpicklingError(f"{of.op}: another version saved other values")
    return pullback


# Nodes and leaves -------------------------------------------------------------------------------


def _reduced_node(node: Node, _: object) -> tuple[object, ...]:
    _without_hooks(node.extras)
    kind, op = type(node), node.op
    return _node, (op if isinstance(op, Op) and op.node is kind else kind, node.state())


def _without_hooks(extras: Extras | None) -> None:
    if extras is not None and (
        any(extras.tensor_hooks.values()) or extras.prehooks or extras.posthooks
    ):
        raise pickle.PicklingError(
            "a tensor with hooks in its history cannot be pickled; remove them first"
        )


def _node(kind: Op | type[Node], state: dict[str, Any]) -> Node:
    cls = kind.node if isinstance(kind, Op) else kind
    node: Node = cls.__new__(cls)
    if state["saved"] is not None:
        state["saved"] = tuple([_typed(a) for a in state["saved"]])
    node.extras, node.serial = None, serial()
    node.restore(state)
    return node


def _typed(a: Any) -> Any:
    if a.__class__ is not np.ndarray:
        return a
    kind = _kind(a.dtype)
    return a if a.dtype is kind else a.view(kind)


def _reduced_leaf(leaf: AccumulateGrad | Constant, _: object) -> tuple[object, ...]:
    if isinstance(leaf, AccumulateGrad):
        _without_hooks(leaf.extras)
    tensor = leaf.variable
    if tensor is not None and tensor._edge is leaf:
        return edge_of, (tensor,)
    return _gone, (type(leaf), leaf.label, leaf.shape, leaf.kind)


def _gone(cls: type[Leaf], label: str | None, shape: tuple[int, ...], kind: str) -> Leaf:
    """Return the end of a record at a leaf that was freed."""
    load_tensors()  # as below
    tensor = Tensor.__new__(Tensor)
    tensor._array, tensor._name = np.broadcast_to(np.zeros((), kind), shape), label
    return cls(tensor)


def _reduced_known(known: Known, _: object) -> tuple[object, ...]:
    parts = known.op, known.operands, known.params, known.nr
    return _known, (*parts, known.label, known.shape, known.kind)


def _known(
    op: Declaration | None,
    operands: tuple[object, ...],
    params: Params,
    nr: int,
    label: str | None,
    shape: tuple[int, ...],
    kind: str,
) -> Known:
    known = Known.__new__(Known)
    like = _gone(Constant, label, shape, kind)
    for name in ("_leaf", "kind", "label", "shape", "symbol"):
        setattr(known, name, getattr(like, name))
    known.op, known.operands, known.params, known.nr = op, operands, params, nr
    return known


for _cls, _reduced in {
    Op: _reduced_op,
    Specialised: _reduced_specialised,
    Bound: _reduced_bound,
    Pullback: _reduced_pullback,
    Node: _reduced_node,
    AccumulateGrad: _reduced_leaf,
    Constant: _reduced_leaf,
    Known: _reduced_known,
}.items():
    setattr(_cls, "__reduce_ex__", _reduced)  # noqa: B010  # one of each, for the type checker


def _history(record: Record) -> list[Record]:
    """Return a record and all records that it depends on, operands before users."""
    order: list[Record] = []
    seen: set[Record] = set()
    stack: list[tuple[Record, bool]] = [(record, False)]
    while stack:
        top, ready = stack.pop()
        if ready:
            order.append(top)
        elif top not in seen:
            seen.add(top)
            stack.append((top, True))
            stack += [(x, False) for x in before(top) if isinstance(x, Record)]
    leaves = [x for x in order if x.is_leaf and not isinstance(x, Known)]
    made = [x for x in order if isinstance(x, Node)]
    known = [x for x in order if isinstance(x, Known)]
    # Nodes and constants whose formula is known may depend on one another; nodes alone keep the
    # order in which they were made.
    if not known:
        return leaves + sorted(made, key=lambda node: node.serial)
    return leaves + [x for x in order if not x.is_leaf or isinstance(x, Known)]


# Tensors ----------------------------------------------------------------------------------------


@method("__reduce_ex__")
def _reduced_tensor(self: Tensor, _: object) -> tuple[object, ...]:
    edge: Any = edge_of(self) if self._stale else self._edge
    attributes = {name: x for name in _KEPT if (x := getattr(self, name)) != getattr(Tensor, name)}
    if edge is None or (edge.is_leaf and not isinstance(edge, Known)):
        if self._rg and edge is not None:
            _without_hooks(edge.extras)
        history = None
    else:
        history = _history(edge)
    state = (history, self._v, self._base, attributes)
    return _tensor, (type(self), _memory(self._array), self._rg, own(self)), state, None, None, _set


_KEPT = ("_nr", "_origin", "_inference", "_volatile", "_no_expr", "_retains")


def _memory(a: np.ndarray) -> tuple[Any, ...]:
    """Return an array as a part of the memory that it shares."""
    root = a
    while isinstance(root.base, np.ndarray):
        root = root.base
    if (
        root is a
        or root.base is not None
        or not (root.flags.c_contiguous or root.flags.f_contiguous)
    ):
        return (a,)
    start = a.__array_interface__["data"][0] - root.__array_interface__["data"][0]
    return root, a.shape, a.dtype, start, a.strides


def _tensor(
    cls: type[Tensor], memory: tuple[Any, ...], rg: bool, attached: dict[str, object]
) -> Tensor:
    load_tensors()  # pickle imports this module by itself
    array = memory[0]
    if len(memory) > 1:
        _, shape, dtype, start, strides = memory
        array = np.ndarray(shape, dtype, array, start, strides)
    return remade(cls, array, rg, attached)


def _set(x: Tensor, state: Any) -> None:
    history, v, base, attributes = state
    retains = attributes.pop("_retains", False)
    for name, value in attributes.items():
        setattr(x, name, value)
    x._v = v
    if history is not None:
        x._edge = history[-1]
    x._special = bool(attributes.get("_inference") or attributes.get("_volatile")) or (
        history is not None and history[-1].differentiable and history[-1].outputs > 1
    )
    if base is not None:
        x._base, x._v = base, counter(base)
        if base._views is None:
            base._views = Views()
        base._views.add(x)
    if retains:
        x.retain_grad()
