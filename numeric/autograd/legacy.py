"""``Variable``, the name of tensors in old programs."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from numeric.eager.tensor import Tensor, values_of, wrap
from numeric.halves import load_tensors


class _Kind(type):
    def __instancecheck__(cls, x: object) -> bool:
        return isinstance(x, Tensor)


class Variable(metaclass=_Kind):
    """A tensor that shares the memory of ``data``; an old name of the tensor class.

    ``volatile=True`` is an old form of ``no_grad``.  It warns, and results computed from the tensor
    require no gradients, whatever their other operands are.

    >>> import numeric as torch
    >>> x = Variable(torch.ones(2), requires_grad=True)
    >>> x, isinstance(x, Variable)
    (tensor([1., 1.], requires_grad=True), True)
    """

    def __new__(  # type: ignore[misc]  # it returns a Tensor
        cls, data: Any, requires_grad: bool = False, volatile: bool = False
    ) -> Tensor:
        """Return a new tensor on the memory of ``data``, a Tensor or an array."""
        if volatile:
            warnings.warn(
                "volatile was removed (Variable.volatile is always False); use torch.no_grad(): "
                "results derived from this tensor require no gradients",
                UserWarning,
                stacklevel=2,
            )
        load_tensors()  # the module may have been imported by itself
        out = wrap(values_of(data) if isinstance(data, Tensor) else np.asarray(data))
        if volatile:
            out._volatile = out._special = True
        elif requires_grad:
            out.requires_grad_()
        return out
