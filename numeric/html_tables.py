"""HTML for notebooks: all text is escaped, and the theme of the page applies."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


NO_FORMULAS = "tex2jax_ignore mathjax_ignore"
"""The classes of HTML in which MathJax searches for no formulas."""


def table(
    rows: Iterable[Sequence[object]],
    head: Sequence[object] = (),
    *,
    named: bool = False,
    words: bool = False,
) -> str:
    r"""Write cells as an HTML table, row by row; keep the lines of a text.

    Args:
        rows: the contents of the cells.
        head: the names of the columns.
        named: whether the first cell of each row is the name of the row.
        words: whether to align cells at the left, as text rather than numbers.

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
    """Write lines of text as a paragraph."""
    return f"<p>{'<br>'.join(map(_lines, lines))}</p>"


def preformatted(text: str) -> str:
    """Write a text in letters of equal width, with its lines and spaces.

    >>> preformatted("a <b>")
    '<pre>a &lt;b&gt;</pre>'
    """
    return f"<pre>{literal(text)}</pre>"


def headline(line: object) -> str:
    """Write the most important line of a text."""
    return f"<p><b>{_lines(line)}</b></p>"


def literal(text: str) -> str:
    r"""Write a text as HTML without tags, in which no sign opens or closes a formula.

    MathJax finds a formula between two of its signs in text without a tag.  So each sign gets its
    own tag, for pages that ignore the classes that keep MathJax out.

    >>> literal("a $x$"), literal(r"\(x<y\)")
    ('a <span>$</span>x<span>$</span>', '<span>\\</span>(x&lt;y<span>\\</span>)')
    """
    from html import escape

    return _SIGNS.sub(r"<span>\g<0></span>", escape(text))


_SIGNS = re.compile(r"[$\\]")


def _lines(content: object) -> str:
    return literal(str(content)).replace("\n", "<br>")


def page(*parts: str) -> str:
    """Join the parts of one output; nothing in it is read as LaTeX."""
    return f'<div class="{NO_FORMULAS}">{"".join(parts)}</div>'
