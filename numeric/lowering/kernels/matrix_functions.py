"""Roots and logarithms of matrices, and Sylvester's equation, over stacks of matrices.

Symmetric matrices are diagonal in the basis of their eigenvectors.  Others are triangular in that
of their Schur vectors, which are SciPy's: NumPy has no Schur form.

Sources: Higham, Functions of Matrices (2008); Al-Mohy, Higham and Relton, SIAM J. Sci. Comput. 35
(2013) C394; Bartels and Stewart, CACM 15 (1972) 820.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from symdiff.contexts import contained
from symdiff.errors import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable


Blocks: TypeAlias = "list[list[np.ndarray]]"


def _symmetric(a: np.ndarray) -> bool:
    """Whether all the matrices are symmetric, to the last bit."""
    return np.array_equal(a, a.swapaxes(-1, -2))


def _found_scipy() -> Any:
    """SciPy's linear algebra, or None where it is not installed."""
    try:
        from scipy import linalg
    except ImportError:
        return None
    return linalg


def scipy_linalg(what: str) -> Any:
    """SciPy's linear algebra, for ``what`` needs it; or say that it is missing."""
    linalg = _found_scipy()
    if linalg is None:
        raise Unsupported(f'{what} needs SciPy: pip install "symdiff-numeric[scipy]"')
    return linalg


def _scipy(name: str) -> Any:
    return scipy_linalg(f"{name} of a matrix that is not symmetric")


def _prepared(name: str, a: np.ndarray) -> np.ndarray:
    if not np.isfinite(a).all():
        raise np.linalg.LinAlgError(f"{name}: the matrix has entries that are not finite")
    return a.astype(np.float64, copy=False)


def _refuse(name: str, values: np.ndarray, rounding: float, norm: np.ndarray, zero: bool) -> None:
    """Raise LinAlgError where an eigenvalue is below 0, or is 0 and not ``zero``, to rounding."""
    least = rounding * norm
    below = values.real < -least if zero else values.real <= least
    if (below & (abs(values.imag) <= least)).any():
        which = "below 0" if zero else "that is 0 or below"
        raise np.linalg.LinAlgError(f"{name}: the matrix has an eigenvalue {which}, to rounding")


def _known(name: str, a: np.ndarray, root: np.ndarray) -> None:
    """Raise LinAlgError where the root is as large as one of what rounding made of a Jordan block.

    Errors of 4 n eps move its two equal eigenvalues by the root of that, off the negative axis or
    off 0, and the corner of the square root of [[r, 1], [0, r]] is 1/(2√r).  Its square then errs
    by eps |X|² (Higham, 6.2).  Those of a triangular matrix are not moved.
    """
    moved = math.sqrt(4 * len(a) * np.finfo(float).eps)
    if _norm(root) > math.sqrt(_norm(a) / moved) / 2 and np.tril(a, -1).any():
        raise np.linalg.LinAlgError(
            f"{name}: rounding hides whether there is a root: eigenvalues are equal, on the "
            "negative axis or 0, to rounding"
        )


def _schur(name: str, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The complex Schur form, its real eigenvalues real, and the vectors."""
    linalg = _scipy(name)
    exponent = math.frexp(_norm(a))[1] - 1  # elsewhere than near 1 its rotations underflow
    t, z = linalg.rsf2csf(*linalg.schur(np.ldexp(a, -exponent)))
    return t * math.ldexp(1.0, exponent), z


def _norm(a: np.ndarray) -> Any:
    """The largest sum of a column, of each matrix."""
    return np.max(np.sum(abs(a), axis=-2), axis=-1, initial=0)


def _over(vectors: np.ndarray, a: np.ndarray) -> np.ndarray:
    """``V A V*``."""
    result: np.ndarray = vectors @ a @ vectors.swapaxes(-1, -2).conj()
    return result


def _into(vectors: np.ndarray, a: np.ndarray) -> np.ndarray:
    """``V* A V``."""
    result: np.ndarray = vectors.swapaxes(-1, -2).conj() @ a @ vectors
    return result


# Square roots -----------------------------------------------------------------------------------


def sqrtm(a: np.ndarray) -> np.ndarray:
    """The principal square root; raises LinAlgError where there is none, or none that is real.

    >>> sqrtm(np.array([[4.0, 0.0], [0.0, 9.0]])).tolist()
    [[2.0, 0.0], [0.0, 3.0]]
    """
    work, rounding = a.dtype, a.shape[-1] * float(np.finfo(a.dtype).eps)
    a = _prepared("sqrtm", a)
    if _symmetric(a):
        values, vectors = np.linalg.eigh(a)
        size = np.max(abs(values), axis=-1, initial=0)[..., None]
        _refuse("sqrtm", values, rounding, size, zero=True)
        roots = np.sqrt(np.maximum(values, 0))[..., None, :]
        half = (vectors * roots) @ vectors.swapaxes(-1, -2) / 2
        root: np.ndarray = half + half.swapaxes(-1, -2)  # symmetric to the last bit, as A is
    else:
        root, solve = np.empty_like(a), _triangular_sylvester("sqrtm", a * 1j)
        for place in np.ndindex(a.shape[:-2]):
            t, z = _schur("sqrtm", a[place])
            values = np.diagonal(t)
            _refuse("sqrtm", values, rounding, _norm(a[place]), zero=True)
            values = np.where((values.imag == 0) & (values.real < 0), 0, values)
            found = _over(z, _triangular_root(t, np.sqrt(values), solve)).real
            _known("sqrtm", a[place], found)
            root[place] = found
    return root.astype(work, copy=False)


def _triangular_root(t: np.ndarray, d: np.ndarray, solve: Callable[..., np.ndarray]) -> np.ndarray:
    """``R`` with the diagonal ``d`` and, above it, ``R² = T``; both are triangular.

    By halves: the corner solves ``R1 X + X R2 = C`` (Higham, 6.2).
    """
    r, h = np.diag(d), len(d) // 2
    if h:
        r[:h, :h], r[h:, h:] = first, last = (
            _triangular_root(t[:h, :h], d[:h], solve),
            _triangular_root(t[h:, h:], d[h:], solve),
        )
        r[:h, h:] = solve(first, last, t[:h, h:])
    return r


def _triangular_sylvester(
    name: str, *like: np.ndarray
) -> Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]:
    """What solves ``A X + X B = C`` for triangular matrices, real ones with blocks of two rows."""
    (solver,) = _scipy(name).get_lapack_funcs(("trsyl",), like)

    def solve(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        x, shrunk, close = solver(a, b, c)
        if close and c.any():
            raise np.linalg.LinAlgError(f"Singular matrix: {name}: eigenvalues cancel, to rounding")
        result: np.ndarray = x / shrunk
        return result

    return solve


# Logarithms -------------------------------------------------------------------------------------

# Up to which norm of Y the integral is taken.  Relative errors are there of the order
# ((1 - √(1 - |Y|)) / (1 + √(1 - |Y|)))^20 < 2e-23 (Higham, 11.4), so that derivatives, which
# converge a little later, are right to rounding, too.
_NORM = 0.25


@cache
def _gauss_legendre() -> tuple[np.ndarray, np.ndarray]:
    """Abscissas and weights, of the integral of Y / (1 + cY) over 0 <= c <= 1, log(1 + Y)."""
    nodes, weights = (x / 2 for x in np.polynomial.legendre.leggauss(10))
    return nodes + 0.5, weights


def logm(a: np.ndarray, *directions: np.ndarray) -> np.ndarray:
    """The principal logarithm, or with directions E1 .. Ek the corner of that of a block matrix.

    The block matrix has A on its diagonal and E1 .. Ek above it.  Square roots are taken until it
    is near 1 (Al-Mohy, Higham and Relton).  A may have fewer leading axes than the directions.
    Raises LinAlgError where there is no logarithm, or none that is real.

    >>> logm(np.array([[1.0, 0.0], [0.0, 1.0]])).tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    >>> logm(np.array([[2.0]]), np.array([[1.0]])).round(12).tolist()
    [[0.5]]
    """
    work = np.result_type(a, *directions)
    rounding = a.shape[-1] * float(np.finfo(work).eps)
    a = _prepared("logm", a)
    unit = np.eye(a.shape[-1])
    # Near 1 the difference from it is known to more digits than eigenvalues are.
    near = _norm(a - unit) <= 0.5
    rest = a - near[..., None, None] * unit

    def logarithms(values: np.ndarray, near: np.ndarray, norm: np.ndarray) -> Any:
        _refuse("logm", values + near, rounding, norm, zero=False)
        return np.where(near, _log1p(values), np.log(values + near))

    if _symmetric(a):
        values, vectors = np.linalg.eigh(rest)
        beside = near[..., None]
        size = np.max(abs(values + beside), axis=-1, initial=0)[..., None]
        logs = logarithms(values, beside, size)
        found = logs[..., None, :] * unit
        if directions:
            y = (values + beside - 1)[..., None, :] * unit
            found = _logarithm(y, logs, [_into(vectors, e) for e in directions], _diagonal)
        return _over(vectors, found).astype(work, copy=False)
    shape, own = directions[-1].shape if directions else a.shape, a.ndim - 2
    result, more = np.empty(shape), (slice(None),) * (len(shape) - a.ndim)
    for place in np.ndindex(a.shape[:own]):
        t, z = _schur("logm", rest[place])
        logs = logarithms(np.diagonal(t), near[place], _norm(a[place]))
        if not near[place]:
            root = _triangular_root(t, np.exp(logs / 2), _triangular_sylvester("logm", t))
            _known("logm", a[place], root)
        y = t + (near[place] - 1.0) * unit
        found = _logarithm(y, logs, [_into(z, e[(*more, *place)]) for e in directions], _triangular)
        result[(*more, *place)] = _over(z, found).real
    return result.astype(work, copy=False)


@contained
def _log1p(x: np.ndarray) -> Any:
    """``log(1 + x)`` for small x, real or complex: NumPy's of complex numbers is log of the sum."""
    u, v = x.real, x.imag
    with np.errstate(all="ignore"):  # of x that are not small, which are not asked for
        size = np.log1p(u * (2 + u) + v * v) / 2
    return size if x.dtype.kind == "f" else size + 1j * np.arctan2(v, 1 + u)


Halving: TypeAlias = (
    "Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]]"
)


def _diagonal(
    y: np.ndarray, logs: np.ndarray
) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
    """``√(1 + Y) - 1``, by the logarithms of its diagonal plus 1, and what divides by the root.

    It solves ``√(1 + Y) X + X √(1 + Y) = C``.  Y is diagonal.
    """
    roots = np.exp(logs)
    sums = roots[..., :, None] + roots[..., None, :]
    return np.expm1(logs)[..., None, :] * np.eye(logs.shape[-1]), lambda c: c / sums


def _triangular(
    y: np.ndarray, logs: np.ndarray
) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
    """The same for one triangular Y."""
    solve = _triangular_sylvester("logm", y)
    root = _triangular_root(y, np.exp(logs), solve)

    def solved(c: np.ndarray) -> np.ndarray:
        x = np.empty(c.shape, complex)
        for place in np.ndindex(c.shape[:-2]):
            x[place] = solve(root, root, c[place])
        return x

    return np.triu(root, 1) + np.diag(np.expm1(logs)), solved


def _logarithm(
    y: np.ndarray, logs: np.ndarray, directions: list[np.ndarray], halving: Halving
) -> np.ndarray:
    """The last block of the first row of log(1 + Y), Y on the diagonal and the directions above it.

    Nothing cancels: the diagonals of the roots less 1 come from the logarithms of the first one,
    and what is above them is the same with the 1 and without.  Blocks are listed by rows, from the
    diagonal on.
    """
    m, halvings = len(directions) + 1, 0
    zero = 0 * (directions[-1] if directions else y)
    x = [[y, *directions[i : i + 1], *[zero] * (m - i - 2)] for i in range(m)]
    while np.max(_norm(y), initial=0) > _NORM:
        halvings += 1
        y, solved = halving(y, logs * 0.5**halvings)
        z: Blocks = [[y] for _ in range(m)]
        for j in range(1, m):
            for i in range(m - j):
                z[i].append(solved(x[i][j] - _inner(z, z, i, j)))
        x = z
    nodes, weights = _gauss_legendre()
    c = nodes.reshape(-1, *[1] * zero.ndim)
    inverse = np.linalg.inv(np.eye(y.shape[-1]) + c * y)  # its condition is below 2
    own = inverse @ y
    w: Blocks = [[own] for _ in range(m)]
    for j in range(1, m):
        for i in range(m - j):
            rest = x[i][j] - c * (x[i][j] @ own + _inner(x, w, i, j))
            w[i].append(inverse @ rest)
    result: np.ndarray = np.tensordot(weights, w[0][-1], 1) * 2.0**halvings
    if not directions:
        result[np.diag_indices_from(result)] = logs
    return result


def _inner(x: Blocks, y: Blocks, i: int, j: int) -> Any:
    """Of block ``i, i + j`` of a product, the terms without a block of the diagonal."""
    return sum(x[i][k] @ y[i + k][j - k] for k in range(1, j))


# Sylvester's equation ---------------------------------------------------------------------------

# Up to this number of unknowns their linear system is solved as one: faster than Schur forms.
_FEW = 64


def sylvester(
    solve: Callable[[np.ndarray, np.ndarray], np.ndarray],
    a: np.ndarray,
    b: np.ndarray,
    c: np.ndarray,
) -> np.ndarray:
    """``X`` with ``A X + X B = C``; C may have more leading axes than A and B.

    By eigenvectors where A and B are symmetric, else by Schur forms (Bartels and Stewart).  Few
    unknowns, or all where SciPy is not there, are one linear system: ``solve`` factorises its
    matrix once for all C.

    >>> sylvester(np.linalg.solve, np.array([[2.0]]), np.eye(1), np.array([[6.0]])).tolist()
    [[2.0]]
    """
    own, shape = a.shape[:-2], c.shape[-2:]
    size = math.prod(shape)
    if _symmetric(a) and _symmetric(b) and np.isfinite(a).all() and np.isfinite(b).all():
        (left, u), (right, v) = np.linalg.eigh(a), np.linalg.eigh(b)
        sums = left[..., :, None] + right[..., None, :]
        if not sums.all():
            raise np.linalg.LinAlgError("Singular matrix")
        result: np.ndarray = u @ (u.swapaxes(-1, -2) @ c @ v / sums) @ v.swapaxes(-1, -2)
        return result
    if size > _FEW and (linalg := _found_scipy()):
        result = np.full(c.shape, np.nan, np.result_type(a, b, c))
        solver = _triangular_sylvester("solve_sylvester", result)
        for place in np.ndindex(own):
            if np.isfinite(a[place]).all() and np.isfinite(b[place]).all():
                (r, u), (s, v) = linalg.schur(a[place]), linalg.schur(b[place])
                at = (*(slice(None),) * (c.ndim - 2 - len(own)), *place)
                inner = u.T @ c[at] @ v
                for k in np.ndindex(inner.shape[:-2]):
                    inner[k] = solver(r, s, inner[k])
                result[at] = u @ inner @ v.T
        return result
    system = np.zeros((*own, *shape, *shape), np.result_type(a, b))
    np.einsum("...ijpj->...ipj", system)[...] += a[..., None]
    np.einsum("...ijiq->...iqj", system)[...] += b[..., None, :, :]
    column = c.reshape(*c.shape[:-2], size, 1)
    return solve(system.reshape(*own, size, size), column).reshape(c.shape)
