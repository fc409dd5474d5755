"""Decompositions of matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.eager.dtypes import word
from numeric.eager.recording import apply, apply_several
from numeric.linalg.checks import at_least_2d, concrete, operands, real, square
from numeric.ops.choices import result_type
from numeric.ops.index_formulas import watched
from numeric.ops.matrix_factors import (
    CHOLESKY,
    EIGH,
    EIGVALSH,
    QR,
    QR_COMPLETE,
    QR_R,
    SVD,
    SVD_FULL,
    SVDVALS,
)
from numeric.ops.matrix_factors import svd as factorised

if TYPE_CHECKING:
    from numeric.eager.tensor import Tensor

__all__ = ["cholesky", "eigh", "eigvalsh", "qr", "svd", "svdvals"]

EighResult = result_type("linalg_eigh", "eigenvalues eigenvectors")
QRResult = result_type("linalg_qr", "Q R")
SVDResult = result_type("linalg_svd", "U S Vh")


@operands("A")
def cholesky(A: Tensor, *, upper: bool = False) -> Tensor:
    """Return the lower triangular L with ``L L' = A``, or the upper ``L'`` if ``upper``.

    Its diagonal is positive.  It reads one triangle of A, the upper one if ``upper``.  Raises
    LinAlgError for a matrix that is not positive definite.

    >>> import numeric as torch
    >>> torch.linalg.cholesky(torch.tensor([[4.0, 2.0], [2.0, 5.0]])).tolist()
    [[2.0, 0.0], [1.0, 2.0]]
    """
    square("linalg.cholesky", A)
    real("linalg.cholesky", A)
    return apply(CHOLESKY, (A,), (upper,))


def _triangle(A: Tensor, uplo: str) -> str:
    square("linalg.eigh", A)
    if not isinstance(uplo, str) or uplo.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {uplo}")
    kind = A._array.dtype
    if kind.kind != "f" or kind.itemsize < 4:
        raise NotImplementedError(f"\"linalg_eigh_cpu\" not implemented for '{word(kind)}'")
    return uplo.upper()


@operands("A")
def eigh(A: Tensor, UPLO: str = "L") -> Any:  # noqa: N803  # as PyTorch names it
    """Return eigenvalues, ascending, and eigenvectors, as columns, of symmetric matrices.

    It reads the lower triangle for ``UPLO="L"``, the upper one for ``"U"``.  If eigenvalues are
    equal, gradients through the eigenvectors are inf or nan.

    >>> import numeric as torch
    >>> torch.linalg.eigh(torch.tensor([[2.0, 0.0], [0.0, 1.0]])).eigenvalues.tolist()
    [1.0, 2.0]
    """
    return EighResult(*apply_several(EIGH, (A,), (_triangle(A, UPLO),)))


@operands("A")
def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:  # noqa: N803
    """Return the eigenvalues of ``eigh``; gradients stay finite where eigenvalues are equal.

    >>> import numeric as torch
    >>> x = torch.eye(2, requires_grad=True)
    >>> torch.linalg.eigvalsh(x).sum().backward()
    >>> x.grad.tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    which = (_triangle(A, UPLO),)
    return apply_several(EIGH, (A,), which)[0] if A._rg else apply(EIGVALSH, (A,), which)


@operands("A")
def svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None) -> Any:
    """Return (U, S, Vh) with ``A = U diag(S) Vh`` and S descending.

    ``full_matrices`` makes U and Vh square; the vectors beyond the singular values are arbitrary,
    and count as constants in derivatives.  If singular values are equal, or 0 (except for one of a
    square matrix), gradients through the vectors are inf or nan.  ``driver`` has no effect.  Raises
    LinAlgError for elements that are not finite.

    >>> import numeric as torch
    >>> u, s, vh = torch.linalg.svd(torch.tensor([[0.0, 3.0], [4.0, 0.0], [0.0, 0.0]]))
    >>> u.shape, s.tolist(), vh.shape
    (torch.Size([3, 3]), [4.0, 3.0], torch.Size([2, 2]))
    """
    at_least_2d("linalg.svd", A)
    real("linalg.svd", A)
    m, n = A._array.shape[-2:]
    if not full_matrices or m == n:
        return SVDResult(*apply_several(SVD, (A,)))
    concrete("linalg.svd", A, "full_matrices=False")
    u, s, vh = factorised(A._array, True)
    k = s.shape[-1]
    return SVDResult(*apply_several(SVD_FULL, (A, u[..., k:] if m > n else vh[..., k:, :])))


@operands("A")
def svdvals(A: Tensor, *, driver: str | None = None) -> Tensor:
    """Return the singular values, descending; gradients stay finite where they are equal.

    >>> import numeric as torch
    >>> torch.linalg.svdvals(torch.tensor([[0.0, 3.0], [4.0, 0.0]])).tolist()
    [4.0, 3.0]
    """
    at_least_2d("linalg.svd", A)
    real("linalg.svd", A)
    return apply_several(SVD, (A,))[1] if A._rg else apply(SVDVALS, (A,))


@operands("A")
def qr(A: Tensor, mode: str = "reduced") -> Any:
    """Return (Q, R) with ``A = Q R``: Q has orthonormal columns, R is upper triangular.

    Modes are "reduced", "complete" (Q is square) and "r" (Q is empty).  The last has no gradient,
    nor has the second for matrices taller than wide.  If the leading columns of one matrix lack
    full rank, the gradient of the whole stack is nan.

    >>> import numeric as torch
    >>> q, r = torch.linalg.qr(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    >>> torch.allclose(q @ r, torch.tensor([[1.0, 2.0], [3.0, 4.0]]), atol=1e-5)
    True
    """
    at_least_2d("linalg.qr", A)
    real("linalg.qr", A)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', "
            "or 'complete'"
        )
    m, n = A._array.shape[-2:]
    if mode == "r":
        return QRResult(*apply_several(QR_R, (A,)))
    if mode == "complete" and m > n:
        concrete("linalg.qr", A, "mode='reduced'")
        rest = np.linalg.qr(A._array, "complete").Q[..., n:]
        return QRResult(*apply_several(QR_COMPLETE, (A, rest)))
    q, r = apply_several(QR, (A,))
    watched(r, (r,))  # PyTorch saves R
    return QRResult(q, r)
