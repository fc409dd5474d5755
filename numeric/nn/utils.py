"""Clip gradients, and convert between parameters and one vector."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from numeric.eager.tensor import Tensor, wrap
from numeric.modes import Switch
from numeric.ops.arguments import explain
from numeric.ops.rearranging import cat, stack
from symdiff.contexts import contained

if TYPE_CHECKING:
    from collections.abc import Iterable


__all__ = [
    "clip_grad_norm_",
    "clip_grad_value_",
    "parameters_to_vector",
    "vector_to_parameters",
]


@contained
def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale all gradients, in place, so that their joint norm is at most ``max_norm``.

    Args:
        parameters: the tensors with the gradients.
        max_norm: the bound.
        norm_type: the order of the norm; may be infinite.
        error_if_nonfinite: raise RuntimeError for a norm that is nan or infinite.
        foreach: has no effect.

    Returns the norm before scaling.

    >>> import numeric as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> x.grad = torch.tensor([3.0, 4.0])
    >>> torch.nn.utils.clip_grad_norm_(x, 1.0)
    tensor(5.)
    >>> x.grad
    tensor([0.6000, 0.8000])
    """
    order = float(norm_type)
    with Switch(grad=False):
        grads = _gradients("clip_grad_norm_", parameters)
        if not grads:
            return wrap(np.zeros((), np.float32))
        total = stack([g.norm(order) for g in grads]).norm(order)
        if error_if_nonfinite and not np.isfinite(total._array):
            raise RuntimeError(
                f"The total norm of order {order} for gradients from `parameters` is non-finite, "
                "so it cannot be clipped. To disable this error and scale the gradients by the "
                "non-finite norm anyway, set `error_if_nonfinite=False`"
            )
        factor = (max_norm / (total + 1e-6)).clamp(max=1.0)
        for g in grads:
            g.mul_(factor)
    return total


@contained
def clip_grad_value_(
    parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None
) -> None:
    """Clip all gradients, in place, to the range from ``-clip_value`` to ``clip_value``.

    ``foreach`` has no effect.

    >>> import numeric as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> x.grad = torch.tensor([3.0, -4.0])
    >>> torch.nn.utils.clip_grad_value_([x], 3.5)
    >>> x.grad
    tensor([ 3.0000, -3.5000])
    """
    with Switch(grad=False):
        for g in _gradients("clip_grad_value_", parameters):
            g.clamp_(-float(clip_value), float(clip_value))


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Return the elements of all parameters in one vector; differentiable.

    >>> import numeric as torch
    >>> torch.nn.utils.parameters_to_vector([torch.ones(2, 1), torch.zeros(1)])
    tensor([1., 1., 0.])
    """
    return cat([p.reshape(-1) for p in _tensors("parameters_to_vector", parameters)])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Let the data of the parameters be views of consecutive parts of ``vec``.

    It is the inverse of ``parameters_to_vector``.

    >>> import numeric as torch
    >>> x, y = torch.zeros(2, 1), torch.zeros(1)
    >>> torch.nn.utils.vector_to_parameters(torch.tensor([1.0, 2.0, 3.0]), [x, y])
    >>> x, y
    (tensor([[1.],
            [2.]]), tensor([3.]))
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    source: Tensor = vec
    start = 0
    for p in _tensors("vector_to_parameters", parameters):
        stop = start + p.numel()
        p.data = source[start:stop].view_as(p).data
        start = stop


def _gradients(name: str, parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    """Return the gradients of the parameters that have one."""
    tensors = [parameters] if isinstance(parameters, Tensor) else _tensors(name, parameters)
    return [p._grad for p in tensors if p._grad is not None]


def _tensors(name: str, parameters: Iterable[Tensor]) -> list[Tensor]:
    """Return the parameters as a list; raises TypeError unless all are Tensors."""
    tensors = [*parameters]
    for place, p in enumerate(tensors):
        if not isinstance(p, Tensor):
            raise TypeError(
                f"{name}(): argument 'parameters' must be tuple of Tensors, but found element of "
                f"type {type(p).__name__} at pos {place}"
            )
    return tensors


explain(__name__)
