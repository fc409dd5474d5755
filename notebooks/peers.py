"""What PyTorch, JAX and CasADi say, in notebooks that run without them, too.

``beside`` asks the package where it is installed, and else reads what it said from
``recorded.json``.  The environment variable ``SYMDIFF_RECORD`` chooses: with 1, the package is
asked, and its answer written to the file (``make crosscheck`` does so); with 0, the file is read,
whatever is installed.
"""

import json
import math
import os
from collections.abc import Callable
from importlib import metadata, util
from pathlib import Path
from typing import Any

import numpy as np

RECORDED = Path(__file__).with_name("recorded.json")

_asked: set[str] = set()


def beside(key: str, package: str, compute: Callable[[], Any]) -> Any:
    """``compute()`` where the package can be imported, else the value recorded under the key.

    ``compute`` imports the package itself, and gives numbers, texts, arrays, or lists and dicts of
    these.  Whether computed or recorded, the value is the same kind of thing: arrays, also those of
    the package, are NumPy's, and tuples are lists.  Which of the two it is is printed.

    >>> beside("an example", "numpy", lambda: (1, [2.5]))
    numpy ...: computed here
    [1, [2.5]]
    """
    mode = os.environ.get("SYMDIFF_RECORD", "")
    if mode == "1" or (mode != "0" and util.find_spec(package) is not None):
        value = encoded(compute(), key)
        if mode == "1":
            _record(key, package, value)
        print(f"{package} {_version(package)}: computed here")
        return decoded(value)
    entry = read().get(key)
    if entry is None:
        raise KeyError(
            f"{package} is not asked, and {RECORDED.name} has no {key!r}: install {package}, "
            "or let `make crosscheck` record it"
        )
    print(f"{package} {entry['version']}: recorded values, {package} was not asked")
    return decoded(entry["value"])


def read() -> dict[str, Any]:
    """Everything that is recorded, by key: the package, its version, the value as JSON has it."""
    return json.loads(RECORDED.read_text(encoding="utf-8")) if RECORDED.exists() else {}


def write(entries: dict[str, Any]) -> None:
    """Write the file, all of it or nothing."""
    text = json.dumps(dict(sorted(entries.items())), indent=1, ensure_ascii=False, allow_nan=False)
    fresh = RECORDED.with_suffix(".new")
    fresh.write_text(text + "\n", encoding="utf-8")
    fresh.replace(RECORDED)


def _record(key: str, package: str, value: Any) -> None:
    if key in _asked:
        raise ValueError(f"the key {key!r} is recorded twice; each call of beside needs its own")
    _asked.add(key)
    write(read() | {key: {"package": package, "version": _version(package), "value": value}})


def _version(package: str) -> str:
    return metadata.version(package).partition("+")[0]  # 2.13.0+cpu is 2.13.0


def encoded(value: Any, key: str) -> Any:
    """The value as JSON can have it: arrays as dicts, nan and inf as texts."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return float(value) if math.isfinite(value) else {"float": str(value)}
        case list() | tuple():
            return [encoded(item, key) for item in value]
        case dict():
            return {str(name): encoded(item, key) for name, item in value.items()}
    if not hasattr(value, "__array__"):
        raise TypeError(
            f"{key}: {type(value).__name__} cannot be recorded; give numbers, texts, arrays, or "
            "lists and dicts of these"
        )
    array = np.asarray(value)
    numbers = [x if math.isfinite(x) else str(x) for x in array.ravel().tolist()]
    return {"array": str(array.dtype), "shape": list(array.shape), "numbers": numbers}


def decoded(value: Any) -> Any:
    """What ``encoded`` made into JSON."""
    match value:
        case {"array": dtype, "shape": shape, "numbers": numbers}:
            return np.array(numbers, dtype=object).astype(dtype).reshape(shape)
        case {"float": number}:
            return float(number)
        case dict():
            return {name: decoded(item) for name, item in value.items()}
        case list():
            return [decoded(item) for item in value]
    return value
