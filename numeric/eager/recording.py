"""Compute and record operations on Tensors.

All operations call ``apply``; the most frequent ones have shorter functions for common operands
(``fast_paths``).  Checks of operands would take most of the time.  So one loop reads all their
attributes once, and one flag, ``_special``, stands for all rare cases.
"""

from __future__ import annotations

import traceback
import weakref
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from numeric.eager.dtypes import constant, default
from numeric.eager.operations import Op
from numeric.eager.record import Known, Node, Nowhere, Packed, serial
from numeric.eager.refusals import user_frame
from numeric.eager.tensor import Tensor, blank, counter, edge_of, wrap
from numeric.modes import RECORD, Switch, current
from numeric.warnings_off import SILENCE, noise, set_noise
from symdiff.contexts import contained

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numeric.eager.specialised import Bound
    from numeric.types import Params

Results = TypeVar("Results", covariant=True)

_NUMBERS = frozenset((float, int, bool))
_new = Tensor.__new__
_ndarray = np.ndarray


def _applied(op: Op, operands: Sequence[Any], params: Params = ()) -> Any:
    """Compute the result of an operation, and record it if an operand requires gradients.

    It is one long function, as ``record`` is: each further call would cost a fiftieth of its time.

    Args:
        op: the operation.
        operands: Tensors; Python numbers and arrays, which are constants of the formula.
        params: hashable parameters of the op, which become part of the formula.
    """
    mode = current()
    if mode.tracing is not None:
        return mode.tracing.apply(op, operands, params)
    arrays: list[Any] = []
    # The dtype of the first Tensor, whether other Tensors differ from it, and flags of any Tensor.
    alike: Any = None
    mixed = recorded = special = False
    for x in operands:
        if isinstance(x, Tensor):
            array = x._array
            arrays.append(array)
            if alike is None:
                alike = array.dtype
            elif array.dtype is not alike:
                mixed = True
            if x._rg:
                recorded = True
            if x._special:
                special = True
        else:
            arrays.append(x if x.__class__ in _NUMBERS else constant(x))
    if op.promotion is not None and (mixed or alike is None or alike.kind != "f"):
        operands = _promoted(op, operands, arrays)
    volatile = special and any(isinstance(x, Tensor) and x._volatile for x in operands)
    if special and op.view and operands[0]._inference:  # views of inference tensors are such, too
        recorded = False
    recorded = recorded and mode.grad and not (volatile or mode.inference)
    bound = None
    # Infinite and undefined values are not errors, as in PyTorch: silence NumPy's warnings.
    before = noise()
    try:
        set_noise(SILENCE)
        # With a kernel only the record needs the bound op.  Its lookup costs as much as the kernel
        # of a small operation.
        if recorded or op.kernel is None:
            bound = op.bound(arrays, params)
        values = (
            bound.forward(arrays)  # type: ignore[union-attr]
            if op.kernel is None
            else op.kernel(*arrays, *params)
        )
    except OverflowError:
        raise RuntimeError(overflow(op.name, alike)) from None
    except ValueError:  # check shapes only after a failure: a check in advance would cost time
        if not op.pointwise:
            raise
        raise RuntimeError(misfits(op, [np.shape(x) for x in arrays])) from None
    finally:
        set_noise(before)
    if not (op.pointwise or op.view or op.name in _KEEP_ORDER):
        values = _in_order(values)
    if mode is RECORD and op.outputs == 1:  # ``wrap`` would only check modes that are off
        outs = [blank(values if values.__class__ is _ndarray else np.asarray(values))]
    else:
        outs = [wrap(value) for value in (values if op.outputs > 1 else (values,))]
    if op.view:
        for out in outs:
            alias(out, operands[0], mode.grad)
    if recorded:
        record(op, bound, operands, arrays, outs)  # type: ignore[arg-type]
    elif special:
        hand_on(op, operands, params, outs, volatile)
    return tuple(outs) if op.outputs > 1 else outs[0]


class _Applied(Protocol[Results]):
    def __call__(self, op: Op, operands: Sequence[object], params: Params = ()) -> Results: ...


# One function with two types: for an op of one result, and for one of several.
apply: _Applied[Tensor] = _applied
apply_several: _Applied[tuple[Tensor, ...]] = _applied

# Operations that are not elementwise, but preserve the memory order of their operand.
_KEEP_ORDER = ("clone", "to_copy")


def _in_order(values: object) -> Any:
    """Return results in C order, as PyTorch, so that ``view`` works; NumPy's order may differ."""
    if values.__class__ is _ndarray:
        return values if values.flags.c_contiguous else np.ascontiguousarray(values)
    return tuple(map(_in_order, values)) if values.__class__ is tuple else values


def _promoted(op: Op, operands: Sequence[Any], arrays: list[Any]) -> Sequence[Any]:
    """Return the operands in their common dtype, and replace the items of ``arrays``."""
    kind = op.promotion(arrays)  # type: ignore[misc]
    out = list(operands)
    for i, x in enumerate(operands):
        if isinstance(x, Tensor) and x._array.dtype is not kind:
            out[i] = cast(x, kind)
            arrays[i] = out[i]._array
    return out


def hand_on(
    op: Op,
    operands: Sequence[object],
    params: tuple[object, ...],
    outs: list[Tensor],
    volatile: bool,
) -> None:
    """Pass properties of special operands on to results that are not recorded."""
    if volatile:
        for out in outs:
            out._volatile = out._special = True
    elif current().grad and any(isinstance(x, Tensor) and _followed(x) for x in operands):
        edges = [edge_of(x) if isinstance(x, Tensor) else x for x in operands]
        for i, out in enumerate(outs):
            out._edge, out._special = Known(out, op, edges, params, i), True


def _followed(x: Tensor) -> bool:
    return x._edge.__class__ is Known


def follow(x: Tensor, number: int | None = None) -> Tensor:
    """Return ``x`` for the recorded backward pass: results computed from it have an expression.

    ``number`` is the value of all elements, if the expression should be that number.
    """
    if x._rg:
        return x
    out = blank(x._array)
    out._v, out._inference, out._special = counter(x), x._inference, True
    out._edge = Known(out, None, (edge_of(x) if number is None else number,))
    return out


def unfollowed(x: Tensor) -> Tensor:
    """Return ``x`` for the user: it has an expression, but results computed from it are leaves."""
    if _followed(x):
        x._special = x._inference or x._volatile
    return x


def cast(x: Tensor, kind: Any) -> Tensor:
    """Convert ``x`` to another dtype, recorded."""
    out: Tensor = apply(TO, (x,), (kind,))
    return out


TO = Op(
    "to_copy", lambda x, kind: x, lambda a, kind: a.astype(kind), promotion=None, pointwise=False
)


def alias(out: Tensor, of: Tensor, recording: bool) -> None:
    """Register ``out`` as a view of ``of``, with the same memory and version counter.

    A view of a view has the same base: a write to any part of the memory reaches all views by the
    base.
    """
    base = of if of._base is None else of._base
    out._v = counter(of)
    out._inference, out._special = of._inference, of._special
    out._base = base
    if not recording:
        out._origin = "no_grad"
        if base._rg and not out._inference and out._array.dtype.kind == "f":
            out._rg, out._edge = True, Nowhere(out)
    elif of._origin:
        out._origin = of._origin
    views = base._views
    if views is None:
        views = base._views = Views()
    views.add(out)


class Views:
    """Weak references to the views of a base.

    Dead ones are removed when the list has twice as many as were alive last time.  So a loop over
    views of one base takes linear time, without the hashing and callbacks of a WeakSet.
    """

    __slots__ = ("limit", "refs")

    def __init__(self) -> None:
        self.refs: list[Any] = []
        self.limit = 16

    def add(self, view: Tensor) -> None:
        """Add a view."""
        self.refs.append(weakref.ref(view))
        if len(self.refs) > self.limit:
            self.refs = [r for r in self.refs if r() is not None]
            self.limit = max(16, 2 * len(self.refs))

    def live(self) -> list[Tensor]:
        """Return the views that are alive."""
        return [x for r in self.refs if (x := r()) is not None]


def record(
    op: Op,
    bound: Bound,
    operands: Sequence[object],
    arrays: Sequence[object],
    outs: Sequence[Tensor],
) -> Node:
    """Create the node of a computed operation, and make it the history of ``outs``.

    The node saves arrays and versions, never Tensors.  A reference to its own result would be a
    cycle, and memory would be freed late.
    """
    n = len(arrays)
    node = op.node()
    bits: list[bool] = []
    edges: list[Any] = []
    recorded: list[Tensor] = []
    numbered = False
    for x in operands:
        if isinstance(x, Tensor) and x._rg:
            edge: Any = x._edge
            if edge is None or x._special:
                edge = edge_of(x)
                # Also for a first output: ``nrs = None`` means that all nodes have one output.
                numbered = numbered or edge.outputs > 1
            bits.append(True)
            edges.append(edge)
            recorded.append(x)
        else:
            bits.append(False)
    mask = tuple(bits)
    pullback = bound.of.pullbacks.get(mask) or bound.of.pullback(mask)
    saved: list[Any] = []
    # Pairs (counter, present value) in one flat tuple, which the engine compares before it uses
    # saved values.  A tuple of pairs would need additional objects for each node.
    check: list[Any] = []
    for i in pullback.keeps:
        x = operands[i] if i < n else outs[i - n]
        if isinstance(x, Tensor):
            v = watched_version(x)
            saved.append(arrays[i] if i < n else x._array)
            check.append(v)
            check.append(v[0])
        else:
            saved.append(x)
            check.append(FIXED)
            check.append(0)
    node.edges = tuple(edges)
    node.nrs = tuple([x._nr for x in recorded]) if numbered else None
    node.operands = (
        None
        if len(edges) == n
        else tuple([edge_of(x) if isinstance(x, Tensor) else x for x in operands])
    )
    node.saved, node.check, node.extras = tuple(saved), tuple(check), None
    node.bound, node.pullback = bound, pullback
    node.serial = serial()
    if op.outputs > 1 and not bound.results:  # for zeros in place of missing cotangents
        bound.results = [(out._array.shape, out._array.dtype) for out in outs]
    if current() is not RECORD:
        noted(node, operands)
    for i, out in enumerate(outs):
        if out._array.dtype.kind == "f":
            out._rg = True
            out._edge = node
            if op.outputs > 1:
                out._nr = i
                out._special = True
    return node


# The version counter of saved values that are not tensors; it never changes, and identifies them.
FIXED = [0]


def watched_version(x: Tensor) -> list[int]:
    """Return the version counter that reveals later changes of a saved tensor.

    Raises RuntimeError for inference tensors, which have none.
    """
    if x._inference:
        raise RuntimeError(
            "Inference tensors cannot be saved for backward. To work around you can make a clone "
            "to get a normal tensor and use it in autograd."
        )
    v = x._v
    if v is None:
        v = x._v = [0]
    return v


def noted(node: Node, operands: Sequence[object]) -> None:
    """Add the data of other modes to a node: operands, stack, packed values."""
    collected = current().keeping
    if collected is not None:
        for x in operands:
            if isinstance(x, Tensor):
                collected.setdefault((edge_of(x), x._nr), x)
    if current().anomaly:
        node.extra().made = "".join(traceback.format_stack(user_frame()))
    if current().packing is not None and node.saved and not node.foreign:
        _pack(node, operands)


def _pack(node: Node, operands: Sequence[Any]) -> None:
    """Replace the saved tensors of a node by the objects of the active pack hook."""
    saved, check = list(node.saved or ()), list(node.check)
    for i, (value, place) in enumerate(zip(saved, node.kept(), strict=True)):
        if value.__class__ is _ndarray and check[2 * i] is not FIXED:
            if place < len(operands):
                x = operands[place]
            else:  # a result without its history: the node must not refer to itself
                x = blank(value)
                x._v = check[2 * i]
            saved[i] = packed(x)
            check[2 * i : 2 * i + 2] = [0], 0
            node.extra().packed = True
    node.saved, node.check = tuple(saved), tuple(check)


@contained
def packed(x: Tensor) -> Packed:
    """Call the active pack hook with a tensor to save.

    Raises RuntimeError for a hook that changes it in place.
    """
    packing = current().packing
    assert packing is not None
    version = counter(x)[0]
    with Switch(grad=False):
        packed_object = packing[0](x)
    if counter(x)[0] != version:
        raise RuntimeError(
            "A saved tensor pack hook is modifying its input in place. Tensors provided as input "
            "to pack hook cannot be modified by in-place operations as this can lead to unexpected "
            "side-effects."
        )
    return Packed(x._array, packed_object, packing[1])


def overflow(name: str, kind: np.dtype | None) -> str:
    """Return the message for a Python integer out of a dtype's range; None is the default dtype."""
    kind = default() if kind is None else kind
    return f"{name}: value cannot be converted to type {kind.name} without overflow"


def misfits(op: Op, shapes: Sequence[tuple[int, ...]]) -> str:
    """Return the message for shapes that do not broadcast."""
    common: tuple[int, ...] = ()
    for shape in shapes:
        try:
            common = np.broadcast_shapes(common, shape)
        except ValueError:
            return misfit(op.name, common, shape)
    return f"{op.name}: shapes {', '.join(map(str, shapes))} do not suit it"


def misfit(name: str, a: tuple[int, ...], b: tuple[int, ...]) -> str:
    """Return the message for two shapes that do not broadcast."""
    for i in range(1, min(len(a), len(b)) + 1):
        if a[-i] != b[-i] and 1 not in (a[-i], b[-i]):
            place = max(len(a), len(b)) - i
            return (
                f"The size of tensor a ({a[-i]}) must match the size of tensor b ({b[-i]}) at "
                f"non-singleton dimension {place}"
            )
    return f"{name}: shapes {list(a)} and {list(b)} do not broadcast"
