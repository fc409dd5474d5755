"""Matrix decompositions and the matrix exponential in NumPy, over stacks of matrices.

What LAPACK cannot tell from a singular case is refused with ``numpy.linalg.LinAlgError``: inf, nan
or noise would look like an answer.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np

from symdiff.contexts import contained


def _symmetric(a: np.ndarray) -> np.ndarray:
    result: np.ndarray = (a + a.swapaxes(-1, -2)) / 2
    return result


def cholesky(a: np.ndarray) -> np.ndarray:
    """The lower Cholesky factor of the symmetric part; raises LinAlgError unless it is positive.

    >>> cholesky(np.array([[4.0, 2.0], [2.0, 5.0]])).tolist()
    [[2.0, 0.0], [1.0, 2.0]]
    """
    return np.linalg.cholesky(_symmetric(a))


def eigh(a: np.ndarray) -> tuple[np.ndarray, ...]:
    """Eigenvalues, ascending, and eigenvectors of the symmetric part.

    Raises LinAlgError for entries that are not finite.

    >>> eigh(np.array([[2.0, 0.0], [0.0, 1.0]]))[0].tolist()
    [1.0, 2.0]
    """
    _finite("eigh", a)
    return tuple(np.linalg.eigh(_symmetric(a)))


def eigvalsh(a: np.ndarray) -> tuple[np.ndarray, ...]:
    """The eigenvalues alone, which costs less.

    >>> eigvalsh(np.array([[2.0, 0.0], [0.0, 1.0]]))[0].tolist()
    [1.0, 2.0]
    """
    _finite("eigh", a)
    return (np.linalg.eigvalsh(_symmetric(a)),)


def svd(a: np.ndarray) -> tuple[np.ndarray, ...]:
    """Left singular vectors, singular values and right singular vectors (as columns).

    Raises LinAlgError for entries that are not finite.

    >>> svd(np.array([[0.0, 3.0], [4.0, 0.0]]))[1].tolist()
    [4.0, 3.0]
    """
    _finite("svd", a)
    u, s, vt = np.linalg.svd(a, full_matrices=False)
    return u, s, vt.swapaxes(-1, -2)


def svdvals(a: np.ndarray) -> tuple[np.ndarray, ...]:
    """The singular values alone, which costs less.

    >>> svdvals(np.array([[0.0, 3.0], [4.0, 0.0]]))[0].tolist()
    [4.0, 3.0]
    """
    _finite("svd", a)
    return (np.linalg.svd(a, compute_uv=False),)


def _finite(name: str, a: np.ndarray) -> None:
    if not np.isfinite(a).all():
        raise np.linalg.LinAlgError(f"{name}: the matrix has entries that are not finite")


@contained
def gaps(sign: int, diagonal: bool, x: np.ndarray) -> np.ndarray:
    """``1 / (x_j + sign * x_i)``, on the diagonal too if so said (else 0 there).

    Raises LinAlgError where two of the n elements cancel to n eps times the largest size of one:
    eigenvalues, or singular values, are known no better than that.

    >>> gaps(-1, False, np.array([1.0, 3.0])).tolist()
    [[0.0, 0.5], [-0.5, 0.0]]
    """
    n = x.shape[-1]
    columns, rows = x[..., None, :], x[..., :, None]
    gap = columns - rows if sign < 0 else columns + rows
    least = n * np.finfo(x.dtype).eps * np.max(abs(x), axis=-1, initial=0)[..., None, None]
    known = abs(gap) > least
    skipped = np.zeros((n, n), bool) if diagonal else np.eye(n, dtype=bool)
    if not (known | skipped).all():
        raise np.linalg.LinAlgError(
            "eigenvectors, or singular vectors, have no derivative here: two eigenvalues, or "
            "singular values, are equal to rounding"
            if sign < 0
            else "singular vectors have no derivative here: singular values are 0 to rounding"
        )
    with np.errstate(all="ignore"):
        inverse: np.ndarray = np.where(skipped, 0, 1 / gap)
    return inverse


def pinv(a: np.ndarray, limits: tuple[float, float, bool] | None = None) -> tuple[np.ndarray, ...]:
    """The pseudoinverse, and 1 where all singular values count, else 0.

    Those up to max(m, n) eps times the largest count as 0.  ``limits`` are others: (atol, rtol,
    hermitian), as of the op.

    >>> [x.tolist() for x in pinv(np.array([[2.0], [0.0]]))]
    [[[0.5, 0.0]], 1.0]
    """
    atol, rtol, hermitian = limits or (0.0, max(a.shape[-2:]) * np.finfo(a.dtype).eps, False)
    if hermitian:
        s, u = np.linalg.eigh(a)
        v = u
    else:
        u, s, v = svd(a)
    size = abs(s)
    kept = size > np.maximum(atol, rtol * np.max(size, axis=-1, initial=0))[..., None]
    factors = np.where(kept, 1 / np.where(kept, s, 1), 0).astype(a.dtype)
    result: np.ndarray = (v * factors[..., None, :]) @ u.swapaxes(-1, -2)
    return result, kept.all(axis=-1).astype(a.dtype)


def refusing(p: np.ndarray, full: np.ndarray) -> np.ndarray:
    """The pseudoinverse p; raises LinAlgError where not all singular values count.

    >>> refusing(np.array([[0.5, 0.0]]), np.float64(1)).tolist()
    [[0.5, 0.0]]
    """
    if not np.all(full):
        raise np.linalg.LinAlgError(
            "derivative of pinv or qr: the matrix does not have full rank, where they jump"
        )
    return p


def qr(a: np.ndarray) -> tuple[np.ndarray, ...]:
    """The factors of ``A = Q R``: Q has orthonormal columns, as many as the shorter axis is long.

    >>> [abs(x).round(12).tolist() for x in qr(np.array([[3.0], [4.0]]))]
    [[[0.6], [0.8]], [[5.0]]]
    """
    q, r = np.linalg.qr(a)
    return q, r


def qr_q(a: np.ndarray) -> tuple[np.ndarray, ...]:
    """Q alone, which is that of as many leading columns as there are rows.

    >>> abs(qr_q(np.array([[3.0], [4.0]]))[0]).round(12).tolist()
    [[0.6], [0.8]]
    """
    return (np.linalg.qr(a[..., : a.shape[-2]]).Q,)


def qr_r(a: np.ndarray) -> tuple[np.ndarray, ...]:
    """R alone, which costs half.

    >>> abs(qr_r(np.array([[3.0], [4.0]]))[0]).round(12).tolist()
    [[5.0]]
    """
    r: np.ndarray = np.linalg.qr(a, mode="r")  # type: ignore[assignment]
    return (r,)


def cofactor_tangent(a: np.ndarray, e: np.ndarray) -> np.ndarray:
    """The derivative of the cofactor matrix of ``a`` along ``e``, also where a is singular.

    Up to 3 rows by the formula.  Beyond, with A = U S V', cof(A + tE) is det(U) det(V) U
    cof(S + t U' E V) V', and minors of a diagonal matrix are products: entry (i, i) gets
    ``p_ij E_jj`` for all j != i, entry (i, j) ``-p_ij E_ji``, where p_ij is the product of the
    singular values but i and j (Horn and Johnson, Matrix Analysis, 0.8.2).

    >>> cofactor_tangent(np.zeros((2, 2)), np.array([[1.0, 2.0], [3.0, 4.0]])).round(12).tolist()
    [[4.0, -3.0], [-2.0, 1.0]]
    """
    n = a.shape[-1]
    if n <= 1:
        return np.zeros_like(e)
    if n == 2:
        signed: np.ndarray = np.flip(e, (-2, -1)) * np.array([[1, -1], [-1, 1]], dtype=e.dtype)
        return signed
    if n == 3:
        turned = [(i + 1) % 3 for i in range(3)], [(i + 2) % 3 for i in range(3)]
        first, second = (
            np.cross(x[..., turned[0], :], y[..., turned[1], :]) for x, y in ((a, e), (e, a))
        )
        both: np.ndarray = first + second
        return both
    finite = np.isfinite(a).all(axis=(-2, -1), keepdims=True)
    u, s, v = svd(np.where(finite, a, 0))
    sign = np.sign(np.linalg.det(u) * np.linalg.det(v))[..., None, None]
    p = np.zeros_like(a)
    for i in range(n):
        for j in range(i):
            p[..., i, j] = p[..., j, i] = np.prod(np.delete(s, (i, j), axis=-1), axis=-1)
    f = u.swapaxes(-1, -2) @ e @ v
    inner = -p * f.swapaxes(-1, -2)
    diagonal = np.arange(n)
    inner[..., diagonal, diagonal] += np.einsum("...ij,...jj->...i", p, f)
    result: np.ndarray = sign * (u @ inner @ v.swapaxes(-1, -2))
    return np.where(finite, result, np.nan)


# The matrix exponential -------------------------------------------------------------------------

# Numerator of the [13/13] Pade approximant of exp, its first coefficient 1 so that exp(0) is exact,
# and the 1-norm up to which it is exact to rounding (Higham, SIAM J. Matrix Anal. Appl. 26 (2005)
# 1179, (2.2) and table 2.3).
_PADE = [math.comb(13, k) * math.factorial(26 - k) / math.factorial(26) for k in range(14)]
_NORM = 5.371920351148152

Blocks: TypeAlias = "list[list[np.ndarray]]"


def _times(x: Blocks, y: Blocks) -> Blocks:
    """The product of two upper triangular matrices of blocks; row i starts at the diagonal."""
    m = len(x)
    return [
        [sum(x[i][k] @ y[i + k][j - k] for k in range(j + 1)) for j in range(m - i)]  # type: ignore[misc]
        for i in range(m)
    ]


def _combined(*terms: tuple[float, Blocks]) -> Blocks:
    return [
        [sum(c * x[i][j] for c, x in terms) for j in range(len(terms[0][1][i]))]  # type: ignore[misc]
        for i in range(len(terms[0][1]))
    ]


@contained
def expm(a: np.ndarray, *directions: np.ndarray) -> np.ndarray:
    """The matrix exponential, or with directions E1 .. Ek the corner of that of a block matrix.

    The block matrix has A on its diagonal and E1 .. Ek above it; the corner is the integral of
    ``e^(s0 A) E1 .. Ek e^(sk A)`` over ``s0 + .. + sk = 1`` (Van Loan 1978).  Scaling and squaring
    with a Pade approximant (Higham 2005); A may have fewer leading axes than the directions.

    >>> expm(np.array([[0.0, 1.0], [0.0, 0.0]])).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    >>> expm(np.zeros((1, 1)), np.ones((1, 1))).tolist()
    [[1.0]]
    """
    work = np.result_type(a, *directions)
    a = a.astype(np.float64)
    n, m = a.shape[-1], len(directions) + 1
    finite = np.isfinite(a).all(axis=(-2, -1), keepdims=True)
    a = np.where(finite, a, 0)
    norm = np.max(np.sum(abs(a), axis=-2), axis=-1, initial=0)[..., None, None]
    # The derivatives of the approximant converge a little later than itself.
    with np.errstate(divide="ignore"):
        halvings = np.maximum(np.ceil(np.log2(norm * m / _NORM)), 0).astype(int)
    x = [[a * 0.5**halvings] for _ in range(m)]
    zeros = np.zeros_like(a)
    for i, e in enumerate(directions):
        x[i] += [e * 0.5**halvings, *[zeros] * (m - i - 2)]
    r = _approximant(x, np.eye(n))
    for k in range(int(np.max(halvings, initial=0))):
        square = _times(r, r)
        r = [
            [np.where(k < halvings, new, old) for new, old in zip(*rows, strict=True)]
            for rows in zip(square, r, strict=True)
        ]
    result: np.ndarray = np.where(finite, r[0][-1], np.nan).astype(work, copy=False)
    return result


def _approximant(x: Blocks, unit: np.ndarray) -> Blocks:
    """``q(X)^-1 p(X)`` of the [13/13] approximant, by its even and odd powers."""
    m, b = len(x), _PADE
    one = [[unit] + [np.zeros_like(unit)] * (m - i - 1) for i in range(m)]
    x2 = _times(x, x)
    x4 = _times(x2, x2)
    x6 = _times(x4, x2)
    high = _combined((b[13], x6), (b[11], x4), (b[9], x2))
    low = _combined((b[7], x6), (b[5], x4), (b[3], x2), (b[1], one))
    odd = _times(x, _combined((1, _times(x6, high)), (1, low)))
    high = _combined((b[12], x6), (b[10], x4), (b[8], x2))
    low = _combined((b[6], x6), (b[4], x4), (b[2], x2), (b[0], one))
    even = _combined((1, _times(x6, high)), (1, low))
    p, q = _combined((1, even), (1, odd)), _combined((1, even), (-1, odd))
    inverse = np.linalg.inv(q[0][0])  # well conditioned, and the same in every diagonal block
    r: Blocks = [[] for _ in range(m)]
    for i in reversed(range(m)):
        for j in range(m - i):
            rest = p[i][j]
            for k in range(1, j + 1):
                rest = rest - q[i][k] @ r[i + k][j - k]
            r[i].append(inverse @ rest)
    return r
