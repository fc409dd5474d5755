"""The equations of the Feynman Symbolic Regression Database, and points to evaluate them at."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

import symdiff as sd
from numeric.check.derivatives import differentiate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from numeric.check.derivatives import Derivatives

SEED = 2020
LATTICE = 2.0**-32
"""Coordinates are multiples of this, so that x + h and x - h are exact for such an h."""


@dataclass(frozen=True)
class Equation:
    """A formula as text, and the range of each of its variables."""

    number: str
    output: str
    formula: str
    names: tuple[str, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    @property
    def width(self) -> NDArray[np.float64]:
        """The length of each variable's range, its natural unit."""
        return np.subtract(self.high, self.low)

    def differentiate(self) -> Derivatives:
        """Parse the formula and differentiate it by every variable, to second order.

        >>> [str(e) for e in load()[7].differentiate().by_order.values()]
        ['mu*Nn', 'Nn', 'mu', '0', '1', '0']
        """
        return differentiate(sd.parse(self.formula), [sd.symbol(name) for name in self.names])

    def sample(self, points: int) -> NDArray[np.float64]:
        """Draw points uniformly from the ranges, shape (variables, points); always the same points.

        >>> load()[0].sample(3).shape
        (1, 3)
        """
        # Seed with the equation's own number, so that any selection of equations has the same
        # points.
        generator = np.random.default_rng([SEED, *self.number.encode()])
        unit = generator.random((len(self.names), points))
        x = np.array(self.low)[:, None] + self.width[:, None] * unit
        return np.round(x / LATTICE) * LATTICE


def load() -> list[Equation]:
    """Return the 100 equations, in the order of the table.

    Source: Udrescu and Tegmark, Science Advances 6, eaay2631 (2020).

    >>> equation = load()[7]
    >>> equation.number, equation.formula, equation.names
    ('I.12.1', 'mu*Nn', ('mu', 'Nn'))
    """
    source = files("numeric") / "data" / "feynman_equations.csv"
    rows = csv.DictReader(source.read_text(encoding="utf-8").splitlines())
    return [_equation(row) for row in rows]


def _equation(row: dict[str, str]) -> Equation:
    ranges = [entry.split(":") for entry in row["variables"].split(";")]
    return Equation(
        number=row["id"],
        output=row["output"],
        formula=row["formula"],
        names=tuple(name for name, _, _ in ranges),
        low=tuple(float(low) for _, low, _ in ranges),
        high=tuple(float(high) for *_, high in ranges),
    )
