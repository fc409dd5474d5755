"""A point on a slider, with the tangent, the values and their formulas."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np

from numeric.extras import extra
from numeric.html_tables import literal, page
from numeric.show.curves import precise
from numeric.show.limits import primes
from numeric.show.pictures import DOTS, fitted, number
from numeric.show.plots import Drawing, Subject, drawing
from symdiff.display.printing import short
from symdiff.graph.arguments import door

STEPS = 200
"""The steps of the slider, from one end of the range to the other."""

_CELL = 'style="text-align: left; padding: 0 1.5em 0 0"'


@door
def explore(
    f: object,
    x: object = None,
    order: int = 2,
    *,
    at: object = None,
    range: tuple[float, float] | None = None,
) -> Any:
    """Draw the picture of ``plot`` with a slider that moves the point.

    Below the picture stand the derivatives at the point, as formulas and as numbers, and the Taylor
    polynomial of this order.  The curves are computed once.

    Args:
        f: the function, as in ``plot``; the other arguments are those of ``plot``, too.
        x: the variable.
        order: the highest derivative.
        at: the values of all other symbols; a value of x is the start of the slider.
        range: the ends of the range.

    The result is a box of ipywidgets: the slider, the picture and the table.  Raises the errors of
    ``plot``, and ImportError without ipywidgets or Matplotlib, the extra ``viz``.

    >>> import symdiff as sd
    >>> x = sd.symbol("x")
    >>> box = explore(sd.sin(x), x, range=(-3, 3), at=0)
    >>> box.children[0].value = 1.5
    >>> "0.9975" in box.children[2].value
    True
    """
    widgets = extra("viz", "explore", "ipywidgets")
    extra("viz", "explore")
    whole = drawing(Subject("explore", f, x, order, at), range)
    low, high = whole.line.low, whole.line.high
    start = whole.subject.point
    slider = widgets.FloatSlider(
        value=(low + high) / 2 if start is None else start,
        min=low,
        max=high,
        step=(high - low) / STEPS,
        description=whole.subject.name,
        readout_format=".4g",
        layout={"width": f"{8 * DOTS}px"},
    )
    image = widgets.Image(format="png", layout={"width": f"{8 * DOTS}px"})
    table = widgets.HTML()

    def moved(_: object = None) -> None:
        moved_drawing = _moved(whole, float(slider.value))
        # Compute both before either is shown, so that they always belong together.
        picture, words = moved_drawing.drawn(None).encoded(), explanation(moved_drawing)
        image.value, table.value = picture, words

    moved()
    slider.observe(moved, "value")
    return widgets.VBox([slider, image, table])


def _moved(whole: Drawing, x: float) -> Drawing:
    """Return the same curves with another point."""
    subject = copy.copy(whole.subject)
    subject.point = x
    return replace(whole, subject=subject)


def explanation(there: Drawing) -> str:
    """Write the derivatives at the point, and the Taylor polynomial, as HTML."""
    subject, x = there.subject, there.subject.point
    assert x is not None
    rows = precise(there.line.rows, x)
    name = subject.name
    body = ""
    for k, (row, output) in enumerate(zip(rows, there.line.rows.outputs, strict=True)):
        value = ", ".join(number(float(v)) for v in row)
        cells = (f"f{primes(k)}({name})", fitted(short(output), 1, 80), value)
        body += f"<tr>{''.join(f'<td {_CELL}>{literal(cell)}</td>' for cell in cells)}</tr>"
    head = "".join(
        f"<th {_CELL}>{literal(words)}</th>"
        for words in ("", "formula", f"at {name} = {number(x)}")
    )
    parts = [f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"]
    here = [m for m in there.line.marks if m.x == x]
    if here:
        kinds = f"{here[0].kind} of f{primes(here[0].order)}"
        parts.append(f"<p>{literal(f'{name} = {number(x)} is at a {kinds}')}</p>")
    elif len(rows[0]) == 1 and np.isfinite(np.concatenate(rows)).all():
        parts.append(f"<p>{literal(_polynomial([float(row[0]) for row in rows], name, x))}</p>")
    return page(*parts)


def _polynomial(values: list[float], name: str, x: float) -> str:
    """Write the Taylor polynomial about a point.

    >>> _polynomial([1.0, -2.0, 3.0], "x", 0.5)
    'f(x) ≈ 1 − 2·(x − 0.5) + 1.5·(x − 0.5)²'
    """
    step = f"({name} {'−' if x >= 0 else '+'} {number(abs(x))})" if x else name
    terms = [number(values[0])]
    factorial = 1.0
    for k, value in enumerate(values[1:], 1):
        factorial *= k
        power = "" if k == 1 else str(k).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
        terms.append(f"{'−' if value < 0 else '+'} {number(abs(value) / factorial)}·{step}{power}")
    return f"f({fitted(name, 1, 24)}) ≈ {' '.join(terms)}"
