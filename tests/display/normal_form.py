r"""A normal form of LaTeX: what looks the same on the page is equal, and nothing else.

Dropped are ``\left`` and ``\right``, ``\displaystyle``, blanks and thin spaces, and braces that
group nothing that is not grouped already: round the argument of a command or a script that is one
token, and round what has no script, ``\sin{\left(x\right)}``.
"""

from __future__ import annotations

from typing import NamedTuple

from tests.display.latex_tokens import tokens

_DROPPED = {"\\left", "\\right", "\\displaystyle", " ", "\\,", "\\:", "\\;", "\\!"}
_ARGUMENTS = {"\\frac": 2, "\\sqrt": 1, "\\operatorname": 1, "\\begin": 1, "\\end": 1}
_ARGUMENTS |= dict.fromkeys(("\\mathrm", "\\mathtt", "\\mathbf", "\\text", "\\dot", "\\hat"), 1)
_PAIRS = {"(": ")", "[": "]"}


class Group(NamedTuple):
    """What stands in braces."""

    items: tuple[str | Group, ...]


class Command(NamedTuple):
    """A command or a script with its arguments."""

    name: str
    arguments: tuple[tuple[object, ...], ...]


def normalised(latex: str) -> tuple[object, ...]:
    """The normal form, for comparison."""
    words = tokens(latex)
    tree, end = _read(words, 0, text=False)
    if end != len(words):
        raise ValueError(f"a brace too many: {latex}")
    return _flat(tree)


def _read(words: list[str], k: int, text: bool) -> tuple[tuple[str | Group, ...], int]:
    """The items up to a closing brace or the end; blanks are kept in ``\\text``."""
    items: list[str | Group] = []
    while k < len(words) and words[k] != "}":
        word = words[k]
        if word == "{":
            inner, k = _read(words, k + 1, text or (bool(items) and items[-1] == "\\text"))
            if k == len(words):
                raise ValueError("an open brace")
            items.append(Group(inner))
        elif word not in _DROPPED or (text and word == " "):
            items.append(word)
        k += 1
    return tuple(items), k


def _flat(items: tuple[str | Group, ...]) -> tuple[object, ...]:
    out: list[object] = []
    k = 0
    while k < len(items):
        item = items[k]
        k += 1
        if isinstance(item, Group):
            inner = _flat(item.items)
            scripted = k < len(items) and items[k] in ("^", "_")
            out.extend(inner if not scripted or _is_one(inner) else [Command("{", (inner,))])
            continue
        count = 1 if item in ("^", "_") else _ARGUMENTS.get(item, 0)
        if item == "\\sqrt" and k < len(items) and items[k] == "[":
            count = 0  # an index; the rest follows as it is
        arguments = []
        for _ in range(count):
            if k == len(items):
                raise ValueError(f"{item} lacks an argument")
            argument = items[k]
            k += 1
            arguments.append(_flat(argument.items if isinstance(argument, Group) else (argument,)))
        out.append(Command(item, tuple(arguments)) if count else item)
    return tuple(_scripts_in_order(out))


def _is_one(inner: tuple[object, ...]) -> bool:
    """Whether a script after it belongs to all of it even without braces, to the eye.

    One thing, with no script of its own, or what ends with a bracket that opens it or is opened by
    a name before: ``f(x)``, ``(x + y)``.
    """
    if len(inner) == 1:
        return not (isinstance(inner[0], Command) and inner[0].name in "^_")
    opening = 1 if inner[0] not in _PAIRS else 0
    if inner[opening] not in _PAIRS:
        return False
    depth = 0
    for k, item in enumerate(inner[opening:], opening):
        depth += (item in _PAIRS) - (item in _PAIRS.values())
        if depth == 0:
            return k == len(inner) - 1
    return False


def _scripts_in_order(items: list[object]) -> list[object]:
    """``x^2_0`` as ``x_0^2``, which look the same."""

    def is_script(item: object, sign: str) -> bool:
        return isinstance(item, Command) and item.name == sign

    for k in range(len(items) - 1):
        if is_script(items[k], "^") and is_script(items[k + 1], "_"):
            items[k], items[k + 1] = items[k + 1], items[k]
    return items
