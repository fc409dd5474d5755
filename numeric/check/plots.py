"""Plots of checks: errors of an audit, remainders of a Taylor test, worst errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.show import pictures
from numeric.show.pictures import Picture, number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from numeric.check.certificates import Certificate
    from numeric.check.remainders import Taylor
    from numeric.check.report import Report

ULPS = "error [ulp]"

LEAST = 0.001
"""The lower edge of plots in ulps: smaller errors are drawn there."""

MOST = 1e17
"""The upper edge in ulps, for larger errors and nan: such a value has no right digit."""

_DECADES = 12
"""The range in decades: magnitudes farther from the median are drawn at the edges."""

_SHAPES = "os^DvPX<>*"
_LARGEST = 1e300


def report(report: Report, ax: Axes | None) -> Picture:
    """Draw errors against magnitudes; see ``Report.plot``."""
    title = f"{report.verdict}: errors of the derivatives of {report.forward}"
    figure, one = _axes("plot", ax, 4.6)
    samples = report.samples
    magnitudes = logarithmic([sample.magnitude for sample in samples])
    across = _near(magnitudes)
    ulps = np.array([sample.ulps for sample in samples], float)
    # nan fails the comparison, so it is drawn at the upper edge.
    errors = np.where(ulps <= MOST, np.maximum(ulps, LEAST), MOST)
    groups = [sample.group for sample in samples]
    entries: dict[str, Artist] = {}
    for k, group in enumerate(dict.fromkeys(groups)):
        chosen = [i for i, other in enumerate(groups) if other == group]
        entries[group] = one.scatter(
            across[chosen],
            errors[chosen],
            s=14,
            color=pictures.COLOURS[k % len(pictures.COLOURS)],
            marker=_SHAPES[k % len(_SHAPES)],
            alpha=0.7,
            linewidths=0,
        )
    _logarithmic_axes(one, across, errors)
    one.set_xlabel("largest |input|")
    one.set_ylabel(ULPS)
    for words, there, style in (
        (f"{MOST:.0e} ulp or more, or nan".replace("+", ""), errors == MOST, "--"),
        (f"{LEAST} ulp or less", ulps <= LEAST, ":"),
    ):
        if there.any():
            height = float(errors[there][0])
            entries[words] = one.axhline(height, color=pictures.GREY, linestyle=style, zorder=1)
    outside = magnitudes != across
    for edge in dict.fromkeys(across[outside].tolist()):
        words = f"at the edges: {_counted(int(outside.sum()), 'point')} beyond"
        entries[words] = one.axvline(edge, color=pictures.GREY, linestyle="-.", zorder=1)
    return _finished(figure, one, ax, title, entries)


def _near(magnitudes: np.ndarray) -> np.ndarray:
    """Return magnitudes around the median, where the axis is legible; clip the others.

    >>> _near(np.array([1e-300, 0.5, 1.0, 8.0, 1e20])).tolist()
    [1e-12, 0.5, 1.0, 8.0, 1000000000000.0]
    """
    if not magnitudes.size:
        return magnitudes
    middle = np.median(magnitudes)
    # A few extreme points would squeeze all others into one column.
    return np.asarray(np.clip(magnitudes, middle / 10.0**_DECADES, middle * 10.0**_DECADES))


def logarithmic(values: Sequence[float]) -> np.ndarray:
    """Return positive numbers for a logarithmic axis; zero, inf and nan go to the edges.

    >>> logarithmic([0.0, 1.0, 8.0, float("inf"), float("nan")]).tolist()
    [0.5, 1.0, 8.0, 16.0, 16.0]
    """
    array = np.array(values, float)
    proper = array[np.isfinite(array) & (array > 0)]
    low, high = (proper.min(), proper.max()) if proper.size else (1.0, 1.0)
    positive = np.where(array == 0, low / 2, np.where(np.isfinite(array), array, high))
    # Matplotlib's ticks overflow near the largest number.
    positive = np.clip(positive, 1 / _LARGEST, _LARGEST)
    return np.where(np.isfinite(array), positive, 2 * positive)


def _logarithmic_axes(ax: Axes, across: np.ndarray, up: np.ndarray) -> None:
    """Set logarithmic axes for these numbers, with ticks that do not overflow near the largest."""
    from matplotlib.ticker import FixedLocator, NullLocator

    # Set the limits first: a linear scale would pass its own on.
    for values, limits in ((across, ax.set_xlim), (up, ax.set_ylim)):
        limits(*((values.min() / 3, values.max() * 3) if values.size else (0.1, 10.0)))
    ax.set(xscale="log", yscale="log")
    for axis in (ax.xaxis, ax.yaxis):
        low, high = (int(np.round(np.log10(end))) for end in sorted(axis.get_view_interval()))
        stride = (high - low) // 8 + 1
        ticks = 10.0 ** np.arange(low, high + 1, stride)
        axis.set_major_locator(FixedLocator(ticks.tolist()))
        axis.set_minor_locator(NullLocator())


def taylor(test: Taylor, ax: Axes | None) -> Picture:
    """Draw remainders against steps; see ``Taylor.plot``."""
    names = ("|f(x + hv) − f(x)|", "less the gradient's part", "less the Hessian's part, too")
    figure, one = _axes("plot", ax, 4.8)
    entries: dict[str, Artist] = {}
    steps = test.table[0, :, 0]
    for k in range(1, test.table.shape[2]):
        colour = pictures.COLOURS[k - 1]
        # nan leaves a gap, where a logarithm of 0 would fail.
        rows = np.where(test.table[..., k] > 0, test.table[..., k], np.nan)
        for row in rows:
            (entries[names[k - 1]],) = one.plot(
                steps, row, color=colour, marker=_SHAPES[k - 1], markersize=3.5, linewidth=1
            )
        known = np.isfinite(rows[:, 0])
        if known.any():  # through the middle of the remainders at the largest step
            start = float(np.exp(np.median(np.log(rows[known, 0]))))
            (entries[f"slope {k}"],) = one.plot(
                steps,
                start * (steps / steps[0]) ** k,
                color=pictures.INK,
                linestyle=("--", ":", "-.")[k - 1],
                linewidth=1.2,
            )
    drawn = test.table[..., 1:]
    _logarithmic_axes(one, steps, drawn[np.isfinite(drawn) & (drawn > 0)])
    one.set_xlabel("step h")
    one.set_ylabel("remainder")
    title = f"Taylor test: {test.verdict}, {_counted(len(test.table), 'direction')}"
    return _finished(figure, one, ax, title, entries)


def certificate(result: Certificate, ax: Axes | None) -> Picture:
    """Draw the worst errors and their places; see ``Certificate.plot``."""
    names = list(result.ulps)
    kind = "at most, proven" if result.method == "proven" else "at worst, as far as was found"
    over = ", ".join(f"{number(a)} ≤ {x} ≤ {number(b)}" for x, (a, b) in result.box.items())
    title = f"{result.dtype}, {over}: {kind}"
    located = len(result.box) <= 2 and ax is None
    where: Mapping[str, Mapping[str, float]] = result.point if located else {}
    figure, one = _axes("plot", ax, 1.9 + 0.55 * len(names) + (2.6 if where else 0), bool(where))
    axes = figure.axes if where else [one]
    sizes = logarithmic(list(result.ulps.values()))
    low = min(0.05, float(sizes.min()) / 2)
    # Exact outputs get a bar of no length at the left edge.
    sizes = np.where(np.array(list(result.ulps.values())) == 0, low, sizes)
    high = float(sizes.max())
    colours = [pictures.COLOURS[k % len(pictures.COLOURS)] for k in range(len(names))]
    one.barh(range(len(names)), sizes - low, left=low, color=colours, height=0.6)
    one.set(xscale="log", xlim=(low, high * (2 * high / low) ** 0.2))
    _ticks(one, [pictures.fitted(_placed(result, name), 3, 26) for name in names])
    for k, (name, size) in enumerate(zip(names, sizes, strict=True)):
        label = number(result.ulps[name])
        one.text(float(size) * 1.15, k, label, va="center", size=pictures.SMALL)
    one.invert_yaxis()
    one.set_xlabel(ULPS)
    if where:
        _located(axes[1], result, names, colours)
        pictures.dressed(axes[1])
    return _finished(figure, one, ax, title, {})


def _placed(result: Certificate, name: str) -> str:
    """Return an output's name, with the place of its worst error."""
    if name not in result.point:
        return name
    return f"{name}, at {', '.join(f'{x} = {number(v)}' for x, v in result.point[name].items())}"


def _located(ax: Axes, result: Certificate, names: Sequence[str], colours: Sequence[str]) -> None:
    """Draw the box with the worst points in it."""
    variables = list(result.box)
    lengths = [tuple(map(float, result.box[x])) for x in variables]
    for k, name in enumerate(names):
        at: Mapping[str, float] = result.point.get(name, {})
        if at:
            numbers = [at[x] for x in variables]
            height = numbers[1] if len(numbers) > 1 else float(k)
            shape = _SHAPES[k % len(_SHAPES)]
            # Points on an edge of the box stay whole: ``clip_on`` is False.
            ax.plot(numbers[:1], [height], shape, color=colours[k], markersize=9, clip_on=False)
    ax.set_xlim(*_open(*lengths[0]))
    pictures.literal(ax.set_xlabel(variables[0]))
    if len(variables) > 1:
        ax.set_ylim(*_open(*lengths[1]))
        pictures.literal(ax.set_ylabel(variables[1]))
    else:
        ax.set_ylim(len(names) - 0.5, -0.5)
        _ticks(ax, names)
    pictures.titled(ax, "where the error is worst", size=pictures.TEXT)


def _ticks(ax: Axes, labels: Sequence[str]) -> None:
    """Set one tick for each label, from 0 on."""
    ax.set_yticks(range(len(labels)), [pictures.legible(s) for s in labels], parse_math=False)


def _open(low: float, high: float) -> tuple[float, float]:
    """Return the ends of an axis, moved apart if they are equal."""
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def _axes(what: str, ax: Axes | None, height: float, two: bool = False) -> tuple[Any, Axes]:
    """Return the figure and its first axes; make new ones unless axes are given."""
    if ax is not None:
        return ax.figure, ax
    figure, axes = pictures.canvas(what, height, nrows=1 + two)
    return figure, axes[0]


def _finished(
    figure: Any, one: Axes, user_axes: Axes | None, title: str, entries: Mapping[str, Artist]
) -> Picture:
    """Return the picture, with its title and its legend."""
    pictures.dressed(one)
    labels = list(entries)
    if user_axes is None:
        pictures.titled(figure, title)
        columns = pictures.columns(labels)
        pictures.legend(figure, list(entries.values()), labels, ncols=columns, markerscale=1.8)
    else:
        pictures.titled(one, title, size=pictures.TEXT)
        pictures.legend(one, list(entries.values()), labels)
    return Picture(figure, figure.axes if user_axes is None else [one], title)
