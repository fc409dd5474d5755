"""Decompositions and functions of matrices, under their array-API and NumPy names.

Decompositions of symmetric matrices (``cholesky``, ``eigh``, ``eigvalsh``) are functions of the
symmetric part ``(A + A')/2`` of their operand.  So gradients are symmetric, and every derivative is
the derivative of a function of all entries.  NumPy reads one triangle instead, with the same result
for a symmetric matrix.

Batch axes lead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from symdiff import opaque_ops
from symdiff.errors import Unsupported
from symdiff.functions.products import inv, matmul, solve
from symdiff.functions.shaping import matrices, matrix_transpose, tril, triu
from symdiff.graph import ops
from symdiff.graph.algebra import opaque
from symdiff.graph.axes import shape_text
from symdiff.graph.contraction import contract
from symdiff.graph.number import shortened

if TYPE_CHECKING:
    from symdiff.graph.expr import Expr, Operand

__all__ = [
    "EighResult",
    "QRResult",
    "SVDResult",
    "cholesky",
    "eigh",
    "eigvalsh",
    "expm",
    "logm",
    "matrix_power",
    "pinv",
    "qr",
    "solve_triangular",
    "sqrtm",
    "svd",
    "svdvals",
]


def cholesky(x: Operand, /, *, upper: bool = False) -> Expr:
    """Return the lower triangular L with ``L L' = (A + A')/2``, or the upper ``L'``.

    The diagonal is positive.  Raises ShapeError unless the matrices are square.  A Function raises
    LinAlgError if they are not positive definite.

    >>> import symdiff as sd
    >>> A = sd.symbol("A", (5, 3, 3))
    >>> sd.cholesky(A, upper=True) is sd.matrix_transpose(sd.cholesky(A))
    True
    """
    factor = opaque(ops.opaque_op(opaque_ops.Cholesky), matrices("cholesky", x, square=True))
    return matrix_transpose(factor) if upper else factor


def solve_triangular(
    a: Operand, b: Operand, /, *, lower: bool = False, unit_diagonal: bool = False
) -> Expr:
    """Return ``x`` with ``T x = b`` for the upper (or ``lower``) triangle T of a.

    b is as in ``solve``.  The other triangle has no effect, nor has the diagonal with
    ``unit_diagonal``, which takes it as 1: derivatives by them are 0.  Raises ShapeError as
    ``solve`` does.

    >>> import symdiff as sd
    >>> L, b = sd.symbol("L", (3, 3)), sd.symbol("b", 3)
    >>> sd.solve_triangular(L, b, lower=True) is sd.solve(sd.tril(L), b)
    True
    """
    matrix = matrices("solve_triangular", a, square=True)
    off = int(unit_diagonal)
    triangle = tril(matrix, -off) if lower else triu(matrix, off)
    if unit_diagonal:
        triangle = triangle + _identity(matrix)
    return solve(triangle, b)


def _identity(like: Expr) -> Expr:
    """The identity for each matrix of ``like``."""
    n = like.ndim
    return contract([], (*range(n - 1), n - 2), dict(enumerate(like.shape[:-1])))


class EighResult(NamedTuple):
    """The result of ``eigh``.

    >>> import symdiff as sd
    >>> sd.eigh(sd.symbol("A", (2, 2)))._fields
    ('eigenvalues', 'eigenvectors')
    """

    eigenvalues: Expr
    eigenvectors: Expr


def eigh(x: Operand, /) -> EighResult:
    """Return the eigenvalues of ``(A + A')/2``, ascending, and orthonormal eigenvectors as columns.

    ``A v_i = l_i v_i``.  First derivatives of a simple eigenvalue are correct even if others are
    equal.  For equal eigenvalues, derivatives of their symmetric functions (sums, products) are
    correct.  Derivatives of eigenvectors, and second derivatives of eigenvalues, exist only if all
    eigenvalues differ.  If two agree to n eps times the largest absolute one, a Function that needs
    them raises LinAlgError.  LAPACK chooses the signs of eigenvectors, so only expressions that do
    not depend on them are meaningful.

    Raises ShapeError unless the matrices are square.

    >>> import symdiff as sd
    >>> values, vectors = sd.eigh(sd.symbol("A", (5, "n", "n")))
    >>> values.shape, vectors.shape
    ((5, 'n'), (5, 'n', 'n'))
    """
    operand = matrices("eigh", x, square=True)
    return EighResult(
        opaque(ops.opaque_op(opaque_ops.Eigvalsh), operand),
        opaque(ops.opaque_op(opaque_ops.Eigvecs), operand),
    )


def eigvalsh(x: Operand, /) -> Expr:
    """Return the eigenvalues of ``(A + A')/2``, ascending; ``eigh`` describes their derivatives.

    Raises ShapeError unless the matrices are square.

    >>> import symdiff as sd
    >>> A = sd.symbol("A", ("n", "n"))
    >>> sd.eigvalsh(A) is sd.eigh(A).eigenvalues
    True
    """
    return opaque(ops.opaque_op(opaque_ops.Eigvalsh), matrices("eigvalsh", x, square=True))


class SVDResult(NamedTuple):
    """The result of ``svd``.

    >>> import symdiff as sd
    >>> sd.svd(sd.symbol("A", (3, 2)))._fields
    ('U', 'S', 'Vh')
    """

    U: Expr
    S: Expr
    Vh: Expr


def svd(x: Operand, /, *, full_matrices: bool = False) -> SVDResult:
    """Return U, S and Vh with ``A = U diag(S) Vh``; S is descending, as long as the shorter axis.

    Derivatives of singular vectors, and second derivatives of singular values, exist only if all
    singular values differ and none is 0 (one may be 0 if A is square).  Elsewhere, to rounding, a
    Function that needs them raises LinAlgError.  The first derivative of a singular value 0 is one
    of its two one-sided derivatives.  LAPACK chooses signs: a pair ``u_i, v_i`` may change both.

    Raises Unsupported for ``full_matrices=True`` unless A is square (the vectors beyond the
    singular values are arbitrary), and if a symbolic length hides the shorter axis; ShapeError for
    fewer than two axes.

    >>> import symdiff as sd
    >>> U, S, Vh = sd.svd(sd.symbol("A", (5, 3)))
    >>> U.shape, S.shape, Vh.shape
    ((5, 3), (3,), (3, 3))
    """
    operand = matrices("svd", x)
    if full_matrices and operand.shape[-1] != operand.shape[-2]:
        raise Unsupported(
            "svd: full_matrices=True: the vectors without a singular value are arbitrary and have "
            "no derivative; use full_matrices=False"
        )
    u, s, v = (
        opaque(ops.opaque_op(cls), operand)
        for cls in (opaque_ops.LeftVectors, opaque_ops.SingularValues, opaque_ops.RightVectors)
    )
    return SVDResult(u, s, matrix_transpose(v))


def svdvals(x: Operand, /) -> Expr:
    """Return the singular values, descending; ``svd`` describes their derivatives.

    Raises Unsupported if a symbolic length hides the shorter axis, ShapeError for fewer than two
    axes.

    >>> import symdiff as sd
    >>> sd.svdvals(sd.symbol("A", (4, 3, 5))).shape
    (4, 3)
    """
    return opaque(ops.opaque_op(opaque_ops.SingularValues), matrices("svdvals", x))


class QRResult(NamedTuple):
    """The result of ``qr``.

    >>> import symdiff as sd
    >>> sd.qr(sd.symbol("A", (3, 2)))._fields
    ('Q', 'R')
    """

    Q: Expr
    R: Expr


def qr(x: Operand, /, mode: str = "reduced") -> QRResult:
    """Return Q and R with ``A = Q R``: Q has orthonormal columns, R is triangular.

    Q has as many columns as the shorter axis is long; the derivative exists only if as many leading
    columns of A have full rank.  Otherwise a Function that needs it raises LinAlgError.  LAPACK
    chooses signs: a row of R and its column of Q may change both.

    Raises Unsupported for another mode, and if a symbolic length hides the shorter axis; ShapeError
    for fewer than two axes.

    >>> import symdiff as sd
    >>> Q, R = sd.qr(sd.symbol("A", (5, 3)))
    >>> Q.shape, R.shape
    ((5, 3), (3, 3))
    """
    operand = matrices("qr", x)
    m, n = operand.shape[-2:]
    if mode != "reduced":
        raise Unsupported(f"qr: mode {shortened(mode)}; only 'reduced' is known")
    if m != n and (isinstance(m, str) or isinstance(n, str)):
        raise Unsupported(
            f"qr: the matrices of shape {shape_text(operand.shape)} are not known to be at least "
            "as tall as wide, or as wide as tall"
        )
    q, r = (opaque(ops.opaque_op(cls), operand) for cls in (opaque_ops.Qr, opaque_ops.QrTriangle))
    return QRResult(q, r)


def matrix_power(x: Operand, n: int, /) -> Expr:
    """Return the nth power by repeated squaring; for negative n, the power of the inverse.

    Raises TypeError unless n is an integer, ShapeError unless the matrices are square.

    >>> import symdiff as sd
    >>> A = sd.symbol("A", (3, 3))
    >>> sd.matrix_power(A, 3) is A @ (A @ A), sd.matrix_power(A, -1) is sd.inv(A)
    (True, True)
    """
    operand = matrices("matrix_power", x, square=True)
    if isinstance(n, bool) or not isinstance(n, int):
        raise TypeError(f"matrix_power: exponent {shortened(n)} is not an integer")
    if n < 0:
        operand, n = inv(operand), -n
    result: Expr | None = None
    square = operand
    while n:
        if n % 2:
            result = square if result is None else matmul(result, square)
        n //= 2
        if n:
            square = matmul(square, square)
    return _identity(operand) if result is None else result


def pinv(x: Operand, /, *, constant_rank: bool = False) -> Expr:
    """Return the Moore-Penrose pseudoinverse; singular values up to max(m, n) eps s_max count as 0.

    The derivative is for full rank.  Elsewhere the pseudoinverse jumps, and a Function that needs
    the derivative raises LinAlgError.  With ``constant_rank`` the derivative is along matrices of
    the same rank.  Raises ShapeError for fewer than two axes.

    >>> import symdiff as sd
    >>> sd.pinv(sd.symbol("A", ("m", 3))).shape
    (3, 'm')
    """
    full = None if constant_rank else False
    return opaque(ops.opaque_op(opaque_ops.Pinv, full, None), matrices("pinv", x))


def expm(x: Operand, /) -> Expr:
    """Return the matrix exponential ``1 + A + A²/2 + ..``.

    Its derivatives of every order are integrals of products of exponentials.  They are computed as
    corners of exponentials of block matrices.  Raises ShapeError unless the matrices are square.

    >>> import symdiff as sd
    >>> A, t = sd.symbol("A", (3, 3)), sd.symbol("t")
    >>> sd.diff(sd.expm(t * A), t).shape
    (3, 3)
    """
    return opaque(ops.opaque_op(opaque_ops.Expm), matrices("expm", x, square=True))


def sqrtm(x: Operand, /) -> Expr:
    """Return the principal square root X of matrices: ``X X = A``, eigenvalues with real part >= 0.

    An eigenvalue of X may be 0; then A is singular and X has no derivative.  A Function raises
    LinAlgError if an eigenvalue of A is below 0: there is no such root, or no real one.  It needs
    SciPy for matrices that are not symmetric.  The derivative solves Sylvester's equation
    ``X dX + dX X = dA``.  Raises ShapeError unless the matrices are square.

    >>> import symdiff as sd
    >>> A = sd.symbol("A", (5, 3, 3))
    >>> sd.sqrtm(A).shape, sd.sqrtm(A.mT) is sd.sqrtm(A).mT
    ((5, 3, 3), True)
    """
    return opaque(ops.opaque_op(opaque_ops.Sqrtm), matrices("sqrtm", x, square=True))


def logm(x: Operand, /) -> Expr:
    """Return the principal logarithm X of matrices: ``expm(X) = A`` with ``abs(Im λ) < π``.

    A Function raises LinAlgError if an eigenvalue of A is 0 or below: there is no such logarithm,
    or no real one.  It needs SciPy for matrices that are not symmetric.  Derivatives of every order
    are corners of logarithms of block matrices, as for ``expm``.  Raises ShapeError unless the
    matrices are square.

    >>> import symdiff as sd
    >>> A = sd.symbol("A", (3, 3))
    >>> sd.grad(sd.trace(sd.logm(A)), A).shape
    (3, 3)
    """
    return opaque(ops.opaque_op(opaque_ops.Logm), matrices("logm", x, square=True))
