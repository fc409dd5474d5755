"""The subjects of public names, which help texts and the reference use."""

from __future__ import annotations

from textwrap import fill
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SUBJECTS: dict[str, tuple[str, ...]] = {
    "Making expressions": (
        "graph.expr",
        "graph.leaves",
        "interchange.parser",
        "interchange.numpy_protocol",
        "interchange.sympy_bridge",
        "transforms.unknown_functions",
    ),
    "Derivatives": ("calculus.derivative", "contexts", "exact.sparsity", "calculus.custom_ops"),
    "Values and other forms": (
        "exact.evaluation",
        "transforms.substitution",
        "rewriting.simplification",
        "rewriting.limits",
        "rewriting.integration",
        "transforms.batching",
        "transforms.loops",
        "transforms.solutions",
        "transforms.odes",
        "exact.counting",
    ),
    "Showing": ("display",),
    "Elementwise functions": ("functions.elementwise",),
    "Special functions": ("functions.special",),
    "Arrays": ("functions.shaping", "functions.indexing", "functions.rearranging"),
    "Reductions, order and statistics": (
        "functions.reductions",
        "functions.sorting",
        "functions.statistics",
    ),
    "Linear algebra": ("functions.products", "functions.factorisations"),
    "Signals": ("functions.signals",),
    "Errors": ("errors",),
}
"""The subjects of symdiff, and the modules that define their names."""

OTHERS = "Other names"


def by_subject(
    package: str, homes: Mapping[str, str], subjects: Mapping[str, tuple[str, ...]]
) -> dict[str, list[str]]:
    """Group names by the subjects of their home modules; all others are under ``OTHERS``.

    >>> by_subject("symdiff", {"sin": "symdiff.functions.elementwise", "e": "graph.expr"}, SUBJECTS)
    {'Making expressions': ['e'], 'Elementwise functions': ['sin']}
    """
    groups: dict[str, list[str]] = {subject: [] for subject in (*subjects, OTHERS)}
    of = {home: _subject(home.removeprefix(f"{package}."), subjects) for home in {*homes.values()}}
    for name in sorted(homes, key=str.lower):
        groups[of[homes[name]]].append(name)
    return {subject: names for subject, names in groups.items() if names}


def _subject(home: str, subjects: Mapping[str, tuple[str, ...]]) -> str:
    for subject, modules in subjects.items():
        if any(home == module or home.startswith(f"{module}.") for module in modules):
            return subject
    return OTHERS


def home(thing: object) -> str:
    """Return the module that defines an object, or in brackets the kind of value.

    >>> home(home), home(3.0)
    ('symdiff.subjects', '(value)')
    """
    if isinstance(thing, ModuleType):
        return "(module)"
    if isinstance(thing, type) or callable(thing):
        return str(thing.__module__)
    if type(thing).__name__ == "dtype":
        return "(dtype)"
    return "graph.expr" if hasattr(thing, "op") else "(value)"


def index(listed: Mapping[str, Iterable[str]]) -> str:
    """Return the names by subject, as a text at the end of a docstring.

    >>> print(index({"Derivatives": ["diff", "grad"]}))
    Every public name, by subject:
    <BLANKLINE>
    - Derivatives: diff, grad.
    """
    lines = [f"- {subject}: {', '.join(names)}." for subject, names in listed.items()]
    wrapped = [fill(line, 96, subsequent_indent="  ") for line in lines]
    return "\n".join(["Every public name, by subject:", "", *wrapped])
