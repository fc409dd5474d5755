"""What a figure of a notebook lacks: it is said on stderr, where the laws of notebooks find it.

Kernels that execute notebooks here run ``watch`` before the first cell.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from matplotlib.backend_bases import FigureCanvasBase
from matplotlib.ticker import LogFormatter, ScalarFormatter

if TYPE_CHECKING:
    from collections.abc import Iterator


def lacking(figure: Any) -> Iterator[str]:
    """A title, labels of axes that have numbers, a legend of what has names."""
    # The second axes of a colour bar are part of the first.
    axes = [ax for ax in figure.axes if ax.get_visible() and ax.get_label() != "<colorbar>"]
    titles = [ax.get_title(loc) for ax in axes for loc in ("left", "center", "right")]
    if axes and not any([figure.get_suptitle(), *titles]):
        yield "a figure without a title"
    for ax in axes:
        for name, axis in (("x", ax.xaxis), ("y", ax.yaxis)):
            numbers = isinstance(axis.get_major_formatter(), ScalarFormatter | LogFormatter)
            shown = ax.axison and axis.get_visible() and axis.get_tick_params()[_SIDES[name]]
            if shown and numbers and not axis.get_label_text():
                yield f"numbers along {name} without a label"
        named = [label for label in ax.get_legend_handles_labels()[1] if label]
        if len(named) > 1 and not (ax.get_legend() or figure.legends):
            yield f"no legend of {', '.join(named)}"


_SIDES = {"x": "labelbottom", "y": "labelleft"}


def watch() -> None:
    """Look at every figure that is shown from now on."""
    drawn = FigureCanvasBase.print_figure

    def print_figure(self: FigureCanvasBase, *args: Any, **options: Any) -> Any:
        for words in lacking(self.figure):
            print(words, file=sys.stderr)
        return drawn(self, *args, **options)

    FigureCanvasBase.print_figure = print_figure  # type: ignore[method-assign]
