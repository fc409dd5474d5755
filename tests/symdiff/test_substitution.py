"""Substitution: simultaneous, of exact shapes, binding symbolic lengths; SymPy's subs as oracle."""

from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

import symdiff as sd
from symdiff import opaque_ops
from symdiff.errors import ShapeError
from symdiff.exact.evaluation import evaluate_exact
from symdiff.graph import ops
from symdiff.graph.leaves import dummy
from symdiff.graph.node import Op
from tests.support.refusals import refused

x, y, z = sd.symbols("x y z")
v = sd.symbol("v", (3,))
X, w = sd.symbol("X", ("n", "k")), sd.symbol("w", ("k",))


Z, DATA = sd.symbol("Z", (4, "n")), np.arange(8).reshape(4, 2)
n, c = sd.symbol("n", (), int), sd.symbol("c", (), bool)
W = sd.symbol("w", ("m",))
SIMULTANEOUS = [
    (x - 2 * y, {x: y, y: x}, y - 2 * x),
    (x**2 + y, {x: x + 1}, (x + 1) ** 2 + y),
    (x / y, {x: y}, sd.constant(1)),
    (x / 3 + sd.cos(y), {x: Fraction(1, 7), y: 0}, sd.constant(Fraction(22, 21))),
    (sd.where(x > y, x, sd.log(z)), {x: z}, sd.where(z > y, z, sd.log(z))),
    (sd.sin(x) * y, {z: 1}, sd.sin(x) * y),
    (sd.sin(x) * y, {}, sd.sin(x) * y),
    (v @ v, {v: 2 * v}, 2 * v @ (2 * v)),
    (sd.where(c, x, y), {c: x > 0}, sd.where(x > 0, x, y)),
    (sd.where(c, x, y), {c: True}, x),
    (sd.diff(sd.sin(x * y) * x, x), {y: 2}, sd.diff(sd.sin(x * 2) * x, x)),
    # Lengths are bound, and may be renamed.
    (w + sd.ones(("k",)), {w: v}, v + 1),
    (sd.sum(w**2), {w: 2 * W}, 4 * sd.sum(W**2)),
]


@pytest.mark.parametrize(("expr", "given", "wanted"), SIMULTANEOUS, ids=str)
def test_replacements_are_simultaneous(expr, given, wanted):
    assert sd.substitute(expr, given) is expr.subs(given) is wanted


def test_several_outputs_share_one_walk():
    assert sd.substitute([x + y, x * y], {x: 2}) == (y + 2, 2 * y)
    assert sd.substitute((), {x: 1}) == ()


FORMULAS = [
    (lambda a, b: a**3 * b - a / 7, {"x": "y + 1"}),
    (lambda a, b: (a + b) ** 2 / (1 + a * b), {"x": "3*y", "y": "x"}),
    (lambda a, b: a * (b - a) ** 3, {"y": "x**2 - 1/2"}),
]


@pytest.mark.parametrize(("make", "texts"), FORMULAS)
def test_values_are_those_of_sympy_subs(make, texts):
    p, q = sp.symbols("x y")
    wanted = make(p, q).subs(
        {sp.Symbol(k): sp.sympify(t) for k, t in texts.items()}, simultaneous=True
    )
    ours = sd.substitute(make(x, y), {k: sd.parse(t) for k, t in texts.items()})
    for a, b in [(Fraction(1, 3), Fraction(2, 5)), (-2, 7)]:
        exact = wanted.subs({p: sp.Rational(a), q: sp.Rational(b)})
        assert evaluate_exact(ours, {"x": a, "y": b}) == Fraction(int(exact.p), int(exact.q))


def test_dtypes_follow():
    assert sd.substitute(n + 1, {n: x}).dtype is float
    assert sd.substitute(x * 2, {x: n}).dtype is int


ROWS = sd.symbol("R", ("n", 4))
HALF = DATA.reshape(2, 4)
BOUND = [
    (sd.sum(v * v) * x, {v: np.array([1, 2, 3]), x: 2}, {}, 28),
    (v[1] * z, {v: sd.stack([x, y, z])}, {y: 2, z: 3}, 6),
    (sd.sum(X @ w) / X.size, {X: np.ones((2, 3))}, {"w": [1, 2, 3]}, 2),
    (sd.mean(X), {X: np.ones((2, 3))}, {}, 1),
    (sd.sum(X @ w), {X: np.full((1, 1), 5)}, {"w": [3]}, 15),
    (sd.hessian(sd.sum(sd.exp(w)), w), {w: np.zeros(3)}, {}, np.eye(3, dtype=int)),
    (ROWS[:, 1:3], {ROWS: HALF}, {}, [[1, 2], [5, 6]]),
    (sd.grad(sd.sum(ROWS[:, 1:3] ** 2), ROWS), {ROWS: HALF}, {}, [[0, 2, 4, 0], [0, 10, 12, 0]]),
    (Z[1:3], {Z: DATA}, {}, DATA[1:3]),
    (sd.grad(sd.sum(Z[1:3] * Z[2:]), Z), {Z: DATA}, {}, [[0, 0], [4, 5], [8, 10], [4, 5]]),
    (sd.reshape(Z, (2, 2, "n")), {Z: DATA}, {}, DATA.reshape(2, 2, 2)),
    (
        sd.grad(sd.sum(sd.reshape(Z, (2, 2, "n"))[0] ** 2), Z),
        {Z: DATA},
        {},
        2 * DATA * [[1], [1], [0], [0]],
    ),
    (sd.broadcast_to(Z[0], (3, "n")), {Z: DATA}, {}, np.broadcast_to(DATA[0], (3, 2))),
    (
        Z + sd.broadcast_to(sd.symbol("c", (4, 1)), (4, "n")),
        {Z: DATA},
        {"c": np.arange(4)[:, None]},
        DATA + np.arange(4)[:, None],
    ),
    (Z.size * Z, {Z: DATA}, {}, 8 * DATA),
    (sd.flip(sd.cumsum(Z, axis=1), axis=0), {Z: DATA}, {}, np.cumsum(DATA, 1)[::-1]),
]


@pytest.mark.parametrize(
    ("expr", "given", "at", "wanted"), BOUND, ids=lambda v: str(v) if isinstance(v, sd.Expr) else ""
)
def test_arrays_bind_lengths_everywhere(expr, given, at, wanted):
    bound = sd.substitute(expr, given)
    assert bound.shape == np.shape(wanted)
    assert {s.name for s in bound.free_symbols} == {getattr(s, "name", s) for s in at}
    assert np.all(evaluate_exact(bound, at) == np.asarray(wanted))


def test_a_length_that_nothing_else_has_may_stay():
    gradient = sd.grad(sd.sum(w), w)
    assert sd.substitute(gradient + 0 * w, {w: v}).shape in ((3,), ("k",))
    assert sd.substitute(sd.sum(X @ w), {X: np.ones((2, 3))}).free_symbols[0] is sd.symbol(
        "w", (3,)
    )


# Symbolic lengths ---------------------------------------------------------------------------------


def test_unique_symbols_take_bound_lengths():
    mark = dummy(w)
    bound = sd.substitute(sd.sum(mark * w), {w: v})
    (other,) = [s for s in sd.nodes(bound) if s.op.__class__.__name__ == "Symbol" and s is not v]
    assert other.shape == (3,)
    assert other is not mark


def test_lengths_must_agree():
    with pytest.raises(ShapeError, match=r"symbol w: .* got \(2,\); k is 3 in X"):
        sd.substitute(X @ w, {X: np.ones((2, 3)), w: np.ones(2)})


# Refusals -----------------------------------------------------------------------------------------


def test_refusals():
    refused(
        (TypeError, "not a symbol", lambda: sd.substitute(x + y, {x + y: 1})),
        (TypeError, "not a symbol", lambda: sd.substitute(x, {1: 2})),
        (TypeError, "mapping", lambda: sd.substitute(x, [(x, 1)])),
        (ValueError, "no symbol is named 'q'", lambda: sd.substitute(x, {"q": 2})),
        (TypeError, "given twice", lambda: sd.substitute(x, {"x": 2, x: 3})),
        (ShapeError, r"\(3,\).*\(2,\)", lambda: sd.substitute(v, {v: [1, 2]} | {v: np.ones(2)})),
        (ShapeError, r"\(3,\).*\(\)", lambda: sd.substitute(v, {v: 1})),
        (TypeError, "complex", lambda: sd.substitute(x, {x: 1j})),
    )


@pytest.mark.slow
def test_deep_graphs_do_not_recurse():
    e = x
    for _ in range(50_000):
        e = sd.sin(e) + y
    replaced = sd.substitute(e, {x: z})
    assert {s.name for s in replaced.free_symbols} == {"y", "z"}
    assert sd.substitute(replaced, {z: x}) is e


PLACES = sd.symbol("places", 2, dtype=int)
OF_LENGTHS = {
    "reshape": lambda a: sd.reshape(a, (2, 2, a.shape[1])),
    "slice": lambda a: a[1:],
    "take": lambda a: sd.take(a, PLACES, axis=1),
    "join": lambda a: sd.concat([a[:1], a[2:]]),
}


@pytest.mark.parametrize("name", OF_LENGTHS)
def test_binding_a_length_and_differentiating_commute(name):
    """Also in the parameters of the ops that only derivatives have: unslices, and added places."""
    function = OF_LENGTHS[name]
    named, known = sd.symbol("named", (4, "n")), sd.symbol("known", (4, 3))
    gradients = [sd.grad(sd.sum(function(a) ** 3), a) for a in (named, known)]
    bound = sd.substitute(gradients[0], {named: known})
    assert bound.shape == (4, 3)
    assert bound is gradients[1]


@pytest.mark.parametrize(
    ("cls", "name"),
    [
        (ops.Reshape, "reshape"),
        (ops.Slice, "slice"),
        (ops.Unslice, "slice"),
        (opaque_ops.Put, "take"),
    ],
)
def test_a_parameter_that_is_not_bound_is_noticed(cls, name, monkeypatch):
    monkeypatch.setattr(cls, "bound", Op.bound)  # of a base class, maybe
    with pytest.raises(AssertionError):
        test_binding_a_length_and_differentiating_commute(name)
