"""Apply an operation in a trace: compute the expressions of its results and their memory layouts.

Every operation runs twice.  A run on expressions gives the value.  A run on stand-ins, arrays of
ones with the operands' shapes, dtypes and strides, gives everything else that a program can observe
of a result.  That is its dtype, whether it is contiguous, whether ``reshape`` returns a view or a
copy, the position of a view in its base, and the error for operands that do not fit.  An expression
has none of these, but they decide which tensors a later write in place changes.  NumPy and the code
of the operation define them; a table of them for each operation could disagree.

Operations with declared dtypes of results, such as lowered programs, skip the run on stand-ins:
their results are new memory with the shapes of the expressions.  A program might raise for ones, or
run long on them, and would show nothing about other values.

A cache keyed by the operands' expressions and layouts saves the cost of later runs.  A traced
function is often traced again, in other surroundings or by each call of ``vmap``, and then applies
the same operations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from numeric.eager.dtypes import F16, F32, INT64, default
from numeric.eager.operations import Op
from numeric.eager.recording import TO, misfits
from numeric.eager.refusals import refuse
from numeric.eager.tensor import Tensor
from numeric.eager.traced_arrays import Shadow, stand_in
from numeric.warnings_off import SILENCE, noise, set_noise
from symdiff.errors import Unsupported
from symdiff.functions.shaping import broadcast_to, converted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symdiff.graph.expr import Expr


class Done(NamedTuple):
    """The results of an operation: expressions, layouts and, for views, offsets.

    ``rest`` has the expressions of the operands after the first.
    """

    exprs: tuple[Expr, ...]
    layouts: tuple[np.ndarray, ...]
    rest: tuple[Expr, ...]
    offsets: tuple[int, ...]  # bytes from the first operand's first element to the view's


# Cached results by operation, parameters, and expressions and layouts of the operands.
_memory: dict[tuple[object, ...], Done] = {}
_REMEMBERED = 4096


def done(op: Op, operands: Sequence[object], exprs: list[Expr], params: tuple[object, ...]) -> Done:
    """Apply an operation to operands with these expressions; return cached results if possible."""
    # The default dtype is part of the key: Python's numbers become arrays of it.
    key: list[object] = [op, params, default()]
    for x, e in zip(operands, exprs, strict=True):
        key.append(e.serial)
        a: Any = x._array if isinstance(x, Tensor) else x
        if isinstance(a, Shadow):
            a = a.layout
        # The strides decide whether a result is a view.
        key.append((a.shape, a.strides, a.dtype) if hasattr(a, "strides") else type(a))
    remembered = tuple(key)
    results = _memory.get(remembered)
    if results is None:
        results = _do(op, operands, exprs, params)
        # Clear all entries at once: useful ones soon return, and no order of use is needed.
        if len(_memory) >= _REMEMBERED:
            _memory.clear()
        _memory[remembered] = results
    return results


def _do(op: Op, operands: Sequence[object], known: Sequence[Expr], params: tuple[Any, ...]) -> Done:
    """Apply an operation to expressions and to stand-ins."""
    tried, exprs = [stand_in_for(x) for x in operands], list(known)
    # A view needs the layout itself: a stand-in is a copy, with other strides and offsets.
    if op.view:
        tried[0] = _layout(operands[0])
    if op.promotion is not None:
        kind = op.promotion(tried)
        for i, (x, a) in enumerate(zip(operands, tried, strict=True)):
            if isinstance(x, Tensor) and a.dtype != kind:
                exprs[i], tried[i] = converted(exprs[i], a.dtype, kind), a.astype(kind)
    # The formula of TO is the identity, as its derivative needs it: convert the operand instead.
    if op is TO:
        exprs[0] = converted(exprs[0], tried[0].dtype, np.dtype(params[0]))
    before = noise()
    try:
        # Ones may be outside of a domain: silence warnings that the program did not cause.
        set_noise(SILENCE)
        ys = rounded(op, exprs, [getattr(a, "dtype", None) for a in tried], params)
        values: Any = tuple(map(_new, ys, op.kinds)) if op.kinds and not op.pointwise else None
        if values is None:
            values = (
                op.bound(tried, params).forward(tried)
                if op.kernel is None
                else op.kernel(*tried, *params)
            )
    except (Unsupported, NotImplementedError) as error:
        refuse(f"{op.name} has no formula here ({error})")
    # Replace NumPy's error for shapes that do not fit by the error of an eager operation.
    except ValueError:
        if not op.pointwise:
            raise
        raise RuntimeError(misfits(op, [np.shape(a) for a in tried])) from None
    finally:
        set_noise(before)
    several = values.__class__ is tuple
    layouts = tuple([np.asarray(v) for v in (values if several else (values,))])
    full_exprs = []
    for y, layout in zip(ys, layouts, strict=True):
        # Expressions have one kind of integers, int64, and sums of bools are of that kind.
        wide = layout.dtype.kind in "iu" and layout.dtype is not INT64
        if not op.view and (wide or (layout.dtype.kind == "b" and y.dtype is not bool)):
            y = converted(y, INT64, layout.dtype)
        full_exprs.append(y if y.shape == layout.shape else broadcast_to(y, layout.shape))
    offsets = tuple([_start(v) - _start(tried[0]) for v in layouts]) if op.view else ()
    return Done(tuple(full_exprs), tuple(map(without_values, layouts)), tuple(exprs[1:]), offsets)


def _new(y: Expr, kind: np.dtype) -> np.ndarray:
    """Return new memory for a result."""
    shape: Any = y.shape  # ints, since operands have no symbolic lengths
    return np.empty(shape, kind)


def _start(a: np.ndarray) -> int:
    """Return the address of the first element."""
    start: int = a.__array_interface__["data"][0]
    return start


def _layout(x: object) -> Any:
    """Return an array with the memory layout of an operand."""
    a = x._array if isinstance(x, Tensor) else x
    return a.layout if isinstance(a, Shadow) else a


def rounded(
    op: Op, exprs: Sequence[Expr], kinds: Sequence[object], params: tuple[object, ...]
) -> tuple[Expr, ...]:
    """Return the results of an operation on operands of these dtypes.

    Half precision is computed in single precision and rounded after each operation.
    """
    if op.view or op is TO or op.kinds is not None or F16 not in kinds:
        return op.results(exprs, params)
    wide = [converted(x, F16, F32) if k == F16 else x for x, k in zip(exprs, kinds, strict=True)]
    ys = op.results(wide, params)
    return tuple(converted(y, F32, F16) if y.dtype is float else y for y in ys)


def without_values(layout: np.ndarray) -> np.ndarray:
    """Return an array with the memory layout of another, on pages that are never touched.

    It is used for strides only: the other array may be large, and can then be freed.
    """
    if layout.flags.c_contiguous or layout.flags.f_contiguous:
        return np.empty_like(layout)
    # With a negative stride, elements would lie before the new memory: return the array itself.
    if not all(s >= 0 for s in layout.strides):
        return layout
    reach = sum((n - 1) * s for n, s in zip(layout.shape, layout.strides, strict=True))
    memory = np.empty(max(reach, 0) + layout.itemsize, np.uint8)
    return np.ndarray(layout.shape, layout.dtype, memory, 0, layout.strides)


def stand_in_for(x: object) -> Any:
    """Return the array that stands for an operand in a trial run."""
    if isinstance(x, Tensor):
        x = x._array
        return x.stand_in() if isinstance(x, Shadow) else stand_in(x)
    return x.stand_in() if isinstance(x, Shadow) else x
