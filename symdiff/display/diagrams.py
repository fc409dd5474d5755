"""Diagrams: vertices with families, edges and groups, written as Mermaid.

A ``Diagram`` holds what is visible, and knows neither expressions nor layouts.  ``layout`` builds
one from any graph, and all writers read it.  Some texts come from users, and none of them may
leave its label: see ``escaped``.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

# Mermaid's own limits, which GitHub uses, too.  Beyond them it draws nothing.
MOST_CHARACTERS = 50_000
MOST_EDGES = 500

_WIDEST = 48  # the most characters of a line


class Style(NamedTuple):
    """The look of a family: Mermaid's brackets, Graphviz's shape, and colours.

    The text is dark on a light ground, so that it is readable on every page.
    """

    brackets: tuple[str, str]
    shape: str
    fill: str
    stroke: str
    dashed: bool = False


FAMILIES = {
    "leaf": Style(("([", "])"), "ellipse", "#dbeafe", "#1d4ed8"),
    "pointwise": Style(("(", ")"), "box, rounded", "#f3f4f6", "#4b5563"),
    "contraction": Style(("[[", "]]"), "box, doubled", "#ede9fe", "#6d28d9"),
    "linear": Style(("[", "]"), "box", "#d1fae5", "#047857"),
    "opaque": Style(("{{", "}}"), "hexagon", "#ffedd5", "#c2410c"),
    "barrier": Style((">", "]"), "octagon", "#fee2e2", "#b91c1c"),
    "operation": Style(("(", ")"), "box, rounded", "#f3f4f6", "#4b5563"),
    "accumulation": Style(("{{", "}}"), "hexagon", "#d1fae5", "#047857"),
    "folded": Style(("[", "]"), "box", "#ffffff", "#6b7280", dashed=True),
}
"""The families of vertices by Mermaid's class names: of expressions, then of records."""


class Vertex(NamedTuple):
    """A vertex: lines of text, its family, its group, and whether it is a result."""

    name: str
    lines: tuple[str, ...]
    family: str
    group: int | None = None
    result: bool = False


class Edge(NamedTuple):
    """An arrow between the vertices with these names."""

    source: str
    target: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class Diagram:
    """Vertices, edges between them and the titles of groups; ``down``: from top to bottom."""

    vertices: tuple[Vertex, ...]
    edges: tuple[Edge, ...]
    groups: tuple[str, ...] = ()
    down: bool = True

    def reversed(self) -> Diagram:
        """The diagram with all arrows reversed."""
        turned = tuple(Edge(edge.target, edge.source, edge.label) for edge in self.edges)
        return Diagram(self.vertices, turned, self.groups, self.down)

    def fits(self) -> bool:
        """Whether Mermaid can draw it."""
        return len(self.edges) <= MOST_EDGES and len(self.mermaid()) <= MOST_CHARACTERS

    def mermaid(self) -> str:
        """The flowchart as Mermaid's text."""
        lines = ["flowchart TD" if self.down else "flowchart LR"]
        lines += [_declared(v, "  ") for v in self.vertices if v.group is None]
        for k, title in enumerate(self.groups):
            inside = [_declared(v, "    ") for v in self.vertices if v.group == k]
            if inside:
                lines += [f'  subgraph g{k}["{escaped(title)}"]', *inside, "  end"]
                lines.append(f"  class g{k} group")
        lines += [_arrow(edge) for edge in self.edges]
        results = [v.name for v in self.vertices if v.result]
        if results:
            lines.append(f"  class {','.join(results)} result")
        used = {v.family for v in self.vertices}
        for family, style in FAMILIES.items():
            if family in used:
                dashes = ",stroke-dasharray:4 3" if style.dashed else ""
                lines.append(
                    f"  classDef {family} fill:{style.fill},stroke:{style.stroke},"
                    f"color:#111827{dashes}"
                )
        lines.append("  classDef result stroke-width:3px")
        if self.groups:
            lines.append("  classDef group fill:none,stroke:#6b7280,stroke-dasharray:2 2")
        return "\n".join(lines) + "\n"


def _declared(v: Vertex, indent: str) -> str:
    before, after = FAMILIES[v.family].brackets
    text = "<br>".join(map(escaped, v.lines))
    return f'{indent}{v.name}{before}"{text}"{after}:::{v.family}'


def _arrow(edge: Edge) -> str:
    label = f'|"{escaped(edge.label)}"|' if edge.label else ""
    return f"  {edge.source} -->{label} {edge.target}"


# Text ---------------------------------------------------------------------------------------------

# ASCII signs without a meaning in Mermaid, HTML or Markdown, in every position; and other signs
# that must be written as numbers: see _READ_LATE.
_HARMLESS = frozenset(" ,()/=")
_CODE = frozenset("ﬂ°¶ß\u2060")
# Patterns that Mermaid reads after it decodes numbers: formulas, icons, its own code for numbers.
_READ_LATE = re.compile(r"\$(?=\$)|:(?=fa-)|ﬂ(?=°)|¶(?=ß)")

_FIXED = "\u202f"  # a no-break space; XML lacks an entity for the usual one


def one_line(text: str) -> str:
    """``text`` on one line of bounded length, without invisible signs or changes of direction."""
    seen = " ".join(text[: 4 * _WIDEST].split())
    seen = "".join("\ufffd" if unicodedata.category(c)[0] == "C" else c for c in seen)
    return seen if len(seen) <= _WIDEST else seen[: _WIDEST - 1] + "…"


def escaped(text: str) -> str:
    """Escape ``text`` for a label in quotes: neither Mermaid, HTML nor Markdown may read it.

    Signs that may have a meaning are written by their numbers, such as ``#34;`` for a quote.
    Mermaid decodes numbers last.  A sign without width separates patterns that it reads after that.
    No line break is inside of an array.

    >>> escaped('x"]-->y')
    'x#34;#93;#45;#45;#62;y'
    """
    text = _READ_LATE.sub(lambda match: match[0] + "\u2060", one_line(text)) or _FIXED
    if "[" in text:
        text = re.sub("([,=]) ", rf"\1{_FIXED}", text)
    return "".join(
        c if _is_plain(c) or _is_inside(text, k) else f"#{ord(c)};" for k, c in enumerate(text)
    )


def _is_plain(c: str) -> bool:
    return c not in _CODE if c > "\x7f" else c.isalnum() or c in _HARMLESS


def _is_inside(text: str, k: int) -> bool:
    """Whether this is a point between digits or a line inside a name: neither list nor emphasis."""
    if not 0 < k < len(text) - 1:
        return False
    around = text[k - 1] + text[k + 1]
    if not all(map(_is_plain, around)):  # an escaped neighbour would be digits
        return False
    return (text[k] == "." and around.isdigit()) or (text[k] == "_" and around.isalnum())


def listed(names: Iterable[str], most: int = 4) -> str:
    """List a few names, and the number of the others.

    >>> listed("abcdefg")
    'a, b, c, d and 3 more'
    """
    texts = list(names)
    rest = len(texts) - most
    return ", ".join(texts[:most]) + (f" and {rest} more" if rest > 0 else "")
