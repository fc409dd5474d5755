"""Decompositions of matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symdiff.errors import Unsupported
from symdiff.ops import Opaque
from symdiff.signatures import Signature

if TYPE_CHECKING:
    from symdiff.node import Dim, Shape

__all__ = [
    "Cholesky",
    "Eigvalsh",
    "Eigvecs",
    "Gaps",
    "LeftVectors",
    "Pinv",
    "Qr",
    "RightVectors",
    "SingularValues",
    "shorter",
]


class Cholesky(Opaque):
    """The lower triangular L with ``L L' = (A + A')/2``, its diagonal positive."""

    __slots__ = ()
    name = "cholesky"
    signature = Signature("(n,n)->(n,n)")


class Eigvalsh(Opaque):
    """The eigenvalues of ``(A + A')/2`` in ascending order."""

    __slots__ = ()
    name = "eigvalsh"
    signature = Signature("(n,n)->(n)")
    adds_up_to_trace = True


class Eigvecs(Opaque):
    """Orthonormal eigenvectors of ``(A + A')/2`` as columns, in the order of the eigenvalues."""

    __slots__ = ()
    name = "eigvecs"
    signature = Signature("(n,n)->(n,n)")


class Gaps(Opaque):
    """``value[..., i, j] = 1 / (x[..., j] + sign * x[..., i])``; 0 for i = j unless ``diagonal``.

    It exists only where no two elements cancel: its kernel refuses what rounding cannot tell from
    0.
    """

    __slots__ = ("diagonal", "sign")
    fields = ("sign", "diagonal")
    name = "gaps"
    signature = Signature("(n)->(n,n)")

    def __init__(self, sign: int, diagonal: bool) -> None:
        self.sign, self.diagonal = sign, diagonal


class SingularValues(Opaque):
    """The singular values of the last two axes in descending order."""

    __slots__ = ()
    name = "svdvals"
    signature = Signature("(m,n)->(p)")

    def own_length(self, *shapes: Shape) -> Dim:
        return shorter(*shapes[0][-2:])


class LeftVectors(Opaque):
    """The left singular vectors as columns, one for each singular value."""

    __slots__ = ()
    name = "left_singular_vectors"
    signature = Signature("(m,n)->(m,p)")

    def own_length(self, *shapes: Shape) -> Dim:
        return shorter(*shapes[0][-2:])


class RightVectors(Opaque):
    """The right singular vectors as columns, one for each singular value."""

    __slots__ = ()
    name = "right_singular_vectors"
    signature = Signature("(m,n)->(n,p)")

    def own_length(self, *shapes: Shape) -> Dim:
        return shorter(*shapes[0][-2:])


def shorter(m: Dim, n: Dim) -> Dim:
    """The lesser of two lengths; raises Unsupported where a symbolic one hides which it is."""
    if m == n:
        return m
    if isinstance(m, str) or isinstance(n, str):
        raise Unsupported(f"singular values: which of the lengths {m} and {n} is the lesser?")
    return min(m, n)


class Pinv(Opaque):
    """The pseudoinverse of the last two axes; ``full`` refuses matrices without full rank.

    None takes the rank of each matrix as constant in derivatives, whatever it is.  ``limits`` are
    (atol, rtol, hermitian): singular values up to the larger of atol and rtol times the largest
    count as 0, and of hermitian matrices the lower triangle is read.
    """

    __slots__ = ("full", "limits")
    fields = ("full",)
    name = "pinv"
    signature = Signature("(m,n)->(n,m)")

    def __init__(self, full: bool | None, limits: tuple[float, float, bool] | None) -> None:
        self.full, self.limits = full, limits


class Qr(Opaque):
    """The factor Q of ``A = Q R``: orthonormal columns, as many as A has, which are not too many.

    R is ``Q' A``.
    """

    __slots__ = ()
    name = "qr"
    signature = Signature("(m,n)->(m,n)")
