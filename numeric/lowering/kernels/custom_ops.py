"""Custom functions as they run: guarded operands in, checked arrays of their own out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from symdiff.calculus.custom_ops import cotangents
from symdiff.errors import ShapeError
from symdiff.graph.axes import shape_text

if TYPE_CHECKING:
    from numeric.types import Values
    from symdiff.calculus.custom_ops import Custom, CustomPullback


def value(op: Custom, *operands: object, shape: tuple[int, ...]) -> Any:
    """The value of a custom function; ShapeError or TypeError if it is not a real one of shape."""
    return _checked(f"{op.name}: forward", op.forward(*map(_guarded, operands)), shape)


def pulled(op: CustomPullback, g: np.ndarray, out: np.ndarray, *operands: Any) -> Any:
    """The cotangents of the operands ``op.places``, for each of the batch of cotangents ``g``."""
    assert op.custom.vjp_numpy is not None
    name, shape = op.custom.name, np.shape(out)
    batch = g.shape[: g.ndim - len(shape)]
    out, *given = map(_guarded, (out, *operands))
    rows = []
    for one in np.reshape(g, (math.prod(batch), *shape)):
        found = cotangents(name, "vjp_numpy", op.custom.vjp_numpy, _guarded(one), out, given)
        rows.append([_cotangent(name, k, found[k], operands[k]) for k in op.places])
    if len(op.places) == 1:
        tail = np.shape(operands[op.places[0]])
        flat = [row[0] for row in rows]
    else:
        tail = (sum(np.size(operands[k]) for k in op.places),)
        flat = [np.concatenate([np.ravel(x) for x in row]) for row in rows]
    if not rows:
        return np.zeros((*batch, *tail), g.dtype)
    return np.stack(flat).reshape((*batch, *tail))[()]


def _guarded(x: Any) -> Any:
    """A view that users' code cannot write to; scalars as they are."""
    if not isinstance(x, np.ndarray) or not x.ndim:
        return x[()]
    view = x.view()
    view.setflags(write=False)
    return view


def _cotangent(name: str, k: int, found: object, operand: Values) -> Any:
    if found is None:
        return np.zeros_like(operand)
    return _checked(f"{name}: vjp_numpy, for operand {k},", found, np.shape(operand))


def _checked(what: str, result: object, shape: tuple[int, ...]) -> Any:
    array = np.asarray(result)
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{what} returned dtype {array.dtype}, expected real numbers")
    if array.shape != shape:
        raise ShapeError(
            f"{what} returned shape {shape_text(array.shape)}, expected {shape_text(shape)}"
        )
    kept = array.dtype if array.dtype.kind == "f" else np.float64
    return np.array(array, dtype=kept)[()]  # a copy: what users' code returned stays theirs
