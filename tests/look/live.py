"""Sliders moved in a browser: ``python -m tests.look --live``.

A notebook of what is explored by hand runs in both themes and in two widths.  A slider is moved by
its keys, and the picture and the formulas in the cell have to follow.  The notebook is saved then,
and opened again without running anything: the last picture and formulas have to be shown.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from tests.look.lab import lab

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tests.look.lab import Lab, Notebook

THEMES = ("light", "dark")
WIDTHS = (1280, 1920)
"""Of the window, in pixels."""

MOVES, PATIENCE = 5, 30
"""The presses of a key; the seconds within which everything follows."""

KINDS = ("image/png", "text/html")
"""What follows a slider."""

SETUP = """
import numpy as np
import numeric as nm
import symdiff as sd
from IPython.display import SVG, Image
x, y, a, w = sd.symbols("x y a omega")
bell = sd.exp(-x**2 / 2) * sd.sin(y) / y
"""
SLIDERS = 1
CELLS = (
    "nm.explore(a * sd.exp(-x / 4) * sd.sin(w * x), x, at={x: 1, w: 2}, range={x: (0, 10)})",
    "nm.explore([sd.sin(a * x), a * x, a * x - (a * x)**3 / 6], x, 1, range=(-3, 3))",
    "nm.plot([sd.sin(x), x, x - x**3 / 6], x, range=(-4, 4))",
    "nm.plot(sd.log(1 + x**2) * sd.cos(3 * x) / (2 + x), x, range=(-1.99, 4))",
    "nm.plot_field(sd.exp(-x**2 - y**2) * x, (x, y))",
    "nm.steps(x * sd.sin(x), x, order=2, at={x: 2})",
    "nm.steps(bell, (x, y), at={x: 1, y: 2})",
    'nm.steps(bell, x, at={x: 1, y: 2}).save("steps.png")\nImage("steps.png", width=900)',
    'nm.draw(bell, values={x: 1, y: 2}).save("graph.png")\nImage("graph.png", width=900)',
    "SVG(nm.draw(bell, x, graph='joint').svg())",
    "nm.tensor([[1.0, 2.0], [3.0, 4.5]], requires_grad=True) * 2",
)


def live(out: Path) -> int:
    """How many cells have faults, in all themes and widths."""
    wrong = 0
    for theme in THEMES:
        with lab(theme) as jupyter:
            for width in WIDTHS:
                name = f"live-{theme}-{width}"
                faults = [*_ran(jupyter, name, width, out), *_again(jupyter, name, width, out)]
                print(f"{name}: {len(faults)} faults", flush=True)
                for fault in faults:
                    print(f"  {fault}", flush=True)
                wrong += len(faults)
    return wrong


def _ran(jupyter: Lab, name: str, width: int, out: Path) -> list[str]:
    """Run the cells, move the sliders, and save the notebook."""
    import nbformat

    cells = [nbformat.v4.new_code_cell(source) for source in (SETUP, *CELLS)]
    made = nbformat.v4.new_notebook(cells=cells)
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    found: list[str] = []
    with jupyter.opened(name, nbformat.writes(made), width) as notebook:
        notebook.run(0)
        for place in range(1, len(cells)):
            seen = notebook.run(place)
            found += [f"cell {place}: {fault}" for fault in seen.faults]
        for place in (SLIDERS, SLIDERS + 1):
            for slider in (0, 1):
                found += [f"cell {place}: {fault}" for fault in _moved(notebook, place, slider)]
        notebook.pages(out / name)
        notebook.page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
        shown = _outputs(notebook, SLIDERS)
    file = jupyter.home / "notebooks" / f"{name}.ipynb"
    saved = json.loads(file.read_text(encoding="utf-8"))["cells"][SLIDERS]["outputs"]
    for kind in KINDS:
        if _of(map(_content, saved), kind) != _of(map(_content, shown), kind):
            found.append(f"the file does not have the last {kind}")
    return found


def _moved(notebook: Notebook, place: int, slider: int) -> list[str]:
    """Move a slider of a cell by its keys; what does not follow."""
    before = [_content(output) for output in _outputs(notebook, place)]
    cell = notebook.page.locator(".jp-Notebook .jp-Cell").nth(place)
    handle = cell.locator(".noUi-handle").nth(slider)
    handle.scroll_into_view_if_needed()
    handle.focus()
    for _ in range(MOVES):
        handle.press("ArrowRight")
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        now = [_content(output) for output in _outputs(notebook, place)]
        still = [k for k in KINDS if _of(now, k) == _of(before, k)]
        if not still:
            break
        notebook.page.wait_for_timeout(100)
    notebook.page.wait_for_timeout(2000)  # until the last move has been answered
    return [f"slider {slider} moves, but not the {kind}" for kind in still]


def _again(jupyter: Lab, name: str, width: int, out: Path) -> list[str]:
    """Open the saved notebook, and run nothing: pictures and formulas are shown."""
    file = jupyter.home / "notebooks" / f"{name}.ipynb"
    with jupyter.opened(f"{name}-saved", file.read_text(encoding="utf-8"), width) as notebook:
        notebook.page.wait_for_timeout(3000)
        notebook.pages(out / f"{name}-saved")
        cell = notebook.page.locator(".jp-Notebook .jp-Cell").nth(SLIDERS)
        pictures = cell.locator(".jp-RenderedImage img").count()
        formulas = cell.locator(".jp-RenderedHTML mjx-container").count()
    missing = ["no picture"] * (not pictures) + ["no formula"] * (not formulas)
    return [f"cell {SLIDERS} of the saved notebook shows {what}" for what in missing]


def _outputs(notebook: Notebook, place: int) -> list[dict[str, Any]]:
    return notebook.page.evaluate(  # type: ignore[no-any-return]
        f"window.jupyterapp.shell.currentWidget.content.widgets[{place}].outputArea.model.toJSON()"
    )


def _content(output: dict[str, Any]) -> dict[str, str]:
    """The data of an output by kind; a file has texts as lists of lines."""
    data = output.get("data", {})
    return {
        kind: ("".join(text) if isinstance(text, list) else str(text)).strip()
        for kind, text in data.items()
    }


def _of(outputs: Iterable[dict[str, str]], kind: str) -> list[str]:
    return [output[kind] for output in outputs if kind in output]
