"""Rows of facts about operations on x = [[1, 2, 3], [4, 5, 6]] and s = [[7, 8, 9], [10, 11, 12]].

A row has a program and, as text, what PyTorch says about its result y: the name of its record and
its shape; its elements; the gradients of ``sum(w * y * y)`` by x and s, w being 1, 2, ...; those of
``sum(w * gradient)`` over both gradients.  ``-`` stands for None.
"""

import numpy as np

from tests.eager.chosen import check, torch


def leaves():
    """x and s."""
    numbers = torch.arange(1.0, 13.0, dtype=torch.float64).reshape(2, 2, 3)
    return tuple(part.clone().requires_grad_() for part in numbers)


def weighted(y):
    """``sum(w * y)``."""
    return (torch.arange(1.0, y.numel() + 1, dtype=torch.float64).reshape(y.shape) * y).sum()


def confirm(program, facts):
    """The row holds."""
    operands = leaves()
    y = program(*operands)
    head, *rest = facts.split("|")
    name, *shape = head.split()
    assert type(y.grad_fn).__name__ == name
    assert tuple(y.shape) == tuple(map(int, shape))
    gs = torch.autograd.grad(weighted(y * y), operands, create_graph=True, allow_unused=True)
    again = [weighted(g) for g in gs if g is not None and g.requires_grad]
    hs = torch.autograd.grad(sum(again), operands, allow_unused=True) if again else (None, None)
    for got, text in zip((y, *gs, *hs), rest, strict=True):
        values = text.split()
        if values == ["-"]:
            assert got is None
        else:
            check(got, _shaped(values, got.shape))


def _shaped(values, shape):
    return np.array([*map(float, values)]).reshape(tuple(shape))
