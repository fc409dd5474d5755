"""Cells with planted faults, and what has to be said of each; ``python -m tests.look --self-test``.

Those without a fault must pass.  All of it is looked at as specimens are.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class Shown:
    """An object that notebooks show by one type."""

    def __init__(self, kind: str, data: Any) -> None:
        self.kind, self.data = kind, data

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return {self.kind: self.data, "text/plain": "planted"}


def _raised() -> None:
    raise ValueError("planted")


def _slider() -> Any:
    from ipywidgets import IntSlider

    return IntSlider(description="planted")


def _figure() -> Any:
    from matplotlib import pyplot

    figure, ax = pyplot.subplots()
    ax.plot([1, 2, 4])
    pyplot.close(figure)  # else it is shown twice
    return figure


def _twice() -> Any:
    from matplotlib import pyplot

    figure, ax = pyplot.subplots()
    ax.plot([1, 2, 4])
    return figure


def _unshown() -> Any:
    from matplotlib.figure import Figure

    return Figure()


def _warned() -> int:
    logging.getLogger("planted").warning("planted")
    return 1


LATEX, HTML, MERMAID, SCRIPT = (
    "text/latex",
    "text/html",
    "text/vnd.mermaid",
    "application/javascript",
)
LONG = " + ".join(f"x_{{{k}}}" for k in range(300))
MANY = "\n".join(f"a --> b{k}[a long label]" for k in range(40))
WIDE = "<td>wide</td>" * 200


def planted() -> dict[str, tuple[Callable[[], Any], str]]:
    """What makes the object of a cell, and a word of the fault that is to be found; "" for none."""

    def shown(kind: str, data: Any) -> Callable[[], Shown]:
        return lambda: Shown(kind, data)

    return {
        "right LaTeX": (shown(LATEX, r"$\displaystyle \frac{x^{2}}{\sin{x}}$"), ""),
        "right HTML": (shown(HTML, r"<table><tr><td>a &lt; b</td><td>$x_1$</td></tr></table>"), ""),
        "right Mermaid": (shown(MERMAID, 'flowchart TD\n a["x &lt; 1"] --> b'), ""),
        "a number": (lambda: 42, ""),
        "a widget": (_slider, ""),
        "a figure": (_figure, ""),
        "an unknown command": (shown(LATEX, r"$\displaystyle x + \nosuchcommand{y}$"), "not known"),
        "an open brace": (shown(LATEX, r"$\displaystyle \frac{x}{y$"), "not typeset"),
        "a missing argument": (shown(LATEX, r"$\displaystyle \frac{x}$"), "MathJax"),
        "an open environment": (shown(LATEX, r"$\begin{aligned} x &= 1$"), "MathJax"),
        "left without right": (shown(LATEX, r"$\left( x + 1$"), "MathJax"),
        "two superscripts": (shown(LATEX, r"$x^1^2$"), "MathJax"),
        "two formulas, one wrong": (shown(HTML, r"<p>$x$ and $\wrong{x}$</p>"), "not known"),
        "dollars that open nothing": (shown(LATEX, r"\begin{aligned} x"), "not typeset"),
        "wrong Mermaid": (shown(MERMAID, "flowchart TD\n a[ --> ((b"), "Mermaid"),
        "a graph too wide to be read": (shown(MERMAID, f"flowchart TD\n{MANY}"), "not legible"),
        "no Mermaid": (shown(MERMAID, "nonsense"), "Mermaid"),
        "a figure without a backend": (_unshown, "as text"),
        "an object without a repr": (object, "as text"),
        "a figure that is shown twice": (_twice, "2 outputs"),
        "an exception": (_raised, "ValueError"),
        "a warning": (_warned, "stderr"),
        "too wide a box": (shown(HTML, '<div style="width: 3000px">wide</div>'), "overflows"),
        "too wide a table": (shown(HTML, f"<table><tr>{WIDE}</tr></table>"), "overflows"),
        "too long a word": (shown(HTML, f"<p>{'wide' * 500}</p>"), "overflows"),
        "too wide a formula": (shown(LATEX, rf"$\displaystyle {{{LONG}}}$"), "overflows"),
        "nothing": (lambda: None, "empty"),
        "empty HTML": (shown(HTML, "<p></p>"), "empty"),
        "a broken image": (shown(HTML, '<img src="data:image/png;base64,AAAA">'), "image"),
        "an error of a script": (shown(SCRIPT, "console.error('planted')"), "console"),
        "a request": (shown(HTML, '<img src="http://192.0.2.1/x.png">'), "request to"),
    }


FORMULAS = {
    r"$\displaystyle x_{1}$": False,
    r"$\displaystyle \frac{x}$": True,
    r"$\displaystyle \frac{a < b}{2}$": False,
    r"$\displaystyle \wrong{x}$": True,
    r"$\displaystyle {x$": True,
}
"""Formulas of one output, and whether something is wrong with each."""
