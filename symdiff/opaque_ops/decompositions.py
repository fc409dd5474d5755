"""Decompositions of matrices.

Where a decomposition has no derivative (equal eigenvalues, lost rank), an op in its differential
raises at run time.

Sources: Giles, An extended collection of matrix derivative results for forward and reverse mode
algorithmic differentiation (2008); Murray, Differentiation of the Cholesky decomposition (2016);
Townsend, Differentiating the singular value decomposition (2016); Golub and Pereyra, SIAM J. Numer.
Anal. 10 (1973) 413; Walter and Lehmann, Math. Comput. Sci. 6 (2012) 103; Magnus and Neudecker,
Matrix Differential Calculus (1999).
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from symdiff.errors import Unsupported
from symdiff.graph.algebra import int_power, linear, mul, opaque, scale, total
from symdiff.graph.contraction import contract
from symdiff.graph.leaves import full
from symdiff.graph.ops import Opaque, Part, opaque_op, slice_op, triangle_op
from symdiff.graph.signatures import Signature, signatures
from symdiff.opaque_ops.matrices import Solve, matrix_product, matrix_transpose

if TYPE_CHECKING:
    from collections.abc import Callable

    from symdiff.graph.arithmetic import Arithmetic
    from symdiff.graph.expr import Expr
    from symdiff.graph.node import Dim, Shape
    from symdiff.graph.number import Number

__all__ = [
    "Cholesky",
    "Eigh",
    "Eigvalsh",
    "Eigvecs",
    "Gaps",
    "LeftVectors",
    "Pinv",
    "Qr",
    "QrFactors",
    "QrTriangle",
    "RightVectors",
    "SingularValues",
    "Svd",
]

_HALF = Fraction(1, 2)


def _symmetric_part(a: Expr) -> Expr:
    """``(a + a')/2``; a itself if its formula shows that it is symmetric."""
    back = matrix_transpose(a)
    return a if back is a else scale(_HALF, a + back)


def _columns_times(a: Expr, factors: Expr) -> Expr:
    """``a[..., i, j] * factors[..., j]``."""
    word = tuple(range(a.ndim))
    return contract([(a, word), (factors, (*word[:-2], word[-1]))], word)


def _column_products(a: Expr, b: Expr) -> Expr:
    """``sum_i a[..., i, j] b[..., i, j]``."""
    word = tuple(range(a.ndim))
    return contract([(a, word), (b, word)], (*word[:-2], word[-1]))


def _times_pattern(pattern: Expr, a: Expr) -> Expr:
    """Every matrix of ``a`` times ``pattern``, elementwise."""
    word = tuple(range(a.ndim))
    return contract([(pattern, word[-2:]), (a, word)], word)


def _lower_ones(n: Dim, diagonal: int) -> Expr:
    """Ones on and below a diagonal, zeros above it."""
    return linear(triangle_op(True, diagonal), full((n, n), 1))


class Cholesky(Opaque):
    """The lower triangular L with ``L L' = (A + A')/2``, its diagonal positive."""

    __slots__ = ()
    name = "cholesky"
    signature = Signature("(n,n)->(n,n)")

    def differential(self, node: Expr, k: int, t: Expr) -> Expr:
        """``dL = L P(L^-1 dS L^-T)``; P halves the diagonal and drops what is above (Murray, 8)."""
        solve = opaque_op(Solve)
        half = opaque(solve, node, _symmetric_part(t))
        inner = opaque(solve, node, matrix_transpose(half))
        n = node.shape[-1]
        pattern = scale(_HALF, _lower_ones(n, 0) + _lower_ones(n, -1))
        return matrix_product(node, _times_pattern(pattern, inner))

    def cost(self, length: Callable[[str], int], operands: int) -> int:
        return length("n") ** 3 // 6

    def components(self, of: Arithmetic, shape: tuple[int, ...], *cores: Any) -> Any:
        rows, n = cores[0], shape[0]
        factor = [[of.number(0)] * n for _ in range(n)]
        for i, row in enumerate(factor):
            for j, other in enumerate(factor[: i + 1]):
                products = [of.product([row[k], other[k]]) for k in range(j)]
                coefs: list[Number] = [*([1] if i == j else [_HALF, _HALF]), *[-1] * j]
                entries = [rows[i][i]] if i == j else [rows[i][j], rows[j][i]]
                rest = of.total(0, coefs, entries + products)
                if i == j:
                    row[i] = of.power(rest, _HALF)
                else:
                    row[j] = of.product([rest, of.power(other[j], -1)])
        return factor


class Eigh(Part):
    """The eigenvalues of ``(A + A')/2``, ascending, and orthonormal eigenvectors as columns."""

    __slots__ = ()
    name = "eigh"
    results = signatures("(n,n)->(n),(n,n)")


class Eigvalsh(Eigh, part=0):
    """The eigenvalues of ``(A + A')/2`` in ascending order."""

    __slots__ = ()
    name = "eigvalsh"
    adds_up_to_trace = True

    def differential(self, node: Expr, k: int, t: Expr) -> Expr:
        """``dl_i = v_i' dS v_i`` (Giles, 3.1; Magnus and Neudecker, 8.8)."""
        v = opaque(opaque_op(Eigvecs), node.args[0])
        return _column_products(v, matrix_product(_symmetric_part(t), v))

    def cost(self, length: Callable[[str], int], operands: int) -> int:
        return 2 * length("n") ** 3 // 3


class Eigvecs(Eigh, part=1):
    """Orthonormal eigenvectors of ``(A + A')/2`` as columns, in the order of the eigenvalues."""

    __slots__ = ()
    name = "eigvecs"

    def differential(self, node: Expr, k: int, t: Expr) -> Expr:
        """``dV = V (F * V' dS V)``, ``F_ij = 1/(l_j - l_i)`` off the diagonal (Giles, 3.1)."""
        values = opaque(opaque_op(Eigvalsh), node.args[0])
        gaps = opaque(opaque_op(Gaps, -1, False), values)
        inner = matrix_product(matrix_transpose(node), matrix_product(_symmetric_part(t), node))
        return matrix_product(node, mul(gaps, inner))

    def cost(self, length: Callable[[str], int], operands: int) -> int:
        return 9 * length("n") ** 3 // 2


class Gaps(Opaque):
    """``value[..., i, j] = 1 / (x[..., j] + sign * x[..., i])``; 0 for i = j unless ``diagonal``.

    It exists only if no two elements cancel: its kernel refuses sums that rounding cannot
    distinguish from 0.
    """

    __slots__ = ("diagonal", "sign")
    fields = ("sign", "diagonal")
    name = "gaps"
    signature = Signature("(n)->(n,n)")

    def __init__(self, sign: int, diagonal: bool) -> None:
        self.sign, self.diagonal = sign, diagonal

    def differential(self, node: Expr, k: int, t: Expr) -> Expr:
        """``dG_ij = -G_ij^2 (dx_j + sign dx_i)``."""
        sign, n = self.sign, node.ndim
        *batch, i, j = range(n)
        sizes = dict(enumerate(node.shape))
        columns = contract([(t, (*batch, j))], tuple(range(n)), sizes)
        rows = contract([(t, (*batch, i))], tuple(range(n)), sizes)
        return scale(-1, mul(int_power(node, 2), columns + scale(sign, rows)))

    def cost(self, length: Callable[[str], int], operands: int) -> int:
        return 2 * length("n") ** 2


class Svd(Part):
    """``A = U diag(s) V'``: U, s in descending order, and V, with as many columns as values."""

    __slots__ = ()
    name = "svd"
    results = signatures("(m,n)->(m,p),(p),(n,p)")

    def own_length(self, *shapes: Shape) -> Dim:
        return _shorter("singular values", *shapes[0][-2:])


class SingularValues(Svd, part=1):
    """The singular values of the last two axes in descending order."""

    __slots__ = ()
    name = "svdvals"

    def differential(self, node: Expr, k: int, t: Expr) -> Expr:
        """``ds_i = u_i' dA v_i`` (Giles, 3.2)."""
        a = node.args[0]
        u, v = (opaque(opaque_op(cls), a) for cls in (LeftVectors, RightVectors))
        return _column_products(u, matrix_product(t, v))

    def cost(self, length: Callable[[str], int], operands: int) -> int:
        short, long = sorted((length("m"), length("n")))
        return long * short**2 + short**3


class LeftVectors(Svd, part=0):
    """The left singular vectors as columns, one for each singular value."""

    __slots__ = ()
    name = "left_singular_vectors"

    def differential(self, node: Expr, k: int, t: Expr) -> Expr:
        """``dU = U (F * (P S + S P')) + (1 - U U') dA V S^-1``, P = U' dA V (Townsend, 12-13)."""
        return _vectors(node, opaque(opaque_op(RightVectors), node.args[0]), t)

    def cost(self, length: Callable[[str], int], operands: int) -> int:
        return _cost_of_vectors(length)


class RightVectors(Svd, part=2):
    """The right singular vectors as columns, one for each singular value."""

    __slots__ = ()
    name = "right_singular_vectors"

    def differential(self, node: Expr, k: int, t: Expr) -> Expr:
        """The differential of the left vectors of A' (Townsend, 12-13)."""
        other = opaque(opaque_op(LeftVectors), node.args[0])
        return _vectors(node, other, matrix_transpose(t))

    def cost(self, length: Callable[[str], int], operands: int) -> int:
        return _cost_of_vectors(length)


def _vectors(node: Expr, other: Expr, t: Expr) -> Expr:
    """The differential of left singular vectors U, with V as the others (Townsend, eqs. 12-13).

    ``dU = U (F * (P S + S P')) + (1 - U U') dA V S^-1`` with ``P = U' dA V`` and
    ``F_ij = 1/(s_j^2 - s_i^2)``.  Partial fractions avoid squares: F * (P S + S P') is half of
    ``(P + P')_ij / (s_j - s_i) + (P - P')_ij / (s_j + s_i)``.
    """
    s = opaque(opaque_op(SingularValues), node.args[0])
    moved = matrix_product(t, other)
    p = matrix_product(matrix_transpose(node), moved)
    rest = node.shape[-2] != node.shape[-1]
    differences = opaque(opaque_op(Gaps, -1, False), s)
    sums = opaque(opaque_op(Gaps, 1, rest), s)
    q = matrix_transpose(p)
    inner = scale(_HALF, mul(differences, p + q) + mul(sums, p - q))
    result = matrix_product(node, inner)
    if rest:  # twice the diagonal of 1/(s_j + s_i) is 1/s_j
        *batch, i, _ = range(sums.ndim)
        inverse = contract([(sums, (*batch, i, i))], (*batch, i))
        outside = moved - matrix_product(node, p)
        result = result + scale(2, _columns_times(outside, inverse))
    return result


def _cost_of_vectors(length: Callable[[str], int]) -> int:
    short, long = sorted((length("m"), length("n")))
    return 7 * long * short**2 + 4 * short**3


def _shorter(what: str, m: Dim, n: Dim) -> Dim:
    """The smaller of two lengths; raises Unsupported if a symbolic length hides which it is."""
    if m == n:
        return m
    if isinstance(m, str) or isinstance(n, str):
        raise Unsupported(f"{what}: which of the lengths {m} and {n} is the lesser?")
    return min(m, n)


def _gram(of: Arithmetic, rows: list[list[Any]]) -> list[list[Any]]:
    return [
        [of.sum([of.product(pair) for pair in zip(x, y, strict=True)]) for y in rows] for x in rows
    ]


class Pinv(Opaque):
    """The pseudoinverse of the last two axes; ``full`` refuses matrices without full rank.

    With ``full=None``, derivatives take the rank of each matrix as constant.  ``limits`` are (atol,
    rtol, hermitian).  Singular values up to the larger of atol and rtol times the largest one count
    as 0; for hermitian matrices only the lower triangle is read.
    """

    __slots__ = ("full", "limits")
    fields = ("full",)
    name = "pinv"
    signature = Signature("(m,n)->(n,m)")

    def __init__(self, full: bool | None, limits: tuple[float, float, bool] | None) -> None:
        self.full, self.limits = full, limits

    def differential(self, node: Expr, k: int, t: Expr) -> Expr:
        """``dP = -P dA P + P P' dA' (1 - A P) + (1 - P A) dA' P' P`` (Golub and Pereyra, 4.12).

        At full rank A P or P A is 1.  If the shape shows which, its term is left out.  The op of
        constant rank has all terms.
        """
        a = node.args[0]
        m, n = a.shape[-2:]
        constant = self.full is None
        p = node if constant else opaque(opaque_op(Pinv, True, None), a)
        q, dt = matrix_transpose(p), matrix_transpose(t)
        terms = [scale(-1, matrix_product(matrix_product(p, t), p))]
        fixed = isinstance(m, int) and isinstance(n, int)
        if constant or (m != n and not (fixed and m < n)):  # type: ignore[operator]
            left = dt - matrix_product(matrix_product(dt, a), p)
            terms.append(matrix_product(matrix_product(p, q), left))
        if constant or (m != n and not (fixed and m > n)):  # type: ignore[operator]
            right = dt - matrix_product(p, matrix_product(a, dt))
            terms.append(matrix_product(right, matrix_product(q, p)))
        return total(terms)

    def cost(self, length: Callable[[str], int], operands: int) -> int:
        short, long = sorted((length("m"), length("n")))
        return 8 * long * short**2 + 4 * short**3

    def components(self, of: Arithmetic, shape: tuple[int, ...], *cores: Any) -> Any:
        """``(A'A)^-1 A'`` of a tall matrix, ``A'(AA')^-1`` of a wide one, at full rank."""
        if self.limits is not None:
            raise Unsupported("pinv: only with the limits of rounding it has exact elements")
        (rows,) = cores
        columns = [list(column) for column in zip(*rows, strict=True)]
        if len(columns) <= len(rows):
            return of.eliminated(_gram(of, columns), columns)[1]
        turned = of.eliminated(_gram(of, rows), rows)[1]
        return [list(column) for column in zip(*turned, strict=True)]


class QrFactors(Part):
    """``A = Q R``: Q has orthonormal columns, as many as the shorter axis is long; R is triangular.

    Let ``N = dA R^-1`` and W = K - K', where K is Q' N below its diagonal.  Then
    ``dQ = Q (W - Q' N) + N`` and ``dR = Q' dA - W R`` (Walter and Lehmann, 3.1).  For a wide matrix
    Q, N and W are those of its leading columns.
    """

    __slots__ = ()
    name = "qr"
    results = signatures("(m,n)->(m,p),(p,n)")

    def own_length(self, *shapes: Shape) -> Dim:
        return _shorter(self.name, *shapes[0][-2:])

    def turned(self, node: Expr, t: Expr) -> tuple[Expr, Expr, Expr, Expr]:
        """Q, N, ``Q' N`` and W.  R^-1 is A+ Q, which refuses matrices without full rank."""
        (a,) = node.args
        q = opaque(opaque_op(Qr), a)
        p = opaque(opaque_op(Pinv, True, None), _columns(a, q.shape[-1]))
        n = matrix_product(_columns(t, q.shape[-1]), matrix_product(p, q))
        inner = matrix_product(matrix_transpose(q), n)
        below = _times_pattern(_lower_ones(q.shape[-1], -1), inner)
        return q, n, inner, below - matrix_transpose(below)


class Qr(QrFactors, part=0):
    """The factor Q of ``A = Q R``."""

    __slots__ = ()

    def differential(self, node: Expr, k: int, t: Expr) -> Expr:
        """``dQ = Q (W - Q' N) + N``."""
        q, n, inner, w = self.turned(node, t)
        return matrix_product(q, w - inner) + n

    def cost(self, length: Callable[[str], int], operands: int) -> int:
        short, long = sorted((length("m"), length("n")))
        return (long + length("m")) * short**2 - 2 * short**3 // 3


class QrTriangle(QrFactors, part=1):
    """The factor R of ``A = Q R``, 0 below its diagonal."""

    __slots__ = ()
    name = "qr_r"

    def writes_zeros(self, *operands: Expr) -> bool:
        return True

    def differential(self, node: Expr, k: int, t: Expr) -> Expr:
        """``dR = Q' dA - W R``, triangular like R."""
        q, _, _, w = self.turned(node, t)
        change = matrix_product(matrix_transpose(q), t) - matrix_product(w, node)
        return linear(triangle_op(False, 0), change)

    def cost(self, length: Callable[[str], int], operands: int) -> int:
        short, long = sorted((length("m"), length("n")))
        return long * short**2 - short**3 // 3


def _columns(x: Expr, count: Dim) -> Expr:
    """The leading columns of each matrix."""
    n = x.shape[-1]
    if n == count:
        return x
    assert isinstance(count, int)
    return linear(slice_op((n,), ((0, count, 1),), (count,)), x)
