"""Graphs with numbers: values, cotangents, records of Tensors; as Mermaid and as pictures."""

from __future__ import annotations

import itertools
import re
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import numeric as nm
import symdiff as sd
from numeric.show import graphs
from numeric.show.layered import placed
from numeric.show.values import shortened
from symdiff.calculus.derivative import cotangents
from symdiff.display.diagrams import Diagram, Edge, Vertex
from symdiff.graph.expr import nodes, rebuild
from tests.support import flowcharts
from tests.support.oracles import richardson
from tests.support.refusals import refused

if TYPE_CHECKING:
    from pathlib import Path

x, y = sd.symbols("x y")
w, A = sd.symbol("w", 3), sd.symbol("A", (3, 3))
AT = {x: 0.75, y: 2.5, w: np.array([0.5, -1.25, 2.0]), A: np.arange(9.0).reshape(3, 3) / 4}


def drawn(*args: Any, **named: Any) -> flowcharts.Flowchart:
    return flowcharts.read(str(nm.draw(*args, **named)))


def noted(chart: flowcharts.Flowchart, what: str) -> list[str]:
    """What follows ``what`` on the vertices."""
    texts = [t for lines in chart.lines.values() for t in lines]
    return sorted(t.removeprefix(what) for t in texts if t.startswith(what))


def at(f: sd.Expr) -> dict[Any, Any]:
    return {s: AT[s] for s in f.free_symbols}


FORMULAS = [
    sd.sin(x) * y - x / y,
    sd.exp(-x) ** 2 + sd.where(x > y, x, y),
    w @ A @ sd.sin(w),
    sd.norm(A @ w) * x + sd.sum(w[1:]),
    sd.logsumexp(w) * sd.det(A + x * sd.eye(3)),
]


# Values and cotangents ----------------------------------------------------------------------------


@pytest.mark.parametrize("f", FORMULAS, ids=range(len(FORMULAS)))
def test_values_and_cotangents_are_those_of_the_nodes(f: sd.Expr) -> None:
    env = at(f)
    chart = drawn(f, values=env)
    valued = [v for v in nodes(f) if v.args or v.shape or v in env]
    expected = sorted(shortened(nm.interpret(v, at(v))) for v in valued)
    assert noted(chart, "= ") == expected
    computed = flowcharts.computed(chart, {s.name: value for s, value in env.items()})
    for name, lines in chart.lines.items():
        (note,) = [t for t in lines if t.startswith("= ")] or [f"= {lines[0].replace('-', '−')}"]
        assert note == f"= {shortened(computed[name])}"
    gradient = sd.grad(f, list(f.free_symbols))
    for s, g in zip(f.free_symbols, gradient, strict=True):
        (lines,) = [t for t in chart.lines.values() if t[0] == s.name]
        assert lines[-1] == f"cotangent {shortened(nm.interpret(g, env))}"
    assert chart.lines[chart.results[0]][-1] == "cotangent 1"
    assert len(noted(chart, "cotangent ")) == len(cotangents(f))


def displaced(f: sd.Expr, v: sd.Expr, env: dict[Any, Any]) -> float:
    """``df/dv`` of a scalar node v by differences, all that is computed from it displaced."""

    def moved(h: float) -> np.ndarray[Any, Any]:
        values: dict[sd.Expr, Any] = dict(env)
        for node in nodes(f):
            if node.args:
                stand_ins = [sd.symbol(f"a{k}", z.shape, z.dtype) for k, z in enumerate(node.args)]
                given = dict(zip(stand_ins, (values[z] for z in node.args), strict=True))
                values[node] = nm.interpret(rebuild(node, tuple(stand_ins)), given)
            elif node not in values:
                values[node] = nm.interpret(node, {})
            if node is v:
                values[node] = values[node] + h
        return np.asarray(values[f], float)

    slope, error = richardson(moved, np.array(1e-15))
    assert error < 1e-9
    return float(slope)


def test_cotangents_of_inner_nodes_are_differences() -> None:
    f = sd.sin(x * y) ** 2 * (x * y) + sd.exp(sd.sin(x * y)) / y
    inner = [v for v in nodes(f) if v.args and v is not f]
    chart = drawn(f, values=at(f))
    expected = [displaced(f, v, at(f)) for v in inner]
    shown = [
        float(lines[-1].removeprefix("cotangent ").replace("−", "-"))
        for name, lines in chart.lines.items()
        if chart.family[name] != "leaf" and name not in chart.results
    ]
    assert sorted(shown) == pytest.approx(sorted(expected), rel=1e-4)  # five digits are shown


def test_planted_cotangents_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Right at symbols, wrong at one inner node: the differences tell."""

    def wrong(*args: Any) -> dict[sd.Expr, sd.Expr]:
        found = cotangents(*args)
        node = next(v for v in found if str(v) == "sin(x*y)")
        return {**found, node: found[node] * 1.01}

    monkeypatch.setattr(graphs, "cotangents", wrong)
    with pytest.raises(AssertionError):
        test_cotangents_of_inner_nodes_are_differences()


def test_a_seed_and_inputs_choose_the_cotangents() -> None:
    f = w * x
    chart = drawn(f, values=at(f))
    assert not noted(chart, "cotangent")
    seeded = drawn(f, x, values=at(f), seed=np.ones(3))
    assert noted(seeded, "cotangent ") == sorted(
        [shortened(np.sum(AT[w])), shortened(AT[w]), shortened(np.ones(3))]
    )
    assert str(nm.draw(f, x, values=at(f), seed=[1, 1, 1])) == str(
        nm.draw([f], x, values=at(f), seed=[np.ones(3)])
    )
    assert not noted(drawn(x * y, (), values=at(x * y)), "cotangent")


def test_a_joint_graph_has_values_in_both_passes() -> None:
    f = sd.sin(x) * y
    chart = drawn(f, graph="joint", values=at(f))
    gradient = sd.vjp(f, [x, y], 1)
    assert len(noted(chart, "= ")) == sd.count_nodes([f, *gradient])
    backward = drawn(f, graph="backward", values=at(f))
    assert not noted(backward, "cotangent")


def test_values_beyond_the_domain_are_shown() -> None:
    chart = drawn(sd.log(x) + sd.log(-x - 1), values={"x": 0.0})
    assert {"−inf", "nan"} <= set(noted(chart, "= "))


def test_values_are_short() -> None:
    big = sd.symbol("big", (100, 100))
    chart = drawn(sd.sum(big * big), values={big: np.ones((100, 100))})
    assert all(len(t) <= 48 for lines in chart.lines.values() for t in lines)
    assert shortened(np.float32(0.1)) == "0.1"
    assert shortened(10**30) == str(10**30)


def test_functions_are_drawn_as_their_formulas() -> None:
    F = nm.lower([x * y, x + y], [x, y])
    assert str(nm.draw(F)) == str(nm.draw([x * y, x + y])) == sd.mermaid([x * y, x + y])


def test_refusals() -> None:
    refused(
        (ValueError, "draw: graph", lambda: nm.draw(x, graph="both")),
        (
            ValueError,
            "symbol y and dtype float has no value",
            lambda: nm.draw(x * y, values={x: 1.0}),
        ),
    )
    k = sd.symbol("k", dtype=int)
    refused(
        (
            sd.NotDifferentiable,
            "draw: input k is integer",
            lambda: nm.draw(x * k, k, values={x: 1.0, k: 2}),
        ),
        (TypeError, "draw: 'x' of type str has no graph", lambda: nm.draw("x")),
        (
            TypeError,
            r"draw: tensor.* of type Tensor has no graph",
            lambda: nm.draw([x, nm.ones(2)]),
        ),
    )
    t = nm.ones(2, requires_grad=True)
    refused(
        (TypeError, "draw: a record has its values", lambda: nm.draw(t, values={})),
        (ValueError, "draw: direction", lambda: t.draw(direction="left")),
    )


# Records ------------------------------------------------------------------------------------------


def record(root: Any) -> tuple[list[Any], list[tuple[Any, Any, int]]]:
    """All nodes and edges behind a ``grad_fn``, as ``next_functions`` tells them."""
    found, edges = [root], []
    for node in found:  # grows as it is read
        for other, nr in node.next_functions:
            if other is not None:
                edges.append((node, other, nr))
                if not any(other is known for known in found):
                    found.append(other)
    return found, edges


def test_a_record_is_drawn_as_next_functions_say() -> None:
    a = nm.tensor([2.0, 3.0], requires_grad=True)
    b = nm.tensor(0.5, requires_grad=True)
    data = nm.tensor([1.0, -1.0])
    values, vectors = nm.linalg.eigh(nm.outer(a, a) + b)
    t = (a * data).exp().sum() / b - values.sum() * vectors[0, 0] * a[1]
    found, edges = record(t.grad_fn)
    chart = flowcharts.read(str(t.draw(limit=1000)))
    leaves = [f.variable for f in found if type(f).__name__ == "AccumulateGrad"]
    assert len(chart.lines) == len(found) + len(leaves) + 1
    assert len(chart.edges) == len(edges) + len(leaves) + 1
    names = sorted(type(f).__name__ for f in found)
    assert sorted(t for lines in chart.lines.values() for t in lines if t in names) == names
    first = {name: lines[0] for name, lines in chart.lines.items()}
    drawn_edges = sorted((first[s], first[e]) for s, e, _ in chart.edges)
    expected = [(type(s).__name__, type(e).__name__) for s, e, _ in edges]
    expected += [("AccumulateGrad", "leaf, requires_grad")] * len(leaves)
    expected += [("result", type(t.grad_fn).__name__)]
    assert drawn_edges == sorted(expected)
    outputs = sum(nr for _, _, nr in edges)
    assert sum("output 1" in label for _, _, label in chart.edges) == outputs > 0
    assert [first[name] for name in chart.results] == ["result"]


def lines_of(chart: flowcharts.Flowchart, text: str) -> list[str]:
    (found,) = [lines for lines in chart.lines.values() if text in lines]
    return found


def test_what_is_saved_freed_hooked_and_retained_is_said() -> None:
    a = nm.tensor([2.0, 3.0], requires_grad=True)
    h = a * nm.tensor([1.0, -1.0])
    h.retain_grad()
    h.register_hook(lambda g: None)
    a.register_post_accumulate_grad_hook(lambda leaf: None)
    t = (h * h).sum()
    t.grad_fn.register_prehook(lambda g: None)
    chart = drawn(t)
    saved = [line for lines in chart.lines.values() for line in lines if line.startswith("saved")]
    assert "saved operand ② [1, −1]" in saved
    assert saved.count("saved operand ① [2, −3]") == 1
    assert "1 pre-hook" in lines_of(chart, "SumBackward0")
    assert "retains grad" in lines_of(chart, "1 tensor hook")
    assert "1 hook after accumulation" in lines_of(chart, "leaf, requires_grad")
    t.backward()
    chart = drawn(t)
    assert "retains grad [4, −6]" in lines_of(chart, "1 tensor hook")
    assert "grad [4, 6]" in lines_of(chart, "leaf, requires_grad")
    assert sum("saved values are freed" in lines for lines in chart.lines.values()) == 2


def test_a_saved_value_that_was_changed_is_marked() -> None:
    a = nm.tensor([2.0, 3.0], requires_grad=True)
    operand, result, index = a * 1, a.exp(), nm.tensor([1, 1])
    t = operand.sin() * result + operand[index]
    assert not any("changed" in line for lines in drawn(t).lines.values() for line in lines)
    operand.detach().mul_(2)
    result.detach().zero_()
    result.detach().add_(7)
    index += 0
    chart = drawn(t)
    once, twice = (f"changed: version {k}, was 0" for k in (1, 2))
    assert lines_of(chart, "SinBackward0")[-2:] == ["saved operand ① [4, 6]", once]
    assert lines_of(chart, "ExpBackward0")[-2:] == ["saved result [7, 7]", twice]
    assert lines_of(chart, "IndexBackward0")[-1] == f"an index, {once}"
    assert lines_of(chart, "saved operand ② [7, 7]")[-1] == twice  # of the product, not of ①


def test_grad_fns_several_results_and_functions_of_the_users() -> None:
    class Square(nm.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Any) -> Any:
            ctx.save_for_backward(a)
            return a * a

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return 2 * ctx.saved_tensors[0] * g

    a = nm.tensor([2.0, 3.0], requires_grad=True)
    t = Square.apply(a)
    chart = drawn(t.grad_fn)
    assert lines_of(chart, "SquareBackward") == ["result", "SquareBackward", "saved [2, 3]"]
    several = drawn([t, t.sum(), a])
    assert {several.lines[name][0] for name in several.results} == {f"result {k}" for k in range(3)}
    assert lines_of(drawn(a.detach()), "no gradient")
    assert len(drawn(a).lines) == 1


def test_a_call_of_a_function_is_drawn() -> None:
    x, y = sd.symbol("x", 2), sd.symbol("y", 2)
    b = nm.tensor([1.0, 2.0], requires_grad=True)
    chart = drawn(nm.lower(sd.sum(x * y), [x, y])(np.array([3.0, 4.0]), b))
    assert lines_of(chart, "FunctionBackward0") == [
        "FunctionBackward0",
        "saved operand ① [3, 4]",
        "saved operand ② [1, 2]",
    ]


def test_a_leaf_that_is_gone() -> None:
    t = (nm.ones(3, requires_grad=True) * 2).sum()
    assert lines_of(drawn(t), "AccumulateGrad")[1:] == ["the leaf is gone", "(3,)"]


def test_views_without_recording_and_packed_values() -> None:
    base = nm.tensor([2.0, 3.0], requires_grad=True)
    with nm.no_grad():
        view = base[:1]
    assert lines_of(drawn(view * 2), "no gradient passes")
    with nm.autograd.graph.saved_tensors_hooks(lambda t: t.tolist(), nm.tensor):
        t = base.exp()
    assert lines_of(drawn(t), "saved result (2,), packed by a hook")


def test_long_records_are_folded() -> None:
    a = nm.tensor(0.5, requires_grad=True)
    t = a
    for _ in range(20_000):
        t = t * 1.0001
    chart = flowcharts.read(str(t.draw()))
    (lines,) = [chart.lines[k] for k in chart.lines if chart.family[k] == "folded"]
    count = int(re.fullmatch(r"(\d+) vertices", lines[0])[1])  # type: ignore[index]
    assert count + len(chart.lines) - 1 == 20_000 + 3


# Pictures -----------------------------------------------------------------------------------------


def test_what_notebooks_get() -> None:
    picture = nm.draw(x * y)
    bundle = picture._repr_mimebundle_()
    assert bundle == {"text/vnd.mermaid": str(picture), "text/plain": repr(picture)}
    assert picture.source == str(picture)
    assert repr(picture).startswith("<Drawing: 3 vertices, 2 edges;")


def test_files(tmp_path: Path) -> None:
    picture = nm.draw(x * y)
    for ending, text in {
        "mmd": picture.source,
        "md": f"```mermaid\n{picture.source}```\n",
        "dot": picture.dot,
    }.items():
        picture.save(tmp_path / f"x.{ending}")
        assert (tmp_path / f"x.{ending}").read_text(encoding="utf-8") == text
    with pytest.raises(ValueError, match=r"draw: argument 'path' 'x.gif' does not end in one of"):
        picture.save("x.gif")
    with pytest.raises(TypeError, match="draw: argument 'path' expects the name of a file"):
        picture.save(5)  # type: ignore[arg-type]


def texts(svg: str) -> list[str]:
    root = ElementTree.fromstring(svg)
    return [t.text or "" for t in root.iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.parametrize("direction", ["down", "right"])
def test_pictures_show_the_same_graph(tmp_path: Path, direction: str) -> None:
    pytest.importorskip("matplotlib")
    f = FORMULAS[3]
    picture = nm.draw(f, graph="joint", values=at(f), direction=direction)
    chart = flowcharts.read(picture.source)
    shown = Counter(texts(picture.svg()))
    wanted = Counter(line for lines in chart.lines.values() for line in lines)
    wanted.update(label for *_, label in chart.edges if label)
    assert not wanted - shown
    picture.save(tmp_path / "x.svg")
    assert (tmp_path / "x.svg").read_text(encoding="utf-8") == picture.svg()
    picture.save(tmp_path / "x.png")
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")


def test_without_matplotlib_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"draw needs Matplotlib: .*symdiff-numeric\[viz\]"):
        nm.draw(x).svg()
    assert nm.draw(x).source


HOSTILE = ['a"b', "\\N \\G", "&lt;b&gt;", "<b>x</b>", "$x$", "]-->", "{a|b}", "变量"]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_stay_texts(text: str) -> None:
    pytest.importorskip("matplotlib")
    vertices = Vertex("n0", (text,), "leaf", 0), Vertex("n1", ("b",), "opaque", 0, True)
    picture = nm.show.Drawing(Diagram(vertices, (Edge("n0", "n1", text),), (text,)))
    seen = text if text.isascii() else text.encode("unicode_escape").decode()
    assert texts(picture.svg()).count(seen) == 3


def random_graph(rng: np.random.Generator) -> tuple[Any, Any, Any]:
    count = int(rng.integers(1, 30))
    edges = [tuple(sorted(map(int, pair))) for pair in rng.integers(0, count, (2 * count, 2))]
    sizes = [(float(w), float(h)) for w, h in rng.integers(5, 80, (count, 2))]
    return sizes, [(a, b) for a, b in edges if a != b], rng.integers(-1, 2, count).tolist()


@pytest.mark.parametrize("number", range(20))
def test_no_box_is_on_another_and_edges_go_down(number: int) -> None:
    sizes, edges, groups = random_graph(np.random.default_rng(number))
    centres, ways = placed(sizes, edges, groups, (7, 9))
    boxes = list(zip(centres, sizes, strict=True))
    for k, ((x1, y1), (w1, h1)) in enumerate(boxes):
        for (x2, y2), (w2, h2) in boxes[:k]:
            beside = abs(x1 - x2) >= (w1 + w2) / 2 + 7 - 1e-6
            assert beside or abs(y1 - y2) >= (h1 + h2) / 2 + 9 - 1e-6
    for (a, b), way in zip(edges, ways, strict=True):
        assert (way[0], way[-1]) == (centres[a], centres[b])
        assert all(p[1] <= q[1] for p, q in itertools.pairwise(way))
    # Groups take stripes of their own, from left to right.
    ends = [
        (min(x - w / 2 for x, w in part), max(x + w / 2 for x, w in part))
        for g in sorted(set(groups))
        if (
            part := [(c[0], s[0]) for c, s, h in zip(centres, sizes, groups, strict=True) if h == g]
        )
    ]
    assert all(left[1] < right[0] for left, right in itertools.pairwise(ends))


def test_a_tree_has_no_crossing_and_a_chain_is_straight() -> None:
    size = [(10.0, 5.0)] * 7
    tree = [(0, 4), (1, 5), (2, 4), (3, 5), (4, 6), (5, 6)]
    centres, _ = placed(size, tree, [0] * 7, (5, 5))
    sides = [[centres[k][0] for k in (0, 2)], [centres[k][0] for k in (1, 3)]]
    assert max(sides[0]) < min(sides[1]) or max(sides[1]) < min(sides[0])
    chain, _ = placed(size, [(k, k + 1) for k in range(6)], [0] * 7, (5, 5))
    assert len({x for x, _ in chain}) == 1


def test_a_cycle_of_folded_vertices_is_drawn() -> None:
    centres, ways = placed([(9.0, 9.0)] * 3, [(0, 1), (1, 2), (2, 0)], [0] * 3, (5, 5))
    assert len(set(centres)) == 3
    assert ways[2][0] == centres[2]


def test_names_of_tensors_are_no_markup() -> None:
    a = nm.tensor(2.0, requires_grad=True)
    a._name = '"]--><img src=x onerror=alert(1)>'
    chart = drawn(a * a)
    assert lines_of(chart, a._name)
