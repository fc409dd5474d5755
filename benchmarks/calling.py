"""What a call costs: value and gradient of a small formula on floats, beside ``lambdify``'s."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sympy

import numeric as nm
import symdiff as sd
from benchmarks.cases import OURS, Case, Contestant, Race

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CALLS = 20_000


def _repeated(f: Callable[[float, float], object]) -> Contestant:
    def run(_: int) -> None:
        for _ in range(CALLS):
            f(0.5, 1.5)

    return Contestant(run)


def cases() -> Iterator[Case]:
    """exp(-x^2/2) sin(y), value and gradient."""
    x, y = sd.symbols("x y")
    function = nm.lower(sd.exp(-(x**2) / 2) * sd.sin(y), [x, y])
    a, b = sympy.symbols("x y", real=True)
    value = sympy.exp(-(a**2) / 2) * sympy.sin(b)
    outputs: list[Any] = [value, value.diff(a), value.diff(b)]
    yield Race(
        "value and gradient of exp(-x**2/2)*sin(y)",
        {
            OURS: _repeated(function.value_and_grad),
            "lambdify": _repeated(sympy.lambdify((a, b), outputs, "math", cse=True)),
            "lambdify, NumPy": _repeated(sympy.lambdify((a, b), outputs, "numpy", cse=True)),
        },
        per=CALLS,
    )
