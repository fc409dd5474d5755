"""Expressions, and containers of them, as LaTeX: in matrix notation, else in index notation."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Any

from symdiff.calculus.nested_results import Matrix, each
from symdiff.display.latex_notation import ALIGN, BREAK, Latex, verbatim
from symdiff.display.printing import lines, matrix_lines
from symdiff.graph.expr import Expr
from symdiff.graph.leaves import as_expr

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["holds_expressions", "latex", "markup", "typeset"]

_BRACKETS: dict[type, tuple[str, str]] = {
    tuple: ("(", ")"),
    list: ("[", "]"),
    dict: (r"\{", r"\}"),
}
_DEPTH = 4  # the deepest nesting of containers
_ENTRIES = 30  # the most entries of a container
_CHARACTERS = 20_000  # of LaTeX; beyond them no further entry is shown
_LINES = r"\begin{aligned}"
_LINE = 80  # the approximate number of signs in a line


def latex(expr: Expr | tuple[Any, ...], full: bool = False) -> str:
    r"""Return ``expr`` as LaTeX without dollar signs: ``2 X^\top \left(X w - y\right)``.

    Products of matrices and vectors (columns) are juxtaposed; elementwise products and quotients
    have ``\odot`` and ``\oslash``; ``\mathbf{1}`` is a vector of ones.  Other formulas are written
    by elements, ``\left[\sum_{k} A_{i,k,j} x_k\right]_{i,j}``; arrays of at most 16 elements show
    them.  Repeated parts have names and lines of their own if the formula would not fit otherwise.
    Long entries of a matrix have names that the lines below it define; more than 10 columns need
    ``\setcounter{MaxMatrixCols}{20}`` in a LaTeX document.
    Loops and solutions have names, and their equations below.
    A large expression shows the part next to the result, as in ``text``.  The commands are those of
    amsmath.

    Args:
        expr: an expression; derivatives by separate symbols, written as a column or a matrix; or
            any other tuple of these, in parentheses.
        full: whether to show everything, for every size.

    >>> import symdiff as sd
    >>> x, y = sd.symbols("x y")
    >>> print(latex(x**2 / (2 * sd.sin(y) ** 2)))
    \frac{x^{2}}{2 \sin^{2}{\left(y \right)}}
    >>> print(latex(sd.grad(x * y**2, [x, y])))
    \begin{bmatrix} y^{2} \\ 2 x y \end{bmatrix}
    >>> print(latex((x, y**2)))
    \left(x, \; y^{2}\right)
    """
    if isinstance(expr, tuple):
        return typeset(each(as_expr, expr), full)
    return _join_lines(lines(as_expr(expr), Latex(full), full))


def markup(expr: Expr) -> str:
    r"""Return ``latex(expr)`` between dollar signs, as notebooks display it.

    >>> import symdiff as sd
    >>> markup(sd.symbol("alpha"))
    '$\\displaystyle \\alpha$'
    """
    return rf"$\displaystyle {latex(expr)}$"


def _join_lines(lines: Sequence[str]) -> str:
    if len(lines) == 1 and BREAK not in lines[0]:
        return lines[0].replace(ALIGN, "")
    lines = [line.replace(BREAK, " \\\\\n&\\quad ") for line in lines]
    rows = [line.replace(ALIGN, "&") if ALIGN in line else f"& {line}" for line in lines]
    return "\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}"


# Containers ---------------------------------------------------------------------------------------


def holds_expressions(value: object) -> bool:
    """Whether all leaves are expressions, and there is at least one."""
    level: list[Any] = [value]
    some = False
    for depth in range(_DEPTH + 1):
        inner: dict[int, Any] = {}  # each container once, for any number of occurrences
        for item in level:
            if isinstance(item, Expr) and depth:
                some = True
            elif (kind := _kind(item)) is None:
                return False
            else:
                parts = item.values() if kind is dict else item
                inner.update((id(part), part) for part in parts)
        if not inner:
            return some
        level = list(inner.values())
    return False


def _kind(value: Any) -> type | None:
    """The kind of a container; named tuples and matrices of derivatives are tuples."""
    kind = type(value)
    if kind is dict:
        return dict if all(isinstance(key, Expr | str | int) for key in value) else None
    if issubclass(kind, Matrix) or (issubclass(kind, tuple) and hasattr(kind, "_fields")):
        return tuple
    return kind if kind in _BRACKETS else None


def typeset(value: Any, full: bool = False, budget: int = _CHARACTERS) -> str:
    """LaTeX of a container or expression; unless ``full``, long ones show their first entries."""
    if isinstance(value, Expr):
        return latex(value, full)
    if isinstance(value, Matrix) and (full or len(value) <= _ENTRIES):
        matrix = matrix_lines(value, Latex(full), full)
        if matrix is not None:
            return _join_lines(matrix)
    texts: list[str] = []
    for label, item in islice(_entries(value), None if full else _ENTRIES):
        if budget <= 0 and not full:
            break
        text = typeset(item, full, budget)
        budget -= len(text)
        if text.startswith(_LINES):  # align the label with the first line
            text = f"{_LINES}[t]{text.removeprefix(_LINES)}"
        texts.append(f"{label}{text}")
    hidden = len(value) - len(texts)
    if hidden:
        texts.append(rf"\ldots\ \text{{({hidden:,} more)}}")
    kind = _kind(value)
    assert kind is not None
    opened, closed = _BRACKETS[kind]
    comma = "," if kind is tuple and len(value) == 1 else ""
    lines = [r", \; ".join(line) for line in _fill_lines(texts)] or [""]
    if len(lines) == 1 and _LINES not in lines[0]:
        return rf"\left{opened}{lines[0]}{comma}\right{closed}"
    rows = ", \\\\\n& \\;\\, ".join(lines)
    return f"{_LINES}\n& \\bigl{opened} {rows}{comma} \\bigr{closed}\n\\end{{aligned}}"


def _fill_lines(texts: Iterable[str]) -> list[list[str]]:
    """Distribute texts over lines: as many as fit, or one text of several lines."""
    lines: list[list[str]] = []
    room = 0
    for text in texts:
        width = _LINE if _LINES in text else _width_in_signs(text) + 2
        if width > room:
            lines.append([])
            room = _LINE
        lines[-1].append(text)
        room -= width
    return lines


def _entries(value: Any) -> Iterable[tuple[str, Any]]:
    if type(value) is dict:
        return ((rf"{_key(key)} : \; ", item) for key, item in value.items())
    names = getattr(type(value), "_fields", None)
    if names is None:
        return (("", item) for item in value)
    return ((f"{_cut_verbatim(name)} = ", item) for name, item in zip(names, value, strict=True))


def _key(key: Expr | str | int) -> str:
    return latex(key) if isinstance(key, Expr) else _cut_verbatim(repr(key))


def _cut_verbatim(text: str) -> str:
    """``text`` verbatim, cut to a line."""
    return verbatim(text if len(text) <= _LINE else text[:_LINE] + "...")


def _width_in_signs(text: str) -> int:
    """The approximate width of a formula in signs: the widest row of a matrix in it."""
    rows = re.sub(r"\\(begin|end)\{\w+\}", "", text).split(r"\\")
    plain = (re.sub(r"\\([A-Za-z]+|.)", "x", row) for row in rows)
    return max(len(re.sub(r"[{}^_&\s]", "", row)) for row in plain)
