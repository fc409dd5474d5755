"""Hooks: user functions that receive gradients during backward and may replace them."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

from numeric.eager.record import AccumulateGrad, Node
from numeric.eager.tensor import Tensor, edge_of, method, retain

if TYPE_CHECKING:
    from collections.abc import Callable


_number = count().__next__


class RemovableHandle:
    """The handle of a registered hook; ``remove()`` unregisters it, and may be called again."""

    __slots__ = ("_hooks", "id")

    def __init__(
        self, hooks: dict[int, Callable[..., object]], hook: Callable[..., object]
    ) -> None:
        self.id = _number()
        hooks[self.id] = hook
        self._hooks = hooks

    def remove(self) -> None:
        """Unregister the hook."""
        self._hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


@method()
def register_hook(self: Tensor, hook: Callable[[Tensor], object]) -> RemovableHandle:
    """Call ``hook`` with the tensor's summed gradient whenever backward computes it.

    Its result, unless None, replaces the gradient.  The hook belongs to the present version of the
    tensor: after an in-place operation it receives the gradient of the earlier value.

    Raises RuntimeError for a tensor that requires no gradient.

    >>> import numeric as torch
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> handle = x.register_hook(lambda g: 10 * g)
    >>> (x * x).backward()
    >>> x.grad
    tensor(40.)
    """
    if not self._rg:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    hooks = edge_of(self).extra().tensor_hooks.setdefault(self._nr, {})  # type: ignore[attr-defined]
    return RemovableHandle(hooks, hook)


@method()
def register_post_accumulate_grad_hook(
    self: Tensor, hook: Callable[[Tensor], object]
) -> RemovableHandle:
    """Call ``hook`` with the leaf after ``backward`` updated its ``grad``.

    Raises RuntimeError for a tensor that requires no gradient, or that is not a leaf.

    >>> import numeric as torch
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> handle = x.register_post_accumulate_grad_hook(lambda leaf: print(leaf.grad))
    >>> (x * x).backward()
    tensor(4.)
    """
    if not self._rg:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if not self.is_leaf:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    if self._post is None:
        self._post = {}
    return RemovableHandle(self._post, hook)


@method()
def retain_grad(self: Tensor) -> None:
    """Let ``backward`` set the ``grad`` of a tensor that is not a leaf, as it does for leaves.

    Raises RuntimeError for a tensor that requires no gradient.

    >>> import numeric as torch
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> y = x * x
    >>> y.retain_grad()
    >>> (3 * y).backward()
    >>> y.grad
    tensor(3.)
    """
    if not self._rg:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if self.is_leaf or self._retains:
        return
    self._retains = True
    retain(self)


def _register_prehook(self: Any, hook: Callable[..., object]) -> RemovableHandle:
    """Call ``hook(grad_outputs)`` before the node runs; its result, unless None, replaces them."""
    return RemovableHandle(self.extra().prehooks, hook)


def _register_hook(self: Any, hook: Callable[..., object]) -> RemovableHandle:
    """Call ``hook(grad_inputs, grad_outputs)`` after the node ran; it may return new inputs."""
    return RemovableHandle(self.extra().posthooks, hook)


# The methods are added here, because the record must not import this module.
for _class in (Node, AccumulateGrad):
    setattr(_class, "register_prehook", _register_prehook)  # noqa: B010
    setattr(_class, "register_hook", _register_hook)  # noqa: B010
