"""What every notebook of the manual obeys; each law says what breaks it, and where.

They read the file and execute nothing.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from nbformat import v4

from tests.notebooks.execution import VARIES, written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from nbformat import NotebookNode

ASSERTIONS = 8
"""At least so many claims of a notebook are asserted in it."""

VARYING = 3
"""At most so many of its cells show something else in every run."""

WIDTH, SIZE = 100, 1_500_000
"""Characters of a line that is shown as it is, and of a file."""

NAMES = re.compile(r"[a-z]+(-[a-z0-9]+)+")
"""Ids of cells: those that Jupyter draws at random have no hyphen."""

_RUN = {
    "a path of a machine": re.compile(r"(?<![\w./~:])/(home|root|tmp|work|usr|opt|var|mnt|Users)/"),
    "an address in memory": re.compile(r"\b0x[0-9a-f]{6,}\b"),
    "a time of day": re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\b\d\d:\d\d:\d\d\b"),
}
_ENCODED = re.compile(r"data:[\w/+.-]+;base64,[\w+/=]*")
_FENCED = re.compile(r"^```.*?^```|`[^`\n]+`", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s]+)[^)]*\)")


@dataclass(frozen=True)
class Notebook:
    """A file, and what is in it."""

    path: Path

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def content(self) -> NotebookNode:
        return v4.reads(self.text)  # as it is: nbformat.reads would mend ids

    @property
    def cells(self) -> list[Any]:
        return self.content.cells

    @property
    def code(self) -> list[Any]:
        return [cell for cell in self.cells if cell.cell_type == "code"]

    @property
    def prose(self) -> list[Any]:
        return [cell for cell in self.cells if cell.cell_type == "markdown"]

    def outputs(self) -> Iterator[tuple[Any, Any]]:
        return ((cell, output) for cell in self.code for output in cell.outputs)


def broken(path: Path) -> list[str]:
    """What breaks a law, with the name of the law; nothing for a notebook as it should be."""
    notebook = Notebook(path)
    return [f"{law.__name__}: {said}" for law in LAWS for said in law(notebook)]


def is_written_by_the_command(notebook: Notebook) -> Iterator[str]:
    """Its metadata are few and the same in all; so is the layout of the file."""
    if notebook.text != written(notebook.content):
        yield f"the file is not as `python -m tests.notebooks {notebook.path.stem}` writes it"
    if len(notebook.text) > SIZE:
        yield f"{len(notebook.text)} characters, more than {SIZE}"


def has_named_cells(notebook: Notebook) -> Iterator[str]:
    counted = Counter(cell.id for cell in notebook.cells)
    yield from (f"the id {name} is given {n} times" for name, n in counted.items() if n > 1)
    yield from (f"the id {name} is a random one" for name in counted if not NAMES.fullmatch(name))
    for cell in notebook.cells:
        if not cell.source.strip():
            yield f"{cell.id} is empty"
        if unknown := set(cell.metadata.get("tags", ())) - {VARIES}:
            yield f"{cell.id} has the tags {sorted(unknown)}"


def has_run_in_order(notebook: Notebook) -> Iterator[str]:
    for place, cell in enumerate(notebook.code, 1):
        if cell.execution_count != place:
            yield f"{cell.id} is code cell {place} and was executed as {cell.execution_count}"
    for cell, output in notebook.outputs():
        if output.get("execution_count", cell.execution_count) != cell.execution_count:
            yield f"an output of {cell.id} is of another execution"


def shows_what_it_computes(notebook: Notebook) -> Iterator[str]:
    """The value of a last expression, and what is printed, is saved."""
    for cell in notebook.code:
        last = _tree(cell).body[-1:]
        silent = cell.source.rstrip().endswith(";")
        shown = any(output.output_type != "stream" for output in cell.outputs)
        if last and isinstance(last[0], ast.Expr) and not (shown or silent or _is_call(last[0])):
            yield f"{cell.id} ends with a value, and none is saved"
    if not any(True for _ in notebook.outputs()):
        yield "no output is saved"


def has_neither_errors_nor_warnings(notebook: Notebook) -> Iterator[str]:
    for cell, output in notebook.outputs():
        if output.output_type == "error":
            yield f"{cell.id} raises {output.ename}: {output.evalue}"
        elif output.get("name") == "stderr":
            yield f"{cell.id} writes to stderr: {output.text.strip()}"


def asserts_what_it_claims(notebook: Notebook) -> Iterator[str]:
    count = sum(_asserts(node) for cell in notebook.code for node in ast.walk(_tree(cell)))
    if count < ASSERTIONS:
        yield f"{count} assertions, fewer than {ASSERTIONS}"
    varying = sum(VARIES in cell.metadata.get("tags", ()) for cell in notebook.code)
    if varying > VARYING:
        yield f"{varying} cells vary, more than {VARYING}"


def knows_nothing_of_the_run(notebook: Notebook) -> Iterator[str]:
    for cell in notebook.cells:
        texts = [cell.source, *(text for out in cell.get("outputs", ()) for text in _texts(out))]
        for name, pattern in _RUN.items():
            for text in texts:
                if match := pattern.search(_ENCODED.sub("", text)):
                    yield f"{cell.id} has {name}: {_around(text, match)}"
                    break


def fits_the_page(notebook: Notebook) -> Iterator[str]:
    """Code, and text that nothing richer stands for, has lines that need no scrolling."""
    for cell in notebook.code:
        shown = [out.get("text") or _plain(out) for out in cell.outputs]
        for text in [cell.source, *shown]:
            longest = max(map(len, text.splitlines()), default=0)
            if longest > WIDTH:
                yield f"{cell.id} has a line of {longest} characters, more than {WIDTH}"


def begins_and_ends_for_the_reader(notebook: Notebook) -> Iterator[str]:
    first, last = notebook.cells[0], notebook.cells[-1]
    if first.cell_type != "markdown" or not first.source.startswith("# "):
        yield "does not begin with its title"
    elif not re.search(r"\b(minutes?|hours?)\b", first.source):
        yield "does not say at its beginning how long it takes"
    if last.cell_type != "markdown" or not any(_targets(last)):
        yield "does not end with a link to where the reader goes next"


def links_lead_somewhere(notebook: Notebook) -> Iterator[str]:
    for cell in notebook.prose:
        for target in _targets(cell):
            if not target.startswith("https://"):
                yield from (f"{cell.id}: {said}" for said in _followed(notebook, target))


LAWS: tuple[Callable[[Notebook], Iterator[str]], ...] = (
    is_written_by_the_command,
    has_named_cells,
    has_run_in_order,
    shows_what_it_computes,
    has_neither_errors_nor_warnings,
    asserts_what_it_claims,
    knows_nothing_of_the_run,
    fits_the_page,
    begins_and_ends_for_the_reader,
    links_lead_somewhere,
)


def _tree(cell: Any) -> ast.Module:
    """The code of a cell, without lines that only IPython reads."""
    lines = ["" if line.startswith(("%", "!")) else line for line in cell.source.splitlines()]
    return ast.parse("\n".join(lines))


def _is_call(node: ast.Expr) -> bool:
    """Whether the value may be None, which is not shown."""
    return isinstance(node.value, ast.Call)


def _asserts(node: ast.AST) -> bool:
    called = node.func if isinstance(node, ast.Call) else None
    name = getattr(called, "attr", getattr(called, "id", ""))
    return isinstance(node, ast.Assert) or name.startswith("assert_")


def _texts(output: Any) -> Iterator[str]:
    yield output.get("text", "")
    for kind, value in output.get("data", {}).items():
        if isinstance(value, str) and not (kind.startswith("image/") and "svg" not in kind):
            yield value


def _plain(output: Any) -> str:
    """The text of a value, if it is what is shown."""
    data = output.get("data", {})
    return data.get("text/plain", "") if set(data) <= {"text/plain"} else ""


def _around(text: str, match: re.Match[str]) -> str:
    return text[max(match.start() - 10, 0) : match.end() + 30].replace("\n", " ")


def _targets(cell: Any) -> Iterator[str]:
    return (match[1] for match in _LINK.finditer(_FENCED.sub("", cell.source)))


def _followed(notebook: Notebook, target: str) -> Iterator[str]:
    """What is wrong with a link to a file, or to a heading."""
    name, _, anchor = unquote(target).partition("#")
    path = notebook.path.parent / name if name else notebook.path
    if re.match(r"\w+:", target) or not path.exists():
        yield f"the link {target} leads nowhere"
    elif anchor and anchor not in _anchors(path):
        yield f"{path.name} has no heading for the link {target}"


def _anchors(path: Path) -> set[str]:
    """Of headings, as JupyterLab names them in notebooks and GitHub in Markdown."""
    if path.suffix == ".ipynb":
        texts = "\n".join(cell.source for cell in Notebook(path).prose)
        return {heading.replace(" ", "-") for heading in _headings(texts)}
    headings = _headings(path.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def _headings(text: str) -> list[str]:
    return re.findall(r"^#+ +(.+?) *$", text, re.MULTILINE)
