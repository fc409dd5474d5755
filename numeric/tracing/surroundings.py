"""What a function of Tensors depends on besides them: numbers, closures, globals, objects.

A trace holds for one value of each of these.  Other arguments are part of the signature (``key``);
what the function reaches through closures, globals and attributes is listed before it is traced and
at every call (``surroundings``), and compared.  The list is of what can be reached in a few steps,
and ends at functions of these packages: it cannot be complete, as a program may read anything, and
what it misses is taken as it was when the function was traced.
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
    """A hashable stand-in of a structure: equal for arguments that may share a trace."""
    if isinstance(tree, Leaf):
        return tree
    # In its order: what the function does may depend on that.
    if isinstance(tree, dict):
        return ("dict", *((k, key(x)) for k, x in tree.items()))
    if isinstance(tree, list | tuple):
        return (type(tree), *map(key, tree))
    # Its numbers are constants of the trace.
    if isinstance(tree, np.ndarray):
        return ("array", tree.shape, tree.dtype, tree.tobytes())
    # As text: 0.0 and -0.0 are equal, though functions tell them apart, and nan equals nothing.
    if isinstance(tree, float):
        return (float, tree.hex())
    try:
        hash(tree)
    except TypeError:
        return Same(tree)
    # With the type, as 1 and True are equal.
    return (type(tree), tree)


class Same:
    """Equal for one object only, which it keeps alive."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.value is other.value


# How far, and at how many objects, every call looks.
_DEPTH, _SEEN = 5, 2000


def surroundings(fn: object) -> dict[object, object]:
    """What the function finds in closures, globals, defaults and objects: tensors and numbers.

    They are by the way on which they are found.  If one is another in the next call, the function
    is traced again; except for those that the function itself changes while it is traced.
    """
    found: dict[object, object] = {}
    seen: set[int] = set()
    stack: list[tuple[tuple[object, ...], object, int]] = [((), fn, 0)]
    while stack and len(seen) < _SEEN:
        way, x, depth = stack.pop()
        # Before ``seen``: equal small numbers are one object, and are a condition on each way to
        # it.
        if isinstance(x, bool | int | str | float | complex | None):
            found[way] = key(x)
            continue
        if id(x) in seen or isinstance(x, type):
            continue
        seen.add(id(x))
        if isinstance(x, Tensor):
            # Its numbers are no condition: they are an input, and may be others in each call.
            found[way] = Same(x), x._array.shape, x._array.dtype
        elif depth < _DEPTH:
            stack += [((way, name), y, depth + 1) for name, y in _inside(x)]
    return found


def _inside(x: Any) -> Iterator[tuple[object, object]]:
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
            except ValueError:  # not yet filled
                continue
        yield from (("defaults", x.__defaults__), ("kwdefaults", x.__kwdefaults__))
        yield from ((n, x.__globals__[n]) for n in _names(x.__code__) if n in x.__globals__)
    elif hasattr(x, "__dict__") and not hasattr(x, "__path__") and not hasattr(x, "__spec__"):
        yield from vars(x).items()
        # What runs is its class's, and classes are not looked into.
        if callable(x):
            yield "call", type(x).__call__


@functools.lru_cache(maxsize=1024)
def _names(code: CodeType) -> tuple[str, ...]:
    """The global names in a function's code, and in that of functions inside it."""
    inner = [_names(c) for c in code.co_consts if isinstance(c, type(code))]
    return tuple(dict.fromkeys([*code.co_names, *chain.from_iterable(inner)]))
