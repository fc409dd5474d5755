"""Moments, norms and normalised exponentials: reductions whose formulas are sums of functions."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from numeric.eager.dtypes import promoted_real, word
from numeric.eager.operations import RESULT, Op
from numeric.eager.recording import apply, apply_several
from numeric.eager.refusals import user_level
from numeric.eager.tensor import Tensor, method
from numeric.lowering.kernels.exponentials import logsumexp as of_lines
from numeric.ops.dim_arguments import axis_of
from numeric.ops.reducing import (
    Axes,
    add,
    count,
    of_axes,
    without_axes,
)
from numeric.ops.reduction_arguments import axes_or_all, in_dtype, renamed, required
from symdiff import functions as sd

if TYPE_CHECKING:
    from collections.abc import Callable

    from numeric.eager import dtypes
    from numeric.types import Dims
    from symdiff.graph.expr import Expr

__all__ = [
    "dist",
    "log_softmax",
    "logsumexp",
    "softmax",
    "std",
    "std_mean",
    "var",
    "var_mean",
]

# Moments -----------------------------------------------------------------------------------------


def _moment(function: Callable[..., Expr]) -> Callable[..., Expr]:
    """Build a formula of deviations; a tensor without axes has none, and too few give nan."""

    def build(x: Expr, axes: Axes, keepdim: bool, correction: float) -> Expr:
        if x.ndim:
            return function(x, axes, correction=correction, keepdims=keepdim)
        if correction >= 1:
            return x * math.nan
        return sd.where(abs(x) < math.inf, 0.0, math.nan)  # x - x, which formulas know to be 0

    return build


def _with_mean(
    build: Callable[..., Expr], average: Callable[..., Expr]
) -> Callable[..., tuple[Expr, Expr]]:
    return lambda x, axes, keepdim, correction: (
        build(x, axes, keepdim, correction),
        average(x, axes, keepdim),
    )


_mean, _var, _std = of_axes(sd.mean), _moment(sd.var), _moment(sd.std)
VAR = Op("var", _var, promotion=None)
STD = Op("std", _std, saves=RESULT, promotion=None)
VAR_MEAN = Op(
    "var_mean",
    _with_mean(_var, _mean),
    promotion=None,
    outputs=2,
)
STD_MEAN = Op(
    "std_mean",
    _with_mean(_std, _mean),
    saves=RESULT,
    promotion=None,
    outputs=2,
)
_ABSENT: Any = object()


def _of_moment(
    name: str,
    input: Tensor,
    dim: Dims | None,
    unbiased: bool,
    keepdim: bool,
    correction: float | None,
    names: dict[str, Any],
) -> tuple[Axes, bool, float]:
    """Return axes, ``keepdim`` and correction; ``unbiased`` may come in the place of ``dim``."""
    axis: Dims | None = dim
    if isinstance(dim, bool):
        keepdim = keepdim if unbiased is _ABSENT else unbiased
        axis, unbiased = None, dim
    axis, keepdim = renamed(name, names, axis, keepdim)
    if correction is _ABSENT or correction is None:
        correction = 1 if unbiased is _ABSENT else int(unbiased)
    elif unbiased is not _ABSENT:
        raise TypeError(f"{name}() received an invalid combination of arguments")
    a = input._array
    if a.dtype.kind != "f":
        raise RuntimeError("std and var only support floating point and complex dtypes")
    axes = axes_or_all(axis, a.ndim)
    if count(a.shape, axes) <= correction:
        warnings.warn(
            f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the "
            "reduction factor (input numel divided by output numel).",
            UserWarning,
            stacklevel=user_level(),
        )
    return axes, keepdim, correction


@method()
def var(
    input: Tensor,
    dim: Dims | None = None,
    unbiased: bool = _ABSENT,
    keepdim: bool = False,
    *,
    correction: float | None = _ABSENT,
    **names: object,
) -> Tensor:
    """Return the variance over the axes ``dim``: ``sum((x - mean)**2) / (n - correction)``.

    ``unbiased``, True by default, is a correction of 1, False of 0; ``var(input, False)`` is over
    all axes.  Raises RuntimeError for integers; warns unless ``n - correction`` is positive.

    >>> import numeric as torch
    >>> x = torch.tensor([1.0, 2.0, 3.0])
    >>> torch.var(x).item(), torch.var(x, correction=2, dim=0, keepdim=True).shape
    (1.0, torch.Size([1]))
    """
    return apply(VAR, (input,), _of_moment("var", input, dim, unbiased, keepdim, correction, names))


@method()
def std(
    input: Tensor,
    dim: Dims | None = None,
    unbiased: bool = _ABSENT,
    keepdim: bool = False,
    *,
    correction: float | None = _ABSENT,
    **names: object,
) -> Tensor:
    """Return the square root of ``var``; its derivative for equal elements is 0.

    >>> import numeric as torch
    >>> torch.std(torch.tensor([1.0, 2.0, 3.0])).item()
    1.0
    """
    return apply(STD, (input,), _of_moment("std", input, dim, unbiased, keepdim, correction, names))


@method()
def var_mean(
    input: Tensor,
    dim: Dims | None = None,
    unbiased: bool = _ABSENT,
    keepdim: bool = False,
    *,
    correction: float | None = _ABSENT,
    **names: object,
) -> tuple[Tensor, Tensor]:
    """Return ``var`` and ``mean``, with the arguments of ``var``, as results of one operation.

    >>> import numeric as torch
    >>> [v.item() for v in torch.var_mean(torch.tensor([1.0, 2.0, 3.0]))]
    [1.0, 2.0]
    """
    first, second = apply_several(
        VAR_MEAN, (input,), _of_moment("var_mean", input, dim, unbiased, keepdim, correction, names)
    )
    return first, second


@method()
def std_mean(
    input: Tensor,
    dim: Dims | None = None,
    unbiased: bool = _ABSENT,
    keepdim: bool = False,
    *,
    correction: float | None = _ABSENT,
    **names: object,
) -> tuple[Tensor, Tensor]:
    """Return ``std`` and ``mean``, with the arguments of ``var``, as results of one operation.

    >>> import numeric as torch
    >>> [v.item() for v in torch.std_mean(torch.tensor([1.0, 2.0, 3.0]))]
    [1.0, 2.0]
    """
    first, second = apply_several(
        STD_MEAN, (input,), _of_moment("std_mean", input, dim, unbiased, keepdim, correction, names)
    )
    return first, second


# Norms -------------------------------------------------------------------------------------------


def _norm_formula(x: Expr, axes: Axes, keepdim: bool, p: float) -> Expr:
    """Build the p-norm over axes; its derivative is 0 where it is 0, and at 0 for p < 2."""
    if p == 2:
        return sd.norm(x, axis=axes, keepdims=keepdim)
    if p == 0:
        return sd.sum(sd.where(sd.not_equal(x, 0), 1.0, 0.0 * x), axes, keepdims=keepdim)
    if p in (1, math.inf, -math.inf):
        reduction = {1: sd.sum, math.inf: sd.max, -math.inf: sd.min}[p]
        return reduction(abs(x), axes, keepdims=keepdim)
    # What an element 0 adds has no slope: nothing, or (p < 0) so much that the norm is 0.
    powers = sd.where(sd.equal(x, 0), 0 * x if p > 0 else math.inf + 0 * x, abs(x) ** p)
    whole = sd.sum(powers, axes, keepdims=keepdim)
    if p < 0:
        return whole ** (1 / p)
    empty = sd.equal(whole, 0)
    return sd.where(empty, 0 * whole, sd.where(empty, 1 + 0 * whole, whole) ** (1 / p))


NORM = Op(
    "norm",
    _norm_formula,
    saves=RESULT,
    promotion=None,
    label="LinalgVectorNormBackward0",
)
DIST = Op(
    "dist",
    lambda a, b, p: _norm_formula(a - b, tuple(range((a - b).ndim)), False, p),
    saves=RESULT,
    promotion=promoted_real,
)


def vector_norm(
    input: Tensor, p: float, dim: Dims | None, keepdim: bool, dtype: dtypes.dtype | None
) -> Tensor:
    """Return the p-norm over the axes ``dim``, all axes for None.

    Raises RuntimeError for integers, and for an extreme over no elements.
    """
    if input._array.dtype.kind != "f":
        raise RuntimeError(
            "linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
            f"{word(input._array.dtype)}"
        )
    if dtype is not None:
        if dtype.itemsize < input._array.dtype.itemsize:
            raise RuntimeError(
                f"linalg.vector_norm: the dtype of the input ({word(input._array.dtype)}) should "
                f"be convertible without narrowing to the specified dtype ({word(dtype.numpy)})"
            )
        input = in_dtype(input, dtype)
    a = input._array
    axes = axes_or_all(dim, a.ndim)
    if not a.size and (math.isinf(p) or p < 0) and 0 in [a.shape[k] for k in axes]:
        raise RuntimeError(
            f"linalg.vector_norm cannot compute the {p} norm on an empty tensor because the "
            "operation does not have an identity"
        )
    return apply(NORM, (input,), (axes, keepdim, float(p)))


@method()
def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """Return the p-norm of ``input - other``.

    >>> import numeric as torch
    >>> torch.dist(torch.tensor([3.0, 1.0]), torch.tensor([0.0, 5.0])).item()
    5.0
    """
    return apply(DIST, (input, other), (float(p),))


# Sums of exponentials ----------------------------------------------------------------------------


_top: Callable[..., np.ndarray] = np.maximum.reduce


def _logsumexp(a: np.ndarray, axes: Axes, keepdim: bool) -> np.ndarray:
    lines = np.moveaxis(a, axes, range(-len(axes), 0))
    count = math.prod([a.shape[k] for k in axes])
    result = np.asarray(of_lines(lines.reshape(*lines.shape[: a.ndim - len(axes)], count)))
    return np.expand_dims(result, axes) if keepdim else result


def _softmax(a: np.ndarray, axes: Axes) -> np.ndarray:
    powers: np.ndarray = np.exp(a - _top(a, axes, keepdims=True, initial=-np.inf))
    powers /= add(powers, axes, keepdims=True)
    return powers


def _log_softmax(a: np.ndarray, axes: Axes) -> np.ndarray:
    rest = a - _top(a, axes, keepdims=True, initial=-np.inf)
    logarithm: np.ndarray = rest - np.log(add(np.exp(rest), axes, keepdims=True))
    return logarithm


def _lines(x: Expr, axes: Axes) -> tuple[Expr, tuple[int, ...]]:
    """Return ``x`` with the axes at the end, and the inverse permutation."""
    order = (*(k for k in range(x.ndim) if k not in axes), *axes)
    return sd.permute_dims(x, order), tuple(order.index(k) for k in range(x.ndim))


def _exponentials(function: Callable[..., Expr]) -> Callable[..., Expr]:
    """Build a formula along one axis, with that axis at the end during the evaluation."""

    def build(x: Expr, axes: Axes) -> Expr:
        if not x.ndim:
            return sd.reshape(function(sd.reshape(x, (1,)), 0), ())
        lines, back = _lines(x, axes)
        return sd.permute_dims(function(lines, -1), back)

    return build


def _known(change: Callable[[Expr], Expr]) -> Callable[..., dict[Expr, Expr]]:
    """Return the identity of the exponentials of the shifted operand with the result."""

    def known(x: Expr, y: Expr, axes: Axes) -> dict[Expr, Expr]:
        if not x.ndim:
            lines, stand_in = sd.reshape(x, (1,)), sd.reshape(y, (1,))
        else:
            (lines, _), (stand_in, _) = _lines(x, axes), _lines(y, axes)
        return {sd.softmax(lines, -1): change(stand_in)}

    return known


LOGSUMEXP = Op(
    "logsumexp",
    of_axes(sd.logsumexp),
    _logsumexp,
    saves=RESULT,
    promotion=promoted_real,
    reuse=without_axes(sd.logsumexp),
)
SOFTMAX = Op(
    "softmax",
    _exponentials(sd.softmax),
    _softmax,
    saves=RESULT,
    promotion=None,
    reuse=_known(lambda y: y),
)
LOG_SOFTMAX = Op(
    "log_softmax",
    _exponentials(sd.log_softmax),
    _log_softmax,
    saves=RESULT,
    promotion=None,
    reuse=_known(sd.exp),
)


@method()
def logsumexp(
    input: Tensor, dim: Dims | None = None, keepdim: bool = False, **names: object
) -> Tensor:
    """Return ``log(sum(exp(x)))`` over the axes ``dim``, without overflow; -inf without elements.

    >>> import numeric as torch
    >>> round(torch.logsumexp(torch.tensor([1000.0, 1000.0]), dim=0).item(), 4)
    1000.6932
    """
    dim, keepdim = renamed("logsumexp", names, dim, keepdim)
    axes = axes_or_all(required("logsumexp", dim), input._array.ndim)
    return apply(LOGSUMEXP, (input,), (axes, keepdim))


def _normalised(
    op: Op,
    input: Tensor,
    dim: SupportsIndex | None,
    dtype: dtypes.dtype | None,
    names: dict[str, object],
) -> Tensor:
    dim, _ = renamed(op.name, names, dim)
    axis = axis_of(required(op.name, dim), input._array.ndim)
    if dtype is not None:
        input = in_dtype(input, dtype)
    if input._array.dtype.kind != "f":
        kind = word(input._array.dtype)
        raise NotImplementedError(f"\"{op.name}_kernel_impl\" not implemented for '{kind}'")
    return apply(op, (input,), ((axis,) if input._array.ndim else (),))


@method()
def softmax(
    input: Tensor,
    dim: SupportsIndex | None = None,
    dtype: dtypes.dtype | None = None,
    **names: object,
) -> Tensor:
    """Return ``exp(x) / sum(exp(x))`` along the axis ``dim``, without overflow.

    Raises IndexError for an axis that does not exist, NotImplementedError for integers unless
    ``dtype`` is real.

    >>> import numeric as torch
    >>> torch.softmax(torch.tensor([0.0, 0.0]), dim=0).tolist()
    [0.5, 0.5]
    """
    return _normalised(SOFTMAX, input, dim, dtype, names)


@method()
def log_softmax(
    input: Tensor,
    dim: SupportsIndex | None = None,
    dtype: dtypes.dtype | None = None,
    **names: object,
) -> Tensor:
    """Return ``x - logsumexp(x)`` along the axis ``dim``, the logarithm of ``softmax``.

    >>> import numeric as torch
    >>> torch.log_softmax(torch.tensor([0.0, -1000.0]), dim=0).tolist()
    [0.0, -1000.0]
    """
    return _normalised(LOG_SOFTMAX, input, dim, dtype, names)
