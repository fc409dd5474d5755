"""A row of the gallery: how an expression is made, and what a mathematician would write."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from symdiff import Expr, free_symbols, parse, symbol
from symdiff.leaves import size

if TYPE_CHECKING:
    from collections.abc import Callable


class Row(NamedTuple):
    """``text`` and ``latex`` are None where no one form is the obvious one: laws hold even so."""

    name: str
    build: Callable[[], Expr]
    text: str | None
    latex: str | None


class Rows(list[Row]):
    """The rows of a module, in their order; called, it decorates a function that makes one."""

    def __init__(self, family: str) -> None:
        super().__init__()
        self.family = family

    def __call__(
        self, text: str | None, latex: str | None
    ) -> Callable[[Callable[[], Expr]], Callable[[], Expr]]:
        def added(build: Callable[[], Expr]) -> Callable[[], Expr]:
            self.append(Row(f"{self.family}.{build.__name__}", build, text, latex))
            return build

        return added


def names_of(expr: Expr) -> dict[str, Expr]:
    """What the names in the text of ``expr`` mean: its symbols, and the lengths of their axes.

    ``eye(n)`` has no symbol with an axis of length n, so that one is given.
    """
    symbols = free_symbols(expr)
    if named := [dim for dim in expr.shape if isinstance(dim, str)]:
        symbols = (*symbols, symbol("axes_", named))
    lengths = {dim: size(dim) for x in symbols for dim in x.shape if isinstance(dim, str)}
    return lengths | {x.op.name: x for x in symbols}


def reading(text: str, expr: Expr) -> Expr:
    """The expression that the lines of a text say, of the symbols of ``expr``."""
    *definitions, result = text.split("\n")
    names = names_of(expr)
    for line in definitions:
        name, body = line.split(" = ", maxsplit=1)
        names[name] = parse(body, names)
    return parse(result, names)
