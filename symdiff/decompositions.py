"""The differentials of matrix decompositions and of the matrix exponential.

Each is stated once, over nodes, so that derivatives of any order follow.  Where a decomposition has
no derivative (equal eigenvalues, lost rank), an op of the differential refuses when it runs.

Sources: Giles, An extended collection of matrix derivative results for forward and reverse mode
algorithmic differentiation (2008); Murray, Differentiation of the Cholesky decomposition (2016);
Townsend, Differentiating the singular value decomposition (2016); Golub and Pereyra, SIAM J. Numer.
Anal. 10 (1973) 413; Walter and Lehmann, Math. Comput. Sci. 6 (2012) 103; Van Loan, IEEE Trans.
Automat. Control 23 (1978) 395; Magnus and Neudecker, Matrix Differential Calculus (1999).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from symdiff import opaque_ops, ops
from symdiff.algebra import IDENTITIES, int_power, linear, mul, opaque, scale, total
from symdiff.contraction import broadcast_to, contract
from symdiff.leaves import full, split_coefficient

if TYPE_CHECKING:
    from collections.abc import Callable

    from symdiff.expr import Expr
    from symdiff.node import Dim

_HALF = Fraction(1, 2)


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


def _symmetric(a: Expr) -> Expr:
    """``(a + a')/2``, which is a itself where its formula shows that it is symmetric."""
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


def _within(pattern: Expr, a: Expr) -> Expr:
    """Every matrix of ``a`` times ``pattern``, elementwise."""
    word = tuple(range(a.ndim))
    return contract([(pattern, word[-2:]), (a, word)], word)


def _below(n: Dim, diagonal: int) -> Expr:
    """Ones on and below a diagonal, zeros above it."""
    return linear(ops.triangle_op(True, diagonal), full((n, n), 1))


def _cholesky(node: Expr, k: int, t: Expr) -> Expr:
    """``dL = L P(L^-1 dS L^-T)``: P halves the diagonal and drops what is above (Murray, eq. 8)."""
    solve = ops.opaque_op(opaque_ops.Solve)
    half = opaque(solve, node, _symmetric(t))
    inner = opaque(solve, node, matrix_transpose(half))
    n = node.shape[-1]
    pattern = scale(_HALF, _below(n, 0) + _below(n, -1))
    return matrix_product(node, _within(pattern, inner))


def _eigvalsh(node: Expr, k: int, t: Expr) -> Expr:
    """``dl_i = v_i' dS v_i`` (Giles, 3.1; Magnus and Neudecker, 8.8)."""
    v = opaque(ops.opaque_op(opaque_ops.Eigvecs), node.args[0])
    return _column_products(v, matrix_product(_symmetric(t), v))


def _eigvecs(node: Expr, k: int, t: Expr) -> Expr:
    """``dV = V (F * V' dS V)``, ``F_ij = 1/(l_j - l_i)`` off the diagonal (Giles, 3.1)."""
    values = opaque(ops.opaque_op(opaque_ops.Eigvalsh), node.args[0])
    gaps = opaque(ops.opaque_op(opaque_ops.Gaps, -1, False), values)
    inner = matrix_product(matrix_transpose(node), matrix_product(_symmetric(t), node))
    return matrix_product(node, mul(gaps, inner))


def _gaps(node: Expr, k: int, t: Expr) -> Expr:
    """``dG_ij = -G_ij^2 (dx_j + sign dx_i)``."""
    sign, n = node.op.sign, node.ndim  # type: ignore[attr-defined]
    *batch, i, j = range(n)
    sizes = dict(enumerate(node.shape))
    columns = contract([(t, (*batch, j))], tuple(range(n)), sizes)
    rows = contract([(t, (*batch, i))], tuple(range(n)), sizes)
    return scale(-1, mul(int_power(node, 2), columns + scale(sign, rows)))


def _singular_values(node: Expr, k: int, t: Expr) -> Expr:
    """``ds_i = u_i' dA v_i`` (Giles, 3.2)."""
    a = node.args[0]
    u, v = (
        opaque(ops.opaque_op(cls), a) for cls in (opaque_ops.LeftVectors, opaque_ops.RightVectors)
    )
    return _column_products(u, matrix_product(t, v))


def _singular_vectors(node: Expr, k: int, t: Expr) -> Expr:
    """The singular vectors of the left, or with A' for A those of the right (Townsend, eqs. 12-13).

    ``dU = U (F * (P S + S P')) + (1 - U U') dA V S^-1`` with ``P = U' dA V`` and
    ``F_ij = 1/(s_j^2 - s_i^2)``.  In partial fractions, F * (P S + S P') is half of
    ``(P + P')_ij / (s_j - s_i) + (P - P')_ij / (s_j + s_i)``: nothing is squared.
    """
    a, op = node.args[0], node.op
    left = isinstance(op, opaque_ops.LeftVectors)
    other = opaque(ops.opaque_op(opaque_ops.RightVectors if left else opaque_ops.LeftVectors), a)
    if not left:
        t = matrix_transpose(t)
    s = opaque(ops.opaque_op(opaque_ops.SingularValues), a)
    moved = matrix_product(t, other)
    p = matrix_product(matrix_transpose(node), moved)
    rest = node.shape[-2] != node.shape[-1]
    differences = opaque(ops.opaque_op(opaque_ops.Gaps, -1, False), s)
    sums = opaque(ops.opaque_op(opaque_ops.Gaps, 1, rest), s)
    q = matrix_transpose(p)
    inner = scale(_HALF, mul(differences, p + q) + mul(sums, p - q))
    result = matrix_product(node, inner)
    if rest:  # twice the diagonal of 1/(s_j + s_i) is 1/s_j
        *batch, i, _ = range(sums.ndim)
        inverse = contract([(sums, (*batch, i, i))], (*batch, i))
        outside = moved - matrix_product(node, p)
        result = result + scale(2, _columns_times(outside, inverse))
    return result


def _pinv(node: Expr, k: int, t: Expr) -> Expr:
    """``dP = -P dA P + P P' dA' (1 - A P) + (1 - P A) dA' P' P`` (Golub and Pereyra, 4.12).

    Of a matrix of full rank A P or P A is 1, and where the shape says which, it is left out; the
    op of constant rank takes all terms.
    """
    a = node.args[0]
    m, n = a.shape[-2:]
    constant = node.op.full is None  # type: ignore[attr-defined]
    p = node if constant else opaque(ops.opaque_op(opaque_ops.Pinv, True, None), a)
    q, dt = matrix_transpose(p), matrix_transpose(t)
    terms = [scale(-1, matrix_product(matrix_product(p, t), p))]
    known = isinstance(m, int) and isinstance(n, int)
    if constant or (m != n and not (known and m < n)):  # type: ignore[operator]
        left = dt - matrix_product(matrix_product(dt, a), p)
        terms.append(matrix_product(matrix_product(p, q), left))
    if constant or (m != n and not (known and m > n)):  # type: ignore[operator]
        right = dt - matrix_product(p, matrix_product(a, dt))
        terms.append(matrix_product(right, matrix_product(q, p)))
    return total(terms)


def _qr(node: Expr, k: int, t: Expr) -> Expr:
    """``dQ = Q (W - Q' N) + N``, ``N = dA R^-1``, W = K - K', K being Q' N below its diagonal.

    (Walter and Lehmann, 3.1.)  R^-1 is A+ Q, which refuses matrices without full rank.
    """
    p = opaque(ops.opaque_op(opaque_ops.Pinv, True, None), node.args[0])
    moved = matrix_product(t, matrix_product(p, node))
    inner = matrix_product(matrix_transpose(node), moved)
    below = _within(_below(node.shape[-1], -1), inner)
    return matrix_product(node, below - matrix_transpose(below) - inner) + moved


def _expm(node: Expr, k: int, t: Expr) -> Expr:
    """A direction goes in at each place among those that are there; in a direction it is linear.

    ``d e^A = integral of e^(s A) dA e^((1 - s) A)``, the corner of exp([[A, dA], [0, A]]).
    """
    op, (a, *directions) = ops.opaque_op(opaque_ops.Expm), node.args
    if k:
        directions[k - 1] = t
        return opaque(op, a, *directions)
    t = broadcast_to(t, node.shape)
    places = range(len(directions) + 1)
    return total([opaque(op, a, *directions[:place], t, *directions[place:]) for place in places])


def _expm_identity(a: Expr, *directions: Expr) -> Expr | None:
    """``E1 .. Ek e^A / k!`` where all directions are multiples of A or of the identity.

    Those commute with A, and so with its exponential: the integral over the places is that of 1.
    Without directions, ``e^(A')`` is the transpose of ``e^A``.
    """
    if not directions:
        back = matrix_transpose(a)
        if len(a.args) != 1 or a.args[0] is not back:
            return None
        return matrix_transpose(opaque(ops.opaque_op(opaque_ops.Expm), back))
    core = _matrix_of(a)
    for e in directions:
        factor = _matrix_of(e)
        if factor is not core and factor is not _IDENTITY:
            return None
    result = opaque(ops.opaque_op(opaque_ops.Expm), a)
    for e in reversed(directions):
        result = matrix_product(e, result)
    return scale(Fraction(1, math.factorial(len(directions))), result)


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


def _cofactor(node: Expr, k: int, t: Expr) -> Expr:
    """``dC = D cof(A)[dA]``, an op of its own: it exists for singular matrices too."""
    return opaque(ops.opaque_op(opaque_ops.CofactorTangent), node.args[0], t)


def _cofactor_tangent(node: Expr, k: int, t: Expr) -> Expr:
    """``T = tr(C'E) Y' - C E' Y'`` with Y = A^-1, differentiated; linear in E.

    Of matrices of up to three rows T is at most bilinear, and no inverse is needed.
    """
    op, (a, e) = ops.opaque_op(opaque_ops.CofactorTangent), node.args
    n = a.shape[-1]
    if k:
        return opaque(op, a, t)
    if isinstance(n, int) and n <= 2:
        return full(node.shape, 0)
    if n == 3:
        return opaque(op, e, broadcast_to(t, node.shape))
    y = matrix_transpose(opaque(ops.opaque_op(opaque_ops.Inv), a))
    back = matrix_transpose(t)
    c = opaque(ops.opaque_op(opaque_ops.Cofactor), a)
    first, lead = opaque(op, a, broadcast_to(t, node.shape)), node.ndim - 2
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


DIFFERENTIALS: dict[type[ops.Opaque], Callable[[Expr, int, Expr], Expr]] = {
    opaque_ops.Cholesky: _cholesky,
    opaque_ops.Cofactor: _cofactor,
    opaque_ops.CofactorTangent: _cofactor_tangent,
    opaque_ops.Eigvalsh: _eigvalsh,
    opaque_ops.Eigvecs: _eigvecs,
    opaque_ops.Expm: _expm,
    opaque_ops.Gaps: _gaps,
    opaque_ops.LeftVectors: _singular_vectors,
    opaque_ops.Pinv: _pinv,
    opaque_ops.Qr: _qr,
    opaque_ops.RightVectors: _singular_vectors,
    opaque_ops.SingularValues: _singular_values,
}
"""The share of operand k, with tangent t, in the differential of a node; linear in t."""

IDENTITIES[opaque_ops.Expm] = _expm_identity


def transposed(node: Expr, k: int, g: Expr) -> Expr | None:
    """The cotangent of operand k where the node is linear in it, None where its op says no more.

    expm: over the places s0 .. sk the transpose of ``E_j -> e^(s0 A) E1 .. Ek e^(sk A)`` is
    ``G -> e^(s A') E_(j-1)' .. E1' e^(s A') G e^(s A') Ek' .. E_(j+1)' e^(s A')``.
    """
    op = node.op
    if isinstance(op, opaque_ops.CofactorTangent) and k == 1:
        return opaque(op, node.args[0], g)
    if isinstance(op, opaque_ops.Expm) and k:
        a, *directions = node.args
        wide = [matrix_transpose(broadcast_to(e, g.shape)) for e in directions]
        around = [*wide[: k - 1][::-1], g, *wide[k:][::-1]]
        return opaque(op, matrix_transpose(a), *around)
    return None
