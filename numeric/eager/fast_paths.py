"""Short ways for real operands of one dtype, the most frequent case.

They do the same as ``recording.apply``, and call it in every other case.  A recorded operation on
one element takes 1.4 us, 0.3 of them in NumPy; twenty calls of Python functions would double the
rest.  So each short way is one long function, a closure over the data of its operation.  It inlines
``blank``, ``edge_of``, ``counter`` and ``record``.  It can rely on one node class, one dtype and
uniform operands, whose pullbacks exist before the first call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.eager.dtypes import F32, F64
from numeric.eager.record import serial
from numeric.eager.recording import FIXED, apply, record
from numeric.eager.tensor import Tensor, blank, edge_of
from numeric.modes import RECORD, current
from numeric.warnings_off import SILENCE, noise, set_noise

if TYPE_CHECKING:
    from collections.abc import Callable

    from numeric.eager.operations import Op
    from numeric.eager.record import Node
    from numeric.eager.types import Operand

_new = Tensor.__new__
_ndarray = np.ndarray


def shortcut(op: Op, otherwise: Callable[[Tensor, Any], Any]) -> Callable[[Tensor, Any], Any]:
    """Return ``apply(op, (a, b))`` as a function of a and b, fast for real operands of one dtype.

    It calls ``otherwise`` for all other operands.
    """
    kernel, kind_of_node, bound_of = op.kernel, op.node, op.bound
    assert kernel is not None
    one = np.ones(1, F64)
    # Pullbacks by the Tensors that require gradients, as bits: 1 for a, 2 for b.
    masks = [(True, False), (False, True), (True, True)]
    two, with_number = bound_of((one, one)), bound_of((one, 1.0))
    alike = [None, *map(two.of.pullback, masks)]
    left = with_number.of.pullback((True, False))

    def binary(a: Tensor, b: Any) -> Any:
        # Check the operands.  The flag ``_special`` stands for inference tensors, one of several
        # results, stale views and others.  Classes are compared by ``is``, so that NumPy's scalars,
        # which promote differently from numbers, go the long way.
        x = a._array
        d = x.dtype
        kind = b.__class__
        if (d is not F32 and d is not F64) or a._special:
            return otherwise(a, b)
        if kind is Tensor:
            y = b._array
            if y.dtype is not d or b._special:
                return otherwise(a, b)
            which = 2 * b._rg + a._rg
        elif kind is float or kind is int:
            y = b
            which = a._rg
        else:
            return otherwise(a, b)
        mode = current()
        if mode is not RECORD:
            if mode.special():
                return otherwise(a, b)
            which = which if mode.grad else 0
        # The value.  Operands that fail, as shapes that do not broadcast, fail again in
        # ``otherwise``, with PyTorch's message.
        before = noise()
        try:
            set_noise(SILENCE)
            r = kernel(x, y)
        except (ValueError, OverflowError):
            return otherwise(a, b)
        finally:
            set_noise(before)
        if r.__class__ is not _ndarray:
            r = _asarray(r)  # NumPy returns scalars for arrays without axes
        if not which:
            return blank(r)
        # The record: as ``recording.record``, for operands of one shape.
        if kind is Tensor:
            if x.shape != y.shape:
                out = blank(r)
                record(op, bound_of((x, y)), (a, b), (x, y), (out,))
                return out
            eb = b._edge
            if eb is None:
                eb = edge_of(b)
        else:
            eb = b
        ea = a._edge
        if ea is None:
            ea = edge_of(a)
        node = kind_of_node()
        if which == 3:
            node.edges, node.operands = (ea, eb), None
        else:
            node.edges, node.operands = (ea,) if which == 1 else (eb,), (ea, eb)
        node.nrs = node.extras = None
        node.serial = serial()
        # As ``blank``, but with the attributes of a recorded result at once.
        out = _new(Tensor)
        out._array = r
        out._v = None
        out._special = False
        out._rg = True
        out._edge = node
        if kind is Tensor:
            node.bound, pullback = two, alike[which]
        else:
            node.bound, pullback = with_number, left
        node.pullback = pullback
        # Save the residuals with versions.  Products, which save both operands, are most frequent.
        keeps = pullback.keeps
        if not keeps:
            node.saved = node.check = ()
        elif keeps == _BOTH and kind is Tensor:
            u = a._v
            if u is None:
                u = a._v = [0]
            v = b._v
            if v is None:
                v = b._v = [0]
            node.saved = (x, y)
            node.check = (u, u[0], v, v[0])
        else:
            _save(node, keeps, (a, b, out))
        return out

    return binary


def shortcut_of_one(op: Op, otherwise: Callable[[object], Tensor]) -> Callable[[Tensor], Tensor]:
    """Return ``apply(op, (input,))`` as a function of input, fast for real operands.

    It calls ``otherwise`` for all other operands.
    """
    kernel, kind_of_node = op.kernel, op.node
    bound: Any = None
    pullback: Any = None
    # Without a kernel: lowered expressions by dtype, as functions of an array and no lengths.
    programs: dict[Any, Any] = {}

    def lowered(x: Any) -> Any:
        bound = op.bound((x,))
        r = bound.forward((x,))
        if (program := bound.direct()) is not None:
            programs[x.dtype] = program
        return r

    def unary(input: Tensor) -> Tensor:
        nonlocal bound, pullback
        if input.__class__ is not Tensor or input._special:
            return otherwise(input)
        x = input._array
        d = x.dtype
        if d is not F32 and d is not F64:
            return otherwise(input)
        mode = current()
        if mode is not RECORD and mode.special():
            return otherwise(input)
        before = noise()
        try:
            set_noise(SILENCE)
            if kernel is not None:
                r = kernel(x)
            elif d in programs:
                (r,) = programs[d](x, _NO_LENGTHS)
            else:
                r = lowered(x)
        finally:
            set_noise(before)
        if r.__class__ is not _ndarray:
            r = _asarray(r)
        out = blank(r)
        if not input._rg or not mode.grad:
            return out
        # Compile on first use: there are eighty such functions, and most programs use few.  Set
        # the pullback last: another thread that sees it must see ``bound``, too.
        if pullback is None:
            bound = op.bound((x,))
            pullback = bound.of.pullback((True,))
        edge = input._edge
        if edge is None:
            edge = edge_of(input)
        node = kind_of_node()
        node.edges, node.operands = (edge,), None
        node.bound, node.pullback = bound, pullback
        node.nrs = node.extras = None
        node.serial = serial()
        out._rg = True
        out._edge = node
        if pullback.keeps:
            _save(node, pullback.keeps, (input, out))
        else:
            node.saved = node.check = ()
        return out

    return unary


def shortcut_inplace(
    op: Op, otherwise: Callable[[Tensor, Any], Any]
) -> Callable[[Tensor, Any], Any]:
    """Return a function that writes ``op(a, b)`` into ``a``, fast without recording.

    An optimiser's step is the typical case.  It calls ``otherwise`` for all other operands.
    """
    kernel: Any = op.kernel

    def binary(a: Tensor, b: Any) -> Any:
        x = a._array
        d = x.dtype
        kind = b.__class__
        mode = current()
        if (d is not F32 and d is not F64) or a._special or a._base is not None:
            return otherwise(a, b)
        if a._views is not None or (a._edge is not None and not a._rg):
            return otherwise(a, b)  # views and the expression of a constant must change, too
        if kind is Tensor:
            y = b._array
            if y.dtype is not d or b._special or y.shape != x.shape:
                return otherwise(a, b)
            recorded = mode.grad and (a._rg or b._rg)
        elif kind is float or kind is int:
            y = b
            recorded = mode.grad and a._rg
        else:
            return otherwise(a, b)
        if recorded or mode.tracing is not None:
            return otherwise(a, b)
        before = noise()
        try:
            set_noise(SILENCE)
            kernel(x, y, out=x)
        finally:
            set_noise(before)
        v = a._v
        if v is None:
            a._v = [1]
        else:
            v[0] += 1
        return a

    return binary


def binary(op: Op, a: Tensor, b: Operand) -> Tensor:
    """Return ``apply(op, (a, b))`` by the op's short way."""
    return op.short(a, b)


def _save(node: Node, keeps: tuple[int, ...], places: tuple[object, ...]) -> None:
    """Save the values at the places ``keeps`` among operands and results in a node."""
    saved: tuple[Any, ...] = ()
    check: tuple[Any, ...] = ()
    for i in keeps:
        x = places[i]
        if x.__class__ is Tensor:
            v = x._v
            if v is None:
                v = x._v = [0]
            saved += (x._array,)
            check += (v, v[0])
        else:
            saved += (x,)
            check += (FIXED, 0)
    node.saved, node.check = saved, check


_asarray = np.asarray
_NO_LENGTHS: dict[str, int] = {}
_BOTH = (0, 1)


def fast(op: Op) -> Op:
    """Give an op of two operands a short way."""
    op.short = shortcut(op, lambda a, b: apply(op, (a, b)))
    return op
