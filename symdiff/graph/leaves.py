"""Leaves: symbols, numbers and data as expressions, and the conversion of user values."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

from symdiff.graph import number, ops
from symdiff.graph.lengths import Length, LengthLetter, as_length, bounds, expression
from symdiff.graph.node import Dim, Dtype, Node, Shape, make
from symdiff.graph.number import shortened
from symdiff.guesses import written

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from symdiff.graph.expr import Expr
    from symdiff.graph.number import Number


@written('symbol("x"), symbol("x", (2, 3)), symbol("k", dtype=int); nothing else is assumed')
def symbol(name: str, shape: int | str | Sequence[Dim] = (), dtype: Dtype = float) -> Expr:
    """The input ``name``: equal name, shape and dtype give the same symbol.

    Args:
        name: a Python identifier.
        shape: lengths of the axes; a name such as ``"n"`` is a symbolic length.  In one formula a
            name is a length or a symbol.
        dtype: ``float``, ``int`` or ``bool`` (or NumPy's names for them): real, integer or boolean.

    Raises ValueError for a name that is not an identifier or a bad length, TypeError for a complex
    or other dtype.

    >>> X = symbol("X", ("n", 3))
    >>> X.shape, X is symbol("X", ("n", 3))
    (('n', 3), True)
    """
    if not isinstance(name, str) or not name.isidentifier():
        ranged = isinstance(name, str) and ":" in name  # SymPy writes x0:4 for several
        remedy = "; write the names out, or make one symbol of that shape" if ranged else ""
        if isinstance(name, str) and len(names := name.replace(",", " ").split()) > 1:
            remedy = f"; sd.symbols({shortened(' '.join(names))}) makes {len(names)} symbols"
        raise ValueError(f"symbol name {shortened(name)} is not an identifier{remedy}")
    # in Python's normal form of identifiers, which the parser uses, too
    name = unicodedata.normalize("NFKC", name)
    shape = checked_shape(shape)
    dtype = checked_dtype(dtype)
    return make(ops.symbol_op(name, shape, dtype), (), shape, dtype)


@written('symbols("x y"), symbols("j k", dtype=int); nothing else is assumed')
def symbols(
    names: str | Iterable[str], shape: int | str | Sequence[Dim] = (), dtype: Dtype = float
) -> tuple[Expr, ...]:
    """A tuple of symbols, even for one name; spaces or commas separate the names.

    One symbol by itself is ``symbol("x")``.

    >>> x, y = symbols("x y")
    >>> symbols("x") == (x,)
    True
    """
    words = names.replace(",", " ").split() if isinstance(names, str) else list(names)
    return tuple(symbol(name, shape, dtype) for name in words)


def dummy(like: Expr) -> Expr:
    """A fresh symbol of the shape of ``like``, equal to no other symbol."""
    return named_dummy("_t", like.shape)


def named_dummy(name: str, shape: Shape = (), dtype: Dtype = float) -> Expr:
    """A fresh symbol that equals no other, even one of the same name."""
    return make(ops.dummy_op(name, shape, dtype), (), shape, dtype)


def checked_shape(shape: int | str | Sequence[Dim]) -> Shape:
    """A shape from the user as a tuple of ints >= 0 and named lengths."""
    entries: tuple[Any, ...]
    if shape.__class__ is tuple:
        entries = shape
    elif isinstance(shape, int | str | np.integer):
        entries = (shape,)
    elif isinstance(shape, Node | bytes | dict | set) or not np.iterable(shape):
        raise TypeError(f"shape {shortened(shape)} is neither an int, a name nor a tuple of these")
    else:
        entries = tuple(shape)
    out: list[Dim] = []
    for dim in entries:
        if dim.__class__ is int and dim >= 0:
            out.append(dim)
            continue
        length = dim if isinstance(dim, LengthLetter) else as_length(dim)
        if isinstance(length, Length) and _is_negative(length):
            raise ValueError(
                f"axis length {shortened(dim)} in shape {shortened(entries)} is always negative"
            )
        if length is None:
            raise ValueError(
                f"axis length {shortened(dim)} in shape {shortened(entries)} is neither an int >= "
                "0 nor a name, nor a polynomial in names such as 'n - 1'"
            )
        out.append(length)
    return tuple(out)


def _is_negative(length: Length) -> bool:
    _, most = bounds(length)
    return most is not None and most < 0


# The dtype of a symbol for arrays of each NumPy kind.
KINDS: dict[str, Dtype] = {"f": float, "i": int, "u": int, "b": bool}


def checked_dtype(dtype: object) -> Dtype:
    """``float``, ``int`` or ``bool`` for a dtype; raises TypeError for any other."""
    try:
        kind = np.dtype(dtype).kind  # type: ignore[call-overload]  # NumPy says what is none
    except TypeError:
        raise TypeError(
            f"{shortened(dtype)} is not a dtype: float, int or bool; lengths of several axes are a "
            "tuple, "
            'symbol("x", (2, 3))'
        ) from None
    if kind not in KINDS:
        raise TypeError(f"dtype {shortened(dtype)} is not real, integer or boolean")
    return KINDS[kind]


def number_node(value: Number) -> Expr:
    """The scalar node of a number."""
    return make(ops.sum_op(value, ()), (), (), int if value.__class__ is int else float)


def full(shape: Shape, value: Number) -> Expr:
    """The number ``value`` at every place of ``shape``."""
    scalar = number_node(value)
    return make(ops.fill_op(shape), (scalar,), shape, scalar.dtype) if shape else scalar


def constant(value: object) -> Expr:
    """Data as an expression: a number stays exact where possible, an array is copied.

    Raises TypeError for complex or non-numeric data.

    >>> constant(2).shape, constant([[1, 2]]).shape
    ((), (1, 2))
    """
    if isinstance(value, list | tuple):
        try:
            value = np.array(value)
        except (ValueError, RecursionError):
            raise ValueError("constant: the rows have different lengths") from None
    return as_expr(value, "constant", "value")


def as_expr(value: object, function: str = "", argument: str = "") -> Expr:
    """``value`` as an expression: an Expr, a number, a NumPy array, or SymPy's pi and E.

    Raises TypeError for anything else, and for complex data.  The message names ``function`` and
    ``argument`` where the caller passes them.
    """
    if isinstance(value, Node):
        return value  # type: ignore[return-value]  # every node is an Expr
    try:
        if isinstance(value, np.ndarray) and value.ndim:
            return _array(value)
        if isinstance(value, np.ndarray | np.generic):
            value = _unmasked(value).item()
        if isinstance(value, Length):
            return expression(value)
        if value is sp.pi or value is sp.E:
            return make(ops.exact_op("pi" if value is sp.pi else "e", value), (), (), float)
        return number_node(number.exact(value))
    except TypeError as error:
        if not function:
            raise
        raise TypeError(f"{function}: argument {argument!r}: {error}") from None


def _unmasked(value: object) -> Any:
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError("a masked array: an expression has no mask; use sd.where(mask, 0, data)")
    return value


def _array(value: NDArray[Any]) -> Expr:
    _unmasked(value)
    if value.dtype.kind not in KINDS:
        raise TypeError(
            f"array of dtype {value.dtype}: symdiff takes real, integer or boolean arrays"
            + ("; pass real and imaginary parts" if value.dtype.kind == "c" else "")
        )
    copy = np.array(value, value.dtype.type)  # in the processor's byte order
    copy.setflags(write=False)
    return make(ops.Constant(copy), (), copy.shape, KINDS[copy.dtype.kind])


def fixed_places(index: NDArray[np.intp]) -> Expr:
    """Constant indices as a node; equal indices share one node."""
    return make(ops.places_op(index), (), index.shape, int)


def named_size(name: str) -> Expr:
    """The length with this name, or the quotient with this text, as a scalar expression."""
    return make(ops.size_op(name), (), (), int)


def number_of(x: Expr) -> Number | None:
    """The number that every element of ``x`` equals, if the node shows it; else None."""
    op = x.op
    if op.__class__ is ops.Sum and not x.args:
        return op.const
    if op.__class__ is ops.Fill:
        return x.args[0].op.const  # type: ignore[attr-defined, no-any-return]
    return None


def is_zero(x: Expr) -> bool:
    """Whether ``x`` is the exact zero of its shape."""
    return not x.op.simple_term and number_of(x) == 0


def split_coefficient(x: Expr) -> tuple[Number, Expr | None]:
    """``x`` as coefficient times an expression; the expression is None for a number."""
    op = x.op
    if op.__class__ is ops.Sum:
        if not x.args:
            return op.const, None
        if len(x.args) == 1 and op.const == 0:
            return op.coefs[0], x.args[0]
    elif op.__class__ is ops.Fill:
        return x.args[0].op.const, None  # type: ignore[attr-defined]
    return 1, x


def promoted(operands: Iterable[Expr]) -> Dtype:
    """The dtype of a value with its operands' dtype."""
    has_int = False
    for x in operands:
        if x.dtype is float:
            return float
        has_int = has_int or x.dtype is int
    return int if has_int else bool
