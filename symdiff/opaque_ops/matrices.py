"""Linear systems, determinants and the exponential of matrices."""

from __future__ import annotations

from symdiff.ops import Opaque
from symdiff.signatures import Signature

__all__ = ["Cofactor", "CofactorTangent", "Det", "DetSign", "Expm", "Inv", "LogAbsDet", "Solve"]


class Solve(Opaque):
    """``X`` with ``A X = B``: A is batch + (n, n), B is any + batch + (n, k)."""

    __slots__ = ()
    name = "solve"
    signature = Signature("(n,n),(n,k)->(n,k)", shared=0)
    linear_in = (1,)


class Inv(Opaque):
    """The inverse of the last two axes."""

    __slots__ = ()
    name = "inv"
    signature = Signature("(n,n)->(n,n)")
    keeps_symmetry = True


class LogAbsDet(Opaque):
    """``log |det|`` of the last two axes."""

    __slots__ = ()
    name = "logabsdet"
    signature = Signature("(n,n)->()")


class Det(Opaque):
    """The determinant of the last two axes."""

    __slots__ = ()
    name = "det"
    signature = Signature("(n,n)->()")
    log_abs = LogAbsDet


class DetSign(Opaque):
    """The sign of the determinant of the last two axes; piecewise constant."""

    __slots__ = ()
    name = "detsign"
    signature = Signature("(n,n)->()")
    constant = True


class Cofactor(Opaque):
    """The cofactor matrix of the last two axes, d det / d A; exists for singular matrices too."""

    __slots__ = ()
    name = "cofactor"
    signature = Signature("(n,n)->(n,n)")
    keeps_symmetry = True


class CofactorTangent(Opaque):
    """The derivative of the cofactor matrix of ``args[0]`` along ``args[1]``; needs no inverse.

    It is linear in the direction E (any + batch + (n, n)), and self-adjoint: ``<F, D cof(A)[E]>``
    is the second derivative of det.
    """

    __slots__ = ()
    name = "cofactor_tangent"
    signature = Signature("(n,n),(n,n)->(n,n)", shared=0)
    linear_in = (1,)


class Expm(Opaque):
    """The exponential of a matrix, or a part of its derivative along the other operands.

    With directions E1 .. Ek it is the integral of ``e^(s0 A) E1 e^(s1 A) E2 .. Ek e^(sk A)`` over
    ``s0 + .. + sk = 1``, all s >= 0: linear in each.  A is batch + (n, n), the directions have one
    shape, any + batch + (n, n).
    """

    __slots__ = ()
    name = "expm"
    signature = Signature("(n,n),(n,n)...->(n,n)", shared=0)
    linear_in = (1,)
    keeps_symmetry = True
