"""Plots of a function of one number and its derivatives, one below the other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

import symdiff as sd
from numeric.extras import extra
from numeric.show import pictures
from numeric.show.curves import Curves, curves, precise
from numeric.show.features import Line, events, explored, grid
from numeric.show.limits import described, primes, primes_tex, subscript
from numeric.show.pictures import Picture
from numeric.show.subjects import (
    Slice,
    by_variable,
    formula,
    formula_tex,
    formulas,
    interval,
    numbers,
    numbers_tex,
    places,
    root,
    single,
    spelled,
    values,
    variable,
)
from symdiff.display.printing import short
from symdiff.errors import NotDifferentiable, ShapeError, Unsupported
from symdiff.graph.arguments import door
from symdiff.graph.axes import shape_text
from symdiff.graph.number import shortened
from symdiff.locks import cached_property

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

    from symdiff.graph.expr import Expr

HIGHEST = 8
"""The highest derivative of a picture: each has its own axes."""

MANY = 8
"""The most elements of a function to draw: each has its own colour."""

WIDE = 100.0
"""The distance from 0 up to which features are searched without a given range."""

_STYLES: dict[str, tuple[str, Literal["-", "--", "-.", ":"]]] = {
    "kink": (pictures.ORANGE, "--"),
    "jump": (pictures.PURPLE, ":"),
    "pole": (pictures.INK, "-."),
    "edge": (pictures.GREY, "-"),
    "no limit": (pictures.GREY, ":"),
}


@door
def plot(
    f: object,
    x: object = None,
    order: int = 2,
    *,
    at: object = None,
    range: tuple[float, float] | None = None,
    ax: Axes | Sequence[Axes] | np.ndarray | None = None,
) -> Picture:
    """Draw a function of one number and its derivatives, one below the other.

    The derivatives are exact.  Vertical lines mark kinks (the next derivative jumps), jumps, poles
    and edges of the domain.  Curves end there: no line crosses them.  Points lie so dense that
    curves are right to a two-thousandth of the height.  Where they turn too often for that, a grey
    stripe replaces them.  At ``at`` stand the tangent, the parabola with the same value, slope and
    second derivative, and the values.

    Args:
        f: an expression, a text such as ``"x**2"``, a lowered Function, or a Python function that
            can be called with symbols.  An array of at most 8 elements has a curve for each, and
            so has a list of at most 8 scalar formulas.
        x: the variable: a real symbol, an element such as ``q[0]``, or a name; None if f has only
            one symbol.
        order: the highest derivative, from 0 to 8.
        at: a number, for f of x alone; else the values of all other symbols, by symbol or name,
            and a value of x to mark a point.
        range: the ends of the range; by default around the point, or around 0 up to the edges of
            the domain and the features.
        ax: Matplotlib's axes to draw into: one for all curves, or one for each derivative.

    Raises ValueError for symbols without values, an unknown name, an array variable, and a bad
    range, and ShapeError for an array in a list of formulas.  Raises TypeError for an object
    without a formula, NotDifferentiable where a derivative does not exist, and ImportError without
    Matplotlib, the extra ``viz``.

    >>> import symdiff as sd
    >>> x, y = sd.symbols("x y")
    >>> picture = plot(sd.sqrt(x) * y, x, order=1, at={x: 1, y: 3})
    >>> picture
    <Picture: f(x) = ..., y = 3; edge of the domain of f at x = 0>
    >>> [ax.get_ylabel() for ax in picture.axes]
    ['f(x)', 'f′(x)']
    >>> plot([sd.sin(x), x - x**3 / 6], x, order=0, range=(-3, 3))
    <Picture: f₁(x) = sin(x), f₂(x) = x - x**3/6>
    """
    extra("viz", "plot")
    return drawing(Subject("plot", f, x, order, at), range).drawn(ax)


def drawing(subject: Subject, user_range: object) -> Drawing:
    """Compute the drawing of a subject over a range; choose the range if none is given."""
    low, high = _range(subject, user_range)
    rows = subject.rows(subject.order)
    try:  # the next derivative shows the kinks of the last one
        more = subject.rows(subject.order + 1)
    except (NotDifferentiable, Unsupported):
        more = rows
    features = explored(more, low, high)
    line = replace(features, rows=replace(features.rows, outputs=rows.outputs))
    return Drawing(subject, line, curves(line))


class Subject:
    """A formula, one variable, and values for all other symbols."""

    def __init__(
        self,
        what: str,
        f: object,
        x: object,
        order: int,
        at: object,
        start: float | None = None,
    ) -> None:
        if isinstance(order, bool) or not isinstance(order, int) or not 0 <= order <= HIGHEST:
            raise ValueError(
                f"{what}: order={shortened(order)} is not an integer from 0 to {HIGHEST}"
            )
        self.what, self.order = what, order
        variables = [x] if x is not None else ()
        self.formulas: list[Expr] = []
        if isinstance(f, list | tuple):
            _countable(what, len(f), "formulas")
            self.formulas = formulas(what, f, variables)
        self.f = sd.stack(self.formulas) if self.formulas else formula(what, f, variables)
        self.x = single(what, variable(what, self.f, x))
        self.values = values(what, self.f, [self.x], at, start)
        self.point = self._point()
        (row,) = self.slice([self.f])([0.0 if self.point is None else self.point])
        if not len(row):
            raise ShapeError(f"{what}: f has no elements; its shape is {shape_text(self.f.shape)}")
        _countable(what, len(row), "elements")

    def _point(self) -> float | None:
        """Return the variable's value, or None."""
        s = root(self.x)
        if s not in self.values:
            return None
        return float(self.values[s].flat[places(self.x, self.values[s])[0]])

    def slice(self, outputs: Sequence[Expr]) -> Slice:
        """Return expressions as functions of the variable."""
        return Slice(tuple(outputs), (self.x,), self.values)

    def rows(self, order: int) -> Slice:
        """Return the function and its derivatives up to ``order``."""
        return self.slice([sd.diff(self.f, self.x, k) if k else self.f for k in range(order + 1)])

    @property
    def name(self) -> str:
        """The variable, as it is written."""
        return pictures.fitted(spelled(self.x, self.values), 1, 24)

    @property
    def title(self) -> str:
        """The title: the formula, and the values in it."""
        called = self.labels or [f"f({self.name}) = {short(self.f)}"]
        return ", ".join([*called, *numbers(self.values, [self.x])])

    @property
    def tex(self) -> str:
        """The title in LaTeX; of several formulas, which the legend has, their names."""
        if self.formulas:
            names = [rf"f_{{{k}}}" for k in range(1, len(self.formulas) + 1)]
            names = [rf"{name}\left({self.name_tex}\right)" for name in names]
        else:
            names = [rf"f\left({self.name_tex}\right) = {formula_tex(self.f)}"]
        return r", \quad ".join([*names, *numbers_tex(self.values, [self.x])])

    @property
    def name_tex(self) -> str:
        """The variable in LaTeX."""
        return sd.latex(self.x)

    @cached_property
    def labels(self) -> list[str]:
        """The formulas of several curves."""
        return [
            f"f{subscript(k)}({self.name}) = {short(g)}" for k, g in enumerate(self.formulas, 1)
        ]

    @cached_property
    def labels_tex(self) -> dict[str, str]:
        """The LaTeX of each of the labels."""
        return {
            label: rf"f_{{{k}}}\left({self.name_tex}\right) = {formula_tex(g)}"
            for k, (label, g) in enumerate(zip(self.labels, self.formulas, strict=True), 1)
        }


def _countable(what: str, count: int, kind: str) -> None:
    """Raise ValueError for too many curves."""
    if count > MANY:
        raise ValueError(
            f"{what}: f has {count} {kind}, and more than {MANY} curves cannot be told apart; give "
            "some of them, as f[:3]"
        )


# The range ----------------------------------------------------------------------------------------


def _range(subject: Subject, user_range: object) -> tuple[float, float]:
    """Return the user's range, or choose one; refuse a point outside of it."""
    if user_range is not None:
        pair = by_variable(subject.what, user_range, [subject.x])
        low, high = interval(subject.what, pair if pair is user_range else pair[0])
    else:
        low, high = _usual(subject)
    point = subject.point
    if point is not None and not low <= point <= high:
        raise ValueError(
            f"{subject.what}: {subject.name} = {point!r} is outside of the range "
            f"{low!r} to {high!r}"
        )
    return low, high


def _usual(subject: Subject) -> tuple[float, float]:
    """Choose a range around the point or 0, narrowed to the domain, widened to a few features."""
    if subject.point is not None:
        reach = max(3.0, abs(subject.point))
        low, high = subject.point - reach, subject.point + reach
    else:
        low, high = -4.0, 4.0
        zeros = subject.slice(events(subject.rows(1).outputs))
        wide = _crossed(zeros, -WIDE, WIDE)
        if len(wide) <= 4 and (len(wide) > 1 or not (wide > low).all() or not (wide < high).all()):
            room = 0.5 * float(np.ptp(wide)) or 2.0
            low, high = min(low, float(wide.min()) - room), max(high, float(wide.max()) + room)
    for factor in (1.0, 10.0, 100.0):
        inner = _domain(subject, factor * low, factor * high)
        if inner is not None:
            return inner
    return low, high


def _crossed(zeros: Slice, low: float, high: float) -> np.ndarray:
    """Return the approximate zeros of events."""
    t = grid(low, high)
    zeros_found: list[float] = []
    for row in np.concatenate(zeros(t)) if zeros.outputs else ():
        change = np.flatnonzero(np.sign(row[1:]) * np.sign(row[:-1]) < 0)
        zeros_found += [*t[row == 0].tolist(), *((t[change] + t[change + 1]) / 2).tolist()]
    return np.array(sorted(set(zeros_found)))


def _domain(subject: Subject, low: float, high: float) -> tuple[float, float] | None:
    """Return the part in which the function has values, with margins; None if there is none."""
    t = grid(low, high)
    (values,) = subject.slice([subject.f])(t)
    known = t[np.isfinite(values).any(axis=0)]
    if not len(known):
        return None
    first, last = float(known[0]), float(known[-1])
    room = 0.08 * (last - first) or 1.0
    part = max(low, first - room), min(high, last + room)
    point = subject.point
    return part if point is None else (min(part[0], point), max(part[1], point))


# The drawing --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Drawing:
    """A subject, its features, and its curves."""

    subject: Subject
    line: Line
    curves: Curves

    def drawn(self, ax: Axes | Sequence[Axes] | np.ndarray | None) -> Picture:
        """Draw into new axes, or into the user's."""
        count = len(self.curves.y)
        name, title, tex = self.subject.name, self.subject.title, self.subject.tex
        if ax is None:
            tall = {1: 3.2, 2: 2.2}.get(count, 1.75)
            figure: FigureBase
            figure, axes = pictures.canvas("plot", 1.3 + tall * count, nrows=count, sharex=True)
            pictures.titled(figure, title, tex=tex)
        else:
            axes = pictures.given_axes("plot", ax, count)
            figure = axes[0].figure
            pictures.titled(axes[0], title, tex=tex, size=pictures.TEXT)
        entries: dict[str, Artist] = {}
        for k in range(count):
            self._row(axes[k % len(axes)], k, len(axes) > 1 or count == 1, entries)
        if len(axes) == 1 and count > 1:
            ends = [v for pair in self.curves.heights for v in pair]
            axes[0].set_ylim(min(ends), max(ends))
            pictures.literal(axes[0].set_ylabel("f and derivatives"))
        for one in axes:
            pictures.dressed(one)
            one.set_xlim(self.line.low, self.line.high)
        pictures.literal(axes[-1].set_xlabel(pictures.greek(name)))
        where = axes[0] if ax is not None else figure
        labels = list(entries)
        inside: dict[str, int] = {} if ax is not None else {"ncols": pictures.columns(labels)}
        formulas_of = self.subject.labels_tex
        pictures.legend(where, list(entries.values()), labels, formulas_of, **inside)
        return Picture(figure, axes, title, self.line.marks, self._notes())

    def _row(self, ax: Axes, k: int, alone: bool, entries: dict[str, Artist]) -> None:
        """Draw derivative number k, its marks, and its value at the point."""
        subject, y = self.subject, self.curves.y[k]
        called = f"f{primes(k)}{_argument(pictures.greek(subject.name))}"
        several = len(y) > 1
        for i, element in enumerate(y):
            colour = pictures.COLOURS[i if several else k % len(pictures.COLOURS)]
            (drawn,) = ax.plot(
                self.curves.x,
                element,
                color=colour,
                linewidth=1.8,
                linestyle="-" if alone or not several else ("-", "--", ":", "-.")[k % 4],
                solid_capstyle="butt",
                zorder=3,
            )
            if several and alone:
                entries.setdefault(self._label(i), drawn)
            elif not alone:
                entries[f"{called}{f' element {i}' if several else ''}"] = drawn
        if alone:
            ax.set_ylim(*self.curves.heights[k])
            pictures.literal(ax.set_ylabel(called))
            if k and not subject.formulas:
                output = self.line.rows.outputs[k]
                words = short(output)
                # The name of the curve is at its axis: a size alone says nothing more.
                words = "" if words.startswith("<") else f"f{primes(k)} = {words}"
                part = 0.63 if subject.point is not None else 1.0
                text = ax.set_title("", loc="left", size=pictures.SMALL, color=pictures.GREY)
                tex = f"f{primes_tex(k)} = {formula_tex(output)}"
                short_words = pictures.fitted(words, 1, int(92 * part))
                pictures.formula(text, short_words, tex, part * pictures.width(ax))
        self._marked(ax, k, entries)
        if subject.point is not None:
            self._touched(ax, k, alone, entries)

    def _label(self, i: int) -> str:
        """Return the formula of a curve, or the index of an element of f."""
        if self.subject.labels:
            return self.subject.labels[i]
        shape = [n for n in self.line.rows.outputs[0].shape if isinstance(n, int)]
        return f"element {[int(k) for k in np.unravel_index(i, shape)]}"

    def _marked(self, ax: Axes, k: int, entries: dict[str, Artist]) -> None:
        words = dict(described(self.line.marks, self.subject.name))
        for (kind, order), label in words.items():
            own = [m.x for m in self.line.marks if (m.kind, m.order) == (kind, order)]
            if order <= k:
                colour, style = _STYLES[kind]
                entries[label] = ax.vlines(
                    own,
                    0,
                    1,
                    transform=ax.get_xaxis_transform(),
                    colors=colour,
                    linestyles=style,
                    linewidth=1.4,
                    zorder=2,
                )
        for a, b in self.curves.coarse:
            entries["turns too often to be drawn"] = ax.axvspan(
                a, b, color=pictures.FAINT, zorder=1
            )

    def _touched(self, ax: Axes, k: int, alone: bool, entries: dict[str, Artist]) -> None:
        """Draw the value at the point; for the function also the tangent and the parabola."""
        x = self.subject.point
        assert x is not None
        rows = precise(self.line.rows, x)
        smooth = all(m.x != x or m.broken > 1 for m in self.line.marks)
        name = self.subject.name
        if k == 0 and smooth:
            h = np.linspace(self.line.low, self.line.high, 401) - x
            terms = [np.asarray(row)[:, None] for row in rows[:3]]
            straight = terms[0] + (terms[1] * h if len(terms) > 1 else 0.0)
            styles = [("tangent", straight, "--")] if len(terms) > 1 else []
            several = len(rows[0]) > 1  # several parabolas would look alike
            if (
                len(terms) > 2
                and not several
                and all(m.x != x or m.broken > 2 for m in self.line.marks)
            ):
                styles.append(("parabola", straight + terms[2] * h**2 / 2, ":"))
            for word, lines, style in styles:
                for i, one in enumerate(lines):
                    colour = pictures.COLOURS[i] if several else pictures.INK
                    (drawn,) = ax.plot(
                        x + h, one, color=colour, linestyle=style, linewidth=1.2, zorder=4
                    )
                    entries[f"{word} at {name} = {pictures.number(x)}"] = drawn
        texts = []
        for value in rows[k]:
            if np.isfinite(value):
                ax.plot([x], [value], "o", color=pictures.INK, markersize=5, zorder=5)
            texts.append(pictures.number(float(value)))
        listed = (
            texts[0] if len(texts) == 1 else f"[{', '.join(texts[:4])}{', …' * (len(texts) > 4)}]"
        )
        words = f"f{primes(k)}({pictures.number(x)}) = {listed}"
        if alone:
            pictures.literal(
                ax.set_title(words, loc="right", size=pictures.SMALL + 0.5, color=pictures.INK)
            )
        else:
            entries[words] = ax.plot([], [], "o", color=pictures.INK, markersize=5)[0]

    def _notes(self) -> list[str]:
        marks = [label for _, label in described(self.line.marks, self.subject.name)]
        return [*marks, *(["turns too often to be drawn"] if self.curves.coarse else [])]


def _argument(name: str) -> str:
    """Return the argument of a function if it is short: the axes below have labels, too."""
    return f"({name})" if len(pictures.legible(name)) <= 8 else ""
