"""Collect the inputs of a function other than Tensors: numbers, closures, globals, objects.

A trace holds for one value of each of these.  Arguments that are not Tensors are part of the
signature (``key``).  ``surroundings`` lists the values that the function reaches through closures,
globals and attributes; ``compile`` compares the list at every call.

The search takes a few steps and ends at functions of these packages.  It cannot be complete, since
a program may read anything: a value that it misses stays as it was in the trace.
"""

from __future__ import annotations

import functools
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from numeric.eager.tensor import Tensor
from numeric.tracing.nested import Leaf

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType


def key(tree: object) -> object:
    """Return a hashable key of a structure, equal for arguments that may share a trace."""
    if isinstance(tree, Leaf):
        return tree
    # Keep the order of the dict: the function may depend on it.
    if isinstance(tree, dict):
        return ("dict", *((k, key(x)) for k, x in tree.items()))
    if isinstance(tree, list | tuple):
        return (type(tree), *map(key, tree))
    # The elements of an array are constants of the trace.
    if isinstance(tree, np.ndarray):
        return ("array", tree.shape, tree.dtype, tree.tobytes())
    # As text: 0.0 and -0.0 are equal but give different results, and nan is not equal to itself.
    if isinstance(tree, float):
        return (float, tree.hex())
    try:
        hash(tree)
    except TypeError:
        return Same(tree)
    # With the type, because 1 and True are equal.
    return (type(tree), tree)


class Same:
    """A key of one object, equal for the same object only; it keeps the object alive."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.value is other.value


# The largest number of steps to an object, and of objects, in the search of each call.
_DEPTH, _SEEN = 5, 2000


def surroundings(fn: object) -> dict[object, object]:
    """Return the tensors and numbers that a function reaches, keyed by the path to each.

    The search covers closures, globals, defaults and attributes.  If a value differs in the next
    call, the function is traced again, except for values that the function itself changes.
    """
    reached: dict[object, object] = {}
    seen: set[int] = set()
    stack: list[tuple[tuple[object, ...], object, int]] = [((), fn, 0)]
    while stack and len(seen) < _SEEN:
        way, x, depth = stack.pop()
        # Before ``seen``: equal small numbers are one object, but each path to it is a condition.
        if isinstance(x, bool | int | str | float | complex | None):
            reached[way] = key(x)
            continue
        if id(x) in seen or isinstance(x, type):
            continue
        seen.add(id(x))
        if isinstance(x, Tensor):
            # The elements are not a condition: they are an input, and may differ in each call.
            reached[way] = Same(x), x._array.shape, x._array.dtype
        elif depth < _DEPTH:
            stack += [((way, name), y, depth + 1) for name, y in _inside(x)]
    return reached


def _inside(x: Any) -> Iterator[tuple[object, object]]:
    """Yield the objects that ``x`` refers to, each with a name."""
    if isinstance(x, dict):
        yield from ((key(k), y) for k, y in x.items())
    elif isinstance(x, list | tuple):
        yield from enumerate(x)
    elif isinstance(x, functools.partial):
        yield from (("func", x.func), ("args", x.args), ("keywords", x.keywords))
    elif hasattr(x, "__func__"):
        yield from (("func", x.__func__), ("self", x.__self__))
    elif hasattr(x, "__code__"):
        if str(x.__module__ or "").partition(".")[0] in ("numeric", "symdiff", "numpy"):
            return
        for i, cell in enumerate(x.__closure__ or ()):
            try:
                yield i, cell.cell_contents
            except ValueError:  # the variable has no value yet
                continue
        yield from (("defaults", x.__defaults__), ("kwdefaults", x.__kwdefaults__))
        yield from ((n, x.__globals__[n]) for n in _names(x.__code__) if n in x.__globals__)
    elif hasattr(x, "__dict__") and not hasattr(x, "__path__") and not hasattr(x, "__spec__"):
        yield from vars(x).items()
        # A call runs a method of the class, and the search does not enter classes.
        if callable(x):
            yield "call", type(x).__call__


@functools.lru_cache(maxsize=1024)
def _names(code: CodeType) -> tuple[str, ...]:
    """Return the global names in a function's code and in its inner functions."""
    inner = [_names(c) for c in code.co_consts if isinstance(c, type(code))]
    return tuple(dict.fromkeys([*code.co_names, *chain.from_iterable(inner)]))
