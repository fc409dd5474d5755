"""kinks("raise"): derivatives that are conventions raise, values and other derivatives do not."""

import copy
import pickle
import subprocess
import sys
import threading
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

import numeric
import symdiff as sd
from symdiff import opaque_ops
from symdiff.calculus import rules
from symdiff.calculus.kinks import kinks_in
from symdiff.contexts import raising
from symdiff.exact.components import primitives
from symdiff.graph.ops import Opaque
from symdiff.scalars import formula
from symdiff.scalars.vocabulary import DECISIONS, FACTS, VOCABULARY
from tests.support import oracles
from tests.support.budget import sample
from tests.support.fields import EXACT
from tests.support.strategies import programs

x, y = sd.symbols("x y")
v, w = sd.symbols("v w", 3)
softsign = sd.pointwise("softsign", lambda q: q / (1 + sp.Abs(q)))

# name in the message, function of v and w, a kink, and a point without one
CASES = [
    ("abs", lambda: sd.sum(abs(v)), ([1, 0, -2], [0, 0, 0]), ([1, 2, -3], [0, 0, 0])),
    ("abs", lambda: sd.sum(softsign(v)), ([1, 0, -2], [0, 0, 0]), ([1, 2, -3], [0, 0, 0])),
    ("ive", lambda: sd.sum(sd.i0e(v)), ([1, 0, -2], [0, 0, 0]), ([1, 2, -3], [0, 0, 0])),
    ("maximum", lambda: sd.sum(sd.maximum(v, w)), ([1, 2, 3], [0, 2, 5]), ([1, 2, 3], [0, 3, 5])),
    ("minimum", lambda: sd.sum(sd.minimum(v, 1)), ([1, 2, 3], [0, 0, 0]), ([0, 2, 3], [0, 0, 0])),
    ("clip", lambda: sd.sum(sd.clip(v, 0, 2)), ([1, 2, 3], [0, 0, 0]), ([1, -1, 3], [0, 0, 0])),
    ("clip", lambda: sd.sum(sd.clip(v, w, 2)), ([1, 0, 3], [0, 2, 0]), ([1, 2, 3], [0, 3, 0])),
    ("max", lambda: sd.max(v), ([1, 2, 2], [0, 0, 0]), ([1, 1, 2], [0, 0, 0])),
    ("min", lambda: sd.min(v), ([1, 1, 2], [0, 0, 0]), ([1, 2, 2], [0, 0, 0])),
    ("norm", lambda: sd.norm(v), ([0, 0, 0], [0, 0, 0]), ([0, 1, 0], [0, 0, 0])),
    (
        "abs",
        lambda: sd.norm(v[:2, None] * sd.constant(np.eye(2)), "nuc"),
        ([2, 0, 0], [0, 0, 0]),
        ([2, 1, 0], [0, 0, 0]),
    ),
    (
        "max",
        lambda: sd.norm(v[:2, None] * sd.constant(np.eye(2)), 2),
        ([2, 2, 0], [0, 0, 0]),
        ([2, 1, 0], [0, 0, 0]),
    ),
    ("std", lambda: sd.std(v), ([2, 2, 2], [0, 0, 0]), ([2, 2, 3], [0, 0, 0])),
    ("hypot", lambda: sd.sum(sd.hypot(v, w)), ([1, 0, 1], [1, 0, 1]), ([1, 0, 1], [1, 1, 1])),
    ("atan2", lambda: sd.sum(sd.atan2(3 * v, w)), ([1, 0, 1], [1, 0, 1]), ([1, 0, 1], [1, 1, 1])),
    ("power", lambda: sd.sum(v**w), ([1, 0, 1], [1, 0, 1]), ([1, 0, 1], [1, 2, 1])),
]


@pytest.mark.parametrize(("name", "make", "kink", "free"), CASES, ids=lambda c: str(c)[:12])
def test_derivatives_raise_at_kinks_only(name, make, kink, free):
    f = make()
    kink, free = (tuple(np.array(a, float) for a in point) for point in (kink, free))
    with sd.kinks("raise"):
        F = numeric.lower(f, (v, w))
    plain = numeric.lower(f, (v, w))
    assert F(*kink) == plain(*kink)
    value, pullback = F.vjp(*kink)
    assert value == plain(*kink)
    calls = [
        lambda a: F.value_and_grad(*a),
        lambda a: F.vjp(*a)[1](1.0),
        lambda a: F.jacobian(*a),
        lambda a: F.hessian(*a),
        lambda a: F.jvp(a, a),
    ]
    with pytest.raises(sd.NotDifferentiable, match=name):
        pullback(1.0)
    for call in calls:
        with pytest.raises(sd.NotDifferentiable, match=name):
            call(kink)
        call(free)
    got, expected = F.value_and_grad(*free), plain.value_and_grad(*free)
    assert got[0] == expected[0]
    assert all((a == b).all() for a, b in zip(got[1], expected[1], strict=True))


@pytest.mark.parametrize(("name", "make", "kink", "free"), CASES, ids=lambda c: str(c)[:12])
def test_expressions_that_are_derivatives(name, make, kink, free):
    g = 0.1 * sd.grad(make(), v) + w  # the derivative is inside of something larger
    kink, free = ({"v": point[0], "w": point[1]} for point in (kink, free))
    with sd.kinks("raise"):
        with pytest.raises(sd.NotDifferentiable, match=name):
            numeric.interpret(g, kink)
        numeric.interpret(g, free)
        F = numeric.lower(g, (v, w))
    with pytest.raises(sd.NotDifferentiable, match=name):
        F(kink["v"], kink["w"])
    F(free["v"], free["w"])
    numeric.interpret(g, kink)


def lowered(make, *inputs):
    """A Function that keeps the mode."""
    with sd.kinks("raise"):
        return numeric.lower(make(), inputs[0] if len(inputs) == 1 else inputs)


k = sd.symbol("k", 3, dtype=int)
MAXIMUM = lowered(lambda: sd.sum(sd.maximum(v, w)), v, w)
ABS, SUM_OF_ABS = lowered(lambda: abs(x), x), lowered(lambda: sd.sum(abs(v)), v)
THIRD = lowered(lambda: sd.diff(abs(x) ** 3, x, 2), x)
CLIPPED = lowered(lambda: sd.sum(sd.clip(v, -1, 1) ** 3), v)
OF_INTEGERS = lowered(lambda: sd.grad(sd.sum(abs(v * k)), v), v, k)
AT_A_NUMBER = lowered(lambda: sd.diff(abs(x), x) * y, x, y)
BOUND = lowered(lambda: sd.grad(sd.sum(abs(v * w)), v), v, w).bind(w=[1.0, 0.0, 2.0])
DISCARDED = lowered(lambda: sd.where(y > 0, abs(x) ** 3, x * y), x, y)
HUBER = lowered(lambda: sd.sum(sd.where(abs(v) < 1, v**2 / 2, abs(v) - 0.5)), v)
NAMED = [
    (
        r"maximum: not differentiable at element \[1\], where its operand is 2.5",
        lambda: MAXIMUM.value_and_grad([1.0, 2.5, 3.0], [0.0, 2.5, 0.0]),
    ),
    ("abs: not differentiable where its operand is", lambda: ABS.value_and_grad(0.0)),
    (r"at element \[2\]", lambda: ABS.jacobian(np.array([1.0, 2.0, 0.0]))),
    ("abs", lambda: THIRD(0.0)),
    ("clip", lambda: CLIPPED.hessian(np.array([0.5, 1.0, 2.0]))),
    ("abs", lambda: SUM_OF_ABS.backward(SUM_OF_ABS.forward(np.array([1.0, 0.0, 2.0]))[1], 1.0)),
    (r"abs: .* element \[1\]", lambda: OF_INTEGERS(np.ones(3), np.array([1, 0, 3]))),
    ("abs", lambda: AT_A_NUMBER.bind(x=0.0)(1.0)),
    (r"abs: .* element \[1\]", lambda: BOUND(np.ones(3))),
    ("abs", lambda: DISCARDED.hessian(0.0, 1.0)),
]


@pytest.mark.parametrize(("says", "call"), NAMED)
def test_the_function_and_the_element_are_named(says, call):
    with pytest.raises(sd.NotDifferentiable, match=says):
        call()


ALLOWED = [
    (lambda: ABS(0.0), 0.0),
    (lambda: ABS.value_and_grad(-1.0), (1.0, (-1.0,))),
    (lambda: CLIPPED.hessian(np.array([0.5, 0.0, 2.0]))[0, 0], 3.0),
    (lambda: SUM_OF_ABS.forward(np.array([1.0, 0.0, 2.0]))[0], 3.0),
    (lambda: OF_INTEGERS(np.ones(3), np.array([1, -2, 3])).tolist(), [1.0, 2.0, 3.0]),
    (lambda: AT_A_NUMBER.bind(x=2.0)(3.0), 3.0),
    (lambda: DISCARDED.hessian(0.0, -1.0), ((0.0, 1.0), (1.0, 0.0))),
    (lambda: HUBER.grad(np.array([0.0, 0.5, -3.0])).tolist(), [0.0, 0.5, -1.0]),
]


@pytest.mark.parametrize(("call", "wanted"), ALLOWED)
def test_values_and_other_derivatives_are_there(call, wanted):
    assert call() == wanted
    with numeric.no_grad():
        assert call() == wanted


def test_the_mode_is_read_when_a_function_is_lowered():
    F = numeric.lower(abs(x), x)
    with sd.kinks("raise"):
        assert F.value_and_grad(0.0) == (0.0, (0.0,))
        with sd.kinks("subgradient"):
            G = numeric.lower(abs(x), x)
        assert raising()
    assert not raising()
    assert G.value_and_grad(0.0) == (0.0, (0.0,))


def test_the_mode_belongs_to_a_thread():
    seen = []
    with sd.kinks("raise"):
        thread = threading.Thread(target=lambda: seen.append(raising()))
        thread.start()
        thread.join()
    assert seen == [False]


def test_graphs_are_the_same_in_both_modes():
    plain = sd.grad(sd.sum(sd.maximum(v, w)), v)
    with sd.kinks("raise"):
        assert sd.grad(sd.sum(sd.maximum(v, w)), v) is plain


# What raises stands in the graph ------------------------------------------------------------------


def refuses(g, point, name):
    """Whether ``g`` says no under ``kinks("raise")``, interpreted and lowered."""
    inputs = sd.free_symbols(g)
    values = {x: np.asarray(point[x.name[0]], float) for x in inputs}
    with sd.kinks("raise"):
        F = numeric.lower(g, inputs)
    said = []
    for call in (lambda: numeric.interpret(g, values), lambda: F(*values.values())):
        try:
            with sd.kinks("raise"), np.errstate(all="ignore"):
                call()
        except sd.NotDifferentiable as error:
            said.append(str(error))
        else:
            said.append("")
    assert said[0] == said[1]
    assert not said[0] or name in said[0]
    return bool(said[0])


def derivative(make):
    """One that nothing but the result holds."""
    return 0.1 * sd.grad(make(), v) + w


def through_pickle(make):
    """Unpickled when the derivative that was pickled is gone."""
    text = pickle.dumps(derivative(make))
    return pickle.loads(text)


def of_others(make):
    """Of other symbols of the same first letters."""
    return sd.substitute(derivative(make), {v: sd.symbol("v_else", 3), w: sd.symbol("w_else", 3)})


def in_a_batch(make):
    """The mean of two copies."""
    rows = {x: sd.stack([x, x]) for x in (v, w)}
    return sd.mean(sd.batch(derivative(make), rows), axis=0)


WAYS = {
    "made": derivative,
    "pickled": through_pickle,
    "copied": lambda make: copy.deepcopy(copy.copy(derivative(make))),
    "substituted": of_others,
    "batched": in_a_batch,
    "of a part": lambda make: sd.grad(make(), v[:2])[0] + w[0],
    "by one element": lambda make: sum(sd.diff(make(), v[k]) for k in range(3)),
    "differentiated again": lambda make: sd.grad(sd.sum(sd.exp(derivative(make))), w),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("name", "make", "kink", "free"), CASES, ids=lambda c: str(c)[:12])
def test_a_derivative_raises_wherever_it_comes_from(name, make, kink, free, way):
    g = WAYS[way](make)
    assert refuses(g, dict(zip("vw", kink, strict=True)), name)
    assert not refuses(g, dict(zip("vw", free, strict=True)), name)


@pytest.mark.parametrize(("name", "make", "kink", "free"), CASES, ids=lambda c: str(c)[:12])
def test_what_a_user_writes_does_not_raise(name, make, kink, free):
    """The same formula, while the derivative is alive and when it is gone."""
    kink = dict(zip("vw", kink, strict=True))
    g = derivative(make)
    (written,) = primitives([g])
    if kinks_in([written]):  # in functions that derivatives alone have
        assert refuses(written, kink, name)
        written = make() + v
    assert not refuses(written, kink, name)
    del g
    assert not refuses(written, kink, name)
    assert refuses(derivative(make), kink, name)


def test_sign_is_asked_of_nobody():
    alive = [sd.diff(abs(x), x), sd.diff(sd.maximum(x, y), x), sd.diff(sd.clip(x, 0, 1), x)]
    mine = sd.sign(x) + sd.where((x == y) | ((x >= 0) & (x <= 1)), 1, 0)
    with sd.kinks("raise"):
        assert numeric.lower(mine, (x, y))(0.0, 0.0) == 1.0
        assert numeric.interpret(mine, {x: 0.0, y: 0.0}) == 1.0
    assert alive[0] is not sd.sign(x)
    assert str(alive[0]) == str(sd.sign(x))
    assert primitives(alive[:1])[0] is sd.sign(x)


def test_another_process_raises_too():
    """Derivatives, and Functions that were lowered under the mode."""
    cases = []
    for name, make, kink, free in CASES:
        with sd.kinks("raise"):
            F = numeric.lower(make(), (v, w))
            G = numeric.lower(derivative(make), (v, w))
        cases.append((name, derivative(make), F, G, kink, free))
    code = """
import pickle, sys
import numpy as np, numeric, symdiff as sd
for name, g, F, G, *points in pickle.load(sys.stdin.buffer):
    for at, bad in zip(points, (True, False)):
        at = [np.array(a, float) for a in at]
        with sd.kinks("raise"):
            calls = [numeric.lower(g, sd.symbols("v w", 3))]
        calls += [G, F.value_and_grad, F.jacobian, lambda *a: F.vjp(*a)[1](1.0)]
        F(*at)
        for k, call in enumerate(calls):
            try:
                with np.errstate(all="ignore"):
                    call(*at)
            except sd.NotDifferentiable as error:
                assert bad and name in str(error), (k, name)
            else:
                assert not bad, (k, name)
    print(name)
"""
    found = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[2],
        input=pickle.dumps(cases),
        capture_output=True,
        check=False,
    )
    assert found.stdout.decode().split() == [name for name, *_ in CASES], found.stderr.decode()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda F: pickle.loads(pickle.dumps(F))])
def test_a_function_keeps_the_mode(copied):
    plain = numeric.lower(sd.sum(abs(v)), v)
    with sd.kinks("raise"):
        strict = numeric.lower(sd.sum(abs(v)), v)
        plain = copied(plain)
    strict = copied(copied(strict))
    for call in (strict.grad, strict.jacobian):
        with pytest.raises(sd.NotDifferentiable, match="abs"):
            call(np.zeros(3))
    assert not plain.grad(np.zeros(3)).any()


def test_numbers_do_not_answer_before_they_are_asked():
    """A derivative at a number is one, but not where the mode is to be kept."""
    g = sd.diff(abs(x), x) * y
    assert g.subs(x, 0) is sd.constant(0)
    with sd.kinks("raise"), pytest.raises(sd.NotDifferentiable, match="abs"):
        numeric.interpret(g.subs(x, 0), {y: 1.0})


# What is discarded is not used --------------------------------------------------------------------

SELECTED = {
    "abs": lambda: abs(v - w),
    "softsign": lambda: softsign(v - w),
    "maximum": lambda: sd.maximum(v, w),
    "minimum": lambda: sd.minimum(v, w),
    "clip": lambda: sd.clip(v, w, 5),
    "hypot": lambda: sd.hypot(v - w, w - v),
    "atan2": lambda: sd.atan2(v - w, w - v),
    "power": lambda: (v - w) ** (w - v),
}
CHOICES = {
    "first": lambda c, f: sd.where(c > 0, f, v * w),
    "second": lambda c, f: sd.where(c <= 0, v * w, f),
    "in a product": lambda c, f: sd.exp(v) * sd.where(c > 0, f * w, 1) + v,
    "twice": lambda c, f: sd.where(c > -1, sd.where(c > 0, f, w), v),
    "of two": lambda c, f: sd.where(c > 0, f, v) + sd.where(c > 2, f * f, w),
}


@pytest.mark.slow
@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("name", SELECTED)
def test_a_kink_counts_where_it_is_chosen(name, choice):
    """Elements 0 and 1 are kinks; by c both are discarded, or one of them is not."""
    c = sd.symbol("c", 3)
    f = sd.sum(CHOICES[choice](c, SELECTED[name]()))
    with sd.kinks("raise"):
        F = numeric.lower(f, (v, w, c))
    point = np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 1.0])
    ones = (np.ones(3),) * 3
    calls = (
        F.value_and_grad,
        F.jacobian,
        lambda *a: F.jvp(a, ones),
        lambda *a: F.hvp(a, ones),
        lambda *a: F.vjp(*a)[1](1.0),
    )
    for call in calls:
        call(*point, np.array([0.0, -2.0, 1.0]))
        with pytest.raises(sd.NotDifferentiable, match=r"not differentiable at element \[1\]"):
            call(*point, np.array([0.0, 1.0, 1.0]))


# No function is forgotten -------------------------------------------------------------------------


def conventions():
    """The functions that say that their derivative is a convention somewhere."""
    every = [getattr(opaque_ops, name) for name in dir(opaque_ops)]
    compare = [
        op.name
        for op in every
        if isinstance(op, type) and issubclass(op, Opaque) and op.selects and op.indices is None
    ]
    return {*(name for name, facts in FACTS.items() if facts.kinks), *compare}


def test_every_function_with_a_convention_has_a_case():
    """Each is asked in the tests above, and each has decisions of its own; nothing else has."""
    asked = {kink.name for _, make, *_ in CASES for kink in kinks_in([sd.grad(make(), v)])}
    assert asked == conventions()
    decided = {facts.decides for facts in FACTS.values()} | {cls.decides for cls in DECISIONS}
    assert decided - {None} == {name for name in conventions() if name in FACTS}


@pytest.mark.parametrize("name", sorted(name for name, facts in FACTS.items() if facts.kinks))
def test_a_partial_without_a_decision_is_noticed(name, monkeypatch):
    """The omission is planted: partials in functions that anybody may write."""
    cls = VOCABULARY[name]
    honest = cls.partials
    plain = {c: c.formula for c in DECISIONS}
    plain |= {VOCABULARY[n]: (lambda *a: a[-1]) for n, facts in FACTS.items() if facts.decides}

    def forgetful(*args):
        return tuple(
            p and p.replace(lambda q: q.func in plain, lambda q: plain[q.func](*q.args))
            for p in honest(*args)
        )

    case = next(
        (make, kink)
        for _, make, kink, _ in CASES
        if any(k.name == name for k in kinks_in([sd.grad(make(), v)]))
    )
    monkeypatch.setattr(cls, "partials", staticmethod(forgetful))
    caches = (formula.partial, rules._partial_program)
    for cache in caches:
        cache.cache_clear()
    try:
        g = derivative(case[0])
        assert not kinks_in([g])
        assert not refuses(g, dict(zip("vw", case[1], strict=True)), name)
    finally:
        for cache in caches:
            cache.cache_clear()


def test_a_contraction_passes_on_where_its_value_is_used():
    """In both modes: what a selection discards is not a kink, though letters lie between."""
    x = sd.symbol("x", 1)
    f = sd.sum(sd.maximum(2 * sd.maximum(x, x), x))
    z, mask = sd.symbol("z", 3), sd.symbol("mask", (2, 3))
    table = sd.broadcast_to(sd.grad(sd.sum(abs(z)), z), (2, 3))
    chosen = sd.where(mask > 0, table, 1)
    for mode in ("forward", "reverse"):
        slope = sd.jacobian(f, x, mode=mode)
        with sd.kinks("raise"):
            # The inner maximum is tied, and selected where x > 0 alone.
            assert numeric.interpret(slope, {x: [-1.0]}).tolist() == [1]
            with pytest.raises(sd.NotDifferentiable, match="maximum"):
                numeric.interpret(slope, {x: [1.0]})
    at, none = [1.0, 0.0, -1.0], np.tile([1.0, 0.0, 1.0], (2, 1))
    with sd.kinks("raise"):
        assert numeric.interpret(chosen, {z: at, mask: none}).tolist() == [[1, 1, -1]] * 2
        for row in range(2):  # one that uses an element is enough
            some = none.copy()
            some[row, 1] = 1
            with pytest.raises(sd.NotDifferentiable, match=r"abs.*\[1\]"):
                numeric.interpret(chosen, {z: at, mask: some})


def test_a_zero_that_a_contraction_passes_on_discards():
    """In both modes: a slope 0 below a tie is not a kink, whatever the layout of the slope."""
    x = sd.symbol("x", 2)
    f = sd.sum(sd.clip(sd.clip(x, -1, 1), -1, 1))
    for mode in ("forward", "reverse"):
        slope = sd.jacobian(f, x, mode=mode)
        with sd.kinks("raise"):
            assert numeric.interpret(slope, {x: [4.0, 0.0]}).tolist() == [0, 1]
            with pytest.raises(sd.NotDifferentiable, match=r"clip.*\[1\]"):
                numeric.interpret(slope, {x: [4.0, 1.0]})


def test_another_mode_is_refused():
    with pytest.raises(ValueError, match="neither 'subgradient' nor 'raise'"), sd.kinks("error"):
        pass


# Random programs ----------------------------------------------------------------------------------


@st.composite
def programs_and_ties(draw):
    """A program that selects, and a point of few different numbers."""
    case = draw(programs(("pointwise", "selection"), rational=True, largest=4))
    value = st.integers(-1, 1).map(Fraction)
    point = []
    for shape in case.shapes:
        array = np.empty(shape, object)
        for place in np.ndindex(shape):
            array[place] = draw(value)
        point.append(array)
    return case, point


def met_ties(case, point):
    """Whether the program, as it is written in Python, compares equal numbers; None at a pole."""
    try:
        oracles.evaluate_strictly(case, point, EXACT)
    except oracles.Tie:
        return True
    except ZeroDivisionError:
        return None
    return False


@sample(60)
@given(programs_and_ties())
def test_random_programs_raise_at_ties_only_and_alike(drawn):
    case, point = drawn
    xs = oracles.inputs_of(case)
    ys = tuple(sd.symbol(f"other{k}", x.shape) for k, x in enumerate(xs))
    g = sd.grad(sd.sum(sd.constant(0) + case.ours(xs)), xs)
    moved = sd.substitute(list(g), dict(zip(xs, ys, strict=True)))
    values = [np.array(value, float)[()] for value in point]
    with sd.kinks("raise"):
        F = numeric.lower(sd.sum(sd.constant(0) + case.ours(xs)), xs)
    said = [
        outcome(lambda: numeric.interpret(list(g), dict(zip(xs, values, strict=True)))),
        outcome(lambda: numeric.interpret(list(moved), dict(zip(ys, values, strict=True)))),
        outcome(lambda: F.value_and_grad(*values)),
        outcome(lambda: pickle.loads(pickle.dumps(F)).jacobian(*values)),
    ]
    assert set(said) in ({True}, {False})
    if met_ties(case, point) is False:
        assert not said[0]


def outcome(call):
    """Whether it raises."""
    try:
        with sd.kinks("raise"), np.errstate(all="ignore"):
            call()
    except sd.NotDifferentiable:
        return True
    return False
