"""Running results along an axis, and differences of neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from numeric.eager.dtypes import word
from numeric.eager.operations import RESULT, Op
from numeric.eager.recording import apply
from numeric.eager.tensor import Tensor, method, values_of, wrap
from numeric.ops.choices import Choice, result_type
from numeric.ops.dim_arguments import axis_of
from numeric.ops.rearranging import cat
from numeric.ops.reduction_arguments import in_dtype, renamed, required
from symdiff import functions as sd

if TYPE_CHECKING:
    from collections.abc import Callable

    from numeric.eager import dtypes
    from symdiff.graph.expr import Expr

__all__ = ["cummax", "cummin", "cumprod", "cumsum", "diff", "logcumsumexp"]


def _running(
    name: str, function: Callable[..., Expr], kernel: Callable[..., np.ndarray], **options: Any
) -> Op:
    """Return the operation of running results; a tensor without axes is its own result."""
    return Op(
        name,
        lambda x, axis: function(x, axis) if x.ndim else x,
        lambda a, axis: kernel(a, axis, a.dtype) if a.ndim else a.copy(),
        promotion=None,
        **options,
    )


CUMSUM = _running("cumsum", sd.cumsum, np.add.accumulate)
CUMPROD = _running("cumprod", sd.cumprod, np.multiply.accumulate, saves=RESULT)
LOGCUMSUMEXP = _running("logcumsumexp", sd.logcumsumexp, np.logaddexp.accumulate, saves=RESULT)
CUMMAX = Choice(result_type("cummax"), "CummaxBackward0", (0,))
CUMMIN = Choice(result_type("cummin"), "CumminBackward0", (0,))


def _scan(op: Op, input: Tensor, dim: SupportsIndex | None, names: dict[str, object]) -> Tensor:
    dim, _ = renamed(op.name, names, dim)
    axis = axis_of(required(op.name, dim), input._array.ndim)
    return apply(op, (input,), (axis,))


@method()
def cumsum(
    input: Tensor,
    dim: SupportsIndex | None = None,
    *,
    dtype: dtypes.dtype | None = None,
    **names: object,
) -> Tensor:
    """Return the running sums along the axis ``dim``; integers and bools give int64.

    Raises IndexError for an axis that does not exist.

    >>> import numeric as torch
    >>> torch.cumsum(torch.tensor([1.0, 2.0, 3.0]), dim=0).tolist()
    [1.0, 3.0, 6.0]
    """
    return _scan(CUMSUM, in_dtype(input, dtype), dim, names)


@method()
def cumprod(
    input: Tensor,
    dim: SupportsIndex | None = None,
    *,
    dtype: dtypes.dtype | None = None,
    **names: object,
) -> Tensor:
    """Return the running products along the axis ``dim``; derivatives hold at zeros, too.

    >>> import numeric as torch
    >>> torch.cumprod(torch.tensor([1.0, 2.0, 3.0]), dim=0).tolist()
    [1.0, 2.0, 6.0]
    """
    return _scan(CUMPROD, in_dtype(input, dtype), dim, names)


@method()
def logcumsumexp(input: Tensor, dim: SupportsIndex | None = None, **names: object) -> Tensor:
    """Return ``log(cumsum(exp(x)))`` along the axis ``dim``, without overflow.

    Raises NotImplementedError for integers.

    >>> import numeric as torch
    >>> round(torch.logcumsumexp(torch.tensor([1000.0, 1000.0]), dim=0)[1].item(), 4)
    1000.6932
    """
    if input._array.dtype.kind != "f":
        kind = word(input._array.dtype)
        raise NotImplementedError(f"\"logcumsumexp_out_cpu\" not implemented for '{kind}'")
    return _scan(LOGCUMSUMEXP, input, dim, names)


def _latest(a: np.ndarray, axis: int, ufunc: np.ufunc) -> np.ndarray:
    """Return the places of the running extremes: of ties the last; a nan stays."""
    if not a.ndim:
        return np.zeros((), np.int64)
    shape = [1] * a.ndim
    shape[axis] = -1
    places = np.arange(a.shape[axis], dtype=np.int64).reshape(shape)
    reached = a == ufunc.accumulate(a, axis)
    if a.dtype.kind == "f":
        reached |= np.isnan(a)
    return np.maximum.accumulate(np.where(reached, places, 0), axis)


def _extreme(
    choice: Choice,
    ufunc: np.ufunc,
    input: Tensor,
    dim: SupportsIndex | None,
    names: dict[str, object],
) -> Any:
    dim, _ = renamed(choice.op.name, names, dim)
    axis = axis_of(required(choice.op.name, dim), input._array.ndim)
    return choice(input, _latest(values_of(input), axis, ufunc), axis)


@method()
def cummax(input: Tensor, dim: SupportsIndex | None = None, **names: object) -> Any:
    """Return the running maximum along ``dim``, and its places: (values, indices).

    Of ties the last place counts.

    >>> import numeric as torch
    >>> torch.cummax(torch.tensor([1.0, 3.0, 2.0]), dim=0).values.tolist()
    [1.0, 3.0, 3.0]
    """
    return _extreme(CUMMAX, np.maximum, input, dim, names)


@method()
def cummin(input: Tensor, dim: SupportsIndex | None = None, **names: object) -> Any:
    """Return the running minimum along ``dim``, and its places: (values, indices).

    Of ties the last place counts.

    >>> import numeric as torch
    >>> torch.cummin(torch.tensor([2.0, 3.0, 1.0]), dim=0).indices.tolist()
    [0, 0, 2]
    """
    return _extreme(CUMMIN, np.minimum, input, dim, names)


# Differences -------------------------------------------------------------------------------------


def _differences(x: Expr, n: int, axis: int) -> Expr:
    before = (slice(None),) * axis
    for _ in range(n):
        x = x[(*before, slice(1, None))] - x[(*before, slice(None, -1))]
    return x


DIFF = Op(
    "diff",
    _differences,
    promotion=None,
    label="SubBackward0",
)


@method()
def diff(
    input: Tensor,
    n: int = 1,
    dim: int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
    **names: object,
) -> Tensor:
    """Return the differences of neighbours along ``dim``, taken ``n`` times.

    ``prepend`` and ``append`` are first joined to the ends of ``input``.  Raises RuntimeError for a
    tensor without axes and a negative ``n``.

    >>> import numeric as torch
    >>> torch.diff(torch.tensor([1.0, 3.0, 2.0])).tolist()
    [2.0, -1.0]
    """
    dim, _ = renamed("diff", names, dim)
    ndim = input._array.ndim
    if not ndim:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    axis, alone = axis_of(dim, ndim), input
    parts = [x for x in (prepend, input, append) if x is not None]
    if len(parts) > 1:
        if any(x._array.ndim != ndim for x in parts):
            raise RuntimeError("diff expects prepend or append to be the same dimension as input")
        input = cat(parts, dim=axis)
    if not n:  # then nothing is put beside it
        input = alone
    if input._array.dtype.kind == "b":  # truth values differ or not
        return wrap(np.array(np.diff(input._array, n, axis)))
    return apply(DIFF, (input,), (min(n, input._array.shape[axis]), axis))
