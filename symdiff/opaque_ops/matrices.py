"""Linear equations and determinants of matrices.

Sources: Giles, An extended collection of matrix derivative results for forward and reverse mode
algorithmic differentiation (2008); Horn and Johnson, Topics in Matrix Analysis (1991).
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from symdiff.graph.algebra import linear, opaque, scale, total
from symdiff.graph.contraction import broadcast_to, contract
from symdiff.graph.leaves import full
from symdiff.graph.ops import (
    Opaque,
    Part,
    concat_op,
    opaque_op,
    reshape_op,
    shift_op,
    slice_op,
)
from symdiff.graph.signatures import Signature, signatures
from symdiff.graph.visible_zeros import weighted

if TYPE_CHECKING:
    from collections.abc import Callable

    from symdiff.graph.arithmetic import Arithmetic
    from symdiff.graph.expr import Expr

__all__ = [
    "Cofactor",
    "CofactorTangent",
    "Det",
    "DetSign",
    "Inv",
    "LogAbsDet",
    "Slogdet",
    "Solve",
    "SolveBanded",
    "Sylvester",
]


def matrix_transpose(a: Expr) -> Expr:
    """Exchange the last two axes."""
    n = a.ndim
    return contract([(a, tuple(range(n)))], (*range(n - 2), n - 1, n - 2))


def matrix_product(a: Expr, b: Expr) -> Expr:
    """``a[..., i, j] b[..., j, k]``; one batch shape must be a suffix of the other."""
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


class SolveBanded(Opaque):
    """``X`` with ``A X = B``, A by its diagonals: ``bands[upper + i - j, j]`` is ``A[i, j]``.

    The last rows of the bands are diagonals below the main one.  Elements outside of A have no
    effect.  The bands are batch + (w, n), B is any + batch + (n, k).
    """

    __slots__ = ("upper",)
    fields = ("upper",)
    name = "solve_banded"
    signature = Signature("(w,n),(n,k)->(n,k)", shared=(0,))
    linear_in = (1,)

    def __init__(self, upper: int) -> None:
        self.upper = upper

    def differential(self, node: Expr, k: int, t: Expr) -> Expr:
        """``A dX = dB - dA X``, as for ``Solve``: dA X is a sum over shifted diagonals."""
        back = matrix_transpose(node)
        lead = max(t.ndim, node.ndim) - 2
        word = (*range(lead - node.ndim + 2, lead), lead, lead + 1)
        terms = []
        for r, row in enumerate(_rows(t)):
            diagonal = (*range(lead - t.ndim + 2, lead), lead + 1)
            product = contract([(row, diagonal), (back, word)], (*range(lead), lead, lead + 1))
            terms.append(linear(shift_op(r - self.upper), product))
        return opaque(self, node.args[0], scale(-1, matrix_transpose(total(terms))))

    def transposed(self, node: Expr, k: int, g: Expr) -> Expr:
        """``A' Y = G``; diagonal r of A' is the shifted diagonal -r of A."""
        rows = _rows(node.args[0])[::-1]
        lower = len(rows) - 1 - self.upper
        turned = [linear(shift_op(lower - r), row) for r, row in enumerate(rows)]
        shape = rows[0].shape
        one = reshape_op(shape[-1:], (1, *shape[-1:]))
        bands = linear(concat_op(-2, (1,) * len(rows)), *[linear(one, row) for row in turned])
        return opaque(opaque_op(SolveBanded, lower), bands, g)

    def cost(self, length: Callable[[str], int], operands: int) -> int:
        w, n, k = length("w"), length("n"), length("k")
        lower = w - 1 - self.upper
        return n * (lower * w + k * (w + lower))

    def components(self, of: Arithmetic, shape: tuple[int, ...], *cores: Any) -> Any:
        (bands, b), n, u = cores, shape[0], self.upper
        zero = of.number(0)
        rows = [
            [bands[u + i - j][j] if 0 <= u + i - j < len(bands) else zero for j in range(n)]
            for i in range(n)
        ]
        return of.eliminated(rows, b)[1]


def _rows(x: Expr) -> list[Expr]:
    """The rows of matrices in the last two axes."""
    w, n = x.shape[-2:]
    assert isinstance(w, int), x
    cut, columns = reshape_op((1, n), (n,)), (0, None, 1)
    return [
        linear(cut, linear(slice_op((w, n), ((r, r + 1, 1), columns), (1, n)), x)) for r in range(w)
    ]


class Sylvester(Opaque):
    """``X`` with ``A X + X B = C``: A is batch + (m, m), B batch + (n, n), C any + batch + (m, n).

    It is one linear system in the elements of X, row by row, with the matrix A x 1 + 1 x B', sums
    of Kronecker products (Horn and Johnson, 4.4).
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


class Slogdet(Part):
    """The sign of the determinant of the last two axes, and the logarithm of its absolute value."""

    __slots__ = ()
    name = "slogdet"
    results = signatures("(n,n)->(),()")

    def cost(self, length: Callable[[str], int], operands: int) -> int:
        return length("n") ** 3 // 3


class DetSign(Slogdet, part=0):
    """The sign of the determinant of the last two axes; piecewise constant."""

    __slots__ = ()
    name = "detsign"
    constant = True

    def components(self, of: Arithmetic, shape: tuple[int, ...], *cores: Any) -> Any:
        return of.named("sign", of.determinant(*cores))


class LogAbsDet(Slogdet, part=1):
    """``log |det|`` of the last two axes."""

    __slots__ = ()
    name = "logabsdet"

    def differential(self, node: Expr, k: int, t: Expr) -> Expr:
        """``dl = sum Y_ji dA_ij``, Y = A^-1 (Giles, 2.2.4)."""
        return weighted(matrix_transpose(opaque(opaque_op(Inv), node.args[0])), t, 2)

    def components(self, of: Arithmetic, shape: tuple[int, ...], *cores: Any) -> Any:
        return of.named("log", of.named("abs", of.determinant(*cores)))


class Det(Opaque):
    """The determinant of the last two axes."""

    __slots__ = ()
    name = "det"
    signature = Signature("(n,n)->()")
    log_abs = LogAbsDet

    def differential(self, node: Expr, k: int, t: Expr) -> Expr:
        """``dd = sum C_ij dA_ij``, C the cofactors (Jacobi's formula), also for singular A."""
        return weighted(opaque(opaque_op(Cofactor), node.args[0]), t, 2)

    def cost(self, length: Callable[[str], int], operands: int) -> int:
        return length("n") ** 3 // 3

    def components(self, of: Arithmetic, shape: tuple[int, ...], *cores: Any) -> Any:
        return of.determinant(*cores)


class Cofactor(Opaque):
    """The cofactor matrix of the last two axes, d det / d A; exists for singular matrices, too."""

    __slots__ = ()
    name = "cofactor"
    signature = Signature("(n,n)->(n,n)")
    keeps_symmetry = True

    def differential(self, node: Expr, k: int, t: Expr) -> Expr:
        """``dC = D cof(A)[dA]``, an op of its own: it exists for singular matrices, too."""
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
        """Differentiate ``T = tr(C'E) Y' - C E' Y'`` with Y = A^-1.

        For up to three rows T is at most bilinear, and needs no inverse.
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
        axes, batch = word[node.ndim - a.ndim :], word[:lead]

        def traced(x: Expr, wx: tuple[int, ...], z: Expr, wz: tuple[int, ...]) -> Expr:
            return contract([(x, wx), (z, wz)], batch)

        def times(trace: Expr, z: Expr) -> Expr:
            return contract([(trace, batch), (z, axes)], word)

        # d(tr(C'E) Y') = tr(T[dA]'E) Y' - tr(C'E) Y' dA' Y'
        moved = matrix_product(matrix_product(y, back), y)
        grown = times(traced(first, word, e, word), y) - times(traced(c, axes, e, word), moved)
        # d(C E' Y') = T[dA] E' Y' - C E' Y' dA' Y'
        f = matrix_transpose(e)
        shrunk = matrix_product(matrix_product(first, f), y)
        return grown - shrunk + matrix_product(matrix_product(c, f), moved)

    def transposed(self, node: Expr, k: int, g: Expr) -> Expr:
        """The op is its own transpose."""
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
