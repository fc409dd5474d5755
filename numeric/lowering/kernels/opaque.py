"""The NumPy bodies of opaque ops: linear algebra, products, extremes, log-sum-exp."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.lowering.kernels import lapack, matrices, matrix_functions, pseudoinverse, sequences
from numeric.lowering.kernels.exponentials import logsumexp
from symdiff import opaque_ops
from symdiff.graph import ops
from symdiff.graph.axes import shape_text

if TYPE_CHECKING:
    from collections.abc import Callable


def _solve_columns(
    a: np.ndarray,
    b: np.ndarray,
    solve: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None,
) -> np.ndarray:
    """``X`` with ``A X = B``; leading axes of B alone become columns: A is factorised once.

    By LAPACK, unless something else is to ``solve``.
    """
    solve = solve or lapack.solve
    extra = b.ndim - a.ndim
    if not extra:
        return solve(a, b)
    lead, tail = b.shape[:extra], b.shape[extra:]
    columns = math.prod(lead) * tail[-1]
    wide = np.moveaxis(b, range(extra), range(-1 - extra, -1)).reshape((*tail[:-1], columns))
    x = solve(a, wide).reshape(tail[:-1] + lead + tail[-1:])
    return np.moveaxis(x, range(-1 - extra, -1), range(extra))


def solve_banded(upper: int, bands: np.ndarray, b: np.ndarray) -> np.ndarray:
    """``X`` with ``A X = B`` by the diagonals of A, ``upper`` of which are above the main one.

    Raises LinAlgError where A is singular, Unsupported without SciPy.

    >>> solve_banded(0, np.array([[2.0, 4.0]]), np.array([[2.0], [2.0]])).tolist()
    [[1.0], [0.5]]
    """
    linalg = matrix_functions.scipy_linalg("solve_banded")
    bands, b = real(bands), real(b)
    sides = bands.shape[-2] - 1 - upper, upper

    def solve(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        x = np.empty(b.shape, np.result_type(a, b))
        for place in np.ndindex(x.shape[:-2] if x.size else (0,)):
            x[place] = linalg.solve_banded(sides, a[place], b[place], check_finite=False)
        return x

    return _solve_columns(bands, b, solve)


def real(x: np.ndarray) -> np.ndarray:
    """``x`` in a precision that LAPACK has."""
    narrow = x.dtype.kind == "f" and x.dtype.itemsize < 8
    return x.astype(np.float32 if narrow else np.float64, copy=False)


def cofactor(a: np.ndarray) -> np.ndarray:
    """The cofactor matrices of the last two axes, ``d det / d A``, also of singular matrices.

    Up to 3 rows by the formula; beyond, with A = U S Vᵀ, as det(U) det(V) U cof(S) Vᵀ, since
    cofactors are multiplicative; those of a diagonal matrix are the products of the others
    (Horn and Johnson, Matrix Analysis, 0.8.2).

    >>> cofactor(np.array([[1.0, 2.0], [2.0, 4.0]])).tolist()
    [[4.0, -2.0], [-2.0, 1.0]]
    """
    n = a.shape[-1]
    if n <= 1:
        return np.ones_like(a)
    if n == 2:
        signed: np.ndarray = np.flip(a, (-2, -1)) * np.array([[1, -1], [-1, 1]], dtype=a.dtype)
        return signed
    if n == 3:
        # Row i of the cofactor matrix is the cross product of the two other rows, in cyclic order.
        rows = [a[..., i, :] for i in range(3)]
        return np.stack([np.cross(rows[(i + 1) % 3], rows[(i + 2) % 3]) for i in range(3)], axis=-2)
    finite = np.isfinite(a).all(axis=(-2, -1), keepdims=True)
    u, s, vt = np.linalg.svd(np.where(finite, a, 0))
    sign = np.sign(np.linalg.det(u) * np.linalg.det(vt))
    result = (u * prod_others(s)[..., None, :]) @ vt * sign[..., None, None]
    return np.where(finite, result, np.nan)


def prod_others(x: np.ndarray) -> np.ndarray:
    """``value[..., i] = prod over j != i of x[..., j]``, by running products of both sides.

    >>> prod_others(np.array([2.0, 0.0, 3.0])).tolist()
    [0.0, 6.0, 0.0]
    """
    if not x.shape[-1]:
        return np.array(x)
    one = np.ones_like(x[..., :1])
    before = np.cumprod(np.concatenate([one, x[..., :-1]], axis=-1), axis=-1)
    after = np.cumprod(np.concatenate([one, x[..., :0:-1]], axis=-1), axis=-1)[..., ::-1]
    return before * after


def pinv(
    limits: tuple[float, float, bool] | None, full: bool
) -> Callable[[np.ndarray], np.ndarray]:
    """The pseudoinverse; if ``full``, it is refused where not all singular values count."""

    def run(a: np.ndarray) -> np.ndarray:
        p, rank = matrices.pinv(real(a), limits)
        return matrices.refusing(p, rank) if full else p

    return run


def _extreme(name: str, function: Callable[..., np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    def run(x: np.ndarray) -> np.ndarray:
        if not x.shape[-1]:
            raise ValueError(f"{name}: the last axis of shape {shape_text(x.shape)} has no element")
        return function(x, axis=-1)

    return run


_ARGMAX, _ARGMIN = _extreme("argmax", np.argmax), _extreme("argmin", np.argmin)


OPAQUE: dict[type[ops.Opaque], Callable[..., Any]] = {
    opaque_ops.Solve: lambda a, b: _solve_columns(real(a), real(b)),
    opaque_ops.Sylvester: lambda *x: matrix_functions.sylvester(_solve_columns, *map(real, x)),
    opaque_ops.Inv: lambda a: np.linalg.inv(real(a)),
    opaque_ops.Det: lambda a: np.linalg.det(real(a)),
    opaque_ops.Cofactor: lambda a: cofactor(real(a)),
    opaque_ops.CofactorTangent: lambda a, e: matrices.cofactor_tangent(real(a), real(e)),
    opaque_ops.Cholesky: lambda a: matrices.cholesky(real(a)),
    opaque_ops.Expm: lambda *x: matrices.expm(*map(real, x)),
    opaque_ops.Sqrtm: lambda a: matrix_functions.sqrtm(real(a)),
    opaque_ops.Logm: lambda *x: matrix_functions.logm(*map(real, x)),
    opaque_ops.Prod: lambda x: np.multiply.reduce(x, axis=-1),
    opaque_ops.ProdOthers: prod_others,
    opaque_ops.Max: sequences.by_place(_extreme("max", np.max), _ARGMAX),
    opaque_ops.Min: sequences.by_place(_extreme("min", np.min), _ARGMIN),
    opaque_ops.LogSumExp: lambda x: logsumexp(real(x)),
    opaque_ops.Take: sequences.take,
    opaque_ops.ArgSort: sequences.argsort,
    opaque_ops.PlacesOf: np.flatnonzero,
    opaque_ops.Nonzero: np.flatnonzero,
    opaque_ops.ArgMax: _ARGMAX,
    opaque_ops.ArgMin: _ARGMIN,
    opaque_ops.Cumprod: sequences.cumprod,
    opaque_ops.LogCumSumExp: lambda x: sequences.logcumsumexp(real(x)),
    pseudoinverse.Refusing: matrices.refusing,
}
"""Each op's function of arrays; leading axes are batch, float32 stays float32."""

PARTS: dict[
    type[ops.Part], dict[tuple[int, ...], Callable[[np.ndarray], tuple[np.ndarray, ...]]]
] = {
    opaque_ops.Eigh: {(0,): matrices.eigvalsh, (0, 1): matrices.eigh},
    opaque_ops.Svd: {(1,): matrices.svdvals, (0, 1, 2): matrices.svd},
    opaque_ops.QrFactors: {(0,): matrices.qr_q, (1,): matrices.qr_r, (0, 1): matrices.qr},
    pseudoinverse.Pseudoinverse: {(0, 1): matrices.pinv},
    opaque_ops.Slogdet: {(0, 1): lambda a: tuple(np.linalg.slogdet(a))},
}
"""The functions of arrays of each op with several results, by the results that they give.

Those that give fewer come first: of them all, the first that gives what is wanted is the one.
"""


@lru_cache
def of_parts(
    whole: type[ops.Part], wanted: tuple[int, ...]
) -> Callable[[np.ndarray], tuple[np.ndarray, ...]]:
    """The function that computes the results ``wanted``, and not much more.

    >>> [x.tolist() for x in of_parts(opaque_ops.Eigh, (0,))(np.array([[3.0]]))]
    [[3.0]]
    """
    given, run = next((k, f) for k, f in PARTS[whole].items() if set(wanted) <= set(k))
    places = [given.index(k) for k in wanted]

    def chosen(a: np.ndarray) -> tuple[np.ndarray, ...]:
        results = run(real(a))
        return tuple([results[k] for k in places])

    return chosen
