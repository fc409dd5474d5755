"""Steps of a derivative as LaTeX, and as an HTML table with formulas in LaTeX."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

import symdiff as sd
from numeric.html_tables import NO_FORMULAS, literal
from numeric.show.derivations import (
    LISTED,
    NODES,
    chosen,
    condition,
    in_short,
    introduction,
    left_out,
    number,
    place,
    shortened,
)
from numeric.show.typesetting import tex_number
from symdiff.graph.expr import is_within

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numeric.show.stepwise import Edge, Row, Steps
    from symdiff.graph.expr import Expr

_TEX = 250  # characters of a formula in LaTeX
_DOTS = r"\ldots"
_BREAK = "\x00"  # a possible line break

_CURSOR = r"{\left[\cdot\right]}"
_NUMBERED = re.compile(r"(\\?[A-Za-z]+)(_\{\w+\})")
_UNTEXT = {**{c: "\\" + c for c in "{}$&#_%"}, **dict.fromkeys("\\^~", "?")}


def _words(line: str) -> str:
    r"""Write words inside of a formula.

    >>> print(_words("derivative of f_1 is {x}"))
    \text{derivative of f\_1 is \{x\}}
    """
    return rf"\text{{{''.join(_UNTEXT.get(c, c) for c in line)}}}"


class _Tex:
    """LaTeX of formulas in the names of some steps; cotangents have bars."""

    def __init__(self, steps: Steps, rows: Sequence[Row]) -> None:
        self.steps = steps
        seen = dict.fromkeys(v for row in rows for v in (row.node, *(e.node for e in row.edges)))
        # Typeset a cotangent as one name, which no symbol of the formula has.
        self.bars = {sd.latex(steps.bar(v)): _barred(self.name(v)) for v in seen}

    def name(self, v: Expr) -> str:
        return sd.latex(self.steps.stand_in(v))

    def bar(self, v: Expr) -> str:
        return self.bars[sd.latex(self.steps.bar(v))]

    def of(self, e: Expr) -> str:
        """Write a formula; three dots for a long one, or for one with axis labels of its own."""
        tex = sd.latex(e) if is_within(e, NODES) else ""
        if not tex or len(tex) > _TEX or r"\begin{aligned}" in tex:
            return _DOTS
        for plain, bar in self.bars.items():
            tex = tex.replace(f"{plain}_", f"{{{bar}}}_").replace(plain, bar)
        return tex

    def _split(self, e: Expr) -> tuple[str, str]:
        """Return the axis labels that the notation puts on the left, if any, and the formula."""
        formula = self.of(e)
        if formula.startswith(_CURSOR):
            labels, _, formula = formula[len(_CURSOR) :].partition(" = ")
            return labels, formula
        return "", formula

    def right(self, e: Expr) -> str:
        """Write a formula without the axis labels on the left."""
        return self._split(e)[1]

    def equation(self, name: str, e: Expr, value: object, sign: str = "&=") -> str:
        """Write ``name = e = value``, aligned at the first sign."""
        labels, formula = self._split(e)
        if labels:
            name = rf"\left({name}\right){labels}" if "frac" in name else f"{{{name}}}{labels}"
        line = f"{name} {sign} {formula}"
        shown = formula if value is None else tex_value(value)
        if formula == _DOTS:
            return f"{name} {sign} {shown}"
        return line if shown == formula else f"{line}{_BREAK}= {shown}"


def _barred(name: str) -> str:
    r"""Put a bar on a name, above its letter only if it has an index.

    >>> print(_barred("x"), _barred("t_{12}"))
    \bar{x} \bar{t}_{12}
    """
    match = _NUMBERED.fullmatch(name)
    return rf"\bar{{{match[1]}}}{match[2]}" if match else rf"\bar{{{name}}}"


def tex_value(value: object) -> str:
    r"""Write a value as LaTeX.

    >>> print(tex_value(1.5e-9), tex_value(np.inf), tex_value(np.eye(2)))
    1.5 \cdot 10^{-9} \infty \begin{bmatrix} 1 & 0 \\ 0 & 1 \end{bmatrix}
    """
    array = np.asarray(value)
    if array.ndim > 2 or array.size > LISTED:
        return _words(shortened(value))
    if not array.ndim:
        return tex_number(number(array[()]))
    rows = [[x] for x in array] if array.ndim == 1 else array
    inner = r" \\ ".join(" & ".join(tex_number(in_short(x)) for x in row) for row in rows)
    return rf"\begin{{bmatrix}} {inner} \end{{bmatrix}}"


def latex(steps: Steps, full: bool) -> str:
    """Write the steps as LaTeX; see ``Steps.latex``."""
    near, far, missing = chosen(steps, full)
    parts = [[steps.row(v) for v in part] for part in (near, far)]
    tex = _Tex(steps, [*parts[0], *parts[1]])
    gap = [rf"& {_words(left_out(missing))}"] * bool(missing)
    lines = [
        *(rf"& {line}" for line in _tex_introduction(tex)),
        _tex_title(tex, "&="),
        *_tex_constants(tex, [*parts[0], *parts[1]], "&="),
        *_tex_forward(tex, parts[0]),
        *gap,
        *_tex_forward(tex, parts[1]),
    ]
    lines += [*_tex_backward(tex, parts[1]), *gap, *_tex_backward(tex, parts[0])]
    lines.append(_tex_total(tex, "&="))
    joined = " \\\\\n".join(lines).replace(_BREAK, " ")
    return f"\\begin{{aligned}}\n{joined}\n\\end{{aligned}}"


def _tex_result(tex: _Tex) -> str:
    return tex.name(tex.steps.f) if tex.steps.nodes else "f"


def _tex_introduction(tex: _Tex) -> list[str]:
    words = introduction(tex.steps)
    if words is None:
        return []
    return [rf"{_words(words[0])} \; {tex.of(tex.steps.of[0])} \; {_words(words[1])}"]


def _tex_title(tex: _Tex, sign: str) -> str:
    line = tex.equation(_tex_result(tex), tex.steps.f, None, sign)
    at = [f"{sd.latex(s)} = {tex_value(v)}" for s, v in tex.steps.symbols() if v is not None]
    points = f",{_BREAK}".join(at)
    return rf"{line}{_BREAK}\quad {_words('at')} \quad {points}" if at else line


def _tex_constants(tex: _Tex, rows: Sequence[Row], sign: str) -> list[str]:
    constants = tex.steps.constants(rows)
    return [
        tex.equation(sd.latex(tex.steps.stand_in(e)), e, value, sign) for _, e, value in constants
    ]


def _tex_total(tex: _Tex, sign: str) -> str:
    name = rf"\frac{{d {_tex_result(tex)}}}{{d {sd.latex(tex.steps.x)}}}"
    return tex.equation(name, tex.steps.gradient, tex.steps.value, sign)


def _tex_derivative(tex: _Tex, row: Row, edge: Edge, sign: str) -> str:
    """Write the derivative by one operand alone, or the map of cotangents."""
    if edge.derivative is None:
        return (
            rf"{tex.bar(row.node)} {sign.replace('=', '')}\mapsto{_BREAK}{tex.right(edge.passes)}"
        )
    name = rf"\frac{{\partial {tex.name(row.node)}}}{{\partial {tex.name(edge.node)}}}"
    name += rf"\,\text{{{place(row, edge).strip()}}}" if place(row, edge) else ""
    return tex.equation(name, edge.derivative, edge.derivative_value, sign)


def _tex_step(tex: _Tex, row: Row, sign: str) -> str:
    """Write a node with its formula and value; a symbol, or a part of one, with its value."""
    name = tex.name(row.node)
    if not tex.steps.is_named(row.node):
        return tex.equation(name, row.formula, row.value, sign)
    return name if row.value is None else f"{name}{_BREAK}{sign} {tex_value(row.value)}"


def _tex_forward(tex: _Tex, rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        if row.node.args:
            right = [_tex_derivative(tex, row, edge, "&=") for edge in row.edges]
            right += [rf"& {_words(condition(note))}" for note in row.notes]
            yield _tex_step(tex, row, "&=") + (rf" & \quad {right[0]}" if right else "")
            yield from (rf"& & \quad {line}" for line in right[1:])


def _tex_backward(tex: _Tex, rows: Sequence[Row]) -> Iterator[str]:
    for row in reversed(rows):
        if row.edges:
            yield tex.equation(tex.bar(row.node), row.cotangent, row.cotangent_value)
        for edge in row.edges:
            passes = tex.equation(tex.bar(edge.node), edge.passes, edge.value, r"&\mathrel{+}=")
            yield rf"& {_words(edge.rule)} & \quad {passes}"


# Tables -------------------------------------------------------------------------------------------


class Cell(NamedTuple):
    """A cell of a table: a formula in LaTeX, or lines of words, each strong or not."""

    tex: str = ""
    words: tuple[tuple[str, bool], ...] = ()


class Line(NamedTuple):
    """The rows of a step: its own cell, and two cells for each operand."""

    first: Cell
    rest: tuple[tuple[Cell, Cell], ...]


class Table(NamedTuple):
    """The names of the columns, and the lines."""

    columns: tuple[str, str, str]
    lines: tuple[Line, ...]


class Layout(NamedTuple):
    """The parts of the steps: formulas above, tables, formulas below."""

    above: list[Cell]
    tables: list[Table]
    below: list[Cell]


def layout(steps: Steps, full: bool) -> Layout:
    """Return what a page shows of the steps: nodes, and their contributions in reverse."""
    near, far, missing = chosen(steps, full)
    parts = [[steps.row(v) for v in part] for part in (near, far)]
    tex = _Tex(steps, [*parts[0], *parts[1]])
    gap = [Line(Cell(words=((left_out(missing), False),)), ())] * bool(missing)
    shown = [[row for row in part if row.node.args or row.value is not None] for part in parts]
    forward = [[_forward_line(tex, row) for row in part] for part in shown]
    passing = [[row for row in reversed(part) if row.node is not steps.x] for part in parts[::-1]]
    backward = [[_backward_line(tex, row) for row in part if row.node.args] for part in passing]
    tables = [
        Table(("step", "derivative by each operand alone", ""), (*forward[0], *gap, *forward[1])),
        Table(("cotangent", "rule", "passes on"), (*backward[0], *gap, *backward[1])),
    ]
    lines = [
        *_tex_introduction(tex),
        _tex_title(tex, "="),
        *_tex_constants(tex, [*parts[0], *parts[1]], "="),
    ]
    return Layout(
        list(map(Cell, lines)),
        tables if any(map(any, backward)) else [],
        [Cell(_tex_total(tex, "="))],
    )


def _forward_line(tex: _Tex, row: Row) -> Line:
    derivatives = [Cell(_tex_derivative(tex, row, e, "=")) for e in row.edges] or [Cell()]
    notes = Cell(words=tuple((condition(note), note.applies) for note in row.notes))
    rest = [notes, *(Cell() for _ in derivatives[1:])]
    return Line(Cell(_tex_step(tex, row, "=")), tuple(zip(derivatives, rest, strict=True)))


def _backward_line(tex: _Tex, row: Row) -> Line:
    bar = tex.equation(tex.bar(row.node), row.cotangent, row.cotangent_value, "=")
    passed = [
        (
            Cell(words=tuple((words, False) for words in (e.rule, e.states) if words)),
            Cell(tex.equation(tex.bar(e.node), e.passes, e.value, r"\mathrel{+}=")),
        )
        for e in row.edges
    ]
    return Line(Cell(bar), tuple(passed))


def broken(tex: str) -> list[str]:
    """Split a formula at its possible line breaks."""
    return tex.split(_BREAK)


# HTML ---------------------------------------------------------------------------------------------

_LEFT = ' style="text-align: left; vertical-align: top"'


def html(steps: Steps, full: bool) -> str:
    """Write tables of the nodes, and of their contributions in reverse; see ``Steps.html``."""
    above, tables, below = layout(steps, full)
    first = "".join(f"<p>{_cell(cell)}</p>" for cell in above)
    last = "".join(f"<p>{_cell(cell)}</p>" for cell in below)
    inner = f"{first}{''.join(map(_table, tables))}{last}"
    return f'<div class="symdiff-steps" style="overflow-x: auto">{inner}</div>'


def _table(table: Table) -> str:
    head = "".join(f"<th{_LEFT}>{name}</th>" for name in table.columns)
    rows = "".join(map(_rows, table.lines))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _cell(cell: Cell) -> str:
    if cell.words:
        return "<br>".join(_plain(*line) for line in cell.words)
    return _math(cell.tex) if cell.tex else ""


def _math(line: str) -> str:
    return " ".join(f"${escape(part)}$" for part in broken(line))


def _rows(line: Line) -> str:
    """Write rows of a table that share the first cell."""
    if not line.rest and line.first.words:  # it replaces steps that are not shown
        return f'<tr><td colspan="3"{_LEFT}>{_cell(line.first)}</td></tr>'
    lines = line.rest or ((Cell(), Cell()),)
    cells = [f"<td{_LEFT}>{_cell(a)}</td><td{_LEFT}>{_cell(b)}</td>" for a, b in lines]
    cells[0] = f'<td rowspan="{len(lines)}"{_LEFT}>{_cell(line.first)}</td>{cells[0]}'
    borders = ["border-top: 1px solid #8886", *("" for _ in cells[1:])]
    return "".join(
        f'<tr style="background: none; {border}">{cell}</tr>'
        for border, cell in zip(borders, cells, strict=True)
    )


def _plain(words: str, strong: bool = False) -> str:
    """Write words in which no dollar sign starts a formula."""
    inner = f"<b>{literal(words)}</b>" if strong else literal(words)
    return f'<span class="{NO_FORMULAS}">{inner}</span>'
