"""Programs of Python floats as the functions that users call, with no layer in between."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from numeric.lowering.passes.lanes import PACKED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numeric.lowering.names import Emitter


Rows: TypeAlias = "Sequence[tuple[int, int, str]]"


class Body(NamedTuple):
    """Lines and results of a program; ``joined`` are results that are one text (``in_rows``).

    ``packed``: it takes its arguments as one tuple, ``args``.
    """

    lines: Sequence[str]
    results: Sequence[str]
    joined: Rows
    packed: bool


def in_rows(results: Sequence[str], joined: Rows) -> list[str]:
    """Results as they are returned: those from one place to another as one text.

    >>> in_rows(["v1", "v2.item(0)", "v2.item(1)", "v3"], [(1, 3, "*v2.tolist()")])
    ['v1', '*v2.tolist()', 'v3']
    """
    found = list(results)
    for first, last, text in reversed(joined):
        found[first:last] = [text]
    return found


def entry(
    emitter: Emitter,
    name: str,
    body: Body,
    dtypes: Sequence[type],
    cast: Sequence[bool],
    slow: Callable[..., object],
    *,
    many: bool,
) -> Callable[..., Any]:
    """A program of scalars, lines and results, as one function of its arguments.

    ``body`` is what it does; ``cast`` says which results are made floats.  Arguments of other
    classes than ``dtypes``, named ones, and calls in which ``math`` raises go to ``slow``.  The
    entry ``value_and_grad`` returns the first result, then the tuple of the others; its ``wrt`` is
    one of the named, since each parameter costs a call time.
    """
    lines, results, joined, packed = body
    gradient = name == "value_and_grad"
    names = [f"v{i + 1}" for i in range(len(dtypes))]
    fallback = emitter.bind((name, "slow"), f"{name}_checked", lambda: slow)
    if len(dtypes) < PACKED:
        missing = emitter.bind("missing", "missing", object)
        params = "".join([f"{v}={missing}, " for v in names]) + ("/, " if names else "") + "*rest"
        kinds = [f"{v}.__class__ is {k.__name__}" for v, k in zip(names, dtypes, strict=True)]
        test = " and ".join(["not named and not rest", *kinds])
        listed = "".join([f"{v}, " for v in names])
        given = f"*[v for v in ({listed}) if v is not {missing}], *rest"
        unpacked = []
    else:
        params = given = "*args"
        classes = emitter.bind("classes", "classes", lambda: list(dtypes))
        test = f"not named and [v.__class__ for v in args] == {classes}"
        unpacked = [] if packed else [f"{', '.join(names)} = args"]
    source = [
        f"def {name}({params}, **named):",
        f"    if {test}:",
        "        try:",
        *[f"            {line}" for line in (*unpacked, *lines)],
        f"            return {_returned(results, joined, cast, gradient, many)}",
        "        except (ValueError, OverflowError, ZeroDivisionError):",
        "            pass",
        f"    return {fallback}({given}, **named)",
        "",
    ]
    return emitter.compiled(name, "\n".join(source))


def _returned(
    results: Sequence[str], joined: Rows, cast: Sequence[bool], gradient: bool, many: bool
) -> str:
    texts = [
        text if not wanted else f"{text}.0" if text.lstrip("-").isdigit() else f"float({text})"
        for text, wanted in zip(results, cast, strict=True)
    ]
    texts = in_rows(texts, joined)
    head, rest = (texts[:1], texts[1:]) if gradient else (texts, [])
    value = f"({', '.join(head)},)" if many else head[0]
    if not gradient:
        return value
    return f"{value}, ({', '.join(rest)}{',' if len(rest) == 1 else ''})"
