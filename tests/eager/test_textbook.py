"""Programs as textbooks and tutorials have them, with the figures they print."""

import math

import numpy as np
import pytest

from tests.eager.chosen import check, leaf, names, torch
from tests.support.tensor_checks import check_backward

# Leaves and their records -------------------------------------------------------------------------


def test_inspection_of_leaf_and_grad_fn():
    """Rules 1, 2, 4: what a first chapter prints."""
    x = torch.tensor([2.0], requires_grad=True)
    w = torch.tensor([3.0], requires_grad=True)
    b = torch.tensor([1.0])
    y = w * x + b
    loss = (y - 5) ** 2
    assert (x.is_leaf, w.is_leaf, b.is_leaf, y.is_leaf) == (True, True, True, False)
    assert (x.grad_fn, b.grad_fn) == (None, None)
    assert names(loss) == [
        "PowBackward0",
        "SubBackward0",
        "AddBackward0",
        "MulBackward0",
        "AccumulateGrad",
        "AccumulateGrad",
    ]
    assert repr(x) == "tensor([2.], requires_grad=True)"
    assert repr(y) == "tensor([7.], grad_fn=<AddBackward0>)"
    assert repr(b) == "tensor([1.])"
    check_backward(loss, (w, [8.0]), (x, [12.0]))
    assert repr(w.grad) == "tensor([8.])"


def test_printed_product():
    """Rule 4: a printed result names its node."""
    w = torch.tensor([1.1], requires_grad=True)
    assert repr(w * 2) == "tensor([2.2000], grad_fn=<MulBackward0>)"
    assert repr(w.mean()) == "tensor(1.1000, grad_fn=<MeanBackward0>)"


def test_gradient_of_a_vector_function():
    """Rule 10: the classical first example: out = mean(3 (x + 2)²)."""
    x = torch.ones(2, 2, requires_grad=True)
    y = x + 2
    z = y * y * 3
    out = z.mean()
    check(out, 27.0)
    check_backward(out, (x, np.full((2, 2), 4.5)))


def test_vector_jacobian_product_of_doublings():
    """Rule 10: y = x doubled until its norm passes 1000, with a weighted gradient."""
    x = torch.tensor([0.5, -1.0, 0.25], requires_grad=True)
    y = x * 2
    while y.data.norm() < 1000:
        y = y * 2
    v = torch.tensor([0.1, 1.0, 0.0001])
    y.backward(v)
    check(x.grad, [102.4, 1024.0, 0.1024])


def test_cubes_and_squares():
    """Rule 10: Q = 3a³ - b², external gradient of ones."""
    a = torch.tensor([2.0, 3.0], requires_grad=True)
    b = torch.tensor([6.0, 4.0], requires_grad=True)
    Q = 3 * a**3 - b**2
    Q.backward(gradient=torch.tensor([1.0, 1.0]))
    assert (9 * a**2 == a.grad).tolist() == [True, True]
    assert (-2 * b == b.grad).tolist() == [True, True]


# Weights of outputs -------------------------------------------------------------------------------


@pytest.mark.parametrize(("weights", "expected"), [((1.0, 2.0), 9.0), ((1.0, 3.0), 11.0)])
def test_weighted_gradient_of_concatenated_outputs(weights, expected):
    """Rule 10: w = 1, x = 2, a = w + x, b = w + 1, y0 = ab, y1 = a + b."""
    w = torch.tensor([1.0], requires_grad=True)
    x = torch.tensor([2.0], requires_grad=True)
    a = torch.add(w, x)
    b = torch.add(w, 1)
    y0 = torch.mul(a, b)
    y1 = torch.add(a, b)
    loss = torch.cat([y0, y1], dim=0)
    check_backward(loss, (w, [expected]), (x, [2.0 + weights[1]]), gradient=torch.tensor(weights))


def test_product_of_sums():
    """Rule 11: y = (x + w)(w + 1): dy/dw = 5, and 10 after a second pass without zeroing."""
    w = torch.tensor([1.0], requires_grad=True)
    x = torch.tensor([2.0], requires_grad=True)
    a, b = w + x, w + 1
    y = a * b
    check_backward(y, (w, [5.0]), retain_graph=True)
    check_backward(y, (w, [10.0]))
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        y.backward()


def test_gradients_of_all_nodes():
    """Rules 9, 31: with retain_grad on what lies between."""
    w = torch.tensor([1.0], requires_grad=True)
    x = torch.tensor([2.0], requires_grad=True)
    a = w + x
    a.retain_grad()
    b = w + 1
    y = a * b
    y.backward()
    assert [t.is_leaf for t in (w, x, a, b, y)] == [True, True, False, False, False]
    check(a.grad, [2.0])
    check(x.grad, [2.0])
    with pytest.warns(UserWarning, match="leaf"):
        assert b.grad is None


def test_node_of_a_gradient():
    """Rule 4: the gradient of a pointwise operation under create_graph is a MulBackward0."""
    x = torch.tensor([3.0], requires_grad=True)
    (first,) = torch.autograd.grad(x**2, x, create_graph=True)
    assert first.grad_fn.name() == "MulBackward0"
    (cosine,) = torch.autograd.grad(torch.sin(x), x, create_graph=True)
    assert cosine.grad_fn.name() == "MulBackward0"


def test_gradients_are_not_zeroed():
    """Rule 11: a loop that forgets to zero, and one that does not."""
    w, x = torch.tensor([1.0], requires_grad=True), torch.tensor([2.0], requires_grad=True)
    seen = []
    for _ in range(4):
        y = (w + x) * (w + 1)
        y.backward()
        seen.append(w.grad.item())
    assert seen == [5.0, 10.0, 15.0, 20.0]
    w.grad.zero_()
    seen.clear()
    for _ in range(3):
        ((w + x) * (w + 1)).backward()
        seen.append(w.grad.item())
        w.grad.zero_()
    assert seen == [5.0, 5.0, 5.0]


def test_leaf_in_place_is_refused():
    """Rule 33: and identity shows what is in place."""
    w = torch.tensor([1.0], requires_grad=True)
    with pytest.raises(
        RuntimeError, match="a leaf Variable that requires grad is being used in an in-place"
    ):
        w.add_(1)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        w += 1
    a = torch.ones(1)
    same = a
    a += torch.ones(1)
    assert a is same
    a = a + torch.ones(1)
    assert a is not same


# Cutting the record -------------------------------------------------------------------------------


def test_value_cut_by_no_grad():
    """Rule 27: y1 = x², y2 = x³ under no_grad, y3 = y1 + y2: the gradient is 2 and not 5."""
    x = torch.tensor(1.0, requires_grad=True)
    y1 = x**2
    with torch.no_grad():
        y2 = x**3
    y3 = y1 + y2
    assert (x.requires_grad, y1.requires_grad, y2.requires_grad, y3.requires_grad) == (
        True,
        True,
        False,
        True,
    )
    check_backward(y3, (x, 2.0))
    with pytest.raises(RuntimeError, match="does not require grad and does not have a grad_fn"):
        y2.backward()


def test_changing_values_through_data():
    """Rule 29: x.data *= 100 changes the value and not the record."""
    x = torch.ones(1, requires_grad=True)
    assert not x.data.requires_grad
    y = 2 * x
    x.data *= 100
    y.backward()
    check(x, [100.0])
    check(x.grad, [2.0])


# Jacobian products --------------------------------------------------------------------------------


def test_jacobian_products_on_eye_5():
    """Rules 10, 11: the same on eye(5), as printed: 4 on the diagonal and 2 elsewhere."""
    inp = torch.eye(5, requires_grad=True)
    out = (inp + 1).pow(2)
    out.backward(torch.ones_like(inp), retain_graph=True)
    check(inp.grad, 2.0 + 2.0 * np.eye(5))
    assert repr(inp.grad) == (
        "tensor([[4., 2., 2., 2., 2.],\n"
        "        [2., 4., 2., 2., 2.],\n"
        "        [2., 2., 4., 2., 2.],\n"
        "        [2., 2., 2., 4., 2.],\n"
        "        [2., 2., 2., 2., 4.]])"
    )
    out.backward(torch.ones_like(inp), retain_graph=True)
    check(inp.grad, 4.0 + 4.0 * np.eye(5))
    inp.grad.zero_()
    out.backward(torch.ones_like(inp), retain_graph=True)
    check(inp.grad, 2.0 + 2.0 * np.eye(5))


# Training by hand ---------------------------------------------------------------------------------


def test_retain_graph_in_a_loop():
    """Rule 13: a loop that extends one record must retain it."""
    x = leaf(1.5)
    h, total = x, 0.0
    for n in range(1, 5):
        h = h * x
        h.backward(retain_graph=True)
        total += (n + 1) * 1.5**n
        check(x.grad, total)


# Higher order -------------------------------------------------------------------------------------


def test_taylor_coefficients():
    """Rule 20: of exp(sin x) at 0: 1, 1, 1/2, 0, -1/8, -1/15, -1/240."""
    x = leaf(0.0)
    y, found = torch.exp(torch.sin(x)), []
    for n in range(7):
        found.append(y.item() / math.factorial(n))
        if n < 6:
            (y,) = torch.autograd.grad(y, x, create_graph=True)
    np.testing.assert_allclose(found, [1, 1, 0.5, 0, -1 / 8, -1 / 15, -1 / 240], atol=1e-12)


def test_derivatives_of_tanh():
    """Rule 20: four orders of tanh at 0.5."""
    x = leaf(0.5)
    y, t = torch.tanh(x), math.tanh(0.5)
    expected = [1 - t**2, -2 * t * (1 - t**2), -2 * (1 - t**2) * (1 - 3 * t**2),
                8 * t * (1 - t**2) * (2 - 3 * t**2)]  # fmt: skip
    for e in expected:
        (y,) = torch.autograd.grad(y, x, create_graph=True)
        check(y, e)


# Odds and ends of tutorials -----------------------------------------------------------------------


def test_control_flow():
    """Rule 2: the record follows what ran."""
    a = torch.tensor(0.75, requires_grad=True)
    b = a * 2
    while b.norm() < 1000:
        b = b * 2
    c = b if b.sum() > 0 else 100 * b
    c.backward()
    assert (a.grad == c / a).item()


def test_gradient_of_a_dot_product():
    """Rule 11: y = 2 x·x has gradient 4x; then the sum, after zeroing."""
    x = torch.arange(4.0, requires_grad=True)
    y = 2 * torch.dot(x, x)
    check_backward(y, (x, [0.0, 4.0, 8.0, 12.0]))
    assert (x.grad == 4 * x).all()
    x.grad.zero_()
    check_backward(x.sum(), (x, [1.0] * 4))
    x.grad.zero_()
    y = x * x
    u = y.detach()
    (u * x).sum().backward()
    assert (x.grad == u).all()
    x.grad.zero_()
    y.sum().backward()
    assert (x.grad == 2 * x).all()


def test_variable():
    """Rule 1: the old name for a tensor that records."""
    x = torch.autograd.Variable(torch.ones(2), requires_grad=True)
    assert isinstance(x, torch.Tensor)
    check_backward((x * 3).sum(), (x, [3.0, 3.0]))
