"""Remove lengths that are known only at run time from graphs.

``v[v > 0]`` has such a length, and so has every node computed from it, up to the sum over that
axis.  This region becomes the inner expression of a ``Sized``, whose count is the number of
selected positions.  Its derivatives follow the rules of loops.  An output that still has the axis
is padded with zeros to the length of the condition; the caller cuts its values to length.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from symdiff import opaque_ops
from symdiff.calculus.real_values import is_real
from symdiff.errors import Unsupported
from symdiff.functions.rearranging import moveaxis
from symdiff.functions.reductions import sum as summed
from symdiff.functions.shaping import arange
from symdiff.graph import ops
from symdiff.graph.algebra import as_numeric, as_real, opaque, primitive
from symdiff.graph.axis_lengths import defining
from symdiff.graph.bound_lengths import with_lengths
from symdiff.graph.expr import Expr
from symdiff.graph.leaves import named_dummy, number_node, number_of
from symdiff.graph.lengths import Length
from symdiff.graph.node import topological
from symdiff.transforms import batching
from symdiff.transforms.packing import packed, unpacked
from symdiff.transforms.scans import standing_for
from symdiff.transforms.sized import sized

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from symdiff.graph.node import Dim, Shape


class Filled(NamedTuple):
    """Outputs of known shapes, and the data to cut the requested outputs from them.

    ``shapes`` are the requested shapes, in terms of the length names ``counts``.  The values of
    these lengths are additional outputs, after the others.
    """

    outputs: list[Expr]
    shapes: list[Shape]
    counts: list[str]


def filled_up(outputs: Sequence[Expr]) -> Filled | None:
    """Pad outputs whose lengths only a run shows; return None if all lengths are known."""
    conditions = _conditions(topological(outputs))
    if not conditions:
        return None
    shapes = [y.shape for y in outputs]
    counts = [name for name in conditions if any(name in _names(shape) for shape in shapes)]
    counted = [summed(conditions[name]) for name in counts]
    filled = closed([*map(_pad_to_bounds, outputs), *counted])
    real = [as_real(x) if is_real(y) else x for x, y in zip(filled, outputs, strict=False)]
    return Filled([*real, *filled[len(real) :]], shapes, counts)


def closed(outputs: Sequence[Expr], over: Sequence[Expr] | None = None) -> list[Expr]:
    """Rewrite outputs so that every length is known before they run; values stay the same.

    ``over``: rewrite only lengths that depend on these symbols.

    Raises Unsupported if an output itself has an axis of such a length.
    >>> import symdiff as sd
    >>> v = sd.symbol("vector", 3)
    >>> closed([sd.sum(v[v > 0])])[0].op.name
    'sized'
    """
    exprs = list(outputs)
    while True:
        nodes = topological(exprs)
        conditions = _conditions(nodes)
        if over is not None:
            among = frozenset(over)
            conditions = {
                name: x for name, x in conditions.items() if not among.isdisjoint(topological([x]))
            }
        if not conditions:
            return exprs
        for y in exprs:
            length_name = next((name for name in conditions if name in _names(y.shape)), None)
            if length_name is not None:
                raise Unsupported(
                    f"{_condition_text(conditions[length_name])}: the number of places is known "
                    "only at run time, and a length is needed here: sum over the axis, or use where"
                )
        # The last condition first: no other condition depends on the elements that it selects.
        length_name = [*conditions][-1]
        exprs = with_lengths(
            "getitem", exprs, _replace_sums(nodes, length_name, conditions[length_name]), {}
        )


def _conditions(nodes: Sequence[Expr]) -> dict[str, Expr]:
    """The conditions that determine lengths at run time, by the names of these lengths."""
    vectors = {str(x.shape[0]): x.args[0] for x in defining(nodes)}
    dims = {dim for x in nodes for dim in x.shape if isinstance(dim, Length)}
    sizes = [x.op.name for x in nodes if isinstance(x.op, ops.Size)]
    for name in sorted({name for text in (*dims, *sizes) for name in Length(text).names}):
        vector = None if name in vectors else opaque_ops.condition_of(name)
        if vector is not None:
            vectors = {name: vector, **vectors}
    return vectors


def _replace_sums(nodes: Sequence[Expr], own: str, vector: Expr) -> dict[Expr, Expr]:
    """Replacements without the length ``own`` for the first nodes that sum it away."""
    inside: set[Expr] = set()  # nodes that have the length
    reached: set[Expr] = set()  # sinks, and nodes that depend on one
    sinks: list[Expr] = []
    for x in nodes:
        behind = not reached.isdisjoint(x.args)
        if own in _names(x.shape):
            inside.add(x)
        elif own in _names_in_size(x) or not inside.isdisjoint(x.args):
            if not behind:
                sinks.append(x)
            behind = True
        if behind:
            reached.add(x)
    count = summed(vector)
    # One ``Sized`` computes all real sinks, so that they share one run; integers need their own.
    real = [x for x in sinks if x.dtype is float]
    number = opaque(ops.converted_op("int64"), count)
    replacements = {x: number for x in sinks if isinstance(x.op, ops.Size) and x.op.name == own}
    integers = [x for x in sinks if x.dtype is not float and x not in replacements]
    for group in ([real] if real else []) + [[x] for x in integers]:
        value = _compute_group(group, own, inside, count)
        parts = unpacked(value, [x.shape for x in group])
        replacements.update(
            {x: _convert_to_dtype(x, part) for x, part in zip(group, parts, strict=True)}
        )
    return replacements


def _compute_group(group: Sequence[Expr], own: str, inside: set[Expr], count: Expr) -> Expr:
    """Compute the nodes of ``group`` in one ``Sized``, whose operands are the nodes outside."""
    place: dict[Expr, Expr] = {}
    operands: dict[Expr, Expr] = {}

    def symbol_for(x: Expr) -> Expr:
        number = as_numeric(x)
        p = named_dummy("p", number.shape, number.dtype)
        operands[p] = number
        return standing_for(x, p)

    stack, seen = list(group), set(group)
    while stack:
        for x in stack.pop().args:
            if x in seen:
                continue
            seen.add(x)
            if x.op.__class__ is opaque_ops.Nonzero and own in x.shape:
                # Inside, the positions are an op of their own, with the condition as operand.
                place[x] = opaque(opaque_ops.places_of_op(Length(own)), symbol_for(x.args[0]))
            elif x in inside:
                stack.append(x)
            # Numbers and constants stay inside: as operands they would only cost memory.
            elif (x.args and number_of(x) is None) or isinstance(x.op, ops.Symbol):
                place[x] = symbol_for(x)
    parts = with_lengths("getitem", [as_numeric(x) for x in group], place, {})
    return sized(packed(parts), Length(own), operands, count)


def _convert_to_dtype(x: Expr, value: Expr) -> Expr:
    """Convert a real value to the dtype of x."""
    if x.dtype is bool:
        return primitive("not_equal", value, number_node(0))
    return value if x.dtype is float else opaque(ops.converted_op("int64"), value)


def _pad_to_bounds(x: Expr) -> Expr:
    """Pad x with zeros at the end of each axis, up to the lengths of conditions."""
    names = {name: of.shape[0] for name, of in _conditions(topological([x])).items()}
    result = as_numeric(x)
    for axis, dim in enumerate(x.shape):
        most = _largest_length(dim, names)
        if most != dim:
            lines = moveaxis(result, axis, -1)
            result = moveaxis(opaque(opaque_ops.put_op(most), lines, arange(0, dim)), -1, axis)
    if result is as_numeric(x):
        return x
    return result if is_real(x) else _convert_to_dtype(x, result)


def _largest_length(dim: Any, names: Mapping[str, Any]) -> Any:
    """The largest possible value of a length."""
    while isinstance(dim, Length) and any(name in names for name in dim.names):
        # A bound for a length that falls with the count is not its value at the longest count.
        falls = any(c < 0 for monomial, c in dim.terms if monomial)
        if falls or not names.keys() >= {*dim.names}:
            raise Unsupported(
                f"an axis of length {dim}: its largest length is unknown; sum over it"
            )
        dim = dim.replaced(names)
    return dim


def _condition_text(vector: Expr) -> str:
    return f"nonzero({vector})"


def _names_in_size(x: Expr) -> tuple[str, ...]:
    return Length(x.op.name).names if isinstance(x.op, ops.Size) else ()


def _names(shape: Iterable[Dim]) -> set[str]:
    return {name for dim in shape if isinstance(dim, Length) for name in dim.names}


def _refuse_batch(node: Expr, args: list[tuple[Expr, bool]], length: Dim) -> Expr:
    raise Unsupported(
        "batch: a condition selects a different number of elements in each part of a batch; use "
        "sd.where, which keeps shapes, or sd.scan, which processes one part after the other"
    )


batching.register(opaque_ops.Nonzero, _refuse_batch)
