"""User-defined operations: ``Function``, with a forward and a backward written on Tensors.

Users see the node of such an operation through its *face*: the ``ctx`` of forward and backward,
which is also ``grad_fn``.  The face refers to the node, and the node refers to the face weakly: no
reference cycle arises.  The user's attributes live in a dictionary of the node, separate from the
attributes of the record.
"""

from __future__ import annotations

import functools
import inspect
import pickle
import warnings
import weakref
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np

from numeric.eager.inplace import CUSTOM, check_history, rebase
from numeric.eager.record import FREED, Node, Packed, serial
from numeric.eager.recording import FIXED, alias, cast, follow, noted, packed, watched_version
from numeric.eager.refusals import refuse
from numeric.eager.tensor import Tensor, blank, counter, edge_of, wrap
from numeric.modes import RECORD, Switch, current
from numeric.ops.arguments import explain
from symdiff.contexts import contained

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numeric.autograd.hooks import RemovableHandle
    from numeric.eager.record import T
    from symdiff.graph.expr import Expr

__all__ = [
    "BackwardCFunction",
    "Function",
    "FunctionCtx",
    "FunctionMeta",
    "InplaceFunction",
    "once_differentiable",
]


# The face ---------------------------------------------------------------------------------------


def _node_attribute(name: str) -> Any:
    """Return a property of the face that reads and writes an attribute of the node."""
    return property(
        lambda self: getattr(self._call, name),
        lambda self, value: setattr(self._call, name, value),
    )


class FunctionCtx:
    """The ``ctx`` shared by forward and backward of a ``Function``.  It takes any attribute."""

    __slots__ = ("__dict__", "__weakref__", "_call")
    _call: Applied

    needs_input_grad = _node_attribute("needs")
    materialize_grads = _node_attribute("materialize")
    to_save = _node_attribute("to_save")
    dirty_tensors = _node_attribute("dirty")
    non_differentiable = _node_attribute("non_differentiable")

    def save_for_backward(self, *tensors: object) -> None:
        """Save Tensors, or None, for backward, which finds them in ``saved_tensors``.

        Any Tensor may be saved.  If one is changed in place before backward, backward raises
        RuntimeError.  A later call replaces an earlier one.
        """
        self.to_save = tensors

    def save_for_forward(self, *tensors: object) -> None:
        """Check the arguments; no other effect, because no derivative calls ``jvp``."""
        for x in tensors:
            if x is not None and not isinstance(x, Tensor):
                raise AssertionError(
                    "save_for_forward expects all arguments to be tensors; you should save "
                    "non-tensors as attributes on ctx."
                )

    def mark_dirty(self, *args: object) -> None:
        """Declare the inputs that forward changed in place; it must return them."""
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args: object) -> None:
        """Declare the results that require no gradients."""
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Set whether backward gets zeros, rather than None, for unused results."""
        self.materialize_grads = value


class BackwardCFunction(FunctionCtx):
    """The ``grad_fn`` of the results of a ``Function``."""

    __slots__ = ()
    _forward_cls: ClassVar[Any]
    _prefix: ClassVar[str] = ""

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors of ``save_for_backward``.

        Raises RuntimeError after they were freed, and if one was changed in place.
        """
        return self._call.tensors()

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """One pair (node or None, its output number) per Tensor among the arguments."""
        return self._call.next_functions

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for the user's data."""
        return self._call.metadata

    @property
    def requires_grad(self) -> bool:
        """Whether the call was recorded."""
        return bool(self._call.edges)

    def name(self) -> str:
        """Return the name of the class."""
        return self._name()

    @classmethod
    def _name(cls) -> str:
        return cls._prefix + cls.__name__

    def register_hook(self, hook: Callable[..., object]) -> RemovableHandle:
        """Call ``hook(grad_inputs, grad_outputs)`` after backward; it may return new inputs."""
        return self._call.register_hook(hook)

    def register_prehook(self, hook: Callable[..., object]) -> RemovableHandle:
        """Call ``hook(grad_outputs)`` before backward; its result, unless None, replaces them."""
        return self._call.register_prehook(hook)

    def apply(self, *args: object) -> Any:
        """Call the user's backward with the gradients of the results.

        Raises RuntimeError if the class defines both ``backward`` and ``vjp``.
        """
        cls = self._forward_cls
        backward, vjp = cls.backward, cls.vjp
        if vjp is not Function.vjp:
            if backward is not Function.backward:
                raise RuntimeError(
                    "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. "
                    "You should only implement one of them."
                )
            backward = vjp
        return backward(self, *args)

    def __reduce_ex__(self, _: object) -> NoReturn:
        raise TypeError(f"cannot pickle '{type(self).__name__}' object")


class FunctionMeta(type):
    """Metaclass of ``Function`` classes: it creates the class of the faces, ``FBackward``."""

    _backward_cls: Any

    def __init__(cls, name: str, bases: tuple[type, ...], attributes: dict[str, object]) -> None:
        super().__init__(name, bases, attributes)
        space = {"__slots__": (), "__module__": __name__, "_forward_cls": cls}
        cls._backward_cls = type(name + "Backward", (BackwardCFunction,), space)


class Function(FunctionCtx, metaclass=FunctionMeta):
    """Base class of operations with a user-defined derivative.

    Define static methods ``forward(ctx, ...)`` and ``backward(ctx, *gradients)`` in a subclass, and
    call its ``apply``.  Two methods, ``forward(...)`` and ``setup_context(ctx, inputs, output)``,
    may replace the first.

    Forward may return Tensors, tuples of them, and other objects; it is not recorded.  Backward
    gets one gradient per result, and returns one per argument, None without a gradient.
    ``create_graph=True`` records backward, so that derivatives of any order follow from it.
    Methods ``vmap`` and ``jvp`` are never called.

    >>> import numeric as torch
    >>> class Cube(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x**3
    ...
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         (x,) = ctx.saved_tensors
    ...         return 3 * x**2 * g
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> y = Cube.apply(x)
    >>> y.backward()
    >>> y, x.grad
    (tensor(8., grad_fn=<CubeBackward>), tensor(12.))
    """

    generate_vmap_rule = False

    def __init__(self, *_: object, **__: object) -> None:
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all "
            "static, so you should invoke them on the class itself. Instantiating an autograd "
            "function will raise an error in a future version of PyTorch.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *_: object, **__: object) -> NoReturn:
        """Raise RuntimeError: only ``apply`` calls a Function."""
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use "
            "new-style autograd function with static forward method: call its `apply`."
        )

    @staticmethod
    def forward(*_: Any, **__: Any) -> Any:
        """Compute the results; to be overridden."""
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function."
        )

    @staticmethod
    def setup_context(_ctx: Any, _inputs: tuple[Any, ...], _output: Any) -> Any:
        """Fill ``ctx`` after a forward without it; to be overridden."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(_ctx: Any, *_: Any) -> Any:
        """Return the gradients of the arguments, from those of the results; to be overridden."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom "
            "autograd.Function to use it with backward mode AD."
        )

    @staticmethod
    def vjp(_ctx: object, *gradients: object) -> Any:
        """Do the same as ``backward``, under another name."""
        return Function.backward(_ctx, *gradients)

    @staticmethod
    def jvp(_ctx: object, *_: object) -> Any:
        """Accept a definition in subclasses; it is never called: there is no forward mode."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with "
            "forward mode AD."
        )

    @staticmethod
    def vmap(_info: object, _in_dims: object, *_: object) -> Any:
        """Accept a definition in subclasses; it is never called."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or "
            "set generate_vmap_rule=True."
        )

    @classmethod
    def apply(cls, *args: object, **kwargs: object) -> Any:
        """Call forward, and record its results with this class's backward.

        Keyword arguments take their place in the order of forward's parameters.
        """
        setup = cls.setup_context is not Function.setup_context
        if setup or kwargs:
            args = _ordered(cls.forward, () if setup else (None,), args, kwargs)
        return _applied(cls, args, setup)


class InplaceFunction(Function):
    """A ``Function`` with the flag by which old programs declare that it works in place."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


def _ordered(
    forward: Callable[..., object],
    lead: tuple[object, ...],
    args: Sequence[object],
    kwargs: Mapping[str, object],
) -> tuple[Any, ...]:
    """Return positional arguments; with the defaults if forward has no ``ctx``."""
    bound = inspect.signature(forward).bind(*lead, *args, **kwargs)
    if not lead or bound.kwargs:
        bound.apply_defaults()
    if bound.kwargs:
        raise TypeError(
            "forward() got an unexpected keyword argument "
            f"{next(iter(bound.kwargs))!r}: apply passes all arguments by place"
        )
    return bound.args[len(lead) :]


# The node ---------------------------------------------------------------------------------------


_OWN = object()  # in place of the edge of a saved result, by which the node would refer to itself


class Applied(Node):
    """The node of one call of a ``Function``.

    ``tensors_at`` marks the arguments that are Tensors, and ``mask`` those of them that have edges.
    ``types`` has the shape and dtype of each edge's operand, ``results`` those of each result or
    None for other objects.  ``histories`` has a weak reference to each saved tensor, its edge and
    its output number.
    """

    __slots__ = (
        "attributes",
        "cls",
        "dirty",
        "face",
        "histories",
        "mask",
        "materialize",
        "needs",
        "non_differentiable",
        "outputs",
        "results",
        "tensors_at",
        "to_save",
        "types",
    )

    histories: tuple[Any, ...]

    foreign = True
    partial = True
    outputs: int  # differs between calls
    bound: Any  # None: only operations of the package have one
    pullback: Any  # None
    results: list[tuple[tuple[int, ...], np.dtype] | None]
    face: weakref.ref[BackwardCFunction] | None

    def __init__(self, cls: Any, args: Sequence[object]) -> None:
        self.cls = cls
        self.attributes: dict[str, object] = {}
        self.face = None
        self.tensors_at = tuple([isinstance(x, Tensor) for x in args])
        self.needs = tuple([isinstance(x, Tensor) and x._rg for x in args])
        self.materialize = True
        self.to_save: Any = ()
        self.dirty: Any = ()
        self.non_differentiable: Any = ()
        self.edges, self.nrs, self.operands = (), None, None
        self.saved, self.check, self.histories = (), (), ()
        self.mask: tuple[bool, ...] = ()
        self.types: tuple[tuple[tuple[int, ...], np.dtype], ...] = ()
        self.results, self.outputs = [], 0
        self.bound = self.pullback = self.extras = None
        self.serial = serial()

    def connect(self, tensors: Sequence[Tensor]) -> None:
        """Add the node to the record, with edges to the nodes of these arguments."""
        self.mask = tuple([x._rg for x in tensors])
        above = [x for x in tensors if x._rg]
        edges: list[Any] = [edge_of(x) for x in above]
        self.edges = tuple(edges)
        self.types = tuple([(x._array.shape, x._array.dtype) for x in above])
        if any(edge.outputs > 1 for edge in self.edges):
            self.nrs = tuple([x._nr for x in above])

    def shown(self) -> BackwardCFunction:
        """Return the face; a new one replaces a dead one, with the same attributes."""
        face = None if self.face is None else self.face()
        if face is None:
            new_face: Any = object.__new__(self.cls._backward_cls)
            new_face.__dict__, new_face._call = self.attributes, self
            self.face, face = weakref.ref(new_face), new_face
        return face

    def name(self) -> str:
        """Return the name of the face's class."""
        return str(self.cls._backward_cls._name())

    def __repr__(self) -> str:
        return repr(self.shown())

    def __reduce_ex__(self, _: object) -> NoReturn:
        raise pickle.PicklingError(
            f"a tensor made by {self.name()}, of a custom autograd.Function, cannot be pickled "
            "with its history; detach() it"
        )

    def by_operand(self, values: Sequence[T]) -> tuple[T | None, ...]:
        """Map values of edges to values of Tensor arguments; an argument without edge gets None."""
        remaining = iter(values)
        return tuple([next(remaining) if m else None for m in self.mask])

    def by_edge(self, values: Sequence[T]) -> list[T]:
        """Map values of Tensor arguments to values of edges."""
        return [v for v, m in zip(values, self.mask, strict=True) if m]

    def free(self) -> None:
        """Drop the saved tensors; a backward that does not use them may run again."""
        self.saved = None

    def expr(self, operands: Sequence[Expr]) -> Expr | tuple[Expr, ...]:
        """Raise RuntimeError: a custom Function has no expression."""
        raise RuntimeError(
            f"expr: {self.cls.__name__} is a custom autograd.Function: its forward is a program of "
            "which no formula is known; detach() its result for an expression in terms of that"
        )

    # Saved tensors ----------------------------------------------------------------------------

    def save(self) -> None:
        """Save the tensors of ``save_for_backward`` as arrays with their histories."""
        saved: list[Any] = []
        check: list[Any] = []
        histories: list[Any] = []
        for i, x in enumerate(self.to_save):
            if x is None:
                saved.append(None)
                check += [FIXED, 0]  # a version that never changes
                histories.append(None)
                continue
            if not isinstance(x, Tensor):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument {i} is of type "
                    f"{type(x).__name__}"
                )
            v = watched_version(x)
            edge: Any = edge_of(x) if x._rg else None
            own = edge is self
            history = (None if own else weakref.ref(x), _OWN if own else edge, x._nr)
            if current().packing is not None:
                # A result refers to this node: detach it, or the node would keep itself alive.
                saved.append(packed(x.detach() if own else x))
                check += [[0], 0]
            else:
                saved.append(x._array)
                check += [v, v[0]]
            histories.append(history)
        self.saved, self.check, self.histories = tuple(saved), tuple(check), tuple(histories)

    def tensors(self) -> tuple[Any, ...]:
        """Return the saved Tensors with their histories."""
        if self.saved is None:
            raise RuntimeError(FREED)
        out: list[Any] = []
        for i, (value, history) in enumerate(zip(self.values(), self.histories, strict=True)):
            if value is None:
                out.append(None)
            elif value.__class__ is Packed:
                x = value.tensor()
                out.append(_rebuilt(self, x._array, counter(x), history))
            else:
                # Return the very tensor that was saved, as long as it is alive and unchanged.
                known = history[0]() if history[0] is not None else None
                if known is not None and _is_unchanged(known, value, history):
                    out.append(known)
                else:
                    out.append(_rebuilt(self, value, self.check[2 * i], history))
        return tuple(out)

    # Backward ---------------------------------------------------------------------------------

    def called(self, gs: Sequence[Tensor | None]) -> list[Tensor | None]:
        """Return the gradients of the edges, from those of the results, by the user's backward."""
        if self.materialize:
            gs = [
                _zeros(*t) if g is None and t is not None else g
                for g, t in zip(gs, self.results, strict=True)
            ]
        answer = BackwardCFunction.apply(self.shown(), *gs)
        out = self._checked(answer if isinstance(answer, tuple) else (answer,))
        gradients = []
        k = 0
        for i, (g, m) in enumerate(zip(out, self.mask, strict=True)):
            if m:
                gradients.append(None if g is None else self._fitted(g, i, *self.types[k]))
                k += 1
        return gradients

    def _checked(self, answer: tuple[object, ...]) -> list[Tensor | None]:
        """Check the results of backward; return those for the Tensors among the arguments."""
        n = len(self.tensors_at)
        # PyTorch accepts additional results that are None.
        if len(answer) > n and all(g is None for g in answer[n:]):
            answer = answer[:n]
        if len(answer) != n:
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected {n}, "
                f"got {len(answer)})"
            )
        out: list[Tensor | None] = []
        for i, (g, is_tensor) in enumerate(zip(answer, self.tensors_at, strict=True)):
            if not is_tensor and g is not None:
                raise RuntimeError(
                    f"function {self.name()} returned a gradient different than None at position "
                    f"{i + 1}, but the corresponding forward input was not a Variable"
                )
            if g is not None and not isinstance(g, Tensor):
                raise RuntimeError(f"expected Variable or None (got {type(g).__name__})")
            if is_tensor:
                out.append(g)
        return out

    def _fitted(self, g: Tensor, i: int, shape: tuple[int, ...], kind: np.dtype) -> Tensor:
        """Convert a gradient to the operand's shape, by sums over broadcast axes, and dtype."""
        got = g._array.shape
        if got != shape:
            extra = len(got) - len(shape)
            if extra < 0 or any(n not in (1, m) for n, m in zip(shape, got[extra:], strict=True)):
                raise RuntimeError(
                    f"Function {self.name()} returned an invalid gradient at index {i} - got "
                    f"{list(got)} but expected shape compatible with {list(shape)}"
                )
            grown = [a + extra for a, n in enumerate(shape) if n == 1 != got[a + extra]]
            g = g.sum(dim=(*range(extra), *grown), keepdim=True).reshape(shape)
        return g if g._array.dtype == kind else cast(g, kind)


def _zeros(shape: tuple[int, ...], kind: np.dtype) -> Tensor:
    zeros = wrap(np.zeros(shape, kind))
    # A recorded backward needs an expression of every operand: these zeros are the constant 0.
    return follow(zeros, 0) if current().grad else zeros


def _rebuilt(
    node: Applied, array: np.ndarray, v: list[int], history: tuple[object, Any, int]
) -> Tensor:
    """Return a tensor with a saved array and its history."""
    _, edge, nr = history
    out = blank(array, edge is not None, node if edge is _OWN else edge)
    out._v = v
    if edge is not None and out._edge.outputs > 1:
        out._nr, out._special = nr, True
    return out


def _is_unchanged(x: Tensor, array: np.ndarray, history: tuple[object, Any, int]) -> bool:
    """Whether a tensor has the array and the history it had when it was saved."""
    edge = history[1]
    return (
        x._array is array
        and not x._stale
        and x._rg == (edge is not None)
        and (edge is None or (x._edge is edge and x._nr == history[2]))
    )


_UNRECORDED = Switch(grad=False)


# Calls ------------------------------------------------------------------------------------------


@contained
def _applied(cls: Any, args: tuple[object, ...], setup: bool) -> Any:
    """Run forward, and add the history to its results."""
    mode = current()
    if mode.tracing is not None:
        refuse(
            f"{cls.__name__}, a custom autograd.Function, is applied",
            "write it with operations that have derivatives, or loop over the slices outside",
        )
    tensors = [x for x in args if isinstance(x, Tensor)]
    volatile = any(x._volatile for x in tensors)
    recorded = mode.grad and not volatile and any(x._rg for x in tensors)
    # A view gets its node late if its base was rewritten.  Create such nodes before this one: the
    # engine runs nodes by descending serial numbers, so that operands need smaller ones.
    for x in [x for x in tensors if x._rg] if recorded else ():
        edge_of(x)
    node = Applied(cls, args)
    if recorded:
        node.connect(tensors)
    face = node.shown()
    with _UNRECORDED:
        if setup:
            raw = cls.forward(*args)
            cls.setup_context(face, args, raw)
        else:
            raw = cls.forward(face, *args)
    many = isinstance(raw, tuple)
    outs = _returned(node, tensors, raw if many else (raw,), recorded, setup)
    if recorded:
        node.save()
        if mode is not RECORD:
            noted(node, args)
    for out in outs if volatile else ():
        if isinstance(out, Tensor):
            out._volatile = out._special = True
    # These lists hold results, which refer to the node: drop them to avoid a cycle.
    node.to_save = node.dirty = node.non_differentiable = None
    return tuple(outs) if many else outs[0]


def _returned(
    node: Applied, tensors: Sequence[Tensor], raw: tuple[Any, ...], recorded: bool, setup: bool
) -> list[Any]:
    """Return the results with their history; objects that are not Tensors stay as they are."""
    inputs = {id(x) for x in tensors}
    dirty = _marked(node.dirty, _NOT_DIRTY)
    for x in dirty.values():
        counter(x)[0] += 1
    fixed = _marked(node.non_differentiable, _NOT_FIXED)
    saved = {id(x) for x in node.to_save} if setup else ()
    node.outputs = len(raw)
    outs: list[Any] = []
    real = 0  # the number of results with gradients
    for nr, x in enumerate(raw):
        if not isinstance(x, Tensor):
            outs.append(x)
            continue
        key = id(x)
        differentiable = recorded and key not in fixed and x._array.dtype.kind == "f"
        real += differentiable
        if not differentiable:
            out = _without(x, key in inputs, key in dirty)
        elif key in dirty:
            out = _rewritten(node, x, nr, key in inputs)
        else:
            if key in inputs and key in saved:
                raise RuntimeError(_SAVED_AS_IS)
            out = _with(node, x, nr, key in inputs)
        outs.append(out)
        if out._base is not None and not (key in inputs and key in dirty):
            out._origin = CUSTOM + node.cls.__name__
    if dirty and not dirty.keys() <= {id(x) for x in raw}:
        raise RuntimeError(
            "Some elements marked as dirty during the forward method were not returned as output. "
            "The inputs that are modified inplace must all be outputs of the Function."
        )
    if recorded:
        node.results = [_type(x) for x in outs]
    for out in outs if real > 1 else ():
        if isinstance(out, Tensor) and out._base is not None:
            out._origin = node.cls.__name__
    return outs


_NOT_DIRTY = "mark_dirty can only accept variables, but argument 0 is of type "
_NOT_FIXED = "mark_non_differentiable only accepts variable arguments, but got "
_SAVED_AS_IS = (
    "An input that has been returned as-is as output is being saved for backward. This is not "
    "supported if you override setup_context. You should return and save a view of the input "
    "instead, e.g. with x.view_as(x) or setup ctx inside the forward function itself."
)


def _type(x: object) -> tuple[tuple[int, ...], np.dtype] | None:
    return (x._array.shape, x._array.dtype) if isinstance(x, Tensor) else None


def _marked(objects: Iterable[object], message: str) -> dict[int, Tensor]:
    """Return the marked Tensors by their ids.  Raises RuntimeError unless all are Tensors."""
    by_id = {}
    for x in objects:
        if not isinstance(x, Tensor):
            raise RuntimeError(message + type(x).__name__)
        by_id[id(x)] = x
    return by_id


def _without(x: Tensor, is_input: bool, is_dirty: bool) -> Tensor:
    """Return a result that requires no gradients."""
    if x._rg:
        out: Tensor = x.detach()
        return out
    return _view(x) if is_input and not is_dirty else x


def _view(x: Tensor) -> Tensor:
    """Return a view of an input that forward returned unchanged."""
    out = blank(x._array.view())
    alias(out, x, False)
    return out


def _with(node: Applied, x: Tensor, nr: int, is_input: bool) -> Tensor:
    """Return a result with its history."""
    out = _view(x) if is_input else x
    out._rg, out._edge, out._nr = True, node, nr
    out._special = out._special or node.outputs > 1
    if out._no_expr is not None:
        out._no_expr = None
    return out


def _rewritten(node: Applied, x: Tensor, nr: int, is_input: bool) -> Tensor:
    """Return a result that forward changed in place: the same Tensor, with a new history."""
    if x._rg and x.is_leaf:
        raise RuntimeError(
            "a leaf Variable that requires grad has been used in an in-place operation."
        )
    if not is_input:
        warnings.warn(
            "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that "
            "have been mutated should be passed to ctx.mark_dirty().",
            UserWarning,
            stacklevel=5,
        )
    if x._base is not None:
        if node.outputs > 1:
            raise RuntimeError(
                "If your Function modifies inplace an input that is a view of another Tensor, your "
                "Function cannot return more than one Tensor. This is not supported by the current "
                "autograd engine. You should either make sure the input is not a view (using "
                ".clone() for example) or make your Function only return one Tensor."
            )
        check_history(x)
    out = blank(x._array, True, node)
    out._nr = nr
    out._special = node.outputs > 1
    rebase(x, out)
    x._grad = None  # it belonged to the earlier value
    return x


# First order only -------------------------------------------------------------------------------


class _Once(Function):
    """An operation whose backward raises."""

    @staticmethod
    def forward(_: Any, *outputs: Any) -> Any:
        """Return the same values."""
        return outputs

    @staticmethod
    def backward(_: Any, *__: Any) -> Any:
        """Raise RuntimeError."""
        raise RuntimeError(
            "trying to differentiate twice a function that was marked with @once_differentiable"
        )


# PyTorch's name of the node: torch::autograd::Error.
_Once.__name__ = _Once._backward_cls.__name__ = "Error"
_Once._backward_cls._prefix = "torch::autograd::"


def once_differentiable(fn: Callable[..., object]) -> Callable[..., Any]:
    """Decorate a ``backward`` that is not recorded, and whose derivative is an error.

    Under ``create_graph=True`` the gradients require gradients if the incoming ones do;
    differentiating them raises RuntimeError.

    >>> import numeric as torch
    >>> class Twice(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return 2 * x
    ...
    ...     @staticmethod
    ...     @once_differentiable
    ...     def backward(ctx, g):
    ...         return 2 * g
    >>> x = torch.tensor(1.0, requires_grad=True)
    >>> torch.autograd.grad(Twice.apply(x), x)
    (tensor(2.),)
    """

    @functools.wraps(fn)
    @contained
    def wrapper(ctx: object, *args: object, **kwargs: object) -> Any:
        with Switch(grad=False):
            outputs = fn(ctx, *args, **kwargs)
        if not current().grad or not any(isinstance(g, Tensor) and g._rg for g in args):
            return outputs
        parts = outputs if isinstance(outputs, tuple) else (outputs,)
        return _Once.apply(*[x.detach().requires_grad_() if x is not None else x for x in parts])

    return wrapper


explain(__name__)
