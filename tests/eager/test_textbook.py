"""Programs as textbooks and tutorials have them, with the figures they print."""

from tests.eager.chosen import check, leaf, names, torch
from tests.support.tensor_checks import check_backward, check_derivatives

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


def test_vector_jacobian_product_of_doublings():
    """Rule 10: y = x doubled until its norm passes 1000, with a weighted gradient."""
    x = torch.tensor([0.5, -1.0, 0.25], requires_grad=True)
    y = x * 2
    while y.data.norm() < 1000:
        y = y * 2
    v = torch.tensor([0.1, 1.0, 0.0001])
    y.backward(v)
    check(x.grad, [102.4, 1024.0, 0.1024])


# Weights of outputs -------------------------------------------------------------------------------


def test_node_of_a_gradient():
    """Rule 4: the gradient of a pointwise operation under create_graph is a MulBackward0."""
    x = torch.tensor([3.0], requires_grad=True)
    (first,) = torch.autograd.grad(x**2, x, create_graph=True)
    assert first.grad_fn.name() == "MulBackward0"
    (cosine,) = torch.autograd.grad(torch.sin(x), x, create_graph=True)
    assert cosine.grad_fn.name() == "MulBackward0"


# Higher order -------------------------------------------------------------------------------------


def test_taylor_coefficients():
    """Rule 20: n! times those of exp(sin x) at 0: 1, 1, 1/2, 0, -1/8, -1/15, -1/240."""
    x = leaf(0.0)
    y = torch.exp(torch.sin(x))
    check(y, 1.0)
    check_derivatives(y, x, 1.0, 1.0, 0.0, -3.0, -8.0, -3.0)


# Odds and ends of tutorials -----------------------------------------------------------------------


def test_variable():
    """Rule 1: the old name for a tensor that records."""
    x = torch.autograd.Variable(torch.ones(2), requires_grad=True)
    assert isinstance(x, torch.Tensor)
    check_backward((x * 3).sum(), (x, [3.0, 3.0]))
