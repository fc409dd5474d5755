"""What nodes pass on: each against differences of that node alone, all against the gradient.

The differences are of the tests' own interpreter, at many digits; it knows no derivative.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mpmath as mp
import numpy as np
import pytest
import sympy
from hypothesis import given

import symdiff as sd
from symdiff.calculus import rules
from symdiff.calculus.derivative import cotangents
from symdiff.calculus.flows import Flow
from symdiff.calculus.shares import Shares, conditions, local, shares
from symdiff.calculus.variables import component
from symdiff.graph import ops
from symdiff.graph.node import make
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

SAME = 1e-60  # of what is the same but for the order of sums


def stand_in(v: Expr) -> Expr:
    return make(ops.dummy_op("_", v.shape, v.dtype), (), v.shape, v.dtype)


def pulled_by_differences(v: Expr, k: int, at: list[Array], seed: Array) -> Array:
    """``sum_i seed_i dv_i / d operand``, v being computed from displaced values of one operand."""
    operands = [stand_in(x) for x in v.args]
    alone = make(v.op, tuple(operands), v.shape, v.dtype)
    return displaced(alone, operands[k], dict(zip(operands, at, strict=True)), seed)


def check(found: Shares, f: Expr, x: Expr, env: Mapping[Expr, Array]) -> int:
    """Hold a record against differences of single nodes, and its sums; how many edges it has."""

    def at(*es: Expr) -> list[Array]:
        return values_of(list(es), env, HIGH)

    with mp.workdps(DIGITS):
        assert set(found.cotangents) == set(found.path)
        total: dict[Expr, Array] = {}
        for edge in found.edges:
            (passed,) = at(edge.passed)
            total[edge.operand] = total.get(edge.operand, 0) + passed
            (seed,) = at(found.cotangents[edge.node])
            if edge.k is None:
                way = component(edge.node)
                assert way is not None
                back = dict(zip([edge.operand], at(edge.operand), strict=True))
                expected = displaced(edge.node, edge.operand, back, seed)
            else:
                values = at(*edge.node.args)
                expected = pulled_by_differences(edge.node, edge.k, values, seed)
            agree(passed, expected, f"passed by {edge.node!r}", f, CLOSE)
            # The statement over stand-ins is the one that the walk asked.
            stand_ins = [stand_in(a) for a in edge.node.args]
            bar = stand_in(edge.node)
            own = local(edge.node, edge.k, stand_ins, bar)
            known = dict(zip(stand_ins, at(*edge.node.args), strict=True)) | {bar: seed}
            agree(values_of([own.pulled], known, HIGH)[0], passed, "pulled", f, SAME)
            if own.derivative is not None:
                (d,) = values_of([own.derivative], known, HIGH)
                agree(np.asarray(seed * d, object), passed, "derivative", f, SAME)
        for v in found.path:
            if v is not f:
                zeros = np.zeros(v.shape, object)
                agree(
                    np.asarray(total.get(v, zeros), object),
                    at(found.cotangents[v])[0],
                    f"cotangent of {v!r}",
                    f,
                    SAME,
                )
        (gradient,) = at(found.gradient)
        into = sum((at(edge.passed)[0] for edge in found.final), np.zeros(x.shape, object))
        if x is not f:
            agree(np.asarray(into, object), gradient, "the gradient", f, SAME)
    return len(found.edges)


@sample(40)
@given(programs_at_points(("pointwise", "contraction", "linear", "opaque", "literal"), steps=4))
def test_steps_multiply_out_to_the_gradient(drawn: tuple[Any, Sequence[Array]]) -> None:
    case, point = drawn
    with mp.workdps(DIGITS):
        no_ties(case, point, HIGH)
        xs = inputs_of(case)
        f, env = case.ours(xs), bound(xs, point, HIGH)
        seed = sd.constant(weights(f))
        for x in xs:
            found, inside = shares(f, x, seed), cotangents(f, seed, x)
            check(found, f, x, env)
            assert all(found.cotangents[v] is inside[v] for v in found.path if v in inside)


def test_every_variable_of_one_formula() -> None:
    f, variables, env = robot()
    for x in variables:
        assert check(shares(f, x), f, x, env) > 5


def test_the_record_is_the_walk_of_the_gradient() -> None:
    f, (q, A, x, *_), _ = robot()
    for v in (q, A, x):
        found = shares(f, v)
        assert found.gradient is sd.grad(f, v)
        inside = cotangents(f, inputs=v)
        assert all(found.cotangents[u] is inside[u] for u in found.path)
        assert found.cotangents[v] is sd.vjp(f, v, 1)


def test_a_component_that_nothing_else_has_is_a_variable_of_its_own() -> None:
    q = sd.symbol("q", 2)
    a, b = q[0], q[1]
    found = shares(sd.sin(a) * b, a)
    assert [v.op.name for v in found.path if v is not a] == ["sin", "product"]
    assert [edge.passed for edge in found.final] == [sd.cos(a) * b] == [found.gradient]
    whole = shares(sd.sin(a) * b, q)
    assert [edge.node for edge in whole.final] == [b, a]
    mixed = shares(sd.sin(a) * b + q @ q, a)
    assert len(mixed.final) == 3
    assert sd.constant(0) + sum(edge.passed for edge in mixed.final) is mixed.gradient


# Where a walk could go wrong ----------------------------------------------------------------------


def without(found: Shares, i: int) -> Shares:
    return found._replace(edges=found.edges[:i] + found.edges[i + 1 :])


def replaced(found: Shares, i: int, **new: Any) -> Shares:
    edges = list(found.edges)
    edges[i] = edges[i]._replace(**new)
    return found._replace(edges=tuple(edges))


@pytest.mark.slow
def test_planted_mistakes_in_the_record_are_seen() -> None:
    f, (q, *_), env = robot()
    good = shares(f, q)
    with mp.workdps(DIGITS):
        sizes = [sum(map(abs, values_of([e.passed], env, HIGH)[0].ravel())) for e in good.edges]
    for i, edge in list(enumerate(good.edges))[::3]:
        if not sizes[i]:
            continue
        wrong = replaced(good, i, passed=2 * edge.passed) if i % 2 else without(good, i)
        with pytest.raises(AssertionError, match=r"passed by|cotangent of"):
            check(wrong, f, q, env)
    pairs = [
        (i, i + 1)
        for i in range(len(good.edges) - 1)
        if good.edges[i].node is good.edges[i + 1].node
        and good.edges[i].operand.shape == good.edges[i + 1].operand.shape
        and good.edges[i].passed is not good.edges[i + 1].passed
    ]
    assert pairs
    for i, j in pairs:
        a, b = good.edges[i], good.edges[j]
        wrong = replaced(replaced(good, i, operand=b.operand), j, operand=a.operand)
        with pytest.raises(AssertionError, match=r"passed by|cotangent of"):
            check(wrong, f, q, env)
    with pytest.raises(AssertionError, match="the gradient"):
        check(good._replace(final=good.final[1:]), f, q, env)


@pytest.mark.parametrize("family", ["SumRule", "ProductRule", "PointwiseRule", "ContractRule"])
def test_a_wrong_rule_is_seen(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistake in one rule is in the gradient, too; the differences of single nodes see it."""
    f, (q, *_), env = robot()
    cls = getattr(rules, family)
    pull = cls.pull

    def wrong(self: Any, g: Flow) -> Any:
        flow = pull(self, g)
        return None if flow is None else Flow(flow.expr * 3, flow.mark)

    monkeypatch.setattr(cls, "pull", wrong)
    with pytest.raises(AssertionError, match="passed by"):
        check(shares(f, q), f, q, env)


# Branches, kinks, domains -------------------------------------------------------------------------


def test_a_branch_that_is_not_taken_passes_zero() -> None:
    x = sd.symbol("x")
    f = sd.where(x > 0, sd.sqrt(x), x**2) + sd.where(x < -5, 1 / (x + 1), x)
    found = shares(f, x)
    env = {x: np.array(mp.mpf(-1), object)}
    passed = [values_of([edge.passed], env, HIGH)[0][()] for edge in found.final]
    assert sorted(passed) == [-2, 0, 0, 1]


def test_conditions_are_those_of_the_functions() -> None:
    x = sd.symbol("x_conditions")  # of which no other test has functions
    t, u = sd.symbols("t u")
    v = sd.symbol("v", 3)

    def said(f: Expr, *operands: Expr, by: Any = None) -> list[tuple[str, str]]:
        return [(c.kind, str(c.holds)) for c in conditions(f, operands, by)]

    assert said(sd.log(x), t) == [("domain", "t > 0")]
    assert said(sd.sqrt(x), t) == [("domain", "t > 0")]
    assert said(1 / x, t) == [("domain", "t != 0")]
    assert said(sd.sin(x) / sd.cos(x), t, u) == [("domain", "u != 0")]
    assert said(sd.sin(x) / sd.cos(x), t, u, by={0}) == []
    assert said(abs(x), t) == [("kink", "t == 0")]
    assert said(sd.maximum(x, x**2), t, u) == [("kink", "t == u")]
    assert said(sd.sin(x), t) == []
    root = sd.pointwise("root", lambda u: sympy.sqrt(u) + sympy.Abs(u - 1))
    assert sorted(said(root(x), t)) == [("domain", "t > 0"), ("kink", "t - 1 == 0")]
    assert [c.kind for c in conditions(sd.max(v), [v])] == ["kink"]
    assert conditions(sd.max(v), [v])[0].holds.shape == (3,)
    assert not conditions(sd.det(sd.symbol("A", (2, 2))), [sd.symbol("B", (2, 2))])


# Any order, any size ------------------------------------------------------------------------------


def test_order_four() -> None:
    x = sd.symbol("x")
    f = sd.exp(sd.sin(x)) * sd.log(x) + x**5 / (1 + x**2)
    third = sd.diff(f, x, 3)
    env = {x: np.array(mp.mpf("0.7"), object)}
    found = shares(third, x)
    assert check(found, third, x, env) > 50
    with mp.workdps(DIGITS):
        fourth = values_of([sd.diff(f, x, 4)], env, HIGH)[0]
        total = sum(values_of([edge.passed], env, HIGH)[0] for edge in found.final)
        agree(np.asarray(total, object), fourth, "the fourth derivative", f, SAME)
        slope = mp.diff(lambda z: mp.exp(mp.sin(z)) * mp.log(z) + z**5 / (1 + z**2), 0.7, 4)
        assert (
            abs(np.asarray(total, object)[()] - slope) < 1e-12
        )  # 0.7 is not a decimal fraction there


@pytest.mark.slow
def test_a_long_chain_is_walked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    ask = rules.statement
    monkeypatch.setattr(rules, "statement", lambda v, k: asked.append(v) or ask(v, k))
    q = sd.symbol("q", 1)
    f = sd.sum(q)
    for _ in range(100_000):
        f = sd.sin(f)
    found = shares(f, q)
    assert len(found.edges) == len(found.path) - 1 == 100_001
    assert len(asked) == 200_002  # once for the record, once for the gradient beside it


def test_refusals_are_those_of_grad() -> None:
    v = sd.symbol("v", 2)
    refused(
        (sd.ShapeError, r"output of shape \(2,\)", lambda: shares(v, v)),
        (sd.NotDifferentiable, "integer", lambda: shares(v @ v, sd.symbol("k", dtype=int))),
        (ValueError, "cannot differentiate by", lambda: shares(v @ v, sd.sin(v))),
    )


def test_what_passes_nothing_has_no_edge() -> None:
    x = sd.symbol("x")
    held = sd.detach(sd.sin(x))
    found = shares(x * held, x)
    assert [edge.passed for edge in found.final] == [held]
    assert held in found.cotangents
    nothing = shares(sd.symbol("y"), x)
    assert nothing.path == nothing.edges == ()
    assert nothing.gradient is sd.constant(0)
    assert [isinstance(v.op, ops.Symbol) for v in shares(x, x).path] == [True]
