"""Products beyond ``op_examples``: what is saved, zeros below selections, errors."""

import numpy as np
import pytest

from tests.eager.chosen import check, leaf, ours, torch
from tests.support.refusals import refusing


def arrays(shapes):
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape) for shape in shapes]


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
    (lambda: torch.einsum("i,i", f32(2).bool(), f32(2).bool()), NotImplementedError, '"bmm".*Bool'),
    (lambda: torch.inner(f32(2).bool(), f32(2).bool()), NotImplementedError, "Bool"),
    (lambda: torch.tensordot(f32(2).bool(), f32(2).bool(), 1), NotImplementedError, "Bool"),
    (lambda: torch.linalg.cross(f32(3).bool(), f32(3).bool()), NotImplementedError, '"cross"'),
]


test_errors = refusing(ERRORS)
