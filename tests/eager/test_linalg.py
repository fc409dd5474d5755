"""``linalg`` and its twins: values, both derivatives, names, degenerate cases, errors.

Derivatives are compared with differences, of functions that do not depend on the signs of
eigenvectors, singular vectors and columns of Q.
"""

import copy
import math
import pickle
import warnings

import numpy as np
import pytest

from tests.eager.chosen import check, leaf, ours, torch
from tests.eager.differences import agree

L = torch.linalg
INF, NAN = math.inf, math.nan


def arrays(shapes):
    """Matrices that are far from singular, with distinct singular values."""
    rng = np.random.default_rng(7)
    found = [rng.standard_normal(shape) for shape in shapes]
    return [a + np.diag(np.arange(2.0, a.shape[-1] + 2)) if is_square(a) else a for a in found]


def is_square(a):
    return a.ndim > 1 and a.shape[-1] == a.shape[-2]


def positive(x):
    """Symmetric and positive definite, with distinct eigenvalues; of any matrix."""
    n = x.shape[-1]
    return x @ x.mT + torch.diag(torch.arange(1, n + 1).to(x.dtype))


def np_positive(x):
    return x @ np.swapaxes(x, -1, -2) + np.diag(np.arange(1.0, x.shape[-1] + 1))


def triangle(a, upper, unit=False):
    t = np.triu(a) if upper else np.tril(a)
    return t - np.diag(np.diag(t)) + np.eye(len(a)) if unit else t


def swapped(a):
    return np.swapaxes(a, -1, -2)


S3, S4, T43, W34 = (3, 3), (4, 4), (4, 3), (3, 4)
BATCH, B43, B34 = (2, 3, 3), (2, 4, 3), (2, 3, 4)

# In PyTorch the others have no gradient: what they save is changed in place.
CONDITIONS = [None, 2, -2, "nuc"]
if torch.__name__ == "numeric":
    CONDITIONS += [1, -1, INF, "fro"]

# Function, the same on arrays, shapes of the operands, name of the node.
ROWS = [
    *((L.inv, np.linalg.inv, [s], "LinalgInvExBackward0")
      for s in (S3, BATCH, (1, 1), (2, 1, 2, 2))),
    (torch.inverse, np.linalg.inv, [S3], "LinalgInvExBackward0"),
    *((L.det, np.linalg.det, [s], "LinalgDetBackward0") for s in (S3, S4, BATCH, (1, 1))),
    (torch.det, np.linalg.det, [(2, 2)], "LinalgDetBackward0"),
    (lambda x: L.slogdet(x).logabsdet, lambda a: np.linalg.slogdet(a)[1], [S3],
     "LinalgSlogdetBackward0"),
    (lambda x: torch.slogdet(x)[1], lambda a: np.linalg.slogdet(a)[1], [BATCH],
     "LinalgSlogdetBackward0"),
    (lambda x: torch.logdet(positive(x)), lambda a: np.log(np.linalg.det(np_positive(a))), [BATCH],
     "WhereBackward0"),
    (L.solve, np.linalg.solve, [S3, (3, 2)], "LinalgSolveExBackward0"),
    (L.solve, np.linalg.solve, [S3, (3,)], "LinalgSolveExBackward0"),
    (L.solve, lambda a, b: np.linalg.solve(a, b[..., None])[..., 0], [BATCH, (2, 3)],
     "LinalgSolveExBackward0"),
    (L.solve, lambda a, b: np.linalg.solve(a, b[..., None])[..., 0], [BATCH, (3,)],
     "LinalgSolveExBackward0"),
    (L.solve, np.linalg.solve, [BATCH, (3, 2)], "LinalgSolveExBackward0"),
    (L.solve, np.linalg.solve, [S3, (4, 3, 2)], "LinalgSolveExBackward0"),
    (L.solve, np.linalg.solve, [(2, 1, 3, 3), (4, 3, 2)], "LinalgSolveExBackward0"),
    (lambda a, b: L.solve(a, b, left=False), lambda a, b: b @ np.linalg.inv(a), [S3, (2, 3)],
     "LinalgSolveExBackward0"),
    *(
        (
            lambda a, b, u=upper, n=unit: L.solve_triangular(a, b, upper=u, unitriangular=n),
            lambda a, b, u=upper, n=unit: np.linalg.solve(triangle(a, u, n), b),
            [S3, (3, 2)],
            "LinalgSolveTriangularBackward0",
        )
        for upper in (True, False)
        for unit in (True, False)
    ),
    (lambda a, b: L.solve_triangular(a, b, upper=True, left=False),
     lambda a, b: b @ np.linalg.inv(np.triu(a)), [S3, (2, 3)], "LinalgSolveTriangularBackward0"),
    (lambda a, b: L.solve_triangular(a, b, upper=False),
     lambda a, b: np.linalg.solve(np.tril(a), b), [BATCH, (3, 2)],
     "LinalgSolveTriangularBackward0"),
    (lambda a, b: torch.cholesky_solve(b, torch.tril(a)),
     lambda a, b: np.linalg.solve(np.tril(a) @ np.tril(a).T, b), [S3, (3, 2)],
     "CholeskySolveBackward0"),
    (lambda a, b: torch.cholesky_solve(b, torch.triu(a), upper=True),
     lambda a, b: np.linalg.solve(np.triu(a).T @ np.triu(a), b), [S3, (3, 2)],
     "CholeskySolveBackward0"),
    *(
        (L.pinv, np.linalg.pinv, [s], "LinalgPinvBackward0")
        for s in (S3, T43, W34, B43, B34, (1, 3))
    ),
    (torch.pinverse, np.linalg.pinv, [T43], "LinalgPinvBackward0"),
    (lambda x: L.pinv(positive(x), hermitian=True), lambda a: np.linalg.inv(np_positive(a)), [S3],
     "LinalgPinvBackward0"),
    *(
        (lambda a, b: L.lstsq(a, b).solution, lambda a, b: np.linalg.pinv(a) @ b, [s, t],
         "LinalgLstsqBackward0")
        for s, t in ((T43, (4, 2)), (W34, (3, 2)), (S3, S3), (B43, (2, 4, 1)), (B34, (2, 3, 2)))
    ),
    (lambda a, b: L.lstsq(a, b, driver="gels").solution, lambda a, b: np.linalg.pinv(a) @ b,
     [T43, (4, 2)], "LinalgLstsqBackward0"),
    (lambda a, b: L.lstsq(a, b, driver="gelsd").residuals,
     lambda a, b: ((a @ np.linalg.pinv(a) @ b - b) ** 2).sum(-2), [T43, (4, 2)],
     "LinalgLstsqBackward0"),
    (lambda x: L.cholesky(positive(x)), lambda a: np.linalg.cholesky(np_positive(a)), [S3],
     "LinalgCholeskyExBackward0"),
    (lambda x: L.cholesky(positive(x), upper=True),
     lambda a: swapped(np.linalg.cholesky(np_positive(a))), [BATCH], "LinalgCholeskyExBackward0"),
    *(
        (lambda x, u=u: L.eigvalsh(positive(x), UPLO=u),
         lambda a: np.linalg.eigvalsh(np_positive(a)), [s], "LinalgEighBackward0")
        for u in "LU"
        for s in (S3, BATCH)
    ),
    (lambda x: L.eigh(positive(x)).eigenvectors ** 2,
     lambda a: np.linalg.eigh(np_positive(a))[1] ** 2, [S3], "PowBackward0"),
    *((L.svdvals, lambda a: np.linalg.svd(a)[1], [s], "LinalgSvdBackward0")
      for s in (S3, T43, W34, B34)),
    *(
        (lambda x: L.svd(x, full_matrices=False).U ** 2,
         lambda a: np.linalg.svd(a, full_matrices=False)[0] ** 2, [s], "PowBackward0")
        for s in (S3, T43, W34, B43)
    ),
    *(
        (lambda x: L.svd(x).Vh[..., :3, :] ** 2,
         lambda a: np.linalg.svd(a)[2][..., :3, :] ** 2, [s], "PowBackward0")
        for s in (S3, T43, W34, B34)
    ),
    (lambda x: L.svd(x).S, lambda a: np.linalg.svd(a)[1], [T43], "LinalgSvdBackward0"),
    *((lambda x: L.qr(x).Q, lambda a: np.linalg.qr(a)[0], [s], "LinalgQrBackward0")
      for s in (S3, T43, W34, B43, B34)),
    *((lambda x: L.qr(x).R, lambda a: np.linalg.qr(a)[1], [s], "LinalgQrBackward0")
      for s in (S3, T43, W34, B43, B34)),
    (lambda x: L.qr(x, "complete")[1], lambda a: np.linalg.qr(a, "complete")[1], [W34],
     "LinalgQrBackward0"),
    *((L.matrix_exp, None, [s], "LinalgMatrixExpBackward0") for s in ((2, 2), S3, (2, 2, 2))),
    (torch.matrix_exp, None, [(2, 2)], "LinalgMatrixExpBackward0"),
    *(
        (lambda x, n=n: L.matrix_power(x, n), lambda a, n=n: np.linalg.matrix_power(a, n), [S3],
         name)
        for n, name in ((1, "CloneBackward0"), (2, "MmBackward0"), (3, "MmBackward0"),
                        (5, "MmBackward0"), (-1, "LinalgInvExBackward0"), (-2, "MmBackward0"))
    ),
    (lambda x: torch.matrix_power(x, 2), lambda a: a @ a, [BATCH], "UnsafeViewBackward0"),
    *(
        (lambda *xs: L.multi_dot(xs), lambda *xs: np.linalg.multi_dot(xs), shapes, "ViewBackward0")
        for shapes in ([(2, 3), (3, 4)], [(2, 3), (3, 4), (4, 5)], [(3,), (3, 4), (4,)],
                       [(3,), (3, 4)], [(2, 5), (5, 1), (1, 4), (4, 3)])
    ),
    (L.cross, np.cross, [(2, 3), (2, 3)], "LinalgCrossBackward0"),
    (L.cross, np.cross, [(1, 3), (2, 3)], "LinalgCrossBackward0"),
    (lambda a, b: L.cross(a, b, dim=0), lambda a, b: np.cross(a, b, axis=0), [(3, 2), (3, 2)],
     "LinalgCrossBackward0"),
    (L.vecdot, lambda a, b: (a * b).sum(-1), [(2, 3), (2, 3)], "SumBackward1"),
    (L.diagonal, lambda a: np.diagonal(a, 0, -2, -1), [BATCH], "DiagonalBackward0"),
    *(
        (lambda x, o=o: L.matrix_norm(x, o), lambda a, o=o: np.linalg.norm(a, o, (-2, -1)), [s],
         name)
        for o, name in (("fro", "LinalgVectorNormBackward0"), ("nuc", "SumBackward1"),
                        (INF, "AmaxBackward0"), (-INF, "AminBackward0"), (1, "AmaxBackward0"),
                        (-1, "AminBackward0"), (2, "AmaxBackward0"), (-2, "AminBackward0"))
        for s in (T43, B34)
    ),
    *(
        (lambda x, o=o: L.matrix_norm(x, o, dim=(2, 0), keepdim=True),
         lambda a, o=o: np.linalg.norm(a, o, (2, 0), keepdims=True), [(3, 2, 4)], None)
        for o in ("fro", "nuc", INF, -INF, 1, -1, 2, -2)
    ),
    *(
        (lambda x, o=o: L.matrix_norm(x, o, dim=(0, 2)),
         lambda a, o=o: np.linalg.norm(a, o, (0, 2)), [(3, 2, 4)], None)
        for o in (INF, -1, 2)
    ),
    *(
        (lambda x, o=o: L.vector_norm(x, o), lambda a, o=o: np.linalg.norm(a.ravel(), o), [T43],
         "LinalgVectorNormBackward0")
        for o in (1, -1, 2, -2, 3.5, INF, -INF)
    ),
    (lambda x: L.vector_norm(x, 3, dim=(0, 1), keepdim=True),
     lambda a: (abs(a) ** 3).sum((0, 1), keepdims=True) ** (1 / 3), [(2, 3, 2)],
     "LinalgVectorNormBackward0"),
    *(
        (lambda x, o=o: L.norm(x, o), lambda a, o=o: np.linalg.norm(a, o), [s], None)
        for o in (None, 1, -1, 2, -2, INF, -INF)
        for s in (T43, (4,))
    ),
    (L.norm, lambda a: np.sqrt((a * a).sum()), [(2, 3, 2)], "LinalgVectorNormBackward0"),
    (lambda x: L.norm(x, 2, dim=1), lambda a: np.linalg.norm(a, 2, 1), [T43], None),
    (lambda x: L.norm(x, "nuc", dim=(1, 2)), lambda a: np.linalg.norm(a, "nuc", (1, 2)), [B34],
     "SumBackward1"),
    (lambda x: torch.norm(x, "nuc"), lambda a: np.linalg.norm(a, "nuc"), [T43], "SumBackward1"),
    *(
        (lambda x, p=p: L.cond(x, p), lambda a, p=p: np.linalg.cond(a, p), [S3], None)
        for p in CONDITIONS
    ),
]  # fmt: skip


@pytest.mark.parametrize(("f", "reference", "shapes", "node"), ROWS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_values_and_names(f, reference, shapes, node, dtype):
    given = arrays(shapes)
    xs = [leaf(a, dtype) for a in given]
    y = f(*xs)
    if node:
        assert type(y.grad_fn).__name__ == node
    y.sum().backward()
    assert {x.grad.dtype for x in xs} == {dtype}
    assert [x.grad.shape for x in xs] == [x.shape for x in xs]
    assert y.dtype == dtype
    if reference:
        loose = 1e-9 if dtype == torch.float64 else 1e-2
        check(y, reference(*given), rtol=loose, atol=loose / 10)


@pytest.mark.parametrize(("f", "shapes"), [(row[0], row[2]) for row in ROWS])
def test_derivatives_are_those_of_differences(f, shapes):
    agree(f, *arrays(shapes), rtol=1e-4, atol=1e-5)


# The parts of one decomposition together: functions that depend on no choice of LAPACK's.
def rebuilt(u, s, vh):
    return (u * s[..., None, :]) @ vh


WHOLE = [
    (lambda x: rebuilt(*L.svd(x, full_matrices=False)), T43),
    (lambda x: rebuilt(*L.svd(x)), BATCH),
    (lambda x: (lambda u, s, vh: u * torch.exp(s)[..., None, :] @ vh)(*L.svd(x, False)), W34),
    (lambda x: (lambda q, r: q @ r)(*L.qr(x)), W34),
    (lambda x: (lambda q, r: q @ torch.tril(r.mT))(*L.qr(x)), B43),
    (lambda x: (lambda w, v: v * torch.log(w) @ v.mT)(*L.eigh(positive(x))), S3),
    (lambda x: (lambda s, d: s * torch.exp(d))(*L.slogdet(x)), BATCH),
    (lambda x: (lambda low: low @ low.mT)(L.cholesky(positive(x))), S3),
]


@pytest.mark.parametrize(("f", "shape"), WHOLE)
def test_parts_together(f, shape):
    agree(f, *arrays([shape]), rtol=1e-4, atol=1e-5)


def test_one_triangle_is_read_and_gradients_are_symmetric():
    x = leaf([[2.0, 7.0], [1.0, 3.0]])
    for f in (L.cholesky, L.eigvalsh):
        (g,) = torch.autograd.grad((f(x) ** 3).sum(), x)
        y = leaf([[2.0, 1.0], [1.0, 3.0]])
        check(f(x), f(y).detach().numpy())
        check(g, torch.autograd.grad((f(y) ** 3).sum(), y)[0].numpy())
        check(g, g.mT.numpy())
    check(L.eigvalsh(x, UPLO="U"), L.eigvalsh(torch.tensor([[2.0, 7.0], [7.0, 3.0]])).numpy())
    y = torch.tensor([[9.0, 3.0], [-1.0, 4.0]])
    check(L.cholesky(y, upper=True), [[3.0, 1.0], [0.0, math.sqrt(3)]])


def test_the_other_triangle_of_a_system_gets_no_gradient():
    a, b = leaf([[2.0, NAN], [1.0, 3.0]]), leaf([[1.0], [2.0]])
    L.solve_triangular(a, b, upper=False).sum().backward()
    check(a.grad, [[-1 / 6, 0.0], [-1 / 6, -1 / 6]])
    a = leaf([[2.0, 5.0], [1.0, 3.0]])
    L.solve_triangular(a, b, upper=True, unitriangular=True).sum().backward()
    check(a.grad, [[0.0, -2.0], [0.0, 0.0]])


@ours
def test_the_other_triangle_of_a_factor_gets_no_gradient():  # PyTorch's gradient reads it
    a, b = leaf([[2.0, 7.0], [1.0, 3.0]]), leaf([[1.0], [2.0]])
    c = leaf([[2.0, 0.0], [1.0, 3.0]])
    for x in (a, c):
        torch.cholesky_solve(b, x).sum().backward()
    check(a.grad, c.grad.numpy())
    assert a.grad[0, 1] == 0


# Degenerate cases --------------------------------------------------------------------------------

ONE, ZERO, RANK1 = [[1.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]], [[1.0, 1.0], [1.0, 1.0]]

# Function, operand, gradient of the sum of the results.
DEGENERATE = [
    (lambda x: L.eigh(x)[0], ONE, ONE),
    (lambda x: L.eigvalsh(x), ONE, ONE),
    (lambda x: L.eigvalsh(x)[0], ONE, [[1.0, 0.0], [0.0, 0.0]]),
    (lambda x: L.eigh(x)[1], ONE, [[NAN, NAN], [NAN, NAN]]),
    (lambda x: L.svd(x)[1], ONE, ONE),
    (lambda x: L.svdvals(x), ZERO, ONE),
    (lambda x: L.matrix_norm(x, "nuc"), ONE, ONE),
    (lambda x: L.svd(x)[0], ONE, [[NAN, NAN], [NAN, NAN]]),
    (lambda x: L.svd(x)[2], ONE, [[NAN, NAN], [NAN, NAN]]),
    (lambda x: L.matrix_norm(x, 2), ONE, [[0.5, 0.0], [0.0, 0.5]]),
    (lambda x: L.matrix_norm(x, -2), ONE, [[0.5, 0.0], [0.0, 0.5]]),
    (lambda x: L.matrix_norm(x, 1), ONE, [[0.5, 0.0], [0.0, 0.5]]),
    (lambda x: L.matrix_norm(x, INF), [[1.0, 1.0], [1.0, 0.0]], [[1.0, 1.0], [0.0, 0.0]]),
    (lambda x: L.matrix_norm(x), ZERO, ZERO),
    (lambda x: L.pinv(x), RANK1, [[-0.25, -0.25], [-0.25, -0.25]]),
    (lambda x: L.pinv(x), ZERO, ZERO),
    (lambda x: L.lstsq(x, leaf([[1.0], [2.0]], requires_grad=False))[0], RANK1,
     [[-0.5, -0.5], [-0.25, -0.25]]),
    (lambda x: L.slogdet(x)[1], RANK1, [[INF, -INF], [-INF, INF]]),
    (lambda x: torch.logdet(x), RANK1, [[INF, -INF], [-INF, INF]]),
    (lambda x: torch.logdet(x), [[1.0, 2.0], [1.0, 1.0]], ZERO),
    (lambda x: L.qr(x)[1], RANK1, [[NAN, NAN], [NAN, NAN]]),
]  # fmt: skip


@pytest.mark.parametrize(("f", "data", "expected"), DEGENERATE)
def test_degenerate(f, data, expected):
    x = leaf(data)
    f(x).sum().backward()
    check(x.grad, expected)


@pytest.mark.parametrize("shape", [T43, W34])
def test_pinv_of_deficient_rank_has_the_derivative_along_equal_ranks(shape):
    m, n = shape
    agree(lambda a, b: L.pinv(a @ b, rtol=1e-8), *arrays([(m, 2), (2, n)]), rtol=1e-4, atol=1e-5)


@ours  # PyTorch's gradients of singular determinants are 0
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_det_of_singular_matrices(n):
    a = np.ones((n, n)) * np.arange(n)
    a[: n - 1] += np.diag(np.arange(1.0, n + 1))[: n - 1]
    a[-1] = a[0] if n > 1 else 0
    assert abs(np.linalg.det(a)) < 1e-12
    agree(L.det, a)


@ours
def test_a_singular_matrix_does_not_spoil_its_neighbours():
    x = leaf([RANK1, [[2.0, 0.0], [0.0, 4.0]]])
    L.slogdet(x).logabsdet.sum().backward()
    check(x.grad, [[[INF, -INF], [-INF, INF]], [[0.5, 0.0], [0.0, 0.25]]])


def test_zeros_on_a_diagonal():
    b = torch.ones(2, 1)
    for f in (
        lambda x: L.solve_triangular(x, b, upper=True),
        lambda x: L.solve_triangular(x.T, b, upper=False),
    ):
        y = f(torch.tensor([[0.0, 1.0], [0.0, 2.0]]))
        assert not torch.isfinite(y).all()
    check(L.solve_triangular(torch.tensor([[1.0, 1], [0, 0]]), b, upper=True), [[-INF], [INF]])
    x = torch.tensor([[1.0, 1], [0, 0]], requires_grad=True)
    y = L.solve_triangular(x, b, upper=True)
    y.sum().backward()
    assert not torch.isfinite(x.grad).all()
    check(torch.cholesky_solve(b, torch.zeros(2, 2)), [[NAN], [NAN]])


def test_second_derivatives_of_values_that_share_a_node():
    a = arrays([S3])[0]
    agree(lambda x: L.eigh(positive(x))[0].prod(), a, rtol=1e-4, atol=1e-4)
    agree(lambda x: L.svd(x)[1].prod(), a, rtol=1e-4, atol=1e-4)


def test_a_result_without_a_cotangent_is_left_out():
    x = leaf(ONE)
    values, _ = L.eigh(x)
    seen = []
    values.grad_fn.register_prehook(lambda gs: seen.extend(gs))
    values.sum().backward()
    check(seen[0], [1.0, 1.0])
    assert seen[1] is None
    check(x.grad, ONE)


def test_second_derivatives_where_eigenvalues_are_equal():
    x = leaf(ONE)
    (g,) = torch.autograd.grad(L.eigvalsh(x).prod(), x, create_graph=True)
    check(g, ONE)
    check(torch.autograd.grad(g.sum(), x)[0], [[NAN, NAN], [NAN, NAN]])


# Functions, of which the derivatives may be taken for many cotangents at a time, or traced.
TRACED = [
    (L.inv, S3),
    (L.det, S3),
    (lambda x: L.slogdet(x)[1], S3),
    (lambda x: L.solve(x, x[0]), S3),
    (lambda x: L.solve_triangular(x, x, upper=True), S3),
    (lambda x: L.cholesky(positive(x)), S3),
    (lambda x: L.eigvalsh(positive(x)), S3),
    (L.svdvals, T43),
    (lambda x: L.svd(x, full_matrices=False)[0] ** 2, T43),
    (lambda x: L.qr(x)[1], W34),
    (L.pinv, T43),
    (L.matrix_exp, S3),
    (lambda x: L.matrix_norm(x, "nuc"), T43),
]


@pytest.mark.parametrize(("f", "shape"), TRACED)
def test_many_cotangents_at_a_time(f, shape):
    x = leaf(arrays([shape])[0])
    y = f(x)
    ones = torch.eye(y.numel(), dtype=torch.float64).reshape(-1, *y.shape)
    (found,) = torch.autograd.grad(y, x, ones, is_grads_batched=True, retain_graph=True)
    each = [torch.autograd.grad(y, x, v, retain_graph=True)[0] for v in ones]
    check(found, torch.stack(each).numpy())
    traced = torch.func.jacrev(f)(x.detach())
    check(traced.reshape(found.shape), found.numpy())
    stack = torch.stack([x.detach(), 2 * x.detach() + 0.1])
    check(torch.func.vmap(f)(stack), torch.stack([f(v) for v in stack]).numpy())


@ours
def test_what_cannot_be_traced_is_refused_by_name():
    x = torch.tensor(arrays([B43])[0])
    for f in (L.svd, lambda v: L.qr(v, "complete"), lambda v: L.lstsq(v, v)):
        with pytest.raises(RuntimeError, match=r"linalg\..*: needs the values of its operand"):
            torch.func.vmap(f)(x)


def test_full_vectors_count_as_constants():
    a = arrays([T43])[0]
    full, thin = leaf(a), leaf(a)
    (L.svd(full).U[:, :3] ** 2 * 3).sum(0)[0].backward()
    (L.svd(thin, full_matrices=False).U ** 2 * 3).sum(0)[0].backward()
    check(full.grad, thin.grad.numpy())
    for x in (leaf(a), leaf(a.T)):
        u, _, vh = L.svd(x)
        assert u.shape == (x.shape[0],) * 2
        assert vh.shape == (x.shape[1],) * 2
        check(u.T @ u, np.eye(len(u)))
        check(vh @ vh.T, np.eye(len(vh)))
        (u[:, 3:].sum() + vh[3:].sum()).backward()
        assert torch.isfinite(x.grad).all()


def test_qr_without_gradient():
    x = leaf(arrays([T43])[0])
    q, r = L.qr(x, "complete")
    assert (tuple(q.shape), tuple(r.shape)) == ((4, 4), (4, 3))
    check(q @ r, x.detach().numpy())
    with pytest.raises(RuntimeError, match="mode='complete' and nrows > ncols"):
        r.sum().backward()
    q, r = L.qr(x, mode="r")
    assert tuple(q.shape) == (0,)
    with pytest.raises(RuntimeError, match="not computed when mode='r'"):
        r.sum().backward()


# Results -----------------------------------------------------------------------------------------


def test_named_results():
    x = torch.tensor([[2.0, 0.0], [0.0, 1.0]])
    assert repr(L.svd(x)) == (
        "torch.return_types.linalg_svd(\nU=tensor([[1., 0.],\n        [0., 1.]]),\n"
        "S=tensor([2., 1.]),\nVh=tensor([[1., 0.],\n        [0., 1.]]))"
    )
    fields = {
        "linalg_eigh": (L.eigh(x), "eigenvalues eigenvectors"),
        "linalg_qr": (L.qr(x), "Q R"),
        "linalg_slogdet": (L.slogdet(x), "sign logabsdet"),
        "slogdet": (torch.slogdet(x), "sign logabsdet"),
        "linalg_lstsq": (L.lstsq(x, x), "solution residuals rank singular_values"),
    }
    for name, (result, names) in fields.items():
        assert repr(result).startswith(f"torch.return_types.{name}(\n{names.split()[0]}=")
        for i, field in enumerate(names.split()):
            assert getattr(result, field) is result[i]


def test_one_node_for_several_results():
    x = leaf(arrays([S3])[0])
    for result, labels in (
        (L.svd(x), ["LinalgSvdBackward0"] * 3),
        (L.eigh(x @ x.T), ["LinalgEighBackward0"] * 2),
        (L.qr(x), ["LinalgQrBackward0"] * 2),
        (L.slogdet(x), ["LinalgSlogdetBackward0"] * 2),
    ):
        assert [type(y.grad_fn).__name__ for y in result] == labels
        assert [y.output_nr for y in result] == list(range(len(labels)))
        assert len({id(y.grad_fn) for y in result}) == 1
    assert L.svdvals(x).output_nr == 1
    assert L.solve(x, x).grad_fn.next_functions == ((x_end(x), 0), (x_end(x), 0))


def x_end(x):
    return (x * 1).grad_fn.next_functions[0][0]


@pytest.mark.parametrize("driver", [None, "gels", "gelsy", "gelsd", "gelss"])
@pytest.mark.parametrize(
    ("shape", "b"), [(T43, (4, 2)), (W34, (3, 2)), (B43, (2, 4, 2)), (T43, (4,))]
)
def test_lstsq(driver, shape, b):
    a, b = (torch.tensor(v) for v in arrays([shape, b]))
    solution, residuals, rank, values = L.lstsq(a, b, driver=driver)
    columns = b if b.ndim > 1 else b[:, None]
    check(
        solution if b.ndim > 1 else solution[:, None], np.linalg.pinv(a.numpy()) @ columns.numpy()
    )
    assert not rank.dtype.is_floating_point
    assert rank.tolist() == ([] if driver == "gels" else np.full(a.shape[:-2], 3).tolist())
    if driver in ("gelsd", "gelss"):
        check(values, np.linalg.svd(a.numpy())[1])
    else:
        assert tuple(values.shape) == (0,)
    if driver in (None, "gelsy") or shape == W34:
        assert tuple(residuals.shape) == (0,)
    elif b.ndim > 1:
        check(residuals, ((a @ solution - columns) ** 2).sum(-2).numpy())


def test_tolerances():
    x = torch.diag(torch.tensor([4.0, 1.0, 1e-3]))
    check(L.pinv(x, rtol=0.01), np.diag([0.25, 1, 0]))
    check(L.pinv(x, rcond=0.5), np.diag([0.25, 0, 0]))
    check(L.pinv(x, atol=0.01), np.diag([0.25, 1, 0]))
    check(L.pinv(x, rtol=torch.tensor(0.01), hermitian=True), np.diag([0.25, 1, 0]))
    assert L.matrix_rank(x).item() == 3
    assert L.matrix_rank(x, atol=0.01).item() == 2
    assert L.matrix_rank(x, rtol=0.5, hermitian=True).item() == 1
    assert L.matrix_rank(x, tol=0.01).item() == 2
    assert L.matrix_rank(torch.ones(2, 3, 3)).tolist() == [1, 1]


def test_orders_that_have_no_gradient():
    assert L.vector_norm(torch.tensor([1.0, 0.0, 3.0]), 0).item() == 2
    x = torch.eye(2).double()
    assert L.matrix_norm(torch.eye(2), dtype=torch.float64).dtype == torch.float64
    check(L.cond(torch.zeros(2, 2), 1), INF)
    check(L.cond(torch.stack([SINGULAR, torch.eye(2)]), 1), [INF, 1.0])
    check(L.matrix_power(leaf([[2.0, 1.0], [0.0, 3.0]]), 0), x.numpy())
    y = leaf([[2.0, 1.0], [0.0, 3.0]])
    L.matrix_power(y, 0).sum().backward()
    check(y.grad, ZERO)


def test_nothing():
    none = torch.ones(0, 0)
    assert L.det(none).item() == 1
    assert tuple(L.inv(none).shape) == (0, 0)
    assert tuple(L.cholesky(none).shape) == (0, 0)
    assert tuple(L.eigh(none)[1].shape) == (0, 0)
    assert tuple(L.matrix_exp(none).shape) == (0, 0)
    assert L.slogdet(none)[1].item() == 0
    assert tuple(L.pinv(torch.ones(0, 3)).shape) == (3, 0)
    assert [tuple(y.shape) for y in L.svd(torch.ones(0, 3))] == [(0, 0), (0,), (3, 3)]
    assert [tuple(y.shape) for y in L.qr(torch.ones(0, 3))] == [(0, 0), (0, 3)]
    check(L.lstsq(torch.ones(0, 3), torch.ones(0, 2))[0], np.zeros((3, 2)))
    assert L.matrix_norm(torch.ones(3, 0), 1).item() == 0
    x = torch.ones(0, 3, 3, requires_grad=True)
    (L.inv(x).sum() + L.svd(x)[0].sum()).backward()
    assert tuple(x.grad.shape) == (0, 3, 3)


def test_what_is_not_finite():
    nan = torch.tensor([[NAN, 0.0], [0.0, 1.0]])
    assert torch.isnan(L.eigh(nan)[0]).any()
    assert torch.isnan(L.matrix_exp(nan)).any()
    for f in (L.svd, L.svdvals, L.pinv, L.cholesky):
        with pytest.raises(L.LinAlgError):
            f(nan)


def test_methods_and_twins():
    a = torch.tensor(arrays([S3])[0])
    for name in ("det", "inverse", "logdet", "matrix_exp", "pinverse"):
        y, z = getattr(a, name)(), getattr(torch, name)(a)
        assert torch.equal(y, z) or torch.isnan(y).all()
    assert torch.equal(a.slogdet()[1], torch.slogdet(a)[1])
    assert torch.equal(a.matrix_power(3), L.matrix_power(a, 3))
    assert torch.equal(a.cholesky_solve(torch.tril(a)), torch.cholesky_solve(a, torch.tril(a)))
    assert torch.equal(a.cross(a.T, dim=1), L.cross(a, a.T))
    assert torch.equal(torch.cross(a, a.T, 0), L.cross(a, a.T, dim=0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert torch.equal(torch.cross(a, a.T), L.cross(a, a.T, dim=0))
    assert L.cross(torch.tensor([1, 2, 3]), torch.tensor([1, 0, 3])).tolist() == [6, 0, -2]
    assert L.matrix_power(torch.tensor([[1, 1], [0, 1]]), 3).tolist() == [[1, 3], [0, 1]]
    assert torch.equal(L.inv(A=a), L.inv(a))
    assert issubclass(L.LinAlgError, RuntimeError)


def test_saved_results_are_watched():
    x = leaf(arrays([S3])[0])
    for f in (L.inv, L.matrix_exp, lambda x: L.cholesky(positive(x)), lambda x: L.eigh(x)[1]):
        y = f(x)
        with torch.no_grad():
            if f is L.matrix_exp:
                x.mul_(1)  # it saves its operand
            else:
                y.mul_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()


@ours
def test_histories_can_be_copied_and_pickled():
    x = leaf(arrays([S3])[0])
    y = L.eigh(positive(x)).eigenvalues.sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    again, end = pickle.loads(pickle.dumps(((g * g).sum(), x)))
    check(torch.autograd.grad(again, end)[0], torch.autograd.grad((g * g).sum(), x)[0].numpy())
    check(copy.deepcopy(x), x.detach().numpy())


@ours
def test_formulas():
    x = leaf(arrays([T43])[0])
    for y in (*L.svd(x), *L.qr(x), L.pinv(x), L.lstsq(x, x)[0], *L.qr(x, "complete")):
        assert y.expr.shape == tuple(y.shape)


# Errors ------------------------------------------------------------------------------------------


def o(*shape):
    return torch.ones(shape)


def eye(n):
    return torch.eye(n)


SINGULAR = torch.tensor([[1.0, 2.0], [2.0, 4.0]])
SQUARE = "A must be batches of square matrices, but they are 2 by 3 matrices"
TWO = "must have at least 2 dimensions"
REAL = "Expected a floating point or complex tensor as input. Got Long"

ERRORS = [
    *((lambda f=f: f(o(2, 3)), RuntimeError, SQUARE)
      for f in (L.inv, L.det, L.slogdet, L.cholesky, L.eigh, L.eigvalsh, L.matrix_exp, torch.det,
                torch.logdet, torch.inverse, lambda x: L.solve(x, x),
                lambda x: L.matrix_power(x, 2), lambda x: L.cond(x, 1),
                lambda x: L.solve_triangular(x, x, upper=True),
                lambda x: torch.cholesky_solve(x, x))),
    *((lambda f=f: f(o(3)), RuntimeError, TWO)
      for f in (L.inv, L.det, L.slogdet, L.cholesky, L.eigh, L.svd, L.svdvals, L.qr, L.matrix_norm,
                L.matrix_rank, lambda x: L.lstsq(x, x), lambda x: L.solve(eye(3), x[0]))),
    *((lambda f=f: f(torch.eye(2).long()), RuntimeError, REAL)
      for f in (L.inv, L.det, L.slogdet, L.cholesky, L.svd, L.qr, L.matrix_exp, L.matrix_norm,
                L.norm, L.vector_norm, torch.logdet, lambda x: L.matrix_power(x, -1),
                lambda x: L.solve(x, x), lambda x: L.vecdot(x, x))),
    (lambda: L.eigh(eye(2).long()), NotImplementedError, "linalg_eigh_cpu"),
    (lambda: L.inv(eye(2).half()), RuntimeError, "Low precision dtypes not supported. Got Half"),
    (lambda: L.pinv(o(3)), RuntimeError, "expected a tensor with 2 or more dimensions"),
    (lambda: L.inv(SINGULAR), L.LinAlgError,
     "linalg.inv: The diagonal element 2 is zero, the inversion could not be completed because"),
    (lambda: L.inv(torch.stack([eye(2), 0 * eye(2)])), L.LinAlgError,
     r"\(Batch element 1\): The diagonal element 1 is zero"),
    (lambda: L.matrix_power(SINGULAR, -1), L.LinAlgError, "linalg.inv: The diagonal element 2"),
    (lambda: L.solve(SINGULAR, o(2)), L.LinAlgError,
     "torch.linalg.solve: The solver failed because the input matrix is singular"),
    (lambda: L.solve(torch.stack([eye(2), SINGULAR]), o(2, 2)), L.LinAlgError,
     r"solve: \(Batch element 1\): The solver failed"),
    (lambda: L.solve(eye(2), o(3)), RuntimeError, r"equation AX = B \(2x2 and 3x1\)"),
    (lambda: L.solve(eye(2), o(2, 3), left=False), RuntimeError, "XA = B"),
    (lambda: L.solve(eye(2), eye(2).double()), RuntimeError, "A of type Float and B of type Doub"),
    (lambda: L.solve(o(3, 2, 2), o(4, 2, 1)), RuntimeError, r"a \(4\) must match .* b \(3\)"),
    (lambda: L.solve_triangular(eye(2), o(2), upper=True), RuntimeError, "B " + TWO),
    (lambda: L.solve_triangular(eye(2), o(3, 1), upper=True), RuntimeError, "2x2 and 3x1"),
    (lambda: L.solve_triangular(eye(2), o(2, 1)), TypeError, "\"upper\""),
    (lambda: L.cholesky(SINGULAR - 3), L.LinAlgError, "leading minor of order 1 is not positive"),
    (lambda: L.cholesky(torch.stack([eye(2), -eye(2)])), L.LinAlgError,
     r"cholesky: \(Batch element 1\): The factorization could not be completed"),
    (lambda: L.cholesky(torch.tensor([[1.0, 2], [2, 1]])), L.LinAlgError, "minor of order 2"),
    (lambda: L.eigh(eye(2), UPLO="X"), RuntimeError, "to be 'L' or 'U', but got X"),
    (lambda: L.qr(eye(2), "x"), RuntimeError, "unrecognized mode 'x'"),
    (lambda: L.svd(NAN * eye(2)), L.LinAlgError, "input matrix contained non-finite values"),
    (lambda: L.lstsq(o(3, 2), o(2, 2)), RuntimeError, "size.* should match other.size"),
    (lambda: L.lstsq(o(3, 2), o(3, 1), driver="x"), RuntimeError, "should be one of"),
    (lambda: L.lstsq(o(3, 2), o(3, 1).double()), RuntimeError, "have the same dtype"),
    (lambda: L.lstsq(SINGULAR * 0 + 1, o(2, 1), driver="gels"), L.LinAlgError,
     "does not have full rank"),
    (lambda: L.matrix_norm(o(3, 3), "x"), RuntimeError, "Order x not supported"),
    (lambda: L.matrix_norm(o(3, 3), 3), RuntimeError, "Order 3 not supported"),
    (lambda: L.norm(o(3, 3), 0), RuntimeError, "Order 0 not supported"),
    (lambda: L.matrix_norm(o(3, 3), dim=(0, 0)), RuntimeError, "dims must be different"),
    (lambda: L.matrix_norm(o(3, 3), dim=(0,)), RuntimeError, "dim must be a 2-tuple"),
    (lambda: L.matrix_norm(o(3, 3), dim=(0, 5)), IndexError, "Dimension out of range"),
    (lambda: L.matrix_norm(o(3, 3), dtype=torch.int32), RuntimeError, "but got Int"),
    (lambda: L.matrix_norm(o(3, 3).double(), dtype=torch.float32), RuntimeError, "narrowing"),
    (lambda: L.norm(o(2, 3, 4), 2), RuntimeError, "must be 1D or 2D. Got 3D"),
    (lambda: L.norm(o(2, 3), 2, dim=(0, 1, 1)), RuntimeError, "must be of length 1 or 2"),
    (lambda: torch.norm(o(2, 2, 2), "nuc"), RuntimeError, "dim must be a 2-tuple. Got 0 1 2"),
    (lambda: L.vector_norm(o(2, 3), "fro"), TypeError, "must be Number, not str"),
    (lambda: L.matrix_power(eye(2), 1.5), TypeError, "must be int, not float"),
    (lambda: L.multi_dot([o(2, 3)]), RuntimeError, "at least 2 tensors but got 1"),
    (lambda: L.multi_dot([o(2, 3), o(2, 3)]), RuntimeError, r"0 and 1 with shapes \[2, 3\]"),
    (lambda: L.multi_dot([o(2, 3), o(2, 3, 3)]), RuntimeError, "last tensor must be 1D or 2D"),
    (lambda: L.multi_dot([o(2, 3), o(3), o(3)]), RuntimeError, "tensor 1 must be 2D but got 1D"),
    (lambda: L.multi_dot([o(2, 3), o(3, 2).double()]), RuntimeError, "float and tensor 1 double"),
    (lambda: torch.cholesky_solve(o(3, 1), eye(2)), RuntimeError, "each A matrix is 2 by 2 but"),
    (lambda: torch.cholesky_solve(o(2), eye(2)), RuntimeError, "b should have at least 2 dim"),
    (lambda: torch.cholesky_solve(o(2, 1), eye(2).double()), RuntimeError, "Float and A of type"),
    (lambda: L.cross(o(3), o(2)), RuntimeError, "-1 must have length 3. Got 3 and 2"),
    (lambda: L.cross(o(3), o(2, 3)), RuntimeError, "must have the same number of dimensions"),
    (lambda: L.cross(o(3), o(3).double()), RuntimeError, "scalar type"),
    (lambda: torch.cross(o(2, 2), o(2, 2)), RuntimeError, "no dimension of size 3"),
    (lambda: L.cond(eye(3), 3), RuntimeError, "invalid norm type: 3"),
    (lambda: L.det(3), TypeError, r"argument 'A' \(position 1\) must be Tensor, not int"),
]  # fmt: skip


@pytest.mark.parametrize(("f", "error", "says"), ERRORS)
def test_errors(f, error, says):
    with pytest.raises(error, match=says):
        f()


@pytest.mark.parametrize("left", [True, False])
def test_solve_saves_the_solution_and_not_the_right_side(left):
    """Rule 34: what the derivative does not need may be changed."""
    a = torch.eye(3).double() * 2
    a.requires_grad_()
    b = torch.ones(3).double().requires_grad_() * 1 if left else torch.ones(2, 3).double() * 1
    x = torch.linalg.solve(a, b, left=left)
    b.mul_(5)
    x.sum().backward()
    assert a.grad.tolist() == [[-0.25 if left else -0.5] * 3] * 3
