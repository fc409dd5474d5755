"""Exact expressions of results: read the record as a formula.

Every recorded operation defines the expression that it computes, so that the record of a tensor is
its formula in terms of leaves.  It needs no saved values, and works after ``backward``, too.
"""

from __future__ import annotations

import weakref
from heapq import heappop, heappush
from itertools import repeat
from typing import TYPE_CHECKING, Any, TypeAlias

from numeric.eager.record import Known, LeafRecord, Node, Record
from numeric.eager.tensor import Tensor, attach, edge_of, method
from symdiff.graph.leaves import KINDS, as_expr, symbol
from symdiff.locks import fork_safe_lock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from symdiff.graph.expr import Expr

# The expression of a record, or those of its results.
Formulas: TypeAlias = "Expr | tuple[Expr, ...]"


class _Numbers:
    """Numbers for leaves without a name: each is the smallest that no living record has."""

    def __init__(self) -> None:
        self._lock = fork_safe_lock()  # another thread may free a record meanwhile
        self._free: list[int] = []
        self._next = 0
        self._held: dict[int, weakref.ref[Record]] = {}

    def take(self, record: Record) -> int:
        """Return a number for the record; it is free again after the record is freed."""
        with self._lock:
            if self._free:
                number = heappop(self._free)
            else:
                number, self._next = self._next, self._next + 1
            self._held[number] = weakref.ref(record, lambda _: self._release(number))
            return number

    def _release(self, number: int) -> None:
        with self._lock:
            del self._held[number]
            heappush(self._free, number)


_numbers = _Numbers()


def symbol_of(leaf: LeafRecord) -> Expr:
    """Return the symbol of the record of a leaf.

    Raises ValueError for a name that is not an identifier.
    """
    known = leaf.symbol
    if known is None:
        name = leaf.label
        if name is None and leaf.variable is not None:
            name = leaf.variable._name
        if name is None:
            name = f"x{_numbers.take(leaf)}"
        known = leaf.symbol = symbol(name, leaf.shape, KINDS[leaf.kind])
    return known


def expression(
    record: Record,
    nr: int = 0,
    known: Mapping[Record, Any] | None = None,
    made: Callable[[Any, list[Expr]], Formulas] = lambda record, operands: record.expr(operands),
) -> Expr:
    """Return the expression of an output of a record.

    Args:
        record: the record of the result. nr: the output's number.
        known: expressions of some records (tuples for those with several outputs).
        made: the function that builds the expressions of a record from those of its operands.

    Raises ValueError for two leaves of one name.
    """
    done: dict[Record, Any] = dict(known or {})
    names: dict[str, LeafRecord] = {}
    stack = [record]
    while stack:
        top = stack[-1]
        if top in done:
            stack.pop()
        elif isinstance(top, LeafRecord) and not isinstance(top, Known):
            done[stack.pop()] = symbol_of(top)
            _claim(names, top)
        else:
            operands = before(top)
            missing = [x for x in operands if isinstance(x, Record) and x not in done]
            if missing:
                stack += missing
            else:
                done[stack.pop()] = made(top, _operands(top, operands, done))
    return _output(done[record], nr)


def before(record: Record) -> Iterable[object]:
    """Return the operands of a record: records, numbers and arrays; none for leaves."""
    if isinstance(record, Known):
        return record.operands
    if not isinstance(record, Node):
        return ()
    return record.edges if record.operands is None else record.operands


def _operands(
    record: Record, operands: Iterable[object], done: Mapping[Record, Formulas]
) -> list[Expr]:
    """Return the expressions of a record's operands; numbers and arrays become constants."""
    nrs = iter(record.nrs or repeat(0)) if isinstance(record, Node) else repeat(0)
    exprs = []
    for x in operands:
        if isinstance(x, Record):
            exprs.append(_output(done[x], next(nrs) if x.differentiable else 0))
        else:
            exprs.append(as_expr(x))
    return exprs


def _output(formulas: Formulas, nr: int) -> Expr:
    return formulas[nr] if isinstance(formulas, tuple) else formulas


def _claim(names: dict[str, LeafRecord], leaf: LeafRecord) -> None:
    """Reserve a leaf's name.  Raises ValueError if another leaf has it."""
    name = symbol_of(leaf).name
    other = names.setdefault(name, leaf)
    if other is leaf:
        return
    tensor = leaf.variable
    if tensor is not None and other.variable is tensor:
        if type(other) is not type(leaf):  # before and after requires_grad_()
            return
        raise ValueError(f"expr: {name!r} was changed in place between two uses; clone() it before")
    shapes = " and ".join(str(list(x.shape)) for x in (other, leaf))
    raise ValueError(
        f"expr: two leaves are named {name!r}, of shapes {shapes}; "
        "give tensors that meet in one expression different names"
    )


def _expr(self: Tensor) -> Expr:
    """The exact ``symdiff`` expression of the tensor, in terms of leaves.

    Leaves are the tensors that no recorded operation created.  Their symbols have the names set by
    ``tensor(..., name="w")``, otherwise x0, x1, ...; ``leaves()`` maps names to tensors.  Numbers
    are exact.  It needs no saved values, and works after ``backward``, too.

    Raises RuntimeError for a gradient computed without ``create_graph=True``, and ValueError if two
    leaves have one name.

    >>> import numeric as torch
    >>> w = torch.tensor(3.0, requires_grad=True, name="w")
    >>> y = w * w * 2
    >>> print(y.expr)
    2*w**2
    >>> y.backward(create_graph=True)
    >>> print(w.grad.expr)
    4*w
    """
    if self._no_expr is not None:
        raise RuntimeError(self._no_expr)
    return expression(edge_of(self), self._nr)


attach("expr", property(_expr))


@method("leaves")
def _leaves(self: Tensor) -> dict[str, Tensor]:
    """Return the living leaves of ``expr``, by the names of their symbols.

    >>> import numeric as torch
    >>> w = torch.tensor(3.0, requires_grad=True, name="w")
    >>> y = w * torch.tensor(2.0, name="c")
    >>> [(name, leaf.item()) for name, leaf in (w * w).leaves().items()]
    [('w', 3.0)]
    """
    by_name: dict[str, Tensor] = {}
    seen: set[Record] = set()
    stack: list[object] = [edge_of(self)]
    while stack:
        record = stack.pop()
        if not isinstance(record, Record) or record in seen:
            continue
        seen.add(record)
        operands = list(before(record))
        stack += reversed(operands)
        if not operands and isinstance(record, LeafRecord) and record.variable is not None:
            by_name[symbol_of(record).name] = record.variable
    return by_name
