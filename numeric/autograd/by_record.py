"""Derivatives of a function from the record of its eager run.

They serve functions without a differentiable formula.  Such a function calls an operation without
an expression, as a custom ``autograd.Function``, or one whose formula has no derivative.  Each
derivative pulls back through the record; a Jacobian does so row by row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.autograd.derivatives import grad
from numeric.eager.record import AccumulateGrad
from numeric.eager.tensor import Tensor, blank, edge_of, wrap
from numeric.modes import Switch, current
from numeric.ops.rearranging import stack
from symdiff.contexts import contained

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numeric.eager.record import Record
    from numeric.tracing.functions_as_formulas import Capture


@contained
def vjp(
    ys: Sequence[Tensor], xs: Sequence[Tensor], gs: Sequence[Tensor], recorded: bool
) -> list[Tensor]:
    """Return the derivatives of ``<gs, ys>`` by ``xs``; zeros for independent inputs."""
    pairs = [(y, g) for y, g in zip(ys, gs, strict=True) if y._rg]
    if not pairs:
        return [wrap(np.zeros_like(x._array)) for x in xs]
    with Switch(grad=True, inference=False):
        gradients_or_none = grad(
            [y for y, _ in pairs],
            list(xs),
            [g for _, g in pairs],
            retain_graph=True,
            create_graph=recorded,
            allow_unused=True,
        )
    return [
        wrap(np.zeros_like(x._array)) if g is None else g
        for x, g in zip(xs, gradients_or_none, strict=True)
    ]


def gradients(ys: Sequence[Tensor], xs: Sequence[Tensor]) -> list[Tensor]:
    """Return the recorded derivatives of the first result, which has one element."""
    return vjp(ys[:1], xs, [wrap(np.ones_like(ys[0]._array))], True)


def jvp(
    ys: Sequence[Tensor], xs: Sequence[Tensor], ts: Sequence[Tensor], recorded: bool
) -> list[Tensor]:
    """Return the derivatives of ``ys`` along ``ts``, as the transpose of the pullback.

    The pullback is linear in the cotangents ``us``: its own pullback along ``ts`` is the jvp.
    """
    us = [blank(np.zeros_like(y._array), True) for y in ys]
    return vjp(vjp(ys, xs, us, True), us, ts, recorded)


@contained
def jacobians(
    ys: Sequence[Tensor], xs: Sequence[Tensor], order: int, recorded: bool
) -> list[Tensor]:
    """Return the Jacobians of each result by each input, row by row; for order 2 of those again."""
    if not order:
        return list(ys)
    out: list[Tensor] = []
    for y in ys:
        rows = []
        for i in range(y._array.size):
            seed = np.zeros_like(y._array, order="C")
            seed.reshape(-1)[i] = 1
            rows.append(vjp([y], xs, [wrap(seed)], recorded or order > 1))
        for x, column in zip(xs, zip(*rows, strict=True) if rows else [()] * len(xs), strict=True):
            shape = y._array.shape + x._array.shape
            with Switch(grad=True, inference=False):
                rows_of_x = stack(list(column)) if column else wrap(np.zeros(shape, x._array.dtype))
                out += jacobians([rows_of_x.reshape(shape)], xs, order - 1, recorded)
    return out


def settled(capture: Capture, tensors: Sequence[Tensor]) -> list[Tensor]:
    """Prepare results of the eager run for the caller.

    A result stays recorded only if it depends on tensors from outside the run.  It gets its own
    memory, as the results of a lowered program have.
    """
    assert capture.leaves is not None
    own = {edge_of(x) for x in capture.leaves}
    out = []
    for t in tensors:
        if not current().grad or not (t._rg and _depends(t, own)):
            t = t.detach()
        if any(
            np.may_share_memory(t._array, x._array) for x in (*capture.leaves, *capture.results)
        ):
            t = t.clone()
        out.append(t)
    return out


def _depends(t: Tensor, own: set[Record]) -> bool:
    """Whether the record of ``t`` reaches living leaves other than the run's own."""
    pending, seen = [edge_of(t)], set(own)
    while pending:
        record: Any = pending.pop()
        if record in seen:
            if record in own and record.differentiable and not record.is_leaf:
                return True
            continue
        seen.add(record)
        if isinstance(record, AccumulateGrad) and record.variable is not None:
            return True
        pending += getattr(record, "edges", ())
    return False


def reaches(y: Tensor, x: Tensor) -> bool:
    """Whether ``y`` was computed from ``x``."""
    goal = edge_of(x)
    pending, seen = [edge_of(y)], set()
    while pending:
        record: Any = pending.pop()
        if record is goal:
            return True
        if record not in seen:
            seen.add(record)
            pending += getattr(record, "edges", ())
    return False
