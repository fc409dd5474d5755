"""Solutions of equations against mpmath's, closed forms, and iterations that are written out."""

from __future__ import annotations

import functools
import pickle
import re
from typing import Any, NamedTuple

import numpy as np
import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp

import numeric as nm
import symdiff as sd
from numeric.lowering import programs, roots, structure
from symdiff.errors import ConvergenceError, NotDifferentiable, ShapeError, Unsupported
from symdiff.exact.evaluation import evaluate_exact
from symdiff.transforms.roots import Root
from tests.support.budget import sample

a, b, t = sd.symbols("a b t")
u, v = sd.symbol("u", 3), sd.symbol("v", "n")


# Roots of one number ------------------------------------------------------------------------------

# The equation, over the functions of a module; where it starts, and where t is.
SCALAR = {
    "cubic": (lambda m, x, t: x**3 + t * x - 1, 1.0, 2),
    "kepler": (lambda m, x, t: x - t * m.sin(x) - 2, 2.0, 0.5),
    "lambert": (lambda m, x, t: x * m.exp(x) - t, 0.5, 3),
    "cosine": (lambda m, x, t: m.cos(t * x) - x, 0.5, 1.25),
    "logarithm": (lambda m, x, t: m.log(x) + t * x - 2, 1.0, 0.75),
    "colebrook": (lambda m, x, t: x + 2 * m.log(t * x + 1 / m.mpf(37)) if m is mp else x
                  + 2 * m.log(t * x + sd.constant(1) / 37), 5.0, 0.125),
    "tangent": (lambda m, x, t: m.tan(x) - t * x - 0.25, 0.5, 0.5),
    "arctangent": (lambda m, x, t: m.atan(x) + t * x - 5, 5.0, 0.75),
    "root": (lambda m, x, t: m.sqrt(x) + t * x - 3, 2.0, 1.5),
    "error function": (lambda m, x, t: m.erf(x) + x / 4 - t, 0.5, 0.875),
}  # fmt: skip


class Functions:
    """mpmath's names for functions of expressions."""

    sin, cos, tan, exp, log, sqrt, erf = sd.sin, sd.cos, sd.tan, sd.exp, sd.log, sd.sqrt, sd.erf
    atan = sd.arctan


@functools.cache
def by_findroot(name):
    """The root and its derivatives to order 5 by t, with 40 digits."""
    f, start, at = SCALAR[name]
    with mp.workdps(60):
        near = mp.findroot(lambda x: f(mp, x, mp.mpf(at)), start)
        of = lambda t: mp.findroot(lambda x: f(mp, x, t), near)  # noqa: E731
        return [mp.diff(of, mp.mpf(at), k) for k in range(6)]


@pytest.mark.parametrize("name", SCALAR)
def test_derivatives_of_roots_to_order_five(name):
    f, start, at = SCALAR[name]
    x = sd.root(lambda x: f(Functions, x, t), start)
    for order, expected in enumerate(by_findroot(name)):
        found = sd.diff(x, t, order)
        with mp.workdps(60):
            value = mp.mpf(str(sd.evalf(found, 35, {t: at})))
            assert abs(value - expected) <= abs(expected) * mp.mpf(10) ** -33
        assert abs(float(nm.lower(found, [t])(at)) - float(expected)) <= 1e-12 * abs(expected)
        assert nm.interpret(found, {t: at}) == nm.lower(found, [t])(at)


def test_orders_in_reverse_are_those_forward():
    x = sd.root(lambda x: x**3 + t * x - a, 1.0)
    found = x
    for _ in range(3):
        found = sd.grad(found, [t, a])[0]
    at = {t: 2.0, a: 1.5}
    assert nm.interpret(found, at) == pytest.approx(nm.interpret(sd.diff(x, t, 3), at), rel=1e-13)


def test_keplers_equation():
    """dE/dM = 1/(1 - e cos E), and what follows from it."""
    e, M = sd.symbols("e M")  # the mean anomaly
    E = sd.root(lambda E: E - e * sd.sin(E) - M, M)
    at = {e: 0.8, M: 0.3}
    value = nm.interpret(E, at)
    with mp.workdps(40):
        exact = mp.findroot(lambda E: E - mp.mpf(0.8) * mp.sin(E) - mp.mpf(0.3), 1)
        r, s, c = 1 - mp.mpf(0.8) * mp.cos(exact), mp.sin(exact), mp.cos(exact)
        wanted = [
            exact,
            1 / r,
            s / r,
            -mp.mpf(0.8) * s / r**3,
            c / r**2 - mp.mpf(0.8) * s * s / r**3,
        ]
    found = [E, sd.diff(E, M), sd.diff(E, e), sd.diff(E, M, 2), sd.diff(sd.diff(E, e), M)]
    np.testing.assert_allclose(nm.interpret(found, at), list(map(float, wanted)), rtol=1e-13)
    assert value == pytest.approx(float(exact), rel=1e-15)


# Systems ------------------------------------------------------------------------------------------

RNG = np.random.default_rng(3)
WEIGHTS, BIAS = RNG.normal(size=(3, 3)) / 4, RNG.normal(size=3)
W = sd.symbol("W", (3, 3))


def layer(z, W, c, tanh=sd.tanh):
    return tanh(W @ z + c)


def third(f, xs, vs, jvp):
    for _ in range(3):
        f = jvp(f, xs, vs)
    return f


def test_a_deep_equilibrium_is_the_iteration_written_out():
    equilibrium = sd.fixed_point(lambda z: layer(z, W, u), np.zeros(3))
    written = sd.zeros(3)
    for _ in range(60):
        written = layer(written, W, u)
    vs = [sd.constant(RNG.normal(size=(3, 3))), sd.constant(RNG.normal(size=3))]
    env = {W: WEIGHTS, u: BIAS}
    weights = sd.constant([1.0, -2.0, 0.5])

    def derivatives(z):
        loss = weights @ z**2
        gradient = sd.grad(loss, [W, u])
        along = sum(sd.sum(g * d) for g, d in zip(gradient, vs, strict=True))
        return [z, *gradient, *sd.grad(along, [W, u]), third(z, [W, u], vs, sd.jvp)]

    found, wanted = (nm.interpret(derivatives(z), env) for z in (equilibrium, written))
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12 * np.abs(other).max())


def test_a_deep_equilibrium_against_jax():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    jnp = jax.numpy
    vs = RNG.normal(size=(3, 3)), RNG.normal(size=3)

    def unrolled(W, c):
        z = jnp.zeros(3)
        for _ in range(60):
            z = layer(z, W, c, jnp.tanh)
        return z

    def pushed(f):
        return lambda *xs: jax.jvp(f, xs, vs)[1]

    wanted = pushed(pushed(pushed(unrolled)))(WEIGHTS, BIAS)
    z = sd.fixed_point(lambda z: layer(z, W, u), np.zeros(3))
    found = third(z, [W, u], list(map(sd.constant, vs)), sd.jvp)
    found = nm.interpret(found, {W: WEIGHTS, u: BIAS})
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-12)


def test_a_chemical_equilibrium():
    """A diprotic acid: unknowns of ten orders of magnitude, against 40 digits."""
    total, k1 = sd.symbols("total k1")
    k2, water = 5e-11, 1e-14

    def equations(c, total, k1):
        h, oh, h2a, ha, a2 = c
        return [
            h * ha - k1 * h2a,
            h * a2 - k2 * ha,
            h * oh - water,
            h2a + ha + a2 - total,
            h - oh - ha - 2 * a2,
        ]

    c = sd.exp(sd.root(
        lambda y: sd.stack(equations([sd.exp(y[k]) for k in range(5)], total, k1))
        / sd.constant([1e-9, 1e-15, 1e-14, 1e-3, 1e-5]),
        np.log([2e-5, 5e-10, 1e-3, 2e-5, 5e-11]),
    ))  # fmt: skip
    at = {total: 1e-3, k1: 4e-7}
    with mp.workdps(60):

        def exact(total, k1):
            rows = lambda *c: equations(c, total, k1)  # noqa: E731
            start = [mp.mpf(x) for x in ("1.98e-5", "5.05e-10", "9.8e-4", "1.98e-5", "5e-11")]
            return mp.findroot(rows, start, tol=1e-90, maxsteps=60, verify=False)

        at_point = mp.mpf(1e-3), mp.mpf(4e-7)
        value = exact(*at_point)
        element = lambda k: lambda total, k1: exact(total, k1)[k]  # noqa: E731
        slope = [mp.diff(element(k), at_point, (0, 1)) for k in range(5)]
        mixed = [mp.diff(element(k), at_point, (1, 1)) for k in range(5)]
    found = nm.interpret([c, sd.diff(c, k1), sd.diff(sd.diff(c, k1), total)], at)
    for one, other in zip(found, (value, slope, mixed), strict=True):
        np.testing.assert_allclose(one, list(map(float, other)), rtol=1e-9)


# Minimisers ---------------------------------------------------------------------------------------

X = RNG.normal(size=(8, 2))
Y = RNG.normal(size=8)
X_TEST, Y_TEST = RNG.normal(size=(5, 2)), RNG.normal(size=5)


def in_mp(f, at, orders=4):
    """f and its derivatives at a point, as floats, from 60 digits."""
    with mp.workdps(60):
        return [float(mp.diff(f, mp.mpf(at), k)) for k in range(orders)]


def test_bilevel_ridge_regression():
    """The held-out loss as a function of the penalty, against the normal equations."""
    w = sd.minimize(lambda w: sd.sum((X @ w - Y) ** 2) + t * w @ w, np.zeros(2))
    outer = sd.sum((X_TEST @ w - Y_TEST) ** 2)

    def exact(penalty):
        A = mp.matrix(X.tolist())
        w = mp.lu_solve(A.T * A + penalty * mp.eye(2), A.T * mp.matrix(Y.tolist()))
        left = mp.matrix(X_TEST.tolist()) * w - mp.matrix(Y_TEST.tolist())
        return (left.T * left)[0]

    found = [nm.interpret(sd.diff(outer, t, k), {t: 0.7}) for k in range(4)]
    np.testing.assert_allclose(found, in_mp(exact, 0.7), rtol=1e-11)


def test_bilevel_logistic_regression():
    labels = np.sign(Y)
    w = sd.minimize(
        lambda w: sd.sum(sd.softplus(-labels * (X @ w))) + sd.exp(t) * w @ w, np.ones(2)
    )
    outer = sd.sum((X_TEST @ w) ** 2)

    def exact(t):
        def gradient(*w):
            rows = []
            for j in range(2):
                terms = [
                    -s * x[j] / (1 + mp.exp(s * (x[0] * w[0] + x[1] * w[1])))
                    for s, x in zip(labels.tolist(), X.tolist(), strict=True)
                ]
                rows.append(mp.fsum(terms) + 2 * mp.exp(t) * w[j])
            return rows

        w = mp.findroot(gradient, (0, 0))
        return mp.fsum((x * w[0] + y * w[1]) ** 2 for x, y in X_TEST.tolist())

    found = [nm.interpret(sd.diff(outer, t, k), {t: -0.5}) for k in range(4)]
    np.testing.assert_allclose(found, in_mp(exact, -0.5), rtol=1e-11)


def test_optimal_control():
    """A linear-quadratic problem over 12 controls: its cost is Riccati's."""
    n, rho, start = 12, 0.3, 1.5

    def cost(controls):
        x = total = sd.constant(start)
        total = total * x
        for k in range(n):
            x = a * x + controls[k]
            total = total + x * x + rho * controls[k] ** 2
        return total

    best = sd.minimize(cost, np.zeros(n))
    value = cost(best)

    def riccati(a):
        p = mp.mpf(1)
        for _ in range(n):
            p = 1 + a * a * p * rho / (rho + p)
        return p * start**2

    found = [nm.interpret(sd.diff(value, a, k), {a: 1.1}) for k in range(4)]
    np.testing.assert_allclose(found, in_mp(riccati, 1.1), rtol=1e-11)


def test_a_minimum_is_found_from_where_the_function_curves_down():
    """Rosenbrock's valley with a wave: the Hessian at the start is indefinite."""
    f = lambda x: (1 - x[0]) ** 2 + a * (x[1] - x[0] ** 2) ** 2 + (1 - sd.cos(x[0] - 1))  # noqa: E731
    x = sd.minimize(f, [-0.5, 2.5])
    assert nm.interpret(sd.hessian(f(u[:2]), [u[:2]])[0][0], {u: [-0.5, 2.5, 0], a: 10.0})[0, 0] < 0
    np.testing.assert_allclose(nm.interpret(x, {a: 10.0}), [1, 1], rtol=1e-14)


def test_a_large_offset_hides_no_minimum():
    x = sd.minimize(lambda x: 1e9 + sd.cosh(x - a), 3.0)
    assert nm.interpret(x, {a: 0.3}) == pytest.approx(0.3, abs=1e-15)


# Linear maps --------------------------------------------------------------------------------------


def rows_of(n):
    """A matrix, as the map it is in ``neighbours``."""
    return 2.5 * np.eye(n) - np.roll(np.eye(n), 1, 0) - np.roll(np.eye(n), -1, 0)


def neighbours(x, skew=0.0):
    return (2 + a) * x - (1 + skew) * sd.roll(x, 1) - (1 - skew) * sd.roll(x, -1)


@pytest.mark.parametrize("method", ["cg", "gmres"])
def test_a_linear_map_by_what_it_does(method):
    x = sd.linear_solve(neighbours, v, method=method)
    right = RNG.normal(size=9)
    A = rows_of(9)
    solution = np.linalg.solve(A, right)
    twice = np.linalg.solve(A, solution)
    at = {a: 0.5, v: right}
    found = nm.interpret([x, sd.diff(x, a), sd.diff(x, a, 2), sd.grad(sd.sum(x**2), v)], at)
    wanted = [solution, -twice, 2 * np.linalg.solve(A, twice), 2 * twice]
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11)


def test_transposes_of_maps_that_are_not_symmetric():
    """A gradient is solved for with the transposed map."""
    x = sd.linear_solve(
        lambda x: neighbours(x, 0.75) * sd.constant(np.arange(1, 6.0)), u5, method="gmres"
    )
    A = np.diag(np.arange(1, 6.0)) @ (
        2.5 * np.eye(5) - 1.75 * np.roll(np.eye(5), 1, 0) - 0.25 * np.roll(np.eye(5), -1, 0)
    )
    right, g = RNG.normal(size=5), RNG.normal(size=5)
    found = nm.interpret([sd.grad(g @ x, u5), sd.jacobian(x, u5)], {a: 0.5, u5: right})
    np.testing.assert_allclose(found[0], np.linalg.solve(A.T, g), rtol=1e-11)
    np.testing.assert_allclose(found[1], np.linalg.inv(A), rtol=1e-11, atol=1e-13)


u5 = sd.symbol("u", 5)


def test_fractions_solve_linear_maps_exactly():
    x = sd.linear_solve(neighbours, u5)
    exact = evaluate_exact(x, {a: "1/2", u5: [1, 0, 0, 0, 0]})
    np.testing.assert_allclose(exact.astype(float), np.linalg.inv(rows_of(5))[0], rtol=1e-14)


def test_what_rounding_leaves_of_products_is_no_failure():
    """A second difference: the solution is ten thousand times as large as the right side."""
    w = sd.symbol("w", 400)
    x = sd.linear_solve(lambda u: 2 * u - sd.pad(u[1:], (0, 1)) - sd.pad(u[:-1], (1, 0)), w)
    right = RNG.normal(size=400)
    A = 2 * np.eye(400) - np.eye(400, k=1) - np.eye(400, k=-1)
    wanted = np.linalg.solve(A, right)
    found = nm.interpret(x, {w: right})
    assert np.abs(found - wanted).max() <= 1e-10 * np.abs(wanted).max()


def test_a_map_for_which_gradients_do_not_converge():
    x = sd.linear_solve(lambda x: neighbours(x, 0.75), u5)
    with pytest.raises(
        ConvergenceError, match="cg is for symmetric positive definite maps"
    ) as error:
        nm.interpret(x, {a: -3.0, u5: np.arange(5.0)})
    assert error.value.steps > 0
    assert error.value.residual > 0
    assert len(error.value.worst) == 1


# Unknowns of several arrays -----------------------------------------------------------------------


class Pair(NamedTuple):
    """An unknown with names."""

    first: Any
    second: Any


def test_unknowns_in_tuples_and_dicts_are_found_together():
    """Against the same equations over one vector, with derivatives."""

    def f(z):
        low, (high, whole) = z["low"], z["rest"]
        return {
            "low": low * 3 + high - a,
            "rest": (sd.tanh(low) + 2 * high - sd.sum(whole), whole - W @ whole - high * u),
        }

    start = {"low": 0.5, "rest": (1.0, [0.25, 0.5, 1.0])}
    found = sd.root(f, start)
    assert found.keys() == start.keys()
    assert [found["rest"][k].shape for k in (0, 1)] == [(), (3,)]

    def joined(x):
        of = f({"low": x[0], "rest": (x[1], x[2:])})
        return sd.concat([sd.stack([of["low"], of["rest"][0]]), of["rest"][1]])

    flat = sd.root(joined, [0.5, 1.0, 0.25, 0.5, 1.0])
    together = sd.concat([sd.stack([found["low"], found["rest"][0]]), found["rest"][1]])
    at = {W: WEIGHTS / 4, u: BIAS, a: 1.5}
    one, other = (
        nm.interpret([x, sd.jacobian(x, u), sd.diff(x, a, 2), sd.grad(x @ x, W)], at)
        for x in (together, flat)
    )
    for value, wanted in zip(one, other, strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-12, atol=1e-14)


def test_the_structure_of_the_start_is_that_of_all_solutions():
    fixed = sd.fixed_point(
        lambda z: Pair(sd.cos(z.second) / 2, sd.sin(z.first) * t), Pair(0.1, 0.2)
    )
    assert isinstance(fixed, Pair)
    value = nm.interpret([*fixed], {t: 0.5})
    np.testing.assert_allclose(value, [np.cos(value[1]) / 2, np.sin(value[0]) / 2], rtol=1e-14)

    least = sd.minimize(
        lambda w: sd.sum((X @ w["slope"] + w["offset"] - Y) ** 2),
        {"slope": np.zeros(2), "offset": 0},
    )
    wanted = np.linalg.lstsq(np.column_stack([X, np.ones(8)]), Y, rcond=None)[0]
    found = nm.interpret([least["slope"], least["offset"]], {})
    np.testing.assert_allclose([*found[0], found[1]], wanted, rtol=1e-12)

    solved = sd.linear_solve(lambda z: (2 * z[0] + sd.sum(z[1]), 3 * z[1] + z[0]), (a, v3))
    found = nm.interpret([*solved], {a: 1.0, v3: [1.0, 2.0, 3.0]})
    residual = 2 * found[0] + found[1].sum(), 3 * found[1] + found[0]
    np.testing.assert_allclose(residual[0], 1, rtol=1e-12)
    np.testing.assert_allclose(residual[1], [1, 2, 3], rtol=1e-12)
    assert sd.root(lambda x: x, ()) == ()


def test_what_fits_no_structure_says_so():
    start = {"a": 1.0, "b": np.ones(3)}
    shown = re.escape("x is {'a': shape (), 'b': shape (3,)}, the function returned ")
    with pytest.raises(TypeError, match=shown + re.escape("(shape (), shape (3,)): another")):
        sd.root(lambda x: (x["a"] - t, x["b"]), start)
    with pytest.raises(TypeError, match=shown + re.escape("{'a': shape ()}: another structure")):
        sd.fixed_point(lambda x: {"a": x["a"] - t}, start)
    with pytest.raises(
        ShapeError, match=r"x, part 1, has shape \(3,\), the function returned \(2,\)"
    ):
        sd.root(lambda x: {"a": x["a"] - t, "b": x["b"][:2]}, start)
    with pytest.raises(TypeError, match="the function returned 'b'; expected an expression"):
        sd.root(lambda x: {"a": x["a"] - t, "b": "b"}, start)
    with pytest.raises(TypeError, match="None"):
        sd.root(lambda x: x, {"a": None})
    with pytest.raises(ValueError, match="a solver finds one array, but x0 is"):
        sd.root(lambda x: x, start, solver=bisection)


# Bound symbols, batches and walks -----------------------------------------------------------------


def inner(y):
    return sd.root(lambda x: x**3 + y * x - t, 1.0)


def test_bound_symbols_are_not_those_of_equations_outside():
    """Roots inside of roots have the same bound symbols; against both written as one system."""
    nested = sd.root(lambda y: y**3 + a * inner(y) - 2, 1.0)
    both = sd.root(
        lambda p: sd.stack([p[0] ** 3 + a * p[1] - 2, p[1] ** 3 + p[0] * p[1] - t]), [1.0, 1]
    )
    at = {a: 0.7, t: 1.3}
    for of in (lambda f: f, lambda f: sd.diff(f, t), lambda f: sd.diff(f, t, 3)):
        one, other = nm.interpret([of(nested), of(both[0])], at)
        assert one == pytest.approx(other, rel=1e-12)
    one, other = (nm.interpret(sd.grad(sd.grad(f, t), [t, a]), at) for f in (nested, both[0]))
    np.testing.assert_allclose(one, other, rtol=1e-12)


def test_a_root_in_each_step_of_a_loop():
    """Implicit Euler for y' = -t y**3: each step solves for what it goes to."""

    def step(y, _):
        return sd.root(lambda z: z - y + t * z**3 / 10, y), None

    looped = sd.scan(step, a, length=4)[0]
    written = a
    for _ in range(4):
        written = step(written, None)[0]
    at = {t: 0.8, a: 1.2}
    of = lambda f: [f, sd.grad(f, a), sd.diff(f, t, 2), sd.grad(sd.grad(f, a), t)]  # noqa: E731
    np.testing.assert_allclose(
        *nm.interpret([sd.stack(of(looped)), sd.stack(of(written))], at), rtol=1e-12
    )


def test_what_is_captured_is_computed_outside():
    x = sd.root(lambda x: x**3 + sd.sum(sd.exp(v)) * x - 1, 1.0)
    assert isinstance(x.op, Root)
    assert len(x.args) == 2
    assert x.args[1] is sd.sum(sd.exp(v))


def test_equal_equations_are_one_node():
    one, other = (sd.root(lambda x: x**3 + t * x - 1, 1.0) for _ in range(2))
    assert one is other
    assert sd.root(lambda x: x**3 + a * x - 1, 1.0).op is one.op


def test_the_start_has_no_derivative():
    x = sd.root(lambda x: x**2 - t, a)
    assert nm.interpret(sd.diff(x, a), {t: 2.0, a: 1.0}) == 0
    assert nm.interpret(x, {t: 4.0, a: -1.0}) == -2
    assert sd.grad(sd.sum(sd.fixed_point(lambda z: layer(z, W, u), v3)), v3) is sd.zeros(3)


v3 = sd.symbol("v", 3)


def test_a_batch_of_roots_is_one_node():
    """Each has its own steps; starts, params or both may have the new axis."""
    x = sd.root(lambda x: x**3 + t * x - a, b)
    ts, starts = sd.symbol("ts", 4), sd.symbol("starts", 4)
    points = np.array([2.0, 1e6, 1e-3, -1.0])
    alone = [nm.interpret([x, sd.diff(x, t, 2)], {t: p, a: 1.5, b: 1.0}) for p in points]
    for values in ({t: ts}, {t: ts, b: starts}):
        batch = sd.batch(x, values)
        second = sd.batch(sd.diff(x, t, 2), values)
        assert isinstance(batch.op, Root)
        at = {ts: points, a: 1.5, starts: np.ones(4)}
        if b not in values:
            at[b] = 1.0
        found = nm.interpret([batch, second], at)
        np.testing.assert_allclose(found, np.transpose(alone), rtol=1e-12)
        (jacobian,) = nm.interpret([sd.jacobian(sd.diff(batch, a), ts)], at)
        mixed = [nm.interpret(sd.diff(sd.diff(x, a), t), {t: p, a: 1.5, b: 1.0}) for p in points]
        np.testing.assert_allclose(jacobian, np.diag(mixed), rtol=1e-12)


def test_batches_of_systems_of_minimisers_and_of_maps():
    us = sd.symbol("us", (4, 3))
    values = RNG.normal(size=(4, 3))
    for x in (
        sd.fixed_point(lambda z: layer(z, W, u), np.zeros(3)),
        sd.minimize(lambda z: sd.sum(sd.cosh(z - u)) + (z @ W @ z) ** 2, np.zeros(3)),
        sd.linear_solve(lambda z: neighbours(z) * 3 + W @ z, u, method="gmres"),
    ):
        gradient = sd.grad(sd.sum(x**3), u)
        found = nm.interpret(sd.batch(gradient, {u: us}), {W: WEIGHTS, us: values, a: 0.5})
        alone = [nm.interpret(gradient, {W: WEIGHTS, u: row, a: 0.5}) for row in values]
        np.testing.assert_allclose(found, alone, rtol=1e-11, atol=1e-13)


def test_lengths_that_are_known_when_the_program_runs():
    z = sd.fixed_point(lambda z: sd.tanh(t * sd.sum(z) + v), sd.zeros(v.shape))
    F = nm.lower([z, sd.diff(z, t), sd.jacobian(z, v)], [t, v])
    for n in (0, 1, 4):
        at = np.linspace(-1, 1, n)
        value, slope, jacobian = F(0.1, at)
        np.testing.assert_allclose(value, np.tanh(0.1 * value.sum() + at), rtol=1e-14)
        d = np.diag(1 - value**2)
        matrix = np.eye(n) - d @ np.full((n, n), 0.1)
        np.testing.assert_allclose(jacobian, np.linalg.solve(matrix, d), atol=1e-14)
        np.testing.assert_allclose(
            slope, np.linalg.solve(matrix, d @ np.full(n, value.sum())), atol=1e-14
        )
    known = sd.substitute(z, {v: sd.symbol("v", 3)})
    assert known.shape == (3,)
    np.testing.assert_allclose(
        nm.interpret(known, {t: 0.1, "v": np.ones(3)}), F(0.1, np.ones(3))[0]
    )


def test_points_of_a_function_of_numbers():
    F = nm.lower(sd.root(lambda x: x**3 + t * x - 1, 1.0), [t])
    points = np.linspace(0, 3, 7)
    np.testing.assert_array_equal(F(points), [F(p) for p in points])


def test_texts():
    x = sd.root(lambda x: sd.exp(x) - t, a)
    assert str(x) == "x\nwhere exp(x) - t = 0, x near a"
    assert r"e^{x^\ast} - t = 0" in sd.latex(x)
    w = sd.minimize(lambda w: sd.exp(w) - w, a)
    assert str(w) == "x\nwhere x minimizes exp(x) - x, x near a"
    y = sd.linear_solve(lambda x: 2 * x, v)
    assert str(y) == "x\nwhere 2*x = v"


def bisection(F, start, slope):
    low, high = start - 1, start + 9
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (low, middle) if F(middle) > 0 else (middle, high)
    return (low + high) / 2


def test_pickles():
    x = sd.root(lambda x: x**3 + t * inner(x) - 1, 1.0, solver=bisection)
    y = sd.linear_solve(lambda x: neighbours(x), u)
    w = sd.minimize(lambda w: sd.cosh(w - t), a)
    for f in (x, y, w, sd.diff(x, t, 2)):
        assert pickle.loads(pickle.dumps(f)) is f


def test_sparsity():
    us = sd.symbol("us", 3)
    x = sd.batch(sd.root(lambda x: x**3 + t * x - 1, 1.0), {t: us})
    assert (sd.sparsity(x, us) == np.eye(3)).all()
    assert sd.sparsity(sd.fixed_point(lambda z: sd.tanh(u * z[0]), u), u).all()


def test_one_step_to_a_solution_is_counted():
    x = sd.symbol("x", 3)
    step = sd.count_operations([body := sd.tanh(W @ x) - u, sd.jacobian(body, x)]) + 3**3 // 3 + 9
    root = sd.root(lambda x: sd.tanh(W @ x) - u, u)
    assert sd.count_operations(root) == step
    many = sd.batch(root, {u: sd.symbol("us", (5, 3))})
    assert sd.count_operations(many) == 5 * step
    solved = sd.linear_solve(lambda x: W @ x + W.T @ x, u)
    assert sd.count_operations(solved) == sd.count_operations(W @ x + W.T @ x)
    gradient = sd.grad(sd.sum(root**2), u)
    assert step < sd.count_operations(gradient) < 3 * step
    f = nm.lower(root, [W, u])
    assert f"operations: {step};" in f.explain({})


def test_what_does_not_know_solutions_says_so():
    x = sd.root(lambda x: x**3 + t * x - 1, 1.0)
    for refused in (sd.to_sympy, lambda x: sd.series(x, t, 0, 2)):
        with pytest.raises(Unsupported, match="root"):
            refused(x)
    with pytest.raises(Unsupported, match="root has a solver"):
        sd.batch(sd.root(lambda x: x - t, 1.0, solver=bisection), {t: v})


def test_kinks_where_equations_are_solved_raise():
    slope = sd.diff(sd.root(lambda x: sd.abs(x) + 3 * x - t, 1.0), t)
    inside = sd.root(lambda x: x - t + sd.grad(sd.abs(x), x), 0.0)
    assert nm.interpret(inside, {t: 0.0}) == 0
    with sd.kinks("raise"):
        F = nm.lower(slope, [t])
        assert F(4.0) == 0.25
        with pytest.raises(NotDifferentiable, match="abs"):
            F(0.0)
        with pytest.raises(NotDifferentiable, match="abs"):
            nm.interpret(inside, {t: 0.0})


def test_masks_inside_do_no_harm():
    """A branch that is not taken is not a number at the root."""
    x = sd.root(lambda x: sd.where(t > 0, sd.sqrt(t), t) + x**3 - 2, 1.0)
    np.testing.assert_allclose(nm.interpret(sd.grad(x, t), {t: -1.0}), -1 / (3 * 3 ** (2 / 3)))


def test_single_precision_stays_single():
    z = sd.fixed_point(lambda z: layer(z, W, u), sd.zeros(3))
    found = nm.lower(z, [W, u])(WEIGHTS.astype(np.float32), BIAS.astype(np.float32))
    assert found.dtype == np.float32
    exact = nm.lower(z, [W, u])(WEIGHTS, BIAS)
    np.testing.assert_allclose(found, exact, atol=1e-6)


def test_functions_of_ones_own_inside_of_equations_and_loops():
    grown = sd.pointwise("grown", lambda x: x * sp.exp(x))
    x = sd.root(lambda x: grown(x) - t, 0.5)
    looped = sd.scan(lambda c, _: (grown(c) / 3, None), t, length=2)[0]
    solved = sd.linear_solve(lambda x: grown(t) * x, a)
    with mp.workdps(30):
        two = mp.mpf(2)
        once = two * mp.exp(2) / 3
        wanted = [mp.lambertw(two), once * mp.exp(once) / 3, 1 / (two * mp.exp(2))]
        for f, exact in zip((x, looped, solved), wanted, strict=True):
            value = mp.mpf(str(sd.evalf(f, 20, {t: 2, a: 1})))
            assert abs(value - exact) <= abs(exact) * mp.mpf(10) ** -19


# What is not a root
# ----------------------------------------------------------------------------------


_OF_A_BATCH = {
    "root": (lambda: sd.root(lambda x: x**2 - t, 1.0), [1.0, -1.0, 4.0], (1,)),
    "root of a vector": (
        lambda: sd.root(lambda x: sd.stack([x[1] - x[0], x[0] ** 2 - t]), [1.0, 1.0]),
        [1.0, 4.0, -1.0],
        (2, 1),
    ),
    "no number": (lambda: sd.root(lambda x: sd.log(x - t), 1.5), [1.0, 0.5, 2.0], (2,)),
    "fixed_point": (lambda: sd.fixed_point(lambda x: t * x + 1, 0.0), [0.5, 3.0, 1.0], (2,)),
    "minimize": (lambda: sd.minimize(lambda x: t * (x - 1) ** 2, 0.0), [2.0, 3.0, 0.0], (2,)),
    "saddle": (lambda: sd.minimize(lambda x: t * x**2, 0.0), [2.0, -3.0, 1.0], (1,)),
    "linear_solve": (lambda: sd.linear_solve(lambda x: t * x, sd.ones(2)), [9.0, 0.0, 2.0], (1, 0)),
    "odeint": (lambda: sd.odeint(lambda y, s: t * y**2, 1.0, [0.0, 1.0]), [0.5, 2.0, 0.3], (1,)),
}


@pytest.mark.parametrize("case", _OF_A_BATCH)
def test_the_error_of_a_batch_names_the_element_that_has_no_solution(case):
    """Others may be on their way when one of them fails, and have more left."""
    make, values, worst = _OF_A_BATCH[case]
    ts = sd.symbol("ts", 3)
    solutions = sd.batch(make(), {t: ts})
    with pytest.raises(ConvergenceError, match=re.escape(f"element {list(worst)}")) as error:
        nm.interpret(solutions, {ts: values})
    assert error.value.worst == worst
    alone = [x for k, x in enumerate(values) if k != worst[0]]
    rest = sd.symbol("rest", 2)
    assert np.isfinite(nm.interpret(sd.batch(make(), {t: rest}), {rest: alone})).all()


def test_no_root_is_no_number():
    x = sd.root(lambda x: x**2 + t, [1.0, 2.0, 3.0])
    with pytest.raises(ConvergenceError, match="residual is 1") as error:
        nm.interpret(x, {t: 1.0})
    assert error.value.residual == pytest.approx(1, rel=1e-6)
    assert error.value.steps > 0
    assert error.value.worst in {(0,), (1,), (2,)}
    with pytest.raises(ConvergenceError, match="residual is 1"):  # at 0 the slope is 0, and no step
        nm.interpret(sd.root(lambda x: x**2 + t, 1.0), {t: 1.0})
    with pytest.raises(ArithmeticError, match="root"):
        sd.evalf(sd.root(lambda x: x**2 + t, 1.0), 20, {t: 1})


def test_slow_progress_is_no_convergence():
    """Steps are a billionth of x, each, and what is left is far from 0."""
    f = lambda x: sd.exp(1e9 * (x - 1)) - t  # noqa: E731
    with pytest.raises(ConvergenceError, match="in 20 steps"):
        nm.interpret(sd.root(f, 1 + 6e-7, max_steps=20), {t: 1.0})
    assert nm.interpret(sd.root(f, 1 + 6e-7, max_steps=1000), {t: 1.0}) == 1


def test_steps_are_shortened():
    """Newton's own steps go ever further from the root of arctan."""
    x = sd.root(lambda x: sd.arctan(x - t), 30.0)
    assert nm.interpret(x, {t: 0.5}) == pytest.approx(0.5, rel=1e-15)
    ts = sd.symbol("ts", 2)
    both = nm.interpret(sd.batch(x, {t: ts}), {ts: [0.5, 29.0]})
    np.testing.assert_allclose(both, [0.5, 29.0], rtol=1e-15)


def test_equations_that_are_not_numbers_say_so():
    with pytest.raises(ConvergenceError, match="not finite"):
        nm.interpret(sd.root(lambda x: sd.log(x) - t, -1.0), {t: 1.0})


def test_a_singular_root_has_a_value_and_no_derivative():
    x = sd.root(lambda x: (x - 1) ** 2 - t, 2.0)
    assert nm.lower(x, [t])(0.0) == pytest.approx(1, abs=1e-7)
    with pytest.raises(np.linalg.LinAlgError):
        nm.interpret(sd.diff(sd.root(lambda x: (x - 1) ** 2 - t, 1.0), t), {t: 0.0})


def test_saddles_are_refused():
    saddle = sd.minimize(lambda x: x[0] ** 2 - a * x[1] ** 2 + x[1] ** 4, [1.0, 0.0])
    with pytest.raises(ConvergenceError, match="least eigenvalue of the Hessian is -2"):
        nm.interpret(saddle, {a: 1.0})
    with pytest.raises(ArithmeticError, match="not a minimum"):
        sd.evalf(saddle, 10, {a: 1})
    top = sd.minimize(lambda x: sd.cos(x - a), 0.0)
    with pytest.raises(ConvergenceError, match="no minimum"):
        nm.interpret(top, {a: 0.0})
    assert abs(np.cos(nm.interpret(top, {a: 0.1}) - 0.1) + 1) < 1e-15


def test_a_root_at_0_is_found_to_rounding():
    """No step is small beside 0, and what rounding leaves never becomes 0."""
    data = RNG.normal(size=(20, 3))
    right = RNG.normal(size=20)
    right -= data @ np.linalg.lstsq(data, right, rcond=None)[0]
    y = sd.symbol("y", 20)
    w = sd.minimize(lambda w: sd.sum((data @ w - y) ** 2), np.ones(3))
    assert np.abs(nm.interpret(w, {y: right})).max() < 1e-14
    # What goes on to fall is not at rest, however little is left.
    with pytest.raises(ConvergenceError, match="in 60 steps"):
        nm.interpret(sd.root(lambda x: sd.exp(x) - t, 0.0, max_steps=60), {t: 1e-40})
    ts = sd.symbol("ts", 2)
    both = sd.batch(sd.root(lambda x: sd.exp(x) - t, 0.0, max_steps=60), {t: ts})
    with pytest.raises(ConvergenceError, match="in 60 steps"):
        nm.interpret(both, {ts: [1.0, 1e-40]})


HILBERT = 1 / (np.arange(5)[:, None] + np.arange(5) + 1)
# A system of which t is a param, where it is asked for, and how far apart two ways may end.
ALONE = {
    **{
        name: (lambda t, f=f, start=start: sd.root(lambda x: f(Functions, x, t), start), at, 1e-15)
        for name, (f, start, at) in SCALAR.items()
    },
    "steps that have to be shorter": (
        lambda t: sd.root(lambda x: sd.arctan(x - t), 30.0), 0.5, 1e-15,
    ),
    "a layer": (
        lambda t: sd.fixed_point(lambda z: layer(z, t * WEIGHTS, BIAS), np.zeros(3)), 0.5, 1e-14,
    ),
    "a matrix": (
        lambda t: sd.root(lambda x: x @ x @ x + t * x - WEIGHTS, WEIGHTS), 9.0, 1e-14,
    ),
    "what rounding leaves much of": (
        lambda t: sd.root(lambda x: HILBERT @ (x + sd.tanh(x)) - t, np.zeros(5)), 1e-3, 1e-9,
    ),
    "singular at the root": (lambda t: sd.root(lambda x: (x - t) ** 3 * x, 2.0), 1.0, 1e-4),
    "a minimum": (
        lambda t: sd.minimize(lambda x: sd.sum(sd.cosh(x - BIAS)) + t * x @ x, np.zeros(3)),
        0.25, 1e-14,
    ),
    "a minimum behind a hill": (
        lambda t: sd.minimize(lambda x: (x * x - t) ** 2 + x / 8, 0.1), 1.0, 1e-14,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ALONE)
def test_one_system_is_solved_as_those_of_a_batch_are(name):
    """Alone it has ways of its own: whole steps, slopes that are kept, Python floats."""
    make, at, apart = ALONE[name]
    x = make(t)
    alone = nm.interpret(x, {t: at})
    ts = sd.symbol("ts", 1)
    (batched,) = nm.interpret(sd.batch(x, {t: ts}), {ts: np.array([at])})
    np.testing.assert_allclose(alone, batched, rtol=apart)


@pytest.mark.parametrize("name", ALONE)
def test_floats_and_arrays_lead_to_the_same_root(name, monkeypatch):
    make, at, apart = ALONE[name]
    alone = nm.interpret(make(t), {t: at})
    monkeypatch.setattr(programs, "ELEMENTS", 0)
    monkeypatch.setattr(structure, "_MADE", {})
    np.testing.assert_allclose(nm.interpret(make(t), {t: at}), alone, rtol=apart)


def test_what_floats_raise_on_is_computed_by_arrays():
    """A step of log leads below 0, where math raises, and is halved."""
    x = sd.root(lambda x: sd.log(x) - t, 30.0)
    assert nm.interpret(x, {t: -1.0}) == pytest.approx(np.exp(-1), rel=1e-15)
    y = sd.root(lambda y: sd.stack([sd.log(y[0]) - t, y[1] - y[0]]), [30.0, 1.0])
    np.testing.assert_allclose(nm.interpret(y, {t: -1.0}), np.exp([-1.0, -1.0]), rtol=1e-15)


@pytest.mark.parametrize("steep", [
    lambda x: sd.where(x > 1, 1e13 * (x - 1 + 2e-9), 0),
    lambda x: 1e9 * sd.maximum(x - 1 + 2e-9, 0),
    lambda x: 10 * sd.softplus(1e8 * (x - 1)),
])  # fmt: skip
@pytest.mark.parametrize("start", [1 + 1e-9, 1 + 1e-5])
def test_a_slope_of_elsewhere_does_not_tell_that_a_root_is_there(steep, start):
    """Almost all falls away at once; the root is where the slope of that side leads."""
    x = sd.root(lambda x: steep(x) + 1e-3 * (x - t), start)
    assert nm.interpret(x, {t: 0.5}) == pytest.approx(0.5, rel=1e-15)


def test_what_is_smooth():
    """Neither kinks nor jumps are: their slopes tell nothing of the other side."""
    for f, smooth in (
        (lambda x: sd.tanh(W @ x) + x**3 / (1 + x @ x), True),
        (lambda x: sd.sum(sd.erf(x)) * x, True),
        (lambda x: sd.abs(x) + x, False),
        (lambda x: sd.hypot(x, 2 * x), False),
        (lambda x: x + sd.floor(x), False),
        (lambda x: sd.where(x > 0, x, 2 * x), False),
        (lambda x: sd.maximum(x, 2 * x), False),
        (lambda x: x + sd.max(x), False),
        (lambda x: sd.gammasgn(x) * x, False),
        (lambda x: sd.sort(x), False),
    ):
        assert roots.RootOf(sd.root(f, u).op).is_smooth == smooth


@pytest.mark.parametrize("start", [0, 0.0, 1e-3])
def test_what_is_0_is_found_from_there(start):
    ts = sd.symbol("ts", 2)
    for solve, f in (
        (sd.root, lambda x: sd.tanh(t * x)),
        (sd.root, lambda x: t * sd.expm1(x)),
        (sd.fixed_point, lambda x: sd.sin(x) / (1 + t)),
        (sd.minimize, lambda x: sd.sum(t * x**2 + x**4)),
    ):
        for shape in ((), (3,)):
            x = solve(f, np.full(shape, start) if shape else start)
            zero = np.zeros(shape)
            np.testing.assert_allclose(nm.lower(x, [t])(1.5), zero, atol=1e-30)
            batch = nm.interpret(sd.batch(x, {t: ts}), {ts: [1.5, 2.0]})
            np.testing.assert_allclose(batch, [zero, zero], atol=1e-30)
            many = np.array(sd.evalf(x, 20, {t: 1.5})).ravel().tolist()
            assert all(abs(value) < mp.mpf(10) ** -30 for value in many)


def test_what_a_solver_returns_is_polished_and_verified():
    seen = []

    def near(F, start, slope):
        seen.append((F(start), slope(start), start))
        return start + 0.3

    x = sd.root(lambda x: x**3 - t, 1.5, solver=near)
    assert nm.interpret(x, {t: 8.0}) == 2
    assert seen[0] == (1.5**3 - 8, 3 * 1.5**2, 1.5)
    far = sd.root(lambda x: x**2 + t, 1.5, solver=near)
    with pytest.raises(ConvergenceError):
        nm.interpret(far, {t: 1.0})

    def least(f, start, gradient):
        assert f(start).shape == ()
        assert gradient(start).shape == (3,)
        return start - gradient(start) / 4

    w = sd.minimize(lambda w: sd.sum((w - u) ** 2 + sd.cosh(w)), np.zeros(3), solver=least)
    plain = sd.minimize(lambda w: sd.sum((w - u) ** 2 + sd.cosh(w)), np.zeros(3))
    np.testing.assert_allclose(*nm.interpret([w, plain], {u: BIAS}), rtol=1e-15)


# Bad input ----------------------------------------------------------------------------------------


def _two(x):
    return x - t * sd.symbol("t", 3)[0]


BAD = {
    r"returned shape \(3,\), expected that of x, \(\)": lambda: sd.root(lambda x: u * x, 1.0),
    r"shape \(\), expected that of x, \(3,\)": lambda: sd.root(lambda x: x[0] - t, u),
    "root: the function returned None; expected an expression": lambda: sd.root(print, 1.0),
    "does not contain x": lambda: sd.root(lambda x: t - 1, 1.0),
    "two symbols are named 't': one of shape": lambda: sd.root(_two, 1.0),
    "two symbols are named 't'": lambda: sd.root(lambda x: x - t, sd.symbol("t", 3)[0]),
    "solver=3 is not a function": lambda: sd.root(lambda x: x - t, 1.0, solver=3),
    "max_steps=0": lambda: sd.root(lambda x: x - t, 1.0, max_steps=0),
    r"fixed_point: the function returned shape \(3,\)": lambda: sd.fixed_point(lambda x: u, 1.0),
    "fixed_point: the function returned 'x'": lambda: sd.fixed_point(lambda x: "x", 1.0),
    r"expected one number, \(\), for x of shape \(3,\)": lambda: sd.minimize(lambda x: x - u, u),
    "its derivative contains x": lambda: sd.linear_solve(lambda x: x * x, u),
    "not visibly 0 at 0": lambda: sd.linear_solve(lambda x: x + 1, u),
    r"shape \(2,\), expected that of x, \(3,\)": lambda: sd.linear_solve(lambda x: x[:2], u),
    "method='lu'; use cg, gmres": lambda: sd.linear_solve(lambda x: x, u, method="lu"),
}


@pytest.mark.parametrize("said", BAD)
def test_errors_name_what_was_met_and_what_was_expected(said):
    with pytest.raises((ShapeError, TypeError, ValueError), match=said):
        BAD[said]()


def test_a_solver_that_returns_another_shape():
    x = sd.root(lambda x: x - u, np.zeros(3), solver=lambda F, x0, slope: x0[:2])
    with pytest.raises(ShapeError, match=r"the solver returned shape \(2,\), expected \(3,\)"):
        nm.interpret(x, {u: BIAS})


# Random equations ---------------------------------------------------------------------------------


@sample(30)
@given(st.integers(1, 4), st.integers(0, 2**20))
def test_random_systems_have_the_derivatives_of_the_implicit_function(n, seed):
    """``A x + c tanh(B x) = b``, with the derivative by b as NumPy finds it."""
    rng = np.random.default_rng(seed)
    A, B, c = rng.normal(size=(3, n, n))
    x0, c = rng.normal(size=n), c[0]
    # Diagonally dominant for any slope of tanh, in [0, 1]: a least residual is nowhere but at the
    # only root.  Else Newton's method may rightly end at one that is not 0.
    rows = np.abs(A).sum(1) + 0.5 * np.abs(c) * np.abs(B).sum(1)
    A += np.diag(1 + rows)
    right = sd.symbol("right", n)
    scale = sd.symbol("scale")
    x = sd.root(lambda x: A @ x + scale * c * sd.tanh(B @ x) - right, x0)
    at = {right: rng.normal(size=n), scale: 0.5}
    value, by_right, by_scale, pulled = nm.interpret(
        [x, sd.jacobian(x, right), sd.diff(x, scale), sd.grad(x0 @ x, right)], at
    )
    th = np.tanh(B @ value)
    F = A @ value + 0.5 * c * th - at[right]
    assert np.abs(F).max() <= 1e-13 * np.abs(A).max() * (1 + np.abs(value).max())
    slope = A + (0.5 * c * (1 - th**2))[:, None] * B
    np.testing.assert_allclose(by_right, np.linalg.inv(slope), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(by_scale, -np.linalg.solve(slope, c * th), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(pulled, np.linalg.solve(slope.T, x0), rtol=1e-9, atol=1e-12)
