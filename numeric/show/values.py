"""Write numbers in little space."""

from __future__ import annotations

from typing import Any

import numpy as np

_WIDEST = 30  # characters


def shortened(value: object) -> str:
    """Write a number with five digits, or an array with three: all of it, its ends, or its range.

    >>> shortened(2 / 3), shortened(True), shortened([1.0, 1000.0])
    ('0.66667', 'True', '[1, 1000]')
    >>> shortened(range(100)), shortened([[1.5] * 9] * 9)
    ('[0, 1, ..., 98, 99]', '1.5 everywhere')
    >>> shortened([[0.25, 1.5], [-0.5, 2.5]]), shortened([[0.123456, -2, 1 / 3]] * 3)
    ('[[0.25, 1.5], [−0.5, 2.5]]', '−2 to 0.333')
    """
    array = np.asarray(value)
    if not array.shape:
        number = array.item()
        return (f"{number:.5g}" if array.dtype.kind == "f" else str(number)).replace("-", "−")
    for ends in (2, 1):
        text = np.array2string(
            array,
            threshold=6,
            edgeitems=ends,
            separator=", ",
            max_line_width=10_000,
            formatter={"float_kind": _digits, "int_kind": str},
        )
        text = " ".join(text.split()).replace("-", "−")
        if len(text) <= _WIDEST:
            return text
    return _range(array)


def _range(array: Any) -> str:
    numbers = array[array == array]  # nan is the only number that differs from itself
    if not numbers.size:
        return "nan everywhere"
    low, high = _digits(numbers.min()), _digits(numbers.max())
    if numbers.size < array.size:
        return f"{low} to {high}, and nan"
    return f"{low} everywhere" if numbers.min() == numbers.max() else f"{low} to {high}"


def _digits(number: Any) -> str:
    places = "0f" if 999.5 <= abs(number) < 99999.5 else "3g"  # 1000 rather than 1e+03
    return f"{number:.{places}}".replace("-", "−")
