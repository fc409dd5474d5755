"""``Variable``, by which old programs name tensors."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from numeric.eager.tensor import Tensor, values_of, wrap


class _Kind(type):
    def __instancecheck__(cls, x: object) -> bool:
        return isinstance(x, Tensor)


class Variable(metaclass=_Kind):
    """A tensor that shares the memory of ``data``; nothing but another name of tensors.

    ``volatile=True`` is what ``no_grad`` was called once: it warns, and what is derived from the
    tensor requires no gradients, whatever else it is derived from.

    >>> import numeric as torch
    >>> x = Variable(torch.ones(2), requires_grad=True)
    >>> x, isinstance(x, Variable)
    (tensor([1., 1.], requires_grad=True), True)
    """

    def __new__(  # type: ignore[misc]  # tensors are what it makes
        cls, data: Any, requires_grad: bool = False, volatile: bool = False
    ) -> Tensor:
        """A new tensor on the memory of ``data``, a Tensor or an array."""
        if volatile:
            warnings.warn(
                "volatile was removed (Variable.volatile is always False); use torch.no_grad(): "
                "results derived from this tensor require no gradients",
                UserWarning,
                stacklevel=2,
            )
        out = wrap(values_of(data) if isinstance(data, Tensor) else np.asarray(data))
        if volatile:
            out._volatile = out._special = True
        elif requires_grad:
            out.requires_grad_()
        return out
