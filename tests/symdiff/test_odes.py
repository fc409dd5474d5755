"""Solutions of differential equations: SciPy's, and the same steps by NumPy and written out."""

from __future__ import annotations

import itertools
import pickle
import sys

import numpy as np
import pytest

import numeric as nm
import symdiff as sd
from numeric.lowering import odes
from numeric.lowering.kernels import newton
from symdiff.errors import ConvergenceError, ShapeError, Unsupported
from symdiff.graph.node import topological
from symdiff.transforms import odes as steps
from symdiff.transforms.bodies import replaced
from symdiff.transforms.roots import Root
from symdiff.transforms.tableaus import TABLEAUS

integrate = pytest.importorskip("scipy.integrate")
linalg = pytest.importorskip("scipy.linalg")

k, a = sd.symbols("k a")
p, y0, t = sd.symbol("p", 4), sd.symbol("y0", 2), sd.symbol("t", "T")
PREY = np.array([1.5, 1.0, 1.0, 3.0])
START = np.array([1.0, 1.25])


def prey(y, t, p=p, stack=sd.stack):
    """Lotka and Volterra's, with a season."""
    grown = p[0] * (1 + 0.25 * t / (1 + t * t))
    return stack([grown * y[0] - p[1] * y[0] * y[1], p[2] * y[0] * y[1] - p[3] * y[1]])


def by_numpy(nodes, rhs, y, method):
    """SciPy's own coefficients on a mesh, in whatever numbers y has."""
    tableau = getattr(integrate, method)
    for begin, end in itertools.pairwise(nodes):
        h, stages = end - begin, []
        for i in range(tableau.n_stages):
            row = tableau.A[i][:i]
            moved = y + h * sum((c * s for c, s in zip(row, stages, strict=False)), 0 * y)
            stages.append(rhs(begin + tableau.C[i] * h, moved))
        y = y + h * sum(c * s for c, s in zip(tableau.B, stages, strict=True))
    return y


def mesh(rhs, span, start, method, tol=1e-8):
    return integrate.solve_ivp(rhs, span, start, method=method, rtol=tol, atol=tol).t


@pytest.mark.slow
@pytest.mark.parametrize("method", ["RK45", "DOP853"])
def test_values_and_gradients_are_those_of_scipys_steps(method):
    """The gradient by complex steps of the same loop in NumPy, on the mesh that SciPy chose."""
    rhs = lambda p: lambda t, y: prey(y, t, p, lambda x: np.stack([*x]))  # noqa: E731
    nodes = mesh(rhs(PREY), (0, 6), START, method)
    ys = sd.odeint(prey, y0, [0.0, 6.0], method=method)
    loss = ys[-1] @ sd.constant([1.0, -2.0])
    found = nm.interpret([ys, *sd.grad(loss, [y0, p])], {y0: START, p: PREY})
    end = by_numpy(nodes, rhs(PREY), START, method)
    np.testing.assert_allclose(found[0], [START, end], rtol=1e-13)
    expected = []
    for which in (0, 1):
        for j in range(len((START, PREY)[which])):
            at = [START.astype(complex), PREY.astype(complex)]
            at[which][j] += 1e-40j
            slope = by_numpy(nodes, rhs(at[1]), at[0], method).imag / 1e-40
            expected.append(slope @ [1.0, -2.0])
    np.testing.assert_allclose(np.concatenate(found[1:]), expected, rtol=1e-11)


@pytest.mark.slow
def test_derivatives_of_the_third_order_are_those_of_the_steps_written_out():
    rhs = lambda y, t: -k * y**2 + sd.sin(a * t)  # noqa: E731
    at = {k: 0.8, a: 2.0}
    plain = lambda t, y: -0.8 * y**2 + np.sin(2 * t)  # noqa: E731
    nodes = mesh(plain, (0, 0.5), [1.0], "RK45", 1e-6)
    assert len(nodes) > 3
    written = by_numpy(nodes.tolist(), lambda t, y: rhs(y, t), sd.constant(1), "RK45")
    solution = sd.odeint(rhs, 1.0, [0, 0.5], rtol=1e-6, atol=1e-6)[-1]

    def derivatives(f):
        g = sd.grad(f, [k, a])
        return sd.stack([f, *g, sd.diff(f, k, 3), sd.diff(sd.diff(f, k), a, 2), sd.grad(g[0], a)])

    one, other = (nm.interpret(derivatives(f), at) for f in (solution, written))
    np.testing.assert_allclose(one, other, rtol=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["RK45", "DOP853", "Radau"])
def test_values_and_derivatives_are_near_those_of_the_flow(method):
    """y' = A y: exponentials of matrices, and their derivatives."""
    A = sd.symbol("A", (2, 2))
    value = np.array([[-0.5, 2.0], [-1.5, -0.25]])
    times = np.array([0.5, 0.75, 0.75, 2.0, 3.5])
    ys = sd.odeint(lambda y, t: A @ y, y0, t, method=method, rtol=1e-10, atol=1e-10)
    at = {A: value, y0: START, t: times}
    flow = lambda A, s: linalg.expm(A * (s - 0.5)) @ START  # noqa: E731
    by_y0, by_t, by_a = sd.jacobian(ys, y0), sd.jacobian(ys, t), sd.jvp(ys, A, sd.ones((2, 2)))
    found = nm.interpret([ys, by_y0, by_t, by_a], at)
    np.testing.assert_allclose(found[0], [flow(value, s) for s in times], rtol=1e-8)
    assert (found[0][0] == START).all()
    np.testing.assert_allclose(found[1], [linalg.expm(value * (s - 0.5)) for s in times], rtol=1e-7)
    moving = found[0] @ value.T
    expected = np.zeros((5, 2, 5))
    for i in range(1, 5):
        expected[i, :, i] += moving[i]  # by its own time, and by that of the start
        expected[i, :, 0] -= moving[i]
    np.testing.assert_allclose(found[2], expected, atol=1e-7)
    step = [(flow(value + e, times[-1]) - flow(value - e, times[-1])) / 2e-5 for e in [1e-5]]
    np.testing.assert_allclose(found[3][-1], step[0], rtol=1e-6)


def test_times_that_go_down_and_one_time_alone():
    ys = sd.odeint(lambda y, t: -k * y, a, t)
    at = {k: 0.7, a: 2.0}
    down = nm.interpret([ys, sd.diff(ys, k)], {**at, t: np.array([1.0, 0.25, -1.0])})
    since = np.array([0, -0.75, -2.0])
    np.testing.assert_allclose(down[0], 2 * np.exp(-0.7 * since), rtol=1e-7)
    np.testing.assert_allclose(down[1], -since * 2 * np.exp(-0.7 * since), rtol=1e-6, atol=1e-7)
    alone = nm.interpret([ys, sd.diff(ys, k), sd.diff(ys, a)], {**at, t: np.array([3.0])})
    np.testing.assert_array_equal(alone, [[2.0], [0.0], [1.0]])


def test_states_of_any_shape_and_length():
    x = sd.symbol("x", ("n", 2))
    ys = sd.odeint(lambda y, t: -k * y + sd.mean(y, axis=0) * t, x, t)
    F = nm.lower([ys, sd.grad(sd.sum(ys[-1] ** 2), x)], [x, t, k])
    start = np.arange(6.0).reshape(3, 2)
    value, gradient = F(start, np.array([0.0, 0.5, 1.0]), 0.5)
    flat = integrate.solve_ivp(
        lambda s, y: (-0.5 * y.reshape(3, 2) + y.reshape(3, 2).mean(0) * s).ravel(),
        (0, 1), start.ravel(), rtol=1e-10, atol=1e-10,
    )  # fmt: skip
    np.testing.assert_allclose(value[-1].ravel(), flat.y[:, -1], rtol=1e-7)
    assert gradient.shape == (3, 2)
    assert F(np.zeros((0, 2)), np.array([0.0, 1.0]), 0.5)[0].shape == (2, 0, 2)


def test_lowered_functions_are_the_interpreted_ones():
    ys = sd.odeint(prey, y0, t)
    loss = sd.sum(ys**2)
    F = nm.lower(loss, [y0, p, t])
    at = START, PREY, np.linspace(0, 2, 4)
    value, gradients = F.value_and_grad(*at, wrt=["y0", "p"])
    env = dict(zip((y0, p, t), at, strict=True))
    expected = nm.interpret([loss, *sd.grad(loss, [y0, p])], env)
    assert value == expected[0]
    for one, other in zip(gradients, expected[1:], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_a_batch_has_a_mesh_for_each():
    ps, starts = sd.symbol("ps", (3, 4)), sd.symbol("starts", (3, 2))
    ys = sd.odeint(prey, y0, [0.0, 1.0, 2.0])
    gradient = sd.grad(sd.sum(ys**2), p)
    points = PREY * np.array([[1.0], [0.1], [3.0]])
    at = {p: PREY, y0: START}
    alone = [nm.interpret([ys, gradient], {**at, p: row}) for row in points]
    batch = nm.interpret(sd.batch([ys, gradient], {p: ps}), {y0: START, ps: points})
    for found, wanted in zip(batch, zip(*alone, strict=True), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
    both = sd.batch(ys, {p: ps, y0: starts})
    found = nm.interpret(both, {ps: points, starts: np.tile(START, (3, 1))})
    np.testing.assert_allclose(found, batch[0], rtol=1e-14)
    # What all solutions share, and what each has, by the batch.
    many = sd.batch(ys, {p: ps})
    of_all = nm.interpret(sd.grad(sd.sum(many**2), [y0, ps]), {y0: START, ps: points})
    shared = sd.grad(sd.sum(ys**2), y0)
    rows = [nm.interpret(shared, {**at, p: row}) for row in points]
    np.testing.assert_allclose(of_all[0], sum(rows), rtol=1e-12)
    np.testing.assert_allclose(of_all[1], [gradients for _, gradients in alone], rtol=1e-12)
    for mode in ("forward", "reverse"):
        jacobian = nm.interpret(sd.jacobian(many, ps, mode=mode), {y0: START, ps: points})
        for i, row in enumerate(points):
            wanted = nm.interpret(sd.jacobian(ys, p), {**at, p: row})
            np.testing.assert_allclose(jacobian[i, ..., i, :], wanted, rtol=1e-11, atol=1e-13)
        jacobian = nm.interpret(sd.jacobian(many, y0, mode=mode), {y0: START, ps: points})
        wanted = [nm.interpret(sd.jacobian(ys, y0), {**at, p: row}) for row in points]
        np.testing.assert_allclose(jacobian, wanted, rtol=1e-11, atol=1e-13)


def test_a_model_is_fitted_to_data():
    """The minimiser of a loss over trajectories, and how it depends on the data."""
    times = np.linspace(0, 2, 9)
    exact = integrate.solve_ivp(
        lambda s, y: -1.3 * y + np.sin(0.8 * s), (0, 2), [2.0], t_eval=times, rtol=1e-10, atol=1e-10
    ).y[0]
    data = sd.symbol("data", 9)

    def loss(q):
        ys = sd.odeint(lambda y, t: -q[0] * y + sd.sin(q[1] * t), 2.0, times)
        return sd.sum((ys - data) ** 2)

    fit = sd.minimize(loss, [1.0, 1.0])
    value, slope = nm.interpret([fit, sd.jacobian(fit, data)], {data: exact})
    np.testing.assert_allclose(value, [1.3, 0.8], rtol=1e-5)
    bent = exact + 1e-5 * np.cos(times)
    moved = nm.interpret(fit, {data: bent}) - value
    np.testing.assert_allclose(slope @ (bent - exact), moved, rtol=1e-3, atol=1e-9)


def robertson(y, k):
    return [
        -k[0] * y[0] + k[1] * y[1] * y[2],
        k[0] * y[0] - k[1] * y[1] * y[2] - k[2] * y[1] ** 2,
        k[2] * y[1] ** 2,
    ]


RATES = np.array([0.04, 1e4, 3e7])


def test_robertsons_problem_by_implicit_euler():
    """A root in each step of a scan; the gradient by complex steps of the same loop in NumPy."""
    rates = sd.symbol("rates", 3)
    steps = np.logspace(-6, 1, 30)

    def step(y, h):
        return sd.root(lambda z: z - y - h * sd.stack(robertson(z, rates)), y), None

    last = sd.scan(step, sd.constant([1.0, 0, 0]), steps)[0]
    loss = last[0] + 1e4 * last[1]

    def loop(k):
        y = np.array([1.0, 0, 0], complex)
        for h in steps:
            z = y.copy()
            for _ in range(30):
                left = z - y - h * np.array(robertson(z, k))
                slope = np.eye(3) - h * np.array([
                    [-k[0], k[1] * z[2], k[1] * z[1]],
                    [k[0], -k[1] * z[2] - 2 * k[2] * z[1], -k[1] * z[1]],
                    [0, 2 * k[2] * z[1], 0],
                ])  # fmt: skip
                z = z - np.linalg.solve(slope, left)
            y = z
        return y[0] + 1e4 * y[1]

    gradient = []
    for j in range(3):
        k = RATES.astype(complex)
        k[j] += 1e-30j
        gradient.append(loop(k).imag / 1e-30)
    at = {rates: RATES}
    assert nm.interpret(loss, at) == pytest.approx(loop(RATES.astype(complex)).real, rel=1e-11)
    np.testing.assert_allclose(nm.interpret(sd.grad(loss, rates), at), gradient, rtol=1e-8)


@pytest.mark.slow
def test_robertsons_problem_by_radau():
    rates = sd.symbol("rates", 3)
    ys = sd.odeint(
        lambda y, t: sd.stack(robertson(y, rates)), [1.0, 0, 0], [0.0, 40.0],
        method="Radau", rtol=1e-6, atol=1e-10,
    )  # fmt: skip
    plain = lambda k: lambda t, y: np.array(robertson(y, k))  # noqa: E731

    def exact(k):
        return integrate.solve_ivp(
            plain(k), (0, 40), [1.0, 0, 0], method="Radau", rtol=1e-10, atol=1e-14
        ).y[:, -1]

    found = nm.interpret([ys[-1], sd.jacobian(ys[-1], rates)], {rates: RATES})
    np.testing.assert_allclose(found[0], exact(RATES), rtol=1e-5)
    for j in range(3):
        h = np.zeros(3)
        h[j] = 1e-3 * RATES[j]
        slope = (exact(RATES + h) - exact(RATES - h)) / (2 * h[j])
        np.testing.assert_allclose(found[1][:, j], slope, rtol=1e-3)


@pytest.mark.parametrize("shape", [(), (3,), (2, 2)])
def test_slopes_of_stages_are_the_derivative_of_what_they_lack(shape):
    """They are written block by block."""
    y, time, h = sd.symbol("y", shape), sd.symbol("time"), sd.symbol("h")
    start = sd.symbol("start", (3, *shape))
    rate = sd.sin(y * time) * sd.sum(y) - k * y
    state = steps._State(y, time, h, start)
    step = steps._take_step(rate, state, TABLEAUS["Radau"], start)
    (node,) = [x for x in topological([step]) if isinstance(x.op, Root)]
    free, of = sd.symbol("free", (3, *shape)), node.op.opened
    outside = dict(zip(of.params, node.args[1:], strict=True))
    left, matrix = replaced(of.outputs, {of.x: free, **outside})
    rng = np.random.default_rng(1)
    at = {x: rng.normal(size=x.shape) for x in (y, time, h, k, free)}
    found, wanted = nm.interpret([matrix, sd.jacobian(left, free)], at)
    np.testing.assert_allclose(found, wanted.reshape(found.shape), rtol=1e-13, atol=1e-15)


def test_stages_are_looked_for_where_scipy_left_them(monkeypatch):
    """Few steps are left to go from there, and none of them is shortened."""
    h, stages = np.array([0.5, 0.25]), np.arange(12.0).reshape(2, 3, 2)
    a = np.array(TABLEAUS["Radau"].a, float)
    moves = [length * a @ k for length, k in zip(h, stages, strict=True)]
    np.testing.assert_allclose(odes._stages("Radau", h, moves), stages, atol=1e-13)

    ways = []
    direct = newton.direct
    monkeypatch.setattr(
        newton, "direct", lambda *xs, **k: ways.append(direct(*xs, **k)) or ways[-1]
    )
    ys = sd.odeint(prey, y0, t, method="Radau", rtol=1e-7, atol=1e-7)
    found = nm.interpret(ys, {y0: START, p: PREY, t: np.array([0.0, 4.0])})
    assert all(way.done for way in ways)
    assert len(ways) > 20
    assert np.median([way.steps for way in ways]) <= 3
    wide = sd.symbol("wide", (40, 2))  # of which stages are not kept
    many = sd.odeint(
        lambda y, t: sd.stack([*prey(y.T, t)], axis=1), wide, t, method="Radau", rtol=1e-7,
        atol=1e-7,
    )  # fmt: skip
    start = np.tile(START, (40, 1))
    both = nm.interpret(many, {wide: start, p: PREY, t: np.array([0.0, 4.0])})
    np.testing.assert_allclose(both[-1], np.tile(found[-1], (40, 1)), rtol=1e-5)


@pytest.mark.parametrize("method", ["RK45", "Radau"])
def test_states_in_dicts_and_tuples(method):
    """An oscillator whose place and speed have names, against one vector of both."""

    def rhs(y, t):
        x, (v,) = y["x"], y["v"]
        return {"x": v + 0 * x, "v": (-k * x - a * sd.sin(t),)}

    times = np.linspace(0, 2, 5)
    ys = sd.odeint(rhs, {"x": y0, "v": (2 * y0,)}, times, method=method)
    assert ys["x"].shape == ys["v"][0].shape == (5, 2)
    flat = sd.odeint(
        lambda y, t: sd.concat([y[2:], -k * y[:2] - a * sd.sin(t)]),
        sd.concat([y0, 2 * y0]), times, method=method,
    )  # fmt: skip
    both = sd.concat([ys["x"], ys["v"][0]], axis=1)
    at = {k: 1.5, a: 0.5, y0: START}
    one, other = (nm.interpret([z, sd.jacobian(z, y0), sd.diff(z, k)], at) for z in (both, flat))
    for value, wanted in zip(one, other, strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-10, atol=1e-12)
    with pytest.raises(TypeError, match=r"y is \{'x': shape \(2,\)\}, rhs returned shape \(2,\)"):
        sd.odeint(lambda y, t: y["x"], {"x": y0}, t)


def test_pickles_and_equal_problems():
    one, other = (sd.odeint(prey, y0, t) for _ in range(2))
    assert one is other
    gradient = sd.grad(sd.sum(one), p)
    assert pickle.loads(pickle.dumps(gradient)) is gradient


def test_one_step_of_odeint_is_counted():
    """Six stages that SciPy tries, and six that are taken, from each node and to each time."""
    y, at = sd.symbol("y", 2), sd.symbol("at")
    rhs = lambda y, t: sd.sin(y * t) * k  # noqa: E731
    each = sd.count_operations(rhs(y, at))
    one = sd.count_operations(sd.odeint(rhs, y0, [0.0, 1.0]))
    more = sd.count_operations(sd.odeint(rhs, y0, [0.0, 1.0, 2.0]))
    assert one > (6 + 6 + 2 * 6) * each
    assert more - one > 6 * each
    assert sd.count_operations(sd.odeint(rhs, y0, t), {"T": 3}) == more


def test_what_does_not_know_meshes_says_so():
    ys = sd.odeint(lambda y, t: -k * y, 1.0, [0.0, 1.0])
    for refused in (
        lambda: sd.evalf(ys, 20, {k: 1}),
        lambda: sd.to_sympy(ys),
        lambda: sd.sparsity(ys, k),
    ):
        with pytest.raises(Unsupported, match="odeint: SciPy chooses the mesh of its steps"):
            refused()


BAD = {
    r"rhs returned shape \(2,\), expected that of y, \(\)": lambda: sd.odeint(
        lambda y, t: y0 * y, 1.0, t
    ),
    "rhs returned None; expected an expression": lambda: sd.odeint(lambda y, t: None, 1.0, t),
    r"t has shape \(\), expected times in one axis": lambda: sd.odeint(lambda y, t: y, 1.0, k),
    r"t has shape \(0,\)": lambda: sd.odeint(lambda y, t: y, 1.0, np.zeros(0)),
    "method='BDF'; use RK45, DOP853, Radau": lambda: sd.odeint(
        lambda y, t: y, 1.0, t, method="BDF"
    ),
    "max_steps=0": lambda: sd.odeint(lambda y, t: y, 1.0, t, max_steps=0),
    "events=": lambda: sd.odeint(lambda y, t: y, 1.0, t, events=len),
    "dense_output=True": lambda: sd.odeint(lambda y, t: y, 1.0, t, dense_output=True),
    "two symbols are named 't'": lambda: sd.odeint(lambda y, s: y * t[0] * sd.symbol("t"), 1.0, t),
}


@pytest.mark.parametrize("said", BAD)
def test_errors_of_right_sides_and_times(said):
    with pytest.raises((ShapeError, TypeError, ValueError, Unsupported), match=said):
        BAD[said]()


def test_without_scipy_the_error_says_what_to_install(monkeypatch):
    ys = sd.odeint(lambda y, t: -k * y, 1.0, [0.0, 1.0])
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(
        Unsupported, match=r'odeint needs SciPy: pip install "symdiff-numeric\[scipy\]"'
    ):
        nm.interpret(ys, {k: 1.0})


def test_functions_in_pickles_and_data_that_is_bound():
    x = sd.symbol("x", "n")
    ys = sd.odeint(lambda y, s: -k * y * sd.sum(y), x, t)
    F = nm.lower(sd.sum(ys[-1] ** 2), [x, t, k])
    at = np.array([1.0, 0.5]), np.linspace(0, 1, 3), 0.5
    value, gradients = F.value_and_grad(*at)
    again, others = pickle.loads(pickle.dumps(F)).value_and_grad(*at)
    assert value == again == F.bind(t=at[1])(at[0], at[2])
    for one, other in zip(gradients, others, strict=True):
        np.testing.assert_array_equal(one, other)
    known = sd.substitute(ys, {t: at[1], x: at[0]})
    assert known.shape == (3, 2)
    assert float(nm.interpret(sd.sum(known[-1] ** 2), {k: 0.5})) == pytest.approx(value, rel=1e-14)


def test_solutions_that_end_before_the_time():
    ys = sd.odeint(lambda y, t: k * y**2, 1.0, [0.0, 2.0])
    with pytest.raises(ConvergenceError, match="it came to t=1 of 2") as error:
        nm.interpret(ys, {k: 1.0})
    assert error.value.steps > 0
    short = sd.odeint(lambda y, t: -k * y, 1.0, [0.0, 2.0], max_steps=3)
    with pytest.raises(ConvergenceError, match="no end after max_steps=3 steps"):
        nm.interpret(short, {k: 1.0})
    with pytest.raises(ValueError, match="in no order"):
        nm.interpret(sd.odeint(lambda y, t: -k * y, 1.0, [0.0, 2.0, 1.0]), {k: 1.0})


# Steps that are chosen for the derivatives, too --------------------------------------------------


def oscillator(y, t):
    """Van der Pol's, which is stiff for large k."""
    return sd.stack([y[1], k * (1 - y[0] ** 2) * y[1] - y[0]])


@pytest.fixture(scope="module")
def sensitivities_of_the_oscillator():
    """Columns by y0[0], y0[1], k: variational equations written by hand, solved by SciPy."""

    def slopes(_, z):
        y, rows = z[:2], z[2:].reshape(3, 2)
        slope = [y[1], 100 * (1 - y[0] ** 2) * y[1] - y[0]]
        moved = rows @ np.array([[0, 1], [-200 * y[0] * y[1] - 1, 100 * (1 - y[0] ** 2)]]).T
        moved[2, 1] += (1 - y[0] ** 2) * y[1]
        return np.concatenate([slope, moved.ravel()])

    start = [2.0, 0, 1, 0, 0, 1, 0, 0]
    solved = integrate.solve_ivp(slopes, (0, 20), start, method="Radau", rtol=1e-12, atol=1e-14)
    return solved.y[2:, -1].reshape(3, 2).T


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("method", ["RK45", "DOP853", "Radau"])
def test_steps_chosen_for_sensitivities_give_them_to_the_tolerance(
    method, mode, sensitivities_of_the_oscillator
):
    found = {}
    for chosen in (False, True):
        ys = sd.odeint(oscillator, y0, [0.0, 20.0], method=method, sensitivities=chosen)
        parts = [sd.jacobian(ys[-1], y0, mode=mode), sd.jacobian(ys[-1], k, mode=mode)]
        by_start, by_k = nm.interpret(parts, {y0: [2.0, 0.0], k: 100.0})
        found[chosen] = np.column_stack([by_start, by_k])
    expected = sensitivities_of_the_oscillator
    tolerance = 1e-8 + 1e-8 * abs(expected)
    assert (abs(found[True] - expected) <= 5 * tolerance).all()
    if method != "Radau":  # the steps that do for y alone are too long
        assert (abs(found[False] - expected) > 50 * tolerance).any()


def test_each_tangent_is_within_the_tolerance_however_many_there_are():
    """SciPy's norm is a mean over all, in which one row that is off is lost among hundreds."""
    many = sd.symbol("many", 300)
    rhs = lambda y, t: 30 * k * sd.cos(30 * t) + sd.sum(sd.tanh(many * y))  # noqa: E731
    ys = sd.odeint(rhs, 0.0, [0.0, 1.0], rtol=1e-5, atol=1e-5, sensitivities=True)
    slope = nm.interpret(sd.diff(ys[-1], k), {k: 0.0, many: np.zeros(300)})
    assert abs(slope - np.sin(30)) < 2e-5


@pytest.mark.parametrize("method", TABLEAUS)
def test_sensitivities_of_trees_batches_named_lengths_and_data(method):
    q, v, w, n = (
        sd.symbol("q"),
        sd.symbol("v", "n"),
        sd.symbol("w", ("n", "n")),
        sd.symbol("number", (), int),
    )
    at = np.linspace(0, 1, 3)
    words = {"method": method, "sensitivities": True}
    ys = sd.odeint(
        lambda u, s: {"p": u["q"], "q": -k * u["p"] + sd.sin(a * s)},
        {"p": 1.0, "q": q},
        at,
        **words,
    )
    slope = sd.stack([sd.diff(ys["p"][-1], x) for x in (k, a, q)])
    rows = np.array([[0.5, 1.0], [2.0, 0.0], [1.0, -1.0]])
    batch = sd.batch(slope, {k: (ks := sd.symbol("ks", 3)), a: (many := sd.symbol("as", 3))})
    found = nm.interpret(batch, {ks: rows[:, 0], many: rows[:, 1], q: 0.3})
    each = [nm.interpret(slope, {k: x, a: y, q: 0.3}) for x, y in rows]
    np.testing.assert_array_equal(found, each)
    ys = sd.odeint(lambda u, s: sd.tanh(w @ u) - n * u, v, at, **words)
    close = sd.odeint(lambda u, s: sd.tanh(w @ u) - n * u, v, at, rtol=1e-12, atol=1e-12)
    values = {w: np.arange(9.0).reshape(3, 3) / 9, v: np.ones(3), n: 2}
    one, other = nm.interpret([sd.grad(sd.sum(y[-1] ** 2), w) for y in (ys, close)], values)
    np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-8)
