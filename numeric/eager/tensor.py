"""The Tensor: an array with its history.

This module defines the attributes of every instance, and the methods that concern the record.
Other modules attach all operations and other methods: ``FAMILIES`` lists them by module.
"""

from __future__ import annotations

import inspect
import warnings
import weakref
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeVar

import numpy as np

from numeric.eager import dtypes
from numeric.eager.record import AccumulateGrad, Constant, Node, Nowhere, Record
from numeric.eager.traced_arrays import Shadow
from numeric.modes import RECORD, current

if TYPE_CHECKING:
    from collections.abc import Callable

    from numeric.eager.recording import Views
    from numeric.tracing.trace import Trace


if TYPE_CHECKING:
    from numeric._tensor_methods import TensorMethods  # what is attached, with its signatures
else:
    TensorMethods = object

F = TypeVar("F", bound="Callable[..., object]")


class Size(tuple[int, ...]):
    """A shape.

    >>> Size((2, 3)), Size((2, 3)).numel()
    (torch.Size([2, 3]), 6)
    """

    __slots__ = ()

    def numel(self) -> int:
        """Return the number of elements."""
        return int(np.prod(self, dtype=np.int64))

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(repr, self))}])"

    def __add__(self, other: Any) -> Size:
        return Size(tuple(self) + tuple(other))

    def __radd__(self, other: Any) -> Size:
        return Size(tuple(other) + tuple(self))

    def __mul__(self, times: SupportsIndex) -> Size:
        return Size(tuple(self) * times)

    __rmul__ = __mul__

    def __getitem__(self, i: Any) -> Any:
        item = tuple.__getitem__(self, i)
        return Size(item) if isinstance(i, slice) else item


# The methods that other modules attach to the class when they are imported.  Operations need
# Tensors, so their modules import this one.  Each attaches its functions with ``method`` or
# ``attach``, which raise for a module that is not listed here.  A name that a Tensor lacks raises
# an error with a suggestion, by ``guesses.without``.
FAMILIES = {
    "numeric.ops.creation": "Tensor(...), new_zeros and related ones, is_floating_point",
    "numeric.ops.random_numbers": "normal_, uniform_",
    "numeric.ops.conversions": "to Python, NumPy, other dtypes; copies, detach, data, its place",
    "numeric.eager.printing": "repr, format, draw; _repr_html_, for notebooks",
    "numeric.eager.expressions": "expr, leaves: the formula of the record",
    "numeric.ops.pickling": "__reduce_ex__: pickles, with the record",
    "numeric.eager.inplace": "_refreshed: the new history of a view after a write to its base",
    "numeric.autograd.derivatives": "backward",
    "numeric.autograd.hooks": "register_hook and related ones, retain_grad",
    "numeric.eager.fast_paths": "short ways of + - * / and of functions of one operand (sin ...)",
    "numeric.ops.arithmetic": "the other operators and their functions: pow, remainder, lerp ...",
    "numeric.ops.pointwise": "functions of elements: where, clamp, atan2, round ...",
    "numeric.ops.comparing": "comparisons, logic, bits",
    "numeric.ops.views": "views of other shapes: reshape, transpose, T, expand ...",
    "numeric.ops.views_of_parts": "views of parts: select, split, unbind, diagonal ...",
    "numeric.ops.indexing": "x[i], x[i] = y",
    "numeric.ops.gather_scatter": "reading and writing at places: gather, scatter, index_put ...",
    "numeric.ops.rearranging": "new memory in another order: flip, roll, repeat, tril ...",
    "numeric.ops.reducing": "sum, mean, prod, max, argmax, any ...",
    "numeric.ops.moments": "var, std, dist, logsumexp, softmax",
    "numeric.ops.sorting": "sort, topk, median, quantile, unique",
    "numeric.ops.cumulative": "cumsum and related ones, diff",
    "numeric.ops.matrix_products": "@, mm, addmm, outer, trace ...",
    "numeric.linalg.top_level_names": "norm, det, inverse and others of linalg",
}
# Four modules extend classes of lower layers, for the same reason.  ``recorded_backward`` defines
# ``Node.pull_recorded``, which needs operations; ``autograd.hooks`` adds methods with Tensors to
# nodes; ``ops.pickling`` lets pickles of nodes refer to operations; ``function_calls`` makes a
# Function an operation on Tensors.


class Tensor(TensorMethods):
    """An eager array that records the operations on it.

    Create one with ``tensor``, a factory or an operation.  A leaf is a tensor with
    ``requires_grad`` that no operation created.  ``backward()`` on a result adds its derivative by
    each leaf to the leaf's ``grad``.

    >>> import numeric as torch
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """

    # Slots for attributes of every instance, set by ``blank``.  Class attributes below are defaults
    # of attributes that few instances set.
    __slots__ = ("__dict__", "__weakref__", "_array", "_edge", "_rg", "_special", "_v")

    _array: np.ndarray
    _rg: bool  # requires gradients
    _edge: Any  # the Node that created it; for a leaf its end record, after the first use
    _v: list[int] | None  # [version], one list for all tensors on the memory; None before any use
    _special: bool  # whether an attribute marked * is set, so that short ways do not apply

    _nr: int = 0  # * its number among the outputs of the node
    _stale: bool = False  # * of a view: the base's record changed since its edge was made
    _inference: bool = False  # *
    _volatile: bool = False  # * results computed from it are not recorded
    _grad: Tensor | None = None
    _base: Tensor | None = None  # of a differentiable view: the tensor with the memory
    _views: Views | None = None  # of a base: weak references to its views
    _origin: str = ""  # of a view: the reason against changes in place, "" if there is none
    _name: str | None = None  # its name in expressions
    _traced: Trace | None = None  # the trace whose run created it as a constant
    _no_expr: str | None = None  # the reason why it has no expression
    _retains: bool = False
    _post: dict[int, Callable[[Tensor], object]] | None = None  # hooks that run after accumulation

    __array_priority__ = 1000

    # Data -------------------------------------------------------------------------------------

    @property
    def shape(self) -> Size:
        """The lengths of the axes."""
        return Size(self._array.shape)

    @property
    def dtype(self) -> dtypes.dtype:
        """The dtype of the elements."""
        return dtypes.OF_NUMPY[self._array.dtype]

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._array.ndim

    @property
    def _version(self) -> int:
        """The number of changes of the memory in place.

        Raises RuntimeError for inference tensors, which no node can save.
        """
        if self._inference:
            raise RuntimeError("Inference tensors do not track version counter.")
        return self._v[0] if self._v is not None else 0

    @property
    def output_nr(self) -> int:
        """The number of the tensor among the results of its ``grad_fn``."""
        return self._nr

    # The record -------------------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        """Whether operations on the tensor are recorded."""
        return self._rg

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if value and not self.is_leaf:
            raise RuntimeError("you can only change requires_grad flags of leaf variables.")
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set ``requires_grad`` of a leaf.

        Raises RuntimeError for False on a tensor that is not a leaf, and for a dtype that is not
        real.
        """
        if not isinstance(requires_grad, bool):
            raise RuntimeError("requires_grad must be a bool")
        if not requires_grad and not self.is_leaf:
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. If you want to use a "
                "computed variable in a subgraph that doesn't require differentiation use "
                "var_no_grad = var.detach()."
            )
        if requires_grad and self._array.dtype.kind != "f":
            raise RuntimeError(
                "only Tensors of floating point and complex dtype can require gradients"
            )
        if requires_grad and self._inference and not current().inference:
            raise RuntimeError(
                "Setting requires_grad=True on inference tensor outside InferenceMode is not "
                "allowed."
            )
        if isinstance(self._edge, Nowhere) and not self._stale:
            if requires_grad:  # make it a leaf, where gradients accumulate
                self._edge = None
        elif requires_grad != self._rg:
            self._rg = requires_grad
            if isinstance(self._edge, AccumulateGrad | Constant):
                self._edge = None
            for view in self._views.live() if self._views is not None else ():
                if view._origin != "no_grad":
                    continue
                if requires_grad and not view._rg:
                    view._rg, view._edge = True, Nowhere(view)
                elif not requires_grad and isinstance(view._edge, Nowhere):
                    view._rg, view._edge = False, None
        return self

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operation created the tensor."""
        return not self._rg or self.grad_fn is None

    @property
    def grad_fn(self) -> Node | None:
        """The node of the operation that created the tensor; None for leaves."""
        if not self._rg:
            return None
        edge: Any = edge_of(self) if self._stale else self._edge
        return None if edge is None or edge.is_leaf else edge.shown()

    @property
    def grad(self) -> Tensor | None:
        """The accumulated gradient of a leaf; None before ``backward`` reaches it."""
        if self._grad is None and self._rg and not self._retains and not self.is_leaf:
            warnings.warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its "
                ".grad attribute won't be populated during autograd.backward(). If you indeed want "
                "the .grad field to be populated for a non-leaf Tensor, use .retain_grad() on the "
                "non-leaf Tensor.",
                UserWarning,
                stacklevel=2,
            )
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            if not isinstance(value, Tensor):
                raise TypeError(
                    f"assigned grad expected to be a Tensor or None but got grad of type "
                    f"{type(value).__name__}"
                )
            if value is self:
                raise RuntimeError("can't assign Variable as its own grad")
            if value._array.dtype != self._array.dtype:
                raise RuntimeError(
                    f"attempting to assign a gradient with dtype '{value.dtype}' to a tensor with "
                    f"dtype '{self.dtype}'. The gradient must match the tensor's dtype"
                )
            if value._array.shape != self._array.shape:
                raise RuntimeError(
                    f"attempting to assign a gradient of size '{list(value.shape)}' to a tensor "
                    f"of size '{list(self.shape)}'. Please ensure that the gradient and the tensor "
                    "are the same size"
                )
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    @property
    def retains_grad(self) -> bool:
        """Whether ``retain_grad`` was called on a tensor that is not a leaf."""
        return self._retains

    def is_inference(self) -> bool:
        """Return whether the tensor was created in inference mode, and no record can save it."""
        return self._inference

    def __hash__(self) -> int:
        return id(self)


def attach(name: str, member: object) -> None:
    """Add a method or property to Tensors.  Raises ValueError if FAMILIES lacks its module."""
    function: Any = member.fget if isinstance(member, property) else member
    module = inspect.unwrap(function).__module__
    if module not in FAMILIES:
        raise ValueError(f"{name}: numeric.eager.tensor.FAMILIES has no line for {module}")
    setattr(Tensor, name, member)


def method(*names: str) -> Callable[[F], F]:
    """Return a decorator that makes a function a method of Tensors, by its name or ``names``."""

    def added(function: F) -> F:
        for name in names or (function.__name__,):
            attach(name, function)
        return function

    return added


_new = Tensor.__new__


def blank(array: np.ndarray | Shadow, rg: bool = False, edge: object = None) -> Tensor:
    """Return a new Tensor on an array; modes have no effect."""
    out = _new(Tensor)
    out._array = array  # type: ignore[assignment]  # a Shadow acts as an array
    out._rg = rg
    out._edge = edge
    out._v = None
    out._special = False
    return out


def wrap(array: object) -> Tensor:
    """Return a new Tensor on an array or NumPy scalar, without a copy, in the present mode."""
    if array.__class__ is not np.ndarray and array.__class__ is not Shadow:
        array = np.asarray(array)
    out = blank(array)
    mode = current()
    if mode is not RECORD:
        if mode.inference:
            out._inference = out._special = True
        if mode.tracing is not None:
            mode.tracing.made(out)
    return out


def values_of(x: Tensor) -> np.ndarray:
    """Return the array of a tensor for code that reads values and is not recorded.

    In a trace for later calls, the values of a tensor from outside may differ in the next call.
    There the result is a shadow, and the tensor becomes an input of the trace.
    """
    trace = current().tracing
    return x._array if trace is None else trace.values(x)


def counter(x: Tensor) -> list[int]:
    """Return the version counter of the tensor's memory."""
    if x._v is None:
        x._v = [0]
    return x._v


def edge_of(x: Tensor) -> Record:
    """Return the record of a tensor; create it for a leaf or a constant."""
    if x._stale:
        return x._refreshed()
    if x._edge is None:
        x._edge = AccumulateGrad(x) if x._rg else Constant(x)
    edge: Record = x._edge
    return edge


def retain(x: Tensor) -> None:
    """Let ``backward`` store the gradient of ``x`` in its ``grad``."""
    edge: Any = edge_of(x)
    edge.extra().retains[x._nr] = weakref.ref(x)
