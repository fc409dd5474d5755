"""Tables of code: a task in the words of another library, and in ours, run and compared.

A function that does a task is called after what it is written with: ``in_sympy``, ``in_jax``.  One
that takes a module, ``in_torch(torch)``, runs unchanged with another of the same functions.
"""

import html
import importlib
import inspect
import io
import textwrap
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

NAMES = {
    "sympy": "SymPy",
    "scipy": "NumPy and SciPy",
    "jax": "JAX",
    "torch": "PyTorch",
    "casadi": "CasADi",
}
ALWAYS_HERE = ("sympy", "scipy")  # the extra that notebooks need brings them


class Sides:
    """``Sides("title", beside)``: what makes the tables; ``beside`` asks the other libraries."""

    def __init__(self, title: str, beside: Callable[..., Any]) -> None:
        self.title, self.beside = title, beside

    def __call__(
        self,
        task: str,
        pairs: dict[Callable[..., Any], Callable[[], Any] | ModuleType],
        *,
        rtol: float = 1e-9,
        rough: dict[Callable[..., Any], float] | None = None,
        alike: bool = True,
    ) -> "Table":
        """The table of a task: for each function of another library the one of ours.

        Where ours is a module, theirs is called with it in the place of their own.
        Both are run and their values compared, to ``rtol``, or to what ``rough`` has for the
        function; an AssertionError says which differ.  With ``alike=False`` the values are shown
        instead, as those of a question that has several answers.
        """
        rows, values = [], {}
        for theirs, ours in pairs.items():
            package = theirs.__name__.removeprefix("in_")
            if isinstance(ours, ModuleType):
                compute = partial(_with, theirs, package)
                mine = numbers(theirs(ours))
                our_words = f"import {ours.__name__} as {package}\n# and the same"
            else:
                compute, mine, our_words = theirs, numbers(ours()), words(ours)
            if package in ALWAYS_HERE:
                value, source = compute(), "run here"
            else:
                with redirect_stdout(io.StringIO()) as said:
                    value = self.beside(f"{self.title}, {task}, {package}", package, compute)
                source = said.getvalue().strip().partition(",")[0]
            value = numbers(value)
            if alike:
                tolerance = (rough or {}).get(theirs, rtol)
                np.testing.assert_allclose(mine, value, tolerance, err_msg=package)
                verdict = f"same, to {tolerance:.0e}".replace("e-0", "e-")
            else:
                verdict = f"theirs: {listed(value)}\nours: {listed(mine)}"
            values[NAMES[package]] = value
            rows.append((NAMES[package], words(theirs), our_words, verdict, source))
        return Table(task, rows, values)


def _with(function: Callable[..., Any], package: str) -> Any:
    return function(importlib.import_module(package))


class Table:
    """What notebooks show of a task; ``theirs`` has the values, by the name of the library."""

    def __init__(
        self, task: str, rows: list[tuple[str, ...]], theirs: dict[str, np.ndarray]
    ) -> None:
        self.task, self.rows, self.theirs = task, rows, theirs

    def __repr__(self) -> str:
        lines = (f"  {who}: {'; '.join(v.splitlines())} ({s})" for who, _, _, v, s in self.rows)
        return "\n".join([self.task, *lines])

    def _repr_html_(self) -> str:
        head = "".join(f"<th style='text-align:left'>{h}</th>" for h in ("", "theirs", "ours", ""))
        return f"<table><tr>{head}</tr>{''.join(map(_row, self.rows))}</table>"


_CODE = "margin:0;background:none;white-space:pre-wrap;word-break:normal;font:12px/1.3 monospace"


def _row(row: tuple[str, ...]) -> str:
    who, theirs, ours, verdict, source = (html.escape(text) for text in row)
    cell = "<td style='text-align:left;vertical-align:top'>"
    code = f"<pre style='{_CODE}'>"
    result = f"{verdict}<br><i>{source}</i>".replace("\n", "<br>")
    return (
        f"<tr>{cell}<b>{who}</b></td>{cell}{code}{theirs}</pre></td>"
        f"{cell}{code}{ours}</pre></td>{cell}{result}</td></tr>"
    )


def words(function: Callable[[], Any]) -> str:
    """The last paragraph of a function's code: what comes before it are the formula and imports."""
    paragraph = inspect.getsource(function).rstrip().rpartition("\n\n")[2]
    lines = [line for line in paragraph.splitlines() if not line.startswith("def ")]
    return textwrap.dedent("\n".join(lines)).replace("return ", "")


def numbers(value: Any) -> np.ndarray:
    """All numbers of nested lists, tuples and arrays, in one row."""
    return np.array(list(_leaves(value)), dtype=float)


def _leaves(value: Any) -> Iterator[float]:
    if isinstance(value, list | tuple):
        for part in value:
            yield from _leaves(part)
    else:
        yield from np.asarray(value, dtype=float).ravel()


def listed(values: np.ndarray) -> str:
    """The values as a reader has them: ``0, 1/2, nan``."""
    return ", ".join("1/2" if x == 0.5 else f"{x:.6g}" for x in values)
