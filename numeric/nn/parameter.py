"""Parameters: leaf tensors of a model that an optimiser changes."""

from __future__ import annotations

import numpy as np

from numeric.eager.dtypes import get_default_dtype
from numeric.eager.tensor import Tensor, counter, wrap
from numeric.ops.arguments import explain_methods

__all__ = ["Parameter"]


class Parameter(Tensor):
    """A leaf that requires gradients and shares the memory of ``data``; empty without data.

    Results of operations on it are plain tensors.

    >>> import numeric as torch
    >>> p = torch.nn.Parameter(torch.ones(2))
    >>> p
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    >>> 2 * p
    tensor([2., 2.], grad_fn=<MulBackward0>)
    """

    def __init__(self, data: Tensor | None = None, requires_grad: bool = True) -> None:
        if data is None:
            data = wrap(np.zeros(0, get_default_dtype().numpy))
        source = data.detach()
        self._array, self._v, self._edge = source._array, counter(source), None
        self._rg, self._special = False, source._special
        self._inference = source._inference
        self.requires_grad_(requires_grad)

    def __repr__(self) -> str:
        return "Parameter containing:\n" + Tensor.__repr__(self)


explain_methods(Parameter)
