"""Matrix decompositions and exponentials, one matrix at a time, over mpmath numbers."""

from __future__ import annotations

import math
from itertools import permutations
from typing import TYPE_CHECKING, Any

import mpmath as mp
import numpy as np

from symdiff import opaque_ops

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.fields import Array


def array(x: Any) -> Array:
    """Return an mpmath matrix, or nested lists, as an object array of two axes."""
    rows = x.tolist() if isinstance(x, mp.matrix) else x
    out = np.empty((len(rows), len(rows[0]) if rows else 0), object)
    for i, j in np.ndindex(out.shape):
        out[i, j] = rows[i][j]
    return out


def vector(values: Any) -> Array:
    values = list(values)
    out = np.empty(len(values), object)
    out[:] = values
    return out


def matrix(x: Array) -> Any:
    return mp.matrix(x.tolist())


def symmetric(a: Array) -> Array:
    return (a + a.T) / 2


# One matrix at a time -----------------------------------------------------------------------------


def cholesky(op: Any, a: Array) -> Array:
    return array(mp.cholesky(matrix(symmetric(a)))) if a.size else a


def eigvalsh(op: Any, a: Array) -> Array:
    return (
        vector(mp.eigsy(matrix(symmetric(a)), eigvals_only=True)) if a.size else a[0:0, 0:0].ravel()
    )


def eigvecs(op: Any, a: Array) -> Array:
    """Return eigenvectors with a positive first element."""
    return firsts_positive(array(mp.eigsy(matrix(symmetric(a)))[1]))[0] if a.size else a


def firsts_positive(u: Array, *others: Array) -> tuple[Array, ...]:
    signs = np.where(u[0] < 0, -1, 1).astype(object)
    return tuple(x * signs for x in (u, *others))


def svd(a: Array) -> tuple[Array, Array, Array]:
    tall = a.shape[0] >= a.shape[1]
    u, s, vt = mp.svd_r(matrix(a if tall else a.T))
    u, v = firsts_positive(*((array(u), array(vt).T) if tall else (array(vt).T, array(u))))
    return u, vector(s), v


def gaps(op: Any, x: Array) -> Array:
    n = len(x)
    rows = [
        [1 / (x[j] + op.sign * x[i]) if i != j or op.diagonal else mp.mpf(0) for j in range(n)]
        for i in range(n)
    ]
    return array(rows) if n else np.empty((0, 0), object)


def pinv(op: Any, a: Array) -> Array:
    tall = a.shape[0] >= a.shape[1]
    x = a if tall else a.T
    result = array(matrix(x.T @ x) ** -1 * matrix(x.T)) if a.size else a.T
    return result if tall else result.T


def qr(op: Any, a: Array) -> Array:
    """Return Q of the leading columns by Gram and Schmidt: the diagonal of R is positive."""
    out = np.empty((len(a), min(a.shape)), object)
    for j in range(out.shape[1]):
        rest = a[:, j]
        for k in range(j):
            rest = rest - out[:, k] * (out[:, k] @ rest)
        out[:, j] = rest / mp.sqrt(rest @ rest)
    return out


def blocks(x: list[Array]) -> Array:
    """Put the first matrix on the diagonal, and the others above it."""
    n, m = len(x[0]), len(x)
    out = np.empty((m * n, m * n), object)
    out[...] = mp.mpf(0)
    for i in range(m):
        out[i * n : (i + 1) * n, i * n : (i + 1) * n] = x[0]
        if i:
            out[(i - 1) * n : i * n, i * n : (i + 1) * n] = x[i]
    return out


def expm(op: Any, a: Array, *directions: Array) -> Array:
    """Sum Taylor's series of the block matrix, with only the first row of blocks.

    The terms may cancel: a norm of 20 costs 18 digits.
    """
    unit = np.where(np.eye(len(a), dtype=bool), mp.mpf(1), mp.mpf(0))
    row = [unit, *(unit * 0 for _ in directions)]
    total, k = row, 1
    with mp.workdps(mp.mp.dps + 20):
        while any(x.any() for x in row) and _largest(row) > mp.mpf(10) ** -mp.mp.dps:
            shifted = [0 * unit, *(x @ e for x, e in zip(row[:-1], directions, strict=True))]
            row = [(x @ a + y) / k for x, y in zip(row, shifted, strict=True)]
            total = [x + y for x, y in zip(total, row, strict=True)]
            k += 1
    return total[-1]


def _largest(row: list[Array]) -> Any:
    return max(abs(v) for x in row for v in x.ravel())


def logm(op: Any, a: Array, *directions: Array) -> Array:
    """Sum the power series at the mean c of the diagonal, with only the first row of blocks.

    Elements off the diagonal and differences on it should not exceed c/2.
    """
    n = len(a)
    if not n:
        return a
    unit, c = np.eye(n, dtype=int), np.trace(a) / n
    row = [unit * mp.mpf(1), *(0 * e for e in directions)]
    total, k = [mp.log(c) * unit, *(0 * e for e in directions)], 0
    while (largest := _largest(row)) > mp.mpf(10) ** -(mp.mp.dps + 5):
        assert largest < 1e9, "the series does not converge"
        shifted = [0 * unit, *(x @ e for x, e in zip(row[:-1], directions, strict=True))]
        row = [(c * x - x @ a - y) / c for x, y in zip(row, shifted, strict=True)]
        k += 1
        total = [x - y / k for x, y in zip(total, row, strict=True)]
    return total[-1]


def sqrtm(op: Any, a: Array) -> Array:
    return array(mp.sqrtm(matrix(a))) if a.size else a


def cofactor_tangent(op: Any, a: Array, e: Array) -> Array:
    """Apply the product rule to the rows of each minor; exact for exact sums and products."""
    n = len(a)
    out = e * 0
    for i, j in np.ndindex(n, n):
        for k in (k for k in range(n) if k != i):
            rows = np.where((np.arange(n) == k)[:, None], e, a)
            minor = np.delete(np.delete(rows, i, axis=0), j, axis=1)
            out[i, j] = out[i, j] + (-1) ** (i + j) * leibniz(minor)
    return out


def leibniz(a: Array) -> Any:
    n, total = len(a), 0
    for order in permutations(range(n)):
        inversions = sum(order[i] > order[j] for i in range(n) for j in range(i + 1, n))
        total = total + (-1) ** inversions * math.prod(a[i, order[i]] for i in range(n))
    return total


def from_bands(upper: int, bands: Array) -> Array:
    """Build the matrices with these diagonals."""
    w, n = bands.shape[-2:]
    out = np.empty((*bands.shape[:-2], n, n), object)
    out[...] = mp.mpf(0)
    for i, j in np.ndindex(n, n):
        if 0 <= upper + i - j < w:
            out[..., i, j] = bands[..., upper + i - j, j]
    return out


def solve_banded(op: Any, bands: Array, b: Array) -> Array:
    return array(matrix(from_bands(op.upper, bands)) ** -1 * matrix(b)) if b.size else b


def sylvester(op: Any, a: Array, b: Array, c: Array) -> Array:
    """Solve ``p(A) X`` = right: p, the characteristic polynomial of -B, vanishes there.

    By Cayley and Hamilton; ``A^k X = X (-B)^k + sum_(i<k) A^(k-1-i) C (-B)^i``.  Faddeev and Le
    Verrier's method gives the coefficients.
    """
    unit, p, m = np.eye(len(b), dtype=int), [mp.mpf(1)], b * 0
    for k in range(1, len(b) + 1):
        m = p[-1] * unit - b @ m
        p.append(np.trace(b @ m) / k)
    step = right = c * 0
    for coefficient in p[:-1]:
        step = coefficient * c - step @ b
        right = a @ right + step
    left = a * 0
    for coefficient in p:
        left = a @ left + coefficient * np.eye(len(a), dtype=int)
    return array(matrix(left) ** -1 * matrix(right)) if c.size else c


VALUES: dict[type, Callable[..., Array]] = {
    opaque_ops.Cholesky: cholesky,
    opaque_ops.CofactorTangent: cofactor_tangent,
    opaque_ops.Eigvalsh: eigvalsh,
    opaque_ops.Eigvecs: eigvecs,
    opaque_ops.Expm: expm,
    opaque_ops.Gaps: gaps,
    opaque_ops.LeftVectors: lambda op, a: svd(a)[0],
    opaque_ops.Logm: logm,
    opaque_ops.Pinv: pinv,
    opaque_ops.Qr: qr,
    opaque_ops.QrTriangle: lambda op, a: np.triu(qr(op, a).T @ a),
    opaque_ops.RightVectors: lambda op, a: svd(a)[2],
    opaque_ops.SingularValues: lambda op, a: svd(a)[1],
    opaque_ops.SolveBanded: solve_banded,
    opaque_ops.Sqrtm: sqrtm,
    opaque_ops.Sylvester: sylvester,
}


def evaluated(op: Any, shape: tuple[int, ...], args: list[Array]) -> Array:
    """Evaluate a node of ``op``, of ``shape``, over stacks of matrices (vectors, for gaps)."""
    core = 1 if isinstance(op, opaque_ops.Gaps) else 2
    lead = args[-1].shape[: args[-1].ndim - core]
    wide = [np.broadcast_to(x, lead + x.shape[x.ndim - core :]) for x in args]
    out = np.empty(shape, object)
    for place in np.ndindex(lead):
        out[place] = VALUES[type(op)](op, *(x[place] for x in wide))
    return out
