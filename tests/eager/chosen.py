"""The library under test, chosen here and nowhere else.

The tests of the rules are programs in PyTorch's API.  They run on ``numeric``; with
``EAGER_ORACLE=torch`` in the environment they run on PyTorch, which proves the tests themselves.
"""

import gc
import os
import warnings
from contextlib import contextmanager
from importlib import import_module

import numpy as np
import pytest

ORACLE = os.environ.get("EAGER_ORACLE", "numeric")
torch = import_module(ORACLE)

if ORACLE == "torch":  # which warns once that create_graph leaks; numeric's does not
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.ones((), requires_grad=True).exp().backward(create_graph=True)

# A documented departure from PyTorch, or a promise that PyTorch does not make.
ours = pytest.mark.skipif(ORACLE != "numeric", reason="not what PyTorch does")


def check(t, expected, rtol=1e-5, atol=1e-7):
    """``t`` has the shape and the values of ``expected``; nan equals nan."""
    assert isinstance(t, torch.Tensor), f"{t!r} is not a tensor"
    expected = np.asarray(expected)
    assert tuple(t.shape) == expected.shape, f"{t!r} has not the shape of {expected!r}"
    np.testing.assert_allclose(t.detach().numpy(), expected, rtol=rtol, atol=atol)


def leaf(data, dtype=None, requires_grad=True):
    """A float leaf that requires gradients."""
    return torch.tensor(data, dtype=dtype or torch.float64, requires_grad=requires_grad)


def derivatives(y, xs):
    """The gradients of the sum of ``y``, recorded."""
    return torch.autograd.grad(y.sum(), xs, create_graph=True, allow_unused=True)


def weighted(y):
    """``sum(w * y)``, w being 1, 2, ..."""
    return (torch.arange(1.0, y.numel() + 1, dtype=torch.float64).reshape(y.shape) * y).sum()


def names(y):
    """The names of a record, depth first."""
    found, stack = [], [y.grad_fn]
    while stack:
        fn = stack.pop()
        found.append(type(fn).__name__)
        stack.extend(f for f, _ in reversed(fn.next_functions) if f is not None)
    return found


@contextmanager
def no_collector():
    """Reference cycles stay: what is freed inside is freed by reference counts alone."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
