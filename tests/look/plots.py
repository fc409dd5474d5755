"""Plots: curves with kinks, jumps, poles and edges; fields, checks, a slider; long names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import numeric as nm
import symdiff as sd

if TYPE_CHECKING:
    from collections.abc import Callable


def specimens() -> dict[str, Callable[[], Any]]:
    """By name what makes a picture."""
    x, y, k = sd.symbols("x y k")
    q, w = sd.symbol("q", 3), sd.symbol("w", 2)
    long = sd.symbol("_a_quantity_whose_name_is_far_too_long_for_any_axis_of_any_picture_" * 3)
    script = sd.symbol("__𝜶_变量__")
    many = sum(sd.sin(n * long) / n for n in range(1, 40))
    check = nm.check

    def softplus(v: Any) -> Any:
        return np.log1p(np.exp(v)).sum()

    return {
        "smooth, with a point": lambda: nm.plot(sd.exp(-(x**2) / 2) * sd.sin(3 * x), x, at=0.7),
        "kinks": lambda: nm.plot(sd.maximum(x, x**2), x, at=0.5),
        "poles": lambda: nm.plot(sd.tan(x), x, at=0.5),
        "a domain": lambda: nm.plot(sd.sqrt(4 - x**2) * sd.log(x + 1), x),
        "jumps": lambda: nm.plot(sd.floor(2 * x) / 2, x, order=1, range=(-2, 2)),
        "every kind at once": lambda: nm.plot(
            sd.where(x < -2, 1 / (x + 3), sd.where(x < 1, abs(x), sd.sqrt(3 - x))), x
        ),
        "fourth order": lambda: nm.plot(1 / (1 + x**2), x, order=4, at=0.5),
        "without derivatives": lambda: nm.plot(sd.cos(x) / x, x, order=0),
        "too many turns": lambda: nm.plot(sd.sin(1 / x), x, order=1, range=(-0.5, 0.5)),
        "many jumps": lambda: nm.plot(sd.mod(x, 0.1), x, order=1, range=(0, 3)),
        "digits cancel": lambda: nm.plot((1 - sd.cos(x)) / x**2, x, order=3),
        "an element of a vector": lambda: nm.plot(sd.norm(q), q[0], at={q: [0.5, 0, 0.3]}),
        "several elements": lambda: nm.plot(
            sd.stack([sd.sin(x), sd.cos(x) * x, sd.exp(-x * y)]), x, 1, at={x: 1, y: 0.5}
        ),
        "several formulas": lambda: nm.plot(
            [sd.sin(x), x, x - x**3 / 6, x - x**3 / 6 + x**5 / 120], x, 1, at=1, range=(-4, 4)
        ),
        "a pole just beyond the range": lambda: nm.plot(
            sd.log(1 + x**2) * sd.cos(3 * x) / (2 + x), x, 3, range=(-1.999, 4)
        ),
        "huge and tiny": lambda: nm.plot(1e200 * sd.exp(1e3 * x), x, range=(-1e-2, 1e-2)),
        "constant": lambda: nm.plot(0 * x + 2, x),
        "a long formula of a long name": lambda: nm.plot(many, long, at=0.3),
        "a name of other letters": lambda: nm.plot(script**2 - script, script, at=1.0),
        "field: four minima": lambda: nm.plot_field(
            (x**2 + y - 11) ** 2 + (x + y**2 - 7) ** 2, (x, y), range=(-5, 5)
        ),
        "field: outside and inside": lambda: nm.plot_field(
            sd.log(x) * sd.sqrt(4 - x**2 - y**2), (x, y)
        ),
        "field: kinks": lambda: nm.plot_field(sd.maximum(abs(x), abs(y)) + x * y / 4, (x, y)),
        "field: at a point, other symbols": lambda: nm.plot_field(
            k * sd.sin(x) * sd.cos(y), (x, y), at={x: 1, y: 0.5, k: 2}
        ),
        "field: a vector of two": lambda: nm.plot_field(
            sd.exp(-w @ w) * w[0], w, range=((-2, 2), (-1.5, 1.5))
        ),
        "audit": lambda: check.audit(
            softplus, gradient=lambda v: np.exp(v) / (1 + np.exp(v)), inputs={"v": 3}, budget=1000
        ).plot(),
        "taylor": lambda: check.taylor(
            softplus, lambda v: 1.001 / (1 + np.exp(-v)), np.array([0.0, 1.0])
        ).plot(),
        "certificate": lambda: check.certify(
            nm.lower(1 - sd.cos(x) * y, [x, y]), {x: (-1, 1), y: (0.5, 2)}, budget=200
        ).plot(),
        "slider": lambda: nm.explore(sd.exp(-(x**2)) * sd.sin(3 * x), x, at=0.7),
        "sliders of parameters": lambda: nm.explore(
            k * sd.exp(-y * x) * sd.cos(3 * x), x, at={x: 1, y: 0.3}, range={x: (0, 6), y: (0, 1)}
        ),
        "sliders, several curves": lambda: nm.explore(
            [sd.sin(k * x), k * x, k * x - (k * x) ** 3 / 6], x, 1, range=(-3, 3)
        ),
    }
