"""The page on speed, docs/speed.md: update its table, and draw a chart of the table.

``python -m benchmarks.page`` draws docs/images/speed.svg from the table in the page.  With
``--table out/bench/bench.md`` it first copies the table of a run of ``make bench`` into the page.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.report import FIRST_COLUMN

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "speed.md"
CHART = ROOT / "docs" / "images" / "speed.svg"

LOW, HIGH = -3, 2
"""The powers of ten at the ends of an axis; ratios beyond them are arrows at its ends."""

NAMES, PANEL, GAP, ROW, TOP, BOTTOM = 344, 104, 12, 17, 84, 26
"""Pixels: the column of names, a peer's panel, the gap after it, a row, the space around rows."""


@dataclass(frozen=True)
class Table:
    """Ratios by peer: for the NumPy backend and for machine code, or none."""

    peers: list[str]
    rows: dict[str, list[list[float]]]


def lines(text: str) -> list[str]:
    """Return the lines of the table of ratios in a text; raise ValueError if there is none."""
    rest = text.splitlines()
    starts = [k for k, line in enumerate(rest) if line.startswith(f"| {FIRST_COLUMN} |")]
    if len(starts) != 1:
        raise ValueError(f"{len(starts)} tables start with '| {FIRST_COLUMN} |', expected one")
    begin = end = starts[0]
    while end < len(rest) and rest[end].startswith("|"):
        end += 1
    return rest[begin:end]


def read(text: str) -> Table:
    r"""Parse the table of ratios in a text.

    >>> read("| a call of | NumPy by hand | CasADi |\n|---|---:|---:|\n| f: value | 1 / 0.5 |  |")
    Table(peers=['NumPy by hand', 'CasADi'], rows={'f: value': [[1.0, 0.5], []]})
    """
    (_, *peers), _, *body = (
        [cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")]
        for line in lines(text)
    )
    rows = {
        name: [[float(ratio) for ratio in cell.split("/") if ratio.strip()] for cell in cells]
        for name, *cells in body
    }
    return Table([peer.strip("`") for peer in peers], rows)


def replaced(page: str, table: str) -> str:
    """Replace the table of ratios in a page."""
    return page.replace("\n".join(lines(page)), "\n".join(lines(table)))


def chart(table: Table) -> str:
    """Draw the table as SVG: a panel for each peer, a row for each workload.

    The SVG is written as text, so that no version of a library changes the file.
    """
    width = NAMES + len(table.peers) * (PANEL + GAP)
    height = TOP + ROW * len(table.rows) + BOTTOM
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-family="Helvetica, Arial, sans-serif">',
        "<title>Time of a call of symdiff divided by the time of other libraries</title>",
        f'<rect width="{width}" height="{height}" fill="white"/>',
        _text(8, 22, "Time of a call: symdiff / the other library", 14, weight="bold"),
        '<circle class="key" cx="360" cy="17.5" r="3.5" fill="white" stroke="#1f5fa8"/>',
        _text(369, 22, "NumPy back end", 12),
        '<circle class="key" cx="492" cy="17.5" r="3.5" fill="#1f5fa8" stroke="#1f5fa8"/>',
        _text(501, 22, "machine code", 12),
        _text(612, 22, "green: symdiff takes less time; arrows: beyond the axis", 12),
    ]
    for k, peer in enumerate(table.peers):
        parts += _panel(NAMES + k * (PANEL + GAP), peer, [row[k] for row in table.rows.values()])
    for k, name in enumerate(table.rows):
        label = name.rpartition(": ")[0] or name
        parts.append(_text(NAMES - 10, TOP + ROW * k + 12.5, label, 11, anchor="end"))
    return "\n".join([*parts, "</svg>", ""])


def _panel(left: float, peer: str, cells: list[list[float]]) -> Iterator[str]:
    measured = [cell for cell in cells if cell]
    ends = range(max(map(len, measured), default=0))
    less = [sum(cell[k] < 1 for cell in measured if k < len(cell)) for k in ends]
    middle, bottom = left + PANEL / 2, TOP + ROW * len(cells)
    one = _place(left, 1.0)
    yield _text(middle, 50, peer, 12, anchor="middle", weight="bold")
    count = f"less in {' / '.join(map(str, less))} of {len(measured)}"
    yield _text(middle, 64, count, 10, anchor="middle")
    for x, wide, color in ((left, one - left, "#e9f5ec"), (one, left + PANEL - one, "#f4f4f4")):
        yield (
            f'<rect x="{x:.1f}" y="{TOP}" width="{wide:.1f}" height="{bottom - TOP}" '
            f'fill="{color}"/>'
        )
    for power in range(LOW, HIGH + 1):
        x = _place(left, 10.0**power)
        color = "#444444" if power == 0 else "#d0d0d0"
        yield f'<path d="M{x:.1f} {TOP}V{bottom}" stroke="{color}" stroke-width="0.8"/>'
        if power % 2 == 0:
            for y in (TOP - 5, bottom + 13):
                yield _text(x, y, f"{10.0**power:g}", 9, anchor="middle")
    for k, cell in enumerate(cells):
        center = TOP + ROW * k + ROW / 2
        for ratio, fill in zip(cell, ("white", "#1f5fa8"), strict=False):
            yield _mark(left, ratio, center, fill)


def _place(left: float, ratio: float) -> float:
    return left + PANEL * (math.log10(ratio) - LOW) / (HIGH - LOW)


def _mark(left: float, ratio: float, y: float, fill: str) -> str:
    """Draw a circle, or an arrow at the end of the axis for a ratio beyond it."""
    style = f'class="ratio" fill="{fill}" stroke="#1f5fa8"'
    if 10.0**LOW <= ratio <= 10.0**HIGH:
        return f'<circle {style} cx="{_place(left, ratio):.1f}" cy="{y:.1f}" r="3.5"/>'
    x, tip = (left, -6) if ratio < 1 else (left + PANEL, 6)
    return f'<path {style} d="M{x} {y - 3.5:.1f}v7l{tip} -3.5z"/>'


def _text(
    x: float, y: float, text: str, size: int, anchor: str = "start", weight: str = "normal"
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" '
        f'font-weight="{weight}" fill="#222222">{escape(text)}</text>'
    )


def main() -> None:
    """Write the page, if there is a new table, and the chart."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.page", description=__doc__)
    parser.add_argument("--table", type=Path, help="the file with the new table, bench.md")
    options = parser.parse_args()
    page = PAGE.read_text(encoding="utf-8")
    if options.table:
        page = replaced(page, options.table.read_text(encoding="utf-8"))
        PAGE.write_text(page, encoding="utf-8")
    CHART.write_text(chart(read(page)), encoding="utf-8")


if __name__ == "__main__":
    main()
