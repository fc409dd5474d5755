"""Inverses, determinants, and solutions of linear equations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.eager.dtypes import word
from numeric.eager.recording import apply, apply_several
from numeric.eager.tensor import wrap
from numeric.linalg.checks import (
    alike,
    at_least_2d,
    concrete,
    equation_fits,
    fit_batches,
    operands,
    ranks,
    real,
    square,
    tolerances,
)
from numeric.ops.choices import result_type
from numeric.ops.index_formulas import watched
from numeric.ops.matrix_factors import DET, INV, LSTSQ, PINV, SLOGDET, SOLVE, SOLVE_TRIANGULAR
from numeric.ops.matrix_factors import svdvals as singular_values

if TYPE_CHECKING:
    from numeric.eager.tensor import Tensor

__all__ = ["det", "inv", "lstsq", "pinv", "slogdet", "solve", "solve_triangular"]

LstsqResult = result_type("linalg_lstsq", "solution residuals rank singular_values")
SlogdetResult = result_type("linalg_slogdet", "sign logabsdet")


@operands("A")
def inv(A: Tensor) -> Tensor:
    """Return the inverses of square matrices.  Raises LinAlgError for a singular one.

    >>> import numeric as torch
    >>> torch.linalg.inv(torch.tensor([[2.0, 0.0], [0.0, 4.0]])).tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    square("linalg.inv", A)
    real("linalg.inv", A)
    return apply(INV, (A,))


@operands("A")
def det(A: Tensor) -> Tensor:
    """Return the determinants of square matrices; singular ones have correct gradients, too.

    >>> import numeric as torch
    >>> x = torch.tensor([[1.0, 2.0], [2.0, 4.0]], requires_grad=True)
    >>> torch.linalg.det(x).backward()
    >>> x.grad.tolist()
    [[4.0, -2.0], [-2.0, 1.0]]
    """
    square("linalg.det", A)
    real("linalg.det", A)
    out: Tensor = apply(DET, (A,))
    return watched(out, (out,))  # PyTorch saves the result: a write to it makes backward fail


@operands("A")
def slogdet(A: Tensor) -> Any:
    """Return the signs of determinants and the logarithms of their sizes: (sign, logabsdet).

    The gradient of a singular matrix is infinite, or nan.

    >>> import numeric as torch
    >>> torch.linalg.slogdet(torch.tensor([[0.0, 1.0], [1.0, 0.0]])).sign.item()
    -1.0
    """
    square("linalg.slogdet", A)
    real("linalg.slogdet", A)
    sign, logarithm = apply_several(SLOGDET, (A,))
    watched(sign, (sign,))  # PyTorch saves the sign
    return SlogdetResult(sign, logarithm)


@operands("A", "B")
def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """Return the ``X`` with ``A X = B``, or with ``X A = B`` for ``left=False``.

    B has matrices, or one vector, or a vector for each matrix of A.  Raises LinAlgError for a
    singular matrix, RuntimeError for shapes or dtypes that do not fit.

    >>> import numeric as torch
    >>> torch.linalg.solve(torch.tensor([[2.0, 0.0], [0.0, 4.0]]), torch.ones(2)).tolist()
    [0.5, 0.25]
    """
    name = "linalg.solve"
    square(name, A)
    real(name, A)
    alike(name, A, B)
    a, b = A._array, B._array
    vector = b.ndim == 1 or (b.ndim > 1 and a.ndim - 1 == b.ndim and b.shape == a.shape[:-1])
    if vector and not left:
        raise RuntimeError(
            f"{name}: Vector broadcasting of the left hand side is not supported for left=False. "
            "In this case linalg.solve is equivalent to B / A.squeeze(-1)"
        )
    if not vector:
        at_least_2d(name, B, "B")
    equation_fits(name, A, (*b.shape, 1) if vector else b.shape, left)
    return apply(SOLVE, (A, B), (left, vector))


@operands("A", "B")
def solve_triangular(
    A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Tensor:
    """Return the ``X`` with ``A X = B``, or with ``X A = B`` for ``left=False``, for triangular A.

    It does not read the other triangle, nor the diagonal if ``unitriangular``: their gradients are
    0.  Zeros on the diagonal give inf or nan, and nan in gradients of the whole stack.  Raises
    RuntimeError for shapes or dtypes that do not fit.

    >>> import numeric as torch
    >>> a = torch.tensor([[2.0, 1.0], [9.0, 1.0]])
    >>> torch.linalg.solve_triangular(a, torch.tensor([[4.0], [2.0]]), upper=True).tolist()
    [[1.0], [2.0]]
    """
    name = "linalg.solve_triangular"
    square(name, A)
    real(name, A)
    at_least_2d(name, B, "B")
    alike(name, A, B)
    equation_fits(name, A, B._array.shape, left)
    return apply(SOLVE_TRIANGULAR, (A, B), (upper, left, unitriangular))


@operands("A")
def pinv(
    A: Tensor,
    rcond: Tensor | float | None = None,
    *,
    atol: Tensor | float | None = None,
    rtol: Tensor | float | None = None,
    hermitian: bool = False,
) -> Tensor:
    """Return the pseudoinverse of Moore and Penrose.

    Singular values count as 0 up to ``atol`` or ``rtol`` times the largest, whichever is larger.
    By default rtol is max(m, n) eps, or 0 if there is an atol.  The gradient is the derivative
    along matrices of equal rank.

    >>> import numeric as torch
    >>> torch.linalg.pinv(torch.tensor([[2.0], [0.0]])).tolist()
    [[0.5, 0.0]]
    """
    if A._array.ndim < 2 or A._array.dtype.kind != "f":
        raise RuntimeError(
            f"linalg.pinv({word(A._array.dtype)}{{{list(A._array.shape)}}}): expected a tensor "
            "with 2 or more dimensions of float, double, cfloat or cdouble types"
        )
    real("linalg.pinv", A)
    if hermitian:
        square("linalg.pinv", A)
    limits = tolerances(A, atol, rcond if rtol is None else rtol)
    return apply(PINV, (A,), (*limits, hermitian))


@operands("A", "B")
def lstsq(A: Tensor, B: Tensor, rcond: float | None = None, *, driver: str | None = None) -> Any:
    """Return the X that minimises ``norm(A X - B)``; of several the one of least norm.

    The result is (solution, residuals, rank, singular_values).  As in PyTorch, the last three are
    empty where ``driver`` does not compute them.  Squared residuals need matrices of full rank that
    are taller than wide, and a driver other than gelsy, the default.  Ranks need a driver other
    than gels, singular values gelsd or gelss.  The gradient is that of ``pinv(A) @ B``.

    Raises RuntimeError for shapes or dtypes that do not fit, LinAlgError with gels for a matrix
    without full rank.

    >>> import numeric as torch
    >>> a, b = torch.tensor([[1.0], [1.0]]), torch.tensor([[1.0], [3.0]])
    >>> round(torch.linalg.lstsq(a, b).solution.item(), 4)
    2.0
    """
    name = "torch.linalg.lstsq"
    a, b = A._array, B._array
    if a.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if b.ndim < 1:
        raise RuntimeError(f"{name}: other must have at least 1 dimension.")
    if a.dtype != b.dtype:
        raise RuntimeError(
            f"{name}: Expected input and other to have the same dtype, but got input's dtype "
            f"{word(a.dtype)} and other's dtype {word(b.dtype)}"
        )
    if a.dtype.kind != "f" or a.dtype.itemsize < 4:
        raise RuntimeError("This function doesn't handle types other than float and double")
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(
            f"{name}: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)"
        )
    concrete(name, A, "linalg.pinv(A) @ B")
    driver = driver or "gelsy"
    vector = a.ndim - 1 == b.ndim and (b.ndim == 1 or b.shape[:-1] == a.shape[:-2])
    if b.ndim < 2 and not vector:
        raise RuntimeError(f"{name}: other must have at least 2 dimensions.")
    if b.shape[-1 if vector else -2] != a.shape[-2]:
        axis = -1 if vector else -2
        raise RuntimeError(f"{name}: input.size(-2) should match other.size({axis})")
    m, n = a.shape[-2:]
    if not vector:
        fit_batches(a.shape[:-2], b.shape[:-2])
    limit = float(np.finfo(a.dtype).eps) * max(m, n) if rcond is None else float(rcond)
    values = singular_values(a)
    rank = ranks(values, 0.0, limit)
    full = driver == "gels"
    rest = m > n and driver != "gelsy" and (full or bool((rank == n).all()))
    solution, residuals = apply_several(LSTSQ, (A, B), (limit, vector, rest, full))
    none = wrap(np.zeros(0, a.dtype))
    return LstsqResult(
        solution,
        residuals,
        wrap(np.zeros(0, np.int64) if full else np.asarray(rank, np.int64)),
        wrap(values) if driver in ("gelsd", "gelss") else none,
    )
