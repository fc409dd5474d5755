"""The record, for programs that look at it or have a say in what it keeps."""

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
    def __instancecheck__(cls, x: object) -> bool:
        return isinstance(x, (records.Node, records.AccumulateGrad, BackwardCFunction))

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, (records.Node, records.AccumulateGrad, BackwardCFunction))


class Node(metaclass=_Kind):
    """What ``grad_fn`` and ``next_functions`` contain, for ``isinstance``.

    >>> import numeric as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> isinstance((x * x).grad_fn, Node)
    True
    """


class GradientEdge(NamedTuple):
    """One output of a node."""

    node: Any
    output_nr: int
    ownership_token: object = None


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Where gradients of the tensor arrive.  Raises RuntimeError if it requires none.

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
    """Say that the memory of tensors was changed, where no operation on them did it.

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
    """A context in which what operations save for backward passes through two functions.

    ``pack_hook(tensor)`` returns anything, at the time of saving; ``unpack_hook`` makes a tensor of
    that again whenever it is needed.  Only the innermost pair is called.  Changes in place are not
    noticed between the two.

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
        """Raises RuntimeError inside ``disable_saved_tensors_hooks``."""
        sealed = current().sealed
        if sealed is not None:
            raise RuntimeError(sealed)
        for hook in (self.pack_hook, self.unpack_hook):
            if not callable(hook):
                raise TypeError(f"saved_tensors_hooks: expected functions, got {hook!r}")
        super().__enter__()


class save_on_cpu(saved_tensors_hooks):  # noqa: N801  # the name by which programs know it
    """A context in which saved tensors are kept in ordinary memory, where all of them are.

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
    """A context in which saved-tensor hooks are errors with the given message; also a decorator.

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
        """Raises RuntimeError, with the message, inside ``saved_tensors_hooks``."""
        if current().packing is not None:
            raise RuntimeError(self.changes["sealed"])
        super().__enter__()


explain(__name__)
