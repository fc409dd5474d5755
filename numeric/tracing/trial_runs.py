"""What an operation makes in a trace: expressions of its results, and how these lie in memory.

Every operation is done twice.  On expressions, for its value.  And on stand-ins, arrays of ones of
the operands' shapes, dtypes and strides, for all else that a program can see of a result: its
dtype, whether it is contiguous, whether ``reshape`` of it is a view or a copy, where a view lies in
its base, and the error where operands do not fit.  An expression knows none of these, and they
decide what later writes in place change.  NumPy and the operation's own code know all of them; to
state them once more, an operation at a time, would be a second library that could disagree.

Operations that say the dtypes of their results, as whole programs do, are not tried: their results
are new memory of the shapes that the expressions have.  A program may refuse its numbers, or take
long for them, and what it makes of others than its own says nothing.

The cost is paid once: what an operation makes is remembered by its operands' expressions and
layouts, since a traced function is mostly traced again (in other surroundings, by ``vmap`` in every
call), and does the same.
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
    """What an operation makes: expressions and layouts; ``rest``: of operands after the first."""

    exprs: tuple[Expr, ...]
    layouts: tuple[np.ndarray, ...]
    rest: tuple[Expr, ...]
    offsets: tuple[int, ...]  # of views: bytes in memory behind the first operand's beginning


# Operations on expressions, by operation, parameters, expressions and layouts of the operands.
_memory: dict[tuple[object, ...], Done] = {}
_REMEMBERED = 4096


def done(op: Op, operands: Sequence[object], exprs: list[Expr], params: tuple[object, ...]) -> Done:
    """An operation on expressions, which is remembered: another run will do the same."""
    # With the default dtype, which is that of what Python's numbers become.
    key: list[object] = [op, params, default()]
    for x, e in zip(operands, exprs, strict=True):
        key.append(e.serial)
        a: Any = x._array if isinstance(x, Tensor) else x
        if isinstance(a, Shadow):
            a = a.layout
        # With the strides, which decide what is a view of what.
        key.append((a.shape, a.strides, a.dtype) if hasattr(a, "strides") else type(a))
    remembered = tuple(key)
    found = _memory.get(remembered)
    if found is None:
        found = _do(op, operands, exprs, params)
        # All at once: what is wanted again is soon there again, and no order of use has to be kept.
        if len(_memory) >= _REMEMBERED:
            _memory.clear()
        _memory[remembered] = found
    return found


def _do(op: Op, operands: Sequence[object], given: Sequence[Expr], params: tuple[Any, ...]) -> Done:
    """An operation, on expressions and on stand-ins."""
    tried, exprs = [stand_in_for(x) for x in operands], list(given)
    if op.view:  # on the layout itself: a stand-in is a copy, in which the view lies elsewhere
        tried[0] = _layout(operands[0])
    if op.promotion is not None:
        kind = op.promotion(tried)
        for i, (x, a) in enumerate(zip(operands, tried, strict=True)):
            if isinstance(x, Tensor) and a.dtype != kind:
                exprs[i], tried[i] = converted(exprs[i], a.dtype, kind), a.astype(kind)
    if op is TO:  # its formula is the identity, as that of a derivative must be
        exprs[0] = converted(exprs[0], tried[0].dtype, np.dtype(params[0]))
    before = noise()
    try:
        # Ones may be outside of a domain; what NumPy says of them, it does not say of the program.
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
    # NumPy's words for shapes that do not fit; the error is to be that of an eager operation.
    except ValueError:
        if not op.pointwise:
            raise
        raise RuntimeError(misfits(op, [np.shape(a) for a in tried])) from None
    finally:
        set_noise(before)
    several = values.__class__ is tuple
    layouts = tuple([np.asarray(v) for v in (values if several else (values,))])
    whole = []
    for y, layout in zip(ys, layouts, strict=True):
        # Expressions know one kind of integers, int64, and add up truth values as such.
        wide = layout.dtype.kind in "iu" and layout.dtype is not INT64
        if not op.view and (wide or (layout.dtype.kind == "b" and y.dtype is not bool)):
            y = converted(y, INT64, layout.dtype)
        whole.append(y if y.shape == layout.shape else broadcast_to(y, layout.shape))
    offsets = tuple([_start(v) - _start(tried[0]) for v in layouts]) if op.view else ()
    return Done(tuple(whole), tuple(map(without_values, layouts)), tuple(exprs[1:]), offsets)


def _new(y: Expr, kind: np.dtype) -> np.ndarray:
    """New memory for a result."""
    shape: Any = y.shape  # of numbers, as those of the operands are
    return np.empty(shape, kind)


def _start(a: np.ndarray) -> int:
    start: int = a.__array_interface__["data"][0]
    return start


def _layout(x: object) -> Any:
    """An array that lies in memory as an operand does."""
    a = x._array if isinstance(x, Tensor) else x
    return a.layout if isinstance(a, Shadow) else a


def rounded(
    op: Op, exprs: Sequence[Expr], kinds: Sequence[object], params: tuple[object, ...]
) -> tuple[Expr, ...]:
    """The results of an operation on operands of these dtypes.

    Half precision is computed in single, and rounded after each operation.
    """
    if op.view or op is TO or op.kinds is not None or F16 not in kinds:
        return op.results(exprs, params)
    wide = [converted(x, F16, F32) if k == F16 else x for x, k in zip(exprs, kinds, strict=True)]
    ys = op.results(wide, params)
    return tuple(converted(y, F32, F16) if y.dtype is float else y for y in ys)


def without_values(layout: np.ndarray) -> np.ndarray:
    """An array that lies in memory like another, in pages that nobody touches.

    The other may be large, and is not to be kept alive for its strides.
    """
    if layout.flags.c_contiguous or layout.flags.f_contiguous:
        return np.empty_like(layout)
    # Elements before the first one would lie before the new memory: kept as it is.
    if not all(s >= 0 for s in layout.strides):
        return layout
    reach = sum((n - 1) * s for n, s in zip(layout.shape, layout.strides, strict=True))
    memory = np.empty(max(reach, 0) + layout.itemsize, np.uint8)
    return np.ndarray(layout.shape, layout.dtype, memory, 0, layout.strides)


def stand_in_for(x: object) -> Any:
    """An array to try operations on, for an operand."""
    if isinstance(x, Tensor):
        x = x._array
        return x.stand_in() if isinstance(x, Shadow) else stand_in(x)
    return x.stand_in() if isinstance(x, Shadow) else x
