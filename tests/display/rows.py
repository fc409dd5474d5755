"""A row of the gallery: how an expression is made, and what a mathematician would write."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from symdiff import Expr, free_symbols, parse, symbol
from symdiff.graph.algebra import size
from tests.display.normal_form import normalised

if TYPE_CHECKING:
    from collections.abc import Callable


Entry = tuple[str, "Callable[..., Expr]", str | None, str | None]


class Row(NamedTuple):
    """``text`` and ``latex`` are None where no one form is the obvious one: laws hold even so."""

    name: str
    build: Callable[[], Expr]
    text: str | None
    latex: str | None


def table(family: str, entries: dict[str, Entry]) -> list[Row]:
    """The rows of a family: by name the symbols, a function of them, its text and its LaTeX.

    Symbols are given as ``"A m n, x"``: names, each with the lengths of its axes.
    """
    return [
        Row(f"{family}.{name}", partial(built, symbols, build), text, latex)
        for name, (symbols, build, text, latex) in entries.items()
    ]


def built(declared: str, build: Callable[..., Expr]) -> Expr:
    """What the function makes of new symbols, made in the order in which they are declared."""
    words = [part.split() for part in declared.split(",") if part]
    return build(
        *[symbol(name, [int(n) if n.isdigit() else n for n in lengths]) for name, *lengths in words]
    )


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


def present(*arguments: str) -> Any:
    """What ``tests.display.present`` prints, by name, in a process that has no older symbols."""
    command = [sys.executable, "-m", "tests.display.present", *arguments, "--json"]
    return json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)


def met(row: Row, printed: dict[str, Any]) -> bool:
    """Whether text and LaTeX are those of the row; a text of None is open."""
    text, latex = printed[row.name]["text"], printed[row.name]["latex"]
    return row.text in (None, text) and normalised(latex) == normalised(row.latex)
