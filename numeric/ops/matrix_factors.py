"""Inverses, determinants and decompositions of matrices: operations and their NumPy kernels.

LAPACK determines results that are not unique, such as the signs of eigenvectors.  If a derivative
does not exist, the cotangents are inf or nan by IEEE arithmetic; a backward pass never raises.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeAlias

import numpy as np

from numeric.eager.operations import RESULT, Op
from numeric.eager.record import Node
from numeric.eager.recording import follow
from numeric.eager.tensor import wrap
from symdiff import functions as sd
from symdiff import opaque_ops
from symdiff.graph import ops
from symdiff.graph.algebra import opaque

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numeric.eager.tensor import Tensor
    from symdiff.graph.expr import Expr

    Array = np.ndarray
    _Pulled: TypeAlias = tuple[Sequence[Any], Sequence[bool] | None]

__all__: list[str] = []


class LinAlgError(RuntimeError):
    """A matrix without an inverse, a Cholesky factor or another requested result."""


LinAlgError.__module__ = "numeric.linalg"


# Errors ------------------------------------------------------------------------------------------


def _fail(
    name: str, a: Array, broken: Callable[[Array], object], says: str, where: str = ""
) -> NoReturn:
    """Raise LinAlgError for the first matrix of ``a`` for which ``broken`` is not 0."""
    stack = a.reshape((-1, *a.shape[-2:]))
    failures = [(i, broken(m)) for i, m in enumerate(stack)]
    i, what = next(((i, b) for i, b in failures if b), (0, 1))
    batch = f"(Batch element {i}): " if a.ndim > 2 else ""
    raise LinAlgError(f"{name}: {batch}{says.format(what)}{where}") from None


def _zero_pivot(a: Array) -> int:
    """Return the number, from 1, of the first zero pivot of Gaussian elimination; 0 for none."""
    u = a.copy()
    for k in range(len(u)):
        p = k + int(np.argmax(abs(u[k:, k])))
        u[[k, p]] = u[[p, k]]
        if not u[k, k]:
            return k + 1
        u[k + 1 :] -= np.outer(u[k + 1 :, k] / u[k, k], u[k])
    return 0


def singular(a: Array) -> Array:
    """Return a mask of the matrices without an inverse.

    >>> singular(np.array([[[1.0, 2.0], [2.0, 4.0]], [[1.0, 0.0], [0.0, 1.0]]])).tolist()
    [True, False]
    """
    mask = np.zeros(a.shape[:-2], bool)
    for i in np.ndindex(mask.shape):
        try:
            np.linalg.inv(a[i])
        except np.linalg.LinAlgError:
            mask[i] = True
    return mask


def _not_positive(a: Array) -> int:
    """Return the order of the first leading minor without a Cholesky factor; 0 for none."""
    for k in range(1, len(a) + 1):
        try:
            if np.isnan(np.linalg.cholesky(a[:k, :k])).any():
                return k
        except np.linalg.LinAlgError:
            return k
    return 0


# Kernels -----------------------------------------------------------------------------------------


def _inv(a: Array) -> Array:
    try:
        return np.linalg.inv(a)
    except np.linalg.LinAlgError:
        says = "The diagonal element {} is zero, the inversion could not be completed because "
        _fail("linalg.inv", a, _zero_pivot, says, "the input matrix is singular.")


def _solve(a: Array, b: Array, left: bool, vector: bool) -> Array:
    if vector:
        b = b[..., None]
    if not left:
        a, b = a.swapaxes(-1, -2), b.swapaxes(-1, -2)
    try:
        x = np.linalg.solve(a, b)
    except np.linalg.LinAlgError:
        says = "The solver failed because the input matrix is singular."
        _fail("torch.linalg.solve", a, _zero_pivot, says)
    if not left:
        x = x.swapaxes(-1, -2)
    return x[..., 0] if vector else x


def _triangle(a: Array, upper: bool, unit: bool) -> Array:
    t: Array = np.triu(a) if upper else np.tril(a)
    if unit:
        k = np.arange(a.shape[-1])
        t[..., k, k] = 1
    return t


def _substituted(t: Array, b: Array, upper: bool) -> Array:
    """Return the ``x`` with ``t x = b``; inf and nan if the diagonal has zeros."""
    try:
        return np.linalg.solve(t, b)
    except np.linalg.LinAlgError:
        pass
    n = t.shape[-1]
    batch = np.broadcast_shapes(t.shape[:-2], b.shape[:-2])
    x: Array = np.array(np.broadcast_to(b, batch + b.shape[-2:]))
    for k in reversed(range(n)) if upper else range(n):
        known = slice(k + 1, n) if upper else slice(0, k)
        x[..., k, :] -= (t[..., k, None, known] @ x[..., known, :])[..., 0, :]
        x[..., k, :] /= t[..., k, k, None]
    return x


def _solve_triangular(a: Array, b: Array, upper: bool, left: bool, unit: bool) -> Array:
    t = _triangle(a, upper, unit)
    if left:
        return _substituted(t, b, upper)
    return _substituted(t.swapaxes(-1, -2), b.swapaxes(-1, -2), not upper).swapaxes(-1, -2)


def _cholesky_solve(b: Array, a: Array, upper: bool) -> Array:
    t = _triangle(a, upper, False)
    first, second = (t.swapaxes(-1, -2), t) if upper else (t, t.swapaxes(-1, -2))
    return _substituted(second, _substituted(first, b, False), True)


def _cholesky(a: Array, upper: bool) -> Array:
    if upper:
        a = a.swapaxes(-1, -2)
    try:
        factor = np.linalg.cholesky(a)
        if np.isnan(factor).any():
            raise np.linalg.LinAlgError
    except np.linalg.LinAlgError:
        says = "The factorization could not be completed because the input is not "
        minor = "positive-definite (the leading minor of order {} is not positive-definite)."
        _fail("linalg.cholesky", a, _not_positive, says + minor)
    return factor.swapaxes(-1, -2) if upper else factor


def _eigh(a: Array, uplo: Literal["L", "U"]) -> tuple[Array, Array]:
    try:
        values, vectors = np.linalg.eigh(a, uplo)
        return values, vectors
    except np.linalg.LinAlgError:  # entries that are not finite
        finite: Array = np.asarray(np.isfinite(a).all(axis=(-2, -1), keepdims=True))
        values, vectors = np.linalg.eigh(np.where(finite, a, 0), uplo)
        nan = np.array(np.nan, a.dtype)
        return np.where(finite[..., 0], values, nan), np.where(finite, vectors, nan)


def _finite(a: Array) -> None:
    if not np.isfinite(a).all():
        says = "The algorithm failed to converge because the input matrix contained non-finite "
        _fail("linalg.svd", a, lambda m: not np.isfinite(m).all(), says + "values.")


def svd(a: Array, full: bool) -> tuple[Array, Array, Array]:
    """Return ``U``, ``S`` and ``Vh``.  Raises LinAlgError for entries that are not finite."""
    _finite(a)
    u, s, vh = np.linalg.svd(a, full_matrices=full)
    return u, s, vh


def _values(a: Array, uplo: Literal["L", "U"]) -> Array:
    try:
        return np.linalg.eigvalsh(a, uplo)
    except np.linalg.LinAlgError:
        return _eigh(a, uplo)[0]


def svdvals(a: Array) -> Array:
    """Return the singular values.  Raises LinAlgError for entries that are not finite."""
    _finite(a)
    return np.linalg.svd(a, compute_uv=False)


def _pinv(a: Array, atol: float, rtol: float, hermitian: bool) -> Array:
    if hermitian:
        values, vectors = _eigh(a, "L")
        u, s, v = vectors, values, vectors
    else:
        u, s, vh = svd(a, False)
        v = vh.swapaxes(-1, -2)
    size = abs(s)
    least = np.maximum(atol, rtol * np.max(size, axis=-1, initial=0))[..., None]
    kept = size > least
    factors = np.where(kept, 1 / np.where(kept, s, 1), 0).astype(a.dtype)
    result: Array = (v * factors[..., None, :]) @ u.swapaxes(-1, -2)
    return result


def _qr(a: Array) -> tuple[Array, Array]:
    q, r = np.linalg.qr(a)
    return q, r


def _lstsq(
    a: Array, b: Array, rcond: float, vector: bool, residuals: bool, full: bool
) -> tuple[Array, Array]:
    if vector:
        b = b[..., None]
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    wide = [np.broadcast_to(x, batch + x.shape[-2:]) for x in (a, b)]
    x = np.empty((*batch, a.shape[-1], b.shape[-1]), a.dtype)
    for i in np.ndindex(*batch):
        x[i], _, rank, _ = np.linalg.lstsq(wide[0][i], wide[1][i], rcond)
        if full and rank < min(a.shape[-2:]):
            place = f"(Batch element {i[0]}): " if batch else ""
            raise LinAlgError(
                f"torch.linalg.lstsq: {place}The least squares solution could not be computed "
                f"because the input matrix does not have full rank (error code: {rank + 1})."
            )
    error = a @ x - b
    rest = np.sum(error * error, axis=-2) if residuals else np.zeros(0, a.dtype)
    return (x[..., 0] if vector else x), rest


# Formulas ----------------------------------------------------------------------------------------


def _solution(a: Expr, b: Expr, left: bool, vector: bool) -> Expr:
    if vector:
        return sd.squeeze(sd.solve(a, sd.expand_dims(b, -1)), -1)
    if left:
        return sd.solve(a, b)
    return sd.matrix_transpose(sd.solve(sd.matrix_transpose(a), sd.matrix_transpose(b)))


def _solved(a: Expr, b: Expr, y: Expr, left: bool, vector: bool) -> dict[Expr, Expr]:
    """Return the solution in the form that the rule recognises: as columns."""
    if vector:
        return {sd.solve(a, sd.expand_dims(b, -1)): sd.expand_dims(y, -1)}
    if left:
        return {}
    turned = sd.solve(sd.matrix_transpose(a), sd.matrix_transpose(b))
    return {turned: sd.matrix_transpose(y)}


def _by_substitution(a: Expr, b: Expr, upper: bool, left: bool, unit: bool) -> Expr:
    if left:
        return sd.solve_triangular(a, b, lower=not upper, unit_diagonal=unit)
    a, b = sd.matrix_transpose(a), sd.matrix_transpose(b)
    x = sd.solve_triangular(a, b, lower=upper, unit_diagonal=unit)
    return sd.matrix_transpose(x)


def _by_factor(b: Expr, a: Expr, upper: bool) -> Expr:
    lower = sd.matrix_transpose(a) if upper else a
    first = sd.solve_triangular(lower, b, lower=True)
    return sd.solve_triangular(sd.matrix_transpose(lower), first)


def _least_squares(
    a: Expr, b: Expr, rcond: float, vector: bool, residuals: bool, full: bool
) -> tuple[Expr, Expr]:
    if vector:
        b = sd.expand_dims(b, -1)
    x = sd.pinv(a, constant_rank=True) @ b
    rest = sd.sum((a @ x - b) ** 2, -2) if residuals else sd.zeros((0,))
    return (sd.squeeze(x, -1) if vector else x), rest


def _svd_formula(x: Any, rest: Expr | None = None) -> tuple[Expr, Expr, Expr]:
    """Build the SVD with vectors ``rest`` beyond the singular values, which count as constants."""
    u, s, vh = sd.svd(x)
    if rest is None:
        return u, s, vh
    if x.shape[-2] > x.shape[-1]:
        return sd.concat([u, rest], axis=-1), s, vh
    return u, s, sd.concat([vh, rest], axis=-2)


def _orthogonal(x: Expr, mode: str, rest: Expr | None = None) -> tuple[Expr, Expr]:
    q, r = sd.qr(x)
    if mode == "r":
        return sd.zeros((0,)), r
    if rest is None:
        return q, r
    return sd.concat([q, rest], axis=-1), sd.concat([r, 0 * x[..., r.shape[-2] :, :]], axis=-2)


# What results say of the parts of a pullback -----------------------------------------------------


def _gaps(values: Expr, sign: int, diagonal: bool) -> Expr:
    """Return ``1/(x_j + sign x_i)`` as an op of differentials does, but inf where both cancel."""
    rows, columns = sd.expand_dims(values, -1), sd.expand_dims(values, -2)
    difference = columns + sign * rows
    if diagonal:
        return 1 / difference
    one = sd.eye(values.shape[-1])
    return 1 / (difference + one) - one if sign < 0 else 1 / difference


def _eigh_known(x: Expr, values: Expr, vectors: Expr, uplo: str) -> dict[Expr, Expr]:
    formula = opaque(ops.opaque_op(opaque_ops.Gaps, -1, False), sd.eigh(x).eigenvalues)
    return {formula: _gaps(values, -1, False)}


def _svd_known(x: Expr, *others: Expr) -> dict[Expr, Expr]:
    u, s, vh = others[-3:]
    k = s.shape[-1]
    if u.shape[-1] != k:
        u = u[..., :, :k]
    if vh.shape[-2] != k:
        vh = vh[..., :k, :]
    formula = sd.svdvals(x)
    known = {
        opaque(ops.opaque_op(opaque_ops.LeftVectors), x): u,
        opaque(ops.opaque_op(opaque_ops.RightVectors), x): sd.matrix_transpose(vh),
        formula: s,
        opaque(ops.opaque_op(opaque_ops.Gaps, -1, False), formula): _gaps(s, -1, False),
    }
    for diagonal in (True, False):
        known[opaque(ops.opaque_op(opaque_ops.Gaps, 1, diagonal), formula)] = _gaps(s, 1, diagonal)
    return known


def _adjugate(x: Expr) -> Expr:
    """Return the inverse as transposed cofactors divided by the determinant, which may be 0."""
    cofactors = opaque(ops.opaque_op(opaque_ops.Cofactor), x)
    return sd.matrix_transpose(cofactors) / sd.expand_dims(sd.det(x), (-2, -1))


def _cholesky_known(x: Expr, y: Expr, upper: bool) -> dict[Expr, Expr]:
    return {sd.cholesky(x): sd.matrix_transpose(y)} if upper else {}


# Nodes whose backward pass may meet a singular matrix ---------------------------------------------


class _Singular(Node):
    """A node whose derivative does not exist for singular matrices, where it is nan."""

    __slots__ = ()

    def pull(self, g: Any, marked: bool) -> _Pulled:
        try:
            return Node.pull(self, g, marked)
        except np.linalg.LinAlgError:
            return self._nowhere(), None

    def pull_recorded(self, gs: Sequence[Any], marked: bool) -> _Pulled:
        try:
            return Node.pull_recorded(self, gs, marked)
        except np.linalg.LinAlgError:
            return [follow(wrap(nan)) for nan in self._nowhere()], None

    def _nowhere(self) -> list[Array]:
        shapes, kinds = self.bound.shapes, self.bound.kinds
        assert shapes is not None  # nothing of these is elementwise
        assert kinds is not None
        return [np.full(shapes[i], np.nan, kinds[i]) for i in self.pullback.wanted]


class _Slogdet(_Singular):
    """A node that pulls nothing back from the sign, and uses the limit for log |det|."""

    __slots__ = ()

    def pull(self, g: Sequence[Array | None], marked: bool) -> _Pulled:
        if g[1] is None:
            self.values()
            return [None], None
        if g[0] is None:
            g = [np.zeros_like(g[1]), g[1]]
        try:
            return Node.pull(self, g, marked)
        except np.linalg.LinAlgError:
            bound = SLOGDET_SINGULAR.bound(self.saved or ())
            other = bound.of.pullback(self.pullback.mask)
            assert other.keeps == self.pullback.keeps
            return bound.fitted(other, other.function(*self.values(), *g, bound.sizes), g[0]), None

    def pull_recorded(self, gs: Sequence[Tensor | None], marked: bool) -> _Pulled:
        if gs[1] is None:
            self.values()
            return [None], None
        sign = follow(wrap(np.zeros_like(gs[1]._array)), 0) if gs[0] is None else gs[0]
        return super().pull_recorded([sign, gs[1]], marked)


def _refusing(says: str) -> type[Node]:
    """Create a class of nodes without a derivative."""

    class Refusing(Node):
        __slots__ = ()

        def pull(self, g: object, marked: bool) -> NoReturn:
            raise RuntimeError(says)

        def pull_recorded(self, gs: Sequence[object], marked: bool) -> NoReturn:
            raise RuntimeError(says)

    return Refusing


# Operations --------------------------------------------------------------------------------------


def _op(
    name: str,
    build: Callable[..., Expr | tuple[Expr, ...]],
    kernel: Callable[..., object] | None,
    label: str,
    **options: Any,
) -> Op:
    return Op(name, build, kernel, promotion=None, label=f"{label}Backward0", **options)


CHOLESKY = _op(
    "cholesky",
    lambda x, upper: sd.cholesky(x, upper=upper),
    _cholesky,
    "LinalgCholeskyEx",
    saves=RESULT,
    reuse=_cholesky_known,
)
INV = _op("inv", sd.inv, _inv, "LinalgInvEx", saves=RESULT)
SOLVE = _op("solve", _solution, _solve, "LinalgSolveEx", saves=RESULT, reuse=_solved)
SOLVE_TRIANGULAR = _op(
    "solve_triangular", _by_substitution, _solve_triangular, "LinalgSolveTriangular", saves=RESULT,
    base=_Singular,
)  # fmt: skip
CHOLESKY_SOLVE = _op(
    "cholesky_solve", _by_factor, _cholesky_solve, "CholeskySolve", saves=RESULT, base=_Singular
)
DET = _op("det", sd.det, None, "LinalgDet")
SLOGDET = _op(
    "slogdet", sd.slogdet, lambda a: tuple(np.linalg.slogdet(a)), "LinalgSlogdet", outputs=2,
    partial=True, base=_Slogdet,
)  # fmt: skip
# The same where a matrix is singular: its inverse is infinite, in the pattern of its cofactors.
SLOGDET_SINGULAR = _op(
    "slogdet",
    sd.slogdet,
    SLOGDET.kernel,
    "LinalgSlogdet",
    variant="singular",
    outputs=2,
    saves=RESULT,
    reuse=lambda x, sign, logabsdet: {sd.inv(x): _adjugate(x)},
)
EIGH = _op(
    "eigh",
    lambda x, uplo: sd.eigh(x),
    _eigh,
    "LinalgEigh",
    saves=RESULT,
    outputs=2,
    reuse=_eigh_known,
    partial=True,
)
# Without a gradient, computing the values alone costs less.
EIGVALSH = _op(
    "eigvalsh", lambda x, uplo: sd.eigvalsh(x), lambda a, uplo: _values(a, uplo), "LinalgEigh"
)
SVDVALS = _op("svdvals", sd.svdvals, lambda a: svdvals(a), "LinalgSvd")
SVD = _op(
    "svd",
    _svd_formula,
    lambda a: svd(a, False),
    "LinalgSvd",
    saves=RESULT,
    outputs=3,
    reuse=_svd_known,
    partial=True,
)
# The second operand are the vectors without a singular value, as constants.
SVD_FULL = _op(
    "svd",
    _svd_formula,
    lambda a, rest: svd(a, True),
    "LinalgSvd",
    variant="full",
    saves=RESULT,
    outputs=3,
    reuse=_svd_known,
    partial=True,
    concrete=True,
)
QR = _op(
    "qr", lambda x: _orthogonal(x, "reduced"), _qr, "LinalgQr", saves=RESULT, outputs=2,
    partial=True, base=_Singular,
)  # fmt: skip
QR_R = _op(
    "qr_r",
    lambda x: _orthogonal(x, "r"),
    lambda a: (np.zeros(0, a.dtype), np.linalg.qr(a, "r")),
    "LinalgQr",
    outputs=2,
    base=_refusing(
        "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
        "linalg.qr(A, mode='reduced') if you are going to differentiate through linalg.qr."
    ),
)
QR_COMPLETE = _op(
    "qr_complete",
    lambda x, rest: _orthogonal(x, "complete", rest),
    lambda a, rest: tuple(np.linalg.qr(a, "complete")),
    "LinalgQr",
    outputs=2,
    concrete=True,
    base=_refusing(
        "The QR decomposition is not differentiable when mode='complete' and nrows > ncols."
    ),
)
# The rank of one matrix counts as constant: elsewhere the pseudoinverse jumps.
PINV = _op(
    "pinv",
    lambda x, *limits: opaque(ops.opaque_op(opaque_ops.Pinv, None, limits), x),
    _pinv,
    "LinalgPinv",
    saves=RESULT,
)
LSTSQ = _op("lstsq", _least_squares, _lstsq, "LinalgLstsq", outputs=2, partial=True)
MATRIX_EXP = _op("matrix_exp", sd.expm, None, "LinalgMatrixExp")
CROSS = _op(
    "cross",
    lambda a, b, axis: sd.cross(a, b, axis=axis),
    None,
    "LinalgCross",
)
