"""How DAGs become programs: sources, what is kept and shared, the same bits as interpret."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

import numeric as nm
import symdiff as sd
from numeric.lowering.names import MATH, NUMPY, Emitter
from numeric.lowering.passes.residuals import residuals
from numeric.lowering.passes.sums import TERMS
from numeric.lowering.programs import Program
from numeric.lowering.schedule import schedule
from symdiff.graph import ops
from symdiff.graph.algebra import combine
from symdiff.graph.leaves import dummy
from symdiff.graph.node import make

A, B = sd.symbols("a b")
U, V = sd.symbols("u v", 3)
X, W = sd.symbol("X", ("n", 3)), sd.symbol("W", (3, 3))
C, K = sd.symbol("c", 3, dtype=bool), sd.symbol("k", 3, dtype=int)
RNG = np.random.default_rng(5)
VALUES = {
    A: 1.3,
    B: -0.7,
    U: RNG.normal(size=3),
    V: RNG.uniform(1, 2, size=3),
    X: RNG.normal(size=(4, 3)),
    W: RNG.normal(size=(3, 3)) + 3 * np.eye(3),
    C: np.array([True, False, True]),
    K: np.array([1, 2, 3]),
}
INPUTS = tuple(VALUES)


def kept(*outputs, inputs):
    """The values that the gradients of ``outputs`` are given."""
    seeds = [dummy(y) for y in outputs]
    pulled = sd.vjp(list(outputs), list(inputs), seeds)
    return residuals(outputs, pulled, inputs, seeds)


def holds(found, expected):
    return len(found) == len(expected) and all(a is b for a, b in zip(found, expected, strict=True))


# Same bits --------------------------------------------------------------------------------------

FORMULAS = {
    "sums": 2 * U - V / 3 + Fraction(3, 7) * U * V - 1.1,
    "negative first": -U / 3 - V - 2,
    "powers": V**3 / A**2 + V**-2 + V**5 + V**-3 * A,
    "roots": 1 / sd.sqrt(V) + V**1.5 - V**-1.5 + V ** Fraction(1, 3) + sd.sqrt(V) / U,
    "quotients": U / V + 1 / (U * V) + V / U**2,
    "bracketed": A - sd.detach(B + U) - sd.detach(V - A) / 2,
    "stretched": X * U + A - U / A + sd.sum(X, axis=1, keepdims=True) * X,
    "numbers": sd.pi * sd.sqrt(sd.constant(2)) * U + sd.exp(sd.constant(0.3)) / sd.e,
    "full": sd.where(U > 0, 1, 0) + sd.broadcast_to(sd.sqrt(sd.constant(3)), (3,)) * 2,
    "integers": K * U + K**-2 + K**3 / 2 + sd.sqrt(K) + sd.sin(K) + sd.floor(K),
    "whole": 2 * K**2 - K // 2,
    "truth": sd.where(C & (U > 0), U, 2) * (U < V),
    "sizes": sd.mean(X, axis=0) + sd.var(X) + X.shape[1] * sd.sum(X) / X.size**2,
    "algebra": sd.solve(W, U) + sd.det(W) * sd.inv(W) @ V,
    "reductions": sd.logsumexp(X, axis=0) * sd.prod(X, axis=0) + sd.max(X, axis=0),
    "layout": sd.concat([U, V])[1:5:2] + sd.stack([A, B]) + sd.flip(V[:2]) + W.T[0, :2],
    "special": sd.sigmoid(U) * sd.softplus(-V) + sd.logaddexp(U, V) + sd.sinc(U) + sd.atan2(U, V),
    "constants": sd.constant(np.arange(3.0)) * U + np.array([1, 2, 3]),
    "nested": sd.tanh(sd.sin(U * V) * sd.exp(-(U**2)) + sd.log(V) / (1 + U**2)),
    "defined": sd.pointwise("softsign", lambda x: x / (1 + sp.Abs(x)) + sp.sqrt(2) * x)(U * V),
    "clipped": sd.clip(U, -0.5, A) + sd.maximum(U, V) + sd.abs(U) * sd.sign(V),
}


@pytest.mark.numpy_only("its bits")
@pytest.mark.parametrize("name", FORMULAS)
def test_a_program_computes_the_same_bits_as_interpret(name):
    y = FORMULAS[name]
    expected = nm.interpret(y, {x: VALUES[x] for x in y.free_symbols})
    found = nm.lower(y, INPUTS)(*VALUES.values())
    assert found.dtype == expected.dtype
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("name", FORMULAS)
def test_backward_agrees_with_the_interpreted_pullback(name):
    y = FORMULAS[name]
    if y.dtype is not float:
        return
    real = [x for x in INPUTS if x.dtype is float]
    seed = sd.symbol("seed", y.shape)
    f = nm.lower(y, INPUTS)
    out, residual = f.forward(*VALUES.values())
    g = RNG.normal(size=out.shape)
    found = [v for v in f.backward(residual, g) if v is not None]
    env = {**VALUES, seed: g}
    for x, a, pulled in zip(real, found, sd.vjp(y, real, seed), strict=True):
        used = {s: env[s] for s in pulled.free_symbols}
        if "n" in pulled.shape or any("n" in node.shape for node in sd.nodes(pulled)):
            used["n"] = 4
        b = nm.interpret(pulled, used)
        assert np.shape(a) == np.shape(VALUES[x])
        # Python's numbers and powers of shared bases round elsewhere than the interpreter's.
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)


# Lines ------------------------------------------------------------------------------------------


def lines(f, name="value"):
    body = f.source.split(f"def {name}(")[1].split("\n\n")[0].splitlines()[1:]
    return [line.strip() for line in body if not line.strip().startswith("#")]


def test_source_reads_like_the_formula():
    # operands are in order of creation, so the symbols are this test's own
    u, v = sd.symbols("first_here second_here", 3)
    f = nm.lower(sd.exp(-u * v) / 2 + u**2, (u, v))
    assert lines(f) == ["v3 = 0.5*exp(-v1*v2) + v1*v1", "return (v3,)"]
    text = f.source
    assert "# v1: first_here (3,)" in text
    assert "# returns: (3,)" in text


def test_a_number_is_subtracted():
    """Beside NumPy: the interpreter is printed by the same lines."""
    u = sd.symbol("subtracted_from", 3)
    f = nm.lower(u - 3, (u,))
    assert lines(f)[0] == "v2 = v1 - 3.0"
    np.testing.assert_array_equal(f(np.array([1.0, 3.0, 5.0])), [-2, 0, 2])


def test_powers_of_one_base_are_computed_once():
    f = nm.lower(U**2 * sd.sqrt(V) + U**2 / V**3 + 1 / U**2 + U**3, (U, V))
    assert "\n".join(lines(f)).count("v1*v1") == 1
    f = nm.lower(sd.sqrt(V) * U + 1 / sd.sqrt(V) + V**1.5 + 1 / V**1.5, (U, V))
    assert "\n".join(lines(f)).count("sqrt(") == 1


def test_low_powers_are_taken_one_after_the_other():
    """So that nothing on the way leaves the range alone."""
    large, small = np.full(3, 1e200), np.full(3, 1e-300)
    for formula, u, v, expected in (
        (U**2 * V, large, small, 1e100),
        (U**2 / V, large, large**1.5, 1e100),
        (V / U**3, np.sqrt(small), small, 1e150),
    ):
        np.testing.assert_allclose(nm.lower(formula, (U, V))(u, v), expected)


def test_values_are_dropped_after_their_last_use():
    wave = sd.sin(X)
    f = nm.lower(sd.sum(wave * sd.cos(wave)) + sd.sum(sd.tan(wave)), (X,))
    dropped = [line for line in lines(f) if line.startswith("del ")]
    names = [name for line in dropped for name in line[4:].split(", ")]
    assert len(names) == len(set(names)) > 0
    assert "v1" not in names


def test_stretched_operands_are_left_to_numpy():
    assert "contract" not in nm.lower(X * U + A, (X, U, A)).source


def test_conditions_run_only_the_selected_branch_of_floats():
    assert "if" in nm.lower(sd.where(A > 0, sd.sqrt(A), A), (A,)).source


def test_long_sums_are_chunked_from_left_to_right():
    # Terms are in order of creation: no other test may hold one of these symbols.
    xs = sd.symbols(" ".join(f"term{i}" for i in range(5 * TERMS)))
    total = sd.grad(sum_of(xs, 7), A)  # the number comes last
    f = nm.lower(total, (A, *xs))
    values = RNG.normal(size=len(xs)).tolist()
    expected = 0.0
    for value in values:
        expected += value
    assert f(0.5, *values) == expected + 7
    longest = max(line.count(" + ") for line in lines(f))
    assert longest < TERMS


def sum_of(xs, number=0):
    """A sum whose derivative by A is one flat sum of all xs and a number."""
    return combine("add", [*((1, A * x) for x in xs), (number, A)])


def test_names_of_users_never_become_code():
    names = ["v1", "sizes", "sin", "lambda", "None", "float", "missing", "quotient", "__import__"]
    symbols = sd.symbols(names)
    y = sum(sd.sin(x) * (i + 1) for i, x in enumerate(symbols))
    f = nm.lower(y, symbols)
    values = [0.1 * (i + 1) for i in range(len(names))]
    expected = sum(np.sin(v) * (i + 1) for i, v in enumerate(values))
    assert abs(f(*values) - expected) < 1e-14
    assert f.value_and_grad(**dict(zip(names, values, strict=True)))[0] == f(*values)
    x = sd.symbol("X", ("del", "class"))
    assert nm.lower(sd.mean(x) * x.size, (x,))(np.ones((2, 3))) == 6


def test_functions_of_one_name_do_not_meet():
    first = sd.pointwise("f", lambda x: x**2 + sp.sin(x))
    second = sd.pointwise("f", lambda x: x**3 + sp.sin(x))
    f = nm.lower(first(A) - second(A), (A,))
    assert f(2.0) == pytest.approx(-4.0)
    g = nm.lower(sd.power(V, U) + V**0.3, (U, V))  # the vocabulary's power and NumPy's
    np.testing.assert_array_equal(
        g(VALUES[U], VALUES[V]), np.power(VALUES[V], 0.3) + np.power(VALUES[V], VALUES[U])
    )


class triple(sp.Function):  # noqa: N801  # printed so
    """A function class with a body for arrays only."""

    nargs = 1

    def fdiff(self, argindex=1):
        return sp.Integer(3)

    def _numpycode(self, printer):
        return f"(3*{printer._print(self.args[0])})"


def test_functions_without_a_body_for_floats_run_in_numpy():
    f = nm.lower(sd.pointwise("triple", lambda x: triple(x))(A) + 1, (A,))
    assert f(2.0) == 7.0
    assert type(f(2.0)) is float
    np.testing.assert_array_equal(f(np.ones(2)), [4, 4])


def test_axis_lengths_of_zero():
    f = nm.lower([sd.mean(X), sd.sum(X), X * 2, sd.exp(X) / X.size], (X,))
    with np.errstate(invalid="ignore"):
        mean, total, double, ratio = f(np.zeros((0, 3)))
    assert np.isnan(mean)
    assert total == 0
    assert double.shape == ratio.shape == (0, 3)


# What is kept -----------------------------------------------------------------------------------


def test_tan_keeps_its_value_and_tanh_its_argument():
    y, z = sd.tan(X @ W), X @ W
    assert holds(kept(y, inputs=(X, W)), (X, W, y))
    assert holds(kept(sd.tanh(z), inputs=(X, W)), (X, W, z))  # 1 - tanh² would lose digits


def test_roots_and_exponentials_keep_their_value():
    for y in (sd.sqrt(X @ W), sd.exp(X @ W), 1 / (X @ W)):
        found = kept(y, inputs=(X, W))
        assert len(found) == 3
        assert holds(found[:2], (X, W))
    root = sd.sqrt(X @ W)
    assert kept(sd.sum(root), inputs=(X, W))[2] is root


def test_linear_functions_keep_nothing():
    assert kept(sd.sum(2 * U - V, axis=0) + sd.sum(sd.flip(U)), inputs=(U, V)) == ()


def test_cheap_values_are_recomputed_from_one_that_is_kept():
    z = X @ W
    y = sd.sin(2 * z) + sd.cos(3 * z) + sd.exp(z + 1) * sd.log(z - 1)
    found = kept(y, inputs=(X, W))
    assert any(node is z for node in found)
    assert not any(node is 2 * z or node is 3 * z or node is z - 1 for node in found)
    f = nm.lower(y, (X, W))
    assert "computed again in backward: 0" not in f.explain()


def test_a_small_value_is_kept_rather_than_a_large_one():
    total = sd.sum(X, axis=0)
    y = sd.sum(sd.exp(total) * U)
    assert not any(node is X for node in kept(y, inputs=(X, U)))


def test_what_follows_by_many_cheap_steps_is_kept():
    deep = z = X @ W
    for _ in range(3):
        deep = 1 / (2 + deep)  # two steps
    assert holds(kept(sd.sin(1 / (2 + z)) + sd.cos(z), inputs=(X, W)), (X, W, z))
    assert len(kept(sd.sin(deep) + sd.cos(z), inputs=(X, W))) == 4


def test_two_vectors_are_kept_rather_than_a_table_of_them():
    u, v = sd.symbol("u", 50), sd.symbol("v", 40)
    found = kept(sd.sum(sd.sin(u[:, None] + v)), inputs=(u, v))
    assert sum(math.prod(x.shape) for x in found) == 90


def test_constants_are_never_residuals():
    c = sd.constant(np.arange(3.0))
    assert holds(kept(sd.sum(U * c), inputs=(U,)), ())


def test_large_graphs_are_cut_greedily(monkeypatch):
    z = X @ W
    y = sd.sin(2 * z) + sd.cos(2 * z) + sd.exp(z)
    small = kept(y, inputs=(X, W))
    monkeypatch.setattr("numeric.lowering.passes.residuals._CANDIDATES", 0)
    large = kept(y, inputs=(X, W))
    for found in (small, large):
        assert all(any(node is x for node in found) for x in (X, W))
    out, residual = nm.lower(y, (X, W)).forward(VALUES[X], VALUES[W])
    assert out.shape == (4, 3)
    assert residual.values


def test_a_schedule_has_operands_before_users():
    y = sd.tanh(sd.sin(X) @ W) / (1 + X**2)
    seen = set()
    for step in schedule([y], [X, W]).steps:
        assert seen.issuperset(step.operands)
        seen.update(step.results)


# Scale and determinism --------------------------------------------------------------------------


@pytest.mark.slow
def test_a_graph_of_100_000_nodes_lowers():
    y = A
    for i in range(50_000):
        y = sd.sin(y) if i % 2 else y * B
        y = y + B
    assert sd.count_nodes(y) >= 100_000
    f = nm.lower(y, (A, B))
    expected = 0.3
    for i in range(50_000):
        expected = np.sin(expected) if i % 2 else expected * 0.4
        expected = expected + 0.4
    assert f(0.3, 0.4) == pytest.approx(expected, rel=1e-12)


@pytest.mark.slow
def test_a_sum_of_20_000_terms_lowers():
    xs = sd.symbols(" ".join(f"x{i}" for i in range(20_000)))
    y = sum_of(xs)
    f = nm.lower(y, (A, *xs))
    assert f(2.0, *[1.0] * 20_000) == 40_000


SCRIPT = """
import numeric as nm, symdiff as sd
X, W = sd.symbol("X", ("n", 3)), sd.symbol("W", (3, 2))
x, y = sd.symbols("x y")
f = nm.lower([sd.tanh(X @ W) * sd.sum(X), sd.where(X > 0, sd.sqrt(X), X)], (X, W))
f.explain()
g = nm.lower(sd.sin(x * y) / (x + y) ** 2 + sd.sqrt(x) * y, (x, y))
g.value_and_grad(1.0, 2.0)
print(f.source, f.explain(), g.source, g.explain())
"""


@pytest.mark.slow
def test_source_does_not_depend_on_hashes():
    texts = set()
    for seed in ("0", "1", "77"):
        env = {**os.environ, "PYTHONHASHSEED": seed}
        run = subprocess.run(
            [sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=env, check=True
        )
        texts.add(run.stdout)
    assert len(texts) == 1
    assert "def backward" in texts.pop()


def test_source_shows_gradients_once_they_are_written():
    f = nm.lower(A * B, (A, B))
    asked = {
        "backward": lambda: f.backward(f.forward(1.0, 2.0)[1], 1.0),
        "value_and_grad": lambda: f.value_and_grad(1.0, 2.0),
        "hessian": lambda: f.hessian(1.0, 2.0),
        "jvp": lambda: f.jvp((1.0, 2.0), (1.0, 1.0)),
    }
    for name, ask in asked.items():
        assert f"def {name}(" not in f.source
        ask()
        assert f"def {name}(" in f.source


@pytest.mark.parametrize("flavour", [NUMPY, MATH])
def test_a_source_compiles_by_itself(flavour):
    y = sd.sin(A) / B + A**2 * B**-0.5
    program = Program(Emitter(), "f", [A, B], [y], flavour, "f")
    compile(program.source, "f", "exec")
    (value,) = program.function(0.4, 2.0, {})
    assert value == pytest.approx(np.sin(0.4) / 2 + 0.16 / np.sqrt(2))


def test_a_factor_of_one_keeps_its_brackets():
    # the sum of one operand with coefficient 1 is not a spelling of ours, but an op that can be
    # built
    x, y = sd.symbols("x y")
    alone = make(ops.sum_op(0, (1,)), (x + y,), (), float)
    assert nm.lower(alone * y, (x, y))(2.0, 3.0) == 15.0
    # whole numbers under a real product: the cast to real is not confused with that op
    k = sd.tril(sd.ones((2, 2))) + sd.tril(sd.ones((2, 2)), k=-1)
    v = sd.symbol("v", (2, 2))
    assert nm.lower(k * v, v)(np.full((2, 2), 5.0)).tolist() == [[5.0, 0.0], [10.0, 5.0]]


def test_powers_of_quotients_of_numbers_are_numbers():
    x = sd.symbol("x")
    for f, wanted in (
        (sd.pi**2 / sd.e**2, (np.pi / np.e) ** 2),
        (sd.pi**2 / (1 + sd.e**2) ** 2, (np.pi / (1 + np.e**2)) ** 2),
        (sd.e**3 / sd.pi**3, (np.e / np.pi) ** 3),
    ):
        np.testing.assert_allclose(nm.lower(f * x, x)(2.0), 2 * wanted, rtol=1e-15)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_what_is_stretched_beside_a_stretched_number_keeps_its_shape(n):
    v = sd.symbol("v", "n")
    second = nm.lower(sd.hessian(sd.sin(sd.sum(v) / v.size), v), v)
    np.testing.assert_allclose(second(np.ones(n)), np.full((n, n), -np.sin(1) / n**2), rtol=1e-14)
