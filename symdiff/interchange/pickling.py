"""Pickles of expressions: one flat table for a graph of any depth, with shared parts.

A pickled expression is a position in a *table*: the nodes that it needs, operands before users,
each with its op and the positions of its operands.  No recursion follows the graph.  The pickler's
memo holds the tables of earlier expressions, so a later table refers to them for shared nodes.

Unpickling interns nodes: in the same process, living nodes stay the same objects, and symbols are
the same symbols everywhere.  Arrays of data and dummies are equal only to themselves, so each
unpickling creates new ones, one for each in the pickle.
"""

from __future__ import annotations

import inspect
import threading
import weakref
from array import array
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from symdiff.graph import ops
from symdiff.graph.algebra import PRIMITIVES
from symdiff.graph.expr import Expr, built
from symdiff.graph.lengths import Length
from symdiff.graph.node import Op, intern_op, make, set_op_description
from symdiff.transforms.continuous import Stated
from symdiff.transforms.roots import Equations, equations
from symdiff.transforms.scans import Looped, looped_op
from symdiff.transforms.sized import Held, Sized, sized_op
from symdiff.transforms.while_loops import Steps, steps_op

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from symdiff.graph.node import Dim

# The most tables in a row that refer to one another.  A pickle that lacks the first table in its
# memo (from another pickler of the same thread) nests them, and must not exceed the stack.
_CHAIN = 40


# Ops ----------------------------------------------------------------------------------------------


def described(op: Op) -> tuple[Any, ...]:
    """Return a function and arguments that make the op again, as for ``__reduce__``."""
    if isinstance(op, ops.Symbol):
        make_symbol = ops.dummy_op if op.dummy else ops.symbol_op
        return make_symbol, (op.name, op.shape, op.dtype)
    if isinstance(op, ops.Places):
        return ops.places_op, (op.value,)
    if isinstance(op, ops.Constant):
        return _constant, (op.value,)
    if isinstance(op, ops.Exact):
        return ops.exact_op, (op.name, op.value)
    if isinstance(op, ops.Sum):
        return ops.sum_op, (op.const, op.coefs)
    if isinstance(op, ops.Pointwise):
        if op.primitive:
            return _primitive, (op.name,)
        return _defined, (op.name, op.formula, op.arity, op.result, op.decides)
    if isinstance(op, ops.Fill):
        return ops.fill_op, (op.created,)
    for family, interned in _BY_PARAMETERS.items():
        if op.__class__ is family:
            return interned, _parameters(op)
    if isinstance(op, Looped):
        nodes = _own_table(op.body, *op.symbols)
        return _looped, (op.__class__, *nodes, len(op.xs), op.length, op.reverse)
    if isinstance(op, Steps):
        return _counted, (*_own_table(op.condition, op.body, *op.symbols), op.max_steps)
    if isinstance(op, Sized):
        of = op.held
        held = [] if of is None else [of.inner, *of.others, *of.others.values()]
        held += [] if of is None or of.steps is None else [of.steps]
        stated = op.stated
        formula = [] if stated is None else [stated.value, *stated.operands]
        table = _own_table(op.inner, *op.symbols, *formula, *held)
        others = 0 if of is None else len(of.others)
        operands = () if stated is None else tuple(stated.operands.values())
        return _sized, (*table, str(op.own), len(op.symbols), others, operands)
    if isinstance(op, Equations):
        nodes = _own_table(*op.outputs, op.x, *op.params)
        return _equations, (op.__class__, op.name, *nodes, len(op.outputs), *op.further())
    if isinstance(op, ops.Gather | ops.Scatter):
        return _indexed, (op.__class__, op.before, op.index)
    return _interned, (op.__class__, *_parameters(op))


_BY_PARAMETERS: dict[type[Op], Any] = {
    ops.Size: ops.size_op,
    ops.Count: ops.count_op,
    ops.Product: ops.product_op,
    ops.Strong: ops.strong_op,
    ops.Contract: ops.contract_op,
}


@lru_cache(maxsize=256)
def _names(cls: type[Op]) -> tuple[str, ...]:
    if cls.__init__ is object.__init__:
        return ()
    return tuple(inspect.signature(cls.__init__).parameters)[1:]


def _parameters(op: Op) -> tuple[Any, ...]:
    """The constructor's arguments; every op stores them under their names."""
    cls: Any = op.__class__
    return tuple(getattr(op, name) for name in _names(cls))


def _constant(value: Any) -> Op:
    value.setflags(write=False)
    return ops.Constant(value)


def _primitive(name: str) -> Op:
    return PRIMITIVES[name]


def _defined(name: str, formula: Any, arity: int, result: Any, decides: str | None = None) -> Op:
    return ops.pointwise_op(name, formula, arity, result, primitive=False, decides=decides)


def _indexed(cls: type[ops.Gather], before: tuple[int, ...], index: Any) -> Op:
    gather = ops.gather_op(before, index)
    return gather if cls is ops.Gather else gather.transposed(0, ())


def _looped(
    cls: type[Looped],
    nodes: list[Expr],
    places: Sequence[int],
    count: int,
    length: Dim,
    reverse: bool,
) -> Op:
    body, carry, *rest = [nodes[i] for i in places]
    return looped_op(cls, body, carry, rest[:count], rest[count:], length, reverse)


def _own_table(*nodes: Expr) -> tuple[Table, list[int]]:
    """Put nodes in a table of their own: the table of their op may contain them, too."""
    table = _Known().table(nodes)
    return table, [table.place[node] for node in nodes]


def _counted(nodes: list[Expr], places: Sequence[int], max_steps: int) -> Op:
    condition, body, carry, *params = [nodes[i] for i in places]
    return steps_op(condition, body, carry, params, max_steps)


def _sized(
    nodes: list[Expr],
    places: Sequence[int],
    own: str,
    count: int,
    others: int,
    operands: tuple[int, ...] = (),
) -> Op:
    inner, *rest = [nodes[i] for i in places]
    symbols, rest = rest[:count], rest[count:]
    state = None
    if operands:
        value, *stand_ins = rest[: 1 + len(operands)]
        stated = Stated(value, dict(zip(stand_ins, operands, strict=True)))
        state = lambda: stated  # noqa: E731
    held = rest[1 + len(operands) :] if operands else rest
    if not held:
        return sized_op(inner, symbols, Length(own), None, state)
    of, pairs, counted = held[0], held[1 : 1 + 2 * others], held[1 + 2 * others :]
    others_of = dict(zip(pairs[:others], pairs[others:], strict=True))
    held_by_op = Held(of, counted[0] if counted else None, others_of)
    return sized_op(inner, symbols, Length(own), lambda: held_by_op, state)


def _equations(
    cls: type[Equations],
    name: str,
    nodes: list[Expr],
    places: Sequence[int],
    count: int,
    *further: Any,
) -> Op:
    outputs, (x, *params) = [nodes[i] for i in places[:count]], [nodes[i] for i in places[count:]]
    return equations(cls, name, outputs, x, params, *further)


def _interned(cls: type[Op], *parameters: object) -> Op:
    return intern_op((cls, *parameters), lambda: cls(*parameters))


# Tables -------------------------------------------------------------------------------------------


class Table:
    """The nodes that some expressions need, in order of creation; ``place`` maps each to its index.

    The table describes a node by its op and the positions of its operands, or finds it in another
    table.
    """

    __slots__ = ("__weakref__", "chain", "known", "parts", "place")
    chain: int  # length of the longest chain of tables from here, this one included

    def __init__(self, outputs: Sequence[Expr], known: _Known) -> None:
        self.known = known  # keeps the registry alive
        nodes = known.walk(outputs)
        place = self.place = {node: i for i, (node, _) in enumerate(nodes)}
        tables: dict[Table, int] = {}
        kinds: dict[Op, int] = {}
        types: dict[tuple[Any, ...], int] = {}
        op_of, type_of, counts, operands = array("q"), array("q"), array("q"), array("q")
        for node, owner in nodes:
            # A negative entry refers to a node of another table.
            if owner is not None:
                op_of.append(-1 - tables.setdefault(owner, len(tables)))
                operands.append(owner.place[node])
                continue
            op_of.append(kinds.setdefault(node.op, len(kinds)))
            type_of.append(types.setdefault((node.shape, node.dtype), len(types)))
            counts.append(len(node.args))
            operands.extend([place[x] for x in node.args])
        self.chain = 1 + max((table.chain for table in tables), default=0)
        self.parts = (
            *(list(kinds), list(types), list(tables)),
            *(op_of, type_of, counts, operands),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, self.parts


def _restored(
    kinds: Sequence[Op],
    types: Sequence[tuple[Any, Any]],
    tables: Sequence[list[Expr]],
    op_of: Sequence[int],
    type_of: Sequence[int],
    counts: Sequence[int],
    operands: Sequence[int],
) -> list[Expr]:
    """Rebuild the nodes of a table."""
    nodes: list[Expr] = []
    row = at = 0
    for kind in op_of:
        if kind < 0:
            nodes.append(tables[-1 - kind][operands[at]])
            at += 1
            continue
        count = counts[row]
        places = operands[at : at + count]
        args = tuple([nodes[i] for i in places])
        shape, dtype = types[type_of[row]]
        row, at = row + 1, at + count
        op = kinds[kind]
        # Operands are in the order of creation in the pickling process.  If that differs here, the
        # op's constructor sorts them again.
        if count < 2 or all(
            (i < j) is (a.serial < b.serial)
            for i, j, a, b in zip(places, places[1:], args, args[1:], strict=False)
        ):
            nodes.append(make(op, args, shape, dtype))
        else:
            nodes.append(built(op, args))
    return nodes


class _Known:
    """The living table of each node; lives as long as one of its tables, that is for one pickle."""

    __slots__ = ("__weakref__", "number", "tables")

    def __init__(self) -> None:
        self.number: dict[Expr, int] = {}
        self.tables: list[weakref.ref[Table]] = []

    def owner(self, node: Expr) -> Table | None:
        """The table that defines the node, or None."""
        k = self.number.get(node)
        return None if k is None else self.tables[k]()

    def walk(self, outputs: Iterable[Expr]) -> list[tuple[Expr, Table | None]]:
        """The nodes that ``outputs`` need, by creation; the walk stops at nodes of other tables."""
        stack = list(dict.fromkeys(outputs))
        owners: dict[Expr, Table | None] = dict.fromkeys(stack)
        while stack:
            node = stack.pop()
            owner = self.owner(node)
            if owner is not None and owner.chain < _CHAIN:
                owners[node] = owner
                continue
            for x in node.args:
                if x not in owners:
                    owners[x] = None
                    stack.append(x)
        return sorted(owners.items(), key=_by_serial)

    def table(self, outputs: Sequence[Expr]) -> Table:
        """Create and register the table of ``outputs``."""
        table = Table(outputs, self)
        k = len(self.tables)
        self.tables.append(weakref.ref(table))
        for node in table.place:
            owner = self.owner(node)
            if node.args and (owner is None or owner.chain >= _CHAIN):
                self.number[node] = k
        return table


def _by_serial(item: tuple[Expr, Any]) -> int:
    return item[0].serial


class _Current(threading.local):
    known: weakref.ref[_Known] | None = None


_CURRENT = _Current()


def _current_tables() -> _Known:
    tables = None if _CURRENT.known is None else _CURRENT.known()
    if tables is None:
        tables = _Known()
        _CURRENT.known = weakref.ref(tables)
    return tables


# Expressions --------------------------------------------------------------------------------------


def reduced(node: Expr) -> tuple[Any, ...]:
    """Implement ``Expr.__reduce__``.

    >>> import pickle
    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> f = sd.sin(x) * x
    >>> pickle.loads(pickle.dumps(f)) is f
    True
    """
    if not node.args:
        return make, (node.op, (), node.shape, node.dtype)
    tables = _current_tables()
    table = tables.owner(node)
    if table is None:
        table = tables.table([node])
    return _entry, (table, table.place[node])


def _entry(nodes: list[Expr], place: int) -> Expr:
    return nodes[place]


def together(outputs: Sequence[Expr]) -> tuple[Table, tuple[int, ...]]:
    """Put ``outputs`` in one table for a pickle; ``apart`` restores them from the two parts."""
    table = _current_tables().table(list(outputs))
    return table, tuple(table.place[y] for y in outputs)


def apart(nodes: list[Expr], places: Sequence[int]) -> tuple[Expr, ...]:
    """Restore the outputs of ``together``."""
    return tuple([nodes[i] for i in places])


set_op_description(described)

__all__ = ["apart", "reduced", "together"]
