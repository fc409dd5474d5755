"""Norms of vectors and matrices, condition numbers and ranks."""

from __future__ import annotations

import math
from operator import index
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from numeric.eager.dtypes import word
from numeric.eager.tensor import values_of, wrap
from numeric.linalg.checks import at_least_2d, operands, ranks, real, square, tolerances
from numeric.linalg.equations import inv
from numeric.linalg.factors import svdvals
from numeric.ops import moments, reducing, views
from numeric.ops.arithmetic import div, mul
from numeric.ops.dim_arguments import axis_of
from numeric.ops.matrix_factors import LinAlgError, singular
from numeric.ops.matrix_factors import svdvals as singular_values
from numeric.ops.pointwise import where
from numeric.ops.reduction_arguments import in_dtype
from numeric.ops.views_of_parts import select

if TYPE_CHECKING:
    from numeric.eager import dtypes
    from numeric.eager.tensor import Tensor
    from numeric.types import Dims

__all__ = ["cond", "matrix_norm", "matrix_rank", "norm", "vector_norm"]


@operands("x")
def vector_norm(
    x: Tensor,
    ord: float = 2,
    dim: Dims | None = None,
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,
) -> Tensor:
    """Return ``sum(abs(x)**ord)**(1/ord)`` over the axes ``dim``, by default over all.

    The order 0 counts elements that are not 0; inf and -inf are the largest and the least size.

    >>> import numeric as torch
    >>> torch.linalg.vector_norm(torch.tensor([[3.0], [4.0]])).item()
    5.0
    """
    if isinstance(ord, str):
        raise TypeError("linalg_vector_norm(): argument 'ord' (position 2) must be Number, not str")
    return moments.vector_norm(x, ord, dim, keepdim, dtype)


def _two_axes(x: Tensor, dim: Dims) -> tuple[int, int]:
    dims = [index(k) for k in (dim if isinstance(dim, tuple | list) else (dim,))]
    if len(dims) != 2:
        raise RuntimeError(
            f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(map(str, dims))}"
        )
    first, second = (axis_of(k, x._array.ndim) for k in dims)
    if first == second:
        raise RuntimeError(
            f"linalg.matrix_norm: dims must be different. Got ({dims[0]}, {dims[1]})"
        )
    return first, second


@operands("A")
def matrix_norm(
    A: Tensor,
    ord: float | str = "fro",
    dim: Dims = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,
) -> Tensor:
    """Return the norms of matrices over the two axes ``dim``.

    "fro" is the norm of all elements.  "nuc" is the sum of the singular values, 2 and -2 are the
    largest and the least.  1 and -1 are the largest and the least sum of sizes in a column, inf and
    -inf in a row.  Ties divide the gradient equally.  Raises RuntimeError for another order.

    >>> import numeric as torch
    >>> a = torch.tensor([[1.0, -2.0], [3.0, 4.0]])
    >>> torch.linalg.matrix_norm(a, 1).item(), torch.linalg.matrix_norm(a, float("inf")).item()
    (6.0, 7.0)
    """
    name = "linalg.matrix_norm"
    at_least_2d(name, A)
    real(name, A, half=True)
    number = isinstance(ord, int | float) and not isinstance(ord, bool)
    if not (ord in ("fro", "nuc") or (number and abs(cast("float", ord)) in (1, 2, math.inf))):
        raise RuntimeError(f"{name}: Order {ord} not supported.")
    axes = _two_axes(A, dim)
    if dtype is not None:
        A = _widened(A, dtype)
    if ord == "fro" or not A._array.size:
        return moments.vector_norm(A, 2, axes, keepdim, None)
    extreme = reducing.amax if isinstance(ord, str) or ord > 0 else reducing.amin
    if ord in ("nuc", 2, -2):
        values = svdvals(views.movedim(A, axes, (-2, -1)))
        result = reducing.sum(values, dim=-1) if ord == "nuc" else extreme(values, -1)
        if keepdim:
            for k in sorted(axes):
                result = views.unsqueeze(result, k)
        return result
    summed, other = axes if abs(cast("float", ord)) == 1 else axes[::-1]
    sums = moments.vector_norm(A, 1, summed, keepdim, None)
    # The sum may have removed an axis before the other one.
    return extreme(sums, other - (not keepdim and other > summed), keepdim)


def _widened(x: Tensor, dtype: dtypes.dtype) -> Tensor:
    name = "linalg.matrix_norm"
    if not dtype.is_floating_point:
        raise RuntimeError(
            f"{name}: dtype should be floating point or complex, but got {word(dtype.numpy)}"
        )
    if dtype.itemsize < x._array.dtype.itemsize:
        raise RuntimeError(
            f"{name}: the dtype of the input ({word(x._array.dtype)}) should be convertible "
            f"without narrowing to the specified dtype ({word(dtype.numpy)})"
        )
    return in_dtype(x, dtype)


@operands("A")
def norm(
    A: Tensor,
    ord: float | str | None = None,
    dim: Dims | None = None,
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,
) -> Tensor:
    """Return a matrix norm over two axes, or a vector norm over one.

    Without ``ord`` it is the 2-norm of all elements.  Raises RuntimeError for an order together
    with another number of axes.

    >>> import numeric as torch
    >>> a = torch.tensor([[3.0, 0.0], [0.0, 4.0]])
    >>> torch.linalg.norm(a).item(), torch.linalg.norm(a, 2).item()
    (5.0, 4.0)
    """
    if ord is None:
        return moments.vector_norm(A, 2, dim, keepdim, dtype)
    if dim is not None:
        dims = list(dim) if isinstance(dim, tuple | list) else [dim]
        if len(dims) not in (1, 2):
            raise RuntimeError(
                f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {dims}"
            )
    elif A._array.ndim not in (1, 2):
        raise RuntimeError(
            "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got "
            f"{A._array.ndim}D."
        )
    else:
        dims = list(range(A._array.ndim))
    if len(dims) == 2 or isinstance(ord, str):
        return matrix_norm(A, ord, dims, keepdim, dtype=dtype)
    return moments.vector_norm(A, ord, dims, keepdim, dtype)


@operands("A")
def cond(A: Tensor, p: float | str | None = None) -> Tensor:
    """Return the condition number ``norm(A, p) norm(inv(A), p)``; inf for a singular matrix.

    By default, and for 2 and -2, it is a ratio of singular values, also for matrices that are not
    square.

    >>> import numeric as torch
    >>> torch.linalg.cond(torch.tensor([[2.0, 0.0], [0.0, 1.0]])).item()
    2.0
    """
    at_least_2d("linalg.cond", A)
    if p in (None, 2, -2):
        values = svdvals(A)
        largest, least = select(values, -1, 0), select(values, -1, -1)
        return div(least, largest) if p == -2 else div(largest, least)
    if p not in ("fro", "nuc", 1, -1, math.inf, -math.inf):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    square(f"linalg.cond(ord={p})", A)
    try:
        inverse = inv(A)
    except LinAlgError:
        # One matrix is singular: put the identity in its place to handle the rest of the batch.
        bad = singular(A._array)
        one = wrap(np.eye(A._array.shape[-1], dtype=A._array.dtype))
        rest = where(wrap(bad[..., None, None]), one, A)
        return where(wrap(bad), math.inf, cond(rest, p))
    return mul(matrix_norm(A, cast("Any", p)), matrix_norm(inverse, cast("Any", p)))


@operands("A")
def matrix_rank(
    A: Tensor,
    tol: Tensor | float | None = None,
    *,
    atol: Tensor | float | None = None,
    rtol: Tensor | float | None = None,
    hermitian: bool = False,
) -> Tensor:
    """Return the number of singular values above the tolerances of ``pinv``; ``tol`` is ``atol``.

    >>> import numeric as torch
    >>> torch.linalg.matrix_rank(torch.ones(3, 3))
    tensor(1)
    """
    at_least_2d("torch.linalg.matrix_rank", A, "input")
    real("linalg.matrix_rank", A)
    if tol is not None:
        atol, rtol = tol, 0.0
    absolute, relative = tolerances(A, atol, rtol)
    values = abs(np.linalg.eigvalsh(values_of(A))) if hermitian else singular_values(values_of(A))
    return wrap(ranks(values, absolute, relative))
