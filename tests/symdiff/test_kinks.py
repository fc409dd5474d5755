"""kinks("raise"): derivatives that are conventions raise, values and other derivatives do not."""

import gc
import threading

import numpy as np
import pytest
import sympy as sp

import numeric
import symdiff as sd
from symdiff.corners import _NOTES, raising

x, y = sd.symbols("x y")
v, w = sd.symbols("v w", 3)
softsign = sd.pointwise("softsign", lambda q: q / (1 + sp.Abs(q)))

# name in the message, function of v and w, a kink, and a point without one
CASES = [
    ("abs", lambda: sd.sum(abs(v)), ([1, 0, -2], [0, 0, 0]), ([1, 2, -3], [0, 0, 0])),
    ("abs", lambda: sd.sum(softsign(v)), ([1, 0, -2], [0, 0, 0]), ([1, 2, -3], [0, 0, 0])),
    ("maximum", lambda: sd.sum(sd.maximum(v, w)), ([1, 2, 3], [0, 2, 5]), ([1, 2, 3], [0, 3, 5])),
    ("minimum", lambda: sd.sum(sd.minimum(v, 1)), ([1, 2, 3], [0, 0, 0]), ([0, 2, 3], [0, 0, 0])),
    ("clip", lambda: sd.sum(sd.clip(v, 0, 2)), ([1, 2, 3], [0, 0, 0]), ([1, -1, 3], [0, 0, 0])),
    ("clip", lambda: sd.sum(sd.clip(v, w, 2)), ([1, 0, 3], [0, 2, 0]), ([1, 2, 3], [0, 3, 0])),
    ("max", lambda: sd.max(v), ([1, 2, 2], [0, 0, 0]), ([1, 1, 2], [0, 0, 0])),
    ("min", lambda: sd.min(v), ([1, 1, 2], [0, 0, 0]), ([1, 2, 2], [0, 0, 0])),
    ("norm", lambda: sd.norm(v), ([0, 0, 0], [0, 0, 0]), ([0, 1, 0], [0, 0, 0])),
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


def test_the_element_is_named():
    with sd.kinks("raise"):
        F = numeric.lower(sd.sum(sd.maximum(v, w)), (v, w))
        S = numeric.lower(abs(x), x)
    message = r"maximum: not differentiable at element \[1\], where its operand is 2.5"
    with pytest.raises(sd.NotDifferentiable, match=message):
        F.value_and_grad([1.0, 2.5, 3.0], [0.0, 2.5, 0.0])
    with pytest.raises(sd.NotDifferentiable, match="abs: not differentiable where its operand is"):
        S.value_and_grad(0.0)
    with pytest.raises(sd.NotDifferentiable, match=r"at element \[2\]"):
        S.jacobian(np.array([1.0, 2.0, 0.0]))
    assert S(0.0) == 0.0
    assert S.value_and_grad(-1.0) == (1.0, (-1.0,))


def test_higher_orders():
    with sd.kinks("raise"):
        F = numeric.lower(sd.diff(abs(x) ** 3, x, 2), x)
        H = numeric.lower(sd.sum(sd.clip(v, -1, 1) ** 3), v)
    with pytest.raises(sd.NotDifferentiable, match="abs"):
        F(0.0)
    with pytest.raises(sd.NotDifferentiable, match="clip"):
        H.hessian(np.array([0.5, 1.0, 2.0]))
    assert H.hessian(np.array([0.5, 0.0, 2.0]))[0, 0] == 3.0


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


def test_graphs_are_the_same_and_notes_go_with_their_nodes():
    before = sd.count_nodes(sd.grad(sd.sum(sd.maximum(v, w)), v))
    with sd.kinks("raise"):
        assert sd.count_nodes(sd.grad(sd.sum(sd.maximum(v, w)), v)) == before
    gc.collect()
    known = set(_NOTES)
    u = sd.symbol("only_in_this_test", 3)
    g = sd.hessian(sd.norm(softsign(u)) + sd.max(abs(u)), u)
    assert set(_NOTES) - known
    del g, u
    gc.collect()
    assert not set(_NOTES) - known


def test_backward_of_forward_and_no_grad():
    with sd.kinks("raise"):
        F = numeric.lower(sd.sum(abs(v)), v)
    value, kept = F.forward(np.array([1.0, 0.0, 2.0]))
    assert value == 3.0
    with pytest.raises(sd.NotDifferentiable, match="abs"):
        F.backward(kept, 1.0)
    with numeric.no_grad():
        assert F.forward(np.array([1.0, 0.0, 2.0]))[0] == 3.0


def test_another_mode_is_refused():
    with pytest.raises(ValueError, match="neither 'subgradient' nor 'raise'"), sd.kinks("error"):
        pass
