"""Expressions over data in parts: what is computed for each part, and how parts make the whole.

Data has rows along one axis, known by name.  Where every node works on each row by itself until
rows are summed, sums over parts of the rows are all that the parts have to say: an expression of
such sums is computed in *passes*, of which each needs the sums of those before it.  The mean of a
loss takes one; a standard deviation takes two, for the mean is needed before squares are summed.
That a graph is of this kind is read off its ops: what nobody knows to be is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from symdiff.errors import NotAdditive
from symdiff.graph import ops
from symdiff.graph.expr import Expr, rebuild
from symdiff.graph.leaves import named_dummy
from symdiff.graph.lengths import Length
from symdiff.graph.node import topological
from symdiff.graph.ranges import WHOLE
from symdiff.opaque_ops.sequences import Put, Take

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symdiff.graph.node import Dim

__all__ = ["Pass", "Plan", "RowSum", "row_sums"]


class RowSum(NamedTuple):
    """What parts are asked for: the value of ``part`` on their rows is their share in ``whole``.

    ``whole`` is the symbol that stands for it.  NumPy's function ``join`` makes one share of two.
    """

    whole: Expr
    part: Expr
    join: str


class Pass(NamedTuple):
    """One walk over the data.

    ``given``: symbols that the sums contain, and what they are in terms of earlier sums.
    """

    given: tuple[tuple[Expr, Expr], ...]
    sums: tuple[RowSum, ...]


class Plan(NamedTuple):
    """Passes over the rows, and the results in terms of their sums.

    ``rows`` is the symbol of the number of all rows, None where nothing depends on it.
    """

    rows: Expr | None
    passes: tuple[Pass, ...]
    results: tuple[Expr, ...]


class _Known(NamedTuple):
    """Of a node: its axis of rows or None, and the passes that are over when it is known."""

    axis: int | None
    level: int


_ELEMENTWISE = (ops.Sum, ops.Product, ops.Pointwise, ops.Strong, ops.Barrier)


def row_sums(outputs: Sequence[Expr], over: str) -> Plan:
    """How ``outputs`` are computed from sums over parts of the rows along the axis ``over``.

    A sum over rows is one of the graph's, or what other ops that reduce declare to be one
    (``Opaque.of_two``): extremes, products, logsumexp.

    Raises NotAdditive, with the node and the reason, where nobody can tell.

    >>> import symdiff as sd
    >>> x = sd.symbol("x", "n")
    >>> rows, passes, results = row_sums([sd.std(x)], "n")
    >>> for given, sums in passes:
    ...     print([str(value) for _, value in given], [str(s.part) for s in sums])
    [] ['sum(x)']
    ['sum[0]/rows of n'] ['sum((x - given[0])**2)']
    >>> row_sums([sd.cumsum(x)[-1]], "n")
    Traceback (most recent call last):
        ...
    symdiff.errors.NotAdditive: cumsum goes along the rows, the axis n: cumsum(x)
    """
    order = topological(outputs)
    known: dict[Expr, _Known] = {}
    sums: dict[Expr, str] = {}
    elsewhere = {
        name
        for node in order
        if isinstance(node.op, ops.Symbol) and not _rows(node, over)
        for dim in node.shape
        if isinstance(dim, Length)
        for name in dim.names
    }
    for node in order:
        names = set(Length(node.op.name).names) if isinstance(node.op, ops.Size) else set()
        if names - elsewhere and over not in names:
            sums[node] = "maximum"  # an axis of the parts alone, which is as long in all of them
            known[node] = _Known(None, 1)
        else:
            known[node] = _read(node, over, known, sums)
    for output in outputs:
        if known[output].axis is not None:
            raise NotAdditive(f"a result has the axis {over}, a row for each of the data", output)
    return _plan(order, outputs, over, known, sums)


def _rows(node: Expr, over: str) -> list[int]:
    """The axes of a node whose length is that of the rows, or computed from it."""
    return [k for k, dim in enumerate(node.shape) if _counts(dim, over)]


def _counts(dim: Dim, over: str) -> bool:
    return isinstance(dim, Length) and over in dim.names


def _read(node: Expr, over: str, known: dict[Expr, _Known], sums: dict[Expr, str]) -> _Known:
    """What is to be known of a node, whose operands are; sums over rows go to ``sums``."""
    op, axes = node.op, _rows(node, over)
    of_rows = [arg for arg in node.args if known[arg].axis is not None]
    level = max((known[arg].level for arg in node.args), default=0)
    for k in axes:
        if node.shape[k] != over:
            raise _refused(f"has an axis of length {node.shape[k]}", node)
    if len(axes) > 1:
        raise _refused(f"has an element for each pair of rows, shape {node.shape}", node)
    if isinstance(op, ops.Size) and op.name != over and over in Length(op.name).names:
        raise _refused(f"is computed from the length {over}", node)
    if isinstance(op, ops.Contract):
        _check_letters(node, over)
    if not axes and not of_rows:
        return _Known(None, level)
    if not axes:
        sums[node] = _join(node, over)
        return _Known(None, level + 1)
    (axis,) = axes
    if not (of_rows or isinstance(op, ops.Symbol | ops.Contract)) or (
        not isinstance(op, ops.Symbol | ops.Contract)
        and not all(_by_row(node, k, known[arg].axis) for k, arg in enumerate(node.args))
    ):
        raise _refused(f"goes along the rows, the axis {over}", node)
    return _Known(axis, level)


def _refused(why: str, node: Expr) -> NotAdditive:
    text = str(node)
    return NotAdditive(
        f"{node.op.name} {why}: {text if len(text) < 200 else text[:197] + '...'}", node
    )


def _check_letters(node: Expr, over: str) -> None:
    """All axes of rows that a contraction meets are to be one: it has one letter, once at most."""
    op = node.op
    assert isinstance(op, ops.Contract)
    met = {
        letter
        for word, arg in zip(op.letters, node.args, strict=True)
        for letter, dim in zip(word, arg.shape, strict=True)
        if _counts(dim, over)
    }
    met |= {letter for letter, dim in zip(op.out, node.shape, strict=True) if _counts(dim, over)}
    if len(met) > 1:
        raise _refused("brings pairs of rows together", node)


def _join(node: Expr, over: str) -> str:
    """The function that makes one of the sums of two parts."""
    op = node.op
    if isinstance(op, ops.Contract):
        return "add"
    if isinstance(op, Put) and all(arg.shape[-1] == over for arg in node.args):
        return "add"
    if isinstance(op, ops.Opaque) and op.of_two and node.args[0].shape[-1] == over:
        return op.of_two
    raise _refused(f"of all rows, the axis {over}, is no sum over them", node)


def _by_row(node: Expr, k: int, axis: int | None) -> bool:
    """Whether ``node`` works on each element of this axis of its operand k by itself."""
    op, arg = node.op, node.args[k]
    if axis is None or isinstance(op, _ELEMENTWISE):
        return True
    from_the_end = axis - arg.ndim
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
    if isinstance(op, ops.Reshape):
        lead = len(op.before) + from_the_end + 1
        return op.before[:lead] == op.after[:lead]
    return False


def _plan(
    order: Sequence[Expr],
    outputs: Sequence[Expr],
    over: str,
    known: Mapping[Expr, _Known],
    sums: Mapping[Expr, str],
) -> Plan:
    """The passes: what parts sum, with symbols for what is known when they do."""
    counts = {x for x in order if isinstance(x.op, ops.Size) and x.op.name == over}
    number = named_dummy(f"rows of {over}", (), int) if counts else None
    # What rows need of what is no row, and is not known before the first pass.
    in_parts = [x for x in order if x in sums or known[x].axis is not None]
    needed = dict.fromkeys(
        arg for x in in_parts for arg in x.args if known[arg].axis is None and known[arg].level
    )
    given = {x: named_dummy(f"given[{i}]", x.shape, x.dtype) for i, x in enumerate(needed)}
    wholes = {x: named_dummy(f"sum[{i}]", x.shape, x.dtype) for i, x in enumerate(sums)}
    shares: dict[Expr, Expr] = {}
    part: dict[Expr, Expr] = {}  # nodes as the parts compute them
    whole: dict[Expr, Expr] = {}  # and as they are computed of sums
    for x in order:
        if number is not None and x in counts:
            part[x] = whole[x] = number
            continue
        if all(arg in part for arg in x.args):
            part[x] = rebuild(x, tuple([part[arg] for arg in x.args]))
            if x in sums:
                shares[x] = part.pop(x)
        if x in given:
            part[x] = given[x]
        if x in sums:
            whole[x] = wholes[x]
        elif known[x].axis is None:
            whole[x] = rebuild(x, tuple([whole[arg] for arg in x.args]))
    passes = []
    for level in range(max((known[x].level for x in sums), default=0)):
        found = [
            RowSum(wholes[x], shares[x], join)
            for x, join in sums.items()
            if known[x].level == level + 1
        ]
        used = set(topological([s.part for s in found]))
        before = [(s, whole[x]) for x, s in given.items() if s in used]
        passes.append(Pass(tuple(before), tuple(found)))
    return Plan(number, tuple(passes), tuple([whole[y] for y in outputs]))
