"""Linear equations, determinants and the exponential of matrices.

Sources: Giles, An extended collection of matrix derivative results for forward and reverse mode
algorithmic differentiation (2008); Horn and Johnson, Topics in Matrix Analysis (1991); Van Loan,
IEEE Trans. Automat. Control 23 (1978) 395.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from symdiff import ops
from symdiff.algebra import opaque, scale, total
from symdiff.contraction import broadcast_to, contract
from symdiff.leaves import full, is_zero, split_coefficient
from symdiff.ops import Opaque, opaque_op
from symdiff.parts import weighted
from symdiff.signatures import Signature

if TYPE_CHECKING:
    from collections.abc import Callable

    from symdiff.components import Arithmetic
    from symdiff.expr import Expr

__all__ = [
    "Cofactor",
    "CofactorTangent",
    "Det",
    "DetSign",
    "Expm",
    "Inv",
    "LogAbsDet",
    "Solve",
    "Sylvester",
]


def matrix_transpose(a: Expr) -> Expr:
    """The last two axes exchanged."""
    n = a.ndim
    return contract([(a, tuple(range(n)))], (*range(n - 2), n - 1, n - 2))


def matrix_product(a: Expr, b: Expr) -> Expr:
    """``a[..., i, j] b[..., j, k]`` where one batch shape is a suffix of the other."""
    lead = max(a.ndim, b.ndim) - 2
    i, j, k = lead, lead + 1, lead + 2
    word_a = (*range(lead - a.ndim + 2, lead), i, j)
    word_b = (*range(lead - b.ndim + 2, lead), j, k)
    return contract([(a, word_a), (b, word_b)], (*range(lead), i, k))


class Solve(Opaque):
    """``X`` with ``A X = B``: A is batch + (n, n), B is any + batch + (n, k)."""

    __slots__ = ()
    name = "solve"
    signature = Signature("(n,n),(n,k)->(n,k)", shared=(0,))
    linear_in = (1,)

    def differential(self, node: Expr, k: int, t: Expr) -> Expr:
        """``dX = A^-1 (dB - dA X)`` (Giles, 2.3.1)."""
        return opaque(self, node.args[0], scale(-1, matrix_product(t, node)))

    def transposed(self, node: Expr, k: int, g: Expr) -> Expr:
        """``B' = A^-T G`` (Giles, 2.3.1)."""
        return opaque(self, matrix_transpose(node.args[0]), g)

    def cost(self, length: Callable[[str], int], operands: int) -> int:
        n, k = length("n"), length("k")
        return n**3 // 3 + n**2 * k

    def components(self, of: Arithmetic, shape: tuple[int, ...], *cores: Any) -> Any:
        return of.eliminated(*cores)[1]


class Sylvester(Opaque):
    """``X`` with ``A X + X B = C``: A is batch + (m, m), B batch + (n, n), C any + batch + (m, n).

    It is one linear system in the elements of X, read row by row, whose matrix is A x 1 + 1 x B',
    products of Kronecker's (Horn and Johnson, 4.4).
    """

    __slots__ = ()
    name = "solve_sylvester"
    signature = Signature("(m,m),(n,n),(m,n)->(m,n)", shared=(0, 1))
    linear_in = (2,)

    def differential(self, node: Expr, k: int, t: Expr) -> Expr:
        """``A dX + dX B = dC - dA X - X dB``, the differential of the equation."""
        a, b, _ = node.args
        moved = matrix_product(node, t) if k else matrix_product(t, node)
        return opaque(self, a, b, scale(-1, moved))

    def transposed(self, node: Expr, k: int, g: Expr) -> Expr:
        """``A' Y + Y B' = G``: ``<Y, A X + X B>`` is ``<A' Y + Y B', X>``."""
        a, b, _ = node.args
        return opaque(self, matrix_transpose(a), matrix_transpose(b), g)

    def cost(self, length: Callable[[str], int], operands: int) -> int:
        size = length("m") * length("n")
        return size**3 // 3 + size**2

    def components(self, of: Arithmetic, shape: tuple[int, ...], *cores: Any) -> Any:
        (a, b, c), (_, n) = cores, shape
        places = list(itertools.product(*map(range, shape)))
        rows = []
        for i, j in places:
            terms = [[a[i][p]] * (j == q) + [b[q][j]] * (i == p) for p, q in places]
            rows.append([of.sum(both) if both else of.number(0) for both in terms])
        solved = of.eliminated(rows, [[c[i][j]] for i, j in places])[1]
        flat = [x for (x,) in solved]
        return [flat[n * i : n * (i + 1)] for i in range(shape[0])]


class Inv(Opaque):
    """The inverse of the last two axes."""

    __slots__ = ()
    name = "inv"
    signature = Signature("(n,n)->(n,n)")
    keeps_symmetry = True

    def differential(self, node: Expr, k: int, t: Expr) -> Expr:
        """``dY = -Y dA Y`` (Giles, 2.2.3)."""
        return scale(-1, matrix_product(matrix_product(node, t), node))

    def cost(self, length: Callable[[str], int], operands: int) -> int:
        return length("n") ** 3

    def components(self, of: Arithmetic, shape: tuple[int, ...], *cores: Any) -> Any:
        n = shape[0]
        unit = [[of.number(int(i == j)) for j in range(n)] for i in range(n)]
        return of.eliminated(cores[0], unit)[1]


class LogAbsDet(Opaque):
    """``log |det|`` of the last two axes."""

    __slots__ = ()
    name = "logabsdet"
    signature = Signature("(n,n)->()")

    def differential(self, node: Expr, k: int, t: Expr) -> Expr:
        """``dl = sum Y_ji dA_ij``, Y = A^-1 (Giles, 2.2.4)."""
        return weighted(matrix_transpose(opaque(opaque_op(Inv), node.args[0])), t, 2)

    def cost(self, length: Callable[[str], int], operands: int) -> int:
        return length("n") ** 3 // 3

    def components(self, of: Arithmetic, shape: tuple[int, ...], *cores: Any) -> Any:
        return of.named("log", of.named("abs", of.determinant(*cores)))


class Det(Opaque):
    """The determinant of the last two axes."""

    __slots__ = ()
    name = "det"
    signature = Signature("(n,n)->()")
    log_abs = LogAbsDet

    def differential(self, node: Expr, k: int, t: Expr) -> Expr:
        """``dd = sum C_ij dA_ij``, C the cofactors (Jacobi's formula): also for singular A."""
        return weighted(opaque(opaque_op(Cofactor), node.args[0]), t, 2)

    def cost(self, length: Callable[[str], int], operands: int) -> int:
        return length("n") ** 3 // 3

    def components(self, of: Arithmetic, shape: tuple[int, ...], *cores: Any) -> Any:
        return of.determinant(*cores)


class DetSign(Opaque):
    """The sign of the determinant of the last two axes; piecewise constant."""

    __slots__ = ()
    name = "detsign"
    signature = Signature("(n,n)->()")
    constant = True

    def cost(self, length: Callable[[str], int], operands: int) -> int:
        return length("n") ** 3 // 3

    def components(self, of: Arithmetic, shape: tuple[int, ...], *cores: Any) -> Any:
        return of.named("sign", of.determinant(*cores))


class Cofactor(Opaque):
    """The cofactor matrix of the last two axes, d det / d A; exists for singular matrices too."""

    __slots__ = ()
    name = "cofactor"
    signature = Signature("(n,n)->(n,n)")
    keeps_symmetry = True

    def differential(self, node: Expr, k: int, t: Expr) -> Expr:
        """``dC = D cof(A)[dA]``, an op of its own: it exists for singular matrices too."""
        return opaque(opaque_op(CofactorTangent), node.args[0], t)

    def cost(self, length: Callable[[str], int], operands: int) -> int:
        return length("n") ** 3

    def components(self, of: Arithmetic, shape: tuple[int, ...], *cores: Any) -> Any:
        return of.cofactor(*cores)


class CofactorTangent(Opaque):
    """The derivative of the cofactor matrix of ``args[0]`` along ``args[1]``; needs no inverse.

    It is linear in the direction E (any + batch + (n, n)), and self-adjoint: ``<F, D cof(A)[E]>``
    is the second derivative of det.
    """

    __slots__ = ()
    name = "cofactor_tangent"
    signature = Signature("(n,n),(n,n)->(n,n)", shared=(0,))
    linear_in = (1,)

    def differential(self, node: Expr, k: int, t: Expr) -> Expr:
        """``T = tr(C'E) Y' - C E' Y'`` with Y = A^-1, differentiated.

        Of matrices of up to three rows T is at most bilinear, and no inverse is needed.
        """
        a, e = node.args
        n = a.shape[-1]
        if isinstance(n, int) and n <= 2:
            return full(node.shape, 0)
        if n == 3:
            return opaque(self, e, broadcast_to(t, node.shape))
        y = matrix_transpose(opaque(opaque_op(Inv), a))
        back = matrix_transpose(t)
        c = opaque(opaque_op(Cofactor), a)
        first, lead = opaque(self, a, broadcast_to(t, node.shape)), node.ndim - 2
        word = tuple(range(node.ndim))
        own, batch = word[node.ndim - a.ndim :], word[:lead]

        def traced(x: Expr, wx: tuple[int, ...], z: Expr, wz: tuple[int, ...]) -> Expr:
            return contract([(x, wx), (z, wz)], batch)

        def times(trace: Expr, z: Expr) -> Expr:
            return contract([(trace, batch), (z, own)], word)

        # d(tr(C'E) Y') = tr(T[dA]'E) Y' - tr(C'E) Y' dA' Y'
        moved = matrix_product(matrix_product(y, back), y)
        grown = times(traced(first, word, e, word), y) - times(traced(c, own, e, word), moved)
        # d(C E' Y') = T[dA] E' Y' - C E' Y' dA' Y'
        f = matrix_transpose(e)
        shrunk = matrix_product(matrix_product(first, f), y)
        return grown - shrunk + matrix_product(matrix_product(c, f), moved)

    def transposed(self, node: Expr, k: int, g: Expr) -> Expr:
        """It is its own transpose."""
        return opaque(self, node.args[0], g)

    def cost(self, length: Callable[[str], int], operands: int) -> int:
        return 4 * length("n") ** 3

    def components(self, of: Arithmetic, shape: tuple[int, ...], *cores: Any) -> Any:
        """Entry (i, j): the determinant without row i and column j, differentiated by rows."""
        (a, e), n = cores, shape[0]
        result = []
        for i, j in itertools.product(range(n), repeat=2):
            terms = []
            for k in (k for k in range(n) if k != i):
                rows = [e[r] if r == k else a[r] for r in range(n) if r != i]
                terms.append(of.determinant([row[:j] + row[j + 1 :] for row in rows]))
            result.append(of.total(0, [(-1) ** (i + j)] * len(terms), terms))
        return [result[n * i : n * (i + 1)] for i in range(n)]


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
