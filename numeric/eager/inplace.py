"""Writes in place: versions, new histories, and views of a changed base.

An in-place operation computes its result like the operation that returns a new tensor.  Then it
copies the result into the tensor's memory, and gives the tensor the history of the result.

A write to a view gives its base a new history: the old one with a part replaced.  Every other view
of the base is then *stale*, and gets a history from the base's new one on its next use.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.eager import dtypes
from numeric.eager.operations import Op
from numeric.eager.record import Constant, Node, Nowhere, serial
from numeric.eager.recording import cast, record
from numeric.eager.tensor import Tensor, blank, counter, edge_of, method, retain
from numeric.modes import Mode, current
from symdiff import opaque_ops
from symdiff.functions.elementwise import where
from symdiff.functions.indexing import taken
from symdiff.functions.shaping import reshape
from symdiff.graph.algebra import opaque

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from numeric.eager.record import Record
    from symdiff.graph.expr import Expr


def inplace(function: Callable[..., Tensor], name: str = "") -> Callable[..., Tensor]:
    """Return the in-place form of an operation, a method with its name and an underscore."""
    name = name or function.__name__ + "_"

    @functools.wraps(function)
    def method(self: Tensor, *args: object, **kwargs: object) -> Tensor:
        return write(self, lambda x: function(x, *args, **kwargs), name)

    method.__name__ = method.__qualname__ = name
    return method


def write(x: Tensor, compute: Callable[[Tensor], Tensor], name: str) -> Tensor:
    """Replace the value of ``x`` by ``compute(old value)`` in its own memory, and return ``x``.

    All checks are before any change.

    Raises RuntimeError where PyTorch does: for leaves that require gradients and their views, views
    whose history cannot change, and inference tensors.  Raises it also for results of another kind
    or a larger shape, and for memory in which several elements share a place.
    """
    mode = current()
    if mode.tracing is not None:
        return mode.tracing.write(x, compute, name)
    _check_target(x, mode, name)
    # The operation gets another Tensor on the same memory, so that the recorded operand is the old
    # value, not ``x``.
    old = _as_it_was(x)
    start = serial()  # nodes with a greater number are recorded by ``compute``
    out = compute(old)
    check_result(x, out, name)
    recorded = mode.grad and out._rg
    if recorded:  # also if ``x`` required no gradients and the result does
        check_history(x)
    if out._array.dtype is not x._array.dtype:
        out = cast(out, x._array.dtype)
    if out._array.shape != x._array.shape:
        out = out.expand(x._array.shape)
    if recorded:
        _settle(out, x, old, start)
    # Nothing raises from here on.  The version warns nodes that saved the memory before.
    x._array[...] = out._array
    counter(x)[0] += 1
    if recorded:
        rebase(x, out)
    else:
        changed(x)
    return x


def changed(x: Tensor) -> None:
    """Update records after an unrecorded change of ``x``: a changed constant needs a new symbol.

    It drops the records of constants on the memory; the next use creates a new one.  Views with a
    history become stale, as after every change of their memory.
    """
    base = x if x._base is None else x._base
    for y in (base, *(() if base._views is None else base._views.live())):
        if isinstance(y._edge, Constant):
            y._edge = None
        elif (
            y is not base
            and base._rg
            and y._rg
            and (y._origin != "no_grad" or isinstance(y._edge, Nowhere))
        ):
            y._stale = y._special = True


def turn(x: Tensor, viewed: Callable[[Tensor], Tensor]) -> Tensor:
    """Replace ``x`` by a view of itself, with the view's shape and history, and return ``x``.

    Raises RuntimeError where ``write`` does so for ``x``.
    """
    _check_target(x, current())
    out = viewed(_as_it_was(x))
    x._array = out._array
    counter(x)[0] += 1
    if out._rg:
        _moved(x, out._edge, out._nr)
    return x


def _as_it_was(x: Tensor) -> Tensor:
    """Return a Tensor with the value and history of ``x`` before the write."""
    old = blank(x._array, x._rg, edge_of(x) if x._rg and current().grad else x._edge)
    if x._special:
        old._special, old._nr = True, x._nr
        old._inference, old._volatile = x._inference, x._volatile
    return old


# Checks -----------------------------------------------------------------------------------------


# Operations that set all elements to one value may write where several elements share a place.
_FILLING = ("fill_", "zero_")


def _check_target(x: Tensor, mode: Mode, name: str = "") -> None:
    if x._inference and not mode.inference:
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed. You can make "
            "a clone to get a normal tensor before doing inplace update."
        )
    if mode.grad and x._rg:
        if x.is_leaf and not isinstance(x._edge, Nowhere):
            raise RuntimeError(
                "a leaf Variable that requires grad is being used in an in-place operation."
            )
        check_history(x)
    elif mode.grad and x._base is not None and x._base._rg:
        check_history(x)
    check_memory(x._array, name)


def check_memory(array: np.ndarray, name: str) -> None:
    """Raise RuntimeError unless each element has its own place in memory."""
    if name in _FILLING or not array.size:
        return
    if any(s == 0 and n > 1 for s, n in zip(array.strides, array.shape, strict=True)):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a "
            "single memory location. Please clone() the tensor before performing the operation."
        )


def check_result(x: Tensor, out: Tensor, name: str) -> None:
    """Raise RuntimeError unless ``out`` may be written into ``x``."""
    shape, wanted = out._array.shape, x._array.shape
    if shape != wanted:
        try:
            grown = np.broadcast_shapes(shape, wanted) != wanted
        except ValueError:
            grown = True
        if grown:
            raise RuntimeError(
                f"{name}: output with shape {list(wanted)} doesn't match the broadcast shape "
                f"{list(shape)}"
            )
    if not dtypes.can_cast(out.dtype, x.dtype):
        raise RuntimeError(
            f"result type {dtypes.word(out._array.dtype)} can't be cast to the desired output type "
            f"{dtypes.word(x._array.dtype)}"
        )


def check_history(x: Tensor) -> None:
    """Raise RuntimeError unless the history of ``x`` may change."""
    base = x._base
    if base is None:
        return
    if x._origin == "no_grad":
        raise RuntimeError(
            "A view was created in no_grad mode and is being modified inplace with grad mode "
            "enabled. Given that this use case is ambiguous and error-prone, it is forbidden. You "
            "can clarify your code by moving both the view and the inplace either both inside the "
            "no_grad block (if you don't want the inplace to be tracked) or both outside (if you "
            "want the inplace to be tracked)."
        )
    _custom(x, "is being")
    if x._origin:
        raise RuntimeError(
            f"Output {x._nr} of {x._origin} is a view and is being modified inplace. This view is "
            "the output of a function that returns multiple views. Such functions do not allow the "
            "output views to be modified inplace. You should replace the inplace operation by an "
            "out-of-place one."
        )
    if base._rg and base.is_leaf:
        raise RuntimeError(
            "a view of a leaf Variable that requires grad is being used in an in-place operation."
        )


CUSTOM = "custom "  # before its name: the origin of views that a custom Function returned


def _custom(x: Tensor, event: str) -> None:
    """Raise RuntimeError for a view that a custom Function returned."""
    if x._origin.startswith(CUSTOM):
        raise RuntimeError(
            f"Output {x._nr} of {x._origin.removeprefix(CUSTOM)} is a view and {event} modified "
            "inplace. This view was created inside a custom Function (or because an input was "
            "returned as-is) and the autograd logic to handle view+inplace would override the "
            "custom backward associated with the custom Function, leading to incorrect gradients. "
            "This behavior is forbidden. You can fix this by cloning the output of the custom "
            "Function."
        )


# Histories --------------------------------------------------------------------------------------


def _settle(out: Tensor, x: Tensor, old: Tensor, start: int) -> None:
    """Adjust the saved values of the nodes recorded by an in-place operation.

    An operation may save the old value (``x.mul_(y)``): save a copy instead.  It may save its own
    result (``x.exp_()``): save the memory of ``x`` instead, with the version after the write.
    Saved values of earlier nodes do not change: these nodes raise when they run.
    """
    v = counter(x)
    stack, seen = [out._edge], set()
    while stack:
        node = stack.pop()
        if node in seen or node.is_leaf or node.serial < start or node.saved is None:
            continue
        seen.add(node)
        stack.extend(node.edges)
        saved, check = list(node.saved), list(node.check)
        for i, value in enumerate(saved):
            if value is old._array and check[2 * i] is old._v:
                saved[i] = np.array(value)
            elif value is out._array and node is out._edge:
                saved[i] = x._array
                check[2 * i : 2 * i + 2] = v, v[0] + 1
        node.saved, node.check = tuple(saved), tuple(check)


def rebase(x: Tensor, out: Tensor) -> None:
    """Give ``x`` the history of ``out``, and update the tensors that share its memory.

    If ``x`` is a view, its base gets a new history, the old one with a part replaced.  Every view,
    including ``x``, becomes stale.  A stale view is refreshed on its next use, because most have
    none.
    """
    base = x._base
    if base is None:
        _moved(x, out._edge, out._nr)
        base = x
    else:
        places = positions(x._array, base._array)
        inside = np.zeros(base._array.size, dtype=bool)
        inside[places] = True
        operands = (_as_it_was(base), places, inside.reshape(base._array.shape), out)
        arrays = [y._array if isinstance(y, Tensor) else y for y in operands]
        new = blank(base._array)
        record(COPY_SLICES, COPY_SLICES.bound(arrays), operands, arrays, (new,))
        _moved(base, new._edge, 0)
    if base._views is not None:
        for view in base._views.live():
            leaf = view._rg and view._edge is not None and view._edge.is_leaf and not view._stale
            if not leaf or isinstance(view._edge, Nowhere):
                view._rg = view._stale = view._special = True
                if view._retains and not view._origin:
                    edge_of(view)


def _moved(x: Tensor, edge: Node, nr: int) -> None:
    """Make an output of ``edge`` the history of a tensor."""
    if x._retains:
        x._edge.extra().retains.pop(x._nr, None)
    x._edge, x._nr, x._rg = edge, nr, True
    x._special = x._special or edge.outputs > 1
    if x._retains:
        retain(x)


@method()
def _refreshed(x: Tensor) -> Record:
    """Record a view again after a write to its base, as a part of the base; return its record.

    Any chain of views is one strided part of the memory, so that one node suffices.
    """
    base = x._base
    assert base is not None
    if x._origin == "no_grad":
        raise RuntimeError(
            "A view was created in no_grad mode and its base or another view of its base has been "
            "modified inplace with grad mode enabled. Given that this use case is ambiguous and "
            "error-prone, it is forbidden. You can clarify your code by moving both the view and "
            "the inplace either both inside the no_grad block (if you don't want the inplace to be "
            "tracked) or both outside (if you want the inplace to be tracked)."
        )
    _custom(x, "its base or another view of its base has been")
    if x._origin:
        raise RuntimeError(
            f"Output {x._nr} of {x._origin} is a view and its base or another view of its base has "
            "been modified inplace. This view is the output of a function that returns multiple "
            "views. Such functions do not allow the output views to be modified inplace. You "
            "should replace the inplace operation by an out-of-place one."
        )
    x._stale = False
    before = x._edge
    if x._retains and before is not None:
        before.extra().retains.pop(x._nr, None)
    if not base._rg:
        x._rg, x._edge = False, None
        return edge_of(x)
    operands = (base, positions(x._array, base._array))
    arrays = [base._array, operands[1]]
    x._nr = 0
    record(AS_STRIDED, AS_STRIDED.bound(arrays), operands, arrays, (x,))
    if x._retains:
        retain(x)
    edge: Record = x._edge
    return edge


# Parts of memory --------------------------------------------------------------------------------


def positions(part: np.ndarray, whole: np.ndarray) -> NDArray[np.int64]:
    """Return the places of the elements of a view ``part`` among those of ``whole``, in C order.

    Both have strides in the same memory.  So an array of the places with the layout of ``whole``,
    read with the strides of ``part``, gives the result.
    """
    start = _address(part) - _address(whole)
    item = whole.itemsize
    if whole.flags.c_contiguous:
        flat = np.arange(whole.size)
        origin = 0
    else:
        last = sum((n - 1) * s for n, s in zip(whole.shape, whole.strides, strict=True)) // item
        flat = np.full(last + 1, -1)
        _strided(flat, whole, 0)[...] = np.arange(whole.size).reshape(whole.shape)
        origin = 0
    return np.array(_strided(flat, part, origin + start // item))


def _address(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])


def _strided(flat: np.ndarray, like: np.ndarray, start: int) -> np.ndarray:
    if not like.size:
        return np.empty(like.shape, flat.dtype)
    strides = [s // like.itemsize * flat.itemsize for s in like.strides]
    return np.lib.stride_tricks.as_strided(flat[start:], like.shape, strides)


def part(x: Expr, places: Expr) -> Expr:
    """Return the elements of ``x`` at the places of ``positions``."""
    flat = taken(reshape(x, -1), reshape(places, -1), 0)
    return reshape(flat, places.shape)


def _replaced(x: Expr, places: Expr, inside: Expr, value: Expr) -> Expr:
    """Return ``x`` with the elements at ``places`` replaced; ``inside`` is the mask of places."""
    length = math.prod(map(int, x.shape))
    new = opaque(opaque_ops.put_op(length), reshape(value, -1), reshape(places, -1))
    return where(inside, reshape(new, x.shape), x)


class _Strided(Node):
    """A node whose only saved value is the places of elements, so that it may run again."""

    __slots__ = ()

    def free(self) -> None:
        """Do nothing: places are not a saved tensor, and other views have none either."""


class _Copied(Node):
    """The node of a base after a write to a view."""

    __slots__ = ()
    prefix = "torch::autograd::"

    @property
    def next_functions(self) -> tuple[tuple[Record | None, int], ...]:
        """The base's old record, then the operands of the written value except the view."""
        base, written = super().next_functions
        inner: Any = written[0]
        return (base, *(inner.next_functions[1:] if inner is not None else ()))


# Both are recorded only, never computed: the values are in memory already.
AS_STRIDED = Op(
    "as_strided",
    part,
    promotion=None,
    concrete=True,
    base=_Strided,
)
COPY_SLICES = Op(
    "copy_slices",
    _replaced,
    promotion=None,
    concrete=True,
    label="CopySlices",
    base=_Copied,
)
