"""Graphs as Mermaid: what is drawn is the graph, and nothing in it is markup."""

from __future__ import annotations

import math
import random
import re
import subprocess
import sys
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import example, given

import symdiff as sd
from numeric import interpret
from symdiff.display import captions
from symdiff.display.diagrams import (
    MOST_CHARACTERS,
    MOST_EDGES,
    Diagram,
    Edge,
    Vertex,
    escaped,
    one_line,
)
from symdiff.display.layout import Graph
from symdiff.graph import ops
from symdiff.graph.expr import nodes
from tests.support import flowcharts
from tests.support.budget import sample
from tests.support.refusals import refused
from tests.support.strategies import programs

ALL = 10**9  # a limit beyond every graph


def drawn(f: Any, *args: Any, **named: Any) -> flowcharts.Flowchart:
    return flowcharts.read(sd.mermaid(f, *args, **named))


def inputs(case: Any) -> list[sd.Expr]:
    return [sd.symbol(f"x{k}", shape) for k, shape in enumerate(case.shapes)]


# The graph ----------------------------------------------------------------------------------------


@sample(60)
@given(programs())
def test_every_node_and_every_edge_is_drawn_once(case: Any) -> None:
    f = case.ours(inputs(case))
    if sd.count_edges(f) > MOST_EDGES:
        return
    chart = drawn(f, limit=ALL)
    assert len(chart.lines) == sd.count_nodes(f)
    assert len(chart.edges) == sd.count_edges(f)
    shapes = sorted(str(v.shape) for v in nodes(f) if v.shape)
    assert sorted(text for lines in chart.lines.values() for text in lines if text in shapes) == (
        shapes
    )
    assert [chart.lines[name][0] for name in chart.results] == ["output"]


x, y, z = sd.symbols("x y z")
SCALARS = [
    x - y,
    y - x,
    3 * y - x / 2 + z - 1,
    1 - x,
    -x,
    x / y,
    y / x,
    x**3 / (2 * y),
    x**2 * sd.sqrt(y) / z,
    1 / (x * y),
    x ** -2,
    x**y,
    y**x,
    sd.where(x < y, x * y, x - y),
    sd.where(y < x, x * y, x - y),
    sd.maximum(x, y) * sd.minimum(y, z) + abs(x - z),
    sd.sin(x) * sd.exp(-y) / (1 + sd.log(z)),
    x**1.5 - 0.25 * z,
    sd.pi * x + sd.e,
]  # fmt: skip


@pytest.mark.parametrize("f", SCALARS, ids=str)
@pytest.mark.parametrize("graph", ["forward", "backward", "joint"])
def test_the_drawing_says_what_is_computed(f: sd.Expr, graph: str) -> None:
    """Values computed from captions and edges alone are those of the formula and its gradient."""
    env = {"x": 1.25, "y": 2.5, "z": 0.75, "π": math.pi, "e": math.e}
    chart = drawn(f, graph=graph)
    xs = list(f.free_symbols)
    wanted = {"output": f} if graph != "backward" else {}
    if graph != "forward":
        gradient = sd.vjp(f, xs, 1)
        wanted |= {f"gradient by {s.name}": g for s, g in zip(xs, gradient, strict=True)}
    values = flowcharts.computed(chart, env)
    found = {t: values[k] for k in chart.results for t in chart.lines[k] if t in wanted}
    assert found.keys() == wanted.keys()
    for title, expr in wanted.items():
        at = {s: env[s.name] for s in expr.free_symbols}
        assert found[title] == pytest.approx(float(sd.evalf(expr, 17, at)), rel=1e-13)


def test_captions_begin_with_what_is_added_or_above() -> None:
    """Whatever was made first."""
    first, second = sd.symbols("made_first made_second")
    for f in (first, second):
        for g in (first, second):
            if f is not g:
                assert captions.caption(f - g) == "① − ②"
                assert captions.operands(f - g) == [f, g]
                assert captions.caption(f / g) == "① / ②"
                assert captions.operands(f / g) == [f, g]


A, B, u, v = sd.symbol("A", (2, 3)), sd.symbol("B", (3, 2)), sd.symbol("u", 3), sd.symbol("v", 2)
CONTRACTIONS = {
    "A x": A @ u,
    "Aᵀ x": v @ A,
    "A B": A @ B,
    "(A B)ᵀ": sd.einsum("ki,jk->ij", A, B),
    "Aᵀ B": sd.einsum("ki,kj->ij", A, A * A),
    "A Bᵀ": sd.einsum("ik,jk->ij", A, A * A),
    "Aᵀ": A.T,
    "xᵀ y": u @ sd.sin(u),
    "xᵀ x": u @ u,
    "xᵀ A y": sd.einsum("i,ij,j->", v, A, u),
    "×": sd.outer(v, u) * A,
    "diag(x)": sd.diag(u),
    "repeat along i": sd.broadcast_to(u, (2, 3)),
    "tr A": sd.trace(A @ B),
    "tr(A B)": sd.einsum("ij,ji->", A, B),
    "tr(Aᵀ B)": sd.einsum("ij,ij->", A, A * A),
    "diagonal of A": sd.einsum("ii->i", A @ B),
    "sum over i, j": sd.sum(A),
    "sum over j": sd.sum(A, axis=1),
    "axes in another order": sd.einsum("ijk->kij", sd.symbol("T", (2, 3, 4))),
}


@pytest.mark.parametrize("caption", CONTRACTIONS)
def test_letters_say_how_a_contraction_runs(caption: str) -> None:
    f = CONTRACTIONS[caption]
    rng = np.random.default_rng(5)
    at = {s: rng.normal(size=tuple(map(int, s.shape))) for s in f.free_symbols}
    chart = drawn(f)
    env = {s.name: value for s, value in at.items()}
    value = flowcharts.computed(chart, env)[chart.results[0]]
    np.testing.assert_allclose(value, interpret(f, at), rtol=1e-13)
    assert caption in chart.lines[chart.results[0]]


# The passes ---------------------------------------------------------------------------------------


def test_the_backward_graph_takes_forward_nodes() -> None:
    f = sd.sin(x * y)
    chart = drawn(f, x, graph="backward")
    gradient = sd.vjp(f, [x], 1)
    assert len(chart.lines) == sd.count_nodes(gradient)
    inside = set(nodes(f))
    (first, second) = chart.titles
    assert (chart.titles[first], chart.titles[second]) == ("forward pass", "backward pass")
    counts = [sum(group == g for group in chart.group.values()) for g in chart.titles]
    assert counts == [
        len([v for v in nodes(gradient) if (v in inside) is old]) for old in (True, False)
    ]
    assert chart.lines[chart.results[0]][0] == "gradient by x"
    joint = drawn(f, x, graph="joint")
    assert len(joint.lines) == sd.count_nodes([f, *gradient])
    assert [joint.lines[name][0] for name in joint.results] == ["output", "gradient by x"]


def test_a_node_that_is_output_and_gradient_says_both() -> None:
    chart = drawn(sd.exp(x), graph="joint")
    assert chart.lines[chart.results[0]][:2] == ["output", "gradient by x"]


def test_several_outputs_and_seeds() -> None:
    chart = drawn([u + 1, u * u], graph="joint", seed=[u, sd.sin(u)])
    titles = [chart.lines[name][0] for name in chart.results]
    assert titles == ["output 0", "output 1", "gradient by u"]


def test_refusals() -> None:
    refused(
        (
            ValueError,
            "mermaid: graph 'backwards' is none of 'forward'",
            lambda: sd.mermaid(x, graph="backwards"),
        ),
        (ValueError, "mermaid: direction", lambda: sd.mermaid(x, direction="up")),
        (ValueError, "mermaid: limit 0", lambda: sd.mermaid(x, limit=0)),
        (ValueError, "mermaid: there is no expression", lambda: sd.mermaid([])),
        (
            ValueError,
            "mermaid: no real symbol to take gradients by",
            lambda: sd.mermaid(sd.symbol("k", dtype=int) + 1, graph="backward"),
        ),
        (
            sd.ShapeError,
            r"mermaid: output of shape \(3,\).*seed=",
            lambda: sd.mermaid(u, graph="joint"),
        ),
        (TypeError, "mermaid: 'x' of type str has no graph", lambda: sd.mermaid("x")),
    )


# Folding ------------------------------------------------------------------------------------------


def folded(chart: flowcharts.Flowchart) -> int:
    """How many nodes the vertices stand for."""
    counts = [int(t[0].split()[0]) for k, t in chart.lines.items() if chart.family[k] == "folded"]
    return len(chart.lines) - len(counts) + sum(counts)


def deep(n: int) -> sd.Expr:
    f = x
    for k in range(n):
        f = sd.sin(f) * (y if k % 100 == 0 else x)
    return f


def wide(n: int) -> sd.Expr:
    return sd.concat([sd.sin(sd.symbol(f"x{k}", 2)) for k in range(n)])


@pytest.mark.parametrize("shape", [(deep, 40), (deep, 1000), (wide, 30), (wide, 3000)])
@pytest.mark.parametrize("limit", [1, 7, 60, 10**6])
def test_what_is_folded_is_counted(shape: Any, limit: int) -> None:
    f = shape[0](shape[1])
    text = sd.mermaid(f, limit=limit)
    chart = flowcharts.read(text)
    assert len(text) <= MOST_CHARACTERS
    assert len(chart.edges) <= MOST_EDGES
    assert folded(chart) == sd.count_nodes(f)
    if limit in (7, 60):
        assert len(chart.lines) <= limit
    for name, lines in chart.lines.items():
        if chart.family[name] == "folded":
            assert re.fullmatch(r"\d+ nodes", lines[0])
            assert re.match("of .*x", lines[1])


@sample(150)
@given(st.integers(0, 2**32), st.integers(1, 30))
@example(3685659, 5)
def test_a_fold_keeps_the_order_and_every_edge(seed: int, limit: int) -> None:
    """Of any graph: what is shown has its users shown, so that arrows make no circle.

    A node of which nothing else of its group is folded stands for itself, as a fold would: its
    users may be in a fold of a later group.
    """
    rng = random.Random(seed)
    count = rng.randint(2, 40)
    links = [
        [rng.randrange(k) for _ in range(rng.randint(0, 4))] if k else [] for k in range(count)
    ]
    groups = [k >= count // 2 for k in range(count)]
    graph = Graph([count - 1, count // 3], links.__getitem__, ("a", "b"), lambda k: int(groups[k]))
    diagram = graph.diagram(
        lambda shown: {k: Vertex("", (str(k),), "leaf") for k in shown},
        lambda k: [""] * len(links[k]),
        lambda nodes, leaves: (f"{len(nodes)} nodes", ",".join(map(str, sorted(leaves)))),
        limit,
    )
    chart = flowcharts.read(diagram.mermaid())  # which finds circles
    assert folded(chart) == len(graph.order)
    shown = {name: int(lines[0]) for name, lines in chart.lines.items() if name[0] == "n"}
    edges = sum(len(links[k]) for k in graph.order)
    drawn_edges = sum(int(label.split()[0]) if label else 1 for _, _, label in chart.edges)
    inside = edges - drawn_edges
    assert inside >= 0
    assert inside == 0 or len(shown) < len(graph.order)
    for source, target, _ in chart.edges:
        if target not in shown and source in shown and links[shown[source]]:
            assert not groups[shown[source]]
            assert chart.group[target] != chart.group[source]
    for name, k in shown.items():
        labels = [label for _, label in chart.sources(name)]
        assert sum(int(label.split()[0]) if label else 1 for label in labels) == len(links[k])
    for name, lines in chart.lines.items():
        if name not in shown:
            needed = set(map(int, filter(str.strip, lines[1].split(","))))
            sources = {shown[s] for s, _ in chart.sources(name) if s in shown}
            assert {k for k in sources if not links[k]} == needed & set(shown.values())


def test_a_joint_graph_is_folded_in_each_pass() -> None:
    f = deep(300)
    chart = drawn(f, graph="joint")
    assert {chart.group[k] for k in chart.lines if chart.family[k] == "folded"} == {"g0", "g1"}
    assert folded(chart) == sd.count_nodes([f, *sd.vjp(f, list(f.free_symbols), 1)])


def test_a_planted_fold_that_loses_nodes_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = Graph._hidden_parts
    monkeypatch.setattr(Graph, "_hidden_parts", lambda *args: [p[1:] for p in parts(*args)])
    with pytest.raises((AssertionError, KeyError)):
        test_what_is_folded_is_counted((deep, 1000), 60)


# Text ---------------------------------------------------------------------------------------------

HOSTILE = [
    'x"]-->y',
    "`**b**`",
    "<img src=x onerror=alert(1)>",
    "end",
    "click n0 href \"javascript:alert(1)\"",
    "%%{init: {'theme': 'dark'}}%%",
    "#quot;#35;",
    "ﬂ°°60¶ßimg",
    "&lt;b&gt;",
    "$$x^2$$",
    "fa:fa-car",
    "1. one",
    "- one",
    "# title",
    "http://example.com www.example.com",
    "a\nb\r\n\tc\x00\u202e\u200b",
    "x" * 1000,
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_stay_in_their_labels(text: str) -> None:
    a, b = Vertex("n0", (text, "x"), "leaf", 0), Vertex("n1", (text,), "pointwise", 0, True)
    chart = flowcharts.read(Diagram((a, b), (Edge("n0", "n1", text),), (text,)).mermaid())
    seen = one_line(text)
    assert chart.lines == {"n0": [seen, "x"], "n1": [seen]}
    assert chart.edges == [("n0", "n1", seen)]
    assert chart.titles == {"g0": seen}


def test_what_cannot_be_seen_is_marked() -> None:
    assert one_line("a\nb\r\n\tc\x00d\u202ee\u200bf\ue000") == "a b c�d�e�f�"
    assert one_line("x" * 1000) == "x" * 47 + "…"


@sample(300)
@given(st.text(st.characters(exclude_categories=[])))
@example("0_ß")
@example("ß_a_ß")
@example("¶1.2ﬂ_x")
def test_no_text_is_markup(text: str) -> None:
    """What a reader of labels sees is the text, on one line, without what cannot be seen."""
    seen = flowcharts.label(escaped(text))
    assert seen == (one_line(text) or " ")
    assert seen.isprintable()
    assert len(seen) <= 48


# What users read ----------------------------------------------------------------------------------

INTERNAL = re.compile(
    "strong|unslice|norm_sqrt|gather|scatter|fill|contract|opaque|barrier|kernel|dummy|primitive"
)


def test_captions_are_no_internal_words() -> None:
    """Of every op there is: its caption, beside whatever class it is."""
    n, M, k = sd.symbol("n", ("k",)), sd.symbol("M", (3, 3)), sd.symbol("k", 3, dtype=int)
    fs = [
        sd.norm(u) * sd.sum(u[1:]), u[[0, 2, 2]] @ u, sd.sort(u) @ u, sd.solve(M, u) @ u,
        sd.inv(M) @ u, sd.det(M) * sd.slogdet(M)[1], sd.eigh(M)[1] @ sd.eigvalsh(M), sd.prod(u),
        sd.svd(M)[0] @ u, sd.qr(M)[1] @ u, sd.pinv(M) @ u, sd.expm(M) @ u, sd.cumsum(u) @ u,
        sd.cumprod(u) @ u, sd.logsumexp(u) + sd.max(u), sd.tril(M) @ u, sd.flip(u) @ u,
        sd.where(u > 0, sd.sqrt(u), 0) @ u, sd.detach(u) @ u, sd.sum(n), u @ sd.ones(3) * n.size,
        sd.reshape(M, (9,))[:3] @ u, sd.stack([x, y, z]) @ u, u @ k, sd.clip(u, x, y) @ u,
        sd.cholesky(M) @ u, sd.take(u, k) @ u, sd.sqrtm(M) @ u, sd.logm(M) @ u,
    ]  # fmt: skip
    found: dict[type, str] = {}
    for f in fs:
        g = sd.constant(np.ones(tuple(map(int, f.shape)))) if f.shape else 1
        xs = [s for s in f.free_symbols if s.dtype is float]
        for node in nodes([f, *sd.vjp(f, xs, g)]):
            found[type(node.op)] = captions.caption(node)
            assert not INTERNAL.search(captions.caption(node)), node
            assert len(captions.edges(node)) == len(node.args)
    assert len(found) > 40


def test_every_op_has_a_family() -> None:
    kinds = [ops.Linear, ops.Opaque]
    for kind in kinds:
        kinds += kind.__subclasses__()
    for kind in [
        *kinds,
        ops.Sum,
        ops.Product,
        ops.Pointwise,
        ops.Strong,
        ops.Contract,
        ops.Barrier,
    ]:
        assert any(issubclass(kind, base) for base in captions._FAMILIES)


PROGRAM = """
import symdiff as sd
x, y = sd.symbols("x y"); w = sd.symbol("w", 3); A = sd.symbol("A", (3, 3))
f = sd.norm(A @ sd.sin(w) * x) / y + sd.sum(w[1:]) + sum(sd.sin(k * x + y) for k in range(90))
print(sd.mermaid(f, graph="joint"))
"""


@pytest.mark.slow
def test_the_text_is_the_same_in_every_process() -> None:
    texts = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    }
    assert len(texts) == 1
    assert len(texts.pop()) > 1000
