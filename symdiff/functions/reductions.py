"""Sums, means, products, extremes and norms over axes, under their array-API and NumPy names.

Sums are contractions over the letters of their axes.  The other reductions have rules for the last
axis: their axes move to the end and merge to one.
"""

from __future__ import annotations

import builtins
import math
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from symdiff import opaque_ops
from symdiff.functions.shaping import (
    Axis,
    axes_of,
    axis_of,
    boolean_as,
    expand_dims,
    merged,
    permute_dims,
    reshape,
    reshaped,
)
from symdiff.graph import number, ops
from symdiff.graph.algebra import (
    as_numeric,
    counted,
    divide,
    floating,
    int_power,
    linear,
    opaque,
    primitive,
    product,
)
from symdiff.graph.arguments import boolean, names_arguments, real
from symdiff.graph.axes import PATTERNS, shape_text
from symdiff.graph.contraction import contract
from symdiff.graph.leaves import as_expr, full, number_node, number_of
from symdiff.graph.number import shortened

if TYPE_CHECKING:
    from symdiff.graph.axes import Word
    from symdiff.graph.expr import Expr, Operand
    from symdiff.graph.node import Shape

__all__ = [
    "amax",
    "amin",
    "cumsum",
    "log_softmax",
    "logsumexp",
    "max",
    "mean",
    "min",
    "norm",
    "prod",
    "softmax",
    "std",
    "sum",
    "var",
]


# Sums -------------------------------------------------------------------------------------------


@names_arguments
def sum(x: Operand, /, axis: Axis = None, *, keepdims: bool = False) -> Expr:
    """Return the sum over ``axis``, over all axes by default; 0 without elements.

    ``keepdims`` keeps axes with length 1.  Raises AxisError for an axis that x does not have.

    >>> import symdiff as sd
    >>> X, w = sd.symbol("X", (2, "n")), sd.symbol("w", "n")
    >>> sd.sum(X * w, axis=1) is X @ w
    True
    """
    # The sum of booleans is their number, also along an axis of length 1.
    operand = as_numeric(as_expr(x, "sum", "x"))
    if keepdims is not False and not isinstance(keepdims, int):  # 0 and 1 are fine
        keepdims = boolean("sum", "keepdims", keepdims)
    ndim = len(operand.shape)
    axes = axes_of("sum", axis, ndim)
    if 0 in operand.shape and any(operand.shape[k] == 0 for k in axes):
        return full(_reduced_shape(operand.shape, axes, keepdims), 0)
    word, out = _sum_labels(ndim, axes, keepdims)
    sizes = {k + ndim: 1 for k in axes} if keepdims else None
    return contract([(operand, word)], out, sizes, "sum")


@lru_cache(maxsize=PATTERNS)
def _sum_labels(ndim: int, axes: tuple[int, ...], keepdims: bool) -> tuple[Word, Word]:
    """The axis labels of the operand and of the result of a sum over ``axes``."""
    word = tuple(range(ndim))
    if keepdims:
        return word, tuple([k + ndim if k in axes else k for k in word])
    return word, tuple([k for k in word if k not in axes])


def _reduced_shape(shape: Shape, axes: tuple[int, ...], keepdims: bool) -> Shape:
    """The shape of a reduction over ``axes``."""
    if keepdims:
        return tuple(1 if k in axes else dim for k, dim in enumerate(shape))
    return tuple(dim for k, dim in enumerate(shape) if k not in axes)


def _element_count(x: Expr, axes: tuple[int, ...]) -> Expr:
    """The number of elements along ``axes``."""
    return product(counted(x.shape[k]) for k in axes)


def mean(x: Operand, /, axis: Axis = None, *, keepdims: bool = False) -> Expr:
    """Return the arithmetic mean over ``axis``, over all axes by default; nan without elements.

    >>> import symdiff as sd
    >>> x = sd.symbol("x", "n")
    >>> sd.mean(x).shape, sd.mean(x, keepdims=True).shape
    ((), (1,))
    """
    operand = floating(as_expr(x))
    axes = axes_of("mean", axis, operand.ndim)
    result = divide(sum(operand, axes), _element_count(operand, axes))
    return expand_dims(result, axes) if keepdims else result


def var(
    x: Operand,
    /,
    axis: Axis = None,
    *,
    ddof: float = 0,
    keepdims: bool = False,
    correction: float | None = None,
) -> Expr:
    """Return the variance ``sum((x - mean(x))²) / (n - ddof)`` over ``axis``, all by default.

    ``correction`` is another name of ``ddof``.  A negative ``n - ddof`` counts as 0.  Raises
    ValueError if both names are used.

    >>> import symdiff as sd
    >>> X = sd.symbol("X", (5, 3))
    >>> sd.var(X, axis=0, ddof=1) is sd.var(X, axis=0, correction=1)
    True
    """
    if correction is not None:
        if ddof:
            raise ValueError("var: ddof and correction are two names of one argument")
        ddof = correction
    operand = as_expr(x)
    axes = axes_of("var", axis, operand.ndim)
    deviation = operand - mean(operand, axes, keepdims=True)
    count = degrees_of_freedom(operand, axes, ddof)
    return divide(sum(deviation * deviation, axes, keepdims=keepdims), count)


def degrees_of_freedom(x: Expr, axes: tuple[int, ...], ddof: float) -> Expr:
    """Return the number of elements along the axes minus ``ddof``; 0 if this is negative.

    >>> import symdiff as sd
    >>> degrees_of_freedom(sd.symbol("X", (5, 3)), (0,), 1)
    4
    """
    count = _element_count(x, axes)
    if not ddof:
        return count
    rest = count - ddof
    value = number_of(rest)
    if value is None:
        return primitive("maximum", rest, number_node(0))
    return number_node(builtins.max(value, 0))


def std(
    x: Operand,
    /,
    axis: Axis = None,
    *,
    ddof: float = 0,
    keepdims: bool = False,
    correction: float | None = None,
) -> Expr:
    """Return the square root of ``var``; its derivative is 0 where all elements are equal.

    >>> import symdiff as sd
    >>> sd.std(sd.symbol("X", (5, 3)), axis=0).shape
    (3,)
    """
    axes = axes_of("std", axis, as_expr(x).ndim)
    variance = var(x, axes, ddof=ddof, keepdims=keepdims, correction=correction)
    return primitive("norm_sqrt", variance)


def cumsum(x: Operand, /, axis: int | None = None) -> Expr:
    """Return the running sums along ``axis``; with None, of the elements in C order.

    >>> import symdiff as sd
    >>> X = sd.symbol("X", (2, 3))
    >>> sd.cumsum(X, axis=0).shape, sd.cumsum(X).shape
    ((2, 3), (6,))
    """
    operand = as_expr(x)
    if axis is None:
        operand, axis = reshape(operand, -1), 0
    place = axis_of("cumsum", axis, operand.ndim)
    return linear(ops.cumsum_op(place - operand.ndim), operand)


# Products and extremes --------------------------------------------------------------------------


def reduction(name: str, op: ops.Opaque, x: Expr, axes: tuple[int, ...], keepdims: bool) -> Expr:
    """Apply ``op``, which reduces the last axis, to ``axes`` merged to one."""
    rest = tuple(k for k in range(x.ndim) if k not in axes)
    last = merged(name, [x.shape[k] for k in axes])
    flat = reshaped(permute_dims(x, rest + axes), (*(x.shape[k] for k in rest), last))
    result = opaque(op, flat)
    return expand_dims(result, axes) if keepdims else result


def _reduce_single_elements(x: Expr, axes: tuple[int, ...], keepdims: bool) -> Expr | None:
    """The result of a reduction over axes of length 1, or None for other lengths."""
    if any(x.shape[k] != 1 for k in axes):
        return None
    return boolean_as(x, sum(x, axes, keepdims=keepdims)) if axes else x


def prod(x: Operand, /, axis: Axis = None, *, keepdims: bool = False) -> Expr:
    """Return the product over ``axis``, over all axes by default; 1 without elements.

    Its derivative is correct at zeros, too.

    >>> import symdiff as sd
    >>> sd.prod(sd.symbol("X", (2, 3)), axis=1).shape
    (2,)
    """
    operand = as_numeric(as_expr(x))
    axes = axes_of("prod", axis, operand.ndim)
    if any(operand.shape[k] == 0 for k in axes):
        return full(_reduced_shape(operand.shape, axes, keepdims), 1)
    single = _reduce_single_elements(operand, axes, keepdims)
    return (
        reduction("prod", ops.opaque_op(opaque_ops.Prod), operand, axes, keepdims)
        if single is None
        else single
    )


def _reduce_extreme(name: str, op: ops.Opaque, x: Operand, axis: Axis, keepdims: bool) -> Expr:
    operand = as_expr(x)
    axes = axes_of(name, axis, operand.ndim)
    if any(operand.shape[k] == 0 for k in axes):
        raise ValueError(
            f"{name}: over no elements (shape {shape_text(operand.shape)}, axes {axes})"
        )
    single = _reduce_single_elements(operand, axes, keepdims)
    return (
        boolean_as(operand, reduction(name, op, operand, axes, keepdims))
        if single is None
        else single
    )


def max(x: Operand, /, axis: Axis = None, *, keepdims: bool = False) -> Expr:
    """Return the largest element over ``axis``, over all axes by default.

    Equal elements share the derivative evenly.  Raises ValueError without elements.

    >>> import symdiff as sd
    >>> sd.max(sd.symbol("X", (2, 3)), axis=0, keepdims=True).shape
    (1, 3)
    """
    return _reduce_extreme("max", ops.opaque_op(opaque_ops.Max), x, axis, keepdims)


def min(x: Operand, /, axis: Axis = None, *, keepdims: bool = False) -> Expr:
    """Return the smallest element over ``axis``, over all axes by default.

    Equal elements share the derivative evenly.  Raises ValueError without elements.

    >>> import symdiff as sd
    >>> sd.min(sd.symbol("X", (2, 3))).shape
    ()
    """
    return _reduce_extreme("min", ops.opaque_op(opaque_ops.Min), x, axis, keepdims)


def logsumexp(x: Operand, /, axis: Axis = None, *, keepdims: bool = False) -> Expr:
    """Return ``log(sum(exp(x)))`` over ``axis``, all by default, without overflow.

    It is -inf without elements.

    >>> import symdiff as sd
    >>> sd.logsumexp(sd.symbol("X", (2, 3)), axis=-1).shape
    (2,)
    """
    operand = as_expr(x)
    axes = axes_of("logsumexp", axis, operand.ndim)
    if any(operand.shape[k] == 0 for k in axes):
        return full(_reduced_shape(operand.shape, axes, keepdims), -math.inf)
    return reduction("logsumexp", ops.opaque_op(opaque_ops.LogSumExp), operand, axes, keepdims)


def softmax(x: Operand, /, axis: Axis = None) -> Expr:
    """Return ``exp(x) / sum(exp(x))`` over ``axis``, all axes by default, without overflow.

    >>> import symdiff as sd
    >>> sd.softmax(sd.symbol("X", (2, 3)), axis=1).shape
    (2, 3)
    """
    operand = as_expr(x)
    return primitive("exp", log_softmax(operand, axes_of("softmax", axis, operand.ndim)))


def log_softmax(x: Operand, /, axis: Axis = None) -> Expr:
    """Return ``x - logsumexp(x)`` over ``axis``, over all axes by default.

    >>> import symdiff as sd
    >>> x = sd.symbol("x", 3)
    >>> sd.exp(sd.log_softmax(x)) is sd.softmax(x)
    True
    """
    operand = as_expr(x)
    axes = axes_of("log_softmax", axis, operand.ndim)
    return operand - logsumexp(operand, axes, keepdims=True)


# Norms ------------------------------------------------------------------------------------------


def norm(
    x: Operand, /, ord: float | str | None = None, axis: Axis = None, *, keepdims: bool = False
) -> Expr:
    """Return the norm of vectors or matrices, as ``numpy.linalg.norm`` does.

    Without ``ord`` it is ``√(sum(x²))`` over ``axis``, over all axes by default.

    With one axis, or for a vector, ``ord`` is a number p: ``sum(|x|**p)**(1/p)``; inf and -inf: the
    largest and smallest ``|x|``; 0: the number of elements other than 0.

    With two axes, or for a matrix, ``ord`` is "fro"; 1, -1, inf, -inf: the largest or smallest sum
    of ``|x|`` over columns or rows; 2, -2, "nuc": the largest or smallest singular value, or the
    sum of all.

    The derivative at a norm of 0 is 0.  Equal largest (smallest) singular values share it, and a
    singular value 0 has none; ``svdvals`` describes second derivatives.

    Raises ValueError for another ``ord`` or number of axes, and as ``svdvals`` does.

    >>> import symdiff as sd
    >>> x = sd.symbol("x", 3)
    >>> sd.norm(x) is sd.norm(x, 2), sd.norm(x, 1) is sd.sum(sd.abs(x))
    (True, True)
    """
    operand = floating(as_expr(x))
    axes = axes_of("norm", axis, operand.ndim)
    if ord is None or (len(axes) == 2 and ord == "fro") or (len(axes) == 1 and ord == 2):
        return primitive("norm_sqrt", sum(operand * operand, axes, keepdims=keepdims))
    if len(axes) == 1 and not isinstance(ord, str):
        if math.isnan(real("norm", "ord", ord)):
            raise ValueError("norm: the order is nan")
        return _vector_norm(operand, ord, axes[0], keepdims)
    if len(axes) == 2:
        return _matrix_norm(operand, ord, axes, keepdims)
    raise ValueError(
        f"norm: no order {shortened(ord)} for {len(axes)} axes of shape {shape_text(operand.shape)}"
    )


def _vector_norm(x: Expr, p: float, axis: int, keepdims: bool) -> Expr:
    if p == 0:
        return sum(primitive("not_equal", x, number_node(0)), axis, keepdims=keepdims)
    absolute = builtins.abs(x)
    if math.isinf(p):
        return _extreme_size(absolute, p, axis, keepdims=keepdims)
    if p == 1:
        return sum(absolute, axis, keepdims=keepdims)
    zero = number_node(0)
    powers = absolute ** as_expr(p)
    if p < 0:  # an element 0 makes the norm 0; its power is infinite
        powers = primitive("where", primitive("equal", x, zero), number_node(math.inf), powers)
    total = sum(powers, axis, keepdims=keepdims)
    root = int_power(total, number.norm(1 / Fraction(p)))
    if p < 0:
        return root
    # The root has an infinite slope at 0; the norm's derivative there is defined as 0.
    return primitive("where", primitive("equal", total, zero), zero, root)


def _extreme_size(x: Expr, p: float, axis: int, *, keepdims: bool = False) -> Expr:
    """The largest absolute value, 0 without elements; for negative p the smallest."""
    if p < 0:
        return min(x, axis, keepdims=keepdims)
    return (max if x.shape[axis] else sum)(x, axis, keepdims=keepdims)


def _matrix_norm(x: Expr, ord: float | str, axes: tuple[int, ...], keepdims: bool) -> Expr:
    if ord in (2, -2, "nuc"):
        last = permute_dims(x, (*(k for k in range(x.ndim) if k not in axes), *axes))
        # As for abs, the derivative of a singular value 0 is 0.
        values = builtins.abs(opaque(ops.opaque_op(opaque_ops.SingularValues), last))
        result = _extreme_size(values, ord, -1) if not isinstance(ord, str) else sum(values, -1)
        return expand_dims(result, tuple(sorted(axes))) if keepdims else result
    if ord not in (1, -1, math.inf, -math.inf):
        raise ValueError(f"norm: no order {shortened(ord)} for matrices")
    assert not isinstance(ord, str)
    summed, remaining = axes if builtins.abs(ord) == 1 else axes[::-1]
    sums = sum(builtins.abs(x), summed, keepdims=True)
    result = _extreme_size(sums, ord, remaining, keepdims=True)
    return result if keepdims else sum(result, axes)


amax, amin = max, min
