"""The pictures in docs/images of what notebooks show: ``python -m tests.look --pictures``.

Each is a cell with what it shows, as JupyterLab shows it.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from tests.look.lab import ROOT, lab
from tests.notebooks.execution import written

if TYPE_CHECKING:
    from pathlib import Path

IMAGES = ROOT / "docs" / "images"
SETUP = """
import numeric as nm
import symdiff as sd
x, y = sd.symbols("x y")
"""
BELL = "f = sd.exp(-x**2 / 2) * sd.sin(y)\n"
PICTURES = {
    "explained_gradient": BELL + "nm.steps(f, x, at={x: 1, y: 2})",
    "drawn_graph": BELL + 'nm.draw(f, values={x: 1, y: 2}, direction="right")',
}
"""The code of the cells."""

WIDTH, SCALE, COLORS = 940, 2, 96
"""Of the window, in pixels of the page; pixels of the picture for one of these; colours."""

LARGEST = 150_000
"""Bytes of a picture."""


def pictures(out: Path = IMAGES) -> int:
    """How many pictures have faults; those without are written."""
    from nbformat import v4

    out.mkdir(parents=True, exist_ok=True)
    made = v4.new_notebook(cells=[v4.new_code_cell(code) for code in (SETUP, *PICTURES.values())])
    wrong = 0
    with lab() as jupyter, jupyter.opened("pictures", written(made), WIDTH, SCALE) as notebook:
        notebook.run(0)
        for place, name in enumerate(PICTURES, 1):
            seen = notebook.run(place, name)
            data = _reduced(notebook.cell(place))
            if len(data) > LARGEST:
                seen.faults.append(f"{len(data)} bytes, more than {LARGEST}")
            if not seen.faults:
                (out / f"{name}.png").write_bytes(data)
            wrong += bool(seen.faults)
            print(f"{name}: {len(data)} bytes {'; '.join(seen.faults)}")
    return wrong


def _reduced(data: bytes) -> bytes:
    """A picture without its empty borders and with few colours."""
    from PIL import Image, ImageChops, ImageOps  # Matplotlib brings it along

    image = Image.open(io.BytesIO(data)).convert("RGB")
    paper = Image.new("RGB", image.size, image.getpixel((0, 0)))
    image = ImageOps.expand(image.crop(ImageChops.difference(image, paper).getbbox()), 8, "white")
    written = io.BytesIO()
    image.quantize(COLORS).save(written, "png", optimize=True)
    return written.getvalue()
