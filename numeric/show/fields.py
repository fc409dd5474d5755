"""Plots of functions of two numbers: contours, gradients, and directions of curvature."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

import symdiff as sd
from numeric.extras import extra
from numeric.show import pictures
from numeric.show.landscapes import FLAT, POINTS, Field, broken, critical
from numeric.show.pictures import Picture, number
from numeric.show.subjects import (
    by_variable,
    formula,
    formula_tex,
    interval,
    numbers,
    numbers_tex,
    places,
    root,
    single,
    values,
    variable,
)
from symdiff.display.printing import short
from symdiff.graph.arguments import door
from symdiff.graph.number import shortened

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase
    from matplotlib.lines import Line2D
    from matplotlib.quiver import Quiver

    from numeric.show.landscapes import Ends

ARROWS, CROSSES = 15, 3
"""Arrows along each axis, and the number of arrows from one cross to the next."""

MOST = 24
"""The most critical points to mark; more than that lie on lines."""

_SHAPES = {"minimum": "o", "maximum": "^", "saddle": "X", "degenerate point": "D"}


@door
def plot_field(
    f: object,
    variables: object,
    *,
    at: object = None,
    range: object = None,
    ax: Axes | None = None,
) -> Picture:
    """Draw a function of two numbers: contours, gradients, and the directions of curvature.

    Arrows are gradients; the longest one stands for all gradients of at least the size in the
    legend.  Crosses show the eigenvectors of the Hessian.  Their lengths show the sizes of the
    eigenvalues, and their colours the signs.  Newton's method finds critical points from a grid.
    They are marked, and classified by these signs.  Dashed lines are kinks and jumps.  The picture
    is hatched where the function has no value.  All derivatives are exact.

    Args:
        f: as in ``plot``, with one element.
        variables: two real variables, symbols or elements or names; or one symbol of shape (2,).
        at: the values of all other symbols, by symbol or name; values of both variables mark a
            point.
        range: the ends for each variable as two pairs, or a dict of pairs by symbol or name, or one
            pair for both.
        ax: Matplotlib's axes to draw into.

    Raises the errors of ``plot``.

    >>> import symdiff as sd
    >>> x, y = sd.symbols("x y")
    >>> plot_field((x - 1) ** 2 - y**2, (x, y))
    <Picture: f(x, y) = (x - 1)**2 - y**2; saddle at (1, 0)>
    """
    extra("viz", "plot_field")
    field = _field(f, variables, at, range)
    return _Drawing(field).drawn(ax)


def _field(f: object, variables: object, at: object, user_range: object) -> Field:
    what = "plot_field"
    symbols = variables if isinstance(variables, list | tuple) else [variables]
    expr = formula(what, f, symbols)
    chosen = [variable(what, expr, x) for x in symbols]
    if len(chosen) == 1 and chosen[0].shape == (2,):
        chosen = [chosen[0][0], chosen[0][1]]
    if len(chosen) != 2:
        raise ValueError(f"{what}: {len(chosen)} variables; give two, or a symbol of shape (2,)")
    x, y = (single(what, v) for v in chosen)
    if x is y:
        raise ValueError(f"{what}: {sd.text(x)} is given twice")
    known = values(what, expr, [x, y], at)
    located = [s in known for s in (root(x), root(y))]
    point = None
    if all(located):
        a, b = (float(known[root(v)].flat[places(v, known[root(v)])[0]]) for v in (x, y))
        point = a, b
    elif any(located):
        raise ValueError(f"{what}: a point has values for both variables; at={shortened(at)}")
    field = Field(expr, (x, y), known, ((-3.0, 3.0), (-3.0, 3.0)), point)
    start = point or (0.0, 0.0)
    (value,) = field.slice(expr)(*([v] for v in start))
    if len(value) != 1:
        raise ValueError(f"{what}: f has {len(value)} elements; give one of them, as f[0]")
    return replace(field, ends=_ends(field, user_range))


def _ends(field: Field, user_range: Any) -> Ends:
    """Return the range of each variable: the user's, or one around the point, in the domain."""
    if user_range is not None:
        user_range = by_variable("plot_field", user_range, field.variables)
        many = isinstance(user_range, list | tuple | np.ndarray) and np.iterable(user_range)
        one = many and not any(np.iterable(part) for part in user_range)
        pairs = [user_range, user_range] if one else list(user_range) if many else []
        if len(pairs) != 2:
            raise TypeError(
                f"plot_field: range={shortened(user_range)} is neither a pair nor two pairs"
            )
        first, second = (interval("plot_field", pair) for pair in pairs)
    else:
        about = field.point or (0.0, 0.0)
        first, second = ((c - max(3.0, abs(c)), c + max(3.0, abs(c))) for c in about)
        wide = Field(field.f, field.variables, field.values, (first, second), None)
        a, b = (v.ravel() for v in wide.grid(60))
        known = wide.inside(a, b)
        if known.any() and field.point is None:
            first, second = (
                (
                    max(low, float(t[known].min()) - 0.1 * (high - low)),
                    min(high, float(t[known].max()) + 0.1 * (high - low)),
                )
                for t, (low, high) in ((a, first), (b, second))
            )
    if field.point is not None:
        for c, (low, high), name in zip(field.point, (first, second), field.names, strict=True):
            if not low <= c <= high:
                raise ValueError(
                    f"plot_field: {name} = {c!r} is outside of the range {low!r} to {high!r}"
                )
    return first, second


# The drawing --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Drawing:
    field: Field

    def drawn(self, ax: Axes | None) -> Picture:
        field = self.field
        a, b = field.names
        title = f"f({a}, {b}) = {short(field.f)}"
        title = ", ".join([title, *numbers(field.values, field.variables)])
        head = ", ".join(map(sd.latex, field.variables))
        head = rf"f\left({head}\right) = {formula_tex(field.f)}"
        tex = r", \quad ".join([head, *numbers_tex(field.values, field.variables)])
        if ax is None:
            figure: FigureBase
            figure, (one,) = pictures.canvas("plot_field", 7.0)
            pictures.titled(figure, title, tex=tex)
        else:
            (one,) = pictures.given_axes("plot_field", [ax], 1)
            figure = one.figure
            pictures.titled(one, title, tex=tex, size=pictures.TEXT)
        pictures.dressed(one)
        one.grid(False)
        (left, right), (bottom, top) = field.ends
        one.set(xlim=(left, right), ylim=(bottom, top))
        if 1 / 3 < (right - left) / (top - bottom) < 3:
            one.set_aspect("equal")
        pictures.literal(one.set_xlabel(pictures.greek(a)))
        pictures.literal(one.set_ylabel(pictures.greek(b)))
        entries: dict[str, Artist] = {}
        self._contours(figure, one, entries)
        self._borders(one, entries)
        self._arrows(one, entries)
        self._crosses(one, entries)
        notes = self._criticals(one, entries)
        if field.point is not None:
            self._touched(one, entries)
        place = {"ncols": pictures.columns(list(entries), 96)}
        if ax is None:
            pictures.legend(figure, list(entries.values()), list(entries), None, **place)
        else:
            below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.14)}
            pictures.legend(one, list(entries.values()), list(entries), None, **place, **below)
        return Picture(figure, [one], title, (), notes)

    def _contours(self, figure: FigureBase, ax: Axes, entries: dict[str, Artist]) -> None:
        from matplotlib import colormaps
        from matplotlib.colors import BoundaryNorm, ListedColormap
        from matplotlib.patches import Patch

        x, y = self.field.grid(POINTS)
        heights = self.field.slice(self.field.f)(x.ravel(), y.ravel())[0].reshape(x.shape)
        known = heights[np.isfinite(heights)]
        if known.size < heights.size:
            ax.patch.set(facecolor="#f2f2f2", edgecolor="#b8b8b8", hatch="////")
            entries["outside of the domain"] = Patch(
                facecolor="#f2f2f2", edgecolor="#b8b8b8", hatch="////"
            )
        if not known.size:
            return
        levels = levels_of(known)
        beyond = known.min() < levels[0] or known.max() > levels[-1]
        # Pale colours, so that arrows and marks stand out.
        pale = ListedColormap(0.5 + 0.5 * colormaps["cividis"](np.linspace(0, 1, 256)))
        shown = np.ma.masked_invalid(heights)
        extend: Literal["both", "neither"] = "both" if beyond else "neither"
        norm = BoundaryNorm(levels, 256, extend=extend)
        filled = ax.contourf(x, y, shown, levels, cmap=pale, extend=extend, norm=norm)
        ax.contour(x, y, shown, levels, colors="white", linewidths=0.6, linestyles="solid")
        bar = figure.colorbar(filled, ax=ax, shrink=0.85, pad=0.02)
        called = pictures.greek(f"f({', '.join(self.field.names)})")
        pictures.literal(bar.ax.set_ylabel(called))
        bar.ax.yaxis.label.set(size=pictures.TEXT, color=pictures.INK)
        bar.ax.tick_params(labelsize=pictures.SMALL, labelcolor=pictures.INK)
        bar.outline.set_visible(False)

    def _borders(self, ax: Axes, entries: dict[str, Artist]) -> None:
        """Draw the lines at which a comparison changes the function or its gradient."""
        for x, y in broken(self.field):
            entries["kink or jump"] = ax.plot(
                x, y, color=pictures.ORANGE, linestyle="--", linewidth=1.6, zorder=3
            )[0]

    def _arrows(self, ax: Axes, entries: dict[str, Artist]) -> None:
        """Draw gradients."""
        x, y = (v.ravel() for v in self.field.grid(ARROWS, inside=True))
        gx, gy = (v[0] for v in self.field.slice(*self.field.gradient)(x, y))
        with np.errstate(all="ignore"):
            size = np.hypot(gx, gy)
            known = np.isfinite(size) & (size > 0) & self.field.inside(x, y)
        if not known.any():
            return
        longest = _two_digits(float(np.quantile(size[known], 0.9)))
        x, y, gx, gy, size = (v[known] for v in (x, y, gx, gy, size))
        scale = np.minimum(size, longest) / longest / size
        self._quiver(ax, x, y, gx * scale, gy * scale, pictures.INK, width=0.0035)
        words = f"gradient; the longest: |∇f| ≥ {number(longest)}"
        entries[words] = _line(pictures.INK, marker=">", markevery=[1], linewidth=1.2)

    def _quiver(
        self,
        ax: Axes,
        x: np.ndarray,
        y: np.ndarray,
        u: np.ndarray,
        v: np.ndarray,
        colour: str,
        long: float = 0.9,
        **how: Any,
    ) -> Quiver:
        """Draw arrows in directions of the data, with lengths in cells of the grid of arrows."""
        return ax.quiver(
            x,
            y,
            u,
            v,
            color=colour,
            angles="xy",
            units="width",
            scale_units="width",
            scale=ARROWS / long,
            zorder=3,
            **how,
        )

    def _crosses(self, ax: Axes, entries: dict[str, Artist]) -> None:
        """Draw eigenvectors of the Hessian, between arrows."""
        x, y = (v[CROSSES:-1:CROSSES, CROSSES:-1:CROSSES].ravel() for v in self.field.grid(ARROWS))
        if self.field.point is not None:
            x, y = (np.array([c]) for c in self.field.point)
        _, _, a, b, c = (v[0] for v in self.field.curvature(x, y))
        known = np.isfinite(a + b + c) & self.field.inside(x, y)
        x, y = x[known], y[known]
        if not len(x):
            return
        matrices = np.array([[a, b], [b, c]])[:, :, known].transpose(2, 0, 1)
        eigenvalues, directions = np.linalg.eigh(matrices)
        size = np.abs(eigenvalues)
        longest = _two_digits(float(np.quantile(size.max(axis=1), 0.9)))
        if not longest:
            return
        for sign, colour, words in ((1, pictures.VERMILION, ">"), (-1, pictures.BLUE, "<")):
            at, k = np.nonzero((np.sign(eigenvalues) == sign) & (size > FLAT * longest))
            if not len(at):
                continue
            u, v = (directions[at, i, k] * np.minimum(size[at, k] / longest, 1) for i in (0, 1))
            cross = self._quiver(
                ax,
                x[at],
                y[at],
                u,
                v,
                colour,
                1.7,
                pivot="mid",
                width=0.006,
                headwidth=0,
                headlength=0,
                headaxislength=0,
                minlength=0,
            )
            cross.set_zorder(4)
            entries[f"Hessian, λ {words} 0; the longest: |λ| ≥ {number(longest)}"] = _line(colour)

    def _criticals(self, ax: Axes, entries: dict[str, Artist]) -> list[str]:
        points = critical(self.field)
        if len(points) > MOST:
            return ["critical points lie on lines, and are not marked"]
        notes = []
        for kind, shape in _SHAPES.items():
            own = [c for c in points if c.kind == kind]
            if own:
                some = ", ".join(f"({number(c.x)}, {number(c.y)})" for c in own[:2])
                words = f"{kind} at {some}{f' … ({len(own)})' if len(own) > 2 else ''}"
                (entries[words],) = ax.plot(
                    [c.x for c in own],
                    [c.y for c in own],
                    shape,
                    color="white",
                    markeredgecolor=pictures.INK,
                    markersize=9,
                    markeredgewidth=1.4,
                    linestyle="none",
                    zorder=6,
                )
                notes.append(words)
        return notes

    def _touched(self, ax: Axes, entries: dict[str, Artist]) -> None:
        """Draw the point, with its numbers in the legend."""
        field = self.field
        assert field.point is not None
        x, y = field.point
        f, gx, gy = (v[0] for v in field.slice(field.f, *field.gradient)([x], [y]))
        gradient = ", ".join(number(float(v[0])) for v in (gx, gy))
        words = f"({number(x)}, {number(y)}): f = {number(float(f[0]))}, ∇f = ({gradient})"
        (entries[words],) = ax.plot(
            [x], [y], "*", color=pictures.INK, markersize=13, linestyle="none", zorder=7
        )


def levels_of(heights: np.ndarray) -> np.ndarray:
    """Return round numbers for contours; denser where most heights are alike.

    >>> levels_of(np.linspace(0, 10, 100))[:4], levels_of(np.linspace(0, 10, 100) ** 6)[:4]
    (array([0., 1., 2., 3.]), array([6.7e-05, 1.0e+00, 3.4e+01, 3.1e+02]))
    """
    from matplotlib.ticker import MaxNLocator

    low, middle, high = (float(v) for v in np.quantile(heights, [0.02, 0.5, 0.98]))
    if not high - low > 1e-12 * max(abs(low), abs(high)):
        step = max(1.0, 1e-12 * abs(low))
        return np.array([low - step, low, low + step])
    if not 0.25 < (middle - low) / (high - low) < 0.75:
        spread = np.quantile(heights, np.linspace(0.02, 0.98, 13))
        return np.unique([_two_digits(float(v)) for v in spread])
    if heights.max() - heights.min() < 4 * (high - low):
        low, high = float(heights.min()), float(heights.max())
    return np.asarray(MaxNLocator(12).tick_values(low, high))


def _line(colour: str, **how: Any) -> Line2D:
    from matplotlib.lines import Line2D

    return Line2D([0, 1], [0, 0], color=colour, **{"linewidth": 2.0} | how)


def _two_digits(value: float) -> float:
    return float(f"{value:.1e}")
