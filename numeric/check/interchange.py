"""Write reports as JSON and read them back."""

from __future__ import annotations

import json
import math
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import mpmath
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mpmath import mpf

    from numeric.check.report import Finding, Report, Sample

DIGITS = 40
"""Digits of exact values: twice those that a report promises, and more than any float has."""

T = TypeVar("T")

_EXACT = ("expected", "valid")  # the fields that hold exact values


def dumped(record: object) -> str:
    """Return the JSON of a report, or of a part of one.

    >>> import numpy as np
    >>> dumped({"point": np.array([0.5, np.nan], np.float32)})
    '{"point": {"dtype": "float32", "shape": [2], "data": [0.5, "nan"]}}'
    """
    # Convert NumPy's and mpmath's numbers first: json.dumps would write NaN, which is not JSON.
    return json.dumps(_plain(record), allow_nan=False)


def _plain(value: Any) -> Any:
    """Convert a value to types that json can write."""
    if is_dataclass(value) and not isinstance(value, type):
        entries = ((f.name, getattr(value, f.name)) for f in fields(value))
        return {k: _decimals(v) if k in _EXACT else _plain(v) for k, v in entries}
    if isinstance(value, str | bool | int | None):
        return value
    if isinstance(value, np.ndarray):
        shape, data = list(value.shape), _plain(value.tolist())
        return {"dtype": value.dtype.name, "shape": shape, "data": data}
    if isinstance(value, np.generic) and not isinstance(value.item(), np.generic):
        return _plain(value.item())  # item() of a long double is a NumPy number again
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dict) or hasattr(value, "items"):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    raise TypeError(f"a report cannot hold {value!r}: neither a number, an array nor a text")


def _decimals(value: object) -> object:
    """Write exact numbers as decimal strings; None stays None."""
    if value is None:
        return None
    if isinstance(value, list | tuple):
        return [_decimals(v) for v in value]
    return decimal(value, DIGITS)


def decimal(value: object, digits: int) -> str:
    """Write a number with at most ``digits`` significant digits, without trailing zeros.

    >>> decimal(mpmath.mpf(1) / 4, 20), decimal(float("-inf"), 20)
    ('0.25', '-inf')
    """
    right = min(digits, max(1, getattr(value, "digits", digits)))  # Digits know how many are right
    with mpmath.workdps(digits + 10):
        number = mpmath.mpmathify(value)
        if not mpmath.isfinite(number):
            return str(float(number))
        return str(mpmath.nstr(number, right))


def loaded(text: str, report: type[Report], finding: type[Finding], sample: type[Sample]) -> Report:
    """Return the report that ``dumped`` wrote.  Raises ValueError for any other text."""
    try:
        entries = json.loads(text)
        entries["findings"] = tuple(_finding(finding, entry) for entry in entries["findings"])
        entries["samples"] = tuple(
            sample(**entry | {k: float(entry[k]) for k in ("magnitude", "ulps")})
            for entry in entries["samples"]
        )
        entries["inputs"] = {name: tuple(shape) for name, shape in entries["inputs"].items()}
        entries["notes"] = tuple(entries["notes"])
        return report(**entries)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"this is not the JSON of a report: {error!r}") from None


def _finding(finding: type[Finding], entry: dict[str, Any]) -> Finding:
    point = {name: _array(value) for name, value in entry["point"].items()}
    read: dict[str, Any] = {
        "component": tuple(entry["component"]),
        "point": point,
        "expected": _optional(_number, entry["expected"]),
        "got": _optional(float, entry["got"]),
        "ulps": float(entry["ulps"]),
        "valid": _optional(lambda ends: tuple(map(_number, ends)), entry["valid"]),
    }
    return finding(**entry | read)


def _optional(read: Callable[[Any], T], value: object) -> T | None:
    return None if value is None else read(value)


def _number(text: str) -> mpf:
    with mpmath.workdps(DIGITS + 10):
        return mpmath.mpf(text)


def _array(entry: dict[str, Any]) -> np.ndarray:
    dtype, flat = np.dtype(entry["dtype"]), list(_flat(entry["data"], len(entry["shape"])))
    return np.array(flat, dtype).reshape(entry["shape"])


def _flat(data: Any, depth: int) -> Iterator[float]:
    """Yield the numbers in nested lists; convert the texts "nan" and "inf"."""
    if depth:
        for row in data:
            yield from _flat(row, depth - 1)
    else:
        yield float(data) if isinstance(data, str) else data
