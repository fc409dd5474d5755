"""The record: nodes, one per operation, from results back to leaves.

A node saves the values that its pullback needs as arrays, never as Tensors, and refers to leaves
weakly.  No reference cycle arises, and the record is freed with its last result.

A record ends at a leaf that requires gradients (``AccumulateGrad``), or at a constant, which has no
gradient and serves expressions only.  This module uses attributes of Tensors but does not import
the class, whose module imports this one.
"""

from __future__ import annotations

import weakref
from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, TypeVar

import numpy as np

from numeric.guesses import GRAD_FN
from symdiff.graph.leaves import full, number_of
from symdiff.guesses import without

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numeric.autograd.hooks import RemovableHandle
    from numeric.eager.specialised import Bound, Declaration, Pullback
    from numeric.eager.tensor import Tensor
    from symdiff.graph.expr import Expr

# The record of an operand that requires gradients.
Edge: TypeAlias = "Node | AccumulateGrad"

T = TypeVar("T")


# Serial numbers in creation order, across threads: a consumer's is greater than its operands'.
serial = count().__next__

FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been freed). Saved intermediate values of the graph are freed when you "
    "call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward "
    "through the graph a second time or if you need to access saved tensors after calling "
    "backward."
)


class Extras:
    """Attributes that few nodes have: hooks, and the stack at which the operation was recorded."""

    __slots__ = ("made", "metadata", "packed", "posthooks", "prehooks", "retains", "tensor_hooks")

    def __init__(self) -> None:
        # By output number; hooks by handle number, in order of registration.
        self.tensor_hooks: dict[int, dict[int, Callable[..., object]]] = {}
        self.retains: dict[int, weakref.ref[Tensor]] = {}
        self.prehooks: dict[int, Callable[..., object]] = {}
        self.posthooks: dict[int, Callable[..., object]] = {}
        self.made: str | None = None
        self.metadata: dict[Any, Any] = {}
        self.packed = False  # whether some saved value is Packed


class Packed:
    """The object that a user's pack hook returned for a saved tensor, and the unpack hook."""

    __slots__ = ("dtype", "made", "shape", "unpack")

    def __init__(self, array: np.ndarray, made: object, unpack: Callable[[Any], Tensor]) -> None:
        self.shape, self.dtype, self.made, self.unpack = array.shape, array.dtype, made, unpack

    def tensor(self) -> Tensor:
        """Return the unpacked tensor.  Raises TypeError if the hook returns no Tensor."""
        x = self.unpack(self.made)
        if not hasattr(x, "_array"):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                + type(x).__name__
            )
        return x

    def array(self) -> np.ndarray:
        """Return the unpacked array in its old dtype.  Raises RuntimeError for another shape."""
        array = self.tensor()._array
        if array.shape != self.shape:
            raise RuntimeError(
                f"the unpack hook of a saved tensor of shape {list(self.shape)} returned one of "
                f"shape {list(array.shape)}"
            )
        return array.astype(self.dtype, copy=False)


class Record:
    """The record of an operand: a node, a leaf that requires gradients, or a constant."""

    __slots__ = ("__weakref__",)

    differentiable = False
    is_leaf: ClassVar[bool] = True
    kind = "f"  # of the values: real, integer ...

    def shown(self) -> Any:
        """Return the object that users see for it."""
        return self


def absent(gs: Sequence[object]) -> tuple[int, ...]:
    """Return the numbers of the results without a cotangent."""
    return tuple([i for i, g in enumerate(gs) if g is None])


class Node(Record):
    """One recorded operation.  Each op has its own class, because programs read the class's name.

    ``edges`` are the records of the operands that require gradients, in order.  ``nrs`` are their
    output numbers, None if all are the first.  ``operands`` are the records or numbers of all
    operands, None if these are the edges.

    ``saved`` are the arrays that the pullback needs, None after they were freed.  ``check`` has the
    version counter of each saved tensor, followed by its value at the time.  ``pullback`` computes
    cotangents, with the axis lengths of ``bound``.

    Every operation creates a node, so its size counts: rare attributes are in ``extras``.
    """

    __slots__ = (
        "bound",
        "check",
        "edges",
        "extras",
        "nrs",
        "operands",
        "pullback",
        "saved",
        "serial",
    )

    differentiable = True
    is_leaf: ClassVar[Literal[False]] = False
    outputs: int = 1
    prefix: ClassVar[str] = ""
    numbers: ClassVar[bool] = False  # Python numbers count among the operands
    foreign: ClassVar[bool] = False  # its backward is user code, on Tensors
    partial: ClassVar[bool] = False  # its pullback accepts None for results without a cotangent
    op: Declaration

    edges: tuple[Edge, ...]
    nrs: tuple[int, ...] | None
    operands: tuple[object, ...] | None
    saved: tuple[Any, ...] | None
    check: tuple[Any, ...]
    pullback: Pullback
    bound: Bound
    extras: Extras | None
    serial: int

    # Defined by ``numeric.autograd.hooks``.
    register_hook: Callable[[Callable[..., object]], RemovableHandle]
    register_prehook: Callable[[Callable[..., object]], RemovableHandle]

    def name(self) -> str:
        """Return the name of the operation's backward, the name of the class."""
        return self.prefix + type(self).__name__

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"

    @property
    def next_functions(self) -> tuple[tuple[Record | None, int], ...]:
        """One pair (node or None, its output number) per operand that may have a gradient."""
        nrs = self.nrs or [0] * len(self.edges)
        ends = self.by_operand(list(zip(self.edges, nrs, strict=True)))
        return tuple([(None, 0) if end is None else (end[0].shown(), end[1]) for end in ends])

    @property
    def metadata(self: Edge) -> dict[Any, Any]:
        """A dictionary for the user's data."""
        return self.extra().metadata

    def extra(self: Edge) -> Extras:
        """Return the extras, created on first use."""
        if self.extras is None:
            self.extras = Extras()
        return self.extras

    # The engine's interface -------------------------------------------------------------------

    def values(self) -> tuple[Any, ...]:
        """Return the saved arrays.  Raises RuntimeError if they were freed or changed since."""
        if self.saved is None:
            raise RuntimeError(FREED)
        check = self.check
        for i in range(0, len(check), 2):
            if check[i][0] != check[i + 1]:
                raise RuntimeError(self.changed(i))
        if self.extras is not None and self.extras.packed:
            return tuple([x.array() if x.__class__ is Packed else x for x in self.saved])
        return self.saved

    def changed(self, i: int) -> str:
        """Return the message for a saved tensor that was changed in place."""
        what, saved = "an index", self.saved or ()
        if i // 2 < len(saved):
            what = f"a tensor of shape {list(getattr(saved[i // 2], 'shape', ()))}"
        return (
            "one of the variables needed for gradient computation has been modified by an inplace "
            f"operation: {what}, saved by {self.name()}, is at version "
            f"{self.check[i][0]}; expected version {self.check[i + 1]} instead. Hint: clone() it "
            "before it is changed, or enable anomaly detection to find the operation, with "
            "torch.autograd.set_detect_anomaly(True)."
        )

    def pull(self, g: Any, marked: bool) -> tuple[Sequence[Any], Sequence[bool] | None]:
        """Return the cotangents of the edges from the result's, as arrays, and their marks.

        ``g`` is an array, or a list of arrays for several results; it has None if ``partial``.
        """
        p = self.pullback
        if marked or self.partial:
            p = self.variant(g, marked)
        if self.partial:
            g = self.filled(g)
        values = self.values()
        if p.clean:
            return p.function(*values, g, None), p.marks
        gs = g if self.outputs > 1 else (g,)
        bound = self.bound
        return bound.fitted(p, p.function(*values, *gs, bound.sizes), gs[0]), p.marks

    def variant(self, gs: Sequence[object], marked: bool) -> Pullback:
        """Return the pullback for these cotangents, one or None for each result."""
        return self.pullback.variant(marked, absent(gs) if self.partial else ())

    def pull_recorded(
        self, gs: Sequence[Any], marked: bool
    ) -> tuple[Sequence[Any], Sequence[bool] | None]:
        """Pull back Tensors, recorded.  ``numeric.eager.recorded_backward`` defines it."""
        raise NotImplementedError

    def filled(self, gs: Sequence[Any]) -> list[Any]:
        """Replace None by zeros for results without a cotangent."""
        shapes = self.result_shapes()
        return [np.zeros(*shapes[i]) if g is None else g for i, g in enumerate(gs)]

    def result_shapes(self) -> Sequence[tuple[tuple[int, ...], np.dtype]]:
        """Return shapes and dtypes of the results, for a node with several."""
        return self.bound.results

    def by_operand(self, values: Sequence[T]) -> tuple[T | None, ...]:
        """Map values of edges to values of operands, None for operands without a gradient."""
        if self.operands is None:
            return tuple(values)
        remaining = iter(values)
        return tuple(
            [next(remaining) if _has_edge(x) else None for x in self.operands if self._counts(x)]
        )

    def _counts(self, x: object) -> bool:
        """Whether an operand is of a kind that can have a gradient."""
        return x.kind == "f" if isinstance(x, Record) else self.numbers and not hasattr(x, "shape")

    def by_edge(self, values: Sequence[T]) -> list[T]:
        """Map values of operands to values of edges."""
        if self.operands is None:
            return list(values)
        counted = [x for x in self.operands if self._counts(x)]
        return [v for x, v in zip(counted, values, strict=True) if _has_edge(x)]

    def kept(self) -> Sequence[int]:
        """Return the places of the saved arrays among operands and, after them, results."""
        return self.pullback.keeps

    def free(self) -> None:
        """Drop the saved arrays; a node that saved none may run again."""
        if self.saved:
            self.saved = None

    def expr(self, operands: Sequence[Expr]) -> Expr | tuple[Expr, ...]:
        """Return the expressions of the results, from those of the operands."""
        return self.bound.expr(operands)

    def state(self) -> dict[str, Any]:
        """Return the attributes that a pickle of the node contains."""
        slots = [name for cls in type(self).__mro__ for name in getattr(cls, "__slots__", ())]
        names = {name for name in slots if name not in ("__weakref__", "extras", "serial")}
        state = {name: getattr(self, name) for name in sorted(names)}
        if self.saved and self.extras is not None and self.extras.packed:
            state["saved"] = self.values()
        return state

    def restore(self, state: dict[str, object]) -> None:
        """Set the attributes from a pickle's state."""
        for name, value in state.items():
            setattr(self, name, value)


without(Node, "a grad_fn", GRAD_FN)


def _has_edge(x: object) -> bool:
    return isinstance(x, Record) and x.differentiable


class LeafRecord(Record):
    """The record of an operand that no operation created; it refers to the tensor weakly."""

    __slots__ = ("_leaf", "kind", "label", "shape", "symbol")

    def __init__(self, leaf: Tensor) -> None:
        self._leaf = weakref.ref(leaf)
        # Copies of the attributes that expressions need: the leaf may be freed by then.
        self.symbol: Expr | None = None
        self.label, self.shape = leaf._name, leaf._array.shape
        self.kind = leaf._array.dtype.kind

    @property
    def variable(self) -> Tensor | None:
        """The leaf, or None after it was freed."""
        return self._leaf()


class AccumulateGrad(LeafRecord):
    """The end of a record at a leaf that requires gradients."""

    __slots__ = ("extras",)

    differentiable = True
    is_leaf: ClassVar[Literal[True]] = True
    edges: ClassVar[tuple[Edge, ...]] = ()
    next_functions: ClassVar[tuple[tuple[Record | None, int], ...]] = ()
    outputs: ClassVar[int] = 1

    def __init__(self, leaf: Tensor) -> None:
        super().__init__(leaf)
        self.extras: Extras | None = None

    def name(self) -> str:
        """Return PyTorch's name of the class."""
        return "torch::autograd::AccumulateGrad"

    __repr__, extra, metadata = Node.__repr__, Node.extra, Node.metadata


class Nowhere(AccumulateGrad):
    """The end of a record at a view that was created without recording from a recorded base.

    The view requires gradients, as do results computed from it, but no gradient passes on to the
    base.
    """

    __slots__ = ()

    @property
    def variable(self) -> None:
        """None: the gradient arrives at no tensor."""
        return None

    def shown(self) -> None:
        """Return None, as for an operand that requires no gradient."""
        return None


class Constant(LeafRecord):
    """The record of an operand that requires no gradient: a symbol in expressions."""

    __slots__ = ()


class Known(Constant):
    """A constant with a known expression, computed in a recorded backward pass.

    It has no gradient: ``op`` of ``operands`` (records, numbers, arrays) is only its formula.
    Without an op its formula is the operand, where a number fills the shape.
    """

    __slots__ = ("nr", "op", "operands", "params")

    def __init__(
        self,
        leaf: Tensor,
        op: Declaration | None,
        operands: Sequence[object],
        params: tuple[object, ...] = (),
        nr: int = 0,
    ) -> None:
        super().__init__(leaf)
        self.op, self.operands, self.params, self.nr = op, tuple(operands), params, nr

    def expr(self, operands: Sequence[Expr]) -> Expr:
        """Return the expression, from those of the operands."""
        if self.op is not None:
            return self.op.results(operands, self.params)[self.nr]
        x = operands[0]
        number = number_of(x)
        return x if x.shape == self.shape or number is None else full(self.shape, number)
