"""Steps of derivatives: what they say is what is computed, and all of it can be shown."""

from __future__ import annotations

import re
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, reject, strategies

import numeric as nm
import symdiff as sd
from numeric.show import stepwise
from symdiff.calculus.shares import shares
from symdiff.scalars.vocabulary import FACTS
from tests.look.steps import specimens
from tests.support.budget import FUZZ, sample
from tests.support.differences import listed, point
from tests.support.fields import HIGH
from tests.support.oracles import values_of
from tests.support.refusals import refused
from tests.support.strategies import programs_at_points
from tests.test_table import ROWS

DIGITS = 50


def at_many_digits(e: Any, env: Any) -> Any:
    """By the tests' own interpreter."""
    return values_of([e], env, HIGH)[0]


def multiplied_out(steps: Any, env: Any) -> Any:
    """The gradient by the steps' own formulas: values forward, cotangents backward.

    Each formula is evaluated over the numbers that the names of its operands stand for.
    """
    known: dict[Any, Any] = dict(env)
    for _, node, _ in steps.constants(steps.rows):
        known[steps.stand_in(node)] = at_many_digits(node, env)
    for row in steps.rows:
        known[steps.stand_in(row.node)] = at_many_digits(row.formula, known)
    bars: dict[Any, Any] = {}
    bars[steps.f] = at_many_digits(sd.constant(1), {})
    for row in reversed(steps.rows):
        g = bars.get(row.node)
        for edge in row.edges:
            known[steps.bar(row.node)] = g
            passed = at_many_digits(edge.passes, known)
            bars[edge.node] = np.asarray(bars.get(edge.node, 0) + passed, object)
            if edge.derivative is not None:
                close(g * at_many_digits(edge.derivative, known), passed)
    return bars.get(steps.x, 0)  # conditions pass nothing to what they read


def close(a: Any, b: Any) -> None:
    for p, q in zip(np.ravel(a), np.ravel(b), strict=True):
        scale = 1 + abs(q)
        assert abs(p - q) <= mp.mpf(10) ** (10 - DIGITS) * scale, (a, b)


x, y = sd.symbols("x y")
HERE = {x: np.array(mp.mpf("0.75"), object), y: np.array(mp.mpf("1.375"), object)}
UNARY = (sd.sin, sd.exp, sd.tanh, sd.sqrt, sd.log, sd.cos, sd.atan, lambda u: 1 / u)
BINARY = (
    lambda a, b: a * b,
    lambda a, b: a + b,
    lambda a, b: a / b,
    lambda a, b: sd.hypot(a, b),
    lambda a, b: sd.where(a < b, a, b * b),
    lambda a, b: a - 3 * b,
)


@strategies.composite
def formulas(draw: Any) -> Any:
    """A formula of x and y whose parts are used again; positive where functions ask for it."""
    parts = [x, y, sd.constant(2)]
    for _ in range(draw(strategies.integers(1, 8))):
        one = strategies.sampled_from(parts)
        if draw(strategies.booleans()):
            parts.append(draw(strategies.sampled_from(UNARY))(sd.exp(draw(one) / 4)))
        else:
            parts.append(draw(strategies.sampled_from(BINARY))(draw(one), draw(one)))
    return parts[-1] + x


@pytest.mark.slow
@sample(60)
@given(formulas(), strategies.integers(1, 4))
def test_steps_multiply_out_to_the_derivative(f: Any, order: int) -> None:
    steps = nm.steps(f, x, order=order if sd.count_nodes(f) < 9 else 1)
    order = len(steps.of[1])
    with mp.workdps(DIGITS):
        expected = at_many_digits(sd.diff(f, x, order), HERE)
        close(multiplied_out(steps, HERE) if steps.nodes else 0, expected)
        close(sum(at_many_digits(passed, HERE) for _, passed, _ in steps.shares), expected)
        # Not the same node: factors stand in the order in which they were made, and what a walk
        # made and did not keep is made again, after what it kept.
        close(at_many_digits(steps.gradient, HERE), expected)


@pytest.mark.slow
@sample(12)
@given(programs_at_points(("pointwise", "contraction", "linear", "opaque"), steps=3))
def test_views_of_random_programs(drawn: Any) -> None:
    case, place = drawn
    xs = [sd.symbol(f"x{i}", shape) for i, shape in enumerate(case.shapes)]
    f = case.ours(xs)
    values = {s: np.vectorize(float, otypes=[float])(v) for s, v in zip(xs, place, strict=True)}
    seed = np.ones(f.shape) if f.shape else None
    try:
        nm.interpret(f, {s: values[s] for s in f.free_symbols})
    except np.linalg.LinAlgError:  # the system that a step solves is singular here
        reject()
    for v in xs:
        steps = nm.steps(f, v, at=values, seed=seed)
        plain = nm.interpret(steps.gradient, {s: values[s] for s in steps.gradient.free_symbols})
        np.testing.assert_array_equal(steps.value, plain)
        for view in (str(steps), steps._repr_latex_(), steps._repr_html_()):
            assert view
        assert not re.search(r"(?<!\{)\\bar\{[^{}]*\}(_\{\w+\})?_\w", steps.latex())
        names = [row.name for row in steps.rows]
        assert len(set(names)) == len(names)


def test_what_only_conditions_read_is_passed_nothing() -> None:
    steps = nm.steps(x + sd.where(x < x, x, x**2), x, order=3)
    assert steps.f is sd.where(x < x, sd.constant(0), 2)
    (row,) = steps.rows
    assert row.node is x
    assert row.cotangent is steps.gradient is sd.constant(0)
    assert row.edges == steps.shares == ()
    with mp.workdps(DIGITS):
        close(multiplied_out(steps, HERE), 0)


def test_what_does_not_vary_and_has_a_name_multiplies_out() -> None:
    large = y
    for _ in range(6):
        large = sd.sin(sd.exp(large / 4))
    f = x * large + x
    steps = nm.steps(f, x)
    assert [name for name, _, _ in steps.constants(steps.rows)] == ["c1"]
    with mp.workdps(DIGITS):
        close(multiplied_out(steps, HERE), at_many_digits(large + 1, HERE))


# What they say ------------------------------------------------------------------------------------


def test_rows_are_the_data() -> None:
    steps = nm.steps(x * sd.sin(x), x, at={"x": 2})
    assert [row.name for row in steps.rows] == ["x", "t1", "f"]
    _, sine, product = steps.rows
    assert (str(sine.formula), sine.value) == ("sin(x)", np.sin(2.0))
    assert (str(sine.cotangent), sine.cotangent_value) == ("x", 2)
    (edge,) = sine.edges
    assert (edge.operand, str(edge.derivative), edge.derivative_value) == (
        "x",
        "cos(x)",
        np.cos(2.0),
    )
    assert edge.rule == "chain rule: derivative of sin is cos"
    assert edge.passed is x * sd.cos(x)
    assert edge.value == 2 * np.cos(2.0)
    assert [e.operand for e in product.edges] == ["x", "t1"]
    assert [name for name, _, _ in steps.shares] == ["f", "t1"]
    assert steps.value == sum(value for _, _, value in steps.shares)


def test_an_opaque_rule_has_its_mathematics_and_source() -> None:
    A, b = sd.symbol("A", (2, 2)), sd.symbol("b", 2)
    (row,) = [r for r in nm.steps(sd.sum(sd.inv(A)), A).rows if r.name == "t1"]
    assert row.edges[0].rule == "differential of inv"
    assert row.edges[0].states == "dY = -Y dA Y (Giles, 2.2.3)."
    assert row.edges[0].derivative is None
    solved = nm.steps(sd.sum(sd.solve(A, b)), b).rows
    said = [e.states for r in solved for e in r.edges if e.states]
    assert said == ["B' = A^-T G (Giles, 2.3.1)."]


def test_a_branch_that_is_not_taken_and_kinks_say_so() -> None:
    taken = nm.steps(sd.where(x > 0, sd.log(x), x**2), x, at={x: -1})
    assert sorted(value for _, _, value in taken.shares) == [-2, 0]
    assert re.search(r"xbar  \+= t[12]bar/x = 0$", str(taken), re.M)
    assert "needs x > 0: not so here" in str(taken)
    kink = nm.steps(abs(x), x, at={x: 0})
    assert "kink of abs where x == 0, as here: by convention" in str(kink)
    assert [note.applies for row in kink.rows for note in row.notes] == [True]
    assert not any(
        note.applies for row in nm.steps(abs(x), x, at={x: 1}).rows for note in row.notes
    )
    with sd.kinks("raise"), pytest.raises(sd.NotDifferentiable, match="abs"):
        nm.steps(abs(x), x, at={x: 0}).value  # noqa: B018


def test_a_condition_has_steps() -> None:
    x = sd.symbol("x")
    for f in (x > 0, sd.equal(x, 1), sd.floor(x)):
        assert nm.steps(f, x).text().endswith("df/dx = 0")
        assert nm.steps(f, x).latex()
    assert nm.steps(x, x).text().splitlines() == ["f = x", "df/dx = 1"]


def test_what_does_not_vary_is_written_or_named() -> None:
    large = y
    for _ in range(20):
        large = sd.sin(large) + y
    steps = nm.steps(sd.exp(x) * large, x, at={x: 0, y: 1})
    text = str(steps)
    assert re.search(r"^  c1 = .* = \d", text, re.M)
    assert "c1" in str(steps.rows[-1].formula)
    assert "c_{1} &= " in steps.latex()
    assert "$c_{1} = " in steps.html()
    assert steps.value == pytest.approx(float(nm.interpret(large, {y: 1.0})))


def test_axes_have_the_lengths_of_the_values() -> None:
    v, w = sd.symbol("v", "n"), sd.symbol("w", 2)
    steps = nm.steps(sd.mean(v**2), v, at={v: [1.0, 2, 6]})
    assert steps.value.tolist() == [2 / 3, 4 / 3, 4.0]
    assert "d f/dt1 = 1/n = 0.333333" in str(steps)
    named = nm.steps(sd.sum(sd.ones("m")) * x, x, at={x: 2, "m": 4})
    assert "at x = 2, m = 4" in str(named)
    assert "d f/dx = m = 4" in str(named)
    mixed = nm.steps(sd.sin(w[0]) * w[1] + w @ w, w[0], at={w: [1, 2]})
    assert mixed.value == pytest.approx(2 * np.cos(1) + 2)
    assert sum(value for _, _, value in mixed.shares) == pytest.approx(mixed.value)


def test_names_are_nobodys() -> None:
    t1, f, tbar = sd.symbols("t1 f t2bar")
    steps = nm.steps(sd.sin(t1) * f + tbar * t1, t1)
    names = [row.name for row in steps.rows]
    assert names[0] == "t1"
    assert len({*names, "f", "t2bar"}) == len(names) + 2
    bars = [steps.bar(row.node).name for row in steps.rows]
    assert not {*bars} & {*names, "f", "t2bar"}


# Sizes --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_large_graph_is_shown_at_its_ends() -> None:
    f = x
    for _ in range(30_000):
        f = sd.sin(f)
    steps = nm.steps(f, x, at={x: 1})
    assert len(steps.nodes) == 30_001
    for view in (str(steps), steps._repr_latex_(), steps._repr_html_()):
        assert "29,977 steps are not shown" in view
        assert len(view) < 40_000
    assert len(steps._rows) == 24  # the others were not made
    assert steps.row(steps.nodes[20_000]).name == "t20000"
    middle = nm.steps(sd.diff(sd.sin(sd.exp(x)), x, 6), x)
    assert "not shown" in str(middle)
    assert "not shown" not in middle.text(full=True)
    found = re.findall(r"^  (?:t\d+|f)bar\b", middle.text(full=True), re.M)
    assert len(found) == len(middle.rows) - 1


def test_lines_fit_a_terminal() -> None:
    wide = [
        (name, line)
        for name, make in specimens().items()
        if name not in ("hostile names", "large") and "LaTeX" not in name
        for line in str(make()).splitlines()
        if len(line) > 100
    ]
    assert not wide


def test_formulas_cannot_inject() -> None:
    steps = specimens()["hostile names"]()
    inside = re.sub(
        r"</?(div|table|thead|tbody|tr|th|td|p|b|br|span)( [^<>]*)?>", "", steps._repr_html_()
    )
    assert not re.search(r"[<>]", inside)
    kinked = nm.steps(sd.where(x < y, x, y**2), x)
    assert "x &lt; y" in kinked._repr_html_()


# Higher orders ------------------------------------------------------------------------------------


def test_mixed_derivatives_have_steps() -> None:
    f = sd.exp(x * y) * sd.sin(x)
    steps = nm.steps(f, (x, "y"), at={x: 0.5, y: 2})
    assert steps.gradient is sd.grad(sd.diff(f, x), y)
    assert steps.value == pytest.approx(nm.interpret(sd.diff(f, x, y), {x: 0.5, y: 2}), rel=1e-12)
    assert str(steps).splitlines()[0] == (
        f"The derivative of {sd.text(f)} by x, y is dg/dy, where g is its derivative by x"
    )
    assert "dg/dy = " in str(steps)
    assert nm.steps(f, [x, y], order=2).gradient is steps.gradient


def test_the_hessian_by_an_array_has_steps_in_one_direction() -> None:
    A, v = sd.symbol("A", (3, 3)), sd.symbol("v", 3)
    f = sd.exp(v @ A @ v / 9)
    matrix, point, seed = np.arange(9.0).reshape(3, 3), [0.5, -1, 0.25], np.array([1.0, 2, -1])
    steps = nm.steps(f, v, order=2, at={A: matrix, v: point}, seed=seed)
    hessian = nm.interpret(sd.hessian(f, v), {A: matrix, v: point})
    np.testing.assert_allclose(steps.value, hessian @ seed, rtol=1e-12)
    assert steps.before.gradient is sd.grad(f, v)
    for view in (steps.text(), steps.latex(), steps.html()):
        assert "The product of the seed and the second derivative of" in view


def test_of_each_order_there_are_the_steps_before() -> None:
    steps = nm.steps(x**5, x, order=3, at={x: 2})
    assert [s.value for s in (steps, steps.before, steps.before.before)] == [240, 160, 80]
    assert steps.before.before.before is None
    assert "by x is dg/dx, where g is its derivative of order 2" in str(steps)


# Refusals -----------------------------------------------------------------------------------------


def test_refusals() -> None:
    v = sd.symbol("v", 3)
    refused(
        (sd.ShapeError, "not a scalar", lambda: nm.steps(v, v)),
        (sd.ShapeError, r"order 2 by .*seed=", lambda: nm.steps(v @ v, v, order=2)),
        (sd.ShapeError, r"order 3 by .*a component", lambda: nm.steps(v @ v, v, order=3, seed=v)),
        (ValueError, "'x' has 2 variables, and order is 3", lambda: nm.steps(x, (x, y), order=3)),
        (ValueError, "'x' has 0 variables", lambda: nm.steps(x, ())),
        (ValueError, "order 0", lambda: nm.steps(x, x, order=0)),
        (ValueError, "symbol y", lambda: nm.steps(x * y, x, at={x: 1})),
        (sd.ShapeError, "expected shape", lambda: nm.steps(v @ v, v, at={v: [1, 2]})),
    )


# Planted mistakes ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["missing", "doubled", "swapped"])
def test_mistakes_in_the_steps_are_seen(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    f = sd.sin(x) * y + sd.exp(x) / x

    def wrong(*args: Any) -> Any:
        found = shares(*args)
        edges = list(found.edges)
        i = next(i for i, e in enumerate(edges) if e.node.op.name == "product" and e.k == 0)
        if kind == "missing":
            del edges[i]
        elif kind == "doubled":
            edges.insert(i, edges[i])
        else:
            edges[i], edges[i + 1] = (
                edges[i]._replace(operand=edges[i + 1].operand),
                edges[i + 1]._replace(operand=edges[i].operand),
            )
        return found._replace(edges=tuple(edges))

    with mp.workdps(DIGITS):
        expected = at_many_digits(sd.diff(f, x), HERE)
        close(multiplied_out(nm.steps(f, x), HERE), expected)
        monkeypatch.setattr(stepwise, "shares", wrong)
        with pytest.raises(AssertionError):
            close(multiplied_out(nm.steps(f, x), HERE), expected)


@pytest.mark.slow
def test_every_row_of_the_table_can_be_shown() -> None:
    """Every public function at the point at which its derivatives are judged."""
    said = set()
    for i, one in enumerate({one.title: one for one in ROWS}.values()):
        shapes = one.cases[0]
        xs = [sd.symbol(f"x{k}", shape) for k, shape in enumerate(shapes)]
        at = dict(zip(xs, point(shapes, one.low, one.high), strict=True))
        y = next((y for y in listed(one.ours(*xs)) if y.dtype is float), None)
        for k, v in enumerate([] if y is None else xs):
            steps = nm.steps(y, v, at=at, seed=np.ones(y.shape) if y.shape else None)
            np.testing.assert_array_equal(steps.value, nm.interpret(steps.gradient, at), one.title)
            said |= {line for row in steps.rows for e in row.edges for line in (e.rule, e.states)}
            views = (steps.text, steps.latex, steps.html)
            for view in views if FUZZ else [views[(i + k) % 3]] * (i % 4 == 0):
                assert view()
    assert len(said) > 150
    assert not [line for line in said if re.search(r"(^| )_\w|``", line)]


def test_every_fact_of_a_function_can_be_shown() -> None:
    """The rule and conditions of every function of the vocabulary, over operands of its own."""
    from symdiff.graph.algebra import primitive
    from tests.test_vocabulary import operands_of

    for name in FACTS:
        operands, xs = operands_of(name)
        node = primitive(name, *operands)
        if node.dtype is float:
            for variable in xs:
                assert nm.steps(node, variable).rows


# Files --------------------------------------------------------------------------------------------


def test_steps_are_saved_as_texts_and_pictures(tmp_path):
    steps = nm.steps(x * sd.sin(x), x, at={x: 2})
    for ending, text in {"txt": str(steps), "tex": steps.latex(), "html": steps.html()}.items():
        steps.save(tmp_path / f"s.{ending}")
        assert (tmp_path / f"s.{ending}").read_text(encoding="utf-8") == text
    pytest.importorskip("matplotlib")
    steps.save(str(tmp_path / "s.svg"))
    assert b"<svg" in (tmp_path / "s.svg").read_bytes()
    steps.save(tmp_path / "s.PNG")
    assert (tmp_path / "s.PNG").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match=r"Steps.save: argument 'path' 's' does not end in one of"):
        steps.save("s")
    with pytest.raises(TypeError, match=r"Steps.save: argument 'path' expects the name of a file"):
        steps.save(None)


def written(figure):
    return [text.get_text() for text in figure.texts]


def test_a_picture_of_steps_has_the_tables_of_the_page():
    pytest.importorskip("matplotlib")
    from numeric.show.derivations_tex import broken, layout
    from numeric.show.step_pictures import figure_of
    from numeric.show.typesetting import mathtext

    for f in (x * sd.sin(x), abs(x) * sd.maximum(x, y) + sd.sqrt(x)):
        steps = nm.steps(f, x, at={x: 0, y: 0})
        above, tables, below = layout(steps, False)
        cells = [
            *above,
            *below,
            *(line.first for t in tables for line in t.lines if line.first.tex),
        ]
        shown = " ".join(written(figure_of(steps, False))).replace("$ $", " ")
        for cell in cells:
            for part in broken(cell.tex):
                assert mathtext(part)[1:-1] in shown
        for row in steps.rows:
            for edge in row.edges:
                assert edge.rule in shown


def test_pieces_of_a_picture_of_steps_are_apart_and_inside():
    pytest.importorskip("matplotlib")
    from numeric.show.step_pictures import figure_of

    for f, v, at in (
        (sd.exp(-(x**2) / 2) * sd.sin(y) / y, x, {x: 1, y: 2}),
        (abs(x) * sd.maximum(x, y) + sd.sqrt(x), x, {x: 0, y: 0}),
    ):
        figure = figure_of(nm.steps(f, v, at=at), False)
        renderer = figure.canvas.get_renderer()
        boxes = [text.get_window_extent(renderer) for text in figure.texts]
        for k, box in enumerate(boxes):
            assert box.x0 >= 0
            assert box.x1 <= figure.bbox.width
            assert not any(box.padded(-1.5).overlaps(other.padded(-1.5)) for other in boxes[:k])


def test_what_cannot_be_typeset_is_saved_as_text():
    pytest.importorskip("matplotlib")
    from numeric.show.step_pictures import figure_of

    name = sd.symbol("变量")
    steps = nm.steps(name**2, name, at={name: 2})
    shown = "\n".join(written(figure_of(steps, False)))
    assert shown == str(steps).replace("变量", r"\u53d8\u91cf")
