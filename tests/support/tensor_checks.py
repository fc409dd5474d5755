"""What eager programs leave: gradients after a pass, and several results at once."""

from tests.eager.chosen import check, leaf, torch


def check_backward(y, *expected, **options):
    """A backward pass from ``y`` leaves in each tensor the ``grad`` beside it."""
    y.backward(**options)
    for x, grad in expected:
        check(x.grad, grad)


def check_all(tensors, *expected, **tolerances):
    """The tensors, of which there are no others, have these shapes and values."""
    for t, values in zip(tensors, expected, strict=True):
        check(t, values, **tolerances)


def leaf_and_copy(data):
    """A leaf, and a recorded copy of it, which may be changed in place."""
    x = leaf(data)
    return x, x * 1


def check_constant(t):
    """``t`` is a leaf without a record, which requires no gradient."""
    assert t.is_leaf
    assert t.grad_fn is None
    assert not t.requires_grad


def check_leaf(t):
    """``t`` is a leaf that requires gradients."""
    assert t.is_leaf
    assert t.grad_fn is None
    assert t.requires_grad


def check_tree(found, expected):
    """Tuples and dictionaries of one structure, and tensors of these values, or None, in them."""
    if expected is None:
        assert found is None
    elif isinstance(expected, dict):
        assert list(found) == list(expected)
        check_tree(tuple(found.values()), tuple(expected.values()))
    elif isinstance(expected, tuple):
        assert isinstance(found, tuple)
        for part, values in zip(found, expected, strict=True):
            check_tree(part, values)
    else:
        check(found, expected)


def check_derivatives(y, x, *expected):
    """The derivatives of the sum of ``y`` by ``x``, that of their sum, and so on."""
    for values in expected:
        (y,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        check(y, values)
