"""What the site needs of Sphinx: rooms, drawings, and a check that no public name is missing."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat
from docutils import nodes
from sphinx import addnodes
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from manual import rooms

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

log = logging.getLogger(__name__)


def _titles(text: str) -> list[str]:
    return [title.strip() for title in text.split(";")]


class Room(SphinxDirective):
    """``.. room:: numeric``: the names of a room, or of some of its sections."""

    required_arguments = 1
    option_spec = {"only": _titles, "without": _titles}  # noqa: RUF012

    def run(self) -> list[nodes.Node]:
        """The tables and the entries."""
        (room,) = self.arguments
        known = list(rooms.sections(room))
        only, without = self.options.get("only", known), self.options.get("without", [])
        if missing := {*only, *without} - {*known}:
            raise self.error(f"{room} has no section {', '.join(sorted(missing))}")
        titles = [title for title in known if title in only and title not in without]
        return self.parse_text_to_nodes(rooms.page(room, titles), allow_section_headings=True)


class Mermaid(SphinxDirective):
    """A fence of Mermaid's text, which the page draws."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """The text, for the program that draws."""
        return [nodes.raw("", _drawn("\n".join(self.content)), format="html")]


def _drawn(source: str) -> str:
    return f'<pre class="mermaid">{escape(source, quote=False)}</pre>'


def read_notebook(text: str) -> nbformat.NotebookNode:
    """A notebook whose drawings are HTML, since MyST knows no Mermaid."""
    book: nbformat.NotebookNode = nbformat.reads(text, as_version=4)  # type: ignore[no-untyped-call]
    for cell in book.cells:
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if "text/vnd.mermaid" in data:
                data["text/html"] = _drawn(data.pop("text/vnd.mermaid"))
    return book


def _load_mermaid(app: Sphinx, page: str, _: str, context: dict[str, Any], __: Any) -> None:
    if 'class="mermaid"' in context.get("body", ""):
        app.add_js_file("mermaid.js")
        app.add_js_file(None, body='mermaid.initialize({startOnLoad: true, theme: "neutral"});')


def _close_fences(app: Sphinx, page: str, source: list[str]) -> None:
    """The line that ends a doctest before its fence is no part of what is shown."""
    source[0] = re.sub(r"\n\n( *```)$", r"\n\1", source[0], flags=re.MULTILINE)


def _name_types(app: Sphinx, page: nodes.document) -> None:
    """Types in signatures stand there as the modules name them; several classes have one name."""
    for reference in page.findall(addnodes.pending_xref):
        full = {"Expr": "symdiff.Expr", "Function": "numeric.Function", "Tensor": "numeric.Tensor"}
        if reference.get("refdomain") == "py":
            reference["reftarget"] = full.get(reference["reftarget"], reference["reftarget"])


def _check(app: Sphinx, env: BuildEnvironment) -> None:
    """Every public name of every room has an entry, or a page."""
    domain = env.domains.python_domain
    for room in rooms.ROOMS:
        for name in rooms.names(room):
            full = f"{room}.{name}"
            if full not in domain.objects and full not in domain.modules:
                log.warning("%s is public, and the reference has no entry for it", full)


def _read_alone(app: Sphinx, error: Exception | None) -> None:
    """No page asks a network for what it shows."""
    asks = re.compile(r'<(?:script|link|img|iframe)\b[^>]*?(?:src|href)="((?:https?:)?//[^"]*)')
    for page in sorted(Path(app.outdir).rglob("*.html")) if error is None else []:
        for address in asks.findall(page.read_text(encoding="utf-8")):
            log.warning("%s needs a network: it asks for %s", page.relative_to(app.outdir), address)


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's entry point."""
    app.add_directive("room", Room)
    app.add_directive("mermaid", Mermaid)
    app.connect("source-read", _close_fences)
    app.connect("doctree-read", _name_types)
    app.connect("html-page-context", _load_mermaid)
    app.connect("env-check-consistency", _check)
    app.connect("build-finished", _read_alone)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
