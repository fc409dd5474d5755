"""The cotangents of all nodes, against differences that displace the value of each node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mpmath as mp
import pytest
from hypothesis import given

import symdiff as sd
from symdiff.calculus import derivative, rules
from symdiff.calculus.derivative import cotangents
from symdiff.graph import ops
from tests.support.budget import sample
from tests.support.displacements import CLOSE, DIGITS, displaced, robot, weights
from tests.support.fields import HIGH
from tests.support.oracles import agree, bound, inputs_of, no_ties, values_of
from tests.support.refusals import refused
from tests.support.strategies import programs_at_points

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symdiff import Expr
    from tests.support.fields import Array


def check(f: Expr, env: Mapping[Expr, Array]) -> int:
    """Compare the cotangent of every node; the number of nodes that were not symbols."""
    found = cotangents(f, weights(f))
    with mp.workdps(DIGITS):
        values = values_of(list(found.values()), env, HIGH)
        for (v, expr), value in zip(found.items(), values, strict=True):
            assert expr.shape == v.shape
            agree(value, displaced(f, v, env, weights(f)), f"cotangent of {v!r}", f, CLOSE)
    return sum(not isinstance(v.op, ops.Symbol) for v in found)


@pytest.mark.slow
@sample(40)
@given(programs_at_points(("pointwise", "contraction", "linear", "opaque", "literal"), steps=4))
def test_every_cotangent_is_the_difference_quotient(drawn: tuple[Any, Sequence[Array]]) -> None:
    case, point = drawn
    with mp.workdps(DIGITS):
        no_ties(case, point, HIGH)
        xs = inputs_of(case)
        check(case.ours(xs), bound(xs, point, HIGH))


@pytest.mark.slow
def test_shared_nodes_collect_what_all_their_users_send() -> None:
    f, _, env = robot()
    assert check(f, env) > 10


def test_the_cotangents_of_symbols_are_the_gradient() -> None:
    f, *_ = robot()
    found = cotangents(f)
    xs = list(f.free_symbols)
    assert [found[x] for x in xs] == list(sd.grad(f, xs))
    assert found[f] is sd.constant(1)
    assert list(found) == [v for v in sd.nodes(f) if v in found]


def test_a_walk_is_linear(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many statements are asked for as the graph has edges, however many nodes have one."""
    asked: list[Any] = []
    ask = rules.statement
    monkeypatch.setattr(rules, "statement", lambda v, k: asked.append((v, k)) or ask(v, k))
    f = sd.symbol("x")
    for _ in range(3000):
        f = sd.sin(f) * f
    assert len(cotangents(f)) == 6001
    assert len(asked) == len(set(asked)) == 9000


def test_inputs_choose_the_paths() -> None:
    x, y = sd.symbols("x y")
    k = sd.symbol("k", dtype=int)
    f = sd.sin(x) * sd.cos(y) * k
    assert list(cotangents(f, inputs=x)) == [v for v in cotangents(f) if x in v.free_symbols]
    assert k not in cotangents(f)
    inner = sd.sin(x)
    assert list(cotangents(inner**2, inputs=inner)) == [inner, inner**2]
    q = sd.symbol("q", 3)
    assert cotangents(q @ q, inputs=q[0])[q] is 2 * q


def test_what_is_detached_has_zeros() -> None:
    x, y = sd.symbols("x y")
    held = sd.detach(sd.sin(y))
    found = cotangents(x * held)
    assert found[held] is x
    assert found[y] is found[sd.sin(y)] is sd.constant(0)


def test_several_outputs_share_the_walk() -> None:
    x, w = sd.symbol("x", 2), sd.symbol("w", 2)
    found = cotangents([sd.sin(x), x * x], [w, 2 * w])
    assert found[x] is sd.vjp([sd.sin(x), x * x], x, [w, 2 * w])


def test_refusals() -> None:
    x = sd.symbol("x", 2)
    refused(
        (sd.ShapeError, r"cotangents: output of shape \(2,\).*seed=", lambda: cotangents(x)),
        (sd.ShapeError, "cotangents: seed of shape", lambda: cotangents(x, 1.0)),
        (
            sd.NotDifferentiable,
            "cotangents: input",
            lambda: cotangents(x @ x, inputs=sd.symbol("k", dtype=int)),
        ),
        (
            sd.NotDifferentiable,
            "create_graph",
            lambda: cotangents(sd.grad(x @ x, x, create_graph=False) @ x),
        ),
    )


@pytest.mark.parametrize(
    "wrong",
    [
        # A later use of a node is forgotten; the last flow counts; a node is asked before all its
        # users have answered.
        lambda flows: flows[0],
        lambda flows: flows[-1],
        lambda flows: rules.gathered(flows[:-1] or flows),
    ],
)
def test_planted_mistakes_at_inner_nodes_are_seen(
    wrong: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cotangents that are wrong at nodes that two paths leave, and right wherever one does."""
    f, _, env = robot()

    def forgetful(outputs: Any, inputs: Any, seeds: Any) -> Any:
        order = sd.nodes(outputs)
        found = rules.arrivals(order, outputs, inputs, seeds)
        return [wrong(found[x]) if x in found else None for x in inputs]

    monkeypatch.setattr(derivative, "pullback", forgetful)
    with pytest.raises(AssertionError, match="cotangent of"):
        check(f, env)
