"""``nn.utils`` and ``nn.Parameter`` as PyTorch has them."""

import copy
import pickle

import pytest

from tests.eager.chosen import check, leaf, torch
from tests.support.refusals import refused
from tests.support.tensor_checks import check_backward, check_leaf

utils = torch.nn.utils
Parameter = torch.nn.Parameter


def three():
    """Parameters with gradients of norm 13, and one without."""
    a, b, c = leaf([1.0, 1.0]), leaf([1.0, 1.0, 1.0]), leaf(1.0)
    a.grad = torch.tensor([3.0, 4.0], dtype=torch.float64)
    b.grad = torch.tensor([0.0, -12.0, 0.0], dtype=torch.float64)
    return a, b, c


def test_clipped_norm():
    """All gradients by one factor, in place; the norm before is returned."""
    a, b, c = three()
    g = a.grad
    total = utils.clip_grad_norm_([a, b, c], 6.5)
    check(total, 13.0)
    assert not total.requires_grad
    assert a.grad is g
    check(a.grad, [1.5, 2.0], rtol=1e-6)
    check(b.grad, [0.0, -6.0, 0.0], rtol=1e-6)
    assert c.grad is None
    check(utils.clip_grad_norm_(a, 100.0), 2.5, rtol=1e-6)
    check(a.grad, [1.5, 2.0], rtol=1e-6)
    check(utils.clip_grad_norm_(iter([a, b]), 1.0, norm_type=float("inf")), 6.0, rtol=1e-6)
    check(b.grad, [0.0, -1.0, 0.0], rtol=1e-6)
    check(utils.clip_grad_norm_([a, b], 100.0, norm_type=1), 1.0 + 3.5 / 6, rtol=1e-6)


def test_clipped_norm_of_nothing():
    """0 without gradients; nan is handed on, or an error."""
    a, _, c = three()
    check(utils.clip_grad_norm_([c], 1.0), 0.0)
    check(utils.clip_grad_norm_([], 1.0), 0.0)
    a.grad[0] = float("nan")
    with pytest.raises(RuntimeError, match=r"total norm of order 2.0 .* is non-finite"):
        utils.clip_grad_norm_([a], 1.0, error_if_nonfinite=True)
    check(a.grad, [float("nan"), 4.0])
    check(utils.clip_grad_norm_([a], 1.0), float("nan"))
    check(a.grad, [float("nan"), float("nan")])


def test_clipped_values():
    """Elementwise, in place."""
    a, b, c = three()
    assert utils.clip_grad_value_([a, b, c], 3.5) is None
    check(a.grad, [3.0, 3.5])
    check(b.grad, [0.0, -3.5, 0.0])
    utils.clip_grad_value_(a, 2)
    check(a.grad, [2.0, 2.0])


def test_parameters_as_a_vector():
    """Differentiable one way; the other way the parameters are on the vector's memory."""
    a, b = leaf([[1.0, 2.0], [3.0, 4.0]]), leaf([5.0])
    v = utils.parameters_to_vector([a, b])
    check(v, [1.0, 2.0, 3.0, 4.0, 5.0])
    check_backward((v**2).sum(), (a, [[2.0, 4.0], [6.0, 8.0]]))
    w = torch.arange(5, dtype=torch.float64)
    utils.vector_to_parameters(w, [a, b])
    w[0] = 10.0
    check(a, [[10.0, 1.0], [2.0, 3.0]])
    check(b, [4.0])
    check_leaf(a)
    refused(
        (
            TypeError,
            r"expected torch\.Tensor, but got: list",
            lambda: utils.vector_to_parameters([1.0], [b]),
        ),
        (
            RuntimeError,
            "invalid for input of size 3",
            lambda: utils.vector_to_parameters(w[:3], [a]),
        ),
    )


def test_parameters():
    """Leaves on the memory they are given, whose results are plain tensors."""
    x = torch.ones(2)
    p = Parameter(x)
    assert isinstance(p, torch.Tensor)
    check_leaf(p)
    assert not x.requires_grad
    assert repr(p) == "Parameter containing:\ntensor([1., 1.], requires_grad=True)"
    p.data.add_(1)
    check(x, [2.0, 2.0])
    y = (p * p).sum()
    assert not isinstance(y, Parameter)
    check_backward(y, (p, [4.0, 4.0]))
    torch.optim.SGD([p], lr=0.25).step()
    check(p, [1.0, 1.0])
    assert isinstance(p, Parameter)
    assert not isinstance(p.detach(), Parameter)
    assert not isinstance(p.data, Parameter)


def test_parameters_of_other_kinds():
    """Empty, constant, from results, and of no real dtype."""
    assert Parameter().shape == (0,)
    constant = Parameter(torch.tensor([1]), requires_grad=False)
    assert repr(constant) == "Parameter containing:\ntensor([1])"
    p = Parameter(leaf([1.0]) * 2)
    assert p.is_leaf
    check(p, [2.0])
    with pytest.raises(RuntimeError, match="floating point"):
        Parameter(torch.tensor([1]))


def test_copies_of_parameters():
    """They stay parameters."""
    p = Parameter(torch.tensor([1.0, 2.0]))
    for q in (copy.deepcopy(p), pickle.loads(pickle.dumps(p))):
        assert type(q) is Parameter
        assert q.requires_grad
        check(q, [1.0, 2.0])
