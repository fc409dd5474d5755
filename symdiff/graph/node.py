"""The graph structure: nodes, weak interning, iteration.  No mathematics here.

A node is (op, args).  Equal (op, args) give the same object, so structural equality is identity.
Every op owns the table of its nodes, keyed by the argument tuple.  So ``make`` builds no key tuple
and hashes no node by content.  Tables hold weak references: the interpreter frees an unused
expression at once.
"""

from __future__ import annotations

import itertools
import weakref
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar

from symdiff.locks import fork_safe_lock, once

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from symdiff.graph.expr import Expr

Dim: TypeAlias = int | str
Shape: TypeAlias = tuple[Dim, ...]
Dtype: TypeAlias = type  # float, int or bool: real, integer or boolean

_Op = TypeVar("_Op", bound="Op")

_LOCK = fork_safe_lock()
_new = object.__new__
_node_class: type[Expr]
_describe: Callable[[Op], tuple[Any, ...]]
_next_serial = itertools.count().__next__
by_serial = attrgetter("serial")


class Op:
    """The operation of a node, interned by its parameters; it owns the table of its nodes.

    ``simple_factor`` / ``simple_term`` say that a node of this op has no coefficient or number that
    a multiple / a sum would have to take out.  The fast path of scalar arithmetic is then two
    attribute reads.  ``size`` counts for the size of a product: 1 for a leaf, 0 for other factors.
    """

    __slots__ = ("__weakref__", "table")
    table: dict[tuple[Expr, ...], _Ref]
    simple_factor: bool = True
    simple_term: bool = True
    size: int = 0
    over: bool = False
    name: str = ""
    fields: ClassVar[tuple[str, ...]] = ()

    def __repr__(self) -> str:
        inner = ", ".join(f"{f}={getattr(self, f)!r}" for f in self.fields)
        return f"{type(self).__name__}({inner})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _describe(self)

    def called(self, shape: Shape) -> tuple[str, list[str]]:
        """The function and the arguments after the operands, as a text writes the call.

        ``shape`` is the shape of the value.
        """
        return self.name, [f"{name}={getattr(self, name)}" for name in self.fields]

    def bound(self, lengths: Callable[[Shape], Shape]) -> Op:
        """The op with known lengths in place of symbolic ones in its parameters."""
        return self

    def needs(self, *operands: Any) -> list[tuple[Dim, str]]:
        """The lengths that must not be negative once they are known, each with its reason."""
        return []


# The referent is an Expr; a generic base would cost time at every creation.
class _Ref(weakref.ref):  # type: ignore[type-arg]
    __slots__ = ("key", "table")
    table: dict[tuple[Expr, ...], _Ref]
    key: tuple[Expr, ...]


def _forget(
    ref: _Ref,
    remove: Callable[[dict[Any, _Ref], Any], None] = weakref._remove_dead_weakref,  # type: ignore[attr-defined]
) -> None:
    # This must be one step: another thread may just now put a new node under the key.  The standard
    # library's WeakValueDictionary does the same.  The function is bound as a default because
    # globals are gone when the interpreter frees the last nodes.  Python reports an interrupt here
    # as an error in a callback and continues.  A callback without a Python frame,
    # ``methodcaller("forget")`` with a partial object in each reference, costs each node 10 % of
    # its time.
    remove(ref.table, ref.key)


class Node:
    """An interned node: ``op`` applied to ``args``.

    ``serial`` grows with creation, so that sorting by it is a topological order.
    """

    __slots__ = ("__weakref__", "args", "dtype", "op", "serial", "shape")
    op: Op
    args: tuple[Expr, ...]
    shape: Shape
    dtype: Dtype
    serial: int


def set_node_class(cls: type[Expr]) -> None:
    """Register the class of nodes, Expr, whose operators need later modules."""
    global _node_class  # assigned once, during the import of the package
    _node_class = cls


def set_op_description(described: Callable[[Op], tuple[Any, ...]]) -> None:
    """Register how ops are pickled, which later modules define."""
    global _describe  # assigned once, during the import of the package
    _describe = described


def make(op: Op, args: tuple[Expr, ...], shape: Shape, dtype: Dtype) -> Expr:
    """The one node of ``op`` and ``args``; create it unless it is alive."""
    table = op.table
    ref = table.get(args)
    if ref is not None:
        node: Expr | None = ref()
        if node is not None:
            return node
    node = _new(_node_class)
    node.op = op
    node.args = args
    node.shape = shape
    node.dtype = dtype
    node.serial = _next_serial()
    ref = _Ref(node, _forget)
    ref.table = table
    ref.key = args
    # setdefault is atomic: two threads that build the same node both get the first one's.
    winner = table.setdefault(args, ref)
    if winner is ref:
        return node
    with _LOCK:
        for held in (winner, table.get(args)):
            interned: Expr | None = None if held is None else held()
            if interned is not None:
                return interned
        table[args] = ref
        return node


# The first item of a key is the class of the op.
_OPS: weakref.WeakValueDictionary[tuple[object, ...], Any] = weakref.WeakValueDictionary()


# How many everyday ops of each kind stay cached, and below which length of their key.
EVERYDAY = 4096


def intern_op(key: tuple[object, ...], make: Callable[[], _Op]) -> _Op:
    """The one op of ``key``, alive while a node uses it.  Keys must distinguish 1, 1.0 and True."""
    op: _Op | None = _OPS.get(key)
    return _interned_op(key, make) if op is None else op


def _interned_op(key: tuple[object, ...], make: Callable[[], _Op]) -> _Op:
    def made() -> _Op:
        op = make()
        op.table = {}
        return op

    op: _Op = once(_OPS, key, _LOCK, made)
    return op


def op_as(node: Node, family: type[_Op]) -> _Op:
    """The op of a node of this family, with its type for the type checker."""
    op = node.op
    assert isinstance(op, family)
    return op


def topological(outputs: Iterable[Expr]) -> list[Expr]:
    """Every node that ``outputs`` need, operands before users, in order of creation.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> [str(node) for node in topological([sd.sin(x) * x])]
    ['x', 'sin(x)', 'x*sin(x)']
    """
    stack = list(outputs)
    seen = set(stack)
    nodes = list(seen)
    while stack:
        for arg in stack.pop().args:
            if arg not in seen:
                seen.add(arg)
                nodes.append(arg)
                stack.append(arg)
    nodes.sort(key=by_serial)
    return nodes
