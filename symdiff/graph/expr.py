"""Expressions: the node class that users hold."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Literal,
    NoReturn,
    SupportsIndex,
    TypeAlias,
    overload,
)

import numpy as np
import sympy as sp

from symdiff.errors import ShapeError, Unsupported
from symdiff.graph import number, ops
from symdiff.graph.algebra import (
    add,
    as_numeric,
    barrier,
    combine,
    divide,
    int_power,
    linear,
    mul,
    opaque,
    pointwise,
    power,
    primitive,
    product,
    scale,
    shift,
    size,
    sub,
)
from symdiff.graph.arguments import expressions
from symdiff.graph.axes import shape_text
from symdiff.graph.axis_lengths import become
from symdiff.graph.contraction import contract, strong
from symdiff.graph.leaves import as_expr, full, number_node, number_of
from symdiff.graph.lengths import Length, set_expression
from symdiff.graph.node import Dim, Node, Op, Shape, make, set_node_class, topological
from symdiff.graph.number import shortened
from symdiff.graph.rearrangement import rearranged
from symdiff.guesses import EXPRESSION, missing, without, written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from symdiff.functions.shaping import Axis

Operand: TypeAlias = "Expr | int | float | Fraction | NDArray[Any] | sp.Expr"
# Values that users write for expressions; lists of rows are allowed, too.
Values: TypeAlias = "Operand | Sequence[Any]"
# An unknown function gets a function of expressions.
Replacement: TypeAlias = "Values | Callable[..., Any]"
Replacements: TypeAlias = "Mapping[Any, Replacement] | Sequence[tuple[Any, Values]]"


class Methods:
    """Functions of later modules behind the methods of Expr, by name."""

    def __init__(self, **functions: object) -> None:
        vars(self).update(functions)

    if TYPE_CHECKING:  # the type of most; the others return no expression
        array_function: Callable[..., Any]
        array_ufunc: Callable[..., Any]
        evalf: Callable[..., Any]
        latex: Callable[..., str]
        markup: Callable[..., str]
        reduced: Callable[..., tuple[Any, ...]]
        short: Callable[..., str]
        text: Callable[..., str]
        to_sympy: Callable[..., sp.Basic]

        def __getattr__(self, name: str) -> Callable[..., Expr]: ...


class Expr(Node):
    """An immutable expression of array shape; ``is`` is structural equality, ``==`` builds a node.

    Made by ``symbol``, ``constant`` and the functions of this package, never directly.

    >>> import symdiff as sd
    >>> x, y = sd.symbols("x y")
    >>> x * y + 1 is 1 + y * x
    True
    """

    __slots__ = ()
    _methods: ClassVar[Methods]  # assigned once the package is imported

    # The value's description ----------------------------------------------------------------------

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int | Expr:
        """The number of elements: an int, or an expression where an axis length is symbolic."""
        ints = math.prod(dim for dim in self.shape if isinstance(dim, int))
        named = [size(dim) for dim in self.shape if isinstance(dim, str)]
        return ints if not named else scale(ints, product(named))

    @property
    def name(self) -> str:
        """The name of a symbol.  Raises AttributeError for any other expression."""
        if isinstance(self.op, ops.Symbol):
            return self.op.name
        raise missing("an expression", "name", EXPRESSION, self)

    @property
    def free_symbols(self) -> Symbols:
        """The symbols of the expression, in order of first use; ``x in f.free_symbols`` works."""
        return free_symbols([self])

    def __iter__(self) -> Iterator[Expr]:
        if not self.shape:
            raise TypeError(
                f"iteration over {self!r}, a 0-d expression: several expressions go into a list, "
                "as in sd.stack([x, y]); the larger of two is sd.maximum(x, y), the sum x + y"
            )
        if isinstance(self.shape[0], str):
            raise Unsupported(
                f"iteration over an axis of symbolic length {self.shape[0]}, which is not a number "
                "of turns for Python; functions of symdiff take all of an axis at once"
            )
        return (self[i] for i in range(self.shape[0]))

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d expression")
        if isinstance(self.shape[0], str):
            raise Unsupported(
                f"len() of an axis of symbolic length {self.shape[0]} would have to be an int; "
                "x.shape[0] is the length, and can be computed with"
            )
        return self.shape[0]

    # What an expression is not --------------------------------------------------------------------

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "an expression has no truth value before it is evaluated; use "
            "sd.where(condition, a, b) to choose between values, `is` to compare structures, and "
            "numeric.check.why(f, g) to prove that formulas are equal"
        )

    def __array__(self, *args: object, **kwargs: object) -> NoReturn:
        raise TypeError(
            "an expression is not an array of numbers: stack expressions with sd.stack([...]), "
            "or lower it with numeric.lower and call the Function"
        )

    def __array_ufunc__(self, ufunc: object, method: str, *inputs: object, **given: object) -> Any:
        return self._methods.array_ufunc(ufunc, method, inputs, given)

    def __array_function__(
        self, function: object, types: object, args: object, given: object
    ) -> Any:
        return self._methods.array_function(function, types, args, given)

    def __float__(self) -> float:
        value = number_of(self)
        if value is None or self.shape:
            raise TypeError(
                f"{self!r} is not a number: use .evalf(subs={{...}}) for its value, functions of "
                "np or sd instead of those of math, and sd.stack to make an array"
            )
        return float(value)

    def __setitem__(self, key: object, value: object) -> NoReturn:
        raise TypeError(
            "expressions are immutable: instead of x[key] = value use x = sd.index_update(x, key, "
            "value), for x[key] += value sd.index_add(x, key, value), for x[mask] = value "
            "sd.where(mask, value, x)"
        )

    def __copy__(self) -> Expr:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Expr:
        # Expressions are immutable and interned: a copy would be a different expression.
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return self._methods.reduced(self)

    # Arithmetic -----------------------------------------------------------------------------------

    def __add__(self, other: Operand) -> Expr:
        if other.__class__ is not Expr:
            if other.__class__ is int:
                return shift(self, other)
            if (other := _operand(other)) is NotImplemented:
                return NotImplemented
        return add(self, other)

    def __radd__(self, other: Operand) -> Expr:
        return shift(self, other) if other.__class__ is int else add(as_expr(other), self)

    def __sub__(self, other: Operand) -> Expr:
        if other.__class__ is not Expr:
            if other.__class__ is int:
                return shift(self, -other)
            if (other := _operand(other)) is NotImplemented:
                return NotImplemented
        return sub(self, other)

    def __rsub__(self, other: Operand) -> Expr:
        if other.__class__ is int:
            return shift(scale(-1, self), other)
        return sub(as_expr(other), self)

    def __mul__(self, other: Operand) -> Expr:
        if other.__class__ is not Expr:
            if other.__class__ is int:
                return scale(other, self)
            if (other := _operand(other)) is NotImplemented:
                return NotImplemented
        return mul(self, other, True)

    def __rmul__(self, other: Operand) -> Expr:
        return scale(other, self) if other.__class__ is int else mul(as_expr(other), self, True)

    def __truediv__(self, other: Operand) -> Expr:
        if other.__class__ is not Expr:
            if other.__class__ is int and other:
                return scale(Fraction(1, other) if other not in (1, -1) else other, self)
            if (other := _operand(other)) is NotImplemented:
                return NotImplemented
        return divide(self, other)

    def __rtruediv__(self, other: Operand) -> Expr:
        return divide(as_expr(other), self)

    def __pow__(self, other: Operand) -> Expr:
        if other.__class__ is not Expr:
            if other.__class__ is int:
                return int_power(as_numeric(self), other, True)
            if (other := _operand(other)) is NotImplemented:
                return NotImplemented
        return power(self, other)

    def __rpow__(self, other: Operand) -> Expr:
        return power(as_expr(other), self)

    def __neg__(self) -> Expr:
        return scale(-1, self)

    def __pos__(self) -> Expr:
        return self

    def __abs__(self) -> Expr:
        return primitive("abs", self)

    def __mod__(self, other: Operand) -> Expr:
        return primitive("mod", self, as_expr(other))

    def __rmod__(self, other: Operand) -> Expr:
        return primitive("mod", as_expr(other), self)

    def __floordiv__(self, other: Operand) -> Expr:
        return primitive("floor_divide", self, as_expr(other))

    def __rfloordiv__(self, other: Operand) -> Expr:
        return primitive("floor_divide", as_expr(other), self)

    def __matmul__(self, other: Operand) -> Expr:
        return self._methods.matmul(self, other)

    def __rmatmul__(self, other: Operand) -> Expr:
        return self._methods.matmul(other, self)

    # Comparisons and logic ------------------------------------------------------------------------

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> Expr:  # type: ignore[override]
        return primitive("equal", self, as_expr(other))

    def __ne__(self, other: object) -> Expr:  # type: ignore[override]
        return primitive("not_equal", self, as_expr(other))

    def __lt__(self, other: Operand) -> Expr:
        return primitive("less", self, as_expr(other))

    def __le__(self, other: Operand) -> Expr:
        return primitive("less_equal", self, as_expr(other))

    def __gt__(self, other: Operand) -> Expr:
        return primitive("less", as_expr(other), self)

    def __ge__(self, other: Operand) -> Expr:
        return primitive("less_equal", as_expr(other), self)

    def __and__(self, other: Operand) -> Expr:
        return primitive("logical_and", self, as_expr(other))

    def __rand__(self, other: Operand) -> Expr:
        return primitive("logical_and", as_expr(other), self)

    def __or__(self, other: Operand) -> Expr:
        return primitive("logical_or", self, as_expr(other))

    def __ror__(self, other: Operand) -> Expr:
        return primitive("logical_or", as_expr(other), self)

    def __xor__(self, other: Operand) -> Expr:
        return primitive("logical_xor", self, as_expr(other))

    def __rxor__(self, other: Operand) -> Expr:
        return primitive("logical_xor", as_expr(other), self)

    def __invert__(self) -> Expr:
        return primitive("logical_not", self)

    # Shapes, reductions, derivatives: the functions of the package as methods ---------------------

    def __getitem__(self, key: object) -> Expr:
        return self._methods.getitem(self, key)

    @property
    def T(self) -> Expr:
        """The axes in reverse order."""
        shape = self.shape
        axes = tuple(range(len(shape)))
        return rearranged(self, axes, axes[::-1], shape)

    @property
    def mT(self) -> Expr:
        """The last two axes exchanged.  Raises ShapeError below two axes."""
        return self._methods.matrix_transpose(self)

    def transpose(self, *axes: int | tuple[int, ...]) -> Expr:
        """The axes permuted; reversed if none are given."""
        return self._methods.transpose(self, *axes)

    def reshape(self, *shape: Dim | Shape) -> Expr:
        """The elements in C order under another shape; one length may be -1."""
        return self._methods.reshape(self, *shape)

    def ravel(self) -> Expr:
        """The elements in C order, along one axis."""
        return self._methods.ravel(self)

    def flatten(self) -> Expr:
        """The elements in C order, along one axis."""
        return self._methods.ravel(self)

    def squeeze(self, axis: Axis = None) -> Expr:
        """Without the axes ``axis`` of length 1; without all such axes by default."""
        return self._methods.squeeze(self, axis)

    def swapaxes(self, axis1: int, axis2: int) -> Expr:
        """Two axes exchanged."""
        return self._methods.swapaxes(self, axis1, axis2)

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Expr:
        """The diagonal of two axes, as the last one."""
        return self._methods.diagonal(self, offset, axis1, axis2)

    def repeat(self, repeats: int | Sequence[int], axis: int | None = None) -> Expr:
        """Repeat every element along ``axis`` ``repeats`` times; all in C order if it is None."""
        return self._methods.repeat(self, repeats, axis)

    def take(
        self, indices: int | Sequence[int] | NDArray[Any] | Expr, axis: int | None = None
    ) -> Expr:
        """The elements at ``indices`` along ``axis``; over all in C order if it is None."""
        return self._methods.take(self, indices, axis)

    def sum(self, axis: Axis = None, keepdims: bool = False) -> Expr:
        """The sum over ``axis``, over all axes by default."""
        return self._methods.sum(self, axis, keepdims=keepdims)

    def mean(self, axis: Axis = None, keepdims: bool = False) -> Expr:
        """The mean over ``axis``, over all axes by default."""
        return self._methods.mean(self, axis, keepdims=keepdims)

    def prod(self, axis: Axis = None, keepdims: bool = False) -> Expr:
        """The product over ``axis``, over all axes by default."""
        return self._methods.prod(self, axis, keepdims=keepdims)

    def max(self, axis: Axis = None, keepdims: bool = False) -> Expr:
        """The largest element over ``axis``, over all axes by default."""
        return self._methods.max(self, axis, keepdims=keepdims)

    def min(self, axis: Axis = None, keepdims: bool = False) -> Expr:
        """The smallest element over ``axis``, over all axes by default."""
        return self._methods.min(self, axis, keepdims=keepdims)

    def var(self, axis: Axis = None, *, ddof: float = 0, keepdims: bool = False) -> Expr:
        """The variance over ``axis``, over all axes by default; of N observations, by N - ddof."""
        return self._methods.var(self, axis, ddof=ddof, keepdims=keepdims)

    def std(self, axis: Axis = None, *, ddof: float = 0, keepdims: bool = False) -> Expr:
        """The square root of the variance."""
        return self._methods.std(self, axis, ddof=ddof, keepdims=keepdims)

    def any(self, axis: Axis = None, keepdims: bool = False) -> Expr:
        """Whether an element over ``axis`` is not 0."""
        return self._methods.any(self, axis, keepdims=keepdims)

    def all(self, axis: Axis = None, keepdims: bool = False) -> Expr:
        """Whether no element over ``axis`` is 0."""
        return self._methods.all(self, axis, keepdims=keepdims)

    def argmax(self, axis: int | None = None, *, keepdims: bool = False) -> Expr:
        """The index of the first largest along ``axis``; of all elements if it is None."""
        return self._methods.argmax(self, axis, keepdims=keepdims)

    def argmin(self, axis: int | None = None, *, keepdims: bool = False) -> Expr:
        """The index of the first smallest along ``axis``; of all elements if it is None."""
        return self._methods.argmin(self, axis, keepdims=keepdims)

    def argsort(self, axis: int | None = -1) -> Expr:
        """The indices that sort the elements along ``axis`` in ascending order."""
        return self._methods.argsort(self, axis)

    def cumsum(self, axis: int | None = None) -> Expr:
        """The cumulative sums along ``axis``; over all in C order if it is None."""
        return self._methods.cumsum(self, axis)

    def cumprod(self, axis: int | None = None) -> Expr:
        """The cumulative products along ``axis``; over all in C order if it is None."""
        return self._methods.cumprod(self, axis)

    def clip(self, min: Operand | None = None, max: Operand | None = None) -> Expr:
        """Clip every element to the bounds."""
        return self._methods.clip(self, min, max)

    def round(self, decimals: int = 0) -> Expr:
        """Rounded to ``decimals``; halves to the even neighbour."""
        return self._methods.round(self, decimals)

    def dot(self, other: Operand) -> Expr:
        """The product of ``np.dot``: over the last axis and the last but one of ``other``."""
        return self._methods.dot(self, other)

    def trace(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Expr:
        """The sum of a diagonal."""
        return self._methods.trace(self, offset, axis1, axis2)

    def det(self) -> Expr:
        """The determinant of the matrices in the last two axes."""
        return self._methods.det(self)

    def inv(self) -> Expr:
        """The inverse of the matrices in the last two axes."""
        return self._methods.inv(self)

    def astype(self, dtype: object) -> Expr:
        """As a real (``float``), integer (``int``) or boolean (``bool``) expression.

        Raises Unsupported for reals as integers, and for a precision: the arguments decide it.
        """
        return self._methods.astype(self, dtype)

    def copy(self) -> Expr:
        """The expression itself: it never changes."""
        return self

    def conj(self) -> Expr:
        """The expression itself: it is real."""
        return self

    conjugate = conj

    @property
    def real(self) -> Expr:
        """The expression itself."""
        return self

    @property
    def imag(self) -> Expr:
        """Zeros."""
        return full(self.shape, 0)

    def diff(self, *variables: Expr | int) -> Expr:
        """The derivative in SymPy's calling convention: ``f.diff(x, 3, y)``."""
        return self._methods.diff(self, *variables)

    @overload
    def subs(self, replacements: Replacements, /) -> Expr: ...
    @overload
    def subs(self, symbol: Any, value: Replacement, /) -> Expr: ...
    def subs(self, *replacements: object) -> Expr:
        """Replace symbols simultaneously: ``f.subs({x: 1})``, ``f.subs(x, 1)`` or pairs in a list.

        Raises ValueError for a pair whose value contains the symbol of a later pair: SymPy replaces
        one pair after the other.
        """
        return self._methods.replaced(self, replacements)

    @written("f.evalf(30, subs={x: 1})")
    def evalf(self, n: int = 15, subs: Mapping[Expr, Any] | None = None) -> Any:
        """The value at ``n`` significant digits: an ``mpmath.mpf``, or an object array of them."""
        return self._methods.evalf(self, n, subs)

    def simplify(self) -> Expr:
        """``symdiff.simplify``: the form that SymPy finds simplest, with the same values."""
        return self._methods.simplify(self)

    def expand(self) -> Expr:
        """``symdiff.expand``: products and powers of sums multiplied out."""
        return self._methods.expand(self)

    def factor(self) -> Expr:
        """``symdiff.factor``: as a product of factors with rational coefficients."""
        return self._methods.factor(self)

    def collect(self, x: Operand | Sequence[Operand]) -> Expr:
        """``symdiff.collect``: merge terms with equal powers of ``x``."""
        return self._methods.collect(self, x)

    def series(self, x: Expr, x0: Operand = 0, n: int = 6) -> Expr:
        """``symdiff.series``: the Taylor polynomial at ``x0``, up to the order n - 1."""
        return self._methods.series(self, x, x0, n)

    def limit(self, x: Expr, x0: Operand, dir: Literal["+", "-", "+-"] = "+") -> Expr:
        """``symdiff.limit``: the limit as ``x`` approaches ``x0``."""
        return self._methods.limit(self, x, x0, dir)

    def _sympy_(self) -> sp.Basic:
        return self._methods.to_sympy(self)

    def latex(self, full: bool = False) -> str:
        """LaTeX in matrix notation, without dollar signs; an excerpt of a large one, or all."""
        return self._methods.latex(self, full)

    def _repr_latex_(self) -> str:
        return self._methods.markup(self)

    def __str__(self) -> str:
        return self._methods.text(self)

    def __repr__(self) -> str:
        return self._methods.short(self)


set_node_class(Expr)
set_expression(size)

without(Expr, "an expression", EXPRESSION)
pi = make(ops.exact_op("pi", sp.pi), (), (), float)
e = make(ops.exact_op("e", sp.E), (), (), float)


def _operand(value: object) -> Any:
    """``value`` as an expression, or NotImplemented so that the other operand may respond."""
    if number.is_number(value) or isinstance(value, np.ndarray | complex | sp.Expr | Length):
        return as_expr(value)
    if isinstance(value, str):
        raise TypeError(
            f"{shortened(value)} is not a number; x.shape[0] is a length, which can be computed "
            "with, and sd.parse reads formulas"
        )
    return NotImplemented


class Symbols(tuple["Expr", ...]):
    """A tuple of symbols compared by identity: ``y in f.free_symbols`` works.

    A symbol with named lengths is also found where data made these lengths numbers.
    """

    __slots__ = ()

    def __contains__(self, x: object) -> bool:
        x = self._own(x)
        return any(x is y for y in self)

    def _own(self, x: object) -> object:
        is_symbol = isinstance(x, Expr) and isinstance(x.op, ops.Symbol)
        return become(x, self) if is_symbol else x  # type: ignore[arg-type]  # it is one

    def index(self, x: object, *bounds: SupportsIndex) -> int:
        """The index of a symbol; raises ValueError if it is absent."""
        x = self._own(x)
        for i in range(len(self))[slice(*bounds, *(None,) * (2 - len(bounds)))]:
            if self[i] is x:
                return i
        raise ValueError(f"{x!r} is not among {tuple(self)!r}")

    def count(self, x: object) -> int:
        """How often a symbol occurs: 0 or 1."""
        return int(x in self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, tuple):
            return NotImplemented
        return len(self) == len(other) and all(a is b for a, b in zip(self, other, strict=True))

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__


def in_order(nodes: Iterable[Expr]) -> list[Expr]:
    """Nodes in order of creation; formulas list their symbols in this order."""
    return sorted(nodes, key=lambda x: x.serial)


def free_symbols(outputs: Expr | Iterable[Expr]) -> Symbols:
    """The symbols of ``outputs`` in order of first use (left to right, depth first), each once.

    The result is a tuple that compares symbols by identity, so that ``in`` works.  Raises
    ShapeError if two symbols have one name, or if a symbol has the name of an axis length.

    >>> import symdiff as sd
    >>> x, y = sd.symbols("x y")
    >>> free_symbols([x * y, y**2]), y in free_symbols(x)
    ((x, y), False)
    """
    stack = list(dict.fromkeys(expressions("free_symbols", "outputs", outputs)))[::-1]
    seen = set(stack)
    symbols: list[Expr] = []
    while stack:
        node = stack.pop()
        if node.op.__class__ is ops.Symbol:
            symbols.append(node)
        for arg in reversed(node.args):
            if arg not in seen:
                seen.add(arg)
                stack.append(arg)
    check_names(symbols)
    return Symbols([node for node in symbols if not node.op.dummy])  # type: ignore[attr-defined]


def check_names(symbols: Iterable[Expr]) -> None:
    """Raise ShapeError if two symbols share a name, or a symbol has the name of a length."""
    by_name: dict[str, Expr] = {}
    for node in symbols:
        op = node.op
        assert isinstance(op, ops.Symbol)
        other = node if op.dummy else by_name.setdefault(op.name, node)
        if other is not node:
            remedy = "rename one of them"
            if other.dtype is node.dtype and other.ndim == node.ndim:
                remedy += (
                    ". If a value given for another symbol fixed the length of its axes, replace "
                    f"that in the symbol too, f, {op.name} = sd.substitute([f, {op.name}], {{X: "
                    "data}), or bind the data of a Function, F.bind(X=data)"
                )
            raise ShapeError(
                f"two symbols are named {op.name!r}: one of shape {shape_text(other.shape)} and "
                f"dtype {other.dtype.__name__}, one of shape {shape_text(node.shape)} and dtype "
                f"{node.dtype.__name__}; {remedy}"
            )
    for node in by_name.values():
        for dim in node.shape:
            for name in dim.names if isinstance(dim, Length) else ():
                if name in by_name:
                    raise ShapeError(
                        f"{name!r} is a symbol of shape {shape_text(by_name[name].shape)} and a "
                        f"length of {node.name}, of shape {shape_text(node.shape)}; rename one"
                    )


def rebuild(node: Expr, args: tuple[Expr, ...]) -> Expr:
    """The node of the same op on other operands of the same shapes, through the constructors."""
    if args == () or all(a is b for a, b in zip(args, node.args, strict=True)):
        return node
    return built(node.op, args)


def built(op: Op, args: tuple[Expr, ...]) -> Expr:
    """The node of ``op`` and operands, through the constructors."""
    if isinstance(op, ops.Sum):
        const = number_node(op.const)
        terms = [(c, a) for c, a in zip(op.coefs, args, strict=True)]
        return combine("add", [*terms, (1, const)] if op.const else terms)
    if isinstance(op, ops.Product):
        return product(int_power(a, p) for a, p in zip(args, op.exponents, strict=True))
    if isinstance(op, ops.Pointwise):
        return pointwise(op, *args)
    if isinstance(op, ops.Strong):
        return strong(args[0], args[1], op.kills)
    if isinstance(op, ops.Contract):
        created = dict.fromkeys(k for k in op.out if all(k not in word for word in op.letters))
        sizes = dict(zip(created, op.created, strict=True))
        terms3 = [(a, w, k) for a, w, k in zip(args, op.letters, op.kills, strict=True)]
        return contract(terms3, op.out, sizes)
    if isinstance(op, ops.Linear):
        return linear(op, *args)
    if isinstance(op, ops.Opaque):
        return opaque(op, *args)
    assert isinstance(op, ops.Barrier)
    return barrier(op, args[0])


def nodes(outputs: Expr | Iterable[Expr]) -> list[Expr]:
    """Every node of the graph, operands before users.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> len(sd.nodes(x * x + 1))
    3
    """
    return topological(expressions("nodes", "outputs", outputs))


def is_within(e: Expr, most: int) -> bool:
    """Whether ``e`` has at most ``most`` nodes; the walk stops soon after that many.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> is_within(sd.sin(x) * x, 3), is_within(sd.sin(x) * x, 2)
    (True, False)
    """
    reached = {e}
    waiting = [e]
    while waiting:
        for x in waiting.pop().args:
            if x not in reached:
                if len(reached) == most:
                    return False
                reached.add(x)
                waiting.append(x)
    return True
