"""Results of derivatives by several symbols: tuples of expressions, or tuples of such tuples.

Derivatives of scalars by separate scalars are a ``Matrix``: a tuple that is shown as one.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, overload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from symdiff.graph.expr import Expr, Operand

Rest = ParamSpec("Rest")


class Matrix(tuple[Any, ...]):
    """Derivatives by separate scalars: a tuple that ``text``, ``latex`` and notebooks show as one.

    It is equal to the plain tuple with the same entries, and has the same ``repr``.  Slices and
    sums are plain tuples.
    """

    __slots__ = ()


class Rows(Matrix):
    """A matrix by rows: every entry is a row, as a tuple of scalars or as its only scalar.

    >>> import symdiff as sd
    >>> x, y = sd.symbols("x y")
    >>> sd.grad(x * y, [x, y]) == (y, x), sd.hessian(x * y, [x, y])
    (True, ((0, 1), (1, 0)))
    """

    __slots__ = ()


class Columns(Matrix):
    """A matrix by columns: every entry is a column, as a vector or as its only scalar.

    >>> import symdiff as sd
    >>> x, y = sd.symbols("x y")
    >>> print(sd.text(sd.jacobian(sd.stack([x * y, x, y]), [x, y])))
    [ y   x ]
    [ 1   0 ]
    [ 0   1 ]
    """

    __slots__ = ()


class Each(Protocol[Rest]):
    """A function of an expression or of nested tuples of them; results have the same structure."""

    @overload
    def __call__(
        self, f: tuple[Any, ...], *args: Rest.args, **words: Rest.kwargs
    ) -> tuple[Any, ...]: ...
    @overload
    def __call__(self, f: Operand, *args: Rest.args, **words: Rest.kwargs) -> Expr: ...


def of_each(function: Callable[Concatenate[Operand, Rest], Expr]) -> Each[Rest]:
    """Extend a function of an expression to nested tuples: apply it to each expression.

    >>> @of_each
    ... def halved(x):
    ...     return x / 2
    >>> halved((2, (4, 6)))
    (1.0, (2.0, 3.0))
    """

    @wraps(function)
    def call(f: Any, *args: Any, **words: Any) -> Any:
        return each(lambda part: function(part, *args, **words), f)

    return call


def each(function: Callable[[Any], Any], f: object) -> Any:
    """Apply ``function`` to ``f``, or to every entry of a tuple, in a tuple of the same type."""
    if not isinstance(f, tuple):
        return function(f)
    parts = [each(function, part) for part in f]
    make = getattr(type(f), "_make", None)
    return tuple_like(f, parts) if make is None else make(parts)


def tuple_like(f: object, parts: Iterable[Any]) -> tuple[Any, ...]:
    """A tuple of ``parts``; a matrix by rows or columns if ``f`` is one."""
    return type(f)(parts) if isinstance(f, Matrix) else tuple(parts)


def entries(f: object) -> Iterator[Any]:
    """The entries of nested tuples, from left to right; a value that is not a tuple, itself."""
    if isinstance(f, tuple):
        for part in f:
            yield from entries(part)
    else:
        yield f
