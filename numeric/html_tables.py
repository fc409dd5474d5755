"""HTML of what notebooks show: everything in it is escaped, and the theme of the page holds."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


NO_FORMULAS = "tex2jax_ignore mathjax_ignore"
"""The classes of HTML in which MathJax looks for no formulas."""


def table(
    rows: Iterable[Sequence[object]],
    head: Sequence[object] = (),
    *,
    named: bool = False,
    words: bool = False,
) -> str:
    r"""Cells as HTML, row by row; lines of a text stay lines.

    Args:
        rows: what is in the cells.
        head: the names of the columns.
        named: whether the first cell of each row is the name of the row.
        words: whether cells are read from the left, as numbers are not.

    >>> table([["x < y", "a\nb"]])
    '<table><tbody><tr><td>x &lt; y</td><td>a<br>b</td></tr></tbody></table>'
    """
    style = ' style="text-align: left"' if words else ""

    def cell(content: object, tag: str) -> str:
        return f"<{tag}{style}>{_lines(content)}</{tag}>"

    def line(row: Sequence[object]) -> str:
        tags = ["th" if named else "td", *["td"] * len(row)]
        return f"<tr>{''.join(map(cell, row, tags))}</tr>"

    above = f"<thead><tr>{''.join(cell(x, 'th') for x in head)}</tr></thead>" if head else ""
    return f"<table>{above}<tbody>{''.join(map(line, rows))}</tbody></table>"


def paragraph(*lines: object) -> str:
    """Lines of text."""
    return f"<p>{'<br>'.join(map(_lines, lines))}</p>"


def headline(line: object) -> str:
    """A line of text that says the most."""
    return f"<p><b>{_lines(line)}</b></p>"


def literal(text: str) -> str:
    r"""A text as HTML, in which nothing is a tag, and nothing opens or closes a formula.

    MathJax finds a formula in text between two of its signs without a tag in it.  A sign is alone
    in a tag here, for pages that do not know the classes that make MathJax pass over a text.

    >>> literal("a $x$"), literal(r"\(x<y\)")
    ('a <span>$</span>x<span>$</span>', '<span>\\</span>(x&lt;y<span>\\</span>)')
    """
    from html import escape

    return _SIGNS.sub(r"<span>\g<0></span>", escape(text))


_SIGNS = re.compile(r"[$\\]")


def _lines(content: object) -> str:
    return literal(str(content)).replace("\n", "<br>")


def page(*parts: str) -> str:
    """The parts of one output, in which nothing is read as LaTeX: dollars are dollars."""
    return f'<div class="{NO_FORMULAS}">{"".join(parts)}</div>'
