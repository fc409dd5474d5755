"""The result of ``draw``: a diagram as Mermaid, as a picture, and as Graphviz's text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numeric.show.graph_pictures import figure_of
from numeric.show.pictures import encoded, write
from symdiff.display.diagrams import FAMILIES, one_line

if TYPE_CHECKING:
    from os import PathLike

    from symdiff.display.diagrams import Diagram, Vertex

__all__ = ["Drawing"]


class Drawing:
    """A graph from ``nm.draw``: notebooks draw it; ``str`` and ``source`` are Mermaid.

    JupyterLab 4 draws Mermaid without extensions.  GitHub draws it in ``.md`` files.

    >>> import numeric as nm, symdiff as sd
    >>> nm.draw(sd.sin(sd.symbol("x")))
    <Drawing: 2 vertices, 1 edge; .source is Mermaid, .save("graph.svg") writes a picture>
    """

    def __init__(self, diagram: Diagram) -> None:
        self._diagram = diagram

    @property
    def source(self) -> str:
        """The text of a Mermaid flowchart."""
        return self._diagram.mermaid()

    @property
    def dot(self) -> str:
        """The same graph in Graphviz's language."""
        return _dot(self._diagram)

    def __str__(self) -> str:
        return self.source

    def __repr__(self) -> str:
        counts = len(self._diagram.vertices), len(self._diagram.edges)
        vertices = f"{counts[0]} {'vertex' if counts[0] == 1 else 'vertices'}"
        edges = f"{counts[1]} edge{'s' * (counts[1] != 1)}"
        return (
            f'<Drawing: {vertices}, {edges}; .source is Mermaid, .save("graph.svg") writes a '
            "picture>"
        )

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/vnd.mermaid": self.source, "text/plain": repr(self)}

    def svg(self) -> str:
        """Return the graph as an SVG picture.

        Raises ImportError without Matplotlib, the extra ``viz``.

        >>> import numeric as nm, symdiff as sd
        >>> nm.draw(sd.sin(sd.symbol("x"))).svg().count("sin")
        1
        """
        return encoded(figure_of(self._diagram), "svg", words=True).decode("utf-8")

    def save(self, path: str | PathLike[str]) -> None:
        """Write the graph to a file: ``.png``, ``.svg`` or ``.pdf`` as a picture.

        ``.mmd`` holds Mermaid, ``.md`` Mermaid in Markdown, and ``.dot`` the text for Graphviz.
        Raises TypeError for an object that is not a path, ValueError for another ending, and
        ImportError for a picture without Matplotlib, the extra ``viz``.
        """
        texts = {
            ".mmd": lambda: self.source,
            ".md": lambda: f"```mermaid\n{self.source}```\n",
            ".dot": lambda: self.dot,
        }
        write("draw", path, texts, lambda: figure_of(self._diagram), words=True)


# Graphviz -----------------------------------------------------------------------------------------


def _dot(diagram: Diagram) -> str:
    lines = [
        "digraph {",
        f'  graph [rankdir="{"TB" if diagram.down else "LR"}", bgcolor="white", '
        'fontname="sans-serif", fontsize="11", style="dotted", color="#6b7280"]',
        '  node [fontname="sans-serif", fontsize="11", fontcolor="#111827"]',
        '  edge [fontname="sans-serif", fontsize="10", color="#4b5563"]',
    ]
    lines += [f"  {_box(v)}" for v in diagram.vertices if v.group is None]
    for k, title in enumerate(diagram.groups):
        inside = [f"    {_box(v)}" for v in diagram.vertices if v.group == k]
        if inside:
            lines += [f"  subgraph cluster_{k} {{", f"    label={_quoted(title)}", *inside, "  }"]
    for edge in diagram.edges:
        label = f" [label={_quoted(edge.label)}]" if edge.label else ""
        lines.append(f"  {edge.source} -> {edge.target}{label}")
    return "\n".join([*lines, "}"]) + "\n"


def _box(v: Vertex) -> str:
    style = FAMILIES[v.family]
    shape, _, more = style.shape.partition(", ")
    looks = ["filled", *["rounded"] * (more == "rounded"), *["dashed"] * style.dashed]
    width = ', penwidth="2.5"' if v.result else ""
    doubled = ', peripheries="2"' if more == "doubled" else ""
    return (
        f'{v.name} [label={_quoted(*v.lines)}, shape="{shape}", style="{",".join(looks)}", '
        f'fillcolor="{style.fill}", color="{style.stroke}"{width}{doubled}]'
    )


def _quoted(*lines: str) -> str:
    r"""Write lines of text as a label, safe from escapes like ``\N`` and entities like ``&lt;``."""
    escapes = {"\\": "\\\\", '"': '\\"', "&": "&amp;"}
    texts = ["".join(escapes.get(c, c) for c in one_line(line)) for line in lines]
    return '"' + "\\n".join(texts) + '"'
