"""Steps of a derivative as text, and formulas and values in one line each."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

import symdiff as sd
from symdiff.graph.expr import is_within
from symdiff.graph.leaves import number_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numeric.show.stepwise import Edge, Note, Row, Steps
    from symdiff.graph.expr import Expr

SHOWN = 24
"""The nodes shown without ``full``: half of them next to x, half next to f."""

WIDTH = 100
"""The columns of a text."""

LISTED = 9  # elements up to which an array is written in full
_VALUE = 60  # characters of a matrix
NODES = 60  # nodes of a formula that is written in full
_CLOSED = 60  # characters of a cotangent in the symbols of the formula
_LINE = 110  # characters of a formula in the names of the steps
_ALIGNED = 30  # characters of a formula, up to which values are aligned
_LEFT = 46  # columns of the left part of a line
_CONDITION = 40  # characters of the place of a kink
_TERMS = 6  # contributions that are written as a sum


# Formulas and values ------------------------------------------------------------------------------

_INDEXED = re.compile(r"(\[\w+(?:,\w+)*\]) = (.*)")


def _formula(e: Expr, most: int = _LINE) -> str:
    """Write an expression in one line of bounded length."""
    if is_within(e, NODES):
        line = sd.text(e)
        if "\n" not in line and len(line) <= most:
            return line
    return sd.short(e)


def _equation(name: str, e: Expr, sign: str = "=") -> str:
    """``name = e``, with the axis labels on the left where the notation puts them there."""
    line = _formula(e)
    match = _INDEXED.fullmatch(line)
    return f"{name}{match[1]} {sign} {match[2]}" if match else f"{name} {sign} {line}"


def number(value: Any) -> str:
    """Write a number with six digits, an integer with all.

    >>> number(2.0), number(1 / 3), number(np.True_), number(float("nan"))
    ('2', '0.333333', 'True', 'nan')
    """
    if isinstance(value, bool | np.bool | int | np.integer):
        return str(value)
    return f"{float(value):.6g}"


def shortened(value: object) -> str:
    """Write a value in one line: up to nine elements, or its ends, or its shape and range.

    >>> shortened(np.arange(4.0) / 3), shortened(np.arange(100.0))
    ('[0, 0.3333, 0.6667, 1]', '[0, 1, ..., 98, 99] (100 elements)')
    >>> shortened(np.ones((20, 30)))
    'array of shape (20, 30), from 1 to 1'
    """
    array = np.asarray(value)
    if not array.ndim:
        return number(array[()])
    if array.size > LISTED and array.ndim > 1:
        return _described(array)
    shown = np.array2string(
        array,
        separator=", ",
        threshold=LISTED,
        edgeitems=2,
        max_line_width=10**6,
        formatter={"all": in_short},
    )
    line = re.sub(r"\s*\n\s*", " ", shown)
    if len(line) > _VALUE and array.ndim > 1:
        return _described(array)
    return line if array.size <= LISTED else f"{line} ({array.size} elements)"


def _described(array: np.ndarray) -> str:
    description = f"array of shape {array.shape}"
    if array.dtype == bool:
        return description
    return f"{description}, from {in_short(array.min())} to {in_short(array.max())}"


def in_short(value: Any) -> str:
    """Write an element of an array with four digits."""
    return number(value) if isinstance(value, bool | np.bool) else f"{float(value):.4g}"


def _with_value(line: str, value: object) -> str:
    """Append `` = value`` to a line, unless the line ends with it already."""
    if value is None:
        return line
    text = shortened(value)
    return line if line.endswith(f" {text}") else f"{line} = {text}"


def chosen(steps: Steps, full: bool) -> tuple[list[Expr], list[Expr], int]:
    """Return the nodes shown next to x, those next to f, and the number of nodes between them."""
    nodes = list(steps.nodes)
    if full or len(nodes) <= SHOWN:
        return nodes, [], 0
    half = SHOWN // 2
    return nodes[:half], nodes[-half:], len(nodes) - 2 * half


def left_out(count: int) -> str:
    """Return the line that replaces nodes that are not shown."""
    return f"... {count:,} steps are not shown; full=True shows them, .rows has them"


# Text ---------------------------------------------------------------------------------------------


def text(steps: Steps, full: bool) -> str:
    """Write the steps as text; see ``Steps.text``."""
    near, far, missing = chosen(steps, full)
    if not near:
        return "\n".join([_title(steps), f"does not depend on {sd.short(steps.x)}", *_total(steps)])
    rows = [[steps.row(v) for v in part] for part in (near, far)]
    lines = [_title(steps)]
    if not steps.f.args:  # it is x itself
        return "\n".join([*lines, *_total(steps)])
    fixed = steps.constants([*rows[0], *rows[1]])
    lines += [_with_value(f"  {_equation(n, e)}", value) for n, e, value in fixed]
    lines += ["", "Forward: every node, and its derivative by each operand alone"]
    lines += _forward(steps, [*rows[0], *rows[1]], len(rows[0]), missing)
    lines += [
        "",
        f"Backward: vbar is d{_result(steps)}/dv over all paths, the sum of what v is passed",
    ]
    lines += _backward(steps, rows[1])
    lines += [f"  {left_out(missing)}"] * bool(missing)
    lines += _backward(steps, rows[0])
    return "\n".join([*lines, "", *_total(steps)])


def _result(steps: Steps) -> str:
    return steps.name(steps.f)


def _title(steps: Steps) -> str:
    lines = []
    if words := introduction(steps):
        before, after = words
        lines = list(_wrapped(f"{before} {_formula(steps.of[0])} {after}", 4))
    values = [f"{s.name} = {shortened(v)}" for s, v in steps.symbols() if v is not None]
    line = _equation(_result(steps), steps.f)
    at = f" at {', '.join(values)}" if values else ""
    if len(line + at) <= WIDTH:
        return "\n".join([*lines, line + at])
    lines += [*_wrapped(line, 4), "  at"]
    for value in values:
        if len(lines[-1]) + len(value) > WIDTH:
            lines.append("    ")
        lines[-1] += f" {value},"
    return "\n".join(lines).rstrip(",")


def introduction(steps: Steps) -> tuple[str, str] | None:
    """Return the words before and after f in the line above the steps of a higher order.

    >>> x, y = sd.symbols("x y")
    >>> from numeric.show.stepwise import steps
    >>> introduction(steps(x * y, (x, y)))
    ('The derivative of', 'by x, y is dg/dy, where g is its derivative by x')
    """
    _, variables = steps.of
    if len(variables) == 1:
        return None
    names = [_variable(v) for v in variables]
    name = steps.name(steps.f)
    if steps.f.shape:
        return "The product of the seed and the second derivative of", (
            f"by {', '.join(dict.fromkeys(names))}, where {name} is its gradient by {names[0]}"
        )
    if len(set(variables)) == 1:
        order = len(variables)
        which = "derivative" if order == 2 else f"derivative of order {order - 1}"
        return f"The derivative of order {order} of", (
            f"by {names[-1]} is d{name}/d{names[-1]}, where {name} is its {which}"
        )
    return "The derivative of", (
        f"by {', '.join(names)} is d{name}/d{names[-1]}, where {name} is its derivative by "
        f"{', '.join(names[:-1])}"
    )


def _forward(steps: Steps, rows: Sequence[Row], near: int, missing: int) -> Iterator[str]:
    """Yield the nodes with their formulas on the left, and their derivatives on the right."""
    wide = max((len(r.name) for r in rows if r.node.args), default=0)
    equations = {r.node: _equation(f"{r.name:<{wide}}", r.formula) for r in rows if r.node.args}
    valued = max((len(e) for e in equations.values() if len(e) <= _ALIGNED), default=0)
    cells: list[tuple[str, list[str]]] = []
    for i, row in enumerate(rows):
        if i == near and missing:
            cells.append((f"  {left_out(missing)}", []))
        if not row.node.args:
            continue
        left = row.name if steps.is_named(row.node) else equations[row.node]
        left = left if row.value is None else f"{left:<{valued}} = {shortened(row.value)}"
        cells.append((f"  {left}", [*_derivatives(steps, row), *map(condition, row.notes)]))
    short = [len(left) for left, right in cells if right and len(left) <= _LEFT]
    column = max(short, default=4) + 3
    for left, right in cells:
        if right and len(left) < column:
            yield from _wrapped(f"{left:<{column}}{right[0]}", column + 2)
            right = right[1:]
        else:
            yield from _wrapped(left, 6)
        for line in right:
            yield from _wrapped(" " * column + line, column + 2)


def _wrapped(line: str, indent: int) -> Iterator[str]:
    """Break a line that is too wide before an equals sign, or else at a space."""
    while len(line) > WIDTH:
        place = line.rfind(" = ", indent + 1, WIDTH)
        if place < 0:
            place = line.rfind(" ", indent + 1, WIDTH)
        if place < 0:
            break
        yield line[:place]
        line = " " * indent + line[place + 1 :]
    yield line


def _derivatives(steps: Steps, row: Row) -> list[str]:
    """Write the derivatives by each operand alone."""
    names = [f"d {row.name}/d{edge.operand}{place(row, edge)}" for edge in row.edges]
    wide = max(map(len, names), default=0)
    lines = []
    for name, edge in zip(names, row.edges, strict=True):
        if edge.derivative is None:
            line = _formula(edge.passes)
            match = _INDEXED.fullmatch(line)
            bar = steps.bar(row.node).name
            lines.append(f"{name:<{wide}} takes {bar} to {match[2] if match else line}")
        else:
            constant = number_of(edge.derivative)
            same = edge.derivative.shape and (row.node.shape or constant is not None)
            each = ", each element" if same else ""
            if constant is not None:
                lines.append(f"{name:<{wide}} = {sd.text(sd.constant(constant))}{each}")
                continue
            line = _equation(f"{name:<{wide}}", edge.derivative)
            lines.append(_with_value(line, edge.derivative_value) + each)
    return lines


def place(row: Row, edge: Edge) -> str:
    """Number an operand among equal ones."""
    equal = [e for e in row.edges if e.node is edge.node]
    return f" ({equal.index(edge) + 1})" if len(equal) > 1 else ""


def condition(note: Note) -> str:
    """Describe a condition, and whether the point is outside of the domain or at the kink."""
    line = _formula(note.holds)
    match = _INDEXED.fullmatch(line)
    where = f" {match[2]}, each element" if match else f" {line}"
    if note.kind == "domain":
        return f"needs{where}" + (": not so here" if note.applies else "")
    where = "" if line.startswith("<") or len(where) > _CONDITION else f" where{where}"
    return f"kink of {note.function}{where}" + (", as here: by convention" if note.applies else "")


def _backward(steps: Steps, rows: Sequence[Row]) -> Iterator[str]:
    """Yield the cotangents in reverse order, each followed by its contributions to operands."""
    rules = [len(e.rule) for r in rows for e in r.edges if len(e.rule) <= _LEFT]
    column = 4 + max(rules, default=0) + 3
    names = [len(steps.bar(e.node).name) for r in rows for e in r.edges]
    wide = max((n for n in names if n <= 12), default=0)
    for row in reversed(rows):
        if not row.edges and row.node.args and row.node is not steps.x:
            yield f"  {steps.bar(row.node).name} passes nothing on"
        if not row.edges:
            continue
        yield from _wrapped(f"  {_closed(steps.bar(row.node).name, row)}", 6)
        for edge in row.edges:
            start = f"    {edge.rule}"
            passes = _equation(f"{steps.bar(edge.node).name:<{wide}}", edge.passes, "+=")
            line = _with_value(f"{start:<{column}}{passes}", edge.value)
            if not edge.states and len(start) < column and len(line) <= WIDTH:
                yield line
                continue
            yield from _wrapped(start, 6)
            if edge.states:
                yield from _wrapped(f"      {edge.states}", 6)
            yield from _wrapped(_with_value(f"      {passes}", edge.value), 10)


def _closed(name: str, row: Row) -> str:
    """Write the cotangent in the symbols of the formula if that is short, and its value."""
    line = _equation(name, row.cotangent)
    if row.cotangent_value is not None and (len(line) > _CLOSED or "..." in line):
        return f"{name} = {shortened(row.cotangent_value)}"
    return _with_value(line, row.cotangent_value)


def _variable(x: Expr) -> str:
    return sd.text(x) if is_within(x, NODES) else sd.short(x)


def _total(steps: Steps) -> Iterator[str]:
    variable = _variable(steps.x)
    name = f"d{_result(steps)}/d{variable}"
    line = _equation(name, steps.gradient)
    if steps.value is None or len(_with_value(line, steps.value)) <= WIDTH:
        yield from _wrapped(_with_value(line, steps.value), len(name) + 3)
    else:
        yield from _wrapped(line, len(name) + 3)
        yield f"{' ' * len(name)} = {shortened(steps.value)}"
    values = [value for _, _, value in steps.shares]
    if steps.value is not None and not np.ndim(steps.value) and 1 < len(values) <= _TERMS:
        terms = " + ".join(map(number, values)).replace("+ -", "- ")
        yield f"{' ' * len(name)} = {terms}, the sum of what {variable} is passed"
