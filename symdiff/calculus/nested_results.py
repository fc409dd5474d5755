"""Results of derivatives by several symbols: tuples of expressions, or tuples of such tuples."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, overload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from symdiff.graph.expr import Expr, Operand

Rest = ParamSpec("Rest")


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
    return getattr(type(f), "_make", tuple)([each(function, part) for part in f])


def entries(f: object) -> Iterator[Any]:
    """The entries of nested tuples, from left to right; a value that is not a tuple, itself."""
    if isinstance(f, tuple):
        for part in f:
            yield from entries(part)
    else:
        yield f
