"""A plot with sliders for the point and the parameters, and formulas that follow them."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

import symdiff as sd
from numeric.extras import extra
from numeric.html_tables import NO_FORMULAS, literal
from numeric.show.curves import precise
from numeric.show.limits import primes, primes_tex
from numeric.show.pictures import DOTS, number
from numeric.show.plots import Drawing, Subject, drawing
from numeric.show.subjects import SMALL, interval, places, root
from numeric.show.typesetting import tex_number
from symdiff.display.printing import short
from symdiff.graph.arguments import door
from symdiff.graph.expr import Expr, is_within
from symdiff.graph.number import shortened

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numeric.show.pictures import Picture

STEPS = 200
"""The least steps of a slider, from one end of its range to the other."""

_LARGE = 100
"""The nodes of a formula up to which it is shown."""

_DIGITS = 6
"""The digits of a parameter in a formula."""


@door
def explore(
    f: object,
    x: object = None,
    order: int = 2,
    *,
    at: object = None,
    range: object = None,
) -> Explorer:
    """Draw the picture of ``plot`` with a slider for the point and for every parameter.

    Below the picture stand the derivatives at the point, as formulas and as numbers, the function
    with the values of its parameters, and its Taylor polynomial of this order.  All of it follows
    the sliders.

    Args:
        f: the function or a list of them, as in ``plot``.
        x: the variable, as in ``plot``.
        order: the highest derivative.
        at: the values at which the sliders start, as in ``plot``.  Symbols that are missing start
            at 1, and x in the middle of its range.
        range: the ends of the range of x, or a mapping with the ends for x and for parameters, by
            symbol, element or name.  A parameter moves around its start by default.

    An array of at most 8 elements has a slider for each; a larger one needs a value in ``at``,
    which is fixed.  Raises the errors of ``plot``, ValueError for a start outside of its range, and
    ImportError without ipywidgets or Matplotlib, the extra ``viz``.

    >>> import symdiff as sd
    >>> x, a = sd.symbols("x a")
    >>> explorer = explore(sd.sin(x / a), x, range={x: (-3, 3), a: (0.5, 5)})
    >>> explorer
    <Explorer: f(x) = sin(x/a), a = 1; sliders: x, a>
    >>> explorer.sliders["a"].value = 2
    >>> explorer
    <Explorer: f(x) = sin(x/a), a = 2; sliders: x, a>
    """
    extra("viz", "explore", "ipywidgets")
    extra("viz", "explore")
    return Explorer(Subject("explore", f, x, order, at, start=1.0), range)


class Explorer:
    """A plot that follows sliders: the result of ``explore``.

    A notebook shows the sliders, the picture and the formulas.  ``sliders`` are ipywidgets by name,
    ``picture`` is the present picture and ``html`` the present formulas.  Picture and formulas are
    usual outputs of the cell, so that a saved notebook shows the last ones without a kernel.

    >>> import symdiff as sd
    >>> explorer = explore(sd.symbol("x") ** 2, range=(-1, 3))
    >>> explorer.sliders["x"].value, explorer.picture
    (1.0, <Picture: f(x) = x**2>)
    """

    def __init__(self, subject: Subject, user_range: object) -> None:
        of_x, ranges = _ranges(subject, user_range)
        self._whole = drawing(subject, of_x)
        line = self._whole.line
        start = (line.low + line.high) / 2 if subject.point is None else subject.point
        self._ids = {"picture": f"explore-{uuid4()}", "formulas": f"explore-{uuid4()}"}
        self._parameters = dict(_parameters(subject))
        self.sliders: dict[str, Any] = {subject.name: _slider(subject.name, start, of=line)}
        for name, (s, place) in self._parameters.items():
            value = subject.values[s].flat[place]
            self.sliders[name] = _slider(name, value, ends=ranges.pop(name, None))
        if ranges:
            raise ValueError(
                f"explore: argument 'range' has an entry for {next(iter(ranges))}, which has no "
                f"slider; sliders are for {', '.join(self.sliders)}"
            )
        self._now = self._moved(start)
        self._shown: tuple[Picture, str] | None = None
        for name, slider in self.sliders.items():
            slider.observe(self._follow_point if name == subject.name else self._follow, "value")

    @property
    def picture(self) -> Picture:
        """The picture at the present values of the sliders."""
        return self._present()[0]

    @property
    def html(self) -> str:
        """The formulas at the present values of the sliders, as HTML with LaTeX."""
        return self._present()[1]

    def __repr__(self) -> str:
        return f"<Explorer: {self._now.subject.title}; sliders: {', '.join(self.sliders)}>"

    # Display

    def _ipython_display_(self) -> None:
        shell = _shell()
        if shell is None:  # the formatter takes the picture then
            raise NotImplementedError
        display: Any = import_module("IPython.display").display
        widgets = extra("viz", "explore", "ipywidgets")
        bundle = widgets.VBox(list(self.sliders.values()))._repr_mimebundle_()
        bundle["text/plain"] = f"{self!r} (the sliders need a running kernel)"
        display(bundle, raw=True)
        for part, (data, metadata) in self._parts().items():
            display(data, raw=True, metadata=metadata, display_id=self._ids[part])

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        return self.picture._repr_png_()

    def _parts(self) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
        """Return the outputs of a notebook, and their metadata."""
        picture, html = self._present()
        png, size = picture._repr_png_()
        return {
            "picture": ({"image/png": png, "text/plain": repr(self)}, {"image/png": size}),
            "formulas": ({"text/html": html, "text/plain": repr(self)}, {}),
        }

    # Following the sliders

    def _follow_point(self, _: object) -> None:
        self._now = self._with_point(self._now)
        self._update()

    def _follow(self, _: object) -> None:
        self._now = self._moved(float(self.sliders[self._whole.subject.name].value))
        self._update()

    def _update(self) -> None:
        self._shown = None
        if _shell() is None:
            return
        update_display: Any = import_module("IPython.display").update_display
        # Make all parts before one is shown, so that they always belong together.
        for part, (data, metadata) in self._parts().items():
            update_display(data, raw=True, metadata=metadata, display_id=self._ids[part])

    def _present(self) -> tuple[Picture, str]:
        if self._shown is None:
            self._shown = self._now.drawn(None), explanation(self._now)
        return self._shown

    def _moved(self, x: float) -> Drawing:
        """Return the drawing for the present parameters, in the range of the first one."""
        whole = self._whole
        values = {s: np.array(value) for s, value in whole.subject.values.items()}
        for name, (s, place) in self._parameters.items():
            values[s].flat[place] = self.sliders[name].value
        return drawing(_with(whole.subject, x, values), (whole.line.low, whole.line.high))

    def _with_point(self, now: Drawing) -> Drawing:
        """Return the same curves with another point."""
        x = float(self.sliders[now.subject.name].value)
        return Drawing(_with(now.subject, x, now.subject.values), now.line, now.curves)


def _with(subject: Subject, x: float, values: Mapping[Expr, np.ndarray]) -> Subject:
    moved = copy.copy(subject)
    moved.point, moved.values = x, dict(values)
    return moved


def _shell() -> Any:
    """Return IPython's shell with a kernel, or None."""
    from IPython import get_ipython

    shell = get_ipython()
    return shell if hasattr(shell, "kernel") else None


# Sliders ------------------------------------------------------------------------------------------


def _parameters(subject: Subject) -> Iterator[tuple[str, tuple[Expr, int]]]:
    """Yield the names of numbers other than x, each with its symbol and its place in it."""
    moving = root(subject.x)
    for s, value in subject.values.items():
        if s is moving and not s.shape:
            continue
        own = places(subject.x, value)[0] if s is moving else -1
        for place in np.arange(value.size) if value.size <= SMALL else ():
            if place != own and value.dtype != bool:
                index = [int(k) for k in np.unravel_index(place, value.shape)]
                name = f"{s.name}[{', '.join(map(str, index))}]" if index else str(s.name)
                yield name, (s, int(place))


def _ranges(subject: Subject, user_range: object) -> tuple[object, dict[str, tuple[float, float]]]:
    """Return the user's range of x, or None, and those of parameters by name."""
    if not isinstance(user_range, Mapping):
        return user_range, {}
    ranges: dict[str, tuple[float, float]] = {}
    of_x = None
    for key, ends in user_range.items():
        name = key if isinstance(key, str) else sd.text(key) if isinstance(key, Expr) else None
        if name is None:
            raise TypeError(
                f"explore: argument 'range' has the key {shortened(key)}, which is neither a "
                "symbol, an element of one, nor a name"
            )
        pair = interval("explore", ends)
        if key is subject.x or name == sd.text(subject.x):
            of_x = pair
        else:
            ranges[name] = pair
    return of_x, ranges


def _slider(name: str, value: Any, *, of: Any = None, ends: Any = None) -> Any:
    """Return a slider; raise ValueError for a start outside of its range."""
    widgets = extra("viz", "explore", "ipywidgets")
    whole = of is None and isinstance(value, int | np.integer)
    if of is not None:
        low, high = of.low, of.high
    elif ends is not None:
        low, high = ends
    else:
        reach = 5 if whole else 2 * max(abs(float(value)), 0.5)
        low, high = value - reach, value + reach
    if not low <= value <= high:
        raise ValueError(
            f"explore: {name} = {float(value)!r} is outside of the range {low!r} to {high!r}"
        )
    how = {"description": name, "layout": {"width": f"{8 * DOTS}px"}}
    if whole:
        return widgets.IntSlider(int(value), int(np.ceil(low)), int(high), **how)
    step = round_step((high - low) / STEPS)
    return widgets.FloatSlider(
        float(value), min=low, max=high, step=step, readout_format=".4g", **how
    )


def round_step(most: float) -> float:
    """Return the largest of 1, 2 or 5 times a power of ten that is not above a number.

    Round values of the ends give round values on the slider.

    >>> [round_step(most) for most in (0.03, 1.0, 47.0)]
    [0.02, 1.0, 20.0]
    """
    power = int(np.floor(np.log10(most) + 1e-9))
    size = next(k for k in (5, 2, 1) if k == 1 or float(f"{k}e{power}") <= most * (1 + 1e-9))
    return float(f"{size}e{power}")


# Formulas -----------------------------------------------------------------------------------------

_LEFT = ' style="text-align: left"'


def explanation(there: Drawing) -> str:
    """Write the derivatives at the point, the function and its Taylor polynomial, as HTML."""
    subject, x = there.subject, there.subject.point
    assert x is not None
    values = precise(there.line.rows, x)
    # Outside of the domain there are no derivatives, whatever their formulas give.
    values = [np.where(np.isnan(values[0]), np.nan, value) for value in values]
    outputs = there.line.rows.outputs
    names = [f"f_{{{k}}}" for k in range(1, len(subject.formulas) + 1)] or ["f"]
    variable = sd.latex(subject.x)
    body, below = "", []
    for i, name in enumerate(names):
        part = slice(i, i + 1) if subject.formulas else slice(None)
        formulas = [y[i] if subject.formulas else y for y in outputs]
        for k, (formula, value) in enumerate(zip(formulas, values, strict=True)):
            cells = (
                _math(rf"{name}{primes_tex(k)}\left({variable}\right)"),
                _formula(formula),
                literal(", ".join(number(float(v)) for v in value[part])),
            )
            body += f"<tr>{''.join(f'<td{_LEFT}>{cell}</td>' for cell in cells)}</tr>"
        called = rf"{name}\left({variable}\right)"
        if any(s is not subject.x for s in subject.values):
            below.append(f"{_math(f'{called} =')} {_formula(_numbered(subject, formulas[0]))}")
        series = [value[part] for value in values]
        marked = any(mark.x == x for mark in there.line.marks)
        if not marked and len(series[0]) == 1 and np.isfinite(np.concatenate(series)).all():
            below.append(_math(polynomial(called, [float(v[0]) for v in series], variable, x)))
    heads = ("", "formula", f"at {subject.name} = {number(x)}")
    head = "".join(f"<th{_LEFT}>{_plain(words)}</th>" for words in heads)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    for mark in there.line.marks:
        if mark.x == x:
            where = f"{subject.name} = {number(x)} is at a {mark.kind} of f{primes(mark.order)}"
            below.append(_plain(where))
            break
    return f"<div>{table}{''.join(f'<p>{line}</p>' for line in below)}</div>"


def _numbered(subject: Subject, f: Expr) -> Expr:
    """Put the values of the parameters into a formula."""
    scalars = {
        s: _rounded(value)
        for s, value in subject.values.items()
        if not s.shape and s is not subject.x
    }
    return f.subs(scalars) if scalars else f


def _rounded(value: np.ndarray) -> float | int:
    return float(f"{float(value):.{_DIGITS}g}") if value.dtype.kind == "f" else int(value)


def _formula(f: Expr) -> str:
    return _math(sd.latex(f)) if is_within(f, _LARGE) else _plain(short(f))


def _math(tex: str) -> str:
    return f"${escape(tex, quote=False)}$"


def _plain(words: str) -> str:
    return f'<span class="{NO_FORMULAS}">{literal(words)}</span>'


def polynomial(called: str, values: Sequence[float], name: str, x: float) -> str:
    r"""Write the Taylor polynomial about a point in LaTeX, from the derivatives there.

    >>> print(polynomial("f", [1.0, -2.0, 3.0], "x", 0.5))
    f \approx 1 - 2 \left(x - 0.5\right) + 1.5 \left(x - 0.5\right)^{2}
    >>> print(polynomial("f", [0.0, 1.0, 0.0], "x", 0.0), polynomial("f", [0.0], "x", 1.0))
    f \approx x f \approx 0
    """
    away = tex_number(number(abs(x)))
    step = rf"\left({name} {'-' if x >= 0 else '+'} {away}\right)" if x else name
    terms = ""
    factorial = 1.0
    for k, value in enumerate(values):
        factorial *= k or 1
        if not value:
            continue
        size = tex_number(number(abs(value) / factorial))
        power = "" if not k else step if k == 1 else f"{step}^{{{k}}}"
        factor = f"{size} {power}".strip() if not k or size != "1" else power
        sign = "-" if value < 0 else "+"
        terms += f" {sign} {factor}" if terms else ("-" if value < 0 else "") + factor
    return rf"{called} \approx {terms or 0}"
