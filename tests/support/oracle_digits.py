"""Digits of slow oracles, checked in: ``tests/data/oracle_digits.tsv``.

``python -m tests.oracle_digits`` writes the file.  A value that it lacks is computed when a test
asks for it, so that a new function can be tested before the file is written again.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mpmath as mp

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PATH = Path(__file__).parents[1] / "data" / "oracle_digits.tsv"
DIGITS = 60
"""Significant digits of a value in the file: tests compare 50."""


def key(suite: str, name: str, point: Sequence[float], order: object) -> str:
    """Return the name of a value in the file."""
    return "\t".join([suite, name, repr(tuple(map(float, point))), repr(order)])


@cache
def lines() -> dict[str, str]:
    """Return the values of the file as text, by their keys."""
    if not PATH.exists():
        return {}
    pairs = (line.rpartition("\t") for line in PATH.read_text(encoding="ascii").splitlines())
    return {name: values for name, _, values in pairs}


def written(values: Sequence[Any]) -> str:
    """Return numbers as the file has them."""
    with mp.workdps(DIGITS + 10):
        return " ".join(mp.nstr(x, DIGITS, strip_zeros=True) for x in values)


def stored(name: str, compute: Callable[[], Sequence[Any]]) -> Sequence[Any]:
    """Return the numbers of a key: those of the file, else those that ``compute`` returns."""
    text = lines().get(name)
    if text is None:
        return compute()
    with mp.workdps(DIGITS + 10):
        return [mp.mpf(number) for number in text.split()]
