"""The site's Sphinx extension: module tables, drawings, and a check of public names."""

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

from manual import public_modules

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

log = logging.getLogger(__name__)


def _titles(text: str) -> list[str]:
    return [title.strip() for title in text.split(";")]


class PublicModule(SphinxDirective):
    """``.. public-module:: numeric`` lists the names of a module, or of some of its sections."""

    required_arguments = 1
    option_spec = {"only": _titles, "without": _titles}  # noqa: RUF012

    def run(self) -> list[nodes.Node]:
        """Return the tables and the entries."""
        (module,) = self.arguments
        known = list(public_modules.sections(module))
        only, without = self.options.get("only", known), self.options.get("without", [])
        if missing := {*only, *without} - {*known}:
            raise self.error(f"{module} has no section {', '.join(sorted(missing))}")
        titles = [title for title in known if title in only and title not in without]
        return self.parse_text_to_nodes(
            public_modules.page(module, titles), allow_section_headings=True
        )


class Mermaid(SphinxDirective):
    """A fence with Mermaid text, which the page draws."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the text in the form that Mermaid's script draws."""
        return [nodes.raw("", _drawn("\n".join(self.content)), format="html")]


def _drawn(source: str) -> str:
    return f'<pre class="mermaid">{escape(source, quote=False)}</pre>'


def read_notebook(text: str) -> nbformat.NotebookNode:
    """Read a notebook and turn its drawings into HTML, because MyST has no Mermaid."""
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
    """Remove the blank line that ends a doctest before its fence."""
    source[0] = re.sub(r"\n\n( *```)$", r"\n\1", source[0], flags=re.MULTILINE)


def _name_types(app: Sphinx, page: nodes.document) -> None:
    """Resolve types in signatures to their full names; several classes share a name."""
    for reference in page.findall(addnodes.pending_xref):
        full = {"Expr": "symdiff.Expr", "Function": "numeric.Function", "Tensor": "numeric.Tensor"}
        if reference.get("refdomain") == "py":
            reference["reftarget"] = full.get(reference["reftarget"], reference["reftarget"])


def _check(app: Sphinx, env: BuildEnvironment) -> None:
    """Warn of public names without an entry or a page."""
    domain = env.domains.python_domain
    for module in public_modules.PUBLIC_MODULES:
        for name in public_modules.names(module):
            full = f"{module}.{name}"
            if full not in domain.objects and full not in domain.modules:
                log.warning("%s is public, and the reference has no entry for it", full)


def _read_alone(app: Sphinx, error: Exception | None) -> None:
    """Warn of pages that load something from a network."""
    asks = re.compile(r'<(?:script|link|img|iframe)\b[^>]*?(?:src|href)="((?:https?:)?//[^"]*)')
    for page in sorted(Path(app.outdir).rglob("*.html")) if error is None else []:
        for address in asks.findall(page.read_text(encoding="utf-8")):
            log.warning("%s needs a network: it asks for %s", page.relative_to(app.outdir), address)


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's entry point."""
    app.add_directive("public-module", PublicModule)
    app.add_directive("mermaid", Mermaid)
    app.connect("source-read", _close_fences)
    app.connect("doctree-read", _name_types)
    app.connect("html-page-context", _load_mermaid)
    app.connect("env-check-consistency", _check)
    app.connect("build-finished", _read_alone)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
