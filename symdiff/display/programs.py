"""Loops, solutions of equations and differential equations as names with defining equations.

A reader wants ``x`` with ``x**2 - a = 0``, and ``b[12]`` with ``b[k + 1] = r*b[k]``.  ``System``
replaces each such node by a symbol and collects a ``Clause`` for it: the equations that define the
symbol, as formulas and words.  It knows no notation; ``printing`` writes the clauses.

The names of new symbols say how they are written.  No user's symbol has such a name: ``b[k]`` is an
element of a sequence, ``u(2)`` a value of a function, ``x*`` a solution.
"""

from __future__ import annotations

from collections import deque
from itertools import chain, combinations, count, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from symdiff.calculus.flows import NONE, Flow, identity
from symdiff.calculus.rules import pushforward
from symdiff.display.forms import (
    Condition,
    Index,
    element_of,
    from_front,
    is_stack,
    length_of,
    simplified,
)
from symdiff.display.normal_form import regrouped
from symdiff.display.notation import PLAIN
from symdiff.display.reading import components, reading, rearrangement, stacked
from symdiff.exact.components import filled
from symdiff.functions.indexing import getitem
from symdiff.functions.rearranging import moveaxis
from symdiff.functions.shaping import concat, expand_dims, reshape
from symdiff.graph import ops
from symdiff.graph.algebra import as_numeric, combine, linear, opaque, scale, size
from symdiff.graph.axis_lengths import names as length_names
from symdiff.graph.bound_lengths import with_lengths
from symdiff.graph.contraction import broadcast_to, contract
from symdiff.graph.expr import is_within, rebuild
from symdiff.graph.leaves import (
    as_expr,
    full,
    named_dummy,
    number_node,
    number_of,
    split_coefficient,
)
from symdiff.graph.lengths import Length
from symdiff.graph.node import topological
from symdiff.opaque_ops.matrices import Solve
from symdiff.transforms.bodies import WithBodies, replaced
from symdiff.transforms.checkpoints import Fold
from symdiff.transforms.continuous import ContinuousSolution
from symdiff.transforms.integrals import Integral
from symdiff.transforms.odes import Mesh
from symdiff.transforms.roots import LinearSolution, Root, equations
from symdiff.transforms.scans import Scan
from symdiff.transforms.sized import Sized
from symdiff.transforms.while_loops import Steps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from symdiff.graph.expr import Expr
    from symdiff.graph.node import Shape

# The letters tried for names, in this order; then the first of them with numbers.
_SOLUTIONS, _SEQUENCES, _FUNCTIONS = "xyzw", "abcdfgh", "uvwyz"
_SENSITIVITIES, _HIGHER, _VALUES = "srq", "vwz", "qphg"
_INDICES, _COUNTS, _TIMES = "klmpqr", "nmNM", ("t", "tau")
# The most requested times that are shown one by one, and the largest formulas that are regrouped.
_LISTED, _SMALL = 16, 300


# Clauses ------------------------------------------------------------------------------------------


class Equation(NamedTuple):
    """``left = right``; left is the name of a symbol."""

    left: str
    right: Expr


class Formula(NamedTuple):
    """A formula alone."""

    value: Expr


class Zero(NamedTuple):
    """``= 0``, for an array with this many axes."""

    ndim: int


class Words(NamedTuple):
    """Words of the language."""

    text: str


class Name(NamedTuple):
    """The name of a symbol."""

    name: str


class Sign(NamedTuple):
    """A sign of a relation."""

    sign: str


class Partial(NamedTuple):
    """The derivative of a function by names, each with its order."""

    function: str
    by: tuple[tuple[str, int], ...]


class Range(NamedTuple):
    """The values of an index, from the first to the last; a falling range begins with the last."""

    letter: str
    first: Index
    last: Index


Token = Equation | Formula | Zero | Words | Name | Sign | Partial


class Clause(NamedTuple):
    """A definition: parts that a comma separates, each a sequence of tokens, and a range."""

    parts: list[list[Token]]
    over: Range | None = None


# The system ---------------------------------------------------------------------------------------


class _Pending(NamedTuple):
    """A node whose definition is still to be written, its symbol's name, and indices around it."""

    node: Expr
    name: str
    around: tuple[str, ...]


class _Sequence(NamedTuple):
    """A written recurrence: its name, start, current carry and next carry."""

    name: str
    start: Expr
    current: Expr
    step: Expr


def is_program(node: Expr) -> bool:
    """Whether the node is a loop or a solution; integrals have a notation of their own."""
    return isinstance(node.op, WithBodies) and not isinstance(node.op, Integral)


def has_programs(exprs: Sequence[Expr]) -> bool:
    """Whether a loop or solution is among the nodes of expressions."""
    return any(map(is_program, topological(exprs)))


class System:
    """Expressions over symbols for their loops and solutions, and the definitions of these.

    ``results`` are the expressions, ``clauses`` the definitions by first use.  ``star`` says
    whether solutions of equations have a star.
    """

    def __init__(self, exprs: Sequence[Expr], star: bool) -> None:
        nodes = topological(exprs)
        self.taken = {x.op.name for x in nodes if isinstance(x.op, ops.Symbol | ops.Size)}
        self.taken |= {"e", "pi", *map(str, length_names(nodes))}
        for node in nodes:
            if is_program(node):
                self.taken.update(node.op.inner_lengths)  # type: ignore[attr-defined]
        self._star = star
        self._symbols: dict[Expr, Expr] = {}
        self._lengths: dict[Expr, str] = {}  # by counts
        self._pending: deque[_Pending] = deque()
        self._counts: deque[tuple[Expr, str]] = deque()
        self._sequences: dict[str, list[_Sequence]] = {}  # by the name of their length
        self._bases: dict[tuple[Any, ...], _Equation] = {}
        self._elements: dict[tuple[Expr, str, int], Expr] = {}
        self._named: dict[Expr, Expr] = {}  # by values
        self.clauses: list[Clause] = []
        self.results = [self._translated(x, ()) for x in exprs]
        while self._pending or self._counts:
            if self._pending:
                self._define(self._pending.popleft())
            else:
                self._define_count(*self._counts.popleft())

    # Names

    def _new_name(self, letters: Iterable[str]) -> str:
        letters = tuple(letters)
        numbered = (f"{letters[0]}{k}" for k in count(1))
        name = next(x for x in chain(letters, numbered) if x not in self.taken)
        self.taken.add(name)
        return name

    def _index_name(self, around: tuple[str, ...]) -> str:
        """An index; loops that are not inside each other share one."""
        numbered = (f"k{k}" for k in count(1))
        return next(x for x in chain(_INDICES, numbered) if x not in self.taken and x not in around)

    # Expressions

    def _translated(self, expr: Expr, around: tuple[str, ...]) -> Expr:
        """The expression over symbols for its loops and solutions."""
        while True:
            found = _outermost(expr, is_program)
            if not found:
                return _simplified(expr)
            values = {node: self._value(node, around) for node in found}
            (expr,) = replaced([expr], values)

    def _value(self, node: Expr, around: tuple[str, ...]) -> Expr:
        """The value of a node in terms of new symbols; it may contain other nodes."""
        op = node.op
        if isinstance(op, Sized) and _is_inlined(node, op):
            return self._inlined(node, op)
        if isinstance(op, ContinuousSolution):
            return self._at_times(node, op, around)
        if isinstance(op, Fold):
            return _without_fold(node, op)
        if isinstance(op, Steps) and not node.shape:
            return size(Length(self._length_of_count(node)))
        if node not in self._symbols:
            letters: Iterable[str] = _SEQUENCES
            mark = ""
            if isinstance(op, Root | LinearSolution):
                letters, mark = _SOLUTIONS, "*" * self._star
            name = self._new_name(letters) + mark
            self._symbols[node] = named_dummy(name, node.shape, node.dtype)
            self._pending.append(_Pending(node, name, around))
        return self._symbols[node]

    def _inlined(self, node: Expr, op: Sized) -> Expr:
        """The inner expression over the operands, with a name for its length."""
        values = dict(zip(op.symbols, node.args[1:], strict=True))
        mesh = _mesh_of(node)
        if op.stated is not None and mesh is not None:
            lost = {x: _operand_of_mesh(mesh, x, k) for x, k in op.stated.operands.items()}
            return replaced([op.stated.value], {**lost, **values})[0]
        length = Length(self._length_of_count(node.args[0]))
        return with_lengths("while_loop", [op.inner], values, {str(op.own): length})[0]

    def _length_of_count(self, node: Expr) -> str:
        if node not in self._lengths:
            self._lengths[node] = self._new_name(_COUNTS)
            self._counts.append((node, self._lengths[node]))
        return self._lengths[node]

    # Definitions

    def _define(self, pending: _Pending) -> None:
        node, name, around = pending
        op = node.op
        if isinstance(op, Scan):
            self._define_sequence(node, op, name, around)
        elif isinstance(op, Root | LinearSolution):
            self._define_solution(node, op, name, around)
        elif isinstance(op, ContinuousSolution):
            self._define_function(node, op, name, around)
        elif isinstance(op, Sized) and _mesh_of(node) is not None:
            words = " has results of differential equations, along the times of a solver"
            self.clauses.append(Clause([[Name(name), Words(words)]]))
        elif isinstance(op, Steps | Sized):
            what = "numbers of rounds" if isinstance(op, Steps) else "results"
            words = f" has the {what} of loops that run side by side"
            self.clauses.append(Clause([[Name(name), Words(words)]]))
        elif isinstance(op, Mesh):
            words = " has the times that a solver of differential equations chooses"
            self.clauses.append(Clause([[Name(name), Words(words)]]))
        else:
            self.clauses.append(Clause([[Equation(name, self._translated(node, around))]]))

    def _symbol_of(self, value: Expr) -> Expr:
        """The value itself if it is a symbol, else a symbol for it, one for all uses."""
        if isinstance(value.op, ops.Symbol):
            return value
        if value not in self._named:
            self._named[value] = self._named_value(value)
        return self._named[value]

    def _named_value(self, value: Expr) -> Expr:
        """A symbol for a value, with a clause of its own."""
        name = self._new_name(_VALUES)
        self.clauses.append(Clause([[Equation(name, value)]]))
        return named_dummy(name, value.shape, value.dtype)

    # Solutions of equations

    def _define_solution(
        self, node: Expr, op: Root | LinearSolution, name: str, around: tuple[str, ...]
    ) -> None:
        x = self._symbols[node]
        start, *params = [self._translated(arg, around) for arg in node.args]
        values = {op.x: x, **dict(zip(op.params, params, strict=True))}
        minimum = isinstance(op, Root) and op.is_minimum
        shown = op.outputs[-1] if minimum else op.body
        body = self._translated(replaced([shown], values)[0], around)
        if isinstance(op, LinearSolution):
            self.clauses.append(Clause([[Formula(body), Sign("="), Formula(start)]]))
            return
        equation: list[Token]
        if minimum:
            equation = [Name(name), Words(" minimizes "), Formula(body)]
        elif op.name == "fixed_point":
            equation = [Equation(name, combine("add", [(1, x), (-1, body)]))]
        else:
            equation = [Formula(body), Zero(body.ndim)]
        near: list[Token] = [Name(name), Words(" near "), Formula(_with_integers(start))]
        self.clauses.append(Clause([equation, near]))

    # Recurrences

    def _define_sequence(self, node: Expr, op: Scan, name: str, around: tuple[str, ...]) -> None:
        k = self._index_name(around)
        inner = (*around, k)
        start, *operands = [self._translated(arg, around) for arg in node.args]
        xs, params = operands[: len(op.xs)], operands[len(op.xs) :]
        now, then = (
            (f"{name}[{k} + 1]", f"{name}[{k}]")
            if op.reverse
            else (
                f"{name}[{k}]",
                f"{name}[{k} + 1]",
            )
        )
        current = named_dummy(now, op.carry.shape)
        values = {op.carry: current, **dict(zip(op.params, params, strict=True))}
        where = len(self.clauses)
        n, first, last = length_of(op.length), Index((), 0), length_of(op.length) + -1
        pairs = zip(op.xs, xs, strict=True)
        values.update({x: self._element(value, k, last) for x, value in pairs})
        step = self._translated(replaced([op.body], values)[0], inner)
        begins = f"{name}[{_text(n)}]" if op.reverse else f"{name}[0]"
        over = Range(k, last, first) if op.reverse else Range(k, first, last)
        parts: list[list[Token]] = [[Equation(begins, start)], [Equation(then, step)]]
        self.clauses.insert(where, Clause(parts, over))
        self._sequences.setdefault(str(op.length), []).append(_Sequence(name, start, current, step))

    def _define_count(self, node: Expr, name: str) -> None:
        op = node.op
        if not isinstance(op, Steps):
            value = self._translated(node, ())
            self.clauses.append(Clause([[Equation(name, value)]]))
            return
        start, *params = [self._translated(arg, ()) for arg in node.args]
        fixed = dict(zip(op.params, params, strict=True))
        for known in self._sequences.get(name, []):
            if known.start is not start or known.current.shape != op.carry.shape:
                continue
            values = {op.carry: known.current, **fixed}
            step, condition = (
                self._translated(x, ()) for x in replaced([op.body, op.condition], values)
            )
            if step is known.step or _normal(step) is _normal(known.step):
                k = known.current.name[len(known.name) + 1 : -1]
                self._state_count(name, k, condition)
                return
        sequence, k = self._new_name(_SEQUENCES), self._index_name(())
        current = named_dummy(f"{sequence}[{k}]", op.carry.shape)
        values = {op.carry: current, **fixed}
        step, condition = (
            self._translated(x, (k,)) for x in replaced([op.body, op.condition], values)
        )
        begins = Equation(f"{sequence}[0]", start)
        following = Equation(f"{sequence}[{k} + 1]", step)
        self.clauses.append(Clause([[begins], [following]]))
        self._state_count(name, k, condition)

    def _state_count(self, name: str, k: str, condition: Expr) -> None:
        tokens: list[Token] = [Name(name), Words(" is the first "), Name(k), Words(" where ")]
        self.clauses.append(Clause([[*tokens, Formula(condition), Words(" fails")]]))

    def _element(self, x: Expr, k: str, last: Index) -> Expr:
        """The element at index k of an array's first axis as a formula; k ends at ``last``."""
        done: dict[tuple[Expr, int], Expr] = {}
        stack = [(x, 0)]
        while stack:
            node, offset = stack[-1]
            if (node, offset) in done:
                stack.pop()
                continue
            inner = _operands_at(node, offset, last)
            if _counts_up(node):
                index = as_numeric(named_dummy(k, (), int))
                done[node, offset] = combine("add", [(1, index), (1, number_node(offset + 1))])
                continue
            if inner is None:
                done[node, offset] = self._leaf_element(node, k, offset)
                continue
            missing = [pair for pair in inner.places if pair and pair not in done]
            if missing:
                stack += missing
                continue
            args = [
                arg if pair is None else done[pair]
                for arg, pair in zip(node.args, inner.places, strict=True)
            ]
            done[node, offset] = inner.build(args)
        return done[x, 0]

    def _leaf_element(self, node: Expr, k: str, offset: int) -> Expr:
        """The element of a symbol or a table; other arrays get a name."""
        key = node, k, offset
        if key in self._elements:
            return self._elements[key]
        place = f"{k} + {offset}" if offset else k
        if isinstance(node.op, ops.Constant | ops.Places) and node.ndim == 1:
            step = _arithmetic_progression(node.op.value)
            if step is not None:
                first, difference = step
                index = as_numeric(named_dummy(k, (), int))
                value = combine(
                    "add", [(difference, index), (1, number_node(first + difference * offset))]
                )
                self._elements[key] = value
                return value
        name = str(self._symbol_of(node).op.name)
        name = f"{name[:-1]},{place}]" if name.endswith("]") else f"{name}[{place}]"
        element = named_dummy(name, node.shape[1:], node.dtype)
        self._elements[key] = element
        return element

    # Differential equations

    def _at_times(self, node: Expr, op: ContinuousSolution, around: tuple[str, ...]) -> Expr:
        """The values of a solution, or of a derivative of it, at the requested times."""
        equation = self._equation(node, op, around)
        name = equation.name(self, op.orders)
        shape = equation.state(self, op.orders).shape
        times = self._translated(node.args[0], around)
        count = times.shape[0]
        if not isinstance(count, int) or count > _LISTED:
            times_name = self._symbol_of(times).op.name
            value = equation.symbol(f"{name}({times_name})", (count, *shape))
        else:
            ats = [self._time_text(times, j) for j in range(count)]
            rows = [expand_dims(equation.symbol(f"{name}({at})", shape), 0) for at in ats]
            value = rows[0] if count == 1 else concat(rows)
        return equation.arranged(value, op.orders)

    def _time_text(self, times: Expr, j: int) -> str:
        """The time with index j: a number, an element of a symbol, or a name."""
        table = times
        while isinstance(table.op, ops.Barrier):
            (table,) = table.args
        if isinstance(table.op, ops.Constant):
            return number_text(table.op.value[j].item())
        if isinstance(table.op, ops.Symbol):
            return f"{table.name}[{j}]"
        time = components(getitem(times, j))
        time = getitem(times, j) if time is None else time
        number = number_of(time)
        if number is not None:
            return number_text(number)
        return str(self._symbol_of(time).op.name)

    def _equation(self, node: Expr, op: ContinuousSolution, around: tuple[str, ...]) -> _Equation:
        args = tuple([self._translated(x, around) for x in node.args])
        key = op.outputs, op.x, op.params, args
        if key not in self._bases:
            self._bases[key] = _Equation(opaque(op, *args), around)
        return self._bases[key]

    def _define_function(
        self, node: Expr, op: ContinuousSolution, name: str, around: tuple[str, ...]
    ) -> None:
        equation = self._equation(node, op, around)
        equation.open(self)
        for number in reversed(range(len(op.orders))):  # names in the order of reading
            for orders in combinations(op.orders, number):
                equation.name(self, orders)
        slope, start = equation.sides(self, op.orders)
        parts: list[list[Token]] = []
        if op.orders:
            base = equation.name(self, ())
            total = [equation.operand_name(k) for k in op.orders]
            by = tuple((x, total.count(x)) for x in dict.fromkeys(total))
            parts.append([Name(name), Sign("="), Partial(base, by)])
        slope = _without_transposition(self._translated(slope, around))
        timed = equation.time in set(topological([slope]))
        left = f"{name}'({equation.time.name})" if timed else f"{name}'"
        begins = f"{name}({self._time_text(equation.times, 0)})"
        parts += [[Equation(left, slope)], [Equation(begins, _with_integers(start))]]
        self.clauses.append(Clause(parts))


class _Equation:
    """One differential equation with the derivatives of its solution that a text needs."""

    def __init__(self, node: Expr, around: tuple[str, ...]) -> None:
        op = node.op
        assert isinstance(op, ContinuousSolution)
        self.node, self.op, self.around = node, op, around
        self.names: dict[tuple[int, ...], str] = {}
        self.states: dict[tuple[int, ...], Expr] = {}
        self._symbols: dict[tuple[str, Any], Expr] = {}
        self._opened = False

    def symbol(self, name: str, shape: Any) -> Expr:
        """The symbol of this name and shape, the same for each use."""
        return self._symbols.setdefault((name, shape), named_dummy(name, shape))

    def arranged(self, value: Expr, orders: tuple[int, ...]) -> Expr:
        """The last axes, those of the sorted orders, in the order of ``orders``."""
        first = value.ndim - self.axes(orders)
        ranked = sorted(range(len(orders)), key=lambda j: orders[j])
        starts = {
            j: first + self.axes([orders[i] for i in ranked[:r]]) for r, j in enumerate(ranked)
        }
        axes = [starts[j] + i for j, k in enumerate(orders) for i in range(self.node.args[k].ndim)]
        return moveaxis(value, axes, range(first, value.ndim)) if axes != sorted(axes) else value

    def name(self, system: System, orders: tuple[int, ...]) -> str:
        """The name of the solution or of a derivative; a new one gets a definition."""
        orders = tuple(sorted(orders))
        if orders not in self.names:
            letters = {0: _FUNCTIONS, 1: _SENSITIVITIES}.get(len(orders), _HIGHER)
            self.names[orders] = system._new_name(letters)
            node = self._derivative(orders)
            system._pending.append(_Pending(node, self.names[orders], self.around))
        return self.names[orders]

    def _derivative(self, orders: tuple[int, ...]) -> Expr:
        op = self.op
        named = equations(ContinuousSolution, op.name, op.outputs, op.x, op.params, orders)
        return opaque(named, *self.node.args)

    def axes(self, orders: Sequence[int]) -> int:
        """The number of axes of operands."""
        return sum(self.node.args[k].ndim for k in orders)

    def open(self, system: System) -> None:
        """Choose symbols for the time and for operands by which derivatives are taken."""
        if self._opened:
            return
        self._opened = True
        self.times, *params = [system._translated(x, self.around) for x in self.node.args]
        self.time = named_dummy(system._new_name(_TIMES), ())
        self.operands = dict(enumerate(params, 1))
        by = {k for orders in self.names for k in orders}
        atoms = {k: _atoms(x) for k, x in self.operands.items()}
        for k, x in list(self.operands.items()):
            others = _with_wholes(set().union(*[atoms[j] for j in by if j != k]))
            shared = not _with_wholes(atoms[k]).isdisjoint(others)
            if (k in by or shared) and not (_operand_name(x) and not (k in by and shared)):
                self.operands[k] = system._named_value(x)

    def operand_name(self, k: int) -> str:
        """The name of an operand by which a derivative is taken."""
        name = _operand_name(self.operands[k])
        assert name is not None
        return name

    def state(self, system: System, orders: tuple[int, ...]) -> Expr:
        """The symbol of the solution or of a derivative, at one time."""
        orders = tuple(sorted(orders))
        if orders not in self.states:
            inside = [dim for k in orders for dim in self.node.args[k].shape]
            name = self.name(system, orders)
            self.states[orders] = named_dummy(name, (*self.op.x.shape, *inside))
        return self.states[orders]

    def sides(self, system: System, orders: tuple[int, ...]) -> tuple[Expr, Expr]:
        """The derivative by time and the value at the first time, differentiated by operands."""
        time, *inner = self.op.params
        # Differentiate over fresh symbols: operands may share symbols.
        fresh = {x: named_dummy(x.name, x.shape, x.dtype) for x in (time, *inner)}
        bound = dict(enumerate([fresh[p] for p in inner], 1))
        sides = replaced(self.op.outputs, {self.op.x: self.state(system, ()), **fresh})
        known: list[tuple[int, ...]] = [()]
        for k in sorted(orders):
            seeds = {bound[k]: Flow(identity(bound[k].shape), NONE)}
            for before in known:
                tangent = _with_last_axes_first(self.state(system, (*before, k)), bound[k].ndim)
                seeds[self.state(system, before)] = Flow(tangent, NONE)
            sides = [_differentiated(side, seeds, bound[k].shape) for side in sides]
            known += [(*before, k) for before in known]
        values = {fresh[time]: self.time, **{bound[k]: x for k, x in self.operands.items()}}
        slope, start = replaced(sides, values)
        return slope, start


# Helpers ------------------------------------------------------------------------------------------


def number_text(number: Any) -> str:
    """A number without a fraction as an integer."""
    return str(int(number)) if float(number).is_integer() else str(number)


def _outermost(expr: Expr, is_wanted: Callable[[Expr], bool]) -> list[Expr]:
    """The wanted nodes that no other one contains, by first use."""
    found: dict[Expr, None] = {}
    stack, seen = [expr], {expr}
    while stack:
        node = stack.pop()
        if is_wanted(node):
            found[node] = None
            continue
        for arg in reversed(node.args):
            if arg not in seen:
                seen.add(arg)
                stack.append(arg)
    return [*found]


def _is_inlined(node: Expr, op: Sized) -> bool:
    """Whether the inner expression says more than a name: not for steps of a solver."""
    return not node.args[0].shape and (op.stated is not None or _mesh_of(node) is None)


def _with_wholes(atoms: set[Expr]) -> set[Expr]:
    """The atoms; where a symbol occurs as a whole, its elements count as the symbol."""
    wholes = {x for x in atoms if x.args == ()}
    based = {x: x if not x.args else (element_of(x) or (x,))[0] for x in atoms}
    return {based[x] if based[x] in wholes else x for x in atoms}


def _mesh_of(node: Expr) -> Expr | None:
    """The node with the times of a solver on which the number of rounds depends, or None."""
    count = node.args[0]
    return next((x for x in topological([count]) if isinstance(x.op, Mesh)), None)


def _operand_of_mesh(mesh: Expr, x: Expr, k: int) -> Expr:
    """The operand with index k, of the shape of x; the start is the first row of a larger one."""
    if k == 0 and mesh.op.sensitivities:  # type: ignore[attr-defined]
        return reshape(getitem(mesh.args[0], 0), x.shape)
    return mesh.args[k]


def _operand_name(x: Expr) -> str | None:
    """The name of a symbol or of an element of one; None for other expressions."""
    element = element_of(x) if not x.shape else None
    symbol, places = (x, []) if element is None else element
    if not isinstance(symbol.op, ops.Symbol) or not symbol.op.name.rstrip("*").isidentifier():
        return None
    if any(not isinstance(k, int) or k < 0 for k in places):
        return None
    return f"{symbol.op.name}[{','.join(map(str, places))}]" if places else str(symbol.op.name)


def _atoms(expr: Expr) -> set[Expr]:
    """The symbols and the elements of symbols in an expression."""
    is_atom = lambda x: isinstance(x.op, ops.Symbol) or _operand_name(x) is not None  # noqa: E731
    return {*_outermost(expr, is_atom)}


def _normal(expr: Expr) -> Expr:
    read = reading(expr)
    return regrouped(read) if is_within(read, _SMALL) else read


def _text(index: Index) -> str:
    """An index of a length as a text for a name: ``n - 1``."""
    return PLAIN.index(index).text


def _without_fold(node: Expr, op: Fold) -> Expr:
    """The same values by a loop that stores every carry."""
    flat, symbols = op.plain
    return replaced([flat], dict(zip(symbols, node.args, strict=True)))[0]


def _with_integers(x: Expr) -> Expr:
    """A number or an array of floats that are integers, as integers."""
    number = number_of(x) if not x.shape else None
    if isinstance(number, float) and number.is_integer():
        return number_node(int(number))
    if not isinstance(x.op, ops.Constant) or not 0 < x.op.value.size <= ops.LISTED:
        return x
    value = x.op.value
    integral = value.dtype.kind == "f" and bool(np.all(value == np.round(value)))
    return as_expr(value.astype(int)) if integral else x


def _with_last_axes_first(x: Expr, number: int) -> Expr:
    axes = range(x.ndim - number, x.ndim)
    return moveaxis(x, axes, range(number)) if number else x


def _without_transposition(x: Expr) -> Expr:
    """A transposed stack as the stack of its elements; other expressions as they are."""
    rearranged = rearrangement(reading(x))
    if rearranged is None or not is_stack(rearranged[0]):
        return x
    parts = components(x)
    return x if parts is None else stacked(parts)


def _differentiated(x: Expr, seeds: Mapping[Expr, Flow], shape: Shape) -> Expr:
    """The derivative by a symbol of this shape, whose axes come last."""
    flow = pushforward(topological([x]), [x], seeds)[0]
    if flow is None:
        return full((*x.shape, *shape), 0)
    axes = range(len(shape))
    return moveaxis(flow.expr, axes, range(x.ndim, x.ndim + len(shape))) if shape else flow.expr


def _arithmetic_progression(values: Any) -> tuple[int, int] | None:
    """The first number and the difference of integers at equal distances."""
    listed = values.tolist()
    if len(listed) < 2 or any(float(x) != int(x) for x in listed):
        return None
    steps = {int(b) - int(a) for a, b in pairwise(listed)}
    return (int(listed[0]), steps.pop()) if len(steps) == 1 else None


class _At(NamedTuple):
    """The operands of which an element needs elements, and the function that builds it."""

    places: list[tuple[Expr, int] | None]
    build: Callable[[Sequence[Expr]], Expr]


def _operands_at(node: Expr, offset: int, last: Index) -> _At | None:
    """How the element of a node comes from elements of operands; None if it does not.

    The element has the index ``k + offset`` for k from 0 to ``last``.
    """
    op = node.op
    if not node.args:
        return None
    if ops.is_spread(op):
        (x,) = node.args
        if not node.shape[1:]:
            return _At([None], lambda args: args[0])
        return _At([None], lambda args: broadcast_to(x, node.shape[1:]))
    if isinstance(op, ops.Sum | ops.Product | ops.Pointwise | ops.Strong | ops.Barrier):
        return _At([(x, offset) for x in node.args], lambda args: rebuild(node, tuple(args)))
    if isinstance(op, ops.Slice | ops.Unslice) and len(op.steps) < node.ndim:
        return _At([(node.args[0], offset)], lambda args: rebuild(node, tuple(args)))
    if isinstance(op, ops.Slice):
        start, step = op.steps[0][0], op.steps[0][2]
        if step != 1 or not isinstance(start, int) or start < 0:
            return None
        inner = ops.slice_op(op.before[1:], op.steps[1:], op.after[1:])
        apply = (lambda args: linear(inner, args[0])) if op.steps[1:] else (lambda args: args[0])
        return _At([(node.args[0], offset + start)], apply)
    if isinstance(op, ops.Unslice):
        return _written_at(node, op, offset, last)
    if isinstance(op, ops.Contract) and op.out.count(op.out[0]) == 1:
        first = op.out[0]
        if any(first in word[1:] for word in op.letters):
            return None
        places = [
            (x, offset) if first in word else None
            for x, word in zip(node.args, op.letters, strict=True)
        ]
        sizes = dict(zip(op.out, node.shape, strict=True))

        def build(args: Sequence[Expr]) -> Expr:
            words = [word[1:] if first in word else word for word in op.letters]
            return contract(list(zip(args, words, strict=True)), op.out[1:], sizes)

        return _At(places, build)
    return None


def _counts_up(node: Expr) -> bool:
    """Whether the node has the numbers 1, 2, .., as running sums of ones."""
    op = node.op
    if not isinstance(op, ops.Cumsum) or op.reverse or node.ndim != 1:
        return False
    (x,) = node.args
    return ops.is_spread(x.op) and number_of(x.args[0]) == 1


def _written_at(node: Expr, op: ops.Unslice, offset: int, last: Index) -> _At | None:
    """How the element of an array with written zeros comes from its operand."""
    start, step = op.steps[0][0], op.steps[0][2]
    if step != 1:
        return None
    first, count = from_front(start, op.before[0]), length_of(op.after[0])
    below = simplified(Condition(last + offset, "<", first)) is True
    above = simplified(Condition(Index((), offset), ">=", first + count)) is True
    if below or above:
        return _At([None] * len(node.args), lambda args: full(node.shape[1:], 0))
    begins = simplified(Condition(Index((), offset), ">=", first)) is True
    ends = simplified(Condition(last + offset, "<", first + count)) is True
    if not (begins and ends) or first.terms:
        return None
    inner = ops.unslice_op(op.before[1:], op.steps[1:], op.after[1:])
    apply = (lambda args: linear(inner, args[0])) if op.steps[1:] else (lambda args: args[0])
    return _At([(node.args[0], offset - first.const)], apply)


def _simplified(expr: Expr) -> Expr:
    """Systems of one equation as quotients; a scalar by its elements."""
    nodes = topological([expr])
    if not any(isinstance(node.op, Solve) for node in nodes):
        return expr
    done: dict[Expr, Expr] = {}
    for node in nodes:
        args = tuple([done[x] for x in node.args])
        if isinstance(node.op, Solve) and args[0].shape[-2:] == (1, 1):
            done[node] = args[1] / args[0]
        elif isinstance(node.op, Solve) and args[1].ndim == 2:
            done[node] = _with_positive_side(node, *args)
        else:
            done[node] = rebuild(node, args) if args else node
    value = done[expr]
    parts = components(value) if not value.shape else None
    return value if parts is None else parts


def _with_positive_side(node: Expr, matrix: Expr, side: Expr) -> Expr:
    """The solution of a linear system, with the sign of a negative right side in front."""
    parts = components(side)
    if parts is None:
        return rebuild(node, (matrix, side))
    flat = parts.ravel().tolist()
    coefficients = [split_coefficient(x)[0] for x in flat]
    if any(c > 0 for c in coefficients) or not any(c < 0 for c in coefficients):
        return rebuild(node, (matrix, side))
    positive = filled(parts.shape, [scale(-1, x) for x in flat])
    return scale(-1, rebuild(node, (matrix, stacked(positive))))
