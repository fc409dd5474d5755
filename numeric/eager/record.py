"""The record: nodes, one per operation, from results back to leaves.

A node keeps what its pullback needs as arrays, never as Tensors, and leaves are held weakly: no
reference cycle arises, and dropping the last result frees the record at once.

A record ends where no operation was recorded: at a leaf that requires gradients
(``AccumulateGrad``), or at a constant, which has no gradient, and is there for expressions alone.
Records know Tensors by their attributes; the class stands above this module.
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

# What stands behind an operand that requires gradients.
Edge: TypeAlias = "Node | AccumulateGrad"

T = TypeVar("T")


# Creation order, of all threads: consumers come after what they consume.
serial = count().__next__

FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been freed). Saved intermediate values of the graph are freed when you "
    "call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward "
    "through the graph a second time or if you need to access saved tensors after calling "
    "backward."
)


class Extras:
    """What few nodes have: hooks, and where the operation was recorded."""

    __slots__ = ("made", "metadata", "packed", "posthooks", "prehooks", "retains", "tensor_hooks")

    def __init__(self) -> None:
        # By output number; hooks by handle number, in order of registration.
        self.tensor_hooks: dict[int, dict[int, Callable[..., object]]] = {}
        self.retains: dict[int, weakref.ref[Tensor]] = {}
        self.prehooks: dict[int, Callable[..., object]] = {}
        self.posthooks: dict[int, Callable[..., object]] = {}
        self.made: str | None = None
        self.metadata: dict[Any, Any] = {}
        self.packed = False  # some of what is saved is Packed


class Packed:
    """What a user's hook made of a saved tensor, and the hook that makes the tensor again."""

    __slots__ = ("dtype", "made", "shape", "unpack")

    def __init__(self, array: np.ndarray, made: object, unpack: Callable[[Any], Tensor]) -> None:
        self.shape, self.dtype, self.made, self.unpack = array.shape, array.dtype, made, unpack

    def tensor(self) -> Tensor:
        """The tensor again.  Raises TypeError if it is none."""
        x = self.unpack(self.made)
        if not hasattr(x, "_array"):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                + type(x).__name__
            )
        return x

    def array(self) -> np.ndarray:
        """Its array, in the dtype of what was packed.  Raises RuntimeError for another shape."""
        array = self.tensor()._array
        if array.shape != self.shape:
            raise RuntimeError(
                f"the unpack hook of a saved tensor of shape {list(self.shape)} returned one of "
                f"shape {list(array.shape)}"
            )
        return array.astype(self.dtype, copy=False)


class Record:
    """What stands behind an operand: a node, a leaf that requires gradients, or a constant."""

    __slots__ = ("__weakref__",)

    differentiable = False
    is_leaf: ClassVar[bool] = True
    kind = "f"  # of the values: real, integer ...

    def shown(self) -> Any:
        """What the user sees of it."""
        return self


def absent(gs: Sequence[object]) -> tuple[int, ...]:
    """The results that nothing came back to, of their cotangents."""
    return tuple([i for i, g in enumerate(gs) if g is None])


class Node(Record):
    """One recorded operation; each op has a class of them, as programs know nodes by its name.

    ``edges``: the records of the operands that require gradients, in order; ``nrs``: which of their
    outputs, None if all are the first.  ``operands``: records and numbers of all operands, None
    if they are the edges.  ``saved``: the arrays that the pullback needs, None once freed;
    ``check``: version counters of what they were saved from, each followed by its value then.
    ``pullback`` and ``bound``: how cotangents are computed, and the lengths for that.

    There is one for every operation, so that slots count, and what few nodes have is in ``extras``.
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
    foreign: ClassVar[bool] = False  # its backward is the user's, on Tensors
    partial: ClassVar[bool] = False  # results that nothing came back to are left out
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

    # Made by ``numeric.autograd.hooks``.
    register_hook: Callable[[Callable[..., object]], RemovableHandle]
    register_prehook: Callable[[Callable[..., object]], RemovableHandle]

    def name(self) -> str:
        """The name of the operation's backward, that of the class."""
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
        """A dictionary for the user's own notes."""
        return self.extra().metadata

    def extra(self: Edge) -> Extras:
        """The extras, made when they are first needed."""
        if self.extras is None:
            self.extras = Extras()
        return self.extras

    # What the engine asks ---------------------------------------------------------------------

    def values(self) -> tuple[Any, ...]:
        """The saved arrays.  Raises RuntimeError if they were freed or changed since."""
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
        """What is said when a saved tensor was changed in place."""
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
        """Cotangents of the edges from that of the result, as arrays, and which are marked.

        ``g`` is an array; a list of arrays for several results, None in it if ``partial``.
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
        """The pullback for what came back: of each result a cotangent, None where none came."""
        return self.pullback.variant(marked, absent(gs) if self.partial else ())

    def pull_recorded(
        self, gs: Sequence[Any], marked: bool
    ) -> tuple[Sequence[Any], Sequence[bool] | None]:
        """The same on Tensors, recorded.  ``numeric.eager.recorded_backward`` defines it."""
        raise NotImplementedError

    def filled(self, gs: Sequence[Any]) -> list[Any]:
        """Zeros for the results that nothing came back to."""
        shapes = self.result_shapes()
        return [np.zeros(*shapes[i]) if g is None else g for i, g in enumerate(gs)]

    def result_shapes(self) -> Sequence[tuple[tuple[int, ...], np.dtype]]:
        """Shapes and dtypes of the results, of a node with several."""
        return self.bound.results

    def by_operand(self, values: Sequence[T]) -> tuple[T | None, ...]:
        """Values of edges as values of operands, None for those that have no gradient."""
        if self.operands is None:
            return tuple(values)
        left = iter(values)
        return tuple(
            [next(left) if _has_edge(x) else None for x in self.operands if self._counts(x)]
        )

    def _counts(self, x: object) -> bool:
        """Whether an operand could have a gradient, were it to require one."""
        return x.kind == "f" if isinstance(x, Record) else self.numbers and not hasattr(x, "shape")

    def by_edge(self, values: Sequence[T]) -> list[T]:
        """Values of operands as values of edges."""
        if self.operands is None:
            return list(values)
        counted = [x for x in self.operands if self._counts(x)]
        return [v for x, v in zip(counted, values, strict=True) if _has_edge(x)]

    def kept(self) -> Sequence[int]:
        """Which operands, and after them results, the saved arrays are."""
        return self.pullback.keeps

    def free(self) -> None:
        """Forget the saved arrays; a node that saved none may run again."""
        if self.saved:
            self.saved = None

    def expr(self, operands: Sequence[Expr]) -> Expr | tuple[Expr, ...]:
        """The expressions of the results, from those of the operands."""
        return self.bound.expr(operands)

    def state(self) -> dict[str, Any]:
        """What a pickle of the node contains."""
        slots = [name for cls in type(self).__mro__ for name in getattr(cls, "__slots__", ())]
        names = {name for name in slots if name not in ("__weakref__", "extras", "serial")}
        state = {name: getattr(self, name) for name in sorted(names)}
        if self.saved and self.extras is not None and self.extras.packed:
            state["saved"] = self.values()
        return state

    def restore(self, state: dict[str, object]) -> None:
        """Become the node of that state."""
        for name, value in state.items():
            setattr(self, name, value)


without(Node, "a grad_fn", GRAD_FN)


def _has_edge(x: object) -> bool:
    return isinstance(x, Record) and x.differentiable


class LeafRecord(Record):
    """What stands behind an operand that no operation made, which it holds weakly."""

    __slots__ = ("_leaf", "kind", "label", "shape", "symbol")

    def __init__(self, leaf: Tensor) -> None:
        self._leaf = weakref.ref(leaf)
        # What expressions need to know of a leaf that may be gone by then.
        self.symbol: Expr | None = None
        self.label, self.shape = leaf._name, leaf._array.shape
        self.kind = leaf._array.dtype.kind

    @property
    def variable(self) -> Tensor | None:
        """The leaf; None once nothing else holds it."""
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
        """The name by which programs know the class."""
        return "torch::autograd::AccumulateGrad"

    __repr__, extra, metadata = Node.__repr__, Node.extra, Node.metadata


class Nowhere(AccumulateGrad):
    """The end at a view that was made without recording, of what requires gradients.

    The view says so too, and so does what is computed from it, but no gradient goes further.
    """

    __slots__ = ()

    @property
    def variable(self) -> None:
        """None: no gradient arrives anywhere."""
        return None

    def shown(self) -> None:
        """None, as for an operand that requires no gradient."""
        return None


class Constant(LeafRecord):
    """An operand that requires no gradient: known by name and shape in expressions."""

    __slots__ = ()


class Known(Constant):
    """A constant whose expression is known, as it was computed in a recorded backward pass.

    It has no gradient: ``op`` of ``operands`` (records, numbers, arrays) is only its formula.
    Without an op it is its operand, a number filling its shape.
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
        """The expression, from those of the operands."""
        if self.op is not None:
            return self.op.results(operands, self.params)[self.nr]
        x = operands[0]
        number = number_of(x)
        return x if x.shape == self.shape or number is None else full(self.shape, number)
