"""Products of vectors and matrices: values as NumPy's, both derivatives, names, dtypes, errors."""

import numpy as np
import pytest

from tests.eager.chosen import check, leaf, ours, torch
from tests.eager.differences import agree


def at(a, b):
    return a @ b


def einsum(equation):
    return (
        lambda *xs: torch.einsum(equation, *xs),
        lambda *xs: np.einsum(equation, *xs),
    )


# Function, the same on arrays, shapes of the operands, name of the node.
ROWS = [
    (at, np.matmul, [(3,), (3,)], "DotBackward0"),
    (at, np.matmul, [(2, 3), (3,)], "MvBackward0"),
    (at, np.matmul, [(3,), (3, 2)], "SqueezeBackward4"),
    (at, np.matmul, [(2, 3), (3, 4)], "MmBackward0"),
    (at, np.matmul, [(1, 3), (3, 1)], "MmBackward0"),
    (at, np.matmul, [(4, 2, 3), (3,)], "UnsafeViewBackward0"),
    (at, np.matmul, [(4, 2, 3), (3, 2)], "UnsafeViewBackward0"),
    (at, np.matmul, [(3,), (4, 3, 2)], "UnsafeViewBackward0"),
    (at, np.matmul, [(2, 3), (4, 3, 2)], "CloneBackward0"),
    (at, np.matmul, [(4, 2, 3), (4, 3, 2)], "UnsafeViewBackward0"),
    (at, np.matmul, [(2, 1, 2, 3), (1, 3, 3, 2)], "UnsafeViewBackward0"),
    (torch.matmul, np.matmul, [(2, 3), (3, 4)], "MmBackward0"),
    (torch.mm, np.matmul, [(2, 3), (3, 4)], "MmBackward0"),
    (torch.mv, np.matmul, [(2, 3), (3,)], "MvBackward0"),
    (torch.dot, np.dot, [(3,), (3,)], "DotBackward0"),
    (torch.vdot, np.dot, [(3,), (3,)], "VdotBackward0"),
    (torch.bmm, np.matmul, [(4, 2, 3), (4, 3, 2)], "BmmBackward0"),
    (torch.inner, np.inner, [(2, 3), (4, 3)], "ViewBackward0"),
    (torch.inner, np.inner, [(), (3,)], "MulBackward0"),
    (torch.outer, np.outer, [(2,), (3,)], "MulBackward0"),
    (torch.addmm, lambda x, a, b: x + a @ b, [(2,), (4, 3), (3, 2)], "AddmmBackward0"),
    (torch.addmm, lambda x, a, b: x + a @ b, [(), (4, 3), (3, 2)], "AddmmBackward0"),
    (
        lambda x, a, b: torch.addmm(x, a, b, beta=0.5, alpha=2),
        lambda x, a, b: x / 2 + 2 * (a @ b),
        [(4, 2), (4, 3), (3, 2)],
        "AddmmBackward0",
    ),
    (torch.addmv, lambda x, a, b: x + a @ b, [(2,), (2, 3), (3,)], "AddmvBackward0"),
    (torch.addr, lambda x, a, b: x + np.outer(a, b), [(3, 2), (3,), (2,)], "AddrBackward0"),
    (torch.baddbmm, lambda x, a, b: x + a @ b, [(2,), (4, 2, 3), (4, 3, 2)], "BaddbmmBackward0"),
    (torch.tensordot, np.tensordot, [(2, 3, 4), (3, 4, 5)], "ViewBackward0"),
    (
        lambda a, b: torch.tensordot(a, b, dims=([1, 0], [0, 1])),
        lambda a, b: np.tensordot(a, b, axes=([1, 0], [0, 1])),
        [(2, 3, 4), (3, 2, 5)],
        "ViewBackward0",
    ),
    (torch.kron, np.kron, [(2, 3), (2, 2)], "UnsafeViewBackward0"),
    (torch.kron, np.kron, [(2,), (2, 2)], "UnsafeViewBackward0"),
    (torch.trace, np.trace, [(3, 2)], "TraceBackward0"),
    (*einsum("ij,jk->ik"), [(2, 3), (3, 4)], "ViewBackward0"),
    (*einsum("ij,jk,kl->il"), [(2, 3), (3, 4), (4, 2)], "ViewBackward0"),
    (*einsum("bij,bjk"), [(2, 3, 2), (2, 2, 4)], "ViewBackward0"),
    (*einsum("bn,anm,bm->ba"), [(2, 3), (4, 3, 5), (2, 5)], "ViewBackward0"),
    (*einsum("...ij,...jk->...ik"), [(5, 2, 3), (3, 4)], "ViewBackward0"),
    (*einsum("i,j"), [(3,), (2,)], "MulBackward0"),
    (*einsum("ij,ij->ij"), [(1, 3), (2, 3)], "MulBackward0"),
    (*einsum("ii"), [(3, 3)], "SumBackward1"),
    (*einsum("ii->i"), [(3, 3)], "PermuteBackward0"),
    (*einsum("ij->ji"), [(3, 2)], "PermuteBackward0"),
]


def arrays(shapes):
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape) for shape in shapes]


@pytest.mark.parametrize(("f", "reference", "shapes", "node"), ROWS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_values_and_names(f, reference, shapes, node, dtype):
    given = arrays(shapes)
    xs = [leaf(a, dtype) for a in given]
    y = f(*xs)
    assert type(y.grad_fn).__name__ == node
    y.sum().backward()
    assert {x.grad.dtype for x in xs} == {dtype}
    assert y.dtype == dtype
    check(y, reference(*given), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("f", "reference", "shapes"), [row[:3] for row in ROWS if row[0] is at])
def test_integers(f, reference, shapes):
    given = [np.arange(np.prod(shape)).reshape(shape) for shape in shapes]
    y = f(*[torch.tensor(a) for a in given])
    assert y.dtype == torch.int64
    assert not y.requires_grad
    assert y.tolist() == reference(*given).tolist()


@pytest.mark.parametrize(("f", "shapes"), [(row[0], row[2]) for row in ROWS])
def test_derivatives_are_those_of_differences(f, shapes):
    agree(f, *arrays(shapes))


@pytest.mark.parametrize("shapes", [((2, 0), (0, 3)), ((0, 2), (2, 3)), ((0,), (0,))])
def test_nothing_to_sum(shapes):
    a, b = [leaf(np.ones(s)) for s in shapes]
    y = a @ b
    check(y, np.ones(shapes[0]) @ np.ones(shapes[1]))
    y.sum().backward()
    check(b.grad, np.ones(shapes[0][:-1]).sum() * np.ones(shapes[1]) if a.ndim == 2 else [])


def test_only_what_the_other_operand_needs_is_saved():
    a, b = leaf(np.ones((2, 2))), leaf(np.ones((2, 2)), requires_grad=False)
    y = a @ b
    with torch.no_grad():
        a.add_(1)
    y.sum().backward()
    check(a.grad, 2 * np.ones((2, 2)))
    y = a @ b
    b.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_transposed_operands():
    a, b = arrays([(3, 2), (4, 3)])
    agree(lambda x, y: x.T @ y.T, a, b)
    agree(lambda x: x @ x.T, a)
    agree(lambda x: x.T @ x, a)


@ours
def test_gradients_are_made_in_the_order_of_the_operands():
    x, w, b = (leaf(a, torch.float32) for a in arrays([(6, 4), (5, 4), (5,)]))
    y = torch.nn.functional.linear(x, w, b)
    for g in torch.autograd.grad(y.sum(), [x, w, b]):
        assert g.numpy().flags.c_contiguous
    for g in torch.autograd.grad((x @ w.T).sum(), [x]):
        assert g.numpy().flags.c_contiguous


@ours
@pytest.mark.parametrize("size", [1.0, 1e200])  # the squares of the second overflow
def test_zeros_below_a_selection_meet_no_infinity(size):
    x = leaf([[1.0, 1.0]])
    w = leaf([[size, np.inf], [2 * size, np.inf]], requires_grad=False)
    y = torch.relu(4 * size - x @ w)  # the second element is not selected
    y.sum().backward()
    check(x.grad, [[-size, -2 * size]])
    b = leaf([0.0, 0.0])
    v = leaf([[size, 2 * size], [np.inf, np.inf]], requires_grad=False)
    z = torch.relu(4 * size - torch.nn.functional.linear(x, v, b))
    (g,) = torch.autograd.grad(z.sum(), x, create_graph=True)
    check(g, [[-size, -2 * size]])


def test_beta_0_does_not_look():
    x = torch.tensor([[float("nan")]])
    one = torch.ones(1, 1)
    assert torch.addmm(x, one, one, beta=0).item() == 1


def test_methods_and_in_place_forms():
    a, b = (torch.tensor(x) for x in arrays([(2, 2), (2, 2)]))
    for name in ("matmul", "mm", "inner", "kron"):
        check(getattr(a, name)(b), getattr(torch, name)(a, b).numpy())
    check(a.trace(), torch.trace(a).item())
    c = a.clone()
    c.addmm_(a, b)
    check(c, (a + a @ b).numpy())


def f32(*shape):
    return torch.ones(shape)


def f64(*shape):
    return torch.ones(shape, dtype=torch.float64)


def i64(*shape):
    return torch.ones(shape, dtype=torch.int64)


MULTIPLIED = "cannot be multiplied "
ERRORS = [
    (lambda: f32(2, 3) @ f64(3, 2), RuntimeError, "same dtype, but got: float != double"),
    (lambda: f32(2, 3) @ i64(3, 2), RuntimeError, "same dtype, but got: float != long int"),
    (lambda: f32(3) @ f64(3), RuntimeError, "dtype"),
    (lambda: f32(2, 3) @ f32(2, 3), RuntimeError, MULTIPLIED + r"\(2x3 and 2x3\)"),
    (lambda: f32(2) @ f32(3, 2), RuntimeError, MULTIPLIED + r"\(1x2 and 3x2\)"),
    (lambda: f32(4, 2, 3) @ f32(2, 3), RuntimeError, MULTIPLIED + r"\(8x3 and 2x3\)"),
    (lambda: f32(2, 3) @ f32(2), RuntimeError, "size mismatch"),
    (lambda: f32(3) @ f32(2), RuntimeError, "inconsistent tensor size"),
    (lambda: f32(4, 2, 3) @ f32(5, 3, 2), RuntimeError, r"\(4\) must match .* \(5\)"),
    (lambda: f32(4, 2, 3) @ f32(4, 2, 3), RuntimeError, "Expected size for first two dim"),
    (lambda: f32() @ f32(2), RuntimeError, "at least 1D, but they are 0D and 1D"),
    (lambda: f32(2, 2) @ 2, TypeError, "unsupported operand"),
    (lambda: torch.matmul(f32(2, 2), 2), TypeError, "must be Tensor, not int"),
    (lambda: f32(2, 2).bool() @ f32(2, 2).bool(), NotImplementedError, "Bool"),
    (lambda: torch.mm(f32(2), f32(2, 2)), RuntimeError, "self must be a matrix"),
    (lambda: torch.mv(f32(2), f32(2)), RuntimeError, "expected, got 1, 1, 1"),
    (lambda: torch.dot(f32(2, 2), f32(2)), RuntimeError, "1D tensors expected"),
    (lambda: torch.dot(f32(2), f64(2)), RuntimeError, "found Float and Double"),
    (lambda: torch.bmm(f32(2, 2), f32(2, 2)), RuntimeError, "batch1 must be a 3D tensor"),
    (lambda: torch.bmm(f32(4, 2, 3), f32(5, 3, 2)), RuntimeError, r"\[4, 3\] but got: \[5, 3\]"),
    (lambda: torch.inner(f32(2, 3), f32(2, 4)), RuntimeError, "the last dimension must match"),
    (lambda: torch.outer(f32(2, 2), f32(2)), RuntimeError, "Expected 1-D argument"),
    (lambda: torch.addmm(f32(4), f32(2, 3), f32(3, 2)), RuntimeError, r"expanded size .* \(2\)"),
    (lambda: torch.addmm(f64(2), f32(2, 3), f32(3, 2)), RuntimeError, "Double and Float"),
    (lambda: torch.tensordot(f32(2, 3), f32(2, 3), 1), RuntimeError, "contracted dimensions"),
    (lambda: torch.tensordot(f32(2), f32(2), -1), RuntimeError, "expects dims >= 0"),
    (lambda: torch.trace(f32(2)), RuntimeError, "expected a matrix"),
    (lambda: torch.einsum("ij,jk", f32(2, 3), f32(2, 3)), RuntimeError, "does not broadcast"),
    (lambda: torch.einsum("ij->k", f32(2, 3)), RuntimeError, "output subscript k"),
    (lambda: torch.einsum("ij", f32(2)), RuntimeError, "does not match the number of dim"),
    (lambda: torch.einsum("ij,jk", f32(2, 3)), RuntimeError, "fewer operands"),
]


@pytest.mark.parametrize(("f", "error", "says"), ERRORS)
def test_errors(f, error, says):
    with pytest.raises(error, match=says):
        f()


def test_promotion_where_there_is_one():
    for f in (torch.outer, torch.kron):
        assert f(f32(2), f64(2)).dtype == torch.float64
    assert torch.addr(f32(2, 2), f32(2), f64(2)).dtype == torch.float64
    assert (i64(2, 2) @ i64(2, 2)).tolist() == [[2, 2], [2, 2]]
