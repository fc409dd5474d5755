"""How ops that are not arithmetic of elements are written: structure, contractions, opaque ones.

What NumPy has an expression for is that expression, as a person would type it: ``x[1:]``, ``a.T``,
``A @ v``.  The rest is a call of a function, with plain arguments.  One statement serves programs,
into which the text is put, and kernels, which are compiled from it.
"""

from __future__ import annotations

import re
from functools import singledispatch
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from numpy.lib.stride_tricks import sliding_window_view

from numeric.lowering import contracted
from numeric.lowering.contracted import indexed, reshaped
from numeric.lowering.contraction import plan
from numeric.lowering.kernels import custom_ops, matrices, sequences
from numeric.lowering.kernels.opaque import OPAQUE, of_parts, pinv, solve_banded
from numeric.lowering.texts import ATOM, Draft, Template, Text, compiled, length_text, lengths_text
from numeric.lowering.values import full
from symdiff import opaque_ops
from symdiff.calculus.custom_ops import Custom, CustomPullback
from symdiff.graph import ops
from symdiff.graph.lengths import Length, is_natural
from symdiff.graph.ranges import Line, places_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from numeric.lowering.texts import Piece
    from symdiff.graph.expr import Expr
    from symdiff.graph.node import Dim, Op, Shape
    from symdiff.graph.ranges import Step

NAMES: dict[str, object] = {**contracted.NAMES, "full": full}
"""What texts call under this very name; other names are bound."""


def template(
    nodes: Sequence[Expr],
    operands: Sequence[Expr],
    bind: Callable[[str, object], str],
    numbers: Collection[Expr] = (),
) -> Template:
    """How a node is written over ``operands``, or several nodes that are one computation.

    Args:
        nodes: one node, or parts of one op on the same operands.
        operands: theirs, as they are computed.
        bind: gives a value its name in the source, another than is asked for if that is taken.
        numbers: those whose values may be Python numbers; those of all others are arrays.

    >>> import symdiff as sd
    >>> x = sd.symbol("x", ("n", 3))
    >>> nodes = [x[:, 1:], sd.sum(x, axis=0), x.T]
    >>> [template([y], y.args, lambda name, value: name).text for y in nodes]
    ['{0}[:, 1:]', '{0}.sum(axis=0)', '{0}.T']
    """
    node, op = nodes[0], nodes[0].op
    d = Draft(len(operands), bind)
    xs: list[Piece] = list(range(len(operands)))
    loose = [k for k, x in enumerate(operands) if x in numbers]
    # Operands that are computed from numbers alone are Python numbers, without axes to slice or
    # sum; they are filled, unless all that is done to them is stretching.
    if loose and ops.is_spread(node.op):  # a number may stay one
        return d.template(d.call("stretched", 0, lengths_text(node.shape)))
    for k in loose:
        others = [j for j in range(len(operands)) if j != k]
        xs[k] = d.call("full", lengths_text(operands[k].shape), k, *others)
    # The schedule has left the slice out and gives what is sliced: one subscript says both.
    if is_component(node) and operands[0] is not node.args[0]:
        return d.template(_component(node, d, *xs))
    if isinstance(op, ops.Part):
        # One call makes all parts that are used; of one alone it is still a sequence.
        whole: Any = op.whole
        places = tuple([x.op.part for x in nodes if isinstance(x.op, ops.Part)])
        results = call(d, whole.name, of_parts(whole, places), *xs)
        return d.template(results if len(nodes) > 1 else indexed(d, results, ["0"]))
    return d.template(_written(op, node, d, *xs))


def function(nodes: Sequence[Expr]) -> Callable[..., Any]:
    """The same as a function: of the operands, arrays all of them, and the lengths of axes.

    >>> import numpy as np
    >>> import symdiff as sd
    >>> function([sd.symbol("x", 3)[1:]])(np.array([1.0, 2.0, 3.0]), {}).tolist()
    [2.0, 3.0]
    """
    names = dict(NAMES)

    def bind(name: str, value: object) -> str:
        names[name] = value
        return name

    operands = nodes[0].args
    return compiled(template(nodes, operands, bind).text, len(operands), names)


def call(
    d: Draft, name: str, run: Callable[..., object], *args: Piece | str, **options: str
) -> Text:
    """A call of a function that is bound to a name."""
    return d.call(d.bind(name, run), *args, **options)


@singledispatch
def _written(op: Op, node: Expr, d: Draft, *xs: Piece) -> Piece:
    raise TypeError(f"{op!r} has no kernel")


register = _written.register  # loops stand above, with the programs of their bodies


# Contractions -------------------------------------------------------------------------------------


@_written.register(ops.Contract)
def _contract(op: ops.Contract, node: Expr, d: Draft, *xs: Piece) -> Piece:
    """Integer operands of a real value are cast before anything is summed."""
    real = [x.dtype is float for x in node.args]
    if node.dtype is float and not all(real):
        given = list(xs)
        kind = d.call("np.result_type", *given) if any(real) else Text("float", ATOM)
        xs = tuple(
            x if ok else Text(f"{d.put(x, ATOM)}.astype({d.put(kind)})", ATOM)
            for x, ok in zip(xs, real, strict=True)
        )
    return contracted.written(plan(op, [x.shape for x in node.args]), d, xs)


# Linear maps --------------------------------------------------------------------------------------


@_written.register(ops.Reshape)
def _reshape(op: ops.Reshape, node: Expr, d: Draft, x: Piece) -> Piece:
    return reshaped(d, x, [[dim] for dim in node.shape])


def _key(d: Draft, node: Expr, before: Shape, steps: Sequence[Step]) -> list[str]:
    """Slices of the last axes, ``before``, of an operand that has as many axes as the node."""
    key = [":"] * (len(node.shape) - len(steps))
    for dim, (start, stop, step) in zip(before, steps, strict=True):
        if step != 1 and not all(is_natural(x) for x in (start, stop) if isinstance(x, Length)):
            places = places_of((start, stop, step), dim)
            assert isinstance(places, Line)
            ends = [length_text(place) for place in places]
            key.append(d.put(call(d, "line", sequences.line, *ends)))
            continue
        # A start of 0 may be left out where slices go up; downwards it would be the last place.
        first = length_text(start) if start or step < 0 else ""
        last = "" if stop is None or _reaches(start, stop, step, dim) else length_text(stop)
        text = f"{first}:{last}"
        key.append(text if step == 1 else f"{text}:{step}")
    return key


def is_component(node: Expr) -> bool:
    """Whether the node is an element of a slice, or a line of one, ``x[1:, 0]``.

    It may be written over what is sliced.  (Its op drops axes of length 1.)

    >>> import symdiff as sd
    >>> x = sd.symbol("x", (3, 4))
    >>> is_component(x[1:, 0]), is_component(x[1:])
    (True, False)
    """
    op = node.op
    if not isinstance(op, ops.Contract) or len(op.letters) != 1:
        return False
    (x,), (word,) = node.args, op.letters
    dropped = [dim for k, dim in zip(word, x.shape, strict=True) if k not in op.out]
    once = len(set(word)) == len(word)
    return isinstance(x.op, ops.Slice) and once and bool(dropped) and set(dropped) == {1}


def _component(node: Expr, d: Draft, x: Piece) -> Piece:
    op, sliced = node.op, node.args[0].op
    assert isinstance(op, ops.Contract)
    assert isinstance(sliced, ops.Slice)
    (word,), key = op.letters, []
    for k, text in zip(word, _key(d, node.args[0], sliced.before, sliced.steps), strict=True):
        # A slice of length 1 along an axis that is dropped: where it starts is the index.
        key.append(text if k in op.out else text.partition(":")[0] or "0")
    kept = tuple(k for k in word if k in op.out)
    length = dict(zip(op.out, node.shape, strict=True))
    return contracted.rearranged(d, indexed(d, x, key), kept, op.out, length)


def _reaches(start: Dim, stop: Dim, step: int, dim: Dim) -> bool:
    """Whether a slice up to the end of an axis would have no other places."""
    if isinstance(start, str) or isinstance(stop, str) or isinstance(dim, str):
        return False
    if step < 0 or start < 0 or stop < 0:
        return False
    return range(start, stop, step) == range(start, dim, step)


@_written.register(ops.Slice)
def _slice(op: ops.Slice, node: Expr, d: Draft, x: Piece) -> Piece:
    return indexed(d, x, _key(d, node, op.before, op.steps))


@_written.register(ops.Unslice)
def _unslice(op: ops.Unslice, node: Expr, d: Draft, x: Piece) -> Piece:
    key = indexed(d, Text("np.s_", ATOM), _key(d, node, op.before, op.steps))
    if key == Text("np.s_", ATOM):
        return x
    return call(d, "unslice", sequences.unslice, x, lengths_text(node.shape), key)


@_written.register(ops.Gather)
def _gather(op: ops.Gather, node: Expr, d: Draft, x: Piece) -> Piece:
    batch = node.shape[: len(node.shape) - op.index.ndim]
    # The index counts the elements of all axes that it reads, in C order.
    if len(op.before) != 1:
        x = reshaped(d, x, [*[[dim] for dim in batch], op.before])
    lead = "..., " if batch else ""
    return Text(f"{d.put(x, ATOM)}[{lead}{d.bind('index', op.index)}]", ATOM)


@_written.register(ops.Scatter)
def _scatter(op: ops.Scatter, node: Expr, d: Draft, x: Piece) -> Piece:
    return call(d, "scatter", once_for(op, lambda: sequences.Scatter(op.index, op.before)), x)


@_written.register(ops.Concat)
def _concat(op: ops.Concat, node: Expr, d: Draft, *xs: Piece) -> Piece:
    parts = ", ".join(map(d.put, xs))
    axis = len(node.shape) + op.axis
    options = {"axis": str(axis)} if axis else {}
    return d.call("np.concatenate", f"({parts}{',' if len(xs) == 1 else ''})", **options)


@_written.register(ops.Flip)
def _flip(op: ops.Flip, node: Expr, d: Draft, x: Piece) -> Piece:
    return _flipped(d, x, node, op.axes)


def _flipped(d: Draft, x: Piece, node: Expr, axes: Sequence[int]) -> Piece:
    return indexed(d, x, ["::-1" if k in axes else ":" for k in range(-len(node.shape), 0)])


@_written.register(ops.Cumsum)
def _cumsum(op: ops.Cumsum, node: Expr, d: Draft, x: Piece) -> Piece:
    axes = (op.axis,) if op.reverse else ()
    over = f"axis={len(node.shape) + op.axis}" if len(node.shape) > 1 else ""
    # NumPy adds up from the first element only: sums from the last are those of what is flipped.
    sums = Text(f"{d.put(_flipped(d, x, node, axes), ATOM)}.cumsum({over})", ATOM)
    return _flipped(d, sums, node, axes)


@_written.register(ops.Triangle)
def _triangle(op: ops.Triangle, node: Expr, d: Draft, x: Piece) -> Piece:
    below = [str(op.diagonal)] if op.diagonal else []
    return d.call("np.tril" if op.lower else "np.triu", x, *below)


@_written.register(ops.Shift)
def _shift(op: ops.Shift, node: Expr, d: Draft, x: Piece) -> Piece:
    return call(d, "shift", sequences.shift, x, str(op.offset))


@_written.register(ops.Windows)
def _windows(op: ops.Windows, node: Expr, d: Draft, x: Piece) -> Piece:
    length = length_text(op.length)
    return call(d, "sliding_window_view", sliding_window_view, x, length, axis="-1")


@_written.register(ops.Overlaps)
def _overlaps(op: ops.Overlaps, node: Expr, d: Draft, x: Piece) -> Piece:
    return call(d, "overlaps", sequences.overlaps, x)


@_written.register(ops.Fourier)
def _fourier(op: ops.Fourier, node: Expr, d: Draft, x: Piece) -> Piece:
    return call(d, "fourier", sequences.fourier, x, sines=str(op.part == "sin"))


@_written.register(ops.Cast)
@_written.register(ops.Converted)
def _converted(op: ops.Cast | ops.Converted, node: Expr, d: Draft, x: Piece) -> Piece:
    return Text(f"{d.put(x, ATOM)}.astype({op.to!r}, copy=False)", ATOM)


# Opaque functions ---------------------------------------------------------------------------------


@_written.register(ops.Opaque)
def _opaque(op: ops.Opaque, node: Expr, d: Draft, *xs: Piece) -> Piece:
    return call(d, op.name, OPAQUE[type(op)], *xs)


@_written.register(opaque_ops.Gaps)
def _gaps(op: opaque_ops.Gaps, node: Expr, d: Draft, x: Piece) -> Piece:
    return call(d, "gaps", matrices.gaps, str(op.sign), str(op.diagonal), x)


@_written.register(opaque_ops.Pinv)
def _pinv(op: opaque_ops.Pinv, node: Expr, d: Draft, x: Piece) -> Piece:
    return call(d, "pinv", once_for(op, lambda: pinv(op.limits, bool(op.full))), x)


@_written.register(opaque_ops.SolveBanded)
def _solve_banded(op: opaque_ops.SolveBanded, node: Expr, d: Draft, a: Piece, b: Piece) -> Piece:
    return call(d, "solve_banded", solve_banded, str(op.upper), a, b)


@_written.register(opaque_ops.Put)
def _put(op: opaque_ops.Put, node: Expr, d: Draft, x: Piece, index: Piece) -> Piece:
    return call(d, "put", sequences.put, x, index, length_text(op.length))


@_written.register(opaque_ops.SearchSorted)
def _searchsorted(
    op: opaque_ops.SearchSorted, node: Expr, d: Draft, edges: Piece, x: Piece
) -> Piece:
    side = "'right'" if op.right else "'left'"
    return call(d, "searchsorted", sequences.searchsorted, edges, x, side)


@_written.register(opaque_ops.Recurrence)
def _recurrence(op: opaque_ops.Recurrence, node: Expr, d: Draft, a: Piece, b: Piece) -> Piece:
    return call(d, "recurrence", sequences.recurrence, a, b, reverse=str(op.reverse))


@_written.register(ops.Unknown)
def _unknown(op: ops.Unknown, node: Expr, d: Draft, *xs: Piece) -> Piece:
    raise op.refused("")  # the function that the user called comes first in the message


@_written.register(Custom)
def _custom(op: Custom, node: Expr, d: Draft, *xs: Piece) -> Piece:
    given = [_named(d, op), *xs]
    return call(d, "custom", custom_ops.value, *given, shape=lengths_text(node.shape))


@_written.register(CustomPullback)
def _custom_pullback(op: CustomPullback, node: Expr, d: Draft, *xs: Piece) -> Piece:
    return call(d, "custom_pullback", custom_ops.pulled, _named(d, op), *xs)


def _named(d: Draft, op: ops.Opaque) -> str:
    """The op of a function of the user's, by a name that no function of ours can have."""
    return d.bind(f"op_{re.sub(r'[^A-Za-z0-9_]', '_', op.name)}", op)


_MADE: WeakKeyDictionary[Op, Any] = WeakKeyDictionary()


def once_for(op: Op, make: Callable[[], Callable[..., object]]) -> Callable[..., Any]:
    """What is made for an op, once: equal functions have one name in a program."""
    found: Callable[..., Any] | None = _MADE.get(op)
    if found is None:
        found = _MADE[op] = make()
    return found
