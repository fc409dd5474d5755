"""The contents of the reference: public names of modules, by sections, as reStructuredText.

A public module has a list ``__all__``.  Its page has tables with every name, and an entry for
each name below.  Several names of one object share one entry; the other names refer to it.
"""

from __future__ import annotations

import inspect
import re
from functools import cache
from importlib import import_module
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import numeric.subjects
import symdiff.subjects
from symdiff.subjects import by_subject, home

if TYPE_CHECKING:
    from collections.abc import Iterable

PUBLIC_MODULES = (
    "symdiff",
    "numeric.check",
    "numeric.show",
    "numeric.export",
    "numeric.func",
    "numeric",
    "numeric.autograd",
    "numeric.autograd.functional",
    "numeric.autograd.graph",
    "numeric.autograd.function",
    "numeric.linalg",
    "numeric.nn",
    "numeric.nn.functional",
    "numeric.nn.utils",
    "numeric.optim",
)
"""The modules in order: an object in several of them is described in the first."""

ALL = "In full"
"""The title for a module without sections."""

SECTIONS = {"symdiff": symdiff.subjects.SUBJECTS, "numeric": numeric.subjects.SUBJECTS}
"""The subjects of modules with many names."""


def names(module: str) -> list[str]:
    """Return the public names of a module, in order, without its version."""
    return [name for name in _public(module) if not name.startswith("__")]


def sections(module: str) -> dict[str, list[str]]:
    """Map the titles of a module's sections to its names; names without a section go to OTHERS."""
    of = SECTIONS.get(module)
    if of is None:
        return {ALL: sorted(names(module), key=str.lower)}
    homes = {name: home(getattr(import_module(module), name)) for name in names(module)}
    return by_subject(module, homes, of)


def page(module: str, titles: list[str]) -> str:
    """Write tables of the names under these titles, then an entry for each, as reStructuredText."""
    listed = {title: members for title, members in sections(module).items() if title in titles}
    lines: list[str] = []
    for title, members in listed.items():
        rubric = [f".. rubric:: {title}", ""] if len(listed) > 1 else []
        lines += [*rubric, *_table(module, members), ""]
    for title, members in listed.items():
        described = [name for name in members if not _is_module(module, name)]
        if described:
            lines += [title, "-" * len(title), ""]
        for name in described:
            lines += [*_entry(module, name), ""]
    return "\n".join(lines)


def _table(module: str, listed: list[str]) -> list[str]:
    def row(name: str) -> tuple[str, Any]:
        thing = getattr(import_module(module), name)
        role = "mod" if isinstance(thing, ModuleType) else "obj"
        return f":py:{role}:`{name} <{module}.{name}>`", thing

    return _rows(map(row, listed))


def _rows(entries: Iterable[tuple[str, Any]]) -> list[str]:
    lines = [".. list-table::", "   :widths: 30 70", "   :class: names", ""]
    for link, thing in entries:
        lines += [f"   * - {link}", f"     - {summary(thing)}"]
    return lines


def summary(thing: Any) -> str:
    """Return the first sentence of a docstring, on one line; for a value, the value itself."""
    kinds = (type, ModuleType, property)
    if not (isinstance(thing, kinds) or callable(thing)) or not thing.__doc__:
        return f"``{thing!r}``"
    paragraph = inspect.cleandoc(thing.__doc__).split("\n\n")[0]
    sentence = re.match(r"(?:``.*?``|[^`])*?[.;:](?=\s|$)|.*", " ".join(paragraph.split()))
    assert sentence is not None
    return sentence[0].rstrip(".;:")


def _entry(module: str, name: str) -> list[str]:
    thing, full = getattr(import_module(module), name), f"{module}.{name}"
    if _plain(thing):
        return [f".. py:data:: {name}", f"   :module: {module}", "", f"   {summary(thing)}"]
    first = described()[id(thing)]
    if first != full:
        kind = "class" if isinstance(thing, type) else "function"
        return [
            f".. py:{kind}:: {name}",
            f"   :module: {module}",
            "",
            f"   The same as :py:obj:`{first}`.",
        ]
    if not isinstance(thing, type):
        return [f".. autofunction:: {full}"]
    kind = "exception" if issubclass(thing, Exception) else "class"
    return [f".. auto{kind}:: {full}", *_members(module, name, thing)]


def _members(module: str, name: str, thing: type) -> list[str]:
    """List the members of a class; name those in one line that equal functions of the module."""
    mine, same, writing = [], [], []
    for member in own_members(thing):
        of = member.rstrip("_")
        function = getattr(import_module(module), of, None) if of in names(module) else None
        if function is None or function.__doc__ != getattr(thing, member).__doc__:
            mine.append(member)
        else:
            (same if of == member else writing).append((member, f"{module}.{of}"))
    options = [f"   :members: {', '.join(mine)}"] if mine else []
    lines = [f"   {line}" for line in _member_table(f"{module}.{name}", thing, mine)]
    for words, pairs in (
        ("Methods that are functions, too: ", same),
        ("Functions that write into the tensor: ", writing),
    ):
        links = ", ".join(f":py:obj:`{member} <{function}>`" for member, function in pairs)
        lines += ["", f"   {words}{links}."] if pairs else []
    return [*options, "", *lines]


def _member_table(full: str, thing: type, members: list[str]) -> list[str]:
    if len(members) < 5:
        return []
    return _rows((f":py:obj:`{m} <{full}.{m}>`", getattr(thing, m)) for m in members)


def own_members(thing: type) -> list[str]:
    """Return the public methods and properties with a docstring, except a public base's."""
    ours = [
        c
        for c in thing.__mro__
        if c.__module__.split(".")[0] in ("symdiff", "numeric")
        and (c is thing or id(c) not in described())
    ]
    members = {name: value for c in reversed(ours) for name, value in vars(c).items()}
    kinds = (FunctionType, property, classmethod, staticmethod)
    return sorted(
        name
        for name, value in members.items()
        if not name.startswith("_") and isinstance(value, kinds) and value.__doc__
    )


@cache
def described() -> dict[int, str]:
    """Map each public object that is not a plain value to the name of its entry."""
    first: dict[int, str] = {}
    for module in PUBLIC_MODULES:
        for name in names(module):
            thing = getattr(import_module(module), name)
            if not _plain(thing):
                known = first.setdefault(id(thing), f"{module}.{name}")
                if known.startswith(f"{module}.") and thing.__name__ == name:
                    first[id(thing)] = f"{module}.{name}"
    return first


def _plain(thing: Any) -> bool:
    return not (isinstance(thing, type) or callable(thing)) or type(thing).__name__ == "dtype"


def _is_module(module: str, name: str) -> bool:
    return isinstance(getattr(import_module(module), name), ModuleType)


def _public(module: str) -> list[str]:
    listed: list[str] = import_module(module).__all__
    return listed
