"""Checks of eager programs: gradients after a pass, and several results at once."""

from tests.eager.chosen import check, leaf, torch


def check_backward(y, *expected, **options):
    """Assert that a backward pass from ``y`` leaves in each tensor the paired ``grad``."""
    y.backward(**options)
    for x, grad in expected:
        check(x.grad, grad)


def check_all(tensors, *expected, **tolerances):
    """Assert that there are these tensors alone, with these shapes and values."""
    for t, values in zip(tensors, expected, strict=True):
        check(t, values, **tolerances)


def leaf_and_copy(data):
    """Return a leaf, and a recorded copy of it, which may be changed in place."""
    x = leaf(data)
    return x, x * 1


def check_constant(t):
    """Assert that ``t`` is a leaf without a record, which requires no gradient."""
    assert t.is_leaf
    assert t.grad_fn is None
    assert not t.requires_grad


def check_leaf(t):
    """Assert that ``t`` is a leaf that requires gradients."""
    assert t.is_leaf
    assert t.grad_fn is None
    assert t.requires_grad


def check_tree(actual, expected):
    """Compare nested tuples and dictionaries of tensors; None equals None alone."""
    if expected is None:
        assert actual is None
    elif isinstance(expected, dict):
        assert list(actual) == list(expected)
        check_tree(tuple(actual.values()), tuple(expected.values()))
    elif isinstance(expected, tuple):
        assert isinstance(actual, tuple)
        for part, values in zip(actual, expected, strict=True):
            check_tree(part, values)
    else:
        check(actual, expected)


def check_derivatives(y, x, *expected):
    """Check the derivatives of the sum of ``y`` by ``x``, those of their sum, and so on."""
    for values in expected:
        (y,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        check(y, values)
