"""Functions of matrices.

Sources: Higham, Functions of Matrices (2008); Van Loan, IEEE Trans. Automat. Control 23 (1978) 395.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from symdiff.graph import ops
from symdiff.graph.algebra import opaque, scale, total
from symdiff.graph.contraction import broadcast_to
from symdiff.graph.leaves import full, is_zero, split_coefficient
from symdiff.graph.ops import Opaque, opaque_op
from symdiff.graph.signatures import Signature
from symdiff.opaque_ops.matrices import Sylvester, matrix_product, matrix_transpose

if TYPE_CHECKING:
    from collections.abc import Callable

    from symdiff.graph.expr import Expr

__all__ = ["Expm", "Logm", "Sqrtm"]


class MatrixFunction(Opaque):
    """An analytic function f of a matrix, or a term of its derivative along the other operands.

    With directions E1 .. Ek it is the integral of ``f(z) R E1 R E2 .. Ek R / (2πi)`` around the
    eigenvalues of A, ``R = (z - A)^-1``.  It is linear in each direction.  It is the corner of f of
    the block matrix with A on its diagonal and E1 .. Ek above it (Higham, (1.12) and theorem 3.6).
    A is batch + (n, n); the directions have one shape, any + batch + (n, n).
    """

    __slots__ = ()
    signature = Signature("(n,n),(n,n)...->(n,n)", shared=(0,))
    linear_in = (1,)
    keeps_symmetry = True

    def differential(self, node: Expr, k: int, t: Expr) -> Expr:
        """Insert the direction at each position among the existing ones: ``dR = R dA R``."""
        a, *directions = node.args
        t = broadcast_to(t, node.shape)
        places = range(len(directions) + 1)
        return total([opaque(self, a, *directions[:i], t, *directions[i:]) for i in places])

    def transposed(self, node: Expr, k: int, g: Expr) -> Expr:
        """Transpose ``E_j -> R E1 R .. Ek R``, where R' is the resolvent of A'.

        ``G -> R' E_(j-1)' .. E1' R' G R' Ek' .. E_(j+1)' R'``.
        """
        a, *directions = node.args
        wide = [matrix_transpose(broadcast_to(e, g.shape)) for e in directions]
        around = [*wide[: k - 1][::-1], g, *wide[k:][::-1]]
        return opaque(self, matrix_transpose(a), *around)

    def identity(self, *operands: Expr) -> Expr | None:
        """Without directions, ``f(A')`` is the transpose of ``f(A)``; a zero direction gives 0."""
        a, *directions = operands
        if not directions:
            return _transpose_of_value(self, a)
        return full(directions[0].shape, 0) if any(map(is_zero, directions)) else None

    def cost(self, length: Callable[[str], int], operands: int) -> int:
        return self.products * length("n") ** 3 * math.comb(operands + 2, 3)

    products: ClassVar[int]
    """The approximate number of matrix products for its value, or a block of its derivative."""


class Expm(MatrixFunction):
    """The exponential of a matrix, or a term of its derivative along the other operands.

    With directions E1 .. Ek it is the integral of ``e^(s0 A) E1 e^(s1 A) E2 .. Ek e^(sk A)`` over
    ``s0 + .. + sk = 1``, all s >= 0 (Van Loan, 1).
    """

    __slots__ = ()
    name = "expm"
    products = 8

    def identity(self, *operands: Expr) -> Expr | None:
        """Write ``E1 .. Ek e^A / k!`` if all directions are multiples of A or of the identity.

        Such directions commute with A, and so with its exponential: the integral over s is that of
        1.
        """
        a, *directions = operands
        inherited = super().identity(*operands)
        if inherited is not None or not directions:
            return inherited
        core = _varying_factor(a)
        for e in directions:
            factor = _varying_factor(e)
            if factor is not core and factor is not _IDENTITY:
                return None
        result = opaque(self, a)
        for e in reversed(directions):
            result = matrix_product(e, result)
        return scale(Fraction(1, math.factorial(len(directions))), result)


class Logm(MatrixFunction):
    """The principal logarithm of a matrix, or a term of its derivative along the other operands.

    It exists if no eigenvalue is 0 or negative (Higham, 11.1).
    """

    __slots__ = ()
    name = "logm"
    products = 40


class Sqrtm(Opaque):
    """The principal square root of a matrix, whose eigenvalues have positive real parts, or are 0.

    It exists if no eigenvalue is negative, and 0 is at most a simple one (Higham, theorem 1.29).
    """

    __slots__ = ()
    name = "sqrtm"
    signature = Signature("(n,n)->(n,n)")
    keeps_symmetry = True

    def differential(self, node: Expr, k: int, t: Expr) -> Expr:
        """``X dX + dX X = dA``, the differential of ``X² = A`` (Higham, 6.1)."""
        return opaque(opaque_op(Sylvester), node, node, t)

    def identity(self, *operands: Expr) -> Expr | None:
        """The square root of A' is the transpose of the square root of A."""
        return _transpose_of_value(self, operands[0])

    def cost(self, length: Callable[[str], int], operands: int) -> int:
        return 14 * length("n") ** 3


def _transpose_of_value(op: Opaque, a: Expr) -> Expr | None:
    """``f(A')`` as the transpose of ``f(A)``; None if ``a`` is not a transpose."""
    back = matrix_transpose(a)
    transposed = len(a.args) == 1 and a.args[0] is back
    return matrix_transpose(opaque(op, back)) if transposed else None


_IDENTITY = object()


def _varying_factor(x: Expr) -> object:
    """The single factor of x that varies within a matrix; the other factors multiply it."""
    candidates: list[object] = []
    stack: list[tuple[Expr, int | Fraction]] = [(x, 1)]
    while stack:
        y, p = stack.pop()
        base, op = split_coefficient(y)[1], y.op
        if base is None:
            candidates.append(y)
        elif base is not y:
            stack.append((base, p))
        elif isinstance(op, ops.Product):
            stack.extend((z, p * q) for z, q in zip(y.args, op.exponents, strict=True))
        elif isinstance(op, ops.Contract) and not op.sums and _creates_last_axes(op):
            if op.out[-1] == op.out[-2]:
                candidates.append(_IDENTITY)
        else:
            candidates.append(y if p == 1 else x)
    return candidates[0] if len(candidates) == 1 else x


def _creates_last_axes(op: ops.Contract) -> bool:
    """Whether no operand has the last two labels: an identity, or a broadcast."""
    return len(op.letters) < 2 and all(k not in word for word in op.letters for k in op.out[-2:])
