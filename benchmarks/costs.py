"""Measure the costs by which lowering decides, on this machine: ``python -m benchmarks.costs``.

A line for each number of ``numeric.lowering.costs``: what lowering counts with, what it is here,
and the ratio.  Other numbers are choices, or multiples of measured ones, and have no line.  Ratios
between a half and two are noise: passes decide by costs that differ more.  The unit of all but the
caches and the microseconds is the time in which NumPy adds an element of arrays that lie in the
cache.
"""

from __future__ import annotations

import argparse
import math
import os
import timeit
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from numeric.lowering import costs

if TYPE_CHECKING:
    from collections.abc import Callable

CHOICES = {
    "NOMINAL": "a length that nobody knows",
    "NUMBER": "bytes that count for a scalar",
    "CALLS": "four calls",
    "MANY": "as many blocks as there may be threads",
    "LARGE": "two blocks",
    "HANDED": "eight times LARGE",
}
"""The numbers without a measurement."""

_CACHED, _OUTSIDE = 2**14, 2**22  # elements
_OPERATIONS = 32  # in a program whose blocks are measured


class Row(NamedTuple):
    """A number of ``costs`` by name, and what it is on this machine."""

    name: str
    counted: float
    measured: float


def measured(seconds: float) -> list[Row]:
    """Measure the numbers, each time of a call for about so many seconds."""
    clock = _Clock(seconds)
    one, cached, outside = (np.random.default_rng(n).random(n) for n in (1, _CACHED, _OUTSIDE))
    call = clock.of(lambda: np.add(one, one))
    # A call is a tenth of these times at most: not subtracted, it turns no ratio negative.
    element = clock.of(lambda: np.add(cached, cached)) / _CACHED
    exponential = clock.of(lambda: np.exp(cached)) / _CACHED
    crossing = clock.of(lambda: np.add(outside, outside)) / _OUTSIDE
    side = 256
    matrix = np.random.default_rng(side).random((side, side))
    multiplication = clock.of(lambda: matrix @ matrix) / side**3
    a, b, scalar = 1.25, 0.75, one[0]
    found = {
        "CALL": call / element,
        "FUNCTION": exponential / element,
        "BLAS": element / multiplication,
        "CROSSING": crossing / element,
        "BLOCK": _best(clock, outside, 4),
        "POINTS": _best(clock, outside, _OPERATIONS),
        "FLOATS.scalar": 1e6 * clock.of(lambda: a * b),
        "FLOATS.function": 1e6 * clock.of(lambda: math.exp(a)),
        "ARRAYS.scalar": 1e6 * clock.of(lambda: scalar * scalar),
        "ARRAYS.function": 1e6 * clock.of(lambda: np.exp(scalar)),
        "ARRAYS.call": 1e6 * call,
        "ARRAYS.element": 1e6 * element,
        "ARRAYS.read": 1e6 * clock.of(lambda: cached[7]),
    }
    return [Row(name, _counted(name), value) for name, value in found.items()]


def _counted(name: str) -> float:
    """Return a number of ``costs`` by its name."""
    whole, _, part = name.partition(".")
    value = getattr(costs, whole)
    return float(getattr(value, part) if part else value)


class _Clock:
    """Least times of calls, each measured for some seconds."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._empty = 0.0
        self._empty = self.of(lambda: None)

    def of(self, run: Callable[[], object]) -> float:
        """Return the seconds of a call, without those of calling an empty function."""
        timer = timeit.Timer(run)
        once = max(timer.timeit(2) / 2, 1e-7)
        repeats = 5
        number = max(1, int(self._seconds / repeats / once))
        return max(min(timer.repeat(repeats, number)) / number - self._empty, 1e-10)


def _best(clock: _Clock, x: np.ndarray, alive: int) -> int:
    """Return the size of blocks in which a program is fastest that has so many arrays at a time."""

    def in_blocks(size: int) -> None:
        for start in range(0, len(x), size):
            block = x[start : start + size]
            arrays = [block] * alive
            for k in range(_OPERATIONS):
                arrays[k % alive] = arrays[(k + 1) % alive] + block

    sizes = [2**k for k in range(11, 19)]
    return min(sizes, key=lambda size: clock.of(lambda: in_blocks(size)))


def table(rows: list[Row]) -> str:
    """Write the rows as a table."""
    lines = [f"{'':16}{'counted':>12}{'here':>12}{'ratio':>8}"]
    for name, counted, value in rows:
        lines.append(f"{name:16}{counted:12.4g}{value:12.4g}{value / counted:8.2f}")
    return "\n".join(lines)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.costs", description=__doc__)
    parser.add_argument("--seconds", type=float, default=0.5, help="of each measurement")
    print(f"{os.cpu_count()} processors, NumPy {np.__version__}")
    print(table(measured(parser.parse_args().seconds)))


if __name__ == "__main__":
    main()
