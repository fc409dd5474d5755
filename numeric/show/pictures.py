"""Pictures: figures outside of pyplot, in colours that everyone can tell apart."""

from __future__ import annotations

import io
import re
import textwrap
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sympy.printing.pretty.pretty_symbology import greek_unicode

from numeric.extras import extra
from numeric.show.typesetting import FONT, typeset
from symdiff.graph.arguments import unfit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend
    from matplotlib.text import Text

    from numeric.show.marks import Mark

# Okabe and Ito, "Color universal design" (2008), without yellow, which is pale on white.
INK, GREY, FAINT = "#222222", "#767676", "#d9d9d9"
BLUE, ORANGE, GREEN, VERMILION, PURPLE, SKY = (
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#d55e00",
    "#cc79a7",
    "#56b4e9",
)
COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, INK, GREY)
"""The colours of curves, in their order."""

WIDTH = 7.5  # inches of a figure
DOTS = 110  # dots of an inch
TEXT, SMALL = 10.0, 8.5  # sizes of text, in points
_LONGEST_LABEL = 420  # points of a formula in a legend
_LONGEST = 92  # characters of size TEXT in the width of a figure


class Picture:
    """A figure of Matplotlib: Jupyter shows it, ``save`` writes it, ``figure`` is the figure.

    ``pyplot`` does not manage it, so it needs no closing.  It is shown where it is the result of a
    cell.  ``axes`` are its axes from top to bottom (the user's axes, if any).  ``marks`` are the
    marks in it, and ``notes`` are further remarks.

    >>> import symdiff as sd, numeric as nm
    >>> x = sd.symbol("x")
    >>> picture = nm.plot(abs(x - 1), x)
    >>> picture, len(picture.axes)
    (<Picture: f(x) = abs(x - 1); kink of f at x = 1>, 3)
    """

    def __init__(
        self,
        figure: Any,
        axes: Sequence[Axes],
        title: str,
        marks: Sequence[Mark] = (),
        notes: Sequence[str] = (),
    ) -> None:
        self.figure, self.axes = figure, tuple(axes)
        self.title, self.marks, self.notes = title, tuple(marks), tuple(notes)

    def __repr__(self) -> str:
        return f"<Picture: {'; '.join([self.title, *self.notes])}>"

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        # Show it in the size of the figure, with twice the dots for dense screens.
        data = self.encoded()
        width, height = _size(data)
        return data, {"width": width // 2, "height": height // 2}

    def encoded(self, kind: str = "png", dpi: float = 2 * DOTS) -> bytes:
        """Return the picture as the bytes of a file: png, svg, pdf.

        >>> import symdiff as sd, numeric as nm
        >>> nm.plot(sd.symbol("x") ** 2, order=0).encoded()[1:4]
        b'PNG'
        """
        return encoded(self.figure, kind, dpi)

    def save(self, path: str | PathLike[str], dpi: float = 2 * DOTS) -> None:
        """Write the picture to a file: ``.png``, ``.svg``, ``.pdf`` or another of Matplotlib's.

        Raises TypeError for an object that is not a path, and ValueError for another ending.
        """
        kinds = self.figure.canvas.get_supported_filetypes()
        write("Picture.save", path, {}, lambda: self.figure, dpi=dpi, kinds=kinds)


def encoded(figure: Any, kind: str, dpi: float = 2 * DOTS, words: bool = False) -> bytes:
    """Return a figure as the bytes of a file.

    Letters of an SVG are paths, which look the same everywhere, or texts, if ``words``.  Equal
    figures give equal bytes.
    """
    from matplotlib import rc_context

    # Matplotlib refuses pictures of 2**16 dots and more.
    dpi = min(dpi, 65_000 / max(*figure.get_size_inches(), 1.0))
    file = io.BytesIO()
    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    letters: Any = {"svg.fonttype": "none" if words else "path", "svg.hashsalt": "symdiff"}
    with rc_context(letters):
        figure.savefig(file, format=kind, dpi=dpi, metadata=undated)
    return file.getvalue()


def write(
    what: str,
    path: str | PathLike[str],
    texts: Mapping[str, Callable[[], str]],
    figure: Callable[[], Figure],
    *,
    words: bool = False,
    dpi: float = 2 * DOTS,
    kinds: Iterable[str] = ("png", "svg", "pdf"),
) -> None:
    """Write a text or a figure to a file, as the ending of its name says.

    Args:
        what: the function for errors.
        path: the file.
        texts: the text for each ending, such as ``.md``.
        figure: the figure, made if the ending is one of ``kinds``.
        words: whether the letters of an SVG are texts.
        dpi: dots of an inch.
        kinds: the kinds of pictures.
    """
    if not isinstance(path, str | PathLike):
        raise unfit(what, "path", "the name of a file", path)
    file = Path(path)
    ending = file.suffix.lower()
    if ending in texts:
        file.write_text(texts[ending](), encoding="utf-8")
    elif ending[1:] in tuple(kinds):
        file.write_bytes(encoded(figure(), ending[1:], dpi, words))
    else:
        known = ", ".join([*texts, *(f".{kind}" for kind in kinds)])
        raise ValueError(f"{what}: argument 'path' {str(path)!r} does not end in one of {known}")


def _size(png: bytes) -> tuple[int, int]:
    """Return width and height in dots, from the first chunk of a PNG."""
    return int.from_bytes(png[16:20]), int.from_bytes(png[20:24])


def canvas(
    what: str, height: float, width: float = WIDTH, **grid: Any
) -> tuple[Figure, list[Axes]]:
    """Return a new figure of ``width`` times ``height`` inches, and its axes from top to bottom.

    ``pyplot`` does not know the figure.  Raises ImportError without Matplotlib, the extra ``viz``.
    """
    extra("viz", what)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=DOTS, layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    axes = [ax for row in figure.subplots(squeeze=False, **grid) for ax in row]
    for ax in axes:  # override the user's style, because the colours are meant for white
        ax.set_facecolor("white")
    return figure, axes


def sheet(width: float, height: float) -> Figure:
    """Return a new white figure of so many points, without axes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width / 72, height / 72), facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def length(line: str, size: float, strong: bool = False) -> float:
    """Return the width of a line of plain text in points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextToPath

    if not line:
        return 0.0
    font = FontProperties(size=size, weight="bold" if strong else "normal")
    return float(TextToPath().get_text_width_height_descent(line, font, ismath=False)[0])


def given_axes(what: str, ax: Axes | Sequence[Axes] | np.ndarray, curves: int) -> list[Axes]:
    """Return the user's axes: one for all curves, or one for each.

    Raises ValueError for another number, and TypeError for an object that is not axes.
    """
    chosen: Any = ax.ravel().tolist() if isinstance(ax, np.ndarray) else ax
    axes = list(chosen) if isinstance(chosen, list | tuple) else [chosen]
    if len(axes) not in (1, curves):
        raise ValueError(f"{what}: {len(axes)} axes for {curves} curves; give one, or {curves}")
    for one in axes:
        if not (hasattr(one, "figure") and hasattr(one, "spines")):
            raise unfit(what, "ax", "Matplotlib's axes", one)
    return axes


def dressed(ax: Axes) -> None:
    """Style axes: no box, a faint grid in the background, text of one size."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(GREY)
    ax.grid(True, color=FAINT, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.tick_params(labelsize=SMALL, color=GREY, labelcolor=INK)
    for text in (ax.xaxis.label, ax.yaxis.label):
        text.set(size=TEXT, color=INK)


def titled(target: Any, words: str, lines: int = 2, tex: str = "", **where: object) -> Text:
    """Set the title of axes or, if there is ``suptitle``, of a figure: a few lines.

    The title is the formula ``tex``, in LaTeX, where Matplotlib can typeset it in the width of the
    target, or else the plain text ``words``.
    """
    if put := getattr(target, "suptitle", None):
        room = 72.0 * target.get_figwidth()
    else:
        put, room = target.set_title, width(target)
    text: Text = put("", **{"size": TEXT + 1, "color": INK} | where)
    return formula(text, fitted(words, lines), tex, room - 2 * TEXT, lines)


def width(ax: Axes) -> float:
    """Return the width of axes in points."""
    figure: Any = ax.get_figure(root=True)
    return float(72.0 * figure.get_figwidth() * ax.get_position().width)


def formula(text: Text, words: str, tex: str, room: float, lines: int = 1) -> Text:
    """Show LaTeX in a text of Matplotlib, in so many points and lines, or else ``words``."""
    # Letters of Computer Modern are smaller than those of the other texts.
    size = 1.15 * float(text.get_fontsize())
    shown = typeset(tex, room, size, lines) if tex else None
    if shown is None:
        text.set_text(words)
        return literal(text)
    text.set(parse_math=True, usetex=False, text=shown, size=size)
    text.set_math_fontfamily(FONT)
    return text


def fitted(words: str, lines: int = 1, letters: int = _LONGEST) -> str:
    r"""Break words into some lines of limited length; cut the rest and append "…".

    >>> fitted("x" * 200, 1, 10), fitted("one two three", 2, 9)
    ('xxxxxxxxx…', 'one two\nthree')
    """
    broken = textwrap.wrap(words, letters, break_on_hyphens=False) or [""]
    if len(broken) <= lines:
        return "\n".join(broken)
    last = broken[lines - 1]
    return "\n".join([*broken[: lines - 1], f"{last[: letters - 1]}…"])


def literal(text: Text) -> Text:
    """Show a text of Matplotlib literally: no ``$`` starts a formula."""
    text.set(parse_math=False, usetex=False, text=legible(text.get_text()))
    return text


_GREEK = re.compile(rf"(?<![A-Za-z])(?:{'|'.join(greek_unicode)})(?![A-Za-z(])")


def greek(words: str) -> str:
    """Write the names of Greek letters in labels as letters, but not those of functions.

    >>> print(greek("f(theta_1)"), greek("kink of gamma(x) at beta[0] = 1"))
    f(θ_1) kink of gamma(x) at β[0] = 1
    """
    return _GREEK.sub(lambda name: greek_unicode[name[0]], words)


def legible(words: str) -> str:
    r"""Replace characters that the figure's font lacks by codes like ``\u5909``."""
    from matplotlib import font_manager

    font = font_manager.get_font(font_manager.findfont(font_manager.FontProperties()))
    known = {10, *font.get_charmap()}
    return "".join(c if ord(c) in known else c.encode("unicode_escape").decode() for c in words)


def legend(
    target: Any,
    handles: Sequence[Artist],
    labels: Sequence[str],
    formulas: Mapping[str, str] | None = None,
    **where: Any,
) -> Legend | None:
    """Add a legend below all axes of a figure or inside of axes, if not empty.

    Labels are plain text, but for those with LaTeX in ``formulas``.
    """
    if not handles:
        return None
    inside = {"loc": "best"} if hasattr(target, "set_title") else {"loc": "outside lower center"}
    # Matplotlib leaves out a label that starts with an underscore.
    result: Legend = target.legend(
        handles,
        [fitted(greek(label), 1, 72) for label in labels],
        **inside
        | {"fontsize": SMALL, "frameon": bool(inside["loc"] == "best"), "labelcolor": INK}
        | where,
    )
    for text, label in zip(result.get_texts(), labels, strict=True):
        tex = (formulas or {}).get(label, "")
        formula(text, text.get_text(), tex, _LONGEST_LABEL)
    return result


def columns(labels: Sequence[str], letters: int = 100) -> int:
    """Return the number of a legend's columns that fit into the width of a figure.

    >>> columns(["f", "kink of f at x = 1"]), columns(["x" * 70, "f"])
    (2, 1)
    """
    widest = max((min(len(label), 72) for label in labels), default=1) + 6
    return max(1, min(len(labels), letters // widest))


def number(value: float) -> str:
    """Write a number with four digits and a true minus sign."""
    return f"{value + 0.0:.4g}".replace("-", "−")
