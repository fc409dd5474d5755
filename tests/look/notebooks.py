"""The notebooks as a reader opens them: ``python -m tests.look --notebooks [NAME ...]``.

The saved outputs are shown, nothing is executed.  Every cell is asked what is wrong with it, and
pictures of all parts are written.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.look.lab import lab
from tests.notebooks import chosen
from tests.notebooks.execution import written

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.look.lab import Lab, Seen


def notebooks(names: Sequence[str], out: Path, theme: str) -> int:
    """How many cells have faults; names may be paths of files anywhere."""
    files = [Path(name) for name in names if Path(name).suffix == ".ipynb"]
    paths = files or chosen(*names)
    if not paths:
        raise SystemExit(f"no notebook is called {' or '.join(names) or 'anything'}")
    wrong, parts = 0, []
    with lab(theme) as jupyter:
        for path in paths:
            with jupyter.opened(path.stem, path.read_text(encoding="utf-8")) as notebook:
                cells = notebook.cells()
                pictures = notebook.pages(out / path.stem)
            faulty = [cell for cell in cells if cell.faults]
            print(f"{path.stem}: {len(cells) - 1} cells, {len(pictures)} pictures", flush=True)
            for cell in faulty:
                print(f"  {cell.name}: {'; '.join(cell.faults)}", flush=True)
            wrong += len(faulty)
            parts.append(_part(path.stem, pictures, faulty))
    (out / "index.html").write_text(_page(parts), encoding="utf-8")
    print(f"{len(paths)} notebooks, {wrong} cells with faults; pictures: {out / 'index.html'}")
    return wrong


def saved(jupyter: Lab, cells: list[Any], out: Path) -> list[Seen]:
    """What becomes of cells that are opened as one notebook."""
    from nbformat import v4

    with jupyter.opened("cells", written(v4.new_notebook(cells=cells))) as notebook:
        seen = notebook.cells()[:-1]
        notebook.pages(out / "cells")
    return seen


def _part(name: str, pictures: Sequence[Path], faulty: Sequence[Seen]) -> str:
    said = "".join(f"<p>{escape(f'{cell.name}: {cell.faults}')}</p>" for cell in faulty)
    shown = "".join(f'<img src="{escape(path.name)}" alt="">' for path in pictures)
    return f"<section><h2>{escape(name)}</h2>{said}{shown}</section>"


def _page(parts: Sequence[str]) -> str:
    style = "<style>img{display:block;border:1px solid #ccc;margin:1em}</style>"
    head = f'<meta charset="utf-8"><title>notebooks</title>{style}'
    return f"<!doctype html><html><head>{head}</head><body>{''.join(parts)}</body></html>"
