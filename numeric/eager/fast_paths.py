"""Short ways for real operands of one dtype, where most programs spend their operations.

They do what ``recording.apply`` does, and ask for it in every other case.  An operation on one
element takes 1.4 us to record, of which NumPy takes 0.3, and twenty calls of Python functions would
double the rest.  So each way is one long function, a closure of what belongs to its
operation, which writes out what functions of ``recording`` and ``tensor`` would do: ``blank``,
``edge_of``, ``counter``, ``record``.  In return it knows much: one node class, one dtype, uniform
operands, whose pullbacks are there before the first call.
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
    """``apply(op, (a, b))`` as a function of a and b, short for real operands of one dtype.

    ``otherwise`` is asked for everything else.
    """
    kernel, kind_of_node, bound_of = op.kernel, op.node, op.bound
    assert kernel is not None
    one = np.ones(1, F64)
    # By which of two Tensors require gradients, as bits: 1 for a, 2 for b.
    masks = [(True, False), (False, True), (True, True)]
    two, with_number = bound_of((one, one)), bound_of((one, 1.0))
    alike = [None, *map(two.of.pullback, masks)]
    left = with_number.of.pullback((True, False))

    def binary(a: Tensor, b: Any) -> Any:
        # Whether the operands are what this is for.  ``_special`` says in one flag that one is an
        # inference tensor, one of several results, a stale view ...  Classes are compared by
        # ``is``, so that NumPy's scalars, which promote otherwise than numbers, go the long way.
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
        # The value.  What fails, as shapes that do not broadcast, fails again with its message.
        before = noise()
        try:
            set_noise(SILENCE)
            r = kernel(x, y)
        except (ValueError, OverflowError):
            return otherwise(a, b)
        finally:
            set_noise(before)
        if r.__class__ is not _ndarray:
            r = _asarray(r)  # NumPy makes scalars of arrays without axes
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
        # As ``blank``, which would first say that nothing is required.
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
        # What it keeps, with versions; products, which keep both operands, are most of all.
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
    """``apply(op, (input,))`` as a function of input, short for real operands.

    ``otherwise`` is asked for everything else.
    """
    kernel, kind_of_node = op.kernel, op.node
    bound: Any = None
    pullback: Any = None
    # Without a kernel the lowered expression by dtype, as a closure of an array and no lengths.
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
        # Compiled when it is first needed: there are eighty such functions, and programs use five.
        # The pullback last, as another thread may be here, too, and asks for that.
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
    """``a`` becomes ``op(a, b)`` where nothing is recorded, as in an optimiser's step.

    ``otherwise`` is asked for everything else.
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
            return otherwise(a, b)  # others have to know: views, and expressions of a constant
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
    """``apply(op, (a, b))``, by a short way where the op has one."""
    return op.short(a, b)


def _save(node: Node, keeps: tuple[int, ...], places: tuple[object, ...]) -> None:
    """Let a node keep what is at ``keeps`` among its operands and results."""
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
