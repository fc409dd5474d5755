"""``linalg`` beyond ``op_examples``: degenerate cases, results, many cotangents, errors."""

import copy
import math
import pickle

import numpy as np
import pytest

from tests.eager.chosen import check, leaf, ours, torch
from tests.support.refusals import refusing

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


S3, S4, T43, W34 = (3, 3), (4, 4), (4, 3), (3, 4)
BATCH, B43, B34 = (2, 3, 3), (2, 4, 3), (2, 3, 4)


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


@ours  # PyTorch's gradients of singular determinants are 0
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_det_of_singular_matrices(n):
    a = np.ones((n, n)) * np.arange(n)
    a[: n - 1] += np.diag(np.arange(1.0, n + 1))[: n - 1]
    a[-1] = a[0] if n > 1 else 0
    assert abs(np.linalg.det(a)) < 1e-12
    tolerances = {"rtol": 1e-5, "atol": 1e-7}
    assert torch.autograd.gradcheck(L.det, leaf(a), **tolerances)
    assert torch.autograd.gradgradcheck(L.det, leaf(a), rtol=1e-4, atol=1e-6)


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


@ours  # PyTorch's depends on roundings
def test_qr_of_deficient_rank_has_no_gradient():
    x = leaf(RANK1)
    L.qr(x).R.sum().backward()
    assert torch.isnan(x.grad).all()


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


def test_results_are_printed_with_names():
    x = torch.tensor([[2.0, 0.0], [0.0, 1.0]])
    assert repr(L.svd(x)) == (
        "torch.return_types.linalg_svd(\nU=tensor([[1., 0.],\n        [0., 1.]]),\n"
        "S=tensor([2., 1.]),\nVh=tensor([[1., 0.],\n        [0., 1.]]))"
    )


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


def test_what_is_not_finite():
    nan = torch.tensor([[NAN, 0.0], [0.0, 1.0]])
    assert torch.isnan(L.eigh(nan)[0]).any()
    assert torch.isnan(L.matrix_exp(nan)).any()
    for f in (L.svd, L.svdvals, L.pinv, L.cholesky):
        with pytest.raises(L.LinAlgError):
            f(nan)


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


test_errors = refusing(ERRORS)


# Derivatives through eigenvectors and singular vectors: of scalars, so that signs do not matter.
BY_VECTORS = {
    "eigenvectors": (torch.func.grad, lambda a: (L.eigh(a).eigenvectors ** 4).sum()),
    "eigenvectors twice": (torch.func.hessian, lambda a: (L.eigh(a).eigenvectors ** 4).sum()),
    "eigenvalues twice": (torch.func.hessian, lambda a: (L.eigvalsh(a) ** 3).sum()),
    "singular vectors": (torch.func.grad, lambda a: (L.svd(a).U ** 4).sum()),
    "singular values twice": (torch.func.hessian, lambda a: (L.svdvals(a) ** 3).sum()),
    "nuclear norm": (torch.func.hessian, lambda a: L.matrix_norm(a, "nuc")),
    "spectral norm": (torch.func.hessian, lambda a: L.matrix_norm(a, 2)),
    "tangents": (
        lambda f: lambda a: torch.func.jvp(f, (a,), (a * a,))[1],
        lambda a: (L.eigh(a).eigenvectors ** 4).sum(),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BY_VECTORS)
def test_batches_of_derivatives_by_vectors(name):
    """As the loop over the matrices; a trace never asks what a program makes of other numbers."""
    transform, f = BY_VECTORS[name]
    (a,) = arrays([BATCH])
    batch = torch.tensor(a + a.swapaxes(-1, -2))
    one = transform(f)
    expected = torch.stack([one(x) for x in batch])
    scale = float(expected.abs().max())
    check(torch.func.vmap(one)(batch), expected.numpy(), 1e-12, 1e-12 * scale)
    if "twice" not in name:
        check(torch.compile(one)(batch[0]), expected[0].numpy(), 1e-12, 1e-12 * scale)


@ours
def test_equal_eigenvalues_are_refused_in_a_batch_too():
    batch = torch.stack([torch.diag(torch.tensor([1.0, 2.0])), torch.eye(2)])
    slope = torch.func.grad(lambda a: (L.eigh(a).eigenvectors ** 4).sum())
    with pytest.raises(np.linalg.LinAlgError, match="two eigenvalues"):
        torch.func.vmap(slope)(batch)
