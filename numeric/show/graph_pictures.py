"""Diagrams as figures of Matplotlib: boxes by family, arrows, and frames of groups."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.extras import extra
from numeric.show import pictures
from numeric.show.layered import placed
from symdiff.display.diagrams import FAMILIES, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from numeric.show.layered import Point
    from symdiff.display.diagrams import Diagram, Vertex

_SIZE, _LINE = 11.0, 15.0  # points of a text, and of a line of it
_LABEL = 9.5  # points of the text at an edge
_PAD = 10.0  # around the text of a vertex
_GAPS = (26.0, 34.0)  # between vertices of a layer, and between layers
_HEAD = 7.0  # the length of an arrow's head
_MARGIN = 16.0  # around the picture
_FRAME = 14.0  # between a frame and the vertices in it
_TEXT, _EDGE, _GROUP = "#111827", "#4b5563", "#6b7280"


def figure_of(diagram: Diagram) -> Figure:
    """Return a figure of a diagram; raises ImportError without Matplotlib, the extra ``viz``."""
    extra("viz", "draw")
    lines = [[pictures.legible(one_line(line)) for line in v.lines] for v in diagram.vertices]
    sizes = [_size(v, texts) for v, texts in zip(diagram.vertices, lines, strict=True)]
    places = {v.name: k for k, v in enumerate(diagram.vertices)}
    ends = [(places[edge.source], places[edge.target]) for edge in diagram.edges]
    groups = [-1 if v.group is None else v.group for v in diagram.vertices]
    framed = len(diagram.groups) > 0
    gaps = (_GAPS[0] + 2 * _FRAME * framed, _GAPS[1])
    if diagram.down:
        centres, ways = placed(sizes, ends, groups, gaps)
    else:  # the same with the axes exchanged
        labels = max((pictures.length(edge.label, _LABEL) for edge in diagram.edges), default=0.0)
        turned = [(high, wide) for wide, high in sizes]
        centres, ways = placed(turned, ends, groups, (gaps[0], gaps[1] + labels))
        centres = [(y, x) for x, y in centres]
        ways = [[(y, x) for x, y in way] for way in ways]
    corners = np.array(
        [
            (x + s * wide / 2, y + s * high / 2)
            for (x, y), (wide, high) in zip(centres, sizes, strict=True)
            for s in (-1, 1)
        ]
        + [point for way in ways for point in way]
    )
    room = _MARGIN + framed * (_FRAME + _LINE)
    low, high = corners.min(axis=0) - room, corners.max(axis=0) + room
    figure = pictures.sheet(*(high - low))
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set(xlim=(low[0], high[0]), ylim=(high[1], low[1]))
    ax.set_axis_off()
    for k, title in enumerate(diagram.groups):
        members = [j for j, group in enumerate(groups) if group == k]
        if members:
            _frame(ax, title, [(*centres[j], *sizes[j]) for j in members])
    users, operands = Counter(a for a, _ in ends), Counter(b for _, b in ends)
    for edge, way, (a, b) in zip(diagram.edges, ways, ends, strict=True):
        # Labels stand at the end at which fewer edges meet.
        late = users[a] > operands[b]
        _arrow(ax, edge.label, late, way, sizes[a], sizes[b], diagram.down)
    for v, texts, centre, size in zip(diagram.vertices, lines, centres, sizes, strict=True):
        _box(ax, v, texts, centre, size)
    return figure


def _size(v: Vertex, lines: Sequence[str]) -> Point:
    """Return width and height of a vertex."""
    wide = max((pictures.length(line, _SIZE) for line in lines), default=0.0) + 2 * _PAD
    # The pointed and round sides of these need more space.
    wide += {"ellipse": 8.0, "hexagon": 16.0, "octagon": 10.0}.get(FAMILIES[v.family].shape, 0.0)
    return max(wide, 36.0), _LINE * len(lines) + _PAD


def _write(ax: Axes, x: float, y: float, line: str, **how: Any) -> None:
    how = {"size": _SIZE, "color": _TEXT, "ha": "center", "va": "center"} | how
    text: Any = ax.text  # Matplotlib's stubs do not know that all of these are properties
    pictures.literal(text(x, y, pictures.legible(line), **how))


def _box(ax: Axes, v: Vertex, lines: Sequence[str], centre: Point, size: Point) -> None:
    from matplotlib.patches import FancyBboxPatch, Polygon

    style = FAMILIES[v.family]
    shape, _, more = style.shape.partition(", ")
    (x, y), (wide, high) = centre, size
    left, top = x - wide / 2, y - high / 2
    looks: dict[str, Any] = {
        "facecolor": style.fill,
        "edgecolor": style.stroke,
        "linewidth": 2.5 if v.result else 1.2,
        "linestyle": "--" if style.dashed else "-",
        "zorder": 3,
    }
    cut = {"hexagon": 8.0, "octagon": 6.0}.get(shape, 0.0)
    if cut:
        deep = high / 2 if shape == "hexagon" else cut
        right, bottom = left + wide, top + high
        outline = [(left, top + deep), (left, bottom - deep), (left + cut, bottom)]
        outline += [(right - cut, bottom), (right, bottom - deep), (right, top + deep)]
        outline += [(right - cut, top), (left + cut, top)]
        ax.add_patch(Polygon(outline, **looks))
    else:
        radius = {"ellipse": min(high / 2, 18.0), "box": 5.0 if more == "rounded" else 0.0}[shape]
        kind = f"round,pad=0,rounding_size={radius}" if radius else "square,pad=0"
        ax.add_patch(FancyBboxPatch((left, top), wide, high, boxstyle=kind, **looks))
        if more == "doubled":
            for at in (left + 4, left + wide - 4):
                ax.plot([at, at], [top, top + high], color=style.stroke, linewidth=1, zorder=4)
    for k, line in enumerate(lines):
        _write(ax, x, top + high / 2 + (k - (len(lines) - 1) / 2) * _LINE, line, zorder=5)


def _arrow(
    ax: Axes, label: str, late: bool, way: Sequence[Point], start: Point, end: Point, down: bool
) -> None:
    """Draw an edge as a smooth line from border to border, with its label."""
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path

    axis = 1 if down else 0
    points = np.array(way)
    sign = 1.0 if points[-1, axis] >= points[0, axis] else -1.0
    points[0, axis] += sign * start[axis] / 2
    points[-1, axis] -= sign * (end[axis] / 2 + 1)
    points[-2, axis] -= sign * _HEAD  # so that the head stands upright
    corners, codes = [points[0]], [Path.MOVETO]
    for a, b in pairwise(points):
        half = np.zeros(2)
        half[axis] = 0.45 * (b - a)[axis]
        corners += [a + half, b - half, b]
        codes += [Path.CURVE4] * 3
    ax.add_patch(
        FancyArrowPatch(
            path=Path(np.array(corners), codes),
            arrowstyle=f"-|>,head_length={_HEAD - 1},head_width=3",
            color=_EDGE,
            linewidth=1.1,
            mutation_scale=1,
            zorder=2,
        )
    )
    if label.strip():
        t = 0.7 if late else 0.3
        weights = np.array([(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3])
        x, y = weights @ np.array(corners[-7:-3] if late else corners[3:7])
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
        _write(ax, x, y, one_line(label), size=_LABEL, color=_EDGE, bbox=box, zorder=2.5)


def _frame(ax: Axes, title: str, boxes: Sequence[tuple[float, float, float, float]]) -> None:
    """Draw a frame around the vertices of a group, and its title."""
    from matplotlib.patches import Rectangle

    left = min(x - wide / 2 for x, _, wide, _ in boxes) - _FRAME
    right = max(x + wide / 2 for x, _, wide, _ in boxes) + _FRAME
    top = min(y - high / 2 for _, y, _, high in boxes) - _FRAME
    bottom = max(y + high / 2 for _, y, _, high in boxes) + _FRAME + _LINE
    looks: dict[str, Any] = {"fill": False, "edgecolor": _GROUP, "linestyle": ":", "zorder": 1}
    ax.add_patch(Rectangle((left, top), right - left, bottom - top, **looks))
    # Few edges leave the last vertex, so that the title is free at the bottom.
    _write(ax, left + 6, bottom - 10, one_line(title), ha="left", color=_GROUP)
