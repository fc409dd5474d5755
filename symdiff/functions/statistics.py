"""Predicates, counts, reductions that ignore nan, statistics, and special products.

The functions that ignore nan select elements with ``where``, so a nan has derivative 0.
"""

from __future__ import annotations

import builtins
import math
from typing import TYPE_CHECKING

import numpy as np

from symdiff import opaque_ops
from symdiff.contexts import listed
from symdiff.errors import ShapeError, Unsupported
from symdiff.functions.products import tensordot
from symdiff.functions.reductions import cumsum, degrees_of_freedom, max, mean, min, prod, sum
from symdiff.functions.shaping import (
    Axis,
    axes_of,
    axis_of,
    concat,
    expand_dims,
    flip,
    moveaxis_last,
    stack,
)
from symdiff.graph import ops
from symdiff.graph.algebra import as_numeric, divide, floating, int_power, opaque, primitive, select
from symdiff.graph.axes import broadcast_shapes, shape_text
from symdiff.graph.contraction import broadcast_to, contract
from symdiff.graph.leaves import as_expr, constant, full, number_node
from symdiff.graph.lengths import Length

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symdiff.graph.expr import Expr, Operand
    from symdiff.graph.node import Dim

__all__ = [
    "all",
    "any",
    "average",
    "count_nonzero",
    "cov",
    "cross",
    "inner",
    "isfinite",
    "isinf",
    "isnan",
    "multi_dot",
    "nan_to_num",
    "nancumsum",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
    "ptp",
    "vander",
]

# Predicates -------------------------------------------------------------------------------------


def isnan(x: Operand, /) -> Expr:
    """Return whether each element is nan: the one value that differs from itself.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.isnan(x) is sd.not_equal(x, x)
    True
    """
    operand = as_expr(x)
    return primitive("not_equal", operand, operand)


def isinf(x: Operand, /) -> Expr:
    """Return whether each element is inf or -inf.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.isinf(x) is (abs(x) == float("inf"))
    True
    """
    return primitive("equal", builtins.abs(as_numeric(as_expr(x))), number_node(math.inf))


def isfinite(x: Operand, /) -> Expr:
    """Return whether each element is neither infinite nor nan.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> sd.isfinite(x) is (abs(x) < float("inf"))
    True
    """
    return primitive("less", builtins.abs(as_numeric(as_expr(x))), number_node(math.inf))


def _nonzero(x: Operand) -> Expr:
    operand = as_expr(x)
    if operand.dtype is bool:
        return operand
    return primitive("not_equal", operand, number_node(0))


def count_nonzero(x: Operand, /, axis: Axis = None, *, keepdims: bool = False) -> Expr:
    """Return the number of nonzero elements over ``axis``, over all axes by default.

    >>> import symdiff as sd
    >>> sd.count_nonzero(sd.symbol("X", (2, 3)), axis=0).shape
    (3,)
    """
    return sum(_nonzero(x), axis, keepdims=keepdims)


def any(x: Operand, /, axis: Axis = None, *, keepdims: bool = False) -> Expr:
    """Return whether some element over ``axis``, over all axes by default, is true (not 0).

    >>> import symdiff as sd
    >>> sd.any(sd.symbol("X", (2, 3)) > 0, axis=1).dtype
    <class 'bool'>
    """
    return _nonzero(count_nonzero(x, axis, keepdims=keepdims))


def all(x: Operand, /, axis: Axis = None, *, keepdims: bool = False) -> Expr:
    """Return whether every element over ``axis``, over all axes by default, is true (not 0).

    >>> import symdiff as sd
    >>> sd.all(sd.symbol("X", (2, 3)) > 0, axis=1).shape
    (2,)
    """
    false = sum(primitive("logical_not", _nonzero(x)), axis, keepdims=keepdims)
    return primitive("equal", false, number_node(0))


# Reductions that ignore nan ---------------------------------------------------------------------


def _replace_nan(x: Expr, value: float) -> Expr:
    """``x`` with ``value`` in place of nan."""
    return select(isnan(x), as_expr(value), x)


def _count_present(x: Expr, axis: Axis, keepdims: bool) -> Expr:
    """The number of elements over ``axis`` that are not nan."""
    return sum(primitive("equal", x, x), axis, keepdims=keepdims)


def nan_to_num(
    x: Operand,
    /,
    *,
    nan: float = 0.0,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Expr:
    """Return ``x`` with numbers in place of nan, inf and -inf; by default 0 and the extreme floats.

    Replaced elements have derivative 0.

    >>> import symdiff as sd
    >>> sd.nan_to_num(sd.symbol("x", 3), posinf=1.0).shape
    (3,)
    """
    operand = as_numeric(as_expr(x))
    if operand.dtype is int:
        return operand
    top = np.finfo(float).max.item()
    high, low = (number_node(v) for v in (math.inf, -math.inf))
    result = select(
        primitive("equal", operand, low), as_expr(-top if neginf is None else neginf), operand
    )
    result = select(
        primitive("equal", operand, high), as_expr(top if posinf is None else posinf), result
    )
    return select(isnan(operand), as_expr(nan), result)


def nansum(x: Operand, /, axis: Axis = None, *, keepdims: bool = False) -> Expr:
    """Return the sum of the elements that are not nan over ``axis``, over all axes by default.

    >>> import symdiff as sd
    >>> sd.nansum(sd.symbol("X", (2, 3)), axis=0).shape
    (3,)
    """
    return sum(_replace_nan(as_numeric(as_expr(x)), 0), axis, keepdims=keepdims)


def nancumsum(x: Operand, /, axis: int | None = None) -> Expr:
    """Return the running sums along ``axis``, in C order for None; nan counts as 0.

    >>> import symdiff as sd
    >>> sd.nancumsum(sd.symbol("X", (2, 3)), axis=0).shape
    (2, 3)
    """
    return cumsum(_replace_nan(as_numeric(as_expr(x)), 0), axis)


def nanprod(x: Operand, /, axis: Axis = None, *, keepdims: bool = False) -> Expr:
    """Return the product of the elements that are not nan over ``axis``, over all axes by default.

    >>> import symdiff as sd
    >>> sd.nanprod(sd.symbol("X", (2, 3)), axis=0).shape
    (3,)
    """
    return prod(_replace_nan(as_numeric(as_expr(x)), 1), axis, keepdims=keepdims)


def nanmean(x: Operand, /, axis: Axis = None, *, keepdims: bool = False) -> Expr:
    """Return the mean of the elements that are not nan over ``axis``, over all axes by default.

    It is nan without such elements.

    >>> import symdiff as sd
    >>> sd.nanmean(sd.symbol("X", (2, 3)), axis=0).shape
    (3,)
    """
    operand = floating(as_numeric(as_expr(x)))
    axes = axes_of("nanmean", axis, operand.ndim)
    total = nansum(operand, axes, keepdims=keepdims)
    return divide(total, _count_present(operand, axes, keepdims))


def nanvar(x: Operand, /, axis: Axis = None, *, ddof: float = 0, keepdims: bool = False) -> Expr:
    """Return the variance of the elements that are not nan over ``axis``, over all axes by default.

    ``sum((x - mean)²) / (n - ddof)`` for n elements; nan if ``n - ddof`` is not positive.

    >>> import symdiff as sd
    >>> sd.nanvar(sd.symbol("X", (2, 3)), axis=0, ddof=1).shape
    (3,)
    """
    operand = as_numeric(as_expr(x))
    axes = axes_of("nanvar", axis, operand.ndim)
    centre = nanmean(operand, axes, keepdims=True)
    deviation = select(isnan(operand), number_node(0), operand - centre)
    count = _count_present(operand, axes, keepdims) - ddof
    defined = primitive("less", number_node(0), count)
    total = sum(int_power(deviation, 2), axes, keepdims=keepdims)
    return select(defined, divide(total, count), as_expr(math.nan))


def nanstd(x: Operand, /, axis: Axis = None, *, ddof: float = 0, keepdims: bool = False) -> Expr:
    """Return the square root of ``nanvar``; its derivative is 0 where all elements are equal.

    >>> import symdiff as sd
    >>> sd.nanstd(sd.symbol("X", (2, 3)), axis=0).shape
    (3,)
    """
    return primitive("norm_sqrt", nanvar(x, axis, ddof=ddof, keepdims=keepdims))


def nanmax(x: Operand, /, axis: Axis = None, *, keepdims: bool = False) -> Expr:
    """Return the largest element that is not nan over ``axis``, all axes by default; else nan.

    Equal elements share the derivative evenly.  Raises ValueError without elements.

    >>> import symdiff as sd
    >>> sd.nanmax(sd.symbol("X", (2, 3)), axis=0).shape
    (3,)
    """
    operand = as_numeric(as_expr(x))
    if operand.dtype is int:
        return max(operand, axis, keepdims=keepdims)
    result = max(_replace_nan(operand, -math.inf), axis, keepdims=keepdims)
    return _nan_without_elements(operand, result, axis, keepdims)


def nanmin(x: Operand, /, axis: Axis = None, *, keepdims: bool = False) -> Expr:
    """Return the smallest element that is not nan over ``axis``, all axes by default; else nan.

    Equal elements share the derivative evenly.  Raises ValueError without elements.

    >>> import symdiff as sd
    >>> sd.nanmin(sd.symbol("X", (2, 3)), axis=0).shape
    (3,)
    """
    operand = as_numeric(as_expr(x))
    if operand.dtype is int:
        return min(operand, axis, keepdims=keepdims)
    result = min(_replace_nan(operand, math.inf), axis, keepdims=keepdims)
    return _nan_without_elements(operand, result, axis, keepdims)


def _nan_without_elements(x: Expr, result: Expr, axis: Axis, keepdims: bool) -> Expr:
    none = primitive("equal", _count_present(x, axis, keepdims), number_node(0))
    return select(none, as_expr(math.nan), result)


# Statistics -------------------------------------------------------------------------------------


def ptp(x: Operand, /, axis: Axis = None, *, keepdims: bool = False) -> Expr:
    """Return the largest element minus the smallest over ``axis``, over all axes by default.

    >>> import symdiff as sd
    >>> x = sd.symbol("x", 3)
    >>> sd.ptp(x) is sd.max(x) - sd.min(x)
    True
    """
    operand = as_numeric(as_expr(x))
    return max(operand, axis, keepdims=keepdims) - min(operand, axis, keepdims=keepdims)


def average(
    x: Operand,
    /,
    axis: Axis = None,
    weights: Operand | Sequence[float] | None = None,
    *,
    keepdims: bool = False,
) -> Expr:
    """Return ``sum(w x) / sum(w)`` over ``axis``, all axes by default; the mean without weights.

    Weights have the shape of x, or are a vector for one axis.  Raises ShapeError for other shapes.

    >>> import symdiff as sd
    >>> X, w = sd.symbol("X", (2, 3)), sd.symbol("w", 3)
    >>> sd.average(X, axis=1, weights=w).shape
    (2,)
    """
    operand = as_expr(x)
    if weights is None:
        return mean(operand, axis, keepdims=keepdims)
    axes = axes_of("average", axis, operand.ndim)
    operand, w = floating(operand), floating(constant(weights))
    if w.shape != operand.shape:
        if len(axes) != 1 or w.shape != (operand.shape[axes[0]],):
            raise ShapeError(
                f"average: weights of shape {shape_text(w.shape)} for axes {axes} of shape "
                f"{shape_text(operand.shape)}"
            )
        w = expand_dims(w, tuple(range(1, operand.ndim - axes[0])))
        w = broadcast_to(w, operand.shape)
    return divide(sum(w * operand, axes, keepdims=keepdims), sum(w, axes, keepdims=keepdims))


def cov(x: Operand, /, *, rowvar: bool = True, ddof: float = 1) -> Expr:
    """Return the covariances of the rows of x.

    ``sum_k (x_ik - mean_i) (x_jk - mean_j) / (n - ddof)``; of the columns unless ``rowvar``.  A
    vector or a single row gives a variance.  A negative ``n - ddof`` counts as 0.  Raises
    ShapeError above two axes.

    >>> import symdiff as sd
    >>> sd.cov(sd.symbol("X", (2, 5))).shape
    (2, 2)
    """
    operand = as_numeric(as_expr(x))
    if operand.ndim not in (1, 2):
        raise ShapeError(f"cov: shape {shape_text(operand.shape)} is neither a vector nor a matrix")
    if operand.ndim == 2 and not rowvar:
        operand = contract([(operand, (0, 1))], (1, 0))
    if operand.ndim == 2 and operand.shape[0] == 1:
        operand = contract([(operand, (0, 1))], (1,))
    deviation = operand - mean(operand, -1, keepdims=True)
    count = degrees_of_freedom(operand, (operand.ndim - 1,), ddof)
    return divide(inner(deviation, deviation), count)


# Products ---------------------------------------------------------------------------------------


def inner(x: Operand, y: Operand, /) -> Expr:
    """Return the sum over the last axes of both: ``value[.., ..] = sum_k x[.., k] y[.., k]``.

    A scalar multiplies.  Raises ShapeError if the lengths differ.

    >>> import symdiff as sd
    >>> X, y = sd.symbol("X", (2, 3)), sd.symbol("y", 3)
    >>> sd.inner(X, y) is X @ y
    True
    """
    a, b = as_expr(x), as_expr(y)
    return tensordot(a, b, axes=((-1,), (-1,))) if a.ndim and b.ndim else a * b


def multi_dot(arrays: Sequence[Operand], /) -> Expr:
    """Return the product of matrices as one contraction, in a good order; the ends may be vectors.

    Raises ValueError for fewer than two operands, ShapeError if an operand is not a matrix or
    lengths differ.

    >>> import symdiff as sd
    >>> A, x = sd.symbol("A", (3, 3)), sd.symbol("x", 3)
    >>> sd.multi_dot([x, A, x]).shape
    ()
    """
    factors = [as_expr(x) for x in arrays]
    if len(factors) < 2:
        raise ValueError("multi_dot: needs at least two arrays")
    last = len(factors) - 1
    words = []
    for k, x in enumerate(factors):
        if x.ndim != 2 and not (x.ndim == 1 and k in (0, last)):
            raise ShapeError(
                f"multi_dot: operand {k} of shape {shape_text(x.shape)} is not a matrix"
            )
        words.append(
            ((k, k + 1) if x.ndim == 2 else (k + 1,)) if k < last else (k, k + 1)[: x.ndim]
        )
    out = tuple(k for k in (words[0][0], words[-1][-1]) if k in (0, last + 1))
    return contract(list(zip(factors, words, strict=True)), out, None, "multi_dot")


def cross(x: Operand, y: Operand, /, axis: int = -1) -> Expr:
    """Return the vector product along ``axis``, of length 3; the other axes broadcast.

    Raises ShapeError for another length or if the shapes do not fit, AxisError.

    >>> import symdiff as sd
    >>> sd.cross(sd.symbol("x", (5, 3)), sd.symbol("y", 3)).shape
    (5, 3)
    """
    a, b = (moveaxis_last("cross", as_expr(v), axis) for v in (x, y))
    for v in (a, b):
        if v.shape[-1] != 3:
            raise ShapeError(f"cross: an axis of length {v.shape[-1]}; it has 3 elements")
    shape = broadcast_shapes("cross", a.shape, b.shape)
    (ax, ay, az), (bx, by, bz) = (
        [broadcast_to(v, shape)[..., k] for k in range(3)] for v in (a, b)
    )
    parts = [ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx]
    return stack(parts, axis=axis_of("cross", axis, len(shape)))


_MOST_POWERS = 10_000


def vander(x: Operand, /, N: Dim | None = None, *, increasing: bool = False) -> Expr:
    """Return the powers of the elements of a vector as rows: ``x**(N-1) ... x, 1``, or increasing.

    Raises ShapeError for another shape, ValueError for more than 10000 powers: each of them is an
    expression.  For N by name they are running products.

    >>> import symdiff as sd
    >>> sd.vander(sd.symbol("x", 3), 4).shape
    (3, 4)
    """
    operand = as_numeric(as_expr(x))
    if operand.ndim != 1:
        raise ShapeError(f"vander: {shape_text(operand.shape)} is not a vector")
    count = operand.shape[0] if N is None else N
    if isinstance(count, Length):
        steps = broadcast_to(expand_dims(operand, 1), (*operand.shape, count))
        steps = concat([full((*operand.shape, 1), 1), steps], axis=1)  # N may be 0
        columns = opaque(ops.opaque_op(opaque_ops.Cumprod), steps)[:, :count]
        return columns if increasing else flip(columns, axis=1)
    if isinstance(count, str):
        raise Unsupported(f"vander: a symbolic number {count} of powers; pass N")
    if not count:
        return full((*operand.shape, 0), 0)
    if count > _MOST_POWERS:
        raise ValueError(f"vander: {count} powers, each an expression; at most {_MOST_POWERS}")
    listed("vander", expressions=count)
    powers = range(count) if increasing else range(count - 1, -1, -1)
    if operand.dtype is int and count > 1:  # as in NumPy: promote with int64
        steps = stack([full(operand.shape, 1), *[operand] * (count - 1)], axis=1)
        columns = opaque(ops.opaque_op(opaque_ops.Cumprod), steps)
        return columns if increasing else flip(columns, axis=1)
    return stack([int_power(operand, p) for p in powers], axis=1)
