"""The shape of arrays: rearranging, joining and making them, under array-API and NumPy names.

Permuting, stretching, inserting and dropping axes are labels of one contraction.  Everything else
is a linear map on trailing axes.  Symbolic axis lengths propagate if the length of the result is an
int or a name.
"""

from __future__ import annotations

import builtins
import inspect
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

import numpy as np
from numpy.exceptions import AxisError

from symdiff.contexts import contained
from symdiff.errors import ShapeError, Unsupported
from symdiff.graph import contraction, leaves, lengths, number, ops
from symdiff.graph.algebra import as_numeric, linear, opaque, primitive
from symdiff.graph.arguments import DEEPEST, whole, wholes
from symdiff.graph.axes import shape_text
from symdiff.graph.contraction import contract
from symdiff.graph.leaves import as_expr, checked_shape, number_node, number_of
from symdiff.graph.lengths import Length, LengthLetter
from symdiff.graph.node import Node
from symdiff.graph.number import shortened
from symdiff.graph.ranges import Line, Step, between, count, places_of
from symdiff.graph.rearrangement import rearranged
from symdiff.guesses import written

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from symdiff.graph.expr import Expr, Operand, Values
    from symdiff.graph.node import Dim, Shape

P = ParamSpec("P")
Axis = int | tuple[int, ...] | None

__all__ = [
    "arange",
    "broadcast_to",
    "concat",
    "concatenate",
    "diag",
    "diagonal",
    "expand_dims",
    "eye",
    "flip",
    "full",
    "matrix_transpose",
    "ones",
    "permute_dims",
    "reshape",
    "squeeze",
    "stack",
    "transpose",
    "tril",
    "triu",
    "zeros",
]


# Common functions -------------------------------------------------------------------------------


def rearrangement(
    move: Callable[Concatenate[Expr, P], Expr],
) -> Callable[Concatenate[Operand, P], Expr]:
    """Let ``move`` accept numbers and arrays, and keep booleans boolean."""

    @wraps(move)
    def function(x: Operand, /, *args: P.args, **kwargs: P.kwargs) -> Expr:
        operand = as_expr(x)
        return boolean_as(operand, move(operand, *args, **kwargs))

    signature = inspect.signature(move)
    first, *further = signature.parameters.values()
    operand = first.replace(annotation="Operand")
    function.__signature__ = signature.replace(parameters=[operand, *further])  # type: ignore[attr-defined]  # read by inspect
    return function


def boolean_as(x: Expr, moved: Expr) -> Expr:
    """``moved`` as booleans if ``x`` is boolean (linear maps and contractions work on 0 and 1)."""
    if x.dtype is not bool or moved.dtype is bool:
        return moved
    return x if moved is as_numeric(x) else primitive("not_equal", moved, number_node(0))


def axes_of(name: str, axis: Axis, ndim: int) -> tuple[int, ...]:
    """Return the axes of an argument ``axis``, counted from the front; all for None.

    Raises AxisError (an IndexError and a ValueError) with the function's name, ValueError for a
    repeated axis, TypeError for an expression: it was meant to be an operand.
    """
    if axis is None:
        return tuple(range(ndim))
    if isinstance(axis, Node):
        raise _axis_error(name, axis)
    places = []
    for k in wholes(name, "axis", axis, wanted="an int, a tuple of ints or None"):
        if not -ndim <= k < ndim:
            raise AxisError(k, ndim, name)
        places.append(k % ndim)
    if len(set(places)) < len(places):
        raise ValueError(f"{name}: argument 'axis': repeated axis in {axis}")
    return tuple(places)


def axis_of(name: str, axis: int, ndim: int) -> int:
    """One axis, counted from the front; raises the errors of ``axes_of``."""
    if isinstance(axis, Node):
        raise _axis_error(name, axis)
    place = whole(name, "axis", axis)
    if not -ndim <= place < ndim:
        raise AxisError(place, ndim, name)
    return place % ndim


def _axis_error(name: str, axis: Node) -> TypeError:
    elementwise = {
        "sum": "x + y",
        "prod": "x * y",
        "max": "sd.maximum(x, y)",
        "min": "sd.minimum(x, y)",
        "all": "sd.logical_and(x, y)",
        "any": "sd.logical_or(x, y)",
    }
    of_two = f"; of two operands, element by element, it is {elementwise.get(name)}"
    return TypeError(
        f"{name}: the axis is the expression {shortened(axis)}, not an int: several operands go "
        "into a "
        f"list, as in sd.{name}([x, y])" + (of_two if name in elementwise else "")
    )


def assembled(value: Values) -> Expr:
    """Convert ``value`` to an expression; nested lists and tuples are the rows of an array.

    Raises the errors of ``as_expr`` and ``stack``, and ValueError for lists nested too deeply.
    """
    if not isinstance(value, list | tuple):
        return as_expr(value)
    return _assemble(value, 0)


def _assemble(value: Any, depth: int) -> Expr:
    if depth > DEEPEST:
        raise ValueError(f"lists are nested more than {DEEPEST} deep")
    rows = [_assemble(v, depth + 1) if isinstance(v, list | tuple) else as_expr(v) for v in value]
    if not rows:
        return leaves.full((0,), 0)
    data = all(isinstance(row.op, ops.Constant) or number_of(row) is not None for row in rows)
    return leaves.constant(value) if data and not _has_expressions(value) else stack(rows)


def _has_expressions(value: object) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_has_expressions, value))
    return isinstance(value, Node)


@contained
def converted(x: Expr, of: np.dtype[Any], to: np.dtype[Any]) -> Expr:
    """Convert the elements of ``x`` from dtype ``of`` to dtype ``to``.

    Between real precisions this rounds, and differentiates as the identity: cotangents and tangents
    are rounded in the same way.  Conversions from and to integers have derivative 0.

    >>> from symdiff import symbol
    >>> converted(symbol("x"), np.dtype("float64"), np.dtype("float32"))
    astype(x, "float32")
    """
    if of == to:
        return x
    if to.kind == "b":
        return primitive("not_equal", x, number_node(0))
    value = number_of(x)
    if value is not None:
        with np.errstate(all="ignore"):
            return leaves.full(x.shape, number.exact(np.array(value).astype(of).astype(to).item()))
    if of.kind == to.kind == "f":
        return linear(ops.cast_op(of.name, to.name), x)
    return opaque(ops.converted_op(to.name), x)


def apply(op: ops.Linear, x: Expr) -> Expr:
    """Apply a linear map that moves elements; an array of one number stays one."""
    value = number_of(x)
    return linear(op, x) if value is None else leaves.full(op.result(x.shape), value)


def merged(name: str, dims: Sequence[Dim]) -> Dim:
    """Return the length of merged axes; raises Unsupported if no letter has this length."""
    what = f"{name}: axes of {shape_text(tuple(dims))} as one"
    return lengths.like(dims, lengths.product(dims), what)


def matrices(name: str, x: Operand, square: bool = False) -> Expr:
    """Convert an operand of matrices, ``square`` ones on request; ShapeErrors name the function.

    Rows may be nested lists or tuples, as in a Hessian by several symbols.
    """
    operand = assembled(x)
    if operand.ndim < 2:
        raise ShapeError(
            f"{name}: shape {shape_text(operand.shape)} has no matrices in its last two axes"
        )
    if square and operand.shape[-1] != operand.shape[-2]:
        raise ShapeError(
            f"{name}: the matrices of shape {shape_text(operand.shape)} are not square"
        )
    return operand


# Axes -------------------------------------------------------------------------------------------


@rearrangement
def permute_dims(x: Expr, axes: tuple[int, ...]) -> Expr:
    """Permute axes: axis ``k`` of the result is axis ``axes[k]`` of x.

    Raises ValueError (AxisError for an axis that x does not have) unless ``axes`` contains every
    axis once.

    >>> import symdiff as sd
    >>> sd.permute_dims(sd.symbol("X", (2, "n", 4)), (2, 0, 1)).shape
    (4, 2, 'n')
    """
    out = axes_of("permute_dims", tuple(axes), x.ndim)
    if len(out) != x.ndim:
        raise ValueError(
            f"permute_dims: axes {axes} do not name the {x.ndim} axes of {shape_text(x.shape)}"
        )
    return rearranged(x, tuple(range(x.ndim)), out, x.shape)


def transpose(x: Operand, /, *axes: int | tuple[int, ...] | None) -> Expr:
    """Permute axes, given as ints or as one tuple; reverse them without arguments.

    >>> import symdiff as sd
    >>> X = sd.symbol("X", (2, 3, 4))
    >>> sd.transpose(X).shape, sd.transpose(X, (1, 0, 2)).shape
    ((4, 3, 2), (3, 2, 4))
    """
    operand = as_expr(x)
    order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
    return permute_dims(operand, tuple(order) if order else tuple(range(operand.ndim))[::-1])  # type: ignore[arg-type]


def matrix_transpose(x: Operand, /) -> Expr:
    """Exchange the last two axes; raises ShapeError below two axes.

    >>> import symdiff as sd
    >>> sd.matrix_transpose(sd.symbol("X", (2, 3, 4))).shape
    (2, 4, 3)
    """
    operand = matrices("matrix_transpose", x)
    *batch, i, j = range(operand.ndim)
    return permute_dims(operand, (*batch, j, i))


def moveaxis_last(name: str, x: Expr, axis: int) -> Expr:
    """Move one axis to the end; raises AxisError with the function's name."""
    place = axis_of(name, axis, x.ndim)
    return permute_dims(x, (*(k for k in range(x.ndim) if k != place), place))


@rearrangement
def expand_dims(x: Expr, axis: int | tuple[int, ...]) -> Expr:
    """Return ``x`` with axes of length 1 at the positions ``axis`` of the result.

    >>> import symdiff as sd
    >>> sd.expand_dims(sd.symbol("X", (2, 3)), (0, -1)).shape
    (1, 2, 3, 1)
    """
    count = 1 if isinstance(axis, int) else len(axis)
    places = axes_of("expand_dims", axis, x.ndim + count)
    old, new = iter(range(x.ndim)), iter(range(x.ndim, x.ndim + count))
    out = tuple(next(new) if k in places else next(old) for k in range(x.ndim + count))
    return rearranged(x, tuple(range(x.ndim)), out, x.shape + (1,) * count)


@rearrangement
def squeeze(x: Expr, axis: Axis = None) -> Expr:
    """Return ``x`` without the axes ``axis`` of length 1; without all such axes by default.

    Raises ShapeError for an axis of another length.

    >>> import symdiff as sd
    >>> sd.squeeze(sd.symbol("X", (1, 3, 1))).shape
    (3,)
    """
    if axis is None:
        dropped = tuple(k for k, dim in enumerate(x.shape) if dim == 1)
    else:
        dropped = axes_of("squeeze", axis, x.ndim)
    for k in dropped:
        if x.shape[k] != 1:
            raise ShapeError(
                f"squeeze: axis {k} of shape {shape_text(x.shape)} does not have length 1"
            )
    word = tuple(range(x.ndim))
    return rearranged(x, word, tuple(k for k in word if k not in dropped), x.shape)


@rearrangement
def broadcast_to(x: Expr, shape: int | str | Sequence[Dim]) -> Expr:
    """Stretch ``x`` to ``shape``: aligned at the right, axes of length 1 repeated.

    Raises ShapeError if x does not fit.

    >>> import symdiff as sd
    >>> sd.broadcast_to(sd.symbol("x", (3, 1)), (2, 3, "n")).shape
    (2, 3, 'n')
    """
    return contraction.broadcast_to(x, checked_shape(shape))


@rearrangement
def reshape(x: Expr, *shape: Dim | Sequence[Dim]) -> Expr:
    """Return the elements in C order in another shape: lengths, or one tuple; one may be -1.

    Raises ShapeError if the number of elements differs, Unsupported if -1 stands for a length that
    is neither an int nor a name (``n*3``).

    >>> import symdiff as sd
    >>> X = sd.symbol("X", ("n", 2, 3))
    >>> sd.reshape(X, -1, 6).shape, sd.reshape(X, ("n", 3, 2)).shape
    (('n', 6), ('n', 3, 2))
    """
    one = shape[0] if len(shape) == 1 else shape
    after = _complete_shape(x.shape, wholes("reshape", "shape", one, str))
    if not lengths.may_be_equal(lengths.product(after), lengths.product(x.shape)):
        raise _cannot_reshape(x.shape, after)
    return reshaped(x, after)


def reshaped(x: Expr, after: Shape) -> Expr:
    """Return ``reshape`` to a shape that fits, without checks."""
    value = number_of(x)
    if value is not None:
        return leaves.full(after, value)
    if isinstance(x.op, ops.Reshape):
        return reshaped_once(x.args[0], after)
    return reshaped_once(x, after)


def reshaped_once(x: Expr, after: Shape) -> Expr:
    """A reshape in normal form: axes of length 1 are labels, equal leading axes are batch axes."""
    before = x.shape
    if [dim for dim in before if dim != 1] == [dim for dim in after if dim != 1]:
        return expand_dims(squeeze(x), tuple(k for k, dim in enumerate(after) if dim == 1))
    lead = 0
    while lead < builtins.min(len(before), len(after)) and before[lead] == after[lead]:
        lead += 1
    while lead and lengths.product(before[lead:]) != lengths.product(after[lead:]):
        lead -= 1  # after an axis of length 0 other lengths are arbitrary
    return linear(ops.reshape_op(before[lead:], after[lead:]), x)


def _complete_shape(before: Shape, target: tuple[Dim, ...]) -> Shape:
    """``target`` with a length in place of -1."""
    if target.count(-1) > 1:
        raise ValueError(f"reshape: more than one -1 in {shape_text(target)}")
    if -1 not in target:
        return checked_shape(target)
    place = target.index(-1)
    rest = checked_shape(target[:place] + target[place + 1 :])
    total, divisor = lengths.product(before), lengths.product(rest)
    if divisor == 0 or (isinstance(total, int) and (isinstance(divisor, str) or total % divisor)):
        raise _cannot_reshape(before, target)
    try:
        missing = total // divisor
    except Unsupported:
        raise _cannot_reshape(before, target) from None
    what = f"reshape: {shape_text(before)} as {shape_text(target)}"
    missing = lengths.like([*before, *rest], missing, what)
    return (*rest[:place], missing, *rest[place:])


def _cannot_reshape(before: Shape, after: Shape) -> ShapeError:
    return ShapeError(
        f"reshape: {shape_text(before)} and {shape_text(after)} have different numbers of elements"
    )


@rearrangement
def flip(x: Expr, axis: Axis = None) -> Expr:
    """Reverse the order of elements along ``axis``; along all axes by default.

    >>> import symdiff as sd
    >>> x = sd.symbol("x", 3)
    >>> sd.flip(x) is x[::-1]
    True
    """
    axes = {k - x.ndim for k in axes_of("flip", axis, x.ndim) if x.shape[k] not in (0, 1)}
    if isinstance(op := x.op, ops.Flip):
        x, axes = x.args[0], axes ^ set(op.axes)
    return apply(ops.flip_op(tuple(sorted(axes))), x) if axes else x


# Diagonals and triangles ------------------------------------------------------------------------


@rearrangement
def diagonal(x: Expr, offset: int | Length = 0, axis1: int = 0, axis2: int = 1) -> Expr:
    """Return ``value[..., i] = x[.., i, .., i + offset, ..]``; one last axis replaces the two.

    Raises AxisError, ValueError for equal axes, and Unsupported if the length of the diagonal is
    not expressible.

    >>> import symdiff as sd
    >>> sd.diagonal(sd.symbol("X", (3, 4)), 1).shape
    (3,)
    """
    i, j = axes_of("diagonal", (axis1, axis2), x.ndim)
    if offset or x.shape[i] != x.shape[j]:
        x = _square_part(x, offset, i, j)
    word = tuple(i if k == j else k for k in range(x.ndim))
    return contract([(x, word)], (*(k for k in range(x.ndim) if k not in (i, j)), i))


def _square_part(x: Expr, offset: int | Length, i: int, j: int) -> Expr:
    rows, columns = x.shape[i], x.shape[j]
    first, second = _corner(offset)
    if isinstance(rows, int) and isinstance(columns, int):
        length: Any = builtins.max(0, builtins.min(rows - first, columns - second))
    elif rows == columns and isinstance(rows, Length):
        length = rows - (first + second)
    else:
        raise Unsupported(
            f"diagonal: the length of diagonal {offset} of shape {shape_text(x.shape)}"
        )
    places = {i: between(first, first + length, rows), j: between(second, second + length, columns)}
    return cut(x, places)


def _corner(offset: int | Length) -> tuple[Any, Any]:
    """The row and column where a diagonal starts; a length is above if possible at a call."""
    if isinstance(offset, Length):
        return (-offset, 0) if lengths.is_natural(-offset) else (0, offset)
    return builtins.max(0, -offset), builtins.max(0, offset)


def cut(x: Expr, steps: dict[int, Step]) -> Expr:
    """``x[start:stop:step]`` along some axes, bounds in range; one element of a symbolic axis."""
    after = list(x.shape)
    every: list[Step] = [(0, None, 1)] * x.ndim
    for axis, step in steps.items():
        length = x.shape[axis]
        cut_length = count(places_of(step, length), length)
        if cut_length != length:
            after[axis], every[axis] = cut_length, step
    first = next((k for k, step in enumerate(every) if step != (0, None, 1)), None)
    if first is None:
        return x
    return apply(ops.slice_op(x.shape[first:], tuple(every[first:]), tuple(after[first:])), x)


@rearrangement
def diag(x: Expr, k: int | Length = 0) -> Expr:
    """Return diagonal ``k`` of a matrix, or the matrix with a vector as its diagonal ``k``.

    Raises ShapeError for other than one or two axes.

    >>> import symdiff as sd
    >>> sd.diag(sd.symbol("x", 3)).shape, sd.diag(sd.symbol("X", (3, 4))).shape
    ((3, 3), (3,))
    """
    if x.ndim == 2:
        return diagonal(x, k)
    if x.ndim != 1:
        raise ShapeError(f"diag: shape {shape_text(x.shape)} is neither a vector's nor a matrix'")
    square = contract([(x, (0,))], (0, 0))
    if k == 0:
        return square
    length = x.shape[0]
    if isinstance(length, LengthLetter):
        raise Unsupported(f"diag: the shape of a matrix with diagonal {k} of length {length}")
    first, second = _corner(k)
    size = first + length + second
    steps = (between(first, size - second, size), between(second, size - first, size))
    taking = ops.slice_op((size, size), steps, (length, length))
    return linear(taking.transposed(0, square.shape), square)


@rearrangement
def tril(x: Expr, k: int = 0) -> Expr:
    """Return the lower triangle of the last two axes up to diagonal k, with zeros above.

    Raises ShapeError below two axes.

    >>> import symdiff as sd
    >>> sd.tril(sd.symbol("X", (3, 3))).shape
    (3, 3)
    """
    return linear(ops.triangle_op(True, _check_diagonal("tril", k)), matrices("tril", x))


@rearrangement
def triu(x: Expr, k: int = 0) -> Expr:
    """Return the upper triangle of the last two axes from diagonal k, with zeros below.

    Raises ShapeError below two axes.

    >>> import symdiff as sd
    >>> sd.triu(sd.symbol("X", (3, 3)), 1).shape
    (3, 3)
    """
    return linear(ops.triangle_op(False, _check_diagonal("triu", k)), matrices("triu", x))


def _check_diagonal(name: str, k: int) -> int:
    if isinstance(k, Length):
        raise Unsupported(f"{name}: diagonal {k}, known by name; give an int")
    return k


# Joining and making -----------------------------------------------------------------------------


def concat(arrays: Sequence[Values], /, axis: int | None = 0) -> Expr:
    """Join arrays along ``axis``; with None, their elements in C order.

    Nested lists among them are the rows of an array.  Raises ValueError without arrays, ShapeError
    if other axes differ, Unsupported for a symbolic length along ``axis``.

    >>> import symdiff as sd
    >>> a, b = sd.symbol("a", (2, 3)), sd.symbol("b", (1, 3))
    >>> sd.concat([a, b]).shape, sd.concat([a, b], axis=None).shape
    ((3, 3), (9,))
    """
    parts = [assembled(x) for x in arrays]
    if axis is None:
        parts, axis = [reshape(x, -1) for x in parts], 0
    return _join("concat", parts, axis)


def _join(name: str, parts: list[Expr], axis: int) -> Expr:
    if not parts:
        raise ValueError(f"{name}: needs at least one array")
    first = parts[0]
    place = axis_of(name, axis, first.ndim)
    for x in parts:
        if x.ndim != first.ndim or any(
            k != place and pair[0] != pair[1]
            for k, pair in enumerate(zip(x.shape, first.shape, strict=True))
        ):
            raise ShapeError(
                f"{name}: shapes {shape_text(first.shape)} and {shape_text(x.shape)} "
                f"differ outside axis {place}"
            )
    if len(parts) == 1:
        return first
    lengths = []
    for x in parts:
        length = x.shape[place]
        if isinstance(length, LengthLetter):
            raise Unsupported(
                f"{name}: the length of the result along axis {place}, of which {length} is a part"
            )
        lengths.append(length)
    joined = linear(ops.concat_op(place - first.ndim, tuple(lengths)), *parts)
    all_bool = all(x.dtype is bool for x in parts)
    return primitive("not_equal", joined, number_node(0)) if all_bool else joined


def stack(arrays: Sequence[Values], /, axis: int = 0) -> Expr:
    """Join arrays of one shape along a new axis at position ``axis`` of the result.

    Nested lists among them are the rows of an array: ``stack([[a, b], [c, d]])`` is a matrix.
    Raises ValueError without arrays, ShapeError if shapes differ.

    >>> import symdiff as sd
    >>> x, y = sd.symbols("x y")
    >>> sd.stack([x, y, x * y]).shape
    (3,)
    """
    parts = [assembled(x) for x in arrays]
    if not parts:
        raise ValueError("stack: needs at least one array")
    for x in parts:
        if x.shape != parts[0].shape:
            raise ShapeError(
                f"stack: shapes {shape_text(parts[0].shape)} and {shape_text(x.shape)} differ"
            )
    place = axis_of("stack", axis, parts[0].ndim + 1)
    return _join("stack", [expand_dims(x, place) for x in parts], place)


@written("full((2, 3), value)")
def full(shape: int | str | Sequence[Dim], value: Operand) -> Expr:
    """Return the value, broadcast to ``shape``.

    >>> import symdiff as sd
    >>> sd.full(("n", 2), 7).shape
    ('n', 2)
    """
    return broadcast_to(value, shape)


@written("zeros((2, 3)); elements have the precision of arguments")
def zeros(shape: int | str | Sequence[Dim]) -> Expr:
    """Return an array of zeros.

    >>> import symdiff as sd
    >>> x = sd.symbol("x", 3)
    >>> x + sd.zeros(3) is x
    True
    """
    return full(shape, 0)


@written("ones((2, 3)); elements have the precision of arguments")
def ones(shape: int | str | Sequence[Dim]) -> Expr:
    """Return an array of ones.

    >>> import symdiff as sd
    >>> x = sd.symbol("x", 3)
    >>> x * sd.ones(3) is x
    True
    """
    return full(shape, 1)


def eye(n: Dim, /) -> Expr:
    """Return the n by n identity.

    >>> import symdiff as sd
    >>> A = sd.symbol("A", ("n", "n"))
    >>> sd.eye("n") @ A is A
    True
    """
    return contract([], (0, 0), {0: checked_shape(n)[0]})


def arange(start: Dim, stop: Dim | None = None, step: int = 1, /) -> Expr:
    """Return the integers ``start``, ``start + step``, ... before ``stop``; from 0 for one end.

    Ends are ints, or lengths known by name: ``arange(v.shape[0])`` counts the elements of v for
    every length.  Raises ValueError for a step of 0, TypeError for other ends.

    >>> import symdiff as sd
    >>> v = sd.symbol("v", "n")
    >>> sd.arange(v.shape[0]).shape, sd.arange(1, v.shape[0], 2).shape
    (('n',), ('n//2',))
    """
    first, last = (0, start) if stop is None else (start, stop)
    for end in (first, last, step):
        if not isinstance(end, int | np.integer | lengths.Length) or isinstance(end, bool):
            raise TypeError(
                f"arange: {shortened(end)} is neither an int nor a length; "
                "sd.constant(np.arange(...)) makes one of NumPy's arrays an expression"
            )
    if not step:
        raise ValueError("arange: a step of 0")
    if isinstance(first, int) and isinstance(last, int):
        return as_expr(np.arange(first, last, step))
    number_of_all = Line(first, last, step).length  # type: ignore[arg-type]  # of lengths
    places = linear(ops.cumsum_op(-1), leaves.full((number_of_all,), 1)) - 1
    return places * step + as_expr(first)


concatenate = concat
