"""Notebooks are executed, saved without what only this run knows, and compared with the saved."""

from __future__ import annotations

import os
import subprocess
import sys
from difflib import unified_diff
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import nbformat
from nbclient import NotebookClient

from tests.notebooks import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

SECONDS = 60
"""Of one cell, at most."""

TEXTS = ("text/plain", "text/html", "text/latex", "text/markdown", "text/vnd.mermaid")
"""Types of outputs that are compared by their text; of others, only that they are there."""

VARIES = "varies"
"""The tag of a cell whose text is another in every run, as a timing is: only its types count."""

WIDGET = "application/vnd.jupyter.widget-view+json"
SHOWN = 12
"""Lines of a difference that are said."""

WATCH = """
from tests.notebooks.figures import watch
watch()
del watch
"""
"""Of every kernel, before the first cell."""

_KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def executed(path: Path) -> nbformat.NotebookNode:
    """The notebook with fresh outputs, from a kernel of its own; the file stays as it is.

    The packages are those of this working tree, what other packages say is read, not asked, and
    no settings of the user are.
    """
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=SECONDS,
        coalesce_streams=True,
        record_timing=False,
        store_widget_state=False,
        resources={"metadata": {"path": str(path.parent)}},
    )
    with TemporaryDirectory(prefix="notebooks-") as home:
        client.execute(env=_environment(home))
    return notebook


def _environment(home: str) -> dict[str, str]:
    """The variables of a kernel; what IPython and Matplotlib write goes to ``home``."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("MPL")}
    places = [str(ROOT), *filter(None, [inherited.get("PYTHONPATH")])]
    ours = {"PYTHONPATH": os.pathsep.join(places), "SYMDIFF_RECORD": "0"}
    made = inherited | ours | {"IPYTHONDIR": home, "MPLCONFIGDIR": home, "MATPLOTLIBRC": home}
    # Its first import makes a list of fonts, and says so on stderr: not in a notebook, then.
    fonts = [sys.executable, "-c", "import matplotlib.font_manager"]
    subprocess.run(fonts, env=made, check=True, capture_output=True)
    startup = Path(home, "profile_default", "startup")
    startup.mkdir(parents=True)
    (startup / "figures.py").write_text(WATCH, encoding="utf-8")
    return made


def written(notebook: nbformat.NotebookNode) -> str:
    """The text of the file: nothing of the run but what the cells show.

    A widget is left out, since it lives in the kernel that made it.
    """
    cells = []
    for cell in notebook.cells:
        kept = {key: cell[key] for key in ("cell_type", "id", "source")}
        tags = cell.metadata.get("tags")
        kept["metadata"] = {"tags": tags} if tags else {}
        if cell.cell_type == "code":
            outputs = [one for one in cell.outputs if WIDGET not in one.get("data", {})]
            kept |= {"execution_count": cell.execution_count, "outputs": outputs}
        cells.append(kept)
    made = {
        "cells": cells,
        "metadata": {"kernelspec": _KERNEL, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return nbformat.v4.writes(nbformat.from_dict(made)) + "\n"


def differences(saved: nbformat.NotebookNode, fresh: nbformat.NotebookNode) -> list[str]:
    """What cells show now and did not when they were saved, by the ids of the cells."""
    found = []
    for before, after in zip(_code(saved), _code(fresh), strict=True):
        varies = VARIES in before.metadata.get("tags", ())
        old, new = (_lines(cell, varies) for cell in (before, after))
        if old != new:
            lines = list(unified_diff(old, new, "saved", "fresh", lineterm="", n=0))
            more = [f"... {len(lines) - SHOWN} lines more"] if len(lines) > SHOWN else []
            found.append("\n  ".join([f"{before.id}:", *lines[:SHOWN], *more]))
    return found


def _code(notebook: nbformat.NotebookNode) -> Iterator[Any]:
    return (cell for cell in notebook.cells if cell.cell_type == "code")


def _lines(cell: Any, varies: bool) -> list[str]:
    """What is compared of the outputs of a cell."""
    lines = []
    for output in cell.outputs:
        if output.output_type == "stream":
            parts = {output.name: output.text}
        elif output.output_type == "error":
            parts = {"error": f"{output.ename}: {output.evalue}"}
        elif WIDGET in output.data:
            continue
        else:
            parts = {kind: output.data[kind] if kind in TEXTS else "" for kind in output.data}
        for kind in sorted(parts):
            lines.append(f"[{kind}]")
            lines += [] if varies else parts[kind].splitlines()
    return lines
