"""The steps of a derivative as a figure of Matplotlib: the tables that notebooks show."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from numeric.extras import extra
from numeric.show import pictures
from numeric.show.derivations_tex import broken, layout
from numeric.show.typesetting import FONT, extent, mathtext

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from matplotlib.figure import Figure

    from numeric.show.derivations_tex import Cell, Line, Table
    from numeric.show.stepwise import Steps

_TEXT, _MATH = 10.0, 13.0  # sizes in points, of words and of formulas
_MOST = 380.0  # the width of a cell beyond which it breaks where it may
_LEADING, _PAD = 3.0, 5.0  # between the lines of a cell, and above and below a row
_GAP, _MARGIN = 22.0, 14.0  # between columns, and around the picture


class _Piece(NamedTuple):
    """A line of a cell: its text, its width, and its height above and below the line of letters."""

    text: str
    width: float
    above: float
    below: float
    strong: bool = False

    @property
    def is_math(self) -> bool:
        return self.above != _TEXT


class _Untypeset(Exception):
    """A formula that Matplotlib cannot typeset."""


def figure_of(steps: Steps, full: bool) -> Figure:
    """Return a figure of the steps; raises ImportError without Matplotlib, the extra ``viz``.

    Where Matplotlib cannot typeset one of the formulas, the figure shows the text of the steps.
    """
    extra("viz", "Steps.save")
    try:
        blocks = list(_blocks(steps, full))
    except _Untypeset:
        return _of_text(steps.text(full))
    width = max(sum(block.widths) + _GAP * (len(block.widths) - 1) for block in blocks)
    height = sum(block.height for block in blocks)
    figure, write, rule = _page(width, height)
    y = 0.0
    for block in blocks:
        for row in block.rows:
            if row.ruled:
                rule(y, sum(block.widths) + _GAP * (len(block.widths) - 1))
            x = 0.0
            for pieces, wide in zip(row.cells, block.widths, strict=False):
                baseline = y + _PAD
                for piece in pieces:
                    write(x, baseline + piece.above, piece)
                    baseline += piece.above + piece.below + _LEADING
                x += wide + _GAP
            y += row.height
        y += block.after
    return figure


class _Row(NamedTuple):
    cells: Sequence[Sequence[_Piece]]
    ruled: bool = False

    @property
    def height(self) -> float:
        tall = [sum(p.above + p.below + _LEADING for p in cell) for cell in self.cells]
        return max(tall, default=0.0) + 2 * _PAD


class _Block(NamedTuple):
    rows: Sequence[_Row]
    after: float = 0.0

    @property
    def widths(self) -> list[float]:
        columns = max(len(row.cells) for row in self.rows)
        wide = [0.0] * columns
        for row in self.rows:
            if columns > 1 and len(row.cells) == 1:  # it may reach below all columns
                continue
            for k, cell in enumerate(row.cells):
                wide[k] = max([wide[k], *(piece.width for piece in cell)])
        return wide

    @property
    def height(self) -> float:
        return sum(row.height for row in self.rows) + self.after


def _blocks(steps: Steps, full: bool) -> Iterator[_Block]:
    above, tables, below = layout(steps, full)
    yield _Block([_Row([_pieces(cell)]) for cell in above], 6.0)
    for table in tables:
        yield _Block(list(_table(table)), 12.0)
    yield _Block([_Row([_pieces(cell)]) for cell in below])


def _table(table: Table) -> Iterator[_Row]:
    yield _Row([[_words(name, True)] if name else [] for name in table.columns])
    for line in table.lines:
        yield from _rows(line)


def _rows(line: Line) -> Iterator[_Row]:
    if not line.rest:
        yield _Row([_pieces(line.first)], True)
    for k, (a, b) in enumerate(line.rest):
        yield _Row([_pieces(line.first) if not k else [], _pieces(a), _pieces(b)], not k)


def _pieces(cell: Cell) -> list[_Piece]:
    """Return the lines of a cell; a wide formula breaks where it may."""
    if cell.words:
        return [_words(*line) for line in cell.words]
    if not cell.tex:
        return []
    whole = _formula(" ".join(broken(cell.tex)))
    parts = broken(cell.tex)
    if whole.width <= _MOST or len(parts) == 1:
        return [whole]
    return list(map(_formula, parts))


def _formula(tex: str) -> _Piece:
    text = mathtext(tex)
    if text is None:
        raise _Untypeset
    wide, high, deep = extent(text, _MATH)
    return _Piece(text, wide, high - deep + 0.01, deep)


def _words(line: str, strong: bool = False) -> _Piece:
    line = pictures.legible(line)
    return _Piece(line, pictures.length(line, _TEXT, strong), _TEXT, 0.3 * _TEXT, strong)


def _page(width: float, height: float) -> tuple[Figure, Callable[..., None], Callable[..., None]]:
    """Return an empty figure, and functions that write a piece and draw a line, in points."""
    from matplotlib.lines import Line2D

    wide, high = width + 2 * _MARGIN, height + 2 * _MARGIN
    figure = pictures.sheet(wide, high)

    def place(x: float, y: float) -> tuple[float, float]:
        return (_MARGIN + x) / wide, 1 - (_MARGIN + y) / high

    def write(x: float, y: float, piece: _Piece) -> None:
        text = figure.text(*place(x, y), "", color=pictures.INK, va="baseline", ha="left")
        if piece.is_math:
            text.set(parse_math=True, usetex=False, text=piece.text, size=_MATH)
            text.set_math_fontfamily(FONT)
        else:
            text.set(text=piece.text, size=_TEXT, weight="bold" if piece.strong else "normal")
            pictures.literal(text)

    def rule(y: float, width: float) -> None:
        (left, at), (right, _) = place(0, y), place(width, y)
        line = Line2D([left, right], [at, at], color=pictures.FAINT, linewidth=0.8)
        figure.add_artist(line)

    return figure, write, rule


def _of_text(text: str) -> Figure:
    """Return a figure of a text in letters of equal width."""
    size = 9.0
    lines = [pictures.legible(line) for line in text.splitlines()]
    wide = max(len(line) for line in lines) * 0.61 * size + 2 * _MARGIN
    high = len(lines) * 1.4 * size + 2 * _MARGIN
    figure = pictures.sheet(wide, high)
    for k, line in enumerate(lines):
        y = 1 - (_MARGIN + (k + 0.8) * 1.4 * size) / high
        pictures.literal(
            figure.text(_MARGIN / wide, y, line, size=size, family="monospace", color=pictures.INK)
        )
    return figure
