r"""Notebooks: tuples, lists and dicts of expressions, as LaTeX.

Python's containers have no ``_repr_latex_``, but IPython takes a function for a type.  It is given
one where it runs already when ``symdiff`` is imported; ``symdiff`` itself never imports it.
Containers that hold anything else than expressions are shown as they would be without.
"""

from __future__ import annotations

import re
import sys
from itertools import islice
from typing import TYPE_CHECKING, Any

from symdiff.display.latex_notation import verbatim
from symdiff.display.typeset import latex
from symdiff.expr import Expr

if TYPE_CHECKING:
    from collections.abc import Iterable

_BRACKETS: dict[type, tuple[str, str]] = {
    tuple: ("(", ")"),
    list: ("[", "]"),
    dict: (r"\{", r"\}"),
}
_DEPTH = 4  # containers in containers
_ENTRIES = 30  # of a container that are shown
_CHARACTERS = 20_000  # of LaTeX, from which on no further entry is shown
_LINES = r"\begin{aligned}"
_LINE = 80  # signs, about, that stand beside each other


def bundle(value: object) -> dict[str, str] | None:
    r"""What a notebook shows of a container: LaTeX, if it holds expressions and nothing else.

    Keys of dicts may also be strings and integers.  Of long containers the first entries are shown
    and the others counted.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> bundle((x, x**2))
    {'text/latex': '$\\displaystyle \\left(x, \\; x^{2}\\right)$'}
    >>> bundle([x, 1]) is None
    True
    """
    if not _holds_expressions(value):
        return None
    return {"text/latex": rf"$\displaystyle {_typeset(value)}$"}


def _holds_expressions(value: object) -> bool:
    """Whether all leaves are expressions, and there are some."""
    level: list[Any] = [value]
    some = False
    for depth in range(_DEPTH + 1):
        inner: dict[int, Any] = {}  # once each, however often it is in there
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
    """Which container it is; results with names are tuples."""
    kind = type(value)
    if kind is dict:
        return dict if all(isinstance(key, Expr | str | int) for key in value) else None
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return tuple
    return kind if kind in _BRACKETS else None


def _typeset(value: Any, budget: int = _CHARACTERS) -> str:
    """LaTeX of a container or an expression."""
    if isinstance(value, Expr):
        return latex(value)
    texts: list[str] = []
    for label, item in islice(_entries(value), _ENTRIES):
        if budget <= 0:
            break
        text = _typeset(item, budget)
        budget -= len(text)
        if text.startswith(_LINES):  # beside the label stands the first line
            text = f"{_LINES}[t]{text.removeprefix(_LINES)}"
        texts.append(f"{label}{text}")
    hidden = len(value) - len(texts)
    if hidden:
        texts.append(rf"\ldots\ \text{{({hidden:,} more)}}")
    kind = _kind(value)
    assert kind is not None
    opened, closed = _BRACKETS[kind]
    comma = "," if kind is tuple and len(value) == 1 else ""
    lines = [r", \; ".join(line) for line in _filled(texts)]
    if len(lines) == 1 and _LINES not in lines[0]:
        return rf"\left{opened}{lines[0]}{comma}\right{closed}"
    rows = ", \\\\\n& \\;\\, ".join(lines)
    return f"{_LINES}\n& \\bigl{opened} {rows}{comma} \\bigr{closed}\n\\end{{aligned}}"


def _filled(texts: Iterable[str]) -> list[list[str]]:
    """What stands in each line: as much as there is room for, or one of several lines."""
    lines: list[list[str]] = []
    room = 0
    for text in texts:
        width = _LINE if _LINES in text else _signs(text) + 2
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
    return ((f"{_listed(name)} = ", item) for name, item in zip(names, value, strict=True))


def _key(key: Expr | str | int) -> str:
    return latex(key) if isinstance(key, Expr) else _listed(repr(key))


def _listed(text: str) -> str:
    """``text`` as it is, and not too much of it."""
    return verbatim(text if len(text) <= _LINE else text[:_LINE] + "...")


def _signs(text: str) -> int:
    """About how many signs wide a formula is: the widest of the rows of a matrix in it."""
    rows = re.sub(r"\\(begin|end)\{\w+\}", "", text).split(r"\\")
    plain = (re.sub(r"\\([A-Za-z]+|.)", "x", row) for row in rows)
    return max(len(re.sub(r"[{}^_&\s]", "", row)) for row in plain)


# IPython ------------------------------------------------------------------------------------------


class _Shown:
    """What IPython asks for the representations of a container, in place of what was there."""

    def __init__(self, formatter: Any, before: Any) -> None:
        self.formatter, self.before = formatter, before

    def __call__(self, value: Any) -> Any:
        if self.formatter.formatters["text/latex"].enabled:  # not in a terminal
            found = bundle(value)
            if found is not None:
                return found
        if self.before is not None:
            return self.before(value)
        method = getattr(type(value), "_repr_mimebundle_", None)  # of a subclass
        return None if method is None else method(value, include=None, exclude=None)


def register(shell: Any = None) -> None:
    """Let IPython show containers of expressions: the shell given, or the running one, if any.

    What shows them is asked first for every tuple, list and dict, and what was there before for
    those that hold anything else.  SymPy's ``init_printing``, before or after, is not disturbed.
    """
    if shell is None:
        running = getattr(sys.modules.get("IPython"), "get_ipython", None)
        shell = running() if running is not None else None
    if shell is None:
        return
    formatter = shell.display_formatter
    printers = formatter.mimebundle_formatter
    for kind in (tuple, list, dict):
        before = printers.for_type(kind)
        if not isinstance(before, _Shown):
            printers.for_type(kind, _Shown(formatter, before))
