"""A reader of Mermaid flowcharts that takes what we write and nothing else, written for tests.

It shares nothing with the writer: a line that it does not know, an end of an edge that is not
declared, or a sign in a label that might mean something to Mermaid, to HTML or to Markdown is an
AssertionError.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

_BRACKETS = {"([": "])", "(": ")", "[": "]", "[[": "]]", "{{": "}}", ">": "]"}
_VERTEX = re.compile(r' +([nf]\d+)(\(\[|\(|\[\[|\[|\{\{|>)"([^"]*)"(\]\)|\)|\]\]|\]|\}\}):::(\w+)')
_EDGE = re.compile(r'  ([nf]\d+) -->(?:\|"([^"]*)"\|)? ([nf]\d+)')
_GROUP = re.compile(r'  subgraph (g\d+)\["([^"]*)"\]')
_CLASS = re.compile(r"  class ([nfg\d,]+) (\w+)")
_STYLE = re.compile(r"  classDef (\w+) ([\w:#,.\- ]+)")
# In a label, everything else of ASCII is written by its number.
_SAFE = re.compile(
    r"(?:[A-Za-z0-9 ,()/=]|(?<=\d)\.(?=\d)|(?<=[^\W_])_(?=[^\W_])|#\d+;|<br>|[^\x00-\x7fﬂ°¶ß])*"
)


@dataclass
class Flowchart:
    """What is drawn: by name the lines, the family and the group of vertices, and the edges."""

    lines: dict[str, list[str]] = field(default_factory=dict)
    family: dict[str, str] = field(default_factory=dict)
    group: dict[str, str | None] = field(default_factory=dict)
    edges: list[tuple[str, str, str]] = field(default_factory=list)
    titles: dict[str, str] = field(default_factory=dict)
    results: list[str] = field(default_factory=list)

    def sources(self, name: str) -> list[tuple[str, str]]:
        """Where the edges to a vertex come from, and what stands on them."""
        return [(source, label) for source, target, label in self.edges if target == name]


def label(text: str) -> str:
    """The text that a label shows, a new line for each of its lines."""
    assert _SAFE.fullmatch(text), text
    parts = [re.sub(r"#(\d+);", lambda m: chr(int(m[1])), line) for line in text.split("<br>")]
    shown = "\n".join(parts)
    # What Mermaid would take for a formula, an icon or a number, however it is written.
    assert not any(part in shown for part in ("$$", ":fa-", "ﬂ°", "¶ß"))
    return shown.replace("\u2060", "").replace("\u202f", " ")


def read(text: str) -> Flowchart:
    """The flowchart of a text."""
    first, *rest = text.splitlines()
    assert first in ("flowchart TD", "flowchart LR")
    assert text.endswith("\n")
    found = Flowchart()
    styles: set[str] = set()
    group = None
    classes: set[str] = set()
    for line in rest:
        if m := _GROUP.fullmatch(line):
            assert group is None
            group = m[1]
            assert group not in found.titles
            found.titles[group] = label(m[2])
        elif line == "  end":
            assert group is not None
            group = None
        elif m := _VERTEX.fullmatch(line):
            name, before, shown, after, family = m.groups()
            assert name not in found.lines
            assert after == _BRACKETS[before]
            found.lines[name] = label(shown).split("\n")
            found.family[name], found.group[name] = family, group
            classes.add(family)
        elif m := _EDGE.fullmatch(line):
            found.edges.append((m[1], m[3], label(m[2] or "")))
        elif m := _CLASS.fullmatch(line):
            classes.add(m[2])
            for name in m[1].split(","):
                assert name in found.lines or name in found.titles
                if m[2] == "result":
                    found.results.append(name)
        elif m := _STYLE.fullmatch(line):
            assert m[1] not in styles
            styles.add(m[1])
        else:
            raise AssertionError(f"not a line of a flowchart: {line!r}")
    assert group is None
    assert classes <= styles
    for source, target, _ in found.edges:
        assert source in found.lines, source
        assert target in found.lines, target
    assert _acyclic(found)
    return found


def _acyclic(chart: Flowchart) -> bool:
    waiting = dict.fromkeys(chart.lines, 0)
    for _, target, _ in chart.edges:
        waiting[target] += 1
    ready = [name for name, count in waiting.items() if not count]
    for name in ready:  # grows as it is read
        for source, target, _ in chart.edges:
            if source == name:
                waiting[target] -= 1
                if not waiting[target]:
                    ready.append(target)
    return len(ready) == len(chart.lines)


# What is drawn, computed -------------------------------------------------------------------------

_PYTHON = {
    "×": "*",
    "−": "-",
    "⁻": "-",
    "①": "a[0]",
    "②": "a[1]",
    "③": "a[2]",
    "•": "a[0]",
}
_POWERS = {raised: str(k) for k, raised in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")}
_ORDER = {"": 0, "①": 0, "②": 1, "③": 2}
_UNARY = {
    "sin": np.sin, "cos": np.cos, "exp": np.exp, "log": np.log, "sign": np.sign,
    "det": np.linalg.det, "log Σ exp": lambda a: np.log(np.sum(np.exp(a))),
    "max": max, "min": min, "+": lambda *a: sum(a), "×": lambda *a: math.prod(a),
}  # fmt: skip


def meaning(caption: str, a: list[Any]) -> Any:
    if caption in _UNARY:
        return _UNARY[caption](*a)
    if caption == "② if ①, else ③":
        return a[1] if a[0] else a[2]
    text = re.sub(r"\|(.)\|", r"abs(\1)", caption)
    text = "".join(_PYTHON.get(c, c) for c in text)
    text = re.sub(
        "-?[⁰¹²³⁴⁵⁶⁷⁸⁹]+", lambda m: f"**{''.join(_POWERS.get(c, c) for c in m[0])}", text
    )
    text = re.sub(r"√(a\[\d\])", r"(\1)**0.5", text).replace("^", "**")
    return eval(text, {"a": a, "abs": abs, "sign": np.sign})


def computed(chart: Flowchart, env: dict[str, Any]) -> dict[str, Any]:
    """The value of each vertex, from captions, letters and the order that edges show, alone."""
    values: dict[str, Any] = {}
    waiting = list(chart.lines)
    while waiting:
        name = waiting.pop(0)
        edges = chart.sources(name)
        if any(source not in values for source, _ in edges):
            waiting.append(name)
            continue
        text = next(t for t in chart.lines[name] if not t.startswith(("output", "gradient")))
        if chart.family[name] == "leaf":
            values[name] = env[text] if text in env else meaning(text, [])
        elif chart.family[name] == "contraction":
            shape = next((t for t in chart.lines[name] if re.fullmatch(r"\([\d, ]+\)", t)), "()")
            out = "ijkl"[: len(eval(shape))]
            words = [label.replace(",", "") for _, label in edges]
            operands = [values[source] for source, _ in edges]
            if text == "diag(x)":
                out, words = "ij", ["i", "ij"]
                operands.append(np.eye(len(operands[0])))
            for letter, length in zip(out, eval(shape), strict=True):
                words.append(letter)  # the letters that only the value has
                operands.append(np.ones(length))
            if text == "identity":
                operands = [np.eye(len(operands[0])), *operands]
                words = ["ij", *words]
            values[name] = np.einsum(f"{','.join(words)}->{out}", *operands)
        else:
            placed = sorted(edges, key=lambda edge: _ORDER[edge[1]])
            values[name] = meaning(text, [values[source] for source, _ in placed])
    return values
