"""A reader of the Mermaid flowcharts that symdiff writes, for tests.

It shares no code with the writer.  AssertionErrors are: an unknown line, an edge with an undeclared
end, and a sign in a label that has a meaning in Mermaid, HTML or Markdown.
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
# In a label, all other ASCII characters are written as numeric references.
_SAFE = re.compile(
    r"(?:[A-Za-z0-9 ,()/=]|(?<=\d)\.(?=\d)|(?<=[^\W_])_(?=[^\W_])|#\d+;|<br>|[^\x00-\x7fﬂ°¶ß])*"
)


@dataclass
class Flowchart:
    """A diagram: lines, family and group of each vertex by name, and the edges."""

    lines: dict[str, list[str]] = field(default_factory=dict)
    family: dict[str, str] = field(default_factory=dict)
    group: dict[str, str | None] = field(default_factory=dict)
    edges: list[tuple[str, str, str]] = field(default_factory=list)
    titles: dict[str, str] = field(default_factory=dict)
    results: list[str] = field(default_factory=list)

    def sources(self, name: str) -> list[tuple[str, str]]:
        """Return the sources of the edges to a vertex, with the labels of the edges."""
        return [(source, label) for source, target, label in self.edges if target == name]


def label(text: str) -> str:
    """Return the text that a label shows, with a line break for each of its lines."""
    assert _SAFE.fullmatch(text), text
    parts = [re.sub(r"#(\d+);", lambda m: chr(int(m[1])), line) for line in text.split("<br>")]
    shown = "\n".join(parts)
    # Mermaid would take these for a formula, an icon or a number.
    assert not any(part in shown for part in ("$$", ":fa-", "ﬂ°", "¶ß"))
    return shown.replace("\u2060", "").replace("\u202f", " ")


def read(text: str) -> Flowchart:
    """Parse a flowchart."""
    first, *rest = text.splitlines()
    assert first in ("flowchart TD", "flowchart LR")
    assert text.endswith("\n")
    chart = Flowchart()
    styles: set[str] = set()
    group = None
    classes: set[str] = set()
    for line in rest:
        if m := _GROUP.fullmatch(line):
            assert group is None
            group = m[1]
            assert group not in chart.titles
            chart.titles[group] = label(m[2])
        elif line == "  end":
            assert group is not None
            group = None
        elif m := _VERTEX.fullmatch(line):
            name, before, shown, after, family = m.groups()
            assert name not in chart.lines
            assert after == _BRACKETS[before]
            chart.lines[name] = label(shown).split("\n")
            chart.family[name], chart.group[name] = family, group
            classes.add(family)
        elif m := _EDGE.fullmatch(line):
            chart.edges.append((m[1], m[3], label(m[2] or "")))
        elif m := _CLASS.fullmatch(line):
            classes.add(m[2])
            for name in m[1].split(","):
                assert name in chart.lines or name in chart.titles
                if m[2] == "result":
                    chart.results.append(name)
        elif m := _STYLE.fullmatch(line):
            assert m[1] not in styles
            styles.add(m[1])
        else:
            raise AssertionError(f"not a line of a flowchart: {line!r}")
    assert group is None
    assert classes <= styles
    for source, target, _ in chart.edges:
        assert source in chart.lines, source
        assert target in chart.lines, target
    assert _acyclic(chart)
    return chart


def _acyclic(chart: Flowchart) -> bool:
    waiting = dict.fromkeys(chart.lines, 0)
    for _, target, _ in chart.edges:
        waiting[target] += 1
    ready = [name for name, count in waiting.items() if not count]
    for name in ready:  # the list grows during the loop
        for source, target, _ in chart.edges:
            if source == name:
                waiting[target] -= 1
                if not waiting[target]:
                    ready.append(target)
    return len(ready) == len(chart.lines)


# The values of a diagram -------------------------------------------------------------------------

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
    """Return the value of each vertex, from captions, letters and the order of the edges alone."""
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
                words.append(letter)  # letters of the value alone
                operands.append(np.ones(length))
            if text == "identity":
                operands = [np.eye(len(operands[0])), *operands]
                words = ["ij", *words]
            values[name] = np.einsum(f"{','.join(words)}->{out}", *operands)
        else:
            placed = sorted(edges, key=lambda edge: _ORDER[edge[1]])
            values[name] = meaning(text, [values[source] for source, _ in placed])
    return values
