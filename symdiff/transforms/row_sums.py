"""Expressions over data in parts: the computation on each part, and the combination of the parts.

Data has rows along one named axis.  If every node works on each row separately until rows are
summed, then each part contributes only its sums.  An expression of such sums is computed in
*passes*, each of which needs the sums of the earlier ones.  The mean of a loss takes one pass.  A
standard deviation takes two, because squares need the mean first.  The ops of the graph show
whether it has this form; ops without a known rule are refused.

Each pass is a program of its own, and two programs may round the same rows differently.  So one
pass decides each comparison, and later passes receive the decision as data.
"""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from symdiff.errors import NotAdditive
from symdiff.graph import ops
from symdiff.graph.algebra import opaque, primitive, select
from symdiff.graph.axis_lengths import names as names_of
from symdiff.graph.expr import Expr, rebuild
from symdiff.graph.leaves import full, named_dummy, named_size
from symdiff.graph.lengths import Length
from symdiff.graph.node import topological
from symdiff.graph.ranges import WHOLE
from symdiff.opaque_ops.reductions import Extreme, stretched
from symdiff.opaque_ops.sequences import Put, Take

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from symdiff.graph.node import Dim

__all__ = ["DataPass", "Plan", "RowSum", "row_sums"]


class RowSum(NamedTuple):
    """A sum over rows: each part of the data contributes the value of ``part`` to ``whole``.

    ``whole`` is the symbol of the sum.  NumPy's function ``join`` combines two contributions.
    """

    whole: Expr
    part: Expr
    join: str


class DataPass(NamedTuple):
    """One walk over the data.

    ``given``: symbols in this pass and later ones, with their values in terms of earlier sums and
    earlier given symbols.  ``kept``: symbols in the parts of later passes, with the expressions
    that compute their values on the same part in this pass.
    """

    given: tuple[tuple[Expr, Expr], ...]
    sums: tuple[RowSum, ...]
    kept: tuple[tuple[Expr, Expr], ...]


class Plan(NamedTuple):
    """Passes over the rows, and the results in terms of their sums and given symbols.

    ``rows`` is a symbol of an array without elements.  The length of its first axis is the total
    number of rows: passes and results contain this length if they need it.
    """

    rows: Expr
    passes: tuple[DataPass, ...]
    results: tuple[Expr, ...]

    def counts(self, expressions: Iterable[Expr]) -> bool:
        """Whether the expressions contain the number of all rows."""
        (name, _) = self.rows.shape
        sizes = [x.op for x in topological(list(expressions)) if isinstance(x.op, ops.Size)]
        return any(op.name == name for op in sizes)


class _NodeInfo(NamedTuple):
    """The axis of rows of a node, or None, and the number of passes before it is known."""

    axis: int | None
    level: int


_ELEMENTWISE = (ops.Sum, ops.Product, ops.Pointwise, ops.Strong, ops.Barrier)


def row_sums(outputs: Sequence[Expr], over: str) -> Plan:
    """Plan the computation of ``outputs`` from sums over parts of the rows along the axis ``over``.

    Sums over rows are the graph's sums, and ops that declare how to combine two parts
    (``Opaque.of_two``): extremes, products, logsumexp.

    Raises NotAdditive, with the node and the reason, if no rule shows that a node is a sum.

    >>> import symdiff as sd
    >>> x = sd.symbol("x", "n")
    >>> rows, passes, results = row_sums([sd.std(x)], "n")
    >>> for given, sums, _ in passes:
    ...     print([str(value) for _, value in given], [str(s.part) for s in sums])
    [] ['sum(x)']
    ['sum[0]/all_n'] ['sum((x - given[0])**2)']
    >>> row_sums([sd.cumsum(x)[-1]], "n")
    Traceback (most recent call last):
        ...
    symdiff.errors.NotAdditive: cumsum goes along the rows, the axis n: cumsum(x)
    """
    order = topological(outputs)
    levels: dict[Expr, _NodeInfo] = {}
    sums: dict[Expr, str] = {}
    elsewhere = {
        name
        for node in order
        if isinstance(node.op, ops.Symbol) and not _row_axes(node, over)
        for dim in node.shape
        if isinstance(dim, Length)
        for name in dim.names
    }
    # A length that other symbols have, too, is equal in all parts: its value is that of any part.
    for node in order:
        names = set(Length(node.op.name).names) if isinstance(node.op, ops.Size) else set()
        if names - elsewhere and over not in names:
            sums[node] = "maximum"  # an axis of equal length in all parts
            levels[node] = _NodeInfo(None, 1)
        else:
            levels[node] = _classify(node, over, levels, sums)
    # A result with rows would grow with the data, and no combination of sums gives it.
    for output in outputs:
        if levels[output].axis is not None:
            raise NotAdditive(f"a result has the axis {over}, a row for each of the data", output)
    return _Planner(order, outputs, over, levels, sums).plan()


def _row_axes(node: Expr, over: str) -> list[int]:
    """The axes of a node whose length is, or depends on, the number of rows."""
    return [k for k, dim in enumerate(node.shape) if _depends_on_rows(dim, over)]


def _depends_on_rows(dim: Dim, over: str) -> bool:
    return isinstance(dim, Length) and over in dim.names


def _classify(
    node: Expr, over: str, known: dict[Expr, _NodeInfo], sums: dict[Expr, str]
) -> _NodeInfo:
    """The row axis and level of a node with known operands; add sums over rows to ``sums``."""
    op, axes = node.op, _row_axes(node, over)
    of_rows = [arg for arg in node.args if known[arg].axis is not None]
    level = max((known[arg].level for arg in node.args), default=0)
    for k in axes:
        if node.shape[k] != over:
            raise _not_additive(f"has an axis of length {node.shape[k]}", node)
    # Pairs of rows from two parts meet in no part.
    if len(axes) > 1:
        raise _not_additive(f"has an element for each pair of rows, shape {node.shape}", node)
    if isinstance(op, ops.Size) and op.name != over and over in Length(op.name).names:
        raise _not_additive(f"is computed from the length {over}", node)
    if isinstance(op, ops.Contract):
        _check_letters(node, over)
    if not axes and not of_rows:
        return _NodeInfo(None, level)
    # Rows come in and none leave: here the node sums, and one more pass knows its value.
    if not axes:
        sums[node] = _joining_function(node, over)
        return _NodeInfo(None, level + 1)
    (axis,) = axes
    if not (of_rows or isinstance(op, ops.Symbol | ops.Contract)) or (
        not isinstance(op, ops.Symbol | ops.Contract)
        and not all(_keeps_rows_apart(node, k, known[arg].axis) for k, arg in enumerate(node.args))
    ):
        raise _not_additive(f"goes along the rows, the axis {over}", node)
    return _NodeInfo(axis, level)


def _not_additive(why: str, node: Expr) -> NotAdditive:
    text = str(node)
    return NotAdditive(
        f"{node.op.name} {why}: {text if len(text) < 200 else text[:197] + '...'}", node
    )


def _check_letters(node: Expr, over: str) -> None:
    """Raise NotAdditive if a contraction combines two axes of rows; one label may occur once."""
    op = node.op
    assert isinstance(op, ops.Contract)
    # One label may occur in several operands: rows are then multiplied each with itself.
    met = {
        letter
        for word, arg in zip(op.letters, node.args, strict=True)
        for letter, dim in zip(word, arg.shape, strict=True)
        if _depends_on_rows(dim, over)
    }
    met |= {
        letter
        for letter, dim in zip(op.out, node.shape, strict=True)
        if _depends_on_rows(dim, over)
    }
    if len(met) > 1:
        raise _not_additive("brings pairs of rows together", node)


def _joining_function(node: Expr, over: str) -> str:
    """The NumPy function that combines this sum over two parts."""
    op = node.op
    if isinstance(op, ops.Contract):
        return "add"
    if isinstance(op, Put) and all(arg.shape[-1] == over for arg in node.args):
        return "add"
    if isinstance(op, ops.Opaque) and op.of_two and node.args[0].shape[-1] == over:
        return op.of_two
    raise _not_additive(f"of all rows, the axis {over}, is not a sum over them", node)


def _keeps_rows_apart(node: Expr, k: int, axis: int | None) -> bool:
    """Whether ``node`` works on each element along this axis of its operand k separately."""
    op, arg = node.op, node.args[k]
    if axis is None or isinstance(op, _ELEMENTWISE):
        return True
    from_the_end = axis - arg.ndim
    # The operand of places may have rows; the array that they index must be whole in each part.
    if isinstance(op, Take):
        return k == 1 or from_the_end != -1
    if isinstance(op, ops.Opaque):
        return op.signature is not None and -from_the_end > len(op.signature.core(k))
    if not isinstance(op, ops.Linear):
        return False
    if -from_the_end > op.core:
        return True
    if isinstance(op, ops.Slice | ops.Unslice):
        return op.steps[from_the_end] == WHOLE
    if isinstance(op, ops.Concat | ops.Cumsum):
        return op.axis != from_the_end
    if isinstance(op, ops.Flip):
        return from_the_end not in op.axes
    # A reshape keeps rows apart if all axes up to theirs stay as they are.
    if isinstance(op, ops.Reshape):
        lead = len(op.before) + from_the_end + 1
        return op.before[:lead] == op.after[:lead]
    return False


class _Place(NamedTuple):
    """The position of an extreme in a part's rows: its ties, its value, and the next extreme.

    A later pass may round the rows differently from the pass that found the extreme.  These symbols
    carry the decision over: which rows are the extreme, and a bound for the others.  A nan counts
    as the extreme, although it equals nothing.
    """

    ties: Expr
    value: Expr
    others: Expr  # the extreme of all other rows

    @classmethod
    def of(cls, extreme: Expr, i: int) -> _Place:
        """Symbols for the position of an extreme."""
        rows = extreme.args[0]
        return cls(
            named_dummy(f"ties[{i}]", rows.shape, bool),
            named_dummy(f"extreme[{i}]", extreme.shape),
            named_dummy(f"others[{i}]", extreme.shape),
        )

    def kept(self, op: Extreme, rows: Expr, value: Expr) -> list[tuple[Expr, Expr]]:
        """The symbols, with their values in the pass that computes ``value`` from ``rows``."""
        ties = primitive("equal", rows, stretched(value, rows))
        ties = primitive("logical_or", ties, primitive("not_equal", rows, rows))
        worst = full(rows.shape, -math.inf if op.name == "max" else math.inf)
        remaining = opaque(op, select(ties, worst, rows))
        return list(zip(self, (ties, value, remaining), strict=True))

    def ordered(self, op: Extreme, rows: Expr) -> Expr:
        """Recomputed rows, clipped to their side of the extreme."""
        bound = stretched(self.others, rows)
        pair = (rows, bound) if op.name == "max" else (bound, rows)
        beyond = select(primitive("less_equal", *pair), rows, bound)
        return select(self.ties, stretched(self.value, rows), beyond)


class _Planner:
    """Plan the passes for the nodes of the outputs.

    ``given`` maps nodes without rows to symbols; they are computed before a pass, for its rows and
    for later passes.  ``handed`` maps comparisons among them that several programs need to the
    first pass that needs them.  ``kept`` does so for comparisons of rows, with a symbol for later
    passes.  ``compared`` lists, for each pass, the earlier extremes that it compares rows with.
    """

    def __init__(
        self,
        order: Sequence[Expr],
        outputs: Sequence[Expr],
        over: str,
        known: Mapping[Expr, _NodeInfo],
        sums: Mapping[Expr, str],
    ) -> None:
        self.order, self.outputs, self.over = order, outputs, over
        self.known, self.sums = known, sums
        self.passes = range(max((known[x].level for x in sums), default=0))
        # A user's axis may have this name already.
        name, taken = f"all_{over}", set(names_of(order))
        while name in taken:
            name += "_"
        self.rows, self.number = named_dummy(f"rows of {over}", (Length(name), 0)), named_size(name)
        self.wholes = {x: named_dummy(f"sum[{i}]", x.shape, x.dtype) for i, x in enumerate(sums)}
        # Values without rows that rows need, and that are known only after a pass.
        in_parts = [x for x in order if x in sums or known[x].axis is not None]
        needed = dict.fromkeys(
            arg for x in in_parts for arg in x.args if known[arg].axis is None and known[arg].level
        )
        self.given = {x: named_dummy(f"given[{i}]", x.shape, x.dtype) for i, x in enumerate(needed)}
        self.handed: dict[Expr, int] = {}
        self.kept: dict[Expr, tuple[int, Expr]] = {}
        self.read = self._nodes_by_passes()
        self.new = self._new_inputs()
        self._hand_over_decisions()
        self.compared = [self._compared_extremes(p) for p in self.passes]
        extremes = dict.fromkeys([x for met in self.compared for x in met])
        self.places = {x: _Place.of(x, i) for i, x in enumerate(extremes)}

    def plan(self) -> Plan:
        """The passes and the results."""
        passes = []
        for p in self.passes:
            part, shares = self._nodes_of_part(p)
            values = self._values_without_rows(p)
            sums = [
                RowSum(self.wholes[x], shares[x], join)
                for x, join in self.sums.items()
                if self.known[x].level == p + 1
            ]
            extremes = [(symbol, part[x]) for x, (first, symbol) in self.kept.items() if first == p]
            for x, place in self.places.items():
                if self.known[x].level == p + 1:
                    extremes += place.kept(_extreme(x), part[x.args[0]], shares[x])
            inputs = tuple([(self.given[x], values[x]) for x in self.new[p]])
            passes.append(DataPass(inputs, tuple(sums), tuple(extremes)))
        # After the last pass all sums are known: results are formulas of them.
        values = self._values_without_rows(len(self.passes))
        return Plan(self.rows, tuple(passes), tuple([values[y] for y in self.outputs]))

    def _nodes_of_part(self, p: int) -> tuple[dict[Expr, Expr], dict[Expr, Expr]]:
        """Nodes as the parts compute them in a pass, and their contributions to the sums."""
        part: dict[Expr, Expr] = {}
        shares: dict[Expr, Expr] = {}
        # Clip rows to their earlier order, so that the pass decides ties as the earlier pass did.
        snapped = defaultdict(list)
        for extreme in self.compared[p]:
            snapped[extreme.args[0]].append(extreme)
        for x in self.order:
            if self._is_row_count(x):
                part[x] = self.number
                continue
            # An earlier pass decided this comparison; computed again, it may round differently.
            if x in self.kept and self.kept[x][0] < p:
                part[x] = self.kept[x][1]
                continue
            if all(arg in part for arg in x.args):
                part[x] = rebuild(x, tuple([part[arg] for arg in x.args]))
                # A sum's value on one part is a contribution, never an operand of that part.
                if x in self.sums:
                    shares[x] = part.pop(x)
            if x in self.given:
                part[x] = self.given[x]
            for extreme in snapped.get(x, ()):
                part[x] = self.places[extreme].ordered(_extreme(extreme), part[x])
        return part, shares

    def _values_without_rows(self, p: int) -> dict[Expr, Expr]:
        """Nodes without rows as computed from the sums before pass p, or after the last pass."""
        values: dict[Expr, Expr] = {}
        for x in self.order:
            if self._is_row_count(x):
                values[x] = self.number
            elif x in self.sums:
                values[x] = self.wholes[x]
            elif self.handed.get(x, p) < p:
                values[x] = self.given[x]
            elif self.known[x].axis is None:
                values[x] = rebuild(x, tuple([values[arg] for arg in x.args]))
        return values

    def _is_row_count(self, x: Expr) -> bool:
        return isinstance(x.op, ops.Size) and x.op.name == self.over

    # Decisions made once -------------------------------------------------------------------------

    def _nodes_by_passes(self) -> list[set[Expr]]:
        """The nodes that parts read or compute in each pass; add repeated comparisons to ``kept``.

        A pass computes a comparison; the passes after it read the result in place of its operands.
        """
        exact = self._exact(self.given)
        first: dict[Expr, int] = {}
        read = []
        for p in self.passes:
            sums = [x for x in self.sums if self.known[x].level == p + 1]
            met = _reachable([arg for x in sums for arg in x.args], {*self.given, *first})
            for x in self.order:
                if x not in met or self.known[x].axis is None or not _decides(x, exact):
                    continue
                if x in first:
                    symbol = named_dummy(f"kept[{len(self.kept)}]", x.shape, bool)
                    self.kept.setdefault(x, (first[x], symbol))
                else:
                    first[x] = p
            read.append(met)
        return read

    def _new_inputs(self) -> list[list[Expr]]:
        """The given symbols that are new in each pass."""
        new, shown = [], set[Expr]()
        for p in self.passes:
            new.append([x for x in self.given if x in self.read[p] and x not in shown])
            shown.update(new[-1])
        return new

    def _hand_over_decisions(self) -> None:
        """Let the first program that needs a comparison without rows compute it for the others."""
        exact = self._exact(self.sums)
        programs = []
        for p in self.passes:
            programs += [(p, _reachable(self.new[p], self.sums)), (p, self.read[p])]
        programs.append((len(self.passes), _reachable(self.outputs, self.sums)))
        for x in self.order:
            if self.known[x].axis is None and _decides(x, exact):
                users = [p for p, met in programs if x in met]
                if len(users) > 1 and users[0] < len(self.passes):
                    self.handed[x] = users[0]
                    name = f"given[{len(self.given)}]"
                    self.given.setdefault(x, named_dummy(name, x.shape, x.dtype))
                    self.new = [[y for y in new if y is not x] for new in self.new]
                    self.new[users[0]].append(x)

    def _exact(self, known: Iterable[Expr]) -> set[Expr]:
        """Nodes with the same bits in all programs: data, ``known`` nodes, and moved copies."""
        exact = set(known)
        for x in self.order:
            op = x.op
            moves = isinstance(op, ops.Slice) or (
                isinstance(op, ops.Contract)
                and len(op.letters) == 1
                and set(op.letters[0]) <= set(op.out)
            )
            if isinstance(op, ops.Symbol) or (
                all(arg in exact for arg in x.args) and (moves or not x.args)
            ):
                exact.add(x)
        return exact

    def _compared_extremes(self, p: int) -> list[Expr]:
        """The extremes of earlier passes that a pass may compare rows with."""
        candidates = [
            x
            for x in self.sums
            if self.known[x].level <= p
            and isinstance(x.op, Extreme)
            and x.dtype is float
            and not isinstance(x.args[0].op, ops.Symbol)
            and x.args[0] in self.read[p]
        ]
        if not candidates:
            return []
        below = set(topological([x for x in self.given if x in self.read[p]]))
        return [x for x in candidates if x in below]


def _extreme(node: Expr) -> Extreme:
    assert isinstance(node.op, Extreme)
    return node.op


def _decides(x: Expr, exact: Container[Expr]) -> bool:
    """Whether a node compares real numbers that another program may round differently."""
    return (
        x.dtype is bool
        and isinstance(x.op, ops.Pointwise)
        and any(arg.dtype is float and arg not in exact for arg in x.args)
    )


def _reachable(roots: Iterable[Expr], ends: Container[Expr]) -> set[Expr]:
    """The nodes that the roots depend on; the walk stops at ``ends``."""
    reached = set(roots)
    waiting = list(reached)
    while waiting:
        x = waiting.pop()
        if x not in ends:
            new = [arg for arg in x.args if arg not in reached]
            reached.update(new)
            waiting += new
    return reached
