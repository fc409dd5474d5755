"""Inspect the record of operations, and control how it saves tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from numeric.autograd.function import BackwardCFunction
from numeric.eager import record as records
from numeric.eager.tensor import Tensor, counter, edge_of
from numeric.modes import Switch, current
from numeric.ops.arguments import explain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = [
    "GradientEdge",
    "Node",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "save_on_cpu",
    "saved_tensors_hooks",
]


class _Kind(type):
    """Let ``isinstance`` accept all kinds of nodes, which share no base class."""

    def __instancecheck__(cls, x: object) -> bool:
        return isinstance(x, (records.Node, records.AccumulateGrad, BackwardCFunction))

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, (records.Node, records.AccumulateGrad, BackwardCFunction))


class Node(metaclass=_Kind):
    """The type of ``grad_fn`` and of the nodes in ``next_functions``, for ``isinstance``.

    >>> import numeric as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> isinstance((x * x).grad_fn, Node)
    True
    """


class GradientEdge(NamedTuple):
    """One output of a node: the place where gradients of a tensor arrive."""

    node: Any
    output_nr: int
    ownership_token: object = None


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Return the edge at which gradients of the tensor arrive.

    Raises RuntimeError if the tensor requires no gradients.

    >>> import numeric as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> get_gradient_edge(x * x).node.name()
    'MulBackward0'
    """
    if not tensor._rg:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require "
            "gradients"
        )
    return GradientEdge(edge_of(tensor).shown(), tensor._nr)


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Declare that code outside of the recorded operations changed the memory of tensors.

    >>> import numeric as torch
    >>> x = torch.ones(2)
    >>> increment_version(x)
    >>> x._version
    1
    """
    tensors = (tensor,) if isinstance(tensor, Tensor) else tuple(tensor)
    for place, x in enumerate(tensors):
        if not isinstance(x, Tensor):
            raise TypeError(
                "increment_version(): argument 'tensor' must be tuple of Tensors, but found "
                f"element of type {type(x).__name__} at pos {place}"
            )
    for x in tensors:
        counter(x)[0] += 1


class saved_tensors_hooks(Switch):  # noqa: N801  # the name by which programs know it
    """A context in which two functions convert the tensors that operations save for backward.

    ``pack_hook(tensor)`` converts a tensor to any object when an operation saves it.
    ``unpack_hook(object)`` converts it back whenever backward needs it.  Only the innermost pair is
    called.  A change in place between the two is not detected.

    >>> import numeric as torch
    >>> x = torch.tensor([3.0], requires_grad=True)
    >>> with saved_tensors_hooks(lambda t: t.tolist(), lambda saved: torch.tensor(saved)):
    ...     y = x * x
    >>> y.backward()
    >>> x.grad
    tensor([6.])
    """

    __slots__ = ("pack_hook", "unpack_hook")

    def __init__(
        self, pack_hook: Callable[[Tensor], object], unpack_hook: Callable[[Any], Tensor]
    ) -> None:
        super().__init__(packing=(pack_hook, unpack_hook))
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        """Raise RuntimeError inside ``disable_saved_tensors_hooks``."""
        sealed = current().sealed
        if sealed is not None:
            raise RuntimeError(sealed)
        for hook in (self.pack_hook, self.unpack_hook):
            if not callable(hook):
                raise TypeError(f"saved_tensors_hooks: expected functions, got {hook!r}")
        super().__enter__()


class save_on_cpu(saved_tensors_hooks):  # noqa: N801  # the name by which programs know it
    """A context that saves tensors in the CPU's memory, where all tensors are anyway.

    >>> import numeric as torch
    >>> x = torch.tensor([3.0], requires_grad=True)
    >>> with save_on_cpu():
    ...     y = x * x
    >>> y.backward()
    """

    __slots__ = ()

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda x: x, lambda x: x)


class disable_saved_tensors_hooks(Switch):  # noqa: N801  # the name by which programs know it
    """A context in which saved-tensor hooks raise with the given message; also a decorator.

    >>> import numeric as torch
    >>> with disable_saved_tensors_hooks("not here"):
    ...     torch.autograd.graph.save_on_cpu().__enter__()
    Traceback (most recent call last):
    RuntimeError: not here
    """

    __slots__ = ()

    def __init__(self, error_message: str) -> None:
        super().__init__(sealed=error_message)

    def __enter__(self) -> None:
        """Raise RuntimeError, with the message, inside ``saved_tensors_hooks``."""
        if current().packing is not None:
            raise RuntimeError(self.changes["sealed"])
        super().__enter__()


explain(__name__)
