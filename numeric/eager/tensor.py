"""The Tensor: an array, and where it came from.

The class says what every instance holds, and has what concerns the record.  All else are operations
and what is made of them: ``FAMILIES`` says what comes from which module.
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
        """The number of elements."""
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


# What is attached to the class when modules are imported.  Operations are made of Tensors, so that
# their modules stand above this one: each hands its functions over with ``method`` or ``attach``,
# which is the only way to do so, and which refuses a module that is not here.  Names that programs
# may look for in vain are errors that say what to use, by ``guesses.without``.
FAMILIES = {
    "numeric.ops.creation": "Tensor(...), new_zeros and its kin, is_floating_point",
    "numeric.ops.random_numbers": "normal_, uniform_",
    "numeric.ops.conversions": "to Python, NumPy, other dtypes; copies, detach, data, its place",
    "numeric.eager.printing": "repr, format, draw",
    "numeric.eager.tables": "_repr_html_, for notebooks",
    "numeric.eager.expressions": "expr, leaves: the formula of what was recorded",
    "numeric.ops.pickling": "__reduce_ex__: pickles, with the record",
    "numeric.eager.inplace": "_refreshed, by which a view sees that its base was written to",
    "numeric.autograd.derivatives": "backward",
    "numeric.autograd.hooks": "register_hook and its kin, retain_grad",
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
    "numeric.ops.cumulative": "cumsum and its kin, diff",
    "numeric.ops.matrix_products": "@, mm, addmm, outer, trace ...",
    "numeric.linalg.top_level_names": "norm, det, inverse and others of linalg",
}
# What else is bound late concerns classes below this one, for the same reason: a recorded backward
# pass is made of operations (``recorded_backward`` gives ``Node.pull_recorded``), hooks see Tensors
# (``autograd.hooks``), pickles of nodes name operations (``ops.pickling``), and a Function becomes
# an operation when it is called with Tensors, which it does not know (``function_calls``).


class Tensor(TensorMethods):
    """An eager array that records the operations it takes part in.

    Made by ``tensor``, the factories and operations.  ``requires_grad`` tensors that no operation
    made are leaves: ``backward()`` on a result adds its derivative by each leaf to their ``grad``.

    >>> import numeric as torch
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """

    # What every instance has, set by ``blank``; then class attributes, for what few have otherwise.
    __slots__ = ("__dict__", "__weakref__", "_array", "_edge", "_rg", "_special", "_v")

    _array: np.ndarray
    _rg: bool  # requires gradients
    _edge: Any  # the Node that made it; for a leaf its end record, once it has one
    _v: list[int] | None  # [version], shared with whatever shares the memory; None: never asked for
    _special: bool  # short ways are not for it: one of the attributes marked * is set

    _nr: int = 0  # * which output of the node
    _stale: bool = False  # * of a view: the base's record changed since its edge was made
    _inference: bool = False  # *
    _volatile: bool = False  # * nothing that is derived from it is recorded
    _grad: Tensor | None = None
    _base: Tensor | None = None  # of a differentiable view: whose memory it is
    _views: Views | None = None  # of a base: weak references to its views
    _origin: str = ""  # of a view: why it cannot be changed in place, "" if it can
    _name: str | None = None  # in expressions
    _traced: Trace | None = None  # the trace in whose run it was made, of numbers known there
    _no_expr: str | None = None  # why it has no expression
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
        """How often the memory was changed in place.

        Raises RuntimeError for inference tensors, which nothing can save.
        """
        if self._inference:
            raise RuntimeError("Inference tensors do not track version counter.")
        return self._v[0] if self._v is not None else 0

    @property
    def output_nr(self) -> int:
        """Which result of its ``grad_fn`` the tensor is."""
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

        Raises RuntimeError for False on a tensor that is no leaf, and for a dtype that is not real.
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
            if requires_grad:  # from now on gradients end here
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
        """Whether no operation that is recorded made the tensor."""
        return not self._rg or self.grad_fn is None

    @property
    def grad_fn(self) -> Node | None:
        """The node of the operation that made the tensor; None for leaves."""
        if not self._rg:
            return None
        edge: Any = edge_of(self) if self._stale else self._edge
        return None if edge is None or edge.is_leaf else edge.shown()

    @property
    def grad(self) -> Tensor | None:
        """The accumulated gradient of a leaf; None until ``backward`` reached it."""
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
        """Whether ``retain_grad`` was called on a tensor that is no leaf."""
        return self._retains

    def is_inference(self) -> bool:
        """Whether the tensor was made in inference mode, and can never be part of a record."""
        return self._inference

    def __hash__(self) -> int:
        return id(self)


def attach(name: str, member: object) -> None:
    """Let Tensors have a method or a property.  Raises ValueError if FAMILIES lacks its module."""
    function: Any = member.fget if isinstance(member, property) else member
    module = inspect.unwrap(function).__module__
    if module not in FAMILIES:
        raise ValueError(f"{name}: numeric.eager.tensor.FAMILIES has no line for {module}")
    setattr(Tensor, name, member)


def method(*names: str) -> Callable[[F], F]:
    """A decorator: the function is a method of Tensors too, by its own name or by ``names``."""

    def added(function: F) -> F:
        for name in names or (function.__name__,):
            attach(name, function)
        return function

    return added


_new = Tensor.__new__


def blank(array: np.ndarray | Shadow, rg: bool = False, edge: object = None) -> Tensor:
    """A new Tensor on an array, whatever the mode."""
    out = _new(Tensor)
    out._array = array  # type: ignore[assignment]  # a Shadow is one to all but type checkers
    out._rg = rg
    out._edge = edge
    out._v = None
    out._special = False
    return out


def wrap(array: object) -> Tensor:
    """A new Tensor of an array, which is used as it is; NumPy scalars become arrays."""
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
    """The array of a tensor, for what takes its numbers and is not recorded.

    In a trace that is kept, the numbers of a tensor from outside may be others in the next call:
    there it is an array without data, of which the trace makes an input.
    """
    trace = current().tracing
    return x._array if trace is None else trace.values(x)


def counter(x: Tensor) -> list[int]:
    """The version counter of the tensor's memory."""
    if x._v is None:
        x._v = [0]
    return x._v


def edge_of(x: Tensor) -> Record:
    """The record behind a tensor; leaves get theirs here."""
    if x._stale:
        return x._refreshed()
    if x._edge is None:
        x._edge = AccumulateGrad(x) if x._rg else Constant(x)
    edge: Record = x._edge
    return edge


def retain(x: Tensor) -> None:
    """Let the node of ``x`` fill its ``grad``."""
    edge: Any = edge_of(x)
    edge.extra().retains[x._nr] = weakref.ref(x)
