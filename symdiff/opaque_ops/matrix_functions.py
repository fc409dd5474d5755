"""Functions of matrices.

Source: Van Loan, IEEE Trans. Automat. Control 23 (1978) 395.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from symdiff import ops
from symdiff.algebra import opaque, scale, total
from symdiff.contraction import broadcast_to
from symdiff.leaves import full, is_zero, split_coefficient
from symdiff.opaque_ops.matrices import matrix_product, matrix_transpose
from symdiff.ops import Opaque
from symdiff.signatures import Signature

if TYPE_CHECKING:
    from collections.abc import Callable

    from symdiff.expr import Expr

__all__ = ["Expm"]


class Expm(Opaque):
    """The exponential of a matrix, or a part of its derivative along the other operands.

    With directions E1 .. Ek it is the integral of ``e^(s0 A) E1 e^(s1 A) E2 .. Ek e^(sk A)`` over
    ``s0 + .. + sk = 1``, all s >= 0: linear in each.  A is batch + (n, n), the directions have one
    shape, any + batch + (n, n).
    """

    __slots__ = ()
    name = "expm"
    signature = Signature("(n,n),(n,n)...->(n,n)", shared=(0,))
    linear_in = (1,)
    keeps_symmetry = True

    def differential(self, node: Expr, k: int, t: Expr) -> Expr:
        """A direction goes in at each place among those that are there.

        ``d e^A = integral of e^(s A) dA e^((1 - s) A)``, the corner of exp([[A, dA], [0, A]]) (Van
        Loan, 1).
        """
        a, *directions = node.args
        t = broadcast_to(t, node.shape)
        places = range(len(directions) + 1)
        return total([opaque(self, a, *directions[:i], t, *directions[i:]) for i in places])

    def transposed(self, node: Expr, k: int, g: Expr) -> Expr:
        """Over the places s0 .. sk, of ``E_j -> e^(s0 A) E1 .. Ek e^(sk A)``.

        ``G -> e^(s A') E_(j-1)' .. E1' e^(s A') G e^(s A') Ek' .. E_(j+1)' e^(s A')``.
        """
        a, *directions = node.args
        wide = [matrix_transpose(broadcast_to(e, g.shape)) for e in directions]
        around = [*wide[: k - 1][::-1], g, *wide[k:][::-1]]
        return opaque(self, matrix_transpose(a), *around)

    def identity(self, *operands: Expr) -> Expr | None:
        """``E1 .. Ek e^A / k!`` where all directions are multiples of A or of the identity.

        Those commute with A, and so with its exponential: the integral over the places is that of
        1.  Where one is 0, it is 0.  Without directions, ``e^(A')`` is the transpose of ``e^A``.
        """
        a, *directions = operands
        if not directions:
            back = matrix_transpose(a)
            if len(a.args) != 1 or a.args[0] is not back:
                return None
            return matrix_transpose(opaque(self, back))
        if any(map(is_zero, directions)):
            return full(directions[0].shape, 0)
        core = _matrix_of(a)
        for e in directions:
            factor = _matrix_of(e)
            if factor is not core and factor is not _IDENTITY:
                return None
        result = opaque(self, a)
        for e in reversed(directions):
            result = matrix_product(e, result)
        return scale(Fraction(1, math.factorial(len(directions))), result)

    def cost(self, length: Callable[[str], int], operands: int) -> int:
        return 8 * length("n") ** 3 * math.comb(operands + 2, 3)


_IDENTITY = object()


def _matrix_of(x: Expr) -> object:
    """The one factor of x that differs within a matrix, which the others multiply."""
    found: list[object] = []
    stack: list[tuple[Expr, int | Fraction]] = [(x, 1)]
    while stack:
        y, p = stack.pop()
        base, op = split_coefficient(y)[1], y.op
        if base is None:
            found.append(y)
        elif base is not y:
            stack.append((base, p))
        elif isinstance(op, ops.Product):
            stack.extend((z, p * q) for z, q in zip(y.args, op.exponents, strict=True))
        elif isinstance(op, ops.Contract) and not op.sums and _outside(op):
            if op.out[-1] == op.out[-2]:
                found.append(_IDENTITY)
        else:
            found.append(y if p == 1 else x)
    return found[0] if len(found) == 1 else x


def _outside(op: ops.Contract) -> bool:
    """Whether the last two letters are those of no operand: of an identity, or a broadcast."""
    return len(op.letters) < 2 and all(k not in word for word in op.letters for k in op.out[-2:])
